/* The verdict: all findings, put in order, explained. */
#include "flight/causation.h"
#include "base/order.h"
#include "flight/periodic.h"
#include "flight/live.h"
#include "flight/sources.h"
#include "flight/words.h"

#include <string.h>

static const char *const verdict_names[] = {
    [RS_FLIGHT_HEALTHY] = "healthy",
    [RS_FLIGHT_RANK_MISSING] = "rank_missing",
    [RS_FLIGHT_DUMP_MISSING] = "dump_missing",
    [RS_FLIGHT_TYPE_MISMATCH] = "type_mismatch",
    [RS_FLIGHT_SIZE_MISMATCH] = "size_mismatch",
    [RS_FLIGHT_DTYPE_MISMATCH] = "dtype_mismatch",
    [RS_FLIGHT_STATE_MISMATCH] = "state_mismatch",
    [RS_FLIGHT_STUCK] = "stuck_in_collective",
    [RS_FLIGHT_BLOCKED_BEFORE_START] = "rank_blocked_before_start",
    [RS_FLIGHT_P2P_SIZE_MISMATCH] = "p2p_size_mismatch",
    [RS_FLIGHT_P2P_ORDER] = "p2p_order",
    [RS_FLIGHT_P2P_DEADLOCK] = "p2p_deadlock",
    [RS_FLIGHT_CROSS_GROUP_ORDER] = "cross_group_order",
    [RS_FLIGHT_STRAGGLER] = "straggler",
    [RS_FLIGHT_BAD_CONFIG] = "bad_config",
    [RS_FLIGHT_BAD_INPUT] = "bad_input",
    [RS_FLIGHT_CRASHED] = "crashed",
};

const char *rs_flight_verdict_name(rs_flight_verdict verdict)
{
    return verdict_names[verdict];
}

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

/* Copies ascending global ranks into the arena. */
static rs_status copy_ranks(rs_flight *flight, const int64_t *ranks, size_t n, const int64_t **out,
                            rs_error *err)
{
    int64_t *copy = rs_arena_alloc(&flight->arena, n * sizeof *copy);
    if (!copy) return rs_fail_nomem(err, "a list of ranks");
    if (n) memcpy(copy, ranks, n * sizeof *copy);
    RS_SORT(copy, n, by_number);
    *out = copy;
    return RS_OK;
}

rs_status rs_fl_add_found(rs_fl_analysis *a, const rs_fl_found *found, const int64_t *culprits,
                          size_t n_culprits, rs_error *err)
{
    rs_flight *flight = a->flight;
    if (!RS_GROW_ONE(a->found, a->n_found, a->found_capacity)) return rs_fail_nomem(err, "a finding");
    rs_fl_found *f = &a->found[a->n_found];
    *f = *found;
    if (f->group != RS_FL_NONE) {
        const rs_fl_group *group = &flight->groups[f->group];
        f->finding.group = rs_fl_text(flight, group->uid);
        f->finding.group_desc = rs_fl_text(flight, group->desc);
        f->finding.members = group->ranks;
        f->finding.n_members = group->n;
    }
    if (f->rank != RS_FL_NONE)
        f->finding.op =
            rs_fl_text(flight, rs_fl_call_of(flight, &flight->ranks[f->rank].entries[f->entry])->op);
    rs_status status = copy_ranks(flight, culprits, n_culprits, &f->finding.culprits, err);
    f->finding.n_culprits = n_culprits;
    if (status == RS_OK) a->n_found++;
    return status;
}

/* ---- configuration and files --------------------------------------------------------------------------- */

static bool used(const rs_flight *flight, const rs_fl_group *group)
{
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        if (member->n || member->n_p2p) return true;
    }
    return false;
}

/* Whether the only descriptions that its users have are without a name: nothing was misconfigured. */
static bool only_nameless(const rs_flight *flight, const rs_fl_group *group)
{
    for (uint32_t m = 0; m < group->n_members; m++)
        if (!flight->ranks[flight->by_group[group->first_member + m]->rank].nameless) return false;
    return true;
}

static bool same_name(const rs_flight *flight, uint32_t a, uint32_t b)
{
    return flight->groups[a].uid == flight->groups[b].uid;
}

/* How many dumps describe a group as it stands, under its most common name or another. */
static size_t describers(const rs_flight *flight, const rs_fl_group *group)
{
    size_t n = 0;
    for (uint32_t m = 0; m < group->n_members; m++)
        n += flight->by_group[group->first_member + m]->configured;
    return n;
}

