/* What a line of a log tells: the kinds of events, each with the forms that programs print it in. The sources
 * of the forms are named in docs/flight.md. */
#include "flight/log.h"
#include "flight/template.h"

#include <string.h>

static const struct {
    const char *name;
    rs_fl_role role;
} kinds[RS_FL_N_EVENTS] = {
    [RS_FL_EV_XID] = {"xid", RS_FL_ORIGIN},
    [RS_FL_EV_SXID] = {"sxid", RS_FL_ORIGIN},
    [RS_FL_EV_ECC] = {"ecc", RS_FL_ORIGIN},
    [RS_FL_EV_PCIE_ERROR] = {"pcie_error", RS_FL_ORIGIN},
    [RS_FL_EV_AMDGPU] = {"amdgpu", RS_FL_ORIGIN},
    [RS_FL_EV_HOST_OOM] = {"host_oom", RS_FL_ORIGIN},
    [RS_FL_EV_NODE_FAILURE] = {"node_failure", RS_FL_ORIGIN},
    [RS_FL_EV_CUDA_ERROR] = {"cuda_error", RS_FL_ORIGIN},
    [RS_FL_EV_CUDA_OOM] = {"cuda_oom", RS_FL_ORIGIN},
    [RS_FL_EV_NETWORK] = {"nccl_network", RS_FL_ORIGIN},
    [RS_FL_EV_SEGFAULT] = {"segfault", RS_FL_ORIGIN},
    [RS_FL_EV_EXCEPTION] = {"python_exception", RS_FL_ORIGIN},
    [RS_FL_EV_GIL] = {"gil_or_driver", RS_FL_ORIGIN},
    [RS_FL_EV_CANCELLED] = {"cancelled", RS_FL_ORIGIN},
    [RS_FL_EV_NCCL_ERROR] = {"nccl_error", RS_FL_ORIGIN},
    [RS_FL_EV_KILLED] = {"killed", RS_FL_ORIGIN},
    [RS_FL_EV_EXIT] = {"exit", RS_FL_ORIGIN},
    [RS_FL_EV_UNREACHABLE] = {"unreachable", RS_FL_ORIGIN},
    [RS_FL_EV_TIMEOUT] = {"timeout", RS_FL_CONSEQUENCE},
    [RS_FL_EV_HEARTBEAT] = {"heartbeat", RS_FL_CONSEQUENCE},
    [RS_FL_EV_ABORT] = {"abort", RS_FL_CONSEQUENCE},
    [RS_FL_EV_STORE] = {"store", RS_FL_CONSEQUENCE},
    [RS_FL_EV_SIGNAL] = {"signal", RS_FL_CONSEQUENCE},
    [RS_FL_EV_ABORTED] = {"aborted", RS_FL_CONSEQUENCE},
    [RS_FL_EV_BEHIND] = {"behind", RS_FL_POSITION},
    [RS_FL_EV_ELSEWHERE] = {"elsewhere", RS_FL_POSITION},
    [RS_FL_EV_PLACE] = {"place", RS_FL_CONDITION},
    [RS_FL_EV_LATE] = {"late", RS_FL_CONDITION},
    [RS_FL_EV_THROTTLED] = {"throttled", RS_FL_CONDITION},
    [RS_FL_EV_PCIE] = {"pcie", RS_FL_CONDITION},
    [RS_FL_EV_NVLINK] = {"nvlink", RS_FL_CONDITION},
    [RS_FL_EV_SLOW_LINK] = {"slow_link", RS_FL_CONDITION},
    [RS_FL_EV_COMPILED] = {"compiled", RS_FL_CONDITION},
    [RS_FL_EV_FIRST_DUMP] = {"first_dump", RS_FL_REMARK},
    [RS_FL_EV_LEVEL] = {"level", RS_FL_REMARK},
};

const char *rs_fl_event_kind_name(rs_fl_event_kind kind)
{
    return kinds[kind].name;
}

rs_fl_role rs_fl_event_role(rs_fl_event_kind kind)
{
    return kinds[kind].role;
}

