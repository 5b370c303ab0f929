cg_sources += core/core.c core/params.c core/log.h core/params.def core/params.h core/port.h core/status.h
