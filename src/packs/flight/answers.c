/* A running job: what its debug server, or its workers one by one, answered. A rank that does not answer is
 * evidence. */
#include "flight/live.h"
#include "base/order.h"
#include "flight/template.h"

#include <string.h>

/* One rank's answer to one question, from a page's block or from its own server. */
typedef struct piece {
    int64_t rank;
    const char *address;
    size_t n_address;
    int status; /* 0: none came */
    bool timed_out;
    const char *failure; /* NULL when there is no more to say than the status */
    char *text;          /* unescaped; owned */
    size_t n;
    bool is_stack, has_groups;
} piece;

typedef struct pieces {
    piece *items;
    size_t n, capacity;
} pieces;

static bool is_stack_page(const char *page)
{
    return strcmp(page, "stacks") == 0 || strncmp(page, "pyspy", 5) == 0 ||
           strcmp(page, "dump_traceback") == 0;
}

static void clear(pieces *p)
{
    for (size_t i = 0; i < p->n; i++) rs_free(p->items[i].text);
    rs_free(p->items);
}

/* A page's block may be escaped; what a worker says itself is not. */
static bool add(pieces *p, piece one, const char *text, size_t n, bool in_page)
{
    if (!RS_GROW_ONE(p->items, p->n, p->capacity) || !(one.text = rs_malloc(n + 64))) return false;
    one.n = n;
    if (in_page)
        one.n = rs_fl_unescape(text, n, one.text);
    else if (n)
        memcpy(one.text, text, n);
    memset(one.text + one.n, 0, 64);
    p->items[p->n++] = one;
    return true;
}

/* 408: the front end waited in vain; 502 and 503: it got no connection. */
static bool split(pieces *p, const rs_flight_answer *a)
{
    bool stack = is_stack_page(a->page);
    if (a->rank >= 0)
        return add(p,
                   (piece){.rank = a->rank,
                           .address = a->address,
                           .n_address = strlen(a->address),
                           .status = a->status,
                           .timed_out = a->timed_out || a->status == 408,
                           .failure = a->failure,
                           .is_stack = stack},
                   a->status == 200 ? a->bytes : "", a->status == 200 ? a->n : 0, false);
    rs_fl_block b;
    size_t at = 0;
    while (a->status == 200 && rs_fl_next_block(a->bytes, a->n, &at, &b))
        if (!add(p,
                 (piece){.rank = b.rank,
                         .address = b.address,
                         .n_address = b.n_address,
                         .status = b.status,
                         .timed_out = b.status == 408,
                         .is_stack = stack},
                 b.text, b.n, true))
            return false;
    return true;
}

/* Whether a recorder's answer describes anything: a process has several recorders, and all but one are empty.
 */
static bool look_inside(pieces *p, rs_error *err)
{
    rs_fl_reader *reader = rs_fl_reader_create();
    bool good = reader != NULL;
    for (size_t i = 0; good && i < p->n; i++) {
        rs_fl_draft draft;
        rs_problems problems = {0};
        bool usable = false;
        if (p->items[i].is_stack || p->items[i].status != 200) continue;
        good = rs_fl_read_dump(reader, (const uint8_t *)p->items[i].text, p->items[i].n, "answer",
                               p->items[i].rank, &draft, &usable, &problems, err) == RS_OK;
        p->items[i].has_groups = good && usable && (draft.n_groups || draft.rank.n);
        if (good) rs_fl_draft_clear(&draft);
        rs_problems_clear(&problems);
    }
    rs_fl_reader_free(reader);
    return good;
}

/* "host:port" of an address, as a text. RS_NO_STRING when out of memory. */
static uint32_t host_and_port(rs_flight *flight, const char *address, size_t n)
{
    const char *scheme = rs_fl_find(address, n, "://"), *begin = scheme ? scheme + 3 : address,
               *end = address + n;
    const char *slash = memchr(begin, '/', (size_t)(end - begin));
    if (slash) end = slash;
    return rs_strings_add(&flight->texts, begin, (size_t)(end - begin));
}

