/* One finding in one sentence, and the proof of it. */
#include "flight/sources.h"
#include "flight/words.h"

#include <inttypes.h>
#include <string.h>

typedef struct words {
    rs_fl_analysis *a;
    rs_flight *flight;
    const rs_fl_found *f;
    const rs_flight_finding *g;
    const char *who, *what; /* "Ranks 1 and 2", "all_reduce 6 of default_pg (group 0)" */
    const rs_fl_entry *entry, *partner;
} words;

/* "3 ranks wait" */
static const char *waiters_text(rs_flight *flight, size_t n)
{
    return rs_fl_print(flight, "%zu rank%s", n, n == 1 ? " waits" : "s wait");
}

/* ", where ranks 1 and 2 wait since 02:11:08 UTC": those that are in the operation itself; when all wait
 * through others, how many they are. */
static const char *who_waits(words *w)
{
    rs_flight *flight = w->flight;
    const char *since = w->f->when == INT64_MAX ? NULL : rs_fl_clock_text(flight, w->f->when);
    const char *clock = since ? rs_fl_print(flight, " since %s", since) : "";
    RS_LOCAL int64_t *ranks = rs_malloc((w->a->n_waiting + 1) * sizeof *ranks);
    size_t n = 0;
    if (!ranks || !clock) return NULL;
    for (size_t i = 0; i < w->a->n_waiting; i++) {
        const rs_flight_waiting *x = &w->a->waiting[i];
        bool here =
            x->seq == w->g->seq && x->p2p == w->g->p2p && w->g->group && strcmp(x->group, w->g->group) == 0;
        bool for_it = false;
        for (size_t k = 0; here && !for_it && k < x->n_waits_for; k++)
            for_it = x->waits_for[k] == w->g->culprits[0];
        if (for_it) ranks[n++] = x->rank;
    }
    const char *text = "";
    if (n && !w->g->p2p)
        text = rs_fl_print(flight, ", where %s wait%s%s", rs_fl_ranks_text(flight, ranks, n),
                           n == 1 ? "s" : "", clock);
    else if (w->g->n_waiters)
        text = rs_fl_print(flight, "; %s%s", waiters_text(flight, w->g->n_waiters), clock);
    return text;
}

static const char *silent(words *w)
{
    rs_flight *flight = w->flight;
    bool many = w->g->n_culprits > 1;
    if (!rs_fl_prove_waiter(w->a, w->f)) return NULL;
    bool issue_only = false;
    for (size_t i = 0; i < w->g->n_culprits && i < 4; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r == RS_FL_NONE) continue;
        issue_only = issue_only || flight->ranks[r].shape == RS_FL_ISSUE_ONLY;
        if (!rs_fl_prove_last_act(w->a, r) || !rs_fl_prove_absence(w->a, w->f, r)) return NULL;
    }
    const char *missed = w->entry ? rs_fl_missed_text(flight, w->f->rank, w->entry) : NULL,
               *waits = who_waits(w);
    if (!missed || !waits) return NULL;
    if (issue_only)
        return rs_fl_print(flight, "%s stopped first: %s never issued %s, which others have issued%s.",
                           w->who, many ? "they" : "it", missed, waits);
    return rs_fl_print(
        flight, "%s stopped on %s: everything %s issued is completed, and %s never issued %s%s.", w->who,
        many ? "their hosts" : "its host", many ? "they" : "it", many ? "they" : "it", missed, waits);
}

/* Why a rank has no dump, in a live job. */
static const char *no_answer(words *w)
{
    const rs_fl_note *note = rs_fl_note_of(w->flight, w->g->culprits[0]);
    return note ? rs_fl_text(w->flight, note->failure) : NULL;
}

/* Whether a rank waits directly for one of the culprits. */
static bool is_waited_for(const words *w)
{
    for (size_t i = 0; i < w->a->n_waiting; i++)
        for (size_t k = 0; k < w->a->waiting[i].n_waits_for; k++)
            for (size_t c = 0; c < w->g->n_culprits; c++)
                if (w->a->waiting[i].waits_for[k] == w->g->culprits[c]) return true;
    return false;
}

