/* memory of a snapshot: what each site holds. */
#include <string.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "memory/notes.h"

/* ---- names ----------------------------------------------------------------------------------------------- */

/* The pool of a block that is there at the end is that of its segment; of one that is gone, the segment may be another
 * one by now. */
static uint32_t pool_text(rs_memory_view *v, uint64_t address)
{
    const rs_segment *g = rs_segment_at(&v->segments, address);
    return g ? rs_memory_pool_text(v->rank, g->pool) : rs_strings_add(&v->rank->texts, "unknown", 7);
}

static uint32_t name_by_annotation(rs_memory_view *v, const rs_open_notes *a, const rs_life *life)
{
    rs_strings *texts = &v->rank->texts;
    if (!life->from) return rs_strings_add(texts, "unknown", 7);
    int64_t time = rs_event_time(&v->history, life->from - 1);
    uint32_t name = time == RS_NO_TIME ? RS_NO_STRING : rs_open_note_at(a, time, NULL);
    if (name == RS_NO_STRING) return rs_strings_add(texts, "none", 4);
    const rs_string *text = &v->snapshot->strings.items[name];
    return rs_strings_add(texts, text->text, text->length);
}

/* The name of a life's site; RS_NO_STRING: no memory. */
static uint32_t name_life(rs_memory_view *v, rs_stack_names *names, const rs_open_notes *a,
                          const rs_life *life)
{
    rs_certainty certainty;
    const char *purpose;
    switch (v->question->by) {
    case RS_BY_SIZE: return rs_memory_number_text(v->rank, (uint64_t)life->size);
    case RS_BY_STREAM: return rs_memory_number_text(v->rank, life->stream);
    case RS_BY_POOL: return pool_text(v, life->address);
    case RS_BY_ANNOTATION: return name_by_annotation(v, a, life);
    case RS_BY_CATEGORY:
        purpose = rs_purpose_names[rs_purpose_of(&v->purposes, life, &certainty)];
        return rs_strings_add(&v->rank->texts, purpose, strlen(purpose));
    default: return rs_stack_name(names, life->stack);
    }
}

/* Gives every life the row of its site. */
static rs_status find_sites(rs_memory_view *v, rs_stack_names *names, rs_error *err)
{
    const rs_history *h = &v->history;
    rs_memory_rank *rank = v->rank;
    rs_open_notes notes = {0};
    rs_map64 rows = {0};
    rs_status status = RS_OK;
    v->first_site = rank->n_sites;
    v->site_of_life = rs_malloc((h->n_lives + 1) * sizeof *v->site_of_life);
    if (!v->site_of_life) return rs_fail_nomem(err, "sites");
    if (v->question->by == RS_BY_ANNOTATION)
        status = rs_open_notes_make(v->snapshot, h->device->number, &notes, err);
    for (size_t i = 0; status == RS_OK && i < h->n_lives; i++) {
        bool is_new;
        uint32_t name = name_life(v, names, &notes, &h->lives[i]);
        uint32_t *row = name == RS_NO_STRING ? NULL : rs_map64_put(&rows, name, &is_new);
        if (!row || (is_new && !RS_GROW_ONE(rank->sites, rank->n_sites, rank->sites_capacity))) {
            status = rs_fail_nomem(err, "sites");
            break;
        }
        if (is_new) {
            *row = (uint32_t)rank->n_sites;
            rank->sites[rank->n_sites++] = (rs_memory_site){.device = v->device, .site = name};
        }
        v->site_of_life[i] = *row;
    }
    rs_map64_clear(&rows);
    rs_open_notes_clear(&notes);
    return status;
}

/* ---- sums -------------------------------------------------------------------------------------------------- */

static void sum_lives(rs_memory_view *v)
{
    const rs_history *h = &v->history;
    uint32_t peak = v->peaks.instant[RS_ACTIVE];
    int64_t all = 0;
    for (size_t i = 0; i < h->n_lives; i++) {
        const rs_life *life = &h->lives[i];
        rs_memory_site *site = &v->rank->sites[v->site_of_life[i]];
        if (rs_view_is_active(v, life)) {
            site->bytes = rs_add_sat(site->bytes, life->size);
            site->blocks++;
            all = rs_add_sat(all, life->size);
        }
        if (rs_life_is_active(life, peak)) site->at_peak = rs_add_sat(site->at_peak, life->size);
        if (life->until == RS_NEVER) site->end = rs_add_sat(site->end, life->size);
    }
    for (size_t k = v->first_site; k < v->rank->n_sites; k++) v->rank->sites[k].all = all;
}

