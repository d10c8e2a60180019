#include "regress/rank.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"

const char *rs_step_slice_name(rs_step_slice part)
{
    static const char *const names[RS_N_SLICES] = {
        "computation", "exposed communication", "exposed copies", "host wait", "idle", "outside GPU work"};
    return names[part];
}

void rs_pieces_free(void *value)
{
    rs_rank_pieces *p = value;
    if (!p) return;
    rs_strings_clear(&p->texts);
    rs_free_all(p->steps, p->pieces, p);
}

/* ---- one step ------------------------------------------------------------------------------------------ */

/* The pieces of work of a step, by start, and what the classes cover of its time. */
typedef struct step_work {
    rs_rank_pieces *out;
    const rs_trace *trace;
    const rs_work *work;
    const rs_keyed *order; /* indices into work, by start */
    size_t n;
    uint32_t step;
    rs_interval *covered; /* united: what the classes before this one cover */
    size_t n_covered;
    rs_interval *own; /* of this class */
    size_t n_own;
} step_work;

static bool add_piece(rs_rank_pieces *p, uint32_t step, rs_step_slice part, const char *name, int64_t ns,
                      int64_t count)
{
    uint32_t id = name ? rs_strings_add(&p->texts, name, strlen(name)) : 0;
    return id != RS_NO_STRING &&
           RS_PUSH(p->pieces, p->n_pieces, p->capacity, (rs_piece){step, id, (uint8_t)part, ns, count});
}

/* How much of [start, end) nothing in `covered` covers. *at moves on: starts do not fall. */
static int64_t uncovered(const step_work *s, size_t *at, int64_t start, int64_t end)
{
    while (*at < s->n_covered && s->covered[*at].end <= start) ++*at;
    int64_t left = end - start;
    for (size_t i = *at; i < s->n_covered && s->covered[i].start < end; i++) {
        int64_t from = s->covered[i].start > start ? s->covered[i].start : start;
        int64_t to = s->covered[i].end < end ? s->covered[i].end : end;
        left -= to - from;
    }
    return left;
}

/* Gives each piece of a class the time in which it runs and neither a class before it nor an earlier piece of its
 * own does; then the class covers its time, too. */
static bool divide_class(step_work *s, rs_class class, rs_step_slice part)
{
    size_t at = 0;
    int64_t reach = INT64_MIN;
    s->n_own = 0;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t k = s->order[i].value;
        if (s->work->class[k] != class) continue;
        int64_t start = s->work->start[k] > reach ? s->work->start[k] : reach, end = s->work->end[k];
        int64_t ns = end > start ? uncovered(s, &at, start, end) : 0;
        const char *name = rs_event_name(s->trace->events, s->work->row[k]);
        if (!add_piece(s->out, s->step, part, name, ns, 1)) return false;
        if (end > start) {
            s->own[s->n_own++] = (rs_interval){start, end};
            reach = end;
        }
    }
    memcpy(s->covered + s->n_covered, s->own, s->n_own * sizeof *s->own);
    s->n_covered += s->n_own;
    if (s->n_covered && !rs_intervals_sort(s->covered, s->n_covered)) return false;
    s->n_covered = rs_intervals_unite(s->covered, s->n_covered);
    return true;
}

/* The gaps between the step's work: the host's until the next work was launched. */
static bool divide_gaps(const step_work *s)
{
    int64_t reach = 0, wait = 0, idle = 0, n_wait = 0, n_idle = 0;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t k = s->order[i].value, launch = s->work->launch[k];
        int64_t start = s->work->start[k];
        if (i && start > reach) {
            int64_t gap = start - reach, late = 0;
            if (launch != RS_NO_ROW) late = rs_sub_sat(s->trace->events->start[launch], reach);
            late = late < 0 ? 0 : late > gap ? gap : late;
            wait += late;
            idle += gap - late;
            n_wait += late > 0;
            n_idle += gap > late;
        }
        if (!i || s->work->end[k] > reach) reach = s->work->end[k];
    }
    return (!wait || add_piece(s->out, s->step, RS_SLICE_HOST_WAIT, NULL, wait, n_wait)) &&
           (!idle || add_piece(s->out, s->step, RS_SLICE_IDLE, NULL, idle, n_idle));
}

