/* rankscope slice -o FILE PATH...: a part of a job; and share: the same without names. The report goes to standard
 * output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/slice.h"

static bool is_share(const rs_request *r)
{
    return strcmp(r->command->name, "share") == 0;
}

static rs_status choose(rs_request *r, rs_error *err)
{
    (void)err;
    r->tables = rs_slice_tables;
    r->n_tables = is_share(r) ? RS_N_SHARE_TABLES : RS_N_SLICE_TABLES;
    return RS_OK;
}

static rs_slice_settings settings_of(const rs_request *r)
{
    rs_slice_settings settings = {.size = sizeof settings};
    const rs_options *share = is_share(r) ? r->arguments.options[0] : NULL;
    rs_slice_settings_take(r->arguments.options[is_share(r)], share, rs_request_text(r, "output"), &settings);
    return settings;
}

static rs_status check(rs_request *r, rs_error *err)
{
    if (r->arguments.n_paths == 0 || !rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "%s? rankscope %s -o FILE PATH...",
                       r->arguments.n_paths ? "into which file" : "which traces", r->command->name);
    rs_slice_settings settings = settings_of(r);
    return rs_slice_check(&settings, err);
}

typedef struct slicing {
    rs_slicing *slice;
    const char *command;
    size_t rank; /* index, or RS_SLICE_ALL */
    rs_result *result;
} slicing;

static rs_status write_trace(void *context, const rs_sink *sink, rs_error *err)
{
    slicing *s = context;
    return rs_slice_write(s->slice, s->rank, sink, s->result, err);
}

static rs_status write_map(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_slice_map(context, sink, err);
}

/* rank_N.json.gz for each rank. */
static rs_status write_each(slicing *s, const char *directory, rs_error *err)
{
    size_t n = strlen(directory), size = n + 60;
    bool slash = n && directory[n - 1] == '/';
    if (!rs_path_is_folder(directory) && mkdir(directory, 0777) != 0)
        return rs_fail(err, RS_ERR_IO, "cannot make the directory %s: %s", directory, strerror(errno));
    RS_LOCAL char *path = rs_malloc(size);
    if (!path) return rs_fail_nomem(err, "names");
    for (s->rank = 0; s->rank < rs_slice_n_ranks(s->slice); s->rank++) {
        snprintf(path, size, "%s%srank_%lld.json.gz", directory, slash ? "" : "/",
                 (long long)rs_slice_rank(s->slice, s->rank));
        RS_TRY(rs_output_put(path, true, s->command, write_trace, s, err));
    }
    return RS_OK;
}

static rs_status slice(rs_request *r, rs_result *result, rs_error *err)
{
    rs_slice_settings settings = settings_of(r);
    const char *output = rs_request_text(r, "output");
    slicing s = {.command = r->command->name, .rank = RS_SLICE_ALL, .result = result};
    rs_job *job = NULL;
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &job, err));
    rs_status status = rs_slice_open(job, &settings, &s.slice, result, err);
    bool each = rs_path_is_folder(output) || (output[0] && output[strlen(output) - 1] == '/');
    if (status == RS_OK)
        status =
            each ? write_each(&s, output, err) : rs_output_put(output, true, s.command, write_trace, &s, err);
    if (status == RS_OK) status = rs_slice_removed(s.slice, result, err);
    const char *map = rs_request_text(r, "map");
    if (status == RS_OK && map) status = rs_output_put(map, false, s.command, write_map, s.slice, err);
    rs_slice_close(s.slice);
    rs_request_close(r, job);
    return status;
}

/* Beside the trace there is room for the report only when that has a file of its own. */
static int deliver(rs_request *r, const rs_result *result)
{
    bool to_stdout = strcmp(rs_request_text(r, "output"), "-") == 0;
    return to_stdout || r->quiet ? RS_EXIT_OK : rs_request_deliver(r, result);
}

