/* What NCCL's RAS says of a hang: processes that are gone, ranks that have launched less than others, errors. Ranks of
 * communicators become ranks of the job by the communicator of all of it, or by the processes that the log seats. */
#include "base/search.h"
#include "flight/identity.h"
#include "flight/ras.h"

#include <inttypes.h>
#include <string.h>

#define MAX_FILE ((size_t)1 << 30)
#define STALL                                                                                                \
    INT64_C(30000000000) /* unless it is set; ns: a job whose counts are the same for so long hangs */

/* A process and GPU over all communicators of one report. */
typedef struct process {
    int64_t global;                /* rank in the job; -1 unknown */
    const rs_fl_ras_comm *lags_in; /* a communicator where others have launched more; NULL none */
    const rs_fl_ras_rank *lag, *gone, *error;
    bool waits; /* it has launched what another rank has not */
} process;

typedef struct view {
    rs_flight *flight;
    const struct rs_fl_ras *ras;
    const rs_fl_ras_report *report;
    process *processes;
    size_t n;
    rs_fl_identity *identities; /* of the report's ranks */
    size_t first;               /* rank that identities begin with */
    bool stands;                /* an earlier report has the same counts */
} view;

static bool find_processes(view *v)
{
    const struct rs_fl_ras *ras = v->ras;
    size_t n = 0;
    v->first = v->report->n ? ras->comms[v->report->first].first : 0;
    for (size_t c = 0; c < v->report->n; c++) n += ras->comms[v->report->first + c].n;
    v->identities = rs_malloc((n + 1) * sizeof *v->identities);
    if (!v->identities) return false;
    for (size_t c = 0, k = 0; c < v->report->n; c++) {
        const rs_fl_ras_comm *comm = &ras->comms[v->report->first + c];
        for (size_t i = 0; i < comm->n; i++) {
            const rs_fl_ras_rank *rank = &ras->ranks[comm->first + i];
            v->identities[k++] = (rs_fl_identity){.comm = comm->hash,
                                                  .host = rank->host,
                                                  .size = comm->size,
                                                  .rank = rank->rank,
                                                  .pid = rank->pid,
                                                  .gpu = rank->gpu};
        }
    }
    if (!rs_fl_identify(v->flight, v->identities, n, &v->n)) return false;
    v->processes = rs_calloc(v->n + 1, sizeof *v->processes);
    for (size_t i = 0; v->processes && i < n; i++)
        v->processes[v->identities[i].process].global = v->identities[i].global;
    return v->processes != NULL;
}

static process *process_of(const view *v, const rs_fl_ras_comm *comm, size_t i)
{
    return &v->processes[v->identities[comm->first + i - v->first].process];
}

/* The least and the most that the ranks of a communicator have launched; false: nothing is counted. */
static bool extremes(const view *v, const rs_fl_ras_comm *comm, uint64_t *least, uint64_t *most)
{
    bool any = comm->rest;
    *least = *most = comm->rest_launched;
    for (size_t i = 0; i < comm->n; i++) {
        const rs_fl_ras_rank *rank = &v->ras->ranks[comm->first + i];
        if (!rank->counted) continue;
        if (!any || rank->launched < *least) *least = rank->launched;
        if (!any || rank->launched > *most) *most = rank->launched;
        any = true;
    }
    return any;
}

static void look_at_comm(view *v, const rs_fl_ras_comm *comm)
{
    uint64_t least, most;
    bool gone = false, counted = extremes(v, comm, &least, &most);
    for (size_t i = 0; i < comm->n; i++) gone |= v->ras->ranks[comm->first + i].unreachable;
    for (size_t i = 0; i < comm->n; i++) {
        const rs_fl_ras_rank *rank = &v->ras->ranks[comm->first + i];
        process *p = process_of(v, comm, i);
        if (rank->unreachable && (!p->gone || (rank->dead && !p->gone->dead))) p->gone = rank;
        bool fails = rank->async_error > 0 && rank->async_error != 7 && rank->async_error < 100;
        if (!p->error && (fails || (rank->init_state > 0 && rank->init_state != 7 && rank->init_state < 100)))
            p->error = rank;
        if (!rank->counted || !counted) continue;
        if (rank->launched < most && !p->lag) p->lag = rank, p->lags_in = comm;
        /* What it has launched last is open as long as another rank is missing there. */
        p->waits |= rank->launched > least || (gone && rank->launched > 0);
    }
}

