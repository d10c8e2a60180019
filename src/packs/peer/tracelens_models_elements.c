/* TraceLens' models of everything that is no contraction: element by element, reductions, normalisation, and
 * the rest. */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "peer/tracelens_arguments.h"

static void vector(rs_tl_ask *ask, const char *type)
{
    ask->out->unit = "vector";
    ask->out->precision = rs_tl_precision(type);
}

/* ---- element by element -------------------------------------------------------------------------------- */

static void put_stride_or_none(rs_tl_ask *ask, const char *name, size_t at, bool known)
{
    if (known)
        rs_tl_put_stride(ask, name, at);
    else
        rs_tl_put_none(ask, name);
}

static void unary(rs_tl_ask *ask)
{
    rs_tl_list x = rs_tl_shape(ask, 0);
    const char *types[2] = {rs_tl_type(ask, 0), NULL};
    bool two = ask->a->n_dims > 1 && (ask->a->dims[1].n > 0 || ask->a->dims[1].nested);
    if (two) types[1] = rs_tl_type(ask, 1);
    if (!ask->a->has_strides) ask->bad = true;
    rs_tl_put_tuple(ask, "op_shape", x);
    rs_tl_put_types(ask, "dtype_in_out", types, 2);
    rs_tl_put_stride(ask, "stride_input", 0);
    put_stride_or_none(ask, "stride_output", 1, two);
    if (ask->backward) ask->undefined = true;
    double n = rs_tl_product(x.items, x.n), in = rs_tl_size(types[0]);
    ask->out->flops = n;
    ask->out->bytes = n * in + n * (types[1] ? rs_tl_size(types[1]) : in);
    vector(ask, types[0]);
}

/* Upsampling to the nearest: sizes of the result are in argument 1. */
static void upsample(rs_tl_ask *ask)
{
    rs_tl_list x = rs_tl_shape(ask, 0);
    const char *types[2] = {rs_tl_type(ask, 0), rs_tl_type(ask, 0)};
    int64_t out[8];
    rs_tl_text size = rs_tl_concrete(ask, 1);
    size_t n = ask->bad ? 0 : rs_tl_numbers(ask, size, out + 2, 6);
    if (x.n < 3 || n + 2 != x.n) ask->bad = true;
    if (ask->bad) return;
    memcpy(out, x.items, 2 * sizeof *out);
    rs_tl_list result = {out, x.n, false};
    rs_tl_put_tuple(ask, "input_shape", x);
    rs_tl_put_tuple(ask, "output_shape", result);
    rs_tl_put_tuple(ask, "op_shape", result);
    rs_tl_put_types(ask, "dtype_in_out", types, 2);
    rs_tl_put_stride(ask, "stride_input", 0);
    rs_tl_put_none(ask, "stride_output");
    if (ask->backward) ask->undefined = true;
    ask->out->flops = rs_tl_product(out, x.n);
    ask->out->bytes = (rs_tl_product(x.items, x.n) + ask->out->flops) * rs_tl_size(types[0]);
    vector(ask, types[0]);
}

/* Elements of the broadcast shape. */
static double broadcast(rs_tl_ask *ask, rs_tl_list a, rs_tl_list b)
{
    double product = 1;
    size_t n = a.n > b.n ? a.n : b.n;
    for (size_t i = 0; i < n; i++) {
        int64_t x = i < a.n ? a.items[a.n - 1 - i] : 1, y = i < b.n ? b.items[b.n - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) ask->bad = true;
        product *= (double)(x > y ? x : y);
    }
    return product;
}

