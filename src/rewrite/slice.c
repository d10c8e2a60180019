#include "rankscope/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/ranges.h"
#include "base/settings.h"
#include "base/try.h"
#include "job/job.h"
#include "rewrite/fuse_internal.h"
#include "rewrite/scrub.h"
#include "rewrite/slice_event.h"
#include "rewrite/slice_pairs.h"
#include "table/record.h"

typedef struct slice_row {
    const char *file;
    uint64_t chosen, around, cut, left_out;
} slice_row;

#define SLICE_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(slice_row, file), "file", TEXT, NONE, "where it comes from", NULL)                               \
    CELL(OF(slice_row, chosen), "chosen", INT, COUNT, "events that were asked for", NULL)                    \
    CELL(OF(slice_row, around), "around", INT, COUNT,                                                        \
         "launches, enclosing events, annotations of steps and arrows that belong to them", NULL)            \
    CELL(OF(slice_row, cut), "cut", INT, COUNT, "of these, shortened to the time of the slice", NULL)        \
    CELL(OF(slice_row, left_out), "left_out", INT, COUNT, "events that are not in the slice", "left out")
RS_RECORD(slice, SLICE_ROW);

#define LEFT_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_slice_left, category), "category", TEXT, NONE, "category of the events", NULL)                \
    CELL(OF(rs_slice_left, n), "events", INT, COUNT, "events that are not in the slice", NULL)               \
    CELL(OF(rs_slice_left, ns), "time_us", TIME, US, "their durations added up", "time")
RS_RECORD(left, LEFT_ROW);

static const rs_table_spec slice_table = {"slice", "one row is one rank of the slice", slice_columns,
                                          sizeof slice_columns / sizeof *slice_columns};
static const rs_table_spec left_table = {"left_out", "what the slice does not hold, by category",
                                         left_columns, sizeof left_columns / sizeof *left_columns};
const rs_table_spec *const rs_slice_tables[RS_N_SHARE_TABLES] = {&slice_table, &left_table, &rs_scrub_table};

struct rs_slicing {
    rs_job *job;
    rs_slice_settings settings; /* their texts are not kept */
    rs_where *where;
    char *condition; /* all settings as one condition */
    rs_slice_choice choice;
    rs_fuse_plan plan;
    rs_scrub scrub; /* with share */
};

/* ---- the settings as one condition --------------------------------------------------------------------- */

typedef struct condition {
    char *text;
    size_t n, capacity;
    bool failed;
} condition;

static void add(condition *c, const char *text, size_t n)
{
    if (c->failed || !rs_grow((void **)&c->text, &c->capacity, c->n + n + 1, 1)) {
        c->failed = true;
        return;
    }
    memcpy(c->text + c->n, text, n);
    c->text[c->n += n] = '\0';
}

static void add_word(condition *c, const char *word)
{
    add(c, word, strlen(word));
}

static void add_quoted(condition *c, const char *text, size_t n)
{
    add_word(c, "\"");
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\') add_word(c, "\\");
        add(c, text + i, 1);
    }
    add_word(c, "\"");
}

/* "FIELD in ("a", "b")" of a list separated by commas; each text quoted. */
static void add_list(condition *c, const char *before, const char *list)
{
    bool first = true;
    add_word(c, c->n ? " and " : "");
    add_word(c, before);
    for (const char *at = list; *at;) {
        while (*at == ' ') at++;
        size_t n = strcspn(at, ",");
        if (n) {
            add_word(c, first ? "(" : ", ");
            add_quoted(c, at, n);
            first = false;
        }
        at += n;
        at += *at == ',';
    }
    add_word(c, first ? "(\"\")" : ")");
}

static rs_status add_streams(condition *c, const char *streams, rs_error *err)
{
    rs_ranges ranges;
    rs_status status = rs_ranges_parse(streams, &ranges, err);
    if (status != RS_OK) {
        rs_error_wrap(err, "--streams");
        return status;
    }
    add_word(c, c->n ? " and stream in (" : "stream in (");
    for (size_t i = 0; i < ranges.n; i++) {
        char text[60];
        snprintf(text, sizeof text, "%s%lld-%lld", i ? ", " : "", (long long)ranges.items[i].first,
                 (long long)ranges.items[i].last);
        add_word(c, text);
    }
    add_word(c, ")");
    rs_ranges_clear(&ranges);
    return RS_OK;
}

