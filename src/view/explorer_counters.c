/* What goes up and down on a rank: work that waits, copies' bandwidth, memory of traces that have it. */
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/real.h"
#include "view/explorer.h"

/* One that changes: from `at` on it has the value. */
typedef struct change {
    int64_t at; /* ns from the job's first event */
    double value;
} change;

typedef struct counter {
    char name[160];
    const char *unit;
    change *items; /* ascending */
    size_t n, capacity;
} counter;

struct rs_rank_counters {
    counter *items;
    size_t n, capacity;
};

void rs_rank_counters_free(rs_rank_counters *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n; i++) rs_free(c->items[i].items);
    rs_free_all(c->items, c);
}

/* ---- making ------------------------------------------------------------------------------------------------ */

#define MOST_COUNTERS 64

/* Where counters come from: the rows of `analysis --series`, those of one name are one. */
static const struct source {
    const char *analysis, *table, *time, *value, *unit;
    const char *name, *parts[2]; /* columns that follow the name */
} sources[] = {
    {"queue", "series", "ts_us", "queue_length", "waiting", "Queue of device", {"device", "stream"}},
    {"bandwidth", "series", "ts_us", "memory_bw_gbps", "GB/s", "Bandwidth:", {"name", NULL}},
    {"memory", "held", "time_us", "held_bytes", "bytes", "Memory of", {"device", NULL}},
};

static void write_name(const struct source *s, const rs_table *t, size_t row, char out[160])
{
    size_t n = (size_t)snprintf(out, 160, "%s", s->name);
    for (size_t i = 0; i < 2 && s->parts[i] && n < 160; i++) {
        const size_t column = rs_column_of(t, s->parts[i]);
        const char *between = i ? " stream " : " ";
        if (rs_table_get_spec(t)->columns[column].type == RS_TEXT)
            n += (size_t)snprintf(out + n, 160 - n, "%s%s", between, rs_table_text(t, row, column, NULL));
        else
            n += (size_t)snprintf(out + n, 160 - n, "%s%lld", between,
                                  (long long)rs_table_int(t, row, column));
    }
}

/* The one of that name, the latest first; NULL: no memory, or there are too many. */
static counter *find(rs_rank_counters *c, const char *name, const char *unit)
{
    for (size_t i = c->n; i > 0; i--)
        if (strcmp(c->items[i - 1].name, name) == 0) return &c->items[i - 1];
    if (c->n == MOST_COUNTERS || !RS_GROW_ONE(c->items, c->n, c->capacity)) return NULL;
    counter *made = &c->items[c->n++];
    *made = (counter){.unit = unit};
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

static rs_status add_rows(rs_rank_counters *c, const struct source *s, const rs_table *t, int64_t origin,
                          rs_error *err)
{
    const size_t time = rs_column_of(t, s->time), value = rs_column_of(t, s->value);
    const bool real = rs_table_get_spec(t)->columns[value].type == RS_REAL;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        char name[160];
        write_name(s, t, i, name);
        counter *of = find(c, name, s->unit);
        if (!of && c->n == MOST_COUNTERS) continue;
        const change one = {rs_sub_sat(rs_table_int(t, i, time), origin),
                            real ? rs_table_real(t, i, value) : (double)rs_table_int(t, i, value)};
        if (!of || !RS_APPEND(of, one)) return rs_fail_nomem(err, "counters");
    }
    return RS_OK;
}

rs_status rs_rank_counters_make(rs_job *job, int64_t origin, rs_rank_counters **out, rs_error *err)
{
    static const char *const options[][2] = {{"series", NULL}, {NULL, NULL}};
    rs_rank_counters *c = rs_calloc(1, sizeof *c);
    rs_status status = c ? RS_OK : rs_fail_nomem(err, "counters");
    for (size_t i = 0; status == RS_OK && i < sizeof sources / sizeof *sources; i++) {
        rs_result result = {0};
        status = rs_explorer_run(job, sources[i].analysis, options, &result, err);
        const rs_table *t = status == RS_OK ? rs_result_table(&result, sources[i].table) : NULL;
        if (t) status = add_rows(c, &sources[i], t, origin, err);
        rs_result_clear(&result);
    }
    if (status == RS_OK)
        *out = c;
    else
        rs_rank_counters_free(c);
    return status;
}