static void binary(rs_tl_ask *ask)
{
    rs_tl_list a = rs_tl_shape(ask, 0), b = rs_tl_shape(ask, 1);
    const char *types[3] = {rs_tl_type(ask, 0), rs_tl_type(ask, 1), NULL};
    bool three =
        ask->model->p[0] == 0 && ask->a->n_dims > 2 && (ask->a->dims[2].n > 0 || ask->a->dims[2].nested);
    if (three) types[2] = rs_tl_type(ask, 2);
    if (!ask->a->has_strides) ask->bad = true;
    rs_tl_put_tuple(ask, "shape_in1", a);
    rs_tl_put_tuple(ask, "shape_in2", b);
    rs_tl_put_types(ask, "dtype_in1_in2_out", types, 3);
    rs_tl_put_stride(ask, "stride_input1", 0);
    rs_tl_put_stride(ask, "stride_input2", 1);
    put_stride_or_none(ask, "stride_output", 2, three);
    if (ask->backward) ask->undefined = true;
    double x = rs_tl_size(types[0]), y = rs_tl_size(types[1]);
    double out = types[2] ? rs_tl_size(types[2]) : a.n && b.n ? (x > y ? x : y) : x;
    ask->out->flops = broadcast(ask, a, b);
    ask->out->bytes =
        rs_tl_product(a.items, a.n) * x + rs_tl_product(b.items, b.n) * y + ask->out->flops * out;
    vector(ask, types[0]);
}

/* ---- reductions ---------------------------------------------------------------------------------------- */

/* The dimensions are in the trace as texts, which TraceLens skips: the result is one element. */
static void reduce(rs_tl_ask *ask)
{
    const char *name = ask->model->name;
    rs_tl_list x = rs_tl_shape(ask, 0);
    const char *types[2] = {ask->a->n_types ? ask->a->types[0].text : NULL, NULL};
    bool all = strstr(name, "cumsum") || strstr(name, "cumprod");
    double n = rs_tl_product(x.items, x.n), out = all ? n : 1;
    if (n > 9e15) ask->bad = true;
    if (ask->bad) return;
    rs_tl_put_whole(ask, "num_input_elems", rs_int_of(n));
    rs_tl_put_whole(ask, "num_output_elems", rs_int_of(out));
    rs_tl_put_types(ask, "dtype_in_out", types, 2);
    rs_tl_put_word(ask, "reduce_type",
                   strstr(name, "mean")   ? "mean"
                   : strstr(name, "max")  ? "max"
                   : strstr(name, "min")  ? "min"
                   : strstr(name, "norm") ? "norm"
                                          : "sum");
    ask->out->flops = n;
    ask->out->bytes = types[0] && types[0][0] ? (n + out) * rs_tl_size(types[0]) : (double)NAN;
    vector(ask, types[0] ? types[0] : "");
}

/* ---- normalisation ------------------------------------------------------------------------------------- */

typedef struct norm {
    rs_tl_list shape;
    const char *type;
    size_t at; /* of the input */
    double channels;
    bool whole_channels; /* they are a whole number in Python */
    bool bias, affine, training;
    bool mask[3];
    size_t n_mask; /* 0: the sheet has no mask for it */
} norm;

/* "[True, False]" */
static size_t read_mask(rs_tl_ask *ask, size_t at, bool *mask)
{
    rs_tl_text text = rs_tl_concrete(ask, at);
    size_t n = 0;
    const char *p = text.text;
    if (*p++ != '[') ask->bad = true;
    while (!ask->bad && *p && *p != ']') {
        bool yes = strncmp(p, "True", 4) == 0, no = strncmp(p, "False", 5) == 0;
        if ((!yes && !no) || n == 3) {
            ask->bad = true;
            break;
        }
        mask[n++] = yes;
        p += yes ? 4 : 5;
        while (*p == ',' || *p == ' ') p++;
    }
    return ask->bad ? 0 : n;
}

static void begin_norm(rs_tl_ask *ask, size_t at, norm *m)
{
    *m = (norm){.shape = rs_tl_shape(ask, at), .type = rs_tl_type(ask, at), .at = at, .whole_channels = true};
    if (!ask->a->has_strides) ask->bad = true;
}

static void channels_of_shape(rs_tl_ask *ask, norm *m)
{
    if (m->shape.n < 2)
        ask->bad = true;
    else
        m->channels = (double)m->shape.items[1];
}

static void channels_of_list(rs_tl_ask *ask, size_t at, norm *m)
{
    int64_t sizes[16];
    rs_tl_text text = rs_tl_concrete(ask, at);
    size_t n = ask->bad ? 0 : rs_tl_numbers(ask, text, sizes, 16);
    m->channels = rs_tl_product(sizes, n);
}

