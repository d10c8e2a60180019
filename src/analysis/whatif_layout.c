/* whatif --layout: a step of the job with groups of other sizes, as edits of the engine's graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "analysis/skeletons.h"
#include "analysis/whatif.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "base/try.h"
#include "clock/collective_clocks.h"
#include "engine/asker.h"
#include "engine/pipeline.h"
#include "match/collective_wait.h"
#include "match/stages.h"

enum { DP, TP, EP, N_AXES };
static const char *const axis_names[N_AXES] = {"dp", "tp", "ep"};
static const char *const axis_words[N_AXES] = {"data", "tensor", "expert"};

/* Where experts move, an interval wider than this share of a step is no answer. */
#define WIDEST_OF_EXPERTS 0.25

typedef struct layout_row {
    char layout[96], recorded_layout[96];
    int64_t ranks, ranks_then, steps;
    double before, after, low, high, batch, per_gpu;
    /* of pipelines, ns; RS_NO_VALUE: they are not asked about */
    int64_t micro_batches, window, window_low, window_high, idle, all, recorded, recorded_idle, recorded_all;
    double error;
    const char *schedule;
    int64_t memory, memory_low, memory_high; /* bytes; RS_NO_VALUE: unknown */
    int64_t trusted;                         /* RS_NO_VALUE: refused */
    const char *question, *assumption, *reason;
} layout_row;

#define LAYOUT_ROW(CELL)                                                                                       \
    CELL(CHARS(layout_row, layout), "layout", TEXT, NONE, "sizes of the groups then", NULL)                    \
    CELL(CHARS(layout_row, recorded_layout), "recorded", TEXT, NONE, "as recorded", NULL)                      \
    CELL(OF(layout_row, ranks), "ranks", INT, COUNT, "as recorded", NULL)                                      \
    CELL(OF(layout_row, ranks_then), "ranks_then", INT, COUNT, "in the other layout", "ranks then")            \
    CELL(OF(layout_row, steps), "steps", INT, COUNT, "steps it is the mean of; 0: the whole trace", NULL)      \
    CELL(OF(layout_row, before), "before_us", REAL, US, "a step as recorded, of all ranks' last work",         \
         "before")                                                                                             \
    CELL(OF(layout_row, after), "after_us", REAL, US, "a step then", "after")                                  \
    CELL(OF(layout_row, low), "after_low_us", REAL, US,                                                        \
         "least of what the fits of collectives and products, the gaps and the steps leave open", "from")      \
    CELL(OF(layout_row, high), "after_high_us", REAL, US, "the greatest", "to")                                \
    CELL(OF(layout_row, batch), "batch_pct", REAL, PERCENT, "the global batch of the recorded one: --batch",   \
         "batch %")                                                                                            \
    CELL(OF(layout_row, per_gpu), "per_gpu_pct", REAL, PERCENT,                                                \
         "what a GPU gets done in a second, of what it does now", "per GPU %")                                 \
    CELL(OF(layout_row, micro_batches), "micro_batches", INT, COUNT,                                           \
         "then, of a rank in a step; with pp, micro-batches, schedule or --batch", "micro-batches")            \
    CELL(MAYBE(layout_row, schedule), "schedule", TEXT, NONE, "order of passes then", NULL)                    \
    CELL(OF(layout_row, window), "window_us", TIME, US,                                                        \
         "of after_us, from the first pass to the end of the last: as pipeline --layout has it", "window")     \
    CELL(OF(layout_row, window_low), "window_low_us", TIME, US, "window_us is at least this", "window from")   \
    CELL(OF(layout_row, window_high), "window_high_us", TIME, US, "... and at most this", "window to")         \
    CELL(SHARE(layout_row, idle, all), "bubble_pct", REAL, PERCENT, "idle time of the stages in it",           \
         "bubble %")                                                                                           \
    CELL(OF(layout_row, recorded), "recorded_window_us", TIME, US,                                             \
         "the same in the recorded order of passes, other axes as asked", "recorded window")                   \
    CELL(SHARE(layout_row, recorded_idle, recorded_all), "recorded_bubble_pct", REAL, PERCENT,                 \
         "its bubble as recorded", "recorded bubble %")                                                        \
    CELL(OF(layout_row, error), "replay_error_pct", REAL, PERCENT,                                             \
         "that order replayed by its passes, against recorded_window_us", "replay error %")                    \
    CELL(                                                                                                      \
        OF(layout_row, memory), "memory_bytes", INT, BYTES,                                                    \
        "the most that the allocator of a rank's GPU held at once, of the fullest rank: by --memory, else by " \
        "[memory] events; unknown: there are none",                                                            \
        "memory")                                                                                              \
    CELL(OF(layout_row, memory_low), "memory_low_bytes", INT, BYTES,                                           \
         "then: what is shared out may be all of it, or nothing", "memory from")                               \
    CELL(OF(layout_row, memory_high), "memory_high_bytes", INT, BYTES, "and at most", "memory to")             \
    CELL(MAYBE(layout_row, question), "question", TEXT, NONE,                                                  \
         "the same as edits of rankscope replay --what-if", NULL)                                              \
    CELL(OF(layout_row, trusted), "trusted", INT, NONE, "1: the replay can be relied on; unknown: refused",    \
         NULL)                                                                                                 \
    CELL(MAYBE(layout_row, assumption), "assumption", TEXT, NONE, "what has to hold", NULL)                    \
    CELL(MAYBE(layout_row, reason), "reason", TEXT, NONE, "why it is refused", NULL)
