/* The record as an SQLite database. Field names follow the flat database of PyTorch's own analyzer; unlike
 * there, the keys of all tables join. */
#include "flight/analyse.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char schema[] =
    "PRAGMA foreign_keys = ON;"
    "CREATE TABLE groups (id INTEGER PRIMARY KEY, uid TEXT NOT NULL, desc TEXT, size INTEGER NOT NULL);"
    "CREATE TABLE memberships (group_id INTEGER NOT NULL REFERENCES groups(id), global_rank INTEGER NOT NULL,"
    " group_rank INTEGER NOT NULL, has_dump INTEGER NOT NULL, PRIMARY KEY (group_id, group_rank));"
    "CREATE TABLE tracebacks (id INTEGER PRIMARY KEY, frames TEXT NOT NULL);"
    "CREATE TABLE collectives (id INTEGER PRIMARY KEY, group_id INTEGER NOT NULL REFERENCES groups(id),"
    " pass_check INTEGER NOT NULL, collective_seq_id INTEGER, p2p_seq_id INTEGER, record_id INTEGER, pg_desc "
    "TEXT,"
    " collective_name TEXT, input_sizes TEXT, output_sizes TEXT, expected_ranks TEXT, collective_state TEXT,"
    " traceback_id INTEGER REFERENCES tracebacks(id), input_numel INTEGER, output_numel INTEGER, "
    "missing_ranks TEXT, type_of_mismatch TEXT);"
    "CREATE TABLE nccl_calls (id INTEGER PRIMARY KEY, collective_id INTEGER REFERENCES collectives(id),"
    " group_id INTEGER NOT NULL REFERENCES groups(id), global_rank INTEGER NOT NULL,"
    " traceback_id INTEGER REFERENCES tracebacks(id), collective_type TEXT NOT NULL, sizes TEXT, "
    "output_sizes TEXT,"
    " input_dtypes TEXT, output_dtypes TEXT, record_id INTEGER, collective_seq_id INTEGER, p2p_seq_id "
    "INTEGER, state TEXT NOT NULL, time_created_ns INTEGER, time_discovered_started_ns INTEGER,"
    " time_discovered_completed_ns INTEGER, duration_ms REAL);"
    "CREATE INDEX nccl_calls_by_collective ON nccl_calls(collective_id);"
    "CREATE INDEX nccl_calls_by_rank ON nccl_calls(global_rank, record_id);";

typedef struct database {
    rs_flight *flight;
    sqlite3 *db;
    sqlite3_stmt *group, *membership, *traceback, *collective, *call;
    int64_t next_collective;
    uint64_t *votes;
    uint32_t *culprits;
    int rc;
} database;

static bool prepare(database *d)
{
    struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        {&d->group, "INSERT INTO groups VALUES (?, ?, ?, ?)"},
        {&d->membership, "INSERT INTO memberships VALUES (?, ?, ?, ?)"},
        {&d->traceback, "INSERT INTO tracebacks VALUES (?, ?)"},
        {&d->collective,
         "INSERT INTO collectives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&d->call, "INSERT INTO nccl_calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all && d->rc == SQLITE_OK; i++)
        d->rc = sqlite3_prepare_v2(d->db, all[i].sql, -1, all[i].statement, NULL);
    return d->rc == SQLITE_OK;
}

/* The first failure stays in d->rc, and insert() then inserts nothing. */
static void bound(database *d, int rc)
{
    if (d->rc == SQLITE_OK) d->rc = rc;
}

