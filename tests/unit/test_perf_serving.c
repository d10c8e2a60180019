/* The models of serving engines' operators against arithmetic done by hand, and what an engine's annotation says
 * of a batch against the sequences that it was made from. */
#include <stdio.h>
#include <string.h>

#include "builder.h"
#include "perf/models.h"
#include "perf/owner.h"
#include "unit.h"

#define BF "\"c10::BFloat16\""
#define F8 "\"c10::Float8_e4m3fn\""
#define F32 "\"float\""
#define I32 "\"int\""

typedef struct line {
    const char *name, *dims, *types, *concrete;
    const char *family; /* NULL: no answer */
    int64_t matrix, vector, bytes;
    bool lower;
} line;

static const line lines[] = {
    /* 4 x 6 of 4 x 12: an activation and a product each */
    {"_C::silu_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48, 2 * (24 + 48),
     false},
    {"_C::silu_and_mul_quant", "[[4,6],[4,12],[1]]", "[" F8 "," BF "," F32 "]", NULL, "elementwise", 0, 72,
     24 + 96 + 4, false},
    {"sgl_kernel::silu_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48,
     2 * (24 + 48), false},
    {"_C::mul_and_silu", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48, 2 * (24 + 48),
     false},
    {"_C::gelu_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48, 2 * (24 + 48),
     false},
    {"_C::gelu_tanh_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48, 2 * (24 + 48),
     false},
    {"_C::fatrelu_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48, 2 * (24 + 48),
     false},
    {"_C::swigluoai_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48, 2 * (24 + 48),
     false},
    {"_C::gelu_new", "[[4,6],[4,6]]", "[" BF "," BF "]", NULL, "elementwise", 0, 24, 2 * (24 + 24), false},
    {"_C::gelu_fast", "[[4,6],[4,6]]", "[" BF "," BF "]", NULL, "elementwise", 0, 24, 2 * (24 + 24), false},
    {"_C::gelu_quick", "[[4,6],[4,6]]", "[" BF "," BF "]", NULL, "elementwise", 0, 24, 2 * (24 + 24), false},
    {"sgl_kernel::gelu_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48,
     2 * (24 + 48), false},
    {"sgl_kernel::gelu_tanh_and_mul", "[[4,6],[4,12]]", "[" BF "," BF "]", NULL, "elementwise", 0, 48,
     2 * (24 + 48), false},
    /* to fp8 with a scale of each row */
    {"_C::dynamic_per_token_scaled_fp8_quant", "[[4,6],[4,6],[4,1],[]]", "[" F8 "," BF "," F32 ",\"\"]", NULL,
     "elementwise", 0, 48, 24 + 48 + 16, false},
    {"_C::dynamic_scaled_fp8_quant", "[[4,6],[4,6],[1]]", "[" F8 "," BF "," F32 "]", NULL, "elementwise", 0,
     48, 24 + 48 + 4, false},
    {"_C::static_scaled_int8_quant", "[[4,6],[4,6],[1]]", "[\"signed char\"," BF "," F32 "]", NULL,
     "elementwise", 0, 24, 24 + 48 + 4, false},
    {"_C::dynamic_scaled_int8_quant", "[[4,6],[4,6],[4,1]]", "[\"signed char\"," BF "," F32 "]", NULL,
     "elementwise", 0, 48, 24 + 48 + 16, false},
    {"_C::per_token_group_quant_int8", "[[4,8],[4,8],[4,2]]", "[" BF ",\"signed char\"," F32 "]", NULL,
     "elementwise", 0, 64, 64 + 32 + 32, false},
    {"_C::per_token_group_fp8_quant", "[[4,8],[4,8],[4,2]]", "[" BF "," F8 "," F32 "]", NULL, "elementwise",
     0, 64, 64 + 32 + 32, false},
    /* the residual is read and written */
    {"_C::fused_add_rms_norm_static_fp8_quant", "[[4,8],[4,8],[4,8],[8],[1]]",
     "[" F8 "," BF "," BF "," BF "," F32 "]", NULL, "normalisation", 0, 32 * 6, 32 + 64 + 64 + 16 + 4 + 64,
     false},
    {"_C::rms_norm_dynamic_per_token_quant", "[[4,8],[4,8],[8],[4,1],[],[],[4,8]]",
     "[" F8 "," BF "," BF "," F32 ",\"Scalar\",\"\"," BF "]", NULL, "normalisation", 0, 32 * 7,
     32 + 64 + 16 + 16 + 64 + 64, false},
    {"_C::rms_norm_dynamic_per_token_quant", "[[4,8],[4,8],[8],[4,1],[],[],[]]",
     "[" F8 "," BF "," BF "," F32 ",\"Scalar\",\"\",\"\"]", NULL, "normalisation", 0, 32 * 6,
     32 + 64 + 16 + 16, false},
    {"sgl_kernel::rmsnorm", "[[4,8],[4,8],[8]]", "[" BF "," BF "," BF "]", NULL, "normalisation", 0, 32 * 4,
     2 * (32 + 32 + 8), false},
    {"sgl_kernel::gemma_rmsnorm", "[[4,8],[4,8],[8]]", "[" BF "," BF "," BF "]", NULL, "normalisation", 0,
     32 * 5, 2 * (32 + 32 + 8), false},
    {"_C::rms_norm_static_fp8_quant", "[[4,8],[4,8],[8],[1]]", "[" F8 "," BF "," BF "," F32 "]", NULL,
     "normalisation", 0, 32 * 5, 32 + 64 + 16 + 4, false},
    {"sgl_kernel::fused_add_rmsnorm", "[[4,8],[4,8],[8]]", "[" BF "," BF "," BF "]", NULL, "normalisation", 0,
     32 * 5, 2 * (32 + 32) * 2 + 16, false},
    /* 3 tokens, 2 and 1 heads of 4: 3 rows of 4 of the table */
    {"sgl_kernel::apply_rope_pos_ids_cos_sin_cache", "[[3,2,4],[3,1,4],[3,2,4],[3,1,4],[100,4],[3]]",
     "[" BF "," BF "," BF "," BF "," F32 ",\"long int\"]", NULL, "rope", 0, 3 * (24 + 12),
     2 * 2 * (24 + 12) + 3 * 4 * 4 + 3 * 8, false},
    /* 2 x 3 by 3 x 5 in fp8, a scale each, a bias, bf16 out */
    {"_C::cutlass_scaled_mm", "[[2,5],[2,3],[3,5],[1],[1],[5]]",
     "[" BF "," F8 "," F8 "," F32 "," F32 "," BF "]", NULL, "gemm", 2 * 2 * 3 * 5, 10,
     6 + 15 + 4 + 4 + 2 * 10 + 10, false},
    {"_C::cutlass_scaled_mm", "[[2,5],[2,3],[4,5],[1],[1],[]]", "[" BF "," F8 "," F8 "," F32 "," F32 ",\"\"]",
     NULL, NULL, 0, 0, 0, false},
    /* 3 bytes hold 6 values; b is N x K */
    {"_C::cutlass_scaled_fp4_mm", "[[2,5],[2,3],[5,3],[2,1],[5,1],[1]]",
     "[" BF ",\"unsigned char\",\"unsigned char\"," F8 "," F8 "," F32 "]", NULL, "gemm", 2 * 2 * 6 * 5, 0,
     6 + 15 + 2 + 5 + 2 * 10, false},
    {"sgl_kernel::fp8_scaled_mm", "[[2,3],[3,5],[2,1],[1,5],[],[5]]",
     "[" F8 "," F8 "," F32 "," F32 ",\"Scalar\"," BF "]", "[\"\",\"\",\"\",\"\",\"15\",\"\"]", "gemm",
     2 * 2 * 3 * 5, 10, 6 + 15 + 8 + 20 + 2 * 10 + 10, false},
    /* the type of the result is not recorded */
    {"sgl_kernel::fp8_scaled_mm", "[[2,3],[3,5],[2,1],[1,5],[],[]]",
     "[" F8 "," F8 "," F32 "," F32 ",\"Scalar\",\"\"]", NULL, NULL, 0, 0, 0, false},
    /* 8 weights of 4 bits in a word: along N, and along K */
    {"_C::awq_gemm", "[[2,16],[16,3],[1,24],[1,3]]", "[" BF "," I32 "," BF "," I32 "]", NULL, "gemm",
     2 * 2 * 16 * 24, 0, 64 + 192 + 48 + 12 + 2 * 48, false},
    {"_C::gptq_gemm", "[[2,16],[2,24],[1,3],[1,24],[16]]", "[" BF "," I32 "," I32 "," BF "," I32 "]", NULL,
     "gemm", 2 * 2 * 16 * 24, 0, 64 + 192 + 12 + 48 + 64 + 2 * 48, false},
    {"_moe_C::topk_softmax", "[[4,2],[4,2],[4,2],[4,8]]", "[" F32 "," I32 "," I32 "," F32 "]", NULL,
     "softmax", 0, 160, 3 * 32 + 128, false},
    {"_moe_C::moe_sum", "[[4,3,8],[4,8]]", "[" BF "," BF "]", NULL, "mixture of experts", 0, 64,
     2 * (96 + 32), false},
    {"_moe_C::moe_sum", "[[4,3,8],[5,8]]", "[" BF "," BF "]", NULL, NULL, 0, 0, 0, false},
    /* 1 token takes 2 of 4 experts: 6 x 8 with the gate, then 8 x 3. Half of the weights are read */
    {"vllm::inplace_fused_experts", "[[1,8],[4,6,8],[4,8,3],[1,2],[1,2]]",
     "[" BF "," BF "," BF "," F32 "," I32 "]", NULL, "mixture of experts", 2 * 2 * 8 * 6 + 2 * 2 * 8 * 3,
     8 * 3, 2 * 8 + 2 * (96 + 48) + 8 + 8 + 2 * 8, true},
    /* 2 tokens: each expert is left out with (1/2) (1/2), so 3 of 4 are in use */
    {"sglang::outplace_fused_experts", "[[2,8],[4,3,8],[4,8,3],[2,2],[2,2]]",
     "[" BF "," BF "," BF "," F32 "," I32 "]", NULL, "mixture of experts", 2 * (2 * 2 * 2 * 8 * 3), 2 * 8 * 3,
     32 + 2 * (72 + 72) + 16 + 16 + 32, true},
    /* four bits: 4 bytes hold 8 values */
    {"vllm::outplace_fused_experts", "[[1,8],[4,12,4],[4,8,3],[1,4],[1,4]]",
     "[" BF ",\"unsigned char\",\"unsigned char\"," F32 "," I32 "]", NULL, "mixture of experts",
     4 * (2 * 8 * 12 + 2 * 8 * 6), 8 * 7, 16 + 192 + 96 + 16 + 16 + 16, true},
    /* weights of 2^63 bytes */
    {"vllm::inplace_fused_experts", "[[1,1],[2,1152921504606846976,1],[2,1,1152921504606846976],[1,2],[1,2]]",
     "[" BF ",\"double\",\"double\"," F32 "," I32 "]", NULL, NULL, 0, 0, 0, false},
    {"vllm::inplace_fused_experts", "[[1,8],[4,7,8],[4,8,3],[1,2],[1,2]]",
     "[" BF "," BF "," BF "," F32 "," I32 "]", NULL, NULL, 0, 0, 0, false},
    {"vllm::inplace_fused_experts", "[[1,8],[4,6,8],[4,8,3],[1,5],[1,5]]",
     "[" BF "," BF "," BF "," F32 "," I32 "]", NULL, NULL, 0, 0, 0, false},
    /* one sequence of 4 tokens, causal: 10 pairs, 2 heads of 8; a block table hides the lengths */
    {"_vllm_fa2_C::varlen_fwd", "[[4,2,8],[4,1,8],[4,1,8],[],[2],[2],[],[],[],[],[],[],[],[],[],[],[],[]]",
     "[" BF "," BF "," BF ",\"\"," I32 "," I32
     ",\"\",\"\",\"\",\"\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"4\",\"4\",\"0.\",\"0.1\",\"False\",\"True\",\"-1\",\"-1\"]",
     "attention", 2 * 2 * 10 * 16, 0, 2 * (64 + 32 + 32 + 64), false},
    {"_vllm_fa2_C::varlen_fwd", "[[4,2,8],[9,1,8],[9,1,8],[],[2],[2],[],[],[1,3]]",
     "[" BF "," BF "," BF ",\"\"," I32 "," I32 ",\"\",\"\"," I32 "]", NULL, NULL, 0, 0, 0, false},
    /* two sequences of 3 and 1 tokens: the longest is at place 10 */
    {"_vllm_fa2_C::varlen_fwd", "[[4,2,8],[4,1,8],[4,1,8],[],[3],[3],[],[],[],[],[],[],[],[],[],[],[],[]]",
     "[" BF "," BF "," BF ",\"\"," I32 "," I32
     ",\"\",\"\",\"\",\"\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"3\",\"3\",\"0.\",\"0.1\",\"False\",\"True\",\"-1\",\"-1\"]",
     "attention", 2 * 2 * 7 * 16, 0, 2 * (64 + 32 + 32 + 64), true},
    /* no annotation says how long the sequences are */
    {"vllm::unified_attention_with_output", "[[4,2,8],[4,1,8],[4,1,8],[4,2,8]]",
     "[" BF "," BF "," BF "," BF "]", NULL, NULL, 0, 0, 0, false},
};

