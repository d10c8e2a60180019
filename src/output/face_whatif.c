/* `whatif` for people: the job in a few lines, what they point to, the heat map of workers, who is slow. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "output/face_tools.h"
#include "rankscope/verdict.h"
#include "text/numbers.h"

#define KEYS 10
#define MOST_COLUMNS 32 /* of the heat map: beyond, the slowest workers are a list */
#define MOST_ROWS 64
#define LISTED 10
#define NONE SIZE_MAX
#define LEAST_GAIN 0.1 /* percent: who gains less by itself is not named */

static void human_us(double us, char out[32])
{
    if (isnan(us))
        snprintf(out, 32, "-");
    else
        rs_human_time(rs_int_of(us * 1000), out);
}

/* ---- the job -------------------------------------------------------------------------------------------- */

static void put_job(const rs_table *job, rs_page *layout)
{
    char text[256], a[32], b[32], c[32], d[32];
    rs_page_heading(layout, "Job", true);
    int64_t stages = rs_face_int(job, 0, "stages", -1), dp = rs_face_int(job, 0, "dp_ranks", -1);
    int used = snprintf(text, sizeof text, "%lld workers", (long long)rs_face_int(job, 0, "ranks", 0));
    if (stages >= 0 && dp >= 0)
        used += snprintf(text + used, sizeof text - (size_t)used, ": %lld data ranks x %lld stages",
                         (long long)dp, (long long)stages);
    snprintf(text + used, sizeof text - (size_t)used, ", %lld steps",
             (long long)rs_face_int(job, 0, "steps", 0));
    rs_page_value(layout, "size", KEYS, text);
    human_us(rs_face_number(job, 0, "actual_us"), a);
    human_us(rs_face_number(job, 0, "replayed_us"), b);
    human_us(rs_face_number(job, 0, "ideal_us"), c);
    human_us(rs_face_number(job, 0, "repaired_us"), d);
    snprintf(text, sizeof text, "%s as recorded, %s replayed", a, b);
    rs_page_value(layout, "step", KEYS, text);
    snprintf(text, sizeof text, "%s; slowdown %s", c, RS_FIXED(rs_face_number(job, 0, "slowdown"), 3));
    rs_page_value(layout, "ideal", KEYS, text);
    if (!isnan(rs_face_number(job, 0, "repaired_us"))) {
        snprintf(text, sizeof text, "%s; slowdown %s", d,
                 RS_FIXED(rs_face_number(job, 0, "repair_slowdown"), 3));
        rs_page_value(layout, "repaired", KEYS, text);
    }
    if (!isnan(rs_face_number(job, 0, "replay_error_pct"))) {
        double transplant = rs_face_number(job, 0, "transplant_error_pct");
        snprintf(text, sizeof text, "replay %s %%, transplant %s%s, unexplained %s %%",
                 RS_FIXED(rs_face_number(job, 0, "replay_error_pct"), 2),
                 isnan(transplant) ? "unknown (under four steps)" : RS_FIXED(transplant, 2),
                 isnan(transplant) ? "" : " %", RS_FIXED(rs_face_number(job, 0, "unexplained_pct"), 2));
        rs_page_value(layout, "error", KEYS, text);
    }
}

/* ---- what it points to ---------------------------------------------------------------------------------- */

/* The ranks of a part that gain by themselves, into out: of two of which one hides nothing, one is to blame. Of operations,
 * where the gain of each is not known, all. */
static const char *ranks_of(const rs_result *result, const char *part, rs_text *out)
{
    const rs_table *parts = rs_result_table(result, "parts"), *workers = rs_result_table(result, "workers");
    const char *list = "";
    for (size_t i = 0; i < rs_table_n_rows(parts); i++)
        if (strcmp(rs_face_string(parts, i, "part"), part) == 0) list = rs_face_string(parts, i, "ranks");
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        int n = (int)strcspn(at, ",");
        bool gains = true;
        for (size_t i = 0; i < rs_table_n_rows(workers); i++) {
            char rank[24];
            snprintf(rank, sizeof rank, "%lld", (long long)rs_face_int(workers, i, "rank", -1));
            if ((int)strlen(rank) == n && strncmp(at, rank, (size_t)n) == 0)
                gains = !(rs_face_number(workers, i, "gain_pct") < LEAST_GAIN);
        }
        if (gains) rs_text_printf(out, "%s%.*s", out->n ? ", " : "", n, at);
    }
    return rs_text_get(out) ? rs_text_get(out) : "";
}

