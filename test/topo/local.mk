EXTRA_DIST += test/topo/machines
check_PROGRAMS += test/topo/topo test/topo/devices
TESTS += test/topo/topo test/topo/devices
test_topo_topo_SOURCES = test/topo/topo.c test/topo/machine.h
test_topo_devices_SOURCES = test/topo/devices.c test/topo/machine.h
