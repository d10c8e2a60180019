/* Logs of torch.compile: cut and damaged ones, and that reading costs no more than in proportion to the text. The files are as
 * PyTorch 2.15 writes them, shortened by hand. */
#include "compile/compile_log.h"
#include "format/format.h"
#include "support.h"

#define LOG RS_SOURCE_DIR "/src/packs/compile/tests/data/dedicated_log_torch_trace_rank_1_x.log"

extern const rs_format rs_format_torch_compile_log;

static rs_events *load_log(const char *bytes, size_t n)
{
    rs_events *e = NULL;
    rs_source *source;
    rs_load_settings settings = {0};
    guarded g = guarded_copy(bytes, n);
    assert_int_equal(rs_source_open_bytes(g.bytes, g.n, "x.log", 0, &source, NULL), RS_OK);
    rs_status status = rs_format_torch_compile_log.load(source, &settings, &e, NULL);
    assert_true(status == RS_OK || status == RS_ERR_FORMAT);
    rs_source_close(source);
    guarded_free(&g);
    return e;
}

TEST(test_counts)
{
    text t = text_of_file(LOG);
    assert_ptr_equal(rs_format_of_text((const uint8_t *)t.s, t.n), &rs_format_torch_compile_log);
    rs_events *e = load_log(t.s, t.n);
    const rs_compile_log *log = e->other.columns;
    assert_int_equal(e->info.rank, 1);
    assert_int_equal(log->n_compilations, 5); /* forward, broken, lone three times */
    assert_int_equal(log->compilations[0].time, INT64_C(2000001000));
    assert_int_equal(log->compilations[0].collectives,
                     2); /* neither of the joint graph, of comments nor waits */
    assert_string_equal(log->strings.items[log->collectives[1].name].text, "all_gather_into_tensor");
    assert_int_equal(log->collectives[1].graph, RS_GRAPH_BACKWARD);
    assert_int_equal(log->compilations[1].breaks, 1);
    assert_int_equal(log->compilations[1].attempt, 1);
    assert_string_equal(log->strings.items[log->compilations[1].reason].text,
                        "Unsupported Tensor.item() call");
    assert_string_equal(log->strings.items[log->compilations[4].reason].text,
                        "2/1: tensor 'x' dtype mismatch. expected Float, actual Double");
    assert_int_equal(e->problems.n, 0);
    rs_events_free(e);
    text_clear(&t);
}

/* Cut anywhere: what was before the cut is there, and a line that is cut is a problem of the file. */
TEST(test_cut)
{
    text t = text_of_file(LOG);
    size_t before = 0;
    for (size_t n = 0; n <= t.n; n++) {
        rs_events *e = load_log(t.s, n);
        if (!e) continue;
        const rs_compile_log *log = e->other.columns;
        assert_true(log->n_compilations >= before);
        assert_true(e->problems.n <= 1);
        before = log->n_compilations;
        rs_events_free(e);
    }
    assert_int_equal(before, 5);
    text_clear(&t);
}

/* A damaged byte costs its line. */
TEST(test_damage)
{
    text t = text_of_file(LOG);
    for (size_t i = 0; i < t.n; i++) {
        char was = t.s[i];
        t.s[i] = (char)(was ^ 0x5a);
        rs_events *e = load_log(t.s, t.n);
        assert_non_null(e);
        const rs_compile_log *log = e->other.columns;
        assert_in_range(log->n_compilations, 4, 7); /* an id may become another one */
        rs_events_free(e);
        t.s[i] = was;
    }
    text_clear(&t);
}
