#define _GNU_SOURCE
#include "view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/ascii.h"
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

#define MAX_CONNECTIONS 64
#define MAX_WAITING 16 /* of them, whose requests are not complete */
#define MAX_HEADERS 16384
#define MAX_HEAD 2048 /* of an answer */
#define IDLE_MS 30000
#define TICK_MS 1000

/* A client. Everybody on the machine may connect and send a request byte by byte: of those who are not done the
 * one that waits longest makes room for the next one. */
typedef struct client {
    int fd;               /* -1: the place is free */
    uint64_t turn;        /* when it began to wait for a request, counted in clients */
    int64_t moved_ms;     /* when bytes last came or went */
    bool answering, ends; /* ends: the connection closes behind the answer */
    char in[MAX_HEADERS + 1];
    size_t n_in;
    char head[MAX_HEAD];
    size_t n_head;
    const char *body; /* the routes', or a message */
    size_t n_body, sent;
} client;

/* One thread answers all of them. */
struct rs_view_server {
    int socket, wake[2]; /* a byte in wake[1] ends the thread */
    pthread_t thread;
    const rs_view_routes *routes;
    uint64_t turns;
    bool full; /* the system gave no socket: it is asked again at the next tick */
    client clients[MAX_CONNECTIONS];
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void drop(client *c)
{
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

typedef struct request {
    const char *method, *path, *host, *origin;
    bool bad, ends;
} request;

/* The value of a header, blanks around it cut off. It ends with a zero byte. */
static char *value_in(char *text)
{
    while (*text == ' ' || *text == '\t') text++;
    for (size_t n = strlen(text); n && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--) text[n - 1] = '\0';
    return text;
}

static void take_header(request *r, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon || colon == line || line[strcspn(line, " \t:")] != ':') {
        r->bad = true; /* also a line that goes on from the one before */
        return;
    }
    *colon = '\0';
    char *value = value_in(colon + 1);
    const char **once = strcasecmp(line, "Host") == 0     ? &r->host
                        : strcasecmp(line, "Origin") == 0 ? &r->origin
                                                          : NULL;
    if (once) {
        r->bad |= *once != NULL;
        *once = value;
    } else if (strcasecmp(line, "Connection") == 0) {
        r->ends |= strcasestr(value, "close") != NULL;
    } else if (strcasecmp(line, "Transfer-Encoding") == 0 ||
               (strcasecmp(line, "Content-Length") == 0 && strcmp(value, "0") != 0)) {
        r->ends = true; /* what follows is no request: nothing here takes a body */
    }
}

/* Cuts the head of a request, n bytes that end with an empty line, into its parts. */
static request read_request(char *text, size_t n)
{
    request r = {0};
    char *line = text, *end = text + n;
    r.bad = memchr(text, '\0', n) != NULL;
    for (bool first = true; !r.bad && line < end; first = false) {
        char *next = memmem(line, (size_t)(end - line), "\r\n", 2);
        if (!next || next == line) break;
        *next = '\0';
        if (first) {
            char *path = strchr(line, ' '), *version = path ? strchr(path + 1, ' ') : NULL;
            if (!version || path == line || path[1] != '/') {
                r.bad = true;
                break;
            }
            *path++ = '\0';
            *version++ = '\0';
            r.ends = strcmp(version, "HTTP/1.0") == 0;
            r.bad = !r.ends && strcmp(version, "HTTP/1.1") != 0;
            path[strcspn(path, "?#")] = '\0';
            r.method = line;
            r.path = path;
        } else {
            take_header(&r, line);
        }
        line = next + 2;
    }
    r.bad |= !r.method;
    return r;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static const char *reason_of(unsigned status)
{
    return status == 200   ? "OK"
           : status == 400 ? "Bad Request"
           : status == 403 ? "Forbidden"
           : status == 404 ? "Not Found"
           : status == 405 ? "Method Not Allowed"
                           : "Request Header Fields Too Large";
}

static void start_answer(const rs_view_server *server, client *c, const rs_view_answer *answer,
                         bool without_body)
{
    const rs_view_resource *r = answer->resource;
    c->body = r ? r->bytes : answer->message;
    c->n_body = r ? r->n : strlen(answer->message);
    int n = snprintf(c->head, sizeof c->head,
                     "HTTP/1.1 %u %s\r\nContent-Length: %zu\r\nConnection: %s\r\nContent-Type: %s\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                     "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
                     "Content-Security-Policy: %s\r\nVary: Origin\r\n%s%s%s%s%s%s%s\r\n",
                     answer->status, reason_of(answer->status), c->n_body, c->ends ? "close" : "keep-alive",
                     r ? r->type : "text/plain; charset=utf-8",
                     r && r->policy ? r->policy : "default-src 'none'; frame-ancestors 'none'",
                     answer->allow_ui ? "Access-Control-Allow-Origin: " : "",
                     answer->allow_ui ? server->routes->ui_origin : "", answer->allow_ui ? "\r\n" : "",
                     answer->status == 405 ? "Allow: GET, HEAD\r\n" : "",
                     r && r->save_as ? "Content-Disposition: attachment; filename=\"" : "",
                     r && r->save_as ? r->save_as : "", r && r->save_as ? "\"\r\n" : "");
    c->n_head = n > 0 && (size_t)n < sizeof c->head ? (size_t)n : 0;
    if (!c->n_head) c->ends = true; /* a policy that long is none of ours */
    if (without_body || !c->n_head) c->n_body = 0;
    c->sent = 0;
    c->answering = true;
}

/* A request that is complete is answered; what cannot become one ends the connection. false: more has to come. */
static bool answer_next(rs_view_server *server, client *c)
{
    char *end = memmem(c->in, c->n_in, "\r\n\r\n", 4);
    if (!end && c->n_in < MAX_HEADERS) return false;
    rs_view_answer answer = {.status = 431, .message = "The request is too long."};
    bool without_body = false;
    c->ends = true;
    if (end) {
        size_t n = (size_t)(end - c->in) + 4;
        request r = read_request(c->in, n);
        answer = (rs_view_answer){.status = 400, .message = "This is no request of HTTP/1.1."};
        if (!r.bad) {
            rs_view_request asked = {.method = r.method, .path = r.path, .host = r.host, .origin = r.origin};
            answer = rs_view_route(server->routes, &asked);
            without_body = strcmp(r.method, "HEAD") == 0;
            c->ends = r.ends;
        }
        memmove(c->in, c->in + n, c->n_in - n); /* the next request may be there already */
        c->n_in -= n;
    }
    start_answer(server, c, &answer, without_body);
    return true;
}

/* ---- connections --------------------------------------------------------------------------------------- */

/* Sends what there is room for. false: the client is gone. */
static bool send_some(client *c)
{
    while (c->sent < c->n_head + c->n_body) {
        const char *from = c->sent < c->n_head ? c->head + c->sent : c->body + (c->sent - c->n_head);
        size_t n = c->sent < c->n_head ? c->n_head - c->sent : c->n_head + c->n_body - c->sent;
        ssize_t sent = send(c->fd, from, n, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        c->sent += (size_t)sent;
    }
    c->answering = false;
    if (c->ends) shutdown(c->fd, SHUT_WR);
    return !c->ends;
}

/* Reads what has come, answers whole requests. false: the connection ends. */
static bool serve_client(rs_view_server *server, client *c, bool readable)
{
    bool over = false;
    if (readable && !c->answering) {
        ssize_t n = recv(c->fd, c->in + c->n_in, MAX_HEADERS - c->n_in, 0);
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return false;
        over = n == 0; /* it sends no more; what it has sent is answered */
        if (n > 0) c->n_in += (size_t)n;
    }
    for (;;) {
        if (c->answering && !send_some(c)) return false;
        if (c->answering) return true; /* there is no room now */
        if (!answer_next(server, c)) break;
        c->ends |= over;
    }
    if (!c->answering) c->turn = ++server->turns;
    return !over;
}

/* Of clients that are not done with their request the one that waits longest goes where there are too many. */
static void make_room(rs_view_server *server)
{
    client *oldest = NULL;
    size_t waiting = 0;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        client *c = &server->clients[i];
        if (c->fd < 0 || c->answering) continue;
        waiting++;
        if (!oldest || c->turn < oldest->turn) oldest = c;
    }
    if (waiting > MAX_WAITING && oldest) drop(oldest);
}

static void accept_clients(rs_view_server *server)
{
    for (;;) {
        client *place = NULL;
        for (size_t i = 0; i < MAX_CONNECTIONS && !place; i++)
            if (server->clients[i].fd < 0) place = &server->clients[i];
        if (!place) return;
        int fd = accept4(server->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            server->full = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED;
            return;
        }
        place->fd = fd;
        place->turn = ++server->turns;
        place->moved_ms = now_ms();
        place->answering = place->ends = false;
        place->n_in = 0;
        make_room(server);
    }
}

static void *run(void *context)
{
    rs_view_server *server = context;
    struct pollfd polled[MAX_CONNECTIONS + 2];
    for (;;) {
        size_t free_places = 0;
        for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
            const client *c = &server->clients[i];
            free_places += c->fd < 0;
            polled[i] = (struct pollfd){.fd = c->fd, .events = c->answering ? POLLOUT : POLLIN};
        }
        polled[MAX_CONNECTIONS] =
            (struct pollfd){.fd = free_places && !server->full ? server->socket : -1, .events = POLLIN};
        polled[MAX_CONNECTIONS + 1] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
        int n = poll(polled, MAX_CONNECTIONS + 2, TICK_MS);
        if (n < 0 && errno != EINTR) return NULL;
        if (n > 0 && polled[MAX_CONNECTIONS + 1].revents) return NULL;
        server->full = false;
        int64_t now = now_ms();
        for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
            client *c = &server->clients[i];
            if (c->fd < 0) continue;
            if (n > 0 && polled[i].revents) {
                c->moved_ms = now;
                if (!serve_client(server, c, polled[i].revents & (POLLIN | POLLHUP | POLLERR))) drop(c);
            } else if (now - c->moved_ms > IDLE_MS) {
                drop(c);
            }
        }
        if (n > 0 && polled[MAX_CONNECTIONS].revents) accept_clients(server);
    }
}

rs_status rs_view_serve(int socket, const rs_view_routes *routes, rs_view_server **out, rs_error *err)
{
    rs_view_server *server = rs_calloc(1, sizeof *server);
    if (!server) {
        close(socket);
        return rs_fail_nomem(err, "the server");
    }
    server->socket = socket;
    server->routes = routes;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) server->clients[i].fd = -1;
    int code = 0;
    if (fcntl(socket, F_SETFL, O_NONBLOCK) != 0 || pipe2(server->wake, O_CLOEXEC) != 0) {
        code = errno;
    } else if ((code = pthread_create(&server->thread, NULL, run, server)) != 0) {
        close(server->wake[0]);
        close(server->wake[1]);
    }
    if (code == 0) {
        *out = server;
        return RS_OK;
    }
    close(socket);
    rs_free(server);
    return rs_fail(err, RS_ERR_IO, "the HTTP server does not start: %s", strerror(code));
}

void rs_view_stop(rs_view_server *server)
{
    if (!server) return;
    while (write(server->wake[1], "", 1) < 0 && errno == EINTR) continue;
    pthread_join(server->thread, NULL);
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) drop(&server->clients[i]);
    close(server->wake[0]);
    close(server->wake[1]);
    close(server->socket);
    rs_free(server);
}
