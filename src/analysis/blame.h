/* What the parts of `blame` share: what is told apart, and how a wait is shared out over it. */
#pragma once

#include "base/strings.h"
#include "engine/forest.h"

/* What --by tells apart beside rank and part. */
typedef enum rs_blame_by {
    RS_BLAME_BY_RANK,
    RS_BLAME_BY_KERNEL,
    RS_BLAME_BY_OPERATOR,
    RS_BLAME_BY_PHASE,
    RS_BLAME_BY_LAYER,
    RS_BLAME_BY_GROUP,
    RS_BLAME_BY_EDGE
} rs_blame_by;

#define RS_BLAME_BY_CHOICES "rank|kernel|operator|phase|layer|group|edge"
rs_blame_by rs_blame_by_of(const char *word);

/* What is told apart. Its bytes are the key of a map. */
typedef struct rs_blame_key {
    uint32_t kind, waiting, rank, part;
    uint32_t detail; /* by kernel, operator, group: a text; by phase, layer, edge: a number; RS_BLAME_NONE */
} rs_blame_key;

#define RS_BLAME_NONE UINT32_MAX

/* Beside a key: what it adds up to. */
typedef struct rs_blame_sum {
    int64_t ns, instances;
    int64_t most; /* greatest share in one wait, and where that waited */
    uint32_t example;
    int64_t now; /* of the wait under way; `touched` says which have one */
    bool is_touched;
} rs_blame_sum;

typedef struct rs_blamer {
    rs_forest f;
    rs_blame_by by;
    rs_strings keys;  /* bytes of keys; ids are places in sums */
    rs_strings texts; /* names of all ranks */
    rs_blame_sum *sums;
    size_t n_sums, sums_capacity;
    uint32_t *touched;
    size_t n_touched, touched_capacity;
    uint32_t kind, waiting; /* of the wait under way */
} rs_blamer;

bool rs_blamer_init(rs_blamer *blamer);
void rs_blamer_clear(rs_blamer *blamer);

/* Counts a link into the wait under way. False when out of memory. */
bool rs_blame_link(rs_blamer *blamer, const rs_link *link, int64_t ns);
/* The same without a link: a rank (as the engine numbers them) is to blame for what nothing explains. */
bool rs_blame_rank(rs_blamer *blamer, uint32_t node, int64_t ns);
/* What was counted becomes shares of the wait, in `now` of each sum touched; they add up to it. */
bool rs_blame_share_out(rs_blamer *blamer, int64_t wait);
/* The key of a sum. */
rs_blame_key rs_blame_key_of(const rs_blamer *blamer, uint32_t id);
