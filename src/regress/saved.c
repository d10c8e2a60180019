/* What a base needs, kept without its traces:
 *
 *     {"rankscope_regress": 1, "runs": [{"label": "nightly/1", "ranks": 8, "partial": 0,
 *       "steps": [[number, ns over all ranks], ...], "parts": [["computation", "kernel", ns, count], ...]}]}
 *
 * Which steps are settled is found again when it is read, by the same rule. */
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "input/json.h"
#include "regress/run.h"
#include "text/writer.h"

#define VERSION 1

/* ---- writing ------------------------------------------------------------------------------------------- */

static void write_string(rs_writer *w, const char *text)
{
    rs_writer_json_string(w, text, strlen(text));
}

static void write_run(rs_writer *w, const rs_regress_side *side, const rs_one_run *run)
{
    rs_writer_text(w, "{\"label\": ");
    write_string(w, run->label);
    rs_writer_text(w, ", \"ranks\": ");
    rs_writer_int(w, run->n_ranks);
    rs_writer_text(w, ", \"partial\": ");
    rs_writer_int(w, (int64_t)run->n_partial);
    rs_writer_text(w, ",\n   \"steps\": [");
    for (size_t i = 0; i < run->n_steps; i++) {
        rs_writer_text(w, i ? ", [" : "[");
        rs_writer_int(w, run->steps[i].number);
        rs_writer_char(w, ',');
        rs_writer_int(w, run->steps[i].sum);
        rs_writer_char(w, ']');
    }
    rs_writer_text(w, "],\n   \"parts\": [");
    for (size_t i = 0; i < run->n_parts; i++) {
        const rs_run_part *p = &run->parts[i];
        rs_writer_text(w, i ? ",\n    [" : "\n    [");
        write_string(w, side->texts.items[p->part].text);
        rs_writer_text(w, ", ");
        write_string(w, side->texts.items[p->name].text);
        rs_writer_text(w, ", ");
        rs_writer_int(w, p->sum);
        rs_writer_text(w, ", ");
        rs_writer_int(w, p->count);
        rs_writer_char(w, ']');
    }
    rs_writer_text(w, "]}");
}

rs_status rs_regress_save(const rs_regress_side *side, const rs_sink *sink, rs_error *err)
{
    rs_writer *w = rs_malloc(sizeof *w);
    if (!w) return rs_fail_nomem(err, "a writer");
    rs_writer_init(w, sink);
    rs_writer_text(w, "{\"rankscope_regress\": ");
    rs_writer_int(w, VERSION);
    rs_writer_text(w, ", \"runs\": [");
    for (size_t i = 0; i < side->n; i++) {
        rs_writer_text(w, i ? ",\n  " : "\n  ");
        write_run(w, side, &side->runs[i]);
    }
    rs_writer_text(w, "\n]}\n");
    rs_status status = rs_writer_finish(w, err);
    rs_free(w);
    return status;
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

/* The string token's text, decoded, in scratch. */
static rs_status string(loading *l, size_t *n)
{
    if (rs_json_next(&l->r) != RS_JSON_T_STRING) return bad(l, "a text is missing");
    bool repaired;
    if (!rs_grow((void **)&l->scratch, &l->capacity, 3 * l->r.text.length + 1, 1))
        return rs_fail_nomem(l->err, l->name);
    *n = rs_json_decode(l->r.text.bytes, l->r.text.length, l->scratch, &repaired);
    l->scratch[*n] = '\0';
    return RS_OK;
}

static rs_status text_id(loading *l, uint32_t *id)
{
    size_t n;
    RS_TRY(string(l, &n));
    *id = rs_strings_add(&l->side->texts, l->scratch, n);
    return *id == RS_NO_STRING ? rs_fail_nomem(l->err, l->name) : RS_OK;
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
        if (!RS_GROW_ONE(run->steps, run->n_steps, run->steps_capacity))
            return rs_fail_nomem(l->err, l->name);
        run->steps[run->n_steps++] = step;
    }
}

