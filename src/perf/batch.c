#include "perf/batch.h"

#include <string.h>

/* The name goes on with `word`: *name moves behind it. */
static bool skip_word(const char **name, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*name, word, n) != 0) return false;
    *name += n;
    return true;
}

/* Of such numbers sums and differences of a few are in range. */
#define LIMIT (INT64_C(1) << 60)

static bool read_number(const char **name, int64_t *out)
{
    const char *at = *name;
    *out = 0;
    while (*at >= '0' && *at <= '9') {
        if (*out >= LIMIT / 10) return false;
        *out = *out * 10 + (*at++ - '0');
    }
    bool any = at != *name;
    *name = at;
    return any;
}

/* "(sq32sk55086sqsq32sqsk55086)". A query at place i of q sees keys - q + i + 1 tokens: q k - q (q - 1) / 2 pairs
 * of each sequence. */
static bool read_sums(const char **name, rs_batch *out)
{
    int64_t q, k, squares, products;
    bool ok = skip_word(name, "(sq") && read_number(name, &q) && skip_word(name, "sk") &&
              read_number(name, &k) && skip_word(name, "sqsq") && read_number(name, &squares) &&
              skip_word(name, "sqsk") && read_number(name, &products) && skip_word(name, ")");
    if (!ok || squares < q || products < squares || k < q) return false;
    out->queries += q;
    out->pairs += products - (squares - q) / 2;
    return true;
}

bool rs_batch_read(const char *name, rs_batch *out)
{
    int64_t n;
    rs_batch batch = {0};
    bool ok = skip_word(&name, "execute_") && read_number(&name, &n) && skip_word(&name, "_context_") &&
              read_number(&name, &n) && read_sums(&name, &batch) && skip_word(&name, "_generation_") &&
              read_number(&name, &n) && read_sums(&name, &batch);
    if (ok) *out = batch;
    return ok;
}
