/* Rendering: a result in any of the output formats. */
#ifndef RANKSCOPE_RENDER_H
#define RANKSCOPE_RENDER_H

#include "rankscope/analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rs_format {
    RS_FORMAT_TEXT,
    RS_FORMAT_CSV,
    RS_FORMAT_JSON,
    RS_FORMAT_JSONL,
    RS_FORMAT_MD
} rs_format;

/* Where bytes go. write returns false when the sink failed; rendering stops then. */
typedef struct rs_sink {
    bool (*write)(void *context, const char *bytes, size_t n);
    void *context;
} rs_sink;

typedef struct rs_render_settings {
    rs_format format;
    unsigned width; /* columns of the terminal for text; 0: unlimited */
    bool color;     /* ANSI colours in text */
    bool utf8;      /* the terminal shows UTF-8; else pure ASCII decoration */
} rs_render_settings;

/* Writes one table. For RS_FORMAT_JSON: an array of objects. */
RS_API rs_status rs_render_table(const rs_table *table, const rs_render_settings *settings,
                                 const rs_sink *sink, rs_error *err);

/* Writes a whole result: text writes each table that has rows (the main one when none has), csv, jsonl and md
 * the table at index main_table, json one object {"tables": {...}, "problems": [...], "notes": [...]}. */
RS_API rs_status rs_render_result(const rs_result *result, size_t main_table,
                                  const rs_render_settings *settings, const rs_sink *sink, rs_error *err);

/* Human forms used by the text renderer and by sentences. Each writes into out (terminated) and returns out.
 */
RS_API const char *rs_human_time(int64_t ns, char out[32]); /* "1.234 ms", "12.3 s" */
RS_API const char *rs_human_count(int64_t n, char out[32]); /* "1 234 567" */
RS_API const char *rs_human_bytes(int64_t n, char out[32]); /* "1.5 GiB" */
/* Shortens UTF-8 text in the middle to at most columns terminal columns. out_size must be >= 4 * columns + 8.
 */
RS_API const char *rs_shorten_middle(const char *text, size_t length, size_t columns, char *out,
                                     size_t out_size);

/* The table's schema as a table: table, column, type, unit, meaning. Owned by the caller; NULL when out of
 * memory. */
RS_API rs_table *rs_schema_table(const rs_table_spec *const *specs, size_t n);

#ifdef __cplusplus
}
#endif
#endif
