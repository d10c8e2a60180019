/* Picking a few fields out of a small JSON object by their paths. */
#pragma once

#include "input/json.h"

/* A scalar: a string's inside or a number's text; bytes NULL when it is absent or something else. */
typedef struct rs_rocprof_field {
    rs_json_text text;
    bool string;
} rs_rocprof_field;

/* Fills fields[i] from the member at paths[i] ("dispatch_info.grid_size.x"). false when the text is no JSON.
 */
bool rs_fields_read(const uint8_t *text, size_t n, const char *const *paths, size_t n_paths,
                    rs_rocprof_field *fields);

/* A field as a whole number, otherwise when it is absent or none. */
int64_t rs_field_int(const rs_rocprof_field *field, int64_t otherwise);
