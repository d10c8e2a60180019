/* exchange: what each rank sends to each other one in all-to-alls. */
#include <math.h>
#include <string.h>

#include "analysis/exchange.h"
#include "base/dtype.h"
#include "base/search.h"
#include "base/try.h"
#include "input/json.h"
#include "match/collective_ops.h"
#include "perf/arguments.h"
#include "trace/launcher_rows.h"

static const rs_option_spec options[] = {
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'vs_mean > 1.5'"},
};

/* What a rank sends to a place of a group, over all of its all-to-alls. */
typedef struct pair_row {
    int64_t rank, to, place, count, bytes, all; /* all: of the group */
    uint32_t group, description;
    double mean;
} pair_row;

#define PAIR_ROW(CELL)                                                                                       \
    CELL(OF(pair_row, rank), "rank", INT, ID, "rank that sends", NULL)                                       \
    CELL(OF(pair_row, to), "to_rank", INT, ID,                                                               \
         "rank that receives; unknown: the trace does not list the group's members", "to")                   \
    CELL(OF(pair_row, place), "place", INT, ID, "its place in the group", NULL)                              \
    CELL(TEXT_ID(pair_row, group), "group", TEXT, NONE, "process group's name", NULL)                        \
    CELL(TEXT_ID(pair_row, description), "description", TEXT, NONE, "process group's description", NULL)     \
    CELL(OF(pair_row, count), "count", INT, COUNT, "all-to-alls with known sizes", NULL)                     \
    CELL(OF(pair_row, bytes), "bytes", INT, BYTES, "sent in all of them", NULL)                              \
    CELL(OF(pair_row, mean), "mean_bytes", REAL, BYTES, "sent in one", "mean")                               \
    CELL(SHARE(pair_row, bytes, all), "share_pct", REAL, PERCENT,                                            \
         "bytes of all that the rank sends in the group", "share %")
RS_RECORD(pair, PAIR_ROW);

/* What a rank sends to another one in sends and receives. */
typedef struct message {
    int64_t to, count, bytes;
    uint32_t group;
} message;

#define MESSAGE_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank that sends", NULL)                                                     \
    CELL(OF(message, to), "to_rank", INT, ID, "rank that receives", "to")                                    \
    CELL(TEXT_ID(message, group), "group", TEXT, NONE, "process group's or communicator's name", NULL)       \
    CELL(OF(message, count), "count", INT, COUNT, "sends of known receivers", "messages")                    \
    CELL(OF(message, bytes), "bytes", INT, BYTES, "sent in those whose sizes are known", "sent")
RS_RECORD(message, MESSAGE_ROW);

typedef struct rank_row {
    int64_t rank, all, unknown, time, sent, received;
    double vs_mean;
} rank_row;

#define RANK_ROW(CELL)                                                                                       \
    CELL(OF(rank_row, rank), "rank", INT, ID, "rank", NULL)                                                  \
    CELL(OF(rank_row, all), "all_to_alls", INT, COUNT, "all-to-alls of the rank", "all-to-alls")             \
    CELL(OF(rank_row, unknown), "unknown", INT, COUNT,                                                       \
         "of these, those whose sizes the trace does not record", NULL)                                      \
    CELL(OF(rank_row, time), "time_us", TIME, US,                                                            \
         "durations of their kernels, waits for other ranks among them", "time")                             \
    CELL(OF(rank_row, sent), "sent_bytes", INT, BYTES, "sent to all ranks, itself among them", "sent")       \
    CELL(OF(rank_row, received), "received_bytes", INT, BYTES, "what the ranks in the traces send to it",    \
         "received")                                                                                         \
    CELL(OF(rank_row, vs_mean), "vs_mean", REAL, RATIO,                                                      \
         "received_bytes over the mean of all ranks: the load of an expert's rank", "received, of mean")
RS_RECORD(rank, RANK_ROW);

