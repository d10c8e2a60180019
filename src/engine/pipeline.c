#include "engine/pipeline.h"

#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/search.h"
#include "base/try.h"
#include "match/collective_wait.h"

void rs_pipelines_clear(rs_pipelines *p)
{
    rs_stages_clear(&p->stages);
    rs_free_all(p->steps, p->passes);
    *p = (rs_pipelines){0};
}

/* ---- what ranks have -------------------------------------------------------------------------------------- */

/* A rank on the aligned clock. */
typedef struct lane {
    const rs_passes *of;
    int64_t shift;
    rs_interval *busy, *waits; /* united: it computes or transfers for a collective; it waits in one */
    size_t n_busy, n_waits;
    uint8_t *kind;       /* by pass, as rs_pass_kind */
    uint32_t *unmatched; /* by pass: messages without the other end ahead of it */
    size_t at;           /* the first pass that no step has taken */
} lane;

/* What a pass needs of another rank's. */
typedef struct need {
    uint32_t to, pass;         /* rank and pass that need it */
    uint32_t from, of;         /* rank and pass that bring it */
    int64_t sent, asked, came; /* ns, aligned: the sender begins, the receiver, and both are done */
} need;

typedef struct message {
    uint32_t to, op; /* the receiver and its operation */
    need need;
} message;

typedef struct finder {
    const rs_coll_job *job;
    rs_pipelines *out;
    lane *lanes;
    size_t n;
    message *messages;
    size_t n_messages, messages_capacity;
    need *needs; /* by rank and pass */
    size_t n_needs, needs_capacity;
} finder;

typedef struct spans {
    rs_interval *items;
    size_t n, capacity;
} spans;

static bool add_span(spans *s, int64_t start, int64_t end)
{
    return start >= end || RS_APPEND(s, (rs_interval){start, end});
}

static bool unite(spans *s)
{
    if (s->n && !rs_intervals_sort(s->items, s->n)) return false;
    s->n = rs_intervals_unite(s->items, s->n);
    return true;
}

static bool add_member(const finder *f, const rs_coll_instance *c, const rs_coll_arrival *a, spans *busy,
                       spans *waits)
{
    const int64_t start = rs_coll_start(f->job, a), end = rs_coll_end(f->job, a);
    int64_t ready = start;
    if (rs_coll_compares(f->job, c)) {
        rs_coll_wait w = rs_coll_measure(f->job, c);
        ready = w.last < end ? w.last : end;
        if (ready < start) ready = start;
    }
    return add_span(&waits[a->rank], start, ready) && add_span(&busy[a->rank], ready, end);
}

static bool fill_lane(lane *l, const rs_passes *p, int64_t shift, spans *busy, spans *waits)
{
    bool ok = true;
    l->of = p;
    l->shift = shift;
    for (size_t i = 0; ok && i < p->n_busy; i += 2)
        ok = add_span(busy, rs_add_sat(p->busy[i], shift), rs_add_sat(p->busy[i + 1], shift));
    ok = ok && unite(busy) && unite(waits);
    l->busy = busy->items;
    l->n_busy = busy->n;
    l->waits = waits->items;
    l->n_waits = waits->n;
    busy->items = waits->items = NULL;
    l->kind = rs_malloc(p->n + 1);
    l->unmatched = rs_calloc(p->n + 1, sizeof *l->unmatched);
    if (!ok || !l->kind || !l->unmatched) return false;
    for (size_t i = 0; i < p->n; i++) l->kind[i] = p->items[i].kind;
    return true;
}

static bool fill_lanes(finder *f, rs_passes *const *ranks)
{
    spans *busy = rs_calloc(f->n + 1, sizeof *busy), *waits = rs_calloc(f->n + 1, sizeof *waits);
    f->lanes = rs_calloc(f->n + 1, sizeof *f->lanes);
    bool ok = busy && waits && f->lanes;
    for (size_t i = 0; ok && i < f->job->n; i++) {
        const rs_coll_instance *c = &f->job->instances[i];
        if (rs_coll_shape_at(f->job, &f->job->arrivals[c->first])->kind == RS_COLL_SEND_RECV) continue;
        for (uint32_t k = 0; ok && k < c->n; k++)
            ok = add_member(f, c, &f->job->arrivals[c->first + k], busy, waits);
    }
    for (size_t r = 0; ok && r < f->n; r++)
        ok = fill_lane(&f->lanes[r], ranks[r], f->job->shift[r], &busy[r], &waits[r]);
    for (size_t r = 0; busy && waits && r < f->n; r++) rs_free_all(busy[r].items, waits[r].items);
    rs_free_all(busy, waits);
    return ok;
}

