#!/bin/sh
# Includes point one way, and foreign headers stay in their directories (CONTRIBUTING.md).
# usage: includes.sh [TREE]; prints one line per violation, exit status 1 if there is any.
cd "${1:-$top_srcdir}" || exit 2
dirs='core kernels topo plan proxy links engine ompi_coll_gpu bench info test'
for d in $dirs; do
    if [ -d "$d" ]; then find "$d" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) -print; fi
done | grep -v '^ompi_coll_gpu/shims/' | sort | xargs awk '
BEGIN {
    # What a directory may include besides itself.
    may["core"] = " "
    may["kernels"] = may["topo"] = " core "
    may["plan"] = " core kernels topo "
    may["proxy"] = " core kernels "
    may["links"] = " core kernels proxy "
    may["engine"] = " core kernels topo plan proxy links "
    may["ompi_coll_gpu"] = may["test"] = may["bench"] = may["info"] = may["engine"] " engine "
    may["test"] = may["bench"] = may["test"] " ompi_coll_gpu bench info "
    # Foreign headers, and the paths that may include them. Tests and bench are users of all.
    n = split("^(mpi|ompi_config|opal_config|mpi-ext)[.]h$|^(ompi|opal|orte|pmix)/ ^ompi_coll_gpu/|^test/mpi/ " \
              "^(cuda|cudart|nv|cooperative_groups|device_|driver_types|cub/|thrust/) ^kernels/cuda/ " \
              "^uc[pmst]/ ^proxy/net_ucx[_a-z]*[.][ch]$ " \
              "^hwloc ^topo/", foreign, " ")
    users = "^(test|bench)/"
}
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
FNR == 1 { split(FILENAME, part, "/"); dir = part[1] }
/__CUDACC__|__CUDA_ARCH__/ && FILENAME !~ /^core\/port[.]h$|^kernels\/cuda\/|^test\/gpu\// {
    complain("host and device code differ only in core/port.h") }
/^[ \t]*#.*(OMPI|OPAL)_(MAJOR|MINOR|RELEASE)_VERSION/ && FILENAME !~ /^ompi_coll_gpu\/compat[.]h$|^test\// {
    complain("Open MPI versions are told apart only in ompi_coll_gpu/compat.h") }
!/^[ \t]*#[ \t]*include[ \t]*["<]/ { next }
{
    header = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", header)
    sub(/[">].*/, "", header)
    files++
    for (i = 1; i < n; i += 2)
        if (header ~ foreign[i]) {
            if (FILENAME !~ foreign[i + 1] && FILENAME !~ users)
                complain("includes " header ": not in this directory")
            next
        }
    if (header !~ /\//) next
    split(header, part, "/")
    if ((part[1] in may) && part[1] != dir && index(may[dir], " " part[1] " ") == 0)
        complain("includes " header ": " part[1] " lies above " dir)
}
END {
    if (!files) { print "no include found: wrong tree?"; bad = 1 }
    exit bad
}' || exit 1
