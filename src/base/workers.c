#include "base/workers.h"

#include <pthread.h>

typedef struct crew {
    size_t n;
    rs_work_fn work;
    void *context;
    pthread_mutex_t lock; /* over what follows */
    size_t next;          /* the item that begins next */
    size_t failed;        /* the least item that failed; n: none */
    rs_status status;     /* its outcome */
    rs_error error;
} crew;

typedef struct member {
    crew *crew;
    unsigned number;
} member;

/* The next item, n when there is none to begin. */
static size_t take(crew *c)
{
    pthread_mutex_lock(&c->lock);
    size_t item = c->status == RS_OK && c->next < c->n ? c->next++ : c->n;
    pthread_mutex_unlock(&c->lock);
    return item;
}

static void keep_error(crew *c, size_t item, rs_status status, const rs_error *err)
{
    pthread_mutex_lock(&c->lock);
    if (item < c->failed) {
        c->failed = item;
        c->status = status;
        c->error = *err;
    }
    pthread_mutex_unlock(&c->lock);
}

static void *run(void *context)
{
    member *m = context;
    crew *c = m->crew;
    for (size_t item; (item = take(c)) < c->n;) {
        rs_error err = RS_ERROR_INIT;
        rs_status status = c->work(c->context, item, m->number, &err);
        if (status != RS_OK) keep_error(c, item, status, &err);
    }
    return NULL;
}

unsigned rs_workers_count(size_t n, size_t jobs)
{
    size_t count = jobs < n ? jobs : n;
    return count < 1 ? 1 : count < RS_MAX_WORKERS ? (unsigned)count : RS_MAX_WORKERS;
}

rs_status rs_workers_run(size_t n, size_t jobs, rs_work_fn work, void *context, rs_error *err)
{
    crew c = {.n = n, .work = work, .context = context, .failed = n, .error = RS_ERROR_INIT};
    member members[RS_MAX_WORKERS];
    pthread_t threads[RS_MAX_WORKERS];
    unsigned wanted = rs_workers_count(n, jobs), started = 1;
    pthread_mutex_init(&c.lock, NULL);
    for (unsigned i = 0; i < wanted; i++) members[i] = (member){.crew = &c, .number = i};
    while (started < wanted && pthread_create(&threads[started], NULL, run, &members[started]) == 0)
        started++;
    run(&members[0]);
    for (unsigned i = 1; i < started; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&c.lock);
    if (c.status != RS_OK && err) *err = c.error;
    return c.status;
}
