/* Workbooks (Office Open XML): a zip archive of XML. xl/workbook.xml names the sheets, xl/_rels/workbook.xml.rels
 * says which members they are, xl/sharedStrings.xml holds the texts that cells have by number. XML is expat's, an
 * optional dependency. */
#include "input/sheets.h"

#ifndef RS_HAVE_EXPAT

rs_status rs_workbook_read(const void *bytes, size_t n, const char *file, rs_strings *texts, rs_book *out,
                           rs_error *err)
{
    (void)bytes;
    (void)n;
    (void)texts;
    (void)out;
    return rs_fail_at(
        err, RS_ERR_USAGE, file, RS_NO_OFFSET,
        "this build cannot read workbooks: it was made without libexpat (libexpat1-dev); the sheets as "
        "CSV files in a folder can be read");
}

#else

#include <expat.h>
#include <string.h>

#include "base/try.h"
#include "input/zip.h"

#define MAX_TEXT ((size_t)1 << 30)
/* What Excel allows. */
enum { MOST_COLUMNS = 16384, MOST_SHEETS = 4096 };

/* A sheet as the workbook lists it. Texts of the reader. */
typedef struct listed {
    uint32_t name, id, target;
} listed;

typedef enum place { ELSEWHERE, IN_VALUE, IN_TEXT } place;

typedef struct reader {
    const char *file;
    rs_strings *texts; /* of cells */
    rs_strings names;  /* ids and members of the archive */
    rs_book *book;
    XML_Parser parser;
    rs_error *err;
    rs_status status;
    listed *sheets;
    size_t n_sheets, sheets_capacity;
    uint32_t shared_member; /* of names; 0: none */
    uint32_t *shared;       /* of texts */
    size_t n_shared, shared_capacity;

    /* the sheet, or the texts, that are being read */
    rs_grid *grid;
    bool header, row_is_open;
    size_t column;
    char type;   /* of the cell: 's', 'b', 'e', 'n', or 't' for a text of its own */
    place place; /* whose characters count */
    char *text;  /* they */
    size_t length, capacity;
    unsigned phonetic; /* inside of rPh: a reading aid that is no part of the text */
} reader;

/* ---- XML ------------------------------------------------------------------------------------------------- */

static void stop(reader *r, rs_status status)
{
    if (r->status == RS_OK) r->status = status;
    XML_StopParser(r->parser, XML_FALSE);
}

static void out_of_memory(reader *r)
{
    stop(r, rs_fail_nomem(r->err, "a workbook"));
}

static void refuse(reader *r, const char *why)
{
    stop(r, rs_fail_at(r->err, RS_ERR_FORMAT, r->file, RS_NO_OFFSET, "%s", why));
}

/* The name without the prefix of its namespace. */
static const char *plain(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static bool is(const char *name, const char *word)
{
    return strcmp(plain(name), word) == 0;
}

static const char *attribute(const char **all, const char *word)
{
    for (; *all; all += 2)
        if (is(all[0], word)) return all[1];
    return NULL;
}

static void on_doctype(void *context, const char *name, const char *system, const char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    refuse(context, "the XML of this workbook defines a document type, which no workbook has");
}

static void on_characters(void *context, const char *text, int length)
{
    reader *r = context;
    if (r->place == ELSEWHERE || r->phonetic || r->status != RS_OK) return;
    if (!rs_grow((void **)&r->text, &r->capacity, r->length + (size_t)length, 1)) {
        out_of_memory(r);
        return;
    }
    memcpy(r->text + r->length, text, (size_t)length);
    r->length += (size_t)length;
}

typedef void start_handler(void *, const char *, const char **);
typedef void end_handler(void *, const char *);

static rs_status parse(reader *r, const char *text, size_t n, start_handler *on_start, end_handler *on_end)
{
    static const XML_Memory_Handling_Suite memory = {rs_malloc, rs_realloc, free};
    r->parser = XML_ParserCreate_MM("UTF-8", &memory, NULL);
    if (!r->parser) return rs_fail_nomem(r->err, "a workbook");
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_characters);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    r->status = RS_OK;
    r->place = ELSEWHERE;
    r->phonetic = 0;
    enum { PIECE = 1 << 20 };
    enum XML_Status told = XML_STATUS_OK;
    for (size_t at = 0; told == XML_STATUS_OK; at += PIECE) {
        bool last = n - at <= PIECE;
        told = XML_Parse(r->parser, text + at, last ? (int)(n - at) : PIECE, last);
        if (last) break;
    }
    if (told != XML_STATUS_OK && r->status == RS_OK) {
        enum XML_Error why = XML_GetErrorCode(r->parser);
        r->status =
            why == XML_ERROR_NO_MEMORY
                ? rs_fail_nomem(r->err, "a workbook")
                : rs_fail_at(r->err, RS_ERR_FORMAT, r->file, RS_NO_OFFSET,
                             "the XML of this workbook is damaged at line %lu: %s",
                             (unsigned long)XML_GetCurrentLineNumber(r->parser), XML_ErrorString(why));
    }
    XML_ParserFree(r->parser);
    r->parser = NULL;
    return r->status;
}

