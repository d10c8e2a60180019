/* Sheets as pandas makes them. A sheet is a list of columns over the items of an array, and each column says what it
 * shows of a group: a key, the first value, a sum, a mean. Grouping, order, statistics and cells follow from the list.
 * A complete example, the kernels of a rank by name:
 *
 *     typedef struct kernel {
 *         uint32_t name;     // in texts
 *         int64_t duration;  // ns
 *     } kernel;
 *
 *     static const rs_tl_column columns[] = {
 *         RS_TL_COLUMN(KEY, kernel, name, "name", TEXT, NONE, "kernel"),
 *         RS_TL_COLUMN(SUM, kernel, duration, "duration_sum", TIME, US, "durations added up"),
 *         RS_TL_GROUP(COUNT, "count", INT, COUNT, "kernels"),
 *     };
 *     static const rs_tl_sheet by_name = RS_TL_SHEET("kernels", "one row is one kernel", columns, kernel,
 *                                                    .by = RS_TL_BY(kernel, duration));
 *
 *     rs_tl_items items = {.items = kernels, .n = n, .texts = &pool->strings};
 *     status = rs_tl_add_sheet(&by_name, &items, sheets, err);
 *
 * Where columns show more than an item holds, a function makes it of each item of a group when its row is made (`see`):
 * a larger struct that begins with the item.
 *
 * What is unknown: INT64_MIN, all ones of 32 bits, NaN, NULL. Statistics are of doubles, and leave unknown ones out; those of
 * int64_t (ns, all known) are exact. */
#pragma once

#include "base/layout.h"
#include "peer/python_text.h"
#include "peer/tracelens.h"

/* What a column shows of a group. */
typedef enum rs_tl_how {
    RS_TL_KEY, /* of the first item: items whose keys are all equal are a group. Without keys each item is one */
    RS_TL_DUE,   /* a key, and items that do not have it are left out */
    RS_TL_FIRST, /* of the first item */
    RS_TL_HAD,   /* of the first item that has it */
    RS_TL_ADDED, /* numbers added one by one */
    RS_TL_SUM,   /* as pandas adds them; in a column of ms doubles are us */
    RS_TL_MEAN,
    RS_TL_MEDIAN,
    RS_TL_STD,
    RS_TL_MIN,
    RS_TL_MAX,
    RS_TL_COUNT,      /* the items */
    RS_TL_PERCENT,    /* the group's of the sheet's, by what orders it */
    RS_TL_CUMULATIVE, /* the same of this and all groups above */
    RS_TL_PUT,        /* a function's */
    RS_TL_PUT_BEFORE  /* filled by the function of a column before it */
} rs_tl_how;

typedef struct rs_tl_items rs_tl_items;
typedef struct rs_tl_lot rs_tl_lot;

/* What a sheet may have: bits of `when`. */
enum { RS_TL_RECOMPUTE = 1, RS_TL_ROOFLINE = 2 };

typedef struct rs_tl_column {
    rs_column_spec spec; /* no name: a key that is not shown */
    rs_field of; /* the member of an item. TEXT: an id, a static text, or a bool, as Python prints it */
    uint8_t how;
    uint8_t when;                               /* only in sheets that have one of these bits; 0: in all */
    bool (*put)(const rs_tl_lot *, rs_table *); /* adds the cell; false: out of memory */
} rs_tl_column;

