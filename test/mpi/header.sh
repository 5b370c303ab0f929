#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# coll_gpu.h: it compiles as C99 and C++ without a warning, and its operations work with coll/gpu and without.
. "${top_srcdir:=.}/test/mpi/lib.sh"

printf '%s\n' '#include <coll_gpu.h>' 'int main(void) { MPI_Datatype t; MPI_Op o;' \
    'return coll_gpu_type_create(COLL_GPU_HALF, &t) + coll_gpu_op_create(COLL_GPU_HALF, MPI_SUM, &o); }' >"$out.c"
flags="-pedantic -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -I$top_srcdir/include -fsyntax-only"
${MPICC:=mpicc} -std=c99 $flags "$out.c" >"$out" 2>&1 || fail "as C99"
if command -v c++ >/dev/null; then
    OMPI_CC=c++ $MPICC -std=c++11 -x c++ $flags "$out.c" >"$out" 2>&1 || fail "as C++"
fi
rm -f "$out.c"

export CG_TEST_HOST=1
ok 3 "enable=always" ../gpu/mpi_types
said "served by host"
export OMPI_MCA_coll=^gpu
ok 3 "" ../gpu/mpi_types
said "served by other"
end
