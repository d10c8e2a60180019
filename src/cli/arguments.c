#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "cli/cli.h"

static const rs_option_spec output_specs[] = {
    {"format", RS_OPTION_CHOICE, NULL, rs_output_form_names, "text", "how to write the answer"},
    {"table", RS_OPTION_TEXT, "NAME", NULL, NULL, "only this table"},
    {"budget", RS_OPTION_INT, "BYTES", NULL, "0",
     "json and md: at most so many bytes: the first rows, all notes, and what was left out; 0: no limit"},
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL, "write to FILE, atomically; - is standard output"},
    {"schema", RS_OPTION_FLAG, NULL, NULL, NULL,
     "print the tables' columns: type, unit, meaning; reads nothing"},
    {"color", RS_OPTION_CHOICE, NULL, "auto|always|never", "auto", "colours in text (auto honours NO_COLOR)"},
    {"no-progress", RS_OPTION_FLAG, NULL, NULL, NULL, "no progress bar"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL,
     "no notes and no progress bar; errors and losses are still reported"},
    {"verbose", RS_OPTION_FLAG, NULL, NULL, NULL, "also say what the run cost"},
    {"stats", RS_OPTION_FLAG, NULL, NULL, NULL, "bytes, events, seconds and peak memory on standard error"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

const rs_option_group rs_input_options = {.title = "Input", .list = rs_job_options};
const rs_option_group rs_output_options = {
    .title = "Output", .specs = output_specs, .n = sizeof output_specs / sizeof *output_specs};

/* ---- groups ------------------------------------------------------------------------------------------- */

/* Whether a name is one of "a|b|c". */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *c = list; c && *c;) {
        size_t m = strcspn(c, "|");
        if (m == n && memcmp(c, name, n) == 0) return true;
        c += m + (c[m] != '\0');
    }
    return false;
}

const char *rs_group_title(const rs_option_group *group)
{
    return group->title || !group->base ? group->title : group->base->title;
}

/* The options of a group, also those that it leaves out. */
static const rs_option_spec *specs_of(const rs_option_group *group, size_t *n)
{
    if (group->base) group = group->base;
    *n = group->n;
    return group->list ? group->list(n) : group->specs;
}

const rs_option_spec *rs_group_at(const rs_option_group *group, size_t i)
{
    size_t n;
    const rs_option_spec *specs = specs_of(group, &n);
    for (size_t at = 0; at < n; at++)
        if (!is_listed(group->without, specs[at].name) && i-- == 0) return &specs[at];
    return NULL;
}

/* ---- parsing ------------------------------------------------------------------------------------------ */

static const struct {
    char letter;
    const char *name;
} short_options[] = {{'o', "output"}, {'r', "recursive"}, {'q', "quiet"}, {'v', "verbose"}, {'h', "help"}};
#define N_SHORT (sizeof short_options / sizeof *short_options)

char rs_short_option(const char *name)
{
    for (size_t i = 0; i < N_SHORT; i++)
        if (strcmp(short_options[i].name, name) == 0) return short_options[i].letter;
    return 0;
}

static const rs_option_spec *find_in(const rs_option_group *group, const char *name)
{
    const rs_option_spec *spec;
    for (size_t i = 0; (spec = rs_group_at(group, i)); i++)
        if (strcmp(spec->name, name) == 0) return spec;
    return NULL;
}

/* In groups from *group on. */
static const rs_option_spec *find_spec(const rs_command *command, const char *name, size_t *group)
{
    for (size_t g = *group; g < command->n_groups; g++) {
        const rs_option_spec *spec = find_in(&command->groups[g], name);
        if (!spec) continue;
        *group = g;
        return spec;
    }
    return NULL;
}

static rs_status unknown_option(const rs_command *command, const char *name, rs_error *err)
{
    rs_suggestion nearest = {0};
    const rs_option_spec *spec;
    for (size_t g = 0; g < command->n_groups; g++)
        for (size_t i = 0; (spec = rs_group_at(&command->groups[g], i)); i++)
            rs_suggest_from(&nearest, name, spec->name);
    if (nearest.best)
        return rs_fail(err, RS_ERR_USAGE, "there is no option --%.60s; did you mean --%s?", name,
                       nearest.best);
    return rs_fail(err, RS_ERR_USAGE, "there is no option --%.60s; `rankscope %s --help` lists them", name,
                   command->name);
}

bool rs_arguments_know(const rs_command *command, const char *word)
{
    char name[64];
    size_t group = 0, n = strcspn(word + 2, "=");
    if (n >= sizeof name) return false;
    memcpy(name, word + 2, n);
    name[n] = '\0';
    return find_spec(command, name, &group) != NULL;
}

