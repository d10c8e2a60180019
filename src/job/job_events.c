/* The events of an input, kept in the store: a question that was not asked before reads these instead of the text. */
#include "job/job_store.h"
#include "rankscope/store.h"
#include "store/events.h"

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
                     rs_events **out)
{
    if (!key->usable) return false;
    const rs_entry_key wanted = entry_key(key);
    rs_entry *entry = rs_entry_find(job->settings.store, &wanted);
    if (!entry) return false;
    uint64_t kept = rs_stored_events_columns(entry);
    *out = (kept & *columns) == *columns ? rs_stored_events_get(entry, *columns, threads) : NULL;
    if (*out) return true;
    rs_entry_close(entry);
    *columns |= kept | RS_ALL_COLUMNS;
    return false;
}

void rs_events_keep(rs_job *job, const rs_events_key *key, rs_events *events)
{
    const rs_job_settings *s = &job->settings;
    if (!key->usable || !key->keeps || events->memory > s->store_limit / LEAST_SHARE / job->n_inputs) return;
    if (!rs_key_stamps_hold(&key->stamps)) return;
    if (s->store_optional && rs_store_make(s->store, NULL) != RS_OK) return;
    const rs_entry_key wanted = entry_key(key);
    if (!rs_stored_events_put(s->store, &wanted, events)) return;
    pthread_mutex_lock(&job->lock);
    job->stored = true;
    pthread_mutex_unlock(&job->lock);
}

/* Loading is all there is to do. */
static rs_status leave(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    (void)run;
    (void)trace;
    (void)value;
    (void)err;
    return RS_OK;
}

rs_status rs_job_build_store(rs_job *job, rs_result *result, rs_error *err)
{
    const rs_each_rank each = {.name = "store", .columns = RS_ALL_COLUMNS, .rank = leave};
    rs_rank_value *values = NULL;
    size_t n;
    if (!rs_job_wants_store(job)) return rs_fail(err, RS_ERR_USAGE, "the job has no store");
    rs_status status = rs_job_each_rank(job, &each, &values, &n, result, err);
    rs_free(values);
    return status;
}
