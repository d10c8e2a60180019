#include "view/server.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#ifdef RS_HAVE_LIBEVENT
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "view/desks.h"
#include "view/explorer.h"

#define MAX_CONNECTIONS 64
#define MAX_WAITING 16 /* of them, whose requests are not complete */
#define MAX_HEADERS ((ev_ssize_t)16 << 10)
#define IDLE_SECONDS 30
#define MAX_BODY ((ev_ssize_t)64 << 10)        /* of a question to the explorer */
#define LATE_SECONDS (RS_EXPLORER_SECONDS + 1) /* when an answer that has not come is given up */
#define METHODS                                                                                              \
    (EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |               \
     EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE | EVHTTP_REQ_PATCH)

static const struct timeval sweep_interval = {.tv_sec = 1};

/* A client. Everybody on the machine may connect and send a request byte by byte: of those who are not done the
 * one that takes longest makes room for the next one. */
typedef struct client {
    struct client *before, *after; /* in the order in which they began to wait; those who do not, anywhere */
    struct bufferevent *link;      /* a share of it is ours */
    bool waits;
    rs_task *task; /* that it waits for; NULL: none */
    struct evhttp_request *request;
} client;

/* The loop has one thread, which makes all calls but those of start and stop. */
struct rs_view_server {
    const rs_view_routes *routes;
    struct event_base *base;
    struct evhttp *http;
    struct evconnlistener *listener; /* owned by http */
    struct event *sweeper, *stopper, *deliverer;
    int stop[2];  /* a pipe: what comes out of it ends the loop */
    int ready[2]; /* a pipe: what comes out of it says that answers of the explorer are there */
    rs_desks *desks;
    char stamp[RS_VIEW_TOKEN]; /* of this run: answers to GET stay the same in one stage of the explorer */
    pthread_t thread;
    client *first, *last;
    size_t n, n_waiting;
};

/* ---- clients ----------------------------------------------------------------------------------------------- */

static void take_out(rs_view_server *server, client *c)
{
    *(c->before ? &c->before->after : &server->first) = c->after;
    *(c->after ? &c->after->before : &server->last) = c->before;
    server->n--;
    server->n_waiting -= c->waits;
}

static void put_last(rs_view_server *server, client *c, bool waits)
{
    c->waits = waits;
    c->after = NULL;
    c->before = server->last;
    *(server->last ? &server->last->after : &server->first) = c;
    server->last = c;
    server->n++;
    server->n_waiting += waits;
}

static void forget(rs_view_server *server, client *c)
{
    take_out(server, c);
    if (c->task) c->task->owner = NULL;
    bufferevent_decref(c->link);
    rs_free(c);
}

/* The library tells nobody that a connection has ended before its first request was complete. It takes its
 * callbacks away from a bufferevent that it gives up, and that shows. */
static bool has_ended(const client *c)
{
    bufferevent_data_cb on_read = NULL, on_write = NULL;
    bufferevent_event_cb on_event = NULL;
    bufferevent_getcb(c->link, &on_read, &on_write, &on_event, NULL);
    return !on_event;
}

/* The explorer is too late: its answer will be dropped. */
static void give_up(client *c)
{
    struct evhttp_request *request = c->request;
    c->task->owner = NULL;
    c->task = NULL;
    c->request = NULL;
    evhttp_send_error(request, HTTP_SERVUNAVAIL, "it took too long");
}

/* Forgets clients that are gone, which closes their sockets, and looks again as long as there are any. */
static void sweep(rs_view_server *server)
{
    for (client *c = server->first, *after; c; c = after) {
        after = c->after;
        if (has_ended(c))
            forget(server, c);
        else if (c->task && rs_clock_seconds() - c->task->asked > LATE_SECONDS)
            give_up(c);
    }
    if (server->n < MAX_CONNECTIONS) evconnlistener_enable(server->listener);
    if (server->n) event_add(server->sweeper, &sweep_interval);
}

static void on_sweep(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    sweep(context);
}

/* As if its time were up. */
static void drop_oldest(rs_view_server *server)
{
    client *c = server->first;
    while (c && !c->waits) c = c->after;
    if (!c) return;
    bufferevent_trigger_event(c->link, BEV_EVENT_READING | BEV_EVENT_TIMEOUT, 0);
    forget(server, c);
}

