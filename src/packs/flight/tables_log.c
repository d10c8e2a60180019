/* The events of the logs as a table. */
#include "flight/log.h"
#include "table/cells.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank, as far as the log says", NULL},
    {"host", RS_TEXT, RS_UNIT_NONE, "host", NULL},
    {"time_ns", RS_TIME, RS_UNIT_NS,
     "by the log's own clock; a line without a stamp has that of the line before", "time"},
    {"kind", RS_TEXT, RS_UNIT_NONE, "what it is: xid, host_oom, python_exception, timeout, ...", NULL},
    {"role", RS_TEXT, RS_UNIT_NONE, "origin, consequence or note", NULL},
    {"code", RS_INT, RS_UNIT_NONE, "exit code, Xid, status of the network", NULL},
    {"exception", RS_TEXT, RS_UNIT_NONE, "type of a Python exception", NULL},
    {"text", RS_TEXT, RS_UNIT_NONE, "the rest of the message", NULL},
    {"where", RS_TEXT, RS_UNIT_NONE, "file:line in the user's code", NULL},
    {"group", RS_TEXT, RS_UNIT_NONE, "process group that a watchdog names", NULL},
    {"seq", RS_INT, RS_UNIT_ID, "number of the work that timed out", NULL},
    {"fatal", RS_INT, RS_UNIT_NONE, "1 when it ended its rank; a traceback that was caught did not", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "the log", NULL},
    {"line", RS_INT, RS_UNIT_ID, "its line", NULL},
    {"attempt", RS_INT, RS_UNIT_ID, "torchrun's attempt to run the job, from 0; empty: not known", NULL},
};
const rs_table_spec rs_fl_log_spec = {"log", "one row an event of the job's log", columns,
                                      sizeof columns / sizeof *columns};

static rs_status add_row(const rs_flight *flight, const rs_fl_event *e, rs_table *table, rs_error *err)
{
    static const char *const roles[] = {"origin", "consequence", "note", "position", "condition"};
    return RS_PUT_ROW(table, err, e->rank >= 0 ? e->rank : RS_NO_VALUE, rs_fl_text(flight, e->host),
                      e->time_ns && !e->yearless ? e->time_ns : RS_NO_VALUE,
                      rs_fl_event_kind_name((rs_fl_event_kind)e->kind), roles[e->role], e->code,
                      rs_fl_text(flight, e->exception), rs_fl_text(flight, e->text),
                      rs_fl_text(flight, e->where), rs_fl_text(flight, e->group),
                      e->seq != RS_FL_UNKNOWN ? e->seq : RS_NO_VALUE, e->fatal, rs_fl_text(flight, e->file),
                      e->line, e->attempt >= 0 ? e->attempt : RS_NO_VALUE);
}

rs_table *rs_flight_log(rs_flight *flight, rs_error *err)
{
    rs_table *table = rs_table_create(&rs_fl_log_spec);
    rs_status status = table ? RS_OK : rs_fail_nomem(err, "a table");
    for (size_t i = 0; flight->log && status == RS_OK && i < flight->log->n; i++)
        status = add_row(flight, &flight->log->events[i], table, err);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

static const rs_column_spec attempt_columns[] = {
    {"attempt", RS_INT, RS_UNIT_ID, "torchrun's attempt to run the job, from 0", NULL},
    {"outcome", RS_TEXT, RS_UNIT_NONE,
     "restarted, failed, finished, stopped (by a signal from outside), no failure", NULL},
    {"judged", RS_INT, RS_UNIT_NONE, "1 for the one that the verdict is about", NULL},
    {"rank", RS_INT, RS_UNIT_ID, "rank that ended it, as far as the log says", NULL},
    {"local_rank", RS_INT, RS_UNIT_ID, "rank within its node that torchrun named first", NULL},
    {"pid", RS_INT, RS_UNIT_ID, "process of that rank", NULL},
    {"code", RS_INT, RS_UNIT_NONE, "exit code, Xid, status of the network", NULL},
    {"cause", RS_TEXT, RS_UNIT_NONE, "kind of cause: python_exception, exit, killed, xid, ...", NULL},
    {"exception", RS_TEXT, RS_UNIT_NONE, "type of a Python exception", NULL},
    {"text", RS_TEXT, RS_UNIT_NONE, "the rest of the message", NULL},
    {"where", RS_TEXT, RS_UNIT_NONE, "file:line in the user's code", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "the log that shows the cause", NULL},
    {"line", RS_INT, RS_UNIT_ID, "its line", NULL},
    {"lines", RS_INT, RS_UNIT_COUNT, "lines of the logs that are of the attempt", NULL},
    {"events", RS_INT, RS_UNIT_COUNT, "events of the table log that are of the attempt", NULL},
};
const rs_table_spec rs_fl_attempts_spec = {"attempts", "one row an attempt of torchrun to run the job",
                                           attempt_columns, sizeof attempt_columns / sizeof *attempt_columns};

static rs_status add_attempt(const rs_flight_attempt *a, size_t i, rs_table *table, rs_error *err)
{
    const rs_flight_cause *c = a->cause;
    return RS_PUT_ROW(table, err, i, a->outcome, a->judged, c && c->rank >= 0 ? c->rank : RS_NO_VALUE,
                      a->local_rank >= 0 ? a->local_rank : RS_NO_VALUE, a->pid >= 0 ? a->pid : RS_NO_VALUE,
                      c ? c->code : RS_NO_VALUE, c ? c->kind : NULL, c ? c->exception : NULL,
                      c ? c->text : NULL, c ? c->where : NULL, c ? c->file : NULL,
                      c && c->line > 0 ? c->line : RS_NO_VALUE, a->n_lines, a->n_events);
}

rs_table *rs_flight_attempts(rs_flight *flight, rs_error *err)
{
    const rs_flight_report *report;
    rs_table *table = rs_table_create(&rs_fl_attempts_spec);
    rs_status status = table ? rs_flight_get_report(flight, &report, err) : rs_fail_nomem(err, "a table");
    for (size_t i = 0; status == RS_OK && i < report->n_attempts; i++)
        status = add_attempt(&report->attempts[i], i, table, err);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}
