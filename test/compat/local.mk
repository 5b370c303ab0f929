compat_tests = test/compat/ompi5.sh test/compat/ompi6.sh test/compat/run5.sh test/compat/run6.sh
EXTRA_DIST += $(compat_tests) test/compat/headers.sh test/compat/packages.sh test/compat/run.sh test/compat/jobs.sh
TESTS += $(compat_tests)
# They use packages that the others have fetched.
test/compat/run5.log: test/compat/ompi5.log
test/compat/run6.log: test/compat/ompi6.log
