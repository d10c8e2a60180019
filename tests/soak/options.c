/* Options as the registry describes them, with values that their types allow, or almost. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "soak.h"

/* What is not asked, with the reason. */
static const char *const not_asked[] = {
    "capture",  "view",                                                /* run other programs, or serve */
    "--server", "--workers", "--ras", "--webhook", "--metrics-listen", /* ask other machines */
    "--watch",  "--every",   "--for", "--wait",    "--interval",       /* wait */
    "--stats",  "--verbose",                                           /* say what time it took */
    "--jobs", /* see tests/unit: threads of a batch are not its child's */
};

static const char *const ints[] = {
    "0", "1",    "2",           "7",  "-1", "9223372036854775807", "18446744073709551616", "1e3",
    "",  "0x10", "99999999999", "+5", " 5", "4294967296"};
static const char *const reals[] = {"0",   "-0", "1e-320", "1e308", "-1e308", "nan",    "inf",  "1e999",
                                    "0.1", "5%", "",       "-1",    "1e19",   "9.3e18", "0x1p3"};
static const char *const ranges[] = {"0",     "0-3",        "3-0",          "0-18446744073709551615",
                                     "1,,2",  "-",          "0-4294967295", "5-",
                                     "0,0,0", "2147483647", "-1",           "1-1000000"};
/* Conditions, expressions, rules, times, names, regular expressions: any text may be any of them. */
static const char *const texts[] = {"(",
                                    "[",
                                    "a{255}",
                                    "((((((((((x)*)*)*)*)*",
                                    "phase=~2ms",
                                    "phase=~1",
                                    "step=0",
                                    "rank<",
                                    "us>1e400",
                                    "name=\"",
                                    "scale rank=0=2",
                                    "scale part=host&us>1000=none",
                                    "no-loader",
                                    "no-stragglers:2",
                                    "speed kernel=.*=1e308",
                                    "dur>=9223372036854775807",
                                    "0%-100%",
                                    "10%-60%",
                                    "-5%-200%",
                                    "1e308ms-2",
                                    "5ms-1ms",
                                    "a-b",
                                    "own:0%-1%",
                                    "@missing",
                                    "communication=.*",
                                    "copy=",
                                    "name",
                                    "=",
                                    ",",
                                    "a=b=c",
                                    "%s%n%d",
                                    "\xff\xfe",
                                    "\xe2\x80\xae",
                                    ".",
                                    "..",
                                    "/nonexistent/x",
                                    "/dev/null",
                                    "-",
                                    "--",
                                    "gain_pct > 5",
                                    "gain_pct >",
                                    "true",
                                    "0",
                                    "1e30",
                                    "[]",
                                    "{\"a\":",
                                    "select",
                                    "ms",
                                    "2 ms",
                                    "rank=0&step=1",
                                    "!",
                                    "not",
                                    "a or",
                                    "0:0",
                                    "1:99999999999",
                                    "H100",
                                    "mem_bw_gbps=1",
                                    "aten::mm",
                                    "ProfilerStep#1",
                                    "1,2,3",
                                    "0-1,5",
                                    "\x1b[2J"};

#define N(x) (sizeof(x) / sizeof *(x))

static bool is_asked(const char *name, bool option)
{
    for (size_t i = 0; i < N(not_asked); i++)
        if ((strncmp(not_asked[i], "--", 2) == 0) == option &&
            strcmp(not_asked[i] + (option ? 2 : 0), name) == 0)
            return false;
    return true;
}

static void add_choice(text *t, rng *r, const char *choices)
{
    size_t n = 1;
    for (const char *c = choices; *c; c++) n += *c == '|';
    for (size_t k = rng_below(r, n); k; k--) choices = strchr(choices, '|') + 1;
    text_add(t, choices, strcspn(choices, "|"));
}

