/* The event table itself, filtered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/ascii.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "input/json.h"
#include "trace/selection.h"

static const rs_column_spec event_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank of the job", NULL),
    RS_COLUMN("position", INT, ID, "place in the file's event array, from 0", NULL),
    RS_COLUMN("phase", TEXT, NONE, "Chrome phase letter; X is a complete event", NULL),
    RS_COLUMN("category", TEXT, NONE, "the event's cat", NULL),
    RS_COLUMN("name", TEXT, NONE, "the event's name", NULL),
    RS_COLUMN("pid", TEXT, ID, "process (device for GPU events)", NULL),
    RS_COLUMN("tid", TEXT, ID, "thread (stream for GPU events)", NULL),
    RS_COLUMN("ts_us", TIME, US, "start, from the job's first event (with --absolute: as in the file)",
              "start"),
    RS_COLUMN("dur_us", TIME, US, "duration", "duration"),
    RS_COLUMN("step", INT, ID, "training step it belongs to", NULL),
    RS_COLUMN("device", INT, ID, "device ordinal", NULL),
    RS_COLUMN("stream", INT, ID, "stream", NULL),
    RS_COLUMN("correlation", INT, ID, "number that launch and work share", NULL),
    RS_COLUMN("external_id", INT, ID, "number that operator and launch share", NULL),
};
static const rs_table_spec events_table = {"events", "One row an event, in file order.", event_columns,
                                           sizeof event_columns / sizeof *event_columns};

static const rs_option_spec options[] = {
    {"where", RS_OPTION_TEXT, "TERMS", NULL, NULL,
     "only events for which every comma-separated term holds: FIELD OP VALUE"},
    {"limit", RS_OPTION_INT, "N", NULL, "0", "at most N events of each rank; 0: all"},
};

/* ---- terms ------------------------------------------------------------------------------------------ */

typedef enum field {
    F_NAME,
    F_CAT,
    F_PHASE,
    F_PID,
    F_TID,
    F_TS,
    F_DUR,
    F_STEP,
    F_DEVICE,
    F_STREAM,
    F_CORRELATION,
    F_EXTERNAL_ID,
    F_POSITION,
    N_FIELDS
} field;

static const char *const field_names[N_FIELDS] = {"name",        "cat",         "phase",   "pid",    "tid",
                                                  "ts",          "dur",         "step",    "device", "stream",
                                                  "correlation", "external_id", "position"};

typedef enum compare { EQ, NE, HAS, HAS_NOT, LT, LE, GT, GE } compare;

typedef struct term {
    field field;
    compare op;
    const char *text; /* in the option's text */
    size_t length;
    int64_t number;
} term;

#define MAX_TERMS 32

typedef struct terms {
    term items[MAX_TERMS];
    size_t n;
    bool uses_time; /* ts is known only when all ranks are read */
} terms;

static bool is_text(field f)
{
    return f <= F_TID;
}

static bool is_time(field f)
{
    return f == F_TS || f == F_DUR;
}

static rs_status parse_operator(const char **p, compare *op, rs_error *err)
{
    static const struct {
        const char *text;
        compare op;
    } operators[] = {{"!=", NE}, {"!~", HAS_NOT}, {"<=", LE}, {">=", GE}, {"==", EQ},
                     {"=", EQ},  {"~", HAS},      {"<", LT},  {">", GT}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t n = strlen(operators[i].text);
        if (strncmp(*p, operators[i].text, n) != 0) continue;
        *op = operators[i].op;
        *p += n;
        return RS_OK;
    }
    return rs_fail(err, RS_ERR_USAGE, "--where: expected one of = != ~ !~ < <= > >= at \"%.40s\"", *p);
}

static rs_status parse_value(term *t, rs_error *err)
{
    const uint8_t *text = (const uint8_t *)t->text;
    if (is_text(t->field)) {
        if (t->op < LT) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "--where: %s is text, it takes = != ~ !~", field_names[t->field]);
    }
    if (t->op == HAS || t->op == HAS_NOT)
        return rs_fail(err, RS_ERR_USAGE,
                       "--where: %s is a number, it takes = != < <= > >=", field_names[t->field]);
    double us;
    if (is_time(t->field) && rs_json_real(text, t->length, &us) && us > -9e15 && us < 9e15) {
        t->number = (int64_t)(us * 1000.0 + (us < 0 ? -0.5 : 0.5));
        return RS_OK;
    }
    if (!is_time(t->field) && rs_json_int(text, t->length, &t->number)) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "--where: %s needs a number%s, not \"%.*s\"", field_names[t->field],
                   is_time(t->field) ? " of microseconds" : "", (int)(t->length < 40 ? t->length : 40),
                   t->text);
}

