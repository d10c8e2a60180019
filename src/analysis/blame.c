/* blame: who or what each wait was for, conserved to the nanosecond. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/skeletons.h"
#include "analysis/collective_notes.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/edits.h"
#include "engine/forest.h"

static const rs_option_spec options[] = {
    {"wait", RS_OPTION_CHOICE, "KIND", "all|communication|idle|host", "all",
     "communication: members of a collective until the last has come; idle: devices without work; host: calls "
     "until the work that they wait for has ended"},
    {"by", RS_OPTION_CHOICE, "WHAT", "rank|kernel|operator|group", "rank",
     "what is told apart beside the rank and the part that it is spent on"},
    {"method", RS_OPTION_CHOICE, "HOW", "excess|chain", "excess",
     "excess: why the last member was later than the one that waited; chain: what ran in the meantime. Of idle "
     "and host always chain"},
    {"of", RS_OPTION_INT, "RANK", NULL, NULL, "only what this rank waited for"},
    {"instance", RS_OPTION_INT, "I", NULL, NULL,
     "fills the table chain with one wait, link by link: the I-th longest, from 0, of each kind"},
    {"edges", RS_OPTION_CHOICE, "WHICH", "told|all", "all",
     "told: only dependencies that the traces tell; all: also those inferred from repetition"},
    {"clocks", RS_OPTION_CHOICE, "HOW", RS_CLOCKS_CHOICES, "ends",
     "ends: clocks are corrected so that collectives end together; likely, certain: by the intervals of the "
     "command clocks; file: as the traces have them"},
};

typedef struct blame_row {
    const char *wait;
    int64_t waiting_rank, rank; /* rank -1: before the paths met */
    const char *part, *kernel, *operator_name, *group;
    int64_t ns, whole;
    int64_t instances, example;
} blame_row;

#define BLAME_ROW(CELL)                                                                                      \
    CELL(OF(blame_row, wait), "wait", TEXT, NONE, "communication, idle or host", NULL)                       \
    CELL(OF(blame_row, waiting_rank), "waiting_rank", INT, ID, "who waited", "waiting")                      \
    CELL(ID(blame_row, rank), "rank", INT, ID, "whose time it was spent on", NULL)                           \
    CELL(OF(blame_row, part), "part", TEXT, NONE,                                                            \
         "computation, transfer, copy, launch, stream_gap, sync, host, loader, host_communication, "         \
         "unexplained, pinned (the trace does not tell what it waited for), or window (before the traces "   \
         "begin)",                                                                                           \
         NULL)                                                                                               \
    CELL(MAYBE(blame_row, kernel), "kernel", TEXT, NONE, "kernel, or call of the host; with --by kernel",    \
         NULL)                                                                                               \
    CELL(MAYBE(blame_row, operator_name), "operator", TEXT, NONE,                                            \
         "operator that launched it, or that the host was in; with --by operator", NULL)                     \
    CELL(MAYBE(blame_row, group), "group", TEXT, NONE, "process group of a transfer; with --by group", NULL) \
    CELL(OF(blame_row, ns), "blame_us", TIME, US, "its share of the waiting", "blame")                       \
    CELL(SHARE(blame_row, ns, whole), "share_pct", REAL, PERCENT, "of all waiting of the kind", "share %")   \
    CELL(OF(blame_row, instances), "instances", INT, COUNT, "waits that it has a share in", "waits")         \
    CELL(ID(blame_row, example), "example", INT, ID,                                                         \
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
         "waiting where all work is the mean over ranks and steps: a pipeline waits then, too; unknown "     \
         "without steps",                                                                                    \
         "balanced")                                                                                         \
    CELL(OF(total_row, avoidable), "avoidable_us", TIME, US, "the rest of waiting_us", "avoidable")          \
    CELL(OF(total_row, unexplained), "unexplained_us", TIME, US, "of blamed_us: beyond any known cause",     \
         "unexplained")                                                                                      \
    CELL(OF(total_row, uncertain), "uncertain_us", TIME, US,                                                 \
         "waits for another rank that are shorter than the two clocks are sure: nobody is blamed",           \
         "uncertain")                                                                                        \
    CELL(OF(total_row, pinned), "pinned_us", TIME, US, "of blamed_us: the traces do not tell what for",      \
         "pinned")