/* What a site holds while the history is walked. */
typedef struct running {
    rs_memory_view *v;
    int64_t *now; /* by row, from first_site on */
    bool selected;
} running;

static void change(running *r, uint32_t life, bool more)
{
    uint32_t row = r->v->site_of_life[life];
    int64_t *now = &r->now[row - r->v->first_site], size = r->v->history.lives[life].size;
    *now = more ? rs_add_sat(*now, size) : rs_sub_sat(*now, size);
}

static void raise_peak(running *r, uint32_t life)
{
    uint32_t row = r->v->site_of_life[life];
    rs_memory_site *site = &r->v->rank->sites[row];
    int64_t now = r->now[row - r->v->first_site];
    if (r->selected && now > site->own_peak) site->own_peak = now;
}

static void raise_all(running *r)
{
    for (size_t k = 0; k < r->v->rank->n_sites - r->v->first_site; k++) {
        rs_memory_site *site = &r->v->rank->sites[r->v->first_site + k];
        if (r->now[k] > site->own_peak) site->own_peak = r->now[k];
    }
}

/* One event: what it ends, what it begins. */
static void follow_event(running *r, uint32_t event, size_t *cut)
{
    const rs_history *h = &r->v->history;
    uint32_t life = h->life_of[event];
    if (*cut < h->n_cut && h->cut[*cut].event == event) change(r, h->cut[(*cut)++].life, false);
    if (life == RS_NO_LIFE) return;
    bool begins = h->lives[life].from == event + 1;
    if (begins || h->lives[life].until == event + 1) change(r, life, begins);
    if (!begins) return;
    raise_peak(r, life);
    if (!r->selected) return;
    rs_memory_site *site = &r->v->rank->sites[r->v->site_of_life[life]];
    site->allocated = rs_add_sat(site->allocated, h->lives[life].size);
    site->allocations++;
}

static rs_status walk(rs_memory_view *v, rs_error *err)
{
    const rs_history *h = &v->history;
    running r = {.v = v, .now = rs_calloc(v->rank->n_sites - v->first_site + 1, sizeof *r.now)};
    size_t at = 0, cut = 0;
    if (!r.now) return rs_fail_nomem(err, "sites");
    for (size_t i = 0; i < h->n_lives; i++)
        if (!h->lives[i].from) change(&r, (uint32_t)i, true);
    for (uint32_t instant = 0; at < v->n_spans; instant++) {
        r.selected = instant > v->spans[at].first;
        if (instant) follow_event(&r, instant - 1, &cut);
        if (instant == v->spans[at].first) raise_all(&r);
        if (instant == v->spans[at].last) at++;
    }
    rs_free(r.now);
    return RS_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------- */

void rs_memory_sort_sites(rs_memory_site *sites, size_t n, const rs_strings *texts)
{
    static const rs_order keys[] = {RS_FALLING(rs_memory_site, bytes), RS_FALLING(rs_memory_site, own_peak),
                                    RS_RISING_TEXT(rs_memory_site, site)};
    rs_sort(sites, n, sizeof *sites, keys, sizeof keys / sizeof *keys, texts);
}

/* Sorts the device's rows; lives keep theirs. */
static rs_status sort_sites(rs_memory_view *v, rs_error *err)
{
    size_t n = v->rank->n_sites - v->first_site;
    if (!n) return RS_OK;
    rs_memory_site *rows = v->rank->sites + v->first_site;
    RS_LOCAL uint32_t *now = rs_malloc((v->rank->texts.n + 1) * sizeof *now); /* by name */
    RS_LOCAL uint32_t *names = rs_malloc((n + 1) * sizeof *names);            /* by place before */
    if (!now || !names) return rs_fail_nomem(err, "sites");
    for (size_t i = 0; i < n; i++) names[i] = rows[i].site;
    rs_memory_sort_sites(rows, n, &v->rank->texts);
    for (size_t i = 0; i < n; i++) now[rows[i].site] = (uint32_t)(v->first_site + i);
    for (size_t i = 0; i < v->history.n_lives; i++)
        v->site_of_life[i] = now[names[v->site_of_life[i] - v->first_site]];
    return RS_OK;
}

rs_status rs_memory_add_sites(rs_memory_view *v, rs_stack_names *names, rs_error *err)
{
    RS_TRY(find_sites(v, names, err));
    sum_lives(v);
    RS_TRY(walk(v, err));
    return sort_sites(v, err);
}
