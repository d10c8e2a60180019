/* Views of the record: entries, side by side, groups, dumps. */
#include "flight/tables.h"

#include "base/ranges.h"
#include "flight/presence.h"
#include "table/cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- choice -------------------------------------------------------------------------------------------- */

/* Which ranks and groups a view shows. */
typedef struct table_choice {
    uint8_t *rank;  /* by rank index */
    uint8_t *group; /* by group */
} table_choice;

static void choice_clear(table_choice *choice)
{
    rs_free_all(choice->rank, choice->group);
    *choice = (table_choice){0};
}

static bool names_group(const rs_flight *flight, const rs_fl_group *group, const char *name, size_t n)
{
    const rs_string *uid = &flight->texts.items[group->uid];
    if (uid->length == n && memcmp(uid->text, name, n) == 0) return true;
    if (group->desc == RS_FL_NONE) return false;
    const rs_string *desc = &flight->texts.items[group->desc];
    return desc->length == n && memcmp(desc->text, name, n) == 0;
}

static rs_status choose_groups(const rs_flight *flight, const char *groups, table_choice *out, rs_error *err)
{
    for (const char *p = groups; *p;) {
        size_t n = strcspn(p, ",");
        bool found = n == 0;
        for (size_t g = 0; n && g < flight->n_groups; g++)
            if (names_group(flight, &flight->groups[g], p, n)) {
                out->group[g] = 1;
                found = true;
            }
        if (!found) {
            const char *first = flight->n_groups ? rs_fl_text(flight, flight->groups[0].uid) : "none";
            return rs_fail(err, RS_ERR_USAGE,
                           "no group has the name or description \"%.*s\" (there is %.60s, ...)",
                           (int)(n < 60 ? n : 60), p, first);
        }
        p += n;
        if (*p == ',') p++;
    }
    return RS_OK;
}

