/* The events of a job held as columns: rankscope/events.h. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "job/job_internal.h"
#include "query/where.h"
#include "rankscope/events.h"
#include "trace/selection.h"

typedef struct held_rank {
    rs_event_rank shown;
    rs_events *events; /* held */
    uint32_t *rows;
    int64_t *step;
    rs_event_thread *threads;
    uint32_t *categories;
    rs_arena texts; /* of threads */
    int64_t begin;  /* the rank's first event, RS_NO_TIME: it has none */
} held_rank;

struct rs_event_list {
    rs_job *job;
    held_rank **ranks;
    size_t n;
    size_t n_events;
    int64_t origin;
};

/* ---- arguments ---------------------------------------------------------------------------------------- */

/* clang-format off */
static const rs_event_argument arguments[RS_N_COLUMNS] = {
#define NAMED(id, column, argument, column_type)                                                             \
    [RS_COL_##id] = {.name = column, .key = argument, .type = RS_##column_type},
    NAMED(EXTERNAL_ID, "external_id", "External id", INT)
    NAMED(CORRELATION, "correlation", "correlation", INT)
    NAMED(STREAM, "stream", "stream", INT)
    NAMED(DEVICE, "device", "device", INT)
    NAMED(CONTEXT, "context", "context", INT)
    NAMED(BYTES, "bytes", "bytes", INT)
    NAMED(BANDWIDTH, "memory_bandwidth_gbps", "memory bandwidth (GB/s)", REAL)
    NAMED(RANK, "stated_rank", "rank", INT)
    NAMED(INPUT_DIMS, "input_dims", "Input Dims", TEXT)
    NAMED(INPUT_TYPE, "input_type", "Input type", TEXT)
    NAMED(INPUT_STRIDES, "input_strides", "Input Strides", TEXT)
    NAMED(CONCRETE_INPUTS, "concrete_inputs", "Concrete Inputs", TEXT)
    NAMED(SEQUENCE_NUMBER, "sequence_number", "Sequence number", INT)
    NAMED(FWD_THREAD_ID, "fwd_thread_id", "Fwd thread id", INT)
    NAMED(RECORD_FUNCTION_ID, "record_function_id", "Record function id", INT)
    NAMED(EV_IDX, "ev_idx", "Ev Idx", INT)
    NAMED(PYTHON_ID, "python_id", "Python id", INT)
    NAMED(PYTHON_PARENT_ID, "python_parent_id", "Python parent id", INT)
    NAMED(PYTHON_MODULE_ID, "python_module_id", "Python module id", INT)
    NAMED(GRID, "grid", "grid", TEXT)
    NAMED(BLOCK, "block", "block", TEXT)
    NAMED(REGISTERS, "registers_per_thread", "registers per thread", INT)
    NAMED(SHARED_MEMORY, "shared_memory", "shared memory", INT)
    NAMED(OCCUPANCY, "est_achieved_occupancy_pct", "est. achieved occupancy %", REAL)
    NAMED(WAIT_ON_STREAM, "wait_on_stream", "wait_on_stream", INT)
    NAMED(WAIT_ON_EVENT, "wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_record_corr_id", INT)
    NAMED(CBID, "cbid", "cbid", INT)
    NAMED(COLLECTIVE, "collective_name", "Collective name", TEXT)
    NAMED(IN_NELEMS, "in_msg_nelems", "In msg nelems", INT)
    NAMED(OUT_NELEMS, "out_msg_nelems", "Out msg nelems", INT)
    NAMED(DTYPE, "dtype", "dtype", TEXT)
    NAMED(GROUP_SIZE, "group_size", "Group size", INT)
    NAMED(GROUP_NAME, "process_group_name", "Process Group Name", TEXT)
    NAMED(GROUP_DESC, "process_group_description", "Process Group Description", TEXT)
    NAMED(GROUP_RANKS, "process_group_ranks", "Process Group Ranks", TEXT)
    NAMED(SEQ, "seq", "Seq", INT)
    NAMED(PROCESS_RANK, "process_rank", "Rank", INT)
    NAMED(SRC_RANK, "src_rank", "Src Rank", INT)
    NAMED(DST_RANK, "dst_rank", "Dst Rank", INT)
    NAMED(IN_SPLIT, "in_split_size", "In split size", TEXT)
    NAMED(OUT_SPLIT, "out_split_size", "Out split size", TEXT)
    NAMED(HIP_KERNEL, "kernel", "kernel", TEXT)
    NAMED(ALLOC_BYTES, "alloc_bytes", "Bytes", INT)
    NAMED(TOTAL_ALLOCATED, "total_allocated", "Total Allocated", INT)
    NAMED(TOTAL_RESERVED, "total_reserved", "Total Reserved", INT)
    NAMED(DEVICE_ID, "device_id", "Device Id", INT)
    NAMED(DEVICE_TYPE, "device_type", "Device Type", INT)
    NAMED(META_NAME, "meta_name", "name", TEXT)
    NAMED(META_LABELS, "meta_labels", "labels", TEXT)
    NAMED(CORRELATION_RAW, "correlation_raw", "correlation_raw", INT)
    NAMED(META_SORT_INDEX, "sort_index", "sort_index", INT)
    NAMED(COPY_KIND, "copy_kind", "copy kind", TEXT)
    NAMED(SOURCE_KIND, "source_kind", "src kind", TEXT)
    NAMED(TARGET_KIND, "target_kind", "dst kind", TEXT)
    NAMED(MODULE, "module", "module_fqn", TEXT)
    NAMED(AUTOGRAD_PHASE, "autograd_phase", "autograd_phase", TEXT)
    NAMED(FLOW_ID, "id", NULL, INT)
#undef NAMED
};
/* clang-format on */

/* A column that is added to columns.h needs a line above. */
#define ONE_COLUMN(id, key, type) +1
_Static_assert(0 RS_COLUMNS(ONE_COLUMN) == 57, "arguments has a line for each column of trace/columns.h");
_Static_assert((int)RS_EVENT_EXTERNAL_ID == (int)RS_COL_EXTERNAL_ID &&
                   (int)RS_EVENT_CORRELATION == (int)RS_COL_CORRELATION &&
                   (int)RS_EVENT_STREAM == (int)RS_COL_STREAM && (int)RS_EVENT_DEVICE == (int)RS_COL_DEVICE,
               "the places that the header gives");

const rs_event_argument *rs_event_arguments(size_t *n)
{
    *n = RS_N_COLUMNS;
    return arguments;
}

const uint32_t *rs_event_argument_rows(const rs_event_rank *rank, size_t argument, size_t *n)
{
    const rs_sparse *c = &rank->events->args[argument];
    *n = c->n;
    return c->rows;
}

int64_t rs_event_argument_int(const rs_event_rank *rank, size_t argument, size_t at)
{
    return rs_sparse_int(&rank->events->args[argument], at);
}

double rs_event_argument_real(const rs_event_rank *rank, size_t argument, size_t at)
{
    return rank->events->args[argument].reals[at];
}

uint32_t rs_event_argument_text(const rs_event_rank *rank, size_t argument, size_t at)
{
    return rank->events->args[argument].texts[at];
}

bool rs_event_argument_find(const rs_event_rank *rank, size_t argument, uint32_t row, size_t *at)
{
    const rs_sparse *c = &rank->events->args[argument];
    *at = c->n ? rs_sparse_leap(c, 0, row) : 0;
    return *at < c->n && c->rows[*at] == row;
}

size_t rs_event_n_others(const rs_event_rank *rank)
{
    return rank->events->others.n;
}

rs_event_other rs_event_other_at(const rs_event_rank *rank, size_t at)
{
    const rs_others *all = &rank->events->others;
    rs_event_other o = {
        .row = all->rows[at], .key = all->names[all->name[at]].text, .number = all->value[at]};
    o.type = all->kind[at] == RS_OTHER_REAL ? RS_REAL : all->kind[at] == RS_OTHER_TEXT ? RS_TEXT : RS_INT;
    o.is_null = all->kind[at] == RS_OTHER_NONE;
    if (o.type == RS_REAL) memcpy(&o.real, &all->value[at], sizeof o.real);
    return o;
}

size_t rs_event_other_first(const rs_event_rank *rank, uint32_t row)
{
    return rank->events->others.n ? rs_other_first(&rank->events->others, row) : 0;
}

/* ---- texts -------------------------------------------------------------------------------------------- */

const char *rs_event_text(const rs_event_rank *rank, uint32_t text, size_t *length)
{
    const rs_string *s = &rank->events->strings.items[text];
    if (length) *length = s->length;
    return s->text;
}

uint32_t rs_event_find_text(const rs_event_rank *rank, const char *text, size_t length)
{
    return rs_strings_find(&rank->events->strings, text, length);
}

/* ---- one rank ----------------------------------------------------------------------------------------- */

static void free_rank(void *value)
{
    held_rank *h = value;
    if (!h) return;
    rs_events_free(h->events);
    rs_big_free(h->rows);
    rs_big_free(h->step);
    rs_free_all(h->threads, h->categories);
    rs_arena_clear(&h->texts);
    rs_free(h);
}

static const char *id_text(held_rank *h, int64_t number, uint32_t text)
{
    const rs_events *e = h->events;
    char digits[24];
    if (text != RS_NO_STRING)
        return rs_arena_strndup(&h->texts, e->strings.items[text].text, e->strings.items[text].length);
    int n = number == RS_NO_VALUE ? 0 : snprintf(digits, sizeof digits, "%lld", (long long)number);
    return rs_arena_strndup(&h->texts, digits, (size_t)n);
}

static bool name_threads(held_rank *h)
{
    const rs_events *e = h->events;
    h->threads = rs_calloc(e->n_threads + 1, sizeof *h->threads);
    h->categories = rs_calloc(e->n_categories + 1, sizeof *h->categories);
    if (!h->threads || !h->categories) return false;
    for (size_t i = 0; i < e->n_threads; i++) {
        const rs_thread *t = &e->threads[i];
        h->threads[i].pid = id_text(h, t->pid, t->pid_text);
        h->threads[i].tid = id_text(h, t->tid, t->tid_text);
        if (!h->threads[i].pid || !h->threads[i].tid) return false;
    }
    for (size_t i = 0; i < e->n_categories; i++) h->categories[i] = e->categories[i].name;
    return true;
}

/* The selected rows; those of a whole file need no list. */
static rs_status list_rows(held_rank *h, rs_trace *t, rs_error *err)
{
    bool selected = rs_trace_is_selected(t);
    rs_row_test test;
    h->shown.n = t->n_rows;
    if (!selected && !t->rows) return RS_OK;
    h->shown.n = 0;
    h->rows = rs_big_resize(NULL, (t->n_rows + 1) * sizeof *h->rows);
    if (!h->rows) return rs_fail_nomem(err, "events");
    if (selected) RS_TRY(rs_row_test_begin(t, &test, err));
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (!selected || rs_row_test_next(&test, row)) h->rows[h->shown.n++] = row;
    }
    rs_big_trim(h->rows, h->shown.n * sizeof *h->rows);
    return RS_OK;
}