static void put_norm(rs_tl_ask *ask, const norm *m)
{
    const char *types[2] = {m->type, NULL};
    rs_tl_put_tuple(ask, "op_shape", m->shape);
    rs_tl_put_types(ask, "dtype_in_out", types, 2);
    rs_tl_put_stride(ask, "stride_input", m->at);
    rs_tl_put_none(ask, "stride_output");
    if (m->whole_channels && m->channels < 9e15)
        rs_tl_put_whole(ask, "num_channels", rs_int_of(m->channels));
    else
        rs_tl_put_real(ask, "num_channels", m->channels);
    rs_tl_put_truth(ask, "has_bias", m->bias);
    rs_tl_put_truth(ask, "is_affine", m->affine);
    rs_tl_put_truth(ask, "is_training", m->training);
    rs_text text = {0};
    for (size_t i = 0; i < m->n_mask; i++) {
        rs_text_put(&text, i ? ", " : "[");
        rs_python_put_bool(&text, m->mask[i]);
    }
    if (m->n_mask == 0) return;
    rs_text_put(&text, "]");
    rs_tl_put_python(ask, "output_mask", &text);
}

/* A type without a known size makes Python multiply None. */
static double size_of(rs_tl_ask *ask, const norm *m)
{
    double size = rs_tl_size(m->type);
    if (isnan(size)) ask->bad = true;
    return size;
}

static void answer_norm(rs_tl_ask *ask, const norm *m)
{
    double n = rs_tl_product(m->shape.items, m->shape.n), c = m->channels, size = size_of(ask, m);
    double tensors = 2 + (m->affine ? 1 + (m->bias ? 1 : 0) : 0) + (m->training ? 2 : 0);
    put_norm(ask, m);
    if (ask->backward) ask->undefined = true;
    ask->out->flops = 3 * c + (m->training ? 3 * n : 0) + 3 * c + 2 * n;
    ask->out->bytes = 2 * n * size + tensors * c * size;
    vector(ask, m->type);
}

static void answer_norm_backward(rs_tl_ask *ask, const norm *m)
{
    double n = rs_tl_product(m->shape.items, m->shape.n), c = m->channels, size = size_of(ask, m);
    double each = n / c, flops = (m->training ? 0 : 3) + 4 * each;
    bool first = m->n_mask && m->mask[0];
    if (c == 0 || m->n_mask == 0) ask->bad = true;
    put_norm(ask, m);
    flops += first ? (m->training ? 5 * each : 0) : 2 * each;
    double bytes = n * size + n * size * (first && m->training ? 2 : 1) + (m->training ? c * size : 0);
    if (m->affine) bytes += c * size + (m->training ? c * size * (m->bias ? 2 : 1) : 0);
    ask->out->flops = c * flops;
    ask->out->bytes = bytes;
    vector(ask, m->type);
}

static bool has_dims(rs_tl_ask *ask, size_t at)
{
    if (at >= ask->a->n_dims) ask->bad = true;
    return true;
}

/* bool() of a text: "False" is true. */
static bool is_not_empty(rs_tl_ask *ask, size_t at)
{
    return rs_tl_concrete(ask, at).length > 0;
}

static void batch_norm(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 0, &m);
    m.bias = true;
    m.affine = has_dims(ask, 2);
    m.training = is_not_empty(ask, 5);
    channels_of_shape(ask, &m);
    if (!ask->bad) answer_norm(ask, &m);
}

static void layer_norm(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 0, &m);
    m.affine = has_dims(ask, 2);
    m.bias = has_dims(ask, 3);
    m.training = true;
    channels_of_list(ask, 1, &m);
    if (!ask->bad) answer_norm(ask, &m);
}

static void group_norm(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 0, &m);
    m.bias = m.training = true;
    m.affine = has_dims(ask, 2);
    channels_of_shape(ask, &m);
    if (!ask->bad) answer_norm(ask, &m);
}

