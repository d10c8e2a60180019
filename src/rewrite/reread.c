#include "rewrite/reread.h"

#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "format/kineto_core.h"
#include "input/json.h"
#include "input/source.h"
#include "input/windows.h"
#include "job/job.h"

#define MAX_RECORD ((size_t)256 << 20)
#define PROGRESS_ROWS 16384

/* A file on its second reading. */
typedef struct reading {
    const rs_reread *all;
    size_t file;
    rs_windows *windows;
    rs_window window;
    const uint8_t *p, *end;
    uint64_t row;
    struct owner {
        rs_reread_run run;
        uint32_t index;
        size_t before; /* the rank's rows in earlier runs */
    } * owners;
    size_t n_owners, owner;
    bool saw_array; /* the event array of this document has been met */
    bool in_array;  /* ... and its end has not */
    bool damaged;
    uint64_t damaged_at;
} reading;

/* ---- text
 * --------------------------------------------------------------------------------------------------- */

static rs_status more(reading *r, rs_error *err)
{
    size_t used = r->p ? (size_t)(r->p - r->window.data) : 0;
    RS_TRY(rs_windows_next(r->windows, used, &r->window, err));
    r->p = r->window.data;
    r->end = r->p + r->window.n;
    return RS_OK;
}

/* The next byte that is no white space, 0 at the end. */
static rs_status peek(reading *r, uint8_t *c, rs_error *err)
{
    for (;;) {
        r->p = rs_json_space(r->p, r->end);
        if (r->p < r->end) {
            *c = *r->p;
            return RS_OK;
        }
        *c = 0;
        if (r->window.last) return RS_OK;
        RS_TRY(more(r, err));
    }
}

static void give_up(reading *r)
{
    r->damaged = true;
    r->damaged_at = r->window.offset + (uint64_t)(r->p - r->window.data);
}

/* Passes over a value, whole in the window then. *text NULL: damage. */
static rs_status value(reading *r, const uint8_t **text, size_t *n, rs_error *err)
{
    rs_json_limits limits = {RS_JSON_MAX_DEPTH, MAX_RECORD};
    *text = NULL;
    for (;;) {
        const uint8_t *p = r->p;
        rs_json_status got = rs_json_skip(&p, r->end, &limits);
        if (got == RS_JSON_OK) {
            *text = r->p;
            *n = (size_t)(p - r->p);
            r->p = p;
            return RS_OK;
        }
        if (got != RS_JSON_END || r->window.last) {
            give_up(r);
            return RS_OK;
        }
        RS_TRY(more(r, err));
    }
}

/* ---- events
 * ------------------------------------------------------------------------------------------------- */

/* The rank of the row, RS_NO_ROW: none that is wanted. */
static uint32_t rank_of_row(reading *r)
{
    while (r->owner < r->n_owners && r->owners[r->owner].run.end <= r->row) r->owner++;
    if (r->owner < r->n_owners && r->owners[r->owner].run.first <= r->row) return r->owners[r->owner].index;
    return RS_NO_ROW;
}

/* Tells now and then how far it is; false when it shall stop. */
static bool report_progress(const reading *r)
{
    const rs_job_settings *s = rs_job_get_settings(r->all->job);
    if (!s->progress || r->row % PROGRESS_ROWS != 0) return true;
    return s->progress(s->progress_context, r->window.offset + (uint64_t)(r->p - r->window.data), 0);
}

static rs_status element(reading *r, rs_error *err)
{
    const uint8_t *text;
    size_t n;
    bool is_object = *r->p == '{';
    rs_status status = value(r, &text, &n, err);
    if (status != RS_OK || !text) return status;
    if (!report_progress(r)) return rs_fail(err, RS_ERR_CANCELLED, "stopped");
    uint32_t index = rank_of_row(r);
    uint64_t row = r->row++;
    if (index == RS_NO_ROW || !is_object) return RS_OK;
    const struct owner *owner = &r->owners[r->owner];
    return r->all->event(r->all->context, index, owner->before + (row - owner->run.first), text, n, err);
}

static rs_status elements(reading *r, rs_error *err)
{
    r->p++;
    r->saw_array = r->in_array = true;
    for (;;) {
        uint8_t c;
        rs_status status = peek(r, &c, err);
        if (status != RS_OK) return status;
        if (c == ',') {
            r->p++;
        } else if (c == ']') {
            r->p++;
            r->in_array = false;
            return RS_OK;
        } else {
            if (c == 0) give_up(r);
            if (!r->damaged) status = element(r, err);
            if (status != RS_OK || r->damaged) return status;
        }
    }
}

/* ---- around the events
 * --------------------------------------------------------------------------------------- */

/* A key that stays when the window moves on. */
typedef struct kept_key {
    uint8_t *text;
    size_t n;
} kept_key;

static bool keep_key(kept_key *key, const uint8_t *text, size_t n)
{
    key->text = rs_malloc(n + 1);
    if (!key->text) return false;
    memcpy(key->text, text, n);
    key->n = n;
    return true;
}

