/* Relations: rows of one struct, and how rows are grouped and added up.
 *
 * A relation's columns are the members of its struct, described by rs_fields, so that one function groups, sorts, packs
 * and prints all of them. A complete example: the GPU work of a rank, added up by stream.
 *
 *     typedef struct stream_sum {
 *         int64_t device, stream, n;
 *         rs_moments time;            // ns
 *     } stream_sum;
 *
 *     static const rs_aggregate by_stream[] = {
 *         RS_KEY(stream_sum, device, rs_work_row, device), RS_KEY(stream_sum, stream, rs_work_row, stream),
 *         RS_COUNTED(stream_sum, n),                       RS_MOMENTS(stream_sum, time, rs_work_row, length),
 *     };
 *
 *     rs_relation streams = {.size = sizeof(stream_sum)};
 *     rs_grouper g;
 *     rs_grouper_open(&g, by_stream, 4, &streams);
 *     for (...) rs_grouper_add(&g, &work_row);
 *     if (!rs_grouper_close(&g)) return rs_fail_nomem(err, "streams");
 *
 * What is unknown is left out of every aggregate: INT64_MIN, all ones of 32 bits, NaN. */
#pragma once

#include "base/interval.h"
#include "base/order.h"
#include "base/stats.h"

typedef struct rs_relation {
    void *rows;
    size_t n, capacity, size; /* size: of a row */
} rs_relation;

/* A copy of the row, appended; NULL when out of memory. */
void *rs_relation_add(rs_relation *relation, const void *row);
void rs_relation_clear(rs_relation *relation);

/* How a member of a group's row is made of the rows that are added. */
typedef enum rs_aggregate_how {
    RS_BY_KEY,         /* rows with equal keys are one group */
    RS_BY_COUNT,       /* the rows */
    RS_BY_KNOWN,       /* the rows in which the member is known */
    RS_BY_SUM,         /* of whole numbers held at the ends of int64; of reals where the member is one */
    RS_BY_LEAST,       /* unknown until there is one */
    RS_BY_GREATEST,    /* ...; both of reals, too */
    RS_BY_FIRST,       /* as the group's first row has it */
    RS_BY_MOMENTS,     /* rs_moments of whole numbers */
    RS_BY_MERGED,      /* rs_moments of rs_moments */
    RS_BY_DESCRIPTION, /* rs_description of numbers, divided by `per`; there once the grouper is closed */
    RS_BY_UNION,       /* the length of the union of intervals; there once the grouper is closed */
    RS_BY_TOTAL, /* the sum of a member of all groups, or those with the same first key; there once closed */
    RS_BY_HAND   /* the group's first row has 0, whoever reads the groups fills it */
} rs_aggregate_how;

typedef struct rs_aggregate {
    rs_field field; /* of the group's row; the layout of packed groups is made of these */
    uint8_t how, from_kind, from_size, until_size;
    uint32_t from, until; /* offsets in the row that is added; until: the end of an interval */
    double per;
} rs_aggregate;

/* clang-format off */
#define RS_FROM(type, member)                                                                                \
    .from = offsetof(type, member), .from_size = sizeof RS_MEMBER(type, member),                             \
    .from_kind = RS_KIND_OF(RS_MEMBER(type, member))
/* 0, and a compiler's error where a copied member has another size than what it is copied from. */
#define RS_AS_LARGE(row, member, type, of)                                                                   \
    (0 * sizeof(char[sizeof RS_MEMBER(row, member) == sizeof RS_MEMBER(type, of) ? 1 : -1]))
#define RS_COPIED(kind, its_field, row, member, type, of)                                                    \
    {.field = its_field, .how = (kind) + RS_AS_LARGE(row, member, type, of), RS_FROM(type, of)}
#define RS_ADDED(kind, row, member, type, of)                                                                \
    {.field = RS_FIELD(row, member), .how = (kind) + RS_AS_LARGE(row, member, rs_moments, sum), RS_FROM(type, of)}
#define RS_IN_MOMENTS(row, member) RS_FIELD_STRUCT(row, member, &rs_moments_layout)

#define RS_KEY(row, member, type, of) RS_COPIED(RS_BY_KEY, RS_FIELD(row, member), row, member, type, of)
/* A key of which unpacked values must lie below an end. */
#define RS_KEY_BELOW(row, member, end, type, of)                                                             \
    RS_COPIED(RS_BY_KEY, RS_FIELD_BELOW(row, member, end), row, member, type, of)
#define RS_FIRST_BELOW(row, member, end, type, of)                                                           \
    RS_COPIED(RS_BY_FIRST, RS_FIELD_BELOW(row, member, end), row, member, type, of)
