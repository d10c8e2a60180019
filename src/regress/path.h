/* A run's event graph over all ranks: its steps' critical paths, and what they would be with other durations. */
#pragma once

#include "engine/asker.h"
#include "regress/host.h"
#include "regress/run.h"

struct rs_replay_run {
    rs_skeleton **skeletons; /* owned */
    rs_host_time **hosts;    /* owned, of each rank */
    size_t n_ranks;
    rs_engine engine;
    rs_replayed replayed;
    /* the steps that all ranks have, by number; of each rank which of the skeleton's steps begins and ends it */
    int64_t *numbers;
    size_t n_numbers;
    uint32_t *begin, *end; /* by rank * n_numbers + place */
    rs_regress_step step;
};

/* Joins the ranks. skeletons and hosts: taken over, also on failure; *out stays NULL then. *reason is set where the graph
 * cannot be had or cannot be relied on; with a graph the lengths of the job's steps hold all the same. */
rs_status rs_replay_run_create(rs_skeleton **skeletons, rs_host_time **hosts, size_t n_ranks,
                               const int64_t *numbers, size_t n_numbers, rs_regress_step step,
                               rs_replay_run **out, const char **reason, rs_error *err);
void rs_replay_run_free(rs_replay_run *run); /* NULL is allowed */

/* The samples of the run's step at a place of numbers, added up: ns under these times. */
int64_t rs_replay_run_length(const rs_replay_run *run, const rs_times *times, size_t place);
/* Whether the ranks' clocks are tied together, so that the job's steps have a length. */
bool rs_replay_run_is_tied(const rs_replay_run *run);

/* Fills run->parts[RS_REGRESS_PATH], tokens and mesh. *reason says why the paths are not known, where they are not: they do not
 * add up to the steps, as when time stamps leave the range; or steps lie over each other, so that each path is as long
 * as the trace. */
rs_status rs_replay_run_parts(const rs_replay_run *replay, rs_regress_side *side, rs_one_run *run,
                              const char **reason, rs_error *err);

/* The texts that tell a piece of the path apart; NULL: none. */
typedef struct rs_path_key {
    const char *part, *name, *operator_name, *phase, *group;
} rs_path_key;
rs_path_key rs_path_key_of(const rs_engine *engine, rs_part part, uint32_t node);

/* The pieces of ns of the host's time that end at `end` (on the job's clock), on the thread of a node: what it was in,
 * by its spans. They add up to ns. False when the sink stopped. */
typedef bool (*rs_path_sink)(void *context, const rs_path_key *key, int64_t ns);
bool rs_replay_run_split(const rs_replay_run *run, uint32_t node, int64_t end, int64_t ns, rs_path_sink sink,
                         void *context);
