/* A Chakra execution trace as GraphML. */
#include <string.h>

#include "chakra/proto.h"
#include "input/json.h"
#include "rankscope/chakra_trace.h"

static const char head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
    "  <key id=\"label\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>\n"
    "  <key id=\"type\" for=\"node\" attr.name=\"type\" attr.type=\"int\"/>\n"
    "  <key id=\"duration\" for=\"node\" attr.name=\"duration_micros\" attr.type=\"long\"/>\n"
    "  <key id=\"dependency\" for=\"edge\" attr.name=\"dependency\" attr.type=\"string\"/>\n"
    "  <graph edgedefault=\"directed\">\n";

/* XML has no way to write most control characters, nor U+FFFE and U+FFFF. */
static void put_escaped(rs_writer *w, const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool outside = c == 0xef && (unsigned char)text[1] == 0xbf && (unsigned char)text[2] >= 0xbe;
        if (c == '&' || c == '<' || c == '>') {
            rs_writer_text(w, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        } else if (outside || (c < ' ' && c != '\t' && c != '\n')) {
            rs_writer_text(w, replacement);
            text += outside ? 2 : 0;
        } else {
            rs_writer_char(w, (char)c);
        }
    }
}

/* Messages may hold what is no UTF-8. */
static bool put_name(rs_writer *w, const char *name)
{
    size_t n = strlen(name);
    if (rs_utf8_valid((const uint8_t *)name, n)) {
        put_escaped(w, name);
        return true;
    }
    RS_LOCAL char *repaired = rs_malloc(3 * n + 1);
    if (!repaired) return false;
    repaired[rs_utf8_repair((const uint8_t *)name, n, repaired)] = '\0';
    put_escaped(w, repaired);
    return true;
}

static void put_edges(rs_writer *w, const uint64_t *from, size_t n, uint64_t to, const char *kind)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i] == to) continue;
        RS_WRITE(w, "    <edge source=\"", from[i], "\" target=\"", to, "\"><data key=\"dependency\">", kind,
                 "</data></edge>\n");
    }
}

static bool put_node(rs_writer *w, const Rs__Et__Node *n)
{
    RS_WRITE(w, "    <node id=\"", n->id, "\"><data key=\"label\">");
    if (!put_name(w, n->name)) return false;
    RS_WRITE(w, "</data><data key=\"type\">", (int64_t)n->type, "</data><data key=\"duration\">",
             n->duration_micros, "</data></node>\n");
    put_edges(w, n->data_deps, n->n_data_deps, n->id, "data");
    put_edges(w, n->ctrl_deps, n->n_ctrl_deps, n->id, "control");
    return true;
}

rs_status rs_chakra_graphml(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err)
{
    rs_et_reader *reader;
    const Rs__Et__Node *n;
    rs_status status = rs_et_open(path, max_ratio, &reader, err);
    if (status != RS_OK) return status;
    rs_writer w;
    rs_writer_init(&w, sink);
    rs_writer_text(&w, head);
    while (!w.failed && (status = rs_et_next(reader, &n, err)) == RS_OK && n)
        if (!put_node(&w, n)) {
            status = rs_fail_nomem(err, "a name");
            break;
        }
    rs_writer_text(&w, "  </graph>\n</graphml>\n");
    rs_et_close(reader);
    if (status != RS_OK) return status;
    return rs_writer_finish(&w, err);
}