/* Where the values of an option that may be given again are kept; NULL for the others. */
static rs_repeated *repeated_of(const rs_command *command, rs_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < RS_MAX_REPEATED && command->repeated[i]; i++)
        if (strcmp(command->repeated[i], name) == 0) return &arguments->repeated[i];
    return NULL;
}

/* --name, --name=VALUE; *i moves over a value that is an argument of its own. */
static rs_status parse_long(const rs_command *command, int argc, char **argv, int *i, rs_arguments *out,
                            rs_error *err)
{
    const char *word = argv[*i] + 2, *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word), group = 0;
    char name[64];
    if (length >= sizeof name) return rs_fail(err, RS_ERR_USAGE, "there is no option %.60s...", argv[*i]);
    memcpy(name, word, length);
    name[length] = '\0';
    const rs_option_spec *spec = find_spec(command, name, &group);
    if (!spec) return unknown_option(command, name, err);
    const char *value = equals ? equals + 1 : NULL;
    if (!value && spec->type != RS_OPTION_FLAG && *i + 1 < argc) value = argv[++*i];
    /* variance --class gemm is the command's own choice, --class communication=REGEX the rule of every command */
    if (spec->type == RS_OPTION_CHOICE && value && strchr(value, '=')) {
        size_t own = group++;
        if (!find_spec(command, name, &group)) group = own;
    }
    rs_repeated *repeated = value ? repeated_of(command, out, name) : NULL;
    if (!repeated) return rs_options_set(out->options[group], name, value, err);
    repeated->values[repeated->n++] = value;
    return RS_OK;
}

static const char *long_name(char letter)
{
    for (size_t i = 0; i < N_SHORT; i++)
        if (short_options[i].letter == letter) return short_options[i].name;
    return NULL;
}

/* -r, -rq, -o FILE, -oFILE */
static rs_status parse_short(const rs_command *command, int argc, char **argv, int *i, rs_arguments *out,
                             rs_error *err)
{
    for (const char *c = argv[*i] + 1; *c; c++) {
        size_t group = 0;
        const char *name = long_name(*c);
        const rs_option_spec *spec = name ? find_spec(command, name, &group) : NULL;
        if (!spec)
            return rs_fail(err, RS_ERR_USAGE, "there is no option -%.1s; `rankscope %s --help` lists them", c,
                           command->name);
        if (spec->type == RS_OPTION_FLAG) {
            rs_status status = rs_options_set(out->options[group], name, NULL, err);
            if (status != RS_OK) return status;
            continue;
        }
        const char *value = c[1] ? c + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        return rs_options_set(out->options[group], name, value, err);
    }
    return RS_OK;
}

rs_status rs_arguments_parse(const rs_command *command, int argc, char **argv, rs_arguments *out,
                             rs_error *err)
{
    *out = (rs_arguments){.n_groups = command->n_groups};
    out->paths = rs_calloc((size_t)argc + 1, sizeof *out->paths);
    rs_status status = out->paths ? RS_OK : rs_fail_nomem(err, "the arguments");
    for (size_t g = 0; status == RS_OK && g < command->n_groups; g++) {
        size_t n;
        const rs_option_spec *specs = specs_of(&command->groups[g], &n);
        status = rs_options_create(specs, n, &out->options[g], err);
    }
    for (size_t i = 0; status == RS_OK && i < RS_MAX_REPEATED && command->repeated[i]; i++) {
        out->repeated[i].values = rs_calloc((size_t)argc + 1, sizeof *out->repeated[i].values);
        if (!out->repeated[i].values) status = rs_fail_nomem(err, "the arguments");
    }
    bool options_end = false;
    for (int i = 0; i < argc && status == RS_OK; i++) {
        const char *word = argv[i];
        if (options_end || word[0] != '-' || !word[1]) {
            rs_output_protect(word);
            out->paths[out->n_paths++] = word;
        } else if (strcmp(word, "--") == 0)
            options_end = true;
        else if (word[1] == '-')
            status = parse_long(command, argc, argv, &i, out, err);
        else
            status = parse_short(command, argc, argv, &i, out, err);
    }
    if (status != RS_OK) rs_arguments_clear(out);
    return status;
}

void rs_arguments_clear(rs_arguments *arguments)
{
    for (size_t g = 0; g < arguments->n_groups; g++) rs_options_free(arguments->options[g]);
    for (size_t i = 0; i < RS_MAX_REPEATED; i++) rs_free(arguments->repeated[i].values);
    rs_free(arguments->paths);
    *arguments = (rs_arguments){0};
}

const rs_options *rs_arguments_of(const rs_command *command, const rs_arguments *arguments, const char *name)
{
    size_t group = 0;
    return find_spec(command, name, &group) ? arguments->options[group] : NULL;
}
