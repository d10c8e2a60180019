/* Sockets on 127.0.0.1. */
#pragma once

#include "rankscope/status.h"

/* Takes a port of the loopback, 0 any; *port is the one taken. No client is answered before the caller accepts, so a port that is in
 * use shows before anything is read. RS_ERR_IO names the port and the remedy: another one by `option`, without its dashes. The caller
 * closes *socket. */
rs_status rs_loopback_listen(unsigned wanted, const char *option, int *socket, unsigned *port, rs_error *err);