static void batch_norm_backward(rs_tl_ask *ask)
{
    norm m;
    bool vendor = ask->model->p[0] != 0;
    begin_norm(ask, vendor ? 0 : 1, &m);
    m.bias = m.mask[0] = true;
    m.n_mask = 1;
    m.training = !vendor && is_not_empty(ask, 7);
    m.affine = has_dims(ask, 2);
    channels_of_shape(ask, &m);
    if (!ask->bad) answer_norm_backward(ask, &m);
}

static void layer_norm_backward(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 1, &m);
    channels_of_list(ask, 2, &m);
    m.n_mask = read_mask(ask, 7, m.mask);
    if (m.n_mask < 3) ask->bad = true;
    m.affine = m.mask[1];
    m.bias = m.mask[2];
    m.training = true;
    if (!ask->bad) answer_norm_backward(ask, &m);
}

static void group_norm_backward(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 1, &m);
    m.n_mask = read_mask(ask, 9, m.mask);
    m.bias = m.training = true;
    m.affine = has_dims(ask, 5);
    channels_of_shape(ask, &m);
    int64_t groups = rs_tl_whole(ask, rs_tl_concrete(ask, 8));
    if (ask->bad || groups == 0) {
        ask->bad = true;
        return;
    }
    m.channels /= (double)groups;
    m.whole_channels = false;
    answer_norm_backward(ask, &m);
}

static void undefined_norm(rs_tl_ask *ask)
{
    ask->undefined = true;
}

static void rms_norm(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 0, &m);
    m.affine = has_dims(ask, 2);
    channels_of_list(ask, 1, &m);
    double n = rs_tl_product(m.shape.items, m.shape.n), c = m.channels, size = size_of(ask, &m);
    if (c == 0) ask->bad = true;
    if (ask->bad) return;
    put_norm(ask, &m);
    if (ask->backward) ask->undefined = true;
    ask->out->flops = n / c * (2 * c + 2) + n * 2;
    ask->out->bytes = 2 * n * size + c * size;
    vector(ask, m.type);
}

