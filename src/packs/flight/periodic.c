/* The files that a debug server with a dump folder writes every minute: stacks of all ranks, and four tables
 * of the peer's analysis, which have lost most of the record. From the tables come the numbers that groups
 * have reached and the rows that name missing ranks. */
#include "flight/live.h"
#include "base/order.h"
#include "flight/periodic.h"
#include "flight/template.h"
#include "input/source.h"

#include <string.h>

#define MAX_FILE ((size_t)256 << 20)
#define SNAPSHOTS 16 /* that stacks are compared over */

static bool is_digits(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return true;
}

bool rs_fl_is_periodic(const char *path, int64_t *moment)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    if (n < 21) return false;
    const char *stamp = name + n - 19;
    if (stamp[-1] != '_' || !is_digits(stamp, 8) || stamp[8] != '_' || !is_digits(stamp + 9, 6) ||
        strcmp(stamp + 15, ".txt") != 0)
        return false;
    *moment = rs_fl_span_int((rs_fl_span){stamp, 8}) * 1000000 + rs_fl_span_int((rs_fl_span){stamp + 9, 6});
    return true;
}

/* Seconds of a moment YYYYmmddHHMMSS, from any fixed point; the host's own time. */
static int64_t seconds_of(int64_t moment)
{
    int64_t date = moment / 1000000, clock = moment % 1000000, y = date / 10000, m = date / 100 % 100,
            d = date % 100;
    if (m <= 2) {
        y--;
        m += 12;
    }
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m - 3) + 2) / 5 + d;
    return days * 86400 + clock / 10000 * 3600 + clock / 100 % 100 * 60 + clock % 100;
}

typedef struct snapshot_file {
    const char *path;
    int64_t moment;
} snapshot_file;

static const rs_order by_moment[] = {RS_FALLING(snapshot_file, moment), RS_RISING(snapshot_file, path)};

/* The files of one kind, newest first. */
static size_t choose(char *const *paths, size_t n, const char *kind, snapshot_file *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const char *slash = strrchr(paths[i], '/'), *name = slash ? slash + 1 : paths[i];
        int64_t moment;
        if (strncmp(name, kind, strlen(kind)) == 0 && rs_fl_is_periodic(paths[i], &moment))
            out[count++] = (snapshot_file){paths[i], moment};
    }
    RS_SORT(out, count, by_moment);
    return count;
}

static rs_status read_whole(rs_flight *flight, const char *path, uint8_t **text, size_t *n, rs_error *err)
{
    rs_source *source = NULL;
    rs_status status = rs_source_open(path, flight->settings.max_ratio, &source, err);
    if (status == RS_OK) status = rs_source_read_all(source, MAX_FILE, text, n, err);
    rs_source_close(source);
    return status;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

/* Reads one file's sections. `newest`: the ranks' threads are kept; else only compared with what is noted: as
 * long as a rank's main stack is the same, it has stood there since. */
static rs_status read_sections(rs_flight *flight, const snapshot_file *file, bool newest, int64_t age_ns,
                               uint8_t *changed, size_t n_changed, rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    size_t n = 0, at = 0;
    rs_status status = read_whole(flight, file->path, &text, &n, err);
    rs_fl_block b;
    while (status == RS_OK && rs_fl_next_section((const char *)text, n, &at, &b)) {
        size_t before = flight->n_threads, n_threads = 0;
        if (newest && !rs_fl_note_address(flight, b.rank, b.address, b.n_address))
            status = rs_fail_nomem(err, file->path);
        const rs_fl_note *note = rs_fl_note_of(flight, b.rank);
        if (status != RS_OK || !note) continue;
        size_t which = (size_t)(note - flight->notes);
        if (b.status != 200) {
            if (newest) flight->notes[which].no_traceback = b.status == 408;
            continue;
        }
        rs_fl_note kept = *note;
        if (!rs_fl_read_stacks(flight, b.rank, kept.address, b.text, b.n, &n_threads)) {
            status = rs_fail_nomem(err, file->path);
            break;
        }
        if (newest) continue;
        bool same = rs_fl_note_of(flight, b.rank)->stack == kept.stack;
        flight->notes[which] = kept;
        flight->n_threads = before;
        if (which >= n_changed || changed[which] || !kept.stack) continue;
        if (same)
            flight->notes[which].since_ns = age_ns;
        else
            changed[which] = 1;
    }
    return status;
}

static rs_status read_stacks(rs_flight *flight, const snapshot_file *files, size_t n, rs_error *err)
{
    rs_status status = n ? read_sections(flight, &files[0], true, 0, NULL, 0, err) : RS_OK;
    size_t n_notes = flight->n_notes;
    RS_LOCAL uint8_t *changed = rs_calloc(n_notes + 1, 1);
    if (!changed) return rs_fail_nomem(err, "stacks");
    for (size_t i = 1; i < n && i < SNAPSHOTS && status == RS_OK; i++) {
        int64_t age = (seconds_of(files[0].moment) - seconds_of(files[i].moment)) * 1000000000;
        status = read_sections(flight, &files[i], false, age, changed, n_notes, err);
    }
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

rs_status rs_fl_read_periodic(rs_flight *flight, char *const *paths, size_t n, rs_error *err)
{
    RS_LOCAL snapshot_file *files = rs_malloc((n + 1) * sizeof *files);
    rs_fl_periodic *p = rs_calloc(1, sizeof *p);
    rs_status status = files && p ? RS_OK : rs_fail_nomem(err, "the periodic files");
    flight->periodic = p;
    size_t n_stacks = status == RS_OK ? choose(paths, n, "stacks_", files) : 0;
    if (status == RS_OK && !n_stacks) n_stacks = choose(paths, n, "pyspy_dump_", files);
    if (status == RS_OK) status = read_stacks(flight, files, n_stacks, err);
    size_t n_tables = status == RS_OK ? choose(paths, n, "fr_trace_", files) : 0;
    for (size_t i = 0; i < n_tables && i < 2 && status == RS_OK; i++) {
        uint8_t *text = NULL;
        size_t length = 0;
        status = read_whole(flight, files[i].path, &text, &length, err);
        p->moments[i] = seconds_of(files[i].moment);
        if (status == RS_OK)
            status = rs_fl_read_tables(flight, (const char *)text, length, &p->snapshots[i], err);
        p->n_snapshots = i + 1;
        rs_free(text);
    }
    return status;
}

void rs_fl_periodic_free(rs_fl_periodic *periodic)
{
    if (!periodic) return;
    for (int i = 0; i < 2; i++) {
        rs_free_all(periodic->snapshots[i].rows, periodic->snapshots[i].unmatched,
                    periodic->snapshots[i].members);
    }
    rs_free(periodic);
}