static void clear_finder(finder *f)
{
    for (size_t r = 0; f->lanes && r < f->n; r++)
        rs_free_all(f->lanes[r].busy, f->lanes[r].waits, f->lanes[r].kind, f->lanes[r].unmatched);
    rs_free_all(f->lanes, f->messages, f->needs);
}

static int64_t pass_start(const lane *l, size_t pass)
{
    return rs_add_sat(l->of->items[pass].start, l->shift);
}
static int64_t pass_end(const lane *l, size_t pass)
{
    return rs_add_sat(l->of->items[pass].end, l->shift);
}

/* ---- what passes need of each other ------------------------------------------------------------------------ */

static bool add_message(finder *f, const rs_coll_arrival *from, const rs_coll_arrival *to)
{
    const uint32_t before = f->lanes[from->rank].of->before[from->op];
    if (!before) return true;
    return RS_PUSH(f->messages, f->n_messages, f->messages_capacity,
                   (message){.to = to->rank,
                             .op = to->op,
                             .need = {.to = to->rank,
                                      .from = from->rank,
                                      .of = before - 1,
                                      .sent = rs_coll_start(f->job, from),
                                      .asked = rs_coll_start(f->job, to),
                                      .came = rs_coll_end(f->job, to)}});
}

static const rs_order by_receiver[] = {RS_RISING(message, to), RS_RISING(message, op)};

/* Of two that do not say which of them sends each may have sent to the other: both waited for it. */
static bool find_messages(finder *f)
{
    bool ok = true;
    for (size_t i = 0; ok && i < f->job->n; i++) {
        const rs_coll_instance *c = &f->job->instances[i];
        const rs_coll_arrival *a = &f->job->arrivals[c->first], *b = a + 1;
        if (rs_coll_shape_at(f->job, a)->kind != RS_COLL_SEND_RECV) continue;
        if (c->n != 2) {
            for (uint32_t k = 0; k < c->n; k++)
                f->lanes[a[k].rank].unmatched[f->lanes[a[k].rank].of->before[a[k].op]]++;
            continue;
        }
        bool a_sends = rs_coll_sends(f->job->ranks[a->rank], rs_coll_shape_at(f->job, a));
        bool b_sends = rs_coll_sends(f->job->ranks[b->rank], rs_coll_shape_at(f->job, b));
        ok = (b_sends && !a_sends) || add_message(f, a, b);
        ok = ok && ((a_sends && !b_sends) || add_message(f, b, a));
    }
    if (ok && f->n_messages) RS_SORT(f->messages, f->n_messages, by_receiver);
    return ok;
}

/* Where the weights' gradients are passes of their own, they are the backward passes that nothing is sent after: on every
 * stage that sends gradients, one for two of its forward passes at least. */
static bool tell_weights(finder *f, const rs_stages *stages)
{
    RS_LOCAL uint32_t *base = rs_calloc(f->n + 2, sizeof *base);
    if (!base) return false;
    for (size_t r = 0; r < f->n; r++) base[r + 1] = base[r] + (uint32_t)f->lanes[r].of->n;
    RS_LOCAL uint8_t *sends = rs_calloc(base[f->n] + 1, 1), *parted = rs_calloc(f->n + 1, 1);
    if (!sends || !parted) return false;
    for (size_t i = 0; i < f->n_messages; i++)
        sends[base[f->messages[i].need.from] + f->messages[i].need.of] = 1;
    for (size_t r = 0; r < f->n; r++) {
        const rs_passes *p = f->lanes[r].of;
        size_t forwards = 0, alone = 0;
        for (size_t i = 0; i < p->n; i++) {
            forwards += p->items[i].kind == RS_PASS_FORWARD;
            alone += p->items[i].kind == RS_PASS_BACKWARD && !sends[base[r] + i];
            if (p->items[i].kind == RS_PASS_WEIGHT) parted[stages->line[r]] |= 2; /* annotated */
        }
        parted[stages->line[r]] |= stages->stage[r] > 0 && alone * 2 < forwards ? 2 : 1;
    }
    for (size_t r = 0; r < f->n; r++)
        for (size_t i = 0; stages->stage[r] > 0 && !(parted[stages->line[r]] & 2) && i < f->lanes[r].of->n;
             i++)
            if (f->lanes[r].kind[i] == RS_PASS_BACKWARD && !sends[base[r] + i])
                f->lanes[r].kind[i] = RS_PASS_WEIGHT;
    return true;
}

