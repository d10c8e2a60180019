/* delays: how long operators take to launch their first kernel, and kernels to start once launched. */
#include <stdio.h>
#include <string.h>

#include "analysis/plan.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/launch_ops.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "operator|sequence", "operator",
     "operator: one row a name; sequence: one row a name and the kernels it launched, in order"},
    {"top", RS_OPTION_INT, "N", NULL, NULL, "only the N rows of a rank with the most operators"},
};

/* A launching call of an operator, and the executions that they add up to. */
typedef struct delay {
    uint32_t name, sequence, number; /* number: of the sequence, among different ones */
    int64_t op_delay;                /* ns; with the first call of an execution, else unknown */
    int64_t launch_delay, queued, kernels;
} delay;

typedef struct delay_row {
    uint32_t name, sequence, number;
    int64_t executions, launches, kernels;
    rs_moments op_delay, launch_delay, queued; /* ns */
} delay_row;

#define DELAY_CELLS(CELL)                                                                                    \
    CELL(MEAN(delay_row, op_delay), "mean_op_delay_us", REAL, US,                                            \
         "from the operator's start to its first launch call, mean", "op to launch")                         \
    CELL(OF(delay_row, op_delay.max), "max_op_delay_us", TIME, US, "longest of these", "max")                \
    CELL(MEAN(delay_row, launch_delay), "mean_launch_delay_us", REAL, US,                                    \
         "from a launch call's start to the start of its first kernel, mean over the calls",                 \
         "launch to start")                                                                                  \
    CELL(OF(delay_row, launch_delay.max), "max_launch_delay_us", TIME, US, "longest of these", "max")        \
    CELL(MEAN(delay_row, queued), "mean_queued_us", REAL, US,                                                \
         "of that, after the call had returned: waiting in the stream, mean", "queued")

#define OPERATOR_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(delay_row, name), "name", TEXT, NONE,                                                       \
         "operator: the innermost around the launch on its thread", "operator")                              \
    CELL(OF(delay_row, executions), "operators", INT, COUNT,                                                 \
         "executions that launched something themselves", "executions")                                      \
    CELL(OF(delay_row, launches), "launches", INT, COUNT, "launch calls", NULL)                              \
    CELL(OF(delay_row, kernels), "kernels", INT, COUNT, "GPU work they launched; a graph launch has many",   \
         "GPU events")                                                                                       \
    DELAY_CELLS(CELL)
RS_RECORD(operator, OPERATOR_ROW);

#define SEQUENCE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(delay_row, name), "aten_op_name", TEXT, NONE, "operator", "operator")                       \
    CELL(TEXT_ID(delay_row, sequence), "kernel_sequence", TEXT, NONE,                                        \
         "the GPU work one execution launched, in order of launch", "launches")                              \
    CELL(OF(delay_row, executions), "occurrence_count", INT, COUNT, "executions", "executions")              \
    DELAY_CELLS(CELL)
RS_RECORD(sequence, SEQUENCE_ROW);

enum { OPERATORS, SEQUENCES, COUNTS };

/* Longer sequences are told apart in full, but written down to this many names. */
#define SHOWN_NAMES 24

/* ---- one rank ------------------------------------------------------------------------------------------ */

/* Pieces of GPU work. */
typedef struct counts {
    size_t n_work, n_unlinked, n_outside;
} counts;

/* One execution of an operator: its calls (indexes into links), by their start. */
typedef struct execution {
    uint32_t op_row;
    const uint32_t *calls;
    size_t n;
} execution;

typedef struct maker {
    const rs_events *e;
    const rs_links *links;
    const uint8_t *selected; /* calls whose work is asked for (--steps) */
    rs_relations *out;
    rs_strings sequences; /* the names' ids, as bytes */
    uint32_t *texts;      /* by sequence: its text, 0 until it is written */
    uint32_t *names;      /* room for those of any execution */
} maker;

/* A call's work by start. */
static const uint32_t *work_of(const rs_links *links, uint32_t call, size_t *n)
{
    *n = links->first[call + 1] - links->first[call];
    return links->work_row + links->first[call];
}

