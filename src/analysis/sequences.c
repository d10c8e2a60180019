/* sequences: which kernels an operator launches, again and again. */
#include <stdlib.h>
#include <string.h>

#include "analysis/sequences.h"
#include "base/order.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"

typedef struct mark {
    uint32_t row, pattern;
} mark;

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "pattern", TEXT, NONE,                                                                         \
         "the operator, then the GPU work it launches in order of start, with | between", NULL)              \
    CELL(OF(rs_sequence, count), "count", INT, COUNT, "how often", NULL)                                     \
    CELL(OF(rs_sequence, kernels), "kernels", INT, COUNT, "pieces of GPU work in it", NULL)                  \
    CELL(OF(rs_sequence, gpu), "gpu_us", TIME, US, "durations of that work, of all occurrences", "GPU")      \
    CELL(OF(rs_sequence, cpu), "cpu_us", TIME, US,                                                           \
         "durations of the operator on the host, of all occurrences", "CPU")
RS_RECORD(own, OWN_ROW);

#define MARK_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(mark, row), "index", INT, ID, "position in traceEvents", NULL)                                   \
    CELL(SET, "pattern", TEXT, NONE, "the pattern it belongs to", NULL)                                      \
    CELL(SET, "count", INT, COUNT, "how often that occurs", NULL)
RS_RECORD(mark, MARK_ROW);
RS_RECORD(file, RS_FILE_ROW);

static const rs_table_spec own_table =
    RS_TABLE("sequences", "one row is one sequence of kernels", own_columns);
const rs_table_spec rs_sequence_mark_table =
    RS_TABLE("marks", "one row is one event of a sequence; filled with --overlay", mark_columns);
const rs_table_spec rs_sequence_file_table =
    RS_TABLE("files", "one row is one rank's file; filled with --overlay", file_columns);
static const rs_table_spec *const own_tables[] = {&own_table, &rs_sequence_mark_table,
                                                  &rs_sequence_file_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, RS_SEQUENCES_TABLES}};

static const rs_option_spec options[] = {
    {"op", RS_OPTION_TEXT, "NAME", NULL, NULL, "look at the events whose names contain NAME (required)"},
    {"min-length", RS_OPTION_INT, "N", NULL, "3", "only sequences of at least N pieces of GPU work"},
    {"top", RS_OPTION_INT, "K", NULL, "5",
     "the K most frequent of each rank; 0: all (under --compat hta only the overlay is cut to them)"},
    {"overlay", RS_OPTION_TEXT, "FILE", NULL, NULL, "write the trace with the sequences' events marked"},
    {"no-compress", RS_OPTION_FLAG, NULL, NULL, NULL,
     "keep names and arguments of the overlay's other events"},
};

/* The text of all patterns together may not be longer. */
#define MAX_TEXT ((size_t)256 << 20)

/* ---- one rank ----------------------------------------------------------------------------------------- */

typedef struct sequences_partial {
    rs_arena arena;
    rs_sequence *patterns;
    size_t n, capacity;
    mark *marks;
    size_t n_marks, marks_capacity;
    size_t n_matches; /* events of the operator's name */
} sequences_partial;

void rs_sequences_free(void *partial)
{
    sequences_partial *p = partial;
    if (!p) return;
    rs_arena_clear(&p->arena);
    rs_free_all(p->patterns, p->marks, p);
}

static const rs_order by_start[] = {RS_RISING(rs_sequence_kernel, start), RS_RISING(rs_sequence_kernel, row)};

bool rs_sequence_add_kernel(rs_sequence_finder *x, uint32_t node, uint32_t row, int64_t start,
                            int64_t duration)
{
    return RS_PUSH(x->kernels, x->n_kernels, x->capacity, (rs_sequence_kernel){node, row, start, duration});
}

/* Puts the kernels by node; their order within a node does not matter yet. */
static bool index_kernels(rs_sequence_finder *x)
{
    rs_sequence_kernel *sorted = rs_malloc(x->n_kernels * sizeof *sorted);
    x->first = rs_calloc(x->nest->n + 2, sizeof *x->first);
    if (!sorted || !x->first) {
        rs_free(sorted);
        return false;
    }
    for (size_t i = 0; i < x->n_kernels; i++) x->first[x->kernels[i].node + 2]++;
    for (size_t i = 1; i <= x->nest->n; i++) x->first[i + 1] += x->first[i];
    for (size_t i = 0; i < x->n_kernels; i++) sorted[x->first[x->kernels[i].node + 1]++] = x->kernels[i];
    rs_free(x->kernels);
    x->kernels = sorted;
    return true;
}

