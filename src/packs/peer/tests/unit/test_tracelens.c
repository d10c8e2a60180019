/* TraceLens' report: its models against arithmetic done by hand from its formulas, faults included; which work it
 * links; what becomes of operators in its sheets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "builder.h"
#include "peer/python_text.h"
#include "peer/tracelens_models.h"
#include "peer/tracelens_nccl.h"
#include "peer/tracelens_rank.h"
#include "unit.h"

#define BF "\"c10::BFloat16\""
#define F32 "\"float\""
#define UNKNOWN (-1.0)

/* ---- models -------------------------------------------------------------------------------------------- */

typedef struct line {
    const char *name, *dims, *types, *strides, *concrete;
    bool backward;
    rs_tl_outcome outcome;
    double flops, bytes; /* UNKNOWN: not known */
    const char *spec;    /* unit and precision; NULL: none */
} line;

static const line lines[] = {
    /* 2*2*3*5; (6 + 15 + 10) elements of the first operand's size */
    {"aten::mm", "[[2,3],[3,5]]", "[" BF "," BF "]", "[[3,1],[5,1]]", NULL, false, RS_TL_ANSWERED, 60, 62,
     "matrix bf16"},
    {"aten::mm", "[[2,3],[3,5]]", "[" BF "," BF "]", NULL, NULL, true, RS_TL_UNDEFINED, 0, 0, NULL},
    {"aten::mm", "[[2,3]]", "[" BF "," BF "]", NULL, NULL, false, RS_TL_FAILED, 0, 0, NULL},
    {"aten::mm", NULL, NULL, NULL, NULL, false, RS_TL_FAILED, 0, 0, NULL},
    /* fault: a bias of a whole matrix counts as a row; 60 + 2*5, (31 + 5) * 4 */
    {"aten::addmm", "[[2,5],[2,3],[3,5]]", "[" F32 "," F32 "," F32 "]", NULL, NULL, false, RS_TL_ANSWERED, 70,
     144, "matrix fp32"},
    {"aten::bmm", "[[7,2,3],[7,3,5]]", "[" F32 "," F32 "]", NULL, NULL, false, RS_TL_ANSWERED, 420,
     7 * 31 * 4, "matrix fp32"},
    /* fault: eight arguments are not three, so no bias; fp8 gives two bytes; no scales */
    {"aten::_scaled_mm", "[[2,3],[3,5],[],[],[5],[],[],[]]",
     "[\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\",\"float\",\"float\",\"c10::BFloat16\",\"\",\"\",\"\"]",
     NULL, NULL, false, RS_TL_ANSWERED, 60, 6 + 15 + 2 * 10, "matrix fp8"},
    /* fault: the bias (argument 2) is only seen among three arguments */
    {"aten::convolution", "[[1,2,5,5],[4,2,3,3],[4],[],[],[],[],[],[]]", "[" F32 "," F32 "," F32 "]",
     "[[50,25,5,1],[18,9,3,1],[1]]",
     "[\"\",\"\",\"\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]", false, RS_TL_ANSWERED,
     2 * 18 * 36, 4 * (50 + 72 + 36), "matrix fp32"},
    /* fault: both gradients whatever the mask; each P = 2*36*18 */
    {"aten::convolution_backward", "[[1,4,3,3],[1,2,5,5],[4,2,3,3],[],[],[],[],[],[],[],[]]",
     "[" F32 "," F32 "," F32 "]", "[[36,9,3,1],[50,25,5,1],[18,9,3,1]]",
     "[\"\",\"\",\"\",\"[0]\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[False, True, False]\"]",
     false, RS_TL_ANSWERED, 2 * 2 * 36 * 18, 2 * 4 * (50 + 72 + 36), "matrix fp32"},
    /* transposed: (3 - 1) * 2 + 1 + 1 = 6 wide, 4 channels; 2 * 16 for each of 18 */
    {"aten::convolution", "[[1,2,3,3],[2,4,2,2],[],[],[],[],[],[],[]]", "[" F32 "," F32 "]",
     "[[18,9,3,1],[16,4,2,1]]", "[\"\",\"\",\"\",\"[2, 2]\",\"[0, 0]\",\"[1, 1]\",\"True\",\"[0, 0]\",\"1\"]",
     false, RS_TL_ANSWERED, 2 * 16 * 18, 4 * (18 + 32 + 144), "matrix fp32"},
    /* with a bias: its gradient is a sum over 36; fault: its bytes are elements */
    {"aten::convolution_backward", "[[1,4,3,3],[1,2,5,5],[4,2,3,3],[4],[],[],[],[],[],[],[]]",
     "[" F32 "," F32 "," F32 "]", "[[36,9,3,1],[50,25,5,1],[18,9,3,1]]",
     "[\"\",\"\",\"\",\"[4]\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[False, True, True]\"]",
     false, RS_TL_ANSWERED, 2 * 2 * 36 * 18 + 36, 2 * 4 * (50 + 72 + 36) + 36 + 4, "matrix fp32"},
    {"aten::convolution", "[[1,2,5,5],[4,2,3,3],[4]]", "[" F32 "," BF "]", NULL, "[]", false, RS_TL_FAILED, 0,
     0, NULL},
    /* 2*1*2*4*6*(8+8); fault: two bytes whatever the type */
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,2,6,8],[1,2,6,8],[],[],[],[]]",
     "[" F32 "," F32 "," F32 "]", NULL, "[\"\",\"\",\"\",\"0.\",\"False\",\"False\",\"\"]", false,
     RS_TL_ANSWERED, 2 * 2 * 4 * 6 * 16, 2 * (64 + 96 + 96 + 64), "matrix fp32"},
    /* fault: causal with other lengths has no answer; half the square else */
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,2,6,8],[1,2,6,8],[],[],[],[]]",
     "[" F32 "," F32 "," F32 "]", NULL, "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\"]", false,
     RS_TL_FAILED, 0, 0, NULL},
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,2,4,8],[1,2,4,8],[],[],[],[]]",
     "[" F32 "," F32 "," F32 "]", NULL, "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\"]", false,
     RS_TL_ANSWERED, 2 * 4 * 4 * 16, 2 * 256, "matrix fp32"},
    /* backward: five products, and one key head for two query heads adds up again */
    {"aten::_scaled_dot_product_flash_attention", "[[1,2,4,8],[1,1,4,8],[1,1,4,8],[],[],[],[]]",
     "[" BF "," BF "," BF "]", NULL, "[\"\",\"\",\"\",\"0.\",\"False\",\"False\",\"\"]", true, RS_TL_ANSWERED,
     5 * 2 * 2 * 4 * 4 * 8 + 2 * 4 * 8, 2 * (2 * (64 + 32 + 32) + 64), "matrix bf16"},
    /* fault: the scale stands where causal is looked for, and is true */
    {"flash_attn::_flash_attn_backward",
     "[[1,4,2,8],[1,4,2,8],[1,4,2,8],[1,4,2,8],[],[],[],[],[],[],[],[],[]]", "[" BF "," BF "]",
     "[[64,16,8,1],[64,16,8,1],[64,16,8,1],[64,16,8,1]]",
     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"0.0\",\"0.0\",\"0.353\",\"False\",\"\"]", false,
     RS_TL_ANSWERED, 5 * 2 * 4 * 4 * 8, 2 * 7 * 64, "matrix bf16"},
    /* fault: a copy computes */
    {"aten::copy_", "[[4,5],[4,5],[]]", "[" F32 "," BF ",\"Scalar\"]", "[[5,1],[5,1],[]]", NULL, false,
     RS_TL_ANSWERED, 20, 20 * 4 + 20 * 2, "vector fp32"},
    {"aten::copy_", "[[4,5],[4,5],[]]", "[" F32 "," BF ",\"Scalar\"]", NULL, NULL, false, RS_TL_FAILED, 0, 0,
     NULL},
    /* fault: bool has no size */
    {"aten::mul", "[[4,5],[5],[]]", "[" F32 ",\"bool\"]", "[[5,1],[1],[]]", NULL, false, RS_TL_ANSWERED, 20,
     UNKNOWN, "vector fp32"},
    {"aten::mul", "[[4,5],[4]]", "[" F32 "," F32 "]", "[[5,1],[1]]", NULL, false, RS_TL_FAILED, 0, 0, NULL},
    {"aten::add", "[[4,5],[],[]]", "[" BF ",\"Scalar\",\"Scalar\"]", "[[5,1],[],[]]", NULL, false,
     RS_TL_ANSWERED, 20, 20 * 2 + 4 + 20 * 2, "vector bf16"},
    /* fault: the dimension is a text, so the result is one element */
    {"aten::sum", "[[4,5],[],[],[]]", "[" F32 "]", NULL, "[\"\",\"[1]\",\"False\",\"\"]", false,
     RS_TL_ANSWERED, 20, 84, "vector fp32"},
    {"aten::cumsum", "[[4,5],[],[]]", "[" F32 "]", NULL, "[\"\",\"1\",\"\"]", false, RS_TL_ANSWERED, 20, 160,
     "vector fp32"},
    {"aten::sum", "[[4,5],[],[],[]]", "[" F32 "]", NULL, "[\"\",\"[1]\",\"False\",\"\"]", true,
     RS_TL_ANSWERED, 20, 84, "vector fp32"},
    /* 6C + 5N with N 24, C 3; fault: "False" is training; 2N + 6C elements */
    {"aten::batch_norm", "[[2,3,4],[],[],[3],[3],[],[],[],[]]", "[" F32 "]", "[[12,4,1]]",
     "[\"\",\"\",\"\",\"\",\"\",\"False\",\"0.1\",\"1e-5\",\"True\"]", false, RS_TL_ANSWERED, 6 * 3 + 5 * 24,
     4 * (2 * 24 + 6 * 3), "vector fp32"},
    {"aten::batch_norm", "[[2,3,4],[],[],[3],[3],[],[],[],[]]", "[\"bool\"]", "[[12,4,1]]",
     "[\"\",\"\",\"\",\"\",\"\",\"False\",\"0.1\",\"1e-5\",\"True\"]", false, RS_TL_FAILED, 0, 0, NULL},
    {"aten::batch_norm", "[[2,3,4],[],[],[3],[3],[],[],[],[]]", "[" F32 "]", "[[12,4,1]]",
     "[\"\",\"\",\"\",\"\",\"\",\"True\",\"0.1\",\"1e-5\",\"True\"]", true, RS_TL_UNDEFINED, 0, 0, NULL},
    /* 9 an element; grad, input, result and what is saved, weight, two gradients of C */
    {"aten::native_layer_norm_backward", "[[2,3,4],[2,3,4],[],[2,3,1],[2,3,1],[4],[4],[]]",
     "[" F32 "," F32 "]", "[[12,4,1],[12,4,1]]",
     "[\"\",\"\",\"[4]\",\"\",\"\",\"\",\"\",\"[True, True, True]\"]", false, RS_TL_ANSWERED, 9 * 24,
     4 * (3 * 24 + 4 + 4 + 2 * 4), "vector fp32"},
    {"aten::_fused_rms_norm", "[[6,4],[],[4],[]]", "[" F32 "]", "[[4,1]]", "[\"\",\"[4]\",\"\",\"\"]", false,
     RS_TL_ANSWERED, 6 * (2 * 4 + 2) + 2 * 24, 4 * (2 * 24 + 4), "vector fp32"},
    {"aten::instance_norm_backward", "[[6,4]]", "[" F32 "]", "[[4,1]]", "[]", false, RS_TL_UNDEFINED, 0, 0,
     NULL},
    /* fault: the first dimension times the vocabulary, the sequence dropped */
    {"CrossEntropyFunction", "[[2,7,100],[2,7]]", "[" BF ",\"long int\"]", NULL, NULL, false, RS_TL_ANSWERED,
     5 * 2 * 100, 2 * 7 * 100 * 2 + 2 * 12, "vector bf16"},
    /* add 1, rsqrt 2, of 8*16 elements; fault: the first argument again; float has no size */
    {"triton_poi_fused_add_rsqrt_3", "[[8,16],[8,16],[]]", "[" BF "," BF ",\"Scalar\"]", NULL,
     "[\"\",\"\",\"128\"]", false, RS_TL_ANSWERED, 3 * 128, 2 * 3 * 128, "vector bfloat16"},
    {"triton_red_fused__to_copy_mean_0", "[[8,16],[8],[],[]]", "[" F32 "," BF "]", NULL,
     "[\"\",\"\",\"8\",\"16\"]", false, RS_TL_ANSWERED, 128, 2 * 8, "vector float"},
    {"triton_poi_fused_add_0", "[[8,16]]", "[" BF "]", NULL, "[\"\"]", false, RS_TL_FAILED, 0, 0, NULL},
    /* 4 groups of weights, either way round; none of its dimensions is K */
    {"primus_turbo::grouped_gemm", "[[16,32],[4,64,32]]", "[" BF "," BF "]", NULL, NULL, false,
     RS_TL_ANSWERED, 2 * 16 * 32 * 64, (16 * 32 + 4 * 32 * 64) * 2 + 16 * 64 * 2, "matrix bf16"},
    {"primus_turbo::grouped_gemm", "[[16,32],[4,32,64]]", "[" BF "," BF "]", NULL, NULL, false,
     RS_TL_ANSWERED, 2 * 16 * 32 * 64, (16 * 32 + 4 * 32 * 64) * 2 + 16 * 64 * 2, "matrix bf16"},
    {"primus_turbo::grouped_gemm", "[[16,32],[4,64,48]]", "[" BF "," BF "]", NULL, NULL, false, RS_TL_FAILED,
     0, 0, NULL},
};

