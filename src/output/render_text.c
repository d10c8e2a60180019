/* The table for a terminal: columns fitted to its width, numbers right, names shortened in the middle.
 *
 * Cells are measured once to fit the columns, and written as they are read a second time: a long table costs no more
 * memory than a short one. */
#include <string.h>

#include "base/memory.h"
#include "output/display.h"
#include "output/form.h"
#include "text/utf8.h"

#define GAP 2
#define HEADING_LINES 4
#define NARROWEST_TEXT 12
/* Without a terminal's width nothing is shortened; a column that would be this many times its text, and this
 * much more, is made narrower, and a cell that does not fit moves the rest of its row. */
#define PADDING_RATIO 4
#define PADDING_SLACK 65536
/* No cell widens the rows of all others by more than this. */
#define WIDEST_TEXT 512

typedef struct text_column {
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
    size_t n_columns;
    text_column *columns;
    char *clean; /* scratch for one cell, grown as needed */
    size_t clean_size;
    char *brief;
    size_t brief_size;
    bool overflows; /* some cells may be wider than their column */
} text_table;

static bool ensure(char **buffer, size_t *size, size_t need)
{
    return need <= *size || rs_grow((void **)buffer, size, need, 1);
}

/* A cell as the terminal shows it. */
typedef struct text_cell {
    const char *text;
    size_t length, width; /* bytes, columns */
} text_cell;

/* Most texts need no cleaning, and are as wide as they are long. */
static bool is_plain(const char *text, size_t n)
{
    uint8_t wrong = 0;
    for (size_t i = 0; i < n; i++) wrong |= (uint8_t)((uint8_t)(text[i] - 0x20) > 0x7E - 0x20);
    return !wrong;
}

/* The text lies in the table, in t->clean or in `number`, until the next cell is read. False when out of memory. */
static bool read_cell(text_table *t, size_t row, size_t at, char number[RS_CELL_SIZE], text_cell *out)
{
    const text_column *c = &t->columns[at];
    if (!c->display.is_text) {
        size_t n = rs_display_cell(t->table, row, at, &c->display, number);
        *out = (text_cell){number, n, n};
        return true;
    }
    size_t n;
    const char *text = rs_table_text(t->table, row, at, &n);
    if (!text || is_plain(text, n)) {
        *out = text ? (text_cell){text, n, n} : (text_cell){"-", 1, 1};
        return true;
    }
    if (n > SIZE_MAX / 8 || !ensure(&t->clean, &t->clean_size, 3 * n + 1)) return false;
    n = rs_text_clean(text, n, t->settings->utf8, t->clean);
    *out = (text_cell){t->clean, n, rs_text_width(t->clean, n)};
    return true;
}

