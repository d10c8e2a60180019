#include "metrics/plot.h"

#ifndef RS_HAVE_CAIRO

bool rs_plot_available(void)
{
    return false;
}

rs_status rs_plot_png(const rs_plot *plot, const char *path, rs_error *err)
{
    (void)plot;
    return rs_fail_at(err, RS_ERR_USAGE, path, RS_NO_OFFSET,
                      "this build cannot draw: it was made without cairo, FreeType or the font DejaVu Sans "
                      "(libcairo2-dev, libfreetype-dev, fonts-dejavu-core)");
}

#else

#include <cairo.h>
#include <errno.h>
#include <ft2build.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

#include "base/system.h"
#include "base/try.h"
#include "late_cairo.h"
#include "late_freetype.h"
#include "text/numbers.h"
#include "text/utf8.h"

bool rs_plot_available(void)
{
    return true;
}

/* The font travels with the library: a picture is the same on every machine, and servers often have none. */
RS_SYSTEM_FILE(rs_plot_font, RS_PLOT_FONT);

#define INK 0x222222
#define FADED 0x666666
#define GRID 0xdddddd
/* Sizes of text and places of the frame's edges, in pixels. */
#define BODY 14.0
#define HEADING 21.0
#define LEFT 84.0
#define RIGHT 22.0
#define TOP 118.0
#define BOTTOM 66.0
#define TICK 6.0

/* What is drawn, and how the axes lie on the picture. */
typedef struct canvas {
    const rs_plot *plot;
    cairo_t *to;
    FT_Face face;
    double font_size;
    double left, right, top, bottom;
} canvas;

static double x_at(const canvas *c, double x)
{
    const rs_plot *p = c->plot;
    return c->left + (x - p->x_from) / (p->x_to - p->x_from) * (c->right - c->left);
}

/* Values beyond the axis end at its ends. */
static double y_at(const canvas *c, double y)
{
    double share = y / c->plot->y_to;
    return c->bottom - (share < 0 ? 0 : share > 1 ? 1 : share) * (c->bottom - c->top);
}