static rs_tl_outcome ask(const line *l, rs_arena *arena, rs_tl_answer *a)
{
    const rs_tl_call call = {.name = l->name,
                             .dims = l->dims,
                             .types = l->types,
                             .strides = l->strides,
                             .concrete = l->concrete,
                             .dims_length = l->dims ? strlen(l->dims) : 0,
                             .types_length = l->types ? strlen(l->types) : 0,
                             .strides_length = l->strides ? strlen(l->strides) : 0,
                             .concrete_length = l->concrete ? strlen(l->concrete) : 0};
    const rs_tl_model *model = rs_tl_model_find(l->name);
    bool ok = true;
    assert_non_null(model);
    rs_tl_outcome outcome = rs_tl_model_ask(model, l->backward, &call, arena, a, &ok);
    assert_true(ok);
    return outcome;
}

TEST(test_models)
{
    rs_arena arena = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rs_tl_answer a;
        const line *l = &lines[i];
        rs_tl_outcome outcome = ask(l, &arena, &a);
        if (outcome != l->outcome) fail_msg("line %zu, %s: outcome %d", i, l->name, (int)outcome);
        if (outcome != RS_TL_ANSWERED) continue;
        bool bytes = l->bytes == UNKNOWN ? isnan(a.bytes) : a.bytes == l->bytes;
        if (a.flops != l->flops || !bytes)
            fail_msg("line %zu, %s: %ld FLOPs, %ld bytes", i, l->name, (long)a.flops, (long)a.bytes);
        char spec[40];
        snprintf(spec, sizeof spec, "%s %s", a.unit ? a.unit : "", a.precision ? a.precision : "");
        assert_string_equal(spec, l->spec);
    }
    rs_arena_clear(&arena);
}

