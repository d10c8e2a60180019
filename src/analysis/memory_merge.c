/* memory of snapshots: from what the ranks contribute to the tables. */
#include <stdlib.h>
#include <string.h>

#include "analysis/gate.h"
#include "analysis/memory_clock.h"
#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"

/* The ranks of one job. */
typedef struct side {
    const rs_partial *items;
    size_t n;
} side;

static const rs_memory_rank *rank_of(const side *s, size_t i)
{
    return s->items[i].value;
}

/* Partials are in pairs, one of each job. */
static side side_of(const rs_partial *partials, size_t n, unsigned which)
{
    size_t from = 0, to;
    while (from < n && partials[from].side < which) from++;
    for (to = from; to < n && partials[to].side == which; to++) {
    }
    return (side){partials + from, to - from};
}

/* ---- ranks ----------------------------------------------------------------------------------------------------- */

static rs_status find_median(const side *s, double *out, rs_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += rank_of(s, i)->n_devices;
    RS_LOCAL double *peaks = rs_malloc((n + 1) * sizeof *peaks);
    if (!peaks) return rs_fail_nomem(err, "peaks");
    n = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_devices; k++)
            peaks[n++] = (double)rank_of(s, i)->devices[k].peak[RS_ACTIVE];
    rs_sort_doubles(peaks, n);
    *out = n ? rs_quantile(peaks, n, 0.5) : 0;
    return RS_OK;
}

static rs_status add_fit(const rs_memory_question *q, const side *s, rs_table *t, rs_error *err)
{
    int64_t room = rs_sub_sat(q->room, q->other < 0 ? 0 : q->other);
    for (size_t i = 0; i < s->n; i++) {
        const rs_memory_rank *p = rank_of(s, i);
        rs_table_use_texts(t, &p->texts);
        for (size_t k = 0; k < p->n_devices; k++) {
            const rs_memory_device *d = &p->devices[k];
            rs_memory_fit row = {.device = d->device,
                                 .fits = d->need <= room    ? 0
                                         : d->floor <= room ? 1
                                                            : 2,
                                 .room = room,
                                 .need = d->need,
                                 .floor = d->floor,
                                 .headroom = rs_sub_sat(room, d->need)};
            RS_TRY(rs_memory_put_fit(t, s->items[i].rank, &row, err));
        }
    }
    return RS_OK;
}

/* ---- sites over ranks ---------------------------------------------------------------------------------------- */

/* What a site holds on one device when that is fullest. */
typedef struct share {
    const char *site;
    size_t device; /* counted over all ranks */
    int64_t rank, bytes;
} share;

static const rs_order by_site[] = {RS_RISING(share, site), RS_RISING(share, device)};

static const rs_order by_spread[] = {RS_FALLING(rs_memory_spread, spread), RS_FALLING(rs_memory_spread, max),
                                     RS_RISING(rs_memory_spread, site)};

/* A site from what the devices that have it hold; those without it hold 0. rank_of_device: of all of them. */
static rs_memory_spread spread_of(const share *shares, size_t n, const int64_t *rank_of_device,
                                  size_t n_devices, double *values)
{
    rs_memory_spread row = {.site = shares[0].site, .min = INT64_MAX, .max = -1};
    size_t at = 0;
    for (size_t d = 0; d < n_devices; d++) {
        bool has = at < n && shares[at].device == d;
        int64_t bytes = has ? shares[at++].bytes : 0;
        values[d] = (double)bytes;
        if (bytes > 0 && (row.ranks == 0 || d == 0 || rank_of_device[d - 1] != rank_of_device[d]))
            row.ranks++;
        if (bytes < row.min) {
            row.min = bytes;
            row.min_rank = rank_of_device[d];
        }
        if (bytes > row.max) {
            row.max = bytes;
            row.max_rank = rank_of_device[d];
        }
    }
    rs_sort_doubles(values, n_devices);
    row.median = rs_quantile(values, n_devices, 0.5);
    row.spread = rs_sub_sat(row.max, row.min);
    return row;
}