/* The text of a new pattern: names with bars between. */
static rs_status make_pattern(rs_sequence_finder *x, uint32_t root, const rs_sequence_kernel *k, size_t n,
                              rs_error *err)
{
    const rs_strings *s = &x->e->strings;
    sequences_partial *p = x->p;
    size_t length = s->items[x->e->name[root]].length;
    for (size_t i = 0; i < n; i++) length += 1 + s->items[x->e->name[k[i].row]].length;
    if (length > MAX_TEXT || p->arena.total > MAX_TEXT)
        return rs_fail(err, RS_ERR_LIMIT, "the sequences of kernels are too long to write down");
    char *text = rs_arena_alloc(&p->arena, length + 1);
    if (!text || !RS_GROW_ONE(p->patterns, p->n, p->capacity)) return rs_fail_nomem(err, "sequences");
    const rs_string *name = &s->items[x->e->name[root]];
    size_t at = name->length;
    memcpy(text, name->text, name->length);
    for (size_t i = 0; i < n; i++) {
        name = &s->items[x->e->name[k[i].row]];
        text[at++] = '|';
        memcpy(text + at, name->text, name->length);
        at += name->length;
    }
    text[at] = '\0';
    p->patterns[p->n++] = (rs_sequence){.text = text, .length = at, .kernels = (int64_t)n};
    return RS_OK;
}

static rs_status add_root(rs_sequence_finder *x, uint32_t node, size_t min_length, rs_error *err)
{
    const rs_nest *t = x->nest;
    size_t from = x->first[node], n = x->first[t->end[node]] - from;
    rs_sequence_kernel *k = x->kernels + from;
    if (n < min_length) return RS_OK;
    if (n > 1) RS_SORT(k, n, by_start);
    uint32_t *key = x->scratch;
    key[0] = x->e->name[t->row[node]];
    for (size_t i = 0; i < n; i++) key[i + 1] = x->e->name[k[i].row];
    uint32_t id = rs_strings_add(&x->keys, (const char *)key, (n + 1) * sizeof *key);
    if (id == RS_NO_STRING) return rs_fail_nomem(err, "sequences");
    if (id > x->p->n) RS_TRY(make_pattern(x, t->row[node], k, n, err));
    rs_sequence *p = &x->p->patterns[id - 1];
    p->count++;
    p->cpu = rs_add_sat(p->cpu, x->cpu[node]);
    for (size_t i = 0; i < n; i++) p->gpu = rs_add_sat(p->gpu, k[i].duration);
    for (size_t i = 0; x->marks && i < n + (t->end[node] - node); i++) {
        if (!RS_GROW_ONE(x->p->marks, x->p->n_marks, x->p->marks_capacity))
            return rs_fail_nomem(err, "sequences");
        uint32_t row = i < n ? k[i].row : t->row[node + (i - n)];
        x->p->marks[x->p->n_marks++] = (mark){row, id - 1};
    }
    return RS_OK;
}

/* Roots are the matches that lie in no other match, or by some rules those at the least depth of any. */
static rs_status find_roots(rs_sequence_finder *x, size_t min_length, bool at_least_depth, rs_error *err)
{
    const uint8_t *named = x->named;
    const rs_nest *t = x->nest;
    uint32_t least = UINT32_MAX;
    rs_status status = RS_OK;
    for (size_t i = 0; i < t->n; i++) {
        if (!named[x->e->name[t->row[i]]]) continue;
        x->p->n_matches++;
        if (t->depth[i] < least) least = t->depth[i];
    }
    for (size_t i = 0; status == RS_OK && i < t->n; i++) {
        if (!named[x->e->name[t->row[i]]] || (at_least_depth && t->depth[i] != least)) continue;
        status = add_root(x, (uint32_t)i, min_length, err);
        if (!at_least_depth) i = t->end[i] - 1;
    }
    return status;
}

/* ---- its rows ------------------------------------------------------------------------------------------ */

bool rs_host_rows_make(rs_host_rows *h, size_t n)
{
    h->row = rs_malloc(n * sizeof *h->row);
    h->start = rs_malloc(n * sizeof *h->start);
    h->end = rs_malloc(n * sizeof *h->end);
    return h->row && h->start && h->end;
}

void rs_host_rows_clear(rs_host_rows *h)
{
    rs_free_all(h->row, h->start, h->end);
}

rs_status rs_sequence_nest(rs_sequence_finder *x, const rs_host_rows *h, rs_error *err)
{
    RS_TRY(rs_nest_create(x->e, h->row, h->start, h->end, h->n, &x->nest, err));
    x->cpu = rs_malloc(h->n * sizeof *x->cpu);
    x->start = rs_malloc(h->n * sizeof *x->start);
    if (!x->cpu || !x->start) return rs_fail_nomem(err, "sequences");
    for (size_t i = 0; i < h->n; i++) {
        uint32_t node = x->nest->node_of[h->row[i]];
        x->cpu[node] = rs_sub_sat(h->end[i], h->start[i]);
        x->start[node] = h->start[i];
    }
    return RS_OK;
}