static rs_status add_under(condition *c, const char *under, rs_error *err)
{
    /* what is no condition by itself is a name */
    rs_where *parsed;
    bool is_condition = strpbrk(under, "=~<>") && rs_where_parse(under, "--under", &parsed, NULL) == RS_OK;
    if (is_condition) rs_where_free(parsed);
    if (!*under) return rs_fail(err, RS_ERR_USAGE, "--under takes the name of an event");
    add_word(c, c->n ? " and under(" : "under(");
    if (is_condition)
        add_word(c, under);
    else
        add_quoted(c, under, strlen(under));
    add_word(c, ")");
    return RS_OK;
}

static rs_status make_condition(const rs_slice_settings *s, char **text, rs_where **where, rs_error *err)
{
    condition c = {0};
    rs_status status = RS_OK;
    *text = NULL;
    RS_TRY(rs_where_parse(s->where, "--where", where, err));
    if (s->where && *s->where) {
        add_word(&c, "(");
        add_word(&c, s->where);
        add_word(&c, ")");
    }
    rs_where_free(*where);
    *where = NULL;
    if (s->streams) status = add_streams(&c, s->streams, err);
    if (s->threads) {
        add_list(&c, "under(tid in ", s->threads);
        add_word(&c, ")");
    }
    if (s->categories) add_list(&c, "cat in ", s->categories);
    if (s->without) add_list(&c, "not cat in ", s->without);
    if (s->name) {
        add_word(&c, c.n ? " and name ~ " : "name ~ ");
        add_quoted(&c, s->name, strlen(s->name));
    }
    if (s->under && status == RS_OK) status = add_under(&c, s->under, err);
    if (status == RS_OK && c.failed) status = rs_fail_nomem(err, "condition");
    if (status == RS_OK) status = rs_where_parse(c.text, "--where", where, err);
    if (status == RS_OK)
        *text = c.text;
    else
        rs_free(c.text);
    return status;
}

rs_status rs_slice_check(const rs_slice_settings *given, rs_error *err)
{
    rs_slice_settings settings;
    char *text;
    rs_where *where;
    RS_TRY(rs_settings_read(given, given->size, &settings, sizeof settings, "rs_slice_settings", err));
    if (settings.share && settings.perfetto)
        return rs_fail(
            err, RS_ERR_USAGE,
            "share writes JSON: share into FILE.json.gz, then rankscope slice -o FILE.pftrace FILE.json.gz");
    RS_TRY(make_condition(&settings, &text, &where, err));
    rs_free(text);
    rs_where_free(where);
    return RS_OK;
}

/* ---- the first reading --------------------------------------------------------------------------------- */

static rs_status first_event(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    int64_t *first = *value = rs_malloc(sizeof *first), last;
    (void)run;
    return first ? rs_trace_span(trace, first, &last, err) : rs_fail_nomem(err, "ranks");
}

/* The job's first event, where a condition asks for ts and no window makes the job look for it. */
static rs_status find_origin(rs_slicing *s, rs_result *result, rs_error *err)
{
    const rs_job_settings *asked = rs_job_get_settings(s->job);
    s->choice.origin = asked->absolute ? 0 : RS_NO_TIME;
    if (!rs_where_uses_time(s->where) || asked->absolute || asked->window) return RS_OK;
    const rs_each_rank look = {.name = "slice", .rank = first_event, .free_value = rs_free};
    rs_rank_value *values;
    size_t n;
    RS_TRY(rs_job_each_rank(s->job, &look, &values, &n, result, err));
    for (size_t i = 0; i < n; i++) {
        int64_t first = *(int64_t *)values[i].value;
        if (first != RS_NO_TIME && (s->choice.origin == RS_NO_TIME || first < s->choice.origin))
            s->choice.origin = first;
        rs_free(values[i].value);
    }
    rs_free(values);
    rs_result_clear(result); /* the reading that follows tells the same again */
    if (s->choice.origin == RS_NO_TIME) s->choice.origin = 0;
    return RS_OK;
}