RS_RECORD(layout, LAYOUT_ROW);

const rs_table_spec rs_layout_table =
    RS_TABLE("layout", "with --layout: one row, a step of the job in another layout", layout_columns);

/* ---- the mesh ----------------------------------------------------------------------------------------------- */

/* The axes of the job, NULL where it has none. A job with one group alone, whose purpose nothing says, is data parallel. */
static rs_status find_axes(const rs_mesh *mesh, const rs_mesh_axis *axes[N_AXES], rs_error *err)
{
    for (int i = 0; i < N_AXES; i++) {
        axes[i] = NULL;
        for (size_t k = 0; k < mesh->n; k++) {
            if (strcmp(mesh->axes[k].name, axis_names[i]) != 0) continue;
            if (axes[i])
                return rs_fail(
                    err, RS_ERR_USAGE,
                    "--layout: the job has two axes of %s parallel groups, of %lld and of %lld ranks; ask about one: "
                    "rankscope replay --what-if 'group-size GROUP:N'",
                    axis_words[i], (long long)axes[i]->size, (long long)mesh->axes[k].size);
            axes[i] = &mesh->axes[k];
        }
    }
    if (mesh->n == 1 && strcmp(mesh->axes[0].name, "axis") == 0 && mesh->axes[0].size == mesh->world)
        axes[DP] = &mesh->axes[0];
    return RS_OK;
}

/* Experts are mostly on ranks of a data parallel group, and then no axis of the mesh: the groups that exchange tokens by all-to-all. */
static rs_status find_experts(const rs_engine *e, rs_mesh_axis *out, bool *found, rs_error *err)
{
    *found = false;
    for (size_t r = 0; r < e->n_ranks; r++)
        for (size_t i = 0; i < e->comm[r]->n_shapes; i++) {
            const rs_coll_shape *shape = &e->comm[r]->shapes[i];
            const char *text = rs_pool_text(&e->comm[r]->pool, shape->members);
            int64_t *members = NULL;
            size_t n = 0;
            if (shape->kind != RS_COLL_ALL_TO_ALL || !text) continue;
            RS_TRY(rs_mesh_parse(text, shape->group_size, &members, &n, err));
            const rs_mesh_axis axis = {
                .name = "ep", .size = (int64_t)n, .stride = n > 1 ? members[1] - members[0] : 0};
            rs_free(members);
            if (n < 2 || !rs_coll_is_of_axis(e->comm[r], shape, &axis)) continue;
            if (*found && (out->size != axis.size || out->stride != axis.stride))
                return rs_fail(
                    err, RS_ERR_USAGE,
                    "--layout: groups of %lld and of %lld ranks exchange by all-to-all; ask about one: rankscope replay "
                    "--what-if 'experts GROUP:N; group-size GROUP:N'",
                    (long long)out->size, (long long)axis.size);
            *out = axis;
            *found = true;
        }
    return RS_OK;
}

