#include "analysis/skeletons.h"

#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "analysis/memory_trace.h"
#include "clock/hosts.h"
#include "perf/owner.h"
#include "trace/structure.h"

rs_status rs_skeletons_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_skeleton *s;
    RS_TRY(rs_trace_skeleton(trace, run->policy, &s, err));
    *partial = s;
    return RS_OK;
}

const char *rs_skeletons_word(const rs_options *options)
{
    const char *bound = rs_options_text(options, "most-events");
    return !bound ? "graph" : strcmp(bound, RS_JUDGED_EVENTS) == 0 ? "graph within bounds" : NULL;
}

/* The most that an allocator of a GPU held at once. */
static rs_status find_memory(const rs_trace *trace, int64_t *most, rs_error *err)
{
    rs_memory_events events = {0};
    rs_status status = rs_memory_events_read(trace, NULL, &events, err);
    for (size_t i = 0; status == RS_OK && i < events.n; i++) {
        const rs_memory_event *x = &events.changes[i];
        if (!x->failed && events.devices[x->device].type != 0 && x->held > *most) *most = x->held;
    }
    rs_memory_events_clear(&events);
    return status;
}

uint64_t rs_skeletons_shared_columns(void)
{
    static const rs_facet *const facets[] = {&rs_facet_structure, &rs_facet_owners};
    return rs_facet_columns(facets, 2) | RS_MEMORY_TRACE_COLUMNS;
}

rs_status rs_skeletons_shared(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_skeleton *s;
    RS_TRY(rs_skeleton_of(trace, run->policy, &s, err));
    *partial = s;
    if (!s) return RS_OK;
    RS_TRY(find_memory(trace, &s->memory, err));
    RS_TRY(rs_skeleton_place(s, trace, err));
    return rs_skeleton_share_out(s, trace, err);
}

bool rs_skeletons_too_many(const rs_run *run, const rs_trace *trace)
{
    int64_t world = trace->events->info.world_size;
    if (!rs_options_is_set(run->options, "most-events")) return false;
    int64_t most = rs_options_int(run->options, "most-events");
    return most < 0 || (int64_t)trace->n_rows > most / (world > 1 ? world : 1);
}

/* The host of a rank: as its trace tells, else as the name of its file does. */
static bool take_host(rs_skeletons *s, const rs_partial *p, const rs_skeleton *skeleton, const char **out)
{
    const char *text = rs_pool_text(&skeleton->comm->pool, skeleton->comm->host);
    size_t n = text ? strlen(text) : 0;
    if (p->source) rs_host_in_name(p->source, &text, &n);
    if (!text || !n) return true;
    *out = rs_arena_strndup(&s->arena, text, n);
    return *out != NULL;
}

rs_status rs_skeletons_take(const rs_partial *partials, size_t n, rs_skeletons *out, rs_error *err)
{
    *out = (rs_skeletons){.items = rs_malloc((n + 1) * sizeof *out->items),
                          .rank_of = rs_malloc((n + 1) * sizeof *out->rank_of),
                          .hosts = rs_calloc(n + 1, sizeof *out->hosts)};
    bool ok = out->items && out->rank_of && out->hosts;
    for (size_t i = 0; ok && i < n; i++) {
        if (!partials[i].value) continue;
        ok = take_host(out, &partials[i], partials[i].value, &out->hosts[out->n]);
        out->rank_of[out->n] = partials[i].rank;
        out->items[out->n++] = partials[i].value;
    }
    return ok ? RS_OK : rs_fail_nomem(err, "the ranks' graphs");
}

void rs_skeletons_clear(rs_skeletons *skeletons)
{
    rs_free_all(skeletons->items, skeletons->rank_of, skeletons->hosts);
    rs_arena_clear(&skeletons->arena);
}