/* The worker that gains most by itself, of a map. */
static bool put_worker(const rs_table *workers, rs_page *layout)
{
    char text[120];
    size_t best = 0, n = rs_table_n_rows(workers);
    for (size_t i = 1; i < n; i++)
        if (rs_face_number(workers, i, "gain_pct") > rs_face_number(workers, best, "gain_pct")) best = i;
    if (!n || !(rs_face_number(workers, best, "gain_pct") >= 1)) return false;
    snprintf(text, sizeof text, "rank %lld: fixing it alone would gain %s %%",
             (long long)rs_face_int(workers, best, "rank", -1),
             RS_FIXED(rs_face_number(workers, best, "gain_pct"), 1));
    rs_page_wrap(layout, "  ", text);
    return true;
}

/* Where the judge did not say what is wrong. Thresholds: docs/whatif.md. */
static void put_reading(const rs_result *result, const rs_table *job, rs_page *layout)
{
    char text[512];
    rs_text list = {0};
    bool any = false;
    const rs_verdict *v = rs_result_verdict(result, 0);
    double m_w = rs_face_number(job, 0, "m_w"), m_s = rs_face_number(job, 0, "m_s");
    double s = rs_face_number(job, 0, "slowdown"), repair = rs_face_number(job, 0, "repair_slowdown");
    double r = rs_face_number(job, 0, "fb_correlation"), spread = rs_face_number(job, 0, "fb_variation");
    double delay = rs_face_number(job, 0, "delay_slowdown");
    bool map = isnan(m_w) && !isnan(rs_face_number(job, 0, "replay_error_pct"));
    if (v && v->kind != RS_VERDICT_REFUSED) return;
    rs_page_heading(layout, "Points to", false);
    if (map) any = put_worker(rs_result_table(result, "workers"), layout);
    const char *ranks = m_w >= 0.5 ? ranks_of(result, "slowest-workers", &list) : "";
    if (*ranks && fmax(s, repair) >= 1.02) {
        snprintf(text, sizeof text,
                 "a few workers: fixing rank%s %.80s alone removes %s%s of the loss (M_W %s)",
                 strchr(ranks, ',') ? "s" : "", ranks, m_w >= 1 ? "all" : RS_FIXED(100 * m_w, 0),
                 m_w >= 1 ? "" : " %", RS_FIXED(m_w, 2));
        rs_page_wrap(layout, "  ", text);
        any = true;
    }
    rs_text_clear(&list);
    if (m_s >= 0.5 && s >= 1.02 && !(repair >= 1.05)) {
        snprintf(text, sizeof text,
                 "uneven stages: the last one holds %s of the loss (M_S), and fixing workers would gain %s "
                 "%%",
                 RS_FIXED(m_s, 2), RS_FIXED(100 * (repair - 1), 1));
        rs_page_wrap(layout, "  ", text);
        any = true;
    }
    if (r >= 0.9 && spread >= 0.05) {
        snprintf(text, sizeof text,
                 "unequal sequence lengths: forward and backward times go together (correlation %s) and vary "
                 "by %s %%",
                 RS_FIXED(r, 2), RS_FIXED(100 * spread, 0));
        rs_page_wrap(layout, "  ", text);
        any = true;
    }
    if (delay >= 1.03) {
        snprintf(text, sizeof text, "the host: late launches (data loading, Python) cost %s %%; table delays",
                 RS_FIXED(100 * (delay - 1), 1));
        rs_page_wrap(layout, "  ", text);
        any = true;
    }
    if (!any)
        rs_page_wrap(layout, "  ",
                     s >= 1.05 ? "several causes: see the tables kinds, workers and steps"
                               : "no significant stragglers (slowdown under 1.05)");
}

