#include "rankscope/fuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/settings.h"
#include "base/try.h"
#include "format/kineto_core.h"
#include "input/windows.h"
#include "input/source.h"
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
    {"collectives", RS_INT, RS_UNIT_COUNT, "collectives that told its clock", NULL},
    {"residual_us", RS_TIME, RS_UNIT_US, "median distance of its ends from the others' that remains",
     "residual"},
    {"worst_us", RS_TIME, RS_UNIT_US, "the greatest", "worst"},
    {"clock_low_us", RS_TIME, RS_UNIT_US,
     "its clock is still ahead of the lowest rank's by no less (behind, if below 0); unknown: nothing bounds it",
     "clock from"},
    {"clock_high_us", RS_TIME, RS_UNIT_US, "... and by no more: likely, or with --clocks certain for certain",
     "clock to"},
};
static const rs_table_spec table = {"fuse", "one row is one rank of the new trace", columns,
                                    sizeof columns / sizeof *columns};
const rs_table_spec *const rs_fuse_tables[1] = {&table};

typedef struct buffer {
    char *text;
    size_t n, capacity;
} buffer;

/* What a file may say besides its events; more than that is no header. */
#define MAX_HEADER ((size_t)64 << 20)
#define MAX_RECORD ((size_t)256 << 20)
#define PROGRESS_ROWS 16384

/* A file on its second reading. */
typedef struct reading {
    const rs_job *job;
    const rs_fuse_plan *plan;
    const rs_fuse_filter *filter;
    rs_writer *writer;
    bool *any; /* an event was written already */
    rs_windows *windows;
    rs_window window;
    const uint8_t *p, *end;
    uint64_t row;
    struct owner {
        rs_fuse_run run;
        uint32_t index;
        size_t before; /* the rank's rows in earlier runs */
    } * owners;
    size_t n_owners, owner;
    buffer *header; /* of the file */
    bool saw_array; /* the event array of this document has been met */
    bool in_array;  /* ... and its end has not */
    bool damaged;
    uint64_t damaged_at;
} reading;

/* ---- text
 * --------------------------------------------------------------------------------------------------- */

static rs_status more(reading *r, rs_error *err)
{
    size_t used = r->p ? (size_t)(r->p - r->window.data) : 0;
    rs_status status = rs_windows_next(r->windows, used, &r->window, err);
    if (status != RS_OK) return status;
    r->p = r->window.data;
    r->end = r->p + r->window.n;
    return RS_OK;
}

/* The next byte that is no white space, 0 at the end. */
static rs_status peek(reading *r, uint8_t *c, rs_error *err)
{
    for (;;) {
        r->p = rs_json_space(r->p, r->end);
        if (r->p < r->end) {
            *c = *r->p;
            return RS_OK;
        }
        *c = 0;
        if (r->window.last) return RS_OK;
        rs_status status = more(r, err);
        if (status != RS_OK) return status;
    }
}

static void give_up(reading *r)
{
    r->damaged = true;
    r->damaged_at = r->window.offset + (uint64_t)(r->p - r->window.data);
}

/* Passes over a value, whole in the window then. *text NULL: damage. */
static rs_status value(reading *r, const uint8_t **text, size_t *n, rs_error *err)
{
    rs_json_limits limits = {RS_JSON_MAX_DEPTH, MAX_RECORD};
    *text = NULL;
    for (;;) {
        const uint8_t *p = r->p;
        rs_json_status got = rs_json_skip(&p, r->end, &limits);
        if (got == RS_JSON_OK) {
            *text = r->p;
            *n = (size_t)(p - r->p);
            r->p = p;
            return RS_OK;
        }
        if (got != RS_JSON_END || r->window.last) {
            give_up(r);
            return RS_OK;
        }
        rs_status status = more(r, err);
        if (status != RS_OK) return status;
    }
}

/* ---- events
 * ------------------------------------------------------------------------------------------------- */

/* The rank of the row, RS_NO_ROW: none that is wanted. */
static uint32_t rank_of_row(reading *r)
{
    while (r->owner < r->n_owners && r->owners[r->owner].run.end <= r->row) r->owner++;
    if (r->owner < r->n_owners && r->owners[r->owner].run.first <= r->row) return r->owners[r->owner].index;
    return RS_NO_ROW;
}

