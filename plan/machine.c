/* SPDX-License-Identifier: BSD-3-Clause
 * A described machine, from text. */
#include "core/status.h"
#include "plan/predict.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct field {
    const char *name;
    size_t at;
    int whole;
} fields[] = {
#define WHOLE(name) {#name, offsetof(struct cg_machine, name), 1}
#define REAL(name) {#name, offsetof(struct cg_machine, name), 0}
    WHOLE(nodes),     WHOLE(gpus),          WHOLE(nics),   REAL(node_latency_us), REAL(node_gbs), REAL(net_latency_us),
    REAL(net_gbs), REAL(step_us), REAL(memory_gbs),
#undef WHOLE
#undef REAL
};

void cg_machine_default(struct cg_machine *m)
{
    *m = (struct cg_machine){.nodes = 2,
                             .gpus = 8,
                             .nics = 8,
                             .node_latency_us = 1.5,
                             .node_gbs = 350,
                             .net_latency_us = 5,
                             .net_gbs = 48,
                             .step_us = 0.7,
                             .memory_gbs = 2000};
}

static int set(struct cg_machine *m, const char *name, const char *value)
{
    char *end;
    double v = strtod(value, &end);

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        if (strcmp(fields[i].name, name)) continue;
        if (end == value || *end || !(v >= 0 && v <= 1e9) || (fields[i].whole && (v < 1 || v > 65536))) return 0;
        if (0 == v && strstr(name, "_gbs")) return 0;
        if (fields[i].whole) *(uint32_t *) ((char *) m + fields[i].at) = (uint32_t) v;
        if (!fields[i].whole) *(double *) ((char *) m + fields[i].at) = v;
        return 1;
    }
    return 0;
}

int cg_machine_parse(const char *text, struct cg_machine *m, char *why, size_t len)
{
    for (int line = 1; *text; line++) {
        size_t n = strcspn(text, "\n");
        char row[200], name[64], value[64], more[2];
        snprintf(row, sizeof(row), "%.*s", (int) n, text);
        row[strcspn(row, "#")] = '\0';
        int words = sscanf(row, " %63[^ =\t] = %63s %1s", name, value, more);
        if (words < 2) words = sscanf(row, " %63s %63s %1s", name, value, more);
        if (words > 0 && (words != 2 || !set(m, name, value))) {
            snprintf(why, len, "line %d: '%s': not a name and a value of a machine", line, row);
            return CG_ERR_ARG;
        }
        text += n + (text[n] != '\0');
    }
    return CG_OK;
}
