/* What a check found, for people and as JSON. */
#include <string.h>

#include "chakra/check_internal.h"
#include "text/numbers.h"

#define SHOWN_FINDINGS 20
#define SHOWN_INVERSIONS 100

static const struct {
    const char *name, *text;
    bool other; /* the second node says something */
} faults[RS_N_FAULTS] = {
    [RS_FAULT_DUPLICATE] = {"duplicate_id", "has an id that another node has too", false},
    [RS_FAULT_DANGLING_DATA] = {"dangling_data_dep", "depends on a node that does not exist:", true},
    [RS_FAULT_DANGLING_CTRL] = {"dangling_ctrl_dep", "has a parent that does not exist:", true},
    [RS_FAULT_REPEATED] = {"repeated_dep", "names a dependency twice:", true},
    [RS_FAULT_CYCLE] = {"cycle", "dependencies form a cycle", false},
    [RS_FAULT_NO_LAUNCHER] = {"no_launcher", "is a GPU node that does not depend on what launches it", false},
    [RS_FAULT_STREAM_ORDER] = {"stream_order", "is not ordered on its stream against node", true},
    [RS_FAULT_NEVER_ISSUED] = {"never_issued", "is never issued: what it depends on is never done", false},
    [RS_FAULT_TIME] = {"time",
                       "the replay takes longer or shorter than the recording, by more than --tolerance",
                       false},
    [RS_FAULT_LOST_NODE] = {"lost_node", "of the linked trace is missing", false},
    [RS_FAULT_NEW_NODE] = {"new_node", "is not in the linked trace", false},
    [RS_FAULT_DURATION] = {"duration", "does not last as long as in the linked trace", false},
    [RS_FAULT_START] = {"start", "does not start when it does in the linked trace", false},
    [RS_FAULT_BYTES] = {"bytes", "does not send what it does in the linked trace", false},
    [RS_FAULT_PARENT] = {"parent", "has a parent (ctrl_deps) to which no data dependencies lead:", true},
    [RS_FAULT_OWN_PARENT] = {"own_parent", "names itself in ctrl_deps", false},
    [RS_FAULT_ON_CPU] = {"on_cpu", "is communication on the CPU (is_cpu_op is true)", false},
    [RS_FAULT_NO_PLACE] = {"no_place", "is communication that does not say is_cpu_op", false},
    [RS_FAULT_COLLECTIVE] =
        {"collective", "is a collective of a comm_type that the simulator does not know, or without one",
         false},
    [RS_FAULT_SIZE] = {"comm_size", "is communication without a comm_size above 0", false},
    [RS_FAULT_GROUP] = {"group",
                        "has a pg_name that is no number of a group (--comm-groups FILE gives their file)",
                        false},
    [RS_FAULT_PEER] = {"peer", "is a send or receive without comm_src, comm_dst or comm_tag", false},
    [RS_FAULT_RANK] = {"rank", "is a send or receive of another rank than the file's:", true},
    [RS_FAULT_NODE_TYPE] = {"node_type", "is of no type that the simulator knows", false},
    [RS_FAULT_METADATA] = {"metadata", "is metadata, but no list of process groups with numbers", false},
};

uint64_t rs_check_faults(const rs_check *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < RS_N_FAULTS; i++) n += c->counts[i];
    return n;
}

static void put_count(rs_writer *w, const char *label, uint64_t n)
{
    RS_WRITE(w, label, n);
}

static void put_finding(rs_writer *w, const rs_check *c, const rs_finding *f)
{
    if (f->fault == RS_FAULT_CYCLE) {
        rs_writer_text(w, c->cycle);
        return;
    }
    if (f->fault == RS_FAULT_TIME) {
        rs_writer_text(w, faults[f->fault].text);
        return;
    }
    put_count(w, "node ", f->node);
    RS_WRITE(w, " ", faults[f->fault].text);
    if (faults[f->fault].other) put_count(w, " ", f->other);
}

static void put_conservation(rs_writer *w, const rs_check *c)
{
    if (!c->linked) {
        rs_writer_text(w, "conservation   not checked (--linked FILE names the linked trace)\n");
        return;
    }
    uint64_t lost = 0;
    for (int i = RS_FAULT_LOST_NODE; i <= RS_FAULT_BYTES; i++) lost += c->counts[i];
    rs_writer_text(w, lost ? "conservation   broken: " : "conservation   kept: ");
    put_count(w, "nodes ", c->n_nodes - c->gaps);
    put_count(w, " of ", c->linked_nodes);
    RS_WRITE(w, ", time ", c->time, " of ", c->linked_time, " ns, communication ", c->bytes, " of ",
             c->linked_bytes, " bytes\n");
}

void rs_check_put_span(rs_writer *w, bool has_recorded, int64_t recorded, int64_t replayed)
{
    if (has_recorded) {
        RS_WRITE(w, "recorded ", recorded, " ns, ");
    }
    RS_WRITE(w, "replayed ", replayed, " ns");
    if (!has_recorded) return;
    RS_WRITE(w, " (", RS_FIXED(rs_check_difference(replayed, recorded), 1), " %)");
}

static void put_times(rs_writer *w, const rs_check *c)
{
    rs_writer_text(w, "time           ");
    rs_check_put_span(w, c->has_recorded, c->recorded, c->run_time);
    if (c->has_recorded && !c->as_recorded) rs_writer_text(w, "; durations are exclusive times: no fault");
    rs_writer_char(w, '\n');
}

