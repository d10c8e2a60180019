/* Operators of serving engines: vLLM's (_C, _moe_C, _vllm_fa2_C, vllm) and SGLang's (sgl_kernel, sglang).
 *
 * The places of arguments are those of the schemas that the engines register: csrc/torch_bindings.cpp and
 * csrc/moe/torch_bindings.cpp of vLLM, csrc/common_extension.cc of sgl-kernel, flash_api_torch_lib.cpp of
 * vllm-flash-attn, and the Python signatures of fused_moe.py for what is registered from Python. */
#include "base/real.h"
#include "perf/models_internal.h"

/* ---- element by element -------------------------------------------------------------------------------- */

/* Every tensor is read or written once. Places: the argument whose elements are counted, FLOPs an element of it,
 * a tensor that is read and written (-1: none), the argument whose type is told. */
enum { P_COUNTED, P_FLOPS, P_TWICE, P_TYPE };

static void pass_once(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *x = rs_need(ask, p[P_COUNTED], 0), *typed = rs_need(ask, p[P_TYPE], 0);
    if (ask->bad) return;
    rs_set_type(ask, typed->type);
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, x), p[P_FLOPS]));
    rs_add_all_operands(ask);
    rs_add_operand(ask, p[P_TWICE]);
}

/* result, x, weight, scale, epsilon, upper bound, residual: the norm 4, the row's maximum and the scaling 2, and
 * with a residual, which is written back, its addition. */
static void normalise_and_scale(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 1, 0);
    if (ask->bad) return;
    bool adds = rs_is_present(ask, 6);
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, x), adds ? 7 : 6));
    rs_add_all_operands(ask);
    if (adds) rs_add_operand(ask, 6);
}

/* q, k, their results, table of cosines and sines, positions: 3 FLOPs an element, a row of the table for each
 * position. */
static void turn_into(rs_ask *ask)
{
    const rs_argument *q = rs_need(ask, 0, 0), *k = rs_need(ask, 1, 0), *table = rs_need(ask, 4, 2);
    const rs_argument *positions = rs_need(ask, 5, 0);
    if (ask->bad) return;
    rs_set_type(ask, q->type);
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, q), 3));
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, k), 3));
    for (int i = 0; i < 4; i++) rs_add_operand(ask, i);
    rs_add_operand(ask, 5);
    int64_t rows = rs_times(ask, rs_elements(ask, positions), table->dims[1]);
    rs_add_bytes(ask, rs_times(ask, rows, rs_dtype_bytes(table->type)));
}

/* x of (tokens, experts of each, width), result (tokens, width). */
static void sum_experts(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 3), *out = rs_need(ask, 1, 2);
    if (ask->bad) return;
    rs_require(ask, x->dims[0] == out->dims[0] && x->dims[2] == out->dims[1]);
    rs_set_type(ask, x->type);
    int64_t adds = x->dims[1] > 1 ? x->dims[1] - 1 : 0;
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, out), adds));
    rs_add_operand(ask, 0);
    rs_add_operand(ask, 1);
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* Places: a, b, the first scale, the bias (-1: none), the result's tensor (-1: none), the type of the result (-1:
 * by the tensor); two values of four bits are in a byte of a and b, and b is N x K. */
enum { P_A, P_B, P_SCALES, P_BIAS, P_RESULT, P_OUT, P_FOUR_BITS };

