/* Element by element, copies, lists of tensors, reductions. */
#include <string.h>

#include "perf/models_internal.h"

/* ---- shapes and types of results ----------------------------------------------------------------------- */

/* The shape that operands broadcast to. */
typedef struct extent_of {
    int64_t dims[RS_MAX_DIMS]; /* from the last one */
    size_t n;
} extent_of;

static void broadcast(rs_ask *ask, extent_of *s, const rs_argument *x)
{
    if (x->wrong || x->list) ask->bad = true;
    if (ask->bad) return;
    for (size_t i = 0; i < x->n_dims; i++) {
        int64_t d = x->dims[x->n_dims - 1u - i];
        if (i >= s->n)
            s->dims[s->n++] = d;
        else if (s->dims[i] == 1)
            s->dims[i] = d;
        else
            rs_require(ask, d == 1 || d == s->dims[i]);
    }
}

static int64_t volume(rs_ask *ask, const extent_of *s)
{
    int64_t n = 1;
    for (size_t i = 0; i < s->n; i++)
        if (s->dims[i] == 0) return 0;
    for (size_t i = 0; i < s->n; i++) n = rs_times(ask, n, s->dims[i]);
    return n;
}

/* A number among the arguments: of its kind the usual type. RS_NO_DTYPE: none is recorded. */
static rs_dtype type_of_number(const rs_argument *a)
{
    if (!a->value_length) return RS_NO_DTYPE;
    if ((a->value_length == 4 && memcmp(a->value, "True", 4) == 0) ||
        (a->value_length == 5 && memcmp(a->value, "False", 5) == 0))
        return rs_dtype_of("bool");
    bool fraction = false;
    for (size_t i = 0; i < a->value_length; i++) {
        if (!strchr("+-.eE0123456789", a->value[i])) return RS_NO_DTYPE;
        fraction |= strchr(".eE", a->value[i]) != NULL;
    }
    return rs_dtype_of(fraction ? "float" : "long int");
}

/* Operands with dimensions decide; those without, and numbers, only where they are of a higher kind. */
static rs_dtype result_type(const rs_ask *ask, int first, int n)
{
    rs_dtype shaped = RS_NO_DTYPE, plain = RS_NO_DTYPE;
    for (int i = first; i < first + n && (size_t)i < ask->a->n; i++) {
        const rs_argument *a = &ask->a->items[i];
        rs_dtype number = type_of_number(a);
        if (rs_is_present(ask, i))
            shaped = rs_dtype_promote(shaped, a->type);
        else if (number != RS_NO_DTYPE)
            plain = rs_dtype_promote(plain, number);
        else if (rs_is_tensor(ask, i))
            plain = rs_dtype_promote(plain, a->type);
    }
    if (shaped == RS_NO_DTYPE) return plain;
    if (plain == RS_NO_DTYPE || rs_dtype_kind(plain) <= rs_dtype_kind(shaped)) return shaped;
    return plain;
}

/* ---- element by element -------------------------------------------------------------------------------- */

/* Places: how many leading arguments are operands, FLOPs a result element, the first operand that counts for
 * the type (a condition does not). */
enum { P_OPERANDS, P_FLOPS, P_FIRST };

static void add_elements(rs_ask *ask, int n_operands, int flops, int first)
{
    extent_of s = {.n = 0};
    for (int i = 0; i < n_operands && (size_t)i < ask->a->n; i++)
        if (rs_is_tensor(ask, i)) broadcast(ask, &s, &ask->a->items[i]);
    int64_t n = volume(ask, &s);
    rs_dtype type = ask->in_place ? ask->a->items[0].type : result_type(ask, first, n_operands - first);
    if (!ask->in_place && (ask->row->flags & RS_MODEL_TO_BOOL)) type = rs_dtype_of("bool");
    if (!ask->in_place && (ask->row->flags & RS_MODEL_TO_FLOAT) && rs_dtype_kind(type) < RS_NUMBER_FLOATING)
        type = rs_dtype_of("float");
    for (int i = 0; i < n_operands; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(type)));
    rs_add_vector(ask, rs_times(ask, n, flops));
    rs_set_type(ask, rs_is_tensor(ask, first) ? ask->a->items[first].type : RS_NO_DTYPE);
}

static void each_element(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    rs_require(ask, rs_is_tensor(ask, 0));
    if (!ask->bad) add_elements(ask, p[P_OPERANDS], p[P_FLOPS], p[P_FIRST]);
}

