/* The critical paths of a run's steps, over all ranks, cut at the steps' starts: parts that add up to the steps. */
#include "regress/path.h"

#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/search.h"
#include "base/try.h"
#include "engine/forest.h"
#include "engine/roles.h"
#include "trace/structure.h"

/* ---- the graph ----------------------------------------------------------------------------------------- */

void rs_replay_run_free(rs_replay_run *run)
{
    if (!run) return;
    rs_replayed_clear(&run->replayed);
    rs_engine_clear(&run->engine);
    for (size_t r = 0; r < run->n_ranks; r++) {
        rs_skeleton_free(run->skeletons[r]);
        rs_host_time_free(run->hosts[r]);
    }
    rs_free_all(run->skeletons, run->hosts, run->numbers, run->begin, run->end, run);
}

/* Steps of several threads under one number count once, from the first start to the last end. */
static bool find_places(rs_replay_run *run)
{
    size_t n = run->n_numbers;
    for (size_t r = 0; r < run->n_ranks; r++) {
        const rs_skeleton *s = run->skeletons[r];
        uint32_t *begin = run->begin + r * n, *end = run->end + r * n;
        for (size_t k = 0; k < n; k++) begin[k] = end[k] = UINT32_MAX;
        for (uint32_t i = 0; i < s->n_steps; i++) {
            size_t k;
            RS_SEARCH(k, n, run->numbers[k] < s->steps[i].number);
            if (k == n || run->numbers[k] != s->steps[i].number) continue;
            if (begin[k] == UINT32_MAX || s->steps[i].start < s->steps[begin[k]].start) begin[k] = i;
            if (end[k] == UINT32_MAX || s->steps[i].end > s->steps[end[k]].end) end[k] = i;
        }
        for (size_t k = 0; k < n; k++)
            if (begin[k] == UINT32_MAX) return false;
    }
    return true;
}

static rs_status make(rs_replay_run *run, const int64_t *numbers, const char **reason, rs_error *err)
{
    const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true};
    size_t n = run->n_numbers * run->n_ranks;
    run->numbers = rs_malloc((run->n_numbers + 1) * sizeof *run->numbers);
    run->begin = rs_malloc((n + 1) * sizeof *run->begin);
    run->end = rs_malloc((n + 1) * sizeof *run->end);
    if (!run->numbers || !run->begin || !run->end) return rs_fail_nomem(err, "the paths of a run");
    memcpy(run->numbers, numbers, run->n_numbers * sizeof *numbers);
    if (!find_places(run)) {
        *reason = "steps of a rank have no place in its event graph";
        return RS_OK;
    }
    RS_TRY(rs_engine_join((const rs_skeleton *const *)run->skeletons, run->n_ranks, &how, &run->engine, err));
    RS_TRY(rs_replay_measure(&run->engine, RS_EDGES_ALL, false, &run->replayed, err));
    for (size_t r = 0; r < run->n_ranks && !*reason; r++)
        *reason = run->replayed.rows[run->replayed.row_base[r]].reason;
    return RS_OK;
}

rs_status rs_replay_run_create(rs_skeleton **skeletons, rs_host_time **hosts, size_t n_ranks,
                               const int64_t *numbers, size_t n_numbers, rs_regress_step step,
                               rs_replay_run **out, const char **reason, rs_error *err)
{
    rs_replay_run *run = rs_calloc(1, sizeof *run);
    rs_skeleton **own = rs_malloc((n_ranks + 1) * sizeof *own);
    rs_host_time **own_hosts = rs_malloc((n_ranks + 1) * sizeof *own_hosts);
    *out = NULL;
    *reason = NULL;
    if (!run || !own || !own_hosts) {
        for (size_t r = 0; r < n_ranks; r++) {
            rs_skeleton_free(skeletons[r]);
            rs_host_time_free(hosts[r]);
        }
        rs_free_all(run, own, own_hosts);
        return rs_fail_nomem(err, "the paths of a run");
    }
    memcpy(own, skeletons, n_ranks * sizeof *own);
    memcpy(own_hosts, hosts, n_ranks * sizeof *own_hosts);
    *run = (rs_replay_run){
        .skeletons = own, .hosts = own_hosts, .n_ranks = n_ranks, .n_numbers = n_numbers, .step = step};
    rs_status status = make(run, numbers, reason, err);
    if (status == RS_OK && run->replayed.rows)
        *out = run;
    else
        rs_replay_run_free(run);
    return status;
}