/* ---- answering --------------------------------------------------------------------------------------------- */

static const rs_column_spec counter_columns[] = {
    {"counter", RS_INT, RS_UNIT_ID, "its number", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "what it counts", NULL},
    {"unit", RS_TEXT, RS_UNIT_NONE, "waiting, GB/s or bytes", NULL},
    {"most", RS_REAL, RS_UNIT_NONE, "its greatest value in the recording", NULL},
};
static const rs_table_spec counter_table = {"counters", "one row is a counter", counter_columns,
                                            sizeof counter_columns / sizeof *counter_columns};
static const rs_column_spec value_columns[] = {
    {"counter", RS_INT, RS_UNIT_ID, "its number", NULL},
    {"column", RS_INT, RS_UNIT_ID, "from this column on, until the next row", NULL},
    {"value", RS_REAL, RS_UNIT_NONE, "the greatest in the column", NULL},
};
static const rs_table_spec value_table = {"values", "one row is a column in which a counter differs",
                                          value_columns, sizeof value_columns / sizeof *value_columns};

static rs_status put_value(rs_table *t, size_t number, size_t column, double value, rs_error *err)
{
    rs_table_add_int(t, (int64_t)number);
    rs_table_add_int(t, (int64_t)column);
    rs_table_add_real(t, value);
    return rs_table_end_row(t, err);
}

/* The greatest value of each of n equal columns of [from, to), where it is another one than before. */
static rs_status put_columns(const counter *c, size_t number, int64_t from, int64_t to, size_t n, rs_table *t,
                             rs_error *err)
{
    double now = 0, shown = -1;
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        const int64_t begin = from + rs_int_of((double)(to - from) * (double)k / (double)n),
                      end = from + rs_int_of((double)(to - from) * (double)(k + 1) / (double)n);
        for (; at < c->n && c->items[at].at <= begin; at++) now = c->items[at].value;
        double most = now;
        for (; at < c->n && c->items[at].at < end; at++) {
            now = c->items[at].value;
            if (now > most) most = now;
        }
        if (most == shown) continue;
        RS_TRY(put_value(t, number, k, most, err));
        shown = most;
    }
    return RS_OK;
}

static rs_status put_counter(const counter *c, size_t number, rs_table *t, rs_error *err)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].value > most) most = c->items[i].value;
    rs_table_add_int(t, (int64_t)number);
    rs_table_add_text(t, c->name);
    rs_table_add_text(t, c->unit);
    rs_table_add_real(t, most);
    return rs_table_end_row(t, err);
}

rs_status rs_answer_counters(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                             rs_error *err)
{
    const rs_rank_counters *c = NULL;
    const int64_t width = rs_ask_int(request, "width", 1000);
    int64_t from, to;
    RS_TRY(rs_ask_window(request, x->map.last, &from, &to, err));
    if (width < 1 || width > 8192) return rs_fail(err, RS_ERR_USAGE, "width is 1 to 8192");
    RS_TRY(rs_explorer_need_counters(x, rs_ask_int(request, "rank", -1), &c, err));
    rs_table *counters = rs_table_create(&counter_table), *values = rs_table_create(&value_table);
    rs_status status = counters && values ? RS_OK : rs_fail_nomem(err, "counters");
    for (size_t i = 0; status == RS_OK && i < c->n; i++) {
        status = put_counter(&c->items[i], i, counters, err);
        if (status == RS_OK) status = put_columns(&c->items[i], i, from, to, (size_t)width, values, err);
    }
    rs_answer_append(answer, "{", 1);
    if (status == RS_OK) status = rs_answer_table(answer, "counters", counters, true, err);
    if (status == RS_OK) status = rs_answer_table(answer, "values", values, false, err);
    rs_answer_append(answer, "}", 1);
    rs_table_free(counters);
    rs_table_free(values);
    return status;
}
