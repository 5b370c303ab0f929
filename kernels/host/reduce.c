/* SPDX-License-Identifier: BSD-3-Clause
 * Reduction functions for all types and operations of types.def. User buffers have any alignment. */
#include "kernels/host/host.h"

/* Vectorise, whatever the level of the build. The same bits as on the GPU: no fused multiply-add. Slots are bytes. */
#pragma GCC optimize("O3", "fp-contract=off", "no-strict-aliasing")

#define CG_GLUE2(a, b) a##b
#define CG_GLUE(a, b) CG_GLUE2(a, b)

#define CG_TYPE(name, T, U, cls)                                                                                       \
    typedef T elem_##name __attribute__((aligned(1)));                                                      \
    typedef U unsigned_##name __attribute__((unused));
#include "kernels/types.def"
#undef CG_TYPE

#define CG_CLASS CG_CLASS_INT
#define TYPE I8
#include "kernels/host/reduce_type.h"
#define TYPE U8
#include "kernels/host/reduce_type.h"
#define TYPE I16
#include "kernels/host/reduce_type.h"
#define TYPE U16
#include "kernels/host/reduce_type.h"
#define TYPE I32
#include "kernels/host/reduce_type.h"
#define TYPE U32
#include "kernels/host/reduce_type.h"
#define TYPE I64
#include "kernels/host/reduce_type.h"
#define TYPE U64
#include "kernels/host/reduce_type.h"
#undef CG_CLASS
#define CG_CLASS CG_CLASS_FLT
#define TYPE F32
#include "kernels/host/reduce_type.h"
#define TYPE F64
#include "kernels/host/reduce_type.h"
#undef CG_CLASS
#define CG_CLASS CG_CLASS_NAR
#define TYPE F16
#include "kernels/host/reduce_type.h"
#define TYPE BF16
#include "kernels/host/reduce_type.h"
#define TYPE E4M3
#include "kernels/host/reduce_type.h"
#define TYPE E5M2
#include "kernels/host/reduce_type.h"
#undef CG_CLASS
#define CG_CLASS CG_CLASS_CPX
#define TYPE C32
#include "kernels/host/reduce_type.h"
#define TYPE C64
#include "kernels/host/reduce_type.h"
#undef CG_CLASS
#define CG_CLASS CG_CLASS_LOC
#define TYPE LOC_F32
#include "kernels/host/reduce_type.h"
#define TYPE LOC_F64
#include "kernels/host/reduce_type.h"
#define TYPE LOC_I16
#include "kernels/host/reduce_type.h"
#define TYPE LOC_I32
#include "kernels/host/reduce_type.h"
#define TYPE LOC_I64
#include "kernels/host/reduce_type.h"
#define TYPE LOC_2F32
#include "kernels/host/reduce_type.h"
#define TYPE LOC_2F64
#include "kernels/host/reduce_type.h"

static const cg_reduce_fn *const by_type[CG_TYPE_COUNT] = {
#define CG_TYPE(name, T, U, cls) [CG_TYPE_##name] = reduce_##name,
#include "kernels/types.def"
#undef CG_TYPE
};

cg_reduce_fn cg_reduce_host(int type, int redop)
{
    if (type < 0 || type >= CG_TYPE_COUNT || redop < 0 || redop >= CG_REDOP_COUNT) return NULL;
    return by_type[type][redop];
}

void cg_widen_host(int type, float *to, const void *from, size_t n)
{
    switch (type) {
#define WIDEN(name, format)                                                                                            \
    case CG_TYPE_##name:                                                                                               \
        for (size_t i = 0; i < n; i++) to[i] = cg_widen_##name(((const elem_##name *) from)[i]);                       \
        break;
        CG_NARROW_TABLE(WIDEN)
    }
}

void cg_narrow_host(int type, void *to, const float *from, size_t n)
{
    switch (type) {
#define NARROW(name, format)                                                                                           \
    case CG_TYPE_##name:                                                                                               \
        for (size_t i = 0; i < n; i++) ((elem_##name *) to)[i] = (elem_##name) cg_narrow_##name(from[i]);              \
        break;
        CG_NARROW_TABLE(NARROW)
    }
}

#define BLOCK 1024 /* elements: partial results stay in the first-level cache, and dst may be an operand */

static void fold_narrow(int type, int redop, char *dst, const char *const *x, int n, size_t at, size_t count)
{
    size_t offset = at * (size_t) cg_type_size(type);
    float sum[BLOCK], next[BLOCK];

    cg_widen_host(type, sum, x[0] + offset, count);
    for (int i = 1; i < n; i++) {
        cg_widen_host(type, next, x[i] + offset, count);
        cg_reduce_host(CG_TYPE_F32, redop)(sum, sum, next, count);
    }
    cg_narrow_host(type, dst + offset, sum, count);
}

static void fold_same(int type, int redop, char *dst, const char *const *x, int n, size_t at, size_t count)
{
    size_t offset = at * (size_t) cg_type_size(type);
    char partial[BLOCK * 16] __attribute__((aligned(64)));
    const char *left = x[0] + offset;

    for (int i = 1; i < n; i++) {
        char *to = i == n - 1 ? dst + offset : partial;
        cg_reduce_host(type, redop)(to, left, x[i] + offset, count);
        left = to;
    }
}

void cg_fold_host(int type, int redop, void *dst, const char *const *x, int n, size_t count)
{
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t part = cg_min_u64(BLOCK, count - at);
        if (cg_type_narrow(type)) fold_narrow(type, redop, dst, x, n, at, part);
        else fold_same(type, redop, dst, x, n, at, part);
    }
}
