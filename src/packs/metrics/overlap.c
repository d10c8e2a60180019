/* How long what ran at once: a sweep over the borders of all ranges, in whole numbers. */

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

#define COLLECTIVES ((1U << RS_N_COLLECTIVES) - 1)
#define COMPUTE (1U << RS_RANGE_COMPUTE)

/* For so long the kinds of the mask were active. */
static void add_time(rs_active *out, unsigned mask, int64_t time)
{
    bool with = mask & COMPUTE;
    unsigned comm = mask & COLLECTIVES;
    if (!mask) out->idle += time;
    if (with) out->compute += time;
    if (comm) out->comm += time;
    if (with && comm) out->overlap += time;
    for (; comm; comm &= comm - 1) {
        unsigned kind = (unsigned)__builtin_ctz(comm);
        out->in[kind] += time;
        if (with) out->hidden[kind] += time;
    }
}

bool rs_record_overlap(rs_record_reader *reader, int64_t total, rs_active *out, size_t *n_cut, size_t *n_void)
{
    reader->n_borders = 0;
    *out = (rs_active){0};
    for (size_t i = 0; i < reader->n_ranges; i++) {
        const rs_range *r = &reader->ranges[i];
        if (r->end <= r->start) {
            ++*n_void;
            continue;
        }
        int64_t start = r->start < 0 ? 0 : r->start, end = r->end > total ? total : r->end;
        *n_cut += start != r->start || end != r->end;
        if (end <= start) continue;
        if (!add_border(reader, start, r->what, false) || !add_border(reader, end, r->what, true))
            return false;
    }
    if (!rs_keyed_sort(reader->borders, reader->n_borders)) return false;
    uint32_t active[RS_N_RANGE_KINDS] = {0};
    unsigned mask = 0;
    int64_t last = 0;
    for (size_t i = 0; i < reader->n_borders; i++) {
        const rs_keyed *b = &reader->borders[i];
        unsigned kind = b->value >> 1;
        if (b->key > last) add_time(out, mask, b->key - last);
        last = b->key;
        /* at equal times the order of starts and ends does not matter: nothing lasts for no time */
        if (b->value & 1) {
            if (--active[kind] == 0) mask &= ~(1U << kind);
        } else {
            active[kind]++;
            mask |= 1U << kind;
        }
    }
    if (total > last) out->idle += total - last;
    return true;
}
