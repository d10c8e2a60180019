/* Finder: the host is in none of the GPU's calls, so that launching is not what holds the GPU up. */
#include <string.h>

#include "base/try.h"
#include "text/numbers.h"
#include "verdict/candidate.h"

#define ELSEWHERE 0.5 /* of the time between launches, without data loading: more is a finding */
#define MOST_NAMES 3  /* that are said of what is known */
#define LEAST_PCT 5.0 /* of the gaps, that a name must have to be said */
#define NAME_COLUMNS 48

double rs_judged_elsewhere(const rs_judged *job, bool loading_too)
{
    double launching = 0, elsewhere = 0;
    for (size_t r = 0; r < job->engine->n_ranks; r++) {
        const rs_skeleton *s = job->engine->ranks[r];
        launching += (double)s->launching;
        elsewhere += (double)s->elsewhere + (loading_too ? (double)s->loading : 0);
    }
    return launching > 0 ? elsewhere / launching : 0;
}

/* Says names of one sort with their percent: "in read 12 %, poll 40 %". */
static void put_known(const rs_skeleton *s, const char *before, const char *after, unsigned kinds,
                      bool counted, double all, rs_text *out)
{
    size_t said = 0;
    for (size_t i = 0; i < s->n_doing && said < MOST_NAMES; i++) {
        const rs_skeleton_doing *d = &s->doing[i];
        double pct = 100 * (counted ? (double)d->n : (double)d->ns) / all;
        const char *name = rs_pool_text(&s->pool, d->name);
        if (!(kinds >> d->what & 1) || !(pct >= LEAST_PCT)) continue;
        rs_text_put(out, said ? ", " : out->n ? "; " : "");
        if (!said++) rs_text_put(out, before);
        if (name) {
            rs_words_name(name, NAME_COLUMNS, out);
            rs_text_put(out, " ");
        }
        rs_text_printf(out, "%s %%", RS_FIXED(pct, 0));
    }
    if (said) rs_text_put(out, after);
}

/* What is known of the rank's gaps. */
static void put_doing(const rs_skeleton *s, rs_text *out)
{
    const unsigned events =
        1u << RS_DOING_OPERATOR | 1u << RS_DOING_PYTHON | 1u << RS_DOING_ANNOTATION | 1u << RS_DOING_OS_CALL;
    double ns = (double)s->elsewhere;
    put_known(s, "in ", "", events, false, ns, out);
    put_known(s, "", "", 1u << RS_DOING_OFF_CPU, false, ns, out);
    put_known(s, "samples in ", "", 1u << RS_DOING_SAMPLE, true, (double)s->n_samples, out);
    put_known(s, "no event in ", "", 1u << RS_DOING_UNKNOWN, false, ns, out);
}

/* What the question takes away, ns: from the first step's start to the last one's end, where there are steps. */
static double in_steps(const rs_judged *job)
{
    const rs_engine *e = job->engine;
    double ns = 0;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        int64_t from = s->n_steps ? s->steps[0].start : s->start,
                to = s->n_steps ? s->steps[s->n_steps - 1].end : s->end;
        for (uint32_t i = 1; i < s->n; i++) {
            uint32_t k = rs_skeleton_first(s, i);
            int64_t time = rs_skeleton_time(s, i), weight = job->recorded->edge[e->edge_base[r] + k];
            bool host = !rs_skeleton_is_work(s, i) && rs_edge_part(s, k) == RS_PART_HOST;
            if (host && time >= from && time <= to && weight > RS_HOST_GAP) ns += (double)weight;
        }
    }
    return ns;
}

rs_status rs_find_host_elsewhere(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                 const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    size_t most = 0;
    double share = rs_judged_elsewhere(job, false), launching = 0;
    for (size_t r = 0; r < e->n_ranks; r++) {
        launching += (double)e->ranks[r]->launching;
        if (e->ranks[r]->elsewhere > e->ranks[most]->elsewhere) most = r;
    }
    if (launching <= 0) *lacks = "no launches: the time between them is not known";
    if (share < ELSEWHERE) return RS_OK;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    rs_text known = {0};
    put_doing(e->ranks[most], &known);
    bool ok =
        rs_text_get(&known) && (c.facts.known = rs_arena_strndup(&out->arena, rs_text_get(&known), known.n));
    if (ok && !known.n) c.facts.known = NULL;
    rs_text_clear(&known);
    c.facts.pct = 100 * share;
    c.facts.ms = in_steps(job) / 1e6 / (double)rs_judged_all_steps(e);
    c.excess = c.facts.ms * 1e3;
    rs_expr *gaps = rs_what_if_scale_to(&c.edits, 0);
    rs_selector_word(gaps, RS_SELECT_PART, RS_PART_OF_HOST);
    rs_selector_number(gaps, RS_SELECT_US, RS_OP_GT, RS_HOST_GAP);
    return rs_candidate_add(out, &c, ok, err);
}
