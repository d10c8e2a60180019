/* The table for a terminal: columns fitted to its width, numbers right, names shortened in the middle.
 *
 * What to show and how wide is decided here. libsmartcols lays out a table of some screens; the rows of a longer one, and of
 * later pages, are padded here, one by one: that takes no memory and a fifth of the time. */
#define _GNU_SOURCE
#include <libsmartcols.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/try.h"
#include "output/display.h"
#include "output/form.h"
#include "output/layout.h"
#include "output/briefs.h"
#include "text/locale.h"
#include "text/utf8.h"

#define GAP 2
/* The most that goes to libsmartcols. */
#define SHORT_ROWS 1024
#define SHORT_WIDTH (1 << 20) /* of all cells */
#define CELLS_A_CHECK 4096
#define WIDTH_A_CHECK (1 << 18)
#define HEADING_LINES 4
/* The names of the rows and other texts are cut to these before columns are left out, and then to the last. */
#define COMFORTABLE_NAME 24
#define COMFORTABLE_TEXT 12
#define NARROWEST_TEXT 8
/* Without a terminal's width nothing is shortened; a column that would be this many times its text, and this
 * much more, is made narrower, and a cell that does not fit gets its row a layout of its own. */
#define PADDING_RATIO 4
#define PADDING_SLACK 65536
/* No cell widens the rows of all others by more than this. */
#define WIDEST_TEXT 512

typedef struct text_column {
    size_t at;             /* in the table */
    bool known, only_zero; /* some cell has a value; it is 0 in all of these */
    rs_briefs names;       /* when they are cut */
    rs_display display;
    size_t width;                               /* of cells and heading, as shown */
    size_t cell_width;                          /* of the widest cell */
    size_t cells_width;                         /* of all cells together */
    char lines[HEADING_LINES][RS_HEADING_SIZE]; /* the heading, wrapped */
    size_t n_lines;
} text_column;

typedef struct text_table {
    const rs_table *table;
    const rs_render_settings *settings;
    size_t n_cells, width_seen; /* since it was last asked whether to go on */
    size_t n_columns;           /* that are shown */
    text_column *columns;
    rs_text left_out; /* the names of columns that found no room */
    char *clean;      /* scratch for one cell, grown as needed */
    size_t clean_size;
    char *brief;
    size_t brief_size;
    bool overflows; /* some cells may be wider than their column */
    bool begun;     /* a page was written */
    bool more;      /* there may be pages after this one */
} text_table;

static bool ensure(char **buffer, size_t *size, size_t need)
{
    return need <= *size || rs_grow((void **)buffer, size, need, 1);
}

/* The cell as the terminal may show it, in t->clean; NULL when out of memory. */
static const char *clean_cell(text_table *t, size_t row, size_t at, size_t *length)
{
    size_t n;
    const char *text = rs_table_text(t->table, row, at, &n);
    if (!text) {
        *length = 1;
        return "-";
    }
    if (n > SIZE_MAX / 8 || !ensure(&t->clean, &t->clean_size, 3 * n + 1)) return NULL;
    *length = rs_text_clean(text, n, t->settings->utf8, t->clean);
    return t->clean;
}

/* How wide the terminal shows the cell of a shown column. */
static rs_status measure_cell(text_table *t, size_t row, const text_column *c, size_t *width, rs_error *err)
{
    const rs_display *display = &c->display;
    char number[RS_CELL_SIZE];
    if (++t->n_cells > CELLS_A_CHECK || t->width_seen > WIDTH_A_CHECK) {
        t->n_cells = t->width_seen = 0;
        RS_TRY(rs_pages_check(t->settings, 0, err));
    }
    if (!display->is_text) {
        *width = rs_display_cell(t->table, row, c->at, display, number);
        return RS_OK;
    }
    size_t length;
    const char *text = clean_cell(t, row, c->at, &length);
    if (!text) return rs_fail_nomem(err, "a cell");
    *width = rs_text_width(text, length);
    t->width_seen += *width;
    return RS_OK;
}

static rs_status measure_cells(text_table *t, text_column *c, rs_error *err)
{
    c->only_zero = !c->display.is_text;
    size_t n_rows = rs_table_n_rows(t->table);
    for (size_t row = 0; row < n_rows; row++) {
        size_t width;
        RS_TRY(measure_cell(t, row, c, &width, err));
        if (!rs_table_is_null(t->table, row, c->at)) {
            c->known = true;
            c->only_zero &= !c->display.is_text && rs_table_real(t->table, row, c->at) == 0;
        }
        if (width > c->cell_width) c->cell_width = width;
        c->cells_width += width;
    }
    return RS_OK;
}