static void multiply_quantised(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *a = rs_need(ask, p[P_A], 2), *b = rs_need(ask, p[P_B], 2);
    bool four = p[P_FOUR_BITS];
    if (ask->bad) return;
    int64_t m = a->dims[0], k = four ? rs_times(ask, a->dims[1], 2) : a->dims[1];
    int64_t n = b->dims[four ? 0 : 1];
    rs_require(ask, b->dims[four ? 1 : 0] == a->dims[1]);
    rs_dtype out = p[P_RESULT] >= 0 ? rs_need(ask, p[P_RESULT], 2)->type
                                    : rs_value_type_code(ask, p[P_OUT], RS_NO_DTYPE);
    rs_require(ask, out != RS_NO_DTYPE);
    rs_set_type(ask, four ? rs_dtype_of("c10::Float4_e2m1fn_x2") : a->type);
    int64_t results = rs_times(ask, m, n);
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, results), k));
    rs_add_operand(ask, p[P_A]);
    rs_add_operand(ask, p[P_B]);
    /* two scales; before a bias zero points may stand: of each column, and one */
    int n_scales = p[P_RESULT] >= 0 && p[P_BIAS] >= 0 ? p[P_BIAS] - p[P_SCALES] : 2;
    for (int i = 0; i < n_scales; i++) rs_add_operand(ask, p[P_SCALES] + i);
    rs_add_bytes(ask, rs_times(ask, results, rs_dtype_bytes(out)));
    if (p[P_BIAS] < 0 || !rs_is_present(ask, p[P_BIAS])) return;
    rs_add_operand(ask, p[P_BIAS]);
    rs_add_vector(ask, results);
}

/* Weights of fewer bits than a byte in words. Places: the last argument that is read, the packed weight, and how
 * many values a word of its last dimension holds (1: the first dimension is the packed one). */
enum { P_LAST_READ, P_WEIGHT, P_IN_WORD };

static void multiply_packed(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *a = rs_need(ask, 0, 2), *w = rs_need(ask, p[P_WEIGHT], 2);
    if (ask->bad) return;
    int64_t results = rs_times(ask, a->dims[0], rs_times(ask, w->dims[1], p[P_IN_WORD]));
    rs_require(ask, p[P_IN_WORD] == 1 || w->dims[0] == a->dims[1]);
    rs_set_type(ask, a->type);
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, results), a->dims[1]));
    for (int i = 0; i <= p[P_LAST_READ]; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, results, rs_dtype_bytes(a->type)));
}

/* Experts of `n` that at least one of `tokens` chooses when each chooses k at random: n (1 - ((n - k) / n)^tokens),
 * by squaring, so that every machine gets the same. */
static double experts_in_use(int64_t n, int64_t k, int64_t tokens)
{
    double left = 1, factor = (double)(n - k) / (double)n;
    for (; tokens > 0; tokens >>= 1) {
        if (tokens & 1) left *= factor;
        factor *= factor;
    }
    return (double)n * (1 - left);
}

/* x (M, K), w1 (E, N or 2N, K), w2 (E, K, N), routing weights (M, k): w1 holds the gate, too, if it is twice as
 * high. Weights of four bits have half of K. Which experts are in use is not in the trace: the mean of even
 * choices. */
static void mix_experts(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 2), *w1 = rs_need(ask, 1, 3), *w2 = rs_need(ask, 2, 3);
    const rs_argument *routing = rs_need(ask, 3, 2);
    if (ask->bad) return;
    int64_t m = x->dims[0], width = x->dims[1], experts = w1->dims[0], chosen = routing->dims[1];
    int64_t packed = w1->dims[2] > 0 ? width / w1->dims[2] : 0;
    int64_t n = rs_times(ask, w2->dims[2], packed);
    rs_require(ask, experts > 0 && chosen > 0 && chosen <= experts && routing->dims[0] == m);
    rs_require(ask, w2->dims[0] == experts && w2->dims[1] == width);
    rs_require(ask, (packed == 1 || packed == 2) && w1->dims[2] * packed == width);
    rs_require(ask, n > 0 && (w1->dims[1] == n || w1->dims[1] == rs_times(ask, 2, n)));
    if (ask->bad) return;
    int64_t gate = w1->dims[1] == n ? 1 : 2;
    int64_t one = rs_times(ask, rs_times(ask, rs_times(ask, 2, m), width), rs_times(ask, n, chosen));
    rs_set_type(ask, packed == 1 ? w1->type : x->type);
    ask->out->lower = true;
    rs_add_matrix(ask, rs_times(ask, one, gate + 1));
    rs_add_vector(ask, rs_times(ask, rs_times(ask, m, width), rs_times(ask, 2, chosen) - 1));
    double share = experts_in_use(experts, chosen, m) / (double)experts;
    for (int i = 1; i < 3; i++) {
        double weights = share * (double)rs_bytes_of(ask, &ask->a->items[i]);
        rs_require(ask, weights < 0x1p62);
        if (!ask->bad) rs_add_bytes(ask, rs_int_of(weights));
    }
    rs_add_operand(ask, 0);
    rs_add_operand(ask, 3);
    rs_add_operand(ask, 4);
    rs_add_bytes(ask, rs_bytes_of(ask, x)); /* the result */
}

