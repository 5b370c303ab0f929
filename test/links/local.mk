cg_links_tests = test/links/links_arena test/links/links_fdpass test/links/links_pool test/links/links_refuse \
	test/links/links_faults test/links/links_fork
check_PROGRAMS += $(cg_links_tests)
TESTS += $(cg_links_tests)
cg_side_sources = test/links/side.c test/links/side.h
test_links_links_arena_SOURCES = test/links/links_arena.c $(cg_side_sources)
test_links_links_fdpass_SOURCES = test/links/links_fdpass.c $(cg_side_sources)
test_links_links_pool_SOURCES = test/links/links_pool.c $(cg_side_sources)
test_links_links_refuse_SOURCES = test/links/links_refuse.c $(cg_side_sources)
test_links_links_faults_SOURCES = test/links/links_faults.c $(cg_side_sources)
test_links_links_fork_SOURCES = test/links/links_fork.c $(cg_side_sources)
