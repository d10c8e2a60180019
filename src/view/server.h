/* The viewer's HTTP server: on 127.0.0.1, in a thread of its own. */
#ifndef RS_VIEW_SERVER_H
#define RS_VIEW_SERVER_H

#include "view/windows.h"

/* Whether this build has an HTTP library (libevent). */
bool rs_view_can_serve(void);

typedef struct rs_view_server rs_view_server;

/* Answers on the socket, which the server takes over whatever the result, until it is stopped. routes is
 * borrowed until then. Connections are few, short of memory and time, and closed when idle. */
rs_status rs_view_serve(int socket, const rs_view_routes *routes, rs_view_server **out, rs_error *err);
void rs_view_stop(rs_view_server *server); /* NULL is allowed */

#endif