rs_fl_event *rs_fl_add_event(rs_fl_log *log, const rs_fl_line *line, rs_fl_event_kind kind)
{
    if (!RS_GROW_ONE(log->events, log->n, log->capacity)) return NULL;
    rs_fl_event *e = &log->events[log->n++];
    const rs_fl_mark *mark = log->n_marks ? &log->marks[log->n_marks - 1] : NULL;
    bool marked = mark && mark->line == line->line && mark->file == line->file;
    *e = (rs_fl_event){.who = line->who,
                       .rank = -1,
                       .task = -1,
                       .host = line->who.host,
                       .kind = (uint8_t)kind,
                       .role = (uint8_t)kinds[kind].role,
                       .from = RS_FLIGHT_FILE_LOG,
                       .by_hook = line->hook,
                       .yearless = line->yearless,
                       .time_ns = line->time_ns,
                       .code = INT64_MIN,
                       .exception = RS_FL_NONE,
                       .text = RS_FL_NONE,
                       .where = RS_FL_NONE,
                       .pci = RS_FL_NONE,
                       .group = line->who.guid,
                       .seq = RS_FL_UNKNOWN,
                       .enqueued = RS_FL_UNKNOWN,
                       .completed = RS_FL_UNKNOWN,
                       .file = line->file,
                       .line = line->line,
                       .source = line->source,
                       .mark = marked ? log->n_marks : 0,
                       .attempt = -1};
    return e;
}

static bool intern(rs_flight *flight, rs_fl_span span, uint32_t *id)
{
    while (span.n && (span.text[span.n - 1] == ' ' || span.text[span.n - 1] == '\r')) span.n--;
    *id = rs_strings_add(&flight->texts, span.n ? span.text : "", span.n > 400 ? 400 : span.n);
    return *id != RS_NO_STRING;
}

/* What the fields of a form are, in order. */
typedef enum field {
    F_END,
    F_SKIP,
    F_TEXT,
    F_CODE,
    F_PID,
    F_HOST,
    F_TASKS,
    F_PCI,
    F_SEQ,
    F_ENQUEUED,
    F_COMPLETED,
    F_GUID,
    F_GROUP_RANK,
    F_LOCAL,
    F_EXIT, /* a code that also tells the kind */
    F_STEP  /* of the whole step: no rank is named */
} field;

