/* Paths through the tree of causes, and what was waited for. */
#include "engine/forest.h"

#include "base/interval.h"
#include "base/memory.h"

const char *const rs_wait_names[RS_N_WAITS] = {"communication", "idle", "host"};

static int64_t at(const rs_forest *f, uint32_t moment)
{
    return rs_moment_time(f->t, moment);
}

static rs_link link_to(const rs_forest *f, uint32_t moment)
{
    return rs_engine_link(f->e, f->w, f->t, moment);
}

bool rs_forest_chain(const rs_forest *f, uint32_t moment, int64_t since, rs_link_sink sink, void *context,
                     uint64_t *steps)
{
    while (at(f, moment) > since) {
        rs_link l = link_to(f, moment);
        int64_t left = rs_sub_sat(at(f, moment), since);
        ++*steps;
        if (l.from == RS_NO_CAUSE || at(f, l.from) <= since) return sink(context, &l, left);
        if (!sink(context, &l, rs_sub_sat(at(f, moment), at(f, l.from)))) return false;
        moment = l.from;
    }
    return true;
}

bool rs_forest_difference(const rs_forest *f, uint32_t late, uint32_t early, rs_link_sink sink, void *context,
                          uint64_t *steps)
{
    bool late_ends = false, early_ends = false; /* at a root */
    while (late != early && !(late_ends && early_ends)) {
        bool climb_late = early_ends || (!late_ends && at(f, late) >= at(f, early));
        uint32_t *moment = climb_late ? &late : &early;
        rs_link l = link_to(f, *moment);
        ++*steps;
        if (l.from == RS_NO_CAUSE) {
            *(climb_late ? &late_ends : &early_ends) = true;
            continue;
        }
        int64_t ns = rs_sub_sat(at(f, *moment), at(f, l.from));
        if (!sink(context, &l, climb_late ? ns : rs_sub_sat(0, ns))) return false;
        *moment = l.from;
    }
    if (late == early) return true;
    rs_link roots = {.from = RS_NO_CAUSE, .node = late >> 1, .part = RS_PART_WINDOW, .edge = RS_NO_CAUSE};
    int64_t ns = rs_sub_sat(at(f, late), at(f, early));
    return ns == 0 || sink(context, &roots, ns);
}

/* ---- ties ---------------------------------------------------------------------------------------------- */

const char *const rs_tie_names[RS_N_TIES] = {"work",   "meeting",  "thread",   "handover", "stream",
                                             "launch", "event",    "sync",     "queue",    "call",
                                             "device", "repeated", "occupied", "what_if",  "nothing"};

static rs_tie tie_of_order(const rs_skeleton *s, uint32_t target, uint32_t k)
{
    if (rs_edge_part(s, k) == RS_PART_PINNED) return RS_TIE_NOTHING;
    if (rs_skeleton_is_work(s, target)) return RS_TIE_STREAM;
    uint32_t source = rs_edge_source(s, k) >> 1;
    return source && rs_skeleton_at(s, source)->lane != rs_skeleton_at(s, target)->lane ? RS_TIE_HANDOVER
                                                                                        : RS_TIE_THREAD;
}

