#!/bin/sh
# Files of at most 450 lines, lines of at most 120 columns. usage: length.sh [TREE]
cd "${1:-$top_srcdir}" || exit 2
for d in core kernels topo plan proxy links engine ompi_coll_gpu bench info test; do
    if [ -d "$d" ]; then
        find "$d" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' -o -name '*.sh' \) -print
    fi
done | sort | xargs awk '
function over() { if (lines > 450) { printf "%s: %d lines, at most 450\n", name, lines; bad = 1 } }
FNR == 1 { over(); name = FILENAME; seen++ }
{ lines = FNR }
length($0) > 120 { printf "%s:%d: %d columns, at most 120\n", FILENAME, FNR, length($0); bad = 1 }
END { over(); if (!seen) { print "no file found: wrong tree?"; bad = 1 } exit bad }' || exit 1