/* Room for the sums over devices. */
typedef struct spreading {
    share *shares;
    size_t n_shares;
    int64_t *ranks; /* by device */
    double *values;
    size_t n_devices;
    rs_memory_spread *rows;
    size_t n_rows, capacity;
} spreading;

static bool collect_shares(const side *s, spreading *x)
{
    size_t n_shares = 0, n_devices = 0;
    for (size_t i = 0; i < s->n; i++) {
        n_shares += rank_of(s, i)->n_sites;
        n_devices += rank_of(s, i)->n_devices;
    }
    x->shares = rs_malloc((n_shares + 1) * sizeof *x->shares);
    x->ranks = rs_malloc((n_devices + 1) * sizeof *x->ranks);
    x->values = rs_malloc((n_devices + 1) * sizeof *x->values);
    if (!x->shares || !x->ranks || !x->values) return false;
    for (size_t i = 0; i < s->n; i++) {
        const rs_memory_rank *p = rank_of(s, i);
        size_t device = 0;
        for (size_t k = 0; k < p->n_sites; k++) {
            const rs_memory_site *site = &p->sites[k];
            while (device + 1 < p->n_devices && p->devices[device].device != site->device) device++;
            if (!site->at_peak) continue;
            x->shares[x->n_shares++] = (share){p->texts.items[site->site].text, x->n_devices + device,
                                               s->items[i].rank, site->at_peak};
        }
        for (size_t k = 0; k < p->n_devices; k++) x->ranks[x->n_devices++] = s->items[i].rank;
    }
    RS_SORT(x->shares, x->n_shares, by_site);
    return true;
}

static bool sum_shares(spreading *x)
{
    for (size_t i = 0, end; i < x->n_shares; i = end) {
        for (end = i + 1; end < x->n_shares && strcmp(x->shares[end].site, x->shares[i].site) == 0; end++) {
        }
        if (!RS_PUSH(x->rows, x->n_rows, x->capacity,
                     spread_of(x->shares + i, end - i, x->ranks, x->n_devices, x->values)))
            return false;
    }
    RS_SORT(x->rows, x->n_rows, by_spread);
    return true;
}

static rs_status add_spread(const rs_memory_question *q, const side *s, rs_table *t, rs_error *err)
{
    spreading x = {0};
    rs_status status =
        collect_shares(s, &x) && sum_shares(&x) ? RS_OK : rs_fail_nomem(err, "sites over ranks");
    for (size_t i = 0; status == RS_OK && i < x.n_rows && (!q->top || i < q->top); i++)
        status = rs_memory_put_spread(t, &x.rows[i], err);
    rs_free_all(x.shares, x.ranks, x.values, x.rows);
    return status;
}

/* ---- against the base -------------------------------------------------------------------------------------------- */

static const rs_order by_pair_site[] = {RS_RISING(rs_memory_pair, site)};

static int by_change(const void *a, const void *b)
{
    const rs_memory_pair *x = a, *y = b;
    int64_t dx = x->change < 0 ? -x->change : x->change, dy = y->change < 0 ? -y->change : y->change;
    if (dx != dy) return dx > dy ? -1 : 1;
    if (x->b != y->b) return x->b > y->b ? -1 : 1;
    return strcmp(x->site, y->site);
}

/* The sites of a device; the rank may lack it. */
static size_t add_sites(const rs_memory_rank *p, const rs_memory_device *device, bool base,
                        rs_memory_pair *out)
{
    size_t n = 0;
    for (size_t i = 0; device && i < p->n_sites; i++) {
        const rs_memory_site *s = &p->sites[i];
        if (s->device != device->device || (!s->bytes && !s->blocks)) continue;
        rs_memory_pair *row = &out[n++];
        *row = (rs_memory_pair){.site = p->texts.items[s->site].text};
        *(base ? &row->a : &row->b) = s->bytes;
        *(base ? &row->a_blocks : &row->b_blocks) = s->blocks;
    }
    return n;
}