static rs_status check_axis(int i, const rs_mesh_axis *axis, int64_t size, rs_error *err)
{
    if (!axis && size > 1)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: %s=%lld: no process group of the traces is known to be %s parallel: record the job with %s of 2 or "
            "more, and groups with descriptions (init_device_mesh, new_group(group_desc=))",
            axis_names[i], (long long)size, axis_words[i], axis_names[i]);
    if (axis && axis->stride < 1)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: %s: ranks of a group are not equally far apart: name it: rankscope replay --what-if 'group-size GROUP:N'",
            axis_names[i]);
    return RS_OK;
}

/* Whether some work is known to be shared out, and whether activations are, too (sequence parallelism). */
static bool is_shared_out(const rs_engine *e)
{
    for (size_t r = 0; r < e->n_ranks; r++)
        for (size_t k = 0; k < e->ranks[r]->n_shares; k++)
            if (e->ranks[r]->shares[k].how == RS_SHARE_PART) return true;
    return false;
}

/* ---- the question ------------------------------------------------------------------------------------------- */

typedef struct layout_job {
    const rs_run *run;
    rs_partial *traces; /* partials with a skeleton, whose values these are */
    rs_passes **passes; /* of them */
    const rs_layout_held *held;
    rs_skeletons ranks;
    rs_engine engine;
    rs_replayed replayed;
    rs_asker *asker;
    rs_what_if question;
    rs_pipelines pipelines;
    rs_pipe_forecast forecast; /* steps 0: it is not asked for */
    rs_mesh mesh;
    const rs_mesh_axis *axes[N_AXES];
    rs_mesh_axis experts; /* axes[EP], where the mesh has none */
    rs_layout_asked asked;
    int64_t size[N_AXES]; /* asked, of axes; 0: it stays */
} layout_job;

static void clear_job(layout_job *j)
{
    rs_pipelines_clear(&j->pipelines);
    rs_asker_close(j->asker);
    rs_what_if_clear(&j->question);
    rs_replayed_clear(&j->replayed);
    rs_engine_clear(&j->engine);
    rs_skeletons_clear(&j->ranks);
    rs_free_all(j->traces, j->passes);
}

/* Recorded over asked; 1: it stays. */
static double part_of(const layout_job *j, int axis)
{
    return j->size[axis] && j->axes[axis] ? (double)j->axes[axis]->size / (double)j->size[axis] : 1;
}

static size_t stages_of(const layout_job *j)
{
    return j->pipelines.stages.n_stages ? j->pipelines.stages.n_stages : 1;
}

static double part_of_stages(const layout_job *j)
{
    return j->asked.pp ? (double)stages_of(j) / (double)j->asked.pp : 1;
}

/* An edit about an axis. Where its ranks are those that share experts, too, all-to-alls are these'. */
static rs_edit *add_edit(const layout_job *j, rs_what_if *q, rs_edit_kind kind, int axis)
{
    const rs_mesh_axis *a = j->axes[axis], *experts = j->axes[EP];
    rs_edit *e = rs_what_if_add_axis(q, kind, a->size, a->stride);
    if (e && axis == EP) e->axis_of = RS_AXIS_EXCHANGES;
    if (e && axis != EP && experts && experts->size == a->size && experts->stride == a->stride)
        e->axis_of = RS_AXIS_OTHERS;
    return e;
}

