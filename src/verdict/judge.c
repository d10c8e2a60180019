/* Candidates of the catalogue become questions to the replay, and answers become rows. */
#include "verdict/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "engine/contention.h"

#define MOST_REPLAYED 32                  /* candidates; five replays each */
#define WORTH_TRYING 1e-3                 /* of a step: what is less uncertain counts whole */
#define HALF 0.5                          /* of what is all or nothing, and no trace shows which */
#define MOST_TOGETHER (RS_JUDGE_WITH + 1) /* findings that are looked at for hiding each other */

typedef struct judge {
    rs_judgement *d;
    rs_judged_row *hidden; /* findings that gain too little alone */
    size_t n_hidden;
} judge;

static rs_status miss(rs_judgement *d, const char *id, const char *what, const char *reason, rs_error *err)
{
    if (!RS_GROW_ONE(d->missed, d->n_missed, d->missed_capacity)) return rs_fail_nomem(err, "diagnose");
    d->missed[d->n_missed++] = (rs_unexamined){id, what, reason};
    return RS_OK;
}

static rs_status miss_finding(rs_judgement *d, const rs_judged_row *x, const char *reason, rs_error *err)
{
    rs_text claim = {0};
    rs_words_claim(x->candidate, &claim);
    const char *what =
        rs_text_get(&claim) ? rs_arena_strndup(&d->candidates.arena, rs_text_get(&claim), claim.n) : NULL;
    rs_text_clear(&claim);
    return what ? miss(d, x->candidate->fault->id, what, reason, err) : rs_fail_nomem(err, "diagnose");
}

static double enough_us(const rs_judgement *d)
{
    return d->before * d->enough / 100;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

/* All edits of the candidates as one question, which borrows them: rs_free(out->edits). */
static rs_status join_edits(const rs_candidate *const *all, size_t n, rs_what_if *out, rs_error *err)
{
    const rs_what_if *parts[RS_JUDGE_WITH + 1] = {0};
    for (size_t i = 0; i < n; i++) parts[i] = &all[i]->edits;
    return rs_what_if_together(parts, n, out, err);
}

void rs_judge_print_edits(const rs_candidate *const *all, size_t n, rs_text *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i) rs_text_put(out, "; ");
        rs_what_if_print(&all[i]->edits, out);
    }
}

/* A step, us, where the factors of the edits are all as far off as they may be: `way` 1 more, -1 less; 0: as they are. */
static rs_status try_off(rs_judgement *d, const rs_candidate *const *all, size_t n, int way, double *us,
                         rs_error *err)
{
    rs_what_if question;
    RS_TRY(join_edits(all, n, &question, err));
    for (size_t i = 0, at = 0; i < n; i++)
        for (size_t k = 0; k < all[i]->edits.n; k++) {
            rs_edit *e = &question.edits[at++];
            if (e->kind == RS_EDIT_SCALE && e->scaling == RS_SCALE_BY)
                e->factor = fmin(e->factor * (1 + way * all[i]->off_by), fmax(e->factor, 1));
        }
    rs_status status = rs_asker_try(d->asker, &question, us, err);
    rs_free(question.edits);
    return status;
}

/* What ranks that do the same differ by is not in a replay. All of it counts at most, us; less where others hold the step up by
 * then, whatever the factor: that is tried. */
static rs_status try_doubts(rs_judgement *d, const rs_candidate *const *all, size_t n, double most,
                            double *less, double *more, rs_error *err)
{
    double as_is, slower, faster;
    *less = *more = most;
    for (size_t i = 0; i < n; i++)
        if (all[i]->doubt > 0 && all[i]->off_by <= 0) return RS_OK;
    if (most < WORTH_TRYING * d->before) return RS_OK;
    RS_TRY(try_off(d, all, n, 0, &as_is, err));
    RS_TRY(try_off(d, all, n, 1, &slower, err));
    RS_TRY(try_off(d, all, n, -1, &faster, err));
    *less = fmin(most, fmax(slower - as_is, 0));
    *more = fmin(most, fmax(as_is - faster, 0));
    return RS_OK;
}

/* No step takes less than no time, or gains less than nothing where it gains by every replay. */
static rs_status widen(rs_judgement *d, rs_foretold *answer, const rs_candidate *const *all, size_t n,
                       rs_error *err)
{
    double squares = 0, shares = 0, less, more;
    for (size_t i = 0; i < n; i++) {
        double share = all[i]->share * answer->gain;
        squares += all[i]->doubt * all[i]->doubt;
        shares += share * share;
    }
    RS_TRY(try_doubts(d, all, n, sqrt(squares), &less, &more, err));
    double low = answer->low - sqrt(less * less + shares);
    answer->low = answer->low > 0 && low < 0 ? 0 : low;
    answer->high += sqrt(more * more + shares);
    if (answer->high > answer->before) answer->high = answer->before;
    return RS_OK;
}

