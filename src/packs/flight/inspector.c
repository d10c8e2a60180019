/* NCCL's Inspector plugin: a line of JSON for each finished collective of each rank, with its time on the GPU. A collective ends
 * on all ranks together, so the rank with the least time came last, and its time is at most what the transfer took. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/changes.h"
#include "base/order.h"
#include "base/real.h"
#include "base/stats.h"
#include "flight/analyse.h"
#include "flight/identity.h"
#include "flight/sources.h"
#include "flight/tables.h"
#include "input/json.h"
#include "input/lines.h"
#include "table/cells.h"
#include "text/numbers.h"

#define MAX_RECORDS ((size_t)64 << 20)
#define MAX_US 1e12              /* of one collective: eleven days */
#define LEAST_COLLECTIVES 8      /* of a rank, before it is judged */
#define SLOWER 1.5               /* than the communicators of the same work: a slow link */
#define SEVERAL (RS_FL_NONE - 1) /* hosts fit */
#define POINTS 64                /* of a history in which changes are looked for */

typedef struct record {
    uint32_t comm, coll, host, file; /* texts */
    int64_t size, rank, pid, sn, bytes, time_us, line;
    double us, busbw;
    size_t identity;
} record;

/* What repeats: one kind of collective of one size on one communicator. */
typedef struct channel {
    size_t first, n; /* records */
    uint32_t coll, comm;
    int64_t bytes, size;
    size_t collectives;
    double transfer_us, wait_us, busbw; /* medians: the least time, what others wait, the best bandwidth */
    uint32_t last;                      /* process that comes last most often */
    size_t n_last;
    double slower; /* than the same on other communicators; 0 unknown */
    uint32_t host; /* of all slow communicators of this work and of no other; RS_FL_NONE */
    size_t since;  /* record with which its level changed; SIZE_MAX none */
    double before_us, after_us;
} channel;

struct rs_fl_inspector {
    record *records;
    size_t n, capacity;
    channel *channels;
    size_t n_channels, channels_capacity;
    rs_fl_identity *identities; /* by record */
    size_t n_processes;
};

