/* Names of collectives, as PyTorch, its backends and the kernels write them, and what each kind means. The
 * one table of them. */
#ifndef RS_MATCH_COLLECTIVE_NAMES_H
#define RS_MATCH_COLLECTIVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rs_coll_kind {
    RS_COLL_ALL_REDUCE,
    RS_COLL_ALL_GATHER,
    RS_COLL_REDUCE_SCATTER,
    RS_COLL_ALL_TO_ALL,
    RS_COLL_BROADCAST,
    RS_COLL_REDUCE,
    RS_COLL_GATHER,
    RS_COLL_SCATTER,
    RS_COLL_BARRIER,
    RS_COLL_SEND_RECV,
    RS_COLL_OTHER,
    RS_N_COLL_KINDS
} rs_coll_kind;

const char *rs_coll_kind_name(rs_coll_kind kind);
/* From PyTorch's name ("_allgather_base", "allreduce", "send", ...), an annotation's ("nccl:all_to_all") or a
 * kernel's. */
rs_coll_kind rs_coll_kind_of(const char *name);
/* No member leaves before all have come, so that the ends on all ranks are one moment. */
bool rs_coll_ends_together(rs_coll_kind kind);

/* Kernels of one-sided libraries (NVSHMEM, DeepEP): ranks do not meet in them. */
bool rs_coll_is_one_sided(const char *kernel);
/* "nccl:all_reduce", "rccl:...", "c10d::allreduce_": an annotation or operator that is about one collective.
 */
bool rs_coll_is_call(const char *name);
/* "gloo:all_reduce", "mpi:...", "ucc:...", "xla:all-reduce.1": communication that a host thread runs. */
bool rs_coll_is_host_span(const char *name);
/* "gloo", "mpi", "ucc", "xla" */
bool rs_coll_is_host_backend(const char *backend);
/* Operators that submit communication or wait for it ("_c10d_functional::wait_tensor"), and compute nothing.
 * */
bool rs_coll_is_operator(const char *name);
/* "c10d::allreduce_": the operator that submits communication. */
bool rs_coll_is_submission(const char *name);

/* Bytes of one element of PyTorch's type name; 0 if unknown. */
int64_t rs_dtype_size(const char *dtype);

#endif
