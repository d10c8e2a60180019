/* structure: steps, phases, micro batches and layers of a job, without annotations. */
#include "analysis/structure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "match/collective_ops.h"
#include "match/mesh.h"
#include "table/cells.h"
#include "text/numbers.h"

static const rs_option_spec options[] = {
    {"from", RS_OPTION_CHOICE, "WHAT", "auto|annotations|repetition", "auto",
     "what steps are detected from; auto: annotations, and repetition where there are none"},
};

static const char *const source_names[RS_N_STEP_SOURCES] = {
    [RS_STEPS_NONE] = NULL,
    [RS_STEPS_ANNOTATED] = "annotations",
    [RS_STEPS_SERVING] = "serving annotations",
    [RS_STEPS_REPETITION] = "repetition",
};

#define STEP_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_structure_step, number), "step", INT, ID, "number of the step", NULL)                         \
    CELL(WORD(rs_structure_step, source, source_names), "told_by", TEXT, NONE,                               \
         "annotations, serving annotations, repetition", "detected from")                                    \
    CELL(OF(rs_structure_step, start), "start_us", MOMENT, US, "start of its first launch", "first launch")  \
    CELL(OF(rs_structure_step, end), "end_us", MOMENT, US, "end of its last launch", "last launch")          \
    CELL(OF(rs_structure_step, works), "works", INT, COUNT, "pieces of GPU work", NULL)                      \
    CELL(IF(rs_structure_step, micro_batches, micro_batches), "micro_batches", INT, COUNT,                   \
         "how often its forward repeats; unknown where forward and backward are not distinguished",          \
         "micro batches")                                                                                    \
    CELL(OF(rs_structure_step, layers), "layers", INT, COUNT,                                                \
         "layers of a micro batch's forward (of the step where phases are unknown); 0: nothing repeats",     \
         NULL)                                                                                               \
    CELL(OF(rs_structure_step, layer_works), "works_per_layer", INT, COUNT,                                  \
         "pieces of GPU work of a layer's forward", "works a layer")
RS_RECORD(step, STEP_ROW);

#define PHASE_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_structure_phase, step), "step", INT, ID, "number of the step", NULL)                          \
    CELL(WORD(rs_structure_phase, phase, rs_phase_names), "phase", TEXT, NONE,                               \
         "forward, backward, optimizer, unknown", NULL)                                                      \
    CELL(OF(rs_structure_phase, works), "works", INT, COUNT, "pieces of GPU work", NULL)                     \
    CELL(OF(rs_structure_phase, gpu), "gpu_us", TIME, US, "their time, summed", "GPU time")
RS_RECORD(phase, PHASE_ROW);

#define MICRO_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_structure_phase, step), "step", INT, ID, "number of the step", NULL)                          \
    CELL(OF(rs_structure_phase, micro_batch), "micro_batch", INT, ID, "micro batch, in order of forward",    \
         "micro batch")                                                                                      \
    CELL(WORD(rs_structure_phase, phase, rs_phase_names), "phase", TEXT, NONE, "forward or backward", NULL)  \
    CELL(OF(rs_structure_phase, works), "works", INT, COUNT, "pieces of GPU work", NULL)                     \
    CELL(OF(rs_structure_phase, gpu), "gpu_us", TIME, US, "their time, summed", "GPU time")
RS_RECORD(micro, MICRO_ROW);

#define LAYER_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(WORD(rs_structure_layer, phase, rs_phase_names), "phase", TEXT, NONE, "forward, backward, unknown", \
         NULL)                                                                                               \
    CELL(OF(rs_structure_layer, layer), "layer", INT, ID, "layer, in order of forward", NULL)                \
    CELL(OF(rs_structure_layer, steps), "steps", INT, COUNT, "steps it was seen in", NULL)                   \
    CELL(OF(rs_structure_layer, works), "works", INT, COUNT, "pieces of GPU work in all of them", NULL)      \
    CELL(OF(rs_structure_layer, gpu), "gpu_us", TIME, US, "their time, summed", "GPU time")                  \
    CELL(SET, "mean_us", REAL, US, "gpu_us a step", "a step")
RS_RECORD(layer, LAYER_ROW);

