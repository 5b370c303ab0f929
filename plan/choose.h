/* SPDX-License-Identifier: BSD-3-Clause
 * Choice: the algorithm, the protocol and the number of blocks of an operation. They come from a table, which is data:
 * rows of text that bench/tune writes from measurements. Rows are looked at in order, and the first one that matches
 * and can be used is taken: those of the parameter coll_gpu_rows, those of the file coll_gpu_table, the built-in ones
 * (plan/table.txt). What is left undecided by all of them goes by the order of preference in plan/table.c.
 *
 * All facts that a row asks for are equal on all ranks of a communicator, and so is the table: its hash travels with
 * the set-up of a communicator, and where hashes differ all ranks use the built-in rows (engine/boot.c).
 *
 * A row, eight words; # begins a comment:
 *   collective  at           via              ranks  bytes   plan  protocol  blocks
 *   allreduce   host         shm              2-8    0-8K    exchange  general  0
 *   at      host: no rank has a GPU; device: some rank has one; any
 *   via     shm: shared memory between all; net: the network between some; p2p: GPU memory opened by the peers; any
 *   ranks   2, 2-8, 9-max, any;  bytes: the same with K, M, G: of the buffer, or of a block: the longest one
 *   plan    an algorithm of plan/table.c for general, - for the fast executor's protocols and for "general via p2p",
 *           which sends messages that could take the fast executor through shared memory
 *   protocol  general: a step program on the executor where the buffers are; or one of kernels/protocols.def
 *   blocks  0: by size; thread blocks of the fast executor, or channels of a program; never above coll_gpu_max_blocks
 *           or coll_gpu_channels
 *
 * Pure functions; any thread. */
#ifndef CG_PLAN_CHOOSE_H
#define CG_PLAN_CHOOSE_H

#include "plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cg_at { CG_AT_HOST = 1, CG_AT_DEVICE = 2, CG_AT_ANY = 3 };
enum cg_via { CG_VIA_SHM = 1, CG_VIA_NET = 2, CG_VIA_P2P = 4, CG_VIA_ANY = 7 };
#define CG_GENERAL (-1) /* protocol: none of enum cg_fast_protocol */

struct cg_row {
    uint8_t coll, at, via;  /* enum cg_coll; bits of enum cg_at and cg_via */
    int8_t protocol;
    uint16_t blocks;        /* 0: by size */
    uint32_t ranks[2];      /* from, to: both included */
    uint64_t bytes[2];
    const char *plan;       /* name in cg_algorithms; NULL: see above */
    const char *source;     /* the file, coll_gpu_rows, or built-in; lives as long as its table */
    uint32_t line;
};

struct cg_table {
    const struct cg_row *row;
    int n;
};

/* plan/table.txt. */
extern const struct cg_table cg_table_builtin;

/* A table of rows (text: rows separated by ; or line ends, NULL or "": none), of the file at path (the same) and of
 * the built-in ones. CG_OK; CG_ERR_ARG or CG_ERR_NOMEM with a line in why that names file, line and value, and *table
 * is NULL: use the built-in one. The caller frees it. */
int cg_table_open(const char *rows, const char *path, struct cg_table **table, char *why, size_t len);
/* Rows from text alone, with source in messages: what cg_table_open does for each of its parts. */
int cg_table_parse(const char *text, size_t bytes, const char *source, struct cg_table **table, char *why, size_t len);
void cg_table_free(struct cg_table *table);
/* Equal for tables with the same rows, wherever they came from. */
uint64_t cg_table_hash(const struct cg_table *table);

/* The row as text that can be parsed again. Returns as snprintf does; CG_ROW_TEXT bytes always suffice. */
#define CG_ROW_TEXT 192
int cg_row_text(const struct cg_row *row, char *text, size_t len);
/* All rows, separated by "; ", in malloc'ed memory; NULL if there is none. */
char *cg_table_text(const struct cg_table *table);

/* The first row for a request, and its algorithm: with req->table, or the built-in one where that is NULL. Where
 * exchange_max or doubling_max is set, and where no row matches, *row is NULL and the order of preference decides.
 * NULL: no algorithm serves it. */
const struct cg_algorithm *cg_choose_plan(const struct cg_plan_request *req, const struct cg_row **row);

/* The row for a message that all ranks could give to the fast executor. usable: bit per protocol that can carry it,
 * equal on all ranks. NULL, or a row of CG_GENERAL: not there. */
const struct cg_row *cg_choose_fast(const struct cg_table *table, int coll, uint32_t nranks, uint64_t bytes,
                                    unsigned usable);
/* Its thread blocks; 0: as many as the executor has work for. */
int cg_choose_blocks(const struct cg_row *row, uint64_t bytes);

/* Bytes by which a request is looked up: of the buffer or a block, of the longest block where they differ and all ranks
 * know them, else 0. */
uint64_t cg_choose_bytes(const struct cg_plan_request *req);

/* "general", "ll", ... "?" if there is none. */
const char *cg_protocol_name(int protocol);

#ifdef __cplusplus
}
#endif
#endif