rs_status rs_judge_ask(rs_judgement *d, const rs_candidate *const *all, size_t n, rs_foretold *out,
                       double *bound, const char **refused, rs_error *err)
{
    rs_what_if question;
    rs_asked asked = {.question = &question, .answers = out};
    RS_TRY(join_edits(all, n, &question, err));
    rs_status status = bound ? rs_asker_bound(d->asker, &asked, 1, err) : RS_OK;
    if (status == RS_OK) status = rs_asker_ask(d->asker, &asked, 1, err);
    if (bound) *bound = asked.bound;
    *refused = asked.refused;
    if (status == RS_OK && !asked.refused) status = widen(d, out, all, n, err);
    rs_free(question.edits);
    return status;
}

/* Questions about candidates that are asked together. */
typedef struct batch {
    rs_asked *items;
    rs_foretold *answers;
    size_t n;
} batch;

static void clear_batch(batch *b)
{
    rs_free(b->items);
    rs_free(b->answers);
}

/* Room for n; clear it also after a failure. */
static rs_status open_batch(size_t n, batch *b, rs_error *err)
{
    *b =
        (batch){.items = rs_calloc(n + 1, sizeof *b->items), .answers = rs_calloc(n + 1, sizeof *b->answers)};
    return b->items && b->answers ? RS_OK : rs_fail_nomem(err, "diagnose");
}

static void add_to_batch(batch *b, const rs_candidate *c)
{
    size_t i = b->n++;
    b->items[i] = (rs_asked){.question = &c->edits, .answers = &b->answers[i]};
}

/* A step when all of them are fixed, us: one replay, no interval. */
static rs_status try_all(rs_judgement *d, const rs_candidate *const *all, size_t n, double *us, rs_error *err)
{
    rs_what_if question;
    *us = d->before;
    if (!n) return RS_OK;
    RS_TRY(join_edits(all, n, &question, err));
    rs_status status = rs_asker_try(d->asker, &question, us, err);
    rs_free(question.edits);
    return status;
}

/* ---- one by one ---------------------------------------------------------------------------------------- */

static bool is_finding(const rs_judged_row *x)
{
    return x->candidate->kind == RS_VERDICT_FINDING;
}

static double known(double bound)
{
    return isnan(bound) ? INFINITY : bound;
}

