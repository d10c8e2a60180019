/* The models of operators against arithmetic done by hand: each product below is spelled out from the
 * operator's definition. */
#include <string.h>

#include "builder.h"
#include "perf/devices.h"
#include "perf/models.h"
#include "perf/owner.h"
#include "unit.h"

#define BF "\"c10::BFloat16\""
#define F32 "\"float\""
#define FULL 1
#define LOWER 2
#define NO_FLOPS 4
#define NO_BYTES 8

typedef struct line {
    const char *name, *dims, *types, *strides, *concrete;
    const char *family; /* NULL: no answer */
    int64_t matrix, vector, bytes;
    unsigned how;
} line;

static const line lines[] = {
    /* 2 x 2*3*5 multiply-adds; (6 + 15 + 10) elements of two bytes */
    {"aten::mm", "[[2,3],[3,5]]", "[" BF "," BF "]", NULL, NULL, "gemm", 2 * 2 * 3 * 5, 0, 2 * (6 + 15 + 10),
     FULL},
    /* the inner dimensions differ */
    {"aten::mm", "[[2,3],[4,5]]", "[" BF "," BF "]", NULL, NULL, NULL, 0, 0, 0, 0},
    /* types without shapes, shapes without types */
    {"aten::mm", "[[],[]]", "[" BF "," BF "]", NULL, NULL, NULL, 0, 0, 0, 0},
    {"aten::mm", "[[2,3],[3,5]]", "[\"\",\"\"]", NULL, NULL, NULL, 0, 0, 0, 0},
    {"aten::mm", NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0},
    {"aten::mm", "[[2,-3],[-3,5]]", "[" BF "," BF "]", NULL, NULL, NULL, 0, 0, 0, 0},
    {"aten::mm", "[[4611686018427387904,4],[4,4]]", "[" BF "," BF "]", NULL, NULL, NULL, 0, 0, 0, 0},
    /* the bias as recorded: a row, a matrix */
    {"aten::addmm", "[[5],[2,3],[3,5]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, "gemm", 60, 10,
     4 * (5 + 6 + 15 + 10), FULL},
    {"aten::addmm", "[[2,5],[2,3],[3,5]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, "gemm", 60, 10,
     4 * (10 + 6 + 15 + 10), FULL},
    /* an expanded operand counts once: 7 x 3 of it are one 3 x 5 */
    {"aten::bmm", "[[7,2,3],[7,3,5]]", "[" F32 "," F32 "]", "[[6,3,1],[0,5,1]]", NULL, "gemm",
     2 * 7 * 2 * 3 * 5, 0, 4 * (42 + 15 + 70), FULL},
    {"aten::mv", "[[4,6],[6]]", "[" F32 "," F32 "]", NULL, NULL, "gemm", 2 * 4 * 6, 0, 4 * (24 + 6 + 4),
     FULL},
    {"aten::dot", "[[9],[9]]", "[" F32 "," F32 "]", NULL, NULL, "gemm", 18, 0, 4 * (9 + 9 + 1), FULL},
    {"aten::_int_mm", "[[2,3],[3,5]]", "[\"signed char\",\"signed char\"]", NULL, NULL, "gemm", 60, 0,
     6 + 15 + 4 * 10, FULL},
    /* fp4: 3 bytes hold 6 values; bf16 out */
    {"aten::_scaled_mm", "[[2,3],[3,5],[2,1],[1,5],[],[],[],[]]",
     "[\"c10::Float4_e2m1fn_x2\",\"c10::Float4_e2m1fn_x2\",\"c10::Float8_e8m0fnu\",\"c10::Float8_e8m0fnu\","
     "\"\",\"\",\"Scalar\",\"Scalar\"]",
     NULL, "[\"\",\"\",\"\",\"\",\"\",\"\",\"15\",\"False\"]", "gemm", 2 * 2 * 6 * 5, 0,
     6 + 15 + 2 + 5 + 2 * 10, FULL},
    /* three groups along the common dimension: one product's work, three results; 3 offsets of 4 bytes */
    {"aten::_grouped_mm", "[[2,6],[6,5],[3]]", "[" BF "," BF ",\"int\"]", NULL, NULL, "grouped gemm",
     2 * 2 * 6 * 5, 0, 2 * (12 + 30 + 3 * 10) + 12, FULL},
    {"aten::_grouped_mm", "[[8,6],[3,6,5],[3]]", "[" BF "," BF ",\"int\"]", NULL, NULL, "grouped gemm",
     2 * 8 * 6 * 5, 0, 2 * (48 + 90 + 40) + 12, FULL},
    {"aten::_grouped_mm", "[[3,8,6],[3,6,5]]", "[" BF "," BF "]", NULL, NULL, "grouped gemm",
     2 * 3 * 8 * 6 * 5, 0, 2 * (144 + 90 + 120), FULL},
    /* 5 wide, kernel 3, stride 2, padding 1: (5 + 2 - 2 - 1) / 2 + 1 = 3 wide; 4 channels out of 2 */
    {"aten::convolution", "[[1,2,5,5],[4,2,3,3],[4],[],[],[],[],[],[]]",
     "[" F32 "," F32 "," F32 ",\"\",\"\",\"\",\"\",\"\",\"\"]", NULL,
     "[\"\",\"\",\"\",\"[2, 2]\",\"1\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]", "convolution", 2 * 36 * 18,
     36, 4 * (50 + 72 + 4 + 36), FULL},
    /* a kernel of one element: each of 5 results is 2 products */
    {"aten::convolution", "[[1,2,5],[4,2,1],[],[],[],[],[],[],[]]",
     "[" F32 "," F32 ",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]", NULL,
     "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"False\",\"[0]\",\"1\"]", "convolution", 2 * 20 * 2, 0,
     4 * (10 + 8 + 20), FULL},
    /* transposed: (3 - 1) * 2 - 0 + 1 + 0 + 1 = 6 wide */
    {"aten::convolution", "[[1,2,3],[2,4,2],[],[],[],[],[],[],[]]",
     "[" F32 "," F32 ",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]", NULL,
     "[\"\",\"\",\"\",\"[2]\",\"[0]\",\"[1]\",\"True\",\"[0]\",\"1\"]", "convolution", 2 * 6 * 8, 0,
     4 * (6 + 16 + 24), FULL},
    /* only the weight's gradient is asked for */
    {"aten::convolution_backward", "[[1,4,3],[1,2,5],[4,2,3]]", "[" F32 "," F32 "," F32 "]", NULL,
     "[\"\",\"\",\"\",\"[4]\",\"[1]\",\"[0]\",\"[1]\",\"False\",\"[0]\",\"1\",\"[False, True, False]\"]",
     "convolution backward", 2 * 12 * 6, 0, 4 * (12 + 10 + 24), FULL},
    {"aten::convolution_backward", "[[1,4,3],[1,2,5],[4,2,3]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, NULL,
     0, 0, 0, 0},
    /* 4 queries, 6 keys: all 24 pairs; q, k, v, o of 2 heads of 8 */
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,2,6,8],[1,2,6,8]]", "[" BF "," BF "," BF "]",
     NULL, "[\"\",\"\",\"\",\"0.\",\"False\",\"False\",\"\"]", "attention", 2 * 2 * 24 * 16, 0,
     2 * 2 * 8 * (4 + 6 + 6 + 4), FULL},
    /* causal from the start: 1 + 2 + 3 + 4 pairs */
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,2,6,8],[1,2,6,8]]", "[" BF "," BF "," BF "]",
     NULL, "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\"]", "attention", 2 * 2 * 10 * 16, 0,
     2 * 2 * 8 * (4 + 6 + 6 + 4), FULL},
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,2,6,8],[1,2,6,8]]", "[" BF "," BF "," BF "]",
     NULL, NULL, NULL, 0, 0, 0, 0},
    /* causal from the end: 3 + 4 + 5 + 6 */
    {"flash_attn::_flash_attn_forward", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"True\",\"-1\",\"-1\"]", "attention", 2 * 2 * 18 * 16, 0,
     2 * 2 * 8 * 20, FULL},
    /* and a window of one key to the left: 2 each */
    {"flash_attn::_flash_attn_forward", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"True\",\"1\",\"0\"]", "attention", 2 * 2 * 8 * 16, 0, 2 * 2 * 8 * 20,
     FULL},
    /* one to the left and one to the right of the same places, 3 keys each but 2 at the last */
    {"flash_attn::_flash_attn_forward", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", "[" BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"1\",\"1\"]", "attention", 2 * 2 * 11 * 16, 0, 2 * 2 * 8 * 20,
     FULL},
    /* 10 tokens in 3 sequences, the longest of 4: 16 + 9 + 9 pairs at least */
    {"flash_attn::_flash_attn_varlen_forward", "[[10,2,8],[10,2,8],[10,2,8],[4],[4]]",
     "[" BF "," BF "," BF ",\"int\",\"int\"]", NULL,
     "[\"\",\"\",\"\",\"\",\"\",\"4\",\"4\",\"0.\",\"0.1\",\"False\",\"-1\",\"-1\"]", "attention",
     2 * 2 * 34 * 16, 0, 2 * 2 * 8 * 40, LOWER},
    /* 5 products over 36 pairs; q, o, do, dq of 6 x 4 heads, k, v, dk, dv of 6 x 2 heads, 8 deep */
    {"flash_attn::_flash_attn_backward", "[[1,6,4,8],[1,6,4,8],[1,6,2,8],[1,6,2,8]]",
     "[" BF "," BF "," BF "," BF "]", NULL,
     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"0.\",\"0.1\",\"False\",\"-1\",\"-1\"]",
     "attention backward", 2 * 4 * 36 * 5 * 8, 0, 2 * 8 * 6 * (4 * 4 + 4 * 2), FULL},
    /* element by element: 3 x 2 from 3 x 1 and 2; bf16 with float is float */
    {"aten::add", "[[3,1],[2],[]]", "[" BF "," F32 ",\"Scalar\"]", NULL, "[\"\",\"\",\"1\"]", "elementwise",
     0, 6, 2 * 3 + 4 * 2 + 4 * 6, FULL},
    {"aten::add", "[[3,1],[2],[]]", "[" F32 "," BF ",\"Scalar\"]", NULL, "[\"\",\"\",\"1\"]", "elementwise",
     0, 6, 4 * 3 + 2 * 2 + 4 * 6, FULL},
    {"aten::add", "[[3,2],[4]]", "[" BF "," BF "]", NULL, NULL, NULL, 0, 0, 0, 0},
    {"aten::mul_", "[[3,2],[3,2]]", "[" BF "," F32 "]", NULL, NULL, "elementwise", 0, 6,
     6 * 2 + 6 * 4 + 6 * 2, FULL},
    {"aten::gt", "[[5],[]]", "[" F32 ",\"double\"]", NULL, "[\"\",\"0\"]", "elementwise", 0, 5, 20 + 8 + 5,
     FULL},
    {"aten::div", "[[5],[5]]", "[\"long int\",\"long int\"]", NULL, NULL, "elementwise", 0, 5, 80 + 20, FULL},
    {"aten::native_dropout", "[[8]]", "[" BF "]", NULL, NULL, "elementwise", 0, 16, 16 + 16 + 8, FULL},
    {"aten::copy_", "[[4,4],[4,4],[]]", "[" BF "," F32 ",\"Scalar\"]", NULL, NULL, "copy", 0, 0, 32 + 64,
     FULL},
    {"aten::_foreach_add_", "[[[10],[4,4]],[[10],[4,4]],[]]", "[\"TensorList\",\"TensorList\",\"Scalar\"]",
     NULL, NULL, "list", 0, 26, 0, NO_BYTES},
    {"aten::_fused_adamw_", "[[[10],[4,4]]]", "[\"TensorList\"]", NULL, NULL, "list", 0, 26 * 14, 0,
     NO_BYTES},
    {"aten::_foreach_add_", "[[],[],[]]", "[\"TensorList\",\"TensorList\",\"Scalar\"]", NULL, NULL, NULL, 0,
     0, 0, 0},
    {"triton_red_fused_mean_7", "[[8,8],[8],[]]", "[" BF "," F32 ",\"Scalar\"]", NULL, NULL, "triton", 0, 0,
     128 + 32, NO_FLOPS | LOWER},
    /* reductions: the dimensions are texts */
    {"aten::sum", "[[2,3,4],[],[],[]]", "[" BF ",\"ScalarList\",\"Scalar\",\"\"]", NULL,
     "[\"\",\"[-1]\",\"False\",\"6\"]", "reduce", 0, 24, 48 + 6 * 4, FULL},
    {"aten::sum", "[[6]]", "[\"int\"]", NULL, "[\"\"]", "reduce", 0, 6, 24 + 8, FULL},
    {"aten::var", "[[2,3],[]]", "[" F32 ",\"ScalarList\"]", NULL, "[\"\",\"[0, 1]\"]", "reduce", 0, 24,
     24 + 4, FULL},
    {"aten::max", "[[2,3],[],[]]", "[" F32 ",\"Scalar\",\"Scalar\"]", NULL, "[\"\",\"1\",\"False\"]",
     "reduce", 0, 6, 24 + 8 + 16, FULL},
    {"aten::argmax", "[[2,3],[],[]]", "[" F32 ",\"Scalar\",\"Scalar\"]", NULL, "[\"\",\"5\",\"False\"]", NULL,
     0, 0, 0, 0},
    /* normalisation: 4 + 2 + 1 + 1 an element; without weights 6 */
    {"aten::layer_norm", "[[4,8],[],[8],[8],[],[]]", "[" BF ",\"\"," BF "," BF ",\"\",\"\"]", NULL, NULL,
     "normalisation", 0, 32 * 8, 2 * (32 + 8 + 8 + 32), FULL},
    {"aten::layer_norm", "[[4,8],[],[],[],[],[]]", "[" BF ",\"\",\"\",\"\",\"\",\"\"]", NULL, NULL,
     "normalisation", 0, 32 * 6, 2 * 64, FULL},
    {"aten::batch_norm", "[[4,2,3],[2],[2],[2],[2]]", "[" F32 "," F32 "," F32 "," F32 "," F32 "]", NULL,
     "[\"\",\"\",\"\",\"\",\"\",\"True\"]", "normalisation", 0, 24 * 8, 4 * (24 + 8 + 24 + 4), FULL},
    {"aten::batch_norm", "[[4,2,3],[2],[2],[2],[2]]", "[" F32 "," F32 "," F32 "," F32 "," F32 "]", NULL,
     "[\"\",\"\",\"\",\"\",\"\",\"False\"]", "normalisation", 0, 24 * 2, 4 * (24 + 8 + 24), FULL},
    {"aten::native_layer_norm_backward", "[[4,8],[4,8],[],[4,1],[4,1],[8],[8]]",
     "[" F32 "," F32 ",\"\"," F32 "," F32 "," F32 "," F32 "]", NULL,
     "[\"\",\"\",\"[8]\",\"\",\"\",\"\",\"\",\"[True, False, True]\"]", "normalisation backward", 0,
     32 * (10 + 1), 4 * (32 + 32 + 4 + 4 + 8 + 8 + 32 + 8), FULL},
    {"aten::_log_softmax", "[[4,8],[],[]]", "[\"c10::Half\",\"\",\"\"]", NULL, "[\"\",\"1\",\"True\"]",
     "softmax", 0, 160, 64 + 128, FULL},
    /* 4 of the logits, 4 targets, the loss and the total weight */
    {"aten::nll_loss_forward", "[[4,100],[4],[],[],[]]", "[" F32 ",\"long int\",\"\",\"\",\"\"]", NULL,
     "[\"\",\"\",\"\",\"1\",\"-100\"]", "loss", 0, 4, 16 + 32 + 8, FULL},
    {"aten::mse_loss", "[[4],[4],[]]", "[" F32 "," F32 ",\"\"]", NULL, "[\"\",\"\",\"0\"]", "loss", 0, 8, 48,
     FULL},
    {"aten::embedding", "[[1000,8],[5]]", "[" BF ",\"long int\"]", NULL, NULL, "embedding", 0, 0,
     40 + 2 * 5 * 8 * 2, FULL},
    {"aten::gather", "[[10,8],[],[3,8]]", "[" BF ",\"\",\"long int\"]", NULL, "[\"\",\"0\",\"\"]",
     "embedding", 0, 0, 24 * 8 + 2 * 24 * 2, FULL},
    {"aten::linear", "[[2,3,4],[5,4],[5]]", "[" BF "," BF "," BF "]", NULL, NULL, "gemm", 2 * 6 * 5 * 4, 30,
     2 * (24 + 20 + 5 + 30), FULL},
};

