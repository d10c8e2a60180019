#include "analysis/frame_args.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/problems.h"
#include "text/numbers.h"

#define MAX_CELLS ((size_t)1 << 30)

/* ---- what is wanted --------------------------------------------------------------------------------- */

static bool wants_all(const char *wanted)
{
    return strcmp(wanted, "all") == 0;
}

/* The next name of a list; *list is behind it, NULL after the last one. */
static rs_string next_name(const char **list)
{
    const char *begin = *list, *comma = strchr(begin, ',');
    size_t n = comma ? (size_t)(comma - begin) : strlen(begin);
    *list = comma ? comma + 1 : NULL;
    return (rs_string){.text = begin, .length = (uint32_t)n};
}

static bool same_text(const rs_string *s, const char *text, size_t n)
{
    return s->length == n && memcmp(s->text, text, n) == 0;
}

static bool is_wanted(const char *wanted, const char *name, size_t n)
{
    if (wants_all(wanted)) return true;
    while (wanted) {
        rs_string one = next_name(&wanted);
        if (same_text(&one, name, n)) return true;
    }
    return false;
}

/* The column of an argument's name, or RS_N_COLUMNS. */
static rs_column_id column_of(const char *name, size_t n)
{
    for (size_t i = 0; i < RS_COL_FLOW_ID; i++)
        if (rs_column_infos[i].key_length == n && memcmp(rs_column_infos[i].key, name, n) == 0)
            return (rs_column_id)i;
    return RS_N_COLUMNS;
}

uint64_t rs_frame_args_columns(const char *wanted)
{
    uint64_t columns = 0;
    if (!wanted) return 0;
    if (wants_all(wanted)) return RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS;
    while (wanted) {
        rs_string name = next_name(&wanted);
        rs_column_id id = column_of(name.text, name.length);
        columns |= id == RS_N_COLUMNS ? RS_OTHER_ARGUMENTS : UINT64_C(1) << id;
    }
    return columns;
}

static rs_status check_names(const char *wanted, rs_error *err)
{
    while (wanted) {
        if (next_name(&wanted).length == 0)
            return rs_fail(err, RS_ERR_USAGE,
                           "--args takes the names of arguments, with commas between, or all");
    }
    return RS_OK;
}

/* The column that shows an argument in any case, or NULL. */
static const rs_column_spec *shown_by(const rs_frame_fixed *fixed, rs_column_id id)
{
    for (size_t i = 0; i < fixed->n_shown; i++)
        if (fixed->shown[i].id == id) return &fixed->spec->columns[fixed->shown[i].at];
    return NULL;
}

/* ---- one rank --------------------------------------------------------------------------------------- */

struct rs_frame_args {
    const rs_events *e;
    rs_strings *strings;
    rs_column_id columns[RS_N_COLUMNS];
    uint32_t column_names[RS_N_COLUMNS]; /* in strings */
    size_t n_columns;
    struct {
        uint32_t name; /* in strings; RS_NO_STRING: not wanted */
        bool twice;    /* a column has the same name: the key was spelled with escapes */
    } * others;
};

static bool choose_columns(rs_frame_args *a, const char *wanted, const rs_frame_fixed *fixed)
{
    for (size_t i = 0; i < RS_COL_FLOW_ID; i++) {
        const rs_column_info *info = &rs_column_infos[i];
        if (shown_by(fixed, (rs_column_id)i) || !is_wanted(wanted, info->key, info->key_length)) continue;
        uint32_t name = rs_strings_add(a->strings, info->key, info->key_length);
        if (name == RS_NO_STRING) return false;
        a->columns[a->n_columns] = (rs_column_id)i;
        a->column_names[a->n_columns++] = name;
    }
    return true;
}

static bool choose_others(rs_frame_args *a, const char *wanted)
{
    const rs_others *others = &a->e->others;
    a->others = rs_calloc(others->n_names + 1, sizeof *a->others);
    if (!a->others) return false;
    for (size_t i = 0; i < others->n_names; i++) {
        const rs_string *s = &a->e->strings.items[others->names[i].text];
        a->others[i].name = RS_NO_STRING;
        a->others[i].twice = column_of(s->text, s->length) < RS_N_COLUMNS;
        if (!is_wanted(wanted, s->text, s->length)) continue;
        a->others[i].name = rs_strings_add(a->strings, s->text, s->length);
        if (a->others[i].name == RS_NO_STRING) return false;
    }
    return true;
}

