/* Workbooks by libxlsxwriter, an optional dependency. */
#define _GNU_SOURCE /* P_tmpdir, mkstemp */
#include "output/xlsx.h"

#ifndef RS_HAVE_XLSX

rs_status rs_xlsx_check(rs_error *err)
{
    return rs_fail(err, RS_ERR_USAGE,
                   "this build cannot write workbooks: it was made without libxlsxwriter "
                   "(libxlsxwriter-dev)");
}

rs_status rs_xlsx_write(const rs_sheet *sheets, size_t n, const rs_sink *sink, rs_error *err)
{
    (void)sheets;
    (void)n;
    (void)sink;
    return rs_xlsx_check(err);
}

#else

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "base/memory.h"
#include "base/try.h"
#include "base/utf8.h"
#include "late_xlsx.h"
#include "text/locale.h"
#include "text/utf8.h"

/* 1980-01-01, the first day that a zip archive knows: a workbook must not depend on when it was made. */
#define CREATED 315532800
#define MAX_NAME 31
#define WIDEST 60 /* characters of a column */
#define CUT_MARK " [cut]"

typedef struct book {
    lxw_workbook *workbook;
    lxw_format *heading, *plain; /* plain: what is typed into it is text */
    char *text;                  /* room for one cell */
    size_t capacity;
    lxw_error worst;
} book;

