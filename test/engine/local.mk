check_PROGRAMS += test/engine/engine test/engine/paths
test_engine_engine_SOURCES = test/engine/engine.c test/engine/mesh.c test/engine/mesh.h
test_engine_paths_SOURCES = test/engine/paths.c test/engine/fake_gpu.c test/engine/fake_gpu.h test/engine/mesh.c \
	test/engine/mesh.h
TESTS += test/engine/engine test/engine/paths