/* ---- lengths of steps ---------------------------------------------------------------------------------- */

static const rs_skeleton_step *step_that_ends(const rs_replay_run *run, size_t rank, size_t place)
{
    return &run->skeletons[rank]->steps[run->end[rank * run->n_numbers + place]];
}

/* The last point of its thread in the step, behind which the step's end lies by its tail; of a thread without points
 * (last is 0) the point before it. */
static uint32_t last_point(const rs_replay_run *run, size_t rank, size_t place)
{
    const rs_skeleton_step *s = step_that_ends(run, rank, place);
    return (run->engine.node_base[rank] + (s->last ? s->last : s->mark)) << 1 | 1;
}

static int64_t tail_of(const rs_replay_run *run, size_t rank, size_t place)
{
    const rs_skeleton_step *s = step_that_ends(run, rank, place);
    return s->last ? s->tail : rs_add_sat(s->after, rs_sub_sat(s->end, s->start));
}

static int64_t end_of(const rs_replay_run *run, const rs_times *t, size_t rank, size_t place)
{
    return rs_add_sat(rs_moment_time(t, last_point(run, rank, place)), tail_of(run, rank, place));
}

static int64_t begin_of(const rs_replay_run *run, const rs_times *t, size_t rank, size_t place)
{
    const rs_skeleton_step *s = &run->skeletons[rank]->steps[run->begin[rank * run->n_numbers + place]];
    return rs_add_sat(rs_times_end(t, run->engine.node_base[rank] + s->mark), s->after);
}

/* The rank whose step ends last; of several the first. */
static size_t last_rank(const rs_replay_run *run, const rs_times *t, size_t place)
{
    size_t last = 0;
    for (size_t r = 1; r < run->n_ranks; r++)
        if (end_of(run, t, r, place) > end_of(run, t, last, place)) last = r;
    return last;
}

int64_t rs_replay_run_length(const rs_replay_run *run, const rs_times *t, size_t place)
{
    int64_t sum = 0;
    if (run->step == RS_REGRESS_STEP_JOB) {
        if (!place) return 0;
        int64_t begin = end_of(run, t, last_rank(run, t, place - 1), place - 1);
        return rs_sub_sat(end_of(run, t, last_rank(run, t, place), place), begin);
    }
    for (size_t r = 0; r < run->n_ranks; r++)
        sum = rs_add_sat(sum, rs_sub_sat(end_of(run, t, r, place), begin_of(run, t, r, place)));
    return sum;
}

