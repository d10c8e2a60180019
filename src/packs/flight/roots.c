/* From findings to roots: one row a rank, the classes that they fall into, and the machines to take out. */
#include "flight/roots.h"

#include <string.h>

static const char *const kind_names[] = {
    [RS_FLIGHT_ROOT_NONE] = "none",
    [RS_FLIGHT_ROOT_SILENT] = "silent",
    [RS_FLIGHT_ROOT_STALLED] = "stalled",
    [RS_FLIGHT_ROOT_BLOCKED] = "blocked",
    [RS_FLIGHT_ROOT_COLLECTIVE] = "collective",
    [RS_FLIGHT_ROOT_MISMATCH] = "mismatch",
    [RS_FLIGHT_ROOT_DEADLOCK] = "deadlock",
    [RS_FLIGHT_ROOT_ORDER] = "order",
    [RS_FLIGHT_ROOT_NO_DUMP] = "no_dump",
    [RS_FLIGHT_ROOT_UNKNOWN] = "unknown",
    [RS_FLIGHT_ROOT_SLOW] = "slow",
    [RS_FLIGHT_ROOT_CRASHED] = "crashed",
    [RS_FLIGHT_ROOT_CONFIG] = "config",
};

const char *rs_flight_root_kind_name(rs_flight_root_kind kind)
{
    return kind_names[kind];
}

const char *rs_flight_shape_name(size_t shape)
{
    return shape < RS_FL_N_SHAPES ? rs_fl_shape_name((rs_fl_shape)shape) : "";
}

/* A rank without a dump is no more than a finding next to a root that is proven. */
static bool is_root(const rs_fl_analysis *a, const rs_fl_found *f)
{
    if (f->kind == RS_FLIGHT_ROOT_NONE) return false;
    bool weak = f->stage == RS_FL_STAGE_DUMP || f->stage == RS_FL_STAGE_QUIET_ABSENT ||
                f->stage == RS_FL_STAGE_CONFIG;
    return !weak || f->stage == a->found[0].stage;
}

/* The answers of the root's own group. */
static void fill_frontier(rs_flight *flight, const rs_fl_found *f, uint32_t index, rs_flight_root *row)
{
    if (f->group == RS_FL_NONE || f->finding.p2p) return;
    const rs_fl_group *group = &flight->groups[f->group];
    for (uint32_t m = 0; m < group->n_members; m++) {
        int64_t done = rs_fl_done_of(flight, flight->by_group[group->first_member + m]);
        if (done != RS_FL_UNKNOWN && done > row->frontier) row->frontier = done;
    }
    const rs_fl_member *member = index == RS_FL_NONE ? NULL : rs_fl_member_of(flight, index, f->group);
    int64_t done = member ? rs_fl_done_of(flight, member) : RS_FL_UNKNOWN;
    if (done != RS_FL_UNKNOWN) row->last_completed = done;
}

/* What the rank itself did with the operation. */
static const char *state_of(const rs_flight *flight, const rs_fl_found *f, uint32_t index)
{
    rs_fl_state state;
    if (index == RS_FL_NONE || f->group == RS_FL_NONE || f->finding.seq < 0) return NULL;
    if (f->rank == index) return rs_fl_state_name((rs_fl_state)flight->ranks[index].entries[f->entry].state);
    if (f->finding.p2p ||
        rs_fl_presence_of(flight, index, f->group, f->finding.seq, 0, &state) != RS_FL_JOINED ||
        state == RS_FL_NO_STATE)
        return NULL;
    return rs_fl_state_name(state);
}

static size_t count_open(const rs_fl_rank *rank)
{
    size_t n = 0;
    for (size_t i = 0; rank->shape != RS_FL_ISSUE_ONLY && i < rank->n; i++)
        n += rank->entries[i].state != RS_FL_COMPLETED && !rank->entries[i].marker;
    return n;
}

static const char *fl_place(rs_flight *flight, uint32_t stack)
{
    const rs_fl_frame *f = rs_fl_user_frame(flight, stack);
    return f ? rs_fl_print(flight, "%s:%lld", rs_fl_text(flight, f->file), (long long)f->line) : NULL;
}

/* Where the rank is in the user's code: by its stack, else by the newest entry that carries frames. */
static const char *where_of(rs_flight *flight, const rs_fl_found *f, int64_t rank, uint32_t index)
{
    const rs_fl_note *note = rs_fl_note_of(flight, rank);
    if (note && note->stack) return fl_place(flight, note->stack);
    if (index == RS_FL_NONE) return NULL;
    const rs_fl_rank *r = &flight->ranks[index];
    if (f->rank == index && r->entries[f->entry].stack) return fl_place(flight, r->entries[f->entry].stack);
    for (size_t i = r->n; i-- > 0;)
        if (r->entries[i].stack && !r->entries[i].marker) return fl_place(flight, r->entries[i].stack);
    return NULL;
}

