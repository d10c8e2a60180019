/* The report as one JSON object, and the record as a Chrome/Perfetto trace. */
#include "base/real.h"
#include "flight/analyse.h"
#include "base/try.h"
#include "text/meter.h"

#include <math.h>
#include <string.h>

/* At most so many entries of every list, and what that left out within entries. */
typedef struct cut {
    size_t most, inner;
    bool first; /* of the lists that were cut */
} cut;

static size_t shown_of(const cut *c, size_t n)
{
    return n < c->most ? n : c->most;
}

static void put_key(rs_writer *w, const char *key)
{
    rs_writer_json_string(w, key, strlen(key));
    rs_writer_text(w, ": ");
}

static void put_text(rs_writer *w, const char *text)
{
    if (text)
        rs_writer_json_string(w, text, strlen(text));
    else
        rs_writer_text(w, "null");
}

static void put_int_or_null(rs_writer *w, int64_t value, bool known)
{
    if (known)
        rs_writer_int(w, value);
    else
        rs_writer_text(w, "null");
}

static void put_ranks(rs_writer *w, const int64_t *ranks, size_t n)
{
    rs_writer_char(w, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) rs_writer_text(w, ", ");
        rs_writer_int(w, ranks[i]);
    }
    rs_writer_char(w, ']');
}

/* Ranks of an entry: many of them say less than the entry next to it. */
static void put_some_ranks(rs_writer *w, const int64_t *ranks, size_t n, cut *c)
{
    c->inner += n - shown_of(c, n);
    put_ranks(w, ranks, shown_of(c, n));
}

static void put_finding(rs_writer *w, const rs_flight_finding *f, const char *separator, cut *c)
{
    put_key(w, "verdict");
    put_text(w, rs_flight_verdict_name(f->verdict));
    rs_writer_text(w, separator);
    put_key(w, "group");
    put_text(w, f->group);
    rs_writer_text(w, separator);
    put_key(w, "group_desc");
    put_text(w, f->group_desc);
    rs_writer_text(w, separator);
    put_key(w, "seq");
    put_int_or_null(w, f->seq, f->seq >= 0 && !f->p2p);
    rs_writer_text(w, separator);
    put_key(w, "p2p_seq");
    put_int_or_null(w, f->seq, f->seq >= 0 && f->p2p);
    rs_writer_text(w, separator);
    put_key(w, "members");
    if (f->group)
        put_some_ranks(w, f->members, f->n_members, c);
    else
        rs_writer_text(w, "null");
    rs_writer_text(w, separator);
    put_key(w, "culprits");
    if (f->verdict == RS_FLIGHT_HEALTHY || f->verdict == RS_FLIGHT_BAD_INPUT)
        rs_writer_text(w, "null");
    else
        put_ranks(w, f->culprits, f->n_culprits);
    rs_writer_text(w, separator);
    put_key(w, "op");
    put_text(w, f->op);
    rs_writer_text(w, separator);
    put_key(w, "waiters");
    rs_writer_int(w, (int64_t)f->n_waiters);
    rs_writer_text(w, separator);
    put_key(w, "summary");
    put_text(w, f->summary);
}

static void put_cause(rs_writer *w, const rs_flight_cause *c)
{
    if (!c) {
        rs_writer_text(w, "null");
        return;
    }
    rs_writer_text(w, "{\"kind\": ");
    put_text(w, c->kind);
    rs_writer_text(w, ", \"rank\": ");
    put_int_or_null(w, c->rank, c->rank >= 0);
    rs_writer_text(w, ", \"host\": ");
    put_text(w, c->host);
    rs_writer_text(w, ", \"code\": ");
    put_int_or_null(w, c->code, c->code != INT64_MIN);
    rs_writer_text(w, ", \"exception\": ");
    put_text(w, c->exception);
    rs_writer_text(w, ", \"text\": ");
    put_text(w, c->text);
    rs_writer_text(w, ", \"where\": ");
    put_text(w, c->where);
    rs_writer_text(w, ", \"time_ns\": ");
    put_int_or_null(w, c->time_ns, c->time_ns != 0);
    rs_writer_text(w, ", \"on_host\": ");
    rs_writer_text(w, c->on_host ? "true" : "false");
    rs_writer_text(w, ", \"file\": ");
    put_text(w, c->file);
    rs_writer_text(w, ", \"line\": ");
    put_int_or_null(w, c->line, c->line > 0);
    rs_writer_char(w, '}');
}

