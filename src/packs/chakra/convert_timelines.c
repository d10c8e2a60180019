/* The time lines of threads. A line is cut at points: starts of operators and annotations, both ends of every
 * wait, and whatever else has to be the end of something. What is between two neighbouring points is a
 * segment; it belongs to the operator that starts with it, or else to a gap node. Waits belong to nobody. */

#include "base/interval.h"
#include "base/order.h"
#include "base/search.h"
#include "chakra/convert_time.h"

/* ---- the lines -------------------------------------------------------------------------------------- */

static bool on_a_line(const rs_linked_node *n)
{
    return n->timed && !n->gpu;
}

/* Gives each chain with a timed node its line, and counts the nodes. */
static void number_lines(rs_timelines *x)
{
    const rs_linked *l = x->linked;
    for (size_t i = 0; i < l->n_nodes; i++) x->line_of[i] = x->item_of[i] = RS_LINKED_NONE;
    for (size_t i = 0; i < l->n_nodes; i++) {
        uint32_t top = x->places->top[i];
        if (!on_a_line(&l->nodes[i])) continue;
        if (x->line_of[top] == RS_LINKED_NONE) {
            x->line_of[top] = (uint32_t)x->n_lines;
            x->lines[x->n_lines++] = (rs_timeline){.top = top};
        }
        x->lines[x->line_of[top]].n++;
        x->n_items++;
    }
}

/* Ids follow each other as operators start; where they do not, the chain's order holds. */
static void fill_lines(rs_timelines *x)
{
    const rs_linked *l = x->linked;
    uint32_t at = 0;
    for (size_t i = 0; i < x->n_lines; i++) {
        x->lines[i].first = at;
        at += x->lines[i].n;
        x->lines[i].n = 0;
    }
    for (size_t i = 0; i < l->n_nodes; i++) {
        const rs_linked_node *n = &l->nodes[i];
        if (!on_a_line(n)) continue;
        rs_timeline *line = &x->lines[x->line_of[x->places->top[i]]];
        uint32_t k = line->first + line->n++;
        int64_t start = n->ts;
        if (line->n == 1)
            line->from = line->to = start;
        else if (start < x->items[k - 1].start)
            start = x->items[k - 1].start;
        x->items[k] = (rs_timeline_item){(uint32_t)i, start, rs_add_sat(n->ts, n->inclusive)};
        if (x->items[k].end < start) x->items[k].end = start;
        if (x->items[k].end > line->to) line->to = x->items[k].end;
        x->item_of[i] = k;
    }
}

static const rs_order by_value[] = {RS_RISING_VALUE(int64_t)};

/* Few lines are asked for the ends of their items: theirs are sorted when they are. */
static const int64_t *item_ends(rs_timelines *x, rs_timeline *line)
{
    int64_t *ends = x->item_ends + line->first;
    if (!line->ends_sorted) {
        for (uint32_t i = 0; i < line->n; i++) ends[i] = x->items[line->first + i].end;
        RS_SORT(ends, line->n, by_value);
        line->ends_sorted = true;
    }
    return ends;
}

/* ---- points and waits ------------------------------------------------------------------------------- */

bool rs_timelines_add_point(rs_timelines *x, uint32_t line, int64_t t)
{
    return RS_PUSH(x->extra, x->n_extra, x->extra_capacity, (rs_timeline_point){line, t});
}

static bool add_wait(rs_timelines *x, rs_timeline_wait wait)
{
    if (!RS_GROW_ONE(x->waits, x->n_waits, x->waits_capacity)) return false;
    if (wait.to < wait.from) wait.to = wait.from;
    x->waits[x->n_waits++] = wait;
    return true;
}

