/* TraceLens' model of kernels that torch.compile generates: what was fused is in the kernel's name
 * (triton_red_fused_add_mean_0), how large it is in the last arguments. */
#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "peer/tracelens_arguments.h"

/* Operators that Inductor fuses. FLOPs an element; TraceLens counts 1 for those that it has no number for, and
 * none for views and copies. Sorted by nothing: the longest match wins. */
typedef struct fused {
    const char *name;
    int flops;
} fused;

static const fused fused_ops[] = {
    {"add", 1},
    {"sub", 1},
    {"mul", 1},
    {"div", 1},
    {"pow", 2},
    {"sqrt", 2},
    {"rsqrt", 2},
    {"exp", 4},
    {"log", 4},
    {"sigmoid", 4},
    {"tanh", 4},
    {"relu", 1},
    {"silu", 4},
    {"gelu", 8},
    {"mean", 1},
    {"sum", 1},
    {"var", 2},
    {"abs", 1},
    {"neg", 1},
    {"reciprocal", 2},
    {"ne", 1},
    {"eq", 1},
    {"lt", 1},
    {"gt", 1},
    {"le", 1},
    {"ge", 1},
    {"where", 1},
    {"minimum", 1},
    {"maximum", 1},
    {"amax", 1},
    {"amin", 1},
    {"argmax", 1},
    {"cos", 1},
    {"sin", 1},
    {"rsub", 1},
    {"clamp", 1},
    {"clamp_min", 1},
    {"clamp_max", 1},
    {"bitwise_and", 1},
    {"bitwise_or", 1},
    {"bitwise_not", 1},
    {"logical_and", 1},
    {"logical_not", 1},
    {"logical_or", 1},
    {"var_mean", 1},
    {"native_layer_norm", 1},
    {"native_layer_norm_backward", 1},
    {"native_group_norm", 1},
    {"native_batch_norm", 1},
    {"_native_batch_norm_legit_functional", 1},
    {"_softmax", 1},
    {"_log_softmax", 1},
    {"_softmax_backward_data", 1},
    {"_log_softmax_backward_data", 1},
    {"nll_loss_forward", 1},
    {"nll_loss_backward", 1},
    {"embedding_dense_backward", 1},
    {"threshold_backward", 1},
    {"gelu_backward", 1},
    {"silu_backward", 1},
    {"sigmoid_backward", 1},
    {"tanh_backward", 1},
    {"native_dropout", 1},
    {"native_dropout_backward", 1},
    {"index", 1},
    {"index_select", 1},
    {"gather", 1},
    {"scatter", 1},
    {"cumsum", 1},
    {"masked_fill", 1},
    {"constant_pad_nd", 1},
    {"arange", 1},
    {"full", 1},
    {"zeros", 1},
    {"ones", 1},
    {"zeros_like", 1},
    {"ones_like", 1},
    {"full_like", 1},
    {"new_zeros", 1},
    {"fill", 1},
    {"isnan", 1},
    {"isinf", 1},
    {"erf", 1},
    {"log1p", 1},
    {"expm1", 1},
    {"floor", 1},
    {"ceil", 1},
    {"round", 1},
    {"sign", 1},
    {"leaky_relu", 1},
    {"hardtanh", 1},
    {"softplus", 1},
    {"elu", 1},
    {"prod", 1},
    {"any", 1},
    {"all", 1},
    {"mm", 1},
    {"addmm", 1},
    {"bmm", 1},
    {"cat", 0},
    {"stack", 0},
    {"embedding", 0},
    {"_to_copy", 0},
    {"copy", 0},
    {"copy_", 0},
    {"clone", 0},
    {"view", 0},
    {"_unsafe_view", 0},
    {"transpose", 0},
    {"t", 0},
    {"permute", 0},
    {"expand", 0},
    {"slice", 0},
    {"select", 0},
    {"split", 0},
    {"split_with_sizes", 0},
    {"squeeze", 0},
    {"unsqueeze", 0},
    {"unbind", 0},
    {"reshape", 0},
    {"alias", 0},
    {"as_strided", 0},
    {"detach", 0},
    {"slice_scatter", 0},
    {"select_scatter", 0},
    {"repeat", 0},
    {"convolution", 1},
    {"convolution_backward", 1},
    {"max_pool2d_with_indices", 1},
};