/* ---- the heat map --------------------------------------------------------------------------------------- */

typedef struct heat {
    const rs_table *workers;
    int64_t least_dp, n_dp, n_stages;
    bool by_role; /* rows are roles, and columns their ranks in order */
    size_t *row;  /* by stage * n_dp + data rank */
} heat;

/* The colours of the study: nothing up to 1, full from 1.5 on. */
static void put_cell(rs_page *layout, double slowdown)
{
    static const char *const colors[] = {"", "\033[48;5;223m", "\033[48;5;216m", "\033[48;5;209m",
                                         "\033[48;5;196m"};
    static const char *const shades[] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93", "\xe2\x96\x88"};
    static const char *const signs[] = {" ", ".", ":", "*", "#"};
    char text[48];
    double share = (slowdown - 1) / 0.5;
    size_t level = !(share > 0) ? 0 : share >= 1 ? 4 : (size_t)(share * 4);
    if (share >= 0.1 && level == 0) level = 1;
    if (isnan(slowdown))
        snprintf(text, sizeof text, "     -");
    else
        snprintf(text, sizeof text, "%6s", RS_FIXED(slowdown, 2));
    if (layout->color && level) rs_writer_text(layout->writer, colors[level]);
    rs_writer_text(layout->writer, text);
    rs_writer_text(layout->writer, layout->utf8 ? shades[level] : signs[level]);
    if (layout->color && level) rs_writer_text(layout->writer, "\033[0m");
}

static void put_heat_line(const heat *h, int64_t stage, rs_page *layout)
{
    char lead[32];
    snprintf(lead, sizeof lead, h->by_role ? "  role %-5lld" : "  stage %-4lld", (long long)stage);
    rs_writer_text(layout->writer, lead);
    for (int64_t d = 0; d < h->n_dp; d++) {
        size_t row = h->row[stage * h->n_dp + d];
        put_cell(layout, row == NONE ? (double)NAN : rs_face_number(h->workers, row, "slowdown"));
    }
    rs_writer_char(layout->writer, '\n');
}

static void put_heat(const heat *h, rs_page *layout)
{
    char text[32];
    rs_page_heading(layout,
                    h->by_role
                        ? "Slowdown of each rank, those of a role in a row (1 none, from 1.5 on full colour)"
                        : "Slowdown of each worker (1 none, from 1.5 on full colour)",
                    false);
    if (!h->by_role) {
        rs_writer_text(layout->writer, "  data rank ");
        for (int64_t d = 0; d < h->n_dp; d++) {
            snprintf(text, sizeof text, "%5lld  ", (long long)(h->least_dp + d));
            rs_writer_text(layout->writer, text);
        }
        rs_writer_char(layout->writer, '\n');
    }
    for (int64_t s = 0; s < h->n_stages; s++) put_heat_line(h, s, layout);
}

/* The row and column of a worker; of traces its role, and its place among the role's ranks. */
static void place_of(const heat *h, size_t i, int64_t *row, int64_t *column)
{
    *row = rs_face_int(h->workers, i, h->by_role ? "role" : "stage", -1);
    *column = h->by_role ? 0 : rs_face_int(h->workers, i, "dp_rank", -1);
    for (size_t k = 0; h->by_role && k < i; k++) *column += rs_face_int(h->workers, k, "role", -1) == *row;
}

