/* The verdicts of a result: a list that several results share, stored and sent as one. */
#ifndef RS_VERDICT_VERDICTS_H
#define RS_VERDICT_VERDICTS_H

#include "base/layout.h"
#include "verdict/judge.h"

/* The part of rs_verdicts that is stored. */
typedef struct rs_verdict_list {
    rs_verdict *items;
    size_t n;
    rs_lateness *late;
    size_t n_late;
    rs_unexamined *unexamined;
    size_t n_unexamined;
} rs_verdict_list;

typedef struct rs_verdicts rs_verdicts;

/* A judgement as values: its rows, or that there are none, or why nothing can be said. *out is the caller's share. */
rs_status rs_verdicts_make(const rs_judgement *judgement, rs_verdicts **out, rs_error *err);
/* Nothing can be said, and why. */
rs_status rs_verdicts_refuse(const char *reason, rs_verdicts **out, rs_error *err);

/* One more share; each is returned with rs_verdicts_free. Any thread. */
rs_verdicts *rs_verdicts_hold(rs_verdicts *verdicts); /* NULL is allowed */
void rs_verdicts_free(rs_verdicts *verdicts);         /* NULL is allowed */
const rs_verdict_list *rs_verdicts_get(const rs_verdicts *verdicts);

void rs_verdicts_pack(const rs_verdicts *verdicts, rs_wire_writer *w);
/* NULL and a bad reader when the bytes are none. */
rs_verdicts *rs_verdicts_unpack(rs_wire_reader *r);

#endif
