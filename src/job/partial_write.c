#include <string.h>

#include "base/layout.h"
#include "base/wire.h"
#include "job/job_internal.h"
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

static void write_problems(rs_wire_writer *w, const rs_problems *list)
{
    rs_wire_put_unsigned(w, list->n_dropped);
    rs_wire_put_unsigned(w, list->n);
    for (size_t i = 0; i < list->n; i++) {
        const rs_problem *p = &list->items[i];
        rs_wire_put_text(w, p->kind);
        rs_wire_put_text(w, p->message);
        rs_wire_put_text(w, p->file);
        rs_wire_put_text(w, p->detail);
        rs_wire_put_signed(w, p->rank);
        rs_wire_put_unsigned(w, p->severity);
        rs_wire_put_unsigned(w, p->count);
        rs_wire_put_unsigned(w, p->n_offsets);
        for (unsigned k = 0; k < p->n_offsets; k++) rs_wire_put_unsigned(w, p->offsets[k]);
    }
}

/* A window does not travel, so steps are all there is to tell. */
static void write_selected(rs_wire_writer *w, const rs_selected *selected)
{
    rs_wire_put_unsigned(w, selected->any);
    rs_wire_put_unsigned(w, selected->any_step);
    rs_wire_put_unsigned(w, selected->steps.n);
    for (size_t i = 0; i < selected->steps.n; i++) rs_wire_put_signed(w, selected->steps.items[i].first);
}

static void write_share(rs_wire_writer *w, const rs_question *q, const rs_share *share)
{
    rs_error none = RS_ERROR_INIT;
    rs_wire_put_unsigned(w, share->status);
    if (share->status != RS_OK) {
        if (!share->error) rs_fail_nomem(&none, "run");
        write_error(w, share->error ? share->error : &none);
        return;
    }
    rs_wire_put_text(w, share->domain_rule);
    write_problems(w, &share->problems);
    rs_wire_put_unsigned(w, share->n_units);
    for (size_t k = 0; k < share->n_units; k++) {
        const rs_rank_part *u = &share->units[k];
        rs_wire_put_signed(w, u->rank);
        rs_wire_put_signed(w, u->first);
        rs_wire_put_text(w, u->rule);
        write_selected(w, &u->selected);
        rs_wire_put_unsigned(w, u->value != NULL);
        if (u->value) rs_layout_pack(q->analysis->partial_layout, u->value, w);
    }
}

/* A share behind its length; scratch is kept for the next one. */
static void write_block(rs_wire_writer *w, const rs_question *q, const rs_share *share,
                        rs_wire_writer *scratch)
{
    scratch->n = 0;
    write_share(scratch, q, share);
    if (scratch->out_of_memory) w->out_of_memory = true;
    rs_wire_put_unsigned(w, scratch->n);
    rs_wire_put(w, scratch->bytes, scratch->n);
}

static void write_settings(rs_wire_writer *w, const rs_job_settings *s)
{
    const bool flags[] = {s->renumber, s->single_rank, s->include_last_step, s->absolute};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) rs_wire_put_unsigned(w, flags[i]);
    rs_wire_put_text(w, s->ranks);
    rs_wire_put_text(w, s->steps);
}

void rs_partials_seal(rs_bytes *packed)
{
    uint8_t *bytes = packed->data;
    uint64_t head[2] = {packed->n - RS_PARTIAL_HEAD,
                        rs_hash_bytes(bytes + RS_PARTIAL_HEAD, packed->n - RS_PARTIAL_HEAD)};
    memcpy(bytes, RS_PARTIAL_MAGIC, 8);
    for (unsigned i = 0; i < 16; i++) bytes[8 + i] = (uint8_t)(head[i / 8] >> 8 * (i % 8));
}

void rs_partials_begin(rs_wire_writer *w, const rs_job_settings *settings, const rs_question *questions,
                       size_t n)
{
    const uint8_t head[RS_PARTIAL_HEAD] = {0};
    rs_wire_put(w, head, sizeof head);
    rs_wire_put_text(w, rs_version());
    rs_wire_put_unsigned(w, RS_PARTIAL_FORMAT);
    write_settings(w, settings);
    rs_wire_put_unsigned(w, n);
    for (size_t k = 0; k < n; k++) {
        rs_wire_put_text(w, questions[k].analysis->name);
        rs_wire_put_unsigned(w, questions[k].run.compat);
        rs_wire_put_fixed(w, rs_options_fingerprint(questions[k].run.options));
        rs_wire_put_fixed(w, rs_layout_fingerprint(questions[k].analysis->partial_layout));
    }
}

rs_status rs_partials_write(const rs_job *job, const rs_question *questions, const rs_question *trimmed,
                            size_t n, rs_bytes *out, rs_error *err)
{
    rs_wire_writer w = {0}, scratch = {0};
    rs_partials_begin(&w, &job->settings, questions, n);
    rs_wire_put_unsigned(&w, job->n_inputs);
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_wire_put_text(&w, job->inputs[i].path);
        rs_wire_put_unsigned(&w, job->inputs[i].from_directory);
        rs_wire_put_text(&w, job->inputs[i].instead);
        for (size_t k = 0; k < n; k++) {
            write_block(&w, &questions[k], &questions[k].shares[i], &scratch);
            bool has = trimmed[k].shares && trimmed[k].shares[i].path;
            rs_wire_put_unsigned(&w, has);
            if (has) write_block(&w, &trimmed[k], &trimmed[k].shares[i], &scratch);
        }
    }
    rs_wire_clear(&scratch);
    if (w.out_of_memory) {
        rs_wire_clear(&w);
        return rs_fail_nomem(err, "packed partial results");
    }
    *out = (rs_bytes){w.bytes, w.n};
    rs_partials_seal(out);
    return RS_OK;
}