static bool knows(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return n && text[0] == '{' && memmem(text, n, "\"header\"", 8) &&
           (memmem(text, n, "\"coll_perf\"", 11) ||
            memmem(text, n, "\"inspector_output_format_version\"", 33));
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* What a line is, by its members. From v4.3 on a line with dump_stats gives the header of those after it. */
typedef enum line_kind { L_DAMAGED, L_COLLECTIVE, L_STATS, L_OTHER } line_kind;

typedef struct reading {
    rs_flight *flight;
    rs_json_reader json;
    record record, shared; /* shared: the header of the last dump_stats */
    bool has_header, nomem;
    bool of_host;             /* the record's time is the host's, which says nothing of the transfer */
    uint64_t others, dropped; /* records that are not used; that the plugin itself lost */
} reading;

static double number(reading *r)
{
    double value = NAN;
    if (rs_json_next(&r->json) != RS_JSON_T_NUMBER ||
        !rs_json_real(r->json.text.bytes, r->json.text.length, &value))
        return NAN;
    return value;
}

static int64_t whole(reading *r)
{
    int64_t value = -1;
    if (rs_json_next(&r->json) != RS_JSON_T_NUMBER ||
        !rs_json_int(r->json.text.bytes, r->json.text.length, &value))
        return -1;
    return value;
}

static uint32_t word(reading *r)
{
    if (rs_json_next(&r->json) != RS_JSON_T_STRING) return RS_FL_NONE;
    size_t n = r->json.text.length > 256 ? 256 : r->json.text.length;
    uint32_t id = rs_strings_add(&r->flight->texts, (const char *)r->json.text.bytes, n);
    r->nomem |= id == RS_NO_STRING;
    return id;
}

/* A count of the plugin; what cannot be one is none. */
static uint64_t lost(int64_t count)
{
    return count > 0 && count < INT64_C(1) << 40 ? (uint64_t)count : 0;
}

/* The members of the three objects have different names, so one list serves all. */
static void read_member(reading *r)
{
    rs_json_reader *json = &r->json;
    record *x = &r->record;
    if (rs_json_is(json, "id"))
        x->comm = word(r);
    else if (rs_json_is(json, "rank"))
        x->rank = whole(r);
    else if (rs_json_is(json, "n_ranks"))
        x->size = whole(r);
    else if (rs_json_is(json, "dump_timestamp_us"))
        x->time_us = whole(r);
    else if (rs_json_is(json, "hostname"))
        x->host = word(r);
    else if (rs_json_is(json, "pid"))
        x->pid = whole(r);
    else if (rs_json_is(json, "coll"))
        x->coll = word(r);
    else if (rs_json_is(json, "coll_sn"))
        x->sn = whole(r);
    else if (rs_json_is(json, "coll_msg_size_bytes"))
        x->bytes = whole(r);
    else if (rs_json_is(json, "coll_exec_time_us"))
        x->us = number(r);
    else if (rs_json_is(json, "coll_busbw_gbs"))
        x->busbw = number(r);
    else if (rs_json_is(json, "coll_timing_source"))
        r->of_host = rs_json_next(json) == RS_JSON_T_STRING && rs_json_is(json, "collective_cpu");
    else if (rs_json_is(json, "coll_dropped_since_last_dump"))
        r->dropped += lost(whole(r));
    else
        rs_json_skip_value(json);
}

static line_kind kind_of_member(reading *r, line_kind kind)
{
    if (rs_json_is(&r->json, "header")) r->has_header = true;
    if (rs_json_is(&r->json, "coll_perf")) return L_COLLECTIVE;
    if (rs_json_is(&r->json, "dump_stats")) return L_STATS;
    return rs_json_is(&r->json, "p2p_perf") || rs_json_is(&r->json, "proxy_trace") ? L_OTHER : kind;
}

static void take_header(record *x, const record *from)
{
    x->comm = from->comm;
    x->host = from->host;
    x->size = from->size;
    x->rank = from->rank;
    x->pid = from->pid;
    x->time_us = from->time_us;
}

static line_kind read_record(reading *r, const rs_line_text *line)
{
    rs_json_token token;
    line_kind kind = L_DAMAGED;
    r->has_header = r->of_host = false;
    r->record = (record){.comm = RS_FL_NONE,
                         .coll = RS_FL_NONE,
                         .host = RS_FL_NONE,
                         .file = r->record.file,
                         .rank = -1,
                         .pid = -1,
                         .sn = -1,
                         .us = NAN,
                         .busbw = NAN,
                         .line = (int64_t)line->number};
    rs_json_reader_init(&r->json, line->text, line->n);
    if (rs_json_next(&r->json) != RS_JSON_T_OBJECT) return L_DAMAGED;
    while ((token = rs_json_next(&r->json)) == RS_JSON_T_KEY) {
        kind = kind_of_member(r, kind);
        if (rs_json_next(&r->json) != RS_JSON_T_OBJECT) return L_DAMAGED;
        while ((token = rs_json_next(&r->json)) == RS_JSON_T_KEY) read_member(r);
        if (token != RS_JSON_T_OBJECT_END) return L_DAMAGED;
    }
    record *x = &r->record;
    if (token != RS_JSON_T_OBJECT_END) return L_DAMAGED;
    if (kind == L_STATS) r->shared = *x;
    if (kind != L_COLLECTIVE) return kind;
    if (!r->has_header) take_header(x, &r->shared);
    bool good = x->comm != RS_FL_NONE && x->coll != RS_FL_NONE && x->rank >= 0 && x->rank < x->size &&
                x->sn >= 0 && x->us > 0 && x->us < MAX_US;
    return good ? r->of_host ? L_OTHER : L_COLLECTIVE : L_DAMAGED;
}

static void report_lines(const reading *r, const char *name, uint64_t bad, uint64_t first_bad)
{
    rs_problems *problems = &r->flight->problems;
    if (bad)
        rs_problems_add_many(problems, name, -1, RS_LOSS, "inspector_line",
                             "a line of NCCL Inspector is damaged", first_bad, bad, NULL);
    if (r->others)
        rs_problems_add_many(problems, name, -1, RS_NOTE, "inspector_other",
                             "a record of NCCL Inspector without a collective's time on the GPU is not used",
                             RS_NO_OFFSET, r->others, NULL);
    if (r->dropped)
        rs_problems_add_many(problems, name, -1, RS_NOTE, "inspector_dropped",
                             "NCCL Inspector itself dropped a record of a collective", RS_NO_OFFSET,
                             r->dropped, NULL);
}

static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    const char *name = rs_source_name(from);
    rs_lines lines;
    rs_line_text line;
    rs_status status = rs_lines_open(from, &lines, err);
    if (status != RS_OK) return status;
    if (!flight->inspector && !(flight->inspector = rs_calloc(1, sizeof *flight->inspector)))
        status = rs_fail_nomem(err, name);
    struct rs_fl_inspector *all = flight->inspector;
    reading r = {.flight = flight,
                 .record.file = rs_strings_add(&flight->texts, name, strlen(name)),
                 .shared = {.comm = RS_FL_NONE, .host = RS_FL_NONE, .rank = -1, .pid = -1}};
    uint64_t bad = 0, first_bad = 0;
    if (r.record.file == RS_NO_STRING) status = rs_fail_nomem(err, name);
    while (status == RS_OK && all->n < MAX_RECORDS && rs_lines_next(&lines, &line, &status, err)) {
        if (!line.text || !line.n) continue;
        line_kind kind = read_record(&r, &line);
        if (r.nomem || (kind == L_COLLECTIVE && !RS_PUSH(all->records, all->n, all->capacity, r.record)))
            status = rs_fail_nomem(err, name);
        if (kind == L_DAMAGED && !bad++) first_bad = line.offset;
        r.others += kind == L_OTHER;
    }
    if (status == RS_OK) report_lines(&r, name, bad, first_bad);
    if (status == RS_OK) rs_source_report_end(from, -1, &flight->problems);
    flight->stats.bytes_text += lines.offset;
    rs_lines_close(&lines);
    return status;
}

