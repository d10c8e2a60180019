/* What doctor advises where rocprofv3 records, by check. */
#include "format/native.h"

const rs_remedy rs_rocprof_remedies[] = {
    {"damaged text", "let the program end by itself or with SIGTERM: rocprofv3 writes its files at the end"},
    {"GPU work", "rocprofv3 --kernel-trace --memory-copy-trace, around the process that uses the GPU (inside "
                 "torchrun, not around it)"},
    {"host operators",
     "torch.autograd.profiler.emit_nvtx around the steps and --marker-trace, or record with the "
     "PyTorch profiler"},
    {"shapes", "emit_nvtx(record_shapes=True)"},
    {"Python stacks", "record with the PyTorch profiler where they are wanted"},
    {"launches without work", "add --kernel-trace --memory-copy-trace; give all files of the run together"},
    {"work without launch", "add --hip-trace (or --runtime-trace); of CSV files give the run's folder, so "
                            "that *_hip_api_trace.csv is read with the kernels"},
    {"graph launches", "profile once with graphs disabled"},
    {"work before launch", "a clock skew of the driver: a newer ROCm; restart the process"},
    {"repeated correlations", "one run's files only: -o 'rank%env{RANK}%_%pid%' gives each process its own"},
    {"overlap on one stream",
     "timestamps of one hardware queue overlap by microseconds; compare busy time, not sums"},
    {"rank", "rocprofv3 -o 'rank%env{RANK}%_%pid%', or rankscope capture, puts the rank in the file name"},
    {"steps", "put each iteration in a roctx range \"ProfilerStep#N\" (roctxRangePush, or "
              "torch.cuda.nvtx.range_push) and add --marker-trace"},
    {"collective arguments", "kernels of RCCL do not say which collective they are: record with the PyTorch "
                             "profiler where sizes and groups are wanted"},
    {"dropped buffers", "fewer steps a recording (--collection-period); fewer kinds of traces"},
    {"clock units", "the files hold nanoseconds since the machine's start: do not rescale them"},
    {"clock resolution", "do not convert the files' times"},
    {NULL, NULL},
};
