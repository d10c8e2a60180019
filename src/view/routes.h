/* What the viewer's server answers, decided without a socket: fixed routes under a secret path, for this
 * machine only. */
#ifndef RS_VIEW_ROUTES_H
#define RS_VIEW_ROUTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "rankscope/view.h"

#define RS_VIEW_TOKEN 33            /* 32 hexadecimal digits */
#define RS_VIEW_PROGRESS "progress" /* GET /TOKEN/api/progress: how far the job has been read */
#define RS_VIEW_ORIGIN 300          /* "https://host:port" */

/* Something that can be fetched, at /TOKEN/NAME. Everything is borrowed while the server runs. */
typedef struct rs_view_resource {
    const char *name; /* "" is the entry page */
    const char *type; /* Content-Type */
    const void *bytes;
    size_t n;
    const char *policy;  /* Content-Security-Policy; NULL: nothing may be loaded or run */
    const char *save_as; /* the name under which a browser saves it; NULL: it is shown */
    bool for_the_ui;     /* pages of the UI's origin may fetch it, too */
} rs_view_resource;

/* How far the job has been read that the explorer shows. The reader writes it while the server answers. */
typedef struct rs_view_reading {
    _Atomic(struct rs_explorer *)
        explorer;                  /* answers what is below /TOKEN/api/; NULL: there is nothing yet to ask */
    atomic_bool complete;          /* it has the whole job */
    _Atomic(const char *) failed;  /* why there will be none; NULL: it goes on */
    _Atomic(uint64_t) done, total; /* as the progress of the job gives them */
} rs_view_reading;

typedef struct rs_view_routes {
    char token[RS_VIEW_TOKEN];
    unsigned port;
    char ui_origin[RS_VIEW_ORIGIN];
    const rs_view_resource *resources;
    size_t n;
    rs_view_reading *reading;               /* NULL: there is nothing below /TOKEN/api/ */
    struct rs_view_windows *windows;        /* NULL: there is nothing below /TOKEN/window/ (view/windows.h) */
    const rs_view_resource *page_of_window; /* the entry page of each */
} rs_view_routes;

/* Whether there is an explorer to ask. */
bool rs_view_explores(const rs_view_routes *routes);

/* As the client sent them; NULL what it did not send. path is not decoded and without the query. */
typedef struct rs_view_request {
    const char *method, *path, *host, *origin;
} rs_view_request;

typedef struct rs_view_answer {
    unsigned status;
    const rs_view_resource *resource; /* of status 200 */
    const char *api;     /* of status 200: what is asked of an explorer, in the request's path; NULL */
    int64_t window;      /* of api: the window whose explorer is asked; 0: that of `reading` */
    const char *message; /* of all others, one line */
    bool allow_ui;       /* Access-Control-Allow-Origin: the UI's */
} rs_view_answer;

/* In this order: 403 for a Host that does not name this machine's loopback (a name that was rebound to it),
 * 405 for anything but GET and HEAD (and POST, where a job is explored), 403 for pages of other origins, 404 for what is
 * no resource under the token. */
rs_view_answer rs_view_route(const rs_view_routes *routes, const rs_view_request *request);

/* Fills the token from the system's random numbers. */
rs_status rs_view_make_token(char token[RS_VIEW_TOKEN], rs_error *err);

/* The origin of an address ("https://ui.perfetto.dev/#!/" -> "https://ui.perfetto.dev"), in lower case and
 * without the scheme's own port, as browsers write it. RS_ERR_USAGE for what is no plain http or https
 * address. */
rs_status rs_view_origin_of(const char *address, char origin[RS_VIEW_ORIGIN], rs_error *err);

#endif
