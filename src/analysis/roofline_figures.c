#include "analysis/roofline_figures.h"

#include <math.h>

#include "analysis/analysis.h"
#include "base/stats.h"
#include "base/interval.h"
#include "text/numbers.h"

static rs_least_time bound_of(const rs_roof_row *r, const rs_rates *rates)
{
    if (!rates || !r->family || !r->has_bytes || r->host_link) return (rs_least_time){(double)NAN, NULL};
    return rs_rates_bound(rates, (rs_precision)r->precision, r->matrix, r->vector, r->bytes);
}

double rs_roof_ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

int64_t rs_roof_times(int64_t a, uint64_t n)
{
    int64_t product;
    return n > INT64_MAX || __builtin_mul_overflow(a, (int64_t)n, &product) ? INT64_MAX : product;
}

rs_roof_figures rs_roof_figures_of(const rs_roof_row *r, const rs_rates *rates)
{
    const double unknown = (double)NAN;
    double all = (double)r->matrix + (double)r->vector;
    double ns = (double)r->time.sum, calls = (double)r->time.n;
    rs_roof_figures f = {
        .flops = r->family && r->has_flops, .bytes = r->family && r->has_bytes, .bound = bound_of(r, rates)};
    f.flops_per_byte = f.flops && f.bytes ? rs_roof_ratio(all, (double)r->bytes) : unknown;
    f.tflops_per_s = f.flops ? rs_roof_ratio(all * calls, ns) / 1e3 : unknown;
    f.gb_per_s = f.bytes ? rs_roof_ratio((double)r->bytes * calls, ns) : unknown;
    f.efficiency_pct = 100 * rs_roof_ratio(f.bound.us * calls * 1e3, ns);
    return f;
}

void rs_roof_total_add(rs_roof_total *t, const rs_roof_row *r, const rs_rates *rates)
{
    rs_least_time b = bound_of(r, rates);
    t->count += r->time.n;
    t->time = rs_add_sat(t->time, r->time.sum);
    if (r->family) t->modelled = rs_add_sat(t->modelled, r->time.sum);
    if (r->family && r->has_flops) {
        t->matrix = rs_add_sat(t->matrix, rs_roof_times(r->matrix, r->time.n));
        t->vector = rs_add_sat(t->vector, rs_roof_times(r->vector, r->time.n));
    }
    if (r->family && r->has_bytes) t->bytes = rs_add_sat(t->bytes, rs_roof_times(r->bytes, r->time.n));
    if (isnan(b.us)) return;
    t->bound_us += b.us * (double)r->time.n;
    t->bounded = rs_add_sat(t->bounded, r->time.sum);
}

double rs_roof_total_efficiency(const rs_roof_total *t)
{
    return 100 * rs_roof_ratio(t->bound_us * 1e3, (double)t->bounded);
}

void rs_roof_note(const rs_run *run, int64_t number, const rs_roof_rank *p, bool known, rs_result *result)
{
    long long rank = (long long)number;
    int64_t all = rs_add_sat(p->linked, p->unlinked);
    if (!p->has_work) {
        rs_result_note(result, "rank %lld: no GPU work", rank);
        return;
    }
    if (p->unlinked)
        rs_result_note(
            result,
            "rank %lld: %s %% of its GPU time, communication left out, has no launch in the file and no "
            "row here",
            rank, RS_FIXED(rs_percent(p->unlinked, all), 2));
    if (!known && !rs_options_text(run->options, "device"))
        rs_result_note(result, "rank %lld: %s, so bounds and efficiency are unknown; say it with --device",
                       rank,
                       p->described ? "its device is not in the table of devices"
                                    : "the trace does not say which device it ran on");
}
