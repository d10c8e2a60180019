/* What the files of diagnose's catalogue share. Private to src/analysis/diagnose_*.c. */
#ifndef RS_ANALYSIS_DIAGNOSE_RULES_H
#define RS_ANALYSIS_DIAGNOSE_RULES_H

#include "analysis/diagnose.h"
#include "base/keymap.h"
#include "text/numbers.h"

/* Takes the candidate's edits over, also after a failure. Its claim may be NULL, as memory ran out. */
rs_status rs_rule_add(rs_candidates *out, rs_candidate *candidate, rs_error *err);
/* A factor to four places: enough, and short to read. */
double rs_rule_factor(double factor);
/* Steps of a rank, at least 1; of all ranks. */
size_t rs_rule_steps(const rs_engine *engine, size_t rank);
size_t rs_rule_total_steps(const rs_engine *engine);
/* Ranks, ascending, for a sentence: "0-3, 8". The arena's; NULL when out of memory. */
const char *rs_rule_ranks(const int64_t *ranks, size_t n, rs_arena *arena);

/* ---- sums by name -------------------------------------------------------------------------------------- */

typedef struct rs_named {
    const char *text; /* borrowed from a pool */
    size_t length, n;
    double ns, bytes, expected;
} rs_named;

typedef struct rs_names {
    rs_named *items;
    size_t n, capacity;
    rs_map64 places; /* hash -> of items; a clash of hashes takes the next key */
} rs_names;

/* The entry of a name, a new one if there is none; NULL when out of memory. */
rs_named *rs_rule_name(rs_names *all, const char *text, size_t length);
void rs_rule_clear(rs_names *all);
/* Takes the name with the most time out. */
bool rs_rule_take_most(rs_names *all, rs_named *out);

/* ---- rules --------------------------------------------------------------------------------------------- */

#define RS_RULE(name)                                                                                        \
    rs_status rs_rule_##name(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,      \
                             const char **lacks, rs_error *err)

/* diagnose_ranks.c */
RS_RULE(straggler);
RS_RULE(slow_host);
RS_RULE(late_group);
RS_RULE(pipeline_imbalance);
/* diagnose_hosts.c */
RS_RULE(sync);
RS_RULE(late_launch);
RS_RULE(host_pause);
RS_RULE(allocation);
RS_RULE(pageable_copy);
/* diagnose_kernels.c */
RS_RULE(launches);
RS_RULE(hottest);
RS_RULE(fusable);

#endif
