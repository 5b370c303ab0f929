EXTRA_DIST += test/engine/mesh.h
check_PROGRAMS += test/engine/engine
test_engine_engine_SOURCES = test/engine/engine.c test/engine/mesh.c test/engine/mesh.h
TESTS += test/engine/engine
