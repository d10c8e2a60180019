/* Completion scripts from the command table. */
#include "base/suggest.h"
#include "cli/cli.h"

typedef void (*option_fn)(rs_writer *writer, const rs_command *command, const rs_option_spec *spec);

static void each_option(rs_writer *writer, const rs_command *command, option_fn write)
{
    const rs_option_spec *spec;
    for (size_t g = 0; g < command->n_groups; g++)
        for (size_t i = 0; (spec = rs_group_at(&command->groups[g], i)); i++) write(writer, command, spec);
}

/* All commands, each before its sub-commands. */
static void each_command(rs_writer *writer, void (*write)(rs_writer *writer, const rs_command *command))
{
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command command;
        rs_command_at(i, &command);
        write(writer, &command);
        for (size_t k = 0; k < command.n_subcommands; k++) write(writer, command.subcommands[k]);
    }
}

/* "chakra link" as "chakra-link", which no shell splits. */
static void put_label(rs_writer *writer, const rs_command *command)
{
    for (const char *c = command->name; *c; c++) rs_writer_char(writer, *c == ' ' ? '-' : *c);
}

/* "a|b" as "a b" */
static void put_words(rs_writer *writer, const char *choices)
{
    for (; *choices; choices++) rs_writer_char(writer, *choices == '|' ? ' ' : *choices);
}

/* The words a command takes instead of paths: its own, or the commands' names. */
static bool put_arguments(rs_writer *writer, const rs_command *command)
{
    bool topics = command->run == rs_run_help || command->run == rs_run_man;
    if (command->arguments) put_words(writer, command->arguments);
    for (size_t i = 0; i < command->n_subcommands; i++) {
        if (i) rs_writer_char(writer, ' ');
        rs_writer_text(writer, rs_command_last_name(command->subcommands[i]));
    }
    for (size_t i = 0; topics && i < rs_command_count(); i++) {
        rs_command other;
        rs_command_at(i, &other);
        if (i) rs_writer_char(writer, ' ');
        rs_writer_text(writer, other.name);
    }
    return topics || command->arguments;
}

/* ---- bash --------------------------------------------------------------------------------------------- */

static void bash_option(rs_writer *writer, const rs_command *command, const rs_option_spec *spec)
{
    (void)command;
    RS_WRITE(writer, " --", spec->name);
}

static void bash_choice(rs_writer *writer, const rs_command *command, const rs_option_spec *spec)
{
    if (spec->type != RS_OPTION_CHOICE) return;
    rs_writer_text(writer, "    ");
    put_label(writer, command);
    RS_WRITE(writer, ":--", spec->name, ") words=\"");
    put_words(writer, spec->choices);
    rs_writer_text(writer, "\" ;;\n");
}

/* Options whose value may be anything: file names are completed. */
static void bash_value(rs_writer *writer, const rs_command *command, const rs_option_spec *spec)
{
    if (spec->type == RS_OPTION_FLAG || spec->type == RS_OPTION_CHOICE) return;
    rs_writer_text(writer, "    ");
    put_label(writer, command);
    RS_WRITE(writer, ":--", spec->name, ") return ;;\n");
}

static void bash_values(rs_writer *writer, const rs_command *command)
{
    each_option(writer, command, bash_choice);
    each_option(writer, command, bash_value);
}

static void bash_words(rs_writer *writer, const rs_command *command)
{
    rs_writer_text(writer, "    ");
    put_label(writer, command);
    rs_writer_text(writer, ":-*) words=\"");
    each_option(writer, command, bash_option);
    rs_writer_text(writer, "\" ;;\n");
    if (!command->arguments && command->run != rs_run_help && command->run != rs_run_man) return;
    rs_writer_text(writer, "    ");
    put_label(writer, command);
    rs_writer_text(writer, ":*) words=\"");
    put_arguments(writer, command);
    rs_writer_text(writer, "\" ;;\n");
}

/* Behind a command's sub-command, the two together are the command. */
static void bash_joined(rs_writer *writer, const rs_command *command)
{
    if (!command->n_subcommands) return;
    rs_writer_text(writer, "  [ \"$cmd\" = ");
    put_label(writer, command);
    rs_writer_text(writer, " ] && [ \"$COMP_CWORD\" -gt 2 ] && cmd=$cmd-${COMP_WORDS[2]}\n");
}

