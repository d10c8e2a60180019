/* kernels: which kernels take the time, by name or by what runs together. */
#include "analysis/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "trace/busy.h"
#include "trace/kernel_kinds.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "type|name|kind", "name",
     "type: time of every combination of kinds; name: time of every kernel; kind: what kernels do, told by "
     "their names (GEMM, SDPA, CONV, NORM, ...)"},
    {"top", RS_OPTION_INT, "N", NULL, "10", "name at most N kernels of a rank, the rest is others"},
    {"duration-ratio", RS_OPTION_REAL, "X", NULL, "0.8",
     "stop naming kernels once they make up this share (0 to 1)"},
    {"no-memory", RS_OPTION_FLAG, NULL, NULL, NULL, "leave copies and memsets out"},
};

#define NAME_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_kernel, name), "name", TEXT, NONE, "kernel, copy or memset; others: all that are not named",  \
         NULL)                                                                                               \
    CELL(SET, "class", TEXT, NONE, "computation, communication or memory; unknown for others", NULL)         \
    CELL(SET, "names", INT, COUNT, "different names in this row", NULL)                                      \
    CELL(OF(rs_kernel, time.n), "count", INT, COUNT, "how often it ran", NULL)                               \
    CELL(OF(rs_kernel, time.sum), "sum_us", TIME, US, "total duration; simultaneous runs each count", "sum") \
    CELL(SET, "share_pct", REAL, PERCENT, "of the rank's total duration", "share %")                         \
    CELL(SET, "cumulative_pct", REAL, PERCENT, "share of this and all rows above it", "cumulative %")        \
    CELL(MEAN(rs_kernel, time), "mean_us", REAL, US, "mean duration", "mean")                                \
    CELL(OF(rs_kernel, time.min), "min_us", TIME, US, "shortest", "min")                                     \
    CELL(OF(rs_kernel, time.max), "max_us", TIME, US, "longest", "max")                                      \
    CELL(STD(rs_kernel, time), "std_us", REAL, US, "standard deviation of a sample; unknown for one run",    \
         "std")
RS_RECORD(name, NAME_ROW);

typedef struct type_row {
    const char *name;
    int64_t time, all;
} type_row;

#define TYPE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(type_row, name), "kernel_type", TEXT, NONE, "what runs at the same time, and nothing else",      \
         NULL)                                                                                               \
    CELL(OF(type_row, time), "time_us", TIME, US, "how long exactly this combination runs", "time")          \
    CELL(SHARE(type_row, time, all), "percent", REAL, PERCENT, "of the time something runs", NULL)
RS_RECORD(type, TYPE_ROW);

/* All kernels of one kind. */
typedef struct kind_row {
    const char *kind;
    int64_t names, all;
    rs_moments time;
} kind_row;

#define KIND_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(kind_row, kind), "kind", TEXT, NONE, "what the kernels do, told by their names", NULL)           \
    CELL(OF(kind_row, names), "names", INT, COUNT, "different names", NULL)                                  \
    CELL(OF(kind_row, time.n), "count", INT, COUNT, "how often they ran", NULL)                              \
    CELL(OF(kind_row, time.sum), "sum_us", TIME, US, "total duration; simultaneous runs each count", "sum")  \
    CELL(SHARE(kind_row, time.sum, all), "share_pct", REAL, PERCENT, "of the rank's total duration",         \
         "share %")                                                                                          \
    CELL(MEAN(kind_row, time), "mean_us", REAL, US, "mean duration", "mean")                                 \
    CELL(OF(kind_row, time.min), "min_us", TIME, US, "shortest", "min")                                      \
    CELL(OF(kind_row, time.max), "max_us", TIME, US, "longest", "max")
RS_RECORD(kind, KIND_ROW);

static const rs_table_spec own_kinds =
    RS_TABLE("kinds", "one row is one kind of kernel of one rank; with --by kind", kind_columns);
static const rs_table_spec own_names =
    RS_TABLE("kernels", "one row is one kernel name of one rank", name_columns);
static const rs_table_spec own_types =
    RS_TABLE("types", "one row is one combination of kinds of one rank", type_columns);
static const rs_table_spec *const own_tables[] = {&own_names, &own_types, &own_kinds};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 3}};

/* ---- one rank --------------------------------------------------------------------------------------- */

void rs_kernels_free(void *partial)
{
    rs_kernels *p = partial;
    if (!p) return;
    rs_arena_clear(&p->names);
    rs_free(p->items);
    rs_free(p);
}

static bool counts(rs_class class, bool memory)
{
    return class != RS_CLASS_OTHER && (memory || class != RS_CLASS_MEMORY);
}

/* By time, then name, then class. */
static int by_time(const void *a, const void *b)
{
    const rs_kernel *x = a, *y = b;
    if (x->time.sum != y->time.sum) return x->time.sum > y->time.sum ? -1 : 1;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->class - (int)y->class;
}

