/* Sentences: what happened, and what proves it. */
#include "flight/analyse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *rs_fl_ranks_text(rs_flight *flight, const int64_t *ranks, size_t n)
{
    if (n == 0) return "no rank";
    if (n == 1) return rs_fl_print(flight, "rank %" PRId64, ranks[0]);
    char text[400] = "ranks ";
    size_t at = strlen(text), shown = n > 8 ? 6 : n;
    for (size_t i = 0; i < shown; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%" PRId64,
                               i == 0                     ? ""
                               : i + 1 == n && shown == n ? " and "
                                                          : ", ",
                               ranks[i]);
    if (shown < n) snprintf(text + at, sizeof text - at, " and %zu more", n - shown);
    return rs_fl_print(flight, "%s", text);
}

const char *rs_fl_group_text(rs_flight *flight, uint32_t group)
{
    const rs_fl_group *g = &flight->groups[group];
    const char *uid = rs_fl_text(flight, g->uid), *desc = rs_fl_text(flight, g->desc);
    return desc ? rs_fl_print(flight, "group %s (%s)", uid, desc) : rs_fl_print(flight, "group %s", uid);
}

static bool is_library(const char *file)
{
    return strstr(file, "site-packages/") || strstr(file, "dist-packages/") || strstr(file, "/torch/") ||
           strncmp(file, "torch/", 6) == 0 || strstr(file, "lib/python");
}