/* One device against another: rows of one site become one. */
static rs_status add_pair(const rs_memory_question *q, const rs_memory_rank *a, const rs_memory_device *in_a,
                          const rs_memory_rank *b, const rs_memory_device *in_b, int64_t rank, rs_table *t,
                          rs_error *err)
{
    size_t most = (a ? a->n_sites : 0) + (b ? b->n_sites : 0), n = 0, kept = 0;
    RS_LOCAL rs_memory_pair *rows = rs_malloc((most + 1) * sizeof *rows);
    if (!rows) return rs_fail_nomem(err, "sites");
    const char *device = in_a ? a->texts.items[in_a->device].text : b->texts.items[in_b->device].text;
    n += add_sites(a, in_a, true, rows + n);
    n += add_sites(b, in_b, false, rows + n);
    RS_SORT(rows, n, by_pair_site);
    for (size_t i = 0; i < n; i++) {
        bool same = kept && strcmp(rows[kept - 1].site, rows[i].site) == 0;
        rs_memory_pair *row = &rows[same ? kept - 1 : kept++];
        if (!same) {
            *row = rows[i];
            row->device = device;
        } else {
            row->a += rows[i].a;
            row->b += rows[i].b;
            row->a_blocks += rows[i].a_blocks;
            row->b_blocks += rows[i].b_blocks;
        }
        row->change = rs_sub_sat(row->b, row->a);
    }
    if (kept) qsort(rows, kept, sizeof *rows, by_change);
    for (size_t i = 0; i < kept && (!q->top || i < q->top); i++)
        RS_TRY(rs_memory_put_pair(t, rank, &rows[i], err));
    return RS_OK;
}

static const rs_memory_device *device_named(const rs_memory_rank *p, const char *name)
{
    for (size_t i = 0; p && i < p->n_devices; i++)
        if (strcmp(p->texts.items[p->devices[i].device].text, name) == 0) return &p->devices[i];
    return NULL;
}

/* Devices are matched by their number, the only one of a rank with the only one of the other. */
static rs_status add_rank_pair(const rs_memory_question *q, const rs_memory_rank *a, const rs_memory_rank *b,
                               int64_t rank, rs_table *t, rs_error *err)
{
    if (a && b && a->n_devices == 1 && b->n_devices == 1)
        return add_pair(q, a, &a->devices[0], b, &b->devices[0], rank, t, err);
    for (size_t i = 0; a && i < a->n_devices; i++)
        RS_TRY(add_pair(q, a, &a->devices[i], b, device_named(b, a->texts.items[a->devices[i].device].text),
                        rank, t, err));
    for (size_t i = 0; b && i < b->n_devices; i++)
        if (!device_named(a, b->texts.items[b->devices[i].device].text))
            RS_TRY(add_pair(q, a, NULL, b, &b->devices[i], rank, t, err));
    return RS_OK;
}

/* Ranks are matched by number, the only one of a job with the only one of the other; rows are called as in the base. */
static rs_status add_changes(const rs_memory_question *q, const side *a, const side *b, rs_table *t,
                             rs_error *err)
{
    if (a->n == 1 && b->n == 1)
        return add_rank_pair(q, rank_of(a, 0), rank_of(b, 0), a->items[0].rank, t, err);
    for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
        bool left = k == b->n || (i < a->n && a->items[i].rank <= b->items[k].rank);
        bool right = i == a->n || (k < b->n && b->items[k].rank <= a->items[i].rank);
        RS_TRY(add_rank_pair(q, left ? rank_of(a, i) : NULL, right ? rank_of(b, k) : NULL,
                             left ? a->items[i].rank : b->items[k].rank, t, err));
        i += left;
        k += right;
    }
    return RS_OK;
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

static void choose_main(const rs_memory_question *q, bool base, size_t first, rs_result *result)
{
    size_t table = q->edits       ? RS_MEMORY_WITHOUT
                   : q->room >= 0 ? RS_MEMORY_FIT
                   : base         ? RS_MEMORY_CHANGE
                   : q->series    ? RS_MEMORY_TIMELINE
                   : q->layers    ? RS_MEMORY_LAYERS
                   : q->layout    ? RS_MEMORY_LAYOUT
                                  : RS_MEMORY_RANKS;
    result->main_table = first + table;
}

