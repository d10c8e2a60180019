/* Questions put to a replay: how long steps would take, how sure that is, and what bounds it.
 *
 * An answer takes several replays that do not depend on each other; they run on as many threads as the run may use, each
 * with weights and times of its own. What comes of them depends on neither their number nor their order. */
#include <math.h>
#include <string.h>

#include "engine/step_lengths.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "base/workers.h"
#include "engine/contention.h"
#include "match/collective_wait.h"

/* ---- one question -------------------------------------------------------------------------------------- */

/* A question is put to replays that follow recorded dependencies or inferred ones too, with gaps as recorded or
 * as is typical. */
#define N_REPLAYS 4
#define REPLAY_INFERS 1u
#define REPLAY_CONSTANT 2u

/* One more, of `network`, `coalesce` and `group-size`: the recorded one where more of a transfer grows with its size. How much does
 * is known from RS_SIZES_OF_FIT sizes on, and then by its lower envelope alone. */
#define REPLAY_GROWS N_REPLAYS
/* And four of `shard` and `experts`: work as long or as short as may be, transfers as they are fitted or growing otherwise. The second is one of
 * `coalesce`, too: as little of a transfer grows as may be. */
#define REPLAY_SHARES (N_REPLAYS + 1)
#define REPLAY_SHORT (REPLAY_SHARES + 1)
#define N_CHAINS (N_REPLAYS + 5)

#define MOST_BENCHES 8 /* each has 20 bytes a node and 8 an edge more than one has anyway */

/* Where a replay is made: what one thread needs of its own. */
typedef struct bench {
    rs_weights
        w; /* without a question those of the replay `of`; what a question changes is taken back before the next one */
    unsigned of;
    rs_times t;
    int64_t *ends;  /* by step_base */
    int64_t *lanes; /* two for each lane of any rank */
    rs_lengths after;
    int64_t sooner; /* ns by which its first step ends sooner than replayed, at most */
    int64_t *steps; /* scratch: by step of a rank */
} bench;

struct rs_asker {
    const rs_replayed *r;
    const int64_t *rank_of;
    rs_roles roles;
    rs_contention contention;
    rs_contention assumed[2]; /* usual and most, where the recording shows none: factor NULL otherwise */
    bench *benches;
    unsigned n_benches;
    rs_lengths *was[N_REPLAYS]; /* by range: without a question, by which of the replays; NULL: not yet */
    size_t n_ranges;            /* that are asked about: the job, then each rank where there are several */
    rs_path *paths;             /* by range: the recorded one */
    unsigned recorded;          /* which of the replays is that of r */
    uint32_t *opening;          /* by rank: rs_lengths_opening of the recording; NULL: no rank has one */
    size_t *
        like; /* by rank: the step at whose end its host leads as before the first one; SIZE_MAX: the middle one */
    int64_t *lead; /* by rank: by how much, in the recording */
    bool infer, force;
    const char *reason; /* why the replay cannot be relied on; NULL */
};
typedef rs_asker asker;

static rs_status open_bench(const asker *a, bench *b, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    size_t n = e->step_base[e->n_ranks] + 2, n_lanes = 0;
    if (b->w.work) return RS_OK;
    if (!b->ends) b->ends = rs_malloc(n * sizeof *b->ends);
    if (!b->after.ns) b->after.ns = rs_malloc(n * sizeof *b->after.ns);
    for (size_t k = 0; k < e->n_ranks; k++)
        if (e->ranks[k]->n_lanes > n_lanes) n_lanes = e->ranks[k]->n_lanes;
    if (!b->lanes) b->lanes = rs_malloc((2 * n_lanes + 1) * sizeof *b->lanes);
    if (!b->steps) b->steps = rs_malloc(n * sizeof *b->steps);
    if (!b->ends || !b->after.ns || !b->lanes || !b->steps) return rs_fail_nomem(err, "a question");
    RS_TRY(rs_weights_copy(e, &a->r->recorded, &b->w, err));
    b->of = a->recorded;
    b->w.keeps = true;
    return RS_OK;
}

