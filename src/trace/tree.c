/* Builds the call tree: one sweep over each thread's events in order of start. */
#include "trace/tree.h"

#include <string.h>

#include "base/interval.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/selection.h"

/* Times are rounded to a microsecond in many files: a child may stick out of its parent by less than that. */
#define TOLERANCE 1000

void rs_tree_free(void *value)
{
    rs_tree *t = value;
    if (!t) return;
    if (!t->lent) {
        rs_free_all(t->row, t->end, t->gpu_first, t->gpu_row);
    }
    if (!t->busy_lent) rs_free(t->busy);
    rs_free_all(t->parent, t->depth, t->op, t->gpu_sum, t);
}

bool rs_is_module_name(const rs_string *name)
{
    return name->length > 10 && memcmp(name->text, "nn.Module:", 10) == 0;
}

/* ---- which events are nodes ---------------------------------------------------------------------------- */

/* What events of a category can be. */
typedef enum role { NO_NODE, OPERATOR, CALL, FUNCTION } role;

typedef struct selection {
    rs_trace *trace;
    const rs_events *e;
    const rs_links *links;
    bool python;
    bool working;   /* only nodes with GPU work below */
    size_t call;    /* of links: no call before it is at or behind the row asked about */
    uint8_t *roles; /* by category */
    rs_selector selector;
} selection;

static bool find_roles(selection *s)
{
    const rs_events *e = s->e;
    s->roles = rs_malloc(e->n_categories + 1);
    for (size_t i = 0; s->roles && i < e->n_categories; i++) {
        rs_kind kind = e->categories[i].kind;
        s->roles[i] = rs_kind_is_call(kind)                                       ? CALL
                      : kind == RS_KIND_PYTHON_FUNCTION                           ? FUNCTION
                      : kind == RS_KIND_CPU_OP || kind == RS_KIND_USER_ANNOTATION ? OPERATOR
                                                                                  : NO_NODE;
    }
    return s->roles != NULL;
}

/* Rows must not descend. A call without work has nothing below it, and closes nothing that has not ended. */
static bool is_idle_call(selection *s, uint32_t row)
{
    const rs_links *links = s->links;
    while (s->call < links->n_calls && links->call[s->call] < row) s->call++;
    return s->call == links->n_calls || links->call[s->call] != row;
}

static role role_of(const selection *s, uint32_t row)
{
    const rs_events *e = s->e;
    role r = s->roles[e->category[row]];
    if (r == NO_NODE) return NO_NODE;
    if (r == FUNCTION && !s->python && !rs_is_module_name(&e->strings.items[e->name[row]])) return NO_NODE;
    return rs_event_is_span(e, row) && rs_selects_row(&s->selector, row) ? r : NO_NODE;
}

/* One thread's nodes: start and row. */
typedef struct lane {
    rs_keyed *items;
    size_t n, capacity;
    bool used;     /* also by calls that are left out: the order of lanes does not depend on them */
    int64_t start; /* earliest */
    uint32_t row;  /* first in the file */
} lane;

static bool earlier(const lane *a, const lane *b)
{
    if (a->used != b->used) return a->used;
    return a->start != b->start ? a->start < b->start : a->row < b->row;
}

static bool order_lanes(const lane *lanes, size_t n, uint32_t *order)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < n; i++) keys[i] = (rs_keyed){lanes[i].start, (uint32_t)i};
    bool ok = rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) {
        size_t k = i; /* equal starts are rare: put them in file order */
        for (; k > 0 && keys[i].key == lanes[order[k - 1]].start &&
               earlier(&lanes[keys[i].value], &lanes[order[k - 1]]);
             k--)
            order[k] = order[k - 1];
        order[k] = keys[i].value;
    }
    return ok;
}

