/* The columns of a skeleton: its nodes by time, their labels, edges and steps. */
#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "engine/skeleton_make.h"
#include "trace/launch_ops.h"

#define MOST_TIES 255

/* ---- columns ------------------------------------------------------------------------------------------- */

static rs_part part_of_work(const rs_maker *m, uint32_t node)
{
    uint32_t row = m->g->row[node >> 1];
    if (rs_maker_is_span(m, node)) return RS_PART_TRANSFER;
    rs_class class = rs_class_at(m->classes, row);
    return class == RS_CLASS_COMM     ? RS_PART_TRANSFER
           : class == RS_CLASS_MEMORY ? RS_PART_COPY
                                      : RS_PART_COMPUTE;
}

static int32_t step_at(const rs_step *steps, size_t n, int64_t pid, int64_t ns)
{
    size_t low;
    RS_SEARCH(low, n, steps[low].start <= ns);
    for (; low > 0 && steps[low - 1].reach > ns; low--)
        if (steps[low - 1].end > ns && steps[low - 1].pid == pid) return (int32_t)(low - 1);
    return -1;
}

static int32_t step_numbered(const rs_maker *m, int64_t number)
{
    const uint32_t *at = number < 0 ? NULL : rs_map64_get(&m->step_of_number, (uint64_t)number);
    return at ? (int32_t)*at : -1;
}

int32_t rs_maker_step_of(const rs_maker *m, const rs_step *steps, size_t n, uint32_t node)
{
    const rs_events *e = m->e;
    uint32_t row = m->g->row[node >> 1], work = m->own.work_of[node >> 1];
    if (row == RS_NO_ROW || n == 0) return -1;
    if (work != RS_NO_ITEM) {
        uint32_t launch = m->own.w->launch[work];
        if (launch == RS_NO_ROW) return step_numbered(m, m->own.w->step[work]);
        return step_at(steps, n, e->threads[e->thread[launch]].pid, e->start[launch]);
    }
    return step_at(steps, n, e->threads[e->thread[row]].pid, rs_node_time(m->g, node));
}

/* The number of the lane; UINT16_MAX when out of memory. */
static uint16_t lane_of(rs_maker *m, uint32_t node)
{
    uint32_t row = m->g->row[node >> 1], work = m->own.work_of[node >> 1];
    const rs_thread *t = row == RS_NO_ROW ? NULL : &m->e->threads[m->e->thread[row]];
    bool span = rs_maker_is_span(m, node);
    rs_skeleton_lane lane = {.device = -1, .stream = -1, .is_thread = work == RS_NO_ITEM && !span};
    if (span) {
        lane.pid = t->pid; /* whichever worker took it up */
    } else if (work != RS_NO_ITEM) {
        lane.device = m->own.w->device[work];
        lane.stream = m->own.w->stream[work];
        if (lane.device < 0) lane.pid = t->pid;
    } else if (t) {
        lane.pid = t->pid;
        lane.tid = t->tid;
    }
    /* the sign of the first number tells streams from threads */
    int64_t first = lane.is_thread ? lane.pid : (lane.device < 0 ? lane.pid : lane.device) ^ INT64_MIN;
    if (!rs_lanes_add(&m->lanes, first, lane.is_thread ? lane.tid : lane.stream, 0, 0)) return UINT16_MAX;
    size_t at = m->lanes.entries[--m->lanes.n].lane;
    if (at >= UINT16_MAX) at = UINT16_MAX - 1; /* so many are no streams or threads of a real job */
    if (at == m->s->n_lanes && !RS_PUSH(m->s->lanes, m->s->n_lanes, m->lanes_capacity, lane))
        return UINT16_MAX;
    return (uint16_t)at;
}

/* What the work's launch is called under: the operator around it, else the call. An id of the events. */
static uint32_t operator_of(const rs_maker *m, const rs_links *links, const uint32_t *op, uint32_t launch)
{
    size_t low;
    if (launch == RS_NO_ROW) return RS_NO_STRING;
    RS_SEARCH(low, links->n_calls, links->call[low] < launch);
    if (low == links->n_calls || links->call[low] != launch || op[low] == RS_NO_ROW)
        return m->e->name[launch];
    return m->e->name[op[low]];
}

