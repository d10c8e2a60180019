#define _GNU_SOURCE
#include "watch/cli/poster.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/try.h"

#define TIMEOUT_S 10
#define LONGEST_WAIT_S 600

typedef enum state { IDLE, SENDING, ANSWERED, ENDED } state;

struct rs_poster {
    rs_post_source source;
    pthread_t thread;
    pthread_mutex_t lock; /* of the state; what it holds is the thread's while it is SENDING */
    pthread_cond_t changed;
    state state;
    rs_fetch request;
    rs_text body;
    int64_t id; /* of the body */
    double next_at, wait_s;
    unsigned failures; /* in a row, of any body */
    unsigned tries;    /* of this one */
    bool is_empty;     /* nothing was left to claim at the last turn */
    char complaint[256];
};

rs_status rs_poster_check(const char *option, const char *url, rs_error *err)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return rs_fail(err, RS_ERR_USAGE, "%s takes a URL that begins with http:// or https://", option);
    return rs_fetch_check(err);
}

static void *send_all(void *context)
{
    rs_poster *h = context;
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

static void release(rs_poster *h)
{
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->changed);
    rs_fetch_clear(&h->request);
    rs_text_clear(&h->body);
    rs_free(h);
}

rs_status rs_poster_open(const char *url, const char *suffix, const rs_post_source *source, rs_poster **out,
                         rs_error *err)
{
    sigset_t all, before;
    rs_text whole = {0};
    rs_poster *h = rs_calloc(1, sizeof *h);
    *out = NULL;
    if (!h) return rs_fail_nomem(err, "the posts");
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    h->source = *source;
    rs_text_printf(&whole, "%s%s", url, suffix);
    h->request.url = rs_text_get(&whole) ? rs_strdup(whole.s) : NULL;
    rs_text_clear(&whole);
    sigfillset(&all); /* signals are for the thread that looks */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int why = h->request.url ? pthread_create(&h->thread, NULL, send_all, h) : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!why) {
        *out = h;
        return RS_OK;
    }
    release(h);
    return rs_fail(err, why < 0 ? RS_ERR_NOMEM : RS_ERR_IO, "the thread that posts cannot be started");
}

/* ---- turns -------------------------------------------------------------------------------------------------- */

/* What a receiver does not take now it may take later, or never will. */
static rs_watch_posted outcome_of(const rs_poster *h)
{
    const int status = h->request.status;
    if (status >= 200 && status < 300) return RS_WATCH_POSTED;
    bool is_last = h->source.tries && h->tries >= h->source.tries;
    return !is_last && (!status || h->source.may_take_later(status)) ? RS_WATCH_POST_AGAIN
                                                                     : RS_WATCH_POST_REFUSED;
}

static void complain(rs_poster *h, rs_watch_posted outcome)
{
    char why[160];
    if (h->request.status)
        snprintf(why, sizeof why, "the receiver answered with status %d", h->request.status);
    else
        snprintf(why, sizeof why, "%s", h->request.failure);
    snprintf(h->complaint, sizeof h->complaint, "%s: %s %lld was not posted: %s%s", h->source.option,
             h->source.noun, (long long)h->id, why,
             outcome == RS_WATCH_POST_REFUSED ? "; it is not tried again" : "; it is tried again");
}

static void wait_longer(rs_poster *h)
{
    h->wait_s = h->wait_s > 0 ? h->wait_s * 2 : 1;
    if (h->wait_s > LONGEST_WAIT_S) h->wait_s = LONGEST_WAIT_S;
    h->next_at = rs_clock_seconds() + h->wait_s;
}

static rs_status note_answer(rs_poster *h, const char **complaint, rs_error *err)
{
    char partly[160] = "";
    h->tries++;
    rs_watch_posted outcome = outcome_of(h);
    bool is_given_up = outcome == RS_WATCH_POST_REFUSED && h->tries > 1;
    rs_status status = h->source.end(h->source.context, h->id, outcome, &h->request, partly, err);
    if (status != RS_OK) h->tries--;
    RS_TRY(status);
    h->state = IDLE;
    if (*partly) snprintf(h->complaint, sizeof h->complaint, "%s: %s", h->source.option, partly);
    /* of an endpoint that is down the first failure is complained of, and the first body that is given up */
    if (is_given_up ? h->failures < h->source.tries
                    : outcome == RS_WATCH_POST_REFUSED || (outcome == RS_WATCH_POST_AGAIN && !h->failures))
        complain(h, outcome);
    else if (!*partly)
        h->complaint[0] = '\0';
    if (h->complaint[0]) *complaint = h->complaint;
    h->failures = outcome == RS_WATCH_POST_AGAIN || is_given_up ? h->failures + 1 : 0;
    if (outcome == RS_WATCH_POST_AGAIN) {
        wait_longer(h);
    } else {
        h->tries = 0;
        h->wait_s = h->next_at = 0;
    }
    return RS_OK;
}

static rs_status send_next(rs_poster *h, rs_error *err)
{
    bool has;
    rs_text_clear(&h->body);
    RS_TRY(h->source.claim(h->source.context, &h->body, &h->id, &has, err));
    h->is_empty = !has;
    if (!has) return RS_OK;
    if (!rs_text_get(&h->body)) return rs_fail_nomem(err, "a post");
    rs_free(h->request.body);
    h->request = (rs_fetch){
        .url = h->request.url, .post = true, .sent = h->body.s, .n_sent = h->body.n, .type = h->source.type};
    h->state = SENDING;
    pthread_cond_broadcast(&h->changed);
    return RS_OK;
}

rs_status rs_poster_turn(rs_poster *h, const char **complaint, rs_error *err)
{
    rs_status status = RS_OK;
    *complaint = NULL;
    if (!h) return RS_OK;
    pthread_mutex_lock(&h->lock);
    if (h->state == ANSWERED) status = note_answer(h, complaint, err);
    if (status == RS_OK && h->state == IDLE && !h->is_empty && rs_clock_seconds() >= h->next_at)
        status = send_next(h, err);
    pthread_mutex_unlock(&h->lock);
    return status;
}

void rs_poster_wake(rs_poster *h)
{
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    h->is_empty = false;
    pthread_mutex_unlock(&h->lock);
}

bool rs_poster_is_done(const rs_poster *poster, unsigned failures)
{
    rs_poster *h = (rs_poster *)poster;
    if (!h) return true;
    pthread_mutex_lock(&h->lock);
    bool done = h->state == IDLE && (h->is_empty || h->failures >= failures);
    pthread_mutex_unlock(&h->lock);
    return done;
}

void rs_poster_close(rs_poster *h)
{
    rs_error why = RS_ERROR_INIT;
    const char *complaint;
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    while (h->state == SENDING) pthread_cond_wait(&h->changed, &h->lock);
    if (h->state == ANSWERED) note_answer(h, &complaint, &why);
    h->state = ENDED;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    release(h);
}
