/* Events of a rank in the order of a key, for look-ups. Made when a key is asked for repeatedly, as in the
 * inner loop of a join, and kept for the session. */
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/search.h"
#include "sql/session.h"

typedef struct one_order {
    bool made;
    bool in_order; /* events are sorted as they are: no list */
    uint32_t *items;
    size_t n;
    unsigned asked;
} one_order;

struct rs_sql_event_order {
    one_order keys[SQL_N_KEYS];
};

/* Which argument a key is. */
static size_t argument_of(rs_sql_key key)
{
    return key == SQL_BY_STREAM        ? RS_EVENT_STREAM
           : key == SQL_BY_CORRELATION ? RS_EVENT_CORRELATION
                                       : RS_EVENT_EXTERNAL_ID;
}

bool rs_sql_event_key(const rs_event_rank *rank, rs_sql_key key, size_t i, int64_t *value)
{
    uint32_t row = rs_event_row(rank, i);
    size_t at, argument;
    switch (key) {
    case SQL_BY_TIME: *value = rank->start[row]; return *value != RS_EVENT_UNKNOWN;
    case SQL_BY_NAME: *value = rank->name[row]; return true;
    case SQL_BY_CATEGORY: *value = rank->category[row]; return true;
    case SQL_BY_STEP:
        *value = rank->step ? rank->step[i] : RS_EVENT_UNKNOWN;
        return *value != RS_EVENT_UNKNOWN;
    default: break;
    }
    argument = argument_of(key);
    if (!rs_event_argument_find(rank, argument, row, &at)) return false;
    *value = rs_event_argument_int(rank, argument, at);
    return true;
}

static bool is_sorted(const rs_keyed *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i].key < items[i - 1].key) return false;
    return true;
}

/* Events without the key are left out. Those of one key stay in their order. */
static rs_status make_order(const rs_event_rank *rank, rs_sql_key key, one_order *o, rs_error *err)
{
    rs_keyed *items = rs_big_resize(NULL, (rank->n + 1) * sizeof *items);
    if (!items) return rs_fail_nomem(err, "an index of events");
    for (size_t i = 0; i < rank->n; i++) {
        int64_t value;
        if (rs_sql_event_key(rank, key, i, &value)) items[o->n++] = (rs_keyed){value, (uint32_t)i};
    }
    o->in_order = o->n == rank->n && is_sorted(items, o->n);
    bool ok = o->in_order || rs_keyed_sort(items, o->n);
    if (ok && !o->in_order) ok = (o->items = rs_big_resize(NULL, (o->n + 1) * sizeof *o->items)) != NULL;
    for (size_t i = 0; ok && o->items && i < o->n; i++) o->items[i] = (uint32_t)items[i].value;
    rs_big_free(items);
    o->made = ok;
    if (!ok) o->n = 0;
    return ok ? RS_OK : rs_fail_nomem(err, "an index of events");
}

/* The first place whose key is >= value; every event in the order has a key. */
static size_t lower(const rs_event_rank *rank, rs_sql_key key, const one_order *o, int64_t value)
{
    size_t at;
    int64_t there = 0;
    RS_SEARCH(at, o->n, (rs_sql_event_key(rank, key, o->items ? o->items[at] : at, &there), there < value));
    return at;
}

rs_status rs_sql_events_between(rs_sql_session *s, size_t rank, rs_sql_key key, int64_t first, int64_t last,
                                const uint32_t **items, size_t *from, size_t *n, bool *found, rs_error *err)
{
    *found = false;
    if (!s->orders) s->orders = rs_calloc(rs_event_list_n_ranks(s->events) + 1, sizeof *s->orders);
    if (!s->orders) return rs_fail_nomem(err, "an index of events");
    one_order *o = &s->orders[rank].keys[key];
    const rs_event_rank *r = rs_event_list_rank(s->events, rank);
    if (!o->made && key != SQL_BY_TIME && o->asked++ == 0) return RS_OK;
    if (!o->made) RS_TRY(make_order(r, key, o, err));
    size_t low = lower(r, key, o, first);
    size_t high = first > last ? low : last == INT64_MAX ? o->n : lower(r, key, o, last + 1);
    *items = o->items ? o->items + low : NULL;
    *from = low;
    *n = high - low;
    *found = true;
    return RS_OK;
}

void rs_sql_event_orders_clear(rs_sql_session *s)
{
    for (size_t r = 0; s->orders && r < rs_event_list_n_ranks(s->events); r++)
        for (size_t k = 0; k < SQL_N_KEYS; k++) rs_big_free(s->orders[r].keys[k].items);
    rs_free(s->orders);
    s->orders = NULL;
}