#define EXPERTS_ROW(CELL)                                                                                            \
    CELL(OF(rs_exchange_experts, rank), "rank", INT, ID, "rank", NULL)                                               \
    CELL(TEXT_ID(rs_exchange_experts, stack), "library", TEXT, NONE, "library, by the names of its kernels",         \
         NULL)                                                                                                       \
    CELL(TEXT_ID(rs_exchange_experts, role), "operation", TEXT, NONE,                                                \
         "dispatch: tokens go to their experts; combine: they come back; notify: their numbers", NULL)               \
    CELL(TEXT_ID(rs_exchange_experts, phase), "phase", TEXT, NONE, "phase that launched it", NULL)                   \
    CELL(OF(rs_exchange_experts, calls), "calls", INT, COUNT, "kernels", NULL)                                       \
    CELL(OF(rs_exchange_experts, time), "time_us", TIME, US, "their durations", "time")                              \
    CELL(OF(rs_exchange_experts, mean), "mean_us", TIME, US, "of one", "mean")                                       \
    CELL(OF(rs_exchange_experts, least), "min_us", TIME, US, "the shortest", "min")                                  \
    CELL(OF(rs_exchange_experts, greatest), "max_us", TIME, US, "the longest", "max")                                \
    CELL(OF(rs_exchange_experts, exposed), "exposed_us", TIME, US, "of time_us, without computation",                \
         "exposed")                                                                                                  \
    CELL(OF(rs_exchange_experts, ranks), "ranks", INT, COUNT,                                                        \
         "ranks in the traces whose calls end together with these, itself included", NULL)                           \
    CELL(                                                                                                            \
        OF(rs_exchange_experts, wait), "wait_us", TIME, US,                                                          \
        "of time_us, longer than the call of the rank that came last; unknown: no other rank ends together with it", \
        "wait")                                                                                                      \
    CELL(OF(rs_exchange_experts, transfer), "transfer_us", TIME, US, "time_us - wait_us", "transfer")                \
    CELL(OF(rs_exchange_experts, within), "wait_within_us", TIME, US,                                                \
         "what wait_us and transfer_us may be off by: how far ends of different ranks are apart",                    \
         "wait within")
RS_RECORD(experts, EXPERTS_ROW);

#define LOAD_ROW(CELL)                                                                                       \
    CELL(OF(rs_exchange_load, rank), "rank", INT, ID, "rank", NULL)                                          \
    CELL(TEXT_ID(rs_exchange_load, phase), "phase", TEXT, NONE, "phase", NULL)                               \
    CELL(ID(rs_exchange_load, layer), "layer", INT, ID, "layer; unknown: layers do not repeat", NULL)        \
    CELL(OF(rs_exchange_load, calls), "calls", INT, COUNT, "dispatches", NULL)                               \
    CELL(OF(rs_exchange_load, time), "experts_us", TIME, US,                                                 \
         "computation of the phase, launched between dispatch and combine: the load of the rank's experts",  \
         "experts")                                                                                          \
    CELL(OF(rs_exchange_load, mean), "mean_us", TIME, US, "the same, mean of the ranks that call together",  \
         "mean of ranks")                                                                                    \
    CELL(OF(rs_exchange_load, vs_mean), "vs_mean", REAL, RATIO, "experts_us over mean_us", "of mean")
RS_RECORD(load, LOAD_ROW);

#define BALANCE_ROW(CELL)                                                                                                    \
    CELL(OF(rs_exchange_balance, first_rank), "first_rank", INT, ID,                                                         \
         "first of the ranks that call together", NULL)                                                                      \
    CELL(OF(rs_exchange_balance, ranks), "ranks", INT, COUNT, "ranks that call together", NULL)                              \
    CELL(TEXT_ID(rs_exchange_balance, phase), "phase", TEXT, NONE, "phase", NULL)                                            \
    CELL(OF(rs_exchange_balance, calls), "calls", INT, COUNT, "dispatches and combines of a rank", NULL)                     \
    CELL(OF(rs_exchange_balance, slowest), "slowest_us", TIME, US,                                                           \
         "computation of the slowest rank of each call, summed", "slowest")                                                  \
    CELL(OF(rs_exchange_balance, mean), "mean_us", TIME, US, "mean computation of each call, summed",                        \
         "mean")                                                                                                             \
    CELL(                                                                                                                    \
        OF(rs_exchange_balance, low), "gain_low_us", TIME, US,                                                               \
        "equal loads would save at least this in all calls: what varies from call to call stays, and only waits in combine " \
        "count that no computation hides",                                                                                   \
        "gain from")                                                                                                         \
    CELL(OF(rs_exchange_balance, high), "gain_high_us", TIME, US,                                                            \
         "... and at most this: every call would be equal on all ranks, and all waits in combine count",                     \
         "gain to")
