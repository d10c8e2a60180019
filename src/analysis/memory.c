/* memory: what memory was used for: of PyTorch's memory timeline by category, of traces by device and operator. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/memory_clock.h"
#include "analysis/memory_snapshot.h"
#include "base/stats.h"
#include "analysis/memory_trace.h"
#include "base/memory.h"
#include "base/try.h"
#include "format/memory_read.h"
#include "base/interval.h"
#include "trace/selection.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL,
     "what is held whenever it changes: of a timeline by category, of traces and snapshots by device"},
    {"top", RS_OPTION_INT, "N", NULL, "20",
     "rows of each rank: of traces operators; of snapshots sites and blocks of each device; 0: all"},
    {"by", RS_OPTION_CHOICE, "WHAT", RS_SITE_BYS, "line",
     "snapshots: what a site is: the user's own source line, its function, ..., the whole stack; op: the operator, by --trace "
     "where it shows the allocation, else by frames of C++"},
    {"at", RS_OPTION_TEXT, "WHEN", NULL, "peak",
     "snapshots: when sites, blocks and categories are looked at: peak, end, or microseconds"},
    {"layers", RS_OPTION_INT, "N", NULL, NULL,
     "snapshots: what the largest sites hold over time, in N stretches; table layers"},
    {"layout", RS_OPTION_FLAG, NULL, NULL, NULL,
     "snapshots: which addresses are taken from the device at the time of --at; table layout"},
    {"base", RS_OPTION_TEXT, "PATH", NULL, NULL,
     "snapshots: compare with these: a snapshot, or the folder of a job; table change"},
    {"trace", RS_OPTION_TEXT, "PATH", NULL, NULL,
     "snapshots: traces of the same run, recorded with profile_memory=True: which step, phase and module made the "
     "peak, and what recomputing would cost; tables moments, modules, costs"},
    {"fit", RS_OPTION_TEXT, "SIZE", NULL, NULL,
     "snapshots: would it fit into a device of this size (80G); table fit"},
    {"other", RS_OPTION_TEXT, "SIZE", NULL, NULL,
     "... of which this is not PyTorch's: the CUDA context, NCCL, other processes"},
    {"without", RS_OPTION_TEXT, "PATTERN", NULL, NULL,
     "snapshots: the peak without the sites by line that this regular expression fits; table without"},
    {"recompute", RS_OPTION_TEXT, "PATTERN", NULL, NULL,
     "... with the activations of such sites made again for the backward pass"},
    {"early", RS_OPTION_TEXT, "PATTERN", NULL, NULL,
     "... with the blocks of such sites freed when the annotation around their allocation ends"},
    {"batch", RS_OPTION_REAL, "FACTOR", NULL, NULL, "... with a micro-batch of FACTOR times the size"},
    {"shard", RS_OPTION_INT, "N", NULL, NULL, "... with optimizer state divided over N times as many ranks"},
    {"counters", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "snapshots: write counter tracks of what is held, too (.json, .json.gz, .pftrace)"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "snapshots: exit 1 when a row of ranks meets the expression: 'out_of_memory > 0'"},
};

typedef struct category_row {
    const char *name;
    int64_t at_peak, peak, peak_time, before, end, allocated, freed;
    uint64_t n_allocated;
} category_row;

#define CATEGORY_ROW(CELL)                                                                                   \
    CELL(OF(category_row, name), "category", TEXT, NONE, "what the memory is for; total: all of it", NULL)   \
    CELL(OF(category_row, at_peak), "at_peak_bytes", INT, BYTES, "held when the total was largest",          \
         "at the peak")                                                                                      \
    CELL(SET, "at_peak_pct", REAL, PERCENT, "share of the total then", "share %")                            \
    CELL(OF(category_row, peak), "own_peak_bytes", INT, BYTES, "the most this category held by itself",      \
         "own peak")                                                                                         \
    CELL(OF(category_row, peak_time), "own_peak_at_us", MOMENT, US,                                          \
         "when that was; unknown if it never held anything", "at")                                           \
    CELL(OF(category_row, before), "before_bytes", INT, BYTES, "there before the recording", "before")       \
    CELL(OF(category_row, end), "end_bytes", INT, BYTES, "held at the end", "at the end")                    \
    CELL(OF(category_row, allocated), "allocated_bytes", INT, BYTES, "sum of all allocations recorded",      \
         "allocated")                                                                                        \
    CELL(OF(category_row, n_allocated), "allocations", INT, COUNT, "how many", NULL)                         \
    CELL(OF(category_row, freed), "freed_bytes", INT, BYTES, "sum of all releases recorded", "freed")
RS_RECORD(category, CATEGORY_ROW);

#define SAMPLE_ROW(CELL)                                                                                     \
    CELL(OF(rs_memory_sample, time), "time_us", MOMENT, US,                                                  \
         "from the first change; with --absolute as in the file", "time")                                    \
    CELL(OF(rs_memory_sample, bytes[0]), "parameter", INT, BYTES, "bytes held", NULL)                        \
    CELL(OF(rs_memory_sample, bytes[1]), "optimizer_state", INT, BYTES, "bytes held", "optimizer state")     \
    CELL(OF(rs_memory_sample, bytes[2]), "input", INT, BYTES, "bytes held", NULL)                            \
    CELL(OF(rs_memory_sample, bytes[3]), "temporary", INT, BYTES, "bytes held", NULL)                        \
    CELL(OF(rs_memory_sample, bytes[4]), "activation", INT, BYTES, "bytes held", NULL)                       \
    CELL(OF(rs_memory_sample, bytes[5]), "gradient", INT, BYTES, "bytes held", NULL)                         \
    CELL(OF(rs_memory_sample, bytes[6]), "autograd_detail", INT, BYTES, "bytes held", "autograd detail")     \
    CELL(OF(rs_memory_sample, bytes[7]), "unknown", INT, BYTES, "bytes held", NULL)                          \
    CELL(OF(rs_memory_sample, total), "total", INT, BYTES, "sum of them", NULL)
RS_RECORD(series, SAMPLE_ROW);

static const rs_table_spec category_table = RS_TABLE("memory", "one row is one category", category_columns);
static const rs_table_spec series_table = RS_TABLE(
    "series", "one row is what is held from one change to the next; empty without --series", series_columns);
enum { CATEGORIES, SERIES, DEVICES, OPERATORS, HELD, SNAPSHOTS };

static const rs_table_spec *const tables[] = {
    &category_table,
    &series_table,
    &rs_memory_devices_table,
    &rs_memory_operators_table,
    &rs_memory_held_table,
    &rs_memory_snapshot_tables[RS_MEMORY_RANKS],
    &rs_memory_snapshot_tables[RS_MEMORY_SITES],
    &rs_memory_snapshot_tables[RS_MEMORY_PEAK],
    &rs_memory_snapshot_tables[RS_MEMORY_CATEGORIES],
    &rs_memory_snapshot_tables[RS_MEMORY_TIMELINE],
    &rs_memory_snapshot_tables[RS_MEMORY_SEGMENTS],
    &rs_memory_snapshot_tables[RS_MEMORY_FRAGMENTATION],
    &rs_memory_snapshot_tables[RS_MEMORY_LEAKS],
    &rs_memory_snapshot_tables[RS_MEMORY_OOM],
    &rs_memory_snapshot_tables[RS_MEMORY_SPREAD],
    &rs_memory_snapshot_tables[RS_MEMORY_CHANGE],
    &rs_memory_snapshot_tables[RS_MEMORY_FIT],
    &rs_memory_snapshot_tables[RS_MEMORY_WITHOUT],
    &rs_memory_snapshot_tables[RS_MEMORY_MOMENTS],
    &rs_memory_snapshot_tables[RS_MEMORY_MODULES],
    &rs_memory_snapshot_tables[RS_MEMORY_COSTS],
    &rs_memory_snapshot_tables[RS_MEMORY_LAYERS],
    &rs_memory_snapshot_tables[RS_MEMORY_LAYOUT],
    &rs_memory_snapshot_tables[RS_MEMORY_FINDINGS],
    &rs_memory_snapshot_tables[RS_MEMORY_COUNTERS],
};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, sizeof tables / sizeof *tables}};

static rs_status add_category(rs_table *t, const category_row *r, int64_t peak, rs_error *err)
{
    rs_table_put(t, &category_record, 0, r);
    rs_table_set_real(t, "at_peak_pct", rs_percent(r->at_peak, peak));
    return rs_table_end_row(t, err);
}

static rs_status add_categories(const rs_memory_timeline *m, rs_table *t, rs_error *err)
{
    category_row all = {.name = "total",
                        .at_peak = m->at_peak.total,
                        .peak = m->at_peak.total,
                        .peak_time = m->first == RS_NO_TIME ? RS_NO_TIME : m->at_peak.time,
                        .before = m->at_start.total,
                        .end = m->at_end.total};
    rs_status status = RS_OK;
    for (int c = 0; status == RS_OK && c < RS_N_MEMORY_CATEGORIES; c++) {
        category_row r = {.name = rs_memory_category_names[c],
                          .at_peak = m->at_peak.bytes[c],
                          .peak = m->peak[c],
                          .peak_time = m->first == RS_NO_TIME ? RS_NO_TIME : m->peak_time[c],
                          .before = m->at_start.bytes[c],
                          .end = m->at_end.bytes[c],
                          .allocated = m->allocated[c],
                          .n_allocated = m->n_allocated[c],
                          .freed = m->freed[c]};
        all.allocated = rs_add_sat(all.allocated, r.allocated);
        all.freed = rs_add_sat(all.freed, r.freed);
        all.n_allocated += r.n_allocated;
        status = add_category(t, &r, m->at_peak.total, err);
    }
    return status == RS_OK ? add_category(t, &all, m->at_peak.total, err) : status;
}

static rs_status file(const rs_run *run, rs_source *source, rs_result *result, rs_error *err)
{
    rs_memory_timeline m;
    const uint8_t *head;
    size_t n;
    RS_TRY(rs_source_peek(source, 1, &head, &n, err));
    if (n && *head == 0x80) /* standard input: any other pickle was refused before it was opened */
        return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(source), RS_NO_OFFSET,
                          "is a pickle, of which a stream is not read: give the file's name");
    bool series = rs_options_flag(run->options, "series");
    rs_status status = rs_memory_read(source, series, &m, &result->problems, err);
    if (status != RS_OK) return status;
    result->main_table = series ? SERIES : CATEGORIES;
    if (m.n == 0)
        rs_result_note(result, "the timeline holds no changes");
    else
        status = add_categories(&m, result->tables[CATEGORIES], err);
    for (size_t i = 0; status == RS_OK && i < m.n_samples; i++)
        status = rs_table_put_row(result->tables[SERIES], &series_record, 0, &m.samples[i], err);
    for (size_t i = 0; i < result->n_tables; i++)
        rs_table_count_from(result->tables[i], run->absolute || m.first == RS_NO_TIME ? 0 : m.first);
    rs_memory_clear(&m);
    return status;
}

