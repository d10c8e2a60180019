#include "input/windows.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"

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
#define MAX_SLOTS 32

/* A block of the text on its way to the reader. */
typedef struct block {
    uint8_t *buffer;      /* HEADROOM + BLOCK + padding */
    const uint8_t *bytes; /* in the buffer behind the headroom, or in the source's memory */
    size_t n;
    bool last, ready, prepared;
    rs_status status; /* of the read that filled it */
    rs_error error;
} block;

struct rs_windows {
    rs_source *source;
    size_t max_window;
    rs_window now;
    const uint8_t *memory; /* the whole text, if it is in memory */
    size_t memory_n;

    uint8_t *own; /* a window assembled here: carried bytes and new ones */
    size_t own_size;

    /* With threads: block k is in slot k % n_slots from its claim until the reader has asked for what
     * follows. */
    block *slots;
    unsigned n_slots;
    uint64_t claimed, consumed;
    bool in_block; /* the present window is block `consumed` */
    rs_prepare_fn prepare;
    void *context;
    pthread_t threads[MAX_SLOTS];
    unsigned n_threads;
    bool stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t *carry; /* HEADROOM: what was left of a block that was returned */
};

/* ---- blocks ----------------------------------------------------------------------------------------- */

static void fill_block(rs_windows *w, uint64_t k)
{
    block *b = &w->slots[k % w->n_slots];
    uint8_t *room = b->buffer + HEADROOM;
    b->bytes = room;
    b->status = RS_OK;
    if (w->memory) {
        uint64_t offset = k * BLOCK;
        size_t left = offset < w->memory_n ? w->memory_n - (size_t)offset : 0;
        b->n = left < BLOCK ? left : BLOCK;
        b->last = left <= BLOCK;
        if (left >= BLOCK + RS_WINDOW_PADDING) {
            b->bytes = w->memory + offset;
            return;
        }
        if (b->n) memcpy(room, w->memory + offset, b->n);
    } else if (w->prepare) {
        b->status = rs_source_read_at(w->source, k * BLOCK, room, BLOCK, &b->n, &b->error);
        b->last = b->n < BLOCK;
    } else {
        b->status = rs_source_read(w->source, room, BLOCK, &b->n, &b->error);
        b->last = b->n < BLOCK;
    }
    if (b->status != RS_OK) {
        b->n = 0;
        b->last = true;
    }
    memset(room + b->n, 0, RS_WINDOW_PADDING);
}

/* Fills the claimed block k, prepares it and hands it over; returns whether the text ends with it. */
static bool make_block(rs_windows *w, uint64_t k, bool prepare)
{
    block *b = &w->slots[k % w->n_slots];
    fill_block(w, k);
    b->prepared = prepare && b->status == RS_OK && b->n > 0;
    if (b->prepared) w->prepare(w->context, (unsigned)(k % w->n_slots), b->bytes, b->n, k * BLOCK);
    bool last = b->last;
    pthread_mutex_lock(&w->lock);
    b->ready = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return last;
}

static bool may_claim(const rs_windows *w)
{
    return w->claimed - w->consumed < w->n_slots;
}

static uint64_t claim(rs_windows *w)
{
    uint64_t k = w->claimed++;
    w->slots[k % w->n_slots].ready = false;
    return k;
}

