mca_coll_gpu_la_SOURCES +=
EXTRA_DIST += ompi_coll_gpu/shims
