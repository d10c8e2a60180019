/* collectives: what ranks wait for each other, how fast they then are, and who comes late. */
#include <math.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "base/dtype.h"
#include "base/order.h"
#include "table/relation.h"
#include "clock/collective_clocks.h"
#include "match/collective_wait.h"
#include "base/interval.h"
#include "analysis/analysis.h"
#include "base/stats.h"
#include "base/try.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    RS_CLOCKS_OPTION,
    RS_COLL_FLIGHT_OPTION,
};

static const rs_column_spec one_columns[] = {
    {"index", RS_INT, RS_UNIT_ID, "number of the row, by first arrival", NULL},
    {"group", RS_TEXT, RS_UNIT_NONE, "process group's name", NULL},
    {"description", RS_TEXT, RS_UNIT_NONE, "process group's description", NULL},
    {"members", RS_TEXT, RS_UNIT_NONE, "ranks of the group, as recorded", NULL},
    {"number", RS_INT, RS_UNIT_ID, "sequence number, or place in the group's order", NULL},
    {"matched_by", RS_TEXT, RS_UNIT_NONE,
     "seq: recorded sequence number; order: order of the group's kernels", "by"},
    {"collective", RS_TEXT, RS_UNIT_NONE, "what it does", NULL},
    {"dtype", RS_TEXT, RS_UNIT_NONE, "type of the elements", NULL},
    {"in_elements", RS_INT, RS_UNIT_COUNT, "elements that each rank gives", NULL},
    {"out_elements", RS_INT, RS_UNIT_COUNT, "elements that each rank gets", NULL},
    {"message_bytes", RS_INT, RS_UNIT_BYTES,
     "size as nccl-tests counts it: the larger of both buffers of a rank", "size"},
    {"group_size", RS_INT, RS_UNIT_COUNT, "ranks in the group", NULL},
    {"ranks", RS_INT, RS_UNIT_COUNT, "of them, those whose kernel is in the traces", NULL},
    {"start_us", RS_TIME, RS_UNIT_US,
     "first arrival, from the job's first event (with --absolute: on rank 0's clock)", "start"},
    {"transfer_us", RS_TIME, RS_UNIT_US,
     "from the last arrival to the first end after it: no rank waits any more", "transfer"},
    {"max_wait_us", RS_TIME, RS_UNIT_US, "from the first arrival to the last", "max wait"},
    {"sum_wait_us", RS_TIME, RS_UNIT_US, "waits of all ranks for the last arrival", "sum of waits"},
    {"end_spread_us", RS_TIME, RS_UNIT_US, "from the first end to the last", "end spread"},
    {"first_rank", RS_INT, RS_UNIT_ID, "who arrives first", NULL},
    {"last_rank", RS_INT, RS_UNIT_ID, "who arrives last", NULL},
    {"algorithm_gbps", RS_REAL, RS_UNIT_GBPS, "size / transfer", "alg. bandwidth"},
    {"bus_gbps", RS_REAL, RS_UNIT_GBPS, "algorithm bandwidth times what nccl-tests counts for the links",
     "bus bandwidth"},
    {"clock_us", RS_TIME, RS_UNIT_US,
     "by what the clocks of the first and the last rank may be off against each other (command clocks); unknown: "
     "there is no bound, or with --clocks file none was looked for",
     "clocks within"},
    {"uncertain", RS_INT, RS_UNIT_NONE,
     "1: max_wait_us is less than the clocks are sure; with --clocks likely|certain waits, first and last are "
     "unknown then",
     NULL},
};
static const rs_column_spec arrival_columns[] = {
    {"index", RS_INT, RS_UNIT_ID, "the collective's row", NULL},
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"uid", RS_INT, RS_UNIT_ID, "position of its kernel in traceEvents", NULL},
    {"seq", RS_INT, RS_UNIT_ID, "sequence number that the rank recorded", NULL},
    {"start_us", RS_TIME, RS_UNIT_US, "arrival, clocks corrected", "start"},
    {"own_start_us", RS_MOMENT, RS_UNIT_US, "the same by the rank's own clock, as the command map has it",
     "own start"},
    {"late_us", RS_TIME, RS_UNIT_US, "after the first arrival", "late"},
    {"wait_us", RS_TIME, RS_UNIT_US, "until the last arrival", "wait"},
    {"duration_us", RS_TIME, RS_UNIT_US, "of the kernel", "duration"},
    {"uncertain", RS_INT, RS_UNIT_NONE,
     "1: wait_us is less than its clock and the last rank's are sure; with --clocks likely|certain it is unknown then",
     NULL},
};
static const rs_column_spec summary_columns[] = {
    {"collective", RS_TEXT, RS_UNIT_NONE, "what it does", NULL},
    {"dtype", RS_TEXT, RS_UNIT_NONE, "type of the elements", NULL},
    {"group_size", RS_INT, RS_UNIT_COUNT, "ranks in the group", NULL},
    {"message_bytes", RS_INT, RS_UNIT_BYTES, "size as nccl-tests counts it", "size"},
    {"count", RS_INT, RS_UNIT_COUNT, "collectives", NULL},
    {"total_transfer_us", RS_TIME, RS_UNIT_US, "transfer times, added up", "transfer, sum"},
    {"mean_transfer_us", RS_REAL, RS_UNIT_US, "mean transfer time", "mean"},
    {"min_transfer_us", RS_TIME, RS_UNIT_US, "least", "min"},
    {"max_transfer_us", RS_TIME, RS_UNIT_US, "greatest", "max"},
    {"mean_wait_us", RS_REAL, RS_UNIT_US, "mean of the longest waits", "mean max wait"},
    {"wait_share_pct", RS_REAL, RS_UNIT_PERCENT, "waits in the summed duration of the kernels", "waiting %"},
    {"algorithm_gbps", RS_REAL, RS_UNIT_GBPS, "all bytes / all transfer time", "alg. bandwidth"},
    {"bus_gbps", RS_REAL, RS_UNIT_GBPS, "the same for the links, as nccl-tests counts", "bus bandwidth"},
};
typedef struct late {
    int64_t rank, n, last, lateness, wait, others, uncertain;
} late;