static rs_model ask(const line *l, const rs_batch *batch, rs_arena *arena)
{
    rs_argument_texts texts = {l->dims, l->types, NULL, l->concrete};
    rs_op_arguments arguments;
    uint16_t model = rs_model_find(l->name);
    assert_int_not_equal(model, RS_NO_MODEL);
    assert_int_equal(rs_op_arguments_read(&texts, arena, &arguments, NULL), RS_OK);
    assert_null(arguments.batch);
    arguments.batch = batch;
    return rs_model_answer(model, false, &arguments);
}

TEST(test_table)
{
    rs_arena arena = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const line *l = &lines[i];
        rs_model m = ask(l, NULL, &arena);
        if (!l->family != !m.family || (l->family && strcmp(l->family, m.family) != 0))
            fail_msg("line %zu, %s: %s", i, l->name, m.family ? m.family : "no answer");
        if (!l->family) continue;
        if (m.matrix != l->matrix || m.vector != l->vector || m.bytes != l->bytes || m.lower != l->lower)
            fail_msg("line %zu, %s: %lld matrix, %lld vector, %lld bytes", i, l->name, (long long)m.matrix,
                     (long long)m.vector, (long long)m.bytes);
    }
    rs_arena_clear(&arena);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

typedef struct sequence {
    int64_t queries, keys;
} sequence;

