/* rankscope PATH...: recognises what is there, and has the command answer that reads it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/cli.h"
#include "rankscope/verdict.h"

#define HEAD (64 << 10) /* bytes of a file by which it is recognised */
#define MAX_DEPTH 3
#define MAX_FILES 100000
#define MAX_KINDS 16
#define RECURSIVE "--recursive"

/* ---- what the core reads ------------------------------------------------------------------------------------ */

static bool is_trace(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return rs_content_of(text, n) == RS_CONTENT_TRACE;
}

static bool is_snapshot(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return rs_content_of(text, n) == RS_CONTENT_SNAPSHOT;
}

static bool is_compile_log(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return rs_content_of(text, n) == RS_CONTENT_COMPILATIONS;
}

static const rs_file_kind traces[] = {{.title = "trace", .knows = is_trace}, {0}};
static const rs_file_kind snapshots[] = {{.title = "memory snapshot", .knows = is_snapshot}, {0}};
static const rs_file_kind compile_logs[] = {{.title = "torch.compile log", .knows = is_compile_log}, {0}};

/* Analyses are commands without a file of their own. */
static const struct {
    const char *command;
    const rs_file_kind *inputs;
    unsigned urgency;
} of_analyses[] = {{"diagnose", traces, 2}, {"memory", snapshots, 3}, {"compile", compile_logs, 4}};

/* ---- what is there --------------------------------------------------------------------------------------- */

typedef struct kind {
    rs_command command;
    const rs_file_kind *input;
    rs_text *paths; /* of the files */
    size_t n, capacity;
    bool below; /* some are deeper than in a folder that was given */
} kind;

typedef struct door {
    kind kinds[MAX_KINDS]; /* by the urgency of their commands */
    size_t n;
    size_t seen, unknown;
    char *first_unknown;
} door;

static void clear_door(door *d)
{
    for (size_t i = 0; i < d->n; i++) {
        for (size_t k = 0; k < d->kinds[i].n; k++) rs_text_clear(&d->kinds[i].paths[k]);
        rs_free(d->kinds[i].paths);
    }
    rs_free(d->first_unknown);
}

static void add_kinds(door *d, const rs_command *command, const rs_file_kind *inputs, unsigned urgency)
{
    for (; inputs->title && d->n < MAX_KINDS; inputs++) {
        size_t at = d->n++;
        for (; at && d->kinds[at - 1].command.urgency > urgency; at--) d->kinds[at] = d->kinds[at - 1];
        d->kinds[at] = (kind){.command = *command, .input = inputs};
        d->kinds[at].command.urgency = urgency;
    }
}

static void list_kinds(door *d)
{
    rs_command command;
    for (size_t i = 0; rs_command_rows[i]; i++)
        if (rs_command_rows[i]->inputs && rs_command_find(rs_command_rows[i]->name, &command))
            add_kinds(d, &command, command.inputs, command.urgency);
    for (size_t i = 0; i < sizeof of_analyses / sizeof *of_analyses; i++)
        if (rs_command_find(of_analyses[i].command, &command))
            add_kinds(d, &command, of_analyses[i].inputs, of_analyses[i].urgency);
}

/* The kind of a file: what it holds says more than its name. */
static kind *kind_of(door *d, const char *path, const uint8_t *head, size_t n)
{
    for (int by_name = 0; by_name < 2; by_name++)
        for (size_t i = 0; i < d->n; i++)
            if (d->kinds[i].input->by_name == (by_name == 1) && d->kinds[i].input->knows(path, head, n))
                return &d->kinds[i];
    return NULL;
}

