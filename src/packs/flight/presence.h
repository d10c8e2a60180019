/* What a rank had to do with one collective: joined, absent or unknown, whatever part of the record its dump
 * holds. */
#pragma once

#include "flight/match.h"

typedef enum rs_fl_presence {
    RS_FL_ABSENT,  /* it surely never issued it */
    RS_FL_JOINED,  /* it issued it; *state is set, RS_FL_NO_STATE when that is not known */
    RS_FL_OBSCURE, /* the dump does not tell, or there is none */
} rs_fl_presence;

/* Once entries are ordered and statuses joined: what each status counts, which states follow from it, and the
 * shape of each dump. */
void rs_fl_read_statuses(rs_flight *flight);

const char *rs_fl_shape_name(rs_fl_shape shape);

/* By itself, without the other members' answers. first_created: when the others first issued it, clock
 * offsets removed; 0 if unknown. rank RS_FL_NONE: no dump. */
rs_fl_presence rs_fl_presence_of(const rs_flight *flight, uint32_t rank, uint32_t group, int64_t seq,
                                 int64_t first_created, rs_fl_state *state);

/* The answers of all members together, by slot. Nobody finishes alone: where an operation is open on
 * everybody who answers, a rank whose dump holds all that is open, and not this, has not issued it.
 * `one_sided`: one side of the operation may go ahead of the other, so that this does not follow. Returns how
 * many have completed it. */
typedef struct rs_fl_answer {
    uint8_t presence, state;
} rs_fl_answer;
size_t rs_fl_presence_of_all(const rs_flight *flight, uint32_t group, int64_t seq, int64_t first_created,
                             bool one_sided, rs_fl_answer *answers);

/* Whether one side of an operation may go ahead of the other. */
bool rs_fl_one_sided(uint8_t kind);

/* The newest collective of the group that the member is known to have completed; RS_FL_UNKNOWN. */
int64_t rs_fl_done_of(const rs_flight *flight, const rs_fl_member *member);
