cg_sources += proxy/net.h proxy/proxy.h
cg_net_sources +=
