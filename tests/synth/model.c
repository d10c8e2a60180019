/* Ranks, process groups and each rank's program for one step. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_unseen(const job *j, int32_t template_number)
{
    return j->opt.no_annotations && j->templates[template_number].category == CAT_USER_ANNOTATION;
}

int stream_number(const job *j, int stream)
{
    static const int cuda[] = {7, 13, 20, 24, 28, 32};
    return j->opt.rocm ? stream : cuda[stream];
}

instruction *add(builder *b, action what)
{
    program *p = b->code;
    p->items = grow(p->items, &p->capacity, p->count + 1, sizeof *p->items);
    instruction *i = &p->items[p->count++];
    *i = (instruction){.action = (uint8_t)what, .slot = -1, .group = -1, .template = -1, .call = -1};
    i->phase = (uint8_t)b->phase;
    i->training = b->phase == PHASE_BACKWARD || b->phase == PHASE_OPTIMIZER;
    i->micro_batch = (int16_t)b->micro_batch;
    i->layer = (int16_t)b->layer;
    if (b->apart) i->apart = (uint32_t)b->apart << 24 | ++b->aparts[b->apart];
    return i;
}

void push(builder *b, category cat, const char *name, const char *args, int slot)
{
    int t = template_get(b->j, cat, CLASS_NONE, name, args);
    instruction *i = add(b, DO_PUSH);
    i->template = t;
    i->slot = slot;
}

void pop(builder *b, int levels)
{
    while (levels-- > 0) add(b, DO_POP);
}

void host(builder *b, int64_t ns)
{
    add(b, DO_HOST)->cost = ns;
}

void frame_push(builder *b, const char *name)
{
    b->apart = APART_FRAMES;
    if (b->j->opt.python) push(b, CAT_PYTHON, name, "", -1);
    b->apart = APART_NONE;
    host(b, 900);
}

void frame_pop(builder *b, int levels)
{
    b->apart = APART_FRAMES;
    if (b->j->opt.python) pop(b, levels);
    b->apart = APART_NONE;
}

static char *put_sizes(char *to, const argument *a, bool strides)
{
    int64_t stride = 1, values[4] = {0};
    for (int d = a->dims - 1; d >= 0; d--) {
        values[d] = strides ? stride : a->size[d];
        stride *= a->size[d];
    }
    *to++ = '[';
    for (int d = 0; d < a->dims; d++) to += sprintf(to, d ? ", %lld" : "%lld", (long long)values[d]);
    *to++ = ']';
    return to;
}

void op_push(builder *b, const char *name, int slot, int count, const argument *arguments)
{
    char text[2048] = "", *to = text;
    if (!b->j->opt.no_shapes) {
        to += sprintf(to, "\"Concrete Inputs\": [");
        for (int i = 0; i < count; i++)
            to += sprintf(to, "%s\"%s\"", i ? ", " : "", arguments[i].dims == -1 ? arguments[i].value : "");
        to += sprintf(to, "], \"Input type\": [");
        for (int i = 0; i < count; i++) {
            const argument *a = &arguments[i];
            const char *type = a->dims >= 0 ? "c10::BFloat16" : a->dims == -2 ? "" : "Scalar";
            if (a->dims == -1 && a->value[0] == '[') type = "ScalarList";
            to += sprintf(to, "%s\"%s\"", i ? ", " : "", type);
        }
        for (int strides = 1; strides >= 0; strides--) {
            to += sprintf(to, "], \"Input %s\": [", strides ? "Strides" : "Dims");
            for (int i = 0; i < count; i++) {
                if (i) to += sprintf(to, ", ");
                to = put_sizes(to, &arguments[i], strides);
            }
        }
        sprintf(to, "], ");
    }
    push(b, CAT_CPU_OP, name, text, slot);
}

/* The constant arguments of a GPU kernel: its shape on the machine. */
static void kernel_args(const job *j, char *to, size_t room, int64_t blocks, int threads, int registers,
                        int shared)
{
    if (blocks < 1) blocks = 1;
    if (j->opt.rocm) {
        snprintf(to, room,
                 "\"kind\": \"Dispatch Kernel\",      \"grid\": [%lld, 1, 1],      \"block\": [%d, 1, 1]",
                 (long long)blocks, threads);
        return;
    }
    int64_t per_sm = blocks * 1000000 / 132, warps = per_sm * threads / 32;
    int64_t occupancy = warps / 1000000 * 100 / 64;
    snprintf(
        to, room,
        "\"registers per thread\": %d,      \"shared memory\": %d,      \"blocks per SM\": %lld.%06lld,      "
        "\"warps per SM\": %lld.%06lld,      \"grid\": [%lld, 1, 1],      \"block\": [%d, 1, 1],      "
        "\"est. achieved occupancy %%\": %lld",
        registers, shared, (long long)(per_sm / 1000000), (long long)(per_sm % 1000000),
        (long long)(warps / 1000000), (long long)(warps % 1000000), (long long)blocks, threads,
        (long long)(occupancy > 100 ? 100 : occupancy));
}