/* The waits that calls are known for: [from, to, GPU node] in the members of thread roots. */
static bool read_waits(rs_timelines *x)
{
    const rs_linked *l = x->linked;
    for (size_t i = 0; i < x->n_lines; i++) {
        const rs_timeline *line = &x->lines[i];
        rs_slice_walk walk = rs_slice_elements(rs_linked_more_of(l, &l->nodes[line->top])->waits);
        rs_slice item, part[3];
        while (rs_slice_next(&walk, &item)) {
            rs_timeline_wait wait = {.line = (uint32_t)i};
            size_t n = 0;
            int64_t id;
            if (!item.n || item.bytes[0] != '[') continue;
            rs_slice_walk parts = rs_slice_elements(item);
            while (n < 3 && rs_slice_next(&parts, &part[n])) n++;
            if (n < 3 || !rs_slice_time(part[0], &wait.from) || !rs_slice_time(part[1], &wait.to) ||
                !rs_slice_int(part[2], &id))
                continue;
            wait.gpu = rs_linked_find(l, id);
            if (wait.gpu == RS_LINKED_NONE || !l->nodes[wait.gpu].gpu) continue;
            if (wait.from < line->from || wait.from > line->to || wait.to > line->to) continue;
            if (!add_wait(x, wait)) return false;
        }
    }
    return true;
}

static const rs_order by_line_and_time[] = {
    RS_RISING(rs_timeline_wait, line), RS_RISING(rs_timeline_wait, from),    RS_RISING(rs_timeline_wait, to),
    RS_RISING(rs_timeline_wait, gpu),  RS_RISING(rs_timeline_wait, on_line), RS_RISING(rs_timeline_wait, on)};

static const rs_order by_line[] = {RS_RISING(rs_timeline_point, line), RS_RISING(rs_timeline_point, t)};

/* Joins waits that overlap. */
static bool join_waits(rs_timelines *x)
{
    rs_free(x->spans);
    x->spans = rs_malloc(x->n_waits * sizeof *x->spans + 1);
    x->n_spans = 0;
    if (!x->spans) return false;
    RS_SORT(x->waits, x->n_waits, by_line_and_time);
    for (size_t i = 0; i < x->n_waits; i++) {
        const rs_timeline_wait *w = &x->waits[i];
        rs_timeline_span *last = x->n_spans ? &x->spans[x->n_spans - 1] : NULL;
        if (last && last->line == w->line && w->from <= last->to) {
            if (w->to > last->to) last->to = w->to;
            last->n++;
        } else {
            x->spans[x->n_spans++] = (rs_timeline_span){w->line, RS_LINKED_NONE, w->from, w->to, i, 1};
        }
    }
    size_t at = 0;
    for (size_t i = 0; i <= x->n_lines; i++) {
        while (at < x->n_spans && x->spans[at].line < i) at++;
        x->span_first[i] = (uint32_t)at;
    }
    return true;
}

/* Points of a line that come in order. */
typedef struct run {
    const int64_t *next, *end;
    size_t stride; /* bytes from one to the next */
} run;

static run run_of(const void *first, size_t n, size_t stride)
{
    const char *at = first;
    if (!n) return (run){NULL, NULL, stride};
    return (run){(const int64_t *)at, (const int64_t *)(at + n * stride), stride};
}

/* The points of all runs within the line, sorted, each once. */
static size_t merge_runs(const rs_timeline *line, uint32_t index, run *runs, size_t n_runs,
                         rs_timeline_point *out)
{
    size_t kept = 0;
    for (;;) {
        run *least = NULL;
        for (size_t i = 0; i < n_runs; i++)
            if (runs[i].next != runs[i].end && (!least || *runs[i].next < *least->next)) least = &runs[i];
        if (!least) return kept;
        int64_t t = *least->next;
        least->next = (const int64_t *)((const char *)least->next + least->stride);
        if (t < line->from || t > line->to) continue;
        if (!kept || out[kept - 1].t != t) out[kept++] = (rs_timeline_point){index, t};
    }
}

/* All points of all lines, sorted, each once. */
static bool collect_points(rs_timelines *x, bool wait_ends, rs_timeline_point **out, size_t *n_out)
{
    size_t n = 0, extra = 0;
    rs_timeline_point *p =
        rs_malloc((x->n_items + 2 * x->n_lines + 2 * x->n_spans + x->n_extra + 1) * sizeof *p);
    if (!p) return false;
    RS_SORT(x->extra, x->n_extra, by_line);
    for (uint32_t i = 0; i < x->n_lines; i++) {
        const rs_timeline *line = &x->lines[i];
        size_t span = x->span_first[i], n_spans = x->span_first[i + 1] - span, first = extra;
        while (extra < x->n_extra && x->extra[extra].line == i) extra++;
        run runs[] = {
            run_of(&x->items[line->first].start, line->n, sizeof *x->items),
            run_of(&line->to, 1, sizeof line->to),
            run_of(n_spans ? &x->spans[span].from : NULL, n_spans, sizeof *x->spans),
            run_of(extra > first ? &x->extra[first].t : NULL, extra - first, sizeof *x->extra),
            run_of(&line->from, wait_ends, sizeof line->from),
            run_of(wait_ends && n_spans ? &x->spans[span].to : NULL, wait_ends ? n_spans : 0,
                   sizeof *x->spans),
        };
        n += merge_runs(line, i, runs, sizeof runs / sizeof *runs, p + n);
    }
    *out = p;
    *n_out = n;
    return true;
}