static const char *dump_missing(words *w)
{
    rs_flight *flight = w->flight;
    const char *it = w->g->n_culprits == 1 ? "it" : "them", *failure = w->g->n_culprits ? no_answer(w) : NULL;
    if (w->g->n_members == 0)
        return is_waited_for(w)
                   ? rs_fl_print(flight, "%s left no dump; --allow-missing accepts that.", w->who)
                   : rs_fl_print(
                         flight,
                         "%s left no dump, and no rank is seen waiting for %s; --allow-missing accepts that.",
                         w->who, it);
    if (!rs_fl_prove_waiter(w->a, w->f)) return NULL;
    for (size_t i = 0; i < w->g->n_culprits; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r != RS_FL_NONE && !rs_fl_prove_last_act(w->a, r)) return NULL;
    }
    if (!rs_fl_prove(
            w->a, -1, NULL,
            "Ruled out: every other member of the group. Those with a dump have issued the operation."))
        return NULL;
    if (w->f->kind == RS_FLIGHT_ROOT_UNKNOWN)
        return rs_fl_print(
            flight, "%s for %s in %s, and the dump does not show what happened there: probably the cause.",
            waiters_text(flight, w->g->n_waiters), rs_fl_ranks_text(flight, w->g->culprits, w->g->n_culprits),
            w->what);
    if (failure)
        return rs_fl_print(flight, "%s %s not answer (%s), and %s for %s in %s.", w->who,
                           w->g->n_culprits == 1 ? "does" : "do", failure,
                           waiters_text(flight, w->g->n_waiters), it, w->what);
    return rs_fl_print(flight, "%s left no usable dump, and %s for %s in %s: probably crashed or killed.",
                       w->who, waiters_text(flight, w->g->n_waiters), it, w->what);
}

/* "; rank 13 finished it and 11 more" */
static const char *who_finished(words *w)
{
    rs_flight *flight = w->flight;
    const rs_fl_group *group = &flight->groups[w->f->group];
    int64_t *ranks = rs_malloc((group->n + 1) * sizeof *ranks), frontier = w->g->seq;
    const char *text = "";
    size_t n = 0;
    if (!ranks) return NULL;
    for (uint32_t s = 0; s < group->n && !w->g->p2p; s++) {
        uint32_t r = group->index[group->sorted[s]];
        rs_fl_state state;
        if (rs_fl_presence_of(flight, r, w->f->group, w->g->seq, 0, &state) != RS_FL_JOINED ||
            state != RS_FL_COMPLETED)
            continue;
        int64_t done = rs_fl_done_of(flight, rs_fl_member_of(flight, r, w->f->group));
        if (done > frontier) frontier = done;
        ranks[n++] = group->ranks[group->sorted[s]];
    }
    if (n && frontier > w->g->seq)
        text = rs_fl_print(flight, "; %s finished it and %" PRId64 " more",
                           rs_fl_ranks_text(flight, ranks, n), frontier - w->g->seq);
    else if (n)
        text = rs_fl_print(flight, "; %s finished it", rs_fl_ranks_text(flight, ranks, n));
    else if (w->g->p2p)
        text = "; its partner has";
    rs_free(ranks);
    return text;
}

static bool prove_members_open(words *w)
{
    if (!rs_fl_prove_call(w->a, w->f->rank, w->f->entry)) return false;
    for (size_t i = 0; i < w->g->n_culprits && i < 4; i++) {
        uint32_t r = rs_fl_rank_index(w->flight, w->g->culprits[i]);
        if (r != RS_FL_NONE && r != w->f->rank && w->a->open[r] != RS_FL_NONE &&
            !rs_fl_prove_call(w->a, r, w->a->open[r]))
            return false;
    }
    return true;
}

static const char *stalled(words *w)
{
    rs_flight *flight = w->flight;
    const char *finished = who_finished(w);
    bool many = w->g->n_culprits > 1;
    if (!finished || !prove_members_open(w) ||
        !rs_fl_prove(w->a, -1, NULL,
                     "Ruled out: an absent rank. What one member of the group has completed, all have issued "
                     "and reached."))
        return NULL;
    return rs_fl_print(flight, "The GPU%s of %s %s not finished %s%s%s.", many ? "s" : "",
                       rs_fl_ranks_text(flight, w->g->culprits, w->g->n_culprits), many ? "have" : "has",
                       w->what, finished, rs_fl_at_text(flight, w->entry->stack));
}

static const char *blocked(words *w)
{
    rs_flight *flight = w->flight;
    if (!prove_members_open(w) ||
        !rs_fl_prove(
            w->a, -1, NULL,
            "Ruled out: an absent rank. Every member has issued the operation, of equal type and size.") ||
        !rs_fl_prove(
            w->a, -1, NULL,
            "The record shows no earlier open collective on the blocked ranks: look for a GPU kernel or copy "
            "that never ends before this one."))
        return NULL;
    return rs_fl_print(
        flight,
        "%s issued %s but the GPU never reached it, while others wait inside it: earlier GPU work hangs%s.",
        w->who, w->what, rs_fl_at_text(flight, w->entry->stack));
}