static bool divide_step(step_work *s)
{
    int64_t first = 0, last = 0, length = s->out->steps[s->step].length;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t k = s->order[i].value;
        if (!i || s->work->start[k] < first) first = s->work->start[k];
        if (!i || s->work->end[k] > last) last = s->work->end[k];
    }
    s->n_covered = 0;
    return divide_class(s, RS_CLASS_COMPUTE, RS_SLICE_COMPUTATION) &&
           divide_class(s, RS_CLASS_COMM, RS_SLICE_COMMUNICATION) &&
           divide_class(s, RS_CLASS_MEMORY, RS_SLICE_COPY) && divide_gaps(s) &&
           add_piece(s->out, s->step, RS_SLICE_OUTSIDE, NULL, length - (last - first), 1);
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static uint32_t step_at(const rs_rank_pieces *p, int64_t number)
{
    size_t at;
    RS_SEARCH(at, p->n_steps, p->steps[at].number < number);
    return at < p->n_steps && p->steps[at].number == number ? (uint32_t)at : UINT32_MAX;
}

static bool divide(const rs_trace *trace, const rs_work *work, rs_rank_pieces *p)
{
    RS_LOCAL size_t *first = rs_calloc(p->n_steps + 2, sizeof *first);
    RS_LOCAL uint32_t *step_of = rs_malloc((work->n + 1) * sizeof *step_of);
    RS_LOCAL rs_keyed *order = rs_malloc((work->n + 1) * sizeof *order);
    rs_interval *covered = rs_malloc((2 * work->n + 1) * sizeof *covered);
    rs_interval *own = rs_malloc((work->n + 1) * sizeof *own);
    bool ok = first && step_of && order && covered && own;
    for (size_t i = 0; ok && i < work->n; i++) {
        step_of[i] = work->step[i] < 0 ? UINT32_MAX : step_at(p, work->step[i]);
        if (step_of[i] != UINT32_MAX) first[step_of[i] + 2]++;
    }
    for (size_t i = 2; ok && i < p->n_steps + 2; i++) first[i] += first[i - 1];
    for (size_t i = 0; ok && i < work->n; i++)
        if (step_of[i] != UINT32_MAX)
            order[first[step_of[i] + 1]++] = (rs_keyed){work->start[i], (uint32_t)i};
    for (size_t i = 0; ok && i < p->n_steps; i++) {
        size_t n = first[i + 1] - first[i];
        ok = rs_keyed_sort(order + first[i], n);
        step_work s = {.out = p,
                       .trace = trace,
                       .work = work,
                       .order = order + first[i],
                       .n = n,
                       .step = (uint32_t)i,
                       .covered = covered,
                       .own = own};
        if (ok) ok = divide_step(&s);
    }
    rs_free_all(covered, own);
    return ok;
}

rs_status rs_pieces_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    const rs_step *steps;
    const rs_work *work;
    size_t n;
    RS_TRY(rs_trace_steps(trace, &steps, &n, err));
    if (!n) return RS_OK;
    RS_TRY(rs_trace_work_details(trace, run->policy, &work, err));
    rs_rank_pieces *p = rs_calloc(1, sizeof *p);
    rs_status status = p && rs_strings_init(&p->texts) ? RS_OK : rs_fail_nomem(err, "the steps of a rank");
    if (status == RS_OK) status = rs_trace_step_lengths(trace, &p->steps, &p->n_steps, err);
    if (status == RS_OK && !divide(trace, work, p)) status = rs_fail_nomem(err, "the steps of a rank");
    if (status == RS_OK)
        *value = p;
    else
        rs_pieces_free(p);
    return status;
}