static const struct form {
    uint8_t kind;
    const char *pattern;
    uint8_t fields[RS_FL_MAX_FIELDS];
} forms[] = {
    {RS_FL_EV_XID, "NVRM: Xid (PCI:%x): %d,%?%r", {F_PCI, F_CODE, F_TEXT}},
    {RS_FL_EV_XID, "NVRM: Xid (PCI:%x %*): %d,%?%r", {F_PCI, F_CODE, F_TEXT}},
    {RS_FL_EV_SXID, "SXid (PCI:%x): %d, Fatal, %r", {F_PCI, F_CODE, F_TEXT}},
    {RS_FL_EV_NVLINK, "SXid (PCI:%x): %d, %r", {F_PCI, F_CODE, F_TEXT}},
    {RS_FL_EV_PCIE_ERROR, "AER: Uncorrect%*(Fatal) error%*received%*: %x", {F_PCI}},
    {RS_FL_EV_PCIE_ERROR, "AER: Uncorrect%*(Fatal) error message received from %x", {F_PCI}},
    {RS_FL_EV_PCIE, "pci %x %w Gb/s available PCIe bandwidth, limited by %r", {F_PCI, F_SKIP, F_TEXT}},
    {RS_FL_EV_THROTTLED, "temperature above threshold, cpu clock throttled", {F_END}},
    {RS_FL_EV_AMDGPU, "amdgpu %x %*GPU reset begin", {F_PCI}},
    {RS_FL_EV_AMDGPU, "amdgpu %x %*ring %s timeout", {F_PCI, F_TEXT}},
    {RS_FL_EV_AMDGPU, "amdgpu %x %*page fault", {F_PCI}},
    {RS_FL_EV_AMDGPU, "amdgpu %x %*Hang detected", {F_PCI}},
    {RS_FL_EV_AMDGPU, "amdgpu %x %*RAS %*uncorrectable", {F_PCI}},
    {RS_FL_EV_HOST_OOM, "Detected %d oom_kill event%*in StepId=%w", {F_SKIP, F_STEP}},
    {RS_FL_EV_HOST_OOM, "Detected %d oom_kill event%*in step %w", {F_SKIP, F_STEP}},
    {RS_FL_EV_HOST_OOM, "Detected %d oom-kill event%*in StepId=%w", {F_SKIP, F_STEP}},
    {RS_FL_EV_HOST_OOM, "Detected %d oom-kill event%*in step %w", {F_SKIP, F_STEP}},
    {RS_FL_EV_HOST_OOM, "srun: error: %w: task %s Out Of Memory", {F_HOST, F_TASKS}},
    {RS_FL_EV_HOST_OOM, "srun: error: %w: tasks %s Out Of Memory", {F_HOST, F_TASKS}},
    {RS_FL_EV_HOST_OOM, "Out of memory: Killed process %d (%w)", {F_PID, F_TEXT}},
    {RS_FL_EV_HOST_OOM, "DataLoader worker (pid%*is killed by signal: Killed", {0}},
    {RS_FL_EV_HOST_OOM, "OOMKilled", {0}},
    {RS_FL_EV_NODE_FAILURE, "Node failure on %s", {F_HOST}},
    {RS_FL_EV_NODE_FAILURE, "DUE TO NODE FAILURE", {F_END}},
    {RS_FL_EV_CUDA_OOM, "CUDA out of memory. Tried to allocate %r", {F_TEXT}},
    {RS_FL_EV_CUDA_OOM, "HIP out of memory. Tried to allocate %r", {F_TEXT}},
    {RS_FL_EV_CUDA_ERROR, "CUDA error: %r", {F_TEXT}},
    {RS_FL_EV_CUDA_ERROR, "HIP error: %r", {F_TEXT}},
    {RS_FL_EV_CUDA_ERROR, "Cuda failure '%q'", {F_TEXT}},
    {RS_FL_EV_CUDA_ERROR, "Cuda failure %d '%q'", {F_SKIP, F_TEXT}},
    {RS_FL_EV_NETWORK, "NET/IB%?:%?Got completion%*with status=%d", {F_CODE}},
    {RS_FL_EV_NETWORK, "NET/IB%?:%?Got completion%*with error %d", {F_CODE}},
    {RS_FL_EV_NETWORK, "NET/IB%?:%?Got completion%*with status %d", {F_CODE}},
    {RS_FL_EV_SEGFAULT, "Fatal Python error: Segmentation fault", {F_END}},
    {RS_FL_EV_SEGFAULT, "Fatal Python error: Bus error", {F_END}},
    {RS_FL_EV_SEGFAULT, "Fatal Python error: Illegal instruction", {F_END}},
    {RS_FL_EV_SEGFAULT, "Fatal Python error: Floating-point exception", {F_END}},
    {RS_FL_EV_EXIT, "failed (exitcode: %d) local_rank: %d (pid: %d)", {F_EXIT, F_LOCAL, F_PID}},
    {RS_FL_EV_EXIT, "exitcode%?:%?%d (pid: %d)", {F_EXIT, F_PID}},
    {RS_FL_EV_GIL, "watchdog got stuck for %d", {F_TEXT}},
    {RS_FL_EV_GIL, "Could not acquire GIL within %d ms on exit", {F_TEXT}},
    {RS_FL_EV_CANCELLED, "CANCELLED AT %s %r", {F_SKIP, F_TEXT}},
    {RS_FL_EV_TIMEOUT,
     "Watchdog caught collective operation timeout: Work%w(SeqNum=%d, OpType=%w,",
     {F_SKIP, F_SEQ, F_TEXT}},
    {RS_FL_EV_TIMEOUT,
     "failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed "
     "work: %d",
     {F_SEQ, F_ENQUEUED, F_COMPLETED}},
    {RS_FL_EV_TIMEOUT,
     "failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last started "
     "work: %d, last completed work: %d",
     {F_SEQ, F_ENQUEUED, F_SKIP, F_COMPLETED}},
    {RS_FL_EV_TIMEOUT, "Received a dump signal due to a collective timeout", {F_END}},
    {RS_FL_EV_TIMEOUT, "Operation timed out after %d ms", {F_SKIP}},
    {RS_FL_EV_TIMEOUT, "Timed out waiting %dms for", {F_SKIP}},
    {RS_FL_EV_TIMEOUT, "RPC call to %w timed out", {F_TEXT}},
    {RS_FL_EV_TIMEOUT, "cheduler watchdog timeout (self.watchdog_timeout=%d", {F_SKIP}},
    {RS_FL_EV_TIMEOUT, "Watchdog timeout (self.watchdog_timeout=%d", {F_SKIP}},
    {RS_FL_EV_ABORTED, "EngineDeadError", {F_END}},
    {RS_FL_EV_FIRST_DUMP, "First PG on this rank to signal dumping", {F_END}},
    {RS_FL_EV_HEARTBEAT, "Heartbeat monitor timed out", {F_END}},
    {RS_FL_EV_HEARTBEAT, "Received a timeout signal", {F_END}},
    {RS_FL_EV_HEARTBEAT, "Received a global timeout signal", {F_END}},
    {RS_FL_EV_ABORT, "Process group watchdog thread terminated with exception", {F_END}},
    {RS_FL_EV_ABORT, "To avoid data inconsistency, we are taking the entire process down", {F_END}},
    {RS_FL_EV_ABORT, "terminate called after throwing an instance of 'c10::DistBackendError'", {F_END}},
    {RS_FL_EV_SIGNAL, "Sending process %d closing signal %w", {F_PID, F_TEXT}},
    {RS_FL_EV_SIGNAL, "Received %d death signal", {F_SKIP}},
    {RS_FL_EV_SIGNAL, "SignalException: Process %d got signal: %d", {F_PID, F_CODE}},
    {RS_FL_EV_ABORTED, "DistBackendError: NCCL communicator was aborted", {F_END}},
    {RS_FL_EV_ABORTED, "DistBackendError: NCCL error in:", {F_END}},
    {RS_FL_EV_ABORTED, "DistNetworkError", {F_END}},
    {RS_FL_EV_ABORTED, "gloo/transport/tcp/%*Connection closed by peer", {F_END}},
    {RS_FL_EV_ABORTED, "gloo/transport/tcp/%*Connection reset by peer", {F_END}},
    {RS_FL_EV_ABORTED, "Gloo connectFullMesh failed", {F_END}},
    {RS_FL_EV_ABORTED, "NCCL communicator was aborted", {F_END}},
    {RS_FL_EV_NETWORK, "ncclRemoteError", {F_END}},
    {RS_FL_EV_NETWORK, "ncclSystemError", {F_END}},
    {RS_FL_EV_STORE, "recvValue failed", {F_END}},
    {RS_FL_EV_STORE, "TCPStore", {F_END}},
    {RS_FL_EV_STORE, "Failed to recv, got %d bytes", {F_SKIP}},
    {RS_FL_EV_STORE, "Failed to send, got %d bytes", {F_SKIP}},
};