/* A connection has been taken from the queue: what carries it. NULL lets the library make its own. */
static struct bufferevent *on_connection(struct event_base *base, void *context)
{
    rs_view_server *server = context;
    struct bufferevent *link = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    client *c = link ? rs_calloc(1, sizeof *c) : NULL;
    sweep(server);
    if (!c) return link;
    if (server->n_waiting >= MAX_WAITING) drop_oldest(server);
    c->link = link;
    bufferevent_incref(link);
    put_last(server, c, true);
    if (server->n >= MAX_CONNECTIONS) evconnlistener_disable(server->listener);
    event_add(server->sweeper, &sweep_interval);
    return link;
}

static client *client_of(rs_view_server *server, struct evhttp_request *request)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    const struct bufferevent *link = connection ? evhttp_connection_get_bufferevent(connection) : NULL;
    client *c = server->first;
    while (c && c->link != link) c = c->after;
    return c;
}

/* An answer has gone: the connection may bring another request, or is ended when this returns. */
static void on_completed(struct evhttp_request *request, void *context)
{
    rs_view_server *server = context;
    client *c = client_of(server, request);
    if (!c) return;
    take_out(server, c);
    if (server->n_waiting >= MAX_WAITING) drop_oldest(server);
    put_last(server, c, true);
    event_active(server->sweeper, EV_TIMEOUT, 0);
}

/* ---- answers ----------------------------------------------------------------------------------------------- */

static const char *method_of(const struct evhttp_request *request)
{
    enum evhttp_cmd_type type = evhttp_request_get_command(request);
    return type == EVHTTP_REQ_GET    ? "GET"
           : type == EVHTTP_REQ_HEAD ? "HEAD"
           : type == EVHTTP_REQ_POST ? "POST"
                                     : "another";
}

static bool add_header(struct evkeyvalq *headers, const char *name, const char *value)
{
    return evhttp_add_header(headers, name, value) == 0;
}

/* The length is written here, as an answer to HEAD has none of its own. */
static bool add_headers(struct evkeyvalq *headers, const rs_view_server *server, const rs_view_answer *answer,
                        const char *type, size_t length)
{
    const rs_view_resource *r = answer->resource;
    char text[200];
    snprintf(text, sizeof text, "%zu", length);
    bool ok = add_header(headers, "Content-Type", type) && add_header(headers, "Content-Length", text) &&
              add_header(headers, "Cache-Control", "no-store") &&
              add_header(headers, "X-Content-Type-Options", "nosniff") &&
              add_header(headers, "Referrer-Policy", "no-referrer") &&
              add_header(headers, "Cross-Origin-Resource-Policy", "same-origin") &&
              add_header(headers, "Content-Security-Policy",
                         r && r->policy ? r->policy : "default-src 'none'; frame-ancestors 'none'") &&
              add_header(headers, "Vary", "Origin, Accept, Accept-Encoding");
    if (ok && answer->allow_ui)
        ok = add_header(headers, "Access-Control-Allow-Origin", server->routes->ui_origin);
    if (ok && answer->status == 405)
        ok = add_header(headers, "Allow", rs_view_explores(server->routes) ? "GET, HEAD, POST" : "GET, HEAD");
    if (ok && r && r->save_as) {
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", r->save_as);
        ok = add_header(headers, "Content-Disposition", text);
    }
    return ok;
}

static void write_tag(const rs_view_server *server, unsigned stage, char out[64])
{
    snprintf(out, 64, "\"%s-%u\"", server->stamp, stage);
}

/* A client that has the answer already gets status 304. */
static bool has_answer(const rs_view_server *server, struct evhttp_request *request, unsigned stage)
{
    const char *has = evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");
    char tag[64];
    write_tag(server, stage, tag);
    return has && strcmp(has, tag) == 0 && evhttp_request_get_command(request) != EVHTTP_REQ_POST;
}

#define NO_STAGE UINT_MAX /* of an answer that changes at any time */