static bool collect_names(const rs_events *e, const rs_work *work, bool memory, rs_kernels *p)
{
    rs_map64 places = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < work->n; i++) {
        rs_class class = (rs_class)work->class[i];
        if (!counts(class, memory)) continue;
        uint32_t id = e->name[work->row[i]];
        bool is_new;
        uint32_t *place = rs_map64_put(&places, (uint64_t)id * RS_N_CLASSES + class, &is_new);
        ok = place && (!is_new || RS_GROW_ONE(p->items, p->n, p->capacity));
        if (!ok) break;
        if (is_new) {
            *place = (uint32_t)p->n;
            p->items[p->n++] = (rs_kernel){.id = id, .class = class};
        }
        rs_moments_add(&p->items[*place].time, rs_sub_sat(work->end[i], work->start[i]));
    }
    for (size_t i = 0; ok && i < p->n; i++) {
        const rs_string *s = &e->strings.items[p->items[i].id];
        p->items[i].name = rs_arena_strndup(&p->names, s->text, s->length);
        ok = p->items[i].name != NULL;
    }
    if (ok && p->n) qsort(p->items, p->n, sizeof *p->items, by_time);
    rs_map64_clear(&places);
    return ok;
}

static bool collect_types(const rs_work *work, bool memory, int64_t quantum, rs_kernels *p)
{
    static const rs_class order[3] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY};
    rs_interval *items[3] = {NULL};
    rs_interval_set classes[3] = {{NULL, 0}};
    unsigned k = memory ? 3 : 2;
    bool ok = true;
    for (unsigned i = 0; ok && i < k; i++) {
        ok = rs_work_union(work, order[i], &items[i], &classes[i].n);
        classes[i].items = items[i];
    }
    if (ok) rs_intervals_sweep(classes, k, quantum, p->together);
    for (unsigned i = 0; i < k; i++) rs_free(items[i]);
    return ok;
}

rs_status rs_kernels_rank(const rs_run *run, rs_trace *trace, int64_t quantum, void **partial, rs_error *err)
{
    const rs_work *work;
    rs_status status = rs_trace_work(trace, run->policy, &work, err);
    if (status != RS_OK) return status;
    bool memory = !rs_options_flag(run->options, "no-memory");
    rs_kernels *p = rs_calloc(1, sizeof *p);
    if (!p || !collect_names(trace->events, work, memory, p)) {
        rs_kernels_free(p);
        return rs_fail_nomem(err, "kernels of a rank");
    }
    if (memory && quantum == 1) {
        const rs_busy *busy;
        status = rs_trace_busy(trace, run->policy, &busy, err);
        if (status == RS_OK) memcpy(p->together, busy->sweep, sizeof p->together);
    } else if (!collect_types(work, memory, quantum, p)) {
        status = rs_fail_nomem(err, "kernels of a rank");
    }
    if (status != RS_OK || p->n == 0)
        rs_kernels_free(p);
    else
        *partial = p;
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_kernels_rank(run, trace, 1, partial, err);
}

/* ---- the default tables ------------------------------------------------------------------------------ */

const char *rs_kernels_type(unsigned mask, const char *const names[3], const char *joint, char out[128])
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < 3; i++) {
        if (!(mask & (1u << i))) continue;
        size_t need = strlen(names[i]) + (used ? strlen(joint) : 0);
        if (used + need >= 128) break;
        if (used) strcpy(out + used, joint);
        strcpy(out + used + (used ? strlen(joint) : 0), names[i]);
        used += need;
    }
    return out;
}

static rs_status add_name(rs_table *t, int64_t rank_number, const rs_kernel *k, bool others, size_t n_names,
                          int64_t before, int64_t all, rs_error *err)
{
    rs_table_put(t, &name_record, rank_number, k);
    rs_table_set_text(t, "class", others ? NULL : rs_class_names[k->class]);
    rs_table_set_int(t, "names", (int64_t)n_names);
    rs_table_set_real(t, "share_pct", rs_percent(k->time.sum, all));
    rs_table_set_real(t, "cumulative_pct", rs_percent(rs_add_sat(before, k->time.sum), all));
    return rs_table_end_row(t, err);
}

/* Names kernels by time until the asked share or number is reached; all others become one row with the
 * statistics of their runs. */
static rs_status add_own_names(const rs_options *o, int64_t rank_number, const rs_kernels *p, rs_table *t,
                               rs_error *err)
{
    int64_t all = 0, before = 0;
    for (size_t i = 0; i < p->n; i++) all = rs_add_sat(all, p->items[i].time.sum);
    double wanted = rs_options_real(o, "duration-ratio") * (double)all;
    int64_t top = rs_options_int(o, "top");
    size_t i = 0;
    rs_status status = RS_OK;
    for (; status == RS_OK && i < p->n && (int64_t)i < top && (i == 0 || (double)before < wanted); i++) {
        status = add_name(t, rank_number, &p->items[i], false, 1, before, all, err);
        before = rs_add_sat(before, p->items[i].time.sum);
    }
    if (status != RS_OK || i >= p->n) return status;
    rs_kernel others = {.name = "others"};
    for (size_t k = i; k < p->n; k++) rs_moments_merge(&others.time, &p->items[k].time);
    return add_name(t, rank_number, &others, true, p->n - i, before, all, err);
}

