/* whatif --layout: a step of the job with groups of other sizes, as edits of the engine's graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "analysis/skeletons.h"
#include "analysis/whatif.h"
#include "base/ascii.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "base/try.h"
#include "clock/collective_clocks.h"
#include "engine/asker.h"
#include "match/collective_wait.h"
#include "match/stages.h"

enum { DP, TP, EP, N_AXES };
static const char *const axis_names[N_AXES] = {"dp", "tp", "ep"};
static const char *const axis_words[N_AXES] = {"data", "tensor", "expert"};

typedef struct layout_row {
    char layout[96], recorded[96];
    int64_t ranks, ranks_then, steps;
    double before, after, low, high, batch, per_gpu;
    int64_t memory, memory_low, memory_high; /* bytes; RS_NO_VALUE: unknown */
    int64_t trusted;                         /* RS_NO_VALUE: refused */
    const char *question, *assumption, *reason;
} layout_row;

#define LAYOUT_ROW(CELL)                                                                                              \
    CELL(CHARS(layout_row, layout), "layout", TEXT, NONE, "sizes of the groups then", NULL)                           \
    CELL(CHARS(layout_row, recorded), "recorded", TEXT, NONE, "as recorded", NULL)                                    \
    CELL(OF(layout_row, ranks), "ranks", INT, COUNT, "as recorded", NULL)                                             \
    CELL(OF(layout_row, ranks_then), "ranks_then", INT, COUNT, "in the other layout", "ranks then")                   \
    CELL(OF(layout_row, steps), "steps", INT, COUNT, "steps it is the mean of; 0: the whole trace", NULL)             \
    CELL(OF(layout_row, before), "before_us", REAL, US, "a step as recorded, of all ranks' last work",                \
         "before")                                                                                                    \
    CELL(OF(layout_row, after), "after_us", REAL, US,                                                                 \
         "a step then, each rank with its micro-batches as now", "after")                                             \
    CELL(OF(layout_row, low), "after_low_us", REAL, US,                                                               \
         "least of what the fits of collectives and products, the gaps and the steps leave open", "from")             \
    CELL(OF(layout_row, high), "after_high_us", REAL, US, "the greatest", "to")                                       \
    CELL(OF(layout_row, batch), "batch_pct", REAL, PERCENT,                                                           \
         "the global batch of the recorded one: it grows with dp", "batch %")                                         \
    CELL(OF(layout_row, per_gpu), "per_gpu_pct", REAL, PERCENT,                                                       \
         "what a GPU gets done in a second, of what it does now", "per GPU %")                                        \
    CELL(                                                                                                             \
        OF(layout_row, memory), "memory_bytes", INT, BYTES,                                                           \
        "the most that the allocator of a rank's GPU held at once, of the fullest rank; unknown: no [memory] events", \
        "memory")                                                                                                     \
    CELL(OF(layout_row, memory_low), "memory_low_bytes", INT, BYTES,                                                  \
         "then: what is shared out may be all of it, or nothing", "memory from")                                      \
    CELL(OF(layout_row, memory_high), "memory_high_bytes", INT, BYTES, "and at most", "memory to")                    \
    CELL(MAYBE(layout_row, question), "question", TEXT, NONE,                                                         \
         "the same as edits of rankscope replay --what-if", NULL)                                                     \
    CELL(OF(layout_row, trusted), "trusted", INT, NONE, "1: the replay can be relied on; unknown: refused",           \
         NULL)                                                                                                        \
    CELL(MAYBE(layout_row, assumption), "assumption", TEXT, NONE, "what has to hold", NULL)                           \
    CELL(MAYBE(layout_row, reason), "reason", TEXT, NONE, "why it is refused", NULL)
RS_RECORD(layout, LAYOUT_ROW);

const rs_table_spec rs_layout_table =
    RS_TABLE("layout", "with --layout: one row, a step of the job in another layout", layout_columns);

/* ---- what is asked ------------------------------------------------------------------------------------------ */

typedef struct asked_layout {
    int64_t size[N_AXES]; /* 0: not said */
} asked_layout;

static bool read_size(const char *at, size_t n, int64_t *out)
{
    int64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rs_is_digit(at[i]) || v > 1000000) return false;
        v = v * 10 + (at[i] - '0');
    }
    *out = v;
    return n > 0 && v > 0 && v <= 1000000;
}