/* Who describes a uid otherwise than most do. */
static rs_status find_dissenters(rs_fl_analysis *a, uint32_t g, int64_t *ranks, size_t *n, rs_error *err)
{
    rs_flight *flight = a->flight;
    size_t best = 0, n_best = 0;
    uint32_t winner = RS_FL_NONE, winner_desc = RS_FL_NONE;
    *n = 0;
    for (uint32_t i = 0; i < flight->n_groups; i++) {
        const rs_fl_group *group = &flight->groups[i];
        if (!group->conflict || !same_name(flight, i, g)) continue;
        /* Count by description inside the group, too: names may be what differs. */
        for (uint32_t m = 0; m < group->n_members; m++) {
            const rs_fl_member *member = flight->by_group[group->first_member + m];
            size_t count = 0;
            if (!member->configured) continue;
            for (uint32_t o = 0; o < group->n_members; o++) {
                const rs_fl_member *other = flight->by_group[group->first_member + o];
                count += other->configured && other->desc == member->desc;
            }
            if (count > best) {
                best = count;
                winner = i;
                winner_desc = member->desc;
                n_best = 1;
            } else if (count == best && (winner != i || winner_desc != member->desc)) {
                n_best++;
            }
            if (count == group->n_members) break;
        }
    }
    (void)err;
    for (uint32_t i = 0; i < flight->n_groups; i++) {
        const rs_fl_group *group = &flight->groups[i];
        if (!group->conflict || !same_name(flight, i, g)) continue;
        for (uint32_t m = 0; m < group->n_members; m++) {
            const rs_fl_member *member = flight->by_group[group->first_member + m];
            bool agrees = i == winner && member->desc == winner_desc;
            if (member->configured && (n_best > 1 || !agrees))
                ranks[(*n)++] = flight->ranks[member->rank].rank;
        }
    }
    return RS_OK;
}

static rs_status find_bad_config(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_status status = RS_OK;
    size_t total = 1;
    for (size_t r = 0; r < flight->n_ranks; r++) total += flight->ranks[r].n_members;
    RS_LOCAL int64_t *ranks = rs_malloc(total * sizeof *ranks);
    rs_map64 told = {0};
    if (!ranks) return rs_fail_nomem(err, "groups");
    for (uint32_t g = 0; status == RS_OK && g < flight->n_groups; g++) {
        const rs_fl_group *group = &flight->groups[g];
        size_t n = 0;
        bool is_new = true;
        rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_BAD_CONFIG, .seq = -1},
                         .kind = RS_FLIGHT_ROOT_CONFIG,
                         .group = g,
                         .rank = RS_FL_NONE,
                         .partner_rank = RS_FL_NONE,
                         .when = INT64_MAX,
                         .stage = RS_FL_STAGE_CONFIG};
        if (group->conflict && describers(flight, group)) {
            if (!rs_map64_put(&told, group->uid, &is_new)) status = rs_fail_nomem(err, "groups");
            if (status != RS_OK || !is_new) continue;
            status = find_dissenters(a, g, ranks, &n, err);
            f.about = "conflict";
        } else if (!group->described && used(flight, group) && !only_nameless(flight, group)) {
            for (size_t s = 0; s < group->n; s++) ranks[n++] = group->ranks[s];
            f.about = "undescribed";
        } else {
            continue;
        }
        if (status == RS_OK) status = rs_fl_add_found(a, &f, ranks, n, err);
    }
    rs_map64_clear(&told);
    return status;
}

static bool is_unusable(const rs_flight *flight, int64_t rank)
{
    for (size_t i = 0; i < flight->n_unusable; i++)
        if (flight->unusable[i] == rank) return true;
    return false;
}

bool rs_fl_is_accused(const rs_fl_analysis *a, int64_t rank)
{
    for (size_t i = 0; i < a->n_found; i++)
        for (size_t c = 0; c < a->found[i].finding.n_culprits; c++)
            if (a->found[i].finding.culprits[c] == rank) return true;
    return false;
}

/* Leaves out the ranks that a finding accuses already, which says what is known of them. Returns how many are left. */
static size_t keep_unaccused(const rs_fl_analysis *a, int64_t *ranks, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!rs_fl_is_accused(a, ranks[i])) ranks[kept++] = ranks[i];
    return kept;
}

