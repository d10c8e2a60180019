/* Calls of operators that TraceLens has a model for: their work, what the model says, and the rows that come
 * of groups of them. */
#pragma once

#include "peer/tracelens_models.h"
#include "peer/tracelens_rank.h"

#define RS_TL_NO_ANSWER UINT32_MAX

/* A model's answer, kept for all calls with equal arguments. */
typedef struct rs_tl_known {
    rs_tl_answer answer;
    rs_tl_outcome outcome;
    uint32_t params; /* a number for the values of all parameters: equal for equal ones */
    uint32_t spec;   /* "matrix_bf16" in the rank's pool; RS_NO_STRING: unknown */
} rs_tl_known;

/* The answers so far. Filled by rs_tl_knowledge_ask. */
typedef struct rs_tl_knowledge {
    rs_tl_rank *rank;
    const rs_tl_model **model_of; /* by string id */
    rs_strings keys;              /* of questions: the id less 1 is the place in items */
    rs_strings params;
    rs_tl_known *items;
    size_t n, capacity;
    rs_arena arena;
    rs_keyed *backward;     /* (forward node, backward node), by forward node */
    const rs_fwdbwd *links; /* the same by backward node; the trace's */
    size_t n_backward;
} rs_tl_knowledge;

rs_status rs_tl_knowledge_make(rs_tl_rank *r, rs_tl_knowledge *out, rs_error *err);
void rs_tl_knowledge_clear(rs_tl_knowledge *k);

/* The model for a node's operator; NULL: none. */
const rs_tl_model *rs_tl_model_of(const rs_tl_knowledge *k, uint32_t node);
/* What the model of a node says, about the backward pass where asked. The work is that of the forward pass:
 * names of kernels tell more about matrix products. False when out of memory. */
bool rs_tl_knowledge_ask(rs_tl_knowledge *k, uint32_t node, bool backward, const uint32_t *work,
                         size_t n_work, uint32_t *answer);
/* Backward nodes that belong to a node or to what is below it: a run of k->backward. */
void rs_tl_backward_of(const rs_tl_knowledge *k, uint32_t node, size_t *first, size_t *end);
/* The forward node that a backward one belongs to; RS_NO_NODE: none. */
uint32_t rs_tl_forward_of(const rs_tl_knowledge *k, uint32_t backward);

/* A call, as the sheets of families and the unified one list it. */
typedef struct rs_tl_measured {
    uint32_t row, node; /* the event */
    uint32_t answer;    /* in the knowledge; RS_TL_NO_ANSWER: none */
    uint32_t first, n;  /* its kernels in the list's work */
    double time;        /* union of the work that the model is about, us */
} rs_tl_measured;

typedef struct rs_tl_call_list {
    const rs_tl_rank *rank;
    rs_tl_measured *items;
    size_t n, capacity;
    uint32_t *work;
    size_t n_work, work_capacity;
} rs_tl_call_list;

void rs_tl_call_list_clear(rs_tl_call_list *list);
/* Adds the linked work below a node to the list's work. */
bool rs_tl_take_work(rs_tl_call_list *list, uint32_t node);
bool rs_tl_add_call(rs_tl_call_list *list, const rs_tl_measured *call);

/* Numbers of one call: NaN where unknown. */
typedef struct rs_tl_metrics {
    double time; /* us */
    double gflops, megabytes, intensity, tb_per_s, tflops_per_s;
    double bound_us, pct; /* with the rates of a device */
    const char *bound;    /* ..., as the sheets call it; NULL: unknown */
} rs_tl_metrics;
rs_tl_metrics rs_tl_metrics_of(const rs_tl_rank *r, const rs_tl_answer *answer, double time);
/* Whether there is a bound for what the answer says. */
bool rs_tl_has_roofline(const rs_tl_knowledge *k, uint32_t answer);

rs_status rs_tl_add_unified(rs_tl_knowledge *k, rs_sheets *out, rs_error *err);
rs_status rs_tl_add_families(rs_tl_knowledge *k, rs_sheets *out, rs_error *err);

/* ---- cells --------------------------------------------------------------------------------------------- */

/* The two columns of kernels. The lot's items are those of the list. */
bool rs_tl_add_kernel_cells(const rs_tl_call_list *list, const rs_tl_lot *lot, rs_table *t);
/* A parameter's value in Python text; quoted: as repr() has it. */
void rs_tl_put_param(const rs_tl_param *p, bool quoted, rs_text *out);
