/* The viewer: who is answered what, origins, what is kept of a trace, and the page. */
#include "base/memory.h"
#include "rankscope/rankscope.h"
#include "sink.h"
#include "rewrite/fuse_internal.h"
#include "view/explorer.h"
#include "view/page.h"
#include "rankscope/view.h"
#include "view/routes.h"
#include "view/windows.h"

#include "support.h" /* last: its names are short */

#define TOKEN "0123456789abcdef0123456789abcdef"

static void test_origins(void **state)
{
    (void)state;
    static const struct {
        const char *address, *origin;
    } cases[] = {
        {"https://ui.perfetto.dev", "https://ui.perfetto.dev"},
        {"https://ui.perfetto.dev/", "https://ui.perfetto.dev"},
        {"HTTPS://UI.Perfetto.dev:443/#!/?a=http://x", "https://ui.perfetto.dev"},
        {"http://localhost:80?x", "http://localhost"},
        {"http://127.0.0.1:10000/a/b", "http://127.0.0.1:10000"},
        {"https://host:80", "https://host:80"},
        {"http://[::1]:8080/", "http://[::1]:8080"},
        {"http://[::1]", "http://[::1]"},
        {"https://host:", "https://host"},
        {"", NULL},
        {"ui.perfetto.dev", NULL},
        {"https://", NULL},
        {"https:///path", NULL},
        {"ftp://host", NULL},
        {"javascript:alert(1)//https://x", NULL},
        {"https://user@host", NULL},
        {"https://host/a b", NULL},
        {"https://host/\"onload=", NULL},
        {"https://host\n", NULL},
        {"https://h\xc3\xb6st", NULL},
        {"file:///x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char origin[RS_VIEW_ORIGIN];
        rs_error err = RS_ERROR_INIT;
        rs_status status = rs_view_origin_of(cases[i].address, origin, &err);
        if (!cases[i].origin)
            assert_int_equal(status, RS_ERR_USAGE);
        else
            assert_string_equal(status == RS_OK ? origin : "refused", cases[i].origin);
    }
    char address[1000] = "https://", origin[RS_VIEW_ORIGIN];
    memset(address + 8, 'a', sizeof address - 9);
    assert_int_equal(rs_view_origin_of(address, origin, NULL), RS_ERR_USAGE);
}

static void test_routes(void **state)
{
    (void)state;
    static const rs_view_resource resources[] = {{.name = ""}, {.name = "trace", .for_the_ui = true}};
    rs_view_routes routes = {
        .token = TOKEN, .port = 9001, .ui_origin = "https://ui", .resources = resources, .n = 2};
    static const struct {
        rs_view_request request;
        unsigned status;
        int resource;
        bool allow_ui;
    } cases[] = {
        {{"GET", "/" TOKEN "/", "127.0.0.1:9001", NULL}, 200, 0, false},
        {{"HEAD", "/" TOKEN "/trace", "LOCALHOST:9001", NULL}, 200, 1, false},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", "https://ui"}, 200, 1, true},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", "http://127.0.0.1:9001"}, 200, 1, false},
        {{"GET", "/" TOKEN "/", "localhost:9001", "https://ui"}, 403, -1, false},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", "https://ui.evil"}, 403, -1, false},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", "https://u"}, 403, -1, false},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", "null"}, 403, -1, false},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", ""}, 403, -1, false},
        {{"GET", "/" TOKEN "/trace", "localhost:9001", "https://127.0.0.1:9001"}, 403, -1, false},
        {{"GET", "/" TOKEN "/", NULL, NULL}, 403, -1, false},
        {{"GET", "/" TOKEN "/", "", NULL}, 403, -1, false},
        {{"GET", "/" TOKEN "/", "127.0.0.1", NULL}, 403, -1, false},
        {{"GET", "/" TOKEN "/", "127.0.0.1:90011", NULL}, 403, -1, false},
        {{"GET", "/" TOKEN "/", "127.0.0.1:9001.evil", NULL}, 403, -1, false},
        {{"GET", "/" TOKEN "/", "evil:9001", NULL}, 403, -1, false},
        {{"POST", "/" TOKEN "/", "evil:9001", NULL}, 403, -1, false},
        {{"POST", "/" TOKEN "/", "127.0.0.1:9001", NULL}, 405, -1, false},
        {{"get", "/" TOKEN "/", "127.0.0.1:9001", NULL}, 405, -1, false},
        {{"GET", "/" TOKEN, "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "/" TOKEN "/other", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "/" TOKEN "/trace/", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "/", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "*", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "x" TOKEN "/", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "/1123456789abcdef0123456789abcdef/", "127.0.0.1:9001", NULL}, 404, -1, false},
        {{"GET", "/0123456789abcdef0123456789abcdeF/", "127.0.0.1:9001", NULL}, 404, -1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_view_answer answer = rs_view_route(&routes, &cases[i].request);
        if (answer.status != cases[i].status) fail_msg("case %zu: %u", i, answer.status);
        assert_ptr_equal(answer.resource, cases[i].resource < 0 ? NULL : &resources[cases[i].resource]);
        assert_int_equal(answer.allow_ui, cases[i].allow_ui);
        assert_int_equal(answer.message != NULL, answer.status != 200);
    }
    routes.port = 80;
    rs_view_request plain = {"GET", "/" TOKEN "/", "localhost", NULL};
    assert_int_equal(rs_view_route(&routes, &plain).status, 200);
}

static void test_routes_of_windows(void **state)
{
    (void)state;
    const rs_view_resource resources[] = {{.name = ""}, {.name = "window/3/"}};
    const rs_view_resource page = {.name = "page"};
    rs_job_settings settings = {.size = sizeof settings};
    rs_view_windows *windows = rs_view_windows_create(&settings);
    assert_non_null(windows);
    static const int64_t numbers[] = {1, 3, 12, 999999999999999999};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(rs_view_windows_add(windows, numbers[i], NULL, 0, NULL), RS_OK);
    rs_view_routes routes = {.token = TOKEN,
                             .port = 9001,
                             .resources = resources,
                             .n = 1,
                             .windows = windows,
                             .page_of_window = &page};
    static const struct {
        const char *method, *path, *api;
        unsigned status;
        int64_t window;
    } cases[] = {
        {"GET", "window/3/", NULL, 200, 0},
        {"GET", "window/12/api/map", "map", 200, 12},
        {"GET", "window/999999999999999999/api/progress", "progress", 200, 999999999999999999},
        {"POST", "window/1/api/sql", "sql", 200, 1},
        {"POST", "window/1/", NULL, 404, 0},
        {"POST", "window/1/api/progress", NULL, 404, 0},
        {"GET", "window/1000000000000000000/api/map", NULL, 404, 0},
        {"GET", "window/3", NULL, 404, 0},
        {"GET", "window/0/", NULL, 404, 0},
        {"GET", "window/03/", NULL, 404, 0},
        {"GET", "window/-3/", NULL, 404, 0},
        {"GET", "window//", NULL, 404, 0},
        {"GET", "window/3/api/other", NULL, 404, 0},
        {"GET", "window/3/x", NULL, 404, 0},
        {"GET", "window/2/", NULL, 404, 0}, /* there is none */
        {"GET", "window/2/api/map", NULL, 404, 0},
        {"GET", "window/13/api/progress", NULL, 404, 0},
        {"POST", "window/4/api/sql", NULL, 404, 0},
        {"GET", "api/map", NULL, 404, 0},
        {"GET", "api/progress", NULL, 404, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        snprintf(path, sizeof path, "/" TOKEN "/%s", cases[i].path);
        const rs_view_request request = {cases[i].method, path, "127.0.0.1:9001", NULL};
        rs_view_answer answer = rs_view_route(&routes, &request);
        if (answer.status != cases[i].status) fail_msg("%s: %u", path, answer.status);
        if (cases[i].api) {
            assert_string_equal(answer.api, cases[i].api);
            assert_int_equal(answer.window, cases[i].window);
        } else
            assert_ptr_equal(answer.resource, answer.status == 200 ? &page : NULL);
    }
    rs_view_reading reading = {.complete = true};
    const rs_view_request of_job = {"GET", "/" TOKEN "/api/map", "127.0.0.1:9001", NULL};
    routes.reading = &reading;
    const rs_view_answer both = rs_view_route(&routes, &of_job);
    assert_string_equal(both.api, "map");
    assert_int_equal(both.window, 0);
    routes.windows = NULL;
    routes.n = 2;
    const rs_view_request plain = {"GET", "/" TOKEN "/window/3/", "127.0.0.1:9001", NULL};
    assert_ptr_equal(rs_view_route(&routes, &plain).resource, &resources[1]);
    rs_view_windows_close(windows);
}

static void test_token(void **state)
{
    (void)state;
    char a[RS_VIEW_TOKEN], b[RS_VIEW_TOKEN];
    assert_int_equal(rs_view_make_token(a, NULL), RS_OK);
    assert_int_equal(rs_view_make_token(b, NULL), RS_OK);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    assert_string_not_equal(a, b);
}

/* Longer is never less, and a weight's duration is the shortest that has it. */
static void test_weights(void **state)
{
    (void)state;
    uint16_t before = rs_fuse_weight(3, INT64_MIN);
    assert_int_equal(before, rs_fuse_weight(3, 0));
    rng r = {7};
    for (unsigned bit = 0; bit < 63; bit++)
        for (int round = 0; round < 200; round++) {
            int64_t ns = (int64_t)((UINT64_C(1) << bit) | (rng_next(&r) & ((UINT64_C(1) << bit) - 1)));
            uint16_t weight = rs_fuse_weight(3, ns);
            int64_t least = rs_fuse_weight_ns(weight);
            assert_true(least <= ns && least > ns - ns / 64 - 1);
            assert_int_equal(rs_fuse_weight(3, least), weight);
            assert_true(rs_fuse_weight(3, least - 1) < weight);
        }
    assert_true(rs_fuse_weight(3, INT64_MAX) < rs_fuse_weight(4, 0));
    assert_int_equal(rs_fuse_weight_ns(rs_fuse_weight(3, 0)), 0);
}

/* ---- a job
 * ------------------------------------------------------------------------------------------------- */

static const char trace[] =
    "{\"traceEvents\": ["
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,"
    "\"dur\":50},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":1,\"tid\":1,\"ts\":50,"
    "\"dur\":50},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"long\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":20},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"short\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":3},"
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":51,\"dur\":40},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":60,"
    "\"dur\":1,"
    "\"args\":{\"correlation\":5}},"
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":1,\"tid\":1,\"ts\":60},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":110,\"dur\":9,"
    "\"args\":{\"correlation\":5,\"stream\":7,\"device\":0}},"
    "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":110,\"bp\":\"e\"},"
    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"outer\",\"pid\":0,\"tid\":7,\"ts\":110,\"dur\":"
    "9},"
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":70,\"s\":"
    "\"t\"}"
    "]}";

/* The names of what is kept, in order. */
static char *kept(uint64_t max_events, const char *steps, char *note, size_t note_size)
{
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .steps = steps};
    rs_job *job;
    rs_view_trace reduced;
    rs_result told;
    rs_error err = RS_ERROR_INIT;
    static char names[1000];
    names[0] = '\0';
    assert_int_equal(rs_job_open_bytes(trace, sizeof trace - 1, "t.json", &settings, &job, &err), RS_OK);
    assert_int_equal(rs_view_reduce(job, max_events, false, &reduced, &told, &err), RS_OK);
    snprintf(note, note_size, "%s", told.n_notes ? told.notes[0] : "");
    bool complete;
    text json = gzip_prefix(reduced.bytes, reduced.n, &complete);
    assert_true(complete);
    const char *end = strstr(json.s, "\"ph\": \"M\"");
    for (const char *at = json.s; (at = strstr(at, "\"name\": \"")) != NULL && (!end || at < end);) {
        at += 9;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.*s", used ? " " : "", (int)strcspn(at, "\""), at);
    }
    text_clear(&json);
    rs_free(reduced.bytes);
    rs_result_clear(&told);
    rs_job_close(job);
    return names;
}

static void test_kept(void **state)
{
    (void)state;
    char note[400];
    static const struct {
        uint64_t most;
        const char *steps, *kept, *left_out;
    } cases[] = {
        {0, NULL,
         "ProfilerStep#1 ProfilerStep#2 long short f cudaLaunchKernel ac2g kernel ac2g outer [memory]", NULL},
        {1, NULL, "ProfilerStep#1 ProfilerStep#2",
         "all GPU work with its launches, all annotations, all host events, all Python functions, all "
         "counters, "
         "instants and other arrows"},
        {7, NULL, "ProfilerStep#1 ProfilerStep#2 cudaLaunchKernel ac2g kernel ac2g",
         "all annotations, all host events, all Python functions, all counters, instants and other arrows"},
        {8, NULL, "ProfilerStep#1 ProfilerStep#2 cudaLaunchKernel ac2g kernel ac2g outer",
         "all host events, all Python functions, all counters, instants and other arrows"},
        {9, NULL, "ProfilerStep#1 ProfilerStep#2 long cudaLaunchKernel ac2g kernel ac2g outer",
         "host events shorter than 19.97 us, all Python functions, all counters, instants and other arrows"},
        {11, NULL, "ProfilerStep#1 ProfilerStep#2 long short f cudaLaunchKernel ac2g kernel ac2g outer",
         "all counters, instants and other arrows"},
        {12, NULL,
         "ProfilerStep#1 ProfilerStep#2 long short f cudaLaunchKernel ac2g kernel ac2g outer [memory]", NULL},
        {0, "1", "ProfilerStep#1 long short", NULL},
        {0, "2", "ProfilerStep#2 f cudaLaunchKernel ac2g kernel ac2g outer [memory]", NULL},
        {5, "1-9", "ProfilerStep#1 ProfilerStep#2", "all GPU work with its launches, all annotations"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *names = kept(cases[i].most, cases[i].steps, note, sizeof note);
        if (strcmp(names, cases[i].kept) != 0) fail_msg("case %zu: %s (%s)", i, names, note);
        const char *left_out = strstr(note, "left out: ");
        if (!cases[i].left_out)
            assert_null(left_out);
        else if (!left_out || strncmp(left_out + 10, cases[i].left_out, strlen(cases[i].left_out)) != 0)
            fail_msg("case %zu: %s", i, note);
    }
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .steps = "77"};
    rs_job *job;
    rs_view_trace reduced;
    rs_result told;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_job_open_bytes(trace, sizeof trace - 1, "t.json", &settings, &job, &err), RS_OK);
    assert_int_equal(rs_view_reduce(job, 0, false, &reduced, &told, &err), RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, note, sizeof note), "no step 77: the traces have step"));
    rs_result_clear(&told);
    rs_job_close(job);
}

