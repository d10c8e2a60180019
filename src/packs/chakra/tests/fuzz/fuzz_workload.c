/* Text workloads: any text is a workload or refused with its line; what is written is whole, has the nodes it
 * says, and a feeder hands out every one of them. */

#include "engine/feeder.h"
#include "chakra/proto.h"
#include "fuzz.h"
#include "rankscope/chakra_trace.h"

static void check_trace(const fuzz_bytes *b, uint64_t nodes)
{
    rs_error err = RS_ERROR_INIT;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    rs_feeder feeder = {0};
    uint64_t read = 0;
    PROMISE(rs_et_open_bytes(b->text, b->n, "output", &reader, &err) == RS_OK);
    while (rs_et_next(reader, &node, &err) == RS_OK && node) {
        PROMISE(node->id == ++read);
        for (size_t i = 0; i < node->n_data_deps; i++) PROMISE(node->data_deps[i] < node->id);
        PROMISE(rs_feeder_add(&feeder, node->id, node->data_deps, node->n_data_deps, node->ctrl_deps,
                              node->n_ctrl_deps, &err) == RS_OK);
    }
    PROMISE(read == nodes && rs_et_offset(reader) <= b->n);
    PROMISE(rs_feeder_start(&feeder, &err) == RS_OK);
    for (uint32_t at; (at = rs_feeder_next(&feeder)) != RS_FEEDER_NONE;) rs_feeder_complete(&feeder, at);
    PROMISE(rs_feeder_left(&feeder) == 0);
    rs_feeder_clear(&feeder);
    rs_et_close(reader);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_error err = RS_ERROR_INIT;
    fuzz_bytes out = {0};
    rs_sink sink = {fuzz_keep, &out};
    rs_chakra_text_settings settings = {
        .size = sizeof(rs_chakra_text_settings), .path = "input", .bytes = data, .n_bytes = n, .passes = 2};
    uint64_t nodes;
    rs_status status = rs_chakra_text(&settings, &sink, &nodes, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT);
    if (status == RS_OK)
        check_trace(&out, nodes);
    else
        PROMISE(out.n == 0);
    free(out.text);
    return 0;
}