static void add_value(text *t, rng *r, const rs_option_spec *s)
{
    char number[64];
    const char *value = NULL;
    switch (rng_below(r, 8) ? s->type : RS_OPTION_TEXT) {
    case RS_OPTION_FLAG: return;
    case RS_OPTION_INT: value = ints[rng_below(r, N(ints))]; break;
    case RS_OPTION_REAL: value = reals[rng_below(r, N(reals))]; break;
    case RS_OPTION_RANGES: value = ranges[rng_below(r, N(ranges))]; break;
    case RS_OPTION_CHOICE: add_choice(t, r, s->choices); return;
    case RS_OPTION_TEXT:
    case RS_OPTION_LIST:
    case RS_OPTION_LINES: value = texts[rng_below(r, N(texts))]; break;
    }
    if (rng_below(r, 16) == 0) {
        for (size_t k = 0; k < 300; k++) text_add(t, "a", 1);
    } else if (rng_below(r, 16) == 0) {
        snprintf(number, sizeof number, "%lld", (long long)rng_next(r));
        value = number;
    }
    for (const char *c = value; *c; c++) text_add(t, *c == ' ' ? SOAK_SPACE : c, 1);
}

static void add_option(text *t, rng *r, const rs_option_spec *s)
{
    text_printf(t, s->type == RS_OPTION_FLAG ? " --%s" : " --%s=", s->name);
    add_value(t, r, s);
}

/* The k-th option of a command that is asked; NULL behind the last. */
static const rs_option_spec *option_at(const rs_command *c, size_t k)
{
    const rs_option_spec *s;
    for (size_t g = 0; g < c->n_groups; g++)
        for (size_t i = 0; (s = rs_group_at(&c->groups[g], i)); i++)
            if (is_asked(s->name, true) && k-- == 0) return s;
    return NULL;
}

static size_t n_options(const rs_command *c)
{
    size_t n = 0;
    while (option_at(c, n)) n++;
    return n;
}

/* The command that a line calls. */
static bool command_of(const char *line, rs_command *out)
{
    char word[64];
    size_t n = strcspn(line, " ");
    snprintf(word, sizeof word, "%.*s", (int)n, line);
    if (!rs_command_find(word, out)) return false;
    const rs_command *command = out;
    for (size_t i = 0; i < command->n_subcommands; i++) {
        const rs_command *sub = command->subcommands[i];
        size_t length = strlen(sub->name);
        if (strncmp(line, sub->name, length) == 0 && (line[length] == ' ' || !line[length])) {
            *out = *sub;
            return true;
        }
    }
    return true;
}

void soak_options(text *line, rng *r)
{
    rs_command c;
    text_add(line, "", 1);
    bool known = command_of(line->s, &c);
    line->n--;
    size_t n = known ? n_options(&c) : 0;
    for (size_t k = n ? 1 + rng_below(r, 4) : 0; k; k--) add_option(line, r, option_at(&c, rng_below(r, n)));
}

/* All options of all commands and sub-commands, in order. */
static struct pair {
    const char *command;
    const rs_option_spec *option;
} * pairs;
static size_t n_pairs;

static bool is_common(const rs_option_group *g)
{
    const char *title = rs_group_title(g);
    return title &&
           (strcmp(title, rs_input_options.title) == 0 || strcmp(title, rs_output_options.title) == 0);
}

/* Options that most commands have are of every n-th of them alone. */
static void add_pairs(const rs_command *c, size_t every)
{
    static size_t turn;
    pairs = realloc(pairs, (n_pairs + n_options(c) + 1) * sizeof *pairs);
    if (!pairs) abort();
    for (size_t g = 0; g < c->n_groups; g++) {
        const rs_option_spec *s;
        for (size_t i = 0; (s = rs_group_at(&c->groups[g], i)); i++)
            if (is_asked(s->name, true) && (!is_common(&c->groups[g]) || turn++ % every == 0))
                pairs[n_pairs++] = (struct pair){c->name, s};
    }
}

size_t soak_count_options(size_t every)
{
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command c;
        rs_command_at(i, &c);
        if (!is_asked(c.name, false)) continue;
        if (!c.n_subcommands) add_pairs(&c, every);
        for (size_t k = 0; k < c.n_subcommands; k++) add_pairs(c.subcommands[k], every);
    }
    return n_pairs;
}

void soak_option(size_t number, rng *r, text *line)
{
    const struct pair *p = &pairs[number % n_pairs];
    text_printf(line, "%s", soak_line_of(p->command, r));
    add_option(line, r, p->option);
    if (rng_below(r, 2)) soak_options(line, r);
}