static bool measure_cells(text_table *t, size_t at)
{
    text_column *c = &t->columns[at];
    size_t n_rows = rs_table_n_rows(t->table);
    for (size_t row = 0; row < n_rows; row++) {
        char number[RS_CELL_SIZE];
        text_cell cell;
        if (!read_cell(t, row, at, number, &cell)) return false;
        if (cell.width > c->cell_width) c->cell_width = cell.width;
        c->cells_width += cell.width;
    }
    return true;
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

/* Widths: first as wide as cells and headings want; then headings on several lines; then shorter names. */
static void fit(text_table *t)
{
    for (size_t at = 0; at < t->n_columns; at++) {
        text_column *c = &t->columns[at];
        size_t heading = wrap_heading(c, SIZE_MAX);
        c->width = c->cell_width > heading ? c->cell_width : heading;
    }
    size_t limit = t->settings->width;
    if (limit == 0) narrow_sparse(t);
    if (limit == 0 || total_width(t) <= limit) return;
    for (size_t at = 0; at < t->n_columns; at++) {
        text_column *c = &t->columns[at];
        /* a word that cannot be broken gives the others its room */
        size_t heading = wrap_heading(c, wrap_heading(c, c->cell_width));
        c->width = c->cell_width > heading ? c->cell_width : heading;
    }
    for (size_t total = total_width(t); total > limit;) {
        /* take from the widest name, down to the next widest or to what is needed */
        text_column *widest = NULL;
        size_t next = NARROWEST_TEXT;
        for (size_t at = 0; at < t->n_columns; at++) {
            text_column *c = &t->columns[at];
            if (!c->display.is_text || c->width <= NARROWEST_TEXT) continue;
            if (!widest || c->width > widest->width) {
                if (widest) next = widest->width;
                widest = c;
            } else if (c->width > next) {
                next = c->width;
            }
        }
        if (!widest) break; /* numbers are never cut: the terminal wraps them */
        size_t floor_width = next < widest->width ? next : widest->width - 1;
        size_t wanted = widest->width > total - limit ? widest->width - (total - limit) : 0;
        size_t now = wanted > floor_width ? wanted : floor_width;
        if (now < NARROWEST_TEXT) now = NARROWEST_TEXT;
        total -= widest->width - now;
        widest->width = now;
    }
    for (size_t at = 0; at < t->n_columns; at++)
        if (t->columns[at].display.is_text) wrap_heading(&t->columns[at], t->columns[at].width);
}

/* ---- lines ------------------------------------------------------------------------------------------------ */

/* A line being written. Spaces wait until something follows them, so that no line ends in any. */
typedef struct text_line {
    rs_writer *writer;
    size_t spaces;
} text_line;

static void put_text(text_line *line, const char *text, size_t length, bool bold)
{
    size_t shown = length;
    while (shown && text[shown - 1] == ' ') shown--;
    if (shown) {
        rs_writer_repeat(line->writer, ' ', line->spaces);
        line->spaces = 0;
        if (bold) rs_writer_text(line->writer, "\033[1m");
        rs_writer_bytes(line->writer, text, shown);
        if (bold) rs_writer_text(line->writer, "\033[0m");
    }
    line->spaces += length - shown;
}

/* A cell that is wider than its column moves what follows it. */
static void put_cell(text_line *line, const text_column *c, const text_cell *cell, bool bold)
{
    size_t width = c->width ? c->width : 1;
    size_t padding = width > cell->width ? width - cell->width : 0;
    if (!c->display.is_text) line->spaces += padding;
    put_text(line, cell->text, cell->length, bold);
    line->spaces += GAP + (c->display.is_text ? padding : 0);
}

static void end_line(text_line *line)
{
    rs_writer_char(line->writer, '\n');
    line->spaces = 0;
}

/* Cuts a text to a column's width, into t->brief. False when out of memory. */
static bool shorten(text_table *t, text_cell *cell, size_t width)
{
    if (cell->width <= width) return true;
    const char *mark = t->settings->utf8 ? "\xE2\x80\xA6" : "..";
    if (!ensure(&t->brief, &t->brief_size, 4 * width + 8)) return false;
    cell->text = rs_text_shorten(cell->text, cell->length, width, mark, t->brief, t->brief_size);
    cell->length = strlen(cell->text);
    cell->width = rs_text_width(cell->text, cell->length);
    return true;
}

static rs_status print_headings(rs_writer *writer, text_table *t, rs_error *err)
{
    text_line line = {.writer = writer};
    size_t n_lines = 0;
    for (size_t at = 0; at < t->n_columns; at++)
        if (t->columns[at].n_lines > n_lines) n_lines = t->columns[at].n_lines;
    for (size_t i = 0; i < n_lines; i++) {
        for (size_t at = 0; at < t->n_columns; at++) {
            const text_column *c = &t->columns[at];
            size_t above = n_lines - c->n_lines; /* headings stand on the rows */
            text_cell cell = {.text = i < above ? "" : c->lines[i - above]};
            cell.length = strlen(cell.text);
            cell.width = rs_text_width(cell.text, cell.length);
            if (!shorten(t, &cell, c->width)) return rs_fail_nomem(err, "a heading");
            put_cell(&line, c, &cell, t->settings->color);
        }
        end_line(&line);
    }
    return RS_OK;
}

/* A cell that is wider than its column is cut where the terminal has a width, and elsewhere moves the rest of its row. */
static rs_status print_row(rs_writer *writer, text_table *t, size_t row, rs_error *err)
{
    text_line line = {.writer = writer};
    for (size_t at = 0; at < t->n_columns; at++) {
        const text_column *c = &t->columns[at];
        char number[RS_CELL_SIZE];
        text_cell cell;
        if (!read_cell(t, row, at, number, &cell)) return rs_fail_nomem(err, "a cell");
        bool cut = c->display.is_text && (!t->overflows || t->settings->width);
        if (cut && !shorten(t, &cell, c->width)) return rs_fail_nomem(err, "a cell");
        put_cell(&line, c, &cell, false);
    }
    end_line(&line);
    return RS_OK;
}

static rs_status print_rows(rs_writer *writer, text_table *t, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t row = 0; status == RS_OK && row < rs_table_n_rows(t->table) && !writer->failed; row++)
        status = print_row(writer, t, row, err);
    return status;
}

