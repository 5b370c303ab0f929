/* SPDX-License-Identifier: BSD-3-Clause
 * MPI's types and operations as the engine's. Types are equal if their bits are: ranks may name them differently. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/host/host.h"

enum {
    CLASS_INT = 1,
    CLASS_FLT = 2,
    CLASS_BOOL = 4,
    CLASS_CPX = 8,
    CLASS_LOC = 16,
    CLASS_REAL = CLASS_INT | CLASS_FLT,
    CLASS_NUM = CLASS_REAL | CLASS_CPX
};

static int signed_of(size_t bytes)
{
    return bytes == 1   ? CG_TYPE_I8
           : bytes == 2 ? CG_TYPE_I16
           : bytes == 4 ? CG_TYPE_I32
           : bytes == 8 ? CG_TYPE_I64
                        : -1;
}

static int float_of(size_t bytes) { return bytes == 4 ? CG_TYPE_F32 : bytes == 8 ? CG_TYPE_F64 : -1; }
static int complex_of(size_t bytes) { return bytes == 8 ? CG_TYPE_C32 : bytes == 16 ? CG_TYPE_C64 : -1; }

/* Two numbers of a kind. */
static int two_floats_of(size_t bytes) { return bytes == 8 ? CG_TYPE_LOC_2F32 : bytes == 16 ? CG_TYPE_LOC_2F64 : -1; }
static int two_ints_of(size_t bytes) { return bytes == 8 ? CG_TYPE_LOC_I32 : -1; }

/* The engine's type only if the user's is laid out alike. */
static int laid_out(const struct ompi_datatype_t *dt, int type, size_t bytes)
{
    return dt->super.size == bytes && dt->super.ub - dt->super.lb == cg_type_size(type) ? type : -1;
}

/* id, not the handle or super.id: several handles share one, pair types have junk in super.id. */
static int type_of(const struct ompi_datatype_t *dt, int *class)
{
    size_t size = dt->super.size;

    *class = CLASS_INT;
    switch (dt->id) {
    case OMPI_DATATYPE_MPI_INT8_T: return CG_TYPE_I8;
    case OMPI_DATATYPE_MPI_UINT8_T: return CG_TYPE_U8;
    case OMPI_DATATYPE_MPI_INT16_T: return CG_TYPE_I16;
    case OMPI_DATATYPE_MPI_UINT16_T: return CG_TYPE_U16;
    case OMPI_DATATYPE_MPI_INT32_T: return CG_TYPE_I32;
    case OMPI_DATATYPE_MPI_UINT32_T: return CG_TYPE_U32;
    case OMPI_DATATYPE_MPI_INT64_T: return CG_TYPE_I64;
    case OMPI_DATATYPE_MPI_UINT64_T: return CG_TYPE_U64;
    case OMPI_DATATYPE_MPI_UNSIGNED_LONG: return sizeof(long) == 8 ? CG_TYPE_U64 : CG_TYPE_U32;
    case OMPI_DATATYPE_MPI_LONG:
    case OMPI_DATATYPE_MPI_AINT:
    case OMPI_DATATYPE_MPI_OFFSET:
    case OMPI_DATATYPE_MPI_COUNT:
    case OMPI_DATATYPE_MPI_INTEGER: return signed_of(size);
    case OMPI_DATATYPE_MPI_C_BOOL:
        *class = CLASS_BOOL;
        return size == 1 ? CG_TYPE_U8 : -1;
    case OMPI_DATATYPE_MPI_LOGICAL: /* true is 1, as Open MPI's own operations have it */
        *class = CLASS_BOOL;
        return signed_of(size);
    case OMPI_DATATYPE_MPI_FLOAT:
    case OMPI_DATATYPE_MPI_DOUBLE:
    case OMPI_DATATYPE_MPI_REAL:
    case OMPI_DATATYPE_MPI_DOUBLE_PRECISION:
        *class = CLASS_FLT;
        return float_of(size);
#ifdef CG_HAVE_SHORT_FLOAT
    case OMPI_DATATYPE_MPI_SHORT_FLOAT: /* IEEE's */
        *class = CLASS_FLT;
        return size == 2 ? CG_TYPE_F16 : float_of(size);
#endif
    case OMPI_DATATYPE_MPI_C_COMPLEX:
    case OMPI_DATATYPE_MPI_C_FLOAT_COMPLEX:
    case OMPI_DATATYPE_MPI_C_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_COMPLEX:
    case OMPI_DATATYPE_MPI_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_COMPLEX8:
    case OMPI_DATATYPE_MPI_COMPLEX16:
        *class = CLASS_CPX;
        return complex_of(size);
    default:
        *class = CLASS_LOC;
    }
    switch (dt->id) {
    case OMPI_DATATYPE_MPI_FLOAT_INT: return laid_out(dt, CG_TYPE_LOC_F32, 8);
    case OMPI_DATATYPE_MPI_DOUBLE_INT: return laid_out(dt, CG_TYPE_LOC_F64, 12);
    case OMPI_DATATYPE_MPI_SHORT_INT: return laid_out(dt, CG_TYPE_LOC_I16, 6);
    case OMPI_DATATYPE_MPI_LONG_INT:
        return sizeof(long) == 8 ? laid_out(dt, CG_TYPE_LOC_I64, 12) : laid_out(dt, CG_TYPE_LOC_I32, 8);
    case OMPI_DATATYPE_MPI_2INT:
    case OMPI_DATATYPE_MPI_2INTEGER: return two_ints_of(size);
    case OMPI_DATATYPE_MPI_2REAL:
    case OMPI_DATATYPE_MPI_2DBLPREC: return two_floats_of(size);
    default: return -1;
    }
}

