/* What the ranks of an input said, kept in the store and taken from there: the bytes that travel between machines
 * (partial.h), under a key of all that they depend on. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "format/format.h"
#include "job/job_store.h"
#include "store/stamp.h"

#define SMALL ((uint64_t)256 << 10)
#define MOST_SHARE 4

/* Sections of an entry. */
enum { PART_ANSWER = 1, PART_TIMES };

/* ---- the folder ----------------------------------------------------------------------------------------- */

bool rs_job_wants_store(const rs_job *job)
{
    /* what is kept tells nothing of captures */
    return job->settings.store && !job->settings.no_store && !job->settings.captures;
}

rs_status rs_job_store_open(rs_job *job, rs_error *err)
{
    if (!job->settings.store_limit) job->settings.store_limit = RS_STORE_LIMIT;
    return rs_job_wants_store(job) && !job->settings.store_optional ? rs_store_make(job->settings.store, err)
                                                                    : RS_OK;
}

void rs_job_store_close(rs_job *job)
{
    if (job->stored) rs_store_trim(job->settings.store, job->settings.store_limit);
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

static bool put_stamp(void *writer, const char *path)
{
    return rs_stamp_put(writer, path);
}

static bool stamp_file(rs_wire_writer *w, const char *path)
{
    for (const rs_format *const *row = rs_format_rows; *row; row++)
        if ((*row)->each_file && (*row)->is_report(path) && !(*row)->each_file(path, put_stamp, w))
            return false;
    /* what a database has not yet taken over stands in a second file */
    char log[4096];
    struct stat info;
    int n = snprintf(log, sizeof log, "%s-wal", path);
    if (n < 0 || (size_t)n >= sizeof log || !rs_stamp_put(w, path)) return false;
    return stat(log, &info) != 0 || rs_stamp_put(w, log);
}

bool rs_key_stamp_input(rs_wire_writer *w, const rs_input *input)
{
    if (input->bytes || input->remote || input->instead || rs_input_is_stdin(input)) return false;
    if (input->stamps.n) {
        rs_wire_put(w, input->stamps.bytes, input->stamps.n);
        return true;
    }
    for (size_t i = 0; i < input->n_recordings; i++)
        if (!rs_key_stamp_input(w, &input->recordings[i])) return false;
    if (input->n_recordings) return true;
    for (size_t i = 0; i < input->n_parts; i++)
        if (!stamp_file(w, input->parts[i])) return false;
    return input->n_parts || stamp_file(w, input->path);
}

void rs_input_stamps_take(const rs_job *job, const rs_ranking *ranking, const rs_input *input,
                          bool all_foreseen, rs_input_stamps *out)
{
    *out = (rs_input_stamps){.many = job->n_inputs > 1 && !ranking->renumber,
                             .all_foreseen = all_foreseen,
                             .keeps = rs_input_size(input) >= job->settings.store_from};
    if (!rs_job_wants_store(job)) return;
    out->alone = job->n_inputs == 1 && !all_foreseen;
    out->usable = rs_key_stamp_input(&out->stamps, input) && !out->stamps.out_of_memory;
}

void rs_input_stamps_clear(rs_input_stamps *stamps)
{
    rs_wire_clear(&stamps->stamps);
    *stamps = (rs_input_stamps){0};
}

void rs_key_put_input(rs_wire_writer *w, const rs_input *input)
{
    rs_wire_put_text(w, input->path);
    rs_wire_put_signed(w, input->given_rank);
    rs_wire_put_signed(w, input->label_rank);
    rs_wire_put_text(w, input->role ? input->role : "");
    rs_wire_put_unsigned(w, input->n_parts);
    for (size_t i = 0; i < input->n_parts; i++) rs_wire_put_text(w, input->parts[i]);
    rs_wire_put_unsigned(w, input->n_recordings);
    for (size_t i = 0; i < input->n_recordings; i++) rs_key_put_input(w, &input->recordings[i]);
}

void rs_key_put_settings(rs_wire_writer *w, const rs_job_settings *s)
{
    rs_layout_pack(&rs_job_settings_layout, s, w);
    rs_wire_put_unsigned(w, s->all_columns);
    rs_wire_put_unsigned(w, s->max_memory);
    rs_wire_put_unsigned(w, s->max_ratio);
    rs_wire_put_unsigned(w, s->max_string);
    rs_wire_put_unsigned(w, s->max_depth);
}

bool rs_key_stamp_options(rs_wire_writer *w, const rs_question *q, bool folders)
{
    for (size_t i = 0; i < q->analysis->n_options; i++) {
        const rs_option_spec *spec = &q->analysis->options[i];
        const char *text = rs_options_text(q->run.options, spec->name);
        struct stat info;
        if (spec->type != RS_OPTION_TEXT || !text || stat(text, &info) != 0) continue;
        if (S_ISDIR(info.st_mode) && !folders) continue;
        if (!rs_stamp_put(w, text)) return false;
    }
    return true;
}

void rs_key_put_place(rs_wire_writer *w, const rs_wire_writer *stamps)
{
    RS_SCOPED(rs_arena_clear) rs_arena arena = {0};
    rs_stamp first = {0};
    if (stamps->n) {
        rs_wire_reader r = {.p = stamps->bytes, .end = stamps->bytes + stamps->n, .arena = &arena};
        if (!rs_stamp_take(&r, &first)) first.path = NULL;
    }
    rs_wire_put_text(w, first.path);
}

bool rs_key_stamps_hold(const rs_wire_writer *stamps)
{
    return rs_stamps_hold(stamps->bytes, stamps->n);
}

void rs_key_put_question(rs_wire_writer *w, const rs_question *q)
{
    rs_wire_put_unsigned(w, q->run.compat);
    rs_wire_put_fixed(w, rs_options_fingerprint(q->run.options));
    rs_wire_put_fixed(w, q->how.partial_layout ? rs_method_fingerprint(&q->how) : 0);
}

/* What the answer is to other questions, too; NULL: to this one alone. */
static const char *word_of(const rs_question *q)
{
    return q->run.compat == RS_COMPAT_NONE && q->analysis->partial_is
               ? q->analysis->partial_is(q->run.options)
               : NULL;
}

typedef struct key_of_answer {
    rs_wire_writer identity, stamps;
    rs_entry_key key;
} key_of_answer;

static void key_clear(key_of_answer *k)
{
    rs_wire_clear(&k->identity);
    rs_wire_clear(&k->stamps);
}

static bool key_make(const rs_job *job, const rs_question *q, const rs_input *input,
                     const rs_input_stamps *stamps, key_of_answer *k)
{
    *k = (key_of_answer){.key = {.kind = RS_ENTRY_ANSWER}};
    rs_wire_writer *w = &k->identity;
    const char *word = word_of(q);
    rs_wire_put_text(w, word ? word : q->analysis->name);
    rs_key_put_place(w, &stamps->stamps);
    rs_key_put_input(w, input);
    rs_key_put_settings(w, &job->settings);
    if (word)
        rs_wire_put_fixed(w, rs_method_fingerprint(&q->how));
    else
        rs_key_put_question(w, q);
    rs_wire_put_unsigned(w, stamps->many);
    rs_wire_put_unsigned(w, stamps->all_foreseen);
    bool counts = job->selection->by_window || rs_question_wants_origin(q);
    rs_wire_put_signed(w, counts ? job->selection->origin : RS_NO_TIME);
    rs_wire_put(&k->stamps, stamps->stamps.bytes, stamps->stamps.n);
    bool ok = word || rs_key_stamp_options(&k->stamps, q, false);
    k->key.identity = w->bytes;
    k->key.n_identity = w->n;
    k->key.stamps = k->stamps.bytes;
    k->key.n_stamps = k->stamps.n;
    return ok && !w->out_of_memory && !k->stamps.out_of_memory;
}

/* Of one input the result is kept, which is all there is to ask again, but for what other questions are answered from. */
static bool is_kept(const rs_question *q, const rs_input_stamps *stamps)
{
    if (!stamps->usable || !q->how.partial_layout || q->told.n || (stamps->alone && !word_of(q)))
        return false;
    for (size_t r = 0; r < q->how.n_rounds; r++)
        if (!q->how.rounds[r].partial_layout) return false;
    return true;
}

/* ---- what does not travel between machines, where these are settled --------------------------------------- */

static void write_times(rs_wire_writer *w, const rs_input_answer *answer)
{
    for (size_t k = 0; k < answer->n_ranks; k++) {
        const rs_rank_answer *u = &answer->ranks[k];
        rs_wire_put_signed(w, u->from);
        rs_wire_put_signed(w, u->until);
        rs_wire_put_unsigned(w, u->selected.any_time);
        rs_wire_put_signed(w, u->selected.last_start);
    }
}

static void read_times(rs_wire_reader *r, rs_input_answer *answer)
{
    for (size_t k = 0; k < answer->n_ranks; k++) {
        rs_rank_answer *u = &answer->ranks[k];
        u->from = rs_wire_signed(r);
        u->until = rs_wire_signed(r);
        u->selected.any_time = rs_wire_bool(r);
        u->selected.last_start = rs_wire_signed(r);
    }
}

/* ---- fetching -------------------------------------------------------------------------------------------- */

/* A part of an entry for reading; false: it is not there, or damaged. */
static bool entry_reader(rs_entry *entry, uint32_t id, rs_arena *arena, rs_wire_reader *out)
{
    size_t n;
    const uint8_t *bytes = rs_entry_part_of(entry, id, &n);
    if (!bytes) return false;
    *out = (rs_wire_reader){.p = bytes, .end = bytes + n, .arena = arena};
    return true;
}

static bool read_entry(rs_entry *entry, const rs_question *q, const rs_ranking *ranking, size_t at,
                       rs_input_answer *answer)
{
    rs_wire_reader said, times;
    if (!entry_reader(entry, PART_ANSWER, &answer->arena, &said)) return false;
    if (!entry_reader(entry, PART_TIMES, &answer->arena, &times)) return false;
    rs_input_answer_read(q, ranking, at, &said, answer);
    if (said.bad || said.p != said.end || answer->status != RS_OK) return false;
    read_times(&times, answer);
    return !times.bad && times.p == times.end;
}

bool rs_answer_fetch(rs_job *job, const rs_question *q, const rs_ranking *ranking, size_t at,
                     const rs_input_stamps *stamps, rs_input_answer *answer)
{
    const rs_input *input = &job->inputs[at];
    key_of_answer k;
    if (!is_kept(q, stamps)) return false;
    rs_entry *entry = key_make(job, q, input, stamps, &k) ? rs_entry_find(job->settings.store, &k.key) : NULL;
    key_clear(&k);
    if (!entry) return false;
    rs_input_answer found = {
        .path = input->path, .role = input->role, .from_directory = input->from_directory};
    bool ok = read_entry(entry, q, ranking, at, &found);
    rs_entry_close(entry);
    if (!ok) {
        rs_question_clear_input(q, &found);
        return false;
    }
    *answer = found;
    return true;
}

/* ---- keeping --------------------------------------------------------------------------------------------- */

/* Whether an answer says what the same question would be told again: not what befell this run. As deep as there are
 * rounds. */
static bool is_lasting(const rs_answer *answer)
{
    if (answer->status == RS_ERR_CANCELLED || answer->status == RS_ERR_NOMEM || answer->status == RS_ERR_IO)
        return false;
    if (answer->status != RS_OK && !answer->error) return false;
    for (size_t i = 0; i < answer->n_next; i++)
        if (!is_lasting(&answer->next[i])) return false;
    return true;
}

static bool is_worth_keeping(const rs_input_answer *answer)
{
    if (answer->status != RS_OK || answer->problems.n_dropped) return false;
    for (size_t k = 0; k < answer->n_ranks; k++)
        if (answer->ranks[k].asked && !is_lasting(&answer->ranks[k].first)) return false;
    return true;
}

bool rs_is_small_beside(size_t n, uint64_t input_bytes)
{
    return n < SMALL || n < input_bytes / MOST_SHARE;
}

void rs_job_store_put(rs_job *job, const rs_entry_key *key, bool in_place, const rs_entry_part *parts,
                      size_t n)
{
    uint64_t size;
    if (job->settings.store_optional && rs_store_make(job->settings.store, NULL) != RS_OK) return;
    if (rs_entry_write(job->settings.store, key, in_place, parts, n, &size, NULL) != RS_OK) return;
    pthread_mutex_lock(&job->lock);
    job->stored = true;
    pthread_mutex_unlock(&job->lock);
}

void rs_answer_keep(rs_job *job, const rs_question *q, size_t at, const rs_input_stamps *stamps,
                    const rs_input_answer *answer)
{
    const rs_input *input = &job->inputs[at];
    key_of_answer k = {.key = {.kind = RS_ENTRY_ANSWER}};
    rs_wire_writer said = {0}, times = {0};
    if (!stamps->keeps || !is_kept(q, stamps) || !is_worth_keeping(answer) ||
        !rs_key_stamps_hold(&stamps->stamps))
        return;
    rs_input_answer_write(&said, q, answer);
    write_times(&times, answer);
    const rs_entry_part parts[] = {{.id = PART_ANSWER, .pack = true, .bytes = said.bytes, .n = said.n},
                                   {.id = PART_TIMES, .bytes = times.bytes, .n = times.n}};
    if (!said.out_of_memory && !times.out_of_memory && rs_is_small_beside(said.n, rs_input_size(input)) &&
        key_make(job, q, input, stamps, &k))
        rs_job_store_put(job, &k.key, false, parts, sizeof parts / sizeof *parts);
    key_clear(&k);
    rs_wire_clear(&said);
    rs_wire_clear(&times);
}
