lint_scripts = test/lint/includes.sh test/lint/length.sh test/lint/tracked.sh test/lint/symbols.sh test/lint/catches.sh
EXTRA_DIST += $(lint_scripts)
check_PROGRAMS += test/lint/load
TESTS += $(lint_scripts) test/lint/load
test_lint_load_SOURCES = test/lint/load.c
test_lint_load_CFLAGS = $(cg_cflags)
test_lint_load_LDFLAGS = $(cg_ldflags)
test_lint_load_LDADD = $(MPI_LIBS)
