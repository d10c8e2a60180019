#include <string.h>

#include "base/layout.h"
#include "base/wire.h"
#include "job/job_internal.h"
#include "job/job_store.h"
#include "job/partial.h"

void rs_bytes_free(rs_bytes *bytes)
{
    rs_free(bytes->data);
    *bytes = (rs_bytes){0};
}

static void write_error(rs_wire_writer *w, const rs_error *err)
{
    rs_wire_put_unsigned(w, err->n_causes);
    for (unsigned i = 0; i < err->n_causes; i++) {
        rs_wire_put_text(w, err->causes[i].message);
        rs_wire_put_text(w, err->causes[i].file);
        rs_wire_put_unsigned(w, err->causes[i].offset);
    }
}

void rs_problems_write(rs_wire_writer *w, const rs_problems *list)
{
    rs_wire_put_unsigned(w, list->n_dropped);
    rs_wire_put_unsigned(w, list->n);
    for (size_t i = 0; i < list->n; i++) rs_wire_put_problem(w, &list->items[i]);
}

/* A window does not travel, so steps are all there is to tell. */
static void write_selected(rs_wire_writer *w, const rs_selected *selected)
{
    rs_wire_put_unsigned(w, selected->any);
    rs_wire_put_unsigned(w, selected->any_step);
    rs_wire_put_unsigned(w, selected->steps_by);
    rs_wire_put_unsigned(w, selected->steps.n);
    for (size_t i = 0; i < selected->steps.n; i++) rs_wire_put_signed(w, selected->steps.items[i].first);
}

static void write_failure(rs_wire_writer *w, const rs_error *err)
{
    rs_error none = RS_ERROR_INIT;
    if (!err) rs_fail_nomem(&none, "run");
    write_error(w, err ? err : &none);
}

/* As deep as there are rounds. */
static void write_answer(rs_wire_writer *w, const rs_question *q, const rs_answer *answer, size_t round)
{
    bool last = round == q->how.n_rounds;
    rs_wire_put_unsigned(w, answer->status);
    if (answer->status != RS_OK) {
        write_failure(w, answer->error);
        return;
    }
    rs_wire_put_unsigned(w, answer->partial != NULL);
    if (answer->partial)
        rs_layout_pack(last ? q->how.partial_layout : q->how.rounds[round].partial_layout, answer->partial,
                       w);
    if (last) return;
    rs_wire_put_unsigned(w, answer->n_next);
    for (size_t i = 0; i < answer->n_next; i++) {
        rs_wire_put_text_n(w, answer->next[i].given.data, answer->next[i].given.n);
        write_answer(w, q, &answer->next[i], round + 1);
    }
}

void rs_input_answer_write(rs_wire_writer *w, const rs_question *q, const rs_input_answer *input)
{
    rs_wire_put_unsigned(w, input->status);
    if (input->status != RS_OK) {
        write_failure(w, input->error);
        return;
    }
    rs_wire_put_text(w, input->domain_rule);
    rs_problems_write(w, &input->problems);
    rs_wire_put_unsigned(w, input->n_ranks);
    for (size_t k = 0; k < input->n_ranks; k++) {
        const rs_rank_answer *u = &input->ranks[k];
        rs_wire_put_signed(w, u->own_rank);
        rs_wire_put_text(w, u->own_rule);
        rs_wire_put_signed(w, u->begin);
        write_selected(w, &u->selected);
        rs_wire_put_unsigned(w, u->asked);
        if (u->asked) write_answer(w, q, &u->first, 0);
    }
}

static void seal(rs_bytes *packed, const char *magic)
{
    uint8_t *bytes = packed->data;
    uint64_t head[2] = {packed->n - RS_PARTIAL_HEAD,
                        rs_hash_bytes(bytes + RS_PARTIAL_HEAD, packed->n - RS_PARTIAL_HEAD)};
    memcpy(bytes, magic, 8);
    for (unsigned i = 0; i < 16; i++) bytes[8 + i] = (uint8_t)(head[i / 8] >> 8 * (i % 8));
}

void rs_partials_seal(rs_bytes *packed)
{
    seal(packed, RS_PARTIAL_MAGIC);
}

void rs_agreed_seal(rs_bytes *packed)
{
    seal(packed, RS_AGREED_MAGIC);
}

void rs_partials_begin(rs_wire_writer *w, const rs_job_settings *settings, const rs_question *questions,
                       size_t n)
{
    const uint8_t head[RS_PARTIAL_HEAD] = {0};
    rs_wire_put(w, head, sizeof head);
    rs_wire_put_text(w, rs_version());
    rs_wire_put_unsigned(w, RS_PARTIAL_FORMAT);
    rs_layout_pack(&rs_job_settings_layout, settings, w);
    rs_wire_put_unsigned(w, n);
    for (size_t k = 0; k < n; k++) {
        rs_wire_put_text(w, questions[k].analysis->name);
        rs_wire_put_unsigned(w, questions[k].run.compat);
        rs_wire_put_fixed(w, rs_options_fingerprint(questions[k].run.options));
        rs_wire_put_fixed(w, rs_method_fingerprint(&questions[k].how));
    }
}

static rs_status finish(rs_wire_writer *w, rs_bytes *out, rs_error *err)
{
    if (w->out_of_memory) {
        rs_wire_clear(w);
        return rs_fail_nomem(err, "packed partial results");
    }
    *out = (rs_bytes){w->bytes, w->n};
    return RS_OK;
}

rs_status rs_partials_write(const rs_job *job, const rs_question *questions, size_t n, rs_bytes *out,
                            rs_error *err)
{
    rs_wire_writer w = {0}, block = {0};
    rs_partials_begin(&w, &job->settings, questions, n);
    rs_wire_put_unsigned(&w, job->n_inputs);
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_wire_put_text(&w, job->inputs[i].path);
        rs_wire_put_unsigned(&w, job->inputs[i].from_directory);
        rs_wire_put_text(&w, job->inputs[i].instead);
        rs_wire_put_text(&w, job->inputs[i].role);
        for (size_t k = 0; k < n; k++) {
            block.n = 0;
            rs_input_answer_write(&block, &questions[k], &questions[k].answers[i]);
            if (block.out_of_memory) w.out_of_memory = true;
            rs_wire_put_unsigned(&w, block.n);
            rs_wire_put(&w, block.bytes, block.n);
        }
    }
    rs_wire_clear(&block);
    rs_status status = finish(&w, out, err);
    if (status == RS_OK) rs_partials_seal(out);
    return status;
}

rs_status rs_agreed_write(const rs_job_settings *settings, const rs_question *questions, size_t n,
                          rs_bytes *out, rs_error *err)
{
    rs_wire_writer w = {0};
    rs_partials_begin(&w, settings, questions, n);
    for (size_t k = 0; k < n; k++) {
        rs_wire_put_unsigned(&w, questions[k].round);
        for (size_t r = 0; r < questions[k].round; r++)
            rs_wire_put_text_n(&w, questions[k].agreed[r].packed.data, questions[k].agreed[r].packed.n);
    }
    rs_status status = finish(&w, out, err);
    if (status == RS_OK) rs_agreed_seal(out);
    return status;
}