static void put_root(rs_writer *w, const rs_flight_root *r)
{
    rs_writer_text(w, "{\"rank\": ");
    put_int_or_null(w, r->rank, r->rank >= 0);
    rs_writer_text(w, ", \"kind\": ");
    put_text(w, rs_flight_root_kind_name(r->kind));
    rs_writer_text(w, ", \"verdict\": ");
    put_text(w, rs_flight_verdict_name(r->verdict));
    rs_writer_text(w, ", \"group\": ");
    put_text(w, r->group);
    rs_writer_text(w, ", \"group_desc\": ");
    put_text(w, r->group_desc);
    rs_writer_text(w, ", \"seq\": ");
    put_int_or_null(w, r->seq, r->seq >= 0 && !r->p2p);
    rs_writer_text(w, ", \"p2p_seq\": ");
    put_int_or_null(w, r->seq, r->seq >= 0 && r->p2p);
    rs_writer_text(w, ", \"op\": ");
    put_text(w, r->op);
    rs_writer_text(w, ", \"last_completed\": ");
    put_int_or_null(w, r->last_completed, r->last_completed >= 0);
    rs_writer_text(w, ", \"frontier\": ");
    put_int_or_null(w, r->frontier, r->frontier >= 0);
    rs_writer_text(w, ", \"behind\": ");
    put_int_or_null(w, r->frontier - r->last_completed, r->frontier >= 0 && r->last_completed >= 0);
    rs_writer_text(w, ", \"open_ops\": ");
    rs_writer_int(w, (int64_t)r->open_ops);
    rs_writer_text(w, ", \"first_open_ns\": ");
    put_int_or_null(w, r->first_open_ns, r->first_open_ns != 0);
    rs_writer_text(w, ", \"host\": ");
    put_text(w, r->host);
    rs_writer_text(w, ", \"where\": ");
    put_text(w, r->where);
    rs_writer_text(w, ", \"state\": ");
    put_text(w, r->state);
    rs_writer_text(w, ", \"waiters\": ");
    rs_writer_int(w, (int64_t)r->waiters);
    rs_writer_text(w, ", \"cause\": ");
    put_cause(w, r->cause);
    rs_writer_char(w, '}');
}

static void put_roots(rs_writer *w, const rs_flight_report *report, const cut *c)
{
    rs_writer_text(w, ",\n  \"roots\": [");
    for (size_t i = 0; i < shown_of(c, report->n_roots); i++) {
        rs_writer_text(w, i ? ",\n    " : "\n    ");
        put_root(w, &report->roots[i]);
    }
    rs_writer_text(w, shown_of(c, report->n_roots) ? "\n  ],\n  \"cause\": " : "],\n  \"cause\": ");
    put_cause(w, report->cause);
    rs_writer_text(w, ",\n  \"isolate\": ");
    put_ranks(w, report->isolate, report->n_isolate);
    rs_writer_text(w, ",\n  \"next\": ");
    put_text(w, report->next);
    if (report->decision != RS_FLIGHT_UNDECIDED) {
        rs_writer_text(w, ",\n  \"decision\": {\"action\": ");
        put_text(w, rs_flight_decision_name(report->decision));
        rs_writer_text(w, ", \"host\": ");
        put_text(w, report->decision_host);
        rs_writer_text(w, ", \"records\": ");
        rs_writer_int(w, (int64_t)report->n_records);
        rs_writer_text(w, ", \"text\": ");
        put_text(w, report->decision_text);
        rs_writer_char(w, '}');
    }
    rs_writer_text(w, ",\n  \"shapes\": {");
    bool first = true;
    for (size_t s = 0; s < RS_FL_N_SHAPES; s++) {
        if (!report->shapes[s]) continue;
        if (!first) rs_writer_text(w, ", ");
        first = false;
        put_key(w, rs_flight_shape_name(s));
        rs_writer_int(w, (int64_t)report->shapes[s]);
    }
    rs_writer_char(w, '}');
}

