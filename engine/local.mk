cg_sources += engine/engine.h