/* ---- judging ---------------------------------------------------------------------------------------------- */

static const rs_order by_collective[] = {RS_RISING(record, comm),  RS_RISING(record, coll),
                                         RS_RISING(record, bytes), RS_RISING(record, sn),
                                         RS_RISING(record, rank),  RS_RISING(record, line)};

/* Over all collectives of a process. */
typedef struct tally {
    size_t timed, last;
    double saved_us, longest_us; /* where it came last: what the others waited, and their time */
    double by_chance;            /* how often it would come last if all members were equal */
    size_t newest;               /* its newest record in which it came last */
} tally;

typedef struct judging {
    rs_flight *flight;
    struct rs_fl_inspector *all;
    tally *tallies;                     /* by process */
    double *transfers, *waits, *busbws; /* of the channel that is looked at */
    size_t *begins;                     /* first record of each of its collectives */
    size_t *lasts;                      /* by process: how often it came last there */
} judging;

static uint32_t process_of(const judging *j, size_t at)
{
    return j->all->identities[at].process;
}

/* One collective: records first to first + n. */
static void look_at_collective(judging *j, channel *c, size_t first, size_t n)
{
    const record *records = j->all->records;
    double least = INFINITY, second = INFINITY, longest = 0, busbw = 0;
    size_t last = first;
    for (size_t i = first; i < first + n; i++) {
        double us = records[i].us;
        if (us < least) {
            second = least;
            least = us;
            last = i;
        } else if (us < second) {
            second = us;
        }
        if (us > longest) longest = us;
        if (records[i].busbw > busbw) busbw = records[i].busbw;
    }
    size_t k = c->collectives++;
    j->transfers[k] = least;
    j->waits[k] = longest - least;
    j->busbws[k] = busbw;
    j->begins[k] = first;
    if ((int64_t)n < records[first].size || n < 2) return; /* who is not there may have come last */
    for (size_t i = first; i < first + n; i++) {
        j->tallies[process_of(j, i)].timed++;
        j->tallies[process_of(j, i)].by_chance += 1 / (double)n;
    }
    if (second - least < 0.1 * longest) return; /* none is clearly the last */
    tally *t = &j->tallies[process_of(j, last)];
    t->last++;
    t->saved_us += second - least;
    t->longest_us += longest;
    t->newest = last;
    if (++j->lasts[process_of(j, last)] > c->n_last) {
        c->n_last = j->lasts[process_of(j, last)];
        c->last = process_of(j, last);
    }
}

