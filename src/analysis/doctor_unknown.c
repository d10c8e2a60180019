/* Kernels that may be unrecognised communication: of no known kind, long, and on a stream where nothing else computes. */
#include <string.h>

#include "analysis/doctor_checks.h"
#include "base/interval.h"
#include "base/memory.h"
#include "trace/kernel_kinds.h"
#include "trace/kernel_name.h"

#define OWN_SHARE 0.9    /* of a stream's time that kernels of unknown kinds take */
#define LEAST_SHARE 0.02 /* of all GPU time that such a kernel takes */
#define LONG_NS 50000    /* on average */

static const rs_doctor_check unknown = {
    "kernels of unknown class", "communication, overlap, exposed time",
    "if it communicates or copies, say so: --class 'communication=NAME', or a file of such rules: --class @FILE"};

typedef struct stream {
    int64_t number, ns, unknown_ns;
} stream;

typedef struct named {
    uint32_t name;   /* string id */
    uint32_t stream; /* the one it ran on first */
    int64_t ns, n;
} named;

typedef struct gathered {
    stream *streams;
    size_t n_streams, streams_capacity;
    named *names;
    size_t n_names, names_capacity;
    rs_map64 by_name, by_stream;
} gathered;

/* NULL: out of memory. Two streams whose keys collide count as one, which makes a hint weaker and no number wrong. */
static stream *stream_of(gathered *g, int64_t device, int64_t number, size_t *at)
{
    bool is_new;
    uint32_t *slot =
        rs_map64_put(&g->by_stream, rs_hash_u64((uint64_t)number) * 31 + (uint64_t)device, &is_new);
    if (!slot || (is_new && !RS_GROW_ONE(g->streams, g->n_streams, g->streams_capacity))) return NULL;
    if (is_new) {
        *slot = (uint32_t)g->n_streams;
        g->streams[g->n_streams++] = (stream){.number = number};
    }
    *at = *slot;
    return &g->streams[*at];
}

static bool add_name(gathered *g, uint32_t name, size_t at, int64_t ns)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&g->by_name, name, &is_new);
    if (!slot || (is_new && !RS_GROW_ONE(g->names, g->n_names, g->names_capacity))) return false;
    if (is_new) {
        *slot = (uint32_t)g->n_names;
        g->names[g->n_names++] = (named){.name = name, .stream = (uint32_t)at};
    }
    g->names[*slot].ns = rs_add_sat(g->names[*slot].ns, ns);
    g->names[*slot].n++;
    return true;
}

static bool gather(const rs_events *e, const rs_work *w, gathered *g)
{
    RS_LOCAL uint8_t *known = rs_calloc(e->strings.n + 1, 1); /* by string id: 1 of a known kind, 2 not */
    bool ok = known != NULL;
    for (size_t i = 0; ok && i < w->n; i++) {
        size_t at;
        uint32_t name = e->name[w->row[i]];
        int64_t ns = rs_sub_sat(w->end[i], w->start[i]);
        stream *s = stream_of(g, w->device[i], w->stream[i], &at);
        ok = s != NULL;
        if (!ok) break;
        const rs_string *text = &e->strings.items[name];
        if (!known[name])
            known[name] =
                strcmp(rs_kernel_kind(w->class[i], text -> text, text -> length), "other") == 0 ? 2 : 1;
        s->ns = rs_add_sat(s->ns, ns);
        if (known[name] == 1) continue;
        s->unknown_ns = rs_add_sat(s->unknown_ns, ns);
        ok = add_name(g, name, at, ns);
    }
    return ok;
}

/* The three that take most time. A job of which all kernels are of unknown kinds is one of another sort of program. */
static void judge(const rs_events *e, const gathered *g, rs_findings *f)
{
    int64_t all = 0, unknown_ns = 0;
    for (size_t i = 0; i < g->n_streams; i++) {
        all = rs_add_sat(all, g->streams[i].ns);
        unknown_ns = rs_add_sat(unknown_ns, g->streams[i].unknown_ns);
    }
    if (unknown_ns > all / 2) return;
    size_t told[3], n = 0;
    while (n < 3) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < g->n_names; i++) {
            const named *k = &g->names[i];
            const stream *s = &g->streams[k->stream];
            bool own = (double)s->unknown_ns >= OWN_SHARE * (double)s->ns, again = false;
            for (size_t t = 0; t < n; t++) again = again || told[t] == i;
            if (again || !own || k->ns / k->n < LONG_NS || (double)k->ns < LEAST_SHARE * (double)all)
                continue;
            if (best == SIZE_MAX || k->ns > g->names[best].ns) best = i;
        }
        if (best == SIZE_MAX) return;
        const named *k = &g->names[told[n++] = best];
        const rs_string *name = &e->strings.items[k->name];
        char words[RS_KERNEL_WORDS];
        rs_kernel_words(name->text, name->length, words);
        rs_finding_add(
            f, RS_REMARK, &unknown, k->n,
            "%.120s: %lld calls, %lld us each, on stream %lld, where no kernel of a known kind runs; it counts as computation",
            *words ? words : name->text, (long long)k->n, (long long)(k->ns / k->n / 1000),
            (long long)g->streams[k->stream].number);
    }
}

rs_status rs_doctor_check_unknown(const rs_trace *t, const rs_work *work, rs_findings *f, rs_error *err)
{
    gathered g = {0};
    bool ok = gather(t->events, work, &g);
    if (ok) judge(t->events, &g, f);
    rs_free_all(g.streams, g.names);
    rs_map64_clear(&g.by_name);
    rs_map64_clear(&g.by_stream);
    return ok ? RS_OK : rs_fail_nomem(err, "kernels");
}
