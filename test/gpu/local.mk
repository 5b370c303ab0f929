# The GPU's executor without MPI. Each skips with 77 where there is no GPU; without nvcc they are not built.
if HAVE_CUDA
sm_tests = test/gpu/sm_memory test/gpu/sm_exchange test/gpu/sm_collectives test/gpu/sm_errors test/gpu/sm_manners \
	test/gpu/sm_pack
check_PROGRAMS += $(sm_tests)
TESTS += $(sm_tests)

sm_world = test/gpu/sm_world.c test/gpu/sm_world.h test/elements.h
sm_libs = libcg.la $(cg_libs)
test_gpu_sm_memory_SOURCES = test/gpu/sm_memory.c $(sm_world)
test_gpu_sm_memory_CFLAGS = $(cg_cflags)
test_gpu_sm_memory_LDFLAGS = $(cg_ldflags)
test_gpu_sm_memory_LDADD = $(sm_libs)
test_gpu_sm_exchange_SOURCES = test/gpu/sm_exchange.c $(sm_world)
test_gpu_sm_exchange_CFLAGS = $(cg_cflags)
test_gpu_sm_exchange_LDFLAGS = $(cg_ldflags)
test_gpu_sm_exchange_LDADD = $(sm_libs)
test_gpu_sm_collectives_SOURCES = test/gpu/sm_collectives.c $(sm_world) test/sim/shape.c test/sim/shape.h
test_gpu_sm_collectives_CFLAGS = $(cg_cflags)
test_gpu_sm_collectives_LDFLAGS = $(cg_ldflags)
test_gpu_sm_collectives_LDADD = $(sm_libs)
test_gpu_sm_errors_SOURCES = test/gpu/sm_errors.c $(sm_world)
test_gpu_sm_errors_CFLAGS = $(cg_cflags)
test_gpu_sm_errors_LDFLAGS = $(cg_ldflags)
test_gpu_sm_errors_LDADD = $(sm_libs)
test_gpu_sm_pack_SOURCES = test/gpu/sm_pack.c $(sm_world)
test_gpu_sm_pack_CFLAGS = $(cg_cflags)
test_gpu_sm_pack_LDFLAGS = $(cg_ldflags)
test_gpu_sm_pack_LDADD = $(sm_libs)
test_gpu_sm_manners_SOURCES = test/gpu/sm_manners.c $(sm_world)
test_gpu_sm_manners_CFLAGS = $(cg_cflags)
test_gpu_sm_manners_LDFLAGS = $(cg_ldflags)
test_gpu_sm_manners_LDADD = $(sm_libs)

# The transports, with memory of the GPU.
check_PROGRAMS += test/gpu/net_cuda
TESTS += test/gpu/net_cuda
test_gpu_net_cuda_SOURCES = test/gpu/net_cuda.c $(cg_conformance)
test_gpu_net_cuda_CFLAGS = $(cg_cflags)
test_gpu_net_cuda_LDFLAGS = $(cg_ldflags)
test_gpu_net_cuda_LDADD = $(sm_libs) $(CMOCKA_LIBS)

# The fast executor, with ranks as processes. fast_time prints a table.
check_PROGRAMS += test/gpu/fast_check test/gpu/fast_time
TESTS += test/gpu/fast_check
fast_world = test/gpu/fast_world.c test/gpu/fast_case.c test/gpu/fast_world.h
test_gpu_fast_check_SOURCES = test/gpu/fast_check.c $(fast_world)
test_gpu_fast_check_CFLAGS = $(cg_cflags)
test_gpu_fast_check_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
test_gpu_fast_check_LDFLAGS = $(cg_ldflags)
test_gpu_fast_check_LDADD = $(sm_libs)
test_gpu_fast_time_SOURCES = test/gpu/fast_time.c $(fast_world)
test_gpu_fast_time_CFLAGS = $(cg_cflags)
test_gpu_fast_time_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
test_gpu_fast_time_LDFLAGS = $(cg_ldflags)
test_gpu_fast_time_LDADD = $(sm_libs)
endif

# MPI programs of the acceptance scripts (accept.d), which run on a GPU node; mpirun starts them.
noinst_LTLIBRARIES += libcggputest.la
libcggputest_la_SOURCES = test/gpu/gpu_test.c test/gpu/gpu_test.h
libcggputest_la_CPPFLAGS = $(cg_bench_cppflags)
libcggputest_la_CFLAGS = $(cg_cflags)
libcggputest_la_LDFLAGS = $(cg_ldflags)
libcggputest_la_LIBADD = libcgbench.la