bool rs_replay_run_is_tied(const rs_replay_run *run)
{
    return run->n_ranks == 1 || run->engine.coll.by_base || rs_coll_n_parts(&run->engine.coll) == 1;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

rs_path_key rs_path_key_of(const rs_engine *e, rs_part part, uint32_t node)
{
    rs_path_key key = {.part = rs_part_names[part]};
    if (part == RS_PART_WINDOW) return key;
    size_t r = rs_engine_rank_of(e, node);
    const rs_skeleton *s = e->ranks[r];
    uint32_t local = node - e->node_base[r];
    key.operator_name = rs_pool_text(&s->pool, rs_skeleton_at(s, local)->operator_name);
    if (s->n_placed && s->phase[local] != RS_PHASE_UNKNOWN) key.phase = rs_phase_names[s->phase[local]];
    /* latencies are the device's, whatever runs behind them; of the host's time the call says least */
    if (part == RS_PART_LAUNCH || part == RS_PART_GAP) return key;
    key.name = part == RS_PART_HOST && key.operator_name
                   ? key.operator_name
                   : rs_pool_text(&s->pool, rs_skeleton_at(s, local)->name);
    if (part == RS_PART_TRANSFER) key.group = rs_engine_group_of(e, node);
    return key;
}

typedef struct splitting {
    const rs_pool *pool;
    rs_path_key key; /* of the whole; name and operator are each piece's */
    rs_path_sink sink;
    void *context;
} splitting;

static bool give_piece(void *context, const rs_host_span *span, int64_t ns)
{
    splitting *s = context;
    s->key.name = span ? rs_pool_text(s->pool, span->name) : NULL;
    s->key.operator_name = span ? rs_pool_text(s->pool, span->operator_name) : NULL;
    return s->sink(s->context, &s->key, ns);
}

bool rs_replay_run_split(const rs_replay_run *run, uint32_t node, int64_t end, int64_t ns, rs_path_sink sink,
                         void *context)
{
    const rs_engine *e = &run->engine;
    size_t r = rs_engine_rank_of(e, node);
    const rs_skeleton *s = e->ranks[r];
    const rs_skeleton_lane *lane = &s->lanes[rs_skeleton_at(s, node - e->node_base[r])->lane];
    splitting x = {.pool = &run->hosts[r]->pool,
                   .key = rs_path_key_of(e, RS_PART_HOST, node),
                   .sink = sink,
                   .context = context};
    int64_t to = rs_sub_sat(end, e->coll.shift[r]);
    return rs_host_time_split(run->hosts[r], lane->pid, lane->tid, rs_sub_sat(to, ns), to, give_piece, &x);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

typedef struct collector {
    const rs_replay_run *run;
    rs_regress_side *side;
    rs_run_parts *parts;
    rs_strings keys; /* bytes of the texts' ids; ids are places in parts, less 1 */
    bool on_path;
    int64_t sum;
    size_t pieces, most_pieces; /* of paths */
} collector;

static uint32_t text_of(collector *c, const char *text)
{
    return text ? rs_strings_add(&c->side->texts, text, strlen(text)) : 0;
}

static bool add_key(void *context, const rs_path_key *key, int64_t ns)
{
    collector *c = context;
    uint32_t ids[5] = {text_of(c, key->part), text_of(c, key->name), text_of(c, key->operator_name),
                       text_of(c, key->phase), text_of(c, key->group)};
    for (int i = 0; i < 5; i++)
        if (ids[i] == RS_NO_STRING) return false;
    uint32_t id = rs_strings_add(&c->keys, (const char *)ids, sizeof ids);
    if (id == RS_NO_STRING) return false;
    if (id > c->parts->n) {
        const rs_run_part fresh = {
            .part = ids[0], .name = ids[1], .operator_name = ids[2], .phase = ids[3], .group = ids[4]};
        if (!rs_run_add_part(c->parts, &fresh)) return false;
    }
    rs_run_part *p = &c->parts->items[id - 1];
    if (!c->on_path) {
        p->work = rs_add_sat(p->work, ns);
        return true;
    }
    p->sum = rs_add_sat(p->sum, ns);
    p->count++;
    c->sum = rs_add_sat(c->sum, ns);
    return ++c->pieces < c->most_pieces;
}

/* end: of the ns, on the job's clock. */
static bool add(collector *c, rs_part part, uint32_t node, int64_t end, int64_t ns)
{
    if (part == RS_PART_HOST) return rs_replay_run_split(c->run, node, end, ns, add_key, c);
    rs_path_key key = rs_path_key_of(&c->run->engine, part, node);
    return add_key(c, &key, ns);
}

/* What exceeds any usual latency is distinguished from what the latency usually takes. */
static bool add_link(void *context, const rs_link *l, int64_t ns)
{
    collector *c = context;
    int64_t beyond = l->part == RS_PART_PINNED || l->unexplained < 0 ? 0 : l->unexplained;
    if (beyond > ns) beyond = ns;
    if (ns <= 0) return true;
    int64_t end = c->run->replayed.times.start[l->node]; /* the host's time leads to a start */
    return (!beyond || add(c, RS_PART_UNEXPLAINED, l->node, end, beyond)) &&
           (beyond == ns || add(c, (rs_part)l->part, l->node, end, ns - beyond));
}

/* The path to the end of a rank's step, back to `since`. */
static bool add_path(collector *c, size_t rank, size_t place, int64_t since)
{
    const rs_forest f = {&c->run->engine, &c->run->replayed.recorded, &c->run->replayed.times};
    uint32_t moment = last_point(c->run, rank, place);
    int64_t end = end_of(c->run, f.t, rank, place), at = rs_moment_time(f.t, moment);
    uint64_t steps = 0;
    int64_t tail = rs_sub_sat(end, at > since ? at : since);
    if (tail > 0 && !add(c, RS_PART_HOST, moment >> 1, end, tail)) return false;
    return rs_forest_chain(&f, moment, since, add_link, c, &steps);
}

/* The paths of the settled steps; *sum: of their lengths. */
static bool add_paths(collector *c, const rs_one_run *run, int64_t *sum)
{
    const rs_replay_run *x = c->run;
    const rs_times *t = &x->replayed.times;
    *sum = 0;
    c->on_path = true;
    for (size_t k = 0; k < x->n_numbers; k++) {
        const rs_run_step *step = rs_run_step_of(run, x->numbers[k]);
        if (!step || step->phase != RS_RUN_SETTLED) continue;
        *sum = rs_add_sat(*sum, step->sum);
        if (x->step == RS_REGRESS_STEP_JOB) {
            int64_t since = end_of(x, t, last_rank(x, t, k - 1), k - 1);
            if (!add_path(c, last_rank(x, t, k), k, since)) return false;
            continue;
        }
        for (size_t r = 0; r < x->n_ranks; r++)
            if (!add_path(c, r, k, begin_of(x, t, r, k))) return false;
    }
    return true;
}

/* What the settled steps hold of each kind, on the path or not. */
static bool add_work(collector *c, const rs_one_run *run)
{
    const rs_engine *e = &c->run->engine;
    const rs_replayed *x = &c->run->replayed;
    c->on_path = false;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 0; i < s->n; i++) {
            if (rs_skeleton_step_of(s, i) < 0) continue;
            const rs_run_step *step = rs_run_step_of(run, s->steps[rs_skeleton_step_of(s, i)].number);
            if (!step || step->phase != RS_RUN_SETTLED) continue;
            uint32_t node = e->node_base[r] + i;
            for (uint32_t end = 0; end <= rs_skeleton_is_work(s, i); end++) {
                rs_link l = rs_engine_link(e, &x->recorded, &x->times, node << 1 | end);
                if (l.node != node) continue; /* it waited for other work, which is counted by itself */
                if (l.from != RS_NO_CAUSE && l.ns > 0 &&
                    !add(c, (rs_part)l.part, l.node, x->times.start[l.node], l.ns))
                    return false;
            }
        }
    }
    return true;
}

