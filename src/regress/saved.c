/* What a base needs, kept without its traces:
 *
 *     {"rankscope_regress": 2, "step": "rank", "texts": ["", "computation", "gemm", ...], "runs": [
 *       {"label": "nightly/1", "ranks": 8, "partial": 0, "steps": [[number, ns over all ranks], ...],
 *        "exposed": [[part, kernel, 0, 0, 0, ns, count, 0], ...],
 *        "path": [[part, kernel, operator, phase, group, ns, count, ns of work], ...],
 *        "clocks": [bounded, not bounded, ns of the widest interval], "refused": null, "mesh": "2,4",
 *        "program": [kernel, operator, kernel, operator, ...]}]}
 *
 * Parts and programs name texts by their place. Where a run has no parts by a method, its key is missing. Which
 * steps are settled is found again when it is read, by the same rule. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "input/json.h"
#include "regress/run.h"
#include "text/json_put.h"

#define VERSION 2

static const char *const step_names[] = {"rank", "job"};
static const char *const method_names[] = {"path", "exposed"};

/* ---- writing ------------------------------------------------------------------------------------------- */

static void write_parts(rs_json_put *j, const char *name, const rs_run_parts *parts)
{
    if (!parts->known) return;
    rs_json_put_open(j, name, '[', RS_JSON_LINES);
    for (size_t i = 0; i < parts->n; i++) {
        const rs_run_part *p = &parts->items[i];
        const int64_t values[] = {p->part,  p->name, p->operator_name, p->phase,
                                  p->group, p->sum,  p->count,         p->work};
        rs_json_put_ints(j, NULL, values, sizeof values / sizeof *values);
    }
    rs_json_put_close(j);
}

static void write_run(rs_json_put *j, const rs_one_run *run)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_BREAKS);
    rs_json_put_text(j, "label", run->label);
    rs_json_put_int(j, "ranks", run->n_ranks);
    rs_json_put_uint(j, "partial", run->n_partial);
    rs_json_put_open(j, "steps", '[', RS_JSON_LINE);
    for (size_t i = 0; i < run->n_steps; i++)
        rs_json_put_ints(j, NULL, (const int64_t[]){run->steps[i].number, run->steps[i].sum}, 2);
    rs_json_put_close(j);
    for (int k = 0; k < 2; k++) write_parts(j, method_names[k], &run->parts[k]);
    if (run->clocks.n || run->clocks.loose)
        rs_json_put_ints(j, "clocks", (const int64_t[]){run->clocks.n, run->clocks.loose, run->clocks.width},
                         3);
    if (run->refused) rs_json_put_text(j, "refused", run->refused);
    if (run->mesh) rs_json_put_text(j, "mesh", run->mesh);
    if (run->n_tokens) {
        rs_json_put_open(j, "program", '[', RS_JSON_LINE);
        for (size_t i = 0; i < run->n_tokens; i++) {
            rs_json_put_uint(j, NULL, run->tokens[i].name);
            rs_json_put_uint(j, NULL, run->tokens[i].operator_name);
        }
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
}

