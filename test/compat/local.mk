EXTRA_DIST += test/compat/headers.sh test/compat/ompi5.sh test/compat/ompi6.sh
TESTS += test/compat/ompi5.sh test/compat/ompi6.sh
