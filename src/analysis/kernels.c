/* kernels: which kernels take the time, by name or by what runs together. */
#include "analysis/kernels.h"

#include <string.h>

#include "base/try.h"
#include "trace/busy.h"
#include "trace/kernel_kinds.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "type|name|kind", "name",
     "type: time of every combination of kinds; name: time of every kernel; kind: what kernels do, by "
     "their names (GEMM, SDPA, CONV, NORM, ...)"},
    {"top", RS_OPTION_INT, "N", NULL, "10", "name at most N kernels of a rank, the rest is others"},
    {"duration-ratio", RS_OPTION_REAL, "X", NULL, "0.8",
     "stop naming kernels once they make up this share (0 to 1)"},
    {"no-memory", RS_OPTION_FLAG, NULL, NULL, NULL, "leave copies and memsets out"},
};

#define NAME_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(rs_kernel, name), "name", TEXT, NONE,                                                       \
         "kernel, copy or memset; others: all that are not named", NULL)                                     \
    CELL(WORD(rs_kernel, class, rs_class_names), "class", TEXT, NONE,                                        \
         "computation, communication or memory; unknown for others", NULL)                                   \
    CELL(FOLDED, "names", INT, COUNT, "different names in this row", NULL)                                   \
    CELL(OF(rs_kernel, time.n), "count", INT, COUNT, "how often it ran", NULL)                               \
    CELL(OF(rs_kernel, time.sum), "sum_us", TIME, US, "total duration; simultaneous runs each count", "sum") \
    CELL(SHARE_OF_ALL(rs_kernel, time.sum), "share_pct", REAL, PERCENT, "of the rank's total duration",      \
         "share %")                                                                                          \
    CELL(CUMULATIVE(rs_kernel, time.sum), "cumulative_pct", REAL, PERCENT,                                   \
         "share of this and all rows above it", "cumulative %")                                              \
    CELL(MEAN(rs_kernel, time), "mean_us", REAL, US, "mean duration", "mean")                                \
    CELL(OF(rs_kernel, time.min), "min_us", TIME, US, "shortest", "min")                                     \
    CELL(OF(rs_kernel, time.max), "max_us", TIME, US, "longest", "max")                                      \
    CELL(STD(rs_kernel, time), "std_us", REAL, US, "standard deviation of a sample; unknown for one run",    \
         "std")
RS_RECORD(name, NAME_ROW);

/* By the bits of a combination. */
static const char *const types[8] = {
    NULL,     "computation",          "communication",          "computation + communication",
    "memory", "computation + memory", "communication + memory", "computation + communication + memory"};

#define TYPE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(WORD(rs_kernels_together, mask, types), "kernel_type", TEXT, NONE,                                  \
         "what runs at the same time, and nothing else", NULL)                                               \
    CELL(OF(rs_kernels_together, time), "time_us", TIME, US, "how long exactly this combination runs",       \
         "time")                                                                                             \
    CELL(SHARE_OF_ALL(rs_kernels_together, time), "percent", REAL, PERCENT, "of the time something runs",    \
         NULL)
RS_RECORD(type, TYPE_ROW);

/* All kernels of one kind. */
typedef struct kind_row {
    uint32_t kind;
    int64_t names;
    rs_moments time;
} kind_row;

#define KIND_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(kind_row, kind), "kind", TEXT, NONE, "what the kernels do, recognised by their names",      \
         NULL)                                                                                               \
    CELL(OF(kind_row, names), "names", INT, COUNT, "different names", NULL)                                  \
    CELL(OF(kind_row, time.n), "count", INT, COUNT, "how often they ran", NULL)                              \
    CELL(OF(kind_row, time.sum), "sum_us", TIME, US, "total duration; simultaneous runs each count", "sum")  \
    CELL(SHARE_OF_ALL(kind_row, time.sum), "share_pct", REAL, PERCENT, "of the rank's total duration",       \
         "share %")                                                                                          \
    CELL(MEAN(kind_row, time), "mean_us", REAL, US, "mean duration", "mean")                                 \
    CELL(OF(kind_row, time.min), "min_us", TIME, US, "shortest", "min")                                      \
    CELL(OF(kind_row, time.max), "max_us", TIME, US, "longest", "max")
RS_RECORD(kind, KIND_ROW);

/* ---- relations ---------------------------------------------------------------------------------------- */

static const rs_plan_drop uncounted[] = {RS_DROP(rs_work_row, class, RS_CLASS_OTHER, NULL),
                                         RS_DROP(rs_work_row, class, RS_CLASS_MEMORY, "no-memory")};
static const rs_aggregate by_name[] = {RS_KEY_TEXT(rs_kernel, name, rs_work_row, name),
                                       RS_KEY_BELOW(rs_kernel, class, RS_N_CLASSES, rs_work_row, class),
                                       RS_MOMENTS(rs_kernel, time, rs_work_row, length)};
static const rs_order by_time[] = {RS_FALLING(rs_kernel, time.sum), RS_RISING_TEXT(rs_kernel, name),
                                   RS_RISING(rs_kernel, class)};

static const rs_field together_fields[] = {RS_FIELD_BELOW(rs_kernels_together, mask, 8),
                                           RS_FIELD(rs_kernels_together, time)};
static const rs_layout together_layout = RS_LAYOUT(rs_kernels_together, together_fields);
static const rs_order together_order[] = {RS_FALLING(rs_kernels_together, time),
                                          RS_RISING(rs_kernels_together, mask)};

