/* Maps of a job: how long each rank was in each class, in columns of any window. */
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/search.h"
#include "view/explorer.h"

const char *const rs_map_class_names[RS_EXPLORER_CLASSES] = {
    "compute",    "operators",    "exposed_comm", "exposed_wait", "exposed_copy",
    "other_work", "exposed_sync", "loading",      "idle",         "other",
};

/* ---- making ------------------------------------------------------------------------------------------- */

static uint8_t class_named(const char *name)
{
    uint8_t at = 0;
    while (at + 1 < RS_EXPLORER_CLASSES && strcmp(rs_map_class_names[at], name) != 0) at++;
    return at;
}

bool rs_map_parts_add(rs_map_parts *s, int64_t from, int64_t to, uint8_t class)
{
    return RS_APPEND(s, (rs_map_part){.from = from, .to = to, .class = class});
}

void rs_map_parts_clear(rs_map_parts *s)
{
    rs_free(s->items);
    *s = (rs_map_parts){0};
}

rs_status rs_map_make_rank(int64_t rank, const rs_map_parts *of, rs_map_rank *out, rs_error *err)
{
    const size_t n = of->n;
    int64_t so_far[RS_EXPLORER_CLASSES] = {0};
    *out = (rs_map_rank){.rank = rank,
                         .n = n,
                         .from = rs_malloc((n + 1) * sizeof *out->from),
                         .to = rs_malloc((n + 1) * sizeof *out->to),
                         .class = rs_malloc(n + 1),
                         .before = rs_malloc((n / RS_MAP_EVERY + 1) * sizeof *out->before)};
    if (!out->from || !out->to || !out->class || !out->before) return rs_fail_nomem(err, "the map of a rank");
    for (size_t i = 0; i < n; i++) {
        const rs_map_part *s = &of->items[i];
        if (i % RS_MAP_EVERY == 0) memcpy(out->before[i / RS_MAP_EVERY], so_far, sizeof so_far);
        out->from[i] = s->from;
        out->to[i] = s->to;
        out->class[i] = s->class;
        so_far[s->class] += s->to - s->from;
    }
    return RS_OK;
}

/* The rows [first, end) of the table, which are a rank's. */
static rs_status read_rank(const rs_table *t, size_t first, size_t end, rs_map_parts *into, rs_map_rank *out,
                           unsigned *present, rs_error *err)
{
    const size_t class = rs_column_of(t, "class"), start = rs_column_of(t, "from_us"),
                 time = rs_column_of(t, "time_us");
    into->n = 0;
    for (size_t i = first; i < end; i++) {
        const int64_t from = rs_table_int(t, i, start);
        const uint8_t k = class_named(rs_table_text(t, i, class, NULL));
        if (!rs_map_parts_add(into, from, from + rs_table_int(t, i, time), k))
            return rs_fail_nomem(err, "the map of a rank");
        *present |= 1u << k;
    }
    return rs_map_make_rank(rs_table_int(t, first, rs_column_of(t, "rank")), into, out, err);
}

rs_status rs_map_make(const rs_table *t, rs_map *out, rs_error *err)
{
    const size_t n = rs_table_n_rows(t), rank = rs_column_of(t, "rank");
    size_t capacity = 0;
    RS_SCOPED(rs_map_parts_clear) rs_map_parts stretches = {0};
    *out = (rs_map){0};
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && rs_table_int(t, end, rank) == rs_table_int(t, i, rank); end++) {
        }
        if (!RS_GROW_ONE(out->ranks, out->n, capacity)) return rs_fail_nomem(err, "the map of the job");
        rs_map_rank *r = &out->ranks[out->n++];
        *r = (rs_map_rank){0};
        RS_TRY(read_rank(t, i, end, &stretches, r, &out->present, err));
        if (r->to[r->n - 1] > out->last) out->last = r->to[r->n - 1];
    }
    return RS_OK;
}

void rs_map_clear(rs_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        rs_free_all(map->ranks[i].from, map->ranks[i].to, map->ranks[i].class, map->ranks[i].before);
    }
    rs_free(map->ranks);
    *map = (rs_map){0};
}

/* ---- columns ------------------------------------------------------------------------------------------ */

/* Where column i of n begins: whole ns, so that columns add up to the window. */
static int64_t column_start(int64_t from, int64_t to, size_t i, size_t n)
{
    return from + (int64_t)((unsigned __int128)(to - from) * i / n);
}

/* The first stretch that ends after a moment. */
static size_t stretch_at(const rs_map_rank *r, int64_t at)
{
    size_t low;
    RS_SEARCH(low, r->n, r->to[low] <= at);
    return low;
}