/* What NCCL warns of when a connection or a link goes. */
static const char *const network_words[] = {"onnection reset",     "onnection refused", "onnection closed",
                                            "onnection timed out", "socket progress",   "async event",
                                            "Port error",          "Port down",         "link down",
                                            "link failure",        "socketProgress"};

static rs_fl_event_kind kind_of_exit(int64_t code)
{
    switch (code) {
    case -9: return RS_FL_EV_KILLED;
    case -11:
    case -7:
    case -4:
    case -8: return RS_FL_EV_SEGFAULT;
    case -6:
    case -15:
    case -2: return RS_FL_EV_ABORT;
    default: return RS_FL_EV_EXIT;
    }
}

/* "6:", "3,5:", "0-3:" of srun: the first task is kept. */
static void read_task(rs_fl_span span, rs_fl_event *e)
{
    size_t digits = 0;
    while (digits < span.n && span.text[digits] >= '0' && span.text[digits] <= '9') digits++;
    if (digits) e->task = rs_fl_span_int((rs_fl_span){span.text, digits});
}

static bool fill_field(rs_flight *flight, rs_fl_event *e, uint8_t what, rs_fl_span span)
{
    switch (what) {
    case F_TEXT: return intern(flight, span, &e->text);
    case F_CODE: e->code = rs_fl_span_int(span); return true;
    case F_EXIT:
        e->code = rs_fl_span_int(span);
        e->kind = (uint8_t)kind_of_exit(e->code);
        e->role = (uint8_t)rs_fl_event_role((rs_fl_event_kind)e->kind);
        return true;
    case F_PID: e->who.pid = rs_fl_span_int(span); return true;
    case F_LOCAL: e->who.local = rs_fl_span_int(span); return true;
    case F_HOST: return intern(flight, span, &e->host);
    case F_TASKS: read_task(span, e); return true;
    case F_PCI: return intern(flight, span, &e->pci);
    case F_SEQ: e->seq = rs_fl_span_int(span); return true;
    case F_ENQUEUED: e->enqueued = rs_fl_span_int(span); return true;
    case F_COMPLETED: e->completed = rs_fl_span_int(span); return true;
    case F_STEP: e->step_only = true; return true;
    default: return true;
    }
}

