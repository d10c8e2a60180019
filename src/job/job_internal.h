/* The parts of a job. Private to src/job.c. */
#pragma once

#include <pthread.h>

#include "analysis/analysis.h"
#include "base/wire.h"
#include "rankscope/partial.h"
#include "format/kineto.h"
#include "job/job.h"
#include "trace/selection.h"

typedef struct rs_input_answer rs_input_answer;

/* One input: a file, or the files of one profiler run. */
typedef struct rs_input rs_input;
struct rs_input {
    char *path;   /* "-": standard input */
    char **parts; /* the files of one run that are read as one, in that order; NULL: only path */
    size_t n_parts;
    rs_input *recordings; /* files of one rank that follow each other in time and are read as one */
    size_t n_recordings;
    rs_recording *marks; /* ... where each begins, while loaded */
    unsigned records;    /* RS_TAKES of what it is; 0: not looked at yet */
    bool joined;         /* while runs are put together: it is a part of another */
    char *instead;       /* another input that holds the same work: this one is passed over; NULL: none */
    const void *bytes;   /* or memory */
    size_t n_bytes;
    const rs_remote *remote; /* or fetched by ranges */
    int64_t given_rank;      /* RANK=PATH, else RS_NO_VALUE */
    char *role;              /* ROLE=PATH: what its program does in the job; NULL: not given */
    int64_t label_rank;      /* what the names of all inputs tell of it (job_labels.c), else RS_NO_VALUE */
    bool from_directory;     /* found there: what is no trace is passed over */
    uint64_t loaded;         /* columns of the kept events */
    uint64_t told_by;        /* columns that telling its ranks apart took */
    uint64_t kept;           /* bytes that count in the job's kept */
    rs_events *events;       /* while loaded */
    rs_trace *traces;        /* its ranks */
    size_t n_traces;
    const char *domain_rule; /* how they were told apart */
    rs_problems problems;
    rs_wire_writer stamps;          /* of its files at the beginning of a run; empty: not taken */
    struct rs_stored_input *stored; /* what the store has of it, and is being put there: job_facets.c */
};

/* Ranks, steps and the window. */
enum { RS_JOB_PARTS = 3 };

struct rs_job {
    rs_input *inputs; /* sorted by path */
    size_t n_inputs, capacity;
    rs_job_settings settings;
    rs_selection *selection; /* what is asked about: one of the two below, as the settings say */
    rs_selection opened;     /* of the settings that the job was opened with */
    rs_selection other;      /* what rs_job_select chose last, kept for the next time */
    const char *opened_texts[RS_JOB_PARTS];
    char *other_texts[RS_JOB_PARTS]; /* owned; NULL: all */
    rs_job_stats stats;
    pthread_mutex_t lock;
    uint64_t bytes_done, bytes_total;
    uint64_t kept;     /* bytes of events that stay for the next run */
    unsigned records;  /* RS_TAKES(...) of what the present questions read */
    bool wants_origin; /* one of them asks for the job's first event */
    bool stored;       /* something was put into the store */
    bool in_place;     /* what is put there is used where it lies (store/entry.h), else it is small */
    struct rs_job_captures *captures; /* read when the first input is: job_captures.c */
    struct rs_job_classes *classes;   /* NULL: there are no rules */
    bool cancelled;
};

/* Lets go of what rs_job_select chose last, and of all that loaded ranks keep for it. */
void rs_job_forget_other(rs_job *job);

/* Turns paths into inputs: RANK=PATH, directories, "-". */
rs_status rs_inputs_resolve(rs_job *job, const char *const *paths, size_t n, rs_error *err);
/* Puts an input where its name belongs, behind those of the same name. There must be room for it. */
void rs_inputs_insert(rs_job *job, const rs_input *input);
/* What "TP-3" and the like in the names of the inputs say of their ranks. */
rs_status rs_inputs_read_labels(rs_job *job, rs_error *err);

