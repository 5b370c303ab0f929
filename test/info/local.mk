EXTRA_DIST += test/info/info.py
TESTS += test/info/info.py
check_LTLIBRARIES += test/info/libnvidia-ml.la
test_info_libnvidia_ml_la_SOURCES = test/info/fake_nvml.c
test_info_libnvidia_ml_la_CFLAGS = $(cg_cflags)
test_info_libnvidia_ml_la_LDFLAGS = -version-info 1 -rpath /nowhere
