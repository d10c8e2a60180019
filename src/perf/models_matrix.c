/* Matrix products and convolutions. */
#include "perf/models_internal.h"

/* ---- products ------------------------------------------------------------------------------------------ */

/* Places: a, b, what is added (-1: nothing), dimensions of a and of b, whether the result is int32. */
enum { P_A, P_B, P_ADDED, P_DIMS_A, P_DIMS_B, P_INT32 };

/* 2 MNK of (batch,) M x K by (batch,) K (x N); the result's elements. A vector is a matrix with one row or
 * column. */
static int64_t product(rs_ask *ask, const rs_argument *a, const rs_argument *b, int64_t *k_out)
{
    size_t batched = a->n_dims == 3;
    int64_t batch = batched ? a->dims[0] : 1;
    int64_t m = a->n_dims == 1 ? 1 : a->dims[batched], k = a->dims[a->n_dims - 1];
    int64_t n = b->n_dims == 1 ? 1 : b->dims[batched + 1];
    rs_require(ask, b->dims[batched] == k && (!batched || b->dims[0] == batch));
    *k_out = k;
    return rs_times(ask, rs_times(ask, batch, m), n);
}

static void multiply(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *a = rs_need(ask, p[P_A], (unsigned)p[P_DIMS_A]);
    const rs_argument *b = rs_need(ask, p[P_B], (unsigned)p[P_DIMS_B]);
    int64_t k;
    if (ask->bad) return;
    int64_t n = product(ask, a, b, &k);
    rs_set_type(ask, a->type);
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, n), k));
    rs_add_bytes(ask, rs_bytes_of(ask, a));
    rs_add_bytes(ask, rs_bytes_of(ask, b));
    rs_add_bytes(ask, rs_times(ask, n, p[P_INT32] ? 4 : rs_dtype_bytes(a->type)));
    if (p[P_ADDED] >= 0) {
        rs_add_vector(ask, n);
        rs_add_operand(ask, p[P_ADDED]);
    }
}

/* Two values of fp4 are in one byte, and its shapes count bytes. */
static int64_t depth(rs_ask *ask, const rs_argument *a, int64_t k)
{
    return rs_dtype_precision(a->type) == RS_FP4 ? rs_times(ask, k, 2) : k;
}

/* a, b, scale_a, scale_b, bias, scale_result, out_dtype */
static void multiply_scaled(rs_ask *ask)
{
    const rs_argument *a = rs_need(ask, 0, 2), *b = rs_need(ask, 1, 2);
    int64_t k;
    if (ask->bad) return;
    int64_t n = product(ask, a, b, &k);
    rs_set_type(ask, a->type);
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, n), depth(ask, a, k)));
    for (int i = 0; i < 6; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(rs_value_type_code(ask, 6, a->type))));
    if (rs_is_present(ask, 4)) rs_add_vector(ask, n);
}

/* x, w, bias: as many rows as x has without its last dimension */
static void multiply_linear(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 0), *w = rs_need(ask, 1, 2);
    if (ask->bad) return;
    int64_t k = x->dims[x->n_dims - 1], rows = 1;
    for (size_t i = 0; i + 1 < x->n_dims; i++) rows = rs_times(ask, rows, x->dims[i]);
    rs_require(ask, w->dims[1] == k);
    int64_t n = rs_times(ask, rows, w->dims[0]);
    rs_set_type(ask, x->type);
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, n), k));
    for (int i = 0; i < 3; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(x->type)));
    if (rs_is_present(ask, 2)) rs_add_vector(ask, n);
}

/* Places: offsets, bias, type of the result; whether the result is bf16 when not told. */
enum { P_OFFSETS, P_BIAS, P_OUT, P_BF16 };

/* Each row of a meets the matrix of its group, so the split into groups does not matter. All matrices are
 * counted as read, also those of groups without rows, which the trace does not tell. */
static void multiply_groups(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *a = rs_need(ask, 0, 0), *b = rs_need(ask, 1, 0);
    rs_require(ask, a->n_dims == 2 || a->n_dims == 3);
    rs_require(ask, b->n_dims == 2 || b->n_dims == 3);
    if (ask->bad) return;
    int64_t m = a->dims[a->n_dims - 2], k = a->dims[a->n_dims - 1], n = b->dims[b->n_dims - 1];
    int64_t products = 1, results = 1;
    rs_require(ask, b->dims[b->n_dims - 2] == k);
    if (a->n_dims == 3 && b->n_dims == 3) {
        rs_require(ask, a->dims[0] == b->dims[0]);
        products = results = a->dims[0];
    } else if (a->n_dims == 2 && b->n_dims == 2) {
        /* the groups divide the common dimension: a result each, together the work of one product */
        results = rs_need(ask, p[P_OFFSETS], 1)->dims[0];
    }
    int64_t one = rs_times(ask, m, n), out = rs_times(ask, one, results);
    rs_dtype type = rs_value_type_code(ask, p[P_OUT], p[P_BF16] ? rs_dtype_of("c10::BFloat16") : a->type);
    rs_set_type(ask, a->type);
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, rs_times(ask, one, products)), depth(ask, a, k)));
    for (int i = 0; i <= p[P_BIAS]; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, out, rs_dtype_bytes(type)));
    if (rs_is_present(ask, p[P_BIAS])) rs_add_vector(ask, out);
}