static rs_status add_file(door *d, const char *path, bool below, uint8_t *head, rs_error *err)
{
    size_t n;
    if (++d->seen > MAX_FILES)
        return rs_fail(err, RS_ERR_LIMIT, "there are more than %d files: name the folder of one job",
                       MAX_FILES);
    rs_error why = RS_ERROR_INIT;
    if (rs_file_begin(path, head, HEAD, &n, &why) == RS_ERR_NOMEM) return rs_fail_nomem(err, "input");
    kind *k = kind_of(d, path, head, n);
    if (k) {
        if (!RS_GROW_ONE(k->paths, k->n, k->capacity)) return rs_fail_nomem(err, "inputs");
        k->paths[k->n] = (rs_text){0};
        rs_text_add(&k->paths[k->n++], path, strlen(path));
        k->below |= below;
        return rs_text_get(&k->paths[k->n - 1]) ? RS_OK : rs_fail_nomem(err, "inputs");
    }
    if (!d->unknown++ && !(d->first_unknown = rs_strdup(path))) return rs_fail_nomem(err, "inputs");
    return RS_OK;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static rs_status look(door *d, const char *path, unsigned depth, uint8_t *head, rs_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) return RS_OK;
    if (S_ISREG(info.st_mode)) return add_file(d, path, depth > 1, head, err);
    if (!S_ISDIR(info.st_mode) || depth > MAX_DEPTH) return RS_OK;
    struct dirent **entries;
    int n = scandir(path, &entries, is_visible, alphasort);
    rs_status status = RS_OK;
    for (int i = 0; i < n; i++) {
        rs_text full = {0};
        rs_text_printf(&full, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", entries[i]->d_name);
        if (status == RS_OK)
            status = rs_text_get(&full) ? look(d, rs_text_get(&full), depth + 1, head, err)
                                        : rs_fail_nomem(err, "inputs");
        rs_text_clear(&full);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return status;
}

/* The kind that is answered about; NULL: nothing was recognised. */
static kind *most_urgent(door *d)
{
    kind *beside = NULL;
    for (size_t i = 0; i < d->n; i++) {
        kind *k = &d->kinds[i];
        if (k->n && !k->input->beside) return k;
        if (k->n && !beside) beside = k;
    }
    return beside;
}

/* ---- the answer -------------------------------------------------------------------------------------------- */

/* The words of the command: what the user gave, with what was found in place of the paths where they hold other things, too. */
typedef struct words {
    const char **items;
    size_t n;
} words;

static bool is_path(const char *word)
{
    struct stat info;
    return word[0] && stat(word, &info) == 0;
}

static bool is_of(const kind *k, const kind *chosen)
{
    return strcmp(k->command.name, chosen->command.name) == 0;
}

static bool make_words(const door *d, const kind *chosen, int argc, char **argv, words *out)
{
    size_t room = (size_t)argc + 1, others = d->unknown;
    for (size_t i = 0; i < d->n; i++) {
        room += d->kinds[i].n;
        if (!is_of(&d->kinds[i], chosen)) others += d->kinds[i].n;
    }
    *out = (words){.items = rs_calloc(room, sizeof *out->items)};
    if (!out->items) return false;
    for (int i = 0; i < argc; i++)
        if (!others || !is_path(argv[i])) out->items[out->n++] = argv[i];
    if (others) out->items[out->n++] = "--";
    for (size_t i = 0; others && i < d->n; i++)
        for (size_t k = 0; is_of(&d->kinds[i], chosen) && k < d->kinds[i].n; k++)
            out->items[out->n++] = d->kinds[i].paths[k].s;
    if (!others && chosen->below && chosen->command.analysis) out->items[out->n++] = RECURSIVE;
    return true;
}

typedef struct footer {
    const door *door;
    const kind *chosen;
    const char *const *paths; /* after RECURSIVE */
    size_t n_paths;
} footer;

static bool add_to_writer(void *context, const char *bytes, size_t n)
{
    rs_writer_bytes(context, bytes, n);
    return true;
}

/* A command on a line of its own; it is left out when there is no memory for it. */
static void put_command(rs_writer *writer, const char *lead, const char *command, const char *const *paths,
                        size_t n_paths)
{
    const rs_evidence all = {.command = command};
    const rs_sink sink = {add_to_writer, writer};
    rs_error err = RS_ERROR_INIT;
    rs_writer_text(writer, lead);
    if (rs_evidence_write(&all, RS_EVIDENCE_SHELL, paths, n_paths, &sink, &err) != RS_OK)
        rs_complain_error(NULL, &err);
    rs_writer_char(writer, '\n');
}

static void put_next(rs_writer *writer, const footer *f, const char *lead, const kind *k)
{
    size_t skipped = !(k->below && k->command.analysis);
    put_command(writer, lead, k->command.name, f->paths + skipped, f->n_paths - skipped);
}

/* What else is there, and where the whole answer is. */
static void write_footer(rs_writer *writer, const void *context)
{
    const footer *f = context;
    put_next(writer, f, "All of it: ", f->chosen);
    for (size_t i = 0; i < f->door->n; i++) {
        const kind *k = &f->door->kinds[i];
        char lead[100];
        if (!k->n || is_of(k, f->chosen)) continue;
        snprintf(lead, sizeof lead, "Also there, %zu %s%s: ", k->n, k->input->title, k->n == 1 ? "" : "s");
        put_next(writer, f, lead, k);
    }
}

/* Whether the answer is text on standard output, which more can follow. */
static bool is_read_by_people(const words *w)
{
    for (size_t i = 0; i < w->n && strcmp(w->items[i], "--") != 0; i++)
        if (strncmp(w->items[i], "-o", 2) == 0 || strncmp(w->items[i], "--output", 8) == 0 ||
            strncmp(w->items[i], "--format", 8) == 0 || strncmp(w->items[i], "--table", 7) == 0)
            return false;
    return true;
}

static bool is_answer(int code)
{
    return code == RS_EXIT_OK || code == RS_EXIT_FOUND || code == RS_EXIT_LOSS;
}

/* An option that the chosen command does not have; NULL: it has all. A word after one that takes a value is no option. */
static const char *unknown_option(const rs_command *command, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0 && !rs_arguments_know(command, argv[i])) return argv[i];
    return NULL;
}

/* paths: as the user gave them, after RECURSIVE. */
static int answer(const door *d, const kind *chosen, int argc, char **argv, const char **paths,
                  size_t n_paths)
{
    words w;
    if (!chosen->command.body) {
        rs_complain("%zu %s%s: see `rankscope %s --help`", chosen->n, chosen->input->title,
                    chosen->n == 1 ? "" : "s", chosen->command.name);
        return RS_EXIT_USAGE;
    }
    const char *unknown = unknown_option(&chosen->command, argc, argv);
    if (unknown) {
        rs_complain("%zu %s%s: `rankscope %s` answers, which has no option %.60s; see `rankscope %s --help`",
                    chosen->n, chosen->input->title, chosen->n == 1 ? "" : "s", chosen->command.name, unknown,
                    chosen->command.name);
        return RS_EXIT_USAGE;
    }
    if (!make_words(d, chosen, argc, argv, &w)) {
        rs_complain("out of memory");
        return RS_EXIT_INPUT;
    }
    rs_signals_install();
    size_t skipped = !(chosen->below && chosen->command.analysis);
    int code = rs_command_answer_briefly(&chosen->command, (int)w.n, (char **)w.items, paths + skipped,
                                         n_paths - skipped);
    if (is_answer(code) && is_read_by_people(&w)) {
        const footer f = {d, chosen, paths, n_paths};
        int failed = rs_print(NULL, write_footer, &f);
        if (failed != RS_EXIT_OK) code = failed;
    }
    rs_free(w.items);
    return code;
}

/* Two runs: two folders of traces, or two traces of one rank. */
static bool are_two_runs(const kind *chosen, const char *const *paths, size_t n)
{
    return n == 2 && chosen->command.analysis && strcmp(chosen->command.name, "diagnose") == 0 &&
           rs_rank_in_name(paths[0]) == rs_rank_in_name(paths[1]);
}

static void write_comparison_footer(rs_writer *writer, const void *context)
{
    const footer *f = context;
    put_command(writer, "All of it: ", "diff", f->paths, f->n_paths);
    put_command(writer, "More than chance? ", "regress", f->paths, f->n_paths);
}

static int compare(int argc, char **argv, const char **paths, size_t n_paths)
{
    rs_command diff;
    const words w = {(const char **)argv, (size_t)argc};
    if (!rs_command_find("diff", &diff)) return rs_complain_command("diff");
    rs_signals_install();
    int code = rs_command_answer_briefly(&diff, argc, argv, paths, n_paths);
    if (!is_answer(code) || !is_read_by_people(&w)) return code;
    const footer f = {.paths = paths, .n_paths = n_paths};
    int failed = rs_print(NULL, write_comparison_footer, &f);
    return failed == RS_EXIT_OK ? code : failed;
}

static int complain_unknown(const door *d, const char *path)
{
    if (!d->seen)
        rs_complain("%s: there is no file in this folder", path);
    else
        rs_complain(
            "%s: no trace, flight-recorder dump, log, memory snapshot, torch.compile log or overlap metrics among %zu file%s, such as %s; `rankscope "
            "COMMAND %s` says what a command makes of it",
            path, d->seen, d->seen == 1 ? "" : "s", d->first_unknown ? d->first_unknown : "", path);
    return RS_EXIT_INPUT;
}

bool rs_front_door(int argc, char **argv, int *code)
{
    int first = 0;
    size_t n = 1;
    while (first < argc && !is_path(argv[first])) first++;
    if (first == argc || (first > 0 && argv[0][0] != '-')) return false;
    door d = {0};
    rs_error err = RS_ERROR_INIT;
    const char **paths = rs_calloc((size_t)argc + 1, sizeof *paths);
    uint8_t *head = rs_malloc(HEAD);
    rs_status status = paths && head ? RS_OK : rs_fail_nomem(&err, "inputs");
    if (paths) paths[0] = RECURSIVE;
    list_kinds(&d);
    for (int i = 0; status == RS_OK && i < argc; i++) {
        if (!is_path(argv[i])) continue;
        paths[n++] = argv[i];
        status = look(&d, argv[i], 0, head, &err);
    }
    kind *chosen = most_urgent(&d);
    if (status != RS_OK)
        *code = rs_complain_error(NULL, &err);
    else if (!chosen)
        *code = complain_unknown(&d, argv[first]);
    else if (are_two_runs(chosen, paths + 1, n - 1))
        *code = compare(argc, argv, paths + 1, n - 1);
    else
        *code = answer(&d, chosen, argc, argv, paths, n);
    clear_door(&d);
    rs_free_all(paths, head);
    return true;
}
