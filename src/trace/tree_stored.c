/* A call tree as arrays of the store. Those that follow from the others are made again, so that they cannot contradict
 * them: parents, depths, operators and sums of times. */
#include <string.h>

#include "base/interval.h"
#include "trace/trace_internal.h"
#include "trace/tree.h"

enum { ROW, END, GPU_FIRST, GPU_ROW, MISNESTED, UNLINKED, BUSY, N_PARTS };
_Static_assert(N_PARTS <= RS_FACET_PARTS, "parts of a tree");

static void give(const void *value, rs_facet_part *parts)
{
    const rs_tree *t = value;
    if (!t->n) return; /* made in no time */
    parts[ROW] = RS_FACET_NUMBERS(t->row, t->n);
    parts[END] = RS_FACET_NUMBERS(t->end, t->n);
    parts[GPU_FIRST] = RS_FACET_NUMBERS(t->gpu_first, t->n + 1);
    parts[GPU_ROW] = RS_FACET_NUMBERS(t->gpu_row, t->n_gpu);
    parts[MISNESTED] = RS_FACET_NUMBERS(&t->n_misnested, 1);
    parts[UNLINKED] = RS_FACET_NUMBERS(&t->n_unlinked, 1);
    if (t->busy) parts[BUSY] = RS_FACET_NUMBERS(t->busy, t->n);
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static bool allocate(rs_tree *t)
{
    t->parent = rs_malloc((t->n + 1) * sizeof *t->parent);
    t->depth = rs_malloc((t->n + 1) * sizeof *t->depth);
    t->op = rs_malloc((t->n + 1) * sizeof *t->op);
    t->gpu_sum = rs_malloc((t->n_gpu + 1) * sizeof *t->gpu_sum);
    return t->parent && t->depth && t->op && t->gpu_sum;
}

/* What events of a category are, as far as a tree wants to know. */
enum { NEVER_NODE, OPERATOR, CALL, OTHER_NODE };

static uint8_t *list_roles(const rs_events *e)
{
    uint8_t *roles = rs_malloc(e->n_categories + 1);
    for (size_t i = 0; roles && i < e->n_categories; i++) {
        rs_kind kind = e->categories[i].kind;
        roles[i] = rs_kind_is_call(kind)                                                ? CALL
                   : kind == RS_KIND_CPU_OP                                             ? OPERATOR
                   : kind == RS_KIND_USER_ANNOTATION || kind == RS_KIND_PYTHON_FUNCTION ? OTHER_NODE
                                                                                        : NEVER_NODE;
    }
    return roles;
}

/* Nodes are in depth-first order: the parent of one is the last before it that has not ended. */
static bool make_nodes(const rs_trace *trace, rs_tree *t, const uint8_t *roles)
{
    const rs_events *e = trace->events;
    uint32_t parent = RS_NO_NODE;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t row = t->row[i];
        if (row >= e->n || !rs_event_is_span(e, row) || (trace->rows && !rs_trace_has_row(trace, row)))
            return false;
        while (parent != RS_NO_NODE && t->end[parent] <= i) parent = t->parent[parent];
        size_t within = parent == RS_NO_NODE ? t->n : t->end[parent];
        uint8_t role = roles[e->category[row]];
        if (role == NEVER_NODE || t->end[i] <= i || t->end[i] > within) return false;
        bool work = t->gpu_first[i + 1] != t->gpu_first[i];
        if (t->gpu_first[i + 1] < t->gpu_first[i] || (work && role != CALL)) return false;
        uint32_t above = parent == RS_NO_NODE ? RS_NO_NODE : t->op[parent];
        t->parent[i] = parent;
        t->depth[i] = parent == RS_NO_NODE ? 0 : t->depth[parent] + 1;
        t->op[i] = role == OPERATOR ? i : above;
        t->n_roots += role == OPERATOR && above == RS_NO_NODE;
        t->n_host += role == OPERATOR || role == CALL;
        parent = i;
    }
    return t->gpu_first[0] == 0 && t->gpu_first[t->n] == t->n_gpu;
}

/* ---- work ---------------------------------------------------------------------------------------------- */

/* Where rows are in the rank's list of GPU work: a bit for each row that does, and how many there are before each
 * word of them. */
typedef struct places {
    uint64_t *bits;
    uint32_t *before;
} places;

static void places_clear(places *p)
{
    rs_free_all(p->bits, p->before);
}

