/* The replay of a whole job: the ranks' traces run together and meet in their communication.
 *
 * Who meets whom and how the ranks' clocks lie is found as for traces of profilers (match/, clock/). A member
 * of a meeting has come when it could start and its launch delay is over; it ends when the last has come and
 * as much later as in the recording. Durations of waiting are replaced by that, so that a rank that is slower
 * holds up the others. With the durations as recorded every rank does what it did. Communication that a host runs takes its
 * recorded time: gloo's spans end on a worker thread, when it gets to it, and set no clock. */
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "chakra/check_internal.h"
#include "clock/collective_clocks.h"

typedef struct joining {
    const rs_check *files;
    size_t n_files;
    const rs_check_call *calls;
    size_t n_calls;
    rs_coll_rank **ranks;
    uint32_t *base; /* by file, n_files + 1: its first node */
    int64_t *shift; /* by file, us: what to add for a common clock */
    rs_coll_job coll;
    rs_check_plan plan;
    size_t members_capacity, meetings_capacity;
} joining;

static bool is_message(const rs_check_node *n)
{
    return n->type == RS__ET__NODE_TYPE__COMM_SEND_NODE || n->type == RS__ET__NODE_TYPE__COMM_RECV_NODE;
}

/* ---- communication of a rank ------------------------------------------------------------------------ */

static rs_coll_kind kind_of(const rs_check_comm *k)
{
    static const rs_coll_kind kinds[] = {RS_COLL_ALL_REDUCE, RS_COLL_REDUCE,         RS_COLL_ALL_GATHER,
                                         RS_COLL_GATHER,     RS_COLL_SCATTER,        RS_COLL_BROADCAST,
                                         RS_COLL_ALL_TO_ALL, RS_COLL_REDUCE_SCATTER, RS_COLL_REDUCE_SCATTER,
                                         RS_COLL_BARRIER};
    int64_t type = k->recorded >= 0 ? k->recorded : k->type;
    bool known =
        (k->has_type || k->recorded >= 0) && type >= 0 && type < (int64_t)(sizeof kinds / sizeof *kinds);
    return known ? kinds[type] : RS_COLL_OTHER;
}

/* Times that could overflow when clocks are set are none. */
static int64_t bounded(int64_t ns)
{
    int64_t most = INT64_MAX / 4;
    return ns > most ? most : ns < -most ? -most : ns;
}

/* The op's row is its place among the file's communication. */
static bool add_op(joining *j, size_t file, uint32_t at, const char *group)
{
    const rs_check *c = &j->files[file];
    const rs_check_comm *k = &c->comms[at];
    const rs_check_node *n = &c->nodes[k->node];
    rs_coll_rank *r = j->ranks[file];
    bool message = is_message(n);
    rs_coll_kind kind = message ? RS_COLL_SEND_RECV : kind_of(k);
    /* each rank may give or get another share */
    bool sized =
        n->has_size && kind != RS_COLL_GATHER && kind != RS_COLL_SCATTER && kind != RS_COLL_ALL_TO_ALL;
    int64_t start = n->timed ? bounded(n->start) : 0, duration = n->duration > 0 ? n->duration : 0;
    uint32_t name = rs_strings_add(&r->pool.strings, group, strlen(group));
    if (name == RS_NO_STRING || !RS_GROW_ONE(r->spans, r->n_spans, r->spans_capacity)) return false;
    const rs_coll_op op = {.start = start,
                           .end = n->timed ? bounded(rs_add_sat(start, duration)) : 0,
                           .seq = -1,
                           .step = -1,
                           .row = at};
    const rs_coll_shape shape = {.in_elements = sized ? n->size : -1,
                                 .out_elements = sized ? n->size : -1,
                                 .source = message ? k->src : -1,
                                 .target = message ? k->dst : -1,
                                 .stream = n->has_stream ? n->stream : -1,
                                 .group = name,
                                 .description = RS_NO_STRING,
                                 .members = RS_NO_STRING,
                                 .name = RS_NO_STRING,
                                 .dtype = RS_NO_STRING,
                                 .kind = kind};
    if (!rs_coll_rank_add(r, op, &shape)) return false;
    r->spans[r->n_spans++] = duration;
    return true;
}

