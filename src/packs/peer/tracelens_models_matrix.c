/* TraceLens' models of contractions: matrix products, convolution, attention. */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "peer/tracelens_arguments.h"

static void matrix(rs_tl_ask *ask, const char *type)
{
    ask->out->unit = "matrix";
    ask->out->precision = rs_tl_precision(type);
}

/* ---- matrix products ----------------------------------------------------------------------------------- */

static bool is_axes(const char *text, char head)
{
    if (text[0] != head) return false;
    for (int i = 1; i < 4; i++)
        if (text[i] < 'a' || text[i] > 'z') return false;
    return true;
}

/* Tensile: Cijk_Alik_Bljk somewhere in the name. */
static bool is_tensile(const char *name)
{
    for (const char *at = name; (at = strchr(at, 'C')) != NULL; at++)
        if (is_axes(at, 'C') && at[4] == '_' && is_axes(at + 5, 'A') && at[9] == '_' && is_axes(at + 10, 'B'))
            return true;
    return false;
}

static void put_transpose(rs_tl_ask *ask, const char *a, const char *b)
{
    rs_text text = {0};
    rs_text_put(&text, "(");
    rs_text_put(&text, a);
    rs_text_put(&text, ", ");
    rs_text_put(&text, b);
    rs_text_put(&text, ")");
    rs_tl_put_python(ask, "transpose", &text);
}

/* Of the first kernel whose name says which operands are transposed. */
static void add_transpose(rs_tl_ask *ask)
{
    for (size_t i = 0; i < ask->call->n_kernels; i++) {
        const char *name = ask->call->kernels[i];
        if (is_tensile(name)) {
            put_transpose(ask,
                          strstr(name, "_Ailk_")   ? "False"
                          : strstr(name, "_Alik_") ? "True"
                                                   : "None",
                          strstr(name, "_Bljk_")   ? "False"
                          : strstr(name, "_Bjlk_") ? "True"
                                                   : "None");
            return;
        }
        if (strncmp(name, "nvjet", 5) == 0) {
            const char *last = strrchr(name, '_') ? strrchr(name, '_') + 1 : name;
            if (strlen(last) < 2) {
                ask->bad = true;
                return;
            }
            put_transpose(ask, last[0] == 'T' ? "True" : "False", last[1] == 'T' ? "True" : "False");
            return;
        }
    }
}

enum { PLAIN, BATCHED, SCALED };

/* p: places of A and B; whether there is a bias; which kind. */
static void gemm(rs_tl_ask *ask)
{
    const int8_t *p = ask->model->p;
    size_t at_a = (size_t)p[0], at_b = (size_t)p[1];
    rs_tl_list a = rs_tl_shape(ask, at_a), b = rs_tl_shape(ask, at_b);
    size_t lead = p[3] == BATCHED ? 1 : 0;
    if (a.n < lead + 2 || b.n < lead + 2 || (lead && (a.n != 3 || b.n != 3))) ask->bad = true;
    const char *types[2] = {rs_tl_type(ask, at_a), rs_tl_type(ask, at_b)};
    if (ask->bad) return;
    int64_t batch = lead ? a.items[0] : 1, m = a.items[lead], k = a.items[lead + 1], n = b.items[lead + 1];
    bool bias = p[2] != 0 || (p[3] == SCALED && ask->a->n_dims == 3);
    double dm = (double)m, dn = (double)n, dk = (double)k;
    double in = rs_tl_size(types[0]), out = in;
    if (p[3] == SCALED) {
        if (isnan(in) || isnan(rs_tl_size(types[1]))) ask->bad = true;
        out = in == 1 ? 2 : in == 8 ? (double)NAN : in;
    }
    if (lead) rs_tl_put_whole(ask, "B", batch);
    rs_tl_put_whole(ask, "M", m);
    rs_tl_put_whole(ask, "N", n);
    rs_tl_put_whole(ask, "K", k);
    rs_tl_put_truth(ask, "bias", bias);
    rs_tl_put_stride(ask, "stride_A", at_a);
    rs_tl_put_stride(ask, "stride_B", at_b);
    rs_tl_put_types(ask, "dtype_A_B", types, 2);
    if (!lead) rs_tl_put_whole(ask, "B", 1);
    add_transpose(ask);
    if (ask->backward) ask->undefined = true;
    ask->out->flops = (double)batch * (2 * dm * dn * dk + (bias ? dm * dn : 0));
    ask->out->bytes = (double)batch * (dm * dk * in + dk * dn * in + dm * dn * out + (bias ? dn * in : 0));
    matrix(ask, types[0]);
}

