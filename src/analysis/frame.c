/* frame: the trace as a data frame, one column an argument. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/frame.h"
#include "base/interval.h"
#include "base/memory.h"

static const rs_option_spec options[] = {
    {"of", RS_OPTION_RANGES, "RANKS", NULL, NULL,
     "rows of these ranks only; times still count from the first event of all"},
    {"gpu", RS_OPTION_FLAG, NULL, NULL, NULL, "only rows of the GPU"},
    {"args", RS_OPTION_TEXT, "NAMES", NULL, NULL,
     "further arguments as columns: all, or names with commas between"},
    {"calls", RS_OPTION_FLAG, NULL, NULL, NULL,
     "what each event is inside of or was launched by, and the GPU work below it, as columns"},
    {"where", RS_OPTION_TEXT, "CONDITION", NULL, NULL, "only events for which it holds, as in events"},
    {"stack", RS_OPTION_INT, "POSITION", NULL, NULL,
     "only the event at this position (column index) of each rank and, outwards, what it is inside of or was launched by; with "
     "the columns of --calls"},
    {"uncut", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --compat hta: also the rows that HTA reads and then cuts off, in the order of the file"},
};

/* Arguments: those whose columns HTA keeps by default, in its order, with what stands for a missing one. */
static const struct {
    rs_column_id id;
    uint8_t slot;     /* among the texts or the whole numbers of a row */
    const char *text; /* for texts; */
    int64_t number;   /* for numbers */
} arguments[] = {
    {RS_COL_BYTES, 0, NULL, -1},          {RS_COL_BANDWIDTH, 0, NULL, 0},
    {RS_COL_WAIT_ON_STREAM, 1, NULL, -1}, {RS_COL_WAIT_ON_EVENT, 2, NULL, -1},
    {RS_COL_INPUT_DIMS, 5, "-1", 0},      {RS_COL_INPUT_TYPE, 6, "-1", 0},
    {RS_COL_INPUT_STRIDES, 7, "-1", 0},   {RS_COL_EXTERNAL_ID, 3, NULL, -1},
    {RS_COL_PYTHON_ID, 4, NULL, -1},      {RS_COL_PYTHON_PARENT_ID, 5, NULL, -1},
    {RS_COL_COLLECTIVE, 8, "", 0},        {RS_COL_IN_NELEMS, 6, NULL, 0},
    {RS_COL_OUT_NELEMS, 7, NULL, 0},      {RS_COL_DTYPE, 9, "", 0},
    {RS_COL_GROUP_SIZE, 8, NULL, 0},      {RS_COL_PROCESS_RANK, 9, NULL, -1},
    {RS_COL_IN_SPLIT, 10, "[]", 0},       {RS_COL_OUT_SPLIT, 11, "[]", 0},
};
#define N_ARGUMENTS (sizeof arguments / sizeof *arguments)
#define ARGUMENT_BITS                                                                                        \
    (RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH) | RS_COLUMN_BIT(WAIT_ON_STREAM) |                       \
     RS_COLUMN_BIT(WAIT_ON_EVENT) | RS_COLUMN_BIT(INPUT_DIMS) | RS_COLUMN_BIT(INPUT_TYPE) |                  \
     RS_COLUMN_BIT(INPUT_STRIDES) | RS_COLUMN_BIT(EXTERNAL_ID) | RS_COLUMN_BIT(PYTHON_ID) |                  \
     RS_COLUMN_BIT(PYTHON_PARENT_ID) | RS_COLUMN_BIT(COLLECTIVE) | RS_COLUMN_BIT(IN_NELEMS) |                \
     RS_COLUMN_BIT(OUT_NELEMS) | RS_COLUMN_BIT(DTYPE) | RS_COLUMN_BIT(GROUP_SIZE) |                          \
     RS_COLUMN_BIT(PROCESS_RANK) | RS_COLUMN_BIT(IN_SPLIT) | RS_COLUMN_BIT(OUT_SPLIT))

#define FRAME_ROW(CELL) RS_FRAME_CELLS(CELL, MOMENT)
RS_RECORD(frame, FRAME_ROW);

/* Where the arguments begin among the columns, and two that are among those before. */
enum { FIRST_ARGUMENT = 15, STREAM = 9, CORRELATION = 10, N_SHOWN = N_ARGUMENTS + 2 };
static const rs_table_spec frame_table = RS_TABLE("frame", "one row is one complete event", frame_columns);
static const rs_table_spec *const tables[] = {&frame_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};

/* ---- one rank ----------------------------------------------------------------------------------------- */

