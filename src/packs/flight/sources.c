/* The rows of the sources, and how the verdict weighs what they say. */
#include "flight/sources.h"

#include "base/ascii.h"
#include "base/try.h"
#include "flight/files.h"
#include "flight/words.h"

#include <inttypes.h>
#include <string.h>

#define MAX_LINES 3     /* of proof by one source */
#define MAX_CULPRITS 64 /* that each source is asked about */

static bool knows_log(const char *path, const uint8_t *text, size_t n)
{
    if (n == 0 || !rs_fl_is_named_log(path) || text[0] == '{') return false;
    bool stamped = n > 5 && text[5] == '-'; /* "[2025-08-02 19:24:30 TP3]" is no JSON */
    if (text[0] == '[' && !stamped &&
        !(n > 1 && rs_is_alnum((char)text[1]) && (text[1] > '9' || text[1] < '0')))
        return false; /* JSON */
    for (size_t i = 0; i < n; i++)
        if (text[i] < 0x20 && !memchr("\n\r\t\x1b", text[i], 4)) return false;
    return true;
}

static const rs_fl_source log_source = {.file = RS_FLIGHT_FILE_LOG,
                                        .title = "The log",
                                        .knows = knows_log,
                                        .read = rs_fl_read_log_from,
                                        .decides = "the log of the time when the operation was issued"};

uint32_t rs_fl_add_host(rs_flight *flight, const char *text, size_t n)
{
    bool address = n && text[0] >= '0' && text[0] <= '9';
    size_t end = 0;
    while (end < n && text[end] != ':' && (address || text[end] != '.')) end++;
    return rs_strings_add(&flight->texts, text, end > 256 ? 256 : end);
}

/* What a file holds says more than its name, so the log is last in recognising. */
static const rs_fl_source *const fl_sources[] = {&rs_fl_ras_source,
                                                 &rs_fl_inspector_source,
                                                 &rs_fl_prometheus_source,
                                                 &rs_fl_machine_tests_source,
                                                 &rs_fl_stacks_source,
                                                 &rs_fl_compile_source,
                                                 &log_source,
                                                 NULL};

const rs_fl_source *rs_fl_source_of(const char *path, const uint8_t *text, size_t n)
{
    for (size_t i = 0; n && fl_sources[i]; i++)
        if (fl_sources[i]->knows(path, text, n)) return fl_sources[i];
    return NULL;
}

/* Dumps by the thousand have names without an ending, or a rank at their end: they are not opened twice. */
static bool may_be_source(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return strcmp(path, "-") != 0 && ((dot && strspn(dot + 1, "0123456789") < strlen(dot + 1)) ||
                                      !(path[strlen(path) - 1] >= '0' && path[strlen(path) - 1] <= '9'));
}

static rs_status take(rs_flight *flight, rs_source *from, bool *taken, rs_error *err)
{
    const uint8_t *text = NULL;
    size_t n = 0;
    rs_status status = rs_source_peek(from, RS_SOURCE_PEEK, &text, &n, NULL);
    if (status == RS_ERR_NOMEM) return rs_fail_nomem(err, rs_source_name(from));
    if (status != RS_OK) return RS_OK;
    const rs_fl_source *row = rs_fl_source_of(rs_source_name(from), text, n);
    *taken = row != NULL;
    return row ? row->read(flight, from, err) : RS_OK;
}

rs_status rs_fl_read_source(rs_flight *flight, const char *path, bool *taken, rs_error *err)
{
    rs_source *from = NULL;
    rs_status status = RS_OK;
    *taken = false;
    if (!may_be_source(path)) return RS_OK;
    /* What cannot be read is complained of where the dumps are. */
    status = rs_source_open(path, flight->settings.max_ratio, &from, NULL);
    if (status == RS_ERR_NOMEM) return rs_fail_nomem(err, path);
    status = status == RS_OK ? take(flight, from, taken, err) : RS_OK;
    rs_source_close(from);
    return status;
}

