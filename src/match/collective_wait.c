/* Waiting and transfer of a matched collective. */
#include "match/collective_wait.h"

#include "base/interval.h"

static rs_coll_kind kind_of(const rs_coll_job *job, const rs_coll_instance *c)
{
    return rs_coll_shape_at(job, &job->arrivals[c->first])->kind;
}

bool rs_coll_compares(const rs_coll_job *job, const rs_coll_instance *c)
{
    return c->n > 1 && !c->mixed && kind_of(job, c) != RS_COLL_SEND_RECV;
}

rs_coll_wait rs_coll_measure(const rs_coll_job *job, const rs_coll_instance *c)
{
    rs_coll_wait m = {.first = INT64_MAX,
                      .last = INT64_MIN,
                      .first_end = INT64_MAX,
                      .last_end = INT64_MIN,
                      .transfer = INT64_MAX,
                      .kind = kind_of(job, c)};
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &job->arrivals[i];
        int64_t start = rs_coll_start(job, a), end = rs_coll_end(job, a);
        if (start < m.first) m.first = start, m.first_at = i;
        if (start > m.last) m.last = start, m.last_at = i;
        if (end < m.first_end) m.first_end = end;
        if (end > m.last_end) m.last_end = end;
        m.sum_duration = rs_add_sat(m.sum_duration, rs_sub_sat(end, start));
    }
    m.cost = rs_sub_sat(m.last, m.first);
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &job->arrivals[i];
        int64_t wait = rs_sub_sat(m.last, rs_coll_start(job, a));
        int64_t after = rs_sub_sat(rs_coll_end(job, a), m.last);
        m.sum_wait = rs_add_sat(m.sum_wait, wait);
        if (i != m.last_at && wait < m.cost) m.cost = wait;
        if ((after > 0 || i == m.last_at) && after < m.transfer) m.transfer = after;
    }
    return m;
}

int64_t rs_coll_origin(const rs_coll_job *job)
{
    int64_t origin = INT64_MAX;
    for (size_t i = 0; i < job->n_ranks; i++) {
        if (job->ranks[i]->first_ns == RS_NO_TIME) continue;
        int64_t first = rs_add_sat(job->ranks[i]->first_ns, job->shift[i]);
        if (first < origin) origin = first;
    }
    return origin == INT64_MAX ? 0 : origin;
}

bool rs_coll_on_host(const rs_coll_job *job)
{
    for (size_t i = 0; i < job->n_ranks; i++)
        if (job->ranks[i]->on_host && job->ranks[i]->n) return true;
    return false;
}
