/* Verdicts as values: made of a judgement, shared by results, stored. */
#include "verdict/verdicts.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"

struct rs_verdicts {
    rs_verdict_list list;
    rs_arena arena; /* all that the list points to */
    atomic_uint shares;
};

static rs_verdicts *create(void)
{
    rs_verdicts *v = rs_calloc(1, sizeof *v);
    if (v) atomic_init(&v->shares, 1);
    return v;
}

rs_verdicts *rs_verdicts_hold(rs_verdicts *v)
{
    if (v) atomic_fetch_add(&v->shares, 1);
    return v;
}

void rs_verdicts_free(rs_verdicts *v)
{
    if (!v || atomic_fetch_sub(&v->shares, 1) != 1) return;
    rs_arena_clear(&v->arena);
    rs_free(v);
}

const rs_verdict_list *rs_verdicts_get(const rs_verdicts *v)
{
    return &v->list;
}

/* ---- names -------------------------------------------------------------------------------------------------- */

const char *rs_verdict_kind_name(rs_verdict_kind kind)
{
    static const char *const names[] = {"finding", "opportunity", "healthy", "refused"};
    return names[kind];
}

const char *rs_culprit_kind_name(rs_culprit_kind kind)
{
    static const char *const names[] = {"rank", "host", "group", "stage", "kernel", "call", "line"};
    return names[kind];
}

/* ---- making ------------------------------------------------------------------------------------------------- */

/* A text of the list's own; NULL when out of memory. The text is cleared. */
static const char *keep(rs_arena *arena, rs_text *text)
{
    const char *s = rs_text_get(text), *kept = s ? rs_arena_strndup(arena, s, text->n) : NULL;
    rs_text_clear(text);
    return kept;
}

static bool same_culprit(const rs_culprit *a, const rs_culprit *b)
{
    return a->kind == b->kind && a->number == b->number && !a->name == !b->name &&
           (!a->name || strcmp(a->name, b->name) == 0);
}

static bool copy_culprit(const rs_culprit *from, rs_culprit *to, rs_arena *arena)
{
    int64_t *ranks = rs_arena_alloc(arena, (from->n_ranks + 1) * sizeof *ranks);
    const char **hosts = rs_arena_alloc(arena, (from->n_hosts + 1) * sizeof *hosts);
    *to = *from;
    if (!ranks || !hosts) return false;
    if (from->n_ranks) memcpy(ranks, from->ranks, from->n_ranks * sizeof *ranks);
    to->ranks = ranks;
    to->hosts = hosts;
    for (size_t i = 0; i < from->n_hosts; i++) {
        hosts[i] = rs_arena_strndup(arena, from->hosts[i], strlen(from->hosts[i]));
        if (!hosts[i]) return false;
    }
    if (from->name) to->name = rs_arena_strndup(arena, from->name, strlen(from->name));
    return !from->name || to->name;
}

/* Those of all candidates, each once. */
static bool take_culprits(const rs_candidate *const *all, size_t n, rs_verdict *v, rs_arena *arena)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) most += all[i]->n_culprits;
    rs_culprit *out = rs_arena_alloc(arena, (most + 1) * sizeof *out);
    for (size_t i = 0; out && i < n; i++)
        for (size_t k = 0; k < all[i]->n_culprits; k++) {
            size_t at = 0;
            while (at < v->n_culprits && !same_culprit(&out[at], &all[i]->culprits[k])) at++;
            if (at < v->n_culprits) continue;
            if (!copy_culprit(&all[i]->culprits[k], &out[v->n_culprits++], arena)) return false;
        }
    v->culprits = out;
    return out != NULL;
}

/* The replay that shows the numbers. */
static bool take_evidence(const rs_candidate *const *all, size_t n, rs_verdict *v, rs_arena *arena)
{
    rs_text edits = {0};
    rs_evidence *e = rs_arena_alloc(arena, sizeof *e);
    rs_evidence_option *o = rs_arena_alloc(arena, sizeof *o);
    rs_judge_print_edits(all, n, &edits);
    const char *value = keep(arena, &edits);
    if (!e || !o || !value) return false;
    *o = (rs_evidence_option){"what-if", value};
    *e = (rs_evidence){"replay", o, 1};
    v->evidence = e;
    v->n_evidence = 1;
    return true;
}

static const rs_verdict nothing = {.size = sizeof(rs_verdict),
                                   .before_us = NAN,
                                   .after_us = NAN,
                                   .after_low_us = NAN,
                                   .after_high_us = NAN,
                                   .gain_pct = NAN,
                                   .gain_low_pct = NAN,
                                   .gain_high_pct = NAN,
                                   .bound_us = NAN};

