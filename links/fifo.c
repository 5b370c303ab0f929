/* SPDX-License-Identifier: BSD-3-Clause
 * Slots of net links in GPU memory: chunks of it, registered with the transport as a whole and cut into windows, one
 * for both directions of a link. A link keeps its window; the chunks are the engine's and freed when that closes. */
#include "links/internal.h"
#include "core/log.h"

#include <stdlib.h>
#include <unistd.h>

#define GPU_PAGE ((size_t) 2 << 20)

/* Registers by descriptor where both sides can, else by pointer. */
static int register_chunk(struct cg_links *links, struct cg_gpu *gpu, struct cg_fifo_chunk *c)
{
    struct cg_net_region region = {c->base, c->bytes, CG_NET_CUDA, -1};
    struct cg_net_props props;
    int rc;

    links->config.net->props(links->net, &props);
    if (props.dmabuf) region.dmabuf = cg_gpu_dmabuf(gpu, c->base, c->bytes);
    rc = links->config.net->reg(links->net, &region, &c->mem);
    if (region.dmabuf >= 0) close(region.dmabuf);
    if (rc == CG_OK) links->registrations++;
    return rc;
}

/* In the context of the GPU, which the transport may have to ask about its memory. */
static int enter_and_register(struct cg_links *links, struct cg_gpu *gpu, struct cg_fifo_chunk *c)
{
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(cg_gpu_device(gpu), &scope);

    if (rc != CG_OK) return rc;
    rc = register_chunk(links, gpu, c);
    cg_gpu_leave(&scope);
    return rc;
}

static int add_chunk(struct cg_links *links, struct cg_gpu *gpu, size_t bytes)
{
    struct cg_fifo_chunk *grown = realloc(links->fifo, (links->nfifo + 1) * sizeof(*grown));
    struct cg_fifo_chunk c = {.gpu = gpu, .bytes = bytes};
    int rc;

    if (!grown) return CG_ERR_NOMEM;
    links->fifo = grown;
    c.base = cg_gpu_mem_alloc(gpu, bytes);
    if (!c.base) return CG_ERR_GPU_NOMEM;
    rc = enter_and_register(links, gpu, &c);
    if (rc != CG_OK) {
        cg_gpu_mem_free(gpu, c.base);
        return rc;
    }
    links->fifo[links->nfifo++] = c;
    return CG_OK;
}

/* A window of a chunk with room, or of a new one. */
static int take_window(struct cg_links *links, struct cg_gpu *gpu, size_t bytes, char **at, struct cg_net_mem **mem)
{
    size_t chunk = links->arena.chunk_bytes > bytes ? links->arena.chunk_bytes : bytes;
    uint32_t i = 0;
    int rc = CG_OK;

    while (i < links->nfifo && (links->fifo[i].gpu != gpu || links->fifo[i].bytes - links->fifo[i].used < bytes)) i++;
    if (i == links->nfifo) rc = add_chunk(links, gpu, (chunk + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE);
    if (rc != CG_OK) return rc;
    *at = links->fifo[i].base + links->fifo[i].used;
    *mem = links->fifo[i].mem;
    links->fifo[i].used += bytes;
    return CG_OK;
}

static int flush_gpu(void *ctx) { return cg_gpu_flush(ctx); }

static int ep_cuda(const struct cg_links *links, const struct cg_pool_link *l)
{
    const struct cg_net_ops *ops = links->config.net;

    return ops->ep_cuda ? ops->ep_cuda(links->net, l->peer->ep) : 0;
}

static int choose_flush(const struct cg_links *links, const struct cg_pool_link *l, struct cg_gpu *gpu,
                        struct cg_proxy_fifo *fifo)
{
    int kind = ep_cuda(links, l) & CG_NET_FLUSH ? cg_gpu_flush_kind(gpu) : CG_FLUSH_NONE;

    if (kind == CG_FLUSH_HOST) fifo->flush = flush_gpu;
    fifo->net_flush = kind == CG_FLUSH_NET;
    return fifo->net_flush && !links->config.net->flush ? CG_ERR_UNSUPPORTED : CG_OK;
}

static int make_fifo(struct cg_links *links, struct cg_pool_link *l, struct cg_gpu *gpu)
{
    size_t lanes = cg_lanes_bytes(l->end.geometry.slot_bytes, l->end.geometry.slots);
    struct cg_proxy_fifo fifo = {.ctx = gpu};
    char *at;
    int rc = choose_flush(links, l, gpu, &fifo);

    if (rc == CG_OK) rc = take_window(links, gpu, 2 * lanes, &at, &fifo.mem);

    if (rc != CG_OK) return rc;
    l->end.gpu_recv_slots = fifo.recv_slots = at;
    l->end.gpu_send_slots = fifo.send_slots = at + lanes;
    l->end.fifo_gpu = gpu;
    cg_proxy_link_fifo(l->end.proxy, &fifo);
    /* Of operations that are under way already, and read from host memory. */
    for (uint32_t c = 0; c < CG_MAX_CHAN; c++) cg_proxy_link_expect(l->end.proxy, c, l->end.recv_next[c], 0);
    return CG_OK;
}

/* Does the transport take CUDA memory, and does it pay towards this peer? */
static int wanted(const struct cg_links *links, const struct cg_pool_link *l)
{
    const struct cg_net_ops *ops = links->config.net;
    int choice = links->config.params->gpu_fifo;
    struct cg_net_props props;

    if (choice == 0) return 0;
    ops->props(links->net, &props);
    if (!props.cuda || !ops->reg) return 0;
    return choice > 0 || (ep_cuda(links, l) & CG_NET_DIRECT);
}

int cg_link_fifo(struct cg_links *links, struct cg_link_end *end, struct cg_gpu *gpu)
{
    struct cg_pool_link *l = (struct cg_pool_link *) end;
    int rc;

    if (end->fifo_gpu) return end->fifo_gpu == gpu ? CG_OK : CG_ERR_UNSUPPORTED;
    if (l->no_fifo || !end->proxy) return CG_ERR_UNSUPPORTED;
    rc = wanted(links, l) ? make_fifo(links, l, gpu) : CG_ERR_UNSUPPORTED;
    if (rc == CG_OK) return CG_OK;
    l->no_fifo = 1;
    if (rc != CG_ERR_UNSUPPORTED) {
        CG_LOG(links->fifo_told++ ? 3 : 0, "network: no FIFO in GPU memory: %s; it stays in host memory (set "
               "coll_gpu_gpu_fifo to 0 to keep it there)", cg_status_text(rc));
    }
    return rc;
}

int cg_links_on_gpu(const struct cg_links *links) { return links->nfifo > 0; }

void cg_links_fifo_close(struct cg_links *links)
{
    for (uint32_t i = 0; i < links->nfifo; i++) links->config.net->dereg(links->net, links->fifo[i].mem);
    free(links->fifo);
    links->fifo = NULL;
    links->nfifo = 0;
}
