/* The whole answer for somebody who was woken up: who, what, the proof in one clause, where, why, and what to
 * do. */
#include "flight/causation.h"
#include "flight/words.h"

#include <inttypes.h>
#include <string.h>

#define MAX_NAMED 8 /* ranks that the summary tells one by one */

/* Appends in the arena; NULL stays NULL. */
static const char *join(rs_flight *flight, const char *a, const char *separator, const char *b)
{
    if (!a || !b) return NULL;
    if (!*a || !*b) return *a ? a : b;
    return rs_fl_print(flight, "%s%s%s", a, separator, b);
}

/* The findings of one kind among those of the verdict's class. */
typedef struct chosen {
    const rs_fl_found *found[MAX_NAMED];
    size_t n;       /* of found */
    int64_t *ranks; /* of all of that kind, ascending */
    size_t n_ranks;
} chosen;

static bool choose(const rs_fl_analysis *a, rs_flight_root_kind kind, chosen *c)
{
    size_t room = 0;
    *c = (chosen){0};
    for (size_t i = 0; i < a->n_found; i++) room += a->found[i].finding.n_culprits;
    c->ranks = rs_malloc((room + 1) * sizeof *c->ranks);
    if (!c->ranks) return false;
    for (size_t i = 0; i < a->n_found; i++) {
        const rs_fl_found *f = &a->found[i];
        if (f->stage != a->found[0].stage || f->kind != kind) continue;
        if (c->n < MAX_NAMED) c->found[c->n++] = f;
        for (size_t k = 0; k < f->finding.n_culprits; k++) {
            size_t at = c->n_ranks++;
            for (; at > 0 && c->ranks[at - 1] > f->finding.culprits[k]; at--) c->ranks[at] = c->ranks[at - 1];
            c->ranks[at] = f->finding.culprits[k];
        }
    }
    return true;
}

/* "rank 10 never issued all_to_all 20947 of ... (3 ranks wait)" for each. */
static const char *each(rs_flight *flight, const chosen *c, const char *did_not, bool missed)
{
    const char *text = "";
    size_t told = 0;
    for (size_t i = 0; i < c->n; i++) {
        const rs_fl_found *f = c->found[i];
        const rs_fl_entry *e = &flight->ranks[f->rank].entries[f->entry];
        const char *what = missed ? rs_fl_missed_text(flight, f->rank, e) : rs_fl_op_text(flight, e);
        if (!what) return NULL;
        told += f->finding.n_culprits;
        text = join(flight, text, i == 0 ? "" : "; ",
                    rs_fl_print(flight, "%s %s %s (%zu rank%s wait%s)",
                                rs_fl_ranks_text(flight, f->finding.culprits, f->finding.n_culprits), did_not,
                                what, f->finding.n_waiters, f->finding.n_waiters == 1 ? "" : "s",
                                f->finding.n_waiters == 1 ? "s" : ""));
    }
    if (told < c->n_ranks)
        text = join(flight, text, "; ", rs_fl_print(flight, "%zu more in the findings", c->n_ranks - told));
    return text;
}

/* What a table of the periodic dumper tells has no entry whose operation could be named: its own words then.
 */
static bool have_entries(const chosen *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->found[i]->rank == RS_FL_NONE) return false;
    return true;
}

static const char *tell_kind(rs_flight *flight, const chosen *c, rs_flight_root_kind kind)
{
    const char *ranks = rs_fl_ranks_text(flight, c->ranks, c->n_ranks), *text = "";
    bool many = c->n_ranks > 1;
    if (c->n == 1) return c->found[0]->finding.summary;
    if (!have_entries(c)) {
        for (size_t i = 0; i < c->n && text; i++)
            text = join(flight, text, " ", c->found[i]->finding.summary);
        return text;
    }
    switch (kind) {
    case RS_FLIGHT_ROOT_SILENT:
        return join(flight,
                    rs_fl_print(flight, "%s stopped on their hosts: everything they issued is completed",
                                rs_fl_capital(flight, ranks)),
                    ", and ", join(flight, each(flight, c, "never issued", true), "", "."));
    case RS_FLIGHT_ROOT_STALLED:
        return join(
            flight, rs_fl_print(flight, "The GPU%s of %s hang%s", many ? "s" : "", ranks, many ? "" : "s"),
            ": ",
            join(flight, each(flight, c, "has not finished", false), "", "; others of the groups have."));
    case RS_FLIGHT_ROOT_BLOCKED:
        return join(flight,
                    rs_fl_print(flight, "The GPU%s of %s %s after earlier work", many ? "s" : "", ranks,
                                many ? "hang" : "hangs"),
                    ": ", join(flight, each(flight, c, "has not reached", false), "", "."));
    default: return NULL;
    }
}

/* Roots of the class of the verdict: by kind where there are several kinds, else one after the other. */
static const char *tell_roots(rs_fl_analysis *a)
{
    static const rs_flight_root_kind kinds[] = {RS_FLIGHT_ROOT_SILENT, RS_FLIGHT_ROOT_STALLED,
                                                RS_FLIGHT_ROOT_BLOCKED};
    rs_flight *flight = a->flight;
    const char *text = "";
    if (a->found[0].stage == RS_FL_STAGE_HANG) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds && text; k++) {
            chosen c;
            if (!choose(a, kinds[k], &c)) return NULL;
            if (c.n) text = join(flight, text, " ", tell_kind(flight, &c, kinds[k]));
            rs_free(c.ranks);
        }
        return text;
    }
    size_t n = 0;
    for (size_t i = 0; i < a->n_found && text; i++) {
        if (a->found[i].stage != a->found[0].stage) continue;
        if (n++ < 2) text = join(flight, text, " ", a->found[i].finding.summary);
    }
    if (n > 2)
        text =
            join(flight, text, " ", rs_fl_print(flight, "%zu more of this kind are in the findings.", n - 2));
    return text;
}

