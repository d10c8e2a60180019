/* What is taken from the tables of the periodic dumper. Internal to src/packs/flight. */
#pragma once

#include "flight/live.h"

/* A set "{1, 2}" of a row: ranges of a shared list would save little, the tables are small. */
typedef struct rs_fl_rank_set {
    uint32_t first, n; /* in snapshot.members */
} rs_fl_rank_set;

/* One row of the table of collectives. */
typedef struct rs_fl_row {
    uint32_t group, desc, op; /* texts */
    uint32_t where;           /* text: the innermost frame of the user's, as "file:line"; RS_FL_NONE */
    int64_t seq, record;
    bool passed, completed, gloo;
    uint32_t mismatch; /* text: type_of_mismatch; RS_FL_NONE */
    rs_fl_rank_set expected, missing, differing;
} rs_fl_row;

/* A call that the peer's analysis could not match: its rank waits there. */
typedef struct rs_fl_unmatched {
    uint32_t group;
    int64_t rank;
} rs_fl_unmatched;

typedef struct rs_fl_snapshot {
    rs_fl_row *rows;
    size_t n_rows, rows_capacity;
    rs_fl_unmatched *unmatched;
    size_t n_unmatched, unmatched_capacity;
    int64_t *members;
    size_t n_members, members_capacity;
} rs_fl_snapshot;

struct rs_fl_periodic {
    rs_fl_snapshot snapshots[2]; /* the newest first */
    int64_t moments[2];          /* seconds */
    size_t n_snapshots;
};

/* tables_text.c: reads the tables of one file. Only running out of memory is an error. */
rs_status rs_fl_read_tables(rs_flight *flight, const char *text, size_t n, rs_fl_snapshot *out,
                            rs_error *err);