static void close_bench(bench *b)
{
    rs_weights_clear(&b->w);
    rs_times_clear(&b->t);
    rs_free_all(b->ends, b->after.ns, b->lanes, b->steps);
}

/* The weights of a replay without a question. */
static rs_status take_weights(const asker *a, bench *b, unsigned of, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    RS_TRY(open_bench(a, b, err));
    rs_weights_reset(&b->w);
    if (b->of == of && !b->w.lost) return RS_OK;
    b->of = of;
    if (of == a->recorded)
        rs_weights_recopy(e, &a->r->recorded, &b->w);
    else
        rs_weights_refill(e, of & REPLAY_INFERS ? RS_EDGES_ALL : RS_EDGES_TOLD, of & REPLAY_CONSTANT, &b->w);
    return RS_OK;
}

/* As recorded, with the question applied. */
static rs_status edit_weights(const asker *a, bench *b, const rs_what_if *q, size_t *n_changed, rs_error *err)
{
    RS_TRY(take_weights(a, b, a->recorded, err));
    return rs_what_if_apply(q, a->r->engine, &a->roles, a->rank_of, &b->w, n_changed, err);
}

/* The recording begins in the middle of a job: what its host was ahead of its GPU by then is as recorded. Where a question lets hosts be farther ahead at
 * the end of steps, they would have been so before the first one, too: GPUs would have had its work as much earlier, and wait less for it. A host that
 * was little ahead gains more than one that was far ahead already, so a step that ended as the one before the first did says how much. */
static int64_t ahead_of(const asker *a, bench *b, size_t rank)
{
    const size_t n =
        a->opening[rank] == RS_NO_NODE ? 0 : rs_lengths_leads(a->r->engine, &b->t, rank, b->steps);
    if (!n) return 0;
    const int64_t then = a->like[rank] < n ? b->steps[a->like[rank]] : rs_median(b->steps, n),
                  ahead = rs_sub_sat(then, a->lead[rank]);
    return ahead > 0 ? ahead : 0;
}

/* By how much the first step ends sooner at most: ranks wait for the one whose GPU has work last, and none has it before the step begins. */
static void find_sooner(const asker *a, bench *b)
{
    const rs_engine *e = a->r->engine;
    int64_t begin = INT64_MAX, last = INT64_MIN, then = INT64_MIN;
    for (size_t k = 0; a->opening && k < e->n_ranks; k++) {
        const int64_t own = rs_engine_begin(e, &b->t, k, NULL),
                      start = a->opening[k] == RS_NO_NODE ? own : b->t.start[a->opening[k]],
                      sooner = rs_sub_sat(start, ahead_of(a, b, k));
        if (own < begin) begin = own;
        if (start > last) last = start;
        if (sooner > then) then = sooner;
    }
    if (then < begin) then = begin;
    b->sooner = last > then ? rs_sub_sat(last, then) : 0;
}

static rs_status run_bench(const asker *a, bench *b, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    RS_TRY(b->t.start ? rs_engine_replay_again(e, &b->w, &b->t, err)
                      : rs_engine_replay(e, &b->w, &b->t, err));
    rs_engine_step_ends(e, &b->t, b->ends);
    find_sooner(a, b);
    return RS_OK;
}

/* The ranks of the i-th range. */
static void range_of(const asker *a, size_t i, size_t *from, size_t *to)
{
    *from = i ? i - 1 : 0;
    *to = i ? i : a->r->engine->n_ranks;
}

/* Without a question, by times of which the steps' ends are known. */
static rs_status measure_before(asker *a, unsigned which, const rs_times *t, const int64_t *ends,
                                rs_lengths *scratch, rs_error *err)
{
    rs_lengths *was = rs_calloc(a->n_ranges, sizeof *was);
    if (!was) return rs_fail_nomem(err, "a question");
    a->was[which] = was;
    for (size_t i = 0; i < a->n_ranges; i++) {
        size_t from, to;
        range_of(a, i, &from, &to);
        rs_lengths_measure(a->r->engine, t, ends, 0, from, to, scratch);
        was[i] = (rs_lengths){.n = scratch->n, .ns = rs_malloc((scratch->n + 1) * sizeof *was[i].ns)};
        if (!was[i].ns) return rs_fail_nomem(err, "a question");
        memcpy(was[i].ns, scratch->ns, scratch->n * sizeof *was[i].ns);
    }
    return RS_OK;
}

