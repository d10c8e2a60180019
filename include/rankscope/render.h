/* Rendering: a result in any of the output formats. */
#ifndef RANKSCOPE_RENDER_H
#define RANKSCOPE_RENDER_H

#include "rankscope/analysis.h"
#include "rankscope/text.h"

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

#ifdef __cplusplus
}
#endif
#endif