/* Breaks the heading after spaces and underscores into lines of at most `width` columns where it can. The
 * last line takes what is left over. Returns the widest line. */
static size_t wrap_heading(text_column *c, size_t width)
{
    const char *text = c->display.heading;
    size_t n = strlen(text), start = 0, widest = 0;
    c->n_lines = 0;
    while (start < n && c->n_lines < HEADING_LINES) {
        size_t end, fit = n;
        bool last = c->n_lines + 1 == HEADING_LINES;
        for (end = start; !last && end < n; end++) {
            bool breaks = text[end] == ' ' || text[end] == '_';
            if (!breaks) continue;
            size_t shown = end + (text[end] == '_');
            if (rs_text_width(text + start, shown - start) > width && fit < n) break;
            fit = end + 1;
            if (rs_text_width(text + start, shown - start) > width) break;
        }
        if (last || rs_text_width(text + start, n - start) <= width) fit = n;
        size_t length = fit - start;
        if (length && text[start + length - 1] == ' ') length--;
        memcpy(c->lines[c->n_lines], text + start, length);
        c->lines[c->n_lines][length] = '\0';
        size_t w = rs_text_width(text + start, length);
        if (w > widest) widest = w;
        c->n_lines++;
        start = fit;
    }
    return widest;
}

static size_t total_width(const text_table *t)
{
    size_t total = 0;
    for (size_t at = 0; at < t->n_columns; at++) total += t->columns[at].width + (at ? GAP : 0);
    return total;
}

/* A few very long names among many short ones must not fill the rows of all others with spaces. */
static void narrow_sparse(text_table *t)
{
    size_t n_rows = rs_table_n_rows(t->table);
    for (size_t at = 0; at < t->n_columns; at++) {
        text_column *c = &t->columns[at];
        bool sparse = n_rows * c->cell_width > PADDING_RATIO * c->cells_width + PADDING_SLACK;
        if (!c->display.is_text || n_rows < 2 || (!sparse && c->cell_width <= WIDEST_TEXT)) continue;
        size_t heading = wrap_heading(c, SIZE_MAX), usual = 2 * c->cells_width / n_rows;
        if (usual > WIDEST_TEXT) usual = WIDEST_TEXT;
        c->width = usual > NARROWEST_TEXT ? usual : NARROWEST_TEXT;
        if (c->width < heading) c->width = heading;
        t->overflows = true;
    }
}

/* Which column says what a row is of: the one that is called name, or the first text. */
static size_t name_column(const text_table *t)
{
    const rs_column_spec *specs = rs_table_get_spec(t->table)->columns;
    size_t first = t->n_columns;
    for (size_t at = t->n_columns; at-- > 0;) {
        if (strcmp(specs[t->columns[at].at].name, "name") == 0) return at;
        if (t->columns[at].display.is_text) first = at;
    }
    return first;
}

/* Takes from the widest text, down to the next widest or to what is needed. */
static void narrow_texts(text_table *t, size_t limit, size_t least_name, size_t least_text)
{
    size_t name = name_column(t);
    for (size_t total = total_width(t); total > limit;) {
        text_column *widest = NULL;
        size_t next = 0, least = 0;
        for (size_t at = 0; at < t->n_columns; at++) {
            text_column *c = &t->columns[at];
            size_t own = at == name ? least_name : least_text;
            if (!c->display.is_text || c->width <= own) continue;
            if (!widest || c->width > widest->width) {
                if (widest) next = widest->width;
                widest = c;
                least = own;
            } else if (c->width > next) {
                next = c->width;
            }
        }
        if (!widest) return;
        size_t floor_width = next < widest->width ? next : widest->width - 1;
        size_t wanted = widest->width > total - limit ? widest->width - (total - limit) : 0;
        size_t now = wanted > floor_width ? wanted : floor_width;
        if (now < least) now = least;
        total -= widest->width - now;
        widest->width = now;
    }
}

/* As wide as cells want, and headings on several lines. */
static void widen(text_table *t)
{
    for (size_t at = 0; at < t->n_columns; at++) {
        text_column *c = &t->columns[at];
        /* a word that cannot be broken gives the others its room */
        size_t heading = wrap_heading(c, wrap_heading(c, c->cell_width));
        c->width = c->cell_width > heading ? c->cell_width : heading;
    }
}