/* The pass that a message is for: the first of the sender's kind after it that has not done a tenth of its work when it
 * comes, and that none has been found for. SIZE_MAX: none. */
static size_t pass_for(const finder *f, const message *m, const uint8_t *has)
{
    const lane *from = &f->lanes[m->need.from], *to = &f->lanes[m->to];
    uint32_t of = m->need.of;
    while (of > 0 && from->kind[of] == RS_PASS_WEIGHT) of--;
    const uint8_t kind = from->kind[of];
    const int64_t step = from->of->items[of].step;
    for (size_t i = to->of->before[m->op]; i < to->of->n; i++) {
        if (to->of->items[i].step != step) return SIZE_MAX;
        const int64_t start = pass_start(to, i), long_ago = rs_sub_sat(pass_end(to, i), start) / 10;
        if (to->kind[i] == kind && !has[i] && rs_add_sat(start, long_ago) >= m->need.came) return i;
    }
    return SIZE_MAX;
}

static bool find_needs(finder *f)
{
    RS_LOCAL uint8_t *has = NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < f->n_messages; i++) {
        const message *m = &f->messages[i];
        if (i == 0 || m[-1].to != m->to) {
            rs_free(has);
            has = rs_calloc(f->lanes[m->to].of->n + 1, 1);
            if (!has) return false;
        }
        size_t pass = pass_for(f, m, has);
        if (pass == SIZE_MAX) continue;
        has[pass] = 1;
        need x = m->need;
        x.pass = (uint32_t)pass;
        while (x.of > 0 && f->lanes[x.from].kind[x.of] == RS_PASS_WEIGHT) x.of--;
        ok = RS_PUSH(f->needs, f->n_needs, f->needs_capacity, x);
    }
    static const rs_order by_pass[] = {RS_RISING(need, to), RS_RISING(need, pass)};
    if (ok && f->n_needs) RS_SORT(f->needs, f->n_needs, by_pass);
    return ok;
}

static const need *need_of(const finder *f, uint32_t rank, uint32_t pass)
{
    size_t at;
    RS_SEARCH(at, f->n_needs,
              f->needs[at].to < rank || (f->needs[at].to == rank && f->needs[at].pass < pass));
    return at < f->n_needs && f->needs[at].to == rank && f->needs[at].pass == pass ? &f->needs[at] : NULL;
}

/* ---- a step of a pipeline ------------------------------------------------------------------------------------ */

/* What time on a path is spent on. */
enum { ON_COMPUTE, ON_LINK, ON_COLLECTIVE, ON_HOST, N_ON };

typedef struct path {
    int64_t ns[N_ON]; /* together the time since the step's start */
} path;

/* Time without work, of it in collectives. */
typedef struct pause {
    int64_t idle, collective;
} pause;

typedef struct pass_at {
    int64_t start, end, busy;
    uint32_t pass;        /* of the rank */
    uint32_t lane;        /* stage */
    int64_t ideal;        /* when the replay ends it */
    int64_t ideal_before; /* ... and how long the stage is idle ahead of it */
    pause before, inside;
    path at_start, at_end;
    uint32_t last; /* the pass of the stage that ends last of those before it; RS_NO_ROW: none */
    uint8_t kind;
    bool done; /* its paths are known */
} pass_at;

typedef struct stage {
    uint32_t rank;
    size_t first, end; /* passes of the rank */
    pass_at *passes;   /* by start */
    uint32_t *place;   /* by pass of the rank, from first: its place there */
    size_t n;
    size_t backward, forward; /* the first backward, n: none; after the last forward */
    pause after;
} stage;

typedef struct line_step {
    finder *f;
    uint32_t line;
    int64_t step;
    stage *stages;
    size_t n;
    uint32_t *stage_of; /* by rank; only of those in the line */
    int64_t start, end, ideal_end;
} line_step;

static const rs_order by_start[] = {RS_RISING(pass_at, start), RS_RISING(pass_at, lane),
                                    RS_RISING(pass_at, pass)};

