/* blame: who or what each wait was for, conserved to the nanosecond. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/blame.h"
#include "analysis/skeletons.h"
#include "analysis/collective_notes.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/try.h"
#include "match/collective_wait.h"
#include "text/numbers.h"
#include "engine/edits.h"
#include "trace/structure.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"wait", RS_OPTION_CHOICE, "KIND", "all|communication|idle|host", "all",
     "communication: members of a collective until the last has come; idle: devices without work; host: calls "
     "until the work that they wait for has ended"},
    {"by", RS_OPTION_CHOICE, "WHAT", RS_BLAME_BY_CHOICES, "rank",
     "what is distinguished in addition to the rank and the part that it is spent on; phase and layer: of the model, as the "
     "command structure finds them; edge: by what one thing waited for the other"},
    {"method", RS_OPTION_CHOICE, "HOW", "excess|chain", "excess",
     "excess: why the last member was later than the one that waited; chain: what ran in the meantime. Of idle "
     "and host always chain"},
    {"of", RS_OPTION_INT, "RANK", NULL, NULL, "only what this rank waited for"},
    {"instance", RS_OPTION_INT, "I", NULL, NULL,
     "fills the table chain with one wait, link by link: the I-th longest, from 0, of each kind"},
    {"at", RS_OPTION_REAL, "US", NULL, NULL,
     "with --of: fills the table chain with the wait under way so many microseconds after the job's first event"},
    {"event", RS_OPTION_INT, "E", NULL, NULL,
     "with --of: the same, with the wait of this event, by its position in traceEvents"},
    {"path", RS_OPTION_TEXT, "STEP|all", NULL, NULL,
     "fills the table chain with the critical path of a step over all ranks, link by link back from its end; all: "
     "of the entire recording. Nothing else is computed"},
    {"folded", RS_OPTION_FLAG, NULL, NULL, NULL,
     "the shares as folded stacks, \"frame;frame;frame nanoseconds\", for flame-graph tools"},
    RS_EDGES_OPTION,
    RS_CLOCKS_OPTION,
    RS_SKELETONS_OPTION,
};

typedef struct blame_row {
    const char *wait;
    int64_t waiting_rank, rank; /* rank -1: before the paths met */
    const char *part, *kernel, *operator_name, *phase, *group, *edge;
    int64_t layer;
    int64_t ns, whole;
    int64_t instances, example;
} blame_row;

#define BLAME_ROW(CELL)                                                                                       \
    CELL(OF(blame_row, wait), "wait", TEXT, NONE, "communication, idle or host", NULL)                        \
    CELL(OF(blame_row, waiting_rank), "waiting_rank", INT, ID, "who waited", "waiting")                       \
    CELL(ID(blame_row, rank), "rank", INT, ID, "whose time it was spent on", NULL)                            \
    CELL(OF(blame_row, part), "part", TEXT, NONE,                                                             \
         "computation, transfer, copy, launch, stream_gap, sync, host, loader, host_communication, "          \
         "unexplained, pinned (the trace does not say what it waited for), or window (before the traces "     \
         "begin)",                                                                                            \
         NULL)                                                                                                \
    CELL(MAYBE(blame_row, kernel), "kernel", TEXT, NONE, "kernel, or call of the host; with --by kernel",     \
         NULL)                                                                                                \
    CELL(MAYBE(blame_row, operator_name), "operator", TEXT, NONE,                                             \
         "operator that launched it, or that the host was in; with --by operator", NULL)                      \
    CELL(                                                                                                     \
        MAYBE(blame_row, phase), "phase", TEXT, NONE,                                                         \
        "forward, backward, optimizer or unknown; of the host, of what its thread launches next; with --by "  \
        "phase",                                                                                              \
        NULL)                                                                                                 \
    CELL(ID(blame_row, layer), "layer", INT, ID,                                                              \
         "layer of the model, from 0; unknown where none repeats; with --by layer", NULL)                     \
    CELL(MAYBE(blame_row, group), "group", TEXT, NONE, "process group of a transfer; with --by group", NULL)  \
    CELL(                                                                                                     \
        MAYBE(blame_row, edge), "edge", TEXT, NONE,                                                           \
        "by what it was waited for: work (its own duration), meeting (of a collective), thread, handover "    \
        "(between threads), stream, launch, event (recorded between streams), sync (a call for work), queue " \
        "(full), call or device (nothing says for what), repeated (inferred), occupied (room on the "         \
        "device), nothing; with --by edge",                                                                   \
        NULL)                                                                                                 \
    CELL(OF(blame_row, ns), "blame_us", TIME, US, "its share of the waiting", "blame")                        \
    CELL(SHARE(blame_row, ns, whole), "share_pct", REAL, PERCENT, "of all waiting of the kind", "share %")    \
    CELL(OF(blame_row, instances), "instances", INT, COUNT, "waits that it has a share in", "waits")          \
    CELL(ID(blame_row, example), "example", INT, ID,                                                          \
         "position in traceEvents, on the waiting rank, of the one it has the greatest share in", NULL)
