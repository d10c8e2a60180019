/* report --tracelens: TraceLens' sheets as one CSV file each, or as a workbook. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/report_tracelens.h"
#include "output/xlsx.h"

static rs_status make_folder(const char *path, rs_error *err)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return RS_OK;
    return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot make the folder: %s",
                      errno == EEXIST ? "a file has that name" : strerror(errno));
}

static rs_status write_sheet(void *context, const rs_sink *sink, rs_error *err)
{
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("csv")};
    return rs_render_table(context, &settings, sink, err);
}

/* FOLDER/SHEET.csv for each sheet. */
static rs_status write_sheets(const char *folder, const rs_table *const *sheets, size_t n, rs_error *err)
{
    size_t room = strlen(folder) + 80;
    char *path = rs_malloc(room);
    if (!path) return rs_fail_nomem(err, "a file name");
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        snprintf(path, room, "%s/%.64s.csv", folder, rs_table_get_spec(sheets[i])->name);
        status = rs_output_put(path, false, NULL, write_sheet, (void *)sheets[i], err);
    }
    rs_free(path);
    return status;
}

/* ---- workbooks ----------------------------------------------------------------------------------------- */

typedef struct workbook {
    const rs_sheet *sheets;
    size_t n;
} workbook;

static rs_status write_workbook(void *context, const rs_sink *sink, rs_error *err)
{
    const workbook *w = context;
    return rs_xlsx_write(w->sheets, w->n, sink, err);
}

static rs_status write_book(const char *path, const rs_table *const *sheets, size_t n, rs_error *err)
{
    rs_sheet *items = rs_calloc(n + 1, sizeof *items);
    if (!items) return rs_fail_nomem(err, "a workbook");
    for (size_t i = 0; i < n; i++) items[i] = (rs_sheet){rs_table_get_spec(sheets[i])->name, sheets[i], NULL};
    workbook w = {items, n};
    rs_status status = rs_output_put(path, false, NULL, write_workbook, &w, err);
    rs_free(items);
    return status;
}

/* The length of the path without its ending .xlsx; 0: it has another. */
static size_t book_stem(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".xlsx") == 0 ? n - 5 : 0;
}

/* ---- the report ---------------------------------------------------------------------------------------- */

static rs_status write_tables(const char *path, const rs_table *const *sheets, size_t n, rs_error *err)
{
    if (n == 0) return RS_OK;
    if (book_stem(path)) return write_book(path, sheets, n, err);
    RS_TRY(make_folder(path, err));
    return write_sheets(path, sheets, n, err);
}

/* The sheets over all ranks, and those of one rank, stand in DIR or FILE.xlsx itself, those of several ranks in
 * DIR/rank0, ... or FILE.rank0.xlsx, ... */
static rs_status write_report(const char *place, const rs_tracelens_report *report, rs_error *err)
{
    size_t n_ranks = rs_tracelens_report_n_ranks(report), room = strlen(place) + 40, stem = book_stem(place),
           n_job;
    const rs_table *const *job = rs_tracelens_report_job_sheets(report, &n_job);
    char *path = rs_malloc(room);
    if (!path) return rs_fail_nomem(err, "a file name");
    rs_status status = stem ? RS_OK : make_folder(place, err);
    if (status == RS_OK) status = write_tables(place, job, n_job, err);
    for (size_t i = 0; status == RS_OK && i < n_ranks; i++) {
        size_t n;
        const rs_table *const *sheets = rs_tracelens_report_sheets(report, i, &n);
        long long rank = rs_tracelens_report_rank(report, i);
        if (n_ranks == 1)
            snprintf(path, room, "%s", place);
        else if (stem)
            snprintf(path, room, "%.*s.rank%lld.xlsx", (int)stem, place, rank);
        else
            snprintf(path, room, "%s/rank%lld", place, rank);
        status = write_tables(path, sheets, n, err);
    }
    rs_free(path);
    return status;
}

rs_status rs_report_check_tracelens(rs_request *r, rs_error *err)
{
    if (rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "either -o, a page, or --tracelens, TraceLens' sheets: not both");
    if (!r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE, "which traces? rankscope report --tracelens DIR PATH...");
    if (rs_request_repeated(r, "flight")->n || rs_request_repeated(r, "metrics")->n)
        return rs_fail(err, RS_ERR_USAGE,
                       "--flight and --metrics go with the page (-o), not with --tracelens");
    return RS_OK;
}

rs_status rs_report_write_tracelens(rs_request *r, rs_result *told, rs_error *err)
{
    const rs_options *own = rs_arguments_of(r->command, &r->arguments, "short-kernels");
    double short_us = rs_options_real(own, "short-kernels");
    const rs_tracelens_settings settings = {
        .size = sizeof settings,
        .device = rs_request_text(r, "device"),
        .short_ns = rs_request_is_set(r, "short-kernels") ? (int64_t)llround(short_us * 1000) : 0,
        .collectives_only = rs_request_flag(r, "collectives"),
        .detailed = rs_request_flag(r, "detailed")};
    rs_tracelens_report *report = NULL;
    rs_job *job = NULL;
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &job, err));
    rs_status status = rs_tracelens_report_create(job, &settings, &report, told, err);
    rs_request_close(r, job);
    if (status == RS_OK) status = write_report(rs_request_text(r, "tracelens"), report, err);
    rs_tracelens_report_free(report);
    return status;
}
