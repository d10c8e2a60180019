/* Questions made by hand: what a finding asks is a value from the start. */
#include <string.h>

#include "base/memory.h"
#include "engine/edits_terms.h"

const char *const rs_edit_assumptions[RS_N_EDITS] = {
    "nothing else moves",
    "ranks do equal work",
    "work is the same on every rank of a role",
    "the algorithm of the collective stays",
    "the backward pass makes gradients evenly, in the order in which they are reduced",
    "what is launched between two synchronizations can be captured",
    "data can be there in time",
    "the result is not needed where the call waited",
    "no memory traffic is saved",
    "results are not needed before the last of the merged ones; links carry 100 GB/s within a host, 25 between hosts, or more; what has no recorded size is small",
    "rings over links as fast as the recorded ones; each rank's own work stays, and what is gathered or reduced in all",
    "links stay as fast",
    "each rank's share of the work is as large as the others', and its host does the same calls",
    "experts get as many tokens from each rank as now; gradients of experts that are on several ranks are reduced as now",
    "smaller micro-batches compute as efficiently"};

static const char *const classes[] = {"computation", "communication", "memory", NULL};
static const char *const parts[] = {"host", "loader", "launch", "stream_gap", NULL};
static const rs_field_spec fields[] = {
    [RS_SELECT_NAME] = {.name = "name"},
    [RS_SELECT_OPERATOR] = {.name = "operator"},
    [RS_SELECT_CLASS] = {.name = "class", .type = RS_DATUM_WORD, .words = classes},
    [RS_SELECT_PART] = {.name = "part", .type = RS_DATUM_WORD, .words = parts},
    [RS_SELECT_RANK] = {.name = "rank", .type = RS_DATUM_WHOLE},
    [RS_SELECT_STEP] = {.name = "step", .type = RS_DATUM_WHOLE},
    [RS_SELECT_STREAM] = {.name = "stream", .type = RS_DATUM_WHOLE},
    [RS_SELECT_COLLECTIVE] = {.name = "collective"},
    [RS_SELECT_GROUP] = {.name = "group"},
    [RS_SELECT_MEMBERS] = {.name = "members", .type = RS_DATUM_WHOLE},
    [RS_SELECT_BYTES] = {.name = "bytes", .type = RS_DATUM_WHOLE},
    [RS_SELECT_US] = {.name = "us", .type = RS_DATUM_TIME},
    [RS_SELECT_BEHIND] = {.name = "behind"},
};
const rs_language rs_select_language = {
    .fields = fields, .n_fields = sizeof fields / sizeof *fields, .selector = true};

void rs_what_if_clear(rs_what_if *q)
{
    for (size_t i = 0; i < q->n; i++) {
        rs_expr_free(q->edits[i].selector);
        rs_free_all(q->edits[i].name.text, q->edits[i].other.text);
    }
    rs_free(q->edits);
    *q = (rs_what_if){0};
}

rs_edit *rs_what_if_add(rs_what_if *q, rs_edit_kind kind)
{
    if (q->failed || !RS_GROW_ONE(q->edits, q->n, q->capacity)) {
        q->failed = true;
        return NULL;
    }
    q->edits[q->n] = (rs_edit){.kind = kind, .number = -1};
    return &q->edits[q->n++];
}

static rs_expr *add_scale(rs_what_if *q, rs_scaling scaling, double factor, int64_t ns)
{
    rs_edit *e = rs_what_if_add(q, RS_EDIT_SCALE);
    if (!e) return NULL;
    e->scaling = scaling;
    e->factor = factor;
    e->ns = ns;
    e->selector = rs_expr_create(&rs_select_language);
    if (!e->selector) q->failed = true;
    return e->selector;
}

rs_expr *rs_what_if_scale_by(rs_what_if *q, double factor)
{
    return add_scale(q, RS_SCALE_BY, factor, 0);
}

rs_expr *rs_what_if_scale_to(rs_what_if *q, int64_t ns)
{
    return add_scale(q, RS_SCALE_TO, 0, ns);
}