static rs_status parse_layout(const char *text, asked_layout *out, rs_error *err)
{
    *out = (asked_layout){{0}};
    for (const char *at = text; *at;) {
        const size_t n = strcspn(at, ",");
        bool ok = false;
        for (int i = 0; i < N_AXES; i++)
            if (n > 3 && strncmp(at, axis_names[i], 2) == 0 && at[2] == '=')
                ok = read_size(at + 3, n - 3, &out->size[i]);
        if (!ok)
            return rs_fail(
                err, RS_ERR_USAGE,
                "--layout: '%.*s' is none of dp=N, tp=N, ep=N: for pp=N, micro-batches=N and schedule= see rankscope "
                "pipeline --layout",
                (int)(n < 60 ? n : 60), at);
        at += n + (at[n] == ',');
    }
    if (!*text) return rs_fail(err, RS_ERR_USAGE, "--layout: it says no size, as dp=8 does");
    return RS_OK;
}

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

static void add_sized(rs_what_if *q, rs_edit_kind kind, const rs_mesh_axis *axis, int64_t number)
{
    rs_edit *e = rs_what_if_add_axis(q, kind, axis->size, axis->stride);
    if (e) e->number = number;
}

/* With another tensor parallel size a rank has another share of the parameters, whose gradients its data parallel group reduces. What groups
 * carry is changed before how many they are, as latencies are those of the recorded size. */
static rs_status make_question(const asked_layout *asked, const rs_mesh_axis *const axes[N_AXES],
                               rs_what_if *q, rs_error *err)
{
    const int64_t tp = asked->size[TP];
    if (tp && axes[TP] && tp != axes[TP]->size) {
        add_sized(q, RS_EDIT_SHARD, axes[TP], tp);
        if (axes[DP]) {
            rs_edit *e = rs_what_if_add_axis(q, RS_EDIT_PAYLOAD, axes[DP]->size, axes[DP]->stride);
            if (e) e->factor = (double)axes[TP]->size / (double)tp;
        }
    }
    for (int i = 0; i < N_AXES; i++)
        if (asked->size[i] && axes[i] && asked->size[i] != axes[i]->size)
            add_sized(q, RS_EDIT_GROUP_SIZE, axes[i], asked->size[i]);
    return rs_what_if_check(q, err);
}

static void print_layout(const rs_mesh *mesh, const rs_mesh_axis *const axes[N_AXES],
                         const asked_layout *asked, char out[96])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < mesh->n && used < 70; k++) {
        const rs_mesh_axis *a = &mesh->axes[k];
        const char *name = a->name;
        int64_t size = a->size;
        for (int i = 0; i < N_AXES; i++)
            if (axes[i] == a) {
                name = axis_names[i];
                if (asked && asked->size[i]) size = asked->size[i];
            }
        used +=
            (size_t)snprintf(out + used, 96 - used, "%s%.8s=%lld", used ? "," : "", name, (long long)size);
    }
}

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

/* What the fullest rank held, and what it would: parameters, gradients, optimizer states and parts of activations go down with the size of the
 * axis that shares them out, the rest stays. How much is which is not recorded. */
static void find_memory(const rs_engine *e, const asked_layout *asked, const rs_mesh_axis *const axes[N_AXES],
                        layout_row *row)
{
    int64_t most = 0;
    double low = 1, high = 1;
    for (size_t r = 0; r < e->n_ranks; r++)
        if (e->ranks[r]->memory > most) most = e->ranks[r]->memory;
    for (int i = 0; i < N_AXES; i++) {
        if (!asked->size[i] || !axes[i] || (i == DP && !shares_states(e, axes[i]))) continue;
        const double part = (double)axes[i]->size / (double)asked->size[i];
        low *= fmin(1, part);
        high *= fmax(1, part);
    }
    row->memory = row->memory_low = row->memory_high = RS_NO_VALUE;
    if (!most) return;
    row->memory = most;
    row->memory_low = rs_int_near((double)most * low);
    row->memory_high = rs_int_near((double)most * high);
}

/* ---- the answer --------------------------------------------------------------------------------------------- */

typedef struct layout_job {
    rs_skeletons ranks;
    rs_engine engine;
    rs_replayed replayed;
    rs_what_if question;
    rs_asker *asker;
} layout_job;

static void clear_job(layout_job *j)
{
    rs_asker_close(j->asker);
    rs_what_if_clear(&j->question);
    rs_replayed_clear(&j->replayed);
    rs_engine_clear(&j->engine);
    rs_skeletons_clear(&j->ranks);
}

