cg_sim_world = test/sim/world.c test/sim/world.h test/sim/calls.c test/sim/shape.c test/sim/shape.h test/elements.h

# The simulator runs under AddressSanitizer and UndefinedBehaviorSanitizer wherever the compiler has them.
check_PROGRAMS += test/sim/sim test/sim/exhaustive test/sim/models
TESTS += test/sim/sim test/sim/exhaustive test/sim/models
test_sim_sim_SOURCES = test/sim/sim.c test/sim/random.c $(cg_sim_world)
test_sim_exhaustive_SOURCES = test/sim/exhaustive.c $(cg_sim_world)
test_sim_models_SOURCES = test/sim/models.c
if HAVE_ASAN
test_sim_sim_CFLAGS = $(cg_asan_flags)
test_sim_sim_LDFLAGS = $(cg_asan_flags)
test_sim_sim_LDADD = libcg_asan.la $(cg_asan_libs)
endif

if HAVE_TSAN
check_PROGRAMS += test/sim/threads
TESTS += test/sim/threads
test_sim_threads_SOURCES = test/sim/threads.c test/sim/random.c $(cg_sim_world)
test_sim_threads_CFLAGS = $(cg_tsan_flags)
test_sim_threads_LDFLAGS = $(cg_tsan_flags)
# Without UCX's libraries: their hook on madvise runs when a thread has left ThreadSanitizer, which crashes.
test_sim_threads_LDADD = libcg_tsan.la -lpthread
endif
