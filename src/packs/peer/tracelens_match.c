#include "peer/tracelens_match.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *rs_tl_text_of(const rs_tl_matching *m, uint32_t id)
{
    return id == RS_NO_STRING ? NULL : m->texts.items[id].text;
}

uint32_t rs_tl_match_text(rs_tl_matching *m, const char *text, bool *ok)
{
    uint32_t id = *ok ? rs_strings_add(&m->texts, text, strlen(text)) : RS_NO_STRING;
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

/* A rank's text among those of the match. */
static uint32_t common_text(rs_tl_matching *m, const rs_tl_collectives *c, uint32_t id, bool *ok)
{
    return id == RS_NO_STRING ? RS_NO_STRING : rs_tl_match_text(m, c->strings.items[id].text, ok);
}

/* That many elements of a collective's type in units of 2^20 bytes. */
static double size_of(const char *dtype, const rs_tl_collective *k, int64_t elements)
{
    int64_t size = dtype ? rs_tl_nccl_size(dtype) : 0;
    return size && k->in != RS_NO_VALUE && elements != RS_NO_VALUE
               ? (double)elements * (double)size / (1 << 20)
               : (double)NAN;
}

static bool add_member(rs_tl_matching *m, const rs_tl_collectives *c, const rs_tl_collective *k)
{
    bool ok = true;
    rs_tl_member *x = &m->items[m->n++];
    const char *unnamed = m->simplified ? "all" : "Unknown_Group";
    *x = (rs_tl_member){.rank = c->rank,
                        .ts = k->ts,
                        .dur = k->dur,
                        .group_size = k->group_size,
                        .in = k->in,
                        .out = k->out,
                        .stream = k->stream,
                        .us = rs_tl_us(k->dur),
                        .ranks = common_text(m, c, k->ranks, &ok),
                        .name = common_text(m, c, k->name, &ok),
                        .dtype = common_text(m, c, k->dtype, &ok),
                        .in_split = common_text(m, c, k->in_split, &ok),
                        .out_split = common_text(m, c, k->out_split, &ok)};
    x->group =
        k->group == RS_NO_STRING ? rs_tl_match_text(m, unnamed, &ok) : common_text(m, c, k->group, &ok);
    x->in_mb = size_of(rs_tl_text_of(m, x->dtype), k, k->in);
    x->out_mb = size_of(rs_tl_text_of(m, x->dtype), k, k->out);
    return ok;
}

/* The indices of a rank's items within their groups: by start, ties in the order of the file. */
static bool index_rank(rs_tl_matching *m, size_t first)
{
    size_t n = m->n - first;
    RS_LOCAL rs_keyed *order = rs_malloc((n + 1) * sizeof *order);
    RS_LOCAL uint32_t *count = rs_calloc(m->texts.n + 1, sizeof *count);
    bool ok = order && count;
    for (size_t i = 0; ok && i < n; i++) order[i] = (rs_keyed){m->items[first + i].ts, (uint32_t)(first + i)};
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
    bool ok = m->items && keys && rs_strings_init(&m->texts);
    for (size_t r = 0; ok && r < n; r++) {
        size_t first = m->n;
        for (size_t i = 0; ok && i < ranks[r]->n; i++) ok = add_member(m, ranks[r], &ranks[r]->items[i]);
        ok = ok && index_rank(m, first);
    }
    for (size_t i = 0; ok && i < m->n; i++)
        keys[i] = (uint64_t)m->items[i].group << 32 | (uint64_t)m->items[i].index;
    return ok && rs_tl_group(keys, sizeof *keys, NULL, m->n, &m->collectives);
}

void rs_tl_matching_clear(rs_tl_matching *m)
{
    rs_free(m->items);
    rs_strings_clear(&m->texts);
    rs_tl_groups_clear(&m->collectives);
}

bool rs_tl_members_agree(const rs_tl_member *a, const rs_tl_member *b)
{
    return a->group_size == b->group_size && a->ranks == b->ranks && a->name == b->name &&
           a->dtype == b->dtype;
}

rs_tl_collected rs_tl_collected_at(const rs_tl_matching *m, size_t at)
{
    const uint32_t *items = m->collectives.item + m->collectives.first[at];
    return (rs_tl_collected){m->items[items[0]], items,
                             m->collectives.first[at + 1] - m->collectives.first[at]};
}

bool rs_tl_ranks_agree(const rs_tl_matching *m, const rs_tl_collected *x,
                       bool (*agree)(const rs_tl_member *, const rs_tl_member *))
{
    for (size_t i = 1; i < x->n; i++)
        if (!agree(&x->is, &m->items[x->items[i]])) return false;
    return true;
}

rs_tl_items rs_tl_items_over(const rs_tl_matching *m, const void *items, size_t n)
{
    return (rs_tl_items){.items = items, .n = n, .texts = &m->texts, .context = m};
}

bool rs_tl_put_id(const rs_tl_lot *lot, rs_table *t)
{
    const rs_tl_matching *m = lot->all->context;
    const rs_tl_member *x = lot->first;
    if (!m->simplified) {
        rs_text_put(lot->text, rs_tl_text_of(m, x->group));
        rs_text_put(lot->text, "_");
    }
    rs_python_put_int(lot->text, x->index);
    return rs_tl_add_python(t, lot->text);
}

/* ---- columns for each rank ------------------------------------------------------------------------------ */

typedef struct wide {
    rs_tl_matching m; /* first: functions of columns see it as the context */
    const rs_tl_column *each;
    size_t n_each, together, n_ranks;
    const int64_t *ranks;
} wide;

static void add_ranks(const wide *w, const rs_tl_collected *x, size_t first, size_t end, rs_table *t)
{
    size_t at = 0;
    for (size_t r = 0; r < w->n_ranks; r++) {
        const rs_tl_member *member = at < x->n ? &w->m.items[x->items[at]] : NULL;
        if (member && member->rank != w->ranks[r])
            member = NULL;
        else
            at++;
        for (size_t i = first; i < end; i++) rs_tl_add_member(&w->each[i], &w->m.texts, member, t);
    }
}

static bool put_ranks(const rs_tl_lot *lot, rs_table *t)
{
    const wide *w = lot->all->context;
    add_ranks(w, lot->first, 0, w->together, t);
    add_ranks(w, lot->first, w->together, w->n_each, t);
    return true;
}

enum { RANK_NAME = 48 };

static void name_columns(const wide *w, rs_tl_column *columns, char (*names)[RANK_NAME])
{
    for (size_t i = 0; i < w->n_each * w->n_ranks; i++) {
        bool is_first = i < w->together * w->n_ranks;
        size_t place = is_first ? i : i - w->together * w->n_ranks;
        size_t n = is_first ? w->together : w->n_each - w->together;
        const rs_tl_column *of = &w->each[(is_first ? 0 : w->together) + place % n];
        columns[i] =
            (rs_tl_column){.spec = of->spec, .how = i ? RS_TL_PUT_BEFORE : RS_TL_PUT, .put = put_ranks};
        columns[i].spec.name = names[i];
        snprintf(names[i], RANK_NAME, "rank_%lld_%s", (long long)w->ranks[place / n], of->spec.name);
    }
}

rs_status rs_tl_add_wide(const rs_tl_matching *m, const rs_tl_sheet *sheet, const void *items, size_t n,
                         const rs_tl_column *each, size_t n_each, size_t together, const int64_t *ranks,
                         size_t n_ranks, rs_sheets *out, rs_error *err)
{
    const wide w = {*m, each, n_each, together, n_ranks, ranks};
    RS_LOCAL rs_tl_column *columns = rs_malloc((sheet->n + n_each * n_ranks) * sizeof *columns);
    RS_LOCAL char(*names)[RANK_NAME] = rs_malloc((n_each * n_ranks + 1) * sizeof *names);
    if (!columns || !names) return rs_fail_nomem(err, "a sheet");
    memcpy(columns, sheet->columns, sheet->n * sizeof *columns);
    name_columns(&w, columns + sheet->n, names);
    rs_tl_sheet with = *sheet;
    rs_tl_items all = rs_tl_items_over(m, items, n);
    with.columns = columns;
    with.n += n_each * n_ranks;
    all.context = &w;
    return rs_tl_add_sheet(&with, &all, out, err);
}