/* Takes the answer's bytes over. stage: of the explorer when it was asked. */
static bool send_answer(const rs_view_server *server, struct evhttp_request *request, rs_explorer_answer *a,
                        unsigned stage, struct evbuffer *body)
{
    const rs_view_answer plain = {.status = a->status};
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    char tag[64];
    write_tag(server, stage, tag);
    if (!add_headers(headers, server, &plain, a->type, a->n)) return false;
    if (a->status < 400 && stage != NO_STAGE && evhttp_request_get_command(request) != EVHTTP_REQ_POST &&
        !add_header(headers, "ETag", tag))
        return false;
    if (a->packed && !add_header(headers, "Content-Encoding", "gzip")) return false;
    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD && a->n &&
        evbuffer_add(body, a->bytes, a->n) != 0)
        return false;
    evhttp_send_reply(request, (int)a->status, NULL, body);
    return true;
}

static void send_or_fail(const rs_view_server *server, struct evhttp_request *request, rs_task *t)
{
    struct evbuffer *body = evbuffer_new();
    if (!body || !send_answer(server, request, &t->answer, t->stage, body)) {
        evhttp_clear_headers(evhttp_request_get_output_headers(request));
        evhttp_send_error(request, HTTP_INTERNAL, NULL);
    }
    if (body) evbuffer_free(body);
}

