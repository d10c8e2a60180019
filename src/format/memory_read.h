/* The PyTorch memory timeline: what export_memory_timeline writes as .raw.json or .raw.json.gz. */
#pragma once

#include "base/memory.h"
#include "input/source.h"
#include "rankscope/analysis.h"

/* In the order of torch.profiler's _memory_profiler._CATEGORY_TO_INDEX. */
enum { RS_N_MEMORY_CATEGORIES = 8 };
extern const char *const rs_memory_category_names[RS_N_MEMORY_CATEGORIES];

/* What is held at one time, in bytes. Changes at the same time are one. */
typedef struct rs_memory_sample {
    int64_t time; /* ns */
    int64_t bytes[RS_N_MEMORY_CATEGORIES];
    int64_t total;
} rs_memory_sample;

typedef struct rs_memory_timeline {
    uint64_t n;                                 /* changes read */
    int64_t first, last;                        /* times; RS_NO_TIME without any */
    rs_memory_sample at_start, at_peak, at_end; /* at_start: what was there before the recording */
    int64_t peak[RS_N_MEMORY_CATEGORIES];       /* of each category by itself */
    int64_t peak_time[RS_N_MEMORY_CATEGORIES];
    int64_t allocated[RS_N_MEMORY_CATEGORIES],
        freed[RS_N_MEMORY_CATEGORIES]; /* without what was there before */
    uint64_t n_allocated[RS_N_MEMORY_CATEGORIES];
    rs_memory_sample *samples; /* when asked for */
    size_t n_samples, capacity;
} rs_memory_timeline;

/* Reads the whole source in pieces; memory is a window and, with keep_samples, the samples. Defects are
 * counted in problems. */
rs_status rs_memory_read(rs_source *source, bool keep_samples, rs_memory_timeline *out, rs_problems *problems,
                         rs_error *err);
void rs_memory_clear(rs_memory_timeline *timeline);
