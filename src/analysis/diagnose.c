/* diagnose: what is off in a job and what would help it, by what mending it gains. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "analysis/skeletons.h"
#include "analysis/collective_notes.h"
#include "analysis/gate.h"
#include "base/memory.h"
#include "base/try.h"
#include "text/numbers.h"

#define MOST_REPLAYED 32 /* candidates; ten replays each at most */
#define JOINED 3         /* that are mended together */

static const rs_option_spec options[] = {
    {"top", RS_OPTION_INT, "N", NULL, "10", "at most so many rows; 0: all"},
    {"min-gain", RS_OPTION_REAL, "PCT", NULL, "0.5",
     "least gain worth a row, percent of a step: what is certain of it must be above that and above the replay's "
     "own error"},
    {"only", RS_OPTION_CHOICE, "WHAT", "all|findings|levers", "all",
     "findings: what is off; levers: what is not, but would help"},
    {"clocks", RS_OPTION_CHOICE, "HOW", RS_CLOCKS_CHOICES, "ends",
     "ends: clocks are corrected so that collectives end together; likely, certain: by the intervals of the "
     "command clocks; file: as the traces have them"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row meets the expression: 'gain_pct > 5', best with --only findings"},
};

typedef struct finding_row {
    int64_t place, rank; /* rank -1: the job */
    const char *id, *kind, *finding, *selector, *evidence, *remedy, *assumption;
    double before, after, low, high, pct, bound; /* us; low, high: of after */
} finding_row;

#define DIAGNOSE_ROW(CELL)                                                                                   \
    CELL(OF(finding_row, place), "place", INT, ID,                                                           \
         "findings first, each kind by the least gain that is certain", NULL)                                \
    CELL(OF(finding_row, id), "id", TEXT, NONE, "of the catalogue: straggler, slow_host, loader, sync, ...", \
         NULL)                                                                                               \
    CELL(OF(finding_row, kind), "kind", TEXT, NONE,                                                          \
         "finding: something is off; lever: nothing is, but this would help", NULL)                          \
    CELL(OF(finding_row, finding), "finding", TEXT, NONE, "what is off and what mending it gives a step",    \
         NULL)                                                                                               \
    CELL(ID(finding_row, rank), "rank", INT, ID, "rank it is about; unknown: the job", NULL)                 \
    CELL(MAYBE(finding_row, selector), "selector", TEXT, NONE,                                               \
         "for replay --scale; unknown where the question scales nothing", NULL)                              \
    CELL(OF(finding_row, before), "before_us", REAL, US, "a step as recorded", "before")                     \
    CELL(OF(finding_row, after), "after_us", REAL, US, "a step when it is mended", "after")                  \
    CELL(OF(finding_row, low), "after_low_us", REAL, US,                                                     \
         "the least that step may take: the interval of replay", "from")                                     \
    CELL(OF(finding_row, high), "after_high_us", REAL, US, "the most", "to")                                 \
    CELL(OF(finding_row, pct), "gain_pct", REAL, PERCENT, "before_us less after_us, of before_us", "gain %") \
    CELL(OF(finding_row, bound), "bound_us", REAL, US,                                                       \
         "no gain is greater; unknown where a wait goes that the path runs along", "at most")                \
    CELL(OF(finding_row, evidence), "evidence", TEXT, NONE, "command that shows the numbers", NULL)          \
    CELL(OF(finding_row, remedy), "remedy", TEXT, NONE, "what to try", NULL)                                 \
    CELL(OF(finding_row, assumption), "assumption", TEXT, NONE, "what has to hold", NULL)
RS_RECORD(diagnose, DIAGNOSE_ROW);

typedef struct joint_row {
    const char *places;
    double before, after, low, high, pct;
    const char *evidence;
} joint_row;

#define JOINT_ROW(CELL)                                                                                      \
    CELL(OF(joint_row, places), "places", TEXT, NONE, "rows of diagnose that are mended together", NULL)     \
    CELL(OF(joint_row, before), "before_us", REAL, US, "a step as recorded", "before")                       \
    CELL(OF(joint_row, after), "after_us", REAL, US, "a step then: gains overlap, so they do not add up",    \
         "after")                                                                                            \
    CELL(OF(joint_row, low), "after_low_us", REAL, US, "the least that step may take", "from")               \
    CELL(OF(joint_row, high), "after_high_us", REAL, US, "the most", "to")                                   \
    CELL(OF(joint_row, pct), "gain_pct", REAL, PERCENT, "before_us less after_us, of before_us", "gain %")   \
    CELL(OF(joint_row, evidence), "evidence", TEXT, NONE, "command that shows the numbers", NULL)
RS_RECORD(joint, JOINT_ROW);

typedef struct missed_row {
    const char *id, *what, *reason;
} missed_row;

#define MISSED_ROW(CELL)                                                                                     \
    CELL(OF(missed_row, id), "id", TEXT, NONE, "of the catalogue", NULL)                                     \
    CELL(MAYBE(missed_row, what), "what", TEXT, NONE, "the candidate; unknown: all of that id", NULL)        \
    CELL(OF(missed_row, reason), "reason", TEXT, NONE, "why nothing is said of it", NULL)
RS_RECORD(missed, MISSED_ROW);

static const rs_table_spec diagnose_table =
    RS_TABLE("diagnose", "one row is something to mend, the weightiest first", diagnose_columns);
static const rs_table_spec joint_table =
    RS_TABLE("joint", "one row is several of them mended together", joint_columns);
static const rs_table_spec missed_table = RS_TABLE(
    "not_examined", "one row is something of the catalogue of which nothing is said", missed_columns);
static const rs_table_spec *const tables[] = {&diagnose_table, &joint_table, &missed_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { DIAGNOSE, JOINT, MISSED };

/* ---- candidates with their answers --------------------------------------------------------------------- */

typedef struct judged {
    const rs_candidate *candidate;
    rs_what_if question;
    double bound; /* us; NaN: unknown */
    rs_foretold answer;
    size_t order; /* in the catalogue */
} judged;

typedef struct judge {
    rs_asker *asker;
    rs_result *result;
    judged *items;
    size_t n;
    double before; /* a step, us */
    double enough; /* percent */
} judge;

static rs_status miss(judge *j, const char *id, const char *what, const char *reason, rs_error *err)
{
    const missed_row row = {id, what, reason};
    return rs_table_put_row(j->result->tables[MISSED], &missed_record, -1, &row, err);
}

/* What is off and gains nothing alone may hide behind something else: two slow ranks mask each other. */
static rs_status miss_finding(judge *j, const rs_candidate *c, rs_error *err)
{
    if (c->kind != RS_CANDIDATE_FINDING) return RS_OK;
    return miss(j, c->rule->id, c->claim,
                "mending it alone gains too little, or not in every step: something else may hide it", err);
}

static void drop(judge *j, size_t i)
{
    rs_what_if_clear(&j->items[i].question);
    memmove(&j->items[i], &j->items[i + 1], (--j->n - i) * sizeof *j->items);
}

static int by_bound(const void *a, const void *b)
{
    const judged *x = a, *y = b;
    double p = isnan(x->bound) ? INFINITY : x->bound, q = isnan(y->bound) ? INFINITY : y->bound;
    if (p != q) return p < q ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_gain(const void *a, const void *b)
{
    const judged *x = a, *y = b;
    if (x->candidate->kind != y->candidate->kind) return (int)x->candidate->kind - (int)y->candidate->kind;
    if (x->answer.low != y->answer.low) return x->answer.low < y->answer.low ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Bounds cost no replay: what cannot gain enough goes. */
static rs_status bound_all(judge *j, const rs_candidates *all, rs_error *err)
{
    j->items = rs_calloc(all->n + 1, sizeof *j->items);
    if (!j->items) return rs_fail_nomem(err, "diagnose");
    for (size_t i = 0; i < all->n; i++) {
        const rs_candidate *c = &all->items[i];
        judged *x = &j->items[j->n];
        size_t n_changed = 0;
        *x = (judged){.candidate = c, .order = i};
        rs_status status = rs_what_if_parse(c->edit, &x->question, err);
        j->n++;
        if (status == RS_OK) status = rs_asker_bound(j->asker, &x->question, &x->bound, &n_changed, err);
        if (status != RS_OK) return status;
        if (n_changed && !(x->bound < j->before * j->enough / 100)) continue;
        if (n_changed) RS_TRY(miss_finding(j, c, err));
        drop(j, j->n - 1);
    }
    qsort(j->items, j->n, sizeof *j->items, by_bound);
    while (j->n > MOST_REPLAYED) {
        const rs_candidate *c = j->items[j->n - 1].candidate;
        RS_TRY(miss(j, c->rule->id, c->claim,
                    "more than 32 candidates: those with greater bounds were replayed", err));
        drop(j, j->n - 1);
    }
    return RS_OK;
}

static rs_status replay_all(judge *j, rs_error *err)
{
    for (size_t i = 0; i < j->n;) {
        judged *x = &j->items[i];
        const char *refused;
        RS_TRY(rs_asker_ask(j->asker, &x->question, &x->answer, &refused, err));
        if (refused) RS_TRY(miss(j, x->candidate->rule->id, x->candidate->claim, refused, err));
        if (!refused && x->answer.low > x->answer.before * j->enough / 100) {
            i++;
            continue;
        }
        if (!refused) RS_TRY(miss_finding(j, x->candidate, err));
        drop(j, i);
    }
    qsort(j->items, j->n, sizeof *j->items, by_gain);
    return RS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* "...: step 44.9 → 35.5 ms (35.4–35.6).": us in the unit that suits the first. */
static void sentence_of(const rs_candidate *c, const rs_foretold *a, char *out, size_t size)
{
    double unit = a->before >= 1e6 ? 1e6 : a->before >= 1e3 ? 1e3 : 1;
    const char *name = unit == 1e6 ? "s" : unit == 1e3 ? "ms" : "us";
    unsigned places = a->before / unit < 10 ? 3 : a->before / unit < 100 ? 1 : 0;
    if (places == 0) places = 1;
    snprintf(out, size, "%s: %s %s → %s %s (%s–%s).", c->claim, a->steps ? "step" : "recording",
             RS_FIXED(a->before / unit, places), RS_FIXED(a->after / unit, places), name,
             RS_FIXED((a->before - a->high) / unit, places), RS_FIXED((a->before - a->low) / unit, places));
}

static rs_status put_row(judge *j, size_t i, rs_error *err)
{
    const judged *x = &j->items[i];
    const rs_candidate *c = x->candidate;
    const rs_foretold *a = &x->answer;
    char sentence[512], evidence[RS_DIAGNOSE_EDIT + 64];
    sentence_of(c, a, sentence, sizeof sentence);
    snprintf(evidence, sizeof evidence, "rankscope replay --what-if '%s' PATH...", c->edit);
    const finding_row row = {.place = (int64_t)i + 1,
                             .rank = c->rank,
                             .id = c->rule->id,
                             .kind = c->kind == RS_CANDIDATE_FINDING ? "finding" : "lever",
                             .finding = sentence,
                             .selector = c->selector[0] ? c->selector : NULL,
                             .evidence = evidence,
                             .remedy = c->rule->remedy,
                             .assumption = a->assumption,
                             .before = a->before,
                             .after = a->after,
                             .low = a->before - a->high,
                             .high = a->before - a->low,
                             .pct = a->pct,
                             .bound = a->bound};
    return rs_table_put_row(j->result->tables[DIAGNOSE], &diagnose_record, c->rank, &row, err);
}

/* The first two, then the first three, as one question. A sensitivity is nothing to mend. */
static rs_status put_joint(judge *j, rs_error *err)
{
    char edit[JOINED * (RS_DIAGNOSE_EDIT + 2)], places[64], evidence[sizeof edit + 64];
    size_t used = 0, named = 0, n = 0;
    for (size_t i = 0; i < j->n && n < JOINED; i++) {
        const rs_candidate *c = j->items[i].candidate;
        if (c->sensitivity) continue;
        used += (size_t)snprintf(edit + used, sizeof edit - used, "%s%s", n ? "; " : "", c->edit);
        named += (size_t)snprintf(places + named, sizeof places - named, "%s%zu", n ? "+" : "", i + 1);
        if (n++ == 0) continue;
        rs_what_if question;
        rs_foretold a;
        const char *refused = NULL;
        rs_status status = rs_what_if_parse(edit, &question, err);
        if (status == RS_OK) status = rs_asker_ask(j->asker, &question, &a, &refused, err);
        rs_what_if_clear(&question);
        if (status != RS_OK) return status;
        if (refused) continue;
        snprintf(evidence, sizeof evidence, "rankscope replay --what-if '%s' PATH...", edit);
        const joint_row row = {.places = places,
                               .before = a.before,
                               .after = a.after,
                               .low = a.before - a.high,
                               .high = a.before - a.low,
                               .pct = a.pct,
                               .evidence = evidence};
        RS_TRY(rs_table_put_row(j->result->tables[JOINT], &joint_record, -1, &row, err));
    }
    return RS_OK;
}

/* ---- one rank, all ranks ------------------------------------------------------------------------------- */

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

static rs_status find_all(judge *j, const rs_diagnosed *job, rs_candidates *all, rs_error *err)
{
    for (const rs_diagnose_rule *rule = rs_diagnose_rules; rule->id; rule++) {
        const char *lacks = rule->unbuilt;
        if (!lacks) RS_TRY(rule->find(job, rule, all, &lacks, err));
        if (lacks) RS_TRY(miss(j, rule->id, NULL, lacks, err));
    }
    return RS_OK;
}

static void choose(const char *only, rs_candidates *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        bool finding = all->items[i].kind == RS_CANDIDATE_FINDING;
        if (strcmp(only, "all") == 0 || finding == (strcmp(only, "findings") == 0))
            all->items[n++] = all->items[i];
    }
    all->n = n;
}

static rs_status examine(const rs_run *run, judge *j, const rs_diagnosed *job, const rs_replayed *replayed,
                         rs_candidates *all, rs_error *err)
{
    double least = rs_options_real(run->options, "min-gain"), error = own_error(replayed);
    int64_t top = rs_options_int(run->options, "top");
    const char *reason = rs_asker_reason(j->asker);
    for (const rs_diagnose_rule *rule = rs_diagnose_rules; reason && rule->id; rule++)
        RS_TRY(miss(j, rule->id, NULL, rule->unbuilt ? rule->unbuilt : reason, err));
    if (reason) {
        rs_result_note(j->result, "nothing is said: %s (`rankscope replay` shows where)", reason);
        return RS_OK;
    }
    j->before = rs_asker_before(j->asker);
    j->enough = least;
    RS_TRY(find_all(j, job, all, err));
    choose(rs_options_text(run->options, "only"), all);
    RS_TRY(bound_all(j, all, err));
    if (error > j->enough) j->enough = error;
    RS_TRY(replay_all(j, err));
    while (top > 0 && j->n > (size_t)top) drop(j, j->n - 1);
    for (size_t i = 0; i < j->n; i++) RS_TRY(put_row(j, i, err));
    if (!j->n) rs_result_note(j->result, "nothing worth %s %% found", RS_FIXED(j->enough, 1));
    return put_joint(j, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_engine engine = {0};
    rs_replayed replayed = {0};
    rs_reference reference = {0};
    rs_candidates all = {0};
    judge j = {.result = result};
    rs_skeletons ranks;
    rs_engine_how how = {rs_clock_how_of(rs_options_text(run->options, "clocks")), true};
    rs_status status = rs_skeletons_take(partials, n, &ranks, err);
    if (status == RS_OK && ranks.n) {
        rs_diagnosed job = {&engine, &replayed.recorded, &reference, ranks.rank_of};
        status = rs_engine_join(ranks.items, ranks.n, &how, &engine, err);
        if (status == RS_OK) status = rs_replay_judge(&engine, RS_EDGES_ALL, &replayed, err);
        if (status == RS_OK) status = rs_reference_find(&engine, &replayed.recorded, &reference, err);
        if (status == RS_OK) status = rs_asker_open(&replayed, ranks.rank_of, false, false, &j.asker, err);
        if (status == RS_OK) status = examine(run, &j, &job, &replayed, &all, err);
        if (status == RS_OK) rs_coll_note_trust(&engine.trust, result);
    }
    if (status == RS_OK) status = rs_gate_apply(run->options, result->tables[DIAGNOSE], result, err);
    for (size_t i = 0; i < j.n; i++) rs_what_if_clear(&j.items[i].question);
    rs_free(j.items);
    rs_free(all.items);
    rs_asker_close(j.asker);
    rs_reference_clear(&reference);
    rs_replayed_clear(&replayed);
    rs_engine_clear(&engine);
    rs_skeletons_clear(&ranks);
    return status;
}

const rs_analysis rs_analysis_diagnose = {
    .name = "diagnose",
    .help = "What is off in a job, ranked by what mending it gains, with evidence and remedy",
    .about =
        "A closed catalogue of faults and levers is held against the traces of all ranks. What fits becomes a "
        "question to the replay of the job (`rankscope replay`): how long would a step take if this were mended? "
        "A row stands only where the least gain of the replay's interval is above --min-gain and above the "
        "replay's own error; the command under evidence shows the same numbers.\n\n"
        "Findings are off against something: a rank against those that run the same work (straggler, "
        "slow_host), transfers of a group against others of their size (slow_group), waiting for data (loader), "
        "a call that makes the host wait more than once a step (sync). Levers are not off: communication that "
        "computation waits for, launch-bound work, small collectives, and the hottest kernels at half their "
        "time, which says how much they matter and not that they could be so fast.\n\n"
        "Gains overlap: table joint has the first ones mended together. Table not_examined says of what nothing "
        "is said, and why; where a replay cannot be relied on, that is everything.",
    .examples =
        "rankscope diagnose traces/\nrankscope diagnose --only findings --fail-on 'gain_pct > 5' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .columns = RS_SKELETON_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "the graph is of whole traces",
    .rank = rs_skeletons_rank,
    .merge = merge,
    .free_partial = rs_skeleton_free,
    .absent = "no events",
    .partial_layout = &rs_skeleton_layout,
};
