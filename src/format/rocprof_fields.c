#include "format/rocprof_fields.h"

#include <string.h>

#define MAX_PATH 120

/* Appends ".key" to the path; false when it is too long to be one that is looked for. */
static bool push(char *path, size_t *n, const rs_json_text *key)
{
    if (*n + key->length + 2 > MAX_PATH) return false;
    if (*n) path[(*n)++] = '.';
    memcpy(path + *n, key->bytes, key->length);
    *n += key->length;
    path[*n] = '\0';
    return true;
}

/* Whether some path goes on below this one. */
static bool leads_on(const char *path, size_t n, const char *const *paths, size_t n_paths)
{
    /* a key may hold any bytes, zeros too */
    for (size_t i = 0; i < n_paths; i++)
        if (strlen(paths[i]) > n && memcmp(paths[i], path, n) == 0 && paths[i][n] == '.') return true;
    return false;
}

static void take(rs_json_reader *r, rs_json_token token, const char *path, size_t n, const char *const *paths,
                 size_t n_paths, rs_rocprof_field *fields)
{
    if (token != RS_JSON_T_STRING && token != RS_JSON_T_NUMBER) return;
    for (size_t i = 0; i < n_paths; i++)
        if (strlen(paths[i]) == n && memcmp(paths[i], path, n) == 0)
            fields[i] = (rs_rocprof_field){.text = r->text, .string = token == RS_JSON_T_STRING};
}

#define MAX_LEVELS 8

bool rs_fields_read(const uint8_t *text, size_t n, const char *const *paths, size_t n_paths,
                    rs_rocprof_field *fields)
{
    rs_json_reader r;
    char path[MAX_PATH] = "";
    size_t lengths[MAX_LEVELS] = {0}, level = 0;
    memset(fields, 0, n_paths * sizeof *fields);
    rs_json_reader_init(&r, text, n);
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return false;
    for (;;) {
        rs_json_token token = rs_json_next(&r);
        if (token == RS_JSON_T_OBJECT_END) {
            if (level == 0) return true;
            level--;
            continue;
        }
        if (token != RS_JSON_T_KEY) return false;
        size_t at = lengths[level];
        if (!push(path, &at, &r.text)) {
            if (!rs_json_skip_value(&r)) return false;
            continue;
        }
        token = rs_json_next(&r);
        if (token == RS_JSON_T_OBJECT && level + 1 < MAX_LEVELS && leads_on(path, at, paths, n_paths)) {
            lengths[++level] = at;
            path[at] = '\0';
        } else if (token == RS_JSON_T_OBJECT || token == RS_JSON_T_ARRAY) {
            if (!rs_json_leave(&r)) return false;
        } else if (token == RS_JSON_T_ERROR || token == RS_JSON_T_END) {
            return false;
        } else {
            take(&r, token, path, at, paths, n_paths, fields);
        }
    }
}

int64_t rs_field_int(const rs_rocprof_field *field, int64_t otherwise)
{
    int64_t v;
    return field->text.bytes && rs_json_int(field->text.bytes, field->text.length, &v) ? v : otherwise;
}
