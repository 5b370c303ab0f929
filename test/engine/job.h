/* SPDX-License-Identifier: BSD-3-Clause
 * What tests over the mesh share: allreduces of every rank with known results, and the last line that was logged. */
#ifndef CG_TEST_ENGINE_JOB_H
#define CG_TEST_ENGINE_JOB_H

#include "core/log.h"
#include "kernels/host/host.h"
#include "test/engine/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

extern char last_line[1024]; /* of level 0 */
extern int lines;
int quiet(void **state);     /* set-up of a test: lines are kept, not shown */

/* One allreduce of every rank, on its own buffers. */
struct job {
    uint32_t n;
    uint64_t count;
    int inplace;
    unsigned salt;
    uint32_t *src[MESH_MAX], *dst[MESH_MAX];
    struct mesh_op op[MESH_MAX];
};

void job_begin(struct job *j, uint32_t n, uint64_t count, int inplace, unsigned salt);
void job_post(struct job *j, struct mesh_comm *c, uint32_t r);
void job_end(struct job *j); /* all ended well, with the right result; frees */
void one(struct mesh *m, struct mesh_comm *c, uint64_t count, int inplace, unsigned *seed); /* from begin to end */

#endif
