/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/engine/job.h"

char last_line[1024];
int lines;
static void keep_line(int level, const char *line, void *ctx)
{
    (void) ctx;
    if (level > 0) return;
    snprintf(last_line, sizeof(last_line), "%s", line);
    lines++;
}

int quiet(void **state)
{
    (void) state;
    cg_log_set(keep_line, NULL, 0);
    last_line[0] = 0;
    lines = 0;
    return 0;
}

static uint32_t value(uint32_t rank, uint64_t i, unsigned salt)
{
    return (uint32_t) ((i + 1) * 2654435761u ^ (rank + 1) * 40503u * (salt + 1));
}

void job_begin(struct job *j, uint32_t n, uint64_t count, int inplace, unsigned salt)
{
    memset(j, 0, sizeof(*j));
    j->n = n;
    j->count = count;
    j->inplace = inplace;
    j->salt = salt;
    for (uint32_t r = 0; r < n; r++) {
        j->dst[r] = malloc((count + 1) * 4);
        j->src[r] = inplace ? j->dst[r] : malloc(count * 4);
        memset(j->dst[r], 0xee, (count + 1) * 4);
        for (uint64_t i = 0; i < count; i++) j->src[r][i] = value(r, i, salt);
    }
}

void job_post(struct job *j, struct mesh_comm *c, uint32_t r)
{
    struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .src = j->src[r],
                           .dst = j->dst[r], .count = j->count};
    assert_int_equal(mesh_post(c, r, &call, &j->op[r]), CG_OK);
}

void job_end(struct job *j)
{
    for (uint32_t r = 0; r < j->n; r++) {
        assert_int_equal(j->op[r].ended, 1);
        assert_int_equal(j->op[r].status, CG_OK);
        for (uint64_t i = 0; i < j->count; i++) {
            uint32_t want = 0;
            for (uint32_t p = 0; p < j->n; p++) want += value(p, i, j->salt);
            if (want != j->dst[r][i]) fail_msg("rank %u of %u element %llu of %llu", r, j->n, (unsigned long long) i,
                                               (unsigned long long) j->count);
        }
        assert_int_equal(j->dst[r][j->count], 0xeeeeeeeeu);
        if (!j->inplace) free(j->src[r]);
        free(j->dst[r]);
    }
}

void one(struct mesh *m, struct mesh_comm *c, uint64_t count, int inplace, unsigned *seed)
{
    struct job j;

    job_begin(&j, m->n, count, inplace, *seed);
    for (uint32_t r = 0; r < m->n; r++) job_post(&j, c, r);
    assert_true(mesh_run(m, j.op, (int) m->n, seed));
    job_end(&j);
}

