/* What `capture` leaves next to the profiler's output: what ran where, on what, and when by which clock. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "cli/capture.h"

static void put_text(rs_writer *w, const char *name, const char *value)
{
    rs_writer_text(w, "  ");
    rs_writer_json_string(w, name, strlen(name));
    rs_writer_text(w, ": ");
    if (value && *value)
        rs_writer_json_string(w, value, strlen(value));
    else
        rs_writer_text(w, "null");
    rs_writer_text(w, ",\n");
}

/* The pairs of clocks let traces of several machines be laid over each other. */
static void put_clocks(rs_writer *w, const char *name, const rs_capture_clocks *c)
{
    rs_writer_text(w, "  \"");
    rs_writer_text(w, name);
    rs_writer_text(w, "\": {\"realtime_ns\": ");
    rs_writer_int(w, c->realtime_ns);
    rs_writer_text(w, ", \"boottime_ns\": "); /* what rocprofv3 counts by */
    if (c->boottime_ns)
        rs_writer_int(w, c->boottime_ns);
    else
        rs_writer_text(w, "null");
    rs_writer_text(w, ", \"monotonic_ns\": ");
    rs_writer_int(w, c->monotonic_ns);
    rs_writer_text(w, "},\n");
}

static void put_words(rs_writer *w, const char *name, char *const *items, const char *mask)
{
    rs_writer_text(w, "  \"");
    rs_writer_text(w, name);
    rs_writer_text(w, "\": [");
    for (size_t i = 0; items[i]; i++) {
        if (i) rs_writer_text(w, ", ");
        rs_capture_put_word(w, i ? items[i - 1] : NULL, items[i], mask);
    }
    rs_writer_text(w, "],\n");
}

static void put_environment(rs_writer *w)
{
    static const char *const variables[] = {"RANK",
                                            "LOCAL_RANK",
                                            "WORLD_SIZE",
                                            "LOCAL_WORLD_SIZE",
                                            "MASTER_ADDR",
                                            "SLURM_PROCID",
                                            "SLURM_JOB_ID",
                                            "HIP_VISIBLE_DEVICES",
                                            "ROCR_VISIBLE_DEVICES",
                                            "CUDA_VISIBLE_DEVICES"};
    bool first = true;
    rs_writer_text(w, "  \"environment\": {");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (!value) continue;
        rs_writer_text(w, first ? "\n    " : ",\n    ");
        first = false;
        rs_writer_json_string(w, variables[i], strlen(variables[i]));
        rs_writer_text(w, ": ");
        rs_writer_json_string(w, value, strlen(value));
    }
    rs_writer_text(w, first ? "},\n" : "\n  },\n");
}

static void put_machine(rs_writer *w, const rs_capture_machine *m)
{
    put_text(w, "profiler_version", m->version);
    if (!m->version[0]) put_text(w, "profiler_version_reason", m->no_version);
    put_text(w, "profiler_path", m->path);
    rs_writer_text(w, "  \"devices\": ");
    rs_writer_text(w, m->devices ? m->devices : "null");
    rs_writer_text(w, ",\n");
    if (m->devices)
        put_text(w, "devices_from", m->source);
    else
        put_text(w, "devices_reason", m->reason);
}

static void put_manifest(rs_writer *w, const rs_capture_run *run)
{
    struct utsname system;
    bool known = uname(&system) == 0;
    rs_writer_text(w, "{\n");
    put_text(w, "rankscope", rs_version());
    put_text(w, "profiler", run->profiler);
    put_machine(w, &run->machine);
    put_words(w, "command", run->target, run->mask);
    put_words(w, "profiled_command", run->profiled, run->mask);
    put_text(w, "host", known ? system.nodename : NULL);
    put_text(w, "kernel", known ? system.release : NULL);
    put_text(w, "rank", run->rank);
    rs_writer_text(w, "  \"pid\": ");
    rs_writer_int(w, run->pid);
    rs_writer_text(w, ",\n");
    put_clocks(w, "start", &run->start);
    if (run->exit_code >= 0) put_clocks(w, "end", &run->end);
    put_environment(w);
    rs_writer_text(w, "  \"exit_code\": ");
    if (run->exit_code < 0)
        rs_writer_text(w, "null");
    else
        rs_writer_int(w, run->exit_code);
    rs_writer_text(w, "\n}\n");
}

bool rs_capture_write_manifest(const rs_capture_run *run, const char *when)
{
    char path[4200];
    rs_error err = RS_ERROR_INIT;
    rs_output output;
    snprintf(path, sizeof path, "%s/manifest_rank%s_%s.json", run->folder, run->rank ? run->rank : "_all",
             when);
    if (rs_output_open(&output, path, &err) != RS_OK) {
        rs_complain_error("capture", &err);
        return false;
    }
    rs_sink sink = rs_output_sink(&output);
    rs_writer writer;
    rs_writer_init(&writer, &sink);
    put_manifest(&writer, run);
    if (rs_writer_finish(&writer, &err) == RS_OK && rs_output_commit(&output, &err) == RS_OK) return true;
    rs_output_failed(&output, "capture", &err);
    return false;
}
