/* The recorder's own formats: c10's pickle (protocol 2, strings and frames memoised by value) and its JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim.h"

typedef struct buffer {
    char *bytes;
    size_t n, capacity;
    bool failed;
} buffer;

static void put(buffer *b, const void *bytes, size_t n)
{
    if (b->n + n > b->capacity) {
        size_t wanted = (b->n + n) * 2;
        char *grown = realloc(b->bytes, wanted);
        if (!grown) {
            b->failed = true;
            return;
        }
        b->bytes = grown;
        b->capacity = wanted;
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

static void put_byte(buffer *b, int c)
{
    char byte = (char)c;
    put(b, &byte, 1);
}

#define MEMO_SLOTS 4096

/* Both formats through one set of calls, so that a dump's content is written down once. */
typedef struct writer {
    buffer b;
    bool json, comma;
    uint32_t n_memo;
    struct {
        char *text;
        uint32_t id;
    } memo[MEMO_SLOTS];
    uint32_t frame_memo[64]; /* id + 1 */
} writer;

static void little(buffer *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) put_byte(b, (int)(v >> (8 * i) & 0xff));
}

static void memo_put(writer *w)
{
    uint32_t id = w->n_memo++;
    put_byte(&w->b, id < 256 ? 'q' : 'r');
    little(&w->b, id, id < 256 ? 1 : 4);
}

static void memo_get(writer *w, uint32_t id)
{
    put_byte(&w->b, id < 256 ? 'h' : 'j');
    little(&w->b, id, id < 256 ? 1 : 4);
}

static void separate(writer *w)
{
    if (w->json && w->comma) put_byte(&w->b, ',');
    w->comma = true;
}

static void raw_text(writer *w, const char *text)
{
    size_t n = strlen(text), h = n;
    if (w->json) {
        put_byte(&w->b, '"');
        put(&w->b, text, n);
        put_byte(&w->b, '"');
        return;
    }
    for (size_t i = 0; i < n; i++) h = h * 31 + (unsigned char)text[i];
    for (h %= MEMO_SLOTS; w->memo[h].text; h = (h + 1) % MEMO_SLOTS)
        if (strcmp(w->memo[h].text, text) == 0) {
            memo_get(w, w->memo[h].id);
            return;
        }
    put_byte(&w->b, 'X');
    little(&w->b, n, 4);
    put(&w->b, text, n);
    w->memo[h].id = w->n_memo;
    w->memo[h].text = strdup(text);
    if (!w->memo[h].text) w->b.failed = true;
    memo_put(w);
}

static void text(writer *w, const char *value)
{
    separate(w);
    raw_text(w, value);
}

static void key(writer *w, const char *name)
{
    separate(w);
    raw_text(w, name);
    if (w->json) put_byte(&w->b, ':');
    w->comma = false;
}

static void number(writer *w, int64_t v)
{
    separate(w);
    if (w->json) {
        char digits[32];
        put(&w->b, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)v));
    } else if (v >= 0 && v < 256) {
        put_byte(&w->b, 'K');
        little(&w->b, (uint64_t)v, 1);
    } else if (v >= 0 && v < 65536) {
        put_byte(&w->b, 'M');
        little(&w->b, (uint64_t)v, 2);
    } else if (v >= INT32_MIN && v <= INT32_MAX) {
        put_byte(&w->b, 'J');
        little(&w->b, (uint64_t)v, 4);
    } else {
        put(&w->b, "\x8a\x08", 2);
        little(&w->b, (uint64_t)v, 8);
    }
}

static void real(writer *w, double v)
{
    separate(w);
    if (w->json) {
        char digits[40];
        put(&w->b, digits, (size_t)snprintf(digits, sizeof digits, "%.17g", v));
        return;
    }
    uint64_t u;
    memcpy(&u, &v, 8);
    put_byte(&w->b, 'G');
    for (int i = 7; i >= 0; i--) put_byte(&w->b, (int)(u >> (8 * i) & 0xff));
}

static void truth(writer *w, bool v)
{
    separate(w);
    if (w->json)
        put(&w->b, v ? "true" : "false", v ? 4 : 5);
    else
        put_byte(&w->b, v ? 0x88 : 0x89);
}

static void open_map(writer *w)
{
    separate(w);
    put(&w->b, w->json ? "{" : "}(", w->json ? 1 : 2);
    w->comma = false;
}

static void close_map(writer *w)
{
    put_byte(&w->b, w->json ? '}' : 'u');
    w->comma = true;
}

static void open_list(writer *w)
{
    separate(w);
    put(&w->b, w->json ? "[" : "](", w->json ? 1 : 2);
    w->comma = false;
}

static void close_list(writer *w)
{
    put_byte(&w->b, w->json ? ']' : 'e');
    w->comma = true;
}