static rs_model ask(const line *l, rs_arena *arena)
{
    rs_argument_texts texts = {l->dims, l->types, l->strides, l->concrete};
    rs_op_arguments arguments;
    uint16_t model = rs_model_find(l->name);
    assert_int_not_equal(model, RS_NO_MODEL);
    assert_int_equal(rs_op_arguments_read(&texts, arena, &arguments, NULL), RS_OK);
    return rs_model_answer(model, l->name[strlen(l->name) - 1] == '_', &arguments);
}

TEST(test_table)
{
    rs_arena arena = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const line *l = &lines[i];
        rs_model m = ask(l, &arena);
        if (!l->family != !m.family || (l->family && strcmp(l->family, m.family) != 0))
            fail_msg("line %zu, %s: %s", i, l->name, m.family ? m.family : "no answer");
        if (!l->family) continue;
        if (m.matrix != l->matrix || m.vector != l->vector || m.bytes != l->bytes)
            fail_msg("line %zu, %s: %lld matrix, %lld vector, %lld bytes", i, l->name, (long long)m.matrix,
                     (long long)m.vector, (long long)m.bytes);
        assert_int_equal(m.lower, (l->how & LOWER) != 0);
        assert_int_equal(m.has_flops, !(l->how & NO_FLOPS));
        assert_int_equal(m.has_bytes, !(l->how & NO_BYTES));
    }
    rs_arena_clear(&arena);
}