RS_RECORD(blame, BLAME_ROW);

typedef struct total_row {
    const char *wait;
    int64_t waits, waiting, blamed, balanced, avoidable, unexplained, uncertain, pinned;
} total_row;

#define TOTAL_ROW(CELL)                                                                                      \
    CELL(OF(total_row, wait), "wait", TEXT, NONE, "kind of waiting. One lateness may show in all three",     \
         NULL)                                                                                               \
    CELL(OF(total_row, waits), "waits", INT, COUNT, "how many", NULL)                                        \
    CELL(OF(total_row, waiting), "waiting_us", TIME, US, "sum of them over ranks", "waiting")                \
    CELL(OF(total_row, blamed), "blamed_us", TIME, US, "sum of the table blame", "blamed")                   \
    CELL(OF(total_row, balanced), "balanced_us", TIME, US,                                                   \
         "waiting where load is even over ranks: a pipeline waits then, too, as by chance; unknown "         \
         "without steps, and of one rank",                                                                   \
         "balanced")                                                                                         \
    CELL(OF(total_row, avoidable), "avoidable_us", TIME, US,                                                 \
         "the rest of waiting_us; less than 0 where balance would make waits longer: work that a late host " \
         "hides in some steps shows in the others when it is shared out",                                    \
         "avoidable")                                                                                        \
    CELL(OF(total_row, unexplained), "unexplained_us", TIME, US, "of blamed_us: beyond any known cause",     \
         "unexplained")                                                                                      \
    CELL(OF(total_row, uncertain), "uncertain_us", TIME, US,                                                 \
         "waits for another rank that are shorter than the two clocks are sure: no rank is blamed",          \
         "uncertain")                                                                                        \
    CELL(OF(total_row, pinned), "pinned_us", TIME, US, "of blamed_us: the traces do not say what for",       \
         "pinned")
RS_RECORD(total, TOTAL_ROW);

typedef struct chain_row {
    const char *wait;
    int64_t waiting_rank, rank, event, at, ns;
    const char *part, *edge, *kernel, *operator_name;
} chain_row;

#define CHAIN_ROW(CELL)                                                                                      \
    CELL(OF(chain_row, wait), "wait", TEXT, NONE, "kind of waiting; step: the path of --path", NULL)         \
    CELL(OF(chain_row, waiting_rank), "waiting_rank", INT, ID, "who waited", "waiting")                      \
    CELL(OF(chain_row, rank), "rank", INT, ID, "rank of the link", NULL)                                     \
    CELL(ID(chain_row, event), "event", INT, ID, "its position in traceEvents of that rank", NULL)           \
    CELL(OF(chain_row, part), "part", TEXT, NONE, "what the time is spent on", NULL)                         \
    CELL(OF(chain_row, edge), "edge", TEXT, NONE, "by what it was waited for, as in the table blame", NULL)  \
    CELL(MAYBE(chain_row, kernel), "kernel", TEXT, NONE, "kernel or call", NULL)                             \
    CELL(MAYBE(chain_row, operator_name), "operator", TEXT, NONE, "operator", NULL)                          \
    CELL(OF(chain_row, at), "end_us", MOMENT, US, "when the link ends, on the lowest rank's clock", "end")   \
    CELL(OF(chain_row, ns), "duration_us", TIME, US,                                                         \
         "its time; with --method excess less than 0 where the "                                             \
         "waiting rank spent it",                                                                            \
         "duration")
RS_RECORD(chain, CHAIN_ROW);

static const rs_table_spec blame_table = RS_TABLE(
    "blame", "one row is what one rank's waiting is blamed on; rows of a kind add up to what was waited",
    blame_columns);
static const rs_table_spec total_table = RS_TABLE("totals", "one row is a kind of waiting", total_columns);
static const rs_table_spec chain_table = RS_TABLE(
    "chain", "one row is a link of one wait's chain; filled with --instance, --at, --event or --path",
    chain_columns);
static const rs_column_spec folded_columns[] = {
    {"stack", RS_TEXT, RS_UNIT_NONE,
     "kind of waiting, who waited, whose time, part, what --by adds, joined by ;", NULL},
    {"time_ns", RS_TIME, RS_UNIT_NS, "its share of the waiting", NULL},
};
static const rs_table_spec folded_table = RS_TABLE(
    "folded", "one row is one stack; the stacks of a kind add up to its waiting; filled with --folded",
    folded_columns);
