/* Why: the origin that a log or a stack gives a root. What a hang does to everybody (watchdogs, aborts, the
 * launcher's signals) is never one. */
#include "flight/causation.h"

#include "base/try.h"
#include "flight/log.h"

#include <inttypes.h>
#include <string.h>

#define MAX_ENDS 4096                /* ranks that only the log accuses */
#define TOGETHER INT64_C(5000000000) /* ns: events so close belong to one failure */

/* ---- choosing ------------------------------------------------------------------------------------------ */

/* Whether a comes before b: by place in one log, else by time; unknown times decide nothing. */
bool rs_fl_is_before(const rs_fl_event *a, const rs_fl_event *b)
{
    if (a->file == b->file) return a->line < b->line;
    return a->time_ns && b->time_ns && a->yearless == b->yearless && a->time_ns < b->time_ns;
}

bool rs_fl_is_together(const rs_fl_event *first, const rs_fl_event *e)
{
    if (!first->time_ns || !e->time_ns || first->yearless != e->yearless) return first->file == e->file;
    int64_t apart = e->time_ns - first->time_ns;
    return apart <= TOGETHER && apart >= -TOGETHER;
}

/* Kinds that say no more than that the process ended. */
bool rs_fl_is_bare_end(const rs_fl_event *e)
{
    return e->kind == RS_FL_EV_KILLED || e->kind == RS_FL_EV_EXIT || e->kind == RS_FL_EV_UNREACHABLE;
}

static bool is_origin(const rs_fl_event *e)
{
    return e->role == RS_FL_ORIGIN && e->fatal && !e->past;
}

typedef bool (*belongs_fn)(const void *context, const rs_fl_event *e);

/* The deepest of the earliest origins that belong; NULL. */
static const rs_fl_event *deepest(const rs_fl_log *log, belongs_fn belongs, const void *context, bool bare,
                                  const rs_fl_event *before)
{
    const rs_fl_event *first = NULL, *best = NULL;
    for (size_t i = 0; i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        if (!is_origin(e) || rs_fl_is_bare_end(e) != bare || !belongs(context, e) ||
            (before && rs_fl_is_before(before, e)))
            continue;
        if (!first || rs_fl_is_before(e, first)) first = e;
    }
    for (size_t i = 0; first && i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        if (!is_origin(e) || rs_fl_is_bare_end(e) != bare || !belongs(context, e) ||
            (before && rs_fl_is_before(before, e)))
            continue;
        if (rs_fl_is_together(first, e) &&
            (!best || e->kind < best->kind || (e->kind == best->kind && rs_fl_is_before(e, best))))
            best = e;
    }
    return best;
}

static bool of_rank(const void *context, const rs_fl_event *e)
{
    return e->rank == *(const int64_t *)context;
}

/* What came after the rank's first consequence, its own time-out may have made: it counts only where nothing
 * else is. */
static const rs_fl_event *origin_of(const rs_fl_log *log, int64_t rank)
{
    const rs_fl_event *first = NULL, *found = NULL;
    for (size_t i = 0; i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        if (e->role == RS_FL_CONSEQUENCE && !e->past && e->rank == rank &&
            (!first || rs_fl_is_before(e, first)))
            first = e;
    }
    for (int pass = 0; pass < 4 && !found; pass++)
        found = deepest(log, of_rank, &rank, pass % 2 == 1, pass < 2 ? first : NULL);
    return found;
}

typedef struct of_host {
    uint32_t host;
    bool gone; /* the rank left no dump */
} of_host;

static bool strikes_host(const void *context, const rs_fl_event *e)
{
    const of_host *h = context;
    if (e->rank >= 0) return false;
    if (e->kind == RS_FL_EV_HOST_OOM && e->step_only && e->host == RS_FL_NONE) return h->gone;
    if (e->kind != RS_FL_EV_NODE_FAILURE && e->kind != RS_FL_EV_XID && e->kind != RS_FL_EV_HOST_OOM &&
        e->kind != RS_FL_EV_SXID && e->kind != RS_FL_EV_PCIE_ERROR && e->kind != RS_FL_EV_ECC)
        return false;
    return h->host != RS_FL_NONE && e->host == h->host;
}

