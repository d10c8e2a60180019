/* Questions put to a replay: how long steps would take, how sure that is, and what bounds it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/replay.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/contention.h"
#include "engine/edits.h"

typedef struct answer_row {
    const char *what_if;
    int64_t rank; /* -1: the job */
    int64_t steps;
    double before, after, gain, low, high, pct, bound; /* us; of a step, on average */
    const char *then_bound_by;
    int64_t trusted; /* RS_NO_VALUE: refused */
    const char *assumption, *reason;
} answer_row;

#define ANSWER_ROW(CELL)                                                                                          \
    CELL(OF(answer_row, what_if), "what_if", TEXT, NONE, "the question", "what if")                               \
    CELL(ID(answer_row, rank), "rank", INT, ID, "rank; unknown: the job", NULL)                                   \
    CELL(OF(answer_row, steps), "steps", INT, COUNT, "steps it is the mean of; 0: the whole trace", NULL)         \
    CELL(                                                                                                         \
        OF(answer_row, before), "before_us", REAL, US,                                                            \
        "a step as recorded, from the end of the one before to its own: of a rank's, or of all ranks' last work", \
        "before")                                                                                                 \
    CELL(OF(answer_row, after), "after_us", REAL, US, "a step then", "after")                                     \
    CELL(OF(answer_row, gain), "gain_us", REAL, US, "before less after", "gain")                                  \
    CELL(OF(answer_row, low), "gain_low_us", REAL, US,                                                            \
         "least of four replays (dependencies told or inferred too, gaps recorded or typical) and of the "        \
         "spread over steps",                                                                                     \
         "from")                                                                                                  \
    CELL(OF(answer_row, high), "gain_high_us", REAL, US, "the greatest", "to")                                    \
    CELL(OF(answer_row, pct), "gain_pct", REAL, PERCENT, "of before_us", "gain %")                                \
    CELL(                                                                                                         \
        OF(answer_row, bound), "bound_us", REAL, US,                                                              \
        "what the question takes off the path as recorded: no gain is greater; unknown where it removes a wait "  \
        "that the path runs along",                                                                               \
        "at most")                                                                                                \
    CELL(MAYBE(answer_row, then_bound_by), "then_bound_by", TEXT, NONE,                                           \
         "what most of the path would be spent on then", "then bound by")                                         \
    CELL(OF(answer_row, trusted), "trusted", INT, NONE,                                                           \
         "1: the replay can be relied on; 0: it cannot, --force; unknown: refused", NULL)                         \
    CELL(OF(answer_row, assumption), "assumption", TEXT, NONE, "what has to hold", NULL)                          \
    CELL(MAYBE(answer_row, reason), "reason", TEXT, NONE, "why it is refused or not trusted", NULL)
RS_RECORD(answer, ANSWER_ROW);

const rs_table_spec rs_what_if_table =
    RS_TABLE("what_if", "one row is a question of --what-if, --scale or --no-loader, for the job or a rank",
             answer_columns);

/* ---- questions ----------------------------------------------------------------------------------------- */

typedef struct question {
    char *text; /* as asked; owned */
    rs_what_if edits;
} question;

typedef struct questions {
    question *items;
    size_t n, capacity;
} questions;

static void clear_questions(questions *q)
{
    for (size_t i = 0; i < q->n; i++) {
        rs_free(q->items[i].text);
        rs_what_if_clear(&q->items[i].edits);
    }
    rs_free(q->items);
    *q = (questions){0};
}

static rs_status add_question(questions *q, const char *text, size_t n, bool scale, rs_error *err)
{
    if (!RS_GROW_ONE(q->items, q->n, q->capacity)) return rs_fail_nomem(err, "a question");
    question *x = &q->items[q->n++];
    *x = (question){.text = rs_strndup(text, n)};
    if (!x->text) return rs_fail_nomem(err, "a question");
    rs_status status =
        scale ? rs_what_if_scale(x->text, &x->edits, err) : rs_what_if_parse(x->text, &x->edits, err);
    if (status == RS_ERR_USAGE) rs_error_wrap(err, scale ? "--scale" : "--what-if");
    return status;
}

