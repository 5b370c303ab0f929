/* SPDX-License-Identifier: BSD-3-Clause
 * What the two halves of a communicator's set-up share: boot.c has the stages, talk.c the conversation with a
 * neighbour. */
#ifndef CG_ENGINE_BOOT_H
#define CG_ENGINE_BOOT_H

#include "engine/internal.h"

#define BOOT_MAGIC 0x43474254u

struct boot_hello {
    uint32_t magic, stream;
    uint64_t table, builtin; /* hashes of rank 0's tables */
    struct cg_agreed agreed;
};

enum boot_flag { BOOT_NET = 1 /* a link goes over the network */, BOOT_TABLE = 2 /* another table than rank 0's */ };
struct boot_verdict {
    uint32_t magic, rank; /* rank: the first that failed */
    int32_t status;
    uint32_t flags, other; /* of any rank; other: a rank with BOOT_TABLE */
};

/* One message under way. */
struct boot_msg {
    void *req;
    int active;
};

enum talk_state { TALK_BEGIN, TALK_OFFER, TALK_ANSWER, TALK_READY, TALK_VERDICT, TALK_DONE };

/* The conversation with one neighbour. */
struct boot_talk {
    int state, status, medium, last_medium, lower; /* lower: I have the lower name and make the offer */
    struct cg_peer_info peer;
    struct cg_link_end *link;
    struct cg_link_msg out, in;
    struct boot_verdict vout, vin;
    struct boot_msg send, recv;
};

enum boot_stage {
    BOOT_HELLO_IN,
    BOOT_HELLO_OUT,
    BOOT_LINKS,
    BOOT_UP_IN,
    BOOT_UP_OUT,
    BOOT_DOWN_IN,
    BOOT_DOWN_OUT,
    BOOT_END
};

struct cg_boot {
    int stage, begun, reach, npeers;
    struct cg_boot *kept; /* the next one that was closed with messages under way */
    uint64_t since; /* us: begin, or the last report of a wait */
    struct boot_hello hello;
    struct boot_verdict verdict, child[2];
    struct boot_msg msg[2];
    uint32_t peer[CG_MAX_NEIGHBORS]; /* those who become neighbours */
    struct boot_talk talk[]; /* as many as there may be neighbours */
};

/* One message; sending and receiving through the group's own means. test: CG_AGAIN, CG_OK (also without a message), or
 * an error. msgs_test: both. */
int cg_msg_send(struct cg_group *g, uint32_t peer, const void *buf, size_t bytes, struct boot_msg *m);
int cg_msg_recv(struct cg_group *g, uint32_t peer, void *buf, size_t bytes, struct boot_msg *m);
int cg_msgs_test(struct cg_group *g, struct boot_msg *a, struct boot_msg *b);

/* The conversation with rank, as far as it goes: CG_AGAIN, CG_OK (t->link, or NULL and t->status), or an error of the
 * messages themselves. */
void cg_talk_init(struct cg_group *g, struct boot_talk *t, uint32_t rank);
int cg_talk_step(struct cg_group *g, struct boot_talk *t, uint32_t rank);

#endif
