/* rs_clocks_find: the steps in order, and the way back from aligned clocks to those of the files. */
#include "clock/clocks.h"

#include "base/interval.h"
#include "base/memory.h"
#include "clock/solve.h"

void rs_clocks_clear(rs_clocks *clocks)
{
    rs_free_all(clocks->of, clocks->pairs, clocks->contradictions);
    *clocks = (rs_clocks){0};
}

static void add_to(int64_t *time, int64_t by)
{
    if (*time != RS_NO_TIME) *time = rs_add_sat(*time, by);
}

/* Terms stand on clocks that a first alignment had corrected: that correction is a part of the offset. */
static void on_files(rs_clocks *clocks, const rs_coll_job *job)
{
    int64_t reference = clocks->n ? job->clocks[0].offset : 0;
    for (size_t r = 0; r < clocks->n; r++) {
        rs_clock *c = &clocks->of[r];
        int64_t by = rs_sub_sat(job->clocks[r].offset, reference);
        if (c->low == RS_NO_TIME) c->offset = RS_NO_TIME;
        add_to(&c->offset, by);
        add_to(&c->low, by);
        add_to(&c->high, by);
        add_to(&c->certain_low, by);
        add_to(&c->certain_high, by);
    }
    for (size_t p = 0; p < clocks->n_pairs; p++) {
        rs_clock_pair *pair = &clocks->pairs[p];
        int64_t by = rs_sub_sat(job->clocks[pair->b].offset, job->clocks[pair->a].offset);
        add_to(&pair->low, by);
        add_to(&pair->high, by);
        add_to(&pair->certain_low, by);
        add_to(&pair->certain_high, by);
    }
}

/* Ties on the clocks that the terms stand on. */
static bool take_ties(const rs_coll_job *job, const rs_clocks_settings *settings, rs_terms *terms)
{
    terms->ties = rs_malloc((settings->n_ties + 1) * sizeof *terms->ties);
    for (size_t i = 0; terms->ties && i < settings->n_ties; i++) {
        rs_clock_tie tie = settings->ties[i];
        int64_t by = rs_sub_sat(job->clocks[tie.b].offset, job->clocks[tie.a].offset);
        tie.low = rs_sub_sat(tie.low, by);
        tie.high = rs_sub_sat(tie.high, by);
        if (tie.low > -RS_CLOCK_FARTHEST && tie.high < RS_CLOCK_FARTHEST) terms->ties[terms->n_ties++] = tie;
    }
    return terms->ties != NULL;
}

rs_status rs_clocks_find(const rs_coll_job *job, const rs_clocks_settings *given, rs_clocks *out,
                         rs_error *err)
{
    const rs_clocks_settings settings = given ? *given : (rs_clocks_settings){.end_skew = RS_CLOCK_END_SKEW};
    RS_SCOPED(rs_terms_clear) rs_terms terms = {0};
    *out = (rs_clocks){.n = job->n_ranks};
    out->of = rs_calloc(job->n_ranks + 1, sizeof *out->of);
    rs_status status = out->of ? RS_OK : rs_fail_nomem(err, "clocks");
    for (size_t r = 0; status == RS_OK && r < out->n; r++)
        out->of[r] = (rs_clock){
            .low = RS_NO_TIME, .high = RS_NO_TIME, .certain_low = RS_NO_TIME, .certain_high = RS_NO_TIME};
    if (status == RS_OK) status = rs_terms_make(job, &terms, err);
    if (status == RS_OK && !take_ties(job, &settings, &terms)) status = rs_fail_nomem(err, "clocks");
    if (status == RS_OK) status = rs_terms_judge(&terms, out, err);
    if (status == RS_OK) status = rs_clocks_estimate(&terms, settings.end_skew, out, err);
    if (status == RS_OK) status = rs_clocks_bound(&terms, out, err);
    if (status == RS_OK) {
        out->at = rs_add_sat(terms.origin, terms.middle);
        out->pairs = terms.pairs;
        out->n_pairs = terms.n_pairs;
        terms.pairs = NULL;
        on_files(out, job);
    } else {
        rs_clocks_clear(out);
    }
    return status;
}
