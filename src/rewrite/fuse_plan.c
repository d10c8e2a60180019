/* The first reading: what must be known of all ranks before the first event can be written. */
#include <inttypes.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "clock/collective_clocks.h"
#include "job/job.h"
#include "rewrite/fuse_internal.h"

const char *const rs_fuse_id_names[RS_N_FUSE_IDS] = {
    "pid", "id", "correlation", "External id", "Sequence number", "Ev Idx", "Python id", "Python module id"};

static const struct {
    rs_fuse_id id;
    rs_column_id column;
} columns[] = {
    {RS_FUSE_FLOW, RS_COL_FLOW_ID},
    {RS_FUSE_CORRELATION, RS_COL_CORRELATION},
    {RS_FUSE_CORRELATION, RS_COL_WAIT_ON_EVENT},
    {RS_FUSE_EXTERNAL, RS_COL_EXTERNAL_ID},
    {RS_FUSE_SEQUENCE, RS_COL_SEQUENCE_NUMBER},
    {RS_FUSE_INDEX, RS_COL_EV_IDX},
    {RS_FUSE_PYTHON, RS_COL_PYTHON_ID},
    {RS_FUSE_PYTHON, RS_COL_PYTHON_PARENT_ID},
    {RS_FUSE_MODULE, RS_COL_PYTHON_MODULE_ID},
};

static void free_rank(void *rank)
{
    rs_fuse_rank *r = rank;
    if (!r) return;
    rs_coll_rank_free(r->collectives);
    for (size_t i = 0; i < r->n_processes; i++) {
        rs_free_all(r->processes[i].text, r->processes[i].name, r->processes[i].label);
    }
    rs_free_all(r->processes, r->runs, r->weights);
    rs_slice_rows_free(r->slice);
    rs_free(r);
}

void rs_fuse_plan_clear(rs_fuse_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) free_rank(plan->ranks[i]);
    rs_free(plan->ranks);
    *plan = (rs_fuse_plan){0};
}

/* ---- one rank
 * ----------------------------------------------------------------------------------------------- */

static bool take_runs(const rs_trace *t, rs_fuse_rank *r)
{
    size_t capacity = 0;
    if (!t->rows) return true;
    for (size_t i = 0; i < t->n_rows; i++) {
        if (r->n_runs && r->runs[r->n_runs - 1].end == t->rows[i]) {
            r->runs[r->n_runs - 1].end++;
            continue;
        }
        if (!RS_PUSH(r->runs, r->n_runs, capacity, (rs_reread_run){t->rows[i], t->rows[i] + 1})) return false;
    }
    return r->runs || (r->runs = rs_calloc(1, sizeof *r->runs)); /* none is not all */
}

static int64_t magnitude(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

static void raise(int64_t *greatest, int64_t v)
{
    if (magnitude(v) > *greatest) *greatest = magnitude(v);
}

static void take_identifiers(const rs_trace *t, rs_fuse_rank *r)
{
    const rs_events *e = t->events;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        rs_cursor cursor = rs_cursor_of(e, columns[c].column);
        for (size_t i = 0; i < t->n_rows; i++)
            if (rs_cursor_seek(&cursor, rs_trace_row(t, i)))
                raise(&r->greatest[columns[c].id], rs_sparse_int(cursor.column, cursor.at));
    }
}

static bool replace(char **to, const rs_events *e, uint32_t text)
{
    if (text == RS_NO_STRING) return true;
    rs_free(*to);
    *to = rs_strdup(e->strings.items[text].text);
    return *to != NULL;
}

static bool take_metadata(const rs_events *e, uint32_t row, rs_fuse_process *p)
{
    const char *name = rs_event_name(e, row);
    if (strcmp(name, "process_name") == 0)
        return replace(&p->name, e, rs_events_text(e, RS_COL_META_NAME, row));
    if (strcmp(name, "process_labels") == 0)
        return replace(&p->label, e, rs_events_text(e, RS_COL_META_LABELS, row));
    if (strcmp(name, "process_sort_index") == 0)
        rs_events_int(e, RS_COL_META_SORT_INDEX, row, &p->sort_index);
    return true;
}

