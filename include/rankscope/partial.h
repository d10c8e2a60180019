/* Partial results: ranks analysed in one place and merged in another.
 *
 * rs_job_map reads the traces of a job and makes bytes of what its ranks contribute to each analysis, small
 * against the traces. The bytes may be stored and sent; rs_merge_packed makes of any number of them what one
 * rs_job_run over all the traces would have made: the same tables, notes and problems, byte for byte.
 *
 *   on each machine:  rs_job_map(job_of_its_traces, queries, n, &bytes, &err)
 *   in one place:     rs_merge_packed(all_bytes, n_bytes, queries, n, results, &err)
 *
 * The bytes are the same on every machine. They are made for the version of rankscope that wrote them;
 * another one refuses them. They are read as hostile input: damage is found out, never followed. */
#ifndef RANKSCOPE_PARTIAL_H
#define RANKSCOPE_PARTIAL_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of bytes. As a result of this library: freed with rs_bytes_free. As an argument: borrowed. */
typedef struct rs_bytes {
    void *data;
    size_t n;
} rs_bytes;

RS_API void rs_bytes_free(rs_bytes *bytes); /* leaves it empty */

/* Whether the partial results of an analysis travel: what rs_job_map accepts. Analyses of two jobs and of
 * files that are no traces do not. */
RS_API bool rs_analysis_can_map(const rs_analysis *analysis);

/* What every rank of the job contributes to n analyses (options NULL: defaults), with one load of each. Files
 * that cannot be used do not fail it: the merge decides as rs_job_run would. RS_ERR_USAGE names an analysis
 * that cannot be mapped. out is empty on failure. */
RS_API rs_status rs_job_map(rs_job *job, const rs_query *queries, size_t n, rs_bytes *out, rs_error *err);

/* Merges what was mapped: the numbers of the ranks are settled here, over all of them, by the rules of
 * rs_job_run (files without a number of their own count in the order of their names). Every packed part must
 * have been made for these queries, perhaps among others, with the same options and settings of the job;
 * their order does not matter. results and errors are as for rs_job_run_many; for packed bytes that are
 * damaged RS_ERR_FORMAT, for bytes of another version, other options or settings RS_ERR_USAGE. The bytes may
 * be freed once this returns. Thread-safe. */
RS_API rs_status rs_merge_packed(const rs_bytes *packed, size_t n_packed, const rs_query *queries, size_t n,
                                 rs_result *results, rs_error *err);

/* ---- questions in rounds ------------------------------------------------------------------------------
 *
 * Some analyses ask their ranks more than once: what all of them said decides what is asked next. Where a
 * rank can foresee the few things that it may be told, rs_job_map answers all of them, and one map is enough;
 * that is so for every analysis of this version. Otherwise rs_merge_packed refuses, and
 *
 *   rs_agree_packed(all_bytes, ...)  says in one place what the ranks agree on so far,
 *   rs_job_map_agreed(job, ...)      maps on each machine with that in hand, all rounds anew,
 *
 * until *complete. Experimental: the calls may change. */

/* agreed: freed by the caller, empty on failure. *complete: rs_merge_packed would not refuse these bytes.
 * Errors as of rs_merge_packed. */
RS_API rs_status rs_agree_packed(const rs_bytes *packed, size_t n_packed, const rs_query *queries, size_t n,
                                 rs_bytes *agreed, bool *complete, rs_error *err);
/* As rs_job_map; agreed must have been made for these queries, perhaps among others, else RS_ERR_USAGE. */
RS_API rs_status rs_job_map_agreed(rs_job *job, const rs_query *queries, size_t n, const rs_bytes *agreed,
                                   rs_bytes *out, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