/* A communicator of another report under the same name. */
static const rs_fl_ras_comm *same_comm(const view *v, const rs_fl_ras_report *other,
                                       const rs_fl_ras_comm *comm)
{
    for (size_t c = 0; c < other->n; c++) {
        const rs_fl_ras_comm *x = &v->ras->comms[other->first + c];
        if (x->hash == comm->hash && x->size == comm->size) return x;
    }
    return NULL;
}

/* Whether every rank of a communicator has launched as much as in another report. */
static bool has_stood(const view *v, const rs_fl_ras_comm *now, const rs_fl_ras_comm *then)
{
    if (!then || now->n != then->n) return false;
    for (size_t i = 0; i < now->n; i++)
        if (v->ras->ranks[now->first + i].rank != v->ras->ranks[then->first + i].rank ||
            v->ras->ranks[now->first + i].launched != v->ras->ranks[then->first + i].launched)
            return false;
    return true;
}

/* Whether a report long enough before this one has the same counts in all communicators that count. */
static bool job_stands(const view *v)
{
    int64_t stall = v->flight->settings.stall_ns > 0 ? v->flight->settings.stall_ns : STALL;
    for (size_t r = 0; r < v->ras->n_reports; r++) {
        const rs_fl_ras_report *before = &v->ras->reports[r];
        size_t same = 0, moved = 0;
        if (!before->time_ns || v->report->time_ns - before->time_ns < stall) continue;
        for (size_t c = 0; c < v->report->n && !moved; c++) {
            const rs_fl_ras_comm *comm = &v->ras->comms[v->report->first + c];
            if (has_stood(v, comm, same_comm(v, before, comm)))
                same++;
            else
                moved++;
        }
        if (same && !moved) return true;
    }
    return false;
}

/* ---- attempts --------------------------------------------------------------------------------------------- */

/* The newest stamp of a log's file; 0 unknown. */
static int64_t end_of_log(const rs_fl_log *log, uint32_t file)
{
    int64_t newest = 0;
    for (size_t i = 0; i < log->n; i++)
        if (log->events[i].file == file && !log->events[i].yearless && log->events[i].time_ns > newest)
            newest = log->events[i].time_ns;
    return newest;
}

/* No rank of a file is the process that the report names: the older of both is of another attempt. */
static bool part_attempts(view *v, const rs_fl_seat *seat, const rs_fl_ras_rank *rank)
{
    rs_fl_log *log = v->flight->log;
    uint32_t file = log->files[seat->file].name;
    bool newer = v->report->time_ns && end_of_log(log, file) > v->report->time_ns, is_new;
    if (!rs_map64_put(&log->foreign, newer ? v->report->file : file, &is_new)) return false;
    if (log->foreign_text) return true;
    log->foreign_text = rs_fl_print(
        v->flight,
        "%s is of another attempt and is not used: rank %" PRId64 " is process %" PRId64
        " in %s and process %" PRId64 " in %s (line %" PRId64
        "). To decide: the log and a report of one attempt.",
        rs_fl_text(v->flight, newer ? v->report->file : file), seat->rank, seat->pid,
        rs_fl_text(v->flight, file), rank->pid, rs_fl_text(v->flight, v->report->file), rank->line);
    return log->foreign_text != NULL;
}

/* A rank that a log's file and the report both name; agree: whether as one process. */
typedef struct meeting {
    const rs_fl_seat *seat;
    const rs_fl_ras_rank *rank;
    bool agree;
} meeting;

