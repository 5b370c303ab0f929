cg_sources += topo/topo.h topo/internal.h topo/topo_hwloc.c topo/device.c topo/nvlink.c topo/near.c topo/host.c
