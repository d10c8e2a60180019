/* Candidates of the catalogue become questions to the replay, and answers become rows.
 *
 * Faults can hide each other: of two equally slow ranks neither gains anything while the other one is as slow.
 * So what is off and gains too little alone is asked about together with the other findings, and stands where
 * it adds to what they gain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "base/memory.h"
#include "base/try.h"
#include "text/numbers.h"

#define MOST_REPLAYED 32                     /* candidates; five replays each */
#define MOST_TOGETHER (RS_DIAGNOSE_WITH + 1) /* findings that are looked at for hiding each other */

typedef struct judge {
    rs_diagnosis *d;
    rs_diagnosed_row *hidden; /* findings that gain too little alone */
    size_t n_hidden;
} judge;

static rs_status miss(rs_diagnosis *d, const char *id, const char *what, const char *reason, rs_error *err)
{
    return RS_PUSH(d->unsaid, d->n_unsaid, d->unsaid_capacity, (rs_unsaid){id, what, reason})
               ? RS_OK
               : rs_fail_nomem(err, "diagnose");
}

static rs_status miss_finding(rs_diagnosis *d, const rs_diagnosed_row *x, const char *reason, rs_error *err)
{
    return miss(d, x->candidate->rule->id, x->candidate->claim, reason, err);
}

static double enough_us(const rs_diagnosis *d)
{
    return d->before * d->enough / 100;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

/* All edits of the candidates as one question, which borrows them: rs_free(out->edits). */
static rs_status join_edits(const rs_candidate *const *all, size_t n, rs_what_if *out, rs_error *err)
{
    const rs_what_if *parts[RS_DIAGNOSE_WITH + 1];
    for (size_t i = 0; i < n; i++) parts[i] = &all[i]->edits;
    return rs_what_if_together(parts, n, out, err);
}

void rs_diagnose_print(const rs_candidate *const *all, size_t n, rs_text *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i) rs_text_put(out, "; ");
        rs_what_if_print(&all[i]->edits, out);
    }
}