/* The runtime call of a launch; ROCm's names the kernel and its shape, after a bar what follows correlation.
 */
static int launch_call(builder *b, const char *cuda, int cbid, const char *hip, int cid, const char *kernel,
                       int64_t blocks, int threads)
{
    char text[3072];
    if (!b->j->opt.rocm) {
        snprintf(text, sizeof text, "\"cbid\": %d", cbid);
        return template_get(b->j, cuda[2] == 'L' ? CAT_DRIVER : CAT_RUNTIME, CLASS_NONE, cuda, text);
    }
    snprintf(
        text, sizeof text,
        "    \"kernel\": \"%s\", \"cid\": %d|,      \"grid\": [%lld, 1, 1],      \"block\": [%d, 1, 1],      "
        "\"shared memory\": 0",
        kernel, cid, (long long)(blocks < 1 ? 1 : blocks), threads);
    return template_get(b->j, CAT_RUNTIME, CLASS_NONE, hip, text);
}

static void add_launch(builder *b, int call, const char *name, int64_t work, int64_t blocks, int threads)
{
    char text[512];
    kernel_args(b->j, text, sizeof text, blocks, threads, threads > 256 ? 168 : 64,
                threads > 256 ? 213120 : 0);
    int t = template_get(b->j, CAT_KERNEL, CLASS_COMPUTATION, name, text);
    instruction *i = add(b, DO_LAUNCH);
    i->stream = STREAM_COMPUTE;
    i->template = t;
    i->call = call;
    i->cost = work;
}

void launch(builder *b, const char *name, int64_t work, int64_t blocks, int threads)
{
    bool wide = threads >= 384; /* cuBLAS's newer kernels and the like use the extensible call */
    int call = launch_call(b, wide ? "cudaLaunchKernelExC" : "cudaLaunchKernel", wide ? 430 : 211,
                           wide ? "hipExtModuleLaunchKernel" : "hipLaunchKernel", wide ? 65 : 107, name,
                           blocks, threads);
    add_launch(b, call, name, work, blocks, threads);
}

void launch_driver(builder *b, const char *name, int64_t work, int64_t blocks, int threads)
{
    add_launch(b, launch_call(b, "cuLaunchKernel", 307, "hipModuleLaunchKernel", 65, name, blocks, threads),
               name, work, blocks, threads);
}

static void add_memory(builder *b, category cat, const char *name, const char *kind, const char *cuda,
                       int cbid, const char *hip, int cid, int stream, int64_t bytes, int64_t per_us)
{
    char text[64] = "", call[64];
    if (b->j->opt.rocm) snprintf(text, sizeof text, "\"kind\": \"%s\", ", kind);
    int t = template_get(b->j, cat, CLASS_MEMORY, name, text);
    snprintf(call, sizeof call, b->j->opt.rocm ? "\"cid\": %d" : "\"cbid\": %d", b->j->opt.rocm ? cid : cbid);
    int c = template_get(b->j, CAT_RUNTIME, CLASS_NONE, b->j->opt.rocm ? hip : cuda, call);
    instruction *i = add(b, DO_LAUNCH);
    i->stream = (uint8_t)stream;
    i->template = t;
    i->call = c;
    i->cost = 1200 + bytes * 1000 / per_us;
    i->amount = bytes;
}

