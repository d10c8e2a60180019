/* The report as one JSON object, and the record as a Chrome/Perfetto trace. */
#include "base/real.h"
#include "flight/analyse.h"
#include "base/try.h"
#include "text/json_put.h"
#include "text/meter.h"

#include <string.h>

/* At most so many entries of every list, and what that left out within entries. */
typedef struct cut {
    size_t most, inner;
} cut;

static size_t shown_of(const cut *c, size_t n)
{
    return n < c->most ? n : c->most;
}

/* Ranks of an entry: many of them say less than the entry next to it. */
static void put_some_ranks(rs_json_put *j, const char *name, const int64_t *ranks, size_t n, cut *c)
{
    c->inner += n - shown_of(c, n);
    rs_json_put_ints(j, name, ranks, shown_of(c, n));
}

static void put_finding(rs_json_put *j, const rs_flight_finding *f, cut *c)
{
    rs_json_put_text(j, "verdict", rs_flight_verdict_name(f->verdict));
    rs_json_put_text(j, "group", f->group);
    rs_json_put_text(j, "group_desc", f->group_desc);
    rs_json_put_known(j, "seq", f->seq, f->seq >= 0 && !f->p2p);
    rs_json_put_known(j, "p2p_seq", f->seq, f->seq >= 0 && f->p2p);
    if (f->group)
        put_some_ranks(j, "members", f->members, f->n_members, c);
    else
        rs_json_put_text(j, "members", NULL);
    if (f->verdict == RS_FLIGHT_HEALTHY || f->verdict == RS_FLIGHT_BAD_INPUT)
        rs_json_put_text(j, "culprits", NULL);
    else
        rs_json_put_ints(j, "culprits", f->culprits, f->n_culprits);
    rs_json_put_text(j, "op", f->op);
    rs_json_put_uint(j, "waiters", f->n_waiters);
    rs_json_put_text(j, "summary", f->summary);
}

static void put_cause(rs_json_put *j, const rs_flight_cause *c)
{
    if (!c) {
        rs_json_put_text(j, "cause", NULL);
        return;
    }
    rs_json_put_open(j, "cause", '{', RS_JSON_LINE);
    rs_json_put_text(j, "kind", c->kind);
    rs_json_put_known(j, "rank", c->rank, c->rank >= 0);
    rs_json_put_text(j, "host", c->host);
    rs_json_put_known(j, "code", c->code, c->code != INT64_MIN);
    rs_json_put_text(j, "exception", c->exception);
    rs_json_put_text(j, "text", c->text);
    rs_json_put_text(j, "where", c->where);
    rs_json_put_known(j, "time_ns", c->time_ns, c->time_ns != 0);
    rs_json_put_bool(j, "on_host", c->on_host);
    rs_json_put_text(j, "file", c->file);
    rs_json_put_known(j, "line", c->line, c->line > 0);
    rs_json_put_close(j);
}

static void put_root(rs_json_put *j, const rs_flight_root *r)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_known(j, "rank", r->rank, r->rank >= 0);
    rs_json_put_text(j, "kind", rs_flight_root_kind_name(r->kind));
    rs_json_put_text(j, "verdict", rs_flight_verdict_name(r->verdict));
    rs_json_put_text(j, "group", r->group);
    rs_json_put_text(j, "group_desc", r->group_desc);
    rs_json_put_known(j, "seq", r->seq, r->seq >= 0 && !r->p2p);
    rs_json_put_known(j, "p2p_seq", r->seq, r->seq >= 0 && r->p2p);
    rs_json_put_text(j, "op", r->op);
    rs_json_put_known(j, "last_completed", r->last_completed, r->last_completed >= 0);
    rs_json_put_known(j, "frontier", r->frontier, r->frontier >= 0);
    rs_json_put_known(j, "behind", r->frontier - r->last_completed,
                      r->frontier >= 0 && r->last_completed >= 0);
    rs_json_put_uint(j, "open_ops", r->open_ops);
    rs_json_put_known(j, "first_open_ns", r->first_open_ns, r->first_open_ns != 0);
    rs_json_put_text(j, "host", r->host);
    rs_json_put_text(j, "where", r->where);
    rs_json_put_text(j, "state", r->state);
    rs_json_put_uint(j, "waiters", r->waiters);
    put_cause(j, r->cause);
    rs_json_put_close(j);
}