/* Two FLOPs and a byte of mask an element. */
static void drop_out(rs_ask *ask)
{
    rs_require(ask, rs_is_tensor(ask, 0));
    if (ask->bad) return;
    int64_t n = rs_elements(ask, &ask->a->items[0]);
    add_elements(ask, 1, 2, 0);
    rs_add_bytes(ask, n);
}

/* All tensor arguments once, FLOPs for each element of one of them. Places: that one, FLOPs. */
static void each_once(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, ask->row->p[0], 0);
    if (ask->bad) return;
    rs_add_all_operands(ask);
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, x), ask->row->p[1]));
    rs_set_type(ask, ask->a->items[0].type);
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* Places: how many arguments cross the bus. */
static void copy(rs_ask *ask)
{
    for (int i = 0; i < ask->row->p[0]; i++) {
        rs_require(ask, rs_is_tensor(ask, i));
        rs_add_operand(ask, i);
    }
    if (!ask->bad) rs_set_type(ask, ask->a->items[0].type);
}

/* ---- lists of tensors ---------------------------------------------------------------------------------- */

/* The types of the members are not recorded, so bytes are unknown. Places: FLOPs an element of the first
 * list. */
static void each_list(rs_ask *ask)
{
    rs_require(ask, ask->a->n > 0 && ask->a->items[0].list && !ask->a->items[0].wrong);
    if (ask->bad) return;
    rs_add_vector(ask, rs_times(ask, ask->a->items[0].list_elements, ask->row->p[0]));
    ask->out->has_bytes = false;
}

/* Code that a compiler made. Whether an argument is read, written or both, and what is computed, is not in
 * the trace. */
static void compiled(rs_ask *ask)
{
    bool any = false;
    for (size_t i = 0; i < ask->a->n; i++) {
        if (!rs_is_tensor(ask, (int)i)) continue;
        if (!any) rs_set_type(ask, ask->a->items[i].type);
        any = true;
    }
    rs_require(ask, any);
    rs_add_all_operands(ask);
    ask->out->has_flops = false;
    ask->out->lower = true;
}

/* ---- reductions ---------------------------------------------------------------------------------------- */

typedef enum result_kind { SAME, LONG, TRUTH, WIDENED } result_kind; /* widened: integers become int64 */

/* Places: FLOPs an input element, where the dimensions stand (-1: nowhere), whether as one number, what the
 * result is, where the result's type is told (-1: nowhere), whether as many come out as went in, whether
 * places come out too. */
enum { P_WORK, P_DIMS, P_ONE, P_RESULT, P_CODE, P_SCAN, P_PLACES };

static int64_t keep_dims(rs_ask *ask, const rs_argument *x, const int64_t *dims, int n)
{
    bool gone[RS_MAX_DIMS] = {false};
    int64_t left = 1;
    for (int i = 0; i < n; i++) {
        int64_t d = dims[i] < 0 ? dims[i] + x->n_dims : dims[i];
        if (x->n_dims == 0 && (d == 0 || d == -1)) continue;
        rs_require(ask, d >= 0 && d < x->n_dims);
        if (!ask->bad) gone[d] = true;
    }
    for (size_t i = 0; i < x->n_dims; i++)
        if (n && !gone[i] && x->dims[i] == 0) return 0;
    for (size_t i = 0; i < x->n_dims; i++)
        if (n && !gone[i]) left = rs_times(ask, left, x->dims[i]);
    return left;
}

/* How many dimensions the call reduces; 0: all. */
static int reduced_dims(rs_ask *ask, int64_t *dims)
{
    const int8_t *p = ask->row->p;
    const int place = (int)p[P_DIMS]; /* -1: none */
    if (place < 0 || (size_t)place >= ask->a->n || rs_value_is_empty(ask, place)) return 0;
    if (p[P_ONE]) {
        rs_require(ask, rs_value_int(ask, place, dims));
        return 1;
    }
    const rs_argument *a = &ask->a->items[place];
    bool list = a->value[0] == '[';
    int n = list ? rs_value_list(ask, place, dims, RS_MAX_DIMS) : 0;
    rs_require(ask, n >= 0);
    return n < 0 ? 0 : n;
}

