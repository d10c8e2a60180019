/* How a table's columns are shown to people: one unit and one number of decimals a column, chosen by its
 * values. */
#pragma once

#include "rankscope/table.h"

#define RS_HEADING_SIZE 192
#define RS_CELL_SIZE 48

typedef struct rs_display {
    char heading[RS_HEADING_SIZE]; /* cleaned for the terminal, the unit in parentheses */
    rs_type type;                  /* of the column it was planned for */
    bool is_text;
    bool plain_int;  /* never scaled or grouped */
    bool scientific; /* values too small or too large for plain notation */
    double scale;    /* cell = value / scale, value as rs_table_int or rs_table_real gives it */
    unsigned decimals;
    int time_unit; /* of times: a power of 1000 ns; else negative */
} rs_display;

/* Looks at every value of the column. */
void rs_display_plan(const rs_table *table, size_t column, bool utf8, rs_display *out);
/* All columns of a table. Times that add up to another in every row have its unit. */
void rs_display_plan_table(const rs_table *table, bool utf8, rs_display *out);

/* Whether a plan that was made for another page of a table can show the column of this one. */
bool rs_display_suits(const rs_table *table, size_t column, const rs_display *display);

/* A number's text, "-" when it is unknown; terminated; returns the length. Not for text columns. */
size_t rs_display_cell(const rs_table *table, size_t row, size_t column, const rs_display *display,
                       char out[RS_CELL_SIZE]);
