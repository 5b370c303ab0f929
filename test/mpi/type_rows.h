/* SPDX-License-Identifier: BSD-3-Clause
 * Every predefined type that has arithmetic, and those of coll_gpu.h, with every operation: inputs and results. Inputs
 * keep results exact in any order. */
#ifndef CG_TEST_MPI_TYPE_ROWS_H
#define CG_TEST_MPI_TYPE_ROWS_H

#include <mpi.h>
#include <stddef.h>

/* FINT: Fortran's integers, which know no logical operation. STAGED, also: long double, its relatives, the user's. */
enum type_class {
    INT = 1, FLT = 2, LOGICAL = 4, FINT = 8, COMPLEX = 16, PAIR = 32, NARROW = 64, BYTES = 128, STAGED = 256
};

enum type_op {
    OP_SUM, OP_PROD, OP_MIN, OP_MAX, OP_LAND, OP_LOR, OP_LXOR, OP_BAND, OP_BOR, OP_BXOR, OP_MINLOC, OP_MAXLOC,
    OP_USER /* made for the type */
};

#define TYPE_MOST 32 /* bytes of an element */

struct type_row {
    const char *name;
    MPI_Datatype mpi;
    size_t bytes, data; /* from one to the next; without gaps */
    int class;
    /* The element that a rank contributes; acc = acc op x, acc being of the lower rank. */
    void (*fill)(void *p, size_t i, int op, int rank);
    void (*combine)(void *acc, const void *x, int op);
    /* Into memory, where that is not memcpy of bytes: without the gaps, or from what is computed with. */
    void (*store)(void *to, const void *x);
    /* Makes all bytes of an element in memory that may be anything equal; NULL: there are none. */
    void (*clean)(void *p);
    MPI_Op own[OP_USER + 1]; /* operations made for the type, instead of MPI's: these alone are allowed */
};

struct op_row {
    const char *name;
    MPI_Op mpi;
    int classes;
};
extern const struct op_row op_rows[OP_USER + 1];

/* Made by type_rows_make, after MPI_Init: the types that this MPI has. */
extern struct type_row type_rows[80];
extern int ntype_rows;
void type_rows_make(void);
const struct type_row *type_row_named(const char *name);

/* Does MPI allow them together? The operation to call with. */
int type_allows(const struct type_row *t, int op);
MPI_Op type_op(const struct type_row *t, int op);

/* Calls of this form, nonblocking or persistent allreduces, are left to the next component (ompi_coll_gpu/native.c). */
int type_like_comm_creation(const struct type_row *t, int op, size_t count);

/* A rank's element in memory, and the result over the ranks rank[0 .. n - 1], in that order. */
void type_put(const struct type_row *t, void *p, size_t i, int op, int rank);
void type_expect(const struct type_row *t, void *p, size_t i, int op, int n, const int *rank);

#endif
