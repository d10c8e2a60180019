/* Merging packed partials. They come from elsewhere: every length, index and enumerator is checked on the way
 * in, and what is wrong is told as such. */
#include <stdlib.h>
#include <string.h>

#include "base/paths.h"
#include "base/layout.h"
#include "base/problems.h"
#include "base/try.h"
#include "base/wire.h"
#include "job/job_internal.h"
#include "job/job_store.h"
#include "job/partial.h"

typedef struct packed_input {
    const char *path, *instead, *role;
    bool from_directory;
    size_t part, order;     /* which packed bytes it came with, and where it stood */
    rs_wire_reader *blocks; /* by query: what it said, still packed */
} packed_input;

typedef struct merger {
    rs_arena arena; /* what lasts for the whole merge */
    const rs_query *queries;
    size_t n;
    uint64_t *options, *layouts; /* fingerprints by query */
    const char *what;            /* the bytes are called that in messages */
    size_t n_parts;
    rs_job_settings settings;       /* of the first part; all others have the same */
    const uint8_t *packed_settings; /* the same, packed */
    size_t n_packed_settings;
    rs_ranking ranking;
    packed_input *inputs; /* sorted as a job's */
    size_t n_inputs, capacity;
} merger;

static const char PARTIALS[] = "packed partial results";

static void merger_clear(merger *m)
{
    rs_ranking_clear(&m->ranking);
    rs_free(m->inputs);
    rs_arena_clear(&m->arena);
}

static rs_status fail_part(const merger *m, size_t part, rs_status status, rs_error *err, const char *why)
{
    return rs_fail(err, status, "%s %zu of %zu %s", m->what, part + 1, m->n_parts, why);
}

static rs_status damaged(const merger *m, size_t part, const rs_wire_reader *r, rs_error *err)
{
    if (r->out_of_memory) return rs_fail_nomem(err, "packed partial results");
    return fail_part(m, part, RS_ERR_FORMAT, err, "are damaged: map and send them again");
}

/* ---- the head of each part -------------------------------------------------------------------------- */

static rs_status open_part(merger *m, size_t part, const rs_bytes *bytes, const char *magic,
                           rs_wire_reader *r, rs_error *err)
{
    const uint8_t *data = bytes->data;
    if (bytes->n < RS_PARTIAL_HEAD || memcmp(data, magic, 8) != 0)
        return fail_part(m, part, RS_ERR_FORMAT, err, "are none: rs_job_map makes them");
    *r = (rs_wire_reader){.p = data + 8, .end = data + bytes->n, .arena = &m->arena};
    uint64_t n = rs_wire_fixed(r), sum = rs_wire_fixed(r);
    if (n != rs_wire_left(r) || sum != rs_hash_bytes(r->p, rs_wire_left(r))) return damaged(m, part, r, err);
    const char *version = rs_wire_text(r);
    if (r->bad || !version) return damaged(m, part, r, err);
    if (strcmp(version, rs_version()) != 0)
        return rs_fail(
            err, RS_ERR_USAGE,
            "%s %zu of %zu were made by rankscope %.40s, this is %s: map and merge with one version", m->what,
            part + 1, m->n_parts, version, rs_version());
    if (rs_wire_unsigned(r) != RS_PARTIAL_FORMAT || r->bad)
        return fail_part(m, part, RS_ERR_USAGE, err, "have another format: map and merge with one version");
    return RS_OK;
}

static rs_status read_settings(merger *m, size_t part, rs_wire_reader *r, rs_error *err)
{
    const uint8_t *from = r->p;
    const rs_job_settings *s = rs_layout_unpack(&rs_job_settings_layout, r);
    size_t n = (size_t)(r->p - from);
    if (r->bad || !s) return damaged(m, part, r, err);
    if (part == 0) {
        m->settings = *s;
        m->packed_settings = from;
        m->n_packed_settings = n;
        return rs_ranking_init(&m->ranking, &m->settings, err);
    }
    if (n != m->n_packed_settings || memcmp(from, m->packed_settings, n) != 0)
        return fail_part(m, part, RS_ERR_USAGE, err,
                         "were made with other settings of the job than the first: map all with the same");
    return RS_OK;
}