/* Reads an input's events and splits them into ranks. Already loaded with enough columns: nothing is done. */
rs_status rs_input_load(rs_job *job, rs_input *input, uint64_t columns, unsigned threads, rs_error *err);
/* Behind a run: keeps the events for the next one if the settings want it and they fit, else releases them.
 */
void rs_input_keep(rs_job *job, rs_input *input);

/* Gives the work of replayed graphs the operators of --captures. The input is loaded and its ranks are told apart;
 * *changed: they have to be told apart anew, as rows were put in. Any thread. */
rs_status rs_input_graft(rs_job *job, rs_input *input, bool *changed, rs_error *err);
rs_status rs_job_captures_open(rs_job *job, rs_error *err);
/* The rules of --class, which become the setting in place of the files that hold them. */
rs_status rs_job_classes_open(rs_job *job, rs_error *err);
const rs_class_judge *rs_job_classes_judge(const rs_job *job); /* NULL: there are none */
void rs_job_classes_free(struct rs_job_classes *classes);
void rs_job_captures_free(struct rs_job_captures *captures);

/* Forgets what is loaded, also what was to be kept. */
void rs_input_forget(rs_job *job, rs_input *input);
/* Bytes of its files, as they are packed; 0 where that cannot be known. */
uint64_t rs_input_size(const rs_input *input);
bool rs_input_is_stdin(const rs_input *input); /* ... which can be read once */
/* Its bytes, wherever they lie. Not for runs of several files. */
rs_status rs_input_open(const rs_job *job, const rs_input *input, rs_source **source, rs_error *err);
/* Files of one rank that do not overlap in time become one input, in the order of time; *joined: some did.
 * answers: of the inputs, one each. Nothing is loaded any more then. */
rs_status rs_inputs_join_recordings(rs_job *job, const rs_input_answer *answers, bool *joined, rs_error *err);

/* What a file says of a rank before others are known: its own word, then its name. */
int64_t rs_input_rank(const rs_input *input, const rs_trace *trace, const char **rule);

/* The columns that an analysis which reads these would load by itself. */
uint64_t rs_input_columns(const rs_job *job, const rs_input *input, uint64_t columns);
/* Calls the job's progress function without news; false when the run is cancelled. */
bool rs_job_goes_on(rs_job *job);

/* ---- a run ------------------------------------------------------------------------------------------ */

/* One rank's word in one round and, below it, in the next round under each value that was agreed on or
 * foreseen. So a rank's answers are a tree as deep as there are rounds; settling a round chooses a branch. */
typedef struct rs_answer {
    rs_bytes given;         /* packed: what it was asked under; empty in the first round */
    rs_status status;       /* of that round; never of a first one, which fails the whole input */
    const rs_error *error;  /* NULL when it could not even be kept */
    void *partial;          /* NULL: has nothing to say */
    bool borrowed;          /* given and partial belong to someone else */
    struct rs_answer *next; /* in the next round */
    size_t n_next;
} rs_answer;

/* What one rank said. */
typedef struct rs_rank_answer {
    rs_answer first;
    rs_answer *at;    /* of the round that was settled last */
    bool asked;       /* not so when it is known not to be wanted */
    bool behind;      /* what was agreed on last was not foreseen: to be asked in the next pass */
    int64_t own_rank; /* by its own word, RS_NO_VALUE if none */
    const char *own_rule;
    int64_t begin;       /* its first event, where a table has moments; RS_NO_TIME: unknown */
    int64_t from, until; /* of a file of one rank in a job of several: from when to when, since the epoch if
                            the file says it */
    size_t input, index; /* of which input, and its how manieth rank */
    int64_t rank;        /* settled */
    const char *rule;
    rs_selected selected; /* what it has of the steps and the window asked for */
} rs_rank_answer;

