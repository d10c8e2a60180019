/* frame: the trace as a data frame, one column an argument. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/frame_columns.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "trace/hta_window.h"

static const rs_option_spec options[] = {
    {"of", RS_OPTION_RANGES, "RANKS", NULL, NULL,
     "rows of these ranks only; times still count from the first event of all"},
    {"gpu", RS_OPTION_FLAG, NULL, NULL, NULL, "only rows of the GPU"},
};

/* Arguments: those whose columns HTA keeps by default, in its order, with what stands for a missing one. */
static const struct {
    rs_column_id id;
    const char *missing; /* as HTA has it; NULL: what lacks_number says */
    double lacks_number;
} arguments[] = {
    {RS_COL_BYTES, NULL, -1},          {RS_COL_BANDWIDTH, NULL, 0},
    {RS_COL_WAIT_ON_STREAM, NULL, -1}, {RS_COL_WAIT_ON_EVENT, NULL, -1},
    {RS_COL_INPUT_DIMS, "-1", 0},      {RS_COL_INPUT_TYPE, "-1", 0},
    {RS_COL_INPUT_STRIDES, "-1", 0},   {RS_COL_EXTERNAL_ID, NULL, -1},
    {RS_COL_PYTHON_ID, NULL, -1},      {RS_COL_PYTHON_PARENT_ID, NULL, -1},
    {RS_COL_COLLECTIVE, "", 0},        {RS_COL_IN_NELEMS, NULL, 0},
    {RS_COL_OUT_NELEMS, NULL, 0},      {RS_COL_DTYPE, "", 0},
    {RS_COL_GROUP_SIZE, NULL, 0},      {RS_COL_PROCESS_RANK, NULL, -1},
    {RS_COL_IN_SPLIT, "[]", 0},        {RS_COL_OUT_SPLIT, "[]", 0},
};
#define N_ARGUMENTS (sizeof arguments / sizeof *arguments)

#define ARGUMENT_BITS                                                                                        \
    (RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH) | RS_COLUMN_BIT(WAIT_ON_STREAM) |                       \
     RS_COLUMN_BIT(WAIT_ON_EVENT) | RS_COLUMN_BIT(INPUT_DIMS) | RS_COLUMN_BIT(INPUT_TYPE) |                  \
     RS_COLUMN_BIT(INPUT_STRIDES) | RS_COLUMN_BIT(EXTERNAL_ID) | RS_COLUMN_BIT(PYTHON_ID) |                  \
     RS_COLUMN_BIT(PYTHON_PARENT_ID) | RS_COLUMN_BIT(COLLECTIVE) | RS_COLUMN_BIT(IN_NELEMS) |                \
     RS_COLUMN_BIT(OUT_NELEMS) | RS_COLUMN_BIT(DTYPE) | RS_COLUMN_BIT(GROUP_SIZE) |                          \
     RS_COLUMN_BIT(PROCESS_RANK) | RS_COLUMN_BIT(IN_SPLIT) | RS_COLUMN_BIT(OUT_SPLIT))

