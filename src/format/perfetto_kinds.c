/* The category of a slice that has none. PyTorch's encoder leaves them out where a viewer tells by the track; a file may
 * have none at all. Then GPU work is recognised by its arguments, calls of the runtime by their names, and what is left
 * is an operator or an annotation.
 *
 * Sources of the names: torch/csrc/profiler/cuspy (torch 2.15: kinds of synchronizations), Kineto's
 * libkineto/src/ActivityType.cpp and CuptiActivity.cpp (overhead), torch/csrc/profiler (operators and annotations). */
#include <string.h>

#include "format/perfetto.h"
#include "base/ascii.h"
#include "trace/step_name.h"

static const char *const syncs[] = {"Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
static const char *const overheads[] = {"Activity Buffer Request",
                                        "Instrumentation",
                                        "Resource",
                                        "Unrecognized",
                                        "Command Buffer Full",
                                        "Buffer Flush",
                                        "Driver Compiler",
                                        "Lazy Function Loading",
                                        "Runtime Triggered Module Loading"};
/* What an annotation's name has that no operator's has; and how operators begin whose names have such parts. */
static const char *const annotations[] = {"#", "(", "[", "=", " ", "DataParallel."};
static const char *const operators[] = {
    "Torch-Compiled Region", "TorchDynamo ", "Pregraph ", "AOTDispatcher ", "<", "autograd::"};

unsigned rs_perfetto_fact_of(rs_column_id column, const rs_string *key)
{
    switch (column) {
    case RS_COL_CORRELATION: return RS_PERFETTO_HAS_LINK;
    case RS_COL_STREAM:
    case RS_COL_DEVICE: return RS_PERFETTO_HAS_STREAM;
    case RS_COL_PYTHON_ID: return RS_PERFETTO_HAS_FRAME;
    case RS_COL_SEQUENCE_NUMBER:
    case RS_COL_INPUT_DIMS: return RS_PERFETTO_HAS_OP;
    default: return strcmp(key->text, "cuda_sync_kind") == 0 ? RS_PERFETTO_HAS_SYNC : 0;
    }
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0) return true;
    return false;
}

static const char *category_of_work(const char *name, unsigned facts)
{
    if (facts & RS_PERFETTO_HAS_SYNC || is_one_of(name, syncs, sizeof syncs / sizeof *syncs))
        return "cuda_sync";
    if (rs_begins(name, "Memcpy")) return "gpu_memcpy";
    return rs_begins(name, "Memset") ? "gpu_memset" : "kernel";
}

/* cudaLaunchKernel, hipLaunchKernel, cuLaunchKernelEx; not cublas... nor kernels such as cuApplyLayerNorm. */
static const char *category_of_call(const char *name, unsigned facts)
{
    static const char *const prefixes[] = {"cuda", "hip", "cu"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char next = rs_begins(name, prefixes[i]) ? name[strlen(prefixes[i])] : '\0';
        if (next < 'A' || next > 'Z') continue;
        if (i < 2) return "cuda_runtime";
        return facts & RS_PERFETTO_HAS_STREAM ? NULL : "cuda_driver";
    }
    return NULL;
}

static bool annotates_collective(const char *name)
{
    static const char *const backends[] = {"nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:"};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (rs_begins(name, backends[i])) return true;
    return false;
}

static bool is_annotation(const char *name)
{
    if (rs_names_step(name)) return true;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (rs_begins(name, operators[i])) return false;
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++)
        if (strstr(name, annotations[i])) return true;
    return false;
}

const char *rs_perfetto_category_of(const rs_perfetto_track *track, const rs_string *name, unsigned facts,
                                    bool *is_sure)
{
    const char *call = category_of_call(name->text, facts);
    *is_sure = true;
    if (call) return call;
    if (facts & RS_PERFETTO_HAS_STREAM && facts & (RS_PERFETTO_HAS_LINK | RS_PERFETTO_HAS_SYNC))
        return category_of_work(name->text, facts);
    if (facts & RS_PERFETTO_HAS_FRAME) return "python_function";
    if (track->is_overhead || is_one_of(name->text, overheads, sizeof overheads / sizeof *overheads))
        return "overhead";
    /* annotations of collectives have inputs, too */
    bool collective = annotates_collective(name->text);
    if (facts & RS_PERFETTO_HAS_OP && !collective) return "cpu_op";
    *is_sure = false;
    return collective || is_annotation(name->text) ? "user_annotation" : "cpu_op";
}
