/* The log of a simulator's run as a trace that viewers open. */
#include <string.h>

#include "base/strings.h"
#include "input/source.h"
#include "text/writer.h"
#include "rankscope/chakra_trace.h"

#define MAX_LOG ((size_t)1 << 40)
#define FIELDS 5

typedef struct text {
    const char *at;
    size_t n;
} text;

/* What one line says: issue or callback, npu, cycle, node, name. */
typedef struct line {
    bool issue;
    uint64_t npu, cycle, node;
    text name;
} line;

typedef struct open_node {
    uint64_t npu, node, cycle;
    bool open;
} open_node;

typedef struct run {
    rs_map64 index; /* (npu, node) folded -> first of its chain + 1 */
    open_node *nodes;
    uint32_t *next; /* with the same folded key, + 1 */
    size_t n, capacity, next_capacity;
} run;

static bool number(text t, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.at[i] < '0' || t.at[i] > '9') return false;
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, t.at[i] - '0', out))
            return false;
    }
    return t.n > 0;
}

/* "key=value" without blanks around the value; the name, which comes last, may hold commas. */
static text value_of(text t)
{
    const char *equals = memchr(t.at, '=', t.n);
    if (equals) {
        t.n -= (size_t)(equals + 1 - t.at);
        t.at = equals + 1;
    }
    while (t.n && (*t.at == ' ' || *t.at == '\t')) t.at++, t.n--;
    while (t.n && (t.at[t.n - 1] == ' ' || t.at[t.n - 1] == '\t' || t.at[t.n - 1] == '\r')) t.n--;
    return t;
}

static bool ends_in(text t, const char *word)
{
    size_t n = strlen(word);
    return t.n >= n && memcmp(t.at + t.n - n, word, n) == 0;
}

static bool read_line(text t, line *out)
{
    text fields[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        const char *comma = i + 1 < FIELDS ? memchr(t.at, ',', t.n) : NULL;
        if (i + 1 < FIELDS && !comma) return false;
        fields[i] = (text){t.at, comma ? (size_t)(comma - t.at) : t.n};
        if (!comma) break;
        t.n -= (size_t)(comma + 1 - t.at);
        t.at = comma + 1;
    }
    /* Loggers put a time stamp before the first word. */
    text what = value_of(fields[0]);
    out->issue = ends_in(what, "issue");
    out->name = value_of(fields[4]);
    return (out->issue || ends_in(what, "callback")) && number(value_of(fields[1]), &out->npu) &&
           number(value_of(fields[2]), &out->cycle) && number(value_of(fields[3]), &out->node);
}

/* The entry of a node on an NPU, made if need be; NULL when out of memory. */
static open_node *find(run *r, const line *l)
{
    bool fresh;
    uint32_t *first = rs_map64_put(&r->index, rs_hash_u64(l->npu) ^ l->node, &fresh);
    if (!first) return NULL;
    for (uint32_t i = *first; i; i = r->next[i - 1])
        if (r->nodes[i - 1].npu == l->npu && r->nodes[i - 1].node == l->node) return &r->nodes[i - 1];
    if (r->n >= UINT32_MAX - 1 || !RS_GROW_ONE(r->nodes, r->n, r->capacity) ||
        !RS_GROW_ONE(r->next, r->n, r->next_capacity))
        return NULL;
    r->nodes[r->n] = (open_node){.npu = l->npu, .node = l->node};
    r->next[r->n] = *first;
    *first = (uint32_t)++r->n;
    return &r->nodes[r->n - 1];
}

/* Rows of the viewer: local memory, remote memory, computation, communication. */
static unsigned row_of(text name)
{
    static const struct {
        const char *word;
        unsigned row;
    } words[] = {{"MEM_LOAD", 2}, {"MEM_STORE", 2}, {"COMM", 4},   {"nccl", 4},
                 {"rccl", 4},     {"ALL_", 4},      {"REDUCE", 4}, {"BROADCAST", 4}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        for (size_t k = 0; k + n <= name.n; k++)
            if (memcmp(name.at + k, words[i].word, n) == 0) return words[i].row;
    }
    return 3;
}

static void put_event(rs_writer *w, const line *l, uint64_t from, double mhz, bool first)
{
    rs_writer_text(w, first ? "\n{\"ph\": \"X\", \"name\": " : ",\n{\"ph\": \"X\", \"name\": ");
    rs_writer_json_string(w, l->name.at, l->name.n);
    rs_writer_text(w, ", \"pid\": ");
    rs_writer_uint(w, l->npu);
    rs_writer_text(w, ", \"tid\": ");
    rs_writer_uint(w, row_of(l->name));
    rs_writer_text(w, ", \"ts\": ");
    rs_writer_real(w, (double)from / mhz);
    rs_writer_text(w, ", \"dur\": ");
    rs_writer_real(w, (double)(l->cycle - from) / mhz);
    rs_writer_text(w, ", \"args\": {\"node\": ");
    rs_writer_uint(w, l->node);
    rs_writer_text(w, "}}");
}

static rs_status write_events(const char *file, const char *log, size_t n, double mhz, rs_writer *w,
                              rs_problems *problems, rs_error *err)
{
    run r = {0};
    rs_status status = RS_OK;
    bool first = true;
    for (size_t at = 0; at < n && status == RS_OK;) {
        const char *end = memchr(log + at, '\n', n - at);
        text t = {log + at, end ? (size_t)(end - (log + at)) : n - at};
        uint64_t offset = at;
        line l;
        at += t.n + 1;
        if (!read_line(t, &l)) continue; /* whatever else the simulator logs */
        open_node *node = find(&r, &l);
        if (!node) {
            status = rs_fail_nomem(err, "nodes of the run");
        } else if (l.issue) {
            if (node->open)
                rs_problems_add(problems, file, -1, RS_LOSS, "issued_twice",
                                "nodes are issued again before they are done; the first time is left out",
                                offset);
            node->open = true;
            node->cycle = l.cycle;
        } else if (!node->open || l.cycle < node->cycle) {
            rs_problems_add(problems, file, -1, RS_LOSS, "callback_without_issue",
                            "nodes are done that were not issued before; they are left out", offset);
        } else {
            put_event(w, &l, node->cycle, mhz, first);
            first = false;
            node->open = false;
        }
    }
    for (size_t i = 0; i < r.n; i++)
        if (r.nodes[i].open)
            rs_problems_add(problems, file, -1, RS_LOSS, "never_done",
                            "nodes are issued and never done; they are left out", RS_NO_OFFSET);
    rs_map64_clear(&r.index);
    rs_free_all(r.nodes, r.next);
    return status;
}

rs_status rs_chakra_timeline(const char *path, uint64_t max_ratio, double mhz, const rs_sink *sink,
                             rs_problems *problems, rs_error *err)
{
    rs_source *source;
    uint8_t *log = NULL;
    size_t n = 0;
    if (!(mhz > 0) || mhz > 1e9) return rs_fail(err, RS_ERR_USAGE, "the frequency must be above 0 MHz");
    rs_status status = rs_source_open(path, max_ratio, &source, err);
    if (status != RS_OK) return status;
    status = rs_source_read_all(source, MAX_LOG, &log, &n, err);
    rs_source_close(source);
    if (status != RS_OK) return status;
    rs_writer w;
    rs_writer_init(&w, sink);
    rs_writer_text(&w, "{\"traceEvents\": [");
    status = write_events(path, (const char *)log, n, mhz, &w, problems, err);
    rs_writer_text(&w, "\n]}\n");
    rs_free(log);
    return status == RS_OK ? rs_writer_finish(&w, err) : status;
}