/* Answers of the explorer are there. */
static void on_ready(evutil_socket_t fd, short what, void *context)
{
    rs_view_server *server = context;
    char bytes[64];
    (void)what;
    while (read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
    for (rs_task *t = rs_desks_done(server->desks); t; t = rs_desks_done(server->desks)) {
        client *c = t->owner;
        if (c && has_ended(c)) { /* its request went with the connection */
            forget(server, c);
            c = NULL;
        }
        struct evhttp_request *request = c ? c->request : NULL;
        if (c) {
            c->task = NULL;
            c->request = NULL;
        }
        if (request) send_or_fail(server, request, t);
        rs_task_free(t);
    }
}

static bool send_progress(const rs_view_server *server, struct evhttp_request *request,
                          rs_view_reading *reading, struct evbuffer *body)
{
    rs_explorer_answer a = {.status = 200, .type = "application/json"};
    const bool complete = atomic_load(&reading->complete);
    rs_answer_print(&a, "{\"done\":%llu,\"total\":%llu,\"usable\":%s,\"complete\":%s}",
                    (unsigned long long)atomic_load(&reading->done),
                    (unsigned long long)atomic_load(&reading->total),
                    atomic_load(&reading->explorer) ? "true" : "false", complete ? "true" : "false");
    const bool ok = send_answer(server, request, &a, NO_STAGE, body);
    rs_explorer_answer_clear(&a);
    return ok;
}

static bool send_refusal(const rs_view_server *server, struct evhttp_request *request, const char *why,
                         struct evbuffer *body)
{
    rs_explorer_answer a = {.status = 503, .type = "text/plain; charset=utf-8"};
    rs_answer_print(&a, "%s", why);
    const bool ok = send_answer(server, request, &a, NO_STAGE, body);
    rs_explorer_answer_clear(&a);
    return ok;
}

/* What the map has is answered at once; other questions go to their desk, and the client waits for one at a time. */
static bool ask_explorer(rs_view_server *server, struct evhttp_request *request, const rs_view_answer *found,
                         const char *query, struct evbuffer *body)
{
    struct evbuffer *sent = evhttp_request_get_input_buffer(request);
    const char *accept = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
    const bool posts = evhttp_request_get_command(request) == EVHTTP_REQ_POST,
               json = accept && strstr(accept, "json");
    const char *packs = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept-Encoding");
    const char *path = found->api, *why = NULL;
    const rs_explorer_desk desk = rs_explorer_desk_of(path, posts);
    const rs_view_routes *routes = server->routes;
    rs_view_reading *reading =
        found->window ? rs_view_windows_open(routes->windows, found->window, &why) : routes->reading;
    if (reading) why = atomic_load(&reading->failed);
    if (why) return send_refusal(server, request, why, body);
    if (strcmp(path, RS_VIEW_PROGRESS) == 0) return send_progress(server, request, reading, body);
    rs_explorer *explorer = atomic_load(&reading->explorer);
    if (!explorer)
        return send_refusal(server, request,
                            "The traces are still being read; api/" RS_VIEW_PROGRESS " says how far.", body);
    const unsigned stage = rs_explorer_stage(explorer);
    client *c = client_of(server, request);
    if (has_answer(server, request, stage)) {
        rs_explorer_answer same = {.status = 304, .type = "application/json"};
        return send_answer(server, request, &same, stage, body);
    }
    if (desk == RS_DESK_MAP) {
        const rs_explorer_request asked = {.path = path, .query = query, .json = json};
        rs_explorer_answer answer;
        rs_explorer_ask(explorer, &asked, &answer);
        const bool ok = send_answer(server, request, &answer, stage, body);
        rs_explorer_answer_clear(&answer);
        return ok;
    }
    const size_t n = evbuffer_get_length(sent);
    const char *text = n ? (const char *)evbuffer_pullup(sent, -1) : "";
    rs_task *task = c && !c->task && text ? rs_task_create(path, query, posts ? text : NULL, n, json) : NULL;
    if (!task) return false;
    task->owner = c;
    task->explorer = explorer;
    task->stage = stage;
    task->packs = packs && strstr(packs, "gzip");
    c->task = task;
    c->request = request;
    rs_desks_ask(server->desks, desk, task);
    return true;
}

static bool answer_request(rs_view_server *server, struct evhttp_request *request, char *path,
                           struct evbuffer *body)
{
    struct evkeyvalq *asked = evhttp_request_get_input_headers(request);
    /* Paths are compared as they came: none of ours has anything to decode. */
    char *query = path + strcspn(path, "?#");
    if (*query == '?')
        *query++ = '\0';
    else
        *query = '\0';
    query[strcspn(query, "#")] = '\0';
    const rs_view_request known = {
        .method = method_of(request),
        .path = path,
        .host = evhttp_find_header(asked, "Host"),
        .origin = evhttp_find_header(asked, "Origin"),
    };
    rs_view_answer answer = rs_view_route(server->routes, &known);
    if (answer.api) return ask_explorer(server, request, &answer, query, body);
    const void *bytes = answer.resource ? answer.resource->bytes : answer.message;
    size_t n = answer.resource ? answer.resource->n : strlen(answer.message);
    const char *type = answer.resource ? answer.resource->type : "text/plain; charset=utf-8";
    if (!add_headers(evhttp_request_get_output_headers(request), server, &answer, type, n)) return false;
    /* what is borrowed outlives the server, so it is sent from where it lies */
    if (strcmp(known.method, "HEAD") != 0 && n > 0 && evbuffer_add_reference(body, bytes, n, NULL, NULL) != 0)
        return false;
    evhttp_send_reply(request, (int)answer.status, NULL, body);
    return true;
}

static void on_request(struct evhttp_request *request, void *context)
{
    rs_view_server *server = context;
    client *c = client_of(server, request);
    if (c) {
        take_out(server, c);
        put_last(server, c, false);
    }
    evhttp_request_set_on_complete_cb(request, on_completed, server);
    RS_LOCAL char *path = rs_strdup(evhttp_request_get_uri(request));
    struct evbuffer *body = evbuffer_new();
    if (!path || !body || !answer_request(server, request, path, body)) {
        evhttp_clear_headers(evhttp_request_get_output_headers(request));
        evhttp_send_error(request, HTTP_INTERNAL, NULL);
    }
    if (body) evbuffer_free(body);
}

/* ---- the loop ---------------------------------------------------------------------------------------------- */

bool rs_view_can_serve(void)
{
    return true;
}

static void on_stop(evutil_socket_t fd, short what, void *context)
{
    rs_view_server *server = context;
    (void)fd;
    (void)what;
    event_base_loopbreak(server->base);
}

static void *run(void *context)
{
    rs_view_server *server = context;
    event_base_dispatch(server->base);
    return NULL;
}

static bool make_base(rs_view_server *server)
{
    struct event_config *config = event_config_new();
    /* one thread, and no settings from the environment */
    if (config && event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) == 0)
        server->base = event_base_new_with_config(config);
    if (config) event_config_free(config);
    return server->base != NULL;
}

