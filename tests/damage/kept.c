#define _GNU_SOURCE
/* What damage costs: kept [--runs N] [--seed S] [--keep FOLDER] TRACE...
 *
 * Each run damages one trace in one way, at random places, and reads it. An event that no damaged byte lies in is
 * untouched: it has to be there, with all that is known of it. What is missing has to be said, or the trace refused.
 * The table has a line for each kind of damage; the last line is "N passed, N failed": a run fails that loses untouched
 * events without a word, or more than one in MOST of them. --keep writes such texts into a folder. */
#include "../unit/support.h"
#include "base/memory.h"

/* Of all untouched events one in so many may be lost. */
#define MOST 1000000

typedef enum kind {
    BYTE_CHANGED,
    BYTE_ADDED,
    BYTE_LOST,
    BRACKET_ADDED,
    BRACKET_BETWEEN,
    ELEMENT_OPENED,
    QUOTE_LOST,
    LINE_END_IN_STRING,
    SURROGATE_IN_STRING,
    CLOSERS_ADDED,
    BLOCK_OVERWRITTEN,
    BLOCK_LOST,
    BLOCK_TWICE,
    PAGE_OF_ZEROS,
    SEVERAL_BYTES,
    LOG_LINE_BETWEEN,
    TEXT_BEFORE,
    HEADER_BYTE,
    HEADER_KEY,
    HEADER_BRACKET,
    HEADER_BLOCK,
    HEADER_TWICE,
    LINE_TWICE,
    FIRST_BYTE,
    BEHIND,
    CUT,
    N_KINDS
} kind;

static const char *const names[N_KINDS] = {
    "a byte changed",
    "a byte added",
    "a byte lost",
    "a bracket, quote or comma added",
    "a bracket, quote or comma between events",
    "an element opened between events",
    "a quote lost",
    "a line end in a string",
    "half a surrogate pair in a string",
    "brackets that close the trace",
    "up to 64 bytes overwritten",
    "up to 4096 bytes lost",
    "up to 4096 bytes twice",
    "a page of zeros",
    "2 to 8 bytes changed",
    "a line of a log between events",
    "text before the trace",
    "header: a byte changed",
    "header: a letter of \"traceEvents\"",
    "header: a bracket or quote added",
    "header: up to 64 bytes lost",
    "header: its beginning twice",
    "header: a line twice, or one of the first events'",
    "header: the first byte",
    "a byte behind the events",
    "cut",
};

typedef struct sample {
    const char *path;
    text whole;
    spans at;
    rs_events *events;
    uint64_t *marks; /* of its rows */
    bool derived; /* categories and streams of events without them are those of their processes and arrows */
} sample;

typedef struct sum {
    uint64_t runs, untouched, kept, moved, worst, silent, refused;
} sum;

/* What a damage touched: bytes [from, to) of the text before it; what is added at a place between two bytes touches
 * the event that both belong to. */
typedef struct touched {
    size_t from[10], to[10], n;
} touched;

static void *need(void *p)
{
    if (!p) abort();
    return p;
}