static const rs_table_spec *const tables[] = {&blame_table, &total_table, &chain_table, &folded_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 4}};
enum { BLAME, TOTALS, CHAIN, FOLDED };

typedef struct blamer {
    rs_blamer x;
    const int64_t *rank_of;
    uint64_t steps, budget;
    total_row totals[RS_N_WAITS];
} blamer;

/* ---- one wait ------------------------------------------------------------------------------------------ */

static void end_wait(blamer *b, const rs_wait *w)
{
    const rs_engine *e = b->x.f.e;
    uint32_t row = rs_skeleton_row(e->ranks[w->rank], w->node - e->node_base[w->rank]);
    total_row *t = &b->totals[b->x.kind];
    for (size_t i = 0; i < b->x.n_touched; i++) {
        rs_blame_sum *s = &b->x.sums[b->x.touched[i]];
        rs_blame_key k = rs_blame_key_of(&b->x, b->x.touched[i]);
        s->is_touched = false;
        if (s->now == 0) continue;
        s->ns = rs_add_sat(s->ns, s->now);
        s->instances++;
        if (s->now > s->most) {
            s->most = s->now;
            s->example = row;
        }
        t->blamed = rs_add_sat(t->blamed, s->now);
        if (k.part == RS_PART_UNEXPLAINED) t->unexplained = rs_add_sat(t->unexplained, s->now);
        if (k.part == RS_PART_PINNED) t->pinned = rs_add_sat(t->pinned, s->now);
    }
    b->x.n_touched = 0;
}

static bool count_link(void *context, const rs_link *l, int64_t ns)
{
    blamer *b = context;
    return rs_blame_link(&b->x, l, ns);
}

static bool blame_wait(blamer *b, const rs_wait *w, bool excess)
{
    total_row *t = &b->totals[b->x.kind];
    size_t other = rs_engine_rank_of(b->x.f.e, w->until >> 1);
    t->waits++;
    t->waiting = rs_add_sat(t->waiting, w->ns);
    if (b->x.kind == RS_WAIT_COMMUNICATION &&
        w->ns < rs_clock_trust_between(&b->x.f.e->trust, w->rank, other)) {
        t->uncertain = rs_add_sat(t->uncertain, w->ns);
        return true;
    }
    b->x.waiting = w->rank;
    bool ok = b->steps > b->budget ? rs_blame_rank(&b->x, w->until >> 1, w->ns)
              : excess ? rs_forest_difference(&b->x.f, w->until, w->node << 1, count_link, b, &b->steps)
                       : rs_forest_chain(&b->x.f, w->until, w->since, count_link, b, &b->steps);
    ok = ok && rs_blame_share_out(&b->x, w->ns);
    if (ok) end_wait(b, w);
    return ok;
}

/* ---- one chain ----------------------------------------------------------------------------------------- */

typedef struct chain_sink {
    const blamer *b;
    rs_table *table;
    chain_row row;
    rs_status status;
    rs_error *err;
} chain_sink;

static bool put_link(void *context, const rs_link *l, int64_t ns)
{
    chain_sink *x = context;
    const rs_engine *e = x->b->x.f.e;
    size_t r = rs_engine_rank_of(e, l->node);
    const rs_skeleton *s = e->ranks[r];
    uint32_t local = l->node - e->node_base[r];
    x->row.rank = x->b->rank_of[r];
    x->row.event = rs_skeleton_row(s, local) == RS_NO_ROW ? -1 : (int64_t)rs_skeleton_row(s, local);
    x->row.part = rs_part_names[l->part];
    x->row.edge = rs_tie_names[rs_forest_tie(&x->b->x.f, l)];
    x->row.kernel = rs_pool_text(&s->pool, rs_skeleton_at(s, local)->name);
    x->row.operator_name = rs_pool_text(&s->pool, rs_skeleton_at(s, local)->operator_name);
    x->row.at = l->from == RS_NO_CAUSE ? rs_moment_time(x->b->x.f.t, l->node << 1)
                                       : rs_add_sat(rs_moment_time(x->b->x.f.t, l->from), l->ns);
    x->row.ns = ns;
    x->status = rs_table_put_row(x->table, &chain_record, x->row.rank, &x->row, x->err);
    return x->status == RS_OK;
}

static const rs_order by_length[] = {RS_FALLING(rs_wait, ns), RS_RISING(rs_wait, node)};

