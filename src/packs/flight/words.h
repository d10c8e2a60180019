/* The words that sentences are made of. All of them are in the flight's arena; NULL when out of memory. */
#pragma once

#include "flight/roots.h"

/* "all_reduce 6 of default_pg (group 0)", "recv from rank 3 (p2p 2 of mesh_pp (group 4))". */
const char *rs_fl_op_text(rs_flight *flight, const rs_fl_entry *e);
/* The same of what a rank did not issue, seen from entry e of another: of a transfer its other end. */
const char *rs_fl_missed_text(rs_flight *flight, uint32_t rank, const rs_fl_entry *e);
/* "02:11:08 UTC"; NULL when the stamp is no wall clock's. */
const char *rs_fl_clock_text(rs_flight *flight, int64_t ns);
/* ", 3.2 s before the newest stamp of any rank"; "" when the stamp is unknown. */
const char *rs_fl_age_text(rs_flight *flight, const rs_fl_rank *rank, int64_t ns);
/* ", in forward (/app/model.py:12)"; "" without frames. */
const char *rs_fl_at_text(rs_flight *flight, uint32_t stack);
/* With a capital letter. */
const char *rs_fl_capital(rs_flight *flight, const char *text);
/* Whether a file is Python's, torch's or another package's rather than the user's. */
bool rs_fl_is_library(const char *file);

/* evidence.c: one line of proof each; false when out of memory. */
bool rs_fl_prove(rs_fl_analysis *a, int64_t rank, const rs_fl_entry *e, const char *text);
/* What one entry called, and how far it came. */
bool rs_fl_prove_call(rs_fl_analysis *a, uint32_t rank, uint32_t entry);
/* ... of the entry that the finding names. */
bool rs_fl_prove_waiter(rs_fl_analysis *a, const rs_fl_found *f);
/* What a rank did last, and what that rules out. */
bool rs_fl_prove_last_act(rs_fl_analysis *a, uint32_t rank);
/* Why "not in the record" means "not issued". */
bool rs_fl_prove_absence(rs_fl_analysis *a, const rs_fl_found *f, uint32_t rank);
/* What the shapes of the dumps hide. */
bool rs_fl_prove_shapes(rs_fl_analysis *a);

/* summary.c: the whole answer in at most four sentences, and what to do next. */
rs_status rs_fl_summarize(rs_fl_analysis *a, rs_error *err);
