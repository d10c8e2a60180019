#include "match/passes.h"
#include "base/ascii.h"

#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/stats.h"
#include "base/try.h"
#include "trace/selection.h"

const char *const rs_pass_kind_names[RS_N_PASS_KINDS] = {"forward", "backward", "weight"};

static const rs_field pass_fields[] = {RS_FIELDS(rs_pipe_pass, start, end, step),
                                       RS_FIELD_BELOW(rs_pipe_pass, kind, RS_N_PASS_KINDS)};
static const rs_layout pass_layout = RS_LAYOUT(rs_pipe_pass, pass_fields);
static const rs_field fields[] = {
    RS_FIELD_ONE(rs_passes, comm, &rs_coll_rank_layout), RS_FIELD_LIST(rs_passes, items, n, &pass_layout),
    RS_FIELD_VALUES(rs_passes, before, n_before), RS_FIELD_VALUES(rs_passes, busy, n_busy)};

static bool check(const void *value)
{
    const rs_passes *p = value;
    if (p->n_before != p->comm->n || p->n_busy % 2) return false;
    for (size_t i = 1; i < p->n_busy; i++)
        if (p->busy[i] < p->busy[i - 1]) return false;
    for (size_t i = 0; i < p->n_before; i++)
        if (p->before[i] > p->n) return false;
    return true;
}

const rs_layout rs_passes_layout = RS_LAYOUT_CHECKED(rs_passes, fields, check);

void rs_passes_free(void *value)
{
    rs_passes *p = value;
    if (!p) return;
    rs_coll_rank_free(p->comm);
    rs_free_all(p->items, p->before, p->busy, p);
}

/* ---- passes that the program annotates --------------------------------------------------------------------- */

/* torch.distributed.pipelining: "PP:5F0" is the forward of micro-batch 0 by part 5 of the model, with B the backward, I that of the
 * inputs alone, W that of the weights; "Forward 3" and "Backward 3" of schedules with one part a stage. */
static bool parse_pass(const char *name, uint8_t *kind)
{
    static const char *const words[] = {"Forward ", "Backward "};
    for (int i = 0; i < 2; i++) {
        const char *rest = name + strlen(words[i]);
        if (strncmp(name, words[i], strlen(words[i])) != 0) continue;
        *kind = i ? RS_PASS_BACKWARD : RS_PASS_FORWARD;
        return *rest && rest[strspn(rest, "0123456789")] == '\0';
    }
    if (strncmp(name, "PP:", 3) != 0) return false;
    const char *letter = name + 3 + strspn(name + 3, "0123456789");
    if (letter == name + 3 || !strchr("FBIW", *letter) || !letter[0] || !letter[1] ||
        letter[1 + strspn(letter + 1, "0123456789")])
        return false;
    *kind = *letter == 'F' ? RS_PASS_FORWARD : *letter == 'W' ? RS_PASS_WEIGHT : RS_PASS_BACKWARD;
    return true;
}

/* What programs name phases, where nothing of autograd is recorded. */
static bool parse_phase(const char *name, uint8_t *kind)
{
    *kind = strcmp(name, "backward") == 0 ? RS_PASS_BACKWARD : RS_PASS_FORWARD;
    return *kind == RS_PASS_BACKWARD || strcmp(name, "forward") == 0;
}

typedef struct note {
    int64_t start, end;
    uint8_t kind;
} note;

/* By start. They do not hold each other. */
typedef struct notes {
    note *items;
    size_t n, capacity;
} notes;

static const rs_order by_note_start[] = {RS_RISING(note, start), RS_RISING(note, end)};