rs_status rs_regress_save(const rs_regress_side *side, const rs_sink *sink, rs_error *err)
{
    RS_LOCAL rs_writer *w = rs_malloc(sizeof *w);
    rs_json_put j;
    if (!w) return rs_fail_nomem(err, "a writer");
    rs_writer_init(w, sink);
    rs_json_put_init(&j, w);
    rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
    rs_json_put_int(&j, "rankscope_regress", VERSION);
    rs_json_put_text(&j, "step", step_names[side->step]);
    rs_json_put_open(&j, "texts", '[', RS_JSON_BREAKS);
    for (size_t i = 0; i < side->texts.n; i++) rs_json_put_text(&j, NULL, side->texts.items[i].text);
    rs_json_put_close(&j);
    rs_json_put_open(&j, "runs", '[', RS_JSON_LINES);
    for (size_t i = 0; i < side->n; i++) write_run(&j, &side->runs[i]);
    rs_json_put_close(&j);
    rs_json_put_close(&j);
    rs_writer_char(w, '\n');
    return rs_writer_finish(w, err);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

bool rs_regress_is_saved(const void *bytes, size_t n)
{
    rs_json_reader r;
    rs_json_reader_init(&r, bytes, n);
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return false;
    return rs_json_next(&r) == RS_JSON_T_KEY && rs_json_is(&r, "rankscope_regress");
}

typedef struct loading {
    rs_json_reader r;
    rs_regress_side *side;
    const char *name;
    rs_error *err;
    char *scratch;
    size_t capacity;
    uint32_t *texts; /* by place: ids of the side */
    size_t n_texts, texts_capacity;
} loading;

static rs_status bad(loading *l, const char *what)
{
    return rs_fail_at(l->err, RS_ERR_FORMAT, l->name, rs_json_at(&l->r),
                      "is no stored summary of regress that can be read: %s; make it again with --save",
                      what);
}

static rs_status expect(loading *l, rs_json_token token, const char *what)
{
    return rs_json_next(&l->r) == token ? RS_OK : bad(l, what);
}

static rs_status whole(loading *l, int64_t *out)
{
    if (rs_json_next(&l->r) == RS_JSON_T_NUMBER && rs_json_int(l->r.text.bytes, l->r.text.length, out))
        return RS_OK;
    return bad(l, "a whole number is missing");
}

/* The text of the string token that was read, in scratch. */
static rs_status decode(loading *l, size_t *n)
{
    bool repaired;
    if (!rs_grow((void **)&l->scratch, &l->capacity, 3 * l->r.text.length + 1, 1))
        return rs_fail_nomem(l->err, l->name);
    *n = rs_json_decode(l->r.text.bytes, l->r.text.length, l->scratch, &repaired);
    l->scratch[*n] = '\0';
    return strlen(l->scratch) == *n ? RS_OK : bad(l, "a text has a zero in it");
}

/* A place in texts. */
static rs_status text_id(loading *l, int64_t place, uint32_t *id)
{
    if (place < 0 || (uint64_t)place >= l->n_texts) return bad(l, "a text is not in the list");
    *id = l->texts[place];
    return RS_OK;
}

static rs_status read_texts(loading *l)
{
    RS_TRY(expect(l, RS_JSON_T_ARRAY, "texts are no list"));
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        size_t n = 0;
        if (t == RS_JSON_T_ARRAY_END) return RS_OK;
        if (t != RS_JSON_T_STRING) return bad(l, "a text is missing");
        RS_TRY(decode(l, &n));
        uint32_t id = rs_strings_add(&l->side->texts, l->scratch, n);
        if (id == RS_NO_STRING || !RS_PUSH(l->texts, l->n_texts, l->texts_capacity, id))
            return rs_fail_nomem(l->err, l->name);
    }
}

/* A copy of the text that comes. */
static rs_status copy(loading *l, char **out)
{
    size_t n;
    RS_TRY(expect(l, RS_JSON_T_STRING, "a text is missing"));
    RS_TRY(decode(l, &n));
    char *text = rs_strdup(l->scratch);
    if (!text) return rs_fail_nomem(l->err, l->name);
    rs_free(*out);
    *out = text;
    return RS_OK;
}

static rs_status read_steps(loading *l, rs_one_run *run)
{
    RS_TRY(expect(l, RS_JSON_T_ARRAY, "steps are no list"));
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_ARRAY_END) return RS_OK;
        if (t != RS_JSON_T_ARRAY) return bad(l, "a step is no pair");
        rs_run_step step = {0};
        RS_TRY(whole(l, &step.number));
        RS_TRY(whole(l, &step.sum));
        RS_TRY(expect(l, RS_JSON_T_ARRAY_END, "a step is no pair"));
        if (run->n_steps && step.number <= run->steps[run->n_steps - 1].number)
            return bad(l, "steps are out of order");
        if (step.sum < 0) return bad(l, "a step has a negative length");
        if (!RS_PUSH(run->steps, run->n_steps, run->steps_capacity, step))
            return rs_fail_nomem(l->err, l->name);
    }
}

