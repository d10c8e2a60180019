/* The options --what-if, --scale and --no-loader of replay, and the table of answers. */
#include <math.h>
#include <string.h>

#include "analysis/replay.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/edits.h"

typedef struct answer_row {
    const char *what_if;
    int64_t rank; /* -1: the job */
    int64_t steps;
    double before, after, gain, low, high, pct, bound; /* us; of a step, on average */
    const char *then_bound_by;
    int64_t trusted; /* RS_NO_VALUE: refused */
    const char *assumption, *reason;
} answer_row;

#define ANSWER_ROW(CELL)                                                                                                \
    CELL(OF(answer_row, what_if), "what_if", TEXT, NONE, "the question", "what if")                                     \
    CELL(ID(answer_row, rank), "rank", INT, ID, "rank; unknown: the job", NULL)                                         \
    CELL(OF(answer_row, steps), "steps", INT, COUNT, "steps it is the mean of; 0: the whole trace", NULL)               \
    CELL(                                                                                                               \
        OF(answer_row, before), "before_us", REAL, US,                                                                  \
        "a step as recorded, from the end of the one before to its own: of a rank's, or of all ranks' last work",       \
        "before")                                                                                                       \
    CELL(OF(answer_row, after), "after_us", REAL, US, "a step then", "after")                                           \
    CELL(OF(answer_row, gain), "gain_us", REAL, US, "before less after", "gain")                                        \
    CELL(                                                                                                               \
        OF(answer_row, low), "gain_low_us", REAL, US,                                                                   \
        "least of four replays (only recorded dependencies or inferred ones too, gaps recorded or typical) and of the " \
        "spread over steps",                                                                                            \
        "from")                                                                                                         \
    CELL(OF(answer_row, high), "gain_high_us", REAL, US, "the greatest", "to")                                          \
    CELL(OF(answer_row, pct), "gain_pct", REAL, PERCENT, "of before_us", "gain %")                                      \
    CELL(                                                                                                               \
        OF(answer_row, bound), "bound_us", REAL, US,                                                                    \
        "what the question takes off the path as recorded: no gain is greater; unknown where it removes a wait "        \
        "that the path runs along",                                                                                     \
        "at most")                                                                                                      \
    CELL(MAYBE(answer_row, then_bound_by), "then_bound_by", TEXT, NONE,                                                 \
         "what most of the path would be spent on then", "then bound by")                                               \
    CELL(OF(answer_row, trusted), "trusted", INT, NONE,                                                                 \
         "1: the replay can be relied on; 0: it cannot, --force; unknown: refused", NULL)                               \
    CELL(OF(answer_row, assumption), "assumption", TEXT, NONE, "what has to hold", NULL)                                \
    CELL(MAYBE(answer_row, reason), "reason", TEXT, NONE, "why it is refused or not trusted", NULL)
RS_RECORD(answer, ANSWER_ROW);

const rs_table_spec rs_what_if_table =
    RS_TABLE("what_if", "one row is a question of --what-if, --scale or --no-loader, for the job or a rank",
             answer_columns);

/* ---- questions ----------------------------------------------------------------------------------------- */

typedef struct question {
    char *text; /* as asked; owned */
    rs_what_if edits;
} question;

typedef struct questions {
    question *items;
    size_t n, capacity;
} questions;

static void clear_questions(questions *q)
{
    for (size_t i = 0; i < q->n; i++) {
        rs_free(q->items[i].text);
        rs_what_if_clear(&q->items[i].edits);
    }
    rs_free(q->items);
    *q = (questions){0};
}

static rs_status add_list(questions *q, const char *list, bool scale, rs_error *err)
{
    while (list && *list) {
        const char *begin = list;
        size_t n;
        if (!RS_GROW_ONE(q->items, q->n, q->capacity)) return rs_fail_nomem(err, "a question");
        question *x = &q->items[q->n++];
        *x = (question){.text = NULL};
        rs_status status = rs_what_if_parse_next(&list, scale, &x->edits, &n, err);
        if (status == RS_ERR_USAGE) rs_error_wrap(err, scale ? "--scale" : "--what-if");
        if (status != RS_OK) return status;
        if (!(x->text = rs_strndup(begin, n))) return rs_fail_nomem(err, "a question");
    }
    return RS_OK;
}

static rs_status read_questions(const rs_options *options, questions *q, rs_error *err)
{
    *q = (questions){0};
    RS_TRY(add_list(q, rs_options_text(options, "what-if"), false, err));
    RS_TRY(add_list(q, rs_options_text(options, "scale"), true, err));
    if (rs_options_flag(options, "no-loader")) RS_TRY(add_list(q, "no-loader", false, err));
    return RS_OK;
}

