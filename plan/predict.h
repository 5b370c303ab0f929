/* SPDX-License-Identifier: BSD-3-Clause
 * How long the programs of all ranks would take on a described machine: they are run step by step with a clock instead
 * of data. A model, no measurement: links have a latency and a bandwidth, a rank's steps of all channels share its
 * memory's bandwidth, messages between nodes queue at the adapters of both. For tests and bench. */
#ifndef CG_PLAN_PREDICT_H
#define CG_PLAN_PREDICT_H

#include "plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cg_machine {
    uint32_t nodes, gpus, nics;        /* gpus: ranks of a node; nics: network adapters of a node, shared in turn */
    double node_latency_us, node_gbs;  /* between ranks of a node; of each rank and direction */
    double net_latency_us, net_gbs;    /* between nodes; of each adapter and direction */
    double step_us, memory_gbs;        /* of a rank: to begin a step; for all that steps read and write */
};

/* Text: lines of a name of the fields above and a value; # begins a comment. What is not named keeps its value in *m.
 * CG_OK, or CG_ERR_ARG with a line in why. */
int cg_machine_parse(const char *text, struct cg_machine *m, char *why, size_t len);
void cg_machine_default(struct cg_machine *m); /* 2 nodes of 8 GPUs and 8 adapters of 400 Gbit/s */

struct cg_prediction {
    const char *plan;
    uint32_t links, net_links; /* of the rank with most: of this program; between nodes */
    uint32_t neighbors;        /* for all collectives (reach 1), of the rank with most among some */
    uint64_t fifo_bytes;       /* its memory for their lanes: on the receiver's side, between nodes on both */
    double us;
};

/* Requests of all ranks (nodes may be NULL: all ranks on one node). Iterations beyond the first few are taken to last
 * as long as the last of those. CG_OK, an error of cg_plan_build, CG_ERR_NOMEM, or CG_ERR_INTERNAL if programs stop. */
int cg_plan_predict(const struct cg_plan_request *reqs, const struct cg_machine *m, struct cg_prediction *p);

#ifdef __cplusplus
}
#endif
#endif
