/* Where the store of a command is: what was said on the command line, else by the environment, else the user's cache.
 * The library itself keeps nothing unless it is told a folder. */
#include <stdio.h>

#include "base/memory.h"
#include "base/ranges.h"
#include "base/try.h"
#include "cli/cli.h"

/* Below, reading the text again costs less than a blink. */
#define WORTH_KEEPING (UINT64_C(64) << 20)

static rs_status join(const char *folder, const char *name, char **out, rs_error *err)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    *out = rs_malloc(size);
    if (!*out) return rs_fail_nomem(err, "the store");
    snprintf(*out, size, "%s/%s", folder, name);
    return RS_OK;
}

/* *out stays NULL where there is no cache. */
static rs_status find_cache(char **out, rs_error *err)
{
    const char *own = getenv("RANKSCOPE_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && !*own) return RS_OK;
    if (own) {
        *out = rs_strdup(own);
        return *out ? RS_OK : rs_fail_nomem(err, "the store");
    }
    if (cache && *cache == '/') return join(cache, "rankscope", out, err); /* relative ones are invalid */
    return home && *home == '/' ? join(home, ".cache/rankscope", out, err) : RS_OK;
}

rs_status rs_store_place(rs_job_settings *settings, char **owned, rs_error *err)
{
    const char *size = getenv("RANKSCOPE_CACHE_SIZE");
    int64_t bytes;
    *owned = NULL;
    if (settings->no_store) return RS_OK;
    if (settings->store && !*settings->store) return rs_fail(err, RS_ERR_USAGE, "--store takes a folder");
    if (size && *size) {
        if (!rs_parse_size(size, &bytes))
            return rs_fail(err, RS_ERR_USAGE,
                           "RANKSCOPE_CACHE_SIZE is a size like 512M or 20G, not \"%.60s\"", size);
        settings->store_limit = (uint64_t)bytes;
    }
    if (settings->store) return RS_OK;
    RS_TRY(find_cache(owned, err));
    settings->store = *owned;
    settings->store_from = WORTH_KEEPING;
    settings->store_optional = true;
    return RS_OK;
}
