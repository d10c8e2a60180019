/* The columns of frame --calls, and the rows of frame --where. */
#include "analysis/frame_more.h"

#include "base/interval.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/search.h"
#include "table/cells.h"
#include "trace/nest.h"

/* ---- the columns of --calls ----------------------------------------------------------------------------- */

/* HTA's names: what its call graph adds to its frame. */
const rs_column_spec rs_frame_call_columns[] = {
    {.name = "parent",
     .type = RS_INT,
     .unit = RS_UNIT_ID,
     .help = "position of the event around it on its thread, of work: of its launch"},
    {.name = "depth",
     .type = RS_INT,
     .unit = RS_UNIT_COUNT,
     .help = "how many events are around it; 0: outermost"},
    {.name = "height",
     .type = RS_INT,
     .unit = RS_UNIT_COUNT,
     .help = "levels below it; 0: work, 1: a call or operator with no other in it"},
    {.name = "num_kernels",
     .type = RS_INT,
     .unit = RS_UNIT_COUNT,
     .help = "pieces of GPU work launched in it, itself included"},
    {.name = "kernel_dur_sum", .type = RS_TIME, .unit = RS_UNIT_US, .help = "their durations together"},
    {.name = "kernel_span",
     .type = RS_TIME,
     .unit = RS_UNIT_US,
     .help = "from the start of the first to the end of the last"},
    {.name = "first_kernel_start",
     .type = RS_MOMENT,
     .unit = RS_UNIT_US,
     .help = "start of the first, as ts"},
    {.name = "last_kernel_end", .type = RS_MOMENT, .unit = RS_UNIT_US, .help = "end of the last, as ts"},
};
const size_t rs_frame_n_call_columns = sizeof rs_frame_call_columns / sizeof *rs_frame_call_columns;

static const rs_field call_fields[] = {
    RS_FIELDS(rs_frame_call, parent, depth, height, n_kernels, sum, first, last),
};
const rs_layout rs_frame_call_layout = RS_LAYOUT(rs_frame_call, call_fields);

static const rs_frame_call unknown = {.parent = RS_NO_VALUE,
                                      .depth = RS_NO_VALUE,
                                      .height = RS_NO_VALUE,
                                      .first = RS_NO_TIME,
                                      .last = RS_NO_TIME};

/* Adds the work of what lies below, or was launched by, an event. */
static void add_below(rs_frame_call *above, const rs_frame_call *below)
{
    above->n_kernels += below->n_kernels;
    above->sum = rs_add_sat(above->sum, below->sum);
    if (below->first != RS_NO_TIME && (above->first == RS_NO_TIME || below->first < above->first))
        above->first = below->first;
    if (below->last != RS_NO_TIME && (above->last == RS_NO_TIME || below->last > above->last))
        above->last = below->last;
    if (below->height >= above->height) above->height = below->height + 1;
}

size_t rs_frame_place_of(const rs_frame_rows *f, int64_t position)
{
    size_t from;
    RS_SEARCH(from, f->n, f->row[from] < position);
    return from < f->n && f->row[from] == position ? from : f->n;
}

/* The places of the host's events in the frame, with their times; as many as are returned. */
static size_t list_host(const rs_frame_rows *f, const uint8_t *gpu, uint32_t *place, uint32_t *row,
                        int64_t *start, int64_t *end)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (gpu[i]) continue;
        place[n] = (uint32_t)i;
        row[n] = f->row[i];
        start[n] = f->start[i];
        end[n++] = f->end[i];
    }
    return n;
}

/* Work is added to its launches first; then the host's events, from inside out, to what they lie in. */
static void collect(const rs_frame_rows *f, const uint8_t *gpu, const rs_nest *nest, const uint32_t *place_of,
                    const uint32_t *gpu_rows, size_t n_gpu_rows, const rs_links *links, rs_frame_call *out)
{
    for (size_t i = 0; i < f->n; i++) out[i] = unknown;
    for (size_t i = 0; i < nest->n; i++) {
        rs_frame_call *call = &out[place_of[nest->row[i]]];
        call->depth = nest->depth[i];
        call->height = 1;
        if (nest->parent[i] != RS_NO_ROW) call->parent = nest->row[nest->parent[i]];
    }
    for (size_t i = 0, k = 0; i < f->n; i++) {
        if (!gpu[i]) continue;
        while (k < n_gpu_rows && gpu_rows[k] < f->row[i]) k++;
        if (k == n_gpu_rows || gpu_rows[k] != f->row[i]) continue; /* an annotation on a stream */
        uint32_t launch = links->launch_of[k];
        uint32_t node = launch == RS_NO_ROW ? RS_NO_ROW : nest->node_of[launch];
        rs_frame_call *work = &out[i];
        work->n_kernels = 1;
        work->sum = rs_sub_sat(f->end[i], f->start[i]);
        work->first = f->start[i];
        work->last = f->end[i];
        if (node == RS_NO_ROW) continue;
        work->parent = launch;
        work->depth = (int64_t)nest->depth[node] + 1;
        work->height = 0;
        add_below(&out[place_of[launch]], work);
    }
    for (size_t i = nest->n; i-- > 0;)
        if (nest->parent[i] != RS_NO_ROW)
            add_below(&out[place_of[nest->row[nest->parent[i]]]], &out[place_of[nest->row[i]]]);
}