static rs_status add_list(questions *q, const char *list, bool scale, rs_error *err)
{
    while (list && *list) {
        size_t n = strcspn(list, ",");
        RS_TRY(add_question(q, list, n, scale, err));
        list += n + (list[n] == ',');
    }
    return RS_OK;
}

static rs_status read_questions(const rs_options *options, questions *q, rs_error *err)
{
    *q = (questions){0};
    RS_TRY(add_list(q, rs_options_text(options, "what-if"), false, err));
    RS_TRY(add_list(q, rs_options_text(options, "scale"), true, err));
    if (rs_options_flag(options, "no-loader")) RS_TRY(add_question(q, "no-loader", 9, false, err));
    return RS_OK;
}

bool rs_replay_asks(const rs_options *options)
{
    return rs_options_is_set(options, "what-if") || rs_options_is_set(options, "scale") ||
           rs_options_flag(options, "no-loader");
}

rs_status rs_replay_check(const rs_options *options, rs_error *err)
{
    questions q;
    rs_status status = read_questions(options, &q, err);
    clear_questions(&q);
    return status;
}

/* ---- steps of the job ---------------------------------------------------------------------------------- */

/* Lengths of the steps of a rank, or of the job: from the last end of all ranks to the next. Ranks' steps
 * stand side by side in their order. Without steps the one length of the whole trace. */
typedef struct lengths {
    int64_t *ns;
    size_t n;
} lengths;

static size_t n_steps_of(const rs_engine *e, size_t from, size_t to)
{
    size_t n = SIZE_MAX;
    for (size_t k = from; k < to; k++)
        if (e->ranks[k]->n_steps < n) n = e->ranks[k]->n_steps;
    return n == SIZE_MAX ? 0 : n;
}

static uint32_t last_moment(const rs_engine *e, size_t rank)
{
    uint32_t last = e->ranks[rank]->last;
    return (e->node_base[rank] + (last >> 1)) << 1 | (last & 1);
}

/* When the first step of the ranks begins. *moment: that it begins with, RS_NO_CAUSE: an annotation. */
static int64_t begin_of_ranks(const rs_engine *e, const rs_times *t, size_t from, size_t to, uint32_t *moment)
{
    int64_t begin = INT64_MAX;
    *moment = RS_NO_CAUSE;
    for (size_t k = from; k < to; k++) {
        uint32_t own;
        int64_t at = rs_engine_begin(e, t, k, &own);
        if (at >= begin) continue;
        begin = at;
        *moment = own;
    }
    return begin;
}

static void measure(const rs_engine *e, const rs_times *t, const int64_t *ends, size_t from, size_t to,
                    lengths *out)
{
    uint32_t moment;
    size_t n = n_steps_of(e, from, to);
    int64_t before = begin_of_ranks(e, t, from, to, &moment);
    out->n = n ? n : 1;
    for (size_t s = 0; s < out->n; s++) {
        int64_t end = INT64_MIN;
        for (size_t k = from; k < to; k++) {
            int64_t own = n ? ends[e->step_base[k] + s] : rs_moment_time(t, last_moment(e, k));
            if (own > end) end = own;
        }
        out->ns[s] = rs_sub_sat(end, before);
        before = end;
    }
}

static double mean_of(const lengths *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) sum += (double)l->ns[i];
    return l->n ? sum / (double)l->n : 0;
}

/* ---- intervals ----------------------------------------------------------------------------------------- */

#define RESAMPLES 1000

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The 95 % interval of the mean difference: a circular block bootstrap over steps with a fixed seed, blocks as
 * long as the cube root of their number. Of fewer than three steps the least and the greatest difference. */
static void spread(const lengths *before, const lengths *after, double *low, double *high)
{
    double means[RESAMPLES];
    size_t n = before->n, block = 1;
    uint64_t state = 0x72616e6b73636f70u;
    *low = INFINITY;
    *high = -INFINITY;
    if (n < 3) {
        for (size_t i = 0; i < n; i++) {
            double d = (double)before->ns[i] - (double)after->ns[i];
            if (d < *low) *low = d;
            if (d > *high) *high = d;
        }
        return;
    }
    while (block * block * block < n) block++;
    for (size_t k = 0; k < RESAMPLES; k++) {
        double sum = 0;
        for (size_t done = 0; done < n; done += block) {
            size_t from = (size_t)(next_random(&state) % n);
            for (size_t i = 0; i < block && done + i < n; i++)
                sum += (double)before->ns[(from + i) % n] - (double)after->ns[(from + i) % n];
        }
        means[k] = sum / (double)n;
    }
    qsort(means, RESAMPLES, sizeof *means, by_value);
    *low = means[RESAMPLES / 40];
    *high = means[RESAMPLES - 1 - RESAMPLES / 40];
}

