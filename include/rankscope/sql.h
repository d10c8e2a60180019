/* SQL over a job: its events, their arguments, and every analysis as a table (docs/sql.md).
 *
 *     rs_sql_settings settings = {.size = sizeof settings, .timeout = 10};
 *     rs_sql_session *session;
 *     if (rs_sql_open(job, &settings, &session, &err) == RS_OK &&
 *         rs_sql_run(session, "SELECT name, sum(dur_us) FROM events GROUP BY name", &result, &err) == RS_OK)
 *         ... result.tables[0] ...
 *     rs_result_clear(&result);
 *     rs_sql_close(session);
 *
 * The dialect is SQLite's. Statements only read: there is nothing to write to, and no file can be reached but those of
 * the job. An option of an analysis that names a file is refused (roofline('--device H200-SXM') names none). A session is used by one thread at a time. Stability: experimental. */
#ifndef RANKSCOPE_SQL_H
#define RANKSCOPE_SQL_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of several jobs. A statement names it by its number from 1, or by its name: of several the first. */
typedef struct rs_sql_input {
    const char *name; /* what stands for it in messages and notes; not empty */
    rs_job *job;
} rs_sql_input;

typedef struct rs_sql_settings {
    size_t size; /* sizeof(rs_sql_settings): needed, so that the struct can grow */
    uint64_t
        max_memory; /* bytes that SQLite and the rows of an answer may take; 0: 1 GiB. Events and answers of
                            analyses are the job's matter */
    double timeout; /* seconds that one call of rs_sql_run may take; 0: no limit */
    /* Called now and then while a statement runs; false stops it with RS_ERR_CANCELLED. NULL: nobody asks. */
    bool (*goes_on)(void *context);
    void *context;
    /* Jobs that are compared, two or more, borrowed until rs_sql_close: then there are the tables of compare, diff and
     * regress, and every analysis takes the number or name of an input behind its options. The first stands for the
     * session's job. n_inputs 0: there is one job. */
    const rs_sql_input *inputs;
    size_t n_inputs;
    /* Seconds of one call that may go by beside reading traces and running analyses; 0: no limit. It ends a query that never
     * ends, and not the first one to a large job. */
    double query_timeout;
} rs_sql_settings;

typedef struct rs_sql_session rs_sql_session;

/* Makes the limits of sessions hold inside SQLite, too: its memory is counted where it is taken, and a statement over a limit gets
 * none, also while it is prepared. Without it both limits are looked at every few steps of a statement that runs. For programs,
 * before anything uses SQLite in the process and before there are threads; a library leaves SQLite's allocator as it is. False:
 * SQLite was in use. */
RS_API bool rs_sql_own_memory(void);

/* Nothing is read yet: events are loaded when a statement names them, analyses run when their tables are read,
 * and both stay for the statements that follow. The job is borrowed until rs_sql_close, and nobody else puts
 * questions to it while a statement runs. Errors: RS_ERR_USAGE for settings without a size, RS_ERR_NOMEM. job may be NULL where there are inputs. */
RS_API rs_status rs_sql_open(rs_job *job, const rs_sql_settings *settings, rs_sql_session **out,
                             rs_error *err);
RS_API void rs_sql_close(rs_sql_session *session); /* NULL is allowed */

/* Runs the statements of a text, separated by ";", in order. result, which is overwritten, gets one table for
 * each, named "rows"; the caller clears it, after a failure too, as it tells of problems of the input. Columns
 * have the names that SQL gives them; a name that comes again gets a number behind it. Whole numbers are
 * RS_INT, other numbers RS_REAL, all else RS_TEXT.
 *
 * RS_ERR_USAGE: a statement is wrong, would write, or an analysis refuses its options; the message says where
 * in the text and names the nearest table or column. RS_ERR_LIMIT: more memory or time than the settings allow.
 * RS_ERR_CANCELLED. Else errors of rs_job_run. */
RS_API rs_status rs_sql_run(rs_sql_session *session, const char *text, rs_result *result, rs_error *err);

/* The same for answers of any length: statement by statement, the rows of each in pages, so that no more than a page is
 * in memory. The session loads, keeps and limits as with rs_sql_run; max_memory holds for a page.
 *
 *     rs_status status = rs_sql_begin(session, text, &err);
 *     while (status == RS_OK && (status = rs_sql_next(session, &there, &err)) == RS_OK && there)
 *         while ((status = rs_sql_page(session, 1024, &page, &err)) == RS_OK && page) { ...; rs_table_free(page); }
 *     rs_sql_end(session, &result);
 *
 * begin borrows the text until rs_sql_end, which must follow and gives back problems and notes (result is overwritten,
 * and has no tables). next goes on to the following statement. page gives its next rows, at most so many, and fewer when
 * they take more than 64 MiB; NULL behind the last, but for the first page, which there always is. The columns of a page
 * have the types of the rows up to its end: a column becomes wider (RS_INT, RS_REAL, RS_TEXT) and never narrower. again
 * goes back to the first row, with the types that were seen. Errors: those of rs_sql_run. */
RS_API rs_status rs_sql_begin(rs_sql_session *session, const char *text, rs_error *err);
RS_API rs_status rs_sql_next(rs_sql_session *session, bool *there, rs_error *err);
RS_API rs_status rs_sql_page(rs_sql_session *session, size_t most_rows, rs_table **page, rs_error *err);
RS_API void rs_sql_again(rs_sql_session *session);
RS_API void rs_sql_end(rs_sql_session *session, rs_result *result);
/* Whether the statement is within its limits, where so many bytes are held in addition to a page of it: for who writes the pages
 * (rs_render_settings.check). RS_ERR_LIMIT and RS_ERR_CANCELLED as from rs_sql_page. */
RS_API rs_status rs_sql_check(rs_sql_session *session, uint64_t held, rs_error *err);
/* Whether there is no statement behind the one at hand. */
RS_API bool rs_sql_is_last(rs_sql_session *session);
/* Problems and notes since rs_sql_begin; the session's. */
RS_API const rs_result *rs_sql_told(const rs_sql_session *session);

/* Whether the text ends in a ";" that is not inside a string or comment: a prompt then has a whole statement. */
RS_API bool rs_sql_is_complete(const char *text);

/* Whether the session's time is over or its user wants to stop: for the progress function of the job. */
RS_API bool rs_sql_goes_on(const rs_sql_session *session);

#ifdef __cplusplus
}
#endif
#endif