#define LATE_ROW(CELL)                                                                                       \
    CELL(OF(late, rank), "rank", INT, ID, "rank", NULL)                                                      \
    CELL(OF(late, n), "collectives", INT, COUNT,                                                             \
         "collectives it takes part in with other ranks, send and receive left out", NULL)                   \
    CELL(OF(late, last), "times_last", INT, COUNT, "of them, those it arrives last at", "last")              \
    CELL(OF(late, lateness), "lateness_us", TIME, US, "arrivals after the first, added up", "lateness")      \
    CELL(OF(late, wait), "wait_us", TIME, US, "waits for the last, added up", "wait")                        \
    CELL(OF(late, others), "others_waited_us", TIME, US,                                                     \
         "what others waited for the last arrival where that was this rank's", "made others wait")           \
    CELL(OF(late, uncertain), "uncertain", INT, COUNT,                                                       \
         "of the collectives, those at which first and last are nearer than the clocks are sure; with "      \
         "--clocks likely|certain they are left out of the rest",                                            \
         NULL)
RS_RECORD(late, LATE_ROW);

/* What a rank waits for another one. */
typedef struct pair {
    int64_t rank, last, n, wait, most;
} pair;

#define PAIR_ROW(CELL)                                                                                       \
    CELL(OF(pair, rank), "rank", INT, ID, "who waited", NULL)                                                \
    CELL(OF(pair, last), "last_rank", INT, ID, "who arrived last", "for rank")                               \
    CELL(OF(pair, n), "collectives", INT, COUNT, "of them both in which it did", NULL)                       \
    CELL(OF(pair, wait), "wait_us", TIME, US, "waits, added up; of a rank they are its wait_us of lateness", \
         "wait")                                                                                             \
    CELL(OF(pair, most), "max_wait_us", TIME, US, "the longest", "longest")
RS_RECORD(pair, PAIR_ROW);

