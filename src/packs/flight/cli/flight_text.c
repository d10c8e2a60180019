/* The text form of `rankscope flight`: who, what to do, the proof, and who merely waits. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/try.h"
#include "flight/cli/flight.h"

static void put_colored(rs_page *layout, const char *code, const char *text)
{
    if (layout->color) rs_writer_text(layout->writer, code);
    rs_page_wrap(layout, "", text);
    if (layout->color) rs_writer_text(layout->writer, "\x1b[0m");
}

void rs_flight_put_stack(rs_page *layout, rs_flight *flight, uint32_t stack)
{
    const char *line = rs_flight_stack(flight, stack);
    while (*line) {
        size_t n = strcspn(line, "\n");
        rs_writer_text(layout->writer, "        ");
        rs_page_text(layout, line, n);
        rs_writer_char(layout->writer, '\n');
        line += n;
        if (*line) line++;
    }
}

static void show_proof(const rs_request *r, rs_flight *flight, const rs_flight_report *report,
                       rs_page *layout)
{
    const rs_flight_finding *root = &report->root;
    bool stacks = rs_request_flag(r, "stacks") || rs_request_flag(r, "verbose");
    if (!root->n_evidence) return;
    rs_page_heading(layout, "Proof", false);
    for (size_t i = 0; i < root->n_evidence; i++) {
        rs_page_wrap(layout, "  * ", root->evidence[i].text);
        if (stacks) rs_flight_put_stack(layout, flight, root->evidence[i].stack);
    }
    if (stacks) return;
    bool any = false;
    for (size_t i = 0; i < root->n_evidence; i++) any |= root->evidence[i].stack != 0;
    if (any) rs_page_wrap(layout, "  ", "--stacks shows the whole stacks.");
}

static void show_findings(const rs_request *r, const rs_flight_report *report, rs_page *layout)
{
    size_t limit = (size_t)rs_request_int(r, "limit");
    if (report->n_findings < 2) return;
    rs_page_heading(layout, "Also found", false);
    for (size_t i = 1; i < report->n_findings && i <= limit; i++) {
        char lead[64];
        snprintf(lead, sizeof lead, "  %s: ", rs_flight_verdict_name(report->findings[i].verdict));
        rs_page_wrap(layout, lead, report->findings[i].summary);
    }
    if (report->n_findings - 1 > limit) {
        char more[64];
        snprintf(more, sizeof more, "... and %zu more (--limit)", report->n_findings - 1 - limit);
        rs_page_wrap(layout, "  ", more);
    }
}

/* "0-3,7,9": up to eight parts. */
static void ranks_text(const int64_t *ranks, size_t n, char *out, size_t size)
{
    size_t at = 0, parts = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && at + 48 < size; parts++) {
        size_t last = i;
        while (last + 1 < n && ranks[last + 1] == ranks[last] + 1) last++;
        if (parts == 8) {
            snprintf(out + at, size - at, ",...");
            return;
        }
        if (last < i + 2) last = i;
        at += (size_t)snprintf(out + at, size - at, last > i ? "%s%lld-%lld" : "%s%lld", i ? "," : "",
                               (long long)ranks[i], (long long)ranks[last]);
        i = last + 1;
    }
}

/* Whether two ranks wait in one operation for the same ranks. */
static bool wait_alike(const rs_flight_waiting *x, const rs_flight_waiting *y)
{
    return !x->p2p && !y->p2p && x->seq == y->seq && strcmp(x->group, y->group) == 0 &&
           x->n_waits_for == y->n_waits_for;
}

static void show_waiting(const rs_request *r, const rs_flight_report *report, rs_page *layout)
{
    size_t limit = rs_request_flag(r, "verbose") ? SIZE_MAX : (size_t)rs_request_int(r, "limit"), lines = 0,
           told = 0;
    char line[900], ranks[240], waiters[240];
    int64_t together[64];
    if (!report->n_waiting) return;
    snprintf(line, sizeof line, "Waiting, not at fault (%zu)", report->n_waiting);
    rs_page_heading(layout, line, false);
    for (size_t i = 0; i < report->n_waiting; i++) {
        const rs_flight_waiting *w = &report->waiting[i];
        size_t n = 0, all = 0;
        bool before = false;
        for (size_t k = 0; k < report->n_waiting && !before; k++) {
            if (k != i && !wait_alike(w, &report->waiting[k])) continue;
            before = k < i;
            if (n < 64) together[n++] = report->waiting[k].rank;
            all++;
        }
        if (before) continue;
        if (lines++ >= limit) continue;
        told += all;
        ranks_text(w->waits_for, w->n_waits_for, ranks, sizeof ranks);
        ranks_text(together, n, waiters, sizeof waiters);
        snprintf(line, sizeof line, "%s %s in %.80s %s%lld of %.80s%s%.80s%s%s%s",
                 all == 1 ? "rank" : "ranks", waiters, w->op, w->p2p ? "p2p " : "", (long long)w->seq,
                 w->group_desc ? w->group_desc : "group ", w->group_desc ? " (group " : "", w->group,
                 w->group_desc ? ")" : "", ranks[0] ? ", for rank " : "", ranks);
        rs_page_wrap(layout, "  ", line);
    }
    if (told < report->n_waiting) {
        snprintf(line, sizeof line, "... and %zu more ranks (--verbose)", report->n_waiting - told);
        rs_page_wrap(layout, "  ", line);
    }
}

