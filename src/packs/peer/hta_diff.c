/* diff as HTA's compare_traces: names of all rows with times, nothing cut off. */
#include <string.h>

#include "analysis/diff.h"
#include "analysis/frame_columns.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/strings.h"
#include "peer/hta_window.h"

/* A name in both jobs. */
typedef struct compared {
    uint32_t name;             /* in the comparison's names */
    int64_t count[2], time[2]; /* ns */
} compared;

typedef struct comparison {
    rs_strings names; /* id - 1 is the row */
    compared *rows;
    size_t n, capacity;
} comparison;

#define ROW(CELL)                                                                                            \
    CELL(TEXT(compared, name, comparison, names.n), "name", TEXT, NONE, "name of any row", NULL)             \
    CELL(OF(compared, count[0]), "control_counts", REAL, COUNT, "how often in A", NULL)                      \
    CELL(OF(compared, time[0]), "control_total_duration", REAL, US, "sum of durations in A", NULL)           \
    CELL(OF(compared, count[1]), "test_counts", REAL, COUNT, "how often in B", NULL)                         \
    CELL(OF(compared, time[1]), "test_total_duration", REAL, US, "sum of durations in B", NULL)              \
    CELL(SET, "diff_counts", REAL, COUNT, "B less A", NULL)                                                  \
    CELL(SET, "diff_duration", REAL, US, "B less A", NULL)                                                   \
    CELL(SET, "counts_change_categories", TEXT, NONE, "+, - or =, by count", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table =
    RS_TABLE("diff", "one row is one name, as HTA's compare_traces: all rows with times, nothing cut off",
             hta_columns);
static const rs_table_spec *const tables[] = {&table};

/* ---- one rank ----------------------------------------------------------------------------------------- */

/* HTA leaves copies as they are, and names without brackets. */
static bool shortens(const rs_string *s)
{
    if (strncmp(s->text, "Memcpy", 6) == 0 || strncmp(s->text, "Memset", 6) == 0) return false;
    return memchr(s->text, '<', s->length) || memchr(s->text, '(', s->length);
}

static rs_diff_name *name_of(rs_diff_rank *p, rs_map64 *places, const rs_string *s, uint32_t id, bool shorten)
{
    bool is_new;
    uint32_t *place = rs_map64_put(places, id, &is_new);
    if (!place || !is_new) return place ? &p->items[*place] : NULL;
    char *copy = rs_arena_alloc(&p->names, (size_t)s->length + 1);
    if (!copy || !RS_GROW_ONE(p->items, p->n, p->capacity)) return NULL;
    size_t length = s->length;
    if (shorten && shortens(s))
        length = rs_diff_shorten(s->text, s->length, copy);
    else
        memcpy(copy, s->text, length);
    copy[length] = '\0';
    *place = (uint32_t)p->n;
    p->items[p->n++] = (rs_diff_name){.name = copy, .length = (uint32_t)length};
    return &p->items[*place];
}

/* HTA compares its rows as they are read: nothing is cut off, and a row of the GPU is one with a stream. */
static rs_status add_rows(const rs_run *run, rs_trace *trace, rs_diff_rank *p, rs_map64 *places,
                          rs_error *err)
{
    rs_policy policy = *run->policy;
    const rs_events *e = trace->events;
    const rs_frame_rows *f;
    rs_frame_columns made = {0};
    const char *kind = rs_options_text(run->options, "kind");
    bool gpu = strcmp(kind, "gpu") == 0, host = strcmp(kind, "host") == 0;
    bool shorten = rs_options_flag(run->options, "short-names");
    policy.trim_steps = false;
    policy.whole = true; /* HTA's own iterations say what is selected */
    rs_status status = rs_trace_hta_frame(trace, &policy, &f, err);
    if (status != RS_OK) return status;
    status = rs_frame_columns_make(trace, &policy, f, &rs_hta_frame_columns, &made, err);
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        bool has_stream = f->stream[i] != -1;
        if ((gpu && !has_stream) || (host && has_stream)) continue;
        if (!rs_frame_row_is_selected(trace, f, &made, i)) continue;
        uint32_t id = e->name[f->row[i]];
        rs_diff_name *x = name_of(p, places, &e->strings.items[id], id, shorten);
        if (!x) {
            status = rs_fail_nomem(err, "names");
            break;
        }
        x->count++;
        x->time = rs_add_sat(x->time, rs_sub_sat(f->end[i], f->start[i]));
    }
    rs_frame_columns_clear(&made);
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_map64 places = {0};
    rs_diff_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "names");
    *partial = p;
    rs_status status = add_rows(run, trace, p, &places, err);
    rs_map64_clear(&places);
    return status;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

static bool add_partial(comparison *c, const rs_partial *partial)
{
    const rs_diff_rank *p = partial->value;
    for (size_t i = 0; i < p->n; i++) {
        const rs_diff_name *x = &p->items[i];
        uint32_t id = rs_strings_add(&c->names, x->name, x->length);
        if (id == RS_NO_STRING) return false;
        if (id > c->n)
            if (!RS_PUSH(c->rows, c->n, c->capacity, (compared){.name = id})) return false;
        compared *r = &c->rows[id - 1];
        r->count[partial->side] += x->count;
        r->time[partial->side] = rs_add_sat(r->time[partial->side], x->time);
    }
    return true;
}

static const rs_order by_name[] = {RS_RISING_TEXT(compared, name)};

static rs_status add_names(const comparison *c, rs_table *t, rs_error *err)
{
    rs_status status = RS_OK;
    rs_sort(c->rows, c->n, sizeof *c->rows, by_name, 1, &c->names);
    rs_table_use_texts(t, &c->names);
    for (size_t i = 0; status == RS_OK && i < c->n; i++) {
        const compared *r = &c->rows[i];
        rs_table_put(t, &hta_record, 0, r);
        rs_table_set_real(t, "diff_counts", (double)(r->count[1] - r->count[0]));
        rs_table_set_real(t, "diff_duration", (double)rs_sub_sat(r->time[1], r->time[0]) / 1000);
        rs_table_set_text(t, "counts_change_categories",
                          r->count[1] > r->count[0]   ? "+"
                          : r->count[1] < r->count[0] ? "-"
                                                      : "=");
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    comparison c = {.n = 0};
    bool ok = rs_strings_init(&c.names);
    for (size_t i = 0; ok && i < n; i++) ok = add_partial(&c, &partials[i]);
    rs_status status = ok ? add_names(&c, result->tables[0], err) : rs_fail_nomem(err, "names");
    rs_strings_clear(&c.names);
    rs_free(c.rows);
    return status;
}

const rs_peer_row rs_peer_hta_diff = {
    .analysis = "diff",
    .modes = RS_MODE(HTA) | RS_MODE(HTA_EXACT), /* no step is cut off: nothing to agree on */
    .tables = tables,
    .n_tables = 1,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_diff_free,
};
