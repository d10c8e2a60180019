/* Event columns as an entry of the store: read from there they cost a copy, not a pass over the text. */
#ifndef RS_STORE_EVENTS_H
#define RS_STORE_EVENTS_H

#include "store/entry.h"
#include "trace/events.h"

/* Writes an entry of the events, as a reader left them; false: it could not be written. */
bool rs_stored_events_put(const char *folder, const rs_entry_key *key, const rs_events *events);
/* Which arguments the events of an entry have: RS_COLUMN_BIT; 0 where it is damaged. */
uint64_t rs_stored_events_columns(rs_entry *entry);
/* The events, made on as many threads; the caller frees them. NULL: the entry is damaged, or there is no memory. */
rs_events *rs_stored_events_get(rs_entry *entry, unsigned threads);

#endif