/* Processes in order of first appearance, so that nothing depends on ids. */
static bool take_processes(const rs_trace *t, rs_fuse_rank *r)
{
    const rs_events *e = t->events;
    RS_SCOPED(rs_map64_clear) rs_map64 places = {0};
    size_t capacity = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (e->phase[row] == 0) continue;
        const rs_thread *thread = &e->threads[e->thread[row]];
        bool is_new;
        uint32_t *place = rs_map64_put(&places, (uint64_t)thread->pid, &is_new);
        ok = place && (!is_new || RS_GROW_ONE(r->processes, r->n_processes, capacity));
        if (!ok) break;
        if (is_new) {
            *place = (uint32_t)r->n_processes;
            r->processes[r->n_processes++] = (rs_fuse_process){.pid = thread->pid, .sort_index = RS_NO_VALUE};
            if (thread->pid_text == RS_NO_STRING)
                raise(&r->greatest[RS_FUSE_PID], thread->pid);
            else
                ok = replace(&r->processes[*place].text, e, thread->pid_text);
        }
        rs_fuse_process *p = &r->processes[*place];
        p->works = p->works || rs_kind_is_gpu_work(rs_event_kind(e, row));
        if (ok && e->phase[row] == 'M') ok = take_metadata(e, row, p);
    }
    return ok;
}

static rs_status read_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    const rs_fuse_plan *plan = run->context;
    if (!plan->perfetto && trace->events->format && !trace->events->format->can_be_written_again)
        return rs_fail(err, RS_ERR_FORMAT, "is %s: only Kineto traces can be copied into one",
                       trace->events->form);
    if (!plan->perfetto && trace->n_recordings > 1)
        return rs_fail(err, RS_ERR_USAGE, "a rank has %zu recordings (%s): give one file of each rank to %s",
                       trace->n_recordings, trace->file, plan->choice ? "slice" : "fuse");
    rs_fuse_rank *r = rs_calloc(1, sizeof *r);
    if (!r) return rs_fail_nomem(err, "ranks");
    *value = r;
    r->lines = strcmp(trace->events->form, "lines") == 0;
    take_identifiers(trace, r);
    rs_status status = take_runs(trace, r) && take_processes(trace, r) ? RS_OK : rs_fail_nomem(err, "ranks");
    if (status == RS_OK) status = rs_coll_rank_of(trace, run->policy, &r->collectives, err);
    if (status == RS_OK && plan->choice) status = rs_slice_choose(trace, plan->choice, &r->slice, err);
    if (status == RS_OK && plan->weigh) {
        r->n_weights = trace->n_rows;
        status = rs_fuse_weigh(trace, &r->weights, err);
    }
    return status;
}

/* ---- all ranks
 * ---------------------------------------------------------------------------------------------- */

/* JSON readers hold whole numbers exactly up to here. */
#define MAX_EXACT (INT64_C(1) << 53)

/* The power of ten that is more than twice the greatest: moved identifiers cannot meet, negative ones
 * neither. */
static int64_t step_for(int64_t greatest, size_t n)
{
    int64_t step = 10;
    while (step / 2 <= greatest) {
        if (step > MAX_EXACT / 10) return 0;
        step *= 10;
    }
    return n > 1 && step > MAX_EXACT / (int64_t)n ? 0 : step;
}

static rs_status choose_steps(rs_fuse_plan *plan, rs_result *result, rs_error *err)
{
    for (unsigned id = 0; id < RS_N_FUSE_IDS; id++) {
        int64_t greatest = 0;
        for (size_t i = 0; i < plan->n; i++) raise(&greatest, plan->ranks[i]->greatest[id]);
        plan->step[id] = step_for(greatest, plan->n);
        if (!plan->step[id] && plan->n < 2) plan->step[id] = 10; /* nothing is moved */
        if (plan->step[id]) continue;
        if (id <= RS_FUSE_CORRELATION)
            return rs_fail(err, RS_ERR_LIMIT,
                           "the greatest %s, %" PRId64 ", leaves no room to keep those of %zu ranks apart",
                           rs_fuse_id_names[id], greatest, plan->n);
        rs_result_note(result, "the greatest \"%s\", %" PRId64 ", leaves no room: those are not kept apart",
                       rs_fuse_id_names[id], greatest);
    }
    return RS_OK;
}

static rs_status set_clocks(rs_fuse_plan *plan, rs_clock_how how, rs_result *result, rs_error *err)
{
    rs_clock_trust trust = {0};
    RS_LOCAL const rs_coll_rank **ranks = rs_malloc((plan->n + 1) * sizeof *ranks);
    if (!ranks) return rs_fail_nomem(err, "clocks");
    for (size_t i = 0; i < plan->n; i++) ranks[i] = plan->ranks[i]->collectives;
    rs_coll_job job;
    rs_status status = rs_clock_match_by(ranks, plan->n, how, &job, &trust, err);
    for (size_t i = 0; status == RS_OK && i < plan->n; i++) {
        plan->ranks[i]->shift = job.shift[i];
        plan->ranks[i]->clock = job.clocks[i];
        plan->ranks[i]->doubt = trust.of ? trust.of[i] : (rs_clock_doubt){RS_NO_TIME, RS_NO_TIME, 0};
    }
    if (status == RS_OK) {
        plan->by_base = job.by_base;
        plan->base_time_ns = plan->n ? plan->ranks[0]->collectives->base_time_ns : RS_NO_VALUE;
        rs_coll_job_clear(&job);
        rs_coll_note_trust(&trust, result);
        rs_clock_trust_clear(&trust);
    }
    return status;
}