bool rs_timelines_waits_at(const rs_timelines *x, uint32_t line, int64_t t)
{
    size_t at, first = x->span_first[line]; /* at: the first that begins at t or later */
    RS_SEARCH_BETWEEN(at, first, x->span_first[line + 1], x->spans[at].from < t);
    return at > first && x->spans[at - 1].to >= t;
}

/* The moments at which segments end, from the points known so far. */
static bool index_segment_ends(rs_timelines *x)
{
    rs_timeline_point *points;
    size_t n, kept = 0, at = 0;
    if (!join_waits(x) || !collect_points(x, false, &points, &n)) return false;
    rs_free(x->ends);
    x->ends = rs_malloc(n * sizeof *x->ends + 1);
    for (uint32_t i = 0; x->ends && i <= x->n_lines; i++) {
        x->ends_first[i] = (uint32_t)kept;
        for (; at < n && points[at].line == i; at++)
            if (points[at].t > x->lines[i].from && !rs_timelines_waits_at(x, i, points[at].t))
                x->ends[kept++] = points[at].t;
    }
    rs_free(points);
    return x->ends != NULL;
}

bool rs_timelines_end_in(const rs_timelines *x, uint32_t line, int64_t from, int64_t to, int64_t *end)
{
    size_t low, last = x->ends_first[line + 1];
    RS_SEARCH_BETWEEN(low, x->ends_first[line], last, x->ends[low] < from);
    if (low == last || x->ends[low] > to) return false;
    *end = x->ends[low];
    return true;
}

/* ---- waits for other threads ------------------------------------------------------------------------ */

/* The last thing known of a thread before one of its nodes: a start or an end. */
static bool last_known(rs_timelines *x, rs_timeline *line, uint32_t item, int64_t *known)
{
    int64_t t = x->items[item].start;
    if (item == line->first) return false;
    *known = x->items[item - 1].start;
    const int64_t *ends = item_ends(x, line);
    size_t low;
    RS_SEARCH(low, line->n, ends[low] <= t);
    if (low && ends[low - 1] > *known) *known = ends[low - 1];
    return true;
}

/* One that was awaited: it becomes the end of a segment of its line. Also where nothing was waited for, as the waiter
 * depends on it in any case. */
static bool wait_for(rs_timelines *x, uint32_t line, uint32_t item, int64_t id)
{
    uint32_t on = rs_linked_find(x->linked, id), other = on == RS_LINKED_NONE ? on : x->item_of[on];
    int64_t start = x->items[item].start, known, q;
    if (other == RS_LINKED_NONE) return true;
    uint32_t on_line = x->line_of[x->places->top[on]];
    int64_t end = x->items[other].end;
    if (on_line == line || end > start) return true;
    bool found = rs_timelines_end_in(x, on_line, end, start, &q), later = true;
    if (!found) q = end;
    if (!found && !rs_timelines_add_point(x, on_line, q)) return false;
    bool any = last_known(x, &x->lines[line], item, &known);
    if (any) later = q > known;
    if (!later) return true;
    /* A line that nothing comes before begins where what it waits for has ended. */
    return add_wait(x, (rs_timeline_wait){line, any ? known : q, q, RS_LINKED_NONE, on_line, q});
}

static bool find_thread_waits(rs_timelines *x)
{
    for (uint32_t i = 0; i < x->n_lines; i++) {
        for (uint32_t k = x->lines[i].first; k < x->lines[i].first + x->lines[i].n; k++) {
            const rs_linked_more *n = rs_linked_more_of(x->linked, &x->linked->nodes[x->items[k].node]);
            if (n->inter_thread < 0) continue;
            if (!n->inter_threads.bytes) {
                if (!wait_for(x, i, k, n->inter_thread)) return false;
                continue;
            }
            rs_slice_walk walk = rs_slice_elements(n->inter_threads);
            rs_slice element;
            int64_t id;
            while (rs_slice_next(&walk, &element))
                if (rs_slice_int(element, &id) && !wait_for(x, i, k, id)) return false;
        }
    }
    return true;
}

