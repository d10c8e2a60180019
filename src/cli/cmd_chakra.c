/* rankscope chakra SUB-COMMAND: which one, and their list. */
#include <string.h>

#include "base/suggest.h"
#include "cli/chakra.h"

/* A new sub-command is one line here. */
static const rs_command *const subcommands[] = {&rs_chakra_link_command,     &rs_chakra_convert_command,
                                                &rs_chakra_build_command,    &rs_chakra_print_command,
                                                &rs_chakra_check_command,    &rs_chakra_visualize_command,
                                                &rs_chakra_generate_command, &rs_chakra_timeline_command};
#define N_SUBCOMMANDS (sizeof subcommands / sizeof *subcommands)

/* Behind "chakra ". */
static const char *name_of(const rs_command *sub)
{
    return sub->name + strlen("chakra ");
}

static void make_list(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
    rs_writer_text(writer, "\nSub-commands:\n");
    for (size_t i = 0; i < N_SUBCOMMANDS; i++) {
        size_t n = strlen(name_of(subcommands[i]));
        rs_writer_text(writer, "  ");
        rs_writer_text(writer, name_of(subcommands[i]));
        rs_writer_repeat(writer, ' ', n < 12 ? 12 - n : 1);
        rs_writer_text(writer, subcommands[i]->help);
        rs_writer_char(writer, '\n');
    }
}

static int complain(const char *word)
{
    rs_suggestion nearest = {0};
    for (size_t i = 0; i < N_SUBCOMMANDS; i++) rs_suggest_from(&nearest, word, name_of(subcommands[i]));
    if (nearest.best)
        rs_complain("chakra: there is no \"%.60s\"; did you mean %s?", word, nearest.best);
    else
        rs_complain("chakra: there is no \"%.60s\"; `rankscope chakra --help` lists what there is", word);
    return RS_EXIT_USAGE;
}

void rs_chakra_report_problems(rs_problems *problems, bool quiet)
{
    rs_result view = {.problems = *problems};
    rs_report_result(&view, quiet);
}

int rs_run_chakra(const rs_command *command, int argc, char **argv)
{
    if (argc == 0) {
        rs_complain("chakra: do what? `rankscope chakra --help` lists what there is");
        return RS_EXIT_USAGE;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return rs_print("chakra", make_list, command);
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        if (strcmp(argv[0], name_of(subcommands[i])) == 0)
            return subcommands[i]->run(subcommands[i], argc - 1, argv + 1);
    return complain(argv[0]);
}
