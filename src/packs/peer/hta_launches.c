/* launches as HTA's get_cuda_kernel_launch_stats. */
#include <string.h>

#include "base/interval.h"
#include "base/keymap.h"
#include "base/memory.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

/* A launch and a piece of its work; times in ns. */
typedef struct launched {
    int64_t correlation, cpu, gpu, delay;
} launched;

typedef struct launch_list {
    launched *items;
    size_t n, capacity;
} launch_list;

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(launched, correlation), "correlation", INT, ID, "correlation id", NULL)                          \
    CELL(OF(launched, cpu), "cpu_duration", REAL, US, "duration of the call", NULL)                          \
    CELL(OF(launched, gpu), "gpu_duration", REAL, US, "duration of the work", NULL)                          \
    CELL(OF(launched, delay), "launch_delay", REAL, US,                                                      \
         "from the call's end to the work's start, at least 0", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table = RS_TABLE(
    "launches", "one row is one launch and its work, as HTA's get_cuda_kernel_launch_stats", hta_columns);
static const rs_table_spec *const tables[] = {&table};

static void free_partial(void *partial)
{
    launch_list *p = partial;
    if (p) rs_free(p->items);
    rs_free(p);
}

static bool is_launch(const char *name, bool memory)
{
    static const char *const names[] = {"cudaLaunchKernel", "cudaLaunchKernelExC",
                                        "runFunction - job_prep_and_submit_for_execution", "cudaMemcpyAsync",
                                        "cudaMemsetAsync"};
    for (size_t i = 0; i < (memory ? 5 : 3); i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* HTA joins all rows without a stream with all rows with one that share a correlation of a launch. */
static rs_status find_pairs(const rs_run *run, rs_trace *trace, launch_list *p, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_frame_rows *f;
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    if (status != RS_OK) return status;
    bool memory = !rs_options_flag(run->options, "no-memory");
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (size_t i = 0; i < f->n; i++) {
        if (f->correlation[i] == -1) continue;
        if (f->correlation[i] < min) min = f->correlation[i];
        if (f->correlation[i] > max) max = f->correlation[i];
    }
    rs_keymap wanted, first; /* correlations launched; first GPU row of a correlation, then a chain */
    bool ok = rs_keymap_init(&wanted, min, max, f->n);
    ok = rs_keymap_init(&first, min, max, f->n) && ok;
    uint32_t *next = rs_malloc(f->n * sizeof *next);
    ok = ok && next;
    for (size_t i = 0; ok && i < f->n; i++)
        if (f->correlation[i] != -1 && is_launch(rs_event_name(e, f->row[i]), memory))
            ok = rs_keymap_put(&wanted, f->correlation[i], 1);
    for (size_t i = f->n; ok && i-- > 0;) {
        if (f->correlation[i] == -1 || f->stream[i] == -1) continue;
        next[i] = rs_keymap_get(&first, f->correlation[i]);
        ok = rs_keymap_put(&first, f->correlation[i], (uint32_t)i);
    }
    bool too_many = false;
    for (size_t i = 0; ok && !too_many && i < f->n; i++) {
        if (f->correlation[i] == -1 || f->stream[i] != -1) continue;
        if (rs_keymap_get(&wanted, f->correlation[i]) == RS_KEYMAP_NONE) continue;
        for (uint32_t g = rs_keymap_get(&first, f->correlation[i]); ok && g != RS_KEYMAP_NONE; g = next[g]) {
            int64_t delay = rs_sub_sat(f->start[g], f->end[i]);
            ok = RS_GROW_ONE(p->items, p->n, p->capacity);
            if (ok)
                p->items[p->n++] = (launched){.correlation = f->correlation[i],
                                              .cpu = rs_sub_sat(f->end[i], f->start[i]),
                                              .gpu = rs_sub_sat(f->end[g], f->start[g]),
                                              .delay = delay > 0 ? delay : 0};
            too_many = p->n / 64 > f->n;
        }
    }
    rs_keymap_clear(&wanted);
    rs_keymap_clear(&first);
    rs_free(next);
    if (too_many)
        return rs_fail_at(
            err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
            "correlation ids repeat so often that HTA's table would have over 64 rows an event");
    return ok ? RS_OK : rs_fail_nomem(err, "launches");
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    launch_list *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "launches");
    *partial = p;
    return find_pairs(run, trace, p, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const launch_list *p = partials[i].value;
        if (p->n == 0)
            rs_result_note(result, "rank %lld: no launches with GPU work", (long long)partials[i].rank);
        for (size_t k = 0; status == RS_OK && k < p->n; k++)
            status = rs_table_put_row(result->tables[0], &hta_record, partials[i].rank, &p->items[k], err);
    }
    return status;
}

static const rs_layout launched_layout = RS_RECORD_LAYOUT(launched, hta);
static const rs_field list_fields[] = {RS_FIELD_LIST(launch_list, items, n, &launched_layout)};
static const rs_layout list_layout = RS_LAYOUT(launch_list, list_fields);

const rs_peer_row rs_peer_hta_launches = {
    RS_HTA_ROW("launches"),
    .tables = tables,
    .n_tables = 1,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &list_layout,
};
