/* What annotations of serving engines say; the examples are those that the engines' sources give. */
#include <string.h>

#include "trace/serving.h"
#include "unit.h"

static const struct example {
    const char *name;
    rs_serving_phase phase;
    bool detailed;
    rs_serving_sums context, generation;
} examples[] = {
    {"execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)",
     RS_SERVING_DECODE,
     true,
     {0, 0, 0, 0, 0},
     {64, 64, 131072, 64, 131072}},
    {"execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)",
     RS_SERVING_MIXED,
     true,
     {2, 6144, 7144, 20971520, 23019520},
     {3, 3, 6144, 3, 6144}},
    {"execute_context_2(14721)_generation_0(0)",
     RS_SERVING_PREFILL,
     false,
     {2, 14721, 0, 0, 0},
     {0, 0, 0, 0, 0}},
    {"execute_context_1(888_788544)_generation_0(0)",
     RS_SERVING_PREFILL,
     false,
     {1, 888, 0, 0, 0},
     {0, 0, 0, 0, 0}},
    {"execute_context_0(0)_generation_0(0)", RS_SERVING_IDLE, false, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}},
    {"execute_new_1_cached_7", RS_SERVING_MIXED, false, {1, 0, 0, 0, 0}, {7, 7, 0, 0, 0}},
    {"step[EXTEND bs=2 toks=14721 c_sq=14721 c_sqsq=108745533 c_sqsk=108745533 c_sk=14721]",
     RS_SERVING_PREFILL,
     true,
     {2, 14721, 14721, 108745533, 108745533},
     {0, 0, 0, 0, 0}},
    {"step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]",
     RS_SERVING_DECODE,
     true,
     {0, 0, 0, 0, 0},
     {64, 128, 131072, 256, 262144}},
    {"step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]",
     RS_SERVING_MIXED,
     true,
     {1, 5, 8, 25, 40},
     {1, 1, 12, 1, 12}},
    {"step[EXTEND bs=2 toks=14721]", RS_SERVING_PREFILL, false, {2, 14721, 0, 0, 0}, {0, 0, 0, 0, 0}},
    {"step[DECODE bs=64]", RS_SERVING_DECODE, false, {0, 0, 0, 0, 0}, {64, 64, 0, 0, 0}},
    {"prefill[bs=6 tok=17408 ctx=[4096, 4096, 4096]...+3]",
     RS_SERVING_PREFILL,
     false,
     {6, 17408, 0, 0, 0},
     {0, 0, 0, 0, 0}},
    {"decode[bs=117/128 tok=117 d=117]", RS_SERVING_DECODE, false, {0, 0, 0, 0, 0}, {117, 117, 0, 0, 0}},
    {"decode[bs=32 tok=128 d=32 spec=3 sqsq=512 sqsk=262144 sk=65536]",
     RS_SERVING_DECODE,
     true,
     {0, 0, 0, 0, 0},
     {32, 128, 65536, 512, 262144}},
    {"[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
     RS_SERVING_DECODE,
     false,
     {0, 0, 0, 0, 0},
     {32, 32, 0, 0, 0}},
    {"[Executor] _forward_step 3: 2 ctx reqs, 1024 ctx tokens, 5 gen reqs",
     RS_SERVING_MIXED,
     false,
     {2, 1024, 0, 0, 0},
     {5, 5, 0, 0, 0}},
    {"[Executor] _forward_step: 1 ctx reqs, 0 gen reqs",
     RS_SERVING_PREFILL,
     false,
     {1, 0, 0, 0, 0},
     {0, 0, 0, 0, 0}},
    {"execute_diffusion_4_1024x768", RS_SERVING_DIFFUSION, false, {0, 0, 0, 0, 0}, {4, 0, 0, 0, 0}},
};

static void expect_sums(const rs_serving_sums *got, const rs_serving_sums *want)
{
    assert_int_equal(got->requests, want->requests);
    assert_int_equal(got->q, want->q);
    assert_int_equal(got->k, want->k);
    assert_int_equal(got->qq, want->qq);
    assert_int_equal(got->qk, want->qk);
}

TEST(test_examples)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *x = &examples[i];
        rs_serving_step s;
        assert_true(rs_serving_parse(x->name, strlen(x->name), &s));
        assert_int_equal(s.phase, x->phase);
        assert_int_equal(s.detailed, x->detailed);
        expect_sums(&s.context, &x->context);
        expect_sums(&s.generation, &x->generation);
    }
}

/* Every beginning of an example ends somewhere; a number too long is held. */
TEST(test_hostile)
{
    rs_serving_step s;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char copy[200];
        for (size_t n = 0; n < strlen(examples[i].name); n++) {
            memcpy(copy, examples[i].name, n);
            (void)rs_serving_parse(copy, n, &s);
        }
    }
    static const char *const none[] = {"",
                                       "execute_",
                                       "execute_model",
                                       "step",
                                       "step[]",
                                       "step[DECODED bs=1]",
                                       "[Executor] _forward_step",
                                       "[Executor] _forward_step x: 1 ctx reqs, 1 gen reqs",
                                       "[Executor] _forward_step 1: 1 ctx reqs, 1 ctx tokens",
                                       "prefill",
                                       "prefill[tok=3]",
                                       "decode[bs=]",
                                       "decode(bs=1)",
                                       "execute_context_(1)_generation_1(1)"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(rs_serving_parse(none[i], strlen(none[i]), &s));
    const char *much = "step[DECODE bs=99999999999999999999999999]";
    assert_true(rs_serving_parse(much, strlen(much), &s));
    assert_true(s.generation.requests > INT64_MAX - 100);
}

TEST(test_kernels)
{
    static const struct {
        const char *name;
        rs_serving_phase phase;
    } kernels[] = {
        {"void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16>(float*, float*)",
         RS_SERVING_DECODE},
        {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0>",
         RS_SERVING_DECODE},
        {"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<>>",
         RS_SERVING_PREFILL},
        {"_fwd_grouped_kernel_stage1", RS_SERVING_DECODE},
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>(Flash_fwd_params)",
         RS_SERVING_PREFILL},
        {"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>", RS_SERVING_IDLE},
        {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128>>",
         RS_N_SERVING_PHASES},
        {"ampere_bf16_s16816gemm_bf16_128x64", RS_SERVING_IDLE},
        {"", RS_SERVING_IDLE},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        assert_int_equal(rs_serving_phase_of_kernel(kernels[i].name, strlen(kernels[i].name)),
                         kernels[i].phase);
}
