/* Families of communication kernels. Sources of the names, each read in the project that launches the kernel:
 *
 *   NCCL, RCCL          src/device/generate.py: ncclDevKernel_*, ncclSymkDevKernel_*, older ncclKernel_*; RCCL's mscclKernel_*
 *   MSCCL++             include/mscclpp and apps: namespace mscclpp
 *   oneCCL, XCCL, HCCL  names of tasks of Intel's, Ascend's and Habana's libraries: oneccl*, xccl*, hccl*, hcom_*, lcal*
 *   DeepEP              csrc/kernels (intranode, internode, internode_ll: dispatch, combine, notify_dispatch, cached_notify, barrier),
 *                       legacy/ the same; deep_ep/include/deep_ep/impls (elastic: dispatch, combine, barrier, pp_send, engram_fetch;
 *                       its prologues and epilogues copy on one device). DeepSeek's own builds call the outer namespace otherwise
 *   hybrid_ep           csrc/hybrid_ep: dispatch_kernel, combine_kernel, device_sync_kernel
 *   MORI                src/ops/dispatch_combine: EpDispatch*, EpCombine*; its run-time compiler drops the namespaces
 *   pplx                pplx-garden p2p-all-to-all: a2a_dispatch_{send,recv}*, a2a_combine_{send,recv}*; pplx-kernels: namespace pplx
 *   TensorRT-LLM, FlashInfer
 *                       cpp/tensorrt_llm/kernels: *AllReduce*, moeAllToAllKernel, moeA2ADispatchKernel, moeA2ACombineKernel
 *                       (moeA2APrepare* clears counters of its own device); flashinfer/comm: trtllm_allreduce_fusion, mnnvl
 *   vLLM, SGLang, aiter csrc/custom_all_reduce.cuh: cross_device_reduce_*; aiter's *_cross_device_store; SGLang's
 *                       jit_kernel/csrc/distributed: all_reduce_one_shot_*; quick_all_reduce.cuh: namespace quickreduce
 *   torch symmetric memory
 *                       torch/csrc/distributed/c10d/symm_mem: one_shot_*, two_shot_*, multimem_*; namespace symmetric_memory
 *   Transformer Engine  common/comm_gemm_overlap/userbuffers: userbuffers_*, kuserbuffers_*
 *   NVSHMEM, rocSHMEM   what the libraries launch carries their prefix
 *   XLA                 HLO operators that run as work of a TPU (xla/hlo/ir/hlo_opcode.h)
 */
#include "trace/comm_kernels.h"

#include <string.h>

#include "trace/kernel_name.h"

enum { ONE_SIDED = 1 };

enum {
    NCCL,
    MSCCLPP,
    VENDOR,
    DEEP_EP,
    HYBRID_EP,
    MORI,
    PPLX,
    SHMEM,
    USER_BUFFERS,
    SYMMETRIC,
    CUSTOM,
    QUICK_REDUCE,
    MOE_A2A,
    COLLECTIVE,
    N_FAMILIES
};

static const rs_comm_family families[N_FAMILIES] = {
    [NCCL] = {"NCCL", false},
    [MSCCLPP] = {"MSCCL++", false},
    [VENDOR] = {"vendor library", false},
    [DEEP_EP] = {"DeepEP", true},
    [HYBRID_EP] = {"hybrid_ep", true},
    [MORI] = {"MORI", true},
    [PPLX] = {"pplx", true},
    [SHMEM] = {"SHMEM", true},
    [USER_BUFFERS] = {"user buffers", true},
    [SYMMETRIC] = {"symmetric memory", false},
    [CUSTOM] = {"custom all-reduce", false},
    [QUICK_REDUCE] = {"quick reduce", false},
    [MOE_A2A] = {"MoE all-to-all", true},
    [COLLECTIVE] = {"collective", false},
};

/* A rule fits where all that it names is there: a namespace (two: one in the other), and words of the function's own name. */
typedef struct rule {
    unsigned char family;
    const char
        *space; /* "ep::internode"; its last part is a namespace, or begins one with a '*' at the end */
    const char
        *words; /* of the function; a '^' before: at its beginning, a '*' at the end: the last word goes on */
} rule;