static bool is_host(rs_kind kind)
{
    return kind == RS_KIND_CPU_OP || kind == RS_KIND_USER_ANNOTATION || kind == RS_KIND_PYTHON_FUNCTION ||
           rs_kind_is_call(kind);
}

/* By row, whether it lies on the way from a match to the work it launched. Most host events do not, and a nest of
 * those few is found many times faster than that of all. NULL when out of memory. */
static uint8_t *rows_that_matter(const rs_sequence_finder *x, const rs_work *w)
{
    const rs_events *e = x->e;
    uint8_t *matters = rs_calloc(e->n + 1, 1);
    for (size_t i = 0; matters && i < e->n; i++) matters[i] = x->marks || x->named[e->name[i]];
    for (size_t i = 0; matters && i < w->n; i++)
        if (w->launch[i] != RS_NO_ROW) matters[w->launch[i]] = 1;
    return matters;
}

static rs_status collect_own(const rs_run *run, rs_trace *trace, rs_sequence_finder *x, rs_error *err)
{
    const rs_events *e = trace->events;
    rs_host_rows h = {0};
    const rs_work *w;
    RS_TRY(rs_trace_work(trace, run->policy, &w, err));
    RS_LOCAL uint8_t *matters = rows_that_matter(x, w);
    rs_status status = RS_OK;
    if (!matters || !rs_host_rows_make(&h, trace->n_rows)) status = rs_fail_nomem(err, "sequences");
    for (size_t i = 0; status == RS_OK && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (!matters[row] || !is_host(rs_event_kind(e, row)) || !rs_event_is_span(e, row)) continue;
        h.row[h.n] = row;
        h.start[h.n] = e->start[row];
        h.end[h.n++] = rs_event_end(e, row);
    }
    if (status == RS_OK) status = rs_sequence_nest(x, &h, err);
    for (size_t i = 0; status == RS_OK && i < w->n; i++) {
        uint32_t node = w->launch[i] == RS_NO_ROW ? RS_NO_ROW : x->nest->node_of[w->launch[i]];
        if (node != RS_NO_ROW &&
            !rs_sequence_add_kernel(x, node, w->row[i], w->start[i], rs_sub_sat(w->end[i], w->start[i])))
            status = rs_fail_nomem(err, "sequences");
    }
    rs_host_rows_clear(&h);
    return status;
}

static int by_count(const void *a, const void *b)
{
    const rs_sequence *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    size_t n = x->length < y->length ? x->length : y->length;
    int c = memcmp(x->text, y->text, n);
    return c ? c : (x->length > y->length) - (x->length < y->length);
}

/* Patterns by count, and the marks, of the first `top` only, by their new numbers. */
static bool order_patterns(sequences_partial *p, size_t top)
{
    RS_LOCAL uint32_t *place = rs_malloc(p->n * sizeof *place);
    RS_LOCAL rs_sequence *unsorted = rs_malloc(p->n * sizeof *unsorted);
    bool ok = place && unsorted;
    if (ok && p->n) {
        memcpy(unsorted, p->patterns, p->n * sizeof *unsorted);
        qsort(p->patterns, p->n, sizeof *p->patterns, by_count);
    }
    for (size_t i = 0; ok && i < p->n; i++) {
        const rs_sequence *at = bsearch(&unsorted[i], p->patterns, p->n, sizeof *p->patterns, by_count);
        place[i] = (uint32_t)(at - p->patterns);
    }
    size_t kept = 0;
    for (size_t i = 0; ok && i < p->n_marks; i++) {
        uint32_t number = place[p->marks[i].pattern];
        if (top && number >= top) continue;
        p->marks[kept++] = (mark){p->marks[i].row, number};
    }
    p->n_marks = kept;
    return ok;
}

