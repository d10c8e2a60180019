/* The nesting of a host thread's events. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One event of a thread; end may lie before start and then counts as start. */
typedef struct rs_nested {
    int64_t start, end;
    uint32_t id; /* the caller's; below 2^31 */
} rs_nested;

/* The order in which the events of one thread begin and end: 2 * n values id << 1 | is_end. Where times are
 * equal, ends come before starts, the longer event starts first and ends last, then the order of items
 * decides; an event without duration lies inside what ends, else inside what starts there. items must stand
 * in the order that decides ties. false when out of memory.
 *
 * Who walks the order keeps a stack: a start pushes, an end pops the top, whoever's end it is. Events that
 * overlap without nesting so come out nested somehow instead of failing. */
bool rs_call_stack_order(const rs_nested *items, size_t n, uint32_t *order);

#define RS_STACK_END 1u
