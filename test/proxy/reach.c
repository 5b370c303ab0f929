/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/proxy/reach.h"

#include <stdio.h>
#include <unistd.h>

static int joined(const struct cg_net_ops *ops, struct cg_net *const *net)
{
    char handle[2][CG_NET_HANDLE_MAX];
    struct cg_net_ep *ep;
    int rc[2] = {CG_AGAIN, CG_AGAIN};
    size_t len[2];

    for (int i = 0; i < 2; i++) {
        if (CG_OK != ops->listen(net[i], handle[i], &len[i])) return 0;
    }
    while (CG_AGAIN == rc[0] || CG_AGAIN == rc[1]) {
        if (rc[1]) rc[1] = ops->accept(net[1], handle[0], len[0], 1, &ep);
        if (rc[0]) rc[0] = ops->connect(net[0], handle[1], len[1], 1, &ep);
        if (rc[0] < 0 || rc[1] < 0) return 0;
    }
    return 1;
}

int test_reaches(const struct cg_net_ops *ops, const char *hint)
{
    struct cg_net *net[2] = {NULL, NULL};
    struct cg_params params;
    char why[256];
    int yes = 1;

    if (!access("/sys/class/net", F_OK)) return 1; /* if it fails here, the test may fail */
    cg_params_default(&params);
    for (int i = 0; i < 2 && yes; i++) yes = CG_OK == ops->open(&params, hint, &net[i], why, sizeof(why));
    yes = yes && joined(ops, net);
    for (int i = 0; i < 2; i++) {
        if (net[i]) ops->close(net[i]);
    }
    if (!yes) printf("%s, hint \"%s\": there is no /sys/class/net; left out\n", ops->name, hint ? hint : "");
    return yes;
}
