/* diagnose: the judge's verdicts as tables: what is wrong in a job and what would help it, by what fixing it gains. */
#include <stdio.h>
#include <string.h>

#include "analysis/skeletons.h"
#include "analysis/collective_notes.h"
#include "analysis/gate.h"
#include "base/memory.h"
#include "base/try.h"
#include "verdict/verdicts.h"

#define JOINED 3 /* rows that are fixed together */

static const rs_option_spec options[] = {
    {"top", RS_OPTION_INT, "N", NULL, "10", "at most so many rows; 0: all"},
    {"min-gain", RS_OPTION_REAL, "PCT", NULL, "0.5",
     "least gain worth a row, percent of a step: what is certain of it must be above that and above the replay's "
     "own error"},
    {"only", RS_OPTION_CHOICE, "WHAT", "all|findings|levers", "all",
     "findings: what is wrong; levers: opportunities, where nothing is wrong"},
    RS_CLOCKS_OPTION,
    RS_SKELETONS_OPTION,
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row meets the expression: 'gain_pct > 5', best with --only findings"},
};

typedef struct finding_row {
    int64_t place, rank; /* rank -1: the job */
    const char *id, *kind, *finding, *selector, *with, *evidence, *remedy, *assumption;
    double before, after, low, high, pct, bound; /* us; low, high: of after */
} finding_row;

#define DIAGNOSE_ROW(CELL)                                                                                                     \
    CELL(                                                                                                                      \
        OF(finding_row, place), "place", INT, ID,                                                                              \
        "by the least that fixing it is certain to gain, or to add to the rows under with; a tenth counts of an opportunity. " \
        "Sensitivities come last",                                                                                             \
        NULL)                                                                                                                  \
    CELL(OF(finding_row, id), "id", TEXT, NONE, "of the catalogue: straggler, slow_host, loader, sync, ...",                   \
         NULL)                                                                                                                 \
    CELL(OF(finding_row, kind), "kind", TEXT, NONE,                                                                            \
         "finding: something is wrong; lever: nothing is, but this would help", NULL)                                          \
    CELL(OF(finding_row, finding), "finding", TEXT, NONE, "what is wrong and what fixing it gains", NULL)                      \
    CELL(ID(finding_row, rank), "rank", INT, ID, "rank it is about; unknown: the job", NULL)                                   \
    CELL(MAYBE(finding_row, selector), "selector", TEXT, NONE,                                                                 \
         "for replay --scale; unknown where the question scales nothing", NULL)                                                \
    CELL(                                                                                                                      \
        MAYBE(finding_row, with), "with", TEXT, NONE,                                                                          \
        "places of the rows that are fixed as well in these numbers, since they hide this one; unknown: none",                 \
        NULL)                                                                                                                  \
    CELL(OF(finding_row, before), "before_us", REAL, US, "a step as recorded", "before")                                       \
    CELL(OF(finding_row, after), "after_us", REAL, US, "a step when it is fixed", "after")                                     \
    CELL(OF(finding_row, low), "after_low_us", REAL, US,                                                                       \
         "the least that step may take: the interval of replay", "from")                                                       \
    CELL(OF(finding_row, high), "after_high_us", REAL, US, "the most", "to")                                                   \
    CELL(OF(finding_row, pct), "gain_pct", REAL, PERCENT, "before_us less after_us, of before_us", "gain %")                   \
    CELL(OF(finding_row, bound), "bound_us", REAL, US,                                                                         \
         "no gain is greater; unknown where a wait goes that the path runs along", "at most")                                  \
    CELL(OF(finding_row, evidence), "evidence", TEXT, NONE, "command that shows the numbers", NULL)                            \
    CELL(OF(finding_row, remedy), "remedy", TEXT, NONE, "what to try", NULL)                                                   \
    CELL(OF(finding_row, assumption), "assumption", TEXT, NONE, "what has to hold", NULL)
RS_RECORD(diagnose, DIAGNOSE_ROW);