/* The pairs one by one: query i of q sees the tokens before it, and itself. */
static int64_t count_pairs(const sequence *s, size_t n)
{
    int64_t pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (int64_t q = 0; q < s[i].queries; q++) pairs += s[i].keys - s[i].queries + q + 1;
    return pairs;
}

static int put_sums(char *out, size_t room, const sequence *s, size_t n)
{
    long long q = 0, k = 0, squares = 0, products = 0;
    for (size_t i = 0; i < n; i++) {
        q += s[i].queries;
        k += s[i].keys;
        squares += s[i].queries * s[i].queries;
        products += s[i].queries * s[i].keys;
    }
    return snprintf(out, room, "%zu(sq%lldsk%lldsqsq%lldsqsk%lld)", n, q, k, squares, products);
}

TEST(test_batches)
{
    static const sequence context[] = {{5, 5}, {3, 17}, {1, 9}}, generation[] = {{1, 4}, {1, 40}};
    char one[128], two[128], name[320];
    put_sums(one, sizeof one, context, 3);
    put_sums(two, sizeof two, generation, 2);
    snprintf(name, sizeof name, "execute_5_context_%s_generation_%s", one, two);
    rs_batch b = {-1, -1};
    assert_true(rs_batch_read(name, &b));
    assert_int_equal(b.queries, 11);
    assert_int_equal(b.pairs, count_pairs(context, 3) + count_pairs(generation, 2));

    static const char *const others[] = {
        "",
        "step[DECODE bs=32]",
        "execute_context_1(888)_generation_0(0)",
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32)",
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk-1)",
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk99999999999999999999sqsq32sqsk55086)",
        "execute_1_context_1(sq9sk9sqsq3sqsk81)_generation_0(sq0sk0sqsq0sqsk0)", /* squares below their roots */
        "execute_1_context_1(sq9sk3sqsq81sqsk81)_generation_0(sq0sk0sqsq0sqsk0)", /* more queries than keys */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(rs_batch_read(others[i], &b));
    assert_int_equal(b.queries, 11);
}