static void meet(const rs_fl_log *log, const rs_fl_ras_rank *rank, meeting *files)
{
    size_t low;
    RS_SEARCH(low, log->n_seats, log->seats[low].rank < rank->rank);
    if (low == log->n_seats || log->seats[low].rank != rank->rank || rank->pid < 0) return;
    meeting *m = &files[log->seats[low].file];
    bool agree = log->seats[low].pid == rank->pid;
    if (!m->seat) *m = (meeting){&log->seats[low], rank, agree};
    m->agree |= agree;
}

/* Compares the processes of the communicator of all ranks with those of the logs, file by file. */
static bool find_other_attempts(view *v)
{
    const rs_fl_log *log = v->flight->log;
    if (!log || !log->n_seats) return true;
    RS_LOCAL meeting *files = rs_calloc(log->n_files + 1, sizeof *files);
    for (size_t c = 0; files && c < v->report->n; c++) {
        const rs_fl_ras_comm *comm = &v->ras->comms[v->report->first + c];
        for (size_t i = 0; comm->size == log->world && i < comm->n; i++)
            meet(log, &v->ras->ranks[comm->first + i], files);
    }
    for (size_t f = 0; files && f < log->n_files; f++)
        if (files[f].seat && !files[f].agree && !part_attempts(v, files[f].seat, files[f].rank)) return false;
    return files != NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------ */

static const char *process_text(view *v, const rs_fl_ras_rank *rank)
{
    if (rank->pid < 0) return "its process is not named";
    return rs_fl_print(v->flight, "process %" PRId64 " on %s, GPU %" PRId64, rank->pid,
                       rank->host == RS_FL_NONE ? "an unknown host" : rs_fl_text(v->flight, rank->host),
                       rank->gpu);
}

/* The kind of operation of which a rank has launched less, and both counts; the text form counts one kind only. */
static const char *lag_text(view *v, const process *p)
{
    rs_flight *flight = v->flight;
    const rs_fl_ras_comm *comm = p->lags_in;
    const char *op = rs_fl_text(flight, comm->op), *who = process_text(v, p->lag);
    uint64_t mine = p->lag->launched, least, most;
    size_t ahead = 0;
    extremes(v, comm, &least, &most);
    for (size_t i = 0; i < comm->n; i++) {
        const rs_fl_ras_rank *other = &v->ras->ranks[comm->first + i];
        if (!other->counted || other->launched <= p->lag->launched) continue;
        for (size_t k = 0; !op && k < v->ras->n_ops; k++)
            if (other->counts[k] > p->lag->counts[k]) {
                op = rs_fl_text(flight, v->ras->ops[k]);
                mine = p->lag->counts[k];
                most = other->counts[k];
            }
        ahead++;
    }
    if (comm->rest && comm->size > (int64_t)comm->n) ahead += (size_t)comm->size - comm->n;
    return rs_fl_print(flight,
                       "has launched %" PRIu64 " %s operations of communicator %s (%" PRId64
                       " ranks), %zu other%s up to %" PRIu64 " (%s)",
                       mine, op ? op : "collective", rs_fl_text(flight, comm->hash), comm->size, ahead,
                       ahead == 1 ? "" : "s", most, who ? who : "");
}

static const char *error_name(int64_t code)
{
    static const char *const names[] = {"",
                                        "an unhandled CUDA error",
                                        "a system error",
                                        "an internal error",
                                        "an invalid argument",
                                        "an invalid usage",
                                        "an error of a remote process"};
    return code > 0 && code < 7 ? names[code] : "an error that is not known";
}

/* ---- events ----------------------------------------------------------------------------------------------- */

static bool say(view *v, const process *p, const rs_fl_ras_rank *rank, rs_fl_event_kind kind,
                const char *text)
{
    rs_fl_event *e = text ? rs_fl_testify(v->flight, RS_FLIGHT_FILE_RAS, kind, p->global, rank->host, text,
                                          v->report->file, rank->line)
                          : NULL;
    if (!e) return false;
    e->time_ns = v->report->time_ns;
    e->settled = v->stands || kind != RS_FL_EV_BEHIND;
    return true;
}

static bool say_of_process(view *v, const process *p)
{
    rs_flight *flight = v->flight;
    const char *who = p->gone ? process_text(v, p->gone) : p->error ? process_text(v, p->error) : "";
    if (!who) return false;
    if (p->gone)
        return say(v, p, p->gone, RS_FL_EV_UNREACHABLE,
                   rs_fl_print(flight,
                               p->gone->dead ? "is considered dead by NCCL RAS (%s)"
                                             : "does not answer NCCL RAS (%s)",
                               who));
    if (p->error) {
        int64_t code = p->error->async_error > 0 && p->error->async_error != 7 ? p->error->async_error
                                                                               : p->error->init_state;
        if (!say(v, p, p->error, code == 6 ? RS_FL_EV_ABORTED : RS_FL_EV_NCCL_ERROR,
                 rs_fl_print(flight, "reports %s to NCCL RAS (%s)", error_name(code), who)))
            return false;
        flight->log->events[flight->log->n - 1].code = code;
    }
    return !p->lag || p->waits || say(v, p, p->lag, RS_FL_EV_BEHIND, lag_text(v, p));
}

static bool look(view *v)
{
    if (!find_processes(v) || !find_other_attempts(v)) return false;
    v->stands = job_stands(v);
    for (size_t c = 0; c < v->report->n; c++) look_at_comm(v, &v->ras->comms[v->report->first + c]);
    size_t wrong = 0;
    for (size_t i = 0; i < v->n; i++) {
        const process *p = &v->processes[i];
        wrong += p->gone || p->error || p->lag;
        if (!say_of_process(v, p)) return false;
    }
    if (wrong || !v->report->listed) return true;
    rs_fl_event *e = rs_fl_testify(
        v->flight, RS_FLIGHT_FILE_RAS, RS_FL_EV_LEVEL, -1, RS_FL_NONE,
        rs_fl_print(v->flight, "all ranks of %zu communicator%s answer and have launched equally much",
                    v->report->listed, v->report->listed == 1 ? "" : "s"),
        v->report->file, 1);
    if (e) e->time_ns = v->report->time_ns;
    return e != NULL;
}

/* The newest report speaks: by its time, else the last one that was read. */
static bool testify(rs_flight *flight)
{
    const struct rs_fl_ras *ras = flight->ras;
    if (!ras) return true;
    const rs_fl_ras_report *newest = NULL;
    for (size_t i = 0; i < ras->n_reports; i++)
        if ((ras->reports[i].n || ras->reports[i].listed) &&
            (!newest || ras->reports[i].time_ns >= newest->time_ns))
            newest = &ras->reports[i];
    if (!newest) return true;
    view v = {.flight = flight, .ras = ras, .report = newest};
    bool good = look(&v);
    rs_free_all(v.processes, v.identities);
    return good;
}

static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    size_t n = 0;
    rs_status status = rs_fl_read_whole(flight, from, MAX_FILE, &text, &n, err);
    return status == RS_OK && text ? rs_fl_read_ras(flight, text, n, rs_source_name(from), err) : status;
}

static void clear(rs_flight *flight)
{
    if (!flight->ras) return;
    rs_free_all(flight->ras->reports, flight->ras->comms, flight->ras->ranks, flight->ras);
}

const rs_fl_source rs_fl_ras_source = {
    .file = RS_FLIGHT_FILE_RAS,
    .title = "NCCL RAS",
    .knows = rs_fl_knows_ras,
    .read = read,
    .testify = testify,
    .clear = clear,
    .blind = " It may have been taken before the hang, and GPUs and the network can hang "
             "without a sign there.",
    .decides = "a new report (ncclras -f json), twice, 30 s apart, while the job hangs"};