/* What one input gave one question. */
struct rs_input_answer {
    const char *path, *role, *domain_rule;
    bool from_directory; /* what is no trace is passed over */
    const char *instead; /* the file that is read in its place, or NULL */
    rs_status status;
    const rs_error *error; /* NULL when it could not even be kept */
    rs_problems problems;
    rs_rank_answer *ranks;
    size_t n_ranks;
    rs_arena arena; /* of what came from the store */
    bool asked;     /* in the pass over the inputs that goes on */
};

/* What a round came to. */
typedef struct rs_agreed {
    void *value;
    rs_bytes packed;
} rs_agreed;

/* What is known beforehand of the first rounds of a question. */
typedef struct rs_told {
    const rs_agreed *values;
    size_t n;
} rs_told;

/* What is asked, and what the inputs had to say. The run refers to the policy beside it: stays where it is.
 */
typedef struct rs_question {
    const rs_analysis *analysis;
    rs_method how;
    rs_run run;
    rs_policy policy;
    const char *classes;      /* the rules of --class; NULL: none. The settings' */
    rs_options *defaults;     /* owned, when the caller gave no options */
    rs_input_answer *answers; /* in the order of the inputs */
    size_t n_answers;
    rs_agreed *agreed;  /* by round */
    size_t round;       /* how many of them are settled: the one that is asked next */
    rs_told told;       /* to a map only; borrowed */
    unsigned records;   /* RS_TAKES(...) of what it reads of this job */
    bool moments;       /* a table has a column of them */
    bool as_file;       /* its input is no trace */
    bool judges_window; /* whoever asks refuses a window that selects nothing */
    bool due;           /* to be asked in the next pass over the inputs */
    size_t n_repeated;  /* ranks whose steps are told by repetition */
} rs_question;

/* What decides which ranks there are and how they are called. */
typedef struct rs_ranking {
    bool renumber, single_rank;
    bool roles; /* inputs have roles: numbers may change when all are together */
    const rs_job_settings *settings;
    rs_selection wanted; /* its ranks alone */
} rs_ranking;

/* Of what all parts of a job must have been mapped under. */
extern const rs_layout rs_job_settings_layout;

/* The settings are borrowed. Clear it after a failure, too. */
rs_status rs_ranking_init(rs_ranking *ranking, const rs_job_settings *settings, rs_error *err);
void rs_ranking_clear(rs_ranking *ranking);
bool rs_ranking_wants(const rs_ranking *ranking, int64_t rank);
/* The same before ranks are settled, by what the rank itself says (RS_NO_VALUE: nothing). */
bool rs_ranking_may_want(const rs_ranking *ranking, int64_t own_rank);

/* policy and options of a question; its answers are still to come. */
rs_status rs_question_init(rs_question *q, const rs_query *query, const rs_job_settings *settings,
                           rs_error *err);
rs_status rs_question_reserve(rs_question *q, size_t n_answers, rs_error *err);
void rs_question_clear_input(const rs_question *q, rs_input_answer *answer);
void rs_question_clear(rs_question *q);
/* Changes whenever the layout of anything that travels does. */
uint64_t rs_method_fingerprint(const rs_method *how);
/* Whether it asks for the job's first event, which depends on all inputs. */
bool rs_question_wants_origin(const rs_question *q);
/* Whether what befell an input is the caller's doing and no matter of one file. */
bool rs_status_is_fatal(rs_status status, const rs_ranking *ranking);

/* ---- what an input said, as bytes: partial_write.c, partial_read.c */

void rs_input_answer_write(rs_wire_writer *w, const rs_question *q, const rs_input_answer *answer);
/* *answer has the path and all else that is known without the bytes; values live in the reader's arena. at: among
 * the inputs. The reader is bad when the bytes are no such answer; the caller clears it in any case. */
void rs_input_answer_read(const rs_question *q, const rs_ranking *ranking, size_t at, rs_wire_reader *r,
                          rs_input_answer *answer);

/* ---- the store: job_store.c */

