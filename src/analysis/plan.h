/* Answers as plans: which rows are looked at, what is added up, in which order the result is, what the columns mean.
 *
 * A plan has relations (table/relation.h) and tables over them. The relations of one rank are its partial result. From the
 * plan follow rank() and merge() of the analysis, the layout of what travels, and its release. A complete example is in
 * docs/adding.md; analysis/kernels.c is a larger one. */
#pragma once

#include "analysis/analysis.h"
#include "table/relation.h"
#include "trace/pool.h"

#define RS_MAX_RELATIONS 12

/* The relations of a rank, or of all ranks together. An algorithm that makes them calls rs_put and rs_put_text and need
 * not look at their results: out of memory is remembered, and reported when it has returned. */
typedef struct rs_relations {
    rs_pool pool;  /* the texts of all relations, by id */
    uint32_t rest; /* the text of a row of the rest */
    rs_relation items[RS_MAX_RELATIONS];
    void *extra; /* what the plan's extra lays out; NULL: there is none */

    /* while they are made */
    bool absent;             /* set by an algorithm: the rank has nothing to say, and no partial */
    const rs_events *events; /* what texts are of; NULL over ranks */
    rs_grouper *groupers;
    const struct rs_plan *plan;
    void *work;       /* what one algorithm leaves to those after it, in scratch memory */
    rs_arena scratch; /* rs_put_room */
    bool no_memory;
} rs_relations;

/* What is asked for by an option: a list of these, ended by one without an option, of which one must hold. */
typedef struct rs_plan_choice {
    const char *option, *value; /* value NULL: the option is set */
    const char *unless;         /* another option, which is not set; NULL: whatever is */
} rs_plan_choice;
#define RS_IS(its_option, its_value)                                                                         \
    {                                                                                                        \
        .option = (its_option), .value = (its_value)                                                         \
    }
#define RS_IS_UNLESS(its_option, its_value, other)                                                           \
    {                                                                                                        \
        .option = (its_option), .value = (its_value), .unless = (other)                                      \
    }
#define RS_IS_SET(its_option)                                                                                \
    {                                                                                                        \
        .option = (its_option)                                                                               \
    }
#define RS_WITH(...) ((const rs_plan_choice[]){__VA_ARGS__, {.option = NULL}})

/* Rows that are left out: those whose member has the value. */
typedef struct rs_plan_drop {
    uint32_t offset;
    uint8_t size, kind;
    int64_t value;
    const char *option; /* only when it is set; NULL: always */
} rs_plan_drop;
#define RS_DROP(type, member, its_value, only_with)                                                          \
    {                                                                                                        \
        offsetof(type, member), sizeof RS_MEMBER(type, member), RS_KIND_OF(RS_MEMBER(type, member)),         \
            (its_value), (only_with)                                                                         \
    }

/* A relation of a plan. */
typedef struct rs_plan_relation {
    rs_field list; /* its place in rs_relations, and what its rows consist of */
    /* Where rows come from: a facet that shows itself as rows, or an algorithm, which may put rows into other relations of
     * the plan, too. Neither: the algorithm of another relation puts them. */
    const rs_facet *from;
    rs_status (*make)(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);
    /* Of a relation over ranks: from those of all ranks, when they are together. */
    rs_status (*across)(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                        rs_error *err);
    const rs_plan_drop *drops;
    const rs_aggregate *by; /* how rows are added up; NULL: each is one */
    /* Changes each row once all are there, before they are ordered; NULL: none. Relations before this one are finished. */
    void (*amend)(const rs_relations *of, void *row);
    const rs_order *order;
    const rs_plan_choice *choice; /* made only with these; NULL: always */
    uint8_t n_drops, n_by, n_order;
    size_t row_size; /* of the rows that are put in */
} rs_plan_relation;

/* The members of a relation at place `at` whose rows are of `type`: groups of rows of `put`, or rows with that layout. */
#define RS_RELATION_OF(at, type, its_layout)                                                                 \
    .list = {.name = #type,                                                                                  \
             .offset = offsetof(rs_relations, items[at].rows),                                               \
             .n_offset = offsetof(rs_relations, items[at].n),                                                \
             .size = sizeof(type),                                                                           \
             .place = RS_LIST,                                                                               \
             .kind = RS_AS_STRUCT,                                                                           \
             .layout = (its_layout)}
#define RS_GROUPED(at, type, put, aggregates)                                                                \
    RS_RELATION_OF(at, type, (&(const rs_layout)RS_GROUP_LAYOUT(type, aggregates))),                         \
        .by = aggregates, .n_by = sizeof(aggregates) / sizeof *(aggregates), .row_size = sizeof(put)
#define RS_LISTED(at, type, its_layout) RS_RELATION_OF(at, type, its_layout), .row_size = sizeof(type)
/* ... whose members are all cells of the record. */
#define RS_LISTED_AS(at, type, record) RS_LISTED(at, type, (&(const rs_layout)RS_RECORD_LAYOUT(type, record)))
#define RS_PLAN_EXTRA(type, its_layout)                                                                      \
    .list = {.name = "extra",                                                                                \
             .offset = offsetof(rs_relations, extra),                                                        \
             .size = sizeof(type),                                                                           \
             .place = RS_ONE,                                                                                \
             .kind = RS_AS_STRUCT,                                                                           \
             .layout = (its_layout),                                                                         \
             .optional = true}
#define RS_IN_ORDER(keys) .order = keys, .n_order = sizeof(keys) / sizeof *(keys)
#define RS_DROPPED(list) .drops = list, .n_drops = sizeof(list) / sizeof *(list)

