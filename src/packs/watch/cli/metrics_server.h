/* The newest metrics for Prometheus, answered by a thread of its own while traces are read. */
#pragma once

#include "rankscope/status.h"

typedef struct rs_metrics_server rs_metrics_server;

/* Listens on a port of 127.0.0.1, 0 for any; *taken is the one. */
rs_status rs_metrics_serve(unsigned port, unsigned *taken, rs_metrics_server **out, rs_error *err);
/* What is answered from now on: a copy of the text. False when out of memory; the old text stays. */
bool rs_metrics_publish(rs_metrics_server *server, const char *text, size_t n);
void rs_metrics_stop(rs_metrics_server *server); /* NULL is allowed */
