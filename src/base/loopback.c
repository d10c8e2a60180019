#include "base/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system.h"

#define BACKLOG 32

static rs_status cannot_listen(unsigned port, const char *option, int fd, rs_error *err)
{
    int why = errno;
    if (fd >= 0) close(fd);
    if (why == EADDRINUSE)
        return rs_fail(
            err, RS_ERR_IO,
            "port %u of 127.0.0.1 is taken by another program; end that one or choose another: --%s N, "
            "--%s 0 for any",
            port, option, option);
    if (why == EACCES)
        return rs_fail(err, RS_ERR_IO,
                       "port %u needs more rights than this user has; choose one above 1023: --%s N", port,
                       option);
    return rs_fail(err, RS_ERR_IO, "cannot listen on port %u of 127.0.0.1: %s", port, strerror(why));
}

rs_status rs_loopback_listen(unsigned wanted, const char *option, int *out, unsigned *port, rs_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)wanted)};
    socklen_t n = sizeof address;
    int on = 1, fd = rs_system_socket(AF_INET, SOCK_STREAM, 0, true);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* a port that an ended program used a moment ago can be used again; one that is listened on cannot */
    /* a small answer on a connection that is kept goes at once: those who are accepted have that from here */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &n) != 0)
        return cannot_listen(wanted, option, fd, err);
    *out = fd;
    *port = ntohs(address.sin_port);
    return RS_OK;
}