static const rs_column_spec clock_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"aligned_by", RS_TEXT, RS_UNIT_NONE,
     "ends: ends of collectives; base: baseTimeNanoseconds; file: not at all", "by"},
    {"base_offset_us", RS_TIME, RS_UNIT_US, "by what its baseTimeNanoseconds is ahead of the first rank's",
     "base ahead"},
    {"offset_us", RS_TIME, RS_UNIT_US, "what its clock is ahead beyond that", "clock ahead"},
    {"collectives", RS_INT, RS_UNIT_COUNT, "collectives that show it", NULL},
    {"residual_us", RS_TIME, RS_UNIT_US, "median distance of its ends from the others' after correction",
     "residual"},
    {"worst_us", RS_TIME, RS_UNIT_US, "the greatest", "worst"},
};

#define TABLE(name, help, columns)                                                                           \
    {                                                                                                        \
        name, help, columns, sizeof columns / sizeof *columns                                                \
    }
static const rs_table_spec one_table = TABLE("collectives", "one row is one collective", one_columns);
static const rs_table_spec arrival_table =
    TABLE("arrivals", "one row is one rank in one collective", arrival_columns);
static const rs_table_spec summary_table =
    TABLE("summary", "one row is one kind of collective of one size", summary_columns);
static const rs_table_spec late_table =
    TABLE("lateness", "one row is one rank, the latest first", late_columns);
static const rs_table_spec clock_table = TABLE("clocks", "one row is one rank", clock_columns);
static const rs_table_spec pair_table =
    TABLE("waits", "one row is one rank and one that it waited for", pair_columns);
static const rs_table_spec *const tables[] = {&one_table,     &summary_table, &late_table,
                                              &arrival_table, &clock_table,   &pair_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 6}};
enum { TABLE_ONE, TABLE_SUMMARY, TABLE_LATE, TABLE_ARRIVALS, TABLE_CLOCKS, TABLE_WAITS };

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_coll_rank *r;
    rs_status status = rs_coll_rank_any(trace, run->policy, &r, err);
    if (status == RS_OK) *partial = r;
    return status;
}

/* ---- one collective ----------------------------------------------------------------------------------- */

typedef struct measure {
    rs_coll_wait times;
    int64_t bytes; /* -1: unknown */
    int64_t members;
    int64_t clocks; /* by what those of the first and the last rank may be off; INT64_MAX: no bound */
    bool bounded, uncertain;
} measure;

static int64_t bytes_of(const rs_coll_rank *r, const rs_coll_shape *op)
{
    const char *dtype = rs_pool_text(&r->pool, op->dtype);
    int64_t size = dtype ? rs_dtype_size(dtype) : 0;
    int64_t elements = op->in_elements > op->out_elements ? op->in_elements : op->out_elements;
    if (size == 0 || elements < 0 || elements > INT64_MAX / 16) return -1;
    return elements * size;
}

static measure measure_one(const rs_coll_job *job, const rs_coll_instance *c, const rs_clock_trust *trust)
{
    const rs_coll_shape *op = rs_coll_shape_at(job, &job->arrivals[c->first]);
    measure m = {
        .times = rs_coll_measure(job, c), .bytes = -1, .members = op->group_size > 0 ? op->group_size : c->n};
    /* one rank's own, of a group that its trace does not name: nobody knows how many took part */
    if (op->group_size <= 0 && c->n < 2 && job->ranks[job->arrivals[c->first].rank]->many_groups)
        m.members = -1;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &job->arrivals[i];
        int64_t bytes = bytes_of(job->ranks[a->rank], rs_coll_shape_at(job, a));
        if (bytes > m.bytes) m.bytes = bytes;
    }
    uint32_t first = job->arrivals[m.times.first_at].rank, last = job->arrivals[m.times.last_at].rank;
    m.bounded = trust->of != NULL && first != last;
    m.clocks = rs_clock_trust_between(trust, first, last);
    m.uncertain = m.bounded && rs_sub_sat(m.times.last, m.times.first) < m.clocks;
    return m;
}

/* bytes / ns is GB/s. */
static double algorithm_gbps(int64_t bytes, int64_t ns)
{
    return bytes < 0 || ns <= 0 ? NAN : (double)bytes / (double)ns;
}

