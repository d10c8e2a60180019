/* What was recorded: files, ranks, events by category, streams, steps, versions. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/order.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "trace/role_names.h"
#include "trace/selection.h"

typedef struct stream_row {
    int64_t device, stream, n, time, first, last;
} stream_row;

typedef struct fact {
    const char *item;
    char value[128];
} fact;

typedef struct category {
    char name[64];
    const char *kind;
    uint64_t events, spans;
    int64_t time;
} category;

typedef struct info info;
struct info {
    char *file;       /* of one of several recordings; owned */
    info *recordings; /* where there are several: each by itself */
    size_t n_recordings;
    const char *packing, *form;
    uint64_t text_bytes, lost, rounded;
    size_t n_events, n_gpu, n_unlinked, n_steps;
    bool truncated, has_span;
    int64_t origin; /* the rank's first event, selected or not; while the trace is there */
    int64_t base_ns, first, last, first_step, last_step, world_size;
    char device[128], backend[64], label[64];
    uint8_t role; /* rs_job_role */
    category *categories;
    size_t n_categories;
    stream_row *streams;
    size_t n_streams, streams_capacity;
    fact facts[24];
    size_t n_facts;
};

static const char *const no_yes[] = {"no", "yes"};

#define RANK_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(SET, "file", TEXT, NONE, "input file", NULL)                                                        \
    CELL(SET, "rank_from", TEXT, NONE, "where the rank number comes from", "rank from")                      \
    CELL(SET, "split_by", TEXT, NONE,                                                                        \
         "how a merged file was split into ranks; unknown for an ordinary file", NULL)                       \
    CELL(MAYBE(info, packing), "packing", TEXT, NONE, "plain, gzip or zstd, by the file's first bytes",      \
         NULL)                                                                                               \
    CELL(MAYBE(info, form), "form", TEXT, NONE, "object (traceEvents), array or lines (NDJSON)", NULL)       \
    CELL(OF(info, text_bytes), "text_bytes", INT, BYTES, "size of the text, unpacked", "text")               \
    CELL(OF(info, n_events), "events", INT, COUNT, "events of this rank", NULL)                              \
    CELL(OF(info, lost), "lost", INT, COUNT, "events of the file that were damaged beyond use", NULL)        \
    CELL(WORD(info, truncated, no_yes), "truncated", TEXT, NONE, "yes when the text ends too early", NULL)   \
    CELL(OF(info, rounded), "rounded_times", INT, COUNT,                                                     \
         "times of the file with digits below the nanosecond", "rounded")                                    \
    CELL(SET, "start_unix_ns", INT, ID,                                                                      \
         "first event on the epoch clock, ns; unknown without baseTimeNanoseconds", NULL)                    \
    CELL(IF(info, first, has_span), "first_us", TIME, US, "first event on the file's own clock", "first")    \
    CELL(SET, "span_us", TIME, US, "first start to last end of all complete events", "span")                 \
    CELL(OF(info, n_steps), "steps", INT, COUNT,                                                             \
         "steps: ProfilerStep#N, or detected from the repetition of the GPU work", NULL)                     \
    CELL(IF(info, first_step, n_steps), "first_step", INT, ID, "number of the first step", NULL)             \
    CELL(IF(info, last_step, n_steps), "last_step", INT, ID, "number of the last step", NULL)                \
    CELL(OF(info, n_gpu), "gpu_events", INT, COUNT, "kernels, copies and memsets", "GPU events")             \
    CELL(OF(info, n_unlinked), "unlinked", INT, COUNT, "of these, without their launch in the file", NULL)   \
    CELL(SOME_CHARS(info, device), "device_name", TEXT, NONE, "first device", "device")                      \
    CELL(SOME_CHARS(info, backend), "backend", TEXT, NONE, "communication backend", NULL)                    \
    CELL(OF(info, world_size), "world_size", INT, COUNT, "ranks of the whole job", "world")                  \
    CELL(SOME_CHARS(info, label), "label", TEXT, NONE, "what a merger calls the rank", NULL)                 \
    CELL(SET, "role", TEXT, NONE, "rollout, update, ...: ROLE=PATH, else as processes or annotations say",   \
         NULL)
RS_RECORD(rank, RANK_ROW);