static rs_status report(const rs_slicing *s, rs_result *result, rs_error *err)
{
    result->tables = rs_calloc(RS_N_SHARE_TABLES, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "tables");
    for (size_t i = 0; i < RS_N_SLICE_TABLES; i++) { /* there is room for the third */
        result->tables[i] = rs_table_create(rs_slice_tables[i]);
        if (!result->tables[i]) return rs_fail_nomem(err, "tables");
        result->n_tables++;
    }
    for (size_t i = 0; i < s->plan.n; i++) {
        const rs_fuse_rank *r = s->plan.ranks[i];
        slice_row row = {r->source, r->slice->n_chosen, r->slice->n_around, r->slice->n_cut, r->slice->n_out};
        RS_TRY(rs_table_put_row(result->tables[0], &slice_record, r->rank, &row, err));
        for (size_t k = 0; k < r->slice->n_left; k++)
            RS_TRY(rs_table_put_row(result->tables[1], &left_record, r->rank, &r->slice->left[k], err));
    }
    return RS_OK;
}

static rs_status judge(const rs_slicing *s, rs_error *err)
{
    uint64_t n_events = 0;
    for (size_t i = 0; i < s->plan.n; i++) {
        const rs_slice_rows *rows = s->plan.ranks[i]->slice;
        if (rows->n_chosen || rows->n_around) return RS_OK;
        n_events += rows->n_out;
    }
    const rs_job_settings *asked = rs_job_get_settings(s->job);
    return rs_fail(err, RS_ERR_USAGE, "none of %llu events is picked%s%s%s%s%s%s",
                   (unsigned long long)n_events, asked->steps ? " by --steps " : "",
                   asked->steps ? asked->steps : "", asked->window ? " by --window " : "",
                   asked->window ? asked->window : "", s->condition ? " by " : "",
                   s->condition ? s->condition : "");
}

/* What rs_fuse_put_processes writes of a process must be public. */
static bool hide(rs_scrub *scrub, char **text)
{
    char word[RS_SCRUBBED];
    if (!*text || rs_scrub_is_process(*text, strlen(*text))) return true;
    rs_scrub_private(scrub, RS_PRIVATE_PROCESS, *text, strlen(*text), word);
    rs_scrub_count(scrub, 1u << RS_PRIVATE_PROCESS);
    rs_free(*text);
    *text = rs_strdup(word);
    return *text != NULL;
}

static rs_status begin_share(rs_slicing *s, rs_error *err)
{
    bool ok = true;
    s->plan.hides_files = true;
    RS_TRY(rs_scrub_init(&s->scrub, s->settings.keep_names, s->settings.keep_values, err));
    for (size_t i = 0; i < s->plan.n; i++)
        for (size_t k = 0; ok && k < s->plan.ranks[i]->n_processes; k++) {
            rs_fuse_process *p = &s->plan.ranks[i]->processes[k];
            ok = hide(&s->scrub, &p->text) && hide(&s->scrub, &p->name) && hide(&s->scrub, &p->label);
        }
    return ok ? RS_OK : rs_fail_nomem(err, "names");
}

rs_status rs_slice_open(rs_job *job, const rs_slice_settings *given, rs_slicing **out, rs_result *result,
                        rs_error *err)
{
    *result = (rs_result){0};
    rs_slicing *s = rs_calloc(1, sizeof *s);
    if (!s) return rs_fail_nomem(err, "slice");
    s->job = job;
    rs_status status =
        rs_settings_read(given, given->size, &s->settings, sizeof s->settings, "rs_slice_settings", err);
    if (status == RS_OK) status = rs_reread_check(job, "slice", err);
    if (status == RS_OK) status = make_condition(&s->settings, &s->condition, &s->where, err);
    if (status == RS_OK) {
        s->choice.where = s->where;
        s->choice.columns = rs_where_columns(s->where) | RS_LINK_COLUMNS;
        s->choice.enclosing = s->settings.enclosing;
        status = find_origin(s, result, err);
    }
    rs_fuse_settings fuse = {
        .size = sizeof fuse, .align = s->settings.align, .perfetto = s->settings.perfetto};
    if (status == RS_OK) status = rs_fuse_make_plan(job, &fuse, &s->choice, &s->plan, result, err);
    if (status == RS_OK) status = judge(s, err);
    if (status == RS_OK) status = report(s, result, err);
    if (status == RS_OK && s->settings.share) status = begin_share(s, err);
    if (status == RS_OK)
        *out = s;
    else
        rs_slice_close(s);
    return status;
}

