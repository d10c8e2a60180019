/* Kernel classes and calls of device runtimes: names as real profilers write them. */
#include <string.h>

#include "match/collective_names.h"
#include "trace/calls.h"
#include "trace/comm_kernels.h"
#include "trace/kernel_name.h"
#include "trace/trace.h"
#include "unit.h"

typedef struct sample {
    rs_kind kind;
    const char *name;
    rs_class own, hta, tracelens;
} sample;

#define C RS_CLASS_COMPUTE
#define N RS_CLASS_COMM
#define M RS_CLASS_MEMORY
#define O RS_CLASS_OTHER

static const sample samples[] = {
    {RS_KIND_KERNEL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", N, N, N},
    {RS_KIND_KERNEL, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", N,
     N, N},
    {RS_KIND_KERNEL, "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", N, N, N},
    {RS_KIND_KERNEL, "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*, int)", N, C,
     N},
    {RS_KIND_KERNEL, "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)", N,
     C, N},
    {RS_KIND_KERNEL, "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>(AllReduceParams)", N, C, C},
    {RS_KIND_KERNEL, "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0>()",
     N, C, C},
    {RS_KIND_KERNEL, "nvshmemi_transfer_rma_p2p", N, C, C},
    {RS_KIND_KERNEL, "void deep_ep::internode_ll::dispatch<false, 3, 10, 7168>(void*)", N, C, C},
    {RS_KIND_KERNEL, "mscclKernel_Sum_half_LL_0", N, C, C},
    {RS_KIND_KERNEL, "hcclAllreduce", N, N, C},
    {RS_KIND_KERNEL, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", C,
     C, C},
    {RS_KIND_KERNEL, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", C, C, C},
    {RS_KIND_KERNEL, "sm80_xmma_gemm_f16f16_dma_copy", C, O, C},
    {RS_KIND_KERNEL, "hipblasLt_gemm", C, N, C},
    {RS_KIND_KERNEL, "__amd_rocclr_copyBuffer", M, C, M},
    {RS_KIND_KERNEL, "__amd_rocclr_fillBufferAligned.kd", M, C, C},
    {RS_KIND_KERNEL, "MEMORY_COPY_DEVICE_TO_HOST", M, C, M},
    {RS_KIND_MEMCPY, "Memcpy HtoD (Pageable -> Device)", M, M, M},
    {RS_KIND_MEMCPY, "CopyDeviceToHost", M, C, M},
    {RS_KIND_MEMSET, "Memset (Device)", M, M, C},
    {RS_KIND_SYNC, "Stream Wait Event", C, O, C},
    {RS_KIND_SYNC, "Stream Sync", C, O, C},
    {RS_KIND_MTIA_WORK, "dma_request", M, M, C},
    {RS_KIND_MTIA_WORK, "event_wait", C, C, C},
    {RS_KIND_KERNEL, "", C, C, C},
};

TEST(test_samples)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        size_t n = strlen(s->name);
        if (rs_class_of(s->kind, s->name, n) != s->own) fail_msg("own: %s", s->name);
        if (rs_class_of_hta(s->name, n) != s->hta) fail_msg("hta: %s", s->name);
        if (rs_class_of_tracelens(s->kind, s->name, n) != s->tracelens) fail_msg("tracelens: %s", s->name);
    }
}

TEST(test_names_of_any_length)
{
    static char name[20000];
    for (size_t n = 0; n < 40; n++) { /* each length around those of the words, none terminated */
        memset(name, 'x', sizeof name - 1);
        memcpy(name, "deep_ep::internode::dispatch<int>(ncclComm*)", n);
        rs_class_of(RS_KIND_KERNEL, name, n);
    }
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(rs_class_of(RS_KIND_KERNEL, name, sizeof name - 1), RS_CLASS_COMPUTE);
    memcpy(name, "nccl", 4);
    assert_int_equal(rs_class_of(RS_KIND_KERNEL, name, sizeof name - 1), RS_CLASS_COMM);
}

