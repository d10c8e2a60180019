/* Archives of OTF2 (Score-P, rocprofv3), which rankscope-otf2 reads with OTF2's own library (otf2/convert.c): a process of its
 * own, so that an archive which makes that library fail costs nothing else. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "base/try.h"
#include "format/export.h"

#define PROGRAM "rankscope-otf2"

static bool is_archive(const char *path)
{
    return rs_path_ends_with(path, ".otf2");
}

static const char of_many_files[] =
    "is an OTF2 archive, of several files: give the path of NAME.otf2 on this machine";

static rs_status advise(const rs_trace_input *in, rs_exported how, int fd, rs_error *err)
{
    char why[200] = "";
    ssize_t n = fd >= 0 && how == RS_EXPORT_FAILED ? pread(fd, why, sizeof why - 1, 0) : 0;
    why[n < 0 ? 0 : n] = '\0';
    why[strcspn(why, "\n")] = '\0';
    for (char *c = why; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
    if (in->bytes || in->remote)
        return rs_fail_at(err, RS_ERR_FORMAT, in->path, RS_NO_OFFSET, "%s", of_many_files);
    if (how == RS_EXPORT_ABSENT)
        return rs_fail_at(err, RS_ERR_FORMAT, in->path, RS_NO_OFFSET,
                          "is an OTF2 archive, and " PROGRAM
                          ", which reads it, is neither next to the program nor on the PATH: build rankscope "
                          "with OTF2's library (libopen-trace-format2-dev)");
    return rs_fail_at(err, RS_ERR_FORMAT, in->path, RS_NO_OFFSET,
                      "is no OTF2 archive that " PROGRAM " can read: %s",
                      *why && *why != '{' ? why : "it stopped in the middle");
}

static rs_exported run(const char *path, const char *to, const rs_load_settings *settings)
{
    char program[4096];
    rs_system_beside(PROGRAM, program, sizeof program);
    const char *const words[] = {program, path, to, NULL};
    return rs_export_run(words, settings);
}

static rs_status read_json(const rs_trace_input *in, int fd, uint64_t size, const rs_load_settings *settings,
                           rs_events **out, rs_error *err)
{
    char name[40];
    rs_source *source;
    (void)in;
    (void)size;
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    RS_TRY(rs_source_open(name, 0, &source, err));
    rs_status status = rs_format_kineto.load(source, settings, out, err);
    rs_source_close(source);
    if (status == RS_OK) (*out)->format = &rs_format_otf2;
    if (status == RS_OK) (*out)->form = rs_format_otf2.title;
    return status;
}

static const rs_exporter otf2 = {"events.json", run, read_json, advise};

static rs_status load_archive(const rs_trace_input *in, const rs_load_settings *settings, rs_events **out,
                              rs_error *err)
{
    return rs_export_load(&otf2, in, settings, out, err);
}

/* The anchor of an archive; its other files do not begin so. */
static bool sniff(const uint8_t *text, size_t n)
{
    return n >= 6 && text[0] == 3 && memcmp(text + 2, "OTF2", 4) == 0;
}

static rs_status load_nameless(rs_source *source, const rs_load_settings *settings, rs_events **out,
                               rs_error *err)
{
    (void)settings;
    *out = NULL;
    return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(source), RS_NO_OFFSET, "%s", of_many_files);
}

/* Definitions next to the anchor, which leads. */
static rs_run_name run_name(const char *path)
{
    static const char *const ends[] = {".otf2", ".def"};
    for (unsigned i = 0; i < 2; i++)
        if (rs_path_ends_with(path, ends[i]))
            return (rs_run_name){
                .format = &rs_format_otf2, .prefix = strlen(path) - strlen(ends[i]), .preference = i};
    return (rs_run_name){0};
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* NAME.def, and all of the folder NAME. */
static bool each_file(const char *path, bool (*take)(void *, const char *), void *context)
{
    char stem[4096], file[4096 + 300];
    struct dirent **entries = NULL;
    size_t n = strlen(path) - strlen(".otf2");
    if (n >= sizeof stem) return false;
    memcpy(stem, path, n);
    stem[n] = '\0';
    snprintf(file, sizeof file, "%s.def", stem);
    bool ok = take(context, file);
    int found = ok ? scandir(stem, &entries, is_shown, by_name) : 0;
    for (int i = 0; i < found; i++) {
        snprintf(file, sizeof file, "%s/%s", stem, entries[i]->d_name);
        ok = ok && take(context, file);
        free(entries[i]);
    }
    free(entries);
    return ok && found >= 0;
}

static const rs_remedy remedies[] = {
    {"GPU work",
     "Score-P: SCOREP_CUDA_ENABLE=default,kernel,memcpy or SCOREP_HIP_ENABLE=default; rocprofv3 --kernel-trace"},
    {"host operators", "compile with Score-P's instrumentation, or record Python with its bindings"},
    {"steps", "put each iteration in a user region called ProfilerStep#N (SCOREP_USER_REGION)"},
    {"rank", "record MPI (scorep --mpp=mpi): ranks are those of MPI_COMM_WORLD"},
    {NULL, NULL}};

const rs_format rs_format_otf2 = {.name = "otf2",
                                  .title = "OTF2 archive",
                                  .sniff = sniff,
                                  .load = load_nameless,
                                  .run_name = run_name,
                                  .is_report = is_archive,
                                  .load_report = load_archive,
                                  .each_file = each_file,
                                  .tells_operators = true,
                                  .remedies = remedies};
