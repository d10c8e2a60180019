/* Commands whose text output is more than their tables: a sentence that answers the command's question, and tables in a
 * layout of their own. No number is computed here that does not follow from cells of a table.
 *
 * To add one: a row in faces.c. Its headline is written in face_headlines.c, its layout in src/output/face_NAME.c; both are
 * declared in face_tools.h. Only --format text without --table uses it.
 */
#pragma once

#include "base/text.h"
#include "output/layout.h"

typedef rs_status (*rs_face_fn)(const rs_result *result, rs_page *layout, rs_error *err);
/* Adds the sentence; nothing where the result holds no row to speak of. */
typedef void (*rs_headline_fn)(const rs_result *result, rs_text *out);

typedef struct rs_face {
    const char *name;        /* of the command */
    rs_face_fn render;       /* NULL: its tables */
    rs_headline_fn headline; /* NULL: it has none, or its layout begins with it */
    const char *by;          /* the column whose greatest values are shown; NULL: the first rows are */
    const char *keep; /* columns that answer the question: the last to be left out; NULL: none but `by` */
    bool lists;       /* its tables are cut to some rows; --top 0 shows all */
} rs_face;

/* The face of a command whose answer is that table, or NULL when its tables are all it shows. */
const rs_face *rs_face_find(const char *name, const char *table);

/* Where the JSON of a command nests the rows of a table: the column of their depth. Else NULL. */
const char *rs_face_nests(const char *name);
