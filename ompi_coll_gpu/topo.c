/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours of a topology. Two ranks may be joined by several edges: what one sends on them arrives in their order, in
 * a grid by direction (what is sent downwards is what comes from above). */
#include "ompi_coll_gpu/coll_gpu.h"

/* Of a graph: the k-th edge to a rank meets that rank's k-th edge from here. */
static void in_order(const int *peers, int n, struct cg_edge *edges)
{
    for (int i = 0; i < n; i++) edges[i] = (struct cg_edge){.peer = peers[i], .channel = i, .slot = i};
}

static int grid(ompi_communicator_t *comm, int sent, struct cg_edge *edges)
{
    mca_topo_base_module_t *topo = comm->c_topo;
    int rc = OMPI_SUCCESS;

    for (int d = 0; d < topo->mtc.cart->ndims && rc == OMPI_SUCCESS; d++) {
        struct cg_edge *below = &edges[2 * d], *above = below + 1;
        *below = (struct cg_edge){.channel = 2 * d + (sent ? 1 : 0), .slot = 2 * d};
        *above = (struct cg_edge){.channel = 2 * d + (sent ? 0 : 1), .slot = 2 * d + 1};
        rc = topo->topo.cart.cart_shift(comm, d, 1, &below->peer, &above->peer);
    }
    return rc;
}

static void graph(ompi_communicator_t *comm, int n, struct cg_edge *edges)
{
    const mca_topo_base_comm_graph_t *g = comm->c_topo->mtc.graph;
    int rank = ompi_comm_rank(comm);

    in_order(g->edges + (rank ? g->index[rank - 1] : 0), n, edges);
}

static int before(const struct cg_edge *a, const struct cg_edge *b)
{
    return a->peer != b->peer ? a->peer < b->peer : a->channel < b->channel;
}

/* Few: an insertion sort. */
static void sort(struct cg_edge *edges, int n)
{
    for (int i = 1; i < n; i++) {
        struct cg_edge e = edges[i];
        int k = i;
        for (; k > 0 && before(&e, &edges[k - 1]); k--) edges[k] = edges[k - 1];
        edges[k] = e;
    }
}

int cg_edges(ompi_communicator_t *comm, int sent, int n, struct cg_edge *edges)
{
    const mca_topo_base_comm_dist_graph_t *dist;
    int rc = OMPI_SUCCESS;

    if (OMPI_COMM_IS_CART(comm)) {
        rc = grid(comm, sent, edges);
    } else if (OMPI_COMM_IS_GRAPH(comm)) {
        graph(comm, n, edges);
    } else {
        dist = comm->c_topo->mtc.dist_graph;
        in_order(sent ? dist->out : dist->in, n, edges);
    }
    if (rc == OMPI_SUCCESS) sort(edges, n);
    return rc;
}
