/* annotate: counter events for the trace itself. Who writes the trace is told what to append. */
#include <string.h>

#include "analysis/annotate.h"
#include "analysis/copy_rates.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"

typedef struct counter_event {
    int64_t ns, pid, stream; /* stream: RS_NO_VALUE where the counter is not of one */
    const char *name, *series;
    double value;
} counter_event;

#define COUNTER_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(counter_event, ns), "ts_us", TIME, US, "when the counter changes, on the file's own clock",      \
         "time")                                                                                             \
    CELL(OF(counter_event, pid), "pid", INT, ID, "process (device) the counter stands under", NULL)          \
    CELL(OF(counter_event, stream), "id", INT, ID, "stream; unknown where the counter is not of one stream", \
         NULL)                                                                                               \
    CELL(OF(counter_event, name), "name", TEXT, NONE, "name of the counter track", NULL)                     \
    CELL(OF(counter_event, series), "series", TEXT, NONE, "name of the value in it", NULL)                   \
    CELL(OF(counter_event, value), "value", REAL, NONE, "from then on", NULL)
RS_RECORD(counter, COUNTER_ROW);
RS_RECORD(file, RS_FILE_ROW);

static const rs_table_spec counter_table =
    RS_TABLE("counter_events", "one row is one counter event to append to the trace", counter_columns);
static const rs_table_spec file_table = RS_TABLE("files", "one row is one rank's file", file_columns);
enum { COUNTERS, FILES, N_TABLES };
static const rs_table_spec *const tables[] = {&counter_table, &file_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, N_TABLES}};

static const rs_option_spec options[] = {
    {"counters", RS_OPTION_TEXT, "LIST", NULL, "queue,bandwidth",
     "which counters: queue (launches that wait, by stream), bandwidth (of copies)"},
};

typedef struct annotate_partial {
    rs_queue_series queue;
    rs_copy_rates rates;
} annotate_partial;

void rs_annotate_free(void *partial)
{
    annotate_partial *p = partial;
    if (!p) return;
    rs_queue_series_clear(&p->queue);
    rs_copy_rates_clear(&p->rates);
    rs_free(p);
}

static rs_status read_list(const char *list, bool *queue, bool *bandwidth, rs_error *err)
{
    for (const char *word = list; *word;) {
        size_t n = strcspn(word, ",");
        if (n == 5 && memcmp(word, "queue", n) == 0)
            *queue = true;
        else if (n == 9 && memcmp(word, "bandwidth", n) == 0)
            *bandwidth = true;
        else
            return rs_fail(err, RS_ERR_USAGE, "--counters takes queue and bandwidth, not \"%.*s\"",
                           (int)(n < 60 ? n : 60), word);
        word += n + (word[n] == ',');
    }
    if (*queue || *bandwidth) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "--counters takes queue, bandwidth, or both with a comma between");
}

static rs_status own_queue(const rs_run *run, rs_trace *trace, rs_queue_series *out, rs_error *err)
{
    const rs_work *w;
    rs_status status = rs_trace_work_details(trace, run->policy, &w, err);
    return status == RS_OK ? rs_queue_of(trace, w, out, err) : status;
}

rs_status rs_annotate_rank(const rs_run *run, rs_trace *trace, rs_annotate_queue_fn measure,
                           const rs_copy_rules *rules, void **partial, rs_error *err)
{
    bool queue = false, bandwidth = false;
    rs_status status = read_list(rs_options_text(run->options, "counters"), &queue, &bandwidth, err);
    if (status != RS_OK) return status;
    annotate_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "counters");
    *partial = p;
    if (queue) status = measure(run, trace, &p->queue, err);
    if (status == RS_OK && bandwidth) status = rs_copy_rates_of(run, trace, rules, &p->rates, err);
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_annotate_rank(run, trace, own_queue, NULL, partial, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const annotate_partial *p = partials[i].value;
        int64_t number = partials[i].rank;
        rs_table *t = result->tables[COUNTERS];
        if (p->queue.n == 0 && p->rates.n == 0)
            rs_result_note(result, "rank %lld: no launched GPU work and no copies to count",
                           (long long)number);
        for (size_t k = 0; status == RS_OK && k < p->queue.n; k++) {
            const rs_queue_sample *s = &p->queue.items[k];
            counter_event e = {s->ns, s->pid, s->stream, "Queue Length", "Queue Length", (double)s->length};
            status = rs_table_put_row(t, &counter_record, number, &e, err);
        }
        for (size_t k = 0; status == RS_OK && k < p->rates.n; k++) {
            const rs_copy_rate *r = &p->rates.items[k];
            counter_event e = {r->ns, r->pid, RS_NO_VALUE, r->name, "Memcpy BW", r->gbps};
            status = rs_table_put_row(t, &counter_record, number, &e, err);
        }
        if (status != RS_OK) break;
        status = rs_table_put_row(result->tables[FILES], &file_record, number, &partials[i], err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field rate_fields[] = {RS_FIELD(rs_copy_rate, ns), RS_FIELD(rs_copy_rate, pid),
                                       RS_FIELD(rs_copy_rate, gbps), RS_FIELD(rs_copy_rate, name)};
static const rs_layout rate_layout = RS_LAYOUT(rs_copy_rate, rate_fields);

static const rs_field rates_fields[] = {RS_FIELD_LIST(rs_copy_rates, items, n, &rate_layout)};
static const rs_layout rates_layout = RS_LAYOUT(rs_copy_rates, rates_fields);

static const rs_field annotate_fields[] = {RS_FIELD_STRUCT(annotate_partial, queue, &rs_queue_series_layout),
                                           RS_FIELD_STRUCT(annotate_partial, rates, &rates_layout)};
const rs_layout rs_annotate_layout = RS_LAYOUT(annotate_partial, annotate_fields);

const rs_analysis rs_analysis_annotate = {
    .name = "annotate",
    .help = "Write the trace again with counter tracks: queue length, copy bandwidth",
    .about =
        "With -o FILE the trace is copied, every byte of every event kept, and counter events are appended "
        "that a\n"
        "viewer shows as tracks. The output's name tells its packing: .gz, .zst, else plain. Several ranks "
        "need\n"
        "a directory, -o DIR/, in which the files keep their names. Without -o the counter events are "
        "printed.",
    .examples = "rankscope annotate -o with_counters.json.gz trace.json.gz\n"
                "rankscope annotate -o annotated/ --counters queue traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details},
    .columns = RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH),
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "it writes the whole trace again; fuse writes a part of one",
    .rank = rank,
    .merge = merge,
    .free_partial = rs_annotate_free,
    .partial_layout = &rs_annotate_layout,
};
