/* What each part would change by itself: a run is replayed with the other side's time of it. Where that differs from
 * the part, the path has moved: the time shows in one row and is caused in another. */
#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/real.h"
#include "base/try.h"
#include "regress/parts.h"

#define MOST_SWAPPED 48      /* rows, of those that changed most */
#define LEAST_SWAPPED 0.001  /* of a step ... */
#define LEAST_OF_CHANGE 0.02 /* ... or of the change, if that is less */
#define NO_ROW UINT32_MAX

/* What of an edge of the host's time belongs to a row. */
typedef struct host_piece {
    uint32_t edge, row;
    int64_t ns;
} host_piece;

typedef struct swapper {
    const rs_parts *parts;
    const rs_replay_run *run;
    const rs_one_run *of;
    uint32_t *by_node, *by_edge,
        *by_meeting; /* rows; NO_ROW: none, and of the host's time, which is in pieces */
    host_piece *pieces;
    size_t n_pieces, capacity;
    uint32_t edge;  /* whose pieces are under way */
    rs_map64 cache; /* of one rank: part, phase, name and operator -> row */
} swapper;

/* Rows by what a rank's texts are, each looked up once; a transfer's group is not in the key. */
static bool find_row(swapper *x, size_t rank, uint32_t local, rs_part part, uint32_t *row)
{
    const rs_engine *e = &x->run->engine;
    const rs_skeleton *s = e->ranks[rank];
    uint32_t node = e->node_base[rank] + local;
    uint64_t name = rs_skeleton_at(s, local)->name + 1u,
             operator_name = rs_skeleton_at(s, local)->operator_name + 1u;
    uint64_t phase = s->n_placed ? s->phase[local] : 0;
    bool is_new = true, cached = part != RS_PART_TRANSFER && s->pool.strings.n < 1u << 27;
    uint32_t *value = NULL;
    if (cached) {
        value =
            rs_map64_put(&x->cache, (uint64_t)part << 60 | phase << 56 | name << 28 | operator_name, &is_new);
        if (!value) return false;
    }
    if (is_new) {
        rs_path_key key = rs_path_key_of(e, part, node);
        *row = rs_parts_row_of(x->parts, &key);
        if (value) *value = *row;
    } else {
        *row = *value;
    }
    return true;
}

static bool add_piece(void *context, const rs_path_key *key, int64_t ns)
{
    swapper *x = context;
    uint32_t row = rs_parts_row_of(x->parts, key);
    if (row == NO_ROW) return true;
    return RS_PUSH(x->pieces, x->n_pieces, x->capacity, (host_piece){x->edge, row, ns});
}

/* The row of an edge into a node; of the host's time, its pieces. */
static bool find_edge(swapper *x, size_t rank, uint32_t local, uint32_t k)
{
    const rs_engine *e = &x->run->engine;
    const rs_skeleton *s = e->ranks[rank];
    x->edge = e->edge_base[rank] + k;
    if (rs_edge_part(s, k) != RS_PART_HOST)
        return find_row(x, rank, local, (rs_part)rs_edge_part(s, k), &x->by_edge[x->edge]);
    x->by_edge[x->edge] = NO_ROW;
    int64_t ns = x->run->replayed.recorded.edge[x->edge], from;
    from = rs_add_sat(rs_skeleton_source_time(s, rs_edge_source(s, k)), e->coll.shift[rank]);
    return ns <= 0 ||
           rs_replay_run_split(x->run, e->node_base[rank] + local, rs_add_sat(from, ns), ns, add_piece, x);
}

static bool find_rows(swapper *x)
{
    const rs_engine *e = &x->run->engine;
    for (size_t i = 0; i < e->n_meetings; i++) x->by_meeting[i] = NO_ROW;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        bool ok = true;
        for (uint32_t i = 0; ok && i < s->n; i++) {
            uint32_t node = e->node_base[r] + i, *row = &x->by_node[node];
            *row = NO_ROW;
            if (rs_skeleton_is_work(s, i)) ok = find_row(x, r, i, (rs_part)rs_skeleton_at(s, i)->part, row);
            if (e->kind[node] & RS_ENGINE_MEETS) {
                uint32_t meeting = e->meeting_of[rs_engine_member(e, node)];
                if (x->by_meeting[meeting] == NO_ROW) x->by_meeting[meeting] = *row;
            }
            if (ok)
                RS_EDGES_INTO(s, i, k) ok = find_edge(x, r, i, k);
        }
        for (size_t i = 0; ok && i < e->n_added; i++) {
            uint32_t target = e->added[i].target;
            if (rs_engine_rank_of(e, target) == r)
                ok = find_row(x, r, target - e->node_base[r], RS_PART_GAP,
                              &x->by_edge[e->edge_base[e->n_ranks] + i]);
        }
        rs_map64_clear(&x->cache);
        x->cache = (rs_map64){0};
        if (!ok) return false;
    }
    return true;
}