void rs_frame_free(void *partial)
{
    rs_frame_partial *p = partial;
    if (!p) return;
    rs_strings_clear(&p->strings);
    rs_big_free(p->rows);
    rs_big_free(p->cells.items);
    rs_big_free(p->calls);
    rs_free_all(p->opens.items, p);
}

static bool wants_calls(const rs_run *run)
{
    return rs_options_flag(run->options, "calls") || rs_options_is_set(run->options, "stack");
}

/* Which arguments have a column in any case; shown has room for all of them. */
static rs_frame_fixed fixed_columns(const rs_run *run, const rs_frame_rules *rules, rs_shown_argument *shown)
{
    bool calls = wants_calls(run);
    for (size_t k = 0; k < N_ARGUMENTS; k++)
        shown[k] = (rs_shown_argument){arguments[k].id, FIRST_ARGUMENT + k};
    shown[N_ARGUMENTS] = (rs_shown_argument){RS_COL_STREAM, STREAM};
    shown[N_ARGUMENTS + 1] = (rs_shown_argument){RS_COL_CORRELATION, CORRELATION};
    return (rs_frame_fixed){rules->table,
                            rules->record,
                            shown,
                            N_SHOWN,
                            calls ? rs_frame_call_columns : NULL,
                            calls ? rs_frame_n_call_columns : 0};
}

typedef struct maker {
    const rs_events *e;
    const rs_frame_rows *f;
    const rs_frame_columns *made;
    rs_frame_partial *p;
    rs_frame_args *args;
    rs_frame_call *calls; /* by place in the frame; NULL: not asked for */
    uint8_t *stack;       /* 1: the place belongs to the stack that is asked for; NULL: none is */
    uint32_t *copied;     /* by the trace's string id: the partial's, + 1 */
    bool fills, failed;   /* failed: out of memory */
} maker;

static uint32_t copy_text(maker *m, const char *text, size_t length)
{
    uint32_t id = rs_strings_add(&m->p->strings, text, length);
    if (id == RS_NO_STRING) m->failed = true;
    return id;
}

static uint32_t copy_string(maker *m, uint32_t id)
{
    if (id == RS_NO_STRING) return id;
    if (!m->copied[id]) {
        const rs_string *s = &m->e->strings.items[id];
        uint32_t copy = copy_text(m, s->text, s->length);
        if (copy == RS_NO_STRING) return copy;
        m->copied[id] = copy + 1;
    }
    return m->copied[id] - 1;
}

static uint32_t copy_thread(maker *m, int64_t number, uint32_t text)
{
    char digits[24];
    if (text != RS_NO_STRING) return copy_string(m, text);
    int n = number == RS_NO_VALUE ? 0 : snprintf(digits, sizeof digits, "%lld", (long long)number);
    return copy_text(m, digits, (size_t)n);
}

/* An argument, or what HTA has in its place. */
static void read_argument(maker *m, uint32_t row, size_t k, rs_frame_row *out)
{
    rs_column_id id = arguments[k].id;
    if (rs_column_infos[id].type == RS_COLUMN_TEXT) {
        uint32_t text = copy_string(m, rs_events_text(m->e, id, row));
        if (text == RS_NO_STRING && m->fills)
            text = copy_text(m, arguments[k].text, strlen(arguments[k].text));
        out->texts[arguments[k].slot] = text;
    } else if (rs_column_infos[id].type == RS_COLUMN_REAL) {
        out->bandwidth = m->fills ? (double)arguments[k].number : (double)NAN;
        rs_events_real(m->e, id, row, &out->bandwidth);
    } else {
        int64_t *number = &out->numbers[arguments[k].slot];
        *number = m->fills ? arguments[k].number : RS_NO_VALUE;
        rs_events_int(m->e, id, row, number);
    }
}

/* HTA writes -1 for no correlation and 0 for one that stands alone. */
static int64_t partner_of(const maker *m, size_t i)
{
    if (m->f->partner[i] != RS_NO_ROW) return m->f->partner[i];
    if (!m->fills) return RS_NO_VALUE;
    return m->f->correlation[i] < 0 ? m->f->correlation[i] : 0;
}

static int64_t known(const maker *m, int64_t value)
{
    return m->fills || value != -1 ? value : RS_NO_VALUE;
}