/* How long each class was on before a moment. */
static void sums_before(const rs_map_rank *r, int64_t at, int64_t *sums)
{
    const size_t end = stretch_at(r, at);
    memset(sums, 0, RS_EXPLORER_CLASSES * sizeof *sums);
    if (!r->n) return;
    size_t i = end / RS_MAP_EVERY * RS_MAP_EVERY;
    if (i >= r->n) i = (r->n - 1) / RS_MAP_EVERY * RS_MAP_EVERY;
    memcpy(sums, r->before[i / RS_MAP_EVERY], sizeof *r->before);
    for (; i < end; i++) sums[r->class[i]] += r->to[i] - r->from[i];
    if (end < r->n && r->from[end] < at) sums[r->class[end]] += at - r->from[end];
}

/* Few stretches a column: one walk over them. */
static void walk_columns(const rs_map_rank *r, size_t i, int64_t from, int64_t to, size_t n, int64_t *sums)
{
    memset(sums, 0, n * RS_EXPLORER_CLASSES * sizeof *sums);
    for (size_t c = 0; c < n; c++) {
        const int64_t begin = column_start(from, to, c, n), end = column_start(from, to, c + 1, n);
        for (; i < r->n && r->from[i] < end; i++) {
            const int64_t a = r->from[i] > begin ? r->from[i] : begin, b = r->to[i] < end ? r->to[i] : end;
            if (b > a) sums[c * RS_EXPLORER_CLASSES + r->class[i]] += b - a;
            if (r->to[i] > end) break;
        }
    }
}

void rs_map_columns(const rs_map_rank *r, int64_t from, int64_t to, size_t n, int64_t *sums)
{
    const size_t first = stretch_at(r, from), last = stretch_at(r, to);
    if (last - first <= n * 32) {
        walk_columns(r, first, from, to, n, sums);
        return;
    }
    int64_t before[RS_EXPLORER_CLASSES], until[RS_EXPLORER_CLASSES];
    sums_before(r, from, before);
    for (size_t c = 0; c < n; c++) {
        sums_before(r, column_start(from, to, c + 1, n), until);
        for (size_t k = 0; k < RS_EXPLORER_CLASSES; k++) *sums++ = until[k] - before[k];
        memcpy(before, until, sizeof before);
    }
}

void rs_map_columns_divided(const rs_map_rank *rank, const rs_map_rank *waits, int64_t from, int64_t to,
                            size_t n, int64_t *sums)
{
    rs_map_columns(rank, from, to, n, sums);
    if (!waits || !waits->n) return;
    int64_t *waited = sums + n * RS_EXPLORER_CLASSES;
    rs_map_columns(waits, from, to, n, waited);
    for (size_t c = 0; c < n; c++, sums += RS_EXPLORER_CLASSES, waited += RS_EXPLORER_CLASSES) {
        sums[RS_EXPLORER_COMM] -= waited[RS_EXPLORER_WAIT];
        sums[RS_EXPLORER_WAIT] += waited[RS_EXPLORER_WAIT];
    }
}

/* A share of a column in 255ths, rounded down. */
static unsigned char share_of(int64_t ns, int64_t column)
{
    if (column <= INT64_MAX / 255) return (unsigned char)((uint64_t)ns * 255 / (uint64_t)column);
    return (unsigned char)((unsigned __int128)ns * 255 / (unsigned __int128)column);
}

size_t rs_map_put_column(const int64_t *sums, unsigned bytes, unsigned present, int64_t column,
                         unsigned char *out)
{
    size_t n = 0;
    for (unsigned k = 0; present >> k; k++) {
        if (!(present >> k & 1)) continue;
        const uint64_t ns = (uint64_t)sums[k];
        if (bytes == 1) /* most are nothing */
            out[n++] = ns ? share_of(sums[k], column) : 0;
        else
            for (unsigned b = 0; b < bytes; b++) out[n++] = (unsigned char)(ns >> (8 * b));
    }
    return n;
}

/* ---- the answer --------------------------------------------------------------------------------------- */

#define MOST_COLUMNS 8192
#define MOST_CELLS (64u << 20)
#define ALL_CLASSES ((1u << RS_EXPLORER_CLASSES) - 1)

typedef struct asked {
    int64_t from, to;
    size_t width, n; /* columns; rows */
    const rs_map_rank **rows;
    size_t pooled;         /* ranks a row */
    const rs_waits *waits; /* separate from other communication; NULL: not */
    size_t *first; /* of folded rows: the first of its ranks in rows, and an end; NULL: a row is a rank */
} asked;