TEST(test_attention_of_batch)
{
    rs_arena arena = {0};
    const rs_batch batch = {.queries = 4, .pairs = 100};
    line l = {.name = "vllm::unified_attention_with_output",
              .dims = "[[6,2,8],[6,1,8],[6,1,4],[6,2,4]]",
              .types = "[" BF "," BF "," BF "," BF "]"};
    rs_model m = ask(&l, &batch, &arena);
    assert_string_equal(m.family, "attention");
    assert_int_equal(m.matrix, 2 * 100 * 2 * (8 + 4));
    assert_true(m.has_flops);
    assert_false(m.has_bytes);                    /* nothing tells the cache's type */
    l.dims = "[[3,2,8],[3,1,8],[3,1,4],[3,2,4]]"; /* fewer queries than the batch has */
    assert_null(ask(&l, &batch, &arena).family);
    l.name = "_C::paged_attention_v1";
    l.dims = "[[4,2,8],[4,2,8],[9,1,1,16,8]]";
    assert_int_equal(ask(&l, &batch, &arena).matrix, 2 * 2 * 100 * 16);
    rs_arena_clear(&arena);
}

static uint32_t add_attention(builder *b, int64_t start)
{
    uint32_t row = add_row(b, 'X', "cpu_op", "vllm::unified_attention_with_output", 1, 1, start, 50);
    add_text(b, RS_COL_INPUT_DIMS, "[[6,2,8],[6,1,8],[6,1,8],[6,2,8]]");
    add_text(b, RS_COL_INPUT_TYPE, "[" BF "," BF "," BF "," BF "]");
    return row;
}