static rs_dtype reduced_type(const rs_ask *ask, rs_dtype type)
{
    const int8_t *p = ask->row->p;
    if (p[P_RESULT] == LONG) return rs_dtype_of("long int");
    if (p[P_RESULT] == TRUTH) return rs_dtype_of("bool");
    rs_dtype otherwise =
        p[P_RESULT] == WIDENED && rs_dtype_kind(type) <= RS_NUMBER_INTEGER ? rs_dtype_of("long int") : type;
    if (p[P_CODE] < 0) return otherwise;
    return rs_value_type_code(ask, ask->a->n == 2 ? 1 : p[P_CODE], otherwise);
}

static void reduce(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    int64_t dims[RS_MAX_DIMS];
    rs_require(ask, rs_is_tensor(ask, 0));
    if (ask->bad) return;
    const rs_argument *x = &ask->a->items[0];
    if (p[P_PLACES] && rs_is_tensor(ask, 1) && rs_value_is_empty(ask, 1)) { /* of two tensors */
        ask->out->family = "elementwise";
        add_elements(ask, 2, 1, 0);
        return;
    }
    int n_dims = reduced_dims(ask, dims);
    int64_t in = rs_elements(ask, x), out = p[P_SCAN] ? in : keep_dims(ask, x, dims, n_dims);
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, in, p[P_WORK]));
    rs_add_bytes(ask, rs_bytes_of(ask, x));
    rs_add_bytes(ask, rs_times(ask, out, rs_dtype_bytes(reduced_type(ask, x->type))));
    if (p[P_PLACES] && n_dims) rs_add_bytes(ask, rs_times(ask, out, 8));
}

/* prod with a dimension has more than two arguments; with two the second is the type. */
static void reduce_product(rs_ask *ask)
{
    static const rs_model_row all = {"aten::prod", "reduce", reduce, 0, {1, -1, 0, WIDENED, -1, 0, 0}, NULL};
    if (ask->a->n <= 2) ask->row = &all;
    reduce(ask);
}

#define UNARY(name)                                                                                          \
    {                                                                                                        \
        "aten::" name, "elementwise", each_element, RS_MODEL_IN_PLACE, {1, 1, 0}, NULL                       \
    }
#define UNARY_FLOAT(name)                                                                                    \
    {                                                                                                        \
        "aten::" name, "elementwise", each_element, RS_MODEL_IN_PLACE | RS_MODEL_TO_FLOAT, {1, 1, 0}, NULL   \
    }
#define BINARY(name)                                                                                         \
    {                                                                                                        \
        "aten::" name, "elementwise", each_element, RS_MODEL_IN_PLACE, {2, 1, 0}, NULL                       \
    }
#define COMPARISON(name)                                                                                     \
    {                                                                                                        \
        "aten::" name, "elementwise", each_element, RS_MODEL_IN_PLACE | RS_MODEL_TO_BOOL, {2, 1, 0}, NULL    \
    }
#define TERNARY(name)                                                                                        \
    {                                                                                                        \
        "aten::" name, "elementwise", each_element, RS_MODEL_IN_PLACE, {3, 3, 0}, NULL                       \
    }
#define FOREACH(name, flops)                                                                                 \
    {                                                                                                        \
        "aten::_foreach_" name, "list", each_list, RS_MODEL_IN_PLACE, {flops}, NULL                          \
    }
#define LIST(name, flops)                                                                                    \
    {                                                                                                        \
        "aten::" name, "list", each_list, RS_MODEL_IN_PLACE, {flops}, NULL                                   \
    }
#define COMPILED(name)                                                                                       \
    {                                                                                                        \
        "triton_" name "_", "triton", compiled, RS_MODEL_PREFIX, {0}, NULL                                   \
    }
#define REDUCE(name, ...)                                                                                    \
    {                                                                                                        \
        "aten::" name, "reduce", reduce, 0, {__VA_ARGS__}, NULL                                              \
    }

