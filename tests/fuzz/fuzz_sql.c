/* SQL: any text is answered or refused with a message; what is answered has tables of whole rows; and the session
 * works on afterwards. */
#include <string.h>

#include "fuzz.h"
#include "rankscope/render.h"
#include "rankscope/sql.h"

static const char trace[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":90},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":20,"
    "\"args\":{\"External id\":1,\"Input Dims\":[[2,3],[3,4]]}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":3,"
    "\"args\":{\"correlation\":9,\"External id\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":30,"
    "\"args\":{\"correlation\":9,\"External id\":1,\"stream\":7,\"device\":0,\"grid\":[1,2,3]}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"ts\":0,\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":1}]}";

static unsigned calls;

static bool goes_on(void *context)
{
    (void)context;
    return ++calls < 30;
}

static void run(rs_sql_session *session, const char *text)
{
    rs_error err = RS_ERROR_INIT;
    rs_result result;
    char line[2048];
    calls = 0;
    rs_status status = rs_sql_run(session, text, &result, &err);
    if (status == RS_OK) {
        PROMISE(result.n_tables > 0);
        for (size_t i = 0; i < result.n_tables; i++) {
            const rs_table_spec *spec = rs_table_get_spec(result.tables[i]);
            PROMISE(spec->n_columns > 0);
            for (size_t k = 0; k < spec->n_columns; k++)
                for (size_t m = 0; m < k; m++)
                    PROMISE(strcmp(spec->columns[k].name, spec->columns[m].name) != 0);
        }
    } else {
        PROMISE(result.n_tables == 0 && err.n_causes > 0);
        PROMISE(!strchr(rs_error_text(&err, line, sizeof line), '\n'));
    }
    rs_result_clear(&result);
}

static bool drop(void *context, const char *bytes, size_t n)
{
    (void)context;
    (void)bytes;
    (void)n;
    return true;
}

static rs_status next(void *context, size_t most, rs_table **page, rs_error *err)
{
    (void)most;
    return rs_sql_page(context, 3, page, err);
}

static rs_status again(void *context, rs_error *err)
{
    (void)err;
    rs_sql_again(context);
    return RS_OK;
}

/* By pages of a few rows. */
static void stream(rs_sql_session *session, const char *text, const char *form)
{
    const rs_pages pages = {.context = session, .next = next, .again = again};
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find(form)};
    const rs_sink sink = {drop, NULL};
    rs_result result;
    bool there = false;
    calls = 0;
    rs_status status = rs_sql_begin(session, text, NULL);
    if (status == RS_OK) status = rs_sql_next(session, &there, NULL);
    while (status == RS_OK && there) {
        rs_sql_is_last(session);
        status = rs_render_pages(&pages, &settings, &sink, NULL);
        if (status == RS_OK) status = rs_sql_next(session, &there, NULL);
    }
    rs_sql_end(session, &result);
    PROMISE(result.n_tables == 0);
    rs_result_clear(&result);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    static rs_job *job;
    static rs_sql_session *session;
    static unsigned n_runs;
    const rs_job_settings job_settings = {
        .size = sizeof(rs_job_settings), .jobs = 1, .keep = true, .simd = fuzz_every_way ? 0 : 2};
    const rs_sql_settings settings = {.size = sizeof settings, .max_memory = 16 << 20, .goes_on = goes_on};
    /* a session of many questions, and a new one now and then: conditions that it has seen are counted */
    if (session && n_runs++ % 64 == 0) {
        rs_sql_close(session);
        rs_job_close(job);
        session = NULL;
    }
    if (!session) {
        PROMISE(rs_job_open_bytes(trace, sizeof trace - 1, "trace", &job_settings, &job, NULL) == RS_OK);
        PROMISE(rs_sql_open(job, &settings, &session, NULL) == RS_OK);
    }
    char *text = malloc(n + 1);
    if (!text) abort();
    memcpy(text, data, n);
    text[n] = 0;
    run(session, text);
    run(session, text); /* with what the first run has left: answers, indexes, conditions */
    stream(session, text, n % 2 ? "text" : "arrow");
    run(session, "SELECT count(*) FROM events");
    free(text);
    return 0;
}