static size_t members_of(const asked *a, size_t row)
{
    return a->first ? a->first[row + 1] - a->first[row] : 1;
}

static const rs_map_rank *first_of(const asked *a, size_t row)
{
    return a->rows[a->first ? a->first[row] : row];
}

static void fill_rank(const asked *a, const rs_map_rank *r, int64_t *sums)
{
    rs_map_columns_divided(r, a->waits ? rs_waits_of_rank(a->waits, r->rank) : NULL, a->from, a->to, a->width,
                           sums);
}

/* sums: room for three times the columns; the first third is the answer. */
static void fill_columns(const asked *a, size_t row, int64_t *sums)
{
    const size_t n = a->width * RS_EXPLORER_CLASSES, from = a->first ? a->first[row] : row;
    fill_rank(a, a->rows[from], sums);
    for (size_t i = from + 1; i < from + members_of(a, row); i++) {
        fill_rank(a, a->rows[i], sums + n);
        for (size_t k = 0; k < n; k++) sums[k] = rs_add_sat(sums[k], sums[n + k]);
    }
}

/* Which row a rank is in: N ranks that follow each other, or with a size the coordinate on an axis of the mesh. */
typedef struct fold {
    int64_t stride, size;
} fold;

static uint64_t row_of(const fold *f, int64_t rank)
{
    const int64_t at = (rank > 0 ? rank : 0) / f->stride;
    return (uint64_t)(f->size ? at % f->size : at);
}

static rs_status read_fold(const char *text, fold *f, rs_error *err)
{
    char *end;
    f->stride = strtoll(text, &end, 10);
    const char *comma = *end == ',' ? end : NULL;
    f->size = comma ? strtoll(comma + 1, &end, 10) : 0;
    if (*end || f->stride < 1 || (comma ? f->size < 1 : f->size != 0) || f->stride > INT32_MAX ||
        f->size > INT32_MAX)
        return rs_fail(err, RS_ERR_USAGE,
                       "fold is the number of ranks of a row, STRIDE,SIZE of an axis, or role");
    return RS_OK;
}

#define MOST_ROLES 64

/* The role of each row's rank, numbered in the order of their first ranks; those of no role are one. */
static void key_by_role(const rs_explorer *x, const asked *a, rs_keyed *keys)
{
    const char *names[MOST_ROLES];
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const char *role = rs_explorer_role(x, a->rows[i]->rank);
        size_t at = 0;
        while (at < n && strcmp(names[at], role) != 0) at++;
        if (at == n && n < MOST_ROLES) names[n++] = role;
        keys[i] = (rs_keyed){(int64_t)at, (uint32_t)i};
    }
}

/* Rows of several ranks, whose times are added. */
static rs_status fold_rows(const rs_explorer *x, asked *a, const char *text, rs_error *err)
{
    fold f;
    const bool by_role = strcmp(text, "role") == 0;
    if (!by_role) RS_TRY(read_fold(text, &f, err));
    RS_LOCAL rs_keyed *keys = rs_malloc((a->n + 1) * sizeof *keys);
    RS_LOCAL const rs_map_rank **rows = rs_malloc((a->n + 1) * sizeof *rows);
    a->first = rs_malloc((a->n + 2) * sizeof *a->first);
    if (!keys || !rows || !a->first) return rs_fail_nomem(err, "rows of the map");
    if (by_role) key_by_role(x, a, keys);
    for (size_t i = 0; i < a->n; i++) {
        if (!by_role) keys[i] = (rs_keyed){(int64_t)row_of(&f, a->rows[i]->rank), (uint32_t)i};
        rows[i] = a->rows[i];
    }
    if (!rs_keyed_sort(keys, a->n)) return rs_fail_nomem(err, "rows of the map");
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        a->rows[i] = rows[keys[i].value];
        if (i == 0 || keys[i].key != keys[i - 1].key) a->first[n++] = i;
    }
    a->first[n] = a->n;
    a->n = n;
    return RS_OK;
}

static double own_time(const rs_map_rank *rank, const asked *a)
{
    int64_t sums[RS_EXPLORER_CLASSES];
    rs_map_columns(rank, a->from, a->to, 1, sums);
    return (double)(sums[0] + sums[1]); /* computation, operators */
}

/* A row of several ranks shows the one whose own time differs most from the mean of all. */
static void pool_rows(asked *a, size_t together)
{
    double mean = 0;
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) mean += own_time(a->rows[i], a) / (double)a->n;
    for (size_t i = 0; i < a->n; i += together) {
        const rs_map_rank *odd = NULL;
        double most = -1;
        for (size_t k = i; k < a->n && k < i + together; k++) {
            const double own = own_time(a->rows[k], a), off = own > mean ? own - mean : mean - own;
            if (off > most) odd = a->rows[k];
            if (off > most) most = off;
        }
        a->rows[n++] = odd;
    }
    a->n = n;
}

