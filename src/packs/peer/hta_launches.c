/* launches as HTA's get_cuda_kernel_launch_stats. */
#include <string.h>

#include "analysis/plan.h"
#include "base/keymap.h"
#include "base/try.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

/* A launch and a piece of its work; times in ns. */
typedef struct launched {
    int64_t correlation, cpu, gpu, delay;
} launched;

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(launched, correlation), "correlation", INT, ID, "correlation id", NULL)                          \
    CELL(OF(launched, cpu), "cpu_duration", REAL, US, "duration of the call", NULL)                          \
    CELL(OF(launched, gpu), "gpu_duration", REAL, US, "duration of the work", NULL)                          \
    CELL(OF(launched, delay), "launch_delay", REAL, US,                                                      \
         "from the call's end to the work's start, at least 0", NULL)
RS_RECORD(hta, ROW);

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
static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_frame_rows *f;
    RS_TRY(rs_trace_hta_frame(trace, run->policy, &f, err));
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
    uint32_t *next = RS_ROOM(out, uint32_t, f->n);
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
            ok = rs_put(out, 0,
                        &(launched){.correlation = f->correlation[i],
                                    .cpu = rs_sub_sat(f->end[i], f->start[i]),
                                    .gpu = rs_sub_sat(f->end[g], f->start[g]),
                                    .delay = delay > 0 ? delay : 0}) != NULL;
            too_many = out->items[0].n / 64 > f->n;
        }
    }
    rs_keymap_clear(&wanted);
    rs_keymap_clear(&first);
    if (too_many)
        return rs_fail_at(
            err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
            "correlation ids repeat so often that HTA's table would have over 64 rows an event");
    return ok ? RS_OK : rs_fail_nomem(err, "launches");
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (of->items[0].n == 0)
        rs_result_note(result, "rank %lld: no launches with GPU work", (long long)partial->rank);
}

static const rs_plan_relation relations[] = {{RS_LISTED_AS(0, launched, hta), .make = put}};
static const rs_plan_table table = {RS_PLAN_TABLE(
    "launches", "one row is one launch and its work, as HTA's get_cuda_kernel_launch_stats", hta)};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_peer_row rs_peer_hta_launches = {RS_HTA_ROW("launches"), .plan = &plan};