static bool find_notes(const rs_trace *trace, bool (*parse)(const char *name, uint8_t *kind), notes *out)
{
    const rs_events *e = trace->events;
    bool seen[RS_N_PASS_KINDS] = {false};
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        note x = {.start = e->start[row]};
        if (rs_event_kind(e, row) != RS_KIND_USER_ANNOTATION || !rs_event_is_span(e, row) ||
            !parse(rs_event_name(e, row), &x.kind))
            continue;
        x.end = rs_event_end(e, row);
        seen[x.kind] = true;
        if (!RS_APPEND(out, x)) return false;
    }
    if (!seen[RS_PASS_FORWARD]) out->n = 0;
    if (out->n) RS_SORT(out->items, out->n, by_note_start);
    return true;
}

/* The place of the annotation that holds a moment of the host, from 1; 0: none. */
static uint32_t note_at(const notes *all, int64_t ns)
{
    size_t at;
    RS_SEARCH(at, all->n, all->items[at].start <= ns);
    return at && all->items[at - 1].end > ns ? (uint32_t)at : 0;
}

/* ---- what the rank does, in the order of its program ------------------------------------------------------ */

/* A piece of work, or an operation between two ranks. */
typedef struct piece {
    int64_t at; /* where it is in the program */
    int64_t start, end, step;
    uint32_t op;   /* of the communication; RS_NO_ROW: it is computation */
    uint32_t note; /* of the annotation that it was launched in, from 1; 0: none */
    uint8_t phase;
} piece;

typedef struct pieces {
    piece *items;
    size_t n, capacity;
} pieces;

static const rs_order by_place[] = {RS_RISING(piece, at)};

/* What parts passes: messages and barriers. */
static bool add_messages(const rs_coll_rank *comm, const rs_structure *s, pieces *out)
{
    for (size_t i = 0; i < comm->n; i++) {
        const rs_coll_op *op = &comm->ops[i];
        size_t at = s ? rs_structure_at(s, op->row) : 0;
        rs_coll_kind kind = rs_coll_shape_of(comm, op)->kind;
        if (at == SIZE_MAX || (kind != RS_COLL_SEND_RECV && kind != RS_COLL_BARRIER)) continue;
        if (!RS_APPEND(out, (piece){.at = s ? (int64_t)at : op->start, .op = (uint32_t)i})) return false;
    }
    return true;
}

static rs_status collect_work(rs_trace *trace, const rs_policy *policy, const rs_coll_rank *comm,
                              const notes *told, pieces *out, rs_error *err)
{
    const rs_work *work;
    const rs_structure *s;
    RS_TRY(rs_trace_work(trace, policy, &work, err));
    RS_TRY(rs_trace_structure(trace, RS_FROM_AUTO, &s, err));
    for (size_t i = 0; i < work->n; i++) {
        size_t at = work->class[i] == RS_CLASS_COMPUTE ? rs_structure_at(s, work->row[i]) : SIZE_MAX;
        if (at == SIZE_MAX) continue;
        if (!RS_APPEND(out, (piece){(int64_t)at, work->start[i], work->end[i], s->step[at], RS_NO_ROW,
                                    note_at(told, s->order->time[at]), s->phase[at]}))
            return rs_fail_nomem(err, "passes of a pipeline");
    }
    return add_messages(comm, s, out) ? RS_OK : rs_fail_nomem(err, "passes of a pipeline");
}

