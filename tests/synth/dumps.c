/* What a job leaves that hangs or runs out of memory: flight-recorder dumps (--hang) and memory snapshots (--leak), pickles as
 * PyTorch writes them. A third of a second a step, one reduction of gradients a layer. */
#include "synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START INT64_C(1760000000000000000) /* ns since 1970 */
#define STEP INT64_C(333000000)
#define MIB (INT64_C(1) << 20)

/* ---- pickles: protocol 2, no memo --------------------------------------------------------------------------- */

static void pickle_number(FILE *f, int64_t value)
{
    fputs("\x8a\x08", f);
    for (int i = 0; i < 8; i++) fputc((int)((uint64_t)value >> 8 * i & 0xff), f);
}

static void pickle_text(FILE *f, const char *text)
{
    size_t n = strlen(text);
    fputc('X', f);
    for (int i = 0; i < 4; i++) fputc((int)(n >> 8 * i & 0xff), f);
    fputs(text, f);
}

/* A member of the map that is open. */
static void number(FILE *f, const char *key, int64_t value)
{
    pickle_text(f, key);
    pickle_number(f, value);
}

static void text(FILE *f, const char *key, const char *value)
{
    pickle_text(f, key);
    pickle_text(f, value);
}

static void open_as(FILE *f, const char *key, const char *what)
{
    if (key) pickle_text(f, key);
    fputs(what, f);
}

#define OPEN_MAP(f, key) open_as(f, key, "}(")
#define CLOSE_MAP(f) fputc('u', f)
#define OPEN_LIST(f, key) open_as(f, key, "](")
#define CLOSE_LIST(f) fputc('e', f)

static FILE *begin(const job *j, const char *form, int rank)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/", j->opt.directory);
    n += snprintf(path + n, sizeof path - (size_t)n, form, rank);
    FILE *f = n < (int)sizeof path ? fopen(path, "wb") : NULL;
    if (!f) fail("%s: cannot be written", path);
    fputs("\x80\x02", f);
    return f;
}

static void end(FILE *f)
{
    fputc('.', f);
    if (ferror(f) | fclose(f)) fail("a dump cannot be written");
}

typedef struct line {
    const char *function, *file;
    int number;
} line;

/* Innermost first. */
static void frames(FILE *f, const line *lines, size_t n)
{
    OPEN_LIST(f, "frames");
    for (size_t i = 0; i < n; i++) {
        OPEN_MAP(f, NULL);
        text(f, "name", lines[i].function);
        text(f, "filename", lines[i].file);
        number(f, "line", lines[i].number);
        CLOSE_MAP(f);
    }
    CLOSE_LIST(f);
}

/* ---- a hang ---------------------------------------------------------------------------------------------------- */

static void reduction(FILE *f, int64_t i, int64_t layers, bool done)
{
    static const line stack[] = {
        {"all_reduce", "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", 2825},
        {"reduce_gradients", "/job/train.py", 118},
        {"main", "/job/train.py", 57}};
    int64_t created = START + i * STEP / layers;
    OPEN_MAP(f, NULL);
    frames(f, stack, sizeof stack / sizeof *stack);
    number(f, "record_id", i);
    number(f, "pg_id", 0);
    pickle_text(f, "process_group");
    pickle_text(f, "0");
    pickle_text(f, "default_pg");
    fputc('\x86', f); /* a pair */
    number(f, "collective_seq_id", i + 1);
    number(f, "p2p_seq_id", 0);
    number(f, "op_id", i + 1);
    text(f, "profiling_name", "nccl:all_reduce");
    number(f, "time_created_ns", created);
    for (int out = 0; out < 2; out++) {
        OPEN_LIST(f, out ? "output_sizes" : "input_sizes");
        OPEN_LIST(f, NULL);
        pickle_number(f, 50331648);
        CLOSE_LIST(f);
        CLOSE_LIST(f);
        OPEN_LIST(f, out ? "output_dtypes" : "input_dtypes");
        pickle_text(f, "BFloat16");
        CLOSE_LIST(f);
    }
    text(f, "state", done ? "completed" : "scheduled");
    pickle_text(f, "time_discovered_started_ns");
    fputc('N', f);
    pickle_text(f, "time_discovered_completed_ns");
    if (done)
        pickle_number(f, created + 4000000);
    else
        fputc('N', f);
    pickle_text(f, "retired");
    fputc(done ? 0x88 : 0x89, f);
    number(f, "timeout_ms", 600000);
    pickle_text(f, "is_p2p");
    fputc(0x89, f);
    CLOSE_MAP(f);
}

/* The guilty rank stops in the last step, with everything done that it issued; the others wait in the next reduction. */
static void write_hang(const job *j, int rank, int ranks, const char *members)
{
    int64_t layers = j->opt.layers, done = j->opt.steps * layers - (layers + 1) / 2;
    bool waits = rank != j->opt.hang;
    FILE *f = begin(j, "nccl_trace_rank_%d", rank);
    OPEN_MAP(f, NULL);
    text(f, "version", "2.10");
    text(f, "comm_lib_version", "2.27.5");
    OPEN_MAP(f, "pg_config");
    OPEN_MAP(f, "0");
    text(f, "name", "0");
    text(f, "desc", "default_pg");
    text(f, "ranks", members);
    CLOSE_MAP(f);
    CLOSE_MAP(f);
    OPEN_MAP(f, "pg_status");
    OPEN_MAP(f, "0");
    number(f, "last_enqueued_collective", done + (waits && ranks > 1));
    number(f, "last_started_collective", -1);
    number(f, "last_completed_collective", done);
    CLOSE_MAP(f);
    CLOSE_MAP(f);
    OPEN_LIST(f, "entries");
    for (int64_t i = 0; i < done + waits; i++) reduction(f, i, layers, i < done);
    CLOSE_LIST(f);
    CLOSE_MAP(f);
    end(f);
}