static rs_status show_table(rs_page *layout, const char *title, rs_table *table, rs_error *err)
{
    if (!table) return err->status;
    rs_status status = RS_OK;
    if (rs_table_n_rows(table)) {
        rs_page_heading(layout, title, false);
        status = rs_page_table(layout, table, err);
    }
    rs_table_free(table);
    return status;
}

/* A rank that stopped on its host and left no cause may as well have stopped in its own code: its machine is looked at, not
 * drained. */
static bool is_machine_at_fault(const rs_flight_report *report, int64_t rank)
{
    for (size_t i = 0; i < report->n_roots; i++) {
        const rs_flight_root *root = &report->roots[i];
        if (root->rank == rank && (root->kind != RS_FLIGHT_ROOT_SILENT || root->cause)) return true;
    }
    return false;
}

static const char *host_of(const rs_flight_report *report, int64_t rank)
{
    for (size_t i = 0; i < report->n_roots; i++)
        if (report->roots[i].rank == rank && report->roots[i].host) return report->roots[i].host;
    return NULL;
}

/* By host where all of them are known, for who drains them; else by rank. */
static rs_status show_isolate(const rs_flight_report *report, rs_page *layout, rs_error *err)
{
    rs_text hosts = {0}, ranks = {0};
    bool known = true;
    for (size_t i = 0; i < report->n_isolate; i++) {
        int64_t rank = report->isolate[i];
        const char *host = host_of(report, rank);
        if (!is_machine_at_fault(report, rank)) continue;
        known &= host != NULL;
        rs_text_printf(&hosts, "%s%s (rank %lld)", hosts.n ? ", " : "", host ? host : "", (long long)rank);
        rs_text_printf(&ranks, "%srank %lld", ranks.n ? ", " : "", (long long)rank);
    }
    bool ok = !ranks.n || (rs_text_get(&hosts) && rs_text_get(&ranks));
    if (ok && ranks.n) rs_page_wrap(layout, "Machines to take out: ", known ? hosts.s : ranks.s);
    rs_text_clear(&hosts);
    rs_text_clear(&ranks);
    return ok ? RS_OK : rs_fail_nomem(err, "the report");
}

rs_status rs_flight_show_text(const rs_request *r, rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    const rs_flight_report *report;
    rs_status status = rs_flight_get_report(flight, &report, err);
    if (status != RS_OK) return status;
    rs_writer writer;
    rs_writer_init(&writer, sink);
    rs_page layout = {
        .writer = &writer, .width = r->render.width, .color = r->render.color, .utf8 = r->render.utf8};
    bool healthy = report->root.verdict == RS_FLIGHT_HEALTHY;
    put_colored(&layout, healthy ? "\x1b[1;32m" : "\x1b[1;31m", report->root.summary);
    char line[256], a[32], b[32];
    snprintf(line, sizeof line, "verdict %s; %s dumps, %s operations, %zu group%s",
             rs_flight_verdict_name(report->root.verdict), rs_human_count((int64_t)report->n_ranks, a),
             rs_human_count((int64_t)report->n_entries, b), report->n_groups,
             report->n_groups == 1 ? "" : "s");
    rs_page_wrap(&layout, "", line);
    if (report->next) rs_page_wrap(&layout, "Next: ", report->next);
    if (report->decision_text) rs_page_wrap(&layout, "Decision: ", report->decision_text);
    RS_TRY(show_isolate(report, &layout, err));
    if (r->render.brief) {
        if (report->root.n_evidence) rs_page_wrap(&layout, "Proof: ", report->root.evidence[0].text);
        return rs_writer_finish(&writer, err);
    }
    show_proof(r, flight, report, &layout);
    show_findings(r, report, &layout);
    show_waiting(r, report, &layout);
    if (report->n_roots > 1) status = show_table(&layout, "Roots", rs_flight_roots(flight, err), err);
    bool all = rs_request_flag(r, "all-groups") || rs_request_text(r, "groups");
    if (status == RS_OK)
        status = show_table(&layout, "Groups",
                            all ? rs_flight_groups(flight, rs_request_text(r, "groups"), err)
                                : rs_flight_open_groups(flight, err),
                            err);
    if (status == RS_OK && rs_request_flag(r, "verbose"))
        status = show_table(&layout, "Dumps", rs_flight_dumps(flight, err), err);
    if (status == RS_OK && (rs_request_flag(r, "verbose") || report->root.verdict == RS_FLIGHT_STRAGGLER))
        status = show_table(&layout, "Lateness", rs_flight_lateness(flight, err), err);
    if (status == RS_OK && rs_request_flag(r, "verbose"))
        status = show_table(&layout, "Durations", rs_flight_collectives(flight, err), err);
    return status == RS_OK ? rs_writer_finish(&writer, err) : status;
}
