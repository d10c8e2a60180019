/* What a selector may ask for. Private to src/engine/edits*.c. */
#pragma once

#include "base/real.h"
#include "engine/edits.h"

static inline const rs_expr_term *rs_edit_term(const rs_edit *edit, size_t i)
{
    return &edit->selector->terms[i];
}
static inline size_t rs_edit_n_terms(const rs_edit *edit)
{
    return edit->selector->n_terms;
}

/* A weight becomes `to`, and counts as changed. */
static inline void rs_edit_change(rs_editor *x, int64_t *weight, int64_t to)
{
    rs_weights_set(x->w, weight, to);
    x->n_changed++;
}

/* Whether a text is what an edit names: the whole of it, or a part. */
bool rs_edit_names(const rs_edit_name *name, const char *text, size_t n);

/* The nearest whole number of ns, held at 9e17 either way. */
static inline int64_t rs_edit_ns(double ns)
{
    if (!(ns > -9e17)) return -(int64_t)900000000000000000;
    return ns > 9e17 ? (int64_t)900000000000000000 : rs_int_of(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* Whether a node is work that meets no other rank. */
bool rs_edit_is_plain_work(const rs_editor *x, size_t rank, uint32_t local);
/* edits_balance.c: no-stragglers, balanced. */
rs_status rs_edit_even_out(const rs_edit *edit, rs_editor *x, rs_error *err);

/* Sizes of transfers, and transfers, from which on it is known how much of them grows with its size. With fewer the answer is
 * an interval: all of a transfer may grow, or none. */
#define RS_SIZES_OF_FIT 3
/* Whether ranks meet as a group that the edit is about. */
bool rs_edit_is_of_group(const rs_edit *edit, const rs_editor *x, const rs_meeting *meeting);
/* Work that is not launched any more: what its thread took up to the launch goes. And of all members of a collective. */
void rs_edit_save_launch(rs_editor *x, size_t rank, uint32_t local);
void rs_edit_save_launches(rs_editor *x, uint32_t meeting);

/* The ns that a collective of n ranks takes at least on the fastest links that there are. */
int64_t rs_edit_least_transfer(rs_coll_kind kind, uint32_t n, int64_t bytes, bool between_hosts);