static double median_of(double *values, size_t n)
{
    rs_sort_doubles(values, n);
    return rs_quantile(values, n, 0.5);
}

/* Where the transfer became slower for good: a change of at least 30 %, in medians over POINTS parts of the history. */
static bool find_change(judging *j, channel *c)
{
    double points[POINTS], part[1024];
    rs_change changes[POINTS];
    size_t n = c->collectives < POINTS ? c->collectives : POINTS, n_changes = 0;
    double level = 0;
    c->since = SIZE_MAX;
    if (n < 12) return true;
    for (size_t p = 0; p < n; p++) {
        size_t from = p * c->collectives / n, to = (p + 1) * c->collectives / n, k = 0;
        for (size_t i = from; i < to && k < sizeof part / sizeof *part; i++) part[k++] = j->transfers[i];
        points[p] = median_of(part, k);
        level += points[p] / (double)n;
    }
    if (!rs_changes_find(points, n, 1e-4, 0.3 * level, changes, &n_changes)) return false;
    if (!n_changes || changes[n_changes - 1].difference <= 0) return true;
    size_t at = changes[n_changes - 1].at, before = n_changes > 1 ? changes[n_changes - 2].at : 0;
    c->since = j->begins[at * c->collectives / n];
    c->before_us = rs_mean(points + before, at - before);
    c->after_us = rs_mean(points + at, n - at);
    return true;
}

static bool look_at_channel(judging *j, size_t first, size_t n)
{
    const record *records = j->all->records;
    const record *r = &records[first];
    channel c = {.first = first,
                 .n = n,
                 .coll = r->coll,
                 .comm = r->comm,
                 .bytes = r->bytes,
                 .size = r->size,
                 .last = RS_FL_NONE,
                 .host = RS_FL_NONE};
    memset(j->lasts, 0, (j->all->n_processes + 1) * sizeof *j->lasts);
    for (size_t i = first; i < first + n;) {
        size_t end = i + 1;
        while (end < first + n && records[end].sn == records[i].sn) end++;
        look_at_collective(j, &c, i, end - i);
        i = end;
    }
    if (!find_change(j, &c)) return false;
    c.transfer_us = median_of(j->transfers, c.collectives);
    c.wait_us = median_of(j->waits, c.collectives);
    c.busbw = median_of(j->busbws, c.collectives);
    return RS_PUSH(j->all->channels, j->all->n_channels, j->all->channels_capacity, c);
}

static bool is_same_work(const record *x, const record *y)
{
    return x->coll == y->coll && x->bytes == y->bytes && x->size == y->size;
}

static const rs_order by_work[] = {RS_RISING(channel, coll), RS_RISING(channel, bytes),
                                   RS_RISING(channel, size), RS_RISING(channel, comm)};

/* How many of the communicators of one work have a rank on a host. */
typedef struct host_count {
    uint32_t host;
    size_t slow, fast, channel; /* channel: the last one that was counted, + 1 */
} host_count;

/* Finds the host that all slow communicators of one work share, and no other has. */
static bool find_host(struct rs_fl_inspector *all, size_t from, size_t to)
{
    RS_SCOPED(rs_map64_clear) rs_map64 places = {0};
    RS_LOCAL host_count *hosts = NULL;
    size_t n = 0, capacity = 0, n_slow = 0;
    uint32_t found = RS_FL_NONE;
    for (size_t c = from; c < to; c++) {
        bool slow = all->channels[c].slower >= SLOWER;
        n_slow += slow;
        for (size_t i = all->channels[c].first; i < all->channels[c].first + all->channels[c].n; i++) {
            bool is_new;
            uint32_t *place = rs_map64_put(&places, all->records[i].host, &is_new);
            if (!place) return false;
            if (is_new) {
                *place = (uint32_t)n;
                if (!RS_PUSH(hosts, n, capacity, (host_count){.host = all->records[i].host})) return false;
            }
            host_count *h = &hosts[*place];
            if (h->channel == c + 1) continue;
            h->channel = c + 1;
            h->slow += slow;
            h->fast += !slow;
        }
    }
    for (size_t h = 0; h < n && n_slow; h++)
        if (hosts[h].slow == n_slow && !hosts[h].fast) found = found == RS_FL_NONE ? hosts[h].host : SEVERAL;
    for (size_t c = from; c < to && found != SEVERAL; c++) all->channels[c].host = found;
    return true;
}

