cg_sources += plan/plan.h plan/build.h plan/build.c plan/table.c plan/count.c plan/copy.c plan/exchange.c plan/meet.c \
	plan/doubling.c plan/ring.c plan/chain.c plan/allgather.c plan/arms.c plan/linear.c plan/pairwise.c \
	plan/reduce_scatter.c plan/owners.c plan/direct.c plan/tree.c plan/spec.h plan/spec.c plan/proof.h plan/proof.c plan/check.c plan/prove.c plan/symbolic.h \
	plan/symbolic.c