static rs_status read_part(loading *l, rs_run_part *out)
{
    int64_t values[8];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) RS_TRY(whole(l, &values[i]));
    RS_TRY(expect(l, RS_JSON_T_ARRAY_END, "a part has more than eight members"));
    *out = (rs_run_part){.sum = values[5], .count = values[6], .work = values[7]};
    RS_TRY(text_id(l, values[0], &out->part));
    RS_TRY(text_id(l, values[1], &out->name));
    RS_TRY(text_id(l, values[2], &out->operator_name));
    RS_TRY(text_id(l, values[3], &out->phase));
    RS_TRY(text_id(l, values[4], &out->group));
    return out->count < 0 || out->work < 0 ? bad(l, "a part has a negative count") : RS_OK;
}

static rs_status read_parts(loading *l, rs_run_parts *parts)
{
    RS_TRY(expect(l, RS_JSON_T_ARRAY, "parts are no list"));
    parts->known = true;
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        rs_run_part part;
        if (t == RS_JSON_T_ARRAY_END) return RS_OK;
        if (t != RS_JSON_T_ARRAY) return bad(l, "a part is no list");
        RS_TRY(read_part(l, &part));
        if (!rs_run_add_part(parts, &part)) return rs_fail_nomem(l->err, l->name);
    }
}

static rs_status read_clocks(loading *l, rs_run_clocks *out)
{
    RS_TRY(expect(l, RS_JSON_T_ARRAY, "clocks are no list"));
    RS_TRY(whole(l, &out->n));
    RS_TRY(whole(l, &out->loose));
    RS_TRY(whole(l, &out->width));
    if (out->n < 0 || out->loose < 0 || out->width < 0) return bad(l, "clocks are negative");
    return expect(l, RS_JSON_T_ARRAY_END, "clocks have more than three members");
}

static rs_status read_program(loading *l, rs_one_run *run)
{
    RS_TRY(expect(l, RS_JSON_T_ARRAY, "a program is no list"));
    for (;;) {
        rs_run_token token;
        int64_t name, operator_name;
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_ARRAY_END) return RS_OK;
        if (t != RS_JSON_T_NUMBER || !rs_json_int(l->r.text.bytes, l->r.text.length, &name))
            return bad(l, "a program is cut");
        RS_TRY(whole(l, &operator_name));
        RS_TRY(text_id(l, name, &token.name));
        RS_TRY(text_id(l, operator_name, &token.operator_name));
        if (!RS_PUSH(run->tokens, run->n_tokens, run->tokens_capacity, token))
            return rs_fail_nomem(l->err, l->name);
    }
}

static rs_status read_members(loading *l, rs_one_run *run, int64_t *partial)
{
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_OBJECT_END) return RS_OK;
        if (t != RS_JSON_T_KEY) return bad(l, "a run is cut");
        if (rs_json_is(&l->r, "label"))
            RS_TRY(copy(l, &run->label));
        else if (rs_json_is(&l->r, "ranks"))
            RS_TRY(whole(l, &run->n_ranks));
        else if (rs_json_is(&l->r, "partial"))
            RS_TRY(whole(l, partial));
        else if (rs_json_is(&l->r, "steps"))
            RS_TRY(read_steps(l, run));
        else if (rs_json_is(&l->r, method_names[RS_REGRESS_PATH]))
            RS_TRY(read_parts(l, &run->parts[RS_REGRESS_PATH]));
        else if (rs_json_is(&l->r, method_names[RS_REGRESS_EXPOSED]))
            RS_TRY(read_parts(l, &run->parts[RS_REGRESS_EXPOSED]));
        else if (rs_json_is(&l->r, "clocks"))
            RS_TRY(read_clocks(l, &run->clocks));
        else if (rs_json_is(&l->r, "refused"))
            RS_TRY(copy(l, &run->refused));
        else if (rs_json_is(&l->r, "mesh"))
            RS_TRY(copy(l, &run->mesh));
        else if (rs_json_is(&l->r, "program"))
            RS_TRY(read_program(l, run));
        else if (!rs_json_skip_value(&l->r))
            return bad(l, "a run is cut");
    }
}

