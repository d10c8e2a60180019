#include "peer/tracelens_sheet.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/order.h"
#include "base/stats.h"

/* ---- sheets -------------------------------------------------------------------------------------------- */

/* Takes the table, also on failure; NULL counts as out of memory. A table without rows is dropped. */
static rs_status sheets_add(rs_sheets *sheets, rs_table *table, rs_error *err)
{
    if (!table) return rs_fail_nomem(err, "a sheet");
    if (rs_table_n_rows(table) == 0) {
        rs_table_free(table);
        return RS_OK;
    }
    if (!RS_GROW_ONE(sheets->items, sheets->n, sheets->capacity)) {
        rs_table_free(table);
        return rs_fail_nomem(err, "a sheet");
    }
    sheets->items[sheets->n++] = table;
    return RS_OK;
}

/* The same for a sheet whose filling came to `status`: after a failure it is freed, and the status returned. */
static rs_status sheets_end(rs_sheets *sheets, rs_table *table, rs_status status, rs_error *err)
{
    if (status == RS_OK) return sheets_add(sheets, table, err);
    rs_table_free(table);
    return status;
}

void rs_sheets_clear(rs_sheets *sheets)
{
    for (size_t i = 0; i < sheets->n; i++) rs_table_free(sheets->items[i]);
    rs_free(sheets->items);
    *sheets = (rs_sheets){0};
}

/* ---- numbers of a group -------------------------------------------------------------------------------- */

/* As pandas takes it of groups: in one pass, after Welford. Empty for one value. */
static double pandas_std(const double *values, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double before = values[i] - mean;
        mean += before / (double)(i + 1);
        squares += (values[i] - mean) * before;
    }
    return n < 2 ? (double)NAN : sqrt(squares / (double)(n - 1));
}

rs_tl_stats rs_tl_stats_of(double *values, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) values[known++] = values[i];
    rs_tl_stats s = {known, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    if (known == 0) return s;
    s.sum = rs_sum(values, known);
    s.mean = s.sum / (double)known;
    s.std = pandas_std(values, known);
    rs_sort_doubles(values, known);
    s.median = rs_quantile(values, known, 0.5);
    s.min = values[0];
    s.max = values[known - 1];
    return s;
}

/* A value, or its squared distance from a mean. */
static double term_of(double value, const double *mean)
{
    return mean ? (value - *mean) * (value - *mean) : value;
}

/* numpy adds eight sums side by side, in halves where there are many values. */
static double numpy_sum(const double *values, size_t n, const double *mean)
{
    double sum = 0, part[8];
    if (n < 8) {
        for (size_t i = 0; i < n; i++) sum += term_of(values[i], mean);
        return sum;
    }
    if (n > 128) {
        size_t half = n / 2;
        half -= half % 8;
        return numpy_sum(values, half, mean) + numpy_sum(values + half, n - half, mean);
    }
    for (size_t k = 0; k < 8; k++) part[k] = term_of(values[k], mean);
    size_t i = 8;
    for (; i < n - n % 8; i += 8)
        for (size_t k = 0; k < 8; k++) part[k] += term_of(values[i + k], mean);
    sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; i++) sum += term_of(values[i], mean);
    return sum;
}

double rs_tl_numpy_sum(const double *values, size_t n)
{
    return numpy_sum(values, n, NULL);
}

