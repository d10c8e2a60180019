#include "rewrite/slice_pairs.h"

#include <string.h>

#include "base/memory.h"
#include "rewrite/trace_writer.h"

static uint64_t thread_of(uint32_t rank, const uint8_t *text, size_t n)
{
    const uint8_t *pid, *tid;
    size_t pid_length, tid_length;
    rs_event_member(text, n, "pid", &pid, &pid_length);
    rs_event_member(text, n, "tid", &tid, &tid_length);
    uint64_t process = rs_hash_u64(rs_hash_bytes(pid ? pid : text, pid_length) + rank);
    return process ^ rs_hash_bytes(tid ? tid : text, tid_length);
}

static bool is_phase(const uint8_t *phase, size_t n, char letter)
{
    return n == 3 && phase[1] == (uint8_t)letter;
}

rs_status rs_slice_pairs_next(rs_slice_pairs *p, uint32_t rank, const uint8_t *text, size_t n, bool *kept,
                              rs_error *err)
{
    const uint8_t *phase;
    size_t length;
    bool is_new;
    rs_event_member(text, n, "ph", &phase, &length);
    bool begins = is_phase(phase, length, 'B');
    if (!begins && !is_phase(phase, length, 'E')) return RS_OK;
    uint32_t *top = rs_map64_put(&p->top, thread_of(rank, text, n), &is_new);
    if (!top || (begins && !RS_GROW_ONE(p->open, p->n, p->capacity))) return rs_fail_nomem(err, "events");
    if (is_new) *top = 0;
    if (begins) {
        p->open[p->n++] = (struct rs_open_record){*top, *kept};
        *top = (uint32_t)p->n;
        return RS_OK;
    }
    *kept = *top && p->open[*top - 1].kept;
    if (*top) *top = p->open[*top - 1].below;
    return RS_OK;
}

void rs_slice_pairs_clear(rs_slice_pairs *p)
{
    rs_map64_clear(&p->top);
    rs_free(p->open);
    *p = (rs_slice_pairs){0};
}