/* Compares the transfers of equal work on at least three communicators. */
static bool compare_channels(judging *j)
{
    struct rs_fl_inspector *all = j->all;
    RS_SORT(all->channels, all->n_channels, by_work);
    for (size_t i = 0; i < all->n_channels;) {
        size_t from = i, end = i, n = 0;
        const record *first = &all->records[all->channels[i].first];
        for (; end < all->n_channels && is_same_work(first, &all->records[all->channels[end].first]); end++)
            if (all->channels[end].collectives >= LEAST_COLLECTIVES)
                j->transfers[n++] = all->channels[end].transfer_us;
        double usual = n >= 3 ? median_of(j->transfers, n) : 0;
        for (; i < end; i++)
            if (usual > 0 && all->channels[i].collectives >= LEAST_COLLECTIVES)
                all->channels[i].slower = all->channels[i].transfer_us / usual;
        if (usual > 0 && !find_host(all, from, end)) return false;
    }
    return true;
}

/* ---- events ----------------------------------------------------------------------------------------------- */

static bool say(judging *j, rs_fl_event_kind kind, size_t at, int64_t rank, const char *text)
{
    const record *x = &j->all->records[at];
    rs_fl_event *e = text ? rs_fl_testify(j->flight, RS_FLIGHT_FILE_INSPECTOR, kind, rank,
                                          rank < 0 ? RS_FL_NONE : x->host, text, x->file, x->line)
                          : NULL;
    if (!e) return false;
    e->time_ns = x->time_us > 0 && x->time_us < INT64_MAX / 1000 ? x->time_us * 1000 : 0;
    e->settled = true;
    return true;
}

/* It nearly always comes last, by much. A rank that is late only because it waited on another communicator is last on fewer. */
static bool say_late(judging *j)
{
    for (size_t p = 0; p < j->all->n_processes; p++) {
        const tally *t = &j->tallies[p];
        if (t->timed < LEAST_COLLECTIVES || t->last * 10 < t->timed * 7 ||
            t->saved_us < 0.2 * t->longest_us ||
            rs_binomial_tail(t->last, t->timed, t->by_chance / (double)t->timed) *
                    (double)j->all->n_processes >
                RS_FL_CHANCE)
            continue;
        const rs_fl_identity *who = &j->all->identities[t->newest];
        const record *x = &j->all->records[t->newest];
        char saved[32], longest[32];
        rs_human_time(rs_int_of(t->saved_us / (double)t->last * 1000), saved);
        rs_human_time(rs_int_of(t->longest_us / (double)t->last * 1000), longest);
        const char *name = who->global >= 0 ? ""
                                            : rs_fl_print(j->flight, "rank %" PRId64 " of communicator %s ",
                                                          x->rank, rs_fl_text(j->flight, x->comm));
        if (!name ||
            !say(
                j, RS_FL_EV_LATE, t->newest, who->global,
                rs_fl_print(
                    j->flight,
                    "%scomes last in %zu of %zu collectives: the next rank waits %s for it, of the %s that the "
                    "collective takes",
                    name, t->last, t->timed, saved, longest)))
            return false;
    }
    return true;
}

static const char *channel_text(rs_flight *flight, const struct rs_fl_inspector *all, const channel *c)
{
    const record *x = &all->records[c->first];
    char size[32];
    return rs_fl_print(flight, "%s of %s on communicator %s (%" PRId64 " ranks)", rs_fl_text(flight, x->coll),
                       rs_human_bytes(x->bytes, size), rs_fl_text(flight, x->comm), x->size);
}