static void put_attempts(rs_writer *w, const rs_flight_report *report, const cut *c)
{
    rs_writer_text(w, ",\n  \"attempts\": [");
    for (size_t i = 0; i < shown_of(c, report->n_attempts); i++) {
        const rs_flight_attempt *a = &report->attempts[i];
        rs_writer_text(w, i ? ",\n    {\"attempt\": " : "\n    {\"attempt\": ");
        rs_writer_uint(w, i);
        rs_writer_text(w, ", \"outcome\": ");
        put_text(w, a->outcome);
        rs_writer_text(w, a->judged ? ", \"judged\": true, \"local_rank\": "
                                    : ", \"judged\": false, \"local_rank\": ");
        put_int_or_null(w, a->local_rank, a->local_rank >= 0);
        rs_writer_text(w, ", \"pid\": ");
        put_int_or_null(w, a->pid, a->pid >= 0);
        rs_writer_text(w, ", \"lines\": ");
        rs_writer_uint(w, a->n_lines);
        rs_writer_text(w, ", \"events\": ");
        rs_writer_uint(w, a->n_events);
        rs_writer_text(w, ", \"cause\": ");
        put_cause(w, a->cause);
        rs_writer_char(w, '}');
    }
    rs_writer_text(w, shown_of(c, report->n_attempts) ? "\n  ]" : "]");
}

static void put_frames(rs_writer *w, rs_flight *flight, uint32_t stack, cut *c)
{
    const char *line = rs_flight_stack(flight, stack);
    rs_writer_char(w, '[');
    for (size_t i = 0; *line; i++) {
        size_t n = strcspn(line, "\n");
        if (i < c->most) {
            if (i) rs_writer_text(w, ", ");
            rs_writer_json_string(w, line, n);
        } else {
            c->inner++;
        }
        line += n;
        if (*line) line++;
    }
    rs_writer_char(w, ']');
}

static void put_evidence(rs_writer *w, rs_flight *flight, const rs_flight_finding *f, cut *c)
{
    for (size_t i = 0; i < shown_of(c, f->n_evidence); i++) {
        const rs_flight_evidence *e = &f->evidence[i];
        rs_writer_text(w, i ? ",\n    {" : "\n    {");
        put_key(w, "rank");
        put_int_or_null(w, e->rank, e->rank >= 0);
        rs_writer_text(w, ", \"record_id\": ");
        put_int_or_null(w, e->record_id, e->record_id >= 0);
        rs_writer_text(w, ", \"state\": ");
        put_text(w, e->state);
        rs_writer_text(w, ", \"text\": ");
        put_text(w, e->text);
        rs_writer_text(w, ", \"frames\": ");
        put_frames(w, flight, e->stack, c);
        rs_writer_char(w, '}');
    }
}

static void put_waiting(rs_writer *w, const rs_flight_report *report, cut *c)
{
    for (size_t i = 0; i < shown_of(c, report->n_waiting); i++) {
        const rs_flight_waiting *r = &report->waiting[i];
        rs_writer_text(w, i ? ",\n    {\"rank\": " : "\n    {\"rank\": ");
        rs_writer_int(w, r->rank);
        rs_writer_text(w, ", \"group\": ");
        put_text(w, r->group);
        rs_writer_text(w, ", \"group_desc\": ");
        put_text(w, r->group_desc);
        rs_writer_text(w, ", \"seq\": ");
        put_int_or_null(w, r->seq, !r->p2p);
        rs_writer_text(w, ", \"p2p_seq\": ");
        put_int_or_null(w, r->seq, r->p2p);
        rs_writer_text(w, ", \"op\": ");
        put_text(w, r->op);
        rs_writer_text(w, ", \"state\": ");
        put_text(w, r->state);
        rs_writer_text(w, ", \"waits_for\": ");
        put_some_ranks(w, r->waits_for, r->n_waits_for, c);
        rs_writer_char(w, '}');
    }
}

