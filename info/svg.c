/* SPDX-License-Identifier: BSD-3-Clause
 * The report as a picture: NUMA nodes with their GPUs and adapters, NVLinks above, the adapters that ranks use below
 * their GPUs, and the ways between ranks as a coloured table. */
#include "info/info.h"

#include <string.h>

enum { BOX = 92, GAP = 10, TALL = 44, PAD = 14, TOP = 150, CELL = 26 };

struct place {
    int x, y;
};
struct column {
    int node, x, width, ngpus, nnics;
    struct cg_topo_node numa; /* if it is one */
};
struct picture {
    struct column column[34];
    int ncolumns, width, bottom; /* bottom: of the machine */
    struct place gpu[CG_TOPO_DEVICES], nic[CG_TOPO_DEVICES];
};

static void escaped(FILE *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '<') fputs("&lt;", out);
        else if (*s == '>') fputs("&gt;", out);
        else if (*s == '&') fputs("&amp;", out);
        else if ((unsigned char) *s >= 0x20) fputc(*s, out);
    }
}

static void label(FILE *out, int x, int y, int size, const char *anchor, const char *s)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" text-anchor=\"%s\">", x, y, size, anchor);
    escaped(out, s);
    fputs("</text>\n", out);
}

static void box(FILE *out, int x, int y, int w, int h, const char *fill)
{
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" stroke=\"#555\"/>\n", x, y, w,
            h, fill);
}

/* ---- where things lie ---- */

static int in_column(const struct cg_topo_device *list, int n, int node)
{
    int count = 0;

    for (int i = 0; i < n; i++) count += list[i].node == node;
    return count;
}

static void add_column(const struct info *info, struct picture *p, int node)
{
    struct column *c = &p->column[p->ncolumns];
    int most;

    c->node = node;
    c->ngpus = in_column(info->gpu, info->ngpus, node);
    c->nnics = in_column(info->nic, info->nnics, node);
    if (node == CG_TOPO_ANY && !c->ngpus && !c->nnics) return;
    most = c->ngpus > c->nnics ? c->ngpus : c->nnics;
    if (most < 3) most = 3;
    c->x = p->width;
    c->width = 2 * PAD + most * (BOX + GAP) - GAP;
    p->width += c->width + 2 * GAP;
    p->ncolumns++;
}

static void spread(const struct cg_topo_device *list, int n, const struct column *c, int y, struct place *at)
{
    int k = 0;

    for (int i = 0; i < n; i++) {
        if (list[i].node == c->node) at[i] = (struct place){c->x + PAD + k++ * (BOX + GAP), y};
    }
}

static void lay_out(const struct info *info, struct picture *p)
{
    struct cg_topo_node numa;

    memset(p, 0, sizeof(*p));
    p->width = 2 * GAP;
    p->bottom = TOP + PAD + TALL + 90 + TALL + 34;
    for (unsigned i = 0; i < 32 && cg_topo_numa(info->topo, i, &numa); i++) {
        p->column[p->ncolumns].numa = numa;
        add_column(info, p, numa.node);
    }
    add_column(info, p, CG_TOPO_ANY);
    for (int c = 0; c < p->ncolumns; c++) {
        spread(info->gpu, info->ngpus, &p->column[c], TOP + PAD, p->gpu);
        spread(info->nic, info->nnics, &p->column[c], TOP + PAD + TALL + 90, p->nic);
    }
}

/* ---- the machine ---- */

static void draw_column(const struct column *c, int bottom, FILE *out)
{
    char text[224];

    box(out, c->x, TOP, c->width, bottom - TOP, "#f5f5f5");
    if (c->node == CG_TOPO_ANY) snprintf(text, sizeof(text), "node not known");
    else
        snprintf(text, sizeof(text), "NUMA node %d: %.0f GiB, processors %s", c->node,
                 (double) c->numa.memory / (1 << 30), c->numa.cpus);
    label(out, c->x + PAD, bottom - 12, 12, "start", text);
}

