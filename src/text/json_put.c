#include "text/json_put.h"

#include <math.h>

void rs_json_put_init(rs_json_put *j, rs_writer *writer)
{
    *j = (rs_json_put){.writer = writer};
}

/* Whether an entry of a level begins a line, or, of the first, its closing bracket does. */
static bool breaks(rs_json_layout layout, bool is_first)
{
    return layout == RS_JSON_BREAKS ? !is_first : layout != RS_JSON_LINE;
}

static void put_line(rs_json_put *j, int depth, rs_json_layout layout)
{
    rs_writer_char(j->writer, '\n');
    if (layout != RS_JSON_ROWS) rs_writer_repeat(j->writer, ' ', 2 * (size_t)depth);
}

void rs_json_put_name(rs_json_put *j, const char *name)
{
    rs_json_layout layout = j->layout[j->depth];
    bool some = j->some[j->depth];
    if (some) rs_writer_char(j->writer, ',');
    if (breaks(layout, !some))
        put_line(j, j->depth, layout);
    else if (some)
        rs_writer_char(j->writer, ' ');
    j->some[j->depth] = true;
    if (!name) return;
    rs_writer_json_string(j->writer, name, strlen(name));
    rs_writer_text(j->writer, ": ");
}

void rs_json_put_open(rs_json_put *j, const char *name, char bracket, rs_json_layout layout)
{
    rs_json_put_name(j, name);
    rs_writer_char(j->writer, bracket);
    j->depth++;
    j->layout[j->depth] = (uint8_t)layout;
    j->some[j->depth] = false;
    j->end[j->depth] = bracket == '{' ? '}' : ']';
}

void rs_json_put_close(rs_json_put *j)
{
    int depth = j->depth--;
    rs_json_layout layout = j->layout[depth];
    if (j->some[depth] && breaks(layout, true)) put_line(j, depth - 1, layout);
    rs_writer_char(j->writer, j->end[depth]);
}

void rs_json_put_layout(rs_json_put *j, rs_json_layout layout)
{
    j->layout[j->depth] = (uint8_t)layout;
}

void rs_json_put_text(rs_json_put *j, const char *name, const char *text)
{
    if (text) {
        rs_json_put_string(j, name, text, strlen(text));
    } else {
        rs_json_put_name(j, name);
        rs_writer_text(j->writer, "null");
    }
}

void rs_json_put_string(rs_json_put *j, const char *name, const char *text, size_t length)
{
    rs_json_put_name(j, name);
    rs_writer_json_string(j->writer, text, length);
}

void rs_json_put_bool(rs_json_put *j, const char *name, bool value)
{
    rs_json_put_name(j, name);
    rs_writer_text(j->writer, value ? "true" : "false");
}

void rs_json_put_int(rs_json_put *j, const char *name, int64_t value)
{
    rs_json_put_name(j, name);
    rs_writer_int(j->writer, value);
}

void rs_json_put_uint(rs_json_put *j, const char *name, uint64_t value)
{
    rs_json_put_name(j, name);
    rs_writer_uint(j->writer, value);
}

void rs_json_put_known(rs_json_put *j, const char *name, int64_t value, bool is_known)
{
    if (is_known)
        rs_json_put_int(j, name, value);
    else
        rs_json_put_text(j, name, NULL);
}

void rs_json_put_time(rs_json_put *j, const char *name, int64_t ns, rs_unit unit)
{
    rs_json_put_name(j, name);
    rs_writer_time(j->writer, ns, unit);
}

void rs_json_put_real(rs_json_put *j, const char *name, double value)
{
    if (!isfinite(value)) {
        rs_json_put_text(j, name, NULL);
        return;
    }
    rs_json_put_name(j, name);
    rs_writer_real(j->writer, value);
}

void rs_json_put_ints(rs_json_put *j, const char *name, const int64_t *values, size_t n)
{
    rs_json_put_open(j, name, '[', RS_JSON_LINE);
    for (size_t i = 0; i < n; i++) rs_json_put_int(j, NULL, values[i]);
    rs_json_put_close(j);
}

void rs_json_put_texts(rs_json_put *j, const char *name, const char *const *texts, size_t n)
{
    rs_json_put_open(j, name, '[', RS_JSON_LINE);
    for (size_t i = 0; i < n; i++) rs_json_put_text(j, NULL, texts[i]);
    rs_json_put_close(j);
}

void rs_json_put_track(rs_json_put *j, const char *kind, int64_t pid, int64_t tid, const char *name)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "ph", "M");
    rs_json_put_text(j, "name", kind);
    rs_json_put_int(j, "pid", pid);
    if (tid >= 0) rs_json_put_int(j, "tid", tid);
    rs_json_put_open(j, "args", '{', RS_JSON_LINE);
    rs_json_put_text(j, "name", name);
    rs_json_put_close(j);
    rs_json_put_close(j);
}