/* Fills the lanes; total: how many nodes there are. False when out of memory. */
static bool list_nodes(selection *s, lane *lanes, size_t *total)
{
    const rs_events *e = s->e;
    bool ok = true;
    *total = 0;
    for (size_t i = 0; ok && i < s->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(s->trace, i);
        role r = role_of(s, row);
        if (r == NO_NODE) continue;
        lane *l = &lanes[e->thread[row]];
        int64_t start = e->start[row];
        if (!l->used) l->row = row;
        if (!l->used || start < l->start) l->start = start;
        l->used = true;
        if (s->working && r == CALL && is_idle_call(s, row)) continue;
        ok = RS_APPEND(l, (rs_keyed){start, row});
        ++*total;
    }
    return ok;
}

/* ---- order of events that start together --------------------------------------------------------------- */

/* Calls go inside; then the longer one is outside; then what is nearer to the user. Row order is the last
 * word. */
static int64_t nearness(rs_kind kind)
{
    return kind == RS_KIND_PYTHON_FUNCTION ? 0 : kind == RS_KIND_USER_ANNOTATION ? 1 : 2;
}

static bool sort_tie(const rs_events *e, rs_keyed *items, size_t n)
{
    int64_t start = items[0].key;
    for (size_t i = 0; i < n; i++) items[i].key = nearness(rs_event_kind(e, items[i].value));
    bool ok = rs_keyed_sort(items, n);
    for (size_t i = 0; i < n; i++) items[i].key = -e->duration[items[i].value];
    ok = ok && rs_keyed_sort(items, n);
    for (size_t i = 0; i < n; i++) items[i].key = rs_kind_is_call(rs_event_kind(e, items[i].value));
    ok = ok && rs_keyed_sort(items, n);
    for (size_t i = 0; i < n; i++) items[i].key = start;
    return ok;
}

static bool sort_lane(const rs_events *e, rs_keyed *items, size_t n)
{
    if (!rs_keyed_sort(items, n)) return false;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && items[end].key == items[i].key; end++) {
        }
        if (end - i > 1 && !sort_tie(e, items + i, end - i)) return false;
    }
    return true;
}

/* ---- the sweep ----------------------------------------------------------------------------------------- */

/* An event with what decides how others lie to it. */
typedef struct placed {
    int64_t start, end;
    uint32_t node;
    rs_kind kind;
} placed;

typedef struct sweep {
    const rs_events *e;
    const rs_links *links;
    bool working;
    size_t call; /* of links: the last one found */
    rs_tree *t;
    placed *stack; /* those that are open */
    size_t depth;
} sweep;

/* Nodes below a node without work have gone before it. */
static void close_top(sweep *s)
{
    rs_tree *t = s->t;
    uint32_t node = s->stack[--s->depth].node;
    if (s->working && t->gpu_first[node] == t->n_gpu) t->n = node;
    t->end[node] = (uint32_t)t->n;
}

typedef enum fit { INSIDE, BESIDE, ACROSS } fit;

/* How an event lies to one that started no later and is still open. */
static fit fit_of(const placed *outer, const placed *p)
{
    int64_t excess = rs_sub_sat(p->end, outer->end);
    int64_t overlap = rs_sub_sat(outer->end, p->start);
    if (excess <= 0 || (excess < TOLERANCE && excess < overlap)) return INSIDE;
    return overlap < TOLERANCE ? BESIDE : ACROSS;
}

/* Has the open event ended when this one starts? An event without length still holds what starts with it. */
static bool has_ended(const placed *outer, const placed *p)
{
    if (outer->end > p->start) return false;
    return outer->start < p->start || (p->end > p->start && !rs_kind_is_call(p->kind));
}