/* Operators of the host, those of the optimizer too: rows of one thread hold each other. */
static rs_status collect_operators(rs_trace *trace, const rs_coll_rank *comm, const notes *told,
                                   const notes *phases, pieces *out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_step *steps;
    size_t n_steps;
    rs_selector selector;
    RS_TRY(rs_trace_selector(trace, &selector, err));
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        const char *name = rs_event_name(e, row);
        bool optimizer = kind == RS_KIND_USER_ANNOTATION && rs_begins(name, "Optimizer.");
        if ((kind != RS_KIND_CPU_OP && !optimizer) || !rs_event_is_span(e, row) ||
            (kind == RS_KIND_CPU_OP && (rs_coll_is_operator(name) || rs_coll_is_host_span(name))) ||
            !rs_selects_row(&selector, row))
            continue;
        int64_t step = rs_trace_step_at(steps, n_steps, e->threads[e->thread[row]].pid, e->start[row]);
        const uint32_t named = note_at(phases, e->start[row]);
        const bool backward = named ? phases->items[named - 1].kind == RS_PASS_BACKWARD
                                    : rs_begins(name, "autograd::engine::evaluate_function");
        uint8_t phase = optimizer ? RS_PHASE_OPTIMIZER : backward ? RS_PHASE_BACKWARD : RS_PHASE_FORWARD;
        if (!RS_APPEND(out, (piece){e->start[row], e->start[row], rs_event_end(e, row), step, RS_NO_ROW,
                                    note_at(told, e->start[row]), phase}))
            return rs_fail_nomem(err, "passes of a pipeline");
    }
    return add_messages(comm, NULL, out) ? RS_OK : rs_fail_nomem(err, "passes of a pipeline");
}

/* Leaves the outermost operators: of one that begins inside another nothing is new. */
static void leave_outermost(pieces *p)
{
    int64_t reach = INT64_MIN;
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        piece x = p->items[i];
        if (x.op == RS_NO_ROW && x.start < reach) continue;
        if (x.op == RS_NO_ROW) reach = x.end;
        p->items[kept++] = x;
    }
    p->n = kept;
}

/* As GPU work has it, what follows the last backward of a step is of no forward. */
static bool end_forwards(pieces *p)
{
    RS_SCOPED(rs_map64_clear) rs_map64 last = {0}; /* step -> its last backward */
    for (size_t i = 0; i < p->n; i++) {
        bool is_new;
        if (p->items[i].op != RS_NO_ROW || p->items[i].phase != RS_PHASE_BACKWARD) continue;
        uint32_t *at = rs_map64_put(&last, (uint64_t)p->items[i].step, &is_new);
        if (!at) return false;
        *at = (uint32_t)i;
    }
    for (size_t i = 0; i < p->n; i++) {
        const uint32_t *at = rs_map64_get(&last, (uint64_t)p->items[i].step);
        if (p->items[i].phase == RS_PHASE_FORWARD && p->items[i].step >= 0 && at && *at < i)
            p->items[i].phase = RS_PHASE_OPTIMIZER;
    }
    return true;
}

/* ---- passes ----------------------------------------------------------------------------------------------- */

typedef struct run {
    rs_pipe_pass pass;
    uint32_t note;
    int64_t ns, pieces; /* of what it consists of */
    bool parted;        /* a message is between it and the run before */
} run;

typedef struct runs {
    run *items;
    size_t n, capacity;
} runs;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool continues(const run *last, const run *next)
{
    if (next->note || last->note) return next->note == last->note && last->pass.step == next->pass.step;
    return !next->parted && last->pass.kind == next->pass.kind && last->pass.step == next->pass.step;
}

static void join(run *last, const run *next)
{
    if (next->pass.start < last->pass.start) last->pass.start = next->pass.start;
    last->pass.end = larger(last->pass.end, next->pass.end);
    last->ns = rs_add_sat(last->ns, next->ns);
    last->pieces += next->pieces;
}

/* before: by operation, the runs before it. */
static bool find_runs(const pieces *p, const notes *told, runs *out, uint32_t *before)
{
    bool parted = true, other = false;
    for (size_t i = 0; i < p->n; i++) {
        const piece *x = &p->items[i];
        if (x->op != RS_NO_ROW) {
            before[x->op] = (uint32_t)out->n;
            parted = true;
            continue;
        }
        if (told->n ? !x->note : x->phase != RS_PHASE_FORWARD && x->phase != RS_PHASE_BACKWARD) {
            other = true;
            continue;
        }
        run next = {.pass = {x->start, x->end, x->step,
                             x->note                        ? told->items[x->note - 1].kind
                             : x->phase == RS_PHASE_FORWARD ? RS_PASS_FORWARD
                                                            : RS_PASS_BACKWARD},
                    .note = x->note,
                    .ns = rs_sub_sat(x->end, x->start),
                    .pieces = 1,
                    .parted = parted};
        if (out->n && (!other || x->note) && continues(&out->items[out->n - 1], &next))
            join(&out->items[out->n - 1], &next);
        else if (!RS_APPEND(out, next))
            return false;
        parted = other = false;
    }
    return true;
}