static bool hits_group(const void *context, const rs_fl_event *e)
{
    const rs_fl_group *group = context;
    bool kind = (e->kind == RS_FL_EV_NETWORK && (e->text != RS_FL_NONE || e->code != INT64_MIN)) ||
                e->kind == RS_FL_EV_XID || e->kind == RS_FL_EV_CUDA_ERROR || e->from != RS_FLIGHT_FILE_LOG;
    return kind && e->rank >= 0 && rs_fl_slot_of(group, e->rank) != RS_FL_NONE;
}

/* ---- giving -------------------------------------------------------------------------------------------- */

static rs_flight_cause *new_cause(rs_flight *flight, const char *kind, int64_t rank)
{
    rs_flight_cause *c = rs_arena_alloc(&flight->arena, sizeof *c);
    if (c)
        *c = (rs_flight_cause){.kind = kind,
                               .rank = rank,
                               .host = rank < 0 ? NULL : rs_fl_host_of(flight, rank),
                               .code = INT64_MIN};
    return c;
}

const rs_flight_cause *rs_fl_cause_of_event(rs_flight *flight, const rs_fl_event *e, bool on_host)
{
    rs_flight_cause *c = new_cause(flight, rs_fl_event_kind_name((rs_fl_event_kind)e->kind), e->rank);
    if (!c) return NULL;
    if (e->host != RS_FL_NONE) c->host = rs_fl_text(flight, e->host);
    c->code = e->code;
    c->exception = rs_fl_text(flight, e->exception);
    c->text = rs_fl_text(flight, e->text);
    c->where = rs_fl_text(flight, e->where);
    c->time_ns = e->yearless ? 0 : e->time_ns;
    c->file = rs_fl_text(flight, e->file);
    c->line = e->line;
    c->on_host = on_host;
    return c;
}

static rs_status cause_by_log(rs_flight *flight, rs_fl_found *f, rs_error *err)
{
    const rs_fl_log *log = flight->log;
    const rs_fl_event *e = NULL;
    bool on_host = false;
    for (size_t i = 0; log && !e && i < f->finding.n_culprits; i++) {
        int64_t rank = f->finding.culprits[i];
        const rs_fl_note *note = rs_fl_note_of(flight, rank);
        of_host h = {note ? note->host : RS_FL_NONE, rs_fl_rank_index(flight, rank) == RS_FL_NONE};
        e = origin_of(log, rank);
        if (e) continue;
        e = deepest(log, strikes_host, &h, false, NULL);
        on_host = e != NULL;
    }
    if (log && f->kind == RS_FLIGHT_ROOT_COLLECTIVE && f->group != RS_FL_NONE)
        for (int bare = 0; bare < 2 && !e; bare++)
            e = deepest(log, hits_group, &flight->groups[f->group], bare, NULL);
    if (!e) return RS_OK;
    f->cause = rs_fl_cause_of_event(flight, e, on_host);
    return f->cause ? RS_OK : rs_fail_nomem(err, "a cause");
}

/* The recorder answers without the interpreter's lock, the traceback needs it. */
static rs_status cause_by_answers(rs_flight *flight, rs_fl_found *f, rs_error *err)
{
    for (size_t i = 0; !f->cause && i < f->finding.n_culprits; i++) {
        const rs_fl_note *note = rs_fl_note_of(flight, f->finding.culprits[i]);
        if (!note || !note->no_traceback || f->kind != RS_FLIGHT_ROOT_SILENT) continue;
        rs_flight_cause *c = new_cause(flight, rs_fl_event_kind_name(RS_FL_EV_GIL), f->finding.culprits[i]);
        if (!c) return rs_fail_nomem(err, "a cause");
        c->text = "its recorder answers and its Python traceback does not";
        f->cause = c;
    }
    return RS_OK;
}