void copy(builder *b, bool to_device, int stream, int64_t bytes)
{
    const char *name = !to_device           ? "Memcpy DtoH (Device -> Pageable)"
                       : b->j->opt.pageable ? "Memcpy HtoD (Pageable -> Device)"
                                            : "Memcpy HtoD (Pinned -> Device)";
    add_memory(b, CAT_MEMCPY, name, to_device ? "HtoD" : "DtoH", "cudaMemcpyAsync", 41, "hipMemcpyWithStream",
               134, stream, bytes, to_device && b->j->opt.pageable ? 6000 : 24000);
}

void clear(builder *b, int64_t bytes)
{
    add_memory(b, CAT_MEMSET, "Memset (Device)", "Device", "cudaMemsetAsync", 51, "hipMemsetAsync", 159,
               STREAM_COMPUTE, bytes, 2400000);
}

void allocate(builder *b)
{
    b->apart = APART_ALLOC;
    add(b, DO_SYNC_DEVICE)->call = b->j->call_free;
    instruction *i = add(b, DO_CALL);
    i->call = b->j->call_malloc;
    i->cost = 160000;
    b->apart = APART_NONE;
}

void record_event(builder *b, int stream, int event)
{
    instruction *i = add(b, DO_RECORD);
    i->stream = (uint8_t)stream;
    i->event = (uint16_t)event;
}

void wait_event(builder *b, int stream, int event)
{
    instruction *i = add(b, DO_WAIT);
    i->stream = (uint8_t)stream;
    i->event = (uint16_t)event;
}

/* ---- collectives --------------------------------------------------------------------------------------- */

static void put_ranks(const group *g, char *to, size_t room)
{
    size_t used = (size_t)snprintf(to, room, "[");
    for (int i = 0; i < g->count && used + 16 < room; i++)
        used += (size_t)snprintf(to + used, room - used, i ? ", %d" : "%d", g->ranks[i]);
    snprintf(to + used, room - used, "]");
}

const char *group_description(const job *j, const group *g)
{
    if (j->opt.rename_groups) return "undefined";
    static const char *const names[] = {"TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP",
                                        "PIPELINE_MODEL_PARALLEL_GROUP"};
    return names[g->kind];
}