static rs_status ask(const rs_run *run, layout_job *j, layout_row *row, rs_error *err)
{
    const rs_ask_how how = {.rank_of = j->ranks.rank_of, .jobs = run->jobs};
    rs_foretold answer = {.before = (double)NAN};
    rs_asked asked = {.question = &j->question, .answers = &answer};
    RS_TRY(rs_replay_measure(&j->engine, RS_EDGES_ALL, true, &j->replayed, err));
    RS_TRY(rs_asker_open(&j->replayed, &how, &j->asker, err));
    row->before = rs_asker_before(j->asker);
    row->steps = (int64_t)rs_asker_n_steps(j->asker);
    row->after = row->low = row->high = j->question.n ? (double)NAN : row->before;
    row->trusted = j->question.n ? RS_NO_VALUE : 1;
    if (!j->question.n) return RS_OK;
    RS_TRY(rs_asker_ask(j->asker, &asked, 1, err));
    row->reason = asked.refused;
    if (asked.refused) return RS_OK;
    row->trusted = 1;
    row->after = answer.after;
    row->low = answer.before - answer.high;
    row->high = answer.before - answer.low;
    return RS_OK;
}

static rs_status answer_layout(const rs_run *run, layout_job *j, rs_result *result, rs_error *err)
{
    const rs_engine *e = &j->engine;
    const rs_mesh_axis *axes[N_AXES];
    asked_layout asked;
    rs_mesh mesh;
    layout_row row = {.ranks = (int64_t)e->n_ranks};
    RS_TRY(parse_layout(rs_options_text(run->options, "layout"), &asked, err));
    RS_TRY(rs_coll_mesh(e->comm, e->n_ranks, 0, &mesh, err));
    RS_TRY(find_axes(&mesh, axes, err));
    double ranks = (double)(mesh.n ? mesh.covered : (int64_t)e->n_ranks), more = 1;
    for (int i = 0; i < N_AXES; i++) {
        if (!asked.size[i]) continue;
        RS_TRY(check_axis(i, axes[i], asked.size[i], err));
        if (axes[i] && i != EP) more *= (double)asked.size[i] / (double)axes[i]->size;
    }
    if (asked.size[TP] && axes[TP] && asked.size[TP] != axes[TP]->size && !is_shared_out(e))
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: tp=%lld: no operator is known to be shared out, as the traces have no shapes that say so: record "
            "with record_shapes=True",
            (long long)asked.size[TP]);
    RS_TRY(make_question(&asked, axes, &j->question, err));
    print_layout(&mesh, axes, NULL, row.recorded);
    print_layout(&mesh, axes, &asked, row.layout);
    RS_TRY(ask(run, j, &row, err));
    row.ranks = (int64_t)ranks;
    row.ranks_then = rs_int_near(ranks * more);
    row.batch = 100 * (axes[DP] && asked.size[DP] ? (double)asked.size[DP] / (double)axes[DP]->size : 1);
    row.per_gpu = row.batch / more * row.before / row.after;
    find_memory(e, &asked, axes, &row);
    if (row.memory == RS_NO_VALUE)
        rs_result_note(
            result,
            "memory is not checked: the traces have no [memory] events of a GPU; record with profile_memory=True, or "
            "give snapshots to rankscope memory --fit");
    row.assumption = asked.size[EP] ? "experts get as many tokens as now; links stay as fast"
                                    : "each rank's host does the same calls; links stay as fast";
    rs_text text = {0};
    rs_what_if_print(&j->question, &text);
    row.question = j->question.n ? rs_text_get(&text) : NULL;
    rs_status status = rs_table_put_row(result->tables[RS_WHATIF_LAYOUT], &layout_record, -1, &row, err);
    rs_text_clear(&text);
    result->main_table = RS_WHATIF_LAYOUT;
    return status;
}

rs_status rs_layout_merge(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                          rs_error *err)
{
    RS_SCOPED(clear_job) layout_job j = {.asker = NULL};
    const rs_engine_how how = {rs_clock_how_of(rs_options_text(run->options, "clocks")), .infer = true};
    RS_TRY(rs_skeletons_take(partials, n, &j.ranks, err));
    if (!j.ranks.n) return RS_OK;
    RS_TRY(rs_engine_join(j.ranks.items, j.ranks.n, &how, &j.engine, err));
    RS_TRY(answer_layout(run, &j, result, err));
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
