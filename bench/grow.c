/* Grows one large trace from small ones: bench-grow BYTES OUT FILE...
 *
 * The events' text is repeated byte for byte but for the numbers that tell one repetition from another: ts,
 * which goes on where the last repetition ended, and correlation, External id and the ids of flows, which
 * move into a range of their own. The header is the first file's. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_TIME, KIND_PROCESS, KIND_CORRELATION, KIND_EXTERNAL, KIND_FLOW, N_KINDS };

/* Process ids below this are devices'. */
enum { FIRST_PROCESS = 64 };

/* A number in the text that moves: the whole part of it. */
typedef struct patch {
    size_t begin, end;
    int64_t value;
    int kind;
} patch;

typedef struct piece {
    char *text;
    size_t n, events, events_end; /* the inside of the event array */
    patch *patches;
    size_t n_patches, capacity;
    int64_t first, last; /* ts */
} piece;

static int64_t highest[N_KINDS];

static _Noreturn void fail(const char *what, const char *path)
{
    fprintf(stderr, "bench-grow: %s: %s\n", path, what);
    exit(1);
}

static void *must(void *p)
{
    if (!p) fail("out of memory", "this machine");
    return p;
}

static void read_file(const char *path, piece *p)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) fail(strerror(errno), path);
    p->n = (size_t)ftell(file);
    rewind(file);
    p->text = must(malloc(p->n + 1));
    if (fread(p->text, 1, p->n, file) != p->n) fail("cannot read", path);
    p->text[p->n] = '\0';
    fclose(file);
}

static size_t skip_string(const piece *p, size_t i)
{
    for (i++; i < p->n && p->text[i] != '"'; i++)
        if (p->text[i] == '\\') i++;
    return i;
}

static int kind_of(const char *key, size_t n, int depth)
{
    static const struct {
        const char *key;
        int depth, kind;
    } known[] = {{"ts", 1, KIND_TIME},
                 {"id", 1, KIND_FLOW},
                 {"pid", 1, KIND_PROCESS},
                 {"correlation", 2, KIND_CORRELATION},
                 {"External id", 2, KIND_EXTERNAL},
                 {"external id", 2, KIND_EXTERNAL},
                 {"wait_on_cuda_event_record_corr_id", 2, KIND_CORRELATION}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].depth == depth && strlen(known[i].key) == n && memcmp(known[i].key, key, n) == 0)
            return known[i].kind;
    return -1;
}

/* Notes the number at i, if it is one that may move: huge ones stay, they are no running numbers. */
static void note(piece *p, size_t i, int kind)
{
    char *end;
    if (p->text[i] < '0' || p->text[i] > '9') return;
    errno = 0;
    int64_t value = strtoll(p->text + i, &end, 10);
    if (errno || (kind != KIND_TIME && value > INT64_C(1) << 40)) return;
    if (*end == 'e' || *end == 'E' || (*end == '.' && kind != KIND_TIME)) return;
    if (p->n_patches == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 4096;
        p->patches = must(realloc(p->patches, p->capacity * sizeof *p->patches));
    }
    p->patches[p->n_patches++] = (patch){i, (size_t)(end - p->text), value, kind};
    if (kind != KIND_TIME && value > highest[kind]) highest[kind] = value;
    /* the origin of a trace is no event: its ts may be 0 */
    if (kind == KIND_TIME && value > 0) {
        if (value < p->first) p->first = value;
        if (value > p->last) p->last = value;
    }
}

static void scan(piece *p, const char *path)
{
    static const char key[] = "\"traceEvents\"";
    char *at = strstr(p->text, key);
    if (at) at = strchr(at + sizeof key - 1, '[');
    if (!at) fail("has no traceEvents", path);
    size_t i = p->events = (size_t)(at - p->text) + 1;
    p->first = INT64_MAX;
    for (int depth = 0; i < p->n; i++) {
        char c = p->text[i];
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') depth--;
        if (depth < 0) break;
        if (c != '"') continue;
        size_t end = skip_string(p, i), value = end + 1;
        int kind = kind_of(p->text + i + 1, end - i - 1, depth);
        i = end;
        if (kind < 0) continue;
        while (value < p->n && strchr(" \t\r\n", p->text[value])) value++;
        if (p->text[value] != ':') continue;
        value++;
        while (value < p->n && strchr(" \t\r\n", p->text[value])) value++;
        note(p, value, kind);
    }
    if (i >= p->n) fail("has no end", path);
    while (i > p->events && strchr(" \t\r\n", p->text[i - 1])) i--;
    p->events_end = i;
    if (p->first > p->last) p->first = p->last = 0;
}

static uint64_t written;

static void put(FILE *out, const char *text, size_t n)
{
    if (fwrite(text, 1, n, out) != n) fail(strerror(errno), "writing");
    written += n;
}

static void put_piece(FILE *out, const piece *p, const int64_t *shift)
{
    size_t at = p->events;
    char number[32];
    for (size_t k = 0; k < p->n_patches; k++) {
        const patch *n = &p->patches[k];
        put(out, p->text + at, n->begin - at);
        /* a time before the first is the origin's: it stays */
        int64_t value = n->value + shift[n->kind];
        if (n->kind == KIND_TIME && n->value == 0) value = 0;
        if (n->kind == KIND_PROCESS) value = n->value < FIRST_PROCESS ? n->value : 4242;
        put(out, number, (size_t)snprintf(number, sizeof number, "%" PRId64, value));
        at = n->end;
    }
    put(out, p->text + at, p->events_end - at);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench-grow BYTES OUT FILE...\n");
        return 2;
    }
    uint64_t wanted = strtoull(argv[1], NULL, 10);
    size_t n_pieces = (size_t)argc - 3;
    piece *pieces = must(calloc(n_pieces, sizeof *pieces));
    for (size_t i = 0; i < n_pieces; i++) {
        read_file(argv[i + 3], &pieces[i]);
        scan(&pieces[i], argv[i + 3]);
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out) fail(strerror(errno), argv[2]);
    setvbuf(out, NULL, _IOFBF, 1 << 20);
    put(out, pieces[0].text, pieces[0].events);
    int64_t clock = pieces[0].first, shift[N_KINDS] = {0};
    for (size_t k = 0; written < wanted; k++) {
        piece *p = &pieces[k % n_pieces];
        if (k) put(out, ",", 1);
        shift[KIND_TIME] = clock - p->first;
        put_piece(out, p, shift);
        clock += p->last - p->first + 1000;
        /* each repetition of each piece has ids of its own */
        for (int kind = KIND_CORRELATION; kind < N_KINDS; kind++) shift[kind] += highest[kind] + 1;
    }
    const piece *first = &pieces[0];
    put(out, first->text + first->events_end, first->n - first->events_end);
    if (fclose(out) != 0) fail(strerror(errno), argv[2]);
    return 0;
}