static bool read_row(maker *m, size_t i)
{
    const rs_frame_rows *f = m->f;
    const rs_events *e = m->e;
    rs_frame_partial *p = m->p;
    uint32_t row = f->row[i];
    const rs_thread *thread = &e->threads[e->thread[row]];
    if (p->n == p->capacity) {
        size_t wanted = p->capacity ? p->capacity * 2 : 1024;
        rs_frame_row *grown = rs_big_resize(p->rows, wanted * sizeof *grown);
        if (!grown) return false;
        p->rows = grown;
        p->capacity = wanted;
    }
    rs_frame_row *r = &p->rows[p->n++];
    *r = (rs_frame_row){.ts = f->start[i],
                        .dur = rs_sub_sat(f->end[i], f->start[i]),
                        .end = f->end[i],
                        .stream = known(m, f->stream[i]),
                        .correlation = known(m, f->correlation[i]),
                        .partner = partner_of(m, i),
                        .iteration = known(m, m->made->iteration[i]),
                        .position = row,
                        .gpu = m->made->gpu[i]};
    r->texts[RS_FRAME_CATEGORY] = copy_string(m, e->categories[e->category[row]].name);
    r->texts[RS_FRAME_NAME] = copy_string(m, e->name[row]);
    r->texts[RS_FRAME_PID] = copy_thread(m, thread->pid, thread->pid_text);
    r->texts[RS_FRAME_TID] = copy_thread(m, thread->tid, thread->tid_text);
    r->texts[RS_FRAME_ANNOTATION] = copy_string(m, m->made->annotation[i]);
    for (size_t k = 0; k < N_ARGUMENTS; k++) read_argument(m, row, k, r);
    return !m->failed && rs_frame_args_read(m->args, row, (uint32_t)(p->n - 1), &p->cells);
}

static bool keep_call(maker *m, size_t i)
{
    rs_frame_partial *p = m->p;
    if (!m->calls) return true;
    if (p->n_calls == p->calls_capacity) {
        size_t wanted = p->calls_capacity ? p->calls_capacity * 2 : 1024;
        rs_frame_call *grown = rs_big_resize(p->calls, wanted * sizeof *grown);
        if (!grown) return false;
        p->calls = grown;
        p->calls_capacity = wanted;
    }
    p->calls[p->n_calls++] = m->calls[i];
    return true;
}

/* Marks an event and all that it lies in, or was launched by. A position that has no row has no stack here. */
static rs_status mark_stack(const rs_run *run, maker *m, rs_error *err)
{
    if (!rs_options_is_set(run->options, "stack")) return RS_OK;
    int64_t position = rs_options_int(run->options, "stack");
    m->stack = rs_calloc(m->f->n + 1, 1);
    if (!m->stack) return rs_fail_nomem(err, "frame");
    while (position != RS_NO_VALUE) {
        size_t at = rs_frame_place_of(m->f, position);
        if (at == m->f->n || m->stack[at]) break; /* no row, or a circle that only damage can make */
        m->stack[at] = 1;
        position = m->calls[at].parent;
    }
    return RS_OK;
}

/* The rows that are asked for. */
static rs_status read_rows(const rs_run *run, rs_trace *trace, maker *m, const rs_frame_picks *picks,
                           rs_error *err)
{
    bool only_gpu = rs_options_flag(run->options, "gpu"), ok = true;
    for (size_t i = 0; ok && i < m->f->n; i++) {
        if ((only_gpu && !m->made->gpu[i]) || (m->stack && !m->stack[i])) continue;
        if (!rs_frame_row_is_selected(trace, m->f, m->made, i)) continue;
        if (!rs_frame_is_picked(picks, m->f->row[i], (uint32_t)m->p->n, &m->p->opens, &ok)) continue;
        ok = ok && keep_call(m, i) && read_row(m, i);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "frame");
}

static rs_status fill(const rs_run *run, rs_trace *trace, const rs_frame_rules *rules, const rs_frame_rows *f,
                      rs_frame_partial *p, rs_error *err)
{
    RS_SCOPED(rs_frame_columns_clear) rs_frame_columns made = {0};
    RS_SCOPED(rs_frame_picks_clear) rs_frame_picks picks = {0};
    maker m = {.e = trace->events, .f = f, .made = &made, .p = p, .fills = rules->fills};
    m.copied = rs_calloc(m.e->strings.n + 1, sizeof *m.copied);
    rs_status status = m.copied ? rs_frame_columns_make(trace, run->policy, f, rules->columns, &made, err)
                                : rs_fail_nomem(err, "frame");
    rs_shown_argument shown[N_SHOWN];
    const rs_frame_fixed fixed = fixed_columns(run, rules, shown);
    if (status == RS_OK && fixed.n_more) status = rs_frame_calls_make(trace, f, made.gpu, &m.calls, err);
    if (status == RS_OK)
        status = rs_frame_picks_make(rs_options_text(run->options, "where"), trace, &picks, err);
    if (status == RS_OK)
        status = rs_frame_args_begin(rs_options_text(run->options, "args"), &fixed, m.e, &p->strings, &m.args,
                                     err);
    if (status == RS_OK) status = mark_stack(run, &m, err);
    if (status == RS_OK) status = read_rows(run, trace, &m, &picks, err);
    rs_free(m.copied);
    rs_big_free(m.calls);
    rs_free(m.stack);
    rs_frame_args_free(m.args);
    return status;
}

