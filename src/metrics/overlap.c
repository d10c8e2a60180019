/* How long what ran at once: a sweep over the borders of all ranges, in whole numbers. */
#include <string.h>

#include "base/memory.h"
#include "metrics/record.h"

/* A border's value: the kind's index and whether it is an end. */
static bool add_border(rs_record_reader *reader, int64_t at, unsigned kind, bool end)
{
    if (reader->n_borders == reader->borders_capacity &&
        !rs_grow((void **)&reader->borders, &reader->borders_capacity, reader->n_borders + 1,
                 sizeof *reader->borders))
        return false;
    reader->borders[reader->n_borders++] = (rs_keyed){at, kind * 2 + end};
    return true;
}

bool rs_record_overlap(rs_record_reader *reader, int64_t total, int64_t *times, size_t *n_cut, size_t *n_void)
{
    reader->n_borders = 0;
    memset(times, 0, RS_RANGE_MASKS * sizeof *times);
    for (size_t i = 0; i < reader->n_ranges; i++) {
        const rs_range *r = &reader->ranges[i];
        if (r->end <= r->start) {
            ++*n_void;
            continue;
        }
        int64_t start = r->start < 0 ? 0 : r->start, end = r->end > total ? total : r->end;
        *n_cut += start != r->start || end != r->end;
        if (end <= start) continue;
        unsigned kind = (unsigned)__builtin_ctz(r->what);
        if (!add_border(reader, start, kind, false) || !add_border(reader, end, kind, true)) return false;
    }
    if (!rs_keyed_sort(reader->borders, reader->n_borders)) return false;
    uint32_t active[5] = {0};
    unsigned mask = 0;
    int64_t last = 0;
    for (size_t i = 0; i < reader->n_borders; i++) {
        const rs_keyed *b = &reader->borders[i];
        unsigned kind = b->value >> 1;
        times[mask] += b->key - last;
        last = b->key;
        /* at equal times the order of starts and ends does not matter: nothing lasts for no time */
        if (b->value & 1) {
            if (--active[kind] == 0) mask &= ~(1U << kind);
        } else {
            active[kind]++;
            mask |= 1U << kind;
        }
    }
    if (total > last) times[0] += total - last;
    return true;
}
