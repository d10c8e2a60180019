/* Candidates: what may be wrong with a job, or would help it. The catalogue (catalogue.c) has a row a kind of fault; its
 * finder looks at the joined engine and adds a candidate for each case: who is accused, numbers for the sentence, and the
 * edit that fixes it, as a value. The judge (judge.c) asks the engine what that gains.
 *
 * To add a kind of verdict: a row in catalogue.c with its words, and a finder in one of find_*.c. */
#ifndef RS_VERDICT_CANDIDATE_H
#define RS_VERDICT_CANDIDATE_H

#include "base/keymap.h"
#include "base/text.h"
#include "engine/edits.h"
#include "engine/reference.h"
#include "rankscope/verdict.h"

/* What finders look at. */
typedef struct rs_judged {
    const rs_engine *engine;
    const rs_weights *recorded; /* work as it is while no communication runs */
    const rs_reference *reference;
    const int64_t *rank_of;  /* the ranks' own numbers, by index, ascending */
    const char *const *host; /* by rank; NULL: unknown */
} rs_judged;

/* What the words of a fault may name except its culprits. NaN and NULL: nothing. */
typedef struct rs_facts {
    double times, ms, us, n, pct, kib, mib;
    double step, stages, recorded, world; /* the last two: ranks */
    const char *in, *among;               /* an operator; several names */
    const char *known;                    /* more that is known of it, of any length; its names are clean */
} rs_facts;

typedef struct rs_candidates rs_candidates;
struct rs_fault_kind;

/* A case of a fault. Texts and culprits are the list's. */
typedef struct rs_candidate {
    const struct rs_fault_kind *fault;
    rs_verdict_kind kind; /* a finding or an opportunity */
    rs_culprit *culprits;
    size_t n_culprits;
    rs_facts facts;
    double excess; /* us of a step that are wrong; of findings, which may hide each other */
    double
        doubt; /* us of a step: what its edits may be off by, as ranks that do the same differ by themselves */
    double
        off_by; /* share by which the factor of its edits may be off, where that alone is uncertain; 0: it is not */
    bool without_steps; /* its numbers are of the recording, which has none */
    bool at_best;       /* it may gain nothing, as what it gains depends on what no trace has */
    double share; /* of the gain, which is less by as much where not all can be fixed that the edits fix */
    rs_what_if edits; /* what fixes it; the list's */
} rs_candidate;

struct rs_candidates {
    rs_candidate *items;
    size_t n, capacity;
    rs_arena arena; /* texts and culprits */
};

/* A row of the catalogue.
 *
 * Words are templates. {rank} is the first culprit's rank, {ranks} its ranks ("rank 3", "ranks 0-3"), {hosts} its hosts, {name}
 * and {other} the names of the first and second culprit, {stage} its stage; {times}, {ms}, ... are facts, {time} is us in a unit that fits;
 * {a step} is nothing where there are no steps. What is in
 * square brackets is left out where something in it is unknown. */
typedef struct rs_fault_kind {
    const char *id;
    const char *words;  /* what is wrong, as a sentence without its full stop */
    const char *of_job; /* the same where no culprit is a rank; NULL: the same words */
    const char *
        subject; /* what would be fixed, for sentences about others; NULL: opportunities, which are in none */
    const char *fix; /* what is done about it, before "would cut the step" */
    const char *remedy;
    /* Adds what fits. *lacks: what the job lacks for it, NULL: nothing. */
    rs_status (*find)(const rs_judged *job, const struct rs_fault_kind *fault, rs_candidates *out,
                      const char **lacks, rs_error *err);
    /* Another way to fix a case of which the first gains too little for certain: changes its edits. false: there is none. NULL: never. */
    bool (*otherwise)(rs_candidate *c);
    bool sensitivity; /* it says how much something matters, not that it can be had */
    bool at_best;     /* what it gains is the most that it can */
    bool own_time;    /* the ranks that it accuses are late by their own time, and others because of them */
} rs_fault_kind;

/* Ended by a row without id. */
extern const rs_fault_kind rs_faults[];

/* ---- making candidates -------------------------------------------------------------------------------------- */