/* *places: for each packed query the one of ours that it is, or SIZE_MAX. */
static rs_status read_queries(merger *m, size_t part, rs_wire_reader *r, size_t **places, size_t *n_places,
                              rs_error *err)
{
    uint64_t n = rs_wire_unsigned(r);
    size_t *place = rs_wire_room(r, n, sizeof *place, 18);
    bool *found = rs_arena_alloc(&m->arena, m->n * sizeof *found + 1);
    if (r->bad) return damaged(m, part, r, err);
    if (!found) return rs_fail_nomem(err, "packed partial results");
    memset(found, 0, m->n * sizeof *found);
    for (uint64_t i = 0; i < n; i++) {
        const char *name = rs_wire_text(r);
        uint64_t compat = rs_wire_unsigned(r), options = rs_wire_fixed(r), layout = rs_wire_fixed(r);
        place[i] = SIZE_MAX;
        if (r->bad || !name) return damaged(m, part, r, err);
        for (size_t k = 0; k < m->n; k++) {
            const rs_query *q = &m->queries[k];
            if (found[k] || strcmp(name, q->analysis->name) != 0 || compat != (uint64_t)q->compat ||
                options != m->options[k])
                continue;
            if (layout != m->layouts[k])
                return fail_part(m, part, RS_ERR_USAGE, err,
                                 "have another format: map and merge with one version");
            found[k] = true;
            place[i] = k;
            break;
        }
    }
    for (size_t k = m->n; k-- > 0;) { /* those of the caller are named before the judge's */
        if (found[k]) continue;
        return rs_fail(err, RS_ERR_USAGE,
                       "%s %zu of %zu hold no %s with these options and this mode: map with what is merged",
                       m->what, part + 1, m->n_parts, m->queries[k].analysis->name);
    }
    *places = place;
    *n_places = (size_t)n;
    return RS_OK;
}

static rs_status read_inputs(merger *m, size_t part, rs_wire_reader *r, const size_t *places, size_t n_places,
                             rs_error *err)
{
    uint64_t n = rs_wire_unsigned(r);
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        packed_input input = {.part = part, .order = m->n_inputs};
        input.path = rs_wire_text(r);
        input.from_directory = rs_wire_bool(r);
        input.instead = rs_wire_text(r);
        input.role = rs_wire_text(r);
        m->ranking.roles |= input.role != NULL;
        input.blocks = rs_wire_room(r, m->n, sizeof *input.blocks, 0);
        if (!input.path) r->bad = true;
        for (size_t k = 0; !r->bad && k < n_places; k++) {
            rs_wire_reader block = rs_wire_part(r, rs_wire_unsigned(r));
            if (places[k] != SIZE_MAX) input.blocks[places[k]] = block;
        }
        if (r->bad) break;
        if (!RS_GROW_ONE(m->inputs, m->n_inputs, m->capacity))
            return rs_fail_nomem(err, "packed partial results");
        m->inputs[m->n_inputs++] = input;
    }
    return r->bad || r->p != r->end ? damaged(m, part, r, err) : RS_OK;
}

static int by_path(const void *a, const void *b)
{
    const packed_input *x = a, *y = b;
    int c = rs_path_compare(x->path, y->path);
    return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

static rs_status read_parts(merger *m, const rs_bytes *packed, rs_error *err)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        rs_wire_reader r;
        size_t *places = NULL, n_places = 0;
        rs_status status = open_part(m, i, &packed[i], RS_PARTIAL_MAGIC, &r, err);
        if (status == RS_OK) status = read_settings(m, i, &r, err);
        if (status == RS_OK) status = read_queries(m, i, &r, &places, &n_places, err);
        if (status == RS_OK) status = read_inputs(m, i, &r, places, n_places, err);
        if (status != RS_OK) return status;
    }
    if (m->n_inputs) qsort(m->inputs, m->n_inputs, sizeof *m->inputs, by_path);
    return RS_OK;
}

/* ---- what inputs said -------------------------------------------------------------------------------- */

static void copy_text(rs_wire_reader *r, char *out, size_t size)
{
    size_t n;
    const char *text = rs_wire_text_n(r, &n);
    if (!text || n >= size)
        r->bad = true;
    else
        memcpy(out, text, n + 1);
}

static const rs_error *read_error(rs_wire_reader *r, rs_status status)
{
    rs_error *err = rs_wire_room(r, 1, sizeof *err, 1);
    unsigned n = (unsigned)rs_wire_below(r, RS_ERROR_CAUSES + 1);
    for (unsigned i = 0; !r->bad && i < n; i++) {
        copy_text(r, err->causes[i].message, sizeof err->causes[i].message);
        copy_text(r, err->causes[i].file, sizeof err->causes[i].file);
        err->causes[i].offset = rs_wire_unsigned(r);
    }
    if (r->bad || n == 0) r->bad = true;
    if (r->bad) return NULL;
    err->status = status;
    err->n_causes = n;
    return err;
}

