/* Learned event layouts.
 *
 * A profiler writes every event of one kind with the same keys in the same order and the same white space:
 * between two values stand fixed bytes. Layouts are kept as a tree: an edge is a run of fixed bytes and what
 * stands behind it. The fast reader walks the tree by comparing fixed bytes, which passes over keys and
 * punctuation without looking at them one by one. Fixed bytes were accepted by the reference reader in
 * exactly this position, so a match means the same; where nothing matches, the reference reader takes the
 * event. Both accept the same texts. */
#pragma once

#include "base/little.h"
#include "format/kineto_core.h"

#define RS_LITERAL 64
#define RS_MAX_EDGES 8192
#define RS_MAX_SIBLINGS 64
#define RS_GUESSES (1u << 15)
#define RS_MAX_SKIPPED 65536

typedef struct rs_edge {
    uint8_t literal[RS_LITERAL];
    uint64_t mask; /* one bit a byte of the literal */
    uint8_t length, op, column;
    uint8_t phase;     /* RS_OP_END: of this layout */
    uint16_t category; /* RS_OP_END */
    uint8_t digits,
        steady;       /* of the numbers that stood here: how many digits, how often in a row; see RS_STEADY */
    uint32_t sibling; /* the next alternative, 0: none */
    uint32_t child;   /* the first edge behind the value, 0: none */
    uint32_t hint;    /* the child that was right last time */
    uint32_t
        last; /* RS_OP_NAME, RS_OP_SKIP_ARRAY: the last values here, folded; RS_OP_END: the first edge after */
} rs_edge;

struct rs_shapes {
    rs_edge *edges; /* [0] is the root */
    uint32_t n_edges, capacity;
    rs_strings skipped;                /* arrays that are not kept but were found valid */
    uint32_t guesses[RS_GUESSES];      /* string that is likely to stand next, id + 1 */
    uint32_t skip_guesses[RS_GUESSES]; /* the same into `skipped` */
};

size_t rs_shapes_run_portable(rs_kineto *core, const uint8_t **p, const uint8_t *end);
size_t rs_shapes_run_128(rs_kineto *core, const uint8_t **p, const uint8_t *end);
size_t rs_shapes_run_avx2(rs_kineto *core, const uint8_t **p, const uint8_t *end);
size_t rs_shapes_run_avx512(rs_kineto *core, const uint8_t **p, const uint8_t *end);