static const rs_tl_param *param(const rs_tl_answer *a, const char *name)
{
    for (size_t i = 0; i < a->n_params; i++)
        if (strcmp(a->params[i].name, name) == 0) return &a->params[i];
    return NULL;
}

TEST(test_params)
{
    rs_arena arena = {0};
    rs_tl_answer a;
    const char *tensile = "Cijk_Ailk_Bjlk_BBS_BH_Bias", *nvjet = "nvjet_hsh_128x256_TNT",
               *other = "ampere_sgemm";
    const char *kernels[] = {"Memset (Device)", other, tensile};
    rs_tl_call call = {.name = "aten::mm",
                       .dims = "[[2,3],[3,5]]",
                       .dims_length = 13,
                       .types = "[\"float\",\"float\"]",
                       .types_length = 17,
                       .strides = "[[3,1],[1,3]]",
                       .strides_length = 13,
                       .kernels = kernels,
                       .n_kernels = 3};
    bool ok = true;
    const rs_tl_model *mm = rs_tl_model_find("aten::mm");
    assert_int_equal(rs_tl_model_ask(mm, false, &call, &arena, &a, &ok), RS_TL_ANSWERED);
    assert_string_equal(param(&a, "transpose")->text, "(False, True)");
    assert_string_equal(param(&a, "stride_B")->text, "(1, 3)");
    assert_string_equal(param(&a, "dtype_A_B")->text, "('float', 'float')");
    assert_string_equal(param(&a, "bias")->text, "False");
    assert_true(param(&a, "K")->number == 3 && param(&a, "B")->number == 1);
    kernels[2] = nvjet;
    assert_int_equal(rs_tl_model_ask(mm, false, &call, &arena, &a, &ok), RS_TL_ANSWERED);
    assert_string_equal(param(&a, "transpose")->text, "(True, False)");
    kernels[2] = other;
    call.strides = NULL;
    assert_int_equal(rs_tl_model_ask(mm, false, &call, &arena, &a, &ok), RS_TL_ANSWERED);
    assert_null(param(&a, "transpose"));
    assert_int_equal(param(&a, "stride_A")->kind, RS_TL_NONE);
    assert_null(rs_tl_model_find("aten::mm_"));
    assert_null(rs_tl_model_find("triton_"));
    rs_arena_clear(&arena);
}

