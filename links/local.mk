cg_sources += links/links.c links/links.h links/internal.h links/arena.c links/arena.h links/fdpass.c links/fdpass.h \
	links/peers.c links/pool.c links/shm.c links/net.c links/fifo.c
