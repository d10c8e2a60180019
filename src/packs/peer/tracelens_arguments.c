#include "peer/tracelens_arguments.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "input/json.h"
#include "text/numbers.h"

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct numbers {
    int64_t *items;
    size_t n, capacity;
} numbers;

/* The elements of an array of arrays, up to its end. Whatever is in an element beside whole numbers makes
 * it nested. */
static bool take_lists(rs_json_reader *r, rs_arena *arena, rs_tl_list **items, size_t *n)
{
    size_t capacity = 0;
    numbers list = {0};
    RS_LOCAL rs_tl_list *out = NULL;
    bool ok = true;
    for (rs_json_token t = rs_json_next(r); ok && t != RS_JSON_T_ARRAY_END; t = rs_json_next(r)) {
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) break;
        rs_tl_list one = {.nested = t != RS_JSON_T_ARRAY};
        list.n = 0;
        if (t == RS_JSON_T_OBJECT) rs_json_leave(r);
        while (t == RS_JSON_T_ARRAY) {
            rs_json_token inner = rs_json_next(r);
            int64_t value;
            if (inner == RS_JSON_T_ARRAY_END || inner == RS_JSON_T_ERROR || inner == RS_JSON_T_END) break;
            if (inner == RS_JSON_T_ARRAY || inner == RS_JSON_T_OBJECT) rs_json_leave(r);
            if (inner != RS_JSON_T_NUMBER || !rs_json_int(r->text.bytes, r->text.length, &value)) {
                one.nested = true;
                continue;
            }
            ok = RS_GROW_ONE(list.items, list.n, list.capacity);
            if (!ok) break;
            list.items[list.n++] = value;
        }
        one.n = one.nested ? 0 : list.n;
        int64_t *copy = rs_arena_alloc(arena, (one.n + 1) * sizeof *copy);
        ok = ok && copy && RS_GROW_ONE(out, *n, capacity);
        if (!ok) break;
        if (one.n) memcpy(copy, list.items, one.n * sizeof *copy);
        one.items = copy;
        out[(*n)++] = one;
    }
    *items = ok ? rs_arena_alloc(arena, (*n + 1) * sizeof **items) : NULL;
    if (*items && *n) memcpy(*items, out, *n * sizeof **items);
    rs_free(list.items);
    return *items != NULL;
}

static bool take_texts(rs_json_reader *r, rs_arena *arena, rs_tl_text **items, size_t *n)
{
    size_t capacity = 0;
    RS_LOCAL rs_tl_text *out = NULL;
    bool ok = true;
    for (rs_json_token t = rs_json_next(r); ok && t != RS_JSON_T_ARRAY_END; t = rs_json_next(r)) {
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) break;
        if (t == RS_JSON_T_ARRAY || t == RS_JSON_T_OBJECT) rs_json_leave(r);
        bool word = t == RS_JSON_T_STRING;
        char *copy = rs_arena_alloc(arena, word ? 3 * r->text.length + 1 : 1);
        ok = copy && RS_GROW_ONE(out, *n, capacity);
        if (!ok) break;
        size_t length = word ? rs_json_decode(r->text.bytes, r->text.length, copy, NULL) : 0;
        copy[length] = '\0';
        out[(*n)++] = (rs_tl_text){copy, length};
    }
    *items = ok ? rs_arena_alloc(arena, (*n + 1) * sizeof **items) : NULL;
    if (*items && *n) memcpy(*items, out, *n * sizeof **items);
    return *items != NULL;
}

static bool begins_list(rs_json_reader *r, const char *text, size_t length)
{
    if (!text) return false;
    rs_json_reader_init(r, text, length);
    return rs_json_next(r) == RS_JSON_T_ARRAY;
}

bool rs_tl_arguments_read(const rs_tl_call *call, rs_arena *arena, rs_tl_arguments *out)
{
    rs_json_reader r;
    bool ok = true;
    *out = (rs_tl_arguments){0};
    out->has_dims = begins_list(&r, call->dims, call->dims_length);
    if (out->has_dims) ok = take_lists(&r, arena, &out->dims, &out->n_dims);
    out->has_strides = begins_list(&r, call->strides, call->strides_length);
    if (ok && out->has_strides) ok = take_lists(&r, arena, &out->strides, &out->n_strides);
    out->has_types = begins_list(&r, call->types, call->types_length);
    if (ok && out->has_types) ok = take_texts(&r, arena, &out->types, &out->n_types);
    out->has_concrete = begins_list(&r, call->concrete, call->concrete_length);
    if (ok && out->has_concrete) ok = take_texts(&r, arena, &out->concrete, &out->n_concrete);
    return ok;
}

/* ---- access -------------------------------------------------------------------------------------------- */

rs_tl_list rs_tl_shape(rs_tl_ask *ask, size_t i)
{
    if (i < ask->a->n_dims && !ask->a->dims[i].nested) return ask->a->dims[i];
    ask->bad = true;
    return (rs_tl_list){0};
}

const char *rs_tl_type(rs_tl_ask *ask, size_t i)
{
    if (i < ask->a->n_types) return ask->a->types[i].text;
    ask->bad = true;
    return "";
}

rs_tl_text rs_tl_concrete(rs_tl_ask *ask, size_t i)
{
    if (i < ask->a->n_concrete) return ask->a->concrete[i];
    ask->bad = true;
    return (rs_tl_text){"", 0};
}

bool rs_tl_is(rs_tl_text text, const char *word)
{
    size_t n = strlen(word);
    bool same = text.length == n;
    for (size_t i = 0; same && i < n; i++) same = rs_lower(text.text[i]) == rs_lower(word[i]);
    return same;
}

