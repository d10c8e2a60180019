/* rankscope: chooses the command and runs it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/cli.h"

int rs_complain_command(const char *name)
{
    rs_suggestion nearest = {0};
    if (strcmp(name, "mcp") == 0) {
        rs_complain(
            "mcp is a command of the Python package, which has the protocol's SDK: pip install 'rankscope[mcp]', "
            "then its `rankscope mcp`");
        return RS_EXIT_USAGE;
    }
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command command;
        rs_command_at(i, &command);
        rs_suggest_from(&nearest, name, command.name);
    }
    if (strchr(name, '/') || strchr(name, '.'))
        rs_complain("there is no file and no command \"%.200s\"", name);
    else if (nearest.best)
        rs_complain("there is no command \"%.60s\"; did you mean %s?", name, nearest.best);
    else
        rs_complain("there is no command \"%.60s\"; `rankscope --help` lists them", name);
    return RS_EXIT_USAGE;
}

int rs_complain_subcommand(const rs_command *command, const char *name)
{
    rs_suggestion nearest = {0};
    for (size_t i = 0; i < command->n_subcommands; i++)
        rs_suggest_from(&nearest, name, rs_command_last_name(command->subcommands[i]));
    if (nearest.best)
        rs_complain("%s: there is no \"%.60s\"; did you mean %s?", command->name, name, nearest.best);
    else
        rs_complain("%s: there is no \"%.60s\"; `rankscope %s --help` lists what there is", command->name,
                    name, command->name);
    return RS_EXIT_USAGE;
}

/* A program started with a standard stream closed must not get a trace or an output file under its number. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

static void make_version(rs_writer *writer, const void *context)
{
    (void)context;
    RS_WRITE(writer, "rankscope ", rs_version(), "\n");
}

static void make_help(rs_writer *writer, const void *context)
{
    (void)context;
    rs_write_general_help(writer);
}

static void make_brief_help(rs_writer *writer, const void *context)
{
    (void)context;
    rs_write_brief_help(writer);
}

static void make_symptoms(rs_writer *writer, const void *context)
{
    (void)context;
    rs_write_symptoms(writer);
}

static int run_option(const char *word)
{
    static const char *const known[] = {"--help", "--version"};
    if (strcmp(word, "-h") == 0) return rs_print(NULL, make_brief_help, NULL);
    if (strcmp(word, "--help") == 0) return rs_print(NULL, make_help, NULL);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return rs_print(NULL, make_version, NULL);
    const char *nearest = rs_suggest(word, known, 2);
    if (nearest)
        rs_complain("there is no option %.60s here; did you mean %s?", word, nearest);
    else
        rs_complain("options follow the command: rankscope COMMAND [options] PATH...");
    return RS_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    setlocale(LC_CTYPE, ""); /* numbers stay those of "C" */
    rs_sql_own_memory();
    int shim;
    if (argc > 0 && rs_command_run_as(argv[0], argc - 1, argv + 1, &shim)) {
        rs_signal_repeat();
        return shim;
    }
    if (argc < 2) return rs_print(NULL, make_symptoms, NULL);
    rs_command command;
    int code;
    if (rs_command_find(argv[1], &command)) {
        rs_signals_install();
        code = rs_command_call(&command, argc - 2, argv + 2);
    } else if (!rs_front_door(argc - 1, argv + 1, &code)) {
        return argv[1][0] == '-' ? run_option(argv[1]) : rs_complain_command(argv[1]);
    }
    rs_signal_repeat();
    return code;
}
