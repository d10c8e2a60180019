/* exchange: what each rank sends to each other one in all-to-alls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/stats.h"
#include "analysis/gate.h"
#include "base/interval.h"
#include "base/try.h"
#include "input/json.h"
#include "match/collective_ops.h"
#include "perf/arguments.h"
#include "table/cells.h"
#include "trace/launcher_rows.h"

static const rs_option_spec options[] = {
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'vs_mean > 1.5'"},
};

static const rs_column_spec pair_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank that sends", NULL),
    RS_COLUMN("to_rank", INT, ID, "rank that receives; unknown: the trace does not list the group's members",
              "to"),
    RS_COLUMN("place", INT, ID, "its place in the group", NULL),
    RS_COLUMN("group", TEXT, NONE, "process group's name", NULL),
    RS_COLUMN("description", TEXT, NONE, "process group's description", NULL),
    RS_COLUMN("count", INT, COUNT, "all-to-alls with known sizes", NULL),
    RS_COLUMN("bytes", INT, BYTES, "sent in all of them", NULL),
    RS_COLUMN("mean_bytes", REAL, BYTES, "sent in one", "mean"),
    RS_COLUMN("share_pct", REAL, PERCENT, "bytes of all that the rank sends in the group", "share %"),
};
static const rs_column_spec rank_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("all_to_alls", INT, COUNT, "all-to-alls of the rank", "all-to-alls"),
    RS_COLUMN("unknown", INT, COUNT, "of these, those whose sizes the trace does not tell", NULL),
    RS_COLUMN("time_us", TIME, US, "durations of their kernels, waits for other ranks among them", "time"),
    RS_COLUMN("sent_bytes", INT, BYTES, "sent to all ranks, itself among them", "sent"),
    RS_COLUMN("received_bytes", INT, BYTES, "what the ranks in the traces send to it", "received"),
    RS_COLUMN("vs_mean", REAL, RATIO,
              "received_bytes over the mean of all ranks: the load of an expert's rank", "received, of mean"),
};
static const rs_table_spec pair_table =
    RS_TABLE("exchange", "one row is one rank and one it sends to, in one group", pair_columns);
static const rs_table_spec rank_table = RS_TABLE("ranks", "one row is one rank", rank_columns);
static const rs_table_spec *const tables[] = {&pair_table, &rank_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 2}};
enum { PAIRS, RANKS };

/* What goes to one place of one group. */
typedef struct sent {
    uint32_t group, description, members; /* of the pool */
    uint32_t place;
    int64_t group_size; /* 0: not recorded */
    int64_t count, bytes;
} sent;

typedef struct exchange_rank {
    rs_pool pool;
    sent *items; /* by first all-to-all of the group, then place */
    size_t n;
    int64_t all, unknown, time;
} exchange_rank;

static void free_partial(void *partial)
{
    exchange_rank *p = partial;
    if (!p) return;
    rs_pool_clear(&p->pool);
    rs_free(p->items);
    rs_free(p);
}

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
    exchange_rank *p;
    size_t capacity;
    numbers splits;
    char *text; /* a copy of a list, terminated */
    size_t text_capacity;
    rs_arena arena; /* of the arguments being read */
} gatherer;

/* What an all-to-all was given. */
typedef struct given {
    int64_t elements, group_size, element_bytes; /* -1, 0, 0: unknown */
} given;

/* The first item of an op's group; its places follow. NULL when out of memory. */
static sent *items_of(gatherer *g, const rs_coll_shape *op, const given *what, size_t n)
{
    exchange_rank *p = g->p;
    const rs_strings *texts = &g->from->pool.strings;
    uint32_t ids[3] = {op->group, op->description, op->members};
    for (size_t i = 0; i < 3; i++) {
        if (ids[i] == RS_NO_STRING) continue;
        ids[i] = rs_strings_add(&p->pool.strings, texts->items[ids[i]].text, texts->items[ids[i]].length);
        if (ids[i] == RS_NO_STRING) return NULL;
    }
    for (size_t i = 0; i + n <= p->n; i++) {
        const sent *s = &p->items[i];
        bool last = i + n == p->n || p->items[i + n].place == 0;
        if (s->place == 0 && last && s->group == ids[0] && s->description == ids[1] && s->members == ids[2])
            return &p->items[i];
    }
    size_t first = p->n;
    for (size_t i = 0; i < n; i++) {
        if (!RS_GROW_ONE(p->items, p->n, g->capacity)) return NULL;
        p->items[p->n++] = (sent){.group = ids[0],
                                  .description = ids[1],
                                  .members = ids[2],
                                  .place = (uint32_t)i,
                                  .group_size = what->group_size};
    }
    return &p->items[first];
}

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
        if (!RS_GROW_ONE(s->items, s->n, s->capacity)) return false;
        s->items[s->n++] = 1;
        sum++;
    }
    if (sum == 0 ? what->elements != 0 : what->elements % sum != 0) return true;
    int64_t row = sum ? what->elements / sum : 0;
    for (size_t i = 0; i < s->n; i++)
        if (__builtin_mul_overflow(s->items[i], row, &s->items[i])) return true;
    *known = true;
    return true;
}

