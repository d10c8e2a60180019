/* Teams of what names no group: collectives of several groups on streams of one number.
 *
 * Ranks that call together end together, so the distance of their ends is that of their clocks (teams.h). Ranks that do not call together may
 * seem to: the stages of a pipeline reduce their gradients one pass after the other, step by step. So two channels are held against each other:
 * where both say that two ranks call together, and the distances differ, one of them is wrong. It is the one whose distances vary more, as what
 * ends together varies by nothing else than the moment at which a kernel leaves. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "match/collective_internal.h"
#include "match/teams.h"

/* Of the median duration, and ns at the least: ends that spread further are of two collectives. */
#define MOST_SPREAD 0.2
#define LEAST_SPREAD 20000
/* Calls that a recording may begin or end with before another one does. */
#define SLACK 2
/* Two distances are two where they differ by so many of their spreads, and by ns at the least. */
#define APART 3
#define LEAST_APART 4000
#define MOST_ROUNDS 8

typedef struct channel {
    rs_coll_range range;
    rs_team_line *lines;
    uint32_t *rank; /* by line */
    uint32_t *line; /* by rank: its line, n_lines: none */
    int64_t *ends;
    size_t n_lines; /* 0: teams are not known, as there are too few calls */
} channel;

static void clear_channels(channel *all, size_t n)
{
    for (size_t i = 0; all && i < n; i++) rs_free_all(all[i].lines, all[i].rank, all[i].line, all[i].ends);
    rs_free(all);
}

/* Ends of what ends together among the items of a rank, from *at on; moves it to the next rank. */
static rs_team_line line_of(const rs_coll_job *job, const rs_coll_item *items, size_t end, size_t *at,
                            int64_t *ends, int64_t *durations)
{
    rs_team_line line = {.ends = ends};
    const uint32_t rank = items[*at].rank;
    for (; *at < end && items[*at].rank == rank; (*at)++) {
        const rs_coll_op *op = rs_coll_item_op(job, &items[*at]);
        if (!rs_coll_ends_together(rs_coll_item_shape(job, &items[*at])->kind)) continue;
        durations[line.n] = rs_coll_duration(job->ranks[rank], op);
        ends[line.n++] = op->end;
    }
    line.most_spread = rs_int_of(MOST_SPREAD * (double)rs_median(durations, line.n));
    if (line.most_spread < LEAST_SPREAD) line.most_spread = LEAST_SPREAD;
    return line;
}

/* Many calls, and no two ranks that go together: some calls were lost, so that their order shows nothing. */
static bool is_lost(const channel *c)
{
    bool alone = true;
    for (size_t i = 0; i < c->n_lines; i++)
        alone = alone && c->lines[i].size < 2 && c->lines[i].n >= RS_TEAM_TELLING;
    return alone;
}

/* false: out of memory. */
static bool open_channel(const rs_coll_job *job, const rs_coll_item *items, channel *c)
{
    const size_t n = c->range.end - c->range.first;
    RS_LOCAL int64_t *durations = rs_malloc((n + 1) * sizeof *durations);
    c->lines = rs_malloc((job->n_ranks + 1) * sizeof *c->lines);
    c->rank = rs_malloc((job->n_ranks + 1) * sizeof *c->rank);
    c->line = rs_malloc((job->n_ranks + 1) * sizeof *c->line);
    c->ends = rs_malloc((n + 1) * sizeof *c->ends);
    if (!durations || !c->lines || !c->rank || !c->line || !c->ends) return false;
    bool known = true;
    for (size_t r = 0; r < job->n_ranks; r++) c->line[r] = UINT32_MAX;
    for (size_t i = c->range.first; i < c->range.end;) {
        const size_t first = i, at = c->n_lines++;
        c->line[items[i].rank] = (uint32_t)at;
        c->rank[at] = items[i].rank;
        c->lines[at] = line_of(job, items, c->range.end, &i, c->ends + first - c->range.first, durations);
        known = known && c->lines[at].n >= RS_TEAM_LEAST;
    }
    if (!known) c->n_lines = 0;
    if (!rs_teams_find(c->lines, c->n_lines, SLACK)) return false;
    if (is_lost(c)) c->n_lines = 0;
    return true;
}

/* ---- channels against each other ----------------------------------------------------------------------- */

/* The line of the same rank in another channel; NULL: it has none there. */
static const rs_team_line *line_in(const channel *c, uint32_t rank)
{
    return c->n_lines && c->line[rank] != UINT32_MAX ? &c->lines[c->line[rank]] : NULL;
}

