/* What must not matter to a verdict: the order of entries in a dump and of dumps in a job, how far apart sequence numbers lie,
 * what older recorders leave out, and how a rank's name, group or sizes are written. */
#include "rankscope/flight.h"
#include "sink.h"
#include "support.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define RANKS 4
#define CALLS 40

/* One way to write the same job. */
typedef struct writing {
    const char *what;
    int64_t stride; /* of sequence numbers */
    bool backwards; /* entries from the newest to the oldest */
    bool shuffled;  /* in no order at all */
    bool as_text;   /* numbers in quotes */
    bool no_p2p;    /* nothing says which calls are transfers */
    bool no_dtypes, no_sizes;
    bool other_version; /* of one rank */
    bool dumps_reversed;
} writing;

static const writing writings[] = {
    {.what = "plain", .stride = 1},
    {.what = "sparse", .stride = 1000},
    {.what = "very sparse", .stride = INT64_C(1) << 40},
    {.what = "backwards", .stride = 1, .backwards = true},
    {.what = "shuffled", .stride = 1, .shuffled = true},
    {.what = "shuffled and sparse", .stride = 777, .shuffled = true},
    {.what = "texts", .stride = 1, .as_text = true},
    {.what = "no p2p", .stride = 1, .no_p2p = true},
    {.what = "no types", .stride = 1, .no_dtypes = true},
    {.what = "no sizes", .stride = 1, .no_sizes = true},
    {.what = "versions", .stride = 1, .other_version = true},
    {.what = "the other way round", .stride = 1, .dumps_reversed = true},
};

/* What happens in the job, besides what all ranks do alike. */
typedef struct fault {
    const char *what;
    unsigned rank;
    unsigned missing_from;       /* it never issues this call and later ones; 0: all */
    const char *op, *in, *dtype; /* what it calls in the 20th instead; NULL: the same */
    const char *state;           /* of the last call, on this rank */
    rs_flight_verdict verdict;
} fault;

static const fault faults[] = {
    {"nothing", 0, 0, NULL, NULL, NULL, "completed", RS_FLIGHT_HEALTHY},
    {"silent", 3, CALLS, NULL, NULL, NULL, "completed", RS_FLIGHT_RANK_MISSING},
    {"another call", 2, 0, "all_gather", NULL, NULL, "completed", RS_FLIGHT_TYPE_MISMATCH},
    {"another size", 1, 0, NULL, "[[5]]", NULL, "completed", RS_FLIGHT_SIZE_MISMATCH},
    {"another type", 1, 0, NULL, NULL, "Half", "completed", RS_FLIGHT_DTYPE_MISMATCH},
};

static void add_entry(text *t, const writing *w, const fault *f, unsigned rank, unsigned k, bool any)
{
    bool own = rank == f->rank && k == 20, hang = f->missing_from && k >= f->missing_from;
    const char *quote = w->as_text ? "\"" : "", *op = own && f->op ? f->op : "all_reduce";
    const char *in = own && f->in ? f->in : "[[4]]", *dtype = own && f->dtype ? f->dtype : "Float";
    text_printf(
        t,
        "%s{\"record_id\":%u,\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],\"profiling_name\":\"nccl:%s\","
        "\"collective_seq_id\":%s%lld%s,\"p2p_seq_id\":%s0%s,\"op_id\":%u,\"time_created_ns\":%u,\"state\":\"%s\"",
        any ? "," : "", k, op, quote, (long long)(k * w->stride), quote, quote, quote, k, 1000 * k + rank,
        hang ? "started" : "completed");
    if (!w->no_sizes)
        text_printf(t, ",\"input_sizes\":%s,\"output_sizes\":%s", in, own && f->op ? "[[16]]" : in);
    if (!w->no_dtypes) text_printf(t, ",\"input_dtypes\":[\"%s\"],\"output_dtypes\":[\"%s\"]", dtype, dtype);
    if (!w->no_p2p) text_puts(t, ",\"is_p2p\":false");
    text_puts(t, "}");
}

static text dump_of(const writing *w, const fault *f, unsigned rank)
{
    text t = {0};
    unsigned order[CALLS], n = 0;
    rng r = {rank + 1};
    for (unsigned k = 1; k <= CALLS; k++)
        if (!(f->missing_from && rank == f->rank && k >= f->missing_from)) order[n++] = k;
    for (unsigned i = 0; i + 1 < n && w->shuffled; i++) {
        unsigned j = i + (unsigned)rng_below(&r, n - i), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    text_printf(
        &t,
        "{\"version\":\"%s\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0, 1, 2, 3]\"}},\"entries\":[",
        w->other_version && rank == 2 ? "2.4" : "2.10");
    for (unsigned i = 0; i < n; i++) add_entry(&t, w, f, rank, order[w->backwards ? n - 1 - i : i], i > 0);
    text_puts(&t, "]}");
    return t;
}

TEST(test_same)
{
    for (size_t k = 0; k < COUNT(faults); k++)
        for (size_t i = 0; i < COUNT(writings); i++) {
            const writing *w = &writings[i];
            const fault *f = &faults[k];
            /* what is not written cannot differ */
            if ((f->dtype && w->no_dtypes) || (f->in && w->no_sizes)) continue;
            text texts[RANKS];
            rs_flight_bytes dumps[RANKS];
            rs_flight *flight;
            rs_error err = RS_ERROR_INIT;
            const rs_flight_report *r;
            collected json = {0};
            rs_sink sink = {collect, &json};
            for (unsigned rank = 0; rank < RANKS; rank++) {
                texts[rank] = dump_of(w, f, rank);
                dumps[w->dumps_reversed ? RANKS - 1 - rank : rank] =
                    (rs_flight_bytes){texts[rank].s, texts[rank].n, rank, "dump"};
            }
            assert_int_equal(rs_flight_open_bytes(dumps, RANKS, NULL, &flight, &err), RS_OK);
            assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
            if (r->root.verdict != f->verdict)
                fail_msg("%s, %s: %s, %s", f->what, w->what, rs_flight_verdict_name(r->root.verdict),
                         r->root.summary);
            if (f->verdict != RS_FLIGHT_HEALTHY) {
                assert_int_equal(r->root.n_culprits, 1);
                assert_int_equal(r->root.culprits[0], f->rank);
                if (r->root.seq != (f->missing_from ? f->missing_from : 20) * w->stride)
                    fail_msg("%s, %s: seq %lld", f->what, w->what, (long long)r->root.seq);
            }
            assert_int_equal(r->n_entries,
                             RANKS * CALLS - (f->missing_from ? CALLS + 1 - f->missing_from : 0));
            assert_int_equal(rs_flight_write_json(flight, &sink, &err), RS_OK);
            rs_table *table = rs_flight_side_by_side(flight, NULL, NULL, &err);
            assert_int_equal(rs_table_n_rows(table), CALLS);
            rs_table_free(table);
            collected_clear(&json);
            rs_flight_close(flight);
            for (unsigned rank = 0; rank < RANKS; rank++) text_clear(&texts[rank]);
        }
}
