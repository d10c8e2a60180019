/* The verdict as test cases of JUnit, which CI servers show. */
#include <math.h>

#include "base/memory.h"
#include "rankscope/regress.h"
#include "text/writer.h"
#include "table/cells.h"

enum { VERDICT, PARTS };

static void attribute(rs_writer *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        switch (c) {
        case '&': rs_writer_text(w, "&amp;"); break;
        case '<': rs_writer_text(w, "&lt;"); break;
        case '>': rs_writer_text(w, "&gt;"); break;
        case '"': rs_writer_text(w, "&quot;"); break;
        default: rs_writer_char(w, c < 32 || c == 127 ? ' ' : (char)c);
        }
    }
}

static void cell(rs_writer *w, const rs_table *t, size_t row, size_t column)
{
    size_t n;
    if (rs_table_is_null(t, row, column)) return;
    const char *text = rs_table_text(t, row, column, &n);
    attribute(w, text, n);
}

static void number(rs_writer *w, const rs_table *t, size_t row, const char *name)
{
    size_t column = rs_table_column_of(t, name);
    if (rs_table_is_null(t, row, column)) {
        rs_writer_text(w, "unknown");
        return;
    }
    if (rs_table_get_spec(t)->columns[column].type == RS_TIME)
        rs_writer_time(w, rs_table_int(t, row, column), RS_UNIT_US);
    else
        rs_writer_real(w, rs_table_real(t, row, column));
}

/* Whether a part changed by a share of the base's step. */
static bool matters(const rs_table *v, const rs_table *parts, size_t row, double min_effect)
{
    double step = rs_table_real(v, 0, rs_table_column_of(v, "base_us")) * 1e3;
    return fabs((double)rs_table_int(parts, row, rs_table_column_of(parts, "part_us"))) >= min_effect * step;
}

rs_status rs_regress_junit(const rs_result *result, rs_regress_verdict verdict, bool strict,
                           double min_effect, const rs_sink *sink, rs_error *err)
{
    size_t n_parts = 0;
    const rs_table *v = result->tables[VERDICT], *parts = result->tables[PARTS];
    bool fails = verdict == RS_REGRESS_SLOWER || (strict && verdict == RS_REGRESS_UNDECIDED);
    RS_LOCAL rs_writer *w = rs_malloc(sizeof *w);
    if (!w) return rs_fail_nomem(err, "a writer");
    rs_writer_init(w, sink);
    rs_writer_text(
        w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"rankscope regress\" tests=\"");
    for (size_t i = 0; i < rs_table_n_rows(parts); i++) n_parts += matters(v, parts, i, min_effect);
    RS_WRITE(w, 1 + n_parts, fails ? "\" failures=\"1\">\n" : "\" failures=\"0\">\n",
             "  <testcase classname=\"regress\" name=\"verdict\">");
    if (fails) {
        RS_WRITE(w, "<failure message=\"", rs_regress_verdict_name(verdict), ": change ");
        number(w, v, 0, "change_pct");
        rs_writer_text(w, " %, interval ");
        number(w, v, 0, "low_pct");
        rs_writer_text(w, " to ");
        number(w, v, 0, "high_pct");
        rs_writer_text(w, " %\"/>");
    } else {
        RS_WRITE(w, "<system-out>", rs_regress_verdict_name(verdict), "</system-out>");
    }
    rs_writer_text(w, "</testcase>\n");
    for (size_t i = 0; i < rs_table_n_rows(parts); i++) {
        if (!matters(v, parts, i, min_effect)) continue;
        rs_writer_text(w, "  <testcase classname=\"regress.parts\" name=\"");
        cell(w, parts, i, rs_table_column_of(parts, "part"));
        static const char *const names[] = {"kernel", "operator", "phase", "group"};
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (rs_table_is_null(parts, i, rs_table_column_of(parts, names[k]))) continue;
            rs_writer_text(w, ": ");
            cell(w, parts, i, rs_table_column_of(parts, names[k]));
        }
        rs_writer_text(w, "\"><system-out>part_us ");
        number(w, parts, i, "part_us");
        rs_writer_text(w, "</system-out></testcase>\n");
    }
    rs_writer_text(w, "</testsuite>\n");
    return rs_writer_finish(w, err);
}