/* Which wait is wanted: the I-th longest, the one at a moment (on the common clock), or that of an event. */
typedef struct wanted_chain {
    bool any, by_event, by_time;
    int64_t instance, event, at;
} wanted_chain;

static const rs_wait *choose_wait(const blamer *b, rs_wait *waits, size_t n, const wanted_chain *wanted)
{
    const rs_engine *e = b->x.f.e;
    RS_SORT(waits, n, by_length);
    if (!wanted->by_event && !wanted->by_time)
        return wanted->instance >= 0 && (uint64_t)wanted->instance < n ? &waits[wanted->instance] : NULL;
    for (size_t i = 0; i < n; i++) {
        const rs_wait *w = &waits[i];
        const uint32_t row = rs_skeleton_row(e->ranks[w->rank], w->node - e->node_base[w->rank]);
        const int64_t at = rs_add_sat(wanted->at, e->coll.shift[w->rank]);
        if (wanted->by_event ? row == wanted->event : w->since <= at && at < rs_add_sat(w->since, w->ns))
            return w;
    }
    return NULL;
}

static rs_status put_chain(blamer *b, rs_wait *waits, size_t n, const wanted_chain *wanted, bool excess,
                           rs_table *t, rs_error *err)
{
    const rs_wait *w = choose_wait(b, waits, n, wanted);
    if (!w) return RS_OK;
    chain_sink x = {.b = b, .table = t, .err = err, .status = RS_OK};
    x.row.wait = rs_wait_names[b->x.kind];
    x.row.waiting_rank = b->rank_of[w->rank];
    bool ok = excess ? rs_forest_difference(&b->x.f, w->until, w->node << 1, put_link, &x, &b->steps)
                     : rs_forest_chain(&b->x.f, w->until, w->since, put_link, &x, &b->steps);
    return ok ? RS_OK : x.status;
}

/* ---- the critical path ----------------------------------------------------------------------------------- */

/* The end of a path, and how far back it goes: times on the common clock. */
typedef struct path_ends {
    uint32_t moment; /* RS_NO_CAUSE: none */
    int64_t since, end, tail;
    bool first; /* it begins with the first of the ranks, else with the last */
} path_ends;

static void widen_path(path_ends *p, int64_t since, uint32_t moment, int64_t end, int64_t tail)
{
    if (p->moment == RS_NO_CAUSE || (p->first ? since < p->since : since > p->since)) p->since = since;
    if (p->moment != RS_NO_CAUSE && end <= p->end) return;
    p->moment = moment;
    p->end = end;
    p->tail = tail;
}

/* The step's part of a rank: from the end of the step before it to its own. */
static int64_t end_of_step(const blamer *b, size_t k, size_t place, uint32_t *moment, int64_t *tail)
{
    *moment = rs_engine_step_moment(b->x.f.e, b->x.f.t, k, place, tail);
    return rs_add_sat(rs_moment_time(b->x.f.t, *moment), *tail);
}

static void widen_by_step(const blamer *b, size_t k, size_t place, path_ends *p)
{
    uint32_t moment, before;
    int64_t tail, before_tail;
    const int64_t end = end_of_step(b, k, place, &moment, &tail);
    p->first = place == 0;
    widen_path(p,
               place ? end_of_step(b, k, place - 1, &before, &before_tail)
                     : rs_engine_begin(b->x.f.e, b->x.f.t, k, NULL),
               moment, end, tail);
}

static rs_status find_path(const blamer *b, const char *which, path_ends *p, rs_error *err)
{
    const rs_engine *e = b->x.f.e;
    const bool all = strcmp(which, "all") == 0;
    double number = 0;
    *p = (path_ends){.moment = RS_NO_CAUSE, .first = true};
    if (!all && !rs_parse_real(which, strlen(which), &number))
        return rs_fail(err, RS_ERR_USAGE, "--path takes the number of a step, or all");
    for (size_t k = 0; k < e->n_ranks; k++) {
        const rs_skeleton *s = e->ranks[k];
        const uint32_t last = rs_engine_last_moment(e, k);
        for (size_t i = 0; !all && i < s->n_steps; i++)
            if ((double)s->steps[i].number == number) widen_by_step(b, k, i, p);
        if (all && s->n)
            widen_path(p, rs_add_sat(s->start, e->coll.shift[k]), last, rs_moment_time(b->x.f.t, last), 0);
    }
    if (p->moment == RS_NO_CAUSE && !all)
        return rs_fail(err, RS_ERR_USAGE,
                       "--path %.40s: there is no such step; `rankscope steps` lists them, all is the entire "
                       "recording",
                       which);
    return RS_OK;
}

