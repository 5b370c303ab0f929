cg_sources += topo/topo.h topo/topo_hwloc.c topo/host.c
