/* What the command `sql` and its prompt share. */
#pragma once

#include "cli/cli.h"
#include "rankscope/sql.h"

/* A call of the command: its own part of the request. */
typedef struct rs_sql_request {
    const char *query; /* NULL: the prompt's, or that of standard input */
    char *read;        /* what was read there; owned */
    const char **paths;
    size_t n_paths;
    bool prompt;
    bool streams; /* rows are written while the query runs */
    rs_sql_settings settings;
    rs_sql_session *session;
} rs_sql_request;

/* Asks for queries and answers them until the user leaves. */
rs_status rs_sql_prompt(rs_request *request, rs_error *err);
/* The answers of all statements in the output form that was asked for. */
rs_status rs_sql_show(const rs_request *request, const rs_result *result, const rs_sink *sink, rs_error *err);
