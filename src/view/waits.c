/* Which part of communication is waiting for other ranks: of each event, and of what the map calls exposed_comm. */

#include "base/order.h"
#include "base/search.h"
#include "view/explorer.h"

static const rs_order by_event[] = {RS_RISING(rs_member_wait, rank), RS_RISING(rs_member_wait, id)};
static const rs_order by_start[] = {RS_RISING(rs_member_wait, rank), RS_RISING(rs_member_wait, from)};

/* ---- making -------------------------------------------------------------------------------------------- */

static rs_status gather(const rs_table *t, rs_waits *out, rs_error *err)
{
    const size_t n = rs_table_n_rows(t), rank = rs_column_of(t, "rank"), id = rs_column_of(t, "uid"),
                 from = rs_column_of(t, "own_start_us"), wait = rs_column_of(t, "wait_us"),
                 duration = rs_column_of(t, "duration_us");
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    if (!out->items) return rs_fail_nomem(err, "waits of communication");
    for (size_t i = 0; i < n; i++) {
        const int64_t whole = rs_table_int(t, i, duration),
                      ns = rs_table_is_null(t, i, wait) ? 0 : rs_table_int(t, i, wait);
        if (ns <= 0) continue; /* a member that ended before the last came did not wait that long */
        out->items[out->n++] = (rs_member_wait){.rank = rs_table_int(t, i, rank),
                                                .id = rs_table_int(t, i, id),
                                                .from = rs_table_int(t, i, from),
                                                .ns = ns < whole ? ns : whole};
    }
    return RS_OK;
}

/* The parts of the rank's exposed communication in which one of its waits [first, end) is under way. */
static rs_status cut_rank(const rs_map_rank *all, const rs_member_wait *first, const rs_member_wait *end,
                          rs_map_parts *out)
{
    const rs_member_wait *w = first;
    int64_t reach = INT64_MIN; /* waits before w end here */
    for (size_t i = 0; i < all->n; i++) {
        if (all->class[i] != RS_EXPLORER_COMM) continue;
        int64_t from = all->from[i];
        const int64_t to = all->to[i];
        while (from < to) {
            for (; w < end && w->from <= from; w++)
                if (w->from + w->ns > reach) reach = w->from + w->ns;
            const int64_t until = reach < to ? reach : to;
            if (until > from && !rs_map_parts_add(out, from, until, RS_EXPLORER_WAIT)) return RS_ERR_NOMEM;
            from = until > from ? until : w < end && w->from < to ? w->from : to;
        }
    }
    return RS_OK;
}

static rs_status cut_map(const rs_map *map, rs_waits *waits, rs_error *err)
{
    const rs_member_wait *end = waits->items + waits->n, *at = waits->items;
    size_t capacity = 0;
    for (size_t i = 0; i < map->n; i++) {
        const rs_map_rank *r = &map->ranks[i];
        RS_SCOPED(rs_map_parts_clear) rs_map_parts parts = {0};
        while (at < end && at->rank < r->rank) at++;
        const rs_member_wait *first = at;
        while (at < end && at->rank == r->rank) at++;
        if (cut_rank(r, first, at, &parts) != RS_OK || !RS_GROW_ONE(waits->map.ranks, waits->map.n, capacity))
            return rs_fail_nomem(err, "waits of the map");
        RS_TRY(rs_map_make_rank(r->rank, &parts, &waits->map.ranks[waits->map.n++], err));
    }
    return RS_OK;
}

rs_status rs_waits_make(const rs_map *map, const rs_table *arrivals, rs_waits *out, rs_error *err)
{
    RS_TRY(gather(arrivals, out, err));
    RS_SORT(out->items, out->n, by_start);
    RS_TRY(cut_map(map, out, err));
    RS_SORT(out->items, out->n, by_event);
    return RS_OK;
}

static rs_status make(rs_explorer *x, rs_error *err)
{
    rs_result result = {0};
    rs_status status = rs_explorer_run(x->job, "collectives", NULL, &result, err);
    if (status == RS_OK)
        status = rs_waits_make(&x->map, rs_result_table(&result, "arrivals"), &x->waits, err);
    rs_result_clear(&result);
    if (status != RS_OK)
        rs_waits_clear(&x->waits);
    else
        atomic_store(&x->waits.known, true);
    return status;
}

void rs_waits_clear(rs_waits *waits)
{
    rs_free(waits->items);
    rs_map_clear(&waits->map);
    *waits = (rs_waits){0};
}

/* ---- asking -------------------------------------------------------------------------------------------- */

const rs_map_rank *rs_waits_of_rank(const rs_waits *waits, int64_t rank)
{
    size_t at;
    RS_SEARCH(at, waits->map.n, waits->map.ranks[at].rank < rank);
    return at < waits->map.n && waits->map.ranks[at].rank == rank ? &waits->map.ranks[at] : NULL;
}

int64_t rs_waits_of_event(rs_waits *waits, int64_t rank, int64_t id)
{
    size_t at;
    if (!atomic_load(&waits->known)) return 0;
    RS_SEARCH(at, waits->n,
              waits->items[at].rank < rank || (waits->items[at].rank == rank && waits->items[at].id < id));
    return at < waits->n && waits->items[at].rank == rank && waits->items[at].id == id ? waits->items[at].ns
                                                                                       : 0;
}

static const rs_column_spec wait_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"collectives", RS_INT, RS_UNIT_COUNT, "in which it waited", NULL},
    {"wait_ns", RS_TIME, RS_UNIT_NS, "its waits for the last member, added up", NULL},
    {"exposed_wait_ns", RS_TIME, RS_UNIT_NS, "of its exposed communication, the part in which it waited",
     NULL},
};
static const rs_table_spec wait_table = {"waits", "one row is one rank", wait_columns,
                                         sizeof wait_columns / sizeof *wait_columns};

rs_status rs_answer_waits(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                          rs_error *err)
{
    (void)request;
    RS_TRY(rs_explorer_need_job(x, err));
    if (!atomic_load(&x->waits.known)) RS_TRY(make(x, err));
    rs_table *t = rs_table_create(&wait_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the waits");
    const rs_member_wait *w = x->waits.items, *end = w + x->waits.n;
    for (size_t i = 0; status == RS_OK && i < x->waits.map.n; i++) {
        const rs_map_rank *r = &x->waits.map.ranks[i];
        int64_t n = 0, sum = 0, exposed = 0;
        for (; w < end && w->rank <= r->rank; w++) {
            n += w->rank == r->rank;
            sum += w->rank == r->rank ? w->ns : 0;
        }
        for (size_t k = 0; k < r->n; k++) exposed += r->to[k] - r->from[k];
        rs_table_add_int(t, r->rank);
        rs_table_add_int(t, n);
        rs_table_add_time(t, sum);
        rs_table_add_time(t, exposed);
        status = rs_table_end_row(t, err);
    }
    rs_answer_append(answer, "{", 1);
    if (status == RS_OK) status = rs_answer_table(answer, "waits", t, true, err);
    rs_answer_append(answer, "}", 1);
    rs_table_free(t);
    return status;
}
