/* Which format a file is of: the rows are asked. */
#include "format/format.h"

#include <string.h>

#include "base/try.h"
#include "format/native.h"

#define PROBE 2048 /* bytes of the text that are looked at */

const rs_format *rs_format_of_text(const uint8_t *text, size_t n)
{
    const rs_format *otherwise = NULL;
    if (!n) text = (const uint8_t *)""; /* rows need not think of NULL */
    for (const rs_format *const *row = rs_format_rows; *row; row++) {
        if ((*row)->sniff && (*row)->sniff(text, n)) return *row;
        if (!(*row)->sniff) otherwise = *row;
    }
    return otherwise;
}

rs_run_name rs_run_name_of(const char *path)
{
    for (const rs_format *const *row = rs_format_rows; *row; row++) {
        rs_run_name name = (*row)->run_name ? (*row)->run_name(path) : (rs_run_name){0};
        if (name.format) return name;
    }
    return (rs_run_name){0};
}

const char *rs_format_remedy(const rs_events *events, const char *check)
{
    const rs_remedy *r = events->format ? events->format->remedies : NULL;
    for (; r && r->check; r++)
        if (strcmp(r->check, check) == 0) return r->text;
    return NULL;
}

/* What is read instead of a trace, as the first format of such records calls it. */
static const char *title_of(unsigned records)
{
    for (const rs_format *const *row = rs_format_rows; *row; row++)
        if (records >> (*row)->records & 1) return (*row)->title;
    return "another kind of recording";
}

rs_status rs_format_refuses(const rs_format *format, unsigned records, const char *file, const uint8_t *text,
                            size_t n, rs_error *err)
{
    if (!records) records = RS_TAKES(EVENTS);
    if (records >> format->records & 1) return RS_OK;
    if (format->elsewhere)
        return rs_fail_at(err, RS_ERR_FORMAT, file, RS_NO_OFFSET, "%s", format->elsewhere(text, n));
    return rs_fail_at(err, RS_ERR_FORMAT, file, RS_NO_OFFSET, "is a trace where a %s is asked for",
                      title_of(records));
}

/* Looked at in the source itself where it can be read once only, else in one that is opened for it: readers
 * of files and memory go to the bytes themselves. Bytes that cannot be had are left to the reader proper, which tells what is
 * wrong; but without memory a format would be guessed, and its reader would blame the file. */
static rs_status probe(const rs_trace_input *in, unsigned records, const rs_format **out, rs_error *err)
{
    const uint8_t *text;
    size_t n = 0;
    rs_source *source = in->source;
    rs_error why = RS_ERROR_INIT;
    bool once = !in->bytes && !in->remote && strcmp(in->path, "-") == 0;
    rs_status status = once         ? RS_OK
                       : in->remote ? rs_source_open_remote(in->remote, in->path, 0, &source, &why)
                       : in->bytes  ? rs_source_open_bytes(in->bytes, in->n_bytes, in->path, 0, &source, &why)
                                    : rs_source_open(in->path, 0, &source, &why);
    bool opened = status == RS_OK && !once;
    if (status == RS_OK) status = rs_source_peek(source, PROBE, &text, &n, &why);
    *out = rs_format_of_text(status == RS_OK ? text : NULL, status == RS_OK ? n : 0);
    rs_status refused = status == RS_OK ? rs_format_refuses(*out, records, in->path, text, n, err) : RS_OK;
    if (opened) rs_source_close(source);
    return status == RS_ERR_NOMEM ? rs_fail_nomem(err, "input") : refused;
}

/* A database is read here and there, not from its beginning to its end. */
static rs_status load_database(const rs_trace_input *in, const rs_load_settings *settings, rs_events **out,
                               rs_error *err)
{
    bool packed = rs_source_packing(in->source) != RS_PACKING_PLAIN;
    if (packed || in->remote || (!in->bytes && strcmp(in->path, "-") == 0))
        return rs_sqlite_unpack(in->source, settings, out, err);
    return rs_sqlite_load(in->path, in->bytes, in->n_bytes, settings, out, err);
}

rs_status rs_trace_load(const rs_trace_input *in, const rs_load_settings *settings, rs_events **out,
                        rs_error *err)
{
    const rs_format *format;
    *out = NULL;
    for (const rs_format *const *row = rs_format_rows; *row; row++)
        if ((*row)->is_report && (*row)->is_report(in->path)) {
            RS_TRY(rs_format_refuses(*row, settings->records, in->path, NULL, 0, err));
            return (*row)->load_report(in, settings, out, err);
        }
    RS_TRY(probe(in, settings->records, &format, err));
    if (format->database_read) return load_database(in, settings, out, err);
    RS_TRY(format->load(in->source, settings, out, err));
    if (!(*out)->format) (*out)->format = format;
    return RS_OK;
}
