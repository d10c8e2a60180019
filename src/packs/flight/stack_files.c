/* Python stacks in files, one a rank: py-spy dump, faulthandler. Ranks are grouped by where their main thread is in the user's
 * code: where most wait in torch.distributed, the others are those that the job waits for, at that moment. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "flight/files.h"
#include "flight/live.h"
#include "flight/roots.h"
#include "flight/sources.h"

#define MAX_FILE ((size_t)64 << 20)

static bool knows(const char *path, const uint8_t *text, size_t n)
{
    bool pyspy = n > 8 && memcmp(text, "Process ", 8) == 0 && memmem(text, n, "\nPython v", 9);
    bool faulthandler = n > 14 && !rs_fl_is_named_log(path) &&
                        memmem(text, n, "(most recent call first):\n  File \"", 34) &&
                        (memcmp(text, "Thread 0x", 9) == 0 || memcmp(text, "Current thread", 14) == 0);
    return pyspy || faulthandler;
}

static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    const char *name = rs_source_name(from), *rule;
    size_t n = 0, n_threads = 0;
    int64_t rank;
    bool says_rank;
    rs_status status = rs_fl_read_whole(flight, from, MAX_FILE, &text, &n, err);
    if (status != RS_OK || !text) return status;
    if (!rs_fl_rank_of_path(name, NULL, &rank, &rule, &says_rank)) {
        rs_problems_add(&flight->problems, name, -1, RS_LOSS, "no_rank",
                        "the name of a file with stacks has no rank: name it rankN", RS_NO_OFFSET);
        return RS_OK;
    }
    if (!rs_fl_read_stacks(flight, rank, RS_FL_NONE, (const char *)text, n, &n_threads))
        return rs_fail_nomem(err, name);
    rs_fl_note *note = rs_fl_note_put(flight, rank);
    uint32_t file = rs_strings_add(&flight->texts, name, strlen(name));
    if (!note || file == RS_NO_STRING) return rs_fail_nomem(err, name);
    if (note->stack) note->stack_file = file;
    flight->n_stack_files++;
    return RS_OK;
}

/* What the ranks that wait are in: the place of the first of them. */
static const char *waiting_text(rs_flight *flight, size_t waiting, uint32_t stack)
{
    const char *where = rs_fl_where(flight, stack);
    return where ? rs_fl_print(flight, "%zu rank%s in torch, as in %s", waiting,
                               waiting == 1 ? " waits" : "s wait", where)
                 : NULL;
}

static bool say(rs_flight *flight, const rs_fl_note *note, rs_fl_event_kind kind, int64_t rank,
                const char *text)
{
    return text && rs_fl_testify(flight, RS_FLIGHT_FILE_STACKS, kind, rank, RS_FL_NONE, text,
                                 note->stack_file, 1) != NULL;
}

static bool testify(rs_flight *flight)
{
    size_t waiting = 0, elsewhere = 0;
    const rs_fl_note *first = NULL;
    for (size_t i = 0; i < flight->n_notes; i++) {
        const rs_fl_note *note = &flight->notes[i];
        if (!note->stack || note->stack_file == RS_FL_NONE) continue;
        bool waits = rs_fl_waits_in_torch(flight, note->stack);
        if (waits && !waiting) first = note;
        waiting += waits;
        elsewhere += !waits;
        if (!first) first = note;
    }
    if (!first) return true;
    const char *others = waiting ? waiting_text(flight, waiting, first->stack) : "no rank waits in torch";
    if (!others) return false;
    if (!elsewhere) return say(flight, first, RS_FL_EV_LEVEL, -1, others);
    rs_fl_event_kind kind = elsewhere < waiting ? RS_FL_EV_ELSEWHERE : RS_FL_EV_PLACE;
    for (size_t i = 0; i < flight->n_notes; i++) {
        rs_fl_note note = flight->notes[i];
        if (!note.stack || note.stack_file == RS_FL_NONE || rs_fl_waits_in_torch(flight, note.stack))
            continue;
        const char *where = rs_fl_where(flight, note.stack);
        if (!where ||
            !say(flight, &note, kind, note.rank, rs_fl_print(flight, "is in %s, while %s", where, others)))
            return false;
    }
    return true;
}

const rs_fl_source rs_fl_stacks_source = {.file = RS_FLIGHT_FILE_STACKS,
                                          .title = "A stack",
                                          .knows = knows,
                                          .read = read,
                                          .testify = testify,
                                          .blind = " Stacks show one moment of the hosts, and no GPU.",
                                          .decides = "py-spy dump of all ranks again, 30 s later"};