static rs_status object_member(reading *r, rs_error *err)
{
    const uint8_t *text;
    size_t n;
    uint8_t c;
    kept_key key = {0};
    rs_status status = value(r, &text, &n, err);
    if (status == RS_OK && text && !keep_key(&key, text, n)) status = rs_fail_nomem(err, "headers");
    if (status == RS_OK && text) status = peek(r, &c, err);
    if (status == RS_OK && text && c != ':') give_up(r);
    if (status == RS_OK && text && !r->damaged) {
        r->p++;
        status = peek(r, &c, err);
        if (status == RS_OK && c == '[' && key.n == 13 && memcmp(key.text, "\"traceEvents\"", 13) == 0) {
            status = elements(r, err);
        } else if (status == RS_OK) {
            status = value(r, &text, &n, err);
            if (status == RS_OK && text)
                status = r->all->member(r->all->context, r->file, key.text, key.n, text, n, err);
        }
    }
    rs_free(key.text);
    return status;
}

/* The header is no JSON here, which the loader has told: goes on where it went on. */
static rs_status pass_over_damage(reading *r, rs_error *err)
{
    while (!rs_kineto_resume_member(&r->p, r->end, r->saw_array, r->window.last)) {
        if (r->window.last) return RS_OK;
        RS_TRY(more(r, err));
    }
    r->damaged = false;
    return RS_OK;
}

static rs_status object(reading *r, rs_error *err)
{
    r->p++;
    r->saw_array = false;
    for (;;) {
        uint8_t c;
        rs_status status = peek(r, &c, err);
        if (status != RS_OK) return status;
        if (c == '}') {
            r->p++;
            return RS_OK;
        }
        if (c == ',') {
            r->p++;
            continue;
        }
        if (c != '"') give_up(r);
        if (!r->damaged) status = object_member(r, err);
        if (status == RS_OK && r->damaged && !r->in_array) status = pass_over_damage(r, err);
        if (status != RS_OK || r->damaged) return status;
    }
}

static rs_status documents(reading *r, bool lines, rs_error *err)
{
    rs_status status = more(r, err);
    while (status == RS_OK && !r->damaged) {
        uint8_t c;
        status = peek(r, &c, err);
        if (status != RS_OK || c == 0) break;
        if (c == ',')
            r->p++;
        else if (c == '{')
            status = lines ? element(r, err) : object(r, err);
        else if (c == '[')
            status = elements(r, err);
        else
            give_up(r);
    }
    return status;
}

static const rs_order by_first[] = {RS_RISING(struct owner, run.first)};

/* Which rows are whose. */
static bool take_owners(reading *r, const char *source)
{
    size_t capacity = 0;
    for (uint32_t i = 0; i < r->all->n_ranks; i++) {
        const rs_reread_rank *rank = &r->all->ranks[i];
        size_t before = 0;
        if (rank->source != source) continue;
        for (size_t k = 0; k < (rank->runs ? rank->n_runs : 1); k++) {
            if (!RS_GROW_ONE(r->owners, r->n_owners, capacity)) return false;
            rs_reread_run run = rank->runs ? rank->runs[k] : (rs_reread_run){0, UINT32_MAX};
            r->owners[r->n_owners++] = (struct owner){run, i, before};
            before += run.end - run.first;
        }
    }
    RS_SORT(r->owners, r->n_owners, by_first);
    return true;
}

static rs_status read_file(const rs_reread *all, size_t index, rs_result *result, rs_error *err)
{
    reading r = {.all = all, .file = index};
    rs_job_file file = rs_job_get_file(all->job, index);
    uint64_t max_ratio = rs_job_get_settings(all->job)->max_ratio;
    rs_source *source = NULL;
    bool lines = false;
    for (size_t i = 0; i < all->n_ranks; i++)
        if (all->ranks[i].source == file.name) lines = all->ranks[i].lines;
    rs_status status = take_owners(&r, file.name) ? RS_OK : rs_fail_nomem(err, "ranks");
    if (status == RS_OK)
        status = file.bytes
                     ? rs_source_open_bytes(file.bytes, file.n_bytes, file.name, max_ratio, &source, err)
                     : rs_source_open(file.name, max_ratio, &source, err);
    if (status == RS_OK) status = rs_windows_open(source, true, MAX_RECORD, &r.windows, err);
    if (status == RS_OK) status = documents(&r, lines, err);
    if (status == RS_OK && r.damaged)
        rs_problems_add(&result->problems, file.name, -1, RS_LOSS, "copy_ends",
                        "the text is damaged here: what comes after it was not copied", r.damaged_at);
    rs_windows_close(r.windows);
    rs_source_close(source);
    rs_free(r.owners);
    if (status != RS_OK) rs_error_wrap(err, "%s", file.name);
    return status;
}

rs_status rs_reread_files(const rs_reread *all, rs_result *result, rs_error *err)
{
    size_t n_files = rs_job_n_files(all->job);
    RS_LOCAL uint8_t *done = rs_calloc(n_files + 1, 1);
    rs_status status = done ? RS_OK : rs_fail_nomem(err, "files");
    for (size_t i = 0; status == RS_OK && i < all->n_ranks; i++)
        for (size_t k = 0; status == RS_OK && k < n_files; k++) {
            if (done[k] || rs_job_get_file(all->job, k).name != all->ranks[i].source) continue;
            done[k] = 1;
            status = read_file(all, k, result, err);
        }
    return status;
}

rs_status rs_reread_check(const rs_job *job, const char *what, rs_error *err)
{
    for (size_t i = 0; i < rs_job_n_files(job); i++) {
        rs_job_file file = rs_job_get_file(job, i);
        if (!file.bytes && strcmp(file.name, "-") == 0)
            return rs_fail(err, RS_ERR_USAGE, "%s reads its input twice, which standard input does not allow",
                           what);
    }
    return RS_OK;
}