static bool begins(rs_fl_span span, const char *text)
{
    return span.n >= strlen(text) && memcmp(span.text, text, strlen(text)) == 0;
}

/* Forms whose words also are in lines that mean something else. */
static bool is_other(const struct form *f, const rs_fl_line *line, const rs_fl_span *fields)
{
    if (f->kind == RS_FL_EV_CUDA_ERROR) return begins(fields[0], "out of memory");
    if (f->kind == RS_FL_EV_EXIT) return rs_fl_span_int(fields[0]) == 0;
    /* Its own message says that another rank's error reached it. */
    if (f->kind == RS_FL_EV_NETWORK && strcmp(f->pattern, "ncclRemoteError") == 0)
        return rs_fl_find(line->text, line->n, ": A call to an async") != NULL;
    return false;
}

static rs_fl_line_kind warned_of_network(rs_flight *flight, rs_fl_log *log, const rs_fl_line *line)
{
    const char *warn = rs_fl_find(line->text, line->n, "NCCL WARN ");
    if (!warn) return RS_FL_LINE_PLAIN;
    size_t n = (size_t)(line->text + line->n - warn) - strlen("NCCL WARN ");
    rs_fl_span rest = {warn + strlen("NCCL WARN "), n};
    bool failed_call = rs_fl_find(rest.text, n, "all to ") && rs_fl_find(rest.text, n, "failed");
    for (size_t i = 0; i < sizeof network_words / sizeof *network_words; i++) {
        if (!failed_call && !rs_fl_find(rest.text, n, network_words[i])) continue;
        rs_fl_event *e = rs_fl_add_event(log, line, RS_FL_EV_NETWORK);
        return e && intern(flight, rest, &e->text) ? RS_FL_LINE_EVENT : RS_FL_LINE_NOMEM;
    }
    return RS_FL_LINE_PLAIN;
}

rs_fl_line_kind rs_fl_read_event(rs_flight *flight, rs_fl_log *log, const rs_fl_line *line)
{
    rs_fl_span fields[RS_FL_MAX_FIELDS];
    if (line->n < 7) return RS_FL_LINE_PLAIN;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *f = &forms[i];
        if (!rs_fl_template(line->text, line->n, f->pattern, fields) || is_other(f, line, fields)) continue;
        rs_fl_event *e = rs_fl_add_event(log, line, (rs_fl_event_kind)f->kind);
        for (size_t k = 0; e && k < RS_FL_MAX_FIELDS && f->fields[k] != F_END && fields[k].text; k++)
            if (!fill_field(flight, e, f->fields[k], fields[k])) e = NULL;
        if (!e) return RS_FL_LINE_NOMEM;
        return e->role == RS_FL_ORIGIN || e->role == RS_FL_CONDITION ? RS_FL_LINE_EVENT
                                                                     : RS_FL_LINE_CONSEQUENCE;
    }
    return warned_of_network(flight, log, line);
}

bool rs_fl_exception_kind(const char *text, size_t n, rs_fl_event_kind *kind)
{
    rs_fl_span fields[RS_FL_MAX_FIELDS];
    rs_fl_line line = {.text = text, .n = n};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i].kind == RS_FL_EV_EXIT || forms[i].kind == RS_FL_EV_CANCELLED ||
            !rs_fl_template(text, n, forms[i].pattern, fields) || is_other(&forms[i], &line, fields))
            continue;
        *kind = (rs_fl_event_kind)forms[i].kind;
        return true;
    }
    return false;
}