/* How long the set is in [from, to). */
static int64_t length_in(const rs_interval *set, size_t n, int64_t from, int64_t to)
{
    size_t at;
    int64_t sum = 0;
    RS_SEARCH(at, n, set[at].end <= from);
    for (; at < n && set[at].start < to; at++) {
        int64_t a = set[at].start > from ? set[at].start : from, b = set[at].end < to ? set[at].end : to;
        sum = rs_add_sat(sum, rs_sub_sat(b, a));
    }
    return sum;
}

static bool fill_stage(line_step *s, size_t at)
{
    stage *x = &s->stages[at];
    const lane *l = &s->f->lanes[x->rank];
    int64_t reach = INT64_MIN;
    uint32_t last = RS_NO_ROW;
    x->n = x->end - x->first;
    x->passes = rs_calloc(x->n + 1, sizeof *x->passes);
    x->place = rs_malloc((x->n + 1) * sizeof *x->place);
    if (!x->passes || !x->place) return false;
    for (size_t i = 0; i < x->n; i++) {
        const int64_t start = pass_start(l, x->first + i), end = pass_end(l, x->first + i);
        x->passes[i] = (pass_at){.start = start,
                                 .end = end,
                                 .busy = length_in(l->busy, l->n_busy, start, end),
                                 .pass = (uint32_t)(x->first + i),
                                 .lane = (uint32_t)at,
                                 .kind = l->kind[x->first + i]};
        if (start < s->start) s->start = start;
        if (end > s->end) s->end = end;
    }
    if (x->n) RS_SORT(x->passes, x->n, by_start);
    x->backward = x->n;
    for (size_t i = 0; i < x->n; i++) {
        pass_at *p = &x->passes[i];
        x->place[p->pass - x->first] = (uint32_t)i;
        p->last = last;
        if (p->end > reach) {
            reach = p->end;
            last = (uint32_t)i;
        }
        if (p->kind == RS_PASS_FORWARD) x->forward = i + 1;
        if (p->kind != RS_PASS_FORWARD && x->backward == x->n) x->backward = i;
    }
    return true;
}

/* ---- where stages are idle */

static void add_to(int64_t *sum, int64_t ns)
{
    *sum = rs_add_sat(*sum, ns);
}

static void add_pause(pause *p, int64_t ns, bool collective)
{
    add_to(&p->idle, ns);
    if (collective) add_to(&p->collective, ns);
}

/* Shares a stretch without work out among passes and the gaps between them. *at: the first pass that has not begun; *reach: the
 * latest end of those before it. */
static void add_stretch(stage *x, int64_t from, int64_t to, bool collective, size_t *at, int64_t *reach)
{
    while (from < to) {
        while (*at < x->n && x->passes[*at].start <= from) {
            if (x->passes[*at].end > *reach) *reach = x->passes[*at].end;
            ++*at;
        }
        const bool inside = *at > 0 && *reach > from;
        int64_t until = *at < x->n && x->passes[*at].start < to ? x->passes[*at].start : to;
        if (inside && *reach < until) until = *reach;
        add_pause(inside       ? &x->passes[*at - 1].inside
                  : *at < x->n ? &x->passes[*at].before
                               : &x->after,
                  rs_sub_sat(until, from), collective);
        from = until;
    }
}

static rs_interval_set set_in(const rs_interval *items, size_t n, int64_t from, int64_t to)
{
    size_t low, high;
    RS_SEARCH(low, n, items[low].end <= from);
    RS_SEARCH(high, n, items[high].start < to);
    return high > low ? (rs_interval_set){items + low, high - low} : (rs_interval_set){NULL, 0};
}

static bool find_pauses(const line_step *s, stage *x)
{
    const lane *l = &s->f->lanes[x->rank];
    const rs_interval_set sets[2] = {set_in(l->busy, l->n_busy, s->start, s->end),
                                     set_in(l->waits, l->n_waits, s->start, s->end)};
    rs_divisions all = {0};
    size_t at = 0;
    int64_t reach = INT64_MIN;
    bool ok = rs_intervals_divide(sets, 2, (rs_interval){s->start, s->end}, 0, &all);
    for (size_t i = 0; ok && i < all.n; i++)
        add_stretch(x, all.items[i].from, rs_add_sat(all.items[i].from, all.items[i].time),
                    all.items[i].of == 1, &at, &reach);
    rs_free(all.items);
    return ok;
}

