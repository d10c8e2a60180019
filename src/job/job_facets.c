/* What was worked out from the events of an input, kept in the store beside them: a question that was not asked before
 * begins with the links and call trees of those before it. */
#include <string.h>

#include "base/memory.h"
#include "job/job_store.h"
#include "trace/facet.h"

typedef struct rs_stored_input {
    rs_job *job;
    rs_input *input;
    rs_events_key key;
    rs_events_keeping *keeping; /* while the events are being written */
    bool kept;                  /* the events are in the store */
    struct rs_facet_keeper keeper;
    rs_entry **lent; /* in which facets lie */
    size_t n_lent, lent_capacity;
} rs_stored_input;

/* Links and trees depend on which of the columns that they can use are loaded. */
static bool make_identity(const rs_stored_input *s, const rs_trace *trace, const rs_facet *facet,
                          const void *key, uint64_t columns, rs_wire_writer *w)
{
    rs_wire_put_text(w, facet->name);
    rs_wire_put_unsigned(w, (size_t)(trace - s->input->traces));
    rs_wire_put_unsigned(w, s->input->n_traces);
    rs_wire_put_fixed(w, columns);
    rs_wire_put_text(w, s->job->settings.classes);
    rs_wire_put_unsigned(w, facet->key_size);
    if (facet->key_size) rs_wire_put(w, key, facet->key_size);
    rs_wire_put(w, s->key.identity.bytes, s->key.identity.n);
    return !w->out_of_memory;
}

static rs_entry_key key_of(const rs_stored_input *s, const rs_wire_writer *identity)
{
    return (rs_entry_key){RS_ENTRY_FACET, identity->bytes, s->key.stamps.bytes, identity->n, s->key.stamps.n};
}

static rs_entry *find(const rs_stored_input *s, const rs_trace *trace, const rs_facet *facet, const void *key,
                      uint64_t columns)
{
    RS_SCOPED(rs_wire_clear) rs_wire_writer identity = {0};
    rs_entry *entry = NULL;
    if (make_identity(s, trace, facet, key, columns, &identity)) {
        const rs_entry_key wanted = key_of(s, &identity);
        entry = rs_entry_find(s->job->settings.store, &wanted);
    }
    return entry;
}

/* Arrays stay the entry's, for as long as the input is loaded. */
static bool fetch(void *context, const rs_trace *trace, const rs_facet *facet, const void *key,
                  rs_facet_part *parts)
{
    rs_stored_input *s = context;
    uint64_t all = rs_facet_columns(&facet, 1), loaded = all & trace->events->loaded;
    rs_entry *entry = find(s, trace, facet, key, loaded);
    if (!entry && loaded != all && facet->form->tells_columns) entry = find(s, trace, facet, key, all);
    bool as_wanted = entry && (!s->job->in_place || rs_entry_lying(entry));
    bool ok = as_wanted && RS_GROW_ONE(s->lent, s->n_lent, s->lent_capacity);
    for (unsigned i = 0; ok && i < facet->form->n_parts; i++) {
        parts[i].bytes = rs_entry_part_of(entry, i + 1, &parts[i].n);
        ok = parts[i].bytes != NULL;
    }
    if (ok) {
        rs_entry_let_go(entry);
        s->lent[s->n_lent++] = entry;
    } else {
        rs_entry_close(entry);
    }
    return ok;
}

static void keep(void *context, const rs_trace *trace, const rs_facet *facet, const void *key,
                 const rs_facet_part *parts)
{
    rs_stored_input *s = context;
    RS_SCOPED(rs_wire_clear) rs_wire_writer identity = {0};
    rs_entry_part all[RS_FACET_PARTS];
    for (unsigned i = 0; i < facet->form->n_parts; i++)
        all[i] =
            (rs_entry_part){.id = i + 1, .number = parts[i].number, .bytes = parts[i].bytes, .n = parts[i].n};
    if (make_identity(s, trace, facet, key, rs_facet_columns(&facet, 1) & trace->events->loaded, &identity)) {
        const rs_entry_key wanted = key_of(s, &identity);
        rs_job_store_put(s->job, &wanted, s->job->in_place, all, facet->form->n_parts);
    }
}

void rs_stored_input_begin(rs_job *job, rs_input *input, rs_events_key *key, rs_events_keeping *keeping)
{
    rs_stored_input *s = rs_calloc(1, sizeof *s);
    if (!s) {
        rs_events_keep_end(keeping);
        return;
    }
    *s = (rs_stored_input){.job = job,
                           .input = input,
                           .key = *key,
                           .keeping = keeping,
                           .kept = !keeping,
                           .keeper = {s, fetch, keep}};
    *key = (rs_events_key){0};
    input->stored = s;
    for (size_t k = 0; k < input->n_traces; k++) input->traces[k].keeper = &s->keeper;
}

static void wait_for_events(rs_stored_input *s)
{
    if (s->keeping) s->kept = rs_events_keep_end(s->keeping);
    s->keeping = NULL;
}

void rs_stored_input_keep(rs_input *input)
{
    rs_stored_input *s = input->stored;
    if (!s) return;
    wait_for_events(s);
    if (!s->kept || !s->key.keeps || !rs_key_stamps_hold(&s->key.stamps)) return;
    for (size_t k = 0; k < input->n_traces; k++) rs_facets_keep(&input->traces[k]);
}

void rs_stored_input_end(rs_input *input)
{
    rs_stored_input *s = input->stored;
    if (!s) return;
    wait_for_events(s);
    for (size_t i = 0; i < s->n_lent; i++) rs_entry_close(s->lent[i]);
    rs_free(s->lent);
    rs_events_key_clear(&s->key);
    rs_free(s);
    input->stored = NULL;
}
