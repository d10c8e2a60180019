/* The roots as a table. */

#include "flight/presence.h"
#include "table/cells.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank; empty where no rank can be named", NULL},
    {"kind", RS_TEXT, RS_UNIT_NONE,
     "silent, stalled, blocked, collective, mismatch, deadlock, order, no_dump, unknown, slow, crashed, "
     "config",
     NULL},
    {"verdict", RS_TEXT, RS_UNIT_NONE, "the verdict it gives", NULL},
    {"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL},
    {"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"},
    {"seq", RS_INT, RS_UNIT_ID, "number of the operation in its group: of the collective, or of the launch",
     NULL},
    {"p2p", RS_INT, RS_UNIT_NONE, "1 when the operation is a send or receive", NULL},
    {"op", RS_TEXT, RS_UNIT_NONE, "operation", NULL},
    {"last_completed", RS_INT, RS_UNIT_ID, "the newest collective of the group that the rank has completed",
     "completed"},
    {"frontier", RS_INT, RS_UNIT_ID, "the newest that anybody has", NULL},
    {"behind", RS_INT, RS_UNIT_COUNT, "frontier - last_completed", NULL},
    {"open_ops", RS_INT, RS_UNIT_COUNT, "operations that the rank has open, in all groups", "open"},
    {"first_open_ns", RS_TIME, RS_UNIT_NS, "since when others wait for it, clock offsets removed", "since"},
    {"host", RS_TEXT, RS_UNIT_NONE, "its host", NULL},
    {"where", RS_TEXT, RS_UNIT_NONE, "file:line in the user's code", NULL},
    {"state", RS_TEXT, RS_UNIT_NONE, "of the rank's own operation", NULL},
    {"waiters", RS_INT, RS_UNIT_COUNT, "ranks that wait for it, directly or through others", NULL},
    {"cause", RS_TEXT, RS_UNIT_NONE, "kind of cause, by the log or a stack", NULL},
    {"cause_text", RS_TEXT, RS_UNIT_NONE, "what the log says", NULL},
    {"cause_at", RS_TEXT, RS_UNIT_NONE, "file:line of the log", NULL},
};
const rs_table_spec rs_fl_roots_spec = {"roots", "one row a root of the hang", columns,
                                        sizeof columns / sizeof *columns};

static rs_status add_row(rs_flight *flight, const rs_flight_root *r, rs_table *table, rs_error *err)
{
    const char *at = NULL;
    if (r->cause && r->cause->file) {
        at = rs_fl_print(flight, "%s:%lld", r->cause->file, (long long)r->cause->line);
        if (!at) return rs_fail_nomem(err, "a table");
    }
    return RS_PUT_ROW(
        table, err, r->rank >= 0 ? r->rank : RS_NO_VALUE, rs_flight_root_kind_name(r->kind),
        rs_flight_verdict_name(r->verdict), r->group, r->group_desc, r->seq >= 0 ? r->seq : RS_NO_VALUE,
        r->p2p, r->op, r->last_completed >= 0 ? r->last_completed : RS_NO_VALUE,
        r->frontier >= 0 ? r->frontier : RS_NO_VALUE,
        r->frontier >= 0 && r->last_completed >= 0 ? r->frontier - r->last_completed : RS_NO_VALUE,
        r->open_ops, r->first_open_ns ? r->first_open_ns : RS_NO_VALUE, r->host, r->where, r->state,
        r->waiters, r->cause ? r->cause->kind : NULL, r->cause ? r->cause->text : NULL, at);
}

rs_table *rs_flight_roots(rs_flight *flight, rs_error *err)
{
    const rs_flight_report *report;
    rs_table *table = rs_table_create(&rs_fl_roots_spec);
    rs_status status = table ? rs_flight_get_report(flight, &report, err) : rs_fail_nomem(err, "a table");
    for (size_t i = 0; status == RS_OK && i < report->n_roots; i++)
        status = add_row(flight, &report->roots[i], table, err);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}
