/* frame as HTA holds it after loading. */
#include <string.h>

#include "analysis/frame.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/search.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

#define ROW(CELL) RS_FRAME_CELLS(CELL, TIME)
RS_RECORD(hta, ROW);
static const rs_table_spec table = RS_TABLE(
    "frame", "one row is a row of HTA's data frame after loading, in its order, missing arguments filled in",
    hta_columns);
static const rs_table_spec *const tables[] = {&table};

/* ---- the iteration: steps as HTA's symbols have them, work by its launch, none on stream 0 ----------- */

/* Spans that may overlap; where several hold a time, the one listed last counts. */
typedef struct step_span {
    int64_t start, end, number;
} step_span;

typedef struct step_pieces {
    int64_t *from;   /* borders, ascending */
    int64_t *number; /* of the piece from here to the next border; -1: none */
    size_t n;
} step_pieces;

static bool step_number(const char *name, int64_t *number)
{
    const char *end;
    if (strncmp(name, "ProfilerStep", 12) != 0) return false;
    for (name += 12; *name == ' ' || *name == '\t'; name++) continue;
    if (*name != '#') return false;
    return rs_parse_whole(name + 1, number, &end);
}

static bool list_steps(const rs_events *e, const rs_frame_rows *f, step_span **out, size_t *n)
{
    size_t capacity = 0;
    *out = NULL;
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        int64_t number;
        if (f->end[i] <= f->start[i] || !step_number(rs_event_name(e, f->row[i]), &number)) continue;
        if (!RS_PUSH(*out, *n, capacity, (step_span){f->start[i], f->end[i], number})) return false;
    }
    return true;
}

static size_t border_at(const step_pieces *p, int64_t time)
{
    size_t low;
    RS_SEARCH(low, p->n, p->from[low] <= time);
    return low; /* the first border behind it */
}

/* Borders cut the time into pieces; steps paint theirs, the last listed first, each piece once. */
static bool paint_steps(const step_span *steps, size_t n, step_pieces *p)
{
    RS_LOCAL rs_keyed *borders = rs_malloc((2 * n + 1) * sizeof *borders);
    RS_LOCAL size_t *next = rs_malloc((2 * n + 1) * sizeof *next); /* the next piece without paint */
    p->from = rs_malloc((2 * n + 1) * sizeof *p->from);
    p->number = rs_malloc((2 * n + 1) * sizeof *p->number);
    bool ok = borders && next && p->from && p->number;
    for (size_t i = 0; ok && i < n; i++) {
        borders[2 * i] = (rs_keyed){steps[i].start, 0};
        borders[2 * i + 1] = (rs_keyed){steps[i].end, 0};
    }
    ok = ok && rs_keyed_sort(borders, 2 * n);
    for (size_t i = 0; ok && i < 2 * n; i++)
        if (p->n == 0 || p->from[p->n - 1] != borders[i].key) p->from[p->n++] = borders[i].key;
    for (size_t i = 0; ok && i < p->n; i++) {
        p->number[i] = -1;
        next[i] = i;
    }
    for (size_t k = n; ok && k-- > 0;) {
        size_t last = border_at(p, steps[k].end) - 1;
        for (size_t at = border_at(p, steps[k].start) - 1; at < last;) {
            if (next[at] == at) {
                p->number[at] = steps[k].number;
                next[at] = at + 1;
            } else {
                size_t to = next[at];
                while (to < p->n && next[to] != to) to = next[to]; /* and shorten the way */
                for (size_t from = at, after; from < to; from = after) {
                    after = next[from];
                    next[from] = to;
                }
                at = to;
            }
        }
    }
    return ok;
}

static int64_t step_at(const step_pieces *p, int64_t time)
{
    size_t after = border_at(p, time);
    return after == 0 ? -1 : p->number[after - 1];
}

/* HTA numbers its rows before it cuts the last step off, so the steps are those of all rows. */
static rs_status hta_iterations(rs_trace *trace, const rs_policy *policy, const rs_frame_rows *f,
                                int64_t *iteration, rs_error *err)
{
    const rs_events *e = trace->events;
    rs_policy whole = *policy;
    const rs_frame_rows *all = NULL;
    step_span *steps = NULL;
    step_pieces pieces = {0};
    size_t n = 0;
    whole.trim_steps = false;
    whole.whole = true;
    rs_status status = rs_trace_hta_frame(trace, &whole, &all, err);
    if (status != RS_OK) return status;
    if (!list_steps(e, all, &steps, &n) || !paint_steps(steps, n, &pieces))
        status = rs_fail_nomem(err, "frame");
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        uint32_t launch = f->partner[i];
        if (f->stream[i] < 0 || (f->stream[i] == 0 && rs_event_kind(e, f->row[i]) == RS_KIND_CPU_OP))
            iteration[i] = step_at(&pieces, f->start[i]);
        else if (f->stream[i] == 0)
            iteration[i] = RS_NO_VALUE;
        else
            iteration[i] =
                launch == RS_NO_ROW || launch == 0 ? -1 : step_at(&pieces, rs_hta_start_of(trace, f, launch));
    }
    rs_free_all(steps, pieces.from, pieces.number);
    return status;
}

const rs_frame_column_rules rs_hta_frame_columns = {rs_frame_is_work, hta_iterations};

static const rs_frame_rules rules = {.table = &table,
                                     .record = &hta_record,
                                     .fills = true,
                                     .columns = &rs_hta_frame_columns,
                                     .rows = rs_trace_hta_frame};

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_run parsed = *run;
    rs_policy policy = *run->policy;
    policy.trim_steps = policy.trim_steps && !rs_options_flag(run->options, "uncut");
    parsed.policy = &policy;
    return rs_frame_rank(&parsed, trace, &rules, partial, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_frame_merge(run, partials, n, &rules, result, err);
}

const rs_peer_row rs_peer_hta_frame = {
    RS_HTA_ROW("frame"),
    .tables = tables,
    .n_tables = 1,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_frame_free,
    .partial_layout = &rs_frame_layout,
};
