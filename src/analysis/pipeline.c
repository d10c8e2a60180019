/* pipeline: what the stages of a pipeline wait for, by cause, and the schedule that they run by. */
#include <math.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "analysis/plan.h"
#include "base/real.h"
#include "base/try.h"
#include "engine/pipeline.h"
#include "match/collective_wait.h"
#include "text/numbers.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "stage|step|pass", "stage",
     "stage: one row a rank; step: of each of its steps; pass: each forward, backward and weight gradient"},
    RS_CLOCKS_OPTION,
    {"layout", RS_OPTION_TEXT, "AXES", NULL, NULL,
     "predict the pipeline in another layout, with these passes: 'pp=8,micro-batches=16,schedule=1f1b' (or gpipe); what is not "
     "said stays; table layout"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'bubble_pct > 20'"},
};

enum { STAGES, STEPS, PASSES, LAYOUT, RANK };

/* A rank, in one step or in all. Times in ns. */
typedef struct stage_row {
    int64_t rank, line, stage, stages, step, steps, micro_batches, forward, backward, weight, window, idle;
    int64_t warm_up, steady, drain, imbalance, link, collective, host, ideal, ideal_window, clocks, unmatched;
    uint32_t schedule;
    bool differs; /* steps of different schedules are in it */
} stage_row;

#define WHERE(CELL)                                                                                          \
    CELL(OF(stage_row, rank), "rank", INT, ID, "rank", NULL)                                                 \
    CELL(OF(stage_row, line), "pipeline", INT, ID, "its pipeline, from 0 in the order of first ranks", NULL) \
    CELL(OF(stage_row, stage), "stage", INT, ID, "its stage, from 0", NULL)
#define CAUSES(CELL)                                                                                         \
    CELL(OF(stage_row, window), "window_us", TIME, US,                                                       \
         "from the start of the pipeline's first pass to the end of its last", "window")                     \
    CELL(OF(stage_row, idle), "idle_us", TIME, US,                                                           \
         "of it, the rank neither computes nor transfers for collectives: the sum of the causes", "idle")    \
    CELL(SHARE(stage_row, idle, window), "bubble_pct", REAL, PERCENT, "idle_us of window_us", "bubble %")    \
    CELL(OF(stage_row, warm_up), "warm_up_us", TIME, US,                                                     \
         "the schedule makes it wait until its first backward", "warm-up")                                   \
    CELL(OF(stage_row, steady), "steady_us", TIME, US,                                                       \
         "the schedule makes it wait between that and its last forward", "steady")                           \
    CELL(OF(stage_row, drain), "drain_us", TIME, US,                                                         \
         "the schedule makes it wait after its last forward, until the pipeline is done", "drain")           \
    CELL(OF(stage_row, imbalance), "imbalance_us", TIME, US,                                                 \
         "a stage computes that it waits for, longer than the schedule takes with equal passes",             \
         "imbalance")                                                                                        \
    CELL(OF(stage_row, link), "link_us", TIME, US, "data is on its way between stages", "link")              \
    CELL(OF(stage_row, collective), "collective_us", TIME, US, "waiting for other ranks in a collective",    \
         "collective")                                                                                       \
    CELL(OF(stage_row, host), "host_us", TIME, US,                                                           \
         "nothing is waited for: a launch, a send or a receive comes late", "host")                          \
    CELL(SHARE(stage_row, ideal, ideal_window), "schedule_pct", REAL, PERCENT,                               \
         "bubble_pct of the schedule by itself: all passes of a kind equally long, links and hosts free",    \
         "schedule %")                                                                                       \
    CELL(OF(stage_row, unmatched), "unmatched", INT, COUNT,                                                  \
         "messages of which the traces do not have the other end: what it waits in them counts as host",     \
         NULL)

#define STAGE_ROW(CELL)                                                                                      \
    WHERE(CELL)                                                                                              \
    CELL(OF(stage_row, stages), "stages", INT, COUNT, "stages of a pipeline", NULL)                          \
    CELL(TEXT_ID(stage_row, schedule), "schedule", TEXT, NONE,                                               \
         "from the order of its passes; mixed: steps differ", NULL)                                          \
    CELL(OF(stage_row, steps), "steps", INT, COUNT, "steps that all stages show", NULL)                      \
    CELL(OF(stage_row, micro_batches), "micro_batches", INT, COUNT, "in a step; unknown: steps differ",      \
         "micro-batches")                                                                                    \
    CAUSES(CELL)                                                                                             \
    CELL(OF(stage_row, clocks), "clocks_us", TIME, US,                                                       \
         "by what causes may be wrong for each wait: what the clocks of the pipeline's ranks are known to; " \
         "unknown: there is no bound",                                                                       \
         "clocks within")
