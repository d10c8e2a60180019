/* Which names are public: those that PyTorch, its libraries and the vendors' write. A name is identified by its
 * beginning, so that what a user's name contains cannot make it public. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/listed.h"
#include "base/memory.h"
#include "rewrite/scrub.h"
#include "trace/calls.h"
#include "trace/serving.h"
#include "trace/trace.h"

typedef struct part {
    const char *text;
    size_t n;
} part;

static bool begins(part s, const char *word)
{
    size_t n = strlen(word);
    return s.n >= n && memcmp(s.text, word, n) == 0;
}

static bool is(part s, const char *word)
{
    return s.n == strlen(word) && begins(s, word);
}

static part behind(part s, size_t n)
{
    return (part){s.text + n, s.n - n};
}

static bool begins_any(part s, const char *words)
{
    return rs_listed(words, s.text, s.n, false);
}

static bool is_any(part s, const char *words)
{
    return rs_listed(words, s.text, s.n, true);
}

static size_t digits_of(part s)
{
    size_t n = 0;
    while (n < s.n && s.text[n] >= '0' && s.text[n] <= '9') n++;
    return n;
}

static bool is_digits(part s)
{
    return s.n && digits_of(s) == s.n;
}

/* The number of a thread, process or device; a longer one may be another's. */
#define MOST_ID 7

static bool is_id(part s)
{
    return is_digits(s) && s.n <= MOST_ID;
}

/* Where the word is in s, or s.n. */
static size_t find(part s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.text + i, word, n) == 0) return i;
    return s.n;
}

/* ---- Python ------------------------------------------------------------------------------------------- */

static const char packages[] =
    "torch/|torchvision/|torchaudio/|torchtitan/|torchao/|functorch/|numpy/|scipy/|pandas/|triton/|"
    "transformers/|accelerate/|deepspeed/|megatron/|transformer_engine/|flash_attn/|apex/|xformers/|"
    "vllm/|sglang/|datasets/|tokenizers/|safetensors/|peft/|trl/|timm/|diffusers/|lightning/|"
    "pytorch_lightning/|einops/|tqdm/|fsspec/|PIL/";

/* The part of a path that is public: from the package on; n 0: none. */
static part public_path(part path)
{
    static const char *const roots[] = {"site-packages/", "dist-packages/"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t at = find(path, roots[i]);
        if (at == path.n) continue;
        part rest = behind(path, at + strlen(roots[i]));
        return begins_any(rest, packages) ? rest : (part){0};
    }
    if (begins_any(path, packages) || is(path, "<string>") || begins(path, "<frozen importlib")) return path;
    size_t at = find(path, "/lib/python3.");
    if (at == path.n) return (part){0};
    part rest = behind(path, at + strlen("/lib/python3."));
    size_t n = digits_of(rest);
    return n && n < rest.n && rest.text[n] == '/' ? behind(rest, n + 1) : (part){0};
}

/* "path/file.py(12): function" */
static bool split_function(part name, part *path, part *line, part *function)
{
    for (size_t i = name.n; i-- > 0;) {
        if (name.text[i] != '(') continue;
        part rest = behind(name, i + 1);
        size_t n = digits_of(rest);
        if (!n || n + 3 > rest.n || memcmp(rest.text + n, "): ", 3) != 0) continue;
        *path = (part){name.text, i};
        *line = (part){rest.text, n};
        *function = behind(rest, n + 3);
        return true;
    }
    return false;
}