static void add_sized(const layout_job *j, rs_what_if *q, rs_edit_kind kind, int axis)
{
    rs_edit *e = add_edit(j, q, kind, axis);
    if (e) e->number = j->size[axis];
}

static void add_payload(const layout_job *j, rs_what_if *q, int axis, double factor)
{
    rs_edit *e = j->axes[axis] && factor != 1 ? add_edit(j, q, RS_EDIT_PAYLOAD, axis) : NULL;
    if (e) e->factor = factor;
}

/* With another tensor parallel size, or other stages, a rank has another share of the parameters, whose gradients its data parallel group reduces.
 * What groups carry is changed before how many they are, as latencies are those of the recorded size. stages: a rank's share of the layers, then
 * over now, is how often its computation and its tensor parallel collectives take what they take. */
static rs_status make_question(const layout_job *j, double stages, rs_what_if *q, rs_error *err)
{
    if (part_of(j, TP) != 1) add_sized(j, q, RS_EDIT_SHARD, TP);
    if (part_of(j, EP) != 1) add_sized(j, q, RS_EDIT_EXPERTS, EP);
    if (stages != 1)
        rs_selector_word(rs_what_if_scale_by(q, stages), RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
    add_payload(j, q, DP, part_of(j, TP) * stages);
    add_payload(j, q, TP, stages);
    for (int i = 0; i < N_AXES; i++)
        if (part_of(j, i) != 1) add_sized(j, q, RS_EDIT_GROUP_SIZE, i);
    return rs_what_if_check(q, err);
}

static void print_layout(const layout_job *j, bool then, char out[96])
{
    size_t used = 0;
    bool has_stages = false;
    const int64_t stages = then && j->asked.pp ? j->asked.pp : (int64_t)stages_of(j);
    out[0] = '\0';
    for (size_t k = 0; k < j->mesh.n && used < 60; k++) {
        const rs_mesh_axis *a = &j->mesh.axes[k];
        const char *name = a->name;
        int64_t size = a->size;
        if (strcmp(name, "pp") == 0) {
            has_stages = true;
            size = stages;
        }
        for (int i = 0; i < N_AXES; i++)
            if (j->axes[i] == a) {
                name = axis_names[i];
                if (then && j->size[i]) size = j->size[i];
            }
        used +=
            (size_t)snprintf(out + used, 96 - used, "%s%.8s=%lld", used ? "," : "", name, (long long)size);
    }
    if (!has_stages && (stages > 1 || j->asked.pp))
        used += (size_t)snprintf(out + used, 96 - used, "%spp=%lld", used ? "," : "", (long long)stages);
    if (j->axes[EP] == &j->experts)
        snprintf(out + used, 96 - used, "%sep=%lld", used ? "," : "",
                 (long long)(then && j->size[EP] ? j->size[EP] : j->experts.size));
}

/* ---- the pipeline ------------------------------------------------------------------------------------------- */

/* With the global batch kept, a rank of another dp has other micro-batches. */
static rs_status keep_batch(layout_job *j, rs_error *err)
{
    if (strcmp(rs_options_text(j->run->options, "batch"), "global") != 0) return RS_OK;
    if (j->asked.micro_batches)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--batch global: micro-batches= says already how many a rank has; leave one of them out");
    if (part_of(j, DP) == 1) return RS_OK;
    int64_t now = 0;
    for (size_t i = 0; i < j->pipelines.n_steps; i++) now = j->pipelines.steps[i].micro_batches;
    if (now * j->axes[DP]->size % j->size[DP])
        return rs_fail(
            err, RS_ERR_USAGE,
            "--batch global: %lld micro-batches of %lld data parallel ranks cannot be shared out over %lld: what "
            "smaller micro-batches take is not recorded; leave --batch out, or ask for a dp that divides %lld",
            (long long)now, (long long)j->axes[DP]->size, (long long)j->size[DP],
            (long long)(now * j->axes[DP]->size));
    j->asked.micro_batches = now * j->axes[DP]->size / j->size[DP];
    return RS_OK;
}

static bool asks_pipeline(const layout_job *j)
{
    return j->asked.pp || j->asked.micro_batches || j->asked.schedule != RS_PIPE_UNKNOWN;
}

static rs_status check_pipeline(const layout_job *j, rs_error *err)
{
    if (stages_of(j) < 2 && (j->asked.pp > 1 || j->asked.schedule != RS_PIPE_UNKNOWN))
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: the ranks are no pipeline, so what messages between stages take is not recorded: record the "
            "job with pp of 2 or more");
    if (asks_pipeline(j) && !j->pipelines.n_steps)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: no step has forward and backward passes on all of its ranks, so there is nothing to put in "
            "another order: record whole steps, with annotations of them (ProfilerStep#)");
    return RS_OK;
}

