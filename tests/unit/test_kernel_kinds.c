/* Kinds of kernels by names that the projects' own traces hold. */
#include <string.h>

#include "trace/kernel_kinds.h"
#include "unit.h"

TEST(test_names)
{
    static const struct {
        const char *name, *kind;
    } known[] = {
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication"},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "GEMM"},
        {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "GEMM"},
        {"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x128x64", "GEMM"},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x1_tn_align8>",
         "GEMM"},
        {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4> >", "SDPA"},
        {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", "SDPA"},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", "SDPA"},
        {"sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc", "CONV"},
        {"miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", "CONV"},
        {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
         "NORM"},
        {"void cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16>", "softmax"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int> >", "copy"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >",
         "elementwise"},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps>", "reduce"},
        {"triton_poi_fused_add_0", "triton"},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>",
         "optimizer"},
        {"my_own_kernel", "other"},
        {"", "other"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(rs_kernel_kind(rs_class_of(RS_KIND_KERNEL, known[i].name, strlen(known[i].name)),
                                           known[i].name, strlen(known[i].name)),
                            known[i].kind);
    assert_string_equal(rs_kernel_kind(rs_class_of(RS_KIND_MEMCPY, "gemm", 4), "gemm", 4), "memory");
}

/* Each kind is listed once, "other" last. */
TEST(test_list)
{
    size_t n = 0;
    for (; rs_kernel_kind_at(n); n++)
        for (size_t i = 0; i < n; i++) assert_string_not_equal(rs_kernel_kind_at(i), rs_kernel_kind_at(n));
    assert_true(n > 10 && n < 64);
    assert_string_equal(rs_kernel_kind_at(n - 1), "other");
}
