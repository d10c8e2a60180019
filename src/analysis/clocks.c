/* clocks: how far each rank's clock is ahead, as an interval that is certain and one that is likely. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "clock/clocks.h"
#include "clock/collective_clocks.h"
#include "clock/gpu.h"
#include "clock/hosts.h"
#include "text/numbers.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"end-skew", RS_OPTION_INT, "US", NULL, "10",
     "how far ends of one kind of collective may always lie apart: wider likely intervals"},
    {"hosts", RS_OPTION_TEXT, "FILE|guess", NULL, NULL,
     "hosts of the ranks, as lines RANK,HOST: ranks of one host share its clock, which bounds them unless the "
     "collectives contradict it; guess: ranks whose clocks are likely one"},
    {"clock-bound", RS_OPTION_LIST, "RANK:LOW:HIGH", NULL, NULL,
     "known from elsewhere: RANK's clock is ahead of the lowest rank's by LOW to HIGH us"},
};

typedef struct clock_row {
    const char *host, *host_from;
    unsigned status;
    int64_t offset, low, high, certain_low, certain_high;
    double drift, drift_low, drift_high;
    bool drift_assumed;
    int64_t gpu_offset, gpu_low, gpu_high;
    size_t n, n_set_aside;
    int64_t at;
} clock_row;

static const char *const status_words[] = {"certain", "likely", "unbound", "contradictory", "unstable"};
static const char *const drift_words[] = {"collectives", "assumed"};

#define CLOCK_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(MAYBE(clock_row, host), "host", TEXT, NONE, "machine that it ran on, where known", NULL)            \
    CELL(MAYBE(clock_row, host_from), "host_from", TEXT, NONE,                                               \
         "name: the file's name; trace: the trace says so; list: --hosts FILE; guessed: likely one clock; "  \
         "contradicted: the clock is not that of the host's first rank",                                     \
         "host from")                                                                                        \
    CELL(WORD(clock_row, status, status_words), "status", TEXT, NONE,                                        \
         "certain: the certain interval says as much as the likely one; likely: ends of collectives say "    \
         "more; unbound: nothing ties it to the lowest rank; contradictory: its collectives contradict "     \
         "each other; unstable: the clock was set while the trace was taken",                                \
         NULL)                                                                                               \
    CELL(OF(clock_row, offset), "offset_us", TIME, US,                                                       \
         "how far its clock is ahead of the lowest rank's: the estimate", "ahead")                           \
    CELL(OF(clock_row, low), "low_us", TIME, US, "least likely value", "ahead from")                         \
    CELL(OF(clock_row, high), "high_us", TIME, US, "greatest likely value", "ahead to")                      \
    CELL(OF(clock_row, certain_low), "certain_low_us", TIME, US,                                             \
         "it is not less: no rank leaves a collective before all have come", "surely from")                  \
    CELL(OF(clock_row, certain_high), "certain_high_us", TIME, US, "it is not more", "surely to")            \
    CELL(OF(clock_row, drift), "drift_ppm", REAL, NONE, "by what it is faster than the lowest rank's",       \
         "drift ppm")                                                                                        \
    CELL(OF(clock_row, drift_low), "drift_low_ppm", REAL, NONE, "least value", "drift from")                 \
    CELL(OF(clock_row, drift_high), "drift_high_ppm", REAL, NONE, "greatest value", "drift to")              \
    CELL(WORD(clock_row, drift_assumed, drift_words), "drift_from", TEXT, NONE,                              \
         "collectives: bounded by them; assumed: they do not show it, within 100 ppm", "drift by")           \
    CELL(OF(clock_row, gpu_offset), "gpu_offset_us", TIME, US,                                               \
         "how far the device's clock is ahead of its host's: middle of the bounds", "GPU ahead")             \
    CELL(OF(clock_row, gpu_low), "gpu_low_us", TIME, US,                                                     \
         "it is not less: a call that waits for the device returns after the work has ended", "GPU from")    \
    CELL(OF(clock_row, gpu_high), "gpu_high_us", TIME, US, "it is not more: work starts after its launch",   \
         "GPU to")                                                                                           \
    CELL(OF(clock_row, n), "collectives", INT, COUNT, "collectives that bound it", NULL)                     \
    CELL(OF(clock_row, n_set_aside), "set_aside", INT, COUNT,                                                \
         "collectives that fit the others too badly and are not used", "set aside")                          \
    CELL(OF(clock_row, at), "at_us", MOMENT, US, "moment at which the offsets hold", "at")
RS_RECORD(clock, CLOCK_ROW);

typedef struct pair_row {
    int64_t other;
    int64_t low, high, certain_low, certain_high;
    size_t n;
    bool in_tree;
} pair_row;

#define PAIR_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "lower rank", NULL)                                                          \
    CELL(OF(pair_row, other), "other", INT, ID, "the other", NULL)                                           \
    CELL(OF(pair_row, low), "low_us", TIME, US, "least likely distance: the other is ahead of rank", "from") \
    CELL(OF(pair_row, high), "high_us", TIME, US, "greatest", "to")                                          \
    CELL(OF(pair_row, certain_low), "certain_low_us", TIME, US, "bound by the collectives of the two alone", \
         "surely from")                                                                                      \
    CELL(OF(pair_row, certain_high), "certain_high_us", TIME, US, "bound by them", "surely to")              \
    CELL(OF(pair_row, n), "collectives", INT, COUNT, "collectives of both", NULL)                            \
    CELL(OF(pair_row, in_tree), "used", INT, NONE, "1: likely intervals of the table clocks go along it",    \
         NULL)
RS_RECORD(pair, PAIR_ROW);

static const rs_column_spec contradiction_columns[] = {
    {"group", RS_TEXT, RS_UNIT_NONE, "process group's name, or its members", NULL},
    {"number", RS_INT, RS_UNIT_ID, "sequence number, or place in the group's order", NULL},
    {"ranks", RS_INT, RS_UNIT_COUNT, "ranks that recorded it", NULL},
    {"rank", RS_INT, RS_UNIT_ID, "the lowest of them", NULL},
    {"by_us", RS_TIME, RS_UNIT_US, "by what no clocks could explain it", "by"},
};

static const rs_table_spec clock_table = RS_TABLE("clocks", "one row is one rank", clock_columns);
static const rs_table_spec pair_table =
    RS_TABLE("pairs", "one row is two ranks that share collectives", pair_columns);
static const rs_table_spec contradiction_table =
    RS_TABLE("contradictions", "one row is a collective that contradicts the others", contradiction_columns);
static const rs_table_spec *const tables[] = {&clock_table, &pair_table, &contradiction_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { CLOCKS, PAIRS, CONTRADICTIONS };

/* ---- one rank --------------------------------------------------------------------------------------- */