static const char modules[] =
    "Linear|Bilinear|Identity|LazyLinear|Embedding|EmbeddingBag|Conv1d|Conv2d|Conv3d|ConvTranspose1d|"
    "ConvTranspose2d|ConvTranspose3d|BatchNorm1d|BatchNorm2d|BatchNorm3d|SyncBatchNorm|LayerNorm|"
    "GroupNorm|InstanceNorm1d|InstanceNorm2d|InstanceNorm3d|RMSNorm|LocalResponseNorm|Dropout|Dropout1d|"
    "Dropout2d|Dropout3d|ReLU|ReLU6|GELU|SiLU|Mish|Tanh|Sigmoid|Softmax|LogSoftmax|Softplus|ELU|"
    "LeakyReLU|PReLU|Hardswish|Hardsigmoid|MaxPool1d|MaxPool2d|MaxPool3d|AvgPool1d|AvgPool2d|AvgPool3d|"
    "AdaptiveAvgPool1d|AdaptiveAvgPool2d|AdaptiveMaxPool2d|Flatten|Unflatten|Upsample|Sequential|"
    "ModuleList|ModuleDict|ParameterList|MultiheadAttention|Transformer|TransformerEncoder|"
    "TransformerEncoderLayer|TransformerDecoder|TransformerDecoderLayer|LSTM|GRU|RNN|CrossEntropyLoss|"
    "MSELoss|L1Loss|NLLLoss|BCELoss|BCEWithLogitsLoss|DataParallel|DistributedDataParallel|"
    "FullyShardedDataParallel";

/* "Encoder_0": the class and the number of the module. */
static void put_module(rs_scrub *s, part name, char *out, size_t size)
{
    size_t end = name.n;
    char module[RS_SCRUBBED];
    while (end > 0 && name.text[end - 1] >= '0' && name.text[end - 1] <= '9') end--;
    bool numbered = end > 1 && end < name.n && name.text[end - 1] == '_';
    part class = {name.text, numbered ? end - 1 : name.n};
    part number = numbered ? behind(name, end - 1) : (part){"", 0};
    if (name.n < 4096 && (s->keep_names || is_any(class, modules))) {
        snprintf(out, size, "nn.Module: %.*s", (int)name.n, name.text);
    } else {
        rs_scrub_private(s, RS_PRIVATE_MODULE, class.text, class.n, module);
        snprintf(out, size, "nn.Module: %s%.*s", module, (int)(number.n < 20 ? number.n : 20), number.text);
    }
}

/* "<built-in method relu of type object at 0x7f...>": addresses go, and so do names that a user's own extension
 * may have. */
static void put_builtin(rs_scrub *s, part name, char *out, size_t size)
{
    static const char *const of[] = {" of type object",
                                     " of Tensor object",
                                     " of dict object",
                                     " of list object",
                                     " of str object",
                                     " of tuple object",
                                     " of set object",
                                     " of int object",
                                     " of collections.deque object",
                                     " of generator object",
                                     NULL};
    char function[RS_SCRUBBED];
    size_t at = find(name, " at 0x");
    part head = {name.text, at};
    bool is_public = false;
    for (size_t i = 0; of[i]; i++) {
        size_t n = strlen(of[i]);
        is_public = is_public || (head.n > n && memcmp(head.text + head.n - n, of[i], n) == 0);
    }
    if (is_public && head.n < 200) {
        snprintf(out, size, "%.*s>", (int)head.n, head.text);
    } else {
        rs_scrub_private(s, RS_PRIVATE_FUNCTION, name.text, at, function);
        snprintf(out, size, "<built-in %s>", function);
    }
}

static void put_python(rs_scrub *s, part name, char *out, size_t size)
{
    part path, line, function;
    char file[RS_SCRUBBED], called[RS_SCRUBBED];
    if (begins(name, "nn.Module: ")) {
        put_module(s, behind(name, 11), out, size);
    } else if (begins(name, "<built-in ")) {
        put_builtin(s, name, out, size);
    } else if (split_function(name, &path, &line, &function)) {
        part shown = public_path(path);
        int digits = (int)(line.n < 12 ? line.n : 12);
        if (shown.n && shown.n + function.n < 1000) {
            if (shown.n != path.n) rs_scrub_private(s, RS_PRIVATE_FOLDER, path.text, path.n - shown.n, file);
            snprintf(out, size, "%.*s(%.*s): %.*s", (int)shown.n, shown.text, digits, line.text,
                     (int)function.n, function.text);
            return;
        }
        rs_scrub_private(s, RS_PRIVATE_FILE, path.text, path.n, file);
        rs_scrub_private(s, RS_PRIVATE_FUNCTION, function.text, function.n, called);
        snprintf(out, size, "%s.py(%.*s): %s", file, digits, line.text, called);
    } else {
        rs_scrub_private(s, RS_PRIVATE_FUNCTION, name.text, name.n, called);
        snprintf(out, size, "%s", called);
    }
}

