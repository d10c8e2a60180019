/* compare by a key: arguments, operator, kernel, category or module. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/try.h"
#include "table/cells.h"

/* A key of any side; texts are ids of the comparison's. */
typedef struct key_row {
    rs_compare_key key;
    uint64_t hash;
} key_row;

typedef struct joined {
    const rs_compare_run *c;
    rs_strings texts;
    rs_map64 places;
    key_row *keys;
    size_t n, capacity;
    rs_compare_sum *sums; /* key by key, one for each side */
    size_t sums_capacity;
} joined;

/* ---- joining ------------------------------------------------------------------------------------------- */

static rs_compare_sum *sums_of(joined *x, const rs_compare_key *key)
{
    size_t n_sides = x->c->n_sides;
    for (uint64_t hash = rs_compare_hash(key);; hash++) {
        bool is_new;
        uint32_t *place = rs_map64_put(&x->places, hash, &is_new);
        if (!place) return NULL;
        if (is_new) {
            size_t need = (x->n + 1) * n_sides;
            if (!RS_GROW_ONE(x->keys, x->n, x->capacity)) return NULL;
            if (!rs_grow((void **)&x->sums, &x->sums_capacity, need, sizeof *x->sums)) return NULL;
            for (size_t i = x->n * n_sides; i < need; i++) x->sums[i] = (rs_compare_sum){0};
            *place = (uint32_t)x->n;
            x->keys[x->n++] = (key_row){*key, hash};
        }
        if (memcmp(&x->keys[*place].key, key, sizeof *key) == 0) return &x->sums[*place * n_sides];
    }
}

