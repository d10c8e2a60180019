/* Packed partials, well sealed and for this version, so that the bytes come as far as they can: a first line
 * "ANALYSIS MODE", then the inputs as rs_job_map packs them. Whatever they say, merging touches nothing but
 * them, ends in tables or in an error that says something, and does the same again. */
#include <string.h>

#include "fuzz.h"
#include "rankscope/rankscope.h"
#include "job/partial.h"

typedef struct sum {
    uint64_t hash;
} sum;

static bool add_up(void *context, const char *bytes, size_t n)
{
    sum *s = context;
    for (size_t i = 0; i < n; i++) s->hash = (s->hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    return true;
}

static rs_status merge(const rs_bytes *packed, const rs_query *query, uint64_t *hash)
{
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    rs_status status = rs_merge_packed(packed, 1, query, 1, &result, &err);
    sum s = {0};
    const rs_sink sink = {add_up, &s};
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("json")};
    PROMISE(status == RS_OK ? result.n_tables > 0 : result.n_tables == 0);
    if (status != RS_OK) PROMISE(err.status == status && err.n_causes && err.causes[0].message[0]);
    if (status == RS_OK)
        PROMISE(rs_render_result(&result, result.main_table, &settings, &sink, NULL) == RS_OK);
    rs_result_clear(&result);
    *hash = s.hash;
    return status;
}

int fuzz_one(const uint8_t *data, size_t n)
{
    char line[64];
    const uint8_t *end = memchr(data, '\n', n);
    if (!end || end == data || (size_t)(end - data) >= sizeof line) return 0;
    memcpy(line, data, (size_t)(end - data));
    line[end - data] = '\0';
    char *mode = strchr(line, ' ');
    if (!mode) return 0;
    *mode++ = '\0';
    const rs_query query = {.analysis = rs_analysis_find(line), .compat = (rs_compat)(*mode - '0')};
    size_t n_tables;
    if (!query.analysis || *mode < '0' || *mode > '0' + RS_COMPAT_STRAGGLER_ANALYSIS ||
        !rs_analysis_can_map(query.analysis) || !rs_analysis_tables(query.analysis, query.compat, &n_tables))
        return 0;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings)};
    rs_question q;
    PROMISE(rs_question_init(&q, &query, &settings, NULL) == RS_OK);
    rs_wire_writer w = {0};
    rs_partials_begin(&w, &settings, &q, 1);
    rs_wire_put(&w, end + 1, n - (size_t)(end + 1 - data));
    PROMISE(!w.out_of_memory);
    rs_bytes packed = {w.bytes, w.n};
    rs_partials_seal(&packed);
    uint64_t once, again;
    PROMISE(merge(&packed, &query, &once) == merge(&packed, &query, &again) && once == again);
    rs_wire_clear(&w);
    rs_question_clear(&q);
    return 0;
}
