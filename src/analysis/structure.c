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
    CELL(SET, "told_by", TEXT, NONE, "annotations, serving annotations, repetition", "detected from")        \
    CELL(OF(rs_structure_step, start), "start_us", MOMENT, US, "start of its first launch", "first launch")  \
    CELL(OF(rs_structure_step, end), "end_us", MOMENT, US, "end of its last launch", "last launch")          \
    CELL(OF(rs_structure_step, works), "works", INT, COUNT, "pieces of GPU work", NULL)                      \
    CELL(SET, "micro_batches", INT, COUNT,                                                                   \
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
    CELL(SET, "phase", TEXT, NONE, "forward, backward, optimizer, unknown", NULL)                            \
    CELL(OF(rs_structure_phase, works), "works", INT, COUNT, "pieces of GPU work", NULL)                     \
    CELL(OF(rs_structure_phase, gpu), "gpu_us", TIME, US, "their time, summed", "GPU time")
RS_RECORD(phase, PHASE_ROW);

#define MICRO_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_structure_phase, step), "step", INT, ID, "number of the step", NULL)                          \
    CELL(OF(rs_structure_phase, micro_batch), "micro_batch", INT, ID, "micro batch, in order of forward",    \
         "micro batch")                                                                                      \
    CELL(SET, "phase", TEXT, NONE, "forward or backward", NULL)                                              \
    CELL(OF(rs_structure_phase, works), "works", INT, COUNT, "pieces of GPU work", NULL)                     \
    CELL(OF(rs_structure_phase, gpu), "gpu_us", TIME, US, "their time, summed", "GPU time")
RS_RECORD(micro, MICRO_ROW);

#define LAYER_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "phase", TEXT, NONE, "forward, backward, unknown", NULL)                                       \
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

static const rs_table_spec step_table = RS_TABLE("steps", "one row is one step of one rank", step_columns);
static const rs_table_spec phase_table =
    RS_TABLE("phases", "one row is one phase of one step of one rank", phase_columns);
static const rs_table_spec micro_table = RS_TABLE(
    "micro_batches", "one row is one micro batch in one phase of one step of one rank", micro_columns);
static const rs_table_spec layer_table =
    RS_TABLE("layers", "one row is one layer in one phase of one rank, over all steps", layer_columns);
static const rs_table_spec fit_table = RS_TABLE("fit", "one row is one question about one rank", fit_columns);
static const rs_table_spec mesh_table =
    RS_TABLE("mesh", "one row is one axis of the mesh of all ranks", mesh_columns);
static const rs_table_spec *const tables[] = {&step_table,  &phase_table, &micro_table,
                                              &layer_table, &mesh_table,  &fit_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, sizeof tables / sizeof *tables}};
enum { STEPS, PHASES, MICRO_BATCHES, LAYERS, MESH, FIT };

/* ---- rows ---------------------------------------------------------------------------------------------- */

static rs_status put_steps(rs_table *t, int64_t rank, const rs_structure_rank *p, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_steps; i++) {
        const rs_structure_step *s = &p->steps[i];
        rs_table_put(t, &step_record, rank, s);
        rs_table_set_text(t, "told_by", source_names[p->source]);
        if (s->micro_batches)
            rs_table_set_int(t, "micro_batches", (int64_t)s->micro_batches);
        else
            rs_table_set_null(t, "micro_batches");
        status = rs_table_end_row(t, err);
    }
    return status;
}