static const fused *longest(const char *at, const char *end)
{
    const fused *best = NULL;
    size_t length = 0;
    for (size_t i = 0; i < sizeof fused_ops / sizeof *fused_ops; i++) {
        size_t n = strlen(fused_ops[i].name);
        bool fits = n > length && n <= (size_t)(end - at) && memcmp(at, fused_ops[i].name, n) == 0 &&
                    (at + n == end || at[n] == '_');
        if (fits) best = &fused_ops[i], length = n;
    }
    return best;
}

/* "triton_red_fused_add_mean_0": lists "aten.add, aten.mean", and adds up the FLOPs of an element. A word that
 * is no operator known here counts as one of its own. */
static double read_name(const char *name, rs_text *out)
{
    const char *at = strstr(name, "_fused_"), *end = strrchr(name, '_');
    double flops = 0;
    bool first = true;
    if (!at || !end || end <= at + 7) return 0;
    if (!rs_is_digit(end[1])) end = name + strlen(name);
    for (at += 7; at < end;) {
        const fused *op = longest(at, end);
        const char *stop = memchr(at + 1, '_', (size_t)(end - at - 1));
        size_t n = op ? strlen(op->name) : stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (!first) rs_text_put(out, ", ");
        first = false;
        rs_text_put(out, "aten.");
        rs_text_add(out, at, n);
        flops += op ? op->flops : 1;
        at += n;
        if (at < end) at++;
    }
    return flops;
}

/* TraceLens knows the sizes of some types only. */
static double bytes_of(const rs_tl_arguments *a, size_t i)
{
    const char *type = i < a->n_types ? a->types[i].text : "";
    if (strncmp(type, "c10::", 5) != 0) return 0;
    double size = rs_tl_size(type);
    return isnan(size) || a->dims[i].n == 0 ? 0 : rs_tl_product(a->dims[i].items, a->dims[i].n) * size;
}

/* "bfloat16" of "c10::BFloat16": not a name of TraceLens' devices, so there never is a roofline. */
static const char *type_word(rs_tl_ask *ask)
{
    const char *type = ask->a->n_types ? ask->a->types[0].text : "", *colon = strrchr(type, ':');
    const char *word = colon ? colon + 1 : type;
    char *copy = rs_arena_strndup(ask->arena, word, strlen(word));
    if (!copy) ask->no_memory = ask->bad = true;
    for (char *c = copy; c && *c; c++) *c = rs_lower(*c);
    return copy && *copy ? copy : NULL;
}

static void triton(rs_tl_ask *ask)
{
    const rs_tl_arguments *a = ask->a;
    rs_text names = {0};
    bool pointwise = strncmp(ask->call->name, "triton_poi_", 11) == 0;
    int64_t numbers[2] = {0, 1};
    size_t n = a->n_concrete, due = pointwise ? 1 : 2;
    double each = read_name(ask->call->name, &names), bytes = 0;
    if (n < due) ask->bad = true;
    for (size_t i = 0; !ask->bad && i < due; i++) numbers[i] = rs_tl_whole(ask, a->concrete[n - due + i]);
    if (ask->bad) {
        rs_text_clear(&names);
        return;
    }
    for (size_t i = 0; i < a->n_dims; i++) bytes += bytes_of(a, i);
    if (pointwise && a->n_dims) bytes += bytes_of(a, 0); /* written again */
    char *copy = names.failed ? NULL : rs_arena_strndup(ask->arena, names.s ? names.s : "", names.n);
    rs_text_clear(&names);
    if (!copy) ask->no_memory = ask->bad = true;
    rs_tl_put_word(ask, "fused_ops", copy ? copy : "");
    rs_tl_put_whole(ask, "xnumel", numbers[0]);
    rs_tl_put_whole(ask, "rnumel", numbers[1]);
    if (ask->backward) ask->undefined = true;
    ask->out->flops = each * (double)numbers[0] * (double)numbers[1];
    ask->out->bytes = bytes;
    ask->out->unit = "vector";
    ask->out->precision = type_word(ask);
}

const rs_tl_model rs_tl_model_triton = {"triton_", "triton", triton, {0}};
