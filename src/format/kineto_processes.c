/* Events without a category: their process says what they are. So write torch.autograd's EventList.export_chrome_trace, whose process
 * "CPU functions" has no other name, and Ascend's trace_view.json (torch_npu, msprof), which names its processes: "Ascend Hardware"
 * has a track for each stream, "CANN" the calls of the runtime. Its "Overlap Analysis" and "Communication" are summaries of these and
 * keep no category. torch_npu records the CANN operator that it calls ("aclnnMm", "Conv2D") as an operator of its own, on which the
 * arrow to the device's work begins (category "async_npu"): that span is the call that launches. */
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"
#include "format/kineto_core.h"

enum { PLAIN, FUNCTIONS, DEVICE, RUNTIME };

static int of_process(const char *name)
{
    return strcmp(name, "CPU functions") == 0     ? FUNCTIONS
           : strcmp(name, "Ascend Hardware") == 0 ? DEVICE
           : strcmp(name, "CANN") == 0            ? RUNTIME
                                                  : PLAIN;
}

/* By thread: what its process is. */
static bool judge_threads(const rs_events *e, uint8_t *is)
{
    bool any = false;
    for (size_t t = 0; t < e->n_threads; t++) {
        uint32_t pid = e->threads[t].pid_text;
        if (pid != RS_NO_STRING && of_process(e->strings.items[pid].text) == FUNCTIONS) is[t] = FUNCTIONS;
        any = any || is[t];
    }
    const rs_sparse *names = &e->args[RS_COL_META_NAME];
    for (size_t i = 0; i < names->n; i++) {
        uint32_t row = names->rows[i];
        if (e->phase[row] != 'M' || strcmp(rs_event_name(e, row), "process_name") != 0) continue;
        int process = of_process(e->strings.items[names->texts[i]].text);
        if (process != DEVICE && process != RUNTIME) continue;
        for (size_t t = 0; t < e->n_threads; t++)
            if (e->threads[t].pid == e->threads[e->thread[row]].pid) is[t] = (uint8_t)process;
        any = true;
    }
    return any;
}

static const char *category_of(int process, const char *name)
{
    if (process == FUNCTIONS) return "cpu_op";
    if (process == RUNTIME) return "cann_runtime";
    return strncmp(name, "MEMCPY", 6) == 0 || strncmp(name, "Memcpy", 6) == 0 ? "gpu_memcpy" : "kernel";
}

/* A stream's number is that of its track. */
static rs_status add_stream(rs_events *e, uint32_t row, rs_error *err)
{
    rs_sparse *streams = &e->args[RS_COL_STREAM];
    if (!(e->loaded & RS_COLUMN_BIT(STREAM)) || (streams->n && streams->rows[streams->n - 1] >= row))
        return RS_OK;
    return rs_events_push_int(e, RS_COL_STREAM, row, e->threads[e->thread[row]].tid, err);
}

static rs_status set_category(rs_events *e, uint32_t row, const char *word, rs_error *err)
{
    uint32_t name = rs_strings_add(&e->strings, word, strlen(word));
    uint32_t category = name == RS_NO_STRING ? UINT32_MAX : rs_events_category(e, name);
    if (category == UINT32_MAX) return rs_fail_nomem(err, "categories");
    e->category[row] = (uint16_t)category;
    return RS_OK;
}

/* Where an event begins. Of two places with one key the arrow is only taken for one that begins on the other. */
static uint64_t place_of(const rs_events *e, uint32_t row)
{
    return rs_hash_u64((uint64_t)e->start[row]) ^ e->thread[row];
}

static rs_status find_calls(rs_events *e, rs_error *err)
{
    RS_SCOPED(rs_map64_clear) rs_map64 begins = {0};
    bool ok = true, is_new;
    for (uint32_t i = 0; ok && i < e->n; i++)
        if (e->phase[i] == 's' && rs_event_kind(e, i) == RS_KIND_FLOW)
            ok = rs_map64_put(&begins, place_of(e, i), &is_new) != NULL;
    if (!ok) return rs_fail_nomem(err, "categories");
    for (uint32_t i = 0; begins.n && i < e->n; i++)
        if (rs_event_kind(e, i) == RS_KIND_CPU_OP && !strstr(rs_event_name(e, i), "::") &&
            rs_map64_get(&begins, place_of(e, i)))
            RS_TRY(set_category(e, i, "cann_runtime", err));
    return RS_OK;
}

rs_status rs_kineto_judge_processes(rs_events *e, rs_error *err)
{
    RS_LOCAL uint8_t *is = rs_calloc(e->n_threads + 1, 1);
    if (!is) return rs_fail_nomem(err, "categories");
    if (!judge_threads(e, is)) return RS_OK;
    for (uint32_t i = 0; i < e->n; i++) {
        int process = is[e->thread[i]];
        if (process == PLAIN || e->category[i] != 0 || e->phase[i] != 'X') continue;
        RS_TRY(set_category(e, i, category_of(process, rs_event_name(e, i)), err));
        if (process == DEVICE) RS_TRY(add_stream(e, i, err));
    }
    return find_calls(e, err);
}