/* What one input is looked up by, taken before it is read. */
typedef struct rs_input_stamps {
    bool usable;           /* the store is wanted, and the input is of a kind that is kept */
    bool alone;            /* it is the only one */
    bool many;             /* there are other inputs, so that times are noted */
    bool all_foreseen;     /* rounds are followed as far as can be */
    bool keeps;            /* it is large enough to be kept; what is there is used in any case */
    rs_wire_writer stamps; /* of its files */
} rs_input_stamps;

void rs_input_stamps_take(const rs_job *job, const rs_ranking *ranking, const rs_input *input,
                          bool all_foreseen, rs_input_stamps *out);
void rs_input_stamps_clear(rs_input_stamps *stamps);
/* Answers a question from the store; false: it is not there, and *answer is as it was. */
bool rs_answer_fetch(rs_job *job, const rs_question *q, const rs_ranking *ranking, size_t at,
                     const rs_input_stamps *stamps, rs_input_answer *answer);
/* Keeps an answer, unless the input has changed since the stamps were taken. What cannot be kept is not. */
void rs_answer_keep(rs_job *job, const rs_question *q, size_t at, const rs_input_stamps *stamps,
                    const rs_input_answer *answer);

/* What the result of one question to one job, or several, is looked up by: job_results.c. Taken before anything is
 * read. */
typedef struct rs_result_key {
    rs_job *job;        /* whose store it is */
    bool usable, keeps; /* ... as of one input's stamps */
    uint64_t bytes;     /* of all inputs */
    rs_wire_writer identity, stamps;
} rs_result_key;

void rs_result_key_make(rs_job *const *jobs, unsigned n_jobs, const rs_question *q, rs_result_key *out);
/* At the end of a run. */
void rs_job_forget_stamps(rs_job *job);
void rs_result_key_clear(rs_result_key *key);
/* false: it is not there, and *result is as it was. */
bool rs_result_fetch(const rs_result_key *key, const rs_question *q, rs_result *result);
/* Keeps it, unless an input has changed since the key was made. */
void rs_result_keep(const rs_result_key *key, const rs_question *const *sides, unsigned n_sides,
                    const rs_result *result);
/* The bytes of a kept result; false: they are none. */
bool rs_result_read(const rs_question *q, const void *bytes, size_t n, rs_result *result);

/* What the events of one input are looked up by: job_events.c. */
typedef struct rs_events_key {
    bool usable, keeps;
    rs_wire_writer identity, stamps;
} rs_events_key;

void rs_events_key_make(const rs_job *job, const rs_input *input, rs_events_key *out);
void rs_events_key_clear(rs_events_key *key);
/* Events with these columns, and perhaps more. false: they are not there. Where some are, of another question, more
 * questions will follow: all known arguments are added to *columns, so that the text is read for the last time.
 * *settled: they lie in the store as this job would put them there. */
bool rs_events_fetch(rs_job *job, const rs_events_key *key, unsigned threads, uint64_t *columns,
                     rs_events **out, bool *settled);
/* Begins to keep events as a reader left them, unless the input has changed since the key was made, or those of the whole
 * job would push each other out. NULL: they are not kept. On a thread of its own if there may be several: until the end
 * only the events' problems may be changed. */
typedef struct rs_events_keeping rs_events_keeping;
rs_events_keeping *rs_events_keep(rs_job *job, const rs_events_key *key, rs_events *events, unsigned threads);
/* Waits until they are kept; whether they are. NULL is allowed. */
bool rs_events_keep_end(rs_events_keeping *keeping);

/* Of an input whose events are loaded, and are in the store or on their way there: facets of its ranks are looked up and
 * kept under the events' key, which it takes over. */
void rs_stored_input_begin(rs_job *job, rs_input *input, rs_events_key *key, rs_events_keeping *keeping);
/* Puts what was made of the ranks since then into the store, if their events are there. */
void rs_stored_input_keep(rs_input *input);
/* Waits for the events, and gives all back that facets were lent: these have been released. */
void rs_stored_input_end(rs_input *input);