struct answer;
/* Reads --clock-bound into the answer's ties; without an answer only looks whether it can be read. */
static rs_status each_bound(const rs_options *given, struct answer *a, rs_error *err);

typedef struct part {
    rs_coll_rank *ops;
    int64_t gpu_low, gpu_high;
} part;

static void free_part(void *partial)
{
    part *p = partial;
    if (!p) return;
    rs_coll_rank_free(p->ops);
    rs_free(p);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_clock_gpu gpu;
    RS_TRY(each_bound(run->options, NULL, err));
    part *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "clocks");
    *partial = p;
    rs_status status = rs_coll_rank_any(trace, run->policy, &p->ops, err);
    if (status == RS_OK) status = rs_clock_gpu_of(trace, run->policy, &gpu, err);
    if (status == RS_OK) {
        p->gpu_low = gpu.low;
        p->gpu_high = gpu.high;
    }
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

typedef struct answer {
    const rs_partial **of; /* by the job's rank index */
    const rs_coll_rank **ranks;
    clock_row *rows;
    char **hosts; /* owned */
    size_t n;
    rs_host_list list;
    rs_clock_tie *ties;
    size_t n_ties, ties_capacity;
} answer;

static const part *part_of(const answer *a, size_t i)
{
    return a->of[i]->value;
}

static bool set_host(answer *a, size_t i)
{
    const char *text = rs_pool_text(&a->ranks[i]->pool, a->ranks[i]->host), *from = "trace";
    const char *listed = rs_hosts_find(&a->list, a->of[i]->rank);
    size_t n = text ? strlen(text) : 0;
    if (a->of[i]->source && rs_host_in_name(a->of[i]->source, &text, &n)) from = "name";
    if (listed) {
        text = listed;
        n = strlen(listed);
        from = "list";
    }
    if (!text || !n) return true;
    a->hosts[i] = rs_strndup(text, n);
    a->rows[i].host = a->hosts[i];
    a->rows[i].host_from = from;
    return a->hosts[i] != NULL;
}

