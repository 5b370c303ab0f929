#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the repository holds are sources: text, of at most 200 KB a file. Each folder with CUDA code has its dependencies
# read and cleaned by Makefile.am. usage: tracked.sh [TREE]
cd "${1:-$top_srcdir}" || exit 2
top=$(git rev-parse --show-toplevel 2>/dev/null)
[ -n "$top" ] && [ "$top" = "$(pwd -P)" ] || {
    echo "skipped: no repository"
    exit 77
}
{
    git ls-files '*.cu' | sed 's|/[^/]*$||' | sort -u | while read -r dir; do
        [ "$(grep -c -F " $dir/*.nvcc-d" Makefile.am)" -eq 2 ] || echo "$dir: *.nvcc-d is not included and cleaned"
    done
    git ls-files | while read -r file; do
        [ -f "$file" ] || continue
        [ "$(wc -c <"$file")" -le 200000 ] || echo "$file: more than 200 KB"
        [ ! -s "$file" ] || grep -Iq '' "$file" || echo "$file: no text"
    done
} | grep . && exit 1
exit 0
