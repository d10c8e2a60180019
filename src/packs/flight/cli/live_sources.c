/* Sources of a running job that are asked next to its dumps and servers: NCCL's RAS, and Prometheus for what DCGM measures. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "flight/cli/flight.h"

#define POINTS 960 /* of a series, at most: a clock of two hours each 7.5 s */
#define LEAST_STEP 5

void rs_flight_sources_clear(rs_flight_sources *s)
{
    for (size_t i = 0; i < s->n_ras; i++) rs_fetch_clear(&s->ras[i]);
    rs_fetch_clear(&s->metrics);
    s->n_ras = 0;
}

/* ---- NCCL RAS ------------------------------------------------------------------------------------------------- */

/* Makes room for one report more. One that is as old as a stall is kept: two with equal counts so far apart are a hang. */
static void drop_report(rs_flight_sources *s, double stall, double now)
{
    size_t gone = now - s->asked[1] >= stall ? 0 : s->n_ras - 1;
    rs_fetch_clear(&s->ras[gone]);
    s->n_ras--;
    memmove(s->ras + gone, s->ras + gone + 1, (s->n_ras - gone) * sizeof *s->ras);
    memmove(s->asked + gone, s->asked + gone + 1, (s->n_ras - gone) * sizeof *s->asked);
}

static rs_status ask_ras(const rs_request *r, rs_flight_sources *s, rs_error *err)
{
    rs_fetch answer = {0};
    rs_status status = rs_flight_ask_ras(r, &answer, err);
    double now = rs_clock_seconds();
    if (status != RS_OK) {
        rs_fetch_clear(&answer);
        return status;
    }
    if (s->n_ras == RS_FLIGHT_REPORTS) drop_report(s, (double)rs_request_int(r, "stall"), now);
    s->ras[s->n_ras] = answer;
    s->asked[s->n_ras++] = now;
    return RS_OK;
}

/* ---- Prometheus ----------------------------------------------------------------------------------------------- */

static void put_encoded(rs_text *url, const char *text)
{
    for (; *text; text++)
        if (rs_is_alnum(*text) || strchr("-_.~", *text))
            rs_text_add(url, text, 1);
        else
            rs_text_printf(url, "%%%02X", (unsigned char)*text);
}

/* GET .../api/v1/query_range of all metrics that a verdict uses, from --metrics-hours ago to now. */
static char *query_url(const rs_request *r)
{
    RS_SCOPED(rs_text_clear) rs_text url = {0};
    RS_SCOPED(rs_text_clear) rs_text query = {0};
    const char *server = rs_request_text(r, "prometheus"), *match = rs_request_text(r, "metrics-match"),
               *name;
    int64_t end = (int64_t)time(NULL), span = rs_request_int(r, "metrics-hours") * 3600,
            step = span / POINTS < LEAST_STEP ? LEAST_STEP : span / POINTS;
    size_t n = strlen(server);
    end -= end % step; /* the same moments at the next look: a change keeps its time */
    rs_text_put(&query, "{__name__=~\"");
    for (size_t i = 0; (name = rs_flight_metric(i)); i++) rs_text_printf(&query, "%s%s", i ? "|" : "", name);
    rs_text_printf(&query, "\"%s%s}", match ? "," : "", match ? match : "");
    while (n && server[n - 1] == '/') n--;
    rs_text_printf(&url, "%s%.*s/api/v1/query_range?query=", strstr(server, "://") ? "" : "http://", (int)n,
                   server);
    put_encoded(&url, rs_text_get(&query) ? rs_text_get(&query) : "");
    rs_text_printf(&url, "&start=%lld&end=%lld&step=%lld", (long long)(end - span), (long long)end,
                   (long long)step);
    return rs_text_get(&url) && rs_text_get(&query) ? rs_strndup(url.s, url.n) : NULL;
}

static rs_status ask_prometheus(const rs_request *r, rs_flight_sources *s, rs_error *err)
{
    const char *server = rs_request_text(r, "prometheus");
    rs_fetch answer = {.url = query_url(r)};
    if (!answer.url) return rs_fail_nomem(err, "a request");
    rs_status status = rs_fetch_all(&answer, 1, rs_request_int(r, "timeout") * 6, err);
    if (status == RS_OK && answer.status != 200) {
        int shown = (int)(answer.n < 160 ? answer.n : 160);
        status = rs_fail(err, RS_ERR_IO, "Prometheus at %s gives no answer to a query_range: %s%.*s", server,
                         answer.status ? "" : answer.failure, answer.status ? shown : 0,
                         answer.body ? answer.body : "");
    }
    if (status == RS_OK) {
        rs_fetch_clear(&s->metrics);
        s->metrics = answer;
    } else {
        rs_fetch_clear(&answer);
    }
    return status;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

static void give(const rs_request *r, rs_flight_sources *s, rs_flight_settings *settings)
{
    size_t n = 0;
    for (; n < s->n_ras; n++)
        s->texts[n] = (rs_flight_bytes){
            .bytes = s->ras[n].body, .n = s->ras[n].n, .rank = -1, .name = rs_request_text(r, "ras")};
    if (s->metrics.n)
        s->texts[n++] = (rs_flight_bytes){.bytes = s->metrics.body,
                                          .n = s->metrics.n,
                                          .rank = -1,
                                          .name = rs_request_text(r, "prometheus")};
    settings->evidence = s->texts;
    settings->n_evidence = n;
}

rs_status rs_flight_ask_sources(const rs_request *r, rs_flight_sources *s, rs_flight_settings *settings,
                                rs_error *err)
{
    rs_status status = RS_OK;
    if (rs_request_text(r, "ras")) status = ask_ras(r, s, err);
    if (status == RS_OK && rs_request_text(r, "prometheus")) status = ask_prometheus(r, s, err);
    give(r, s, settings);
    return status;
}

rs_status rs_flight_ask_sources_again(const rs_request *r, rs_flight_sources *s, rs_flight_settings *settings,
                                      rs_error *err)
{
    static rs_status (*const asks[])(const rs_request *, rs_flight_sources *, rs_error *) = {ask_ras,
                                                                                             ask_prometheus};
    static const char *const options[] = {"ras", "prometheus"};
    for (size_t i = 0; i < 2; i++) {
        rs_error why = RS_ERROR_INIT;
        char text[sizeof s->complaint];
        if (!rs_request_text(r, options[i])) continue;
        rs_status status = asks[i](r, s, &why);
        if (status == RS_ERR_NOMEM || status == RS_ERR_USAGE) {
            *err = why;
            return status;
        }
        if (status == RS_OK) continue;
        snprintf(text, sizeof text, "%.180s", why.causes[0].message);
        if (!strstr(s->complaint, text) && !r->quiet) rs_complain("flight: %s", text);
        snprintf(s->complaint, sizeof s->complaint, "%s", text);
    }
    give(r, s, settings);
    return RS_OK;
}
