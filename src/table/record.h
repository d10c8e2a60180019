/* Records: the rows of a table, declared once.
 *
 * A struct holds a row, a list of cells says which member fills which column, and what the column is called
 * and means. Of that one list are made the table's columns, the filling of its rows and, for structs that
 * travel in a partial result, their layout. A complete example:
 *
 *     typedef struct stream_row {
 *         int64_t device, n, time, first;      // ns; device: -1 is unknown
 *     } stream_row;
 *
 *     #define STREAM_ROW(CELL)                                                                       \
 *         CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                       \
 *         CELL(ID(stream_row, device), "device", INT, ID, "device ordinal", NULL)                    \
 *         CELL(OF(stream_row, n), "events", INT, COUNT, "GPU work on it", NULL)                      \
 *         CELL(OF(stream_row, time), "time_us", TIME, US, "sum of their durations", "time")          \
 *         CELL(OF(stream_row, first), "first_us", MOMENT, US, "start of the first", "first")         \
 *         CELL(SET, "share_pct", REAL, PERCENT, "time_us of the rank's", "share %")
 *     RS_RECORD(stream, STREAM_ROW);           // stream_columns, stream_cells, stream_record
 *
 *     static const rs_table_spec streams = RS_TABLE("streams", "one row is one stream", stream_columns);
 *     static const rs_layout stream_layout = RS_RECORD_LAYOUT(stream_row, stream);
 *
 *     rs_table_put(table, &stream_record, partial->rank, &row);      // all cells but those that are SET
 *     rs_table_set_real(table, "share_pct", rs_percent(row.time, all));
 *     status = rs_table_end_row(table, err);   // fails when a SET cell was forgotten
 *
 * CELL takes where the value comes from, the column's name, type, unit, meaning and heading (NULL: its name).
 * That a member fits the type of its column is checked when it is compiled. What means "unknown" in a
 * member makes an unknown cell: RS_NO_VALUE and RS_NO_TIME (INT64_MIN), RS_NO_ROW (all ones of 32 bits), NaN,
 * NULL. */
#pragma once

#include "base/layout.h"
#include "base/stats.h"
#include "rankscope/table.h"

/* Where the value of a cell comes from.
 *
 *   RANK                          the rank that rs_table_put is given
 *   SET                           computed: rs_table_set_..., once a row, in the order of the columns
 *   OF(row, member)               a member: whole number, bool (0 or 1), double, or text. In a REAL column of
 *                                 microseconds or milliseconds a whole number is nanoseconds
 *   MAYBE(row, member)            a text that may be NULL; also when it was packed elsewhere
 *   ID(row, member)               a whole number of which negative ones are unknown
 *   IF(row, member, flag)         OF, unknown while the member flag is 0 or false
 *   CHARS(row, member)            an array of char, terminated
 *   SOME_CHARS(row, member)       ... of which an empty one is unknown
 *   WORD(row, member, words)      words[member]; words is an array of texts, the member an unsigned or a bool
 *   TEXT(row, member, root, n)    an id (uint32_t) in the texts of rs_table_use_texts; RS_NO_STRING:
 *                                 unknown. In what was packed elsewhere, ids are below the member n of root
 *   MEAN(row, moments)            the mean of an rs_moments; STD: its standard deviation
 *   SHARE(row, part, whole)       100 * part / whole, unknown when whole is 0 or one of them is; both int64_t
 *   SHARE_OF_ALL(row, part)       100 * part / the same of all rows; with rs_table_put_within, as those that follow
 *   CUMULATIVE(row, part)         the same of this and all rows above
 *   FOLDED                        how many rows are in this one: 1, and more in a row of the rest */
typedef enum rs_cell_source {
    RS_CELL_RANK,
    RS_CELL_SET,
    RS_CELL_MEMBER,
    RS_CELL_MEAN,
    RS_CELL_STD,
    RS_CELL_SHARE,
    RS_CELL_SHARE_OF_ALL,
    RS_CELL_CUMULATIVE,
    RS_CELL_FOLDED
} rs_cell_source;

