/* Kernel classes and calls of device runtimes: names as real profilers write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "trace/calls.h"
#include "trace/trace.h"

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

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        size_t n = strlen(s->name);
        if (rs_class_of(s->kind, s->name, n) != s->own) fail_msg("own: %s", s->name);
        if (rs_class_of_hta(s->name, n) != s->hta) fail_msg("hta: %s", s->name);
        if (rs_class_of_tracelens(s->kind, s->name, n) != s->tracelens) fail_msg("tracelens: %s", s->name);
    }
}

static void test_names_of_any_length(void **state)
{
    (void)state;
    static char name[20000];
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(rs_class_of(RS_KIND_KERNEL, name, sizeof name - 1), RS_CLASS_COMPUTE);
    memcpy(name + 4000, "NCCL", 4);
    assert_int_equal(rs_class_of(RS_KIND_KERNEL, name, sizeof name - 1), RS_CLASS_COMM);
}

static void test_hta_looks_at_the_first_line(void **state)
{
    (void)state;
    const char *name = "x\nncclKernel";
    assert_int_equal(rs_class_of_hta(name, strlen(name)), RS_CLASS_COMPUTE);
    name = "xncclKernel\n";
    assert_int_equal(rs_class_of_hta(name, strlen(name)), RS_CLASS_COMM);
}

static void test_calls(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_names_of_any_length),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_hta_looks_at_the_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