/* A text id of a relation's row, as a field of a layout and as a key. */
#define RS_FIELD_TEXT_ID(type, member) RS_FIELD_INDEX_OR_NONE(type, member, rs_relations, pool.strings.n)
#define RS_KEY_TEXT(row, member, type, of)                                                                   \
    RS_COPIED(RS_BY_KEY, RS_FIELD_TEXT_ID(row, member), row, member, type, of)
#define RS_TEXT_BY_OWN_HAND(row, member)                                                                     \
    {                                                                                                        \
        .field = RS_FIELD_TEXT_ID(row, member), .how = RS_BY_HAND                                            \
    }
#define RS_FIRST_TEXT(row, member, type, of)                                                                 \
    RS_COPIED(RS_BY_FIRST, RS_FIELD_TEXT_ID(row, member), row, member, type, of)
/* The cell of one: CELL(TEXT_ID(kernel, name), "name", TEXT, ...) */
#define RS_CELL_IS_TEXT_ID(row, member) RS_CELL_IS_TEXT(row, member, rs_relations, pool.strings.n)
#define RS_CELL_TYPES_TEXT_ID(row, member) RS_CELL_TYPES_TEXT(row, member, rs_relations, pool.strings.n)

/* In place of a table's relation: its rows are the partials of the ranks (rs_partial), or the plan's `more` fills it. */
#define RS_OF_PARTIALS UINT32_MAX
#define RS_OF_MORE (UINT32_MAX - 1)

/* A table of a plan: a relation's rows through a record. */
typedef struct rs_plan_table {
    rs_table_spec spec;
    const rs_row_spec *record;
    unsigned relation;
    const rs_plan_choice
        *choice; /* the main table with these; of several the first, of none the plan's first */
    const rs_plan_choice *only; /* filled only with these; NULL: always */
    const char *top;            /* option: at most so many rows of a rank; 0 is all, unless there is a rest */
    const char *until; /* option: no row after those that make this share of the CUMULATIVE cell's whole */
    const char *rest;  /* the rows after these are one, and this is its text in the first column of texts */
    /* Gives SET cells their values; NULL: there are none. */
    void (*set)(rs_table *table, const rs_run *run, const rs_relations *of, const void *row);
    /* Whether a row is shown; NULL: all are. `top` counts those that are shown. */
    bool (*shows)(const rs_run *run, const rs_relations *of, const void *row);
} rs_plan_table;
#define RS_PLAN_TABLE(name, help, its_record)                                                                \
    .spec = RS_TABLE(name, help, its_record##_columns), .record = &its_record##_record

typedef struct rs_plan {
    const rs_plan_relation *relations;
    size_t n_relations;
    const rs_table_spec *const *tables; /* each is the spec of an rs_plan_table */
    size_t n_tables;
    /* The relation without which a rank has no partial, counted from 1; the analysis' row says `absent`. 0: none. */
    unsigned absent_without;
    /* A value of its own next to the relations, which an algorithm makes: one of its relations is RS_PLAN_EXTRA. */
    void (*free_extra)(void *extra);
    /* Fills tables of its own, after the others; NULL: none. */
    rs_status (*more)(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                      rs_error *err);
    bool gate; /* an option --fail-on judges the main table */
    /* Notes about a rank; NULL: none. */
    void (*note)(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result);
    const rs_layout *layout;
} rs_plan;

extern const rs_field rs_relations_fields[2];

#define RS_PLAN(its_relations, its_tables)                                                                   \
    .relations = its_relations, .n_relations = sizeof(its_relations) / sizeof *(its_relations),              \
    .tables = its_tables, .n_tables = sizeof(its_tables) / sizeof *(its_tables),                             \
    .layout = &(const rs_layout)                                                                             \
    {                                                                                                        \
        .size = sizeof(rs_relations), .fields = rs_relations_fields, .n = 2, .heads = its_relations,         \
        .n_heads = sizeof(its_relations) / sizeof *(its_relations), .stride = sizeof *(its_relations)        \
    }

/* Puts a row into a relation: adds it to its group, or appends it. NULL when out of memory: the row, until the next. */
void *rs_put(rs_relations *relations, unsigned at, const void *row);
/* Texts in rows that an algorithm puts in are ids of the pool: of a text of the trace, and of any text. Equal texts have
 * equal ids; RS_NO_STRING and NULL are unknown. Those of a facet's rows are the trace's, and converted to the pool's after it. */
uint32_t rs_put_text(rs_relations *relations, uint32_t id);
uint32_t rs_put_string(rs_relations *relations, const char *text);
uint32_t rs_put_string_n(rs_relations *relations, const char *text, size_t length);
/* Room for n elements, zeroed, that goes when the relations are made; NULL when out of memory. */
void *rs_put_room(rs_relations *relations, size_t n, size_t size);
#define RS_ROOM(relations, type, n) ((type *)rs_put_room(relations, n, sizeof(type)))

static inline const char *rs_relations_text(const rs_relations *relations, uint32_t id)
{
    return rs_pool_text(&relations->pool, id);
}
#define RS_ROWS(type, relations, at) ((const type *)(relations)->items[at].rows)

/* What an analysis with a plan has as rank, merge and free_partial. */
rs_status rs_plan_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
rs_status rs_plan_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err);
void rs_plan_free(void *partial);
/* The `across` of a relation over ranks whose rows another relation puts. */
rs_status rs_plan_put_before(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                             rs_error *err);
