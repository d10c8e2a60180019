/* The table of commands: those with a file of their own, and one for each row of the analysis registry. */
#include <stdio.h>

#include "cli/cli.h"

static const rs_option_spec help_specs[] = {{"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"}};
const rs_command rs_command_help = {
    .name = "help",
    .group = "Setup",
    .help = "Explain a command: options, tables, examples",
    .usage = "[COMMAND]",
    .about = "Without a command, an overview of all of them.",
    .examples = "rankscope help\nrankscope help breakdown",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .run = rs_run_help,
};

const rs_command rs_command_completions = {
    .name = "completions",
    .group = "Setup",
    .help = "Print the completion script for a shell",
    .usage = "bash|zsh|fish",
    .about = "The script completes commands, options and the words that options take.",
    .examples = "rankscope completions bash > ~/.local/share/bash-completion/completions/rankscope\n"
                "rankscope completions zsh > ~/.zfunc/_rankscope\n"
                "rankscope completions fish > ~/.config/fish/completions/rankscope.fish",
    .arguments = "bash|zsh|fish",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .run = rs_run_completions,
};

const rs_command rs_command_man = {
    .name = "man",
    .group = "Setup",
    .help = "Print a manual page",
    .usage = "[COMMAND]",
    .about = "The page is in the source form of man(1), made from the same table as --help.",
    .examples = "rankscope man | man -l -\nrankscope man breakdown > rankscope-breakdown.1",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .run = rs_run_man,
};

static const char *const group_titles[] = {"Any trace",    "GPU time",
                                           "Call tree",    "Performance models",
                                           "Across ranks", "Flight recorder",
                                           "Chakra",       "Overlap metrics",
                                           "More",         "Setup"};
#define GROUP_MORE 8

static size_t n_own(void)
{
    size_t n = 0;
    while (rs_command_rows[n]) n++;
    return n;
}

static const rs_command *own_named(const char *name)
{
    for (size_t i = 0; rs_command_rows[i]; i++)
        if (strcmp(rs_command_rows[i]->name, name) == 0) return rs_command_rows[i];
    return NULL;
}

size_t rs_command_count(void)
{
    size_t n, count = n_own();
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++) count += !own_named(rs_analysis_name(rows[i]));
    return count;
}

/* A command of its own, with the options that extensions add to it. */
static void describe_own(const rs_command *command, rs_command *out)
{
    *out = *command;
    const rs_command_extension *more;
    for (size_t i = 0; (more = rs_command_extension_of(command, i)) && out->n_groups < RS_MAX_GROUPS; i++)
        out->groups[out->n_groups++] = more->options;
}

void rs_command_at(size_t index, rs_command *out)
{
    if (index < n_own()) {
        describe_own(rs_command_rows[index], out);
        return;
    }
    index -= n_own();
    size_t n;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++)
        if (!own_named(rs_analysis_name(rows[i])) && index-- == 0) {
            rs_describe_analysis(rows[i], out);
            return;
        }
}

bool rs_command_run_as(const char *name, int argc, char **argv, int *code)
{
    for (size_t i = 0; rs_command_shim_rows[i]; i++)
        if (rs_command_shim_rows[i]->run_as(name, argc, argv, code)) return true;
    return false;
}

const rs_command_extension *rs_command_extension_of(const rs_command *command, size_t index)
{
    for (size_t i = 0; rs_command_extension_rows[i]; i++)
        if (strcmp(rs_command_extension_rows[i]->command, command->name) == 0 && index-- == 0)
            return rs_command_extension_rows[i];
    return NULL;
}

rs_status rs_request_extension(const rs_request *request, const rs_command_extension **out, rs_error *err)
{
    const rs_command_extension *more;
    *out = NULL;
    for (size_t i = 0; (more = rs_command_extension_of(request->command, i)); i++) {
        if (rs_request_text(request, more->option)) {
            *out = more;
            continue;
        }
        for (size_t k = 0; k < more->options.n; k++)
            if (rs_request_is_set(request, more->options.specs[k].name))
                return rs_fail(err, RS_ERR_USAGE, "--%s goes with --%s", more->options.specs[k].name,
                               more->option);
    }
    return RS_OK;
}

bool rs_command_find(const char *name, rs_command *out)
{
    size_t n = rs_command_count();
    for (size_t i = 0; i < n; i++) {
        rs_command_at(i, out);
        if (strcmp(out->name, name) == 0) return true;
    }
    return false;
}

const char *rs_command_last_name(const rs_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

/* Whether "chakra-link" or "chakra", "link" mean the sub-command. */
static bool is_called(const rs_command *command, const rs_command *sub, const char *const *words, size_t n)
{
    size_t head = strlen(command->name);
    const char *last = rs_command_last_name(sub);
    if (strncmp(words[0], command->name, head) != 0) return false;
    if (n == 2) return !words[0][head] && strcmp(words[1], last) == 0;
    return n == 1 && words[0][head] == '-' && strcmp(words[0] + head + 1, last) == 0;
}

int rs_command_find_topic(const char *asked, const char *const *words, size_t n, rs_command *out)
{
    rs_command command;
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command_at(i, &command);
        for (size_t k = 0; k < command.n_subcommands; k++) {
            if (!is_called(&command, command.subcommands[k], words, n)) continue;
            *out = *command.subcommands[k];
            return RS_EXIT_OK;
        }
    }
    if (!rs_command_find(words[0], out)) return rs_complain_command(words[0]);
    if (n == 1) return RS_EXIT_OK;
    if (n == 2 && out->n_subcommands) return rs_complain_subcommand(out, words[1]);
    rs_complain("%s: one command at a time", asked);
    return RS_EXIT_USAGE;
}

size_t rs_command_group(const rs_command *command)
{
    rs_command home;
    if (!command->group) return GROUP_MORE;
    for (size_t i = 0; rs_command_group_title(i); i++)
        if (strcmp(rs_command_group_title(i), command->group) == 0) return i;
    return rs_command_find(command->group, &home) ? SIZE_MAX : GROUP_MORE;
}

const char *rs_command_entry(const rs_command *command, char *out, size_t size)
{
    const char *lead = " (also: ";
    size_t used = (size_t)snprintf(out, size, "%s", command->help);
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command other = {.name = NULL};
        rs_command_at(i, &other);
        if (!other.group || strcmp(other.group, command->name) != 0) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", lead, other.name);
        lead = ", ";
    }
    if (*lead == ',') snprintf(out + used, size - used, ")");
    return out;
}

const char *rs_command_group_title(size_t group)
{
    return group < sizeof group_titles / sizeof *group_titles ? group_titles[group] : NULL;
}
