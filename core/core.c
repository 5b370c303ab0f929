/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/log.h"
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>

static cg_log_sink_t log_sink;
static void *log_ctx;
static int log_level;

const char *cg_status_text(int status)
{
    switch (status) {
#define CG_STATUS_CASE(name, value, text) \
    case name:                            \
        return text;
        CG_STATUS_TABLE(CG_STATUS_CASE)
#undef CG_STATUS_CASE
    }
    return "unknown status";
}

void cg_log_set(cg_log_sink_t sink, void *ctx, int level)
{
    log_sink = sink;
    log_ctx = ctx;
    log_level = level;
}

int cg_log_level(void) { return log_level; }

void cg_log(int level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (log_sink) {
        log_sink(level, line, log_ctx);
    } else {
        fprintf(stderr, "coll_gpu: %s\n", line);
    }
}
