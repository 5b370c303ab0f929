check_PROGRAMS +=
TESTS +=
