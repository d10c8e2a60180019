#include "output/face_tools.h"

#include <string.h>

static const rs_face faces[] = {
    {.name = "annotations",
     .render = rs_face_annotations,
     .headline = rs_headline_annotations,
     .lists = true},
    {.name = "blame", .headline = rs_headline_blame, .lists = true},
    {.name = "breakdown", .headline = rs_headline_breakdown, .by = "span_us", .lists = true},
    {.name = "clocks", .headline = rs_headline_clocks, .by = "offset_us", .lists = true},
    {.name = "collectives",
     .render = rs_face_collectives,
     .headline = rs_headline_collectives,
     .keep =
         "message_bytes start_us transfer_us max_wait_us last_rank bus_gbps mean_transfer_us mean_wait_us",
     .lists = true},
    {.name = "compare",
     .render = rs_face_compare,
     .headline = rs_headline_compare,
     .keep = "input_dims time_diff_us impact_pct",
     .lists = true},
    {.name = "compile", .headline = rs_headline_compile, .by = "compile_us", .lists = true},
    {.name = "critical-path", .headline = rs_headline_path, .by = "window_us", .lists = true},
    {.name = "delays", .render = rs_face_delays, .headline = rs_headline_delays, .lists = true},
    {.name = "diagnose", .render = rs_face_diagnose},
    {.name = "diff", .render = rs_face_diff, .headline = rs_headline_diff, .lists = true},
    {.name = "doctor", .render = rs_face_doctor},
    {.name = "exchange", .headline = rs_headline_exchange, .by = "bytes", .lists = true},
    {.name = "idle", .headline = rs_headline_idle, .by = "idle_us", .lists = true},
    {.name = "info", .render = rs_face_info},
    {.name = "kernels", .headline = rs_headline_kernels},
    {.name = "launches",
     .headline = rs_headline_launches,
     .by = "delay_us",
     .keep = "delay_us delay_median_us delay_max_us delay",
     .lists = true},
    {.name = "memory", .render = rs_face_memory, .lists = true},
    {.name = "mfu", .headline = rs_headline_mfu, .by = "length_us", .lists = true},
    {.name = "modules", .headline = rs_headline_modules, .by = "own_us", .lists = true},
    {.name = "ops", .headline = rs_headline_ops, .by = "total_direct_kernel_time_us", .lists = true},
    {.name = "overlap", .headline = rs_headline_overlap, .by = "exposed_us", .lists = true},
    {.name = "queue", .headline = rs_headline_queue, .by = "launched", .lists = true},
    {.name = "regress", .headline = rs_headline_regress, .lists = true},
    {.name = "replay", .headline = rs_headline_replay, .by = "model_error_pct", .lists = true},
    {.name = "roofline",
     .headline = rs_headline_roofline,
     .by = "kernel_us",
     .keep = "input_dims kernel_us bound efficiency_pct gain_us",
     .lists = true},
    {.name = "sequences", .headline = rs_headline_sequences, .by = "gpu_us", .lists = true},
    {.name = "serving",
     .render = rs_face_serving,
     .headline = rs_headline_serving,
     .keep = "queue_us host_us launch_us compute_us exposed_comm_us low_us high_us",
     .lists = true},
    {.name = "steps",
     .render = rs_face_steps,
     .headline = rs_headline_steps,
     .keep = "vs_median_pct exposed_comm_us data_loading_us",
     .lists = true},
    {.name = "stragglers", .render = rs_face_stragglers, .by = "held_up_us", .lists = true},
    {.name = "summary", .render = rs_face_summary},
    {.name = "timeline", .headline = rs_headline_timeline},
    {.name = "tree", .render = rs_face_tree},
    {.name = "variance",
     .render = rs_face_variance,
     .headline = rs_headline_variance,
     .keep = "cv",
     .lists = true},
    {.name = "whatif", .render = rs_face_whatif},
};

const rs_face *rs_face_find(const char *name, const char *table)
{
    static const rs_face stacks = {.render = rs_face_stacks}, what_if = {.render = rs_face_what_if},
                         layout = {.headline = rs_headline_layout};
    if (strcmp(table, "folded") == 0) return &stacks;
    if (strcmp(name, "replay") == 0 && strcmp(table, "what_if") == 0) return &what_if;
    if (strcmp(name, "whatif") == 0 && strcmp(table, "layout") == 0) return &layout;
    for (size_t i = 0; i < sizeof faces / sizeof *faces; i++)
        if (strcmp(faces[i].name, name) == 0) return &faces[i];
    return NULL;
}

const char *rs_face_nests(const char *name)
{
    return strcmp(name, "tree") == 0 ? "depth" : NULL;
}
