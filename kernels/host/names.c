/* SPDX-License-Identifier: BSD-3-Clause
 * Sizes and names of what the tables list. */
#include "kernels/host/host.h"

static const struct {
    const char *name;
    int size;
} types[CG_TYPE_COUNT] = {
#define CG_TYPE(name, T, U, cls) [CG_TYPE_##name] = {#name, (int) sizeof(T)},
#include "kernels/types.def"
#undef CG_TYPE
};

static const char *const redops[CG_REDOP_COUNT] = {
#define CG_REDOP_NAME(name) [CG_REDOP_##name] = #name,
#include "kernels/types.def"
#undef CG_REDOP_NAME
};

static const char *const steps[CG_STEP_COUNT] = {
#define CG_STEP_NAME(name, recv, operand, write, send, text) [CG_STEP_##name] = #name,
    CG_STEP_TABLE(CG_STEP_NAME)
#undef CG_STEP_NAME
};

static const char *const colls[CG_COLL_COUNT] = {
    "none",
#define CG_COLL_TEXT(name, text, reduces, known, reach) text,
    CG_COLL_TABLE(CG_COLL_TEXT)
#undef CG_COLL_TEXT
};

static const char *lookup(const char *const *names, int count, int i)
{
    return i >= 0 && i < count ? names[i] : "unknown";
}

int cg_type_size(int type) { return type >= 0 && type < CG_TYPE_COUNT ? types[type].size : 0; }
const char *cg_type_name(int type) { return type >= 0 && type < CG_TYPE_COUNT ? types[type].name : "unknown"; }
const char *cg_redop_name(int redop) { return lookup(redops, CG_REDOP_COUNT, redop); }
const char *cg_coll_name(int coll) { return lookup(colls, CG_COLL_COUNT, coll); }
const char *cg_step_name(int opcode) { return lookup(steps, CG_STEP_COUNT, opcode); }