static const rs_column_spec mesh_columns[] = {
    RS_COLUMN("axis", TEXT, NONE, "tp, dp, pp, ep, cp, sp; axis: not known", NULL),
    RS_COLUMN("named_by", TEXT, NONE,
              "description: of the process group; behaviour: what is done in it; unknown: neither",
              "named by"),
    RS_COLUMN("size", INT, COUNT, "ranks of a group", NULL),
    RS_COLUMN("stride", INT, COUNT, "from one rank of a group to the next; unknown: not the same for all",
              NULL),
    RS_COLUMN("groups", INT, COUNT, "groups that some rank communicates in", NULL),
    RS_COLUMN("ranks", INT, COUNT, "ranks in them", NULL),
    RS_COLUMN("operations", INT, COUNT, "communication in them, as all ranks saw it", NULL),
};

static const rs_column_spec fit_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank; unknown: the whole job", NULL),
    RS_COLUMN("question", TEXT, NONE, "steps, micro_batches, layers, mesh", NULL),
    RS_COLUMN("answer", TEXT, NONE, "what was found; unknown: refused", NULL),
    RS_COLUMN("score", REAL, NONE,
              "share of the work that agrees with the answer: of steps, with the work a period later; of "
              "micro batches, with the next one's; of layers, the share of forward inside of layers; of the "
              "mesh, the share of the job\'s ranks that its axes multiply to",
              NULL),
    RS_COLUMN("runner_up", REAL, NONE, "score of the best period that is no multiple nor part; unknown: none",
              "runner-up"),
    RS_COLUMN("reason", TEXT, NONE, "of a refusal or a weak answer", NULL),
};

enum { MESH = 4, FIT }; /* tables */

static rs_status put_fit(rs_table *t, int64_t rank, const char *question, const char *answer, double score,
                         double runner_up, const char *reason, rs_error *err)
{
    return RS_PUT_ROW(t, err, rank, question, answer, score, runner_up, reason);
}

static rs_status fit_steps(rs_result *result, int64_t rank, const rs_relations *of, rs_error *err)
{
    const rs_structure_rank *p = of->extra;
    size_t n_steps = of->items[RS_STRUCTURE_STEPS].n;
    char answer[160];
    const char *reason = NULL;
    double score = p->looked ? p->score : (double)NAN, runner_up = p->looked ? p->runner_up : (double)NAN;
    if (p->source == RS_STEPS_NONE) {
        reason =
            !p->looked ? "nothing repeats"
            : p->score >= 0.9
                ? "a period repeats, but neither a border of steps nor anything of training shows in every repetition: "
                  "it may be a layer"
                : "no period fits, nor is better than the others";
        if (p->looked)
            rs_result_note(result,
                           "rank %lld: no steps: the best period, %zu pieces of work, scores %s (the next "
                           "%s): %s",
                           (long long)rank, p->period, RS_FIXED(p->score, 3), RS_FIXED(p->runner_up, 3),
                           reason);
        else
            rs_result_note(result, "rank %lld: no steps: %s", (long long)rank, reason);
        return put_fit(result->tables[FIT], rank, "steps", NULL, score, runner_up, reason, err);
    }
    if (p->source == RS_STEPS_REPETITION)
        snprintf(answer, sizeof answer, "%zu steps of %zu pieces of work by repetition, border: %s", n_steps,
                 p->period, rs_border_names[p->border]);
    else
        snprintf(answer, sizeof answer, "%zu steps by %s", n_steps ? n_steps : p->n_annotated,
                 source_names[p->source]);
    if (n_steps == 0 && p->n_annotated)
        reason = "they hold no GPU work, from which phases and layers are detected";
    if (p->weak) reason = "weak: events may be missing";
    if (p->outside)
        rs_result_note(result, "rank %lld: %zu of %zu pieces of GPU work belong to no step", (long long)rank,
                       p->outside, p->works);
    return put_fit(result->tables[FIT], rank, "steps", answer, score, runner_up, reason, err);
}