/* RS_ERR_USAGE names a rank or group that does not exist. */
static rs_status choose(rs_flight *flight, const char *ranks, const char *groups, table_choice *out,
                        rs_error *err)
{
    rs_status status = RS_OK;
    *out = (table_choice){.rank = rs_calloc(flight->n_ranks, 1), .group = rs_calloc(flight->n_groups, 1)};
    if (!out->rank || !out->group) status = rs_fail_nomem(err, "the choice");
    if (status == RS_OK && ranks) {
        rs_ranges set = {0};
        size_t n = 0;
        status = rs_ranges_parse(ranks, &set, err);
        for (size_t r = 0; status == RS_OK && r < flight->n_ranks; r++) {
            out->rank[r] = rs_ranges_has(&set, flight->ranks[r].rank);
            n += out->rank[r];
        }
        rs_ranges_clear(&set);
        if (status == RS_OK && n == 0)
            status = rs_fail(err, RS_ERR_USAGE, "there is no dump of any of the ranks %s", ranks);
    } else if (status == RS_OK) {
        memset(out->rank, 1, flight->n_ranks);
    }
    if (status == RS_OK && groups)
        status = choose_groups(flight, groups, out, err);
    else if (status == RS_OK)
        memset(out->group, 1, flight->n_groups);
    if (status != RS_OK) choice_clear(out);
    return status;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static const rs_column_spec entry_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank", NULL},
    {"record_id", RS_INT, RS_UNIT_ID, "number of the record on its rank; not comparable between ranks",
     "record"},
    {"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL},
    {"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"},
    {"seq", RS_INT, RS_UNIT_ID, "sequence number of the collective in its group", NULL},
    {"p2p_seq", RS_INT, RS_UNIT_ID, "sequence number of the point-to-point launch in its group", "p2p seq"},
    {"is_p2p", RS_INT, RS_UNIT_NONE, "1 for point-to-point operations", "p2p"},
    {"op", RS_TEXT, RS_UNIT_NONE, "operation", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "the name as recorded: back end, operation, ends", NULL},
    {"src", RS_INT, RS_UNIT_ID, "global rank that sends", NULL},
    {"dst", RS_INT, RS_UNIT_ID, "global rank that receives", NULL},
    {"state", RS_TEXT, RS_UNIT_NONE, "scheduled, started or completed; pg_status counted in", NULL},
    {"input_sizes", RS_TEXT, RS_UNIT_NONE, "sizes of the input tensors", "input"},
    {"output_sizes", RS_TEXT, RS_UNIT_NONE, "sizes of the output tensors", "output"},
    {"input_dtypes", RS_TEXT, RS_UNIT_NONE, "element types of the input", "in type"},
    {"output_dtypes", RS_TEXT, RS_UNIT_NONE, "element types of the output", "out type"},
    {"created_ns", RS_TIME, RS_UNIT_NS, "when it was issued, the rank's own clock", "created"},
    {"started_ns", RS_TIME, RS_UNIT_NS, "when the start was noticed", "started"},
    {"completed_ns", RS_TIME, RS_UNIT_NS, "when the end was noticed", "completed"},
    {"duration_ms", RS_REAL, RS_UNIT_MS, "on the GPU, where timing was on", "duration"},
    {"timeout_ms", RS_INT, RS_UNIT_NONE, "of the watchdog", "timeout"},
    {"retired", RS_INT, RS_UNIT_NONE,
     "1 when it left the work list; with another state than completed: timed out or aborted", NULL},
    {"thread", RS_TEXT, RS_UNIT_NONE, "host thread", NULL},
    {"stack", RS_INT, RS_UNIT_ID, "number of its stack; equal stacks have equal numbers, 0 is none", NULL},
    {"frames", RS_TEXT, RS_UNIT_NONE, "the stack itself with --stacks, innermost frame first", NULL},
};
static const rs_table_spec entries_spec = {"entries", "one row a recorded operation", entry_columns,
                                           sizeof entry_columns / sizeof *entry_columns};

static void add_member(rs_table *table, const rs_fl_group *group, int32_t slot)
{
    if (slot >= 0 && (size_t)slot < group->n)
        rs_table_add_int(table, group->ranks[slot]);
    else
        rs_table_add_null(table);
}

static rs_status add_entry(rs_flight *flight, const rs_fl_rank *rank, const rs_fl_entry *e, bool stacks,
                           rs_table *table, rs_error *err)
{
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    const rs_fl_group *group = &flight->groups[e->group];
    RS_PUT_CELLS(table, rank->rank, e->record_id, rs_fl_text(flight, group->uid),
                 rs_fl_text(flight, group->desc), e->seq, e->p2p_seq, e->is_p2p, rs_fl_text(flight, c->op),
                 rs_fl_text(flight, c->name));
    add_member(table, group, c->src);
    add_member(table, group, c->dst);
    return RS_PUT_ROW(
        table, err, rs_fl_state_name((rs_fl_state)e->state), rs_fl_text(flight, c->in_sizes),
        rs_fl_text(flight, c->out_sizes), rs_fl_text(flight, c->in_dtypes), rs_fl_text(flight, c->out_dtypes),
        e->created != 0 ? e->created : RS_NO_VALUE, e->started != 0 ? e->started : RS_NO_VALUE,
        e->completed != 0 ? e->completed : RS_NO_VALUE, e->duration_ms,
        e->timeout_ms >= 0 ? e->timeout_ms : RS_NO_VALUE, e->retired, rs_fl_text(flight, e->thread), e->stack,
        stacks && e->stack ? rs_flight_stack(flight, e->stack) : NULL);
}

rs_table *rs_flight_entries(rs_flight *flight, const char *ranks, const char *groups, bool stacks,
                            rs_error *err)
{
    table_choice choice;
    rs_status status = choose(flight, ranks, groups, &choice, err);
    if (status != RS_OK) return NULL;
    rs_table *table = rs_table_create(&entries_spec);
    if (!table) status = rs_fail_nomem(err, "a table");
    for (size_t r = 0; r < flight->n_ranks && status == RS_OK; r++)
        for (size_t i = 0; choice.rank[r] && i < flight->ranks[r].n && status == RS_OK; i++)
            if (choice.group[flight->ranks[r].entries[i].group])
                status =
                    add_entry(flight, &flight->ranks[r], &flight->ranks[r].entries[i], stacks, table, err);
    choice_clear(&choice);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

/* ---- side by side -------------------------------------------------------------------------------------- */

/* A cell: "all_reduce [[4, 8]] completed"; a batch joins its operations. */
static bool add_cell(rs_flight *flight, const rs_fl_unit *unit, rs_table *table)
{
    char *text = NULL;
    size_t n = 0, capacity = 0;
    for (uint32_t i = 0; i < unit->n && i < 16; i++) {
        const rs_fl_entry *e = rs_fl_unit_entry(flight, unit, i);
        const rs_fl_call *c = rs_fl_call_of(flight, e);
        const char *parts[] = {i ? " + " : "",
                               rs_fl_text(flight, c->op),
                               " ",
                               c->kind == RS_FL_MARKER ? "" : rs_fl_text(flight, c->in_sizes),
                               c->kind == RS_FL_MARKER ? "" : " ",
                               rs_fl_state_name((rs_fl_state)e->state)};
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            size_t length = strlen(parts[p]);
            if (!rs_grow((void **)&text, &capacity, n + length + 1, 1)) {
                rs_free(text);
                return false;
            }
            memcpy(text + n, parts[p], length);
            n += length;
        }
    }
    rs_table_add_text_n(table, text ? text : "", n);
    rs_free(text);
    return true;
}

typedef struct side {
    const table_choice *choice;
    rs_table *table;
} side;

static rs_status add_side_row(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    side *s = context;
    size_t u = 0, shown = 0;
    for (size_t i = 0; i < op->n; i++) shown += s->choice->rank[op->units[i].rank];
    if (!shown) return RS_OK;
    RS_PUT_CELLS(s->table, rs_fl_text(flight, flight->groups[op->group].uid),
                 rs_fl_text(flight, flight->groups[op->group].desc), op->seq);
    for (uint32_t r = 0; r < flight->n_ranks; r++) {
        while (u < op->n && op->units[u].rank < r) u++;
        if (!s->choice->rank[r]) continue;
        if (u < op->n && op->units[u].rank == r) {
            if (!add_cell(flight, &op->units[u], s->table)) return rs_fail_nomem(err, "a table");
        } else {
            rs_table_add_null(s->table);
        }
    }
    return rs_table_end_row(s->table, err);
}

/* Point-to-point operations have no common sequence: they are listed by each rank's own. */
static rs_status add_p2p_rows(rs_flight *flight, uint32_t g, side *s, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[g];
    uint32_t longest = 0;
    rs_status status = RS_OK;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        if (s->choice->rank[member->rank] && member->n_p2p > longest) longest = member->n_p2p;
    }
    for (uint32_t i = 0; i < longest && status == RS_OK; i++) {
        uint32_t m = 0;
        RS_PUT_CELLS(s->table, rs_fl_text(flight, group->uid), rs_fl_text(flight, group->desc), RS_NO_VALUE);
        for (uint32_t r = 0; r < flight->n_ranks; r++) {
            while (m < group->n_members && flight->by_group[group->first_member + m]->rank < r) m++;
            if (!s->choice->rank[r]) continue;
            const rs_fl_member *member =
                m < group->n_members ? flight->by_group[group->first_member + m] : NULL;
            if (member && member->rank == r && i < member->n_p2p) {
                const rs_fl_entry *e =
                    &flight->ranks[r].entries[flight->ranks[r].order[member->p2p_begin + i]];
                const rs_fl_call *c = rs_fl_call_of(flight, e);
                const char *name = rs_fl_text(flight, c->name), *colon = strchr(name, ':');
                char cell[512];
                snprintf(cell, sizeof cell, "p2p %" PRId64 ": %s %s %s", e->p2p_seq, colon ? colon + 1 : name,
                         c->kind == RS_FL_MARKER ? "" : rs_fl_text(flight, c->in_sizes),
                         rs_fl_state_name((rs_fl_state)e->state));
                rs_table_add_text(s->table, cell);
            } else {
                rs_table_add_null(s->table);
            }
        }
        status = rs_table_end_row(s->table, err);
    }
    return status;
}

