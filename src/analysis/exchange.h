/* What exchange says of dispatch and combine: analysis/exchange_experts.c. */
#pragma once

#include "analysis/plan.h"
#include "match/expert_calls.h"

/* Places of the relations in exchange's plan. */
enum {
    RS_EXCHANGE_SENT,
    RS_EXCHANGE_TOTALS,
    RS_EXCHANGE_MESSAGES,
    RS_EXCHANGE_CALLS,
    RS_EXCHANGE_PAIRS,
    RS_EXCHANGE_RANKS,
    RS_EXCHANGE_EXPERTS,
    RS_EXCHANGE_LOADS,
    RS_EXCHANGE_BALANCE
};

/* A call as a rank's partial has it. */
typedef struct rs_exchange_call {
    rs_expert_call call;
    uint32_t stack; /* text: the library */
} rs_exchange_call;

/* Calls of one role and phase of a rank. Times in ns; RS_NO_VALUE: not known. */
typedef struct rs_exchange_experts {
    int64_t rank, calls, time, mean, least, greatest, exposed, ranks, wait, transfer, within;
    uint32_t stack, role, phase; /* texts */
} rs_exchange_experts;

/* Computation between dispatch and combine, of one layer. */
typedef struct rs_exchange_load {
    int64_t rank, layer, calls, time, mean;
    uint32_t phase;
    double vs_mean;
} rs_exchange_load;

/* What equal loads would gain ranks that call together. */
typedef struct rs_exchange_balance {
    int64_t first_rank, ranks, calls, slowest, mean, low, high;
    uint32_t phase;
} rs_exchange_balance;

/* Puts the calls of a rank. */
rs_status rs_exchange_put_calls(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);
/* From the calls of all ranks; loads and balance after experts, which leaves them its work. */
rs_status rs_exchange_put_experts(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                  rs_error *err);
rs_status rs_exchange_put_loads(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                rs_error *err);
rs_status rs_exchange_put_balance(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                  rs_error *err);

extern const rs_layout rs_exchange_call_layout;
