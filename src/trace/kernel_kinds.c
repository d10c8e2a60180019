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

#include "base/ascii.h"

typedef struct pattern {
    const char *kind, *parts; /* lower case; found anywhere in the name, at its start after a ^ */
} pattern;

/* The first that fits counts: what is special is before what is general. */
static const pattern patterns[] = {
    {"SDPA", "flash_fwd|flash_bwd|fmha|sdpa|attention|attn|paged_kv"},
    {"MoE", "moe|topk_softmax|topkgating"},
    {"optimizer", "multi_tensor_apply|adam|lamb_"},
    {"CONV", "fprop|dgrad|wgrad|winograd|implicit_gemm|igemm|im2col|miopensp3|conv2d|conv3d|conv1d|"
             "convolution|conv_depthwise|naive_conv"},
    {"GEMM", "^cijk_|^nvjet|gemm|gemv|s16816|s1688|splitkreduce|matmul|cutlass|wmma"},
    {"NORM", "layer_norm|layernorm|rms_norm|rmsnorm|batch_norm|batchnorm|bn_fw|bn_bw|group_norm|"
             "groupnorm|rowwisemoments|gammabeta|instance_norm"},
    {"softmax", "softmax"},
    {"loss", "nll_loss|cross_entropy"},
    {"RoPE", "rotary|rope"},
    {"SSM", "selective_scan|ssm_|chunk_scan"},
    {"embedding", "embedding|indexselect|index_select"},
    {"indexing", "index_|gather|scatter|_masked_"},
    {"sort", "radixsort|devicesort|devicescan|bitonic|topk|_sort"},
    {"pooling", "pool"},
    {"random", "distribution_elementwise|dropout|philox|sampl"},
    {"quantise", "quant"},
    {"triton", "^triton_"},
    {"reduce", "reduce_kernel|reduction|devicereduce"},
    {"copy", "catarray|transpose|copy|fill|^subtensorop"}, /* MIOpen's copies and fills of parts of tensors */
    {"elementwise", "elementwise|pointwise|silu|gelu|act_and_mul"},
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
    for (size_t i = 0; i < N_PATTERNS; i++)
        for (const char *part = patterns[i].parts; *part;) {
            char word[32];
            size_t k = 0;
            for (; *part && *part != '|'; part++) word[k++] = *part;
            word[k] = '\0';
            part += *part == '|';
            if (*word == '^' ? rs_begins(folded, word + 1) : strstr(folded, word) != NULL)
                return patterns[i].kind;
        }
    return "other";
}

const char *rs_kernel_kind_at(size_t i)
{
    static const char *const first[] = {"communication", "memory"};
    if (i < 2) return first[i];
    return i - 2 < N_PATTERNS ? patterns[i - 2].kind : i - 2 == N_PATTERNS ? "other" : NULL;
}
