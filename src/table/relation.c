#include "table/relation.h"

#include <math.h>

/* A value of a group. The value comes first. */
typedef struct kept_number {
    double value;
    uint32_t group;
} kept_number;

typedef struct kept_interval {
    rs_interval value;
    uint32_t group;
} kept_interval;

void *rs_relation_add(rs_relation *r, const void *row)
{
    if (r->n >= r->capacity && !rs_grow(&r->rows, &r->capacity, r->n + 1, r->size)) return NULL;
    return memcpy((char *)r->rows + r->n++ * r->size, row, r->size);
}

void rs_relation_clear(rs_relation *r)
{
    rs_free(r->rows);
    r->rows = NULL;
    r->n = r->capacity = 0;
}

/* ---- single values ------------------------------------------------------------------------------------- */

/* A whole number and whether it is known. */
static bool number_from(const rs_aggregate *a, const char *row, int64_t *out)
{
    const char *at = row + a->from;
    if (a->from_kind == RS_AS_REAL) return !isnan(rs_real_at(at));
    if (a->from_kind == RS_AS_SIGNED) {
        *out = rs_signed_at(at, a->from_size);
        return *out != INT64_MIN;
    }
    *out = (int64_t)rs_unsigned_at(at, a->from_size);
    return a->from_size != 4 || *out != UINT32_MAX;
}

static bool real_from(const rs_aggregate *a, const char *row, double *out)
{
    int64_t whole = 0;
    bool known = true;
    if (a->from_kind == RS_AS_REAL) {
        *out = rs_real_at(row + a->from);
    } else {
        known = number_from(a, row, &whole);
        *out = (double)whole;
    }
    if (a->per != 0) *out /= a->per;
    return known && !isnan(*out);
}

static void add_real(const rs_aggregate *a, char *group, const char *row)
{
    double sum = rs_real_at(group + a->field.offset), value;
    if (!real_from(a, row, &value)) return;
    bool replaces = isnan(sum) || (a->how == RS_BY_LEAST ? value < sum : value > sum);
    if (a->how == RS_BY_SUM) value += sum;
    if (a->how == RS_BY_SUM || replaces) memcpy(group + a->field.offset, &value, sizeof value);
}

static bool is_kept(const rs_aggregate *a)
{
    return a->how == RS_BY_DESCRIPTION || a->how == RS_BY_UNION;
}

static void begin_group(const rs_aggregate *a, char *group, const char *row)
{
    if (a->how == RS_BY_KEY || a->how == RS_BY_FIRST)
        memcpy(group + a->field.offset, row + a->from, a->field.size);
    if (a->how != RS_BY_LEAST && a->how != RS_BY_GREATEST) return;
    if (a->field.kind == RS_AS_REAL)
        *(double *)(group + a->field.offset) = (double)NAN;
    else
        *(int64_t *)(group + a->field.offset) = INT64_MIN;
}

static void add_value(const rs_aggregate *a, char *group, const char *row)
{
    int64_t *number = (int64_t *)(group + a->field.offset), value = 0;
    switch ((rs_aggregate_how)a->how) {
    case RS_BY_COUNT: ++*number; break;
    case RS_BY_MERGED: rs_moments_merge((rs_moments *)number, (const rs_moments *)(row + a->from)); break;
    case RS_BY_KNOWN:
    case RS_BY_SUM:
    case RS_BY_LEAST:
    case RS_BY_GREATEST:
    case RS_BY_MOMENTS:
        if (a->field.kind == RS_AS_REAL) {
            add_real(a, group, row);
            break;
        }
        if (!number_from(a, row, &value)) break;
        if (a->how == RS_BY_KNOWN) ++*number;
        if (a->how == RS_BY_SUM) *number = rs_add_sat(*number, value);
        if (a->how == RS_BY_LEAST && (*number == INT64_MIN || value < *number)) *number = value;
        if (a->how == RS_BY_GREATEST && value > *number) *number = value;
        if (a->how == RS_BY_MOMENTS) rs_moments_add((rs_moments *)number, value);
        break;
    default: break;
    }
}

static size_t kept_size(const rs_aggregate *a)
{
    return a->how == RS_BY_UNION ? sizeof(kept_interval) : sizeof(kept_number);
}

