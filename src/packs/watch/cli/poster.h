/* Posts bodies to a URL. A thread waits for the receiver, so that the watch does not; one body is on its way at a time. */
#pragma once

#include "base/text.h"
#include "cli/fetch.h"
#include "rankscope/watch.h"

/* Where bodies come from. */
typedef struct rs_post_source {
    const char *option;                 /* "--webhook": in complaints */
    const char *noun;                   /* "message": in complaints, before a number */
    const char *type;                   /* of the body; NULL: JSON */
    unsigned tries;                     /* at most so many of one body; 0: any number */
    bool (*may_take_later)(int status); /* by the answer's status */
    /* The next body, and its number; *has is false where there is none. */
    rs_status (*claim)(void *context, rs_text *body, int64_t *id, bool *has, rs_error *err);
    /* What came of it. Writes what is wrong with an answer that took it, or leaves the complaint empty. */
    rs_status (*end)(void *context, int64_t id, rs_watch_posted outcome, const rs_fetch *answer,
                     char complaint[160], rs_error *err);
    void *context;
} rs_post_source;

typedef struct rs_poster rs_poster;

/* Whether the program posts to such a URL: RS_ERR_USAGE says why not. */
rs_status rs_poster_check(const char *option, const char *url, rs_error *err);
/* The URL is copied, and `suffix` appended. RS_ERR_NOMEM, RS_ERR_IO: no thread. */
rs_status rs_poster_open(const char *url, const char *suffix, const rs_post_source *source, rs_poster **out,
                         rs_error *err);
/* Notes what came of the last body and sends the next one, when it is time to: after a failure the wait is 1 s, and doubles up to 10
 * minutes. Never waits. *complaint: what went wrong since the last call, NULL: nothing; the poster's own. NULL is allowed. */
rs_status rs_poster_turn(rs_poster *poster, const char **complaint, rs_error *err);
/* New bodies may be there: the next turn looks for them. NULL is allowed. */
void rs_poster_wake(rs_poster *poster);
/* Whether nothing is on its way and nothing is left, or the last try failed `failures` times in a row. NULL: it is. */
bool rs_poster_is_done(const rs_poster *poster, unsigned failures);
/* Waits for the answer that is outstanding, at most 10 s. NULL is allowed. */
void rs_poster_close(rs_poster *poster);
