/* Threads that put questions to an explorer, so that the server's own never waits. */
#ifndef RS_VIEW_DESKS_H
#define RS_VIEW_DESKS_H

#include "rankscope/view.h"

typedef struct rs_desks rs_desks;

/* A question under way. */
typedef struct rs_task {
    struct rs_task *next;
    void *
        owner; /* the asker's; NULL: it is not waited for any more. Only the asker's thread reads and writes it */
    double asked;
    bool json, packs; /* packs: gzip is understood */
    rs_explorer *explorer;
    unsigned stage; /* of the explorer when it was asked */
    char *path, *query, *body;
    size_t n_body;
    rs_explorer_answer answer;
} rs_task;

/* wakes: a file descriptor that gets a byte whenever a task is done. */
rs_status rs_desks_open(int wakes, rs_desks **out, rs_error *err);
/* Ends the questions under way and waits for the threads. Tasks that are left are freed. NULL is allowed. */
void rs_desks_close(rs_desks *desks);

/* path and query are copied, body (NULL: no POST) is, too. NULL when out of memory. */
rs_task *rs_task_create(const char *path, const char *query, const char *body, size_t n_body, bool json);
void rs_task_free(rs_task *task);
/* Hands a task over. The oldest of more than 16 that wait at a desk is done at once, with status 503. */
void rs_desks_ask(rs_desks *desks, rs_explorer_desk desk, rs_task *task);
/* A task that is done, the asker's again; NULL: there is none. */
rs_task *rs_desks_done(rs_desks *desks);

#endif
