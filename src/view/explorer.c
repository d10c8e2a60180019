/* The explorer's job: reading it, what it is, and which path is answered by whom. */
#include "view/explorer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/problems.h"
#include "base/search.h"
#include "rankscope/text.h"

#define KEPT_BYTES (UINT64_C(1) << 30) /* of events, which further questions over ranks find loaded */

/* ---- requests ------------------------------------------------------------------------------------------ */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool rs_ask_text(const rs_explorer_request *request, const char *name, char *out, size_t size)
{
    const size_t length = strlen(name);
    for (const char *c = request->query; c && *c; c += strcspn(c, "&"), c += *c == '&') {
        size_t n = 0;
        if (strncmp(c, name, length) != 0 || c[length] != '=') continue;
        for (c += length + 1; *c && *c != '&'; c++) {
            const int high = *c == '%' ? digit_of(c[1]) : -1, low = high >= 0 ? digit_of(c[2]) : -1;
            if (n + 1 >= size || (*c == '%' && (low < 0 || high * 16 + low == 0)))
                return snprintf(out, size, "%%") > 0;
            out[n++] = *c == '%' ? (char)(high * 16 + low) : *c == '+' ? ' ' : *c;
            if (*c == '%') c += 2;
        }
        out[n] = '\0';
        return true;
    }
    return false;
}

int64_t rs_ask_int(const rs_explorer_request *request, const char *name, int64_t otherwise)
{
    char text[32], *end;
    if (!rs_ask_text(request, name, text, sizeof text)) return otherwise;
    errno = 0;
    const int64_t value = strtoll(text, &end, 10);
    return errno || end == text || *end ? INT64_MIN : value;
}