/* Scores that the backward pass computes again: one product of five. */
TEST(test_repeated_scores)
{
    rs_arena arena = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!lines[i].family || strcmp(lines[i].family, "attention backward") != 0) continue;
        rs_model m = ask(&lines[i], &arena);
        assert_int_equal(m.repeated * 5, m.matrix);
    }
    rs_arena_clear(&arena);
}

/* No text of arguments may do more than give no answer. */
TEST(test_broken_texts)
{
    static const char *const texts[] = {"",
                                        "[",
                                        "[[",
                                        "[[2,3],[3",
                                        "{}",
                                        "[{}]",
                                        "[[1e99]]",
                                        "[[[[[1]]]]]",
                                        "[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]",
                                        "[null,1,\"x\"]",
                                        "[[9223372036854775807,9223372036854775807]]"};
    static const char *const names[] = {"aten::mm",
                                        "aten::add",
                                        "aten::convolution",
                                        "aten::sum",
                                        "aten::cat",
                                        "aten::layer_norm",
                                        "aten::embedding",
                                        "aten::gather",
                                        "aten::where",
                                        "_C::rotary_embedding",
                                        "flash_attn::_flash_attn_varlen_forward",
                                        "aten::_grouped_mm",
                                        "triton_poi_fused_0",
                                        "aten::copy_",
                                        "aten::prod"};
    rs_arena arena = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            line l = {.name = names[k],
                      .dims = texts[i],
                      .types = "[" BF "," BF "]",
                      .strides = texts[i],
                      .concrete = texts[i]};
            ask(&l, &arena);
            l.types = texts[i];
            ask(&l, &arena);
        }
    rs_arena_clear(&arena);
}

