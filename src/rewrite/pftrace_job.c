/* All ranks of a plan in Perfetto's form: each is made on whatever thread loads it and written in its turn. */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "job/job.h"
#include "rewrite/fuse_internal.h"
#include "rewrite/pftrace.h"

typedef struct made {
    rs_proto_bytes bytes;
    bool ready;
} made;

typedef struct making {
    rs_fuse_plan *plan;
    size_t only; /* the rank that is written, SIZE_MAX: all */
    const rs_fuse_filter *filter;
    const rs_sink *sink;
    pthread_mutex_t lock;
    made *ranks;   /* of the plan */
    size_t next;   /* whose turn it is */
    bool failed;   /* the sink did */
    uint64_t deep; /* events that no lane had room for */
} making;

typedef struct keeping {
    const making *all;
    const rs_fuse_rank *rank;
} keeping;

static bool is_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at;) {
        size_t m = strcspn(at, ",");
        if (m == n && memcmp(at, word, n) == 0) return true;
        at += m;
        at += *at == ',';
    }
    return false;
}

static bool keeps(const void *context, const rs_trace *trace, size_t at, int64_t *from, int64_t *to)
{
    const keeping *k = context;
    const rs_events *e = trace->events;
    const rs_fuse_filter *filter = k->all->filter;
    *from = INT64_MIN;
    *to = INT64_MAX;
    if (filter->only || filter->without) {
        uint32_t row = rs_trace_row(trace, at);
        const char *category = e->strings.items[e->categories[e->category[row]].name].text;
        if (filter->only && !is_listed(filter->only, category)) return false;
        if (filter->without && is_listed(filter->without, category)) return false;
    }
    if (k->rank->slice) {
        rs_slice_state state = rs_slice_state_at(k->rank->slice, at);
        if (state == RS_SLICE_CUT) {
            *from = k->rank->slice->from;
            *to = k->rank->slice->to;
        }
        return state != RS_SLICE_OUT;
    }
    return !k->rank->weights || (at < k->rank->n_weights && k->rank->weights[at] >= k->all->plan->least);
}

/* The plan's rank that this is; n: none. */
static size_t find_rank(const rs_fuse_plan *plan, const rs_trace *trace)
{
    size_t i = 0;
    for (; i < plan->n; i++) {
        const rs_fuse_rank *r = plan->ranks[i];
        if (strcmp(r->source, trace->file) != 0) continue;
        if (!r->runs || (trace->n_rows && trace->rows && r->n_runs && r->runs[0].first == trace->rows[0]))
            break;
    }
    return i;
}

/* Writes what has its turn. */
static void hand_over(making *m, size_t index, rs_proto_bytes bytes)
{
    pthread_mutex_lock(&m->lock);
    m->ranks[index].bytes = bytes;
    m->ranks[index].ready = true;
    for (; m->next < m->plan->n && m->ranks[m->next].ready; m->next++) {
        rs_proto_bytes *b = &m->ranks[m->next].bytes;
        if (b->n && !m->failed && !m->sink->write(m->sink->context, (const char *)b->bytes, b->n))
            m->failed = true;
        rs_free(b->bytes);
        *b = (rs_proto_bytes){0};
    }
    pthread_mutex_unlock(&m->lock);
}

static rs_status make_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    making *m = run->context;
    size_t index = find_rank(m->plan, trace);
    (void)value;
    if (index == m->plan->n || (m->only != SIZE_MAX && index != m->only)) return RS_OK;
    rs_fuse_rank *r = m->plan->ranks[index];
    keeping context = {m, r};
    rs_pftrace_rank rank = {.index = m->only == SIZE_MAX ? index : 0,
                            .rank = r->rank,
                            .shift = m->only == SIZE_MAX ? r->shift : 0,
                            .keeps = keeps,
                            .context = &context,
                            .arguments = true};
    rs_proto_bytes bytes = {0};
    rs_status status = rs_pftrace_write_rank(trace, &rank, &bytes, err);
    if (status != RS_OK) {
        rs_free(bytes.bytes);
        return status;
    }
    r->n_written = rank.n_written;
    r->n_left_out = rank.n_left_out + rank.n_too_deep;
    pthread_mutex_lock(&m->lock);
    m->deep += rank.n_too_deep;
    pthread_mutex_unlock(&m->lock);
    hand_over(m, index, bytes);
    return RS_OK;
}

/* A rank of the first reading is not there in the second: its file is unusable now, or another one. */
static rs_status fail_changed(const rs_result *again, rs_error *err)
{
    for (size_t i = 0; i < again->problems.n; i++) {
        const rs_problem *p = &again->problems.items[i];
        if (strcmp(p->kind, "unusable_file") == 0 && p->detail)
            return rs_fail(err, RS_ERR_FORMAT, "what was read once cannot be read again: %s", p->detail);
    }
    return rs_fail(err, RS_ERR_FORMAT, "the inputs have changed since they were first read");
}

rs_status rs_fuse_write_perfetto(rs_job *job, rs_fuse_plan *plan, size_t only, const rs_fuse_filter *filter,
                                 const rs_sink *sink, rs_result *result, rs_error *err)
{
    making m = {.plan = plan, .only = only, .filter = filter, .sink = sink};
    const rs_each_rank each = {.name = "the new trace",
                               .columns = RS_PFTRACE_COLUMNS,
                               .rank = make_rank,
                               .free_value = rs_free,
                               .context = &m,
                               .judges_window = true};
    rs_result again = {0}; /* the first reading has told what is wrong with the inputs */
    rs_rank_value *values = NULL;
    size_t n;
    m.ranks = rs_calloc(plan->n + 1, sizeof *m.ranks);
    if (!m.ranks) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < plan->n; i++) m.ranks[i].ready = only != SIZE_MAX && i != only;
    pthread_mutex_init(&m.lock, NULL);
    rs_status status = rs_job_each_rank(job, &each, &values, &n, &again, err);
    pthread_mutex_destroy(&m.lock);
    bool complete = m.next == plan->n || (only != SIZE_MAX && m.ranks[only].ready);
    for (size_t i = 0; i < plan->n; i++) rs_free(m.ranks[i].bytes.bytes);
    rs_free_all(m.ranks, values);
    if (status == RS_OK && m.failed) status = rs_fail(err, RS_ERR_IO, "the output could not be written");
    if (status == RS_OK && !complete) status = fail_changed(&again, err);
    rs_result_clear(&again);
    if (status == RS_OK && m.deep)
        rs_result_note(result,
                       "%llu events overlap more than 64 deep on their thread and are not in the new trace",
                       (unsigned long long)m.deep);
    return status;
}
