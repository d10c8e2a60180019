/* The names of rocprofv3's files: which of them are one run's. */
#include <string.h>

#include "format/native.h"

/* In the order in which they are read: what others refer to comes first. */
static const struct {
    const char *end;
    bool kernels, agents;
} csv_files[] = {
    {"_agent_info.csv", false, true},
    {"_hip_api_trace.csv", false, false},
    {"_hip_runtime_api_trace.csv", false, false},
    {"_hip_compiler_api_trace.csv", false, false},
    {"_hsa_api_trace.csv", false, false},
    {"_rccl_api_trace.csv", false, false},
    {"_marker_api_trace.csv", false, false},
    {"_rocdecode_api_trace.csv", false, false},
    {"_rocjpeg_api_trace.csv", false, false},
    {"_kernel_trace.csv", true, false},
    {"_counter_collection.csv", false, false},
    {"_memory_copy_trace.csv", false, false},
    {"_memory_allocation_trace.csv", false, false},
    {"_scratch_memory_trace.csv", false, false},
};

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* Length of a name without what says that it is packed. */
static size_t unpacked_length(const char *path)
{
    size_t n = strlen(path);
    if (ends_with(path, n, ".gz")) n -= 3;
    if (ends_with(path, n, ".zst")) n -= 4;
    return n;
}

/* The whole run in one file. */
static rs_run_name whole_name(const char *path, size_t n, const char *end, const rs_format *format,
                              unsigned preference)
{
    if (!ends_with(path, n, end)) return (rs_run_name){0};
    return (rs_run_name){.format = format, .prefix = n - strlen(end), .preference = preference};
}

rs_run_name rs_rocpd_name(const char *path)
{
    return whole_name(path, strlen(path), "_results.db", &rs_format_rocpd, 1);
}

rs_run_name rs_rocprof_json_name(const char *path)
{
    return whole_name(path, unpacked_length(path), "_results.json", &rs_format_rocprof_json, 2);
}

rs_run_name rs_rocprof_csv_name(const char *path)
{
    size_t n = unpacked_length(path);
    for (unsigned i = 0; i < sizeof csv_files / sizeof *csv_files; i++) {
        /* without a prefix of its own a file is named by the domain alone */
        const char *end = csv_files[i].end;
        size_t m = strlen(end);
        bool bare = ends_with(path, n, end + 1) && (n == m - 1 || path[n - m] == '/');
        if (!bare && !ends_with(path, n, end)) continue;
        return (rs_run_name){.format = &rs_format_rocprof_csv,
                             .prefix = bare ? n - m + 1 : n - m,
                             .preference = 3,
                             .is_part = true,
                             .order = i,
                             .leads = csv_files[i].kernels,
                             .alone_useless = csv_files[i].agents};
    }
    return (rs_run_name){0};
}
