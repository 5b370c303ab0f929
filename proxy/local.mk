cg_sources += proxy/net.h proxy/proxy.h proxy/machine.h proxy/machine.c proxy/proxy.c proxy/fifo.c proxy/cache.h proxy/cache.c proxy/transports.c \
	proxy/net_loop.h proxy/net_loop.c proxy/net_loop_msg.c
cg_net_sources += proxy/net_ucx.h proxy/net_ucx.c proxy/net_ucx_msg.c