static const char *stuck(words *w)
{
    rs_flight *flight = w->flight;
    bool started = w->entry->state == RS_FL_STARTED, known = true;
    const rs_fl_group *group = &flight->groups[w->f->group];
    size_t without = 0;
    for (uint32_t s = 0; s < group->n; s++) without += group->index[s] == RS_FL_NONE;
    known = without == 0;
    if (!rs_fl_prove_call(w->a, w->f->rank, w->f->entry)) return NULL;
    if (known && !w->g->p2p &&
        !rs_fl_prove(
            w->a, -1, NULL,
            "Ruled out: an absent rank. Every member has issued the operation, of equal type and size."))
        return NULL;
    if (!started &&
        !rs_fl_prove(
            w->a, -1, NULL,
            "No start was recorded anywhere. Without TORCH_NCCL_ENABLE_TIMING=1 starts are not recorded: "
            "which GPU did not reach the operation is not known."))
        return NULL;
    if (w->g->p2p)
        return rs_fl_print(
            flight,
            "Both ends joined %s and the transfer hangs: network, GPU or communication library; no rank is "
            "to blame from the record.",
            w->what);
    return rs_fl_print(flight,
                       "All %zu ranks are in %s and none finished: %s; no rank is to blame from the record.",
                       w->g->n_members, w->what,
                       started ? "the transfer itself hangs (network, GPU or communication library)"
                               : "network, or a GPU that the record cannot name");
}

static const char *circle(words *w)
{
    rs_flight *flight = w->flight;
    if (!rs_fl_prove_call(w->a, w->f->rank, w->f->entry) ||
        !rs_fl_prove_call(w->a, w->f->partner_rank, w->f->partner_entry))
        return NULL;
    for (size_t i = 0; i < w->g->n_culprits && i < 6; i++) {
        uint32_t r = rs_fl_rank_index(flight, w->g->culprits[i]);
        if (r == RS_FL_NONE || r == w->f->rank || r == w->f->partner_rank || w->a->open[r] == RS_FL_NONE)
            continue;
        if (!rs_fl_prove_call(w->a, r, w->a->open[r])) return NULL;
    }
    if (!w->f->obscure && !rs_fl_prove(w->a, -1, NULL,
                                       "Ruled out: an absent or stopped rank. Each rank of the circle is "
                                       "in an operation that another one of them has to join first."))
        return NULL;
    const char *first = rs_fl_op_text(flight, w->entry),
               *second = w->partner ? rs_fl_op_text(flight, w->partner) : "another operation";
    int64_t a = flight->ranks[w->f->rank].rank, b = w->partner ? flight->ranks[w->f->partner_rank].rank : -1;
    const char *doubt = w->f->obscure ? "Probably " : "";
    if (w->g->verdict == RS_FLIGHT_P2P_DEADLOCK)
        return rs_fl_print(
            flight, "%s%s wait for each other in a circle: rank %" PRId64 " in %s, rank %" PRId64 " in %s.",
            doubt, w->who, a, first, b, second);
    return rs_fl_print(flight,
                       "%s%s issued collectives of different groups in different orders: rank %" PRId64
                       " is in %s, rank %" PRId64 " in %s, and neither can go on.",
                       doubt, w->who, a, first, b, second);
}