const char *rs_fl_where(rs_flight *flight, uint32_t stack)
{
    const rs_fl_stack *s = &flight->stacks[stack];
    if (!s->n) return NULL;
    const rs_fl_frame *chosen = &flight->frames[flight->stack_frames[s->first]];
    for (uint32_t i = 0; i < s->n; i++) {
        const rs_fl_frame *f = &flight->frames[flight->stack_frames[s->first + i]];
        if (is_library(rs_fl_text(flight, f->file))) continue;
        chosen = f;
        break;
    }
    return rs_fl_print(flight, "%s (%s:%" PRId64 ")", rs_fl_text(flight, chosen->name),
                       rs_fl_text(flight, chosen->file), chosen->line);
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

/* ---- evidence -------------------------------------------------------------------------------------------
 */

static bool prove(rs_fl_analysis *a, int64_t rank, const rs_fl_entry *e, const char *text)
{
    if (!text || !RS_GROW_ONE(a->evidence, a->n_evidence, a->evidence_capacity)) return false;
    a->evidence[a->n_evidence++] =
        (rs_flight_evidence){.rank = rank,
                             .record_id = e ? e->record_id : -1,
                             .text = text,
                             .state = e ? rs_fl_state_name((rs_fl_state)e->state) : NULL,
                             .stack = e ? e->stack : 0};
    return true;
}

static const char *op_text(rs_flight *flight, const rs_fl_entry *e)
{
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    const char *op = rs_fl_text(flight, c->op);
    if (c->kind == RS_FL_SEND || c->kind == RS_FL_RECV) {
        uint32_t peer = rs_fl_peer_slot(flight, e);
        int64_t rank = peer == RS_FL_NONE ? -1 : flight->groups[e->group].ranks[peer];
        return rs_fl_print(flight, "%s %s rank %" PRId64 " (p2p seq %" PRId64 ", %s)", op,
                           c->kind == RS_FL_SEND ? "to" : "from", rank, e->p2p_seq,
                           rs_fl_group_text(flight, e->group));
    }
    return rs_fl_print(flight, "%s (seq %" PRId64 ", %s)", op, e->seq, rs_fl_group_text(flight, e->group));
}

static const char *age_text(rs_flight *flight, const rs_fl_rank *rank, int64_t ns)
{
    char human[32];
    int64_t at = rs_fl_common(rank, ns);
    if (!at || !flight->report.newest_known) return "";
    int64_t age = flight->report.newest_ns - at;
    return rs_fl_print(flight, ", %s before the newest stamp of any rank",
                       rs_human_time(age < 0 ? 0 : age, human));
}

static const rs_fl_entry *last_entry(const rs_fl_rank *rank)
{
    for (size_t i = rank->n; i-- > 0;)
        if (!rank->entries[i].marker) return &rank->entries[i];
    return rank->n ? &rank->entries[rank->n - 1] : NULL;
}

static const char *at_text(rs_flight *flight, uint32_t stack)
{
    const char *where = rs_fl_where(flight, stack);
    return where ? rs_fl_print(flight, ", in %s", where) : "";
}

static bool prove_last_act(rs_fl_analysis *a, uint32_t index)
{
    rs_flight *flight = a->flight;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_entry *last = last_entry(rank);
    if (!last)
        return prove(a, rank->rank, NULL,
                     rs_fl_print(flight, "Rank %" PRId64 " recorded no operation at all.", rank->rank));
    int64_t latest = last->completed ? last->completed : last->started ? last->started : last->created;
    if (!prove(a, rank->rank, last,
               rs_fl_print(flight, "The last thing rank %" PRId64 " did: %s, %s%s%s.", rank->rank,
                           op_text(flight, last), rs_fl_state_name((rs_fl_state)last->state),
                           at_text(flight, last->stack), age_text(flight, rank, latest))))
        return false;
    if (a->open[index] != RS_FL_NONE) return true;
    return prove(a, rank->rank, NULL,
                 rs_fl_print(flight,
                             "Ruled out: waiting for another rank. Everything rank %" PRId64
                             " issued is completed, so it stopped on the host: data loading, an exception, a "
                             "checkpoint, a lock.",
                             rank->rank));
}

/* Why "not in the record" means "not issued". */
static bool prove_absence(rs_fl_analysis *a, const rs_fl_found *f, uint32_t index)
{
    rs_flight *flight = a->flight;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_member *member = rs_fl_member_of(flight, index, f->group);
    if (f->finding.p2p || !member || member->last_seq == RS_FL_UNKNOWN)
        return prove(a, rank->rank, NULL,
                     rs_fl_print(flight,
                                 "Ruled out: a lost record. Rank %" PRId64
                                 "'s dump is complete where this operation would stand.",
                                 rank->rank));
    const char *status = member->enqueued == RS_FL_UNKNOWN
                             ? "its ring keeps the newest operations"
                             : rs_fl_print(flight,
                                           "its pg_status agrees: last enqueued %" PRId64 ", started %" PRId64
                                           ", completed %" PRId64,
                                           member->enqueued, member->began, member->done);
    return status && prove(a, rank->rank, NULL,
                           rs_fl_print(flight,
                                       "Ruled out: a lost record. Rank %" PRId64 " ends at seq %" PRId64
                                       " of this group, and %s.",
                                       rank->rank, member->last_seq, status));
}

static bool prove_waiter(rs_fl_analysis *a, const rs_fl_found *f)
{
    rs_flight *flight = a->flight;
    if (f->rank == RS_FL_NONE) return true;
    const rs_fl_rank *rank = &flight->ranks[f->rank];
    const rs_fl_entry *e = &rank->entries[f->entry];
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    return prove(a, rank->rank, e,
                 rs_fl_print(flight, "Rank %" PRId64 " issued %s: %s, input %s %s%s.", rank->rank,
                             op_text(flight, e), rs_fl_state_name((rs_fl_state)e->state),
                             rs_fl_text(flight, c->in_sizes), rs_fl_text(flight, c->in_dtypes),
                             at_text(flight, e->stack)));
}

static bool prove_call(rs_fl_analysis *a, uint32_t index, uint32_t entry)
{
    rs_flight *flight = a->flight;
    if (index == RS_FL_NONE) return true;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_entry *e = &rank->entries[entry];
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    return prove(a, rank->rank, e,
                 rs_fl_print(flight, "Rank %" PRId64 ": %s, input %s %s, output %s %s, %s%s.", rank->rank,
                             op_text(flight, e), rs_fl_text(flight, c->in_sizes),
                             rs_fl_text(flight, c->in_dtypes), rs_fl_text(flight, c->out_sizes),
                             rs_fl_text(flight, c->out_dtypes), rs_fl_state_name((rs_fl_state)e->state),
                             at_text(flight, e->stack)));
}

/* ---- summaries ------------------------------------------------------------------------------------------
 */

static const char *waiters_text(rs_flight *flight, size_t n)
{
    return rs_fl_print(flight, "%zu rank%s", n, n == 1 ? " waits" : "s wait");
}

static const char *capital(rs_flight *flight, const char *text)
{
    char *copy = text ? rs_fl_print(flight, "%s", text) : NULL;
    if (copy && *copy >= 'a' && *copy <= 'z') *copy = (char)(*copy - 'a' + 'A');
    return copy;
}

typedef struct words {
    rs_fl_analysis *a;
    rs_flight *flight;
    const rs_fl_found *f;
    const rs_flight_finding *g;
    const char *who, *what; /* "Ranks 1 and 2", "all_reduce (seq 6, group 0 (default_pg))" */
    const rs_fl_entry *entry, *partner;
} words;

static const char *rank_missing(words *w)
{
    rs_flight *flight = w->flight;
    uint32_t index = rs_fl_rank_index(flight, w->g->culprits[0]);
    if (!prove_waiter(w->a, w->f)) return NULL;
    for (size_t i = 0; i < w->g->n_culprits && i < 4; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r != RS_FL_NONE && (!prove_last_act(w->a, r) || !prove_absence(w->a, w->f, r))) return NULL;
    }
    const rs_fl_entry *last = index == RS_FL_NONE ? NULL : last_entry(&flight->ranks[index]);
    const char *effect = w->g->n_waiters
                             ? rs_fl_print(flight, "%s for it", waiters_text(flight, w->g->n_waiters))
                             : "nobody is left waiting";
    const char *after =
        last ? rs_fl_print(flight, "%s last did %s%s",
                           w->g->n_culprits > 1 ? rs_fl_print(flight, "rank %" PRId64, w->g->culprits[0])
                                                : "it",
                           op_text(flight, last), at_text(flight, last->stack))
             : "it recorded nothing at all";
    return rs_fl_print(flight, "%s never issued %s: %s; %s.", w->who, w->what, effect, after);
}