/* ---- paths --------------------------------------------------------------------------------------------- */

static void end_later(uint32_t moment, int64_t time, uint32_t *best, int64_t *latest)
{
    if (*best != RS_NO_CAUSE && time <= *latest) return;
    *best = moment;
    *latest = time;
}

/* The moment with which a range of ranks ends, or that its end follows without waiting. With steps it is their end, as
 * rs_engine_step_ends has it. */
static uint32_t end_of_ranks(const rs_engine *e, const rs_times *t, size_t from, size_t to)
{
    uint32_t best = RS_NO_CAUSE;
    int64_t latest = 0;
    for (size_t k = from; k < to; k++) {
        const rs_skeleton *s = e->ranks[k];
        for (uint32_t i = 0; i < s->n; i++) {
            if (s->n_steps && (s->step[i] < 0 || !(s->flags[i] & RS_NODE_WORK))) continue;
            uint32_t moment = (e->node_base[k] + i) << 1 | 1;
            end_later(moment, rs_moment_time(t, moment), &best, &latest);
        }
        for (size_t i = 0; i < s->n_steps; i++) {
            uint32_t moment = (e->node_base[k] + s->steps[i].last) << 1 | 1;
            end_later(moment, rs_add_sat(rs_moment_time(t, moment), s->steps[i].tail), &best, &latest);
        }
    }
    return best == RS_NO_CAUSE ? last_moment(e, from) : best;
}

/* How much less the link weighs under other weights; RS_NO_EDGE: it is gone, and the path with it. */
static int64_t lost(const rs_engine *e, const rs_link *l, uint32_t moment, const rs_weights *was,
                    const rs_weights *is)
{
    uint32_t node = moment >> 1;
    if (l->edge != RS_NO_CAUSE)
        return is->edge[l->edge] == RS_NO_EDGE ? RS_NO_EDGE
                                               : rs_sub_sat(was->edge[l->edge], is->edge[l->edge]);
    int64_t less = rs_sub_sat(was->work[node], is->work[node]);
    if (e->kind[node] & RS_ENGINE_MEETS) {
        uint32_t k = e->meeting_of[rs_engine_member(e, node)];
        less = rs_add_sat(less, rs_sub_sat(was->transfer[k], is->transfer[k]));
    }
    return less;
}

/* Where the steps begin with the end of earlier work, the path ends there if it runs along that work. If it does not, it
 * goes on to the annotations: what it comes from may gain more than the begin moves. */
static double bound_of(const rs_replayed *r, const rs_weights *edited, size_t from, size_t to)
{
    const rs_engine *e = r->engine;
    int64_t begin = INT64_MAX, sum = 0;
    uint32_t moment = end_of_ranks(e, &r->times, from, to), first;
    begin_of_ranks(e, &r->times, from, to, &first);
    for (size_t k = from; k < to; k++) {
        int64_t mark = rs_engine_first_mark(e, &r->times, k);
        if (mark < begin) begin = mark;
    }
    while (moment != first && rs_moment_time(&r->times, moment) > begin) {
        rs_link l = rs_engine_link(e, &r->recorded, &r->times, moment);
        if (l.from == RS_NO_CAUSE) break;
        int64_t less = lost(e, &l, moment, &r->recorded, edited);
        if (less == RS_NO_EDGE) return NAN;
        sum = rs_add_sat(sum, less);
        moment = l.from;
    }
    return (double)sum;
}