static rs_status add_one(const rs_coll_job *job, const rs_partial *const *of, size_t index, const measure *m,
                         int64_t base, bool strict, rs_table *t, rs_error *err)
{
    bool shown = !strict || !m->uncertain;
    const rs_coll_instance *c = &job->instances[index];
    const rs_coll_arrival *a = &job->arrivals[c->first];
    const rs_coll_rank *r = job->ranks[a->rank];
    const rs_coll_shape *op = rs_coll_shape_of(r, &r->ops[a->op]);
    double algorithm = algorithm_gbps(m->bytes, m->times.transfer);
    return RS_PUT_ROW(t, err, index, rs_pool_text(&r->pool, op->group),
                      rs_pool_text(&r->pool, op->description), rs_pool_text(&r->pool, op->members), c->number,
                      c->by_seq ? "seq" : "order", c->mixed ? "mixed" : rs_coll_kind_name(m->times.kind),
                      rs_pool_text(&r->pool, op->dtype), op->in_elements >= 0 ? op->in_elements : RS_NO_VALUE,
                      op->out_elements >= 0 ? op->out_elements : RS_NO_VALUE,
                      m->bytes >= 0 ? m->bytes : RS_NO_VALUE,
                      op->group_size > 0 ? op->group_size : RS_NO_VALUE, c->n, m->times.first - base,
                      m->times.transfer, shown ? m->times.last - m->times.first : RS_NO_VALUE,
                      shown ? m->times.sum_wait : RS_NO_VALUE, m->times.last_end - m->times.first_end,
                      shown ? of[job->arrivals[m->times.first_at].rank]->rank : RS_NO_VALUE,
                      shown ? of[job->arrivals[m->times.last_at].rank]->rank : RS_NO_VALUE, algorithm,
                      algorithm * rs_coll_bus_factor(m->times.kind, m->members),
                      m->bounded && m->clocks < INT64_MAX ? m->clocks : RS_NO_VALUE, m->uncertain);
}

typedef struct answer {
    rs_coll_ranks ranks;
    late *late;
    struct bucket *buckets;
    rs_grouper *pairs;
    int64_t base; /* the job's first event, on the common clock */
    rs_clock_trust trust;
    bool strict;               /* numbers that the clocks do not bear are unknown */
    int64_t waited, uncertain; /* waiting of all ranks; of it, in collectives that are uncertain */
} answer;

static rs_status add_arrivals(const rs_coll_job *job, const rs_partial *const *of, size_t index,
                              const measure *m, const answer *x, rs_table *t, rs_error *err)
{
    uint32_t last = job->arrivals[m->times.last_at].rank;
    const rs_coll_instance *c = &job->instances[index];
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &job->arrivals[i];
        const rs_coll_op *op = &job->ranks[a->rank]->ops[a->op];
        int64_t start = rs_coll_start(job, a), wait = m->times.last - start;
        bool uncertain = a->rank != last && wait < rs_clock_trust_between(&x->trust, a->rank, last);
        bool shown = !x->strict || !uncertain;
        RS_TRY(RS_PUT_ROW(t, err, index, of[a->rank]->rank, op->row, op->seq >= 0 ? op->seq : RS_NO_VALUE,
                          start - x->base, op->start,
                          !x->strict || !m->uncertain ? start - m->times.first : RS_NO_VALUE,
                          shown ? wait : RS_NO_VALUE, rs_coll_duration(job->ranks[a->rank], op), uncertain));
    }
    return RS_OK;
}

/* ---- by kind and size
 * --------------------------------------------------------------------------------------- */

typedef struct bucket {
    const char *collective, *dtype;
    int64_t members, bytes;
    rs_coll_kind kind;
    rs_moments transfer;
    rs_moments wait; /* the longest of each */
    int64_t sum_wait, sum_duration;
    double all_bytes;
} bucket;

static const rs_order by_kind[] = {RS_RISING(bucket, collective), RS_RISING(bucket, dtype),
                                   RS_RISING(bucket, members), RS_RISING(bucket, bytes)};

static const rs_order by_transfer[] = {RS_FALLING(bucket, transfer.sum), RS_RISING(bucket, collective),
                                       RS_RISING(bucket, dtype), RS_RISING(bucket, members),
                                       RS_RISING(bucket, bytes)};