bool rs_fl_note_address(rs_flight *flight, int64_t rank, const char *address, size_t n)
{
    rs_fl_note *note = rs_fl_note_put(flight, rank);
    uint32_t whole = note && n ? host_and_port(flight, address, n) : RS_FL_NONE;
    if (!note || whole == RS_NO_STRING) return note && n == 0;
    const char *text = rs_fl_text(flight, whole), *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');
    size_t host = colon && (!bracket || bracket < colon) ? (size_t)(colon - text) : strlen(text);
    note->address = whole;
    note->host = rs_strings_add(&flight->texts, text, host);
    return note->host != RS_NO_STRING;
}

/* Why a rank gave no record, in words. */
static const char *why(rs_flight *flight, const piece *p, const rs_fl_note *note)
{
    const char *at = note && note->address != RS_FL_NONE ? rs_fl_text(flight, note->address) : "its address";
    if (p->timed_out) return rs_fl_print(flight, "%s accepts the connection and does not answer", at);
    if (p->failure) return rs_fl_print(flight, "%s: %s", at, p->failure);
    if (p->status == 503 || p->status == 502)
        return rs_fl_print(flight, "no process listens at %s (refused)", at);
    return rs_fl_print(flight, "%s answers with status %d", at, p->status);
}

static const piece *best_record(const pieces *p, int64_t rank, const piece **failed, bool *answered)
{
    const piece *best = NULL;
    *failed = NULL;
    *answered = false;
    for (size_t i = 0; i < p->n; i++) {
        const piece *x = &p->items[i];
        if (x->rank != rank || x->is_stack) continue;
        if (x->status == 200) *answered = true;
        if (x->status == 200 && x->has_groups && !best) best = x;
        if (x->status != 200 && (!*failed || x->timed_out)) *failed = x;
    }
    return best;
}

static rs_status report_failure(rs_flight *flight, const piece *p, const char *kind, const char *what,
                                rs_error *err)
{
    const rs_fl_note *note = rs_fl_note_of(flight, p->rank);
    const char *reason = why(flight, p, note);
    if (!reason) return rs_fail_nomem(err, "an answer");
    rs_problems_add_many(&flight->problems,
                         note && note->address != RS_FL_NONE ? rs_fl_text(flight, note->address) : NULL,
                         p->rank, RS_WARNING, kind, what, RS_NO_OFFSET, 1, reason);
    return RS_OK;
}

/* What each rank's answers tell besides the record itself. */
static rs_status note_rank(rs_flight *flight, const pieces *p, int64_t rank, rs_error *err)
{
    const piece *failed, *stack_failed = NULL;
    bool answered, has_stack = false;
    const piece *record = best_record(p, rank, &failed, &answered);
    for (size_t i = 0; i < p->n; i++) {
        const piece *x = &p->items[i];
        if (x->rank != rank) continue;
        rs_fl_note *note = rs_fl_note_put(flight, rank);
        if (!note ||
            (note->address == RS_FL_NONE && !rs_fl_note_address(flight, rank, x->address, x->n_address)))
            return rs_fail_nomem(err, "an answer");
        if (!x->is_stack) continue;
        size_t n = 0;
        if (x->status == 200 && !has_stack &&
            !rs_fl_read_stacks(flight, rank, rs_fl_note_of(flight, rank)->address, x->text, x->n, &n))
            return rs_fail_nomem(err, "an answer");
        has_stack = has_stack || n > 0;
        if (x->status != 200) stack_failed = x;
    }
    rs_fl_note *note = rs_fl_note_put(flight, rank);
    rs_status status = RS_OK;
    if (!note) return rs_fail_nomem(err, "an answer");
    if (!record && failed && !answered) {
        const char *reason = why(flight, failed, note);
        uint32_t text = reason ? rs_strings_add(&flight->texts, reason, strlen(reason)) : RS_NO_STRING;
        if (text == RS_NO_STRING) return rs_fail_nomem(err, "an answer");
        note->failure = text;
        status = report_failure(flight, failed, "no_answer", "a rank gives no flight record", err);
    }
    if (status == RS_OK && stack_failed && !has_stack) {
        note->no_traceback = record && (stack_failed->timed_out || stack_failed->status == 0);
        status = report_failure(flight, stack_failed, "no_traceback", "a rank gives no Python stack", err);
    }
    return status;
}

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