static const char *bound_by(const rs_engine *e, const rs_weights *w, const rs_times *t, size_t from,
                            size_t to)
{
    uint32_t first, moment = end_of_ranks(e, t, from, to);
    int64_t begin = begin_of_ranks(e, t, from, to, &first), time[RS_N_PARTS] = {0};
    size_t best = 0;
    while (rs_moment_time(t, moment) > begin) {
        rs_link l = rs_engine_link(e, w, t, moment);
        if (l.from == RS_NO_CAUSE) break;
        time[l.part] = rs_add_sat(time[l.part], l.ns);
        moment = l.from;
    }
    for (size_t i = 1; i < RS_N_PARTS; i++)
        if (time[i] > time[best]) best = i;
    return rs_part_names[best];
}

/* ---- one question -------------------------------------------------------------------------------------- */

/* A question is put to replays that follow told dependencies or inferred ones too, with gaps as recorded or
 * as is typical. */
#define N_REPLAYS 4
#define REPLAY_INFERS 1u
#define REPLAY_CONSTANT 2u

struct rs_asker {
    const rs_replayed *r;
    const int64_t *rank_of;
    rs_roles roles;
    rs_contention contention;
    int64_t *ends[2]; /* scratch: by step_base */
    lengths before, after;
    rs_weights w[2]; /* of questions, made on first need and used again: [1] while [0] is kept */
    rs_times t[2];
    lengths *was[N_REPLAYS]; /* by range: without a question, by which of the replays; NULL: not yet */
    size_t n_ranges;         /* that are asked about: the job, then each rank where there are several */
    bool infer, force;
    const char *reason; /* why the replay cannot be relied on; NULL */
};
typedef rs_asker asker;

static rs_status have_weights(asker *a, unsigned k, rs_error *err)
{
    if (a->w[k].work) return RS_OK;
    return rs_weights_copy(a->r->engine, &a->r->recorded, &a->w[k], err);
}

/* As recorded, with the question applied. */
static rs_status edit_weights(asker *a, unsigned k, const rs_what_if *q, size_t *n_changed, rs_error *err)
{
    RS_TRY(have_weights(a, k, err));
    rs_weights_recopy(a->r->engine, &a->r->recorded, &a->w[k]);
    return rs_what_if_apply(q, a->r->engine, &a->roles, a->rank_of, &a->w[k], n_changed, err);
}

static rs_status replay_weights(asker *a, unsigned k, rs_error *err)
{
    return a->t[k].start ? rs_engine_replay_again(a->r->engine, &a->w[k], &a->t[k], err)
                         : rs_engine_replay(a->r->engine, &a->w[k], &a->t[k], err);
}

/* The ranks of the i-th range. */
static void range_of(const asker *a, size_t i, size_t *from, size_t *to)
{
    *from = i ? i - 1 : 0;
    *to = i ? i : a->r->engine->n_ranks;
}

/* Lengths without a question, measured once. */
static rs_status measure_before(asker *a, unsigned which, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    if (a->was[which]) return RS_OK;
    lengths *was = rs_calloc(a->n_ranges, sizeof *was);
    rs_status status = was ? replay_weights(a, 1, err) : rs_fail_nomem(err, "a question");
    if (status == RS_OK) rs_engine_step_ends(e, &a->t[1], a->ends[0]);
    for (size_t i = 0; status == RS_OK && i < a->n_ranges; i++) {
        size_t from, to;
        range_of(a, i, &from, &to);
        measure(e, &a->t[1], a->ends[0], from, to, &a->before);
        was[i].n = a->before.n;
        was[i].ns = rs_malloc((was[i].n + 1) * sizeof *was[i].ns);
        if (!was[i].ns)
            status = rs_fail_nomem(err, "a question");
        else
            memcpy(was[i].ns, a->before.ns, was[i].n * sizeof *was[i].ns);
    }
    a->was[which] = was;
    return status;
}

/* Replays with kernels that are slowed down beside communication, or not any more, as the recording tells of their
 * kind. Where that moves them, others may be beside communication: so twice. times: of w as it is. */
static rs_status replay_contended(const asker *a, rs_weights *w, rs_times *times, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    int64_t *edited = rs_malloc((e->n_nodes + 1) * sizeof *edited); /* work as the question has it */
    if (!edited) return rs_fail_nomem(err, "a question");
    memcpy(edited, w->work, e->n_nodes * sizeof *edited);
    rs_status status = RS_OK;
    for (int k = 0; status == RS_OK && k < 2; k++) {
        memcpy(w->work, edited, e->n_nodes * sizeof *edited);
        status = rs_contention_apply(&a->contention, e, times, w, err);
        if (status == RS_OK) status = rs_engine_replay_again(e, w, times, err);
    }
    rs_free(edited);
    return status;
}