static rs_status add_own_types(int64_t rank_number, const rs_kernels *p, rs_table *t, rs_error *err)
{
    static const char *const names[3] = {"computation", "communication", "memory"};
    int64_t all = 0;
    char text[128];
    bool done[8] = {false};
    for (unsigned m = 1; m < 8; m++) all = rs_add_sat(all, p->together[m]);
    for (;;) {
        unsigned best = 0;
        for (unsigned m = 1; m < 8; m++)
            if (!done[m] && p->together[m] > 0 && (!best || p->together[m] > p->together[best])) best = m;
        if (!best) return RS_OK;
        done[best] = true;
        type_row row = {rs_kernels_type(best, names, " + ", text), p->together[best], all};
        rs_status status = rs_table_put_row(t, &type_record, rank_number, &row, err);
        if (status != RS_OK) return status;
    }
}

#define MAX_KINDS 64

static int by_kind_time(const void *a, const void *b)
{
    const kind_row *x = a, *y = b;
    if (x->time.sum != y->time.sum) return x->time.sum > y->time.sum ? -1 : 1;
    return strcmp(x->kind, y->kind);
}

/* Kinds by time. */
static rs_status add_kinds(int64_t rank_number, const rs_kernels *p, rs_table *t, rs_error *err)
{
    kind_row kinds[MAX_KINDS];
    size_t n = 0;
    int64_t all = 0;
    for (size_t i = 0; i < p->n; i++) {
        const rs_kernel *k = &p->items[i];
        const char *kind = rs_kernel_kind(k->class, k->name, strlen(k->name));
        size_t at = 0;
        while (at < n && strcmp(kinds[at].kind, kind) != 0) at++;
        if (at == MAX_KINDS) at = MAX_KINDS - 1; /* there are fewer kinds than that */
        if (at == n) kinds[n++] = (kind_row){.kind = kind};
        kinds[at].names++;
        rs_moments_merge(&kinds[at].time, &k->time);
        all = rs_add_sat(all, k->time.sum);
    }
    if (n) qsort(kinds, n, sizeof *kinds, by_kind_time);
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        kinds[i].all = all;
        status = rs_table_put_row(t, &kind_record, rank_number, &kinds[i], err);
    }
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_table *names = result->tables[RS_KERNELS_BY_NAME], *types = result->tables[RS_KERNELS_BY_TYPE];
    const char *by = rs_options_text(run->options, "by");
    bool kinds = strcmp(by, "kind") == 0;
    result->main_table = kinds                     ? RS_KERNELS_BY_KIND
                         : strcmp(by, "type") == 0 ? RS_KERNELS_BY_TYPE
                                                   : RS_KERNELS_BY_NAME;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        if (kinds) {
            status = add_kinds(partials[i].rank, partials[i].value, result->tables[RS_KERNELS_BY_KIND], err);
            continue;
        }
        status = add_own_names(run->options, partials[i].rank, partials[i].value, names, err);
        if (status == RS_OK) status = add_own_types(partials[i].rank, partials[i].value, types, err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field kernel_fields[] = {
    RS_FIELD(rs_kernel, name),
    RS_FIELD_BELOW(rs_kernel, class, RS_N_CLASSES),
    RS_FIELD_STRUCT(rs_kernel, time, &rs_moments_layout),
};
static const rs_layout kernel_layout = RS_LAYOUT(rs_kernel, kernel_fields);

static const rs_field kernels_fields[] = {
    RS_FIELD_LIST(rs_kernels, items, n, &kernel_layout),
    RS_FIELD_ARRAY(rs_kernels, together),
};
const rs_layout rs_kernels_layout = RS_LAYOUT(rs_kernels, kernels_fields);

const rs_analysis rs_analysis_kernels = {
    .name = "kernels",
    .help = "Which kernels take the GPU time, by name and by what runs together",
    .about =
        "kernels: the kernels of each rank by total duration, until --duration-ratio of it or --top "
        "names are\n"
        "reached; the rest is one row, others, with the statistics of its own runs.\n"
        "kinds (--by kind): what kernels do, told by their names, also where no operators were recorded.\n"
        "types: how long computation, communication and memory work run alone and together.",
    .examples =
        "rankscope kernels trace.json.gz\nrankscope kernels --top 30 --duration-ratio 1 trace.json.gz\n"
        "rankscope kernels --by type --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_busy},
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_kernels_free,
    .absent = "no GPU work",
    .partial_layout = &rs_kernels_layout,
};
