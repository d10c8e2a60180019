/* What all ranks together came to, kept in the store: tables, notes and defects of one question, under a key of all
 * inputs. Where that is found nothing is merged either. */

#include "base/memory.h"
#include "job/job_store.h"
#include "table/pack.h"
#include "verdict/verdicts.h"

enum { PART_RESULT = 1 };

/* ---- keys ------------------------------------------------------------------------------------------------- */

/* Each file is looked at once, before anything is read: what is kept afterwards holds if nothing has changed since. */
static bool stamp_job(rs_wire_writer *w, rs_job *job)
{
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_input *input = &job->inputs[i];
        rs_wire_writer stamps = {0};
        if (input->instead) continue;
        bool ok = rs_key_stamp_input(&stamps, input) && !stamps.out_of_memory;
        rs_wire_put(w, stamps.bytes, stamps.n);
        if (!ok || input->stamps.n)
            rs_wire_clear(&stamps);
        else
            input->stamps = stamps;
        if (!ok) return false;
    }
    return true;
}

void rs_job_forget_stamps(rs_job *job)
{
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_input *input = &job->inputs[i];
        rs_wire_clear(&input->stamps);
        for (size_t k = 0; k < input->n_recordings; k++)
            rs_wire_clear(&input->recordings[k].stamps); /* joined in this run */
    }
}

static void put_job(rs_wire_writer *w, const rs_job *job)
{
    rs_key_put_settings(w, &job->settings);
    rs_wire_put_unsigned(w, job->n_inputs);
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_wire_put_unsigned(w, job->inputs[i].from_directory);
        rs_wire_put_text(w, job->inputs[i].instead);
        rs_key_put_input(w, &job->inputs[i]);
    }
}

void rs_result_key_make(rs_job *const *jobs, unsigned n_jobs, const rs_question *q, rs_result_key *out)
{
    *out = (rs_result_key){.job = jobs[0]};
    if (q->as_file || q->run.context || !rs_job_wants_store(jobs[0])) return;
    for (unsigned i = 0; i < n_jobs; i++)
        for (size_t k = 0; k < jobs[i]->n_inputs; k++) out->bytes += rs_input_size(&jobs[i]->inputs[k]);
    out->keeps = out->bytes >= jobs[0]->settings.store_from;
    for (unsigned i = 0; i < n_jobs; i++)
        if (!stamp_job(&out->stamps, jobs[i])) return;
    if (!rs_key_stamp_options(&out->stamps, q, true)) return;
    rs_wire_put_text(&out->identity, q->analysis->name);
    rs_key_put_place(&out->identity, &out->stamps);
    rs_key_put_question(&out->identity, q);
    rs_wire_put_unsigned(&out->identity, n_jobs);
    for (unsigned i = 0; i < n_jobs; i++) put_job(&out->identity, jobs[i]);
    out->usable = !out->identity.out_of_memory && !out->stamps.out_of_memory;
}

void rs_result_key_clear(rs_result_key *key)
{
    rs_wire_clear(&key->identity);
    rs_wire_clear(&key->stamps);
    *key = (rs_result_key){0};
}

static rs_entry_key entry_key(const rs_result_key *key)
{
    return (rs_entry_key){RS_ENTRY_RESULT, key->identity.bytes, key->stamps.bytes, key->identity.n,
                          key->stamps.n};
}

/* ---- results as bytes ------------------------------------------------------------------------------------- */

static void write_result(rs_wire_writer *w, const rs_question *q, const rs_result *result)
{
    size_t n_specs;
    const rs_table_spec *const *specs = rs_analysis_tables(q->analysis, q->run.compat, &n_specs);
    rs_wire_put_unsigned(w, result->n_tables);
    for (size_t i = 0; i < result->n_tables; i++) rs_table_pack(result->tables[i], specs, n_specs, w);
    rs_wire_put_unsigned(w, result->main_table);
    rs_wire_put_unsigned(w, result->found);
    rs_wire_put_unsigned(w, result->n_notes);
    for (size_t i = 0; i < result->n_notes; i++) rs_wire_put_text(w, result->notes[i]);
    rs_problems_write(w, &result->problems);
    bool judged = q->analysis->judged == RS_JUDGES && result->verdicts;
    rs_wire_put_unsigned(w, judged);
    if (judged) rs_verdicts_pack(result->verdicts, w);
}

