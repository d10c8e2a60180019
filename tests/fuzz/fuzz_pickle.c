/* The pickle reader: any bytes are read to an end within the limits; what is read lies inside the input; a
 * cut of a good pickle is noticed as one; nodes refer to nodes that exist. */

#include "fuzz.h"
#include "input/pickle.h"

static void check_tree(const rs_values *v, uint32_t root, const uint8_t *data, size_t n)
{
    if (root == RS_NO_NODE) return;
    PROMISE(root < v->n_nodes);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const rs_value *node = &v->nodes[i];
        if (node->type == RS_VALUE_TEXT && v->texts.total == 0 && node->n)
            PROMISE((const uint8_t *)node->as.text >= data &&
                    (const uint8_t *)node->as.text + node->n <= data + n);
        rs_value_walk walk = rs_value_children(v, i);
        uint32_t child = 0, count = 0;
        while (rs_value_next(&walk, &child)) {
            PROMISE(child < v->n_nodes);
            count++;
        }
        if (node->type >= RS_VALUE_LIST) PROMISE(count == node->n);
        if (node->type == RS_VALUE_MAP) PROMISE(count % 2 == 0);
    }
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err = RS_ERROR_INIT;
    rs_value_limits limits = {.max_nodes = 100000, .max_bytes = (uint64_t)16 << 20};
    rs_status status = rs_pickle_read(&v, data, n, "input", &limits, &info, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
    PROMISE(info.consumed <= n);
    PROMISE(v.n_nodes <= limits.max_nodes);
    if (status == RS_OK)
        PROMISE(info.root != RS_NO_NODE && info.consumed > 0 && data[info.consumed - 1] == '.');
    check_tree(&v, info.root, data, n);
    if (status == RS_OK) {
        size_t cut = info.consumed / 2;
        status = rs_pickle_read(&v, data, cut, "input", &limits, &info, &err);
        PROMISE(status == RS_ERR_FORMAT && info.truncated);
        check_tree(&v, info.root, data, cut);
    }
    rs_values_clear(&v);
    return 0;
}
