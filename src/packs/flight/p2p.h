/* Matching point-to-point operations: for each ordered pair of a group the n-th send meets the n-th receive.
 */
#pragma once

#include "flight/model.h"

typedef struct rs_fl_pair {
    uint32_t src, dst;           /* slots */
    uint32_t src_rank, dst_rank; /* rank indexes, RS_FL_NONE without a dump */
    uint32_t sends, n_sends;     /* entry numbers of src_rank, in rs_fl_p2p.entries */
    uint32_t recvs, n_recvs;
    int64_t shift; /* send i meets receive i + shift */
    bool exact;    /* both rings hold the pair from its beginning; else the shift is inferred */
} rs_fl_pair;

typedef struct rs_fl_p2p {
    bool built;
    uint32_t *entries;
    rs_fl_pair *pairs; /* by src, then dst */
    size_t n_pairs;
} rs_fl_p2p;

/* The pairs of a group; built once and kept. */
rs_status rs_fl_p2p_of(rs_flight *flight, uint32_t group, const rs_fl_p2p **out, rs_error *err);
void rs_fl_p2p_free(rs_flight *flight);

/* The partner of a send or receive: its entry, or NULL when the other side never issued it (*known true) or
 * may have
 * (*known false: no dump, or a ring that lost it). */
const rs_fl_entry *rs_fl_mate(rs_flight *flight, const rs_fl_p2p *p2p, uint32_t rank, uint32_t entry,
                              uint32_t *peer_slot, bool *known);

/* The slot of the other side, RS_FL_NONE when the record names none. */
uint32_t rs_fl_peer_slot(const rs_flight *flight, const rs_fl_entry *entry);

/* Whether entry i of a rank is one of several of a batch: what its state says is the batch's. */
bool rs_fl_in_batch(const rs_fl_rank *rank, size_t i);
/* The first entry of the batch that entry i of a rank belongs to. */
size_t rs_fl_batch_begin(const rs_fl_rank *rank, size_t i);

/* Elements a send gives or a receive takes. */
int64_t rs_fl_p2p_numel(const rs_fl_call *call);
