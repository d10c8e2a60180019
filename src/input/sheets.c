#include "input/sheets.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/order.h"
#include "base/try.h"
#include "input/source.h"
#include "text/numbers.h"

#define MAX_TEXT ((size_t)1 << 30)

/* ---- cells ---------------------------------------------------------------------------------------------- */

rs_grid *rs_book_add(rs_book *book, rs_strings *texts, const char *name, size_t length)
{
    uint32_t id = rs_strings_add(texts, name, length);
    if (id == RS_NO_STRING || !RS_GROW_ONE(book->grids, book->n, book->capacity)) return NULL;
    rs_grid *grid = &book->grids[book->n++];
    *grid = (rs_grid){.name = id};
    return grid;
}

void rs_book_clear(rs_book *book)
{
    for (size_t i = 0; i < book->n; i++) {
        rs_free_all(book->grids[i].columns, book->grids[i].cells);
    }
    rs_free(book->grids);
    *book = (rs_book){0};
}

const rs_grid *rs_book_find(const rs_book *book, const rs_strings *texts, const char *name)
{
    uint32_t id = rs_strings_find(texts, name, strlen(name));
    for (size_t i = 0; i < book->n; i++)
        if (book->grids[i].name == id) return &book->grids[i];
    return NULL;
}

bool rs_grid_add_column(rs_grid *grid, rs_strings *texts, const char *text, size_t length)
{
    uint32_t id = rs_strings_add(texts, text, length);
    if (id == RS_NO_STRING || !RS_PUSH(grid->columns, grid->n_columns, grid->columns_capacity, id))
        return false;
    return true;
}

rs_status rs_grid_add_row(rs_grid *grid, const char *file, rs_error *err)
{
    size_t need = grid->n_cells + grid->n_columns;
    if (need > RS_GRID_CELLS)
        return rs_fail_at(err, RS_ERR_LIMIT, file, RS_NO_OFFSET,
                          "a sheet has more than the %zu cells that are read", RS_GRID_CELLS);
    if (!rs_grow((void **)&grid->cells, &grid->cells_capacity, need, sizeof *grid->cells))
        return rs_fail_nomem(err, "a sheet");
    for (; grid->n_cells < need; grid->n_cells++)
        grid->cells[grid->n_cells] = (rs_grid_cell){.kind = RS_GRID_EMPTY};
    grid->n_rows++;
    return RS_OK;
}

static rs_grid_cell *last_row(rs_grid *grid)
{
    return grid->cells + (grid->n_cells - grid->n_columns);
}

bool rs_grid_set_text(rs_grid *grid, rs_strings *texts, size_t column, const char *text, size_t length)
{
    if (column >= grid->n_columns || length == 0) return true;
    rs_grid_cell cell = {.text = rs_strings_add(texts, text, length), .kind = RS_GRID_TEXT};
    last_row(grid)[column] = cell;
    return cell.text != RS_NO_STRING;
}

bool rs_grid_set(rs_grid *grid, rs_strings *texts, size_t column, const char *text, size_t length)
{
    rs_grid_cell cell = {.kind = RS_GRID_NUMBER};
    if (column >= grid->n_columns || !rs_parse_real(text, length, &cell.number))
        return rs_grid_set_text(grid, texts, column, text, length);
    last_row(grid)[column] = cell;
    return true;
}

/* ---- CSV ------------------------------------------------------------------------------------------------ */

/* A text that is taken apart: fields are decoded into `field`. */
typedef struct csv {
    const char *at, *end;
    char *field;
    size_t length;
    bool last; /* of its line */
} csv;

/* The next field. False when a quote stays open. */
static bool next_field(csv *c)
{
    c->length = 0;
    bool quoted = c->at < c->end && *c->at == '"';
    if (quoted) c->at++;
    for (; c->at < c->end; c->at++) {
        char letter = *c->at;
        if (quoted && letter == '"') {
            if (c->at + 1 == c->end || c->at[1] != '"') break;
            c->at++;
        } else if (!quoted && (letter == ',' || letter == '\n' || letter == '\r')) {
            break;
        }
        c->field[c->length++] = letter;
    }
    if (quoted && c->at == c->end) return false;
    if (quoted) c->at++;
    /* what is after a closing quote belongs to the field */
    while (c->at < c->end && *c->at != ',' && *c->at != '\n' && *c->at != '\r')
        c->field[c->length++] = *c->at++;
    c->last = c->at == c->end || *c->at != ',';
    if (c->at < c->end && *c->at == '\r') c->at++;
    if (c->at < c->end && (*c->at == '\n' || *c->at == ',')) c->at++;
    return true;
}

