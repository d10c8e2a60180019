/* Kernel classes: what a piece of GPU work does, by its kind and its name. Which kernels communicate: comm_kernels.c.
 *
 * Copies: CUPTI and roctracer report them under their own kinds; ROCm before 5.x reported them as kernels:
 * __amd_rocclr_copyBuffer*, __amd_rocclr_fillBuffer* (ROCclr blit kernels), MEMORY_COPY_*_TO_* */
#include <string.h>

#include "trace/comm_kernels.h"
#include "base/ascii.h"
#include "trace/trace.h"

static const char *const memory_names[] = {"__amd_rocclr_copybuffer", "__amd_rocclr_fillbuffer",
                                           "memory_copy_host_to_device", "memory_copy_device_to_host",
                                           "memory_copy_device_to_device"};

#define FOLD_MAX 4096 /* names are identified by their first bytes; longer ones are template arguments */

static size_t fold_case(const char *name, size_t length, char *out)
{
    size_t n = length < FOLD_MAX ? length : FOLD_MAX;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c ? c : ' ';
    }
    out[n] = '\0';
    return n;
}

static bool contains_any(const char *folded, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(folded, words[i])) return true;
    return false;
}

#define CONTAINS_ANY(folded, words) contains_any(folded, words, sizeof(words) / sizeof *(words))

rs_class rs_class_of(rs_kind kind, const char *name, size_t length)
{
    if (kind == RS_KIND_MEMCPY || kind == RS_KIND_MEMSET) return RS_CLASS_MEMORY;
    if (rs_comm_family_of(name, length)) return RS_CLASS_COMM;
    char folded[FOLD_MAX + 1];
    fold_case(name, length, folded);
    if (CONTAINS_ANY(folded, memory_names)) return RS_CLASS_MEMORY;
    if (kind == RS_KIND_MTIA_WORK && strncmp(folded, "dma", 3) == 0) return RS_CLASS_MEMORY;
    return RS_CLASS_COMPUTE;
}

/* ---- TraceLens' rules ------------------------------------------------------------------------------- */

/* "__amd_rocclr_copyBuffer[Rect][Aligned][.kd]" and "MEMORY_COPY_*[.kd]", whole. */
static bool is_tracelens_copy(const char *name, size_t length)
{
    static const char *const names[] = {"MEMORY_COPY_HOST_TO_DEVICE",        "MEMORY_COPY_DEVICE_TO_HOST",
                                        "MEMORY_COPY_DEVICE_TO_DEVICE",      "__amd_rocclr_copyBuffer",
                                        "__amd_rocclr_copyBufferRect",       "__amd_rocclr_copyBufferAligned",
                                        "__amd_rocclr_copyBufferRectAligned"};
    if (length > 3 && memcmp(name + length - 3, ".kd", 3) == 0) length -= 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(name, names[i], length) == 0) return true;
    return false;
}

rs_class rs_class_of_tracelens(rs_kind kind, const char *name, size_t length)
{
    static const char *const comm[] = {"nccl", "rccl", "cross_device_reduce", "multimem_all_reduce"};
    if (kind == RS_KIND_MEMCPY) return RS_CLASS_MEMORY;
    if (kind == RS_KIND_KERNEL && is_tracelens_copy(name, length)) return RS_CLASS_MEMORY;
    char folded[FOLD_MAX + 1];
    fold_case(name, length, folded);
    return CONTAINS_ANY(folded, comm) ? RS_CLASS_COMM : RS_CLASS_COMPUTE;
}

/* ---- HTA's rules: regular expressions tried from the start of the name, a dot stops at a line's end ---- */

/* As starts with ".*word": word is on the first line. */
static bool on_first_line(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    if (!at) return false;
    const char *line_end = strchr(name, '\n');
    return !line_end || at < line_end;
}

/* "cuda.*LaunchKernel" */
static bool is_cuda_launch(const char *name)
{
    return rs_begins(name, "cuda") && on_first_line(name + 4, "LaunchKernel");
}

static bool is_hta_memory(const char *name)
{
    const char *rest = rs_begins(name, "hip") ? name + 3 : name;
    return rs_begins(rest, "Memcpy") || rs_begins(rest, "Memset") || rs_begins(name, "dma");
}

static bool is_hta_compute(const char *name)
{
    static const char *const no_start[] = {"nccl",        "Stream Wait Event",
                                           "runFunction", "hip",
                                           "job_exe",     "packet",
                                           "pe_exe",      "cpum_exe_subgraph",
                                           "hccl",        "collective_subgraph_execution"};
    static const char *const no_part[] = {"Memcpy", "Memset", "dma", "Sync"};
    for (size_t i = 0; i < sizeof no_start / sizeof *no_start; i++)
        if (rs_begins(name, no_start[i])) return false;
    for (size_t i = 0; i < sizeof no_part / sizeof *no_part; i++)
        if (on_first_line(name, no_part[i])) return false;
    return !is_cuda_launch(name);
}

rs_class rs_class_of_hta(const char *name, size_t length)
{
    (void)length; /* names are terminated */
    if (rs_begins(name, "nccl") || rs_begins(name, "hip") || rs_begins(name, "hccl") ||
        on_first_line(name, "ncclKernel"))
        return RS_CLASS_COMM;
    if (is_hta_memory(name)) return RS_CLASS_MEMORY;
    return is_hta_compute(name) ? RS_CLASS_COMPUTE : RS_CLASS_OTHER;
}

const char *const rs_class_names[RS_N_CLASSES] = {"computation", "communication", "memory", "other"};