static void rms_norm_backward(rs_tl_ask *ask)
{
    norm m;
    begin_norm(ask, 1, &m);
    m.affine = has_dims(ask, 4);
    channels_of_list(ask, 2, &m);
    m.n_mask = read_mask(ask, 5, m.mask);
    double n = rs_tl_product(m.shape.items, m.shape.n), c = m.channels, size = size_of(ask, &m);
    if (c == 0 || m.n_mask < 2) ask->bad = true;
    if (ask->bad) return;
    put_norm(ask, &m);
    ask->out->flops = 2 * n + (m.mask[0] ? 6 * n : 0) + (m.mask[1] ? n + (n / c > 1 ? n : 0) : 0);
    ask->out->bytes = 3 * n * size + 2 * c * size;
    vector(ask, m.type);
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

/* 2 where the type is not known. */
static double size_or_two(rs_tl_ask *ask)
{
    double size = ask->a->n_types ? rs_tl_size(ask->a->types[0].text) : 2;
    return isnan(size) ? 2 : size;
}

static const char *first_type(rs_tl_ask *ask)
{
    return ask->a->n_types ? ask->a->types[0].text : "";
}

static void causal_conv1d(rs_tl_ask *ask)
{
    rs_tl_list x = rs_tl_shape(ask, 0), w = rs_tl_shape(ask, 1);
    if (x.n < 3 || w.n < 2) ask->bad = true;
    if (ask->bad) return;
    bool bias = ask->a->n_dims > 2 && (ask->a->dims[2].n || ask->a->dims[2].nested);
    double size = size_or_two(ask), n = rs_tl_product(x.items, 3), c = (double)x.items[1],
           k = (double)w.items[1];
    rs_tl_put_whole(ask, "batch", x.items[0]);
    rs_tl_put_whole(ask, "channels", x.items[1]);
    rs_tl_put_whole(ask, "seq_len", x.items[2]);
    rs_tl_put_whole(ask, "kernel_size", w.items[1]);
    rs_tl_put_truth(ask, "has_bias", bias);
    if (ask->backward) ask->bad = true;
    ask->out->flops = 2 * n * k;
    ask->out->bytes = (2 * n + c * k + (bias ? c : 0)) * size;
    ask->out->unit = "matrix";
    ask->out->precision = rs_tl_precision(first_type(ask));
}

static void rope(rs_tl_ask *ask)
{
    rs_tl_list x = rs_tl_shape(ask, 0);
    double n = rs_tl_product(x.items, x.n);
    if (x.n < 4 || n > 9e15 || ask->backward) ask->bad = true;
    if (ask->bad) return;
    rs_tl_put_whole(ask, "seq_len", x.items[0]);
    rs_tl_put_whole(ask, "batch", x.items[1]);
    rs_tl_put_whole(ask, "heads", x.items[2]);
    rs_tl_put_whole(ask, "head_dim", x.items[3]);
    rs_tl_put_whole(ask, "num_elements", rs_int_of(n));
    ask->out->flops = 3 * n;
    ask->out->bytes = 2 * n * size_or_two(ask);
    vector(ask, first_type(ask));
}

static void cross_entropy(rs_tl_ask *ask)
{
    rs_tl_list x = rs_tl_shape(ask, 0);
    if (x.n == 0 || ask->backward) ask->bad = true;
    if (ask->bad) return;
    double batch = (double)x.items[0];
    rs_text text = {0};
    rs_tl_put_whole(ask, "batch", x.items[0]);
    rs_tl_put_whole(ask, "vocab_size", x.items[x.n - 1]);
    rs_text_put(&text, "[");
    for (size_t i = 0; i < x.n; i++) {
        if (i) rs_text_put(&text, ", ");
        rs_python_put_int(&text, x.items[i]);
    }
    rs_text_put(&text, "]");
    rs_tl_put_python(ask, "logits_shape", &text);
    ask->out->flops = 5 * batch * (double)x.items[x.n - 1];
    ask->out->bytes = rs_tl_product(x.items, x.n) * size_or_two(ask) + batch * 12;
    vector(ask, first_type(ask));
}

/* Tokens sent or gathered: no arithmetic. */
static void moe_comm(rs_tl_ask *ask)
{
    rs_tl_list x = rs_tl_shape(ask, 0);
    double size =
        ask->a->n_types && ask->a->types[0].length ? rs_tl_size(ask->a->types[0].text) : (double)NAN;
    if (x.n < 2) ask->bad = true;
    if (ask->bad) return;
    rs_tl_put_whole(ask, "num_tokens", x.items[0]);
    rs_tl_put_whole(ask, "hidden_dim", x.items[1]);
    if (isnan(size))
        rs_tl_put_none(ask, "bpe");
    else
        rs_tl_put_whole(ask, "bpe", rs_int_of(size));
    ask->out->flops = 0;
    ask->out->bytes = (double)x.items[0] * (double)x.items[1] * size;
}

#define UNARY(name)                                                                                          \
    {                                                                                                        \
        name, "UnaryElementwise", unary,                                                                     \
        {                                                                                                    \
            0                                                                                                \
        }                                                                                                    \
    }
#define BINARY(name)                                                                                         \
    {                                                                                                        \
        name, "BinaryElementwise", binary,                                                                   \
        {                                                                                                    \
            0                                                                                                \
        }                                                                                                    \
    }
#define NORM(name, answer)                                                                                   \
    {                                                                                                        \
        name, "Normalization", answer,                                                                       \
        {                                                                                                    \
            0                                                                                                \
        }                                                                                                    \
    }
#define REDUCE(name)                                                                                         \
    {                                                                                                        \
        name, "Reduce", reduce,                                                                              \
        {                                                                                                    \
            0                                                                                                \
        }                                                                                                    \
    }

const rs_tl_model rs_tl_models_elements[] = {
    {"LigerSiLUMulFunction", "BinaryElementwise", binary, {1}},
    {"MoEDispatch", "MoE_comm", moe_comm, {0}},
    {"MoECombine", "MoE_comm", moe_comm, {0}},
    {"DaoAILab::_causal_conv1d_fwd_cpp", "SSM", causal_conv1d, {0}},
    {"FusedRoPEFunc", "RoPE", rope, {0}},
    {"CrossEntropyFunction", "CrossEntropy", cross_entropy, {0}},
    UNARY("aten::copy"),
    UNARY("aten::copy_"),
    UNARY("aten::clamp_min"),
    UNARY("aten::clamp_min_"),
    UNARY("aten::clamp_max"),
    UNARY("aten::clamp_max_"),
    UNARY("aten::sigmoid"),
    UNARY("aten::rsqrt"),
    UNARY("aten::silu"),
    UNARY("aten::neg"),
    UNARY("aten::pow"),
    {"aten::upsample_nearest1d", "UnaryElementwise", upsample, {0}},
    {"aten::upsample_nearest2d", "UnaryElementwise", upsample, {0}},
    {"aten::upsample_nearest3d", "UnaryElementwise", upsample, {0}},
    BINARY("aten::div"),
    BINARY("aten::div_"),
    BINARY("aten::mul"),
    BINARY("aten::mul_"),
    BINARY("aten::add"),
    BINARY("aten::add_"),
    BINARY("aten::sigmoid_backward"),
    BINARY("aten::threshold_backward"),
    NORM("aten::batch_norm", batch_norm),
    NORM("aten::native_batch_norm", batch_norm),
    NORM("aten::miopen_batch_norm", batch_norm),
    NORM("aten::cudnn_batch_norm", batch_norm),
    NORM("aten::layer_norm", layer_norm),
    NORM("aten::native_layer_norm", layer_norm),
    NORM("aten::miopen_layer_norm", layer_norm),
    NORM("aten::cudnn_layer_norm", layer_norm),
    NORM("aten::group_norm", group_norm),
    NORM("aten::native_group_norm", group_norm),
    NORM("aten::miopen_group_norm", group_norm),
    NORM("aten::cudnn_group_norm", group_norm),
    NORM("aten::instance_norm", batch_norm),
    NORM("aten::native_instance_norm", batch_norm),
    NORM("aten::miopen_instance_norm", batch_norm),
    NORM("aten::cudnn_instance_norm", batch_norm),
    NORM("aten::_fused_rms_norm", rms_norm),
    NORM("aten::batch_norm_backward", batch_norm_backward),
    NORM("aten::native_batch_norm_backward", batch_norm_backward),
    {"aten::miopen_batch_norm_backward", "Normalization", batch_norm_backward, {1}},
    {"aten::cudnn_batch_norm_backward", "Normalization", batch_norm_backward, {1}},
    NORM("aten::layer_norm_backward", layer_norm_backward),
    NORM("aten::native_layer_norm_backward", layer_norm_backward),
    NORM("aten::miopen_layer_norm_backward", layer_norm_backward),
    NORM("aten::cudnn_layer_norm_backward", layer_norm_backward),
    NORM("aten::group_norm_backward", group_norm_backward),
    NORM("aten::native_group_norm_backward", group_norm_backward),
    NORM("aten::miopen_group_norm_backward", group_norm_backward),
    NORM("aten::cudnn_group_norm_backward", group_norm_backward),
    NORM("aten::instance_norm_backward", undefined_norm),
    NORM("aten::native_instance_norm_backward", undefined_norm),
    NORM("aten::miopen_instance_norm_backward", undefined_norm),
    NORM("aten::cudnn_instance_norm_backward", undefined_norm),
    NORM("aten::rms_norm_backward", rms_norm_backward),
    NORM("aten::native_rms_norm_backward", rms_norm_backward),
    NORM("aten::miopen_rms_norm_backward", rms_norm_backward),
    NORM("aten::cudnn_rms_norm_backward", rms_norm_backward),
    NORM("aten::_fused_rms_norm_backward", rms_norm_backward),
    REDUCE("aten::sum"),
    REDUCE("aten::mean"),
    REDUCE("aten::max"),
    REDUCE("aten::min"),
    REDUCE("aten::norm"),
    REDUCE("aten::linalg_norm"),
    REDUCE("aten::std"),
    REDUCE("aten::var"),
    REDUCE("aten::logsumexp"),
    REDUCE("aten::cumsum"),
    REDUCE("aten::cumprod"),
    REDUCE("aten::amin"),
    REDUCE("aten::amax"),
    {NULL, NULL, NULL, {0}},
};
