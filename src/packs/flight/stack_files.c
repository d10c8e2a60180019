/* Python stacks in files, one a rank: py-spy dump, faulthandler. Ranks are grouped by where their main thread is in the user's
 * code: where most wait in torch.distributed, the others are those that the job waits for, at that moment. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "flight/files.h"
#include "flight/live.h"
#include "flight/serving.h"
#include "flight/sources.h"
#include "flight/template.h"

#define MAX_FILE ((size_t)64 << 20)

static bool knows(const char *path, const uint8_t *text, size_t n)
{
    bool pyspy = n > 8 && memcmp(text, "Process ", 8) == 0 && memmem(text, n, "\nPython v", 9);
    bool faulthandler = n > 14 && !rs_fl_is_named_log(path) &&
                        memmem(text, n, "(most recent call first):\n  File \"", 34) &&
                        (memcmp(text, "Thread 0x", 9) == 0 || memcmp(text, "Current thread", 14) == 0);
    return pyspy || faulthandler;
}

/* "Process 4207: VLLM::Worker_TP1" of py-spy: the rank of a serving engine's process, which the file's name does not have. */
static bool rank_of_title(rs_flight *flight, const char *text, size_t n, int64_t *rank, rs_fl_span *title)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    rs_fl_worker worker;
    const char *end = memchr(text, '\n', n);
    *title = (rs_fl_span){NULL, 0};
    if (!rs_fl_template(text, end ? (size_t)(end - text) : n, "Process %d: %r", f) || f[0].text != text + 8)
        return false;
    rs_fl_process process = rs_fl_process_of(f[1].text, f[1].n, &worker);
    if (process == RS_FL_PROCESS_OTHER) return false;
    *rank = rs_fl_provisional_rank(process, &worker, flight->n_engines);
    flight->n_engines += process == RS_FL_PROCESS_ENGINE;
    *title = f[1];
    return true;
}

bool rs_fl_take_stacks(rs_flight *flight, int64_t rank, uint32_t file, int64_t line, const char *text,
                       size_t n)
{
    rs_fl_span title;
    size_t n_threads;
    bool named = rank_of_title(flight, text, n, &rank, &title);
    if (rank < 0 || (named && rs_fl_note_of(flight, rank))) return true; /* a second dump of one process */
    if (!rs_fl_read_stacks(flight, rank, RS_FL_NONE, text, n, &n_threads)) return false;
    rs_fl_note *note = rs_fl_note_put(flight, rank);
    if (!note) return false;
    if (named && (note->title = rs_strings_add(&flight->texts, title.text, title.n)) == RS_NO_STRING)
        return false;
    note->stack_line = line;
    if (note->stack) note->stack_file = file;
    flight->n_stack_files++;
    return true;
}

static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    const char *name = rs_source_name(from), *rule;
    size_t n = 0, before = flight->n_stack_files;
    int64_t rank = -1;
    bool says_rank;
    rs_status status = rs_fl_read_whole(flight, from, MAX_FILE, &text, &n, err);
    if (status != RS_OK || !text) return status;
    bool is_named = rs_fl_rank_of_path(name, NULL, &rank, &rule, &says_rank);
    uint32_t file = rs_strings_add(&flight->texts, name, strlen(name));
    if (file == RS_NO_STRING ||
        !rs_fl_take_stacks(flight, is_named ? rank : -1, file, 1, (const char *)text, n))
        return rs_fail_nomem(err, name);
    if (flight->n_stack_files == before)
        rs_problems_add(
            &flight->problems, name, -1, RS_LOSS, "no_rank",
            "the name of a file with stacks has no rank: name it rankN, or its process is in another file",
            RS_NO_OFFSET);
    return RS_OK;
}

/* What the ranks that wait are in: the place of the first of them. */
static const char *waiting_text(rs_flight *flight, const size_t *n, const rs_fl_note *in_torch)
{
    const char *work = n[RS_FL_WAITS_WORK] == 0
                           ? ""
                           : rs_fl_print(flight, "%zu rank%s for the engine's next call", n[RS_FL_WAITS_WORK],
                                         n[RS_FL_WAITS_WORK] == 1 ? " waits" : "s wait");
    if (!work) return NULL;
    if (!in_torch) return *work ? work : "no rank waits in torch";
    const char *where = rs_fl_where(flight, in_torch->stack);
    return where ? rs_fl_print(flight, "%zu rank%s in torch, as in %s%s%s", n[RS_FL_WAITS_OTHERS],
                               n[RS_FL_WAITS_OTHERS] == 1 ? " waits" : "s wait", where, *work ? ", and " : "",
                               work)
                 : NULL;
}

static bool say(rs_flight *flight, const rs_fl_note *note, rs_fl_event_kind kind, int64_t rank,
                const char *text)
{
    if (text && rank >= 0 && note->title != RS_FL_NONE)
        text = rs_fl_print(flight, "(%s) %s", rs_fl_text(flight, note->title), text);
    return text && rs_fl_testify(flight, RS_FLIGHT_FILE_STACKS, kind, rank, RS_FL_NONE, text,
                                 note->stack_file, note->stack_line) != NULL;
}

static bool is_of_file(const rs_fl_note *note)
{
    return note->stack && note->stack_file != RS_FL_NONE;
}

/* Those that are neither in a collective nor waiting for a call are what the others wait for; where there are none, the fewer that
 * have not come back to their engine. One engine that waits for no worker has no work for them: then nothing hangs. */
static bool testify(rs_flight *flight)
{
    size_t n[3] = {0};
    const rs_fl_note *first = NULL;
    int64_t in_torch = -1;
    bool idle;
    if (!rs_fl_settle_workers(flight, &idle)) return false;
    for (size_t i = 0; i < flight->n_notes; i++) {
        const rs_fl_note *note = &flight->notes[i];
        if (!is_of_file(note)) continue;
        rs_fl_wait wait = rs_fl_wait_of(flight, note->stack);
        if (wait == RS_FL_WAITS_OTHERS && !n[wait]++)
            in_torch = note->rank;
        else if (wait != RS_FL_WAITS_OTHERS)
            n[wait]++;
        if (!first) first = note;
    }
    if (!first) return true;
    const rs_fl_note *torch = in_torch >= 0 ? rs_fl_note_of(flight, in_torch) : NULL;
    bool late = !n[RS_FL_BUSY] && n[RS_FL_WAITS_OTHERS] && n[RS_FL_WAITS_OTHERS] < n[RS_FL_WAITS_WORK];
    rs_fl_wait wanted = late ? RS_FL_WAITS_OTHERS : RS_FL_BUSY;
    const char *others = waiting_text(flight, n, late ? NULL : torch);
    if (!others) return false;
    if (!n[wanted]) return say(flight, torch ? torch : first, RS_FL_EV_LEVEL, -1, others);
    size_t waiting = n[RS_FL_WAITS_WORK] + (late ? 0 : n[RS_FL_WAITS_OTHERS]);
    rs_fl_event_kind kind = n[wanted] < waiting && !idle ? RS_FL_EV_ELSEWHERE : RS_FL_EV_PLACE;
    for (size_t i = 0; i < flight->n_notes; i++) {
        rs_fl_note note = flight->notes[i];
        if (!is_of_file(&note) || rs_fl_wait_of(flight, note.stack) != wanted) continue;
        const char *where = rs_fl_where(flight, note.stack);
        if (!where || !say(flight, &note, kind, note.rank,
                           rs_fl_print(flight, "is %sin %s, while %s", late ? "still " : "", where, others)))
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
