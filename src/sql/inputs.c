/* Several jobs in one session: which of them a statement names, and what compares them. A name is looked for among the
 * inputs that the session was given, so that a statement reaches no file by it. */
#include <stdio.h>
#include <string.h>

#include "rankscope/regress.h"
#include "sql/session.h"

/* ---- names -------------------------------------------------------------------------------------------- */

static size_t n_inputs(const rs_sql_session *s)
{
    return s->settings.n_inputs ? s->settings.n_inputs : 1;
}

/* "1 (base), 2 (new)" */
static void list_inputs(const rs_sql_session *s, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < s->settings.n_inputs && used + 1 < size; i++) {
        int n = snprintf(out + used, size - used, "%s%zu (%.60s)", i ? ", " : "", i + 1,
                         s->settings.inputs[i].name);
        used += n < 0 ? 0 : (size_t)n;
    }
}

static rs_status no_input(const rs_sql_session *s, const rs_sql_table *t, const char *word, size_t n,
                          rs_error *err)
{
    char known[300] = "1";
    list_inputs(s, known, sizeof known);
    return rs_fail(err, RS_ERR_USAGE, "%s: there is no input '%.*s'; there is %s", t->name,
                   n > 80 ? 80 : (int)n, word, known);
}

static bool is_number(const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (word[i] < '0' || word[i] > '9') return false;
    return n > 0 && n < 7;
}

/* A name is found before a number. SIZE_MAX: there is no such input. */
static size_t find_input(const rs_sql_session *s, const char *word, size_t n)
{
    size_t number = 0;
    for (size_t i = 0; i < s->settings.n_inputs; i++)
        if (strlen(s->settings.inputs[i].name) == n && memcmp(s->settings.inputs[i].name, word, n) == 0)
            return i;
    if (!is_number(word, n)) return SIZE_MAX;
    for (size_t i = 0; i < n; i++) number = number * 10 + (size_t)(word[i] - '0');
    return number >= 1 && number <= n_inputs(s) ? number - 1 : SIZE_MAX;
}

static bool holds(const size_t *list, size_t n, size_t input)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == input) return true;
    return false;
}

/* The inputs of a list, each once. */
static rs_status read_list(rs_sql_session *s, const rs_sql_table *t, const char *text, size_t *list,
                           size_t *n, rs_error *err)
{
    *n = 0;
    for (const char *p = text;; p++) {
        while (*p == ' ') p++;
        size_t length = strcspn(p, ","), word = length;
        while (word && p[word - 1] == ' ') word--;
        size_t input = find_input(s, p, word);
        if (input == SIZE_MAX) return no_input(s, t, p, word, err);
        if (!holds(list, *n, input)) list[(*n)++] = input;
        p += length;
        if (!*p) return RS_OK;
    }
}

static size_t write_list(char *out, const size_t *list, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) used += (size_t)sprintf(out + used, "%s%zu", i ? "," : "", list[i]);
    return used;
}

/* What is compared when only the base is said, or nothing: all others. */
static void take_others(const rs_sql_session *s, rs_sql_inputs *in)
{
    for (size_t i = 0; i < s->settings.n_inputs; i++)
        if (!holds(in->base, in->n_base, i)) in->other[in->n_other++] = i;
}

static rs_status check_sides(const rs_sql_session *s, const rs_sql_table *t, const rs_sql_inputs *in,
                             rs_error *err)
{
    char known[300] = "";
    bool two = t->analysis && rs_analysis_input(t->analysis) == RS_INPUT_TWO_JOBS;
    list_inputs(s, known, sizeof known);
    if (t->analysis && in->n_base != 1)
        return rs_fail(err, RS_ERR_USAGE, "%s: one input is compared with, not %zu: %s('1', '2')", t->name,
                       in->n_base, t->name);
    if (in->n_other == 0 || (two && in->n_other != 1))
        return rs_fail(err, RS_ERR_USAGE, "%s: which %s compared? %s('1', '2'); there is %s", t->name,
                       two ? "two inputs are" : "inputs are", t->name, known);
    return RS_OK;
}

rs_status rs_sql_inputs_read(rs_sql_session *s, const rs_sql_table *t, const char *base, const char *other,
                             rs_sql_inputs *out, rs_error *err)
{
    size_t n = n_inputs(s);
    *out = (rs_sql_inputs){.base = rs_calloc(n, sizeof *out->base),
                           .other = rs_calloc(n, sizeof *out->other),
                           .text = rs_malloc(2 * n * 21 + 2)};
    rs_status status = out->base && out->other && out->text ? RS_OK : rs_fail_nomem(err, "inputs");
    if (status == RS_OK && base) status = read_list(s, t, base, out->base, &out->n_base, err);
    if (status == RS_OK && !base) out->n_base = 1; /* the first */
    if (status == RS_OK && !t->compares && out->n_base != 1)
        status = rs_fail(err, RS_ERR_USAGE, "%s is of one input at a time", t->name);
    if (status == RS_OK && t->compares && other)
        status = read_list(s, t, other, out->other, &out->n_other, err);
    if (status == RS_OK && t->compares && !other) take_others(s, out);
    if (status == RS_OK && t->compares) status = check_sides(s, t, out, err);
    if (status != RS_OK) {
        rs_sql_inputs_clear(out);
        return status;
    }
    size_t used = write_list(out->text, out->base, out->n_base);
    out->text[used++] = ';';
    out->text[used + write_list(out->text + used, out->other, out->n_other)] = 0;
    return RS_OK;
}

void rs_sql_inputs_clear(rs_sql_inputs *in)
{
    rs_free_all(in->base, in->other, in->text);
    *in = (rs_sql_inputs){0};
}