rs_table *rs_flight_side_by_side(rs_flight *flight, const char *ranks, const char *groups, rs_error *err)
{
    table_choice choice;
    rs_status status = choose(flight, ranks, groups, &choice, err);
    if (status != RS_OK) return NULL;
    size_t shown = 0;
    for (size_t r = 0; r < flight->n_ranks; r++) shown += choice.rank[r];
    rs_column_spec *columns = rs_calloc(shown + 3, sizeof *columns);
    char(*names)[32] = rs_malloc((shown + 1) * sizeof *names);
    rs_table *table = NULL;
    if (columns && names) {
        columns[0] = (rs_column_spec){"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL};
        columns[1] = (rs_column_spec){"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"};
        columns[2] =
            (rs_column_spec){"seq", RS_INT, RS_UNIT_ID, "sequence number; empty for point-to-point", NULL};
        size_t at = 0;
        for (size_t r = 0; r < flight->n_ranks; r++) {
            if (!choice.rank[r]) continue;
            snprintf(names[at], sizeof names[at], "rank %" PRId64, flight->ranks[r].rank);
            columns[3 + at] = (rs_column_spec){names[at], RS_TEXT, RS_UNIT_NONE, "what this rank did", NULL};
            at++;
        }
        rs_table_spec spec = {"side_by_side",
                              "one row a collective or point-to-point step, one column a rank", columns,
                              shown + 3};
        table = rs_table_create_dynamic(&spec);
    }
    rs_free_all(columns, names);
    if (!table) status = rs_fail_nomem(err, "a table");
    side s = {&choice, table};
    for (uint32_t g = 0; g < flight->n_groups && status == RS_OK; g++) {
        if (!choice.group[g]) continue;
        status = rs_fl_scan_group(flight, g, add_side_row, &s, err);
        if (status == RS_OK) status = add_p2p_rows(flight, g, &s, err);
    }
    choice_clear(&choice);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static const rs_column_spec group_columns[] = {
    {"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL},
    {"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"},
    {"size", RS_INT, RS_UNIT_COUNT, "members", NULL},
    {"members", RS_TEXT, RS_UNIT_NONE, "global ranks, as written in the dumps", NULL},
    {"dumps", RS_INT, RS_UNIT_COUNT, "members with a usable dump", NULL},
    {"collectives", RS_INT, RS_UNIT_COUNT, "sequence numbers that any member recorded", NULL},
    {"first_seq", RS_INT, RS_UNIT_ID, "the lowest that any ring still holds", "first"},
    {"last_seq", RS_INT, RS_UNIT_ID, "the highest that any member issued", "last"},
    {"behind_seq", RS_INT, RS_UNIT_ID, "the last sequence number of the slowest member", "slowest at"},
    {"behind_rank", RS_INT, RS_UNIT_ID, "that member", "slowest rank"},
    {"open", RS_INT, RS_UNIT_COUNT, "members with an operation of this group that is not completed", NULL},
    {"p2p", RS_INT, RS_UNIT_COUNT, "point-to-point operations recorded", NULL},
};
static const rs_table_spec groups_spec = {"groups", "one row a process group", group_columns,
                                          sizeof group_columns / sizeof *group_columns};

static bool add_members_text(const rs_fl_group *group, rs_table *table)
{
    char *text = NULL;
    size_t n = 0, capacity = 0;
    for (size_t i = 0; i < group->n; i++) {
        if (!rs_grow((void **)&text, &capacity, n + 32, 1)) {
            rs_free(text);
            return false;
        }
        n += (size_t)snprintf(text + n, 32, "%s%" PRId64, i ? "," : "", group->ranks[i]);
    }
    rs_table_add_text_n(table, text ? text : "", n);
    rs_free(text);
    return true;
}

static rs_status add_group_row(rs_flight *flight, uint32_t g, rs_table *table, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[g];
    int64_t first = RS_FL_UNKNOWN, last = RS_FL_UNKNOWN, behind = RS_FL_UNKNOWN, behind_rank = RS_FL_UNKNOWN;
    size_t n_ops = 0, open = 0, p2p = 0;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        bool is_open = false;
        for (uint32_t i = 0; i < member->n && !is_open; i++)
            is_open = rank->entries[rank->order[member->begin + i]].state != RS_FL_COMPLETED;
        for (uint32_t i = 0; i < member->n_p2p && !is_open; i++)
            is_open = rank->entries[rank->order[member->p2p_begin + i]].state != RS_FL_COMPLETED;
        open += is_open;
        p2p += member->n_p2p;
        if (member->last_seq == RS_FL_UNKNOWN && member->issued_seq == RS_FL_UNKNOWN) continue;
        int64_t at = member->issued_seq > member->last_seq ? member->issued_seq : member->last_seq;
        if (member->last_seq != RS_FL_UNKNOWN && (first == RS_FL_UNKNOWN || member->first_seq < first))
            first = member->first_seq;
        if (last == RS_FL_UNKNOWN || at > last) last = at;
        if (behind == RS_FL_UNKNOWN || at < behind) {
            behind = at;
            behind_rank = rank->rank;
        }
    }
    rs_status status = rs_fl_count_ops(flight, g, &n_ops, err);
    if (status != RS_OK) return status;
    RS_PUT_CELLS(table, rs_fl_text(flight, group->uid), rs_fl_text(flight, group->desc), group->n);
    if (!add_members_text(group, table)) return rs_fail_nomem(err, "a table");
    RS_PUT_CELLS(table, group->n_members, n_ops, first != RS_FL_UNKNOWN ? first : RS_NO_VALUE,
                 last != RS_FL_UNKNOWN ? last : RS_NO_VALUE);
    bool someone_is_behind = behind != last && behind != RS_FL_UNKNOWN;
    return RS_PUT_ROW(table, err, someone_is_behind ? behind : RS_NO_VALUE,
                      someone_is_behind && behind_rank != RS_FL_UNKNOWN ? behind_rank : RS_NO_VALUE, open,
                      p2p);
}

/* Whether something is open in a group, or a root is in it. */
static bool is_concerned(const rs_flight *flight, uint32_t g)
{
    const rs_fl_group *group = &flight->groups[g];
    const rs_flight_report *report = &flight->report;
    for (size_t i = 0; i < report->n_roots; i++)
        if (report->roots[i].group && strcmp(report->roots[i].group, rs_fl_text(flight, group->uid)) == 0)
            return true;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        if (rank->shape == RS_FL_ISSUE_ONLY) continue;
        for (uint32_t i = 0; i < member->n + member->n_p2p; i++)
            if (rank->entries[rank->order[i < member->n ? member->begin + i
                                                        : member->p2p_begin + i - member->n]]
                    .state != RS_FL_COMPLETED)
                return true;
    }
    return false;
}

static rs_table *groups_table(rs_flight *flight, const char *groups, bool concerned, rs_error *err)
{
    table_choice choice;
    const rs_flight_report *report;
    rs_status status = choose(flight, NULL, groups, &choice, err);
    if (status != RS_OK) return NULL;
    rs_table *table = rs_table_create(&groups_spec);
    status = table ? rs_flight_get_report(flight, &report, err) : rs_fail_nomem(err, "a table");
    for (uint32_t g = 0; g < flight->n_groups && status == RS_OK; g++)
        if (choice.group[g] && flight->groups[g].n_members &&
            (!concerned || (flight->groups[g].n > 1 && is_concerned(flight, g))))
            status = add_group_row(flight, g, table, err);
    choice_clear(&choice);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

rs_table *rs_flight_groups(rs_flight *flight, const char *groups, rs_error *err)
{
    return groups_table(flight, groups, false, err);
}

rs_table *rs_flight_open_groups(rs_flight *flight, rs_error *err)
{
    return groups_table(flight, NULL, true, err);
}

/* ---- dumps --------------------------------------------------------------------------------------------- */

static const rs_column_spec dump_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "where its dump was read from", NULL},
    {"rank_from", RS_TEXT, RS_UNIT_NONE, "how the rank was determined", "rank from"},
    {"version", RS_TEXT, RS_UNIT_NONE, "of the dump's format", NULL},
    {"library", RS_TEXT, RS_UNIT_NONE, "version of the communication library", NULL},
    {"entries", RS_INT, RS_UNIT_COUNT, "operations recorded", NULL},
    {"first_record", RS_INT, RS_UNIT_ID, "number of the oldest one; above 0 the ring has lost older ones",
     "first record"},
    {"shape", RS_TEXT, RS_UNIT_NONE, "full, ring, active_only, status_only or issue_only", NULL},
    {"truncated", RS_INT, RS_UNIT_NONE, "1 when the file was cut short", NULL},
    {"groups", RS_INT, RS_UNIT_COUNT, "groups it is in", NULL},
    {"communicators", RS_INT, RS_UNIT_COUNT, "communicators described by nccl_comm_state", NULL},
    {"clock_offset", RS_TIME, RS_UNIT_US, "of its clock against the job's median, estimated", "clock"},
};
static const rs_table_spec dumps_spec = {"dumps", "one row a usable dump", dump_columns,
                                         sizeof dump_columns / sizeof *dump_columns};