static int redop_of(const struct ompi_op_t *op, int *classes)
{
    static const struct {
        int redop, classes;
    } rows[OMPI_OP_NUM_OF_TYPES] = {
        [OMPI_OP_MAX] = {CG_REDOP_MAX, CLASS_REAL},
        [OMPI_OP_MIN] = {CG_REDOP_MIN, CLASS_REAL},
        [OMPI_OP_SUM] = {CG_REDOP_SUM, CLASS_NUM},
        [OMPI_OP_PROD] = {CG_REDOP_PROD, CLASS_NUM},
        [OMPI_OP_LAND] = {CG_REDOP_LAND, CLASS_INT | CLASS_BOOL},
        [OMPI_OP_BAND] = {CG_REDOP_BAND, CLASS_INT},
        [OMPI_OP_LOR] = {CG_REDOP_LOR, CLASS_INT | CLASS_BOOL},
        [OMPI_OP_BOR] = {CG_REDOP_BOR, CLASS_INT},
        [OMPI_OP_LXOR] = {CG_REDOP_LXOR, CLASS_INT | CLASS_BOOL},
        [OMPI_OP_BXOR] = {CG_REDOP_BXOR, CLASS_INT},
        [OMPI_OP_MAXLOC] = {CG_REDOP_MAXLOC, CLASS_LOC},
        [OMPI_OP_MINLOC] = {CG_REDOP_MINLOC, CLASS_LOC},
    };

    *classes = op->op_type < OMPI_OP_NUM_OF_TYPES ? rows[op->op_type].classes : 0;
    return *classes ? rows[op->op_type].redop : -1;
}

int cg_typemap(const struct ompi_datatype_t *dt, const struct ompi_op_t *op, int *type, int *redop)
{
    int class, classes;

    if (cg_op_known(op, type, redop)) return dt->super.size % (size_t) cg_type_size(*type) == 0;
    if (!ompi_op_is_intrinsic((struct ompi_op_t *) op) || !ompi_datatype_is_predefined(dt)) return 0;
    *type = type_of(dt, &class);
    *redop = redop_of(op, &classes);
    return *type >= 0 && *redop >= 0 && (class & classes);
}
