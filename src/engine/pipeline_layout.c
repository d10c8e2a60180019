/* A pipeline in another layout: other stages, micro-batches, or order of passes, replayed with what passes and messages take in the recording.
 * Each stage does its passes in the order of the schedule; a pass begins when the one before it is over and its message has come. */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "engine/pipeline.h"

/* ---- parsing ------------------------------------------------------------------------------------------------ */

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(at, word, n) == 0;
}

static bool read_count(const char *at, size_t n, size_t *out)
{
    size_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rs_is_digit(at[i]) || v > 1000000) return false;
        v = v * 10 + (size_t)(at[i] - '0');
    }
    *out = v;
    return n > 0 && v > 0;
}

static bool read_schedule(const char *at, size_t n, rs_pipe_schedule *out)
{
    if (is_word(at, n, "gpipe"))
        *out = RS_PIPE_GPIPE;
    else if (is_word(at, n, "1f1b"))
        *out = RS_PIPE_1F1B;
    else
        return false;
    return true;
}

rs_status rs_pipe_layout_parse(const char *text, rs_pipe_layout *layout, rs_error *err)
{
    for (const char *at = text; *at;) {
        const char *end = at + strcspn(at, ","), *equals = memchr(at, '=', (size_t)(end - at));
        const size_t key = equals ? (size_t)(equals - at) : 0,
                     value = equals ? (size_t)(end - equals - 1) : 0;
        bool ok = equals != NULL;
        if (ok && is_word(at, key, "pp"))
            ok = read_count(equals + 1, value, &layout->stages);
        else if (ok && is_word(at, key, "micro-batches"))
            ok = read_count(equals + 1, value, &layout->micro_batches);
        else if (ok && is_word(at, key, "schedule"))
            ok = read_schedule(equals + 1, value, &layout->schedule);
        else
            ok = false;
        if (!ok)
            return rs_fail(
                err, RS_ERR_USAGE,
                "--layout: '%.*s' is none of pp=N, micro-batches=N, schedule=gpipe|1f1b: for dp=N, tp=N and ep=N see rankscope "
                "whatif --layout",
                (int)(end - at < 60 ? end - at : 60), at);
        at = *end ? end + 1 : end;
    }
    if (layout->stages < 2 || layout->stages > RS_PIPE_MOST_STAGES)
        return rs_fail(err, RS_ERR_USAGE, "--layout: a pipeline has 2 to %d stages", RS_PIPE_MOST_STAGES);
    if (2 * layout->stages * layout->micro_batches > RS_PIPE_MOST_PASSES)
        return rs_fail(err, RS_ERR_LIMIT, "--layout: more passes than are replayed");
    return RS_OK;
}

/* ---- replay ------------------------------------------------------------------------------------------------- */

typedef struct machine {
    const rs_pipe_costs *costs;
    const rs_pipe_layout *layout;
    int64_t *end[2]; /* of forwards and backwards, by stage and micro-batch; -1: not done */
    int64_t *free_at;
    size_t *done; /* passes, by stage */
    int64_t idle;
} machine;

/* The k-th pass of a stage. */
static void pass_of(const machine *m, size_t stage, size_t k, bool *backward, size_t *batch)
{
    const size_t n = m->layout->micro_batches;
    size_t lead = m->layout->schedule == RS_PIPE_GPIPE ? n : m->layout->stages - stage;
    if (lead > n) lead = n;
    if (k < lead) {
        *backward = false;
        *batch = k;
    } else if (k < 2 * n - lead) { /* one backward, one forward */
        *backward = (k - lead) % 2 == 0;
        *batch = *backward ? (k - lead) / 2 : lead + (k - lead) / 2;
    } else {
        *backward = true;
        *batch = k - n;
    }
}

/* Does the next pass of a stage; false: it has none, or its message is not sent. */
static bool do_next(machine *m, size_t stage)
{
    const rs_pipe_costs *c = m->costs;
    const size_t n = m->layout->micro_batches, k = m->done[stage], last = m->layout->stages - 1;
    bool backward;
    size_t batch;
    if (k == 2 * n) return false;
    pass_of(m, stage, k, &backward, &batch);
    const bool needs = backward ? stage < last : stage > 0;
    int64_t start = rs_add_sat(m->free_at[stage], k ? c->gap : 0);
    if (needs) {
        const int64_t done = m->end[backward][(backward ? stage + 1 : stage - 1) * n + batch];
        if (done < 0) return false;
        int64_t sent = rs_add_sat(done, c->late);
        if (c->asks_late && sent < m->free_at[stage]) sent = m->free_at[stage];
        const int64_t came = rs_add_sat(sent, c->link);
        if (came > m->free_at[stage]) start = rs_add_sat(came, c->start);
    }
    m->idle = rs_add_sat(m->idle, rs_sub_sat(start, m->free_at[stage]));
    m->free_at[stage] = rs_add_sat(start, backward ? c->backward[stage] : c->forward[stage]);
    m->end[backward][stage * n + batch] = m->free_at[stage];
    m->done[stage]++;
    return true;
}

/* From stage to stage and back, until nothing is left to do: every schedule ends, as what a pass needs comes before it. */
static void run(machine *m)
{
    const size_t p = m->layout->stages;
    bool any = true;
    while (any) {
        any = false;
        for (size_t s = 0; s < p; s++)
            while (do_next(m, s)) any = true;
        for (size_t s = p; s-- > 0;)
            while (do_next(m, s)) any = true;
    }
}

rs_status rs_pipe_layout_replay(const rs_pipe_costs *costs, const rs_pipe_layout *layout, int64_t *window,
                                int64_t *idle, rs_error *err)
{
    const size_t n = layout->stages * layout->micro_batches;
    machine m = {.costs = costs, .layout = layout};
    RS_LOCAL int64_t *ends = rs_malloc((2 * n + 1) * sizeof *ends);
    RS_LOCAL int64_t *free_at = rs_calloc(layout->stages + 1, sizeof *free_at);
    RS_LOCAL size_t *done = rs_calloc(layout->stages + 1, sizeof *done);
    if (!ends || !free_at || !done) return rs_fail_nomem(err, "another layout");
    for (size_t i = 0; i < 2 * n; i++) ends[i] = -1;
    m.end[0] = ends;
    m.end[1] = ends + n;
    m.free_at = free_at;
    m.done = done;
    run(&m);
    *window = 0;
    for (size_t s = 0; s < layout->stages; s++)
        if (free_at[s] > *window) *window = free_at[s];
    *idle = m.idle;
    for (size_t s = 0; s < layout->stages; s++) *idle = rs_add_sat(*idle, *window - free_at[s]);
    return RS_OK;
}
