/* Asking NCCL's RAS: a TCP connection, text commands, and an answer until the other side closes. Commands that would change
 * the job are not sent. NCCL before 2.28 has no JSON and answers in text. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "flight/cli/flight.h"

#define PORT "28028"
#define MAX_ANSWER ((size_t)512 << 20)

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until the socket is ready or the deadline has come. */
static bool wait_for(int fd, short events, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd p = {.fd = fd, .events = events};
        int n = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (n >= 0 || errno != EINTR) return n > 0;
    }
}

static int connect_to(const char *host, const char *port, int64_t deadline)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int fd = -1;
    if (getaddrinfo(host, port, &hints, &list) != 0) return -1;
    for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        int error = 0;
        socklen_t size = sizeof error;
        fd = rs_system_socket(a->ai_family, a->ai_socktype, a->ai_protocol, false);
        if (fd < 0) continue;
        bool good = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
                    (errno == EINPROGRESS && wait_for(fd, POLLOUT, deadline) &&
                     getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
        if (good) break;
        close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

static bool send_all(int fd, const char *text, int64_t deadline)
{
    for (size_t n = strlen(text), at = 0; at < n;) {
        ssize_t sent = send(fd, text + at, n - at, MSG_NOSIGNAL);
        if (sent > 0)
            at += (size_t)sent;
        else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, deadline))
            return false;
    }
    return true;
}

/* Reads until the other side closes, or to the end of a line. */
static bool receive(int fd, rs_fetch *out, bool line, int64_t deadline)
{
    char chunk[16384];
    for (;;) {
        ssize_t n = recv(fd, chunk, line ? 1 : sizeof chunk, 0);
        if (n == 0) return !line;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!wait_for(fd, POLLIN, deadline)) return false;
            continue;
        }
        if (n < 0 || out->n + (size_t)n > MAX_ANSWER ||
            !rs_grow((void **)&out->body, &out->capacity, out->n + (size_t)n + 1, 1))
            return false;
        memcpy(out->body + out->n, chunk, (size_t)n);
        out->n += (size_t)n;
        if (line && chunk[0] == '\n') return true;
        if (line && out->n > 4096) return false;
    }
}

/* One command whose answer is "OK". */
static bool command(int fd, const char *text, rs_fetch *out, int64_t deadline)
{
    out->n = 0;
    bool good = send_all(fd, text, deadline) && receive(fd, out, true, deadline) && out->n == 3 &&
                memcmp(out->body, "OK\n", 3) == 0;
    out->n = 0;
    return good;
}

static bool ask(const char *host, const char *port, bool json, int64_t timeout_s, rs_fetch *out)
{
    char limit[48];
    int64_t deadline = now_ms() + (timeout_s + 5) * 1000; /* RAS itself waits as long for the ranks */
    int fd = connect_to(host, port, deadline);
    snprintf(limit, sizeof limit, "TIMEOUT %lld\n", (long long)timeout_s);
    bool good = fd >= 0 && command(fd, limit, out, deadline) &&
                (!json || command(fd, "SET FORMAT json\n", out, deadline)) &&
                send_all(fd, "VERBOSE STATUS\n", deadline) && receive(fd, out, false, deadline) && out->n > 0;
    if (fd >= 0) close(fd);
    return good;
}

static rs_status ask_once(const char *address, int64_t timeout_s, rs_fetch *out, rs_error *err)
{
    const char *colon = strrchr(address, ':');
    bool bracket = address[0] == '[',
         has_port = colon && (bracket ? colon[-1] == ']' : strchr(address, ':') == colon);
    size_t n = has_port ? (size_t)(colon - address) : strlen(address);
    RS_LOCAL char *host = bracket && n > 2 ? rs_strndup(address + 1, n - 2) : rs_strndup(address, n);
    if (!host) return rs_fail_nomem(err, "an address");
    const char *port = has_port && colon[1] ? colon + 1 : PORT;
    if (ask(host, port, true, timeout_s, out) || ask(host, port, false, timeout_s, out)) return RS_OK;
    return rs_fail(
        err, RS_ERR_IO,
        "NCCL RAS at %s:%s gives no report within %lld s: is the job on that host, with NCCL_RAS_ENABLE=1 and this "
        "NCCL_RAS_ADDR?",
        host, port, (long long)timeout_s);
}

rs_status rs_flight_ask_ras(const rs_request *r, rs_fetch *out, rs_error *err)
{
    return ask_once(rs_request_text(r, "ras"), rs_request_int(r, "timeout"), out, err);
}