RS_RECORD(stage, STAGE_ROW);

#define STEP_ROW(CELL)                                                                                       \
    WHERE(CELL)                                                                                              \
    CELL(ID(stage_row, step), "step", INT, ID, "step; unknown: the trace has none", NULL)                    \
    CELL(TEXT_ID(stage_row, schedule), "schedule", TEXT, NONE, "from the order of its passes", NULL)         \
    CELL(OF(stage_row, micro_batches), "micro_batches", INT, COUNT, "forward passes of a part of the model", \
         "micro-batches")                                                                                    \
    CELL(OF(stage_row, forward), "forward", INT, COUNT, "forward passes", NULL)                              \
    CELL(OF(stage_row, backward), "backward", INT, COUNT, "backward passes", NULL)                           \
    CELL(OF(stage_row, weight), "weight", INT, COUNT, "passes of weight gradients alone", NULL)              \
    CAUSES(CELL)
RS_RECORD(step, STEP_ROW);

typedef struct pass_row {
    int64_t rank, line, stage, step, number, start, length, busy, idle_before;
    uint32_t kind;
} pass_row;

#define PASS_ROW(CELL)                                                                                       \
    CELL(OF(pass_row, rank), "rank", INT, ID, "rank", NULL)                                                  \
    CELL(OF(pass_row, line), "pipeline", INT, ID, "its pipeline", NULL)                                      \
    CELL(OF(pass_row, stage), "stage", INT, ID, "its stage", NULL)                                           \
    CELL(ID(pass_row, step), "step", INT, ID, "step; unknown: the trace has none", NULL)                     \
    CELL(TEXT_ID(pass_row, kind), "pass", TEXT, NONE, "forward, backward, weight (gradients alone)", NULL)   \
    CELL(OF(pass_row, number), "number", INT, ID, "among those of its kind in the step, from 0", NULL)       \
    CELL(OF(pass_row, start), "start_us", MOMENT, US, "start of its first work, clocks aligned", "start")    \
    CELL(OF(pass_row, length), "length_us", TIME, US, "to the end of its last work", "length")               \
    CELL(OF(pass_row, busy), "busy_us", TIME, US, "of that, work runs", "busy")                              \
    CELL(OF(pass_row, idle_before), "idle_us", TIME, US,                                                     \
         "the rank is idle between the pass before and it, or in it", "idle before")
RS_RECORD(pass, PASS_ROW);

/* Times in ns. */
typedef struct layout_row {
    int64_t stages, micro_batches, window, low, high, idle, all, recorded, recorded_idle, recorded_all, steps;
    double error;
    uint32_t schedule;
} layout_row;

#define LAYOUT_ROW(CELL)                                                                                             \
    CELL(OF(layout_row, stages), "stages", INT, COUNT, "stages of a pipeline in the other layout", NULL)             \
    CELL(OF(layout_row, micro_batches), "micro_batches", INT, COUNT, "in a step", "micro-batches")                   \
    CELL(TEXT_ID(layout_row, schedule), "schedule", TEXT, NONE, "order of passes", NULL)                             \
    CELL(                                                                                                            \
        OF(layout_row, window), "window_us", TIME, US,                                                               \
        "from the first pass of a step to the end of the last, predicted: passes take what they take now; of other " \
        "stages, an equal share of all",                                                                             \
        "window")                                                                                                    \
    CELL(                                                                                                            \
        OF(layout_row, low), "low_us", TIME, US,                                                                     \
        "window_us is at least this: by the replay's error on the recorded steps, and by how much stages differ",    \
        "from")                                                                                                      \
    CELL(OF(layout_row, high), "high_us", TIME, US, "... and at most this", "to")                                    \
    CELL(SHARE(layout_row, idle, all), "bubble_pct", REAL, PERCENT, "idle time of the stages in it",                 \
         "bubble %")                                                                                                 \
    CELL(OF(layout_row, recorded), "recorded_us", TIME, US,                                                          \
         "the same of the recorded layout, mean of steps", "recorded")                                               \
    CELL(SHARE(layout_row, recorded_idle, recorded_all), "recorded_bubble_pct", REAL, PERCENT, "its bubble",         \
         "recorded bubble %")                                                                                        \
    CELL(OF(layout_row, steps), "steps", INT, COUNT, "steps of pipelines that it is learned from", NULL)             \
    CELL(                                                                                                            \
        OF(layout_row, error), "replay_error_pct", REAL, PERCENT,                                                    \
        "the recorded layout replayed in the same way, against the recording: above 5 % nothing is predicted",       \
        "replay error %")
