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
