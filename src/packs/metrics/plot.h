/* Charts as PNG files: lines with bands over a common axis, and marked stretches of it. */
#pragma once

#include "rankscope/status.h"

typedef struct rs_plot_line {
    const char *name;         /* in the legend */
    const double *low, *high; /* the band, n points each; NULL: none. NaN: nothing there */
    const double *mid;        /* the line */
    uint32_t color;           /* 0xrrggbb */
    bool dashed;
} rs_plot_line;

/* A stretch of the x axis that is shaded over the whole height. */
typedef struct rs_plot_mark {
    double from, to;
    uint32_t color;
} rs_plot_mark;

typedef struct rs_plot_mark_kind {
    const char *name; /* in the legend */
    const rs_plot_mark *marks;
    size_t n;
    uint32_t color;
} rs_plot_mark_kind;

typedef struct rs_plot {
    const char *title, *subtitle, *x_label, *y_label;
    const double *x; /* n points, ascending */
    size_t n;
    double x_from, x_to, y_to; /* the axes; y starts at 0 */
    const rs_plot_line *lines;
    size_t n_lines;
    const rs_plot_mark_kind *kinds;
    size_t n_kinds;
    unsigned width, height; /* pixels */
} rs_plot;

/* Draws into the file at path: the same bytes on every machine with the same cairo. RS_ERR_USAGE when this
 * build cannot draw. */
rs_status rs_plot_png(const rs_plot *plot, const char *path, rs_error *err);
bool rs_plot_available(void);
