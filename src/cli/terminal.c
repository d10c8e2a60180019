/* The terminal: its width, colours and encoding; messages and the progress bar. */
#define _GNU_SOURCE
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ranges.h"
#include "cli/cli.h"
#include "text/utf8.h"
#include "text/numbers.h"

static bool terminal_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool is_plain_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

/* Whether standard output is a terminal. */
static bool terminal_shows_output(void)
{
    return isatty(STDOUT_FILENO);
}

/* 0 when the width is not known. */
static unsigned terminal_width(int fd)
{
    const char *columns = getenv("COLUMNS"), *end;
    int64_t wanted;
    if (columns && rs_parse_whole(columns, &wanted, &end) && !*end && wanted > 0 && wanted < 100000)
        return (unsigned)wanted;
    struct winsize size;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return isatty(fd) ? 80 : 0;
}

rs_render_settings rs_terminal_settings(rs_color_choice color)
{
    const char *no_color = getenv("NO_COLOR");
    bool may_color = is_plain_terminal(STDOUT_FILENO) && !(no_color && *no_color);
    return (rs_render_settings){.size = sizeof(rs_render_settings),
                                .width = terminal_width(STDOUT_FILENO),
                                .color = color == RS_COLOR_ALWAYS || (color == RS_COLOR_AUTO && may_color),
                                .utf8 = terminal_utf8(),
                                .terminal = terminal_shows_output()};
}

bool rs_renders_as(const rs_render_settings *settings, const char *form)
{
    return strcmp(settings->form ? rs_output_form_name(settings->form) : "text", form) == 0;
}

rs_status rs_terminal_takes(const rs_render_settings *settings, bool to_file, rs_error *err)
{
    const rs_output_form *form = settings->form;
    if (form && rs_output_form_elsewhere(form))
        return rs_fail(err, RS_ERR_USAGE, "%s", rs_output_form_elsewhere(form));
    if (!form || !rs_output_form_is_binary(form) || to_file || !terminal_shows_output()) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "--format %s is no text: give a file with -o, or a pipe",
                   rs_output_form_name(form));
}

rs_status rs_budget_fits_form(const rs_render_settings *settings, rs_error *err)
{
    if (!settings->budget || (settings->form && rs_output_form_has_budget(settings->form))) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "--budget goes with --format json or md, not with %s",
                   settings->form ? rs_output_form_name(settings->form) : "text");
}

unsigned rs_prose_width(void)
{
    unsigned width = terminal_width(STDOUT_FILENO);
    return width == 0 ? 80 : width > 100 ? 100 : width < 40 ? 40 : width;
}

/* ---- messages ----------------------------------------------------------------------------------------- */

void rs_complain(const char *format, ...)
{
    char line[2048], clean[3 * sizeof line + 1];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0) return;
    size_t length = (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    rs_text_clean(line, length, terminal_utf8(), clean);
    fprintf(stderr, "rankscope: %s\n", clean);
}

int rs_exit_code_of(rs_status status)
{
    return status == RS_OK ? RS_EXIT_OK : status == RS_ERR_USAGE ? RS_EXIT_USAGE : RS_EXIT_INPUT;
}

int rs_complain_error(const char *command, const rs_error *err)
{
    char text[RS_ERROR_CAUSES * (2 * RS_ERROR_TEXT + 64)];
    if (rs_output_reader_gone()) return RS_EXIT_CLOSED_PIPE;
    rs_error_text(err, text, sizeof text);
    if (command)
        rs_complain("%s: %s", command, text);
    else
        rs_complain("%s", text);
    return rs_exit_code_of(err->status);
}

static void report_problem(const rs_problem *p)
{
    /* the detail of a file that is no use names the file and what is wrong with it: that is the whole message
     */
    if (strcmp(p->kind, "unusable_file") == 0 && p->detail) {
        rs_complain("%s", p->detail);
        return;
    }
    char offsets[160] = "", rank[40] = "", count[32] = "";
    size_t used = 0;
    for (unsigned i = 0; i < p->n_offsets && used < sizeof offsets; i++) {
        int n = snprintf(offsets + used, sizeof offsets - used, "%s%llu",
                         i              ? ", "
                         : p->count > 1 ? " at bytes "
                                        : " at byte ",
                         (unsigned long long)p->offsets[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (p->n_offsets && p->n_offsets < p->count && used < sizeof offsets)
        snprintf(offsets + used, sizeof offsets - used, ", ...");
    if (p->rank >= 0) snprintf(rank, sizeof rank, "rank %lld: ", (long long)p->rank);
    if (p->count != 1) snprintf(count, sizeof count, "%llu x ", (unsigned long long)p->count);
    rs_complain("%s%s%s%s%s%s: %s%s%s%s", p->file ? p->file : "", p->file ? ": " : "", rank, count, p->kind,
                offsets, p->message, p->detail ? " (" : "", p->detail ? p->detail : "", p->detail ? ")" : "");
}

void rs_report_result(const rs_result *result, bool quiet)
{
    for (size_t i = 0; i < result->problems.n; i++)
        if (!quiet || result->problems.items[i].severity != RS_NOTE)
            report_problem(&result->problems.items[i]);
    if (result->problems.n_dropped)
        rs_complain("%llu x unrecorded: defects that could not be recorded: memory ran out",
                    (unsigned long long)result->problems.n_dropped);
    for (size_t i = 0; i < result->n_notes && !quiet; i++) rs_complain("%s", result->notes[i]);
}

bool rs_is_told(const rs_result *result, const rs_error *err)
{
    char text[RS_ERROR_CAUSES * (2 * RS_ERROR_TEXT + 64)];
    rs_error_text(err, text, sizeof text);
    size_t length = strlen(text);
    for (size_t i = 0; i < result->problems.n; i++) {
        const rs_problem *p = &result->problems.items[i];
        size_t n = p->detail ? strlen(p->detail) : 0;
        if (p->severity != RS_NOTE && n && n <= length && strcmp(text + length - n, p->detail) == 0)
            return true;
    }
    return false;
}

/* ---- progress ----------------------------------------------------------------------------------------- */

void rs_progress_start(rs_progress *progress, bool wanted)
{
    *progress =
        (rs_progress){.shown = wanted && is_plain_terminal(STDERR_FILENO), .start = rs_clock_seconds()};
}

bool rs_progress_step(void *context, uint64_t done, uint64_t total)
{
    rs_progress *p = context;
    if (rs_signal_came()) return false;
    double now = p->shown ? rs_clock_seconds() : 0;
    if (!p->shown || now - p->start < 1 || now - p->last_drawn < 0.1) return true;
    p->last_drawn = now;
    char have[32], all[32], bar[31];
    rs_human_bytes((int64_t)(done > INT64_MAX ? INT64_MAX : done), have);
    if (total >= done && total > 0) {
        double share = (double)done / (double)total;
        size_t cells = (size_t)(share * 30);
        memset(bar, '.', 30);
        memset(bar, '#', cells);
        bar[30] = '\0';
        rs_human_bytes((int64_t)(total > INT64_MAX ? INT64_MAX : total), all);
        fprintf(stderr, "\r[%s] %3s%%  %s of %s\033[K", bar, RS_FIXED(share * 100, 0), have, all);
    } else {
        fprintf(stderr, "\r%s read\033[K", have);
    }
    fflush(stderr);
    p->drawn = true;
    return true;
}

void rs_progress_end(rs_progress *progress)
{
    if (progress->drawn) fprintf(stderr, "\r\033[K");
    progress->drawn = progress->shown = false;
}