/* ---- content --------------------------------------------------------------------------------------------
 */

static const char *const dtypes[] = {"Float", "BFloat16", "Half"};
static const char *const states[] = {"scheduled", "started", "completed"};

static void name_of(const sim_op *op, char out[64])
{
    static const char *const names[] = {"all_reduce", "_all_gather_base", "_reduce_scatter_base",
                                        "all_to_all", "broadcast",        "all_reduce_barrier"};
    if (op->kind == SIM_SEND)
        snprintf(out, 64, "nccl:send %d->%d", op->src, op->dst);
    else if (op->kind == SIM_RECV)
        snprintf(out, 64, "nccl:recv %d<-%d", op->dst, op->src);
    else
        snprintf(out, 64, "nccl:%s", op->kind == SIM_MARK ? "coalesced" : names[op->kind]);
}

static void frames(writer *w, const sim_op *op)
{
    static const char *const functions[] = {
        "all_reduce", "wrapper", "forward", "_call_impl", "_wrapped_call_impl",
        "train_step", "train",   "main",    "<module>"};
    static const char *const files[] = {
        "/opt/conda/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
        "/opt/conda/lib/python3.11/site-packages/torch/distributed/c10d_logger.py",
        "/app/train/model.py",
        "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "/app/train/loop.py",
        "/app/train/loop.py",
        "/app/train/main.py",
        "/app/train/main.py"};
    static const int lines[] = {2825, 83, 200, 1762, 1751, 118, 341, 57, 91};
    if (w->json) return;
    key(w, "frames");
    open_list(w);
    for (unsigned i = 0; i < 9; i++) {
        unsigned which = i == 2 ? 9 + op->place : i;
        if (w->frame_memo[which]) {
            memo_get(w, w->frame_memo[which] - 1);
            continue;
        }
        open_map(w);
        key(w, "name");
        text(w, functions[i]);
        key(w, "filename");
        text(w, files[i]);
        key(w, "line");
        number(w, lines[i] + (i == 2 ? (int)op->place : 0));
        close_map(w);
        w->frame_memo[which] = w->n_memo + 1;
        memo_put(w);
    }
    close_list(w);
}

static void sizes(writer *w, const char *name, uint32_t numel, const sim_op *op)
{
    key(w, name);
    open_list(w);
    if (op->kind != SIM_MARK) {
        open_list(w);
        if (numel % 64 == 0 && numel > 64) number(w, 64);
        number(w, numel % 64 == 0 && numel > 64 ? numel / 64 : numel);
        close_list(w);
    }
    close_list(w);
}

static void types(writer *w, const char *name, const sim_op *op)
{
    key(w, name);
    open_list(w);
    if (op->kind != SIM_MARK) text(w, dtypes[op->dtype]);
    close_list(w);
}

static void moment(writer *w, const char *name, int64_t ns, bool known)
{
    key(w, name);
    if (known || w->json) {
        number(w, known ? ns : 0);
        return;
    }
    separate(w);
    put_byte(&w->b, 'N');
}

static void entry(writer *w, const sim_job *job, const sim_rank *r, size_t i, size_t pg)
{
    const sim_op *op = &r->ops[i];
    const sim_group *g = &job->groups[op->group];
    char name[64];
    /* Inside a batch real recorders have no events: state and times stay those of an operation just issued.
     */
    bool bare = job->bare_batches && (op->more || (i > 0 && r->ops[i - 1].more)) && op->kind != SIM_MARK;
    int state = bare ? 0 : op->state;
    uint32_t in = op->numel, out = op->numel;
    if (op->kind == SIM_ALL_GATHER) out = in * g->n;
    if (op->kind == SIM_REDUCE_SCATTER) in = out * g->n;
    open_map(w);
    frames(w, op);
    key(w, "record_id");
    number(w, (int64_t)i);
    key(w, "pg_id");
    number(w, (int64_t)pg);
    key(w, "process_group");
    if (w->json) {
        open_list(w);
        text(w, g->uid);
        text(w, g->desc);
        close_list(w);
    } else {
        raw_text(w, g->uid);
        raw_text(w, g->desc);
        put_byte(&w->b, 0x86);
    }
    w->comma = true;
    key(w, "collective_seq_id");
    number(w, op->seq);
    key(w, "p2p_seq_id");
    number(w, op->p2p_seq);
    key(w, "op_id");
    number(w, (int64_t)i + 1);
    key(w, "profiling_name");
    name_of(op, name);
    text(w, name);
    key(w, "time_created_ns");
    number(w, op->created + r->clock_ns);
    if (job->timing && state == 2 && op->kind != SIM_MARK) {
        key(w, "duration_ms");
        real(w, (double)(op->completed - op->started) / 1e6);
    }
    sizes(w, "input_sizes", in, op);
    types(w, "input_dtypes", op);
    sizes(w, "output_sizes", out, op);
    types(w, "output_dtypes", op);
    key(w, "state");
    text(w, states[state]);
    moment(w, "time_discovered_started_ns", op->started + r->clock_ns, state >= 1);
    moment(w, "time_discovered_completed_ns", op->completed + r->clock_ns, state == 2);
    key(w, "retired");
    truth(w, state == 2);
    key(w, "timeout_ms");
    number(w, 600000);
    key(w, "is_p2p");
    truth(w, op->p2p);
    close_map(w);
}

