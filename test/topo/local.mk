EXTRA_DIST += test/topo/two_nodes.xml
check_PROGRAMS += test/topo/topo
TESTS += test/topo/topo
test_topo_topo_SOURCES = test/topo/topo.c