/* All ranks that have a piece, ascending. */
static size_t ranks_of(const pieces *p, int64_t *ranks)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < p->n; i++) ranks[n++] = p->items[i].rank;
    RS_SORT(ranks, n, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ranks[i] != ranks[i - 1]) ranks[kept++] = ranks[i];
    return kept;
}

rs_status rs_flight_open_answers(const rs_flight_answer *answers, size_t n,
                                 const rs_flight_settings *settings, rs_flight **out, rs_error *err)
{
    pieces p = {0};
    rs_status status = RS_OK;
    *out = NULL;
    for (size_t i = 0; i < n && status == RS_OK; i++)
        if (!split(&p, &answers[i])) status = rs_fail_nomem(err, "an answer");
    if (status == RS_OK && !look_inside(&p, err)) status = rs_fail_nomem(err, "an answer");
    RS_LOCAL int64_t *ranks = rs_malloc((p.n + 1) * sizeof *ranks);
    RS_LOCAL rs_flight_bytes *dumps = rs_malloc((p.n + 1) * sizeof *dumps);
    if (status == RS_OK && (!ranks || !dumps)) status = rs_fail_nomem(err, "an answer");
    size_t n_ranks = status == RS_OK ? ranks_of(&p, ranks) : 0, n_dumps = 0;
    for (size_t i = 0; i < n_ranks; i++) {
        const piece *failed, *record;
        bool answered;
        record = best_record(&p, ranks[i], &failed, &answered);
        if (record)
            dumps[n_dumps++] = (rs_flight_bytes){record->text, record->n, ranks[i], "the debug server"};
    }
    if (status == RS_OK) status = rs_flight_open_bytes(dumps, n_dumps, settings, out, err);
    if (status == RS_ERR_FORMAT)
        rs_fail(err, RS_ERR_FORMAT, "none of %zu ranks gave a flight record", n_ranks);
    /* Nobody's record: what the ranks say of themselves is still worth showing. */
    rs_status opened = status;
    for (size_t i = 0; *out && i < n_ranks && (status == RS_OK || status == RS_ERR_FORMAT); i++) {
        rs_status noted = note_rank(*out, &p, ranks[i], err);
        if (noted != RS_OK) status = opened = noted;
    }
    if (*out && (status == RS_OK || status == RS_ERR_FORMAT)) rs_fl_carry_stacks(*out);
    clear(&p);
    if (opened == RS_OK || opened == RS_ERR_FORMAT) return opened;
    if (*out) (*out)->settings.previous = NULL; /* it stays the caller's */
    rs_flight_close(*out);
    *out = NULL;
    return opened;
}

size_t rs_flight_count_records(const rs_flight_answer *answers, size_t n)
{
    pieces p = {0};
    rs_error err = RS_ERROR_INIT;
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < n && good; i++) good = split(&p, &answers[i]);
    good = good && look_inside(&p, &err);
    for (size_t i = 0; good && i < p.n; i++) count += p.items[i].has_groups;
    clear(&p);
    return count;
}

size_t rs_flight_list_workers(const rs_flight_answer *answers, size_t n, int64_t *ranks,
                              char (*addresses)[RS_FLIGHT_ADDRESS], size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        rs_fl_block b;
        size_t at = 0;
        while (answers[i].rank < 0 && answers[i].status == 200 &&
               rs_fl_next_block(answers[i].bytes, answers[i].n, &at, &b)) {
            bool known = false;
            const char *handler = rs_fl_find(b.address, b.n_address, "/handler/");
            size_t length = handler ? (size_t)(handler - b.address) : b.n_address;
            for (size_t k = 0; k < count; k++) known = known || ranks[k] == b.rank;
            if (known || count >= room || length >= RS_FLIGHT_ADDRESS) continue;
            ranks[count] = b.rank;
            memcpy(addresses[count], b.address, length);
            addresses[count++][length] = '\0';
        }
    }
    return count;
}
