/* The report's section on snapshots of PyTorch's allocator. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "report/data.h"
#include "report/section.h"

#define LAYERS "120" /* stretches of the picture over time */
#define STACKS "400"
#define STRETCHES 400 /* of a timeline: each gives its extremes, at most three events */

/* What is drawn, under which name of the page. */
enum { TIMELINE, LAYERS_DRAWN, LAYOUT, BLOCKS, STACKS_DRAWN, N_DRAWN };
static const struct {
    const char *key, *table;
    rs_report_part part;
} drawn[N_DRAWN] = {
    [TIMELINE] = {"timeline", "timeline", {.cap = 3 * STRETCHES}},
    [LAYERS_DRAWN] = {"layers", "layers", {.cap = 8192}},
    [LAYOUT] = {"layout", "layout", {.cap = 4096}},
    [BLOCKS] = {"blocks", "peak", {.cap = RS_REPORT_WHOLE_TABLE}},
    [STACKS_DRAWN] = {"stacks", "sites", {.columns = "rank,device,site,bytes,blocks,share_pct", .cap = 400}},
};

typedef struct answer {
    rs_result all;            /* of all ranks */
    rs_result series, stacks; /* of the fullest one: what is drawn; its sites by stack */
    rs_table *drawn[N_DRAWN]; /* of the fullest device; NULL: none */
    size_t device;            /* its row of ranks */
} answer;

static bool is_asked(const rs_report_settings *settings)
{
    return settings->n_memory > 0;
}

/* Options of a run: "name", "value" pairs ended by NULL. */
typedef const char *const given[2];

/* One run of the analysis; ranks as rs_job_settings has them. */
static rs_status ask(const rs_report_settings *settings, const char *ranks, given *chosen, rs_result *out,
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
    for (size_t i = 0; status == RS_OK && chosen[i][0]; i++)
        status = rs_options_set(options, chosen[i][0], chosen[i][1], err);
    if (status == RS_OK) status = rs_job_open(settings->memory, settings->n_memory, &job_settings, &job, err);
    if (status == RS_OK) status = rs_job_run(job, analysis, options, RS_COMPAT_NONE, out, err);
    rs_job_close(job);
    rs_options_free(options);
    return status;
}

static size_t fullest_device(const rs_table *ranks)
{
    size_t peak = rs_table_column_of(ranks, "peak_active_bytes"), best = 0;
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

static rs_status keep_row(rs_table *to, const rs_table *from, size_t row, rs_error *err)
{
    for (size_t c = 0; c < rs_table_get_spec(from)->n_columns; c++) rs_table_add_cell(to, from, row, c);
    return rs_table_end_row(to, err);
}

/* Of rows [from, to): those with the most and the least active and the most reserved bytes, in order. */
static rs_status keep_extremes(rs_table *kept, const rs_table *t, size_t from, size_t to, rs_error *err)
{
    size_t active = rs_table_column_of(t, "active_bytes"), reserved = rs_table_column_of(t, "reserved_bytes");
    size_t most = from, least = from, largest = from;
    for (size_t i = from; i < to; i++) {
        if (rs_table_int(t, i, active) > rs_table_int(t, most, active)) most = i;
        if (rs_table_int(t, i, active) < rs_table_int(t, least, active)) least = i;
        if (rs_table_int(t, i, reserved) > rs_table_int(t, largest, reserved)) largest = i;
    }
    for (size_t i = from; i < to; i++)
        if (i == most || i == least || i == largest) RS_TRY(keep_row(kept, t, i, err));
    return RS_OK;
}

/* The fullest device's rows, which follow each other; of more than `stretches` times three the extremes. 0: all. */
static rs_status keep_device(const answer *a, const rs_result *from, const char *name, size_t stretches,
                             rs_table **out, rs_error *err)
{
    const rs_table *t = rs_result_table(from, name);
    size_t length, first = 0, n = rs_table_n_rows(t);
    const char *device = rs_table_text(rs_result_table(&a->all, "ranks"), a->device, 1, &length);
    while (first < n && !has_device(t, first, device, length)) first++;
    while (n > first && !has_device(t, n - 1, device, length)) n--;
    *out = rs_table_create(rs_table_get_spec(t));
    if (!*out) return rs_fail_nomem(err, name);
    for (size_t i = first; !stretches && i < n; i++) RS_TRY(keep_row(*out, t, i, err));
    size_t rows = n - first;
    if (stretches > rows) stretches = rows;
    for (size_t k = 0; k < stretches; k++)
        RS_TRY(keep_extremes(*out, t, first + rows * k / stretches, first + rows * (k + 1) / stretches, err));
    return RS_OK;
}

/* What is drawn of the fullest rank. */
static rs_status gather_pictures(const rs_report_settings *settings, answer *a, const char *rank,
                                 rs_error *err)
{
    static given all[] = {{"series", NULL},   {"top", "0"},     {"by", "category"},
                          {"layers", LAYERS}, {"layout", NULL}, {NULL, NULL}};
    static given by_stack[] = {{"by", "stack"}, {"top", STACKS}, {NULL, NULL}};
    RS_TRY(ask(settings, rank, all, &a->series, err));
    RS_TRY(ask(settings, rank, by_stack, &a->stacks, err));
    for (size_t k = 0; k < N_DRAWN; k++)
        RS_TRY(keep_device(a, k == STACKS_DRAWN ? &a->stacks : &a->series, drawn[k].table,
                           k == TIMELINE ? STRETCHES : 0, &a->drawn[k], err));
    return RS_OK;
}

static rs_status gather_all(const rs_report_settings *settings, answer *a, rs_error *err)
{
    static given nothing[] = {{NULL, NULL}};
    RS_TRY(ask(settings, NULL, nothing, &a->all, err));
    const rs_table *ranks = rs_result_table(&a->all, "ranks");
    if (!ranks || !rs_table_n_rows(ranks))
        return rs_fail_at(
            err, RS_ERR_FORMAT, settings->memory[0], RS_NO_OFFSET,
            "holds no snapshot of PyTorch's allocator: torch.cuda.memory._dump_snapshot writes one");
    char rank[24];
    a->device = fullest_device(ranks);
    snprintf(rank, sizeof rank, "%" PRId64, rs_table_int(ranks, a->device, 0));
    return gather_pictures(settings, a, rank, err);
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
    const answer *a = from;
    rs_writer_text(data->writer, "{\"tables\":{");
    for (size_t k = 0; k < N_DRAWN; k++) {
        RS_WRITE(data->writer, k ? ",\"" : "\"", drawn[k].key, "\":");
        RS_TRY(rs_report_put_table(data, a->drawn[k], &drawn[k].part, err));
    }
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
    rs_result_clear(&a->stacks);
    for (size_t k = 0; k < N_DRAWN; k++) rs_table_free(a->drawn[k]);
    rs_free(a);
}

const rs_report_section rs_report_section_memory = {
    .name = "memory", .is_asked = is_asked, .gather = gather, .put = put, .free = free_answer};
