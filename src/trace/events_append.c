#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "trace/events.h"

/* Ids that link events. What is not above 0 represents none. */
static const rs_column_id links[] = {
    RS_COL_CORRELATION,      RS_COL_WAIT_ON_EVENT,      RS_COL_FLOW_ID, RS_COL_EXTERNAL_ID,
    RS_COL_SEQUENCE_NUMBER,  RS_COL_RECORD_FUNCTION_ID, RS_COL_EV_IDX,  RS_COL_PYTHON_ID,
    RS_COL_PYTHON_PARENT_ID, RS_COL_PYTHON_MODULE_ID,
};
#define N_LINKS (sizeof links / sizeof *links)

static bool is_link(rs_column_id column)
{
    for (size_t i = 0; i < N_LINKS; i++)
        if (links[i] == column) return true;
    return false;
}

/* The ids above 0 of a column; false when there are none. */
static bool range_of(const rs_sparse *s, int64_t *least, int64_t *greatest)
{
    *least = INT64_MAX;
    *greatest = 0;
    for (size_t i = 0; i < s->n; i++) {
        int64_t id = rs_sparse_int(s, i);
        if (id <= 0) continue;
        if (id < *least) *least = id;
        if (id > *greatest) *greatest = id;
    }
    return *greatest > 0;
}

/* How far the ids of `from` have to move: all by the same, as columns refer to each other. */
static int64_t distance(const rs_events *to, const rs_events *from)
{
    int64_t step = 0;
    bool clash = false;
    for (size_t i = 0; i < N_LINKS; i++) {
        int64_t low_a, high_a, low_b, high_b;
        if (!range_of(&to->args[links[i]], &low_a, &high_a)) continue;
        if (high_a > step) step = high_a;
        if (!range_of(&from->args[links[i]], &low_b, &high_b)) continue;
        clash = clash || (low_a <= high_b && low_b <= high_a);
    }
    return clash ? step : 0;
}

/* An id, or another number, of a column where ids move by so much. */
static int64_t moved(int64_t value, rs_column_id column, int64_t step)
{
    return step && value > 0 && is_link(column) ? rs_add_sat(value, step) : value;
}

typedef rs_events_copier maps;

void rs_events_copier_clear(rs_events_copier *m)
{
    rs_free_all(m->strings, m->threads, m->categories);
    *m = (rs_events_copier){0};
}

static bool map_names(maps *m)
{
    rs_events *to = m->to;
    const rs_events *from = m->from;
    m->strings = rs_malloc((from->strings.n + 1) * sizeof *m->strings);
    m->threads = rs_calloc(from->n_threads + 1, sizeof *m->threads);
    m->categories = rs_malloc((from->n_categories + 1) * sizeof *m->categories);
    if (!m->strings || !m->threads || !m->categories) return false;
    for (size_t i = 0; i < from->strings.n; i++) {
        const rs_string *s = &from->strings.items[i];
        m->strings[i] = rs_strings_add(&to->strings, s->text, s->length);
        if (m->strings[i] == RS_NO_STRING) return false;
    }
    for (size_t i = 0; i < from->n_categories; i++) {
        uint32_t id = rs_events_category(to, m->strings[from->categories[i].name]);
        if (id == UINT32_MAX) return false;
        m->categories[i] = (uint16_t)id;
    }
    return true;
}

static bool map_threads(maps *m)
{
    const rs_events *from = m->from;
    for (size_t i = 0; i < from->n_threads; i++) {
        rs_thread t = from->threads[i];
        if (t.pid_text != RS_NO_STRING) {
            t.pid_text = m->strings[t.pid_text];
            t.pid = rs_thread_id_of_text(t.pid_text);
        }
        if (t.tid_text != RS_NO_STRING) {
            t.tid_text = m->strings[t.tid_text];
            t.tid = rs_thread_id_of_text(t.tid_text);
        }
        m->threads[i] = rs_events_thread(m->to, t);
        if (m->threads[i] == UINT32_MAX) return false;
    }
    return true;
}

/* All of a row but its start, which the caller writes. */
static void append_rows(const maps *m, const int64_t *duration)
{
    rs_events *to = m->to;
    const rs_events *from = m->from;
    size_t n = from->n, at = to->n;
    memcpy(to->duration + at, duration, n * sizeof *to->duration);
    memcpy(to->phase + at, from->phase, n);
    for (size_t i = 0; i < n; i++) to->name[at + i] = m->strings[from->name[i]];
    for (size_t i = 0; i < n; i++) to->thread[at + i] = m->threads[from->thread[i]];
    for (size_t i = 0; i < n; i++) to->category[at + i] = m->categories[from->category[i]];
}

static void append_column(const maps *m, rs_column_id column, int64_t step)
{
    rs_events *to = m->to;
    const rs_sparse *s = &m->from->args[column];
    rs_sparse *into = &to->args[column];
    rs_column_type type = rs_column_infos[column].type;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = into->n + i;
        into->rows[at] = s->rows[i] + (uint32_t)to->n;
        if (type == RS_COLUMN_TEXT)
            into->texts[at] = m->strings[s->texts[i]];
        else if (type == RS_COLUMN_REAL)
            into->reals[at] = s->reals[i];
        else if (into->is_wide)
            into->wide[at] = moved(rs_sparse_int(s, i), column, step);
        else
            into->narrow[at] = (int32_t)moved(s->narrow[i], column, step);
    }
    into->n += s->n;
}