rs_status rs_frame_rank(const rs_run *run, rs_trace *trace, const rs_frame_rules *rules, void **partial,
                        rs_error *err)
{
    const rs_frame_rows *f;
    if (rules->fills && wants_calls(run))
        return rs_fail(err, RS_ERR_USAGE, "frame --%s goes with our own frame: leave --compat out",
                       rs_options_flag(run->options, "calls") ? "calls" : "stack");
    rs_frame_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "frame");
    *partial = p;
    if (!rs_strings_init(&p->strings)) return rs_fail_nomem(err, "frame");
    rs_policy all = *run->policy;
    all.whole = true; /* its iterations tell what is selected */
    rs_status status = rules->rows(trace, &all, &f, err);
    if (status != RS_OK) return status;
    p->min_start = f->min_start;
    if (trace->rank == RS_NO_VALUE || rs_options_in_ranges(run->options, "of", trace->rank))
        status = fill(run, trace, rules, f, p, err);
    return status;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

/* The columns of --args, which depend on what the ranks have; *wide is NULL when there are none. */
static rs_status widen(const rs_run *run, const rs_partial *partials, size_t n, const rs_frame_rules *rules,
                       rs_frame_part **parts, rs_result *result, rs_frame_wide **wide, rs_error *err)
{
    rs_shown_argument shown[N_SHOWN];
    const rs_frame_fixed fixed = fixed_columns(run, rules, shown);
    *parts = rs_calloc(n + 1, sizeof **parts);
    if (!*parts) return rs_fail_nomem(err, "frame");
    for (size_t i = 0; i < n; i++) {
        const rs_frame_partial *p = partials[i].value;
        if (rs_options_in_ranges(run->options, "of", partials[i].rank))
            (*parts)[i] = (rs_frame_part){p->cells.items, p->cells.n, p->n, &p->strings};
        else
            (*parts)[i].strings = &p->strings;
    }
    return rs_frame_wide_begin(rs_options_text(run->options, "args"), &fixed, *parts, n, result, wide, err);
}

static int64_t from_origin(const rs_run *run, int64_t ts)
{
    int64_t since;
    return __builtin_sub_overflow(ts, run->origin, &since) ? RS_NO_TIME : since;
}

rs_status rs_frame_merge(const rs_run *run, const rs_partial *partials, size_t n, const rs_frame_rules *rules,
                         rs_result *result, rs_error *err)
{
    int64_t base = RS_NO_TIME;
    rs_status status = RS_OK;
    for (size_t i = 0; i < n && !run->absolute; i++) {
        const rs_frame_partial *p = partials[i].value;
        if (p->min_start != RS_NO_TIME && (base == RS_NO_TIME || p->min_start < base)) base = p->min_start;
    }
    RS_LOCAL rs_frame_part *parts = NULL;
    rs_frame_wide *wide = NULL;
    rs_where *where = NULL;
    if (rs_options_is_set(run->options, "where"))
        status = rs_where_parse(rs_options_text(run->options, "where"), "--where", &where, err);
    if (status == RS_OK) status = widen(run, partials, n, rules, &parts, result, &wide, err);
    rs_table *t = result->tables[0];
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_frame_partial *p = partials[i].value;
        if (!rs_options_in_ranges(run->options, "of", partials[i].rank)) continue;
        if (p->n == 0)
            rs_result_note(result, "rank %lld: no complete events%s%s", (long long)partials[i].rank,
                           rs_options_flag(run->options, "gpu") ? " of the GPU" : "",
                           rs_options_is_set(run->options, "stack") ? " at that position" : "");
        rs_table_use_texts(t, &p->strings);
        for (size_t k = 0, at = 0; status == RS_OK && k < p->n; k++) {
            if (where &&
                !rs_frame_remains(where, &p->opens, &at, (uint32_t)k, from_origin(run, p->rows[k].ts)))
                continue;
            rs_table_put(t, rules->record, partials[i].rank, &p->rows[k]);
            if (p->n_calls) rs_frame_call_add(&p->calls[k], t);
            rs_frame_wide_add(wide, i, (uint32_t)k, t);
            status = rs_table_end_row(t, err);
        }
    }
    rs_where_free(where);
    rs_frame_wide_free(wide);
    rs_table_count_from(t, base == RS_NO_TIME ? 0 : base);
    return status;
}

