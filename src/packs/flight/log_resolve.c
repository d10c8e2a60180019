/* Whose events these are: by the ranks, processes, hosts and addresses that the log itself maps. */
#include "flight/files.h"
#include "base/ascii.h"
#include "base/order.h"
#include "flight/log.h"
#include "flight/sources.h"

#include <string.h>

#define DAY INT64_C(86400000000000)

int64_t rs_fl_world_of(const rs_flight *flight)
{
    int64_t world = flight->log ? flight->log->world : 0;
    for (size_t g = 0; g < flight->n_groups; g++)
        if ((int64_t)flight->groups[g].n > world) world = (int64_t)flight->groups[g].n;
    if ((int64_t)flight->n_ranks > world) world = (int64_t)flight->n_ranks;
    return world;
}

/* Seats of smaller communicators number their ranks again. */
static bool is_global(const rs_fl_log *log, const rs_fl_seat *seat)
{
    return seat->n_ranks == log->world;
}

static const rs_fl_seat *seat_of_process(const rs_fl_log *log, uint32_t host, int64_t pid)
{
    const rs_fl_seat *found = NULL;
    for (size_t i = 0; i < log->n_seats; i++) {
        const rs_fl_seat *s = &log->seats[i];
        if (s->pid != pid || (host != RS_FL_NONE && s->host != host)) continue;
        if (found && found->rank != s->rank) return NULL; /* two hosts have a process of that number */
        found = s;
    }
    return found;
}

int64_t rs_fl_rank_of_process(const rs_flight *flight, uint32_t host, int64_t pid)
{
    const rs_fl_seat *seat = flight->log ? seat_of_process(flight->log, host, pid) : NULL;
    if (flight->log && !seat) seat = seat_of_process(flight->log, RS_FL_NONE, pid);
    return seat ? seat->rank : -1;
}

static uint64_t bus_of(const char *text)
{
    uint64_t bus = 0;
    for (; *text; text++) {
        int digit = rs_hex_digit(*text);
        if (digit >= 0) bus = bus << 4 | (uint64_t)digit;
    }
    return bus;
}

/* A GPU's address as the kernel writes it, with or without its function. */
static const rs_fl_seat *seat_of_address(const rs_flight *flight, uint32_t host, uint32_t pci)
{
    const rs_fl_log *log = flight->log;
    uint64_t bus = bus_of(rs_fl_text(flight, pci));
    const rs_fl_seat *found = NULL;
    for (size_t i = 0; i < log->n_seats; i++) {
        const rs_fl_seat *s = &log->seats[i];
        if ((host != RS_FL_NONE && s->host != host) || (s->bus != bus && s->bus >> 4 != bus)) continue;
        if (found && found->rank != s->rank) return NULL;
        found = s;
    }
    return found;
}

/* The n-th host in the order of the map; RS_FL_NONE. */
static uint32_t nth_host(const rs_fl_log *log, int64_t n)
{
    return n >= 0 && (uint64_t)n < log->n_hosts ? log->hosts[n] : RS_FL_NONE;
}

/* The rank that is the n-th on its host: seats are in the order of their ranks. */
static int64_t nth_rank(const rs_fl_log *log, uint32_t host, int64_t n)
{
    for (size_t i = 0; i < log->n_seats; i++)
        if (log->seats[i].host == host && n-- == 0) return log->seats[i].rank;
    return -1;
}

static const rs_order by_rank[] = {RS_RISING(rs_fl_seat, rank)};

/* Keeps the seats of the whole job, one a rank (a job that was started again names them again), and lists the
 * hosts in the order in which they appear. */
static bool settle_seats(rs_fl_log *log)
{
    RS_SCOPED(rs_map64_clear) rs_map64 ranks = {0}, hosts = {0};
    size_t kept = 0;
    bool good = (log->hosts = rs_malloc((log->n_seats + 1) * sizeof *log->hosts)) != NULL;
    for (size_t i = 0; good && i < log->n_seats; i++) {
        rs_fl_seat seat = log->seats[i];
        bool is_new, new_host;
        if (!is_global(log, &seat)) continue;
        uint32_t *place = rs_map64_put(&ranks, (uint64_t)seat.rank, &is_new);
        good = place && rs_map64_put(&hosts, seat.host, &new_host);
        if (!good) break;
        if (is_new) *place = (uint32_t)kept++;
        log->seats[*place] = seat;
        if (new_host) log->hosts[log->n_hosts++] = seat.host;
    }
    log->n_seats = kept;
    RS_SORT(log->seats, kept, by_rank);
    return good;
}

