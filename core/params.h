/* SPDX-License-Identifier: BSD-3-Clause
 * Parameters as one plain struct, generated from params.def. */
#ifndef CG_CORE_PARAMS_H
#define CG_CORE_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cg_params {
#define CG_PARAM(name, def, min, max, agreed, level, text) int name;
#include "core/params.def"
#undef CG_PARAM
    char transport[16]; /* row of the transport table: "ucx", "loop"; "" = first available */
};

/* Fill with defaults. */
void cg_params_default(struct cg_params *p);

/* Check ranges, powers of two and combinations. CG_OK, or CG_ERR_ARG with a text of at most len bytes in
 * why that names parameter, value and allowed range. */
int cg_params_check(const struct cg_params *p, char *why, size_t len);

/* The agreed parameters as an array, for the set-up of a communicator. */
enum {
#define CG_PARAM(name, def, min, max, agreed, level, text) CG_PARAM_INDEX_##name,
#include "core/params.def"
#undef CG_PARAM
    CG_PARAM_COUNT
};

struct cg_agreed {
    int32_t value[CG_PARAM_COUNT]; /* 0 for those that are not agreed */
};
void cg_params_get_agreed(const struct cg_params *p, struct cg_agreed *a);
void cg_params_set_agreed(struct cg_params *p, const struct cg_agreed *a);
/* Name of the first parameter in which a and b differ, NULL if none. */
const char *cg_agreed_differ(const struct cg_agreed *a, const struct cg_agreed *b);

#ifdef __cplusplus
}
#endif
#endif
