/* SPDX-License-Identifier: BSD-3-Clause
 * Included by reduce.c once per type, with TYPE its name and CG_CLASS its class: a reduction function for each
 * operation, and the table of them. No include guard by intent.
 * Element i of dst depends on element i of a and b only, so dst may be a or b: no dependency between iterations. */
#define ELEM CG_GLUE(elem_, TYPE)
#define U CG_GLUE(unsigned_, TYPE)
#if CG_CLASS == CG_CLASS_NAR
#define T float
#define GET(x) CG_GLUE(cg_widen_, TYPE)(x)
#else
#define T ELEM
#define GET(x) (x)
#endif

#if CG_CLASS == CG_CLASS_NAR
#define PUT(to, x) ((to) = (ELEM) CG_GLUE(cg_narrow_, TYPE)(x))
#elif CG_CLASS == CG_CLASS_LOC
#define PUT(to, x)             \
    ({                         \
        const T x_ = (x);      \
        (to).v = x_.v;         \
        (to).i = x_.i;         \
    })
#else
#define PUT(to, x) ((to) = (x))
#endif

#define CG_REDOP(name, expr)                                                                                           \
    static void CG_GLUE(reduce_##name##_, TYPE)(void *vdst, const void *va, const void *vb, size_t n)                  \
    {                                                                                                                  \
        ELEM *dst = (ELEM *) vdst;                                                                                     \
        const ELEM *pa = (const ELEM *) va, *pb = (const ELEM *) vb;                                                   \
        _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)                                                            \
        {                                                                                                              \
            const T a = GET(pa[i]), b = GET(pb[i]);                                                                    \
            PUT(dst[i], expr);                                                                                         \
        }                                                                                                              \
    }
#include "kernels/types.def"
#undef CG_REDOP

static const cg_reduce_fn CG_GLUE(reduce_, TYPE)[CG_REDOP_COUNT] = {
#define CG_REDOP(name, expr) [CG_REDOP_##name] = CG_GLUE(reduce_##name##_, TYPE),
#include "kernels/types.def"
#undef CG_REDOP
};

#undef ELEM
#undef T
#undef U
#undef GET
#undef PUT
#undef TYPE