/* Whether it is the wait of a line's first node: those alone take no time. */
static bool opens_line(const rs_timelines *x, const rs_timeline_wait *w)
{
    return w->gpu == RS_LINKED_NONE && w->from == w->to && w->to <= x->items[x->lines[w->line].first].start;
}

/* Where lines begin: with the end of what their first node waited for, or, when nothing is known of that,
 * with the recording. */
static void begin_lines(rs_timelines *x)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < x->n_lines; i++)
        if (x->lines[i].from < first) first = x->lines[i].from;
    for (size_t i = 0; i < x->n_lines; i++) x->lines[i].from = first;
    for (size_t i = 0; i < x->n_waits; i++) {
        const rs_timeline_wait *w = &x->waits[i];
        if (opens_line(x, w) && w->to > x->lines[w->line].from) x->lines[w->line].from = w->to;
    }
    for (size_t i = 0; i < x->n_waits; i++)
        if (opens_line(x, &x->waits[i])) x->waits[i].from = x->waits[i].to = x->lines[x->waits[i].line].from;
}

bool rs_timelines_make(rs_timelines *x)
{
    size_t n = x->linked->n_nodes;
    x->lines = rs_malloc(n * sizeof *x->lines + 1);
    x->line_of = rs_malloc(n * sizeof *x->line_of + 1);
    x->item_of = rs_malloc(n * sizeof *x->item_of + 1);
    if (!x->lines || !x->line_of || !x->item_of) return false;
    number_lines(x);
    x->items = rs_malloc(x->n_items * sizeof *x->items + 1);
    x->item_ends = rs_malloc(x->n_items * sizeof *x->item_ends + 1);
    x->span_first = rs_calloc(x->n_lines + 2, sizeof *x->span_first);
    x->ends_first = rs_calloc(x->n_lines + 2, sizeof *x->ends_first);
    x->element_first = rs_calloc(x->n_lines + 2, sizeof *x->element_first);
    if (!x->items || !x->item_ends || !x->span_first || !x->ends_first || !x->element_first) return false;
    fill_lines(x);
    if (!read_waits(x) || !index_segment_ends(x) || !find_thread_waits(x)) return false;
    begin_lines(x);
    return index_segment_ends(x);
}

/* ---- segments --------------------------------------------------------------------------------------- */

typedef struct cutting {
    rs_timelines *x;
    rs_convert_times *out;
    uint32_t line, last; /* last: the node or gap before in the chain */
} cutting;

bool rs_convert_add_dep(rs_convert_times *out, uint32_t node, uint32_t on)
{
    return RS_PUSH(out->deps, out->n_deps, out->deps_capacity, (rs_convert_dep){node, on});
}

static int64_t floor_micros(int64_t ns)
{
    return ns >= 0 ? ns / 1000 : -((-(ns + 1)) / 1000) - 1;
}

uint64_t rs_convert_micros(int64_t from, int64_t to)
{
    return to <= from ? 0 : (uint64_t)floor_micros(to) - (uint64_t)floor_micros(from);
}

static bool add_element(cutting *c, uint32_t node, int64_t end)
{
    rs_timelines *x = c->x;
    if (!RS_PUSH(x->elements, x->n_elements, x->elements_capacity, (rs_timeline_element){end, node}))
        return false;
    c->last = node;
    return true;
}

static bool add_gap(cutting *c, int64_t start, int64_t end, bool carries)
{
    rs_convert_times *out = c->out;
    if (!carries && !rs_convert_micros(start, end)) return true;
    size_t index = c->x->linked->n_nodes + out->n_gaps;
    if (index >= RS_LINKED_NONE || !RS_PUSH(out->gaps, out->n_gaps, out->gaps_capacity,
                                            (rs_convert_gap){start, end, c->last, c->x->lines[c->line].top}))
        return false;
    return add_element(c, (uint32_t)index, end);
}