/* false: the places of workers are unknown, or too many for a map. */
static bool find_heat(const rs_table *workers, heat *h)
{
    int64_t last_dp = -1, row, column;
    size_t n = rs_table_n_rows(workers);
    *h = (heat){.workers = workers, .least_dp = INT64_MAX};
    if (n == 0 || n > MOST_ROWS * MOST_COLUMNS) return false;
    h->by_role = rs_face_int(workers, 0, "stage", -1) < 0;
    for (size_t i = 0; i < n; i++) {
        place_of(h, i, &row, &column);
        if (row < 0 || column < 0 || row >= MOST_ROWS) return false;
        if (column < h->least_dp) h->least_dp = column;
        if (column > last_dp) last_dp = column;
        if (row >= h->n_stages) h->n_stages = row + 1;
    }
    h->n_dp = last_dp - h->least_dp + 1;
    if (h->n_dp > MOST_COLUMNS) return false;
    h->row = rs_malloc((size_t)(h->n_dp * h->n_stages) * sizeof *h->row);
    if (!h->row) return false;
    for (int64_t k = 0; k < h->n_dp * h->n_stages; k++) h->row[k] = NONE;
    for (size_t i = 0; i < n; i++) {
        place_of(h, i, &row, &column);
        /* of several ranks at one place, which a tensor group makes, the slowest */
        size_t *cell = &h->row[row * h->n_dp + column - h->least_dp];
        if (*cell == NONE ||
            rs_face_number(workers, i, "slowdown") > rs_face_number(workers, *cell, "slowdown"))
            *cell = i;
    }
    return true;
}

/* ---- lists ---------------------------------------------------------------------------------------------- */

/* The rows with the greatest slowdown, the greatest first. */
static size_t slowest_rows(const rs_table *table, size_t *rows, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < rs_table_n_rows(table); i++) {
        double value = rs_face_number(table, i, "slowdown");
        size_t k = n < most ? n++ : most;
        if (k == most && !(value > rs_face_number(table, rows[most - 1], "slowdown"))) continue;
        if (k == most) k--;
        for (; k > 0 && value > rs_face_number(table, rows[k - 1], "slowdown"); k--) rows[k] = rows[k - 1];
        rows[k] = i;
    }
    return n;
}

static rs_status put_slowest(const rs_table *table, const char *heading, const char *columns, rs_page *layout,
                             rs_error *err)
{
    size_t rows[LISTED], n = slowest_rows(table, rows, LISTED);
    if (n == 0) return RS_OK;
    rs_page_heading(layout, heading, false);
    return rs_face_part(layout, table, columns, rows, n, err);
}

#define WORTH_A_WORD 2 /* percent: a worker that gains so much, though no finding accuses it */

#define MUCH_REPAIRED 1.05 /* slowdown against a repaired step, though nothing is wrong */

/* Whether a finding accuses the rank, or all of the job. */
static bool is_accused(const rs_result *result, int64_t rank)
{
    for (size_t i = 0; i < rs_result_n_verdicts(result); i++) {
        const rs_verdict *v = rs_result_verdict(result, i);
        if (v->kind != RS_VERDICT_FINDING) continue;
        if (!v->n_culprits) return true;
        for (size_t k = 0; k < v->n_culprits; k++) {
            const rs_culprit *c = &v->culprits[k];
            if (c->kind == RS_CULPRIT_RANK && c->number == rank) return true;
            for (size_t r = 0; r < c->n_ranks; r++)
                if (c->ranks[r] == rank) return true;
        }
    }
    return false;
}

static bool has_finding(const rs_result *result)
{
    bool any = false;
    for (size_t i = 0; i < rs_result_n_verdicts(result); i++)
        any = any || rs_result_verdict(result, i)->kind == RS_VERDICT_FINDING;
    return any;
}

/* Why the worker that gains most by itself, or a repaired step that is much shorter, is no finding: one job has one story. */
static void put_difference(const rs_result *result, const rs_table *job, const rs_table *workers,
                           rs_page *layout)
{
    char text[400];
    size_t best = 0, n = rs_table_n_rows(workers);
    const rs_verdict *v = rs_result_verdict(result, 0);
    for (size_t i = 1; i < n; i++)
        if (rs_face_number(workers, i, "gain_pct") > rs_face_number(workers, best, "gain_pct")) best = i;
    if (!n || !v || v->kind == RS_VERDICT_REFUSED) return;
    const double gain = rs_face_number(workers, best, "gain_pct"),
                 repair = rs_face_number(job, 0, "repair_slowdown");
    const int64_t rank = rs_face_int(workers, best, "rank", -1);
    if (gain >= WORTH_A_WORD && !is_accused(result, rank))
        snprintf(
            text, sizeof text,
            "Rank %lld would gain %s %% where everything in it took the medians of its peers, which are without anyone's "
            "chance delays. No finding accuses it: what it takes longer is no more than its peers differ by, from step to "
            "step, or is not its own.",
            (long long)rank, RS_FIXED(gain, 1));
    else if (repair >= MUCH_REPAIRED && !has_finding(result))
        snprintf(
            text, sizeof text,
            "A repaired step is without anyone's chance delays, of all ranks at once: no rank alone gains much, so that there "
            "is no finding.");
    else
        return;
    rs_page_blank(layout);
    rs_page_wrap(layout, "", text);
}

