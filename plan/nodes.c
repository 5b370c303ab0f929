/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/nodes.h"

#include <stdlib.h>
#include <string.h>

void cg_nodes_free(struct cg_nodes *nodes)
{
    if (!nodes) return;
    free(nodes->node);
    free(nodes->local);
    free(nodes->first);
    free(nodes->member);
    free(nodes->place);
    free(nodes);
}

static struct cg_nodes *allocate(uint32_t nranks)
{
    struct cg_nodes *nodes = calloc(1, sizeof(*nodes));

    if (!nodes) return NULL;
    nodes->nranks = nranks;
    nodes->node = calloc(nranks, sizeof(uint32_t));
    nodes->local = calloc(nranks, sizeof(uint32_t));
    nodes->first = calloc(nranks + 1, sizeof(uint32_t));
    nodes->member = calloc(nranks, sizeof(uint32_t));
    nodes->place = calloc(nranks, sizeof(uint32_t));
    if (nodes->node && nodes->local && nodes->first && nodes->member && nodes->place) return nodes;
    cg_nodes_free(nodes);
    return NULL;
}

struct key {
    uint64_t host;
    uint32_t rank, lowest; /* lowest rank of the host */
};

static int by_host(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->host != y->host) return x->host < y->host ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static int by_lowest(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->lowest != y->lowest) return x->lowest < y->lowest ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* Ranks by host, hosts by their lowest ranks. */
static void sort(struct key *key, uint32_t nranks, const uint64_t *hosts)
{
    for (uint32_t r = 0; r < nranks; r++)
        key[r] = (struct key){hosts[r], r, r};
    qsort(key, nranks, sizeof(*key), by_host);
    for (uint32_t i = 1; i < nranks; i++) {
        if (key[i].host == key[i - 1].host) key[i].lowest = key[i - 1].lowest;
    }
    qsort(key, nranks, sizeof(*key), by_lowest);
}

/* The next nodes: those of a host with ranks [at, at + size) of the sorted ones. */
static void add_host(struct cg_nodes *nodes, const struct key *key, uint32_t at, uint32_t size)
{
    uint32_t parts = (size + CG_NODE_RANKS - 1) / CG_NODE_RANKS;

    nodes->nhosts++;
    for (uint32_t p = 0; p < parts; p++) {
        uint32_t begin = at + size * p / parts, end = at + size * (p + 1) / parts;
        if (0 == nodes->n || end - begin < nodes->rails) nodes->rails = end - begin;
        if (end - begin > nodes->most) nodes->most = end - begin;
        for (uint32_t i = begin; i < end; i++) {
            nodes->member[i] = key[i].rank;
            nodes->node[key[i].rank] = nodes->n;
            nodes->local[key[i].rank] = i - begin;
            nodes->place[key[i].rank] = i;
            if (i > begin && key[i].rank != key[i - 1].rank + 1) nodes->contiguous = 0;
        }
        nodes->first[++nodes->n] = end;
    }
}

/* One after another, or dealt out, and the like. */
static void find_strides(struct cg_nodes *nodes)
{
    nodes->between = nodes->n > 1 ? nodes->member[nodes->first[1]] : 1;
    nodes->within = nodes->rails > 1 ? nodes->member[1] : 1;
    nodes->regular = nodes->rails == nodes->most;
    for (uint32_t r = 0; r < nodes->nranks; r++)
        nodes->regular &= r == nodes->node[r] * nodes->between + nodes->local[r] * nodes->within;
}

struct cg_nodes *cg_nodes_new(uint32_t nranks, const uint64_t *hosts)
{
    struct cg_nodes *nodes = allocate(nranks);
    struct key *key = malloc(nranks * sizeof(*key));

    if (!nodes || !key) {
        cg_nodes_free(nodes);
        free(key);
        return NULL;
    }
    sort(key, nranks, hosts);
    nodes->contiguous = 1;
    for (uint32_t at = 0, end; at < nranks; at = end) {
        end = at + 1;
        while (end < nranks && key[end].lowest == key[at].lowest)
            end++;
        add_host(nodes, key, at, end - at);
    }
    free(key);
    find_strides(nodes);
    return nodes;
}