static bool places_init(places *p, const rs_events *e, const uint32_t *rows, size_t n)
{
    size_t n_words = e->n / 64 + 1;
    uint32_t sum = 0;
    *p = (places){rs_calloc(n_words, sizeof *p->bits), rs_malloc(n_words * sizeof *p->before)};
    if (!p->bits || !p->before) return false;
    for (size_t i = 0; i < n; i++) p->bits[rows[i] / 64] |= UINT64_C(1) << rows[i] % 64;
    for (size_t i = 0; i < n_words; i++) {
        p->before[i] = sum;
        sum += (uint32_t)__builtin_popcountll(p->bits[i]);
    }
    return true;
}

static bool place_of(const places *p, const rs_events *e, uint32_t row, size_t *place)
{
    if (row >= e->n || !(p->bits[row / 64] >> row % 64 & 1)) return false;
    uint64_t below = p->bits[row / 64] & ((UINT64_C(1) << row % 64) - 1);
    *place = p->before[row / 64] + (size_t)__builtin_popcountll(below);
    return true;
}

/* Each node's work is launched by it, which also says that no work comes twice below different calls. */
static bool check_work(const rs_trace *trace, rs_tree *t, const rs_links *links, const places *p)
{
    const rs_events *e = trace->events;
    t->gpu_sum[0] = 0;
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = t->gpu_first[i]; k < t->gpu_first[i + 1]; k++) {
            uint32_t work = t->gpu_row[k];
            size_t place;
            if (!place_of(p, e, work, &place) || links->launch_of[place] != t->row[i]) return false;
            t->gpu_sum[k + 1] = rs_add_sat(t->gpu_sum[k], e->duration[work] > 0 ? e->duration[work] : 0);
        }
    }
    return true;
}

/* Something runs for no longer than all of it does one after another. */
static bool check_busy(const rs_tree *t)
{
    for (uint32_t i = 0; t->busy && i < t->n; i++)
        if (t->busy[i] < 0 || t->busy[i] > rs_tree_gpu_sum(t, i)) return false;
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static bool fill(rs_trace *trace, rs_tree *t)
{
    const rs_links *links;
    const uint32_t *rows;
    size_t n;
    places p = {0};
    if (rs_trace_gpu_rows(trace, &rows, &n, NULL) != RS_OK || rs_trace_launches(trace, &links, NULL) != RS_OK)
        return false;
    if (t->n_gpu > n || t->n_unlinked > n || t->n_misnested > trace->n_rows || !allocate(t)) return false;
    RS_LOCAL uint8_t *roles = list_roles(trace->events);
    bool ok = roles && make_nodes(trace, t, roles) && places_init(&p, trace->events, rows, n) &&
              check_work(trace, t, links, &p) && check_busy(t);
    places_clear(&p);
    return ok;
}

static void *take(rs_trace *trace, const void *key, const rs_facet_part *parts)
{
    rs_tree made = {.n = parts[ROW].n / sizeof *made.row,
                    .n_gpu = parts[GPU_ROW].n / sizeof *made.gpu_row,
                    .row = rs_facet_lend(&parts[ROW]),
                    .end = rs_facet_lend(&parts[END]),
                    .gpu_first = rs_facet_lend(&parts[GPU_FIRST]),
                    .gpu_row = rs_facet_lend(&parts[GPU_ROW]),
                    .lent = true,
                    .busy_lent = parts[BUSY].n != 0};
    (void)key;
    if (!made.n || made.n > trace->n_rows || parts[ROW].n != made.n * sizeof *made.row ||
        parts[END].n != parts[ROW].n || parts[GPU_FIRST].n != (made.n + 1) * sizeof *made.gpu_first ||
        parts[GPU_ROW].n != made.n_gpu * sizeof *made.gpu_row ||
        parts[MISNESTED].n != sizeof made.n_misnested || parts[UNLINKED].n != sizeof made.n_unlinked ||
        (parts[BUSY].n && parts[BUSY].n != made.n * sizeof *made.busy))
        return NULL;
    if (parts[BUSY].n) made.busy = rs_facet_lend(&parts[BUSY]);
    memcpy(&made.n_misnested, parts[MISNESTED].bytes, sizeof made.n_misnested);
    memcpy(&made.n_unlinked, parts[UNLINKED].bytes, sizeof made.n_unlinked);
    rs_tree *t = rs_malloc(sizeof *t);
    if (!t) return NULL;
    *t = made;
    if (fill(trace, t)) return t;
    rs_tree_free(t);
    return NULL;
}

const rs_facet_form rs_tree_form = {N_PARTS, give, take, false};