void rs_problems_read(rs_wire_reader *r, rs_problems *out)
{
    uint64_t dropped = rs_wire_unsigned(r), n = rs_wire_unsigned(r);
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        const rs_problem p = rs_wire_problem(r);
        if (!r->bad) rs_problems_adopt(out, &p);
    }
    out->n_dropped += dropped;
}

static void read_selected(rs_wire_reader *r, rs_selected *out)
{
    *out = (rs_selected){.any = rs_wire_bool(r)};
    out->any_step = rs_wire_bool(r);
    out->steps_by = (rs_step_source)rs_wire_below(r, RS_N_STEP_SOURCES);
    uint64_t n = rs_wire_unsigned(r);
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        int64_t number = rs_wire_signed(r);
        if (!RS_GROW_ONE(out->steps.items, out->steps.n, out->steps.capacity)) r->bad = true;
        if (!r->bad) out->steps.items[out->steps.n++] = (rs_span){number, number};
    }
}

/* A rank's word in one round and what stands below it. As deep as there are rounds. */
static void read_answer(const rs_question *q, rs_wire_reader *r, size_t round, rs_answer *answer)
{
    answer->borrowed = true;
    bool last = round == q->how.n_rounds;
    answer->status = (rs_status)rs_wire_below(r, RS_ERR_CANCELLED + 1);
    if (answer->status != RS_OK) {
        answer->error = read_error(r, answer->status);
        if (round == 0) r->bad = true;
        return;
    }
    bool has_partial = rs_wire_bool(r);
    if (has_partial)
        answer->partial =
            rs_layout_unpack(last ? q->how.partial_layout : q->how.rounds[round].partial_layout, r);
    else if (!last || !q->how.absent)
        r->bad = true;
    uint64_t n = last ? 0 : rs_wire_unsigned(r);
    if (n > rs_wire_left(r) / 2) r->bad = true;
    if (r->bad || n == 0) return;
    answer->next = rs_calloc((size_t)n, sizeof *answer->next);
    if (!answer->next) r->bad = r->out_of_memory = true;
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        rs_answer *next = &answer->next[answer->n_next++];
        next->given.data = rs_wire_text_n(r, &next->given.n);
        if (!next->given.data) r->bad = true;
        if (!r->bad) read_answer(q, r, round + 1, next);
    }
}

/* exact: it was asked what this job asks; of another part's input without a role, more may be asked than was there. */
static void read_rank(const rs_question *q, const rs_ranking *ranking, bool exact, rs_wire_reader *r,
                      rs_rank_answer *u)
{
    u->at = &u->first;
    u->own_rank = rs_wire_signed(r);
    u->own_rule = rs_wire_text(r);
    u->begin = rs_wire_signed(r);
    read_selected(r, &u->selected);
    u->asked = rs_wire_bool(r);
    if (exact && u->asked != rs_ranking_may_want(ranking, u->own_rank)) r->bad = true;
    if (!r->bad && u->asked) read_answer(q, r, 0, &u->first);
}

void rs_input_answer_read(const rs_question *q, const rs_ranking *ranking, size_t at, rs_wire_reader *r,
                          rs_input_answer *answer)
{
    answer->status = (rs_status)rs_wire_below(r, RS_ERR_CANCELLED + 1);
    if (answer->status != RS_OK) {
        answer->error = read_error(r, answer->status);
        return;
    }
    answer->domain_rule = rs_wire_text(r);
    rs_problems_read(r, &answer->problems);
    uint64_t n = rs_wire_unsigned(r);
    if (n > rs_wire_left(r) / 7) r->bad = true;
    answer->ranks = r->bad ? NULL : rs_calloc((size_t)n, sizeof *answer->ranks);
    if (!r->bad && !answer->ranks) r->bad = r->out_of_memory = true;
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        rs_rank_answer *u = &answer->ranks[answer->n_ranks++];
        u->input = at;
        u->index = (size_t)i;
        read_rank(q, ranking, answer->role || !ranking->roles, r, u);
    }
}

/* Unpacks what an input said; the values live in the arena. */
static rs_status read_input(const merger *m, rs_question *q, size_t k, size_t at, rs_arena *values,
                            rs_error *err)
{
    const packed_input *input = &m->inputs[at];
    rs_input_answer *answer = &q->answers[at];
    rs_wire_reader r = input->blocks[k];
    r.arena = values;
    *answer = (rs_input_answer){.path = input->path,
                                .role = input->role,
                                .from_directory = input->from_directory,
                                .instead = input->instead};
    rs_input_answer_read(q, &m->ranking, at, &r, answer);
    return r.bad || r.p != r.end ? damaged(m, input->part, &r, err) : RS_OK;
}