static rs_status retime(layout_job *j, const rs_what_if *q, rs_pipelines *pipelines, rs_error *err)
{
    const rs_times *times;
    if (!q->n) return RS_OK;
    RS_TRY(rs_asker_replay(j->asker, q, &times, err));
    return rs_pipelines_retime(pipelines, &j->engine, times, err);
}

/* A step's time outside of the passes is the engine's, with stages of the other size; what passes and their order take is the forecast's, by passes as
 * the other axes have them: without these the window is that of pipeline --layout. */
static rs_status forecast(layout_job *j, layout_row *row, rs_error *err)
{
    const rs_pipe_forecast *f = &j->forecast;
    RS_SCOPED(rs_what_if_clear) rs_what_if groups = {.n = 0};
    RS_TRY(make_question(j, 1, &groups, err));
    RS_TRY(retime(j, &groups, &j->pipelines, err));
    RS_TRY(rs_pipelines_forecast(&j->pipelines, &j->asked, &j->forecast, err));
    rs_pipelines_clear(&j->pipelines);
    RS_TRY(rs_pipelines_find_any(j->passes, &j->engine.coll, &j->pipelines, err));
    RS_TRY(retime(j, &j->question, &j->pipelines, err));
    const double was = rs_pipelines_window(&j->pipelines) / 1e3, now = (double)f->window / 1e3;
    const double longer =
        was > 0 ? fmax(1, now / was) : 1; /* what a pass is uncertain by, more passes are more */
    const double after = row->after - was + now;
    row->low = after - (row->after - row->low) * longer - (now - (double)f->low / 1e3);
    row->high = after + (row->high - row->after) * longer + ((double)f->high / 1e3 - now);
    row->after = after;
    row->micro_batches = (int64_t)f->other.micro_batches;
    row->schedule = f->other.stages > 1 ? rs_pipe_schedule_names[f->other.schedule] : NULL;
    row->window = f->window;
    row->window_low = f->low;
    row->window_high = f->high;
    row->idle = f->idle;
    row->all = f->window * (int64_t)f->other.stages;
    row->recorded = f->recorded_window;
    row->recorded_idle = f->recorded_idle;
    row->recorded_all = f->recorded_all;
    row->error = f->error;
    row->batch *= (double)f->other.micro_batches / (double)f->recorded.micro_batches;
    return RS_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* Whether the axis shares parameters, gradients or optimizer states out: it scatters or gathers. */
static bool shares_states(const rs_engine *e, const rs_mesh_axis *axis)
{
    for (size_t r = 0; r < e->n_ranks; r++)
        for (size_t i = 0; i < e->comm[r]->n_shapes; i++) {
            const rs_coll_shape *shape = &e->comm[r]->shapes[i];
            if ((shape->kind == RS_COLL_REDUCE_SCATTER || shape->kind == RS_COLL_ALL_GATHER) &&
                rs_coll_is_of_axis(e->comm[r], shape, axis))
                return true;
        }
    return false;
}

/* A factor that is between two. */
typedef struct range {
    double low, high;
} range;

static void may_be(range *x, double factor)
{
    x->low *= fmin(1, factor);
    x->high *= fmax(1, factor);
}

static void is_by(range *x, double factor)
{
    x->low *= factor;
    x->high *= factor;
}

/* Micro-batches whose activations the first stage holds at once, then over now. */
static double in_flight(const rs_pipe_forecast *f)
{
    double n[2] = {1, 1};
    const rs_pipe_layout *const of[2] = {&f->recorded, &f->other};
    for (int i = 0; f->steps && i < 2; i++) {
        const bool one_by_one = of[i]->schedule == RS_PIPE_1F1B || of[i]->stages == 1;
        n[i] = (double)(one_by_one && of[i]->stages < of[i]->micro_batches ? of[i]->stages
                                                                           : of[i]->micro_batches);
    }
    return n[1] / n[0];
}

/* What the fullest rank holds then. Parameters, gradients and optimizer states go with the tensor parallel size and the stages; whether with the
 * others, and what of activations, is not recorded. Of what nothing is known any part may go. */
static void find_memory(const layout_job *j, layout_row *row)
{
    const rs_layout_held *h = j->held;
    range states = {1, 1}, activations = {1, 1}, rest = {1, 1};
    double sum[3] = {0};
    static const uint8_t of[RS_N_PURPOSES] = {
        [RS_FOR_BEFORE] = 3,          [RS_FOR_OTHER] = 3,    [RS_FOR_UNKNOWN] = 3,    [RS_FOR_PARAMETER] = 1,
        [RS_FOR_OPTIMIZER_STATE] = 1, [RS_FOR_GRADIENT] = 1, [RS_FOR_ACTIVATION] = 2, [RS_FOR_TEMPORARY] = 2};
    row->memory = row->memory_low = row->memory_high = RS_NO_VALUE;
    int64_t most = 0, stays = 0;
    for (size_t r = 0; !h && r < j->engine.n_ranks; r++)
        if (j->engine.ranks[r]->memory > most) most = j->engine.ranks[r]->memory;
    for (size_t k = 0; h && k < RS_N_PURPOSES; k++) {
        most = rs_add_sat(most, h->bytes[k]);
        if (of[k])
            sum[of[k] - 1] += (double)h->bytes[k];
        else
            stays = rs_add_sat(stays, h->bytes[k]);
    }
    if (!most) return;
    if (!h) sum[2] = (double)most;
    const double stages = part_of_stages(j), passes = in_flight(&j->forecast);
    is_by(&states, part_of(j, TP) * stages);
    if (j->axes[DP] && shares_states(&j->engine, j->axes[DP])) may_be(&states, part_of(j, DP));
    may_be(&states, part_of(j, EP));
    may_be(&activations, part_of(j, TP));
    is_by(&activations, stages * passes);
    rest = states;
    may_be(&rest, passes);
    rest = (range){fmin(fmin(1, rest.low), activations.low), fmax(fmax(1, rest.high), activations.high)};
    row->memory = most;
    row->memory_low =
        rs_int_near(sum[0] * states.low + sum[1] * activations.low + sum[2] * rest.low + (double)stays);
    row->memory_high =
        rs_int_near(sum[0] * states.high + sum[1] * activations.high + sum[2] * rest.high + (double)stays);
}

/* ---- the answer --------------------------------------------------------------------------------------------- */

static rs_status ask(layout_job *j, layout_row *row, rs_error *err)
{
    const rs_ask_how how = {.rank_of = j->ranks.rank_of, .jobs = j->run->jobs};
    rs_foretold answer = {.before = (double)NAN};
    rs_asked asked = {.question = &j->question, .answers = &answer};
    RS_TRY(rs_replay_measure(&j->engine, RS_EDGES_ALL, true, &j->replayed, err));
    RS_TRY(rs_asker_open(&j->replayed, &how, &j->asker, err));
    row->before = rs_asker_before(j->asker);
    row->steps = (int64_t)rs_asker_n_steps(j->asker);
    row->after = row->low = row->high = row->before;
    row->trusted = 1;
    row->reason = rs_asker_reason(j->asker);
    if (j->question.n) {
        RS_TRY(rs_asker_ask(j->asker, &asked, 1, err));
        row->reason = asked.refused;
        row->after = answer.after;
        row->low = answer.before - answer.high;
        row->high = answer.before - answer.low;
    }
    if (!row->reason && asks_pipeline(j)) RS_TRY(forecast(j, row, err));
    if (!row->reason && part_of(j, EP) != 1 && row->high - row->low > WIDEST_OF_EXPERTS * row->before)
        row->reason =
            "how the load of experts parts over more ranks is not recorded, and ranks' loads differ by too much";
    if (row->reason) {
        row->after = row->low = row->high = (double)NAN;
        row->trusted = RS_NO_VALUE;
    }
    return RS_OK;
}

static rs_status read_asked(layout_job *j, rs_error *err)
{
    RS_TRY(rs_layout_parse(rs_options_text(j->run->options, "layout"), &j->asked, err));
    RS_TRY(rs_coll_mesh(j->engine.comm, j->engine.n_ranks, 0, &j->mesh, err));
    RS_TRY(find_axes(&j->mesh, j->axes, err));
    j->size[DP] = j->asked.dp;
    j->size[TP] = j->asked.tp;
    j->size[EP] = j->asked.ep;
    bool found = false; /* groups that exchange: their all-to-alls are not of the axis whose ranks they are */
    const rs_status status = find_experts(&j->engine, &j->experts, &found, j->asked.ep ? err : NULL);
    if (status != RS_OK && (j->asked.ep || status != RS_ERR_USAGE)) return status;
    if (found && !j->axes[EP]) j->axes[EP] = &j->experts;
    for (int i = 0; i < N_AXES; i++)
        if (j->size[i]) RS_TRY(check_axis(i, j->axes[i], j->size[i], err));
    if (part_of(j, TP) != 1 && !is_shared_out(&j->engine))
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: tp=%lld: no operator is known to be shared out, as the traces have no shapes that say so: record "
            "with record_shapes=True",
            (long long)j->size[TP]);
    RS_TRY(rs_pipelines_find_any(j->passes, &j->engine.coll, &j->pipelines, err));
    RS_TRY(check_pipeline(j, err));
    return keep_batch(j, err);
}