static rs_status read_run(loading *l)
{
    rs_one_run *run = rs_side_add(l->side, "");
    int64_t partial = 0, samples, sum;
    if (!run) return rs_fail_nomem(l->err, l->name);
    RS_TRY(read_members(l, run, &partial));
    if (run->n_ranks < 0 || partial < 0 || run->n_ranks > INT32_MAX) return bad(l, "a count is out of range");
    if (run->n_steps && !run->n_ranks) return bad(l, "a run has steps and no ranks");
    run->n_partial = (size_t)partial;
    run->per_step = l->side->step == RS_REGRESS_STEP_JOB ? 1 : run->n_ranks;
    RS_TRY(rs_run_settle(run, l->err));
    rs_run_total(run, &samples, &sum);
    for (int k = 0; k < 2; k++) {
        int64_t parts = 0;
        if (!rs_run_sort_parts(l->side, &run->parts[k])) return rs_fail_nomem(l->err, l->name);
        for (size_t i = 0; i < run->parts[k].n; i++) parts = rs_add_sat(parts, run->parts[k].items[i].sum);
        if (run->parts[k].known && parts != sum)
            return bad(l, "the parts of a run do not add up to its steps");
    }
    return RS_OK;
}

static rs_status read_kind(loading *l)
{
    size_t n;
    RS_TRY(expect(l, RS_JSON_T_STRING, "a text is missing"));
    RS_TRY(decode(l, &n));
    if (strcmp(l->scratch, step_names[l->side->step]) == 0) return RS_OK;
    for (int k = 0; k < 2; k++)
        if (strcmp(l->scratch, step_names[k]) == 0)
            return rs_fail(l->err, RS_ERR_USAGE, "%.200s was saved with --step %s: give that here, too",
                           l->name, step_names[k]);
    return bad(l, "its steps are of no known kind");
}

static rs_status read_all(loading *l)
{
    int64_t version = 0;
    bool has_runs = false;
    RS_TRY(expect(l, RS_JSON_T_OBJECT, "it is no object"));
    if (rs_json_next(&l->r) != RS_JSON_T_KEY || !rs_json_is(&l->r, "rankscope_regress"))
        return bad(l, "its first key is not rankscope_regress");
    RS_TRY(whole(l, &version));
    if (version != VERSION) return bad(l, "it is of another version");
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_OBJECT_END) return has_runs ? RS_OK : bad(l, "it has no runs");
        if (t != RS_JSON_T_KEY) return bad(l, "it is cut");
        if (rs_json_is(&l->r, "step")) {
            RS_TRY(read_kind(l));
            continue;
        }
        if (rs_json_is(&l->r, "texts")) {
            RS_TRY(read_texts(l));
            continue;
        }
        if (!rs_json_is(&l->r, "runs")) {
            rs_json_skip_value(&l->r); /* cut: then what comes next is no key */
            continue;
        }
        has_runs = true;
        RS_TRY(expect(l, RS_JSON_T_ARRAY, "runs are no list"));
        for (;;) {
            t = rs_json_next(&l->r);
            if (t == RS_JSON_T_ARRAY_END) break;
            if (t != RS_JSON_T_OBJECT) return bad(l, "a run is no object");
            RS_TRY(read_run(l));
        }
    }
}

rs_status rs_regress_read(rs_regress_side *side, const void *bytes, size_t n, const char *name, rs_error *err)
{
    loading l = {.side = side, .name = name, .err = err};
    size_t before = side->n;
    rs_json_reader_init(&l.r, bytes, n);
    rs_status status = read_all(&l);
    rs_free_all(l.scratch, l.texts);
    while (status != RS_OK && side->n > before) rs_run_clear(&side->runs[--side->n]);
    return status;
}