/* Unpacks what all inputs said to one query and settles rounds as far as that reaches. */
static rs_status read_question(const merger *m, size_t k, rs_question *q, rs_arena *values, rs_error *err)
{
    rs_status status = rs_question_init(q, &m->queries[k], &m->settings, err);
    if (status == RS_OK) status = rs_question_reserve(q, m->n_inputs, err);
    for (size_t i = 0; status == RS_OK && i < m->n_inputs; i++) status = read_input(m, q, k, i, values, err);
    return status == RS_OK ? rs_question_settle(q, &m->ranking, err) : status;
}

/* ---- the merge -------------------------------------------------------------------------------------- */

/* The first part whose ranks do not know what was agreed on. */
static rs_status fail_behind(const merger *m, const rs_question *q, rs_error *err)
{
    for (size_t i = 0; i < q->n_answers; i++)
        for (size_t u = 0; u < q->answers[i].n_ranks; u++)
            if (q->answers[i].ranks[u].behind)
                return rs_fail(
                    err, RS_ERR_USAGE,
                    "%s %zu of %zu lack what %s needs to know of all ranks, %s: rs_agree_packed says "
                    "it, rs_job_map_agreed maps with it",
                    m->what, m->inputs[i].part + 1, m->n_parts, q->analysis->name,
                    q->how.rounds[q->round - 1].name);
    return RS_OK;
}

/* What is merged: the queries, and what the judge was asked with them under the settings of the parts. */
static rs_status read_judged(merger *m, const rs_bytes *packed, const rs_query *queries, size_t n,
                             rs_judged_queries *out, rs_error *err)
{
    rs_wire_reader r;
    RS_TRY(open_part(m, 0, &packed[0], RS_PARTIAL_MAGIC, &r, err));
    const rs_job_settings *settings = rs_layout_unpack(&rs_job_settings_layout, &r);
    if (r.bad || !settings) return damaged(m, 0, &r, err);
    rs_status status = rs_judged_queries_make(settings, NULL, queries, n, out, err);
    m->queries = out->items;
    m->n = out->n;
    return status;
}

static rs_status merge_query(const merger *m, size_t k, const struct rs_verdicts *verdicts, rs_result *result,
                             rs_error *err)
{
    rs_question q = {0}, *side = &q;
    const rs_ranking *ranking = &m->ranking;
    rs_arena values = {0};
    rs_status status = read_question(m, k, &q, &values, err);
    if (status == RS_OK) status = fail_behind(m, &q, err);
    if (status == RS_OK) status = rs_question_judge(&q, ranking, result, err);
    q.run.verdicts = verdicts;
    if (status == RS_OK) status = rs_question_answer(&side, &ranking, 1, result, err);
    if (status != RS_OK) rs_result_drop_tables(result);
    rs_question_clear(&q);
    rs_arena_clear(&values);
    return status;
}

/* What the packed bytes must have been made for. */
static rs_status take_queries(merger *m, rs_error *err)
{
    m->options = rs_arena_alloc(&m->arena, (m->n + 1) * sizeof *m->options);
    m->layouts = rs_arena_alloc(&m->arena, (m->n + 1) * sizeof *m->layouts);
    if (!m->options || !m->layouts) return rs_fail_nomem(err, "packed partial results");
    for (size_t k = 0; k < m->n; k++) {
        const rs_analysis *a = m->queries[k].analysis;
        if (!rs_analysis_can_map(a))
            return rs_fail(err, RS_ERR_USAGE, "%s cannot be mapped: its partial results do not travel",
                           a->name);
        rs_options *defaults = NULL;
        if (!m->queries[k].options) RS_TRY(rs_options_create(a->options, a->n_options, &defaults, err));
        m->options[k] = rs_options_fingerprint(defaults ? defaults : m->queries[k].options);
        rs_method how = rs_analysis_method(a, m->queries[k].compat);
        m->layouts[k] = rs_method_fingerprint(&how);
        rs_options_free(defaults);
    }
    return RS_OK;
}