static void ranks_of(const struct info *info, int gpu, char *text, size_t len)
{
    size_t at = 0;

    text[0] = 0;
    for (int i = 0; i < info->nranks && at + 8 < len; i++) {
        if (info->rank[i].gpu == gpu)
            at += (size_t) snprintf(text + at, len - at, "%s%d", at ? "," : "rank ", i);
    }
}

static void draw_gpu(const struct info *info, const struct picture *p, int i, FILE *out)
{
    const struct cg_topo_device *d = &info->gpu[i];
    char text[64];

    box(out, p->gpu[i].x, p->gpu[i].y, BOX, TALL, d->visible ? "#c7e9c0" : "#eeeeee");
    label(out, p->gpu[i].x + BOX / 2, p->gpu[i].y + 14, 12, "middle", d->name);
    label(out, p->gpu[i].x + BOX / 2, p->gpu[i].y + 26, 9, "middle", d->bus_id);
    ranks_of(info, i, text, 20);
    label(out, p->gpu[i].x + BOX / 2, p->gpu[i].y + 39, 10, "middle", d->visible ? text : "closed");
}

static void draw_nic(const struct info *info, const struct picture *p, int i, FILE *out)
{
    const struct cg_topo_device *d = &info->nic[i];

    box(out, p->nic[i].x, p->nic[i].y, BOX, TALL, d->ports ? "#fdd0a2" : d->rdma ? "#eeeeee" : "#fff7bc");
    label(out, p->nic[i].x + BOX / 2, p->nic[i].y + 14, 12, "middle", d->name);
    label(out, p->nic[i].x + BOX / 2, p->nic[i].y + 26, 9, "middle", d->bus_id);
    label(out, p->nic[i].x + BOX / 2, p->nic[i].y + 39, 10, "middle",
          !d->rdma ? "sockets" : !d->ports ? "no port active" : d->infiniband ? "InfiniBand" : "RoCE");
}

/* From each GPU to the adapters that its first rank uses. */
static void draw_near(const struct info *info, const struct picture *p, int gpu, FILE *out)
{
    for (int r = 0; r < info->nranks; r++) {
        const struct cg_topo_near *near = &info->rank[r].near;
        if (info->rank[r].gpu != gpu) continue;
        for (int k = 0; k < near->count && near->ports[0]; k++) {
            struct place from = p->gpu[gpu], to = p->nic[near->nic[k]];
            fprintf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#d94801\" stroke-width=\"2\"/>\n",
                    from.x + BOX / 2, from.y + TALL, to.x + BOX / 2, to.y);
            label(out, (from.x + to.x + BOX) / 2 + 4, (from.y + TALL + to.y) / 2 + 4, 10, "start",
                  cg_topo_path_name(near->path));
        }
        return;
    }
}

/* ---- NVLinks ---- */

/* The same between any two GPUs: then it is drawn as one bar. Else 0. */
static uint64_t uniform(const struct info *info)
{
    uint64_t first = cg_topo_nvlink(info->topo, 0, 1);

    for (int a = 0; a < info->ngpus; a++) {
        for (int b = 0; b < info->ngpus; b++) {
            if (a != b && cg_topo_nvlink(info->topo, a, b) != first) return 0;
        }
    }
    return info->ngpus > 2 ? first : 0;
}

static void draw_bar(const struct info *info, const struct picture *p, uint64_t mbs, FILE *out)
{
    int y = TOP - 44, left = p->gpu[0].x, right = left;
    char text[64];

    for (int i = 0; i < info->ngpus; i++) {
        if (p->gpu[i].x < left) left = p->gpu[i].x;
        if (p->gpu[i].x > right) right = p->gpu[i].x;
        fprintf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#238b45\" stroke-width=\"3\"/>\n",
                p->gpu[i].x + BOX / 2, y + 24, p->gpu[i].x + BOX / 2, p->gpu[i].y);
    }
    box(out, left, y, right + BOX - left, 24, "#74c476");
    snprintf(text, sizeof(text), "NVLink: %.0f GB/s between any two, one direction", (double) mbs / 1e3);
    label(out, (left + right + BOX) / 2, y + 16, 12, "middle", text);
}