static int64_t scaled(int64_t ns, double factor)
{
    double value = (double)ns * factor;
    return fabs(value) < 9e18 ? rs_int_near(value) : value < 0 ? INT64_MIN + 1 : INT64_MAX;
}

static void scale(const swapper *x, uint32_t row, double factor, rs_weights *w)
{
    const rs_engine *e = &x->run->engine;
    for (size_t i = 0; i < e->n_nodes; i++)
        if (x->by_node[i] == row) w->work[i] = scaled(w->work[i], factor);
    for (size_t i = 0; i < e->n_edges; i++)
        if (x->by_edge[i] == row && w->edge[i] > 0) w->edge[i] = scaled(w->edge[i], factor);
    for (size_t i = 0; i < x->n_pieces; i++) {
        const host_piece *p = &x->pieces[i];
        if (p->row != row) continue;
        int64_t more = rs_sub_sat(scaled(p->ns, factor), p->ns);
        w->edge[p->edge] = rs_add_sat(w->edge[p->edge], more);
    }
    for (size_t i = 0; i < e->n_meetings; i++)
        if (x->by_meeting[i] == row) w->transfer[i] = scaled(w->transfer[i], factor);
}

static int64_t length_of(const swapper *x, const rs_times *t)
{
    int64_t sum = 0;
    for (size_t k = 0; k < x->run->n_numbers; k++) {
        const rs_run_step *step = rs_run_step_of(x->of, x->run->numbers[k]);
        if (step && step->phase == RS_RUN_SETTLED) sum = rs_add_sat(sum, rs_replay_run_length(x->run, t, k));
    }
    return sum;
}

/* ns of the run's step that it takes longer with the factor. */
static rs_status replay(const swapper *x, uint32_t row, double factor, int64_t *out, rs_error *err)
{
    const rs_engine *e = &x->run->engine;
    const rs_replayed *recorded = &x->run->replayed;
    rs_weights w = {0};
    rs_times t = {0};
    int64_t samples, sum;
    rs_run_total(x->of, &samples, &sum);
    RS_TRY(rs_weights_copy(e, &recorded->recorded, &w, err));
    scale(x, row, factor, &w);
    rs_status status = rs_engine_replay(e, &w, &t, err);
    if (status == RS_OK)
        *out = samples ? rs_sub_sat(length_of(x, &t), length_of(x, &recorded->times)) / samples : 0;
    rs_times_clear(&t);
    rs_weights_clear(&w);
    return status;
}

/* The step time of side `of` in a row becomes the other side's. */
static rs_status swap_row(const swapper *x, rs_part_row *row, uint32_t place, int of, double least,
                          rs_error *err)
{
    const int64_t *n = x->parts->samples;
    if (fabs((double)row->change) < least || row->work[of] <= 0) return RS_OK;
    double now = (double)row->work[!of] / (double)n[!of], was = (double)row->work[of] / (double)n[of];
    int64_t ns = 0;
    if (now < was || now > was) RS_TRY(replay(x, place, now / was, &ns, err));
    row->swap = of ? rs_sub_sat(0, ns) : ns;
    return RS_OK;
}

/* Whether every step has points that a replay moves: in a trace without GPU work and communication there are none. */
static bool can_replay(const rs_replay_run *run)
{
    for (size_t r = 0; r < run->n_ranks; r++)
        for (size_t k = 0; k < run->n_numbers; k++)
            if (!run->skeletons[r]->steps[run->end[r * run->n_numbers + k]].last) return false;
    return true;
}

rs_status rs_parts_swap(rs_parts *parts, const rs_regress_side *const sides[2], int *of, rs_error *err)
{
    *of = sides[0]->replay ? 0 : sides[1]->replay ? 1 : -1;
    if (*of >= 0 && !can_replay(sides[*of]->replay)) *of = -1;
    if (*of < 0 || !parts->n) return RS_OK;
    const rs_regress_side *side = sides[*of];
    const rs_engine *e = &side->replay->engine;
    double step = (double)parts->sums[0] / (double)parts->samples[0];
    double change = fabs((double)parts->sums[1] / (double)parts->samples[1] - step);
    double least = fmin(LEAST_SWAPPED * step, LEAST_OF_CHANGE * change);
    swapper x = {.parts = parts,
                 .run = side->replay,
                 .of = &side->runs[side->replayed],
                 .by_node = rs_malloc((e->n_nodes + 1) * sizeof *x.by_node),
                 .by_edge = rs_malloc((e->n_edges + 1) * sizeof *x.by_edge),
                 .by_meeting = rs_malloc((e->n_meetings + 1) * sizeof *x.by_meeting)};
    bool ok = x.by_node && x.by_edge && x.by_meeting && find_rows(&x);
    rs_map64_clear(&x.cache);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "the replays of parts");
    for (uint32_t i = 0; status == RS_OK && i < parts->n && i < MOST_SWAPPED; i++)
        status = swap_row(&x, &parts->rows[i], i, *of, least, err);
    rs_free_all(x.by_node, x.by_edge, x.by_meeting, x.pieces);
    return status;
}
