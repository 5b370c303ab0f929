/* SPDX-License-Identifier: BSD-3-Clause
 * Several "processes" in one, joined by a pretended MPI (ordered mailboxes), for tests of the engine. */
#ifndef CG_TEST_ENGINE_MESH_H
#define CG_TEST_ENGINE_MESH_H

#include "core/status.h"
#include "engine/engine.h"

#define MESH_MAX 20

struct mesh_mail;
struct mesh {
    uint32_t n;
    struct cg_params params[MESH_MAX]; /* may differ between ranks: set before mesh_open */
    struct cg_proc *proc[MESH_MAX];
    struct cg_card card[MESH_MAX];
    uint64_t name[MESH_MAX];
    const struct cg_net_ops *net;
    const struct cg_table *table[MESH_MAX]; /* of choices: before mesh_open; NULL = the built-in one */
    const char *hint;
    uint64_t host[MESH_MAX]; /* before mesh_open; 0 = one host */
};

/* One communicator over all of the mesh's processes. */
struct mesh_comm {
    struct mesh *mesh;
    struct cg_group *group[MESH_MAX];
    struct mesh_mail *mail[MESH_MAX][MESH_MAX]; /* [from][to] */
    struct mesh_end {
        struct mesh_comm *comm;
        uint32_t rank;
    } end[MESH_MAX];
    int drop; /* fault injection: isend fails from now on */
};

/* Defaults for n processes; then change fields; then open. */
void mesh_init(struct mesh *m, uint32_t n);
int mesh_open(struct mesh *m);
void mesh_close(struct mesh *m);

int mesh_comm_open(struct mesh *m, const char *label, struct mesh_comm *c);
/* Releases the groups; messages that nobody fetched are freed. */
void mesh_comm_close(struct mesh_comm *c);
void mesh_comm_free_mail(struct mesh_comm *c);

/* One operation of one rank and how it ended. */
struct mesh_op {
    int ended, status;
};
int mesh_post(struct mesh_comm *c, uint32_t rank, const struct cg_call *call, struct mesh_op *op);
/* Progress every process, in an order drawn from *seed, until all n operations ended or a million rounds passed. 1 if
 * they ended. */
int mesh_run(struct mesh *m, struct mesh_op *ops, int n, unsigned *seed);
/* Progress everyone rounds times. */
void mesh_spin(struct mesh *m, int rounds, unsigned *seed);

#endif
