/* Parts of a job below /TOKEN/window/NUMBER/, each with an explorer of its own that is opened when it is first asked. */
#ifndef RS_VIEW_WINDOWS_H
#define RS_VIEW_WINDOWS_H

#include "view/routes.h"

#define RS_VIEW_OPEN_WINDOWS 8 /* at most; one that is open stays so until the server ends */

typedef struct rs_view_windows rs_view_windows;

/* settings are borrowed until it is closed; their progress function is not called. NULL when out of memory. */
rs_view_windows *rs_view_windows_create(const rs_job_settings *settings);
/* Before anything is asked. The number and the paths are copied. */
rs_status rs_view_windows_add(rs_view_windows *windows, int64_t number, const char *const *paths, size_t n,
                              rs_error *err);
/* Whether there is such a window. */
bool rs_view_windows_has(const rs_view_windows *windows, int64_t number);
/* How far the window has been read; at the first call a thread begins to. NULL: *why says why not, for a reader. From one thread. */
rs_view_reading *rs_view_windows_open(rs_view_windows *windows, int64_t number, const char **why);
/* After the server has ended. Waits for the threads, which end soon. NULL is allowed. */
void rs_view_windows_close(rs_view_windows *windows);

#endif
