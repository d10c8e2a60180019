/* The table of models, and what the families share. */
#include "perf/models.h"

#include <string.h>

#include "input/json.h"
#include "perf/models_internal.h"

static const rs_model_row *const families[] = {rs_models_matrix, rs_models_attention, rs_models_elements,
                                               rs_models_layers, rs_models_serving};
#define N_FAMILIES (sizeof families / sizeof *families)
/* A model's number: family times this, and its place there. */
#define FAMILY_ROOM 1024

static const rs_model_row *row_of(uint16_t model)
{
    return &families[model / FAMILY_ROOM][model % FAMILY_ROOM];
}

static bool fits(const rs_model_row *row, const char *name, size_t length)
{
    size_t n = strlen(row->name);
    if (strncmp(row->name, name, n) != 0) return false;
    if (length == n || (row->flags & RS_MODEL_PREFIX)) return true;
    return (row->flags & RS_MODEL_IN_PLACE) && length == n + 1 && name[n] == '_';
}

uint16_t rs_model_find(const char *name)
{
    size_t length = strlen(name);
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (size_t i = 0; families[f][i].name; i++)
            if (fits(&families[f][i], name, length)) return (uint16_t)(f * FAMILY_ROOM + i);
    return RS_NO_MODEL;
}

bool rs_model_is_fallback(uint16_t model)
{
    return row_of(model)->flags & RS_MODEL_FALLBACK;
}

bool rs_model_asks_batch(uint16_t model)
{
    return row_of(model)->flags & RS_MODEL_BATCH;
}

uint16_t rs_model_backward(uint16_t forward)
{
    const char *name = row_of(forward)->backward;
    return name ? rs_model_find(name) : RS_NO_MODEL;
}

size_t rs_forward_name(const char *name, size_t length)
{
    static const char suffix[] = "Backward";
    while (length && name[length - 1] >= '0' && name[length - 1] <= '9') length--;
    if (length <= sizeof suffix - 1) return 0;
    length -= sizeof suffix - 1;
    return memcmp(name + length, suffix, sizeof suffix - 1) == 0 ? length : 0;
}

rs_model rs_model_answer(uint16_t model, bool in_place, const rs_op_arguments *arguments)
{
    const rs_model_row *row = row_of(model);
    rs_model out = {.family = row->family, .has_flops = true, .has_bytes = true};
    rs_ask ask = {.row = row, .a = arguments, .out = &out, .in_place = in_place};
    row->answer(&ask);
    if (ask.bad) return (rs_model){.family = NULL};
    return out;
}

/* ---- numbers that may be too large --------------------------------------------------------------------- */

int64_t rs_times(rs_ask *ask, int64_t a, int64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    ask->bad = true;
    return 0;
}

static void add_to(rs_ask *ask, int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) ask->bad = true;
}

void rs_add_bytes(rs_ask *ask, int64_t bytes)
{
    add_to(ask, &ask->out->bytes, bytes);
}

void rs_add_matrix(rs_ask *ask, int64_t flops)
{
    add_to(ask, &ask->out->matrix, flops);
}

