/* The specs of the flight tables, shared by the files that fill them. */
#pragma once

#include "flight/model.h"

extern const rs_table_spec rs_fl_lateness_spec, rs_fl_collectives_spec, rs_fl_roots_spec, rs_fl_log_spec,
    rs_fl_attempts_spec, rs_fl_progress_spec, rs_fl_stacks_spec, rs_fl_inspector_spec;