static bool say_slow(judging *j)
{
    rs_flight *flight = j->flight;
    size_t told = 0;
    for (size_t i = 0; i < j->all->n_channels && told < 16; i++) {
        const channel *c = &j->all->channels[i];
        const char *what = channel_text(flight, j->all, c);
        char now[32], before[32];
        if (!what) return false;
        if (c->slower >= SLOWER) {
            const char *at = c->host == RS_FL_NONE
                                 ? ""
                                 : rs_fl_print(flight, "; %s is in every slow one and in no other",
                                               rs_fl_text(flight, c->host));
            told++;
            if (!at ||
                !say(j, RS_FL_EV_SLOW_LINK, c->first, -1,
                     rs_fl_print(
                         flight, "%s takes %s times as long as on the other communicators: %s, %s GB/s%s",
                         what, RS_FIXED(c->slower, 1), rs_human_time(rs_int_of(c->transfer_us * 1000), now),
                         RS_FIXED(c->busbw, 1), at)))
                return false;
        }
        if (c->since != SIZE_MAX) {
            told++;
            rs_human_time(rs_int_of(c->before_us * 1000), before);
            rs_human_time(rs_int_of(c->after_us * 1000), now);
            if (!say(j, RS_FL_EV_SLOW_LINK, c->since, -1,
                     rs_fl_print(flight, "%s became slower with number %" PRId64 ": %s -> %s", what,
                                 j->all->records[c->since].sn, before, now)))
                return false;
        }
    }
    return true;
}

static bool judge(judging *j)
{
    struct rs_fl_inspector *all = j->all;
    const record *records = all->records;
    for (size_t i = 0; i < all->n; i++)
        all->identities[i] = (rs_fl_identity){.comm = records[i].comm,
                                              .host = records[i].host,
                                              .size = records[i].size,
                                              .rank = records[i].rank,
                                              .pid = records[i].pid,
                                              .gpu = -1};
    if (!rs_fl_identify(j->flight, all->identities, all->n, &all->n_processes)) return false;
    j->tallies = rs_calloc(all->n_processes + 1, sizeof *j->tallies);
    j->lasts = rs_calloc(all->n_processes + 1, sizeof *j->lasts);
    if (!j->tallies || !j->lasts) return false;
    for (size_t i = 0; i < all->n;) {
        size_t end = i + 1;
        while (end < all->n && records[end].comm == records[i].comm && records[end].coll == records[i].coll &&
               records[end].bytes == records[i].bytes)
            end++;
        if (!look_at_channel(j, i, end - i)) return false;
        i = end;
    }
    size_t told = j->flight->log ? j->flight->log->n : 0;
    if (!compare_channels(j) || !say_late(j) || !say_slow(j)) return false;
    if (j->flight->log && j->flight->log->n > told) return true;
    return say(j, RS_FL_EV_LEVEL, all->n - 1, -1,
               rs_fl_print(j->flight,
                           "in %zu records of %zu ranks none is late often, and no communicator is slow",
                           all->n, all->n_processes));
}

static bool testify(rs_flight *flight)
{
    struct rs_fl_inspector *all = flight->inspector;
    if (!all || !all->n || all->identities) return true;
    RS_SORT(all->records, all->n, by_collective);
    judging j = {.flight = flight,
                 .all = all,
                 .transfers = rs_malloc((all->n + 1) * sizeof(double)),
                 .waits = rs_malloc((all->n + 1) * sizeof(double)),
                 .busbws = rs_malloc((all->n + 1) * sizeof(double)),
                 .begins = rs_malloc((all->n + 1) * sizeof(size_t))};
    all->identities = rs_malloc((all->n + 1) * sizeof *all->identities);
    bool good = j.transfers && j.waits && j.busbws && j.begins && all->identities && judge(&j);
    rs_free_all(j.transfers, j.waits, j.busbws, j.begins, j.tallies, j.lasts);
    return good;
}

static void clear(rs_flight *flight)
{
    if (!flight->inspector) return;
    rs_free_all(flight->inspector->records, flight->inspector->channels, flight->inspector->identities,
                flight->inspector);
}