static bool make_ranks(joining *j)
{
    bool ok = true;
    for (size_t f = 0; f < j->n_files && ok; f++) {
        rs_coll_rank *r = j->ranks[f] = rs_calloc(1, sizeof *r);
        ok = r && rs_pool_init(&r->pool);
        if (!ok) break;
        r->base_time_ns = RS_NO_VALUE;
        r->first_ns = RS_NO_TIME;
        r->host = RS_NO_STRING;
        const rs_check *c = &j->files[f];
        for (uint32_t i = 0; i < c->n_comms && ok; i++) {
            const rs_check_comm *k = &c->comms[i];
            const rs_check_node *node = &c->nodes[k->node];
            if (node->gpu && is_message(node) && k->has_src && k->has_dst && k->src >= 0 && k->dst >= 0)
                ok = add_op(j, f, i, "messages");
        }
    }
    for (size_t i = 0; i < j->n_calls && ok; i++) {
        char group[24];
        const rs_check *c = &j->files[j->calls[i].file];
        if (!c->nodes[c->comms[j->calls[i].at].node].gpu) continue;
        snprintf(group, sizeof group, "%u", j->calls[i].group);
        ok = add_op(j, j->calls[i].file, j->calls[i].at, group);
    }
    for (size_t f = 0; f < j->n_files && ok; f++) ok = rs_coll_rank_sort(j->ranks[f]);
    return ok;
}

/* ---- meetings --------------------------------------------------------------------------------------- */

static int64_t us(int64_t ns)
{
    return ns >= 0 ? ns / 1000 : -((999 - ns) / 1000);
}

static const rs_check_node *node_of(const joining *j, const rs_coll_arrival *a)
{
    const rs_check *c = &j->files[a->rank];
    return &c->nodes[c->comms[j->ranks[a->rank]->ops[a->op].row].node];
}

static int64_t recorded_start(const joining *j, const rs_coll_arrival *a)
{
    return rs_add_sat(us(j->ranks[a->rank]->ops[a->op].start), j->shift[a->rank]);
}

static int64_t recorded_end(const joining *j, const rs_coll_arrival *a)
{
    return rs_add_sat(us(j->ranks[a->rank]->ops[a->op].end), j->shift[a->rank]);
}

static int64_t micros_of(const rs_check_node *n)
{
    return n->micros_duration > INT64_MAX / 2000 ? INT64_MAX / 2000 : (int64_t)n->micros_duration;
}

/* Without recorded times all take as long as they say after the last has come. */
static void set_times(const joining *j, const rs_coll_arrival *a, bool timed, int64_t last,
                      rs_check_member *out)
{
    int64_t micros = micros_of(node_of(j, a));
    out->waits = true;
    out->stay = micros;
    if (!timed) return;
    int64_t start = recorded_start(j, a), end = recorded_end(j, a), ready = rs_sub_sat(end, micros);
    out->delay = rs_sub_sat(start, ready);
    if (out->delay < 0) out->delay = 0;
    if (out->delay > micros) out->delay = micros;
    out->waits = end > last;
    if (out->waits) out->stay = rs_sub_sat(end, last);
}

static bool add_meeting(joining *j, const rs_coll_instance *instance)
{
    rs_check_plan *plan = &j->plan;
    const rs_coll_arrival *a = &j->coll.arrivals[instance->first];
    int64_t last = INT64_MIN;
    bool timed = true;
    for (uint32_t i = 0; i < instance->n; i++) {
        timed &= node_of(j, &a[i])->timed;
        if (recorded_start(j, &a[i]) > last) last = recorded_start(j, &a[i]);
    }
    if (!RS_GROW_ONE(plan->meetings, plan->n_meetings, j->meetings_capacity)) return false;
    plan->meetings[plan->n_meetings] = (rs_check_meeting){(uint32_t)plan->n_members, instance->n};
    for (uint32_t i = 0; i < instance->n; i++) {
        const rs_check *c = &j->files[a[i].rank];
        uint32_t node = j->base[a[i].rank] + (uint32_t)(node_of(j, &a[i]) - c->nodes);
        if (!RS_GROW_ONE(plan->members, plan->n_members, j->members_capacity)) return false;
        rs_check_member *member = &plan->members[plan->n_members];
        *member = (rs_check_member){.node = node, .meeting = (uint32_t)plan->n_meetings};
        set_times(j, &a[i], timed, last, member);
        plan->member_of[node] = (uint32_t)plan->n_members++;
    }
    plan->n_meetings++;
    return true;
}

/* The job's clock runs from the first rank's beginning. */
static void set_begins(joining *j)
{
    int64_t first = INT64_MAX;
    for (size_t f = 0; f < j->n_files; f++) {
        const rs_check *c = &j->files[f];
        j->plan.begin[f] = c->has_recorded ? rs_add_sat(us(c->recorded_from), j->shift[f]) : 0;
        if (c->has_recorded && j->plan.begin[f] < first) first = j->plan.begin[f];
    }
    for (size_t f = 0; f < j->n_files; f++)
        if (j->files[f].has_recorded) j->plan.begin[f] = rs_sub_sat(j->plan.begin[f], first);
}

