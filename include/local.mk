include_HEADERS += include/coll_gpu.h include/coll_gpu_floats.h