rs_status rs_fl_read_given(rs_flight *flight, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < flight->settings.n_evidence; i++) {
        const rs_flight_bytes *given = &flight->settings.evidence[i];
        rs_source *from = NULL;
        bool taken = false;
        status =
            rs_source_open_bytes(given->bytes, given->n, given->name, flight->settings.max_ratio, &from, err);
        if (status == RS_OK) status = take(flight, from, &taken, err);
        rs_source_close(from);
        if (status == RS_OK && !taken)
            rs_problems_add(&flight->problems, given->name, -1, RS_WARNING, "not_a_source",
                            "the text is of no known kind", RS_NO_OFFSET);
    }
    return status;
}

rs_status rs_fl_read_whole(rs_flight *flight, rs_source *from, size_t most, uint8_t **text, size_t *n,
                           rs_error *err)
{
    rs_error why = RS_ERROR_INIT;
    rs_status status = rs_source_read_all(from, most, text, n, &why);
    if (status == RS_OK) {
        rs_source_report_end(from, -1, &flight->problems);
        flight->stats.bytes_text += *n;
        flight->stats.bytes_read += rs_source_bytes_in(from);
        return RS_OK;
    }
    *text = NULL;
    if (status != RS_ERR_IO && status != RS_ERR_LIMIT) {
        *err = why;
        return status;
    }
    rs_problems_add_many(&flight->problems, rs_source_name(from), -1, RS_LOSS, "unreadable",
                         "the file cannot be read", why.causes[0].offset, 1, why.causes[0].message);
    return RS_OK;
}

bool rs_fl_has_sources(const rs_flight *flight)
{
    return flight->ras || flight->inspector || flight->prometheus || flight->tests || flight->n_stack_files ||
           flight->settings.n_compiled;
}

bool rs_fl_hear_sources(rs_flight *flight)
{
    for (size_t i = 0; fl_sources[i]; i++)
        if (fl_sources[i]->testify && !fl_sources[i]->testify(flight)) return false;
    return true;
}

void rs_fl_clear_sources(rs_flight *flight)
{
    for (size_t i = 0; fl_sources[i]; i++)
        if (fl_sources[i]->clear) fl_sources[i]->clear(flight);
}

rs_fl_log *rs_fl_events_of(rs_flight *flight)
{
    if (!flight->log) flight->log = rs_calloc(1, sizeof *flight->log);
    return flight->log;
}

rs_fl_event *rs_fl_testify(rs_flight *flight, rs_flight_file from, rs_fl_event_kind kind, int64_t rank,
                           uint32_t host, const char *text, uint32_t file, int64_t line)
{
    rs_fl_log *log = rs_fl_events_of(flight);
    uint32_t words = log && text ? rs_strings_add(&flight->texts, text, strlen(text)) : RS_NO_STRING;
    rs_fl_line l = {.who = {.rank = rank,
                            .task = -1,
                            .local = -1,
                            .pid = -1,
                            .group_rank = -1,
                            .host = host,
                            .guid = RS_FL_NONE},
                    .file = file,
                    .line = line};
    rs_fl_event *e = words == RS_NO_STRING ? NULL : rs_fl_add_event(log, &l, kind);
    if (!e) return NULL;
    e->text = words;
    e->from = (uint8_t)from;
    return e;
}

/* ---- weighing --------------------------------------------------------------------------------------------- */

/* Whether an event accuses its rank: of itself, or as one that the others wait for. */
static bool accuses(const rs_fl_event *e, rs_flight_file from)
{
    return e->from == (uint8_t)from && !e->past && e->rank >= 0 &&
           (e->role == RS_FL_POSITION || (e->role == RS_FL_ORIGIN && e->fatal));
}

static const rs_fl_event *accusation_of(const rs_flight *flight, rs_flight_file from, int64_t rank)
{
    for (size_t i = 0; flight->log && i < flight->log->n; i++)
        if (accuses(&flight->log->events[i], from) && flight->log->events[i].rank == rank)
            return &flight->log->events[i];
    return NULL;
}

/* What makes a rank slow, by a source; NULL: nothing that it knows. */
static const rs_fl_event *condition_of(const rs_flight *flight, rs_flight_file from, int64_t rank)
{
    for (size_t i = 0; flight->log && i < flight->log->n; i++) {
        const rs_fl_event *e = &flight->log->events[i];
        if (e->role == RS_FL_CONDITION && e->from == (uint8_t)from && e->rank == rank && rank >= 0) return e;
    }
    return NULL;
}