RS_RECORD(layout, LAYOUT_ROW);

/* ---- one rank ---------------------------------------------------------------------------------------------- */

static rs_status put_rank(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    rs_passes *passes;
    RS_TRY(rs_passes_of(trace, run->policy, &passes, err));
    out->extra = passes;
    return RS_OK;
}

/* ---- all ranks --------------------------------------------------------------------------------------------- */

typedef struct answer {
    rs_pipelines pipelines;
    rs_coll_job job;
    rs_clock_trust trust;
    rs_passes **passes;
    const rs_coll_rank **ranks;
} answer;

static void clear_answer(answer *a)
{
    rs_pipelines_clear(&a->pipelines);
    rs_coll_job_clear(&a->job);
    rs_clock_trust_clear(&a->trust);
    rs_free_all(a->passes, a->ranks);
}

static rs_status find(const rs_run *run, const rs_partial *partials, size_t n, answer *a, rs_error *err)
{
    a->passes = rs_calloc(n + 1, sizeof *a->passes);
    a->ranks = rs_calloc(n + 1, sizeof *a->ranks);
    if (!a->passes || !a->ranks) return rs_fail_nomem(err, "pipelines");
    for (size_t i = 0; i < n; i++) {
        a->passes[i] = ((const rs_relations *)partials[i].value)->extra;
        if (!a->passes[i])
            return rs_fail(err, RS_ERR_FORMAT, "%s: the packed part has no answer to pipeline; map it again",
                           partials[i].source ? partials[i].source : "a rank");
        a->ranks[i] = a->passes[i]->comm;
    }
    RS_TRY(rs_clock_match_by(a->ranks, n, rs_clock_how_of(rs_options_text(run->options, "clocks")), &a->job,
                             &a->trust, err));
    return rs_pipelines_find(a->passes, &a->job, &a->pipelines, err);
}

/* What the clocks of a pipeline's ranks may be off from this one's. */
static int64_t clocks_of(const answer *a, uint32_t rank)
{
    int64_t most = 0;
    if (!a->trust.of) return a->job.n_ranks > 1 && !rs_coll_on_host(&a->job) ? RS_NO_VALUE : 0;
    for (size_t r = 0; r < a->job.n_ranks; r++) {
        if (a->pipelines.stages.line[r] != a->pipelines.stages.line[rank]) continue;
        int64_t between = rs_clock_trust_between(&a->trust, rank, r);
        if (between > most) most = between;
    }
    return most == INT64_MAX ? RS_NO_VALUE : most;
}

static void add_step(stage_row *to, const rs_stage_step *s)
{
    int64_t *const sums[RS_N_BUBBLES] = {&to->warm_up, &to->steady,     &to->drain, &to->imbalance,
                                         &to->link,    &to->collective, &to->host};
    for (size_t k = 0; k < RS_N_BUBBLES; k++) *sums[k] = rs_add_sat(*sums[k], s->cause[k]);
    to->window = rs_add_sat(to->window, s->window);
    to->idle = rs_add_sat(to->idle, s->idle);
    to->ideal = rs_add_sat(to->ideal, s->ideal);
    to->ideal_window = rs_add_sat(to->ideal_window, s->ideal_window);
    to->unmatched += s->unmatched;
    to->forward += s->passes[RS_PASS_FORWARD];
    to->backward += s->passes[RS_PASS_BACKWARD];
    to->weight += s->passes[RS_PASS_WEIGHT];
    if (to->steps && to->micro_batches != s->micro_batches) to->micro_batches = RS_NO_VALUE;
    if (!to->steps) to->micro_batches = s->micro_batches;
    to->steps++;
}