static bucket bucket_of(const rs_coll_job *job, const rs_coll_instance *c, const measure *m)
{
    const rs_coll_arrival *a = &job->arrivals[c->first];
    const rs_coll_rank *r = job->ranks[a->rank];
    const char *dtype = rs_pool_text(&r->pool, rs_coll_shape_of(r, &r->ops[a->op])->dtype);
    bucket b = {.collective = c->mixed ? "mixed" : rs_coll_kind_name(m->times.kind),
                .dtype = dtype ? dtype : "",
                .members = m->members,
                .bytes = m->bytes,
                .kind = m->times.kind,
                .sum_wait = m->times.sum_wait,
                .sum_duration = m->times.sum_duration,
                .all_bytes = m->bytes < 0 ? 0 : (double)m->bytes};
    rs_moments_add(&b.transfer, m->times.transfer);
    rs_moments_add(&b.wait, m->times.last - m->times.first);
    return b;
}

static size_t unite(bucket *items, size_t n)
{
    size_t kept = 0;
    RS_SORT(items, n, by_kind);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || RS_COMPARE(by_kind, &items[kept - 1], &items[i]) != 0) {
            items[kept++] = items[i];
            continue;
        }
        bucket *b = &items[kept - 1];
        rs_moments_merge(&b->transfer, &items[i].transfer);
        rs_moments_merge(&b->wait, &items[i].wait);
        b->sum_wait = rs_add_sat(b->sum_wait, items[i].sum_wait);
        b->sum_duration = rs_add_sat(b->sum_duration, items[i].sum_duration);
        b->all_bytes += items[i].all_bytes;
    }
    RS_SORT(items, kept, by_transfer);
    return kept;
}

static rs_status add_bucket(rs_table *t, const bucket *b, rs_error *err)
{
    double algorithm = b->bytes < 0 || b->transfer.sum <= 0 ? NAN : b->all_bytes / (double)b->transfer.sum;
    return RS_PUT_ROW(t, err, b->collective, b->dtype[0] ? b->dtype : NULL,
                      b->members >= 0 ? b->members : RS_NO_VALUE, b->bytes >= 0 ? b->bytes : RS_NO_VALUE,
                      b->transfer.n, b->transfer.sum, rs_moments_mean(&b->transfer) / 1000, b->transfer.min,
                      b->transfer.max, rs_moments_mean(&b->wait) / 1000,
                      rs_percent(b->sum_wait, b->sum_duration), algorithm,
                      algorithm * rs_coll_bus_factor(b->kind, b->members));
}

/* ---- who is late
 * -------------------------------------------------------------------------------------------- */

static const rs_order by_lateness[] = {RS_FALLING(late, lateness), RS_RISING(late, rank)};

static void blame(const rs_coll_job *job, const rs_coll_instance *c, const measure *m, const answer *a)
{
    late *ranks = a->late;
    const bool strict = a->strict;
    const int64_t last = ranks[job->arrivals[m->times.last_at].rank].rank;
    if (!rs_coll_compares(job, c)) return;
    for (uint32_t i = c->first; m->uncertain && i < c->first + c->n; i++) {
        late *l = &ranks[job->arrivals[i].rank];
        l->uncertain++;
        l->n += strict;
    }
    if (strict && m->uncertain) return;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        late *l = &ranks[job->arrivals[i].rank];
        int64_t start = rs_coll_start(job, &job->arrivals[i]);
        l->n++;
        l->lateness = rs_add_sat(l->lateness, start - m->times.first);
        l->wait = rs_add_sat(l->wait, m->times.last - start);
        const pair one = {.rank = l->rank, .last = last, .wait = m->times.last - start};
        if (one.wait > 0) rs_grouper_add(a->pairs, &one);
    }
    late *l = &ranks[job->arrivals[m->times.last_at].rank];
    l->last++;
    l->others = rs_add_sat(l->others, m->times.sum_wait);
}