/* The number of a label, whose texts are ids of the events. *ok becomes false when out of memory. */
static uint32_t label_of(rs_maker *m, rs_skeleton_label l, bool *ok)
{
    rs_skeleton *s = m->s;
    bool is_new = false;
    uint32_t *pair = rs_map64_put(&m->pairs, (uint64_t)l.name << 32 | l.operator_name, &is_new);
    if (pair && is_new) *pair = (uint32_t)m->pairs.n - 1;
    uint64_t rest = (uint64_t)l.lane << 16 | (uint64_t)l.part << 8 | l.flags;
    uint32_t *at = pair ? rs_map64_put(&m->labels, (uint64_t)*pair << 32 | rest, &is_new) : NULL;
    if (!at) *ok = false;
    if (!*ok || !is_new) return at ? *at : 0;
    l.name = rs_pool_add(&s->pool, m->e, l.name, ok);
    l.operator_name = rs_pool_add(&s->pool, m->e, l.operator_name, ok);
    if (!*ok || !RS_GROW_ONE(s->labels, s->n_labels, m->labels_capacity)) {
        *ok = false;
        return 0;
    }
    s->labels[s->n_labels] = l;
    return *at = (uint32_t)s->n_labels++;
}

static bool make_columns(rs_maker *m)
{
    rs_skeleton *s = m->s;
    size_t n = m->n_units, k = m->n_edges;
    s->n = n;
    s->n_blocks = (n >> RS_SKELETON_BLOCK) + 1;
    s->since = rs_malloc(n * sizeof *s->since);
    s->block = rs_calloc(s->n_blocks, sizeof *s->block);
    s->duration = rs_malloc(n * sizeof *s->duration);
    m->columns.label.to = &s->label;
    m->columns.row.to = &s->row;
    m->columns.step.to = &s->step;
    m->columns.first.to = &s->first;
    m->columns.source.to = &s->source;
    m->columns.base.to = &s->base;
    s->tie = rs_malloc(k + 1);
    s->ties = rs_malloc(MOST_TIES * sizeof *s->ties);
    return s->since && s->block && s->duration && s->tie && s->ties;
}

static bool put_duration(rs_maker *m, uint32_t i, int64_t ns)
{
    rs_skeleton *s = m->s;
    bool is_long = ns >= RS_SKELETON_LONG;
    s->duration[i] = is_long ? RS_SKELETON_LONG : (uint32_t)ns;
    if (!is_long) return true;
    return RS_PUSH(s->longs, s->n_longs, m->longs_capacity, (rs_skeleton_long){.node = i, .ns = ns});
}

/* The first node of a block lies in the middle of what its times can be. */
static bool put_time(rs_maker *m, uint32_t i, int64_t ns)
{
    rs_skeleton *s = m->s;
    int64_t *block = &s->block[i >> RS_SKELETON_BLOCK];
    if (!(i & ((1u << RS_SKELETON_BLOCK) - 1))) *block = rs_sub_sat(ns, (int64_t)1 << 31);
    int64_t since = rs_sub_sat(ns, *block);
    bool is_far = since < 0 || since >= RS_SKELETON_LONG;
    s->since[i] = is_far ? RS_SKELETON_LONG : (uint32_t)since;
    if (!is_far) return true;
    return RS_PUSH(s->far, s->n_far, m->far_capacity, (rs_skeleton_long){.node = i, .ns = ns});
}

/* Gives an edge its tie. False where there are too many: a graph has forty. */
static bool put_tie(rs_maker *m, size_t at, const rs_unit_edge *edge)
{
    rs_skeleton *s = m->s;
    uint8_t *place = &m->tie_of[edge->part][edge->cost][edge->origin];
    if (!*place) {
        if (s->n_ties == MOST_TIES) return false;
        s->ties[s->n_ties++] = (rs_skeleton_tie){edge->part, edge->cost, edge->origin};
        *place = (uint8_t)s->n_ties;
    }
    s->tie[at] = (uint8_t)(*place - 1);
    return true;
}

/* The edges of a unit, which stand together in m->edges, become those of the next node. */
static bool put_edges(rs_maker *m, const rs_unit_edge *edges, size_t n)
{
    rs_skeleton *s = m->s;
    rs_bit_packer_add(&m->columns.first, (uint32_t)s->n_edges);
    for (size_t k = 0; k < n; k++) {
        size_t at = s->n_edges++;
        rs_bit_packer_add(&m->columns.source, m->place[edges[k].from] << 1 | edges[k].at_end);
        rs_bit_packer_add(&m->columns.base, edges[k].base);
        if (!put_tie(m, at, &edges[k])) return false;
    }
    return true;
}