void collective(builder *b, int kind, int at, int64_t elements, bool wait)
{
    static const char *const names[] = {"allreduce", "send", "recv"};
    static const char *const ops[] = {"c10d::allreduce_", "c10d::send", "c10d::recv_"};
    const job *j = b->j;
    const group *g = &j->groups[at], *shown = g;
    if (g->kind == GROUP_PAIR) shown = &j->groups[find_group(b, GROUP_PP, -1)];
    int stream = kind == COLLECTIVE_SEND   ? STREAM_SEND
                 : kind == COLLECTIVE_RECV ? STREAM_RECV
                 : g->kind == GROUP_TP     ? STREAM_TP
                                           : STREAM_DP;
    int peer = g->kind == GROUP_PAIR ? g->ranks[g->ranks[0] == b->r->id] : -1;
    int from = kind == COLLECTIVE_RECV ? peer : b->r->id, to = kind == COLLECTIVE_RECV ? b->r->id : peer;
    char ranks[8192], note[64] = "nccl:all_reduce", ends[64] = "", text[10240];
    put_ranks(shown, ranks, sizeof ranks);
    if (peer >= 0) {
        snprintf(note, sizeof note, kind == COLLECTIVE_SEND ? "nccl:send %d->%d" : "nccl:recv %d<-%d",
                 b->r->id, peer);
        snprintf(ends, sizeof ends, "\"Src Rank\": %d, \"Dst Rank\": %d, ", from, to);
    }
    op_push(b, ops[kind], -1, 1, (argument[]){TENSOR1(elements)});
    snprintf(
        text, sizeof text,
        "\"Collective name\": \"%s\", \"Process Group Description\": \"%s\", \"dtype\": \"BFloat16\", %s"
        "\"Rank\": %d, \"Out msg nelems\": %lld, \"Process Group Name\": \"%d\", \"Global rank stride\": %d, "
        "\"Out split size\": \"[]\", \"In split size\": \"[]\", \"Process Group Ranks\": \"%s\", \"Group "
        "size\": %d, \"Global rank start\": %d, \"In msg nelems\": %lld, ",
        names[kind], group_description(j, shown), ends, b->r->id, (long long)elements, shown->name,
        shown->ranks[1] - shown->ranks[0], ranks, shown->count, shown->ranks[0], (long long)elements);
    push(b, CAT_CPU_OP, "record_param_comms", text, -1);
    b->code->items[b->code->count - 1].group = at;
    push(b, CAT_USER_ANNOTATION, note, "", -1);
    record_event(b, STREAM_COMPUTE, EVENT_COMPUTE);
    wait_event(b, stream, EVENT_COMPUTE);

    char shape[512];
    int blocks = kind == COLLECTIVE_ALL_REDUCE ? 24 : 8;
    kernel_args(j, shape, sizeof shape, blocks, j->opt.rocm ? 256 : 544, 96, 87568);
    snprintf(
        text, sizeof text,
        "%s, \"Collective name\": \"%s\", \"In msg nelems\": %lld, \"Out msg nelems\": %lld, \"Group size\": "
        "%d, "
        "\"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group "
        "Name\": \"%d\", \"Process Group Description\": \"%s\", \"Process Group Ranks\": \"%s\"%s",
        shape, names[kind], (long long)elements, (long long)elements, shown->count, shown->name,
        group_description(j, shown), ranks, peer >= 0 ? ", " : "");
    if (peer >= 0) {
        ends[strlen(ends) - 2] = '\0';
        strcat(text, ends);
    }
    const char *name = kind != COLLECTIVE_ALL_REDUCE
                           ? "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
                       : j->opt.rocm ? "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
                       : elements < 4 << 20
                           ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                           : "ncclDevKernel_AllReduce_Sum_bf16_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)";
    int t = template_get(b->j, CAT_KERNEL, CLASS_COMMUNICATION, name, text);
    int call = launch_call(b, "cudaLaunchKernelExC", 430, "hipExtLaunchKernel", 62, name, blocks, 256);
    instruction *i = add(b, DO_COLLECTIVE);
    i->stream = (uint8_t)stream;
    i->template = t;
    i->call = call;
    i->group = at;
    i->amount = elements;
    if (wait) record_event(b, stream, EVENT_COMM);
    pop(b, 3);
    if (wait) wait_event(b, STREAM_COMPUTE, EVENT_COMM);
}

/* ---- a step -------------------------------------------------------------------------------------------- */

static void load_data(builder *b)
{
    int64_t bytes = (int64_t)TOKENS * 4096 * 2;
    frame_push(b, "torch/utils/data/dataloader.py(701): __next__");
    push(b, CAT_USER_ANNOTATION, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "", -1);
    add(b, DO_LOAD)->cost = 180000;
    pop(b, 1);
    frame_pop(b, 1);
    op_push(b, "aten::to", -1, 2, (argument[]){TENSOR3(1, TOKENS, 4096), SCALAR("15")});
    op_push(b, "aten::_to_copy", -1, 2, (argument[]){TENSOR3(1, TOKENS, 4096), SCALAR("15")});
    op_push(b, "aten::copy_", -1, 3,
            (argument[]){TENSOR3(1, TOKENS, 4096), TENSOR3(1, TOKENS, 4096), SCALAR("True")});
    copy(b, true, STREAM_COPY, bytes);
    if (b->j->opt.pageable) b->code->items[b->code->count - 1].blocking = true;
    pop(b, 3);
    record_event(b, STREAM_COPY, EVENT_COPY);
    wait_event(b, STREAM_COMPUTE, EVENT_COPY);
}

void read_value(builder *b)
{
    op_push(b, "aten::item", -1, 1, (argument[]){{0, {0}, NULL}});
    op_push(b, "aten::_local_scalar_dense", -1, 1, (argument[]){{0, {0}, NULL}});
    copy(b, false, STREAM_COMPUTE, 4);
    add(b, DO_SYNC_STREAM)->stream = STREAM_COMPUTE;
    if (b->j->opt.late_launch) {
        int apart = b->apart;
        b->apart = APART_LATE;
        add(b, DO_HOST)->cost = b->j->opt.late_launch;
        b->apart = apart;
    }
    pop(b, 2);
}

