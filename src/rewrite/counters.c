/* Counter tracks of memory's table `counters`: as Chrome's JSON, or in Perfetto's own form, for which the rows become
 * events of the rank. */
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "rankscope/fuse.h"
#include "rankscope/rewrite.h"
#include "rewrite/proto_bytes.h"
#include "text/json_put.h"

/* Columns of the table. */
enum { RANK, DEVICE, TIME, HELD, ACTIVE, RESERVED };
enum { N_VALUES = 3 };
static const char *const value_names[N_VALUES] = {"held", "active", "reserved"};

/* When a row was, ns from the table's origin; without times rows follow each other by microseconds. */
static int64_t time_of(const rs_table *t, size_t row, size_t first)
{
    if (rs_table_is_null(t, row, TIME)) return (int64_t)(row - first) * 1000;
    return rs_table_int(t, row, TIME);
}

static void track_name(const rs_table *t, size_t row, char *out, size_t size)
{
    size_t n;
    snprintf(out, size, "GPU memory %.60s", rs_table_text(t, row, DEVICE, &n));
}

/* The first row after those of the rank, or of the device, that `row` is of. */
static size_t end_of(const rs_table *t, size_t row, bool device)
{
    size_t end = row, n;
    const char *name = rs_table_text(t, row, DEVICE, &n);
    while (end < rs_table_n_rows(t) && rs_table_int(t, end, RANK) == rs_table_int(t, row, RANK) &&
           (!device || strcmp(rs_table_text(t, end, DEVICE, &n), name) == 0))
        end++;
    return end;
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

static void put_process(rs_json_put *j, const rs_table *t, size_t row)
{
    char name[40];
    int64_t rank = rs_table_int(t, row, RANK);
    if (row && rank == rs_table_int(t, row - 1, RANK)) return; /* another device of it */
    snprintf(name, sizeof name, "rank %lld", (long long)rank);
    rs_json_put_track(j, "process_name", rank, 0, name);
}

static void put_counter(rs_json_put *j, const rs_table *t, size_t row, size_t first, const char *name)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "ph", "C");
    rs_json_put_text(j, "name", name);
    rs_json_put_int(j, "pid", rs_table_int(t, row, RANK));
    rs_json_put_int(j, "tid", 0);
    rs_json_put_time(j, "ts", time_of(t, row, first), RS_UNIT_US);
    rs_json_put_open(j, "args", '{', RS_JSON_LINE);
    for (size_t k = 0; k < N_VALUES; k++) rs_json_put_int(j, value_names[k], rs_table_int(t, row, HELD + k));
    rs_json_put_close(j);
    rs_json_put_close(j);
}

static rs_status write_json(const rs_table *t, const rs_sink *sink, rs_error *err)
{
    rs_writer w;
    rs_json_put j;
    rs_writer_init(&w, sink);
    rs_json_put_init(&j, &w);
    rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
    rs_json_put_int(&j, "baseTimeNanoseconds", rs_table_origin(t));
    rs_json_put_text(&j, "displayTimeUnit", "ms");
    rs_json_put_open(&j, "traceEvents", '[', RS_JSON_ROWS);
    for (size_t row = 0, end; row < rs_table_n_rows(t); row = end) {
        char name[80];
        track_name(t, row, name, sizeof name);
        put_process(&j, t, row);
        end = end_of(t, row, true);
        for (size_t i = row; i < end; i++) put_counter(&j, t, i, row, name);
    }
    rs_json_put_close(&j);
    rs_json_put_close(&j);
    rs_writer_char(&w, '\n');
    return rs_writer_finish(&w, err);
}

/* ---- Perfetto's form ----------------------------------------------------------------------------------------- */

/* One row as an event of phase C whose values are the sums. */
static rs_status add_event(rs_events *e, const rs_table *t, size_t row, size_t first, uint32_t name,
                           const uint32_t *values, rs_error *err)
{
    RS_TRY(rs_events_reserve(e, 1, err));
    uint32_t thread = rs_events_thread(
        e, (rs_thread){rs_table_int(t, row, RANK), rs_table_int(t, row, RANK), RS_NO_STRING, RS_NO_STRING});
    if (thread == UINT32_MAX) return rs_fail_nomem(err, "counters");
    uint32_t at = (uint32_t)e->n;
    e->start[at] = rs_add_sat(time_of(t, row, first), rs_table_origin(t));
    e->duration[at] = RS_NO_TIME;
    e->name[at] = name;
    e->thread[at] = thread;
    e->category[at] = 0;
    e->phase[at] = 'C';
    e->n++;
    for (size_t k = 0; k < N_VALUES; k++)
        RS_TRY(rs_events_add_counter(e, values[k], at, (double)rs_table_int(t, row, HELD + k), err));
    return RS_OK;
}

static rs_status add_rank(rs_events *e, const rs_table *t, size_t from, size_t to, rs_error *err)
{
    uint32_t values[N_VALUES];
    for (size_t k = 0; k < N_VALUES; k++) {
        values[k] = rs_strings_add(&e->strings, value_names[k], strlen(value_names[k]));
        if (values[k] == RS_NO_STRING) return rs_fail_nomem(err, "counters");
    }
    for (size_t row = from, end; row < to; row = end) {
        char name[80];
        track_name(t, row, name, sizeof name);
        uint32_t id = rs_strings_add(&e->strings, name, strlen(name));
        if (id == RS_NO_STRING) return rs_fail_nomem(err, "counters");
        end = end_of(t, row, true);
        for (size_t i = row; i < end; i++) RS_TRY(add_event(e, t, i, row, id, values, err));
    }
    return RS_OK;
}

static bool keep_all(const void *context, const rs_trace *trace, size_t at, int64_t *from, int64_t *to)
{
    (void)context;
    (void)trace;
    (void)at;
    *from = INT64_MIN;
    *to = INT64_MAX;
    return true;
}

static rs_status write_rank(const rs_table *t, size_t from, size_t to, size_t index, const rs_sink *sink,
                            rs_error *err)
{
    rs_events *events;
    rs_proto_bytes bytes = {0};
    rs_pftrace_rank rank = {.index = index, .rank = rs_table_int(t, from, RANK), .keeps = keep_all};
    RS_TRY(rs_events_create(RS_PFTRACE_COLUMNS, 0, &events, err));
    rs_trace trace;
    rs_status status = add_rank(events, t, from, to, err);
    rs_trace_init(&trace, events, NULL, events->n);
    if (status == RS_OK) status = rs_pftrace_write_rank(&trace, &rank, &bytes, err);
    if (status == RS_OK && bytes.n && !sink->write(sink->context, (const char *)bytes.bytes, bytes.n))
        status = rs_fail(err, RS_ERR_IO, "cannot write");
    rs_trace_clear(&trace);
    rs_free(bytes.bytes);
    rs_events_free(events);
    return status;
}

rs_status rs_counters_write(const rs_table *t, const rs_rewrite_settings *settings, const rs_sink *sink,
                            rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    size_t index = 0;
    if (strcmp(spec->name, "counters") != 0 || spec->n_columns != HELD + N_VALUES)
        return rs_fail(err, RS_ERR_USAGE, "table %s holds no counters: give memory's table counters",
                       spec->name);
    if (!settings->name || !rs_is_perfetto_name(settings->name)) return write_json(t, sink, err);
    for (size_t row = 0, end; row < rs_table_n_rows(t); row = end) {
        end = end_of(t, row, false);
        RS_TRY(write_rank(t, row, end, index++, sink, err));
    }
    return RS_OK;
}
