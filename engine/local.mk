cg_sources += engine/engine.h engine/internal.h engine/soon.h engine/place.c engine/proc.c engine/group.c engine/boot.c engine/boot.h \
	engine/talk.c engine/call.c engine/build.c engine/op.c engine/again.c engine/packing.c engine/exec.c engine/fast.c \
	engine/fast_shape.c engine/local.c engine/report.c
