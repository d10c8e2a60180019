/* Commands whose text output is more than their tables: each shows the tables of its analysis' result in its
 * own layout. No number is computed here that a table does not hold.
 *
 * To add one: write `rs_status rs_face_NAME(const rs_result *result, rs_page *layout, rs_error *err)` in
 * src/output/face_NAME.c, declare it here and name it in faces.c. Only --format text without --table uses it.
 */
#ifndef RS_OUTPUT_FACES_H
#define RS_OUTPUT_FACES_H

#include "output/layout.h"

typedef rs_status (*rs_face_fn)(const rs_result *result, rs_page *layout, rs_error *err);

/* The face of a command whose answer is that table, or NULL when its tables are all it shows. */
rs_face_fn rs_face_find(const char *name, const char *table);

/* Where the JSON of a command nests the rows of a table: the column of their depth. Else NULL. */
const char *rs_face_nests(const char *name);

#endif