/* By role, or by what a rank spends in the window, the most first; of equal ones the lowest rank. */
static rs_status order_rows(const rs_explorer *x, asked *a, const char *by, rs_error *err)
{
    const bool own = strcmp(by, "own") == 0, by_role = strcmp(by, "role") == 0;
    if (strcmp(by, "rank") == 0) return RS_OK;
    if (!own && !by_role && strcmp(by, "communication") != 0)
        return rs_fail(err, RS_ERR_USAGE, "order is rank, role, own or communication");
    RS_LOCAL rs_keyed *keys = rs_malloc((a->n + 1) * sizeof *keys);
    RS_LOCAL const rs_map_rank **rows = rs_malloc((a->n + 1) * sizeof *rows);
    if (!keys || !rows) return rs_fail_nomem(err, "rows of the map");
    if (by_role) key_by_role(x, a, keys);
    for (size_t i = 0; i < a->n; i++) {
        int64_t sums[RS_EXPLORER_CLASSES];
        rows[i] = a->rows[i];
        if (by_role) continue;
        rs_map_columns(a->rows[i], a->from, a->to, 1, sums);
        keys[i] = (rs_keyed){own ? -(sums[0] + sums[1]) : -sums[RS_EXPLORER_COMM], (uint32_t)i};
    }
    if (!rs_keyed_sort(keys, a->n)) return rs_fail_nomem(err, "rows of the map");
    for (size_t i = 0; i < a->n; i++) a->rows[i] = rows[keys[i].value];
    return RS_OK;
}

static rs_status choose_rows(const rs_explorer *x, const rs_map *map, const rs_explorer_request *request,
                             asked *a, rs_error *err)
{
    char list[4096];
    RS_SCOPED(rs_ranges_clear) rs_ranges wanted = {0};
    const bool some = rs_ask_text(request, "ranks", list, sizeof list) && *list;
    const int64_t most = rs_ask_int(request, "rows", 0);
    if (some) RS_TRY(rs_ranges_parse(list, &wanted, err));
    a->rows = rs_malloc((map->n + 1) * sizeof *a->rows);
    if (!a->rows) return rs_fail_nomem(err, "rows of the map");
    for (size_t i = 0; i < map->n; i++)
        if (!some || rs_ranges_has(&wanted, map->ranks[i].rank)) a->rows[a->n++] = &map->ranks[i];
    if (rs_ask_text(request, "fold", list, sizeof list)) {
        a->pooled = 1;
        return fold_rows(x, a, list, err);
    }
    if (rs_ask_text(request, "order", list, sizeof list)) RS_TRY(order_rows(x, a, list, err));
    a->pooled = most > 0 && a->n > (size_t)most ? (a->n + (size_t)most - 1) / (size_t)most : 1;
    if (a->pooled > 1) pool_rows(a, a->pooled);
    return RS_OK;
}

/* present: the classes that are listed, a bit each. */
static void put_head(rs_explorer_answer *answer, const asked *a, unsigned bytes, unsigned present)
{
    rs_answer_print(answer,
                    "{\"from\":%lld,\"to\":%lld,\"width\":%zu,\"pooled\":%zu,\"bytes\":%u,\"classes\":[",
                    (long long)a->from, (long long)a->to, a->width, a->pooled, bytes);
    for (size_t k = 0, n = 0; k < RS_EXPLORER_CLASSES; k++)
        if (present >> k & 1) rs_answer_print(answer, "%s\"%s\"", n++ ? "," : "", rs_map_class_names[k]);
    rs_answer_print(answer, "],\"ranks\":[");
}

/* Of all its ranks. */
static int64_t length_of(const asked *a, size_t row, int64_t column)
{
    const int64_t n = (int64_t)members_of(a, row);
    return column > INT64_MAX / n ? INT64_MAX : column * n;
}

static void put_json(rs_explorer_answer *answer, const asked *a, int64_t *sums)
{
    answer->type = "application/json";
    put_head(answer, a, 0, ALL_CLASSES);
    for (size_t r = 0; r < a->n; r++) {
        fill_columns(a, r, sums);
        rs_answer_print(answer, "%s{\"rank\":%lld,\"members\":%zu,\"columns\":[", r ? "," : "",
                        (long long)first_of(a, r)->rank, members_of(a, r));
        for (size_t i = 0; i < a->width * RS_EXPLORER_CLASSES; i++) {
            const bool first = i % RS_EXPLORER_CLASSES == 0, last = (i + 1) % RS_EXPLORER_CLASSES == 0;
            rs_answer_print(answer, "%s%lld%s",
                            !first ? ","
                            : i    ? ",["
                                   : "[",
                            (long long)sums[i], last ? "]" : "");
        }
        rs_answer_print(answer, "]}");
    }
    rs_answer_print(answer, "]}");
}