/* Members of groups of which there is no file at all. */
static rs_status find_missing_dumps(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_map64 seen = {0};
    RS_LOCAL int64_t *ranks = NULL;
    size_t n = 0, capacity = 0;
    rs_status status = RS_OK;
    for (size_t g = 0; status == RS_OK && g < flight->n_groups; g++)
        for (size_t s = 0; s < flight->groups[g].n; s++) {
            int64_t rank = flight->groups[g].ranks[s];
            if (flight->groups[g].index[s] != RS_FL_NONE || is_unusable(flight, rank)) continue;
            bool is_new;
            if (!rs_map64_put(&seen, (uint64_t)rank, &is_new) ||
                (is_new && !RS_GROW_ONE(ranks, n, capacity))) {
                status = rs_fail_nomem(err, "missing dumps");
                break;
            }
            if (is_new) ranks[n++] = rank;
        }
    rs_map64_clear(&seen);
    RS_SORT(ranks, n, by_number);
    for (size_t i = 0; status == RS_OK && i < n; i++)
        rs_problems_add(&flight->problems, NULL, ranks[i],
                        flight->settings.allow_missing ? RS_NOTE : RS_WARNING, "dump_missing",
                        "a member of a group has no dump", RS_NO_OFFSET);
    n = keep_unaccused(a, ranks, n);
    if (status == RS_OK && n && !flight->settings.allow_missing) {
        rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_DUMP_MISSING, .seq = -1},
                         .group = RS_FL_NONE,
                         .rank = RS_FL_NONE,
                         .partner_rank = RS_FL_NONE,
                         .when = INT64_MAX,
                         .stage = RS_FL_STAGE_ALONE};
        status = rs_fl_add_found(a, &f, ranks, n, err);
    }
    return status;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    const rs_fl_found *x = a, *y = b;
    if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
    if (x->stage == RS_FL_STAGE_HANG) {
        bool a_silent = x->kind == RS_FLIGHT_ROOT_SILENT, b_silent = y->kind == RS_FLIGHT_ROOT_SILENT;
        if (a_silent != b_silent) return a_silent ? -1 : 1;
        if (x->finding.n_waiters != y->finding.n_waiters)
            return x->finding.n_waiters > y->finding.n_waiters ? -1 : 1;
    }
    if (x->when != y->when) return x->when < y->when ? -1 : 1;
    if (x->finding.n_waiters != y->finding.n_waiters)
        return x->finding.n_waiters > y->finding.n_waiters ? -1 : 1;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->finding.seq != y->finding.seq) return x->finding.seq < y->finding.seq ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Who is waited for in a group that its members see differently waits for a mistake in the configuration. */
static void promote_config(rs_fl_analysis *a)
{
    if (!a->n_found || a->found[0].group == RS_FL_NONE) return;
    for (size_t i = 1; i < a->n_found; i++) {
        rs_fl_found *f = &a->found[i];
        if (f->stage != RS_FL_STAGE_CONFIG || !same_name(a->flight, f->group, a->found[0].group) ||
            !(a->flight->groups[a->found[0].group].conflict ||
              !a->flight->groups[a->found[0].group].described))
            continue;
        rs_fl_found promoted = *f;
        promoted.stage = RS_FL_STAGE_FIRST;
        promoted.finding.n_waiters = a->found[0].finding.n_waiters;
        memmove(a->found + 1, a->found, i * sizeof *a->found);
        a->found[0] = promoted;
        return;
    }
}

static rs_status fill_report(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_flight_report *report = &flight->report;
    rs_flight_finding *findings = rs_arena_alloc(&flight->arena, a->n_found * sizeof *findings);
    rs_flight_waiting *waiting = rs_arena_alloc(&flight->arena, a->n_waiting * sizeof *waiting);
    if (!findings || !waiting) return rs_fail_nomem(err, "the report");
    for (size_t i = 0; i < a->n_found; i++) findings[i] = a->found[i].finding;
    const rs_flight_finding *root = &report->root;
    size_t n = 0;
    if (a->n_found) {
        report->root = findings[0];
        rs_status status = rs_fl_unite_culprits(a, err);
        if (status == RS_OK) status = rs_fl_fill_roots(a, err);
        if (status == RS_OK) status = rs_fl_summarize(a, err);
        if (status != RS_OK) return status;
    }
    for (size_t i = 0; i < a->n_waiting; i++) {
        bool culprit = false;
        for (size_t c = 0; c < root->n_culprits; c++) culprit |= root->culprits[c] == a->waiting[i].rank;
        if (!culprit) waiting[n++] = a->waiting[i];
    }
    report->findings = findings;
    report->n_findings = a->n_found;
    report->waiting = waiting;
    report->n_waiting = n;
    return RS_OK;
}

