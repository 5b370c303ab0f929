if HAVE_CMOCKA
check_PROGRAMS += test/unit/floats test/unit/reduce test/unit/nodes test/unit/plan test/unit/plan_faults test/unit/host
TESTS += test/unit/floats test/unit/reduce test/unit/nodes test/unit/plan test/unit/plan_faults test/unit/host
test_unit_floats_SOURCES = test/unit/floats.c
test_unit_reduce_SOURCES = test/unit/reduce.c test/elements.h
test_unit_plan_SOURCES = test/unit/plan.c test/unit/choices.h test/sim/shape.c test/sim/shape.h
test_unit_nodes_SOURCES = test/unit/nodes.c test/unit/choices.h test/sim/shape.c test/sim/shape.h
test_unit_plan_faults_SOURCES = test/unit/plan_faults.c test/unit/choices.h
test_unit_host_SOURCES = test/unit/host.c $(cg_sim_world)
check_PROGRAMS += test/unit/choose
TESTS += test/unit/choose
test_unit_choose_SOURCES = test/unit/choose.c
check_PROGRAMS += test/unit/predict
TESTS += test/unit/predict
test_unit_predict_SOURCES = test/unit/predict.c
check_PROGRAMS += test/unit/soon
TESTS += test/unit/soon
test_unit_soon_SOURCES = test/unit/soon.c
endif