/* Replays with kernels that are slowed down during communication, or not any more, as in the recording of their
 * kind. Where that moves them, others may run during communication: so twice. The bench holds the replay without. */
static rs_status run_contended(const asker *a, bench *b, const rs_contention *c, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    const size_t edited = b->w.n_changes; /* work as the question has it */
    for (int k = 0; k < 2; k++) {
        if (k) rs_weights_undo(&b->w, edited);
        RS_TRY(rs_contention_apply(c, e, &b->t, &b->w, err));
        RS_TRY(rs_engine_replay_again(e, &b->w, &b->t, err));
    }
    rs_engine_step_ends(e, &b->t, b->ends);
    find_sooner(a, b);
    return RS_OK;
}

/* Widens [*low, *high] of every range by what the bench says. Certain steps are no sample of others, so what a question
 * about them, or one by which a third of the steps gain nothing, gains has no spread: the steps that it leaves alone say how far off
 * it may be. */
static void widen(const asker *a, bench *b, unsigned which, bool of_steps, double *low, double *high)
{
    for (size_t i = 0; i < a->n_ranges; i++) {
        size_t from, to;
        double l, h;
        range_of(a, i, &from, &to);
        rs_lengths_measure(a->r->engine, &b->t, b->ends, b->sooner, from, to, &b->after);
        if (of_steps || rs_lengths_of_few(&a->was[which][i], &b->after)) {
            double gain = rs_lengths_mean(&a->was[which][i]) - rs_lengths_mean(&b->after),
                   misfit = rs_lengths_misfit(&a->was[which][i], &b->after);
            l = gain - misfit;
            h = gain + misfit;
        } else
            rs_lengths_spread(&a->was[which][i], &b->after, &l, &h);
        if (l < low[i]) low[i] = l;
        if (h > high[i]) high[i] = h;
    }
}

static bool asks(const rs_what_if *q, bool (*is)(const rs_edit *))
{
    for (size_t i = 0; i < q->n; i++)
        if (is(&q->edits[i])) return true;
    return false;
}

/* Whether its answer depends on how much of a transfer, or of work, grows with its size. */
static bool is_of_sizes(const rs_edit *edit)
{
    return edit->kind == RS_EDIT_NETWORK || edit->kind == RS_EDIT_COALESCE ||
           edit->kind == RS_EDIT_GROUP_SIZE || edit->kind == RS_EDIT_PAYLOAD ||
           edit->kind == RS_EDIT_MICRO_BATCHES;
}

static bool asks_sizes(const rs_what_if *q)
{
    return asks(q, is_of_sizes);
}

static bool is_of_work(const rs_edit *edit)
{
    return edit->kind == RS_EDIT_SHARD || edit->kind == RS_EDIT_EXPERTS;
}

static bool asks_shares(const rs_what_if *q)
{
    return asks(q, is_of_work);
}

/* Whether work is another at the ends of what is not known. */
static bool leaves_work_open(const rs_what_if *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->edits[i].kind == RS_EDIT_GROUP_SIZE && q->edits[i].number == 1) return true;
    return asks_shares(q);
}

static bool is_merged(const rs_edit *edit)
{
    return edit->kind == RS_EDIT_COALESCE;
}

static uint8_t end_of(const rs_edit *edit, unsigned chain)
{
    if (is_merged(edit) && chain == REPLAY_SHORT) return RS_END_SHORT;
    if (is_of_work(edit))
        return chain == REPLAY_GROWS ? RS_END_NONE : (chain - REPLAY_SHARES) & 1 ? RS_END_SHORT : RS_END_LONG;
    return is_of_sizes(edit) && (chain == REPLAY_GROWS || chain >= REPLAY_SHARES + 2) ? RS_END_OTHER
                                                                                      : RS_END_NONE;
}