/* M×K rows of G groups times G×K×N or G×N×K. */
static void grouped_gemm(rs_tl_ask *ask)
{
    rs_tl_list a = rs_tl_shape(ask, 0), b = rs_tl_shape(ask, 1);
    const char *type = rs_tl_type(ask, 0);
    if (ask->bad || a.n < 2 || b.n != 3 || (b.items[1] != a.items[1] && b.items[2] != a.items[1])) {
        ask->bad = true;
        return;
    }
    int64_t m = a.items[0], k = a.items[1], g = b.items[0], n = b.items[1] == k ? b.items[2] : b.items[1];
    double in = rs_tl_size(type), out = ask->a->n_types > 1 ? rs_tl_size(ask->a->types[1].text) : in;
    double dm = (double)m, dk = (double)k, dn = (double)n;
    rs_tl_put_whole(ask, "M", m);
    rs_tl_put_whole(ask, "K", k);
    rs_tl_put_whole(ask, "N", n);
    rs_tl_put_whole(ask, "G", g);
    if (isnan(in))
        rs_tl_put_none(ask, "bpe_in");
    else
        rs_tl_put_whole(ask, "bpe_in", rs_int_of(in));
    if (isnan(out))
        rs_tl_put_none(ask, "bpe_out");
    else
        rs_tl_put_whole(ask, "bpe_out", rs_int_of(out));
    if (isnan(in) || isnan(out)) ask->bad = true; /* None times a number */
    if (ask->backward) ask->undefined = true;
    ask->out->flops = 2 * dm * dk * dn;
    ask->out->bytes = (dm * dk + (double)g * dk * dn) * in + dm * dn * out;
    matrix(ask, type);
}

/* ---- convolution --------------------------------------------------------------------------------------- */

#define MAX_SPACE 3

typedef struct convolution {
    rs_tl_list x, w;
    size_t space; /* dimensions beside batch and channels */
    int64_t stride[MAX_SPACE], padding[MAX_SPACE], dilation[MAX_SPACE], output_padding[MAX_SPACE];
    int64_t groups;
    bool transposed;
    int64_t out[MAX_SPACE + 2];
} convolution;

/* One number for each dimension in space; a list of one represents all, an empty text for `otherwise`. */
static void read_space(rs_tl_ask *ask, size_t at, size_t space, int64_t otherwise, int64_t *out)
{
    rs_tl_text text = rs_tl_concrete(ask, at);
    for (size_t i = 0; i < space; i++) out[i] = otherwise;
    if (text.length == 0) return;
    size_t n = rs_tl_numbers(ask, text, out, MAX_SPACE);
    if (n == 0 || (n != 1 && n < space)) ask->bad = true;
    for (size_t i = 1; n == 1 && i < space; i++) out[i] = out[0];
}

static bool read_truth(rs_tl_ask *ask, size_t at)
{
    rs_tl_text text = rs_tl_concrete(ask, at);
    if (strcmp(text.text, "True") != 0 && strcmp(text.text, "False") != 0) ask->bad = true;
    return strcmp(text.text, "True") == 0;
}

static void shape_output(rs_tl_ask *ask, convolution *c)
{
    c->out[0] = c->x.items[0];
    c->out[1] = c->w.items[c->transposed ? 1 : 0];
    for (size_t i = 0; i < c->space; i++) {
        int64_t in = c->x.items[i + 2], k = c->w.items[i + 2];
        if (c->stride[i] == 0) {
            ask->bad = true;
            return;
        }
        double reach = (double)c->dilation[i] * (double)(k - 1);
        double d =
            c->transposed
                ? (double)(in - 1) * (double)c->stride[i] - 2 * (double)c->padding[i] + reach +
                      (double)c->output_padding[i] + 1
                : trunc(((double)in + 2 * (double)c->padding[i] - reach - 1) / (double)c->stride[i] + 1);
        if (!(fabs(d) < 9e15)) {
            ask->bad = true;
            return;
        }
        c->out[i + 2] = rs_int_of(d);
    }
}

static double product_from(const int64_t *items, size_t n, size_t from)
{
    return n > from ? rs_tl_product(items + from, n - from) : 1;
}