static bool is_among(const rs_flight_finding *f, int64_t rank)
{
    for (size_t i = 0; i < f->n_culprits; i++)
        if (f->culprits[i] == rank) return true;
    return false;
}

void rs_fl_narrow_by_sources(rs_fl_analysis *a)
{
    for (size_t f = 0; f < a->n_found; f++) {
        rs_fl_found *found = &a->found[f];
        bool weak = found->kind == RS_FLIGHT_ROOT_NO_DUMP || found->kind == RS_FLIGHT_ROOT_UNKNOWN;
        if (!weak || found->finding.n_culprits < 2) continue;
        for (size_t s = 0; fl_sources[s]->file != RS_FLIGHT_FILE_LOG; s++) {
            int64_t *kept = rs_arena_alloc(&a->flight->arena, found->finding.n_culprits * sizeof *kept);
            size_t n = 0;
            for (size_t i = 0; kept && i < found->finding.n_culprits; i++)
                if (accusation_of(a->flight, fl_sources[s]->file, found->finding.culprits[i]))
                    kept[n++] = found->finding.culprits[i];
            if (!n) continue;
            found->finding.culprits = kept;
            found->finding.n_culprits = n;
            break;
        }
    }
}

static const char *place_text(rs_flight *flight, const rs_fl_event *e)
{
    int64_t s = e->time_ns / 1000000000 % 86400;
    const char *file = rs_fl_text(flight, e->file);
    return e->time_ns > 0 && !e->yearless
               ? rs_fl_print(flight, "%s:%" PRId64 ", %02d:%02d:%02d", file, e->line, (int)(s / 3600),
                             (int)(s / 60 % 60), (int)(s % 60))
               : rs_fl_print(flight, "%s:%" PRId64, file, e->line);
}

/* Of whom an event speaks: "rank 3 ", "GPU 2 of node01 "; "" of no one. */
static const char *subject_text(rs_flight *flight, const rs_fl_event *e)
{
    const char *host = rs_fl_text(flight, e->host);
    if (e->rank >= 0) return rs_fl_print(flight, "rank %" PRId64 " ", e->rank);
    if (!host) return "";
    return e->who.local >= 0 ? rs_fl_print(flight, "GPU %" PRId64 " of %s ", e->who.local, host)
                             : rs_fl_print(flight, "%s ", host);
}

/* What follows the subject. Lines of a log have the rest of their message as text. */
static const char *predicate_text(rs_flight *flight, const rs_fl_event *e)
{
    const char *text = e->text == RS_FL_NONE ? "" : rs_fl_text(flight, e->text);
    if (e->kind == RS_FL_EV_XID) return rs_fl_print(flight, "reports Xid %" PRId64, e->code);
    if (e->from != RS_FLIGHT_FILE_LOG) return text;
    switch (e->kind) {
    case RS_FL_EV_NVLINK: return rs_fl_print(flight, "has a link with SXid %" PRId64 " (%s)", e->code, text);
    case RS_FL_EV_PCIE: return rs_fl_print(flight, "has a PCIe link limited by %s", text);
    case RS_FL_EV_THROTTLED: return "has CPUs that are throttled for heat";
    default: return text;
    }
}

static const char *statement(rs_flight *flight, const rs_fl_source *row, const char *stance,
                             const rs_fl_event *e)
{
    const char *place = place_text(flight, e), *who = subject_text(flight, e),
               *what = predicate_text(flight, e);
    return place && who && what
               ? rs_fl_print(flight, "%s %s (%s): %s%s.", row->title, stance, place, who, what)
               : NULL;
}

/* What a source says against the verdict, where it accuses none of its ranks. */
static bool prove_objection(rs_fl_analysis *a, const rs_fl_source *row, const rs_flight_finding *root)
{
    rs_flight *flight = a->flight;
    const rs_fl_event *other = NULL, *level = NULL, *strange = NULL;
    for (size_t i = 0; i < flight->log->n && !other; i++) {
        const rs_fl_event *e = &flight->log->events[i];
        if (e->from != (uint8_t)row->file || e->past) continue;
        if (accuses(e, row->file) && !is_among(root, e->rank)) other = e;
        if (e->rank < 0 && (e->role == RS_FL_POSITION || e->role == RS_FL_ORIGIN)) strange = e;
        if (e->kind == RS_FL_EV_LEVEL) level = e;
    }
    if (!other && !level && !strange) return true;
    const char *text =
        other     ? statement(flight, row, "says something else", other)
        : strange ? statement(flight, row, "names a process that is no known rank of this job", strange)
                  : statement(flight, row, "does not show the fault", level);
    const char *why = other ? "" : strange ? " The report may be of another job." : row->blind;
    text = text ? rs_fl_print(flight, "%s%s To decide: %s.", text, why, row->decides) : NULL;
    return text && rs_fl_prove(a, other ? other->rank : -1, NULL, text);
}

