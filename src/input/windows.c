#include "input/windows.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

#ifdef RS_SMALL_WINDOWS
/* Fuzzing: small inputs are to cross the seams between windows too. */
#define BLOCK ((size_t)512)
#define HEADROOM ((size_t)128)
#else
/* A block fits the second-level cache, so that what was just read or inflated is parsed from there. */
#define BLOCK ((size_t)512 << 10)
#define HEADROOM ((size_t)64 << 10)
#endif
#define RING 4

typedef struct block {
    uint8_t *bytes; /* HEADROOM + BLOCK + padding */
    size_t n;
    bool last;
    rs_status status; /* of the read that filled it */
} block;

struct rs_windows {
    rs_source *source;
    size_t max_window;
    rs_window now;
    const uint8_t *memory; /* the whole text, if it lies in memory */
    size_t memory_n;

    uint8_t *own; /* a window assembled here: carried bytes and new ones */
    size_t own_size;

    bool threaded, thread_started, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    block ring[RING];
    uint8_t carry[HEADROOM];   /* what was left of a block that went back to the producer */
    size_t produced, consumed; /* blocks handed over and given back */
    rs_error thread_error;
};

static void *produce(void *context)
{
    rs_windows *w = context;
    for (bool last = false; !last;) {
        pthread_mutex_lock(&w->lock);
        while (!w->stop && w->produced - w->consumed == RING) pthread_cond_wait(&w->changed, &w->lock);
        bool stop = w->stop;
        block *b = &w->ring[w->produced % RING];
        pthread_mutex_unlock(&w->lock);
        if (stop) break;
        b->status = rs_source_read(w->source, b->bytes + HEADROOM, BLOCK, &b->n, &w->thread_error);
        b->last = last = b->n < BLOCK || b->status != RS_OK;
        memset(b->bytes + HEADROOM + b->n, 0, RS_WINDOW_PADDING);
        pthread_mutex_lock(&w->lock);
        w->produced++;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

rs_status rs_windows_open(rs_source *source, bool threaded, size_t max_window, rs_windows **out,
                          rs_error *err)
{
    *out = NULL;
    rs_windows *w = rs_calloc(1, sizeof *w);
    if (!w) return rs_fail_nomem(err, "input window");
    w->source = source;
    w->max_window = max_window;
    w->memory = rs_source_memory(source, &w->memory_n);
    w->threaded = threaded && !w->memory;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (w->threaded) {
        for (size_t i = 0; i < RING; i++) {
            w->ring[i].bytes = rs_malloc(HEADROOM + BLOCK + RS_WINDOW_PADDING);
            if (!w->ring[i].bytes) {
                rs_windows_close(w);
                return rs_fail_nomem(err, "input window");
            }
        }
        /* Without a second thread the work is merely done here. */
        w->thread_started = pthread_create(&w->thread, NULL, produce, w) == 0;
        w->threaded = w->thread_started;
    }
    *out = w;
    return RS_OK;
}

void rs_windows_close(rs_windows *w)
{
    if (!w) return;
    if (w->thread_started) {
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    for (size_t i = 0; i < RING; i++) rs_free(w->ring[i].bytes);
    rs_free(w->own);
    rs_free(w);
}

/* Moves what is left of the present window to the start of `own`, which gets room for `more` bytes behind it.
 */
static rs_status carry_to_own(rs_windows *w, const uint8_t *left, size_t n, size_t more, rs_error *err)
{
    if (n > w->max_window)
        return rs_fail_at(err, RS_ERR_LIMIT, rs_source_name(w->source), w->now.offset,
                          "one record is longer than %zu bytes", w->max_window);
    size_t need = n + more + RS_WINDOW_PADDING;
    if (need > w->own_size) {
        size_t size = need + need / 2;
        uint8_t *fresh = rs_malloc(size);
        if (!fresh) return rs_fail_nomem(err, "input window");
        if (n) memcpy(fresh, left, n);
        rs_free(w->own);
        w->own = fresh;
        w->own_size = size;
    } else if (n) {
        memmove(w->own, left, n);
    }
    return RS_OK;
}

static rs_status next_from_memory(rs_windows *w, const uint8_t *left, size_t n_left, rs_error *err)
{
    if (!w->now.data && w->memory_n > BLOCK) {
        w->now = (rs_window){.data = w->memory, .n = w->memory_n - RS_WINDOW_PADDING};
        return RS_OK;
    }
    /* The last bytes have nothing readable behind them: they are copied to where there is. */
    size_t n = w->now.data ? n_left + RS_WINDOW_PADDING : w->memory_n;
    const uint8_t *from = w->now.data ? left : w->memory;
    size_t max = w->max_window;
    w->max_window = SIZE_MAX; /* it already is in memory: nothing to guard */
    rs_status status = carry_to_own(w, from, n, 0, err);
    w->max_window = max;
    if (status != RS_OK) return status;
    memset(w->own + n, 0, RS_WINDOW_PADDING);
    w->now.data = w->own;
    w->now.n = n;
    w->now.last = true;
    return RS_OK;
}

static rs_status next_from_thread(rs_windows *w, const uint8_t *left, size_t n_left, rs_error *err)
{
    pthread_mutex_lock(&w->lock);
    while (w->produced == w->consumed) pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    block *b = &w->ring[w->consumed % RING];
    if (b->status != RS_OK) {
        if (err) *err = w->thread_error;
        return b->status;
    }
    const uint8_t *bytes = b->bytes + HEADROOM;
    size_t n = b->n;
    bool last = b->last;
    if (n_left <= HEADROOM) {
        if (n_left) memcpy(b->bytes + HEADROOM - n_left, left, n_left);
        w->now.data = bytes - n_left;
    } else {
        rs_status status = carry_to_own(w, left, n_left, n, err);
        if (status != RS_OK) return status;
        memcpy(w->own + n_left, bytes, n + RS_WINDOW_PADDING);
        w->now.data = w->own;
    }
    w->now.n = n_left + n;
    w->now.last = last;
    return RS_OK;
}

rs_status rs_windows_next(rs_windows *w, size_t used, rs_window *out, rs_error *err)
{
    const uint8_t *left = w->now.data ? w->now.data + used : NULL;
    size_t n_left = w->now.data ? w->now.n - used : 0;
    w->now.offset += used;
    rs_status status = RS_OK;
    if (w->now.last) {
        w->now.data = left;
        w->now.n = n_left;
    } else if (w->memory) {
        status = next_from_memory(w, left, n_left, err);
    } else if (w->threaded) {
        bool first = w->now.data == NULL;
        if (!first) {
            /* what is left is copied out first, then the block goes back to the producer */
            if (n_left <= HEADROOM) {
                memcpy(w->carry, left, n_left);
                left = w->carry;
            } else {
                status = carry_to_own(w, left, n_left, BLOCK, err);
                left = w->own;
            }
            pthread_mutex_lock(&w->lock);
            w->consumed++;
            pthread_cond_broadcast(&w->changed);
            pthread_mutex_unlock(&w->lock);
        }
        if (status == RS_OK) status = next_from_thread(w, left, n_left, err);
    } else {
        size_t got = 0;
        status = carry_to_own(w, left, n_left, BLOCK, err);
        if (status == RS_OK) status = rs_source_read(w->source, w->own + n_left, BLOCK, &got, err);
        if (status == RS_OK) {
            w->now.data = w->own;
            w->now.n = n_left + got;
            w->now.last = got < BLOCK;
            memset(w->own + w->now.n, 0, RS_WINDOW_PADDING);
        }
    }
    *out = w->now;
    return status;
}