static rs_status parse_term(const char **p, term *t, rs_error *err)
{
    const char *begin = *p;
    size_t n = 0;
    while (rs_is_alnum(begin[n]) || begin[n] == '_') n++;
    rs_suggestion nearest = {0};
    char word[40];
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), begin);
    t->field = N_FIELDS;
    for (int f = 0; f < N_FIELDS; f++) {
        if (strcmp(field_names[f], word) == 0) t->field = (field)f;
        rs_suggest_from(&nearest, word, field_names[f]);
    }
    if (t->field == N_FIELDS)
        return rs_fail(err, RS_ERR_USAGE,
                       "--where: there is no field \"%s\"%s%s; there is name, cat, phase, pid, tid, "
                       "ts, dur, step, device, stream, correlation, external_id, position",
                       word, nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "");
    *p = begin + n;
    rs_status status = parse_operator(p, &t->op, err);
    if (status != RS_OK) return status;
    t->text = *p;
    t->length = strcspn(*p, ",");
    *p += t->length;
    if (**p == ',') ++*p;
    return parse_value(t, err);
}

static rs_status parse_terms(const char *text, terms *out, rs_error *err)
{
    *out = (terms){0};
    while (text && *text) {
        if (out->n == MAX_TERMS) return rs_fail(err, RS_ERR_USAGE, "--where: more than %d terms", MAX_TERMS);
        rs_status status = parse_term(&text, &out->items[out->n], err);
        if (status != RS_OK) return status;
        if (out->items[out->n++].field == F_TS) out->uses_time = true;
    }
    return RS_OK;
}

static bool holds_number(const term *t, bool known, int64_t v)
{
    if (!known) return t->op == NE;
    switch (t->op) {
    case EQ: return v == t->number;
    case NE: return v != t->number;
    case LT: return v < t->number;
    case LE: return v <= t->number;
    case GT: return v > t->number;
    default: return v >= t->number;
    }
}

static bool contains(const char *text, size_t n, const char *part, size_t m)
{
    for (size_t i = 0; m <= n && i <= n - m; i++)
        if (memcmp(text + i, part, m) == 0) return true;
    return false;
}

static bool holds_text(const term *t, const char *text, size_t n)
{
    bool equal = n == t->length && memcmp(text, t->text, n) == 0;
    switch (t->op) {
    case EQ: return equal;
    case NE: return !equal;
    case HAS: return contains(text, n, t->text, t->length);
    default: return !contains(text, n, t->text, t->length);
    }
}

/* ---- one rank --------------------------------------------------------------------------------------- */

typedef struct event_row {
    uint32_t position;
    uint32_t category, name, pid, tid; /* string ids in the partial */
    uint8_t phase;
    int64_t ts, dur, step, device, stream, correlation, external_id; /* RS_NO_VALUE: unknown */
} event_row;

typedef struct event_rows {
    event_row *rows;
    size_t n, capacity;
    rs_strings strings;
    int64_t first; /* of the rank's events, RS_NO_TIME if none has a time */
} event_rows;

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

static bool holds(const terms *where, const event_row *r, const event_rows *p)
{
    for (size_t i = 0; i < where->n; i++) {
        const term *t = &where->items[i];
        const int64_t numbers[N_FIELDS] = {[F_DUR] = r->dur,
                                           [F_STEP] = r->step,
                                           [F_DEVICE] = r->device,
                                           [F_STREAM] = r->stream,
                                           [F_CORRELATION] = r->correlation,
                                           [F_EXTERNAL_ID] = r->external_id,
                                           [F_POSITION] = r->position};
        const uint32_t texts[N_FIELDS] = {
            [F_NAME] = r->name, [F_CAT] = r->category, [F_PID] = r->pid, [F_TID] = r->tid};
        if (t->field == F_TS) continue; /* judged when the job's first event is known */
        if (t->field == F_PHASE) {
            char phase = (char)r->phase;
            if (!holds_text(t, &phase, r->phase ? 1 : 0)) return false;
        } else if (is_text(t->field)) {
            const rs_string *s = &p->strings.items[texts[t->field]];
            if (!holds_text(t, s->text, s->length)) return false;
        } else if (!holds_number(t, numbers[t->field] != RS_NO_VALUE, numbers[t->field])) {
            return false;
        }
    }
    return true;
}