static rs_status add_clock(const rs_coll_job *job, size_t i, int64_t number, rs_table *t, rs_error *err)
{
    const rs_coll_clock *c = &job->clocks[i];
    int64_t base = job->shift[i] + c->offset;
    return RS_PUT_ROW(t, err, number,
                      c->aligned     ? "ends"
                      : job->by_base ? "base"
                                     : "file",
                      base, c->offset, c->n, c->aligned ? c->residual : RS_NO_VALUE,
                      c->aligned ? c->worst : RS_NO_VALUE);
}

/* ---- all ranks
 * ---------------------------------------------------------------------------------------------- */

static rs_status fill(const rs_coll_job *job, answer *a, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        measure m = measure_one(job, c, &a->trust);
        a->waited = rs_add_sat(a->waited, m.times.sum_wait);
        if (m.uncertain) a->uncertain = rs_add_sat(a->uncertain, m.times.sum_wait);
        a->buckets[i] = bucket_of(job, c, &m);
        blame(job, c, &m, a);
        status = add_one(job, a->ranks.of, i, &m, a->base, a->strict, result->tables[TABLE_ONE], err);
        if (status == RS_OK)
            status = add_arrivals(job, a->ranks.of, i, &m, a, result->tables[TABLE_ARRIVALS], err);
    }
    size_t n_buckets = status == RS_OK ? unite(a->buckets, job->n) : 0;
    for (size_t i = 0; status == RS_OK && i < n_buckets; i++)
        status = add_bucket(result->tables[TABLE_SUMMARY], &a->buckets[i], err);
    RS_SORT(a->late, a->ranks.n, by_lateness);
    bool refused = a->strict && a->uncertain > a->waited / 2;
    for (size_t i = 0; status == RS_OK && !refused && job->n && i < a->ranks.n; i++)
        status = rs_table_put_row(result->tables[TABLE_LATE], &late_record, 0, &a->late[i], err);
    for (size_t i = 0; status == RS_OK && a->ranks.n > 1 && i < a->ranks.n; i++)
        status = add_clock(job, i, a->ranks.of[i]->rank, result->tables[TABLE_CLOCKS], err);
    return status;
}

static const rs_aggregate by_pair[] = {
    RS_KEY(pair, rank, pair, rank),    RS_KEY(pair, last, pair, last),      RS_COUNTED(pair, n),
    RS_SUMMED(pair, wait, pair, wait), RS_GREATEST(pair, most, pair, wait),
};
static const rs_order longest_wait[] = {RS_FALLING(pair, wait), RS_RISING(pair, rank), RS_RISING(pair, last)};

static rs_status put_pairs(rs_relation *all, rs_table *t, rs_error *err)
{
    pair *rows = all->rows;
    RS_SORT(rows, all->n, longest_wait);
    for (size_t i = 0; i < all->n; i++) RS_TRY(rs_table_put_row(t, &pair_record, 0, &rows[i], err));
    return RS_OK;
}