bool rs_edit_set_name(rs_edit_name *name, const char *text, size_t n, bool whole)
{
    name->text = rs_malloc(n + 1);
    if (!name->text) return false;
    if (n) memcpy(name->text, text, n);
    name->text[n] = '\0';
    name->n = n;
    name->whole = whole;
    return true;
}

rs_edit *rs_what_if_add_name(rs_what_if *q, rs_edit_kind kind, const char *text, size_t n, bool whole)
{
    rs_edit *e = rs_what_if_add(q, kind);
    if (e && !rs_edit_set_name(&e->name, text, n, whole)) q->failed = true;
    return e;
}

rs_edit *rs_what_if_add_axis(rs_what_if *q, rs_edit_kind kind, int64_t size, int64_t stride)
{
    rs_edit *e = rs_what_if_add(q, kind);
    if (!e) return NULL;
    e->axis_size = size;
    e->axis_stride = stride;
    return e;
}

static void join(rs_expr *s)
{
    if (s && s->n_terms > 1) rs_expr_join(s, RS_EXPR_AND);
}

void rs_selector_word(rs_expr *s, rs_select_field field, size_t word)
{
    rs_expr_push_word(s, field, word);
    join(s);
}

void rs_selector_text(rs_expr *s, rs_select_field field, rs_where_op op, const char *text, size_t n)
{
    rs_expr_push_text(s, field, op, text, n);
    join(s);
}

void rs_selector_number(rs_expr *s, rs_select_field field, rs_where_op op, int64_t number)
{
    rs_expr_push_spans(s, field, op, &(rs_span){number, number}, 1);
    join(s);
}

void rs_selector_numbers(rs_expr *s, rs_select_field field, const int64_t *numbers, size_t n)
{
    RS_LOCAL rs_span *spans = rs_malloc((n + 1) * sizeof *spans);
    size_t used = 0;
    for (size_t i = 0, k; spans && i < n; i = k) {
        for (k = i + 1; k < n && numbers[k] == numbers[k - 1] + 1;) k++;
        spans[used++] = (rs_span){numbers[i], numbers[k - 1]};
    }
    if (!spans && s) s->failed = true;
    if (spans) rs_expr_push_spans(s, field, RS_OP_EQ, spans, used);
    if (spans) join(s);
}

rs_status rs_what_if_check(const rs_what_if *q, rs_error *err)
{
    bool ok = !q->failed;
    for (size_t i = 0; ok && i < q->n; i++) ok = !q->edits[i].selector || !q->edits[i].selector->failed;
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}

rs_status rs_what_if_together(const rs_what_if *const *several, size_t n, rs_what_if *out, rs_error *err)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++) all += several[i]->n;
    *out = (rs_what_if){.edits = rs_malloc((all + 1) * sizeof *out->edits), .capacity = all + 1};
    if (!out->edits) return rs_fail_nomem(err, "a question");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < several[i]->n; k++) out->edits[out->n++] = several[i]->edits[k];
    return RS_OK;
}

bool rs_what_if_is_of_steps(const rs_what_if *q)
{
    for (size_t i = 0; i < q->n; i++) {
        const rs_edit *e = &q->edits[i];
        bool named = false;
        uint64_t required = e->kind == RS_EDIT_SCALE ? rs_expr_required(e->selector) : 0;
        for (size_t k = 0; required && k < rs_edit_n_terms(e); k++) {
            const rs_expr_term *t = rs_edit_term(e, k);
            bool of_steps = t->op == RS_OP_EQ || t->op == RS_OP_IN;
            named |= required >> k & 1 && t->field == RS_SELECT_STEP && of_steps;
        }
        if (!named) return false;
    }
    return q->n > 0;
}

bool rs_edit_names(const rs_edit_name *name, const char *text, size_t n)
{
    if (!text || name->n > n) return false;
    if (name->whole) return name->n == n && memcmp(text, name->text, n) == 0;
    for (size_t i = 0; i + name->n <= n; i++)
        if (memcmp(text + i, name->text, name->n) == 0) return true;
    return false;
}
