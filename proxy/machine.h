/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the proxy: what machine.c (the state machines) and proxy.c (links, progress) share.
 *
 * Per link: a sender and a receiver for each channel, a reporter and a listener for control messages. Each is a small
 * state machine of the table in machine.c; progress runs the function of its state.
 *
 *   sender    slots that my executors published, in order, at most `slots` ahead of what the peer says it consumed;
 *             several in flight; sent ones go back to the executor through line->head
 *   receiver  receives lie ready for every slot that is free; arrivals are published in order through line->tail,
 *             those in GPU memory after a flush, if it needs one
 *   reporter  my consumption (credit), closed, passed, failed, announced: latest values, which only grow
 *   listener  the peer's reports; one receive always lies ready
 *
 * Credit is due when half a lane was consumed since the last report. That is enough: a peer without credit is `slots`
 * messages ahead of the report, all of which arrive, so consuming them makes a report due. */
#ifndef CG_PROXY_MACHINE_H
#define CG_PROXY_MACHINE_H

#include "proxy/proxy.h"

#define IDLE_PASSES 64     /* progress calls without event after which what is not due is reported as well */
#define LINGER_PASSES 1024 /* ... after which a link without tenant, or whose tenant rests, needs no more progress: a
                            * transport may still have to push bytes of a send that is complete */
#define REST_AFTER 16      /* steps without event, after which a machine that need not be quick ... */
#define REST_STRIDE 8      /* ... is stepped in every eighth pass only */
#define LANE_CONTROL 0xff
#define LANE_SLOTS 64 /* at most: a bit for each in cg_machine.in_gpu */

enum cg_proxy_state {
    SEND_IDLE,
    SEND_POSTED,
    RECV_IDLE,
    RECV_POSTED,
    RECV_FLUSHING,
    REPORT_IDLE,
    REPORT_POSTED,
    LISTEN_IDLE,
    LISTEN_POSTED,
    ENDED,
    STATES
};

/* Messages `done` to `posted` are with the transport; number n's request is req[n % slots]. Of a receiver: those from
 * `shown` to `done` have arrived and are not published. */
struct cg_machine {
    enum cg_proxy_state state;
    uint32_t chan, idle; /* idle: passes since its last event */
    uint64_t posted, done, shown;
    uint64_t granted; /* of a sender: what the peer has consumed */
    uint64_t in_gpu;  /* of a receiver: bit n % slots: message n is received in GPU memory */
    struct cg_net_req **req, *flush;
};

/* The control message. Homogeneous hosts: native byte order. */
struct cg_report {
    uint64_t consumed[CG_MAX_CHAN], closed, passed, failed;
    struct cg_announce announced; /* op 0: nothing */
};

/* Where the messages before number upto are received; those that follow each other alike are one entry. */
#define EXPECTED 32 /* more than there are operations under way */
struct cg_expected {
    uint64_t upto;
    int in_gpu;
};

enum { LISTENER, RECEIVER, SENDER = RECEIVER + CG_MAX_CHAN, REPORTER = SENDER + CG_MAX_CHAN, MACHINES };

struct cg_proxy_link {
    struct cg_proxy *proxy;
    struct cg_proxy_link *next, *next_active;
    struct cg_proxy_link_config config;
    struct cg_machine machine[MACHINES];
    int active, status, resting;
    uint32_t quiet;  /* progress calls since the last event */
    uint32_t awake, pass; /* awake: bit per machine that is stepped in every pass, as cg_machine_step leaves it */
    uint64_t opened; /* tenants */
    struct cg_report now, reported, out, in; /* now.consumed is not kept up to date; out, in: transport's buffers */
    struct cg_proxy_fifo fifo; /* recv_slots NULL: none */
    struct cg_expected expected[CG_MAX_CHAN][EXPECTED]; /* rings: entries first to last - 1 */
    uint32_t first[CG_MAX_CHAN], last[CG_MAX_CHAN];
    struct cg_net_req *req[];
};

struct cg_proxy {
    const struct cg_net_ops *ops;
    struct cg_net *net;
    struct cg_proxy_link *links, *active;
    uint64_t messages, gpu_messages; /* given to the transport */
};

/* fifo.c: where message m->posted of a receiver goes: 0 host memory, 1 GPU memory, -1 not known yet. */
int cg_fifo_place(struct cg_proxy_link *link, const struct cg_machine *m);

/* Run the function of the machine's state: the number of events, or an error, which ends the link. */
int cg_machine_step(struct cg_proxy_link *link, struct cg_machine *m);
/* Cancel what is with the transport. */
void cg_machine_cancel(struct cg_proxy_link *link, struct cg_machine *m);
/* No way back; a machine in any state may end. */
void cg_machine_end(struct cg_proxy_link *link, struct cg_machine *m);
const char *cg_machine_text(const struct cg_machine *m);

/* Is a tenant on either side? What arrives while none is here is the next tenant's and waits until that is opened. */
int cg_proxy_has_tenant(const struct cg_proxy_link *link);
/* Is there something that the peer should learn now? */
int cg_proxy_report_due(const struct cg_proxy_link *link);
/* Published slots or a report that are not sent and complete? */
int cg_proxy_sends_pending(const struct cg_proxy_link *link);

#endif