static void answer_forward(rs_tl_ask *ask, const convolution *c, bool bias, double size)
{
    size_t n = c->space + 2;
    double x = rs_tl_product(c->x.items, c->x.n), w = rs_tl_product(c->w.items, c->w.n);
    double out = rs_tl_product(c->out, n), filter = product_from(c->w.items, c->w.n, 1);
    ask->out->flops = 2 * filter * (c->transposed ? x : out) + (bias ? out : 0);
    ask->out->bytes = (x + w + (bias ? (double)c->out[1] : 0) + out) * size;
}

/* Both gradients, whatever the mask asks for. */
static void answer_backward(rs_tl_ask *ask, const convolution *c, bool bias, double size)
{
    size_t n = c->space + 2;
    double x = rs_tl_product(c->x.items, c->x.n), w = rs_tl_product(c->w.items, c->w.n);
    double out = rs_tl_product(c->out, n), filter = product_from(c->w.items, c->w.n, 1);
    const int64_t *inner = c->transposed ? c->x.items : c->out;
    double of_weight = 2 * w * (double)inner[0] * product_from(inner, n, 2);
    ask->out->flops = 2 * filter * (c->transposed ? x : out) + of_weight + (bias ? out : 0);
    ask->out->bytes = 2 * (x + w + out) * size + (bias ? out + (double)c->out[1] : 0);
}

/* p: place of the input; of the first of stride, padding, dilation, transposed, output padding, groups;
 * whether it is the operator of the backward pass. */
