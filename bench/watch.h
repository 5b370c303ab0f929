/* SPDX-License-Identifier: BSD-3-Clause
 * What coll/gpu did, read from its MPI_T variables (coll_gpu_*). Without the component every value is 0. */
#ifndef CG_BENCH_WATCH_H
#define CG_BENCH_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct cg_watch;

/* After MPI_Init. NULL if out of memory. Main thread only, like everything here. */
struct cg_watch *cg_watch_open(void);
void cg_watch_close(struct cg_watch *w);

/* Number of coll_gpu_* variables found. */
int cg_watch_count(const struct cg_watch *w);
/* Value of coll_gpu_<name>; 0 if there is none. */
uint64_t cg_watch_read(const struct cg_watch *w, const char *name);
/* Value of the parameter coll_gpu_<name>; fallback if there is none. */
long cg_watch_param(const char *name, long fallback);

/* Which executor and which path served the calls between two marks? Bits, so that ranks can be combined with or. */
enum { CG_WATCH_HOST = 1, CG_WATCH_GPU = 2, CG_WATCH_FAST = 4, CG_WATCH_STAGED = 8, CG_WATCH_OTHER = 16,
       CG_WATCH_NET = 32, CG_WATCH_SHM = 64, CG_WATCH_NET_GPU = 128 };
struct cg_watch_mark {
    uint64_t host, gpu, fast, staged, messages, gpu_messages;
};
void cg_watch_mark(const struct cg_watch *w, struct cg_watch_mark *m);
int cg_watch_since(const struct cg_watch *w, const struct cg_watch_mark *m);

/* "gpu", "host+gpu", ... into buf; "shm", "net", "net-gpu" (some messages from GPU memory),
 * "p2p" (fast executor, no host memory), or "-". */
const char *cg_watch_executor(int bits, char *buf, size_t len);
const char *cg_watch_path(int bits);

#endif
