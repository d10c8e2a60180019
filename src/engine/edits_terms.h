/* What a selector may ask for. Private to src/engine/edits*.c. */
#ifndef RS_ENGINE_EDITS_TERMS_H
#define RS_ENGINE_EDITS_TERMS_H

#include "engine/edits.h"

static inline const rs_expr_term *rs_edit_term(const rs_edit *edit, size_t i)
{
    return &edit->selector->terms[i];
}
static inline size_t rs_edit_n_terms(const rs_edit *edit)
{
    return edit->selector->n_terms;
}

/* Whether a text is what an edit names: the whole of it, or a part. */
bool rs_edit_names(const rs_edit_name *name, const char *text, size_t n);

/* The ns that a collective of n ranks takes at least on the fastest links that there are. */
int64_t rs_edit_least_transfer(rs_coll_kind kind, uint32_t n, int64_t bytes, bool between_hosts);
/* How long a transfer of so many bytes takes on the slowest links between GPUs, without latency; INT64_MAX: not known. */
int64_t rs_edit_most_transfer(rs_coll_kind kind, uint32_t n, int64_t bytes);

#endif