/* *socket is -1 when the listener has it. */
static bool make_http(rs_view_server *server, int *socket)
{
    server->http = evhttp_new(server->base);
    if (!server->http) return false;
    evhttp_set_allowed_methods(server->http, METHODS);
    evhttp_set_max_headers_size(server->http, MAX_HEADERS);
    evhttp_set_max_body_size(server->http, rs_view_explores(server->routes) ? MAX_BODY : 0);
    evhttp_set_timeout(server->http, IDLE_SECONDS);
    evhttp_set_bevcb(server->http, on_connection, server);
    evhttp_set_gencb(server->http, on_request, server);
    if (evutil_make_socket_nonblocking(*socket) != 0) return false;
    server->listener = evconnlistener_new(server->base, NULL, NULL,
                                          LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, *socket);
    if (!server->listener) return false;
    *socket = -1;
    if (!evhttp_bind_listener(server->http, server->listener)) {
        evconnlistener_free(server->listener);
        return false;
    }
    return true;
}

static bool make_events(rs_view_server *server)
{
    if (pipe(server->stop) != 0 || pipe(server->ready) != 0) return false;
    for (size_t i = 0; i < 2; i++)
        if (fcntl(server->stop[i], F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(server->ready[i], F_SETFD, FD_CLOEXEC) != 0 ||
            evutil_make_socket_nonblocking(server->ready[i]) != 0)
            return false;
    server->deliverer = event_new(server->base, server->ready[0], EV_READ | EV_PERSIST, on_ready, server);
    if (!server->deliverer || event_add(server->deliverer, NULL) != 0) return false;
    server->sweeper = event_new(server->base, -1, 0, on_sweep, server);
    server->stopper = event_new(server->base, server->stop[0], EV_READ, on_stop, server);
    return server->sweeper && server->stopper && event_add(server->stopper, NULL) == 0;
}

/* A client that goes away in the middle of an answer is no reason to end: the thread is started without
 * SIGPIPE, as the library writes without saying that it wants none. */
static bool start(rs_view_server *server)
{
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    int why = pthread_create(&server->thread, NULL, run, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why) errno = why;
    return why == 0;
}

/* The loop has ended, or never ran. */
static void release(rs_view_server *server)
{
    for (client *c = server->first; c; c = c->after) c->task = NULL; /* tasks go with the desks */
    rs_desks_close(server->desks);
    if (server->http) evhttp_free(server->http);
    for (client *c = server->first, *after; c; c = after) {
        after = c->after;
        forget(server, c);
    }
    if (server->sweeper) event_free(server->sweeper);
    if (server->stopper) event_free(server->stopper);
    if (server->deliverer) event_free(server->deliverer);
    if (server->base) event_base_free(server->base);
    for (size_t i = 0; i < 2; i++) {
        if (server->stop[i] >= 0) close(server->stop[i]);
        if (server->ready[i] >= 0) close(server->ready[i]);
    }
    rs_free(server);
}

rs_status rs_view_serve(int socket, const rs_view_routes *routes, rs_view_server **out, rs_error *err)
{
    rs_view_server *server = rs_calloc(1, sizeof *server);
    if (!server) {
        close(socket);
        return rs_fail_nomem(err, "the server");
    }
    server->routes = routes;
    const rs_status stamped = rs_view_make_token(server->stamp, err);
    if (stamped != RS_OK) {
        close(socket);
        rs_free(server);
        return stamped;
    }
    server->stop[0] = server->stop[1] = server->ready[0] = server->ready[1] = -1;
    errno = 0;
    if (!make_base(server) || !make_http(server, &socket) || !make_events(server) ||
        (rs_view_explores(routes) && rs_desks_open(server->ready[1], &server->desks, err) != RS_OK) ||
        !start(server)) {
        int why = errno ? errno : ENOMEM;
        if (socket >= 0) close(socket);
        release(server);
        return rs_fail(err, RS_ERR_IO, "the HTTP server does not start: %s", strerror(why));
    }
    *out = server;
    return RS_OK;
}

void rs_view_stop(rs_view_server *server)
{
    if (!server) return;
    while (write(server->stop[1], "", 1) < 0 && errno == EINTR) {
    }
    pthread_join(server->thread, NULL);
    release(server);
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
    return rs_fail(err, RS_ERR_USAGE,
                   "this program was built without the HTTP library libevent (libevent-dev); `rankscope "
                   "fuse -o all.json.gz PATH...` writes a trace that https://ui.perfetto.dev opens");
}

void rs_view_stop(rs_view_server *server)
{
    (void)server;
}
#endif