static void note(book *b, lxw_error error)
{
    if (b->worst == LXW_NO_ERROR) b->worst = error;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

/* Copies at most `room` characters as a workbook may hold them: invalid bytes and the characters that XML
 * forbids become U+FFFD. Characters beyond 16 bits count two, as Excel counts. Returns the bytes read. */
static size_t copy_text(const char *text, size_t length, size_t room, char *out)
{
    size_t at = 0, used = 0;
    while (at < length) {
        uint32_t code = 0;
        size_t n = rs_utf8_next(text + at, length - at, &code);
        size_t wide = n && code > 0xFFFF ? 2 : 1;
        if (wide > room) break;
        room -= wide;
        bool bad = n == 0 || (code < 32 && code != '\t' && code != '\n' && code != '\r') || code == 0xFFFE ||
                   code == 0xFFFF;
        memcpy(out + used, bad ? RS_REPLACEMENT : text + at, bad ? 3 : n);
        used += bad ? 3 : n;
        at += n ? n : 1;
    }
    out[used] = '\0';
    return at;
}

static bool clean_text(book *b, const char *text, size_t length)
{
    if (!rs_grow((void **)&b->text, &b->capacity, 3 * length + sizeof CUT_MARK, 1)) return false;
    if (copy_text(text, length, RS_SHEET_TEXT, b->text) == length) return true;
    copy_text(text, length, RS_SHEET_TEXT - (sizeof CUT_MARK - 1), b->text);
    strcat(b->text, CUT_MARK);
    return true;
}

/* ---- names of sheets ----------------------------------------------------------------------------------- */

/* What Excel refuses in a name becomes a space; a name stands between other characters than '. */
static void plain_name(const char *name, size_t room, char out[4 * MAX_NAME + 1])
{
    size_t length = strlen(name);
    char *cleaned = out;
    copy_text(name, length < MAX_NAME ? length : MAX_NAME, room, cleaned);
    for (char *c = cleaned; *c; c++)
        if (strchr("[]:*?/\\'", *c) || (unsigned char)*c < 32) *c = ' ';
    if (!*cleaned) memcpy(cleaned, "sheet", 6);
}

static lxw_worksheet *add_sheet(book *b, const char *wanted)
{
    char name[4 * MAX_NAME + 16];
    plain_name(wanted, MAX_NAME, name);
    for (unsigned copy = 2; workbook_validate_sheet_name(b->workbook, name) != LXW_NO_ERROR && copy < 1000;
         copy++) {
        plain_name(wanted, MAX_NAME - 5, name);
        size_t used = strlen(name);
        snprintf(name + used, sizeof name - used, " %u", copy);
    }
    return workbook_add_worksheet(b->workbook, name);
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static void write_number(book *b, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column, double value)
{
    if (isfinite(value))
        note(b, worksheet_write_number(sheet, row, column, value, NULL));
    else
        note(b, worksheet_write_string(sheet, row, column, value > 0 ? "inf" : "-inf", NULL));
}

static rs_status write_text(book *b, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column, const char *text,
                            size_t length, lxw_format *format, rs_error *err)
{
    if (!clean_text(b, text, length)) return rs_fail_nomem(err, "a workbook");
    if (b->text[0]) note(b, worksheet_write_string(sheet, row, column, b->text, format));
    return RS_OK;
}

/* Strings are no formulas, until somebody edits such a cell: the format "@" (49) keeps it a text then, too. */
static bool looks_like_formula(const char *text, size_t length)
{
    return length && memchr("=+-@\t\r", text[0], 6);
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static rs_status write_cell(book *b, lxw_worksheet *sheet, const rs_sheet *s, size_t row, size_t at,
                            size_t *width, rs_error *err)
{
    const rs_table *table = s->table;
    if (rs_table_is_null(table, row, at)) return RS_OK;
    lxw_row_t y = (lxw_row_t)(row + 1);
    if (rs_table_get_spec(table)->columns[at].type != RS_TEXT) {
        double value = rs_table_real(table, row, at);
        if (!isnan(value)) write_number(b, sheet, y, (lxw_col_t)at, value);
        return RS_OK;
    }
    size_t length;
    const char *text = rs_table_text(table, row, at, &length);
    if (length > *width) *width = length;
    if (s->truths && (is_word(text, length, "True") || is_word(text, length, "False"))) {
        note(b, worksheet_write_boolean(sheet, y, (lxw_col_t)at, text[0] == 'T', NULL));
        return RS_OK;
    }
    return write_text(b, sheet, y, (lxw_col_t)at, text, length,
                      looks_like_formula(text, length) ? b->plain : NULL, err);
}

static rs_status write_column(book *b, lxw_worksheet *sheet, const rs_sheet *s, size_t at, rs_error *err)
{
    const rs_table *table = s->table;
    lxw_row_col_options options = {.hidden = s->hidden && s->hidden[at]};
    const rs_column_spec *spec = &rs_table_get_spec(table)->columns[at];
    size_t width = strlen(spec->name), n = rs_table_n_rows(table);
    RS_TRY(write_text(b, sheet, 0, (lxw_col_t)at, spec->name, width, b->heading, err));
    if (width < 10) width = 10;
    for (size_t row = 0; row < n; row++) RS_TRY(write_cell(b, sheet, s, row, at, &width, err));
    if (width > WIDEST) width = WIDEST;
    note(b, worksheet_set_column_opt(sheet, (lxw_col_t)at, (lxw_col_t)at, (double)width + 2, NULL, &options));
    return RS_OK;
}

static rs_status add_chart(book *b, lxw_worksheet *sheet, const rs_sheet *s, rs_error *err)
{
    const rs_sheet_chart *c = s->chart;
    size_t rows = rs_table_n_rows(s->table), columns = rs_table_get_spec(s->table)->n_columns;
    if (!rows || !c->n) return RS_OK;
    lxw_chart *chart = workbook_add_chart(b->workbook, LXW_CHART_LINE);
    if (!chart) return rs_fail_nomem(err, "a chart");
    for (size_t i = c->first; i < c->first + c->n && i < columns; i++) {
        lxw_chart_series *line = chart_add_series(chart, NULL, NULL);
        if (!line) return rs_fail_nomem(err, "a chart");
        chart_series_set_categories(line, sheet->name, 1, (lxw_col_t)c->over, (lxw_row_t)rows,
                                    (lxw_col_t)c->over);
        chart_series_set_values(line, sheet->name, 1, (lxw_col_t)i, (lxw_row_t)rows, (lxw_col_t)i);
        chart_series_set_name_range(line, sheet->name, 0, (lxw_col_t)i);
    }
    if (c->title) chart_title_set_name(chart, c->title);
    if (c->x_title) chart_axis_set_name(chart->x_axis, c->x_title);
    if (c->y_title) chart_axis_set_name(chart->y_axis, c->y_title);
    note(b, worksheet_insert_chart(sheet, 1, (lxw_col_t)(columns + 1), chart));
    return RS_OK;
}

static rs_status write_sheet(book *b, const rs_sheet *s, rs_error *err)
{
    size_t rows = rs_table_n_rows(s->table), columns = rs_table_get_spec(s->table)->n_columns;
    if (rows >= RS_SHEET_ROWS || columns > RS_SHEET_COLUMNS)
        return rs_fail(err, RS_ERR_LIMIT,
                       "the table %s has %zu rows and %zu columns; a sheet of a workbook holds %d and %d: "
                       "ask for less of it, or for csv",
                       s->name, rows, columns, RS_SHEET_ROWS - 1, RS_SHEET_COLUMNS);
    lxw_worksheet *sheet = add_sheet(b, s->name);
    if (!sheet) return rs_fail_nomem(err, "a sheet");
    for (size_t at = 0; at < columns; at++) RS_TRY(write_column(b, sheet, s, at, err));
    worksheet_freeze_panes(sheet, 1, 0);
    if (rows && columns)
        note(b, worksheet_autofilter(sheet, 0, 0, (lxw_row_t)rows, (lxw_col_t)(columns - 1)));
    return s->chart ? add_chart(b, sheet, s, err) : RS_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static rs_status copy_out(int fd, const rs_sink *sink, rs_error *err)
{
    static const size_t block = 65536;
    RS_LOCAL char *buffer = rs_malloc(block);
    rs_status status = buffer ? RS_OK : rs_fail_nomem(err, "a workbook");
    for (off_t at = 0; status == RS_OK;) {
        ssize_t n = pread(fd, buffer, block, at);
        if (n < 0) status = rs_fail(err, RS_ERR_IO, "cannot read the workbook back: %s", strerror(errno));
        if (n <= 0) break;
        at += n;
        if (!sink->write(sink->context, buffer, (size_t)n))
            status = rs_fail(err, RS_ERR_IO, "cannot write the workbook");
    }
    return status;
}

/* Fills the workbook and ends it, which writes the file. */
static rs_status make_workbook(const char *path, const rs_sheet *sheets, size_t n, rs_error *err)
{
    lxw_workbook_options options = {.use_zip64 = LXW_FALSE};
    book b = {.workbook = workbook_new_opt(path, &options)};
    if (!b.workbook) return rs_fail_nomem(err, "a workbook");
    lxw_doc_properties properties = {.created = CREATED};
    note(&b, workbook_set_properties(b.workbook, &properties));
    b.heading = workbook_add_format(b.workbook);
    b.plain = workbook_add_format(b.workbook);
    rs_status status = b.heading && b.plain ? RS_OK : rs_fail_nomem(err, "a workbook");
    if (b.heading) format_set_bold(b.heading);
    if (b.plain) format_set_num_format_index(b.plain, 49);
    for (size_t i = 0; status == RS_OK && i < n; i++) status = write_sheet(&b, &sheets[i], err);
    lxw_error closed = workbook_close(b.workbook); /* frees it, too */
    rs_free(b.text);
    if (b.worst == LXW_NO_ERROR) b.worst = closed;
    if (status != RS_OK || b.worst == LXW_NO_ERROR) return status;
    if (b.worst == LXW_ERROR_MEMORY_MALLOC_FAILED) return rs_fail_nomem(err, "a workbook");
    return rs_fail(err, RS_ERR_IO, "cannot make the workbook: %s", lxw_strerror(b.worst));
}

rs_status rs_xlsx_check(rs_error *err)
{
    return rs_late_xlsx(err);
}

rs_status rs_xlsx_write(const rs_sheet *sheets, size_t n, const rs_sink *sink, rs_error *err)
{
    RS_TRY(rs_late_xlsx(err));
    char path[] = P_tmpdir "/rankscope-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot make it: %s", strerror(errno));
    rs_locale locale;
    rs_locale_enter(&locale, "C"); /* libxlsxwriter writes numbers as the locale says */
    rs_status status = make_workbook(path, sheets, n, err);
    rs_locale_leave(&locale);
    unlink(path); /* its bytes are there as long as it is open */
    if (status == RS_OK) status = copy_out(fd, sink, err);
    close(fd);
    return status;
}

#endif

bool rs_xlsx_available(void)
{
    rs_error none = RS_ERROR_INIT;
    return rs_xlsx_check(&none) == RS_OK;
}