/* One after another every allocation fails: out of memory or the whole answer. */
static void test_out_of_memory(void **state)
{
    (void)state;
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .steps = "1-2"};
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        rs_job *job = NULL;
        rs_view_trace reduced = {0};
        rs_result told = {0};
        collected page = {0};
        rs_sink sink = {collect, &page};
        rs_view_routes routes = {.token = TOKEN, .port = 9001, .ui_origin = "https://ui"};
        rs_test_fail_allocation(n);
        rs_status status = rs_job_open_bytes(trace, sizeof trace - 1, "t.json", &settings, &job, NULL);
        if (status == RS_OK) status = rs_view_reduce(job, 6, false, &reduced, &told, NULL);
        rs_view_facts facts = {"t.json", "https://ui/#x", &reduced, &told, true};
        if (status == RS_OK) status = rs_view_page_write(&facts, &routes, &sink, NULL);
        rs_test_fail_allocation(0);
        done = status == RS_OK && told.problems.n_dropped == 0 && n > 200;
        assert_true(status == RS_OK || status == RS_ERR_NOMEM || status == RS_ERR_IO ||
                    status == RS_ERR_FORMAT);
        if (done) {
            assert_non_null(strstr(page.text, "Read the report"));
            assert_non_null(strstr(page.text, "https://ui/#!/?url=http%3A%2F%2F127.0.0.1%3A9001%2F" TOKEN
                                              "%2Ftrace.json.gz"));
        }
        collected_clear(&page);
        rs_free(reduced.bytes);
        rs_result_clear(&told);
        rs_job_close(job);
        assert_true(n < 20000);
    }
}

