/* rankscope report --history FILE and view --history FILE: the history of a watched job as a page. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/watch.h"

typedef struct page {
    rs_watch *watch;
    const char *history;
    rs_result result;
} page;

static void page_clear(page *p)
{
    rs_result_clear(&p->result);
    rs_watch_close(p->watch);
}

static rs_status page_open(const rs_request *r, page *p, rs_error *err)
{
    p->history = rs_request_text(r, "history");
    const rs_watch_settings settings = {
        .size = sizeof settings, .history = p->history, .job = &r->job, .settle_ns = -1};
    RS_TRY(rs_watch_open(&settings, &p->watch, err));
    RS_TRY(rs_watch_result(p->watch, &p->result, err));
    return rs_watch_map(p->watch, r->arguments.paths, r->arguments.n_paths, &p->result, err);
}

static rs_status write_page(void *context, const rs_sink *sink, rs_error *err)
{
    const page *p = context;
    return rs_report_write_watch(p->history, &p->result, sink, err);
}

static rs_status check(rs_request *r, rs_error *err)
{
    const char *file = rs_request_text(r, "history");
    RS_TRY(rs_report_check(err));
    if (access(file, R_OK) != 0) /* a history that is not there would be made */
        return rs_fail_at(err, RS_ERR_IO, file, RS_NO_OFFSET, "cannot be read: %s", strerror(errno));
    return RS_OK;
}

/* ---- report ------------------------------------------------------------------------------------------------- */

static rs_status check_report(rs_request *r, rs_error *err)
{
    if (!rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "into which file? rankscope report --history FILE -o PAGE.html");
    return check(r, err);
}

static rs_status write_report(rs_request *r, rs_result *told, rs_error *err)
{
    RS_SCOPED(page_clear) page p = {0};
    (void)told;
    RS_TRY(page_open(r, &p, err));
    return rs_output_put(rs_request_text(r, "output"), false, NULL, write_page, &p, err);
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
    .check = check_report,
    .body = write_report,
};

/* ---- view --------------------------------------------------------------------------------------------------- */

static rs_status check_view(rs_request *r, rs_error *err)
{
    static const char *const of_one_job[] = {"perfetto", "memory", "early"};
    for (size_t i = 0; i < sizeof of_one_job / sizeof *of_one_job; i++)
        if (rs_request_is_set(r, of_one_job[i]))
            return rs_fail(err, RS_ERR_USAGE, "--%s does not go with --history", of_one_job[i]);
    return check(r, err);
}

static rs_status show_window(void *context, int64_t window, const char *const *paths, size_t n, rs_error *err)
{
    return rs_request_show_window(context, window, paths, n, err);
}

static rs_status show_pages(rs_request *r, rs_result *told, rs_error *err)
{
    RS_SCOPED(page_clear) page p = {0};
    (void)told;
    RS_TRY(page_open(r, &p, err));
    RS_TRY(rs_request_show_page(r, write_page, &p, err));
    return rs_watch_each_kept(p.watch, show_window, r, err);
}

const rs_command_extension rs_extension_view_history = {
    .command = "view",
    .option = "history",
    .options = {.title = "Watched jobs", .specs = specs, .n = sizeof specs / sizeof *specs},
    .about =
        "--history shows the page of a watched job that `report --history` writes; a window that still has its traces "
        "opens in the explorer, by its link or a click on the map.",
    .examples = "rankscope view --history job.db traces/",
    .check = check_view,
    .body = show_pages,
};
