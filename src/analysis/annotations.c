/* annotations: GPU time under the user's own annotations. */
#include "analysis/annotations.h"

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
    CELL(TEXT_ID(rs_annotated, name), "name", TEXT, NONE,                                                    \
         "annotation; unknown: under none. ProfilerStep#* represents all steps", "annotation")               \
    CELL(IF(rs_annotated, length.n, named), "count", INT, COUNT, "how many times it is in the trace", NULL)  \
    CELL(IF(rs_annotated, length.sum, named), "length_us", TIME, US, "sum of the annotations' own lengths",  \
         "length")                                                                                           \
    CELL(MEAN(rs_annotated, length), "mean_length_us", REAL, US, "mean length", "mean length")               \
    CELL(IF(rs_annotated, gpu_time, named), "gpu_us", TIME, US,                                              \
         "sum of the durations of all GPU work inside, nested annotations included; each piece once a name", \
         "GPU time")                                                                                         \
    CELL(SHARE(rs_annotated, gpu_time, all), "gpu_pct", REAL, PERCENT, "gpu_us of the rank's GPU work",      \
         "GPU %")                                                                                            \
    CELL(IF(rs_annotated, n_gpu, named), "gpu_events", INT, COUNT, "pieces of GPU work inside",              \
         "GPU events")                                                                                       \
    CELL(OF(rs_annotated, own_time), "own_us", TIME, US,                                                     \
         "the same of work whose innermost annotation it is: these add up to the rank's GPU work",           \
         "own GPU time")                                                                                     \
    CELL(SHARE(rs_annotated, own_time, all), "own_pct", REAL, PERCENT, "own_us of the rank's GPU work",      \
         "own %")                                                                                            \
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
    CELL(TEXT_ID(rs_annotated_kernel, annotation), "annotation", TEXT, NONE,                                 \
         "the innermost annotation; unknown: none", NULL)                                                    \
    CELL(TEXT_ID(rs_annotated_kernel, name), "name", TEXT, NONE, "kernel, copy or memset", "kernel")         \
    CELL(WORD(rs_annotated_kernel, class, rs_class_names), "class", TEXT, NONE,                              \
         "computation, communication or memory", NULL)                                                       \
    CELL(OF(rs_annotated_kernel, time.n), "count", INT, COUNT, "how often it ran", NULL)                     \
    CELL(OF(rs_annotated_kernel, time.sum), "sum_us", TIME, US, "total duration", "sum")                     \
    CELL(SHARE(rs_annotated_kernel, time.sum, own_time), "share_pct", REAL, PERCENT,                         \
         "of the annotation's own GPU time", "share %")                                                      \
    CELL(MEAN(rs_annotated_kernel, time), "mean_us", REAL, US, "mean duration", "mean")                      \
    CELL(OF(rs_annotated_kernel, time.min), "min_us", TIME, US, "shortest", "min")                           \
    CELL(OF(rs_annotated_kernel, time.max), "max_us", TIME, US, "longest", "max")
RS_RECORD(kernel, KERNEL_ROW);

/* ---- the plan ----------------------------------------------------------------------------------------- */

static const rs_field name_fields[] = {
    RS_FIELD_TEXT_ID(rs_annotated, name),
    RS_FIELDS(rs_annotated, place, named),
    RS_FIELD_STRUCT(rs_annotated, length, &rs_moments_layout),
    RS_FIELDS(rs_annotated, gpu_time, n_gpu, own_time, n_own),
    RS_FIELD_ARRAY(rs_annotated, own_class),
    RS_FIELD(rs_annotated, all),
};
static const rs_layout name_layout = RS_LAYOUT(rs_annotated, name_fields);
static const rs_field count_fields[] = {
    RS_FIELDS(rs_annotation_counts, n_named, n_work, n_other_source, n_too_deep),
};
static const rs_layout count_layout = RS_LAYOUT(rs_annotation_counts, count_fields);

/* By inclusive GPU time, then own length, then name; work under no annotation last. */
static const rs_order by_time[] = {RS_FALLING(rs_annotated, named), RS_FALLING(rs_annotated, gpu_time),
                                   RS_FALLING(rs_annotated, length.sum), RS_RISING_TEXT(rs_annotated, name)};