static const char *dump_missing(words *w)
{
    rs_flight *flight = w->flight;
    if (w->g->n_members == 0)
        return rs_fl_print(
            flight, "%s left no dump, and nobody is seen waiting for %s; --allow-missing accepts that.",
            w->who, w->g->n_culprits == 1 ? "it" : "them");
    if (!prove_waiter(w->a, w->f)) return NULL;
    bool has_dump = false;
    for (size_t i = 0; i < w->g->n_culprits; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r == RS_FL_NONE) continue;
        has_dump = true;
        if (!prove_last_act(w->a, r)) return NULL;
    }
    if (!prove(w->a, -1, NULL,
               "Ruled out: every other member of the group. Those with a dump have issued the operation."))
        return NULL;
    return has_dump
               ? rs_fl_print(
                     flight,
                     "%s for %s in %s, and the dump no longer tells what happened there: probably the cause.",
                     waiters_text(flight, w->g->n_waiters),
                     rs_fl_ranks_text(flight, w->g->culprits, w->g->n_culprits), w->what)
               : rs_fl_print(flight,
                             "%s left no usable dump and %s for %s in %s: probably crashed or killed.",
                             w->who, waiters_text(flight, w->g->n_waiters),
                             w->g->n_culprits == 1 ? "it" : "them", w->what);
}

