mca_coll_gpu_la_SOURCES += ompi_coll_gpu/boot.c ompi_coll_gpu/calls.c ompi_coll_gpu/cards.c ompi_coll_gpu/coll_gpu.h \
	ompi_coll_gpu/compat.h ompi_coll_gpu/component.c ompi_coll_gpu/entries.c ompi_coll_gpu/entries.h \
	ompi_coll_gpu/errors.c ompi_coll_gpu/flatten.c ompi_coll_gpu/flatten.h ompi_coll_gpu/module.c \
	ompi_coll_gpu/memo.c ompi_coll_gpu/native.c ompi_coll_gpu/ops.c ompi_coll_gpu/pack.c ompi_coll_gpu/persistent.c \
	ompi_coll_gpu/pieces.c ompi_coll_gpu/pool.c ompi_coll_gpu/request.c ompi_coll_gpu/settings.c \
	ompi_coll_gpu/sides.c ompi_coll_gpu/stage.c ompi_coll_gpu/topo.c ompi_coll_gpu/typemap.c
EXTRA_DIST += ompi_coll_gpu/shims
