#include "analysis/gate.h"

#include "analysis/analysis.h"
#include "base/try.h"

rs_status rs_gate_judge(const rs_gate *gate, const rs_table *table, rs_result *result, rs_error *err)
{
    size_t n_rows = 0, first = 0;
    char values[256];
    RS_TRY(rs_gate_count(gate, table, &n_rows, &first, err));
    if (!n_rows) return RS_OK;
    result->found = true;
    rs_result_note(result, "failed on %.100s: %zu of %zu rows, the first is row %zu with %s",
                   rs_gate_text(gate), n_rows, rs_table_n_rows(table), first + 1,
                   rs_gate_values(gate, table, first, values, sizeof values));
    return RS_OK;
}

rs_status rs_gate_apply(const rs_options *options, const rs_table *table, rs_result *result, rs_error *err)
{
    const char *text = rs_options_text(options, "fail-on");
    rs_gate *gate;
    if (!text) return RS_OK;
    RS_TRY(rs_gate_parse(text, &gate, err));
    rs_status status = rs_gate_judge(gate, table, result, err);
    rs_gate_free(gate);
    return status;
}