static rs_status write_table(rs_writer *writer, text_table *t, rs_error *err)
{
    for (size_t at = 0; at < t->n_columns; at++) {
        rs_display_plan(t->table, at, t->settings->utf8, &t->columns[at].display);
        if (!measure_cells(t, at)) return rs_fail_nomem(err, "a cell");
    }
    fit(t);
    rs_status status = print_headings(writer, t, err);
    if (status == RS_OK) status = print_rows(writer, t, err);
    return status;
}

static void clear(text_table *t)
{
    rs_free(t->columns);
    rs_free(t->clean);
    rs_free(t->brief);
}

static rs_status write_text(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                            rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    if (spec->n_columns == 0) return RS_OK;
    text_table t = {.table = table, .settings = settings, .n_columns = spec->n_columns};
    t.columns = rs_calloc(t.n_columns, sizeof *t.columns);
    rs_status status = t.columns ? write_table(writer, &t, err) : rs_fail_nomem(err, "the layout of a table");
    clear(&t);
    return status;
}

/* ---- pages ---------------------------------------------------------------------------------------------- */

/* A later page in the layout of the first. A cell that is wider than its column moves the rest of its row; a
 * column that has another type now gets units and decimals by this page. */
static rs_status write_later(rs_writer *writer, text_table *t, rs_error *err)
{
    for (size_t at = 0; at < t->n_columns; at++)
        if (!rs_display_suits(t->table, at, &t->columns[at].display))
            rs_display_plan(t->table, at, t->settings->utf8, &t->columns[at].display);
    t->overflows = true;
    return print_rows(writer, t, err);
}

static rs_status write_page(void *context, rs_writer *writer, const rs_table *page, bool first,
                            const rs_render_settings *settings, rs_error *err)
{
    text_table *t = context;
    t->table = page;
    t->settings = settings;
    t->n_columns = rs_table_get_spec(page)->n_columns;
    if (first) t->columns = rs_calloc(t->n_columns, sizeof *t->columns);
    return !t->columns ? rs_fail_nomem(err, "the layout of a table")
           : first     ? write_table(writer, t, err)
                       : write_later(writer, t, err);
}

static rs_status write_pages(rs_writer *writer, const rs_pages *pages, const rs_render_settings *settings,
                             rs_error *err)
{
    text_table t = {0};
    rs_status status = rs_pages_each(pages, RS_FIRST_PAGE_ROWS, write_page, &t, writer, settings, err);
    clear(&t);
    return status;
}

static void write_section(rs_writer *writer, const rs_table *table, const rs_render_settings *settings)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    if (settings->color) rs_writer_text(writer, "\033[1m");
    rs_writer_text(writer, spec->name);
    if (settings->color) rs_writer_text(writer, "\033[0m");
    if (spec->help) {
        rs_writer_text(writer, ": ");
        rs_writer_text(writer, spec->help);
    }
    rs_writer_char(writer, '\n');
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
        if (n_shown > 1) write_section(writer, table, settings);
        rs_status status = write_text(writer, table, settings, err);
        if (status != RS_OK) return status;
    }
    return RS_OK;
}

const rs_output_form rs_output_form_text = {.name = "text",
                                            .help = "tables for a terminal, units chosen for people",
                                            .extension = "txt",
                                            .table = write_text,
                                            .result = write_text_result,
                                            .pages = write_pages};
