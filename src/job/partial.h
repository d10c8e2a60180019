/* Packed partials: magic, length and checksum of all that follows (eight bytes each), then the body:
 *
 *   version and format, settings of the job, queries (name, mode, fingerprints of options and layouts),
 *   inputs: path, whether found in a folder, its role, and for each query, after its length, what its ranks said: in
 * the first round and, below it, in the next one under each value that they may come to agree on.
 *
 * Packed agreements have another magic, the same head, and for each query the values agreed on so far. */
#pragma once

#include "base/wire.h"
#include "job/job_internal.h"

#define RS_PARTIAL_MAGIC "\x89RSpart\n"
#define RS_AGREED_MAGIC "\x89RSagre\n"
#define RS_PARTIAL_HEAD 24
#define RS_PARTIAL_FORMAT 6

/* Packs what all inputs of the job said to n questions. */
rs_status rs_partials_write(const rs_job *job, const rs_question *questions, size_t n, rs_bytes *out,
                            rs_error *err);
/* Packs what n questions agreed on. */
rs_status rs_agreed_write(const rs_job_settings *settings, const rs_question *questions, size_t n,
                          rs_bytes *out, rs_error *err);
/* told: by query; lives in the arena. */
rs_status rs_agreed_read(const rs_bytes *packed, const rs_query *queries, size_t n, rs_arena *arena,
                         const rs_told **told, rs_error *err);
/* Everything before the inputs. */
void rs_partials_begin(rs_wire_writer *w, const rs_job_settings *settings, const rs_question *questions,
                       size_t n);
/* Fills in the head: magic, length, checksum. */
void rs_partials_seal(rs_bytes *packed);
void rs_agreed_seal(rs_bytes *packed);