static stage_row row_of(const answer *a, const rs_partial *partials, const rs_stage_step *s)
{
    return (stage_row){.rank = partials[s->rank].rank,
                       .line = s->line,
                       .stage = s->stage,
                       .stages = (int64_t)a->pipelines.stages.n_stages,
                       .step = s->step,
                       .schedule = s->schedule,
                       .clocks = clocks_of(a, s->rank)};
}

static void put_steps(const answer *a, const rs_partial *partials, size_t n, rs_relations *out)
{
    stage_row *of_rank = RS_ROOM(out, stage_row, n + 1);
    if (!of_rank) return;
    for (size_t i = 0; i < a->pipelines.n_steps; i++) {
        const rs_stage_step *s = &a->pipelines.steps[i];
        stage_row row = row_of(a, partials, s);
        stage_row *all = &of_rank[s->rank];
        if (!all->steps) *all = row;
        all->differs |= all->schedule != s->schedule;
        add_step(all, s);
        add_step(&row, s);
        row.schedule = rs_put_string(out, rs_pipe_schedule_names[s->schedule]);
        rs_put(out, STEPS, &row);
    }
    for (size_t r = 0; r < n; r++) {
        if (!of_rank[r].steps) continue;
        of_rank[r].schedule =
            rs_put_string(out, of_rank[r].differs ? "mixed" : rs_pipe_schedule_names[of_rank[r].schedule]);
        rs_put(out, STAGES, &of_rank[r]);
    }
}

/* ---- another layout ------------------------------------------------------------------------------------------ */

static rs_status put_layout(const rs_run *run, const rs_pipelines *p, rs_relations *out, rs_error *err)
{
    const char *text = rs_options_text(run->options, "layout");
    rs_layout_asked asked;
    rs_pipe_forecast f;
    if (!text) return RS_OK;
    RS_TRY(rs_layout_parse(text, &asked, err));
    if (asked.dp || asked.tp || asked.ep)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: dp, tp and ep change passes and what is outside of them: ask rankscope whatif --layout, "
            "with all axes in one question");
    RS_TRY(rs_pipelines_forecast(p, &asked, &f, err));
    if (!f.steps) return RS_OK; /* a note says why */
    rs_put(out, LAYOUT,
           &(layout_row){.stages = (int64_t)f.other.stages,
                         .micro_batches = (int64_t)f.other.micro_batches,
                         .schedule = rs_put_string(out, rs_pipe_schedule_names[f.other.schedule]),
                         .window = f.window,
                         .low = f.low,
                         .high = f.high,
                         .idle = f.idle,
                         .all = f.window * (int64_t)f.other.stages,
                         .recorded = f.recorded_window,
                         .recorded_idle = f.recorded_idle,
                         .recorded_all = f.recorded_all,
                         .steps = f.steps,
                         .error = f.error});
    return RS_OK;
}

static rs_status put_all(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                         rs_error *err)
{
    RS_SCOPED(clear_answer) answer a = {0};
    RS_TRY(find(run, partials, n, &a, err));
    put_steps(&a, partials, n, out);
    RS_TRY(put_layout(run, &a.pipelines, out, err));
    for (size_t i = 0; i < a.pipelines.n_passes; i++) {
        const rs_stage_pass *p = &a.pipelines.passes[i];
        rs_put(out, PASSES,
               &(pass_row){.rank = partials[p->rank].rank,
                           .line = p->line,
                           .stage = p->stage,
                           .step = p->step,
                           .number = p->number,
                           .start = p->start,
                           .length = rs_sub_sat(p->end, p->start),
                           .busy = p->busy,
                           .idle_before = p->idle_before,
                           .kind = rs_put_string(out, rs_pass_kind_names[p->kind])});
    }
    return RS_OK;
}