/* Makes the folder of the store, if one was asked for. */
rs_status rs_job_store_open(rs_job *job, rs_error *err);
void rs_job_store_close(rs_job *job);

/* ---- rounds: job_rounds.c */

/* A new branch, to be filled. */
rs_status rs_answer_add(rs_answer *answer, const rs_layout *layout, const void *agreed, rs_answer **out,
                        rs_error *err);
/* The rank's answer in the round that is settled last. One that failed makes its input unusable. */
void rs_answer_take(rs_input_answer *input, rs_rank_answer *rank, rs_answer *answer);
/* Settles rounds as far as the answers reach. q->due: some ranks have to be asked in round q->round. */
rs_status rs_question_settle(rs_question *q, const rs_ranking *ranking, rs_error *err);

/* ---- the judge: job_verdict.c */

/* Queries of a caller, and before them what the judge is asked for those that are judged. */
typedef struct rs_judged_queries {
    rs_query *items;
    size_t n, n_judges;
    size_t *judge;        /* by query of the caller: place of the judge's, SIZE_MAX: it is not judged */
    rs_options **options; /* of the judge's; owned */
    rs_result *results;   /* of the items */
} rs_judged_queries;

/* Asks what the judge is asked next to other questions, so that the store has its answer. That it cannot answer is no failure. */
rs_status rs_job_ask_judge(rs_job *job, rs_error *err);
/* job: NULL where packed ranks are merged. Clear it after a failure, too. */
rs_status rs_judged_queries_make(const rs_job_settings *settings, const rs_job *job, const rs_query *queries,
                                 size_t n, rs_judged_queries *out, rs_error *err);
void rs_judged_queries_clear(rs_judged_queries *judged);
/* The judge's own question failed: its verdict is that nothing can be said. */
void rs_judged_failed(rs_result *result, rs_status status, const rs_error *why);
/* What the judge says for the k-th item, once it has; NULL: nothing. */
const struct rs_verdicts *rs_judged_verdicts(const rs_judged_queries *judged, size_t k);
/* Hands the caller's results over, with their verdicts. */
void rs_judged_deliver(rs_judged_queries *judged, rs_result *results);

/* ---- after the last round: job_merge.c */

/* Reports inputs that could not be used. Fails when there is none that could. */
rs_status rs_question_judge(rs_question *q, const rs_ranking *ranking, rs_result *result, rs_error *err);
/* What usable inputs said in the round that was settled last, sorted by rank, added behind *partials. */
rs_status rs_question_gather(rs_question *q, const rs_ranking *ranking, unsigned side, rs_partial **partials,
                             size_t *n_partials, rs_error *err);
/* Makes the tables of all ranks, those of the first side first. n_sides: the jobs of a comparison, else 1. */
rs_status rs_question_answer(rs_question *const *sides, const rs_ranking *const *rankings, unsigned n_sides,
                             rs_result *result, rs_error *err);
/* As many empty tables as the analysis has. */
rs_status rs_question_tables(const rs_question *q, rs_result *result, rs_error *err);

/* Whether an analysis can follow the selection that the settings ask for: RS_ERR_USAGE with the reason if
 * not. */
rs_status rs_analysis_can_follow(const rs_analysis *a, const rs_job_settings *settings, bool as_file,
                                 rs_error *err);
/* Whether the job is one file that the analysis reads itself. */
bool rs_job_is_for_file(const rs_job *job, const rs_analysis *analysis);
/* The job's first event over all ranks, from which a window counts: without a window, or once it is known,
 * nothing is done. columns are those that the questions will read: where all inputs fit into the workers at
 * once they stay loaded, else each is loaded twice. */
void rs_job_find_origin(rs_job *job, uint64_t columns);
/* Refuses steps or a window that select nothing on any rank. */
rs_status rs_selected_judge(const rs_selected *const *ranks, size_t n, const rs_job_settings *settings,
                            rs_error *err);
