/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/watch.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "coll_gpu_"
#define MAX_VARS 64

struct var {
    char name[64];
    MPI_T_pvar_handle handle;
};

struct cg_watch {
    MPI_T_pvar_session session;
    int count;
    struct var var[MAX_VARS];
};

/* Add variable index if it is one of ours: 64-bit unsigned, bound to no object. */
static void add_var(struct cg_watch *w, int index)
{
    char name[128], desc[16];
    int name_len = sizeof(name), desc_len = sizeof(desc), verbosity, class, bind, readonly, continuous, atomic, count;
    MPI_Datatype type;
    MPI_T_enum enumtype;
    struct var *v = &w->var[w->count];

    if (MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &class, &type, &enumtype, desc, &desc_len, &bind,
                            &readonly, &continuous, &atomic) != MPI_SUCCESS ||
        strncmp(name, PREFIX, strlen(PREFIX)) != 0 || bind != MPI_T_BIND_NO_OBJECT ||
        type != MPI_UNSIGNED_LONG_LONG || w->count == MAX_VARS ||
        MPI_T_pvar_handle_alloc(w->session, index, NULL, &v->handle, &count) != MPI_SUCCESS || count != 1) {
        return;
    }
    if (!continuous) MPI_T_pvar_start(w->session, v->handle);
    snprintf(v->name, sizeof(v->name), "%.63s", name + strlen(PREFIX));
    w->count++;
}

struct cg_watch *cg_watch_open(void)
{
    struct cg_watch *w = calloc(1, sizeof(*w));
    int provided, n;

    if (w == NULL) return NULL;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return w;
    if (MPI_T_pvar_session_create(&w->session) != MPI_SUCCESS) return w;
    if (MPI_T_pvar_get_num(&n) != MPI_SUCCESS) return w;
    for (int i = 0; i < n; i++) add_var(w, i);
    return w;
}

void cg_watch_close(struct cg_watch *w)
{
    if (w == NULL) return;
    for (int i = 0; i < w->count; i++) MPI_T_pvar_handle_free(w->session, &w->var[i].handle);
    MPI_T_pvar_session_free(&w->session);
    MPI_T_finalize();
    free(w);
}

int cg_watch_count(const struct cg_watch *w) { return w->count; }

uint64_t cg_watch_read(const struct cg_watch *w, const char *name)
{
    for (int i = 0; i < w->count; i++) {
        unsigned long long value = 0;
        if (strcmp(w->var[i].name, name) != 0) continue;
        return MPI_T_pvar_read(w->session, w->var[i].handle, &value) == MPI_SUCCESS ? value : 0;
    }
    return 0;
}

long cg_watch_param(const char *name, long fallback)
{
    char full[96];
    int index, count, value;
    MPI_T_cvar_handle handle;

    snprintf(full, sizeof(full), PREFIX "%s", name);
    if (MPI_T_cvar_get_index(full, &index) != MPI_SUCCESS) return fallback;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) return fallback;
    if (count != 1 || MPI_T_cvar_read(handle, &value) != MPI_SUCCESS) value = (int) fallback;
    MPI_T_cvar_handle_free(&handle);
    return value;
}

void cg_watch_mark(const struct cg_watch *w, struct cg_watch_mark *m)
{
    m->host = cg_watch_read(w, "native_host");
    m->gpu = cg_watch_read(w, "native_gpu");
    m->fast = cg_watch_read(w, "native_fast");
    m->staged = cg_watch_read(w, "staged");
    m->messages = cg_watch_read(w, "messages");
    m->gpu_messages = cg_watch_read(w, "gpu_messages");
}

int cg_watch_since(const struct cg_watch *w, const struct cg_watch_mark *m)
{
    struct cg_watch_mark now;
    int bits = 0;

    cg_watch_mark(w, &now);
    if (now.host > m->host) bits |= CG_WATCH_HOST;
    if (now.gpu > m->gpu) bits |= CG_WATCH_GPU;
    if (now.messages > m->messages) bits |= CG_WATCH_NET;
    else if (bits != 0) bits |= CG_WATCH_SHM;
    if (now.gpu_messages > m->gpu_messages) bits |= CG_WATCH_NET_GPU;
    if (now.fast > m->fast) bits |= CG_WATCH_FAST;
    if (now.staged > m->staged) bits |= CG_WATCH_STAGED;
    return bits != 0 ? bits : CG_WATCH_OTHER;
}

const char *cg_watch_executor(int bits, char *buf, size_t len)
{
    static const char *const name[] = {"host", "gpu", "fast", "staged", "other"};
    size_t at = 0;

    snprintf(buf, len, "-");
    for (int i = 0; i < 5; i++) {
        if (bits & 1 << i) at += (size_t) snprintf(buf + at, len - at, "%s%s", at > 0 ? "+" : "", name[i]);
    }
    return buf;
}

const char *cg_watch_path(int bits)
{
    int both = CG_WATCH_NET | CG_WATCH_SHM;

    if ((bits & both) == both) return "shm+net";
    if (bits & CG_WATCH_NET_GPU) return "net-gpu";
    if (bits & both) return bits & CG_WATCH_NET ? "net" : "shm";
    return bits & CG_WATCH_FAST ? "p2p" : "-";
}
