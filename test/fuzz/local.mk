check_PROGRAMS += test/fuzz/plan
TESTS += test/fuzz/plan
test_fuzz_plan_SOURCES = test/fuzz/plan.c test/sim/shape.c test/sim/shape.h
check_PROGRAMS += test/fuzz/table
TESTS += test/fuzz/table
test_fuzz_table_SOURCES = test/fuzz/table.c