RS_RECORD(balance, BALANCE_ROW);

enum {
    SENT = RS_EXCHANGE_SENT,
    TOTALS = RS_EXCHANGE_TOTALS,
    MESSAGES = RS_EXCHANGE_MESSAGES,
    CALLS = RS_EXCHANGE_CALLS,
    PAIRS = RS_EXCHANGE_PAIRS,
    RANKS = RS_EXCHANGE_RANKS,
    EXPERTS = RS_EXCHANGE_EXPERTS,
    LOADS = RS_EXCHANGE_LOADS,
    BALANCE = RS_EXCHANGE_BALANCE
};

/* What goes to one place of one group: of one all-to-all, or of all that share the block, in the order of their first. */
typedef struct part {
    uint32_t block, place, group, description, members;
    int64_t group_size, bytes; /* group_size: 0: not recorded */
} part;

typedef struct sent {
    uint32_t block, place, group, description, members;
    int64_t group_size, count, bytes, all;
} sent;

/* Places that belong together: those of a group's all-to-alls of one number of places. */
typedef struct block {
    uint32_t group, description, members, n;
} block;

typedef struct totals {
    int64_t all, unknown, time;
} totals;

/* ---- lists of numbers ---------------------------------------------------------------------------------- */

typedef struct numbers {
    int64_t *items;
    size_t n, capacity;
} numbers;

/* Reads "[1, 2, 3]". false when out of memory; the list is empty for anything else than such a text. */
static bool read_numbers(const char *text, numbers *out)
{
    rs_json_reader r;
    out->n = 0;
    if (!text) return true;
    rs_json_reader_init(&r, text, strlen(text));
    if (rs_json_next(&r) != RS_JSON_T_ARRAY) return true;
    for (;;) {
        rs_json_token t = rs_json_next(&r);
        if (t == RS_JSON_T_ARRAY_END) return true;
        if (!RS_GROW_ONE(out->items, out->n, out->capacity)) return false;
        if (t != RS_JSON_T_NUMBER || !rs_json_int(r.text.bytes, r.text.length, &out->items[out->n])) {
            out->n = 0; /* "..." stands in a long list of members */
            return true;
        }
        out->n++;
    }
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct gatherer {
    const rs_events *e;
    const rs_coll_rank *from;
    rs_relations *out;
    totals totals;
    rs_relation blocks;
    rs_grouper by_block;
    numbers splits;
    char *text; /* a copy of a list, terminated */
    size_t text_capacity;
    rs_arena arena; /* of the arguments being read */
} gatherer;

/* What an all-to-all was given. */
typedef struct given {
    int64_t elements, group_size, element_bytes; /* -1, 0, 0: unknown */
} given;

/* Where PyTorch's record_param_comms has what older profilers do not write as arguments of their own. */
enum { GIVEN_TENSOR = 0, GIVEN_SPLITS = 5, GIVEN_WORLD = 9 };

static const char *text_at(const gatherer *g, rs_column_id column, uint32_t row)
{
    uint32_t id = rs_events_text(g->e, column, row);
    return id == RS_NO_STRING ? NULL : g->e->strings.items[id].text;
}

/* The inputs of record_param_comms: its first tensor, the split sizes, the number of ranks. What the op knows
 * stays. */
static rs_status ask_record(gatherer *g, uint32_t row, given *what, bool *has_list, rs_error *err)
{
    const rs_argument_texts texts = {text_at(g, RS_COL_INPUT_DIMS, row), text_at(g, RS_COL_INPUT_TYPE, row),
                                     text_at(g, RS_COL_INPUT_STRIDES, row),
                                     text_at(g, RS_COL_CONCRETE_INPUTS, row)};
    rs_op_arguments a;
    rs_arena_reset(&g->arena);
    RS_TRY(rs_op_arguments_read(&texts, &g->arena, &a, err));
    if (a.n > GIVEN_TENSOR) {
        const rs_argument *t = &a.items[GIVEN_TENSOR];
        int64_t elements = 1;
        bool known = t->type != RS_NO_DTYPE && !t->list && !t->wrong && t->n_dims;
        for (size_t i = 0; known && i < t->n_dims; i++)
            known = !__builtin_mul_overflow(elements, t->dims[i], &elements);
        if (known && what->elements < 0) what->elements = elements;
        if (known && !what->element_bytes) what->element_bytes = rs_dtype_bytes(t->type);
    }
    if (a.n > GIVEN_WORLD && what->group_size <= 0)
        if (!rs_json_int((const uint8_t *)a.items[GIVEN_WORLD].value, a.items[GIVEN_WORLD].value_length,
                         &what->group_size))
            what->group_size = 0;
    if (a.n <= GIVEN_SPLITS || *has_list || a.items[GIVEN_SPLITS].value_length == 0) return RS_OK;
    const rs_argument *list = &a.items[GIVEN_SPLITS];
    if (!rs_grow((void **)&g->text, &g->text_capacity, list->value_length + 1, 1))
        return rs_fail_nomem(err, "all-to-alls");
    memcpy(g->text, list->value, list->value_length);
    g->text[list->value_length] = '\0';
    *has_list = true;
    return read_numbers(g->text, &g->splits) ? RS_OK : rs_fail_nomem(err, "all-to-alls");
}

/* Fills splits with the list as it was recorded: with the kernel, else with the operator above its launch, else among
 * that operator's inputs. */
static rs_status find_given(gatherer *g, const rs_coll_op *op, given *what, rs_error *err)
{
    const rs_coll_shape *shape = rs_coll_shape_of(g->from, op);
    const char *dtype = rs_pool_text(&g->from->pool, shape->dtype);
    const uint32_t args = rs_coll_args_of(g->from, op);
    *what = (given){shape->in_elements, shape->group_size, dtype ? rs_dtype_size(dtype) : 0};
    const char *list = text_at(g, RS_COL_IN_SPLIT, op->row);
    if (!list && args != op->row) list = text_at(g, RS_COL_IN_SPLIT, args);
    bool has_list = list != NULL;
    if (!read_numbers(list, &g->splits)) return rs_fail_nomem(err, "all-to-alls");
    if (args == op->row || strcmp(rs_event_name(g->e, args), RS_COLL_RECORD) != 0) return RS_OK;
    return ask_record(g, args, what, &has_list, err);
}

/* Makes splits elements a place. Recorded sizes count rows of the first dimension, or elements; both are shares of what
 * the rank gives. Without a list all places get the same. */
static bool share_out(gatherer *g, const given *what, bool *known)
{
    numbers *s = &g->splits;
    int64_t sum = 0;
    *known = false;
    if (what->elements < 0 || what->group_size <= 0 || what->group_size > 1 << 20) return true;
    bool is_list = s->n == (size_t)what->group_size;
    if (s->n && !is_list) return true;
    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i] < 0 || __builtin_add_overflow(sum, s->items[i], &sum)) return true;
    }
    while (s->n < (size_t)what->group_size) {
        if (!RS_APPEND(s, 1)) return false;
        sum++;
    }
    if (sum == 0 ? what->elements != 0 : what->elements % sum != 0) return true;
    int64_t row = sum ? what->elements / sum : 0;
    for (size_t i = 0; i < s->n; i++)
        if (__builtin_mul_overflow(s->items[i], row, &s->items[i])) return true;
    *known = true;
    return true;
}

