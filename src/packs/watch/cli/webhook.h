/* Posts messages to a URL. A thread waits for the receiver, so that the watch does not; one message is on its way at a time. */
#ifndef RS_WATCH_CLI_WEBHOOK_H
#define RS_WATCH_CLI_WEBHOOK_H

#include "base/text.h"
#include "rankscope/watch.h"

typedef struct rs_webhook rs_webhook;
/* Writes a message as it is posted. */
typedef rs_status (*rs_webhook_put_fn)(rs_text *text, const rs_watch_message *message, rs_error *err);

/* Whether the program posts to such a URL: RS_ERR_USAGE says why not. */
rs_status rs_webhook_check(const char *url, rs_error *err);
/* Before the watch's first look. RS_ERR_NOMEM, RS_ERR_IO: no thread. */
rs_status rs_webhook_open(const char *url, rs_webhook_put_fn put, rs_watch *watch, rs_webhook **out,
                          rs_error *err);
/* Notes what came of the last message and sends the next one, when it is time to: after a failure the wait is 1 s, and doubles up to 10
 * minutes. Never waits. *complaint: what went wrong since the last call, NULL: nothing; the hook's own. */
rs_status rs_webhook_turn(rs_webhook *hook, rs_watch *watch, const char **complaint, rs_error *err);
/* New messages may be there: the next turn looks for them. */
void rs_webhook_wake(rs_webhook *hook);
/* Whether nothing is on its way and nothing is left, or the last try failed `failures` times in a row. */
bool rs_webhook_is_done(const rs_webhook *hook, unsigned failures);
/* Waits for the answer that is outstanding, at most 10 s. NULL is allowed. */
void rs_webhook_close(rs_webhook *hook, rs_watch *watch);

#endif