typedef enum rs_cell_rule {
    RS_CELL_PLAIN,
    RS_CELL_NOT_NEGATIVE,
    RS_CELL_WHERE,     /* known while the number at flag_offset is not 0 */
    RS_CELL_NOT_EMPTY, /* of chars */
    RS_CELL_WORD,
    RS_CELL_TEXT
} rs_cell_rule;

typedef struct rs_cell {
    rs_field field; /* the member, as a layout has it; of size 0 when the cell has none of its own */
    uint8_t source, rule, flag_size;
    uint32_t flag_offset; /* RS_CELL_WHERE; of RS_CELL_SHARE: the whole */
    uint32_t n_words;
    const char *const *words;
} rs_cell;

typedef struct rs_row_spec {
    const rs_column_spec *columns;
    const rs_cell *cells;
    size_t n;
} rs_row_spec;

/* Makes NAME_columns, NAME_cells and NAME_record of a list of cells. */
#define RS_RECORD(name, list)                                                                                \
    list(RS_CELL_CHECK) static const rs_column_spec name##_columns[] = {list(RS_CELL_COLUMN)};               \
    static const rs_cell name##_cells[] = {list(RS_CELL_CELL)};                                              \
    static const rs_row_spec name##_record = {name##_columns, name##_cells,                                  \
                                              sizeof name##_cells / sizeof *name##_cells}

/* The layout of a struct whose members are all cells of the record; or with more fields than these. */
#define RS_RECORD_LAYOUT(type, name)                                                                         \
    {                                                                                                        \
        .size = sizeof(type), .heads = name##_cells, .n_heads = sizeof name##_cells / sizeof *name##_cells,  \
        .stride = sizeof *name##_cells                                                                       \
    }
#define RS_RECORD_LAYOUT_AND(type, name, more)                                                               \
    {                                                                                                        \
        .size = sizeof(type), .fields = more, .n = sizeof(more) / sizeof *(more), .heads = name##_cells,     \
        .n_heads = sizeof name##_cells / sizeof *name##_cells, .stride = sizeof *name##_cells                \
    }

/* Fills the cells of the next row from a struct, all but those that are SET. The row ends with
 * rs_table_end_row, as rows that are filled by hand do. */
void rs_table_put(rs_table *table, const rs_row_spec *record, int64_t rank, const void *row);
/* Both at once, of records without SET cells. */
rs_status rs_table_put_row(rs_table *table, const rs_row_spec *record, int64_t rank, const void *row,
                           rs_error *err);

/* The rows among which a row stands: what SHARE_OF_ALL, CUMULATIVE and FOLDED cells need. Starts as {.folded = 1}; every row
 * is counted before the first is put, and passed when it has been put. */
#define RS_MAX_CELLS 48
typedef struct rs_row_within {
    int64_t all[RS_MAX_CELLS], before[RS_MAX_CELLS]; /* by cell */
    int64_t folded;
} rs_row_within;
void rs_within_count(rs_row_within *within, const rs_row_spec *record, const void *row);
void rs_within_pass(rs_row_within *within, const rs_row_spec *record, const void *row);
void rs_table_put_within(rs_table *table, const rs_row_spec *record, int64_t rank, const void *row,
                         const rs_row_within *within);

/* For a table of rs_table_create_dynamic whose columns begin with those of the record: rs_table_put fills
 * these, and the cells of the others are added after it. */
void rs_table_widens(rs_table *table, const rs_row_spec *record);

/* The texts that TEXT cells of the following rows have ids of. Borrowed until they are replaced or no such
 * row follows; NULL forgets them. */
void rs_table_use_texts(rs_table *table, const rs_strings *texts);

/* Gives a SET cell of the row its value. The name must be that of the next such column; anything else is a
 * programming error and makes rs_table_end_row fail, as does a kind that does not fit. INT64_MIN, NaN and
 * NULL are unknown. */