TEST(test_names)
{
    assert_int_equal(rs_model_find("aten::mm_out"), RS_NO_MODEL);
    assert_int_equal(rs_model_find("aten::m"), RS_NO_MODEL);
    assert_int_equal(rs_model_find("aten::where_"), RS_NO_MODEL);
    assert_int_equal(rs_model_find("aten::add_"), rs_model_find("aten::add"));
    assert_true(rs_model_is_fallback(rs_model_find("aten::linear")));
    assert_false(rs_model_is_fallback(rs_model_find("aten::addmm")));
    assert_int_equal(rs_forward_name("FlashAttnFuncBackward", 21), 13);
    assert_int_equal(rs_forward_name("MulBackward0", 12), 3);
    assert_int_equal(rs_forward_name("Backward", 8), 0);
    assert_int_equal(rs_forward_name("aten::mm", 8), 0);
}

/* ---- devices ------------------------------------------------------------------------------------------- */

static const char *known(const char *name, int64_t units, int64_t gib, int64_t major, int64_t minor)
{
    builder b = builder_create();
    rs_device d = {.id = 0,
                   .name = rs_strings_add(&b.e->strings, name, strlen(name)),
                   .units = units,
                   .memory = gib << 30,
                   .major = major,
                   .minor = minor};
    const char *as = rs_device_known_as(b.e, &d);
    rs_events_free(b.e);
    return as;
}