double rs_tl_numpy_std(const double *values, size_t n, double mean)
{
    return sqrt(numpy_sum(values, n, &mean) / (double)n);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

bool rs_tl_group(const void *keys, size_t size, const bool *skip, size_t n, rs_tl_groups *out)
{
    rs_strings seen;
    RS_LOCAL uint32_t *group = rs_malloc((n + 1) * sizeof *group);
    *out = (rs_tl_groups){0};
    bool ok = rs_strings_init(&seen) && group;
    /* id 0 is the empty text, which no key is */
    for (size_t i = 0; ok && i < n; i++) {
        group[i] = RS_NO_STRING;
        if (skip && skip[i]) continue;
        group[i] = rs_strings_add(&seen, (const char *)keys + i * size, size);
        ok = group[i] != RS_NO_STRING;
    }
    out->n = ok ? seen.n - 1 : 0;
    out->first = rs_calloc(out->n + 2, sizeof *out->first);
    out->item = rs_malloc((n + 1) * sizeof *out->item);
    ok = ok && out->first && out->item;
    /* first[g + 1] counts group g, then says where it begins, and in the end where it ends */
    for (size_t i = 0; ok && i < n; i++)
        if (group[i] != RS_NO_STRING) out->first[group[i]]++;
    for (size_t g = 0, before = 0; ok && g <= out->n; g++) {
        size_t count = out->first[g];
        out->first[g] = (uint32_t)before;
        before += count;
    }
    for (size_t i = 0; ok && i < n; i++)
        if (group[i] != RS_NO_STRING) out->item[out->first[group[i]]++] = (uint32_t)i;
    rs_strings_clear(&seen);
    if (!ok) rs_tl_groups_clear(out);
    return ok;
}

void rs_tl_groups_clear(rs_tl_groups *groups)
{
    rs_free_all(groups->first, groups->item);
    *groups = (rs_tl_groups){0};
}

typedef struct place {
    double sum;
    uint32_t id, at;
} place;

static const rs_order by_sum[] = {RS_FALLING(place, sum), RS_RISING(place, id), RS_RISING(place, at)};

bool rs_tl_order(const double *sums, const uint32_t *ids, size_t n, uint32_t **out)
{
    RS_LOCAL place *places = rs_malloc((n + 1) * sizeof *places);
    *out = rs_malloc((n + 1) * sizeof **out);
    bool ok = places && *out;
    for (size_t i = 0; ok && i < n; i++) places[i] = (place){sums[i], ids ? ids[i] : 0, (uint32_t)i};
    if (ok && n) RS_SORT(places, n, by_sum);
    for (size_t i = 0; ok && i < n; i++) (*out)[i] = places[i].at;
    if (!ok) rs_free(*out), *out = NULL;
    return ok;
}

/* ---- members of items ---------------------------------------------------------------------------------- */

static const void *member_at(const rs_tl_column *c, const void *item)
{
    return (const char *)item + c->of.offset;
}

static double real_at(const rs_field *f, const void *item)
{
    double value;
    memcpy(&value, (const char *)item + f->offset, sizeof value);
    return value;
}

/* NULL: unknown. */
static const char *text_at(const rs_tl_column *c, const rs_strings *texts, const void *item)
{
    const char *text;
    uint32_t id;
    const void *at = member_at(c, item);
    if (c->of.kind == RS_AS_BOOL) return *(const bool *)at ? "True" : "False";
    if (c->of.kind == RS_AS_TEXT) {
        memcpy(&text, at, sizeof text);
        return text;
    }
    memcpy(&id, at, sizeof id);
    return id == RS_NO_STRING ? NULL : texts->items[id].text;
}

static int64_t number_at(const rs_field *f, const void *item)
{
    const char *at = (const char *)item + f->offset;
    if (f->kind == RS_AS_SIGNED) return rs_signed_at(at, f->size);
    uint64_t number = rs_unsigned_at(at, f->size);
    return number == UINT32_MAX ? RS_NO_VALUE : (int64_t)number;
}

static bool is_known(const rs_tl_column *c, const rs_strings *texts, const void *item)
{
    if (c->spec.type == RS_TEXT) return text_at(c, texts, item) != NULL;
    return c->of.kind == RS_AS_REAL ? !isnan(real_at(&c->of, item)) : number_at(&c->of, item) != RS_NO_VALUE;
}

void rs_tl_add_member(const rs_tl_column *c, const rs_strings *texts, const void *item, rs_table *t)
{
    if (!item || !is_known(c, texts, item))
        rs_table_add_null(t);
    else if (c->spec.type == RS_TEXT)
        rs_table_add_text(t, text_at(c, texts, item));
    else if (c->spec.type == RS_TIME)
        rs_table_add_time(t, number_at(&c->of, item));
    else if (c->spec.type == RS_INT)
        rs_table_add_int(t, number_at(&c->of, item));
    else
        rs_table_add_real(t, real_at(&c->of, item));
}

/* ---- statistics of a group ----------------------------------------------------------------------------- */

/* Of one member over the items of a group; of an int64_t the whole numbers, too. */
typedef struct measured {
    uint32_t offset;
    rs_tl_stats s;
    int64_t sum, min, max;
} measured;

enum { MAX_MEASURED = 16 };

/* A sheet that is being made. */
typedef struct making {
    const rs_tl_sheet *sheet;
    const rs_tl_items *all;
    const rs_tl_column **columns; /* those shown; owned */
    size_t n_columns;
    rs_tl_groups groups;
    double *sums, *values; /* by group; scratch */
    uint32_t *order;
    double total, cumulative;
    measured known[MAX_MEASURED]; /* of the group whose row is made */
    size_t n_known;
    rs_text text;
    char *seen; /* the items of that group, as columns see them */
    size_t seen_capacity;
} making;

static const void *item_at(const making *m, uint32_t i)
{
    return (const char *)m->all->items + i * m->sheet->size;
}

/* The i-th item of the group, as columns see it. */
static const void *seen_at(const making *m, const rs_tl_lot *lot, size_t i)
{
    return m->sheet->see ? m->seen + i * m->sheet->seen : item_at(m, lot->items[i]);
}

static bool see_items(making *m, const uint32_t *items, size_t n)
{
    if (!m->sheet->see) return true;
    if (!rs_grow((void **)&m->seen, &m->seen_capacity, n, m->sheet->seen)) return false;
    for (size_t i = 0; i < n; i++) m->sheet->see(m->all, item_at(m, items[i]), m->seen + i * m->sheet->seen);
    return true;
}

static void measure_times(const making *m, const rs_field *f, const rs_tl_lot *lot, measured *out)
{
    for (size_t i = 0; i < lot->n; i++) {
        int64_t ns = number_at(f, seen_at(m, lot, i));
        out->sum = rs_add_sat(out->sum, ns);
        if (i == 0 || ns < out->min) out->min = ns;
        if (i == 0 || ns > out->max) out->max = ns;
    }
    out->s.mean = (double)out->sum / 1000 / (double)lot->n;
}

static double add_reals(const making *m, const rs_field *f, const rs_tl_lot *lot)
{
    double sum = 0;
    for (size_t i = 0; i < lot->n; i++) sum += real_at(f, seen_at(m, lot, i));
    return sum;
}

static void measure_reals(making *m, const rs_field *f, const rs_tl_lot *lot, measured *out)
{
    for (size_t i = 0; i < lot->n; i++) m->values[i] = real_at(f, seen_at(m, lot, i));
    out->s = rs_tl_stats_of(m->values, lot->n);
}

static const measured *measure(making *m, const rs_field *f, const rs_tl_lot *lot)
{
    for (size_t i = 0; i < m->n_known; i++)
        if (m->known[i].offset == f->offset) return &m->known[i];
    measured *out = &m->known[m->n_known < MAX_MEASURED ? m->n_known++ : MAX_MEASURED - 1];
    *out = (measured){.offset = f->offset};
    if (f->kind == RS_AS_REAL)
        measure_reals(m, f, lot, out);
    else
        measure_times(m, f, lot, out);
    return out;
}

static double real_statistic(making *m, const rs_tl_column *c, const rs_tl_lot *lot)
{
    if (c->how == RS_TL_ADDED) return add_reals(m, &c->of, lot);
    const rs_tl_stats *s = &measure(m, &c->of, lot)->s;
    const double values[] = {[RS_TL_SUM] = s->sum, [RS_TL_MEAN] = s->mean, [RS_TL_MEDIAN] = s->median,
                             [RS_TL_STD] = s->std, [RS_TL_MIN] = s->min,   [RS_TL_MAX] = s->max};
    return values[c->how];
}

static void add_statistic(making *m, const rs_tl_column *c, const rs_tl_lot *lot, rs_table *t)
{
    if (c->spec.type == RS_TIME) {
        const measured *x = measure(m, &c->of, lot);
        rs_table_add_time(t, c->how == RS_TL_SUM ? x->sum : c->how == RS_TL_MIN ? x->min : x->max);
        return;
    }
    double value = real_statistic(m, c, lot);
    rs_table_add_real(t, c->spec.unit == RS_UNIT_MS ? value / 1000 : value);
}

/* ---- groups and their order ---------------------------------------------------------------------------- */

static bool is_key(const rs_tl_column *c)
{
    return c->how == RS_TL_KEY || c->how == RS_TL_DUE;
}

/* Without keys. */
static bool group_each(making *m)
{
    size_t n = m->all->n;
    m->groups =
        (rs_tl_groups){n, rs_malloc((n + 1) * sizeof(uint32_t)), rs_malloc((n + 1) * sizeof(uint32_t))};
    if (!m->groups.first || !m->groups.item) return false;
    for (size_t i = 0; i <= n; i++) m->groups.first[i] = m->groups.item[i] = (uint32_t)i;
    return true;
}

static bool group_by_keys(making *m)
{
    const rs_tl_sheet *sheet = m->sheet;
    size_t size = 0, n = m->all->n;
    for (size_t k = 0; k < sheet->n; k++)
        if (is_key(&sheet->columns[k])) size += sheet->columns[k].of.size;
    if (size == 0) return group_each(m);
    RS_LOCAL char *keys = rs_malloc(n * size + 1);
    RS_LOCAL bool *skip = rs_calloc(n + 1, sizeof *skip);
    if (!keys || !skip) return false;
    for (size_t i = 0; i < n; i++) {
        char *at = keys + i * size;
        const void *item = item_at(m, (uint32_t)i);
        for (size_t k = 0; k < sheet->n; k++) {
            const rs_tl_column *c = &sheet->columns[k];
            if (!is_key(c)) continue;
            memcpy(at, member_at(c, item), c->of.size);
            at += c->of.size;
            if (c->how == RS_TL_DUE && !is_known(c, m->all->texts, item)) skip[i] = true;
        }
    }
    return rs_tl_group(keys, size, skip, n, &m->groups);
}

static double sum_of(const making *m, size_t group)
{
    const rs_field *by = &m->sheet->by;
    double sum = 0;
    int64_t ns = 0;
    for (size_t i = m->groups.first[group]; by->size && i < m->groups.first[group + 1]; i++) {
        const void *item = item_at(m, m->groups.item[i]);
        if (by->kind == RS_AS_REAL)
            sum += real_at(by, item);
        else
            ns = rs_add_sat(ns, number_at(by, item));
    }
    return by->kind == RS_AS_REAL ? sum : (double)ns;
}

/* What percentages are of. */
static void add_up(making *m)
{
    double scale = m->sheet->scale;
    for (size_t i = 0; i < m->groups.n; i++) m->total += m->sums[m->order[i]];
    if (scale == 0) return;
    for (size_t i = 0; i < m->groups.n; i++) m->values[i] = m->sums[m->order[i]] / scale;
    m->total = rs_tl_numpy_sum(m->values, m->groups.n);
}

static bool order_groups(making *m)
{
    size_t n = m->groups.n;
    const rs_field *then = &m->sheet->then;
    RS_LOCAL uint32_t *ids = rs_calloc(n + 1, sizeof *ids);
    m->sums = rs_malloc((n + 1) * sizeof *m->sums);
    m->values = rs_malloc((m->all->n + 1) * sizeof *m->values);
    if (!ids || !m->sums || !m->values) return false;
    for (size_t g = 0; g < n; g++) {
        m->sums[g] = sum_of(m, g);
        if (then->size) ids[g] = (uint32_t)number_at(then, item_at(m, m->groups.item[m->groups.first[g]]));
    }
    if (!rs_tl_order(m->sums, ids, n, &m->order)) return false;
    add_up(m);
    return true;
}

/* ---- the sheet ----------------------------------------------------------------------------------------- */

static rs_table *create_table(making *m, uint8_t has)
{
    size_t n = m->sheet->n;
    RS_LOCAL rs_column_spec *specs = rs_malloc(n * sizeof *specs);
    m->columns = rs_malloc(n * sizeof *m->columns);
    if (!specs || !m->columns) return NULL;
    for (size_t i = 0; i < n; i++) {
        const rs_tl_column *c = &m->sheet->columns[i];
        if (!c->spec.name || (c->when && !(c->when & has))) continue;
        specs[m->n_columns] = c->spec;
        m->columns[m->n_columns++] = c;
    }
    const rs_table_spec spec = {m->sheet->name, m->sheet->help, specs, m->n_columns};
    return rs_table_create_dynamic(&spec);
}

static bool add_cell(making *m, const rs_tl_column *c, const rs_tl_lot *lot, rs_table *t)
{
    double percent = 0;
    size_t i = 0;
    switch ((rs_tl_how)c->how) {
    case RS_TL_HAD:
        while (i + 1 < lot->n && !is_known(c, m->all->texts, seen_at(m, lot, i))) i++;
        rs_tl_add_member(c, m->all->texts, seen_at(m, lot, i), t);
        return true;
    case RS_TL_KEY:
    case RS_TL_DUE:
    case RS_TL_FIRST: rs_tl_add_member(c, m->all->texts, lot->first, t); return true;
    case RS_TL_COUNT: rs_table_add_int(t, (int64_t)lot->n); return true;
    case RS_TL_PERCENT:
        percent = lot->sum / (m->sheet->scale == 0 ? 1 : m->sheet->scale) / m->total * 100;
        m->cumulative += percent;
        rs_table_add_real(t, percent);
        return true;
    case RS_TL_CUMULATIVE: rs_table_add_real(t, m->cumulative); return true;
    case RS_TL_PUT: return c->put(lot, t);
    case RS_TL_PUT_BEFORE: return true;
    case RS_TL_ADDED:
    case RS_TL_SUM:
    case RS_TL_MEAN:
    case RS_TL_MEDIAN:
    case RS_TL_STD:
    case RS_TL_MIN:
    case RS_TL_MAX: add_statistic(m, c, lot, t); return true;
    }
    return false;
}

static rs_status add_row(making *m, uint32_t group, rs_table *t, rs_error *err)
{
    uint32_t first = m->groups.first[group];
    const uint32_t *items = m->groups.item + first;
    const size_t n = m->groups.first[group + 1] - first;
    if (!see_items(m, items, n)) return rs_fail_nomem(err, "a row");
    const rs_tl_lot lot = {.all = m->all,
                           .first = m->sheet->see ? m->seen : item_at(m, items[0]),
                           .items = items,
                           .n = n,
                           .sum = m->sums[group],
                           .text = &m->text};
    m->n_known = 0;
    for (size_t i = 0; i < m->n_columns; i++)
        if (!add_cell(m, m->columns[i], &lot, t)) return rs_fail_nomem(err, "a row");
    return rs_table_end_row(t, err);
}

static rs_status add_rows(making *m, const rs_tl_items *items, rs_table *t, rs_error *err)
{
    m->all = items;
    rs_status status = group_by_keys(m) && order_groups(m) ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; status == RS_OK && i < m->groups.n; i++) status = add_row(m, m->order[i], t, err);
    rs_tl_groups_clear(&m->groups);
    rs_free_all(m->sums, m->values, m->order);
    m->sums = m->values = NULL;
    m->order = NULL;
    m->total = m->cumulative = 0;
    return status;
}

rs_status rs_tl_add_parts(const rs_tl_sheet *sheet, const rs_tl_items *parts, size_t n, rs_sheets *out,
                          rs_error *err)
{
    making m = {.sheet = sheet};
    rs_table *t = create_table(&m, parts[0].has);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; status == RS_OK && i < n; i++) status = add_rows(&m, &parts[i], t, err);
    rs_free_all((void *)m.columns, m.seen);
    rs_text_clear(&m.text);
    return sheets_end(out, t, status, err);
}

rs_status rs_tl_add_sheet(const rs_tl_sheet *sheet, const rs_tl_items *items, rs_sheets *out, rs_error *err)
{
    return rs_tl_add_parts(sheet, items, 1, out, err);
}

bool rs_tl_add_python(rs_table *t, rs_text *text)
{
    if (text->failed) return false;
    rs_table_add_text_n(t, text->s ? text->s : "", text->n);
    text->n = 0;
    return true;
}
