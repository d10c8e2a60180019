/* The process groups that a linked trace tells of: those that its host trace declares, and those that only a
 * kernel's arguments name. */
#pragma once

#include "base/strings.h"
#include "chakra/convert_linked.h"
#include "rankscope/chakra_trace.h"

typedef struct rs_group {
    const char *name;     /* as declared */
    const char *as;       /* as it is written: its name, or the number that it got */
    const int64_t *ranks; /* as declared; NULL: 0 to n_ranks - 1 */
    size_t n_ranks;
    bool is_default; /* all ranks of the job: its own ranks are the job's */
} rs_group;

typedef struct rs_groups {
    rs_group *items; /* in the order in which the trace names them */
    size_t n, capacity;
    rs_strings names; /* a group's place is its name's number - 1 */
    rs_arena arena;
    uint64_t renamed;
} rs_groups;

/* The groups of all declarations and kernels. numbered: names that are no whole numbers above 0 get the least
 * free ones, in the order of (sorted ranks, name), so that ranks which know the same groups agree. Declarations
 * that are no JSON are told in problems and left out. */
rs_status rs_groups_read(const rs_linked *linked, bool numbered, rs_groups *groups, rs_problems *problems,
                         rs_error *err);
/* For those that come one by one. RS_ERR_NOMEM. */
rs_status rs_groups_init(rs_groups *groups, rs_error *err);
/* Adds the groups of a JSON list, as the first input of a declaration has it in an execution trace: ['[...]'].
 * *known: it was such a text. */
rs_status rs_groups_add_input(rs_groups *groups, const char *values, bool *known, rs_error *err);
/* Adds those of a file {"name": [ranks]}; they take the place of groups of the same name. */
rs_status rs_groups_add_file(rs_groups *groups, const char *path, uint64_t max_ratio, rs_error *err);
void rs_groups_clear(rs_groups *groups);

/* The group of a name; NULL: none is known. */
const rs_group *rs_groups_find(const rs_groups *groups, const char *name);
/* The rank of the job behind a rank of the group; -1: there is none. */
int64_t rs_group_rank(const rs_group *group, int64_t place);
/* Whether simulators read the name as the number of a group: digits, without a zero in front. "0" is the
 * default group. */
bool rs_group_is_number(const char *name);

/* Whether a node declares groups: its first input is their list, JSON in a JSON string. */
bool rs_groups_are_declared_by(const rs_linked_node *node);
/* The list itself, of that node, in the arena, with the names as they are written; "[]" where it is no JSON. NULL when out
 * of memory. */
const char *rs_groups_list(const rs_groups *groups, const rs_linked_body *body, rs_arena *arena);

/* The file that simulators take: {"name": [ranks]}, without the default group. *written: how many. */
rs_status rs_groups_write(const rs_groups *groups, const rs_sink *sink, uint64_t *written, rs_error *err);
