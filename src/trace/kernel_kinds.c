/* Kinds of kernels by their names.
 *
 * Sources of the names, each read in the project that launches the kernel:
 *   cuBLAS, cuBLASLt, CUTLASS   *gemm*, cutlass*, s16816*, s1688*, *nvjet* (Blackwell, Hopper), gemv*, splitKreduce
 *   hipBLASLt, Tensile          Cijk_*, rocBLAS *gemm*, *gemv*
 *   cuDNN, MIOpen               *fprop*, *dgrad*, *wgrad*, *conv*, winograd, implicit_gemm, igemm, Im2Col, miopenSp3*
 *   attention                   flash_fwd*, flash_bwd*, fmha*, *attention*, *attn*, cudnn_generated_*_sdpa_*
 *   PyTorch (ATen/native/cuda)  vectorized_elementwise_kernel, reduce_kernel, softmax*, layer_norm*, *batch_norm*,
 *                               indexSelect*, embedding*, multi_tensor_apply_kernel, *sort*, cat*, distribution_*
 *   vLLM, SGLang, aiter, TE     rms_norm, rotary, *moe*, *quant*, *sample*
 *   Inductor                    triton_poi_, triton_red_, triton_per_ and the like */
#include "trace/kernel_kinds.h"

#include <string.h>

typedef struct pattern {
    const char *kind, *part; /* part: lower case; found anywhere in the name, at its start after a ^ */
} pattern;

/* The first that fits counts: what is special is before what is general. */
static const pattern patterns[] = {
    {"SDPA", "flash_fwd"},
    {"SDPA", "flash_bwd"},
    {"SDPA", "fmha"},
    {"SDPA", "sdpa"},
    {"SDPA", "attention"},
    {"SDPA", "attn"},
    {"SDPA", "paged_kv"},
    {"MoE", "moe"},
    {"MoE", "topk_softmax"},
    {"MoE", "topkgating"},
    {"optimizer", "multi_tensor_apply"},
    {"optimizer", "adam"},
    {"optimizer", "lamb_"},
    {"CONV", "fprop"},
    {"CONV", "dgrad"},
    {"CONV", "wgrad"},
    {"CONV", "winograd"},
    {"CONV", "implicit_gemm"},
    {"CONV", "igemm"},
    {"CONV", "im2col"},
    {"CONV", "miopensp3"},
    {"CONV", "conv2d"},
    {"CONV", "conv3d"},
    {"CONV", "conv1d"},
    {"CONV", "convolution"},
    {"CONV", "conv_depthwise"},
    {"CONV", "naive_conv"},
    {"GEMM", "^cijk_"},
    {"GEMM", "^nvjet"},
    {"GEMM", "gemm"},
    {"GEMM", "gemv"},
    {"GEMM", "s16816"},
    {"GEMM", "s1688"},
    {"GEMM", "splitkreduce"},
    {"GEMM", "matmul"},
    {"GEMM", "cutlass"},
    {"GEMM", "wmma"},
    {"NORM", "layer_norm"},
    {"NORM", "layernorm"},
    {"NORM", "rms_norm"},
    {"NORM", "rmsnorm"},
    {"NORM", "batch_norm"},
    {"NORM", "batchnorm"},
    {"NORM", "bn_fw"},
    {"NORM", "bn_bw"},
    {"NORM", "group_norm"},
    {"NORM", "groupnorm"},
    {"NORM", "rowwisemoments"},
    {"NORM", "gammabeta"},
    {"NORM", "instance_norm"},
    {"softmax", "softmax"},
    {"loss", "nll_loss"},
    {"loss", "cross_entropy"},
    {"RoPE", "rotary"},
    {"RoPE", "rope"},
    {"SSM", "selective_scan"},
    {"SSM", "ssm_"},
    {"SSM", "chunk_scan"},
    {"embedding", "embedding"},
    {"embedding", "indexselect"},
    {"embedding", "index_select"},
    {"indexing", "index_"},
    {"indexing", "gather"},
    {"indexing", "scatter"},
    {"indexing", "_masked_"},
    {"sort", "radixsort"},
    {"sort", "devicesort"},
    {"sort", "devicescan"},
    {"sort", "bitonic"},
    {"sort", "topk"},
    {"sort", "_sort"},
    {"pooling", "pool"},
    {"random", "distribution_elementwise"},
    {"random", "dropout"},
    {"random", "philox"},
    {"random", "sampl"},
    {"quantise", "quant"},
    {"triton", "^triton_"},
    {"reduce", "reduce_kernel"},
    {"reduce", "reduction"},
    {"reduce", "devicereduce"},
    {"copy", "catarray"},
    {"copy", "transpose"},
    {"copy", "copy"},
    {"copy", "fill"},
    {"copy", "^subtensorop"}, /* MIOpen: copies and fills of parts of tensors */
    {"elementwise", "elementwise"},
    {"elementwise", "pointwise"},
    {"elementwise", "silu"},
    {"elementwise", "gelu"},
    {"elementwise", "act_and_mul"},
};
#define N_PATTERNS (sizeof patterns / sizeof *patterns)

#define FOLD_MAX 1024 /* what a kernel does stands near the front; template arguments may be long */

const char *rs_kernel_kind(rs_class class, const char *name, size_t length)
{
    if (class == RS_CLASS_COMM) return "communication";
    if (class == RS_CLASS_MEMORY) return "memory";
    char folded[FOLD_MAX + 1];
    size_t n = length < FOLD_MAX ? length : FOLD_MAX;
    for (size_t i = 0; i < n; i++)
        folded[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i] ? name[i] : ' ';
    folded[n] = '\0';
    for (size_t i = 0; i < N_PATTERNS; i++) {
        const char *part = patterns[i].part;
        bool fits =
            *part == '^' ? strncmp(folded, part + 1, strlen(part + 1)) == 0 : strstr(folded, part) != NULL;
        if (fits) return patterns[i].kind;
    }
    return "other";
}

const char *rs_kernel_kind_at(size_t i)
{
    static const char *const first[] = {"communication", "memory"};
    if (i < 2) return first[i];
    size_t found = 2;
    for (size_t k = 0; k < N_PATTERNS; k++) {
        if (k && strcmp(patterns[k].kind, patterns[k - 1].kind) == 0) continue;
        if (found++ == i) return patterns[k].kind;
    }
    return found == i ? "other" : NULL;
}
