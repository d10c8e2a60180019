#include "view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

#define BACKLOG 32

static rs_status cannot_listen(unsigned port, int fd, rs_error *err)
{
    int why = errno;
    if (fd >= 0) close(fd);
    if (why == EADDRINUSE)
        return rs_fail(
            err, RS_ERR_IO,
            "port %u of 127.0.0.1 is taken by another program; end that one or choose another: --port N, "
            "--port 0 for any",
            port);
    if (why == EACCES)
        return rs_fail(err, RS_ERR_IO,
                       "port %u needs more rights than this user has; choose one above 1023: --port N", port);
    return rs_fail(err, RS_ERR_IO, "cannot listen on port %u of 127.0.0.1: %s", port, strerror(why));
}

rs_status rs_view_listen(unsigned wanted, int *out, unsigned *port, rs_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)wanted)};
    socklen_t n = sizeof address;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* a port that an ended program used a moment ago can be used again; one that is listened on cannot */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &n) != 0)
        return cannot_listen(wanted, fd, err);
    *out = fd;
    *port = ntohs(address.sin_port);
    return RS_OK;
}

#ifdef RS_HAVE_MICROHTTPD
#include <microhttpd.h>
#include <stdio.h>

#define MAX_CONNECTIONS 64
#define MAX_WAITING 16 /* of them, whose requests are not complete */
#define MAX_HEADERS ((size_t)16 << 10)
#define IDLE_SECONDS 30u

/* A client. Everybody on the machine may connect and send a request byte by byte: of those who are not done the
 * one that takes longest makes room for the next one. */
typedef struct client {
    struct client *before, *after; /* in the order in which they came, while they wait */
    int fd;
    bool waits;
} client;

/* The daemon has one thread, which makes all calls. */
struct rs_view_server {
    struct MHD_Daemon *daemon;
    const rs_view_routes *routes;
    client *first, *last; /* that wait */
    size_t n_waiting;
};

static void stop_waiting(rs_view_server *server, client *c)
{
    if (!c->waits) return;
    *(c->before ? &c->before->after : &server->first) = c->after;
    *(c->after ? &c->after->before : &server->last) = c->before;
    c->waits = false;
    server->n_waiting--;
}

static void start_waiting(rs_view_server *server, client *c)
{
    if (c->waits) return;
    c->waits = true;
    c->after = NULL;
    c->before = server->last;
    *(server->last ? &server->last->after : &server->first) = c;
    server->last = c;
    if (++server->n_waiting <= MAX_WAITING) return;
    client *oldest = server->first;
    stop_waiting(server, oldest);
    shutdown(oldest->fd, SHUT_RDWR); /* the daemon sees that the client is gone */
}

static void on_connection(void *context, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode code)
{
    rs_view_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        client *c = info ? rs_calloc(1, sizeof *c) : NULL;
        *own = c;
        if (!c) return;
        c->fd = info->connect_fd;
        start_waiting(server, c);
    } else if (*own) {
        stop_waiting(server, *own);
        rs_free(*own);
        *own = NULL;
    }
}

static client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* An answer has gone: the connection may bring another request. */
static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    client *c = client_of(connection);
    (void)state;
    if (c && code == MHD_REQUEST_TERMINATED_COMPLETED_OK) start_waiting(context, c);
}

bool rs_view_can_serve(void)
{
    return true;
}

static bool add_headers(struct MHD_Response *response, const rs_view_server *server,
                        const rs_view_answer *answer)
{
    const rs_view_resource *r = answer->resource;
    char disposition[200];
    bool ok = MHD_add_response_header(response, "Content-Type", r ? r->type : "text/plain; charset=utf-8") ==
                  MHD_YES &&
              MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
              MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
              MHD_add_response_header(response, "Referrer-Policy", "no-referrer") == MHD_YES &&
              MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin") == MHD_YES &&
              MHD_add_response_header(
                  response, "Content-Security-Policy",
                  r && r->policy ? r->policy : "default-src 'none'; frame-ancestors 'none'") == MHD_YES &&
              MHD_add_response_header(response, "Vary", "Origin") == MHD_YES;
    if (ok && answer->allow_ui)
        ok = MHD_add_response_header(response, "Access-Control-Allow-Origin", server->routes->ui_origin) ==
             MHD_YES;
    if (ok && answer->status == 405) ok = MHD_add_response_header(response, "Allow", "GET, HEAD") == MHD_YES;
    if (ok && r && r->save_as) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", r->save_as);
        ok = MHD_add_response_header(response, "Content-Disposition", disposition) == MHD_YES;
    }
    return ok;
}

static enum MHD_Result answer_request(void *context, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **state)
{
    rs_view_server *server = context;
    client *c = client_of(connection);
    (void)version;
    (void)upload;
    (void)upload_size;
    (void)state;
    if (c) stop_waiting(server, c);
    rs_view_request request = {
        .method = method,
        .path = url,
        .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
        .origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
    };
    rs_view_answer answer = rs_view_route(server->routes, &request);
    const void *bytes = answer.resource ? answer.resource->bytes : answer.message;
    size_t n = answer.resource ? answer.resource->n : strlen(answer.message);
    /* MHD only reads from a persistent buffer */
    struct MHD_Response *response = MHD_create_response_from_buffer(n, (void *)bytes, MHD_RESPMEM_PERSISTENT);
    if (!response) return MHD_NO;
    enum MHD_Result result = add_headers(response, server, &answer)
                                 ? MHD_queue_response(connection, answer.status, response)
                                 : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

/* Paths are compared as they came: none of ours has anything to decode. */
static size_t as_it_came(void *context, struct MHD_Connection *connection, char *path)
{
    (void)context;
    (void)connection;
    return strlen(path);
}

rs_status rs_view_serve(int socket, const rs_view_routes *routes, rs_view_server **out, rs_error *err)
{
    rs_view_server *server = rs_calloc(1, sizeof *server);
    if (!server) {
        close(socket);
        return rs_fail_nomem(err, "the server");
    }
    server->routes = routes;
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL, NULL, answer_request, server,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MAX_HEADERS,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        server, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, as_it_came, NULL,
        MHD_OPTION_END);
    if (!server->daemon) {
        close(socket);
        rs_free(server);
        return rs_fail(err, RS_ERR_IO, "the HTTP server does not start: %s", strerror(errno));
    }
    *out = server;
    return RS_OK;
}

void rs_view_stop(rs_view_server *server)
{
    if (!server) return;
    MHD_stop_daemon(server->daemon);
    rs_free(server);
}

#else

bool rs_view_can_serve(void)
{
    return false;
}

rs_status rs_view_serve(int socket, const rs_view_routes *routes, rs_view_server **out, rs_error *err)
{
    (void)routes;
    *out = NULL;
    close(socket);
    return rs_fail(
        err, RS_ERR_USAGE,
        "this program was built without the HTTP library libmicrohttpd (libmicrohttpd-dev); `rankscope "
        "fuse -o all.json.gz PATH...` writes a trace that https://ui.perfetto.dev opens");
}

void rs_view_stop(rs_view_server *server)
{
    (void)server;
}
#endif
