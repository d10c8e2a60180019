#include "cli/fetch.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

void rs_fetch_clear(rs_fetch *item)
{
    rs_free_all(item->url, item->body);
    *item = (rs_fetch){0};
}

#ifdef RS_HAVE_CURL

#include <curl/curl.h>

#include "late_curl.h"

#define MAX_BODY ((size_t)512 << 20)
#define CONNECTIONS 64L

static size_t take(char *bytes, size_t size, size_t n, void *context)
{
    rs_fetch *item = context;
    size_t more = size * n;
    if (more > MAX_BODY - item->n)
        snprintf(item->failure, sizeof item->failure, "the answer is larger than %zu MB", MAX_BODY >> 20);
    if (more > MAX_BODY - item->n || !rs_grow((void **)&item->body, &item->capacity, item->n + more + 1, 1))
        return 0;
    memcpy(item->body + item->n, bytes, more);
    item->n += more;
    item->body[item->n] = '\0';
    return more;
}

static CURL *start(rs_fetch *item, int64_t timeout_s)
{
    CURL *easy = curl_easy_init();
    if (!easy) return NULL;
    curl_easy_setopt(easy, CURLOPT_URL, item->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L); /* a redirect could lead to any host */
    curl_easy_setopt(easy, CURLOPT_PROXY, "");          /* the addresses are of the job's own network */
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)timeout_s);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)timeout_s);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, item);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, item);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "rankscope");
    if (item->post) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, item->sent ? item->sent : "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, item->sent ? (long)item->n_sent : 0L);
    }
    if (item->post && item->sent) {
        char type[80];
        snprintf(type, sizeof type, "Content-Type: %s", item->type ? item->type : "application/json");
        item->headers = curl_slist_append(NULL, type);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, (struct curl_slist *)item->headers);
    }
    return easy;
}

static void finish(CURL *easy, CURLcode result)
{
    rs_fetch *item = NULL;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&item);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(item->headers);
    item->headers = NULL;
    if (result == CURLE_OK) {
        item->status = (int)status;
        return;
    }
    item->timed_out = result == CURLE_OPERATION_TIMEDOUT;
    item->n = 0;
    if (*item->failure) return; /* it was set where the failure was seen */
    switch (result) {
    case CURLE_COULDNT_CONNECT:
        snprintf(item->failure, sizeof item->failure, "no process listens there (connection refused)");
        break;
    case CURLE_COULDNT_RESOLVE_HOST: snprintf(item->failure, sizeof item->failure, "no such host"); break;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR: snprintf(item->failure, sizeof item->failure, "the connection was reset"); break;
    case CURLE_OPERATION_TIMEDOUT: snprintf(item->failure, sizeof item->failure, "no answer in time"); break;
    default: snprintf(item->failure, sizeof item->failure, "%.100s", curl_easy_strerror(result));
    }
}

rs_status rs_fetch_all(rs_fetch *items, size_t n, int64_t timeout_s, rs_error *err)
{
    rs_status status = rs_late_curl(err);
    if (status != RS_OK) return status;
    CURLM *multi = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? curl_multi_init() : NULL;
    if (!multi) return rs_fail(err, RS_ERR_NOMEM, "libcurl cannot start");
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, CONNECTIONS);
    size_t started = 0, running = 0;
    while (status == RS_OK && (started < n || running)) {
        /* The clock of a request starts with it, so no more are started than have a connection. */
        while (started < n && running < (size_t)CONNECTIONS && status == RS_OK) {
            CURL *easy = start(&items[started], timeout_s);
            if (easy && curl_multi_add_handle(multi, easy) == CURLM_OK) {
                started++;
                running++;
                continue;
            }
            if (easy) curl_easy_cleanup(easy);
            status = rs_fail(err, RS_ERR_NOMEM, "libcurl cannot start a request");
        }
        int left = 0, queued = 0;
        if (curl_multi_perform(multi, &left) != CURLM_OK ||
            curl_multi_poll(multi, NULL, 0, 200, NULL) != CURLM_OK)
            status = rs_fail(err, RS_ERR_IO, "libcurl failed");
        for (CURLMsg *m; (m = curl_multi_info_read(multi, &queued));) {
            if (m->msg != CURLMSG_DONE) continue;
            CURL *easy = m->easy_handle;
            finish(easy, m->data.result);
            curl_multi_remove_handle(multi, easy);
            curl_easy_cleanup(easy);
            running--;
        }
    }
    curl_multi_cleanup(multi);
    return status;
}

rs_status rs_fetch_check(rs_error *err)
{
    return rs_late_curl(err);
}

#else

rs_status rs_fetch_all(rs_fetch *items, size_t n, int64_t timeout_s, rs_error *err)
{
    (void)items;
    (void)n;
    (void)timeout_s;
    return rs_fetch_check(err);
}

rs_status rs_fetch_check(rs_error *err)
{
    return rs_fail(err, RS_ERR_USAGE,
                   "this rankscope was built without libcurl and cannot ask a server: install libcurl's "
                   "development files and build again, or save the pages and dumps and give those");
}

#endif