static void build_program(builder *b)
{
    add(b, DO_STEP_BEGIN);
    frame_push(b, "train.py(88): train_step");
    load_data(b);
    b->apart = APART_GRAPH;
    if (b->j->opt.graph) add(b, DO_GRAPH_BEGIN);
    b->apart = APART_NONE;
    training_passes(b);
    if (b->j->opt.graph) add(b, DO_GRAPH_END);
    read_value(b);
    optimizer_step(b);
    record_event(b, STREAM_COMPUTE, EVENT_STEP);
    if (b->r->id % 2 == 0) add(b, DO_SYNC_EVENT)->event = EVENT_STEP;
    add(b, DO_SYNC_DEVICE)->slot = 1;
    frame_pop(b, 1);
    add(b, DO_STEP_END);
    bool seen[STREAM_COUNT] = {false};
    for (size_t k = 0; k < b->code->count; k++) {
        instruction *i = &b->code->items[k];
        if (i->apart || (i->action != DO_LAUNCH && i->action != DO_COLLECTIVE)) continue;
        i->first = !seen[i->stream];
        seen[i->stream] = true;
    }
}

static void add_group(job *j, size_t *capacity, int kind, int name, int first, int count, int stride)
{
    j->groups = grow(j->groups, capacity, j->group_count + 1, sizeof *j->groups);
    group *g = &j->groups[j->group_count];
    *g = (group){.kind = kind, .name = name, .count = count};
    g->ranks = take_memory((size_t)count * sizeof *g->ranks);
    g->starts = take_memory((size_t)count * sizeof *g->starts);
    for (int i = 0; i < count; i++) {
        g->ranks[i] = first + i * stride;
        rank_state *r = &j->rank[g->ranks[i]];
        r->groups = realloc(r->groups, (size_t)(r->group_count + 1) * sizeof *r->groups);
        if (!r->groups) fail("no memory for process groups");
        r->groups[r->group_count++] = (int)j->group_count;
    }
    j->group_count++;
}

static void build_groups(job *j)
{
    const options *o = &j->opt;
    size_t capacity = 0;
    int name = 1; /* "0" is the default group of all ranks */
    for (int at = 0; o->tp > 1 && at < j->ranks; at += o->tp)
        add_group(j, &capacity, GROUP_TP, name++, at, o->tp, 1);
    for (int pp = 0; o->dp > 1 && pp < o->pp; pp++)
        for (int tp = 0; tp < o->tp; tp++)
            add_group(j, &capacity, GROUP_DP, name++, pp * o->dp * o->tp + tp, o->dp, o->tp);
    for (int at = 0; o->pp > 1 && at < o->dp * o->tp; at++)
        add_group(j, &capacity, GROUP_PP, name++, at, o->pp, o->dp * o->tp);
    for (int at = 0; at + o->dp * o->tp < j->ranks; at++)
        add_group(j, &capacity, GROUP_PAIR, -1, at, 2, o->dp * o->tp);
}

/* The name of a group under --rename-groups: a number that tells nothing and that no other group has. */
static int new_name(const job *j, size_t at)
{
    for (uint64_t k = 0;; k++) {
        int name = 100000 + (int)(mix(j->opt.seed ^ mix(at * 64 + k + 9)) % 900000);
        size_t other = 0;
        while (other < at && j->groups[other].name != name) other++;
        if (other == at) return name;
    }
}

static int call_template(job *j, const char *cuda, int cbid, const char *hip, int cid)
{
    char text[32];
    snprintf(text, sizeof text, j->opt.rocm ? "\"cid\": %d" : "\"cbid\": %d", j->opt.rocm ? cid : cbid);
    return template_get(j, CAT_RUNTIME, CLASS_NONE, j->opt.rocm ? hip : cuda, text);
}