/* A timeline is an array of arrays; no trace begins so. */
static bool is_timeline(const uint8_t *head, size_t n)
{
    size_t brackets = 0;
    for (size_t i = 0; i < n; i++) {
        if (head[i] == ' ' || head[i] == '\t' || head[i] == '\n' || head[i] == '\r') continue;
        if (head[i] == ']' && brackets == 1) return true; /* without changes */
        if (head[i] != '[') return false;
        if (++brackets == 2) return true;
    }
    return brackets > 0;
}

/* What a rank contributes: one of the three. */
typedef struct memory_partial {
    rs_traced_memory *trace;
    rs_memory_rank *snapshot;
    rs_memory_clock *clock; /* of --trace */
} memory_partial;

static void free_partial(void *partial)
{
    memory_partial *p = partial;
    if (!p) return;
    rs_memory_trace_free(p->trace);
    rs_memory_snapshot_free(p->snapshot);
    rs_memory_clock_free(p->clock);
    rs_free(p);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    bool traced = rs_options_is_set(run->options, "trace");
    if (traced && run->selection && (run->selection->by_step || run->selection->by_window))
        return rs_fail(err, RS_ERR_USAGE, "--trace is about the whole run: leave out --steps and --window");
    memory_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "memory of a rank");
    rs_status status = rs_snapshot_of(trace) ? rs_memory_snapshot_rank(run, trace, &p->snapshot, err)
                       : traced              ? rs_memory_clock_rank(trace, &p->clock, err)
                                             : rs_memory_trace_rank(run, trace, &p->trace, err);
    if (status != RS_OK || (!p->trace && !p->snapshot && !p->clock))
        free_partial(p);
    else
        *partial = p;
    return status;
}

