/* What stands around the events: the file's head, the metadata records and the tail. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

static void device_properties(output *o, int id, bool rocm)
{
    out_format(o, "    {\n      \"id\": %d, \"name\": \"%s\", \"totalGlobalMem\": %lld,\n", id,
               rocm ? "AMD Instinct MI300X" : "NVIDIA H100 80GB HBM3", rocm ? 206141652992LL : 84929347584LL);
    out_format(o, "      \"computeMajor\": 9, \"computeMinor\": %d,\n", rocm ? 4 : 0);
    out_format(o,
               "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
               "      \"regsPerBlock\": 65536, \"warpSize\": %d,\n",
               rocm ? 64 : 32);
    out_format(o, "      \"sharedMemPerBlock\": %d, \"numSms\": %d\n", rocm ? 65536 : 49152,
               rocm ? 304 : 132);
    if (rocm)
        out_format(o, "    , \"maxSharedMemoryPerMultiProcessor\": 65536\n    }%s\n", id < 7 ? "," : "");
    else
        out_format(o,
                   "    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, "
                   "\"sharedMemPerMultiprocessor\": 233472\n    }%s\n",
                   id < 7 ? "," : "");
}

static void process_groups(job *j, rank_state *r)
{
    output *o = &r->out;
    int count = 1;
    for (int i = 0; i < r->group_count; i++) count += j->groups[r->groups[i]].kind != GROUP_PAIR;
    out_format(
        o,
        "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d, \"pg_count\": %d, "
        "\"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": "
        "\"cuda:nccl\", \"pg_size\": %d, \"ranks\": [",
        r->id, j->ranks, count, j->ranks);
    for (int i = 0; i < j->ranks; i++) out_format(o, i ? ", %d" : "%d", i);
    out_format(o, "]}");
    for (int i = 0; i < r->group_count; i++) {
        int at = j->opt.rename_groups ? r->group_count - 1 - i : i;
        const group *g = &j->groups[r->groups[at]];
        if (g->kind == GROUP_PAIR) continue;
        out_format(o,
                   ", {\"pg_name\": \"%d\", \"pg_desc\": \"%s\", \"backend_config\": \"cuda:nccl\", "
                   "\"pg_size\": %d, "
                   "\"ranks\": [",
                   g->name, group_description(j, g), g->count);
        for (int m = 0; m < g->count; m++) out_format(o, m ? ", %d" : "%d", g->ranks[m]);
        out_format(o, "]}");
    }
    out_format(o, "], \"nccl_version\": \"%s\"},\n", j->opt.rocm ? "2.22.3" : "2.27.3");
}

void emit_header(job *j, rank_state *r)
{
    output *o = &r->out;
    out_format(o, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n");
    for (int id = 0; id < 8; id++) device_properties(o, id, j->opt.rocm);
    out_format(o, "  ],\n");
    if (j->opt.rocm)
        out_format(o, "  \"roctracer_version\": 4.1,\n  \"hip_runtime_version\": 60443483,\n");
    else
        out_format(o, "  \"cupti_version\": 26,\n  \"cuda_runtime_version\": 12080,\n");
    process_groups(j, r);
    if (!j->opt.no_shapes) out_format(o, "  \"record_shapes\": 1,\n");
    out_format(o,
               j->opt.rocm ? "  \"hip_driver_version\": 60443483,\n" : "  \"cuda_driver_version\": 12080,\n");
    if (j->opt.python) out_format(o, "  \"with_stack\": 1,\n");
    uint64_t id = mix(draws_seed(j) + (uint64_t)r->id);
    out_format(o, "  \"trace_id\": \"%016llX%016llX\",\n  \"displayTimeUnit\": \"ms\",\n",
               (unsigned long long)id, (unsigned long long)mix(id));
    out_format(o, "  \"baseTimeNanoseconds\": 1759240134000000000,\n  \"traceEvents\": [\n");
}

static void count_event(output *o, category cat)
{
    o->events++;
    o->by_category[cat]++;
}

static void metadata(rank_state *r, const char *name, int64_t at, int pid, int tid, const char *key,
                     const char *text, int64_t number)
{
    output *o = &r->out;
    char stamp[32];
    *put_time(stamp, at + r->offset) = '\0';
    out_format(o, "  {\n    \"name\": \"%s\", \"ph\": \"M\", \"ts\": %s, \"pid\": %d, \"tid\": %d,\n", name,
               stamp, pid, tid);
    if (text)
        out_format(o, "    \"args\": {\n      \"%s\": \"%s\"\n    }\n  },\n", key, text);
    else
        out_format(o, "    \"args\": {\n      \"%s\": %lld\n    }\n  },\n", key, (long long)number);
    count_event(o, CAT_METADATA);
}

void emit_footer(job *j, rank_state *r)
{
    output *o = &r->out;
    int64_t at = j->epoch;
    char text[64], stamp[32], length[32];
    for (int device = -1; device < 8; device++) {
        int pid = device < 0 ? r->pid : device;
        metadata(r, "process_name", at, pid, 0, "name", "python3", 0);
        snprintf(text, sizeof text, device < 0 ? "CPU" : "GPU %d", device);
        metadata(r, "process_labels", at, pid, 0, "labels", text, 0);
        metadata(r, "process_sort_index", at, pid, 0, "sort_index", NULL,
                 device < 0 ? pid : 16777216 + device);
    }
    for (int s = 0; s < STREAM_COUNT; s++) {
        if (!r->streams[s].launched) continue;
        int tid = stream_number(j, s);
        snprintf(text, sizeof text, "stream %d ", tid);
        metadata(r, "thread_name", at, r->device, tid, "name", text, 0);
        metadata(r, "thread_sort_index", at, r->device, tid, "sort_index", NULL, tid);
    }
    for (int t = 0; t < 2; t++) {
        int tid = r->thread_id[t];
        snprintf(text, sizeof text, t ? "thread %d (pt_autograd_0)" : "thread %d (python3)", tid);
        metadata(r, "thread_name", at, r->pid, tid, "name", text, 0);
        metadata(r, "thread_sort_index", at, r->pid, tid, "sort_index", NULL, tid);
    }
    int64_t end = r->time;
    for (int s = 0; s < STREAM_COUNT; s++)
        if (r->streams[s].free > end) end = r->streams[s].free;
    *put_time(stamp, at + r->offset) = '\0';
    *put_time(length, end + 20000 - at) = '\0';
    out_format(o,
               "  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": %s, \"dur\": %s,\n    \"pid\": "
               "\"Spans\", \"tid\": "
               "\"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op "
               "count\": "
               "0\n    }\n  },\n",
               stamp, length);
    count_event(o, CAT_TRACE);
    out_format(o,
               "  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": %s,\n    \"pid\": "
               "\"Spans\", \"tid\": "
               "0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n",
               stamp);
    count_event(o, CAT_METADATA);
    out_format(o,
               "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    "
               "\"pid\": "
               "\"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": %s\n  },\n",
               stamp);
    count_event(o, CAT_INSTANT);
    *put_time(stamp, end + 25000 + r->offset) = '\0';
    out_format(
        o,
        "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": "
        "\"\", \"ts\": %s\n  }\n  ],\n",
        stamp);
    count_event(o, CAT_INSTANT);
    out_format(o, "  \"traceName\": \"rank%d.json\"\n}\n", r->id);
}
