/* Which addresses that a page names may be asked: a page is written by whoever serves it. */
#include <string.h>

#include "base/ascii.h"
#include "rankscope/flight.h"

#define LEAST_PORT 1024 /* ports below are services of the machine, not of a job */

typedef struct place {
    const char *host;
    size_t n;
    int64_t port; /* -1: none is given */
} place;

/* "http://HOST:PORT", or https, without a user, path or question. A host is a name, an IPv4 address or an IPv6 address in brackets. */
static bool parse(const char *address, place *out)
{
    bool plain = strncmp(address, "http://", 7) == 0;
    if (!plain && strncmp(address, "https://", 8) != 0) return false;
    const char *p = address + (plain ? 7 : 8);
    bool bracket = *p == '[';
    out->host = p;
    while (*p && (bracket ? *p != ']' : *p != ':')) {
        if (!rs_is_alnum(*p) && !strchr(bracket ? "[:.%-" : ".-_", *p)) return false;
        p++;
    }
    if (bracket && *p++ != ']') return false;
    out->n = (size_t)(p - out->host);
    out->port = -1;
    if (!out->n) return false;
    if (!*p) return true;
    if (*p++ != ':' || !*p) return false;
    for (out->port = 0; *p; p++) {
        if (*p < '0' || *p > '9' || out->port > 65535) return false;
        out->port = out->port * 10 + (*p - '0');
    }
    return out->port <= 65535;
}

static bool same_text(const char *a, size_t n, const char *b, size_t m)
{
    for (size_t i = 0; i < n && i < m; i++)
        if (rs_lower(a[i]) != rs_lower(b[i])) return false;
    return n == m;
}

static bool is_loopback(const place *p)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (same_text(p->host, p->n, names[i], strlen(names[i]))) return true;
    return false;
}

/* The host, or with one * any text in its place: "node*", "*.cluster.local". */
static bool fits(const place *p, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    size_t n = strlen(pattern);
    if (!star) return same_text(p->host, p->n, pattern, n);
    size_t before = (size_t)(star - pattern), after = n - before - 1;
    return n > 1 && p->n >= before + after && same_text(p->host, before, pattern, before) &&
           same_text(p->host + p->n - after, after, star + 1, after);
}

bool rs_flight_may_ask(const char *address, const char *server, const char *const *allowed, size_t n_allowed)
{
    place p, own;
    if (!parse(address, &p) || p.port < LEAST_PORT) return false;
    for (size_t i = 0; i < n_allowed; i++)
        if (fits(&p, allowed[i])) return true;
    if (!parse(server, &own)) return false;
    return same_text(p.host, p.n, own.host, own.n) || (is_loopback(&p) && is_loopback(&own));
}
