#include "output/budget.h"

#include "base/memory.h"

rs_status rs_budget_fail(size_t budget, size_t least, rs_error *err)
{
    return rs_fail(err, RS_ERR_USAGE,
                   "--budget %zu is too little: this answer takes %zu bytes without any row", budget, least);
}

typedef struct purse {
    rs_meter meter;
    size_t left;
} purse;

/* Whether what was written since `before` can be paid for out of `most`; it then is. */
static bool pay(purse *p, size_t before, size_t most)
{
    size_t cost = rs_meter_bytes(&p->meter) - before;
    if (cost > most || cost > p->left) return false;
    p->left -= cost;
    return true;
}

/* How many notes or problems fit into half of what is left. */
static size_t pay_list(purse *p, size_t n, void (*write)(rs_writer *writer, const void *context, size_t i),
                       const void *context)
{
    size_t keep = p->left - p->left / 2, i = 0;
    for (; i < n; i++) {
        size_t before = rs_meter_bytes(&p->meter);
        write(&p->meter.writer, context, i);
        if (!pay(p, before, p->left > keep ? p->left - keep : 0)) break;
    }
    return i;
}

static size_t rows_of(const rs_result *result, size_t table)
{
    return result->tables[table] ? rs_table_n_rows(result->tables[table]) : 0;
}

/* The next row of a table; false when there is none or it does not fit. */
static bool pay_row(purse *p, const rs_result *result, const rs_budget_parts *parts, size_t table,
                    size_t *rows)
{
    size_t before = rs_meter_bytes(&p->meter);
    if (*rows == rows_of(result, table)) return false;
    parts->row(&p->meter.writer, parts->context, table, *rows);
    if (!pay(p, before, SIZE_MAX)) return false;
    (*rows)++;
    return true;
}

rs_status rs_budget_share(const rs_result *result, const rs_budget_parts *parts, size_t bytes, rs_budget *out,
                          rs_error *err)
{
    size_t n = result->n_tables;
    *out = (rs_budget){.rows = rs_calloc(n + 1, sizeof *out->rows)};
    RS_LOCAL purse *p = rs_malloc(sizeof *p);
    RS_LOCAL bool *closed = rs_calloc(n + 1, sizeof *closed);
    if (out->rows && p && closed) {
        p->left = bytes;
        rs_meter_init(&p->meter, SIZE_MAX);
        out->n_problems = pay_list(p, result->problems.n, parts->problem, parts->context);
        out->n_notes = pay_list(p, result->n_notes, parts->note, parts->context);
        for (size_t t = 0; t < n; t++)
            if (rows_of(result, t) == 1) closed[t] = pay_row(p, result, parts, t, &out->rows[t]);
        for (bool more = true; more;) {
            more = false;
            for (size_t t = 0; t < n; t++) {
                closed[t] = closed[t] || !pay_row(p, result, parts, t, &out->rows[t]);
                more = more || !closed[t];
            }
        }
    }
    rs_status status = out->rows && p && closed ? RS_OK : rs_fail_nomem(err, "the shares of a budget");
    if (status != RS_OK) rs_budget_clear(out);
    return status;
}

void rs_budget_clear(rs_budget *budget)
{
    rs_free(budget->rows);
    *budget = (rs_budget){0};
}
