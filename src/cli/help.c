/* Help, made from the same rows as everything else. */
#include <stdio.h>

#include "cli/cli.h"
#include "output/layout.h"

const char rs_exit_code_text[] =
    "0  done, nothing wrong was found\n"
    "1  done, and the thing looked for is there: a hang, a failed --fail-on, an unfit capture\n"
    "2  the command line is wrong\n"
    "3  no usable input, or the output could not be written\n"
    "4  done on what could be read, but part of the input was lost; 1 goes before 4";

static rs_page prose(rs_writer *writer)
{
    rs_render_settings terminal = rs_terminal_settings(RS_COLOR_AUTO);
    return (rs_page){
        .writer = writer, .width = rs_prose_width(), .color = terminal.color, .utf8 = terminal.utf8};
}

void rs_write_prose(rs_writer *writer, const char *text)
{
    rs_page page = prose(writer);
    rs_page_wrap(&page, "", text);
}

/* "-o, --output FILE" */
static void option_key(const rs_option_spec *spec, char *out, size_t size)
{
    char letter = rs_short_option(spec->name), brief[8] = "";
    const char *value = spec->type == RS_OPTION_FLAG     ? NULL
                        : spec->type == RS_OPTION_CHOICE ? spec->choices
                        : spec->metavar                  ? spec->metavar
                                                         : "VALUE";
    if (letter) snprintf(brief, sizeof brief, "-%c, ", letter);
    snprintf(out, size, "%s--%s%s%s", brief, spec->name, value ? " " : "", value ? value : "");
}

static void write_options(rs_page *layout, const rs_option_group *group)
{
    const rs_option_spec *spec;
    for (size_t i = 0; (spec = rs_group_at(group, i)); i++) {
        char key[200], help[600];
        option_key(spec, key, sizeof key);
        snprintf(help, sizeof help, "%s%s%s%s", spec->help, spec->fallback ? " (default " : "",
                 spec->fallback ? spec->fallback : "", spec->fallback ? ")" : "");
        rs_page_value(layout, key, 22, help);
    }
}

static void write_tables(rs_page *layout, const rs_analysis *analysis)
{
    size_t n;
    const rs_table_spec *const *tables = rs_analysis_tables(analysis, RS_COMPAT_NONE, &n);
    for (size_t i = 0; i < n; i++) {
        rs_writer_text(layout->writer, i ? "\n  " : "  ");
        rs_page_text(layout, tables[i]->name, strlen(tables[i]->name));
        rs_writer_text(layout->writer, ": ");
        rs_page_wrap(layout, "", tables[i]->help ? tables[i]->help : "");
        for (size_t k = 0; k < tables[i]->n_columns; k++) {
            char key[100];
            snprintf(key, sizeof key, "  %s", tables[i]->columns[k].name);
            rs_page_value(layout, key, 22, tables[i]->columns[k].help);
        }
    }
}

static void write_examples(rs_page *layout, const char *lines)
{
    for (const char *c = lines; *c;) {
        size_t n = strcspn(c, "\n");
        rs_writer_text(layout->writer, "  ");
        rs_page_text(layout, c, n);
        rs_page_blank(layout);
        c += n + (c[n] != '\0');
    }
}

static void make_command(rs_writer *writer, const void *context)
{
    const rs_command *command = context;
    rs_page layout = prose(writer);
    char line[400];
    snprintf(line, sizeof line, "rankscope %s: %s", command->name, command->help);
    rs_page_heading(&layout, line, true);
    snprintf(line, sizeof line, "\n  rankscope %s %s\n\n", command->name, command->usage);
    rs_writer_text(writer, line);
    const rs_command_extension *more;
    if (command->about) rs_page_paragraphs(&layout, 0, command->about);
    for (size_t i = 0; (more = rs_command_extension_of(command, i)); i++)
        rs_page_paragraphs(&layout, 0, more->about);
    if (command->n_subcommands) rs_page_heading(&layout, "Sub-commands", false);
    for (size_t i = 0; i < command->n_subcommands; i++)
        rs_page_value(&layout, rs_command_last_name(command->subcommands[i]), 14,
                      command->subcommands[i]->help);
    for (size_t i = 0; i < command->n_groups; i++) {
        if (!rs_group_at(&command->groups[i], 0)) continue;
        rs_page_heading(&layout, rs_group_title(&command->groups[i]), false);
        write_options(&layout, &command->groups[i]);
    }
    if (command->analysis) {
        rs_page_heading(&layout, "Tables (--schema has types and units, also of --compat)", false);
        write_tables(&layout, command->analysis);
    }
    if (command->examples) {
        rs_page_heading(&layout, "Examples", false);
        write_examples(&layout, command->examples);
        for (size_t i = 0; (more = rs_command_extension_of(command, i)); i++)
            write_examples(&layout, more->examples);
    }
}

static void write_group(rs_page *layout, size_t group)
{
    bool any = false;
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command command;
        rs_command_at(i, &command);
        if (rs_command_group(&command) != group) continue;
        if (!any) rs_page_heading(layout, rs_command_group_title(group), false);
        any = true;
        char entry[400];
        rs_page_value(layout, command.name, 14, rs_command_entry(&command, entry, sizeof entry));
        for (size_t k = 0; k < command.n_subcommands; k++) {
            char key[60];
            snprintf(key, sizeof key, "  %s", rs_command_last_name(command.subcommands[k]));
            rs_page_value(layout, key, 14, command.subcommands[k]->help);
        }
    }
}

