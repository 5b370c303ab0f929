# The GPU's executor without MPI. Each skips with 77 where there is no GPU; without nvcc they are not built.
if HAVE_CUDA
sm_tests = test/gpu/sm_memory test/gpu/sm_exchange test/gpu/sm_errors test/gpu/sm_manners
check_PROGRAMS += $(sm_tests)
TESTS += $(sm_tests)

sm_world = test/gpu/sm_world.c test/gpu/sm_world.h
sm_libs = libcg.la $(cg_libs)
test_gpu_sm_memory_SOURCES = test/gpu/sm_memory.c $(sm_world)
test_gpu_sm_memory_CFLAGS = $(cg_cflags)
test_gpu_sm_memory_LDFLAGS = $(cg_ldflags)
test_gpu_sm_memory_LDADD = $(sm_libs)
test_gpu_sm_exchange_SOURCES = test/gpu/sm_exchange.c $(sm_world)
test_gpu_sm_exchange_CFLAGS = $(cg_cflags)
test_gpu_sm_exchange_LDFLAGS = $(cg_ldflags)
test_gpu_sm_exchange_LDADD = $(sm_libs)
test_gpu_sm_errors_SOURCES = test/gpu/sm_errors.c $(sm_world)
test_gpu_sm_errors_CFLAGS = $(cg_cflags)
test_gpu_sm_errors_LDFLAGS = $(cg_ldflags)
test_gpu_sm_errors_LDADD = $(sm_libs)
test_gpu_sm_manners_SOURCES = test/gpu/sm_manners.c $(sm_world)
test_gpu_sm_manners_CFLAGS = $(cg_cflags)
test_gpu_sm_manners_LDFLAGS = $(cg_ldflags)
test_gpu_sm_manners_LDADD = $(sm_libs)
endif