/* Gloo's recorder knows collectives only. */
static bool records_no_transfers(const rs_flight *flight)
{
    for (size_t i = 1; i < flight->n_calls; i++) {
        const char *name = rs_fl_text(flight, flight->calls[i].name);
        if (name && strncmp(name, "gloo:", 5) == 0) return true;
    }
    return false;
}

/* Dumps of active entries alone have none when nothing is open; pg_status then shows that the rank works. Of a rank
 * whose entries could not be read, or of which nothing is recorded, nothing is known. */
static bool idle_by_status(const rs_flight *flight)
{
    bool worked = false;
    for (size_t i = 0; i < flight->n_ranks; i++) {
        const rs_fl_rank *rank = &flight->ranks[i];
        if (rank->unread) return false;
        worked |= rank->status_work;
    }
    return worked;
}

static rs_status explain_no_finding(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_flight_report *report = &flight->report;
    report->root.verdict = RS_FLIGHT_HEALTHY;
    report->root.seq = -1;
    if (flight->moving) {
        report->root.summary = rs_fl_moving_text(a);
        return report->root.summary ? RS_OK : rs_fail_nomem(err, "the report");
    }
    if (report->n_entries == 0 && !idle_by_status(flight)) {
        report->root.verdict = RS_FLIGHT_BAD_INPUT;
        report->root.summary = rs_fl_print(
            flight, "No operation could be read from %zu dump%s: whether the job hangs is not known.",
            flight->n_ranks, flight->n_ranks == 1 ? "" : "s");
        return report->root.summary ? RS_OK : rs_fail_nomem(err, "the report");
    }
    const char *objections = rs_fl_objections(flight);
    if (!objections) return rs_fail_nomem(err, "the report");
    report->root.summary = rs_fl_print(
        flight, "Nothing is wrong in what %zu dump%s recorded: %zu operations of %zu group%s match%s.%s%s",
        flight->n_ranks, flight->n_ranks == 1 ? "" : "s", report->n_entries, report->n_groups,
        report->n_groups == 1 ? "" : "s",
        flight->n_unusable_files ? ", but some dumps could not be used" : "",
        records_no_transfers(flight)
            ? " Gloo records no send and no recv: a hang in one of them does not show here."
            : "",
        objections);
    return report->root.summary ? RS_OK : rs_fail_nomem(err, "the report");
}

static rs_status analyse(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    a->open = rs_malloc(flight->n_ranks * sizeof *a->open);
    if (!a->open) return rs_fail_nomem(err, "the analysis");
    rs_status status = rs_fl_find_mismatches(a, err);
    for (size_t r = 0; status == RS_OK && r < flight->n_ranks; r++) {
        const rs_fl_rank *rank = &flight->ranks[r];
        int64_t newest = rs_fl_common(rank, rank->newest);
        flight->report.n_entries += rank->n;
        if (!newest) continue;
        if (!flight->report.newest_known || newest > flight->report.newest_ns)
            flight->report.newest_ns = newest;
        flight->report.newest_known = true;
    }
    for (size_t r = 0; r < flight->n_ranks; r++) flight->report.shapes[flight->ranks[r].shape]++;
    for (size_t g = 0; g < flight->n_groups; g++) flight->report.n_groups += flight->groups[g].n_members > 0;
    if (status == RS_OK) status = rs_fl_follow_waits(a, err);
    if (status == RS_OK) status = rs_fl_weigh_progress(a, err);
    if (status == RS_OK) status = find_bad_config(a, err);
    if (status == RS_OK && a->n_found == 0) status = rs_fl_find_straggler(a, err);
    if (status == RS_OK && a->n_found == 0) status = rs_fl_judge_conditions(a, err);
    if (status == RS_OK) status = find_missing_dumps(a, err);
    if (status != RS_OK) return status;
    rs_fl_narrow_by_sources(a);
    if (a->n_found) qsort(a->found, a->n_found, sizeof *a->found, by_weight);
    promote_config(a);
    if (a->n_found && a->found[0].stage != RS_FL_STAGE_STRAGGLER) status = rs_fl_find_causes(a, err);
    if (status == RS_OK && a->n_found) qsort(a->found, a->n_found, sizeof *a->found, by_weight);
    for (size_t i = 0; status == RS_OK && i < a->n_found; i++)
        status = rs_fl_explain(a, &a->found[i], i == 0, err);
    if (status == RS_OK && a->n_found == 0) status = explain_no_finding(a, err);
    if (status == RS_OK) status = fill_report(a, err);
    return status;
}

