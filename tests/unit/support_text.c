#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

void text_add(text *t, const void *bytes, size_t n)
{
    if (t->n + n + 1 > t->capacity) {
        t->capacity = (t->n + n + 1) * 2;
        t->s = realloc(t->s, t->capacity);
        if (!t->s) abort();
    }
    if (n) memcpy(t->s + t->n, bytes, n);
    t->n += n;
    t->s[t->n] = '\0';
}

void text_puts(text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_printf(text *t, const char *format, ...)
{
    char line[4096];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line) abort();
    text_add(t, line, (size_t)n);
}

void text_insert(text *t, size_t at, const void *bytes, size_t n)
{
    if (!n) return;
    size_t tail = t->n - at;
    text_add(t, bytes, n); /* makes room */
    memmove(t->s + at + n, t->s + at, tail);
    memcpy(t->s + at, bytes, n);
}

void text_delete(text *t, size_t at, size_t n)
{
    memmove(t->s + at, t->s + at + n, t->n - at - n + 1);
    t->n -= n;
}

void text_clear(text *t)
{
    free(t->s);
    *t = (text){0};
}

static bool append(void *context, const char *bytes, size_t n)
{
    text_add(context, bytes, n);
    return true;
}

rs_sink text_sink(text *t)
{
    return (rs_sink){append, t};
}

text text_of_file(const char *path)
{
    text t = {0};
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    char block[65536];
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) text_add(&t, block, n);
    fclose(f);
    return t;
}

text text_unpacked(const char *path)
{
    text raw = text_of_file(path);
    if (raw.n < 2 || (uint8_t)raw.s[0] != 0x1f) return raw;
    bool complete;
    text t = gzip_prefix(raw.s, raw.n, &complete);
    assert_true(complete);
    text_clear(&raw);
    return t;
}