rs_status rs_ask_window(const rs_explorer_request *request, int64_t last, int64_t *from, int64_t *to,
                        rs_error *err)
{
    const int64_t most = INT64_C(1) << 60;
    *from = rs_ask_int(request, "from", 0);
    *to = rs_ask_int(request, "to", last);
    if (*from < 0 || *from >= *to || *to > most)
        return rs_fail(err, RS_ERR_USAGE, "from and to are ns from the job's first event, from before to");
    return RS_OK;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

bool rs_answer_append(void *context, const char *bytes, size_t n)
{
    rs_explorer_answer *a = context;
    if (n > SIZE_MAX - a->n - 1 || !rs_grow((void **)&a->bytes, &a->capacity, a->n + n + 1, 1)) return false;
    memcpy(a->bytes + a->n, bytes, n);
    a->n += n;
    return true;
}

bool rs_answer_print(rs_explorer_answer *answer, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return n >= 0 && rs_answer_append(answer, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void rs_explorer_answer_clear(rs_explorer_answer *answer)
{
    rs_free(answer->bytes);
    *answer = (rs_explorer_answer){0};
}

#define LARGE_ANSWER ((size_t)64 << 10)

void rs_explorer_answer_pack(rs_explorer_answer *answer)
{
    rs_explorer_answer packed = {.status = answer->status, .type = answer->type, .packed = true};
    const rs_sink sink = {rs_answer_append, &packed};
    rs_packer *packer = NULL;
    rs_error ignored = RS_ERROR_INIT;
    if (answer->n < LARGE_ANSWER || !answer->type || strcmp(answer->type, "application/json") != 0) return;
    bool ok = rs_packer_open(RS_PACK_GZIP, &sink, &packer, &ignored) == RS_OK;
    if (ok) {
        const rs_sink into = rs_packer_sink(packer);
        ok =
            into.write(into.context, answer->bytes, answer->n) && rs_packer_finish(packer, &ignored) == RS_OK;
    }
    rs_packer_close(packer);
    rs_explorer_answer_clear(ok ? answer : &packed);
    if (ok) *answer = packed;
}

unsigned rs_explorer_stage(const rs_explorer *x)
{
    return (x->preview ? 0 : 2) + (atomic_load(&x->waits.known) ? 1 : 0);
}

rs_status rs_answer_table(rs_explorer_answer *answer, const char *name, const rs_table *table, bool first,
                          rs_error *err)
{
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("json")};
    const rs_sink sink = {rs_answer_append, answer};
    rs_answer_print(answer, "%s\"%s\":", first ? "" : ",", name);
    return rs_render_table(table, &settings, &sink, err);
}

size_t rs_column_of(const rs_table *table, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    return SIZE_MAX;
}

/* ---- the job ------------------------------------------------------------------------------------------- */

/* The progress of a run: whether it goes on. */
static bool goes_on(void *context, uint64_t done, uint64_t total)
{
    const rs_desk *desk = context;
    const rs_explorer *x = desk->explorer;
    if (atomic_load(&x->stopped)) return false;
    if (desk->deadline > 0 && rs_clock_seconds() > desk->deadline) return false;
    return desk->deadline > 0 || !x->settings.progress ||
           x->settings.progress(x->settings.progress_context, done, total);
}

rs_job_settings rs_explorer_settings(rs_explorer *x, rs_explorer_desk desk)
{
    rs_job_settings settings = x->settings;
    settings.progress = goes_on;
    settings.progress_context = &x->desks[desk];
    settings.keep = desk != RS_DESK_MAP;
    if (settings.keep && !settings.keep_memory) settings.keep_memory = KEPT_BYTES;
    return settings;
}

rs_status rs_explorer_open_job(rs_explorer *x, rs_explorer_desk desk, rs_job **out, rs_error *err)
{
    const rs_job_settings settings = rs_explorer_settings(x, desk);
    return rs_job_open(x->paths, x->n_paths, &settings, out, err);
}

/* The first row of a rank in info; SIZE_MAX: none. */
static size_t row_of_rank(const rs_explorer *x, int64_t rank)
{
    const rs_table *info = rs_result_table(&x->info, "ranks");
    const size_t column = rs_column_of(info, "rank"), n = rs_table_n_rows(info);
    size_t at;
    RS_SEARCH(at, n, rs_table_int(info, at, column) < rank);
    return at < n && rs_table_int(info, at, column) == rank ? at : SIZE_MAX;
}

const char *rs_explorer_role(const rs_explorer *x, int64_t rank)
{
    const rs_table *info = rs_result_table(&x->info, "ranks");
    const size_t row = row_of_rank(x, rank);
    const char *role = row == SIZE_MAX ? NULL : rs_table_text(info, row, rs_column_of(info, "role"), NULL);
    return role ? role : "";
}

rs_status rs_explorer_open_rank(rs_explorer *x, int64_t rank, char text[24], rs_job **out, rs_error *err)
{
    const rs_table *info = rs_result_table(&x->info, "ranks");
    const size_t row = row_of_rank(x, rank);
    rs_job_settings settings = rs_explorer_settings(x, RS_DESK_RANK);
    settings.absolute = true;
    snprintf(text, 24, "%lld", (long long)rank);
    if (!x->own_files || settings.window || row == SIZE_MAX) {
        settings.ranks = text;
        return rs_job_open(x->paths, x->n_paths, &settings, out, err);
    }
    const rs_job_file file = {.name = rs_table_text(info, row, rs_column_of(info, "file"), NULL),
                              .rank = rank};
    settings.ranks = NULL;
    RS_TRY(rs_job_open(NULL, 0, &settings, out, err));
    return rs_job_add(*out, &file, err);
}

/* Whether every rank is one file, and every file one rank. */
static bool has_own_files(const rs_job *job, const rs_table *info)
{
    const size_t n = rs_table_n_rows(info), column = rs_column_of(info, "file");
    if (rs_job_n_files(job) != n) return false;
    for (size_t i = 1; i < n; i++) /* those of one file follow each other */
        if (strcmp(rs_table_text(info, i, column, NULL), rs_table_text(info, i - 1, column, NULL)) == 0)
            return false;
    return true;
}

rs_status rs_explorer_run(rs_job *job, const char *name, const char *const options[][2], rs_result *result,
                          rs_error *err)
{
    const rs_analysis *analysis = rs_analysis_find(name);
    rs_options *chosen = NULL;
    size_t n;
    *result = (rs_result){0};
    if (!analysis) return rs_fail(err, RS_ERR_USAGE, "there is no command \"%.60s\"", name);
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    rs_status status = rs_options_create(specs, n, &chosen, err);
    for (size_t i = 0; status == RS_OK && options && options[i][0]; i++)
        status = rs_options_set(chosen, options[i][0], options[i][1], err);
    if (status == RS_OK) status = rs_job_run(job, analysis, chosen, RS_COMPAT_NONE, result, err);
    rs_options_free(chosen);
    return status;
}

enum { ASK_MAP, ASK_INFO, ASK_STEPS, N_ASKED };

static rs_status read_job(rs_explorer *x, rs_result *told, rs_error *err)
{
    rs_job *job = NULL;
    rs_result results[N_ASKED] = {{0}};
    const rs_query queries[N_ASKED] = {{.analysis = rs_analysis_find("map")},
                                       {.analysis = rs_analysis_find("info"), .tables_alone = true},
                                       {.analysis = rs_analysis_find("steps"), .tables_alone = true}};
    RS_TRY(rs_explorer_open_job(x, RS_DESK_MAP, &job, err));
    rs_status status = rs_job_run_many(job, queries, N_ASKED, results, err);
    x->own_files = status == RS_OK && has_own_files(job, rs_result_table(&results[ASK_INFO], "ranks"));
    rs_job_close(job);
    if (status == RS_OK) {
        const rs_table *t = rs_result_table(&results[ASK_MAP], "map");
        x->origin = rs_table_origin(t);
        status = rs_map_make(t, &x->map, err);
    }
    x->info = results[ASK_INFO];
    x->steps = results[ASK_STEPS];
    *told =
        results[ASK_MAP]; /* with its problems and notes: those of the files. The rows are on the map now */
    for (size_t i = 0; i < told->n_tables; i++) rs_table_free(told->tables[i]);
    rs_free(told->tables);
    told->tables = NULL;
    told->n_tables = 0;
    /* the first question has them all */
    for (size_t i = 0; i < told->problems.n; i++)
        rs_problems_adopt(&x->info.problems, &told->problems.items[i]);
    return status;
}

static rs_explorer *create(const char *const *paths, size_t n, const rs_job_settings *settings)
{
    rs_explorer *x = rs_calloc(1, sizeof *x);
    if (!x) return NULL;
    x->paths = paths;
    x->n_paths = n;
    x->settings = *settings;
    for (size_t i = 0; i < RS_N_DESKS; i++) x->desks[i].explorer = x;
    return x;
}

/* Takes x over. */
static rs_status fill(rs_explorer *x, rs_explorer **out, rs_result *told, rs_error *err)
{
    rs_status status = read_job(x, told, err);
    if (status == RS_OK && !x->map.n) status = rs_fail(err, RS_ERR_USAGE, "no rank has anything to draw");
    if (status == RS_OK)
        *out = x;
    else
        rs_explorer_close(x);
    return status;
}

rs_status rs_explorer_open(const char *const *paths, size_t n, const rs_job_settings *settings,
                           rs_explorer **out, rs_result *told, rs_error *err)
{
    rs_explorer *x = create(paths, n, settings);
    return x ? fill(x, out, told, err) : rs_fail_nomem(err, "the explorer");
}

/* ---- a preview ------------------------------------------------------------------------------------------ */

/* Of fewer files most of the job would be read twice. */
#define PREVIEW_FILES ((size_t)4 * RS_PREVIEW_RANKS)

/* Ranks at even distances. false: it is not known which file is which rank before all are read. */
static bool choose(const rs_job *job, rs_explorer *x)
{
    const size_t n = rs_job_n_files(job);
    if (n < PREVIEW_FILES) return false;
    for (size_t i = 0; i < RS_PREVIEW_RANKS; i++) {
        const rs_job_file file = rs_job_get_file(job, i * (n - 1) / (RS_PREVIEW_RANKS - 1));
        if (file.rank >= 0 || file.n_parts > 1 || file.instead || file.remote ||
            rs_rank_in_name(file.name) < 0)
            return false;
        x->chosen[i] = rs_strdup(file.name);
        if (!x->chosen[i]) return false;
    }
    x->paths = (const char *const *)x->chosen;
    x->n_paths = RS_PREVIEW_RANKS;
    return true;
}

rs_status rs_explorer_preview(const char *const *paths, size_t n, const rs_job_settings *settings,
                              rs_explorer **out, rs_error *err)
{
    rs_job *job = NULL;
    rs_result told = {0};
    *out = NULL;
    if (settings->ranks || settings->window) return RS_OK; /* a window counts from the first event of all */
    RS_TRY(rs_job_open(paths, n, settings, &job, err));
    rs_explorer *x = create(paths, n, settings);
    const bool worth = x && choose(job, x);
    rs_job_close(job);
    if (!worth) {
        rs_explorer_close(x);
        return RS_OK;
    }
    x->preview = true;
    rs_status status = fill(x, out, &told, err);
    rs_result_clear(&told);
    return status == RS_ERR_CANCELLED ? status : RS_OK; /* the whole job says what is wrong with it */
}

void rs_explorer_close(rs_explorer *x)
{
    if (!x) return;
    rs_map_clear(&x->map);
    rs_waits_clear(&x->waits);
    rs_result_clear(&x->info);
    rs_result_clear(&x->steps);
    rs_result_clear(&x->held);
    rs_job_close(x->memory);
    for (size_t i = 0; i < RS_LOADED_RANKS; i++) rs_rank_lanes_free(x->loaded[i]);
    if (x->judged) rs_result_clear(&x->verdict);
    for (size_t i = 0; i < x->n_mended; i++) {
        rs_free_all(x->mended[i].edit, x->mended[i].answer);
        rs_map_clear(&x->mended[i].map);
    }
    rs_job_close(x->job);
    for (size_t i = 0; i < RS_PREVIEW_RANKS; i++) rs_free(x->chosen[i]);
    rs_free(x);
}

void rs_explorer_stop(rs_explorer *x)
{
    atomic_store(&x->stopped, true);
}

/* ---- what the job is ------------------------------------------------------------------------------------ */

static const rs_column_spec rank_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"host", RS_TEXT, RS_UNIT_NONE, "its host, where that is known", NULL},
    {"first_ns", RS_TIME, RS_UNIT_NS, "its first moment on the map, from the job's first event", NULL},
    {"last_ns", RS_TIME, RS_UNIT_NS, "its last", NULL},
    {"events", RS_INT, RS_UNIT_COUNT, "events", NULL},
    {"device", RS_TEXT, RS_UNIT_NONE, "name of its device", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "the file it was read from", NULL},
    {"world", RS_INT, RS_UNIT_COUNT, "ranks of the whole job; unknown: the file does not say", NULL},
    {"role", RS_TEXT, RS_UNIT_NONE, "what it does in the job; unknown: nothing says", NULL},
};
static const rs_table_spec rank_table = {"ranks", "one row is one rank", rank_columns,
                                         sizeof rank_columns / sizeof *rank_columns};