/* Closes what does not hold the event. Returns whether the event can hold others itself. */
static bool make_way(sweep *s, const placed *p)
{
    while (s->depth) {
        const placed *top = &s->stack[s->depth - 1];
        fit how = fit_of(top, p);
        /* NOLINTNEXTLINE(bugprone-branch-clone): each case has its own reason to close */
        if (has_ended(top, p)) {
            close_top(s);
        } else if (rs_kind_is_call(top->kind)) {
            if (rs_kind_is_call(p->kind) && how == INSIDE) return true;
            close_top(s);
        } else if (rs_kind_is_call(p->kind) || how == INSIDE) {
            return true; /* a call belongs to what is open at its start, even if its clock runs ahead */
        } else if (how == ACROSS && p->kind != RS_KIND_CPU_OP) {
            s->t->n_misnested++;
            return false;
        } else {
            close_top(s);
        }
    }
    return true;
}

/* The place of a call among those that own work; SIZE_MAX: it owns none. Mostly it is the next one. */
static size_t find_call(sweep *s, uint32_t row)
{
    const rs_links *links = s->links;
    size_t low = 0, high = links->n_calls;
    for (size_t i = s->call; i < s->call + 2 && i < links->n_calls; i++) {
        if (links->call[i] == row) return s->call = i;
        if (links->call[i] < row)
            low = i + 1;
        else
            high = high < i ? high : i;
    }
    RS_SEARCH_BETWEEN(low, low, high, links->call[low] < row);
    bool found = low < links->n_calls && links->call[low] == row;
    s->call = found || low == 0 ? low : low - 1;
    return found ? low : SIZE_MAX;
}

/* Room for all work is there. */
static void attach_work(sweep *s, uint32_t row)
{
    rs_tree *t = s->t;
    size_t call = find_call(s, row);
    if (call == SIZE_MAX) return;
    for (size_t i = s->links->first[call]; i < s->links->first[call + 1]; i++) {
        uint32_t work = s->links->work_row[i];
        int64_t duration = s->e->duration[work] > 0 ? s->e->duration[work] : 0;
        t->gpu_row[t->n_gpu] = work;
        t->gpu_sum[t->n_gpu + 1] = rs_add_sat(t->gpu_sum[t->n_gpu], duration);
        t->n_gpu++;
    }
}

static void add_node(sweep *s, uint32_t row)
{
    rs_tree *t = s->t;
    const rs_events *e = s->e;
    int64_t start = e->start[row], length = e->duration[row];
    placed p = {
        .start = start, .end = length > 0 ? rs_add_sat(start, length) : start, .kind = rs_event_kind(e, row)};
    bool opens = make_way(s, &p);
    uint32_t node = p.node = (uint32_t)t->n++, parent = s->depth ? s->stack[s->depth - 1].node : RS_NO_NODE,
             above = parent == RS_NO_NODE ? RS_NO_NODE : t->op[parent];
    bool is_op = p.kind == RS_KIND_CPU_OP, is_call = rs_kind_is_call(p.kind);
    t->row[node] = row;
    t->parent[node] = parent;
    t->depth[node] = (uint32_t)s->depth;
    t->end[node] = node + 1;
    t->op[node] = is_op ? node : above;
    t->n_roots += is_op && above == RS_NO_NODE;
    t->n_host += is_op || is_call;
    t->gpu_first[node] = (uint32_t)t->n_gpu;
    if (is_call) attach_work(s, row);
    if (opens)
        s->stack[s->depth++] = p;
    else if (s->working)
        t->n--; /* what opens nothing is no call */
}

static bool allocate_nodes(rs_tree *t, size_t n, size_t n_work)
{
    t->gpu_row = rs_malloc((n_work + 1) * sizeof *t->gpu_row);
    t->gpu_sum = rs_malloc((n_work + 1) * sizeof *t->gpu_sum);
    if (!t->gpu_row || !t->gpu_sum) return false;
    t->gpu_sum[0] = 0;
    t->row = rs_malloc((n + 1) * sizeof *t->row);
    t->parent = rs_malloc((n + 1) * sizeof *t->parent);
    t->end = rs_malloc((n + 1) * sizeof *t->end);
    t->depth = rs_malloc((n + 1) * sizeof *t->depth);
    t->op = rs_malloc((n + 1) * sizeof *t->op);
    t->gpu_first = rs_malloc((n + 1) * sizeof *t->gpu_first);
    return t->row && t->parent && t->end && t->depth && t->op && t->gpu_first;
}