uint64_t rng_next(rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t rng_below(rng *r, size_t n)
{
    return n ? (size_t)(rng_next(r) % n) : 0;
}

void text_mutate(text *t, rng *r)
{
    static const char likely[] = "\"\\{}[],:0123456789eE+-. \n\ttfnN\x01\xff\xc3\xa9";
    for (size_t k = rng_below(r, 3) + 1; k && t->n; k--) {
        size_t at = rng_below(r, t->n), left = t->n - at, n = rng_below(r, left < 24 ? left : 24) + 1;
        char c = likely[rng_below(r, sizeof likely - 1)];
        if (n > left) n = left;
        switch (rng_below(r, 6)) {
        case 0: t->s[at] = (char)(t->s[at] ^ (1 << rng_below(r, 8))); break;
        case 1: t->s[at] = c; break;
        case 2: text_insert(t, at, &c, 1); break;
        case 3: text_delete(t, at, n); break;
        case 4: { /* a piece of it again somewhere else */
            char piece[32];
            memcpy(piece, t->s + at, n);
            text_insert(t, rng_below(r, t->n + 1), piece, n);
            break;
        }
        default: { /* two chunks change places */
            size_t chunk = left / 2 < 200 ? left / 2 : 200;
            for (size_t i = 0; i < chunk; i++) {
                char x = t->s[at + i];
                t->s[at + i] = t->s[at + chunk + i];
                t->s[at + chunk + i] = x;
            }
            break;
        }
        }
    }
}

/* ---- synthesised traces ----------------------------------------------------------------------------- */

static void cpu_op(text *t, rng *r, double us, size_t i)
{
    static const char *const ops[] = {"aten::add", "aten::mm", "aten::_to_copy",
                                      "autograd::engine::evaluate"};
    text_printf(
        t,
        "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 41, \"tid\": %zu,\n"
        "    \"ts\": %.3f, \"dur\": %zu.%03zu,\n    \"args\": {\n      \"External id\": %zu,"
        "\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"%zu\", \"a\\\"b\"], \"Input type\": "
        "[\"float\", \"Scalar\"], \"Input Dims\": [[%zu, 3], []], \"Ev Idx\": %zu, \"odd key\": {\"a\": "
        "[1]}\n    }\n  }",
        ops[rng_below(r, 4)], 41 + rng_below(r, 3), us, rng_below(r, 500), rng_below(r, 1000), i,
        rng_below(r, 4), rng_below(r, 5), i);
}

static void kernel(text *t, rng *r, double us, size_t i)
{
    text_printf(
        t,
        "{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void k%zu<float, (int)4>(A<\xc3\xa9>, "
        "int)\", \"pid\": 0, "
        "\"tid\": %zu,\n    \"ts\": %.3f, \"dur\": %zu.%03zu,\n    \"args\": {\n      \"External id\": %zu, "
        "\"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": %zu, \"correlation\": %zu,\n"
        "      \"registers per thread\": 32, \"shared memory\": %zu, \"blocks per SM\": %.6f,\n"
        "      \"warps per SM\": 1.5, \"grid\": [%zu, 1, 1], \"block\": [128, 1, 1],\n"
        "      \"est. achieved occupancy %%\": %zu\n    }\n  }",
        rng_below(r, 9), rng_below(r, 2) + 7, us, rng_below(r, 5000), rng_below(r, 1000), i,
        rng_below(r, 2) + 7, i, rng_below(r, 3) * 1024, (double)rng_below(r, 1000) / 7.0, rng_below(r, 6),
        rng_below(r, 100));
}

void text_events(text *t, size_t n, uint64_t seed)
{
    rng r = {seed};
    double us = 1e9;
    for (size_t i = 0; i < n; i++) {
        if (i) text_puts(t, ",\n  ");
        us += (double)rng_below(&r, 100000) / 1000.0;
        switch (rng_below(&r, 8)) {
        case 0:
        case 1:
        case 2: cpu_op(t, &r, us, i); break;
        case 3:
        case 4: kernel(t, &r, us, i); break;
        case 5:
            text_printf(t,
                        "{\"ph\": \"s\", \"id\": %zu, \"pid\": 41, \"tid\": 41, \"ts\": %.3f, \"cat\": "
                        "\"ac2g\", \"name\": \"ac2g\"}",
                        i, us);
            break;
        case 6:
            text_printf(t,
                        "{\"ph\": \"f\", \"id\": %zu, \"pid\": 0, \"tid\": 7, \"ts\": %.3f, \"cat\": "
                        "\"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}",
                        i, us);
            break;
        default:
            text_printf(t,
                        "{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": %.3f, \"pid\": %zu, \"tid\": 0, "
                        "\"args\": {\"name\": \"python\"}}",
                        us, rng_below(&r, 50));
            break;
        }
    }
}

text text_trace(size_t n, uint64_t seed)
{
    text t = {0};
    text_puts(
        &t,
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\", "
        "\"maxThreadsPerBlock\": 1024}],\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, "
        "\"world_size\": 8},\n  \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1700000000000000000,\n"
        "  \"traceEvents\": [\n  ");
    text_events(&t, n, seed);
    text_puts(&t, "\n  ],\n  \"traceName\": \"/tmp/trace.json\"\n}\n");
    return t;
}

/* ---- packing ---------------------------------------------------------------------------------------- */

text gzip_pack(const void *bytes, size_t n, int level)
{
    z_stream z = {0};
    if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    text t = {0};
    t.capacity = deflateBound(&z, n) + 32;
    t.s = malloc(t.capacity);
    if (!t.s) abort();
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)t.s;
    z.avail_out = (uInt)t.capacity;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
    t.n = z.total_out;
    deflateEnd(&z);
    return t;
}

text zstd_pack(const void *bytes, size_t n)
{
    text t = {0};
    t.capacity = ZSTD_compressBound(n) + 32;
    t.s = malloc(t.capacity);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (!t.s || !c) abort();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    t.n = ZSTD_compress2(c, t.s, t.capacity, bytes, n);
    ZSTD_freeCCtx(c);
    if (ZSTD_isError(t.n)) abort();
    return t;
}

text gzip_prefix(const void *bytes, size_t n, bool *complete)
{
    text t = {0};
    char block[65536];
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 16) != Z_OK) abort();
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    int status = Z_OK;
    *complete = false;
    while (status == Z_OK || status == Z_STREAM_END) {
        *complete = status == Z_STREAM_END;
        if (status == Z_STREAM_END && (z.avail_in == 0 || inflateReset(&z) != Z_OK)) break;
        z.next_out = (Bytef *)block;
        z.avail_out = sizeof block;
        status = inflate(&z, Z_NO_FLUSH);
        text_add(&t, block, sizeof block - z.avail_out);
        if (status != Z_STREAM_END) *complete = false;
    }
    inflateEnd(&z);
    return t;
}

