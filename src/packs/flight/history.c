/* Attempts of one job: a small record a verdict, and what the records of a folder say together: start again, start again without a
 * host, or stop, because the same line fails whatever the machine. */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/order.h"
#include "base/try.h"
#include "flight/sources.h"
#include "input/json.h"
#include "input/source.h"
#include "text/json_put.h"

#define MAX_RECORDS 1000
#define MAX_RECORD ((size_t)64 << 10)
#define SAME_HOST 2 /* attempts that end on one host: it is left out */
#define SAME_LINE 2 /* attempts that end in one line: starting again does not help */

/* What of a verdict is compared. Texts are the flight's; "" unknown. */
typedef struct record {
    uint64_t key; /* of the evidence: looking twice at one attempt is one record */
    int64_t time_ns, rank;
    const char *verdict, *host, *cause, *where, *op;
} record;

static uint64_t hash_text(uint64_t key, const char *text)
{
    return rs_hash_u64(key + rs_hash_bytes(text, strlen(text)));
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

/* The record of the verdict: of its first root. */
static record record_of(const rs_flight *flight)
{
    const rs_flight_report *report = &flight->report;
    const rs_flight_root *root = report->n_roots ? &report->roots[0] : NULL;
    const rs_flight_cause *cause = root ? root->cause : NULL;
    record r = {.rank = root ? root->rank : -1,
                .time_ns = cause && cause->time_ns ? cause->time_ns
                           : report->newest_known  ? report->newest_ns
                                                   : 0,
                .verdict = rs_flight_verdict_name(report->root.verdict),
                .host = text_or_empty(cause && cause->host ? cause->host
                                      : root               ? root->host
                                                           : NULL),
                .cause = text_or_empty(cause ? cause->kind : NULL),
                .where = text_or_empty(cause && cause->where ? cause->where
                                       : root                ? root->where
                                                             : NULL),
                .op = text_or_empty(root ? root->op : NULL)};
    uint64_t key = rs_hash_u64((uint64_t)r.time_ns + rs_hash_u64((uint64_t)r.rank));
    r.key = hash_text(hash_text(hash_text(hash_text(key, r.verdict), r.cause), r.where), r.host);
    return r;
}

/* ---- records on disk -------------------------------------------------------------------------------------- */

static const char *read_text(rs_flight *flight, rs_json_reader *json)
{
    if (rs_json_next(json) != RS_JSON_T_STRING || json->text.length > 4096) return "";
    char text[3 * 4096 + 1];
    size_t n = rs_json_decode(json->text.bytes, json->text.length, text, NULL);
    text[n] = '\0';
    return rs_fl_print(flight, "%s", text);
}

static bool read_key(const char *text, uint64_t *key)
{
    size_t n = 0;
    for (*key = 0; n < 16 && rs_hex_digit(text[n]) >= 0; n++)
        *key = *key << 4 | (uint64_t)rs_hex_digit(text[n]);
    return n == 16 && !text[n];
}

static bool read_record(rs_flight *flight, const uint8_t *bytes, size_t n, record *out)
{
    rs_json_reader json;
    *out = (record){.rank = -1, .verdict = "", .host = "", .cause = "", .where = "", .op = ""};
    bool good = false;
    rs_json_reader_init(&json, bytes, n);
    if (rs_json_next(&json) != RS_JSON_T_OBJECT) return false;
    while (rs_json_next(&json) == RS_JSON_T_KEY) {
        const char **texts[] = {&out->verdict, &out->host, &out->cause, &out->where, &out->op};
        static const char *const names[] = {"verdict", "host", "cause", "where", "op"};
        size_t i = 0;
        while (i < 5 && !rs_json_is(&json, names[i])) i++;
        if (i < 5) {
            *texts[i] = read_text(flight, &json);
            if (!*texts[i]) return false;
        } else if (rs_json_is(&json, "rank") || rs_json_is(&json, "time_ns")) {
            int64_t *number = rs_json_is(&json, "rank") ? &out->rank : &out->time_ns;
            if (rs_json_next(&json) == RS_JSON_T_NUMBER)
                rs_json_int(json.text.bytes, json.text.length, number);
        } else if (rs_json_is(&json, "key")) {
            const char *key = read_text(flight, &json);
            good = key && read_key(key, &out->key);
        } else {
            rs_json_skip_value(&json);
        }
    }
    return good && json.status == RS_JSON_OK && *out->verdict;
}

static int is_record(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return strncmp(entry->d_name, "flight-", 7) == 0 && n > 12 && strcmp(entry->d_name + n - 5, ".json") == 0;
}

static const rs_order by_time[] = {RS_RISING(record, time_ns), RS_RISING(record, key)};

/* The records of a folder but that of `own`. One that is damaged is a note. */
static rs_status read_records(rs_flight *flight, const char *folder, const record *own, record **out,
                              size_t *n, rs_error *err)
{
    struct dirent **entries = NULL;
    size_t capacity = 0;
    rs_status status = RS_OK;
    int count = scandir(folder, &entries, is_record, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = rs_fl_print(flight, "%s/%s", folder, entries[i]->d_name);
        rs_source *source = NULL;
        RS_LOCAL uint8_t *bytes = NULL;
        size_t size = 0;
        record r;
        if (!path) status = rs_fail_nomem(err, folder);
        bool read = status == RS_OK && *n < MAX_RECORDS && rs_source_open(path, 0, &source, NULL) == RS_OK &&
                    rs_source_read_all(source, MAX_RECORD, &bytes, &size, NULL) == RS_OK;
        if (read && read_record(flight, bytes, size, &r)) {
            if (r.key != own->key && !RS_PUSH(*out, *n, capacity, r)) status = rs_fail_nomem(err, folder);
        } else if (status == RS_OK) {
            rs_problems_add(&flight->problems, path, -1, RS_NOTE, "bad_record",
                            "the record of an attempt cannot be read", RS_NO_OFFSET);
        }
        rs_source_close(source);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    if (*n) RS_SORT(*out, *n, by_time);
    return status;
}

/* ---- the decision ----------------------------------------------------------------------------------------- */

static bool is_of_software(const rs_flight_report *report)
{
    if (report->cause)
        return strcmp(report->cause->kind, "python_exception") == 0 ||
               strcmp(report->cause->kind, "cuda_oom") == 0;
    rs_flight_root_kind kind = report->n_roots ? report->roots[0].kind : RS_FLIGHT_ROOT_NONE;
    return kind == RS_FLIGHT_ROOT_MISMATCH || kind == RS_FLIGHT_ROOT_DEADLOCK || kind == RS_FLIGHT_ROOT_ORDER;
}

/* How many records, with this one, agree in a member that is known. */
static size_t count(const record *records, size_t n, const char *text, size_t member)
{
    size_t same = 1;
    for (size_t i = 0; *text && i < n; i++)
        same += strcmp(*(const char *const *)((const char *)&records[i] + member), text) == 0;
    return *text ? same : 0;
}

static void decide(rs_flight *flight, const record *own, const record *records, size_t n)
{
    rs_flight_report *report = &flight->report;
    size_t lines = count(records, n, own->where, offsetof(record, where)),
           hosts = count(records, n, own->host, offsetof(record, host)), ranks = 1, other_hosts = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = records[i].rank == own->rank && own->rank >= 0;
        ranks += same;
        other_hosts += same && *own->host && *records[i].host && strcmp(records[i].host, own->host) != 0;
    }
    bool software = is_of_software(report), suspect = report->n_isolate > 0 && *own->host;
    report->decision = RS_FLIGHT_RESTART;
    report->decision_host = NULL;
    if (report->root.verdict == RS_FLIGHT_HEALTHY || report->root.verdict == RS_FLIGHT_STRAGGLER) {
        report->decision = RS_FLIGHT_GO_ON;
        report->decision_text = "Go on: nothing in this look ends the job.";
    } else if (software && lines >= SAME_LINE) {
        report->decision = RS_FLIGHT_STOP;
        report->decision_text =
            rs_fl_print(flight, "Stop: %zu of %zu attempts ended at %s; starting again does not help.", lines,
                        n + 1, own->where);
    } else if (*own->host && hosts >= SAME_HOST && !software) {
        report->decision = RS_FLIGHT_RESTART_WITHOUT_HOST;
        report->decision_text = rs_fl_print(
            flight, "Start again without %s: %zu of %zu attempts ended there.", own->host, hosts, n + 1);
    } else if (other_hosts && ranks >= 3 && !suspect) {
        report->decision = RS_FLIGHT_STOP;
        report->decision_text =
            rs_fl_print(flight,
                        "Stop: rank %" PRId64
                        " ended %zu of %zu attempts, on different hosts: look at its data and code.",
                        own->rank, ranks, n + 1);
    } else if (suspect && *own->cause && !software) {
        report->decision = RS_FLIGHT_RESTART_WITHOUT_HOST;
        report->decision_text = rs_fl_print(flight, "Start again without %s: its machine is suspect (%s).",
                                            own->host, own->cause);
    } else {
        report->decision_text =
            n ? rs_fl_print(flight, "Start again: no host and no line ended %d of %zu attempts.", SAME_LINE,
                            n + 1)
              : "Start again: this is the first record of the job.";
    }
    if (report->decision == RS_FLIGHT_RESTART_WITHOUT_HOST) report->decision_host = own->host;
}

const char *rs_flight_decision_name(rs_flight_decision decision)
{
    static const char *const names[] = {"none", "go_on", "restart", "restart_without_host", "stop"};
    return names[decision];
}

rs_status rs_fl_decide(rs_flight *flight, rs_error *err)
{
    if (!flight->settings.history) return RS_OK;
    record own = record_of(flight);
    RS_LOCAL record *records = NULL;
    size_t n = 0;
    RS_TRY(read_records(flight, flight->settings.history, &own, &records, &n, err));
    decide(flight, &own, records, n);
    flight->report.n_records = n;
    return flight->report.decision_text ? RS_OK : rs_fail_nomem(err, "the decision");
}

rs_status rs_flight_write_record(rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    const rs_flight_report *report;
    RS_TRY(rs_flight_get_report(flight, &report, err));
    record own = record_of(flight);
    char key[20];
    rs_writer w;
    rs_writer_init(&w, sink);
    snprintf(key, sizeof key, "%016" PRIx64, own.key);
    rs_json_put j;
    rs_json_put_init(&j, &w);
    rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
    rs_json_put_int(&j, "record", 1);
    rs_json_put_text(&j, "key", key);
    rs_json_put_text(&j, "verdict", own.verdict);
    rs_json_put_text(&j, "host", own.host);
    rs_json_put_text(&j, "cause", own.cause);
    rs_json_put_text(&j, "where", own.where);
    rs_json_put_text(&j, "op", own.op);
    rs_json_put_int(&j, "rank", own.rank);
    rs_json_put_int(&j, "time_ns", own.time_ns);
    rs_json_put_text(&j, "summary", report->root.summary);
    rs_json_put_close(&j);
    rs_writer_char(&w, '\n');
    return rs_writer_finish(&w, err);
}

void rs_flight_name_record(const rs_flight *flight, char name[RS_FLIGHT_RECORD_NAME])
{
    snprintf(name, RS_FLIGHT_RECORD_NAME, "flight-%016" PRIx64 ".json", record_of(flight).key);
}