/* What share of a usual pass makes a pass: of its pieces, and of its time, as micro-batches differ. */
enum { LEAST_PIECES = 4, LEAST_TIME = 10 };

static const rs_order rising[] = {RS_RISING_VALUE(int64_t)};

typedef struct least {
    int64_t pieces, ns;
} least;

static bool is_pass(const run *x, const least *l)
{
    return x->note || (x->pieces >= l->pieces && x->ns >= l->ns && x->ns > 0);
}

/* The number of pieces that half of those of a kind are in runs of at least says what a pass consists of: an operator may be
 * interrupted, a number is what it is. The median time of such runs is the usual time. room: for as many as there are runs. */
static least least_of(const runs *r, uint8_t kind, int64_t *room)
{
    least l = {0};
    size_t n = 0;
    int64_t sum = 0, above = 0, usual = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->items[i].pass.kind != kind) continue;
        room[n++] = r->items[i].pieces;
        sum += r->items[i].pieces;
    }
    if (n) RS_SORT(room, n, rising);
    while (n > 0 && 2 * above < sum) above += usual = room[--n];
    l.pieces = (usual + LEAST_PIECES - 1) / LEAST_PIECES;
    n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].pass.kind == kind && r->items[i].pieces >= l.pieces) room[n++] = r->items[i].ns;
    if (n) l.ns = rs_median(room, n) / LEAST_TIME;
    return l;
}

/* Leaves runs that are passes, and counts those before each operation again. */
static bool leave_passes(runs *r, uint32_t *before, size_t n_before)
{
    RS_LOCAL int64_t *room = rs_malloc((r->n + 1) * sizeof *room);
    RS_LOCAL uint32_t *place = rs_malloc((r->n + 1) * sizeof *place); /* by run: passes before it */
    least usual[RS_N_PASS_KINDS];
    size_t kept = 0;
    bool parted = false;
    if (!room || !place) return false;
    for (unsigned k = 0; k < RS_N_PASS_KINDS; k++) usual[k] = least_of(r, (uint8_t)k, room);
    for (size_t i = 0; i < r->n; i++) {
        run x = r->items[i];
        parted |= x.parted;
        x.parted = parted;
        place[i] = (uint32_t)kept;
        if (!is_pass(&x, &usual[x.pass.kind])) continue;
        parted = false;
        if (kept && continues(&r->items[kept - 1], &x))
            join(&r->items[kept - 1], &x);
        else
            r->items[kept++] = x;
    }
    place[r->n] = (uint32_t)kept;
    r->n = kept;
    for (size_t i = 0; i < n_before; i++)
        if (before[i] != UINT32_MAX) before[i] = place[before[i]];
    return true;
}

/* ---- when the rank is busy ---------------------------------------------------------------------------------- */

typedef struct spans {
    rs_interval *items;
    size_t n, capacity;
} spans;

static rs_status busy_of_device(rs_trace *trace, const rs_policy *policy, spans *out, rs_error *err)
{
    const rs_work *work;
    RS_TRY(rs_trace_work(trace, policy, &work, err));
    for (size_t i = 0; i < work->n; i++)
        if (work->class[i] != RS_CLASS_COMM && work->end[i] > work->start[i] &&
            !RS_APPEND(out, (rs_interval){work->start[i], work->end[i]}))
            return rs_fail_nomem(err, "passes of a pipeline");
    return RS_OK;
}

