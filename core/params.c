/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/params.h"
#include "core/status.h"

#include <stdio.h>
#include <string.h>

struct param_row {
    const char *name;
    size_t offset;
    int def, min, max, agreed;
};

static const struct param_row rows[] = {
#define CG_PARAM(name, def, min, max, agreed, level, text)                                                             \
    {#name, offsetof(struct cg_params, name), def, min, max, agreed},
#include "core/params.def"
#undef CG_PARAM
};

static int *field(struct cg_params *p, const struct param_row *row) { return (int *) ((char *) p + row->offset); }

static int value(const struct cg_params *p, const struct param_row *row)
{
    return *(const int *) ((const char *) p + row->offset);
}

void cg_params_default(struct cg_params *p)
{
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < CG_PARAM_COUNT; i++) *field(p, &rows[i]) = rows[i].def;
}

static int power_of_two(int v) { return v > 0 && 0 == (v & (v - 1)); }

int cg_params_check(const struct cg_params *p, char *why, size_t len)
{
    for (int i = 0; i < CG_PARAM_COUNT; i++) {
        int v = value(p, &rows[i]);
        if (v < rows[i].min || v > rows[i].max) {
            snprintf(why, len, "coll_gpu_%s is %d, allowed are %d to %d", rows[i].name, v, rows[i].min, rows[i].max);
            return CG_ERR_ARG;
        }
    }
    if (!power_of_two(p->slot_bytes) || !power_of_two(p->slots)) {
        snprintf(why, len, "coll_gpu_%s is %d, it must be a power of two",
                 power_of_two(p->slots) ? "slot_bytes" : "slots", power_of_two(p->slots) ? p->slot_bytes : p->slots);
        return CG_ERR_ARG;
    }
    if (p->threads % 32) {
        snprintf(why, len, "coll_gpu_threads is %d, it must be a multiple of 32", p->threads);
        return CG_ERR_ARG;
    }
    return CG_OK;
}

void cg_params_get_agreed(const struct cg_params *p, struct cg_agreed *a)
{
    for (int i = 0; i < CG_PARAM_COUNT; i++) a->value[i] = rows[i].agreed ? value(p, &rows[i]) : 0;
}

void cg_params_set_agreed(struct cg_params *p, const struct cg_agreed *a)
{
    for (int i = 0; i < CG_PARAM_COUNT; i++) {
        if (rows[i].agreed) *field(p, &rows[i]) = a->value[i];
    }
}

const char *cg_agreed_differ(const struct cg_agreed *a, const struct cg_agreed *b)
{
    for (int i = 0; i < CG_PARAM_COUNT; i++) {
        if (a->value[i] != b->value[i]) return rows[i].name;
    }
    return NULL;
}
