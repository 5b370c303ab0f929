/* SPDX-License-Identifier: BSD-3-Clause
 * A libnvidia-ml.so.1 for tests: FAKE_NVML says which machine.
 *   pairs     GPUs 23 and 25 of machines/pcie4.xml with 4 links between them, and a1; a2 is not shown
 *   switches  two GPUs that no snapshot knows, 18 and 12 links to switches, links of 26,562 MB/s
 *   broken    nvmlInit fails */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};
struct field {
    unsigned id, scope;
    long long time, latency;
    int type, status;
    unsigned long long value;
};

#define EXPORT __attribute__((visibility("default")))

static int is(const char *name) { return getenv("FAKE_NVML") && !strcmp(getenv("FAKE_NVML"), name); }

static void set_pci(struct pci *pci, unsigned bus)
{
    memset(pci, 0, sizeof(*pci));
    pci->bus = bus;
    snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0", bus);
}

static unsigned bus_of(void *device)
{
    static const unsigned pairs[] = {0x23, 0x25, 0xa1}, switches[] = {0x18, 0x2a};
    size_t i = (size_t) device - 1;

    return is("pairs") ? pairs[i] : switches[i];
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetCount_v2(unsigned *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned len);
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active);
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci);
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *kind);
EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *f);

int nvmlInit_v2(void) { return is("broken") ? 999 : 0; }
int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = is("pairs") ? 3 : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    *device = (void *) (size_t) (i + 1);
    return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned len)
{
    (void) device;
    snprintf(name, len, "NVIDIA <Fake> & \"Sons\"");
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    set_pci(pci, bus_of(device));
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    (void) device;
    memory[0] = 80ull << 30;
    memory[1] = memory[2] = 0;
    return 0;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
    if (is("pairs")) *active = link < 4 && bus_of(device) != 0xa1;
    else *active = link < (bus_of(device) == 0x18 ? 18u : 12u);
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci)
{
    (void) link;
    set_pci(pci, bus_of(device) == 0x23 ? 0x25 : 0x23);
    return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *kind)
{
    (void) device;
    (void) link;
    *kind = is("switches") ? 2 : 0;
    return 0;
}

int nvmlDeviceGetFieldValues(void *device, int n, struct field *f)
{
    (void) device;
    if (is("pairs") || n != 1 || f->id != 90) return 3; /* an old driver: not supported */
    f->status = 0;
    f->value = 26562;
    return 0;
}
