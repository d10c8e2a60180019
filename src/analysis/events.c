/* The event table itself, filtered. */
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/try.h"
#include "query/where.h"
#include "trace/selection.h"

typedef struct event_row {
    uint32_t position;
    uint32_t category, name, pid, tid;                               /* string ids in the partial */
    char phase[2];                                                   /* a letter, or none */
    int64_t ts, dur, step, device, stream, correlation, external_id; /* RS_NO_VALUE: unknown */
    uint64_t terms; /* rs_where_row's, while the job's first event is not known */
    bool open;      /* whether it is picked depends on that event */
} event_row;

typedef struct event_rows {
    event_row *rows;
    size_t n, capacity;
    rs_strings strings;
} event_rows;

#define EVENT_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(event_row, position), "position", INT, ID, "place in the file's event array, from 0", NULL)      \
    CELL(CHARS(event_row, phase), "phase", TEXT, NONE, "Chrome phase letter; X is a complete event", NULL)   \
    CELL(TEXT(event_row, category, event_rows, strings.n), "category", TEXT, NONE, "the event's cat", NULL)  \
    CELL(TEXT(event_row, name, event_rows, strings.n), "name", TEXT, NONE, "the event's name", NULL)         \
    CELL(TEXT(event_row, pid, event_rows, strings.n), "pid", TEXT, ID, "process (device for GPU events)",    \
         NULL)                                                                                               \
    CELL(TEXT(event_row, tid, event_rows, strings.n), "tid", TEXT, ID, "thread (stream for GPU events)",     \
         NULL)                                                                                               \
    CELL(OF(event_row, ts), "ts_us", MOMENT, US,                                                             \
         "start, from the job's first event (with --absolute: as in the file)", "start")                     \
    CELL(OF(event_row, dur), "dur_us", TIME, US, "duration", "duration")                                     \
    CELL(OF(event_row, step), "step", INT, ID, "training step it belongs to", NULL)                          \
    CELL(OF(event_row, device), "device", INT, ID, "device ordinal", NULL)                                   \
    CELL(OF(event_row, stream), "stream", INT, ID, "stream", NULL)                                           \
    CELL(OF(event_row, correlation), "correlation", INT, ID, "number that launch and work share", NULL)      \
    CELL(OF(event_row, external_id), "external_id", INT, ID, "number that operator and launch share", NULL)
RS_RECORD(event, EVENT_ROW);

static const rs_table_spec events_table = {"events", "One row an event, in file order.", event_columns,
                                           sizeof event_columns / sizeof *event_columns};

static const rs_option_spec options[] = {
    {"where", RS_OPTION_TEXT, "CONDITION", NULL, NULL,
     "only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )"},
    {"limit", RS_OPTION_INT, "N", NULL, "0", "at most N events of each rank; 0: all"},
};

/* ---- one rank --------------------------------------------------------------------------------------- */

static void events_free(void *partial)
{
    event_rows *p = partial;
    rs_big_free(p->rows);
    rs_strings_clear(&p->strings);
    rs_free(p);
}

static uint32_t copy_id(event_rows *p, const rs_events *e, int64_t number, uint32_t text)
{
    if (text != RS_NO_STRING)
        return rs_strings_add(&p->strings, e->strings.items[text].text, e->strings.items[text].length);
    char digits[24];
    int n = number == RS_NO_VALUE ? 0 : snprintf(digits, sizeof digits, "%lld", (long long)number);
    return rs_strings_add(&p->strings, digits, (size_t)n);
}

/* What is asked of a rank's rows. */
typedef struct asking {
    rs_where_rank *where;
    rs_step_finder steps;
    rs_row_test selected;
    int64_t limit;
} asking;

static rs_status collect(const rs_trace *t, asking *a, event_rows *p, rs_error *err)
{
    const rs_events *e = t->events;
    rs_cursor device = rs_cursor_of(e, RS_COL_DEVICE), stream = rs_cursor_of(e, RS_COL_STREAM);
    rs_cursor correlation = rs_cursor_of(e, RS_COL_CORRELATION),
              external = rs_cursor_of(e, RS_COL_EXTERNAL_ID);
    for (size_t i = 0; i < t->n_rows && (a->limit == 0 || p->n < (size_t)a->limit); i++) {
        uint32_t row = rs_trace_row(t, i);
        uint64_t terms;
        if (!rs_row_test_next(&a->selected, row)) continue;
        rs_truth answer = rs_where_row(a->where, row, &terms);
        if (answer == RS_NO) continue;
        const rs_thread *thread = &e->threads[e->thread[row]];
        const rs_string *name = &e->strings.items[e->name[row]];
        const rs_string *category = &e->strings.items[e->categories[e->category[row]].name];
        event_row r = {.position = row,
                       .phase = {(char)e->phase[row], 0},
                       .name = rs_strings_add(&p->strings, name->text, name->length),
                       .category = rs_strings_add(&p->strings, category->text, category->length),
                       .pid = copy_id(p, e, thread->pid, thread->pid_text),
                       .tid = copy_id(p, e, thread->tid, thread->tid_text),
                       .ts = e->start[row],
                       .dur = e->duration[row],
                       .step = rs_step_finder_next(&a->steps, row),
                       .device = rs_cursor_int(&device, row, RS_NO_VALUE),
                       .stream = rs_cursor_int(&stream, row, RS_NO_VALUE),
                       .correlation = rs_cursor_int(&correlation, row, RS_NO_VALUE),
                       .external_id = rs_cursor_int(&external, row, RS_NO_VALUE),
                       .terms = terms,
                       .open = answer == RS_UNKNOWN};
        if (r.name == RS_NO_STRING || r.category == RS_NO_STRING || r.pid == RS_NO_STRING ||
            r.tid == RS_NO_STRING)
            return rs_fail_nomem(err, "events");
        if (p->n == p->capacity) {
            size_t wanted = p->capacity ? p->capacity * 2 : 1024;
            event_row *grown = rs_big_resize(p->rows, wanted * sizeof *grown);
            if (!grown) return rs_fail_nomem(err, "events");
            p->rows = grown;
            p->capacity = wanted;
        }
        p->rows[p->n++] = r;
    }
    return RS_OK;
}

