/* SPDX-License-Identifier: BSD-3-Clause
 * Elements of any type of types.def, for tests that go over all of them. */
#ifndef CG_TEST_ELEMENTS_H
#define CG_TEST_ELEMENTS_H

#include "kernels/host/host.h"

#include <string.h>

/* Element from a value and a second number: imaginary part or index. Integers: the value cut. Gaps are left alone. */
static inline void element_set(int type, void *p, double v, int second)
{
    switch (type) {
#define ELEMENT_CASE_INT(name, T)                                              \
    case CG_TYPE_##name: {                                                     \
        const T e = (T) (int64_t) v;                                           \
        memcpy(p, &e, sizeof(e));                                              \
        break;                                                                 \
    }
#define ELEMENT_CASE_FLT(name, T)                                              \
    case CG_TYPE_##name: {                                                     \
        const T e = (T) v;                                                     \
        memcpy(p, &e, sizeof(e));                                              \
        break;                                                                 \
    }
#define ELEMENT_CASE_NAR(name, T)                                              \
    case CG_TYPE_##name: {                                                     \
        const T e = (T) cg_narrow_##name((float) v);                           \
        memcpy(p, &e, sizeof(e));                                              \
        break;                                                                 \
    }
#define ELEMENT_CASE_CPX(name, T)                                         \
    case CG_TYPE_##name: {                                                \
        const T e = {(__typeof__(e.re)) v, (__typeof__(e.re)) second};    \
        memcpy(p, &e, sizeof(e));                                         \
        break;                                                            \
    }
#define ELEMENT_CASE_LOC(name, T)                                         \
    case CG_TYPE_##name: {                                                \
        const T e = {.v = (__typeof__(e.v)) v, .i = (__typeof__(e.i)) second}; \
        memcpy(p, &e.v, sizeof(e.v));                                     \
        memcpy((char *) p + offsetof(T, i), &e.i, sizeof(e.i));           \
        break;                                                            \
    }
#define CG_TYPE(name, T, U, cls) ELEMENT_CASE_##cls(name, T)
#include "kernels/types.def"
#undef CG_TYPE
    }
}

/* n elements without their gaps. */
static inline void elements_copy(int type, char *to, const char *from, uint64_t n)
{
    uint32_t data = cg_type_data(type);

    for (uint64_t i = 0; i < n * (uint64_t) cg_type_size(type); i++) {
        if ((data >> (i & 15)) & 1) to[i] = from[i];
    }
}

#endif