static const char *mismatch(words *w)
{
    rs_flight *flight = w->flight;
    const rs_fl_call *c = rs_fl_call_of(flight, w->entry),
                     *p = w->partner ? rs_fl_call_of(flight, w->partner) : NULL;
    const char *group = rs_fl_group_text(flight, w->f->group), *at = at_text(flight, w->entry->stack);
    const char *op = rs_fl_text(flight, c->op);
    bool all = w->g->n_culprits == w->g->n_members;
    if (!prove_call(w->a, w->f->rank, w->f->entry) ||
        !prove_call(w->a, w->f->partner_rank, w->f->partner_entry))
        return NULL;
    if (w->f->more && !prove(w->a, -1, NULL,
                             rs_fl_print(flight, "%zu later operation%s of the group differ%s too.",
                                         w->f->more, w->f->more == 1 ? "" : "s", w->f->more == 1 ? "s" : "")))
        return NULL;
    if (!w->g->p2p && !w->f->contradiction &&
        !prove(w->a, -1, NULL,
               w->g->n_culprits < w->g->n_members
                   ? "Ruled out: that the others are wrong. They agree with each other; the culprits are the "
                     "fewer."
                   : "There is no majority: which of the differing ranks is right, the record cannot tell."))
        return NULL;
    if (w->g->p2p &&
        !prove(w->a, -1, NULL,
               "Ruled out: two transfers that do not belong together. They are the same in number, "
               "counted from the beginning of the pair or from its last completed transfer."))
        return NULL;
    if (w->f->contradiction && w->g->verdict == RS_FLIGHT_SIZE_MISMATCH)
        return rs_fl_print(
            flight,
            "%s called %s with sizes that do not fit a group of %zu: input %s, output %s (seq %" PRId64
            ", %s)%s.",
            w->who, op, w->g->n_members, rs_fl_text(flight, c->in_sizes), rs_fl_text(flight, c->out_sizes),
            w->g->seq, group, at);
    if (w->f->contradiction)
        return rs_fl_print(flight, "%s called %s with input of %s and output of %s (seq %" PRId64 ", %s)%s.",
                           w->who, op, rs_fl_text(flight, c->in_dtypes), rs_fl_text(flight, c->out_dtypes),
                           w->g->seq, group, at);
    if (!p)
        return rs_fl_print(flight, "%s differ in %s: seq %" PRId64 " of %s.", w->who, w->f->about, w->g->seq,
                           group);
    const char *others =
        all ? rs_fl_print(flight, "rank %" PRId64, flight->ranks[w->f->partner_rank].rank) : "the others";
    const char *who = all ? rs_fl_print(flight, "Rank %" PRId64, flight->ranks[w->f->rank].rank) : w->who;
    switch (w->g->verdict) {
    case RS_FLIGHT_TYPE_MISMATCH:
        return rs_fl_print(flight, "%s called %s where %s called %s: seq %" PRId64 " of %s%s.", who, op,
                           others, rs_fl_text(flight, p->op), w->g->seq, group, at);
    case RS_FLIGHT_DTYPE_MISMATCH:
        return rs_fl_print(flight, "%s called %s on %s where %s used %s: seq %" PRId64 " of %s%s.", who, op,
                           rs_fl_text(flight, c->in_dtypes), others, rs_fl_text(flight, p->in_dtypes),
                           w->g->seq, group, at);
    case RS_FLIGHT_P2P_SIZE_MISMATCH:
    case RS_FLIGHT_P2P_ORDER:
        return rs_fl_print(flight,
                           w->g->verdict == RS_FLIGHT_P2P_ORDER
                               ? "%s exchange tensors in different orders: %s gives %" PRId64
                                 " elements where the receiver takes %" PRId64 "%s."
                               : "%s disagree about a transfer: %s gives %" PRId64
                                 " elements and the receiver takes %" PRId64 "%s.",
                           w->who, op_text(flight, w->entry), rs_fl_p2p_numel(c), rs_fl_p2p_numel(p), at);
    default: break;
    }
    if (c->kind == RS_FL_ALL_TO_ALL)
        return rs_fl_print(flight,
                           "What the ranks send and receive in %s does not add up: %s has input %s and "
                           "output %s, %s has %s and %s.",
                           w->what, who, rs_fl_text(flight, c->in_sizes), rs_fl_text(flight, c->out_sizes),
                           others, rs_fl_text(flight, p->in_sizes), rs_fl_text(flight, p->out_sizes));
    return rs_fl_print(flight, "%s called %s on %s -> %s where %s used %s -> %s: seq %" PRId64 " of %s%s.",
                       who, op, rs_fl_text(flight, c->in_sizes), rs_fl_text(flight, c->out_sizes), others,
                       rs_fl_text(flight, p->in_sizes), rs_fl_text(flight, p->out_sizes), w->g->seq, group,
                       at);
}

