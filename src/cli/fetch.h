/* Many small HTTP requests at once, by libcurl. The program's alone: the library knows no network. */
#pragma once

#include "rankscope/status.h"

typedef struct rs_fetch {
    char *url; /* owned */
    bool post;
    const char *sent; /* what a post carries; borrowed; NULL: it is empty */
    size_t n_sent;
    const char *type; /* of what is sent; NULL: JSON */
    /* the answer */
    int status; /* 0: none came */
    bool timed_out;
    char failure[120]; /* why none came, "" when one did */
    char *body;        /* owned */
    size_t n, capacity;
    void *headers; /* while it is asked */
} rs_fetch;

/* Asks for all of them, 64 connections at a time, each for at most timeout_s seconds. Only http and https, no
 * redirects, no proxies. What does not answer is no error. RS_ERR_USAGE when the program was built without
 * libcurl. */
rs_status rs_fetch_all(rs_fetch *items, size_t n, int64_t timeout_s, rs_error *err);
void rs_fetch_clear(rs_fetch *item);
/* RS_ERR_USAGE, with the remedy, when the program was built without libcurl. */
rs_status rs_fetch_check(rs_error *err);