rs_status rs_frame_calls_make(rs_trace *trace, const rs_frame_rows *f, const uint8_t *gpu,
                              rs_frame_call **out, rs_error *err)
{
    const rs_links *links;
    const uint32_t *gpu_rows;
    size_t n_gpu_rows, n_events = trace->events->n;
    rs_nest *nest = NULL;
    rs_status status = rs_trace_launches(trace, &links, err);
    if (status == RS_OK) status = rs_trace_gpu_rows(trace, &gpu_rows, &n_gpu_rows, err);
    if (status != RS_OK) return status;
    RS_LOCAL uint32_t *place = rs_malloc((f->n + 1) * sizeof *place),
                      *row = rs_malloc((f->n + 1) * sizeof *row);
    RS_LOCAL int64_t *start = rs_malloc((f->n + 1) * sizeof *start),
                     *end = rs_malloc((f->n + 1) * sizeof *end);
    RS_LOCAL uint32_t *place_of = rs_malloc((n_events + 1) * sizeof *place_of);
    rs_frame_call *calls = rs_big_resize(NULL, (f->n + 1) * sizeof *calls);
    bool ok = place && row && start && end && place_of && calls;
    size_t n = ok ? list_host(f, gpu, place, row, start, end) : 0;
    if (ok) status = rs_nest_create(trace->events, row, start, end, n, &nest, err);
    if (ok && status == RS_OK) {
        for (size_t i = 0; i < n; i++) place_of[row[i]] = place[i];
        collect(f, gpu, nest, place_of, gpu_rows, n_gpu_rows, links, calls);
        *out = calls;
        calls = NULL;
    }
    rs_nest_free(nest);
    rs_big_free(calls);
    return ok ? status : rs_fail_nomem(err, "calls of the frame");
}

void rs_frame_call_add(const rs_frame_call *call, rs_table *t)
{
    RS_PUT_CELLS(t, call->parent, call->depth, call->height, call->n_kernels, call->sum);
    if (call->first == RS_NO_TIME) {
        for (int i = 0; i < 3; i++) rs_table_add_null(t);
        return;
    }
    RS_PUT_CELLS(t, rs_sub_sat(call->last, call->first), call->first, call->last);
}

/* ---- the rows of --where -------------------------------------------------------------------------------- */

static const rs_field open_fields[] = {RS_FIELDS(rs_frame_open, row, terms)};
const rs_layout rs_frame_open_layout = RS_LAYOUT(rs_frame_open, open_fields);

static rs_status answer_all(const rs_where *where, rs_trace *trace, rs_frame_picks *out, rs_error *err)
{
    rs_where_rank *rank = NULL;
    size_t n = trace->events->n;
    out->answer = rs_calloc(n + 1, 1);
    out->terms = rs_where_uses_time(where) ? rs_calloc(n + 1, sizeof *out->terms) : NULL;
    if (!out->answer || (rs_where_uses_time(where) && !out->terms)) return rs_fail_nomem(err, "--where");
    rs_status status = rs_where_begin(where, trace, RS_NO_TIME, &rank, err);
    for (size_t i = 0; status == RS_OK && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        uint64_t terms = 0;
        out->answer[row] = (uint8_t)rs_where_row(rank, row, &terms);
        if (out->terms) out->terms[row] = terms;
    }
    rs_where_end(rank);
    return status;
}

rs_status rs_frame_picks_make(const char *condition, rs_trace *trace, rs_frame_picks *out, rs_error *err)
{
    rs_where *where;
    if (!condition) return RS_OK;
    rs_status status = rs_where_parse(condition, "--where", &where, err);
    if (status != RS_OK) return status;
    status = answer_all(where, trace, out, err);
    rs_where_free(where);
    return status;
}

void rs_frame_picks_clear(rs_frame_picks *picks)
{
    rs_free_all(picks->answer, picks->terms);
    *picks = (rs_frame_picks){0};
}

bool rs_frame_is_picked(const rs_frame_picks *picks, uint32_t event, uint32_t row, rs_frame_opens *opens,
                        bool *ok)
{
    *ok = true;
    if (!picks->answer || picks->answer[event] == RS_YES) return true;
    if (picks->answer[event] == RS_NO || !picks->terms) return false;
    *ok = RS_GROW_ONE(opens->items, opens->n, opens->capacity);
    if (*ok) opens->items[opens->n++] = (rs_frame_open){row, picks->terms[event]};
    return *ok;
}

bool rs_frame_remains(const rs_where *where, const rs_frame_opens *opens, size_t *at, uint32_t row,
                      int64_t ts)
{
    while (*at < opens->n && opens->items[*at].row < row) ++*at;
    if (*at == opens->n || opens->items[*at].row != row) return true;
    return rs_where_decide(where, opens->items[*at].terms, ts);
}