rs_status rs_frame_args_begin(const char *wanted, const rs_frame_fixed *fixed, const rs_events *e,
                              rs_strings *strings, rs_frame_args **out, rs_error *err)
{
    *out = NULL;
    if (!wanted) return RS_OK;
    rs_status status = check_names(wanted, err);
    if (status != RS_OK) return status;
    rs_frame_args *a = rs_calloc(1, sizeof *a);
    if (!a) return rs_fail_nomem(err, "arguments");
    a->e = e;
    a->strings = strings;
    if (!choose_columns(a, wanted, fixed) || !choose_others(a, wanted)) {
        rs_frame_args_free(a);
        return rs_fail_nomem(err, "arguments");
    }
    *out = a;
    return RS_OK;
}

void rs_frame_args_free(rs_frame_args *a)
{
    if (!a) return;
    rs_free_all(a->others, a);
}

/* text: the trace's string id of a text. */
static bool add_cell(rs_frame_args *a, rs_frame_cells *out, rs_frame_cell cell)
{
    if (cell.kind == RS_OTHER_TEXT) {
        const rs_string *s = &a->e->strings.items[cell.value];
        uint32_t id = rs_strings_add(a->strings, s->text, s->length);
        if (id == RS_NO_STRING) return false;
        cell.value = id;
    }
    if (out->n == out->capacity) {
        size_t wanted = out->capacity ? out->capacity * 2 : 1024;
        if (wanted > SIZE_MAX / 2 / sizeof cell) return false;
        rs_frame_cell *grown = rs_big_resize(out->items, wanted * sizeof cell);
        if (!grown) return false;
        out->items = grown;
        out->capacity = wanted;
    }
    out->items[out->n++] = cell;
    return true;
}

/* The value of a column that has one. */
static bool read_column(const rs_events *e, rs_column_id id, uint32_t event, rs_frame_cell *cell)
{
    double real;
    uint32_t text;
    switch (rs_column_infos[id].type) {
    case RS_COLUMN_INT: cell->kind = RS_OTHER_INT; return rs_events_int(e, id, event, &cell->value);
    case RS_COLUMN_REAL:
        cell->kind = RS_OTHER_REAL;
        if (!rs_events_real(e, id, event, &real)) return false;
        memcpy(&cell->value, &real, sizeof real);
        return true;
    default:
        cell->kind = RS_OTHER_TEXT;
        text = rs_events_text(e, id, event);
        cell->value = text;
        return text != RS_NO_STRING;
    }
}

bool rs_frame_args_read(rs_frame_args *a, uint32_t event, uint32_t row, rs_frame_cells *out)
{
    if (!a) return true;
    size_t first = out->n;
    for (size_t i = 0; i < a->n_columns; i++) {
        rs_frame_cell cell = {.row = row, .name = a->column_names[i]};
        if (read_column(a->e, a->columns[i], event, &cell) && !add_cell(a, out, cell)) return false;
    }
    const rs_others *others = &a->e->others;
    for (size_t i = rs_other_first(others, event); i < others->n && others->rows[i] == event; i++) {
        uint32_t name = a->others[others->name[i]].name;
        if (name == RS_NO_STRING || others->kind[i] == RS_OTHER_NONE) continue;
        bool has = false;
        for (size_t k = first; a->others[others->name[i]].twice && k < out->n && !has; k++)
            has = out->items[k].name == name;
        const rs_frame_cell cell = {
            .row = row, .name = name, .kind = others->kind[i], .value = others->value[i]};
        if (!has && !add_cell(a, out, cell)) return false;
    }
    return true;
}

/* ---- partials that travel --------------------------------------------------------------------------- */