/* Micro batches of a phase are added up for the table of phases. */
static rs_status put_phases(rs_table *t, int64_t rank, const rs_structure_rank *p, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0, end; status == RS_OK && i < p->n_phases; i = end) {
        rs_structure_phase sum = p->phases[i];
        for (end = i + 1;
             end < p->n_phases && p->phases[end].step == sum.step && p->phases[end].phase == sum.phase;
             end++) {
            sum.works += p->phases[end].works;
            sum.gpu = rs_add_sat(sum.gpu, p->phases[end].gpu);
        }
        rs_table_put(t, &phase_record, rank, &sum);
        rs_table_set_text(t, "phase", rs_phase_names[sum.phase]);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status put_micro_batches(rs_table *t, int64_t rank, const rs_structure_rank *p, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_phases; i++) {
        if (p->phases[i].micro_batch < 0) continue;
        rs_table_put(t, &micro_record, rank, &p->phases[i]);
        rs_table_set_text(t, "phase", rs_phase_names[p->phases[i].phase]);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status put_layers(rs_table *t, int64_t rank, const rs_structure_rank *p, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_layers; i++) {
        const rs_structure_layer *l = &p->layers[i];
        rs_table_put(t, &layer_record, rank, l);
        rs_table_set_text(t, "phase", rs_phase_names[l->phase]);
        rs_table_set_real(t, "mean_us", (double)l->gpu / 1000 / (double)l->steps);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status put_fit(rs_table *t, int64_t rank, const char *question, const char *answer, double score,
                         double runner_up, const char *reason, rs_error *err)
{
    return RS_PUT_ROW(t, err, rank, question, answer, score, runner_up, reason);
}

static rs_status fit_steps(rs_result *result, int64_t rank, const rs_structure_rank *p, rs_error *err)
{
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
        snprintf(answer, sizeof answer, "%zu steps of %zu pieces of work by repetition, border: %s",
                 p->n_steps, p->period, rs_border_names[p->border]);
    else
        snprintf(answer, sizeof answer, "%zu steps by %s", p->n_steps ? p->n_steps : p->n_annotated,
                 source_names[p->source]);
    if (p->n_steps == 0 && p->n_annotated)
        reason = "they hold no GPU work, from which phases and layers are detected";
    if (p->weak) reason = "weak: events may be missing";
    if (p->outside)
        rs_result_note(result, "rank %lld: %zu of %zu pieces of GPU work belong to no step", (long long)rank,
                       p->outside, p->works);
    return put_fit(result->tables[FIT], rank, "steps", answer, score, runner_up, reason, err);
}

/* Of the step that the most agree with: the one in the middle is as good as any. */
static rs_status fit_inside(rs_result *result, int64_t rank, const rs_structure_rank *p, rs_error *err)
{
    char answer[160];
    if (p->n_steps == 0) return RS_OK;
    const rs_structure_step *s = &p->steps[p->n_steps / 2];
    size_t alike = 0;
    for (size_t i = 0; i < p->n_steps; i++)
        alike += p->steps[i].layers == s->layers && p->steps[i].micro_batches == s->micro_batches;
    if (s->micro_batches) {
        snprintf(answer, sizeof answer, "%zu in %zu of %zu steps", s->micro_batches, alike, p->n_steps);
        RS_TRY(
            put_fit(result->tables[FIT], rank, "micro_batches", answer, s->likeness, (double)NAN, NULL, err));
    } else {
        RS_TRY(put_fit(result->tables[FIT], rank, "micro_batches", NULL, (double)NAN, (double)NAN,
                       "forward and backward cannot be distinguished: no launch was autograd's", err));
    }
    size_t in = 0, all = 0;
    for (size_t i = 0; i < p->n_layers; i++)
        if (p->layers[i].phase == RS_PHASE_FORWARD) in += p->layers[i].works;
    for (size_t i = 0; i < p->n_phases; i++)
        if (p->phases[i].phase == RS_PHASE_FORWARD) all += p->phases[i].works;
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
        const rs_structure_rank *p = partials[i].value;
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

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    for (size_t i = 0; i < n; i++) {
        const rs_structure_rank *p = partials[i].value;
        int64_t rank = partials[i].rank;
        RS_TRY(put_steps(result->tables[STEPS], rank, p, err));
        RS_TRY(put_phases(result->tables[PHASES], rank, p, err));
        RS_TRY(put_micro_batches(result->tables[MICRO_BATCHES], rank, p, err));
        RS_TRY(put_layers(result->tables[LAYERS], rank, p, err));
        RS_TRY(fit_steps(result, rank, p, err));
        RS_TRY(fit_inside(result, rank, p, err));
    }
    return find_mesh(partials, n, result, err);
}

/* ---- what travels -------------------------------------------------------------------------------------- */

static const rs_field step_fields[] = {
    RS_FIELD(rs_structure_step, number),        RS_FIELD(rs_structure_step, start),
    RS_FIELD(rs_structure_step, end),           RS_FIELD(rs_structure_step, works),
    RS_FIELD(rs_structure_step, micro_batches), RS_FIELD(rs_structure_step, layers),
    RS_FIELD(rs_structure_step, layer_works),   RS_FIELD(rs_structure_step, likeness),
};
static const rs_layout step_layout = RS_LAYOUT(rs_structure_step, step_fields);

static const rs_field phase_fields[] = {
    RS_FIELD(rs_structure_phase, step),        RS_FIELD_BELOW(rs_structure_phase, phase, RS_N_PHASES),
    RS_FIELD(rs_structure_phase, micro_batch), RS_FIELD(rs_structure_phase, works),
    RS_FIELD(rs_structure_phase, gpu),
};
static const rs_layout phase_layout = RS_LAYOUT(rs_structure_phase, phase_fields);

static const rs_field layer_fields[] = {
    RS_FIELD_BELOW(rs_structure_layer, phase, RS_N_PHASES),
    RS_FIELDS(rs_structure_layer, layer, works, steps, gpu),
};
static const rs_layout layer_layout = RS_LAYOUT(rs_structure_layer, layer_fields);

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
    RS_FIELDS(rs_structure_rank, weak, looked, period, score, runner_up, works, n_annotated, outside),
    RS_FIELD_LIST(rs_structure_rank, steps, n_steps, &step_layout),
    RS_FIELD_LIST(rs_structure_rank, phases, n_phases, &phase_layout),
    RS_FIELD_LIST(rs_structure_rank, layers, n_layers, &layer_layout),
    RS_FIELD(rs_structure_rank, world),
    RS_FIELD_LIST(rs_structure_rank, groups, n_groups, &group_layout),
    RS_FIELD(rs_structure_rank, n_unlisted),
};
static const rs_layout rank_layout = RS_LAYOUT(rs_structure_rank, rank_fields);

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
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS,
    .follows_not = "repetition is looked for in whole steps",
    .rank = rs_structure_rank_of,
    .merge = merge,
    .free_partial = rs_structure_free,
    .partial_layout = &rank_layout,
};
