bin_PROGRAMS +=