/* ---- which sheets there are ------------------------------------------------------------------------------ */

static void on_workbook(void *context, const char *name, const char **all)
{
    reader *r = context;
    const char *title = attribute(all, "name"), *id = attribute(all, "id"); /* r:id, not sheetId */
    if (r->status != RS_OK || !is(name, "sheet") || !title || !id) return;
    if (r->n_sheets == MOST_SHEETS) {
        refuse(r, "this workbook has more than 4096 sheets");
        return;
    }
    listed sheet = {rs_strings_add(&r->names, title, strlen(title)),
                    rs_strings_add(&r->names, id, strlen(id)), 0};
    if (sheet.name == RS_NO_STRING || sheet.id == RS_NO_STRING ||
        !RS_GROW_ONE(r->sheets, r->n_sheets, r->sheets_capacity)) {
        out_of_memory(r);
        return;
    }
    r->sheets[r->n_sheets++] = sheet;
}

/* The member that a target names: relative to xl/, or from the archive's root. */
static uint32_t add_member(reader *r, const char *target)
{
    char path[512];
    size_t n = strlen(target);
    if (target[0] == '/') return rs_strings_add(&r->names, target + 1, n - 1);
    if (n + 4 > sizeof path) return 0;
    memcpy(path, "xl/", 3);
    memcpy(path + 3, target, n);
    return rs_strings_add(&r->names, path, n + 3);
}

static void on_relation(void *context, const char *name, const char **all)
{
    reader *r = context;
    const char *id = attribute(all, "Id"), *target = attribute(all, "Target"), *type = attribute(all, "Type");
    if (r->status != RS_OK || !is(name, "Relationship") || !id || !target || !type) return;
    uint32_t member = add_member(r, target), wanted = rs_strings_find(&r->names, id, strlen(id));
    if (member == RS_NO_STRING) {
        out_of_memory(r);
        return;
    }
    size_t n = strlen(type);
    if (n > 14 && strcmp(type + n - 14, "/sharedStrings") == 0) r->shared_member = member;
    for (size_t i = 0; i < r->n_sheets; i++)
        if (r->sheets[i].id == wanted) r->sheets[i].target = member;
}

static void on_any_end(void *context, const char *name)
{
    (void)context;
    (void)name;
}

/* ---- texts by number ------------------------------------------------------------------------------------- */

static void on_shared(void *context, const char *name, const char **all)
{
    reader *r = context;
    (void)all;
    if (is(name, "si")) r->length = 0;
    if (is(name, "t")) r->place = IN_TEXT;
    r->phonetic += is(name, "rPh");
}

static void on_shared_end(void *context, const char *name)
{
    reader *r = context;
    if (r->status != RS_OK) return;
    if (is(name, "t")) r->place = ELSEWHERE;
    if (is(name, "rPh") && r->phonetic) r->phonetic--;
    if (!is(name, "si")) return;
    uint32_t id = rs_strings_add(r->texts, r->length ? r->text : "", r->length);
    if (id == RS_NO_STRING || !RS_GROW_ONE(r->shared, r->n_shared, r->shared_capacity)) {
        out_of_memory(r);
        return;
    }
    r->shared[r->n_shared++] = id;
}

/* ---- cells ------------------------------------------------------------------------------------------------ */

/* The column of "BC12", from 0; `otherwise` where there is none. */
static size_t column_of(const char *reference, size_t otherwise)
{
    size_t column = 0;
    if (!reference || *reference < 'A' || *reference > 'Z') return otherwise;
    for (; *reference >= 'A' && *reference <= 'Z' && column <= MOST_COLUMNS; reference++)
        column = column * 26 + (size_t)(*reference - 'A') + 1;
    return column - 1;
}

static char type_of(const char *type)
{
    if (!type) return 'n';
    if (strcmp(type, "inlineStr") == 0 || strcmp(type, "str") == 0) return 't';
    return type[0] == 's' || type[0] == 'b' || type[0] == 'e' ? type[0] : 'n';
}

static void on_cell(void *context, const char *name, const char **all)
{
    reader *r = context;
    if (r->status != RS_OK) return;
    if (is(name, "row")) {
        r->row_is_open = false;
        r->column = SIZE_MAX; /* before the first */
    } else if (is(name, "c")) {
        r->column = column_of(attribute(all, "r"), r->column + 1);
        if (r->column >= MOST_COLUMNS) refuse(r, "a sheet has a cell beyond column 16384");
        r->type = type_of(attribute(all, "t"));
        r->length = 0;
    } else if (is(name, "v")) {
        r->place = IN_VALUE;
    } else if (is(name, "t")) {
        r->place = IN_TEXT;
    } else if (is(name, "rPh")) {
        r->phonetic++;
    }
}