/* Tells now and then how far it is; false when it shall stop. */
static bool report_progress(const reading *r)
{
    const rs_job_settings *s = rs_job_get_settings(r->job);
    if (!s->progress || r->row % PROGRESS_ROWS != 0) return true;
    return s->progress(s->progress_context, r->window.offset + (uint64_t)(r->p - r->window.data), 0);
}

/* Whether the row of the current owner weighs enough. */
static bool is_kept(const reading *r, const rs_fuse_rank *rank)
{
    if (!rank->weights) return true;
    const struct owner *owner = &r->owners[r->owner];
    uint64_t at = owner->before + (r->row - owner->run.first);
    return at < rank->n_weights && rank->weights[at] >= r->plan->least;
}

static rs_status element(reading *r, rs_error *err)
{
    const uint8_t *text;
    size_t n;
    bool is_object = *r->p == '{';
    rs_status status = value(r, &text, &n, err);
    if (status != RS_OK || !text) return status;
    if (!report_progress(r)) return rs_fail(err, RS_ERR_CANCELLED, "stopped");
    uint32_t index = rank_of_row(r);
    rs_fuse_rank *rank = index == RS_NO_ROW ? NULL : r->plan->ranks[index];
    bool kept = rank && is_kept(r, rank);
    r->row++;
    if (!rank || !is_object) return RS_OK;
    if (!kept) {
        rank->n_left_out++;
        return RS_OK;
    }
    switch (rs_fuse_event(r->plan, index, r->filter, text, n, *r->any ? ",\n" : "\n", r->writer)) {
    case RS_FUSE_WRITTEN:
        rank->n_written++;
        *r->any = true;
        break;
    case RS_FUSE_LEFT_OUT: rank->n_left_out++; break;
    default: break;
    }
    return r->writer->failed ? rs_fail(err, RS_ERR_IO, "the output could not be written") : RS_OK;
}

static rs_status elements(reading *r, rs_error *err)
{
    r->p++;
    r->saw_array = r->in_array = true;
    for (;;) {
        uint8_t c;
        rs_status status = peek(r, &c, err);
        if (status != RS_OK) return status;
        if (c == ',') {
            r->p++;
        } else if (c == ']') {
            r->p++;
            r->in_array = false;
            return RS_OK;
        } else {
            if (c == 0) give_up(r);
            if (!r->damaged) status = element(r, err);
            if (status != RS_OK || r->damaged) return status;
        }
    }
}

/* ---- around the events
 * --------------------------------------------------------------------------------------- */

static bool append(buffer *b, const void *bytes, size_t n)
{
    if (!rs_grow((void **)&b->text, &b->capacity, b->n + n + 1, 1)) return false;
    memcpy(b->text + b->n, bytes, n);
    b->n += n;
    return true;
}

/* Keeps a member of a file's frame as it stands. */
static rs_status keep(buffer *b, const buffer *key, const uint8_t *text, size_t n, rs_error *err)
{
    if (b->n + key->n + n + 8 > MAX_HEADER) return RS_OK;
    bool is_number_word = n && (*text == 'N' || *text == 'I');
    bool ok = (b->n == 0 || append(b, ", ", 2)) && append(b, key->text, key->n) && append(b, ": ", 2) &&
              (is_number_word ? append(b, "null", 4) : append(b, text, n));
    return ok ? RS_OK : rs_fail_nomem(err, "headers");
}

static rs_status object_member(reading *r, rs_error *err)
{
    const uint8_t *text;
    size_t n;
    uint8_t c;
    buffer key = {0};
    rs_status status = value(r, &text, &n, err);
    if (status == RS_OK && text && !append(&key, text, n)) status = rs_fail_nomem(err, "headers");
    if (status == RS_OK && text) status = peek(r, &c, err);
    if (status == RS_OK && text && c != ':') give_up(r);
    if (status == RS_OK && text && !r->damaged) {
        r->p++;
        status = peek(r, &c, err);
        if (status == RS_OK && c == '[' && key.n == 13 && memcmp(key.text, "\"traceEvents\"", 13) == 0) {
            status = elements(r, err);
        } else if (status == RS_OK) {
            status = value(r, &text, &n, err);
            if (status == RS_OK && text) status = keep(r->header, &key, text, n, err);
        }
    }
    rs_free(key.text);
    return status;
}

