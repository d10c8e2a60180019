/* Series of a job's windows, and the rule that says when one has changed.
 *
 * A series is one measurement of the job, or of one rank, over the windows in order. A rank's is its excess: the logarithm of its
 * value over its first one, less the median of the same of the other ranks in the window, so that what all ranks share, and how
 * they always differ, cancel. A series has changed
 * when three windows in a row are above its limit and by at least the least effect. Three in a row survive noise with heavy
 * tails, on which sums of excesses (CUSUM) give thousands of false alarms a month.
 *
 * The limit is measured, not assumed: of the standardised values of all series of one measurement, q(h) is the share
 * above h and c(h) the share of values above h that follow another one above h. The chance of three in a row is at most
 * about q(h) c(h)^2, and h is the least at which that is the chance a window that allows one false alarm in 30 days over
 * all ranks. Beyond what the baseline shows, h grows by the tail's index (Hill), which errs to the large side. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rankscope/status.h"

/* What is measured of a rank in a window; its number is kept in histories, so new ones come at the end. */
typedef enum rs_watch_metric {
    RS_WATCH_STEP,    /* us: mean length of a step */
    RS_WATCH_OWN,     /* us a step: what the rank needed for itself, without waiting for others */
    RS_WATCH_COMPUTE, /* us a step */
    RS_WATCH_EXPOSED, /* us a step: communication that nothing hides */
    RS_WATCH_IDLE,    /* us a step */
    RS_WATCH_MFU,     /* percent */
    RS_WATCH_MEMORY,  /* bytes: the most that was reserved */
    RS_WATCH_PRESENT, /* whether it is there at all: never stored */
    RS_WATCH_METRICS
} rs_watch_metric;
#define RS_WATCH_STORED RS_WATCH_PRESENT

typedef struct rs_metric_spec {
    const char *name; /* in tables, histories and messages' identifiers: "step" */
    const char *noun; /* in sentences */
    bool is_share;    /* judged as a share of the step, else by its logarithm */
    bool falls;       /* a fall is what is bad */
    bool of_job, of_rank;
} rs_metric_spec;
extern const rs_metric_spec rs_metric_specs[RS_WATCH_METRICS];

#define RS_SERIES_RING 288 /* windows of a baseline, at most */
#define RS_SERIES_LEAST 12 /* windows of a baseline, at least */
#define RS_SERIES_IN_A_ROW 3
#define RS_JOB (-1) /* instead of a rank */

/* The values of one window. */
typedef struct rs_window_values {
    int64_t id; /* ascending */
    int64_t start_ns;
    const int64_t *ranks; /* ascending */
    size_t n;
    const float *values[RS_WATCH_STORED]; /* one a rank; NaN: unknown; NULL: unknown for all */
} rs_window_values;

typedef enum rs_series_what {
    RS_SERIES_BEGUN,
    RS_SERIES_OVER,
    RS_SERIES_SETTLED /* it has lasted for a whole baseline and is the new one */
} rs_series_what;

typedef struct rs_series_event {
    rs_watch_metric metric;
    int64_t rank; /* RS_JOB */
    rs_series_what what;
    int64_t since;     /* id of the first window of the new level; of the old one again for RS_SERIES_OVER */
    double usual, now; /* in the metric's unit, of the job's median rank or the rank; NaN: unknown */
    double change, low, high; /* relative change and its 95 % interval; of shares in parts of the step */
} rs_series_event;

typedef struct rs_window_series rs_window_series;

/* min_effect: the least change that counts, as a share (0.03). NULL when out of memory. */
rs_window_series *rs_series_create(double min_effect);
void rs_series_free(rs_window_series *series); /* NULL is allowed */

/* Takes the next window and judges it. *events are the series' own until the next call. O(ranks) most times; every 16th window
 * O(ranks * baseline). RS_ERR_NOMEM leaves it unusable. */
rs_status rs_series_push(rs_window_series *series, const rs_window_values *window,
                         const rs_series_event **events, size_t *n_events, rs_error *err);

/* After windows of a history were pushed again: sets whether a series is in a change, which began in the window `since`. */
rs_status rs_series_set_open(rs_window_series *series, rs_watch_metric metric, int64_t rank, bool is_open,
                             int64_t since, rs_error *err);

/* What keeps a measurement of the job or of ranks from being judged, in words; NULL: it is judged. *limit: how many deviations
 * above the usual level three windows in a row must be. */
const char *rs_series_refusal(const rs_window_series *series, rs_watch_metric metric, bool of_rank,
                              double *limit);