static const rs_column_spec columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("index", INT, ID, "position in traceEvents", NULL),
    RS_COLUMN("cat", TEXT, NONE, "category", NULL),
    RS_COLUMN("name", TEXT, NONE, "name", NULL),
    RS_COLUMN("pid", TEXT, ID, "process (device for GPU events)", NULL),
    RS_COLUMN("tid", TEXT, ID, "thread (stream for GPU events)", NULL),
    RS_COLUMN("ts", TIME, US, "start, from the job's first event (with --absolute: as in the file)", NULL),
    RS_COLUMN("dur", TIME, US, "duration", NULL),
    RS_COLUMN("end", TIME, US, "end; under --compat hta on the file's own clock, as HTA leaves it", NULL),
    RS_COLUMN("stream", INT, ID, "stream", NULL),
    RS_COLUMN("correlation", INT, ID, "number that launch and work share", NULL),
    RS_COLUMN("index_correlation", INT, ID,
              "position of the other side of the correlation: launch of the work, work of the launch", NULL),
    RS_COLUMN("iteration", INT, ID, "training step", NULL),
    RS_COLUMN("gpu", INT, NONE, "1: a row of the GPU", NULL),
    RS_COLUMN("user_annotation", TEXT, NONE,
              "GPU rows: the shortest gpu_user_annotation of the same stream that overlaps it", NULL),
    RS_COLUMN("bytes", INT, BYTES, "size of a copy", NULL),
    RS_COLUMN("memory_bw_gbps", REAL, GBPS, "rate of a copy", NULL),
    RS_COLUMN("wait_on_stream", INT, ID, "stream that a synchronization waits for", NULL),
    RS_COLUMN("wait_on_cuda_event_record_corr_id", INT, ID, "correlation of the event it waits for", NULL),
    RS_COLUMN("input_dims", TEXT, NONE, "shapes of an operator's inputs", NULL),
    RS_COLUMN("input_type", TEXT, NONE, "types of its inputs", NULL),
    RS_COLUMN("input_strides", TEXT, NONE, "strides of its inputs", NULL),
    RS_COLUMN("external_id", INT, ID, "number that operator and launch share", NULL),
    RS_COLUMN("python_id", INT, ID, "number of a Python call", NULL),
    RS_COLUMN("python_parent_id", INT, ID, "number of the call around it", NULL),
    RS_COLUMN("collective_name", TEXT, NONE, "collective operation", NULL),
    RS_COLUMN("in_msg_nelems", INT, COUNT, "elements a collective takes", NULL),
    RS_COLUMN("out_msg_nelems", INT, COUNT, "elements it gives", NULL),
    RS_COLUMN("msg_dtype", TEXT, NONE, "type of its elements", NULL),
    RS_COLUMN("group_size", INT, COUNT, "ranks of its group", NULL),
    RS_COLUMN("process_rank", INT, ID, "rank in its group", NULL),
    RS_COLUMN("in_split_size", TEXT, NONE, "how its input is split", NULL),
    RS_COLUMN("out_split_size", TEXT, NONE, "how its output is split", NULL),
};
static const rs_table_spec frame_table = RS_TABLE("frame", "one row is one complete event", columns);
static const rs_table_spec hta_table = RS_TABLE(
    "frame", "one row is a row of HTA's data frame after loading, in its order, missing arguments filled in",
    columns);
static const rs_table_spec *const own_tables[] = {&frame_table};
static const rs_table_spec *const hta_tables[] = {&hta_table};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, own_tables, 1}, {RS_COMPAT_HTA, hta_tables, 1}, {RS_COMPAT_HTA_EXACT, hta_tables, 1}};

/* ---- one rank ----------------------------------------------------------------------------------------- */

typedef struct frame_partial {
    rs_table *rows; /* times on the file's own clock, ranks not yet known */
    int64_t min_start;
    rs_steps_seen seen;
} frame_partial;

static void free_partial(void *partial)
{
    frame_partial *p = partial;
    if (!p) return;
    rs_table_free(p->rows);
    rs_free(p);
}

static rs_steps_seen steps_seen(const void *partial)
{
    return ((const frame_partial *)partial)->seen;
}

static void add_thread(rs_table *t, const rs_events *e, int64_t number, uint32_t text)
{
    char digits[24];
    if (text != RS_NO_STRING) {
        rs_table_add_text_n(t, e->strings.items[text].text, e->strings.items[text].length);
        return;
    }
    int n = number == RS_NO_VALUE ? 0 : snprintf(digits, sizeof digits, "%lld", (long long)number);
    rs_table_add_text_n(t, digits, (size_t)n);
}

static void add_string(rs_table *t, const rs_events *e, uint32_t id)
{
    rs_table_add_text_n(t, e->strings.items[id].text, e->strings.items[id].length);
}

