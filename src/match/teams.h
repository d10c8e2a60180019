/* Who calls together, where no group is named. Ranks that call together end together: the distance of their ends is one number,
 * that of their clocks, which may drift. So no clock is needed, and how far the distances spread is the uncertainty. */
#ifndef RS_MATCH_TEAMS_H
#define RS_MATCH_TEAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls of one kind of one rank. */
typedef struct rs_team_line {
    const int64_t *ends; /* ascending, ns of the rank's own clock, borrowed */
    size_t n;
    int64_t most_spread; /* ns: with whom its distances spread further it does not call */
    size_t team; /* index of the first line that it calls with: its own where that is none before it */
    size_t size; /* lines of the team */
    int64_t
        spread; /* ns by which the distances of ends differ in the team, 9 of 10 at most; RS_NO_VALUE: alone */
} rs_team_line;

/* Fewer calls fit whatever they are. */
#define RS_TEAM_LEAST 4
/* Calls: fewer that end together by chance are no sign of uneven teams. Members of a team have as many, but for the slack. */
#define RS_TEAM_TELLING 16

/* Sets team, size and spread of each line. slack: by so many calls a line may begin before another of its team while the other end differs by any number, or end before it; 0: a
 * team has as many calls on each line. Of the limits below most_spread the first is taken from which on teams of one size, as those of a mesh are, stay
 * the same up to twice as far; where that is none, most_spread itself, and then lines of fewer than 16 calls stay alone where teams are uneven and
 * slack is not 0. false when out of memory. O(lines * teams * calls). */
bool rs_teams_find(rs_team_line *lines, size_t n, size_t slack);
/* The same where something else is known of two lines, by their indices: false, they do not call together. */
typedef bool (*rs_team_may_fn)(void *context, size_t a, size_t b);
bool rs_teams_find_among(rs_team_line *lines, size_t n, size_t slack, rs_team_may_fn may, void *context);

/* What calls of two lines say of their clocks, if they are made together. */
typedef struct rs_team_apart {
    int64_t distance; /* ns: the middle one of b's ends from a's */
    int64_t time;     /* ns of a's clock: the middle of the calls */
    int64_t spread;   /* ns by which distances differ, 9 of 10 at most */
} rs_team_apart;

/* In all ways in which the calls may be paired that spread by hardly more than the best: in a job whose steps take equally long, a step earlier or later
 * fits as well. Returns how many they are. slack: at most 2. */
#define RS_TEAM_WAYS 10
size_t rs_team_distances(const rs_team_line *a, const rs_team_line *b, size_t slack,
                         rs_team_apart out[RS_TEAM_WAYS]);

/* Quartz clocks drift apart by no more, as a part of the time. */
#define RS_TEAM_DRIFT 1e-4

#endif