static rs_status read_parts(loading *l, rs_one_run *run)
{
    RS_TRY(expect(l, RS_JSON_T_ARRAY, "parts are no list"));
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_ARRAY_END) return RS_OK;
        if (t != RS_JSON_T_ARRAY) return bad(l, "a part is no list");
        uint32_t part = 0, name = 0;
        int64_t sum = 0, count = 0;
        RS_TRY(text_id(l, &part));
        RS_TRY(text_id(l, &name));
        RS_TRY(whole(l, &sum));
        RS_TRY(whole(l, &count));
        RS_TRY(expect(l, RS_JSON_T_ARRAY_END, "a part has more than four members"));
        if (count < 0) return bad(l, "a part has a negative count");
        if (!rs_run_add_part(run, part, name, sum, count)) return rs_fail_nomem(l->err, l->name);
    }
}

static rs_status read_run(loading *l)
{
    rs_one_run *run = rs_side_add(l->side, "");
    int64_t partial = 0;
    size_t n;
    if (!run) return rs_fail_nomem(l->err, l->name);
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_OBJECT_END) break;
        if (t != RS_JSON_T_KEY) return bad(l, "a run is cut");
        if (rs_json_is(&l->r, "label")) {
            RS_TRY(string(l, &n));
            char *label = rs_strdup(l->scratch);
            if (!label) return rs_fail_nomem(l->err, l->name);
            rs_free(run->label);
            run->label = label;
        } else if (rs_json_is(&l->r, "ranks")) {
            RS_TRY(whole(l, &run->n_ranks));
        } else if (rs_json_is(&l->r, "partial")) {
            RS_TRY(whole(l, &partial));
        } else if (rs_json_is(&l->r, "steps")) {
            RS_TRY(read_steps(l, run));
        } else if (rs_json_is(&l->r, "parts")) {
            RS_TRY(read_parts(l, run));
        } else if (!rs_json_skip_value(&l->r)) {
            return bad(l, "a run is cut");
        }
    }
    if (run->n_ranks < 0 || partial < 0 || run->n_ranks > INT32_MAX) return bad(l, "a count is out of range");
    if (run->n_steps && !run->n_ranks) return bad(l, "a run has steps and no ranks");
    run->n_partial = (size_t)partial;
    if (!rs_run_sort_parts(l->side, run)) return rs_fail_nomem(l->err, l->name);
    RS_TRY(rs_run_settle(run, l->err));
    int64_t samples, sum, parts = 0;
    rs_run_total(run, &samples, &sum);
    for (size_t i = 0; i < run->n_parts; i++) parts = rs_add_sat(parts, run->parts[i].sum);
    return parts == sum ? RS_OK : bad(l, "the parts of a run do not add up to its steps");
}

static rs_status read_all(loading *l)
{
    int64_t version = 0;
    RS_TRY(expect(l, RS_JSON_T_OBJECT, "it is no object"));
    if (rs_json_next(&l->r) != RS_JSON_T_KEY || !rs_json_is(&l->r, "rankscope_regress"))
        return bad(l, "its first key is not rankscope_regress");
    RS_TRY(whole(l, &version));
    if (version != VERSION) return bad(l, "it is of another version");
    for (;;) {
        rs_json_token t = rs_json_next(&l->r);
        if (t == RS_JSON_T_OBJECT_END) return RS_OK;
        if (t != RS_JSON_T_KEY) return bad(l, "it is cut");
        if (!rs_json_is(&l->r, "runs")) {
            if (!rs_json_skip_value(&l->r)) return bad(l, "it is cut");
            continue;
        }
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
    rs_free(l.scratch);
    while (status != RS_OK && side->n > before) {
        rs_one_run *run = &side->runs[--side->n];
        rs_free(run->label);
        rs_free(run->steps);
        rs_free(run->parts);
    }
    return status;
}
