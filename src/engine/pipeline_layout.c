/* A pipeline in another layout: other stages, micro-batches, or order of passes, replayed with what passes and messages take in the recording.
 * Each stage does its passes in the order of the schedule; a pass begins when the one before it is over and its message has come. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "engine/pipeline.h"
#include "text/numbers.h"

/* ---- parsing ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *axis;
    size_t place; /* of its number in rs_layout_asked */
} axes[] = {{"dp", offsetof(rs_layout_asked, dp)},
            {"tp", offsetof(rs_layout_asked, tp)},
            {"ep", offsetof(rs_layout_asked, ep)},
            {"pp", offsetof(rs_layout_asked, pp)},
            {"micro-batches", offsetof(rs_layout_asked, micro_batches)}};

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(at, word, n) == 0;
}

/* false: it is none, or there is one already. */
static bool read_count(const char *at, size_t n, int64_t *out)
{
    int64_t v = 0;
    if (*out) return false;
    for (size_t i = 0; i < n; i++) {
        if (!rs_is_digit(at[i]) || v > 1000000) return false;
        v = v * 10 + (at[i] - '0');
    }
    *out = v;
    return n > 0 && v > 0 && v <= 1000000;
}

static bool read_schedule(const char *at, size_t n, rs_pipe_schedule *out)
{
    const rs_pipe_schedule was = *out;
    if (is_word(at, n, "gpipe"))
        *out = RS_PIPE_GPIPE;
    else if (is_word(at, n, "1f1b"))
        *out = RS_PIPE_1F1B;
    else
        return false;
    return was == RS_PIPE_UNKNOWN;
}