/* What --layers draws, --at is to find again. */
static bool at_a_time(const rs_options *given)
{
    const char *at = rs_options_text(given, "at");
    return rs_options_is_set(given, "layers") || (strcmp(at, "peak") != 0 && strcmp(at, "end") != 0);
}

/* Moments count from the first event of the snapshots: a trace has a clock of its own. */
static int64_t first_of_snapshots(const rs_run *run, const rs_partial *partials, size_t n)
{
    int64_t first = RS_NO_TIME;
    for (size_t i = 0; i < n; i++) {
        const memory_partial *p = partials[i].value;
        if (p->snapshot && partials[i].first != RS_NO_TIME &&
            (first == RS_NO_TIME || partials[i].first < first))
            first = partials[i].first;
    }
    return run->absolute || first == RS_NO_TIME ? 0 : first;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    static const rs_memory_tables at = {DEVICES, OPERATORS, HELD};
    rs_run own = *run;
    bool any = false, traced = rs_options_is_set(run->options, "trace");
    size_t kept = 0;
    RS_LOCAL rs_partial *inner = rs_malloc((n + 1) * sizeof *inner);
    if (!inner) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < n; i++)
        any = any || (((const memory_partial *)partials[i].value)->snapshot && partials[i].side == 0);
    for (size_t i = 0; i < n; i++) { /* of what was packed elsewhere, nothing says that it is of one kind */
        const memory_partial *p = partials[i].value;
        void *value = !any ? (void *)p->trace : traced && partials[i].side > 0 ? (void *)p->clock : NULL;
        if (any && p->snapshot) value = p->snapshot;
        if (!value) continue;
        inner[kept] = partials[i];
        inner[kept++].value = value;
    }
    result->main_table = rs_options_flag(run->options, "series") ? HELD : DEVICES;
    if (!any && traced)
        return rs_fail(err, RS_ERR_USAGE,
                       "--trace joins snapshots with a trace: what is given holds no snapshot");
    if (!any) return rs_memory_trace_merge(run, inner, kept, &at, result, err);
    const bool found =
        !run->absolute && at_a_time(run->options) && run->selection && run->selection->origin != RS_NO_TIME;
    if (found) own.origin = run->selection->origin; /* that --at counts from, also of some ranks alone */
    if (traced && !found) own.origin = first_of_snapshots(run, partials, n);
    RS_TRY(rs_memory_snapshot_merge(&own, inner, kept, SNAPSHOTS, result, err));
    for (size_t i = SNAPSHOTS; (traced || found) && i < result->n_tables; i++)
        rs_table_count_from(result->tables[i], own.origin);
    return RS_OK;
}

