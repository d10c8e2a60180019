/* One renderer a format. Each writes one table; the caller finishes the writer. */
#ifndef RS_OUTPUT_FORMATS_H
#define RS_OUTPUT_FORMATS_H

#include "rankscope/render.h"
#include "text/writer.h"

void rs_write_csv(rs_writer *writer, const rs_table *table);
void rs_write_jsonl(rs_writer *writer, const rs_table *table);
/* One cell as it stands in JSON. */
void rs_write_json_value(rs_writer *writer, const rs_table *table, size_t row, size_t column);
/* What stands between the brackets of "problems". */
void rs_write_json_problems(rs_writer *writer, const rs_problems *problems);
/* An array of objects; indent spaces stand before each. */
void rs_write_json_rows(rs_writer *writer, const rs_table *table, unsigned indent);
void rs_write_json_result(rs_writer *writer, const rs_result *result);
rs_status rs_write_md(rs_writer *writer, const rs_table *table, rs_error *err);
rs_status rs_write_text(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                        rs_error *err);

/* A table in depth-first order whose column depth_column tells how deep a row stands (from 0, never more than
 * one deeper than the row before): each row holds those below it as "children". */
void rs_write_json_nested(rs_writer *writer, const rs_table *table, size_t depth_column, unsigned indent);
/* As rs_write_json_result, with the table at index `nested` written that way. */
void rs_write_json_result_nested(rs_writer *writer, const rs_result *result, size_t nested,
                                 size_t depth_column);

#endif
