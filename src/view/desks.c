#include "view/desks.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

#define MOST_WAITING 16

typedef struct queue {
    rs_task *first, **end;
    size_t n;
} queue;

typedef struct worker {
    rs_desks *of;
    pthread_t thread;
    bool runs;
    rs_explorer *asked; /* that is answering; NULL: none */
    queue waiting;
} worker;

struct rs_desks {
    int wakes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stops;
    worker workers[RS_N_DESKS];
    queue done;
};

/* ---- tasks --------------------------------------------------------------------------------------------- */

rs_task *rs_task_create(const char *path, const char *query, const char *body, size_t n_body, bool json)
{
    rs_task *t = rs_calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (rs_task){.asked = rs_clock_seconds(),
                   .json = json,
                   .path = rs_strdup(path),
                   .query = rs_strdup(query ? query : ""),
                   .body = body ? rs_strndup(body, n_body) : NULL,
                   .n_body = n_body};
    if (t->path && t->query && (t->body || !body)) return t;
    rs_task_free(t);
    return NULL;
}

void rs_task_free(rs_task *t)
{
    if (!t) return;
    rs_free_all(t->path, t->query, t->body);
    rs_explorer_answer_clear(&t->answer);
    rs_free(t);
}

static void put(queue *q, rs_task *t)
{
    t->next = NULL;
    if (!q->first) q->end = &q->first;
    *q->end = t;
    q->end = &t->next;
    q->n++;
}

static rs_task *take(queue *q)
{
    rs_task *t = q->first;
    if (!t) return NULL;
    q->first = t->next;
    q->n--;
    return t;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

/* The lock is held. */
static void finish(rs_desks *d, rs_task *t)
{
    put(&d->done, t);
    while (write(d->wakes, "", 1) < 0 && !d->stops) break; /* a full pipe wakes, too */
}

static void *work(void *context)
{
    worker *w = context;
    rs_desks *d = w->of;
    pthread_mutex_lock(&d->lock);
    while (!d->stops) {
        rs_task *t = take(&w->waiting);
        if (!t) {
            pthread_cond_wait(&d->changed, &d->lock);
            continue;
        }
        w->asked = t->explorer;
        pthread_mutex_unlock(&d->lock);
        const rs_explorer_request request = {
            .path = t->path, .query = t->query, .body = t->body, .n_body = t->n_body, .json = t->json};
        rs_explorer_ask(t->explorer, &request, &t->answer);
        if (t->packs) rs_explorer_answer_pack(&t->answer);
        pthread_mutex_lock(&d->lock);
        w->asked = NULL;
        finish(d, t);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

rs_status rs_desks_open(int wakes, rs_desks **out, rs_error *err)
{
    rs_desks *d = rs_calloc(1, sizeof *d);
    if (!d) return rs_fail_nomem(err, "the server's threads");
    d->wakes = wakes;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    int why = 0;
    for (size_t i = RS_DESK_RANK; why == 0 && i < RS_N_DESKS; i++) {
        d->workers[i].of = d;
        why = pthread_create(&d->workers[i].thread, NULL, work, &d->workers[i]);
        d->workers[i].runs = why == 0;
    }
    if (why == 0) {
        *out = d;
        return RS_OK;
    }
    rs_desks_close(d);
    return rs_fail(err, RS_ERR_IO, "a thread of the server does not start: %s", strerror(why));
}

static void drop_all(queue *q)
{
    for (rs_task *t = take(q); t; t = take(q)) rs_task_free(t);
}

void rs_desks_close(rs_desks *d)
{
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->stops = true;
    for (size_t i = 0; i < RS_N_DESKS; i++)
        if (d->workers[i].asked) rs_explorer_stop(d->workers[i].asked);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    for (size_t i = 0; i < RS_N_DESKS; i++) {
        if (d->workers[i].runs) pthread_join(d->workers[i].thread, NULL);
        drop_all(&d->workers[i].waiting);
    }
    drop_all(&d->done);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    rs_free(d);
}

void rs_desks_ask(rs_desks *d, rs_explorer_desk desk, rs_task *task)
{
    pthread_mutex_lock(&d->lock);
    queue *waiting = &d->workers[desk].waiting;
    put(waiting, task);
    if (waiting->n > MOST_WAITING) {
        rs_task *oldest = take(waiting);
        oldest->answer.status = 503;
        oldest->answer.type = "text/plain; charset=utf-8";
        finish(d, oldest);
    }
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

rs_task *rs_desks_done(rs_desks *d)
{
    pthread_mutex_lock(&d->lock);
    rs_task *t = take(&d->done);
    pthread_mutex_unlock(&d->lock);
    return t;
}
