/* "spans": an example of a reader, see docs/adding.md.
 *
 *     # spans 1
 *     NAME <tab> START_NS <tab> END_NS <tab> STREAM
 *
 * One line is one kernel. A line that is none is lost and counted; the others stay. */
#include <string.h>

#include "base/ranges.h"
#include "format/native.h"
#include "input/lines.h"

static const char magic[] = "# spans 1\n";

static bool is_spans(const uint8_t *text, size_t n)
{
    return n >= sizeof magic - 1 && memcmp(text, magic, sizeof magic - 1) == 0;
}

/* The whole number that a field of the line holds; the field ends at a tab or at the end of the line. */
static bool take_number(const char **at, const char *end, int64_t *out)
{
    char digits[24];
    const char *stop = memchr(*at, '\t', (size_t)(end - *at)), *rest;
    if (!stop) stop = end;
    size_t n = (size_t)(stop - *at);
    if (n == 0 || n >= sizeof digits) return false;
    memcpy(digits, *at, n);
    digits[n] = '\0';
    *at = stop < end ? stop + 1 : end;
    return rs_parse_whole(digits, out, &rest) && !*rest;
}

static bool parse_line(const rs_line_text *line, rs_native *out)
{
    const char *at = (const char *)line->text, *end = at + line->n;
    const char *tab = memchr(at, '\t', line->n);
    if (!tab || tab == at) return false;
    *out = RS_NATIVE_NONE;
    out->category = "kernel";
    out->name = at;
    out->name_length = (size_t)(tab - at);
    out->pid = out->device = 0;
    at = tab + 1;
    return take_number(&at, end, &out->start) && take_number(&at, end, &out->end) &&
           take_number(&at, end, &out->stream);
}

static rs_status read_lines(rs_lines *lines, const char *file, rs_events *events, rs_error *err)
{
    rs_line_text line;
    rs_status status = RS_OK;
    while (rs_lines_next(lines, &line, &status, err)) {
        rs_native kernel;
        if (line.number == 1 || (!line.too_long && line.n == 0)) continue;
        if (line.too_long || !parse_line(&line, &kernel)) {
            events->n_lost++;
            rs_problems_add(&events->problems, file, -1, RS_LOSS, "bad_line",
                            "a line is no \"NAME, START_NS, END_NS, STREAM\"; it was left out", line.offset);
            continue;
        }
        status = rs_native_add(events, file, &kernel, line.offset, err);
        if (status != RS_OK) break;
    }
    return status;
}

extern const rs_format rs_format_spans;

static rs_status load(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    rs_lines lines;
    rs_events *events;
    *out = NULL;
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &events, err);
    if (status != RS_OK) return status;
    events->format = &rs_format_spans;
    events->form = rs_format_spans.title;
    events->packing = "plain";
    status = rs_lines_open(source, &lines, err);
    if (status == RS_OK) {
        status = read_lines(&lines, rs_source_name(source), events, err);
        rs_lines_close(&lines);
    }
    if (status == RS_OK)
        *out = events;
    else
        rs_events_free(events);
    return status;
}

const rs_format rs_format_spans = {.name = "spans", .title = "spans", .sniff = is_spans, .load = load};
