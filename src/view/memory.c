/* The explorer's questions to snapshots of PyTorch's allocator. They are a job of their own next to the traces. */
#include <stdio.h>
#include <string.h>

#include "view/explorer.h"

static rs_status keep_overview(rs_explorer *x, rs_result *told, rs_error *err)
{
    rs_result *all = &x->held;
    RS_TRY(rs_explorer_run(x->memory, "memory", NULL, all, err));
    rs_problems_move(&told->problems, &all->problems);
    const rs_table *ranks = rs_result_table(all, "ranks");
    if (ranks && rs_table_n_rows(ranks)) return RS_OK;
    return rs_fail_at(
        err, RS_ERR_FORMAT, x->snapshots[0], RS_NO_OFFSET,
        "holds no snapshot of PyTorch's allocator: torch.cuda.memory._dump_snapshot writes one");
}

rs_status rs_explorer_add_memory(rs_explorer *x, const char *const *paths, size_t n, rs_result *told,
                                 rs_error *err)
{
    rs_job_settings settings = rs_explorer_settings(x, RS_DESK_JOB);
    settings.steps = NULL; /* of the traces */
    settings.window = NULL;
    x->snapshots = paths;
    x->n_snapshots = n;
    RS_TRY(rs_job_open(paths, n, &settings, &x->memory, err));
    return keep_overview(x, told, err);
}

/* The tables of these names, one after the other: "layers,layout". */
static rs_status put_tables(const rs_result *result, const char *names, rs_explorer_answer *answer,
                            rs_error *err)
{
    char name[32];
    bool first = true;
    rs_answer_append(answer, "{", 1);
    for (const char *c = names; *c; c += strcspn(c, ","), c += *c == ',') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(c, ","), c);
        const rs_table *t = rs_result_table(result, name);
        if (!t) return rs_fail(err, RS_ERR_USAGE, "memory has no table \"%.30s\"", name);
        RS_TRY(rs_answer_table(answer, name, t, first, err));
        first = false;
    }
    return rs_answer_append(answer, "}", 1) ? RS_OK : rs_fail_nomem(err, "the answer");
}

rs_status rs_answer_memory(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                           rs_error *err)
{
    static const char *const taken[] = {"by", "at", "top", "layers"};
    enum { N_TAKEN = sizeof taken / sizeof *taken };
    char values[N_TAKEN][64], rank[24], flag[8], names[128];
    const char *options[N_TAKEN + 2][2] = {{NULL}};
    size_t n = 0;
    if (!x->memory)
        return rs_fail(err, RS_ERR_USAGE, "no snapshots are shown here: `rankscope view --memory PATH`");
    if (!rs_ask_text(request, "rank", rank, sizeof rank))
        return put_tables(&x->held, "ranks,findings", answer, err);
    for (size_t i = 0; i < N_TAKEN; i++) {
        if (!rs_ask_text(request, taken[i], values[i], sizeof values[i])) continue;
        options[n][0] = taken[i];
        options[n++][1] = values[i];
    }
    if (rs_ask_text(request, "layout", flag, sizeof flag)) options[n][0] = "layout";
    if (!rs_ask_text(request, "tables", names, sizeof names)) snprintf(names, sizeof names, "sites");
    rs_result result = {0};
    rs_status status = rs_job_select(x->memory, rank, NULL, NULL, err);
    if (status == RS_OK)
        status = rs_explorer_run(x->memory, "memory", (const char *const(*)[2])options, &result, err);
    if (status == RS_OK) status = put_tables(&result, names, answer, err);
    rs_result_clear(&result);
    return status;
}
