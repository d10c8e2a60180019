/* Stored summaries of regress: any bytes are refused or read whole; what was read is written and read again as the
 * same bytes; a side against itself is never slower, and its parts add up to the difference, which is nothing. */
#include <string.h>

#include "fuzz.h"
#include "rankscope/regress.h"

static rs_regress_side *side_of(const void *bytes, size_t n, rs_status *status)
{
    rs_regress_side *side;
    rs_error err = RS_ERROR_INIT;
    PROMISE(rs_regress_side_create(NULL, &side, &err) == RS_OK);
    *status = rs_regress_read(side, bytes, n, "input", &err);
    return side;
}

static void check_written(const rs_regress_side *side)
{
    fuzz_bytes one = {0}, two = {0};
    rs_sink to_one = {fuzz_keep, &one}, to_two = {fuzz_keep, &two};
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    PROMISE(rs_regress_save(side, &to_one, &err) == RS_OK);
    PROMISE(rs_regress_is_saved(one.text, one.n));
    rs_regress_side *again = side_of(one.text, one.n, &status);
    PROMISE(status == RS_OK);
    PROMISE(rs_regress_save(again, &to_two, &err) == RS_OK);
    PROMISE(one.n == two.n && memcmp(one.text, two.text, one.n) == 0);
    rs_regress_side_free(again);
    free(one.text);
    free(two.text);
}

static void check_verdict(const rs_regress_side *side, rs_regress_method method, double sd)
{
    rs_regress_settings settings = {
        .size = sizeof settings, .min_effect = 0.005, .between_run_sd = sd, .method = method};
    rs_error err = RS_ERROR_INIT;
    rs_result result = {0};
    rs_regress_verdict verdict;
    fuzz_bytes junit = {0};
    rs_sink sink = {fuzz_keep, &junit};
    rs_status status = rs_regress(side, side, &settings, &result, &verdict, &err);
    PROMISE(status == RS_OK || status == RS_ERR_USAGE || status == RS_ERR_LIMIT);
    if (status == RS_OK) {
        PROMISE(verdict == RS_REGRESS_SAME || verdict == RS_REGRESS_UNDECIDED);
        PROMISE(rs_regress_junit(&result, verdict, true, 0.005, &sink, &err) == RS_OK && junit.n);
    }
    rs_result_clear(&result);
    free(junit.text);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_status status;
    rs_error err = RS_ERROR_INIT;
    rs_regress_side *side = side_of(data, n, &status);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_USAGE);
    if (status == RS_OK) {
        rs_regress_settings settings = {.size = sizeof settings, .min_effect = 0.005, .between_run_sd = -1};
        rs_result result = {0};
        check_written(side);
        check_verdict(side, RS_REGRESS_PATH, -1);
        check_verdict(side, RS_REGRESS_EXPOSED, 0.01);
        status = rs_regress_history(side, &settings, &result, &err);
        PROMISE(status == RS_OK || status == RS_ERR_USAGE);
        rs_result_clear(&result);
    }
    rs_regress_side_free(side);
    return 0;
}
