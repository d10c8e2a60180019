/* Rows of the performance models whose places and FLOPs no other test asks for: one line each, with its arithmetic. */
#include <stdio.h>
#include <string.h>

#include "perf/models.h"
#include "unit.h"

#define BF "\"c10::BFloat16\""
#define F32 "\"float\""
#define FULL false
#define LOWER true

typedef struct line {
    const char *name, *dims, *types, *strides, *concrete, *family;
    int64_t matrix, vector, bytes;
    bool lower;
} line;

static const line lines[] = {
    /* the forms without "transposed"; defaults are not recorded */
    {"aten::conv1d", "[[1,2,5],[4,2,3],[],[],[],[],[]]",
     "[" F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"1\"]", "convolution", 2 * 12 * 6, 0, 4 * (10 + 24 + 12),
     FULL},
    {"aten::conv2d", "[[1,2,5,5],[4,2,3,3],[4],[],[],[],[]]",
     "[" F32 "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"1\"]", "convolution", 2 * 36 * 18, 36,
     4 * (50 + 72 + 4 + 36), FULL},
    {"aten::conv3d", "[[1,1,3,3,3],[2,1,2,2,2],[],[],[],[],[]]",
     "[" F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"[1, 1, 1]\",\"[0, 0, 0]\",\"[1, 1, 1]\",\"1\"]", "convolution", 2 * 16 * 8, 0,
     4 * (27 + 16 + 16), FULL},
    /* two groups of two channels each */
    {"aten::conv1d", "[[1,4,5],[4,2,3],[],[],[],[],[]]",
     "[" F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"\",\"2\"]", "convolution", 2 * 12 * 6, 0, 4 * (20 + 24 + 12), FULL},
    {"aten::_convolution", "[[1,2,3],[2,4,2],[],[],[],[],[],[],[]]",
     "[" F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"[2]\",\"[0]\",\"[1]\",\"True\",\"[0]\",\"1\"]", "convolution", 2 * 6 * 8, 0,
     4 * (6 + 16 + 24), FULL},
    {"aten::vdot", "[[7],[7]]", "[" F32 "," F32 "]", NULL, NULL, "gemm", 2 * 7, 0, 4 * (7 + 7 + 1), FULL},
    {"aten::dot", "[[7],[7]]", "[" F32 "," F32 "]", NULL, NULL, "gemm", 2 * 7, 0, 4 * (7 + 7 + 1), FULL},
    {"aten::mv", "[[5,3],[3]]", "[" F32 "," F32 "]", NULL, NULL, "gemm", 2 * 5 * 3, 0, 4 * (15 + 3 + 5),
     FULL},
    {"aten::addmv", "[[5],[5,3],[3]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, "gemm", 2 * 5 * 3, 5,
     4 * (5 + 15 + 3 + 5), FULL},
    {"aten::_addmm_activation", "[[5],[2,3],[3,5]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, "gemm", 60, 10,
     4 * (5 + 6 + 15 + 10), FULL},
    {"aten::baddbmm", "[[7,2,5],[7,2,3],[7,3,5]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, "gemm",
     2 * 70 * 3, 70, 4 * (70 + 42 + 105 + 70), FULL},
    /* a scale of each row and of each column of each group; bf16 out */
    {"aten::_scaled_grouped_mm", "[[8,6],[3,6,5],[8],[3,5],[3],[],[],[],[]]",
     "["
     "\"c10::Float8_e4m3fn\""
     ","
     "\"c10::Float8_e4m3fn\""
     "," F32 "," F32 ","
     "\"int\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"15\",\"False\"]", "grouped gemm", 2 * 8 * 6 * 5, 0,
     48 + 90 + 32 + 60 + 12 + 2 * 40, FULL},
    {"vllm::rocm_unquantized_gemm", "[[2,3,4],[5,4],[5]]", "[" BF "," BF "," BF "]", NULL, NULL, "gemm",
     2 * 6 * 5 * 4, 30, 2 * (24 + 20 + 5 + 30), FULL},
    {"aten::fill_", "[[8],[]]",
     "[" BF ","
     "\"Scalar\""
     "]",
     NULL, NULL, "copy", 0, 0, 16, FULL},
    {"aten::zero_", "[[8]]", "[" BF "]", NULL, NULL, "copy", 0, 0, 16, FULL},
    {"aten::masked_fill_", "[[4,4],[4,4],[]]",
     "[" BF ","
     "\"bool\""
     ","
     "\"Scalar\""
     "]",
     NULL, NULL, "elementwise", 0, 0, 32 + 16 + 32, FULL},
    {"_C::static_scaled_fp8_quant", "[[4,6],[4,6],[1]]",
     "["
     "\"c10::Float8_e4m3fn\""
     "," BF "," F32 "]",
     NULL, NULL, "elementwise", 0, 24, 24 + 48 + 4, FULL},
    {"aten::native_group_norm", "[[2,4,3],[4],[4],[],[],[],[],[],[]]",
     "[" F32 "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 24 * 8, 4 * (24 + 4 + 4 + 24), FULL},
    {"aten::instance_norm", "[[2,4,3],[4],[4],[],[],[],[],[],[]]",
     "[" F32 "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 24 * 8, 4 * (24 + 4 + 4 + 24), FULL},
    {"aten::group_norm", "[[2,4,3],[],[4],[4],[],[]]",
     "[" F32 ","
     "\"\""
     "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 24 * 8, 4 * (24 + 4 + 4 + 24), FULL},
    {"aten::native_layer_norm", "[[4,8],[],[8],[],[]]",
     "[" BF ","
     "\"\""
     "," BF ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 32 * 7, 2 * (32 + 8 + 32), FULL},
    {"aten::native_batch_norm", "[[4,2,3],[2],[2],[2],[2]]", "[" F32 "," F32 "," F32 "," F32 "," F32 "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"True\"]", "normalisation", 0, 24 * 8, 4 * (24 + 8 + 24 + 4), FULL},
    {"aten::cudnn_batch_norm", "[[4,2,3],[2],[2],[2],[2]]", "[" F32 "," F32 "," F32 "," F32 "," F32 "]", NULL,
     "[\"\",\"\",\"\",\"\",\"\",\"True\"]", "normalisation", 0, 24 * 8, 4 * (24 + 8 + 24 + 4), FULL},
    {"aten::miopen_batch_norm", "[[4,2,3],[2],[2],[2],[2]]", "[" F32 "," F32 "," F32 "," F32 "," F32 "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"True\"]", "normalisation", 0, 24 * 8, 4 * (24 + 8 + 24 + 4), FULL},
    {"aten::rms_norm", "[[4,8],[],[8],[]]",
     "[" BF ","
     "\"\""
     "," BF ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 32 * 4, 2 * (32 + 8 + 32), FULL},
    {"aten::_fused_rms_norm", "[[4,8],[],[8],[]]",
     "[" BF ","
     "\"\""
     "," BF ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 32 * 4, 2 * (32 + 8 + 32), FULL},
    /* 9 for the input, 1 more with a weight, whose gradient takes 2; 1 for that of the bias */
    {"aten::native_batch_norm_backward", "[[4,2,3],[4,2,3],[2],[2],[2],[2],[2],[],[],[]]",
     "[" F32 "," F32 "," F32 "," F32 "," F32 "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"True\",\"1e-5\",\"[True, True, True]\"]",
     "normalisation backward", 0, 24 * (9 + 1 + 2 + 1), 4 * (24 + 24 + 5 * 2 + 24 + 2 + 2), FULL},
    {"aten::native_batch_norm_backward", "[[4,2,3],[4,2,3],[2],[2],[2],[2],[2],[],[],[]]",
     "[" F32 "," F32 "," F32 "," F32 "," F32 "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"False\",\"1e-5\",\"[True, False, False]\"]",
     "normalisation backward", 0, 24, 4 * (24 + 24 + 5 * 2 + 24), FULL},
    {"aten::native_group_norm_backward", "[[2,4,3],[2,4,3],[2,2],[2,2],[4],[],[],[],[],[]]",
     "[" F32 "," F32 "," F32 "," F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"2\",\"4\",\"3\",\"2\",\"[True, True, True]\"]",
     "normalisation backward", 0, 24 * (9 + 1 + 2 + 1), 4 * (24 + 24 + 4 + 4 + 4 + 24 + 4 + 4), FULL},
    {"aten::_fused_rms_norm_backward", "[[4,8],[4,8],[],[4,1],[8],[]]",
     "[" F32 "," F32 ","
     "\"\""
     "," F32 "," F32 ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"[8]\",\"\",\"\",\"[True, True]\"]", "normalisation backward", 0, 32 * (7 + 1 + 2),
     4 * (32 + 32 + 4 + 8 + 32 + 8), FULL},
    {"aten::cudnn_batch_norm_backward", "[[4,2,3],[4,2,3],[2],[2],[2],[2],[2],[]]",
     "[" F32 "," F32 "," F32 "," F32 "," F32 "," F32 "," F32 ","
     "\"\""
     "]",
     NULL, NULL, "normalisation backward", 0, 24 * (9 + 1 + 2 + 1), 4 * (24 + 24 + 5 * 2 + 24 + 2 + 2), FULL},
    {"aten::miopen_batch_norm_backward", "[[4,2,3],[4,2,3],[2],[2],[2],[2],[2],[]]",
     "[" F32 "," F32 "," F32 "," F32 "," F32 "," F32 "," F32 ","
     "\"\""
     "]",
     NULL, NULL, "normalisation backward", 0, 24 * (9 + 1 + 2 + 1), 4 * (24 + 24 + 5 * 2 + 24 + 2 + 2), FULL},
    {"_C::rms_norm", "[[4,8],[4,8],[8],[]]",
     "[" BF "," BF "," BF ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 32 * 4, 2 * (32 + 32 + 8), FULL},
    /* both are read and written */
    {"_C::fused_add_rms_norm", "[[4,8],[4,8],[8],[]]",
     "[" BF "," BF "," BF ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 32 * 5, 2 * (2 * (32 + 32) + 8), FULL},
    {"sgl_kernel::gemma_fused_add_rmsnorm", "[[4,8],[4,8],[8],[]]",
     "[" BF "," BF "," BF ","
     "\"\""
     "]",
     NULL, NULL, "normalisation", 0, 32 * 6, 2 * (2 * (32 + 32) + 8), FULL},
    {"aten::index_select", "[[10,8],[],[3]]",
     "[" BF ","
     "\"\""
     ","
     "\"long int\""
     "]",
     NULL, "[\"\",\"0\",\"\"]", "embedding", 0, 0, 3 * 8 + 2 * 24 * 2, FULL},
    {"aten::_softmax", "[[4,8],[],[]]",
     "[" BF ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"1\",\"False\"]", "softmax", 0, 160, 64 + 64, FULL},
    {"aten::_softmax_backward_data", "[[4,8],[4,8],[],[]]",
     "[" F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"1\",\"6\"]", "softmax backward", 0, 128, 3 * 128, FULL},
    /* of a half input */
    {"aten::_log_softmax_backward_data", "[[4,8],[4,8],[],[]]",
     "[" F32 "," F32 ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"1\",\"5\"]", "softmax backward", 0, 128, 2 * 128 + 64, FULL},
    {"aten::nll_loss_backward", "[[4],[4,100],[4],[],[],[],[1]]",
     "[" F32 "," F32 ","
     "\"long int\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "," F32 "]",
     NULL, "[\"\",\"\",\"\",\"\",\"0\",\"-100\",\"\"]", "loss backward", 0, 4, 16 + 32 + 4 + 1600, FULL},
    {"aten::mse_loss_backward", "[[4],[4],[4],[]]",
     "[" F32 "," F32 "," F32 ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"0\"]", "loss backward", 0, 12, 4 * 16, FULL},
    {"aten::embedding_dense_backward", "[[5,8],[5],[],[],[]]",
     "[" BF ","
     "\"long int\""
     ","
     "\"\""
     ","
     "\"\""
     ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"1000\",\"-1\",\"False\"]", "embedding backward", 0, 40, 80 + 40 + 2 * 8000, FULL},
    {"CrossEntropyFunction", "[[4,100],[4]]",
     "[" BF ","
     "\"long int\""
     "]",
     NULL, NULL, "loss", 0, 2000, 800 + 32 + 16, FULL},
    {"FusedRoPEFunc", "[[3,2,4],[3,4]]", "[" BF "," F32 "]", NULL, NULL, "rope", 0, 72, 2 * 48 + 48, FULL},
    {"sgl_kernel::rotary_embedding", "[[3],[3,8],[3,4],[],[100,4]]",
     "["
     "\"long int\""
     "," BF "," BF ","
     "\"\""
     "," BF "]",
     NULL, NULL, "rope", 0, 3 * (24 + 12), 24 + 2 * 2 * (24 + 12) + 3 * 4 * 2, FULL},
    {"causal_conv1d_fwd", "[[2,3,5],[3,4],[3]]", "[" BF "," BF "," BF "]", NULL, NULL, "ssm", 0, 2 * 30 * 4,
     2 * (30 + 12 + 3 + 30), FULL},
    {"DaoAILab::_causal_conv1d_fwd_cpp", "[[2,3,5],[3,4],[3]]", "[" BF "," BF "," BF "]", NULL, NULL, "ssm",
     0, 2 * 30 * 4, 2 * (30 + 12 + 3 + 30), FULL},
    {"aiter::_flash_attn_forward", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"1\",\"1\"]", "attention", 2 * 2 * 11 * 16, 0, 2 * 2 * 8 * 20,
     FULL},
    {"aiter::mha_fwd", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"1\",\"1\"]", "attention", 2 * 2 * 11 * 16, 0, 2 * 2 * 8 * 20,
     FULL},
    {"aiter::fmha_v3_fwd", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"1\",\"1\"]", "attention", 2 * 2 * 11 * 16, 0, 2 * 2 * 8 * 20,
     FULL},
    {"FlashAttnFunc", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"1\",\"1\"]", "attention", 2 * 2 * 11 * 16, 0, 2 * 2 * 8 * 20,
     FULL},
    /* 16 pairs: one to the left and one to the right */
    {"FlashAttnFunc's gradient", "[[1,6,4,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"1\",\"1\"]", "attention backward", 2 * 4 * 16 * 5 * 8, 0,
     2 * 8 * 6 * (4 * 4 + 4 * 2), FULL},
    {"FlashAttnFunc's gradient", "[[1,6,4,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"True\",\"-1\",\"-1\"]", "attention backward", 2 * 4 * 21 * 5 * 8, 0,
     2 * 8 * 6 * (4 * 4 + 4 * 2), FULL},
    {"sglang::inplace_fused_experts", "[[1,8],[4,6,8],[4,8,3],[1,2],[1,2]]",
     "[" BF "," BF "," BF "," F32 ","
     "\"int\""
     "]",
     NULL, NULL, "mixture of experts", 2 * 2 * 8 * 6 + 2 * 2 * 8 * 3, 8 * 3,
     2 * 8 + 2 * (96 + 48) + 8 + 8 + 2 * 8, LOWER},
    {"sgl_kernel::topk_softmax", "[[4,2],[4,2],[4,8]]",
     "[" F32 ","
     "\"int\""
     "," F32 "]",
     NULL, NULL, "softmax", 0, 160, 32 + 32 + 128, FULL},
    {"sgl_kernel::moe_sum", "[[4,3,8],[4,8]]", "[" BF "," BF "]", NULL, NULL, "mixture of experts", 0, 64,
     2 * (96 + 32), FULL},
    {"sgl_kernel::fp8_blockwise_scaled_mm", "[[2,3],[3,5],[2,1],[1,1],[]]",
     "["
     "\"c10::Float8_e4m3fn\""
     ","
     "\"c10::Float8_e4m3fn\""
     "," F32 "," F32 ","
     "\"\""
     "]",
     NULL, "[\"\",\"\",\"\",\"\",\"15\"]", "gemm", 2 * 2 * 3 * 5, 0, 6 + 15 + 8 + 4 + 2 * 10, FULL},
    {"sgl_kernel::int8_scaled_mm", "[[2,3],[3,5],[2,1],[1,5],[],[5]]",
     "["
     "\"signed char\""
     ","
     "\"signed char\""
     "," F32 "," F32 ","
     "\"\""
     "," BF "]",
     NULL, "[\"\",\"\",\"\",\"\",\"15\",\"\"]", "gemm", 2 * 2 * 3 * 5, 10, 6 + 15 + 8 + 20 + 2 * 10 + 10,
     FULL},
    {"_C::cutlass_scaled_mm_azp", "[[2,5],[2,3],[3,5],[1],[1],[5],[1],[5]]",
     "[" BF ","
     "\"signed char\""
     ","
     "\"signed char\""
     "," F32 "," F32 ","
     "\"int\""
     ","
     "\"int\""
     "," BF "]",
     NULL, NULL, "gemm", 2 * 2 * 3 * 5, 10, 6 + 15 + 4 + 4 + 20 + 4 + 2 * 10 + 10, FULL},
    {"_C::scaled_fp4_quant", "[[4,4],[4,8],[4,1],[1]]",
     "["
     "\"unsigned char\""
     "," BF ","
     "\"c10::Float8_e4m3fn\""
     "," F32 "]",
     NULL, NULL, "elementwise", 0, 64, 16 + 64 + 4 + 4, FULL},
};

TEST(test_rows)
{
    rs_arena arena = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const line *l = &lines[i];
        rs_argument_texts texts = {l->dims, l->types, l->strides, l->concrete};
        rs_op_arguments arguments;
        uint16_t model = rs_model_find(l->name);
        assert_int_not_equal(model, RS_NO_MODEL);
        assert_int_equal(rs_op_arguments_read(&texts, &arena, &arguments, NULL), RS_OK);
        rs_model m = rs_model_answer(model, l->name[strlen(l->name) - 1] == '_', &arguments);
        if (!m.family || strcmp(l->family, m.family) != 0)
            fail_msg("line %zu, %s: %s", i, l->name, m.family ? m.family : "no answer");
        if (m.matrix != l->matrix || m.vector != l->vector || m.bytes != l->bytes)
            fail_msg("line %zu, %s: %lld matrix, %lld vector, %lld bytes", i, l->name, (long long)m.matrix,
                     (long long)m.vector, (long long)m.bytes);
        assert_true(m.has_flops && m.has_bytes);
        assert_int_equal(m.lower, l->lower);
    }
    rs_arena_clear(&arena);
}

/* What is done element by element, of 6 whole numbers of 8 bytes an operand: FLOPs an element, bytes of one element of
 * the result (PyTorch's promotion: to float32, to bool, or as it was). */
TEST(test_elements)
{
    static const struct {
        int operands, flops, result;
        const char *names;
    } kinds[] = {
        {1, 1, 8,
         "abs neg relu silu gelu floor ceil trunc round sign square clamp clamp_min clamp_max hardtanh leaky_relu mish "
         "softplus elu"},
        {1, 1, 4, "exp exp2 log log1p sqrt rsqrt reciprocal sigmoid tanh erf sin cos"},
        {2, 1, 8,
         "add sub mul maximum minimum pow atan2 fmod remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
         "bitwise_right_shift threshold_backward sigmoid_backward tanh_backward gelu_backward silu_backward "
         "hardtanh_backward leaky_relu_backward elu_backward"},
        {2, 1, 4, "div"},
        {2, 1, 1, "logical_and logical_or logical_xor eq ne lt le gt ge"},
        {3, 3, 8, "addcmul addcdiv lerp"},
    };
    static const char *const dims[] = {"[[3,2]]", "[[3,2],[3,2]]", "[[3,2],[3,2],[3,2]]"};
    static const char *const types[] = {"[\"long int\"]", "[\"long int\",\"long int\"]",
                                        "[\"long int\",\"long int\",\"long int\"]"};
    rs_arena arena = {0};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int n = kinds[k].operands;
        rs_argument_texts texts = {dims[n - 1], types[n - 1], NULL, NULL};
        rs_op_arguments arguments;
        assert_int_equal(rs_op_arguments_read(&texts, &arena, &arguments, NULL), RS_OK);
        for (const char *at = kinds[k].names; *at; at += strcspn(at, " "), at += *at == ' ') {
            char name[64];
            snprintf(name, sizeof name, "aten::%.*s", (int)strcspn(at, " "), at);
            uint16_t model = rs_model_find(name);
            if (model == RS_NO_MODEL) fail_msg("%s: no model", name);
            rs_model m = rs_model_answer(model, false, &arguments);
            if (!m.family || strcmp(m.family, "elementwise") != 0 || m.matrix ||
                m.vector != 6 * kinds[k].flops || m.bytes != 6 * (8 * n + kinds[k].result))
                fail_msg("%s: %s, %lld FLOPs, %lld bytes", name, m.family ? m.family : "no answer",
                         (long long)m.vector, (long long)m.bytes);
        }
    }
    rs_arena_clear(&arena);
}
