/* `tree` as an indented tree, numbers before names so that they stand in columns however deep it goes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "output/face_tools.h"
#include "text/numbers.h"

#define NUMBERS "%8s %11s %11s %9s %9s  "

static void put_time(const rs_table *t, size_t row, const char *column, char out[32])
{
    size_t c = rs_face_column(t, column);
    if (rs_table_is_null(t, row, c))
        snprintf(out, 32, "-");
    else
        rs_human_time(rs_table_int(t, row, c), out);
}

/* last[row]: no later row has the same parent. `seen`: by depth, as many as the deepest row needs; left as it comes. */
static void mark_last(const rs_table *t, size_t n, char *seen, char *last)
{
    size_t depths = 0;
    for (size_t i = n; i-- > 0;) {
        size_t depth = (size_t)rs_face_int(t, i, "depth", 0);
        while (depths <= depth) seen[depths++] = 0;
        last[i] = !seen[depth];
        seen[depth] = 1;
        depths = depth + 1; /* what is deeper belongs to another parent */
    }
}

/* Levels with guide lines. Below them a row shows its depth and the guides of the last few levels only: a tree of
 * n levels would else be n * n long. */
#define MOST_GUIDES 60
#define LAST_GUIDES 20

/* The guide lines of the levels above the row; lines[d] tells whether level d goes on. */
static void put_guides(rs_page *layout, const char *lines, size_t depth, bool is_last)
{
    size_t first = depth > MOST_GUIDES ? depth - LAST_GUIDES : 1;
    if (first > 1) {
        char text[48];
        snprintf(text, sizeof text, "(depth %zu) ", depth);
        rs_writer_text(layout->writer, text);
    }
    for (size_t d = first; d < depth; d++)
        rs_writer_text(layout->writer, !lines[d] ? "   " : layout->utf8 ? "\xe2\x94\x82  " : "|  ");
    if (depth == 0) return;
    if (layout->utf8)
        rs_writer_text(layout->writer, is_last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
    else
        rs_writer_text(layout->writer, is_last ? "`- " : "|- ");
}

static void put_row(rs_page *layout, const rs_table *t, size_t row, char *lines, bool is_last)
{
    char text[224], gpu[32], host[32], share[32], name[512];
    double percent = rs_face_number(t, row, "share_pct");
    size_t depth = (size_t)rs_face_int(t, row, "depth", 0), length;
    put_time(t, row, "gpu_us", gpu);
    put_time(t, row, "host_us", host);
    if (isnan(percent))
        snprintf(share, sizeof share, "-");
    else
        snprintf(share, sizeof share, "%s %%", RS_FIXED(percent, 1));
    char count[32], kernels[32];
    rs_human_count(rs_face_int(t, row, "count", 0), count);
    rs_human_count(rs_face_int(t, row, "kernels", 0), kernels);
    snprintf(text, sizeof text, NUMBERS, share, gpu, host, count, kernels);
    rs_writer_text(layout->writer, text);
    put_guides(layout, lines, depth, is_last);
    lines[depth] = (char)!is_last;
    const char *whole = rs_table_text(t, row, rs_face_column(t, "name"), &length);
    size_t used = 54 + 3 * (depth > MOST_GUIDES ? LAST_GUIDES + 6 : depth),
           room = layout->width > used + 24 ? layout->width - used : 24;
    if (layout->width == 0 || room > 120) room = 120;
    rs_shorten_middle(whole, length, room, name, sizeof name);
    rs_page_text(layout, name, strlen(name));
    rs_writer_char(layout->writer, '\n');
}

static rs_status put_tree(rs_page *layout, const rs_table *t, rs_error *err)
{
    size_t n = rs_table_n_rows(t), deepest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t depth = (size_t)rs_face_int(t, i, "depth", 0);
        if (depth > deepest) deepest = depth;
    }
    RS_LOCAL char *last = rs_calloc(n + 1, 1), *lines = rs_calloc(deepest + 2, 1);
    if (!last || !lines) return rs_fail_nomem(err, "tree");
    mark_last(t, n, lines, last);
    memset(lines, 0, deepest + 2);
    int64_t rank = -1;
    char text[160];
    for (size_t i = 0; i < n && !layout->writer->failed; i++) {
        int64_t here = rs_face_int(t, i, "rank", 0);
        if (here != rank) {
            snprintf(text, sizeof text, "Rank %lld", (long long)here);
            rs_page_heading(layout, text, i == 0);
            snprintf(text, sizeof text, NUMBERS "name\n", "share", "GPU time", "host time", "count",
                     "kernels");
            rs_writer_text(layout->writer, text);
        }
        rank = here;
        put_row(layout, t, i, lines, last[i]);
    }
    return RS_OK;
}

rs_status rs_face_tree(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *t = result->tables[result->main_table];
    return result->main_table == 0 ? put_tree(layout, t, err) : rs_page_table(layout, t, err);
}

rs_status rs_face_stacks(const rs_result *result, rs_page *layout, rs_error *err)
{
    (void)err;
    const rs_table *t = result->tables[result->main_table];
    size_t stack = rs_face_column(t, "stack"), time = rs_face_column(t, "time_ns"), length;
    for (size_t i = 0; i < rs_table_n_rows(t) && !layout->writer->failed; i++) {
        const char *text = rs_table_text(t, i, stack, &length);
        rs_writer_bytes(layout->writer, text, length);
        rs_writer_char(layout->writer, ' ');
        rs_writer_int(layout->writer, rs_table_int(t, i, time));
        rs_writer_char(layout->writer, '\n');
    }
    return RS_OK;
}