/* Where the named ranks stand, by the stacks of a live job. */
static const char *tell_places(rs_flight *flight, const rs_flight_report *report)
{
    const char *text = "";
    size_t told = 0;
    for (size_t i = 0; i < report->n_roots && told < 3 && text; i++) {
        const rs_flight_root *row = &report->roots[i];
        const rs_fl_note *note = row->rank < 0 ? NULL : rs_fl_note_of(flight, row->rank);
        if (!note || !note->stack) continue;
        char human[32];
        const char *age =
            note->since_ns > 0 ? rs_fl_print(flight, " for %s", rs_human_time(note->since_ns, human)) : "";
        text = join(flight, text, " ",
                    rs_fl_print(flight, "Rank %" PRId64 " is in %s%s%s.", row->rank,
                                rs_fl_where(flight, note->stack),
                                note->collecting ? ", collecting garbage," : "", age ? age : ""));
        told++;
    }
    return text;
}

/* Without stacks: from where the others issued what the first root did not. */
static const char *tell_others_place(rs_fl_analysis *a, const rs_flight_root *first)
{
    const rs_fl_found *f = &a->found[0];
    if (f->rank == RS_FL_NONE || first->where || first->kind != RS_FLIGHT_ROOT_SILENT) return "";
    const rs_fl_entry *e = &a->flight->ranks[f->rank].entries[f->entry];
    return e->stack ? rs_fl_print(a->flight, "The others are at %s.", rs_fl_where(a->flight, e->stack)) : "";
}

static const char *tell_causes(rs_flight *flight, const rs_flight_report *report)
{
    const char *text = "";
    size_t told = 0;
    for (size_t i = 0; i < report->n_roots && told < 2 && text; i++) {
        const rs_flight_root *row = &report->roots[i];
        if (!row->cause) continue;
        text = join(flight, text, " ", rs_fl_cause_text(flight, row));
        told++;
    }
    if (!told && rs_fl_has_log(flight)) return "The log holds no cause.";
    return text;
}

static const char *next_step(rs_flight *flight, const rs_flight_root *row)
{
    const char *by_cause = row->cause ? rs_fl_cause_next(flight, row) : NULL;
    if (by_cause) return by_cause;
    const char *on = row->host ? rs_fl_print(flight, " on %s", row->host) : "";
    const rs_fl_note *note = row->rank < 0 ? NULL : rs_fl_note_of(flight, row->rank);
    switch (row->kind) {
    case RS_FLIGHT_ROOT_SILENT:
        if (note && note->stack)
            return rs_fl_print(flight, "look at that line of rank %" PRId64 "'s code and at its log.",
                               row->rank);
        return rs_fl_print(flight, "py-spy dump on the process of rank %" PRId64 "%s, and its log.",
                           row->rank, on);
    case RS_FLIGHT_ROOT_STALLED:
    case RS_FLIGHT_ROOT_BLOCKED:
        return rs_fl_print(
            flight,
            "look for Xid in dmesg and at nvidia-smi -q -d ECC%s, then drain the node of rank %" PRId64 ".",
            on, row->rank);
    case RS_FLIGHT_ROOT_COLLECTIVE:
        return "NCCL RAS, and the link counters of the group's hosts; record with TORCH_NCCL_ENABLE_TIMING=1 "
               "next time.";
    case RS_FLIGHT_ROOT_NO_DUMP:
    case RS_FLIGHT_ROOT_UNKNOWN:
        return rs_fl_print(flight, "see whether the process of rank %" PRId64 " lives%s, and read its log.",
                           row->rank, on);
    case RS_FLIGHT_ROOT_MISMATCH:
        return "compare what the named ranks computed there: batch, shapes, branches.";
    case RS_FLIGHT_ROOT_DEADLOCK: return "let one side send first, or batch both with batch_isend_irecv.";
    case RS_FLIGHT_ROOT_ORDER: return "issue the groups' collectives in the same order on every rank.";
    case RS_FLIGHT_ROOT_SLOW:
        if (row->rank < 0) return "look at the GPU or the links that the sentence names.";
        return rs_fl_print(flight, "profile rank %" PRId64 "%s.", row->rank, on);
    case RS_FLIGHT_ROOT_CRASHED: return rs_fl_print(flight, "read the log of rank %" PRId64 ".", row->rank);
    case RS_FLIGHT_ROOT_CONFIG: return "create the group with the same members on every rank.";
    default: return NULL;
    }
}

rs_status rs_fl_summarize(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_flight_report *report = &flight->report;
    const char *text = tell_roots(a);
    const rs_flight_root *first = report->n_roots ? &report->roots[0] : NULL;
    if (first && first->kind != RS_FLIGHT_ROOT_SLOW) {
        text = join(flight, text, " ", tell_places(flight, report));
        text = join(flight, text, " ", tell_others_place(a, first));
    }
    text = join(flight, text, " ", tell_causes(flight, report));
    text = join(flight, text, " ", rs_fl_attempts_text(flight));
    if (!text) return rs_fail_nomem(err, "the summary");
    report->root.summary = text;
    if (first) report->next = next_step(flight, first);
    return RS_OK;
}
