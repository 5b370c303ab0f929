cg_sources += kernels/arith.h kernels/flat.h kernels/interp.h kernels/ring.h kernels/step.h kernels/types.def \
	kernels/host/host.h kernels/host/stream.h kernels/cuda/gpu.h \
	kernels/cuda/fast.h kernels/cuda/survey.h kernels/cuda/survey.c kernels/cuda/current.c \
	kernels/host/flat.c kernels/host/names.c kernels/host/reduce.c kernels/host/reduce_type.h kernels/host/step.c
cg_sources += kernels/protocols.def kernels/cuda/lead.h kernels/cuda/lead.c kernels/cuda/share.h
cg_cuda_sources += kernels/cuda/kernel.cu kernels/cuda/ctl.h kernels/cuda/host.h kernels/cuda/words.cuh \
	kernels/cuda/move.cuh kernels/cuda/access.cuh kernels/cuda/narrow.cuh kernels/cuda/reduce.cuh kernels/cuda/poll.cuh kernels/cuda/work.cuh \
	kernels/cuda/detect.c kernels/cuda/open.c kernels/cuda/engine.c kernels/cuda/copy.c kernels/cuda/fifo.c \
	kernels/cuda/pack_kernel.cu kernels/cuda/pack.h kernels/cuda/pack.c \
	kernels/cuda/local_kernel.cu kernels/cuda/local.h kernels/cuda/local.c \
	kernels/cuda/fast_kernel.cu kernels/cuda/fast_move.cu kernels/cuda/fast_move.cuh kernels/cuda/fast_cmd.cuh \
	kernels/cuda/fast_flow.h kernels/cuda/fast_ctl.h kernels/cuda/fast_host.h kernels/cuda/fast_mem.cuh \
	kernels/cuda/fast_reduce.cuh kernels/cuda/fast_ll.cuh kernels/cuda/fast_ll128.cuh kernels/cuda/fast_two_shot.cuh \
	kernels/cuda/fast_bulk.cuh kernels/cuda/fast_host.c kernels/cuda/fast_window.c kernels/cuda/fast_slab.c \
	kernels/cuda/fast_open.c kernels/cuda/fast_post.c kernels/cuda/fast_copy.c kernels/cuda/fast_copy_open.c \
	kernels/cuda/fast_copy.h kernels/cuda/fast_copy_part.h kernels/cuda/fast_copy_kernel.cu \
	kernels/cuda/share.c kernels/cuda/fast_lead.c kernels/cuda/fast_lead.h kernels/cuda/fast_lead_kernel.cu \
	kernels/cuda/fast_packs.cuh kernels/cuda/fast_narrow.cuh
cg_nocuda_sources += kernels/cuda/gpu_none.c kernels/cuda/fast_none.c
