/* Rounds: ranks speak, what they agree on is handed back to them, and they speak again.
 *
 * What a rank said is a tree: its word in the first round and, below it, in the next round under each value
 * that it might be told. Settling a round takes the branch of the value that was agreed on. Ranks without
 * that branch are asked in another pass over the inputs. */
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/try.h"
#include "base/wire.h"
#include "job/job_internal.h"

static bool same_bytes(const rs_bytes *a, const rs_bytes *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->data, b->data, a->n) == 0);
}

static rs_status pack(const rs_layout *layout, const void *value, rs_bytes *out, rs_error *err)
{
    rs_wire_writer w = {0};
    rs_layout_pack(layout, value, &w);
    if (w.out_of_memory) {
        rs_wire_clear(&w);
        return rs_fail_nomem(err, "what ranks agree on");
    }
    *out = (rs_bytes){w.bytes, w.n};
    return RS_OK;
}

/* The branch below an answer that was made under this value, or NULL. */
static rs_answer *answer_under(const rs_answer *answer, const rs_bytes *agreed)
{
    for (size_t i = 0; i < answer->n_next; i++)
        if (same_bytes(&answer->next[i].given, agreed)) return &answer->next[i];
    return NULL;
}

rs_status rs_answer_add(rs_answer *answer, const rs_layout *layout, const void *agreed, rs_answer **out,
                        rs_error *err)
{
    rs_bytes given = {0};
    RS_TRY(pack(layout, agreed, &given, err));
    rs_answer *next = rs_realloc(answer->next, (answer->n_next + 1) * sizeof *next);
    if (!next) {
        rs_bytes_free(&given);
        return rs_fail_nomem(err, "results");
    }
    answer->next = next;
    *out = &next[answer->n_next++];
    **out = (rs_answer){.given = given};
    return RS_OK;
}

void rs_answer_take(rs_input_answer *input, rs_rank_answer *rank, rs_answer *answer)
{
    rank->at = answer;
    rank->behind = false;
    if (answer->status == RS_OK || input->status != RS_OK) return;
    input->status = answer->status;
    input->error = answer->error;
}

/* The partials of all ranks as one, in partials[0]; *made: it is a new one. */
static rs_status combine_all(const rs_rank_round *round, rs_partial *partials, size_t n, bool *made,
                             rs_error *err)
{
    *made = false;
    for (size_t i = 1; i < n; i++) {
        void *both = NULL;
        rs_status status = round->combine(partials[0].value, partials[i].value, &both, err);
        if (*made) round->free_partial(partials[0].value);
        *made = status == RS_OK;
        if (status != RS_OK) return status;
        partials[0].value = both;
    }
    return RS_OK;
}

/* *settled stays false when there are no ranks to agree: what is wrong is told once all rounds are over. */
static rs_status settle_round(rs_question *q, const rs_ranking *ranking, bool *settled, rs_error *err)
{
    const rs_rank_round *round = &q->how.rounds[q->round];
    rs_agreed *agreed = &q->agreed[q->round];
    rs_partial *partials = NULL;
    size_t n = 0;
    bool made = false;
    *settled = false;
    rs_status status = rs_question_gather(q, ranking, 0, &partials, &n, err);
    if (status != RS_OK) {
        rs_free(partials);
        return status == RS_ERR_NOMEM ? status : RS_OK;
    }
    if (round->combine) {
        status = combine_all(round, partials, n, &made, err);
        n = n ? 1 : 0;
    }
    if (status == RS_OK) status = round->agree(&q->run, partials, n, &agreed->value, err);
    if (made) round->free_partial(partials[0].value);
    rs_free(partials);
    if (status == RS_OK) status = pack(round->agreed_layout, agreed->value, &agreed->packed, err);
    if (status != RS_OK) return status;
    if (round->adopt) round->adopt(agreed->value, &q->policy);
    q->run.agreed = agreed->value;
    q->round++;
    *settled = true;
    return RS_OK;
}

rs_status rs_question_settle(rs_question *q, const rs_ranking *ranking, rs_error *err)
{
    bool settled = true;
    q->due = false;
    while (settled && !q->due && q->round < q->how.n_rounds) {
        RS_TRY(settle_round(q, ranking, &settled, err));
        for (size_t i = 0; settled && i < q->n_answers; i++) {
            rs_input_answer *input = &q->answers[i];
            for (size_t k = 0; input->status == RS_OK && k < input->n_ranks; k++) {
                rs_rank_answer *rank = &input->ranks[k];
                if (!rank->asked) continue;
                rs_answer *next = answer_under(rank->at, &q->agreed[q->round - 1].packed);
                if (next)
                    rs_answer_take(input, rank, next);
                else
                    rank->behind = q->due = true;
            }
        }
    }
    return RS_OK;
}