static bool make_plan(joining *j)
{
    size_t n = j->base[j->n_files];
    j->plan.begin = rs_calloc(j->n_files + 1, sizeof *j->plan.begin);
    j->plan.member_of = rs_malloc((n + 1) * sizeof *j->plan.member_of);
    bool ok = j->plan.begin && j->plan.member_of;
    for (size_t i = 0; i < n && ok; i++) j->plan.member_of[i] = RS_LINKED_NONE;
    for (size_t f = 0; f < j->n_files; f++) j->shift[f] = us(rs_add_sat(j->coll.shift[f], 500));
    if (ok) set_begins(j);
    /* what ranks disagree on is a fault already, and no meeting */
    for (size_t k = 0; k < j->coll.n && ok; k++)
        if (j->coll.instances[k].n > 1 && !j->coll.instances[k].mixed)
            ok = add_meeting(j, &j->coll.instances[k]);
    return ok;
}

/* ---- what came of it -------------------------------------------------------------------------------- */

static void find_recorded(const joining *j, rs_check_job *out)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    out->has_recorded = out->as_recorded = true;
    for (size_t f = 0; f < j->n_files; f++) {
        const rs_check *c = &j->files[f];
        out->has_recorded &= c->has_recorded;
        out->as_recorded &= c->as_recorded;
        int64_t first = rs_add_sat(c->recorded_from, j->coll.shift[f]),
                last = rs_add_sat(c->recorded_to, j->coll.shift[f]);
        if (first < from) from = first;
        if (last > to) to = last;
    }
    if (out->has_recorded) out->recorded = rs_sub_sat(to, from);
    out->parts = rs_coll_n_parts(&j->coll);
    for (size_t f = 0; f < j->n_files; f++) out->clocks |= j->coll.clocks[f].aligned;
}

static size_t file_of(const joining *j, uint32_t node)
{
    size_t f = 0;
    while (node >= j->base[f + 1]) f++;
    return f;
}

static void explain_stuck(const joining *j, const rs_check_outcome *run, rs_check_job *out)
{
    if (!run->n_stuck) return;
    const rs_check_member *came = &j->plan.members[run->came], *away = &j->plan.members[run->stayed_away];
    size_t a = file_of(j, came->node), b = file_of(j, away->node);
    snprintf(out->stuck, sizeof out->stuck,
             "rank %lld node %llu waits for ever for rank %lld node %llu, which never starts: ranks wait for "
             "each other in a circle, or for nodes that are never issued (%zu meetings)",
             (long long)j->files[a].rank, (unsigned long long)j->files[a].nodes[came->node - j->base[a]].id,
             (long long)j->files[b].rank, (unsigned long long)j->files[b].nodes[away->node - j->base[b]].id,
             run->n_stuck);
}

static rs_status join(joining *j, rs_error *err)
{
    uint64_t n = 0;
    for (size_t f = 0; f < j->n_files; f++) n += j->files[f].n_nodes;
    if (n >= RS_LINKED_NONE - 1) return rs_fail(err, RS_ERR_LIMIT, "the traces have too many nodes together");
    j->ranks = rs_calloc(j->n_files + 1, sizeof(rs_coll_rank *));
    j->base = rs_calloc(j->n_files + 1, sizeof *j->base);
    j->shift = rs_calloc(j->n_files + 1, sizeof *j->shift);
    if (!j->ranks || !j->base || !j->shift || !make_ranks(j)) return rs_fail_nomem(err, "a replay");
    for (size_t f = 0; f < j->n_files; f++) j->base[f + 1] = j->base[f] + (uint32_t)j->files[f].n_nodes;
    rs_status status = rs_clock_match((const rs_coll_rank *const *)j->ranks, j->n_files, true, &j->coll, err);
    if (status != RS_OK) return status;
    return make_plan(j) ? RS_OK : rs_fail_nomem(err, "a replay");
}

rs_status rs_check_job_run(const rs_check *files, size_t n_files, const rs_check_call *calls, size_t n_calls,
                           rs_check_job *out, rs_error *err)
{
    joining j = {.files = files, .n_files = n_files, .calls = calls, .n_calls = n_calls};
    rs_check_outcome run;
    *out = (rs_check_job){0};
    rs_status status = join(&j, err);
    if (status == RS_OK) status = rs_check_run(files, n_files, false, &j.plan, &run, err);
    if (status == RS_OK) {
        find_recorded(&j, out);
        explain_stuck(&j, &run, out);
        out->time = run.time;
        out->n_stuck = run.n_stuck;
        out->meetings = j.plan.n_meetings;
    }
    for (size_t f = 0; f < n_files && j.ranks; f++) rs_coll_rank_free(j.ranks[f]);
    rs_coll_job_clear(&j.coll);
    rs_free_all(j.ranks, j.base, j.shift, j.plan.begin, j.plan.meetings, j.plan.members, j.plan.member_of);
    return status;
}