static void text(database *d, sqlite3_stmt *s, int at, const char *value)
{
    bound(d, value ? sqlite3_bind_text(s, at, value, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(s, at));
}

static void number(database *d, sqlite3_stmt *s, int at, int64_t value, bool known)
{
    bound(d, known ? sqlite3_bind_int64(s, at, value) : sqlite3_bind_null(s, at));
}

static bool insert(database *d, sqlite3_stmt *s)
{
    if (d->rc == SQLITE_OK) {
        d->rc = sqlite3_step(s);
        if (d->rc == SQLITE_DONE) d->rc = SQLITE_OK;
    }
    sqlite3_reset(s);
    return d->rc == SQLITE_OK;
}

static rs_status fail_insert(const database *d, rs_error *err)
{
    if (d->rc == SQLITE_NOMEM) return rs_fail_nomem(err, "the database");
    return rs_fail(err, RS_ERR_IO, "cannot write the database: %s", sqlite3_errstr(d->rc));
}

static bool insert_groups(database *d)
{
    rs_flight *flight = d->flight;
    for (size_t g = 0; g < flight->n_groups; g++) {
        const rs_fl_group *group = &flight->groups[g];
        number(d, d->group, 1, (int64_t)g + 1, true);
        text(d, d->group, 2, rs_fl_text(flight, group->uid));
        text(d, d->group, 3, rs_fl_text(flight, group->desc));
        number(d, d->group, 4, (int64_t)group->n, true);
        if (!insert(d, d->group)) return false;
        for (size_t s = 0; s < group->n; s++) {
            number(d, d->membership, 1, (int64_t)g + 1, true);
            number(d, d->membership, 2, group->ranks[s], true);
            number(d, d->membership, 3, (int64_t)s, true);
            number(d, d->membership, 4, group->index[s] != RS_FL_NONE, true);
            if (!insert(d, d->membership)) return false;
        }
    }
    for (uint32_t i = 1; i < flight->n_stacks; i++) {
        number(d, d->traceback, 1, i, true);
        const char *stack = rs_flight_stack(flight, i);
        if (!stack) bound(d, SQLITE_NOMEM);
        text(d, d->traceback, 2, stack);
        if (!insert(d, d->traceback)) return false;
    }
    return true;
}

static bool insert_call(database *d, int64_t collective, const rs_fl_rank *rank, const rs_fl_entry *e)
{
    const rs_fl_call *c = rs_fl_call_of(d->flight, e);
    sqlite3_stmt *s = d->call;
    number(d, s, 1, collective, collective > 0);
    number(d, s, 2, (int64_t)e->group + 1, true);
    number(d, s, 3, rank->rank, true);
    number(d, s, 4, e->stack, e->stack > 0);
    text(d, s, 5, rs_fl_text(d->flight, c->name));
    text(d, s, 6, rs_fl_text(d->flight, c->in_sizes));
    text(d, s, 7, rs_fl_text(d->flight, c->out_sizes));
    text(d, s, 8, rs_fl_text(d->flight, c->in_dtypes));
    text(d, s, 9, rs_fl_text(d->flight, c->out_dtypes));
    number(d, s, 10, e->record_id, true);
    number(d, s, 11, e->seq, !e->is_p2p);
    number(d, s, 12, e->p2p_seq, e->is_p2p);
    text(d, s, 13, rs_fl_state_name((rs_fl_state)e->state));
    number(d, s, 14, e->created, e->created != 0);
    number(d, s, 15, e->started, e->started != 0);
    number(d, s, 16, e->completed, e->completed != 0);
    bound(d, e->duration_ms >= 0 ? sqlite3_bind_double(s, 17, e->duration_ms) : sqlite3_bind_null(s, 17));
    return insert(d, s);
}

/* A list of ranks as text, "[0, 1]"; freed by the caller; NULL when it is empty or out of memory. */
static char *list_text(const int64_t *ranks, size_t n)
{
    char *out = n ? rs_malloc(n * 24 + 3) : NULL;
    size_t at = 0;
    for (size_t i = 0; out && i < n; i++)
        at += (size_t)sprintf(out + at, "%s%" PRId64, i ? ", " : "[", ranks[i]);
    if (out) strcpy(out + at, "]");
    return out;
}

typedef struct row {
    uint32_t group;
    bool p2p, pass;
    int64_t seq, in_numel, out_numel;
    const rs_fl_entry *first;
    const int64_t *missing;
    size_t n_missing;
    const int64_t *expected;
    size_t n_expected;
    const char *mismatch;
} row;

static bool insert_collective(database *d, const row *r)
{
    rs_flight *flight = d->flight;
    const rs_fl_group *group = &flight->groups[r->group];
    const rs_fl_call *c = rs_fl_call_of(flight, r->first);
    sqlite3_stmt *s = d->collective;
    RS_LOCAL char *expected = list_text(r->expected, r->n_expected),
                  *missing = list_text(r->missing, r->n_missing);
    if ((r->n_expected && !expected) || (r->n_missing && !missing)) bound(d, SQLITE_NOMEM);
    char desc[512];
    const char *uid = rs_fl_text(flight, group->uid), *name = rs_fl_text(flight, group->desc);
    snprintf(desc, sizeof desc, "%s%s%s", uid, name ? ":" : "", name ? name : "");
    d->next_collective++;
    number(d, s, 1, d->next_collective, true);
    number(d, s, 2, (int64_t)r->group + 1, true);
    number(d, s, 3, r->pass, true);
    number(d, s, 4, r->seq, !r->p2p);
    number(d, s, 5, r->seq, r->p2p);
    number(d, s, 6, r->first->record_id, true);
    text(d, s, 7, desc);
    text(d, s, 8, rs_fl_text(flight, c->name));
    text(d, s, 9, rs_fl_text(flight, c->in_sizes));
    text(d, s, 10, rs_fl_text(flight, c->out_sizes));
    text(d, s, 11, expected);
    text(d, s, 12, rs_fl_state_name((rs_fl_state)r->first->state));
    number(d, s, 13, r->first->stack, r->first->stack > 0);
    number(d, s, 14, r->in_numel, true);
    number(d, s, 15, r->out_numel, true);
    text(d, s, 16, missing);
    text(d, s, 17, r->mismatch);
    return insert(d, s);
}

static rs_status insert_op(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    database *d = context;
    const rs_fl_group *group = &flight->groups[op->group];
    rs_fl_mismatch m = {.culprits = d->culprits};
    rs_fl_check_op(flight, op, d->votes, &m);
    int64_t *missing = rs_malloc(group->n * sizeof *missing);
    if (!missing) return rs_fail_nomem(err, "the database");
    row r = {.group = op->group,
             .seq = op->seq,
             .pass = m.verdict == RS_FLIGHT_HEALTHY,
             .missing = missing,
             .expected = group->ranks,
             .n_expected = group->n,
             .first = rs_fl_unit_main(flight, &op->units[0]),
             .mismatch = m.verdict == RS_FLIGHT_HEALTHY ? NULL : rs_flight_verdict_name(m.verdict)};
    rs_fl_state state;
    for (size_t s = 0; s < group->n && op->n < group->n; s++)
        if (group->index[s] != RS_FL_NONE &&
            rs_fl_presence_of(flight, group->index[s], op->group, op->seq, 0, &state) == RS_FL_ABSENT)
            missing[r.n_missing++] = group->ranks[s];
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_call *c = rs_fl_call_of(flight, rs_fl_unit_main(flight, &op->units[i]));
        if (__builtin_add_overflow(r.in_numel, c->in_numel, &r.in_numel)) r.in_numel = INT64_MAX;
        if (__builtin_add_overflow(r.out_numel, c->out_numel, &r.out_numel)) r.out_numel = INT64_MAX;
    }
    bool good = insert_collective(d, &r);
    for (size_t i = 0; i < op->n && good; i++)
        for (uint32_t p = 0; p < op->units[i].n && good; p++)
            good = insert_call(d, d->next_collective, &flight->ranks[op->units[i].rank],
                               rs_fl_unit_entry(flight, &op->units[i], p));
    rs_free(missing);
    return good ? RS_OK : fail_insert(d, err);
}