bool rs_fl_prove_sources(rs_fl_analysis *a, const rs_flight_finding *root)
{
    rs_flight *flight = a->flight;
    const char *foreign = flight->log ? flight->log->foreign_text : NULL;
    if (foreign && !rs_fl_prove(a, -1, NULL, foreign)) return false;
    for (size_t s = 0; flight->log && fl_sources[s]; s++) {
        const rs_fl_source *row = fl_sources[s];
        size_t told = 0;
        bool is_log = row->file == RS_FLIGHT_FILE_LOG; /* its cause is in the verdict's own sentence */
        for (size_t i = 0; i < root->n_culprits && i < MAX_CULPRITS && told < MAX_LINES; i++) {
            const rs_fl_event *e = is_log ? NULL : accusation_of(flight, row->file, root->culprits[i]);
            const char *stance = e || root->verdict == RS_FLIGHT_STRAGGLER ? "agrees" : "adds";
            if (!e) e = condition_of(flight, row->file, root->culprits[i]);
            if (!e) continue;
            const char *text = statement(flight, row, stance, e);
            if (!text || !rs_fl_prove(a, e->rank, NULL, text)) return false;
            told++;
        }
        if (!is_log && !told && !prove_objection(a, row, root)) return false;
    }
    return true;
}

const char *rs_fl_objections(rs_flight *flight)
{
    for (size_t s = 0; flight->log && fl_sources[s]; s++)
        for (size_t i = 0; i < flight->log->n && fl_sources[s]->file != RS_FLIGHT_FILE_LOG; i++) {
            const rs_fl_event *e = &flight->log->events[i];
            if (!accuses(e, fl_sources[s]->file) || !e->settled) continue;
            const char *text = statement(flight, fl_sources[s], "says something else", e);
            return text ? rs_fl_print(flight, " %s To decide: %s.", text, fl_sources[s]->decides) : NULL;
        }
    return "";
}

/* What is slow in a job that moves: ranks first, then links. At most MAX_LINES of each, as the first cause hides the others. */
static rs_status judge_condition(rs_fl_analysis *a, const rs_fl_event *e, const rs_fl_source *row,
                                 rs_error *err)
{
    rs_flight *flight = a->flight;
    const char *place = place_text(flight, e), *who = subject_text(flight, e),
               *text = rs_fl_text(flight, e->text);
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_STRAGGLER, .seq = -1},
                     .kind = RS_FLIGHT_ROOT_SLOW,
                     .group = RS_FL_NONE,
                     .rank = RS_FL_NONE,
                     .partner_rank = RS_FL_NONE,
                     .when = e->time_ns > 0 ? e->time_ns : INT64_MAX,
                     .stage = RS_FL_STAGE_STRAGGLER};
    text = who ? rs_fl_capital(flight, rs_fl_print(flight, "%s%s", who, text)) : NULL;
    f.finding.summary = place && text ? rs_fl_print(flight, "%s (%s, %s).", text, row->title, place) : NULL;
    if (!f.finding.summary) return rs_fail_nomem(err, "a finding");
    return rs_fl_add_found(a, &f, &e->rank, e->rank >= 0, err);
}

static const rs_fl_source *row_of(const rs_fl_event *e)
{
    for (size_t s = 0; fl_sources[s]; s++)
        if (fl_sources[s]->file == e->from) return fl_sources[s];
    return NULL;
}

