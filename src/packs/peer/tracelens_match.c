#include "peer/tracelens_match.h"

#include <math.h>
#include <string.h>

#include "text/numbers.h"

const char *rs_tl_text_or_null(const rs_tl_collectives *c, uint32_t id)
{
    return id == RS_NO_STRING ? NULL : c->strings.items[id].text;
}

/* The indices of a rank's items within their groups: by start, ties in the order of the file. */
static bool index_rank(rs_tl_matching *m, size_t first)
{
    size_t n = m->n - first;
    RS_LOCAL rs_keyed *order = rs_malloc((n + 1) * sizeof *order);
    RS_LOCAL uint32_t *count = rs_calloc(m->groups.n + 1, sizeof *count);
    bool ok = order && count;
    for (size_t i = 0; ok && i < n; i++)
        order[i] = (rs_keyed){m->items[first + i].k->ts, (uint32_t)(first + i)};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++)
        m->items[order[i].value].index = count[m->items[order[i].value].group]++;
    return ok;
}

bool rs_tl_match(const rs_tl_collectives *const *ranks, size_t n, rs_tl_matching *m)
{
    size_t total = 0;
    for (size_t r = 0; r < n; r++) total += ranks[r]->n;
    m->simplified = rs_tl_collectives_are_simple(ranks, n);
    m->items = rs_calloc(total + 1, sizeof *m->items);
    RS_LOCAL uint64_t *keys = rs_malloc((total + 1) * sizeof *keys);
    bool ok = m->items && keys && rs_strings_init(&m->groups);
    for (size_t r = 0; ok && r < n; r++) {
        size_t first = m->n;
        for (size_t i = 0; ok && i < ranks[r]->n; i++) {
            const char *group = rs_tl_text_or_null(ranks[r], ranks[r]->items[i].group);
            if (!group) group = m->simplified ? "all" : "Unknown_Group";
            uint32_t id = rs_strings_add(&m->groups, group, strlen(group));
            ok = id != RS_NO_STRING;
            m->items[m->n++] = (rs_tl_member){.of = ranks[r], .k = &ranks[r]->items[i], .group = id};
        }
        ok = ok && index_rank(m, first);
    }
    for (size_t i = 0; ok && i < m->n; i++) keys[i] = (uint64_t)m->items[i].group << 32 | m->items[i].index;
    return ok && rs_tl_group(keys, sizeof *keys, NULL, m->n, &m->collectives);
}

void rs_tl_matching_clear(rs_tl_matching *m)
{
    rs_free(m->items);
    rs_strings_clear(&m->groups);
    rs_tl_groups_clear(&m->collectives);
}

static void put_id(const rs_tl_matching *m, const rs_tl_member *x, rs_python_text *text)
{
    text->n = 0;
    if (!m->simplified) {
        rs_python_put_text(text, m->groups.items[x->group].text);
        rs_python_put_text(text, "_");
    }
    rs_python_put_int(text, x->index);
}

bool rs_tl_add_id(rs_table *t, const rs_tl_matching *m, const rs_tl_member *x, rs_python_text *text)
{
    put_id(m, x, text);
    if (text->failed) return false;
    rs_table_add_text_n(t, text->text, text->n);
    return true;
}

void rs_tl_add_int(rs_table *t, int64_t value)
{
    if (value == RS_NO_VALUE)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, value);
}

double rs_tl_size_of(const rs_tl_member *x, int64_t elements)
{
    const char *dtype = rs_tl_text_or_null(x->of, x->k->dtype);
    int64_t size = dtype ? rs_tl_nccl_size(dtype) : 0;
    return size && x->k->in != RS_NO_VALUE && elements != RS_NO_VALUE
               ? (double)elements * (double)size / (1 << 20)
               : (double)NAN;
}

double rs_tl_us(int64_t ns)
{
    return (double)ns / 1000;
}

bool rs_tl_same_text(const rs_tl_member *a, uint32_t x, const rs_tl_member *b, uint32_t y)
{
    const char *one = rs_tl_text_or_null(a->of, x), *two = rs_tl_text_or_null(b->of, y);
    return one && two ? strcmp(one, two) == 0 : one == two;
}

void rs_tl_name_column(char *name, int64_t rank, const char *what)
{
    size_t n = 5;
    memcpy(name, "rank_", 5);
    n += rs_format_int(rank, name + 5);
    name[n++] = '_';
    memcpy(name + n, what, strlen(what) + 1);
}