static int64_t rank_in_group(const rs_flight *flight, const rs_fl_speaker *who)
{
    for (size_t g = 0; g < flight->n_groups; g++) {
        const rs_fl_group *group = &flight->groups[g];
        if (group->uid == who->guid && group->described && who->group_rank < (int64_t)group->n)
            return group->ranks[who->group_rank];
    }
    const char *guid = rs_fl_text(flight, who->guid);
    return strcmp(guid, "0") == 0 ? who->group_rank : -1; /* the default group numbers as the job does */
}

/* A log that torchrun writes into is of a node's ranks, whatever number its name ends in. */
static bool is_of_agent(const rs_fl_log *log, uint32_t file)
{
    for (size_t i = 0; i < log->n_files; i++)
        if (log->files[i].name == file) return log->files[i].of_agent;
    return false;
}

static void resolve(const rs_flight *flight, int64_t world, rs_fl_event *e)
{
    const rs_fl_log *log = flight->log;
    bool tasks_are_ranks = world > 0 && (int64_t)log->tasks.n == world;
    const rs_fl_seat *seat = NULL;
    uint32_t node = e->host;
    e->rank = e->who.rank;
    if (e->rank < 0 && e->who.pid >= 0) seat = seat_of_process(log, e->host, e->who.pid);
    if (e->rank < 0 && !seat && e->pci != RS_FL_NONE) seat = seat_of_address(flight, e->host, e->pci);
    if (seat) e->rank = seat->rank;
    if (e->rank < 0 && e->who.task >= 0 && tasks_are_ranks) e->rank = e->who.task;
    if (e->rank < 0 && e->task >= 0 && (tasks_are_ranks || !log->tasks.n)) e->rank = e->task;
    if (e->rank < 0 && e->who.task >= 0 && node == RS_FL_NONE) node = nth_host(log, e->who.task);
    if (e->rank < 0 && e->who.local >= 0) {
        if (node == RS_FL_NONE && nth_host(log, 1) == RS_FL_NONE)
            node = nth_host(log, 0); /* there is one host */
        if (node != RS_FL_NONE) e->rank = nth_rank(log, node, e->who.local);
        if (e->rank < 0 && e->mark && log->marks[e->mark - 1].first_rank >= 0)
            e->rank = log->marks[e->mark - 1].first_rank + e->who.local;
    }
    if (e->rank < 0 && e->who.guid != RS_FL_NONE && e->who.group_rank >= 0)
        e->rank = rank_in_group(flight, &e->who);
    if (e->host == RS_FL_NONE) e->host = node;
    bool of_host = e->step_only || e->kind == RS_FL_EV_XID || e->kind == RS_FL_EV_AMDGPU ||
                   e->kind == RS_FL_EV_SXID || e->kind == RS_FL_EV_PCIE_ERROR || e->role == RS_FL_CONDITION ||
                   e->kind == RS_FL_EV_NODE_FAILURE || e->kind == RS_FL_EV_CANCELLED;
    if (e->rank >= 0 || of_host || e->from != RS_FLIGHT_FILE_LOG || is_of_agent(log, e->file)) return;
    int64_t rank;
    const char *rule;
    bool says_rank;
    if (rs_fl_rank_of_path(rs_fl_text(flight, e->file), NULL, &rank, &rule, &says_rank) &&
        rank < (world ? world : INT64_MAX) && (says_rank || log->n_files > 1))
        e->rank = rank;
}

/* What torchrun itself raises follows from what happened to its ranks. */
static void see_through_torchrun(const rs_flight *flight, rs_fl_event *e)
{
    const char *exception = rs_fl_text(flight, e->exception);
    if (exception && strncmp(exception, "torch.distributed.elastic.", 26) == 0) e->role = RS_FL_CONSEQUENCE;
}

/* A stamp without a year takes the newest dump's. */
static void give_year(const rs_flight *flight, rs_fl_event *e)
{
    int64_t newest = 0;
    for (size_t r = 0; r < flight->n_ranks; r++)
        if (flight->ranks[r].newest > newest) newest = flight->ranks[r].newest;
    if (!e->yearless || !e->time_ns) return;
    int64_t first = INT64_C(730) * DAY; /* 1972-01-01 */
    int64_t day = (e->time_ns - first) / DAY, year = 1970, begin = 0;
    if (newest <= 0) return;
    for (;; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        int64_t next = begin + (leap ? 366 : 365) * DAY;
        if (next > newest || year > 2261) {
            if (!leap && day >= 60) day--;
            break;
        }
        begin = next;
    }
    e->time_ns = begin + day * DAY + (e->time_ns - first) % DAY;
    e->yearless = false;
}

