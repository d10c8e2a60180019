/* The tree of causes: every moment has one moment that it waited for last. Paths, and how two of them differ.
 *
 * The sums are exact: what a sink is given for a chain adds up to the time between its ends, and for a
 * difference to the time between the two moments. */
#pragma once

#include "engine/engine.h"

/* One replay. */
typedef struct rs_forest {
    const rs_engine *e;
    const rs_weights *w;
    const rs_times *t;
} rs_forest;

/* Is given a link and how many ns of it count, which may be negative. False stops. */
typedef bool (*rs_link_sink)(void *context, const rs_link *link, int64_t ns);

/* What ran between `since` and the moment, going back from it; the last link is cut. false: the sink stopped.
 * *steps grows by the links that were climbed. */
bool rs_forest_chain(const rs_forest *f, uint32_t moment, int64_t since, rs_link_sink sink, void *context,
                     uint64_t *steps);

/* Why `late` was later than `early`: the links to it since their last common moment, less those to the other.
 * Found by climbing always from the later of the two. Without a common moment the distance of the roots is
 * part `window`. */
bool rs_forest_difference(const rs_forest *f, uint32_t late, uint32_t early, rs_link_sink sink, void *context,
                          uint64_t *steps);

/* By what a moment waited for the one before it on its path. */
typedef enum rs_tie {
    RS_TIE_WORK,     /* the duration of the work itself */
    RS_TIE_MEETING,  /* a collective: the last member's start */
    RS_TIE_THREAD,   /* what came before on the thread */
    RS_TIE_HANDOVER, /* ... on another thread */
    RS_TIE_STREAM,   /* what came before on the stream */
    RS_TIE_LAUNCH,
    RS_TIE_EVENT, /* work of another stream, as the trace tells */
    RS_TIE_SYNC,  /* a call, for the end of work */
    RS_TIE_QUEUE, /* a launch, for room in the queue */
    RS_TIE_CALL,  /* work of another stream, guessed from a call */
    RS_TIE_DEVICE,
    RS_TIE_REPEATED,
    RS_TIE_OCCUPIED, /* work of another stream that filled the device */
    RS_TIE_QUESTION, /* an edge that a what-if adds */
    RS_TIE_NOTHING,  /* nothing is known, or the trace begins */
    RS_N_TIES
} rs_tie;

extern const char *const rs_tie_names[RS_N_TIES];
rs_tie rs_forest_tie(const rs_forest *f, const rs_link *link);

/* ---- waiting ------------------------------------------------------------------------------------------- */

typedef enum rs_wait_kind {
    RS_WAIT_COMMUNICATION, /* a member of a collective, until the last has started */
    RS_WAIT_IDLE,          /* a device without work, between its first and its last */
    RS_WAIT_HOST,          /* a call, until the work that it waits for has ended */
    RS_N_WAITS
} rs_wait_kind;

extern const char *const rs_wait_names[RS_N_WAITS];

typedef struct rs_wait {
    uint32_t rank;  /* who waits */
    uint32_t node;  /* its communication, the work that ends the idling, the call */
    uint32_t until; /* moment: what it waited for */
    int64_t since;  /* ns */
    int64_t ns;
} rs_wait;

/* The waits of a kind that took time on a rank (as the engine numbers them), by node. *out is the caller's (rs_free).
 * Of all ranks at once they would take as much memory as the graph: look at one rank after another. */
rs_status rs_waits_find(const rs_forest *f, rs_wait_kind kind, size_t rank, rs_wait **out, size_t *n,
                        rs_error *err);