rs_table *rs_flight_dumps(rs_flight *flight, rs_error *err)
{
    const rs_flight_report *report;
    rs_table *table = rs_table_create(&dumps_spec);
    rs_status status = table ? rs_flight_get_report(flight, &report, err) : rs_fail_nomem(err, "a table");
    for (size_t r = 0; r < flight->n_ranks && status == RS_OK; r++) {
        const rs_fl_rank *rank = &flight->ranks[r];
        status = RS_PUT_ROW(table, err, rank->rank, rank->file, rank->rule, rs_fl_text(flight, rank->version),
                            rs_fl_text(flight, rank->library), rank->n,
                            rank->n ? rank->entries[0].record_id : RS_NO_VALUE,
                            rs_fl_shape_name((rs_fl_shape)rank->shape), rank->cut, rank->n_members,
                            rank->n_comms, rank->clock);
    }
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

const rs_table_spec *const *rs_flight_tables(size_t *n)
{
    static const rs_table_spec *const specs[] = {
        &groups_spec,         &entries_spec,           &dumps_spec,
        &rs_fl_lateness_spec, &rs_fl_collectives_spec, &rs_fl_roots_spec,
        &rs_fl_log_spec,      &rs_fl_attempts_spec,    &rs_fl_progress_spec,
        &rs_fl_stacks_spec,   &rs_fl_inspector_spec};
    *n = sizeof specs / sizeof *specs;
    return specs;
}