/* Ranks whose sites are by the operators of their traces. */
typedef struct renamed {
    rs_partial *partials;
    rs_memory_rank *ranks;
    size_t n;
} renamed;

static void clear_renamed(renamed *r)
{
    for (size_t i = 0; i < r->n; i++) rs_memory_by_op_clear(&r->ranks[i]);
    rs_free_all(r->ranks, r->partials);
}

static rs_status name_by_op(const rs_memory_joints *joints, side *given, renamed *out, rs_error *err)
{
    out->partials = rs_malloc((given->n + 1) * sizeof *out->partials);
    out->ranks = rs_calloc(joints->n + 1, sizeof *out->ranks);
    if (!out->partials || !out->ranks) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < given->n; i++) {
        out->partials[i] = given->items[i];
        bool joined = out->n < joints->n && joints->items[out->n].snapshot_of == &given->items[i];
        if (!joined) continue;
        rs_memory_rank *rank = &out->ranks[out->n];
        out->partials[i].value = rank;
        RS_TRY(rs_memory_by_op(&joints->items[out->n++], rank, err));
    }
    given->items = out->partials;
    return RS_OK;
}

static bool knows_operators(const side *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_sites; k++) {
            const rs_memory_rank *p = rank_of(s, i);
            if (strcmp(p->texts.items[p->sites[k].site].text, "unknown") != 0) return true;
        }
    return false;
}

static rs_status fill(const rs_run *run, const rs_memory_question *q, const rs_partial *partials, size_t n,
                      size_t first, rs_result *result, rs_error *err)
{
    rs_table **tables = result->tables + first;
    side given = side_of(partials, n, 0), base = side_of(partials, n, 1);
    bool compares = rs_options_is_set(run->options, "base");
    double median = 0;
    RS_SCOPED(rs_memory_joints_clear) rs_memory_joints joints = {0};
    RS_SCOPED(clear_renamed) renamed named = {0};
    choose_main(q, compares, first, result);
    if (q->traced) {
        side traces = side_of(partials, n, compares ? 2 : 1);
        RS_TRY(rs_memory_joints_make(given.items, given.n, traces.items, traces.n, &joints, result, err));
        if (q->by == RS_BY_OP) RS_TRY(name_by_op(&joints, &given, &named, err));
    }
    if (q->by == RS_BY_OP && !knows_operators(&given))
        rs_result_note(result,
                       "nothing says which operators allocated: give --trace, or record with stacks=\"all\"");
    RS_TRY(find_median(&given, &median, err));
    for (size_t i = 0; i < given.n; i++)
        RS_TRY(rs_memory_put_rank(q, tables, given.items[i].rank, rank_of(&given, i), median, err));
    RS_TRY(add_spread(q, &given, tables[RS_MEMORY_SPREAD], err));
    if (compares) RS_TRY(add_changes(q, &base, &given, tables[RS_MEMORY_CHANGE], err));
    if (q->room >= 0) RS_TRY(add_fit(q, &given, tables[RS_MEMORY_FIT], err));
    RS_TRY(rs_memory_add_findings(run, q, given.items, given.n, median, tables, result, err));
    for (size_t i = 0; i < joints.n; i++)
        RS_TRY(rs_memory_joint_put(&joints.items[i], q, tables, result, err));
    return rs_gate_apply(run->options, tables[RS_MEMORY_RANKS], result, err);
}

rs_status rs_memory_snapshot_merge(const rs_run *run, const rs_partial *partials, size_t n, size_t first,
                                   rs_result *result, rs_error *err)
{
    rs_memory_question q;
    rs_status status = rs_memory_question_read(run->options, &q, err);
    if (status == RS_OK) status = fill(run, &q, partials, n, first, result, err);
    rs_memory_question_clear(&q);
    return status;
}