/* binding: the unit's first edge; NULL: it has none. */
static bool put_node(rs_maker *m, uint32_t i, const rs_unit_edge *binding, uint32_t operator_name)
{
    uint32_t node = m->node[m->order[i]], row = m->g->row[node >> 1];
    bool gpu = rs_maker_is_work(m, node), ok = true;
    int64_t ns = gpu ? rs_own_between(&m->own, node, node + 1) : 0;
    rs_skeleton_label label = {.name = row == RS_NO_ROW ? RS_NO_STRING : m->e->name[row],
                               .operator_name = gpu       ? operator_name
                                                : binding ? binding->name
                                                          : RS_NO_STRING,
                               .lane = lane_of(m, node),
                               .part = (uint8_t)(gpu ? part_of_work(m, node) : RS_PART_HOST),
                               .flags = !gpu                      ? 0
                                        : m->own.async[node >> 1] ? RS_NODE_WORK | RS_NODE_ASYNC
                                                                  : RS_NODE_WORK};
    if (label.lane == UINT16_MAX) return false;
    if (binding && binding->part == RS_PART_PINNED) label.flags |= RS_NODE_PINNED;
    rs_bit_packer_add(&m->columns.row, row);
    rs_bit_packer_add(&m->columns.label, label_of(m, label, &ok));
    return ok && put_time(m, i, rs_node_time(m->g, node)) && put_duration(m, i, ns < 0 ? 0 : ns);
}

/* m->edges stand by unit, the nodes by time. begin: by unit, its first in m->edges. */
static bool put_all(rs_maker *m, const rs_step *steps, size_t n_steps, const rs_links *links,
                    const uint32_t *op, const uint32_t *begin)
{
    rs_skeleton *s = m->s;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t unit = m->order[i], node = m->node[unit], work = m->own.work_of[node >> 1];
        const rs_unit_edge *edges = m->edges ? &m->edges[begin[unit]] : NULL; /* none at all */
        size_t n = begin[unit + 1] - begin[unit];
        uint32_t launch = work == RS_NO_ITEM ? RS_NO_ROW : m->own.w->launch[work];
        rs_bit_packer_add(&m->columns.step, (uint32_t)(rs_maker_step_of(m, steps, n_steps, node) + 1));
        ok = put_edges(m, edges, n) &&
             put_node(m, i, n ? edges : NULL,
                      launch == RS_NO_ROW ? RS_NO_STRING : operator_of(m, links, op, launch));
    }
    rs_bit_packer_add(&m->columns.first, (uint32_t)s->n_edges);
    struct rs_maker_columns *c = &m->columns;
    return ok && rs_bit_packer_end(&c->label) && rs_bit_packer_end(&c->row) && rs_bit_packer_end(&c->step) &&
           rs_bit_packer_end(&c->first) && rs_bit_packer_end(&c->source) && rs_bit_packer_end(&c->base);
}

/* Gives back what columns have too much. */
static void fit(rs_skeleton *s)
{
    rs_skeleton_lane *lanes = rs_realloc(s->lanes, (s->n_lanes + 1) * sizeof *lanes);
    if (lanes) s->lanes = lanes;
    rs_skeleton_label *labels = rs_realloc(s->labels, (s->n_labels + 1) * sizeof *labels);
    if (labels) s->labels = labels;
    rs_skeleton_tie *ties = rs_realloc(s->ties, (s->n_ties + 1) * sizeof *ties);
    if (ties) s->ties = ties;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* The last of the thread's points that is not later; node 0 if there is none. */
static uint32_t point_before(const rs_skeleton *s, const uint32_t *points, size_t n, int64_t ns)
{
    size_t low;
    RS_SEARCH(low, n, rs_skeleton_time(s, points[low]) <= ns);
    return low ? points[low - 1] : 0;
}

/* The work of a step: whether it has any, and when the communication of it that the host runs is over; RS_NO_TIME: it has none. */
typedef struct work_of_step {
    bool any;
    int64_t over;
} work_of_step;

static void find_work(const rs_maker *m, work_of_step *work, size_t n)
{
    const rs_skeleton *s = m->s;
    rs_packed_reader steps = {.of = &s->step};
    for (size_t k = 0; k < n; k++) work[k] = (work_of_step){false, RS_NO_TIME};
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t node = m->node[m->order[i]], step = rs_packed_read(&steps, i);
        if (!step || !rs_maker_is_work(m, node)) continue;
        work_of_step *w = &work[step - 1];
        w->any = true;
        if (rs_maker_is_span(m, node) && rs_skeleton_end(s, i) > w->over) w->over = rs_skeleton_end(s, i);
    }
}