/* ---- paths: what each pass waited for last, back to the start of the step */

static int64_t within(int64_t at, int64_t from, int64_t to)
{
    return at < from ? from : at > to ? to : at;
}

static void go(path *p, int on, int64_t from, int64_t to)
{
    add_to(&p->ns[on], rs_sub_sat(to, from));
}

/* The pass that a message comes from, in this step; NULL: it is in none. */
static const pass_at *sender_of(const line_step *s, const need *d)
{
    const stage *y = d ? &s->stages[s->stage_of[d->from]] : NULL;
    return y && y->rank == d->from && d->of >= y->first && d->of < y->end
               ? &y->passes[y->place[d->of - y->first]]
               : NULL;
}

static void count_delays(const line_step *s, const need *d, const pass_at *from, const pass_at *last,
                         const pass_at *p)
{
    rs_pipe_delays *sum = &s->f->out->delays;
    const bool waited = d && (!last || d->came > last->end);
    if (d && from) {
        const int64_t both = d->sent > d->asked ? d->sent : d->asked;
        sum->links++;
        add_to(&sum->link, within(rs_sub_sat(d->came, both), 0, INT64_MAX));
        add_to(&sum->late, within(rs_sub_sat(d->sent, from->end), 0, INT64_MAX));
        sum->asked_after += last && d->asked >= last->end;
    }
    if (waited) {
        sum->starts++;
        add_to(&sum->start, within(rs_sub_sat(p->start, d->came), 0, INT64_MAX));
    } else if (last) {
        sum->gaps++;
        add_to(&sum->gap, within(rs_sub_sat(p->start, last->end), 0, INT64_MAX));
    }
}

/* The path to the start of a pass: through the sender where that came last to the message, else through the pass before it on the stage. */
static void find_path(line_step *s, pass_at *p)
{
    stage *x = &s->stages[p->lane];
    const need *d = need_of(s->f, x->rank, p->pass);
    const pass_at *from = sender_of(s, d), *last = p->last == RS_NO_ROW ? NULL : &x->passes[p->last];
    const int64_t free_at = last ? last->end : s->start;
    path at = {0};
    if (last && free_at > p->start) { /* they overlap */
        at = last->at_start;
        go(&at, ON_COMPUTE, last->start, p->start);
    } else {
        const bool came_late = d && d->came > free_at;
        const int64_t came = came_late ? within(d->came, free_at, p->start) : free_at;
        if (came_late && from && from->done && from->end <= came && (d->sent >= d->asked || !last)) {
            const int64_t sent = within(d->sent > d->asked ? d->sent : d->asked, from->end, came);
            at = from->at_end;
            go(&at, ON_HOST, from->end, sent);
            go(&at, ON_LINK, sent, came);
        } else {
            const int64_t asked = came_late ? within(d->asked, free_at, came) : free_at;
            if (last) at = last->at_end;
            go(&at, ON_HOST, free_at, asked);
            go(&at, ON_LINK, asked, came);
        }
        /* what comes after that is the gap's own: other work, collectives, and launches */
        const int64_t rest = rs_sub_sat(p->start, came), idle = within(p->before.idle, 0, rest);
        const int64_t collective = within(p->before.collective, 0, idle);
        go(&at, ON_HOST, 0, idle - collective);
        go(&at, ON_COLLECTIVE, 0, collective);
        go(&at, ON_COMPUTE, 0, rest - idle);
    }
    count_delays(s, d, from, last, p);
    p->at_start = p->at_end = at;
    const int64_t length = rs_sub_sat(p->end, p->start), idle = within(p->inside.idle, 0, length);
    go(&p->at_end, ON_HOST, 0, idle - within(p->inside.collective, 0, idle));
    go(&p->at_end, ON_COLLECTIVE, 0, within(p->inside.collective, 0, idle));
    go(&p->at_end, ON_COMPUTE, 0, length - idle);
    p->done = true;
}

/* ---- the replay of the schedule by itself */

static void mean_lengths(const line_step *s, int64_t mean[RS_N_PASS_KINDS])
{
    int64_t sum[RS_N_PASS_KINDS] = {0}, n[RS_N_PASS_KINDS] = {0};
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->stages[i].n; k++) {
            const pass_at *p = &s->stages[i].passes[k];
            add_to(&sum[p->kind], p->busy);
            n[p->kind]++;
        }
    for (size_t k = 0; k < RS_N_PASS_KINDS; k++) mean[k] = n[k] ? sum[k] / n[k] : 0;
}