/* ---- ranks that only the log accuses ------------------------------------------------------------------- */

static rs_status add_crashed(rs_fl_analysis *a, const int64_t *ranks, size_t n, const rs_fl_event *e,
                             rs_error *err)
{
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_CRASHED, .seq = -1},
                     .kind = RS_FLIGHT_ROOT_CRASHED,
                     .group = RS_FL_NONE,
                     .rank = RS_FL_NONE,
                     .partner_rank = RS_FL_NONE,
                     .when = e->time_ns && !e->yearless ? e->time_ns : INT64_MAX,
                     .stage = RS_FL_STAGE_HANG};
    f.cause = rs_fl_cause_of_event(a->flight, e, false);
    if (!f.cause) return rs_fail_nomem(err, "a cause");
    return rs_fl_add_found(a, &f, ranks, n, err);
}

/* A rank that ended before anybody began to wait, and that left no dump or nothing open, is a root of its
 * own. */
static rs_status add_early_ends(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_log *log = flight->log;
    int64_t first_open = INT64_MAX;
    size_t n_found = a->n_found;
    for (size_t i = 0; i < n_found; i++)
        if (a->found[i].stage <= RS_FL_STAGE_DUMP && a->found[i].when < first_open)
            first_open = a->found[i].when;
    for (size_t i = 0, looks = 0; log && n_found && i < log->n && looks < MAX_ENDS; i++) {
        const rs_fl_event *e = &log->events[i];
        if (!is_origin(e) || e->rank < 0 || e->kind == RS_FL_EV_CANCELLED || e->from != RS_FLIGHT_FILE_LOG ||
            e->yearless || !e->time_ns || e->time_ns >= first_open)
            continue;
        uint32_t index = rs_fl_rank_index(flight, e->rank);
        if ((index != RS_FL_NONE && a->open[index] != RS_FL_NONE) || rs_fl_is_accused(a, e->rank) ||
            (looks++, origin_of(log, e->rank) != e))
            continue;
        RS_TRY(add_crashed(a, &e->rank, 1, e, err));
    }
    return RS_OK;
}

/* A rank without a dump that others wait for is more than a weak finding when NCCL cannot reach it. */
static bool raise_weak(rs_fl_analysis *a, int64_t rank)
{
    bool raised = false;
    for (size_t i = 0; i < a->n_found; i++)
        for (size_t k = 0; k < a->found[i].finding.n_culprits; k++)
            if (a->found[i].kind == RS_FLIGHT_ROOT_NO_DUMP && a->found[i].finding.culprits[k] == rank) {
                a->found[i].stage = RS_FL_STAGE_HANG;
                raised = true;
            }
    return raised;
}

/* Where the record names no rank, one that left no dump and that NCCL cannot reach is the root. */
static rs_status add_unreachable(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_log *log = flight->log;
    if (!log || !a->n_found || a->found[0].kind != RS_FLIGHT_ROOT_COLLECTIVE) return RS_OK;
    for (size_t i = 0; i < log->n && a->n_found < MAX_ENDS; i++) {
        const rs_fl_event *e = &log->events[i];
        if (e->kind != RS_FL_EV_UNREACHABLE || e->past || e->rank < 0 ||
            rs_fl_rank_index(flight, e->rank) != RS_FL_NONE || raise_weak(a, e->rank) ||
            rs_fl_is_accused(a, e->rank))
            continue;
        const rs_fl_event *own = origin_of(log, e->rank);
        RS_TRY(add_crashed(a, &e->rank, 1, own ? own : e, err));
    }
    return RS_OK;
}

static bool anybody(const void *context, const rs_fl_event *e)
{
    (void)context;
    return e->rank >= 0 || e->kind == RS_FL_EV_NODE_FAILURE || e->kind == RS_FL_EV_CANCELLED;
}