static void put_places(gatherer *g, const rs_coll_shape *shape, const given *what)
{
    const rs_pool *texts = &g->from->pool;
    block b = {rs_put_string(g->out, rs_pool_text(texts, shape->group)),
               rs_put_string(g->out, rs_pool_text(texts, shape->description)),
               rs_put_string(g->out, rs_pool_text(texts, shape->members)), (uint32_t)g->splits.n};
    const block *at = rs_grouper_add(&g->by_block, &b);
    for (uint32_t i = 0; at && i < g->splits.n; i++) {
        int64_t bytes;
        if (__builtin_mul_overflow(g->splits.items[i], what->element_bytes, &bytes)) bytes = INT64_MAX;
        rs_put(g->out, SENT,
               &(part){(uint32_t)(at - (const block *)g->blocks.rows), i, b.group, b.description, b.members,
                       what->group_size, bytes});
    }
}

static rs_status add_op(gatherer *g, const rs_coll_op *op, rs_error *err)
{
    given what;
    bool known = false;
    g->totals.all++;
    g->totals.time = rs_add_sat(g->totals.time, rs_coll_duration(g->from, op));
    RS_TRY(find_given(g, op, &what, err));
    if (what.element_bytes && !share_out(g, &what, &known)) return rs_fail_nomem(err, "all-to-alls");
    if (known)
        put_places(g, rs_coll_shape_of(g->from, op), &what);
    else
        g->totals.unknown++;
    return RS_OK;
}

