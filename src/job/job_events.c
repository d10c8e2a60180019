/* The events of an input, kept in the store: a question that was not asked before reads these instead of the text. */
#include "base/try.h"
#include "engine/causes.h"
#include "job/job_store.h"
#include "perf/owner.h"
#include "rankscope/store.h"
#include "store/events.h"
#include "trace/tree.h"

/* Of the folder's limit the events of one job take no more than this part, else they push each other out and each run
 * writes what the next one does not find. */
#define LEAST_SHARE 2

void rs_events_key_make(const rs_job *job, const rs_input *input, rs_events_key *out)
{
    const rs_job_settings *s = &job->settings;
    *out = (rs_events_key){0};
    /* how much memory a load takes depends on how it is read: what bounds it is to do so alike on every run */
    if (!rs_job_wants_store(job) || s->max_memory) return;
    out->keeps = rs_input_size(input) >= s->store_from;
    if (!rs_key_stamp_input(&out->stamps, input)) return;
    rs_wire_put_text(&out->identity, "events");
    rs_key_put_place(&out->identity, &out->stamps);
    rs_key_put_input(&out->identity, input);
    rs_wire_put_unsigned(&out->identity, s->max_ratio);
    rs_wire_put_unsigned(&out->identity, s->max_string);
    rs_wire_put_unsigned(&out->identity, s->max_depth);
    out->usable = !out->identity.out_of_memory && !out->stamps.out_of_memory;
}

void rs_events_key_clear(rs_events_key *key)
{
    rs_wire_clear(&key->identity);
    rs_wire_clear(&key->stamps);
    *key = (rs_events_key){0};
}

static rs_entry_key entry_key(const rs_events_key *key)
{
    return (rs_entry_key){RS_ENTRY_EVENTS, key->identity.bytes, key->stamps.bytes, key->identity.n,
                          key->stamps.n};
}

bool rs_events_fetch(rs_job *job, const rs_events_key *key, unsigned threads, uint64_t *columns,
                     rs_events **out, bool *settled)
{
    *settled = false;
    if (!key->usable) return false;
    const rs_entry_key wanted = entry_key(key);
    rs_entry *entry = rs_entry_find(job->settings.store, &wanted);
    if (!entry) return false;
    uint64_t kept = rs_stored_events_columns(entry);
    /* one with more arguments than were asked for is not written again without them */
    *settled = !job->in_place || rs_entry_lying(entry) || kept & ~*columns;
    *out = (kept & *columns) == *columns ? rs_stored_events_get(entry, *columns, threads) : NULL;
    if (*out) return true;
    *settled = false;
    rs_entry_close(entry);
    *columns |= kept | RS_ALL_COLUMNS;
    return false;
}

struct rs_events_keeping {
    rs_job *job;
    rs_events_draft *draft;
    rs_wire_writer identity, stamps; /* copies of the key's */
    pthread_t thread;
    bool threaded, kept;
};

static void *write_events(void *context)
{
    rs_events_keeping *k = context;
    const rs_entry_key wanted = {RS_ENTRY_EVENTS, k->identity.bytes, k->stamps.bytes, k->identity.n,
                                 k->stamps.n};
    const rs_job_settings *s = &k->job->settings;
    if (s->store_optional && rs_store_make(s->store, NULL) != RS_OK) return NULL;
    k->kept = rs_stored_events_write(k->draft, s->store, &wanted, k->job->in_place);
    return NULL;
}

rs_events_keeping *rs_events_keep(rs_job *job, const rs_events_key *key, rs_events *events, unsigned threads)
{
    const rs_job_settings *s = &job->settings;
    if (!key->usable || !key->keeps || events->other.columns ||
        events->memory > s->store_limit / LEAST_SHARE / job->n_inputs)
        return NULL;
    if (!rs_key_stamps_hold(&key->stamps)) return NULL;
    rs_events_keeping *k = rs_calloc(1, sizeof *k);
    if (!k) return NULL;
    k->job = job;
    rs_wire_put(&k->identity, key->identity.bytes, key->identity.n);
    rs_wire_put(&k->stamps, key->stamps.bytes, key->stamps.n);
    k->draft = k->identity.out_of_memory || k->stamps.out_of_memory ? NULL : rs_stored_events_draft(events);
    if (k->draft) k->threaded = threads > 1 && pthread_create(&k->thread, NULL, write_events, k) == 0;
    if (k->draft && !k->threaded) write_events(k);
    return k;
}

bool rs_events_keep_end(rs_events_keeping *k)
{
    if (!k) return false;
    if (k->threaded) pthread_join(k->thread, NULL);
    bool kept = k->kept;
    if (kept) {
        pthread_mutex_lock(&k->job->lock);
        k->job->stored = true;
        pthread_mutex_unlock(&k->job->lock);
    }
    rs_stored_events_drop(k->draft);
    rs_wire_clear(&k->identity);
    rs_wire_clear(&k->stamps);
    rs_free(k);
    return kept;
}

/* What most questions begin with. */
static rs_status prepare(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    rs_tree *tree;
    const rs_owners *owners;
    const rs_causes *causes;
    (void)run;
    (void)value;
    RS_TRY(rs_trace_owners(trace, &owners, err));
    RS_TRY(rs_trace_causes(trace, &causes, err));
    RS_TRY(rs_trace_tree(trace, false, &tree, err));
    return rs_tree_busy(trace, tree, err);
}

rs_status rs_job_build_store(rs_job *job, rs_result *result, rs_error *err)
{
    const rs_each_rank each = {.name = "store", .columns = RS_ALL_COLUMNS, .rank = prepare};
    rs_rank_value *values = NULL;
    size_t n;
    if (!rs_job_wants_store(job)) return rs_fail(err, RS_ERR_USAGE, "the job has no store");
    job->in_place = true; /* whoever says it by name is going to ask */
    rs_status status = rs_job_each_rank(job, &each, &values, &n, result, err);
    rs_free(values);
    return status == RS_OK ? rs_job_ask_judge(job, err) : status;
}