static bool keep_value(rs_grouper *g, size_t at, uint32_t group, const char *row)
{
    const rs_aggregate *a = &g->by[at];
    size_t *n = &g->n_kept[at];
    kept_number number = {.group = group};
    kept_interval interval = {.group = group};
    if (a->how == RS_BY_UNION) {
        interval.value = (rs_interval){rs_signed_at(row + a->from, 8), rs_signed_at(row + a->until, 8)};
        if (interval.value.start == INT64_MIN) return true;
    } else if (!real_from(a, row, &number.value)) {
        return true;
    }
    if (*n >= g->kept_capacity[at] && !rs_grow(&g->kept[at], &g->kept_capacity[at], *n + 1, kept_size(a)))
        return false;
    if (a->how == RS_BY_UNION)
        ((kept_interval *)g->kept[at])[(*n)++] = interval;
    else
        ((kept_number *)g->kept[at])[(*n)++] = number;
    return true;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

void rs_grouper_open(rs_grouper *g, const rs_aggregate *by, size_t n, rs_relation *into)
{
    size_t bytes = 0;
    *g = (rs_grouper){.by = by, .n = n, .into = into};
    while (g->n_keys < n && by[g->n_keys].how == RS_BY_KEY) bytes += by[g->n_keys++].from_size;
    g->narrow = bytes <= sizeof(uint64_t);
    for (size_t i = g->n_keys; i < n; i++)
        if (by[i].how != RS_BY_FIRST && by[i].how != RS_BY_TOTAL && by[i].how != RS_BY_HAND)
            g->adds[g->n_adds++] = (uint8_t)i;
}

/* Of narrow keys the keys themselves, side by side; else a hash of them. */
static uint64_t key_of(const rs_grouper *g, const char *row)
{
    uint64_t key = 0;
    for (size_t i = 0; i < g->n_keys; i++) {
        const rs_aggregate *a = &g->by[i];
        uint64_t part = rs_unsigned_at(row + a->from, a->from_size);
        if (!g->narrow)
            key = rs_hash_u64(key ^ part);
        else
            key = a->from_size < sizeof key ? key << 8 * a->from_size | part : part;
    }
    return key;
}

static bool has_keys(const rs_grouper *g, const char *group, const char *row)
{
    for (size_t i = 0; i < g->n_keys; i++)
        if (memcmp(group + g->by[i].field.offset, row + g->by[i].from, g->by[i].from_size) != 0) return false;
    return true;
}

/* The group's number; *is_new: the place of one that is still to be made. RS_NO_STRING when out of memory. */
static uint32_t group_of(rs_grouper *g, const char *row, bool *is_new)
{
    uint64_t key = key_of(g, row);
    if (g->narrow && g->into->n && key == g->last_key) return g->last;
    for (g->last_key = key;; key++) { /* a clash of hashes takes the next number */
        uint32_t *place = rs_map64_put(&g->places, key, is_new);
        if (!place) return RS_NO_STRING;
        if (*is_new) *place = (uint32_t)g->into->n;
        g->last = *place;
        if (*is_new || g->narrow || has_keys(g, (const char *)g->into->rows + *place * g->into->size, row))
            return *place;
    }
}

void *rs_grouper_add(rs_grouper *g, const void *row)
{
    bool is_new = false;
    uint32_t at = g->no_memory ? RS_NO_STRING : group_of(g, row, &is_new);
    rs_relation *r = g->into;
    bool ok = at != RS_NO_STRING &&
              (!is_new || r->n < r->capacity || rs_grow(&r->rows, &r->capacity, r->n + 1, r->size));
    if (!ok) {
        g->no_memory = true;
        return NULL;
    }
    char *group = (char *)r->rows + at * r->size;
    if (is_new) {
        memset(group, 0, r->size);
        for (size_t i = 0; i < g->n; i++) begin_group(&g->by[i], group, row);
        r->n++;
    }
    for (size_t k = 0; k < g->n_adds; k++) {
        const rs_aggregate *a = &g->by[g->adds[k]];
        if (!is_kept(a))
            add_value(a, group, row);
        else if (!keep_value(g, g->adds[k], at, row))
            g->no_memory = true;
    }
    return group;
}

/* ---- what needs all values ------------------------------------------------------------------------------- */

static uint32_t kept_group(const rs_grouper *g, size_t at, size_t i)
{
    return g->by[at].how == RS_BY_UNION ? ((const kept_interval *)g->kept[at])[i].group
                                        : ((const kept_number *)g->kept[at])[i].group;
}

/* The values of an aggregate by group, each group's in the order in which they came; starts: where each group's begin,
 * one more than there are groups. NULL when out of memory. */
static void *by_group(const rs_grouper *g, size_t at, size_t size, size_t *starts)
{
    size_t n = g->n_kept[at];
    char *out = rs_malloc(n * size);
    for (size_t i = 0; i < n; i++) starts[kept_group(g, at, i) + 1]++;
    for (size_t i = 0; i < g->into->n; i++) starts[i + 1] += starts[i];
    for (size_t i = n; out && i-- > 0;)
        memcpy(out + --starts[kept_group(g, at, i) + 1] * size,
               (const char *)g->kept[at] + i * kept_size(&g->by[at]), size);
    return out;
}

static bool settle_group(rs_aggregate_how how, void *values, size_t n, void *out)
{
    if (how == RS_BY_DESCRIPTION) {
        *(rs_description *)out = rs_describe(values, n);
        return true;
    }
    if (!rs_intervals_sort(values, n)) return false;
    *(int64_t *)out = rs_intervals_length(values, rs_intervals_unite(values, n));
    return true;
}

static bool settle(rs_grouper *g, size_t at)
{
    const rs_aggregate *a = &g->by[at];
    const rs_relation *r = g->into;
    size_t size = a->how == RS_BY_UNION ? sizeof(rs_interval) : sizeof(double), n = g->n_kept[at];
    RS_LOCAL size_t *starts = rs_calloc(r->n + 2, sizeof *starts);
    RS_LOCAL char *values = starts ? by_group(g, at, size, starts) : NULL;
    bool ok = values != NULL;
    for (size_t i = 0; ok && i < r->n; i++) { /* starts[i + 1] is where group i begins by now */
        size_t from = starts[i + 1], to = i + 1 < r->n ? starts[i + 2] : n;
        ok = settle_group((rs_aggregate_how)a->how, values + from * size, to - from,
                          (char *)r->rows + i * r->size + a->field.offset);
    }
    return ok;
}

static bool add_totals(const rs_relation *r, const rs_aggregate *a)
{
    RS_SCOPED(rs_map64_clear) rs_map64 places = {0};
    RS_LOCAL int64_t *totals = rs_calloc(r->n + 1, sizeof *totals);
    bool ok = totals != NULL, is_new;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; ok && i < r->n; i++) {
            char *row = (char *)r->rows + i * r->size;
            uint64_t key = a->until_size ? rs_unsigned_at(row + a->until, a->until_size) : 0;
            uint32_t *place = rs_map64_put(&places, key, &is_new);
            if (!place) ok = false;
            if (!ok) break;
            if (is_new) *place = (uint32_t)i;
            int64_t *total = &totals[*place];
            if (round)
                memcpy(row + a->field.offset, total, sizeof *total);
            else
                *total = rs_add_sat(*total, rs_signed_at(row + a->from, sizeof *total));
        }
    }
    return ok;
}