static rs_status sweep(const rs_run *run, rs_trace *trace, bool memory, int64_t time[8], rs_error *err)
{
    static const rs_class order[3] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY};
    const rs_work *work;
    int64_t quantum = run->policy->quantum_ns;
    rs_interval *items[3] = {NULL};
    rs_interval_set classes[3] = {{NULL, 0}};
    unsigned k = memory ? 3 : 2;
    bool ok = true;
    RS_TRY(rs_trace_work(trace, run->policy, &work, err));
    for (unsigned i = 0; ok && i < k; i++) {
        ok = rs_work_union(work, order[i], &items[i], &classes[i].n);
        classes[i].items = items[i];
    }
    if (ok) rs_intervals_sweep(classes, k, quantum ? quantum : 1, time);
    for (unsigned i = 0; i < k; i++) rs_free(items[i]);
    return ok ? RS_OK : rs_fail_nomem(err, "kernels of a rank");
}

/* The combinations that run. The facet knows them with memory and to the nanosecond. */
static rs_status put_together(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    bool memory = !rs_options_flag(run->options, "no-memory");
    int64_t swept[8] = {0};
    const int64_t *time = swept;
    const rs_busy *busy;
    if (memory && !run->policy->quantum_ns) {
        RS_TRY(rs_trace_busy(trace, run->policy, &busy, err));
        time = busy->sweep;
    } else {
        RS_TRY(sweep(run, trace, memory, swept, err));
    }
    for (uint8_t m = 1; m < 8; m++)
        if (time[m] > 0) rs_put(out, RS_KERNELS_TOGETHER, &(rs_kernels_together){m, time[m]});
    return RS_OK;
}

/* The row of a kernel as its kind is made of it. */
typedef struct kernel_of_kind {
    uint32_t kind;
    rs_moments time;
} kernel_of_kind;

/* A name's kind needs no trace. */
static rs_status put_kinds(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    (void)run;
    (void)trace;
    (void)err;
    const rs_kernel *kernels = RS_ROWS(rs_kernel, out, RS_KERNELS_NAMED);
    for (size_t i = 0; i < out->items[RS_KERNELS_NAMED].n; i++) {
        const char *name = rs_relations_text(out, kernels[i].name);
        const char *kind = rs_kernel_kind(kernels[i].class, name, strlen(name));
        rs_put(out, RS_KERNELS_KINDS, &(kernel_of_kind){rs_put_string(out, kind), kernels[i].time});
    }
    return RS_OK;
}

static const rs_aggregate by_kind[] = {RS_KEY_TEXT(kind_row, kind, kernel_of_kind, kind),
                                       RS_COUNTED(kind_row, names),
                                       RS_MERGED(kind_row, time, kernel_of_kind, time)};
static const rs_order by_kind_time[] = {RS_FALLING(kind_row, time.sum), RS_RISING_TEXT(kind_row, kind)};

static const rs_plan_relation relations[] = {
    [RS_KERNELS_NAMED] = {RS_GROUPED(RS_KERNELS_NAMED, rs_kernel, rs_work_row, by_name),
                          .from = &rs_facet_work, RS_DROPPED(uncounted), RS_IN_ORDER(by_time)},
    [RS_KERNELS_TOGETHER] = {RS_LISTED(RS_KERNELS_TOGETHER, rs_kernels_together, &together_layout),
                             .make = put_together, RS_IN_ORDER(together_order)},
    [RS_KERNELS_KINDS] = {RS_GROUPED(RS_KERNELS_KINDS, kind_row, kernel_of_kind, by_kind), .make = put_kinds,
                          RS_IN_ORDER(by_kind_time), .choice = RS_WITH(RS_IS("by", "kind"))},
};

/* ---- tables ------------------------------------------------------------------------------------------- */

static const rs_plan_table
    names_table = {RS_PLAN_TABLE("kernels", "one row is one kernel name of one rank", name),
                   .relation = RS_KERNELS_NAMED,
                   .only = RS_WITH(RS_IS("by", "name"), RS_IS("by", "type")),
                   .top = "top",
                   .until = "duration-ratio",
                   .rest = "others"},
    types_table = {RS_PLAN_TABLE("types", "one row is one combination of kinds of one rank", type),
                   .relation = RS_KERNELS_TOGETHER, .only = RS_WITH(RS_IS("by", "name"), RS_IS("by", "type")),
                   .choice = RS_WITH(RS_IS("by", "type"))},
    kinds_table = {RS_PLAN_TABLE("kinds", "one row is one kind of kernel of one rank; with --by kind", kind),
                   .relation = RS_KERNELS_KINDS, .choice = RS_WITH(RS_IS("by", "kind"))};
static const rs_table_spec *const tables[] = {&names_table.spec, &types_table.spec, &kinds_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .absent_without = RS_KERNELS_NAMED + 1};

const rs_analysis rs_analysis_kernels = {
    .name = "kernels",
    .group = "GPU time",
    .help = "Which kernels take the GPU time, by name and by what runs together",
    .about =
        "kernels: the kernels of each rank by total duration, until --duration-ratio of it or --top "
        "names are\n"
        "reached; the rest is one row, others, with the statistics of its own runs.\n"
        "kinds (--by kind): what kernels do, recognised by their names, also where no operators were recorded.\n"
        "types: how long computation, communication and memory work run alone and together.",
    .examples =
        "rankscope kernels trace.json.gz\nrankscope kernels --top 30 --duration-ratio 1 trace.json.gz\n"
        "rankscope kernels --by type --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_busy},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .absent = "no GPU work",
};