/* The header is no JSON here, which the loader has told: goes on where it went on. */
static rs_status pass_over_damage(reading *r, rs_error *err)
{
    while (!rs_kineto_resume_member(&r->p, r->end, r->saw_array, r->window.last)) {
        if (r->window.last) return RS_OK;
        rs_status status = more(r, err);
        if (status != RS_OK) return status;
    }
    r->damaged = false;
    return RS_OK;
}

static rs_status object(reading *r, rs_error *err)
{
    r->p++;
    r->saw_array = false;
    for (;;) {
        uint8_t c;
        rs_status status = peek(r, &c, err);
        if (status != RS_OK) return status;
        if (c == '}') {
            r->p++;
            return RS_OK;
        }
        if (c == ',') {
            r->p++;
            continue;
        }
        if (c != '"') give_up(r);
        if (!r->damaged) status = object_member(r, err);
        if (status == RS_OK && r->damaged && !r->in_array) status = pass_over_damage(r, err);
        if (status != RS_OK || r->damaged) return status;
    }
}

static rs_status documents(reading *r, bool lines, rs_error *err)
{
    rs_status status = more(r, err);
    while (status == RS_OK && !r->damaged) {
        uint8_t c;
        status = peek(r, &c, err);
        if (status != RS_OK || c == 0) break;
        if (c == ',')
            r->p++;
        else if (c == '{')
            status = lines ? element(r, err) : object(r, err);
        else if (c == '[')
            status = elements(r, err);
        else
            give_up(r);
    }
    return status;
}

static int by_first(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    return x->run.first < y->run.first ? -1 : x->run.first > y->run.first;
}

/* Which rows are whose. */
static bool take_owners(reading *r, const char *source)
{
    size_t capacity = 0;
    for (uint32_t i = 0; i < r->plan->n; i++) {
        const rs_fuse_rank *rank = r->plan->ranks[i];
        size_t before = 0;
        if (rank->source != source) continue;
        for (size_t k = 0; k < (rank->runs ? rank->n_runs : 1); k++) {
            if (!RS_GROW_ONE(r->owners, r->n_owners, capacity)) return false;
            rs_fuse_run run = rank->runs ? rank->runs[k] : (rs_fuse_run){0, UINT32_MAX};
            r->owners[r->n_owners++] = (struct owner){run, i, before};
            before += run.end - run.first;
        }
    }
    if (r->n_owners) qsort(r->owners, r->n_owners, sizeof *r->owners, by_first);
    return true;
}

static rs_status copy_file(const rs_job *job, const rs_fuse_plan *plan, const rs_job_file *file,
                           const rs_fuse_filter *filter, rs_writer *writer, bool *any, buffer *header,
                           rs_result *result, rs_error *err)
{
    reading r = {.job = job, .plan = plan, .filter = filter, .writer = writer, .any = any, .header = header};
    uint64_t max_ratio = rs_job_get_settings(job)->max_ratio;
    rs_source *source = NULL;
    bool lines = false;
    for (size_t i = 0; i < plan->n; i++)
        if (plan->ranks[i]->source == file->name) lines = plan->ranks[i]->lines;
    rs_status status = take_owners(&r, file->name) ? RS_OK : rs_fail_nomem(err, "ranks");
    if (status == RS_OK)
        status = file->bytes
                     ? rs_source_open_bytes(file->bytes, file->n_bytes, file->name, max_ratio, &source, err)
                     : rs_source_open(file->name, max_ratio, &source, err);
    if (status == RS_OK) status = rs_windows_open(source, true, MAX_RECORD, &r.windows, err);
    if (status == RS_OK) status = documents(&r, lines, err);
    if (status == RS_OK && r.damaged)
        rs_problems_add(&result->problems, file->name, -1, RS_LOSS, "copy_ends",
                        "the text is damaged here: what comes after it was not copied", r.damaged_at);
    rs_windows_close(r.windows);
    rs_source_close(source);
    rs_free(r.owners);
    return status;
}

/* ---- the new trace's own records
 * ------------------------------------------------------------------------------ */

static void put_string(rs_writer *w, const char *text)
{
    rs_writer_json_string(w, text, strlen(text));
}

