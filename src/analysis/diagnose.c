/* diagnose: what is off in a job and what would help it, by what mending it gains. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "analysis/skeletons.h"
#include "analysis/collective_notes.h"
#include "analysis/gate.h"
#include "base/memory.h"
#include "base/try.h"
#include "text/numbers.h"

#define JOINED 3 /* rows that are mended together */

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
    const char *id, *kind, *finding, *selector, *with, *evidence, *remedy, *assumption;
    double before, after, low, high, pct, bound; /* us; low, high: of after */
} finding_row;

#define DIAGNOSE_ROW(CELL)                                                                                          \
    CELL(                                                                                                           \
        OF(finding_row, place), "place", INT, ID,                                                                   \
        "findings first, each kind by the least that mending is certain to gain, or to add to the rows under with", \
        NULL)                                                                                                       \
    CELL(OF(finding_row, id), "id", TEXT, NONE, "of the catalogue: straggler, slow_host, loader, sync, ...",        \
         NULL)                                                                                                      \
    CELL(OF(finding_row, kind), "kind", TEXT, NONE,                                                                 \
         "finding: something is off; lever: nothing is, but this would help", NULL)                                 \
    CELL(OF(finding_row, finding), "finding", TEXT, NONE, "what is off and what mending it gives a step",           \
         NULL)                                                                                                      \
    CELL(ID(finding_row, rank), "rank", INT, ID, "rank it is about; unknown: the job", NULL)                        \
    CELL(MAYBE(finding_row, selector), "selector", TEXT, NONE,                                                      \
         "for replay --scale; unknown where the question scales nothing", NULL)                                     \
    CELL(                                                                                                           \
        MAYBE(finding_row, with), "with", TEXT, NONE,                                                               \
        "places of the rows that are mended as well in these numbers, since they hide this one; unknown: none",     \
        NULL)                                                                                                       \
    CELL(OF(finding_row, before), "before_us", REAL, US, "a step as recorded", "before")                            \
    CELL(OF(finding_row, after), "after_us", REAL, US, "a step when it is mended", "after")                         \
    CELL(OF(finding_row, low), "after_low_us", REAL, US,                                                            \
         "the least that step may take: the interval of replay", "from")                                            \
    CELL(OF(finding_row, high), "after_high_us", REAL, US, "the most", "to")                                        \
    CELL(OF(finding_row, pct), "gain_pct", REAL, PERCENT, "before_us less after_us, of before_us", "gain %")        \
    CELL(OF(finding_row, bound), "bound_us", REAL, US,                                                              \
         "no gain is greater; unknown where a wait goes that the path runs along", "at most")                       \
    CELL(OF(finding_row, evidence), "evidence", TEXT, NONE, "command that shows the numbers", NULL)                 \
    CELL(OF(finding_row, remedy), "remedy", TEXT, NONE, "what to try", NULL)                                        \
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

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* The places of the rows that are mended with this one: "1+3". Not all need have a place. */
static const char *places_of(const rs_diagnosis *d, const rs_diagnosed_row *x, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < x->n_with; k++)
        for (size_t i = 0; i < d->n && used < size; i++)
            if (d->rows[i].candidate == x->with[k])
                used += (size_t)snprintf(out + used, size - used, "%s%zu", used ? "+" : "", i + 1);
    return used ? out : NULL;
}

/* The command that shows what fixing them gains. */
static const char *evidence_for(const rs_candidate *const *all, size_t n, rs_arena *arena)
{
    RS_SCOPED(rs_text_clear) rs_text edit = {0}, command = {0};
    rs_diagnose_print(all, n, &edit);
    rs_text_put(&command, "rankscope replay --what-if ");
    if (rs_text_get(&edit)) rs_text_put_shell(&command, rs_text_get(&edit));
    rs_text_put(&command, " PATH...");
    const char *text = edit.failed || command.failed ? NULL : rs_arena_strndup(arena, command.s, command.n);
    return text;
}

/* What --scale takes, where the fix scales one thing; NULL: it does not. *ok becomes false when out of memory. */
static const char *selector_of(const rs_candidate *c, rs_arena *arena, bool *ok)
{
    rs_text text = {0};
    if (c->edits.n == 1 && c->edits.edits->kind == RS_EDIT_NO_LOADER) return "part=loader=none";
    if (c->edits.n != 1 || c->edits.edits->kind != RS_EDIT_SCALE) return NULL;
    rs_edit_print_scale(c->edits.edits, &text);
    const char *kept = rs_text_get(&text) ? rs_arena_strndup(arena, text.s, text.n) : NULL;
    *ok = *ok && kept;
    rs_text_clear(&text);
    return kept;
}