/* Four bytes, the length of the head; the head, with blanks up to a multiple of 8 in all; then rows of columns of classes,
 * little-endian: uint32, or uint64 where a column is longer than 2^32 ns; shares in 255ths of the column: one byte. */
static bool put_binary(rs_explorer_answer *answer, const asked *a, bool shares, unsigned present,
                       int64_t *sums)
{
    const int64_t column = (a->to - a->from + (int64_t)a->width - 1) / (int64_t)a->width;
    const unsigned bytes = shares ? 1 : column > UINT32_MAX || a->first ? 8 : 4;
    answer->type = "application/octet-stream";
    rs_answer_append(answer, "\0\0\0\0", 4);
    put_head(answer, a, bytes, present);
    for (size_t r = 0; r < a->n; r++)
        rs_answer_print(answer, "%s%lld", r ? "," : "", (long long)first_of(a, r)->rank);
    rs_answer_print(answer, "]}");
    while (answer->n % 8 && rs_answer_append(answer, " ", 1)) {
    }
    if (answer->n < 4) return false;
    const uint32_t head = (uint32_t)(answer->n - 4);
    for (unsigned i = 0; i < 4; i++) answer->bytes[i] = (char)(head >> (8 * i));
    RS_LOCAL unsigned char *row = rs_malloc(a->width * RS_EXPLORER_CLASSES * bytes);
    for (size_t r = 0; row && r < a->n; r++) {
        size_t n = 0;
        fill_columns(a, r, sums);
        for (size_t c = 0; c < a->width; c++)
            n += rs_map_put_column(sums + c * RS_EXPLORER_CLASSES, bytes, present, length_of(a, r, column),
                                   row + n);
        if (!rs_answer_append(answer, (const char *)row, n)) return false;
    }
    return row != NULL;
}

rs_status rs_answer_map(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                        rs_error *err)
{
    const int64_t id = rs_ask_int(request, "whatif", -1);
    if (id >= (int64_t)atomic_load(&x->n_mended) || id < -1)
        return rs_fail(err, RS_ERR_USAGE, "there is no what-if %lld; POST its text to whatif first",
                       (long long)id);
    const rs_map *map = id < 0 ? &x->map : &x->mended[id].map;
    const int64_t width = rs_ask_int(request, "width", 1);
    asked a = {0};
    char text[8];
    const bool shares = rs_ask_text(request, "shares", text, sizeof text);
    RS_TRY(rs_ask_window(request, map->last, &a.from, &a.to, err));
    if (id < 0 && rs_ask_text(request, "waits", text, sizeof text)) a.waits = &x->waits;
    if (a.waits && !atomic_load(&x->waits.known))
        return rs_fail(err, RS_ERR_USAGE, "waits are not known yet; GET waits first");
    if (width < 1 || width > MOST_COLUMNS)
        return rs_fail(err, RS_ERR_USAGE, "width is 1 to %d", MOST_COLUMNS);
    if (a.to - a.from < width) return rs_fail(err, RS_ERR_USAGE, "a column is 1 ns at least");
    a.width = (size_t)width;
    rs_status status = choose_rows(x, map, request, &a, err);
    RS_LOCAL int64_t *sums = rs_malloc(3 * a.width * RS_EXPLORER_CLASSES * sizeof *sums); /* and its waits */
    if (status == RS_OK && (a.first ? a.first[a.n] : a.n) * a.width * RS_EXPLORER_CLASSES > MOST_CELLS)
        status = rs_fail(err, RS_ERR_USAGE, "%zu rows of %zu columns are too many; pool them: rows=N", a.n,
                         a.width);
    if (status == RS_OK && !sums) status = rs_fail_nomem(err, "columns of the map");
    if (status == RS_OK && request->json)
        put_json(answer, &a, sums);
    else if (status == RS_OK &&
             !put_binary(answer, &a, shares,
                         shares ? x->map.present | map->present | (a.waits ? 1u << RS_EXPLORER_WAIT : 0)
                                : ALL_CLASSES,
                         sums))
        status = rs_fail_nomem(err, "the map");
    rs_free_all(a.rows, a.first);
    return status;
}
