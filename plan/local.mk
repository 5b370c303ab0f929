cg_sources += plan/plan.h
