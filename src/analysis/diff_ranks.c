/* diff by rank: what a step of each rank takes more or less in B, in parts that add up, and which kernel changed most. */
#include <math.h>
#include <string.h>

#include "analysis/diff.h"
#include "base/interval.h"
#include "base/real.h"
#include "base/strings.h"

/* A rank that both jobs have; times are B less A, of the mean step. */
typedef struct rank_row {
    int64_t rank, span_a, span_b, span, compute, exposed_comm, exposed_copies, idle;
    const char *most; /* the kernel whose time changed most */
    int64_t most_time;
} rank_row;

#define RANK_ROW(CELL)                                                                                        \
    CELL(OF(rank_row, rank), "rank", INT, ID, "a rank that both have, or of one rank each that of B", NULL)   \
    CELL(                                                                                                     \
        OF(rank_row, span_a), "span_a_us", TIME, US,                                                          \
        "of a step in A: from the first GPU work to the last, over the steps, of which both must have some; " \
        "else of the whole trace",                                                                            \
        "span A")                                                                                             \
    CELL(OF(rank_row, span_b), "span_b_us", TIME, US, "the same in B", "span B")                              \
    CELL(OF(rank_row, span), "span_diff_us", TIME, US, "B less A; the next four add up to it", "diff")        \
    CELL(OF(rank_row, compute), "compute_diff_us", TIME, US, "of it: computation", "compute")                 \
    CELL(OF(rank_row, exposed_comm), "exposed_comm_diff_us", TIME, US,                                        \
         "of it: communication that no computation hides, waits for other ranks included", "exposed comm")    \
    CELL(OF(rank_row, exposed_copies), "exposed_copy_diff_us", TIME, US, "of it: copies that nothing hides",  \
         "exposed copies")                                                                                    \
    CELL(OF(rank_row, idle), "idle_diff_us", TIME, US, "of it: nothing runs", "idle")                         \
    CELL(MAYBE(rank_row, most), "kernel", TEXT, NONE, "the computation whose time changed most", NULL)        \
    CELL(OF(rank_row, most_time), "kernel_diff_us", TIME, US, "what a step has of it in B less A",            \
         "kernel diff")
RS_RECORD(rank, RANK_ROW);

const rs_table_spec rs_diff_ranks_table =
    RS_TABLE("ranks", "one row is what the mean step of one rank takes more in B than in A", rank_columns);

/* ns of a step, rounded; of parts that add up, parts are what is left over. */
static int64_t of_step(const rs_diff_rank *p, int64_t ns, bool by_step)
{
    return by_step ? rs_int_near((double)ns / (double)p->n_steps) : ns;
}

static int64_t change(const rs_diff_rank *const of[2], int64_t a, int64_t b, bool by_step)
{
    return rs_sub_sat(of_step(of[1], b, by_step), of_step(of[0], a, by_step));
}

/* The computation whose time of a step changed most. False when out of memory. */
static bool find_most(const rs_diff_rank *const of[2], bool by_step, rank_row *row)
{
    RS_SCOPED(rs_strings_clear) rs_strings ids;
    RS_LOCAL int64_t *times = rs_calloc(of[0]->n + of[1]->n + 2, sizeof *times);
    if (!rs_strings_init(&ids) || !times) return false;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < of[side]->n; i++) {
            const rs_diff_name *x = &of[side]->items[i];
            if (x->kind != RS_CLASS_COMPUTE) continue;
            uint32_t id = rs_strings_add(&ids, x->name, x->length);
            if (id == RS_NO_STRING) return false;
            int64_t time = of_step(of[side], x->time, by_step);
            times[id] = side ? rs_add_sat(times[id], time) : rs_sub_sat(times[id], time);
        }
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < of[side]->n; i++) {
            const rs_diff_name *x = &of[side]->items[i];
            uint32_t id = rs_strings_find(&ids, x->name, x->length);
            if (id == RS_NO_STRING || fabs((double)times[id]) <= fabs((double)row->most_time)) continue;
            row->most_time = times[id];
            row->most = x->name;
        }
    return true;
}

static rs_status add_rank(const rs_diff_rank *const of[2], int64_t rank, rs_table *t, rs_error *err)
{
    bool by_step = of[0]->n_steps && of[1]->n_steps;
    const rs_busy *a = &of[0]->gpu, *b = &of[1]->gpu;
    rank_row row = {.rank = rank,
                    .span_a = of_step(of[0], a->span, by_step),
                    .span_b = of_step(of[1], b->span, by_step),
                    .compute = change(of, a->compute, b->compute, by_step),
                    .exposed_comm = change(of, a->exposed_comm, b->exposed_comm, by_step),
                    .exposed_copies = change(of, a->exposed_memory, b->exposed_memory, by_step)};
    row.span = rs_sub_sat(row.span_b, row.span_a);
    row.idle =
        rs_sub_sat(row.span, rs_add_sat(row.compute, rs_add_sat(row.exposed_comm, row.exposed_copies)));
    if (!find_most(of, by_step, &row)) return rs_fail_nomem(err, "names");
    return rs_table_put_row(t, &rank_record, 0, &row, err);
}

/* Ranks are compared with themselves; the only one of a job with the only one of the other. */
rs_status rs_diff_add_ranks(const rs_partial *partials, size_t n, rs_table *t, rs_error *err)
{
    RS_SCOPED(rs_map64_clear) rs_map64 places = {0};
    bool one_each = n == 2 && partials[0].side != partials[1].side;
    for (size_t i = 0; i < n; i++) {
        bool is_new;
        if (partials[i].side != 0) continue;
        uint32_t *place = rs_map64_put(&places, one_each ? 0 : (uint64_t)partials[i].rank, &is_new);
        if (!place) return rs_fail_nomem(err, "ranks");
        *place = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t *place = rs_map64_get(&places, one_each ? 0 : (uint64_t)partials[i].rank);
        if (!place || partials[i].side != 1) continue;
        const rs_diff_rank *const of[2] = {partials[*place].value, partials[i].value};
        rs_status status = of[0]->gpu.n && of[1]->gpu.n ? add_rank(of, partials[i].rank, t, err) : RS_OK;
        if (status != RS_OK) return status;
    }
    return RS_OK;
}