cg_gpu_libs = libcggputest.la $(cg_bench_libs)
cg_gpu_programs = test/gpu/mpi_memory test/gpu/mpi_order test/gpu/mpi_bits test/gpu/mpi_dup test/gpu/mpi_staged test/gpu/mpi_types \
	test/gpu/mpi_victim test/gpu/mpi_layouts test/gpu/mpi_vectors test/gpu/mpi_every
test_gpu_mpi_every_SOURCES = test/gpu/every_cuda.c $(every_sources)
test_gpu_mpi_every_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_every_CFLAGS = $(cg_cflags)
test_gpu_mpi_every_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_every_LDADD = $(cg_gpu_libs)
test_gpu_mpi_memory_SOURCES = test/gpu/mpi_memory.c
test_gpu_mpi_memory_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_memory_CFLAGS = $(cg_cflags)
test_gpu_mpi_memory_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_memory_LDADD = $(cg_gpu_libs)
test_gpu_mpi_order_SOURCES = test/gpu/mpi_order.c
test_gpu_mpi_order_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_order_CFLAGS = $(cg_cflags)
test_gpu_mpi_order_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_order_LDADD = $(cg_gpu_libs)
test_gpu_mpi_bits_SOURCES = test/gpu/mpi_bits.c
test_gpu_mpi_bits_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_bits_CFLAGS = $(cg_cflags)
test_gpu_mpi_bits_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_bits_LDADD = $(cg_gpu_libs)
test_gpu_mpi_dup_SOURCES = test/gpu/mpi_dup.c
test_gpu_mpi_dup_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_dup_CFLAGS = $(cg_cflags)
test_gpu_mpi_dup_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_dup_LDADD = $(cg_gpu_libs)
test_gpu_mpi_types_SOURCES = test/gpu/mpi_types.c
test_gpu_mpi_types_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_types_CFLAGS = $(cg_cflags)
test_gpu_mpi_types_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_types_LDADD = $(cg_gpu_libs)
test_gpu_mpi_staged_SOURCES = test/gpu/mpi_staged.c
test_gpu_mpi_staged_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_staged_CFLAGS = $(cg_cflags)
test_gpu_mpi_staged_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_staged_LDADD = $(cg_gpu_libs)
test_gpu_mpi_layouts_SOURCES = test/gpu/mpi_layouts.c test/gpu/layouts.c test/gpu/layouts.h test/mpi/every.h \
	test/mpi/every_calls.c test/mpi/every_large.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_gpu_mpi_layouts_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_layouts_CFLAGS = $(cg_cflags)
test_gpu_mpi_layouts_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_layouts_LDADD = $(cg_gpu_libs)
test_gpu_mpi_vectors_SOURCES = test/gpu/mpi_vectors.c
test_gpu_mpi_vectors_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_vectors_CFLAGS = $(cg_cflags)
test_gpu_mpi_vectors_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_vectors_LDADD = $(cg_gpu_libs)
test_gpu_mpi_victim_SOURCES = test/gpu/mpi_victim.c
test_gpu_mpi_victim_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_victim_CFLAGS = $(cg_cflags)
test_gpu_mpi_victim_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_victim_LDADD = $(cg_gpu_libs)

# These launch kernels of their own.
if HAVE_CUDA
noinst_LTLIBRARIES += libcgspin.la
libcgspin_la_SOURCES = test/gpu/spin.cu test/gpu/spin.h
cg_gpu_programs += test/gpu/mpi_manners test/gpu/mpi_residency test/gpu/mpi_contexts
test_gpu_mpi_contexts_SOURCES = test/gpu/mpi_contexts.c
test_gpu_mpi_contexts_CPPFLAGS = $(cg_bench_cppflags) $(CUDA_CPPFLAGS)
test_gpu_mpi_contexts_CFLAGS = $(cg_cflags)
test_gpu_mpi_contexts_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_contexts_LDADD = $(CUDA_LIBS) $(MPI_LIBS) -lpthread -ldl
test_gpu_mpi_manners_SOURCES = test/gpu/mpi_manners.c
test_gpu_mpi_manners_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_manners_CFLAGS = $(cg_cflags)
test_gpu_mpi_manners_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_manners_LDADD = libcgspin.la $(cg_gpu_libs)
test_gpu_mpi_residency_SOURCES = test/gpu/mpi_residency.c
test_gpu_mpi_residency_CPPFLAGS = $(cg_bench_cppflags)
test_gpu_mpi_residency_CFLAGS = $(cg_cflags)
test_gpu_mpi_residency_LDFLAGS = $(cg_ldflags)
test_gpu_mpi_residency_LDADD = libcgspin.la $(cg_gpu_libs)
endif
noinst_PROGRAMS = $(cg_gpu_programs)

EXTRA_DIST += test/gpu/accept.sh test/gpu/accept.d