static void replay_pass(line_step *s, pass_at *p, const int64_t mean[RS_N_PASS_KINDS], int64_t *free_at)
{
    const pass_at *from = sender_of(s, need_of(s->f, s->stages[p->lane].rank, p->pass));
    const int64_t came = from && from->done ? from->ideal : 0, start = came > *free_at ? came : *free_at;
    p->ideal_before = start - *free_at;
    *free_at = p->ideal = rs_add_sat(start, mean[p->kind]);
    if (p->ideal > s->ideal_end) s->ideal_end = p->ideal;
}

/* All passes are done in the order of their starts, so that what one needs is known. false: out of memory. */
static bool follow_passes(line_step *s)
{
    int64_t mean[RS_N_PASS_KINDS];
    size_t n = 0, k = 0;
    for (size_t i = 0; i < s->n; i++) n += s->stages[i].n;
    RS_LOCAL pass_at *order = rs_malloc((n + 1) * sizeof *order);
    RS_LOCAL int64_t *free_at = rs_calloc(s->n + 1, sizeof *free_at);
    if (!order || !free_at) return false;
    for (size_t i = 0; i < s->n; k += s->stages[i++].n)
        if (s->stages[i].n) memcpy(order + k, s->stages[i].passes, s->stages[i].n * sizeof *order);
    if (n) RS_SORT(order, n, by_start);
    mean_lengths(s, mean);
    for (size_t i = 0; i < n; i++) {
        stage *x = &s->stages[order[i].lane];
        pass_at *p = &x->passes[x->place[order[i].pass - x->first]];
        replay_pass(s, p, mean, &free_at[order[i].lane]);
        find_path(s, p);
    }
    return true;
}

/* ---- the answer */

/* The part of the step that a place is in. */
static rs_bubble part_of(const stage *x, size_t place)
{
    return place <= x->backward && place < x->n ? RS_BUBBLE_WARM_UP
           : place >= x->forward                ? RS_BUBBLE_DRAIN
                                                : RS_BUBBLE_STEADY;
}

/* Shares idle time out by the difference of two paths: to what the stage waited for, and to the end of its own work before it. What
 * both spend cancels. Where the latter spends more on something, that shortened the wait, and the rest shares the idle time. */
static void share_out(const path *to, const path *from, int64_t idle, int64_t gap, int64_t out[N_ON])
{
    int64_t part[N_ON];
    double sum = 0;
    int most = ON_HOST;
    for (int k = 0; k < N_ON; k++) part[k] = rs_sub_sat(to->ns[k], from ? from->ns[k] : 0);
    part[ON_COMPUTE] = rs_sub_sat(part[ON_COMPUTE], rs_sub_sat(gap, idle)); /* other work of its own */
    for (int k = 0; k < N_ON; k++) {
        if (part[k] < 0) part[k] = 0;
        sum += (double)part[k];
        if (part[k] > part[most]) most = k;
    }
    for (int k = 0; k < N_ON; k++) {
        out[k] = sum > 0 ? rs_int_of((double)part[k] / sum * (double)idle) : 0;
        if (out[k] > idle) out[k] = idle;
    }
    int64_t rest = idle;
    for (int k = 0; k < N_ON; k++) rest = rs_sub_sat(rest, out[k]);
    out[most] = rs_add_sat(out[most], rest);
}

typedef struct causes {
    rs_stage_step *out;
    int64_t waits[RS_BUBBLE_DRAIN + 1];
} causes;

static void add_wait(causes *c, rs_bubble part, const int64_t on[N_ON])
{
    add_to(&c->waits[part], on[ON_COMPUTE]);
    add_to(&c->out->cause[RS_BUBBLE_LINK], on[ON_LINK]);
    add_to(&c->out->cause[RS_BUBBLE_COLLECTIVE], on[ON_COLLECTIVE]);
    add_to(&c->out->cause[RS_BUBBLE_HOST], on[ON_HOST]);
    for (int k = 0; k < N_ON; k++) add_to(&c->out->idle, on[k]);
}