/* ---- what is known of a row, as one number ------------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t mix_text(uint64_t h, const rs_events *e, uint32_t id)
{
    if (id == RS_NO_STRING) return mix(h, 77);
    const rs_string *s = &e->strings.items[id];
    for (size_t i = 0; i < s->length; i++) h = mix(h, (uint8_t)s->text[i]);
    return mix(h, s->length);
}

static void mark_column(const rs_events *e, size_t c, uint64_t *marks)
{
    const rs_sparse *s = &e->args[c];
    for (size_t i = 0; i < s->n; i++) {
        uint64_t *h = &marks[s->rows[i]], bits = 0;
        *h = mix(*h, c);
        if (rs_column_infos[c].type == RS_COLUMN_TEXT) {
            *h = mix_text(*h, e, s->texts[i]);
            continue;
        }
        if (rs_column_infos[c].type == RS_COLUMN_INT)
            bits = (uint64_t)rs_sparse_int(s, i);
        else
            memcpy(&bits, &s->reals[i], sizeof bits);
        *h = mix(*h, bits);
    }
}

static uint64_t *marks_of(const rs_events *e, bool derived)
{
    uint64_t *marks = need(malloc((e->n + 1) * sizeof *marks));
    for (size_t i = 0; i < e->n; i++) {
        const rs_thread *t = &e->threads[e->thread[i]];
        uint64_t h = mix(mix(e->phase[i], (uint64_t)e->start[i]), (uint64_t)e->duration[i]);
        h = mix_text(h, e, e->name[i]);
        if (!derived) h = mix_text(h, e, e->categories[e->category[i]].name);
        h = t->pid_text == RS_NO_STRING ? mix(h, (uint64_t)t->pid) : mix_text(h, e, t->pid_text);
        marks[i] = t->tid_text == RS_NO_STRING ? mix(h, (uint64_t)t->tid) : mix_text(h, e, t->tid_text);
    }
    for (size_t c = 0; c < RS_N_COLUMNS; c++)
        if (!derived || c != RS_COL_STREAM) mark_column(e, c, marks);
    return marks;
}

/* ---- damage ------------------------------------------------------------------------------------------- */

static void change(text *t, touched *d, size_t at, size_t n, const void *instead, size_t n_instead)
{
    d->from[d->n] = at;
    d->to[d->n++] = at + n;
    text_delete(t, at, n);
    if (n_instead) text_insert(t, at, instead, n_instead);
}

static char other_byte(rng *r, char old)
{
    static const char likely[] = "\"\\{}[],:0x \n\x01\xff";
    char c = rng_below(r, 2) ? likely[rng_below(r, sizeof likely - 1)] : (char)rng_below(r, 256);
    return c == old ? (char)(c ^ 1) : c;
}

static char structural(rng *r)
{
    static const char all[] = "[]{}\",:";
    return all[rng_below(r, sizeof all - 1)];
}

/* A place between two events, or before the first one's comma. */
static size_t between(const sample *s, rng *r)
{
    size_t i = rng_below(r, s->at.n - 1), from = s->at.end[i];
    return from + rng_below(r, s->at.begin[i + 1] - from + 1);
}

/* The next such byte within the events, at or behind a random one. */
static size_t find(const sample *s, rng *r, char c)
{
    size_t begin = s->at.begin[0], end = s->at.end[s->at.n - 1], from = begin + rng_below(r, end - begin);
    for (size_t i = from; i < end; i++)
        if (s->whole.s[i] == c) return i;
    return (size_t)((char *)need(memchr(s->whole.s + begin, c, end - begin)) - s->whole.s);
}

static void one_byte(const sample *s, rng *r, size_t at, text *t, touched *d)
{
    char c = other_byte(r, s->whole.s[at]);
    change(t, d, at, 1, &c, 1);
}

static void several_bytes(const sample *s, rng *r, text *t, touched *d)
{
    for (size_t k = 2 + rng_below(r, 7); k; k--) one_byte(s, r, rng_below(r, s->whole.n), t, d);
}

static void block(const sample *s, rng *r, kind k, text *t, touched *d)
{
    char bytes[4096] = {0};
    size_t n = k == BLOCK_OVERWRITTEN ? 1 + rng_below(r, 64) : 1 + rng_below(r, 4096);
    if (k == PAGE_OF_ZEROS) n = 4096;
    if (n > s->whole.n / 2) n = s->whole.n / 2;
    size_t at = rng_below(r, s->whole.n - n);
    if (k == BLOCK_OVERWRITTEN)
        for (size_t i = 0; i < n; i++) bytes[i] = (char)rng_next(r);
    if (k == BLOCK_TWICE)
        change(t, d, at + n, 0, s->whole.s + at, n);
    else
        change(t, d, at, n, bytes, k == BLOCK_LOST ? 0 : n);
}

