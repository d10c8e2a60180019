#define _GNU_SOURCE
#include "watch/cli/webhook.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/try.h"
#include "cli/fetch.h"

#define TIMEOUT_S 10
#define LEASE_S 60
#define LONGEST_WAIT_S 600

typedef enum state { IDLE, SENDING, ANSWERED, ENDED } state;

struct rs_webhook {
    rs_webhook_put_fn put;
    pthread_t thread;
    pthread_mutex_t lock; /* of the state; what it holds is the thread's while it is SENDING */
    pthread_cond_t changed;
    state state;
    rs_fetch request;
    rs_text body;
    int64_t id; /* of the message */
    double next_at, wait_s;
    unsigned failures; /* in a row */
    bool is_empty;     /* nothing was left to claim at the last turn */
    char complaint[256];
};

rs_status rs_webhook_check(const char *url, rs_error *err)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return rs_fail(err, RS_ERR_USAGE, "--webhook takes a URL that begins with http:// or https://");
    return rs_fetch_check(err);
}

static void *send_all(void *context)
{
    rs_webhook *h = context;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->state != SENDING && h->state != ENDED) pthread_cond_wait(&h->changed, &h->lock);
        if (h->state == ENDED) break;
        pthread_mutex_unlock(&h->lock);
        rs_error why = RS_ERROR_INIT;
        rs_status status = rs_fetch_all(&h->request, 1, TIMEOUT_S, &why);
        pthread_mutex_lock(&h->lock);
        if (status != RS_OK) snprintf(h->request.failure, sizeof h->request.failure, "the request failed");
        h->state = ANSWERED;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void release(rs_webhook *h)
{
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->changed);
    rs_fetch_clear(&h->request);
    rs_text_clear(&h->body);
    rs_free(h);
}

rs_status rs_webhook_open(const char *url, rs_webhook_put_fn put, rs_watch *watch, rs_webhook **out,
                          rs_error *err)
{
    sigset_t all, before;
    rs_webhook *h = rs_calloc(1, sizeof *h);
    *out = NULL;
    if (!h) return rs_fail_nomem(err, "the webhook");
    rs_status status = rs_watch_begin_posts(watch, err);
    if (status != RS_OK) {
        rs_free(h);
        return status;
    }
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    h->put = put;
    h->request.post = true;
    h->request.url = rs_strdup(url);
    sigfillset(&all); /* signals are for the thread that looks */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int why = h->request.url ? pthread_create(&h->thread, NULL, send_all, h) : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!why) {
        *out = h;
        return RS_OK;
    }
    release(h);
    return rs_fail(err, why < 0 ? RS_ERR_NOMEM : RS_ERR_IO, "the webhook's thread cannot be started");
}

/* ---- turns -------------------------------------------------------------------------------------------------- */

/* A receiver that is not there, overloaded, or failing may take it later; what else it does not take it never will. */
static rs_watch_posted outcome_of(const rs_fetch *r)
{
    if (r->status >= 200 && r->status < 300) return RS_WATCH_POSTED;
    return r->status >= 300 && r->status < 500 && r->status != 408 && r->status != 429 ? RS_WATCH_POST_REFUSED
                                                                                       : RS_WATCH_POST_AGAIN;
}

static void complain(rs_webhook *h, rs_watch_posted outcome)
{
    char why[160];
    if (h->request.status)
        snprintf(why, sizeof why, "the receiver answered with status %d", h->request.status);
    else
        snprintf(why, sizeof why, "%s", h->request.failure);
    snprintf(h->complaint, sizeof h->complaint, "--webhook: message %lld was not posted: %s%s",
             (long long)h->id, why,
             outcome == RS_WATCH_POST_REFUSED ? "; it is not tried again" : "; it is tried again");
}

static void wait_longer(rs_webhook *h)
{
    h->failures++;
    h->wait_s = h->wait_s > 0 ? h->wait_s * 2 : 1;
    if (h->wait_s > LONGEST_WAIT_S) h->wait_s = LONGEST_WAIT_S;
    h->next_at = rs_clock_seconds() + h->wait_s;
}

static rs_status note_answer(rs_webhook *h, rs_watch *w, const char **complaint, rs_error *err)
{
    rs_watch_posted outcome = outcome_of(&h->request);
    RS_TRY(rs_watch_end_post(w, h->id, outcome, err));
    h->state = IDLE;
    /* an endpoint that is down is complained of once */
    if (outcome == RS_WATCH_POST_REFUSED || (outcome == RS_WATCH_POST_AGAIN && !h->failures)) {
        complain(h, outcome);
        *complaint = h->complaint;
    }
    if (outcome == RS_WATCH_POST_AGAIN) {
        wait_longer(h);
    } else {
        h->failures = 0;
        h->wait_s = h->next_at = 0;
    }
    return RS_OK;
}

static rs_status take(void *context, const rs_watch_message *m, rs_error *err)
{
    rs_webhook *h = context;
    rs_text_clear(&h->body);
    RS_TRY(h->put(&h->body, m, err));
    h->id = m->id;
    return rs_text_get(&h->body) ? RS_OK : rs_fail_nomem(err, "a message");
}

static rs_status send_next(rs_webhook *h, rs_watch *w, rs_error *err)
{
    bool has;
    RS_TRY(rs_watch_claim_post(w, LEASE_S, take, h, &has, err));
    h->is_empty = !has;
    if (!has) return RS_OK;
    rs_free(h->request.body);
    h->request = (rs_fetch){.url = h->request.url, .post = true, .sent = h->body.s};
    h->state = SENDING;
    pthread_cond_broadcast(&h->changed);
    return RS_OK;
}

rs_status rs_webhook_turn(rs_webhook *h, rs_watch *w, const char **complaint, rs_error *err)
{
    rs_status status = RS_OK;
    *complaint = NULL;
    pthread_mutex_lock(&h->lock);
    if (h->state == ANSWERED) status = note_answer(h, w, complaint, err);
    if (status == RS_OK && h->state == IDLE && !h->is_empty && rs_clock_seconds() >= h->next_at)
        status = send_next(h, w, err);
    pthread_mutex_unlock(&h->lock);
    return status;
}

void rs_webhook_wake(rs_webhook *h)
{
    pthread_mutex_lock(&h->lock);
    h->is_empty = false;
    pthread_mutex_unlock(&h->lock);
}

bool rs_webhook_is_done(const rs_webhook *hook, unsigned failures)
{
    rs_webhook *h = (rs_webhook *)hook;
    pthread_mutex_lock(&h->lock);
    bool done = h->state == IDLE && (h->is_empty || h->failures >= failures);
    pthread_mutex_unlock(&h->lock);
    return done;
}

void rs_webhook_close(rs_webhook *h, rs_watch *w)
{
    rs_error why = RS_ERROR_INIT;
    const char *complaint;
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    while (h->state == SENDING) pthread_cond_wait(&h->changed, &h->lock);
    if (h->state == ANSWERED && w) note_answer(h, w, &complaint, &why);
    h->state = ENDED;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    release(h);
}