static const struct {
    const char *symptom, *command;
} symptoms[] = {
    {"It is slow", "rankscope TRACES/"},
    {"It hangs, or it crashed", "rankscope DUMPS/            flight-recorder dumps, logs, or both"},
    {"It ran out of memory", "rankscope SNAPSHOTS/        of torch.cuda.memory, one a rank"},
    {"It was faster before", "rankscope OLD/ NEW/         whether: rankscope regress OLD/ NEW/"},
    {"Would a change help?", "rankscope replay --what-if 'scale class=communication=0.5' TRACES/"},
    {"Can I trust this trace?", "rankscope doctor TRACES/"},
    {"Nothing at hand?", "rankscope demo              a small job with a fault, and the answer"},
};

static void put_symptoms(rs_page *layout)
{
    rs_page_heading(layout, "rankscope: why a multi-GPU job is slow, stuck or different", true);
    rs_writer_text(layout->writer,
                   "\n"
                   "  rankscope PATH...             what is wrong there, and what to do, in ten lines\n"
                   "  rankscope COMMAND [options] PATH...\n\n");
    for (size_t i = 0; i < sizeof symptoms / sizeof *symptoms; i++) {
        char line[200];
        snprintf(line, sizeof line, "  %-25s %s\n", symptoms[i].symptom, symptoms[i].command);
        rs_writer_text(layout->writer, line);
    }
}

void rs_write_symptoms(rs_writer *writer)
{
    rs_page layout = prose(writer);
    put_symptoms(&layout);
    rs_writer_text(writer,
                   "\n  rankscope -h                  the commands; rankscope --help explains them\n");
}

void rs_write_brief_help(rs_writer *writer)
{
    rs_page layout = prose(writer);
    put_symptoms(&layout);
    rs_page_blank(&layout);
    for (size_t g = 0; rs_command_group_title(g); g++) {
        char lead[40], names[600] = "";
        for (size_t i = 0; i < rs_command_count(); i++) {
            rs_command command;
            rs_command_at(i, &command);
            size_t used = strlen(names);
            if (rs_command_group(&command) == g)
                snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", command.name);
        }
        snprintf(lead, sizeof lead, "  %-19s", rs_command_group_title(g));
        if (*names) rs_page_wrap(&layout, lead, names);
    }
    rs_page_blank(&layout);
    rs_page_wrap(&layout, "", "`rankscope --help` explains them, `rankscope COMMAND --help` explains one.");
}

void rs_write_general_help(rs_writer *writer)
{
    rs_page layout = prose(writer);
    put_symptoms(&layout);
    rs_page_blank(&layout);
    rs_page_paragraphs(
        &layout, 0,
        "A PATH is a profiler trace (plain, gzip or zstd), a directory of traces, or - for standard "
        "input. Several are the ranks of one job; RANK=PATH says which one a file is, ROLE=PATH what its program does (rollout=DIR).");
    for (size_t g = 0; rs_command_group_title(g); g++) write_group(&layout, g);
    rs_page_heading(&layout, "Start here", false);
    rs_writer_text(writer, "  rankscope summary traces/                   one screen: where the time goes\n"
                           "  rankscope doctor traces/                    is the capture fit to be analysed\n"
                           "  rankscope breakdown --ranks 0-7 traces/     some of the ranks\n"
                           "  rankscope kernels --format csv -o k.csv r0.json.gz r1.json.gz\n"
                           "  zcat r0.json.gz | rankscope info -\n");
    rs_page_heading(&layout, "Exit codes", false);
    for (const char *c = rs_exit_code_text; *c;) {
        char text[200];
        size_t n = strcspn(c, "\n");
        snprintf(text, sizeof text, "%.*s", (int)(n - 3), c + 3);
        char lead[8] = {' ', ' ', c[0], ' ', ' ', '\0'};
        rs_page_wrap(&layout, lead, text);
        c += n + (c[n] != '\0');
    }
    rs_page_blank(&layout);
    rs_page_paragraphs(&layout, 0, "`rankscope COMMAND --help` explains a command, `--schema` its columns.");
}

static void make_general(rs_writer *writer, const void *context)
{
    (void)context;
    rs_write_general_help(writer);
}

int rs_print_help(const rs_command *command)
{
    return rs_print(command->name, make_command, command);
}

static rs_status render_facets(void *context, const rs_sink *sink, rs_error *err)
{
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("text")};
    return rs_render_table(context, &settings, sink, err);
}

/* For who writes an analysis: what there is to look at. */
static int print_facets(void)
{
    rs_error err = RS_ERROR_INIT;
    rs_table *facets = rs_facet_table();
    rs_status status = facets ? rs_output_put(NULL, false, "help", render_facets, facets, &err)
                              : rs_fail_nomem(&err, "facets");
    rs_table_free(facets);
    return status == RS_OK ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}

int rs_run_help(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    rs_command topic;
    int code;
    if (!rs_command_start(command, argc, argv, &arguments, &code)) return code;
    if (arguments.n_paths == 0) {
        code = rs_print("help", make_general, NULL);
    } else if (arguments.n_paths == 1 && strcmp(arguments.paths[0], "facets") == 0) {
        code = print_facets();
    } else {
        code = rs_command_find_topic("help", arguments.paths, arguments.n_paths, &topic);
        if (code == RS_EXIT_OK) code = rs_print("help", make_command, &topic);
    }
    rs_arguments_clear(&arguments);
    return code;
}