static void put_problems(rs_writer *w, const rs_problems *problems, const cut *c)
{
    static const char *const severities[] = {"note", "warning", "loss"};
    for (size_t i = 0; i < shown_of(c, problems->n); i++) {
        const rs_problem *p = &problems->items[i];
        rs_writer_text(w, i ? ",\n    {\"file\": " : "\n    {\"file\": ");
        put_text(w, p->file);
        rs_writer_text(w, ", \"rank\": ");
        put_int_or_null(w, p->rank, p->rank >= 0);
        rs_writer_text(w, ", \"offset\": ");
        if (p->n_offsets)
            rs_writer_uint(w, p->offsets[0]);
        else
            rs_writer_text(w, "null");
        rs_writer_text(w, ", \"kind\": ");
        put_text(w, p->kind);
        rs_writer_text(w, ", \"message\": ");
        put_text(w, p->message);
        rs_writer_text(w, ", \"severity\": ");
        put_text(w, severities[p->severity]);
        rs_writer_text(w, ", \"count\": ");
        rs_writer_uint(w, p->count);
        rs_writer_text(w, ", \"detail\": ");
        put_text(w, p->detail);
        rs_writer_char(w, '}');
    }
}

static void put_left(rs_writer *w, const char *list, size_t n, cut *c)
{
    size_t shown = shown_of(c, n);
    if (shown == n) return;
    rs_writer_text(w, c->first ? "\n    {\"list\": \"" : ",\n    {\"list\": \"");
    c->first = false;
    rs_writer_text(w, list);
    rs_writer_text(w, "\", \"entries\": ");
    rs_writer_uint(w, n);
    rs_writer_text(w, ", \"shown\": ");
    rs_writer_uint(w, shown);
    rs_writer_char(w, '}');
}

static void put_left_out(rs_writer *w, const rs_flight_report *report, cut *c)
{
    size_t inner = c->inner;
    c->first = true;
    rs_writer_text(w, ",\n  \"left_out\": [");
    put_left(w, "roots", report->n_roots, c);
    put_left(w, "attempts", report->n_attempts, c);
    put_left(w, "evidence", report->root.n_evidence, c);
    put_left(w, "waiting", report->n_waiting, c);
    put_left(w, "findings", report->n_findings, c);
    put_left(w, "problems", report->problems->n, c);
    rs_writer_text(w, c->first ? "],\n  \"left_out_within\": " : "\n  ],\n  \"left_out_within\": ");
    rs_writer_uint(w, inner);
    if (!c->first || inner) rs_writer_text(w, ",\n  \"rest\": \"the same command without --budget\"");
}