const rs_command rs_command_slice = {
    .name = "slice",
    .group = "Any trace",
    .help = "A part of a job as a trace of its own: by step, time, rank, stream, thread, name, call tree",
    .usage = "-o FILE [options] PATH...",
    .about =
        "Writes the events that are asked for, with what they need to be understood: the calls that launched "
        "GPU work, the events that enclose them on their thread, the annotations of their steps, the arrows "
        "between events that are there, the records about processes and threads, and what the file says of "
        "itself. --ranks, --steps and --window (milliseconds) select as in every command, and of a window the "
        "slice also holds what else goes on in it: GPU work that was launched before, events of the host that "
        "began before. The options here pick among that, and all of them must hold.\n\n"
        "One rank keeps every byte of its events; several ranks become one trace, as `fuse` makes it, or one "
        "file each when FILE is a directory (out/). Packed by FILE's name: .json, .json.gz or .json.zst; "
        ".pftrace (or .pftrace.gz) is Perfetto's own form, in which events of a stream that overlap keep lanes "
        "of their own, and which can be written of every format. The inputs are read twice and never held "
        "whole.\n\n"
        "With --steps or --window, enclosing events that begin earlier or end later are cut to the time of "
        "what is selected, and say under args.uncut what times they had; so `summary`, `breakdown` and the "
        "like of the slice are those of the whole with the same --steps. --enclosing whole leaves them as "
        "they are, --enclosing none leaves them out.\n\n" RS_WHERE_HELP,
    .examples = "rankscope slice -o step3.json.gz --steps 3 traces/rank0.json.gz\n"
                "rankscope slice -o part.json.gz --window 120-180 --ranks 0-3 traces/\n"
                "rankscope slice -o forward.json --under 'nn.Module: Encoder_0' trace.json\n"
                "rankscope slice -o out/ --steps 3 --without python_function traces/\n"
                "rankscope slice -o slow.json --where 'cat=kernel and dur>500 and not name~nccl' trace.json",
    .groups = {{.title = "Options", .list = rs_slice_options},
               {.base = &rs_input_options},
               {.base = &rs_output_options}},
    .n_groups = 3,
    .choose = choose,
    .check = check,
    .body = slice,
    .deliver = deliver,
    .writes_itself = true,
};

const rs_command rs_command_share = {
    .name = "share",
    .group = "Any trace",
    .help = "A trace, or a part of it, without names of people, hosts, paths and scripts",
    .usage = "-o FILE [options] PATH...",
    .about =
        "Writes a trace that can be shown to others: what `slice` with the same options writes, without what is "
        "private. Nothing passes that is not known. Names of PyTorch, its libraries and the vendors' stay; other "
        "names of operators, kernels, annotations, modules, functions, files, processes, threads, hosts and "
        "groups are replaced, the same name by the same one everywhere: kernel_3. Of arguments and of what "
        "files say of themselves the numbers, shapes and types that analyses need stay; the rest is left out, "
        "with call stacks, values of inputs and log lines.\n\n"
        "The table `removed` says what was replaced and left out and how often. --map writes what replaces "
        "what: keep it, and answers about kernel_3 can be understood. Times, sizes and numbers stay as they are, "
        "so `summary`, `breakdown`, `critical-path` and the like of both traces agree. Look at the result "
        "before you show it: names of public libraries may say what you work on.",
    .examples = "rankscope share -o public.json.gz --map mine.csv traces/rank0.json.gz\n"
                "rankscope share -o public.json.gz --steps 3 --ranks 0-3 traces/\n"
                "rankscope share -o public/ --keep-names --without python_function traces/",
    .groups = {{.title = "What is private", .list = rs_share_options},
               {.title = "Options", .list = rs_slice_options},
               {.base = &rs_input_options},
               {.base = &rs_output_options}},
    .n_groups = 4,
    .choose = choose,
    .check = check,
    .body = slice,
    .deliver = deliver,
    .writes_itself = true,
};