/* Whatever the texts hold, there is an outcome. */
TEST(test_hostile_texts)
{
    static const char *const texts[] = {
        "",
        "[",
        "{}",
        "[[]]",
        "[[[1,2],[3]],[]]",
        "[[-1,-2],[-3,4]]",
        "[[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0]]",
        "[[9223372036854775807,9223372036854775807],[9223372036854775807,2]]",
        "[[1e400,1.5]]",
        "[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]",
        "[null,1,\"x\",true]",
        "[\"\\u0000\",\"[1,\",\"[,]\",\"[99999999999999999999]\",\"True\",\"[]\"]",
        "[\"[1]\",\"[0]\",\"0\",\"0\",\"[0, 0]\",\"[0]\",\"True\",\"[0]\",\"0\",\"[True]\"]"};
    static const char *const names[] = {"aten::mm",
                                        "aten::bmm",
                                        "aten::_scaled_mm",
                                        "aten::convolution",
                                        "aten::convolution_backward",
                                        "flash_attn::_flash_attn_backward",
                                        "flash_attn::_flash_attn_varlen_forward",
                                        "aiter::mha_bwd",
                                        "aten::_scaled_dot_product_efficient_attention",
                                        "aten::copy_",
                                        "aten::mul",
                                        "aten::sum",
                                        "aten::batch_norm",
                                        "aten::native_group_norm_backward",
                                        "aten::_fused_rms_norm_backward",
                                        "aten::upsample_nearest2d",
                                        "primus_turbo::grouped_gemm",
                                        "FusedRoPEFunc",
                                        "CrossEntropyFunction",
                                        "MoEDispatch",
                                        "DaoAILab::_causal_conv1d_fwd_cpp",
                                        "triton_red_fused__",
                                        "triton_poi_fused_"};
    rs_arena arena = {0};
    size_t n = sizeof texts / sizeof *texts;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < n * n * 2; i++) {
            rs_tl_answer a;
            line l = {.name = names[k],
                      .dims = texts[i % n],
                      .types = i & 1 ? "[" BF "," BF "," BF "]" : texts[i % n],
                      .strides = texts[i / n % n],
                      .concrete = texts[i / n % n],
                      .backward = i >= n * n};
            ask(&l, &arena, &a);
            rs_arena_reset(&arena);
        }
    rs_arena_clear(&arena);
}

/* ---- texts --------------------------------------------------------------------------------------------- */