#define COLUMNS                                                                                              \
    (RS_COLL_COLUMNS | RS_COLUMN_BIT(EXTERNAL_ID) | RS_COLUMN_BIT(WAIT_ON_EVENT) |                           \
     RS_COLUMN_BIT(SEQUENCE_NUMBER) | RS_COLUMN_BIT(RECORD_FUNCTION_ID) | RS_COLUMN_BIT(EV_IDX) |            \
     RS_COLUMN_BIT(PYTHON_ID) | RS_COLUMN_BIT(PYTHON_PARENT_ID) | RS_COLUMN_BIT(PYTHON_MODULE_ID) |          \
     RS_COLUMN_BIT(META_NAME) | RS_COLUMN_BIT(META_LABELS) | RS_COLUMN_BIT(META_SORT_INDEX))

static rs_status read_ranks(rs_job *job, rs_fuse_plan *plan, rs_result *result, rs_error *err)
{
    const rs_each_rank first_reading = {.name = plan->choice ? "slice" : "fuse",
                                        .columns = COLUMNS | (plan->choice ? plan->choice->columns : 0),
                                        .rank = read_rank,
                                        .free_value = free_rank,
                                        .context = plan,
                                        .judges_window = plan->choice != NULL};
    rs_rank_value *values;
    size_t n;
    rs_status status = rs_job_each_rank(job, &first_reading, &values, &n, result, err);
    if (status != RS_OK) return status;
    plan->ranks = rs_calloc(n + 1, sizeof *plan->ranks);
    for (size_t i = 0; i < n; i++) {
        rs_fuse_rank *r = values[i].value;
        r->rank = values[i].rank;
        r->source = values[i].source;
        if (plan->ranks)
            plan->ranks[plan->n++] = r;
        else
            free_rank(r);
    }
    rs_free(values);
    return plan->ranks ? RS_OK : rs_fail_nomem(err, "ranks");
}

/* The ways that --clocks names; NULL is the first. */
static rs_status how_of(const rs_fuse_settings *settings, rs_clock_how *out, rs_error *err)
{
    const char *word = settings->clocks ? settings->clocks : "ends";
    if (strcmp(word, "ends") != 0 && strcmp(word, "likely") != 0 && strcmp(word, "certain") != 0)
        return rs_fail(err, RS_ERR_USAGE, "clocks are set by ends, likely or certain, not by \"%s\"", word);
    *out = settings->align ? rs_clock_how_of(word) : RS_CLOCKS_FILE;
    return RS_OK;
}

rs_status rs_fuse_places(const rs_fuse_plan *plan, rs_reread_rank **out, rs_error *err)
{
    rs_reread_rank *places = rs_calloc(plan->n + 1, sizeof *places);
    if (!places) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < plan->n; i++) {
        const rs_fuse_rank *r = plan->ranks[i];
        places[i] =
            (rs_reread_rank){.source = r->source, .runs = r->runs, .n_runs = r->n_runs, .lines = r->lines};
    }
    *out = places;
    return RS_OK;
}

rs_status rs_fuse_make_plan(rs_job *job, const rs_fuse_settings *settings, const rs_slice_choice *choice,
                            rs_fuse_plan *plan, rs_result *result, rs_error *err)
{
    const rs_job_settings *asked = rs_job_get_settings(job);
    *plan = (rs_fuse_plan){.weigh = !choice && (settings->max_events || asked->steps || asked->window),
                           .choice = choice,
                           .perfetto = settings->perfetto};
    rs_clock_how how = RS_CLOCKS_ENDS;
    rs_status status = how_of(settings, &how, err);
    if (status == RS_OK) status = read_ranks(job, plan, result, err);
    if (status == RS_OK) status = choose_steps(plan, result, err);
    if (status == RS_OK) status = set_clocks(plan, how, result, err);
    if (status == RS_OK && plan->weigh) status = rs_fuse_choose(plan, settings->max_events, result, err);
    return status;
}
