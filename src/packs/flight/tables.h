/* The specs of the flight tables, shared by the files that fill them. */
#pragma once

#include "flight/model.h"

extern const rs_table_spec rs_fl_entries_spec, rs_fl_groups_spec, rs_fl_lateness_spec, rs_fl_collectives_spec,
    rs_fl_dumps_spec, rs_fl_roots_spec, rs_fl_log_spec, rs_fl_attempts_spec, rs_fl_progress_spec,
    rs_fl_stacks_spec;

extern const rs_table_spec rs_fl_inspector_spec;

/* Which ranks and groups a view shows. */
typedef struct rs_fl_choice {
    uint8_t *rank;  /* by rank index */
    uint8_t *group; /* by group */
} rs_fl_choice;

/* RS_ERR_USAGE names a rank or group that does not exist. */
rs_status rs_fl_choose(rs_flight *flight, const char *ranks, const char *groups, rs_fl_choice *out,
                       rs_error *err);
void rs_fl_choice_clear(rs_fl_choice *choice);