static void config(writer *w, const sim_job *job, const sim_rank *r)
{
    key(w, "pg_config");
    open_map(w);
    for (uint32_t k = 0; k < r->n_groups; k++) {
        const sim_group *g = &job->groups[r->groups[k]];
        char *list = malloc((size_t)g->n * 12 + 3);
        size_t n = 0;
        if (!list) {
            w->b.failed = true;
            return;
        }
        for (unsigned i = 0; i < g->n; i++)
            n += (size_t)sprintf(list + n, "%s%u", i ? ", " : "[", g->ranks[i]);
        strcpy(list + n, "]");
        key(w, g->uid);
        open_map(w);
        key(w, "name");
        text(w, g->uid);
        key(w, "desc");
        text(w, g->desc);
        key(w, "ranks");
        text(w, list);
        close_map(w);
        free(list);
    }
    close_map(w);
}

static void status_number(writer *w, const char *name, int64_t v)
{
    char digits[24];
    key(w, name);
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    if (w->json)
        text(w, digits);
    else
        number(w, v);
}

static void status(writer *w, const sim_rank *r)
{
    key(w, "pg_status");
    open_map(w);
    for (uint32_t k = 0; k < r->n_groups; k++) {
        int64_t last[3] = {-1, -1, -1};
        for (size_t i = 0; i < r->host; i++)
            if (r->ops[i].group == r->groups[k] && !r->ops[i].p2p)
                for (int s = 0; s <= r->ops[i].state; s++) last[s] = r->ops[i].seq;
        char id[16];
        snprintf(id, sizeof id, "%u", k);
        key(w, id);
        open_map(w);
        status_number(w, "last_enqueued_collective", last[0]);
        status_number(w, "last_started_collective", last[1]);
        status_number(w, "last_completed_collective", last[2]);
        close_map(w);
    }
    close_map(w);
}

static void dump(writer *w, const sim_job *job, const sim_rank *r, size_t ring)
{
    char version[16];
    snprintf(version, sizeof version, "2.%d", job->version);
    if (!w->json) put(&w->b, "\x80\x02", 2);
    open_map(w);
    key(w, "version");
    text(w, version);
    config(w, job, r);
    key(w, job->version >= 8 ? "comm_lib_version" : "nccl_version");
    text(w, "2.27.5");
    status(w, r);
    key(w, "entries");
    open_list(w);
    for (size_t i = r->host > ring ? r->host - ring : 0; i < r->host; i++) {
        size_t pg = 0;
        while (r->groups[pg] != r->ops[i].group) pg++;
        entry(w, job, r, i, pg);
    }
    close_list(w);
    close_map(w);
    if (!w->json) put_byte(&w->b, '.');
}

bool sim_write(const sim_job *job, const char *directory)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) return false;
    sim_job draw = *job; /* draws of its own, so that writing does not change the job */
    draw.rng ^= 0x5bd1e995;
    size_t ring = job->s.ring ? job->s.ring : 2000;
    /* A mismatch that nobody noticed may leave the ring: then there is nothing to find. */
    if (!job->s.ring && job->fatal && sim_random(&draw) % 2) ring = 40 + sim_random(&draw) % 120;
    bool mixed = job->s.json < 0 && sim_random(&draw) % 4 == 0,
         json = job->s.json < 0 ? sim_random(&draw) % 4 == 0 : job->s.json;
    for (unsigned i = 0; i < job->world; i++) {
        if (job->ranks[i].lost) continue;
        writer *w = calloc(1, sizeof *w);
        if (!w) return false;
        w->json = mixed ? sim_random(&draw) % 2 : json;
        dump(w, job, &job->ranks[i], ring);
        char path[4096];
        snprintf(path, sizeof path, "%s/nccl_trace_rank_%u", directory, i);
        FILE *f = w->b.failed ? NULL : fopen(path, "wb");
        bool good = f && fwrite(w->b.bytes, 1, w->b.n, f) == w->b.n;
        if (f && fclose(f) != 0) good = false;
        for (size_t k = 0; k < MEMO_SLOTS; k++) free(w->memo[k].text);
        free(w->b.bytes);
        free(w);
        if (!good) return false;
    }
    return true;
}
