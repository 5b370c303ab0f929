if HAVE_CMOCKA
check_PROGRAMS += test/unit/reduce test/unit/plan test/unit/host
TESTS += test/unit/reduce test/unit/plan test/unit/host
test_unit_reduce_SOURCES = test/unit/reduce.c
test_unit_plan_SOURCES = test/unit/plan.c
test_unit_host_SOURCES = test/unit/host.c test/sim/world.c test/sim/world.h
endif