void model_build(job *j)
{
    j->ranks = j->opt.dp * j->opt.tp * j->opt.pp;
    j->rank = take_memory((size_t)j->ranks * sizeof *j->rank);
    for (int i = 0; i < j->ranks; i++) {
        rank_state *r = &j->rank[i];
        r->id = i;
        r->tp = i % j->opt.tp;
        r->dp = i / j->opt.tp % j->opt.dp;
        r->pp = i / (j->opt.tp * j->opt.dp);
        r->device = i % 8;
        r->pid = 200100 + r->device * 61; /* hosts of eight GPUs: process ids repeat from host to host */
        r->thread_id[0] = r->pid;
        r->thread_id[1] = r->pid + 33;
        r->factor = (int)((int64_t)j->opt.factors[i] * j->opt.stage_factors[r->pp] / 1000);
        r->machine = j->opt.hosts ? i * j->opt.hosts / j->ranks : i;
        r->offset = j->opt.offsets[i];
    }
    build_groups(j);
    for (size_t g = 0; j->opt.rename_groups && g < j->group_count; g++)
        if (j->groups[g].name > 0) j->groups[g].name = new_name(j, g);
    j->step_call = template_get(j, CAT_USER_ANNOTATION, CLASS_NONE, "ProfilerStep#", "");
    j->call_record = call_template(j, "cudaEventRecord", 135, "hipEventRecord", 58);
    j->call_wait = call_template(j, "cudaStreamWaitEvent", 147, "hipStreamWaitEvent", 200);
    j->call_sync_stream = call_template(j, "cudaStreamSynchronize", 131, "hipStreamSynchronize", 199);
    j->call_sync_event = call_template(j, "cudaEventSynchronize", 137, "hipEventSynchronize", 60);
    j->call_sync_device = call_template(j, "cudaDeviceSynchronize", 165, "hipDeviceSynchronize", 48);
    j->call_graph = call_template(j, "cudaGraphLaunch", 311, "hipGraphLaunch", 215);
    j->call_free = call_template(j, "cudaFree", 22, "hipFree", 92);
    j->call_malloc = call_template(j, "cudaMalloc", 20, "hipMalloc", 143);
    j->sync_wait = template_get(j, CAT_SYNC, CLASS_NONE, "Stream Wait Event", "");
    j->sync_event = template_get(j, CAT_SYNC, CLASS_NONE, "Event Sync", "");
    j->sync_stream = template_get(j, CAT_SYNC, CLASS_NONE, "Stream Sync", "");
    j->sync_context = template_get(j, CAT_SYNC, CLASS_NONE, "Context Sync", "");
    for (int i = 0; i < j->ranks; i++) {
        rank_state *r = &j->rank[i];
        builder b = {.j = j,
                     .r = r,
                     .code = &r->code,
                     .first_stage = r->pp == 0,
                     .last_stage = r->pp == j->opt.pp - 1,
                     .micro_batch = -1,
                     .layer = -1};
        build_program(&b);
        r->sequences = take_memory((j->group_count + 1) * sizeof *r->sequences);
        if (i == 0) { /* work begun before the recording: some kernel of the step's */
            for (size_t k = 0; k < r->code.count; k++)
                if (r->code.items[k].action == DO_LAUNCH &&
                    j->templates[r->code.items[k].template].category == CAT_KERNEL) {
                    j->left_over = r->code.items[k].template;
                    break;
                }
        }
    }
    j->epoch = 4458676416431397 - 4458676416431397 % 1000000 + 397000;
}

void model_free(job *j)
{
    for (int i = 0; i < j->ranks; i++) {
        rank_state *r = &j->rank[i];
        free(r->groups);
        free(r->code.items);
        free(r->sequences);
        for (int s = 0; s < STREAM_COUNT; s++) free(r->streams[s].waits);
        free(r->host[0].items);
        free(r->host[1].items);
        free(r->python.items);
        free(r->device_records.items);
        free(r->annotations.items);
    }
    for (size_t g = 0; g < j->group_count; g++) {
        free(j->groups[g].ranks);
        free(j->groups[g].starts);
    }
    free(j->groups);
    free(j->rank);
    templates_free(j);
}
