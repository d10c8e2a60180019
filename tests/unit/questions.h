/* Everything that can be asked of a job, and jobs to ask it of: for the tests of runs. */
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "rankscope/rankscope.h"
#include "sink.h"
#include "support.h"

#define MAX_QUERIES 400

/* ---- all that can be asked ---------------------------------------------------------------------------- */

typedef struct questions {
    rs_query items[MAX_QUERIES];
    size_t n;
} questions;

static inline void add_query(questions *q, const rs_analysis *a, rs_compat compat, const char *name,
                             const char *value)
{
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(a, &n);
    rs_options *options = NULL;
    if (name) {
        assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
        assert_int_equal(rs_options_set(options, name, value, NULL), RS_OK);
    }
    assert_true(q->n < MAX_QUERIES);
    q->items[q->n++] = (rs_query){.analysis = a, .options = options, .compat = compat};
}

/* Whether an option is refused under a peer's rules, which have no such answer. */
static inline bool is_ours_alone(const char *analysis, const char *option, rs_compat compat)
{
    static const char *const ours[][2] = {{"breakdown", "host"}, {"frame", "calls"}};
    for (size_t i = 0; i < sizeof ours / sizeof *ours && compat != RS_COMPAT_NONE; i++)
        if (strcmp(analysis, ours[i][0]) == 0 && strcmp(option, ours[i][1]) == 0) return true;
    return false;
}

/* Every analysis of traces under every mode, with its defaults, each flag and each choice. */
static inline questions all_questions(bool with_options)
{
    questions q = {.n = 0};
    size_t n, n_tables, n_options;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++) {
        if (rs_analysis_input(rows[i]) != RS_INPUT_TRACES) continue;
        if (rows[i]->takes && !(rows[i]->takes & RS_TAKES(EVENTS))) continue; /* recordings of another kind */
        const rs_option_spec *specs = rs_analysis_options(rows[i], &n_options);
        for (rs_compat compat = RS_COMPAT_NONE; compat <= RS_COMPAT_STRAGGLER_ANALYSIS; compat++) {
            if (!rs_analysis_tables(rows[i], compat, &n_tables)) continue;
            add_query(&q, rows[i], compat, NULL, NULL);
            for (size_t k = 0; with_options && k < n_options; k++) {
                if (strcmp(specs[k].name, "args") == 0) add_query(&q, rows[i], compat, "args", "all");
                if (is_ours_alone(rs_analysis_name(rows[i]), specs[k].name, compat)) continue;
                if (specs[k].type == RS_OPTION_FLAG) add_query(&q, rows[i], compat, specs[k].name, NULL);
                if (specs[k].type != RS_OPTION_CHOICE) continue;
                char choices[256];
                snprintf(choices, sizeof choices, "%s", specs[k].choices);
                for (char *save, *word = strtok_r(choices, "|", &save); word;
                     word = strtok_r(NULL, "|", &save))
                    add_query(&q, rows[i], compat, specs[k].name, word);
            }
        }
    }
    return q;
}

static inline void clear_questions(questions *q)
{
    for (size_t i = 0; i < q->n; i++) rs_options_free((rs_options *)(uintptr_t)q->items[i].options);
}

/* ---- answers as text ---------------------------------------------------------------------------------- */

static inline collected rendered(const rs_result *result)
{
    collected out = {0};
    const rs_sink sink = {collect, &out};
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("json")};
    assert_int_equal(rs_render_result(result, result->main_table, &settings, &sink, NULL), RS_OK);
    char line[64];
    snprintf(line, sizeof line, "\ntables %zu, main %zu, found %d", result->n_tables, result->main_table,
             result->found);
    collect(&out, line, strlen(line));
    return out;
}

typedef struct folder {
    char name[64];
    char files[8][96];
    size_t n;
} folder;

static inline folder make_folder(void)
{
    folder f = {.name = "/tmp/rankscope-many-XXXXXX"};
    assert_non_null(mkdtemp(f.name));
    return f;
}

static inline void put_file(folder *f, const char *name, text *t)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", f->name, name);
    text_save(t, path);
    memcpy(f->files[f->n++], path, sizeof path);
    text_clear(t);
}

static inline void remove_folder(folder *f)
{
    while (f->n) unlink(f->files[--f->n]);
    rmdir(f->name);
}