static const rs_field cell_fields[] = {
    RS_FIELDS(rs_frame_cell, row, name),
    RS_FIELD_BELOW(rs_frame_cell, kind, RS_N_OTHER_KINDS),
    RS_FIELD(rs_frame_cell, value),
};
const rs_layout rs_frame_cell_layout = RS_LAYOUT(rs_frame_cell, cell_fields);

bool rs_frame_cells_exist(const rs_frame_cell *cells, size_t n, size_t n_rows, size_t n_strings)
{
    for (size_t i = 0; i < n; i++) {
        const rs_frame_cell *c = &cells[i];
        if (c->row >= n_rows || c->name >= n_strings || (i && c->row < cells[i - 1].row)) return false;
        if (c->kind == RS_OTHER_TEXT && (c->value < 0 || (uint64_t)c->value >= n_strings)) return false;
    }
    return true;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

/* What the values of a column are. */
enum { HAS_INT = 1, HAS_LARGE_INT = 2, HAS_REAL = 4, HAS_TEXT = 8 };

typedef struct wide_column {
    const char *name; /* as the header has it */
    uint8_t has;
    uint32_t id; /* in strings */
} wide_column;

struct rs_frame_wide {
    rs_strings strings; /* headers */
    wide_column *columns;
    size_t n, capacity;
    uint32_t *place; /* by header's id: which column, RS_NO_STRING: left out */
    struct {
        uint32_t *header; /* by the part's string id: the header's id + 1; 0: no name */
        size_t at;        /* the next cell */
    } * parts;
    size_t n_parts;
    const rs_frame_part *given;
    const rs_frame_cell **row; /* by column: its cell in the row that is being written */
};

void rs_frame_wide_free(rs_frame_wide *w)
{
    if (!w) return;
    for (size_t i = 0; w->parts && i < w->n_parts; i++) rs_free(w->parts[i].header);
    rs_free_all(w->parts, w->row, w->place, w->columns);
    rs_strings_clear(&w->strings);
    rs_free(w);
}

/* The column of a header, added if new. NULL when out of memory. */
static wide_column *column_named(rs_frame_wide *w, const char *header, size_t n)
{
    uint32_t id = rs_strings_add(&w->strings, header, n);
    if (id == RS_NO_STRING) return NULL;
    for (size_t from = w->n; from <= id; from++) {
        if (!RS_GROW_ONE(w->columns, w->n, w->capacity)) return NULL;
        w->columns[w->n] = (wide_column){.id = (uint32_t)w->n};
        w->n++;
    }
    w->columns[id].name = w->strings.items[id].text;
    return &w->columns[id];
}

/* An argument's header: its name. Names that the frame itself has, and those that look like what comes of it,
 * get "args." before; a header is a C string, so that NUL in a name becomes a space. */
static wide_column *column_of_argument(rs_frame_wide *w, const rs_frame_fixed *fixed, const rs_string *name)
{
    static const char before[] = "args.";
    const size_t n_before = sizeof before - 1;
    bool clash = name->length >= n_before && memcmp(name->text, before, n_before) == 0;
    for (size_t i = 0; i < fixed->spec->n_columns; i++)
        clash |= same_text(name, fixed->spec->columns[i].name, strlen(fixed->spec->columns[i].name));
    for (size_t i = 0; i < fixed->n_more; i++)
        clash |= same_text(name, fixed->more[i].name, strlen(fixed->more[i].name));
    char *header = rs_malloc(n_before + name->length + 1);
    if (!header) return NULL;
    memcpy(header, before, n_before);
    memcpy(header + n_before, name->text, name->length);
    for (size_t i = 0; i < name->length; i++)
        if (!header[n_before + i]) header[n_before + i] = ' ';
    wide_column *c =
        column_named(w, clash ? header : header + n_before, name->length + (clash ? n_before : 0));
    rs_free(header);
    return c;
}

static uint8_t what_is(const rs_frame_cell *c)
{
    static const int64_t exact = INT64_C(1) << 53; /* whole numbers up to it are doubles, too */
    switch ((rs_other_kind)c->kind) {
    case RS_OTHER_INT: return c->value >= -exact && c->value <= exact ? HAS_INT : HAS_INT | HAS_LARGE_INT;
    case RS_OTHER_REAL: return HAS_REAL;
    default: return HAS_TEXT;
    }
}

static bool gather_part(rs_frame_wide *w, const rs_frame_fixed *fixed, size_t at)
{
    const rs_frame_part *part = &w->given[at];
    uint32_t *header = rs_calloc(part->strings->n + 1, sizeof *header);
    w->parts[at].header = header;
    if (!header) return false;
    for (size_t i = 0; i < part->n; i++) {
        const rs_frame_cell *c = &part->cells[i];
        if (!header[c->name]) {
            const wide_column *column = column_of_argument(w, fixed, &part->strings->items[c->name]);
            if (!column) return false;
            header[c->name] = column->id + 1;
        }
        w->columns[header[c->name] - 1].has |= what_is(c);
    }
    return true;
}

/* Names that were asked for one by one have a column even if no event has them. */
static bool gather_wanted(rs_frame_wide *w, const char *wanted, const rs_frame_fixed *fixed,
                          rs_result *result)
{
    while (wanted && !wants_all(wanted)) {
        rs_string name = next_name(&wanted);
        rs_column_id id = column_of(name.text, name.length);
        const rs_column_spec *shown = id < RS_N_COLUMNS ? shown_by(fixed, id) : NULL;
        if (shown) {
            rs_result_note(result, "argument %.*s is column %s", (int)name.length, name.text, shown->name);
            continue;
        }
        const wide_column *c = column_of_argument(w, fixed, &name);
        if (!c) return false;
        if (!c->has) rs_result_note(result, "no row has an argument %.*s", (int)name.length, name.text);
    }
    return true;
}

static const rs_order by_name[] = {RS_RISING(wide_column, name)};

/* Sorts the columns, and leaves out what is too many. */
static bool arrange(rs_frame_wide *w, rs_result *result)
{
    size_t n = 0;
    w->place = rs_malloc((w->n + 1) * sizeof *w->place);
    if (!w->place) return false;
    for (size_t i = 0; i < w->n; i++) w->place[i] = RS_NO_STRING;
    for (size_t i = 0; i < w->n; i++)
        if (w->columns[i].name) w->columns[n++] = w->columns[i];
    w->n = n;
    RS_SORT(w->columns, n, by_name);
    if (n > RS_MAX_OTHERS) {
        const rs_problem like = {.kind = "too_many_arguments",
                                 .message =
                                     "more names of arguments than a table may have columns (1024); the "
                                     "last ones in the order of the alphabet are left out",
                                 .rank = -1,
                                 .severity = RS_LOSS,
                                 .count = n - RS_MAX_OTHERS};
        rs_problems_count(&result->problems, &like);
        w->n = RS_MAX_OTHERS;
    }
    for (size_t i = 0; i < w->n; i++) w->place[w->columns[i].id] = (uint32_t)i;
    w->row = rs_calloc(w->n + 1, sizeof *w->row);
    return w->row != NULL;
}

static rs_type type_of(uint8_t has)
{
    if (has == 0 || (has & HAS_TEXT) || (has & (HAS_REAL | HAS_LARGE_INT)) == (HAS_REAL | HAS_LARGE_INT))
        return RS_TEXT;
    return has & HAS_REAL ? RS_REAL : RS_INT;
}

static rs_table *make_table(const rs_frame_wide *w, const rs_frame_fixed *f)
{
    const rs_table_spec *fixed = f->spec;
    size_t n = fixed->n_columns + f->n_more;
    rs_column_spec *columns = rs_calloc(n + w->n, sizeof *columns);
    if (!columns) return NULL;
    memcpy(columns, fixed->columns, fixed->n_columns * sizeof *columns);
    if (f->n_more) memcpy(columns + fixed->n_columns, f->more, f->n_more * sizeof *columns);
    for (size_t i = 0; i < w->n; i++)
        columns[n + i] = (rs_column_spec){.name = w->columns[i].name,
                                          .type = type_of(w->columns[i].has),
                                          .help = "the argument of that name"};
    const rs_table_spec spec = {fixed->name, fixed->help, columns, n + w->n};
    rs_table *table = rs_table_create_dynamic(&spec);
    rs_free(columns);
    return table;
}

static rs_status check_size(const rs_frame_wide *w, rs_error *err)
{
    size_t rows = 0;
    for (size_t i = 0; i < w->n_parts; i++)
        if (__builtin_add_overflow(rows, w->given[i].n_rows, &rows)) rows = SIZE_MAX;
    if (!w->n || rows <= MAX_CELLS / w->n) return RS_OK;
    return rs_fail(
        err, RS_ERR_LIMIT,
        "%zu rows of %zu further arguments are too many: name those you need with --args, or choose "
        "ranks or steps",
        rows, w->n);
}

rs_status rs_frame_wide_begin(const char *wanted, const rs_frame_fixed *fixed, const rs_frame_part *parts,
                              size_t n, rs_result *result, rs_frame_wide **out, rs_error *err)
{
    *out = NULL;
    if (!wanted && !fixed->n_more) return RS_OK;
    rs_frame_wide *w = rs_calloc(1, sizeof *w);
    bool ok = w && rs_strings_init(&w->strings);
    if (ok) {
        w->given = parts;
        w->n_parts = n;
        w->parts = rs_calloc(n + 1, sizeof *w->parts);
        ok = w->parts != NULL;
    }
    for (size_t i = 0; ok && i < n; i++) ok = gather_part(w, fixed, i);
    ok = ok && gather_wanted(w, wanted, fixed, result) && arrange(w, result);
    rs_status status = ok ? check_size(w, err) : rs_fail_nomem(err, "arguments");
    if (status == RS_OK && w->n + fixed->n_more) {
        rs_table *table = make_table(w, fixed);
        if (table) {
            rs_table_widens(table, fixed->record);
            rs_table_free(result->tables[0]);
            result->tables[0] = table;
        } else {
            status = rs_fail_nomem(err, "arguments");
        }
    }
    if (status == RS_OK && w->n)
        *out = w;
    else
        rs_frame_wide_free(w);
    return status;
}

static void add_as_text(rs_table *table, const rs_frame_cell *c, const rs_strings *strings)
{
    char digits[RS_NUMBER_SIZE + 24];
    double real;
    if (c->kind == RS_OTHER_TEXT) {
        const rs_string *s = &strings->items[c->value];
        rs_table_add_text_n(table, s->text, s->length);
    } else if (c->kind == RS_OTHER_INT) {
        int n = snprintf(digits, sizeof digits, "%lld", (long long)c->value);
        rs_table_add_text_n(table, digits, (size_t)n);
    } else {
        memcpy(&real, &c->value, sizeof real);
        rs_table_add_text_n(table, digits, rs_format_real(real, digits));
    }
}

static void add_cell_to(rs_table *table, rs_type type, const rs_frame_cell *c, const rs_strings *strings)
{
    double real;
    if (!c) {
        rs_table_add_null(table);
    } else if (type == RS_INT) {
        rs_table_add_int(table, c->value);
    } else if (type == RS_TEXT) {
        add_as_text(table, c, strings);
    } else {
        memcpy(&real, &c->value, sizeof real);
        rs_table_add_real(table, c->kind == RS_OTHER_INT ? (double)c->value : real);
    }
}

void rs_frame_wide_add(rs_frame_wide *w, size_t at, uint32_t row, rs_table *table)
{
    if (!w) return;
    const rs_frame_part *part = &w->given[at];
    size_t *next = &w->parts[at].at;
    for (; *next < part->n && part->cells[*next].row <= row; ++*next) {
        const rs_frame_cell *c = &part->cells[*next];
        if (c->row != row) continue; /* of a row that was left out */
        uint32_t place = w->place[w->parts[at].header[c->name] - 1];
        if (place != RS_NO_STRING && !w->row[place]) w->row[place] = c;
    }
    for (size_t i = 0; i < w->n; i++) {
        add_cell_to(table, type_of(w->columns[i].has), w->row[i], part->strings);
        w->row[i] = NULL;
    }
}