static void convolve(rs_tl_ask *ask)
{
    static const char *const names[] = {"conv1d", "conv2d", "conv3d"};
    size_t at = (size_t)ask->model->p[0], next = (size_t)ask->model->p[1];
    bool is_backward = ask->model->p[2] != 0;
    convolution c = {.x = rs_tl_shape(ask, at), .w = rs_tl_shape(ask, at + 1)};
    const char *types[2] = {rs_tl_type(ask, at), rs_tl_type(ask, at + 1)};
    if (c.x.n < 3 || c.x.n > 2 + MAX_SPACE || c.w.n != c.x.n || strcmp(types[0], types[1]) != 0)
        ask->bad = true;
    if (ask->bad) return;
    c.space = c.x.n - 2;
    read_space(ask, next, c.space, 1, c.stride);
    read_space(ask, next + 1, c.space, 0, c.padding);
    read_space(ask, next + 2, c.space, 1, c.dilation);
    c.transposed = read_truth(ask, next + 3);
    read_space(ask, next + 4, c.space, 0, c.output_padding);
    c.groups = rs_tl_whole(ask, rs_tl_concrete(ask, next + 5));
    shape_output(ask, &c);
    if (ask->bad) return;
    bool bias = is_backward ? ask->a->n_dims > 3 && (ask->a->dims[3].n > 0 || ask->a->dims[3].nested)
                            : ask->a->n_dims == 3;
    rs_tl_put_word(ask, "convNd", names[(c.space - 1) % MAX_SPACE]);
    rs_tl_put_tuple(ask, "input_shape", c.x);
    rs_tl_put_tuple(ask, "filter_shape", c.w);
    rs_tl_put_types(ask, "dtype_input_weight", types, 2);
    rs_tl_put_stride(ask, "input_stride", at);
    rs_tl_put_stride(ask, "weight_stride", at + 1);
    if (is_backward && !bias && ask->a->n_dims > 3) {
        rs_text empty = {0};
        rs_text_put(&empty, "[]");
        rs_tl_put_python(ask, "bias", &empty);
    } else {
        rs_tl_put_truth(ask, "bias", bias);
    }
    rs_tl_put_tuple(ask, "stride", (rs_tl_list){c.stride, c.space, false});
    rs_tl_put_tuple(ask, "padding", (rs_tl_list){c.padding, c.space, false});
    rs_tl_put_tuple(ask, "dilation", (rs_tl_list){c.dilation, c.space, false});
    rs_tl_put_truth(ask, "transposed_conv", c.transposed);
    rs_tl_put_tuple(ask, "output_padding", (rs_tl_list){c.output_padding, c.space, false});
    rs_tl_put_whole(ask, "groups", c.groups);
    double size = rs_tl_size(types[0]);
    if (is_backward || ask->backward)
        answer_backward(ask, &c, bias, size);
    else
        answer_forward(ask, &c, bias, size);
    matrix(ask, types[0]);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

typedef struct attention {
    double batch, n_q, h_q, n_kv, h_kv, d_qk, d_v;
    int64_t b, nq, hq, nkv, hkv, dqk, dv;
    bool causal, flash;
} attention;

static double forward_flops(rs_tl_ask *ask, const attention *t, double n_q, double n_kv)
{
    double flops =
        t->batch * t->h_q * (2 * n_q * n_kv * t->d_qk) + t->batch * t->h_q * (2 * n_q * t->d_v * n_kv);
    if (t->causal && n_q != n_kv) ask->bad = true;
    return t->causal ? flops / 2 : flops;
}

static double backward_flops(rs_tl_ask *ask, const attention *t, double n_q, double n_kv)
{
    double pairs = t->batch * t->h_q * 2 * n_q * n_kv, more = floor(t->h_q / t->h_kv) - 1;
    double flops = t->flash ? pairs * t->d_qk : 0;
    flops += pairs * t->d_v + t->batch * n_kv * t->d_v * more + pairs * t->d_v;
    flops += pairs * t->d_qk + pairs * t->d_qk + t->batch * n_kv * t->d_qk * more;
    if (t->causal && n_q != n_kv) ask->bad = true;
    return t->causal ? flops / 2 : flops;
}

static double attention_bytes(const attention *t, bool backward, double size)
{
    double q = t->batch * t->n_q * t->h_q * t->d_qk, k = t->batch * t->n_kv * t->h_kv * t->d_qk;
    double v = t->batch * t->n_kv * t->h_kv * t->d_v, o = t->batch * t->n_q * t->h_q * t->d_v;
    return (backward ? 2 * (q + k + v) + o : q + k + v + o) * size;
}

enum { BHND, BNHD, THD };

/* The shapes of q, k and v, which begin at that place. */
static void read_shapes(rs_tl_ask *ask, size_t at, int layout, attention *t)
{
    rs_tl_list q = rs_tl_shape(ask, at), k = rs_tl_shape(ask, at + 1), v = rs_tl_shape(ask, at + 2);
    size_t n = layout == THD ? 3 : 4, rows = layout == BHND ? 2 : layout == BNHD ? 1 : 0;
    size_t heads = layout == BNHD ? 2 : 1;
    if (q.n < n || k.n < n || v.n < n) ask->bad = true;
    if (ask->bad) return;
    t->b = layout == THD ? 1 : q.items[0];
    t->nq = q.items[rows];
    t->hq = q.items[heads];
    t->nkv = k.items[rows];
    t->hkv = k.items[heads];
    t->dqk = q.items[n - 1];
    t->dv = v.items[n - 1];
    if (layout != THD && (k.items[0] != t->b || v.items[0] != t->b)) ask->bad = true;
    if (v.items[heads] != t->hkv || v.items[rows] != t->nkv || k.items[n - 1] != t->dqk || t->hkv == 0)
        ask->bad = true;
    t->batch = (double)t->b;
    t->n_q = (double)t->nq;
    t->h_q = (double)t->hq;
    t->n_kv = (double)t->nkv;
    t->h_kv = (double)t->hkv;
    t->d_qk = (double)t->dqk;
    t->d_v = (double)t->dv;
}

static void put_shapes(rs_tl_ask *ask, const attention *t)
{
    rs_tl_put_whole(ask, "B", t->b);
    rs_tl_put_whole(ask, "N_Q", t->nq);
    rs_tl_put_whole(ask, "H_Q", t->hq);
    rs_tl_put_whole(ask, "N_KV", t->nkv);
    rs_tl_put_whole(ask, "H_KV", t->hkv);
    rs_tl_put_whole(ask, "d_h_qk", t->dqk);
    rs_tl_put_whole(ask, "d_h_v", t->dv);
}

static void put_qkv_strides(rs_tl_ask *ask, size_t at)
{
    if (!ask->a->has_strides) ask->bad = true;
    rs_tl_put_stride(ask, "q_stride", at);
    rs_tl_put_stride(ask, "k_stride", at + 1);
    rs_tl_put_stride(ask, "v_stride", at + 2);
}

/* Python's eval of a concrete input: True, False, or a number, which is as good as true unless it is 0. */
static bool put_causal(rs_tl_ask *ask, rs_tl_text text)
{
    double number;
    if (strcmp(text.text, "True") == 0 || strcmp(text.text, "False") == 0) {
        rs_tl_put_truth(ask, "causal", text.text[0] == 'T');
        return text.text[0] == 'T';
    }
    number = rs_tl_real(ask, text, (double)NAN);
    if (isnan(number)) ask->bad = true;
    rs_tl_put_real(ask, "causal", number);
    return number != 0;
}

static void answer_attention(rs_tl_ask *ask, const attention *t, bool backward, double size)
{
    ask->out->flops =
        backward ? backward_flops(ask, t, t->n_q, t->n_kv) : forward_flops(ask, t, t->n_q, t->n_kv);
    ask->out->bytes = attention_bytes(t, backward, size);
}

/* p: place of q; layout; places of dropout and causal. The flavour is identified by the layout and the name. */
static void sdpa(rs_tl_ask *ask)
{
    const int8_t *p = ask->model->p;
    size_t at = (size_t)p[0];
    bool aten = p[1] == BHND,
         is_backward = strstr(ask->model->name, "bwd") || strstr(ask->model->name, "backward");
    attention t = {.flash = !aten || p[2] == 3};
    read_shapes(ask, at, p[1], &t);
    rs_tl_text dropout = rs_tl_concrete(ask, (size_t)p[2]), causal = rs_tl_concrete(ask, (size_t)p[3]);
    if (ask->bad) return;
    put_shapes(ask, &t);
    rs_tl_put_real(ask, "dropout", rs_tl_real(ask, dropout, 0));
    t.causal = rs_tl_is(causal, "true");
    rs_tl_put_truth(ask, "causal", t.causal);
    rs_tl_put_truth(ask, "flash_impl", t.flash);
    ask->out->unit = "matrix";
    if (aten) {
        const char *types[2] = {rs_tl_type(ask, 0), rs_tl_type(ask, 1)};
        rs_tl_put_types(ask, "dtype_A_B", types, 2);
        matrix(ask, types[0]);
    }
    answer_attention(ask, &t, is_backward || ask->backward, 2);
}

/* The flash-attn package. p: place of q; places of dropout and causal. */
static void flash(rs_tl_ask *ask)
{
    const int8_t *p = ask->model->p;
    size_t at = (size_t)p[0];
    bool is_backward = at == 1;
    attention t = {.flash = true};
    read_shapes(ask, at, BNHD, &t);
    if (ask->bad) return;
    put_shapes(ask, &t);
    put_qkv_strides(ask, at);
    rs_tl_text none = {"True", 4}, zero = {"0.0", 3};
    bool short_list = is_backward && ask->a->n_concrete <= (size_t)p[2];
    rs_tl_text dropout =
        is_backward && ask->a->n_concrete <= (size_t)p[1] ? zero : rs_tl_concrete(ask, (size_t)p[1]);
    rs_tl_text causal = short_list ? none : rs_tl_concrete(ask, (size_t)p[2]);
    if (is_backward && dropout.length == 0) dropout = zero;
    if (is_backward && causal.length == 0) causal = none;
    double rate = rs_tl_real(ask, dropout, (double)NAN);
    if (isnan(rate)) ask->bad = true;
    rs_tl_put_real(ask, "dropout", rate);
    t.causal = put_causal(ask, causal);
    rs_tl_put_truth(ask, "flash_impl", true);
    const char *types[2] = {rs_tl_type(ask, 0), rs_tl_type(ask, 1)};
    rs_tl_put_types(ask, "dtype_A_B", types, 2);
    matrix(ask, types[0]);
    answer_attention(ask, &t, is_backward || ask->backward, is_backward ? rs_tl_size(types[0]) : 2);
}

/* One sequence of the greatest length, and what is left shared evenly by the others. p: place of q; of the
 * borders of the sequences. */
static void varlen(rs_tl_ask *ask)
{
    const int8_t *p = ask->model->p;
    size_t at = (size_t)p[0], borders = (size_t)p[1];
    bool is_backward = at == 1;
    attention t = {.flash = true};
    read_shapes(ask, at, THD, &t);
    rs_tl_list cu_q = rs_tl_shape(ask, borders), cu_k = rs_tl_shape(ask, borders + 1);
    if (cu_q.n == 0 || cu_k.n == 0) ask->bad = true;
    double max_q = rs_tl_real(ask, rs_tl_concrete(ask, borders + 2), (double)NAN);
    double max_k = rs_tl_real(ask, rs_tl_concrete(ask, borders + 3), (double)NAN);
    double rate = rs_tl_real(ask, rs_tl_concrete(ask, borders + 4), (double)NAN);
    if (ask->bad || isnan(max_q) || isnan(max_k) || isnan(rate)) {
        ask->bad = true;
        return;
    }
    int64_t n_q = cu_q.items[0] - 1, n_k = cu_k.items[0] - 1;
    put_shapes(ask, &t);
    put_qkv_strides(ask, at);
    rs_tl_put_real(ask, "dropout", rate);
    t.causal = put_causal(ask, rs_tl_concrete(ask, borders + 6));
    rs_tl_put_truth(ask, "flash_impl", true);
    const char *types[2] = {rs_tl_type(ask, 0), rs_tl_type(ask, 1)};
    rs_tl_put_types(ask, "dtype_A_B", types, 2);
    rs_tl_put_whole(ask, "num_seqs_q", n_q);
    rs_tl_put_whole(ask, "num_seqs_kv", n_k);
    rs_tl_put_real(ask, "max_seqlen_q", max_q);
    rs_tl_put_real(ask, "max_seqlen_kv", max_k);
    double (*flops)(rs_tl_ask *, const attention *, double, double) =
        is_backward ? backward_flops : forward_flops;
    ask->out->flops = flops(ask, &t, max_q, max_k);
    if (n_q > 1 && n_k == 1) ask->bad = true; /* division by zero */
    if (n_q > 1 && n_k > 1)
        ask->out->flops += (double)(n_q - 1) * flops(ask, &t, floor((t.n_q - max_q) / (double)(n_q - 1)),
                                                     floor((t.n_kv - max_k) / (double)(n_k - 1)));
    ask->out->bytes = attention_bytes(&t, is_backward || ask->backward, 2);
    if (ask->backward && !is_backward) ask->out->flops = backward_flops(ask, &t, t.n_q, t.n_kv);
    matrix(ask, types[0]);
}

const rs_tl_model rs_tl_models_matrix[] = {
    {"aten::mm", "GEMM", gemm, {0, 1, 0, PLAIN}},
    {"aten::addmm", "GEMM", gemm, {1, 2, 1, PLAIN}},
    {"aten::_scaled_mm", "GEMM", gemm, {0, 1, 0, SCALED}},
    {"trtllm::cublas_scaled_mm", "GEMM", gemm, {0, 1, 0, SCALED}},
    {"bitsandbytes::int8_linear_matmul", "GEMM", gemm, {0, 1, 0, SCALED}},
    {"aten::bmm", "GEMM", gemm, {0, 1, 0, BATCHED}},
    {"aten::baddbmm", "GEMM", gemm, {1, 2, 1, BATCHED}},
    {"primus_turbo::grouped_gemm", "GroupedGEMM", grouped_gemm, {0}},
    {"primus_turbo::grouped_gemm_impl", "GroupedGEMM", grouped_gemm, {0}},
    {"primus_turbo_cpp_extension::grouped_gemm", "GroupedGEMM", grouped_gemm, {0}},
    {"primus_turbo_cpp_extension::ck_grouped_gemm", "GroupedGEMM", grouped_gemm, {0}},
    {"aten::convolution", "CONV", convolve, {0, 3, 0}},
    {"aten::convolution_backward", "CONV", convolve, {1, 4, 1}},
    {"FlashAttnFunc", "SDPA", flash, {0, 3, 5}},
    {"flash_attn::_flash_attn_forward", "SDPA", flash, {0, 3, 5}},
    {"flash_attn::_flash_attn_backward", "SDPA", flash, {1, 8, 10}},
    {"flash_attn::_flash_attn_varlen_forward", "SDPA", varlen, {0, 3}},
    {"flash_attn::_flash_attn_varlen_backward", "SDPA", varlen, {1, 9}},
    {"aten::_scaled_dot_product_cudnn_attention", "SDPA", sdpa, {0, BHND, 5, 6}},
    {"aten::_scaled_dot_product_efficient_attention", "SDPA", sdpa, {0, BHND, 5, 6}},
    {"aten::_scaled_dot_product_flash_attention", "SDPA", sdpa, {0, BHND, 3, 4}},
    {"aiter::_flash_attn_forward", "SDPA", sdpa, {0, BNHD, 3, 5}},
    {"aiter::_flash_attn_backward", "SDPA", sdpa, {0, BNHD, 10, 12}},
    {"aiter::wrapper_fmha_v3_fwd", "SDPA", sdpa, {1, BNHD, 4, 6}},
    {"aiter::wrapper_fmha_v3_bwd", "SDPA", sdpa, {1, BNHD, 7, 9}},
    {"aiter::mha_fwd", "SDPA", sdpa, {0, BNHD, 3, 5}},
    {"aiter::fmha_v3_fwd", "SDPA", sdpa, {0, BNHD, 3, 5}},
    {"aiter::mha_bwd", "SDPA", sdpa, {1, BNHD, 6, 8}},
    {NULL, NULL, NULL, {0}},
};