static rs_status add_all(gatherer *g, rs_error *err)
{
    for (size_t i = 0; i < g->from->n; i++) {
        const rs_coll_op *op = &g->from->ops[i], *last = i ? op - 1 : NULL;
        const rs_coll_shape *shape = rs_coll_shape_of(g->from, op);
        if (shape->kind != RS_COLL_ALL_TO_ALL) continue;
        /* several kernels of one all-to-all */
        if (last && op->seq >= 0 && op->seq == last->seq &&
            shape->group == rs_coll_shape_of(g->from, last)->group &&
            rs_coll_shape_of(g->from, last)->kind == shape->kind)
            g->totals.time = rs_add_sat(g->totals.time, rs_coll_duration(g->from, op));
        else
            RS_TRY(add_op(g, op, err));
    }
    return RS_OK;
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    static const rs_aggregate by_block[] = {
        RS_KEY(block, group, block, group), RS_KEY(block, description, block, description),
        RS_KEY(block, members, block, members), RS_KEY(block, n, block, n)};
    rs_coll_rank *from;
    RS_TRY(rs_coll_rank_of(trace, run->policy, &from, err));
    gatherer g = {.e = trace->events, .from = from, .out = out, .blocks = {.size = sizeof(block)}};
    rs_grouper_open(&g.by_block, by_block, 4, &g.blocks);
    rs_status status = add_all(&g, err);
    if (!rs_grouper_close(&g.by_block) && status == RS_OK) status = rs_fail_nomem(err, "all-to-alls");
    rs_put(out, TOTALS, &g.totals);
    rs_relation_clear(&g.blocks);
    rs_free_all(g.splits.items, g.text);
    rs_arena_clear(&g.arena);
    rs_coll_rank_free(from);
    return status;
}