/* The pass that ends the step. */
static const pass_at *last_of(const line_step *s)
{
    const pass_at *last = NULL;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->stages[i].n; k++)
            if (!last || s->stages[i].passes[k].end > last->end) last = &s->stages[i].passes[k];
    return last;
}

static void add_causes(const line_step *s, size_t at, rs_stage_step *out)
{
    const stage *x = &s->stages[at];
    causes c = {.out = out};
    int64_t ideal[RS_BUBBLE_DRAIN + 1] = {0}, on[N_ON], reach = s->start;
    const pass_at *tip = NULL, *last = last_of(s);
    for (size_t i = 0; i < x->n; i++) {
        const pass_at *p = &x->passes[i];
        share_out(&p->at_start, tip ? &tip->at_end : NULL, p->before.idle, rs_sub_sat(p->start, reach), on);
        add_wait(&c, part_of(x, i), on);
        const int64_t inside[N_ON] = {[ON_COLLECTIVE] = p->inside.collective,
                                      [ON_HOST] = rs_sub_sat(p->inside.idle, p->inside.collective)};
        add_wait(&c, RS_BUBBLE_STEADY, inside);
        add_to(&ideal[part_of(x, i)], p->ideal_before);
        if (!tip || p->end > tip->end) tip = p;
        reach = tip->end;
    }
    share_out(&last->at_end, tip ? &tip->at_end : NULL, x->after.idle, rs_sub_sat(s->end, reach), on);
    add_wait(&c, RS_BUBBLE_DRAIN, on);
    add_to(&ideal[RS_BUBBLE_DRAIN], rs_sub_sat(s->ideal_end, x->n ? x->passes[x->n - 1].ideal : 0));
    for (size_t k = 0; k <= RS_BUBBLE_DRAIN; k++) {
        const int64_t by_schedule = c.waits[k] < ideal[k] ? c.waits[k] : ideal[k];
        out->cause[k] = by_schedule;
        add_to(&out->cause[RS_BUBBLE_IMBALANCE], c.waits[k] - by_schedule);
        add_to(&out->ideal, ideal[k]);
    }
}

static bool find_schedule(const line_step *s, rs_pipe_schedule *out, size_t *chunks)
{
    RS_LOCAL rs_stage_order *orders = rs_calloc(s->n + 1, sizeof *orders);
    bool up = false, down = false;
    if (!orders) return false;
    for (size_t i = 0; i < s->n; i++) {
        const stage *x = &s->stages[i];
        const lane *l = &s->f->lanes[x->rank];
        bool first = true;
        orders[i] = (rs_stage_order){.kinds = l->kind + x->first, .n = x->n};
        for (size_t k = x->first; k < x->end; k++) {
            if (l->kind[k] != RS_PASS_FORWARD) continue;
            const need *d = need_of(s->f, x->rank, (uint32_t)k);
            const size_t from = d ? s->stage_of[d->from] : i;
            orders[i].n_free += !d;
            orders[i].first_is_free |= first && !d;
            up |= from + 1 == i;
            down |= s->n > 2 && from == i + 1;
            first = false;
        }
    }
    *out = rs_pipe_schedule_of(orders, s->n, up && down, chunks);
    return true;
}

static bool put_passes(const line_step *s, size_t at)
{
    const stage *x = &s->stages[at];
    int64_t counts[RS_N_PASS_KINDS] = {0};
    for (size_t i = 0; i < x->n; i++) {
        const pass_at *p = &x->passes[i];
        rs_pipelines *out = s->f->out;
        if (!RS_PUSH(out->passes, out->n_passes, out->passes_capacity,
                     (rs_stage_pass){.rank = x->rank,
                                     .line = s->line,
                                     .stage = (uint32_t)at,
                                     .step = s->step,
                                     .number = counts[p->kind]++,
                                     .start = p->start,
                                     .end = p->end,
                                     .busy = p->busy,
                                     .idle_before = p->before.idle,
                                     .kind = p->kind}))
            return false;
    }
    return true;
}

