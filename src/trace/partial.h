/* Packed partials: magic, length and checksum of all that follows (eight bytes each), then the body:
 *
 *   version and format, settings of the job, queries (name, mode, fingerprints of options and layout),
 *   inputs: path, whether found in a folder, and for each query a share and, where HTA's window may ask for
 * it, the share that trims every rank, each behind its length. */
#ifndef RS_TRACE_PARTIAL_H
#define RS_TRACE_PARTIAL_H

#define RS_PARTIAL_MAGIC "\x89RSpart\n"
#define RS_PARTIAL_HEAD 24
#define RS_PARTIAL_FORMAT 1

#endif