static void remark(const rs_coll_job *job, const answer *a, rs_result *result)
{
    rs_coll_note_host(job, result);
    size_t nameless = 0, incomplete = 0, mixed = 0;
    for (size_t i = 0; i < a->ranks.n; i++) {
        if (!a->ranks.ranks[i]->many_groups) nameless += a->ranks.ranks[i]->n_nameless;
        if (a->ranks.ranks[i]->n == 0)
            rs_result_note(result, "rank %lld: no communication kernels", (long long)a->ranks.of[i]->rank);
    }
    for (size_t i = 0; i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        const rs_coll_arrival *first = &job->arrivals[c->first];
        int64_t size = rs_coll_shape_at(job, first)->group_size;
        if (rs_coll_shape_at(job, first)->kind == RS_COLL_SEND_RECV) size = 2;
        incomplete += size > c->n;
        mixed += c->mixed;
    }
    if (nameless)
        rs_result_note(
            result, "%zu communication kernels name no process group: they are matched by their order alone",
            nameless);
    if (incomplete)
        rs_result_note(
            result,
            "%zu of %zu collectives lack the kernel of some member: their transfer time may contain waiting",
            incomplete, job->n);
    if (mixed)
        rs_result_note(
            result, "%zu collectives are not the same on all ranks (mixed): see flight or the traces", mixed);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_clock_how how = rs_clock_how_of(rs_options_text(run->options, "clocks"));
    rs_grouper pairs;
    RS_SCOPED(rs_relation_clear) rs_relation waits = {.size = sizeof(pair)};
    answer a = {.strict = how == RS_CLOCKS_LIKELY || how == RS_CLOCKS_CERTAIN, .pairs = &pairs};
    RS_SCOPED(rs_coll_job_clear) rs_coll_job job = {0};
    rs_grouper_open(&pairs, by_pair, sizeof by_pair / sizeof *by_pair, &waits);
    a.late = rs_calloc(n + 1, sizeof *a.late);
    rs_status status = a.late ? RS_OK : rs_fail_nomem(err, "collectives");
    if (status == RS_OK) status = rs_coll_ranks_of(run, partials, n, &a.ranks, result, err);
    for (size_t i = 0; status == RS_OK && i < a.ranks.n; i++) a.late[i].rank = a.ranks.of[i]->rank;
    if (status == RS_OK) status = rs_clock_match_by(a.ranks.ranks, a.ranks.n, how, &job, &a.trust, err);
    if (status == RS_OK && !(a.buckets = rs_malloc((job.n + 1) * sizeof *a.buckets)))
        status = rs_fail_nomem(err, "collectives");
    if (status == RS_OK) a.base = run->absolute ? 0 : rs_coll_origin(&job);
    if (status == RS_OK) status = fill(&job, &a, result, err);
    if (!rs_grouper_close(&pairs) && status == RS_OK) status = rs_fail_nomem(err, "collectives");
    if (status == RS_OK) status = put_pairs(&waits, result->tables[TABLE_WAITS], err);
    if (status == RS_OK) remark(&job, &a, result);
    if (status == RS_OK) rs_coll_note_trust(&a.trust, result);
    if (status == RS_OK) rs_coll_note_uncertain(a.uncertain, a.waited, a.strict, result);
    rs_clock_trust_clear(&a.trust);
    rs_coll_ranks_clear(&a.ranks);
    rs_free_all(a.late, a.buckets);
    return status;
}

const rs_analysis rs_analysis_collectives = {
    .name = "collectives",
    .group = "Across ranks",
    .help = "Collectives matched over ranks: arrivals, waits, transfer time, bandwidth, who is late",
    .about =
        "Kernels of different ranks are one collective when group name, members and sequence number "
        "agree; where no\n"
        "number was recorded, and for send and receive, the order within the group decides: a rank whose "
        "trace starts\n"
        "late is set to where its ends fit, and a kernel that was over before the others began is not "
        "theirs. A SendRecv\n"
        "kernel belongs to the collective whose annotation or operator launched it (nccl:all_to_all). A "
        "rank waits from\n"
        "its arrival until the last member arrived; the transfer time is what is left then until the "
        "first member ends.\n\n"
        "A job without GPU work communicates on the host: there the spans gloo:*, mpi:*, ucc:* count, "
        "and a rank arrives\n"
        "where the operator that submitted one starts. Their ends are no common moment: clocks stay as "
        "recorded. Of\n"
        "several process groups such a trace does not say which: --flight DIR takes it from the "
        "flight-recorder dumps of the\n"
        "run, by the moment when an operation was submitted.\n\n"
        "Clocks: a collective that no rank leaves before all have come ends at one moment. By that the "
        "clocks are\n"
        "corrected (--clocks file leaves them); the table clocks says by how much, and what distance "
        "remains.\n\n"
        "Bandwidths are in 1e9 bytes a second. algorithm = size / transfer; bus = algorithm x 2(n-1)/n "
        "for all-reduce,\n"
        "x (n-1)/n for all-gather, reduce-scatter, all-to-all, gather and scatter, x 1 for the rest, as "
        "nccl-tests\n"
        "counts (doc/PERFORMANCE.md there).",
    .examples = "rankscope collectives traces/\nrankscope collectives --table lateness --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_COLL_HOST_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_coll_rank_free,
    .partial_layout = &rs_coll_rank_layout,
};