TEST(test_python)
{
    rs_text t = {0};
    rs_python_put_float(&t, 16);
    rs_text_put(&t, " ");
    rs_python_put_float(&t, 0.1);
    rs_text_put(&t, " ");
    rs_python_put_string(&t, "it's", 4);
    rs_python_put_string(&t, "a\"'\n\x01\\", 6);
    rs_python_put_list(&t, "[[512], [], \"a\", null, true, 1.50, []]", 38);
    rs_python_put_list(&t, "{\"a\": 1}", 8);
    const int64_t one[] = {7};
    rs_python_put_tuple(&t, one, 1);
    rs_python_put_tuple(&t, NULL, 0);
    rs_python_put_bool(&t, false);
    assert_false(t.failed);
    assert_string_equal(t.s, "16.0 0.1 \"it's\"'a\"\\'\\n\\x01\\\\'[[512], [], 'a', None, True, 1.5, []]"
                             "{\"a\": 1}(7,)()False");
    rs_text_clear(&t);
}

/* ---- a rank -------------------------------------------------------------------------------------------- */

static void add_flow(builder *b, char phase, int64_t pid, int64_t tid, int64_t start, int64_t id)
{
    add_row(b, phase, "ac2g", "ac2g", pid, tid, start, RS_NO_TIME);
    add_arg(b, RS_COL_FLOW_ID, id);
}

static void add_modelled(builder *b, const char *name, int64_t start, int64_t duration)
{
    add_row(b, 'X', "cpu_op", name, 1, 1, start, duration);
    add_text(b, RS_COL_INPUT_DIMS, "[[2,3],[3,5]]");
    add_text(b, RS_COL_INPUT_TYPE, "[\"float\",\"float\"]");
    add_text(b, RS_COL_INPUT_STRIDES, "[[3,1],[5,1]]");
    add_text(b, RS_COL_CONCRETE_INPUTS, "[\"\",\"\"]");
}

static builder make_rank(void)
{
    builder b = builder_create();
    add_modelled(&b, "aten::mm", 0, 900);
    add_call(&b, "cudaLaunchKernel", 1, 100, 10); /* linked by a flow with both ends */
    add_op(&b, "my::memset", 1, 1000, 900, 1);
    add_call(&b, "hipMemsetAsync", 1, 1100, 11); /* no flow begins: not linked */
    add_op(&b, "my::graph", 1, 2000, 900, 2);
    add_call(&b, "cudaGraphLaunch", 1, 2100, 12); /* all its work */
    add_op(&b, "my::driver", 1, 3000, 900, 3);
    add_call(&b, "cuLaunchKernel", 1, 3100, 13);
    b.e->category[b.e->n - 1] =
        (uint16_t)rs_events_category(b.e, rs_strings_add(&b.e->strings, "cuda_driver", 11));
    add_op(&b, "c10d::allreduce_", 1, 4000, 900, 4);
    add_call(&b, "cudaLaunchKernel", 1, 4100, 14);
    add_op(&b, "my::outer", 1, 5000, 900, 5); /* work of its own next to an operator with a model */
    add_call(&b, "cudaLaunchKernel", 1, 5050, 15);
    add_modelled(&b, "aten::mm", 5200, 500);
    add_call(&b, "cudaLaunchKernel", 1, 5300, 16);
    for (int64_t id = 10; id <= 16; id++) {
        if (id != 11) add_flow(&b, 's', 1, 1, 0, id);
        add_flow(&b, 'f', 0, 7, 0, id);
    }
    add_kernel(&b, "gemm", 0, 7, 10000, 1500, 10);
    add_row(&b, 'X', "gpu_memset", "Memset", 0, 7, 12000, 100);
    add_arg(&b, RS_COL_STREAM, 7);
    add_arg(&b, RS_COL_CORRELATION, 11);
    add_kernel(&b, "graph_a", 0, 7, 13000, 2000, 12);
    add_kernel(&b, "graph_b", 0, 8, 14000, 2000, 12);
    add_kernel(&b, "triton_k", 0, 7, 20000, 3000, 13);
    add_kernel(&b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 7, 30000, 5000, 14);
    add_kernel(&b, "own_k", 0, 7, 40000, 700, 15);
    add_kernel(&b, "gemm", 0, 7, 41000, 500, 16);
    add_row(&b, 'M', "", "process_name", 1, 0, RS_NO_TIME, RS_NO_TIME);
    add_text(&b, RS_COL_META_NAME, "python3");
    return b;
}

static const rs_table *sheet_of(const rs_sheets *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(rs_table_get_spec(s->items[i])->name, name) == 0) return s->items[i];
    return NULL;
}

