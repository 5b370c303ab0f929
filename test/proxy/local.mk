cg_proxy_tests = test/proxy/loop test/proxy/transports test/proxy/proxy test/proxy/faults
check_PROGRAMS += $(cg_proxy_tests)
TESTS += $(cg_proxy_tests)
test_proxy_loop_SOURCES = test/proxy/loop.c test/proxy/conformance.c test/proxy/conformance.h
test_proxy_transports_SOURCES = test/proxy/transports.c test/proxy/conformance.c test/proxy/conformance.h
test_proxy_proxy_SOURCES = test/proxy/proxy.c test/proxy/ends.c test/proxy/ends.h
test_proxy_faults_SOURCES = test/proxy/faults.c test/proxy/ends.c test/proxy/ends.h
if HAVE_TSAN
check_PROGRAMS += test/proxy/threads
TESTS += test/proxy/threads
test_proxy_threads_SOURCES = test/proxy/threads.c test/proxy/ends.c test/proxy/ends.h
test_proxy_threads_CFLAGS = $(cg_tsan_flags)
test_proxy_threads_LDFLAGS = $(cg_tsan_flags)
test_proxy_threads_LDADD = libcg_tsan.la -lpthread $(CMOCKA_LIBS)
endif