#define CATEGORY_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(CHARS(category, name), "category", TEXT, NONE, "the event's cat; empty for metadata and the like",  \
         NULL)                                                                                               \
    CELL(OF(category, kind), "kind", TEXT, NONE, "what rankscope takes it for", NULL)                        \
    CELL(OF(category, events), "events", INT, COUNT, "events", NULL)                                         \
    CELL(OF(category, spans), "spans", INT, COUNT, "of these, complete events with a duration", NULL)        \
    CELL(OF(category, time), "time_us", TIME, US, "sum of their durations", "time")
RS_RECORD(category, CATEGORY_ROW);

#define STREAM_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(ID(stream_row, device), "device", INT, ID, "device ordinal", NULL)                                  \
    CELL(ID(stream_row, stream), "stream", INT, ID, "stream", NULL)                                          \
    CELL(OF(stream_row, n), "events", INT, COUNT, "GPU work on it", NULL)                                    \
    CELL(OF(stream_row, time), "time_us", TIME, US, "sum of their durations", "time")                        \
    CELL(OF(stream_row, first), "first_us", TIME, US, "first start, from the rank's first event", "first")   \
    CELL(OF(stream_row, last), "last_us", TIME, US, "last end, from the rank's first event", "last")
RS_RECORD(stream, STREAM_ROW);

#define SOFTWARE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(MAYBE(fact, item), "item", TEXT, NONE, "what the file says about itself", NULL)                     \
    CELL(CHARS(fact, value), "value", TEXT, NONE, "its value", NULL)
RS_RECORD(software, SOFTWARE_ROW);

static const rs_table_spec ranks_table =
    RS_TABLE("ranks", "One row a rank, or a recording where a rank has several.", rank_columns);
static const rs_table_spec categories_table =
    RS_TABLE("categories", "One row a rank and category.", category_columns);
static const rs_table_spec streams_table =
    RS_TABLE("streams", "One row a rank, device and stream.", stream_columns);
static const rs_table_spec software_table =
    RS_TABLE("software", "One row a rank and fact.", software_columns);

enum { RANKS, CATEGORIES, STREAMS, SOFTWARE };

static void info_clear(info *p)
{
    for (size_t i = 0; i < p->n_recordings; i++) info_clear(&p->recordings[i]); /* these have none */
    rs_free_all(p->recordings, p->file, p->categories, p->streams);
}

static void info_free(void *partial)
{
    info_clear(partial);
    rs_free(partial);
}

static void copy_text(char *out, size_t size, const rs_events *e, uint32_t id)
{
    snprintf(out, size, "%s", id == RS_NO_STRING ? "" : e->strings.items[id].text);
}

static void add_fact(info *p, const char *item, const char *format, ...) RS_PRINTF(3, 4);
static void add_fact(info *p, const char *item, const char *format, ...)
{
    if (p->n_facts == sizeof p->facts / sizeof *p->facts) return;
    va_list args;
    va_start(args, format);
    p->facts[p->n_facts].item = item;
    vsnprintf(p->facts[p->n_facts++].value, sizeof p->facts[0].value, format, args);
    va_end(args);
}

static void collect_facts(info *p, const rs_trace *t)
{
    const char *label;
    size_t length;
    if (rs_trace_label(t, &label, &length))
        snprintf(p->label, sizeof p->label, "%.*s", length < 64 ? (int)length : 63, label);
    const rs_events *e = t->events;
    const rs_file_info *i = &e->info;
    const struct {
        const char *item;
        int64_t value;
    } numbers[] = {{"schema version", i->schema_version}, {"CUDA runtime", i->cuda_runtime},
                   {"CUDA driver", i->cuda_driver},       {"CUPTI", i->cupti},
                   {"HIP runtime", i->hip_runtime},       {"HIP driver", i->hip_driver},
                   {"base time (ns)", i->base_time_ns}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (numbers[k].value != RS_NO_VALUE)
            add_fact(p, numbers[k].item, "%lld", (long long)numbers[k].value);
    if (i->roctracer_x1000 != RS_NO_VALUE)
        add_fact(p, "roctracer", "%lld.%lld", (long long)i->roctracer_x1000 / 1000,
                 (long long)i->roctracer_x1000 / 100 % 10);
    const struct {
        const char *item;
        uint32_t text;
    } texts[] = {{"NCCL", i->nccl_version},
                 {"trace name", i->trace_name},
                 {"trace id", i->trace_id},
                 {"display unit", i->display_unit}};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (texts[k].text != RS_NO_STRING)
            add_fact(p, texts[k].item, "%s", e->strings.items[texts[k].text].text);
    const struct {
        const char *item;
        bool on;
    } flags[] = {{"record_shapes", i->record_shapes},
                 {"with_stack", i->with_stack},
                 {"with_flops", i->with_flops},
                 {"with_modules", i->with_modules},
                 {"profile_memory", i->profile_memory}};
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k].on) add_fact(p, flags[k].item, "on");
    for (size_t k = 0; k < t->n_parts; k++) {
        const char *name = strrchr(t->parts[k], '/');
        add_fact(p, "file of the run", "%s", name ? name + 1 : t->parts[k]);
    }
    if (i->n_devices)
        add_fact(p, "devices in the machine", "%lld", i->n_devices < 0 ? 0LL : (long long)i->n_devices);
}