/* ---- operators and annotations ------------------------------------------------------------------------- */

static const char operators[] =
    "aten::|prim::|prims::|c10d::|c10d_functional::|_c10d_functional::|torch::|quantized::|inductor::|"
    "fsdp::|torchvision::|fbgemm::|torch_ipex::|mkldnn::|onednn::|record_param_comms|nccl:|gloo:|mpi:|"
    "ucc:|triton_poi_fused_|triton_red_fused_|triton_per_fused_|triton_tem_fused_|triton_mm|"
    "TorchDynamo Cache Lookup|Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction|"
    "DistributedDataParallel.forward|FullyShardedDataParallel|FSDP::|DDP::|"
    "torch.distributed.ddp.reducer::|Optimizer.zero_grad|PyTorch Profiler|vllm::|_vllm_fa2_C::|"
    "_vllm_fa3_C::|_C::|_C_cache_ops::|_moe_C::|sgl_kernel::|aiter::|flash_attn::|xformers::|"
    "xformers_flash::|transformer_engine::|tex::|symm_mem::|Pregraph bytecode|"
    "AOTDispatcher Runtime Wrapper|__cupti_profiler__";

/* "AddmmBackward0": autograd's own end in a digit, those of users' functions do not. */
static bool is_backward(part name)
{
    size_t at = find(name, "Backward");
    part head = {name.text, at};
    for (size_t i = 0; i < head.n; i++)
        if (!rs_is_alnum(head.text[i]) && head.text[i] != '_') return false;
    return at < name.n && is_digits(behind(name, at + 8));
}

static bool is_operator(part name)
{
    static const char alone[] = "detach|detach_|AccumulateGrad";
    return begins_any(name, operators) || is_backward(name) || is_any(name, alone);
}

static bool is_annotation(part name)
{
    static const char steps[] = "ProfilerStep#|ProfilerStep*|Iteration Start: PyTorch Profiler|"
                                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.|"
                                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.";
    static const char optimizers[] =
        "Optimizer.step#SGD.|Optimizer.step#Adam.|Optimizer.step#AdamW.|Optimizer.step#Adagrad.|"
        "Optimizer.step#RMSprop.|Optimizer.step#FusedAdam.|Optimizer.step#LBFGS.";
    static const char zeroing[] =
        "Optimizer.zero_grad#SGD.|Optimizer.zero_grad#Adam.|Optimizer.zero_grad#AdamW.|"
        "Optimizer.zero_grad#Adagrad.|Optimizer.zero_grad#RMSprop.|Optimizer.zero_grad#FusedAdam.";
    rs_serving_step serving;
    if (begins(name, "ProfilerStep#")) return is_digits(behind(name, 13));
    if (begins(name, "Optimizer.zero_grad#")) return begins_any(name, zeroing);
    return begins_any(name, steps) || begins_any(name, optimizers) || is_operator(name) ||
           rs_serving_parse(name.text, name.n, &serving);
}

/* ---- what runs on devices ------------------------------------------------------------------------------ */

static const char calls[] =
    "cuda|cu|hip|hsa|roc|mtia|ze|Runtime::|INVALID|synchronizeStream|recordEvent|waitEvent";