static bool insert_pair(database *d, uint32_t g, const rs_fl_p2p *p2p, const rs_fl_pair *pair)
{
    rs_flight *flight = d->flight;
    const rs_fl_group *group = &flight->groups[g];
    int64_t ends[2] = {group->ranks[pair->src], group->ranks[pair->dst]};
    bool good = true;
    for (uint32_t i = 0; i < pair->n_sends && good; i++) {
        const rs_fl_rank *src = &flight->ranks[pair->src_rank];
        const rs_fl_entry *s = &src->entries[p2p->entries[pair->sends + i]], *r = NULL;
        int64_t j = (int64_t)i + pair->shift;
        if (j >= 0 && j < (int64_t)pair->n_recvs)
            r = &flight->ranks[pair->dst_rank].entries[p2p->entries[pair->recvs + (uint32_t)j]];
        const rs_fl_call *cs = rs_fl_call_of(flight, s), *cr = r ? rs_fl_call_of(flight, r) : NULL;
        bool differ = cr && rs_fl_p2p_numel(cs) != rs_fl_p2p_numel(cr);
        row line = {.group = g,
                    .p2p = true,
                    .pass = !differ,
                    .seq = s->p2p_seq,
                    .first = s,
                    .in_numel = rs_fl_p2p_numel(cs),
                    .out_numel = cr ? rs_fl_p2p_numel(cr) : 0,
                    .missing = &ends[1],
                    .n_missing = r || j < 0 ? 0 : 1,
                    .expected = ends,
                    .n_expected = 2,
                    .mismatch = differ ? "p2p_size_mismatch" : NULL};
        good = insert_collective(d, &line) && insert_call(d, d->next_collective, src, s) &&
               (!r || insert_call(d, d->next_collective, &flight->ranks[pair->dst_rank], r));
    }
    for (uint32_t j = 0; j < pair->n_recvs && good; j++) {
        int64_t i = (int64_t)j - pair->shift;
        if (i >= 0 && i < (int64_t)pair->n_sends) continue;
        good = insert_call(d, 0, &flight->ranks[pair->dst_rank],
                           &flight->ranks[pair->dst_rank].entries[p2p->entries[pair->recvs + j]]);
    }
    return good;
}

