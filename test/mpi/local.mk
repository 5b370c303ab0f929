mpi_scripts = test/mpi/layouts.sh test/mpi/types.sh test/mpi/flat.sh test/mpi/every.sh test/mpi/matrix.sh test/mpi/readme.sh test/mpi/requests.sh test/mpi/device.sh test/mpi/fallback.sh \
	test/mpi/order.sh test/mpi/again.sh test/mpi/comms.sh test/mpi/threads.sh test/mpi/errors.sh test/mpi/header.sh test/mpi/params.sh test/mpi/bits.sh \
	test/mpi/killed.sh test/mpi/hosts.sh test/mpi/hosts4.sh test/mpi/hosts_line.sh test/mpi/pipeline.sh
mpi_scripts += test/mpi/table.sh test/mpi/perf.sh
EXTRA_DIST += $(mpi_scripts) test/mpi/lib.sh test/mpi/hosts_lib.sh test/mpi/first.sh test/mpi/after.sh
CLEANFILES += test/mpi/fake/dir/mca_coll_gpu.so
TESTS += $(mpi_scripts)
# These measure: after all others, one after the other.
test/mpi/hosts_line.log: $(filter-out test/mpi/hosts_line.log test/mpi/pipeline.log, $(TEST_LOGS))
test/mpi/pipeline.log: $(filter-out test/mpi/pipeline.log, $(TEST_LOGS))

type_rows = test/mpi/type_rows.c test/mpi/type_rows.h
check_PROGRAMS += test/mpi/types
test_mpi_types_SOURCES = test/mpi/types.c $(type_rows) test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_types_CFLAGS = $(cg_cflags)
test_mpi_types_LDFLAGS = $(cg_ldflags)
test_mpi_types_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/flat
test_mpi_flat_SOURCES = test/mpi/flat.c test/mpi/random_type.c test/mpi/random_type.h test/mpi/mpi_test.c \
	test/mpi/mpi_test.h test/mpi/fake_memory.h ompi_coll_gpu/flatten.c ompi_coll_gpu/flatten.h
test_mpi_flat_CPPFLAGS = $(mca_coll_gpu_la_CPPFLAGS)
test_mpi_flat_CFLAGS = $(cg_cflags) $(OMPI_CFLAGS)
test_mpi_flat_LDFLAGS = $(cg_ldflags) -Wl,--copy-dt-needed-entries
test_mpi_flat_LDADD = libcg.la $(cg_libs) $(OMPI_LIBS) $(MPI_LIBS) -lpthread -lm

every_sources = test/mpi/every.c test/mpi/every.h test/mpi/every_move.c test/mpi/every_reduce.c test/mpi/every_calls.c test/mpi/every_large.c \
	test/mpi/every_world.c $(type_rows) test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
check_PROGRAMS += test/mpi/every
test_mpi_every_SOURCES = $(every_sources) test/mpi/every_memory.c
test_mpi_every_CFLAGS = $(cg_cflags)
test_mpi_every_LDFLAGS = $(cg_ldflags)
test_mpi_every_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/requests
test_mpi_requests_SOURCES = test/mpi/requests.c test/mpi/every.h test/mpi/every_calls.c test/mpi/every_large.c test/mpi/every_world.c \
	test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_requests_CFLAGS = $(cg_cflags)
test_mpi_requests_LDFLAGS = $(cg_ldflags)
test_mpi_requests_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/fallback
test_mpi_fallback_SOURCES = test/mpi/fallback.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_fallback_CFLAGS = $(cg_cflags)
test_mpi_fallback_LDFLAGS = $(cg_ldflags)
test_mpi_fallback_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/order
test_mpi_order_SOURCES = test/mpi/order.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_order_CFLAGS = $(cg_cflags)
test_mpi_order_LDFLAGS = $(cg_ldflags)
test_mpi_order_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/comms
test_mpi_comms_SOURCES = test/mpi/comms.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_comms_CFLAGS = $(cg_cflags)
test_mpi_comms_LDFLAGS = $(cg_ldflags)
test_mpi_comms_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/threads
test_mpi_threads_SOURCES = test/mpi/threads.c test/mpi/every.h test/mpi/every_calls.c test/mpi/every_large.c test/mpi/mpi_test.c \
	test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_threads_CFLAGS = $(cg_cflags)
test_mpi_threads_LDFLAGS = $(cg_ldflags)
test_mpi_threads_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/errors
test_mpi_errors_SOURCES = test/mpi/errors.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_errors_CFLAGS = $(cg_cflags)
test_mpi_errors_LDFLAGS = $(cg_ldflags)
test_mpi_errors_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/bits
test_mpi_bits_SOURCES = test/mpi/bits.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_bits_CFLAGS = $(cg_cflags)
test_mpi_bits_LDFLAGS = $(cg_ldflags)
test_mpi_bits_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/large
test_mpi_large_SOURCES = test/mpi/large.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_large_CFLAGS = $(cg_cflags)
test_mpi_large_LDFLAGS = $(cg_ldflags)
test_mpi_large_LDADD = $(MPI_LIBS) -lpthread -lm

check_PROGRAMS += test/mpi/sessions
test_mpi_sessions_SOURCES = test/mpi/sessions.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_sessions_CFLAGS = $(cg_cflags)
test_mpi_sessions_LDFLAGS = $(cg_ldflags)
test_mpi_sessions_LDADD = $(MPI_LIBS) -lpthread -lm

# The component with a GPU layer that stands in front of the library's own.
check_LTLIBRARIES += test/mpi/fake/mca_coll_gpu.la
test_mpi_fake_mca_coll_gpu_la_SOURCES = test/mpi/fake_memory.c test/mpi/fake_memory.h test/engine/fake_gpu.h $(mca_coll_gpu_la_SOURCES)
test_mpi_fake_mca_coll_gpu_la_CPPFLAGS = $(mca_coll_gpu_la_CPPFLAGS)
test_mpi_fake_mca_coll_gpu_la_CFLAGS = $(mca_coll_gpu_la_CFLAGS)
test_mpi_fake_mca_coll_gpu_la_LDFLAGS = $(mca_coll_gpu_la_LDFLAGS) -Wl,-z,muldefs -rpath /nowhere
test_mpi_fake_mca_coll_gpu_la_LIBADD = $(mca_coll_gpu_la_LIBADD)
check_PROGRAMS += test/mpi/again
test_mpi_again_SOURCES = test/mpi/again.c test/mpi/mpi_test.c test/mpi/mpi_test.h test/mpi/fake_memory.h
test_mpi_again_CFLAGS = $(cg_cflags)
test_mpi_again_LDFLAGS = $(cg_ldflags)
test_mpi_again_LDADD = $(MPI_LIBS) -lpthread -lm