/* The segment from a point to the next. ended: the wait that ends where it begins, or NULL; waits: the
 * segment itself is one. */
static bool cut_segment(cutting *c, uint32_t *item, int64_t from, int64_t to, rs_timeline_span *ended,
                        bool waits)
{
    const rs_timelines *x = c->x;
    const rs_timeline *line = &x->lines[c->line];
    uint32_t first = *item, last = line->first + line->n, carrier = RS_LINKED_NONE;
    bool ok = true, owned = false;
    for (; ok && *item < last && x->items[*item].start <= from; (*item)++) {
        uint32_t node = x->items[*item].node;
        bool final = *item + 1 == last || x->items[*item + 1].start > from;
        owned = final && !x->linked->nodes[node].annotation;
        int64_t end = owned && !waits ? to : from;
        if (*item == first) carrier = node;
        if (c->last != RS_LINKED_NONE && c->last >= x->linked->n_nodes) c->out->gap_before[node] = c->last;
        c->out->micros[node] = rs_convert_micros(from, end);
        ok = add_element(c, node, end);
    }
    if (!ok) return false;
    if (*item == first || !owned) {
        if (!waits) ok = add_gap(c, from, to, ended && carrier == RS_LINKED_NONE);
        if (carrier == RS_LINKED_NONE && ended) carrier = c->last;
    }
    if (ended) ended->carrier = carrier;
    return ok;
}

static bool cut_line(cutting *c, const rs_timeline_point *points, size_t n)
{
    rs_timelines *x = c->x;
    const rs_timeline *line = &x->lines[c->line];
    size_t span = x->span_first[c->line], last_span = x->span_first[c->line + 1];
    uint32_t item = line->first;
    c->last = x->items[line->first].node == line->top ? RS_LINKED_NONE : line->top;
    for (size_t i = 0; i < n; i++) {
        int64_t from = points[i].t, to = i + 1 < n ? points[i + 1].t : from;
        rs_timeline_span *ended = NULL;
        if (span < last_span && x->spans[span].to == from) ended = &x->spans[span++];
        bool waits = span < last_span && x->spans[span].from <= from;
        if (!cut_segment(c, &item, from, to, ended, waits)) return false;
    }
    return true;
}

static bool add_waits(const rs_timelines *x, rs_convert_times *out)
{
    for (size_t i = 0; i < x->n_spans; i++) {
        const rs_timeline_span *span = &x->spans[i];
        for (size_t k = 0; k < span->n; k++) {
            const rs_timeline_wait *w = &x->waits[span->first + k];
            uint32_t on = w->gpu == RS_LINKED_NONE ? rs_timelines_ended(x, w->on_line, w->on) : w->gpu;
            if (on == RS_LINKED_NONE || span->carrier == RS_LINKED_NONE || on == span->carrier) continue;
            if (!rs_convert_add_dep(out, span->carrier, on)) return false;
        }
    }
    return true;
}

bool rs_timelines_finish(rs_timelines *x, rs_convert_times *out)
{
    rs_timeline_point *points;
    size_t n, at = 0;
    if (!collect_points(x, true, &points, &n)) return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < x->n_lines; i++) {
        cutting c = {.x = x, .out = out, .line = i};
        size_t first = at;
        while (at < n && points[at].line == i) at++;
        x->element_first[i] = (uint32_t)x->n_elements;
        ok = cut_line(&c, points + first, at - first);
    }
    x->element_first[x->n_lines] = (uint32_t)x->n_elements;
    rs_free(points);
    return ok && add_waits(x, out);
}

uint32_t rs_timelines_ended(const rs_timelines *x, uint32_t line, int64_t t)
{
    size_t low, first = x->element_first[line], last = x->element_first[line + 1];
    RS_SEARCH_BETWEEN(low, first, last, x->elements[low].end < t);
    if (low < last && x->elements[low].end == t) return x->elements[low].node;
    return low > first ? x->elements[low - 1].node : RS_LINKED_NONE;
}

void rs_timelines_clear(rs_timelines *x)
{
    rs_free_all(x->lines, x->items, x->line_of, x->item_of, x->item_ends, x->waits, x->spans, x->span_first,
                x->extra, x->ends, x->ends_first, x->elements, x->element_first);
    *x = (rs_timelines){0};
}