/* ---- attention over a cache ---------------------------------------------------------------------------- */

/* How long the sequences are is in the cache's block table, which no trace has; the engine's annotation of
 * the batch has their sums. Places: query, value (-1: as wide as the query). The type of the cache is not
 * recorded, so what is read of it is not known. */
static void attend_batch(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_batch *batch = ask->a->batch;
    const rs_argument *q = rs_need(ask, p[0], 0);
    rs_require(ask, batch && (q->n_dims == 2 || q->n_dims == 3));
    if (ask->bad) return;
    /* a batch is filled up to a size that was captured, but never cut */
    rs_require(ask, q->dims[0] >= batch->queries);
    int64_t keys = q->n_dims == 3 ? rs_times(ask, q->dims[1], q->dims[2]) : q->dims[1], values = keys;
    if (p[1] >= 0 && q->n_dims == 3) {
        const rs_argument *v = rs_need(ask, p[1], 3);
        values = rs_times(ask, q->dims[1], v->dims[2]);
    }
    if (ask->bad) return;
    rs_set_type(ask, q->type);
    ask->out->has_bytes = false;
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, batch->pairs), keys));
    rs_add_matrix(ask, rs_times(ask, rs_times(ask, 2, batch->pairs), values));
}

#define EACH "elementwise"
#define NORM "normalisation"
#define GEMM "gemm"
#define MOE "mixture of experts"
#define ATTENTION "attention"
const rs_model_row rs_models_serving[] = {
    /* gated activations: the activation and the product, by element of the result */
    {"_C::silu_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"_C::mul_and_silu", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"_C::gelu_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"_C::gelu_tanh_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"_C::fatrelu_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"_C::swigluoai_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"_C::silu_and_mul_quant", EACH, pass_once, 0, {0, 3, -1, 1}, NULL},
    {"_C::gelu_new", EACH, pass_once, 0, {0, 1, -1, 1}, NULL},
    {"_C::gelu_fast", EACH, pass_once, 0, {0, 1, -1, 1}, NULL},
    {"_C::gelu_quick", EACH, pass_once, 0, {0, 1, -1, 1}, NULL},
    {"sgl_kernel::silu_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"sgl_kernel::gelu_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    {"sgl_kernel::gelu_tanh_and_mul", EACH, pass_once, 0, {0, 2, -1, 1}, NULL},
    /* to fewer bits: the scaling, and where the scale is made from x, the maximum */
    {"_C::dynamic_scaled_fp8_quant", EACH, pass_once, 0, {1, 2, -1, 1}, NULL},
    {"_C::dynamic_per_token_scaled_fp8_quant", EACH, pass_once, 0, {1, 2, -1, 1}, NULL},
    {"_C::static_scaled_int8_quant", EACH, pass_once, 0, {1, 1, -1, 1}, NULL},
    {"_C::dynamic_scaled_int8_quant", EACH, pass_once, 0, {1, 2, -1, 1}, NULL},
    {"_C::per_token_group_fp8_quant", EACH, pass_once, 0, {0, 2, -1, 0}, NULL},
    {"_C::per_token_group_quant_int8", EACH, pass_once, 0, {0, 2, -1, 0}, NULL},
    {"_C::scaled_fp4_quant", EACH, pass_once, 0, {1, 2, -1, 1}, NULL},
    /* norms: squares, their mean, scaling, the weight; a residual is added and written back */
    {"_C::rms_norm_static_fp8_quant", NORM, pass_once, 0, {1, 5, -1, 1}, NULL},
    {"_C::fused_add_rms_norm_static_fp8_quant", NORM, pass_once, 0, {1, 6, 2, 1}, NULL},
    {"_C::rms_norm_dynamic_per_token_quant", NORM, normalise_and_scale, 0, {0}, NULL},
    {"sgl_kernel::rmsnorm", NORM, pass_once, 0, {1, 4, -1, 1}, NULL},
    {"sgl_kernel::gemma_rmsnorm", NORM, pass_once, 0, {1, 5, -1, 1}, NULL}, /* the weight plus one */
    /* positions */
    {"sgl_kernel::apply_rope_pos_ids_cos_sin_cache", "rope", turn_into, 0, {0}, NULL},
    /* products */
    {"_C::cutlass_scaled_mm", GEMM, multiply_quantised, 0, {1, 2, 3, 5, 0, -1, 0}, NULL},
    {"_C::cutlass_scaled_mm_azp", GEMM, multiply_quantised, 0, {1, 2, 3, 7, 0, -1, 0}, NULL},
    {"_C::cutlass_scaled_fp4_mm", GEMM, multiply_quantised, 0, {1, 2, 3, -1, 0, -1, 1}, NULL},
    {"sgl_kernel::fp8_scaled_mm", GEMM, multiply_quantised, 0, {0, 1, 2, 5, -1, 4, 0}, NULL},
    {"sgl_kernel::int8_scaled_mm", GEMM, multiply_quantised, 0, {0, 1, 2, 5, -1, 4, 0}, NULL},
    {"sgl_kernel::fp8_blockwise_scaled_mm", GEMM, multiply_quantised, 0, {0, 1, 2, -1, -1, 4, 0}, NULL},
    {"_C::awq_gemm", GEMM, multiply_packed, 0, {3, 1, 8}, NULL},
    {"_C::gptq_gemm", GEMM, multiply_packed, 0, {4, 1, 1}, NULL},
    /* mixtures of experts */
    {"_moe_C::topk_softmax", "softmax", pass_once, 0, {3, 5, -1, 3}, NULL},
    {"sgl_kernel::topk_softmax", "softmax", pass_once, 0, {2, 5, -1, 2}, NULL},
    {"_moe_C::moe_sum", MOE, sum_experts, 0, {0}, NULL},
    {"sgl_kernel::moe_sum", MOE, sum_experts, 0, {0}, NULL},
    {"vllm::inplace_fused_experts", MOE, mix_experts, 0, {0}, NULL},
    {"vllm::outplace_fused_experts", MOE, mix_experts, 0, {0}, NULL},
    {"sglang::inplace_fused_experts", MOE, mix_experts, 0, {0}, NULL},
    {"sglang::outplace_fused_experts", MOE, mix_experts, 0, {0}, NULL},
    /* attention over a cache */
    {"vllm::unified_attention_with_output", ATTENTION, attend_batch, RS_MODEL_BATCH, {0, 2}, NULL},
    {"vllm::unified_attention", ATTENTION, attend_batch, RS_MODEL_BATCH, {0, 2}, NULL},
    {"_C::paged_attention_v1", ATTENTION, attend_batch, RS_MODEL_BATCH, {1, -1}, NULL},
    {"_C::paged_attention_v2", ATTENTION, attend_batch, RS_MODEL_BATCH, {4, -1}, NULL},
    {NULL, NULL, NULL, 0, {0}, NULL},
};