static rs_status insert_all(database *d, rs_error *err)
{
    rs_flight *flight = d->flight;
    size_t widest = 1;
    rs_status status = RS_OK;
    for (size_t g = 0; g < flight->n_groups; g++)
        if (flight->groups[g].n_members > widest) widest = flight->groups[g].n_members;
    d->votes = rs_malloc(2 * widest * sizeof *d->votes);
    d->culprits = rs_malloc(widest * sizeof *d->culprits);
    if (!d->votes || !d->culprits) return rs_fail_nomem(err, "the database");
    if (!insert_groups(d)) return fail_insert(d, err);
    for (uint32_t g = 0; g < flight->n_groups && status == RS_OK; g++) {
        const rs_fl_p2p *p2p;
        status = rs_fl_scan_group(flight, g, insert_op, d, err);
        if (status == RS_OK) status = rs_fl_p2p_of(flight, g, &p2p, err);
        for (size_t i = 0; status == RS_OK && i < p2p->n_pairs; i++)
            if (!insert_pair(d, g, p2p, &p2p->pairs[i])) status = fail_insert(d, err);
    }
    return status;
}

static rs_status make(database *d, const char *path, rs_error *err)
{
    d->rc = sqlite3_open(path, &d->db);
    const char *begin = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;";
    if (d->rc == SQLITE_OK) d->rc = sqlite3_exec(d->db, begin, NULL, NULL, NULL);
    if (d->rc == SQLITE_OK) d->rc = sqlite3_exec(d->db, schema, NULL, NULL, NULL);
    if (d->rc != SQLITE_OK || !prepare(d))
        return rs_fail(err, RS_ERR_IO, "cannot make the database %s: %s", path,
                       d->db ? sqlite3_errmsg(d->db) : "out of memory");
    rs_status status = insert_all(d, err);
    if (status == RS_OK && sqlite3_exec(d->db, "COMMIT;", NULL, NULL, NULL) != SQLITE_OK)
        status = rs_fail(err, RS_ERR_IO, "cannot write the database %s: %s", path, sqlite3_errmsg(d->db));
    return status;
}

rs_status rs_flight_write_database(rs_flight *flight, const char *path, rs_error *err)
{
    const rs_flight_report *report;
    rs_status status = rs_flight_get_report(flight, &report, err);
    if (status != RS_OK) return status;
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) /* /dev/null would be replaced by a file */
        return rs_fail(err, RS_ERR_IO, "%s is no regular file; a database is not written into it", path);
    size_t n = strlen(path);
    RS_LOCAL char *temporary = rs_malloc(n + 32);
    if (!temporary) return rs_fail_nomem(err, path);
    snprintf(temporary, n + 32, "%s.tmp-%ld", path, (long)getpid());
    remove(temporary);
    database d = {.flight = flight, .rc = SQLITE_OK};
    status = make(&d, temporary, err);
    sqlite3_stmt *all[] = {d.group, d.membership, d.traceback, d.collective, d.call};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sqlite3_finalize(all[i]);
    if (sqlite3_close(d.db) != SQLITE_OK && status == RS_OK)
        status = rs_fail(err, RS_ERR_IO, "cannot close the database %s", path);
    rs_free_all(d.votes, d.culprits);
    if (status == RS_OK && rename(temporary, path) != 0)
        status = rs_fail(err, RS_ERR_IO, "cannot replace %s", path);
    if (status != RS_OK) remove(temporary);
    return status;
}