/* most: entries of each list; SIZE_MAX without a budget. */
static void put_report(rs_writer *w, rs_flight *flight, const rs_flight_report *report, bool budget,
                       size_t most)
{
    cut c = {.most = most};
    rs_writer_text(w, "{");
    put_finding(w, &report->root, ",\n  ", &c);
    put_roots(w, report, &c);
    put_attempts(w, report, &c);
    rs_writer_text(w, ",\n  \"evidence\": [");
    put_evidence(w, flight, &report->root, &c);
    rs_writer_text(w, shown_of(&c, report->root.n_evidence) ? "\n  ],\n  \"waiting\": ["
                                                            : "],\n  \"waiting\": [");
    put_waiting(w, report, &c);
    rs_writer_text(w,
                   shown_of(&c, report->n_waiting) ? "\n  ],\n  \"findings\": [" : "],\n  \"findings\": [");
    for (size_t i = 0; i < shown_of(&c, report->n_findings); i++) {
        rs_writer_text(w, i ? ",\n    {" : "\n    {");
        put_finding(w, &report->findings[i], ", ", &c);
        rs_writer_char(w, '}');
    }
    rs_writer_text(w,
                   shown_of(&c, report->n_findings) ? "\n  ],\n  \"problems\": [" : "],\n  \"problems\": [");
    put_problems(w, report->problems, &c);
    rs_writer_text(w, shown_of(&c, report->problems->n) ? "\n  ]" : "]");
    if (budget) put_left_out(w, report, &c);
    rs_writer_text(w, ",\n  \"dumps\": ");
    rs_writer_int(w, (int64_t)report->n_ranks);
    rs_writer_text(w, ", \"unusable\": ");
    rs_writer_int(w, (int64_t)report->n_unusable);
    rs_writer_text(w, ", \"entries\": ");
    rs_writer_int(w, (int64_t)report->n_entries);
    rs_writer_text(w, ", \"groups\": ");
    rs_writer_int(w, (int64_t)report->n_groups);
    rs_writer_text(w, "}\n");
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

static void put_name(rs_writer *w, const char *kind, int64_t pid, int64_t tid, const char *name, bool *first)
{
    rs_writer_text(w, *first ? "\n{\"ph\": \"M\", \"name\": " : ",\n{\"ph\": \"M\", \"name\": ");
    *first = false;
    put_text(w, kind);
    rs_writer_text(w, ", \"pid\": ");
    rs_writer_int(w, pid);
    rs_writer_text(w, ", \"tid\": ");
    rs_writer_int(w, tid);
    rs_writer_text(w, ", \"args\": {\"name\": ");
    put_text(w, name);
    rs_writer_text(w, "}}");
}

static void put_argument(rs_writer *w, const char *key, const char *value)
{
    rs_writer_text(w, ", ");
    put_key(w, key);
    put_text(w, value);
}

/* One slice. What runs on one track never overlaps there: it is shown from its start, or the end of what came
 * before. */
static void put_slice(rs_writer *w, const rs_flight *flight, const rs_fl_rank *rank, const rs_fl_entry *e,
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
    rs_writer_text(w, ",\n{\"ph\": \"X\", \"name\": ");
    put_text(w, rs_fl_text(flight, c->op));
    rs_writer_text(w, ", \"cat\": ");
    put_text(w, e->is_p2p ? "p2p" : "collective");
    rs_writer_text(w, ", \"pid\": ");
    rs_writer_int(w, rank->rank);
    rs_writer_text(w, ", \"tid\": ");
    rs_writer_int(w, (int64_t)e->group + 1);
    rs_writer_text(w, ", \"ts\": ");
    rs_writer_time(w, begin - zero, RS_UNIT_US);
    rs_writer_text(w, ", \"dur\": ");
    rs_writer_time(w, end - begin, RS_UNIT_US);
    rs_writer_text(w, ", \"args\": {\"record_id\": ");
    rs_writer_int(w, e->record_id);
    rs_writer_text(w, e->is_p2p ? ", \"p2p_seq\": " : ", \"seq\": ");
    rs_writer_int(w, e->is_p2p ? e->p2p_seq : e->seq);
    put_argument(w, "state", rs_fl_state_name((rs_fl_state)e->state));
    put_argument(w, "name", rs_fl_text(flight, c->name));
    put_argument(w, "input", rs_fl_text(flight, c->in_sizes));
    put_argument(w, "input types", rs_fl_text(flight, c->in_dtypes));
    put_argument(w, "output", rs_fl_text(flight, c->out_sizes));
    rs_writer_text(w, ", \"created\": ");
    rs_writer_time(w, rs_sub_sat(rs_fl_common(rank, e->created), zero), RS_UNIT_US);
    rs_writer_text(w, "}}");
}

static rs_status write_rank(rs_writer *w, rs_flight *flight, const rs_fl_rank *rank, int64_t zero,
                            track *tracks, bool *first, rs_error *err)
{
    char *name = rs_fl_print(flight, "rank %lld", (long long)rank->rank);
    if (!name) return rs_fail_nomem(err, "the timeline");
    put_name(w, "process_name", rank->rank, 0, name, first);
    for (size_t m = 0; m < rank->n_members; m++) {
        const rs_fl_member *member = &rank->members[m];
        if (!member->n && !member->n_p2p) continue;
        const char *group = rs_fl_group_text(flight, member->group);
        if (!group) return rs_fail_nomem(err, "the timeline");
        put_name(w, "thread_name", rank->rank, (int64_t)member->group + 1, group, first);
        tracks[member->group] = (track){0};
    }
    for (size_t i = 0; i < rank->n && !w->failed; i++)
        if (rank->entries[i].created)
            put_slice(w, flight, rank, &rank->entries[i], zero, &tracks[rank->entries[i].group]);
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
    rs_writer_text(&w, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    bool first = true;
    for (size_t r = 0; r < flight->n_ranks && status == RS_OK; r++)
        status = write_rank(&w, flight, &flight->ranks[r], zero, tracks, &first, err);
    rs_writer_text(&w, "\n]}\n");
    return status == RS_OK ? rs_writer_finish(&w, err) : status;
}
