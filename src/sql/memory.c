/* SQLite's memory, counted for the session whose statement runs on the thread. A statement that has taken more than it may, or
 * that is late, gets no more: that ends it also where SQLite does not ask its progress handler, as while it is prepared (tables
 * within WITH that each name another twice double with each) and inside one function. */
#include "sql/session.h"

#define CALLS_A_LOOK 64  /* allocations between two looks at the clock */
#define LARGE (64 << 10) /* bytes; such an allocation looks always */
#define BESIDE 24        /* bytes that an allocation takes in addition to its own */

static sqlite3_mem_methods plain;
static _Thread_local rs_sql_session *running;

static void *taken(void *p)
{
    if (running && p) running->taken += plain.xSize(p) + BESIDE;
    return p;
}

static void given(void *p)
{
    if (running && p) running->taken -= plain.xSize(p) + BESIDE;
}

static bool may_take(int n)
{
    rs_sql_session *s = running;
    if (!s) return true;
    s->stop =
        s->stop == RS_SQL_GOES_ON && s->taken + n > (int64_t)s->settings.max_memory ? RS_SQL_MEMORY : s->stop;
    return n < LARGE && ++s->n_taken % CALLS_A_LOOK ? s->stop == RS_SQL_GOES_ON : !rs_sql_must_stop(s);
}

static void *counted_malloc(int n)
{
    return may_take(n) ? taken(plain.xMalloc(n)) : NULL;
}

static void *counted_realloc(void *old, int n)
{
    if (!may_take(n)) return NULL;
    int before = running ? plain.xSize(old) + BESIDE : 0;
    void *p = plain.xRealloc(old, n);
    if (running && p) running->taken -= before;
    return taken(p);
}

static void counted_free(void *p)
{
    given(p);
    plain.xFree(p);
}

bool rs_sql_own_memory(void)
{
    if (plain.xMalloc || sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
        return plain.xMalloc != NULL;
    sqlite3_mem_methods counted = plain;
    counted.xMalloc = counted_malloc;
    counted.xRealloc = counted_realloc;
    counted.xFree = counted_free;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &counted) == SQLITE_OK) return true;
    plain = (sqlite3_mem_methods){0};
    return false;
}

void rs_sql_run_on_thread(rs_sql_session *s)
{
    running = s;
}

int64_t rs_sql_taken(const rs_sql_session *s)
{
    return plain.xMalloc ? s->taken : sqlite3_memory_used() - s->memory;
}