static bool take_row(const rs_judged_row *row, rs_verdict *v, rs_arena *arena)
{
    const rs_candidate *c = row->candidate, *all[RS_JUDGE_WITH + 1] = {c};
    const rs_foretold *a = &row->answer;
    rs_text sentence = {0}, claim = {0};
    if (row->n_with) memcpy(all + 1, row->with, row->n_with * sizeof *all);
    rs_words_sentence(row, &sentence);
    rs_words_claim(c, &claim);
    *v = nothing;
    v->kind = c->kind;
    v->sensitivity = c->fault->sensitivity;
    v->id = c->fault->id;
    v->steps = a->steps;
    v->before_us = a->before;
    v->after_us = a->after;
    /* the interval is one of gains: the last digit of a difference must not leave the step outside of it */
    v->after_low_us = fmin(a->before - a->high, a->after);
    v->after_high_us = fmax(a->before - a->low, a->after);
    v->gain_pct = a->pct;
    v->gain_low_pct = 100 * a->low / a->before;
    v->gain_high_pct = 100 * a->high / a->before;
    v->bound_us = row->answer.bound;
    v->text = keep(arena, &sentence);
    v->claim = keep(arena, &claim);
    v->remedy = c->fault->remedy;
    v->assumption = a->assumption;
    return v->text && v->claim && take_culprits(all, 1 + row->n_with, v, arena) &&
           take_evidence(all, 1 + row->n_with, v, arena);
}

static bool take_unexamined(const rs_unexamined *from, rs_unexamined *to, rs_arena *arena)
{
    *to = (rs_unexamined){.id = from->id,
                          .reason = rs_arena_strndup(arena, from->reason, strlen(from->reason))};
    if (from->what) to->what = rs_arena_strndup(arena, from->what, strlen(from->what));
    return to->reason && (!from->what || to->what);
}

static bool take_all(const rs_judgement *j, rs_verdicts *out)
{
    rs_verdict_list *l = &out->list;
    l->items = rs_arena_alloc(&out->arena, (j->n + 2) * sizeof *l->items);
    l->late = rs_arena_alloc(&out->arena, (j->n_late + 1) * sizeof *l->late);
    l->unexamined = rs_arena_alloc(&out->arena, (j->n_missed + 1) * sizeof *l->unexamined);
    if (!l->items || !l->late || !l->unexamined) return false;
    if (j->n_late) memcpy(l->late, j->late, j->n_late * sizeof *l->late);
    l->n_late = j->n_late;
    for (size_t i = 0; i < j->n_missed; i++)
        if (!take_unexamined(&j->missed[i], &l->unexamined[l->n_unexamined++], &out->arena)) return false;
    if (!j->n || j->rows[0].candidate->fault->sensitivity) {
        rs_text text = {0};
        rs_verdict *v = &l->items[l->n++];
        *v = nothing;
        v->kind = RS_VERDICT_HEALTHY;
        v->steps = (int64_t)j->n_steps;
        v->before_us = j->before;
        rs_words_healthy(j, &text);
        if (!(v->text = keep(&out->arena, &text))) return false;
    }
    for (size_t i = 0; i < j->n; i++)
        if (!take_row(&j->rows[i], &l->items[l->n++], &out->arena)) return false;
    return true;
}

rs_status rs_verdicts_refuse(const char *reason, rs_verdicts **out, rs_error *err)
{
    rs_verdicts *v = create();
    rs_text text = {0};
    rs_verdict *one = v ? rs_arena_alloc(&v->arena, sizeof *one) : NULL;
    rs_words_refused(reason, &text);
    if (one) {
        *one = nothing;
        one->kind = RS_VERDICT_REFUSED;
        one->reason = rs_arena_strndup(&v->arena, reason, strlen(reason));
        one->text = keep(&v->arena, &text);
        v->list = (rs_verdict_list){.items = one, .n = 1};
    }
    rs_text_clear(&text);
    if (one && one->reason && one->text) {
        *out = v;
        return RS_OK;
    }
    rs_verdicts_free(v);
    return rs_fail_nomem(err, "a verdict");
}

rs_status rs_verdicts_make(const rs_judgement *j, rs_verdicts **out, rs_error *err)
{
    *out = NULL;
    if (j->reason) return rs_verdicts_refuse(j->reason, out, err);
    rs_verdicts *v = create();
    if (v && take_all(j, v)) {
        *out = v;
        return RS_OK;
    }
    rs_verdicts_free(v);
    return rs_fail_nomem(err, "a verdict");
}

/* ---- stored ------------------------------------------------------------------------------------------------- */

static const rs_field culprit_fields[] = {
    RS_FIELD_BELOW(rs_culprit, kind, RS_CULPRIT_LINE + 1),
    RS_FIELD(rs_culprit, number),
    RS_FIELD_OR_NULL(rs_culprit, name),
    RS_FIELD_VALUES(rs_culprit, ranks, n_ranks),
    RS_FIELD_VALUES(rs_culprit, hosts, n_hosts),
};
static const rs_layout culprit_layout = RS_LAYOUT(rs_culprit, culprit_fields);