rs_status rs_face_whatif(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char kinds[] = "kind|slowdown";
    static const char workers[] = "rank|dp_rank|stage|slowdown|slowest";
    static const char ranks[] = "rank|host|role|slowdown|gain_us|gain_pct";
    const rs_table *job = rs_result_table(result, "whatif");
    const rs_table *each = rs_result_table(result, "workers");
    heat h;
    if (rs_table_n_rows(job) == 0) return rs_page_table(layout, job, err);
    put_job(job, layout);
    put_reading(result, job, layout);
    bool map = find_heat(each, &h), traces = !isnan(rs_face_number(job, 0, "replay_error_pct"));
    if (map) put_heat(&h, layout);
    rs_free(h.row);
    rs_status status =
        put_slowest(rs_result_table(result, "kinds"), "Kinds that cost most", kinds, layout, err);
    if (status == RS_OK && (traces || !map))
        status = put_slowest(each, "Slowest workers", traces ? ranks : workers, layout, err);
    if (status == RS_OK && traces) put_difference(result, job, each, layout);
    const rs_table *parts = rs_result_table(result, "parts");
    if (status == RS_OK && rs_table_n_rows(parts)) {
        rs_page_heading(layout, "Combined", false);
        status = rs_page_table(layout, parts, err);
    }
    const rs_table *scales = rs_result_table(result, "scales");
    if (status == RS_OK && rs_table_n_rows(scales)) {
        rs_page_heading(layout, "What if", false);
        status = rs_page_table(layout, scales, err);
    }
    rs_page_blank(layout);
    rs_page_wrap(layout, "",
                 traces
                     ? "More: --table steps, kinds, workers, kind_steps, units (hosts, roles, links, steps)"
                     : "More: --table steps, kinds, dp_ranks, stages, workers, kind_steps, dp_rank_steps, "
                       "stage_steps, delays, balances");
    return status;
}

/* ---- another layout -------------------------------------------------------------------------------------- */

/* Of whatif --layout. */
void rs_headline_layout(const rs_result *result, rs_text *out)
{
    const rs_table *t = result->tables[result->main_table];
    char before[32], after[32], low[32], high[32], batches[48] = "";
    if (!rs_table_n_rows(t)) return;
    const long long n = rs_face_int(t, 0, "micro_batches", 0);
    if (n) snprintf(batches, sizeof batches, " and %lld micro-batch%s", n, n == 1 ? "" : "es");
    const char *reason = rs_face_string(t, 0, "reason");
    if (*reason) {
        rs_text_printf(out, "%s is not predicted: %s.", rs_face_string(t, 0, "layout"), reason);
        return;
    }
    human_us(rs_face_number(t, 0, "before_us"), before);
    human_us(rs_face_number(t, 0, "after_us"), after);
    human_us(rs_face_number(t, 0, "after_low_us"), low);
    human_us(rs_face_number(t, 0, "after_high_us"), high);
    rs_text_printf(
        out,
        "With %s%s a step takes %s (%s to %s), now %s with %s; a GPU gets %s %% of the work done that it does now.",
        rs_face_string(t, 0, "layout"), batches, after, low, high, before, rs_face_string(t, 0, "recorded"),
        RS_FIXED(rs_face_number(t, 0, "per_gpu_pct"), 1));
}