static rs_status list_steps(held_rank *h, rs_trace *t, rs_error *err)
{
    rs_step_finder finder;
    bool any = false;
    RS_TRY(rs_step_finder_begin(t, &finder, err));
    if (finder.n_steps + finder.n_gpu_steps == 0) return RS_OK;
    h->step = rs_big_resize(NULL, (h->shown.n + 1) * sizeof *h->step);
    if (!h->step) return rs_fail_nomem(err, "events");
    for (size_t i = 0; i < h->shown.n; i++) {
        h->step[i] = rs_step_finder_next(&finder, h->rows ? h->rows[i] : (uint32_t)i);
        any |= h->step[i] != RS_NO_VALUE;
    }
    if (any) return RS_OK;
    rs_big_free(h->step);
    h->step = NULL;
    return RS_OK;
}

static rs_status hold_rank(const rs_run *run, rs_trace *t, void **value, rs_error *err)
{
    (void)run;
    int64_t last;
    held_rank *h = rs_calloc(1, sizeof *h);
    *value = h;
    if (!h) return rs_fail_nomem(err, "events");
    h->events = t->events;
    rs_events_hold(t->events);
    if (!name_threads(h)) return rs_fail_nomem(err, "events");
    RS_TRY(list_rows(h, t, err));
    RS_TRY(list_steps(h, t, err));
    RS_TRY(rs_trace_span(t, &h->begin, &last, err));
    const rs_events *e = h->events;
    h->shown.rows = h->rows;
    h->shown.step = h->step;
    h->shown.start = e->start;
    h->shown.duration = e->duration;
    h->shown.name = e->name;
    h->shown.thread = e->thread;
    h->shown.category = e->category;
    h->shown.phase = e->phase;
    h->shown.threads = h->threads;
    h->shown.categories = h->categories;
    h->shown.n_threads = e->n_threads;
    h->shown.n_categories = e->n_categories;
    h->shown.n_texts = e->strings.n;
    h->shown.events = e;
    return RS_OK;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

/* Ranks of one merged file share their events: these count once. */
static rs_status check_memory(const rs_event_list *list, rs_error *err)
{
    uint64_t limit = list->job->settings.max_memory, held = 0;
    for (size_t i = 0; limit && i < list->n; i++) {
        bool counted = false;
        for (size_t k = 0; k < i && !counted; k++) counted = list->ranks[k]->events == list->ranks[i]->events;
        if (!counted) held += list->ranks[i]->events->memory;
    }
    if (!limit || held <= limit) return RS_OK;
    return rs_fail(err, RS_ERR_NOMEM,
                   "the events of all ranks take %llu MiB together, and --max-memory allows %llu: choose "
                   "--ranks, or allow more",
                   (unsigned long long)(held >> 20), (unsigned long long)(limit >> 20));
}

static rs_status take_ranks(rs_event_list *list, rs_rank_value *values, size_t n, rs_error *err)
{
    int64_t origin = RS_NO_TIME;
    list->ranks = rs_calloc(n + 1, sizeof *list->ranks);
    for (size_t i = 0; i < n && !list->ranks; i++) free_rank(values[i].value);
    if (!list->ranks) return rs_fail_nomem(err, "events");
    for (size_t i = 0; i < n; i++) {
        held_rank *h = values[i].value;
        h->shown.rank = values[i].rank;
        h->shown.file = values[i].source;
        h->shown.first = list->n_events;
        list->n_events += h->shown.n;
        if (h->begin != RS_NO_TIME && (origin == RS_NO_TIME || h->begin < origin)) origin = h->begin;
        list->ranks[list->n++] = h;
    }
    list->origin = list->job->settings.absolute || origin == RS_NO_TIME ? 0 : origin;
    return check_memory(list, err);
}

rs_status rs_event_list_open(rs_job *job, bool others, rs_event_list **out, rs_result *result, rs_error *err)
{
    const rs_each_rank each = {.name = "events",
                               .columns = RS_ALL_COLUMNS | (others ? RS_OTHER_ARGUMENTS : 0),
                               .rank = hold_rank,
                               .free_value = free_rank};
    rs_rank_value *values = NULL;
    size_t n = 0;
    *out = NULL;
    rs_event_list *list = rs_calloc(1, sizeof *list);
    if (!list) return rs_fail_nomem(err, "events");
    list->job = job;
    job->settings.keep = true;
    rs_status status = rs_job_each_rank(job, &each, &values, &n, result, err);
    if (status == RS_OK) status = take_ranks(list, values, n, err);
    rs_free(values);
    if (status == RS_OK)
        *out = list;
    else
        rs_event_list_close(list);
    return status;
}

void rs_event_list_close(rs_event_list *list)
{
    if (!list) return;
    for (size_t i = 0; i < list->n; i++) free_rank(list->ranks[i]);
    rs_free_all(list->ranks, list);
}

size_t rs_event_list_n_ranks(const rs_event_list *list)
{
    return list->n;
}

size_t rs_event_list_n_events(const rs_event_list *list)
{
    return list->n_events;
}

const rs_event_rank *rs_event_list_rank(const rs_event_list *list, size_t i)
{
    return &list->ranks[i]->shown;
}

int64_t rs_event_list_origin(const rs_event_list *list)
{
    return list->origin;
}

/* ---- conditions --------------------------------------------------------------------------------------- */

/* One rank's answers, a byte an event of it. */
typedef struct marks {
    uint8_t *holds;
    size_t n;
} marks;

typedef struct marking {
    const rs_where *where;
    int64_t origin;
} marking;

static void free_marks(void *value)
{
    marks *m = value;
    if (m) rs_big_free(m->holds);
    rs_free(m);
}

static rs_status mark_rank(const rs_run *run, rs_trace *t, void **value, rs_error *err)
{
    const marking *asked = run->context;
    rs_where_rank *where = NULL;
    rs_row_test selected;
    marks *m = rs_calloc(1, sizeof *m);
    *value = m;
    if (m) m->holds = rs_big_resize(NULL, t->n_rows + 1);
    if (!m || !m->holds) return rs_fail_nomem(err, "condition");
    RS_TRY(rs_row_test_begin(t, &selected, err));
    RS_TRY(rs_where_begin(asked->where, t, asked->origin, &where, err));
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (rs_row_test_next(&selected, row)) m->holds[m->n++] = rs_where_row(where, row, NULL) == RS_YES;
    }
    rs_where_end(where);
    return RS_OK;
}