/* Findings are all replayed before opportunities, as these may be many. */
static int by_bound(const void *a, const void *b)
{
    const rs_judged_row *x = a, *y = b;
    if (x->candidate->kind != y->candidate->kind) return (int)x->candidate->kind - (int)y->candidate->kind;
    double p = known(x->bound), q = known(y->bound);
    if (p != q) return p < q ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* What an opportunity gains is an upper bound under its assumption, waits for whom a finding accuses included; what a
 * finding gains was measured on its peers. So an opportunity goes before a finding only where it would gain ten times as
 * much. */
#define OPPORTUNITY 0.1

/* The middle of what is certain and what is likely: a wide interval is no small fault, and a likely gain no certain one. */
static double importance(const rs_judged_row *x)
{
    const double us = (x->weight + fmax(x->weight, x->likely)) / 2;
    return is_finding(x) ? us : OPPORTUNITY * us;
}

/* Sensitivities last. */
static int by_importance(const void *a, const void *b)
{
    const rs_judged_row *x = a, *y = b;
    bool s = x->candidate->fault->sensitivity, t = y->candidate->fault->sensitivity;
    if (s != t) return s ? 1 : -1;
    double p = importance(x), q = importance(y);
    if (p != q) return p < q ? 1 : -1;
    if ((x->n_with > 0) != (y->n_with > 0)) return x->n_with ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_excess(const void *a, const void *b)
{
    const rs_judged_row *x = a, *y = b;
    if (x->candidate->excess != y->candidate->excess)
        return x->candidate->excess < y->candidate->excess ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void hide(judge *j, const rs_judged_row *x)
{
    if (is_finding(x)) j->hidden[j->n_hidden++] = *x;
}

static rs_status bound_candidates(const rs_judgement *d, batch *b, rs_error *err)
{
    for (size_t i = 0; i < d->candidates.n; i++) add_to_batch(b, &d->candidates.items[i]);
    return rs_asker_bound(d->asker, b->items, b->n, err);
}

/* Bounds cost no replay: what cannot gain enough alone goes. */
static rs_status bound_all(judge *j, double least, rs_error *err)
{
    rs_judgement *d = j->d;
    batch b;
    size_t n_all = d->candidates.n;
    d->rows = rs_calloc(n_all + 1, sizeof *d->rows);
    j->hidden = rs_calloc(n_all + 1, sizeof *j->hidden);
    if (!d->rows || !j->hidden) return rs_fail_nomem(err, "diagnose");
    rs_status status = open_batch(n_all, &b, err);
    if (status == RS_OK) status = bound_candidates(d, &b, err);
    for (size_t i = 0; status == RS_OK && i < n_all; i++) {
        rs_judged_row x = {.candidate = &d->candidates.items[i], .order = i, .bound = b.items[i].bound};
        if (!b.items[i].n_changed) continue;
        if (x.bound < d->before * least / 100)
            hide(j, &x);
        else
            d->rows[d->n++] = x;
    }
    clear_batch(&b);
    RS_TRY(status);
    if (d->n) qsort(d->rows, d->n, sizeof *d->rows, by_bound);
    while (d->n > MOST_REPLAYED)
        RS_TRY(miss_finding(d, &d->rows[--d->n],
                            "more than 32 candidates: those with greater bounds were replayed", err));
    return RS_OK;
}

/* What the row is certain to gain, and likely. */
static void weigh(rs_judged_row *x)
{
    x->weight = x->candidate->at_best ? HALF * x->answer.gain : x->answer.low;
    x->likely = x->candidate->at_best ? x->weight : x->answer.gain;
}

/* As soon as its weight is known to be too little, however uncertain the gain is. */
static void stop_early(const rs_judgement *d, const rs_candidate *c, rs_asked *asked)
{
    asked->may_stop = true;
    asked->least = c->at_best ? enough_us(d) / HALF : -INFINITY;
    asked->certain = c->at_best ? -INFINITY : enough_us(d);
}

/* Asks about other ways to fix it until one gains enough. Who takes the first one gains what that does: the interval holds it, too. */
static rs_status try_otherwise(rs_judgement *d, rs_judged_row *x, rs_error *err)
{
    rs_candidate *c = &d->candidates.items[x->order];
    const double first = fmax(x->answer.gain, 0);
    const char *refused = NULL;
    if (!c->fault->otherwise) return RS_OK;
    while (!refused && x->weight <= enough_us(d) && c->fault->otherwise(c)) {
        RS_TRY(rs_judge_ask(d, &x->candidate, 1, &x->answer, &x->bound, &refused, err));
        if (!refused) weigh(x);
    }
    x->answer.low = fmin(x->answer.low, first);
    return RS_OK;
}

/* Replays the rows and keeps those that gain enough. */
static rs_status replay_rows(judge *j, rs_error *err)
{
    rs_judgement *d = j->d;
    batch b;
    size_t n = 0;
    rs_status status = open_batch(d->n, &b, err);
    for (size_t i = 0; status == RS_OK && i < d->n; i++) {
        add_to_batch(&b, d->rows[i].candidate);
        stop_early(d, d->rows[i].candidate, &b.items[i]);
    }
    if (status == RS_OK) status = rs_asker_ask(d->asker, b.items, b.n, err);
    for (size_t i = 0; status == RS_OK && i < d->n; i++) {
        rs_judged_row x = d->rows[i];
        if (b.items[i].refused) {
            status = miss_finding(d, &x, b.items[i].refused, err);
            continue;
        }
        x.answer = b.answers[i];
        if (!b.items[i].stopped) status = widen(d, &x.answer, &x.candidate, 1, err);
        weigh(&x);
        if (status == RS_OK && x.weight <= enough_us(d)) status = try_otherwise(d, &x, err);
        if (x.weight > enough_us(d))
            d->rows[n++] = x;
        else
            hide(j, &x);
    }
    if (status == RS_OK) d->n = n;
    clear_batch(&b);
    return status;
}

/* ---- findings that hide each other --------------------------------------------------------------------- */

/* Findings, those that gain enough alone first, and a step without any set of them. */
typedef struct together {
    rs_judgement *d;
    const rs_judged_row *items[MOST_TOGETHER];
    size_t n, n_alone;
    double us[1u << MOST_TOGETHER]; /* by set; NaN: not asked yet */
} together;

static rs_status without(together *t, unsigned set, double *us, rs_error *err)
{
    const rs_candidate *all[MOST_TOGETHER];
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (set >> i & 1) all[n++] = t->items[i]->candidate;
    if (isnan(t->us[set])) RS_TRY(try_all(t->d, all, n, &t->us[set], err));
    *us = t->us[set];
    return RS_OK;
}

/* What fixing `one` adds to fixing `others`, us of a step. */
static rs_status adds(together *t, unsigned others, unsigned one, double *us, rs_error *err)
{
    double then, now;
    RS_TRY(without(t, others, &then, err));
    RS_TRY(without(t, others | one, &now, err));
    *us = then - now;
    return RS_OK;
}

/* The fewest of the others with which a hidden finding shows: each is left out without which it adds at least
 * half of what it can. */
static rs_status companions(together *t, unsigned all, unsigned one, unsigned *out, rs_error *err)
{
    double most, us;
    *out = all & ~one;
    RS_TRY(adds(t, *out, one, &most, err));
    for (size_t i = 0; i < t->n; i++) {
        if (!(*out >> i & 1)) continue;
        RS_TRY(adds(t, *out & ~(1u << i), one, &us, err));
        if (us >= most / 2) *out &= ~(1u << i);
    }
    return RS_OK;
}

static rs_status put_hidden(together *t, unsigned with, size_t at, rs_error *err)
{
    rs_judgement *d = t->d;
    const rs_candidate *all[MOST_TOGETHER];
    rs_judged_row x = *t->items[at];
    const char *refused;
    double before;
    all[0] = x.candidate;
    for (size_t i = 0; i < t->n; i++)
        if (with >> i & 1) x.with[x.n_with++] = t->items[i]->candidate;
    if (x.n_with) memcpy(all + 1, x.with, x.n_with * sizeof *all);
    RS_TRY(without(t, with, &before, err));
    RS_TRY(rs_judge_ask(d, all, 1 + x.n_with, &x.answer, &x.bound, &refused, err));
    if (refused) return miss_finding(d, &x, refused, err);
    x.weight = x.answer.low - (d->before - before);
    x.likely = x.answer.gain - (d->before - before);
    if (x.weight <= enough_us(d)) {
        RS_TRY(miss_finding(d, &x, "what fixing it adds to fixing the other findings is not certain", err));
        if (!d->uncertain) d->uncertain = x.candidate;
        return RS_OK;
    }
    /* It comes after those that it needs and that gain enough alone. */
    for (size_t i = 0; i < t->n_alone; i++)
        if (with >> i & 1) {
            x.weight = fmin(x.weight, t->items[i]->weight);
            x.likely = fmin(x.likely, t->items[i]->likely);
        }
    d->rows[d->n++] = x; /* there is room for every candidate */
    return RS_OK;
}

static rs_status look_together(together *t, rs_error *err)
{
    unsigned all = (1u << t->n) - 1, hidden = all & ~((1u << t->n_alone) - 1);
    for (size_t i = t->n; i-- > t->n_alone;) { /* the least first */
        double us;
        RS_TRY(adds(t, all & ~(1u << i), 1u << i, &us, err));
        if (us > enough_us(t->d)) continue;
        all &= ~(1u << i);
        hidden &= ~(1u << i);
        RS_TRY(miss_finding(t->d, t->items[i],
                            "fixing it gains too little, alone and together with the other findings", err));
    }
    for (size_t i = t->n_alone; i < t->n; i++) {
        unsigned with;
        if (!(hidden >> i & 1)) continue;
        RS_TRY(companions(t, all, 1u << i, &with, err));
        RS_TRY(put_hidden(t, with, i, err));
    }
    return RS_OK;
}

/* Findings that gain enough alone are in d->rows. */
static rs_status resolve_hidden(judge *j, rs_error *err)
{
    rs_judgement *d = j->d;
    size_t n_alone = 0, taken = 0;
    if (!j->n_hidden) return RS_OK;
    together *t = rs_malloc(sizeof *t);
    rs_judged_row *alone = rs_malloc(MOST_TOGETHER * sizeof *alone);
    if (!t || !alone) {
        rs_free(t);
        rs_free(alone);
        return rs_fail_nomem(err, "diagnose");
    }
    *t = (together){.d = d};
    for (size_t i = 0; i < 1u << MOST_TOGETHER; i++) t->us[i] = NAN;
    qsort(j->hidden, j->n_hidden, sizeof *j->hidden, by_excess);
    if (d->n) qsort(d->rows, d->n, sizeof *d->rows, by_importance);
    for (size_t i = 0; i < d->n && n_alone < MOST_TOGETHER / 2; i++)
        if (is_finding(&d->rows[i])) alone[n_alone++] = d->rows[i];
    for (size_t i = 0; i < n_alone; i++) t->items[t->n++] = &alone[i];
    t->n_alone = n_alone;
    while (taken < j->n_hidden && t->n < MOST_TOGETHER) t->items[t->n++] = &j->hidden[taken++];
    rs_status status = look_together(t, err);
    for (size_t i = taken; status == RS_OK && i < j->n_hidden; i++)
        status = miss_finding(d, &j->hidden[i],
                              "fixing it alone gains too little: something else may hide it", err);
    rs_free(t);
    rs_free(alone);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* The greatest error of a replay with constants, percent, of whole ranks. */
static double own_error(const rs_replayed *r)
{
    double worst = 0;
    for (size_t k = 0; k < r->engine->n_ranks; k++) {
        double error = fabs(r->rows[r->row_base[k]].model_error);
        if (error > worst) worst = error;
    }
    return worst;
}

static rs_status find_all(rs_judgement *d, const rs_judged *job, const rs_judge_how *how, rs_error *err)
{
    rs_candidates *all = &d->candidates;
    size_t n = 0;
    for (const rs_fault_kind *fault = rs_faults; fault->id; fault++) {
        const char *lacks = NULL;
        RS_TRY(fault->find(job, fault, all, &lacks, err));
        if (lacks) RS_TRY(miss(d, fault->id, NULL, lacks, err));
    }
    for (size_t i = 0; i < all->n; i++) {
        all->items[i].without_steps = !d->n_steps;
        if (all->items[i].kind == RS_VERDICT_FINDING ? how->findings : how->opportunities)
            all->items[n++] = all->items[i];
        else
            rs_what_if_clear(&all->items[i].edits);
    }
    all->n = n;
    return RS_OK;
}

static rs_status examine(rs_judgement *d, const rs_judged *job, const rs_judge_how *how, rs_error *err)
{
    judge j = {.d = d};
    double error = own_error(&d->replayed);
    d->reason = rs_asker_reason(d->asker);
    for (const rs_fault_kind *fault = rs_faults; d->reason && fault->id; fault++)
        RS_TRY(miss(d, fault->id, NULL, d->reason, err));
    if (d->reason) return RS_OK;
    d->before = rs_asker_before(d->asker);
    d->n_steps = rs_asker_n_steps(d->asker);
    d->enough = error > how->least ? error : how->least;
    RS_TRY(find_all(d, job, how, err));
    rs_status status = bound_all(&j, how->least, err);
    if (status == RS_OK) status = replay_rows(&j, err);
    if (status == RS_OK) status = resolve_hidden(&j, err);
    if (d->n) qsort(d->rows, d->n, sizeof *d->rows, by_importance);
    rs_free(j.hidden);
    return status;
}

/* What work, host time and transfers would take, where work is as it is while no communication runs. */
static rs_status find_reference(rs_judgement *d, rs_error *err)
{
    rs_weights *alone = &d->alone;
    RS_TRY(rs_weights_copy_work(&d->engine, &d->replayed.recorded, alone, err));
    rs_contention_remove(rs_asker_contention(d->asker), &d->engine, alone);
    return rs_reference_find(&d->engine, alone, false, &d->reference, err);
}

rs_status rs_judge(const rs_judge_ranks *ranks, const rs_judge_how *how, rs_judgement *out, rs_error *err)
{
    const rs_engine_how join = {.clocks = how->clocks, .infer = true};
    *out = (rs_judgement){.findings = how->findings, .opportunities = how->opportunities};
    const rs_judged job = {&out->engine, &out->alone, &out->reference, ranks->rank_of, ranks->host};
    const rs_ask_how ask = {.rank_of = ranks->rank_of, .jobs = how->jobs};
    rs_status status = rs_engine_join(ranks->items, ranks->n, &join, &out->engine, err);
    if (status == RS_OK) status = rs_replay_measure(&out->engine, RS_EDGES_ALL, false, &out->replayed, err);
    if (status == RS_OK) status = rs_asker_open(&out->replayed, &ask, &out->asker, err);
    if (status == RS_OK) status = find_reference(out, err);
    if (status == RS_OK) status = examine(out, &job, how, err);
    return status == RS_OK ? rs_judge_lateness(out, ranks->rank_of, err) : status;
}

void rs_judgement_clear(rs_judgement *d)
{
    rs_free(d->rows);
    rs_free(d->missed);
    rs_free(d->late);
    rs_candidates_clear(&d->candidates);
    rs_asker_close(d->asker);
    rs_reference_clear(&d->reference);
    rs_weights_clear(&d->alone);
    rs_replayed_clear(&d->replayed);
    rs_engine_clear(&d->engine);
    *d = (rs_judgement){0};
}