static void fill_row(rs_flight *flight, const rs_fl_found *f, int64_t rank, rs_flight_root *row)
{
    uint32_t index = rank < 0 ? RS_FL_NONE : rs_fl_rank_index(flight, rank);
    *row = (rs_flight_root){.rank = rank,
                            .kind = f->kind,
                            .verdict = f->finding.verdict,
                            .group = f->finding.group,
                            .group_desc = f->finding.group_desc,
                            .seq = f->finding.seq,
                            .p2p = f->finding.p2p,
                            .op = f->finding.op,
                            .last_completed = -1,
                            .frontier = -1,
                            .waiters = f->finding.n_waiters,
                            .cause = f->cause};
    if (f->when != INT64_MAX && f->when > 0) row->first_open_ns = f->when;
    fill_frontier(flight, f, index, row);
    row->state = state_of(flight, f, index);
    row->open_ops = index == RS_FL_NONE ? 0 : count_open(&flight->ranks[index]);
    if (rank < 0) return;
    row->where = where_of(flight, f, rank, index);
    row->host = rs_fl_host_of(flight, rank);
}

static bool machine_is_suspect(const rs_flight_root *row)
{
    static const char *const hardware[] = {"xid",          "amdgpu",       "cuda_error", "host_oom",
                                           "nccl_network", "node_failure", "killed",     "sxid",
                                           "ecc",          "pcie_error",   "unreachable"};
    static const char *const software[] = {"python_exception", "cuda_oom", "cancelled"};
    if (row->rank < 0) return false;
    for (size_t i = 0; row->cause && i < sizeof software / sizeof *software; i++)
        if (strcmp(row->cause->kind, software[i]) == 0) return false;
    switch (row->kind) {
    case RS_FLIGHT_ROOT_STALLED:
    case RS_FLIGHT_ROOT_BLOCKED:
    case RS_FLIGHT_ROOT_NO_DUMP: return true;
    case RS_FLIGHT_ROOT_SILENT:
        if (!row->cause) return true;
        break;
    case RS_FLIGHT_ROOT_MISMATCH:
    case RS_FLIGHT_ROOT_ORDER:
    case RS_FLIGHT_ROOT_DEADLOCK:
    case RS_FLIGHT_ROOT_SLOW:
    case RS_FLIGHT_ROOT_CONFIG: return false;
    default: break;
    }
    for (size_t i = 0; row->cause && i < sizeof hardware / sizeof *hardware; i++)
        if (strcmp(row->cause->kind, hardware[i]) == 0) return true;
    return false;
}

/* Adds a rank to an ascending list without doubles. */
static size_t insert(int64_t *list, size_t n, int64_t rank)
{
    size_t at = 0;
    while (at < n && list[at] < rank) at++;
    if (at < n && list[at] == rank) return n;
    memmove(list + at + 1, list + at, (n - at) * sizeof *list);
    list[at] = rank;
    return n + 1;
}

static rs_status fill_isolate(rs_flight *flight, rs_error *err)
{
    rs_flight_report *report = &flight->report;
    int64_t *list = rs_arena_alloc(&flight->arena, (report->n_roots + 1) * sizeof *list);
    if (!list) return rs_fail_nomem(err, "the report");
    for (size_t i = 0; i < report->n_roots; i++)
        if (machine_is_suspect(&report->roots[i]))
            report->n_isolate = insert(list, report->n_isolate, report->roots[i].rank);
    report->isolate = list;
    return RS_OK;
}

rs_status rs_fl_unite_culprits(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_flight_finding *root = &flight->report.root;
    size_t room = 0, n = 0;
    for (size_t i = 0; i < a->n_found; i++)
        if (a->found[i].stage == a->found[0].stage) room += a->found[i].finding.n_culprits;
    int64_t *list = rs_arena_alloc(&flight->arena, (room + 1) * sizeof *list);
    if (!list) return rs_fail_nomem(err, "the report");
    /* A mismatch in one operation and another in the next are told one by one: who caused the later may have
     * been led there by the first. */
    bool all = a->found[0].stage == RS_FL_STAGE_HANG || a->found[0].stage == RS_FL_STAGE_CYCLE ||
               a->found[0].stage == RS_FL_STAGE_DUMP;
    for (size_t i = 0; i < (all ? a->n_found : 1); i++)
        for (size_t c = 0; a->found[i].stage == a->found[0].stage && c < a->found[i].finding.n_culprits; c++)
            n = insert(list, n, a->found[i].finding.culprits[c]);
    root->culprits = list;
    root->n_culprits = n;
    return RS_OK;
}

rs_status rs_fl_fill_roots(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    rs_flight_report *report = &flight->report;
    size_t n = 0;
    for (size_t i = 0; i < a->n_found; i++) n += a->found[i].finding.n_culprits + 1;
    rs_flight_root *rows = rs_arena_alloc(&flight->arena, (n + 1) * sizeof *rows);
    if (!rows) return rs_fail_nomem(err, "the report");
    n = 0;
    for (size_t i = 0; i < a->n_found; i++) {
        rs_fl_found *f = &a->found[i];
        if (!is_root(a, f)) continue;
        f->first_row = n;
        for (size_t c = 0; c < f->finding.n_culprits; c++)
            fill_row(flight, f, f->finding.culprits[c], &rows[n++]);
        if (f->finding.n_culprits == 0) fill_row(flight, f, -1, &rows[n++]);
    }
    report->roots = rows;
    report->n_roots = n;
    for (size_t i = 0; i < n && !report->cause; i++) report->cause = rows[i].cause;
    return fill_isolate(flight, err);
}
