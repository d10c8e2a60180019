#include "output/plot.h"

#ifndef RS_HAVE_PLPLOT

bool rs_plot_available(void)
{
    return false;
}

rs_status rs_plot_png(const rs_plot *plot, const char *path, rs_error *err)
{
    (void)plot;
    return rs_fail_at(err, RS_ERR_USAGE, path, RS_NO_OFFSET,
                      "this build cannot draw: it was made without the plotting library PLplot "
                      "(libplplot-dev and plplot-driver-cairo)");
}

#else

#include <math.h>
#include <plplot.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

bool rs_plot_available(void)
{
    return true;
}

/* PLplot keeps its state in globals and leaves through an exit handler when it cannot go on: one drawing at a
 * time, and the handler jumps back here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf escape;
static char reason[160];

static int on_exit_wanted(const char *message)
{
    snprintf(reason, sizeof reason, "%s", message);
    longjmp(escape, 1);
}

static void on_abort(const char *message)
{
    snprintf(reason, sizeof reason, "%s", message);
}

enum { PAPER, INK, GRID, FADED, FIRST_FREE };

/* Sizes of text as PLplot scales them, and the size of a letter M in pixels at scale 1. */
#define BODY 0.56
#define HEADING 0.82
#define EM_PIXELS 28.2
#define LEFT 0.06
#define RIGHT 0.985
#define BOTTOM 0.095
#define TOP 0.83

static void set_color(PLINT index, uint32_t rgb, double alpha)
{
    plscol0a(index, (PLINT)(rgb >> 16 & 255), (PLINT)(rgb >> 8 & 255), (PLINT)(rgb & 255), alpha);
}

/* Text with PLplot's escape character doubled, so that it stands for itself. */
static void plain_text(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 3 < size; text++) {
        if (*text == '#') out[n++] = '#';
        out[n++] = *text;
    }
    out[n] = '\0';
}

static void side_text(const char *side, double away, double at, double just, const char *text)
{
    char plain[512];
    plain_text(text, plain, sizeof plain);
    plmtex(side, away, at, just, plain);
}

/* ---- the data ----------------------------------------------------------------------------------------- */

static double cut(double y, double limit)
{
    return y > limit ? limit : y < 0 ? 0 : y;
}

/* Bands and lines break where nothing is known. */
static void draw_band(const rs_plot *p, const rs_plot_line *l, double *xs, double *ys)
{
    for (size_t i = 0; i < p->n;) {
        size_t end = i, k = 0;
        while (end < p->n && !isnan(l->low[end]) && !isnan(l->high[end])) end++;
        for (size_t j = i; j < end; j++, k++) {
            xs[k] = p->x[j];
            ys[k] = cut(l->high[j], p->y_to);
        }
        for (size_t j = end; j-- > i; k++) {
            xs[k] = p->x[j];
            ys[k] = cut(l->low[j], p->y_to);
        }
        if (k > 2) plfill((PLINT)k, xs, ys);
        i = end > i ? end : i + 1;
    }
}

static void draw_line(const rs_plot *p, const rs_plot_line *l, double *xs, double *ys)
{
    for (size_t i = 0; i < p->n;) {
        size_t k = 0;
        for (; i < p->n && !isnan(l->mid[i]); i++, k++) {
            xs[k] = p->x[i];
            ys[k] = cut(l->mid[i], p->y_to);
        }
        if (k > 1) plline((PLINT)k, xs, ys);
        if (k == 1) plpoin(1, xs, ys, 17);
        i += k == 0;
    }
}

static void draw_marks(const rs_plot *p)
{
    double least = (p->x_to - p->x_from) / p->width * 2; /* thinner ones could not be seen */
    for (size_t kind = 0; kind < p->n_kinds; kind++) {
        set_color(FIRST_FREE, p->kinds[kind].color, 0.30);
        plcol0(FIRST_FREE);
        for (size_t i = 0; i < p->kinds[kind].n; i++) {
            double from = p->kinds[kind].marks[i].from, to = p->kinds[kind].marks[i].to;
            if (to - from < least) {
                double middle = (from + to) / 2;
                from = middle - least / 2;
                to = middle + least / 2;
            }
            double xs[] = {fmax(from, p->x_from), fmin(to, p->x_to), fmin(to, p->x_to),
                           fmax(from, p->x_from)};
            double ys[] = {0, 0, p->y_to, p->y_to};
            if (xs[1] > xs[0]) plfill(4, xs, ys);
        }
    }
}

/* ---- the frame ---------------------------------------------------------------------------------------- */

/* About how wide a text is, in shares of the picture: PLplot measures only where it draws. */
static double text_width(const rs_plot *p, const char *text)
{
    double ems = 0;
    for (; *text; text++)
        ems += strchr("iljftr.,:()|! ", *text) ? 0.37
               : strchr("mwMW%@", *text)       ? 0.93
               : (unsigned char)*text >= 0x80  ? 0.35 /* a part of a letter */
               : *text >= 'A' && *text <= 'Z'  ? 0.70
                                               : 0.61;
    return ems * EM_PIXELS * BODY / p->width;
}

