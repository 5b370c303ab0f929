cg_sources += kernels/interp.h kernels/ring.h kernels/step.h kernels/types.def kernels/host/host.h kernels/cuda/gpu.h
cg_cuda_sources +=
cg_nocuda_sources +=