/* ---- memory that runs out -------------------------------------------------------------------------------------- */

typedef struct block {
    int64_t address, bytes;
    const line *stack;
    bool used;
} block;

static const line model[] = {{"__init__", "/job/model.py", 31}, {"main", "/job/train.py", 12}},
                  activation[] = {{"forward", "/job/model.py", 66}, {"main", "/job/train.py", 41}},
                  kept[] = {{"log_loss", "/job/metrics.py", 17}, {"main", "/job/train.py", 44}};
#define DEPTH 2

static void event(FILE *f, const char *what, int64_t address, int64_t bytes, const line *stack, int64_t *time)
{
    OPEN_MAP(f, NULL);
    text(f, "action", what);
    if (address)
        number(f, "addr", address);
    else
        number(f, "device_free", 0);
    number(f, "size", bytes);
    number(f, "stream", 0);
    number(f, "time_us", *time += 3);
    frames(f, stack, DEPTH);
    CLOSE_MAP(f);
}

static void take(FILE *f, block *b, int64_t bytes, const line *stack, int64_t *address, int64_t *time)
{
    *b = (block){*address, bytes, stack, true};
    *address += bytes + 256 * MIB;
    event(f, "segment_alloc", b->address, bytes, stack, time);
    event(f, "alloc", b->address, bytes, stack, time);
}

/* A segment a block: parameters, activations that come and go, and on the leaking rank what each step keeps. */
static void write_snapshot(const job *j, int rank)
{
    int64_t steps = j->opt.steps, layers = j->opt.layers, time = START / 1000, address = INT64_C(1) << 40;
    size_t n = 0, n_blocks = (size_t)(2 * layers + steps);
    block *blocks = take_memory(n_blocks * sizeof *blocks);
    bool leaks = rank == j->opt.leak;
    FILE *f = begin(j, "rank%d_memory.pickle", rank);
    OPEN_MAP(f, NULL);
    OPEN_LIST(f, "device_traces");
    OPEN_LIST(f, NULL);
    for (int64_t i = 0; i < layers; i++) take(f, &blocks[n++], 512 * MIB, model, &address, &time);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < layers; i++) {
            block *b = &blocks[layers + i];
            if (s == 0) {
                take(f, b, 640 * MIB, activation, &address, &time);
                n++;
            } else {
                event(f, "alloc", b->address, b->bytes, activation, &time);
            }
            b->used = true;
        }
        if (leaks) take(f, &blocks[n++], 1024 * MIB, kept, &address, &time);
        for (int64_t i = layers; i-- > 0 && !(leaks && s == steps - 1);) {
            block *b = &blocks[layers + i];
            event(f, "free_requested", b->address, b->bytes, activation, &time);
            event(f, "free_completed", b->address, b->bytes, activation, &time);
            b->used = false;
        }
        time += STEP / 1000;
    }
    if (leaks) event(f, "oom", 0, 1024 * MIB, kept, &time);
    CLOSE_LIST(f);
    CLOSE_LIST(f);
    OPEN_LIST(f, "segments");
    for (size_t i = 0; i < n; i++) {
        OPEN_MAP(f, NULL);
        number(f, "device", 0);
        number(f, "address", blocks[i].address);
        number(f, "total_size", blocks[i].bytes);
        number(f, "stream", 0);
        text(f, "segment_type", "large");
        OPEN_LIST(f, "blocks");
        OPEN_MAP(f, NULL);
        number(f, "address", blocks[i].address);
        number(f, "size", blocks[i].bytes);
        number(f, "requested_size", blocks[i].bytes);
        text(f, "state", blocks[i].used ? "active_allocated" : "inactive");
        frames(f, blocks[i].stack, DEPTH);
        CLOSE_MAP(f);
        CLOSE_LIST(f);
        CLOSE_MAP(f);
    }
    CLOSE_LIST(f);
    CLOSE_MAP(f);
    end(f);
    free(blocks);
}

void dumps_write(const job *j)
{
    int ranks = j->opt.dp * j->opt.tp * j->opt.pp;
    size_t room = (size_t)ranks * 12 + 3, n = 0;
    char *members = take_memory(room);
    for (int i = 0; i < ranks; i++) n += (size_t)snprintf(members + n, room - n, "%s%d", i ? ", " : "[", i);
    snprintf(members + n, room - n, "]");
    for (int i = 0; i < ranks; i++) {
        if (j->opt.only_rank >= 0 && j->opt.only_rank != i) continue;
        if (j->opt.hang >= 0) write_hang(j, i, ranks, members);
        if (j->opt.leak >= 0) write_snapshot(j, i);
    }
    free(members);
}
