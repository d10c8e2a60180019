#include "match/expert_calls.h"

#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/search.h"
#include "base/stats.h"
#include "base/try.h"
#include "match/teams.h"
#include "trace/busy.h"
#include "trace/comm_kernels.h"
#include "trace/kernel_name.h"

const char *const rs_expert_role_names[RS_N_EXPERT_ROLES] = {"dispatch", "combine", "notify"};

/* ---- one rank ------------------------------------------------------------------------------------------ */

static bool role_of(const char *name, rs_coll_kind kind, uint8_t *role)
{
    char words[RS_KERNEL_WORDS];
    const rs_comm_family *family = rs_comm_family_of(name, strlen(name));
    if (!family || !family->is_one_sided) return false;
    rs_kernel_words(name, strlen(name), words);
    if (rs_words_have(words, "notify"))
        *role = RS_EXPERT_NOTIFY;
    else if (kind == RS_COLL_DISPATCH)
        *role = RS_EXPERT_DISPATCH;
    else if (kind == RS_COLL_COMBINE)
        *role = RS_EXPERT_COMBINE;
    else
        return false;
    return true;
}

/* What of [start, end) no interval of the set holds. */
static int64_t outside(const rs_interval *items, size_t n, int64_t start, int64_t end)
{
    size_t at;
    int64_t inside = 0;
    RS_SEARCH(at, n, items[at].end <= start);
    for (; at < n && items[at].start < end; at++) {
        int64_t from = items[at].start > start ? items[at].start : start;
        int64_t to = items[at].end < end ? items[at].end : end;
        if (to > from) inside += to - from;
    }
    return rs_sub_sat(rs_sub_sat(end, start), inside);
}

/* A place in the order of launches. */
typedef struct place {
    int64_t computes; /* ns */
    uint32_t call;    /* RS_NO_ROW: none */
} place;

/* Adds computation to the dispatch before it, phase by phase, in the order of launches. */
static void add_experts(const rs_structure *s, const place *places, rs_expert_call *calls)
{
    rs_expert_call *open[RS_N_PHASES] = {NULL};
    int64_t sums[RS_N_PHASES] = {0};
    for (size_t i = 0; i < s->n; i++) {
        const uint8_t phase = s->phase[i];
        rs_expert_call *call = places[i].call == RS_NO_ROW ? NULL : &calls[places[i].call];
        sums[phase] = rs_add_sat(sums[phase], places[i].computes);
        if (!call || call->role == RS_EXPERT_NOTIFY) continue;
        if (call->role == RS_EXPERT_COMBINE && open[phase]) open[phase]->experts = sums[phase];
        open[phase] = call->role == RS_EXPERT_DISPATCH ? call : NULL;
        sums[phase] = 0;
    }
}

static rs_status find_experts(const rs_structure *s, const rs_work *work, rs_expert_call *calls, size_t n,
                              rs_error *err)
{
    RS_LOCAL place *places = rs_malloc((s->n + 1) * sizeof *places);
    if (!places) return rs_fail_nomem(err, "calls of experts");
    for (size_t i = 0; i < s->n; i++) places[i] = (place){0, RS_NO_ROW};
    for (size_t i = 0; i < work->n; i++) {
        size_t at = work->class[i] == RS_CLASS_COMPUTE ? rs_structure_at(s, work->row[i]) : SIZE_MAX;
        if (at != SIZE_MAX) places[at].computes = rs_sub_sat(work->end[i], work->start[i]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = rs_structure_at(s, calls[i].row);
        if (at == SIZE_MAX) continue;
        places[at].call = (uint32_t)i;
        calls[i].phase = s->phase[at];
        calls[i].layer = s->layer[at] == RS_NO_LAYER ? -1 : (int64_t)s->layer[at];
    }
    add_experts(s, places, calls);
    return RS_OK;
}

rs_status rs_expert_calls_of(rs_trace *trace, const rs_policy *policy, const rs_coll_rank *ops,
                             rs_expert_call **out, size_t *n, rs_error *err)
{
    const rs_work *work;
    const rs_structure *s;
    RS_LOCAL rs_interval *computes = NULL;
    RS_LOCAL rs_expert_call *calls = NULL;
    size_t capacity = 0, n_computes = 0, count = 0;
    *out = NULL;
    *n = 0;
    RS_TRY(rs_trace_work(trace, policy, &work, err));
    for (size_t i = 0; i < ops->n; i++) {
        const rs_coll_op *op = &ops->ops[i];
        rs_expert_call call = {.start = op->start,
                               .end = op->end,
                               .experts = RS_NO_VALUE,
                               .step = op->step,
                               .layer = -1,
                               .row = op->row};
        if (!role_of(rs_event_name(trace->events, op->row), rs_coll_shape_of(ops, op)->kind, &call.role))
            continue;
        if (!computes && !rs_work_union(work, RS_CLASS_COMPUTE, &computes, &n_computes))
            return rs_fail_nomem(err, "computation of a rank");
        call.exposed = outside(computes, n_computes, call.start, call.end);
        if (!RS_PUSH(calls, count, capacity, call)) return rs_fail_nomem(err, "calls of experts");
    }
    if (!count) return RS_OK;
    RS_TRY(rs_trace_structure(trace, RS_FROM_AUTO, &s, err));
    RS_TRY(find_experts(s, work, calls, count, err));
    *out = calls;
    *n = count;
    calls = NULL;
    return RS_OK;
}

/* ---- over ranks ---------------------------------------------------------------------------------------- */

/* Of the median duration: ends that spread further do not come together. */
#define MOST_SPREAD 0.2

/* The line as its ends, and its own durations as the least so far; buffer: room for its calls. */
static rs_team_line ends_of(const rs_expert_line *line, int64_t *ends, int64_t *buffer)
{
    for (size_t k = 0; k < line->n; k++) {
        buffer[k] = line->least[k] = rs_expert_duration(line->calls[k]);
        ends[k] = line->calls[k]->end;
    }
    return (rs_team_line){.ends = ends,
                          .n = line->n,
                          .most_spread = rs_int_of(MOST_SPREAD * (double)rs_median(buffer, line->n))};
}

bool rs_expert_teams(rs_expert_line *lines, size_t n)
{
    size_t most = 0, all = 0;
    for (size_t i = 0; i < n; all += lines[i++].n) most = lines[i].n > most ? lines[i].n : most;
    RS_LOCAL int64_t *buffer = rs_malloc((most + 1) * sizeof *buffer);
    RS_LOCAL int64_t *ends = rs_malloc((all + 1) * sizeof *ends);
    RS_LOCAL rs_team_line *teams = rs_malloc((n + 1) * sizeof *teams);
    if (!buffer || !ends || !teams) return false;
    for (size_t i = 0, at = 0; i < n; at += lines[i++].n) teams[i] = ends_of(&lines[i], ends + at, buffer);
    if (!rs_teams_find(teams, n, 0)) return false;
    for (size_t i = 0; i < n; i++) {
        const rs_expert_line *leader = &lines[teams[i].team];
        lines[i].team = teams[i].team;
        lines[i].size = teams[i].size;
        lines[i].spread = teams[i].spread;
        for (size_t k = 0; k < lines[i].n; k++)
            if (lines[i].least[k] < leader->least[k]) leader->least[k] = lines[i].least[k];
    }
    return true;
}