/* The names as a text, put in. */
static uint32_t write_sequence(const maker *m, size_t n)
{
    size_t shown = n < SHOWN_NAMES ? n : SHOWN_NAMES, length = 64, used = 0;
    for (size_t i = 0; i < shown; i++) length += m->e->strings.items[m->names[i]].length + 4;
    char *text = RS_ROOM(m->out, char, length);
    for (size_t i = 0; text && i < shown; i++) {
        const rs_string *s = &m->e->strings.items[m->names[i]];
        if (i) memcpy(text + used, " -> ", 4), used += 4;
        memcpy(text + used, s->text, s->length);
        used += s->length;
    }
    if (text && n > shown) used += (size_t)snprintf(text + used, 64, " -> (%zu more)", n - shown);
    return rs_put_string_n(m->out, text, used);
}

static void put_execution(maker *m, const execution *x)
{
    const rs_events *e = m->e;
    const rs_links *links = m->links;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        size_t n_work;
        const uint32_t *work = work_of(links, x->calls[i], &n_work);
        for (size_t k = 0; k < n_work; k++) m->names[n++] = e->name[work[k]];
    }
    uint32_t number = rs_strings_add(&m->sequences, (const char *)m->names, n * sizeof *m->names);
    if (number == RS_NO_STRING) m->out->no_memory = true;
    if (m->out->no_memory) return;
    if (!m->texts[number]) m->texts[number] = write_sequence(m, n);
    delay d = {
        .name = rs_put_text(m->out, e->name[x->op_row]), .sequence = m->texts[number], .number = number};
    for (size_t i = 0; i < x->n; i++) {
        const uint32_t *work = work_of(links, x->calls[i], &n);
        uint32_t call = links->call[x->calls[i]];
        int64_t queued = rs_sub_sat(e->start[work[0]], rs_event_end(e, call));
        d.op_delay = i ? RS_NO_TIME : rs_sub_sat(e->start[call], e->start[x->op_row]);
        d.launch_delay = rs_sub_sat(e->start[work[0]], e->start[call]);
        d.queued = queued > 0 ? queued : 0;
        d.kernels = (int64_t)n;
        rs_put(m->out, OPERATORS, &d);
        rs_put(m->out, SEQUENCES, &d);
    }
}

/* Calls by operator and start. */
static rs_status put_all(maker *m, const uint32_t *op_of_call, size_t *n_outside, rs_error *err)
{
    const rs_links *links = m->links;
    rs_keyed *order = RS_ROOM(m->out, rs_keyed, links->n_calls);
    uint32_t *calls = RS_ROOM(m->out, uint32_t, links->n_calls);
    size_t n = 0;
    for (uint32_t c = 0; order && c < links->n_calls; c++) {
        if (!m->selected[c]) continue;
        if (op_of_call[c] == RS_NO_ROW)
            *n_outside += links->first[c + 1] - links->first[c];
        else
            order[n++] = (rs_keyed){m->e->start[links->call[c]], c};
    }
    bool ok = order && calls && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) order[i].key = op_of_call[order[i].value];
    if (!ok || !rs_keyed_sort(order, n)) return rs_fail_nomem(err, "delays");
    for (size_t i = 0; i < n; i++) calls[i] = order[i].value;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && order[to].key == order[from].key;) to++;
        put_execution(
            m, &(execution){.op_row = (uint32_t)order[from].key, .calls = calls + from, .n = to - from});
    }
    return RS_OK;
}

/* The calls that launched selected work, which ascend. */
static uint8_t *select_calls(const rs_work *w, const rs_links *links, rs_relations *out)
{
    uint8_t *selected = RS_ROOM(out, uint8_t, links->n_calls);
    for (size_t i = 0; selected && i < w->n; i++) {
        size_t call;
        RS_SEARCH(call, links->n_calls, links->call[call] < w->launch[i]);
        if (w->launch[i] != RS_NO_ROW && call < links->n_calls) selected[call] = 1;
    }
    return selected;
}

