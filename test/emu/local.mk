# The fast executor without a GPU. A script: it compiles the kernels by the C++ compiler, which nothing else needs.
EXTRA_DIST += test/emu/fast.sh test/emu/local.sh test/emu/local.c test/emu/device.cc test/emu/device.h \
	test/emu/include/cuda.h test/emu/include/cuda_runtime_api.h
TESTS += test/emu/fast.sh test/emu/local.sh