static const rs_field partial_fields[] = {
    RS_FIELD_ONE_OR_NONE(memory_partial, trace, &rs_memory_rank_layout),
    RS_FIELD_ONE_OR_NONE(memory_partial, snapshot, &rs_memory_snapshot_layout),
    RS_FIELD_ONE_OR_NONE(memory_partial, clock, &rs_memory_clock_layout),
};
static const rs_layout partial_layout = RS_LAYOUT(memory_partial, partial_fields);

static const rs_side_option sides[] = {
    {"base", RS_TAKES(ALLOCATIONS)}, {"trace", RS_TAKES(EVENTS)}, {NULL, 0}};

const rs_analysis rs_analysis_memory = {
    .name = "memory",
    .group = "GPU time",
    .help = "What memory is used for: by category of a memory timeline, by device and operator of traces",
    .about =
        "Traces that were recorded with profile_memory=True hold an event [memory] for each allocation and release: "
        "how "
        "much each device's allocator held, when it held most, and which operator or annotation allocated how much, "
        "its callees' not counted. Steps and a window select events.\n\n"
        "A memory timeline is what torch.profiler's export_memory_timeline writes under a name that ends in .raw.json "
        "or .raw.json.gz: changes [time, action, bytes, category]. Changes at the same time count together; "
        "what was "
        "there before the recording (times below zero) is there from the first change on. A tensor that "
        "changes its category is neither allocated nor freed.",
    .examples =
        "rankscope memory traces/\nrankscope memory --table operators --steps 3 traces/\nrankscope memory timeline.raw.json.gz\nrankscope memory --series --format csv timeline.raw.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .table_sets = sets,
    .n_table_sets = 1,
    .columns = RS_MEMORY_TRACE_COLUMNS,
    .more_columns = rs_memory_clock_columns,
    .facets = {&rs_facet_steps},
    .takes = RS_TAKES(EVENTS) | RS_TAKES(ALLOCATIONS),
    .sides = sides,
    .wants_origin = at_a_time,
    .follows = RS_FOLLOWS_ALL,
    .follows_not = "a memory timeline has no ranks, steps or launches",
    .file = file,
    .file_is = is_timeline,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .absent = "no [memory] events: record with profile_memory=True",
    .partial_layout = &partial_layout,
};
