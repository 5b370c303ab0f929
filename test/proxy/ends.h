/* SPDX-License-Identifier: BSD-3-Clause
 * Two sides of one process, joined by links of the proxy, with pretended executors at the ends. */
#ifndef CG_TEST_PROXY_ENDS_H
#define CG_TEST_PROXY_ENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proxy/machine.h"

#define SLOTS_MAX 8
#define LINKS_MAX 3

struct side {
    const struct cg_net_ops *ops;
    struct cg_net *net;
    struct cg_proxy *proxy;
};

/* One end of a link and its executor. */
struct end {
    struct side *side;
    struct cg_proxy_link_config config;
    struct cg_proxy_link *link;
    struct cg_line line, out;
    struct cg_announce announce[CG_ANNOUNCE];
    uint64_t sent[CG_MAX_CHAN], rcvd[CG_MAX_CHAN], poisoned[CG_MAX_CHAN];
    uint32_t opno; /* in the headers of what it sends */
};

/* 0 if the transport cannot be opened here. */
int side_open(struct side *side, const struct cg_net_ops *ops, const char *hint);
void side_close(struct side *side);
struct cg_net_ep *side_connect(struct side *from, struct side *to, int remote);

/* Join a and b; both ends have a tenant. id: distinct among links. */
void ends_open(struct end *a, struct end *b, struct side *sa, struct side *sb, struct cg_net_ep *ab,
               struct cg_net_ep *ba, uint32_t id, uint32_t slot_bytes, uint32_t slots);
void end_free(struct end *e);

/* The executor: publish the next message of a channel if there is room, take the next if one has arrived. What was
 * sent and what was consumed is overwritten. 1 if something was done. */
int end_send(struct end *e, uint32_t chan, uint32_t bytes);
int end_recv(struct end *e, uint32_t chan);

/* The receiver's credit, as it is and not as reported, is never exceeded. */
void check_credit(const struct end *from, const struct end *to);

struct pair {
    struct side side[2];
    struct cg_net_ep *ep[2];
    struct end end[LINKS_MAX][2];
    int links;
    double end_of_test;
};

/* Two sides and their links. 0 if the transport cannot be opened here. */
int pair_open(struct pair *p, const struct cg_net_ops *ops, const char *hint, int links, uint32_t slot_bytes,
              uint32_t slots);
void pair_close(struct pair *p);
void pair_progress(struct pair *p, int passes);
/* One more step towards something that must happen: fails when time is up. */
void pair_turn(struct pair *p);
/* One action of a random executor, which sends up to so many messages a channel. */
void pair_act(struct pair *p, uint64_t *random, uint64_t messages);

uint64_t test_random(uint64_t *state);

#endif