/* clang-format off */
const rs_model_row rs_models_elements[] = {
    UNARY("abs"), UNARY("neg"), UNARY_FLOAT("exp"), UNARY_FLOAT("exp2"), UNARY_FLOAT("log"), UNARY_FLOAT("log1p"),
    UNARY_FLOAT("sqrt"), UNARY_FLOAT("rsqrt"), UNARY_FLOAT("reciprocal"), UNARY_FLOAT("sigmoid"),
    UNARY_FLOAT("tanh"), UNARY("relu"), UNARY("silu"), UNARY("gelu"), UNARY_FLOAT("erf"), UNARY_FLOAT("sin"),
    UNARY_FLOAT("cos"), UNARY("floor"), UNARY("ceil"), UNARY("trunc"), UNARY("round"), UNARY("sign"),
    UNARY("square"), UNARY("clamp"), UNARY("clamp_min"), UNARY("clamp_max"), UNARY("hardtanh"),
    UNARY("leaky_relu"), UNARY("mish"), UNARY("softplus"), UNARY("elu"),
    BINARY("add"), BINARY("sub"), BINARY("mul"),
    {"aten::div", "elementwise", each_element, RS_MODEL_IN_PLACE | RS_MODEL_TO_FLOAT, {2, 1, 0}, NULL},
    BINARY("maximum"), BINARY("minimum"), BINARY("pow"), BINARY("atan2"), BINARY("fmod"), BINARY("remainder"),
    BINARY("bitwise_and"), BINARY("bitwise_or"), BINARY("bitwise_xor"), BINARY("bitwise_not"),
    BINARY("bitwise_left_shift"), BINARY("bitwise_right_shift"),
    COMPARISON("logical_and"), COMPARISON("logical_or"), COMPARISON("logical_xor"), COMPARISON("logical_not"),
    COMPARISON("eq"), COMPARISON("ne"), COMPARISON("lt"), COMPARISON("le"), COMPARISON("gt"), COMPARISON("ge"),
    BINARY("threshold_backward"), BINARY("sigmoid_backward"), BINARY("tanh_backward"), BINARY("gelu_backward"),
    BINARY("silu_backward"), BINARY("hardtanh_backward"), BINARY("leaky_relu_backward"), BINARY("elu_backward"),
    TERNARY("addcmul"), TERNARY("addcdiv"), TERNARY("lerp"),
    {"aten::where", "elementwise", each_element, 0, {3, 0, 1}, NULL},
    {"aten::masked_fill_", "elementwise", each_element, 0, {2, 0, 0}, NULL},
    {"aten::native_dropout", "elementwise", drop_out, 0, {0}, NULL},
    {"_C::static_scaled_fp8_quant", "elementwise", each_once, 0, {1, 1}, NULL},
    {"aten::copy_", "copy", copy, 0, {2}, NULL},
    {"aten::fill_", "copy", copy, 0, {1}, NULL},
    {"aten::zero_", "copy", copy, 0, {1}, NULL},
    LIST("cat", 0),
    FOREACH("add", 1), FOREACH("sub", 1), FOREACH("mul", 1), FOREACH("div", 1), FOREACH("sqrt", 1),
    FOREACH("neg", 1), FOREACH("addcmul", 3), FOREACH("addcdiv", 3), FOREACH("lerp", 3), FOREACH("norm", 2),
    FOREACH("copy", 0), FOREACH("zero", 0),
    LIST("_fused_adam", 14), LIST("_fused_adamw", 14), LIST("_fused_sgd", 4),
    COMPILED("poi"), COMPILED("red"), COMPILED("per"), COMPILED("tem"), COMPILED("for"),
    REDUCE("sum", 1, 1, 0, WIDENED, 3, 0, 0), REDUCE("mean", 1, 1, 0, SAME, 3, 0, 0),
    REDUCE("amax", 1, 1, 0, SAME, -1, 0, 0), REDUCE("amin", 1, 1, 0, SAME, -1, 0, 0),
    REDUCE("max", 1, 1, 1, SAME, -1, 0, 1), REDUCE("min", 1, 1, 1, SAME, -1, 0, 1),
    REDUCE("argmax", 1, 1, 1, LONG, -1, 0, 0), REDUCE("argmin", 1, 1, 1, LONG, -1, 0, 0),
    REDUCE("any", 1, 1, 1, TRUTH, -1, 0, 0), REDUCE("all", 1, 1, 1, TRUTH, -1, 0, 0),
    {"aten::prod", "reduce", reduce_product, 0, {1, 1, 1, WIDENED, -1, 0, 0}, NULL},
    REDUCE("std", 4, 1, 0, SAME, -1, 0, 0), REDUCE("var", 4, 1, 0, SAME, -1, 0, 0),
    REDUCE("logsumexp", 4, 1, 0, SAME, -1, 0, 0),
    REDUCE("norm", 2, 2, 0, SAME, -1, 0, 0), REDUCE("linalg_vector_norm", 2, 2, 0, SAME, -1, 0, 0),
    REDUCE("cumsum", 1, -1, 0, WIDENED, -1, 1, 0), REDUCE("cumprod", 1, -1, 0, WIDENED, -1, 1, 0),
    {NULL, NULL, NULL, 0, {0}, NULL},
};
/* clang-format on */