/* A moment on two clocks. */
typedef struct between {
    int64_t low, high; /* RS_NO_TIME: nothing is known */
} between;

/* What b's host clock is ahead of a's, from the bounds of the clocks that collectives compare: those of the
 * devices, or the hosts' own. */
static between host_clocks(const clock_row *a, const clock_row *b, between clock_a, between clock_b, bool gpu)
{
    const between unknown = {RS_NO_TIME, RS_NO_TIME};
    if (clock_a.low == RS_NO_TIME || clock_a.high == RS_NO_TIME || clock_b.low == RS_NO_TIME ||
        clock_b.high == RS_NO_TIME)
        return unknown;
    between d = {rs_sub_sat(clock_b.low, clock_a.high), rs_sub_sat(clock_b.high, clock_a.low)};
    if (!gpu) return d;
    if (a->gpu_low == RS_NO_TIME || a->gpu_high == RS_NO_TIME || b->gpu_low == RS_NO_TIME ||
        b->gpu_high == RS_NO_TIME)
        return unknown;
    d.low = rs_sub_sat(d.low, rs_sub_sat(b->gpu_high, a->gpu_low));
    d.high = rs_sub_sat(d.high, rs_sub_sat(b->gpu_low, a->gpu_high));
    return d;
}

/* As nearly as one clock is read twice. */
static int64_t nearness(int64_t span)
{
    return rs_add_sat(2000, span / 1000000);
}

/* Whether the host clocks of two ranks may be one, for all that is certain. */
static bool may_share(const clock_row *a, const clock_row *b, bool gpu, int64_t span)
{
    between d = host_clocks(a, b, (between){a->certain_low, a->certain_high},
                            (between){b->certain_low, b->certain_high}, gpu);
    return d.low == RS_NO_TIME || (d.low <= nearness(span) && d.high >= -nearness(span));
}

/* Half of the widest likely interval by which two ranks are taken for ranks of one host. */
#define GUESS 50000

static bool likely_share(const clock_row *a, const clock_row *b, bool gpu, int64_t span)
{
    between d = host_clocks(a, b, (between){a->low, a->high}, (between){b->low, b->high}, gpu);
    return d.low != RS_NO_TIME && d.low <= nearness(span) && d.high >= -nearness(span) &&
           rs_sub_sat(d.high, d.low) / 2 <= GUESS;
}

/* Ranks without a host join the first rank whose clock is likely theirs. */
static bool guess_hosts(answer *a, int64_t span)
{
    size_t n_hosts = 0;
    for (size_t i = 0; i < a->n; i++) {
        char name[40];
        size_t k = 0;
        if (a->hosts[i]) continue;
        for (; k < i; k++)
            if (a->hosts[k] && a->rows[k].host_from[0] == 'g' &&
                likely_share(&a->rows[k], &a->rows[i], !a->ranks[i]->on_host, span))
                break;
        snprintf(name, sizeof name, "host %zu", n_hosts);
        if (k == i) n_hosts++;
        const char *text = k < i ? a->hosts[k] : name;
        a->hosts[i] = rs_strndup(text, strlen(text));
        if (!a->hosts[i]) return false;
        a->rows[i].host = a->hosts[i];
        a->rows[i].host_from = "guessed";
    }
    return true;
}

static int64_t span_of(const rs_coll_job *job)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < job->n_arrivals; i++) {
        if (rs_coll_start(job, &job->arrivals[i]) < first) first = rs_coll_start(job, &job->arrivals[i]);
        if (rs_coll_end(job, &job->arrivals[i]) > last) last = rs_coll_end(job, &job->arrivals[i]);
    }
    return job->n_arrivals ? rs_sub_sat(last, first) : 0;
}

/* Of hosts that are not guessed: where a rank's clock cannot be that of the host's first rank, it says so. */
static void check_hosts(answer *a, int64_t span)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; a->hosts[i] && k < i; k++) {
            if (!a->hosts[k] || strcmp(a->hosts[k], a->hosts[i]) != 0) continue;
            if (!may_share(&a->rows[k], &a->rows[i], !a->ranks[i]->on_host, span))
                a->rows[i].host_from = "contradicted";
            break;
        }
}

/* ---- what is told from elsewhere ------------------------------------------------------------------------ */