static void bash(rs_writer *writer, const void *context)
{
    (void)context;
    rs_writer_text(
        writer,
        "# bash completion for rankscope, made by `rankscope completions bash`\n"
        "_rankscope() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]} words=\n"
        "  COMPREPLY=()\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "    words=\"--help --version");
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command command;
        rs_command_at(i, &command);
        RS_WRITE(writer, " ", command.name);
    }
    rs_writer_text(writer, "\"\n"
                           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                           "    return\n"
                           "  fi\n"
                           "  if [ \"$cur\" = \"=\" ]; then\n"
                           "    cur=\n"
                           "  elif [ \"$prev\" = \"=\" ]; then\n"
                           "    prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                           "  fi\n");
    each_command(writer, bash_joined);
    rs_writer_text(writer, "  case $cmd:$prev in\n");
    each_command(writer, bash_values);
    rs_writer_text(writer, "  esac\n"
                           "  if [ -z \"$words\" ]; then\n"
                           "    case $cmd:$cur in\n");
    each_command(writer, bash_words);
    rs_writer_text(writer, "    esac\n"
                           "  fi\n"
                           "  [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                           "}\n"
                           "complete -o default -F _rankscope rankscope\n");
}

/* ---- zsh ---------------------------------------------------------------------------------------------- */

/* Text inside single quotes and _arguments' brackets. */
static void zsh_text(rs_writer *writer, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            rs_writer_text(writer, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text)) rs_writer_char(writer, '\\');
        rs_writer_char(writer, *text);
    }
}

static void zsh_option(rs_writer *writer, const rs_command *command, const rs_option_spec *spec)
{
    (void)command;
    char letter = rs_short_option(spec->name);
    for (int brief = 0; brief <= (letter != 0); brief++) {
        rs_writer_text(writer, " \\\n        '");
        if (brief) {
            rs_writer_char(writer, '-');
            rs_writer_char(writer, letter);
            if (spec->type != RS_OPTION_FLAG) rs_writer_char(writer, '+');
        } else {
            RS_WRITE(writer, "--", spec->name);
            if (spec->type != RS_OPTION_FLAG) rs_writer_char(writer, '=');
        }
        rs_writer_char(writer, '[');
        zsh_text(writer, spec->help);
        rs_writer_char(writer, ']');
        if (spec->type == RS_OPTION_CHOICE) {
            rs_writer_text(writer, ":value:(");
            put_words(writer, spec->choices);
            rs_writer_char(writer, ')');
        } else if (spec->type != RS_OPTION_FLAG) {
            rs_writer_char(writer, ':');
            zsh_text(writer, spec->metavar ? spec->metavar : "value");
            rs_writer_text(writer, strcmp(spec->name, "output") == 0 ? ":_files" : ":");
        }
        rs_writer_char(writer, '\'');
    }
}

static void zsh_joined(rs_writer *writer, const rs_command *command)
{
    if (!command->n_subcommands) return;
    rs_writer_text(writer, "  if [[ $command == ");
    put_label(writer, command);
    rs_writer_text(writer, " ]] && (( CURRENT > 2 )); then\n"
                           "    command=$command-$words[2]\n"
                           "    shift words\n"
                           "    (( CURRENT-- ))\n"
                           "  fi\n");
}

static void zsh_case(rs_writer *writer, const rs_command *command)
{
    rs_writer_text(writer, "    ");
    put_label(writer, command);
    rs_writer_text(writer, ")\n      _arguments");
    each_option(writer, command, zsh_option);
    bool words = command->arguments || command->run == rs_run_help || command->run == rs_run_man;
    rs_writer_text(writer, words ? " \\\n        '1:word:(" : " \\\n        '*:trace:_files'");
    if (put_arguments(writer, command)) rs_writer_text(writer, ")'");
    rs_writer_text(writer, " ;;\n");
}

static void zsh(rs_writer *writer, const void *context)
{
    (void)context;
    rs_writer_text(writer, "#compdef rankscope\n"
                           "# made by `rankscope completions zsh`\n"
                           "_rankscope() {\n"
                           "  local -a commands\n"
                           "  commands=(\n");
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command command;
        rs_command_at(i, &command);
        RS_WRITE(writer, "    '", command.name, ":");
        zsh_text(writer, command.help);
        rs_writer_text(writer, "'\n");
    }
    rs_writer_text(writer, "  )\n"
                           "  if (( CURRENT == 2 )); then\n"
                           "    _describe -t commands 'command' commands\n"
                           "    return\n"
                           "  fi\n"
                           "  local command=$words[2]\n"
                           "  shift words\n"
                           "  (( CURRENT-- ))\n");
    each_command(writer, zsh_joined);
    rs_writer_text(writer, "  case $command in\n");
    each_command(writer, zsh_case);
    rs_writer_text(writer, "  esac\n"
                           "}\n"
                           "if [ \"$funcstack[1]\" = _rankscope ]; then\n"
                           "  _rankscope \"$@\"\n"
                           "else\n"
                           "  compdef _rankscope rankscope\n"
                           "fi\n");
}

