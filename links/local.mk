cg_sources += links/links.h
