/* `tree` as an indented tree, numbers before names so that they stand in columns however deep it goes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "output/face_tools.h"
#include "text/numbers.h"
#include "text/utf8.h"

#define NUMBERS "%7s %9s %9s %7s %7s  "
#define NUMBERS_WIDTH 45

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

#define WIDEST_NAME 120
#define LEAST_NAME 20
#define DEPTH_WIDTH 12 /* of "(depth 1234) " and the like */

/* Levels with guide lines. Below `most` of them a row shows its depth and the guides of the last few levels only: a tree of
 * n levels would else be n * n long, and wider than the terminal. */
typedef struct guides {
    size_t step, most, last; /* step: the columns of a level */
} guides;

static guides plan_guides(const rs_page *layout, size_t deepest)
{
    if (layout->width == 0) return (guides){3, 60, 20};
    size_t room = layout->width > NUMBERS_WIDTH + LEAST_NAME ? layout->width - NUMBERS_WIDTH - LEAST_NAME : 0;
    size_t step = 3;
    while (step > 1 && deepest * step > room) step--;
    return (guides){step, room / step, room > DEPTH_WIDTH ? (room - DEPTH_WIDTH) / step : 0};
}

/* The guide lines of the levels above the row; lines[d]: level d goes on. Returns how many columns they take. */
static size_t put_guides(rs_page *layout, const guides *g, const char *lines, size_t depth, bool is_last)
{
    static const char *const ascii[] = {"|  ", "`- ", "|- "};
    static const char *const blocks[] = {"\xe2\x94\x82  ", "\xe2\x94\x94\xe2\x94\x80 ",
                                         "\xe2\x94\x9c\xe2\x94\x80 "};
    const char *const *signs = layout->utf8 ? blocks : ascii;
    size_t first = depth > g->most ? depth - g->last : 1, used = 0;
    if (depth > g->most) {
        char text[48];
        used = (size_t)snprintf(text, sizeof text, "(depth %zu) ", depth);
        rs_writer_text(layout->writer, text);
    }
    for (size_t d = first; d <= depth; d++) {
        const char *sign = d < depth ? (lines[d] ? signs[0] : "   ") : signs[is_last ? 1 : 2];
        size_t bytes = 0, shown = 0;
        for (; shown < g->step; shown++)
            bytes += rs_utf8_next(sign + bytes, strlen(sign + bytes), &(uint32_t){0});
        rs_writer_bytes(layout->writer, sign, bytes);
        used += g->step;
    }
    return used;
}

static void put_row(rs_page *layout, const guides *g, const rs_table *t, size_t row, char *lines,
                    bool is_last)
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
    size_t used = strlen(text) + put_guides(layout, g, lines, depth, is_last), room = WIDEST_NAME;
    lines[depth] = (char)!is_last;
    const char *whole = rs_table_text(t, row, rs_face_column(t, "name"), &length);
    if (layout->width && layout->width < used + room)
        room = layout->width > used + LEAST_NAME ? layout->width - used : LEAST_NAME;
    rs_text_shorten(whole, length, room, layout->utf8 ? "\xE2\x80\xA6" : "..", name, sizeof name);
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
    const guides g = plan_guides(layout, deepest);
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
        put_row(layout, &g, t, i, lines, last[i]);
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
        RS_WRITE(layout->writer, " ", rs_table_int(t, i, time), "\n");
    }
    return RS_OK;
}