/* From the first to the last operator of a pass the host is busy: what is between them is Python. */
static rs_status busy_of_host(const runs *r, const pieces *p, spans *out, rs_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < r->n; i++)
        ok = RS_APPEND(out, (rs_interval){r->items[i].pass.start, r->items[i].pass.end});
    for (size_t i = 0; ok && i < p->n; i++)
        if (p->items[i].op == RS_NO_ROW && p->items[i].end > p->items[i].start)
            ok = RS_APPEND(out, (rs_interval){p->items[i].start, p->items[i].end});
    return ok ? RS_OK : rs_fail_nomem(err, "passes of a pipeline");
}

static bool take_busy(spans *s, rs_passes *out)
{
    if (s->n && !rs_intervals_sort(s->items, s->n)) return false;
    s->n = rs_intervals_unite(s->items, s->n);
    out->busy = rs_malloc((s->n + 1) * 2 * sizeof *out->busy);
    if (!out->busy) return false;
    for (size_t i = 0; i < s->n; i++) {
        out->busy[out->n_busy++] = s->items[i].start;
        out->busy[out->n_busy++] = s->items[i].end;
    }
    return true;
}

static bool take_passes(const runs *r, rs_passes *out)
{
    out->items = rs_malloc((r->n + 1) * sizeof *out->items);
    if (!out->items) return false;
    for (size_t i = 0; i < r->n; i++) out->items[out->n++] = r->items[i].pass;
    for (size_t i = 0; i < out->n_before; i++)
        if (out->before[i] == UINT32_MAX) out->before[i] = 0;
    return true;
}

/* What is put together while the passes are found. */
typedef struct maker {
    notes told, phases;
    pieces pieces;
    runs runs;
    spans busy;
} maker;

static void clear_maker(maker *m)
{
    rs_free_all(m->told.items, m->phases.items, m->pieces.items, m->runs.items, m->busy.items);
}

static rs_status fill(rs_trace *trace, const rs_policy *policy, rs_passes *out, rs_error *err)
{
    RS_SCOPED(clear_maker) maker m = {0};
    RS_TRY(rs_coll_rank_any(trace, policy, &out->comm, err));
    const bool host = out->comm->on_host;
    out->before = rs_malloc((out->comm->n + 1) * sizeof *out->before);
    if (!out->before || !find_notes(trace, parse_pass, &m.told) ||
        (host && !find_notes(trace, parse_phase, &m.phases)))
        return rs_fail_nomem(err, "passes of a pipeline");
    for (size_t i = 0; i < out->comm->n; i++) out->before[i] = UINT32_MAX;
    out->n_before = out->comm->n;
    RS_TRY(host ? collect_operators(trace, out->comm, &m.told, &m.phases, &m.pieces, err)
                : collect_work(trace, policy, out->comm, &m.told, &m.pieces, err));
    if (m.pieces.n) RS_SORT(m.pieces.items, m.pieces.n, by_place);
    if (host) leave_outermost(&m.pieces);
    bool ok = (!host || end_forwards(&m.pieces)) && find_runs(&m.pieces, &m.told, &m.runs, out->before) &&
              leave_passes(&m.runs, out->before, out->n_before) && take_passes(&m.runs, out);
    if (!ok) return rs_fail_nomem(err, "passes of a pipeline");
    RS_TRY(host ? busy_of_host(&m.runs, &m.pieces, &m.busy, err)
                : busy_of_device(trace, policy, &m.busy, err));
    return take_busy(&m.busy, out) ? RS_OK : rs_fail_nomem(err, "passes of a pipeline");
}

rs_status rs_passes_of(rs_trace *trace, const rs_policy *policy, rs_passes **out, rs_error *err)
{
    rs_passes *made = rs_calloc(1, sizeof *made);
    *out = NULL;
    if (!made) return rs_fail_nomem(err, "passes of a pipeline");
    rs_status status = fill(trace, policy, made, err);
    if (status == RS_OK)
        *out = made;
    else
        rs_passes_free(made);
    return status;
}
