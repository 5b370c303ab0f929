/* SPDX-License-Identifier: BSD-3-Clause
 * Reduction functions for all types and operations of types.def. User buffers have any alignment. */
#include "kernels/arith.h"
#include "kernels/host/host.h"

#pragma GCC optimize("O3") /* vectorise, whatever the level of the build */

#define CG_GLUE2(a, b) a##b
#define CG_GLUE(a, b) CG_GLUE2(a, b)

#define CG_TYPE(name, ctype, utype, cls)                                                                               \
    typedef ctype elem_##name __attribute__((aligned(1), may_alias));                                                  \
    typedef utype unsigned_##name;
#include "kernels/types.def"
#undef CG_TYPE

#define CG_FOR_ALL(...) __VA_ARGS__
#define CG_FOR_INT(...) __VA_ARGS__
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
#undef CG_FOR_INT
#define CG_FOR_INT(...) /* not defined on floating point */
#define TYPE F32
#include "kernels/host/reduce_type.h"
#define TYPE F64
#include "kernels/host/reduce_type.h"

static const cg_reduce_fn *const by_type[CG_TYPE_COUNT] = {
#define CG_TYPE(name, ctype, utype, cls) [CG_TYPE_##name] = reduce_##name,
#include "kernels/types.def"
#undef CG_TYPE
};

cg_reduce_fn cg_reduce_host(int type, int redop)
{
    if (type < 0 || type >= CG_TYPE_COUNT || redop < 0 || redop >= CG_REDOP_COUNT) return NULL;
    return by_type[type][redop];
}