rs_status rs_replay_first(const rs_options *options, rs_what_if *out, rs_error *err)
{
    questions q;
    *out = (rs_what_if){0};
    rs_status status = read_questions(options, &q, err);
    if (status == RS_OK && q.n) {
        *out = q.items[0].edits;
        q.items[0].edits = (rs_what_if){0};
    }
    clear_questions(&q);
    return status;
}

bool rs_replay_asks(const rs_options *options)
{
    return rs_options_is_set(options, "what-if") || rs_options_is_set(options, "scale") ||
           rs_options_flag(options, "no-loader");
}

rs_status rs_replay_check(const rs_options *options, bool *shares, rs_error *err)
{
    questions q;
    *shares = false;
    rs_status status = read_questions(options, &q, err);
    for (size_t i = 0; i < q.n; i++)
        for (size_t k = 0; k < q.items[i].edits.n; k++)
            *shares |= q.items[i].edits.edits[k].kind == RS_EDIT_SHARD;
    clear_questions(&q);
    return status;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static rs_status refuse(const question *q, size_t n_steps, const char *reason, rs_table *t, rs_error *err)
{
    answer_row row = {.what_if = q->text,
                      .rank = -1,
                      .steps = (int64_t)n_steps,
                      .before = NAN,
                      .after = NAN,
                      .gain = NAN,
                      .low = NAN,
                      .high = NAN,
                      .pct = NAN,
                      .bound = NAN,
                      .trusted = RS_NO_VALUE,
                      .assumption = rs_edit_assumptions[q->edits.edits[0].kind],
                      .reason = reason};
    return rs_table_put_row(t, &answer_record, -1, &row, err);
}

static rs_status put_answers(const question *q, const rs_asked *asked, size_t n, const int64_t *rank_of,
                             size_t n_steps, rs_table *t, rs_error *err)
{
    if (asked->refused) return refuse(q, n_steps, asked->refused, t, err);
    for (size_t i = 0; i < n; i++) {
        const rs_foretold *x = &asked->answers[i];
        answer_row row = {.what_if = q->text,
                          .rank = i ? rank_of[i - 1] : -1,
                          .steps = x->steps,
                          .before = x->before,
                          .after = x->after,
                          .gain = x->gain,
                          .low = x->low,
                          .high = x->high,
                          .pct = x->pct,
                          .bound = x->bound,
                          .then_bound_by = x->then_bound_by,
                          .trusted = x->reason == NULL,
                          .assumption = x->assumption,
                          .reason = x->reason};
        RS_TRY(rs_table_put_row(t, &answer_record, -1, &row, err));
    }
    return RS_OK;
}

static rs_status ask_all(const questions *q, const rs_replayed *replayed, const rs_ask_how *how,
                         rs_table *table, rs_error *err)
{
    rs_asker *a = NULL;
    rs_status status = rs_asker_open(replayed, how, &a, err);
    size_t n = status == RS_OK ? rs_asker_n_answers(a) : 0;
    rs_asked *asked = rs_calloc(q->n + 1, sizeof *asked);
    RS_LOCAL rs_foretold *answers = rs_calloc(q->n * n + 1, sizeof *answers);
    if (status == RS_OK && (!asked || !answers)) status = rs_fail_nomem(err, "a question");
    for (size_t i = 0; status == RS_OK && i < q->n; i++)
        asked[i] = (rs_asked){.question = &q->items[i].edits, .answers = answers + i * n};
    if (status == RS_OK) status = rs_asker_ask(a, asked, q->n, err);
    for (size_t i = 0; status == RS_OK && i < q->n; i++)
        status = put_answers(&q->items[i], &asked[i], n, how->rank_of, rs_asker_n_steps(a), table, err);
    rs_free(asked);
    rs_asker_close(a);
    return status;
}

rs_status rs_replay_ask(const rs_run *run, const rs_replayed *replayed, const int64_t *rank_of,
                        rs_table *table, rs_error *err)
{
    questions q;
    rs_status status = read_questions(run->options, &q, err);
    const rs_ask_how how = {.rank_of = rank_of,
                            .jobs = run->jobs,
                            .of_ranks = true,
                            .force = rs_options_flag(run->options, "force")};
    if (status == RS_OK && q.n && replayed->engine->n_ranks) status = ask_all(&q, replayed, &how, table, err);
    clear_questions(&q);
    return status;
}