static void set_color(const canvas *c, uint32_t rgb, double alpha)
{
    cairo_set_source_rgba(c->to, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0,
                          alpha);
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Letters are filled outlines of the font: nothing of the machine's fonts or of its taste for hinting enters
 * the picture, and nothing is kept between two pictures, as cairo's own cache of fonts would. */

/* Where an outline is drawn: y of a font goes up. */
typedef struct pen {
    cairo_t *to;
    double x, y, scale, at_x, at_y; /* at: the current point */
} pen;

static void pen_to(pen *p, const FT_Vector *v)
{
    p->at_x = p->x + (double)v->x * p->scale;
    p->at_y = p->y - (double)v->y * p->scale;
}

static int move_to(const FT_Vector *v, void *context)
{
    pen *p = context;
    pen_to(p, v);
    cairo_move_to(p->to, p->at_x, p->at_y);
    return 0;
}

static int line_to(const FT_Vector *v, void *context)
{
    pen *p = context;
    pen_to(p, v);
    cairo_line_to(p->to, p->at_x, p->at_y);
    return 0;
}

/* A curve of one control point is one of two, each a third of the way from it. */
static int conic_to(const FT_Vector *control, const FT_Vector *v, void *context)
{
    pen *p = context, c = *p;
    double x = p->at_x, y = p->at_y;
    pen_to(&c, control);
    pen_to(p, v);
    cairo_curve_to(p->to, x + (c.at_x - x) * 2 / 3, y + (c.at_y - y) * 2 / 3,
                   p->at_x + (c.at_x - p->at_x) * 2 / 3, p->at_y + (c.at_y - p->at_y) * 2 / 3, p->at_x,
                   p->at_y);
    return 0;
}

static int cubic_to(const FT_Vector *one, const FT_Vector *two, const FT_Vector *v, void *context)
{
    pen *p = context, a = *p, b = *p;
    pen_to(&a, one);
    pen_to(&b, two);
    pen_to(p, v);
    cairo_curve_to(p->to, a.at_x, a.at_y, b.at_x, b.at_y, p->at_x, p->at_y);
    return 0;
}

/* Walks over a text's letters, which it outlines at (x, y) where asked; returns the text's width. */
static double walk_text(const canvas *c, const char *text, bool outlined, double x, double y)
{
    static const FT_Outline_Funcs funcs = {move_to, line_to, conic_to, cubic_to, 0, 0};
    double scale = c->font_size / c->face->units_per_EM, width = 0;
    for (size_t i = 0, n = strlen(text); i < n;) {
        uint32_t code = 0xFFFD;
        size_t bytes = rs_utf8_next(text + i, n - i, &code);
        i += bytes ? bytes : 1;
        if (FT_Load_Char(c->face, code, FT_LOAD_NO_SCALE | FT_LOAD_NO_HINTING) != 0) continue;
        pen p = {.to = c->to, .x = x + width, .y = y, .scale = scale};
        if (outlined) FT_Outline_Decompose(&c->face->glyph->outline, &funcs, &p);
        width += (double)c->face->glyph->advance.x * scale;
    }
    return width;
}

static double text_width(const canvas *c, const char *text)
{
    return walk_text(c, text, false, 0, 0);
}

/* The text's baseline begins at (x, y); `just` moves it left by that share of its width. */
static void put_text(const canvas *c, double x, double y, double just, const char *text)
{
    cairo_new_path(c->to);
    walk_text(c, text, true, x - just * text_width(c, text), y);
    cairo_fill(c->to);
}

/* ---- the data ------------------------------------------------------------------------------------------ */

/* Bands and lines break where nothing is known. */
static void draw_band(const canvas *c, const rs_plot_line *l)
{
    const rs_plot *p = c->plot;
    for (size_t i = 0; i < p->n;) {
        size_t end = i;
        while (end < p->n && !isnan(l->low[end]) && !isnan(l->high[end])) end++;
        if (end > i + 1) {
            for (size_t j = i; j < end; j++) cairo_line_to(c->to, x_at(c, p->x[j]), y_at(c, l->high[j]));
            for (size_t j = end; j-- > i;) cairo_line_to(c->to, x_at(c, p->x[j]), y_at(c, l->low[j]));
            cairo_close_path(c->to);
            cairo_fill(c->to);
        }
        i = end > i ? end : i + 1;
    }
}

static void draw_line(const canvas *c, const rs_plot_line *l)
{
    const rs_plot *p = c->plot;
    static const double dashes[] = {7, 5};
    cairo_set_dash(c->to, dashes, l->dashed ? 2 : 0, 0);
    for (size_t i = 0; i < p->n;) {
        size_t begin = i;
        for (; i < p->n && !isnan(l->mid[i]); i++) cairo_line_to(c->to, x_at(c, p->x[i]), y_at(c, l->mid[i]));
        if (i > begin + 1) cairo_stroke(c->to);
        if (i == begin + 1) {
            cairo_new_path(c->to);
            cairo_arc(c->to, x_at(c, p->x[begin]), y_at(c, l->mid[begin]), 2.5, 0, 2 * 3.14159265358979);
            cairo_fill(c->to);
        }
        i += i == begin;
    }
    cairo_set_dash(c->to, NULL, 0, 0);
}

static void draw_marks(const canvas *c)
{
    const rs_plot *p = c->plot;
    const double least = 2; /* thinner ones could not be seen */
    for (size_t kind = 0; kind < p->n_kinds; kind++) {
        set_color(c, p->kinds[kind].color, 0.30);
        for (size_t i = 0; i < p->kinds[kind].n; i++) {
            double from = x_at(c, p->kinds[kind].marks[i].from), to = x_at(c, p->kinds[kind].marks[i].to);
            if (to - from < least) {
                double middle = (from + to) / 2;
                from = middle - least / 2;
                to = middle + least / 2;
            }
            from = fmax(from, c->left);
            to = fmin(to, c->right);
            if (to <= from) continue;
            cairo_rectangle(c->to, from, c->top, to - from, c->bottom - c->top);
            cairo_fill(c->to);
        }
    }
}

/* ---- the frame ----------------------------------------------------------------------------------------- */

/* A round distance of about an eighth of the axis; *decimals is what its multiples need. */
static double round_step(double span, unsigned *decimals)
{
    double exponent = floor(log10(span / 8)), power = pow(10, exponent), share = span / 8 / power;
    double step = share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10;
    if (step >= 10) exponent++;
    *decimals = exponent < 0 ? (unsigned)-exponent : 0;
    return power * step;
}

/* A line one pixel wide is between two pixels unless it is moved by a half. */
static double crisp(double at)
{
    return floor(at) + 0.5;
}

static void rule(const canvas *c, double x, double y, double x_2, double y_2)
{
    cairo_move_to(c->to, x, y);
    cairo_line_to(c->to, x_2, y_2);
    cairo_stroke(c->to);
}

/* Calls that draw at each round value of an axis. */
static void draw_ticks(const canvas *c, bool grid)
{
    const rs_plot *p = c->plot;
    unsigned decimals;
    char label[48];
    double step = round_step(p->x_to - p->x_from, &decimals);
    if (step < 1) step = 1, decimals = 0; /* there is no half of a step */
    double first = ceil(p->x_from / step);
    for (unsigned i = 0; (first + i) * step <= p->x_to; i++) {
        double k = first + i, x = crisp(x_at(c, k * step));
        if (grid) {
            rule(c, x, c->top, x, c->bottom);
            continue;
        }
        rule(c, x, c->bottom, x, c->bottom - TICK);
        rs_format_grouped(k * step, decimals, label);
        put_text(c, x, c->bottom + 20, 0.5, label);
    }
    step = round_step(p->y_to, &decimals);
    for (unsigned k = 0; k * step <= p->y_to; k++) {
        double y = crisp(y_at(c, k * step));
        if (grid) {
            rule(c, c->left, y, c->right, y);
            continue;
        }
        rule(c, c->left, y, c->left + TICK, y);
        rs_format_grouped(k * step, decimals, label);
        put_text(c, c->left - 9, y + 4.5, 1, label);
    }
}

static void draw_axes(const canvas *c)
{
    const rs_plot *p = c->plot;
    cairo_set_line_width(c->to, 1);
    set_color(c, INK, 1);
    cairo_rectangle(c->to, crisp(c->left), crisp(c->top), floor(c->right) - floor(c->left),
                    floor(c->bottom) - floor(c->top));
    cairo_stroke(c->to);
    draw_ticks(c, false);
    put_text(c, (c->left + c->right) / 2, c->bottom + 45, 0.5, p->x_label);
    cairo_save(c->to);
    cairo_translate(c->to, 34, (c->top + c->bottom) / 2);
    cairo_rotate(c->to, -3.14159265358979 / 2);
    put_text(c, 0, 0, 0.5, p->y_label);
    cairo_restore(c->to);
    set_color(c, FADED, 1);
    put_text(c, c->left, 62, 0, p->subtitle);
    set_color(c, INK, 1);
    canvas heading = *c;
    heading.font_size = HEADING;
    put_text(&heading, c->left, 36, 0, p->title);
}

/* A stroke in its band, or a patch. */
static void draw_sample(const canvas *c, const rs_plot_line *line, uint32_t rgb, double x, double y)
{
    static const double dashes[] = {7, 4};
    if (!line || line->low) {
        set_color(c, rgb, line ? 0.25 : 0.35);
        cairo_rectangle(c->to, x, y - 7, 28, 14);
        cairo_fill(c->to);
    }
    if (!line) return;
    set_color(c, rgb, 1);
    cairo_set_line_width(c->to, 2.4);
    cairo_set_dash(c->to, dashes, line->dashed ? 2 : 0, 0);
    rule(c, x, y, x + 28, y);
    cairo_set_dash(c->to, NULL, 0, 0);
}

/* One row above the frame. */
static void draw_legend(const canvas *c)
{
    const rs_plot *p = c->plot;
    double x = c->left, y = c->top - 22;
    for (size_t i = 0; i < p->n_lines + p->n_kinds; i++) {
        const rs_plot_line *line = i < p->n_lines ? &p->lines[i] : NULL;
        const rs_plot_mark_kind *kind = line ? NULL : &p->kinds[i - p->n_lines];
        if (kind && !kind->n) continue;
        const char *name = line ? line->name : kind->name;
        draw_sample(c, line, line ? line->color : kind->color, x, y);
        set_color(c, INK, 1);
        put_text(c, x + 36, y + 4.5, 0, name);
        x += 36 + text_width(c, name) + 26;
    }
}

static void draw(const canvas *c)
{
    const rs_plot *p = c->plot;
    set_color(c, 0xffffff, 1);
    cairo_paint(c->to);
    cairo_set_line_width(c->to, 1);
    set_color(c, GRID, 1);
    draw_ticks(c, true);
    draw_marks(c);
    cairo_set_line_join(c->to, CAIRO_LINE_JOIN_ROUND);
    for (size_t i = 0; i < p->n_lines; i++) {
        if (!p->lines[i].low) continue;
        set_color(c, p->lines[i].color, 0.22);
        draw_band(c, &p->lines[i]);
    }
    cairo_set_line_width(c->to, 1.8);
    for (size_t i = 0; i < p->n_lines; i++) {
        set_color(c, p->lines[i].color, 1);
        draw_line(c, &p->lines[i]);
    }
    draw_axes(c);
    draw_legend(c);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static cairo_status_t write_bytes(void *file, const unsigned char *bytes, unsigned n)
{
    return fwrite(bytes, 1, n, file) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static rs_status write_file(cairo_surface_t *surface, const char *path, rs_error *err)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "the picture cannot be written: %s",
                          strerror(errno));
    cairo_status_t status = cairo_surface_write_to_png_stream(surface, write_bytes, file);
    if (fclose(file) != 0 && status == CAIRO_STATUS_SUCCESS) status = CAIRO_STATUS_WRITE_ERROR;
    if (status == CAIRO_STATUS_SUCCESS) return RS_OK;
    if (status == CAIRO_STATUS_NO_MEMORY) return rs_fail_nomem(err, "a picture");
    return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "the picture cannot be written: %s",
                      cairo_status_to_string(status));
}