static void put_roots(rs_json_put *j, const rs_flight_report *report, const cut *c)
{
    rs_json_put_open(j, "roots", '[', RS_JSON_LINES);
    for (size_t i = 0; i < shown_of(c, report->n_roots); i++) put_root(j, &report->roots[i]);
    rs_json_put_close(j);
    put_cause(j, report->cause);
    rs_json_put_ints(j, "isolate", report->isolate, report->n_isolate);
    rs_json_put_text(j, "next", report->next);
    if (report->decision != RS_FLIGHT_UNDECIDED) {
        rs_json_put_open(j, "decision", '{', RS_JSON_LINE);
        rs_json_put_text(j, "action", rs_flight_decision_name(report->decision));
        rs_json_put_text(j, "host", report->decision_host);
        rs_json_put_uint(j, "records", report->n_records);
        rs_json_put_text(j, "text", report->decision_text);
        rs_json_put_close(j);
    }
    rs_json_put_open(j, "shapes", '{', RS_JSON_LINE);
    for (size_t s = 0; s < RS_FL_N_SHAPES; s++)
        if (report->shapes[s]) rs_json_put_uint(j, rs_flight_shape_name(s), report->shapes[s]);
    rs_json_put_close(j);
}

static void put_attempts(rs_json_put *j, const rs_flight_report *report, const cut *c)
{
    rs_json_put_open(j, "attempts", '[', RS_JSON_LINES);
    for (size_t i = 0; i < shown_of(c, report->n_attempts); i++) {
        const rs_flight_attempt *a = &report->attempts[i];
        rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
        rs_json_put_uint(j, "attempt", i);
        rs_json_put_text(j, "outcome", a->outcome);
        rs_json_put_bool(j, "judged", a->judged);
        rs_json_put_known(j, "local_rank", a->local_rank, a->local_rank >= 0);
        rs_json_put_known(j, "pid", a->pid, a->pid >= 0);
        rs_json_put_uint(j, "lines", a->n_lines);
        rs_json_put_uint(j, "events", a->n_events);
        put_cause(j, a->cause);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
}

static void put_frames(rs_json_put *j, rs_flight *flight, uint32_t stack, cut *c)
{
    const char *line = rs_flight_stack(flight, stack);
    rs_json_put_open(j, "frames", '[', RS_JSON_LINE);
    for (size_t i = 0; *line; i++) {
        size_t n = strcspn(line, "\n");
        if (i < c->most) {
            rs_json_put_string(j, NULL, line, n);
        } else {
            c->inner++;
        }
        line += n;
        if (*line) line++;
    }
    rs_json_put_close(j);
}

static void put_evidence(rs_json_put *j, rs_flight *flight, const rs_flight_finding *f, cut *c)
{
    rs_json_put_open(j, "evidence", '[', RS_JSON_LINES);
    for (size_t i = 0; i < shown_of(c, f->n_evidence); i++) {
        const rs_flight_evidence *e = &f->evidence[i];
        rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
        rs_json_put_known(j, "rank", e->rank, e->rank >= 0);
        rs_json_put_known(j, "record_id", e->record_id, e->record_id >= 0);
        rs_json_put_text(j, "state", e->state);
        rs_json_put_text(j, "text", e->text);
        put_frames(j, flight, e->stack, c);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
}

static void put_waiting(rs_json_put *j, const rs_flight_report *report, cut *c)
{
    rs_json_put_open(j, "waiting", '[', RS_JSON_LINES);
    for (size_t i = 0; i < shown_of(c, report->n_waiting); i++) {
        const rs_flight_waiting *r = &report->waiting[i];
        rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
        rs_json_put_int(j, "rank", r->rank);
        rs_json_put_text(j, "group", r->group);
        rs_json_put_text(j, "group_desc", r->group_desc);
        rs_json_put_known(j, "seq", r->seq, !r->p2p);
        rs_json_put_known(j, "p2p_seq", r->seq, r->p2p);
        rs_json_put_text(j, "op", r->op);
        rs_json_put_text(j, "state", r->state);
        put_some_ranks(j, "waits_for", r->waits_for, r->n_waits_for, c);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
}

static void put_problems(rs_json_put *j, const rs_problems *problems, const cut *c)
{
    static const char *const severities[] = {"note", "warning", "loss"};
    rs_json_put_open(j, "problems", '[', RS_JSON_LINES);
    for (size_t i = 0; i < shown_of(c, problems->n); i++) {
        const rs_problem *p = &problems->items[i];
        rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
        rs_json_put_text(j, "file", p->file);
        rs_json_put_known(j, "rank", p->rank, p->rank >= 0);
        if (p->n_offsets)
            rs_json_put_uint(j, "offset", p->offsets[0]);
        else
            rs_json_put_text(j, "offset", NULL);
        rs_json_put_text(j, "kind", p->kind);
        rs_json_put_text(j, "message", p->message);
        rs_json_put_text(j, "severity", severities[p->severity]);
        rs_json_put_uint(j, "count", p->count);
        rs_json_put_text(j, "detail", p->detail);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
}

static void put_left_out(rs_json_put *j, const rs_flight_report *report, const cut *c)
{
    const struct {
        const char *list;
        size_t n;
    } lists[] = {{"roots", report->n_roots},
                 {"attempts", report->n_attempts},
                 {"evidence", report->root.n_evidence},
                 {"waiting", report->n_waiting},
                 {"findings", report->n_findings},
                 {"problems", report->problems->n}};
    bool any = c->inner != 0;
    rs_json_put_open(j, "left_out", '[', RS_JSON_LINES);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t shown = shown_of(c, lists[i].n);
        if (shown == lists[i].n) continue;
        any = true;
        rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
        rs_json_put_text(j, "list", lists[i].list);
        rs_json_put_uint(j, "entries", lists[i].n);
        rs_json_put_uint(j, "shown", shown);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
    rs_json_put_uint(j, "left_out_within", c->inner);
    if (any) rs_json_put_text(j, "rest", "the same command without --budget");
}

/* most: entries of each list; SIZE_MAX without a budget. */
static void put_report(rs_writer *w, rs_flight *flight, const rs_flight_report *report, bool budget,
                       size_t most)
{
    cut c = {.most = most};
    rs_json_put j;
    rs_json_put_init(&j, w);
    rs_json_put_open(&j, NULL, '{', RS_JSON_BREAKS);
    put_finding(&j, &report->root, &c);
    put_roots(&j, report, &c);
    put_attempts(&j, report, &c);
    put_evidence(&j, flight, &report->root, &c);
    put_waiting(&j, report, &c);
    rs_json_put_open(&j, "findings", '[', RS_JSON_LINES);
    for (size_t i = 0; i < shown_of(&c, report->n_findings); i++) {
        rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
        put_finding(&j, &report->findings[i], &c);
        rs_json_put_close(&j);
    }
    rs_json_put_close(&j);
    put_problems(&j, report->problems, &c);
    if (budget) put_left_out(&j, report, &c);
    rs_json_put_uint(&j, "dumps", report->n_ranks);
    rs_json_put_layout(&j, RS_JSON_LINE);
    rs_json_put_uint(&j, "unusable", report->n_unusable);
    rs_json_put_uint(&j, "entries", report->n_entries);
    rs_json_put_uint(&j, "groups", report->n_groups);
    rs_json_put_close(&j);
    rs_writer_char(w, '\n');
}

static size_t length_of(rs_meter *meter, rs_flight *flight, const rs_flight_report *report, size_t most)
{
    rs_meter_init(meter, SIZE_MAX);
    put_report(&meter->writer, flight, report, true, most);
    return rs_meter_bytes(meter);
}

/* How many entries each list may have so that the report fits, found by halving. The report always fits with the answer.
 * At times one entry more would fit as well, because the line about a list that was cut goes when nothing is cut. */
static rs_status choose_most(rs_flight *flight, const rs_flight_report *report, size_t budget, size_t *most,
                             rs_error *err)
{
    RS_LOCAL rs_meter *meter = rs_malloc(sizeof *meter);
    if (!meter) return rs_fail_nomem(err, "the report");
    size_t fits = 0, too_many = budget + 1, least = length_of(meter, flight, report, 0);
    if (length_of(meter, flight, report, SIZE_MAX) <= budget) {
        fits = SIZE_MAX;
    } else {
        while (fits + 1 < too_many) {
            size_t middle = fits + (too_many - fits) / 2;
            if (length_of(meter, flight, report, middle) <= budget)
                fits = middle;
            else
                too_many = middle;
        }
    }
    *most = fits;
    if (fits == 0 && least > budget)
        return rs_fail(err, RS_ERR_USAGE,
                       "--budget %zu is too little: this verdict takes %zu bytes without any list", budget,
                       least);
    return RS_OK;
}

rs_status rs_flight_write_json_within(rs_flight *flight, size_t budget, const rs_sink *sink, rs_error *err)
{
    const rs_flight_report *report;
    size_t most = SIZE_MAX;
    RS_TRY(rs_flight_get_report(flight, &report, err));
    if (budget) RS_TRY(choose_most(flight, report, budget, &most, err));
    rs_writer w;
    rs_writer_init(&w, sink);
    put_report(&w, flight, report, budget != 0, most);
    return rs_writer_finish(&w, err);
}

rs_status rs_flight_write_json(rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    return rs_flight_write_json_within(flight, 0, sink, err);
}

/* ---- timeline ------------------------------------------------------------------------------------------ */

typedef struct track {
    int64_t end; /* of the last event on it */
    bool used;
} track;

/* One slice. What runs on one track never overlaps there: it is shown from its start, or the end of what came
 * before. */
static void put_slice(rs_json_put *j, const rs_flight *flight, const rs_fl_rank *rank, const rs_fl_entry *e,
                      int64_t zero, track *t)
{
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    int64_t begin = rs_fl_common(rank, e->started ? e->started : e->created);
    int64_t end = e->completed ? rs_fl_common(rank, e->completed) : flight->report.newest_ns;
    if (e->completed && e->duration_ms >= 0 && e->duration_ms < 9e9 && !e->started)
        begin = rs_sub_sat(end, rs_int_of(e->duration_ms * 1e6));
    if (t->used && begin < t->end) begin = t->end;
    if (end < begin) end = begin;
    *t = (track){end, true};
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "ph", "X");
    rs_json_put_text(j, "name", rs_fl_text(flight, c->op));
    rs_json_put_text(j, "cat", e->is_p2p ? "p2p" : "collective");
    rs_json_put_int(j, "pid", rank->rank);
    rs_json_put_int(j, "tid", (int64_t)e->group + 1);
    rs_json_put_time(j, "ts", begin - zero, RS_UNIT_US);
    rs_json_put_time(j, "dur", end - begin, RS_UNIT_US);
    rs_json_put_open(j, "args", '{', RS_JSON_LINE);
    rs_json_put_int(j, "record_id", e->record_id);
    rs_json_put_int(j, e->is_p2p ? "p2p_seq" : "seq", e->is_p2p ? e->p2p_seq : e->seq);
    rs_json_put_text(j, "state", rs_fl_state_name((rs_fl_state)e->state));
    rs_json_put_text(j, "name", rs_fl_text(flight, c->name));
    rs_json_put_text(j, "input", rs_fl_text(flight, c->in_sizes));
    rs_json_put_text(j, "input types", rs_fl_text(flight, c->in_dtypes));
    rs_json_put_text(j, "output", rs_fl_text(flight, c->out_sizes));
    rs_json_put_time(j, "created", rs_sub_sat(rs_fl_common(rank, e->created), zero), RS_UNIT_US);
    rs_json_put_close(j);
    rs_json_put_close(j);
}

static rs_status write_rank(rs_json_put *j, rs_flight *flight, const rs_fl_rank *rank, int64_t zero,
                            track *tracks, rs_error *err)
{
    char *name = rs_fl_print(flight, "rank %lld", (long long)rank->rank);
    if (!name) return rs_fail_nomem(err, "the timeline");
    rs_json_put_track(j, "process_name", rank->rank, 0, name);
    for (size_t m = 0; m < rank->n_members; m++) {
        const rs_fl_member *member = &rank->members[m];
        if (!member->n && !member->n_p2p) continue;
        const char *group = rs_fl_group_text(flight, member->group);
        if (!group) return rs_fail_nomem(err, "the timeline");
        rs_json_put_track(j, "thread_name", rank->rank, (int64_t)member->group + 1, group);
        tracks[member->group] = (track){0};
    }
    for (size_t i = 0; i < rank->n && !j->writer->failed; i++)
        if (rank->entries[i].created)
            put_slice(j, flight, rank, &rank->entries[i], zero, &tracks[rank->entries[i].group]);
    return RS_OK;
}

rs_status rs_flight_write_timeline(rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    const rs_flight_report *report; /* its making estimates the clocks */
    rs_status status = rs_flight_get_report(flight, &report, err);
    if (status != RS_OK) return status;
    int64_t zero = INT64_MAX;
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t i = 0; i < flight->ranks[r].n; i++) {
            int64_t ns = rs_fl_common(&flight->ranks[r], flight->ranks[r].entries[i].created);
            if (ns && ns < zero) zero = ns;
        }
    RS_LOCAL track *tracks = rs_calloc(flight->n_groups, sizeof *tracks);
    if (!tracks) return rs_fail_nomem(err, "the timeline");
    rs_writer w;
    rs_writer_init(&w, sink);
    rs_json_put j;
    rs_json_put_init(&j, &w);
    rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(&j, "displayTimeUnit", "ms");
    rs_json_put_open(&j, "traceEvents", '[', RS_JSON_ROWS);
    for (size_t r = 0; r < flight->n_ranks && status == RS_OK; r++)
        status = write_rank(&j, flight, &flight->ranks[r], zero, tracks, err);
    rs_json_put_close(&j);
    rs_json_put_close(&j);
    rs_writer_char(&w, '\n');
    return status == RS_OK ? rs_writer_finish(&w, err) : status;
}