void rs_table_set_int(rs_table *table, const char *name, int64_t value);
void rs_table_set_time(rs_table *table, const char *name, int64_t ns); /* TIME and MOMENT */
void rs_table_set_real(rs_table *table, const char *name, double value);
void rs_table_set_text(rs_table *table, const char *name, const char *value);
void rs_table_set_text_n(rs_table *table, const char *name, const char *value, size_t length);
void rs_table_set_null(rs_table *table, const char *name);

/* Whether rs_table_count_from was called: the driver of a run leaves such tables alone. */
bool rs_table_has_origin(const rs_table *table);

/* Cells of a sample's summary: d is a member of the row that is an rs_description. */
#define RS_DESCRIPTION_CELLS(CELL, row, d, unit, what)                                                       \
    CELL(OF(row, d.n), "count", REAL, COUNT, "how many " what, NULL)                                         \
    CELL(OF(row, d.mean), "mean", REAL, unit, "mean", NULL)                                                  \
    CELL(OF(row, d.std), "std", REAL, unit, "sample deviation", NULL)                                        \
    CELL(OF(row, d.min), "min", REAL, unit, "least", NULL)                                                   \
    CELL(OF(row, d.p25), "25%", REAL, unit, "quartile", NULL)                                                \
    CELL(OF(row, d.p50), "50%", REAL, unit, "median", NULL)                                                  \
    CELL(OF(row, d.p75), "75%", REAL, unit, "quartile", NULL)                                                \
    CELL(OF(row, d.max), "max", REAL, unit, "greatest", NULL)

/* ---- what the macros are made of ---------------------------------------------------------------------- */