rs_status rs_fl_judge_conditions(rs_fl_analysis *a, rs_error *err)
{
    const rs_fl_log *log = a->flight->log;
    for (int of_link = 0; log && of_link < 2; of_link++)
        for (size_t i = 0, n = 0; i < log->n && n < MAX_LINES; i++) {
            const rs_fl_event *e = &log->events[i];
            bool slows =
                e->kind == RS_FL_EV_LATE || e->kind == RS_FL_EV_THROTTLED || e->kind == RS_FL_EV_SLOW_LINK;
            if (!slows || e->from == RS_FLIGHT_FILE_LOG || (e->kind == RS_FL_EV_SLOW_LINK) != of_link)
                continue;
            n++;
            RS_TRY(judge_condition(a, e, row_of(e), err));
        }
    return RS_OK;
}

/* ---- without dumps ---------------------------------------------------------------------------------------- */

/* Whether a watchdog's line of the log says that an operation did not end: of that rank; -1: of any. */
static bool has_timed_out(const rs_fl_log *log, int64_t rank)
{
    for (size_t i = 0; i < log->n; i++)
        if (log->events[i].kind == RS_FL_EV_TIMEOUT && !log->events[i].past &&
            (rank < 0 || log->events[i].rank == rank))
            return true;
    return false;
}

bool rs_fl_answer_of_sources(rs_flight *flight, rs_flight_finding *out)
{
    const rs_fl_log *log = flight->log;
    const rs_fl_event *fault = NULL, *position = NULL, *level = NULL;
    for (size_t i = 0; log && i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        if (e->past) continue;
        if (!fault && e->role == RS_FL_ORIGIN && e->from != RS_FLIGHT_FILE_LOG)
            fault = e; /* of a rank that is not known */
        if (!position && (e->role == RS_FL_POSITION || e->kind == RS_FL_EV_PLACE)) position = e;
        if (!level && e->kind == RS_FL_EV_LEVEL) level = e;
    }
    const rs_fl_event *best = fault ? fault : position ? position : level;
    if (!best) return false;
    const rs_fl_source *row = row_of(best);
    bool timed_out = has_timed_out(log, -1);
    const char *text = statement(flight, row,
                                 fault      ? "saw a fault"
                                 : position ? "saw a moment"
                                            : "saw nothing wrong",
                                 best);
    const char *but = fault ? ""
                      : timed_out
                          ? " The log shows a time-out, though: GPUs and the network can hang unseen there."
                      : position ? " A job that runs looks so, too."
                                 : row->blind;
    const char *decides = timed_out ? "the flight recorder's dumps" : row->decides;
    out->verdict = fault ? RS_FLIGHT_CRASHED : timed_out ? RS_FLIGHT_BAD_INPUT : RS_FLIGHT_HEALTHY;
    out->summary = text ? rs_fl_print(flight, "%s%s To decide: %s.", text, but, decides) : NULL;
    return true;
}

rs_status rs_fl_judge_sources(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_log *log = flight->log;
    bool timed_out = log && has_timed_out(log, -1);
    for (size_t i = 0; log && i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        if (e->role != RS_FL_POSITION || e->past || e->rank < 0 || (!e->settled && !timed_out)) continue;
        bool known = false; /* another source has accused it: that one agrees in the proof */
        for (size_t k = 0; k < a->n_found; k++) known |= a->found[k].finding.culprits[0] == e->rank;
        if (known) continue;
        /* It waits itself, in an operation that RAS does not count or that all have launched. */
        if (e->kind == RS_FL_EV_BEHIND && timed_out && has_timed_out(log, e->rank)) continue;
        rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_RANK_MISSING, .seq = -1},
                         .kind = RS_FLIGHT_ROOT_SILENT,
                         .group = RS_FL_NONE,
                         .rank = RS_FL_NONE,
                         .partner_rank = RS_FL_NONE,
                         .when = e->time_ns > 0 && !e->yearless ? e->time_ns : INT64_MAX,
                         .stage = RS_FL_STAGE_HANG};
        f.finding.summary = rs_fl_print(flight, "Rank %" PRId64 " %s: the others wait for it.", e->rank,
                                        rs_fl_text(flight, e->text));
        if (!f.finding.summary) return rs_fail_nomem(err, "a finding");
        RS_TRY(rs_fl_add_found(a, &f, &e->rank, 1, err));
    }
    return a->n_found ? RS_OK : rs_fl_judge_conditions(a, err);
}