const rs_fl_source rs_fl_inspector_source = {.file = RS_FLIGHT_FILE_INSPECTOR,
                                             .title = "NCCL Inspector",
                                             .knows = knows,
                                             .read = read,
                                             .testify = testify,
                                             .clear = clear,
                                             .blind = " It holds finished collectives only.",
                                             .decides = "a profile of one step on all ranks"};

/* ---- the table -------------------------------------------------------------------------------------------- */

static const rs_column_spec columns[] = {
    {"communicator", RS_TEXT, RS_UNIT_NONE, "its hash, as in NCCL's log", NULL},
    {"op", RS_TEXT, RS_UNIT_NONE, "kind of collective", NULL},
    {"bytes", RS_INT, RS_UNIT_BYTES, "message size", NULL},
    {"ranks", RS_INT, RS_UNIT_COUNT, "ranks of the communicator", NULL},
    {"collectives", RS_INT, RS_UNIT_COUNT, "finished collectives", NULL},
    {"transfer_us", RS_REAL, RS_UNIT_US,
     "median of the least time of a rank: what the transfer takes at most", "transfer"},
    {"wait_us", RS_REAL, RS_UNIT_US, "median of the longest wait of a rank for the last one", "wait"},
    {"busbw_gbs", RS_REAL, RS_UNIT_GBPS, "median of the best bus bandwidth of a rank", "bus bandwidth"},
    {"slower", RS_REAL, RS_UNIT_NONE, "transfer against the median of the communicators of the same work",
     NULL},
    {"last_rank", RS_INT, RS_UNIT_ID, "rank of the job that comes last most often", "last rank"},
    {"last_pct", RS_REAL, RS_UNIT_PERCENT, "share of the collectives in which it does", "last"},
    {"changed_ns", RS_TIME, RS_UNIT_NS, "when the transfer became slower for good", "changed"},
    {"before_us", RS_REAL, RS_UNIT_US, "mean transfer before that", "before"},
    {"after_us", RS_REAL, RS_UNIT_US, "mean transfer since then", "since"},
};
const rs_table_spec rs_fl_inspector_spec = {
    "inspector", "one row a communicator, kind and size of collective, by NCCL Inspector", columns,
    sizeof columns / sizeof *columns};

static rs_status add_row(const rs_flight *flight, const channel *c, rs_table *table, rs_error *err)
{
    const struct rs_fl_inspector *all = flight->inspector;
    const record *x = &all->records[c->first];
    int64_t last = -1;
    for (size_t i = c->first; last < 0 && c->last != RS_FL_NONE && i < c->first + c->n; i++)
        if (all->identities[i].process == c->last) last = all->identities[i].global;
    bool changed = c->since != SIZE_MAX;
    RS_PUT_CELLS(table, rs_fl_text(flight, x->comm), rs_fl_text(flight, x->coll), x->bytes, x->size,
                 c->collectives, c->transfer_us, c->wait_us, c->busbw,
                 c->slower > 0 ? c->slower : (double)NAN, last >= 0 ? last : RS_NO_VALUE,
                 c->n_last ? 100.0 * (double)c->n_last / (double)c->collectives : (double)NAN,
                 changed && all->records[c->since].time_us > 0 &&
                         all->records[c->since].time_us < INT64_MAX / 1000
                     ? all->records[c->since].time_us * 1000
                     : RS_NO_VALUE);
    for (int i = 0; i < 2; i++)
        if (changed)
            rs_table_add_real(table, i ? c->after_us : c->before_us);
        else
            rs_table_add_null(table);
    return rs_table_end_row(table, err);
}

rs_table *rs_flight_inspector(rs_flight *flight, rs_error *err)
{
    rs_table *table = rs_table_create(&rs_fl_inspector_spec);
    rs_status status = table ? RS_OK : rs_fail_nomem(err, "a table");
    for (size_t i = 0; flight->inspector && status == RS_OK && i < flight->inspector->n_channels; i++)
        status = add_row(flight, &flight->inspector->channels[i], table, err);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}