static rs_status put(const rs_run *run, rs_trace *t, rs_relations *out, rs_error *err)
{
    const rs_work *work;
    uint32_t *op_of_call = NULL;
    maker m = {.e = t->events, .out = out};
    counts n = {0};
    RS_TRY(rs_trace_work(t, run->policy, &work, err));
    RS_TRY(rs_trace_links(t, &m.links, err));
    RS_TRY(rs_launch_ops(t, m.links, &op_of_call, err));
    m.selected = select_calls(work, m.links, out);
    m.texts = RS_ROOM(out, uint32_t, m.links->n_calls + 1);
    m.names = RS_ROOM(out, uint32_t, m.links->n_work);
    n.n_work = work->n;
    n.n_unlinked = work->n_unlinked;
    bool ok = m.selected && m.texts && m.names && rs_strings_init(&m.sequences);
    rs_status status = ok ? put_all(&m, op_of_call, &n.n_outside, err) : rs_fail_nomem(err, "delays");
    rs_put(out, COUNTS, &n);
    rs_strings_clear(&m.sequences);
    rs_free(op_of_call);
    return status;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    const counts *n = RS_ROWS(counts, of, COUNTS);
    size_t n_operators = of->items[OPERATORS].n;
    long long rank = partial->rank;
    (void)run;
    if (!of->items[COUNTS].n) return;
    if (n->n_work == 0)
        rs_result_note(result, "rank %lld: no GPU work", rank);
    else if (n_operators == 0)
        rs_result_note(result, "rank %lld: no operator launched GPU work%s", rank,
                       n->n_unlinked == n->n_work ? ": no launches are in the file" : "");
    if (n->n_outside && n_operators)
        rs_result_note(result, "rank %lld: %zu of %zu pieces of GPU work were launched outside any operator",
                       rank, n->n_outside, n->n_work);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

#define ADDED_UP                                                                                             \
    RS_KNOWN(delay_row, executions, delay, op_delay), RS_COUNTED(delay_row, launches),                       \
        RS_SUMMED(delay_row, kernels, delay, kernels), RS_MOMENTS(delay_row, op_delay, delay, op_delay),     \
        RS_MOMENTS(delay_row, launch_delay, delay, launch_delay),                                            \
        RS_MOMENTS(delay_row, queued, delay, queued)
static const rs_aggregate by_operator[] = {RS_KEY_TEXT(delay_row, name, delay, name), ADDED_UP};
static const rs_aggregate by_sequence[] = {RS_KEY_TEXT(delay_row, name, delay, name),
                                           RS_KEY(delay_row, number, delay, number),
                                           RS_FIRST_TEXT(delay_row, sequence, delay, sequence), ADDED_UP};
/* Most executions first, then names. */
static const rs_order by_executions[] = {
    RS_FALLING(delay_row, executions),   RS_RISING_TEXT(delay_row, name),
    RS_RISING_TEXT(delay_row, sequence), RS_FALLING(delay_row, kernels),
    RS_FALLING(delay_row, op_delay.sum), RS_FALLING(delay_row, launch_delay.sum),
    RS_FALLING(delay_row, op_delay.max), RS_FALLING(delay_row, launch_delay.max)};
static const rs_field count_fields[] = {RS_FIELDS(counts, n_work, n_unlinked, n_outside)};
static const rs_layout count_layout = RS_LAYOUT(counts, count_fields);

static const rs_plan_relation relations[] = {
    [OPERATORS] = {RS_GROUPED(OPERATORS, delay_row, delay, by_operator), .make = put,
                   RS_IN_ORDER(by_executions)},
    [SEQUENCES] = {RS_GROUPED(SEQUENCES, delay_row, delay, by_sequence), RS_IN_ORDER(by_executions)},
    [COUNTS] = {RS_LISTED(COUNTS, counts, &count_layout)},
};
static const rs_plan_table
    operator_table = {RS_PLAN_TABLE("delays", "one row is one operator name of one rank", operator),
                      .relation = OPERATORS, .top = "top"},
    sequence_table = {RS_PLAN_TABLE("sequences",
                                    "one row is one operator name and what it launched, of one rank",
                                    sequence),
                      .relation = SEQUENCES, .top = "top", .choice = RS_WITH(RS_IS("by", "sequence"))};
static const rs_table_spec *const tables[] = {&operator_table.spec, &sequence_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_analysis rs_analysis_delays = {
    .name = "delays",
    .group = "GPU time",
    .help = "How long operators take to launch their kernels, and kernels to start",
    .about = "Every launch belongs to the innermost operator around it on its own thread. Its delay has two "
             "parts: from the operator's start to its first launch call (host work: dispatch, shape checks, "
             "allocation), and "
             "from each launch call's start to the start of the kernel (the call itself and, once it has "
             "returned, "
             "waiting in the stream). An operator may launch several kernels; a graph launch counts once, "
             "with the first kernel it starts.",
    .examples = "rankscope delays trace.json.gz\nrankscope delays --by sequence --top 20 trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_links},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
};