static void in_header(const sample *s, rng *r, kind k, text *t, touched *d)
{
    size_t n = s->at.begin[0], at = rng_below(r, n);
    char c = structural(r);
    const char *key = k == HEADER_KEY ? strstr(s->whole.s, "\"traceEvents\"") : NULL;
    if (k == FIRST_BYTE) at = 0;
    if (key && (size_t)(key - s->whole.s) < n) at = (size_t)(key - s->whole.s) + rng_below(r, 13);
    if (k == HEADER_BRACKET) {
        change(t, d, at, 0, &c, 1);
    } else if (k == HEADER_BLOCK) {
        size_t most = n - at < 64 ? n - at : 64;
        change(t, d, at, 1 + rng_below(r, most), NULL, 0);
    } else {
        one_byte(s, r, at, t, d);
    }
}

static void damage(const sample *s, rng *r, kind k, text *t, touched *d)
{
    static const char *const opened[] = {"[", "{\"a\":[", "{", "{\"a\":{", "[[", "{\"a\":\"", "\""};
    static const char *const before[] = {"\xef\xbb\xbf", "[2026-01-01 10:00:00] INFO: trace written\n",
                                         "\n\n", "WARNING 1 of 2 {pid 7}\n", "NCCL version 2.21 [rank 0]\n"};
    static const char *const closers[] = {"]}", "\"]}", "}]}", "\"}]}", "]", "]}\n"};
    size_t n = s->whole.n, at = rng_below(r, n), begin = s->at.begin[0], end = s->at.end[s->at.n - 1];
    const char *word;
    char c = structural(r);
    switch (k) {
    case BYTE_CHANGED: one_byte(s, r, at, t, d); break;
    case BYTE_ADDED:
        c = other_byte(r, 0);
        change(t, d, at, 0, &c, 1);
        break;
    case BYTE_LOST: change(t, d, at, 1, NULL, 0); break;
    case BRACKET_ADDED: change(t, d, begin + rng_below(r, end - begin), 0, &c, 1); break;
    case BRACKET_BETWEEN: change(t, d, between(s, r), 0, &c, 1); break;
    case ELEMENT_OPENED:
        word = opened[rng_below(r, sizeof opened / sizeof *opened)];
        change(t, d, s->at.begin[1 + rng_below(r, s->at.n - 1)], 0, word, strlen(word));
        break;
    case QUOTE_LOST: change(t, d, find(s, r, '"'), 1, NULL, 0); break;
    case LINE_END_IN_STRING: change(t, d, find(s, r, '"') + 1, 0, "\n", 1); break;
    case SURROGATE_IN_STRING: change(t, d, find(s, r, '"') + 1, 0, "\\ud83d", 6); break;
    case CLOSERS_ADDED:
        word = closers[rng_below(r, sizeof closers / sizeof *closers)];
        change(t, d, begin + rng_below(r, end - begin), 0, word, strlen(word));
        break;
    case HEADER_TWICE: {
        size_t most = begin + 200 < n ? begin + 200 : n;
        change(t, d, 0, 0, s->whole.s, 1 + rng_below(r, most));
        break;
    }
    case LINE_TWICE: {
        const char *from = s->whole.s + rng_below(r, begin + (end - begin) / 50 + 1);
        const char *line = memchr(from, '\n', n - (size_t)(from - s->whole.s));
        const char *next = line ? memchr(line + 1, '\n', n - (size_t)(line + 1 - s->whole.s)) : NULL;
        if (next) change(t, d, (size_t)(line - s->whole.s), 0, line, (size_t)(next - line));
        break;
    }
    case BLOCK_OVERWRITTEN:
    case BLOCK_LOST:
    case BLOCK_TWICE:
    case PAGE_OF_ZEROS: block(s, r, k, t, d); break;
    case SEVERAL_BYTES: several_bytes(s, r, t, d); break;
    case LOG_LINE_BETWEEN:
        word = before[1 + rng_below(r, 4)];
        change(t, d, s->at.begin[1 + rng_below(r, s->at.n - 1)], 0, word, strlen(word));
        break;
    case TEXT_BEFORE:
        word = before[rng_below(r, sizeof before / sizeof *before)];
        change(t, d, 0, 0, word, strlen(word));
        break;
    case HEADER_BYTE:
    case HEADER_KEY:
    case HEADER_BRACKET:
    case HEADER_BLOCK:
    case FIRST_BYTE: in_header(s, r, k, t, d); break;
    case BEHIND: one_byte(s, r, end + rng_below(r, n - end), t, d); break;
    default:
        at = begin + rng_below(r, n - begin);
        change(t, d, at, n - at, NULL, 0);
        break;
    }
}

