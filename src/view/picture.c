/* The map of a job as a page without a server has it: as many columns as fit into a number of bytes. */
#include "base/memory.h"
#include "rankscope/text.h"
#include "view/explorer.h"

#define MOST_COLUMNS 16384
#define LEAST_COLUMNS 256
#define MOST_RAW ((size_t)256 << 20)

typedef struct picture {
    const rs_map *map;
    const rs_waits *waits;
    unsigned present;
    int64_t to; /* a multiple of the columns: each has the same length */
    size_t width;
} picture;

/* Shares of the columns in 16ths, so that they pack well: what an eye distinguishes. */
static rs_status put_rows(const picture *p, const rs_sink *sink, rs_error *err)
{
    RS_LOCAL int64_t *sums = rs_malloc(2 * p->width * RS_EXPLORER_CLASSES * sizeof *sums);
    RS_LOCAL unsigned char *row = rs_malloc(p->width * RS_EXPLORER_CLASSES);
    if (!sums || !row) return rs_fail_nomem(err, "the picture of the map");
    const int64_t column = p->to / (int64_t)p->width;
    for (size_t i = 0; i < p->map->n; i++) {
        const rs_map_rank *r = &p->map->ranks[i];
        size_t n = 0;
        rs_map_columns_divided(r, p->waits ? rs_waits_of_rank(p->waits, r->rank) : NULL, 0, p->to, p->width,
                               sums);
        for (size_t c = 0; c < p->width; c++)
            n += rs_map_put_column(sums + c * RS_EXPLORER_CLASSES, 1, p->present, column, row + n);
        for (size_t k = 0; k < n; k++) row[k] = (unsigned char)((row[k] + 8) / 17 * 17);
        if (!sink->write(sink->context, (const char *)row, n))
            return rs_fail_nomem(err, "the picture of the map");
    }
    return RS_OK;
}

static rs_status pack(const picture *p, rs_explorer_answer *out, rs_error *err)
{
    const rs_sink sink = {rs_answer_append, out};
    rs_packer *packer = NULL;
    RS_TRY(rs_packer_open(RS_PACK_GZIP, &sink, &packer, err));
    const rs_sink packed = rs_packer_sink(packer);
    rs_status status = put_rows(p, &packed, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    rs_packer_close(packer);
    /* what is written to is memory, which is all that can refuse */
    return status == RS_ERR_IO ? rs_fail_nomem(err, "the picture of the map") : status;
}

/* In base 64. */
static void put_text(rs_explorer_answer *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned more = n - i > 1 ? bytes[i + 1] : 0, last = n - i > 2 ? bytes[i + 2] : 0,
                       word = (unsigned)bytes[i] << 16 | more << 8 | last;
        const char four[4] = {digits[word >> 18], digits[word >> 12 & 63],
                              n - i > 1 ? digits[word >> 6 & 63] : '=', n - i > 2 ? digits[word & 63] : '='};
        rs_answer_append(out, four, 4);
    }
}

static bool put_picture(const picture *p, const rs_explorer_answer *packed, rs_explorer_answer *out)
{
    rs_answer_print(out, "{\"from\":0,\"to\":%lld,\"width\":%zu,\"classes\":[", (long long)p->to, p->width);
    for (size_t k = 0, n = 0; k < RS_EXPLORER_CLASSES; k++)
        if (p->present >> k & 1) rs_answer_print(out, "%s\"%s\"", n++ ? "," : "", rs_map_class_names[k]);
    rs_answer_print(out, "],\"ranks\":[");
    for (size_t i = 0; i < p->map->n; i++)
        rs_answer_print(out, "%s%lld", i ? "," : "", (long long)p->map->ranks[i].rank);
    rs_answer_print(out, "],\"data\":\"");
    put_text(out, (const unsigned char *)packed->bytes, packed->n);
    return rs_answer_append(out, "\"}", 2);
}

static rs_status draw(picture *p, int64_t last, size_t most, rs_explorer_answer *out, rs_error *err)
{
    RS_SCOPED(rs_explorer_answer_clear) rs_explorer_answer packed = {0};
    for (p->width = MOST_COLUMNS;; p->width /= 2) {
        const bool large = p->width * p->map->n * RS_EXPLORER_CLASSES > MOST_RAW;
        p->to = (last + (int64_t)p->width - 1) / (int64_t)p->width * (int64_t)p->width;
        packed.n = 0;
        if (!large || p->width <= LEAST_COLUMNS) RS_TRY(pack(p, &packed, err));
        if ((!large && packed.n / 3 * 4 <= most) || p->width <= LEAST_COLUMNS) break;
    }
    return put_picture(p, &packed, out) ? RS_OK : rs_fail_nomem(err, "the picture of the map");
}

rs_status rs_view_picture(const rs_table *rows, const rs_table *arrivals, size_t most,
                          rs_explorer_answer *out, rs_error *err)
{
    rs_map map = {0};
    rs_waits waits = {0};
    rs_status status = rs_map_make(rows, &map, err);
    if (status == RS_OK && arrivals) status = rs_waits_make(&map, arrivals, &waits, err);
    picture p = {.map = &map, .waits = waits.n ? &waits : NULL, .present = map.present};
    if (p.waits) p.present |= 1u << RS_EXPLORER_WAIT;
    *out = (rs_explorer_answer){.status = 200, .type = "application/json"};
    if (status == RS_OK && !map.n)
        rs_answer_print(out, "null");
    else if (status == RS_OK)
        status = draw(&p, map.last, most, out, err);
    rs_waits_clear(&waits);
    rs_map_clear(&map);
    return status;
}
