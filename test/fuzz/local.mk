check_PROGRAMS += test/fuzz/plan
TESTS += test/fuzz/plan
test_fuzz_plan_SOURCES = test/fuzz/plan.c test/sim/world.c test/sim/world.h