static rs_status add_op(gatherer *g, const rs_coll_op *op, rs_error *err)
{
    exchange_rank *p = g->p;
    given what;
    int64_t bytes;
    bool known = false;
    p->all++;
    p->time = rs_add_sat(p->time, rs_coll_duration(g->from, op));
    RS_TRY(find_given(g, op, &what, err));
    if (what.element_bytes && !share_out(g, &what, &known)) return rs_fail_nomem(err, "all-to-alls");
    if (!known) {
        p->unknown++;
        return RS_OK;
    }
    sent *items = items_of(g, rs_coll_shape_of(g->from, op), &what, g->splits.n);
    if (!items) return rs_fail_nomem(err, "all-to-alls");
    for (size_t i = 0; i < g->splits.n; i++) {
        if (__builtin_mul_overflow(g->splits.items[i], what.element_bytes, &bytes)) bytes = INT64_MAX;
        items[i].count++;
        items[i].bytes = rs_add_sat(items[i].bytes, bytes);
    }
    return RS_OK;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_coll_rank *from;
    RS_TRY(rs_coll_rank_of(trace, run->policy, &from, err));
    gatherer g = {.e = trace->events, .from = from, .p = rs_calloc(1, sizeof *g.p)};
    rs_status status = g.p && rs_pool_init(&g.p->pool) ? RS_OK : rs_fail_nomem(err, "all-to-alls");
    for (size_t i = 0; status == RS_OK && i < from->n; i++) {
        const rs_coll_op *op = &from->ops[i], *last = i ? op - 1 : NULL;
        const rs_coll_shape *shape = rs_coll_shape_of(from, op);
        if (shape->kind != RS_COLL_ALL_TO_ALL) continue;
        /* several kernels of one all-to-all */
        if (last && op->seq >= 0 && op->seq == last->seq &&
            shape->group == rs_coll_shape_of(from, last)->group &&
            rs_coll_shape_of(from, last)->kind == shape->kind) {
            g.p->time = rs_add_sat(g.p->time, rs_coll_duration(from, op));
            continue;
        }
        status = add_op(&g, op, err);
    }
    rs_free(g.splits.items);
    rs_free(g.text);
    rs_arena_clear(&g.arena);
    rs_coll_rank_free(from);
    if (status == RS_OK)
        *partial = g.p;
    else
        free_partial(g.p);
    return status;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

typedef struct load {
    int64_t rank, sent, received;
} load;

static load *load_of(load *loads, size_t n, int64_t rank)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (loads[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && loads[low].rank == rank ? &loads[low] : NULL;
}

/* The rank at a place of the group; RS_NO_VALUE. A group as large as the job has the ranks in order. */
static int64_t member_of(const sent *s, const numbers *members, const rs_partial *partials, size_t n)
{
    if (s->place < members->n && (s->group_size <= 0 || (size_t)s->group_size == members->n))
        return members->items[s->place];
    if (members->n == 0 && (size_t)s->group_size == n && s->place < n) return partials[s->place].rank;
    return RS_NO_VALUE;
}

static rs_status add_pairs(rs_table *t, const rs_partial *partials, size_t n, size_t at, load *loads,
                           numbers *members, rs_error *err)
{
    const exchange_rank *p = partials[at].value;
    int64_t all = 0;
    for (size_t i = 0, end; i < p->n; i++) {
        const sent *s = &p->items[i];
        if (s->place == 0) {
            all = 0;
            for (end = i; end < p->n && (end == i || p->items[end].place); end++)
                all = rs_add_sat(all, p->items[end].bytes);
            if (!read_numbers(rs_pool_text(&p->pool, s->members), members))
                return rs_fail_nomem(err, "members of a group");
        }
        int64_t to = member_of(s, members, partials, n);
        load *receiver = to == RS_NO_VALUE ? NULL : load_of(loads, n, to);
        loads[at].sent = rs_add_sat(loads[at].sent, s->bytes);
        if (receiver) receiver->received = rs_add_sat(receiver->received, s->bytes);
        rs_table_add_int(t, partials[at].rank);
        rs_table_add_int_if(t, to != RS_NO_VALUE, to);
        rs_table_add_int(t, s->place);
        rs_table_add_text_or_null(t, rs_pool_text(&p->pool, s->group));
        rs_table_add_text_or_null(t, rs_pool_text(&p->pool, s->description));
        rs_table_add_int(t, s->count);
        rs_table_add_int(t, s->bytes);
        rs_table_add_real(t, (double)s->bytes / (double)s->count);
        rs_table_add_real(t, rs_percent(s->bytes, all));
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

static rs_status add_ranks(rs_table *t, const rs_partial *partials, size_t n, const load *loads,
                           rs_error *err)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)loads[i].received;
    for (size_t i = 0; i < n; i++) {
        const exchange_rank *p = partials[i].value;
        if (!p->all) continue;
        rs_table_add_int(t, partials[i].rank);
        rs_table_add_int(t, p->all);
        rs_table_add_int(t, p->unknown);
        rs_table_add_time(t, p->time);
        rs_table_add_int(t, loads[i].sent);
        rs_table_add_int(t, loads[i].received);
        rs_table_add_real(t, sum > 0 ? (double)loads[i].received * (double)n / sum : (double)NAN);
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    load *loads = rs_calloc(n + 1, sizeof *loads);
    numbers members = {0};
    int64_t all = 0, unknown = 0;
    rs_status status = loads ? RS_OK : rs_fail_nomem(err, "all-to-alls");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const exchange_rank *p = partials[i].value;
        loads[i].rank = partials[i].rank;
        all = rs_add_sat(all, p->all);
        unknown = rs_add_sat(unknown, p->unknown);
    }
    for (size_t i = 0; status == RS_OK && i < n; i++)
        status = add_pairs(result->tables[PAIRS], partials, n, i, loads, &members, err);
    if (status == RS_OK) status = add_ranks(result->tables[RANKS], partials, n, loads, err);
    rs_free(loads);
    rs_free(members.items);
    RS_TRY(status);
    if (!all) rs_result_note(result, "no all-to-all ran on a GPU");
    if (unknown)
        rs_result_note(result, "of %lld all-to-alls the traces do not tell how much went to whom",
                       (long long)unknown);
    return rs_gate_apply(run->options, result->tables[result->main_table], result, err);
}

static const rs_field sent_fields[] = {
    RS_FIELD_INDEX_OR_NONE(sent, group, exchange_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(sent, description, exchange_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(sent, members, exchange_rank, pool.strings.n),
    RS_FIELD(sent, place),
    RS_FIELD(sent, group_size),
    RS_FIELD(sent, count),
    RS_FIELD(sent, bytes),
};
static const rs_layout sent_layout = RS_LAYOUT(sent, sent_fields);
static const rs_field rank_fields[] = {
    RS_FIELD_STRINGS(exchange_rank, pool.strings),
    RS_FIELD_LIST(exchange_rank, items, n, &sent_layout),
    RS_FIELD(exchange_rank, all),
    RS_FIELD(exchange_rank, unknown),
    RS_FIELD(exchange_rank, time),
};
static const rs_layout rank_layout = RS_LAYOUT(exchange_rank, rank_fields);

const rs_analysis rs_analysis_exchange = {
    .name = "exchange",
    .help = "Who sends how much to whom in all-to-alls: rank by rank, and whose experts get most",
    .about =
        "Sizes come from the split sizes that the communication recorded, which count rows of the first dimension: those "
        "of\nthe kernel, else of the operator record_param_comms that launched it, its arguments or its inputs. An\n"
        "all-to-all without them gives every rank the same. The receiver is told by the members of the process "
        "group.\nIn a group that is as large as the job and does not list its members ranks stand in order.",
    .examples =
        "rankscope exchange traces/\nrankscope exchange --table ranks --fail-on 'vs_mean > 1.5' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_links, &rs_facet_work_details},
    .columns = RS_COLL_COLUMNS | RS_COLUMN_BIT(IN_SPLIT) | RS_ARGS_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &rank_layout,
};