typedef struct joint_row {
    const char *places;
    double before, after, low, high, pct;
    const char *evidence;
} joint_row;

#define JOINT_ROW(CELL)                                                                                      \
    CELL(OF(joint_row, places), "places", TEXT, NONE, "rows of diagnose that are fixed together", NULL)      \
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
    CELL(OF(missed_row, reason), "reason", TEXT, NONE, "why it is not diagnosed", NULL)
RS_RECORD(missed, MISSED_ROW);

static const rs_table_spec diagnose_table =
    RS_TABLE("diagnose", "one row is something to fix, the most important first", diagnose_columns);
static const rs_table_spec joint_table =
    RS_TABLE("joint", "one row is several of them fixed together", joint_columns);
static const rs_table_spec missed_table =
    RS_TABLE("not_examined", "one row is something of the catalogue that is not diagnosed", missed_columns);
static const rs_table_spec *const tables[] = {&diagnose_table, &joint_table, &missed_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { DIAGNOSE, JOINT, MISSED };

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* A text of the arena's; NULL when out of memory. The text is cleared. */
static const char *keep(rs_arena *arena, rs_text *text)
{
    const char *kept = rs_text_get(text) ? rs_arena_strndup(arena, rs_text_get(text), text->n) : NULL;
    rs_text_clear(text);
    return kept;
}

static bool add_to_text(void *context, const char *bytes, size_t n)
{
    rs_text_add(context, bytes, n);
    return true;
}

/* The places of the rows that are fixed with this one: "1+3". Not all need have a place. *any: one has. */
static const char *places_of(const rs_judgement *j, const rs_judged_row *x, rs_arena *arena, bool *any)
{
    rs_text text = {0};
    for (size_t k = 0; k < x->n_with; k++)
        for (size_t i = 0; i < j->n; i++)
            if (j->rows[i].candidate == x->with[k]) rs_text_printf(&text, "%s%zu", text.n ? "+" : "", i + 1);
    *any = text.n > 0;
    return keep(arena, &text);
}

static const char *command_of(const rs_evidence *evidence, rs_arena *arena)
{
    rs_text text = {0};
    const rs_sink sink = {add_to_text, &text};
    if (rs_evidence_write(evidence, RS_EVIDENCE_SHELL, NULL, 0, &sink, NULL) != RS_OK) text.failed = true;
    return keep(arena, &text);
}

/* What --scale takes, where the fix scales one thing. *any: it does. */
static const char *selector_of(const rs_candidate *c, rs_arena *arena, bool *any)
{
    rs_text text = {0};
    const rs_edit *edit = c->edits.edits;
    *any = c->edits.n == 1 && (edit->kind == RS_EDIT_SCALE || edit->kind == RS_EDIT_NO_LOADER);
    if (!*any) return NULL;
    if (edit->kind == RS_EDIT_NO_LOADER) return "part=loader=none";
    rs_edit_print_scale(edit, &text);
    return keep(arena, &text);
}

static rs_status put_row(const rs_judgement *j, size_t i, const rs_verdict *v, rs_table *table, rs_error *err)
{
    const rs_judged_row *x = &j->rows[i];
    rs_arena arena = {0};
    bool has_selector, has_with;
    const char *selector = selector_of(x->candidate, &arena, &has_selector);
    const char *with = places_of(j, x, &arena, &has_with), *evidence = command_of(v->evidence, &arena);
    bool of_rank = v->n_culprits && v->culprits[0].kind == RS_CULPRIT_RANK;
    const finding_row row = {.place = (int64_t)i + 1,
                             .rank = of_rank ? v->culprits[0].number : -1,
                             .id = v->id,
                             .kind = v->kind == RS_VERDICT_FINDING ? "finding" : "lever",
                             .finding = v->text,
                             .selector = selector,
                             .with = has_with ? with : NULL,
                             .evidence = evidence,
                             .remedy = v->remedy,
                             .assumption = v->assumption,
                             .before = v->before_us,
                             .after = v->after_us,
                             .low = v->after_low_us,
                             .high = v->after_high_us,
                             .pct = v->gain_pct,
                             .bound = v->bound_us};
    rs_status status = evidence && with && (selector || !has_selector)
                           ? rs_table_put_row(table, &diagnose_record, row.rank, &row, err)
                           : rs_fail_nomem(err, "diagnose");
    rs_arena_clear(&arena);
    return status;
}

static bool is_among(const rs_candidate *const *all, size_t n, const rs_candidate *one)
{
    for (size_t i = 0; i < n; i++)
        if (all[i] == one) return true;
    return false;
}

static rs_status put_joint_row(rs_judgement *j, const rs_candidate *const *all, size_t n, const char *places,
                               rs_table *table, rs_error *err)
{
    rs_foretold a;
    rs_text edits = {0};
    rs_arena arena = {0};
    const char *refused;
    RS_TRY(rs_judge_ask(j, all, n, &a, NULL, &refused, err));
    if (refused) return RS_OK;
    rs_judge_print_edits(all, n, &edits);
    const rs_evidence_option option = {"what-if", keep(&arena, &edits)};
    const rs_evidence evidence = {"replay", &option, 1};
    const char *command = option.value ? command_of(&evidence, &arena) : NULL;
    const joint_row row = {.places = places,
                           .before = a.before,
                           .after = a.after,
                           .low = a.before - a.high,
                           .high = a.before - a.low,
                           .pct = a.pct,
                           .evidence = command};
    rs_status status = places && command ? rs_table_put_row(table, &joint_record, -1, &row, err)
                                         : rs_fail_nomem(err, "diagnose");
    rs_arena_clear(&arena);
    return status;
}

/* The first two, then the first three, as one question. A sensitivity is nothing to fix. */
static rs_status put_joint(rs_judgement *j, size_t top, rs_table *table, rs_error *err)
{
    const rs_candidate *all[RS_JUDGE_WITH + 1];
    rs_text places = {0};
    rs_status status = RS_OK;
    size_t n = 0, taken = 0, asked = 0;
    for (size_t i = 0; status == RS_OK && i < top && taken < JOINED; i++) {
        const rs_judged_row *x = &j->rows[i];
        const rs_candidate *fresh[RS_JUDGE_WITH + 1];
        size_t n_fresh = 0;
        if (x->candidate->fault->sensitivity) continue;
        for (size_t k = 0; k <= x->n_with; k++) {
            const rs_candidate *one = k ? x->with[k - 1] : x->candidate;
            if (!is_among(all, n, one)) fresh[n_fresh++] = one;
        }
        if (n + n_fresh > RS_JUDGE_WITH + 1) continue;
        memcpy(all + n, fresh, n_fresh * sizeof *all);
        n += n_fresh;
        rs_text_printf(&places, "%s%zu", taken ? "+" : "", i + 1);
        if (taken++ == 0) continue;
        if (n == asked) continue; /* the same question again: they are fixed together anyway */
        asked = n;
        status = put_joint_row(j, all, n, rs_text_get(&places), table, err);
    }
    rs_text_clear(&places);
    return status;
}

static rs_status put_all(const rs_run *run, rs_judgement *j, rs_result *result, rs_error *err)
{
    int64_t given = rs_options_int(run->options, "top");
    size_t top = given > 0 && (size_t)given < j->n ? (size_t)given : j->n;
    size_t n = rs_result_n_verdicts(result), healthy = n - (n < j->n ? n : j->n);
    for (size_t i = 0; i < j->n_missed; i++) {
        const missed_row row = {j->missed[i].id, j->missed[i].what, j->missed[i].reason};
        RS_TRY(rs_table_put_row(result->tables[MISSED], &missed_record, -1, &row, err));
    }
    if (j->reason) return RS_OK;
    for (size_t i = 0; i < top; i++)
        RS_TRY(put_row(j, i, rs_result_verdict(result, healthy + i), result->tables[DIAGNOSE], err));
    return put_joint(j, top, result->tables[JOINT], err);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_skeletons_too_many(run, trace) ? RS_OK : rs_skeletons_rank(run, trace, partial, err);
}

/* Whether --most-events leaves ranks out, or would if they said how many there are. */
static bool is_too_large(const rs_run *run, const rs_skeletons *ranks)
{
    int64_t most = rs_options_int(run->options, "most-events");
    uint64_t events = 0;
    if (!rs_options_is_set(run->options, "most-events")) return false;
    for (size_t i = 0; i < ranks->n; i++) events += ranks->items[i]->n_events;
    return run->n_absent || events > (uint64_t)most;
}

static rs_status refuse_large(const rs_run *run, rs_verdicts **out, rs_error *err)
{
    char reason[120];
    snprintf(reason, sizeof reason,
             "the ranks have more than %lld events together: `rankscope diagnose` has no such bound",
             (long long)rs_options_int(run->options, "most-events"));
    return rs_verdicts_refuse(reason, out, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    const char *only = rs_options_text(run->options, "only");
    const rs_judge_how how = {.clocks = rs_clock_how_of(rs_options_text(run->options, "clocks")),
                              .least = rs_options_real(run->options, "min-gain"),
                              .findings = strcmp(only, "levers") != 0,
                              .opportunities = strcmp(only, "findings") != 0,
                              .jobs = run->jobs};
    rs_judgement j = {0};
    rs_skeletons ranks;
    rs_status status = rs_skeletons_take(partials, n, &ranks, err);
    bool too_large = status == RS_OK && is_too_large(run, &ranks);
    if (too_large) status = refuse_large(run, &result->verdicts, err);
    if (status == RS_OK && ranks.n && !too_large) {
        const rs_judge_ranks judged = {ranks.items, ranks.rank_of, ranks.hosts, ranks.n};
        status = rs_judge(&judged, &how, &j, err);
        if (status == RS_OK) status = rs_verdicts_make(&j, &result->verdicts, err);
        if (status == RS_OK) status = put_all(run, &j, result, err);
        if (status == RS_OK) rs_coll_note_trust(&j.engine.trust, result);
    }
    if (status == RS_OK) status = rs_gate_apply(run->options, result->tables[DIAGNOSE], result, err);
    rs_judgement_clear(&j);
    rs_skeletons_clear(&ranks);
    return status;
}

const rs_analysis rs_analysis_diagnose = {
    .name = "diagnose",
    .group = "Across ranks",
    .help = "What is wrong in a job, by what fixing it gains, with evidence and remedy",
    .about =
        "A closed catalogue of faults and opportunities is compared with the traces of all ranks. What fits becomes "
        "a question to the replay of the job (`rankscope replay`): how long would a step take if this were fixed? "
        "There is a row only where the least gain of the replay's interval is above --min-gain and above the "
        "replay's own error; the command under evidence shows the same numbers.\n\n"
        "Findings are wrong against something: a rank against those that run the same work (straggler, "
        "slow_host), transfers of a group against others of their size (slow_group), waiting for data (loader), "
        "a call that makes the host wait more than once a step (sync). Levers are opportunities: communication that "
        "computation waits for, launch-bound work, small collectives. Their gain is an upper bound, so a tenth of it "
        "counts in the order of rows. Sensitivities are last: the hottest kernels at half their time, which says "
        "how much they matter and not that they could be so fast.\n\n"
        "The first row is the verdict: summary, stragglers, collectives, blame, whatif, variance and replay begin "
        "with it. Gains overlap: table joint has the first rows fixed together. Table not_examined says what was "
        "not examined, and why; where a replay cannot be relied on, that is everything.",
    .examples =
        "rankscope diagnose traces/\nrankscope diagnose --only findings --fail-on 'gain_pct > 5' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .columns = RS_SKELETON_COLUMNS,
    .judged = RS_JUDGES,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "the graph is of whole traces",
    .rank = rank,
    .merge = merge,
    .free_partial = rs_skeleton_free,
    .absent = "no events",
    .partial_layout = &rs_skeleton_layout,
    .partial_is = rs_skeletons_word,
};
