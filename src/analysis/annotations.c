/* annotations: GPU time under the user's own annotations. */
#include "analysis/annotations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/interval.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "annotation|kernel", "annotation",
     "annotation: one row a name; kernel: the kernels under each"},
    {"from", RS_OPTION_CHOICE, "SIDE", "host|gpu", NULL,
     "host: work launched inside the host's annotations (default); gpu: work inside the GPU's own "
     "(gpu_user_annotation), as HTA has it"},
    {"top", RS_OPTION_INT, "N", NULL, "1000",
     "name at most N annotations of a rank; under --compat hta num_kernels"},
    {"duration-ratio", RS_OPTION_REAL, "X", NULL, "0.8", "only under --compat hta: its duration_ratio"},
    {"keep", RS_OPTION_TEXT, "TEXT,...", NULL, NULL,
     "only under --compat hta: names that contain one of these texts are never folded"},
};

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(MAYBE(rs_annotated, name), "name", TEXT, NONE,                                                      \
         "annotation; unknown: under none. ProfilerStep#* stands for all steps", "annotation")               \
    CELL(IF(rs_annotated, length.n, name), "count", INT, COUNT, "how often it stands in the trace", NULL)    \
    CELL(IF(rs_annotated, length.sum, name), "length_us", TIME, US, "sum of the annotations' own lengths",   \
         "length")                                                                                           \
    CELL(MEAN(rs_annotated, length), "mean_length_us", REAL, US, "mean length", "mean length")               \
    CELL(IF(rs_annotated, gpu_time, name), "gpu_us", TIME, US,                                               \
         "sum of the durations of all GPU work inside, nested annotations included; each piece once a name", \
         "GPU time")                                                                                         \
    CELL(SET, "gpu_pct", REAL, PERCENT, "gpu_us of the rank's GPU work", "GPU %")                            \
    CELL(IF(rs_annotated, n_gpu, name), "gpu_events", INT, COUNT, "pieces of GPU work inside", "GPU events") \
    CELL(OF(rs_annotated, own_time), "own_us", TIME, US,                                                     \
         "the same of work whose innermost annotation it is: these add up to the rank's GPU work",           \
         "own GPU time")                                                                                     \
    CELL(SET, "own_pct", REAL, PERCENT, "own_us of the rank's GPU work", "own %")                            \
    CELL(OF(rs_annotated, n_own), "own_events", INT, COUNT,                                                  \
         "pieces of GPU work whose innermost annotation it is", "own events")                                \
    CELL(OF(rs_annotated, own_class[RS_CLASS_COMPUTE]), "own_compute_us", TIME, US, "computation in own_us", \
         "compute")                                                                                          \
    CELL(OF(rs_annotated, own_class[RS_CLASS_COMM]), "own_comm_us", TIME, US, "communication in own_us",     \
         "comm")                                                                                             \
    CELL(OF(rs_annotated, own_class[RS_CLASS_MEMORY]), "own_copy_us", TIME, US,                              \
         "copies and memsets in own_us", "copies")
RS_RECORD(own, OWN_ROW);

#define KERNEL_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "annotation", TEXT, NONE, "the innermost annotation; unknown: none", NULL)                     \
    CELL(OF(rs_annotated_kernel, name), "name", TEXT, NONE, "kernel, copy or memset", "kernel")              \
    CELL(WORD(rs_annotated_kernel, class, rs_class_names), "class", TEXT, NONE,                              \
         "computation, communication or memory", NULL)                                                       \
    CELL(OF(rs_annotated_kernel, time.n), "count", INT, COUNT, "how often it ran", NULL)                     \
    CELL(OF(rs_annotated_kernel, time.sum), "sum_us", TIME, US, "total duration", "sum")                     \
    CELL(SET, "share_pct", REAL, PERCENT, "of the annotation's own GPU time", "share %")                     \
    CELL(MEAN(rs_annotated_kernel, time), "mean_us", REAL, US, "mean duration", "mean")                      \
    CELL(OF(rs_annotated_kernel, time.min), "min_us", TIME, US, "shortest", "min")                           \
    CELL(OF(rs_annotated_kernel, time.max), "max_us", TIME, US, "longest", "max")
RS_RECORD(kernel, KERNEL_ROW);

static const rs_table_spec own_table =
    RS_TABLE("annotations", "one row is one annotation name of one rank", own_columns);
static const rs_table_spec kernel_table =
    RS_TABLE("kernels", "one row is one kernel under one annotation of one rank", kernel_columns);
static const rs_table_spec *const own_tables[] = {&own_table, &kernel_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 2}};
enum { ANNOTATIONS, KERNELS };

/* ---- the default tables ------------------------------------------------------------------------------- */

static rs_status add_own(rs_table *t, int64_t rank, const rs_annotated *a, int64_t all, rs_error *err)
{
    rs_table_put(t, &own_record, rank, a);
    rs_table_set_real(t, "gpu_pct", a->name ? rs_percent(a->gpu_time, all) : (double)NAN);
    rs_table_set_real(t, "own_pct", rs_percent(a->own_time, all));
    return rs_table_end_row(t, err);
}

