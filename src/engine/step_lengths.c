#include "engine/step_lengths.h"

#include <math.h>

#include "base/interval.h"
#include "base/stats.h"

/* ---- steps of the job ---------------------------------------------------------------------------------- */

size_t rs_lengths_n(const rs_engine *e, size_t from, size_t to)
{
    size_t n = SIZE_MAX;
    for (size_t k = from; k < to; k++)
        if (e->ranks[k]->n_steps < n) n = e->ranks[k]->n_steps;
    return n == SIZE_MAX ? 0 : n;
}

/* When the first step of the ranks begins. *moment: that it begins with, RS_NO_CAUSE: an annotation. */
static int64_t begin_of_ranks(const rs_engine *e, const rs_times *t, size_t from, size_t to, uint32_t *moment)
{
    int64_t begin = INT64_MAX;
    *moment = RS_NO_CAUSE;
    for (size_t k = from; k < to; k++) {
        uint32_t own;
        int64_t at = rs_engine_begin(e, t, k, &own);
        if (at >= begin) continue;
        begin = at;
        *moment = own;
    }
    return begin;
}

void rs_lengths_measure(const rs_engine *e, const rs_times *t, const int64_t *ends, int64_t sooner,
                        size_t from, size_t to, rs_lengths *out)
{
    uint32_t moment;
    size_t n = rs_lengths_n(e, from, to);
    int64_t before = begin_of_ranks(e, t, from, to, &moment);
    int64_t others = 0;
    out->n = n ? n : 1;
    for (size_t s = 0; s < out->n; s++) {
        int64_t end = INT64_MIN;
        for (size_t k = from; k < to; k++) {
            int64_t own = n ? ends[e->step_base[k] + s] : rs_moment_time(t, rs_engine_last_moment(e, k));
            if (own > end) end = own;
        }
        out->ns[s] = rs_sub_sat(end, before);
        if (s) others = rs_add_sat(others, out->ns[s]);
        before = end;
    }
    if (sooner <= 0 || out->n < 2) return;
    others /= (int64_t)(out->n - 1);
    const int64_t first = rs_sub_sat(out->ns[0], sooner);
    if (out->ns[0] > others) out->ns[0] = first > others ? first : others;
}

double rs_lengths_mean(const rs_lengths *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) sum += (double)l->ns[i];
    return l->n ? sum / (double)l->n : 0;
}

/* The mean length of the annotations of those steps, us. */
double rs_lengths_annotated(const rs_engine *e, size_t from, size_t to)
{
    size_t n = rs_lengths_n(e, from, to);
    double sum = 0;
    for (size_t k = from; k < to; k++)
        for (size_t i = 0; i < n; i++)
            sum += (double)rs_sub_sat(e->ranks[k]->steps[i].end, e->ranks[k]->steps[i].start);
    return n ? sum / 1e3 / (double)(n * (to - from)) : NAN;
}

uint32_t rs_lengths_opening(const rs_engine *e, const rs_times *t, size_t rank)
{
    const rs_skeleton *s = e->ranks[rank];
    const uint32_t base = e->node_base[rank];
    uint32_t first = RS_NO_NODE;
    for (uint32_t i = 0; s->n_steps && i < s->n; i++)
        if (rs_skeleton_is_work(s, i) && rs_skeleton_step_of(s, i) == 0 &&
            (first == RS_NO_NODE || t->start[base + i] < t->start[base + first]))
            first = i;
    const bool waits = first != RS_NO_NODE && t->start[base + first] > rs_engine_begin(e, t, rank, NULL);
    return waits ? base + first : RS_NO_NODE;
}

size_t rs_lengths_leads(const rs_engine *e, const rs_times *t, size_t rank, int64_t *ends)
{
    const rs_skeleton *s = e->ranks[rank];
    const uint32_t base = e->node_base[rank];
    if (s->n_steps < 2) return 0;
    for (size_t k = 0; k < s->n_steps; k++) ends[k] = INT64_MIN;
    for (uint32_t i = 0; i < s->n; i++)
        if (rs_skeleton_is_work(s, i) && rs_skeleton_step_of(s, i) >= 0 &&
            rs_times_end(t, base + i) > ends[rs_skeleton_step_of(s, i)])
            ends[rs_skeleton_step_of(s, i)] = rs_times_end(t, base + i);
    for (size_t k = 0; k + 1 < s->n_steps; k++) {
        const int64_t on_host = rs_add_sat(rs_times_end(t, base + s->steps[k].last), s->steps[k].tail);
        ends[k] = ends[k] == INT64_MIN ? 0 : rs_sub_sat(ends[k], on_host);
    }
    return s->n_steps - 1;
}

/* ---- intervals ----------------------------------------------------------------------------------------- */

#define RESAMPLES 1000

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The 95 % interval of the mean difference: a circular block bootstrap over steps with a fixed seed, blocks as
 * long as the cube root of their number. Of fewer than three steps the least and the greatest difference. */
