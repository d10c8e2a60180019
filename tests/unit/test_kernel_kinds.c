/* Kinds of kernels by names that the projects' own traces hold. */
#include <stdio.h>
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
        {"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "SDPA"},
        {"_attn_fwd_inner", "SDPA"},
        {"append_paged_kv_cache_kernel", "SDPA"},
        {"vllm::paged_attention_v1_kernel", "SDPA"},
        {"fused_moe_kernel", "MoE"},
        {"topk_softmax_kernel", "MoE"},
        {"topkGatingSoftmax", "MoE"},
        {"adam_cuda_kernel", "optimizer"},
        {"lamb_cuda_kernel_part1", "optimizer"},
        {"sm80_xmma_dgrad_nhwc", "CONV"},
        {"sm80_xmma_wgrad_nhwc", "CONV"},
        {"winograd_nonfused::winogradForwardData4x4", "CONV"},
        {"igemm_bwd_gtcx_nhwc_fp16", "CONV"},
        {"Im2Col", "CONV"},
        {"conv2d_grouped_direct_kernel", "CONV"},
        {"slow_conv3d_kernel", "CONV"},
        {"causal_conv1d_fwd_kernel", "CONV"},
        {"MIOpenConvolutionUniC", "CONV"},
        {"conv_depthwise_forward_kernel", "CONV"},
        {"naive_conv_ab_nonpacked_fwd_nchw", "CONV"},
        {"gemv2T_kernel_val", "GEMM"},
        {"ampere_bf16_s16816_128x64_tn", "GEMM"},
        {"ampere_tf32_s1688_128x128_nn", "GEMM"},
        {"cublasLt::splitKreduce_kernel", "GEMM"},
        {"_matmul_ogs_NNT", "GEMM"},
        {"cutlass_80_tensorop_f16", "GEMM"},
        {"turing_wmma_kernel", "GEMM"},
        {"cuApplyLayerNorm", "NORM"},
        {"vllm::rms_norm_kernel", "NORM"},
        {"RMSNormKernel", "NORM"},
        {"batch_norm_collect_statistics_kernel", "NORM"},
        {"MIOpenBatchNormFwdTrainSpatial", "NORM"},
        {"cudnn::bn_fw_tr_1C11_kernel_NCHW", "NORM"},
        {"cudnn::bn_bw_1C11_kernel_new", "NORM"},
        {"group_norm_nhwc_fwd", "NORM"},
        {"GroupNorm1dForwardKernel", "NORM"},
        {"RowwiseMomentsCUDAKernel", "NORM"},
        {"GammaBetaBackwardCUDAKernel", "NORM"},
        {"instance_norm_fwd", "NORM"},
        {"nll_loss_forward", "loss"},
        {"liger_cross_entropy_kernel", "loss"},
        {"rotary_embedding_kernel", "RoPE"},
        {"fused_rope_forward", "RoPE"},
        {"selective_scan_fwd_kernel", "SSM"},
        {"ssm_state_update", "SSM"},
        {"_chunk_scan_fwd_kernel", "SSM"},
        {"embedding_backward_feature_kernel", "embedding"},
        {"indexSelectLargeIndex", "embedding"},
        {"index_select_kernel", "embedding"},
        {"index_put_kernel", "indexing"},
        {"vectorized_gather_kernel", "indexing"},
        {"scatter_add_kernel", "indexing"},
        {"kernel_masked_fill", "indexing"},
        {"DeviceRadixSortOnesweepKernel", "sort"},
        {"DeviceSortMergeKernel", "sort"},
        {"DeviceScanKernel", "sort"},
        {"bitonicKVInPlace", "sort"},
        {"radix_topk_one_block_kernel", "sort"},
        {"segmented_sort_kernel", "sort"},
        {"max_pool_forward_nchw", "pooling"},
        {"distribution_elementwise_grid_stride_kernel", "random"},
        {"fused_dropout_kernel_vec", "random"},
        {"philox_kernel", "random"},
        {"TopPSamplingFromProbKernel", "random"},
        {"dynamic_per_token_quant_kernel", "quantise"},
        {"MIOpenReductionKernel", "reduce"},
        {"DeviceReduceSingleTileKernel", "reduce"},
        {"CatArrayBatched_aligned", "copy"},
        {"batched_transpose_32x32", "copy"},
        {"copy_device_to_device", "copy"},
        {"fill_kernel", "copy"},
        {"SubTensorOpWithScalar1d", "copy"},
        {"pointwise_kernel", "elementwise"},
        {"silu_kernel", "elementwise"},
        {"gelu_kernel", "elementwise"},
        {"act_and_mul_kernel", "elementwise"},
        {"my_own_kernel", "other"},
        {"", "other"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        /* large letters and small ones are the same, and so is what comes after the name */
        char loud[200], quiet[200], longer[200];
        const size_t n = strlen(known[i].name);
        for (size_t k = 0; k <= n; k++) {
            const char c = known[i].name[k];
            loud[k] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
            quiet[k] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
        snprintf(longer, sizeof longer, "%s<float, 4>(int)", known[i].name);
        assert_string_equal(rs_kernel_kind(rs_class_of(RS_KIND_KERNEL, known[i].name, n), known[i].name, n),
                            known[i].kind);
        if (strcmp(known[i].kind, "communication") == 0) continue;
        assert_string_equal(rs_kernel_kind(RS_CLASS_COMPUTE, loud, n), known[i].kind);
        assert_string_equal(rs_kernel_kind(RS_CLASS_COMPUTE, quiet, n), known[i].kind);
        assert_string_equal(rs_kernel_kind(RS_CLASS_COMPUTE, longer, strlen(longer)), known[i].kind);
    }
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