static rs_status draw_with(const rs_plot *p, FT_Face face, const char *path, rs_error *err)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)p->width, (int)p->height);
    cairo_t *to = cairo_create(surface);
    canvas c = {.plot = p,
                .to = to,
                .face = face,
                .font_size = BODY,
                .left = LEFT,
                .right = p->width - RIGHT,
                .top = TOP,
                .bottom = p->height - BOTTOM};
    draw(&c);
    cairo_status_t drawn = cairo_status(to);
    cairo_destroy(to);
    rs_status status = drawn == CAIRO_STATUS_SUCCESS ? write_file(surface, path, err)
                       : drawn == CAIRO_STATUS_NO_MEMORY
                           ? rs_fail_nomem(err, "a picture")
                           : rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "the picture cannot be drawn: %s",
                                        cairo_status_to_string(drawn));
    cairo_surface_finish(surface);
    cairo_surface_destroy(surface);
    return status;
}

rs_status rs_plot_png(const rs_plot *p, const char *path, rs_error *err)
{
    FT_Library library;
    FT_Face face;
    RS_TRY(rs_late_freetype(err));
    RS_TRY(rs_late_cairo(err));
    if (FT_Init_FreeType(&library) != 0) return rs_fail_nomem(err, "a picture's font");
    size_t n = (size_t)(rs_plot_font_end - rs_plot_font);
    rs_status status = FT_New_Memory_Face(library, rs_plot_font, (FT_Long)n, 0, &face) == 0
                           ? draw_with(p, face, path, err)
                           : rs_fail_nomem(err, "a picture's font");
    FT_Done_FreeType(library); /* and the face */
    return status;
}

#endif