void rs_slice_close(rs_slicing *s)
{
    if (!s) return;
    rs_fuse_plan_clear(&s->plan);
    if (s->settings.share) rs_scrub_clear(&s->scrub);
    rs_where_free(s->where);
    rs_free_all(s->condition, s);
}

size_t rs_slice_n_ranks(const rs_slicing *s)
{
    return s->plan.n;
}

int64_t rs_slice_rank(const rs_slicing *s, size_t i)
{
    return s->plan.ranks[i]->rank;
}

/* ---- the second reading -------------------------------------------------------------------------------- */

typedef struct output {
    rs_slicing *slice;
    size_t only; /* the rank that is written, or RS_SLICE_ALL */
    rs_writer *writer;
    bool any;
    rs_frame_text *headers; /* by file */
    rs_frame_text before;   /* what the file said under "rankscope" */
    rs_strings keys;        /* of a rank that is written alone: members that are there */
    rs_writer *changed;     /* writes an event that is changed into texts */
    rs_frame_text texts[2]; /* shortened; without names */
    rs_slice_pairs pairs;
} output;

static bool keep_text(void *context, const char *bytes, size_t n)
{
    rs_frame_text *t = context;
    if (!rs_grow((void **)&t->text, &t->capacity, t->n + n + 1, 1)) return false;
    memcpy(t->text + t->n, bytes, n);
    t->n += n;
    return true;
}

/* The event with new times (rows not NULL), or without names. */
static rs_status change(output *o, const rs_slice_rows *rows, const uint8_t **text, size_t *n, rs_error *err)
{
    rs_frame_text *into = &o->texts[!rows];
    rs_sink sink = {keep_text, into};
    into->n = 0;
    rs_writer_init(o->changed, &sink);
    if (rows)
        rs_event_write_cut(*text, *n, rows->from, rows->to, o->changed);
    else
        rs_scrub_event(&o->slice->scrub, *text, *n, o->changed);
    RS_TRY(rs_writer_finish(o->changed, err));
    *text = (const uint8_t *)into->text;
    *n = into->n;
    return rows ? RS_OK : rs_scrub_status(&o->slice->scrub, err);
}

static rs_status write_event(void *context, uint32_t index, uint64_t at, const uint8_t *text, size_t n,
                             rs_error *err)
{
    static const rs_fuse_filter none = {0};
    output *o = context;
    const rs_fuse_plan *plan = &o->slice->plan;
    const rs_slice_rows *rows = plan->ranks[o->only == RS_SLICE_ALL ? index : o->only]->slice;
    rs_slice_state state = rs_slice_state_at(rows, at);
    bool kept = state != RS_SLICE_OUT;
    if (rows->has_ends) RS_TRY(rs_slice_pairs_next(&o->pairs, index, text, n, &kept, err));
    if (!kept) return RS_OK;
    if (state == RS_SLICE_CUT) RS_TRY(change(o, rows, &text, &n, err));
    if (o->slice->settings.share) RS_TRY(change(o, NULL, &text, &n, err));
    const char *lead = o->any ? ",\n" : "\n";
    if (o->only != RS_SLICE_ALL) {
        rs_writer_text(o->writer, lead);
        rs_writer_bytes(o->writer, (const char *)text, n);
        o->any = true;
    } else if (rs_fuse_event(plan, index, &none, text, n, lead, o->writer) == RS_FUSE_WRITTEN) {
        o->any = true;
    }
    return o->writer->failed ? rs_fail(err, RS_ERR_IO, "the output could not be written") : RS_OK;
}

static bool key_is(const uint8_t *key, size_t n, const char *word)
{
    size_t m = strlen(word);
    return n == m + 2 && memcmp(key + 1, word, m) == 0;
}