static size_t column_of(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

/* The row whose first text is that; SIZE_MAX: none. */
static size_t row_of(const rs_table *t, const char *name)
{
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        if (strcmp(rs_table_text(t, i, 0, NULL), name) == 0) return i;
    return SIZE_MAX;
}

static double real_of(const rs_table *t, const char *name, const char *column)
{
    size_t row = row_of(t, name);
    if (row == SIZE_MAX) fail_msg("no row %s", name);
    return rs_table_real(t, row, column_of(t, column));
}

TEST(test_rank)
{
    builder b = make_rank();
    rs_trace trace;
    rs_sheets s;
    const rs_tracelens_options options = {.short_ns = 1000};
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_tracelens_sheets(&trace, &options, &s, NULL), RS_OK);
    /* the memset is not linked: computation is 1.5 + union(2, 2) = 3 + 3 + 0.7 + 0.5 us */
    const rs_table *t = sheet_of(&s, "gpu_timeline");
    assert_true(fabs(real_of(t, "computation_time", "time ms") - 0.0087) < 1e-12);
    assert_true(fabs(real_of(t, "total_comm_time", "time ms") - 0.005) < 1e-12);
    assert_true(fabs(real_of(t, "total_time", "time ms") - 0.0315) < 1e-12);
    /* launchers: mm twice, graph, driver, outer; no collective, no memset */
    t = sheet_of(&s, "ops_summary");
    assert_int_equal(rs_table_n_rows(t), 4);
    assert_true(fabs(real_of(t, "my::graph", "total_direct_kernel_time_sum") - 3) < 1e-9);
    assert_true(fabs(real_of(t, "my::outer", "total_direct_kernel_time_sum") - 0.7) < 1e-9);
    assert_true(fabs(real_of(t, "my::outer", "total_subtree_kernel_time_sum") - 1.2) < 1e-9);
    assert_true(real_of(t, "aten::mm", "Count") == 2);
    /* the driver's launch makes no leaf, so its kernel represents itself; so does the outer operator's own */
    t = sheet_of(&s, "unified_perf_summary");
    assert_int_equal(rs_table_n_rows(t), 4);
    assert_true(row_of(t, "my::driver->triton_k (Synthetic Op)") != SIZE_MAX);
    assert_true(row_of(t, "my::outer->own_k (Synthetic Op)") != SIZE_MAX);
    assert_true(row_of(t, "my::outer") == SIZE_MAX);
    assert_true(real_of(t, "aten::mm", "operation_count") == 2);
    assert_true(real_of(t, "my::driver->triton_k (Synthetic Op)", "ex_UID") == (double)b.e->n);
    assert_string_equal(rs_table_text(t, row_of(t, "aten::mm"), column_of(t, "process_name"), NULL),
                        "python3");
    assert_string_equal(rs_table_text(t, row_of(t, "aten::mm"), column_of(t, "thread_name"), NULL),
                        "Unknown");
    t = sheet_of(&s, "GEMM");
    assert_int_equal(rs_table_n_rows(t), 1);
    assert_true(fabs(real_of(t, "aten::mm", "Kernel Time (µs)_sum") - 2) < 1e-9);
    /* every kernel has a row, the two of mm one together; the collective's comes first */
    t = sheet_of(&s, "kernel_summary");
    assert_int_equal(rs_table_n_rows(t), 6);
    assert_string_equal(rs_table_text(t, 0, 1, NULL), "c10d::allreduce_");
    /* two kernels below 1 us: own_k has no arguments and so no place in the summary */
    t = sheet_of(&s, "short_kernel_histogram");
    assert_int_equal(rs_table_n_rows(t), 100);
    assert_true(rs_table_int(t, 0, 2) == 1 && rs_table_int(t, 99, 2) == 1);
    assert_int_equal(rs_table_n_rows(sheet_of(&s, "short_kernels_summary")), 1);
    rs_sheets_clear(&s);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
}

/* A file without a single flow: the links of rankscope hold. */
TEST(test_no_flows)
{
    builder b = builder_create();
    add_modelled(&b, "aten::mm", 0, 900);
    add_call(&b, "cudaLaunchKernel", 1, 100, 10);
    add_kernel(&b, "gemm", 0, 7, 10000, 1500, 10);
    rs_trace trace;
    rs_sheets s;
    const rs_tracelens_options options = {0};
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_tracelens_sheets(&trace, &options, &s, NULL), RS_OK);
    assert_non_null(sheet_of(&s, "GEMM"));
    rs_sheets_clear(&s);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
}