/* Names as profilers of the stacks show them; their words; the family, NULL: it does not communicate. */
TEST(test_words)
{
    static const struct {
        const char *name, *words, *family;
        rs_coll_kind kind;
    } cases[] = {
        {"void dpsk::ep::internode::dispatch<false, 8, false, 8>(int4*, float*)",
         "dpsk::ep::internode::dispatch", "DeepEP", RS_COLL_DISPATCH},
        {"void deep_ep::legacy::intranode::combine<8, int>(int4*)", "deep_ep::legacy::intranode::combine",
         "DeepEP", RS_COLL_COMBINE},
        {"void deep_ep::intranode::barrier<8>(int**, int)", "deep_ep::intranode::barrier", "DeepEP",
         RS_COLL_OTHER},
        {"_ZN7deep_ep12internode_ll8dispatchILb0ELb1EEEvPvS1_", "deep_ep::internode_ll::dispatch", "DeepEP",
         RS_COLL_DISPATCH},
        {"void deep_ep::elastic::dispatch_impl<true, 8>(void*)", "deep_ep::elastic::dispatch_impl", "DeepEP",
         RS_COLL_DISPATCH},
        {"void deep_ep::elastic::dispatch_copy_epilogue_impl<8>(void*)",
         "deep_ep::elastic::dispatch_copy_epilogue_impl", NULL, RS_COLL_DISPATCH},
        {"void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*)",
         "dpsk::ep::cuda::get_dispatch_layout", NULL, RS_COLL_DISPATCH},
        {"void hybrid_ep::combine_kernel<8, 4>(hybrid_ep::dispatch_kernel_param_t)",
         "hybrid_ep::combine_kernel", "hybrid_ep", RS_COLL_COMBINE},
        {"void hybrid_ep::permute_kernel<8>(int)", "hybrid_ep::permute_kernel", NULL, RS_COLL_OTHER},
        {"void mori::moe::EpCombineInterNodeV1Kernel<__hip_bfloat16>(EpDispatchCombineArgs)",
         "mori::moe::ep_combine_inter_node_v1_kernel", "MORI", RS_COLL_COMBINE},
        {"EpDispatchIntraNodeKernel_bf16", "ep_dispatch_intra_node_kernel_bf16", "MORI", RS_COLL_DISPATCH},
        {"void a2a_combine_recv_kernel<8>(unsigned long)", "a2a_combine_recv_kernel", "pplx",
         RS_COLL_COMBINE},
        {"void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>(void*)",
         "tensorrt_llm::kernels::moe_comm::moe_a2a_dispatch_kernel", "MoE all-to-all", RS_COLL_DISPATCH},
        {"void tensorrt_llm::kernels::moe_comm::moeA2APrepareDispatchKernel(int*)",
         "tensorrt_llm::kernels::moe_comm::moe_a2a_prepare_dispatch_kernel", NULL, RS_COLL_DISPATCH},
        {"void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8>(void*)",
         "flashinfer::trtllm_mnnvl_allreduce::oneshot_allreduce_fusion_kernel", "custom all-reduce",
         RS_COLL_ALL_REDUCE},
        {"void (anonymous namespace)::all_reduce_one_shot_push_kernel<float, 8u>((anonymous namespace)::Data)",
         "all_reduce_one_shot_push_kernel", "collective", RS_COLL_ALL_REDUCE},
        {"void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(aiter::RankData*)",
         "aiter::reduce_scatter_cross_device_store", "custom all-reduce", RS_COLL_REDUCE_SCATTER},
        {"kuserbuffers_pushsendrecv(int, int)", "kuserbuffers_pushsendrecv", "user buffers", RS_COLL_OTHER},
        {"ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16(ncclSymkDevWorkArgs)",
         "nccl_symk_dev_kernel_all_reduce_a_gx_llmc_r_sum_bf16", "NCCL", RS_COLL_ALL_REDUCE},
        {"c10d::symmetric_memory::put_signal_kernel(unsigned int**, int)",
         "c10d::symmetric_memory::put_signal_kernel", "symmetric memory", RS_COLL_OTHER},
        {"nvshmemi_barrier_on_stream_kernel(int)", "nvshmemi_barrier_on_stream_kernel", "SHMEM",
         RS_COLL_OTHER},
        {"void mscclpp::allreduce8<__half>(void*)", "mscclpp::allreduce8", "MSCCL++", RS_COLL_ALL_REDUCE},
        {"all-gather-start.12", "all_gather_start_12", "collective", RS_COLL_ALL_GATHER},
        {"triton_poi_fused_add_all_reduce_4", "triton_poi_fused_add_all_reduce_4", NULL, RS_COLL_ALL_REDUCE},
        {"void cutlass::device_kernel<cutlass::gemm::collective::CollectiveMma<ncclSum>>(Params)",
         "cutlass::device_kernel", NULL, RS_COLL_OTHER},
        {"void (anonymous namespace)::groupnorm_kernel_dispatch_down<float>(int)",
         "groupnorm_kernel_dispatch_down", NULL, RS_COLL_DISPATCH},
        {"std::enable_if<true, void>::type foo<ncclInt>(int)", "foo", NULL, RS_COLL_OTHER},
        {"void ns::Op<int>::run<float>(int)", "ns::op::run", NULL, RS_COLL_OTHER},
        {"Memcpy PtoP (Device -> Device)", "", NULL, RS_COLL_OTHER},
        {"_ZN12_GLOBAL__N_114barrier_kernelEPj", "barrier_kernel", NULL, RS_COLL_BARRIER},
        {"_Z", "z", NULL, RS_COLL_OTHER},
        {"_ZN99999999999999999999x", "9999999999999999x", NULL, RS_COLL_OTHER},
        {"", "", NULL, RS_COLL_OTHER},
        {"::::<<<", "", NULL, RS_COLL_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[RS_KERNEL_WORDS];
        size_t n = strlen(cases[i].name);
        rs_kernel_words(cases[i].name, n, words);
        assert_string_equal(words, cases[i].words);
        const rs_comm_family *family = rs_comm_family_of(cases[i].name, n);
        if (family ? !cases[i].family || strcmp(family->name, cases[i].family) != 0 : cases[i].family != NULL)
            fail_msg("%s is of %s", cases[i].name, family ? family->name : "no family");
        assert_int_equal(rs_coll_kind_of_kernel(cases[i].name), cases[i].kind);
    }
}

TEST(test_hta_looks_at_the_first_line)
{
    const char *name = "x\nncclKernel";
    assert_int_equal(rs_class_of_hta(name, strlen(name)), RS_CLASS_COMPUTE);
    name = "xncclKernel\n";
    assert_int_equal(rs_class_of_hta(name, strlen(name)), RS_CLASS_COMM);
}

TEST(test_calls)
{
    static const struct {
        const char *name;
        unsigned flags;
    } calls[] = {
        {"cudaLaunchKernel", RS_CALL_LAUNCHES | RS_CALL_KERNEL},
        {"cuLaunchKernelEx", RS_CALL_LAUNCHES | RS_CALL_KERNEL},
        {"hipExtModuleLaunchKernel", RS_CALL_LAUNCHES | RS_CALL_KERNEL},
        {"cudaLaunchCooperativeKernelMultiDevice", RS_CALL_LAUNCHES | RS_CALL_KERNEL},
        {"urEnqueueKernelLaunch", RS_CALL_LAUNCHES},
        {"hipGraphLaunch", RS_CALL_LAUNCHES | RS_CALL_GRAPH},
        {"cudaMemcpyAsync", RS_CALL_LAUNCHES | RS_CALL_COPIES},
        {"cuMemcpyHtoD_v2", RS_CALL_COPIES},
        {"hipMemcpyWithStream", RS_CALL_LAUNCHES | RS_CALL_COPIES},
        {"cudaDeviceSynchronize", RS_CALL_WAITS_DEVICE},
        {"cuCtxSynchronize", RS_CALL_WAITS_DEVICE},
        {"cuStreamSynchronize_ptsz", RS_CALL_WAITS_STREAM},
        {"hipEventSynchronize", RS_CALL_WAITS_EVENT},
        {"synchronizeStream", RS_CALL_WAITS_STREAM},
        {"cudaEventQuery", RS_CALL_ASKS | RS_CALL_POLLS},
        {"cudaEventRecordWithFlags", RS_CALL_RECORDS},
        {"musaStreamWaitEvent", RS_CALL_STREAM_WAITS},
        {"cudaGetDeviceCount", RS_CALL_POLLS},
        {"runFunction - job_prep_and_submit_for_execution", RS_CALL_LAUNCHES},
        {"aten::EventRecord", 0},
        {"cudaMalloc", RS_CALL_ALLOCATES},
        {"hipFreeAsync", RS_CALL_ALLOCATES},
        {"cudaFree", RS_CALL_ALLOCATES | RS_CALL_DRAINS},
        {"cudaFreeHost", RS_CALL_ALLOCATES},
        {"cuMemFree_v2", RS_CALL_ALLOCATES | RS_CALL_DRAINS},
        {"cudaGetLastError", RS_CALL_POLLS},
        {"cu", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (rs_call_flags(calls[i].name) != calls[i].flags)
            fail_msg("%s: %u", calls[i].name, rs_call_flags(calls[i].name));
}