void rs_grouper_drop(rs_grouper *g)
{
    for (size_t i = 0; i < g->n; i++) rs_free(g->kept[i]);
    rs_map64_clear(&g->places);
    *g = (rs_grouper){0};
}

bool rs_grouper_close(rs_grouper *g)
{
    bool ok = !g->no_memory;
    for (size_t i = 0; ok && i < g->n; i++)
        if (is_kept(&g->by[i])) ok = settle(g, i);
    for (size_t i = 0; ok && i < g->n; i++)
        if (g->by[i].how == RS_BY_TOTAL) ok = add_totals(g->into, &g->by[i]);
    rs_grouper_drop(g);
    return ok;
}

void rs_aggregate_merge(const rs_aggregate *by, size_t n, void *into, const void *from)
{
    for (size_t i = 0; i < n; i++) {
        const rs_aggregate *a = &by[i];
        char *out = (char *)into + a->field.offset;
        rs_aggregate same = *a; /* the same member of another group */
        same.from = a->field.offset;
        same.from_size = (uint8_t)a->field.size;
        same.from_kind = a->field.kind;
        same.how = a->how == RS_BY_COUNT || a->how == RS_BY_KNOWN ? RS_BY_SUM
                   : a->how == RS_BY_MOMENTS                      ? RS_BY_MERGED
                                                                  : a->how;
        if (a->how == RS_BY_DESCRIPTION) *(rs_description *)out = rs_describe(NULL, 0);
        if (a->how == RS_BY_UNION) *(int64_t *)out = INT64_MIN;
        if (a->how != RS_BY_KEY && a->how != RS_BY_FIRST && a->how != RS_BY_TOTAL && !is_kept(a))
            add_value(&same, into, from);
    }
}