/* Both lists are sorted by rank and made by the same rules. They differ when files have changed in between. */
static rs_status join_marks(const rs_event_list *list, const rs_rank_value *values, size_t n, uint64_t *bits,
                            rs_error *err)
{
    bool same = n == list->n;
    for (size_t i = 0; same && i < n; i++) {
        const rs_event_rank *rank = &list->ranks[i]->shown;
        const marks *m = values[i].value;
        same = values[i].rank == rank->rank && m->n == rank->n;
        for (size_t k = 0; same && k < m->n; k++)
            if (m->holds[k]) bits[(rank->first + k) / 64] |= UINT64_C(1) << (rank->first + k) % 64;
    }
    if (same) return RS_OK;
    return rs_fail(err, RS_ERR_IO, "the traces have changed since their events were read: ask again");
}

rs_status rs_event_list_mark(const rs_event_list *list, const char *condition, const char *option,
                             uint64_t **bits, rs_error *err)
{
    rs_where *where;
    rs_rank_value *values = NULL;
    size_t n = 0;
    rs_result told = {0};
    *bits = NULL;
    RS_TRY(rs_where_parse(condition, option, &where, err));
    marking asked = {.where = where, .origin = list->origin};
    const rs_each_rank each = {.name = "condition",
                               .columns = RS_ALL_COLUMNS,
                               .rank = mark_rank,
                               .free_value = free_marks,
                               .context = &asked};
    uint64_t *out = rs_calloc(list->n_events / 64 + 1, sizeof *out);
    rs_status status = out ? RS_OK : rs_fail_nomem(err, "condition");
    if (status == RS_OK) status = rs_job_each_rank(list->job, &each, &values, &n, &told, err);
    if (status == RS_OK) status = join_marks(list, values, n, out, err);
    for (size_t i = 0; i < n; i++) free_marks(values[i].value);
    rs_free(values);
    rs_result_clear(&told); /* what is wrong with the files was told when the list was made */
    rs_where_free(where);
    if (status == RS_OK)
        *bits = out;
    else
        rs_free(out);
    return status;
}