/* ---- what is left ------------------------------------------------------------------------------------- */

static bool is_touched(const touched *d, size_t begin, size_t end)
{
    for (size_t i = 0; i < d->n; i++) {
        size_t from = d->from[i], to = d->to[i];
        if (from == to ? begin < from && from < end : from < end && to > begin) return true;
    }
    return false;
}

typedef struct left {
    size_t untouched, kept, in_place;
} left;

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Untouched events that are among the rows that were read. */
static left compare(const sample *s, const touched *d, const rs_events *e)
{
    left l = {0};
    uint64_t *there = marks_of(e, s->derived), *wanted = need(malloc(s->at.n * sizeof *wanted));
    for (size_t i = 0; i < s->at.n; i++) {
        if (is_touched(d, s->at.begin[i], s->at.end[i])) continue;
        l.in_place += i < e->n && there[i] == s->marks[i];
        wanted[l.untouched++] = s->marks[i];
    }
    if (e->n) qsort(there, e->n, sizeof *there, by_value);
    if (l.untouched) qsort(wanted, l.untouched, sizeof *wanted, by_value);
    for (size_t i = 0, j = 0; i < l.untouched && j < e->n; j++) {
        while (i < l.untouched && wanted[i] < there[j]) i++;
        if (i == l.untouched || wanted[i] != there[j]) continue;
        l.kept++;
        i++;
    }
    free(there);
    free(wanted);
    return l;
}

static void keep(const char *folder, const sample *s, const text *t, kind k, uint64_t run)
{
    if (!folder) return;
    char path[512];
    const char *name = strrchr(s->path, '/');
    snprintf(path, sizeof path, "%s/%02d-%llu-%s", folder, (int)k, (unsigned long long)run,
             name ? name + 1 : s->path);
    text_save(t, path);
}

static void run(const sample *s, kind k, uint64_t seed, uint64_t number, const char *folder, sum *all)
{
    rng r = {seed * 1000003 + number};
    touched d = {.n = 0};
    text t = {0};
    text_add(&t, s->whole.s, s->whole.n);
    damage(s, &r, k, &t, &d);
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .threads = 1 + (unsigned)(number % 2)};
    rs_events *e = NULL;
    sum *a = &all[k];
    a->runs++;
    bool read = load_with(t.s, t.n, &settings, &e, NULL) == RS_OK;
    left l = {0};
    if (read) {
        l = compare(s, &d, e);
    } else {
        const rs_events nothing = {0};
        l = compare(s, &d, &nothing);
        a->refused++;
    }
    size_t lost = l.untouched - l.kept;
    bool said = !read || rs_problems_worst(&e->problems) == RS_LOSS;
    a->untouched += l.untouched;
    a->kept += l.kept;
    a->moved += l.kept > l.in_place ? l.kept - l.in_place : 0;
    if (lost > a->worst) a->worst = lost;
    a->silent += lost && !said;
    if (lost) {
        keep(folder, s, &t, k, number);
        if (folder)
            printf("%s, run %llu of %s: %zu of %zu lost%s\n", names[k], (unsigned long long)number, s->path,
                   lost, l.untouched, said ? "" : ", not a word");
    }
    if (e) rs_events_free(e);
    text_clear(&t);
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static bool open_sample(const char *path, sample *s)
{
    *s = (sample){.path = path};
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    uint8_t *bytes;
    size_t n;
    if (rs_source_open(path, 0, &source, &err) != RS_OK) return false;
    if (rs_source_read_all(source, (size_t)256 << 20, &bytes, &n, &err) == RS_OK) {
        text_add(&s->whole, bytes, n);
        rs_free(bytes);
    }
    rs_source_close(source);
    if (!s->whole.n) return false;
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    if (load_with(s->whole.s, s->whole.n, &settings, &s->events, NULL) != RS_OK) {
        printf("%s: left out: no trace\n", path);
        return false;
    }
    s->at = spans_of(s->whole.s, s->whole.n);
    if (s->at.n < 2 || s->at.n != s->events->n || s->events->problems.n) {
        printf("%s: left out: %zu events, %zu seen, %zu problems\n", path, s->events->n, s->at.n,
               s->events->problems.n);
        return false;
    }
    for (size_t i = 0; i < s->at.n && !s->derived; i++)
        s->derived = s->events->category[i] &&
                     !memmem(s->whole.s + s->at.begin[i], s->at.end[i] - s->at.begin[i], "\"cat\"", 5);
    s->marks = marks_of(s->events, s->derived);
    return true;
}