/* Of the step that the most agree with: the one in the middle is as good as any. */
static rs_status fit_inside(rs_result *result, int64_t rank, const rs_relations *of, rs_error *err)
{
    char answer[160];
    const rs_structure_step *steps = RS_ROWS(rs_structure_step, of, RS_STRUCTURE_STEPS);
    const rs_structure_phase *phases = RS_ROWS(rs_structure_phase, of, RS_STRUCTURE_PHASES);
    const rs_structure_layer *layers = RS_ROWS(rs_structure_layer, of, RS_STRUCTURE_LAYERS);
    size_t n_steps = of->items[RS_STRUCTURE_STEPS].n, alike = 0;
    if (n_steps == 0) return RS_OK;
    const rs_structure_step *s = &steps[n_steps / 2];
    for (size_t i = 0; i < n_steps; i++)
        alike += steps[i].layers == s->layers && steps[i].micro_batches == s->micro_batches;
    if (s->micro_batches) {
        snprintf(answer, sizeof answer, "%zu in %zu of %zu steps", s->micro_batches, alike, n_steps);
        RS_TRY(
            put_fit(result->tables[FIT], rank, "micro_batches", answer, s->likeness, (double)NAN, NULL, err));
    } else {
        RS_TRY(put_fit(result->tables[FIT], rank, "micro_batches", NULL, (double)NAN, (double)NAN,
                       "forward and backward cannot be distinguished: no launch was autograd's", err));
    }
    size_t in = 0, all = 0;
    for (size_t i = 0; i < of->items[RS_STRUCTURE_LAYERS].n; i++)
        if (layers[i].phase == RS_PHASE_FORWARD) in += layers[i].works;
    for (size_t i = 0; i < of->items[RS_STRUCTURE_PHASES].n; i++)
        if (phases[i].phase == RS_PHASE_FORWARD) all += phases[i].works;
    double share = all ? (double)in / (double)all : (double)NAN;
    if (s->layers == 0)
        return put_fit(result->tables[FIT], rank, "layers", NULL, (double)NAN, (double)NAN,
                       "no stretch of at least 4 pieces of work is repeated three times in a row", err);
    snprintf(answer, sizeof answer, "%zu of %zu pieces of work", s->layers, s->layer_works);
    return put_fit(result->tables[FIT], rank, "layers", answer, share, (double)NAN, NULL, err);
}

/* ---- the mesh ------------------------------------------------------------------------------------------ */

static rs_status put_axis(rs_table *t, const rs_mesh_axis *a, rs_error *err)
{
    bool named = strcmp(a->name, "axis") != 0;
    return RS_PUT_ROW(t, err, a->name, named ? (a->described ? "description" : "behaviour") : NULL, a->size,
                      a->stride > 0 ? a->stride : RS_NO_VALUE, a->groups, a->ranks, a->ops);
}

static rs_status put_mesh(rs_result *result, const rs_mesh *mesh, size_t unlisted, rs_error *err)
{
    char answer[RS_MESH_AXES * 48] = "";
    size_t used = 0;
    for (size_t i = 0; i < mesh->n; i++) {
        RS_TRY(put_axis(result->tables[MESH], &mesh->axes[i], err));
        used += (size_t)snprintf(answer + used, sizeof answer - used, "%s%s %lld", i ? " x " : "",
                                 mesh->axes[i].name, (long long)mesh->axes[i].size);
    }
    const char *reason = NULL;
    if (mesh->n == 0)
        reason = unlisted ? "the process groups do not list their ranks" : "no communication";
    else if (mesh->covered != mesh->world)
        reason = "the axes that communicate do not multiply to the job's ranks";
    if (mesh->n && reason)
        rs_result_note(result, "mesh: %s make %lld of %lld ranks: on another axis nothing is communicated",
                       answer, (long long)mesh->covered, (long long)mesh->world);
    double score = mesh->n ? (double)mesh->covered / (double)mesh->world : (double)NAN;
    return put_fit(result->tables[FIT], RS_NO_VALUE, "mesh", mesh->n ? answer : NULL, score, (double)NAN,
                   reason, err);
}

/* Members stay the partials'. */
static rs_status find_mesh(const rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    RS_LOCAL rs_mesh_group *groups = NULL;
    size_t n_groups = 0, capacity = 0, unlisted = 0;
    int64_t world = 0;
    rs_mesh mesh;
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        const rs_structure_rank *p = ((const rs_relations *)partials[i].value)->extra;
        unlisted += p->n_unlisted;
        if (p->world > world) world = p->world;
        for (size_t k = 0; ok && k < p->n_groups; k++) {
            const rs_structure_group *g = &p->groups[k];
            ok = RS_PUSH(groups, n_groups, capacity,
                         (rs_mesh_group){.members = g->members,
                                         .n = g->n,
                                         .description = g->description,
                                         .ops = g->ops,
                                         .transfers = g->transfers,
                                         .all_to_alls = g->all_to_alls,
                                         .forward_sums = g->forward_sums,
                                         .behind = g->behind});
        }
    }
    rs_status status =
        ok ? rs_mesh_find(groups, n_groups, world, &mesh, err) : rs_fail_nomem(err, "the mesh");
    return status == RS_OK ? put_mesh(result, &mesh, unlisted, err) : status;
}