/* One of the replays with and without the question. Widens [*low, *high] of every range: 0 the job, then
 * ranks. What a question about certain steps gains is as it is: these steps are no sample of others. */
static rs_status ask_under(asker *a, const rs_what_if *q, unsigned which, bool contended, double *low,
                           double *high, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    rs_edges_used edges = which & REPLAY_INFERS ? RS_EDGES_ALL : RS_EDGES_TOLD;
    size_t n_changed;
    bool of_steps = rs_what_if_is_of_steps(q);
    RS_TRY(have_weights(a, 1, err));
    rs_weights_refill(e, edges, which & REPLAY_CONSTANT, &a->w[1]);
    RS_TRY(measure_before(a, which, err));
    RS_TRY(rs_what_if_apply(q, e, &a->roles, a->rank_of, &a->w[1], &n_changed, err));
    RS_TRY(replay_weights(a, 1, err));
    if (contended) RS_TRY(replay_contended(a, &a->w[1], &a->t[1], err));
    rs_engine_step_ends(e, &a->t[1], a->ends[1]);
    for (size_t i = 0; i < a->n_ranges; i++) {
        size_t from, to;
        double l, h;
        range_of(a, i, &from, &to);
        measure(e, &a->t[1], a->ends[1], from, to, &a->after);
        if (of_steps)
            l = h = mean_of(&a->was[which][i]) - mean_of(&a->after);
        else
            spread(&a->was[which][i], &a->after, &l, &h);
        if (l < low[i]) low[i] = l;
        if (h > high[i]) high[i] = h;
    }
    return RS_OK;
}

/* How much of a transfer grows with its size is known from three sizes on, and then by its lower envelope
 * alone. So the interval of `network` reaches to where all of it does. false: there is no such edit. */
static bool set_all_grow(const rs_what_if *q, bool all)
{
    bool any = false;
    for (size_t i = 0; i < q->n; i++) {
        if (q->edits[i].kind != RS_EDIT_NETWORK) continue;
        q->edits[i].all_grows = all;
        any = true;
    }
    return any;
}

static rs_status refuse(const asker *a, const question *q, const char *reason, rs_table *t, rs_error *err)
{
    answer_row row = {.what_if = q->text,
                      .rank = -1,
                      .steps = (int64_t)n_steps_of(a->r->engine, 0, a->r->engine->n_ranks),
                      .before = NAN,
                      .after = NAN,
                      .gain = NAN,
                      .low = NAN,
                      .high = NAN,
                      .pct = NAN,
                      .bound = NAN,
                      .trusted = RS_NO_VALUE,
                      .assumption = rs_edit_assumptions[q->edits.edits[0].kind],
                      .reason = reason};
    return rs_table_put_row(t, &answer_record, -1, &row, err);
}

/* No interval reaches less far, as a share of the step: ten times what replays were off by in the median of the twins
 * of tests/engine. Questions about one step have no spread that would say so. */
#define LEAST_DOUBT 1e-4

/* The mean length of the annotations of those steps, us. */
static double annotated(const rs_engine *e, size_t from, size_t to)
{
    size_t n = n_steps_of(e, from, to);
    double sum = 0;
    for (size_t k = from; k < to; k++)
        for (size_t i = 0; i < n; i++)
            sum += (double)rs_sub_sat(e->ranks[k]->steps[i].end, e->ranks[k]->steps[i].start);
    return n ? sum / 1e3 / (double)(n * (to - from)) : NAN;
}