static void put_astra(rs_writer *w, const rs_check *c)
{
    if (!c->astra) return;
    RS_WRITE(w, "astra-sim      ", c->astra_time, " ns on one CPU, one compute and one communication engine");
    if (c->unproved) put_count(w, "; parents not looked into: ", c->unproved);
    if (c->metadata_nodes) put_count(w, "; debug builds stop at metadata nodes: ", c->metadata_nodes);
    rs_writer_char(w, '\n');
}

void rs_check_put_text(const rs_check *c, rs_writer *w)
{
    put_count(w, "nodes          ", c->n_nodes);
    put_count(w, " (GPU ", c->gpu_nodes);
    put_count(w, " on streams ", c->streams);
    put_count(w, ", communication ", c->comm_nodes);
    if (c->gaps) put_count(w, ", gaps ", c->gaps);
    rs_writer_text(w, ")\n");
    put_count(w, "dependencies   ", c->n_deps);
    rs_writer_char(w, '\n');
    put_count(w, "replay         ", c->issued);
    put_count(w, " of ", c->n_nodes);
    rs_writer_text(w, " nodes issued\n");
    put_times(w, c);
    put_astra(w, c);
    put_conservation(w, c);
    put_count(w, "inversions     ", c->n_inversions);
    if (c->n_inversions) rs_writer_text(w, ", nodes that start before what they depend on:");
    for (size_t i = 0; i < c->n_inversions && i < SHOWN_INVERSIONS; i++) put_count(w, " ", c->inversions[i]);
    if (c->n_inversions > SHOWN_INVERSIONS) {
        put_count(w, " and ", c->n_inversions - SHOWN_INVERSIONS);
        rs_writer_text(w, " more (--report lists all)");
    }
    put_count(w, "\nfaults         ", rs_check_faults(c));
    rs_writer_char(w, '\n');
    for (size_t i = 0; i < c->n_findings && i < SHOWN_FINDINGS; i++) {
        rs_writer_text(w, "  ");
        put_finding(w, c, &c->findings[i]);
        rs_writer_char(w, '\n');
    }
    if (rs_check_faults(c) > SHOWN_FINDINGS) {
        put_count(w, "  and ", rs_check_faults(c) - SHOWN_FINDINGS);
        rs_writer_text(w, " more (--report lists them)\n");
    }
}

static void put_pair(rs_json_put *j, const char *name, int64_t here, int64_t linked)
{
    rs_json_put_open(j, name, '{', RS_JSON_LINE);
    rs_json_put_int(j, "trace", here);
    rs_json_put_int(j, "linked", linked);
    rs_json_put_close(j);
}

static void put_json_finding(rs_json_put *j, const rs_check *c, const rs_finding *f)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "kind", faults[f->fault].name);
    if (f->fault == RS_FAULT_CYCLE) {
        rs_json_put_text(j, "message", c->cycle);
    } else if (f->fault != RS_FAULT_TIME) {
        rs_json_put_uint(j, "node", f->node);
        if (faults[f->fault].other) rs_json_put_uint(j, "other", f->other);
    }
    rs_json_put_close(j);
}

void rs_check_put_json(const rs_check *c, rs_json_put *j)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "file", c->path);
    rs_json_put_bool(j, "ok", !rs_check_faults(c));
    rs_json_put_uint(j, "nodes", c->n_nodes);
    rs_json_put_uint(j, "gpu_nodes", c->gpu_nodes);
    rs_json_put_uint(j, "comm_nodes", c->comm_nodes);
    rs_json_put_uint(j, "gaps", c->gaps);
    rs_json_put_uint(j, "streams", c->streams);
    rs_json_put_uint(j, "dependencies", c->n_deps);
    rs_json_put_layout(j, RS_JSON_BREAKS);
    rs_json_put_open(j, "replay", '{', RS_JSON_LINE);
    rs_json_put_uint(j, "issued", c->issued);
    rs_json_put_int(j, "time_ns", c->run_time);
    rs_json_put_known(j, "recorded_ns", c->recorded, c->has_recorded);
    if (c->astra) rs_json_put_int(j, "astra_sim_ns", c->astra_time);
    rs_json_put_close(j);
    if (c->linked) {
        rs_json_put_open(j, "conservation", '{', RS_JSON_LINE);
        put_pair(j, "nodes", (int64_t)(c->n_nodes - c->gaps), (int64_t)c->linked_nodes);
        put_pair(j, "time_ns", c->time, c->linked_time);
        put_pair(j, "bytes", c->bytes, c->linked_bytes);
        rs_json_put_close(j);
    } else {
        rs_json_put_text(j, "conservation", "not checked");
    }
    rs_json_put_open(j, "faults", '{', RS_JSON_LINE);
    for (size_t i = 0; i < RS_N_FAULTS; i++) rs_json_put_uint(j, faults[i].name, c->counts[i]);
    rs_json_put_close(j);
    rs_json_put_open(j, "findings", '[', RS_JSON_LINES);
    for (size_t i = 0; i < c->n_findings; i++) put_json_finding(j, c, &c->findings[i]);
    rs_json_put_close(j);
    rs_json_put_open(j, "inversions", '[', RS_JSON_LINE);
    for (size_t i = 0; i < c->n_inversions; i++) rs_json_put_uint(j, NULL, c->inversions[i]);
    rs_json_put_close(j);
    rs_json_put_close(j);
}
