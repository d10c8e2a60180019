/* Lines of rank metrics: what is read of a record keeps its promises, however the line is damaged, and
 * cutting the text into lines loses nothing. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "input/lines.h"
#include "metrics/record.h"
#include "metrics/smi.h"

static void check_record(const rs_record *r)
{
    double slack = 1e-9 * r->total;
    PROMISE(r->total >= 0 && isfinite(r->total));
    PROMISE(r->compute >= 0 && r->compute <= r->total + slack);
    PROMISE(r->comm >= 0 && r->comm <= r->total + slack);
    PROMISE(r->overlap >= 0 && r->overlap <= r->compute + slack && r->overlap <= r->comm + slack);
    PROMISE(r->idle >= 0 && r->idle <= r->total + slack);
    /* computation, communication and nothing at all never make more than the step */
    PROMISE(r->compute + r->comm - r->overlap + r->idle <= r->total + slack);
    for (int k = 0; k < RS_N_COLLECTIVES; k++) {
        PROMISE(r->in_collective[k] <= r->comm + slack);
        PROMISE(r->hidden_collective[k] <= r->in_collective[k] + slack);
    }
    rs_smi_sample s;
    if (r->smi.bytes) rs_smi_parse(&r->smi, r->rank, &s);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_source *source;
    rs_lines lines;
    rs_line_text line;
    rs_status status;
    rs_record_reader reader = {0}, stored = {.stored = true};
    uint64_t end = 0;
    if (rs_source_open_bytes(data, n, "fuzz", 0, &source, NULL) != RS_OK) return 0;
    bool plain = rs_source_packing(source) == RS_PACKING_PLAIN;
    PROMISE(rs_lines_open(source, &lines, NULL) == RS_OK);
    while (rs_lines_next(&lines, &line, &status, NULL)) {
        rs_record r, own;
        size_t at;
        PROMISE(line.offset == end && !line.too_long);
        if (plain) PROMISE(memcmp(line.text, data + line.offset, line.n) == 0);
        end = line.offset + line.n + line.whole;
        rs_line what = rs_record_read(&reader, line.text, line.n, &r, &at);
        if (what == RS_LINE_BROKEN) PROMISE(at <= line.n);
        if (what == RS_LINE_OK) check_record(&r);
        /* whether the stored overlap is read changes nothing else, unless a number in it is none */
        if (rs_record_read(&stored, line.text, line.n, &own, &at) == RS_LINE_OK) {
            PROMISE(what == RS_LINE_OK);
            PROMISE(memcmp(&own.compute, &r.compute, sizeof r.compute) == 0);
        }
    }
    if (plain && status == RS_OK) PROMISE(end == n);
    rs_record_reader_clear(&reader);
    rs_record_reader_clear(&stored);
    rs_lines_close(&lines);
    rs_source_close(source);
    return 0;
}
