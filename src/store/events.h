/* Event columns as an entry of the store: small, or used where they lie (entry.h). */
#pragma once

#include "store/entry.h"
#include "trace/events.h"

/* An entry of the events, as a reader left them, in two steps: what is short is copied, then all is written, on any thread. Until the draft is dropped it holds
 * the events, of which nothing may be changed but their problems. NULL: they cannot be stored. */
typedef struct rs_events_draft rs_events_draft;
rs_events_draft *rs_stored_events_draft(rs_events *events);
bool rs_stored_events_write(rs_events_draft *draft, const char *folder, const rs_entry_key *key,
                            bool in_place);
void rs_stored_events_drop(rs_events_draft *draft); /* NULL is allowed */
/* Which arguments the events of an entry have: RS_COLUMN_BIT; 0 where it is damaged. */
uint64_t rs_stored_events_columns(rs_entry *entry);
/* The events with these arguments, read and checked on as many threads; the caller frees them, and the entry is closed
 * with them or before.
 * NULL: the entry is damaged or has not all of these arguments, or there is no memory; then the entry stays the
 * caller's. */
rs_events *rs_stored_events_get(rs_entry *entry, uint64_t columns, unsigned threads);
