bin_PROGRAMS +=

# What benchmarks and MPI tests share: test data with its reference, buffers of every kind, the component's counters.
cg_bench_cppflags = $(AM_CPPFLAGS)
cg_bench_libs = libcgbench.la $(MPI_LIBS) -lm
if HAVE_CUDA
cg_bench_cppflags += $(CUDA_CPPFLAGS) -DHAVE_CUDA
cg_bench_libs += $(CUDA_LIBS)
endif

noinst_LTLIBRARIES += libcgbench.la
libcgbench_la_SOURCES = bench/buffer.c bench/buffer.h bench/data.c bench/data.h bench/watch.c bench/watch.h
libcgbench_la_CPPFLAGS = $(cg_bench_cppflags)
libcgbench_la_CFLAGS = $(cg_cflags)
libcgbench_la_LDFLAGS = $(cg_ldflags)

bin_PROGRAMS += coll_gpu_perf
coll_gpu_perf_SOURCES = bench/coll_gpu_perf.c bench/options.c bench/options.h bench/setup.c bench/setup.h \
	bench/after.c bench/after.h bench/calls.c bench/calls.h
coll_gpu_perf_CPPFLAGS = $(cg_bench_cppflags)
coll_gpu_perf_CFLAGS = $(cg_cflags)
coll_gpu_perf_LDFLAGS = $(cg_ldflags)
coll_gpu_perf_LDADD = $(cg_bench_libs)
if HAVE_CUDA
noinst_LTLIBRARIES += libcgwork.la
libcgwork_la_SOURCES = bench/work.cu bench/work.h
libcgwork_la_LDFLAGS = $(cg_ldflags)
coll_gpu_perf_LDADD += libcgwork.la $(CUDA_LIBS)
else
EXTRA_DIST += bench/work.cu bench/work.h
endif

bin_PROGRAMS += coll_gpu_sim
coll_gpu_sim_SOURCES = bench/coll_gpu_sim.c
coll_gpu_sim_CFLAGS = $(cg_cflags)
coll_gpu_sim_LDFLAGS = $(cg_ldflags)
coll_gpu_sim_LDADD = libcg.la $(cg_libs)

EXTRA_DIST += bench/compare bench/sweep bench/tune bench/job.py bench/tables/2026-11-30-host.txt bench/figures.py bench/choices.py bench/targets.py bench/plot
EXTRA_DIST += bench/results

# The scripts, on OSU's recorded output.
EXTRA_DIST += test/unit/tune.py test/unit/fake_node.py test/unit/sweep.py test/unit/plot.py test/unit/fake_tree.py test/unit/osu/osu_allreduce \
	test/unit/osu/osu_iallreduce test/unit/osu/osu_xccl_allreduce
TESTS += test/unit/tune.py test/unit/sweep.py test/unit/plot.py

# How much of what transport and memcpy allow an allreduce over the network reaches.
bin_PROGRAMS += coll_gpu_pipeline
coll_gpu_pipeline_SOURCES = bench/pipeline.c
coll_gpu_pipeline_CFLAGS = $(cg_cflags)
coll_gpu_pipeline_LDFLAGS = $(cg_ldflags)
coll_gpu_pipeline_LDADD = libcg.la $(cg_libs) $(MPI_LIBS)