/* No dump was there: the tables that a debug server wrote now and then. */
static rs_status analyse_periodic(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_status status = rs_fl_judge_periodic(a, err);
    if (status == RS_OK && a->n_found) qsort(a->found, a->n_found, sizeof *a->found, by_weight);
    if (status == RS_OK) status = rs_fl_find_causes(a, err);
    if (status == RS_OK && a->n_found) return fill_report(a, err);
    const rs_fl_snapshot *newest = flight->periodic->snapshots;
    if (status == RS_OK && flight->periodic->n_snapshots && !newest->n_rows && !newest->n_unmatched) {
        flight->report.root = (rs_flight_finding){
            .verdict = RS_FLIGHT_BAD_INPUT,
            .seq = -1,
            .summary =
                "No operation could be read from the newest snapshot: whether the job hangs is not known."};
        flight->report.findings = &flight->report.root;
        flight->report.n_findings = 1;
        return RS_OK;
    }
    flight->report.root =
        (rs_flight_finding){.verdict = RS_FLIGHT_HEALTHY,
                            .seq = -1,
                            .summary = !flight->periodic->n_snapshots
                                           ? "There are stacks and no flight record; the stacks show no hang."
                                           : rs_fl_print(flight, "No hang in the last %zu snapshot%s: %s.",
                                                         flight->periodic->n_snapshots,
                                                         flight->periodic->n_snapshots == 1 ? "" : "s",
                                                         flight->periodic->n_snapshots == 1
                                                             ? "no rank is missing"
                                                             : "operations complete from one to the next")};
    return status == RS_OK && !flight->report.root.summary ? rs_fail_nomem(err, "the report") : status;
}

/* No dump was there: the log alone. */
static rs_status analyse_log(rs_fl_analysis *a, rs_error *err)
{
    rs_status status = rs_fl_judge_log(a, err);
    if (status == RS_OK && a->n_found == 0) status = rs_fl_judge_sources(a, err);
    for (size_t i = 0; status == RS_OK && i < a->n_found; i++)
        status = rs_fl_explain(a, &a->found[i], i == 0, err);
    if (status == RS_OK && a->n_found) return fill_report(a, err);
    if (status != RS_OK) return status;
    rs_flight *flight = a->flight;
    rs_flight_finding root = {.verdict = RS_FLIGHT_BAD_INPUT,
                              .seq = -1,
                              .summary =
                                  "No flight-recorder dump was given or found, and the log holds no cause."};
    if (!rs_fl_answer_of_sources(flight, &root) && !rs_fl_has_log(flight))
        root.summary = "None of the files says what state the job is in.";
    if (rs_fl_judge_without_cause(flight, &root) && !root.summary) return rs_fail_nomem(err, "the report");
    const char *attempts = rs_fl_attempts_text(flight);
    if (attempts && *attempts) root.summary = rs_fl_print(flight, "%s %s", root.summary, attempts);
    if (!attempts || !root.summary) return rs_fail_nomem(err, "the report");
    flight->report.root = root;
    if (root.verdict == RS_FLIGHT_HEALTHY) return RS_OK;
    flight->report.findings = &flight->report.root;
    flight->report.n_findings = 1;
    return RS_OK;
}

rs_status rs_flight_get_report(rs_flight *flight, const rs_flight_report **out, rs_error *err)
{
    *out = &flight->report;
    if (flight->have_report) return RS_OK;
    flight->report = (rs_flight_report){
        .problems = &flight->problems, .n_ranks = flight->n_ranks, .n_unusable = flight->n_unusable_files};
    rs_fl_analysis a = {.flight = flight};
    rs_status status = rs_fl_tell_attempts(flight, err);
    if (status != RS_OK) return status;
    if (flight->n_ranks == 0 && flight->periodic && (flight->periodic->n_snapshots || flight->n_threads)) {
        status = analyse_periodic(&a, err);
    } else if (flight->n_ranks == 0 && flight->log) {
        status = analyse_log(&a, err);
    } else if (flight->n_ranks == 0) {
        flight->report.root = (rs_flight_finding){
            .verdict = RS_FLIGHT_BAD_INPUT, .seq = -1, .summary = "No flight-recorder dump could be read."};
        flight->report.findings = &flight->report.root;
        flight->report.n_findings = 1;
    } else {
        status = analyse(&a, err);
    }
    rs_free_all(a.found, a.open, a.waiting, a.evidence);
    if (status == RS_OK) status = rs_fl_decide(flight, err);
    flight->have_report = status == RS_OK;
    return status;
}