TEST(test_memory)
{
    const rs_tracelens_options options = {.short_ns = 1000};
    builder b = make_rank();
    for (uint64_t k = 1;; k++) {
        rs_trace trace;
        rs_sheets s;
        rs_trace_init(&trace, b.e, NULL, b.e->n);
        rs_test_fail_allocation(k);
        rs_status status = rs_tracelens_sheets(&trace, &options, &s, NULL);
        rs_test_fail_allocation(0);
        rs_sheets_clear(&s);
        rs_trace_clear(&trace);
        if (status == RS_OK) break;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    rs_events_free(b.e);
}

/* ---- collectives over ranks ---------------------------------------------------------------------------- */

static rs_tl_collectives make_collectives(int64_t rank, const int64_t *starts, const int64_t *durations,
                                          size_t n)
{
    rs_tl_collectives c = {.rank = rank};
    assert_true(rs_strings_init(&c.strings));
    uint32_t group = rs_strings_add(&c.strings, "0", 1), name = rs_strings_add(&c.strings, "allreduce", 9);
    uint32_t type = rs_strings_add(&c.strings, "Float", 5), split = rs_strings_add(&c.strings, "[]", 2);
    for (size_t i = 0; i < n; i++) {
        assert_true(RS_GROW_ONE(c.items, c.n, c.capacity));
        c.items[c.n++] = (rs_tl_collective){starts[i], durations[i], 2,    1 << 18, 1 << 18, 5,
                                            group,     group,        name, type,    split,   split};
    }
    return c;
}

TEST(test_collectives)
{
    /* rank 0 comes first to both, by 3 and 1 us; rank 1 lists them the other way round */
    rs_tl_collectives a = make_collectives(0, (int64_t[]){1000, 20000}, (int64_t[]){5000, 4000}, 2);
    rs_tl_collectives b = make_collectives(1, (int64_t[]){21000, 4000}, (int64_t[]){3000, 2000}, 2);
    const rs_tl_collectives *ranks[] = {&a, &b};
    rs_sheets s = {0};
    size_t mismatched;
    assert_int_equal(rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL), RS_OK);
    assert_int_equal(mismatched, 0);
    const rs_table *t = sheet_of(&s, "nccl_implicit_sync");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_true(real_of(t, "0_0", "comm_latency") == 2 && real_of(t, "0_0", "skew in start time") == 3);
    assert_true(real_of(t, "0_0", "avg_wait_time") == 1.5 && real_of(t, "0_0", "skew in end time") == 0);
    assert_true(real_of(t, "0_0", "earliest arrival rank") == 0);
    /* 1 MiB in 2 us, in units of 2^30: 1/1024/2e-6; two ranks: the factor is 1 */
    assert_true(fabs(real_of(t, "0_0", "algo bw (GB/s)") - 488.28125) < 1e-9);
    assert_true(real_of(t, "0_0", "bus bw (GB/s)") == real_of(t, "0_0", "algo bw (GB/s)"));
    assert_true(real_of(t, "0_1", "rank_0_wait_time") == 1 && real_of(t, "0_1", "rank_1_wait_time") == 0);
    t = sheet_of(&s, "nccl_summary_implicit_sync");
    assert_true(real_of(t, "allreduce", "count") == 2 && real_of(t, "allreduce", "comm_latency_max") == 3);
    assert_true(fabs(real_of(t, "allreduce", "Total comm latency (ms)") - 0.005) < 1e-12);
    t = sheet_of(&s, "straggler_summary");
    assert_int_equal(rs_table_int(t, 0, 0), 1);
    assert_int_equal(rs_table_int(t, 0, column_of(t, "times_arrived_last")), 2);
    assert_true(rs_table_real(t, 1, column_of(t, "total_wait_time_us")) == 4);
    assert_int_equal(rs_table_n_rows(sheet_of(&s, "nccl_long")), 4);
    assert_int_equal(rs_table_n_rows(sheet_of(&s, "nccl_summary_long")), 2);
    rs_sheets_clear(&s);
    /* ranks that start together: the lower comes last, the higher first */
    b.items[0].ts = 20000;
    b.items[1].ts = 1000;
    assert_int_equal(rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL), RS_OK);
    t = sheet_of(&s, "straggler_summary");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rs_table_int(t, i, 0), i);
        assert_int_equal(rs_table_int(t, i, column_of(t, "times_arrived_last")), i == 0 ? 2 : 0);
        assert_int_equal(rs_table_int(t, i, column_of(t, "times_arrived_first")), i == 1 ? 2 : 0);
    }
    rs_sheets_clear(&s);
    /* a rank that is not in a collective has empty cells there */
    b.n = 1;
    assert_int_equal(rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL), RS_OK);
    t = sheet_of(&s, "nccl_implicit_sync");
    assert_true(rs_table_is_null(t, 1, column_of(t, "rank_1_ts")) &&
                rs_table_is_null(t, 1, column_of(t, "rank_1_wait_time")));
    assert_false(rs_table_is_null(t, 1, column_of(t, "rank_0_wait_time")));
    rs_sheets_clear(&s);
    b.n = 2;
    /* what ranks say of a collective differs: counted */
    b.items[0].in = 7;
    assert_int_equal(rs_tl_collective_sheets(ranks, 2, false, &s, &mismatched, NULL), RS_OK);
    assert_int_equal(mismatched, 1);
    assert_null(sheet_of(&s, "nccl_long"));
    rs_sheets_clear(&s);
    for (uint64_t k = 1;; k++) {
        rs_test_fail_allocation(k);
        rs_status status = rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL);
        rs_test_fail_allocation(0);
        rs_sheets_clear(&s);
        if (status == RS_OK) break;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    rs_tl_collectives_clear(&a);
    rs_tl_collectives_clear(&b);
}

/* Says of all of a rank's collectives that they exchange these amounts. */
static void make_exchange(rs_tl_collectives *c, int64_t in, const char *splits)
{
    for (size_t i = 0; i < c->n; i++) {
        c->items[i].name = rs_strings_add(&c->strings, "all_to_allv", 11);
        c->items[i].in_split = rs_strings_add(&c->strings, splits, strlen(splits));
        c->items[i].in = in;
    }
}