static const char *states(words *w)
{
    rs_flight *flight = w->flight;
    if (!prove_call(w->a, w->f->rank, w->f->entry) ||
        !prove(w->a, -1, NULL,
               "Ruled out: an absent rank. Every member has issued the operation, alike in type and size."))
        return NULL;
    for (size_t i = 0; i < w->g->n_culprits && i < 4; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r != RS_FL_NONE && r != w->f->rank && w->a->open[r] != RS_FL_NONE &&
            !prove_call(w->a, r, w->a->open[r]))
            return NULL;
    }
    const char *each = w->g->n_culprits == 1 ? "it" : "they";
    switch (w->g->verdict) {
    case RS_FLIGHT_STATE_MISMATCH:
        return rs_fl_print(flight, "%s completed elsewhere but not on %s: %s joined and never finished.",
                           capital(flight, w->what),
                           rs_fl_ranks_text(flight, w->g->culprits, w->g->n_culprits), each);
    case RS_FLIGHT_BLOCKED_BEFORE_START:
        if (!prove(w->a, -1, NULL,
                   "The record shows no earlier open collective on the blocked ranks: look for a GPU kernel "
                   "or copy that never ends before this one."))
            return NULL;
        return rs_fl_print(flight,
                           "%s issued %s but the GPU never reached it, while others wait inside it: earlier "
                           "GPU work hangs%s.",
                           w->who, w->what, at_text(flight, w->entry->stack));
    default: break;
    }
    bool started = w->entry->state == RS_FL_STARTED;
    if (!prove(w->a, -1, NULL,
               started ? "Next: the fabric, GPUs and the library (nccl_comm_state in the dumps, NCCL RAS, "
                         "Xid errors, link counters)."
                       : "No start was recorded anywhere. Without TORCH_NCCL_ENABLE_TIMING=1 starts are not "
                         "recorded; with it, the GPU streams never reached the operation."))
        return NULL;
    if (w->g->p2p)
        return rs_fl_print(flight,
                           "Both ends joined %s and the transfer hangs: network, GPU or communication "
                           "library; no rank is to blame from the record.",
                           w->what);
    return rs_fl_print(flight,
                       "All %zu ranks joined %s and none finished: %s; no rank is to blame from the record.",
                       w->g->n_members, w->what,
                       started ? "the transfer itself hangs (network, GPU or communication library)"
                               : "none is known to have started it");
}

static const char *circle(words *w)
{
    rs_flight *flight = w->flight;
    if (!prove_call(w->a, w->f->rank, w->f->entry) ||
        !prove_call(w->a, w->f->partner_rank, w->f->partner_entry))
        return NULL;
    for (size_t i = 0; i < w->g->n_culprits && i < 6; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r == RS_FL_NONE || r == w->f->rank || r == w->f->partner_rank || w->a->open[r] == RS_FL_NONE)
            continue;
        if (!prove_call(w->a, r, w->a->open[r])) return NULL;
    }
    if (!prove(w->a, -1, NULL,
               "Ruled out: an absent or stopped rank. Each rank of the circle stands in an operation that "
               "another one of them has to join first."))
        return NULL;
    const char *first = op_text(flight, w->entry),
               *second = w->partner ? op_text(flight, w->partner) : "another operation";
    int64_t a = flight->ranks[w->f->rank].rank, b = w->partner ? flight->ranks[w->f->partner_rank].rank : -1;
    if (w->g->verdict == RS_FLIGHT_P2P_DEADLOCK)
        return rs_fl_print(
            flight, "%s wait for each other in a circle: rank %" PRId64 " in %s, rank %" PRId64 " in %s.",
            w->who, a, first, b, second);
    return rs_fl_print(flight,
                       "%s issued collectives of different groups in different orders: rank %" PRId64
                       " stands in %s, rank %" PRId64 " in %s, and neither can go on.",
                       w->who, a, first, b, second);
}