/* ---- convolutions -------------------------------------------------------------------------------------- */

#define MAX_SPACE (RS_MAX_DIMS - 2)

/* A list of one number a dimension of space; one number represents all. */
static void per_dimension(rs_ask *ask, int i, int64_t otherwise, size_t n, int64_t *out)
{
    int found = rs_value_list(ask, i, out, MAX_SPACE);
    if (rs_value_is_empty(ask, i) && otherwise >= 0) {
        for (size_t k = 0; k < n; k++) out[k] = otherwise;
        return;
    }
    if (found == 1)
        for (size_t k = 1; k < n; k++) out[k] = out[0];
    rs_require(ask, found == 1 || (found >= 0 && (size_t)found == n));
    if (ask->bad)
        for (size_t k = 0; k < n; k++) out[k] = 1;
}

/* Places: bias (-1: none), stride, padding, dilation, transposed (-1: never), output padding, groups. */
enum { P_CBIAS, P_STRIDE, P_PADDING, P_DILATION, P_TRANSPOSED, P_OUT_PADDING, P_GROUPS, P_DEFAULTS };

static int64_t extent(rs_ask *ask, int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation, bool transposed, int64_t out_padding)
{
    const int64_t limit = INT64_C(1) << 30; /* keeps what follows in range */
    bool sane = in >= 0 && in < limit && kernel > 0 && kernel < limit && stride > 0 && stride < limit &&
                padding >= 0 && padding < limit && dilation > 0 && dilation < limit && out_padding >= 0 &&
                out_padding < limit;
    rs_require(ask, sane);
    if (!sane) return 0;
    int64_t reach = dilation * (kernel - 1);
    int64_t out =
        transposed ? (in - 1) * stride - 2 * padding + reach + out_padding + 1 : in + 2 * padding - reach - 1;
    rs_require(ask, out >= 0);
    return out < 0 ? 0 : transposed ? out : out / stride + 1;
}

/* Multiplications and additions for each element of the result, or of the input of a transposed one. */
static int64_t weight_of_one(rs_ask *ask, const rs_argument *w)
{
    int64_t n = 2;
    for (size_t i = 1; i < w->n_dims; i++) n = rs_times(ask, n, w->dims[i]);
    return n;
}

static void convolve(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *x = rs_need(ask, 0, 0), *w = rs_need(ask, 1, 0);
    int64_t stride[MAX_SPACE], padding[MAX_SPACE], dilation[MAX_SPACE], extra[MAX_SPACE] = {0}, groups = 1;
    if (ask->bad) return;
    rs_require(ask, w->n_dims > 2 && (x->n_dims == w->n_dims || x->n_dims + 1 == w->n_dims));
    if (ask->bad) return;
    size_t n = w->n_dims - 2u, first = x->n_dims - n; /* of space, and its first dimension in x */
    bool transposed = p[P_TRANSPOSED] >= 0 && rs_value_is(ask, p[P_TRANSPOSED], "True");
    per_dimension(ask, p[P_STRIDE], p[P_DEFAULTS] ? 1 : -1, n, stride);
    per_dimension(ask, p[P_PADDING], p[P_DEFAULTS] ? 0 : -1, n, padding);
    per_dimension(ask, p[P_DILATION], p[P_DEFAULTS] ? 1 : -1, n, dilation);
    if (transposed) per_dimension(ask, p[P_OUT_PADDING], -1, n, extra);
    bool grouped = rs_value_int(ask, p[P_GROUPS], &groups) || p[P_DEFAULTS];
    rs_require(ask, grouped && groups > 0);
    if (ask->bad) return;
    rs_require(ask, x->dims[first - 1] == (transposed ? w->dims[0] : rs_times(ask, w->dims[1], groups)));
    int64_t out = first == 2 ? x->dims[0] : 1;
    out = rs_times(ask, out, transposed ? rs_times(ask, w->dims[1], groups) : w->dims[0]);
    for (size_t i = 0; i < n; i++)
        out = rs_times(ask, out,
                       extent(ask, x->dims[first + i], w->dims[2 + i], stride[i], padding[i], dilation[i],
                              transposed, extra[i]));
    rs_set_type(ask, x->type);
    rs_add_matrix(ask, rs_times(ask, weight_of_one(ask, w), transposed ? rs_elements(ask, x) : out));
    rs_add_bytes(ask, rs_bytes_of(ask, x));
    rs_add_bytes(ask, rs_bytes_of(ask, w));
    rs_add_bytes(ask, rs_times(ask, out, rs_dtype_bytes(x->type)));
    if (p[P_CBIAS] >= 0 && rs_is_present(ask, p[P_CBIAS])) {
        rs_add_vector(ask, out);
        rs_add_operand(ask, p[P_CBIAS]);
    }
}