/* Without any dump: whoever failed first. */
rs_status rs_fl_judge_log(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_log *log = flight->log;
    const rs_fl_event *first = NULL;
    for (int bare = 0; bare < 2 && !first; bare++) first = deepest(log, anybody, NULL, bare, NULL);
    if (!first) return RS_OK;
    if (first->kind == RS_FL_EV_CANCELLED) return add_crashed(a, NULL, 0, first, err);
    if (first->rank < 0) {
        int64_t *ranks = rs_malloc((flight->n_notes + 1) * sizeof *ranks);
        size_t n = 0;
        if (!ranks) return rs_fail_nomem(err, "a cause");
        for (size_t i = 0; i < flight->n_notes; i++)
            if (flight->notes[i].host == first->host && first->host != RS_FL_NONE)
                ranks[n++] = flight->notes[i].rank;
        rs_status status = add_crashed(a, ranks, n, first, err);
        rs_free(ranks);
        return status;
    }
    for (size_t i = 0; i < log->n && a->n_found < MAX_ENDS; i++) {
        const rs_fl_event *e = &log->events[i];
        if (!is_origin(e) || e->rank < 0 || !rs_fl_is_together(first, e) ||
            rs_fl_is_bare_end(e) != rs_fl_is_bare_end(first) || rs_fl_is_accused(a, e->rank))
            continue;
        const rs_fl_event *own = origin_of(log, e->rank);
        RS_TRY(add_crashed(a, &e->rank, 1, own ? own : e, err));
    }
    return RS_OK;
}

rs_status rs_fl_find_causes(rs_fl_analysis *a, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < a->n_found; i++) {
        if (a->found[i].cause) continue;
        status = cause_by_log(a->flight, &a->found[i], err);
        if (status == RS_OK) status = cause_by_answers(a->flight, &a->found[i], err);
    }
    if (status == RS_OK) status = add_early_ends(a, err);
    return status == RS_OK ? add_unreachable(a, err) : status;
}

bool rs_fl_has_log(const rs_flight *flight)
{
    return flight->log && flight->log->n_files;
}

/* ---- words --------------------------------------------------------------------------------------------- */

/* "FileNotFoundError at /app/loader.py:88: [Errno 2] ..." */
static const char *exception_text(rs_flight *flight, const rs_flight_cause *c)
{
    const char *name = c->exception ? c->exception : "an exception";
    const char *at = c->where ? rs_fl_print(flight, " at %s", c->where) : "";
    return rs_fl_print(flight, "%s%s%s%s", name, at ? at : "", c->text && *c->text ? ": " : "",
                       c->text ? c->text : "");
}