/* ---- places ----------------------------------------------------------------------------------------- */

guarded guarded_copy(const void *bytes, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (n + page - 1) / page * page;
    guarded g = {.n = n, .map_n = size + page};
    g.map = mmap(NULL, g.map_n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect((uint8_t *)g.map + size, page, PROT_NONE) != 0) abort();
    g.bytes = (uint8_t *)g.map + size - n;
    if (n) memcpy(g.bytes, bytes, n);
    return g;
}

void guarded_free(guarded *g)
{
    munmap(g->map, g->map_n);
    *g = (guarded){0};
}

int file_of(const void *bytes, size_t n, char path[64])
{
    int fd = memfd_create("trace", 0);
    if (fd < 0) abort();
    for (size_t at = 0; at < n;) {
        ssize_t w = write(fd, (const char *)bytes + at, n - at);
        if (w <= 0) abort();
        at += (size_t)w;
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* ---- ranks ------------------------------------------------------------------------------------------ */

static void text_step(text *t, int rank, int step)
{
    long long at = 1000 * step + 7 * rank;
    text_printf(t,
                ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,"
                "\"ts\":%lld,\"dur\":900}"
                ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"enumerate(DataLoader)#x\",\"pid\":1,"
                "\"tid\":1,\"ts\":%lld,\"dur\":20}",
                step, at, at + 5);
    for (int i = 0; i < 4; i++) {
        int correlation = 100 * step + i;
        bool comm = i == 3, autograd = i == 2;
        text_printf(
            t,
            ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s%d\",\"pid\":1,\"tid\":%d,\"ts\":%lld,"
            "\"dur\":50}"
            ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":%d,"
            "\"ts\":%lld,\"dur\":5,\"args\":{\"correlation\":%d}}",
            autograd ? "autograd::engine::evaluate_function: " : "aten::op", i, autograd ? 2 : 1,
            at + 100 * i, autograd ? 2 : 1, at + 100 * i + 10, correlation);
        text_printf(t,
                    ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%lld,"
                    "\"dur\":60,\"args\":{\"correlation\":%d,\"stream\":7,\"device\":0%s}}",
                    comm       ? "ncclKernel_AllReduce_Sum(x)"
                    : autograd ? "void f<int>(g)"
                               : "k",
                    at + 100 * i + 30, correlation,
                    comm ? ",\"Collective name\":\"allreduce\",\"Process Group Name\":\"0\",\"Group size\":2,"
                           "\"Process Group Ranks\":\"[0, 1]\""
                         : "");
    }
}

void text_rank(text *t, int rank, int steps)
{
    text_printf(t, "{\"distributedInfo\":{\"rank\":%d},\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}", rank);
    for (int step = 1; step <= steps; step++) text_step(t, rank, step);
    text_puts(t,
              ",{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":1000,"
              "\"dur\":500}]}");
}

void text_save(const text *t, const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(t->s, 1, t->n, f), t->n);
    assert_int_equal(fclose(f), 0);
}

/* ---- corpus ----------------------------------------------------------------------------------------- */

static size_t visit_folder(const char *folder, corpus_fn visit, void *context)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    size_t count = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        const char *name = entries[i]->d_name;
        struct stat info;
        if (name[0] != '.' && snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
            stat(path, &info) == 0) {
            if (S_ISDIR(info.st_mode)) {
                count += visit_folder(path, visit, context);
            } else if (strstr(name, ".json")) {
                visit(path, context);
                count++;
            }
        }
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return count;
}

size_t corpus_each(corpus_fn visit, void *context)
{
    const char *root = getenv("RANKSCOPE_CORPUS");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/kineto", root ? root : RS_SOURCE_DIR "/../shared/corpus");
    size_t n = visit_folder(folder, visit, context);
    n += visit_folder(RS_SOURCE_DIR "/tests/data/kineto", visit, context);
    return n;
}