/* Stretches of a rank, with gaps or without, in columns of any window: a column has what is in it. */
static void test_columns_of_maps(void **state)
{
    (void)state;
    uint64_t chance = 5;
    int64_t sums[40 * RS_EXPLORER_CLASSES];
    for (size_t n = 0; n < 700; n += n < 200 ? 1 : 37) {
        rs_map_parts parts = {0};
        rs_map_rank map;
        int64_t t = 0;
        for (size_t i = 0; i < n; i++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            const int64_t from = t + (int64_t)(chance >> 33) % 3 * 50,
                          to = from + 1 + (int64_t)(chance >> 40) % 100;
            assert_true(rs_map_parts_add(&parts, from, to, (uint8_t)((chance >> 50) % RS_EXPLORER_CLASSES)));
            t = to;
        }
        assert_int_equal(rs_map_make_rank(3, &parts, &map, NULL), RS_OK);
        for (size_t k = 0; k < 12; k++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            const size_t width = k < 4 ? 1 : 1 + (size_t)(chance >> 33) % 40;
            const int64_t from = k % 3 ? (int64_t)(chance >> 20) % (t + 1) : 0,
                          to = k % 2 ? from + 40 + (int64_t)(chance >> 10) % (t - from + 100) : t + 90;
            rs_map_columns(&map, from, to, width, sums);
            for (size_t c = 0; c < width; c++) {
                int64_t wanted[RS_EXPLORER_CLASSES] = {0};
                const int64_t begin = from + (to - from) * (int64_t)c / (int64_t)width,
                              end = from + (to - from) * (int64_t)(c + 1) / (int64_t)width;
                for (size_t i = 0; i < n; i++) {
                    const rs_map_part *p = &parts.items[i];
                    const int64_t a = p->from > begin ? p->from : begin, b = p->to < end ? p->to : end;
                    if (a < b) wanted[p->class] += b - a;
                }
                assert_memory_equal(&sums[c * RS_EXPLORER_CLASSES], wanted, sizeof wanted);
            }
        }
        rs_free_all(map.from, map.to, map.class, map.before);
        rs_map_parts_clear(&parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_of_maps),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_routes_of_windows),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