rs_status rs_sequences_rank(const rs_run *run, rs_trace *trace, rs_sequences_collect_fn collect,
                            bool at_least_depth, void **partial, rs_error *err)
{
    const char *op = rs_options_text(run->options, "op");
    if (!op || !*op)
        return rs_fail(err, RS_ERR_USAGE, "which operator? --op NAME, such as --op aten::linear");
    sequences_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "sequences");
    *partial = p;
    rs_sequence_finder x = {.e = trace->events, .p = p, .marks = rs_options_is_set(run->options, "overlay")};
    x.named = rs_malloc(x.e->strings.n + 1);
    if (!x.named) return rs_fail_nomem(err, "sequences");
    for (size_t i = 0; i < x.e->strings.n; i++) x.named[i] = strstr(x.e->strings.items[i].text, op) != NULL;
    rs_status status = collect(run, trace, &x, err);
    x.scratch = rs_malloc((x.n_kernels + 1) * sizeof *x.scratch);
    if (status == RS_OK && !(x.scratch && rs_strings_init(&x.keys) && index_kernels(&x)))
        status = rs_fail_nomem(err, "sequences");
    if (status == RS_OK)
        status = find_roots(&x, (size_t)rs_options_int(run->options, "min-length"), at_least_depth, err);
    if (status == RS_OK && !order_patterns(p, (size_t)rs_options_int(run->options, "top")))
        status = rs_fail_nomem(err, "sequences");
    rs_nest_free(x.nest);
    rs_free_all(x.cpu, x.start, x.kernels, x.first, x.scratch, x.named);
    rs_strings_clear(&x.keys);
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_sequences_rank(run, trace, collect_own, false, partial, err);
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

static rs_status add_marks(const rs_partial *partial, rs_result *result, rs_error *err)
{
    const sequences_partial *p = partial->value;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_marks; i++) {
        const rs_sequence *x = &p->patterns[p->marks[i].pattern];
        rs_table_put(result->tables[RS_SEQUENCES_MARKS], &mark_record, partial->rank, &p->marks[i]);
        rs_table_set_text_n(result->tables[RS_SEQUENCES_MARKS], "pattern", x->text, x->length);
        rs_table_set_int(result->tables[RS_SEQUENCES_MARKS], "count", x->count);
        status = rs_table_end_row(result->tables[RS_SEQUENCES_MARKS], err);
    }
    if (status != RS_OK) return status;
    return rs_table_put_row(result->tables[RS_SEQUENCES_FILES], &file_record, partial->rank, partial, err);
}

rs_status rs_sequences_merge(const rs_run *run, const rs_partial *partials, size_t n,
                             const rs_row_spec *record, size_t top, rs_result *result, rs_error *err)
{
    rs_table *t = result->tables[RS_SEQUENCES_SEQUENCES];
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const sequences_partial *p = partials[i].value;
        if (p->n_matches == 0)
            rs_result_note(result, "rank %lld: no event's name contains \"%.80s\"",
                           (long long)partials[i].rank, rs_options_text(run->options, "op"));
        else if (p->n == 0)
            rs_result_note(result, "rank %lld: none of %zu events launches %lld or more pieces of GPU work",
                           (long long)partials[i].rank, p->n_matches,
                           (long long)rs_options_int(run->options, "min-length"));
        for (size_t k = 0; status == RS_OK && k < p->n && (top == 0 || k < top); k++) {
            rs_table_put(t, record, partials[i].rank, &p->patterns[k]);
            rs_table_set_text_n(t, "pattern", p->patterns[k].text, p->patterns[k].length);
            status = rs_table_end_row(t, err);
        }
        if (status == RS_OK && rs_options_is_set(run->options, "overlay"))
            status = add_marks(&partials[i], result, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_sequences_merge(run, partials, n, &own_record, (size_t)rs_options_int(run->options, "top"),
                              result, err);
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field pattern_fields[] = {
    RS_FIELD_TEXT_N(rs_sequence, text, length),
    RS_FIELDS(rs_sequence, count, kernels, gpu, cpu),
};
static const rs_layout pattern_layout = RS_LAYOUT(rs_sequence, pattern_fields);

static const rs_field mark_fields[] = {
    RS_FIELD(mark, row),
    RS_FIELD_INDEX(mark, pattern, sequences_partial, n),
};
static const rs_layout mark_layout = RS_LAYOUT(mark, mark_fields);

static const rs_field sequences_fields[] = {
    RS_FIELD_LIST(sequences_partial, patterns, n, &pattern_layout),
    RS_FIELD_LIST(sequences_partial, marks, n_marks, &mark_layout),
    RS_FIELD(sequences_partial, n_matches),
};
const rs_layout rs_sequences_layout = RS_LAYOUT(sequences_partial, sequences_fields);

const rs_analysis rs_analysis_sequences = {
    .name = "sequences",
    .group = "GPU time",
    .help = "Which kernels an operator launches, in which order, how often",
    .about =
        "Every event whose name contains --op and that is inside of no other such event is looked at with all "
        "the GPU\n"
        "work launched under it, in order of start. Equal sequences are counted together.",
    .examples = "rankscope sequences --op aten::linear trace.json.gz\n"
                "rankscope sequences --op aten::conv2d --min-length 1 --top 0 --format csv trace.json.gz\n"
                "rankscope sequences --op aten::linear --overlay marked.json.gz trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work},
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_sequences_free,
    .partial_layout = &rs_sequences_layout,
};
