/* SPDX-License-Identifier: BSD-3-Clause
 * What is near a rank: the node for its FIFOs, the adapters for its proxy. Pure functions of a snapshot. */
#include "topo/topo.h"

#include <stdio.h>
#include <string.h>

static const char *const whys[] = {
#define CG_TOPO_WHY(name, text) text,
    CG_TOPO_WHYS(CG_TOPO_WHY)
#undef CG_TOPO_WHY
};

const char *cg_topo_why_text(int why) { return whys[why]; }

struct set {
    int count, nic[CG_TOPO_DEVICES]; /* in the list of devices, ascending */
};

static int usable(const struct cg_topo_device *nic) { return nic->rdma && nic->ports; }

/* Adapters on the subnet of that one. */
static struct set fabric_of(const struct cg_topo_device *list, int n, const struct cg_topo_device *one)
{
    struct set s = {0};

    for (int i = 0; i < n; i++) {
        if (usable(&list[i]) && list[i].infiniband && list[i].subnet == one->subnet) s.nic[s.count++] = i;
    }
    return s;
}

/* The InfiniBand subnet with most adapters; none if two have as many, or there is none. (Storage may have its own.) */
static struct set fabric(const struct cg_topo_device *list, int n)
{
    struct set best = {0};
    int tie = 0;

    for (int i = 0; i < n; i++) {
        struct set s = usable(&list[i]) && list[i].infiniband ? fabric_of(list, n, &list[i]) : (struct set){0};
        if (s.count == 0 || s.nic[0] != i) continue; /* once for each subnet */
        tie = s.count == best.count;
        if (s.count > best.count) best = s;
    }
    return tie ? (struct set){0} : best;
}

/* Adapters among which ranks may choose freely, as all of them reach each other; none: then why. */
static struct set eligible(const struct cg_topo *topo, int policy, int *why)
{
    const struct cg_topo_device *list;
    int n = cg_topo_devices(topo, CG_TOPO_NIC, &list);
    struct set all = {0}, s;

    for (int i = 0; i < n; i++) {
        if (usable(&list[i])) all.nic[all.count++] = i;
    }
    s = policy == CG_TOPO_NIC_ALWAYS ? all : fabric(list, n);
    *why = !all.count                    ? CG_TOPO_NIC_NO_RDMA
           : policy == CG_TOPO_NIC_NEVER ? CG_TOPO_NIC_OFF
           : s.count                     ? CG_TOPO_NIC_CHOSEN
                                         : CG_TOPO_NIC_SEPARATE;
    return s.count ? s : all;
}

static int has_gpu(const struct cg_topo_rank *rank) { return rank->gpu && rank->gpu[0]; }

static int path_to(const struct cg_topo *topo, const struct cg_topo_rank *rank, const struct cg_topo_device *nic)
{
    if (has_gpu(rank)) return cg_topo_path(topo, rank->gpu, nic->bus_id);
    if (rank->node == CG_TOPO_ANY || nic->node == CG_TOPO_ANY) return CG_TOPO_UNKNOWN;
    return rank->node == nic->node ? CG_TOPO_NODE : CG_TOPO_SYS;
}

/* Those of the set that are nearest to the rank. */
static struct set nearest(const struct cg_topo *topo, const struct cg_topo_rank *rank, const struct set *from,
                          int *path)
{
    const struct cg_topo_device *list;
    struct set s = {0};

    cg_topo_devices(topo, CG_TOPO_NIC, &list);
    *path = CG_TOPO_UNKNOWN;
    for (int i = 0; i < from->count; i++) {
        int p = path_to(topo, rank, &list[from->nic[i]]);
        if (p > *path) continue;
        if (p < *path) s.count = 0;
        *path = p;
        s.nic[s.count++] = from->nic[i];
    }
    return s;
}

static int same(const struct set *a, const struct set *b)
{
    return a->count == b->count && !memcmp(a->nic, b->nic, sizeof(a->nic[0]) * (size_t) a->count);
}

/* This rank's number among those with the same adapters, and how many these are. By GPU, where each rank has its own;
 * others by their number on the host. */
static void sharers(const struct cg_topo *topo, const struct cg_topo_rank *rank, const struct set *from,
                    const struct set *mine, int *index, int *total)
{
    const struct cg_topo_device *gpus;
    int n = has_gpu(rank) ? cg_topo_devices(topo, CG_TOPO_GPU, &gpus) : 0, path;

    *index = (int) rank->local_rank;
    *total = rank->local_size ? (int) rank->local_size : 1;
    if (n == 0) return;
    *index = *total = 0;
    for (int i = 0; i < n; i++) {
        struct cg_topo_rank other = {.gpu = gpus[i].bus_id, .node = CG_TOPO_ANY};
        struct set its = nearest(topo, &other, from, &path);
        if (!same(&its, mine)) continue;
        *index += strcmp(gpus[i].bus_id, rank->gpu) < 0;
        ++*total;
    }
}

/* Fewer adapters than sharers: some share one. More: each has several. */
static struct set share(const struct cg_topo *topo, const struct cg_topo_rank *rank, const struct set *from,
                        const struct set *mine)
{
    struct set s = {0};
    int index, total, begin, end;

    sharers(topo, rank, from, mine, &index, &total);
    if (total < 1) return *mine; /* a GPU that the snapshot does not know */
    index %= total;
    begin = index * mine->count / total;
    end = (index + 1) * mine->count / total;
    for (int i = begin; i < end || i == begin; i++) s.nic[s.count++] = mine->nic[i];
    return s;
}

/* A name that does not fit is left out: fewer adapters. */
static void name_ports(const struct cg_topo *topo, struct cg_topo_near *near)
{
    const struct cg_topo_device *list;
    size_t at = 0;

    cg_topo_devices(topo, CG_TOPO_NIC, &list);
    for (int i = 0; i < near->count; i++) {
        const struct cg_topo_device *nic = &list[near->nic[i]];
        for (int port = 1; port <= 32; port++) {
            char word[48];
            int n = snprintf(word, sizeof(word), "%s%s:%d", at ? "," : "", nic->name, port);
            if (!((nic->ports >> (port - 1)) & 1) || at + (size_t) n >= sizeof(near->ports)) continue;
            memcpy(near->ports + at, word, (size_t) n + 1);
            at += (size_t) n;
        }
    }
}

void cg_topo_find_near(const struct cg_topo *topo, const struct cg_topo_rank *rank, int policy,
                       struct cg_topo_near *near)
{
    struct set all, mine;

    memset(near, 0, sizeof(*near));
    near->node = has_gpu(rank) ? cg_topo_node_near(topo, rank->gpu) : CG_TOPO_ANY;
    if (near->node == CG_TOPO_ANY) near->node = rank->node;
    all = eligible(topo, policy, &near->why);
    mine = nearest(topo, rank, &all, &near->path);
    if (mine.count) mine = share(topo, rank, &all, &mine);
    near->count = mine.count;
    memcpy(near->nic, mine.nic, sizeof(near->nic));
    if (near->why == CG_TOPO_NIC_CHOSEN) name_ports(topo, near);
}