static void take_column(text_table *t, size_t at)
{
    rs_briefs_clear(&t->columns[at].names);
    t->n_columns--;
    for (size_t i = at; i < t->n_columns; i++) t->columns[i] = t->columns[i + 1];
    t->columns[t->n_columns] = (text_column){0};
}

/* Whether the list of names, parted by spaces, has this one. */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && memcmp(at, name, n) == 0) return true;
    return false;
}

/* How soon a column goes, 0 first: what is 0 in all rows; numbers after the name that only tell rows apart; the others, and
 * ranks and steps; what the command says is to be kept. */
static int order_of(const text_table *t, size_t at, size_t name)
{
    const rs_column_spec *spec = &rs_table_get_spec(t->table)->columns[t->columns[at].at];
    if (!t->columns[at].only_zero && is_listed(t->settings->keep, spec->name)) return 3;
    if (strcmp(spec->name, "rank") == 0 || strcmp(spec->name, "step") == 0) return 2;
    return t->columns[at].only_zero ? 0 : at > name && spec->unit == RS_UNIT_ID ? 1 : 2;
}

/* The last column of those that go first, but never the first of the table nor the names. False: there is none. */
static bool leave_out_one(text_table *t)
{
    size_t name = name_column(t), chosen = 0;
    for (size_t at = t->n_columns; at-- > 1;)
        if (at != name && (!chosen || order_of(t, at, name) < order_of(t, chosen, name))) chosen = at;
    if (!chosen) return false;
    const char *called = rs_table_get_spec(t->table)->columns[t->columns[chosen].at].name;
    rs_text_printf(&t->left_out, "%s%s", t->left_out.n ? ", " : "", called);
    take_column(t, chosen);
    return true;
}

/* Cells and headings as wide as they want; else without empty columns, headings on several lines, names cut, and without
 * the columns for which there is still no room. */
static void fit(text_table *t)
{
    size_t limit = t->settings->width;
    for (size_t at = t->n_columns; limit && !t->more && rs_table_n_rows(t->table) && at-- > 0;)
        if (!t->columns[at].known && t->n_columns > 1) take_column(t, at);
    for (size_t at = 0; at < t->n_columns; at++) {
        text_column *c = &t->columns[at];
        size_t heading = wrap_heading(c, SIZE_MAX);
        c->width = c->cell_width > heading ? c->cell_width : heading;
    }
    if (limit == 0) narrow_sparse(t);
    if (limit == 0 || total_width(t) <= limit) return;
    do {
        widen(t);
        narrow_texts(t, limit, COMFORTABLE_NAME, COMFORTABLE_TEXT);
    } while (total_width(t) > limit && leave_out_one(t));
    narrow_texts(t, limit, NARROWEST_TEXT,
                 NARROWEST_TEXT); /* numbers are never cut: the terminal wraps them */
    for (size_t at = 0; at < t->n_columns; at++)
        if (t->columns[at].display.is_text) wrap_heading(&t->columns[at], t->columns[at].width);
}

static const char *cut_mark(const text_table *t)
{
    return t->settings->utf8 ? "\xE2\x80\xA6" : "..";
}

/* Cuts the names of columns that are narrower than they. False when out of memory. */
static bool cut_names(text_table *t)
{
    for (size_t at = 0; t->settings->width && at < t->n_columns; at++) {
        text_column *c = &t->columns[at];
        if (!c->display.is_text || c->cell_width <= c->width) continue;
        bool ok = rs_briefs_init(&c->names);
        for (size_t row = 0; ok && row < rs_table_n_rows(t->table); row++) {
            size_t length;
            const char *text = clean_cell(t, row, c->at, &length);
            ok = text && rs_briefs_add(&c->names, text, length);
        }
        if (!ok || !rs_briefs_cut(&c->names, c->width, cut_mark(t))) return false;
    }
    return true;
}

/* Text cut to a column's width, in t->brief or where it is; NULL when out of memory. */
static const char *shorten(text_table *t, const char *text, size_t length, size_t width)
{
    if (rs_text_width(text, length) <= width) return text;
    if (!ensure(&t->brief, &t->brief_size, 4 * width + 8)) return NULL;
    return rs_text_shorten(text, length, width, cut_mark(t), t->brief, t->brief_size);
}

static bool is_right(const text_column *c)
{
    return !c->display.is_text;
}