/* ---- the program of a step ----------------------------------------------------------------------------- */

/* Paths of steps that follow each other have about as many pieces as the engine has nodes and the host spans. */
#define MOST_OVERLAP 16

static size_t most_pieces(const rs_replay_run *run)
{
    size_t n = run->engine.n_nodes;
    for (size_t r = 0; r < run->n_ranks; r++) n += run->hosts[r]->n;
    return MOST_OVERLAP * (n + 1000);
}

#define MOST_TOKENS 16384 /* works of a step: of longer ones renamed kernels are not paired */

/* The role of which most work is: steps that ran the same kernels in the same order. */
static rs_status add_tokens(collector *c, rs_one_run *run, rs_error *err)
{
    const rs_engine *e = &c->run->engine;
    const rs_role *best = NULL;
    const rs_instance *first = NULL;
    rs_roles roles = {0};
    RS_TRY(rs_roles_find(e->ranks, e->n_ranks, &roles, err));
    uint64_t most = 0;
    for (size_t i = 0; i < roles.n_roles; i++) {
        const rs_instance *in = rs_role_instance(&roles, &roles.roles[i], 0);
        uint64_t works = (uint64_t)in->n * roles.roles[i].n;
        if (in->n > MOST_TOKENS) continue;
        /* roles are in the order of a hash: of equal ones that of the earliest instance counts */
        if (works < most || (works == most && best && in > first)) continue;
        most = works;
        best = &roles.roles[i];
        first = in;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && best && i < first->n; i++) {
        const rs_skeleton *s = e->ranks[first->rank];
        uint32_t node = rs_instance_node(&roles, first, i);
        rs_run_token token = {text_of(c, rs_pool_text(&s->pool, rs_skeleton_at(s, node)->name)),
                              text_of(c, rs_pool_text(&s->pool, rs_skeleton_at(s, node)->operator_name))};
        ok = token.name != RS_NO_STRING && token.operator_name != RS_NO_STRING &&
             RS_GROW_ONE(run->tokens, run->n_tokens, run->tokens_capacity);
        if (ok) run->tokens[run->n_tokens++] = token;
    }
    rs_roles_clear(&roles);
    return ok ? RS_OK : rs_fail_nomem(err, "the program of a step");
}

