engine_mesh = test/engine/mesh.c test/engine/mesh.h
engine_fake = test/engine/fake_gpu.c test/engine/fake_gpu.h
check_PROGRAMS += test/engine/engine test/engine/paths test/engine/collectives
test_engine_engine_SOURCES = test/engine/engine.c $(engine_mesh)
test_engine_paths_SOURCES = test/engine/paths.c $(engine_fake) $(engine_mesh)
test_engine_collectives_SOURCES = test/engine/collectives.c $(engine_fake) $(engine_mesh)
TESTS += test/engine/engine test/engine/paths test/engine/collectives
