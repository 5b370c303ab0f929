/* SPDX-License-Identifier: BSD-3-Clause
 * Half, bfloat16 and FP8 for MPI programs: constructors of datatypes and operations. Header only, C and C++, nothing to
 * link but MPI; any MPI implementation.
 *
 *     MPI_Datatype bf16;
 *     MPI_Op sum;
 *     coll_gpu_type_create(COLL_GPU_BFLOAT16, &bf16);
 *     coll_gpu_op_create(COLL_GPU_BFLOAT16, MPI_SUM, &sum);
 *     MPI_Allreduce(MPI_IN_PLACE, gradients, n, bf16, sum, comm);      // gradients: host or GPU memory
 *     MPI_Op_free(&sum);
 *     MPI_Type_free(&bf16);
 *
 * Both are ordinary MPI objects: the operation works on the CPU under any MPI and any component. Where coll/gpu is
 * loaded, it recognises the operation and runs it natively, on the GPU for GPU memory: sums of several ranks are then
 * computed in float and rounded once, whereas elsewhere each step rounds. Create both on all ranks, after MPI_Init.
 *
 * The operation says what the elements are. Besides the type made here, any type will do whose data are elements of the
 * format one after another, for instance MPI_Type_contiguous(1024, bf16) or MPI_UINT16_T. */
#ifndef COLL_GPU_H
#define COLL_GPU_H

#include <mpi.h>
#include <stddef.h>

#include "coll_gpu_floats.h"

enum coll_gpu_what { COLL_GPU_SUM, COLL_GPU_PROD, COLL_GPU_MIN, COLL_GPU_MAX, COLL_GPU_WHATS };

/* a op b; MIN and MAX of NaN are NaN. */
static inline float coll_gpu_combine(enum coll_gpu_what what, float a, float b)
{
    switch (what) {
    case COLL_GPU_SUM: return a + b;
    case COLL_GPU_PROD: return a * b;
    case COLL_GPU_MIN: return a < b || a != a ? a : b;
    default: return a > b || a != a ? a : b;
    }
}

/* inout[i] = in[i] op inout[i]. n numbers at any address. */
static inline void coll_gpu_reduce(enum coll_gpu_format format, enum coll_gpu_what what, const void *in, void *inout,
                                   size_t n)
{
    const unsigned char *a = (const unsigned char *) in;
    unsigned char *b = (unsigned char *) inout;
    size_t bytes = (size_t) coll_gpu_format_bytes(format);

    for (size_t i = 0; i < n; i++, a += bytes, b += bytes) {
        uint8_t byte;
        uint16_t x, y;
        if (bytes == 1) {
            x = *a;
            y = *b;
        } else {
            memcpy(&x, a, 2);
            memcpy(&y, b, 2);
        }
        y = coll_gpu_from_float(
            format, coll_gpu_combine(what, coll_gpu_to_float(format, x), coll_gpu_to_float(format, y)));
        byte = (uint8_t) y;
        if (bytes == 1) *b = byte;
        else memcpy(b, &y, 2);
    }
}

/* MPI's count is in elements of the datatype, which may be several of the format. */
static inline void coll_gpu_call(enum coll_gpu_format format, enum coll_gpu_what what, void *in, void *inout,
                                 int *count, MPI_Datatype *type)
{
    MPI_Count bytes;

#if MPI_VERSION >= 4
    MPI_Type_size_c(*type, &bytes);
#else
    MPI_Type_size_x(*type, &bytes);
#endif
    coll_gpu_reduce(format, what, in, inout, (size_t) *count * (size_t) bytes / (size_t) coll_gpu_format_bytes(format));
}

