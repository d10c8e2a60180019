/* A Chakra execution trace as a Graphviz graph. */

#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"

/* A DOT string: quotes and backslashes are escaped, control characters become blanks. */
static void put_label(rs_writer *w, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') rs_writer_char(w, '\\');
        rs_writer_char(w, c < ' ' || c == 127 ? ' ' : (char)c);
    }
}

static void put_edges(rs_writer *w, const uint64_t *from, size_t n, uint64_t to, const char *style)
{
    for (size_t i = 0; i < n; i++) {
        RS_WRITE(w, "  n", from[i], " -> n", to, style);
    }
}

rs_status rs_chakra_visualize(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err)
{
    rs_et_reader *reader;
    const Rs__Et__Node *n;
    rs_status status = rs_et_open(path, max_ratio, &reader, err);
    if (status != RS_OK) return status;
    rs_writer w;
    rs_writer_init(&w, sink);
    rs_writer_text(&w, "digraph execution_trace {\n  node [shape=box];\n");
    while (!w.failed && (status = rs_et_next(reader, &n, err)) == RS_OK && n) {
        int64_t cpu = 1;
        bool gpu = rs_et_attribute_int(n, "is_cpu_op", &cpu) && !cpu;
        bool comm = n->type >= RS__ET__NODE_TYPE__COMM_SEND_NODE;
        RS_WRITE(&w, "  n", n->id, " [label=\"", n->id, " ");
        put_label(&w, n->name);
        rs_writer_text(&w, comm  ? "\", style=filled, fillcolor=lightsalmon];\n"
                           : gpu ? "\", style=filled, fillcolor=lightblue];\n"
                                 : "\"];\n");
        put_edges(&w, n->data_deps, n->n_data_deps, n->id, ";\n");
        put_edges(&w, n->ctrl_deps, n->n_ctrl_deps, n->id, " [arrowhead=tee, style=dashed];\n");
    }
    rs_writer_text(&w, "}\n");
    rs_et_close(reader);
    if (status != RS_OK) return status;
    return rs_writer_finish(&w, err);
}