static const char kernels[] =
    "at::|at_cuda_detail::|c10::|c10d::|cub::|thrust::|cutlass|cudnn|cublas|cusparse|cufft|cusolver|"
    "curand|nvjet|ampere_|volta_|turing_|maxwell_|hopper_|blackwell_|sm70_|sm75_|sm80_|sm86_|sm89_|sm90_|"
    "sm100_|sm120_|flash_|flash::|pytorch_flash::|fmha_|fmha|xmma_|gemmSN_|gemm_kernel|gemv2T_kernel|"
    "gemvNSP_kernel|splitKreduce_kernel|dot_kernel|reduce_1Block_kernel|nccl|rccl|mscclKernel|nvshmem|"
    "rocshmem|cross_device_reduce|oneccl|Cijk_|ck::|miopen|MIOpen|hipblas|rocblas|rocprim::|hipcub::|"
    "rocsolver_|naive_conv|SubTensorOp|__amd_rocclr_|triton_poi_fused_|triton_red_fused_|"
    "triton_per_fused_|triton_tem_fused_|triton_mm|elementwise_kernel|vectorized_elementwise_kernel|"
    "unrolled_elementwise_kernel|transformer_engine::|vllm::|kernel_cutlass_|deep_ep::|"
    "multi_tensor_apply_kernel|(anonymous namespace)::softmax_warp|"
    "(anonymous namespace)::elementwise_kernel|CudaCodeGen::|Memcpy|Memset|CopyDeviceToHost|"
    "CopyHostToDevice|CopyDeviceToDevice|FillBuffer|Context Sync|Stream Sync|Stream Wait Event|"
    "Event Sync|Marker|cask_cudnn|wgrad_alg|dgrad_|igemm_fwd_gtc|igemm_bwd_gtc|igemm_wrw_gtc|"
    "batched_transpose_|_ZN2ck|_ZN7ck_tile|_ZN5aiter|aiter::|transpose_NCHW2CNHW|transpose_CNHW2NCHW|"
    "fft2d_|nchwToNhwcKernel|nhwcToNchwKernel|implicit_convolve_sgemm|tensorrt_llm::|bmm_|moe::dev::|"
    "_ZN19cutlass|_ZN7cutlass|xmma_new::|epilogue::impl::|event_wait|event_record|dma_request|pe_exe|"
    "__cupti_profiler__|__missing__";

static bool is_kernel(part name)
{
    while (begins(name, "void ")) name = behind(name, 5);
    return begins_any(name, kernels);
}

/* A name that puts the kernel into the class that its own name puts it into. */
static void put_kernel(rs_scrub *s, rs_kind kind, part name, char *out, size_t size)
{
    static const char *const before[] = {"", "nccl_", "__amd_rocclr_copyBuffer_"};
    char kernel[RS_SCRUBBED];
    rs_class class = rs_class_of(kind, name.text, name.n);
    rs_scrub_private(s, RS_PRIVATE_KERNEL, name.text, name.n, kernel);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        snprintf(out, size, "%s%s", before[i], kernel);
        if (rs_class_of(kind, out, strlen(out)) == class) return;
    }
}

/* A name that does what its own name says it does. */
static void put_call(rs_scrub *s, part name, char *out, size_t size)
{
    static const struct {
        const char *before, *after;
    } around[] = {{"", ""},
                  {"cudaLaunchKernel_", ""},
                  {"cudaGraphLaunch_", ""},
                  {"Launch_", ""},
                  {"cudaMemcpyAsync_", ""},
                  {"cudaMemcpy_", ""},
                  {"cuda_", "_DeviceSynchronize"},
                  {"cudaStreamSynchronize_", ""},
                  {"cudaEventSynchronize_", ""},
                  {"cudaEventQuery_", ""},
                  {"cudaEventRecord_", ""},
                  {"cudaStreamWaitEvent_", ""},
                  {"SetDevice_", ""}};
    char call[RS_SCRUBBED], own[200];
    snprintf(own, sizeof own, "%.*s", (int)(name.n < sizeof own ? name.n : sizeof own - 1), name.text);
    unsigned flags = rs_call_flags(own);
    rs_scrub_private(s, RS_PRIVATE_CALL, name.text, name.n, call);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        snprintf(out, size, "%s%s%s", around[i].before, call, around[i].after);
        if (rs_call_flags(out) == flags) return;
    }
    snprintf(out, size, "%s", call);
}