/* The rest of the step's annotation is its first link; it is the host's. Nothing where ranks are not joined. */
static rs_status put_path(blamer *b, const char *which, rs_result *result, rs_error *err)
{
    path_ends p;
    chain_sink x = {.b = b, .table = result->tables[CHAIN], .err = err, .status = RS_OK};
    if (b->x.f.e->n_ranks > 1 && rs_coll_on_host(&b->x.f.e->coll)) return RS_OK; /* explained */
    RS_TRY(find_path(b, which, &p, err));
    if (p.moment == RS_NO_CAUSE) return RS_OK;
    x.row.wait = "step";
    x.row.waiting_rank = b->rank_of[rs_engine_rank_of(b->x.f.e, p.moment >> 1)];
    const int64_t reached = rs_sub_sat(p.end, p.tail);
    const rs_link tail = {
        .from = p.moment, .node = p.moment >> 1, .ns = p.tail, .part = RS_PART_HOST, .edge = RS_NO_CAUSE};
    bool ok = p.tail <= 0 || put_link(&x, &tail, rs_sub_sat(p.end, reached > p.since ? reached : p.since));
    ok = ok && rs_forest_chain(&b->x.f, p.moment, p.since, put_link, &x, &b->steps);
    return ok ? RS_OK : x.status;
}

/* ---- all waits ----------------------------------------------------------------------------------------- */

/* Makes all work of the engine's weights the mean over ranks in each step. */
static rs_status balance(const blamer *b, rs_weights *w, size_t *n_changed, rs_error *err)
{
    const rs_engine *e = b->x.f.e;
    RS_SCOPED(rs_roles_clear) rs_roles roles = {0};
    RS_SCOPED(rs_what_if_clear) rs_what_if q = {0};
    RS_TRY(rs_roles_find(e->ranks, e->n_ranks, &roles, err));
    RS_TRY(rs_what_if_parse("balanced", &q, err));
    RS_TRY(rs_weights_spread_work(e, w, err));
    return rs_what_if_apply(&q, e, &roles, b->rank_of, w, n_changed, err);
}

/* The waiting of one kind in the replay at hand, of the ranks asked for. */
static rs_status sum_waits(const blamer *b, rs_wait_kind kind, int64_t of, int64_t *sum, rs_error *err)
{
    *sum = 0;
    for (size_t r = 0; r < b->x.f.e->n_ranks; r++) {
        rs_wait *waits = NULL;
        size_t n = 0;
        if (of >= 0 && b->rank_of[r] != of) continue;
        RS_TRY(rs_waits_find(&b->x.f, kind, r, &waits, &n, err));
        for (size_t i = 0; i < n; i++) *sum = rs_add_sat(*sum, waits[i].ns);
        rs_free(waits);
    }
    return RS_OK;
}

/* The waiting that is left then. RS_NO_TIME: not known, as there are no steps. The recorded weights and times are overwritten: those
 * are large, and roles and times are never there together. */
static rs_status wait_balanced(blamer *b, bool wanted[RS_N_WAITS], int64_t of, rs_weights *w, rs_times *t,
                               rs_error *err)
{
    size_t n_changed = 0;
    rs_times_clear(t);
    rs_status status = balance(b, w, &n_changed, err);
    if (status == RS_OK && n_changed) status = rs_engine_replay(b->x.f.e, w, t, err);
    for (unsigned kind = 0; status == RS_OK && kind < RS_N_WAITS; kind++) {
        b->totals[kind].balanced = b->totals[kind].avoidable = RS_NO_TIME;
        if (!wanted[kind] || !n_changed) continue;
        status = sum_waits(b, (rs_wait_kind)kind, of, &b->totals[kind].balanced, err);
        b->totals[kind].avoidable = rs_sub_sat(b->totals[kind].waiting, b->totals[kind].balanced);
    }
    return status;
}

/* Waits of all ranks, of which one is to be shown. */
typedef struct waits {
    rs_wait *items;
    size_t n, capacity;
} waits;

static bool keep(waits *l, const rs_wait *found, size_t n)
{
    if (!rs_grow((void **)&l->items, &l->capacity, l->n + n, sizeof *l->items)) return false;
    for (size_t i = 0; i < n; i++) l->items[l->n++] = found[i];
    return true;
}

static wanted_chain chain_of(const rs_run *run)
{
    const rs_options *o = run->options;
    wanted_chain w = {.by_event = rs_options_is_set(o, "event"), .by_time = rs_options_is_set(o, "at")};
    w.any = w.by_event || w.by_time || rs_options_is_set(o, "instance");
    w.instance = rs_options_is_set(o, "instance") ? rs_options_int(o, "instance") : 0;
    w.event = rs_options_int(o, "event");
    if (w.by_time) w.at = rs_add_sat(rs_int_near(rs_options_real(o, "at") * 1e3), run->origin);
    return w;
}