/* One function for each format and operation: MPI tells a function neither. */
#define COLL_GPU_FUNCTION(format, what)                                                                             \
    static inline void coll_gpu_function_##format##_##what(void *in, void *inout, int *count, MPI_Datatype *type)   \
    {                                                                                                               \
        coll_gpu_call(COLL_GPU_##format, COLL_GPU_##what, in, inout, count, type);                                  \
    }
#define COLL_GPU_FUNCTIONS_OF(format)                                                                               \
    COLL_GPU_FUNCTION(format, SUM)                                                                                  \
    COLL_GPU_FUNCTION(format, PROD)                                                                                 \
    COLL_GPU_FUNCTION(format, MIN)                                                                                  \
    COLL_GPU_FUNCTION(format, MAX)
COLL_GPU_FUNCTIONS_OF(HALF)
COLL_GPU_FUNCTIONS_OF(BFLOAT16)
COLL_GPU_FUNCTIONS_OF(FP8_E4M3)
COLL_GPU_FUNCTIONS_OF(FP8_E5M2)
#undef COLL_GPU_FUNCTIONS_OF
#undef COLL_GPU_FUNCTION

static inline MPI_User_function *coll_gpu_function(enum coll_gpu_format format, enum coll_gpu_what what)
{
#define COLL_GPU_ROW(format)                                                                       \
    {                                                                                              \
        coll_gpu_function_##format##_SUM, coll_gpu_function_##format##_PROD,                       \
        coll_gpu_function_##format##_MIN, coll_gpu_function_##format##_MAX                         \
    }
    static MPI_User_function *const functions[COLL_GPU_FORMATS][COLL_GPU_WHATS] = {
        COLL_GPU_ROW(HALF), COLL_GPU_ROW(BFLOAT16), COLL_GPU_ROW(FP8_E4M3), COLL_GPU_ROW(FP8_E5M2)};
#undef COLL_GPU_ROW
    return functions[format][what];
}

/* What coll/gpu offers through the MPI_T variable coll_gpu_register: its address as an integer. version: of this
 * interface. Returns 0 if the function is known from now on. Any thread. */
#define COLL_GPU_REGISTER_VERSION 1
typedef int coll_gpu_register_fn(int version, int format, int what, MPI_User_function *function);

/* Tell coll/gpu, if it is loaded, what the function does. */
static inline void coll_gpu_announce(enum coll_gpu_format format, enum coll_gpu_what what)
{
    unsigned long long address = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int index, count, provided;

    if (MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return;
    if (MPI_T_pvar_get_index("coll_gpu_register", MPI_T_PVAR_CLASS_GENERIC, &index) == MPI_SUCCESS &&
        MPI_T_pvar_session_create(&session) == MPI_SUCCESS) {
        if (MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS) {
            if (MPI_T_pvar_read(session, handle, &address) != MPI_SUCCESS) address = 0;
            MPI_T_pvar_handle_free(session, &handle);
        }
        MPI_T_pvar_session_free(&session);
    }
    if (address) {
        ((coll_gpu_register_fn *) (uintptr_t) address)(COLL_GPU_REGISTER_VERSION, format, what,
                                                       coll_gpu_function(format, what));
    }
    MPI_T_finalize();
}

/* A committed datatype of one number of the format, with a name. To be freed with MPI_Type_free. MPI_SUCCESS,
 * MPI_ERR_ARG for what is no format, or what MPI says. */
static inline int coll_gpu_type_create(enum coll_gpu_format format, MPI_Datatype *type)
{
    static const char *const names[COLL_GPU_FORMATS] = {"coll_gpu half", "coll_gpu bfloat16", "coll_gpu fp8 e4m3",
                                                        "coll_gpu fp8 e5m2"};
    int rc;

    if ((int) format < 0 || (int) format >= COLL_GPU_FORMATS) return MPI_ERR_ARG;
    rc = MPI_Type_contiguous(1, coll_gpu_format_bytes(format) == 2 ? MPI_UINT16_T : MPI_UINT8_T, type);
    if (rc == MPI_SUCCESS) rc = MPI_Type_set_name(*type, names[format]);
    return rc == MPI_SUCCESS ? MPI_Type_commit(type) : rc;
}

/* An operation on numbers of the format: like MPI_SUM, MPI_PROD, MPI_MIN or MPI_MAX; commutative. To be freed with
 * MPI_Op_free. MPI_SUCCESS, MPI_ERR_ARG for what is no format, MPI_ERR_OP for other operations, or what MPI says. */
static inline int coll_gpu_op_create(enum coll_gpu_format format, MPI_Op like, MPI_Op *op)
{
    enum coll_gpu_what what = like == MPI_SUM    ? COLL_GPU_SUM
                              : like == MPI_PROD ? COLL_GPU_PROD
                              : like == MPI_MIN  ? COLL_GPU_MIN
                              : like == MPI_MAX  ? COLL_GPU_MAX
                                                 : COLL_GPU_WHATS;

    if ((int) format < 0 || (int) format >= COLL_GPU_FORMATS) return MPI_ERR_ARG;
    if (what == COLL_GPU_WHATS) return MPI_ERR_OP;
    coll_gpu_announce(format, what);
    return MPI_Op_create(coll_gpu_function(format, what), 1, op);
}

#endif