const char *rs_fl_cause_clause(rs_flight *flight, const rs_flight_cause *c)
{
    const char *text = c->text ? c->text : "";
    if (strcmp(c->kind, "python_exception") == 0)
        return rs_fl_print(flight, " raised %s", exception_text(flight, c));
    if (strcmp(c->kind, "xid") == 0)
        return rs_fl_print(flight, ": the kernel reported Xid %" PRId64 " of its GPU (%s)", c->code, text);
    if (strcmp(c->kind, "sxid") == 0)
        return rs_fl_print(flight, ": the kernel reported SXid %" PRId64 " of an NVSwitch (%s)", c->code,
                           text);
    if (strcmp(c->kind, "pcie_error") == 0) return ": the kernel reported a fatal PCIe error";
    if (strcmp(c->kind, "ecc") == 0) return rs_fl_print(flight, " %s", text);
    if (strcmp(c->kind, "amdgpu") == 0)
        return rs_fl_print(flight, ": the kernel reported an error of its GPU (%s)", *text ? text : "amdgpu");
    if (strcmp(c->kind, "host_oom") == 0)
        return c->on_host ? ": a process was killed for lack of memory"
                          : " was killed for lack of host memory";
    if (strcmp(c->kind, "cuda_oom") == 0)
        return rs_fl_print(flight, " ran out of GPU memory (%s more were asked for)", text);
    if (strcmp(c->kind, "cuda_error") == 0) return rs_fl_print(flight, ": CUDA error: %s", text);
    if (strcmp(c->kind, "node_failure") == 0) return ": the node failed";
    if (strcmp(c->kind, "nccl_network") == 0)
        return c->code != INT64_MIN
                   ? rs_fl_print(flight, ": the log shows a network error (NET/IB, status %" PRId64 ")",
                                 c->code)
                   : rs_fl_print(flight, ": the log shows a network error (%s)",
                                 *text ? text : "ncclRemoteError");
    if (strcmp(c->kind, "segfault") == 0) return " crashed (segmentation fault or the like)";
    if (strcmp(c->kind, "killed") == 0) return " was killed (SIGKILL, exit code -9)";
    if (strcmp(c->kind, "exit") == 0) return rs_fl_print(flight, " ended with exit code %" PRId64, c->code);
    if (strcmp(c->kind, "cancelled") == 0) return rs_fl_print(flight, " was cancelled (%s)", text);
    if (strcmp(c->kind, "unreachable") == 0 || strcmp(c->kind, "nccl_error") == 0)
        return rs_fl_print(flight, " %s", text);
    if (c->file)
        return rs_fl_print(
            flight, ": its watchdog did not move for %s s: the GIL is held, or a driver call does not return",
            text);
    return rs_fl_print(flight, ": the GIL is held, or a driver call keeps it: %s", text);
}

const char *rs_fl_cause_text(rs_flight *flight, const rs_flight_root *row)
{
    const rs_flight_cause *c = row->cause;
    const char *what = rs_fl_cause_clause(flight, c);
    int64_t s = c->time_ns / 1000000000 % 86400;
    const char *clock = c->time_ns > 0 ? rs_fl_print(flight, ", %02d:%02d:%02d", (int)(s / 3600),
                                                     (int)(s / 60 % 60), (int)(s % 60))
                                       : "";
    if (!what || !clock) return NULL;
    const char *from = c->file ? rs_fl_print(flight, " (%s:%" PRId64 "%s)", c->file, c->line, clock) : "";
    const char *who = c->on_host     ? rs_fl_print(flight, "On the host of rank %" PRId64, row->rank)
                      : c->rank >= 0 ? rs_fl_print(flight, "Rank %" PRId64, c->rank)
                                     : "The job";
    return who && from ? rs_fl_print(flight, "%s%s%s.", who, what, from) : NULL;
}

static bool is_of_gpu(const char *kind)
{
    static const char *const kinds[] = {"xid", "sxid", "ecc", "pcie_error", "amdgpu"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0) return true;
    return false;
}

const char *rs_fl_cause_next(rs_flight *flight, const rs_flight_root *row)
{
    const rs_flight_cause *c = row->cause;
    const char *host = c->host ? c->host : "its host";
    if (strcmp(c->kind, "gil_or_driver") == 0)
        return rs_fl_print(
            flight, "py-spy dump --native on the process of rank %" PRId64 ": it needs no GIL.", row->rank);
    if (strcmp(c->kind, "python_exception") == 0)
        return rs_fl_print(flight, "fix %s.", c->where ? c->where : "what that exception says");
    if (is_of_gpu(c->kind)) return rs_fl_print(flight, "drain %s and have its GPU checked.", host);
    if (strcmp(c->kind, "nccl_network") == 0)
        return rs_fl_print(flight, "look at the link counters of %s and of its peer.", host);
    if (strcmp(c->kind, "unreachable") == 0)
        return rs_fl_print(flight,
                           "see whether the process of rank %" PRId64 " lives on %s, and read its log.",
                           row->rank, host);
    if (strcmp(c->kind, "host_oom") == 0)
        return rs_fl_print(flight, "look at the host memory of %s: data workers, checkpoints, caches.", host);
    if (strcmp(c->kind, "cuda_oom") == 0) return "a smaller batch, or less fragmentation.";
    return NULL;
}
