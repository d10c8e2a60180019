/* Shows an address in the user's browser. */
#pragma once

#include <stdbool.h>

#include "rankscope/status.h"

/* Whether there is a display that a browser could use. */
bool rs_browser_has_display(void);

/* Writes a page that leads to the address, which only this user may read: the arguments of a process can be read by
 * all. *path: its name, RS_ERR_IO or RS_ERR_NOMEM when there is none. rs_browser_page_remove is due. */
rs_status rs_browser_page(const char *address, char **path, rs_error *err);
void rs_browser_page_remove(char *path); /* NULL is allowed */

/* Starts xdg-open with the page as its one argument (no shell), in a session of its own, so that a signal
 * from our terminal does not reach the browser. 0, or the errno of what failed; what becomes of it is not
 * waited for. */
int rs_browser_open(const char *page);