RS_RECORD(total, TOTAL_ROW);

typedef struct chain_row {
    const char *wait;
    int64_t waiting_rank, rank, event, at, ns;
    const char *part, *kernel, *operator_name;
} chain_row;

#define CHAIN_ROW(CELL)                                                                                      \
    CELL(OF(chain_row, wait), "wait", TEXT, NONE, "kind of waiting", NULL)                                   \
    CELL(OF(chain_row, waiting_rank), "waiting_rank", INT, ID, "who waited", "waiting")                      \
    CELL(OF(chain_row, rank), "rank", INT, ID, "rank of the link", NULL)                                     \
    CELL(ID(chain_row, event), "event", INT, ID, "its position in traceEvents of that rank", NULL)           \
    CELL(OF(chain_row, part), "part", TEXT, NONE, "what the time is spent on", NULL)                         \
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
static const rs_table_spec chain_table =
    RS_TABLE("chain", "one row is a link of one wait's chain; filled with --instance", chain_columns);
static const rs_table_spec *const tables[] = {&blame_table, &total_table, &chain_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { BLAME, TOTALS, CHAIN };

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* What is told apart. Its bytes are the key of a map. */
typedef struct key {
    uint32_t kind, waiting, rank, part, kernel, operator_name, group;
} key;

#define NO_TEXT UINT32_MAX

/* Beside a key: what it adds up to. */
typedef struct sum {
    int64_t ns, instances;
    int64_t most; /* greatest share in one wait, and where that waited */
    uint32_t example;
    int64_t now; /* of the wait under way; `touched` says which have one */
    bool is_touched;
} sum;

typedef struct blamer {
    rs_forest f;
    const int64_t *rank_of;
    enum { BY_RANK, BY_KERNEL, BY_OPERATOR, BY_GROUP } by;
    rs_strings keys;  /* bytes of keys; ids are places in sums */
    rs_strings texts; /* names of all ranks */
    sum *sums;
    size_t n_sums, sums_capacity;
    uint32_t *touched;
    size_t n_touched, touched_capacity;
    uint32_t kind, waiting;
    uint64_t steps, budget;
    rs_clock_how how;
    total_row totals[RS_N_WAITS];
} blamer;

static uint32_t text_of(blamer *b, const char *text)
{
    return text ? rs_strings_add(&b->texts, text, strlen(text)) : NO_TEXT;
}

static bool add_to_key(blamer *b, const rs_link *l, rs_part part, int64_t ns)
{
    const rs_engine *e = b->f.e;
    size_t r = rs_engine_rank_of(e, l->node);
    const rs_skeleton *s = e->ranks[r];
    uint32_t local = l->node - e->node_base[r];
    key k = {.kind = b->kind,
             .waiting = b->waiting,
             .rank = part == RS_PART_WINDOW ? UINT32_MAX : (uint32_t)r,
             .part = part,
             .kernel = NO_TEXT,
             .operator_name = NO_TEXT,
             .group = NO_TEXT};
    if (ns == 0) return true;
    if (part != RS_PART_WINDOW && b->by == BY_KERNEL)
        k.kernel = text_of(b, rs_pool_text(&s->pool, s->name[local]));
    if (part != RS_PART_WINDOW && b->by == BY_OPERATOR)
        k.operator_name = text_of(b, rs_pool_text(&s->pool, s->operator_name[local]));
    if (part == RS_PART_TRANSFER && b->by == BY_GROUP) k.group = text_of(b, rs_engine_group_of(b->f.e, l->node));
    uint32_t id = rs_strings_add(&b->keys, (const char *)&k, sizeof k);
    if (id == RS_NO_STRING) return false;
    while (b->n_sums <= id) {
        if (!RS_GROW_ONE(b->sums, b->n_sums, b->sums_capacity)) return false;
        b->sums[b->n_sums++] = (sum){.example = RS_NO_ROW};
    }
    if (!b->sums[id].is_touched) {
        if (!RS_GROW_ONE(b->touched, b->n_touched, b->touched_capacity)) return false;
        b->touched[b->n_touched++] = id;
        b->sums[id].is_touched = true;
        b->sums[id].now = 0;
    }
    b->sums[id].now = rs_add_sat(b->sums[id].now, ns);
    return true;
}

/* What exceeds any usual latency is told apart from what the latency usually takes. */
static bool count_link(void *context, const rs_link *l, int64_t ns)
{
    blamer *b = context;
    if (ns == INT64_MIN) ns++;
    int64_t beyond = l->part == RS_PART_PINNED ? 0 : l->unexplained;
    if (ns < 0 ? beyond > -ns : beyond > ns) beyond = ns < 0 ? -ns : ns;
    if (ns < 0) beyond = -beyond;
    return add_to_key(b, l, RS_PART_UNEXPLAINED, beyond) &&
           add_to_key(b, l, (rs_part)l->part, rs_sub_sat(ns, beyond));
}

/* ---- one wait ------------------------------------------------------------------------------------------ */

typedef __int128 wide;

/* Parts of a whole in proportion to those weights that are above 0; they add up to it. What rounding leaves
 * goes to the greatest remainders, of equal ones the first. keys: room for n. */
static bool allot(int64_t whole, const int64_t *weights, size_t n, int64_t *parts, rs_keyed *keys)
{
    wide positive = 0;
    int64_t left = whole;
    size_t n_keys = 0;
    for (size_t i = 0; i < n; i++)
        if (weights[i] > 0) positive += weights[i];
    for (size_t i = 0; i < n; i++) {
        parts[i] = 0;
        if (weights[i] <= 0) continue;
        wide exact = (wide)whole * weights[i];
        parts[i] = (int64_t)(exact / positive);
        left -= parts[i];
        keys[n_keys++] = (rs_keyed){-(int64_t)((exact % positive) * ((wide)1 << 40) / positive), (uint32_t)i};
    }
    if (!rs_keyed_sort(keys, n_keys)) return false;
    for (size_t i = 0; i < n_keys && left > 0; i++, left--) parts[keys[i].value]++;
    return true;
}

/* The key of a sum, told apart only down to a level: part, then kernel and the like, then rank. */
static key key_of(const blamer *b, uint32_t id)
{
    key k;
    memcpy(&k, b->keys.items[id].text, sizeof k);
    return k;
}

static bool same_at(const key *x, const key *y, int level)
{
    if (x->part != y->part) return false;
    return level == 0 ||
           (x->kernel == y->kernel && x->operator_name == y->operator_name && x->group == y->group);
}

static int by_key(const void *a, const void *b)
{
    const key *x = a, *y = b;
    const uint32_t p[] = {x->part, x->kernel, x->operator_name, x->group, x->rank};
    const uint32_t q[] = {y->part, y->kernel, y->operator_name, y->group, y->rank};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
    return 0;
}

typedef struct shares {
    key *keys;  /* of the wait, sorted */
    int64_t *x; /* what the paths differ by */
    int64_t *sums, *parts;
    size_t *ends;
    rs_keyed *scratch;
} shares;

/* Shares out `whole` over [from, to): first over what the keys differ in at this level, by their sums. What two
 * ranks do alike, each on its own path, so cancels out before anybody is blamed. */
static bool share_level(shares *s, size_t from, size_t to, int64_t whole, int level)
{
    size_t n = 0;
    if (level == 2) return allot(whole, s->x + from, to - from, s->parts + from, s->scratch);
    for (size_t i = from, next; i < to; i = next) {
        int64_t differs = 0;
        for (next = i; next < to && same_at(&s->keys[i], &s->keys[next], level); next++)
            differs = rs_add_sat(differs, s->x[next]);
        s->sums[from + n] = differs;
        s->ends[from + n++] = next;
    }
    /* the parts of this level stand in the places of `parts` until the next one divides them */
    int64_t *own = rs_malloc((n + 1) * sizeof *own);
    size_t *ends = rs_malloc((n + 1) * sizeof *ends);
    bool ok = own && ends && allot(whole, s->sums + from, n, own, s->scratch);
    if (ok) memcpy(ends, s->ends + from, n * sizeof *ends);
    for (size_t i = 0, at = from; ok && i < n; at = ends[i++]) {
        if (own[i])
            ok = share_level(s, at, ends[i], own[i], level + 1);
        else
            for (size_t k = at; k < ends[i]; k++) s->parts[k] = 0;
    }
    rs_free(own);
    rs_free(ends);
    return ok;
}

static bool share_out(blamer *b, int64_t wait)
{
    size_t n = b->n_touched;
    shares s = {.keys = rs_malloc((n + 1) * sizeof *s.keys),
                .x = rs_malloc((n + 1) * sizeof *s.x),
                .sums = rs_malloc((n + 1) * sizeof *s.sums),
                .parts = rs_malloc((n + 1) * sizeof *s.parts),
                .ends = rs_malloc((n + 1) * sizeof *s.ends),
                .scratch = rs_malloc((n + 1) * sizeof *s.scratch)};
    bool ok = s.keys && s.x && s.sums && s.parts && s.ends && s.scratch;
    for (size_t i = 0; ok && i < n; i++) s.keys[i] = key_of(b, b->touched[i]);
    if (ok && n) qsort(s.keys, n, sizeof *s.keys, by_key);
    for (size_t i = 0; ok && i < n; i++) {
        b->touched[i] = rs_strings_find(&b->keys, (const char *)&s.keys[i], sizeof s.keys[i]);
        s.x[i] = b->sums[b->touched[i]].now;
    }
    ok = ok && share_level(&s, 0, n, wait, 0);
    for (size_t i = 0; ok && i < n; i++) b->sums[b->touched[i]].now = s.parts[i];
    rs_free(s.keys);
    rs_free(s.x);
    rs_free(s.sums);
    rs_free(s.parts);
    rs_free(s.ends);
    rs_free(s.scratch);
    return ok;
}

static void end_wait(blamer *b, const rs_wait *w)
{
    const rs_engine *e = b->f.e;
    uint32_t row = e->ranks[w->rank]->row[w->node - e->node_base[w->rank]];
    total_row *t = &b->totals[b->kind];
    for (size_t i = 0; i < b->n_touched; i++) {
        sum *s = &b->sums[b->touched[i]];
        key k = key_of(b, b->touched[i]);
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
    b->n_touched = 0;
}

/* By how much the clocks of two ranks may be wrong against each other. */
static int64_t width_of(const blamer *b, size_t one, size_t other)
{
    const rs_engine *e = b->f.e;
    if (one == other || b->how == RS_CLOCKS_FILE) return 0;
    if (b->how != RS_CLOCKS_ENDS) return e->trust.width;
    return rs_add_sat(e->coll.clocks[one].residual, e->coll.clocks[other].residual);
}

/* The same seen from far: the rank that was waited for, when there is no time left to climb. */
static bool blame_coarsely(blamer *b, const rs_wait *w)
{
    rs_link l = {.node = w->until >> 1, .part = RS_PART_UNEXPLAINED};
    return add_to_key(b, &l, RS_PART_UNEXPLAINED, w->ns);
}

static bool blame_wait(blamer *b, const rs_wait *w, bool excess)
{
    total_row *t = &b->totals[b->kind];
    size_t other = rs_engine_rank_of(b->f.e, w->until >> 1);
    t->waits++;
    t->waiting = rs_add_sat(t->waiting, w->ns);
    if (b->kind == RS_WAIT_COMMUNICATION && w->ns < width_of(b, w->rank, other)) {
        t->uncertain = rs_add_sat(t->uncertain, w->ns);
        return true;
    }
    b->waiting = w->rank;
    bool ok = b->steps > b->budget ? blame_coarsely(b, w)
              : excess ? rs_forest_difference(&b->f, w->until, w->node << 1, count_link, b, &b->steps)
                       : rs_forest_chain(&b->f, w->until, w->since, count_link, b, &b->steps);
    ok = ok && share_out(b, w->ns);
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
    const rs_engine *e = x->b->f.e;
    size_t r = rs_engine_rank_of(e, l->node);
    const rs_skeleton *s = e->ranks[r];
    uint32_t local = l->node - e->node_base[r];
    bool work_itself = l->edge == RS_NO_CAUSE && l->from != RS_NO_CAUSE;
    x->row.rank = x->b->rank_of[r];
    x->row.event = s->row[local] == RS_NO_ROW ? -1 : (int64_t)s->row[local];
    x->row.part = rs_part_names[l->part];
    x->row.kernel = rs_pool_text(&s->pool, s->name[local]);
    x->row.operator_name = rs_pool_text(&s->pool, s->operator_name[local]);
    x->row.at = rs_moment_time(x->b->f.t, l->node << 1 | work_itself);
    x->row.ns = ns;
    x->status = rs_table_put_row(x->table, &chain_record, x->row.rank, &x->row, x->err);
    return x->status == RS_OK;
}

static int by_length(const void *a, const void *b)
{
    const rs_wait *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static rs_status put_chain(blamer *b, rs_wait *waits, size_t n, int64_t instance, bool excess, rs_table *t,
                           rs_error *err)
{
    if (instance < 0 || (uint64_t)instance >= n) return RS_OK;
    qsort(waits, n, sizeof *waits, by_length);
    const rs_wait *w = &waits[instance];
    chain_sink x = {.b = b, .table = t, .err = err, .status = RS_OK};
    x.row.wait = rs_wait_names[b->kind];
    x.row.waiting_rank = b->rank_of[w->rank];
    bool ok = excess ? rs_forest_difference(&b->f, w->until, w->node << 1, put_link, &x, &b->steps)
                     : rs_forest_chain(&b->f, w->until, w->since, put_link, &x, &b->steps);
    return ok ? RS_OK : x.status;
}

/* ---- all waits ----------------------------------------------------------------------------------------- */

/* The waiting that is left where every rank and step has the mean of all. RS_NO_TIME: not known. */
static rs_status wait_balanced(blamer *b, bool wanted[RS_N_WAITS], int64_t of, rs_error *err)
{
    const rs_engine *e = b->f.e;
    rs_roles roles = {0};
    rs_what_if q = {0};
    rs_weights w = {0};
    rs_times t = {0};
    size_t n_changed = 0;
    rs_status status = rs_roles_find(e->ranks, e->n_ranks, &roles, err);
    if (status == RS_OK) status = rs_what_if_parse("balanced", &q, err);
    if (status == RS_OK) status = rs_weights_copy(e, b->f.w, &w, err);
    if (status == RS_OK) status = rs_what_if_apply(&q, e, &roles, b->rank_of, &w, &n_changed, err);
    if (status == RS_OK && n_changed) status = rs_engine_replay(e, &w, &t, err);
    for (unsigned kind = 0; status == RS_OK && kind < RS_N_WAITS; kind++) {
        rs_forest f = {e, &w, &t};
        rs_wait *waits = NULL;
        size_t n = 0;
        b->totals[kind].balanced = b->totals[kind].avoidable = RS_NO_TIME;
        if (!wanted[kind] || !n_changed) continue;
        status = rs_waits_find(&f, (rs_wait_kind)kind, &waits, &n, err);
        b->totals[kind].balanced = 0;
        for (size_t i = 0; status == RS_OK && i < n; i++)
            if (of < 0 || b->rank_of[waits[i].rank] == of)
                b->totals[kind].balanced = rs_add_sat(b->totals[kind].balanced, waits[i].ns);
        b->totals[kind].avoidable = rs_sub_sat(b->totals[kind].waiting, b->totals[kind].balanced);
        rs_free(waits);
    }
    rs_times_clear(&t);
    rs_weights_clear(&w);
    rs_what_if_clear(&q);
    rs_roles_clear(&roles);
    return status;
}

static rs_status blame_kind(const rs_run *run, blamer *b, rs_wait_kind kind, rs_result *result, rs_error *err)
{
    rs_wait *waits = NULL;
    size_t n = 0, kept = 0;
    int64_t of = rs_options_is_set(run->options, "of") ? rs_options_int(run->options, "of") : -1;
    bool excess =
        kind == RS_WAIT_COMMUNICATION && strcmp(rs_options_text(run->options, "method"), "excess") == 0;
    bool ok = true;
    b->kind = kind;
    RS_TRY(rs_waits_find(&b->f, kind, &waits, &n, err));
    for (size_t i = 0; i < n; i++)
        if (of < 0 || b->rank_of[waits[i].rank] == of) waits[kept++] = waits[i];
    for (size_t i = 0; ok && i < kept; i++) ok = blame_wait(b, &waits[i], excess);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "blame");
    if (status == RS_OK && rs_options_is_set(run->options, "instance"))
        status = put_chain(b, waits, kept, rs_options_int(run->options, "instance"), excess,
                           result->tables[CHAIN], err);
    rs_free(waits);
    return status;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static const char *text_at(const blamer *b, uint32_t id)
{
    return id == NO_TEXT || id == RS_NO_STRING ? NULL : b->texts.items[id].text;
}

static blame_row row_of(const blamer *b, size_t id)
{
    const sum *s = &b->sums[id];
    key k = key_of(b, (uint32_t)id);
    return (blame_row){.wait = rs_wait_names[k.kind],
                       .waiting_rank = b->rank_of[k.waiting],
                       .rank = k.rank == UINT32_MAX ? -1 : b->rank_of[k.rank],
                       .part = rs_part_names[k.part],
                       .kernel = text_at(b, k.kernel),
                       .operator_name = text_at(b, k.operator_name),
                       .group = text_at(b, k.group),
                       .ns = s->ns,
                       .whole = b->totals[k.kind].waiting,
                       .instances = s->instances,
                       .example = s->example == RS_NO_ROW ? -1 : (int64_t)s->example};
}

static rs_status put_rows(const blamer *b, rs_result *result, const bool *wanted, rs_error *err)
{
    rs_keyed *order = rs_malloc((b->n_sums + 1) * sizeof *order);
    size_t n = 0;
    rs_status status = order ? RS_OK : rs_fail_nomem(err, "blame");
    for (uint32_t i = 0; status == RS_OK && i < b->n_sums; i++)
        if (b->sums[i].ns) order[n++] = (rs_keyed){-b->sums[i].ns, i};
    if (status == RS_OK && !rs_keyed_sort(order, n)) status = rs_fail_nomem(err, "blame");
    for (unsigned kind = 0; status == RS_OK && kind < RS_N_WAITS; kind++) {
        for (size_t i = 0; status == RS_OK && i < n; i++) {
            blame_row row = row_of(b, order[i].value);
            if (row.wait == rs_wait_names[kind])
                status = rs_table_put_row(result->tables[BLAME], &blame_record, row.rank, &row, err);
        }
        if (status == RS_OK && wanted[kind])
            status = rs_table_put_row(result->tables[TOTALS], &total_record, -1, &b->totals[kind], err);
    }
    rs_free(order);
    return status;
}

static void explain(const blamer *b, rs_result *result)
{
    const rs_engine *e = b->f.e;
    if (e->n_alone)
        rs_result_note(
            result,
            "%zu kernels of communication have partners that are not in the traces: what they waited "
            "is not told",
            e->n_alone);
    const total_row *t = &b->totals[RS_WAIT_COMMUNICATION];
    if (t->uncertain > t->waiting / 2 && t->waiting > 0)
        rs_result_note(result, "most of the waiting for other ranks is shorter than the clocks are sure: %s",
                       "see uncertain_us, and rankscope clocks");
    if (b->steps > b->budget)
        rs_result_note(result,
                       "too many long waits to follow each: the later ones blame the rank waited for alone, "
                       "as unexplained");
    rs_coll_note_trust(&e->trust, result);
}

static rs_status fill(const rs_run *run, blamer *b, rs_result *result, rs_error *err)
{
    const char *wait = rs_options_text(run->options, "wait"), *by = rs_options_text(run->options, "by");
    int64_t of = rs_options_is_set(run->options, "of") ? rs_options_int(run->options, "of") : -1;
    bool wanted[RS_N_WAITS], known = of < 0;
    rs_status status = RS_OK;
    b->by = strcmp(by, "kernel") == 0     ? BY_KERNEL
            : strcmp(by, "operator") == 0 ? BY_OPERATOR
            : strcmp(by, "group") == 0    ? BY_GROUP
                                          : BY_RANK;
    for (size_t k = 0; k < b->f.e->n_ranks; k++) known |= b->rank_of[k] == of;
    if (!known) return rs_fail(err, RS_ERR_USAGE, "--of %lld: there is no such rank", (long long)of);
    for (unsigned k = 0; k < RS_N_WAITS; k++) {
        wanted[k] = strcmp(wait, "all") == 0 || strcmp(wait, rs_wait_names[k]) == 0;
        b->totals[k] = (total_row){.wait = rs_wait_names[k]};
    }
    for (unsigned k = 0; status == RS_OK && k < RS_N_WAITS; k++)
        if (wanted[k]) status = blame_kind(run, b, (rs_wait_kind)k, result, err);
    if (status == RS_OK) status = wait_balanced(b, wanted, of, err);
    if (status == RS_OK) status = put_rows(b, result, wanted, err);
    if (status == RS_OK && rs_options_is_set(run->options, "instance")) result->main_table = CHAIN;
    if (status == RS_OK) explain(b, result);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_engine engine = {0};
    rs_weights weights = {0};
    rs_times times = {0};
    rs_skeletons ranks;
    bool told = strcmp(rs_options_text(run->options, "edges"), "told") == 0;
    rs_engine_how how = {rs_clock_how_of(rs_options_text(run->options, "clocks")), !told};
    blamer b = {.how = how.clocks};
    rs_status status = rs_skeletons_take(partials, n, &ranks, err);
    b.rank_of = ranks.rank_of;
    if (status == RS_OK && !(rs_strings_init(&b.keys) && rs_strings_init(&b.texts)))
        status = rs_fail_nomem(err, "blame");
    if (status == RS_OK) status = rs_engine_join(ranks.items, ranks.n, &how, &engine, err);
    if (status == RS_OK)
        status = rs_weights_recorded(&engine, told ? RS_EDGES_TOLD : RS_EDGES_ALL, &weights, err);
    if (status == RS_OK) status = rs_engine_replay(&engine, &weights, &times, err);
    if (status == RS_OK) {
        b.f = (rs_forest){&engine, &weights, &times};
        b.budget = 64 * (uint64_t)engine.n_nodes;
        status = fill(run, &b, result, err);
    }
    rs_strings_clear(&b.keys);
    rs_strings_clear(&b.texts);
    rs_free(b.sums);
    rs_free(b.touched);
    rs_times_clear(&times);
    rs_weights_clear(&weights);
    rs_engine_clear(&engine);
    rs_skeletons_clear(&ranks);
    return status;
}

const rs_analysis rs_analysis_blame = {
    .name = "blame",
    .help = "Who or what each wait was for, conserved to the nanosecond",
    .about =
        "Three kinds of waiting: members of a collective wait until the last has started (communication), "
        "devices wait for work (idle), calls wait for work to end (host). One lateness may show in all three, so "
        "sums mean something within a kind.\n\n"
        "What a wait was for is read off the graph that replay stands on: every event has one cause that held "
        "it up. Chain: what ran in the meantime, link by link, back from the end of the wait to its begin. "
        "Excess: why the last member was later than the one that waited. The paths to both are climbed back "
        "to where they meet; what the last one's holds more of is to blame, in proportion. Either way the shares "
        "of a wait add up to it, to the nanosecond: in the table totals, waiting_us is blamed_us and "
        "uncertain_us.\n\n"
        "A pipeline waits when all is balanced, too: avoidable_us is what is left of the waiting without that.",
    .examples = "rankscope blame traces/\nrankscope blame --wait communication --by kernel --of 3 traces/\n"
                "rankscope blame --wait communication --instance 0 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .columns = RS_SKELETON_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "causes reach over steps; the graph is of whole traces",
    .rank = rs_skeletons_rank,
    .merge = merge,
    .free_partial = rs_skeleton_free,
    .absent = "no events",
    .partial_layout = &rs_skeleton_layout,
};
