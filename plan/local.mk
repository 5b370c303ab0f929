cg_sources += plan/plan.h plan/build.h plan/build.c plan/table.c plan/count.c plan/copy.c plan/exchange.c plan/meet.c \
	plan/doubling.c plan/ring.c plan/chain.c plan/allgather.c plan/arms.c plan/linear.c plan/pairwise.c \
	plan/reduce_scatter.c plan/owners.c plan/direct.c plan/tree.c plan/spec.h plan/spec.c plan/proof.h plan/proof.c \
	plan/check.c plan/prove.c plan/symbolic.h plan/nodes.h plan/nodes.c plan/rail.h plan/rail.c \
	plan/rails.c plan/grid.c plan/rail_blocks.c plan/rail_tree.c plan/rail_scan.c plan/rail_doubling.c plan/rail_ring.c \
	plan/rail_root.c plan/predict.h plan/predict.c plan/machine.c plan/symbolic.c

# The table of choices.
cg_sources += plan/choose.h plan/choose.c plan/parse.c
EXTRA_DIST += plan/table.txt plan/table.awk
plan/libcg_la-choose.lo plan/libcg_asan_la-choose.lo plan/libcg_tsan_la-choose.lo: plan/builtin.h
CLEANFILES += plan/builtin.h
plan/builtin.h: plan/table.txt plan/table.awk
	$(AM_V_GEN)$(MKDIR_P) plan && awk -f $(top_srcdir)/plan/table.awk $(top_srcdir)/plan/table.txt >$@.new && \
	    mv -f $@.new $@