rs_status rs_layout_parse(const char *text, rs_layout_asked *out, rs_error *err)
{
    *out = (rs_layout_asked){.schedule = RS_PIPE_UNKNOWN};
    for (const char *at = text; *at;) {
        const char *end = at + strcspn(at, ","), *equals = memchr(at, '=', (size_t)(end - at));
        const size_t key = equals ? (size_t)(equals - at) : 0,
                     value = equals ? (size_t)(end - equals - 1) : 0;
        bool ok = equals && is_word(at, key, "schedule") && read_schedule(equals + 1, value, &out->schedule);
        for (size_t i = 0; equals && i < sizeof axes / sizeof *axes; i++)
            if (is_word(at, key, axes[i].axis))
                ok = read_count(equals + 1, value, (int64_t *)((char *)out + axes[i].place));
        if (!ok)
            return rs_fail(
                err, RS_ERR_USAGE,
                "--layout: '%.*s' is none of dp=N, tp=N, ep=N, pp=N, micro-batches=N, schedule=gpipe|1f1b, each once",
                (int)(end - at < 60 ? end - at : 60), at);
        at = *end ? end + 1 : end;
    }
    return *text ? RS_OK : rs_fail(err, RS_ERR_USAGE, "--layout: it says no size, as dp=8 does");
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
    if (backward && batch + 1 == n) m->free_at[stage] = rs_add_sat(m->free_at[stage], c->last_longer[stage]);
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

/* ---- forecast ----------------------------------------------------------------------------------------------- */

#define MOST_ERROR 5 /* percent */

/* Sums over steps and pipelines. */
typedef struct learned {
    double length[2][RS_PIPE_MOST_STAGES],
        n[2][RS_PIPE_MOST_STAGES];                                 /* of passes by kind, but for those of: */
    double last[RS_PIPE_MOST_STAGES], n_last[RS_PIPE_MOST_STAGES]; /* a step's last backward */
    double window, squares;
    int64_t steps, idle;
    rs_pipe_layout layout;
    bool differs; /* steps are of different layouts */
} learned;

static void learn(const rs_pipelines *p, learned *l)
{
    l->layout.stages = p->stages.n_stages;
    for (size_t i = 0; i < p->n_steps; i++) {
        const rs_stage_step *s = &p->steps[i];
        l->idle = rs_add_sat(l->idle, s->idle);
        if (s->stage) continue;
        l->differs |= l->steps && (l->layout.micro_batches != (size_t)s->micro_batches ||
                                   l->layout.schedule != (rs_pipe_schedule)s->schedule);
        l->layout.micro_batches = (size_t)s->micro_batches;
        l->layout.schedule = (rs_pipe_schedule)s->schedule;
        l->window += (double)s->window;
        l->squares += (double)s->window * (double)s->window;
        l->steps++;
    }
    for (size_t i = 0; i < p->n_passes; i++) {
        const rs_stage_pass *x = &p->passes[i];
        if (x->stage >= RS_PIPE_MOST_STAGES || x->kind > RS_PASS_BACKWARD) continue;
        const bool last =
            x->kind == RS_PASS_BACKWARD && x->number > 0 && x->number + 1 == (int64_t)l->layout.micro_batches;
        *(last ? &l->last[x->stage] : &l->length[x->kind][x->stage]) += (double)rs_sub_sat(x->end, x->start);
        (*(last ? &l->n_last[x->stage] : &l->n[x->kind][x->stage]))++;
    }
}

static int64_t mean_of(int64_t sum, int64_t n)
{
    return n ? sum / n : 0;
}

static double mean_real(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

/* By stage into `to`; equal: all stages take as long; slowest: all as long as the longest. */
static void share_out(const double *mean, size_t now, size_t stages, bool equal, bool slowest, int64_t *to)
{
    double sum = 0, most = -INFINITY;
    for (size_t s = 0; s < now; s++) {
        sum += mean[s];
        most = fmax(most, mean[s]);
        if (!equal && s < stages) to[s] = rs_int_of(mean[s]);
    }
    const double each = (slowest ? most * (double)now : sum) / (double)stages;
    for (size_t s = 0; equal && s < stages; s++) to[s] = rs_int_of(each);
}

static rs_status fill_costs(const learned *l, const rs_pipe_delays *d, size_t stages, bool equal,
                            bool slowest, rs_pipe_costs *out, rs_error *err)
{
    const size_t now = l->layout.stages;
    RS_LOCAL double *mean = rs_malloc((now + 1) * sizeof *mean);
    if (!mean) return rs_fail_nomem(err, "another layout");
    *out = (rs_pipe_costs){.link = mean_of(d->link, d->links),
                           .late = mean_of(d->late, d->links),
                           .start = mean_of(d->start, d->starts),
                           .gap = mean_of(d->gap, d->gaps),
                           .asks_late = 2 * d->asked_after > d->links};
    for (int kind = 0; kind < 2; kind++) {
        for (size_t s = 0; s < now; s++) mean[s] = mean_real(l->length[kind][s], l->n[kind][s]);
        share_out(mean, now, stages, equal, slowest, kind == RS_PASS_FORWARD ? out->forward : out->backward);
    }
    for (size_t s = 0; s < now; s++) /* mean is the backwards' */
        mean[s] = l->n_last[s] > 0 ? mean_real(l->last[s], l->n_last[s]) - mean[s] : 0;
    share_out(mean, now, stages, equal, slowest, out->last_longer);
    return RS_OK;
}

/* One stage has no order to speak of: all orders of its passes take as long. */
static rs_status check_recorded(const learned *l, rs_error *err)
{
    if (l->differs)
        return rs_fail(err, RS_ERR_USAGE, "--layout: steps are of different schedules or micro-batches");
    if (l->layout.stages > 1 && l->layout.schedule != RS_PIPE_GPIPE && l->layout.schedule != RS_PIPE_1F1B)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: the recorded schedule is %s; only GPipe and 1F1B can be replayed so far. Where it is one of "
            "them, let the program name its passes (\"Forward 3\", \"Backward 3\"), or their operators be recorded",
            rs_pipe_schedule_names[l->layout.schedule]);
    if (l->layout.stages == 1 && l->layout.micro_batches < 2)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: each step has one forward and one backward pass, so what a further micro-batch takes is not "
            "recorded: record the job with two micro-batches or more (gradient accumulation)");
    return RS_OK;
}