/* Where nothing ran during communication, a question that moves it there does not say by how much it slows computation down. On GPUs it takes
 * some of the multiprocessors and of the memory's bandwidth: nothing up to 15 %, and a third of that is usual. */
#define USUAL_CONTENTION 1.05
#define MOST_CONTENTION 1.15

static bool moves_communication(const rs_what_if *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->edits[i].kind == RS_EDIT_OVERLAP) return true;
    return false;
}

/* What slows computation during communication down in the answer to a question; NULL: nothing that is known. */
static const rs_contention *contention_of(const asker *a, const rs_what_if *q)
{
    if (a->contention.n_names) return &a->contention;
    return a->assumed[0].factor && moves_communication(q) ? &a->assumed[0] : NULL;
}

/* The question at an end of what is not known. */
static rs_status apply_end(const asker *a, bench *b, const rs_what_if *q, unsigned chain, size_t *n_changed,
                           rs_error *err)
{
    rs_what_if grown = {.edits = rs_malloc((q->n + 1) * sizeof *grown.edits), .n = q->n};
    if (!grown.edits) return rs_fail_nomem(err, "a question");
    for (size_t i = 0; i < q->n; i++) {
        grown.edits[i] = q->edits[i];
        grown.edits[i].end = end_of(&q->edits[i], chain);
    }
    rs_status status = rs_what_if_apply(&grown, a->r->engine, &a->roles, a->rank_of, &b->w, n_changed, err);
    rs_free(grown.edits);
    return status;
}

/* The answer for the i-th range but for its interval. */
static rs_foretold answer_for(const asker *a, bench *b, const rs_what_if *q, size_t i)
{
    const rs_engine *e = a->r->engine;
    size_t from, to;
    range_of(a, i, &from, &to);
    rs_lengths_measure(e, &b->t, b->ends, b->sooner, from, to, &b->after);
    const rs_lengths *was = &a->was[a->recorded][i];
    double before = rs_lengths_mean(was) / 1e3, then = rs_lengths_mean(&b->after) / 1e3, gain = before - then;
    return (rs_foretold){
        .steps = (int64_t)rs_lengths_n(e, from, to),
        .before = before,
        .after = then,
        .gain = gain,
        .pct = before > 0 ? 100 * gain / before : NAN,
        .busy = rs_lengths_busy(e, &b->t, from, to, b->after.n, b->lanes) / 1e3,
        /* the path of the recording does not know of what is before it */
        .bound = (rs_path_bound(a->r, &a->paths[i], &b->w) + (double)b->sooner) / 1e3 / (double)was->n,
        .sampled = was->n > 1 && !rs_what_if_is_of_steps(q) && !rs_lengths_of_few(was, &b->after),
        /* a host without a GPU has nothing of a step that is not on the host */
        .annotated = rs_coll_on_host(&e->coll) ? (double)NAN : rs_lengths_annotated(e, from, to),
        .then_bound_by = rs_path_bound_by(e, &b->w, &b->t, from, to),
        .assumption = rs_edit_assumptions[q->edits[0].kind],
        .reason = a->reason};
}

/* Questions that are asked together, and what comes of each chain of replays. */
typedef struct asking {
    asker *a;
    rs_asked *items;
    size_t n;
    double *low, *high; /* by item, chain, range */
} asking;