rs_status rs_diagnose_ask(rs_diagnosis *d, const rs_candidate *const *all, size_t n, rs_foretold *out,
                          double *bound, const char **refused, rs_error *err)
{
    rs_what_if question;
    rs_asked asked = {.question = &question, .answers = out};
    RS_TRY(join_edits(all, n, &question, err));
    rs_status status = bound ? rs_asker_bound(d->asker, &asked, 1, err) : RS_OK;
    if (status == RS_OK) status = rs_asker_ask(d->asker, &asked, 1, err);
    if (bound) *bound = asked.bound;
    *refused = asked.refused;
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

/* A step when all of them are mended, us: one replay, no interval. */
static rs_status try_all(rs_diagnosis *d, const rs_candidate *const *all, size_t n, double *us, rs_error *err)
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

static bool is_finding(const rs_diagnosed_row *x)
{
    return x->candidate->kind == RS_CANDIDATE_FINDING;
}

static double known(double bound)
{
    return isnan(bound) ? INFINITY : bound;
}

static int by_bound(const void *a, const void *b)
{
    const rs_diagnosed_row *x = a, *y = b;
    if (x->candidate->kind != y->candidate->kind) return (int)x->candidate->kind - (int)y->candidate->kind;
    double p = known(x->bound), q = known(y->bound);
    if (p != q) return p < q ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_weight(const void *a, const void *b)
{
    const rs_diagnosed_row *x = a, *y = b;
    if (x->candidate->kind != y->candidate->kind) return (int)x->candidate->kind - (int)y->candidate->kind;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    if ((x->n_with > 0) != (y->n_with > 0)) return x->n_with ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_excess(const void *a, const void *b)
{
    const rs_diagnosed_row *x = a, *y = b;
    if (x->candidate->excess != y->candidate->excess)
        return x->candidate->excess < y->candidate->excess ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void hide(judge *j, const rs_diagnosed_row *x)
{
    if (is_finding(x)) j->hidden[j->n_hidden++] = *x;
}

static rs_status bound_candidates(const rs_diagnosis *d, batch *b, rs_error *err)
{
    for (size_t i = 0; i < d->candidates.n; i++) add_to_batch(b, &d->candidates.items[i]);
    return rs_asker_bound(d->asker, b->items, b->n, err);
}

/* Bounds cost no replay: what cannot gain enough alone goes. */
static rs_status bound_all(judge *j, double least, rs_error *err)
{
    rs_diagnosis *d = j->d;
    batch b;
    size_t n_all = d->candidates.n;
    d->rows = rs_calloc(n_all + 1, sizeof *d->rows);
    j->hidden = rs_calloc(n_all + 1, sizeof *j->hidden);
    if (!d->rows || !j->hidden) return rs_fail_nomem(err, "diagnose");
    rs_status status = open_batch(n_all, &b, err);
    if (status == RS_OK) status = bound_candidates(d, &b, err);
    for (size_t i = 0; status == RS_OK && i < n_all; i++) {
        rs_diagnosed_row x = {.candidate = &d->candidates.items[i], .order = i, .bound = b.items[i].bound};
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

/* Takes the row's answer; *stands: it gains enough. */
static rs_status take_answer(judge *j, const rs_diagnosed_row *x, const char *refused, bool *stands,
                             rs_error *err)
{
    *stands = !refused && x->weight > enough_us(j->d);
    if (refused) return miss_finding(j->d, x, refused, err);
    if (!*stands) hide(j, x);
    return RS_OK;
}

/* Rows [from, to) together. *n: behind them, where those that stand are kept. */
static rs_status replay_rows(judge *j, size_t from, size_t to, size_t *n, rs_error *err)
{
    rs_diagnosis *d = j->d;
    batch b;
    rs_status status = open_batch(to - from, &b, err);
    for (size_t i = from; status == RS_OK && i < to; i++) add_to_batch(&b, d->rows[i].candidate);
    if (status == RS_OK) status = rs_asker_ask(d->asker, b.items, b.n, err);
    for (size_t i = from; status == RS_OK && i < to; i++) {
        rs_diagnosed_row x = d->rows[i];
        bool stands;
        if (!b.items[i - from].refused) x.answer = b.answers[i - from];
        x.weight = x.answer.low;
        status = take_answer(j, &x, b.items[i - from].refused, &stands, err);
        if (stands) d->rows[(*n)++] = x;
    }
    clear_batch(&b);
    return status;
}

/* Replays what is left of a kind, the greatest bounds first. Where the first row is enough, what cannot gain
 * more than the best lever so far is not asked about; findings always are, as they may hide each other. */
static rs_status replay_kind(judge *j, rs_candidate_kind kind, bool first, rs_error *err)
{
    rs_diagnosis *d = j->d;
    double best = 0;
    size_t from = 0, to, n;
    while (from < d->n && d->rows[from].candidate->kind != kind) from++;
    for (to = from; to < d->n && d->rows[to].candidate->kind == kind;) to++;
    n = from;
    bool one_by_one = first && kind == RS_CANDIDATE_LEVER;
    if (!one_by_one) RS_TRY(replay_rows(j, from, to, &n, err));
    for (size_t i = from; one_by_one && i < to; i++) {
        size_t before = n;
        if (d->rows[i].bound <= best) continue;
        RS_TRY(replay_rows(j, i, i + 1, &n, err));
        if (n > before && d->rows[before].weight > best) best = d->rows[before].weight;
    }
    memmove(d->rows + n, d->rows + to, (d->n - to) * sizeof *d->rows);
    d->n -= to - n;
    return RS_OK;
}

/* ---- findings that hide each other --------------------------------------------------------------------- */

/* Findings, those that stand alone first, and a step without any set of them. */
typedef struct together {
    rs_diagnosis *d;
    const rs_diagnosed_row *items[MOST_TOGETHER];
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

/* What mending `one` adds to mending `others`, us of a step. */
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
    rs_diagnosis *d = t->d;
    const rs_candidate *all[MOST_TOGETHER];
    rs_diagnosed_row x = *t->items[at];
    const char *refused;
    double before;
    all[0] = x.candidate;
    for (size_t i = 0; i < t->n; i++)
        if (with >> i & 1) x.with[x.n_with++] = t->items[i]->candidate;
    if (x.n_with) memcpy(all + 1, x.with, x.n_with * sizeof *all);
    RS_TRY(without(t, with, &before, err));
    RS_TRY(rs_diagnose_ask(d, all, 1 + x.n_with, &x.answer, &x.bound, &refused, err));
    if (refused) return miss_finding(d, &x, refused, err);
    x.weight = x.answer.low - (d->before - before);
    if (x.weight <= enough_us(d))
        return miss_finding(d, &x, "what mending it adds to mending the other findings is not certain", err);
    /* It has its place behind those that stand alone and that it needs. */
    for (size_t i = 0; i < t->n_alone; i++)
        if (with >> i & 1 && t->items[i]->weight < x.weight) x.weight = t->items[i]->weight;
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
                            "mending it gains too little, alone and together with the other findings", err));
    }
    for (size_t i = t->n_alone; i < t->n; i++) {
        unsigned with;
        if (!(hidden >> i & 1)) continue;
        RS_TRY(companions(t, all, 1u << i, &with, err));
        RS_TRY(put_hidden(t, with, i, err));
    }
    return RS_OK;
}

/* The findings that stand alone have places first in d->rows, by weight. */
static rs_status resolve_hidden(judge *j, rs_error *err)
{
    rs_diagnosis *d = j->d;
    size_t n_alone = 0, taken = 0;
    if (!j->n_hidden) return RS_OK;
    RS_LOCAL together *t = rs_malloc(sizeof *t);
    rs_diagnosed_row *alone = rs_malloc(MOST_TOGETHER * sizeof *alone);
    if (!t || !alone) {
        rs_free(alone);
        return rs_fail_nomem(err, "diagnose");
    }
    *t = (together){.d = d};
    for (size_t i = 0; i < 1u << MOST_TOGETHER; i++) t->us[i] = NAN;
    qsort(j->hidden, j->n_hidden, sizeof *j->hidden, by_excess);
    qsort(d->rows, d->n, sizeof *d->rows, by_weight);
    while (n_alone < d->n && n_alone < MOST_TOGETHER / 2 && is_finding(&d->rows[n_alone])) n_alone++;
    if (n_alone) memcpy(alone, d->rows, n_alone * sizeof *alone);
    for (size_t i = 0; i < n_alone; i++) t->items[t->n++] = &alone[i];
    t->n_alone = n_alone;
    while (taken < j->n_hidden && t->n < MOST_TOGETHER) t->items[t->n++] = &j->hidden[taken++];
    rs_status status = look_together(t, err);
    for (size_t i = taken; status == RS_OK && i < j->n_hidden; i++)
        status = miss_finding(d, &j->hidden[i],
                              "mending it alone gains too little: something else may hide it", err);
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

static rs_status find_all(rs_diagnosis *d, const rs_diagnosed *job, rs_error *err)
{
    for (const rs_diagnose_rule *rule = rs_diagnose_rules; rule->id; rule++) {
        const char *lacks = NULL;
        RS_TRY(rule->find(job, rule, &d->candidates, &lacks, err));
        if (lacks) RS_TRY(miss(d, rule->id, NULL, lacks, err));
    }
    return RS_OK;
}

static void choose(const char *only, rs_candidates *all)
{
    size_t n = 0;
    bool findings = strcmp(only, "levers") != 0, levers = strcmp(only, "findings") != 0;
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].kind == RS_CANDIDATE_FINDING ? findings : levers)
            all->items[n++] = all->items[i];
        else
            rs_what_if_clear(&all->items[i].edits);
    }
    all->n = n;
}

static rs_status examine(rs_diagnosis *d, const rs_diagnosed *job, const rs_diagnose_how *how, rs_error *err)
{
    judge j = {.d = d};
    double error = own_error(&d->replayed);
    d->reason = rs_asker_reason(d->asker);
    for (const rs_diagnose_rule *rule = rs_diagnose_rules; d->reason && rule->id; rule++)
        RS_TRY(miss(d, rule->id, NULL, d->reason, err));
    if (d->reason) return RS_OK;
    d->before = rs_asker_before(d->asker);
    d->enough = error > how->least ? error : how->least;
    RS_TRY(find_all(d, job, err));
    choose(how->only, &d->candidates);
    rs_status status = bound_all(&j, how->least, err);
    if (status == RS_OK) status = replay_kind(&j, RS_CANDIDATE_FINDING, how->first, err);
    if (status == RS_OK) status = resolve_hidden(&j, err);
    if (d->n) qsort(d->rows, d->n, sizeof *d->rows, by_weight);
    bool enough = how->first && d->n && is_finding(&d->rows[0]);
    if (status == RS_OK && !enough) status = replay_kind(&j, RS_CANDIDATE_LEVER, how->first, err);
    if (d->n) qsort(d->rows, d->n, sizeof *d->rows, by_weight);
    rs_free(j.hidden);
    return status;
}

rs_status rs_diagnose(const rs_skeletons *ranks, const rs_diagnose_how *how, rs_diagnosis *out, rs_error *err)
{
    const rs_engine_how join = {.clocks = how->clocks, .infer = true};
    *out = (rs_diagnosis){0};
    const rs_diagnosed job = {&out->engine, &out->replayed.recorded, &out->reference, ranks->rank_of};
    rs_status status = rs_engine_join(ranks->items, ranks->n, &join, &out->engine, err);
    if (status == RS_OK) status = rs_replay_judge(&out->engine, RS_EDGES_ALL, false, &out->replayed, err);
    if (status == RS_OK)
        status = rs_reference_find(&out->engine, &out->replayed.recorded, &out->reference, err);
    const rs_ask_how ask = {.rank_of = ranks->rank_of, .jobs = how->jobs};
    if (status == RS_OK) status = rs_asker_open(&out->replayed, &ask, &out->asker, err);
    return status == RS_OK ? examine(out, &job, how, err) : status;
}

void rs_diagnosis_clear(rs_diagnosis *d)
{
    rs_free(d->rows);
    rs_free(d->unsaid);
    for (size_t i = 0; i < d->candidates.n; i++) rs_what_if_clear(&d->candidates.items[i].edits);
    rs_free(d->candidates.items);
    rs_arena_clear(&d->candidates.arena);
    rs_asker_close(d->asker);
    rs_reference_clear(&d->reference);
    rs_replayed_clear(&d->replayed);
    rs_engine_clear(&d->engine);
    *d = (rs_diagnosis){0};
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* Percent by which a step and its annotation differ where both are told. */
#define APART 2.0

/* us in the unit that suits the first. */
void rs_diagnose_sentence(const rs_diagnosed_row *row, rs_text *out)
{
    const rs_foretold *a = &row->answer;
    double unit = a->before >= 1e6 ? 1e6 : a->before >= 1e3 ? 1e3 : 1;
    const char *name = unit == 1e6 ? "s" : unit == 1e3 ? "ms" : "us";
    unsigned places = a->before / unit < 10 ? 3 : 1;
    rs_text_put(out, row->candidate->claim);
    if (row->n_with) rs_text_printf(out, "; with %s", row->with[0]->subject);
    if (row->n_with == 2) rs_text_printf(out, " and %s", row->with[1]->subject);
    if (row->n_with > 2) rs_text_printf(out, " and %zu other findings", row->n_with - 1);
    rs_text_printf(out, "%s: %s %s → %s %s (%s–%s)", row->n_with ? " mended as well" : "",
                   a->steps ? "step" : "recording", RS_FIXED(a->before / unit, places),
                   RS_FIXED(a->after / unit, places), name, RS_FIXED((a->before - a->high) / unit, places),
                   RS_FIXED((a->before - a->low) / unit, places));
    if (a->steps && fabs(a->annotated - a->before) > a->before * APART / 100)
        rs_text_printf(out, ", with its GPU work; on the host it lasts %s %s",
                       RS_FIXED(a->annotated / unit, places), name);
    rs_text_put(out, ".");
}