static bool differ(const rs_team_apart *x, const rs_team_apart *y)
{
    const int64_t off = rs_sub_sat(x->distance, y->distance), later = rs_sub_sat(x->time, y->time);
    const double apart = (double)(off < 0 ? rs_sub_sat(0, off) : off),
                 drift = RS_TEAM_DRIFT * (double)(later < 0 ? rs_sub_sat(0, later) : later);
    return apart > drift + APART * ((double)x->spread + (double)y->spread) + LEAST_APART;
}

/* A channel, and the others. */
typedef struct against {
    const channel *all;
    size_t n, own;
} against;

/* Whether all ways to pair the calls of two ranks in one channel contradict all ways in another one, which vary less. */
static bool contradicts(const rs_team_apart *here, size_t n_here, const rs_team_apart *there, size_t n_there)
{
    for (size_t i = 0; i < n_here; i++)
        for (size_t k = 0; k < n_there; k++)
            if (there[k].spread > here[i].spread || !differ(&here[i], &there[k])) return false;
    return n_there > 0;
}

/* Whether no channel contradicts that two lines of this one call together: none has both ranks in a team, by another clock. */
static bool may_call(void *context, size_t a, size_t b)
{
    const against *x = context;
    const channel *c = &x->all[x->own];
    rs_team_apart here[RS_TEAM_WAYS], there[RS_TEAM_WAYS];
    const size_t n_here = rs_team_distances(&c->lines[a], &c->lines[b], SLACK, here);
    for (size_t k = 0; n_here && k < x->n; k++) {
        const rs_team_line *of_a = line_in(&x->all[k], c->rank[a]), *of_b = line_in(&x->all[k], c->rank[b]);
        if (k == x->own || !of_a || !of_b || of_a->team != of_b->team) continue;
        if (contradicts(here, n_here, there, rs_team_distances(of_a, of_b, SLACK, there))) return false;
    }
    return n_here > 0;
}

/* Teams of one channel may be wrong while those of another are held against them: until none changes. */
static bool settle(channel *all, size_t n)
{
    size_t before = SIZE_MAX, now = 0;
    for (int round = 0; n > 1 && round < MOST_ROUNDS && now != before; round++) {
        before = now;
        now = 0;
        for (size_t k = 0; k < n; k++) {
            against x = {all, n, k};
            if (!rs_teams_find_among(all[k].lines, all[k].n_lines, SLACK, may_call, &x)) return false;
            for (size_t i = 0; i < all[k].n_lines; i++) now += all[k].lines[i].team == i;
        }
    }
    return true;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* Orders the channel's items by team, each as they were, and adds a range for each team. */
static bool split(const channel *c, rs_coll_item *items, rs_coll_range **out, size_t *n_out, size_t *capacity)
{
    const size_t n = c->range.end - c->range.first;
    if (!c->n_lines) return RS_PUSH(*out, *n_out, *capacity, c->range);
    RS_LOCAL rs_coll_item *sorted = rs_malloc((n + 1) * sizeof *sorted);
    RS_LOCAL size_t *place = rs_calloc(c->n_lines + 1, sizeof *place); /* by team + 1, then by team */
    if (!sorted || !place) return false;
    memcpy(sorted, items + c->range.first, n * sizeof *sorted);
    for (size_t i = 0; i < n; i++) place[c->lines[c->line[sorted[i].rank]].team + 1]++;
    for (size_t t = 0; t < c->n_lines; t++) place[t + 1] += place[t];
    for (size_t t = 0; t < c->n_lines; t++) {
        const rs_coll_range team = {c->range.first + place[t], c->range.first + place[t + 1]};
        if (team.first < team.end && !RS_PUSH(*out, *n_out, *capacity, team)) return false;
    }
    for (size_t i = 0; i < n; i++)
        items[c->range.first + place[c->lines[c->line[sorted[i].rank]].team]++] = sorted[i];
    return true;
}

bool rs_coll_find_teams(const rs_coll_job *job, rs_coll_item *items, const rs_coll_range *channels, size_t n,
                        rs_coll_range **out, size_t *n_out)
{
    channel *all = rs_calloc(n + 1, sizeof *all);
    size_t capacity = 0;
    bool ok = all != NULL;
    *out = NULL;
    *n_out = 0;
    for (size_t i = 0; ok && i < n; i++) {
        all[i].range = channels[i];
        ok = open_channel(job, items, &all[i]);
    }
    ok = ok && settle(all, n);
    for (size_t i = 0; ok && i < n; i++) ok = split(&all[i], items, out, n_out, &capacity);
    clear_channels(all, n);
    return ok;
}
