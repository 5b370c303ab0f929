/* SPDX-License-Identifier: BSD-3-Clause
 * Lanes: single producer, single consumer, power-of-two rings of slots with monotone 64-bit counters.
 *
 * A lane's slots lie with the consumer (shm) or on both sides of the proxy (net). Each side of a link has one line
 * of words that only it polls; the neighbour (or the proxy) writes them. Sequence numbers belong to the window and
 * never restart. Both compilers assert the layout. */
#ifndef CG_KERNELS_RING_H
#define CG_KERNELS_RING_H

#include "kernels/step.h"

/* For one channel. tail: messages that have arrived for me. head: my messages that the neighbour has consumed. */
struct cg_words {
    uint64_t tail, head;
};

struct cg_line {
    struct cg_words chan[CG_MAX_CHAN];
    uint64_t closed; /* how many tenants of this link the neighbour has closed */
    uint64_t passed; /* the last operation of this link that the neighbour has finished */
    uint64_t posted; /* the last operation of this link that the neighbour has announced */
    uint64_t failed; /* the link's operation number at which the neighbour failed, 0 = none */
    uint64_t pad[4];
};
CG_STATIC_ASSERT(sizeof(struct cg_line) == 128, "line layout");

/* The neighbour's announcements, indexed by the link's operation number modulo CG_ANNOUNCE. An entry is reused only
 * after its reader has passed it (cg_line.passed). */
#define CG_ANNOUNCE 64
#define CG_NOTE_BYTES 1024 /* behind the announcements: the tenant's own, written by the neighbour */
enum cg_executor { CG_EXEC_HOST = 1, CG_EXEC_SM = 2, CG_EXEC_CE = 3, CG_EXEC_FAST = 4, CG_EXEC_FAST_LL = 5 };
struct cg_announce {
    uint64_t op;    /* the link's operation number, written last */
    uint64_t bytes;
    uint8_t executor, coll, type, redop, pad[4]; /* executor: the low byte of this word, which a GPU may read */
    uint64_t pad2;                               /* within one line of the cache */
};
CG_STATIC_ASSERT(sizeof(struct cg_announce) == 32, "announcement layout");

struct cg_slot_hdr {
    uint64_t seq;         /* number of this message in its lane, from 0 */
    uint64_t total_bytes; /* of the whole operation */
    uint32_t opno, stream;
    uint32_t bytes;       /* of this payload */
    uint8_t coll, type, redop;
    uint8_t in_gpu;       /* payload (and this header once more) lie in the slot of that number in GPU memory */
    uint64_t pad[4];
};
CG_STATIC_ASSERT(sizeof(struct cg_slot_hdr) == 64, "slot header layout");

CG_HD size_t cg_slot_stride(uint32_t slot_bytes) { return sizeof(struct cg_slot_hdr) + slot_bytes; }

/* Bytes of all lanes of one direction of a link. */
CG_HD size_t cg_lanes_bytes(uint32_t slot_bytes, uint32_t slots)
{
    return (size_t) CG_MAX_CHAN * slots * cg_slot_stride(slot_bytes);
}

/* Slot of message seq of channel chan; base is recv_slots or send_slots. */
CG_HD struct cg_slot_hdr *cg_slot(char *base, uint32_t chan, uint64_t seq, uint32_t slot_bytes, uint32_t slots)
{
    return (struct cg_slot_hdr *) (base + ((size_t) chan * slots + (seq & (slots - 1))) * cg_slot_stride(slot_bytes));
}

CG_HD char *cg_slot_payload(struct cg_slot_hdr *h) { return (char *) (h + 1); }

#endif