/* As recorded, and with contention. */
static rs_status ask_recorded(const asker *a, bench *b, rs_asked *item, double *low, double *high,
                              rs_error *err)
{
    bool of_steps = rs_what_if_is_of_steps(item->question);
    RS_TRY(edit_weights(a, b, item->question, &item->n_changed, err));
    if (!item->n_changed) return RS_OK;
    RS_TRY(run_bench(a, b, err));
    for (size_t i = 0; i < a->n_ranges; i++) item->answers[i] = answer_for(a, b, item->question, i);
    widen(a, b, a->recorded, of_steps, low, high);
    const rs_contention *slowed = contention_of(a, item->question);
    if (!slowed) return RS_OK;
    RS_TRY(run_contended(a, b, slowed, err));
    for (size_t i = 0; i < a->n_ranges; i++) {
        double bound = item->answers[i].bound;
        item->answers[i] = answer_for(a, b, item->question, i);
        /* work that is not on the path may become shorter, too: then nothing bounds the gain */
        item->answers[i].bound = item->answers[i].gain > bound ? NAN : bound;
    }
    widen(a, b, a->recorded, of_steps, low, high);
    if (slowed == &a->contention) return RS_OK;
    RS_TRY(edit_weights(a, b, item->question, &item->n_changed, err));
    RS_TRY(run_bench(a, b, err));
    RS_TRY(run_contended(a, b, &a->assumed[1], err));
    widen(a, b, a->recorded, of_steps, low, high);
    return RS_OK;
}

static rs_status ask_under(const asker *a, bench *b, const rs_asked *item, unsigned which, double *low,
                           double *high, rs_error *err)
{
    bool grows = which >= REPLAY_GROWS, of_steps = rs_what_if_is_of_steps(item->question);
    unsigned of = grows ? a->recorded : which;
    size_t n_changed = 0;
    RS_TRY(take_weights(a, b, of, err));
    RS_TRY(grows ? apply_end(a, b, item->question, which, &n_changed, err)
                 : rs_what_if_apply(item->question, a->r->engine, &a->roles, a->rank_of, &b->w, &n_changed,
                                    err));
    if (!n_changed && !grows)
        return RS_OK; /* then it is refused; where more grows nothing may be left to gain */
    RS_TRY(run_bench(a, b, err));
    widen(a, b, of, of_steps, low, high);
    if (!grows || !a->contention.n_names) return RS_OK;
    RS_TRY(run_contended(a, b, &a->contention, err));
    widen(a, b, of, of_steps, low, high);
    return RS_OK;
}

static bool takes_part(const asker *a, const rs_what_if *q, unsigned chain)
{
    if (chain >= REPLAY_SHARES) return asks_shares(q) || (chain == REPLAY_SHORT && asks(q, is_merged));
    return chain == REPLAY_GROWS ? asks_sizes(q) : a->infer || !(chain & REPLAY_INFERS);
}

static rs_status run_chain(const asking *x, size_t item, unsigned chain, unsigned worker, rs_error *err)
{
    const size_t at = (item * N_CHAINS + chain) * x->a->n_ranges;
    bench *b = &x->a->benches[worker];
    return chain == x->a->recorded
               ? ask_recorded(x->a, b, &x->items[item], x->low + at, x->high + at, err)
               : ask_under(x->a, b, &x->items[item], chain, x->low + at, x->high + at, err);
}

static rs_status run_recorded(void *context, size_t item, unsigned worker, rs_error *err)
{
    const asking *x = context;
    return run_chain(x, item, x->a->recorded, worker, err);
}

/* All questions to one replay, then those to the next, so that weights are seldom made. */
static rs_status run_others(void *context, size_t at, unsigned worker, rs_error *err)
{
    const asking *x = context;
    const size_t item = at % x->n;
    const unsigned chain = (x->a->recorded + 1 + (unsigned)(at / x->n)) % N_CHAINS;
    const rs_asked *asked = &x->items[item];
    if (asked->stopped || !asked->n_changed || !takes_part(x->a, asked->question, chain)) return RS_OK;
    return run_chain(x, item, chain, worker, err);
}

/* The other replays without a question, on first need. */
static rs_status run_before(void *context, size_t item, unsigned worker, rs_error *err)
{
    asker *a = context;
    bench *b = &a->benches[worker];
    unsigned which = (unsigned)item;
    if (a->was[which] || ((which & REPLAY_INFERS) && !a->infer)) return RS_OK;
    RS_TRY(take_weights(a, b, which, err));
    RS_TRY(run_bench(a, b, err));
    return measure_before(a, which, &b->t, b->ends, &b->after, err);
}