void rs_add_vector(rs_ask *ask, int64_t flops)
{
    add_to(ask, &ask->out->vector, flops);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

bool rs_is_tensor(const rs_ask *ask, int i)
{
    return i >= 0 && (size_t)i < ask->a->n && ask->a->items[i].type != RS_NO_DTYPE;
}

bool rs_is_present(const rs_ask *ask, int i)
{
    return rs_is_tensor(ask, i) && ask->a->items[i].n_dims > 0;
}

const rs_argument *rs_need(rs_ask *ask, int i, unsigned n_dims)
{
    static const int64_t zeros[RS_MAX_DIMS];
    static const rs_argument nothing = {.n_dims = RS_MAX_DIMS, .dims = zeros, .value = ""};
    if (rs_is_present(ask, i) && !ask->a->items[i].wrong && (!n_dims || ask->a->items[i].n_dims == n_dims))
        return &ask->a->items[i];
    ask->bad = true;
    return &nothing;
}

int64_t rs_elements(rs_ask *ask, const rs_argument *x)
{
    int64_t n = 1;
    if (x->wrong) ask->bad = true;
    if (x->wrong) return 0;
    for (size_t i = 0; i < x->n_dims; i++)
        if (x->dims[i] == 0) return 0;
    for (size_t i = 0; i < x->n_dims; i++) n = rs_times(ask, n, x->dims[i]);
    return n;
}

int64_t rs_bytes_of(rs_ask *ask, const rs_argument *x)
{
    int64_t n = rs_dtype_bytes(x->type);
    if (x->wrong || x->list) ask->bad = true;
    if (x->wrong || x->list) return 0;
    for (size_t i = 0; i < x->n_dims; i++)
        if (x->dims[i] == 0) return 0;
    for (size_t i = 0; i < x->n_dims; i++)
        if (!x->stride || x->stride[i] != 0) n = rs_times(ask, n, x->dims[i]);
    return n;
}

void rs_add_operand(rs_ask *ask, int i)
{
    if (rs_is_tensor(ask, i)) rs_add_bytes(ask, rs_bytes_of(ask, &ask->a->items[i]));
}

void rs_add_all_operands(rs_ask *ask)
{
    for (size_t i = 0; i < ask->a->n; i++) rs_add_operand(ask, (int)i);
}

void rs_set_type(rs_ask *ask, rs_dtype type)
{
    ask->out->type = type;
}

void rs_require(rs_ask *ask, bool holds)
{
    if (!holds) ask->bad = true;
}

/* ---- concrete values ----------------------------------------------------------------------------------- */

static const rs_argument *value_at(const rs_ask *ask, int i)
{
    static const rs_argument nothing = {.value = ""};
    return i >= 0 && (size_t)i < ask->a->n ? &ask->a->items[i] : &nothing;
}

bool rs_value_is_empty(const rs_ask *ask, int i)
{
    return value_at(ask, i)->value_length == 0;
}

bool rs_value_is(const rs_ask *ask, int i, const char *word)
{
    const rs_argument *a = value_at(ask, i);
    return a->value_length == strlen(word) && memcmp(a->value, word, a->value_length) == 0;
}

bool rs_value_int(const rs_ask *ask, int i, int64_t *out)
{
    const rs_argument *a = value_at(ask, i);
    return a->value_length && rs_json_int((const uint8_t *)a->value, a->value_length, out);
}

/* The next word of a list: *at moves behind it. */
static bool next_word(const rs_argument *a, size_t *at, const char **word, size_t *length)
{
    while (*at < a->value_length && strchr(" ,[]", a->value[*at])) ++*at;
    *word = a->value + *at;
    *length = 0;
    while (*at < a->value_length && !strchr(" ,[]", a->value[*at])) ++*at, ++*length;
    return *length > 0;
}

int rs_value_list(const rs_ask *ask, int i, int64_t *out, int max)
{
    const rs_argument *a = value_at(ask, i);
    const char *word;
    size_t at = 0, length;
    int n = 0;
    if (!a->value_length) return -1;
    while (next_word(a, &at, &word, &length))
        if (n == max || !rs_json_int((const uint8_t *)word, length, &out[n++])) return -1;
    return n;
}

int rs_value_mask(const rs_ask *ask, int i, bool *out, int max)
{
    const rs_argument *a = value_at(ask, i);
    const char *word;
    size_t at = 0, length;
    int n = 0;
    while (next_word(a, &at, &word, &length)) {
        bool yes = length == 4 && memcmp(word, "True", 4) == 0;
        if (n == max || (!yes && (length != 5 || memcmp(word, "False", 5) != 0))) return -1;
        out[n++] = yes;
    }
    return n ? n : -1;
}

rs_dtype rs_value_type_code(const rs_ask *ask, int i, rs_dtype otherwise)
{
    int64_t code;
    rs_dtype type = rs_value_int(ask, i, &code) ? rs_dtype_of_code(code) : RS_NO_DTYPE;
    return type == RS_NO_DTYPE ? otherwise : type;
}