/* ---- all names ----------------------------------------------------------------------------------------- */

/* Names that are public as they are. */
static bool is_listed(char phase, part name)
{
    static const char records[] =
        "process_name|process_labels|process_sort_index|thread_name|thread_sort_index";
    static const char others[] =
        "ac2g|async_cpu_to_gpu|fwdbwd|[memory]|Lazy Function Loading|Activity Buffer Request|"
        "Record Window End|PyTorch Profiler (0)|Iteration Start: PyTorch Profiler|Kernel Timeline Buffer|"
        "Instrumentation|Resource|Command Buffer Full";
    return !name.n || (phase == 'M' && is_any(name, records)) || is_any(name, others);
}

static bool is_work(rs_kind kind)
{
    return kind == RS_KIND_KERNEL || kind == RS_KIND_MEMCPY || kind == RS_KIND_MEMSET ||
           kind == RS_KIND_SYNC || kind == RS_KIND_MTIA_WORK || kind == RS_KIND_PROFILER_RANGE;
}

/* Writes what represents the name to out; false: the name itself. */
static bool replace(rs_scrub *s, rs_kind kind, part name, char *out, size_t size)
{
    static const char evaluate[] = "autograd::engine::evaluate_function: ";
    rs_private of = RS_PRIVATE_NAME;
    char word[RS_SCRUBBED];
    if (kind == RS_KIND_PYTHON_FUNCTION) {
        put_python(s, name, out, size);
        return true;
    }
    if (is_work(kind)) {
        if (is_kernel(name) || s->keep_names) return false;
        put_kernel(s, kind, name, out, size);
        return true;
    }
    bool is_inner = kind == RS_KIND_CPU_OP && begins(name, evaluate);
    part inner = is_inner ? behind(name, sizeof evaluate - 1) : name;
    if (rs_kind_is_call(kind)) {
        if (begins_any(name, calls)) return false;
        put_call(s, name, out, size);
        return true;
    } else if (kind == RS_KIND_CPU_OP) {
        if (is_annotation(inner) || s->keep_names) return false; /* PyTorch 1.8 wrote its annotations so */
        of = RS_PRIVATE_OPERATOR;
    } else if (kind == RS_KIND_USER_ANNOTATION || kind == RS_KIND_GPU_USER_ANNOTATION) {
        if (is_annotation(name) || s->keep_names) return false;
        of = RS_PRIVATE_ANNOTATION;
    }
    rs_scrub_private(s, of, inner.text, inner.n, word);
    snprintf(out, size, "%s%s", is_inner ? evaluate : "", word);
    return true;
}

/* Whether the name is still what the analyses take it for. */
static bool does_the_same(rs_kind kind, part name, const char *other)
{
    char own[200];
    if (is_work(kind))
        return !begins(name, "_Z") && /* lengths and words of such a name belong together */
               rs_class_of(kind, name.text, name.n) == rs_class_of(kind, other, strlen(other));
    snprintf(own, sizeof own, "%.*s", (int)(name.n < sizeof own ? name.n : sizeof own - 1), name.text);
    return !rs_kind_is_call(kind) || rs_call_flags(own) == rs_call_flags(other);
}