rs_tie rs_forest_tie(const rs_forest *f, const rs_link *l)
{
    const rs_engine *e = f->e;
    if (l->from == RS_NO_CAUSE) return RS_TIE_NOTHING;
    if (l->edge == RS_NO_CAUSE) return l->from >> 1 == l->node ? RS_TIE_WORK : RS_TIE_MEETING;
    if (l->edge & RS_CAUSE_EXTRA) return RS_TIE_QUESTION;
    if (l->edge >= e->edge_base[e->n_ranks])
        return e->added[l->edge - e->edge_base[e->n_ranks]].occupied ? RS_TIE_OCCUPIED : RS_TIE_REPEATED;
    size_t rank = rs_engine_rank_of(e, l->node);
    const rs_skeleton *s = e->ranks[rank];
    uint32_t k = l->edge - e->edge_base[rank], target = l->node - e->node_base[rank];
    switch (rs_edge_origin(s, k)) {
    case RS_ORIGIN_LAUNCH: return RS_TIE_LAUNCH;
    case RS_ORIGIN_TOLD: return rs_skeleton_is_work(s, target) ? RS_TIE_EVENT : RS_TIE_SYNC;
    case RS_ORIGIN_QUEUE: return RS_TIE_QUEUE;
    case RS_ORIGIN_CALL: return RS_TIE_CALL;
    case RS_ORIGIN_DEVICE: return RS_TIE_DEVICE;
    case RS_ORIGIN_REPEATED: return RS_TIE_REPEATED;
    default: return tie_of_order(s, target, k);
    }
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

typedef struct waits {
    rs_wait *items;
    size_t n, capacity;
} waits;

static bool add(const rs_forest *f, waits *w, uint32_t rank, uint32_t node, uint32_t until, int64_t since)
{
    int64_t ns = rs_sub_sat(at(f, until), since);
    if (ns <= 0) return true;
    return RS_APPEND(w, (rs_wait){.rank = rank, .node = node, .until = until, .since = since, .ns = ns});
}

static bool find_communication(const rs_forest *f, uint32_t rank, waits *w)
{
    const rs_engine *e = f->e;
    for (uint32_t node = e->node_base[rank]; node < e->node_base[rank + 1]; node++) {
        if (!(e->kind[node] & RS_ENGINE_MEETS)) continue;
        uint32_t last = e->members[f->t->last[e->meeting_of[rs_engine_member(e, node)]]];
        if (last != node && !add(f, w, rank, node, last << 1, rs_times_start(f->t, node))) return false;
    }
    return true;
}

/* By device: its work in order of start; a gap ends with the work that starts next. */
static bool find_idle(const rs_forest *f, uint32_t rank, waits *w)
{
    const rs_skeleton *s = f->e->ranks[rank];
    uint32_t base = f->e->node_base[rank];
    if (s->comm->on_host) return true; /* no device */
    RS_LOCAL rs_keyed *keys = rs_malloc((s->n + 1) * sizeof *keys);
    size_t n = 0;
    for (uint32_t i = 0; keys && i < s->n; i++)
        if (f->e->kind[base + i] & RS_ENGINE_WORK) keys[n++] = (rs_keyed){rs_times_start(f->t, base + i), i};
    bool ok = keys && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++)
        keys[i].key = s->lanes[rs_skeleton_at(s, keys[i].value)->lane].device;
    ok = ok && rs_keyed_sort(keys, n);
    int64_t reach = 0;
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t node = base + keys[i].value;
        bool first = i == 0 || keys[i].key != keys[i - 1].key;
        if (!first) ok = add(f, w, rank, node, node << 1, reach);
        if (first || rs_times_end(f->t, node) > reach) reach = rs_times_end(f->t, node);
    }
    return ok;
}

/* A call that was bound by what it waited for waits from its start, which lies `base` behind the point before
 * it on its thread. */
static bool find_host(const rs_forest *f, uint32_t rank, waits *w)
{
    const rs_engine *e = f->e;
    const rs_skeleton *s = e->ranks[rank];
    uint32_t base = e->node_base[rank];
    rs_packed_reader firsts = {.of = &s->first};
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t edge = rs_times_cause_among(f->t, rank, i, rs_packed_read(&firsts, i)),
                 k = edge - e->edge_base[rank];
        if (edge == RS_NO_CAUSE || edge & RS_CAUSE_EXTRA || edge >= e->edge_base[e->n_ranks]) continue;
        if (rs_edge_cost(s, k) != RS_COST_ANSWER) continue;
        RS_EDGES_INTO(s, i, own) {
            if (rs_edge_cost(s, own) != RS_COST_CALL) continue;
            uint32_t until = (base + (rs_edge_source(s, k) >> 1)) << 1 | (rs_edge_source(s, k) & 1);
            uint32_t before = (base + (rs_edge_source(s, own) >> 1)) << 1 | (rs_edge_source(s, own) & 1);
            if (!add(f, w, rank, base + i, until, rs_add_sat(at(f, before), rs_edge_base(s, own))))
                return false;
            break;
        }
    }
    return true;
}

rs_status rs_waits_find(const rs_forest *f, rs_wait_kind kind, size_t rank, rs_wait **out, size_t *n,
                        rs_error *err)
{
    waits w = {0};
    uint32_t r = (uint32_t)rank;
    bool ok = kind == RS_WAIT_COMMUNICATION ? find_communication(f, r, &w)
              : kind == RS_WAIT_IDLE        ? find_idle(f, r, &w)
                                            : find_host(f, r, &w);
    if (!ok) {
        rs_free(w.items);
        return rs_fail_nomem(err, "waits");
    }
    *out = w.items;
    *n = w.n;
    return RS_OK;
}