#define RS_CELL_COLUMN(from, name, type, unit, help, title) {name, RS_##type, RS_UNIT_##unit, help, title},
#define RS_CELL_CELL(from, name, type, unit, help, title) {RS_CELL_IS_##from},
#define RS_CELL_CHECK(from, name, type, unit, help, title)                                                   \
    _Static_assert((RS_CELL_TYPES_##from >> RS_##type) & 1,                                                  \
                   name ": the member does not fit the type of the column");

#define RS_CELL_IS_RANK .source = RS_CELL_RANK
#define RS_CELL_IS_SET .source = RS_CELL_SET
#define RS_CELL_IS_OF(row, member) .source = RS_CELL_MEMBER, .field = RS_FIELD(row, member)
#define RS_CELL_IS_MAYBE(row, member) .source = RS_CELL_MEMBER, .field = RS_FIELD_OR_NULL(row, member)
#define RS_CELL_IS_ID(row, member) RS_CELL_IS_OF(row, member), .rule = RS_CELL_NOT_NEGATIVE
#define RS_CELL_IS_IF(row, member, flag)                                                                     \
    .source = RS_CELL_MEMBER, .field = RS_FIELD_OR_NULL(row, member), .rule = RS_CELL_WHERE,                 \
    .flag_offset = offsetof(row, flag), .flag_size = sizeof RS_MEMBER(row, flag)
#define RS_CELL_IS_CHARS(row, member) .source = RS_CELL_MEMBER, .field = RS_FIELD_CHARS(row, member)
#define RS_CELL_IS_SOME_CHARS(row, member) RS_CELL_IS_CHARS(row, member), .rule = RS_CELL_NOT_EMPTY
#define RS_CELL_IS_WORD(row, member, texts)                                                                  \
    .source = RS_CELL_MEMBER, .rule = RS_CELL_WORD, .words = (texts),                                        \
    .n_words = sizeof(texts) / sizeof *(texts),                                                              \
    .field = RS_FIELD_BELOW(row, member, sizeof(texts) / sizeof *(texts))
#define RS_CELL_IS_TEXT(row, member, root, n)                                                                \
    .source = RS_CELL_MEMBER, .rule = RS_CELL_TEXT, .field = RS_FIELD_INDEX_OR_NONE(row, member, root, n)
#define RS_CELL_IS_MEAN(row, moments) .source = RS_CELL_MEAN, .field = {.offset = offsetof(row, moments)}
#define RS_CELL_IS_STD(row, moments) .source = RS_CELL_STD, .field = {.offset = offsetof(row, moments)}
#define RS_CELL_IS_SHARE(row, part, whole)                                                                   \
    .source = RS_CELL_SHARE, .field = {.offset = offsetof(row, part)}, .flag_offset = offsetof(row, whole)

#define RS_CELL_IS_SHARE_OF_ALL(row, part)                                                                   \
    .source = RS_CELL_SHARE_OF_ALL, .field = {.offset = offsetof(row, part)}
#define RS_CELL_IS_CUMULATIVE(row, part)                                                                     \
    .source = RS_CELL_CUMULATIVE, .field = {.offset = offsetof(row, part)}
#define RS_CELL_IS_FOLDED .source = RS_CELL_FOLDED

/* The types of column that the value fits, one bit each. */
#define RS_CELL_TYPE(type) (1 << (type))
#define RS_CELL_NUMBERS (RS_CELL_TYPE(RS_INT) | RS_CELL_TYPE(RS_REAL))
#define RS_CELL_TYPES_RANK RS_CELL_TYPE(RS_INT)
#define RS_CELL_TYPES_SET ~0
#define RS_CELL_TYPES_OF(row, member)                                                                        \
    (RS_KIND_OF(RS_MEMBER(row, member)) == RS_AS_TEXT   ? RS_CELL_TYPE(RS_TEXT)                              \
     : RS_KIND_OF(RS_MEMBER(row, member)) == RS_AS_REAL ? RS_CELL_TYPE(RS_REAL)                              \
     : RS_KIND_OF(RS_MEMBER(row, member)) == RS_AS_BOOL ? RS_CELL_TYPE(RS_INT)                               \
     : sizeof RS_MEMBER(row, member) < sizeof(int64_t)  ? RS_CELL_NUMBERS                                    \
                                                        : RS_CELL_NUMBERS | RS_CELL_TIMES)
#define RS_CELL_TIMES (RS_CELL_TYPE(RS_TIME) | RS_CELL_TYPE(RS_MOMENT))
#define RS_CELL_TYPES_MAYBE(row, member) RS_CELL_TYPES_OF(row, member)
#define RS_CELL_TYPES_ID(row, member) (RS_CELL_TYPES_OF(row, member) & (RS_CELL_TYPE(RS_INT) | RS_CELL_TIMES))
#define RS_CELL_TYPES_IF(row, member, flag) RS_CELL_TYPES_OF(row, member)
#define RS_CELL_TYPES_CHARS(row, member) RS_CELL_TYPE(RS_TEXT)
#define RS_CELL_TYPES_SOME_CHARS(row, member) RS_CELL_TYPE(RS_TEXT)
#define RS_CELL_TYPES_WORD(row, member, words) RS_CELL_TYPE(RS_TEXT)
#define RS_CELL_TYPES_TEXT(row, member, root, n)                                                             \
    (sizeof RS_MEMBER(row, member) == sizeof(uint32_t) ? RS_CELL_TYPE(RS_TEXT) : 0)
#define RS_CELL_TYPES_MEAN(row, moments)                                                                     \
    (sizeof RS_MEMBER(row, moments) == sizeof(rs_moments) ? RS_CELL_TYPE(RS_REAL) : 0)
#define RS_CELL_TYPES_STD(row, moments) RS_CELL_TYPES_MEAN(row, moments)
#define RS_CELL_TYPES_SHARE(row, part, whole)                                                                \
    (sizeof RS_MEMBER(row, part) + sizeof RS_MEMBER(row, whole) == 16 ? RS_CELL_TYPE(RS_REAL) : 0)

#define RS_CELL_TYPES_SHARE_OF_ALL(row, part)                                                                \
    (sizeof RS_MEMBER(row, part) == sizeof(int64_t) ? RS_CELL_TYPE(RS_REAL) : 0)
#define RS_CELL_TYPES_CUMULATIVE(row, part) RS_CELL_TYPES_SHARE_OF_ALL(row, part)
#define RS_CELL_TYPES_FOLDED RS_CELL_TYPE(RS_INT)