static const char *mismatch(words *w)
{
    rs_flight *flight = w->flight;
    const rs_fl_call *c = rs_fl_call_of(flight, w->entry),
                     *p = w->partner ? rs_fl_call_of(flight, w->partner) : NULL;
    const char *group = rs_fl_group_text(flight, w->f->group), *at = rs_fl_at_text(flight, w->entry->stack);
    const char *op = rs_fl_text(flight, c->op);
    /* No majority: the partner it is compared with is among the culprits. */
    bool all = false;
    for (size_t i = 0; w->f->partner_rank != RS_FL_NONE && i < w->g->n_culprits; i++)
        all = all || w->g->culprits[i] == flight->ranks[w->f->partner_rank].rank;
    if (!rs_fl_prove_call(w->a, w->f->rank, w->f->entry) ||
        !rs_fl_prove_call(w->a, w->f->partner_rank, w->f->partner_entry))
        return NULL;
    if (w->f->more &&
        !rs_fl_prove(w->a, -1, NULL,
                     rs_fl_print(flight, "%zu later operation%s of the group differ%s too.", w->f->more,
                                 w->f->more == 1 ? "" : "s", w->f->more == 1 ? "s" : "")))
        return NULL;
    if (!w->g->p2p && !w->f->contradiction &&
        !rs_fl_prove(
            w->a, -1, NULL,
            w->g->n_culprits < w->g->n_members
                ? "Ruled out: that the others are wrong. They agree with each other; the culprits are the "
                  "fewer."
                : "There is no majority: which of the differing ranks is right, the record does not show."))
        return NULL;
    if (w->g->p2p &&
        !rs_fl_prove(w->a, -1, NULL,
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
                           w->who, rs_fl_op_text(flight, w->entry), rs_fl_p2p_numel(c), rs_fl_p2p_numel(p),
                           at);
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

static const char *configuration(words *w)
{
    rs_flight *flight = w->flight;
    const char *group = rs_fl_group_text(flight, w->f->group);
    if (strcmp(w->f->about, "undescribed") == 0) {
        if (!rs_fl_prove(w->a, -1, NULL,
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
                !rs_fl_prove(w->a, flight->ranks[member->rank].rank, NULL,
                             rs_fl_print(flight, "Rank %" PRId64 " describes it as %s with %zu members: %s.",
                                         flight->ranks[member->rank].rank, desc ? desc : "undefined", o->n,
                                         rs_fl_ranks_text(flight, o->ranks, o->n))))
                return NULL;
        }
    }
    return rs_fl_print(flight, "%s and the other ranks disagree about the members or the description of %s.",
                       w->who, group);
}

static const char *crashed(words *w)
{
    if (w->g->n_culprits == 0) return "The job ended before any rank failed.";
    bool by_log = !w->f->cause || strcmp(w->f->cause->kind, "unreachable") != 0;
    return rs_fl_print(w->flight, by_log ? "%s failed first, by the job's log." : "%s is gone.", w->who);
}

static const char *summarize(words *w)
{
    switch (w->g->verdict) {
    case RS_FLIGHT_RANK_MISSING: return w->entry ? silent(w) : w->g->summary; /* a source's own sentence */
    case RS_FLIGHT_DUMP_MISSING: return dump_missing(w);
    case RS_FLIGHT_TYPE_MISMATCH:
    case RS_FLIGHT_SIZE_MISMATCH:
    case RS_FLIGHT_DTYPE_MISMATCH:
    case RS_FLIGHT_P2P_SIZE_MISMATCH:
    case RS_FLIGHT_P2P_ORDER: return mismatch(w);
    case RS_FLIGHT_STATE_MISMATCH: return stalled(w);
    case RS_FLIGHT_STUCK: return stuck(w);
    case RS_FLIGHT_BLOCKED_BEFORE_START: return blocked(w);
    case RS_FLIGHT_P2P_DEADLOCK:
    case RS_FLIGHT_CROSS_GROUP_ORDER: return circle(w);
    case RS_FLIGHT_BAD_CONFIG: return configuration(w);
    case RS_FLIGHT_CRASHED: return crashed(w);
    default: return w->g->summary; /* a straggler brings its own */
    }
}

rs_status rs_fl_explain(rs_fl_analysis *a, rs_fl_found *f, bool is_root, rs_error *err)
{
    rs_flight *flight = a->flight;
    if (f->finding.verdict == RS_FLIGHT_STRAGGLER) return RS_OK;
    a->n_evidence = 0;
    words w = {.a = a, .flight = flight, .f = f, .g = &f->finding};
    w.who = rs_fl_capital(flight, rs_fl_ranks_text(flight, f->finding.culprits, f->finding.n_culprits));
    if (f->rank != RS_FL_NONE) w.entry = &flight->ranks[f->rank].entries[f->entry];
    if (f->partner_rank != RS_FL_NONE) w.partner = &flight->ranks[f->partner_rank].entries[f->partner_entry];
    w.what = w.entry ? rs_fl_op_text(flight, w.entry) : "";
    f->finding.summary = w.who && w.what ? summarize(&w) : NULL;
    if (is_root && f->finding.summary && !(rs_fl_prove_shapes(a) && rs_fl_prove_sources(a, &f->finding)))
        f->finding.summary = NULL;
    rs_flight_evidence *copy = rs_arena_alloc(&flight->arena, a->n_evidence * sizeof *copy);
    if (!f->finding.summary || !copy) return rs_fail_nomem(err, "the explanation");
    if (a->n_evidence) memcpy(copy, a->evidence, a->n_evidence * sizeof *copy);
    f->finding.evidence = copy;
    f->finding.n_evidence = a->n_evidence;
    return RS_OK;
}