static const char *assumption_of(const layout_job *j)
{
    if (asks_pipeline(j)) return "every pass takes as long as now; links stay as fast";
    return j->size[EP] ? "experts get as many tokens from each rank as now; links stay as fast"
                       : "each rank's host does the same calls; links stay as fast";
}

static rs_status answer_layout(layout_job *j, rs_result *result, rs_error *err)
{
    layout_row row = {.micro_batches = RS_NO_VALUE,
                      .window = RS_NO_VALUE,
                      .window_low = RS_NO_VALUE,
                      .window_high = RS_NO_VALUE,
                      .recorded = RS_NO_VALUE,
                      .error = (double)NAN};
    rs_text text = {0};
    RS_TRY(read_asked(j, err));
    RS_TRY(make_question(j, part_of_stages(j), &j->question, err));
    print_layout(j, false, row.recorded_layout);
    print_layout(j, true, row.layout);
    const double ranks = (double)(j->mesh.n ? j->mesh.covered : (int64_t)j->engine.n_ranks);
    const double more = 1 / (part_of(j, DP) * part_of(j, TP) * part_of_stages(j));
    row.batch = 100 / part_of(j, DP);
    RS_TRY(ask(j, &row, err));
    row.ranks = (int64_t)ranks;
    row.ranks_then = rs_int_near(ranks * more);
    row.per_gpu = row.batch / more * row.before / row.after;
    find_memory(j, &row);
    if (row.memory == RS_NO_VALUE)
        rs_result_note(
            result,
            "memory is not checked: the traces have no [memory] events of a GPU; give snapshots of the allocators with "
            "--memory (torch.cuda.memory._dump_snapshot), or record with profile_memory=True");
    row.assumption = assumption_of(j);
    rs_what_if_print(&j->question, &text);
    row.question = j->question.n ? rs_text_get(&text) : NULL;
    rs_status status = rs_table_put_row(result->tables[RS_WHATIF_LAYOUT], &layout_record, -1, &row, err);
    rs_text_clear(&text);
    result->main_table = RS_WHATIF_LAYOUT;
    return status;
}

