/* Shows an address in the user's browser. */
#ifndef RS_CLI_BROWSER_H
#define RS_CLI_BROWSER_H

#include <stdbool.h>

/* Whether there is a display that a browser could use. */
bool rs_browser_has_display(void);

/* Starts xdg-open with the address as its one argument (no shell), in a session of its own, so that a signal
 * from our terminal does not reach the browser. 0, or the errno of what failed; what becomes of it is not
 * waited for. */
int rs_browser_open(const char *address);

#endif