/* The annotation that was open at the operator's start counts; equal arguments have different answers. */
TEST(test_annotation_of_operator)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation",
            "execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk50sqsq2sqsk50)", 1, 1, 1000, 500);
    add_row(&b, 'X', "user_annotation", "forward", 1, 1, 1010, 400);
    uint32_t first = add_attention(&b, 1100);
    uint32_t between = add_attention(&b, 1500);
    add_row(&b, 'X', "user_annotation",
            "execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk70sqsq2sqsk70)", 1, 1, 2000, 500);
    uint32_t second = add_attention(&b, 2000);
    uint32_t before = add_attention(&b, 900);
    rs_trace t;
    rs_trace_init(&t, b.e, NULL, b.e->n);
    rs_op_shapes *shapes;
    assert_int_equal(rs_trace_shapes(&t, &shapes, NULL), RS_OK);
    const struct {
        uint32_t row;
        int64_t pairs;
    } want[] = {{first, 50}, {between, 0}, {second, 70}, {before, 0}, {first, 50}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint32_t answer;
        assert_int_equal(rs_shapes_ask(shapes, want[i].row, false, &answer, NULL), RS_OK);
        assert_int_equal(answer != RS_NO_ANSWER, want[i].pairs != 0);
        if (want[i].pairs)
            assert_int_equal(rs_shapes_at(shapes, answer)->model.matrix, 2 * want[i].pairs * 2 * 16);
    }
    rs_trace_clear(&t);
    rs_events_free(b.e);
}