/* clang-format off */
#define RS_TL_SPEC(name, type, unit, help) .spec = {name, RS_##type, RS_UNIT_##unit, help, NULL}
#define RS_TL_COLUMN(how_, row, member, name, type, unit, help, ...)                                         \
    {RS_TL_SPEC(name, type, unit, help), .of = RS_FIELD(row, member), .how = RS_TL_##how_, __VA_ARGS__}
#define RS_TL_GROUP(how_, name, type, unit, help, ...)                                                       \
    {RS_TL_SPEC(name, type, unit, help), .how = RS_TL_##how_, __VA_ARGS__}
#define RS_TL_CELL(function, name, type, unit, help, ...)                                                    \
    {RS_TL_SPEC(name, type, unit, help), .how = RS_TL_PUT, .put = (function), __VA_ARGS__}
/* Key of the items that is no column. */
#define RS_TL_HIDDEN_KEY(row, member) {.of = RS_FIELD(row, member), .how = RS_TL_KEY}
/* Mean, median, least and greatest; with the deviation; in columns called so. */
#define RS_TL_FOUR(row, member, name, unit, help, ...)                                                       \
    RS_TL_COLUMN(MEAN, row, member, name "_mean", REAL, unit, help, __VA_ARGS__),                            \
    RS_TL_COLUMN(MEDIAN, row, member, name "_median", REAL, unit, help, __VA_ARGS__),                        \
    RS_TL_COLUMN(MIN, row, member, name "_min", REAL, unit, help, __VA_ARGS__),                              \
    RS_TL_COLUMN(MAX, row, member, name "_max", REAL, unit, help, __VA_ARGS__)
#define RS_TL_FIVE(row, member, name, unit, help, ...)                                                       \
    RS_TL_COLUMN(MEAN, row, member, name "_mean", REAL, unit, help, __VA_ARGS__),                            \
    RS_TL_COLUMN(MEDIAN, row, member, name "_median", REAL, unit, help, __VA_ARGS__),                        \
    RS_TL_COLUMN(STD, row, member, name "_std", REAL, unit, help, __VA_ARGS__),                              \
    RS_TL_COLUMN(MIN, row, member, name "_min", REAL, unit, help, __VA_ARGS__),                              \
    RS_TL_COLUMN(MAX, row, member, name "_max", REAL, unit, help, __VA_ARGS__)

#define RS_TL_BY(row, member) RS_FIELD(row, member)
#define RS_TL_SHEET(name_, help_, list, row, ...)                                                            \
    {.name = name_, .help = help_, .columns = list, .n = sizeof(list) / sizeof *(list), .size = sizeof(row), __VA_ARGS__}
/* clang-format on */

typedef struct rs_tl_sheet {
    const char *name, *help;
    const rs_tl_column *columns;
    size_t n, size; /* size: of an item */
    rs_field by;    /* groups come in falling order of the sums of this number; none: as they first appear */
    rs_field then;  /* equal ones in rising order of this number of their first items; none: as they appear */
    double scale;   /* percentages are numpy's, of sums divided by this; 0: of sums added one by one */
    size_t seen;    /* size of what `see` makes of an item; 0: columns are over the items themselves */
    void (*see)(const rs_tl_items *all, const void *item, void *out);
} rs_tl_sheet;

/* What a sheet is made of. */
struct rs_tl_items {
    const void *items;
    size_t n;
    const rs_strings *texts; /* of ids */
    uint8_t has;             /* bits of columns' `when` */
    const void *context;     /* of the functions */
};

/* A group, as functions of columns see it. */
struct rs_tl_lot {
    const rs_tl_items *all;
    const void *first;     /* item, as seen */
    const uint32_t *items; /* their numbers, rising */
    size_t n;
    double sum;    /* of what orders the sheet */
    rs_text *text; /* empty, for a cell's text */
};

/* Adds the sheet, unless it has no rows. */
rs_status rs_tl_add_sheet(const rs_tl_sheet *sheet, const rs_tl_items *items, rs_sheets *out, rs_error *err);
/* A sheet of several lists: the rows of each below those before. The first says what the sheet has. */
rs_status rs_tl_add_parts(const rs_tl_sheet *sheet, const rs_tl_items *parts, size_t n, rs_sheets *out,
                          rs_error *err);
/* Adds the item's member as a cell; NULL: an empty one. */
void rs_tl_add_member(const rs_tl_column *column, const rs_strings *texts, const void *item, rs_table *t);
/* Takes the text as the next cell and empties it; false when out of memory. */
bool rs_tl_add_python(rs_table *t, rs_text *text);

/* ---- numbers of a group -------------------------------------------------------------------------------- */

/* Statistics as pandas has them: NaN values are skipped, the deviation is that of a sample. */
typedef struct rs_tl_stats {
    size_t n;
    double sum, mean, median, std, min, max; /* NaN: unknown */
} rs_tl_stats;

rs_tl_stats rs_tl_stats_of(double *values, size_t n); /* reorders the values */
/* Rounded where numpy's round: a sum, and the deviation of all values. */
double rs_tl_numpy_sum(const double *values, size_t n);
double rs_tl_numpy_std(const double *values, size_t n, double mean);

/* Items put into groups: the numbers of the items, group after group, in the order of the items. */
typedef struct rs_tl_groups {
    size_t n;
    uint32_t *first; /* n + 1 places in item */
    uint32_t *item;
} rs_tl_groups;

/* Items of equal keys make a group; groups are in order of their first items. A key is size bytes at
 * keys + i * size. An item is left out where skip[i] is true (NULL: none). False when out of memory. */
bool rs_tl_group(const void *keys, size_t size, const bool *skip, size_t n, rs_tl_groups *out);
void rs_tl_groups_clear(rs_tl_groups *groups);
/* The groups in falling order of their sums, then of the given ids, rising (NULL: as they are). */
bool rs_tl_order(const double *sums, const uint32_t *ids, size_t n, uint32_t **out);
