cg_sources += proxy/net.h proxy/proxy.h proxy/machine.h proxy/machine.c proxy/proxy.c proxy/transports.c \
	proxy/net_loop.c
cg_net_sources += proxy/net_ucx.h proxy/net_ucx.c proxy/net_ucx_msg.c