TEST(test_all2allv)
{
    rs_tl_collectives a = make_collectives(0, (int64_t[]){1000, 20000}, (int64_t[]){5000, 4000}, 2);
    rs_tl_collectives b = make_collectives(1, (int64_t[]){4000, 21000}, (int64_t[]){2000, 4000}, 2);
    make_exchange(&a, 3 << 18, "[524288, 262144]"); /* floats: 3 MiB, 2 of them to itself */
    make_exchange(&b, 1 << 18, "[262144,0]");
    const rs_tl_collectives *ranks[] = {&a, &b};
    rs_sheets s = {0};
    size_t mismatched;
    assert_int_equal(rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL), RS_OK);
    assert_int_equal(mismatched, 0);
    const rs_table *t = sheet_of(&s, "nccl_all2allv");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_true(real_of(t, "0_0", "total data communicated (MB)") == 4);
    assert_true(real_of(t, "0_0", "total nelems communicated") == 1 << 20);
    /* from 1 to 6 us */
    assert_true(real_of(t, "0_0", "wall_time (us)") == 5 && real_of(t, "0_0", "avg_rank_dur (us)") == 3.5);
    assert_true(fabs(real_of(t, "0_0", "throughput (GB/s)") - 781.25) < 1e-9);
    assert_true(fabs(real_of(t, "0_0", "max_rank_throughput (GB/s)") - 585.9375) < 1e-9);
    assert_true(fabs(real_of(t, "0_0", "min_rank_throughput (GB/s)") - 488.28125) < 1e-9);
    assert_true(real_of(t, "0_0", "size_imbalance") == 1.5);
    assert_true(real_of(t, "0_0", "skew in start time") == 3 && real_of(t, "0_0", "skew in end time") == 0);
    assert_true(real_of(t, "0_1", "skew in end time") == 1);
    assert_true(real_of(t, "0_1", "rank_0_skew in end time") == 1);
    assert_true(real_of(t, "0_0", "rank_1_skew in start time") == 3);
    assert_true(real_of(t, "0_0", "rank_1_In msg size (MB)") == 1);
    t = sheet_of(&s, "nccl_summary_all2allv");
    assert_int_equal(rs_table_n_rows(t), 1);
    assert_true(real_of(t, "0", "Total wall_time (us)") == 10 && real_of(t, "0", "count") == 2);
    assert_true(real_of(t, "0", "wall_time (us)_median") == 5);
    t = sheet_of(&s, "nccl_all2allv_heatmap");
    assert_int_equal(rs_table_n_rows(t), 4);
    assert_true(rs_table_int(t, 1, 0) == 0 && rs_table_int(t, 1, 1) == 1);
    assert_true(rs_table_real(t, 0, 2) == 4 && rs_table_real(t, 0, 3) == 2 && rs_table_int(t, 0, 4) == 2);
    assert_true(rs_table_real(t, 1, 2) == 2 && rs_table_real(t, 2, 2) == 2 && rs_table_real(t, 3, 2) == 0);
    assert_null(sheet_of(&s, "nccl_implicit_sync"));
    rs_sheets_clear(&s);
    /* splits that are none, and of another number of ranks */
    make_exchange(&a, 1, "[1, 2, 3]");
    make_exchange(&b, 1, "[9x");
    assert_int_equal(rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL), RS_OK);
    assert_null(sheet_of(&s, "nccl_all2allv_heatmap"));
    rs_sheets_clear(&s);
    make_exchange(&a, INT64_MAX, "[9223372036854775807, 99999999999999999999]");
    for (uint64_t k = 1;; k++) {
        rs_test_fail_allocation(k);
        rs_status status = rs_tl_collective_sheets(ranks, 2, true, &s, &mismatched, NULL);
        rs_test_fail_allocation(0);
        rs_sheets_clear(&s);
        if (status == RS_OK) break;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    rs_tl_collectives_clear(&a);
    rs_tl_collectives_clear(&b);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

TEST(test_numbers)
{
    double values[] = {3, (double)NAN, 1, 8};
    rs_tl_stats s = rs_tl_stats_of(values, 4);
    assert_true(s.n == 3 && s.sum == 12 && s.mean == 4 && s.median == 3 && s.min == 1 && s.max == 8);
    assert_true(fabs(s.std - sqrt(13)) < 1e-12);
    s = rs_tl_stats_of(values, 0);
    assert_true(s.n == 0 && s.sum == 0 && isnan(s.mean) && isnan(s.std));
    /* nine equal parts: numpy adds eight of them pairwise first */
    double nine[] = {2.119, 3.719, 3.839, 3.959, 2.279, 3.919, 3.199, 3.239, 3.239};
    double eight = ((nine[0] + nine[1]) + (nine[2] + nine[3])) + ((nine[4] + nine[5]) + (nine[6] + nine[7]));
    assert_true(rs_tl_numpy_sum(nine, 9) == eight + nine[8]);
}

/* Of many rows, some at once and with gaps; without memory there is no sum. */
TEST(test_union)
{
    builder b = builder_create();
    uint32_t rows[40];
    for (int i = 0; i < 40; i++) rows[i] = add_kernel(&b, "k", 0, 7, (40 - i) * 1000, i % 2 ? 500 : 1200, -1);
    const rs_tl_rank r = {.e = b.e};
    double us = 0;
    assert_true(rs_tl_union(&r, rows, 40, &us));
    assert_true(fabs(us - (0.5 + 19 * 1.5 + 1.2)) < 1e-9);
    rs_test_fail_allocation(1);
    bool ok = rs_tl_union(&r, rows, 40, &us);
    rs_test_fail_allocation(0);
    assert_false(ok);
    rs_events_free(b.e);
}
