#define _DEFAULT_SOURCE
#include "view/routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/system.h"

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

static const rs_view_resource *find(const rs_view_routes *routes, const char *path)
{
    if (!has_token(routes, path)) return NULL;
    for (size_t i = 0; i < routes->n; i++)
        if (strcmp(routes->resources[i].name, path + RS_VIEW_TOKEN + 1) == 0) return &routes->resources[i];
    return NULL;
}

/* What is asked below /TOKEN/api/; NULL: nothing. */
static const char *find_api(const rs_view_routes *routes, const char *path)
{
    static const char prefix[] = "api/";
    if (!routes->reading || !has_token(routes, path)) return NULL;
    path += RS_VIEW_TOKEN + 1;
    return strncmp(path, prefix, sizeof prefix - 1) == 0 ? path + sizeof prefix - 1 : NULL;
}

rs_view_answer rs_view_route(const rs_view_routes *routes, const rs_view_request *request)
{
    if (!is_our_host(routes, request->host))
        return (rs_view_answer){.status = 403,
                                .message = "This server answers to 127.0.0.1 and localhost only."};
    const bool posts = strcmp(request->method, "POST") == 0;
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0 &&
        !(posts && routes->reading))
        return (rs_view_answer){.status = 405, .message = "There is only GET and HEAD."};
    bool from_ui = request->origin && strcmp(request->origin, routes->ui_origin) == 0;
    bool foreign = request->origin && !from_ui && !is_our_origin(routes, request->origin);
    const rs_view_resource *found = foreign || posts ? NULL : find(routes, request->path);
    const char *api = foreign ? NULL : find_api(routes, request->path);
    if (foreign || (from_ui && (api || (found && !found->for_the_ui))))
        return (rs_view_answer){.status = 403, .message = "Pages of this origin may not read it."};
    const bool about_reading = api && !posts && strcmp(api, RS_VIEW_PROGRESS) == 0;
    if (about_reading || (api && rs_explorer_desk_of(api, posts) != RS_DESK_NONE))
        return (rs_view_answer){.status = 200, .api = api};
    if (!found)
        return (rs_view_answer){
            .status = 404, .message = "Not found. The whole address is in the terminal of rankscope view."};
    return (rs_view_answer){.status = 200, .resource = found, .allow_ui = from_ui};
}