static void read_tables(rs_wire_reader *r, const rs_question *q, rs_result *result)
{
    size_t n_specs;
    const rs_table_spec *const *specs = rs_analysis_tables(q->analysis, q->run.compat, &n_specs);
    uint64_t n = rs_wire_unsigned(r);
    if (!specs || n == 0 || n > rs_wire_left(r)) r->bad = true;
    if (r->bad) return;
    result->tables = rs_calloc((size_t)n, sizeof *result->tables);
    if (!result->tables) r->bad = r->out_of_memory = true;
    while (!r->bad && result->n_tables < n) {
        rs_table *table = rs_table_unpack(specs, n_specs, r);
        if (table) result->tables[result->n_tables++] = table;
    }
}

static void read_result(rs_wire_reader *r, const rs_question *q, rs_result *result)
{
    read_tables(r, q, result);
    result->main_table = (size_t)rs_wire_below(r, result->n_tables);
    result->found = rs_wire_bool(r);
    uint64_t n = rs_wire_unsigned(r);
    if (n > rs_wire_left(r)) r->bad = true;
    result->notes = r->bad ? NULL : rs_calloc((size_t)n, sizeof *result->notes);
    if (!r->bad && !result->notes && n) r->bad = r->out_of_memory = true;
    while (!r->bad && result->n_notes < n) {
        const char *text = rs_wire_text(r);
        char *note = text ? rs_strdup(text) : NULL;
        if (note)
            result->notes[result->n_notes++] = note;
        else
            r->bad = true;
    }
    rs_problems_read(r, &result->problems);
    if (rs_wire_bool(r)) result->verdicts = rs_verdicts_unpack(r);
}

/* ---- fetching and keeping --------------------------------------------------------------------------------- */

bool rs_result_read(const rs_question *q, const void *bytes, size_t n, rs_result *result)
{
    RS_SCOPED(rs_arena_clear) rs_arena arena = {0};
    rs_wire_reader r = {.p = bytes, .end = (const uint8_t *)bytes + n, .arena = &arena};
    rs_result found = {0};
    read_result(&r, q, &found);
    bool ok = !r.bad && r.p == r.end && !found.problems.n_dropped;
    if (ok)
        *result = found;
    else
        rs_result_clear(&found);
    return ok;
}

bool rs_result_fetch(const rs_result_key *key, const rs_question *q, rs_result *result)
{
    if (!key->usable) return false;
    const rs_entry_key wanted = entry_key(key);
    rs_entry *entry = rs_entry_find(key->job->settings.store, &wanted);
    size_t n = 0;
    const void *bytes = entry ? rs_entry_part_of(entry, PART_RESULT, &n) : NULL;
    bool found = bytes && rs_result_read(q, bytes, n, result);
    rs_entry_close(entry);
    return found;
}

/* Whether no input failed for a reason that lies in this run. */
static bool is_lasting(const rs_question *q)
{
    for (size_t i = 0; i < q->n_answers; i++) {
        rs_status status = q->answers[i].status;
        if (status == RS_ERR_NOMEM || status == RS_ERR_IO || status == RS_ERR_CANCELLED) return false;
    }
    return true;
}

void rs_result_keep(const rs_result_key *key, const rs_question *const *sides, unsigned n_sides,
                    const rs_result *result)
{
    rs_wire_writer w = {0};
    bool keep = key->usable && key->keeps && !result->problems.n_dropped;
    for (unsigned i = 0; keep && i < n_sides; i++) keep = is_lasting(sides[i]);
    if (!keep || !rs_key_stamps_hold(&key->stamps)) return;
    write_result(&w, sides[0], result);
    const rs_entry_key wanted = entry_key(key);
    if (!w.out_of_memory && rs_is_small_beside(w.n, key->bytes))
        rs_job_store_put(key->job, &wanted, false,
                         &(rs_entry_part){.id = PART_RESULT, .pack = true, .bytes = w.bytes, .n = w.n}, 1);
    rs_wire_clear(&w);
}