static rs_status explain(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                         rs_error *err)
{
    size_t messages = 0;
    (void)run;
    (void)err;
    if (rs_table_n_rows(result->tables[0])) return RS_OK;
    for (size_t i = 0; i < n; i++) {
        const rs_passes *p = ((const rs_relations *)partials[i].value)->extra;
        for (size_t k = 0; k < p->comm->n; k++)
            messages += rs_coll_shape_of(p->comm, &p->comm->ops[k])->kind == RS_COLL_SEND_RECV;
    }
    if (n < 2)
        rs_result_note(result, "one rank: a pipeline shows in the traces of all of its ranks");
    else if (!messages)
        rs_result_note(result, "no pipeline: these ranks neither send nor receive");
    else
        rs_result_note(result,
                       "no pipeline: sends and receives do not tie the ranks to lines of equal length, or "
                       "no step has passes on all of a line");
    return RS_OK;
}

static const rs_plan_relation relations[] = {
    [STAGES] = {RS_LISTED_AS(STAGES, stage_row, stage), .across = put_all},
    [STEPS] = {RS_LISTED_AS(STEPS, stage_row, step), .across = rs_plan_put_before},
    [PASSES] = {RS_LISTED_AS(PASSES, pass_row, pass), .across = rs_plan_put_before},
    [LAYOUT] = {RS_LISTED_AS(LAYOUT, layout_row, layout), .across = rs_plan_put_before},
    [RANK] = {RS_PLAN_EXTRA(rs_passes, &rs_passes_layout), .make = put_rank},
};
static const rs_plan_table stage_table = {RS_PLAN_TABLE("pipeline",
                                                        "one row is one rank: a stage of a pipeline", stage),
                                          .relation = STAGES},
                           step_table = {RS_PLAN_TABLE("steps", "one row is one step of one rank", step),
                                         .relation = STEPS, .choice = RS_WITH(RS_IS("by", "step")),
                                         .only = RS_WITH(RS_IS("by", "step"))},
                           pass_table = {RS_PLAN_TABLE("passes", "one row is one pass of one rank", pass),
                                         .relation = PASSES, .choice = RS_WITH(RS_IS("by", "pass")),
                                         .only = RS_WITH(RS_IS("by", "pass"))};
static const rs_plan_table layout_table = {
    RS_PLAN_TABLE("layout", "one row: the pipeline in another layout", layout), .relation = LAYOUT,
    .choice = RS_WITH(RS_IS_SET("layout")), .only = RS_WITH(RS_IS_SET("layout"))};
static const rs_table_spec *const tables[] = {&stage_table.spec, &step_table.spec, &pass_table.spec,
                                              &layout_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .more = explain, .free_extra = rs_passes_free,
                             .gate = true};

const rs_analysis rs_analysis_pipeline = {
    .name = "pipeline",
    .group = "Across ranks",
    .help = "Bubbles of a pipeline by stage and cause: warm-up, drain, imbalance, links; and its schedule",
    .about =
        "Ranks that sends and receives tie together are a pipeline; its stages are in the order of the first messages of a step. A pass is\n"
        "the computation of one phase that no send, receive or other phase parts in the order of the program. A step of a\n"
        "pipeline lasts from its first pass to its last, the same for all stages, and causes add up to idle_us exactly.\n\n"
        "A stage that waits for another waits for what that one does at the moment: computes, waits itself, sends. Waiting\n"
        "for computation is the schedule's (warm_up_us, steady_us, drain_us) as long as the order of passes makes a stage\n"
        "wait where all passes of a kind take the mean of the step and nothing else takes time; more is imbalance_us, of\n"
        "stages or of micro-batches.\n\n"
        "--layout predicts the pipeline with other stages, micro-batches or order of passes: every pass takes what it takes\n"
        "now (with other stages an equal share of the model), messages too, and the order of the schedule is replayed. `whatif\n"
        "--layout` asks the same for all axes (dp, tp, ep, too) and for a whole step. The recorded layout is replayed first, and its error\n"
        "is part of the interval; above 5 % nothing is predicted.\n\n"
        "A job without a GPU computes on its hosts, from the first to the last operator of a pass.",
    .examples =
        "rankscope pipeline traces/\nrankscope pipeline --by step --format csv traces/\n"
        "rankscope pipeline --layout micro-batches=16,schedule=1f1b traces/\nrankscope pipeline --fail-on 'imbalance_us > 5000' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_links, &rs_facet_structure},
    .columns = RS_PASSES_COLUMNS,
    .plan = &plan,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS,
    .follows_not = "a step of a pipeline is looked at from its first pass to its last",
};
