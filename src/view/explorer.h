/* What the files of the explorer share: its job, its desks, and how answers are written. */
#ifndef RS_VIEW_EXPLORER_H
#define RS_VIEW_EXPLORER_H

#include <stdatomic.h>

#include "base/memory.h"
#include "base/ranges.h"
#include "base/try.h"
#include "rankscope/render.h"
#include "rankscope/view.h"

#define RS_EXPLORER_CLASSES 10 /* of the table of `map`, and waits */
#define RS_EXPLORER_COMM 2
#define RS_EXPLORER_WAIT 3 /* of communication: until the last rank has come */

/* The stretches of one rank, ascending, with what has gone by before every RS_MAP_EVERY-th of them. */
#define RS_MAP_EVERY 64
typedef struct rs_map_rank {
    int64_t rank;
    size_t n;
    int64_t *from, *to; /* ns from the job's first event */
    uint8_t *class;
    int64_t (*before)[RS_EXPLORER_CLASSES];
} rs_map_rank;

/* A map of the job: as recorded, or as a what-if leaves it. */
typedef struct rs_map {
    rs_map_rank *ranks; /* ascending */
    size_t n;
    int64_t last;     /* the end of the last stretch */
    unsigned present; /* the classes that occur, a bit each */
} rs_map;

/* A stretch of a rank, and those of one. */
typedef struct rs_map_part {
    int64_t from, to;
    uint8_t class;
} rs_map_part;
typedef struct rs_map_parts {
    rs_map_part *items;
    size_t n, capacity;
} rs_map_parts;
bool rs_map_parts_add(rs_map_parts *stretches, int64_t from, int64_t to, uint8_t class);
void rs_map_parts_clear(rs_map_parts *stretches);
rs_status rs_map_make_rank(int64_t rank, const rs_map_parts *of, rs_map_rank *out, rs_error *err);

/* Of the rows of a table with the columns rank, class, from_us and time_us. */
rs_status rs_map_make(const rs_table *table, rs_map *out, rs_error *err);
void rs_map_clear(rs_map *map);
/* The ns of each class in n equal columns of [from, to); sums: n * RS_EXPLORER_CLASSES. */
void rs_map_columns(const rs_map_rank *rank, int64_t from, int64_t to, size_t n, int64_t *sums);
/* The same of one rank, with its waits (NULL: none) taken out of communication; sums: twice as many, of which the second half is
 * scratch. */
void rs_map_columns_divided(const rs_map_rank *rank, const rs_map_rank *waits, int64_t from, int64_t to,
                            size_t n, int64_t *sums);
/* What a column of a row becomes in an answer: its bytes. bytes: 1 (shares, in 255ths of the column), 4 or 8; present: the
 * classes that are written, a bit each. */
size_t rs_map_put_column(const int64_t *sums, unsigned bytes, unsigned present, int64_t column,
                         unsigned char *out);
extern const char *const rs_map_class_names[RS_EXPLORER_CLASSES];

/* What a member of a collective waited until the last one had come. */
typedef struct rs_member_wait {
    int64_t rank, id, from, ns; /* id: position of the event */
} rs_member_wait;

typedef struct rs_waits {
    rs_member_wait *items; /* by rank and id */
    size_t n;
    rs_map map;        /* of each rank the stretches of exposed_comm in which it waits */
    atomic_bool known; /* the rest is complete, and stays as it is */
} rs_waits;
/* Of the table arrivals of `collectives`; clear it also after a failure. */
rs_status rs_waits_make(const rs_map *map, const rs_table *arrivals, rs_waits *out, rs_error *err);
void rs_waits_clear(rs_waits *waits);
const rs_map_rank *rs_waits_of_rank(const rs_waits *waits, int64_t rank); /* NULL: none */
int64_t rs_waits_of_event(rs_waits *waits, int64_t rank, int64_t id);     /* ns; 0: none, or not known yet */

/* A thread's questions to jobs: how long they may take. */
typedef struct rs_desk {
    struct rs_explorer *explorer;
    double deadline; /* seconds; 0: none */
} rs_desk;

typedef struct rs_rank_lanes rs_rank_lanes; /* explorer_rank.c */
#define RS_LOADED_RANKS 4

typedef struct rs_mended {
    char *edit;
    rs_map map;
    char *answer; /* the JSON that the page was given */
    size_t n_answer;
} rs_mended;
#define RS_MENDED_MAPS 8
#define RS_PREVIEW_RANKS 16

