#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compile the component, without linking, against the headers of a newer Open MPI.
# usage: headers.sh SUITE PACKAGE-VERSION MAJOR
suite=$1 version=$2 major=$3
. "$top_srcdir/test/compat/packages.sh"
flags="-std=gnu11 -Wall -Wextra -Werror -fsyntax-only $cpu -I$top_srcdir $headers"

printf '%s\n' '#include "ompi_config.h"' '#include "mpi.h"' \
    "_Static_assert(OMPI_MAJOR_VERSION == $major, \"headers of Open MPI $major\");" |
    ${CC:-cc} $flags -x c - || exit 99
failed=0 files=0
for file in "$top_srcdir"/ompi_coll_gpu/*.c; do
    [ -f "$file" ] || continue
    files=$((files + 1))
    ${CC:-cc} $flags "$file" || failed=$((failed + 1))
    # a function that a header of Open MPI calls and no header declares, which -isystem hides
    undeclared=$(${CC:-cc} $flags -Wno-error -Wsystem-headers "$file" 2>&1 | grep 'implicit declaration')
    [ -z "$undeclared" ] || { failed=$((failed + 1)) && echo "$undeclared"; }
done
echo "Open MPI $major ($version): $files files, $failed do not compile"
[ $files -gt 0 ] && [ $failed -eq 0 ]
