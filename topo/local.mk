cg_sources +=