/* ---- fish --------------------------------------------------------------------------------------------- */

static void fish_text(rs_writer *writer, const char *text)
{
    rs_writer_char(writer, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') rs_writer_char(writer, '\\');
        rs_writer_char(writer, *text);
    }
    rs_writer_char(writer, '\'');
}

/* Where a command's words are completed. A sub-command may have the name of another command. */
static void fish_condition(rs_writer *writer, const rs_command *command)
{
    const char *space = strchr(command->name, ' ');
    if (space) {
        rs_writer_text(writer, "__fish_seen_subcommand_from ");
        rs_writer_bytes(writer, command->name, (size_t)(space - command->name));
        rs_writer_text(writer, "; and ");
    }
    RS_WRITE(writer, "__fish_seen_subcommand_from ", rs_command_last_name(command));
    for (size_t i = 0; !space && i < rs_command_count(); i++) {
        rs_command other;
        rs_command_at(i, &other);
        for (size_t k = 0; k < other.n_subcommands; k++) {
            if (strcmp(rs_command_last_name(other.subcommands[k]), command->name) != 0) continue;
            RS_WRITE(writer, "; and not __fish_seen_subcommand_from ", other.name);
        }
    }
    if (!command->n_subcommands) return;
    rs_writer_text(writer, "; and not __fish_seen_subcommand_from");
    for (size_t k = 0; k < command->n_subcommands; k++) {
        RS_WRITE(writer, " ", rs_command_last_name(command->subcommands[k]));
    }
}

static void fish_option(rs_writer *writer, const rs_command *command, const rs_option_spec *spec)
{
    char letter = rs_short_option(spec->name);
    rs_writer_text(writer, "complete -c rankscope -n '");
    fish_condition(writer, command);
    RS_WRITE(writer, "' -l ", spec->name);
    if (letter) {
        rs_writer_text(writer, " -s ");
        rs_writer_char(writer, letter);
    }
    if (spec->type == RS_OPTION_CHOICE) {
        rs_writer_text(writer, " -x -a '");
        put_words(writer, spec->choices);
        rs_writer_char(writer, '\'');
    } else if (spec->type != RS_OPTION_FLAG) {
        rs_writer_text(writer, strcmp(spec->name, "output") == 0 ? " -r" : " -x");
    }
    rs_writer_text(writer, " -d ");
    fish_text(writer, spec->help);
    rs_writer_char(writer, '\n');
}

static void fish_command(rs_writer *writer, const rs_command *command)
{
    if (!strchr(command->name, ' ')) {
        RS_WRITE(writer, "complete -c rankscope -f -n __fish_use_subcommand -a ", command->name, " -d ");
        fish_text(writer, command->help);
        rs_writer_char(writer, '\n');
    }
    each_option(writer, command, fish_option);
    if (!command->arguments && command->run != rs_run_help && command->run != rs_run_man) return;
    rs_writer_text(writer, "complete -c rankscope -f -n '");
    fish_condition(writer, command);
    rs_writer_text(writer, "' -a '");
    put_arguments(writer, command);
    rs_writer_text(writer, "'\n");
}

static void fish(rs_writer *writer, const void *context)
{
    (void)context;
    rs_writer_text(writer,
                   "# fish completion for rankscope, made by `rankscope completions fish`\n"
                   "complete -c rankscope -n __fish_use_subcommand -l help -d 'list the commands'\n"
                   "complete -c rankscope -n __fish_use_subcommand -l version -d 'print the version'\n");
    each_command(writer, fish_command);
}

static int run_for(const char *shell)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    if (strcmp(shell, "bash") == 0) return rs_print("completions", bash, NULL);
    if (strcmp(shell, "zsh") == 0) return rs_print("completions", zsh, NULL);
    if (strcmp(shell, "fish") == 0) return rs_print("completions", fish, NULL);
    const char *nearest = rs_suggest(shell, shells, 3);
    rs_complain("completions: there are scripts for bash, zsh and fish, not for \"%.60s\"%s%s%s", shell,
                nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return RS_EXIT_USAGE;
}

int rs_run_completions(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    int code;
    if (!rs_command_start(command, argc, argv, &arguments, &code)) return code;
    if (arguments.n_paths != 1) {
        rs_complain("completions: for which shell? rankscope completions bash|zsh|fish");
        code = RS_EXIT_USAGE;
    } else {
        code = run_for(arguments.paths[0]);
    }
    rs_arguments_clear(&arguments);
    return code;
}