/* An argument, or what HTA has in its place. */
static void add_argument(rs_table *t, const rs_events *e, uint32_t row, size_t k, bool hta)
{
    rs_column_id id = arguments[k].id;
    double missing = arguments[k].lacks_number, real;
    if (rs_column_infos[id].type == RS_COLUMN_TEXT) {
        uint32_t text = rs_events_text(e, id, row);
        if (text != RS_NO_STRING)
            add_string(t, e, text);
        else
            rs_table_add_text(t, hta ? arguments[k].missing : NULL);
        return;
    }
    if (rs_column_infos[id].type == RS_COLUMN_REAL) {
        bool known = rs_events_real(e, id, row, &real);
        rs_table_add_real(t, known ? real : hta ? missing : (double)NAN);
        return;
    }
    int64_t value = (int64_t)missing;
    if (rs_events_int(e, id, row, &value) || hta)
        rs_table_add_int(t, value);
    else
        rs_table_add_null(t);
}

static void add_known(rs_table *t, int64_t value, bool known)
{
    if (known)
        rs_table_add_int(t, value);
    else
        rs_table_add_null(t);
}

/* What the columns of a row that are not in the file are made from. */
typedef struct derived {
    const rs_hta_frame *f;
    const rs_frame_columns *made;
    bool hta;
} derived;

static void add_partner(rs_table *t, const derived *d, size_t i)
{
    /* HTA writes -1 for no correlation and 0 for one that stands alone */
    if (d->f->partner[i] != RS_NO_ROW)
        rs_table_add_int(t, d->f->partner[i]);
    else if (d->hta)
        rs_table_add_int(t, d->f->correlation[i] < 0 ? d->f->correlation[i] : 0);
    else
        rs_table_add_null(t);
}

static rs_status add_row(rs_table *t, const rs_events *e, const derived *d, size_t i, rs_error *err)
{
    const rs_hta_frame *f = d->f;
    uint32_t row = f->row[i], annotation = d->made->annotation[i];
    const rs_thread *thread = &e->threads[e->thread[row]];
    rs_table_add_int(t, 0);
    rs_table_add_int(t, row);
    add_string(t, e, e->categories[e->category[row]].name);
    add_string(t, e, e->name[row]);
    add_thread(t, e, thread->pid, thread->pid_text);
    add_thread(t, e, thread->tid, thread->tid_text);
    rs_table_add_time(t, f->start[i]);
    rs_table_add_time(t, rs_sub_sat(f->end[i], f->start[i]));
    rs_table_add_time(t, f->end[i]);
    add_known(t, f->stream[i], d->hta || f->stream[i] != -1);
    add_known(t, f->correlation[i], d->hta || f->correlation[i] != -1);
    add_partner(t, d, i);
    add_known(t, d->made->iteration[i],
              d->made->iteration[i] != RS_NO_VALUE && (d->hta || d->made->iteration[i] >= 0));
    rs_table_add_int(t, d->made->gpu[i]);
    if (annotation == RS_NO_STRING)
        rs_table_add_null(t);
    else
        add_string(t, e, annotation);
    for (size_t k = 0; k < N_ARGUMENTS; k++) add_argument(t, e, row, k, d->hta);
    return rs_table_end_row(t, err);
}

static rs_status fill(const rs_run *run, rs_trace *trace, const rs_hta_frame *f, frame_partial *p,
                      rs_error *err)
{
    rs_frame_columns made = {0};
    bool only_gpu = rs_options_flag(run->options, "gpu");
    rs_ranges steps = {0};
    p->rows = rs_table_create(&frame_table);
    rs_status status =
        p->rows ? rs_frame_columns_make(trace, run->policy, f, &made, err) : rs_fail_nomem(err, "frame");
    derived d = {.f = f, .made = &made, .hta = run->policy->rows_by_stream};
    if (status == RS_OK && trace->steps_wanted) status = rs_ranges_parse(trace->steps_wanted, &steps, err);
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        if (only_gpu && !made.gpu[i]) continue;
        if (trace->steps_wanted && !rs_ranges_has(&steps, made.iteration[i])) continue;
        status = add_row(p->rows, trace->events, &d, i, err);
    }
    rs_ranges_clear(&steps);
    rs_frame_columns_clear(&made);
    return status;
}