static rs_status collect_categories(info *p, rs_trace *t, rs_error *err)
{
    const rs_events *e = t->events;
    rs_row_test selected;
    RS_TRY(rs_row_test_begin(t, &selected, err));
    p->n_categories = e->n_categories;
    p->categories = rs_calloc(e->n_categories, sizeof *p->categories);
    if (!p->categories) return rs_fail_nomem(err, "info");
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (!rs_row_test_next(&selected, row)) continue;
        uint16_t c = e->category[row];
        p->n_events++;
        p->categories[c].events++;
        if (!rs_event_is_span(e, row)) continue;
        p->categories[c].spans++;
        /* a hostile sum may leave 64 bits: it wraps instead of stopping the program */
        p->categories[c].time = (int64_t)((uint64_t)p->categories[c].time + (uint64_t)e->duration[row]);
    }
    for (size_t c = 0; c < e->n_categories; c++) {
        copy_text(p->categories[c].name, sizeof p->categories[c].name, e, e->categories[c].name);
        p->categories[c].kind = c == 0 ? "none" : rs_kind_name(e->categories[c].kind);
    }
    return RS_OK;
}

static const rs_order by_stream[] = {RS_RISING(stream_row, device), RS_RISING(stream_row, stream)};

static rs_status collect_streams(info *p, const rs_work *work, rs_error *err)
{
    size_t last = 0;
    for (size_t i = 0; i < work->n; i++) {
        size_t at = last;
        if (at >= p->n_streams || p->streams[at].stream != work->stream[i] ||
            p->streams[at].device != work->device[i]) {
            for (at = 0; at < p->n_streams; at++)
                if (p->streams[at].stream == work->stream[i] && p->streams[at].device == work->device[i])
                    break;
        }
        if (at == p->n_streams) {
            if (!RS_PUSH(p->streams, p->n_streams, p->streams_capacity,
                         (stream_row){.device = work->device[i],
                                      .stream = work->stream[i],
                                      .first = work->start[i],
                                      .last = work->end[i]}))
                return rs_fail_nomem(err, "info");
        }
        last = at;
        stream_row *s = &p->streams[at];
        s->n++;
        s->time += work->end[i] - work->start[i];
        if (work->start[i] < s->first) s->first = work->start[i];
        if (work->end[i] > s->last) s->last = work->end[i];
    }
    for (size_t i = 0; i < p->n_streams; i++) {
        p->streams[i].first = rs_sub_sat(p->streams[i].first, p->origin);
        p->streams[i].last = rs_sub_sat(p->streams[i].last, p->origin);
    }
    RS_SORT(p->streams, p->n_streams, by_stream);
    return RS_OK;
}

