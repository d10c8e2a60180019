/* The report's section on snapshots of PyTorch's allocator. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "report/section.h"

#define STRETCHES 400 /* of a timeline: each gives its extremes, at most three events */

typedef struct answer {
    rs_result all, series; /* of all ranks; of the fullest one with its timeline */
    rs_table *timeline;    /* of the fullest device, thinned; NULL: none */
} answer;

static bool is_asked(const rs_report_settings *settings)
{
    return settings->n_memory > 0;
}

/* One run of the analysis; ranks as rs_job_settings has them. */
static rs_status ask(const rs_report_settings *settings, const char *ranks, bool series, rs_result *out,
                     rs_error *err)
{
    const rs_analysis *analysis = rs_analysis_find("memory");
    const rs_job_settings job_settings = {.size = sizeof(rs_job_settings),
                                          .jobs = settings->jobs,
                                          .ranks = ranks,
                                          .no_store = true,
                                          .progress = settings->progress,
                                          .progress_context = settings->progress_context};
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    rs_options *options = NULL;
    rs_job *job = NULL;
    rs_status status = rs_options_create(specs, n, &options, err);
    if (status == RS_OK && series) status = rs_options_set(options, "series", NULL, err);
    if (status == RS_OK) status = rs_job_open(settings->memory, settings->n_memory, &job_settings, &job, err);
    if (status == RS_OK) status = rs_job_run(job, analysis, options, RS_COMPAT_NONE, out, err);
    rs_job_close(job);
    rs_options_free(options);
    return status;
}

static size_t column_of(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    size_t i = 0;
    while (strcmp(spec->columns[i].name, name) != 0) i++;
    return i;
}

static size_t fullest_device(const rs_table *ranks)
{
    size_t peak = column_of(ranks, "peak_active_bytes"), best = 0;
    for (size_t i = 1; i < rs_table_n_rows(ranks); i++)
        if (rs_table_int(ranks, i, peak) > rs_table_int(ranks, best, peak)) best = i;
    return best;
}

static bool has_device(const rs_table *t, size_t row, const char *device, size_t length)
{
    size_t n;
    const char *text = rs_table_text(t, row, 1, &n);
    return n == length && memcmp(text, device, n) == 0;
}

static rs_status keep_row(answer *a, const rs_table *from, size_t row, rs_error *err)
{
    for (size_t c = 0; c < rs_table_get_spec(from)->n_columns; c++)
        rs_table_add_cell(a->timeline, from, row, c);
    return rs_table_end_row(a->timeline, err);
}

/* Of rows [from, to): those with the most and the least active and the most reserved bytes, in order. */
static rs_status keep_extremes(answer *a, const rs_table *t, size_t from, size_t to, rs_error *err)
{
    size_t active = column_of(t, "active_bytes"), reserved = column_of(t, "reserved_bytes");
    size_t most = from, least = from, largest = from;
    for (size_t i = from; i < to; i++) {
        if (rs_table_int(t, i, active) > rs_table_int(t, most, active)) most = i;
        if (rs_table_int(t, i, active) < rs_table_int(t, least, active)) least = i;
        if (rs_table_int(t, i, reserved) > rs_table_int(t, largest, reserved)) largest = i;
    }
    for (size_t i = from; i < to; i++)
        if (i == most || i == least || i == largest) RS_TRY(keep_row(a, t, i, err));
    return RS_OK;
}

static rs_status thin_timeline(answer *a, const char *device, size_t length, rs_error *err)
{
    const rs_table *t = rs_result_table(&a->series, "timeline");
    size_t first = 0, n = rs_table_n_rows(t);
    while (first < n && !has_device(t, first, device, length)) first++;
    while (n > first && !has_device(t, n - 1, device, length)) n--;
    a->timeline = rs_table_create(rs_table_get_spec(t));
    if (!a->timeline) return rs_fail_nomem(err, "timeline");
    size_t rows = n - first, stretches = rows < STRETCHES ? rows : STRETCHES;
    for (size_t k = 0; k < stretches; k++)
        RS_TRY(keep_extremes(a, t, first + rows * k / stretches, first + rows * (k + 1) / stretches, err));
    return RS_OK;
}

static rs_status gather_all(const rs_report_settings *settings, answer *a, rs_error *err)
{
    RS_TRY(ask(settings, NULL, false, &a->all, err));
    const rs_table *ranks = rs_result_table(&a->all, "ranks");
    if (!ranks || !rs_table_n_rows(ranks))
        return rs_fail_at(
            err, RS_ERR_FORMAT, settings->memory[0], RS_NO_OFFSET,
            "holds no snapshot of PyTorch's allocator: torch.cuda.memory._dump_snapshot writes one");
    char rank[24];
    size_t row = fullest_device(ranks), length;
    const char *device = rs_table_text(ranks, row, 1, &length);
    snprintf(rank, sizeof rank, "%" PRId64, rs_table_int(ranks, row, 0));
    RS_TRY(ask(settings, rank, true, &a->series, err));
    return thin_timeline(a, device, length, err);
}

static rs_status gather(const rs_report_settings *settings, void **out, rs_result *told, rs_error *err)
{
    answer *a = rs_calloc(1, sizeof *a);
    *out = a;
    if (!a) return rs_fail_nomem(err, "memory");
    rs_status status = gather_all(settings, a, err);
    rs_report_tell_problems(told, &a->all.problems);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "memory");
}

static rs_status put(rs_report_data *data, void *from, rs_error *err)
{
    static const rs_report_part parts[] = {{"findings", NULL, 64, NULL},
                                           {"ranks", NULL, RS_REPORT_WHOLE_TABLE, NULL},
                                           {"sites", NULL, 1200, "bytes"},
                                           {"categories", NULL, RS_REPORT_WHOLE_TABLE, NULL},
                                           {"spread", NULL, 200, NULL},
                                           {"fragmentation", NULL, RS_REPORT_WHOLE_TABLE, NULL},
                                           {"oom", NULL, 200, NULL},
                                           {"leaks", NULL, 200, NULL},
                                           {"segments", NULL, 1200, "stuck_bytes"}};
    static const rs_report_part all = {.cap = 3 * STRETCHES};
    const answer *a = from;
    rs_writer_text(data->writer, "{\"tables\":{");
    RS_TRY(rs_report_put_part(data, a->timeline, &all, true, err));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        RS_TRY(rs_report_put_part(data, rs_result_table(&a->all, parts[i].table), &parts[i], false, err));
    rs_writer_char(data->writer, '}');
    rs_report_put_notes(data, &a->all);
    rs_writer_char(data->writer, '}');
    return RS_OK;
}

static void free_answer(void *from)
{
    answer *a = from;
    if (!a) return;
    rs_result_clear(&a->all);
    rs_result_clear(&a->series);
    rs_table_free(a->timeline);
    rs_free(a);
}

const rs_report_section rs_report_section_memory = {
    .name = "memory", .is_asked = is_asked, .gather = gather, .put = put, .free = free_answer};
