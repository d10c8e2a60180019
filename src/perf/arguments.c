#include "perf/arguments.h"

#include <string.h>

#include "input/json.h"

/* More arguments than any operator has. */
#define MAX_ARGUMENTS 4096

typedef struct argument_list {
    rs_arena *arena;
    rs_argument *items;
    size_t n, capacity;
} argument_list;

/* The i-th argument, made if there is none yet; NULL when out of memory. */
static rs_argument *argument_at(argument_list *list, size_t i)
{
    while (list->n <= i)
        if (!RS_APPEND(list, (rs_argument){.value = ""})) return NULL;
    return &list->items[i];
}

static bool open_array(rs_json_reader *r, const char *text)
{
    if (!text) return false;
    rs_json_reader_init(r, text, strlen(text));
    return rs_json_next(r) == RS_JSON_T_ARRAY;
}

typedef struct shape {
    int64_t values[RS_MAX_DIMS];
    size_t n;
    bool nested, wrong; /* nested: a list of shapes */
    int64_t elements;   /* of all shapes of the list */
} shape;

static void take_number(shape *s, const rs_json_text *text)
{
    int64_t value;
    if (s->n == RS_MAX_DIMS || !rs_json_int(text->bytes, text->length, &value))
        s->wrong = true;
    else
        s->values[s->n++] = value;
}

/* Adds the product of the numbers up to the end of the array. False when the text is broken. */
static bool take_nested(rs_json_reader *r, shape *s)
{
    int64_t product = 1, value;
    s->nested = true;
    for (;;) {
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ARRAY_END) break;
        if (t == RS_JSON_T_ARRAY) { /* deeper lists do not occur */
            s->wrong = true;
            if (!rs_json_leave(r)) return false;
        } else if (t != RS_JSON_T_NUMBER) {
            return false;
        } else if (!rs_json_int(r->text.bytes, r->text.length, &value) || value < 0 ||
                   __builtin_mul_overflow(product, value, &product)) {
            s->wrong = true;
        }
    }
    if (__builtin_add_overflow(s->elements, product, &s->elements)) s->wrong = true;
    return true;
}

/* Behind the opening bracket of one argument's shape. */
static bool take_shape(rs_json_reader *r, shape *s)
{
    *s = (shape){.n = 0};
    for (;;) {
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ARRAY_END) return true;
        if (t == RS_JSON_T_NUMBER)
            take_number(s, &r->text);
        else if (t != RS_JSON_T_ARRAY || !take_nested(r, s))
            return false;
    }
}

static const int64_t *keep(rs_arena *arena, const shape *s)
{
    int64_t *copy = rs_arena_alloc(arena, (s->n + 1) * sizeof *copy);
    if (copy && s->n) memcpy(copy, s->values, s->n * sizeof *copy);
    return copy;
}

static bool store_dims(argument_list *list, size_t i, const shape *s)
{
    rs_argument *a = argument_at(list, i);
    if (!a) return false;
    a->list = s->nested;
    a->list_elements = s->elements;
    a->wrong = s->wrong;
    if (s->nested || s->wrong) return true;
    for (size_t k = 0; k < s->n; k++) a->wrong |= s->values[k] < 0;
    a->n_dims = (uint8_t)s->n;
    return (a->dims = keep(list->arena, s)) != NULL;
}

static bool store_strides(argument_list *list, size_t i, const shape *s)
{
    rs_argument *a = argument_at(list, i);
    if (!a) return false;
    if (s->nested || s->wrong || s->n == 0 || s->n != a->n_dims) return true;
    return (a->stride = keep(list->arena, s)) != NULL;
}

/* One list of shapes; dims first, strides after them. False when out of memory. */
static bool read_shapes(argument_list *list, const char *text,
                        bool (*store)(argument_list *, size_t, const shape *))
{
    rs_json_reader r;
    shape s;
    if (!open_array(&r, text)) return true;
    for (size_t i = 0; i < MAX_ARGUMENTS; i++) {
        rs_json_token t = rs_json_next(&r);
        if (t == RS_JSON_T_ARRAY_END || t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return true;
        if (t == RS_JSON_T_OBJECT) return true;
        if (t != RS_JSON_T_ARRAY) s = (shape){.n = 0};
        if (t == RS_JSON_T_ARRAY && !take_shape(&r, &s)) return true;
        if (!store(list, i, &s)) return false;
    }
    return true;
}

/* Decoded, in the arena. */
static const char *decode(argument_list *list, const rs_json_text *text, size_t *length)
{
    char *copy = rs_arena_alloc(list->arena, 3 * text->length + 1);
    if (copy) *length = rs_json_decode(text->bytes, text->length, copy, NULL);
    return copy;
}

static bool read_texts(argument_list *list, const char *text, bool values)
{
    rs_json_reader r;
    if (!open_array(&r, text)) return true;
    for (size_t i = 0; i < MAX_ARGUMENTS; i++) {
        rs_json_token t = rs_json_next(&r);
        if (t == RS_JSON_T_ARRAY_END || t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return true;
        rs_argument *a = argument_at(list, i);
        if (!a) return false;
        if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) {
            if (!rs_json_leave(&r)) return true;
        } else if (t == RS_JSON_T_STRING || t == RS_JSON_T_NUMBER) {
            size_t length = 0;
            const char *word = decode(list, &r.text, &length);
            if (!word) return false;
            if (values)
                a->value = word, a->value_length = length;
            else
                a->type = rs_dtype_of_name(word, length);
        }
    }
    return true;
}

rs_status rs_op_arguments_read(const rs_argument_texts *texts, rs_arena *arena, rs_op_arguments *out,
                               rs_error *err)
{
    argument_list list = {.arena = arena};
    rs_json_reader r;
    *out = (rs_op_arguments){.has_values = open_array(&r, texts->concrete)};
    bool ok = read_shapes(&list, texts->dims, store_dims) &&
              read_shapes(&list, texts->strides, store_strides) && read_texts(&list, texts->types, false) &&
              read_texts(&list, texts->concrete, true);
    if (ok && list.n) {
        out->items = rs_arena_alloc(arena, list.n * sizeof *out->items);
        ok = out->items != NULL;
        if (ok) memcpy(out->items, list.items, list.n * sizeof *out->items);
        if (ok) out->n = list.n;
    }
    rs_free(list.items);
    return ok ? RS_OK : rs_fail_nomem(err, "arguments");
}