/* ---- regress ------------------------------------------------------------------------------------------ */

const rs_option_spec rs_sql_regress_options[] = {
    {"alpha", RS_OPTION_REAL, "SHARE", NULL, "0.05", "share of false alarms that is accepted"},
    {"min-effect", RS_OPTION_REAL, "PCT", NULL, "0.5", "a change below PCT percent does not matter"},
    {"between-run-sd", RS_OPTION_REAL, "PCT", NULL, NULL, "how much equal runs differ, known from elsewhere"},
    {"by", RS_OPTION_CHOICE, "KEY", "kernel|part|operator|phase|group", "kernel",
     "what the change is divided by"},
    {"method", RS_OPTION_CHOICE, "HOW", "path|exposed", "path", "what the parts are parts of"},
    {"step", RS_OPTION_CHOICE, "WHOSE", "rank|job", "rank", "whose step"},
};
const size_t rs_sql_n_regress_options = sizeof rs_sql_regress_options / sizeof *rs_sql_regress_options;

static bool is_chosen(const rs_options *o, const char *name, const char *value)
{
    return strcmp(rs_options_text(o, name), value) == 0;
}

static rs_status regress_settings(const rs_options *o, rs_regress_settings *out, rs_error *err)
{
    static const char *const keys[] = {[RS_REGRESS_KERNEL] = "kernel",
                                       [RS_REGRESS_PART] = "part",
                                       [RS_REGRESS_OPERATOR] = "operator",
                                       [RS_REGRESS_PHASE] = "phase",
                                       [RS_REGRESS_GROUP] = "group"};
    double sd = rs_options_is_set(o, "between-run-sd") ? rs_options_real(o, "between-run-sd") / 100 : -1;
    *out = (rs_regress_settings){.size = sizeof *out,
                                 .alpha = rs_options_real(o, "alpha"),
                                 .min_effect = rs_options_real(o, "min-effect") / 100,
                                 .between_run_sd = sd};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_chosen(o, "by", keys[i])) out->key = (rs_regress_key)i;
    out->method = is_chosen(o, "method", "exposed") ? RS_REGRESS_EXPOSED : RS_REGRESS_PATH;
    if (!(out->alpha > 0 && out->alpha < 0.5))
        return rs_fail(err, RS_ERR_USAGE, "--alpha takes a share above 0 and below 0.5");
    if (!(out->min_effect >= 0)) return rs_fail(err, RS_ERR_USAGE, "--min-effect takes 0 or more percent");
    if (rs_options_is_set(o, "between-run-sd") && !(sd >= 0))
        return rs_fail(err, RS_ERR_USAGE, "--between-run-sd takes 0 or more percent");
    return RS_OK;
}

/* Each input is a run. */
static rs_status add_runs(rs_sql_session *s, rs_regress_side *side, const size_t *list, size_t n,
                          rs_result *told, rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const rs_sql_input *input = &s->settings.inputs[list[i]];
        RS_TRY(rs_regress_add_run(side, input->name, input->job, told, err));
    }
    return RS_OK;
}

static rs_status run_regress(rs_sql_session *s, const rs_sql_inputs *in, const rs_options *options,
                             rs_result *result, rs_error *err)
{
    rs_regress_side *base = NULL, *now = NULL;
    rs_regress_settings settings;
    rs_regress_verdict verdict;
    const rs_regress_side_settings side = {.size = sizeof side,
                                           .step = is_chosen(options, "step", "job") ? RS_REGRESS_STEP_JOB
                                                                                     : RS_REGRESS_STEP_RANK,
                                           .no_path = is_chosen(options, "method", "exposed")};
    RS_TRY(regress_settings(options, &settings, err));
    rs_status status = rs_regress_side_create(&side, &base, err);
    if (status == RS_OK) status = rs_regress_side_create(&side, &now, err);
    if (status == RS_OK) status = add_runs(s, base, in->base, in->n_base, result, err);
    if (status == RS_OK) status = add_runs(s, now, in->other, in->n_other, result, err);
    if (status == RS_OK) status = rs_regress(base, now, &settings, result, &verdict, err);
    rs_regress_side_free(base);
    rs_regress_side_free(now);
    return status;
}

/* ---- running ------------------------------------------------------------------------------------------ */

static rs_status run_inputs(rs_sql_session *s, const rs_analysis *analysis, const rs_sql_inputs *in,
                            const rs_options *options, rs_result *result, rs_error *err)
{
    const rs_sql_input *inputs = s->settings.inputs;
    if (!analysis) return run_regress(s, in, options, result, err);
    if (in->n_other == 0) {
        const rs_query query = {.analysis = analysis, .options = options, .tables_alone = true};
        return rs_job_run_many(in->base[0] ? inputs[in->base[0]].job : s->job, &query, 1, result, err);
    }
    rs_job **jobs = rs_calloc(1 + in->n_other, sizeof *jobs);
    if (!jobs) return rs_fail_nomem(err, "inputs");
    jobs[0] = inputs[in->base[0]].job;
    for (size_t i = 0; i < in->n_other; i++) jobs[1 + i] = inputs[in->other[i]].job;
    rs_status status = rs_job_run_jobs(jobs, 1 + in->n_other, analysis, options, RS_COMPAT_NONE, result, err);
    rs_free(jobs);
    return status;
}

rs_status rs_sql_inputs_run(rs_sql_session *s, const rs_analysis *analysis, const rs_sql_inputs *in,
                            const rs_options *options, rs_result *result, rs_error *err)
{
    rs_sql_load_begin(s);
    rs_status status = run_inputs(s, analysis, in, options, result, err);
    rs_sql_load_end(s);
    return status;
}