static bool read_whole(const char *text, size_t length, int64_t *out)
{
    return rs_json_int((const uint8_t *)text, length, out);
}

int64_t rs_tl_whole(rs_tl_ask *ask, rs_tl_text text)
{
    int64_t value = 0;
    if (!read_whole(text.text, text.length, &value)) ask->bad = true;
    return value;
}

double rs_tl_real(rs_tl_ask *ask, rs_tl_text text, double otherwise)
{
    double value = otherwise;
    (void)ask;
    if (text.length && text.text[text.length - 1] == '.') text.length--; /* "0." */
    return rs_parse_real(text.text, text.length, &value) ? value : otherwise;
}

size_t rs_tl_numbers(rs_tl_ask *ask, rs_tl_text text, int64_t *out, size_t max)
{
    size_t n = 0, at = 1;
    if (text.length < 2 || text.text[0] != '[' || text.text[text.length - 1] != ']') {
        ask->bad = true;
        return 0;
    }
    while (at < text.length - 1) {
        size_t end = at;
        while (end < text.length - 1 && text.text[end] != ',') end++;
        size_t from = at, to = end;
        while (from < to && rs_is_space(text.text[from])) from++;
        while (to > from && rs_is_space(text.text[to - 1])) to--;
        if (n == max || !read_whole(text.text + from, to - from, &out[n])) {
            ask->bad = true;
            return 0;
        }
        n++;
        at = end + 1;
    }
    return n;
}

double rs_tl_product(const int64_t *items, size_t n)
{
    double product = 1;
    for (size_t i = 0; i < n; i++) product *= (double)items[i];
    return product;
}

/* ---- types --------------------------------------------------------------------------------------------- */

typedef struct tl_type {
    const char *name; /* lower case */
    double size;
    const char *precision;
} tl_type;

static const tl_type types[] = {
    {"double", 8, "fp64"},
    {"long int", 8, NULL},
    {"float", 4, "fp32"},
    {"int", 4, NULL},
    {"scalar", 4, NULL},
    {"c10::half", 2, "fp16"},
    {"c10::bfloat16", 2, "bf16"},
    {"c10::float8_e4m3fnuz", 1, "fp8"},
    {"c10::float8_e4m3fn", 1, "fp8"},
    {"c10::float8_e5m2", 1, "fp8"},
    {"c10::float8_e5m2fnuz", 1, "fp8"},
    {"c10::float4_e2m1fn_x2", 1, "fp4"},
    {"unsigned char", 1, "fp8"},
    {"signed char", 1, "int8"},
    {"fp8", 1, "fp8"},
};

static const tl_type *type_called(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (rs_tl_is((rs_tl_text){name, strlen(name)}, types[i].name)) return &types[i];
    return NULL;
}

double rs_tl_size(const char *type)
{
    const tl_type *t = type_called(type);
    return t ? t->size : (double)NAN;
}

const char *rs_tl_precision(const char *type)
{
    const tl_type *t = type_called(type);
    return t ? t->precision : NULL;
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

static rs_tl_param *next_param(rs_tl_ask *ask, const char *name, rs_tl_kind kind)
{
    rs_tl_answer *out = ask->out;
    if (out->n_params == RS_TL_MAX_PARAMS) {
        ask->bad = true;
        out->n_params--;
    }
    out->params[out->n_params] = (rs_tl_param){.name = name, .kind = kind};
    return &out->params[out->n_params++];
}

void rs_tl_put_whole(rs_tl_ask *ask, const char *name, int64_t value)
{
    next_param(ask, name, RS_TL_WHOLE)->number = (double)value;
}

void rs_tl_put_real(rs_tl_ask *ask, const char *name, double value)
{
    next_param(ask, name, RS_TL_FLOAT)->number = value;
}

void rs_tl_put_word(rs_tl_ask *ask, const char *name, const char *word)
{
    next_param(ask, name, RS_TL_WORD)->text = word;
}

void rs_tl_put_truth(rs_tl_ask *ask, const char *name, bool value)
{
    next_param(ask, name, RS_TL_PYTHON)->text = value ? "True" : "False";
}

void rs_tl_put_none(rs_tl_ask *ask, const char *name)
{
    next_param(ask, name, RS_TL_NONE);
}

void rs_tl_put_python(rs_tl_ask *ask, const char *name, rs_text *text)
{
    char *copy = text->failed ? NULL : rs_arena_strndup(ask->arena, text->s ? text->s : "", text->n);
    if (!copy) ask->no_memory = ask->bad = true;
    next_param(ask, name, RS_TL_PYTHON)->text = copy ? copy : "";
    rs_text_clear(text);
}

void rs_tl_put_tuple(rs_tl_ask *ask, const char *name, rs_tl_list list)
{
    rs_text text = {0};
    rs_python_put_tuple(&text, list.items, list.n);
    rs_tl_put_python(ask, name, &text);
}

void rs_tl_put_types(rs_tl_ask *ask, const char *name, const char *const *names, size_t n)
{
    rs_text text = {0};
    rs_text_put(&text, "(");
    for (size_t i = 0; i < n; i++) {
        if (i) rs_text_put(&text, ", ");
        if (names[i])
            rs_python_put_string(&text, names[i], strlen(names[i]));
        else
            rs_text_put(&text, "None");
    }
    rs_text_put(&text, n == 1 ? ",)" : ")");
    rs_tl_put_python(ask, name, &text);
}

void rs_tl_put_stride(rs_tl_ask *ask, const char *name, size_t i)
{
    if (!ask->a->has_strides) {
        rs_tl_put_none(ask, name);
        return;
    }
    if (i >= ask->a->n_strides || ask->a->strides[i].nested)
        ask->bad = true;
    else
        rs_tl_put_tuple(ask, name, ask->a->strides[i]);
}