static rs_status blame_kind(const rs_run *run, blamer *b, rs_wait_kind kind, rs_result *result, rs_error *err)
{
    waits all = {0};
    int64_t of = rs_options_is_set(run->options, "of") ? rs_options_int(run->options, "of") : -1;
    bool excess =
        kind == RS_WAIT_COMMUNICATION && strcmp(rs_options_text(run->options, "method"), "excess") == 0;
    const wanted_chain chain = chain_of(run);
    rs_status status = RS_OK;
    b->x.kind = kind;
    for (size_t r = 0; status == RS_OK && r < b->x.f.e->n_ranks; r++) {
        rs_wait *found = NULL;
        size_t n = 0;
        if (of >= 0 && b->rank_of[r] != of) continue;
        status = rs_waits_find(&b->x.f, kind, r, &found, &n, err);
        bool ok = true;
        for (size_t i = 0; ok && i < n; i++) ok = blame_wait(b, &found[i], excess);
        if (ok && chain.any) ok = keep(&all, found, n);
        if (!ok) status = rs_fail_nomem(err, "blame");
        rs_free(found);
    }
    if (status == RS_OK && chain.any)
        status = put_chain(b, all.items, all.n, &chain, excess, result->tables[CHAIN], err);
    rs_free(all.items);
    return status;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static blame_row row_of(const blamer *b, size_t id)
{
    const rs_blame_sum *s = &b->x.sums[id];
    rs_blame_key k = rs_blame_key_of(&b->x, (uint32_t)id);
    const bool known = k.detail != RS_BLAME_NONE;
    blame_row row = {.wait = rs_wait_names[k.kind],
                     .waiting_rank = b->rank_of[k.waiting],
                     .rank = k.rank == UINT32_MAX ? -1 : b->rank_of[k.rank],
                     .part = rs_part_names[k.part],
                     .layer = -1,
                     .ns = s->ns,
                     .whole = b->totals[k.kind].waiting,
                     .instances = s->instances,
                     .example = s->example == RS_NO_ROW ? -1 : (int64_t)s->example};
    switch (b->x.by) {
    case RS_BLAME_BY_RANK: break;
    case RS_BLAME_BY_KERNEL: row.kernel = known ? b->x.texts.items[k.detail].text : NULL; break;
    case RS_BLAME_BY_OPERATOR: row.operator_name = known ? b->x.texts.items[k.detail].text : NULL; break;
    case RS_BLAME_BY_GROUP: row.group = known ? b->x.texts.items[k.detail].text : NULL; break;
    case RS_BLAME_BY_PHASE: row.phase = known ? rs_phase_names[k.detail] : NULL; break;
    case RS_BLAME_BY_LAYER: row.layer = known ? (int64_t)k.detail : -1; break;
    case RS_BLAME_BY_EDGE: row.edge = known ? rs_tie_names[k.detail] : NULL; break;
    }
    return row;
}

/* The row as a stack: kind;who waited;whose time;part;what --by tells. ; and line ends mean something there. */
static rs_status put_stack(const blame_row *row, rs_table *t, rs_error *err)
{
    char waiting[40], rank[40] = "nobody", layer[40];
    snprintf(waiting, sizeof waiting, "rank %lld waits", (long long)row->waiting_rank);
    if (row->rank >= 0) snprintf(rank, sizeof rank, "rank %lld", (long long)row->rank);
    snprintf(layer, sizeof layer, "layer %lld", (long long)row->layer);
    const char *detail = row->kernel          ? row->kernel
                         : row->operator_name ? row->operator_name
                         : row->phase         ? row->phase
                         : row->layer >= 0    ? layer
                         : row->group         ? row->group
                                              : row->edge;
    const char *const frames[] = {row->wait, waiting, rank, row->part, detail};
    size_t n = 0, room = 1;
    for (size_t i = 0; i < 5; i++) room += frames[i] ? strlen(frames[i]) + 1 : 0;
    RS_LOCAL char *stack = rs_malloc(room);
    if (!stack) return rs_fail_nomem(err, "stacks");
    for (size_t i = 0; i < 5 && frames[i]; i++) {
        if (i) stack[n++] = ';';
        for (const char *c = frames[i]; *c; c++)
            stack[n++] = *c == ';' ? ':' : *c == '\n' || *c == '\r' ? ' ' : *c;
    }
    stack[n] = '\0';
    return RS_PUT_ROW(t, err, stack, row->ns);
}

/* So that the stacks of a kind add up to its waiting. */
static rs_status put_uncertain(const total_row *total, rs_table *t, rs_error *err)
{
    char stack[64];
    if (total->uncertain <= 0) return RS_OK;
    snprintf(stack, sizeof stack, "%s;uncertain", total->wait);
    return RS_PUT_ROW(t, err, stack, total->uncertain);
}

static rs_status put_rows(const blamer *b, rs_result *result, const bool *wanted, bool folded, rs_error *err)
{
    RS_LOCAL rs_keyed *order = rs_malloc((b->x.n_sums + 1) * sizeof *order);
    size_t n = 0;
    rs_status status = order ? RS_OK : rs_fail_nomem(err, "blame");
    for (uint32_t i = 0; status == RS_OK && i < b->x.n_sums; i++)
        if (b->x.sums[i].ns) order[n++] = (rs_keyed){-b->x.sums[i].ns, i};
    if (status == RS_OK && !rs_keyed_sort(order, n)) status = rs_fail_nomem(err, "blame");
    for (unsigned kind = 0; status == RS_OK && kind < RS_N_WAITS; kind++) {
        for (size_t i = 0; status == RS_OK && i < n; i++) {
            blame_row row = row_of(b, order[i].value);
            if (row.wait == rs_wait_names[kind])
                status = folded ? put_stack(&row, result->tables[FOLDED], err)
                                : rs_table_put_row(result->tables[BLAME], &blame_record, row.rank, &row, err);
        }
        if (status == RS_OK && folded && wanted[kind])
            status = put_uncertain(&b->totals[kind], result->tables[FOLDED], err);
        if (status == RS_OK && wanted[kind])
            status = rs_table_put_row(result->tables[TOTALS], &total_record, -1, &b->totals[kind], err);
    }
    return status;
}

/* Where most of the waiting for other ranks is shorter than the clocks are sure, the rest of it means nothing
 * either: nobody is blamed for any. */
static void refuse(blamer *b, rs_result *result)
{
    total_row *t = &b->totals[RS_WAIT_COMMUNICATION];
    if (t->uncertain <= t->waiting / 2) return;
    t->uncertain = t->waiting;
    t->blamed = t->unexplained = t->pinned = 0;
    for (uint32_t i = 0; i < b->x.n_sums; i++)
        if (rs_blame_key_of(&b->x, i).kind == RS_WAIT_COMMUNICATION) b->x.sums[i].ns = 0;
    rs_result_note(
        result,
        "no rank is blamed for another's waiting: most of it is shorter than the clocks are sure of each "
        "other (see rankscope clocks)");
}

static void explain(const blamer *b, rs_result *result)
{
    const rs_engine *e = b->x.f.e;
    if (rs_coll_on_host(&e->coll)) rs_coll_note_host(&e->coll, result);
    if (e->n_alone)
        rs_result_note(
            result,
            "%zu kernels of communication have partners that are not in the traces: what they waited "
            "is not known",
            e->n_alone);
    if (b->steps > b->budget)
        rs_result_note(result,
                       "too many long waits to follow each: the later ones blame the rank waited for alone, "
                       "as unexplained");
    rs_coll_note_trust(&e->trust, result);
}

static rs_status fill(const rs_run *run, blamer *b, rs_weights *w, rs_times *t, rs_result *result,
                      rs_error *err)
{
    const char *wait = rs_options_text(run->options, "wait");
    int64_t of = rs_options_is_set(run->options, "of") ? rs_options_int(run->options, "of") : -1;
    bool wanted[RS_N_WAITS], known = of < 0, folded = rs_options_flag(run->options, "folded");
    rs_status status = RS_OK;
    if (rs_options_is_set(run->options, "path")) {
        result->main_table = CHAIN;
        RS_TRY(put_path(b, rs_options_text(run->options, "path"), result, err));
        explain(b, result);
        return RS_OK;
    }
    b->x.by = rs_blame_by_of(rs_options_text(run->options, "by"));
    for (size_t k = 0; k < b->x.f.e->n_ranks; k++) known |= b->rank_of[k] == of;
    if (!known) return rs_fail(err, RS_ERR_USAGE, "--of %lld: there is no such rank", (long long)of);
    for (unsigned k = 0; k < RS_N_WAITS; k++) {
        wanted[k] = strcmp(wait, "all") == 0 || strcmp(wait, rs_wait_names[k]) == 0;
        b->totals[k] = (total_row){.wait = rs_wait_names[k]};
    }
    for (unsigned k = 0; status == RS_OK && k < RS_N_WAITS; k++)
        if (wanted[k]) status = blame_kind(run, b, (rs_wait_kind)k, result, err);
    if (status == RS_OK) status = wait_balanced(b, wanted, of, w, t, err);
    if (status == RS_OK) refuse(b, result);
    if (status == RS_OK) status = put_rows(b, result, wanted, folded, err);
    if (status == RS_OK && folded) result->main_table = FOLDED;
    if (status == RS_OK && chain_of(run).any) result->main_table = CHAIN;
    if (status == RS_OK) explain(b, result);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_engine engine = {0};
    rs_weights weights = {0};
    rs_times times = {0};
    rs_skeletons ranks;
    bool told = strcmp(rs_options_text(run->options, "edges"), "all") != 0;
    rs_engine_how how = {rs_clock_how_of(rs_options_text(run->options, "clocks")), .infer = !told,
                         .lean = true};
    blamer b = {0};
    rs_status status = rs_skeletons_take(partials, n, &ranks, err);
    b.rank_of = ranks.rank_of;
    if (status == RS_OK && !rs_blamer_init(&b.x)) status = rs_fail_nomem(err, "blame");
    if (status == RS_OK) status = rs_engine_join(ranks.items, ranks.n, &how, &engine, err);
    if (status == RS_OK)
        status = rs_weights_recorded(&engine, told ? RS_EDGES_TOLD : RS_EDGES_ALL, &weights, err);
    if (status == RS_OK) status = rs_engine_replay(&engine, &weights, &times, err);
    if (status == RS_OK) {
        b.x.f = (rs_forest){&engine, &weights, &times};
        b.budget = 64 * (uint64_t)engine.n_nodes;
        status = fill(run, &b, &weights, &times, result, err);
    }
    rs_blamer_clear(&b.x);
    rs_times_clear(&times);
    rs_weights_clear(&weights);
    rs_engine_clear(&engine);
    rs_skeletons_clear(&ranks);
    return status;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static bool needs_places(const rs_options *given)
{
    const char *by = rs_options_text(given, "by");
    return by && (strcmp(by, "phase") == 0 || strcmp(by, "layer") == 0);
}

static uint64_t more_columns(const rs_options *given)
{
    static const rs_facet *const facets[] = {&rs_facet_structure};
    return needs_places(given) ? rs_facet_columns(facets, 1) : 0;
}

static const char *partial_is(const rs_options *given)
{
    return needs_places(given) ? NULL : rs_skeletons_word(given);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_skeleton *s;
    if (rs_skeletons_too_many(run, trace)) return RS_OK;
    if (!needs_places(run->options)) return rs_skeletons_rank(run, trace, partial, err);
    RS_TRY(rs_skeleton_of(trace, run->policy, &s, err)); /* its own: others have no use for the places */
    *partial = s;
    return s ? rs_skeleton_place(s, trace, err) : RS_OK;
}

const rs_analysis rs_analysis_blame = {
    .name = "blame",
    .group = "Across ranks",
    .help = "Who or what each wait was for, conserved to the nanosecond",
    .about =
        "Three kinds of waiting: members of a collective wait until the last has started (communication), "
        "devices wait for work (idle), calls wait for work to end (host). One lateness may show in all three, so "
        "sums mean something within a kind.\n\n"
        "What a wait was for is read from the graph that replay uses: every event has one cause that held "
        "it up. Chain: what ran in the meantime, link by link, back from the end of the wait to its begin. "
        "Excess: why the last member was later than the one that waited. The paths to both are climbed back "
        "to where they meet; what the last one's holds more of is to blame, in proportion. Either way the shares "
        "of a wait add up to it, to the nanosecond: in the table totals, waiting_us is blamed_us and "
        "uncertain_us.\n\n"
        "A pipeline waits when all is balanced, too: avoidable_us is what is left of the waiting without that.\n\n"
        "--path is the critical path of a step over all ranks: from the last rank's end of it back to the last rank's end of "
        "the\nstep before it. Its links add up to the step, as replay measures it.",
    .examples =
        "rankscope blame traces/\nrankscope blame --path 3 --format csv traces/\nrankscope blame --wait communication --by kernel --of 3 traces/\n"
        "rankscope blame --wait communication --instance 0 traces/\n"
        "rankscope blame --by phase --folded traces/ > blame.folded",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .columns = RS_SKELETON_COLUMNS,
    .more_columns = more_columns,
    .table_sets = sets,
    .n_table_sets = 1,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "causes reach over steps; the graph is of whole traces",
    .rank = rank,
    .merge = merge,
    .free_partial = rs_skeleton_free,
    .absent = "no events, or more than --most-events",
    .partial_layout = &rs_skeleton_layout,
    .partial_is = partial_is,
};