static struct libscols_table *new_layout(const text_table *t)
{
    struct libscols_table *layout = scols_new_table();
    if (!layout) return NULL;
    bool ok = scols_table_enable_noheadings(layout, 1) == 0 &&
              scols_table_enable_noencoding(layout, 1) == 0 &&
              scols_table_set_termforce(layout, SCOLS_TERMFORCE_NEVER) == 0 &&
              scols_table_set_column_separator(layout, "  ") == 0 &&
              scols_table_enable_colors(layout, t->settings->color) == 0;
    for (size_t at = 0; ok && at < t->n_columns; at++) {
        const text_column *c = &t->columns[at];
        int flags = SCOLS_FL_STRICTWIDTH | (is_right(c) ? SCOLS_FL_RIGHT : 0);
        double width = c->width ? (double)c->width : 1;
        ok = scols_table_new_column(layout, NULL, width, flags) != NULL;
    }
    if (ok) return layout;
    scols_unref_table(layout);
    return NULL;
}

static rs_status print_layout(rs_writer *writer, struct libscols_table *layout, rs_error *err)
{
    char *text = NULL;
    if (scols_print_table_to_string(layout, &text) != 0 || !text) {
        free(text);
        return rs_fail_nomem(err, "the layout of a table");
    }
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n"), shown = n;
        while (shown && line[shown - 1] == ' ') shown--; /* the padding of empty last cells */
        rs_writer_bytes(writer, line, shown);
        rs_writer_char(writer, '\n');
        line += n + (line[n] != '\0');
    }
    free(text);
    return RS_OK;
}

static bool set_cell(struct libscols_line *line, size_t at, const char *text, bool bold)
{
    if (scols_line_set_data(line, at, text) != 0) return false;
    return !bold || scols_cell_set_color(scols_line_get_cell(line, at), "\033[1m") == 0;
}

static rs_status print_headings(rs_writer *writer, text_table *t, rs_error *err)
{
    struct libscols_table *layout = new_layout(t);
    size_t n_lines = 0;
    for (size_t at = 0; at < t->n_columns; at++)
        if (t->columns[at].n_lines > n_lines) n_lines = t->columns[at].n_lines;
    bool ok = layout != NULL;
    for (size_t i = 0; ok && i < n_lines; i++) {
        struct libscols_line *line = scols_table_new_line(layout, NULL);
        ok = line != NULL;
        for (size_t at = 0; ok && at < t->n_columns; at++) {
            const text_column *c = &t->columns[at];
            size_t above = n_lines - c->n_lines; /* headings stand on the rows */
            const char *text = i < above ? "" : c->lines[i - above];
            text = shorten(t, text, strlen(text), c->width);
            ok = text && set_cell(line, at, text, t->settings->color && *text);
        }
    }
    rs_status status = ok ? print_layout(writer, layout, err) : rs_fail_nomem(err, "the layout of a table");
    scols_unref_table(layout);
    return status;
}

/* The cell as it is shown, ended by 0; number: room for one. widths: NULL for the table's own. NULL when out of memory. */
static const char *cell_text(text_table *t, const size_t *widths, size_t row, size_t at, char *number)
{
    const text_column *c = &t->columns[at];
    if (!c->display.is_text) {
        rs_display_cell(t->table, row, c->at, &c->display, number);
        return number;
    }
    size_t length;
    const char *text = clean_cell(t, row, c->at, &length);
    const char *brief = text && !widths ? rs_briefs_find(&c->names, text, length) : NULL;
    if (text) text = brief ? brief : shorten(t, text, length, widths ? widths[at] : c->width);
    return text;
}

/* Sets the widths that this row needs. *wider: more than the table's own. */
static rs_status row_widths(text_table *t, size_t row, size_t *widths, bool *wider, rs_error *err)
{
    *wider = false;
    for (size_t at = 0; at < t->n_columns; at++) {
        const text_column *c = &t->columns[at];
        widths[at] = c->width;
        if (!t->begun && (!c->display.is_text || c->cell_width <= c->width)) continue;
        if (t->settings->width && c->display.is_text) continue; /* it is shortened */
        size_t width;
        RS_TRY(measure_cell(t, row, c, &width, err));
        if (width <= c->width) continue;
        widths[at] = width;
        *wider = true;
    }
    return RS_OK;
}