static rs_status put_row(const rs_diagnosis *d, size_t i, rs_table *table, rs_error *err)
{
    const rs_diagnosed_row *x = &d->rows[i];
    const rs_candidate *c = x->candidate, *all[RS_DIAGNOSE_WITH + 1] = {c};
    const rs_foretold *a = &x->answer;
    /* the interval is one of gains: the last digit of a difference must not leave the step outside of it */
    double least = fmin(a->before - a->high, a->after), most = fmax(a->before - a->low, a->after);
    char with[64];
    RS_SCOPED(rs_arena_clear) rs_arena arena = {0};
    RS_SCOPED(rs_text_clear) rs_text sentence = {0};
    bool ok = true;
    if (x->n_with) memcpy(all + 1, x->with, x->n_with * sizeof *all);
    rs_diagnose_sentence(x, &sentence);
    const finding_row row = {.place = (int64_t)i + 1,
                             .rank = c->rank,
                             .id = c->rule->id,
                             .kind = c->kind == RS_CANDIDATE_FINDING ? "finding" : "lever",
                             .finding = rs_text_get(&sentence),
                             .selector = selector_of(c, &arena, &ok),
                             .with = places_of(d, x, with, sizeof with),
                             .evidence = evidence_for(all, 1 + x->n_with, &arena),
                             .remedy = c->rule->remedy,
                             .assumption = a->assumption,
                             .before = a->before,
                             .after = a->after,
                             .low = least,
                             .high = most,
                             .pct = a->pct,
                             .bound = x->bound};
    return ok && row.finding && row.evidence ? rs_table_put_row(table, &diagnose_record, c->rank, &row, err)
                                             : rs_fail_nomem(err, "diagnose");
}

static bool is_among(const rs_candidate *const *all, size_t n, const rs_candidate *one)
{
    for (size_t i = 0; i < n; i++)
        if (all[i] == one) return true;
    return false;
}

/* The first two, then the first three, as one question. A sensitivity is nothing to mend. */
static rs_status put_joint(rs_diagnosis *d, size_t top, rs_table *table, rs_error *err)
{
    const rs_candidate *all[RS_DIAGNOSE_WITH + 1];
    char places[64];
    size_t named = 0, n = 0, taken = 0, asked = 0;
    for (size_t i = 0; i < top && taken < JOINED; i++) {
        const rs_diagnosed_row *x = &d->rows[i];
        const rs_candidate *fresh[RS_DIAGNOSE_WITH + 1];
        size_t n_fresh = 0;
        rs_foretold a;
        const char *refused;
        if (x->candidate->sensitivity) continue;
        for (size_t k = 0; k <= x->n_with; k++) {
            const rs_candidate *one = k ? x->with[k - 1] : x->candidate;
            if (!is_among(all, n, one)) fresh[n_fresh++] = one;
        }
        if (n + n_fresh > RS_DIAGNOSE_WITH + 1) continue;
        memcpy(all + n, fresh, n_fresh * sizeof *all);
        n += n_fresh;
        named += (size_t)snprintf(places + named, sizeof places - named, "%s%zu", taken ? "+" : "", i + 1);
        if (taken++ == 0) continue;
        if (n == asked) continue; /* the same question again: they are mended together anyway */
        asked = n;
        RS_TRY(rs_diagnose_ask(d, all, n, &a, NULL, &refused, err));
        if (refused) continue;
        rs_arena arena = {0};
        const joint_row row = {.places = places,
                               .before = a.before,
                               .after = a.after,
                               .low = a.before - a.high,
                               .high = a.before - a.low,
                               .pct = a.pct,
                               .evidence = evidence_for(all, n, &arena)};
        rs_status status = row.evidence ? rs_table_put_row(table, &joint_record, -1, &row, err)
                                        : rs_fail_nomem(err, "diagnose");
        rs_arena_clear(&arena);
        RS_TRY(status);
    }
    return RS_OK;
}

static rs_status put_all(const rs_run *run, rs_diagnosis *d, rs_result *result, rs_error *err)
{
    int64_t given = rs_options_int(run->options, "top");
    size_t top = given > 0 && (size_t)given < d->n ? (size_t)given : d->n;
    for (size_t i = 0; i < d->n_unsaid; i++) {
        const missed_row row = {d->unsaid[i].id, d->unsaid[i].what, d->unsaid[i].reason};
        RS_TRY(rs_table_put_row(result->tables[MISSED], &missed_record, -1, &row, err));
    }
    if (d->reason) {
        rs_result_note(result, "nothing is said: %s (`rankscope replay` shows where)", d->reason);
        return RS_OK;
    }
    for (size_t i = 0; i < top; i++) RS_TRY(put_row(d, i, result->tables[DIAGNOSE], err));
    if (!d->n) rs_result_note(result, "nothing worth %s %% found", RS_FIXED(d->enough, 1));
    return put_joint(d, top, result->tables[JOINT], err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    const rs_diagnose_how how = {.clocks = rs_clock_how_of(rs_options_text(run->options, "clocks")),
                                 .least = rs_options_real(run->options, "min-gain"),
                                 .only = rs_options_text(run->options, "only"),
                                 .jobs = run->jobs};
    rs_diagnosis d = {0};
    rs_skeletons ranks;
    rs_status status = rs_skeletons_take(partials, n, &ranks, err);
    if (status == RS_OK && ranks.n) {
        status = rs_diagnose(&ranks, &how, &d, err);
        if (status == RS_OK) status = put_all(run, &d, result, err);
        if (status == RS_OK) rs_coll_note_trust(&d.engine.trust, result);
    }
    if (status == RS_OK) status = rs_gate_apply(run->options, result->tables[DIAGNOSE], result, err);
    rs_diagnosis_clear(&d);
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
