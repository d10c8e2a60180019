/* The parts of reading one dump: the values and their cost (dump.c), the entries (dump_entries.c). Private to
 * these. */
#pragma once

#include "flight/keys.h"
#include "flight/model.h"
#include "input/values.h"

struct rs_fl_reader {
    rs_values values;
    uint32_t *ids; /* by node: text or frame number + 1; 0 = not yet known */
    size_t ids_capacity;
    uint32_t *words;
    size_t words_capacity;
    char *joined;
    size_t joined_capacity;
};

/* The state of one reading. */
typedef struct rs_fl_build {
    rs_fl_reader *scratch;
    rs_values *v;
    rs_fl_draft *draft;
    uint64_t budget;
    bool nomem, spent;
    bool no_list;   /* entries that are no list */
    uint64_t n_bad; /* entries that could not be used */
} rs_fl_build;

/* The next child, paid from the budget: false at the end, and when the budget or memory is spent. */
bool rs_fl_next(rs_fl_build *b, rs_value_walk *walk, uint32_t *node);
bool rs_fl_next_pair(rs_fl_build *b, rs_value_walk *walk, uint32_t *k, uint32_t *value);
/* The number of a text, or of an integer's digits; RS_FL_NONE for other values. */
uint32_t rs_fl_text_id(rs_fl_build *b, uint32_t node);
/* The integer that a value represents, as number, truth or digits. */
bool rs_fl_int_of(const rs_fl_build *b, uint32_t node, int64_t *out);
/* A number that counts operations, held to what may be added and subtracted without overflow. */
static inline int64_t rs_fl_count(int64_t i)
{
    const int64_t most = INT64_C(1) << 60;
    return i > most ? most : i < -most ? -most : i;
}
/* The group of that text, added when it is new. */
uint32_t rs_fl_draft_group(rs_fl_build *b, uint32_t uid);
/* All entries of the list at node. */
void rs_fl_read_entries(rs_fl_build *b, uint32_t node);
