/* SPDX-License-Identifier: BSD-3-Clause
 * Pretended processes for the tests of links/: two instances that talk without MPI. */
#ifndef TEST_LINKS_SIDE_H
#define TEST_LINKS_SIDE_H

#include "links/links.h"

struct side {
    struct cg_params params;
    struct cg_peer_info info; /* as others know it */
    struct cg_links *links;
};

struct pair {
    struct side lo, hi;
};

/* Both ends of one link. */
struct rent {
    struct cg_link_end *lo, *hi;
};

struct medium_row {
    const char *name;
    int medium;
    const struct cg_net_ops *net;
    const char *hint;
};
extern const struct medium_row media_rows[]; /* ended by a row without name */

#define SMALL ((struct cg_geometry){.slot_bytes = 1024, .slots = 4})

/* Names are unique among processes of this host and rise with n. Parameters are the defaults. */
void side_init(struct side *s, unsigned n);
void side_open(struct side *s, const struct medium_row *row, unsigned timeout_ms);
void pair_open(struct pair *p, const struct medium_row *row);
void pair_close(struct pair *p);

/* The whole conversation. CG_OK, or the first error (both ends abandoned). */
int pair_join(struct pair *p, int medium, struct cg_geometry g, struct rent *r);
/* Progress until nothing is on its way. */
void pair_settle(struct pair *p);
/* Release at both sides, and settle. */
void pair_leave(struct pair *p, struct rent *r, uint64_t ops);

/* As an executor does it: send message, or take one, on a channel if it can be done now. 1: done. */
int end_send(struct cg_link_end *e, uint32_t chan);
int end_recv(struct cg_link_end *e, uint32_t chan);
/* n messages on every channel, both ways at once, checked byte by byte. */
void pair_exchange(struct pair *p, struct rent *r, uint64_t n);

/* Of this process. */
int open_descriptors(void);
long resident_kib(void);

/* Log lines of level 0 since the last call of log_watch; text of the last. */
void log_watch(void);
int log_lines(void);
const char *log_last(void);

#endif
