#define _DEFAULT_SOURCE
#include "view/routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/system.h"
#include "view/windows.h"

rs_status rs_view_make_token(char token[RS_VIEW_TOKEN], rs_error *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[(RS_VIEW_TOKEN - 1) / 2];
    if (!rs_system_random(bytes, sizeof bytes))
        return rs_fail(err, RS_ERR_IO, "the system gives no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[2 * i] = digits[bytes[i] >> 4];
        token[2 * i + 1] = digits[bytes[i] & 15];
    }
    token[RS_VIEW_TOKEN - 1] = '\0';
    return RS_OK;
}

/* ---- origins
 * ----------------------------------------------------------------------------------------------- */

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == '[' ||
           c == ']' || c == ':';
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Where the port begins, NULL without one; a colon within [::1] is none. */
static char *port_in(char *host)
{
    char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
    return colon && (!bracket || colon > bracket) ? colon : NULL;
}

rs_status rs_view_origin_of(const char *address, char origin[RS_VIEW_ORIGIN], rs_error *err)
{
    bool secure = strncasecmp(address, "https://", 8) == 0;
    bool plain = !secure && strncasecmp(address, "http://", 7) == 0;
    const char *host = address + (secure ? 8 : 7);
    size_t n = secure || plain ? strcspn(host, "/?#") : 0;
    int written = snprintf(origin, RS_VIEW_ORIGIN, "%s%.*s", secure ? "https://" : "http://",
                           (int)(n < 1000 ? n : 1000), host);
    bool ok = n > 0 && written > 0 && written < RS_VIEW_ORIGIN;
    for (const char *c = address; *c; c++) ok = ok && (unsigned char)*c > ' ' && *c != '"' && *c != 0x7f;
    char *name = origin + (secure ? 8 : 7), *port;
    for (char *c = name; ok && *c; c++) {
        *c = lower(*c);
        ok = is_host_char(*c);
    }
    if (!ok)
        return rs_fail(err, RS_ERR_USAGE,
                       "\"%.200s\" is no address of a viewer; one is https://ui.perfetto.dev", address);
    port = port_in(name);
    if (port && (port[1] == '\0' || strcmp(port, secure ? ":443" : ":80") == 0)) *port = '\0';
    return RS_OK;
}

/* ---- routes
 * ------------------------------------------------------------------------------------------------ */

/* "127.0.0.1" or "localhost", with our port. */
static bool is_our_host(const rs_view_routes *routes, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char port[16];
    snprintf(port, sizeof port, ":%u", routes->port);
    for (size_t i = 0; host && i < 2; i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) != 0) continue;
        if (strcmp(host + n, port) == 0 || (routes->port == 80 && !host[n])) return true;
    }
    return false;
}

static bool is_our_origin(const rs_view_routes *routes, const char *origin)
{
    return strncmp(origin, "http://", 7) == 0 && is_our_host(routes, origin + 7);
}

/* Takes the same time for every wrong token. */
static bool has_token(const rs_view_routes *routes, const char *path)
{
    unsigned char differs = path[0] != '/';
    size_t n = RS_VIEW_TOKEN - 1;
    if (strlen(path) < n + 2) return false;
    for (size_t i = 0; i < n; i++) differs |= (unsigned char)(path[1 + i] ^ routes->token[i]);
    return !differs && path[1 + n] == '/';
}

bool rs_view_explores(const rs_view_routes *routes)
{
    return routes->reading || routes->windows;
}

/* The rest of a path after the prefix; NULL: it begins otherwise. */
static const char *after_prefix(const char *path, const char *prefix)
{
    const size_t n = strlen(prefix);
    return path && strncmp(path, prefix, n) == 0 ? path + n : NULL;
}

#define MOST_DIGITS 18

/* The rest of a path after window/NUMBER/, and the number, which is not 0; NULL: it begins otherwise. */
static const char *in_window(const char *path, int64_t *number)
{
    path = after_prefix(path, "window/");
    if (!path) return NULL;
    const size_t n = strspn(path, "0123456789");
    if (*path == '0' || n == 0 || n > MOST_DIGITS || path[n] != '/') return NULL;
    for (size_t i = 0; i < n; i++) *number = 10 * *number + (path[i] - '0');
    return path + n + 1;
}

/* What a path leads to, without regard to who asks and how: a resource, or something to ask an explorer. */
static rs_view_answer find(const rs_view_routes *routes, const char *path)
{
    rs_view_answer found = {.status = 200};
    const char *rest = has_token(routes, path) ? path + RS_VIEW_TOKEN + 1 : NULL;
    for (size_t i = 0; rest && i < routes->n; i++)
        if (strcmp(routes->resources[i].name, rest) == 0) found.resource = &routes->resources[i];
    const char *inner = routes->windows ? in_window(rest, &found.window) : NULL;
    if (inner && !*inner) found.resource = routes->page_of_window;
    found.api = routes->reading || inner ? after_prefix(inner ? inner : rest, "api/") : NULL;
    return found;
}

rs_view_answer rs_view_route(const rs_view_routes *routes, const rs_view_request *request)
{
    if (!is_our_host(routes, request->host))
        return (rs_view_answer){.status = 403,
                                .message = "This server answers to 127.0.0.1 and localhost only."};
    const bool posts = strcmp(request->method, "POST") == 0;
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0 &&
        !(posts && rs_view_explores(routes)))
        return (rs_view_answer){.status = 405, .message = "There is only GET and HEAD."};
    bool from_ui = request->origin && strcmp(request->origin, routes->ui_origin) == 0;
    bool foreign = request->origin && !from_ui && !is_our_origin(routes, request->origin);
    rs_view_answer found = find(routes, request->path);
    const bool no_window = found.window && !rs_view_windows_has(routes->windows, found.window);
    if (foreign || (from_ui && (found.api || (found.resource && !found.resource->for_the_ui))))
        return (rs_view_answer){.status = 403, .message = "Pages of this origin may not read it."};
    if (no_window && (found.api || found.resource))
        return (rs_view_answer){.status = 404,
                                .message = "None of the given paths holds a trace of this window."};
    const bool about_reading = found.api && !posts && strcmp(found.api, RS_VIEW_PROGRESS) == 0;
    if (about_reading || (found.api && rs_explorer_desk_of(found.api, posts) != RS_DESK_NONE))
        return (rs_view_answer){.status = 200, .api = found.api, .window = found.window};
    if (!found.resource || posts)
        return (rs_view_answer){
            .status = 404, .message = "Not found. The whole address is in the terminal of rankscope view."};
    return (rs_view_answer){.status = 200, .resource = found.resource, .allow_ui = from_ui};
}