static void *produce(void *context)
{
    rs_windows *w = context;
    for (;;) {
        pthread_mutex_lock(&w->lock);
        while (!w->stop && !may_claim(w)) pthread_cond_wait(&w->changed, &w->lock);
        bool stop = w->stop;
        uint64_t k = stop ? 0 : claim(w);
        pthread_mutex_unlock(&w->lock);
        if (stop) return NULL;
        if (make_block(w, k, w->prepare != NULL)) return NULL;
    }
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static rs_status open_windows(rs_source *source, unsigned n_slots, unsigned n_threads, size_t max_window,
                              rs_windows *w, rs_error *err)
{
    w->source = source;
    w->max_window = max_window;
    w->now.slot = -1;
    w->memory = rs_source_memory(source, &w->memory_n);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (n_slots == 0) return RS_OK;
    w->n_slots = n_slots;
    w->slots = rs_calloc(n_slots, sizeof *w->slots);
    w->carry = rs_malloc(HEADROOM);
    if (!w->slots || !w->carry) return rs_fail_nomem(err, "input window");
    for (unsigned i = 0; i < n_slots; i++) {
        w->slots[i].buffer = rs_malloc(HEADROOM + BLOCK + RS_WINDOW_PADDING);
        if (!w->slots[i].buffer) return rs_fail_nomem(err, "input window");
    }
    /* Where no further thread can be had, the reader does the work itself. */
    if (w->prepare) claim(w); /* the first block is the reader's: it begins with the header */
    for (; w->n_threads < n_threads; w->n_threads++)
        if (pthread_create(&w->threads[w->n_threads], NULL, produce, w) != 0) break;
    if (w->prepare) make_block(w, 0, false);
    return RS_OK;
}

static rs_status open_or_close(rs_windows *w, rs_status status, rs_windows **out)
{
    if (status == RS_OK)
        *out = w;
    else
        rs_windows_close(w);
    return status;
}

rs_status rs_windows_open(rs_source *source, bool threaded, size_t max_window, rs_windows **out,
                          rs_error *err)
{
    *out = NULL;
    rs_windows *w = rs_calloc(1, sizeof *w);
    if (!w) return rs_fail_nomem(err, "input window");
    size_t n;
    if (rs_source_memory(source, &n)) threaded = false;
    return open_or_close(w, open_windows(source, threaded ? RING : 0, threaded ? 1 : 0, max_window, w, err),
                         out);
}

unsigned rs_windows_slots(unsigned threads)
{
    unsigned n = 2 * threads;
    return n < MAX_SLOTS ? n : MAX_SLOTS;
}

rs_status rs_windows_open_prepared(rs_source *source, unsigned threads, rs_prepare_fn prepare, void *context,
                                   size_t max_window, rs_windows **out, rs_error *err)
{
    *out = NULL;
    rs_windows *w = rs_calloc(1, sizeof *w);
    if (!w) return rs_fail_nomem(err, "input window");
    w->prepare = prepare;
    w->context = context;
    unsigned n_threads = threads - 1 < MAX_SLOTS ? threads - 1 : MAX_SLOTS;
    return open_or_close(w, open_windows(source, rs_windows_slots(threads), n_threads, max_window, w, err),
                         out);
}

void rs_windows_close(rs_windows *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n_threads; i++) pthread_join(w->threads[i], NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    for (unsigned i = 0; w->slots && i < w->n_slots; i++) rs_free(w->slots[i].buffer);
    rs_free_all(w->slots, w->carry, w->own, w);
}

/* ---- windows ---------------------------------------------------------------------------------------- */

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
        w->now = (rs_window){.data = w->memory, .n = w->memory_n - RS_WINDOW_PADDING, .slot = -1};
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

/* Waits for block `consumed`; meanwhile does what is to be done for it or for those behind it. */
static const block *await_block(rs_windows *w)
{
    uint64_t k = w->consumed;
    block *b = &w->slots[k % w->n_slots];
    pthread_mutex_lock(&w->lock);
    for (;;) {
        /* a source that is read in order has one reader: its thread, if there is one */
        bool mine = w->claimed == k && (w->prepare || w->n_threads == 0);
        /* before its claim the slot still says so of the block that lay there before */
        if (w->claimed > k && b->ready) break;
        if (mine || (w->prepare && may_claim(w))) {
            uint64_t todo = claim(w);
            pthread_mutex_unlock(&w->lock);
            make_block(w, todo, w->prepare && todo != k);
            pthread_mutex_lock(&w->lock);
        } else {
            pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return b;
}

static void give_back(rs_windows *w)
{
    pthread_mutex_lock(&w->lock);
    w->consumed++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* How much to put behind n bytes that were too few. A record longer than a block is looked at again with
 * every window: windows that double keep that linear in its length. */
static size_t worth_adding(const rs_windows *w, size_t n)
{
    size_t more = n < w->max_window / 2 ? n : w->max_window > n ? w->max_window - n : 0;
    return more > BLOCK ? more : BLOCK;
}

/* Puts further blocks behind the window, which is in `own`. */
static rs_status append_blocks(rs_windows *w, size_t wanted, rs_error *err)
{
    while (!w->now.last && w->now.n < wanted) {
        give_back(w);
        const block *b = await_block(w);
        if (b->status != RS_OK) {
            if (err) *err = b->error;
            return b->status;
        }
        RS_TRY(carry_to_own(w, w->own, w->now.n, b->n, err));
        memcpy(w->own + w->now.n, b->bytes, b->n + RS_WINDOW_PADDING);
        w->now.data = w->own;
        w->now.n += b->n;
        w->now.last = b->last;
        w->now.slot = b->prepared ? (int)(w->consumed % w->n_slots) : -1;
    }
    return RS_OK;
}

static rs_status next_from_slot(rs_windows *w, const uint8_t *left, size_t n_left, rs_error *err)
{
    bool in_place = w->memory && left && n_left && left >= w->memory && left < w->memory + w->memory_n;
    if (w->in_block) {
        /* what is left is copied out first, then the block goes back to the threads */
        if (n_left > HEADROOM) {
            rs_status status = carry_to_own(w, left, n_left, BLOCK, err);
            if (status != RS_OK) return status;
            left = w->own;
            in_place = false;
        } else if (!in_place) {
            memcpy(w->carry, left, n_left);
            left = w->carry;
        }
        give_back(w);
    }
    w->in_block = true;
    const block *b = await_block(w);
    if (b->status != RS_OK) {
        if (err) *err = b->error;
        return b->status;
    }
    bool block_in_place = b->bytes != b->buffer + HEADROOM;
    if (n_left == 0 || (in_place && block_in_place)) {
        w->now.data = b->bytes - n_left;
    } else if (n_left <= HEADROOM && !block_in_place) {
        memcpy(b->buffer + HEADROOM - n_left, left, n_left);
        w->now.data = b->bytes - n_left;
    } else {
        RS_TRY(carry_to_own(w, left, n_left, b->n, err));
        memcpy(w->own + n_left, b->bytes, b->n + RS_WINDOW_PADDING);
        w->now.data = w->own;
    }
    w->now.n = n_left + b->n;
    w->now.last = b->last;
    w->now.slot = b->prepared ? (int)(w->consumed % w->n_slots) : -1;
    return n_left > BLOCK ? append_blocks(w, n_left + worth_adding(w, n_left), err) : RS_OK;
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
        w->now.slot = -1;
    } else if (w->n_slots) {
        status = next_from_slot(w, left, n_left, err);
    } else if (w->memory) {
        w->now.slot = -1;
        status = next_from_memory(w, left, n_left, err);
    } else {
        size_t got = 0, wanted = worth_adding(w, n_left);
        w->now.slot = -1;
        status = carry_to_own(w, left, n_left, wanted, err);
        if (status == RS_OK) status = rs_source_read(w->source, w->own + n_left, wanted, &got, err);
        if (status == RS_OK) {
            w->now.data = w->own;
            w->now.n = n_left + got;
            w->now.last = got < wanted;
            memset(w->own + w->now.n, 0, RS_WINDOW_PADDING);
        }
    }
    *out = w->now;
    return status;
}