/* Sends of a rank whose receiver is recorded: on the GPU, or what the host runs. */
static rs_status put_messages(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    rs_coll_rank *from;
    RS_TRY(rs_coll_rank_any(trace, run->policy, &from, err));
    for (size_t i = 0; i < from->n; i++) {
        const rs_coll_shape *shape = rs_coll_shape_of(from, &from->ops[i]);
        const char *dtype = rs_pool_text(&from->pool, shape->dtype);
        message m = {.to = shape->target, .count = 1};
        if (shape->target < 0 || !rs_coll_sends(from, shape)) continue;
        m.group = rs_put_string(out, rs_pool_text(&from->pool, shape->group));
        int64_t size = dtype ? rs_dtype_size(dtype) : 0;
        if (shape->in_elements < 0 || size <= 0 || __builtin_mul_overflow(shape->in_elements, size, &m.bytes))
            m.bytes = 0;
        rs_put(out, MESSAGES, &m);
    }
    rs_coll_rank_free(from);
    return RS_OK;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

/* The rank at a place of the group; RS_NO_VALUE. A group as large as the job has the ranks in order. */
static int64_t member_of(const sent *s, const numbers *members, const rs_partial *partials, size_t n)
{
    if (s->place < members->n && (s->group_size <= 0 || (size_t)s->group_size == members->n))
        return members->items[s->place];
    if (members->n == 0 && (size_t)s->group_size == n && s->place < n) return partials[s->place].rank;
    return RS_NO_VALUE;
}

static rs_status put_pairs(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                           rs_error *err)
{
    numbers members = {0};
    rs_status status = RS_OK;
    (void)run;
    for (size_t r = 0; r < n; r++) {
        const rs_relations *p = partials[r].value;
        for (size_t i = 0; status == RS_OK && i < p->items[SENT].n; i++) {
            const sent *s = &RS_ROWS(sent, p, SENT)[i];
            if (s->place == 0 && !read_numbers(rs_relations_text(p, s->members), &members))
                status = rs_fail_nomem(err, "members of a group");
            rs_put(out, PAIRS,
                   &(pair_row){.rank = partials[r].rank,
                               .to = member_of(s, &members, partials, n),
                               .place = s->place,
                               .count = s->count,
                               .bytes = s->bytes,
                               .all = s->all,
                               .group = rs_put_string(out, rs_relations_text(p, s->group)),
                               .description = rs_put_string(out, rs_relations_text(p, s->description)),
                               .mean = (double)s->bytes / (double)s->count});
        }
    }
    rs_free(members.items);
    return status;
}

/* Ranks, from the pairs. */
static rs_status put_ranks(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                           rs_error *err)
{
    const pair_row *pairs = RS_ROWS(pair_row, out, PAIRS);
    rank_row *rows = RS_ROOM(out, rank_row, n);
    double sum = 0;
    size_t at;
    (void)run;
    if (!rows) return rs_fail_nomem(err, "all-to-alls");
    for (size_t i = 0; i < out->items[PAIRS].n; i++) {
        RS_SEARCH(at, n, partials[at].rank < pairs[i].rank);
        rows[at].sent = rs_add_sat(rows[at].sent, pairs[i].bytes);
        if (pairs[i].to == RS_NO_VALUE) continue;
        RS_SEARCH(at, n, partials[at].rank < pairs[i].to);
        if (at < n && partials[at].rank == pairs[i].to)
            rows[at].received = rs_add_sat(rows[at].received, pairs[i].bytes);
    }
    for (size_t i = 0; i < n; i++) sum += (double)rows[i].received;
    for (size_t i = 0; i < n; i++) {
        const rs_relations *of = partials[i].value;
        const totals *t = RS_ROWS(totals, of, TOTALS);
        if (!of->items[TOTALS].n || !t->all) continue;
        rows[i].rank = partials[i].rank;
        rows[i].all = t->all;
        rows[i].unknown = t->unknown;
        rows[i].time = t->time;
        rows[i].vs_mean = sum > 0 ? (double)rows[i].received * (double)n / sum : (double)NAN;
        rs_put(out, RANKS, &rows[i]);
    }
    return RS_OK;
}

static rs_status note_unknown(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                              rs_error *err)
{
    int64_t all = 0, unknown = 0;
    size_t calls = 0;
    (void)run;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const rs_relations *of = partials[i].value;
        calls += of->items[CALLS].n;
        for (size_t k = 0; k < of->items[TOTALS].n; k++) {
            all = rs_add_sat(all, RS_ROWS(totals, of, TOTALS)[k].all);
            unknown = rs_add_sat(unknown, RS_ROWS(totals, of, TOTALS)[k].unknown);
        }
    }
    if (!all && !calls)
        rs_result_note(result, "neither an all-to-all nor a dispatch or combine of experts ran on a GPU");
    if (calls && n < 2)
        rs_result_note(
            result,
            "one rank does not show what it waits for others in dispatch and combine: give the traces of all");
    if (unknown)
        rs_result_note(result, "of %lld all-to-alls the traces do not say how much went to whom",
                       (long long)unknown);
    return RS_OK;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static const rs_aggregate by_place[] = {
    RS_KEY(sent, block, part, block),
    RS_KEY(sent, place, part, place),
    RS_FIRST_TEXT(sent, group, part, group),
    RS_FIRST_TEXT(sent, description, part, description),
    RS_FIRST_TEXT(sent, members, part, members),
    RS_FIRST(sent, group_size, part, group_size),
    RS_COUNTED(sent, count),
    RS_SUMMED(sent, bytes, part, bytes),
    RS_TOTAL(sent, all, bytes, block),
};
static const rs_aggregate by_receiver[] = {
    RS_KEY(message, to, message, to),
    RS_KEY_TEXT(message, group, message, group),
    RS_SUMMED(message, count, message, count),
    RS_SUMMED(message, bytes, message, bytes),
};
static const rs_order by_receiver_order[] = {RS_RISING(message, to), RS_RISING_TEXT(message, group)};
static const rs_field totals_fields[] = {RS_FIELDS(totals, all, unknown, time)};
static const rs_layout totals_layout = RS_LAYOUT(totals, totals_fields);
static const rs_aggregate by_load[] = {
    RS_KEY(rs_exchange_load, rank, rs_exchange_load, rank),
    RS_KEY(rs_exchange_load, layer, rs_exchange_load, layer),
    RS_KEY_TEXT(rs_exchange_load, phase, rs_exchange_load, phase),
    RS_SUMMED(rs_exchange_load, calls, rs_exchange_load, calls),
    RS_SUMMED(rs_exchange_load, time, rs_exchange_load, time),
    RS_SUMMED(rs_exchange_load, mean, rs_exchange_load, mean),
    RS_BY_OWN_HAND(rs_exchange_load, vs_mean),
};

static const rs_order by_load_order[] = {RS_RISING(rs_exchange_load, rank),
                                         RS_RISING_TEXT(rs_exchange_load, phase),
                                         RS_RISING(rs_exchange_load, layer)};

static void compare_load(const rs_relations *of, void *row)
{
    rs_exchange_load *load = row;
    (void)of;
    load->vs_mean = load->mean ? (double)load->time / (double)load->mean : (double)NAN;
}

static const rs_plan_relation relations[] = {
    [SENT] = {RS_GROUPED(SENT, sent, part, by_place), .make = put},
    [TOTALS] = {RS_LISTED(TOTALS, totals, &totals_layout)},
    [MESSAGES] = {RS_GROUPED(MESSAGES, message, message, by_receiver), .make = put_messages,
                  RS_IN_ORDER(by_receiver_order)},
    [CALLS] = {RS_LISTED(CALLS, rs_exchange_call, &rs_exchange_call_layout), .make = rs_exchange_put_calls},
    [PAIRS] = {RS_LISTED_AS(PAIRS, pair_row, pair), .across = put_pairs},
    [RANKS] = {RS_LISTED_AS(RANKS, rank_row, rank), .across = put_ranks},
    [EXPERTS] = {RS_LISTED_AS(EXPERTS, rs_exchange_experts, experts), .across = rs_exchange_put_experts},
    [LOADS] = {RS_GROUPED(LOADS, rs_exchange_load, rs_exchange_load, by_load),
               .across = rs_exchange_put_loads, RS_IN_ORDER(by_load_order), .amend = compare_load},
    [BALANCE] = {RS_LISTED_AS(BALANCE, rs_exchange_balance, balance), .across = rs_exchange_put_balance},
};
static const rs_plan_table
    pair_table = {RS_PLAN_TABLE("exchange", "one row is one rank and one it sends to, in one group", pair),
                  .relation = PAIRS},
    rank_table = {RS_PLAN_TABLE("ranks", "one row is one rank", rank), .relation = RANKS},
    message_table = {RS_PLAN_TABLE("messages", "one row is one rank and one it sends messages to", message),
                     .relation = MESSAGES},
    experts_table = {RS_PLAN_TABLE("experts",
                                   "one row is dispatch, combine or notify of one phase of one rank",
                                   experts),
                     .relation = EXPERTS},
    load_table = {RS_PLAN_TABLE("loads", "one row is one layer of one phase of one rank", load),
                  .relation = LOADS},
    balance_table = {RS_PLAN_TABLE("balance", "one row is one phase of ranks that call together", balance),
                     .relation = BALANCE};
static const rs_table_spec *const tables[] = {&pair_table.spec,    &rank_table.spec, &message_table.spec,
                                              &experts_table.spec, &load_table.spec, &balance_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .more = note_unknown, .gate = true};

const rs_analysis rs_analysis_exchange = {
    .name = "exchange",
    .group = "Across ranks",
    .help =
        "Who sends how much to whom in all-to-alls and messages: rank by rank, and whose experts get most",
    .about =
        "Sizes come from the split sizes that the communication recorded, which count rows of the first dimension: those "
        "of\nthe kernel, else of the operator record_param_comms that launched it, its arguments or its inputs. An\n"
        "all-to-all without them gives every rank the same. The receiver is determined from the members of the process "
        "group.\nIn a group that is as large as the job and does not list its members ranks are in order.\nTable messages has "
        "sends and receives (NCCL, gloo, MPI) whose receiver is recorded.\n\n"
        "Tables experts, loads and balance are of libraries that put tokens where they belong (DeepEP, hybrid_ep, MORI,\n"
        "pplx, ...) and record no metadata. Calls of ranks whose ends keep one distance belong together; a call takes\n"
        "longer than that of the rank that came last by what it waits. A rank whose ends fit no other's has no wait, and\n"
        "loads and balance are not known for it.",
    .examples =
        "rankscope exchange traces/\nrankscope exchange --table ranks --fail-on 'vs_mean > 1.5' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_links, &rs_facet_work_details, &rs_facet_structure},
    .columns =
        RS_COLL_COLUMNS | RS_COLUMN_BIT(RECORD_FUNCTION_ID) | RS_COLUMN_BIT(IN_SPLIT) | RS_ARGS_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
};
