/* delays as HTA's get_aten_op_kernels_and_delay: a launch belongs to the aten:: operator around it, on any
 * thread, that began last. HTA fails where a launch has no kernel or several; here it is left out, or goes by
 * the first. O(n log n). */
#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/strings.h"
#include "base/try.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

typedef struct hta_delay {
    const char *op, *sequence;         /* in the list's arena */
    rs_moments op_delay, launch_delay; /* ns */
} hta_delay;

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(hta_delay, op), "aten_op_name", TEXT, NONE,                                                      \
         "operator: of all around the launch, on any thread, the one that began last", NULL)                 \
    CELL(OF(hta_delay, sequence), "kernel_sequence", TEXT, NONE,                                             \
         "the kernels one execution launched, in order", NULL)                                               \
    CELL(OF(hta_delay, op_delay.n), "occurrence_count", INT, COUNT, "executions", NULL)                      \
    CELL(SET, "avg_aten_op_launch_delay", REAL, US, "from the operator's start to its first launch, mean",   \
         NULL)                                                                                               \
    CELL(SET, "avg_runtime_delay", REAL, US, "from the first launch to its kernel's start, mean", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table = RS_TABLE(
    "delays", "one row is one operator name and what it launched, as HTA's get_aten_op_kernels_and_delay",
    hta_columns);
static const rs_table_spec *const tables[] = {&table};

typedef struct hta_delays {
    rs_arena names;
    hta_delay *items; /* by operator, then sequence */
    size_t n, capacity;
    size_t n_launches, n_without_kernel, n_outside;
} hta_delays;

#define MAX_TEXT ((size_t)256 << 20)

static void free_partial(void *partial)
{
    hta_delays *d = partial;
    if (!d) return;
    rs_arena_clear(&d->names);
    rs_free_all(d->items, d);
}

typedef struct maker {
    const rs_events *e;
    const rs_frame_rows *f;
    hta_delays *d;
    uint32_t *kernel_of; /* by row of the launch: place of its kernel in the frame, + 1 */
    rs_keyed *ops;       /* by start: place in the frame */
    size_t n_ops;
    int64_t *latest; /* tree over ops: the latest end below each node */
    size_t size;
    rs_strings keys; /* operator and kernels as string ids; id - 1 is the row of d */
    uint32_t *scratch;
} maker;

/* A pair of a launch and the operator it belongs to; launches of one execution follow each other. */
typedef struct pair {
    uint32_t op, launch, kernel; /* places in the frame */
} pair;

static bool is_launch(const char *name)
{
    if (strncmp(name, "cuLaunchKernel", 14) == 0 || strncmp(name, "runFunction", 11) == 0) return true;
    return strncmp(name, "cuda", 4) == 0 && strstr(name + 4, "LaunchKernel");
}

static bool list_ops(maker *m)
{
    const rs_frame_rows *f = m->f;
    for (size_t i = 0; i < f->n; i++)
        if (strncmp(rs_event_name(m->e, f->row[i]), "aten::", 6) == 0)
            m->ops[m->n_ops++] = (rs_keyed){f->start[i], (uint32_t)i};
    for (m->size = 1; m->size < m->n_ops;) m->size *= 2;
    m->latest = rs_malloc(2 * m->size * sizeof *m->latest);
    if (!m->latest || !rs_keyed_sort(m->ops, m->n_ops)) return false;
    for (size_t i = 0; i < m->size; i++)
        m->latest[m->size + i] = i < m->n_ops ? f->end[m->ops[i].value] : INT64_MIN;
    for (size_t i = m->size; i-- > 1;)
        m->latest[i] = m->latest[2 * i] > m->latest[2 * i + 1] ? m->latest[2 * i] : m->latest[2 * i + 1];
    return true;
}

/* The operator that starts last of those that start by then and end no earlier; SIZE_MAX if there is none. */
static size_t find_op(const maker *m, int64_t start, int64_t end)
{
    size_t low = rs_keyed_until(m->ops, m->n_ops, start);
    /* up from the leaf after the last that starts in time until a left neighbour reaches far enough */
    size_t at = low + m->size;
    for (; at > 1; at >>= 1)
        if ((at & 1) && m->latest[at - 1] >= end) break;
    if (at <= 1) return low == m->size && m->latest[1] >= end ? SIZE_MAX - 1 : SIZE_MAX;
    for (at--; at < m->size;) at = m->latest[2 * at + 1] >= end ? 2 * at + 1 : 2 * at;
    return at - m->size;
}

static size_t op_of(const maker *m, size_t launch)
{
    size_t at = find_op(m, m->f->start[launch], m->f->end[launch]);
    if (at != SIZE_MAX - 1) return at;
    for (at = 1; at < m->size;) /* all start in time: the rightmost of the whole tree */
        at = m->latest[2 * at + 1] >= m->f->end[launch] ? 2 * at + 1 : 2 * at;
    return at - m->size;
}

static bool index_kernels(maker *m)
{
    const rs_frame_rows *f = m->f;
    m->kernel_of = rs_calloc(m->e->n + 1, sizeof *m->kernel_of);
    if (!m->kernel_of) return false;
    for (size_t i = f->n; i-- > 0;)
        if (f->stream[i] != -1 && f->partner[i] != RS_NO_ROW) m->kernel_of[f->partner[i]] = (uint32_t)i + 1;
    return true;
}

static bool find_pairs(maker *m, pair *pairs, size_t *n)
{
    const rs_frame_rows *f = m->f;
    for (size_t i = 0; i < f->n; i++) {
        if (f->stream[i] != -1 || !is_launch(rs_event_name(m->e, f->row[i]))) continue;
        m->d->n_launches++;
        uint32_t kernel = m->kernel_of[f->row[i]];
        size_t op = m->n_ops ? op_of(m, i) : SIZE_MAX;
        m->d->n_without_kernel += kernel == 0;
        m->d->n_outside += kernel && op == SIZE_MAX;
        if (kernel && op != SIZE_MAX) pairs[(*n)++] = (pair){m->ops[op].value, (uint32_t)i, kernel - 1};
    }
    RS_LOCAL rs_keyed *order = rs_malloc((*n + 1) * sizeof *order);
    RS_LOCAL pair *sorted = rs_malloc((*n + 1) * sizeof *sorted);
    bool ok = order && sorted;
    for (size_t i = 0; ok && i < *n; i++) order[i] = (rs_keyed){pairs[i].op, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, *n);
    for (size_t i = 0; ok && i < *n; i++) sorted[i] = pairs[order[i].value];
    if (ok && *n) memcpy(pairs, sorted, *n * sizeof *pairs);
    return ok;
}

static const rs_string *name_at(const maker *m, uint32_t place)
{
    return &m->e->strings.items[m->e->name[m->f->row[place]]];
}

static rs_status new_row(maker *m, const pair *p, size_t n, rs_error *err)
{
    hta_delays *d = m->d;
    const rs_string *s = name_at(m, p->op);
    size_t length = 0, at = 0;
    for (size_t i = 0; i < n; i++) length += name_at(m, p[i].kernel)->length + 4;
    if (length > MAX_TEXT || d->names.total > MAX_TEXT)
        return rs_fail(err, RS_ERR_LIMIT, "the sequences of kernels are too long to write down");
    char *op = rs_arena_strndup(&d->names, s->text, s->length), *text = rs_arena_alloc(&d->names, length + 1);
    if (!op || !text || !RS_GROW_ONE(d->items, d->n, d->capacity)) return rs_fail_nomem(err, "delays");
    for (size_t i = 0; i < n; i++) {
        s = name_at(m, p[i].kernel);
        if (i) {
            memcpy(text + at, " -> ", 4);
            at += 4;
        }
        memcpy(text + at, s->text, s->length);
        at += s->length;
    }
    text[at] = '\0';
    d->items[d->n++] = (hta_delay){.op = op, .sequence = text};
    return RS_OK;
}

/* One execution of an operator and its launches. */
static rs_status add_execution(maker *m, const pair *p, size_t n, rs_error *err)
{
    const rs_frame_rows *f = m->f;
    m->scratch[0] = m->e->name[f->row[p->op]];
    for (size_t i = 0; i < n; i++) m->scratch[i + 1] = m->e->name[f->row[p[i].kernel]];
    uint32_t id = rs_strings_add(&m->keys, (const char *)m->scratch, (n + 1) * sizeof *m->scratch);
    if (id == RS_NO_STRING) return rs_fail_nomem(err, "delays");
    if (id > m->d->n) RS_TRY(new_row(m, p, n, err));
    hta_delay *row = &m->d->items[id - 1];
    rs_moments_add(&row->op_delay, rs_sub_sat(f->start[p->launch], f->start[p->op]));
    rs_moments_add(&row->launch_delay, rs_sub_sat(f->start[p->kernel], f->start[p->launch]));
    return RS_OK;
}

static const rs_order by_name[] = {RS_RISING(hta_delay, op), RS_RISING(hta_delay, sequence)};

static rs_status make(maker *m, rs_error *err)
{
    size_t n = 0;
    RS_LOCAL pair *pairs = rs_malloc((m->f->n + 1) * sizeof *pairs);
    m->ops = rs_malloc((m->f->n + 1) * sizeof *m->ops);
    m->scratch = rs_malloc((m->f->n + 2) * sizeof *m->scratch);
    bool ok = pairs && m->ops && m->scratch && rs_strings_init(&m->keys) && list_ops(m) && index_kernels(m) &&
              find_pairs(m, pairs, &n);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "delays");
    for (size_t i = 0, end; status == RS_OK && i < n; i = end) {
        for (end = i; end < n && pairs[end].op == pairs[i].op;) end++;
        status = add_execution(m, pairs + i, end - i, err);
    }
    if (status == RS_OK && m->d->n) RS_SORT(m->d->items, m->d->n, by_name);
    rs_free_all(m->ops, m->scratch, m->latest, m->kernel_of);
    rs_strings_clear(&m->keys);
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_frame_rows *f;
    hta_delays *d = rs_calloc(1, sizeof *d);
    if (!d) return rs_fail_nomem(err, "delays");
    *partial = d;
    RS_TRY(rs_trace_hta_frame(trace, run->policy, &f, err));
    maker m = {.e = trace->events, .f = f, .d = d};
    return make(&m, err);
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

/* By division at the end, as pandas does. */
static double mean_us(const rs_moments *m)
{
    return m->n ? (double)m->sum / (double)m->n / 1000 : (double)NAN;
}

static rs_status add_rank(rs_table *t, int64_t number, const hta_delays *d, rs_error *err)
{
    for (size_t i = 0; i < d->n; i++) {
        const hta_delay *r = &d->items[i];
        rs_table_put(t, &hta_record, number, r);
        rs_table_set_real(t, "avg_aten_op_launch_delay", rs_round(mean_us(&r->op_delay), 3));
        rs_table_set_real(t, "avg_runtime_delay", rs_round(mean_us(&r->launch_delay), 3));
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const hta_delays *d = partials[i].value;
        long long number = partials[i].rank;
        status = add_rank(result->tables[0], number, d, err);
        if (d->n_launches == 0)
            rs_result_note(result, "rank %lld: no launches that HTA knows", number);
        else if (d->n_without_kernel || d->n_outside)
            rs_result_note(
                result,
                "rank %lld: of %zu launches %zu have no kernel and %zu no aten:: operator around them; they "
                "are left out, where HTA fails",
                number, d->n_launches, d->n_without_kernel, d->n_outside);
    }
    return status;
}

static const rs_field row_fields[] = {
    RS_FIELDS(hta_delay, op, sequence),
    RS_FIELD_STRUCT(hta_delay, op_delay, &rs_moments_layout),
    RS_FIELD_STRUCT(hta_delay, launch_delay, &rs_moments_layout),
};
static const rs_layout row_layout = RS_LAYOUT(hta_delay, row_fields);

static const rs_field delays_fields[] = {
    RS_FIELD_LIST(hta_delays, items, n, &row_layout),
    RS_FIELDS(hta_delays, n_launches, n_without_kernel, n_outside),
};
static const rs_layout delays_layout = RS_LAYOUT(hta_delays, delays_fields);

const rs_peer_row rs_peer_hta_delays = {
    RS_HTA_ROW("delays"),
    .tables = tables,
    .n_tables = 1,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &delays_layout,
};
