/* Manual pages from the command table. */

#include "cli/cli.h"
#include "base/ascii.h"

/* Text that roff takes for nothing but text. */
static void put(rs_writer *writer, const char *text, size_t n)
{
    bool line_start = true;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (line_start && (c == '.' || c == '\'')) rs_writer_text(writer, "\\&");
        if (c == '\\')
            rs_writer_text(writer, "\\e");
        else if (c == '-')
            rs_writer_text(writer, "\\-");
        else
            rs_writer_char(writer, c);
        line_start = c == '\n';
    }
}

static void put_text(rs_writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

static void put_upper(rs_writer *writer, const char *text)
{
    for (; *text; text++) {
        char c = rs_upper(*text);
        put(writer, &c, 1);
    }
}

/* "chakra link" is the page rankscope-chakra-link. */
static void put_page_name(rs_writer *writer, const char *command, bool upper)
{
    for (; *command; command++) {
        char c = *command == ' ' ? '-' : *command;
        if (upper) c = rs_upper(c);
        put(writer, &c, 1);
    }
}

static void title(rs_writer *writer, const char *command)
{
    rs_writer_text(writer, ".TH RANKSCOPE");
    if (command) {
        rs_writer_text(writer, "\\-");
        put_page_name(writer, command, true);
    }
    RS_WRITE(writer, " 1 \"\" \"rankscope ", rs_version(), "\" \"rankscope\"\n.SH NAME\nrankscope");
    if (command) {
        rs_writer_text(writer, "\\-");
        put_page_name(writer, command, false);
    }
    rs_writer_text(writer, " \\- ");
}

static void section(rs_writer *writer, const char *name)
{
    rs_writer_text(writer, ".SH ");
    put_upper(writer, name);
    rs_writer_char(writer, '\n');
}

/* Paragraphs; lines that start with two spaces are kept as they are. */
static void paragraphs(rs_writer *writer, const char *text)
{
    bool verbatim = false;
    while (*text) {
        size_t n = strcspn(text, "\n");
        bool keep = n >= 2 && text[0] == ' ' && text[1] == ' ';
        if (keep != verbatim) rs_writer_text(writer, keep ? ".nf\n" : ".fi\n");
        verbatim = keep;
        if (n == 0)
            rs_writer_text(writer, ".PP\n");
        else {
            put(writer, text, n);
            rs_writer_char(writer, '\n');
        }
        text += n + (text[n] != '\0');
    }
    if (verbatim) rs_writer_text(writer, ".fi\n");
}

static void option(rs_writer *writer, const rs_option_spec *spec)
{
    char letter = rs_short_option(spec->name);
    rs_writer_text(writer, ".TP\n");
    if (letter) {
        rs_writer_text(writer, "\\fB\\-");
        rs_writer_char(writer, letter);
        rs_writer_text(writer, "\\fR, ");
    }
    rs_writer_text(writer, "\\fB\\-\\-");
    put_text(writer, spec->name);
    rs_writer_text(writer, "\\fR");
    if (spec->type != RS_OPTION_FLAG) {
        rs_writer_text(writer, " \\fI");
        put_text(writer, spec->type == RS_OPTION_CHOICE ? spec->choices
                         : spec->metavar                ? spec->metavar
                                                        : "VALUE");
        rs_writer_text(writer, "\\fR");
    }
    rs_writer_char(writer, '\n');
    put_text(writer, spec->help);
    if (spec->fallback) {
        rs_writer_text(writer, " (default ");
        put_text(writer, spec->fallback);
        rs_writer_char(writer, ')');
    }
    rs_writer_char(writer, '\n');
}

static void tables(rs_writer *writer, const rs_analysis *analysis)
{
    size_t n;
    const rs_table_spec *const *specs = rs_analysis_tables(analysis, RS_COMPAT_NONE, &n);
    section(writer, "Tables");
    for (size_t i = 0; i < n; i++) {
        rs_writer_text(writer, ".SS ");
        put_text(writer, specs[i]->name);
        rs_writer_char(writer, '\n');
        if (specs[i]->help) {
            put_text(writer, specs[i]->help);
            rs_writer_char(writer, '\n');
        }
        for (size_t k = 0; k < specs[i]->n_columns; k++) {
            rs_writer_text(writer, ".TP\n\\fB");
            put_text(writer, specs[i]->columns[k].name);
            rs_writer_text(writer, "\\fR\n");
            put_text(writer, specs[i]->columns[k].help);
            rs_writer_char(writer, '\n');
        }
    }
}

/* An entry that refers to a command's own page. */
static void page_entry(rs_writer *writer, const rs_command *command)
{
    rs_writer_text(writer, ".TP\n\\fBrankscope\\-");
    put_page_name(writer, command->name, false);
    rs_writer_text(writer, "\\fR(1)\n");
    char entry[400];
    put_text(writer, rs_command_entry(command, entry, sizeof entry));
    rs_writer_char(writer, '\n');
}

static void command_page(rs_writer *writer, const void *context)
{
    const rs_command *command = context;
    const rs_command_extension *more;
    title(writer, command->name);
    put_text(writer, command->help);
    rs_writer_char(writer, '\n');
    section(writer, "Synopsis");
    rs_writer_text(writer, "\\fBrankscope ");
    put_text(writer, command->name);
    rs_writer_text(writer, "\\fR ");
    put_text(writer, command->usage);
    rs_writer_char(writer, '\n');
    section(writer, "Description");
    if (command->about) paragraphs(writer, command->about);
    for (size_t i = 0; (more = rs_command_extension_of(command, i)); i++) {
        rs_writer_text(writer, ".PP\n");
        paragraphs(writer, more->about);
    }
    if (command->n_subcommands) section(writer, "Sub-commands");
    for (size_t i = 0; i < command->n_subcommands; i++) page_entry(writer, command->subcommands[i]);
    for (size_t i = 0; i < command->n_groups; i++) {
        const rs_option_group *group = &command->groups[i];
        const rs_option_spec *spec;
        if (!rs_group_at(group, 0)) continue;
        bool plain = strcmp(rs_group_title(group), "Options") == 0;
        rs_writer_text(writer, ".SH ");
        put_upper(writer, rs_group_title(group));
        rs_writer_text(writer, plain ? "\n" : " OPTIONS\n");
        for (size_t k = 0; (spec = rs_group_at(group, k)); k++) option(writer, spec);
    }
    if (command->analysis) tables(writer, command->analysis);
    if (command->examples) {
        section(writer, "Examples");
        rs_writer_text(writer, ".nf\n");
        put_text(writer, command->examples);
        for (size_t i = 0; (more = rs_command_extension_of(command, i)); i++) {
            rs_writer_char(writer, '\n');
            put_text(writer, more->examples);
        }
        rs_writer_text(writer, "\n.fi\n");
    }
    section(writer, "See also");
    rs_writer_text(writer, "\\fBrankscope\\fR(1)\n");
}

static void main_page(rs_writer *writer, const void *context)
{
    (void)context;
    title(writer, NULL);
    rs_writer_text(writer, "why a multi\\-GPU training job is slow, stuck or different\n");
    section(writer, "Synopsis");
    rs_writer_text(writer, "\\fBrankscope\\fR \\fICOMMAND\\fR [options] \\fIPATH\\fR...\n");
    section(writer, "Description");
    rs_writer_text(writer, "A PATH is a profiler trace (plain, gzip or zstd), a directory of traces, or \\- "
                           "for standard input.\n"
                           "Several are the ranks of one job; RANK=PATH says which one a file is.\n");
    section(writer, "Commands");
    for (size_t g = 0; rs_command_group_title(g); g++) {
        bool any = false;
        for (size_t i = 0; i < rs_command_count(); i++) {
            rs_command command;
            rs_command_at(i, &command);
            if (rs_command_group(&command) != g) continue;
            if (!any) {
                rs_writer_text(writer, ".SS ");
                put_text(writer, rs_command_group_title(g));
                rs_writer_char(writer, '\n');
            }
            any = true;
            page_entry(writer, &command);
            for (size_t k = 0; k < command.n_subcommands; k++) page_entry(writer, command.subcommands[k]);
        }
    }
    section(writer, "Exit status");
    rs_writer_text(writer, ".nf\n");
    put_text(writer, rs_exit_code_text);
    rs_writer_text(writer, "\n.fi\n");
    section(writer, "Environment");
    rs_writer_text(writer,
                   ".TP\n\\fBNO_COLOR\\fR\nwhen set, no colours unless \\-\\-color always asks for them\n"
                   ".TP\n\\fBCOLUMNS\\fR\nthe width of text output\n");
}

int rs_run_man(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    rs_command topic;
    int code;
    if (!rs_command_start(command, argc, argv, &arguments, &code)) return code;
    if (arguments.n_paths == 0) {
        code = rs_print("man", main_page, NULL);
    } else {
        code = rs_command_find_topic("man", arguments.paths, arguments.n_paths, &topic);
        if (code == RS_EXIT_OK) code = rs_print("man", command_page, &topic);
    }
    rs_arguments_clear(&arguments);
    return code;
}
