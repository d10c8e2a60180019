/* `info` for people: each rank's file, then what is in it. */
#include <stdio.h>
#include <string.h>

#include "output/face_tools.h"

#define KEYS 10
#define MAX_RANKS 8

static void file_lines(const rs_table *ranks, size_t i, rs_page *layout)
{
    char text[512], number[32], span[32];
    snprintf(text, sizeof text, "rank %lld", (long long)rs_face_int(ranks, i, "rank", -1));
    rs_page_heading(layout, text, i == 0);
    rs_page_value(layout, "file", KEYS, rs_face_string(ranks, i, "file"));
    if (*rs_face_string(ranks, i, "label"))
        rs_page_value(layout, "label", KEYS, rs_face_string(ranks, i, "label"));
    rs_human_bytes(rs_face_int(ranks, i, "text_bytes", 0), number);
    snprintf(text, sizeof text, "%s, %s, %s of text%s", rs_face_string(ranks, i, "form"),
             rs_face_string(ranks, i, "packing"), number,
             strcmp(rs_face_string(ranks, i, "truncated"), "yes") == 0 ? ", truncated" : "");
    rs_page_value(layout, "format", KEYS, text);
    rs_page_value(layout, "rank from", KEYS, rs_face_string(ranks, i, "rank_from"));
    const char *split = rs_face_string(ranks, i, "split_by");
    if (*split && strcmp(split, "one rank") != 0) rs_page_value(layout, "split by", KEYS, split);
    rs_human_time(rs_face_int(ranks, i, "span_us", 0), span);
    snprintf(text, sizeof text, "%s events over %s",
             rs_human_count(rs_face_int(ranks, i, "events", 0), number), span);
    int64_t lost = rs_face_int(ranks, i, "lost", 0), rounded = rs_face_int(ranks, i, "rounded_times", 0);
    size_t used = strlen(text);
    if (lost) used += (size_t)snprintf(text + used, sizeof text - used, ", %lld lost", (long long)lost);
    if (rounded)
        snprintf(text + used, sizeof text - used, ", %lld times rounded to the ns", (long long)rounded);
    rs_page_value(layout, "events", KEYS, text);
    int64_t steps = rs_face_int(ranks, i, "steps", 0);
    if (steps)
        snprintf(text, sizeof text, "%lld (%lld to %lld)", (long long)steps,
                 (long long)rs_face_int(ranks, i, "first_step", 0),
                 (long long)rs_face_int(ranks, i, "last_step", 0));
    else
        snprintf(text, sizeof text, "none");
    rs_page_value(layout, "steps", KEYS, text);
    snprintf(text, sizeof text, "%s events", rs_human_count(rs_face_int(ranks, i, "gpu_events", 0), number));
    int64_t unlinked = rs_face_int(ranks, i, "unlinked", 0);
    used = strlen(text);
    if (unlinked)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %lld without their launch",
                                 (long long)unlinked);
    if (*rs_face_string(ranks, i, "device_name"))
        snprintf(text + used, sizeof text - used, " on %s", rs_face_string(ranks, i, "device_name"));
    rs_page_value(layout, "GPU", KEYS, text);
    if (*rs_face_string(ranks, i, "backend")) {
        int64_t world = rs_face_int(ranks, i, "world_size", -1);
        used = (size_t)snprintf(text, sizeof text, "%s", rs_face_string(ranks, i, "backend"));
        if (world >= 0) snprintf(text + used, sizeof text - used, ", world of %lld", (long long)world);
        rs_page_value(layout, "job", KEYS, text);
    }
}

/* The rows of one rank in a table that leads with rank. */
static rs_status rank_rows(const rs_table *table, int64_t rank, const char *columns, rs_page *layout,
                           rs_error *err)
{
    enum { MAX_ROWS = 256 };
    size_t rows[MAX_ROWS], n = 0;
    for (size_t i = 0; i < rs_table_n_rows(table) && n < MAX_ROWS; i++)
        if (rs_face_int(table, i, "rank", -1) == rank) rows[n++] = i;
    if (n == 0) return RS_OK;
    rs_page_blank(layout);
    return rs_face_part(layout, table, columns, rows, n, err);
}

rs_status rs_face_info(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char categories[] = "category|kind|events|spans|time_us";
    static const char streams[] = "device|stream|events|time_us|first_us|last_us";
    static const char software[] = "item|value";
    static const char brief[] = "rank|file|events|steps|gpu_events|span_us";
    static const char labelled[] = "rank|label|file|events|steps|gpu_events|span_us";
    const rs_table *ranks = rs_result_table(result, "ranks");
    size_t n = rs_table_n_rows(ranks);
    /* many ranks: a line each, and the first one in full */
    bool many = n > MAX_RANKS;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < (many ? 1 : n); i++) {
        int64_t rank = rs_face_int(ranks, i, "rank", -1);
        file_lines(ranks, i, layout);
        status = rank_rows(rs_result_table(result, "categories"), rank, categories, layout, err);
        if (status == RS_OK)
            status = rank_rows(rs_result_table(result, "streams"), rank, streams, layout, err);
        if (status == RS_OK)
            status = rank_rows(rs_result_table(result, "software"), rank, software, layout, err);
    }
    if (status == RS_OK && many) {
        rs_page_heading(layout, "All ranks", false);
        bool labels = *rs_face_string(ranks, 0, "label");
        status = rs_face_part(layout, ranks, labels ? labelled : brief, NULL, n, err);
    }
    return status;
}
