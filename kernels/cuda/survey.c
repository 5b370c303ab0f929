/* SPDX-License-Identifier: BSD-3-Clause
 * NVML's answers. Its binary interface is stable; nvml.h is not part of every toolkit, so what is used of it stands
 * here. */
#include "kernels/cuda/survey.h"

#include "core/status.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MOST_LINKS 18
#define REMOTE_GPU 0 /* nvmlIntNvLinkDeviceType_t */
#define REMOTE_SWITCH 2
#define FIELD_SPEED 90 /* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON */

typedef struct device *device_t;
struct pci { /* nvmlPciInfo_t */
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};
struct memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};
struct field { /* nvmlFieldValue_t */
    unsigned id, scope;
    long long time, latency;
    int type, status;
    union {
        unsigned ui;
        unsigned long long ull;
    } value;
};

#define FUNCTIONS(X)                                                            \
    X(nvmlInit_v2, (void))                                                      \
    X(nvmlShutdown, (void))                                                     \
    X(nvmlDeviceGetCount_v2, (unsigned *) )                                     \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, device_t *) )                   \
    X(nvmlDeviceGetName, (device_t, char *, unsigned) )                         \
    X(nvmlDeviceGetPciInfo_v3, (device_t, struct pci *) )                       \
    X(nvmlDeviceGetMemoryInfo, (device_t, struct memory *) )                    \
    X(nvmlDeviceGetNvLinkState, (device_t, unsigned, int *) )                   \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (device_t, unsigned, struct pci *) ) \
    X(nvmlDeviceGetNvLinkRemoteDeviceType, (device_t, unsigned, int *) )        \
    X(nvmlDeviceGetFieldValues, (device_t, int, struct field *) )
struct nvml {
    void *library;
#define FUNCTION(name, args) int(*name) args;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static int load(struct nvml *nvml)
{
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!nvml->library) return CG_ERR_UNSUPPORTED;
#define FUNCTION(name, args)                                      \
    nvml->name = (int(*) args) dlsym(nvml->library, #name);       \
    if (!nvml->name) return CG_ERR_UNSUPPORTED;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    return CG_OK;
}

/* NVML writes eight digits of domain: "00000000:1B:00.0". */
static void set_bus_id(char id[16], const struct pci *pci)
{
    unsigned function = 0;
    const char *dot = strrchr(pci->bus_id, '.');

    if (dot && isxdigit((unsigned char) dot[1])) function = (unsigned) (dot[1] - '0') & 7;
    snprintf(id, 16, "%04x:%02x:%02x.%x", pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0x1f, function);
}

static int find(const struct cg_gpu_survey *s, const struct pci *pci)
{
    char id[16];

    set_bus_id(id, pci);
    for (int i = 0; i < s->count; i++) {
        if (!strcmp(id, s->gpu[i].bus_id)) return i;
    }
    return -1;
}

/* MB/s of one link; a driver that does not say: that of NVLink 2 to 4. */
static uint64_t link_speed(const struct nvml *nvml, device_t device)
{
    struct field f = {.id = FIELD_SPEED};

    if (nvml->nvmlDeviceGetFieldValues(device, 1, &f) == 0 && f.status == 0 && f.value.ui) return f.value.ui;
    return 25000;
}

/* Links of GPU i: to other GPUs, and, returned, to switches. */
static uint64_t read_links(const struct nvml *nvml, device_t device, int i, struct cg_gpu_survey *s)
{
    uint64_t speed = 0, switched = 0;

    for (unsigned l = 0; l < MOST_LINKS; l++) {
        int active = 0, kind = REMOTE_GPU, other;
        struct pci pci;
        if (nvml->nvmlDeviceGetNvLinkState(device, l, &active) || !active) continue;
        if (!speed) speed = link_speed(nvml, device);
        if (nvml->nvmlDeviceGetNvLinkRemoteDeviceType(device, l, &kind)) kind = REMOTE_GPU;
        if (kind == REMOTE_SWITCH) switched += speed;
        if (kind != REMOTE_GPU) continue;
        memset(&pci, 0, sizeof(pci));
        if (nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2(device, l, &pci)) continue;
        other = find(s, &pci);
        if (other >= 0 && other != i) s->nvlink[i][other] += speed;
    }
    return switched;
}

static int read_gpus(const struct nvml *nvml, struct cg_gpu_survey *s, device_t *handle)
{
    unsigned count = 0;

    if (nvml->nvmlDeviceGetCount_v2(&count)) return CG_ERR_GPU;
    for (unsigned i = 0; i < count && s->count < CG_SURVEY_GPUS; i++) {
        struct memory memory = {0};
        struct pci pci = {0};
        int n = s->count;
        if (nvml->nvmlDeviceGetHandleByIndex_v2(i, &handle[n])) continue;
        if (nvml->nvmlDeviceGetPciInfo_v3(handle[n], &pci)) continue;
        set_bus_id(s->gpu[n].bus_id, &pci);
        if (nvml->nvmlDeviceGetName(handle[n], s->gpu[n].name, sizeof(s->gpu[n].name))) s->gpu[n].name[0] = 0;
        if (nvml->nvmlDeviceGetMemoryInfo(handle[n], &memory) == 0) s->gpu[n].memory = memory.total;
        s->count++;
    }
    return CG_OK;
}

static int survey(const struct nvml *nvml, struct cg_gpu_survey *s)
{
    device_t handle[CG_SURVEY_GPUS];
    uint64_t switched[CG_SURVEY_GPUS];
    int rc = read_gpus(nvml, s, handle);

    for (int i = 0; i < s->count; i++) switched[i] = read_links(nvml, handle[i], i, s);
    for (int i = 0; i < s->count; i++) {
        for (int k = 0; k < s->count; k++) {
            if (i != k) s->nvlink[i][k] += switched[i] < switched[k] ? switched[i] : switched[k];
        }
    }
    return rc;
}

int cg_gpu_survey(struct cg_gpu_survey *s)
{
    struct nvml nvml;
    int rc;

    memset(s, 0, sizeof(*s));
    rc = load(&nvml);
    if (rc == CG_OK && nvml.nvmlInit_v2()) rc = CG_ERR_GPU;
    if (rc == CG_OK) {
        rc = survey(&nvml, s);
        nvml.nvmlShutdown();
    }
    if (nvml.library) dlclose(nvml.library);
    return rc;
}
