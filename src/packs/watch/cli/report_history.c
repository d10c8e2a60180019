/* rankscope report --history FILE: the history of a watched job as a page. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/report.h"
#include "rankscope/watch.h"

static rs_status check(rs_request *r, rs_error *err)
{
    const char *file = rs_request_text(r, "history");
    RS_TRY(rs_report_check(err));
    if (!rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "into which file? rankscope report --history FILE -o PAGE.html");
    if (access(file, R_OK) != 0) /* a history that is not there would be made */
        return rs_fail_at(err, RS_ERR_IO, file, RS_NO_OFFSET, "cannot be read: %s", strerror(errno));
    return RS_OK;
}

typedef struct page {
    const char *file;
    const rs_result *result;
} page;

static rs_status write_page(void *context, const rs_sink *sink, rs_error *err)
{
    const page *p = context;
    return rs_report_write_watch(p->file, p->result, sink, err);
}

static rs_status body(rs_request *r, rs_result *told, rs_error *err)
{
    const rs_watch_settings settings = {
        .size = sizeof settings, .history = rs_request_text(r, "history"), .job = &r->job, .settle_ns = -1};
    RS_SCOPED(rs_result_clear) rs_result result = {0};
    page p = {settings.history, &result};
    rs_watch *watch = NULL;
    (void)told;
    RS_TRY(rs_watch_open(&settings, &watch, err));
    rs_status status = rs_watch_result(watch, &result, err);
    if (status == RS_OK) status = rs_watch_map(watch, r->arguments.paths, r->arguments.n_paths, &result, err);
    if (status == RS_OK)
        status = rs_output_put(rs_request_text(r, "output"), false, NULL, write_page, &p, err);
    rs_watch_close(watch);
    return status;
}

static const rs_option_spec specs[] = {
    {"history", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "instead of the page of a job: the history that rankscope watch keeps; PATHs are where its traces may still be"},
};

const rs_command_extension rs_extension_report_history = {
    .command = "report",
    .option = "history",
    .options = {.title = "Watched jobs", .specs = specs, .n = sizeof specs / sizeof *specs},
    .about =
        "--history writes the page of a job that rankscope watch has watched: late ranks and steps on a map of "
        "ranks by days, hours or windows, its changes with their causes, and which windows still have their traces.",
    .examples = "rankscope report --history job.db -o weeks.html traces/",
    .check = check,
    .body = body,
};
