/* How a job's entries in the store are keyed and written: what answers of one input (job_store.c) and results of all
 * (job_results.c) share. */
#pragma once

#include "job/job_internal.h"
#include "store/folder.h"

bool rs_job_wants_store(const rs_job *job);

/* ---- keys: whatever an answer depends on is put into one */

/* Stamps of an input's files; false: the input cannot be told by them. */
bool rs_key_stamp_input(rs_wire_writer *w, const rs_input *input);
/* Stamps of files that options name, as the description of a device; folders: false for options that name one, too. */
bool rs_key_stamp_options(rs_wire_writer *w, const rs_question *q, bool folders);
/* Whether the files of these stamps still are as they say. */
bool rs_key_stamps_hold(const rs_wire_writer *stamps);
/* The absolute path of the first file, so that of two jobs that call their files alike neither replaces what the other
 * one keeps. */
void rs_key_put_place(rs_wire_writer *w, const rs_wire_writer *stamps);
/* What messages call an input, and what else was said of it beside its contents. */
void rs_key_put_input(rs_wire_writer *w, const rs_input *input);
/* The settings that an answer depends on. */
void rs_key_put_settings(rs_wire_writer *w, const rs_job_settings *settings);
/* Analysis, options, mode and layouts. */
void rs_key_put_question(rs_wire_writer *w, const rs_question *q);

/* Writes an entry and remembers that the folder may have to be trimmed. What cannot be kept is not. */
void rs_job_store_put(rs_job *job, const rs_entry_key *key, bool in_place, const rs_entry_part *parts,
                      size_t n);

/* An answer that is not much smaller than its input is not worth keeping: the input is read as fast. */
bool rs_is_small_beside(size_t n, uint64_t input_bytes);

/* ---- problems as bytes: partial_write.c, partial_read.c */
void rs_problems_write(rs_wire_writer *w, const rs_problems *problems);
void rs_problems_read(rs_wire_reader *r, rs_problems *problems);
