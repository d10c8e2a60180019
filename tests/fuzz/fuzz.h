/* What the fuzz targets share. Each target defines fuzz_one; it stops the program where a promise is
 * broken. Under libFuzzer inputs are invented, by replay.c the kept ones are run again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rankscope/status.h"
#include "trace/events.h"

int fuzz_one(const uint8_t *data, size_t n);

/* Whether an input is tried in every way its target knows. Not so while inputs are invented: several threads would
 * make what libFuzzer learns a matter of chance, and a search that tries more inputs finds more. What a search kept
 * is replayed in every way. */
extern const bool fuzz_every_way;

#define PROMISE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* Bytes that a target had written: a sink with fuzz_keep and a fuzz_bytes collects them. free(text) ends it. */
typedef struct fuzz_bytes {
    char *text;
    size_t n, capacity;
} fuzz_bytes;

bool fuzz_keep(void *bytes, const char *text, size_t n);

/* What one load came to. */
typedef struct loaded {
    rs_status status;
    rs_error err;
    rs_events *events;
} loaded;

/* Stops unless both hold the same events, problems and header; packing: also what was said about that. */
void promise_same(const loaded *a, const loaded *b);
void loaded_clear(loaded *l);