static void put_pid(const rs_fuse_plan *plan, size_t index, const rs_fuse_process *p, rs_writer *w)
{
    char text[400];
    if (!p->text) {
        rs_writer_int(w, rs_add_sat(p->pid, (int64_t)index * plan->step[RS_FUSE_PID]));
        return;
    }
    snprintf(text, sizeof text, "%.300s rank %lld", p->text, (long long)plan->ranks[index]->rank);
    put_string(w, text);
}

static void begin_record(const rs_fuse_plan *plan, size_t index, const rs_fuse_process *p, const char *name,
                         bool *any, rs_writer *w)
{
    rs_writer_text(w, *any ? ",\n" : "\n");
    *any = true;
    rs_writer_text(w, "{\"ph\": \"M\", \"name\": ");
    put_string(w, name);
    rs_writer_text(w, ", \"pid\": ");
    put_pid(plan, index, p, w);
    rs_writer_text(w, ", \"tid\": 0, \"args\": {\"rank\": ");
    rs_writer_int(w, plan->ranks[index]->rank);
}

static void put_process(const rs_fuse_plan *plan, size_t index, const rs_fuse_process *p, int64_t sort_index,
                        bool *any, rs_writer *w)
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
    begin_record(plan, index, p, "process_name", any, w);
    rs_writer_text(w, ", \"name\": ");
    put_string(w, text);
    rs_writer_text(w, "}}");
    begin_record(plan, index, p, "process_sort_index", any, w);
    rs_writer_text(w, ", \"sort_index\": ");
    rs_writer_int(w, sort_index);
    rs_writer_text(w, "}}");
    if (!p->label || !p->label[0]) return;
    begin_record(plan, index, p, "process_labels", any, w);
    rs_writer_text(w, ", \"labels\": ");
    put_string(w, p->label);
    rs_writer_text(w, "}}");
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

static void put_processes(const rs_fuse_plan *plan, bool *any, rs_writer *w)
{
    int64_t sort_index = 0;
    for (size_t i = 0; i < plan->n; i++) {
        rs_fuse_rank *r = plan->ranks[i];
        if (r->n_processes) qsort(r->processes, r->n_processes, sizeof *r->processes, in_order);
        for (size_t k = 0; k < r->n_processes; k++)
            put_process(plan, i, &r->processes[k], sort_index++, any, w);
    }
}