static rs_status read_line(csv *c, rs_grid *grid, rs_strings *texts, bool header, const char *file,
                           const char *begin, rs_error *err)
{
    const char *line = c->at;
    if (!header) RS_TRY(rs_grid_add_row(grid, file, err));
    size_t column = 0;
    do {
        if (!next_field(c))
            return rs_fail_at(err, RS_ERR_FORMAT, file, (uint64_t)(line - begin), "a quote is never closed");
        if (!header && column == grid->n_columns && (c->length || !c->last))
            return rs_fail_at(err, RS_ERR_FORMAT, file, (uint64_t)(line - begin),
                              "a line has more fields than the first one");
        bool ok = header ? rs_grid_add_column(grid, texts, c->field, c->length)
                         : rs_grid_set(grid, texts, column, c->field, c->length);
        if (!ok) return rs_fail_nomem(err, "a sheet");
        column++;
    } while (!c->last);
    return RS_OK;
}

rs_status rs_csv_read(const char *text, size_t n, const char *file, const char *name, size_t name_length,
                      rs_strings *texts, rs_book *out, rs_error *err)
{
    csv c = {.at = text, .end = text + n};
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c.at += 3;
    rs_grid *grid = rs_book_add(out, texts, name, name_length);
    c.field = rs_malloc(n + 1);
    rs_status status = grid && c.field ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (bool header = true; status == RS_OK && c.at < c.end; header = false)
        status = read_line(&c, grid, texts, header, file, text, err);
    rs_free(c.field);
    return status;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static rs_status read_text(const char *path, uint8_t **text, size_t *n, rs_error *err)
{
    rs_source *source = NULL;
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = rs_source_read_all(source, MAX_TEXT, text, n, err);
    rs_source_close(source);
    return status;
}

bool rs_book_is_workbook(const char *path)
{
    FILE *file = fopen(path, "rb");
    char head[4] = {0};
    if (!file) return false;
    bool is = fread(head, 1, 4, file) == 4 && memcmp(head, "PK\3\4", 4) == 0;
    fclose(file);
    return is;
}

static char *path_in(const char *folder, const char *name, const char *ending)
{
    size_t room = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = rs_malloc(room);
    if (path) snprintf(path, room, "%s/%s%s", folder, name, ending);
    return path;
}

bool rs_book_has_csv(const char *folder, const char *name)
{
    struct stat info;
    RS_LOCAL char *path = path_in(folder, name, ".csv");
    return path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_csv(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".csv") == 0;
}

static const rs_order by_name[] = {RS_RISING_VALUE(char *)};

/* Owned names, sorted. */
typedef struct name_list {
    char **items;
    size_t n, capacity;
} name_list;

static rs_status list_folder(const char *folder, name_list *names, rs_error *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return rs_fail_at(err, RS_ERR_IO, folder, RS_NO_OFFSET, "cannot open the folder: %s",
                          strerror(errno));
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        if (!is_csv(entry->d_name)) continue;
        ok = RS_GROW_ONE(names->items, names->n, names->capacity);
        if (ok) ok = (names->items[names->n] = rs_strdup(entry->d_name)) != NULL;
        if (ok) names->n++;
    }
    closedir(dir);
    if (!ok) return rs_fail_nomem(err, "the files of a folder");
    RS_SORT(names->items, names->n, by_name);
    return RS_OK;
}

static rs_status read_csv(const char *folder, const char *name, rs_strings *texts, rs_book *out,
                          rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    size_t n = 0;
    RS_LOCAL char *path = path_in(folder, name, "");
    rs_status status = path ? read_text(path, &text, &n, err) : rs_fail_nomem(err, "a file name");
    if (status == RS_OK)
        status = rs_csv_read((const char *)text, n, path, name, strlen(name) - 4, texts, out, err);
    return status;
}

static rs_status read_folder(const char *folder, rs_strings *texts, rs_book *out, rs_error *err)
{
    name_list names = {0};
    rs_status status = list_folder(folder, &names, err);
    for (size_t i = 0; status == RS_OK && i < names.n; i++)
        status = read_csv(folder, names.items[i], texts, out, err);
    for (size_t i = 0; i < names.n; i++) rs_free(names.items[i]);
    rs_free(names.items);
    return status;
}

rs_status rs_book_read(const char *path, rs_strings *texts, rs_book *out, rs_error *err)
{
    struct stat info;
    *out = (rs_book){0};
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return read_folder(path, texts, out, err);
    uint8_t *bytes = NULL;
    size_t n = 0;
    RS_TRY(read_text(path, &bytes, &n, err));
    rs_status status = rs_workbook_read(bytes, n, path, texts, out, err);
    rs_free(bytes);
    return status;
}
