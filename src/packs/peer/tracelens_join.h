/* Rows of one sheet in several of TraceLens' reports, joined by their keys: a row is in exactly one slot. */
#pragma once

#include "input/sheets.h"

enum { RS_TL_MAX_KEYS = 64 };
#define RS_TL_NO_ROW UINT32_MAX

/* A row of the comparison. */
typedef struct rs_tl_slot {
    uint32_t next;  /* slot of the same key; RS_TL_NO_ROW: the last */
    uint32_t maker; /* the first report that has a row here */
    uint32_t *rows; /* by report; RS_TL_NO_ROW: it has none */
} rs_tl_slot;

typedef struct rs_tl_chain rs_tl_chain;

/* The caller sets the first five members and clears the whole, also after a failure. */
typedef struct rs_tl_join {
    const rs_strings *texts;
    size_t n_reports;
    const rs_grid **grids;         /* by report; NULL: it has no such sheet. Borrowed */
    uint32_t keys[RS_TL_MAX_KEYS]; /* names of columns */
    size_t n_keys;

    rs_tl_slot *slots;
    size_t n, capacity;

    rs_strings known;    /* keys, and rows distinguished, as bytes */
    uint32_t *slot_of;   /* by known; RS_TL_NO_ROW: none */
    uint32_t *times;     /* by known: how often the report that is being added has it */
    rs_tl_chain *chains; /* by known */
    size_t slot_of_capacity, times_capacity, chains_capacity;
    rs_arena arena;
} rs_tl_join;

/* Rows of a key that agree in what stands next to it (operator, stream, thread) are paired first, what is left of the key
 * in the order of the sheets. False when out of memory. O(n) in the rows. */
bool rs_tl_join_make(rs_tl_join *join);
void rs_tl_join_clear(rs_tl_join *join);

/* The column of a report's sheet; SIZE_MAX: there is none. */
size_t rs_tl_column(const rs_tl_join *join, size_t report, const char *name);
/* Empty where the report has no row there or no such column (SIZE_MAX). */
rs_grid_cell rs_tl_cell(const rs_tl_join *join, uint32_t slot, size_t report, size_t column);
rs_grid_cell rs_tl_key(const rs_tl_join *join, uint32_t slot, size_t key);
double rs_tl_number(const rs_tl_join *join, uint32_t slot, size_t report, size_t column); /* NaN: unknown */

/* The slots by their keys: numbers, then texts, then what is empty. The caller frees them; NULL when out of memory. */
uint32_t *rs_tl_order_by_keys(const rs_tl_join *join);
/* Puts n slots in falling order of a report's column, unknown ones last, equal ones as they are. */
bool rs_tl_order_by_size(const rs_tl_join *join, uint32_t *slots, size_t n, size_t report, size_t column);