static rs_status explain(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                         rs_error *err)
{
    (void)run;
    for (size_t i = 0; i < n; i++) {
        const rs_relations *of = partials[i].value;
        if (!of->extra)
            return rs_fail(err, RS_ERR_FORMAT, "%s: the packed part has no answer to structure; map it again",
                           partials[i].source ? partials[i].source : "a rank");
        RS_TRY(fit_steps(result, partials[i].rank, of, err));
        RS_TRY(fit_inside(result, partials[i].rank, of, err));
    }
    return find_mesh(partials, n, result, err);
}

static void set_mean(rs_table *table, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_structure_layer *l = row;
    (void)run;
    (void)of;
    rs_table_set_real(table, "mean_us", (double)l->gpu / 1000 / (double)l->steps);
}

static bool is_of_micro_batch(const rs_run *run, const rs_relations *of, const void *row)
{
    (void)run;
    (void)of;
    return ((const rs_structure_phase *)row)->micro_batch >= 0;
}

/* ---- what travels -------------------------------------------------------------------------------------- */

static const rs_field group_fields[] = {
    RS_FIELD_OR_NULL(rs_structure_group, description),
    RS_FIELD_VALUES(rs_structure_group, members, n),
    RS_FIELDS(rs_structure_group, ops, transfers, all_to_alls, forward_sums, behind),
};
/* What rs_mesh_find relies on. */
static bool is_group(const void *value)
{
    const rs_structure_group *g = value;
    for (size_t i = 0; i < g->n; i++)
        if (g->members[i] < 0 || (i && g->members[i] <= g->members[i - 1])) return false;
    return true;
}
static const rs_layout group_layout = RS_LAYOUT_CHECKED(rs_structure_group, group_fields, is_group);

static const rs_field rank_fields[] = {
    RS_FIELD_BELOW(rs_structure_rank, source, RS_N_STEP_SOURCES),
    RS_FIELD_BELOW(rs_structure_rank, border, RS_N_BORDERS),
    RS_FIELDS(rs_structure_rank, weak, looked, period, score, runner_up, works, n_annotated, outside, world),
    RS_FIELD_LIST(rs_structure_rank, groups, n_groups, &group_layout),
    RS_FIELD(rs_structure_rank, n_unlisted),
};
static const rs_layout rank_layout = RS_LAYOUT(rs_structure_rank, rank_fields);
static const rs_field step_fields[] = {RS_FIELD(rs_structure_step, likeness)};
static const rs_layout step_layout = RS_RECORD_LAYOUT_AND(rs_structure_step, step, step_fields);

static const rs_aggregate by_phase[] = {
    RS_KEY(rs_structure_phase, step, rs_structure_work, step),
    RS_KEY_BELOW(rs_structure_phase, phase, RS_N_PHASES, rs_structure_work, phase),
    RS_COUNTED(rs_structure_phase, works),
    RS_SUMMED(rs_structure_phase, gpu, rs_structure_work, gpu),
};
static const rs_aggregate by_micro_batch[] = {
    RS_KEY(rs_structure_phase, step, rs_structure_work, step),
    RS_KEY_BELOW(rs_structure_phase, phase, RS_N_PHASES, rs_structure_work, phase),
    RS_KEY(rs_structure_phase, micro_batch, rs_structure_work, micro_batch),
    RS_COUNTED(rs_structure_phase, works),
    RS_SUMMED(rs_structure_phase, gpu, rs_structure_work, gpu),
};
static const rs_aggregate by_layer[] = {
    RS_KEY_BELOW(rs_structure_layer, phase, RS_N_PHASES, rs_structure_work, phase),
    RS_KEY(rs_structure_layer, layer, rs_structure_work, layer),
    RS_SUMMED(rs_structure_layer, steps, rs_structure_work, opens),
    RS_COUNTED(rs_structure_layer, works),
    RS_SUMMED(rs_structure_layer, gpu, rs_structure_work, gpu),
};
static const rs_order in_order[] = {RS_RISING(rs_structure_phase, step), RS_RISING(rs_structure_phase, phase),
                                    RS_RISING(rs_structure_phase, micro_batch)};