/* No interval reaches less far, as a share of the step: what replays were off by in nine of ten jobs of the twins
 * of tests/engine. Questions about one step have no spread that would say so. */
#define LEAST_DOUBT 1e-3

static void settle(const asking *x, size_t item)
{
    const asker *a = x->a;
    rs_asked *asked = &x->items[item];
    if (!asked->n_changed) {
        asked->refused = "nothing in the traces is what it names";
        return;
    }
    for (size_t i = 0; i < a->n_ranges; i++) {
        rs_foretold *f = &asked->answers[i];
        f->low = f->gain - LEAST_DOUBT * f->before;
        f->high = f->gain + LEAST_DOUBT * f->before;
        for (unsigned k = 0; k < N_CHAINS; k++) {
            size_t at = (item * N_CHAINS + k) * a->n_ranges + i;
            if (x->low[at] / 1e3 < f->low) f->low = x->low[at] / 1e3;
            if (x->high[at] / 1e3 > f->high) f->high = x->high[at] / 1e3;
        }
        if (!leaves_work_open(asked->question)) /* no step is shorter than its work */
            f->high = fmin(f->high, fmax(f->before - f->busy, f->gain));
        if (f->low > f->high) f->low = f->high;
    }
}

static rs_status bound_item(void *context, size_t item, unsigned worker, rs_error *err)
{
    asking *x = context;
    asker *a = x->a;
    rs_asked *asked = &x->items[item];
    size_t n = rs_lengths_n(a->r->engine, 0, a->r->engine->n_ranks);
    RS_TRY(edit_weights(a, &a->benches[worker], asked->question, &asked->n_changed, err));
    asked->bound = rs_path_bound(a->r, &a->paths[0], &a->benches[worker].w) / 1e3 / (double)(n ? n : 1);
    return RS_OK;
}

rs_status rs_asker_bound(rs_asker *a, rs_asked *items, size_t n, rs_error *err)
{
    asking x = {.a = a, .items = items};
    return rs_workers_run(n, a->n_benches, bound_item, &x, err);
}

/* The recorded replay comes first: it says what is gained, and the others only that less of it is certain. */
static rs_status ask_all(asking *x, size_t n_numbers, rs_error *err)
{
    const unsigned workers = x->a->n_benches;
    bool any = false;
    for (size_t i = 0; i < n_numbers; i++) {
        x->low[i] = INFINITY;
        x->high[i] = -INFINITY;
    }
    RS_TRY(rs_workers_run(x->n, workers, run_recorded, x, err));
    for (size_t i = 0; i < x->n; i++) {
        rs_asked *asked = &x->items[i];
        settle(x, i);
        asked->stopped = asked->may_stop && asked->n_changed &&
                         (asked->answers->gain <= asked->least || asked->answers->low <= asked->certain);
        any = any || (asked->n_changed && !asked->stopped);
    }
    if (!any) return RS_OK;
    RS_TRY(rs_workers_run(N_REPLAYS, workers, run_before, x->a, err));
    RS_TRY(rs_workers_run(x->n * (N_CHAINS - 1), workers, run_others, x, err));
    for (size_t i = 0; i < x->n; i++)
        if (!x->items[i].stopped) settle(x, i);
    return RS_OK;
}

rs_status rs_asker_ask(rs_asker *a, rs_asked *items, size_t n, rs_error *err)
{
    size_t n_numbers = n * N_CHAINS * a->n_ranges + 1;
    asking x = {.a = a, .items = items, .n = n};
    for (size_t i = 0; i < n; i++) items[i].refused = NULL;
    if (a->reason && !a->force) {
        RS_TRY(rs_asker_bound(a, items, n, err));
        for (size_t i = 0; i < n; i++)
            items[i].refused = items[i].n_changed ? a->reason : "nothing in the traces is what it names";
        return RS_OK;
    }
    x.low = rs_malloc(n_numbers * sizeof *x.low);
    x.high = rs_malloc(n_numbers * sizeof *x.high);
    rs_status status = x.low && x.high ? ask_all(&x, n_numbers, err) : rs_fail_nomem(err, "a question");
    rs_free_all(x.low, x.high);
    return status;
}