static void close_sample(sample *s)
{
    if (s->events) rs_events_free(s->events);
    free(s->marks);
    spans_clear(&s->at);
    text_clear(&s->whole);
}

static int report(const sum *all)
{
    sum total = {0};
    printf("%-42s %7s %12s %9s %10s %8s %8s %7s %7s\n", "damage", "traces", "untouched", "lost", "kept",
           "moved", "most", "refused", "silent");
    for (size_t k = 0; k <= N_KINDS; k++) {
        const sum *a = k < N_KINDS ? &all[k] : &total;
        printf("%-42s %7llu %12llu %9llu %10.6f %8llu %8llu %7llu %7llu\n", k < N_KINDS ? names[k] : "all",
               (unsigned long long)a->runs, (unsigned long long)a->untouched,
               (unsigned long long)(a->untouched - a->kept),
               a->untouched ? (double)a->kept / (double)a->untouched : 1.0, (unsigned long long)a->moved,
               (unsigned long long)a->worst, (unsigned long long)a->refused, (unsigned long long)a->silent);
        if (k == N_KINDS) break;
        total.runs += a->runs;
        total.untouched += a->untouched;
        total.kept += a->kept;
        total.moved += a->moved;
        total.worst = a->worst > total.worst ? a->worst : total.worst;
        total.refused += a->refused;
        total.silent += a->silent;
    }
    bool kept = (total.untouched - total.kept) * MOST <= total.untouched;
    printf("%d passed, %d failed\n", kept + !total.silent, !kept + !!total.silent);
    return !kept || total.silent;
}

int main(int argc, char **argv)
{
    uint64_t runs = 400, seed = 1, number = 0;
    const char *folder = NULL;
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--runs") == 0)
            runs = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0)
            folder = argv[i + 1];
        else
            break;
    }
    if (i >= argc || strncmp(argv[i], "--", 2) == 0) {
        fprintf(stderr, "kept [--runs N] [--seed S] [--keep FOLDER] TRACE...\n");
        return 2;
    }
    sum all[N_KINDS] = {{0}};
    size_t n = (size_t)(argc - i), used = 0;
    for (size_t k = 0; k < n; k++) {
        sample s;
        /* each trace has its share of the runs, and all of them every kind in turn */
        uint64_t until = runs * (k + 1) / n;
        if (open_sample(argv[i + (int)k], &s)) {
            used++;
            for (; number < until; number++) run(&s, (kind)(number % N_KINDS), seed, number, folder, all);
        }
        close_sample(&s);
    }
    printf("%zu traces\n", used);
    return report(all);
}