/* The answer for the i-th range. The steps' ends of both replays are in a->ends. */
static rs_foretold answer_for(asker *a, const rs_what_if *q, const rs_weights *w, const rs_times *after,
                              size_t i, double low, double high)
{
    const rs_engine *e = a->r->engine;
    size_t from = i ? i - 1 : 0, to = i ? i : e->n_ranks;
    measure(e, &a->r->times, a->ends[0], from, to, &a->before);
    measure(e, after, a->ends[1], from, to, &a->after);
    double before = mean_of(&a->before) / 1e3, then = mean_of(&a->after) / 1e3, gain = before - then;
    double least = gain - LEAST_DOUBT * before, most = gain + LEAST_DOUBT * before;
    return (rs_foretold){.steps = (int64_t)n_steps_of(e, from, to),
                         .before = before,
                         .after = then,
                         .gain = gain,
                         .low = low / 1e3 < least ? low / 1e3 : least,
                         .high = high / 1e3 > most ? high / 1e3 : most,
                         .pct = before > 0 ? 100 * gain / before : NAN,
                         .bound = bound_of(a->r, w, from, to) / 1e3 / (double)a->before.n,
                         .annotated = annotated(e, from, to),
                         .then_bound_by = bound_by(e, w, after, from, to),
                         .assumption = rs_edit_assumptions[q->edits[0].kind],
                         .reason = a->reason};
}

/* answers: room for a->n_ranges of them. Nothing is asked where the replay cannot be relied on. */
static rs_status ask(asker *a, rs_what_if *q, rs_foretold *answers, const char **refused, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    size_t n_changed = 0, n = e->n_ranks + 2;
    double *low = rs_malloc(n * sizeof *low), *high = rs_malloc(n * sizeof *high);
    rs_status status = low && high ? RS_OK : rs_fail_nomem(err, "a question");
    *refused = NULL;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    if (status == RS_OK) status = edit_weights(a, 0, q, &n_changed, err);
    if (status == RS_OK && !n_changed) {
        *refused = "nothing in the traces is what it names";
    } else if (status == RS_OK && a->reason && !a->force) {
        *refused = a->reason;
    } else if (status == RS_OK) {
        status = replay_weights(a, 0, err);
        for (unsigned k = 0; status == RS_OK && k < N_REPLAYS; k++)
            if (!(k & REPLAY_INFERS) || a->infer) status = ask_under(a, q, k, false, low, high, err);
        unsigned recorded = a->infer ? REPLAY_INFERS : 0;
        bool slows = a->contention.n_names > 0;
        if (status == RS_OK && slows) status = ask_under(a, q, recorded, true, low, high, err);
        if (status == RS_OK && set_all_grow(q, true)) {
            status = ask_under(a, q, recorded, false, low, high, err);
            if (status == RS_OK && slows) status = ask_under(a, q, recorded, true, low, high, err);
        }
        set_all_grow(q, false);
        if (status == RS_OK) {
            rs_engine_step_ends(e, &a->r->times, a->ends[0]);
            rs_engine_step_ends(e, &a->t[0], a->ends[1]);
        }
        for (size_t i = 0; status == RS_OK && i < a->n_ranges; i++)
            answers[i] = answer_for(a, q, &a->w[0], &a->t[0], i, low[i], high[i]);
    }
    rs_free(low);
    rs_free(high);
    return status;
}

static rs_status put_answers(asker *a, question *q, rs_foretold *answers, rs_table *t, rs_error *err)
{
    const char *refused;
    RS_TRY(ask(a, &q->edits, answers, &refused, err));
    if (refused) return refuse(a, q, refused, t, err);
    for (size_t i = 0; i < a->n_ranges; i++) {
        const rs_foretold *x = &answers[i];
        answer_row row = {.what_if = q->text,
                          .rank = i ? a->rank_of[i - 1] : -1,
                          .steps = x->steps,
                          .before = x->before,
                          .after = x->after,
                          .gain = x->gain,
                          .low = x->low,
                          .high = x->high,
                          .pct = x->pct,
                          .bound = x->bound,
                          .then_bound_by = x->then_bound_by,
                          .trusted = x->reason == NULL,
                          .assumption = x->assumption,
                          .reason = x->reason};
        RS_TRY(rs_table_put_row(t, &answer_record, -1, &row, err));
    }
    return RS_OK;
}

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