static void draw_sample(const rs_plot_line *line, uint32_t rgb, double x, double x_2, double y)
{
    if (!line || line->low) {
        double xs[] = {x, x_2, x_2, x}, ys[] = {y - 0.010, y - 0.010, y + 0.010, y + 0.010};
        set_color(FIRST_FREE, rgb, line ? 0.25 : 0.35);
        plcol0(FIRST_FREE);
        plfill(4, xs, ys);
    }
    if (!line) return;
    set_color(FIRST_FREE, rgb, 1);
    plcol0(FIRST_FREE);
    plwidth(2.2);
    pllsty(line->dashed ? 2 : 1);
    pljoin(x, y, x_2, y);
    pllsty(1);
}

/* One row above the frame: a stroke or a patch, then the name. */
static void draw_legend(const rs_plot *p)
{
    double x = LEFT, y = TOP + 0.035;
    plvpor(0, 1, 0, 1);
    plwind(0, 1, 0, 1);
    plschr(0, BODY);
    for (size_t i = 0; i < p->n_lines + p->n_kinds; i++) {
        const rs_plot_line *line = i < p->n_lines ? &p->lines[i] : NULL;
        const rs_plot_mark_kind *kind = line ? NULL : &p->kinds[i - p->n_lines];
        if (kind && !kind->n) continue;
        const char *name = line ? line->name : kind->name;
        char plain[256];
        plain_text(name, plain, sizeof plain);
        draw_sample(line, line ? line->color : kind->color, x, x + 0.022, y);
        plcol0(INK);
        plwidth(1);
        plptex(x + 0.028, y, 1, 0, 0, plain);
        x += 0.028 + text_width(p, name) + 0.022;
    }
}

/* A round distance of about an eighth of the axis. */
static double round_step(double span)
{
    double power = pow(10, floor(log10(span / 8)));
    double share = span / 8 / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void draw_frame(const rs_plot *p)
{
    plvpor(LEFT, RIGHT, BOTTOM, TOP);
    plwind(p->x_from, p->x_to, 0, p->y_to);
    plsxax(9, 0);
    plsyax(6, 0);
    plschr(0, BODY);
    plcol0(GRID);
    plwidth(0.7);
    plbox("g", round_step(p->x_to - p->x_from), 0, "g", 0, 0);
    draw_marks(p);
}

static void draw_axes(const rs_plot *p)
{
    plcol0(INK);
    plwidth(1);
    plschr(0, BODY);
    plsmaj(0, 0.6);
    plsmin(0, 0.5);
    plbox("bcnst", round_step(p->x_to - p->x_from), 0, "bcnstv", 0, 0);
    side_text("b", 3.4, 0.5, 0.5, p->x_label);
    side_text("l", 4.6, 0.5, 0.5, p->y_label);
    plcol0(FADED);
    side_text("t", 4.2, 0, 0, p->subtitle);
    plcol0(INK);
    plschr(0, HEADING);
    side_text("t", 4.6, 0, 0, p->title);
}

static void draw(const rs_plot *p, double *xs, double *ys)
{
    pladv(0);
    draw_frame(p);
    for (size_t i = 0; i < p->n_lines; i++) {
        if (!p->lines[i].low) continue;
        set_color(FIRST_FREE, p->lines[i].color, 0.22);
        plcol0(FIRST_FREE);
        draw_band(p, &p->lines[i], xs, ys);
    }
    for (size_t i = 0; i < p->n_lines; i++) {
        set_color(FIRST_FREE, p->lines[i].color, 1);
        plcol0(FIRST_FREE);
        plwidth(1.7);
        pllsty(p->lines[i].dashed ? 2 : 1);
        draw_line(p, &p->lines[i], xs, ys);
        pllsty(1);
    }
    draw_axes(p);
    draw_legend(p);
}

static void start(const rs_plot *p, const char *path)
{
    plsexit(on_exit_wanted);
    plsabort(on_abort);
    plsdev("pngcairo");
    plsfnam(path);
    plspage(96, 96, (PLINT)p->width, (PLINT)p->height, 0, 0);
    set_color(PAPER, 0xffffff, 1);
    plinit();
    plsfont(PL_FCI_SANS, PL_FCI_UPRIGHT, PL_FCI_MEDIUM);
    plscolbg(255, 255, 255);
    set_color(INK, 0x222222, 1);
    set_color(GRID, 0xdddddd, 1);
    set_color(FADED, 0x666666, 1);
}

rs_status rs_plot_png(const rs_plot *p, const char *path, rs_error *err)
{
    double *xs = rs_malloc((2 * p->n + 2) * sizeof *xs), *ys = rs_malloc((2 * p->n + 2) * sizeof *ys);
    if (!xs || !ys) {
        rs_free(xs);
        rs_free(ys);
        return rs_fail_nomem(err, "a picture");
    }
    pthread_mutex_lock(&lock);
    reason[0] = '\0';
    /* what changed after setjmp is not looked at after a jump */
    volatile bool ok = false;
    if (setjmp(escape) == 0) {
        start(p, path);
        draw(p, xs, ys);
        plend();
        ok = reason[0] == '\0';
    }
    struct stat info;
    ok = ok && stat(path, &info) == 0 && info.st_size > 0;
    rs_status status = ok ? RS_OK
                          : rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "the picture cannot be drawn: %s",
                                       reason[0] ? reason : "no file came out");
    pthread_mutex_unlock(&lock);
    rs_free(xs);
    rs_free(ys);
    return status;
}

#endif
