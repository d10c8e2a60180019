/* annotate: counter events for the trace itself. Who writes the trace is told what to append. */
#include <string.h>

#include "analysis/annotate.h"
#include "base/try.h"

#define COUNTER_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_counter_event, ns), "ts_us", TIME, US, "when the counter changes, on the file's own clock",   \
         "time")                                                                                             \
    CELL(OF(rs_counter_event, pid), "pid", INT, ID, "process (device) the counter is listed under", NULL)    \
    CELL(OF(rs_counter_event, stream), "id", INT, ID,                                                        \
         "stream; unknown where the counter is not of one stream", NULL)                                     \
    CELL(TEXT_ID(rs_counter_event, name), "name", TEXT, NONE, "name of the counter track", NULL)             \
    CELL(TEXT_ID(rs_counter_event, series), "series", TEXT, NONE, "name of the value in it", NULL)           \
    CELL(OF(rs_counter_event, value), "value", REAL, NONE, "from then on", NULL)
RS_RECORD(counter, COUNTER_ROW);
RS_RECORD(file, RS_FILE_ROW);

static const rs_option_spec options[] = {
    {"counters", RS_OPTION_TEXT, "LIST", NULL, "queue,bandwidth",
     "which counters: queue (launches that wait, by stream), bandwidth (of copies)"},
};

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

static void put_queue(const rs_queue_series *queue, rs_relations *out)
{
    uint32_t name = rs_put_string(out, "Queue Length");
    for (size_t k = 0; k < queue->n; k++) {
        const rs_queue_sample *s = &queue->items[k];
        rs_put(out, 0, &(rs_counter_event){s->ns, s->pid, s->stream, name, name, (double)s->length});
    }
}

static rs_status put_rates(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_relations *out,
                           rs_error *err)
{
    rs_copies copies;
    RS_TRY(rs_copies_of(run, trace, rules, out, &copies, err));
    uint32_t series = rs_put_string(out, "Memcpy BW");
    for (size_t k = 0; k < 2 * copies.n; k++) {
        const rs_copy_point *x = &copies.points[k];
        rs_put(out, 0, &(rs_counter_event){x->ns, x->pid, RS_NO_VALUE, x->name, series, x->in_use});
    }
    return RS_OK;
}

rs_status rs_annotate_put(const rs_run *run, rs_trace *trace, rs_annotate_queue_fn measure,
                          const rs_copy_rules *rules, rs_relations *out, rs_error *err)
{
    bool queue = false, bandwidth = false;
    rs_queue_series series = {0};
    RS_TRY(read_list(rs_options_text(run->options, "counters"), &queue, &bandwidth, err));
    if (trace->n_recordings > 1)
        return rs_fail(err, RS_ERR_USAGE,
                       "a rank has %zu recordings (%s): give one file of each rank to annotate",
                       trace->n_recordings, trace->file);
    rs_status status = queue ? measure(run, trace, &series, err) : RS_OK;
    put_queue(&series, out);
    rs_queue_series_clear(&series);
    return status == RS_OK && bandwidth ? put_rates(run, trace, rules, out, err) : status;
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    return rs_annotate_put(run, trace, own_queue, NULL, out, err);
}

void rs_annotate_note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (of->items[0].n == 0)
        rs_result_note(result, "rank %lld: no launched GPU work and no copies to count",
                       (long long)partial->rank);
}

const rs_layout rs_annotate_layout = RS_RECORD_LAYOUT(rs_counter_event, counter);
static const rs_plan_relation relations[] = {{RS_ANNOTATE_EVENTS, .make = put}};
static const rs_plan_table counter_table = {RS_PLAN_TABLE(
                               "counter_events", "one row is one counter event to append to the trace",
                               counter)},
                           file_table = {RS_PLAN_TABLE("files", "one row is one rank's file", file),
                                         .relation = RS_OF_PARTIALS};
const rs_table_spec *const rs_annotate_tables[2] = {&counter_table.spec, &file_table.spec};
static const rs_plan plan = {RS_PLAN(relations, rs_annotate_tables), .note = rs_annotate_note};

const rs_analysis rs_analysis_annotate = {
    .name = "annotate",
    .group = "GPU time",
    .help = "Write the trace again with counter tracks: queue length, copy bandwidth",
    .about =
        "With -o FILE the trace is copied, every byte of every event kept, and counter events are appended "
        "that a\n"
        "viewer shows as tracks. The output's name decides its packing: .gz, .zst, else plain. Several ranks "
        "need\n"
        "a directory, -o DIR/, in which the files keep their names. Without -o the counter events are "
        "printed.",
    .examples = "rankscope annotate -o with_counters.json.gz trace.json.gz\n"
                "rankscope annotate -o annotated/ --counters queue traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details},
    .columns = RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH),
    .plan = &plan,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "it writes the whole trace again; fuse writes a part of one",
};
