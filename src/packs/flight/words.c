/* The words of the answer: ranks, groups, operations, places, times. */
#include "flight/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_RANGES 8 /* ranges of ranks that a sentence names before it counts the rest */

/* "8-15" for three and more in a row; the end of the row in *stop. */
static size_t put_range(char *text, size_t size, const int64_t *ranks, size_t n, size_t i, size_t *stop)
{
    size_t last = i;
    while (last + 1 < n && ranks[last + 1] == ranks[last] + 1) last++;
    if (last < i + 2) last = i;
    *stop = last + 1;
    return (size_t)(last > i ? snprintf(text, size, "%" PRId64 "-%" PRId64, ranks[i], ranks[last])
                             : snprintf(text, size, "%" PRId64, ranks[i]));
}

const char *rs_fl_ranks_text(rs_flight *flight, const int64_t *ranks, size_t n)
{
    if (n == 0) return "no rank";
    if (n == 1) return rs_fl_print(flight, "rank %" PRId64, ranks[0]);
    char text[600] = "ranks ";
    size_t at = strlen(text), shown = 0;
    for (size_t i = 0; i < n && shown < MAX_RANGES; shown++) {
        char one[48];
        size_t stop;
        put_range(one, sizeof one, ranks, n, i, &stop);
        bool last = stop == n && i > 0;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i == 0 ? "" : last ? " and " : ", ", one);
        i = stop;
        if (shown + 1 == MAX_RANGES && i < n) snprintf(text + at, sizeof text - at, " and %zu more", n - i);
    }
    return rs_fl_print(flight, "%s", text);
}

const char *rs_fl_group_text(rs_flight *flight, uint32_t group)
{
    const rs_fl_group *g = &flight->groups[group];
    const char *uid = rs_fl_text(flight, g->uid), *desc = rs_fl_text(flight, g->desc);
    return desc ? rs_fl_print(flight, "%s (group %s)", desc, uid) : rs_fl_print(flight, "group %s", uid);
}

bool rs_fl_is_library(const char *file)
{
    /* Of a serving job the engine's own code is what its users know. */
    static const char *const others[] = {"threading.py",  "ssl.py",           "socket.py",
                                         "selectors.py",  "queue.py",         "zmq/",
                                         "subprocess.py", "contextlib.py",    "asyncio/",
                                         "site.py",       "multiprocessing/", "concurrent/futures/"};
    if (strstr(file, "/vllm/") || strstr(file, "/sglang/")) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(file, others[i], strlen(others[i])) == 0) return true; /* as py-spy shortens them */
    return strstr(file, "site-packages/") || strstr(file, "dist-packages/") || strstr(file, "/torch/") ||
           strncmp(file, "torch/", 6) == 0 || strstr(file, "lib/python") || file[0] == '<' ||
           strstr(file, ".so");
}

const rs_fl_frame *rs_fl_user_frame(const rs_flight *flight, uint32_t stack)
{
    const rs_fl_stack *s = &flight->stacks[stack];
    for (uint32_t i = 0; i < s->n; i++) {
        const rs_fl_frame *f = &flight->frames[flight->stack_frames[s->first + i]];
        if (!rs_fl_is_library(rs_fl_text(flight, f->file))) return f;
    }
    return s->n ? &flight->frames[flight->stack_frames[s->first]] : NULL;
}

const char *rs_fl_where(rs_flight *flight, uint32_t stack)
{
    const rs_fl_frame *f = rs_fl_user_frame(flight, stack);
    return f ? rs_fl_print(flight, "%s (%s:%" PRId64 ")", rs_fl_text(flight, f->name),
                           rs_fl_text(flight, f->file), f->line)
             : NULL;
}

const char *rs_flight_stack(rs_flight *flight, uint32_t stack)
{
    if (stack >= flight->n_stacks || !flight->stacks[stack].n) return "";
    rs_fl_stack *s = &flight->stacks[stack];
    if (s->text != RS_FL_NONE) return rs_fl_text(flight, s->text);
    char *text = NULL;
    size_t n = 0, capacity = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const rs_fl_frame *f = &flight->frames[flight->stack_frames[s->first + i]];
        const char *name = rs_fl_text(flight, f->name), *file = rs_fl_text(flight, f->file);
        size_t need = strlen(name) + strlen(file) + 40;
        if (!rs_grow((void **)&text, &capacity, n + need, 1)) break;
        n += (size_t)snprintf(text + n, need, "%s%s at %s:%" PRId64, i ? "\n" : "", name, file, f->line);
    }
    uint32_t id = text ? rs_strings_add(&flight->texts, text, n) : RS_NO_STRING;
    rs_free(text);
    if (id == RS_NO_STRING) return "";
    s->text = id;
    return rs_fl_text(flight, id);
}

const char *rs_fl_op_text(rs_flight *flight, const rs_fl_entry *e)
{
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    const char *op = rs_fl_text(flight, c->op), *group = rs_fl_group_text(flight, e->group);
    if (!group) return NULL;
    if (c->kind != RS_FL_SEND && c->kind != RS_FL_RECV)
        return rs_fl_print(flight, "%s %" PRId64 " of %s", op, e->seq, group);
    uint32_t peer = rs_fl_peer_slot(flight, e);
    if (peer == RS_FL_NONE)
        return rs_fl_print(flight, "%s %s any rank (p2p %" PRId64 " of %s)", op,
                           c->kind == RS_FL_SEND ? "to" : "from", e->p2p_seq, group);
    return rs_fl_print(flight, "%s %s rank %" PRId64 " (p2p %" PRId64 " of %s)", op,
                       c->kind == RS_FL_SEND ? "to" : "from", flight->groups[e->group].ranks[peer],
                       e->p2p_seq, group);
}

const char *rs_fl_missed_text(rs_flight *flight, uint32_t rank, const rs_fl_entry *e)
{
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    const char *group = rs_fl_group_text(flight, e->group);
    if (c->kind != RS_FL_SEND && c->kind != RS_FL_RECV) return rs_fl_op_text(flight, e);
    if (!group) return NULL;
    return rs_fl_print(flight, "the %s for rank %" PRId64 "'s %s (p2p %" PRId64 " of %s)",
                       c->kind == RS_FL_SEND ? "recv" : "send", flight->ranks[rank].rank,
                       c->kind == RS_FL_SEND ? "send" : "recv", e->p2p_seq, group);
}

const char *rs_fl_clock_text(rs_flight *flight, int64_t ns)
{
    if (ns < INT64_C(1000000000000000000)) return NULL; /* no wall clock */
    int64_t s = ns / 1000000000 % 86400;
    return rs_fl_print(flight, "%02d:%02d:%02d UTC", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

const char *rs_fl_age_text(rs_flight *flight, const rs_fl_rank *rank, int64_t ns)
{
    char human[32];
    int64_t at = rs_fl_common(rank, ns);
    if (!at || !flight->report.newest_known) return "";
    int64_t age = rs_sub_sat(flight->report.newest_ns, at);
    return rs_fl_print(flight, ", %s before the newest stamp of any rank",
                       rs_human_time(age < 0 ? 0 : age, human));
}

const char *rs_fl_at_text(rs_flight *flight, uint32_t stack)
{
    const char *where = rs_fl_where(flight, stack);
    return where ? rs_fl_print(flight, ", in %s", where) : "";
}

const char *rs_fl_capital(rs_flight *flight, const char *text)
{
    char *copy = text ? rs_fl_print(flight, "%s", text) : NULL;
    if (copy && *copy >= 'a' && *copy <= 'z') *copy = (char)(*copy - 'a' + 'A');
    return copy;
}