rs_status rs_asker_try(rs_asker *a, const rs_what_if *q, double *us, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    bench *b = &a->benches[0];
    size_t n_changed;
    RS_TRY(edit_weights(a, b, q, &n_changed, err));
    RS_TRY(run_bench(a, b, err));
    rs_lengths_measure(e, &b->t, b->ends, b->sooner, 0, e->n_ranks, &b->after);
    *us = rs_lengths_mean(&b->after) / 1e3;
    return RS_OK;
}

rs_status rs_asker_replay(rs_asker *a, const rs_what_if *q, const rs_times **times, rs_error *err)
{
    bench *b = &a->benches[0];
    size_t n_changed;
    RS_TRY(edit_weights(a, b, q, &n_changed, err));
    RS_TRY(run_bench(a, b, err));
    const rs_contention *slowed = contention_of(a, q);
    if (slowed) RS_TRY(run_contended(a, b, slowed, err));
    *times = &b->t;
    return RS_OK;
}

/* ---- the asker ----------------------------------------------------------------------------------------- */

/* The first rank whose replay cannot be relied on speaks for the job. Steps of ranks are compared, so their
 * clocks must be known against each other. */
static const char *reason_of(const rs_replayed *r)
{
    if (rs_coll_n_parts(&r->engine->coll) > 1)
        return "no communication ties the clocks of some ranks: ask about each part alone, with --ranks";
    for (size_t k = 0; k < r->engine->n_ranks; k++)
        if (r->rows[r->row_base[k]].reason) return r->rows[r->row_base[k]].reason;
    return NULL;
}

/* How far a rank's host was ahead before the first step: when its GPU was done with what was launched before. Where nothing of that is recorded, as far
 * as in the middle. The step that ends most like that is the rank's example. */
static void find_example(rs_asker *a, size_t rank, bench *b)
{
    const rs_engine *e = a->r->engine;
    const rs_times *t = &a->r->times;
    const size_t n = rs_lengths_leads(e, t, rank, b->steps);
    int64_t before = INT64_MIN, least = INT64_MAX;
    if (!n) return;
    a->like[rank] = SIZE_MAX;
    for (uint32_t i = e->ahead_base[rank]; i < e->ahead_base[rank + 1]; i++)
        if (rs_times_end(t, e->ahead[i]) > before) before = rs_times_end(t, e->ahead[i]);
    const int64_t lead = rs_sub_sat(before, rs_engine_first_mark(e, t, rank));
    for (size_t i = 0; before != INT64_MIN && i < n; i++) {
        const int64_t own = rs_sub_sat(b->steps[i], lead), apart = own < 0 ? -own : own;
        if (apart > least) continue;
        least = apart;
        a->like[rank] = i;
        a->lead[rank] = b->steps[i];
    }
    if (before == INT64_MIN) a->lead[rank] = rs_median(b->steps, n);
}

/* Where first steps begin with a GPU that waits. */
static rs_status find_openings(rs_asker *a, bench *b, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    bool any = false;
    a->opening = rs_malloc((e->n_ranks + 1) * sizeof *a->opening);
    a->lead = rs_calloc(e->n_ranks + 1, sizeof *a->lead);
    a->like = rs_calloc(e->n_ranks + 1, sizeof *a->like);
    if (!a->opening || !a->lead || !a->like) return rs_fail_nomem(err, "a question");
    for (size_t k = 0; k < e->n_ranks; k++) {
        a->opening[k] = rs_lengths_opening(e, &a->r->times, k);
        if (a->opening[k] == RS_NO_NODE) continue;
        find_example(a, k, b);
        any = true;
    }
    if (any) return RS_OK;
    rs_free(a->opening);
    a->opening = NULL;
    return RS_OK;
}

static rs_status find_paths(rs_asker *a, rs_error *err)
{
    a->paths = rs_calloc(a->n_ranges, sizeof *a->paths);
    if (!a->paths) return rs_fail_nomem(err, "a question");
    for (size_t i = 0; i < a->n_ranges; i++) {
        size_t from, to;
        range_of(a, i, &from, &to);
        RS_TRY(rs_path_find(a->r, from, to, &a->paths[i], err));
    }
    return RS_OK;
}