/* Room for the values of a column, each of them as large as it becomes. */
static rs_status reserve_column(rs_events *to, const rs_events *from, rs_column_id column, int64_t step,
                                rs_error *err)
{
    const rs_sparse *s = &from->args[column];
    int64_t least, greatest;
    rs_status status = rs_events_reserve_column(to, column, s->n, err);
    if (status != RS_OK || rs_column_infos[column].type != RS_COLUMN_INT) return status;
    bool wide = s->is_wide || (range_of(s, &least, &greatest) && moved(greatest, column, step) > INT32_MAX);
    return wide ? rs_events_widen(to, column, err) : RS_OK;
}

static rs_status append_rest(rs_events *to, const rs_events *from, const maps *m, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < from->n_counters; i++) {
        const rs_counter *c = &from->counters[i];
        for (size_t k = 0; status == RS_OK && k < c->values.n; k++)
            status = rs_events_add_counter(to, m->strings[c->name], c->values.rows[k] + (uint32_t)to->n,
                                           c->values.reals[k], err);
    }
    for (size_t i = 0; status == RS_OK && i < from->n_log; i++) {
        if (!RS_PUSH(to->log, to->n_log, to->log_capacity,
                     (rs_log_line){from->log[i].level, m->strings[from->log[i].text]}))
            return rs_fail_nomem(err, "the log");
    }
    return status;
}

rs_status rs_events_append(rs_events *to, const rs_events *from, int64_t shift, rs_error *err)
{
    maps m = {.to = to, .from = from};
    int64_t step = distance(to, from);
    rs_status status = rs_events_reserve(to, from->n, err);
    for (size_t i = 0; status == RS_OK && i < RS_N_COLUMNS; i++)
        if (from->args[i].n) status = reserve_column(to, from, (rs_column_id)i, step, err);
    if (status == RS_OK && !(map_names(&m) && map_threads(&m))) status = rs_fail_nomem(err, "names");
    if (status == RS_OK) status = append_rest(to, from, &m, err);
    if (status == RS_OK) {
        for (size_t i = 0; i < from->n; i++)
            to->start[to->n + i] =
                from->start[i] == RS_NO_TIME ? RS_NO_TIME : rs_add_sat(from->start[i], shift);
        append_rows(&m, from->duration);
        for (size_t i = 0; i < RS_N_COLUMNS; i++)
            if (from->args[i].n) append_column(&m, (rs_column_id)i, step);
        to->n += from->n;
        to->n_rounded += from->n_rounded;
        to->n_lost += from->n_lost;
        to->bytes_lost += from->bytes_lost;
        to->n_bytes += from->n_bytes;
        to->truncated = to->truncated || from->truncated;
    }
    rs_events_copier_clear(&m);
    return status;
}

/* ---- copies --------------------------------------------------------------------------------------------- */

rs_status rs_events_copier_init(rs_events_copier *copier, rs_events *to, const rs_events *from, rs_error *err)
{
    *copier = (rs_events_copier){.to = to, .from = from};
    return map_names(copier) ? RS_OK : rs_fail_nomem(err, "names");
}

rs_status rs_events_copy(rs_events_copier *c, const int64_t *start, const int64_t *duration, int64_t step,
                         rs_error *err)
{
    rs_events *to = c->to;
    const rs_events *from = c->from;
    uint64_t columns = 0;
    RS_TRY(rs_events_reserve(to, from->n, err));
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        if (!from->args[i].n || !(to->loaded >> i & 1)) continue;
        RS_TRY(reserve_column(to, from, (rs_column_id)i, step, err));
        columns |= UINT64_C(1) << i;
    }
    memcpy(to->start + to->n, start, from->n * sizeof *start);
    append_rows(c, duration);
    for (size_t i = 0; i < RS_N_COLUMNS; i++)
        if (columns >> i & 1) append_column(c, (rs_column_id)i, step);
    to->n += from->n;
    return RS_OK;
}

int64_t rs_events_greatest_link(const rs_events *e)
{
    int64_t greatest = 0, least, of_column;
    for (size_t i = 0; i < N_LINKS; i++)
        if (range_of(&e->args[links[i]], &least, &of_column) && of_column > greatest) greatest = of_column;
    return greatest;
}

rs_status rs_events_replace_int(rs_events *e, rs_column_id column, uint32_t row, int64_t value, bool *found,
                                rs_error *err)
{
    rs_sparse *s = &e->args[column];
    size_t at = rs_sparse_leap(s, 0, row);
    *found = at < s->n && s->rows[at] == row;
    if (!*found) return RS_OK;
    if (value < INT32_MIN || value > INT32_MAX) RS_TRY(rs_events_widen(e, column, err));
    if (s->is_wide)
        s->wide[at] = value;
    else
        s->narrow[at] = (int32_t)value;
    return RS_OK;
}