/* What represents the name, which is NULL where the name itself does; the caller's to free. */
static char *represent(rs_scrub *s, rs_kind kind, char phase, part name)
{
    char made[6000];
    rs_text words = {0};
    part shown = name;
    s->kinds = 0;
    if (is_listed(phase, name)) return NULL;
    bool replaced = replace(s, kind, name, made, sizeof made);
    if (replaced) shown = (part){made, strlen(made)};
    uint32_t kinds = s->kinds;
    bool kept = s->keep_names && (kind != RS_KIND_PYTHON_FUNCTION || begins(name, "nn.Module: "));
    if (!kept && !rs_scrub_words(s, shown.text, shown.n, &words) && rs_text_get(&words)) {
        replaced = true;
        if (does_the_same(kind, name, rs_text_get(&words))) {
            char *taken = words.s;
            return taken;
        }
        s->kinds = kinds;
        if (is_work(kind))
            put_kernel(s, kind, name, made, sizeof made);
        else
            put_call(s, name, made, sizeof made);
    }
    rs_text_clear(&words);
    char *copy = replaced ? rs_strdup(made) : NULL;
    s->failed = s->failed || (replaced && !copy);
    return copy;
}

/* A name is judged once for each kind that it comes with. */
void rs_scrub_name(rs_scrub *s, const char *category, size_t category_length, char phase, const char *name,
                   size_t n, const char **out, size_t *out_length)
{
    char key[64];
    rs_kind kind = rs_kind_of_category(category, category_length);
    int led = snprintf(key, sizeof key, "%u%c", (unsigned)kind, phase == 'M' ? 'M' : ' ');
    char *text = rs_malloc((size_t)led + n + 1);
    *out = "";
    *out_length = 0;
    if (!text) {
        s->failed = true;
        return;
    }
    memcpy(text, key, (size_t)led);
    memcpy(text + led, name, n);
    size_t before = s->seen.n;
    uint32_t id = rs_strings_add(&s->seen, text, (size_t)led + n);
    rs_free(text);
    if (id == RS_NO_STRING ||
        !rs_grow((void **)&s->replaced, &s->replaced_capacity, s->seen.n, sizeof *s->replaced)) {
        s->failed = true;
        return;
    }
    if (s->seen.n > before) {
        for (size_t i = before == 1 ? 0 : before; i < s->seen.n; i++)
            s->replaced[i] = (struct rs_scrubbed){NULL, 0};
        s->replaced[id].text = represent(s, kind, phase, (part){name, n});
        s->replaced[id].kinds = s->kinds;
    }
    rs_scrub_count(s, s->replaced[id].kinds);
    *out = s->replaced[id].text ? s->replaced[id].text : name;
    *out_length = s->replaced[id].text ? strlen(s->replaced[id].text) : n;
}

/* "python", "python3.11" */
static bool is_python(part s)
{
    if (!begins(s, "python")) return false;
    s = behind(s, 6);
    for (size_t i = 0; i < s.n; i++)
        if (s.text[i] != '.' && (s.text[i] < '0' || s.text[i] > '9')) return false;
    return s.n < 8;
}

bool rs_scrub_is_process(const char *text, size_t n)
{
    static const char words[] = "CPU|Spans|Traces|GPU";
    part s = {text, n};
    if (!s.n || is_any(s, words) || is_id(s) || is_python(s)) return true;
    return begins(s, "GPU ") && is_id(behind(s, 4));
}

/* "stream 7", "thread 4711 (python)"; thread names of PyTorch. */
bool rs_scrub_is_thread(const char *text, size_t n)
{
    static const char names[] =
        "Trace PyTorch Profiler|pt_main_thread|pt_autograd_0|pt_data_pin|pt_nccl_watchdog|"
        "PyTorch Profiler";
    part s = {text, n};
    while (s.n && s.text[s.n - 1] == ' ') s.n--;
    if (!s.n || is_any(s, names) || is_id(s) || is_python(s)) return true;
    bool is_stream = begins(s, "stream ");
    if (!is_stream && !begins(s, "thread ")) return false;
    s = behind(s, 7);
    size_t digits = digits_of(s);
    if (!digits || digits > MOST_ID) return false;
    s = behind(s, digits);
    if (!s.n || is_stream) return s.n == 0;
    if (s.n < 4 || !begins(s, " (") || s.text[s.n - 1] != ')') return false;
    s = (part){s.text + 2, s.n - 3};
    return !s.n || is_any(s, names) || is_id(s) || is_python(s);
}