static const rs_column_spec step_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"step", RS_INT, RS_UNIT_ID, "number of the step", NULL},
    {"from_ns", RS_TIME, RS_UNIT_NS, "its start on the host", NULL},
    {"to_ns", RS_TIME, RS_UNIT_NS, "its end", NULL},
};
static const rs_table_spec step_table = {"steps", "one row is a step of a rank", step_columns,
                                         sizeof step_columns / sizeof *step_columns};
static const rs_column_spec note_columns[] = {
    {"file", RS_TEXT, RS_UNIT_NONE, "file", NULL},
    {"message", RS_TEXT, RS_UNIT_NONE, "what is wrong with it", NULL},
    {"count", RS_INT, RS_UNIT_COUNT, "how often", NULL},
};
static const rs_table_spec note_table = {"lost", "one row is a kind of defect of a file, or a note",
                                         note_columns, sizeof note_columns / sizeof *note_columns};

static const rs_column_spec path_columns[] = {
    {"path", RS_TEXT, RS_UNIT_NONE, "as the program was given it", NULL}};
static const rs_table_spec path_table = {"paths", "one row is a path", path_columns, 1};

static rs_status put_paths(const char *name, const char *const *paths, size_t n, rs_explorer_answer *answer,
                           rs_error *err)
{
    rs_table *t = rs_table_create(&path_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the paths");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        rs_table_add_text(t, paths[i]);
        status = rs_table_end_row(t, err);
    }
    if (status == RS_OK) status = rs_answer_table(answer, name, t, false, err);
    rs_table_free(t);
    return status;
}