/* grad, x, w, sizes of the bias, stride, padding, dilation, transposed, output padding, groups, mask. The
 * gradients that the mask asks for are separate kernels, so each reads grad. */
static void convolve_backward(rs_ask *ask)
{
    const rs_argument *grad = rs_need(ask, 0, 0), *x = rs_need(ask, 1, 0), *w = rs_need(ask, 2, 0);
    bool mask[3] = {false};
    rs_require(ask, rs_value_mask(ask, 10, mask, 3) == 3 && grad->n_dims > 1);
    if (ask->bad) return;
    bool transposed = rs_value_is(ask, 7, "True");
    int64_t work = rs_times(ask, weight_of_one(ask, w), rs_elements(ask, transposed ? x : grad));
    rs_set_type(ask, grad->type);
    for (unsigned i = 0; i < 2; i++) {
        if (!mask[i]) continue;
        rs_add_matrix(ask, work);
        for (int k = 0; k < 3; k++) rs_add_operand(ask, k);
    }
    if (mask[2]) {
        rs_add_vector(ask, rs_elements(ask, grad));
        rs_add_bytes(ask, rs_bytes_of(ask, grad));
        rs_add_bytes(ask, rs_times(ask, grad->dims[1], rs_dtype_bytes(grad->type)));
    }
}

const rs_model_row rs_models_matrix[] = {
    {"aten::mm", "gemm", multiply, 0, {0, 1, -1, 2, 2}, NULL},
    {"aten::addmm", "gemm", multiply, RS_MODEL_IN_PLACE, {1, 2, 0, 2, 2}, NULL},
    {"aten::_addmm_activation", "gemm", multiply, 0, {1, 2, 0, 2, 2}, NULL},
    {"aten::bmm", "gemm", multiply, 0, {0, 1, -1, 3, 3}, NULL},
    {"aten::baddbmm", "gemm", multiply, RS_MODEL_IN_PLACE, {1, 2, 0, 3, 3}, NULL},
    {"aten::mv", "gemm", multiply, 0, {0, 1, -1, 2, 1}, NULL},
    {"aten::addmv", "gemm", multiply, RS_MODEL_IN_PLACE, {1, 2, 0, 2, 1}, NULL},
    {"aten::dot", "gemm", multiply, 0, {0, 1, -1, 1, 1}, NULL},
    {"aten::vdot", "gemm", multiply, 0, {0, 1, -1, 1, 1}, NULL},
    {"aten::_int_mm", "gemm", multiply, 0, {0, 1, -1, 2, 2, 1}, NULL},
    {"aten::_scaled_mm", "gemm", multiply_scaled, 0, {0}, NULL},
    {"aten::linear", "gemm", multiply_linear, RS_MODEL_FALLBACK, {0}, NULL},
    {"vllm::rocm_unquantized_gemm", "gemm", multiply_linear, RS_MODEL_FALLBACK, {0}, NULL},
    {"aten::_grouped_mm", "grouped gemm", multiply_groups, 0, {2, 3, 4, 0}, NULL},
    {"aten::_scaled_grouped_mm", "grouped gemm", multiply_groups, 0, {4, 5, 7, 1}, NULL},
    {"aten::convolution", "convolution", convolve, 0, {2, 3, 4, 5, 6, 7, 8, 0}, NULL},
    {"aten::convolution_backward", "convolution backward", convolve_backward, 0, {0}, NULL},
    {"aten::_convolution", "convolution", convolve, RS_MODEL_FALLBACK, {2, 3, 4, 5, 6, 7, 8, 0}, NULL},
    {"aten::conv1d", "convolution", convolve, RS_MODEL_FALLBACK, {2, 3, 4, 5, -1, -1, 6, 1}, NULL},
    {"aten::conv2d", "convolution", convolve, RS_MODEL_FALLBACK, {2, 3, 4, 5, -1, -1, 6, 1}, NULL},
    {"aten::conv3d", "convolution", convolve, RS_MODEL_FALLBACK, {2, 3, 4, 5, -1, -1, 6, 1}, NULL},
    {"aten::cudnn_convolution",
     "convolution",
     convolve,
     RS_MODEL_FALLBACK,
     {-1, 3, 2, 4, -1, -1, 5, 0},
     NULL},
    {"aten::miopen_convolution",
     "convolution",
     convolve,
     RS_MODEL_FALLBACK,
     {2, 4, 3, 5, -1, -1, 6, 0},
     NULL},
    {NULL, NULL, NULL, 0, {0}, NULL},
};