/* Step numbers of GPU work, by walking rs_work along the rows. */
typedef struct step_finder {
    const rs_work *work; /* of the whole rank */
    size_t at;
    const rs_step *steps, *gpu_steps;
    size_t n_steps, n_gpu_steps;
    rs_row_test selected;
} step_finder;

static int64_t step_of(step_finder *f, const rs_events *e, uint32_t row)
{
    while (f->at < f->work->n && f->work->row[f->at] < row) f->at++;
    if (f->at < f->work->n && f->work->row[f->at] == row)
        return f->work->step[f->at] < 0 ? RS_NO_VALUE : f->work->step[f->at];
    if (rs_kind_is_gpu_work(rs_event_kind(e, row))) return RS_NO_VALUE;
    int64_t step = rs_row_step(e, f->steps, f->n_steps, f->gpu_steps, f->n_gpu_steps, row);
    return step < 0 ? RS_NO_VALUE : step;
}

static rs_status collect(const rs_trace *t, const terms *where, int64_t limit, step_finder *finder,
                         event_rows *p, rs_error *err)
{
    const rs_events *e = t->events;
    rs_cursor device = rs_cursor_of(e, RS_COL_DEVICE), stream = rs_cursor_of(e, RS_COL_STREAM);
    rs_cursor correlation = rs_cursor_of(e, RS_COL_CORRELATION),
              external = rs_cursor_of(e, RS_COL_EXTERNAL_ID);
    for (size_t i = 0; i < t->n_rows && (limit == 0 || p->n < (size_t)limit); i++) {
        uint32_t row = rs_trace_row(t, i);
        if (!rs_row_test_next(&finder->selected, row)) continue;
        const rs_thread *thread = &e->threads[e->thread[row]];
        const rs_string *name = &e->strings.items[e->name[row]];
        const rs_string *category = &e->strings.items[e->categories[e->category[row]].name];
        event_row r = {.position = row,
                       .phase = e->phase[row],
                       .name = rs_strings_add(&p->strings, name->text, name->length),
                       .category = rs_strings_add(&p->strings, category->text, category->length),
                       .pid = copy_id(p, e, thread->pid, thread->pid_text),
                       .tid = copy_id(p, e, thread->tid, thread->tid_text),
                       .ts = e->start[row],
                       .dur = e->duration[row],
                       .step = step_of(finder, e, row),
                       .device = rs_cursor_int(&device, row, RS_NO_VALUE),
                       .stream = rs_cursor_int(&stream, row, RS_NO_VALUE),
                       .correlation = rs_cursor_int(&correlation, row, RS_NO_VALUE),
                       .external_id = rs_cursor_int(&external, row, RS_NO_VALUE)};
        if (r.name == RS_NO_STRING || r.category == RS_NO_STRING || r.pid == RS_NO_STRING ||
            r.tid == RS_NO_STRING)
            return rs_fail_nomem(err, "events");
        if (!holds(where, &r, p)) continue;
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

static rs_status events_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    terms where;
    rs_status status = parse_terms(rs_options_text(run->options, "where"), &where, err);
    if (status != RS_OK) return status;
    event_rows *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "events");
    *partial = p;
    if (!rs_strings_init(&p->strings)) return rs_fail_nomem(err, "events");
    step_finder finder = {0};
    int64_t last;
    rs_policy all = *run->policy;
    all.whole = true;
    status = rs_trace_work_details(t, &all, &finder.work, err);
    if (status == RS_OK) status = rs_trace_steps(t, &finder.steps, &finder.n_steps, err);
    if (status == RS_OK) status = rs_trace_gpu_steps(t, &finder.gpu_steps, &finder.n_gpu_steps, err);
    if (status == RS_OK) status = rs_row_test_begin(t, &finder.selected, err);
    if (status == RS_OK) status = rs_trace_span(t, &p->first, &last, err);
    int64_t limit = where.uses_time ? 0 : rs_options_int(run->options, "limit");
    if (status == RS_OK) status = collect(t, &where, limit, &finder, p, err);
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static void add_known(rs_table *table, int64_t value)
{
    if (value == RS_NO_VALUE)
        rs_table_add_null(table);
    else
        rs_table_add_int(table, value);
}

static void add_known_time(rs_table *table, int64_t value, int64_t base)
{
    int64_t relative;
    if (value == RS_NO_TIME || __builtin_sub_overflow(value, base, &relative))
        rs_table_add_null(table);
    else
        rs_table_add_time(table, relative);
}

static rs_status add_row(rs_table *table, int64_t rank, const event_row *r, const event_rows *p, int64_t base,
                         rs_error *err)
{
    const rs_string *s = p->strings.items;
    char phase = (char)r->phase;
    rs_table_add_int(table, rank);
    rs_table_add_int(table, r->position);
    rs_table_add_text_n(table, &phase, r->phase ? 1 : 0);
    rs_table_add_text_n(table, s[r->category].text, s[r->category].length);
    rs_table_add_text_n(table, s[r->name].text, s[r->name].length);
    rs_table_add_text_n(table, s[r->pid].text, s[r->pid].length);
    rs_table_add_text_n(table, s[r->tid].text, s[r->tid].length);
    add_known_time(table, r->ts, base);
    add_known_time(table, r->dur, 0);
    add_known(table, r->step);
    add_known(table, r->device);
    add_known(table, r->stream);
    add_known(table, r->correlation);
    add_known(table, r->external_id);
    return rs_table_end_row(table, err);
}

static bool in_time(const terms *where, int64_t ts, int64_t base)
{
    for (size_t i = 0; i < where->n; i++) {
        const term *t = &where->items[i];
        int64_t relative = 0;
        if (t->field != F_TS) continue;
        bool known = ts != RS_NO_TIME && !__builtin_sub_overflow(ts, base, &relative);
        if (!holds_number(t, known, relative)) return false;
    }
    return true;
}

static rs_status events_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                              rs_error *err)
{
    terms where;
    rs_status status = parse_terms(rs_options_text(run->options, "where"), &where, err);
    int64_t base = 0, limit = rs_options_int(run->options, "limit");
    bool known = false;
    for (size_t i = 0; i < n && !run->absolute; i++) {
        const event_rows *p = partials[i].value;
        if (p->first == RS_NO_TIME || (known && p->first >= base)) continue;
        base = p->first;
        known = true;
    }
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const event_rows *p = partials[i].value;
        int64_t shown = 0;
        for (size_t k = 0; status == RS_OK && k < p->n && (limit == 0 || shown < limit); k++) {
            if (!in_time(&where, p->rows[k].ts, base)) continue;
            status = add_row(result->tables[0], partials[i].rank, &p->rows[k], p, base, err);
            shown++;
        }
    }
    return status;
}

