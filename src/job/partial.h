/* Packed partials: magic, length and checksum of all that follows (eight bytes each), then the body:
 *
 *   version and format, settings of the job, queries (name, mode, fingerprints of options and layout),
 *   inputs: path, whether found in a folder, and for each query a share and, where HTA's window may ask for
 * it, the share that trims every rank, each behind its length. */
#ifndef RS_JOB_PARTIAL_H
#define RS_JOB_PARTIAL_H

#include "base/wire.h"
#include "job/job_internal.h"

#define RS_PARTIAL_MAGIC "\x89RSpart\n"
#define RS_PARTIAL_HEAD 24
#define RS_PARTIAL_FORMAT 3

/* Packs the shares of n questions. trimmed[k]: what HTA's rule would make of question k, where an input needs
 * it (its share has a path); an all-zero question where there is no such rule. */
rs_status rs_partials_write(const rs_job *job, const rs_question *questions, const rs_question *trimmed,
                            size_t n, rs_bytes *out, rs_error *err);
/* Everything before the inputs. */
void rs_partials_begin(rs_wire_writer *w, const rs_job_settings *settings, const rs_question *questions,
                       size_t n);
/* Fills in the head: magic, length, checksum. */
void rs_partials_seal(rs_bytes *packed);

#endif