static rs_status check_other(const rs_pipe_layout *l, rs_error *err)
{
    if (l->stages > RS_PIPE_MOST_STAGES)
        return rs_fail(err, RS_ERR_USAGE, "--layout: a pipeline has 1 to %d stages", RS_PIPE_MOST_STAGES);
    if (l->micro_batches > RS_PIPE_MOST_PASSES || 2 * l->stages * l->micro_batches > RS_PIPE_MOST_PASSES)
        return rs_fail(err, RS_ERR_LIMIT, "--layout: more passes than are replayed");
    return RS_OK;
}

rs_status rs_pipelines_forecast(const rs_pipelines *p, const rs_layout_asked *asked, rs_pipe_forecast *out,
                                rs_error *err)
{
    RS_LOCAL learned *l = rs_calloc(1, sizeof *l);
    RS_LOCAL rs_pipe_costs *costs = rs_calloc(1, sizeof *costs);
    int64_t window, idle, most, unused;
    *out = (rs_pipe_forecast){.steps = 0};
    if (!l || !costs) return rs_fail_nomem(err, "another layout");
    if (p->stages.n_stages > RS_PIPE_MOST_STAGES)
        return rs_fail(err, RS_ERR_LIMIT, "--layout: the pipeline has more than %d stages",
                       RS_PIPE_MOST_STAGES);
    learn(p, l);
    if (!l->steps) return RS_OK;
    RS_TRY(check_recorded(l, err));
    rs_pipe_layout other = l->layout;
    if (asked->pp) other.stages = (size_t)asked->pp;
    if (asked->micro_batches) other.micro_batches = (size_t)asked->micro_batches;
    if (asked->schedule != RS_PIPE_UNKNOWN) other.schedule = asked->schedule;
    RS_TRY(check_other(&other, err));
    RS_TRY(fill_costs(l, &p->delays, l->layout.stages, false, false, costs, err));
    RS_TRY(rs_pipe_layout_replay(costs, &l->layout, &window, &idle, err));
    const double n = (double)l->steps, recorded = l->window / n;
    const double spread = l->steps > 1 ? sqrt(fmax(0, l->squares / n - recorded * recorded)) : 0;
    const double error = recorded > 0 ? (double)window / recorded - 1 : 1;
    if (fabs(error) * 100 > MOST_ERROR) {
        char percent[RS_FIXED_SIZE];
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: replaying the recorded layout so has an error of %s %%; above %d %% nothing is predicted. Where some steps "
            "differ (rankscope pipeline --by step), ask rankscope pipeline --layout with --steps of those that do not",
            rs_format_fixed(100 * error, 1, percent), MOST_ERROR);
    }
    const bool same = other.stages == l->layout.stages;
    RS_TRY(fill_costs(l, &p->delays, other.stages, !same, false, costs, err));
    RS_TRY(rs_pipe_layout_replay(costs, &other, &window, &idle, err));
    most = window;
    if (!same) {
        RS_TRY(fill_costs(l, &p->delays, other.stages, true, true, costs, err));
        RS_TRY(rs_pipe_layout_replay(costs, &other, &most, &unused, err));
    }
    const double relative = fabs(error) + 2 * spread / recorded + 0.005;
    *out = (rs_pipe_forecast){.recorded = l->layout,
                              .other = other,
                              .steps = l->steps,
                              .window = window,
                              .low = rs_int_of((double)window * (1 - relative)),
                              .high = rs_int_of((double)most * (1 + relative)),
                              .idle = idle,
                              .recorded_window = rs_int_of(recorded),
                              .recorded_idle = l->idle,
                              .recorded_all = rs_int_of(l->window) * (int64_t)l->layout.stages,
                              .error = 100 * error};
    return RS_OK;
}

double rs_pipelines_window(const rs_pipelines *p)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < p->n_steps; i++)
        if (!p->steps[i].stage) {
            sum += (double)p->steps[i].window;
            n++;
        }
    return n > 0 ? sum / n : 0;
}