static const char *configuration(words *w)
{
    rs_flight *flight = w->flight;
    const char *group = rs_fl_group_text(flight, w->f->group);
    if (strcmp(w->f->about, "undescribed") == 0) {
        if (!prove(w->a, -1, NULL,
                   "Its members are taken to be the ranks that used it; more may belong to it."))
            return NULL;
        return rs_fl_print(flight, "%s used %s, which no dump's pg_config describes.", w->who, group);
    }
    for (uint32_t i = 0; i < flight->n_groups; i++) {
        const rs_fl_group *o = &flight->groups[i];
        if (o->uid != flight->groups[w->f->group].uid || !o->conflict || !o->n_members) continue;
        for (uint32_t m = 0; m < o->n_members && m < 3; m++) {
            const rs_fl_member *member = flight->by_group[o->first_member + m];
            const char *desc = rs_fl_text(flight, member->desc);
            if (member->configured &&
                !prove(w->a, flight->ranks[member->rank].rank, NULL,
                       rs_fl_print(flight, "Rank %" PRId64 " describes it as %s with %zu members: %s.",
                                   flight->ranks[member->rank].rank, desc ? desc : "undefined", o->n,
                                   rs_fl_ranks_text(flight, o->ranks, o->n))))
                return NULL;
        }
    }
    return rs_fl_print(flight, "%s and the other ranks disagree about the members or the description of %s.",
                       w->who, group);
}

static const char *summarize(words *w)
{
    switch (w->g->verdict) {
    case RS_FLIGHT_RANK_MISSING: return rank_missing(w);
    case RS_FLIGHT_DUMP_MISSING: return dump_missing(w);
    case RS_FLIGHT_TYPE_MISMATCH:
    case RS_FLIGHT_SIZE_MISMATCH:
    case RS_FLIGHT_DTYPE_MISMATCH:
    case RS_FLIGHT_P2P_SIZE_MISMATCH:
    case RS_FLIGHT_P2P_ORDER: return mismatch(w);
    case RS_FLIGHT_STATE_MISMATCH:
    case RS_FLIGHT_STUCK:
    case RS_FLIGHT_BLOCKED_BEFORE_START: return states(w);
    case RS_FLIGHT_P2P_DEADLOCK:
    case RS_FLIGHT_CROSS_GROUP_ORDER: return circle(w);
    case RS_FLIGHT_BAD_CONFIG: return configuration(w);
    default: return w->g->summary; /* a straggler brings its own */
    }
}

rs_status rs_fl_explain(rs_fl_analysis *a, rs_fl_found *f, bool is_root, rs_error *err)
{
    rs_flight *flight = a->flight;
    if (f->finding.verdict == RS_FLIGHT_STRAGGLER) return RS_OK;
    a->n_evidence = 0;
    words w = {.a = a, .flight = flight, .f = f, .g = &f->finding};
    w.who = capital(flight, rs_fl_ranks_text(flight, f->finding.culprits, f->finding.n_culprits));
    if (f->rank != RS_FL_NONE) w.entry = &flight->ranks[f->rank].entries[f->entry];
    if (f->partner_rank != RS_FL_NONE) w.partner = &flight->ranks[f->partner_rank].entries[f->partner_entry];
    w.what = w.entry ? op_text(flight, w.entry) : "";
    f->finding.summary = w.who && w.what ? summarize(&w) : NULL;
    rs_flight_evidence *copy = rs_arena_alloc(&flight->arena, a->n_evidence * sizeof *copy);
    if (!f->finding.summary || !copy) return rs_fail_nomem(err, "the explanation");
    if (a->n_evidence) memcpy(copy, a->evidence, a->n_evidence * sizeof *copy);
    f->finding.evidence = copy;
    f->finding.n_evidence = a->n_evidence;
    (void)is_root;
    return RS_OK;
}