static const rule rules[] = {
    {NCCL, NULL, "^nccl*"},
    {NCCL, NULL, "^rccl*"},
    {NCCL, NULL, "^msccl_kernel"},
    {MSCCLPP, "mscclpp", NULL},
    {MSCCLPP, NULL, "^mscclpp*"},
    {VENDOR, NULL, "^oneccl*"},
    {VENDOR, NULL, "^xccl*"},
    {VENDOR, NULL, "^hccl*"},
    {VENDOR, NULL, "^hcom"},
    {VENDOR, NULL, "^lcal"},
    {DEEP_EP, "ep::internode", NULL},
    {DEEP_EP, "ep::intranode", NULL},
    {DEEP_EP, "ep::internode_ll", NULL},
    {DEEP_EP, "legacy::internode", NULL},
    {DEEP_EP, "legacy::intranode", NULL},
    {DEEP_EP, "legacy::internode_ll", NULL},
    {DEEP_EP, "deep_ep::elastic", "dispatch_impl"},
    {DEEP_EP, "deep_ep::elastic", "combine_impl"},
    {DEEP_EP, "deep_ep::elastic", "barrier"},
    {DEEP_EP, "deep_ep::elastic", "send"},
    {DEEP_EP, "deep_ep::elastic", "recv"},
    {DEEP_EP, "deep_ep::elastic", "fetch"},
    {DEEP_EP, "deep_ep::elastic", "all_reduce"},
    {DEEP_EP, "deep_ep::elastic", "all_gather"},
    {DEEP_EP, "deep_ep::elastic", "reduce_scatter"},
    {HYBRID_EP, "hybrid_ep", "dispatch_kernel"},
    {HYBRID_EP, "hybrid_ep", "combine_kernel"},
    {HYBRID_EP, "hybrid_ep", "device_sync"},
    {MORI, NULL, "^ep_dispatch"},
    {MORI, NULL, "^ep_combine"},
    {PPLX, NULL, "^a2a_dispatch"},
    {PPLX, NULL, "^a2a_combine"},
    {PPLX, "pplx", "dispatch"},
    {PPLX, "pplx", "combine"},
    {PPLX, "pplx", "dispatch_kernel"},
    {PPLX, "pplx", "combine_kernel"},
    {SHMEM, NULL, "^nvshmem*"},
    {SHMEM, NULL, "^rocshmem*"},
    {SHMEM, "nvshmem*", NULL},
    {SHMEM, "rocshmem*", NULL},
    {USER_BUFFERS, NULL, "^userbuffers"},
    {USER_BUFFERS, NULL, "^kuserbuffers"},
    {SYMMETRIC, "symmetric_memory", NULL},
    {SYMMETRIC, NULL, "^multimem"},
    {SYMMETRIC, NULL, "symm_mem"},
    {QUICK_REDUCE, "quickreduce", NULL},
    {QUICK_REDUCE, NULL, "quick_reduce"},
    {QUICK_REDUCE, NULL, "quickreduce"},
    {CUSTOM, NULL, "cross_device_reduce"},
    {CUSTOM, NULL, "cross_device_store"},
    {CUSTOM, NULL, "^one_shot"},
    {CUSTOM, NULL, "^two_shot"},
    {CUSTOM, NULL, "^oneshot"},
    {CUSTOM, NULL, "^twoshot"},
    {MOE_A2A, NULL, "^moe_a2a_dispatch"},
    {MOE_A2A, NULL, "^moe_a2a_combine"},
    {MOE_A2A, NULL, "^moe_all_to_all"},
    {COLLECTIVE, NULL, "all_reduce"},
    {COLLECTIVE, NULL, "allreduce"},
    {COLLECTIVE, NULL, "all_gather"},
    {COLLECTIVE, NULL, "allgather"},
    {COLLECTIVE, NULL, "reduce_scatter"},
    {COLLECTIVE, NULL, "reducescatter"},
    {COLLECTIVE, NULL, "all_to_all"},
    {COLLECTIVE, NULL, "alltoall"},
    {COLLECTIVE, NULL, "collective_permute"},
    {COLLECTIVE, NULL, "collective_broadcast"},
};

/* What has such words and communicates nothing. Inductor names a kernel after all operators that it touches. */
static const char *const others[] = {"^triton_poi", "^triton_red", "^triton_per",
                                     "^triton_tem", "^triton_for", "^triton_mix"};

/* Words of a text, by the marks of a rule. */
static bool fits(const char *text, const char *wanted)
{
    char plain[64];
    bool at_start = *wanted == '^';
    size_t n = strlen(wanted + at_start);
    bool goes_on = wanted[at_start + n - 1] == '*';
    memcpy(plain, wanted + at_start, n);
    plain[n - goes_on] = '\0';
    n -= goes_on;
    if (!goes_on && !at_start) return rs_words_have(text, plain);
    if (at_start) return strncmp(text, plain, n) == 0 && (goes_on || text[n] == '\0' || text[n] == '_');
    for (const char *at = text; (at = strstr(at, plain)) != NULL; at++)
        if (at == text || at[-1] == '_' || at[-1] == ':') return true;
    return false;
}

/* The function's own words come after the last "::"; namespaces are complete before it. */
static bool is_in_space(const char *words, const char *function, const char *space)
{
    size_t n = strlen(space);
    bool goes_on = space[n - 1] == '*';
    n -= goes_on;
    for (const char *at = words; at + n < function; at++) {
        /* "deep_ep" is of "ep", as the builds of others are: its last word */
        bool begins = at == words || at[-1] == ':' || (at[-1] == '_' && strncmp(space, "ep::", 4) == 0);
        if (begins && strncmp(at, space, n) == 0 && (goes_on || at[n] == ':')) return true;
    }
    return false;
}

const rs_comm_family *rs_comm_family_of(const char *name, size_t length)
{
    char words[RS_KERNEL_WORDS];
    rs_kernel_words(name, length, words);
    const char *function = words;
    for (const char *at = words; (at = strstr(at, "::")) != NULL; at += 2) function = at + 2;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (fits(function, others[i])) return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        if (r->space && !is_in_space(words, function, r->space)) continue;
        if (!r->words || fits(function, r->words)) return &families[r->family];
    }
    return NULL;
}
