#!/bin/sh
# What the component asks of other libraries and what it offers. usage: symbols.sh [COMPONENT]
# Prints one line per violation, exit status 1 if there is any.
component=${1:-$top_builddir/in-tree/mca_coll_gpu.so}
if [ ! -f "$component" ]; then
    echo "$component does not exist"
    exit 1
fi
bad=0
complain() { sed "s|^|$(basename "$component"): $1|" | grep . && bad=1; }

# Undefined symbols: Open MPI, UCX, hwloc, and the C library with its version names. CUDA's driver is opened at run
# time, its runtime is inside, C++ is not needed.
nm -D --undefined-only "$component" | awk '{ print $NF }' |
    grep -v -E -e '^(ompi|opal|orte|mca|pmix|PMIx|PMPI|MPI)_' -e '^(ucp|ucs|hwloc)_' -e '@GLIBC_' -e '@GCC_' \
        -e '^(_ITM_(de)?registerTMCloneTable|__gmon_start__)$' >"${TMPDIR:-/tmp}/lint.$$"
complain 'needs symbol ' <"${TMPDIR:-/tmp}/lint.$$"

readelf -d "$component" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -v -E '^(libmpi|libopen_mpi|libucp|libucs|libhwloc|libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux.*)\.so' \
    >"${TMPDIR:-/tmp}/lint.$$"
complain 'needs library ' <"${TMPDIR:-/tmp}/lint.$$"

nm -D --defined-only "$component" | awk '{ print $NF }' | grep -v '^mca_coll_gpu_' >"${TMPDIR:-/tmp}/lint.$$"
complain 'exports ' <"${TMPDIR:-/tmp}/lint.$$"
rm -f "${TMPDIR:-/tmp}/lint.$$"

if ! nm -D --defined-only "$component" | grep -q ' mca_coll_gpu_component$'; then
    echo "$(basename "$component"): does not export mca_coll_gpu_component"
    bad=1
fi
if ! readelf -d "$component" | grep -q NODELETE; then
    echo "$(basename "$component"): is not linked with -z nodelete"
    bad=1
fi
exit $bad
