#include "rankscope/fuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/settings.h"
#include "base/try.h"
#include "job/job.h"
#include "rewrite/fuse_internal.h"
#include "table/cells.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "where it comes from", NULL},
    {"events", RS_INT, RS_UNIT_COUNT, "events written", NULL},
    {"left_out", RS_INT, RS_UNIT_COUNT, "events that the filter, the steps or --max-events leave out", NULL},
    {"aligned_by", RS_TEXT, RS_UNIT_NONE,
     "ends: ends of collectives; base: baseTimeNanoseconds; file: not at all", "clock by"},
    {"shift_us", RS_TIME, RS_UNIT_US, "what was added to its times", "shift"},
    {"collectives", RS_INT, RS_UNIT_COUNT, "collectives that its clock is known from", NULL},
    {"residual_us", RS_TIME, RS_UNIT_US, "median distance of its ends from the others' that remains",
     "residual"},
    {"worst_us", RS_TIME, RS_UNIT_US, "the greatest", "worst"},
    {"clock_low_us", RS_TIME, RS_UNIT_US,
     "its clock is still ahead of the lowest rank's by no less (later, if below 0); unknown: nothing bounds it",
     "clock from"},
    {"clock_high_us", RS_TIME, RS_UNIT_US, "... and by no more: likely, or with --clocks certain for certain",
     "clock to"},
};
static const rs_table_spec table = {"fuse", "one row is one rank of the new trace", columns,
                                    sizeof columns / sizeof *columns};
const rs_table_spec *const rs_fuse_tables[1] = {&table};

typedef struct output {
    const rs_fuse_plan *plan;
    const rs_fuse_filter *filter;
    rs_writer *writer;
    bool any;               /* an event was written already */
    rs_frame_text *headers; /* by file: what it says besides its events */
} output;

/* ---- events
 * ------------------------------------------------------------------------------------------------- */

static bool is_kept(const rs_fuse_plan *plan, const rs_fuse_rank *rank, uint64_t at)
{
    return !rank->weights || (at < rank->n_weights && rank->weights[at] >= plan->least);
}

static rs_status write_event(void *context, uint32_t index, uint64_t at, const uint8_t *text, size_t n,
                             rs_error *err)
{
    output *o = context;
    rs_fuse_rank *rank = o->plan->ranks[index];
    if (!is_kept(o->plan, rank, at)) {
        rank->n_left_out++;
        return RS_OK;
    }
    switch (rs_fuse_event(o->plan, index, o->filter, text, n, o->any ? ",\n" : "\n", o->writer)) {
    case RS_FUSE_WRITTEN:
        rank->n_written++;
        o->any = true;
        break;
    case RS_FUSE_LEFT_OUT: rank->n_left_out++; break;
    default: break;
    }
    return o->writer->failed ? rs_fail(err, RS_ERR_IO, "the output could not be written") : RS_OK;
}

static rs_status keep_member(void *context, size_t file, const uint8_t *key, size_t key_length,
                             const uint8_t *text, size_t n, rs_error *err)
{
    output *o = context;
    return rs_frame_text_add(&o->headers[file], key, key_length, text, n, err);
}

/* ---- the new trace's own records
 * ------------------------------------------------------------------------------ */

static void put_pid(rs_json_put *j, const rs_fuse_plan *plan, size_t index, const rs_fuse_process *p)
{
    char text[400];
    if (!p->text) {
        rs_json_put_int(j, "pid", rs_add_sat(p->pid, (int64_t)index * plan->step[RS_FUSE_PID]));
        return;
    }
    snprintf(text, sizeof text, "%.300s rank %lld", p->text, (long long)plan->ranks[index]->rank);
    rs_json_put_text(j, "pid", text);
}

/* One record about a process, up to its own argument. */
static void open_record(rs_json_put *j, const rs_fuse_plan *plan, size_t index, const rs_fuse_process *p,
                        const char *name)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "ph", "M");
    rs_json_put_text(j, "name", name);
    put_pid(j, plan, index, p);
    rs_json_put_int(j, "tid", 0);
    rs_json_put_open(j, "args", '{', RS_JSON_LINE);
    rs_json_put_int(j, "rank", plan->ranks[index]->rank);
}

static void close_record(rs_json_put *j)
{
    rs_json_put_close(j);
    rs_json_put_close(j);
}

