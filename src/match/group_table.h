/* What a record next to the traces tells of the communication that a job's hosts ran. A trace says of a span
 * gloo:... neither its process group nor its number there; a flight recorder does, and both say when it was
 * submitted.
 *
 * Who can read such records is a row of a room above, `const rs_group_source rs_group_source_NAME`, which the
 * build collects; NAME is the option that takes its files. */
#pragma once

#include "match/collective_ops.h"

/* One collective that a rank submitted. Texts are the owner's; NULL: unknown. */
typedef struct rs_group_entry {
    int64_t rank;
    int64_t created; /* ns since 1970, the host's clock */
    int64_t seq;     /* in its group */
    int64_t group_size;
    int64_t in_elements, out_elements; /* -1: unknown */
    const char *group, *description, *members, *dtype;
    rs_coll_kind kind;
    bool taken; /* while a rank's operations are named */
} rs_group_entry;

typedef struct rs_group_table {
    rs_group_entry *entries; /* by rank, then by time */
    size_t n, capacity;
    void *owner; /* of the texts */
    void (*release)(void *owner);
} rs_group_table;

typedef struct rs_group_source {
    const char *option;
    /* Reads what lies at a path: entries in any order. What is wrong with single files goes to problems. The
     * table is cleared by the caller, also after a failure. */
    rs_status (*read)(const char *path, rs_group_table *out, rs_problems *problems, rs_error *err);
} rs_group_source;

extern const rs_group_source *const rs_group_source_rows[]; /* ended by NULL */

void rs_group_table_sort(rs_group_table *table);
void rs_group_table_clear(rs_group_table *table);

/* A copy of the rank, number `rank` of the job, whose operations have group, number and size as the table has
 * them. One that no entry was submitted with stays as it is. *n_named: how many have got a name. */
rs_status rs_coll_rank_name(const rs_coll_rank *in, int64_t rank, rs_group_table *table, rs_coll_rank **out,
                            size_t *n_named, rs_error *err);
