cg_proxy_tests = test/proxy/loop test/proxy/transports test/proxy/proxy test/proxy/faults \
	test/proxy/example test/proxy/every_step test/proxy/cache test/proxy/fifo
check_PROGRAMS += $(cg_proxy_tests)
TESTS += $(cg_proxy_tests)
cg_reach = test/proxy/reach.c test/proxy/reach.h
cg_conformance = test/proxy/conformance.c test/proxy/conformance_memory.c test/proxy/conformance.h \
	test/proxy/pretend.c
test_proxy_loop_SOURCES = test/proxy/loop.c $(cg_conformance)
test_proxy_transports_SOURCES = test/proxy/transports.c $(cg_conformance) $(cg_reach)
test_proxy_cache_SOURCES = test/proxy/cache.c
test_proxy_fifo_SOURCES = test/proxy/fifo.c test/proxy/ends.c test/proxy/ends.h
test_proxy_example_SOURCES = test/proxy/example.c $(cg_conformance)
nodist_test_proxy_example_SOURCES = test/proxy/net_example.c
test/proxy/net_example.c: $(top_srcdir)/docs/net-interface.md
	$(AM_V_GEN)$(MKDIR_P) $(@D) && awk '/^```/ { on = $$0 == "```c"; next } on' $< >$@
CLEANFILES += test/proxy/net_example.c
test_proxy_proxy_SOURCES = test/proxy/proxy.c test/proxy/ends.c test/proxy/ends.h $(cg_reach)
test_proxy_faults_SOURCES = test/proxy/faults.c test/proxy/ends.c test/proxy/ends.h
test_proxy_every_step_SOURCES = test/proxy/every_step.c test/proxy/ends.c test/proxy/ends.h $(cg_reach)
test_proxy_every_step_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc,--wrap=malloc
EXTRA_DIST += test/proxy/no_sys.sh
if HAVE_UCX
TESTS += test/proxy/no_sys.sh
check_PROGRAMS += test/proxy/ucx_faults
TESTS += test/proxy/ucx_faults
test_proxy_ucx_faults_SOURCES = test/proxy/ucx_faults.c
test_proxy_ucx_faults_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=ucp_config_read,--wrap=ucp_config_modify,--wrap=ucp_init_version,--wrap=ucp_worker_create \
	-Wl,--wrap=ucp_worker_query,--wrap=ucp_context_query,--wrap=ucp_ep_create,--wrap=ucp_mem_map \
	-Wl,--wrap=ucp_tag_send_nbx,--wrap=ucp_tag_recv_nbx,--wrap=getifaddrs
endif
if HAVE_TSAN
check_PROGRAMS += test/proxy/threads
TESTS += test/proxy/threads
test_proxy_threads_SOURCES = test/proxy/threads.c test/proxy/ends.c test/proxy/ends.h
test_proxy_threads_CFLAGS = $(cg_tsan_flags)
test_proxy_threads_LDFLAGS = $(cg_tsan_flags)
test_proxy_threads_LDADD = libcg_tsan.la -lpthread $(CMOCKA_LIBS)
endif