static rs_status keep_member(void *context, size_t file, const uint8_t *key, size_t key_length,
                             const uint8_t *text, size_t n, rs_error *err)
{
    output *o = context;
    rs_frame_text *header = &o->headers[file];
    if (o->only != RS_SLICE_ALL) {
        const rs_fuse_rank *r = o->slice->plan.ranks[o->only];
        /* of a file with several ranks it says that of the first */
        if (r->runs && key_is(key, key_length, "distributedInfo")) return RS_OK;
        size_t known = o->keys.n;
        uint32_t id = rs_strings_add(&o->keys, (const char *)key, key_length);
        if (id == RS_NO_STRING) return rs_fail_nomem(err, "headers");
        if (id < known) return RS_OK; /* of several documents the first one counts */
        if (key_is(key, key_length, "rankscope")) header = &o->before;
    }
    if (o->slice->settings.share) {
        rs_sink sink = {keep_text, &o->texts[1]};
        o->texts[1].n = 0;
        rs_writer_init(o->changed, &sink);
        bool kept =
            rs_scrub_frame(&o->slice->scrub, (const char *)key + 1, key_length - 2, text, n, o->changed);
        RS_TRY(rs_writer_finish(o->changed, err));
        RS_TRY(rs_scrub_status(&o->slice->scrub, err));
        if (!kept) return RS_OK;
        text = (const uint8_t *)o->texts[1].text;
        n = o->texts[1].n;
    }
    return rs_frame_text_add(header, key, key_length, text, n, err);
}

static void put_setting(rs_json_put *j, const char *key, const char *text)
{
    if (text) rs_json_put_text(j, key, text);
}