void rs_lengths_spread(const rs_lengths *before, const rs_lengths *after, double *low, double *high)
{
    double means[RESAMPLES];
    size_t n = before->n, block = 1;
    uint64_t state = 0x72616e6b73636f70u;
    *low = INFINITY;
    *high = -INFINITY;
    if (n < 3) {
        for (size_t i = 0; i < n; i++) {
            double d = (double)before->ns[i] - (double)after->ns[i];
            if (d < *low) *low = d;
            if (d > *high) *high = d;
        }
        return;
    }
    while (block * block * block < n) block++;
    for (size_t k = 0; k < RESAMPLES; k++) {
        double sum = 0;
        for (size_t done = 0; done < n; done += block) {
            size_t from = (size_t)(next_random(&state) % n);
            for (size_t i = 0; i < block && done + i < n; i++)
                sum += (double)before->ns[(from + i) % n] - (double)after->ns[(from + i) % n];
        }
        means[k] = sum / (double)n;
    }
    rs_sort_doubles(means, RESAMPLES);
    *low = means[RESAMPLES / 40];
    *high = means[RESAMPLES - 1 - RESAMPLES / 40];
}

/* Steps that gain less than the one that gains most over so much gain nothing. */
#define NOTHING 10

bool rs_lengths_of_few(const rs_lengths *before, const rs_lengths *after)
{
    double most = 0;
    size_t n = 0;
    for (size_t i = 0; i < after->n; i++) most = fmax(most, (double)before->ns[i] - (double)after->ns[i]);
    for (size_t i = 0; i < after->n; i++) {
        double gain = (double)before->ns[i] - (double)after->ns[i];
        if (gain <= most / 2 && fabs(gain) > most / NOTHING) return false;
        n += gain > most / 2;
    }
    return after->n > 2 && most > 0 && 3 * n <= 2 * after->n;
}

/* The steps that gain should be as long as those that do not: what they differ by is what the question leaves out, and what
 * both vary by is how well that is known (two standard errors). */
double rs_lengths_misfit(const rs_lengths *before, const rs_lengths *after)
{
    double most = 0, sum[2] = {0}, squares[2] = {0}, n[2] = {0};
    for (size_t i = 0; i < after->n; i++) most = fmax(most, (double)before->ns[i] - (double)after->ns[i]);
    for (size_t i = 0; i < after->n; i++) {
        bool gains = (double)before->ns[i] - (double)after->ns[i] > most / 2;
        sum[gains] += (double)after->ns[i];
        squares[gains] += (double)after->ns[i] * (double)after->ns[i];
        n[gains]++;
    }
    if (n[0] == 0 || n[1] == 0) return 0;
    double apart = fabs(sum[1] / n[1] - sum[0] / n[0]), all = n[0] + n[1],
           within = squares[0] - sum[0] * sum[0] / n[0] + squares[1] - sum[1] * sum[1] / n[1],
           error = all > 2 ? 2 * sqrt(fmax(within, 0) / (all - 2) * (1 / n[0] + 1 / n[1])) : 0;
    return fmax(apart, error) * n[1] / all;
}

/* ---- paths --------------------------------------------------------------------------------------------- */

static void end_later(uint32_t moment, int64_t time, uint32_t *best, int64_t *latest)
{
    if (*best != RS_NO_CAUSE && time <= *latest) return;
    *best = moment;
    *latest = time;
}

/* The moment with which a range of ranks ends, or that its end follows without waiting. With steps it is their end, as
 * rs_engine_step_ends has it. */
static uint32_t end_of_ranks(const rs_engine *e, const rs_times *t, size_t from, size_t to)
{
    uint32_t best = RS_NO_CAUSE;
    int64_t latest = 0;
    for (size_t k = from; k < to; k++) {
        const rs_skeleton *s = e->ranks[k];
        for (uint32_t i = 0; i < s->n; i++) {
            if (s->n_steps && (rs_skeleton_step_of(s, i) < 0 || !rs_skeleton_is_work(s, i))) continue;
            uint32_t moment = (e->node_base[k] + i) << 1 | 1;
            end_later(moment, rs_moment_time(t, moment), &best, &latest);
        }
        for (size_t i = 0; i < s->n_steps; i++) {
            uint32_t moment = (e->node_base[k] + s->steps[i].last) << 1 | 1;
            end_later(moment, rs_add_sat(rs_moment_time(t, moment), s->steps[i].tail), &best, &latest);
        }
    }
    return best == RS_NO_CAUSE ? rs_engine_last_moment(e, from) : best;
}