#define MOST_SIZES 32

/* The sizes of the groups in which ranks communicate. */
static rs_status add_mesh(const rs_replay_run *x, rs_one_run *run, rs_error *err)
{
    int64_t sizes[MOST_SIZES];
    char text[MOST_SIZES * 21 + 1] = "";
    size_t n = 0, used = 0;
    for (size_t r = 0; r < x->engine.n_ranks; r++)
        for (size_t i = 0; i < x->engine.comm[r]->n; i++) {
            int64_t size = rs_coll_shape_of(x->engine.comm[r], &x->engine.comm[r]->ops[i])->group_size;
            size_t at = 0;
            while (at < n && sizes[at] < size) at++;
            if (size <= 0 || n == MOST_SIZES || (at < n && sizes[at] == size)) continue;
            memmove(sizes + at + 1, sizes + at, (n++ - at) * sizeof *sizes);
            sizes[at] = size;
        }
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i ? ",%lld" : "%lld", (long long)sizes[i]);
    run->mesh = n ? rs_strdup(text) : NULL;
    return n && !run->mesh ? rs_fail_nomem(err, "a run") : RS_OK;
}

rs_status rs_replay_run_parts(const rs_replay_run *replay, rs_regress_side *side, rs_one_run *run,
                              const char **reason, rs_error *err)
{
    collector c = {.run = replay,
                   .side = side,
                   .parts = &run->parts[RS_REGRESS_PATH],
                   .most_pieces = most_pieces(replay)};
    int64_t sum = 0;
    bool ok = rs_strings_init(&c.keys) && add_paths(&c, run, &sum);
    if (c.pieces >= c.most_pieces) {
        *reason = "its steps lie over each other too much to have paths of their own";
        ok = true;
    } else if (ok && c.sum != sum) {
        *reason = "the paths of its steps do not add up to them";
    }
    ok = ok && add_work(&c, run) && rs_run_sort_parts(side, c.parts);
    rs_strings_clear(&c.keys);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "the paths of a run");
    if (status == RS_OK) status = add_tokens(&c, run, err);
    if (status == RS_OK) status = add_mesh(replay, run, err);
    c.parts->known = !*reason;
    return status;
}
