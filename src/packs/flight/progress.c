/* Whether a job that was looked at while it ran moves or hangs. */
#include "base/interval.h"
#include "flight/live.h"
#include "table/cells.h"

#include <math.h>
#include <string.h>

#define DEFAULT_STALL INT64_C(30000000000)
#define SKEW INT64_C(1000000000) /* a clock that is farther ahead than this is wrong, not the job young */

static bool is_open(const rs_fl_analysis *a)
{
    for (size_t r = 0; r < a->flight->n_ranks; r++)
        if (a->open[r] != RS_FL_NONE) return true;
    return false;
}

/* The group of another snapshot; RS_FL_NONE. */
static uint32_t same_group(const rs_flight *flight, uint32_t g, const rs_flight *other)
{
    const rs_fl_group *group = &flight->groups[g];
    const char *uid = rs_fl_text(flight, group->uid);
    for (uint32_t i = 0; i < other->n_groups; i++)
        if (other->groups[i].n == group->n && strcmp(rs_fl_text(other, other->groups[i].uid), uid) == 0 &&
            (group->n == 0 || other->groups[i].ranks[0] == group->ranks[0]))
            return i;
    return RS_FL_NONE;
}

static const rs_fl_member *same_member(const rs_flight *flight, const rs_fl_member *member,
                                       const rs_flight *other)
{
    uint32_t r = rs_fl_rank_index(other, flight->ranks[member->rank].rank),
             g = same_group(flight, member->group, other);
    return r == RS_FL_NONE || g == RS_FL_NONE ? NULL : rs_fl_member_of(other, r, g);
}

/* Whether a rank has issued or completed anything since. */
static bool has_moved(const rs_flight *flight, const rs_fl_rank *rank, const rs_flight *before)
{
    uint32_t old = rs_fl_rank_index(before, rank->rank);
    if (old == RS_FL_NONE) return false;
    if (rank->newest > before->ranks[old].newest) return true;
    for (size_t m = 0; m < rank->n_members; m++) {
        const rs_fl_member *now = &rank->members[m], *then = same_member(flight, now, before);
        if (then && (now->done > then->done || now->enqueued > then->enqueued ||
                     rs_fl_done_of(flight, now) > rs_fl_done_of(before, then)))
            return true;
    }
    return false;
}

static bool stacks_are_the_same(const rs_flight *flight)
{
    size_t n = 0;
    for (size_t i = 0; i < flight->n_notes; i++) {
        if (!flight->notes[i].stack) continue;
        if (flight->notes[i].since_ns <= 0) return false;
        n++;
    }
    return n > 0;
}

static bool is_young(const rs_flight *flight, int64_t stall)
{
    int64_t newest = 0;
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t i = flight->ranks[r].n; i-- > 0;)
            if (flight->ranks[r].entries[i].created > newest) newest = flight->ranks[r].entries[i].created;
    int64_t age = flight->settings.now_ns - newest;
    if (age < -SKEW) age = 0;
    return newest > 0 && age < stall;
}

static bool moves(const rs_flight *flight)
{
    const rs_flight *before = flight->settings.previous;
    int64_t stall = flight->settings.stall_ns > 0 ? flight->settings.stall_ns : DEFAULT_STALL;
    if (before) {
        for (size_t r = 0; r < flight->n_ranks; r++)
            if (has_moved(flight, &flight->ranks[r], before)) return true;
        if (flight->settings.now_ns - before->settings.now_ns >= stall || stacks_are_the_same(flight))
            return false;
    }
    return is_young(flight, stall);
}

rs_status rs_fl_weigh_progress(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    (void)err;
    if (!flight->settings.now_ns || !is_open(a) || !moves(flight)) return RS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < a->n_found; i++) {
        int stage = a->found[i].stage;
        bool waits = stage == RS_FL_STAGE_HANG || stage == RS_FL_STAGE_CYCLE ||
                     stage == RS_FL_STAGE_QUIET_ABSENT || stage == RS_FL_STAGE_STUCK ||
                     stage == RS_FL_STAGE_DUMP;
        if (!waits) a->found[kept++] = a->found[i];
    }
    a->n_found = kept;
    a->n_waiting = 0;
    flight->moving = true;
    return RS_OK;
}

