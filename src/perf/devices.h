/* What devices can do at best: a table with its sources (devices.tsv), or a user's file. */
#pragma once

#include "perf/types.h"
#include "trace/events.h"

/* Rates in TFLOP/s, dense and theoretical; NaN: the device has none, or it is unknown. */
typedef struct rs_rates {
    char name[64];
    double memory_gb, mem_gbps, link_gbps;
    double matrix[RS_N_PRECISIONS], vector[RS_N_PRECISIONS]; /* by precision */
} rs_rates;

/* The rates of a name of the table, letters in any case. False: there is no such name. */
bool rs_rates_find(const char *name, rs_rates *out);

/* --device: a name of the table, or a JSON file {"name", "mem_bw_gbps", "memory_gb", "link_gbps",
 * "max_achievable_tflops": {"matrix_bf16": ...}}. What the file lacks is unknown. RS_ERR_USAGE for what is
 * neither, with the nearest name. */
rs_status rs_rates_of_option(const char *word, rs_rates *out, rs_error *err);
/* Whether the word can only be a name of the table, which rs_rates_of_option then looks up without reading
 * anything. */
bool rs_rates_is_plain_name(const char *word);

/* The device's name in the table, static text; NULL: it is not known. */
const char *rs_device_known_as(const rs_events *events, const rs_device *device);

/* The rate that bounds matrix FLOPs of a precision: fp32 without matrix units runs on the vector units. NaN:
 * unknown. */
double rs_rates_matrix(const rs_rates *rates, rs_precision precision);
/* ... and vector FLOPs: where the precision has no rate of its own, fp32's. */
double rs_rates_vector(const rs_rates *rates, rs_precision precision);

/* The least time of one call, and what it is bound by. */
typedef struct rs_least_time {
    double us;        /* NaN: unknown */
    const char *what; /* "matrix", "vector", "memory"; NULL */
} rs_least_time;

/* The longest of what matrix FLOPs of the precision, vector FLOPs and bytes take. */
rs_least_time rs_rates_bound(const rs_rates *rates, rs_precision precision, int64_t matrix, int64_t vector,
                             int64_t bytes);