static const rs_table_spec *const tables[] = {&events_table};
static const rs_table_set table_sets[] = {{RS_COMPAT_NONE, tables, 1}};

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field row_fields[] = {
    RS_FIELD(event_row, position),
    RS_FIELD_INDEX(event_row, category, event_rows, strings.n),
    RS_FIELD_INDEX(event_row, name, event_rows, strings.n),
    RS_FIELD_INDEX(event_row, pid, event_rows, strings.n),
    RS_FIELD_INDEX(event_row, tid, event_rows, strings.n),
    RS_FIELD(event_row, phase),
    RS_FIELD(event_row, ts),
    RS_FIELD(event_row, dur),
    RS_FIELD(event_row, step),
    RS_FIELD(event_row, device),
    RS_FIELD(event_row, stream),
    RS_FIELD(event_row, correlation),
    RS_FIELD(event_row, external_id),
};
static const rs_layout row_layout = RS_LAYOUT(event_row, row_fields);

static const rs_field events_fields[] = {
    RS_FIELD_STRINGS(event_rows, strings),
    RS_FIELD_LIST(event_rows, rows, n, &row_layout),
    RS_FIELD(event_rows, first),
};
static const rs_layout events_layout = RS_LAYOUT(event_rows, events_fields);

const rs_analysis rs_analysis_events = {
    .name = "events",
    .help = "The events themselves, filtered by name, category, stream, step, time",
    .about = "Prints the event table. --where keeps events for which every term holds. A term is FIELD OP "
             "VALUE; fields are "
             "name, cat, phase, pid, tid (text: = != and ~ !~ for contains) and ts, dur (microseconds), "
             "step, device, "
             "stream, correlation, external_id, position (numbers: = != < <= > >=). ts counts from the job's "
             "first event, or "
             "with --absolute as in the file.",
    .examples = "rankscope events --where 'cat=kernel,name~gemm,dur>=100' trace.json.gz\n"
                "rankscope events --where 'stream=7,step=3' --format csv trace.json.gz",
    .columns = RS_COLUMN_BIT(EXTERNAL_ID),
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