static rs_status add_kernel(rs_table *t, int64_t rank, const rs_annotated *a, const rs_annotated_kernel *k,
                            rs_error *err)
{
    rs_table_put(t, &kernel_record, rank, k);
    rs_table_set_text(t, "annotation", a->name);
    rs_table_set_real(t, "share_pct", rs_percent(k->time.sum, a->own_time));
    return rs_table_end_row(t, err);
}

static rs_status add_rank(const rs_run *run, const rs_partial *partial, rs_result *result, rs_error *err)
{
    const rs_annotations *p = partial->value;
    long long number = partial->rank;
    bool gpu = rs_annotations_of_gpu(run->options, false);
    int64_t all = 0, top = rs_options_int(run->options, "top");
    size_t shown = 0, named = p->n ? p->n - 1 : 0;
    rs_status status = RS_OK;
    for (size_t i = 0; i < p->n; i++) all = rs_add_sat(all, p->items[i].own_time);
    if (named == 0) {
        rs_result_note(result, "rank %lld: no user annotations on the %s%s", number, gpu ? "GPU" : "host",
                       p->n_other_source == 0 ? ""
                       : gpu                  ? "; --from host uses the host's"
                                              : "; --from gpu uses the GPU's");
        return RS_OK;
    }
    if (p->n_work == 0) rs_result_note(result, "rank %lld: no GPU work", number);
    if (p->n_too_deep)
        rs_result_note(result,
                       "rank %lld: %zu annotations are nested too deeply and count as what they are in",
                       number, p->n_too_deep);
    for (size_t i = 0; status == RS_OK && i < p->n; i++) {
        const rs_annotated *a = &p->items[i];
        if (a->name ? (int64_t)shown++ >= top : a->n_own == 0) continue;
        status = add_own(result->tables[ANNOTATIONS], partial->rank, a, all, err);
    }
    for (size_t i = 0; status == RS_OK && i < p->n_kernels; i++) {
        const rs_annotated_kernel *k = &p->kernels[i];
        const rs_annotated *a = &p->items[k->slot];
        if (a->name && (int64_t)k->slot >= top) continue;
        status = add_kernel(result->tables[KERNELS], partial->rank, a, k, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    result->main_table = strcmp(rs_options_text(run->options, "by"), "kernel") == 0 ? KERNELS : ANNOTATIONS;
    for (size_t i = 0; status == RS_OK && i < n; i++) status = add_rank(run, &partials[i], result, err);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field annotated_fields[] = {
    RS_FIELD_OR_NULL(rs_annotated, name),    RS_FIELD_STRUCT(rs_annotated, length, &rs_moments_layout),
    RS_FIELD(rs_annotated, gpu_time),        RS_FIELD(rs_annotated, n_gpu),
    RS_FIELD(rs_annotated, own_time),        RS_FIELD(rs_annotated, n_own),
    RS_FIELD_ARRAY(rs_annotated, own_class),
};
static const rs_layout annotated_layout = RS_LAYOUT(rs_annotated, annotated_fields);

static const rs_field kernel_fields[] = {
    RS_FIELD_INDEX(rs_annotated_kernel, slot, rs_annotations, n),
    RS_FIELD(rs_annotated_kernel, name),
    RS_FIELD_BELOW(rs_annotated_kernel, class, RS_N_CLASSES),
    RS_FIELD_STRUCT(rs_annotated_kernel, time, &rs_moments_layout),
};
static const rs_layout kernel_layout = RS_LAYOUT(rs_annotated_kernel, kernel_fields);

static const rs_field annotations_fields[] = {
    RS_FIELD_LIST(rs_annotations, items, n, &annotated_layout),
    RS_FIELD_LIST(rs_annotations, kernels, n_kernels, &kernel_layout),
    RS_FIELD(rs_annotations, n_work),
    RS_FIELD(rs_annotations, n_other_source),
    RS_FIELD(rs_annotations, n_too_deep),
};
static const rs_layout annotations_layout = RS_LAYOUT(rs_annotations, annotations_fields);

const rs_analysis rs_analysis_annotations = {
    .name = "annotations",
    .help = "GPU time under user annotations (record_function), nested ones told apart",
    .about =
        "By default GPU work belongs to the annotations of the host that were open, on the launching thread, "
        "when "
        "it was launched. The own time counts each piece of work once, under its innermost annotation; the "
        "rest "
        "stands in a row without a name, so that own times add up to the rank's GPU work. The GPU time of an "
        "annotation includes what is nested in it. What the autograd thread launches is also inside the "
        "annotation "
        "that waits for it, on the thread of that process with most annotations.\n\n"
        "With --from gpu the annotations are the profiler's gpu_user_annotation events, and work belongs to "
        "those "
        "of its stream that are open when it starts. Under --compat hta the table is HTA's: lengths of these "
        "events, nested ones counted twice.",
    .examples = "rankscope annotations trace.json.gz\nrankscope annotations --by kernel trace.json.gz\n"
                "rankscope annotations --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_steps},
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_annotations_rank,
    .merge = merge,
    .free_partial = rs_annotations_free,
    .partial_layout = &annotations_layout,
};