/* How much less the link weighs under other weights; RS_NO_EDGE: it is gone, and the path with it. */
static int64_t lost(const rs_replayed *r, const rs_path_link *l, const rs_weights *is)
{
    const rs_engine *e = r->engine;
    const rs_weights *was = &r->recorded;
    const uint32_t node = l->node, first_added = e->edge_base[e->n_ranks];
    if (l->edge != RS_NO_CAUSE && l->edge >= first_added && e->added[l->edge - first_added].occupied) {
        /* it waited for room, which other work left when most of it was over */
        const uint32_t source = e->added[l->edge - first_added].source;
        int64_t now = rs_add_sat(is->work[source], is->edge[l->edge]);
        return rs_sub_sat(rs_sub_sat(r->times.start[node], r->times.start[source]), now > 0 ? now : 0);
    }
    if (l->edge != RS_NO_CAUSE)
        return is->edge[l->edge] == RS_NO_EDGE ? RS_NO_EDGE
                                               : rs_sub_sat(was->edge[l->edge], is->edge[l->edge]);
    int64_t less = rs_sub_sat(was->work[node], is->work[node]);
    if (e->kind[node] & RS_ENGINE_MEETS) {
        uint32_t k = e->meeting_of[rs_engine_member(e, node)];
        less = rs_add_sat(less, rs_sub_sat(was->transfer[k], is->transfer[k]));
    }
    return less;
}

double rs_lengths_busy(const rs_engine *e, const rs_times *t, size_t from, size_t to, size_t n_steps,
                       int64_t *lanes)
{
    uint32_t first;
    const int64_t begin = begin_of_ranks(e, t, from, to, &first),
                  end = rs_moment_time(t, end_of_ranks(e, t, from, to));
    int64_t most = 0;
    for (size_t k = from; k < to; k++) {
        const rs_skeleton *s = e->ranks[k];
        int64_t *covered = lanes, *reach = lanes + s->n_lanes;
        for (size_t i = 0; i < s->n_lanes; i++) covered[i] = 0, reach[i] = begin;
        for (uint32_t i = 0; i < s->n; i++) {
            const rs_skeleton_label *label = rs_skeleton_at(s, i);
            if (!rs_skeleton_is_work(s, i) || (label->part != RS_PART_COMPUTE && label->part != RS_PART_COPY))
                continue;
            const int64_t until = rs_times_end(t, e->node_base[k] + i), start = t->start[e->node_base[k] + i],
                          since = start > reach[label->lane] ? start : reach[label->lane];
            if (until > end || until <= since) continue;
            covered[label->lane] = rs_add_sat(covered[label->lane], rs_sub_sat(until, since));
            reach[label->lane] = until;
            if (covered[label->lane] > most) most = covered[label->lane];
        }
    }
    return (double)most / (double)(n_steps ? n_steps : 1);
}

/* Where the steps begin with the end of earlier work, the path ends there if it runs along that work. If it does not, it
 * goes on to the annotations: what it comes from may gain more than the begin moves. */
rs_status rs_path_find(const rs_replayed *r, size_t from, size_t to, rs_path *out, rs_error *err)
{
    const rs_engine *e = r->engine;
    int64_t begin = INT64_MAX;
    *out = (rs_path){0};
    uint32_t moment = end_of_ranks(e, &r->times, from, to), first;
    begin_of_ranks(e, &r->times, from, to, &first);
    for (size_t k = from; k < to; k++) {
        int64_t mark = rs_engine_first_mark(e, &r->times, k);
        if (mark < begin) begin = mark;
    }
    while (moment != first && rs_moment_time(&r->times, moment) > begin) {
        rs_link l = rs_engine_link(e, &r->recorded, &r->times, moment);
        if (l.from == RS_NO_CAUSE) break;
        if (!RS_APPEND(out, (rs_path_link){moment >> 1, l.edge})) return rs_fail_nomem(err, "a path");
        moment = l.from;
    }
    return RS_OK;
}

double rs_path_bound(const rs_replayed *r, const rs_path *path, const rs_weights *edited)
{
    int64_t sum = 0;
    for (size_t i = 0; i < path->n; i++) {
        int64_t less = lost(r, &path->items[i], edited);
        if (less == RS_NO_EDGE) return NAN;
        sum = rs_add_sat(sum, less);
    }
    return (double)sum;
}

const char *rs_path_bound_by(const rs_engine *e, const rs_weights *w, const rs_times *t, size_t from,
                             size_t to)
{
    uint32_t first, moment = end_of_ranks(e, t, from, to);
    int64_t begin = begin_of_ranks(e, t, from, to, &first), time[RS_N_PARTS] = {0};
    size_t best = 0;
    while (rs_moment_time(t, moment) > begin) {
        rs_link l = rs_engine_link(e, w, t, moment);
        if (l.from == RS_NO_CAUSE) break;
        time[l.part] = rs_add_sat(time[l.part], l.ns);
        moment = l.from;
    }
    for (size_t i = 1; i < RS_N_PARTS; i++)
        if (time[i] > time[best]) best = i;
    return rs_part_names[best];
}
