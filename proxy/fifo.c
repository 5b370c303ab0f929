/* SPDX-License-Identifier: BSD-3-Clause
 * Where messages are received on a link that has slots in GPU memory as well. */
#include "proxy/machine.h"

void cg_proxy_link_fifo(struct cg_proxy_link *link, const struct cg_proxy_fifo *fifo) { link->fifo = *fifo; }

uint64_t cg_proxy_link_unplaced(const struct cg_proxy_link *link, uint32_t chan)
{
    return link->machine[RECEIVER + chan].posted;
}

void cg_proxy_link_expect(struct cg_proxy_link *link, uint32_t chan, uint64_t upto, int in_gpu)
{
    struct cg_expected *ring = link->expected[chan], *last = &ring[(link->last[chan] - 1) % EXPECTED];

    if (!link->fifo.recv_slots) return;
    if (link->first[chan] == link->last[chan] || last->in_gpu != in_gpu) last = &ring[link->last[chan]++ % EXPECTED];
    *last = (struct cg_expected){.upto = upto, .in_gpu = in_gpu};
}

int cg_fifo_place(struct cg_proxy_link *link, const struct cg_machine *m)
{
    const struct cg_expected *ring = link->expected[m->chan];
    uint32_t *first = &link->first[m->chan];

    if (!link->fifo.recv_slots) return 0;
    while (*first != link->last[m->chan] && ring[*first % EXPECTED].upto <= m->posted) ++*first;
    return *first == link->last[m->chan] ? -1 : ring[*first % EXPECTED].in_gpu;
}

void cg_proxy_link_announce(struct cg_proxy_link *link, uint32_t opno, uint64_t bytes, int coll, int type, int redop)
{
    if (!link->fifo.recv_slots) return;
    link->now.announced = (struct cg_announce){.op = opno, .bytes = bytes, .coll = (uint8_t) coll,
                                               .type = (uint8_t) type, .redop = (uint8_t) redop};
}
