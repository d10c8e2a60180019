/* Answers of a running job's servers: the input is cut at the bytes ff fe fd fc; the first byte of each piece
 * says which page or handler answered. Any bytes come to a snapshot or a refusal, the same on a second run.
 */
#include <string.h>

#include "flight/live.h"
#include "fuzz.h"

#define MAX_ANSWERS 12
#define NOW INT64_C(1773454300000000000)

static rs_flight_answer answer_of(const uint8_t *data, size_t n, size_t number)
{
    static const struct {
        const char *page;
        bool front;
    } kinds[] = {{"fr_trace_nccl_json", true},    {"stacks", true},          {"pyspy_dump", true},
                 {"dump_nccl_trace_json", false}, {"dump_traceback", false}, {"pyspy_dump", false},
                 {"fr_trace_json", false}};
    size_t kind = n ? data[0] % (sizeof kinds / sizeof *kinds) : 0;
    rs_flight_answer a = {.page = kinds[kind].page,
                          .rank = kinds[kind].front ? -1 : (int64_t)(number / 2),
                          .address = "http://node00:40001"};
    a.status = n && data[0] >= 0xf0 ? 0 : n && data[0] >= 0xe0 ? 500 : 200;
    a.timed_out = n && data[0] == 0xff;
    a.bytes = n ? data + 1 : data;
    a.n = n ? n - 1 : 0;
    return a;
}

static size_t split(const uint8_t *data, size_t n, rs_flight_answer *answers)
{
    size_t count = 0, begin = 0;
    for (size_t i = 0; i <= n && count < MAX_ANSWERS; i++) {
        bool mark = i + 4 <= n && memcmp(data + i, "\xff\xfe\xfd\xfc", 4) == 0;
        if (!mark && i < n) continue;
        answers[count] = answer_of(data + begin, i - begin, count);
        count++;
        begin = i + 4;
        i += 3;
    }
    return count;
}

static rs_flight *open_one(const rs_flight_answer *answers, size_t n, int64_t now, rs_flight *previous)
{
    rs_flight_settings settings = {
        .size = sizeof(rs_flight_settings), .now_ns = now, .allow_missing = true, .previous = previous};
    rs_flight *flight = NULL;
    rs_error err = RS_ERROR_INIT;
    rs_status status = rs_flight_open_answers(answers, n, &settings, &flight, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT);
    PROMISE(flight);
    return flight;
}

static fuzz_bytes run(const rs_flight_answer *answers, size_t n)
{
    const rs_flight_report *report;
    rs_error err = RS_ERROR_INIT;
    fuzz_bytes out = {0};
    rs_sink sink = {fuzz_keep, &out};
    rs_flight *first = open_one(answers, n, NOW, NULL);
    PROMISE(rs_flight_get_report(first, &report, &err) == RS_OK && report->root.summary);
    rs_flight *flight = open_one(answers, n, NOW + INT64_C(40000000000), first);
    PROMISE(rs_flight_get_report(flight, &report, &err) == RS_OK && report->root.summary);
    PROMISE(rs_flight_write_json(flight, &sink, &err) == RS_OK);
    rs_table *tables[] = {rs_flight_progress(flight, &err), rs_flight_stacks(flight, &err),
                          rs_flight_roots(flight, &err)};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        PROMISE(tables[i]);
        rs_table_free(tables[i]);
    }
    rs_flight_close(flight);
    return out;
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_flight_answer answers[MAX_ANSWERS];
    int64_t ranks[8];
    char addresses[8][RS_FLIGHT_ADDRESS];
    size_t count = split(data, n, answers);
    PROMISE(rs_flight_list_workers(answers, count, ranks, addresses, 8) <= 8);
    fuzz_bytes first = run(answers, count), second = run(answers, count);
    PROMISE(first.n == second.n && memcmp(first.text, second.text, first.n) == 0);
    free(first.text);
    free(second.text);
    return 0;
}
