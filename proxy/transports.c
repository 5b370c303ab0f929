/* SPDX-License-Identifier: BSD-3-Clause
 * The transport table. A transport is one file and one row. */
#include "core/log.h"
#include "proxy/net.h"

#include <string.h>

#ifdef CG_HAVE_UCX
extern const struct cg_net_ops cg_net_ucx;
#endif

const struct cg_net_ops *const cg_transports[] = {
#ifdef CG_HAVE_UCX
    &cg_net_ucx,
#endif
    &cg_net_loop,
    NULL,
};

const struct cg_net_ops *cg_transport_find(const char *name)
{
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) {
        if (name && name[0] ? strcmp(name, (*row)->name) : (*row)->by_name) continue;
        if (CG_NET_VERSION == (*row)->version) return *row;
        cg_log(0, "transport %s has interface version %d, not %d: rebuild it", (*row)->name, (*row)->version,
               CG_NET_VERSION);
    }
    return NULL;
}
