#define _GNU_SOURCE
#include "watch/cli/metrics_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/loopback.h"

#define MAX_REQUEST 4096 /* bytes of a request's head that are looked at */
#define TIMEOUT_S 2      /* that a client has for its request, and for taking the answer */

/* One client is answered at a time: a scrape is one request every few seconds. */
struct rs_metrics_server {
    int socket, stop[2];
    pthread_t thread;
    pthread_mutex_t lock; /* of the text */
    char *text;
    size_t n;
};

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void send_head(int fd, const char *status, const char *type, size_t n)
{
    char head[256];
    int used = snprintf(head, sizeof head,
                        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                        status, type, n);
    send_all(fd, head, (size_t)used);
}

/* Reads up to the end of the head, or as much of it as is looked at. */
static size_t receive(int fd, char *request)
{
    size_t n = 0;
    while (n + 1 < MAX_REQUEST) {
        ssize_t got = recv(fd, request + n, MAX_REQUEST - 1 - n, 0);
        if (got <= 0) break;
        n += (size_t)got;
        request[n] = '\0';
        if (strstr(request, "\r\n\r\n")) break;
    }
    request[n] = '\0';
    return n;
}

static void answer(rs_metrics_server *s, int fd)
{
    char request[MAX_REQUEST];
    receive(fd, request);
    bool is_head = strncmp(request, "HEAD /metrics", 13) == 0;
    const char *end = is_head                                     ? request + 13
                      : strncmp(request, "GET /metrics", 12) == 0 ? request + 12
                                                                  : NULL;
    if (!end || (*end != ' ' && *end != '?')) {
        send_head(fd, "404 Not Found", "text/plain", 0);
        return;
    }
    pthread_mutex_lock(&s->lock);
    char *text = s->text ? rs_strndup(s->text, s->n) : NULL;
    size_t n = text ? s->n : 0;
    pthread_mutex_unlock(&s->lock);
    send_head(fd, text ? "200 OK" : "503 Service Unavailable",
              "application/openmetrics-text; version=1.0.0; charset=utf-8", n);
    if (text && !is_head) send_all(fd, text, n);
    rs_free(text);
}

static void *serve(void *context)
{
    rs_metrics_server *s = context;
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    for (;;) {
        struct pollfd wanted[2] = {{.fd = s->stop[0], .events = POLLIN}, {.fd = s->socket, .events = POLLIN}};
        if (poll(wanted, 2, -1) < 0 && errno != EINTR) return NULL;
        if (wanted[0].revents) return NULL;
        int fd = wanted[1].revents ? accept(s->socket, NULL, NULL) : -1;
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        answer(s, fd);
        close(fd);
    }
}

/* Signals are for the thread that looks. */
static int start(rs_metrics_server *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int why = pthread_create(&s->thread, NULL, serve, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return why;
}

static void release(rs_metrics_server *s)
{
    if (s->socket >= 0) close(s->socket);
    for (int i = 0; i < 2; i++)
        if (s->stop[i] >= 0) close(s->stop[i]);
    pthread_mutex_destroy(&s->lock);
    rs_free_all(s->text, s);
}

rs_status rs_metrics_serve(unsigned port, unsigned *taken, rs_metrics_server **out, rs_error *err)
{
    rs_metrics_server *s = rs_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return rs_fail_nomem(err, "the metrics");
    s->socket = s->stop[0] = s->stop[1] = -1;
    pthread_mutex_init(&s->lock, NULL);
    rs_status status = rs_loopback_listen(port, "metrics-listen", &s->socket, taken, err);
    int why = status == RS_OK && pipe(s->stop) != 0 ? errno : 0;
    if (status == RS_OK && !why) why = start(s);
    if (why) status = rs_fail(err, RS_ERR_IO, "cannot serve metrics: %s", strerror(why));
    if (status == RS_OK)
        *out = s;
    else
        release(s);
    return status;
}

bool rs_metrics_publish(rs_metrics_server *s, const char *text, size_t n)
{
    char *copy = rs_strndup(text, n);
    if (!copy) return false;
    pthread_mutex_lock(&s->lock);
    rs_free(s->text);
    s->text = copy;
    s->n = n;
    pthread_mutex_unlock(&s->lock);
    return true;
}

void rs_metrics_stop(rs_metrics_server *s)
{
    if (!s) return;
    ssize_t written = write(s->stop[1], "", 1);
    (void)written;
    pthread_join(s->thread, NULL);
    release(s);
}