/* A traceback that the program caught and went on from is no cause: it was fatal if torch's hook printed it,
 * if the rank's exit code follows, or if nothing follows from there but consequences. */
static bool was_fatal(const rs_fl_log *log, const rs_fl_event *e, const rs_map64 *exits)
{
    if (e->exception == RS_FL_NONE || e->by_hook) return true;
    const uint32_t *exit = e->rank < 0 ? NULL : rs_map64_get(exits, (uint64_t)e->rank);
    if (exit && (log->events[*exit].file != e->file || log->events[*exit].line > e->line)) return true;
    const uint32_t *last = rs_map64_get(&log->last_plain, e->source);
    return !last || (int64_t)*last < e->line;
}

/* The last event of each rank that tells of its exit. */
static bool find_exits(const rs_fl_log *log, rs_map64 *exits)
{
    for (size_t i = 0; i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        bool exit = e->kind == RS_FL_EV_EXIT || e->kind == RS_FL_EV_KILLED || e->kind == RS_FL_EV_SEGFAULT;
        bool is_new;
        if (!exit || e->code == INT64_MIN || e->rank < 0) continue;
        uint32_t *place = rs_map64_put(exits, (uint64_t)e->rank, &is_new);
        if (!place) return false;
        *place = (uint32_t)i;
    }
    return true;
}

/* torchrun's table names rank and process, the line of the failure the process only. */
static bool give_ranks_of_processes(rs_fl_log *log)
{
    RS_SCOPED(rs_map64_clear) rs_map64 ranks = {0};
    bool good = true, is_new;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; good && i < log->n; i++) {
            rs_fl_event *e = &log->events[i];
            if (e->who.pid < 0 || e->code == INT64_MIN) continue;
            uint64_t key = rs_hash_u64(rs_hash_u64(e->file) + (uint64_t)e->who.pid);
            if (pass == 0 && !e->mark && e->rank >= 0 && e->rank < (int64_t)RS_FL_NONE) {
                uint32_t *rank = rs_map64_put(&ranks, key, &is_new);
                good = rank != NULL;
                if (rank) *rank = (uint32_t)e->rank;
            } else if (pass == 1 && e->mark && e->rank < 0) {
                const uint32_t *rank = rs_map64_get(&ranks, key);
                if (rank) e->rank = *rank;
            }
        }
    return good;
}

rs_status rs_fl_resolve_log(rs_flight *flight, rs_error *err)
{
    if (!flight->log && !rs_fl_has_sources(flight)) return RS_OK;
    rs_fl_log *log = rs_fl_events_of(flight);
    if (!log) return rs_fail_nomem(err, "the log");
    int64_t world = rs_fl_world_of(flight);
    if (!settle_seats(log) || !rs_fl_find_attempts(flight)) return rs_fail_nomem(err, "the log");
    for (size_t i = 0; i < log->n_seats; i++) {
        rs_fl_note *note = rs_fl_note_put(flight, log->seats[i].rank);
        if (!note) return rs_fail_nomem(err, "the log");
        if (note->host == RS_FL_NONE) note->host = log->seats[i].host;
    }
    if (!rs_fl_hear_sources(flight)) return rs_fail_nomem(err, "the sources");
    for (size_t i = 0; i < log->n; i++) {
        resolve(flight, world, &log->events[i]);
        give_year(flight, &log->events[i]);
        see_through_torchrun(flight, &log->events[i]);
    }
    RS_SCOPED(rs_map64_clear) rs_map64 exits = {0};
    bool good = give_ranks_of_processes(log) && find_exits(log, &exits);
    for (size_t i = 0; good && i < log->n; i++)
        log->events[i].fatal = was_fatal(log, &log->events[i], &exits);
    rs_fl_judge_attempt(flight);
    for (size_t i = 0; log->foreign.n && i < log->n; i++)
        log->events[i].past |= rs_map64_get(&log->foreign, log->events[i].file) != NULL;
    return good ? RS_OK : rs_fail_nomem(err, "the log");
}
