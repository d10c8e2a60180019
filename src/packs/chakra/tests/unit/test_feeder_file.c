/* The public feeder (rankscope/feeder.h) over files in both forms, the groups of a trace, and what the peers of a
 * converted trace are; hostile input and each allocation failing in turn. */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "chakra/convert_internal.h"
#include "rankscope/feeder.h"
#include "sink.h"
#include "support.h" /* last: its `text` is an argument elsewhere */

static char path[64];

static const char *put_file(const void *bytes, size_t n)
{
    snprintf(path, sizeof path, "/tmp/rankscope-feeder-%ld", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* 1 -> 2 -> 4, 1 -> 3 -> 4; 5 waits for what is not there; 6 and 7 for each other; 4 names 2 twice. */
static const char graph[] =
    "{\"soc\": \"x\", \"workload_graph\": [\n"
    "{\"Id\": 4, \"Name\": \"four\", \"NodeType\": 7, \"data_deps\": [3, 2, 2], \"ctrlDeps\": [1], \"runtime\": 9, "
    "\"is_cpu_op\": false, \"comm_type\": 2, \"comm_size\": 1024, \"comm_src\": -1, \"pg_name\": \"a\\u00e9\", "
    "\"ratio\": 0.5, \"big\": 9223372036854775807, \"list\": [1, {\"a\": 2}]},\n"
    "{\"Id\": 1, \"Name\": \"one\", \"NodeType\": 4, \"data_deps\": [], \"runtime\": 3, \"is_cpu_op\": true},\n"
    "{\"Id\": 2, \"data_deps\": [1]}, {\"Id\": 3, \"data_deps\": [1]}, {\"Id\": 5, \"data_deps\": [99]},\n"
    "{\"Id\": 6, \"data_deps\": [7]}, {\"Id\": 7, \"data_deps\": [6]}], \"ngpus\": 2}\n";

static uint64_t next_id(rs_et_feeder *f)
{
    const rs_et_node *n = rs_et_feeder_next(f);
    return n ? rs_et_node_id(n) : 0;
}

TEST(test_order)
{
    rs_error err = RS_ERROR_INIT;
    rs_et_feeder *f;
    size_t n;
    assert_int_equal(rs_et_feeder_open(put_file(graph, sizeof graph - 1), &f, &err), RS_OK);
    assert_int_equal(rs_et_feeder_size(f), 7);
    assert_int_equal(rs_et_feeder_dangling(f), 1);
    assert_int_equal(next_id(f), 1);
    assert_int_equal(next_id(f), 5);
    assert_int_equal(next_id(f), 0);
    assert_false(rs_et_feeder_has_next(f));
    rs_et_feeder_push_back(f, 1);
    rs_et_feeder_push_back(f, 2); /* was not handed out */
    rs_et_feeder_push_back(f, 98);
    assert_int_equal(rs_et_feeder_left(f), 6);
    assert_int_equal(next_id(f), 1);
    assert_int_equal(next_id(f), 0);
    rs_et_feeder_complete(f, 1);
    rs_et_feeder_complete(f, 1); /* once is enough */
    rs_et_feeder_complete(f, 98);
    rs_et_feeder_push_back(f, 1); /* is over */
    const uint64_t *children = rs_et_node_children(rs_et_feeder_find(f, 1), &n);
    assert_int_equal(n, 2);
    assert_int_equal(children[0], 2);
    assert_int_equal(children[1], 3);
    assert_int_equal(next_id(f), 2);
    rs_et_feeder_offer(f, 7); /* not ready, but in its turn */
    rs_et_feeder_offer(f, 2); /* was handed out */
    assert_int_equal(next_id(f), 3);
    assert_int_equal(next_id(f), 7);
    rs_et_feeder_complete(f, 3);
    assert_int_equal(next_id(f), 0);
    rs_et_feeder_complete(f, 2);
    assert_true(rs_et_feeder_has_next(f));
    rs_et_feeder_remove(f, 4);
    rs_et_feeder_remove(f, 4);
    assert_false(rs_et_feeder_has_next(f));
    assert_null(rs_et_feeder_find(f, 4));
    assert_int_equal(rs_et_feeder_removed(f), 1);
    rs_et_feeder_complete(f, 7);
    assert_int_equal(next_id(f), 6);
    assert_int_equal(rs_et_feeder_left(f), 0);
    rs_et_feeder_close(f);
    rs_et_feeder_close(NULL);
}

TEST(test_values)
{
    rs_error err = RS_ERROR_INIT;
    rs_et_feeder *f;
    assert_int_equal(rs_et_feeder_open(put_file(graph, sizeof graph - 1), &f, &err), RS_OK);
    const rs_et_node *n = rs_et_feeder_find(f, 4);
    assert_string_equal(rs_et_node_name(n), "four");
    assert_int_equal(rs_et_node_type(n), 7);
    assert_int_equal(rs_et_node_runtime(n), 9);
    assert_false(rs_et_node_is_cpu_op(n));
    assert_int_equal(rs_et_node_int(n, "comm_src", 7), -1);
    assert_int_equal(rs_et_node_int(n, "big", 7), INT64_MAX);
    assert_int_equal(rs_et_node_int(n, "ratio", 7), 7);
    assert_int_equal(rs_et_node_int(n, "pg_name", 7), 7);
    assert_true(rs_et_node_double(n, "ratio", 7) == 0.5);
    assert_true(rs_et_node_double(n, "comm_size", 7) == 1024);
    assert_true(rs_et_node_double(n, "pg_name", 7) == 7);
    assert_string_equal(rs_et_node_text(n, "pg_name", ""), "a\xc3\xa9");
    assert_string_equal(rs_et_node_text(n, "comm_size", "none"), "none");
    assert_false(rs_et_node_has(n, "list"));
    assert_true(rs_et_node_has(n, "comm_type"));
    assert_string_equal(rs_et_node_inputs(n, "values"), "");
    assert_string_equal(rs_et_node_outputs(n, "no such part"), "");
    assert_true(rs_et_node_is_cpu_op(rs_et_feeder_find(f, 1)));
    assert_false(rs_et_node_is_cpu_op(rs_et_feeder_find(f, 2)));
    rs_et_feeder_close(f);
}

static rs_status open_text(const char *bytes, rs_error *err)
{
    rs_et_feeder *f = (rs_et_feeder *)1;
    rs_status status = rs_et_feeder_open(put_file(bytes, strlen(bytes)), &f, err);
    if (status != RS_OK) assert_null(f);
    rs_et_feeder_close(f);
    return status;
}

TEST(test_damage)
{
    rs_error err = RS_ERROR_INIT;
    static const char *const bad[] = {
        "{\"workload_graph\": [{\"Id\": 1}, {\"Id\": 1}]}",
        "{\"workload_graph\": [{\"Id\": -1}]}",
        "{\"workload_graph\": [{\"Id\": \"1\"}]}",
        "{\"workload_graph\": [{\"Id\": 1, \"data_deps\": 3}]}",
        "{\"workload_graph\": [{\"Id\": 1, \"data_deps\": [\"3\"]}]}",
        "{\"workload_graph\": [{\"Id\": 1, \"Name\": 3}]}",
        "{\"workload_graph\": [7]}",
        "{\"workload_graph\": {}}",
        "{\"other\": []}",
        "{\"workload_graph\": [] ",
        "{\"workload_graph\": [{\"Id\": 1}], x}",
        "",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(open_text(bad[i], &err), RS_ERR_FORMAT);
    assert_int_equal(open_text("{\"workload_graph\": []}", &err), RS_OK);
    for (size_t n = 0; n + 3 < sizeof graph; n++) {
        char cut[sizeof graph];
        memcpy(cut, graph, n);
        cut[n] = '\0';
        assert_int_not_equal(open_text(cut, &err), RS_OK);
    }
    assert_int_equal(open_text("no such form", &err), RS_ERR_FORMAT);
}

TEST(test_without_memory)
{
    rs_error err = RS_ERROR_INIT;
    put_file(graph, sizeof graph - 1);
    for (uint64_t n = 1;; n++) {
        rs_et_feeder *f;
        rs_test_fail_allocation(n);
        rs_status status = rs_et_feeder_open(path, &f, &err);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            rs_et_feeder_close(f);
            break;
        }
        assert_int_equal(status, RS_ERR_NOMEM);
        assert_null(f);
        assert_true(n < 1000);
    }
    unlink(path);
}

/* ---- groups ----------------------------------------------------------------------------------------- */

#define INIT(list)                                                                                            \
    "{\"id\": 1, \"name\": \"## process_group:init ##\", \"ctrl_deps\": 1, \"inputs\": {\"values\": [\"" list \
    "\"], \"shapes\": [[]], \"types\": [\"String\"]}, \"outputs\": {}, \"attrs\": []}"

static void open_groups(const char *nodes, bool numbered, rs_linked *linked, rs_groups *groups, char *buffer,
                        size_t size)
{
    collected out = {0};
    rs_error err = RS_ERROR_INIT;
    rs_problems problems = {0};
    rs_sink sink = {collect, &out};
    uint64_t written;
    snprintf(buffer, size, "{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [%s]}", nodes);
    assert_int_equal(rs_linked_open_bytes(buffer, strlen(buffer), "linked", linked, &err), RS_OK);
    assert_int_equal(rs_groups_read(linked, numbered, groups, &problems, &err), RS_OK);
    assert_int_equal(rs_groups_write(groups, &sink, &written, &err), RS_OK);
    assert_true(out.n < size);
    memcpy(buffer, out.text, out.n);
    buffer[out.n] = '\0';
    collected_clear(&out);
    rs_problems_clear(&problems);
}

TEST(test_groups)
{
    static char written[4096];
    static const char nodes[] =
        INIT("[{\\\"pg_name\\\": \\\"0\\\", \\\"ranks\\\": [], \\\"group_size\\\": 4}, "
             "{\\\"pg_name\\\": \\\"tp\\\", \\\"ranks\\\": [3, 2]}, "
             "{\\\"pg_name\\\": \\\"dp\\\", \\\"ranks\\\": [0, 2]}, "
             "{\\\"pg_name\\\": \\\"1\\\", \\\"ranks\\\": [1, 3]}, "
             "{\\\"pg_name\\\": \\\"all\\\", \\\"group_size\\\": 3}]");
    rs_linked linked;
    rs_groups groups;
    open_groups(nodes, false, &linked, &groups, written, sizeof written);
    assert_string_equal(
        written, "{\n  \"tp\": [3, 2],\n  \"dp\": [0, 2],\n  \"1\": [1, 3],\n  \"all\": [0, 1, 2]\n}\n");
    assert_int_equal(rs_group_rank(rs_groups_find(&groups, "tp"), 1), 2);
    assert_int_equal(rs_group_rank(rs_groups_find(&groups, "all"), 2), 2);
    assert_int_equal(rs_group_rank(rs_groups_find(&groups, "all"), 3), -1);
    assert_true(rs_groups_find(&groups, "0")->is_default);
    assert_null(rs_groups_find(&groups, ""));
    assert_null(rs_groups_find(&groups, NULL));
    rs_groups_clear(&groups);
    rs_linked_clear(&linked);
    /* the least free numbers, by (sorted ranks, name) */
    open_groups(nodes, true, &linked, &groups, written, sizeof written);
    assert_string_equal(written,
                        "{\n  \"4\": [3, 2],\n  \"3\": [0, 2],\n  \"1\": [1, 3],\n  \"2\": [0, 1, 2]\n}\n");
    assert_int_equal(groups.renamed, 3);
    rs_groups_clear(&groups);
    rs_linked_clear(&linked);
    assert_false(rs_group_is_number("01"));
    assert_false(rs_group_is_number(""));
    assert_false(rs_group_is_number("1x"));
    assert_true(rs_group_is_number("0"));
}

TEST(test_group_texts)
{
    rs_error err = RS_ERROR_INIT;
    rs_groups groups;
    bool known;
    static const struct {
        const char *values;
        bool known;
    } cases[] = {{"['[{\"pg_name\": \"5\", \"ranks\": [1]}]']", true},
                 {"['[{\"pg_name\": \"6\", \"pg_desc\": \"it\\'s\"}]']", true},
                 {"['nothing']", false},
                 {"[]", false},
                 {"", false},
                 {"['{}']", false}};
    assert_int_equal(rs_groups_init(&groups, &err), RS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rs_groups_add_input(&groups, cases[i].values, &known, &err), RS_OK);
        assert_int_equal(known, cases[i].known);
    }
    assert_int_equal(groups.n, 2);
    static const char file[] = "{\"5\": [4, 5], \"7\": [1]}";
    assert_int_equal(rs_groups_add_file(&groups, put_file(file, sizeof file - 1), 0, &err), RS_OK);
    assert_int_equal(rs_group_rank(rs_groups_find(&groups, "5"), 0), 4);
    assert_int_equal(rs_groups_add_file(&groups, put_file("[1]", 3), 0, &err), RS_ERR_FORMAT);
    unlink(path);
    rs_groups_clear(&groups);
}
