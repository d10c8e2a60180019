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

typedef struct event_row {
    uint32_t position;
    uint32_t category, name, pid, tid;                               /* string ids in the partial */
    char phase[2];                                                   /* a letter, or none */
    int64_t ts, dur, step, device, stream, correlation, external_id; /* RS_NO_VALUE: unknown */
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
            if (!holds_text(t, r->phase, strlen(r->phase))) return false;
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
                       .phase = {(char)e->phase[row], 0},
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
    rs_policy all = *run->policy;
    all.whole = true;
    status = rs_trace_work_details(t, &all, &finder.work, err);
    if (status == RS_OK) status = rs_trace_steps(t, &finder.steps, &finder.n_steps, err);
    if (status == RS_OK) status = rs_trace_gpu_steps(t, &finder.gpu_steps, &finder.n_gpu_steps, err);
    if (status == RS_OK) status = rs_row_test_begin(t, &finder.selected, err);
    int64_t limit = where.uses_time ? 0 : rs_options_int(run->options, "limit");
    if (status == RS_OK) status = collect(t, &where, limit, &finder, p, err);
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

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
    int64_t limit = rs_options_int(run->options, "limit");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const event_rows *p = partials[i].value;
        int64_t shown = 0;
        rs_table_use_texts(result->tables[0], &p->strings);
        for (size_t k = 0; status == RS_OK && k < p->n && (limit == 0 || shown < limit); k++) {
            if (!in_time(&where, p->rows[k].ts, run->origin)) continue;
            status = rs_table_put_row(result->tables[0], &event_record, partials[i].rank, &p->rows[k], err);
            shown++;
        }
    }
    return status;
}

static const rs_table_spec *const tables[] = {&events_table};
static const rs_table_set table_sets[] = {{RS_COMPAT_NONE, tables, 1}};

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_layout row_layout = RS_RECORD_LAYOUT(event_row, event);

static const rs_field events_fields[] = {
    RS_FIELD_STRINGS(event_rows, strings),
    RS_FIELD_LIST(event_rows, rows, n, &row_layout),
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