static const rs_plan_relation relations[] = {
    [RS_STRUCTURE_STEPS] = {RS_LISTED(RS_STRUCTURE_STEPS, rs_structure_step, &step_layout),
                            .make = rs_structure_put},
    [RS_STRUCTURE_PHASES] = {RS_GROUPED(RS_STRUCTURE_PHASES, rs_structure_phase, rs_structure_work, by_phase),
                             RS_IN_ORDER(in_order)},
    [RS_STRUCTURE_MICRO_BATCHES] = {RS_GROUPED(RS_STRUCTURE_MICRO_BATCHES, rs_structure_phase,
                                               rs_structure_work, by_micro_batch),
                                    RS_IN_ORDER(in_order)},
    [RS_STRUCTURE_LAYERS] = {RS_GROUPED(RS_STRUCTURE_LAYERS, rs_structure_layer, rs_structure_work,
                                        by_layer)},
    [RS_STRUCTURE_RANK] = {RS_PLAN_EXTRA(rs_structure_rank, &rank_layout)},
};
static const rs_plan_table
    step_table = {RS_PLAN_TABLE("steps", "one row is one step of one rank", step),
                  .relation = RS_STRUCTURE_STEPS},
    phase_table = {RS_PLAN_TABLE("phases", "one row is one phase of one step of one rank", phase),
                   .relation = RS_STRUCTURE_PHASES},
    micro_table = {RS_PLAN_TABLE("micro_batches",
                                 "one row is one micro batch in one phase of one step of one rank", micro),
                   .relation = RS_STRUCTURE_MICRO_BATCHES, .shows = is_of_micro_batch},
    layer_table = {RS_PLAN_TABLE("layers", "one row is one layer in one phase of one rank, over all steps",
                                 layer),
                   .relation = RS_STRUCTURE_LAYERS, .set = set_mean},
    mesh_table = {.spec = RS_TABLE("mesh", "one row is one axis of the mesh of all ranks", mesh_columns),
                  .relation = RS_OF_MORE},
    fit_table = {.spec = RS_TABLE("fit", "one row is one question about one rank", fit_columns),
                 .relation = RS_OF_MORE};
static const rs_table_spec *const tables[] = {&step_table.spec,  &phase_table.spec, &micro_table.spec,
                                              &layer_table.spec, &mesh_table.spec,  &fit_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .more = explain, .free_extra = rs_structure_free};

const rs_analysis rs_analysis_structure = {
    .name = "structure",
    .group = "Call tree",
    .help = "Steps, phases, micro batches, layers and mesh, detected from what repeats, without annotations",
    .about =
        "Each piece of GPU work is given its place in the model's program.\n\n"
        "Steps: annotations; where there are none (or with --from repetition), what repeats in "
        "the order of launches and begins at a border that steps have: a data loader's call, the end of the "
        "optimizer, a copy to the device, a read-back, a pause of the host. A period without such a border, "
        "or of operators among which are no backward, optimizer or loader, may be a layer, and no step is "
        "claimed.\n\n"
        "Phases: annotations that end in (F), (B) or (W) say it for what they hold; else backward is what "
        "autograd launches; forward is before the last of it; after it "
        "the optimizer's own work and the clearing of gradients are the optimizer; the rest is unknown. Sends "
        "belong to what was computed before them, receives to what is computed after.\n\n"
        "Micro batches: the smallest part of a step's forward of which it is a whole number of repetitions. "
        "Layers: stretches of at least four pieces of work that repeat at least three times in a row within a "
        "micro batch. Work of backward belongs to the micro batch and the layer of the forward operator whose "
        "sequence number its operator has.\n\n"
        "Mesh, over all ranks: process groups of one size and stride that share no rank are an axis; axes "
        "meet in one rank and their sizes multiply to the job's ranks. An axis is named by its groups' "
        "description or else by what is done in them: sends and receives pp, all-to-alls ep, sums in forward "
        "tp, sums after it dp.\n\n"
        "The table fit says how well each answer fits, and why one was refused.",
    .examples = "rankscope structure traces/\nrankscope structure --table layers --format csv trace.json.gz\n"
                "rankscope structure --from repetition --table fit traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_structure, &rs_facet_steps, &rs_facet_span},
    .columns = RS_COLL_HOST_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS,
    .follows_not = "repetition is looked for in whole steps",
};