const char *rs_fl_moving_text(rs_fl_analysis *a)
{
    rs_flight *flight = a->flight;
    size_t n = 0;
    int64_t oldest = INT64_MAX;
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t i = 0; i < flight->ranks[r].n; i++) {
            const rs_fl_entry *e = &flight->ranks[r].entries[i];
            if (e->state == RS_FL_COMPLETED || e->marker) continue;
            n++;
            if (e->created && e->created < oldest) oldest = e->created;
        }
    char human[32];
    int64_t age = oldest == INT64_MAX ? 0 : flight->settings.now_ns - oldest;
    return rs_fl_print(flight, "No hang: %zu operation%s open, the oldest for %s.", n, n == 1 ? "" : "s",
                       rs_human_time(age < 0 ? 0 : age, human));
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

void rs_fl_carry_stacks(rs_flight *flight)
{
    rs_flight *before = flight->settings.previous;
    if (!before || !flight->settings.now_ns) return;
    for (size_t i = 0; i < flight->n_notes; i++) {
        rs_fl_note *note = &flight->notes[i];
        const rs_fl_note *old = rs_fl_note_of(before, note->rank);
        if (!note->stack || !old || !old->stack) continue;
        if (strcmp(rs_flight_stack(flight, note->stack), rs_flight_stack(before, old->stack)) != 0) continue;
        note->since_ns = old->since_ns + flight->settings.now_ns - before->settings.now_ns;
    }
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static const rs_column_spec progress_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank", NULL},
    {"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL},
    {"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"},
    {"done", RS_INT, RS_UNIT_ID, "the newest collective that the rank has completed", NULL},
    {"delta", RS_INT, RS_UNIT_COUNT, "completed since the snapshot before", NULL},
    {"issued", RS_INT, RS_UNIT_ID, "the newest collective that the rank has issued", NULL},
    {"open_op", RS_TEXT, RS_UNIT_NONE, "its oldest open operation of the group", "open"},
    {"open_seq", RS_INT, RS_UNIT_ID, "that one's number", "number"},
    {"open_since_s", RS_REAL, RS_UNIT_NONE,
     "seconds that it is open: live at the moment of asking, else before the newest stamp", "for"},
};
const rs_table_spec rs_fl_progress_spec = {"progress", "one row a rank and group: how far it is",
                                           progress_columns,
                                           sizeof progress_columns / sizeof *progress_columns};

static const rs_fl_entry *oldest_open(const rs_fl_rank *rank, const rs_fl_member *member)
{
    const rs_fl_entry *oldest = NULL;
    for (uint32_t i = 0; i < member->n + member->n_p2p && rank->shape != RS_FL_ISSUE_ONLY; i++) {
        const rs_fl_entry *e = &rank->entries[rank->order[i < member->n ? member->begin + i
                                                                        : member->p2p_begin + i - member->n]];
        if (e->state != RS_FL_COMPLETED && !e->marker && (!oldest || e < oldest)) oldest = e;
    }
    return oldest;
}

static rs_status add_progress(rs_flight *flight, const rs_fl_rank *rank, const rs_fl_member *member,
                              rs_table *table, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[member->group];
    const rs_flight *before = flight->settings.previous;
    const rs_fl_member *then = before ? same_member(flight, member, before) : NULL;
    int64_t done = rs_fl_done_of(flight, member), old = then ? rs_fl_done_of(before, then) : RS_FL_UNKNOWN;
    int64_t issued = member->issued_seq > member->last_seq ? member->issued_seq : member->last_seq;
    const rs_fl_entry *open = oldest_open(rank, member);
    RS_PUT_CELLS(table, rank->rank, rs_fl_text(flight, group->uid), rs_fl_text(flight, group->desc),
                 done != RS_FL_UNKNOWN ? done : RS_NO_VALUE);
    bool compared = done != RS_FL_UNKNOWN && old != RS_FL_UNKNOWN;
    RS_PUT_CELLS(table, compared ? done - old : RS_NO_VALUE, issued != RS_FL_UNKNOWN ? issued : RS_NO_VALUE);
    if (open) {
        int64_t now = flight->settings.now_ns ? flight->settings.now_ns
                                              : rs_add_sat(flight->report.newest_ns, rank->clock);
        RS_PUT_CELLS(table, rs_fl_text(flight, rs_fl_call_of(flight, open)->op),
                     open->is_p2p ? open->p2p_seq : open->seq,
                     open->created && now > open->created ? (double)rs_sub_sat(now, open->created) / 1e9
                                                          : (double)NAN);
    } else {
        RS_PUT_CELLS(table, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE);
    }
    return rs_table_end_row(table, err);
}

rs_table *rs_flight_progress(rs_flight *flight, rs_error *err)
{
    const rs_flight_report *report;
    rs_table *table = rs_table_create(&rs_fl_progress_spec);
    rs_status status = table ? rs_flight_get_report(flight, &report, err) : rs_fail_nomem(err, "a table");
    for (size_t r = 0; status == RS_OK && r < flight->n_ranks; r++)
        for (size_t m = 0; status == RS_OK && m < flight->ranks[r].n_members; m++) {
            const rs_fl_member *member = &flight->ranks[r].members[m];
            if (member->n || member->n_p2p || member->enqueued != RS_FL_UNKNOWN)
                status = add_progress(flight, &flight->ranks[r], member, table, err);
        }
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

static const rs_column_spec stack_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank", NULL},
    {"address", RS_TEXT, RS_UNIT_NONE, "of its server", NULL},
    {"thread", RS_TEXT, RS_UNIT_NONE, "thread identifier", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "the thread's name", NULL},
    {"is_main", RS_INT, RS_UNIT_NONE, "1 for the main thread", "main"},
    {"state", RS_TEXT, RS_UNIT_NONE, "by py-spy: active or idle, +gil for who holds the interpreter's lock",
     NULL},
    {"depth", RS_INT, RS_UNIT_NONE, "0 is the innermost frame", NULL},
    {"function", RS_TEXT, RS_UNIT_NONE, "function", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "its file", NULL},
    {"line", RS_INT, RS_UNIT_ID, "the line", NULL},
    {"since_s", RS_REAL, RS_UNIT_NONE, "seconds that the main thread has been there, by the snapshots",
     "for"},
};
const rs_table_spec rs_fl_stacks_spec = {"stacks", "one row a frame of the Python stacks of a live job",
                                         stack_columns, sizeof stack_columns / sizeof *stack_columns};

rs_table *rs_flight_stacks(rs_flight *flight, rs_error *err)
{
    rs_table *table = rs_table_create(&rs_fl_stacks_spec);
    rs_status status = table ? RS_OK : rs_fail_nomem(err, "a table");
    for (size_t i = 0; status == RS_OK && i < flight->n_threads; i++) {
        const rs_fl_thread *t = &flight->threads[i];
        const rs_fl_note *note = rs_fl_note_of(flight, t->rank);
        if (!t->stack) continue;
        const rs_fl_stack *s = &flight->stacks[t->stack];
        for (uint32_t d = 0; status == RS_OK && d < s->n; d++) {
            const rs_fl_frame *f = &flight->frames[flight->stack_frames[s->first + d]];
            status = RS_PUT_ROW(
                table, err, t->rank, rs_fl_text(flight, t->address), rs_fl_text(flight, t->id),
                rs_fl_text(flight, t->name), t->is_main, rs_fl_text(flight, t->state), d,
                rs_fl_text(flight, f->name), rs_fl_text(flight, f->file), f->line,
                t->is_main && note && note->since_ns > 0 ? (double)note->since_ns / 1e9 : (double)NAN);
        }
    }
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}