/* The text of the cell that ends; false where its number is that of no text. */
static bool cell_text(reader *r, const char **text, size_t *length)
{
    *text = r->length ? r->text : "";
    *length = r->length;
    if (r->type == 's') {
        uint64_t at = 0;
        if (!r->length) return false;
        for (size_t i = 0; i < r->length; i++) {
            if (r->text[i] < '0' || r->text[i] > '9' || at > UINT32_MAX) return false;
            at = at * 10 + (uint64_t)(r->text[i] - '0');
        }
        if (at >= r->n_shared) return false;
        const rs_string *s = &r->texts->items[r->shared[at]];
        *text = s->text;
        *length = s->length;
    } else if (r->type == 'b' && r->length == 1) {
        *text = r->text[0] == '1' ? "True" : "False";
        *length = strlen(*text);
    }
    return true;
}

static bool take_header(reader *r, const char *text, size_t length)
{
    while (r->grid->n_columns < r->column) /* columns without a name */
        if (!rs_grid_add_column(r->grid, r->texts, "", 0)) return false;
    return r->column < r->grid->n_columns || rs_grid_add_column(r->grid, r->texts, text, length);
}

static void take_cell(reader *r)
{
    const char *text;
    size_t length;
    if (!cell_text(r, &text, &length)) {
        refuse(r, "a cell names a text that is not in the workbook");
        return;
    }
    if (length == 0) return;
    if (!r->header && !r->row_is_open) {
        rs_status status = rs_grid_add_row(r->grid, r->file, r->err);
        if (status != RS_OK) {
            stop(r, status);
            return;
        }
    }
    r->row_is_open = true;
    bool ok = r->header ? take_header(r, text, length)
              : r->type == 'n' || r->type == 't' || r->type == 's'
                  ? rs_grid_set(r->grid, r->texts, r->column, text, length)
                  : rs_grid_set_text(r->grid, r->texts, r->column, text, length);
    if (!ok) out_of_memory(r);
}

static void on_cell_end(void *context, const char *name)
{
    reader *r = context;
    if (r->status != RS_OK) return;
    if (is(name, "v") || is(name, "t")) r->place = ELSEWHERE;
    if (is(name, "rPh") && r->phonetic) r->phonetic--;
    if (is(name, "c") && r->column < MOST_COLUMNS) take_cell(r);
    if (is(name, "row") && r->row_is_open) r->header = false;
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

static rs_status read_member(reader *r, const rs_zip *zip, const char *name, bool needed,
                             start_handler *on_start, end_handler *on_end)
{
    rs_zip_member member;
    if (!rs_zip_find(zip, name, &member)) {
        if (!needed) return RS_OK;
        return rs_fail_at(r->err, RS_ERR_FORMAT, r->file, RS_NO_OFFSET,
                          "this is no workbook: the archive has no %.200s", name);
    }
    char *text = NULL;
    size_t n = 0;
    RS_TRY(rs_zip_read(zip, &member, MAX_TEXT, r->file, &text, &n, r->err));
    rs_status status = parse(r, text, n, on_start, on_end);
    rs_free(text);
    return status;
}

static rs_status read_sheet(reader *r, const rs_zip *zip, const listed *sheet)
{
    const rs_string *name = &r->names.items[sheet->name];
    if (!sheet->target)
        return rs_fail_at(r->err, RS_ERR_FORMAT, r->file, RS_NO_OFFSET,
                          "the workbook does not say where the sheet %.100s is", name->text);
    r->grid = rs_book_add(r->book, r->texts, name->text, name->length);
    if (!r->grid) return rs_fail_nomem(r->err, "a workbook");
    r->header = true;
    r->row_is_open = false;
    r->column = SIZE_MAX;
    return read_member(r, zip, r->names.items[sheet->target].text, true, on_cell, on_cell_end);
}

static rs_status read_book(reader *r, const rs_zip *zip)
{
    RS_TRY(read_member(r, zip, "xl/workbook.xml", true, on_workbook, on_any_end));
    RS_TRY(read_member(r, zip, "xl/_rels/workbook.xml.rels", true, on_relation, on_any_end));
    if (r->shared_member)
        RS_TRY(read_member(r, zip, r->names.items[r->shared_member].text, false, on_shared, on_shared_end));
    for (size_t i = 0; i < r->n_sheets; i++) RS_TRY(read_sheet(r, zip, &r->sheets[i]));
    return RS_OK;
}

rs_status rs_workbook_read(const void *bytes, size_t n, const char *file, rs_strings *texts, rs_book *out,
                           rs_error *err)
{
    rs_zip zip;
    reader r = {.file = file, .texts = texts, .book = out, .err = err};
    RS_TRY(rs_zip_open(bytes, n, file, &zip, err));
    rs_status status = rs_strings_init(&r.names) ? RS_OK : rs_fail_nomem(err, "a workbook");
    if (status == RS_OK) status = read_book(&r, &zip);
    rs_strings_clear(&r.names);
    rs_free_all(r.sheets, r.shared, r.text);
    return status;
}

#endif
