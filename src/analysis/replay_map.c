/* The job as a what-if leaves it: what each rank would do at each moment. */
#include "analysis/replay.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"

enum { COMPUTE, EXPOSED_COMM, EXPOSED_COPY, IDLE, N_DOES };
static const char *const does_words[N_DOES] = {"compute", "exposed_comm", "exposed_copy", "idle"};

typedef struct map_row {
    int64_t from, time;
    unsigned does;
} map_row;

#define MAP_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(WORD(map_row, does, does_words), "class", TEXT, NONE,                                               \
         "compute, exposed_comm, exposed_copy or idle, as the command map has them", NULL)                   \
    CELL(OF(map_row, from), "from_us", MOMENT, US, "when it would begin", "from")                            \
    CELL(OF(map_row, time), "time_us", TIME, US, "how long it would last", "time")
RS_RECORD(map, MAP_ROW);
const rs_table_spec rs_replay_map_table = RS_TABLE(
    "map",
    "one row is a stretch in which a rank would do one thing, with the first question; filled with --map",
    map_columns);

/* The work of one class of a rank, united. */
static rs_status gather(const rs_engine *e, const rs_times *t, size_t k, rs_part part, rs_interval **items,
                        size_t *n, rs_error *err)
{
    const rs_skeleton *s = e->ranks[k];
    *n = 0;
    *items = rs_malloc((s->n + 1) * sizeof **items);
    if (!*items) return rs_fail_nomem(err, "the map of a what-if");
    for (uint32_t local = 0; local < s->n; local++) {
        const uint32_t node = e->node_base[k] + local;
        if (!rs_skeleton_is_work(s, local) || rs_skeleton_at(s, local)->part != part) continue;
        (*items)[(*n)++] = (rs_interval){rs_sub_sat(rs_moment_time(t, node << 1), e->coll.shift[k]),
                                         rs_sub_sat(rs_moment_time(t, node << 1 | 1), e->coll.shift[k])};
    }
    if (!rs_intervals_sort(*items, *n)) return rs_fail_nomem(err, "the map of a what-if");
    *n = rs_intervals_unite(*items, *n);
    return RS_OK;
}

static rs_status put_rank(const rs_engine *e, const rs_times *t, size_t k, int64_t rank, rs_table *table,
                          rs_error *err)
{
    static const rs_part order[] = {RS_PART_COMPUTE, RS_PART_TRANSFER, RS_PART_COPY};
    rs_interval *items[IDLE] = {NULL}, whole = {INT64_MAX, INT64_MIN};
    rs_interval_set sets[IDLE];
    rs_divisions all = {0};
    rs_status status = RS_OK;
    for (unsigned i = 0; status == RS_OK && i < IDLE; i++) {
        status = gather(e, t, k, order[i], &items[i], &sets[i].n, err);
        sets[i].items = items[i];
        if (status != RS_OK || !sets[i].n) continue;
        if (items[i][0].start < whole.start) whole.start = items[i][0].start;
        if (items[i][sets[i].n - 1].end > whole.end) whole.end = items[i][sets[i].n - 1].end;
    }
    if (status == RS_OK && !rs_intervals_divide(sets, IDLE, whole, N_DOES, &all))
        status = rs_fail_nomem(err, "the map of a what-if");
    for (size_t i = 0; status == RS_OK && i < all.n; i++) {
        const map_row row = {all.items[i].from, all.items[i].time, all.items[i].of};
        status = rs_table_put_row(table, &map_record, rank, &row, err);
    }
    for (unsigned i = 0; i < IDLE; i++) rs_free(items[i]);
    rs_free(all.items);
    return status;
}

rs_status rs_replay_put_map(const rs_run *run, const rs_replayed *r, const int64_t *rank_of, rs_table *table,
                            rs_error *err)
{
    const rs_engine *e = r->engine;
    RS_SCOPED(rs_what_if_clear) rs_what_if question = {0};
    RS_SCOPED(rs_roles_clear) rs_roles roles = {0};
    RS_SCOPED(rs_weights_clear) rs_weights weights = {0};
    RS_SCOPED(rs_times_clear) rs_times times = {0};
    size_t n_changed;
    RS_TRY(rs_replay_first(run->options, &question, err));
    RS_TRY(rs_roles_find(e->ranks, e->n_ranks, &roles, err));
    RS_TRY(rs_weights_copy(e, &r->recorded, &weights, err));
    RS_TRY(rs_what_if_apply(&question, e, &roles, rank_of, &weights, &n_changed, err));
    RS_TRY(rs_engine_replay(e, &weights, &times, err));
    for (size_t k = 0; k < e->n_ranks; k++) RS_TRY(put_rank(e, &times, k, rank_of[k], table, err));
    return RS_OK;
}