TEST(test_devices)
{
    rs_rates r;
    assert_string_equal(known("NVIDIA H100 80GB HBM3", 132, 80, 9, 0), "H100-SXM");
    assert_string_equal(known("NVIDIA H100 PCIe", 114, 80, 9, 0), "H100-PCIe");
    assert_string_equal(known("NVIDIA H100 NVL", 132, 94, 9, 0), "H100-NVL");
    assert_string_equal(known("NVIDIA GH200 480GB", 132, 96, 9, 0), "GH200");
    assert_string_equal(known("NVIDIA A100-PG509-200", 108, 40, 8, 0), "A100-40GB");
    assert_string_equal(known("NVIDIA A100-SXM4-80GB", 108, 80, 8, 0), "A100-80GB-SXM");
    assert_string_equal(known("NVIDIA A100 80GB PCIe", 108, 80, 8, 0), "A100-80GB-PCIe");
    assert_string_equal(known("NVIDIA GeForce RTX-4090", 128, 24, 8, 9), "RTX-4090");
    assert_string_equal(known("", 304, 192, 9, 4), "MI300X");
    assert_string_equal(known("", 304, 256, 9, 4), "MI325X");
    assert_string_equal(known("NVIDIA A800-SXM4-80GB", 108, 80, 8, 0), "A800");
    assert_string_equal(known("NVIDIA A800 80GB PCIe", 108, 80, 8, 0), "A800-PCIe");
    assert_string_equal(known("NVIDIA H20", 78, 96, 9, 0), "H20");
    assert_string_equal(known("NVIDIA H200", 132, 141, 9, 0), "H200-SXM");
    assert_string_equal(known("NVIDIA L4", 58, 22, 8, 9), "L4");
    assert_string_equal(known("NVIDIA L40S", 142, 45, 8, 9), "L40S");
    assert_string_equal(known("NVIDIA A10G", 80, 22, 8, 6), "A10G");
    assert_string_equal(known("NVIDIA B300 SXM6 AC", 148, 275, 10, 3), "B300");
    assert_string_equal(known("NVIDIA GB300", 152, 277, 10, 3), "GB300");
    assert_string_equal(known("NVIDIA RTX PRO 6000 Blackwell Server Edition", 188, 95, 12, 0),
                        "RTX-PRO-6000");
    assert_string_equal(known("TPU v5 lite", 1, 16, 0, 0), "TPU-v5e");
    assert_null(known("", 132, 80, 9, 0));
    assert_null(known("Some new device", 1, 1, 1, 1));
    /* every name that a recorded device can be known as stands in the table */
    static const char *const all[] = {
        "GB300",     "GB200",        "GH200",          "B300",         "B200",      "H200-SXM",
        "H800",      "H20",          "L40S",           "L40",          "L20",       "L4",
        "A10G",      "A10",          "RTX-4090",       "MI355X",       "MI350X",    "MI325X",
        "MI300X",    "RTX-PRO-6000", "A800",           "MI250X-GCD",   "V100-SXM2", "H100-NVL",
        "H100-PCIe", "H100-SXM",     "TPU-v5e",        "TPU-v6e",      "A100-40GB", "A800-PCIe",
        "Gaudi2",    "Gaudi3",       "A100-80GB-PCIe", "A100-80GB-SXM"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_true(rs_rates_find(all[i], &r));
    assert_true(rs_rates_find("h100-sxm", &r));
    assert_true(r.matrix[RS_BF16] > 989.3 && r.matrix[RS_BF16] < 989.5 && r.mem_gbps > 3349 &&
                r.mem_gbps < 3351);
    assert_true(rs_rates_matrix(&r, RS_FP32) == r.vector[RS_FP32]); /* NVIDIA: no fp32 matrix units */
    assert_int_equal(rs_rates_of_option("H1000", &r, NULL), RS_ERR_USAGE);
    assert_int_not_equal(rs_rates_of_option("./no/such.json", &r, NULL), RS_OK);
}

/* ---- owners -------------------------------------------------------------------------------------------- */

static uint32_t add_modelled(builder *b, const char *name, int64_t start, int64_t duration, const char *dims,
                             const char *types)
{
    uint32_t row = add_row(b, 'X', "cpu_op", name, 1, 1, start, duration);
    add_text(b, RS_COL_INPUT_DIMS, dims);
    add_text(b, RS_COL_INPUT_TYPE, types);
    return row;
}

TEST(test_owners)
{
    static const char two[] = "[" F32 "," F32 "," F32 "]";
    builder b = builder_create();
    /* linear > addmm: the inner one has a model of its own, the outer one only a fallback */
    add_op(&b, "aten::linear", 1, 0, 1000, 1);
    uint32_t addmm = add_modelled(&b, "aten::addmm", 100, 800, "[[5],[2,3],[3,5]]", two);
    add_call(&b, "cudaLaunchKernel", 1, 200, 10);
    /* layer_norm > native_layer_norm: the outermost with an answer */
    uint32_t norm = add_modelled(&b, "aten::layer_norm", 2000, 1000, "[[4,8],[]]", "[" F32 ",\"\"]");
    add_modelled(&b, "aten::native_layer_norm", 2100, 800, "[[4,8],[]]", "[" F32 ",\"\"]");
    add_call(&b, "cudaLaunchKernel", 1, 2200, 11);
    add_call(&b, "cudaLaunchKernel", 1, 2300, 12);
    /* an outer operator without an answer leaves it to the inner one; one without any model to the launcher
     */
    add_modelled(&b, "aten::mm", 4000, 1000, "[[2,3],[4,5]]", two);
    uint32_t mm = add_modelled(&b, "aten::mm", 4100, 800, "[[2,3],[3,5]]", two);
    add_call(&b, "cudaLaunchKernel", 1, 4200, 13);
    uint32_t plain = add_op(&b, "my::op", 1, 6000, 1000, 2);
    add_call(&b, "cudaLaunchKernel", 1, 6100, 14);
    uint32_t fallback = add_modelled(&b, "aten::linear", 8000, 1000, "[[2,4],[5,4]]", two);
    add_call(&b, "cudaLaunchKernel", 1, 8100, 15);
    uint32_t alone = add_call(&b, "cudaLaunchKernel", 1, 10000, 16);
    uint32_t coll = add_op(&b, "c10d::allreduce_", 1, 12000, 1000, 3);
    add_call(&b, "cudaLaunchKernel", 1, 12100, 17);
    add_kernel(&b, "gemm_tf32_x", 0, 7, 20000, 100, 10);
    add_kernel(&b, "norm_a", 0, 7, 20100, 100, 11);
    add_kernel(&b, "norm_b", 0, 8, 20150, 100, 12);
    add_kernel(&b, "gemm", 0, 7, 20300, 100, 13);
    add_kernel(&b, "k", 0, 7, 20400, 100, 14);
    add_kernel(&b, "gemm", 0, 7, 20500, 100, 15);
    add_kernel(&b, "k", 0, 7, 20600, 100, 16);
    add_kernel(&b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 9, 20700, 100, 17);
    add_kernel(&b, "k", 0, 7, 20800, 77, -1);
    rs_trace t;
    rs_trace_init(&t, b.e, NULL, b.e->n);
    const rs_owners *o;
    rs_op_shapes *shapes;
    assert_int_equal(rs_trace_owners(&t, &o, NULL), RS_OK);
    assert_int_equal(rs_trace_shapes(&t, &shapes, NULL), RS_OK);
    const struct {
        uint32_t row;
        int64_t time;
        uint32_t n_work;
        bool comm, model;
    } want[] = {{addmm, 100, 1, false, true},  {norm, 150, 2, false, true},     {mm, 100, 1, false, true},
                {plain, 100, 1, false, false}, {fallback, 100, 1, false, true}, {alone, 100, 1, false, false},
                {coll, 100, 1, true, false}};
    assert_int_equal(o->n, sizeof want / sizeof *want);
    for (size_t i = 0; i < o->n; i++) {
        assert_int_equal(o->items[i].row, want[i].row);
        assert_int_equal(o->items[i].time, want[i].time);
        assert_int_equal(o->items[i].n_work, want[i].n_work);
        assert_int_equal(o->items[i].communication, want[i].comm);
        assert_int_equal(o->items[i].answer != RS_NO_ANSWER, want[i].model);
    }
    assert_true(o->items[0].tf32);
    assert_false(o->items[2].tf32);
    assert_int_equal(o->items[1].durations, 200);
    assert_int_equal(rs_shapes_at(shapes, o->items[0].answer)->model.matrix, 60);
    assert_int_equal(o->n_work, 8);
    assert_int_equal(o->n_unlinked, 1);
    assert_int_equal(o->unlinked, 77);
    assert_int_equal(o->linked, 700);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}
