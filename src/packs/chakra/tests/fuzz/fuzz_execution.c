/* The reader of PyTorch execution traces: any bytes come to an end; every node hangs from the process root;
 * nodes are spans of the text and are in the order of their ids; of a text cut shorter no more is read. */
#include <string.h>

#include "chakra/et.h"
#include "fuzz.h"

static void check_span(const rs_et *et, rs_et_span s)
{
    if (s.n) PROMISE(s.at >= et->text && s.at + s.n <= et->text + et->n_text);
}

static void check_nodes(const rs_et *et)
{
    PROMISE(et->n_nodes && et->n_order == et->n_nodes);
    PROMISE(et->n_orphans <= et->n_nodes && et->n_roots_made <= et->n_nodes);
    for (size_t i = 0; i < et->n_nodes; i++) {
        const rs_host_node *n = &et->nodes[i];
        PROMISE(n->place < et->n_order && et->order[n->place] == i && n->up < et->n_nodes);
        if (n->whole.n) { /* others were made up */
            check_span(et, n->whole);
            check_span(et, n->name);
        }
        check_span(et, n->inputs);
        check_span(et, n->outputs);
        check_span(et, n->attrs);
        size_t steps = 0;
        for (uint32_t at = (uint32_t)i; et->nodes[at].up != at; at = et->nodes[at].up)
            PROMISE(++steps <= et->n_nodes);
        /* each list is walked to an end, whatever it holds */
        rs_et_cursor c = rs_et_enter(n->attrs);
        rs_et_span value;
        while (rs_et_next_element(&c) && rs_et_take(&c, &value)) check_span(et, value);
    }
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < et->n_order; i++) {
        const rs_host_node *n = &et->nodes[et->order[i]];
        if (!n->whole.n) continue; /* made up */
        PROMISE(n->id >= before);
        before = n->id;
    }
}

static rs_status load(const uint8_t *data, size_t n, rs_et *et)
{
    rs_source *source;
    rs_problems problems = {0};
    rs_error err = RS_ERROR_INIT;
    memset(et, 0, sizeof *et);
    rs_status status = rs_source_open_bytes(data, n, "input", 0, &source, &err);
    if (status != RS_OK) return status;
    status = rs_et_load_source(source, "input", et, &problems, &err);
    rs_source_close(source);
    rs_problems_clear(&problems);
    return status;
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_et et, part;
    rs_status status = load(data, n, &et);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT || status == RS_ERR_IO);
    if (status == RS_OK) check_nodes(&et);
    bool packed = n >= 4 && ((data[0] == 0x1f && data[1] == 0x8b) || (data[0] == 0x28 && data[1] == 0xb5));
    if (!packed && n > 1 && load(data, n / 2, &part) == RS_OK) {
        check_nodes(&part);
        /* a damaged text may end where the whole one does */
        if (status == RS_OK) PROMISE(part.n_nodes - part.n_roots_made <= et.n_nodes - et.n_roots_made);
    }
    if (!packed && n > 1) rs_et_clear(&part);
    rs_et_clear(&et);
    return 0;
}
