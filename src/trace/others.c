#include "trace/others.h"

#include "base/search.h"
#include "base/try.h"
#include "trace/events.h"

void rs_others_clear(rs_events *e)
{
    rs_others *a = &e->others;
    rs_events_free_array(e, a->rows);
    rs_events_free_array(e, a->name);
    rs_events_free_array(e, a->kind);
    rs_events_free_array(e, a->value);
    rs_free(a->names);
    rs_map64_clear(&a->by_text);
    *a = (rs_others){0};
}

void rs_others_trim(rs_others *a)
{
    rs_big_trim(a->rows, a->n * sizeof *a->rows);
    rs_big_trim(a->name, a->n * sizeof *a->name);
    rs_big_trim(a->kind, a->n * sizeof *a->kind);
    rs_big_trim(a->value, a->n * sizeof *a->value);
}

void rs_others_forget(rs_others *a, uint32_t row)
{
    while (a->n && a->rows[a->n - 1] == row) a->n--;
    while (a->n_names && a->names[a->n_names - 1].first_row == row) a->n_names--;
}

static bool resize(const rs_events *e, void **p, size_t n, size_t size)
{
    void *q = rs_events_resize(e, *p, e->others.n * size, n * size);
    if (q) *p = q;
    return q != NULL;
}

rs_status rs_others_reserve(rs_events *e, size_t more, rs_error *err)
{
    rs_others *a = &e->others;
    if (more <= a->capacity - a->n) return RS_OK;
    size_t cell = sizeof *a->rows + sizeof *a->name + sizeof *a->kind + sizeof *a->value;
    size_t wanted = a->capacity ? rs_big_next(a->capacity, sizeof *a->value) : 1024;
    if (more > SIZE_MAX / 2 / cell - a->n || wanted > SIZE_MAX / 2 / cell)
        return rs_fail_nomem(err, "arguments");
    if (wanted < a->n + more) wanted = a->n + more;
    RS_TRY(rs_events_charge(e, (wanted - a->capacity) * cell, err));
    if (!resize(e, (void **)&a->rows, wanted, sizeof *a->rows) ||
        !resize(e, (void **)&a->name, wanted, sizeof *a->name) ||
        !resize(e, (void **)&a->kind, wanted, sizeof *a->kind) ||
        !resize(e, (void **)&a->value, wanted, sizeof *a->value))
        return rs_fail_nomem(err, "arguments");
    a->capacity = wanted;
    return RS_OK;
}

uint32_t rs_other_find(const rs_others *a, uint32_t text)
{
    const uint32_t *at = rs_map64_get(&a->by_text, text);
    return at && *at < a->n_names && a->names[*at].text == text ? *at : RS_NO_OTHER;
}

rs_status rs_other_name_add(rs_events *e, uint32_t text, uint32_t row, uint32_t *name, rs_error *err)
{
    rs_others *a = &e->others;
    *name = rs_other_find(a, text);
    if (*name != RS_NO_OTHER || a->n_names == RS_MAX_OTHERS) return RS_OK;
    bool is_new;
    uint32_t *at = rs_map64_put(&a->by_text, text, &is_new);
    if (!at || !RS_GROW_ONE(a->names, a->n_names, a->names_capacity)) return rs_fail_nomem(err, "arguments");
    *name = *at = (uint32_t)a->n_names;
    a->names[a->n_names++] = (rs_other_name){.text = text, .first_row = row, .last = SIZE_MAX};
    return RS_OK;
}

rs_status rs_other_add(rs_events *e, uint32_t name, uint32_t row, rs_other_kind kind, int64_t value,
                       rs_error *err)
{
    rs_others *a = &e->others;
    size_t at = a->names[name].last;
    /* the last cell may have been taken back, and another name's stand there */
    if (at >= a->n || a->rows[at] != row || a->name[at] != name) {
        RS_TRY(rs_others_reserve(e, 1, err));
        at = a->n++;
    }
    a->rows[at] = row;
    a->name[at] = (uint16_t)name;
    a->kind[at] = (uint8_t)kind;
    a->value[at] = value;
    a->names[name].last = at;
    return RS_OK;
}

size_t rs_other_first(const rs_others *a, uint32_t row)
{
    size_t low;
    RS_SEARCH(low, a->n, a->rows[low] < row);
    return low;
}
