/* What the files of the simulation share. */
#pragma once

#include "truth.h"

enum { INSIDE_GRAPH = -2 }; /* in place of the synchronization event of a wait */

record *append(records *list);
bool keeps_truth(const job *j, const rank_state *r);
int64_t paced(const job *j, int64_t ns); /* what takes so long in a step of the usual pace */
int64_t of_host(const job *j, const rank_state *r, int64_t ns); /* time that a rank's host takes */
record new_call(const job *j, rank_state *r, int template_number, int64_t base, int64_t spread);

/* sync.c */
void do_record(job *j, rank_state *r, const instruction *i);
void do_wait(job *j, rank_state *r, const instruction *i);
void do_sync(job *j, rank_state *r, const instruction *i);
void graph_begin(job *j, rank_state *r);
void graph_end(rank_state *r);

/* draws.c: where random numbers come from. None depends on a time. */
uint64_t draws_seed(const job *j);                /* of everything that differs from run to run */
int draws_of(const job *j, const instruction *i); /* how many an instruction takes from its rank */
uint64_t draws_apart(const job *j, const rank_state *r, uint64_t what);
void draws_skip(uint64_t *state, int count);
int64_t pace_of(const job *j, int64_t step); /* parts in a million */
bool is_settled(const job *j, int64_t step);
bool is_evaluation(const job *j, int64_t step);