static rs_status look_at(const rs_run *run, rs_trace *t, info *p, rs_error *err)
{
    const rs_events *e = t->events;
    p->packing = e->packing;
    p->form = e->form;
    p->text_bytes = e->n_bytes;
    p->lost = e->n_lost;
    p->rounded = e->n_rounded;
    p->truncated = e->truncated;
    p->base_ns = e->info.base_time_ns;
    p->world_size = e->info.world_size;
    copy_text(p->device, sizeof p->device, e, e->info.device_name);
    copy_text(p->backend, sizeof p->backend, e, e->info.backend);
    collect_facts(p, t);
    const rs_step *steps;
    const rs_work *work;
    rs_selector selector;
    rs_job_role role = RS_ROLE_NONE;
    bool annotated;
    int64_t last;
    size_t n = 0;
    rs_status status = rs_trace_span(t, &p->origin, &last, err);
    if (status == RS_OK) status = rs_trace_job_role(t, &role, &annotated, err);
    p->role = (uint8_t)role;
    if (status == RS_OK) status = rs_trace_selected_span(t, &p->first, &p->last, err);
    p->has_span = status == RS_OK && p->first != RS_NO_TIME;
    if (status == RS_OK) status = collect_categories(p, t, err);
    if (status == RS_OK) status = rs_trace_steps(t, &steps, &n, err);
    if (status == RS_OK) status = rs_trace_selector(t, &selector, err);
    if (status == RS_OK) {
        for (size_t i = 0; i < n; i++) {
            if (!rs_selects_step(&selector, &steps[i])) continue;
            if (p->n_steps == 0 || steps[i].number < p->first_step) p->first_step = steps[i].number;
            if (p->n_steps == 0 || steps[i].number > p->last_step) p->last_step = steps[i].number;
            p->n_steps++;
        }
        status = rs_trace_work_details(t, run->policy, &work, err);
    }
    if (status == RS_OK) {
        p->n_gpu = work->n;
        p->n_unlinked = work->n_unlinked;
        status = collect_streams(p, work, err);
    }
    return status;
}

/* One recording is a rank of its own rows. */
static rs_status look_at_recording(const rs_run *run, const rs_trace *whole, size_t at, info *p,
                                   rs_error *err)
{
    const rs_recording *r = &whole->recordings[at];
    size_t end = at + 1 < whole->n_recordings ? r[1].first_row : whole->events->n;
    size_t n = end - r->first_row;
    uint32_t *rows = rs_malloc((n + 1) * sizeof *rows);
    p->file = rs_strdup(r->file);
    if (!rows || !p->file) {
        rs_free(rows);
        return rs_fail_nomem(err, "info");
    }
    for (size_t i = 0; i < n; i++) rows[i] = r->first_row + (uint32_t)i;
    rs_trace one;
    rs_trace_init(&one, whole->events, rows, n);
    one.file = r->file;
    one.problems = whole->problems;
    one.selection = whole->selection;
    rs_status status = look_at(run, &one, p, err);
    rs_trace_clear(&one);
    p->packing = r->packing;
    p->form = r->form;
    p->text_bytes = r->n_bytes;
    p->lost = r->n_lost;
    p->rounded = r->n_rounded;
    p->truncated = r->truncated;
    return status;
}

static rs_status info_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    info *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "info");
    *partial = p;
    rs_status status = look_at(run, t, p, err);
    if (status != RS_OK || t->n_recordings < 2) return status;
    p->recordings = rs_calloc(t->n_recordings, sizeof *p->recordings);
    if (!p->recordings) return rs_fail_nomem(err, "info");
    while (status == RS_OK && p->n_recordings < t->n_recordings) {
        size_t at = p->n_recordings++;
        status = look_at_recording(run, t, at, &p->recordings[at], err);
    }
    return status;
}

static rs_status add_rank_row(rs_table *t, const rs_partial *partial, const info *p, rs_error *err)
{
    int64_t epoch = RS_NO_VALUE;
    if (!p->has_span || p->base_ns == RS_NO_VALUE || __builtin_add_overflow(p->base_ns, p->first, &epoch))
        epoch = RS_NO_VALUE;
    rs_table_put(t, &rank_record, partial->rank, p);
    rs_table_set_text(t, "file", p->file ? p->file : partial->source);
    rs_table_set_text(t, "rank_from", partial->rank_rule);
    rs_table_set_text(t, "split_by", partial->domain_rule);
    rs_table_set_int(t, "start_unix_ns", epoch);
    rs_table_set_time(t, "span_us", p->has_span ? p->last - p->first : RS_NO_TIME);
    rs_table_set_text(t, "role", rs_role_shown(partial->role, (rs_job_role)p->role));
    return rs_table_end_row(t, err);
}

