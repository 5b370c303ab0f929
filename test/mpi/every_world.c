/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/mpi/every.h"

#include <string.h>

void every_one_group(struct world *w)
{
    memset(w, 0, sizeof(*w));
    w->comm = MPI_COMM_WORLD;
    w->rank = w->me = test_rank;
    w->size = w->peers = test_size;
    for (int i = 0; i < test_size; i++) w->peer[i] = i;
}

void every_two_groups(struct world *w)
{
    int color = test_rank % 2;
    MPI_Comm half;

    memset(w, 0, sizeof(*w));
    MPI_Comm_split(MPI_COMM_WORLD, color, test_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !color, 5, &w->comm);
    MPI_Comm_free(&half);
    MPI_Comm_rank(w->comm, &w->rank);
    MPI_Comm_size(w->comm, &w->size);
    MPI_Comm_remote_size(w->comm, &w->peers);
    w->inter = 1 + color;
    w->me = test_rank;
    for (int i = 0; i < w->peers; i++) w->peer[i] = 2 * i + !color;
}

static void edge_in(struct world *w, int from, int edge)
{
    w->in_edge[w->nin] = edge;
    w->in[w->nin++] = from;
}

void every_graph(struct world *w)
{
    int n = test_size, r = test_rank, two_before = (r + 2 * n - 2) % n, weights[4] = {1, 1, 1, 1};

    every_one_group(w);
    w->topo = 1;
    w->out[w->nout++] = (r + 1) % n;
    if (r % 2 == 0) w->out[w->nout++] = (r + 2) % n;
    edge_in(w, (r + n - 1) % n, 0);
    if (two_before % 2 == 0) edge_in(w, two_before, 1);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, w->nin, w->in, weights, w->nout, w->out, weights, MPI_INFO_NULL, 0,
                                   &w->comm);
}

/* What is sent to the rank below comes there from above. */
void every_ring(struct world *w)
{
    int n = test_size, r = test_rank, dims[2] = {n, 1}, periods[2] = {1, 0};

    every_one_group(w);
    w->topo = 1;
    w->out[0] = (r + n - 1) % n;
    w->out[1] = (r + 1) % n;
    w->nout = 4;
    edge_in(w, (r + n - 1) % n, 1);
    edge_in(w, (r + 1) % n, 0);
    w->nin = 4;
    w->in[2] = w->in[3] = w->out[2] = w->out[3] = -1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &w->comm);
}

int every_root(const struct world *w, int root)
{
    if (!w->inter) return root;
    return w->inter == 1 ? (root == w->rank ? MPI_ROOT : MPI_PROC_NULL) : root;
}
