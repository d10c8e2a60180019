/* The names of rocprofv3's files: which of them are one run's. */
#include <string.h>

#include "format/native.h"

/* In the order in which they are read: what others refer to comes first. */
static const struct {
    const char *end;
    bool counters, kernels, agents;
} csv_files[] = {
    {"_agent_info.csv", false, false, true},
    {"_hip_api_trace.csv", false, false, false},
    {"_hip_runtime_api_trace.csv", false, false, false},
    {"_hip_compiler_api_trace.csv", false, false, false},
    {"_hsa_api_trace.csv", false, false, false},
    {"_rccl_api_trace.csv", false, false, false},
    {"_marker_api_trace.csv", false, false, false},
    {"_rocdecode_api_trace.csv", false, false, false},
    {"_rocjpeg_api_trace.csv", false, false, false},
    {"_kernel_trace.csv", false, true, false},
    {"_counter_collection.csv", true, false, false},
    {"_memory_copy_trace.csv", false, false, false},
    {"_memory_allocation_trace.csv", false, false, false},
    {"_scratch_memory_trace.csv", false, false, false},
};

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

rs_rocprof_name rs_rocprof_name_of(const char *path)
{
    rs_rocprof_name name = {.file = RS_ROCPROF_NONE};
    size_t n = strlen(path);
    if (ends_with(path, n, "_results.db")) {
        name.file = RS_ROCPROF_DATABASE;
        name.prefix = n - strlen("_results.db");
        return name;
    }
    if (ends_with(path, n, ".gz")) n -= 3;
    if (ends_with(path, n, ".zst")) n -= 4;
    if (ends_with(path, n, "_results.json")) {
        name.file = RS_ROCPROF_WHOLE_JSON;
        name.prefix = n - strlen("_results.json");
        return name;
    }
    for (unsigned i = 0; i < sizeof csv_files / sizeof *csv_files; i++) {
        /* without a prefix of its own a file is named by the domain alone */
        const char *end = csv_files[i].end;
        size_t m = strlen(end);
        bool bare = ends_with(path, n, end + 1) && (n == m - 1 || path[n - m] == '/');
        if (!bare && !ends_with(path, n, end)) continue;
        return (rs_rocprof_name){.file = RS_ROCPROF_CSV,
                                 .prefix = bare ? n - m + 1 : n - m,
                                 .order = i,
                                 .counters = csv_files[i].counters,
                                 .kernels = csv_files[i].kernels,
                                 .agents = csv_files[i].agents};
    }
    return name;
}