/* One of --clock-bound. *rank stays the caller's own numbering. */
static bool parse_bound(const char *text, size_t n, int64_t *rank, int64_t *low, int64_t *high)
{
    const char *end = text + n, *one = memchr(text, ':', n);
    const char *two = one ? memchr(one + 1, ':', (size_t)(end - one - 1)) : NULL;
    double number, from, to;
    if (!two || !rs_parse_real(text, (size_t)(one - text), &number) ||
        !rs_parse_real(one + 1, (size_t)(two - one - 1), &from) ||
        !rs_parse_real(two + 1, (size_t)(end - two - 1), &to))
        return false;
    if (!(number >= 0 && number < INT32_MAX) || !(from >= -1e12 && from <= to && to <= 1e12)) return false;
    *rank = rs_int_of(number);
    *low = rs_int_of(floor(from * 1000));
    *high = rs_int_of(ceil(to * 1000));
    return (double)*rank == number;
}

static rs_status each_bound(const rs_options *given, answer *a, rs_error *err)
{
    const char *at = rs_options_text(given, "clock-bound");
    for (size_t n; at && *at; at += n + (at[n] == '\n')) {
        int64_t rank, low, high;
        n = strcspn(at, "\n");
        if (!parse_bound(at, n, &rank, &low, &high))
            return rs_fail(err, RS_ERR_USAGE,
                           "--clock-bound %.*s: it takes RANK:LOW:HIGH, in us, LOW not above HIGH",
                           (int)(n < 80 ? n : 80), at);
        if (!a) continue;
        size_t i = 0;
        while (i < a->n && a->of[i]->rank != rank) i++;
        if (i == a->n)
            return rs_fail(err, RS_ERR_USAGE, "--clock-bound %.*s: there is no rank %lld",
                           (int)(n < 80 ? n : 80), at, (long long)rank);
        if (i == 0)
            return rs_fail(err, RS_ERR_USAGE,
                           "--clock-bound %.*s: rank %lld is the reference that the others are compared with",
                           (int)(n < 80 ? n : 80), at, (long long)rank);
        if (!RS_PUSH(a->ties, a->n_ties, a->ties_capacity, (rs_clock_tie){0, (uint32_t)i, low, high}))
            return rs_fail_nomem(err, "clocks");
    }
    return RS_OK;
}

/* The ranks of a listed host have its clock; what their devices are ahead of it lies in their own bounds. */
static bool tie_hosts(answer *a, int64_t span)
{
    for (size_t i = 0; i < a->n; i++) {
        if (!a->hosts[i] || strcmp(a->rows[i].host_from, "list") != 0) continue;
        for (size_t k = 0; k < i; k++) {
            if (!a->hosts[k] || strcmp(a->rows[k].host_from, "list") != 0 ||
                strcmp(a->hosts[k], a->hosts[i]) != 0)
                continue;
            const clock_row *x = &a->rows[k], *y = &a->rows[i];
            int64_t low = -nearness(span), high = nearness(span);
            if (!a->ranks[i]->on_host) {
                if (x->gpu_low == RS_NO_TIME || x->gpu_high == RS_NO_TIME || y->gpu_low == RS_NO_TIME ||
                    y->gpu_high == RS_NO_TIME)
                    break;
                low = rs_add_sat(low, rs_sub_sat(y->gpu_low, x->gpu_high));
                high = rs_add_sat(high, rs_sub_sat(y->gpu_high, x->gpu_low));
            }
            if (!RS_PUSH(a->ties, a->n_ties, a->ties_capacity,
                         (rs_clock_tie){(uint32_t)k, (uint32_t)i, low, high}))
                return false;
            break;
        }
    }
    return true;
}

static void set_row(clock_row *row, const rs_clock *c, const part *p, int64_t at)
{
    row->status = c->status;
    row->offset = c->offset;
    row->low = c->low;
    row->high = c->high;
    row->certain_low = c->certain_low;
    row->certain_high = c->certain_high;
    row->drift = c->drift;
    row->drift_low = c->drift_low;
    row->drift_high = c->drift_high;
    row->drift_assumed = c->drift_assumed;
    row->gpu_low = p->gpu_low;
    row->gpu_high = p->gpu_high;
    row->gpu_offset = p->gpu_low == RS_NO_TIME || p->gpu_high == RS_NO_TIME
                          ? RS_NO_TIME
                          : rs_add_sat(p->gpu_low, rs_sub_sat(p->gpu_high, p->gpu_low) / 2);
    row->n = c->n;
    row->n_set_aside = c->n_set_aside;
    row->at = at;
}

