/* SPDX-License-Identifier: BSD-3-Clause
 * One line out, to whoever hosts us (Open MPI's output stream, a test, stderr).
 * Levels: 0 errors and remedies (always shown), 1-3 for users, 4-6 for tuners, 7-9 for developers. */
#ifndef CG_CORE_LOG_H
#define CG_CORE_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*cg_log_sink_t)(int level, const char *line, void *ctx);

/* Set sink and highest level shown. Not thread-safe: call at start-up. NULL restores stderr. */
void cg_log_set(cg_log_sink_t sink, void *ctx, int level);
int cg_log_level(void);

/* printf-like; at most 1,023 characters a line. Thread-safe if the sink is. */
void cg_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define CG_LOG(level, ...)                                      \
    do {                                                        \
        int cg_level = (level);                                 \
        if (cg_level <= cg_log_level()) cg_log(cg_level, __VA_ARGS__); \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
