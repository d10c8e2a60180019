/* sequences as HTA's get_frequent_cuda_kernel_sequences. */
#include <string.h>

#include "analysis/sequences.h"
#include "base/interval.h"
#include "base/memory.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

#define ROW(CELL)                                                                                            \
    CELL(SET, "pattern", TEXT, NONE, "the operator and its kernels", NULL)                                   \
    CELL(OF(rs_sequence, count), "count", INT, COUNT, "how often", NULL)                                     \
    CELL(OF(rs_sequence, gpu), "GPU kernel duration (us)", TIME, US, "summed", NULL)                         \
    CELL(OF(rs_sequence, cpu), "CPU op duration (us)", TIME, US, "summed", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table = RS_TABLE(
    "sequences", "one row is one sequence, as HTA's get_frequent_cuda_kernel_sequences", hta_columns);
static const rs_table_spec *const tables[] = {&table, &rs_sequence_mark_table, &rs_sequence_file_table};

/* The one thread that has events of such a name, UINT32_MAX if there is none or several. */
static uint32_t only_thread(const rs_sequence_finder *x, const char *word)
{
    uint32_t found = UINT32_MAX;
    for (size_t i = 0; i < x->nest->n; i++) {
        uint32_t row = x->nest->row[i], thread = x->e->thread[row];
        if (thread == found || !strstr(rs_event_name(x->e, row), word)) continue;
        if (found != UINT32_MAX) return UINT32_MAX;
        found = thread;
    }
    return found;
}

/* HTA hangs autograd's thread into the main one: its top-level events are in the annotation "## backward ##",
 * or else in the step, that holds them. Only their depth matters here. */
static void lower_autograd(rs_sequence_finder *x)
{
    rs_nest *t = x->nest;
    const int64_t *start = x->start;
    uint32_t main_thread = only_thread(x, "ProfilerStep"), autograd = only_thread(x, "autograd::");
    if (main_thread == UINT32_MAX || autograd == UINT32_MAX || main_thread == autograd) return;
    const char *word = "ProfilerStep#";
    for (size_t i = 0; i < t->n; i++)
        if (x->e->thread[t->row[i]] == main_thread &&
            strncmp(rs_event_name(x->e, t->row[i]), "## backward", 11) == 0)
            word = "## backward";
    size_t holder = 0;
    for (size_t i = 0; i < t->n; i = t->end[i]) {
        if (x->e->thread[t->row[i]] != autograd) continue;
        /* both go by time, so the holder is looked for once over all */
        for (; holder < t->n; holder++) {
            bool holds = x->e->thread[t->row[holder]] == main_thread &&
                         strncmp(rs_event_name(x->e, t->row[holder]), word, strlen(word)) == 0;
            if (holds && rs_add_sat(start[holder], x->cpu[holder]) >= rs_add_sat(start[i], x->cpu[i])) break;
        }
        if (holder == t->n) return;
        if (start[holder] > start[i]) continue;
        for (uint32_t k = (uint32_t)i; k < t->end[i]; k++) t->depth[k] += t->depth[holder] + 1;
    }
}

/* HTA takes a thread for the GPU's when all its rows have a stream above 0, or all have process or thread 0.
 */
static uint8_t *host_threads(const rs_events *e, const rs_frame_rows *f)
{
    uint8_t *host = rs_calloc(e->n_threads + 1, 1);
    for (size_t i = 0; host && i < f->n; i++) {
        uint32_t thread = e->thread[f->row[i]];
        if (f->stream[i] <= 0 && e->threads[thread].pid != 0 && e->threads[thread].tid != 0) host[thread] = 1;
    }
    return host;
}

static rs_status collect(const rs_run *run, rs_trace *trace, rs_sequence_finder *x, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_frame_rows *f;
    rs_host_rows h = {0};
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    if (status != RS_OK) return status;
    RS_LOCAL uint8_t *host = host_threads(e, f);
    if (!host || !rs_host_rows_make(&h, f->n)) status = rs_fail_nomem(err, "sequences");
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        if (f->stream[i] != -1 || !host[e->thread[f->row[i]]]) continue;
        h.row[h.n] = f->row[i];
        h.start[h.n] = f->start[i];
        h.end[h.n++] = f->end[i];
    }
    if (status == RS_OK) status = rs_sequence_nest(x, &h, err);
    if (status == RS_OK) lower_autograd(x);
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        uint32_t launch = f->partner[i];
        if (f->stream[i] <= 0 || launch == RS_NO_ROW || launch == 0) continue;
        uint32_t node = x->nest->node_of[launch];
        if (node != RS_NO_ROW &&
            !rs_sequence_add_kernel(x, node, f->row[i], f->start[i], rs_sub_sat(f->end[i], f->start[i])))
            status = rs_fail_nomem(err, "sequences");
    }
    rs_host_rows_clear(&h);
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_sequences_rank(run, trace, collect, true, partial, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_sequences_merge(run, partials, n, &hta_record, 0, result, err);
}

const rs_peer_row rs_peer_hta_sequences = {
    RS_HTA_ROW("sequences"),
    .tables = tables,
    .n_tables = RS_SEQUENCES_TABLES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_sequences_free,
    .partial_layout = &rs_sequences_layout,
};