static rs_status frame_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_hta_frame *f;
    frame_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "frame");
    *partial = p;
    rs_status status = rs_hta_frame_create(trace, run->policy, &f, err);
    if (status != RS_OK) return status;
    p->min_start = f->min_start;
    p->seen = (rs_steps_seen){.n = f->n_steps_seen, .first = f->first_step};
    if (trace->rank == RS_NO_VALUE || rs_options_in_ranges(run->options, "of", trace->rank))
        status = fill(run, trace, f, p, err);
    rs_hta_frame_free(f);
    return status;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

enum { RANK_COLUMN = 0, TS_COLUMN = 6, END_COLUMN = 8 };

static void copy_cell(rs_table *to, const rs_table *from, size_t row, size_t column)
{
    size_t n;
    const char *text;
    if (rs_table_is_null(from, row, column)) {
        rs_table_add_null(to);
        return;
    }
    switch (columns[column].type) {
    case RS_INT: rs_table_add_int(to, rs_table_int(from, row, column)); break;
    case RS_TIME: rs_table_add_time(to, rs_table_int(from, row, column)); break;
    case RS_REAL: rs_table_add_real(to, rs_table_real(from, row, column)); break;
    default:
        text = rs_table_text(from, row, column, &n);
        rs_table_add_text_n(to, text, n);
        break;
    }
}

static rs_status add_rank(rs_table *to, const rs_table *from, int64_t rank, int64_t base, bool move_end,
                          rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t row = 0; status == RS_OK && row < rs_table_n_rows(from); row++) {
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            if (c == RANK_COLUMN)
                rs_table_add_int(to, rank);
            else if (c == TS_COLUMN || (c == END_COLUMN && move_end))
                rs_table_add_time(to, rs_sub_sat(rs_table_int(from, row, c), base));
            else
                copy_cell(to, from, row, c);
        }
        status = rs_table_end_row(to, err);
    }
    return status;
}

static rs_status frame_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                             rs_error *err)
{
    int64_t base = RS_NO_TIME;
    rs_status status = RS_OK;
    for (size_t i = 0; i < n && !run->absolute; i++) {
        const frame_partial *p = partials[i].value;
        if (p->min_start != RS_NO_TIME && (base == RS_NO_TIME || p->min_start < base)) base = p->min_start;
    }
    if (base == RS_NO_TIME) base = 0;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        frame_partial *p = partials[i].value;
        if (!p->rows || !rs_options_in_ranges(run->options, "of", partials[i].rank)) continue;
        if (rs_table_n_rows(p->rows) == 0)
            rs_result_note(result, "rank %lld: no complete events%s", (long long)partials[i].rank,
                           rs_options_flag(run->options, "gpu") ? " of the GPU" : "");
        status =
            add_rank(result->tables[0], p->rows, partials[i].rank, base, !run->policy->rows_by_stream, err);
        rs_table_free(p->rows);
        p->rows = NULL;
    }
    return status;
}

const rs_analysis rs_analysis_frame = {
    .name = "frame",
    .help = "The trace as a data frame: every complete event, one column an argument",
    .about = "What notebooks and statistics programs want: names, times, step and arguments of every "
             "complete event in one\n"
             "wide table, with the link between launches and work. events shows the same events with fewer "
             "columns, and all\n"
             "others, and filters.\n"
             "\n"
             "--compat hta gives the frame that HTA holds after loading: its rounding, its cut at the last "
             "step, its order\n"
             "(GPU rows first), its columns' defaults.",
    .examples = "rankscope frame --format csv trace.json.gz\n"
                "rankscope frame --gpu --of 3 --format csv traces/\n"
                "rankscope frame --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_LINK_COLUMNS | ARGUMENT_BITS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .with_host = true,
    .rank = frame_rank,
    .merge = frame_merge,
    .free_partial = free_partial,
    .steps_seen = steps_seen,
};
