cg_proxy_tests = test/proxy/loop test/proxy/transports test/proxy/proxy test/proxy/faults \
	test/proxy/example
check_PROGRAMS += $(cg_proxy_tests)
TESTS += $(cg_proxy_tests)
cg_conformance = test/proxy/conformance.c test/proxy/conformance_memory.c test/proxy/conformance.h \
	test/proxy/pretend.c
test_proxy_loop_SOURCES = test/proxy/loop.c $(cg_conformance)
test_proxy_transports_SOURCES = test/proxy/transports.c $(cg_conformance)
test_proxy_example_SOURCES = test/proxy/example.c $(cg_conformance)
nodist_test_proxy_example_SOURCES = test/proxy/net_example.c
test/proxy/net_example.c: $(top_srcdir)/docs/net-interface.md
	$(AM_V_GEN)$(MKDIR_P) $(@D) && awk '/^```/ { on = $$0 == "```c"; next } on' $< >$@
CLEANFILES += test/proxy/net_example.c
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
