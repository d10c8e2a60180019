/* Which ranks ran on one host. */
#ifndef RS_CLOCK_HOSTS_H
#define RS_CLOCK_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/* The host in a name as PyTorch's profiler gives it, HOST_PID.TIME.pt.trace.json: a piece of path. false when
 * the name is not of that form. */
bool rs_host_in_name(const char *path, const char **host, size_t *n);

#endif
