#include "input/json_values.h"

#include "input/json.h"

#include <math.h>
#include <string.h>

static rs_values_step push_json_text(rs_values *v, const rs_json_text *text)
{
    const char *bytes = (const char *)text->bytes;
    size_t n = text->length;
    if (text->escaped || text->high) {
        char *out = n <= v->limits.max_string ? rs_arena_alloc(&v->texts, 3 * n + 1) : NULL;
        if (!out) return RS_STEP_NOMEM;
        n = rs_json_decode(text->bytes, text->length, out, NULL);
        bytes = out;
    }
    if (n > UINT32_MAX) return RS_STEP_LIMIT;
    return rs_values_push_node(v, &(rs_value){.type = RS_VALUE_TEXT, .n = (uint32_t)n, .as.text = bytes});
}

static rs_values_step push_json_number(rs_values *v, const rs_json_text *text)
{
    rs_value value = {.type = RS_VALUE_INT};
    bool plain = !memchr(text->bytes, '.', text->length) && !memchr(text->bytes, 'e', text->length) &&
                 !memchr(text->bytes, 'E', text->length);
    if (!plain || !rs_json_int(text->bytes, text->length, &value.as.i)) {
        value.type = RS_VALUE_REAL;
        if (!rs_json_real(text->bytes, text->length, &value.as.f)) value.as.f = NAN;
    }
    return rs_values_push_node(v, &value);
}

static rs_values_step json_step(rs_values *v, rs_json_token token, const rs_json_text *text)
{
    rs_value container = {.type = token == RS_JSON_T_OBJECT ? RS_VALUE_MAP : RS_VALUE_LIST,
                          .as.chunks = {RS_NO_CHUNK, RS_NO_CHUNK}};
    switch (token) {
    case RS_JSON_T_OBJECT:
    case RS_JSON_T_ARRAY: {
        rs_values_step s = rs_values_push_node(v, &container);
        return s == RS_STEP_OK ? rs_values_push_mark(v) : s;
    }
    case RS_JSON_T_OBJECT_END:
    case RS_JSON_T_ARRAY_END: {
        if (!v->n_marks) return RS_STEP_EMPTY;
        size_t from = v->marks[--v->n_marks];
        return rs_values_attach(v, v->stack[from - 1], from, false);
    }
    case RS_JSON_T_KEY:
    case RS_JSON_T_STRING: return push_json_text(v, text);
    case RS_JSON_T_NUMBER: return push_json_number(v, text);
    case RS_JSON_T_TRUE:
    case RS_JSON_T_FALSE:
        return rs_values_push_node(v, &(rs_value){.type = RS_VALUE_BOOL, .as.i = token == RS_JSON_T_TRUE});
    case RS_JSON_T_NULL: return rs_values_push_node(v, &(rs_value){.type = RS_VALUE_NONE});
    default: return RS_STEP_EMPTY;
    }
}

rs_status rs_json_read_values(rs_values *v, const uint8_t *bytes, size_t n, const char *file,
                              rs_pickle_info *info, rs_error *err)
{
    rs_json_reader reader;
    rs_values_begin(v, NULL);
    rs_json_reader_init(&reader, bytes, n);
    *info = (rs_pickle_info){.root = RS_NO_NODE};
    for (;;) {
        rs_json_token token = rs_json_next(&reader);
        info->consumed = rs_json_at(&reader);
        if (token == RS_JSON_T_END) break;
        rs_values_step s = RS_STEP_OK;
        if (token != RS_JSON_T_ERROR) s = json_step(v, token, &reader.text);
        if (token != RS_JSON_T_ERROR && s == RS_STEP_OK) continue;
        if (s == RS_STEP_NOMEM) return rs_fail_nomem(err, file);
        info->truncated = token == RS_JSON_T_ERROR && reader.status == RS_JSON_END;
        info->root = rs_values_close_all(v);
        return rs_fail_at(err, s == RS_STEP_LIMIT ? RS_ERR_LIMIT : RS_ERR_FORMAT, file, info->consumed, "%s",
                          s == RS_STEP_LIMIT ? "too many values"
                          : info->truncated  ? "the JSON text is cut short"
                                             : "this is not JSON");
    }
    info->root = v->n_stack ? v->stack[0] : RS_NO_NODE;
    return RS_OK;
}