static rs_status put_ranks(const rs_explorer *x, rs_explorer_answer *answer, rs_error *err)
{
    const rs_table *info = rs_result_table(&x->info, "ranks");
    rs_table *t = rs_table_create(&rank_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the ranks");
    const size_t rank = rs_column_of(info, "rank"), events = rs_column_of(info, "events"),
                 device = rs_column_of(info, "device_name"), file = rs_column_of(info, "file"),
                 label = rs_column_of(info, "label"), world = rs_column_of(info, "world_size"),
                 role = rs_column_of(info, "role");
    for (size_t i = 0, at = 0; status == RS_OK && i < x->map.n; i++) {
        const rs_map_rank *r = &x->map.ranks[i];
        while (at < rs_table_n_rows(info) && rs_table_int(info, at, rank) < r->rank) at++;
        const bool known = at < rs_table_n_rows(info) && rs_table_int(info, at, rank) == r->rank;
        rs_table_add_int(t, r->rank);
        rs_table_add_text(t, known && label != SIZE_MAX ? rs_table_text(info, at, label, NULL) : NULL);
        rs_table_add_time(t, r->from[0]);
        rs_table_add_time(t, r->to[r->n - 1]);
        rs_table_add_int(t, known ? rs_table_int(info, at, events) : 0);
        rs_table_add_text(t, known ? rs_table_text(info, at, device, NULL) : NULL);
        rs_table_add_text(t, known ? rs_table_text(info, at, file, NULL) : NULL);
        if (known && !rs_table_is_null(info, at, world))
            rs_table_add_int(t, rs_table_int(info, at, world));
        else
            rs_table_add_null(t);
        rs_table_add_text(t, known ? rs_table_text(info, at, role, NULL) : NULL);
        status = rs_table_end_row(t, err);
    }
    if (status == RS_OK) status = rs_answer_table(answer, "ranks", t, true, err);
    rs_table_free(t);
    return status;
}

static rs_status put_steps(const rs_explorer *x, rs_explorer_answer *answer, rs_error *err)
{
    const rs_table *steps = rs_result_table(&x->steps, "steps");
    rs_table *t = rs_table_create(&step_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the steps");
    const size_t rank = rs_column_of(steps, "rank"), step = rs_column_of(steps, "step"),
                 start = rs_column_of(steps, "start_us"), length = rs_column_of(steps, "length_us");
    for (size_t i = 0; status == RS_OK && i < rs_table_n_rows(steps); i++) {
        if (rs_table_is_null(steps, i, start) || rs_table_is_null(steps, i, length)) continue;
        const int64_t from = rs_table_int(steps, i, start);
        rs_table_add_int(t, rs_table_int(steps, i, rank));
        rs_table_add_int(t, rs_table_int(steps, i, step));
        rs_table_add_time(t, from);
        rs_table_add_time(t, from + rs_table_int(steps, i, length));
        status = rs_table_end_row(t, err);
    }
    if (status == RS_OK) status = rs_answer_table(answer, "steps", t, false, err);
    rs_table_free(t);
    return status;
}

static rs_status put_losses(const rs_explorer *x, rs_explorer_answer *answer, rs_error *err)
{
    rs_table *t = rs_table_create(&note_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "what was lost");
    for (size_t i = 0; status == RS_OK && i < x->info.problems.n; i++) {
        const rs_problem *p = &x->info.problems.items[i];
        rs_table_add_text(t, p->file);
        rs_table_add_text(t, p->detail ? p->detail : p->message);
        rs_table_add_int(t, (int64_t)p->count);
        status = rs_table_end_row(t, err);
    }
    for (size_t i = 0; status == RS_OK && i < x->info.n_notes; i++) {
        rs_table_add_null(t);
        rs_table_add_text(t, x->info.notes[i]);
        rs_table_add_int(t, 1);
        status = rs_table_end_row(t, err);
    }
    if (status == RS_OK) status = rs_answer_table(answer, "lost", t, false, err);
    rs_table_free(t);
    return status;
}

/* In the order of the map's classes; the light theme's colours. */
static void put_classes(rs_explorer_answer *answer)
{
    static const char *const colours[RS_EXPLORER_CLASSES] = {"#2a6fbb", "#2a6fbb", "#e8833a", "#f6d9a8",
                                                             "#f3c14b", "#7d6bb2", "#b65fa3", "#c2403d",
                                                             "#e3e6ea", "#e3e6ea"};
    rs_answer_print(answer, ",\"classes\":[");
    for (size_t k = 0; k < RS_EXPLORER_CLASSES; k++)
        rs_answer_print(answer, "%s{\"name\":\"%s\",\"colour\":\"%s\"}", k ? "," : "", rs_map_class_names[k],
                        colours[k]);
    rs_answer_print(answer, "]");
}

rs_status rs_answer_job(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                        rs_error *err)
{
    (void)request;
    rs_answer_print(answer,
                    "{\"version\":\"%s\",\"origin_ns\":%lld,\"first_ns\":0,\"last_ns\":%lld,\"memory\":%s,",
                    RS_VERSION, (long long)x->origin, (long long)x->map.last, x->memory ? "true" : "false");
    RS_TRY(put_ranks(x, answer, err));
    RS_TRY(put_steps(x, answer, err));
    RS_TRY(put_paths("paths", x->paths, x->n_paths, answer, err));
    RS_TRY(put_paths("snapshots", x->snapshots, x->n_snapshots, answer, err));
    put_classes(answer);
    RS_TRY(put_losses(x, answer, err));
    return rs_answer_append(answer, "}", 1) ? RS_OK : rs_fail_nomem(err, "the answer");
}

/* ---- paths --------------------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    bool post;
    rs_explorer_desk desk;
    rs_explorer_path *answer;
} paths_of_api[] = {
    {"job", false, RS_DESK_MAP, rs_answer_job},
    {"map", false, RS_DESK_MAP, rs_answer_map},
    {"lanes", false, RS_DESK_RANK, rs_answer_lanes},
    {"event", false, RS_DESK_RANK, rs_answer_event},
    {"findings", false, RS_DESK_JOB, rs_answer_findings},
    {"select", false, RS_DESK_JOB, rs_answer_select},
    {"why", false, RS_DESK_JOB, rs_answer_why},
    {"whatif", true, RS_DESK_JOB, rs_answer_what_if},
    {"path", false, RS_DESK_JOB, rs_answer_path},
    {"waits", false, RS_DESK_JOB, rs_answer_waits},
    {"search", false, RS_DESK_JOB, rs_answer_search},
    {"sql", true, RS_DESK_JOB, rs_answer_sql},
    {"memory", false, RS_DESK_JOB, rs_answer_memory},
    {"counters", false, RS_DESK_RANK, rs_answer_counters},
};
enum { N_PATHS = sizeof paths_of_api / sizeof *paths_of_api };

static size_t find_path(const char *path, bool post)
{
    size_t i = 0;
    while (i < N_PATHS && (strcmp(paths_of_api[i].path, path) != 0 || paths_of_api[i].post != post)) i++;
    return i;
}

rs_explorer_desk rs_explorer_desk_of(const char *path, bool post)
{
    const size_t i = find_path(path, post);
    return i < N_PATHS ? paths_of_api[i].desk : RS_DESK_NONE;
}

static void refuse(rs_status status, const rs_error *err, rs_explorer_answer *answer)
{
    char text[2048];
    rs_explorer_answer_clear(answer);
    answer->status = status == RS_ERR_USAGE || status == RS_ERR_LIMIT ? 400
                     : status == RS_ERR_CANCELLED                     ? 503
                                                                      : 500;
    answer->type = "text/plain; charset=utf-8";
    if (status == RS_ERR_CANCELLED)
        rs_answer_print(answer,
                        "This took more than %d seconds and was stopped; the command line has no limit.",
                        RS_EXPLORER_SECONDS);
    else
        rs_error_text(err, text, sizeof text);
    if (status != RS_ERR_CANCELLED) rs_answer_append(answer, text, strlen(text));
}

void rs_explorer_ask(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer)
{
    rs_error err = RS_ERROR_INIT;
    const size_t at = find_path(request->path, request->body != NULL);
    *answer = (rs_explorer_answer){.status = 200, .type = "application/json"};
    if (at == N_PATHS) {
        refuse(rs_fail(&err, RS_ERR_USAGE, "there is no such question"), &err, answer);
        return;
    }
    if (paths_of_api[at].desk != RS_DESK_MAP)
        x->desks[paths_of_api[at].desk].deadline = rs_clock_seconds() + RS_EXPLORER_SECONDS;
    const rs_status status = paths_of_api[at].answer(x, request, answer, &err);
    if (status != RS_OK) refuse(status, &err, answer);
}