static int by_name(const void *a, const void *b, const info *p)
{
    return strcmp(p->categories[*(const size_t *)a].name, p->categories[*(const size_t *)b].name);
}

static rs_status add_category_rows(rs_table *table, const rs_partial *partial, rs_error *err)
{
    const info *p = partial->value;
    RS_LOCAL size_t *order = rs_malloc(p->n_categories * sizeof *order);
    if (!order) return rs_fail_nomem(err, "info");
    /* few categories: insertion sort by name, as their ids carry no order */
    for (size_t i = 0; i < p->n_categories; i++) {
        size_t k = i;
        order[i] = i;
        for (; k > 0 && by_name(&order[k - 1], &order[k], p) > 0; k--) {
            size_t swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    }
    for (size_t i = 0; i < p->n_categories; i++) {
        size_t c = order[i];
        if (p->categories[c].events == 0) continue;
        RS_TRY(rs_table_put_row(table, &category_record, partial->rank, &p->categories[c], err));
    }
    return RS_OK;
}

static rs_status info_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                            rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const info *p = partials[i].value;
        for (size_t k = 0; status == RS_OK && k < p->n_recordings; k++)
            status = add_rank_row(result->tables[RANKS], &partials[i], &p->recordings[k], err);
        if (status == RS_OK && !p->n_recordings)
            status = add_rank_row(result->tables[RANKS], &partials[i], p, err);
        if (status == RS_OK) status = add_category_rows(result->tables[CATEGORIES], &partials[i], err);
        for (size_t k = 0; status == RS_OK && k < p->n_streams; k++)
            status = rs_table_put_row(result->tables[STREAMS], &stream_record, partials[i].rank,
                                      &p->streams[k], err);
        for (size_t k = 0; status == RS_OK && k < p->n_facts; k++)
            status = rs_table_put_row(result->tables[SOFTWARE], &software_record, partials[i].rank,
                                      &p->facts[k], err);
    }
    return status;
}

static const rs_table_spec *const tables[] = {&ranks_table, &categories_table, &streams_table,
                                              &software_table};
static const rs_table_set table_sets[] = {{RS_COMPAT_NONE, tables, sizeof tables / sizeof *tables}};

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_layout stream_layout = RS_RECORD_LAYOUT(stream_row, stream);
static const rs_layout category_layout = RS_RECORD_LAYOUT(category, category);
static const rs_layout fact_layout = RS_RECORD_LAYOUT(fact, software);

/* of a recording only its row is shown */
static const rs_field recording_fields[] = {
    RS_FIELD_BELOW(info, role, RS_N_ROLES),
    RS_FIELDS(info, file, has_span, base_ns, last),
};
static const rs_layout recording_layout = RS_RECORD_LAYOUT_AND(info, rank, recording_fields);

/* what is no cell of its row */
static const rs_field info_fields[] = {
    RS_FIELD_BELOW(info, role, RS_N_ROLES),
    RS_FIELD_LIST(info, recordings, n_recordings, &recording_layout),
    RS_FIELDS(info, has_span, base_ns, last),
    RS_FIELD_LIST(info, categories, n_categories, &category_layout),
    RS_FIELD_LIST(info, streams, n_streams, &stream_layout),
    RS_FIELD_STRUCTS(info, facts, &fact_layout),
    RS_FIELD_BELOW(info, n_facts, sizeof((info *)0)->facts / sizeof((info *)0)->facts[0] + 1),
};
static const rs_layout info_layout = RS_RECORD_LAYOUT_AND(info, rank, info_fields);

const rs_analysis rs_analysis_info = {
    .name = "info",
    .group = "Any trace",
    .help = "What was recorded: files, ranks, categories, streams, steps, versions",
    .about =
        "Shows what the input holds and how it was understood: which file is which rank and by which "
        "rule, how a "
        "merged file was split into ranks, how many events of which category, which devices and streams carry "
        "work, which training steps, and what the profiler says about itself and its software.",
    .examples = "rankscope info traces/\nrankscope info --table categories --format csv trace.json.gz",
    .table_sets = table_sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = info_rank,
    .merge = info_merge,
    .free_partial = info_free,
    .partial_layout = &info_layout,
};
