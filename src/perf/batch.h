/* What a serving engine's annotation of a batch says of its sequences. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct rs_batch {
    int64_t queries; /* tokens that are computed, of all sequences */
    int64_t pairs;   /* of these with the tokens that they see: each sees those before it and itself */
} rs_batch;

/* Reads "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)": for the sequences in
 * their context and in their generation phase the sums of query lengths, of key lengths, of squares of the former
 * and of products of both. False for any other name, and for sums that no sequences have. */
bool rs_batch_read(const char *name, rs_batch *out);
