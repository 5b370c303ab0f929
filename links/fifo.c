/* SPDX-License-Identifier: BSD-3-Clause
 * Slots of net links that do not lie in the arena: in GPU memory, or in memory that the transport allocates. Chunks are
 * registered as a whole and cut into windows, one for both directions of a link, which keeps it. Chunks of GPU memory
 * are the engine's and freed when that closes. */
#include "links/internal.h"
#include "core/log.h"

#include <stdlib.h>
#include <unistd.h>

#define GPU_PAGE ((size_t) 2 << 20)

/* Registers by descriptor where both sides can, else by pointer. */
static int register_chunk(struct cg_links *links, struct cg_fifo_chunk *c)
{
    struct cg_net_region region = {c->base, c->bytes, CG_NET_CUDA, -1};
    struct cg_net_props props;
    int rc;

    links->config.net->props(links->net, &props);
    if (props.dmabuf) region.dmabuf = cg_gpu_dmabuf(c->gpu, c->base, c->bytes);
    rc = cg_cache_get(links->cache, &region, 0, &c->cached);
    if (region.dmabuf >= 0) close(region.dmabuf);
    if (rc == CG_OK) c->mem = cg_cached_mem(c->cached);
    return rc;
}

static int from_transport(struct cg_links *links, struct cg_fifo_chunk *c)
{
    const struct cg_net_ops *ops = links->config.net;
    void *base;
    int rc = CG_ERR_UNSUPPORTED;

    if (ops->alloc && c->gpu) rc = ops->alloc(links->net, CG_NET_CUDA, cg_gpu_device(c->gpu), c->bytes, &base, &c->mem);
    else if (ops->alloc) rc = ops->alloc(links->net, CG_NET_HOST, -1, c->bytes, &base, &c->mem);
    if (rc != CG_OK) return rc;
    c->base = base;
    if (!c->gpu) rc = cg_region_add(links, base, c->bytes);
    if (rc != CG_OK) ops->free(links->net, base, c->mem);
    return rc;
}

/* The transport's own memory where it has some; else the GPU's, registered. */
static int fill_chunk(struct cg_links *links, struct cg_fifo_chunk *c)
{
    int rc = from_transport(links, c);

    if (rc != CG_ERR_UNSUPPORTED || !c->gpu) return rc;
    if (!links->cache) return CG_ERR_UNSUPPORTED;
    c->base = cg_gpu_mem_alloc(c->gpu, c->bytes);
    if (!c->base) return CG_ERR_GPU_NOMEM;
    rc = register_chunk(links, c);
    if (rc != CG_OK) cg_gpu_mem_free(c->gpu, c->base);
    return rc;
}

/* In the context of the GPU, which the transport may have to ask about its memory. */
static int add_chunk(struct cg_links *links, struct cg_gpu *gpu, size_t bytes)
{
    struct cg_fifo_chunk *grown = realloc(links->fifo, (links->nfifo + 1) * sizeof(*grown));
    struct cg_fifo_chunk c = {.gpu = gpu, .bytes = bytes};
    struct cg_gpu_scope scope;
    int rc = CG_OK;

    if (!grown) return CG_ERR_NOMEM;
    links->fifo = grown;
    if (gpu) rc = cg_gpu_enter(cg_gpu_device(gpu), &scope);
    if (rc != CG_OK) return rc;
    rc = fill_chunk(links, &c);
    if (gpu) cg_gpu_leave(&scope);
    if (rc == CG_OK) links->fifo[links->nfifo++] = c;
    return rc;
}

/* From a chunk with room, or a new one. */
int cg_fifo_take(struct cg_links *links, struct cg_gpu *gpu, size_t bytes, char **at, struct cg_net_mem **mem)
{
    size_t chunk = links->arena.chunk_bytes > bytes ? links->arena.chunk_bytes : bytes;
    uint32_t i = 0;
    int rc = CG_OK;

    while (i < links->nfifo && (links->fifo[i].gpu != gpu || links->fifo[i].bytes - links->fifo[i].used < bytes)) i++;
    if (i == links->nfifo) rc = add_chunk(links, gpu, (chunk + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE);
    if (rc != CG_OK) return rc;
    *at = links->fifo[i].base + links->fifo[i].used;
    *mem = links->fifo[i].mem;
    links->fifo[i].used += (bytes + 63) / 64 * 64;
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

    if (rc == CG_OK) rc = cg_fifo_take(links, gpu, 2 * lanes, &at, &fifo.mem);

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

static int count(const struct cg_links *links, int host)
{
    int n = 0;

    for (uint32_t i = 0; i < links->nfifo; i++) n += host == !links->fifo[i].gpu;
    return n;
}

int cg_links_on_gpu(const struct cg_links *links) { return links->nfifo > 0 && count(links, 0) > 0; }

int cg_links_fifo_on_host(const struct cg_links *links) { return count(links, 1) > 0; }

void cg_links_fifo_close(struct cg_links *links, int host)
{
    const struct cg_net_ops *ops = links->config.net;

    for (uint32_t i = 0; i < links->nfifo; i++) {
        struct cg_fifo_chunk *c = &links->fifo[i];
        if (!c->base || (!c->gpu && !host)) continue;
        if (c->cached) cg_cache_put(links->cache, c->cached);
        if (c->cached) (void) cg_cache_forget(links->cache, c->base, c->bytes);
        else ops->free(links->net, c->base, c->mem);
        c->base = NULL;
    }
    if (!host) return;
    free(links->fifo);
    links->fifo = NULL;
    links->nfifo = 0;
}