#define RS_FIRST(row, member, type, of) RS_COPIED(RS_BY_FIRST, RS_FIELD(row, member), row, member, type, of)
#define RS_COUNTED(row, member)                                                                              \
    {.field = RS_FIELD(row, member), .how = RS_BY_COUNT + RS_AS_LARGE(row, member, rs_moments, sum)}
#define RS_KNOWN(row, member, type, of) RS_ADDED(RS_BY_KNOWN, row, member, type, of)
#define RS_SUMMED(row, member, type, of) RS_ADDED(RS_BY_SUM, row, member, type, of)
#define RS_LEAST(row, member, type, of) RS_ADDED(RS_BY_LEAST, row, member, type, of)
#define RS_GREATEST(row, member, type, of) RS_ADDED(RS_BY_GREATEST, row, member, type, of)
#define RS_MOMENTS(row, member, type, of)                                                                    \
    {.field = RS_IN_MOMENTS(row, member), .how = RS_BY_MOMENTS, RS_FROM(type, of)}
#define RS_MERGED(row, member, type, of)                                                                     \
    {.field = RS_IN_MOMENTS(row, member), .how = RS_BY_MERGED, .from = offsetof(type, of)}
#define RS_DESCRIBED(row, member, type, of, divided_by)                                                      \
    {.field = RS_FIELD_STRUCT(row, member, &rs_description_layout), .how = RS_BY_DESCRIPTION,                \
     RS_FROM(type, of), .per = (divided_by)}
#define RS_UNITED(row, member, type, starts, ends)                                                           \
    {.field = RS_FIELD(row, member), .how = RS_BY_UNION, RS_FROM(type, starts), .until = offsetof(type, ends)}
/* of: a member of the group's row, whose first key is `first`. */
#define RS_TOTAL(row, member, of, first)                                                                     \
    {.field = RS_FIELD(row, member), .how = RS_BY_TOTAL + RS_AS_LARGE(row, member, row, of),                 \
     .from = offsetof(row, of), .until = offsetof(row, first), .until_size = sizeof RS_MEMBER(row, first)}
#define RS_TOTAL_OF_ALL(row, member, of)                                                                     \
    {.field = RS_FIELD(row, member), .how = RS_BY_TOTAL + RS_AS_LARGE(row, member, row, of),                 \
     .from = offsetof(row, of)}
#define RS_BY_OWN_HAND(row, member) {.field = RS_FIELD(row, member), .how = RS_BY_HAND}
/* clang-format on */

/* The layout of a relation's rows that are groups. */
#define RS_GROUP_LAYOUT(type, aggregates)                                                                    \
    {                                                                                                        \
        .size = sizeof(type), .heads = aggregates, .n_heads = sizeof(aggregates) / sizeof *(aggregates),     \
        .stride = sizeof *(aggregates)                                                                       \
    }

#define RS_MAX_AGGREGATES 24

/* Adds rows up into the rows of a relation, a group each, in the order in which their first rows came. */
typedef struct rs_grouper {
    const rs_aggregate *by;
    size_t n;
    rs_relation *into;
    rs_map64 places; /* key, or hash of the keys -> group */
    size_t n_keys;
    bool narrow; /* all keys together fit 64 bits: equal numbers are equal keys */
    bool no_memory;
    uint64_t last_key; /* of the row before, and its group */
    uint32_t last;
    uint8_t n_adds, adds[RS_MAX_AGGREGATES]; /* what every row changes */
    void *kept[RS_MAX_AGGREGATES];           /* values that an aggregate needs all of, each with its group */
    size_t n_kept[RS_MAX_AGGREGATES], kept_capacity[RS_MAX_AGGREGATES];
} rs_grouper;

/* by: at most RS_MAX_AGGREGATES, keys first. into is empty, and stays where it is until the grouper is closed. */
void rs_grouper_open(rs_grouper *grouper, const rs_aggregate *by, size_t n, rs_relation *into);
/* The group, until the next one is added. NULL when out of memory, which rs_grouper_close reports, too. */
void *rs_grouper_add(rs_grouper *grouper, const void *row);
/* Finishes the groups and frees what grouping took. false when out of memory, at any time. */
bool rs_grouper_close(rs_grouper *grouper);
/* Frees what grouping took; the groups stay as they are. */
void rs_grouper_drop(rs_grouper *grouper);

/* Adds one group to another, which has keys of its own. Descriptions and unions of both become unknown. */
void rs_aggregate_merge(const rs_aggregate *by, size_t n, void *into, const void *from);
