/* Names of collectives, as PyTorch, its backends and the kernels write them, and what each kind means. The
 * one table of them. */
#pragma once

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
    RS_COLL_DISPATCH, /* tokens to their experts and back: kinds from here on do not meet on all ranks at one moment */
    RS_COLL_COMBINE,
    RS_COLL_OTHER,
    RS_N_COLL_KINDS
} rs_coll_kind;

const char *rs_coll_kind_name(rs_coll_kind kind);
/* From PyTorch's name ("_allgather_base", "allreduce", "send", ...), an annotation's ("nccl:all_to_all") or a
 * kernel's. */
rs_coll_kind rs_coll_kind_of(const char *name);
/* No member leaves before all have come, so that the ends on all ranks are one moment. */
bool rs_coll_ends_together(rs_coll_kind kind);
/* https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md: what of the message crosses the
 * slowest link, so that the figure can be held against the hardware whatever the number n of ranks. NaN: unknown. */
double rs_coll_bus_factor(rs_coll_kind kind, int64_t n);

/* Calls of these kinds on different ranks can be found again as one. */
static inline bool rs_coll_can_match(rs_coll_kind kind)
{
    return kind < RS_COLL_DISPATCH;
}
/* From a kernel's name. Of one-sided libraries (NVSHMEM, DeepEP), in which ranks do not meet, only what can not match. */
rs_coll_kind rs_coll_kind_of_kernel(const char *name);
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
/* "_c10d_functional::wait_tensor": the operator that waits for communication. */
bool rs_coll_is_wait(const char *name);