static rs_status put_pairs(const rs_clocks *clocks, const answer *a, rs_table *t, rs_error *err)
{
    for (size_t i = 0; i < clocks->n_pairs; i++) {
        const rs_clock_pair *p = &clocks->pairs[i];
        pair_row row = {.other = a->of[p->b]->rank,
                        .low = p->low,
                        .high = p->high,
                        .certain_low = p->certain_low,
                        .certain_high = p->certain_high,
                        .n = p->n,
                        .in_tree = p->in_tree};
        RS_TRY(rs_table_put_row(t, &pair_record, a->of[p->a]->rank, &row, err));
    }
    return RS_OK;
}

static rs_status put_contradictions(const rs_coll_job *job, const rs_clocks *clocks, const answer *a,
                                    rs_table *t, rs_error *err)
{
    for (size_t i = 0; i < clocks->n_contradictions; i++) {
        const rs_coll_instance *c = &job->instances[clocks->contradictions[i].instance];
        const rs_coll_arrival *first = &job->arrivals[c->first];
        const rs_coll_shape *op = rs_coll_shape_at(job, first);
        const rs_pool *pool = &job->ranks[first->rank]->pool;
        const char *group = rs_pool_text(pool, op->group);
        RS_TRY(RS_PUT_ROW(t, err, group && *group ? group : rs_pool_text(pool, op->members), c->number, c->n,
                          a->of[first->rank]->rank, clocks->contradictions[i].by));
    }
    return RS_OK;
}

static void explain(const rs_coll_job *job, const rs_clocks *clocks, const answer *a, rs_result *result)
{
    size_t n[RS_N_CLOCK_STATUS] = {0};
    for (size_t i = 0; i < clocks->n; i++) n[clocks->of[i].status]++;
    if (a->n < 2)
        rs_result_note(result, "one rank: no other clock to compare with; give the traces of all ranks");
    if (a->n >= 2 && !job->n)
        rs_result_note(result, "no collectives in these traces: nothing ties their clocks");
    if (job->n && n[RS_CLOCK_UNBOUND])
        rs_result_note(result, "%zu clocks are unbound: no chain of collectives ties them to the lowest rank",
                       n[RS_CLOCK_UNBOUND]);
    if (n[RS_CLOCK_CONTRADICTORY])
        rs_result_note(
            result,
            "%zu clocks are contradictory: more than 1 %% of their collectives cannot be one (table "
            "contradictions)",
            n[RS_CLOCK_CONTRADICTORY]);
    if (n[RS_CLOCK_UNSTABLE])
        rs_result_note(result, "%zu clocks are unstable: they were set while the trace was taken",
                       n[RS_CLOCK_UNSTABLE]);
}

static void set_rows(answer *a, const rs_coll_job *job, const rs_clocks *clocks)
{
    for (size_t i = 0; i < a->n; i++)
        set_row(&a->rows[i], &clocks->of[i], part_of(a, i), job->n ? clocks->at : RS_NO_TIME);
}

/* Once with what is told by hand, then, where hosts are listed, with their clocks. */
static rs_status find_clocks(const rs_run *run, const rs_coll_job *job, answer *a, rs_clocks *clocks,
                             rs_result *result, rs_error *err)
{
    const char *hosts = rs_options_text(run->options, "hosts");
    bool guess = hosts && strcmp(hosts, "guess") == 0;
    int64_t skew = rs_options_int(run->options, "end-skew"), span = span_of(job);
    RS_TRY(each_bound(run->options, a, err));
    if (hosts && !guess) {
        rs_status status = rs_hosts_read(hosts, &a->list, err);
        if (status != RS_OK) return rs_error_wrap(err, "--hosts");
    }
    rs_clocks_settings settings = {.end_skew = skew > INT32_MAX ? (int64_t)INT32_MAX * 1000 : skew * 1000,
                                   .ties = a->ties,
                                   .n_ties = a->n_ties};
    RS_TRY(rs_clocks_find(job, &settings, clocks, err));
    set_rows(a, job, clocks);
    for (size_t i = 0; i < a->n; i++)
        if (!set_host(a, i)) return rs_fail_nomem(err, "clocks");
    check_hosts(a, span);
    if (guess && !guess_hosts(a, span)) return rs_fail_nomem(err, "clocks");
    if (guess)
        rs_result_note(result,
                       "hosts that nothing names are guessed: ranks whose clocks are likely one share one");
    if (!tie_hosts(a, span)) return rs_fail_nomem(err, "clocks");
    if (a->n_ties == settings.n_ties) return RS_OK;
    settings.ties = a->ties;
    settings.n_ties = a->n_ties;
    rs_clocks_clear(clocks);
    RS_TRY(rs_clocks_find(job, &settings, clocks, err));
    set_rows(a, job, clocks);
    return RS_OK;
}