static void put_left(rs_json_put *j, const rs_slice_rows *rows)
{
    rs_json_put_open(j, "left_out_by_category", '{', RS_JSON_LINE);
    for (size_t i = 0; i < rows->n_left; i++) {
        rs_json_put_open(j, rows->left[i].category, '{', RS_JSON_LINE);
        rs_json_put_uint(j, "events", rows->left[i].n);
        rs_json_put_time(j, "time_us", rows->left[i].ns, RS_UNIT_US);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
}

/* The member "slice" of "rankscope". */
static void put_about(const void *context, rs_json_put *j)
{
    const output *o = context;
    const rs_slicing *s = o->slice;
    const rs_job_settings *asked = rs_job_get_settings(s->job);
    rs_json_put_open(j, "slice", '{', RS_JSON_LINE);
    rs_json_put_int(j, "format", 1);
    put_setting(j, "only_ranks", asked->ranks);
    put_setting(j, "steps", asked->steps);
    put_setting(j, "window_ms", asked->window);
    if (s->settings.share)
        rs_json_put_bool(j, "shared", true); /* conditions are made of names */
    else
        put_setting(j, "where", s->condition);
    rs_json_put_open(j, "ranks", '[', RS_JSON_LINE);
    for (size_t i = 0; i < s->plan.n; i++) {
        const rs_fuse_rank *r = s->plan.ranks[i];
        if (o->only != RS_SLICE_ALL && o->only != i) continue;
        rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
        rs_json_put_int(j, "rank", r->rank);
        rs_json_put_uint(j, "chosen", r->slice->n_chosen);
        rs_json_put_uint(j, "around", r->slice->n_around);
        rs_json_put_uint(j, "cut", r->slice->n_cut);
        rs_json_put_uint(j, "left_out", r->slice->n_out);
        if (s->settings.left_out && !s->settings.share) put_left(j, r->slice);
        rs_json_put_close(j);
    }
    rs_json_put_close(j);
    rs_json_put_close(j);
}

/* The end of a rank's own trace: what its file said, its rank, and what the slice is. */
static void put_own_frame(output *o, const rs_frame_text *header, rs_writer *w)
{
    const rs_fuse_rank *r = o->slice->plan.ranks[o->only];
    rs_json_put j;
    rs_writer_text(w, "\n]");
    if (header->n) {
        rs_writer_text(w, ",\n");
        rs_writer_bytes(w, header->text, header->n);
    }
    if (rs_strings_find(&o->keys, "\"distributedInfo\"", 17) == RS_NO_STRING && r->rank >= 0) {
        rs_writer_text(w, ",\n\"distributedInfo\": {\"rank\": ");
        rs_writer_int(w, r->rank);
        rs_writer_char(w, '}');
    }
    rs_writer_text(w, ",\n");
    rs_json_put_init(&j, w);
    rs_json_put_open(&j, "rankscope", '{', RS_JSON_LINE);
    rs_json_put_text(&j, "version", rs_version());
    put_about(o, &j);
    if (o->before.n) {
        rs_json_put_open(&j, "before", '{', RS_JSON_LINE);
        rs_writer_bytes(w, o->before.text, o->before.n);
        rs_json_put_close(&j);
    }
    rs_json_put_close(&j);
    rs_writer_text(w, "\n}\n");
}

static rs_status write_all(output *o, rs_result *result, rs_error *err)
{
    const rs_slicing *s = o->slice;
    rs_reread_rank *places;
    RS_TRY(rs_fuse_places(&s->plan, &places, err));
    bool one = o->only != RS_SLICE_ALL;
    rs_reread all = {s->job, one ? places + o->only : places, one ? 1 : s->plan.n, write_event, keep_member,
                     o};
    rs_writer_text(o->writer, "{\"traceEvents\": [");
    rs_status status = rs_reread_files(&all, result, err);
    if (status == RS_OK && !one) {
        rs_fuse_put_processes(&s->plan, o->any, o->writer);
        rs_fuse_put_frame(&s->plan, s->job, o->headers, put_about, o, o->writer);
    } else if (status == RS_OK) {
        size_t file = 0;
        while (rs_job_get_file(s->job, file).name != places[o->only].source) file++;
        put_own_frame(o, &o->headers[file], o->writer);
    }
    rs_free(places);
    return status == RS_OK ? rs_writer_finish(o->writer, err) : status;
}

rs_status rs_slice_write(rs_slicing *s, size_t i, const rs_sink *sink, rs_result *result, rs_error *err)
{
    static const rs_fuse_filter none = {0};
    if (s->settings.perfetto)
        return rs_fuse_write_perfetto(s->job, &s->plan, i == RS_SLICE_ALL ? SIZE_MAX : i, &none, sink, result,
                                      err);
    size_t n_files = rs_job_n_files(s->job);
    output o = {.slice = s, .only = i == RS_SLICE_ALL && s->plan.n == 1 ? 0 : i};
    o.writer = rs_malloc(sizeof *o.writer);
    o.changed = rs_malloc(sizeof *o.changed);
    o.headers = rs_calloc(n_files + 1, sizeof *o.headers);
    bool ok = o.writer && o.changed && o.headers && rs_strings_init(&o.keys);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "slice");
    if (ok) {
        rs_writer_init(o.writer, sink);
        status = write_all(&o, result, err);
    }
    rs_strings_clear(&o.keys);
    rs_frame_texts_free(o.headers, n_files);
    rs_slice_pairs_clear(&o.pairs);
    rs_free_all(o.before.text, o.texts[0].text, o.texts[1].text, o.changed, o.writer);
    return status;
}

/* ---- what was removed ---------------------------------------------------------------------------------- */

rs_status rs_slice_removed(const rs_slicing *s, rs_result *result, rs_error *err)
{
    if (!s->settings.share || result->n_tables != RS_N_SLICE_TABLES) return RS_OK;
    result->tables[RS_N_SLICE_TABLES] = rs_table_create(&rs_scrub_table);
    if (!result->tables[RS_N_SLICE_TABLES]) return rs_fail_nomem(err, "tables");
    result->n_tables++;
    return rs_scrub_report(&s->scrub, result->tables[RS_N_SLICE_TABLES], err);
}

rs_status rs_slice_map(const rs_slicing *s, const rs_sink *sink, rs_error *err)
{
    if (!s->settings.share) return rs_fail(err, RS_ERR_USAGE, "only what is shared has a map");
    RS_LOCAL rs_writer *writer = rs_malloc(sizeof *writer);
    if (!writer) return rs_fail_nomem(err, "map");
    rs_writer_init(writer, sink);
    rs_scrub_write_map(&s->scrub, writer);
    return rs_writer_finish(writer, err);
}