/* A row with blanks where columns ask for them, and none at its end. */
static rs_status print_row(rs_writer *writer, text_table *t, const size_t *widths, size_t row, rs_error *err)
{
    size_t blanks = 0;
    for (size_t at = 0; at < t->n_columns; at++) {
        const text_column *c = &t->columns[at];
        char number[RS_CELL_SIZE];
        const char *text = cell_text(t, widths, row, at, number);
        if (!text) return rs_fail_nomem(err, "a cell");
        size_t n = strlen(text), width = rs_text_width(text, n), wanted = widths ? widths[at] : c->width;
        size_t pad = wanted > width ? wanted - width : 0;
        if (is_right(c)) blanks += pad;
        for (; *text == ' '; text++, n--) blanks++;
        if (n) rs_writer_repeat(writer, ' ', blanks);
        blanks = n ? 0 : blanks;
        for (; n && text[n - 1] == ' '; n--) blanks++;
        rs_writer_bytes(writer, text, n);
        blanks += GAP + (is_right(c) ? 0 : pad);
    }
    rs_writer_char(writer, '\n');
    return RS_OK;
}

static rs_status print_rows(rs_writer *writer, text_table *t, rs_error *err)
{
    RS_LOCAL size_t *widths = rs_malloc(t->n_columns * sizeof *widths);
    rs_status status = widths ? RS_OK : rs_fail_nomem(err, "the layout of a table");
    for (size_t row = 0; status == RS_OK && row < rs_table_n_rows(t->table) && !writer->failed; row++) {
        bool wider = false;
        if (t->overflows) status = row_widths(t, row, widths, &wider, err);
        if (status == RS_OK) status = print_row(writer, t, wider ? widths : NULL, row, err);
    }
    return status;
}

/* Whether the table is laid out by the library: all rows have its columns, and there are few. */
static bool is_short(const text_table *t)
{
    size_t width = 0;
    for (size_t at = 0; at < t->n_columns; at++) width += t->columns[at].cells_width;
    return rs_table_n_rows(t->table) <= SHORT_ROWS && width <= SHORT_WIDTH && !t->overflows;
}

static rs_status print_short(rs_writer *writer, text_table *t, rs_error *err)
{
    struct libscols_table *layout = new_layout(t);
    bool ok = layout != NULL;
    for (size_t row = 0; ok && row < rs_table_n_rows(t->table); row++) {
        struct libscols_line *line = scols_table_new_line(layout, NULL);
        ok = line != NULL;
        for (size_t at = 0; ok && at < t->n_columns; at++) {
            char number[RS_CELL_SIZE];
            const char *text = cell_text(t, NULL, row, at, number);
            ok = text && set_cell(line, at, text, false);
        }
    }
    rs_status status = ok ? print_layout(writer, layout, err) : rs_fail_nomem(err, "the layout of a table");
    scols_unref_table(layout);
    return status;
}

static rs_status write_table(rs_writer *writer, text_table *t, rs_error *err)
{
    RS_LOCAL rs_display *displays = rs_malloc(t->n_columns * sizeof *displays);
    if (!displays) return rs_fail_nomem(err, "the layout of a table");
    rs_display_plan_table(t->table, t->settings->utf8, displays);
    for (size_t at = 0; at < t->n_columns; at++) {
        t->columns[at].at = at;
        t->columns[at].display = displays[at];
        RS_TRY(measure_cells(t, &t->columns[at], err));
    }
    fit(t);
    if (!cut_names(t)) return rs_fail_nomem(err, "names");
    rs_status status = print_headings(writer, t, err);
    if (status == RS_OK) status = is_short(t) ? print_short(writer, t, err) : print_rows(writer, t, err);
    return status;
}

static rs_status write_left_out(rs_writer *writer, text_table *t, const rs_render_settings *settings,
                                rs_error *err)
{
    if (!rs_text_get(&t->left_out)) return rs_fail_nomem(err, "names of columns");
    if (!t->left_out.n) return RS_OK;
    rs_page page = {.writer = writer, .width = settings->width, .utf8 = settings->utf8};
    rs_text_put(&t->left_out, " (--format csv has all)");
    const char *text = rs_text_get(&t->left_out);
    if (!text) return rs_fail_nomem(err, "names of columns");
    rs_page_wrap(&page, "No room for ", text);
    return RS_OK;
}

static void clear(text_table *t)
{
    for (size_t at = 0; t->columns && at < t->n_columns; at++) rs_briefs_clear(&t->columns[at].names);
    rs_text_clear(&t->left_out);
    rs_free_all(t->columns, t->clean, t->brief);
}

