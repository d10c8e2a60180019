/* memory: what the GPU's memory was used for, from PyTorch's memory timeline. */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "format/memory_read.h"
#include "base/interval.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL, "what is held by category whenever it changes"},
};

#define COLUMN(name, type, unit, help, title)                                                                \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, title                                                         \
    }
static const rs_column_spec category_columns[] = {
    COLUMN("category", TEXT, NONE, "what the memory is for; total: all of it", NULL),
    COLUMN("at_peak_bytes", INT, BYTES, "held when the total was largest", "at the peak"),
    COLUMN("at_peak_pct", REAL, PERCENT, "share of the total then", "share %"),
    COLUMN("own_peak_bytes", INT, BYTES, "the most this category held by itself", "own peak"),
    COLUMN("own_peak_at_us", TIME, US, "when that was; unknown if it never held anything", "at"),
    COLUMN("before_bytes", INT, BYTES, "there before the recording", "before"),
    COLUMN("end_bytes", INT, BYTES, "held at the end", "at the end"),
    COLUMN("allocated_bytes", INT, BYTES, "sum of all allocations recorded", "allocated"),
    COLUMN("allocations", INT, COUNT, "how many", NULL),
    COLUMN("freed_bytes", INT, BYTES, "sum of all releases recorded", "freed"),
};
static const rs_column_spec series_columns[] = {
    COLUMN("time_us", TIME, US, "from the first change; with --absolute as in the file", "time"),
    COLUMN("parameter", INT, BYTES, "bytes held", NULL),
    COLUMN("optimizer_state", INT, BYTES, "bytes held", "optimizer state"),
    COLUMN("input", INT, BYTES, "bytes held", NULL),
    COLUMN("temporary", INT, BYTES, "bytes held", NULL),
    COLUMN("activation", INT, BYTES, "bytes held", NULL),
    COLUMN("gradient", INT, BYTES, "bytes held", NULL),
    COLUMN("autograd_detail", INT, BYTES, "bytes held", "autograd detail"),
    COLUMN("unknown", INT, BYTES, "bytes held", NULL),
    COLUMN("total", INT, BYTES, "sum of them", NULL),
};
#define TABLE(name, help, columns)                                                                           \
    {                                                                                                        \
        name, help, columns, sizeof columns / sizeof *columns                                                \
    }
static const rs_table_spec category_table = TABLE("memory", "one row is one category", category_columns);
static const rs_table_spec series_table = TABLE(
    "series", "one row is what is held from one change to the next; empty without --series", series_columns);
static const rs_table_spec *const tables[] = {&category_table, &series_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 2}};
enum { CATEGORIES, SERIES };

typedef struct category_row {
    const char *name;
    int64_t at_peak, peak, peak_time, before, end, allocated, freed;
    uint64_t n_allocated;
} category_row;

static rs_status add_category(rs_table *t, const category_row *r, int64_t peak, int64_t origin, rs_error *err)
{
    rs_table_add_text(t, r->name);
    rs_table_add_int(t, r->at_peak);
    rs_table_add_real(t, rs_percent(r->at_peak, peak));
    rs_table_add_int(t, r->peak);
    if (r->peak_time == RS_NO_TIME)
        rs_table_add_null(t);
    else
        rs_table_add_time(t, rs_sub_sat(r->peak_time, origin));
    rs_table_add_int(t, r->before);
    rs_table_add_int(t, r->end);
    rs_table_add_int(t, r->allocated);
    rs_table_add_int(t, (int64_t)r->n_allocated);
    rs_table_add_int(t, r->freed);
    return rs_table_end_row(t, err);
}

static rs_status add_categories(const rs_memory_timeline *m, int64_t origin, rs_table *t, rs_error *err)
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
        status = add_category(t, &r, m->at_peak.total, origin, err);
    }
    return status == RS_OK ? add_category(t, &all, m->at_peak.total, origin, err) : status;
}

static rs_status add_series(const rs_memory_timeline *m, int64_t origin, rs_table *t, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < m->n_samples; i++) {
        const rs_memory_sample *s = &m->samples[i];
        rs_table_add_time(t, rs_sub_sat(s->time, origin));
        for (int c = 0; c < RS_N_MEMORY_CATEGORIES; c++) rs_table_add_int(t, s->bytes[c]);
        rs_table_add_int(t, s->total);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status file(const rs_run *run, rs_source *source, rs_result *result, rs_error *err)
{
    rs_memory_timeline m;
    bool series = rs_options_flag(run->options, "series");
    rs_status status = rs_memory_read(source, series, &m, &result->problems, err);
    if (status != RS_OK) return status;
    int64_t origin = run->absolute || m.first == RS_NO_TIME ? 0 : m.first;
    result->main_table = series ? SERIES : CATEGORIES;
    if (m.n == 0)
        rs_result_note(result, "the timeline holds no changes");
    else
        status = add_categories(&m, origin, result->tables[CATEGORIES], err);
    if (status == RS_OK) status = add_series(&m, origin, result->tables[SERIES], err);
    rs_memory_clear(&m);
    return status;
}

const rs_analysis rs_analysis_memory = {
    .name = "memory",
    .help = "What GPU memory is used for: PyTorch's memory timeline by category",
    .about =
        "FILE is what torch.profiler's export_memory_timeline writes under a name that ends in .raw.json or "
        ".raw.json.gz: changes [time, action, bytes, category]. Changes at the same time count together; "
        "what was "
        "there before the recording (times below zero) is there from the first change on. A tensor that "
        "changes its "
        "category is neither allocated nor freed.",
    .examples =
        "rankscope memory timeline.raw.json.gz\nrankscope memory --series --format csv timeline.raw.json.gz",
    .options = options,
    .n_options = 1,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows_not = "it reads a memory timeline, which has no ranks, steps or launches",
    .file = file,
};
