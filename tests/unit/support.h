/* What the tests of the readers share: texts and how to make, damage, pack and compare them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/kineto.h"
#include "rankscope/text.h"
#include "unit.h"

/* ---- text ------------------------------------------------------------------------------------------- */

/* A growing text; an all-zero one is empty. Out of memory aborts. */
typedef struct text {
    char *s; /* terminated once anything was added */
    size_t n, capacity;
} text;

void text_add(text *t, const void *bytes, size_t n);
void text_puts(text *t, const char *s);
void text_printf(text *t, const char *format, ...) RS_PRINTF(2, 3);
void text_insert(text *t, size_t at, const void *bytes, size_t n);
void text_delete(text *t, size_t at, size_t n);
void text_clear(text *t);
/* A sink that appends to the text. */
rs_sink text_sink(text *t);
/* The whole file; fails the test if it cannot be read. */
text text_of_file(const char *path);
/* As above, unpacked by zlib if it is gzip. */
text text_unpacked(const char *path);

/* n events as a profiler writes them: several layouts, arguments, names that repeat and some that do not.
 * Elements are separated by a comma and a line end; no brackets around them. */
void text_events(text *t, size_t n, uint64_t seed);
/* A whole trace of n events with a header and members behind the events. */
text text_trace(size_t n, uint64_t seed);
/* A small rank of a job with that many training steps: operators, launches, kernels, collectives. */
void text_rank(text *t, int rank, int steps);
/* Writes a file; fails the test if it cannot. */
void text_save(const text *t, const char *path);

/* ---- chance ----------------------------------------------------------------------------------------- */

typedef struct rng {
    uint64_t state;
} rng;
uint64_t rng_next(rng *r);
size_t rng_below(rng *r, size_t n);
/* One to three flips, insertions, deletions, overwritings or swaps, at random places. */
void text_mutate(text *t, rng *r);

/* ---- packing ---------------------------------------------------------------------------------------- */

text gzip_pack(const void *bytes, size_t n, int level);
text zstd_pack(const void *bytes, size_t n);
/* What zlib makes of the first n bytes, and whether the stream was complete. */
text gzip_prefix(const void *bytes, size_t n, bool *complete);

/* ---- places ----------------------------------------------------------------------------------------- */

/* A copy of the bytes whose last one is followed by a page that may not be touched. */
typedef struct guarded {
    uint8_t *bytes;
    size_t n;
    void *map;
    size_t map_n;
} guarded;
guarded guarded_copy(const void *bytes, size_t n);
void guarded_free(guarded *g);

/* A file that is gone when it is closed; its path lies in `path`. */
int file_of(const void *bytes, size_t n, char path[64]);

/* ---- events ----------------------------------------------------------------------------------------- */

/* Where the elements of the event arrays lie in a valid text, found by counting brackets; documents may
 * follow each other, and a top-level object without "traceEvents" is an event if it has "ph". */
typedef struct spans {
    size_t *begin, *end;
    size_t n, capacity;
    size_t done; /* offset behind the last closing bracket of the text */
} spans;
spans spans_of(const char *s, size_t n);
void spans_clear(spans *s);
/* How many elements end at or before `cut`. */
size_t spans_before(const spans *s, size_t cut);

/* Loads bytes from memory with all columns. */
rs_status load_bytes(const void *bytes, size_t n, rs_events **out, rs_error *err);
rs_status load_with(const void *bytes, size_t n, const rs_load_settings *settings, rs_events **out,
                    rs_error *err);
/* ... which must succeed. */
rs_events *load(const void *bytes, size_t n);
rs_events *load_text(const char *s);
/* Through a file, as the command line does. */
rs_status load_file(const void *bytes, size_t n, const rs_load_settings *settings, rs_events **out,
                    rs_error *err);

/* Whether rows [from_a, from_a + n) of a say the same as rows from from_b of b: everything but ids. On a
 * difference the first one is printed. */
bool same_rows(const rs_events *a, size_t from_a, const rs_events *b, size_t from_b, size_t n);
/* Whether all of it is the same: rows, counters, info, documents, problems, losses. */
bool same_events(const rs_events *a, const rs_events *b);

/* The problem of that kind, or NULL. */
const rs_problem *problem_of(const rs_events *e, const char *kind);
uint64_t problem_count(const rs_events *e, const char *kind);
/* How many defects of all kinds. */
uint64_t problem_total(const rs_events *e);
const char *text_at(const rs_events *e, uint32_t id);

/* Calls visit for each Kineto trace of the optional corpus, in a fixed order; returns how many there are. */
typedef void (*corpus_fn)(const char *path, void *context);
size_t corpus_each(corpus_fn visit, void *context);