static const rs_field option_fields[] = {RS_FIELD(rs_evidence_option, name),
                                         RS_FIELD_OR_NULL(rs_evidence_option, value)};
static const rs_layout option_layout = RS_LAYOUT(rs_evidence_option, option_fields);

static const rs_field evidence_fields[] = {RS_FIELD(rs_evidence, command),
                                           RS_FIELD_LIST(rs_evidence, options, n_options, &option_layout)};
static const rs_layout evidence_layout = RS_LAYOUT(rs_evidence, evidence_fields);

static const rs_field verdict_fields[] = {
    RS_FIELD(rs_verdict, size),
    RS_FIELD_BELOW(rs_verdict, kind, RS_VERDICT_REFUSED + 1),
    RS_FIELD(rs_verdict, sensitivity),
    RS_FIELD_OR_NULL(rs_verdict, id),
    RS_FIELD_LIST(rs_verdict, culprits, n_culprits, &culprit_layout),
    RS_FIELD(rs_verdict, steps),
    RS_FIELD(rs_verdict, before_us),
    RS_FIELD(rs_verdict, after_us),
    RS_FIELD(rs_verdict, after_low_us),
    RS_FIELD(rs_verdict, after_high_us),
    RS_FIELD(rs_verdict, gain_pct),
    RS_FIELD(rs_verdict, gain_low_pct),
    RS_FIELD(rs_verdict, gain_high_pct),
    RS_FIELD(rs_verdict, bound_us),
    RS_FIELD(rs_verdict, text),
    RS_FIELD_OR_NULL(rs_verdict, claim),
    RS_FIELD_OR_NULL(rs_verdict, remedy),
    RS_FIELD_OR_NULL(rs_verdict, assumption),
    RS_FIELD_OR_NULL(rs_verdict, reason),
    RS_FIELD_LIST(rs_verdict, evidence, n_evidence, &evidence_layout),
};

static bool is_ours(const void *value)
{
    return ((const rs_verdict *)value)->size == sizeof(rs_verdict);
}
static const rs_layout verdict_layout = RS_LAYOUT_CHECKED(rs_verdict, verdict_fields, is_ours);

static const rs_field late_fields[] = {RS_FIELD(rs_lateness, rank), RS_FIELD(rs_lateness, cause),
                                       RS_FIELD(rs_lateness, wait_us), RS_FIELD(rs_lateness, of_cause_us)};
static const rs_layout late_layout = RS_LAYOUT(rs_lateness, late_fields);

static const rs_field unexamined_fields[] = {
    RS_FIELD(rs_unexamined, id), RS_FIELD_OR_NULL(rs_unexamined, what), RS_FIELD(rs_unexamined, reason)};
static const rs_layout unexamined_layout = RS_LAYOUT(rs_unexamined, unexamined_fields);

static const rs_field list_fields[] = {
    RS_FIELD_LIST(rs_verdict_list, items, n, &verdict_layout),
    RS_FIELD_LIST(rs_verdict_list, late, n_late, &late_layout),
    RS_FIELD_LIST(rs_verdict_list, unexamined, n_unexamined, &unexamined_layout)};
static const rs_layout list_layout = RS_LAYOUT(rs_verdict_list, list_fields);

void rs_verdicts_pack(const rs_verdicts *v, rs_wire_writer *w)
{
    rs_layout_pack(&list_layout, &v->list, w);
}

rs_verdicts *rs_verdicts_unpack(rs_wire_reader *r)
{
    rs_verdicts *v = create();
    rs_arena *arena = r->arena;
    if (!v) {
        r->bad = r->out_of_memory = true;
        return NULL;
    }
    r->arena = &v->arena;
    const rs_verdict_list *list = rs_layout_unpack(&list_layout, r);
    r->arena = arena;
    if (list && !r->bad) {
        v->list = *list;
        return v;
    }
    r->bad = true;
    rs_verdicts_free(v);
    return NULL;
}

/* ---- of a result -------------------------------------------------------------------------------------------- */

size_t rs_result_n_verdicts(const rs_result *result)
{
    return result->verdicts ? result->verdicts->list.n : 0;
}

const rs_verdict *rs_result_verdict(const rs_result *result, size_t i)
{
    return i < rs_result_n_verdicts(result) ? &result->verdicts->list.items[i] : NULL;
}

size_t rs_result_n_lateness(const rs_result *result)
{
    return result->verdicts ? result->verdicts->list.n_late : 0;
}

size_t rs_result_n_unexamined(const rs_result *result)
{
    return result->verdicts ? result->verdicts->list.n_unexamined : 0;
}

const rs_unexamined *rs_result_unexamined(const rs_result *result, size_t i)
{
    return i < rs_result_n_unexamined(result) ? &result->verdicts->list.unexamined[i] : NULL;
}

const rs_lateness *rs_result_lateness(const rs_result *result, size_t i)
{
    return i < rs_result_n_lateness(result) ? &result->verdicts->list.late[i] : NULL;
}