static bool add_rank(joined *x, size_t side, const rs_compare_rank *p)
{
    const rs_strings *from = &p->pool.strings;
    RS_LOCAL uint32_t *ids = rs_malloc((from->n + 1) * sizeof *ids);
    bool ok = ids != NULL;
    for (size_t i = 0; ok && i < from->n; i++) {
        ids[i] = rs_strings_add(&x->texts, from->items[i].text, from->items[i].length);
        ok = ids[i] != RS_NO_STRING;
    }
    for (size_t i = 0; ok && i < p->n; i++) {
        const rs_compare_key *k = &p->rows[i].key;
#define ID(part) (k->part == RS_NO_STRING ? 0 : ids[k->part]) /* id 0 is the empty text */
        rs_compare_key key = {ID(name), ID(dims), ID(types), ID(strides), ID(concrete)};
#undef ID
        rs_compare_sum *sums = sums_of(x, &key);
        ok = sums != NULL;
        if (ok) rs_compare_add(&sums[side], &p->rows[i].sum);
    }
    return ok;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef struct sort_key {
    rs_compare_key key;
    const key_row *row;
    double size; /* of the difference */
} sort_key;

/* By size, falling, then by the texts of the key. */
static void sort_by_size(const joined *x, sort_key *order, size_t n)
{
    static const rs_order by_size[] = {RS_FALLING(sort_key, size),
                                       RS_RISING_TEXT(sort_key, key.name),
                                       RS_RISING_TEXT(sort_key, key.dims),
                                       RS_RISING_TEXT(sort_key, key.types),
                                       RS_RISING_TEXT(sort_key, key.strides),
                                       RS_RISING_TEXT(sort_key, key.concrete)};
    rs_sort(order, n, sizeof *order, by_size, sizeof by_size / sizeof *by_size, &x->texts);
}

static const char *change_of(double a, double b)
{
    return a == 0 ? "added" : b == 0 ? "removed" : b > a ? "more" : b < a ? "fewer" : "same";
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

static rs_status add_row(const joined *x, rs_table *t, size_t variant, const key_row *row, rs_error *err)
{
    const rs_compare_run *c = x->c;
    const rs_compare_side *sa = &c->sides[0], *sb = &c->sides[variant];
    const rs_compare_sum *sums = &x->sums[(size_t)(row - x->keys) * c->n_sides];
    const rs_compare_sum *a = &sums[0], *b = &sums[variant];
    double count_a = rs_compare_count(sa, a->count), count_b = rs_compare_count(sb, b->count);
    double us_a = rs_compare_us(sa, a->time), us_b = rs_compare_us(sb, b->time);
    double diff = rs_compare_diff_us(sa, a->time, sb, b->time);
    const uint32_t texts[] = {row->key.name, row->key.dims, row->key.types, row->key.strides,
                              row->key.concrete};
    bool by_args = rs_compare_by_of(c->run->options) == RS_COMPARE_ARGS;
    rs_table_add_int(t, (int64_t)variant);
    for (size_t i = 0; i < (by_args ? 5 : 1); i++) {
        const rs_string *s = &x->texts.items[texts[i]];
        if (s->length)
            rs_table_add_text_n(t, s->text, s->length);
        else
            rs_table_add_null(t);
    }
    return RS_PUT_ROW(t, err, change_of(count_a, count_b), count_a, count_b, us_a, us_b, ratio(us_a, count_a),
                      ratio(us_b, count_b), diff, a->count && b->count ? ratio(us_b, us_a) : (double)NAN,
                      100 * ratio(diff, rs_compare_us(sa, sa->time)),
                      ratio(a->flops, (double)a->computed) / 1e3, ratio(b->flops, (double)b->computed) / 1e3,
                      100 * ratio(a->bound, (double)a->bounded), 100 * ratio(b->bound, (double)b->bounded));
}

/* What --top leaves out is told, so that the reader can add up. */
static void note_rest(const joined *x, const sort_key *order, size_t from, size_t n, size_t variant,
                      rs_result *result)
{
    const rs_compare_run *c = x->c;
    double rest = 0;
    for (size_t i = from; i < n; i++) {
        const rs_compare_sum *s = &x->sums[(size_t)(order[i].row - x->keys) * c->n_sides];
        rest += rs_compare_diff_us(&c->sides[0], s[0].time, &c->sides[variant], s[variant].time);
    }
    if (from < n) rs_compare_note_rest(result, variant, n - from, rest);
}

static rs_status add_variant(const joined *x, rs_table *t, size_t variant, sort_key *order, rs_result *result,
                             rs_error *err)
{
    const rs_compare_run *c = x->c;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        const rs_compare_sum *s = &x->sums[i * c->n_sides];
        if (!s[0].count && !s[variant].count) continue;
        double diff = rs_compare_diff_us(&c->sides[0], s[0].time, &c->sides[variant], s[variant].time);
        order[n++] = (sort_key){x->keys[i].key, &x->keys[i], fabs(diff)};
    }
    sort_by_size(x, order, n);
    size_t shown = c->top && c->top < n ? c->top : n;
    for (size_t i = 0; i < shown; i++) RS_TRY(add_row(x, t, variant, order[i].row, err));
    note_rest(x, order, shown, n, variant, result);
    return RS_OK;
}

/* ---- over an axis -------------------------------------------------------------------------------------- */

static const char *label_of(const joined *x, const key_row *row, char *out, size_t size)
{
    const rs_string *name = &x->texts.items[row->key.name], *dims = &x->texts.items[row->key.dims];
    snprintf(out, size, "%s%s%s", name->text, dims->length ? " " : "", dims->text);
    return out;
}

/* The names whose time differs most over all inputs, as lines over the axis. */
static rs_status add_pivot(const joined *x, rs_table **pivot, sort_key *order, rs_error *err)
{
    const rs_compare_run *c = x->c;
    rs_compare_line lines[RS_COMPARE_LINES];
    char labels[RS_COMPARE_LINES][512];
    for (size_t i = 0; i < x->n; i++) {
        const rs_compare_sum *s = &x->sums[i * c->n_sides];
        double least = INFINITY, most = 0;
        for (size_t side = 0; side < c->n_sides; side++) {
            double us = rs_compare_us(&c->sides[side], s[side].time);
            least = us < least ? us : least;
            most = us > most ? us : most;
        }
        order[i] = (sort_key){x->keys[i].key, &x->keys[i], most - least};
    }
    sort_by_size(x, order, x->n);
    size_t n = x->n < RS_COMPARE_LINES ? x->n : RS_COMPARE_LINES;
    for (size_t i = 0; i < n; i++)
        lines[i] = (rs_compare_line){label_of(x, order[i].row, labels[i], sizeof labels[i]),
                                     &x->sums[(size_t)(order[i].row - x->keys) * c->n_sides]};
    return rs_compare_pivot(c, lines, n, pivot, err);
}

rs_status rs_compare_flat(const rs_compare_run *c, rs_table *rows, rs_table **pivot, rs_result *result,
                          rs_error *err)
{
    joined x = {.c = c};
    bool ok = rs_strings_init(&x.texts);
    for (size_t side = 0; side < c->n_sides; side++)
        for (size_t i = 0; ok && i < c->sides[side].n_ranks; i++)
            ok = add_rank(&x, side, c->sides[side].ranks[i].value);
    RS_LOCAL sort_key *order = ok ? rs_malloc((x.n + 1) * sizeof *order) : NULL;
    rs_status status = order ? RS_OK : rs_fail_nomem(err, "operators");
    for (size_t v = 1; status == RS_OK && v < c->n_sides; v++)
        status = add_variant(&x, rows, v, order, result, err);
    if (status == RS_OK) status = add_pivot(&x, pivot, order, err);
    rs_strings_clear(&x.texts);
    rs_map64_clear(&x.places);
    rs_free_all(x.keys, x.sums);
    return status;
}