/* The members of the first file's frame that hold for all, and every file's own under "rankscope". */
static void put_frame(const rs_fuse_plan *plan, const rs_job *job, const buffer *headers, rs_writer *w)
{
    rs_writer_text(w, "\n],\n\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\"");
    if (plan->base_time_ns != RS_NO_VALUE) {
        rs_writer_text(w, ", \"baseTimeNanoseconds\": ");
        rs_writer_int(w, plan->base_time_ns);
    }
    rs_writer_text(w, ",\n\"rankscope\": {\"version\": ");
    put_string(w, rs_version());
    rs_writer_text(w, ", \"id_steps\": {");
    for (unsigned id = 0; id < RS_N_FUSE_IDS; id++) {
        if (id) rs_writer_text(w, ", ");
        put_string(w, rs_fuse_id_names[id]);
        rs_writer_text(w, ": ");
        rs_writer_int(w, plan->step[id]);
    }
    rs_writer_text(w, "},\n  \"ranks\": [");
    for (size_t i = 0; i < plan->n; i++) {
        const rs_fuse_rank *r = plan->ranks[i];
        rs_writer_text(w, i ? ",\n    {\"rank\": " : "\n    {\"rank\": ");
        rs_writer_int(w, r->rank);
        rs_writer_text(w, ", \"file\": ");
        put_string(w, r->source);
        rs_writer_text(w, ", \"shift_us\": ");
        rs_writer_time(w, r->shift, RS_UNIT_US);
        rs_writer_text(w, ", \"residual_us\": ");
        if (r->clock.aligned)
            rs_writer_time(w, r->clock.residual, RS_UNIT_US);
        else
            rs_writer_text(w, "null");
        if (r->doubt.low != RS_NO_TIME) {
            rs_writer_text(w, ", \"clock_low_us\": ");
            rs_writer_time(w, r->doubt.low, RS_UNIT_US);
            rs_writer_text(w, ", \"clock_high_us\": ");
            rs_writer_time(w, r->doubt.high, RS_UNIT_US);
        }
        rs_writer_char(w, '}');
    }
    rs_writer_text(w, "],\n  \"files\": {");
    bool first = true;
    for (size_t i = 0; i < rs_job_n_files(job); i++) {
        if (!headers[i].n) continue;
        rs_writer_text(w, first ? "\n    " : ",\n    ");
        first = false;
        put_string(w, rs_job_get_file(job, i).name);
        rs_writer_text(w, ": {");
        rs_writer_bytes(w, headers[i].text, headers[i].n);
        rs_writer_char(w, '}');
    }
    rs_writer_text(w, "}}\n}\n");
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
        rs_table_add_int(t, r->rank);
        rs_table_add_text(t, r->source);
        rs_table_add_int(t, (int64_t)r->n_written);
        rs_table_add_int(t, (int64_t)r->n_left_out);
        rs_table_add_text(t, r->clock.aligned ? "ends" : plan->by_base ? "base" : "file");
        rs_table_add_time(t, r->shift);
        rs_table_add_int(t, (int64_t)r->clock.n);
        if (r->clock.aligned) {
            rs_table_add_time(t, r->clock.residual);
            rs_table_add_time(t, r->clock.worst);
            if (r->clock.residual > worst) worst = r->clock.residual;
            n_aligned++;
        } else {
            rs_table_add_null(t);
            rs_table_add_null(t);
        }
        rs_table_add_time_if(t, r->doubt.low != RS_NO_TIME, r->doubt.low);
        rs_table_add_time_if(t, r->doubt.low != RS_NO_TIME, r->doubt.high);
        status = rs_table_end_row(t, err);
    }
    char text[32];
    if (n_aligned)
        rs_result_note(result,
                       "clocks of %zu of %zu ranks agree within %s at the ends of their collectives (median)",
                       n_aligned, plan->n, rs_human_time(worst, text));
    else if (plan->n > 1)
        rs_result_note(result, "no collectives tell the clocks: %s",
                       plan->by_base ? "only baseTimeNanoseconds aligns them"
                                     : "times are as the files have them");
    return status;
}

static rs_status copy_all(const rs_job *job, rs_fuse_plan *plan, const rs_fuse_filter *filter,
                          rs_writer *writer, rs_result *result, rs_error *err)
{
    size_t n_files = rs_job_n_files(job);
    buffer *headers = rs_calloc(n_files + 1, sizeof *headers);
    uint8_t *done = rs_calloc(n_files + 1, 1);
    rs_status status = headers && done ? RS_OK : rs_fail_nomem(err, "headers");
    bool any = false;
    if (status == RS_OK) rs_writer_text(writer, "{\"traceEvents\": [");
    for (size_t i = 0; status == RS_OK && i < plan->n; i++)
        for (size_t k = 0; status == RS_OK && k < n_files; k++) {
            rs_job_file file = rs_job_get_file(job, k);
            if (done[k] || file.name != plan->ranks[i]->source) continue;
            done[k] = 1;
            status = copy_file(job, plan, &file, filter, writer, &any, &headers[k], result, err);
            if (status != RS_OK) rs_error_wrap(err, "%s", file.name);
        }
    if (status == RS_OK) {
        put_processes(plan, &any, writer);
        put_frame(plan, job, headers, writer);
        status = rs_writer_finish(writer, err);
    }
    for (size_t i = 0; headers && i < n_files; i++) rs_free(headers[i].text);
    rs_free(headers);
    rs_free(done);
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
    for (size_t i = 0; i < rs_job_n_files(job); i++) {
        rs_job_file file = rs_job_get_file(job, i);
        if (!file.bytes && strcmp(file.name, "-") == 0)
            return rs_fail(err, RS_ERR_USAGE,
                           "fuse reads its input twice, which standard input does not allow");
    }
    rs_writer *writer = rs_malloc(sizeof *writer);
    if (!writer) return rs_fail_nomem(err, "output");
    rs_writer_init(writer, sink);
    rs_status status = rs_fuse_make_plan(job, &settings, &plan, result, err);
    if (status == RS_OK) status = copy_all(job, &plan, &filter, writer, result, err);
    if (status == RS_OK) status = report(&plan, result, err);
    rs_fuse_plan_clear(&plan);
    rs_free(writer);
    return status;
}