rs_status rs_asker_open(const rs_replayed *replayed, const int64_t *rank_of, bool of_ranks, bool force,
                        rs_asker **out, rs_error *err)
{
    const rs_engine *e = replayed->engine;
    size_t n = e->step_base[e->n_ranks] + 2;
    rs_asker *a = rs_malloc(sizeof *a);
    if (!a) return rs_fail_nomem(err, "a question");
    *a = (rs_asker){.r = replayed,
                    .rank_of = rank_of,
                    .n_ranges = of_ranks && e->n_ranks > 1 ? e->n_ranks + 1 : 1,
                    .infer = e->n_added > 0,
                    .force = force,
                    .reason = reason_of(replayed)};
    a->ends[0] = rs_malloc(n * sizeof(int64_t));
    a->ends[1] = rs_malloc(n * sizeof(int64_t));
    a->before.ns = rs_malloc(n * sizeof(int64_t));
    a->after.ns = rs_malloc(n * sizeof(int64_t));
    rs_status status = RS_OK;
    if (!a->ends[0] || !a->ends[1] || !a->before.ns || !a->after.ns)
        status = rs_fail_nomem(err, "a question");
    if (status == RS_OK) status = rs_roles_find(e->ranks, e->n_ranks, &a->roles, err);
    if (status == RS_OK) status = rs_contention_learn(e, &replayed->times, &a->contention, err);
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
    for (int k = 0; k < 2; k++) {
        rs_weights_clear(&a->w[k]);
        rs_times_clear(&a->t[k]);
    }
    for (unsigned k = 0; k < N_REPLAYS; k++) {
        for (size_t i = 0; a->was[k] && i < a->n_ranges; i++) rs_free(a->was[k][i].ns);
        rs_free(a->was[k]);
    }
    rs_free(a->ends[0]);
    rs_free(a->ends[1]);
    rs_free(a->before.ns);
    rs_free(a->after.ns);
    rs_free(a);
}

const char *rs_asker_reason(const rs_asker *a)
{
    return a->reason;
}

double rs_asker_before(rs_asker *a)
{
    const rs_engine *e = a->r->engine;
    rs_engine_step_ends(e, &a->r->times, a->ends[0]);
    measure(e, &a->r->times, a->ends[0], 0, e->n_ranks, &a->before);
    return mean_of(&a->before) / 1e3;
}

rs_status rs_asker_bound(rs_asker *a, const rs_what_if *q, double *us, size_t *n_changed, rs_error *err)
{
    size_t n = n_steps_of(a->r->engine, 0, a->r->engine->n_ranks);
    RS_TRY(edit_weights(a, 0, q, n_changed, err));
    *us = bound_of(a->r, &a->w[0], 0, a->r->engine->n_ranks) / 1e3 / (double)(n ? n : 1);
    return RS_OK;
}

rs_status rs_asker_try(rs_asker *a, const rs_what_if *q, double *us, rs_error *err)
{
    const rs_engine *e = a->r->engine;
    size_t n_changed;
    RS_TRY(edit_weights(a, 0, q, &n_changed, err));
    RS_TRY(replay_weights(a, 0, err));
    rs_engine_step_ends(e, &a->t[0], a->ends[1]);
    measure(e, &a->t[0], a->ends[1], 0, e->n_ranks, &a->after);
    *us = mean_of(&a->after) / 1e3;
    return RS_OK;
}

rs_status rs_asker_ask(rs_asker *a, rs_what_if *q, rs_foretold *answer, const char **refused, rs_error *err)
{
    return ask(a, q, answer, refused, err);
}

rs_status rs_replay_ask(const rs_run *run, const rs_replayed *replayed, const int64_t *rank_of,
                        rs_table *table, rs_error *err)
{
    questions q;
    asker *a = NULL;
    rs_foretold *answers = NULL;
    rs_status status = read_questions(run->options, &q, err);
    if (status == RS_OK && q.n && replayed->engine->n_ranks) {
        status = rs_asker_open(replayed, rank_of, true, rs_options_flag(run->options, "force"), &a, err);
        if (status == RS_OK && !(answers = rs_malloc(a->n_ranges * sizeof *answers)))
            status = rs_fail_nomem(err, "a question");
        for (size_t i = 0; status == RS_OK && i < q.n; i++)
            status = put_answers(a, &q.items[i], answers, table, err);
    }
    rs_free(answers);
    rs_asker_close(a);
    clear_questions(&q);
    return status;
}
