/* What the files of `replay` share. */
#ifndef RS_ANALYSIS_REPLAY_H
#define RS_ANALYSIS_REPLAY_H

#include "analysis/analysis.h"
#include "engine/asker.h"

extern const rs_table_spec rs_what_if_table;
/* Asks every question of the options --what-if, --scale and --no-loader; fills the table. */
rs_status rs_replay_ask(const rs_run *run, const rs_replayed *replayed, const int64_t *rank_of,
                        rs_table *table, rs_error *err);
/* The first of these questions; release with rs_what_if_clear, also after a failure. */
rs_status rs_replay_first(const rs_options *options, rs_what_if *out, rs_error *err);
/* Fills a table of rs_replay_map_table with the job as the first question leaves it, with the gaps as recorded. */
extern const rs_table_spec rs_replay_map_table;
rs_status rs_replay_put_map(const rs_run *run, const rs_replayed *replayed, const int64_t *rank_of,
                            rs_table *table, rs_error *err);
/* Whether any of them is given. */
bool rs_replay_asks(const rs_options *options);
/* Refuses a question that cannot be understood, before anything is read. *shares: one is about work that is shared out, so ranks bring shares. */
rs_status rs_replay_check(const rs_options *options, bool *shares, rs_error *err);

#endif