static bool put_stage(const line_step *s, size_t at, rs_pipe_schedule schedule, size_t chunks)
{
    const stage *x = &s->stages[at];
    const lane *l = &s->f->lanes[x->rank];
    rs_pipelines *out = s->f->out;
    rs_stage_step row = {.rank = x->rank,
                         .line = s->line,
                         .stage = (uint32_t)at,
                         .step = s->step,
                         .window = rs_sub_sat(s->end, s->start),
                         .ideal_window = s->ideal_end,
                         .schedule = (uint8_t)schedule};
    add_causes(s, at, &row);
    for (size_t i = 0; i < x->n; i++) row.passes[x->passes[i].kind]++;
    for (size_t i = x->first ? x->first + 1 : 0; i <= x->end; i++) row.unmatched += l->unmatched[i];
    row.micro_batches = row.passes[RS_PASS_FORWARD] / (int64_t)chunks;
    return put_passes(s, at) && RS_PUSH(out->steps, out->n_steps, out->steps_capacity, row);
}

static bool answer_step(line_step *s)
{
    size_t chunks = 1;
    bool ok = true;
    s->start = INT64_MAX;
    s->end = INT64_MIN;
    for (size_t i = 0; ok && i < s->n; i++) ok = fill_stage(s, i);
    if (ok && s->start < s->end) {
        rs_pipe_schedule schedule = RS_PIPE_UNKNOWN;
        ok = find_schedule(s, &schedule, &chunks);
        for (size_t i = 0; ok && i < s->n; i++) ok = find_pauses(s, &s->stages[i]);
        ok = ok && follow_passes(s);
        for (size_t i = 0; ok && i < s->n; i++) ok = put_stage(s, i, schedule, chunks);
    }
    for (size_t i = 0; i < s->n; i++) rs_free_all(s->stages[i].passes, s->stages[i].place);
    return ok;
}

/* The next step of a line: the least number that a rank has not given yet. Steps that some rank lacks are left out. */
static bool take_step(line_step *s)
{
    bool any = false, all = true;
    for (size_t i = 0; i < s->n; i++) {
        const lane *l = &s->f->lanes[s->stages[i].rank];
        if (l->at >= l->of->n) continue;
        if (!any || l->of->items[l->at].step < s->step) s->step = l->of->items[l->at].step;
        any = true;
    }
    for (size_t i = 0; any && i < s->n; i++) {
        lane *l = &s->f->lanes[s->stages[i].rank];
        s->stages[i] = (stage){.rank = s->stages[i].rank, .first = l->at};
        while (l->at < l->of->n && l->of->items[l->at].step == s->step) l->at++;
        s->stages[i].end = l->at;
        all &= l->at > s->stages[i].first;
    }
    if (any && !all)
        for (size_t i = 0; i < s->n; i++) s->stages[i].end = s->stages[i].first;
    s->ideal_end = 0;
    return any;
}

static bool answer_line(finder *f, uint32_t line)
{
    const rs_stages *stages = &f->out->stages;
    line_step s = {.f = f, .line = line};
    RS_LOCAL stage *room = rs_calloc(stages->n_stages + 1, sizeof *room);
    if (!room) return false;
    s.stages = room;
    s.stage_of = stages->stage;
    for (uint32_t r = 0; r < f->n; r++)
        if (stages->line[r] == line && s.n < stages->n_stages) {
            s.stages[stages->stage[r]].rank = r;
            s.n++;
        }
    while (take_step(&s))
        if (!answer_step(&s)) return false;
    return true;
}

static rs_status find_pipelines(rs_passes *const *ranks, const rs_coll_job *job, bool any, rs_pipelines *out,
                                rs_error *err)
{
    RS_SCOPED(clear_finder) finder f = {.job = job, .out = out, .n = job->n_ranks};
    *out = (rs_pipelines){0};
    RS_TRY(rs_stages_find(job, &out->stages, err));
    if (any && !out->stages.n_stages && out->stages.n_lines == f.n) out->stages.n_stages = 1;
    if (!out->stages.n_stages) return RS_OK;
    bool ok = fill_lanes(&f, ranks) && find_messages(&f) && tell_weights(&f, &out->stages) && find_needs(&f);
    for (uint32_t i = 0; ok && i < out->stages.n_lines; i++) ok = answer_line(&f, i);
    return ok ? RS_OK : rs_fail_nomem(err, "pipelines");
}

rs_status rs_pipelines_find(rs_passes *const *ranks, const rs_coll_job *job, rs_pipelines *out, rs_error *err)
{
    return find_pipelines(ranks, job, false, out, err);
}

rs_status rs_pipelines_find_any(rs_passes *const *ranks, const rs_coll_job *job, rs_pipelines *out,
                                rs_error *err)
{
    return find_pipelines(ranks, job, true, out, err);
}
