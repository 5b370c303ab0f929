#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI jobs (jobs.sh) under a newer Open MPI, in a root of its own. usage: run.sh SUITE PACKAGE-VERSION MAJOR
# The component and the test programs are compiled here, against its headers, and linked with its libraries; they run
# there, with its C library, UCX and hwloc. 77 where the packages or the rights are missing.
suite=$1 version=$2 major=$3
top_srcdir=$(cd "$top_srcdir" && pwd) top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/compat/packages.sh"
grep -q 'DCG_HAVE_UCX=1' "$top_builddir/Makefile" || skip "built without UCX"
space="unshare -m"
[ "$(id -u)" -eq 0 ] || space="unshare -r -m"
$space chroot "$root" /bin/true 2>/dev/null || skip "may not use another root, or its C library does not run here"

setting() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
build=$top_builddir/test/compat/run$major
rm -rf "$build"
mkdir -p "$build/test/mpi/fake/.libs" "$build/in-tree" || exit 99
libs=$(dirname "$(find "$root/usr/lib" -name libmpi.so -path '*/openmpi/lib/*' | head -n 1)")
mpi=-lmpi
[ "$major" -lt 6 ] || mpi="-lmpi -lopen_mpi"
cflags="-std=gnu11 -fPIC -w $cpu -fvisibility=hidden -DCG_HAVE_UCX=1 -I$top_srcdir $headers"
# The libraries of a newer Open MPI want a newer C library, which is there where they run.
link="-L$libs -L$(dirname "$(dirname "$libs")") -Wl,--allow-shlib-undefined"

objects() { # FOLDER SOURCE...: compiled into that folder of $build, two at a time
    folder=$build/$1
    shift
    mkdir -p "$folder" || exit 99
    printf '%s\n' "$@" | xargs -P 2 -I FILE sh -c 'source=$0 folder=$1; shift
        exec "$@" -c "$source" -o "$folder/$(basename "$source" .c).o"' FILE "$folder" ${CC:-cc} $cflags || exit 1
}

component() { # FILE OBJECT...
    file=$1
    shift
    ${CC:-cc} -shared $link "$@" "$top_builddir/.libs/libcg.a" ${mpi##* } $(setting CUDA_LIBS) $(setting UCX_LIBS) \
        $(setting HWLOC_LIBS) -lpthread -lm -Wl,-z,now,-z,nodelete,-z,muldefs -o "$file" || exit 1
}

program() { # NAME OBJECT...
    name=$1 files=
    shift
    for object in "$@"; do files="$files $build/o/$object.o"; done
    ${CC:-cc} $files $link $mpi -lpthread -lm -o "$build/test/mpi/$name" || exit 1
}

cd "$top_srcdir" || exit 99
objects component ompi_coll_gpu/*.c
objects fake test/mpi/fake_memory.c
objects o test/mpi/*.c
component "$build/in-tree/mca_coll_gpu.so" "$build"/component/*.o
component "$build/test/mpi/fake/.libs/mca_coll_gpu.so" "$build"/fake/*.o "$build"/component/*.o
for name in order comms errors fallback bits large sessions; do program $name $name mpi_test; done
program types types type_rows mpi_test
program every every every_move every_reduce every_memory every_world every_calls every_large type_rows mpi_test
program requests requests mpi_test every_calls every_large every_world
program threads threads mpi_test every_calls every_large

# As in the build tree. That of this Open MPI has another list of folders with components.
cat >"$build/run-in-tree" <<RUN
#!/bin/sh
OMPI_MCA_mca_base_component_path=$build/in-tree:$(echo "$libs/openmpi"* | sed "s|^$root||")
export OMPI_MCA_mca_base_component_path
exec "\$@"
RUN
chmod +x "$build/run-in-tree"
# Inside, this tree and its build have the names that they have here, also if these are in /tmp.
exec $space sh -c '
    root=$0
    mount -t tmpfs none "$root/tmp" || exit 77
    for dir in /proc /dev /sys "$1" "$2"; do
        mkdir -p "$root$dir" && mount --rbind "$dir" "$root$dir" || exit 77
    done
    cd / && exec chroot "$root" env -i PATH=/usr/bin HOME=/tmp top_srcdir="$1" top_builddir="$3" \
        MPIRUN=/usr/bin/mpirun.openmpi OMPI_MCA_btl_tcp_if_include=lo sh "$1/test/compat/jobs.sh" "$4"' \
    "$root" "$top_srcdir" "$top_builddir" "$build" "$major"
