/* What `capture` leaves next to the profiler's output: what ran where, on what, and when by which clock. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "cli/capture.h"

/* Empty is null. */
static void put_text(rs_json_put *j, const char *name, const char *value)
{
    rs_json_put_text(j, name, value && *value ? value : NULL);
}

/* The pairs of clocks let traces of several machines be laid over each other. */
static void put_clocks(rs_json_put *j, const char *name, const rs_capture_clocks *c)
{
    rs_json_put_open(j, name, '{', RS_JSON_LINE);
    rs_json_put_int(j, "realtime_ns", c->realtime_ns);
    rs_json_put_known(j, "boottime_ns", c->boottime_ns, c->boottime_ns != 0); /* what rocprofv3 counts by */
    rs_json_put_int(j, "monotonic_ns", c->monotonic_ns);
    rs_json_put_close(j);
}

static void put_words(rs_json_put *j, const char *name, char *const *items, const char *mask)
{
    rs_json_put_open(j, name, '[', RS_JSON_LINE);
    for (size_t i = 0; items[i]; i++) {
        rs_json_put_name(j, NULL);
        rs_capture_put_word(j->writer, i ? items[i - 1] : NULL, items[i], mask);
    }
    rs_json_put_close(j);
}

static void put_environment(rs_json_put *j)
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
    rs_json_put_open(j, "environment", '{', RS_JSON_LINES);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i])) rs_json_put_text(j, variables[i], getenv(variables[i]));
    rs_json_put_close(j);
}

static void put_machine(rs_json_put *j, const rs_capture_machine *m)
{
    put_text(j, "profiler_version", m->version);
    if (!m->version[0]) put_text(j, "profiler_version_reason", m->no_version);
    put_text(j, "profiler_path", m->path);
    rs_json_put_name(j, "devices");
    rs_writer_text(j->writer, m->devices ? m->devices : "null");
    if (m->devices)
        put_text(j, "devices_from", m->source);
    else
        put_text(j, "devices_reason", m->reason);
}

static void put_manifest(rs_writer *w, const rs_capture_run *run)
{
    struct utsname system;
    bool known = uname(&system) == 0;
    rs_json_put j;
    rs_json_put_init(&j, w);
    rs_json_put_open(&j, NULL, '{', RS_JSON_LINES);
    put_text(&j, "rankscope", rs_version());
    put_text(&j, "profiler", run->profiler);
    put_machine(&j, &run->machine);
    put_words(&j, "command", run->target, run->mask);
    put_words(&j, "profiled_command", run->profiled, run->mask);
    put_text(&j, "host", known ? system.nodename : NULL);
    put_text(&j, "kernel", known ? system.release : NULL);
    put_text(&j, "rank", run->rank);
    rs_json_put_int(&j, "pid", run->pid);
    put_clocks(&j, "start", &run->start);
    if (run->exit_code >= 0) put_clocks(&j, "end", &run->end);
    put_environment(&j);
    rs_json_put_known(&j, "exit_code", run->exit_code, run->exit_code >= 0);
    rs_json_put_close(&j);
    rs_writer_char(w, '\n');
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