static rs_status build_nodes(selection *s, rs_tree *t, rs_error *err)
{
    const rs_events *e = s->e;
    size_t n_threads = e->n_threads, total = 0;
    RS_LOCAL lane *lanes = rs_calloc(n_threads + 1, sizeof *lanes);
    RS_LOCAL uint32_t *order = rs_malloc((n_threads + 1) * sizeof *order);
    sweep w = {.e = e, .links = s->links, .working = s->working, .t = t};
    bool ok = lanes && order;
    ok = ok && find_roles(s);
    if (ok) {
        ok = list_nodes(s, lanes, &total) && order_lanes(lanes, n_threads, order) &&
             allocate_nodes(t, total, s->links->n_work);
        w.stack = ok ? rs_malloc((total + 1) * sizeof *w.stack) : NULL;
        ok = ok && w.stack;
    }
    for (size_t i = 0; ok && i < n_threads; i++) {
        const lane *l = &lanes[order[i]];
        if (l->n) ok = sort_lane(e, l->items, l->n);
        for (size_t k = 0; ok && k < l->n; k++) add_node(&w, l->items[k].value);
        while (w.depth) close_top(&w);
    }
    if (ok) t->gpu_first[t->n] = (uint32_t)t->n_gpu;
    rs_free_all(s->roles, w.stack);
    for (size_t i = 0; lanes && i < n_threads; i++) rs_free(lanes[i].items);
    return ok ? RS_OK : rs_fail_nomem(err, "call tree");
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status count_unlinked(const selection *s, rs_tree *t, rs_error *err)
{
    const uint32_t *rows;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(s->trace, &rows, &n, err));
    for (size_t i = 0; i < n; i++)
        t->n_unlinked +=
            s->links->launch_of[i] == RS_NO_ROW && rs_selects_work(&s->selector, rows[i], RS_NO_ROW);
    return RS_OK;
}

static rs_status build(selection *s, rs_tree *t, rs_error *err)
{
    rs_status status = rs_trace_links(s->trace, &s->links, err);
    if (status == RS_OK) status = rs_trace_selector(s->trace, &s->selector, err);
    if (status == RS_OK) status = build_nodes(s, t, err);
    if (status == RS_OK) status = count_unlinked(s, t, err);
    return status;
}

static rs_status make(selection *s, void **out, rs_error *err)
{
    rs_tree *t = rs_calloc(1, sizeof *t);
    rs_status status = t ? build(s, t, err) : rs_fail_nomem(err, "call tree");
    if (status == RS_OK)
        *out = t;
    else
        rs_tree_free(t);
    return status;
}

static rs_status make_tree(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    selection s = {.trace = trace, .e = trace->events, .python = *(const bool *)key};
    return make(&s, out, err);
}

static rs_status make_working_tree(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    selection s = {.trace = trace, .e = trace->events, .working = true};
    return make(&s, out, err);
}

const rs_facet rs_facet_tree = {.name = "call tree",
                                .needs = {&rs_facet_links, &rs_facet_steps},
                                .key_size = sizeof(bool),
                                .selected = true,
                                .make = make_tree,
                                .release = rs_tree_free,
                                .form = &rs_tree_form};

rs_status rs_trace_tree(rs_trace *trace, bool python, rs_tree **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_tree, &python, out, err);
}

const rs_facet rs_facet_working_tree = {.name = "call tree above GPU work",
                                        .needs = {&rs_facet_links, &rs_facet_steps},
                                        .selected = true,
                                        .make = make_working_tree,
                                        .release = rs_tree_free,
                                        .form = &rs_tree_form};

rs_status rs_trace_working_tree(rs_trace *trace, rs_tree **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_working_tree, NULL, out, err);
}