/* Whether the thread of a step did nothing from its last point on but wait for communication, which is over when the step is, to a
 * quarter of the wait. */
static bool ends_in_wait(const rs_skeleton *s, const rs_skeleton_step *t, int64_t over)
{
    int64_t since = rs_skeleton_time(s, t->last);
    if (!t->last || over <= since) return false;
    int64_t apart = over > t->end ? rs_sub_sat(over, t->end) : rs_sub_sat(t->end, over);
    return apart <= rs_sub_sat(over, since) / 4;
}

static bool is_point(const rs_maker *m, uint32_t i)
{
    return !rs_maker_is_work(m, m->node[m->order[i]]);
}

static uint32_t thread_of(const rs_maker *m, uint32_t i)
{
    return m->e->thread[m->g->row[m->node[m->order[i]] >> 1]];
}

static bool fill_steps(rs_maker *m, const rs_step *steps, size_t n)
{
    rs_skeleton *s = m->s;
    RS_LOCAL work_of_step *work = rs_malloc((n + 1) * sizeof *work);
    size_t n_threads = m->e->n_threads;
    RS_LOCAL uint32_t *first = rs_calloc(n_threads + 2, sizeof *first),
                      *points = rs_malloc((s->n + 1) * sizeof *points);
    s->steps = rs_malloc((n + 1) * sizeof *s->steps);
    bool ok = work && first && points && s->steps;
    if (ok) find_work(m, work, n);
    for (uint32_t i = 1; ok && i < s->n; i++)
        if (is_point(m, i)) first[thread_of(m, i) + 2]++;
    for (size_t i = 1; ok && i <= n_threads; i++) first[i + 1] += first[i];
    for (uint32_t i = 1; ok && i < s->n; i++)
        if (is_point(m, i)) points[first[thread_of(m, i) + 1]++] = i;
    for (size_t k = 0; ok && k < n; k++) {
        uint32_t thread = m->e->thread[steps[k].row];
        const uint32_t *of = points + first[thread];
        size_t n_of = first[thread + 1] - first[thread];
        rs_skeleton_step *t = &s->steps[s->n_steps++];
        *t = (rs_skeleton_step){.number = steps[k].number, .start = steps[k].start, .end = steps[k].end};
        t->mark = point_before(s, of, n_of, t->start);
        t->after = rs_sub_sat(t->start, rs_skeleton_time(s, t->mark));
        t->last = point_before(s, of, n_of, t->end);
        /* a step whose thread has no point ends with its work, if it has any, and so does one that waits for it */
        t->tail = rs_sub_sat(t->last || !work[k].any ? t->end : t->start, rs_skeleton_time(s, t->last));
        if (ends_in_wait(s, t, work[k].over)) t->tail = 0;
    }
    return ok;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

rs_status rs_maker_fill(rs_maker *m, const rs_step *steps, size_t n_steps, rs_error *err)
{
    const rs_links *links;
    uint32_t *op = NULL; /* by call of the links: the row of the operator around it */
    RS_TRY(rs_trace_links(m->trace, &links, err));
    RS_TRY(rs_launch_ops(m->trace, links, &op, err));
    RS_LOCAL uint32_t *begin = rs_calloc(m->n_units + 2, sizeof *begin);
    bool ok = begin && make_columns(m);
    for (size_t i = 0; ok && i < m->n_edges; i++) begin[m->edges[i].to + 1]++;
    for (size_t i = 0; ok && i < m->n_units; i++) begin[i + 1] += begin[i];
    ok = ok && put_all(m, steps, n_steps, links, op, begin);
    rs_free(m->edges);
    m->edges = NULL;
    ok = ok && fill_steps(m, steps, n_steps);
    if (ok) fit(m->s);
    rs_free(op);
    return ok ? RS_OK : rs_fail_nomem(err, "skeleton");
}
