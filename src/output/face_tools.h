/* What the faces of several commands share: cells by column name, and tables cut to some columns and rows. */
#pragma once

#include "output/faces.h"

/* The index of a column; the table must have it. */
size_t rs_face_column(const rs_table *table, const char *name);
/* A cell as a number in its column's unit, NaN when unknown; as text, "" when unknown. */
double rs_face_number(const rs_table *table, size_t row, const char *column);
int64_t rs_face_int(const rs_table *table, size_t row, const char *column, int64_t otherwise);
const char *rs_face_string(const rs_table *table, size_t row, const char *column);

bool rs_face_has(const rs_table *table, const char *column);

/* Shows only some columns ("rank|name|count"; NULL: all), and of the rows those listed (rows NULL: the first n_rows). */
rs_status rs_face_part(rs_page *layout, const rs_table *table, const char *columns, const size_t *rows,
                       size_t n_rows, rs_error *err);

/* "1.25 ms"; "?" of what is unknown. */
const char *rs_face_human_us(double us, char out[32]);

/* As many rows of a table as the page shows: the greatest, or the first. */
rs_status rs_face_first(const rs_table *table, const char *columns, rs_page *layout, rs_error *err);
/* How many of n rows the page shows; it remembers that some were left out. */
size_t rs_face_most(rs_page *layout, size_t n);
/* The result in its tables, each with as many rows as the page shows. */
rs_status rs_face_tables(const rs_result *result, rs_page *layout, const rs_render_settings *settings,
                         rs_error *err);

void rs_headline_annotations(const rs_result *result, rs_text *out);
void rs_headline_blame(const rs_result *result, rs_text *out);
void rs_headline_breakdown(const rs_result *result, rs_text *out);
void rs_headline_clocks(const rs_result *result, rs_text *out);
void rs_headline_collectives(const rs_result *result, rs_text *out);
void rs_headline_compare(const rs_result *result, rs_text *out);
void rs_headline_compile(const rs_result *result, rs_text *out);
void rs_headline_delays(const rs_result *result, rs_text *out);
void rs_headline_diff(const rs_result *result, rs_text *out);
void rs_headline_exchange(const rs_result *result, rs_text *out);
void rs_headline_idle(const rs_result *result, rs_text *out);
void rs_headline_kernels(const rs_result *result, rs_text *out);
void rs_headline_launches(const rs_result *result, rs_text *out);
void rs_headline_mfu(const rs_result *result, rs_text *out);
void rs_headline_modules(const rs_result *result, rs_text *out);
void rs_headline_ops(const rs_result *result, rs_text *out);
void rs_headline_overlap(const rs_result *result, rs_text *out);
void rs_headline_path(const rs_result *result, rs_text *out);
void rs_headline_queue(const rs_result *result, rs_text *out);
void rs_headline_regress(const rs_result *result, rs_text *out);
void rs_headline_replay(const rs_result *result, rs_text *out);
void rs_headline_roofline(const rs_result *result, rs_text *out);
void rs_headline_sequences(const rs_result *result, rs_text *out);
void rs_headline_serving(const rs_result *result, rs_text *out);
void rs_headline_steps(const rs_result *result, rs_text *out);
void rs_headline_layout(const rs_result *result, rs_text *out);
void rs_headline_timeline(const rs_result *result, rs_text *out);
void rs_headline_variance(const rs_result *result, rs_text *out);

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
rs_status rs_face_serving(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_steps(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_annotations(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_delays(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_diagnose(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_diff(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_whatif(const rs_result *result, rs_page *layout, rs_error *err);
rs_status rs_face_memory(const rs_result *result, rs_page *layout, rs_error *err);