static void put_process(rs_json_put *j, const rs_fuse_plan *plan, size_t index, const rs_fuse_process *p,
                        int64_t sort_index)
{
    char text[600], id[340];
    long long rank = (long long)plan->ranks[index]->rank;
    if (p->text)
        snprintf(id, sizeof id, "%.300s", p->text);
    else
        snprintf(id, sizeof id, "%s%lld", p->works ? "GPU " : "process ", (long long)p->pid);
    if (p->name && p->name[0] && !p->works)
        snprintf(text, sizeof text, "rank %lld: %.200s (%s)", rank, p->name, id);
    else
        snprintf(text, sizeof text, "rank %lld: %s", rank, id);
    open_record(j, plan, index, p, "process_name");
    rs_json_put_text(j, "name", text);
    close_record(j);
    open_record(j, plan, index, p, "process_sort_index");
    rs_json_put_int(j, "sort_index", sort_index);
    close_record(j);
    if (!p->label || !p->label[0]) return;
    open_record(j, plan, index, p, "process_labels");
    rs_json_put_text(j, "labels", p->label);
    close_record(j);
}

/* Host before device, then as the file wanted it. */
static int in_order(const void *a, const void *b)
{
    const rs_fuse_process *x = a, *y = b;
    if (x->works != y->works) return x->works ? 1 : -1;
    if ((x->text != NULL) != (y->text != NULL)) return x->text ? 1 : -1;
    if (x->text) return strcmp(x->text, y->text);
    if (x->sort_index != y->sort_index) return x->sort_index < y->sort_index ? -1 : 1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void rs_fuse_put_processes(const rs_fuse_plan *plan, bool any, rs_writer *w)
{
    int64_t sort_index = 0;
    rs_json_put j;
    rs_json_put_init(&j, w);
    rs_json_put_layout(&j, RS_JSON_ROWS);
    j.some[0] = any;
    for (size_t i = 0; i < plan->n; i++) {
        rs_fuse_rank *r = plan->ranks[i];
        if (r->n_processes) qsort(r->processes, r->n_processes, sizeof *r->processes, in_order);
        for (size_t k = 0; k < r->n_processes; k++) put_process(&j, plan, i, &r->processes[k], sort_index++);
    }
}

/* A file's name, or its number. */
static const char *name_file(const rs_fuse_plan *plan, const char *name, size_t number, char text[32])
{
    snprintf(text, 32, "file %zu", number);
    return plan->hides_files ? text : name;
}

static void put_rank(rs_json_put *j, const rs_fuse_plan *plan, size_t i)
{
    const rs_fuse_rank *r = plan->ranks[i];
    char text[32];
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_int(j, "rank", r->rank);
    rs_json_put_text(j, "file", name_file(plan, r->source, i, text));
    rs_json_put_time(j, "shift_us", r->shift, RS_UNIT_US);
    if (r->clock.aligned)
        rs_json_put_time(j, "residual_us", r->clock.residual, RS_UNIT_US);
    else
        rs_json_put_text(j, "residual_us", NULL);
    if (r->doubt.low != RS_NO_TIME) {
        rs_json_put_time(j, "clock_low_us", r->doubt.low, RS_UNIT_US);
        rs_json_put_time(j, "clock_high_us", r->doubt.high, RS_UNIT_US);
    }
    rs_json_put_close(j);
}

/* The members of the first file's frame that hold for all, and every file's own under "rankscope". */
void rs_fuse_put_frame(const rs_fuse_plan *plan, const rs_job *job, const rs_frame_text *headers,
                       void (*more)(const void *context, rs_json_put *j), const void *context, rs_writer *w)
{
    rs_json_put j;
    rs_writer_text(w, "\n],\n");
    rs_json_put_init(&j, w);
    rs_json_put_int(&j, "schemaVersion", 1);
    rs_json_put_text(&j, "displayTimeUnit", "ms");
    if (plan->base_time_ns != RS_NO_VALUE) rs_json_put_int(&j, "baseTimeNanoseconds", plan->base_time_ns);
    rs_json_put_layout(&j, RS_JSON_ROWS);
    rs_json_put_open(&j, "rankscope", '{', RS_JSON_LINE);
    rs_json_put_text(&j, "version", rs_version());
    if (more) more(context, &j);
    rs_json_put_open(&j, "id_steps", '{', RS_JSON_LINE);
    for (unsigned id = 0; id < RS_N_FUSE_IDS; id++) rs_json_put_int(&j, rs_fuse_id_names[id], plan->step[id]);
    rs_json_put_close(&j);
    rs_json_put_open(&j, "ranks", '[', RS_JSON_LINES);
    for (size_t i = 0; i < plan->n; i++) put_rank(&j, plan, i);
    rs_json_put_close(&j);
    rs_json_put_open(&j, "files", '{', RS_JSON_LINES);
    for (size_t i = 0; i < rs_job_n_files(job); i++) {
        char text[32];
        if (!headers[i].n) continue;
        rs_json_put_open(&j, name_file(plan, rs_job_get_file(job, i).name, i, text), '{', RS_JSON_LINE);
        rs_writer_bytes(w, headers[i].text, headers[i].n);
        rs_json_put_close(&j);
    }
    rs_json_put_close(&j);
    rs_json_put_close(&j);
    rs_writer_text(w, "\n}\n");
}

/* ---- all of it
 * ------------------------------------------------------------------------------------------------ */

static rs_status report(const rs_fuse_plan *plan, rs_result *result, rs_error *err)
{
    rs_table *t = rs_table_create(rs_fuse_tables[0]);
    result->tables = rs_calloc(1, sizeof *result->tables);
    if (!t || !result->tables) {
        rs_table_free(t);
        return rs_fail_nomem(err, "tables");
    }
    result->tables[result->n_tables++] = t;
    rs_status status = RS_OK;
    int64_t worst = 0;
    size_t n_aligned = 0;
    for (size_t i = 0; status == RS_OK && i < plan->n; i++) {
        const rs_fuse_rank *r = plan->ranks[i];
        RS_PUT_CELLS(t, r->rank, r->source, r->n_written, r->n_left_out,
                     r->clock.aligned ? "ends"
                     : plan->by_base  ? "base"
                                      : "file",
                     r->shift, r->clock.n);
        if (r->clock.aligned) {
            RS_PUT_CELLS(t, r->clock.residual, r->clock.worst);
            if (r->clock.residual > worst) worst = r->clock.residual;
            n_aligned++;
        } else {
            RS_PUT_CELLS(t, RS_NO_VALUE, RS_NO_VALUE);
        }
        status = RS_PUT_ROW(t, err, r->doubt.low, r->doubt.low != RS_NO_TIME ? r->doubt.high : RS_NO_VALUE);
    }
    char text[32];
    if (n_aligned)
        rs_result_note(result,
                       "clocks of %zu of %zu ranks agree within %s at the ends of their collectives (median)",
                       n_aligned, plan->n, rs_human_time(worst, text));
    else if (plan->n > 1)
        rs_result_note(result, "no collectives show the clocks: %s",
                       plan->by_base ? "only baseTimeNanoseconds aligns them"
                                     : "times are as the files have them");
    return status;
}

static rs_status copy_all(const rs_job *job, rs_fuse_plan *plan, const rs_fuse_filter *filter,
                          rs_writer *writer, rs_result *result, rs_error *err)
{
    size_t n_files = rs_job_n_files(job);
    output o = {.plan = plan, .filter = filter, .writer = writer};
    rs_reread_rank *places;
    RS_TRY(rs_fuse_places(plan, &places, err));
    o.headers = rs_calloc(n_files + 1, sizeof *o.headers);
    rs_reread all = {job, places, plan->n, write_event, keep_member, &o};
    rs_status status = o.headers ? RS_OK : rs_fail_nomem(err, "headers");
    if (status == RS_OK) {
        rs_writer_text(writer, "{\"traceEvents\": [");
        status = rs_reread_files(&all, result, err);
    }
    if (status == RS_OK) {
        rs_fuse_put_processes(plan, o.any, writer);
        rs_fuse_put_frame(plan, job, o.headers, NULL, NULL, writer);
        status = rs_writer_finish(writer, err);
    }
    rs_frame_texts_free(o.headers, n_files);
    rs_free(places);
    return status;
}

rs_status rs_fuse(rs_job *job, const rs_fuse_settings *given, const rs_sink *sink, rs_result *result,
                  rs_error *err)
{
    rs_fuse_plan plan = {0};
    rs_fuse_settings settings;
    *result = (rs_result){0};
    RS_TRY(rs_settings_read(given, given->size, &settings, sizeof settings, "rs_fuse_settings", err));
    rs_fuse_filter filter = {settings.categories, settings.without};
    RS_TRY(rs_reread_check(job, "fuse", err));
    RS_LOCAL rs_writer *writer = rs_malloc(sizeof *writer);
    if (!writer) return rs_fail_nomem(err, "output");
    rs_writer_init(writer, sink);
    rs_status status = rs_fuse_make_plan(job, &settings, NULL, &plan, result, err);
    if (status == RS_OK)
        status = settings.perfetto ? rs_fuse_write_perfetto(job, &plan, SIZE_MAX, &filter, sink, result, err)
                                   : copy_all(job, &plan, &filter, writer, result, err);
    if (status == RS_OK) status = report(&plan, result, err);
    rs_fuse_plan_clear(&plan);
    return status;
}