/* A new case, without culprits and facts. */
rs_candidate rs_candidate_of(const rs_fault_kind *fault, rs_verdict_kind kind);
/* Accuses one more; false: out of memory. Texts are copied. */
bool rs_accuse_rank(rs_candidate *c, const rs_judged *job, size_t rank, rs_candidates *out);
bool rs_accuse_name(rs_candidate *c, rs_culprit_kind kind, const char *name, size_t n, rs_candidates *out);
/* A group or a stage with its ranks (indices, ascending), number: of a stage. */
bool rs_accuse_ranks(rs_candidate *c, const rs_judged *job, rs_culprit_kind kind, int64_t number,
                     const char *name, const uint32_t *ranks, size_t n, rs_candidates *out);
/* A call, operator or, where the name is one, a source line. */
bool rs_accuse_call(rs_candidate *c, const char *name, size_t n, rs_candidates *out);
/* Adds the case; ok: all of it was made. The list takes its edits over, also after a failure. */
rs_status rs_candidate_add(rs_candidates *out, rs_candidate *c, bool ok, rs_error *err);
void rs_candidates_clear(rs_candidates *all);

/* Whether the name of an event is a line of a source, as profilers record Python's stacks: "train.py(12): step". */
bool rs_is_source_line(const char *name, size_t n);
/* A factor to four places: enough, and short to read. */
double rs_short_factor(double factor);
/* Steps of a rank, at least 1; of all ranks. */
size_t rs_judged_steps(const rs_engine *engine, size_t rank);
size_t rs_judged_all_steps(const rs_engine *engine);
/* Whether the job has no GPU: its host computes, and communicates. */
bool rs_judged_on_host(const rs_judged *job);
/* What a rank's host itself takes before a point, ns: its own time in operators and between them; 0 where something else
 * held the point up. */
int64_t rs_judged_host_time(const rs_judged *job, size_t rank, uint32_t point);
/* How long a rank waits for data, ns in all; by_step: room for its steps, to which what is theirs is added, or NULL. */
int64_t rs_judged_loader_time(const rs_judged *job, size_t rank, int64_t *by_step);
/* The share of the time between launches in which launching threads are in no GPU call for long (trace/host_gaps.h). */
double rs_judged_elsewhere(const rs_judged *job, bool loading_too);
/* What the process group of a meeting is called; NULL: it has no name. */
const char *rs_meeting_group(const rs_engine *engine, size_t meeting);

/* ---- words: words.c ----------------------------------------------------------------------------------------- */

/* What is wrong, and what would be fixed. */
void rs_words_claim(const rs_candidate *c, rs_text *out);
void rs_words_subject(const rs_candidate *c, rs_text *out);
/* A name on one line, without what steers terminals, its middle left out where it is wider than that. */
void rs_words_name(const char *name, unsigned columns, rs_text *out);

/* ---- sums by name: names.c ---------------------------------------------------------------------------------- */

typedef struct rs_named {
    const char *text; /* borrowed from a pool */
    size_t length, n;
    double ns, bytes, own, expected, spread;
    size_t example; /* one of them */
} rs_named;

typedef struct rs_names {
    rs_named *items;
    size_t n, capacity;
    rs_map64 places; /* hash -> of items; a clash of hashes takes the next key */
} rs_names;

/* The entry of a name, a new one if there is none; NULL when out of memory. */
rs_named *rs_names_put(rs_names *all, const char *text, size_t length);
void rs_names_clear(rs_names *all);
/* Takes the name with the most time out. */
bool rs_names_take_most(rs_names *all, rs_named *out);

/* ---- finders ------------------------------------------------------------------------------------------------ */

#define RS_FINDER(name)                                                                                      \
    rs_status rs_find_##name(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,           \
                             const char **lacks, rs_error *err)

/* find_ranks.c */
RS_FINDER(straggler);
RS_FINDER(slow_host);
RS_FINDER(late_group);
RS_FINDER(pipeline_imbalance);
RS_FINDER(imbalance);
/* find_hosts.c */
RS_FINDER(loader);
RS_FINDER(sync);
RS_FINDER(late_launch);
RS_FINDER(host_pause);
RS_FINDER(allocation);
RS_FINDER(pageable_copy);
/* find_elsewhere.c */
RS_FINDER(host_elsewhere);
/* find_groups.c */
RS_FINDER(slow_group);
RS_FINDER(exposed_communication);
RS_FINDER(small_collectives);
bool rs_smaller_buckets(rs_candidate *c);
RS_FINDER(pipeline_bubbles);
/* find_kernels.c */
RS_FINDER(launch_bound);
RS_FINDER(hottest_kernel);
RS_FINDER(fusable_neighbours);

#endif