static void draw_arc(const struct picture *p, int a, int b, uint64_t mbs, FILE *out)
{
    int x = p->gpu[a].x + BOX / 2, to = p->gpu[b].x + BOX / 2, y = p->gpu[a].y, up = y - 60 - (to - x) / 6;
    char text[32];

    if (up < 40) up = 40;
    fprintf(out, "<path d=\"M%d %d Q%d %d %d %d\" fill=\"none\" stroke=\"#238b45\" stroke-width=\"2\"/>\n", x, y,
            (x + to) / 2, up, to, y);
    snprintf(text, sizeof(text), "%.0f GB/s", (double) mbs / 1e3);
    label(out, (x + to) / 2, (y + up) / 2 - 3, 10, "middle", text);
}

static void draw_nvlinks(const struct info *info, const struct picture *p, FILE *out)
{
    uint64_t same = uniform(info);

    if (same) draw_bar(info, p, same, out);
    for (int a = 0; a < info->ngpus && !same; a++) {
        for (int b = a + 1; b < info->ngpus; b++) {
            uint64_t mbs = cg_topo_nvlink(info->topo, a, b);
            if (mbs) draw_arc(p, a, b, mbs, out);
        }
    }
}

/* ---- ways ---- */

static void draw_cell(const struct info *info, int a, int b, int x, int y, FILE *out)
{
    static const char *const opacity[] = {[INFO_ALL] = "1", [INFO_SOME] = "0.4", [INFO_NONE] = "0.1"};
    const struct info_way_row *way = &info_ways[info_way(info, a, b)];

    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%s\" "
                 "stroke=\"#fff\"/>\n",
            x, y, CELL, CELL, way->colour, opacity[a == b ? INFO_ALL : info_use(info, a, b)]);
    label(out, x + CELL / 2, y + CELL / 2 + 4, 9, "middle", way->label);
}

static int draw_ways(const struct info *info, int top, FILE *out)
{
    char text[16];
    int y = top + 2 * CELL, x = 3 * CELL;

    label(out, 2 * GAP, top + 14, 14, "start", "Ways between ranks");
    for (int a = 0; a < info->nranks; a++) {
        snprintf(text, sizeof(text), "%d", a);
        label(out, x + a * CELL + CELL / 2, y - 5, 10, "middle", text);
        label(out, x - 6, y + a * CELL + CELL / 2 + 4, 10, "end", text);
        for (int b = 0; b < info->nranks; b++) draw_cell(info, a, b, x + b * CELL, y + a * CELL, out);
    }
    y += info->nranks * CELL + CELL;
    for (int w = INFO_SELF + 1; w < INFO_WAY_COUNT; w++, y += CELL - 4) {
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", 3 * CELL, y,
                info_ways[w].colour);
        label(out, 3 * CELL + 22, y + 11, 11, "start", info_ways[w].label);
        label(out, 3 * CELL + 60, y + 11, 11, "start", info_ways[w].text);
    }
    label(out, 3 * CELL, y + 11, 11, "start",
          "pale: alltoall, gatherv, scatterv alone; very pale: no plan in MPI_COMM_WORLD");
    return y;
}

void info_svg(const struct info *info, FILE *out)
{
    struct picture p;
    int width, height;
    char text[96];

    lay_out(info, &p);
    width = 4 * CELL + info->nranks * CELL;
    if (width < 720) width = 720;
    if (width < p.width) width = p.width;
    height = p.bottom + 20 + (info->nranks + 4) * CELL + (INFO_WAY_COUNT + 1) * CELL;
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                 "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    label(out, 2 * GAP, 26, 16, "start", info->source ? info->source : "this machine");
    snprintf(text, sizeof(text), "driver: %s", info->driver);
    label(out, 2 * GAP, 44, 11, "start", text);
    for (int c = 0; c < p.ncolumns; c++) draw_column(&p.column[c], p.bottom, out);
    draw_nvlinks(info, &p, out);
    for (int i = 0; i < info->ngpus; i++) draw_near(info, &p, i, out);
    for (int i = 0; i < info->ngpus; i++) draw_gpu(info, &p, i, out);
    for (int i = 0; i < info->nnics; i++) draw_nic(info, &p, i, out);
    draw_ways(info, p.bottom + 20, out);
    fputs("</svg>\n", out);
}