static const rs_field held_fields[] = {RS_FIELD_ARRAY(rs_layout_held, bytes)};
const rs_layout rs_layout_held_layout = RS_LAYOUT(rs_layout_held, held_fields);

rs_status rs_layout_rank(const rs_run *run, rs_trace *trace, rs_whatif_rank *out, rs_error *err)
{
    void *skeleton = NULL;
    if (rs_snapshot_of(trace)) {
        out->held = rs_calloc(1, sizeof *out->held);
        if (!out->held) return rs_fail_nomem(err, "memory of a rank");
        return rs_purposes_at_peak(rs_snapshot_of(trace), out->held->bytes, err);
    }
    rs_status status = rs_skeletons_shared(run, trace, &skeleton, err);
    out->skeleton = skeleton;
    if (status != RS_OK || !skeleton) return status;
    return rs_passes_of(trace, run->policy, &out->passes, err);
}

static int64_t all_held(const rs_layout_held *h)
{
    int64_t sum = 0;
    for (size_t k = 0; h && k < RS_N_PURPOSES; k++) sum = rs_add_sat(sum, h->bytes[k]);
    return sum;
}

/* Traces, and the fullest of the snapshots. */
static rs_status take_partials(const rs_partial *partials, size_t n, layout_job *j, rs_error *err)
{
    size_t kept = 0;
    j->traces = rs_malloc((n + 1) * sizeof *j->traces);
    j->passes = rs_malloc((n + 1) * sizeof *j->passes);
    if (!j->traces || !j->passes) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < n; i++) {
        const rs_whatif_rank *p = partials[i].value;
        if (!p) continue; /* it brought nothing */
        if (p->held && all_held(p->held) > all_held(j->held)) j->held = p->held;
        if (!p->skeleton || !p->passes || partials[i].side) continue;
        j->traces[kept] = partials[i];
        j->passes[kept] = p->passes;
        j->traces[kept++].value = p->skeleton;
    }
    return rs_skeletons_take(j->traces, kept, &j->ranks, err);
}

rs_status rs_layout_merge(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                          rs_error *err)
{
    RS_SCOPED(clear_job) layout_job j = {.run = run};
    const rs_engine_how how = {rs_clock_how_of(rs_options_text(run->options, "clocks")), .infer = true};
    RS_TRY(take_partials(partials, n, &j, err));
    if (!j.ranks.n) return RS_OK;
    RS_TRY(rs_engine_join(j.ranks.items, j.ranks.n, &how, &j.engine, err));
    RS_TRY(answer_layout(&j, result, err));
    if (j.engine.n_alone)
        rs_result_note(
            result,
            "%zu kernels of communication have partners that are not in the traces: how long they waited keeps its recorded "
            "time",
            j.engine.n_alone);
    if (rs_coll_on_host(&j.engine.coll)) rs_coll_note_host(&j.engine.coll, result);
    rs_coll_note_trust(&j.engine.trust, result);
    return RS_OK;
}