static bool cells_exist(const void *value)
{
    const rs_frame_partial *p = value;
    for (size_t i = 0; i < p->opens.n; i++)
        if (p->opens.items[i].row >= p->n || (i && p->opens.items[i].row <= p->opens.items[i - 1].row))
            return false;
    return (p->n_calls == 0 || p->n_calls == p->n) &&
           rs_frame_cells_exist(p->cells.items, p->cells.n, p->n, p->strings.n);
}

static uint64_t more_columns(const rs_options *given)
{
    uint64_t columns = rs_frame_args_columns(rs_options_text(given, "args"));
    rs_where *where;
    if (!rs_options_is_set(given, "where") ||
        rs_where_parse(rs_options_text(given, "where"), "--where", &where, NULL) != RS_OK)
        return columns;
    columns |= rs_where_columns(where);
    rs_where_free(where);
    return columns;
}

static const rs_layout row_layout = RS_RECORD_LAYOUT(rs_frame_row, frame);

static const rs_field frame_fields[] = {
    RS_FIELD_STRINGS(rs_frame_partial, strings),
    RS_FIELD_LIST(rs_frame_partial, rows, n, &row_layout),
    RS_FIELD(rs_frame_partial, min_start),
    RS_FIELD_LIST(rs_frame_partial, cells.items, cells.n, &rs_frame_cell_layout),
    RS_FIELD_LIST(rs_frame_partial, calls, n_calls, &rs_frame_call_layout),
    RS_FIELD_LIST(rs_frame_partial, opens.items, opens.n, &rs_frame_open_layout),
};
const rs_layout rs_frame_layout = RS_LAYOUT_CHECKED(rs_frame_partial, frame_fields, cells_exist);

static rs_status own_rows(rs_trace *trace, const rs_policy *policy, const rs_frame_rows **out, rs_error *err)
{
    (void)policy;
    return rs_trace_facet(trace, &rs_facet_frame_rows, NULL, out, err);
}

static const rs_frame_column_rules own_columns = {rs_frame_is_gpu_work, rs_frame_own_iterations};
static const rs_frame_rules own = {
    .table = &frame_table, .record = &frame_record, .columns = &own_columns, .rows = own_rows};

static rs_status frame_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_frame_rank(run, trace, &own, partial, err);
}

static rs_status frame_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                             rs_error *err)
{
    return rs_frame_merge(run, partials, n, &own, result, err);
}

const rs_analysis rs_analysis_frame = {
    .name = "frame",
    .group = "events",
    .help = "The trace as a data frame: every complete event, one column an argument",
    .about =
        "What notebooks and statistics programs want: names, times, step and arguments of every "
        "complete event in one\n"
        "wide table, with the link between launches and work. events shows the same events with fewer "
        "columns, and all\n"
        "others, and filters.\n"
        "\n"
        "The columns are always the same: the arguments that most analyses need. --args all adds every "
        "other argument of\n"
        "the rows, --args NAME,NAME those, under the names that the file gives them, sorted; the columns "
        "then depend on\n"
        "the data. A name that a column of the frame has becomes args.NAME. A column is of whole numbers or "
        "of numbers if\n"
        "all its values are, else of text; what is neither string nor number is kept as its JSON text.\n"
        "\n"
        "--calls adds columns under HTA's names: parent (the position of the event around it on its thread; of "
        "GPU work its\n"
        "launch), depth, height, and of the GPU work below each event how much there is, how long it takes "
        "together, and from\n"
        "when to when. --where keeps rows for which a condition holds; parents may then be among the others. --stack "
        "POSITION\n"
        "keeps one event and all events around it, across its launch to the outermost operator, annotation or Python call.\n"
        "\n"
        "--compat hta gives the frame that HTA holds after loading: its rounding, its cut at the last "
        "step, its order\n"
        "(GPU rows first), its columns' defaults.",
    .examples = "rankscope frame --format csv trace.json.gz\n"
                "rankscope frame --gpu --of 3 --format csv traces/\n"
                "rankscope frame --calls --where 'under(aten::linear)' --format csv trace.json.gz\n"
                "rankscope frame --stack 4711 trace.json.gz\n"
                "rankscope frame --args all --format csv trace.json.gz\n"
                "rankscope frame --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps, &rs_facet_frame_rows, &rs_facet_launches},
    .columns = ARGUMENT_BITS,
    .more_columns = more_columns,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = frame_rank,
    .merge = frame_merge,
    .free_partial = rs_frame_free,
    .partial_layout = &rs_frame_layout,
};