struct rs_explorer {
    const char *const *paths;
    size_t n_paths;
    rs_job_settings settings;
    int64_t origin; /* the job's first event on the files' clock */
    rs_map map;
    rs_waits waits;
    rs_result info, steps;
    char *chosen[RS_PREVIEW_RANKS]; /* of a preview: its paths */
    bool preview;
    bool own_files; /* each rank is the one file of its row of info: to look at a rank reads that alone */
    atomic_bool stopped;
    rs_desk desks[RS_N_DESKS];
    rs_rank_lanes *loaded[RS_LOADED_RANKS]; /* the latest first */
    rs_job *job;                            /* of RS_DESK_JOB */
    rs_job *memory;                         /* ... of snapshots; NULL: there are none */
    const char *const *snapshots;
    size_t n_snapshots;
    rs_result held; /* `memory` of all their ranks */
    bool judged;
    rs_result verdict;
    atomic_size_t n_mended; /* those before are complete */
    rs_mended mended[RS_MENDED_MAPS];
};

const char *rs_explorer_role(const rs_explorer *explorer, int64_t rank); /* "": none */

/* ---- requests ---------------------------------------------------------------------------------------- */

/* The value of a parameter, decoded; false: it is not there. One that is wrongly encoded or too long becomes "%", which
 * nothing takes. */
bool rs_ask_text(const rs_explorer_request *request, const char *name, char *out, size_t size);
/* INT64_MIN for what is no number. */
int64_t rs_ask_int(const rs_explorer_request *request, const char *name, int64_t otherwise);
/* from and to, 0 <= from < to <= 2^60. */
rs_status rs_ask_window(const rs_explorer_request *request, int64_t last, int64_t *from, int64_t *to,
                        rs_error *err);

/* ---- answers ----------------------------------------------------------------------------------------- */

bool rs_answer_append(void *answer, const char *bytes, size_t n); /* a sink's */
bool rs_answer_print(rs_explorer_answer *answer, const char *format, ...) RS_PRINTF(2, 3);
/* ,"NAME":[rows] of a table; first: without the comma. */
rs_status rs_answer_table(rs_explorer_answer *answer, const char *name, const rs_table *table, bool first,
                          rs_error *err);
/* A column of a table by its name; SIZE_MAX: there is none. */
size_t rs_column_of(const rs_table *table, const char *name);

/* Those of a job whose questions end at the desk's deadline. */
rs_job_settings rs_explorer_settings(rs_explorer *x, rs_explorer_desk desk);
/* A job over all the paths, whose questions end at the desk's deadline. */
rs_status rs_explorer_open_job(rs_explorer *x, rs_explorer_desk desk, rs_job **out, rs_error *err);
/* One of a rank alone, with times as the files have them. text holds its setting as long as it lives. *out is to be
 * closed, also after a failure. */
rs_status rs_explorer_open_rank(rs_explorer *x, int64_t rank, char text[24], rs_job **out, rs_error *err);
/* The job of RS_DESK_JOB is open. */
rs_status rs_explorer_need_job(rs_explorer *x, rs_error *err);
/* Runs an analysis with options "name", "value" pairs ended by NULL; a flag's value is NULL. */
rs_status rs_explorer_run(rs_job *job, const char *analysis, const char *const options[][2],
                          rs_result *result, rs_error *err);

/* ---- paths, by desk ---------------------------------------------------------------------------------- */

typedef rs_status rs_explorer_path(rs_explorer *x, const rs_explorer_request *request,
                                   rs_explorer_answer *answer, rs_error *err);
rs_explorer_path rs_answer_job, rs_answer_map;                                        /* explorer.c, map.c */
rs_explorer_path rs_answer_waits;                                                     /* waits.c */
rs_explorer_path rs_answer_lanes, rs_answer_event;                                    /* explorer_rank.c */
rs_explorer_path rs_answer_findings, rs_answer_select, rs_answer_why, rs_answer_path, /* explorer_ask.c */
    rs_answer_what_if, rs_answer_search, rs_answer_sql;
rs_explorer_path rs_answer_memory;   /* memory.c */
rs_explorer_path rs_answer_counters; /* explorer_counters.c */

/* Counters of a rank: of its job, whose times are as the files have them. */
typedef struct rs_rank_counters rs_rank_counters;
rs_status rs_rank_counters_make(rs_job *job, int64_t origin, rs_rank_counters **out, rs_error *err);
void rs_rank_counters_free(rs_rank_counters *counters); /* NULL is allowed */
/* Reads the rank where that has not been done; they stay until other ranks are looked at. */
rs_status rs_explorer_need_counters(rs_explorer *x, int64_t rank, const rs_rank_counters **out,
                                    rs_error *err);

void rs_rank_lanes_free(rs_rank_lanes *lanes);

#endif