static rs_status fill(const rs_run *run, const rs_coll_job *job, answer *a, rs_result *result, rs_error *err)
{
    RS_SCOPED(rs_clocks_clear) rs_clocks clocks = {0};
    rs_status status = find_clocks(run, job, a, &clocks, result, err);
    for (size_t i = 0; status == RS_OK && i < a->n; i++)
        status = rs_table_put_row(result->tables[CLOCKS], &clock_record, a->of[i]->rank, &a->rows[i], err);
    if (status == RS_OK) status = put_pairs(&clocks, a, result->tables[PAIRS], err);
    if (status == RS_OK) status = put_contradictions(job, &clocks, a, result->tables[CONTRADICTIONS], err);
    if (status == RS_OK) explain(job, &clocks, a, result);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    answer a = {0};
    RS_SCOPED(rs_coll_job_clear) rs_coll_job job = {0};
    a.of = rs_malloc((n + 1) * sizeof *a.of);
    a.ranks = rs_malloc((n + 1) * sizeof *a.ranks);
    a.rows = rs_calloc(n + 1, sizeof *a.rows);
    a.hosts = rs_calloc(n + 1, sizeof *a.hosts);
    rs_status status = a.of && a.ranks && a.rows && a.hosts ? RS_OK : rs_fail_nomem(err, "clocks");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const part *p = partials[i].value;
        if (!p || !p->ops) continue;
        a.of[a.n] = &partials[i];
        a.ranks[a.n++] = p->ops;
    }
    if (status == RS_OK) status = rs_clock_match(a.ranks, a.n, true, &job, err);
    if (status == RS_OK) status = fill(run, &job, &a, result, err);
    for (size_t i = 0; a.hosts && i < a.n; i++) rs_free(a.hosts[i]);
    rs_free_all(a.hosts, a.ties);
    rs_hosts_clear(&a.list);
    rs_free_all(a.of, a.ranks, a.rows);
    return status;
}

static const rs_field part_fields[] = {
    RS_FIELD_ONE_OR_NONE(part, ops, &rs_coll_rank_layout),
    RS_FIELDS(part, gpu_low, gpu_high),
};
static const rs_layout part_layout = RS_LAYOUT(part, part_fields);

const rs_analysis rs_analysis_clocks = {
    .name = "clocks",
    .group = "Across ranks",
    .help = "How far each rank's clock is ahead: certain and likely interval, drift, device against host",
    .about =
        "The lowest rank's clock is the reference. No rank leaves an all-reduce, all-gather, reduce-scatter "
        "or barrier before all have come, and no receive ends before its send began: each such pair of times "
        "bounds "
        "how far one clock is ahead of the other. All bounds together make the certain interval; it holds "
        "whatever the network did, unless collectives were matched wrongly.\n\n"
        "Ends of one collective also lie close together. The median distance of ends, kind by kind and size "
        "by "
        "size, gives the likely interval; where only one kind ties two ranks, it is wider by --end-skew and "
        "1 % of the transfer, since one kind may always end late on one rank.\n\n"
        "Clocks drift at a constant rate. Where collectives do not bound that to 200 ppm either way, 100 ppm "
        "is assumed (drift_from). Collectives whose ends deviate by more than 50 us and 8 times the median "
        "deviation are set aside.\n\n"
        "--clock-bound and --hosts FILE give more bounds. Ranks of one host share its clock, unless their "
        "collectives contradict that (host_from): then they stay apart.\n\n"
        "Of jobs with GPUs the clocks compared are the devices'; gpu_offset_us is what a device's clock is "
        "ahead of "
        "its host's within the trace. Of jobs without, they are the hosts'. Offsets are what remains after "
        "baseTimeNanoseconds, where every rank records it.",
    .examples = "rankscope clocks traces/\nrankscope clocks --table pairs --format csv traces/\n"
                "rankscope clocks --hosts hosts.csv traces/\nrankscope clocks --clock-bound 8:-50:50 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_COLL_HOST_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_part,
    .partial_layout = &part_layout,
};
