bin_PROGRAMS += coll_gpu_info
coll_gpu_info_SOURCES = info/coll_gpu_info.c info/info.c info/info.h info/text.c info/json.c info/svg.c
coll_gpu_info_CPPFLAGS = $(AM_CPPFLAGS) -DCG_VERSION='"$(PACKAGE_VERSION)"'
coll_gpu_info_CFLAGS = $(cg_cflags)
coll_gpu_info_LDFLAGS = $(cg_ldflags)
coll_gpu_info_LDADD = libcg.la $(cg_libs)
