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

/* ---- content ------------------------------------------------------------------------------------------- */

static const char *const dtypes[] = {"Float", "BFloat16", "Half"};
static const char *const states[] = {"scheduled", "started", "completed"};

/* How one dump is written. */
typedef struct form {
    sim_shape shape;
    bool real;   /* as real recorders: no starts unless timed, statuses of the newest work, numbers at any
                    height */
    int64_t cut; /* common clock: nothing later is in it; INT64_MAX */
    const char *backend;
} form;

static void name_of(const sim_op *op, const char *backend, char out[64])
{
    static const char *const names[] = {"all_reduce", "_all_gather_base", "_reduce_scatter_base",
                                        "all_to_all", "broadcast",        "all_reduce_barrier"};
    if (op->kind == SIM_SEND)
        snprintf(out, 64, "%s:send %d->%d", backend, op->src, op->dst);
    else if (op->kind == SIM_RECV)
        snprintf(out, 64, "%s:recv %d<-%d", backend, op->dst, op->src);
    else
        snprintf(out, 64, "%s:%s", backend, op->kind == SIM_MARK ? "coalesced" : names[op->kind]);
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

/* The state at the moment of the dump, as that recorder tells it. */
static int state_at(const sim_job *job, const sim_op *op, const form *f)
{
    int state = op->state;
    if (state == 2 && op->completed > f->cut) state = 1;
    if (state >= 1 && op->started > f->cut) state = 0;
    if (f->real && state == 1 && !job->timed) state = 0;
    return state;
}

/* Numbers of a dump that is not from the job's start stand at any height. */
static int64_t number_of(const sim_job *job, const sim_rank *r, const sim_op *op, const form *f, bool p2p)
{
    bool high = f->real && f->shape != SIM_FULL;
    int64_t base = !high ? 0 : p2p ? r->p2p_base : job->groups[op->group].seq_base;
    if (p2p && !op->p2p && op->p2p_seq == 0) base = 0; /* a group without transfers */
    return (p2p ? op->p2p_seq : op->seq) + base;
}

/* The hook counts what is dispatched; nccl what the group has launched. */
static int64_t op_id_of(const sim_job *job, const sim_rank *r, size_t i, const form *f)
{
    int64_t before = 0;
    if (!f->real) return (int64_t)i + 1;
    for (size_t k = 0; k <= i; k++)
        before += r->ops[k].group == r->ops[i].group &&
                  (f->shape == SIM_HOOK || f->shape == SIM_ISSUE_ONLY || !r->ops[k].more);
    if (f->shape == SIM_HOOK || f->shape == SIM_ISSUE_ONLY)
        return job->groups[r->ops[i].group].op_base + before * (int64_t)job->op_step;
    return number_of(job, r, &r->ops[i], f, false) +
           (r->ops[i].p2p_seq ? number_of(job, r, &r->ops[i], f, true) : 0);
}

static int64_t local_id(const sim_job *job, size_t k)
{
    return (int64_t)(job->holes ? k + k / 2 : k);
}

/* Splits that differ from rank to rank, and add up over the group. */
static uint32_t uneven(const sim_job *job, const sim_rank *r, const sim_op *op, unsigned shift)
{
    const sim_group *g = &job->groups[op->group];
    unsigned slot = 0;
    if (!job->uneven || op->kind != SIM_ALL_TO_ALL) return op->numel;
    for (unsigned i = 0; i < g->n; i++)
        if (&job->ranks[g->ranks[i]] == r) slot = i;
    return op->numel + (uint32_t)((slot + shift) % g->n) * 7 + op->seq % 5;
}

static void entry(writer *w, const sim_job *job, const sim_rank *r, size_t i, size_t pg, const form *f)
{
    const sim_op *op = &r->ops[i];
    const sim_group *g = &job->groups[op->group];
    char name[64];
    /* Inside a batch real recorders have no events: state and times stay those of an operation just issued.
     */
    bool bare = job->bare_batches && (op->more || (i > 0 && r->ops[i - 1].more)) && op->kind != SIM_MARK;
    int state = bare ? 0 : state_at(job, op, f);
    bool issue_only = f->shape == SIM_ISSUE_ONLY;
    if (issue_only) state = 0;
    uint32_t in = uneven(job, r, op, 0), out = uneven(job, r, op, 1);
    if (op->kind == SIM_ALL_GATHER) out = in * g->n;
    if (op->kind == SIM_REDUCE_SCATTER) in = out * g->n;
    open_map(w);
    if (!job->no_frames) frames(w, op);
    key(w, "record_id");
    number(w, (int64_t)i + (f->real && f->shape != SIM_FULL && f->shape != SIM_HOOK ? r->record_base : 0));
    key(w, "pg_id");
    number(w, local_id(job, pg));
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
    if (f->real && job->version >= 9) {
        key(w, "thread_name");
        text(w, "pt_main_thread");
        key(w, "thread_id");
        text(w, "23437656749760");
    }
    key(w, "collective_seq_id");
    number(w, number_of(job, r, op, f, false));
    key(w, "p2p_seq_id");
    number(w, number_of(job, r, op, f, true));
    key(w, "op_id");
    number(w, op_id_of(job, r, i, f));
    key(w, "profiling_name");
    name_of(op, f->backend, name);
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
    moment(w, "time_discovered_started_ns", op->started + r->clock_ns, state >= 1 && job->timed);
    moment(w, "time_discovered_completed_ns", op->completed + r->clock_ns, state == 2);
    key(w, "retired");
    truth(w, state == 2 || issue_only);
    key(w, "timeout_ms");
    number(w, g->timeout_ms);
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

/* The number that a recorder's status keeps of one operation: nccl that of the work, whichever kind it is;
 * the hook that of the dispatch. The simulator of old counted collectives. */
static int64_t status_of(const sim_job *job, const sim_rank *r, size_t i, const form *f)
{
    const sim_op *op = &r->ops[i];
    if (f->shape == SIM_HOOK || f->shape == SIM_ISSUE_ONLY) return op_id_of(job, r, i, f);
    return number_of(job, r, op, f, op->p2p);
}

static void status(writer *w, const sim_job *job, const sim_rank *r, size_t host, const form *f)
{
    key(w, "pg_status");
    open_map(w);
    for (uint32_t k = 0; k < r->n_groups; k++) {
        int64_t last[3] = {-1, -1, -1}, newest = INT64_MIN;
        size_t of[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX}; /* the operations that the numbers are of */
        bool any = false;
        for (size_t i = 0; i < host; i++) {
            const sim_op *op = &r->ops[i];
            if (op->group != r->groups[k] || (!f->real && op->p2p)) continue;
            int state = state_at(job, op, f);
            any = true;
            if (!f->real) {
                for (int s = 0; s <= state; s++) last[s] = op->seq;
                continue;
            }
            of[0] = i;
            if (state >= 1 && job->timed) of[1] = i;
            if (state == 2 && op->completed >= newest && f->shape != SIM_ISSUE_ONLY) {
                newest = op->completed;
                of[2] = i;
            }
        }
        for (int s = 0; s < 3; s++)
            if (of[s] != SIZE_MAX) last[s] = status_of(job, r, of[s], f);
        if (f->real && !any && job->holes) continue;
        char id[16];
        snprintf(id, sizeof id, "%u", (unsigned)local_id(job, k));
        key(w, id);
        open_map(w);
        status_number(w, "last_enqueued_collective", last[0]);
        status_number(w, "last_started_collective", last[1]);
        status_number(w, "last_completed_collective", last[2]);
        close_map(w);
    }
    close_map(w);
}

static bool batch_of_one(const sim_rank *r, size_t i)
{
    bool first = i == 0 || !r->ops[i - 1].more;
    return first && r->ops[i].more && i + 1 < r->n && !r->ops[i + 1].more;
}

static void dump(writer *w, const sim_job *job, const sim_rank *r, size_t ring, const form *f)
{
    char version[16];
    size_t host = r->host;
    while (host > 0 && r->ops[host - 1].created > f->cut) host--;
    snprintf(version, sizeof version, "2.%d", job->version);
    if (!w->json) put(&w->b, "\x80\x02", 2);
    open_map(w);
    key(w, "version");
    text(w, version);
    config(w, job, r);
    key(w, job->version >= 8 ? "comm_lib_version" : "nccl_version");
    text(w, "2.27.5");
    status(w, job, r, host, f);
    bool active = f->shape == SIM_ACTIVE, empty = true;
    for (size_t i = 0; i < host && empty; i++) empty = active && state_at(job, &r->ops[i], f) == 2;
    if (!(w->json && empty)) {
        key(w, "entries");
        open_list(w);
        for (size_t i = host > ring ? host - ring : 0; i < host; i++) {
            size_t pg = 0;
            while (r->groups[pg] != r->ops[i].group) pg++;
            /* What was inside a batch stays in a dump of active entries for ever. Of a batch of one nobody
             * could tell it from a transfer of its own. */
            bool bare = job->bare_batches && !batch_of_one(r, i) &&
                        (r->ops[i].more || (i > 0 && r->ops[i - 1].more)) && r->ops[i].kind != SIM_MARK;
            if (!active || bare || state_at(job, &r->ops[i], f) != 2) entry(w, job, r, i, pg, f);
        }
        close_list(w);
    }
    close_map(w);
    if (!w->json) put_byte(&w->b, '.');
}

static bool write_rank(const sim_job *job, unsigned i, size_t ring, bool json, const form *f,
                       const char *directory)
{
    writer *w = calloc(1, sizeof *w);
    if (!w) return false;
    w->json = json;
    dump(w, job, &job->ranks[i], ring, f);
    char path[4096];
    snprintf(path, sizeof path, "%s/nccl_trace_rank_%u", directory, i);
    FILE *file = w->b.failed ? NULL : fopen(path, "wb");
    bool good = file && fwrite(w->b.bytes, 1, w->b.n, file) == w->b.n;
    if (file && fclose(file) != 0) good = false;
    for (size_t k = 0; k < MEMO_SLOTS; k++) free(w->memo[k].text);
    free(w->b.bytes);
    free(w);
    return good;
}

bool sim_write_shape(const sim_job *job, sim_shape shape, int64_t cut_ns, const char *directory)
{
    static const char *const backends[SIM_N_SHAPES] = {"nccl", "nccl", "nccl", "nccl", "nccl2", "acme"};
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) return false;
    sim_job draw = *job;
    draw.rng ^= 0x5bd1e995 + (uint64_t)shape;
    size_t ring = shape == SIM_RING ? 40 + sim_random(&draw) % 120 : SIZE_MAX;
    bool json = sim_random(&draw) % 3 == 0;
    for (unsigned i = 0; i < job->world; i++) {
        /* Dumps of a running job are taken one after the other. */
        form f = {shape, true, cut_ns ? cut_ns + (int64_t)(sim_random(&draw) % 2000000) : INT64_MAX,
                  backends[shape]};
        if (!job->ranks[i].lost && !write_rank(job, i, ring, json, &f, directory)) return false;
    }
    return true;
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
        form f = {SIM_AS_DRAWN, false, INT64_MAX, "nccl"};
        if (!write_rank(job, i, ring, mixed ? sim_random(&draw) % 2 : json, &f, directory)) return false;
    }
    return true;
}