static rs_status assume_contention(rs_asker *a, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    if (a->contention.is_shown) return RS_OK;
    for (int k = 0; k < 2; k++) {
        rs_contention *c = &a->assumed[k];
        *c = (rs_contention){.factor = rs_calloc(e->n_nodes + 1, sizeof *c->factor),
                             .beside = rs_calloc(e->n_nodes + 1, 1)};
        if (!c->factor || !c->beside) return rs_fail_nomem(err, "contention");
        memcpy(c->beside, a->contention.beside, e->n_nodes);
        rs_contention_assume(c, e, k ? MOST_CONTENTION : USUAL_CONTENTION);
    }
    return RS_OK;
}

rs_status rs_asker_open(const rs_replayed *replayed, const rs_ask_how *how, rs_asker **out, rs_error *err)
{
    const rs_engine *e = replayed->engine;
    rs_asker *a = rs_malloc(sizeof *a);
    if (!a) return rs_fail_nomem(err, "a question");
    *a = (rs_asker){.r = replayed,
                    .rank_of = how->rank_of,
                    .n_benches = rs_workers_count(MOST_BENCHES, how->jobs),
                    .n_ranges = how->of_ranks && e->n_ranks > 1 ? e->n_ranks + 1 : 1,
                    .infer = e->n_added > 0,
                    .recorded = e->n_added > 0 ? REPLAY_INFERS : 0,
                    .force = how->force,
                    .reason = reason_of(replayed)};
    a->benches = rs_calloc(a->n_benches, sizeof *a->benches);
    rs_status status = a->benches ? RS_OK : rs_fail_nomem(err, "a question");
    if (status == RS_OK) status = rs_roles_find(e->ranks, e->n_ranks, &a->roles, err);
    if (status == RS_OK) status = rs_contention_learn(e, &replayed->times, &a->contention, err);
    if (status == RS_OK) status = assume_contention(a, err);
    if (status == RS_OK) status = open_bench(a, &a->benches[0], err);
    if (status == RS_OK) status = find_openings(a, &a->benches[0], err);
    if (status == RS_OK) status = find_paths(a, err);
    if (status == RS_OK) {
        bench *b = &a->benches[0];
        rs_engine_step_ends(e, &replayed->times, b->ends);
        status = measure_before(a, a->recorded, &replayed->times, b->ends, &b->after, err);
    }
    if (status == RS_OK)
        *out = a;
    else
        rs_asker_close(a);
    return status;
}

void rs_asker_close(rs_asker *a)
{
    if (!a) return;
    rs_roles_clear(&a->roles);
    rs_contention_clear(&a->contention);
    for (int k = 0; k < 2; k++) rs_contention_clear(&a->assumed[k]);
    for (unsigned k = 0; a->benches && k < a->n_benches; k++) close_bench(&a->benches[k]);
    for (unsigned k = 0; k < N_REPLAYS; k++) {
        for (size_t i = 0; a->was[k] && i < a->n_ranges; i++) rs_free(a->was[k][i].ns);
        rs_free(a->was[k]);
    }
    for (size_t i = 0; a->paths && i < a->n_ranges; i++) rs_free(a->paths[i].items);
    rs_free_all(a->benches, a->paths, a->opening, a->lead, a->like, a);
}

const char *rs_asker_reason(const rs_asker *a)
{
    return a->reason;
}

const rs_contention *rs_asker_contention(const rs_asker *a)
{
    return &a->contention;
}

size_t rs_asker_n_answers(const rs_asker *a)
{
    return a->n_ranges;
}

size_t rs_asker_n_steps(const rs_asker *a)
{
    return rs_lengths_n(a->r->engine, 0, a->r->engine->n_ranks);
}

double rs_asker_before(const rs_asker *a)
{
    return rs_lengths_mean(&a->was[a->recorded][0]) / 1e3;
}