static rs_status write_text(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                            rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    if (spec->n_columns == 0) return RS_OK;
    /* libsmartcols measures by the locale: this thread's is UTF-8 while it works, whatever the program's is
     */
    rs_render_settings own = *settings;
    RS_SCOPED(rs_locale_leave) rs_locale locale = {0};
    if (own.utf8) own.utf8 = rs_locale_enter(&locale, "C.UTF-8");

    text_table t = {.table = table, .settings = &own, .n_columns = spec->n_columns};
    t.columns = rs_calloc(t.n_columns, sizeof *t.columns);
    rs_status status = t.columns ? write_table(writer, &t, err) : rs_fail_nomem(err, "the layout of a table");
    if (status == RS_OK) status = write_left_out(writer, &t, &own, err);
    clear(&t);

    return status;
}

/* ---- pages ---------------------------------------------------------------------------------------------- */

/* A later page in the layout of the first. A row with a cell that is wider than its column gets a layout of its own; a
 * column that has another type now gets units and decimals by this page. */
static rs_status write_later(rs_writer *writer, text_table *t, rs_error *err)
{
    for (size_t at = 0; at < t->n_columns; at++)
        if (!rs_display_suits(t->table, t->columns[at].at, &t->columns[at].display))
            rs_display_plan(t->table, t->columns[at].at, t->settings->utf8, &t->columns[at].display);
    t->overflows = t->begun = true;
    return print_rows(writer, t, err);
}

static rs_status write_page(void *context, rs_writer *writer, const rs_table *page, bool first,
                            const rs_render_settings *settings, rs_error *err)
{
    text_table *t = context;
    rs_render_settings own = *settings;
    RS_SCOPED(rs_locale_leave) rs_locale locale = {0};
    if (own.utf8) own.utf8 = rs_locale_enter(&locale, "C.UTF-8");
    t->table = page;
    t->settings = &own;
    if (first) {
        t->n_columns = rs_table_get_spec(page)->n_columns;
        t->more = rs_table_n_rows(page) == RS_FIRST_PAGE_ROWS;
        t->columns = rs_calloc(t->n_columns, sizeof *t->columns);
    }
    return !t->columns ? rs_fail_nomem(err, "the layout of a table")
           : first     ? write_table(writer, t, err)
                       : write_later(writer, t, err);
}

static rs_status write_pages(rs_writer *writer, const rs_pages *pages, const rs_render_settings *settings,
                             rs_error *err)
{
    text_table t = {0};
    rs_status status = rs_pages_each(pages, RS_FIRST_PAGE_ROWS, write_page, &t, writer, settings, err);
    if (status == RS_OK) status = write_left_out(writer, &t, settings, err);
    clear(&t);
    return status;
}

static rs_status write_section(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                               rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    rs_page page = {.writer = writer, .width = settings->width, .utf8 = settings->utf8};
    rs_text text = {0};
    rs_text_printf(&text, "%s%s%s", spec->name, spec->help ? ": " : "", spec->help ? spec->help : "");
    const char *line = rs_text_get(&text);
    if (settings->color) rs_writer_text(writer, "\033[1m");
    if (line) rs_page_wrap(&page, "", line);
    if (settings->color) rs_writer_text(writer, "\033[0m");
    rs_text_clear(&text);
    return line ? RS_OK : rs_fail_nomem(err, "a heading");
}

/* Every table with rows; the main one when none has any, so that its header is seen. */
static rs_status write_text_result(rs_writer *writer, const rs_result *result, size_t main_table,
                                   const rs_render_settings *settings, rs_error *err)
{
    size_t n_shown = 0;
    for (size_t i = 0; i < result->n_tables; i++)
        if (result->tables[i] && rs_table_n_rows(result->tables[i])) n_shown++;
    bool first = true;
    for (size_t i = 0; i < result->n_tables; i++) {
        const rs_table *table = result->tables[i];
        if (!table || (n_shown ? rs_table_n_rows(table) == 0 : i != main_table)) continue;
        if (!first) rs_writer_char(writer, '\n');
        first = false;
        if (n_shown > 1) RS_TRY(write_section(writer, table, settings, err));
        RS_TRY(write_text(writer, table, settings, err));
    }
    return RS_OK;
}

const rs_output_form rs_output_form_text = {.name = "text",
                                            .help = "tables for a terminal, units chosen for people",
                                            .extension = "txt",
                                            .table = write_text,
                                            .result = write_text_result,
                                            .pages = write_pages};
