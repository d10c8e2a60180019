/* What the faces of several commands share: cells by column name, and tables cut to some columns and rows. */
#ifndef RS_OUTPUT_FACE_TOOLS_H
#define RS_OUTPUT_FACE_TOOLS_H

#include "output/faces.h"

/* The index of a column; the table must have it. */
size_t rs_face_column(const rs_table *table, const char *name);
/* A cell as a number in its column's unit, NaN when unknown; as text, "" when unknown. */
double rs_face_number(const rs_table *table, size_t row, const char *column);
int64_t rs_face_int(const rs_table *table, size_t row, const char *column, int64_t otherwise);
const char *rs_face_string(const rs_table *table, size_t row, const char *column);

/* Shows only some columns (ended by NULL), and of the rows those listed (rows NULL: the first n_rows). */
rs_status rs_face_part(rs_page *layout, const rs_table *table, const char *const *columns, const size_t *rows,
                       size_t n_rows, rs_error *err);

/* "1.25 ms"; "?" of what is unknown. */
const char *rs_face_human_us(double us, char out[32]);

/* The first rows of a table, and how many there are. */
rs_status rs_face_first(const rs_table *table, const char *const *columns, size_t limit, rs_page *layout,
                        rs_error *err);

rs_status rs_face_summary(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_info(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_collectives(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_compare(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_variance(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_tree(const rs_result *result, rs_page *layout, rs_error *err);
/* Of any command whose answer is the table "folded": stacks for flame-graph tools. */
rs_status rs_face_stacks(const rs_result *result, rs_page *layout, rs_error *err);
/* Of replay when it was asked something: the answers alone. */
rs_status rs_face_what_if(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_doctor(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_stragglers(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_steps(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_annotations(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_delays(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_diagnose(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_diff(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_whatif(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_memory(const rs_result *result, rs_page *layout, rs_error *err);

#endif