rs_status rs_merge_packed(const rs_bytes *packed, size_t n_packed, const rs_query *queries, size_t n,
                          rs_result *results, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_judged_queries judged = {0};
    if (!err) err = &local;
    for (size_t k = 0; k < n; k++) results[k] = (rs_result){0};
    if (n_packed == 0) return rs_fail(err, RS_ERR_USAGE, "no packed partial results to merge");
    merger m = {.what = PARTIALS, .n_parts = n_packed};
    rs_status status = read_judged(&m, packed, queries, n, &judged, err);
    if (status == RS_OK) status = take_queries(&m, err);
    if (status == RS_OK) status = read_parts(&m, packed, err);
    bool read = status == RS_OK;
    for (size_t k = 0; read && k < m.n; k++) {
        rs_error error = RS_ERROR_INIT;
        rs_result *result = &judged.results[k];
        rs_status one = merge_query(&m, k, rs_judged_verdicts(&judged, k), result, &error);
        if (one != RS_OK && k < judged.n_judges) rs_judged_failed(result, one, &error);
        if (one == RS_OK || status != RS_OK || k < judged.n_judges) continue;
        status = one;
        *err = error;
        if (n > 1) rs_error_wrap(err, "%s", m.queries[k].analysis->name);
    }
    if (read) rs_judged_deliver(&judged, results);
    rs_judged_queries_clear(&judged);
    merger_clear(&m);
    return status;
}

/* ---- what ranks agree on ------------------------------------------------------------------------------ */

rs_status rs_agree_packed(const rs_bytes *packed, size_t n_packed, const rs_query *queries, size_t n,
                          rs_bytes *agreed, bool *complete, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    if (!err) err = &local;
    *agreed = (rs_bytes){0};
    *complete = true;
    if (n_packed == 0) return rs_fail(err, RS_ERR_USAGE, "no packed partial results to agree on");
    merger m = {.what = PARTIALS, .queries = queries, .n = n, .n_parts = n_packed};
    rs_arena values = {0};
    rs_question *questions = rs_calloc(n, sizeof *questions);
    rs_status status = questions || !n ? take_queries(&m, err) : rs_fail_nomem(err, "run");
    if (status == RS_OK) status = read_parts(&m, packed, err);
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        status = read_question(&m, k, &questions[k], &values, err);
        if (questions[k].due) *complete = false;
    }
    if (status == RS_OK) status = rs_agreed_write(&m.settings, questions, n, agreed, err);
    for (size_t k = 0; questions && k < n; k++) rs_question_clear(&questions[k]);
    rs_free(questions);
    rs_arena_clear(&values);
    merger_clear(&m);
    return status;
}

/* The values that one query agreed on. */
static bool read_told(const rs_query *query, rs_wire_reader *r, rs_told *told)
{
    rs_method how = rs_analysis_method(query->analysis, query->compat);
    uint64_t n = rs_wire_below(r, how.n_rounds + 1);
    rs_agreed *values = rs_wire_room(r, n, sizeof *values, 1);
    for (size_t i = 0; !r->bad && i < n; i++) {
        values[i].packed.data = rs_wire_text_n(r, &values[i].packed.n);
        if (r->bad || !values[i].packed.data) return false;
        rs_wire_reader part = {.p = values[i].packed.data,
                               .end = (const uint8_t *)values[i].packed.data + values[i].packed.n,
                               .arena = r->arena};
        values[i].value = rs_layout_unpack(how.rounds[i].agreed_layout, &part);
        if (part.out_of_memory) r->out_of_memory = true;
        if (!values[i].value || part.p != part.end) return false;
    }
    *told = (rs_told){values, (size_t)n};
    return !r->bad;
}

rs_status rs_agreed_read(const rs_bytes *packed, const rs_query *queries, size_t n, rs_arena *arena,
                         const rs_told **told, rs_error *err)
{
    merger m = {.what = "packed agreement", .queries = queries, .n = n, .n_parts = 1};
    rs_wire_reader r = {0};
    size_t *places = NULL, n_places = 0;
    rs_told *out = rs_arena_alloc(arena, (n + 1) * sizeof *out);
    rs_status status = out ? take_queries(&m, err) : rs_fail_nomem(err, m.what);
    if (status == RS_OK) memset(out, 0, (n + 1) * sizeof *out);
    if (status == RS_OK) status = open_part(&m, 0, packed, RS_AGREED_MAGIC, &r, err);
    if (status == RS_OK) status = read_settings(&m, 0, &r, err);
    if (status == RS_OK) status = read_queries(&m, 0, &r, &places, &n_places, err);
    r.arena = arena;
    for (size_t i = 0; status == RS_OK && i < n_places; i++) {
        if (places[i] == SIZE_MAX) {
            for (uint64_t left = rs_wire_unsigned(&r); !r.bad && left > 0; left--) {
                size_t length;
                if (!rs_wire_text_n(&r, &length)) r.bad = true;
            }
        } else if (!read_told(&queries[places[i]], &r, &out[places[i]])) {
            r.bad = true;
        }
        if (r.bad) status = damaged(&m, 0, &r, err);
    }
    if (status == RS_OK && r.p != r.end) status = damaged(&m, 0, &r, err);
    if (status == RS_OK) *told = out;
    merger_clear(&m);
    return status;
}