static rs_status ask(const rs_where *where, int64_t limit, rs_trace *t, event_rows *p, rs_error *err)
{
    /* how many are open is not known before all ranks are */
    asking a = {.limit = rs_where_uses_time(where) ? 0 : limit};
    rs_status status = rs_where_begin(where, t, RS_NO_TIME, &a.where, err);
    if (status == RS_OK) status = rs_step_finder_begin(t, &a.steps, err);
    if (status == RS_OK) status = rs_row_test_begin(t, &a.selected, err);
    if (status == RS_OK) status = collect(t, &a, p, err);
    rs_where_end(a.where);
    return status;
}

static rs_status events_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    rs_where *where;
    RS_TRY(rs_where_parse(rs_options_text(run->options, "where"), "--where", &where, err));
    event_rows *p = rs_calloc(1, sizeof *p);
    *partial = p;
    rs_status status = p && rs_strings_init(&p->strings) ? RS_OK : rs_fail_nomem(err, "events");
    if (status == RS_OK) status = ask(where, rs_options_int(run->options, "limit"), t, p, err);
    rs_where_free(where);
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static bool is_picked(const rs_where *where, const event_row *row, int64_t origin)
{
    int64_t ts;
    if (!row->open) return true;
    bool known = row->ts != RS_NO_TIME && !__builtin_sub_overflow(row->ts, origin, &ts);
    return rs_where_decide(where, row->terms, known ? ts : RS_NO_TIME);
}

static rs_status events_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                              rs_error *err)
{
    rs_where *where;
    RS_TRY(rs_where_parse(rs_options_text(run->options, "where"), "--where", &where, err));
    rs_status status = RS_OK;
    int64_t limit = rs_options_int(run->options, "limit");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const event_rows *p = partials[i].value;
        int64_t shown = 0;
        rs_table_use_texts(result->tables[0], &p->strings);
        for (size_t k = 0; status == RS_OK && k < p->n && (limit == 0 || shown < limit); k++) {
            if (!is_picked(where, &p->rows[k], run->origin)) continue;
            status = rs_table_put_row(result->tables[0], &event_record, partials[i].rank, &p->rows[k], err);
            shown++;
        }
    }
    rs_where_free(where);
    return status;
}

static uint64_t columns_of(const rs_options *given)
{
    rs_where *where;
    if (rs_where_parse(rs_options_text(given, "where"), "--where", &where, NULL) != RS_OK) return 0;
    uint64_t columns = rs_where_columns(where);
    rs_where_free(where);
    return columns;
}

static const rs_table_spec *const tables[] = {&events_table};
static const rs_table_set table_sets[] = {{RS_COMPAT_NONE, tables, 1}};

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field row_fields[] = {RS_FIELDS(event_row, terms, open)};
static const rs_layout row_layout = RS_RECORD_LAYOUT_AND(event_row, event, row_fields);

static const rs_field events_fields[] = {
    RS_FIELD_STRINGS(event_rows, strings),
    RS_FIELD_LIST(event_rows, rows, n, &row_layout),
};
static const rs_layout events_layout = RS_LAYOUT(event_rows, events_fields);

const rs_analysis rs_analysis_events = {
    .name = "events",
    .group = "Any trace",
    .help = "The events themselves, filtered by name, category, stream, step, time",
    .about = "Prints the event table. --where keeps events for which a condition holds. " RS_WHERE_HELP
             " ts counts from the job's first event, or with --absolute as in the file.",
    .examples = "rankscope events --where 'cat=kernel,name~gemm,dur>=100' trace.json.gz\n"
                "rankscope events --where 'stream in (7, 20-23) and step=3' --format csv trace.json.gz\n"
                "rankscope events --where 'under(aten::linear) and not name =~ \"^cuda\"' trace.json.gz",
    .columns = RS_COLUMN_BIT(EXTERNAL_ID),
    .more_columns = columns_of,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .table_sets = table_sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = events_rank,
    .merge = events_merge,
    .free_partial = events_free,
    .partial_layout = &events_layout,
};