static const rs_aggregate by_kernel[] = {
    RS_KEY(rs_annotated_kernel, place, rs_annotated_piece, place),
    RS_KEY_TEXT(rs_annotated_kernel, name, rs_annotated_piece, name),
    RS_FIRST_TEXT(rs_annotated_kernel, annotation, rs_annotated_piece, annotation),
    RS_FIRST_BELOW(rs_annotated_kernel, class, RS_N_CLASSES, rs_annotated_piece, class),
    RS_MOMENTS(rs_annotated_kernel, time, rs_annotated_piece, time),
    RS_TOTAL(rs_annotated_kernel, own_time, time.sum, place),
};
static const rs_order by_kernel_time[] = {
    RS_RISING(rs_annotated_kernel, place), RS_FALLING(rs_annotated_kernel, time.sum),
    RS_RISING_TEXT(rs_annotated_kernel, name), RS_RISING(rs_annotated_kernel, class)};

static const rs_plan_relation relations[] = {
    [RS_ANNOTATIONS_NAMES] = {RS_LISTED(RS_ANNOTATIONS_NAMES, rs_annotated, &name_layout),
                              .make = rs_annotations_put, RS_IN_ORDER(by_time)},
    [RS_ANNOTATIONS_KERNELS] = {RS_GROUPED(RS_ANNOTATIONS_KERNELS, rs_annotated_kernel, rs_annotated_piece,
                                           by_kernel),
                                .make = rs_annotations_put_kernels, RS_IN_ORDER(by_kernel_time)},
    [RS_ANNOTATIONS_COUNTS] = {RS_LISTED(RS_ANNOTATIONS_COUNTS, rs_annotation_counts, &count_layout)},
};

/* --top counts those with a name. Work under no annotation is shown where there is such. */
static bool is_shown(const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_annotated *a = row;
    int64_t top = rs_options_int(run->options, "top");
    (void)of;
    return a->named ? top == 0 || a->place < top : a->n_own > 0;
}

static bool is_kernel_shown(const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_annotated_kernel *k = row;
    int64_t top = rs_options_int(run->options, "top");
    (void)of;
    return k->annotation == RS_NO_STRING || top == 0 || k->place < top;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    const rs_annotation_counts *n = RS_ROWS(rs_annotation_counts, of, RS_ANNOTATIONS_COUNTS);
    bool gpu = rs_annotations_of_gpu(run->options, false);
    long long number = partial->rank;
    if (of->items[RS_ANNOTATIONS_COUNTS].n == 0) return;
    if (n->n_named == 0) {
        rs_result_note(result, "rank %lld: no user annotations on the %s%s", number, gpu ? "GPU" : "host",
                       n->n_other_source == 0 ? ""
                       : gpu                  ? "; --from host uses the host's"
                                              : "; --from gpu uses the GPU's");
        return;
    }
    if (n->n_work == 0) rs_result_note(result, "rank %lld: no GPU work", number);
    if (n->n_too_deep)
        rs_result_note(result,
                       "rank %lld: %zu annotations are nested too deeply and count as what they are in",
                       number, n->n_too_deep);
}

static const rs_plan_table name_table = {RS_PLAN_TABLE("annotations",
                                                       "one row is one annotation name of one rank", own),
                                         .relation = RS_ANNOTATIONS_NAMES, .shows = is_shown},
                           kernel_table = {
                               RS_PLAN_TABLE("kernels",
                                             "one row is one kernel under one annotation of one rank",
                                             kernel),
                               .relation = RS_ANNOTATIONS_KERNELS, .choice = RS_WITH(RS_IS("by", "kernel")),
                               .shows = is_kernel_shown};
static const rs_table_spec *const tables[] = {&name_table.spec, &kernel_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_analysis rs_analysis_annotations = {
    .name = "annotations",
    .group = "GPU time",
    .help = "GPU time under user annotations (record_function), nested ones separately",
    .about =
        "By default GPU work belongs to the annotations of the host that were open, on the launching thread, "
        "when "
        "it was launched. The own time counts each piece of work once, under its innermost annotation; the "
        "rest "
        "is in a row without a name, so that own times add up to the rank's GPU work. The GPU time of an "
        "annotation includes what is nested in it. What the autograd thread launches is also inside the "
        "annotation that waits for it, on the thread of that process with most annotations.\n\n"
        "With --from gpu the annotations are the profiler's gpu_user_annotation events, and work belongs to "
        "those "
        "of its stream that are open when it starts. Under --compat hta the table is HTA's: lengths of these "
        "events, nested ones counted twice.",
    .examples = "rankscope annotations trace.json.gz\nrankscope annotations --by kernel trace.json.gz\n"
                "rankscope annotations --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_steps},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
};
