/* The logs of torch.compile below the folders of a hang, compared by the analysis `compile`. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/try.h"
#include "flight/cli/flight.h"

#define MARK "dedicated_log_torch_trace"
#define DEEP 4

static rs_status find_logs(const char *folder, int depth, rs_flight_compiled *out, rs_error *err)
{
    DIR *d = opendir(folder);
    rs_status status = RS_OK;
    if (!d) return RS_OK; /* the dumps' reader complains of it */
    for (struct dirent *e; status == RS_OK && (e = readdir(d));) {
        RS_SCOPED(rs_text_clear) rs_text path = {0};
        struct stat info;
        if (e->d_name[0] == '.') continue;
        rs_text_printf(&path, "%s/%s", folder, e->d_name);
        if (!rs_text_get(&path)) {
            status = rs_fail_nomem(err, folder);
        } else if (strncmp(e->d_name, MARK, strlen(MARK)) == 0) {
            char *copy = rs_strndup(path.s, path.n);
            if (!copy || !RS_PUSH(out->logs, out->n_logs, out->capacity, copy)) {
                rs_free(copy);
                status = rs_fail_nomem(err, folder);
            }
        } else if (depth < DEEP && lstat(path.s, &info) == 0 && S_ISDIR(info.st_mode)) {
            status = find_logs(path.s, depth + 1, out, err);
        }
    }
    closedir(d);
    return status;
}

/* The file of a rank, by its name; the first where none has it. */
static const char *log_of(const rs_flight_compiled *c, int64_t rank)
{
    char part[48];
    snprintf(part, sizeof part, "_rank_%lld_", (long long)rank);
    for (size_t i = 0; i < c->n_logs; i++)
        if (strstr(c->logs[i], part)) return c->logs[i];
    return c->logs[0];
}

static rs_status take(const rs_table *findings, rs_flight_compiled *out, rs_error *err)
{
    size_t rank = rs_table_column_of(findings, "rank"), text = rs_table_column_of(findings, "finding"),
           length;
    size_t n = rs_table_n_rows(findings);
    out->items = rs_calloc(n + 1, sizeof *out->items);
    if (!out->items) return rs_fail_nomem(err, "the compile logs");
    for (size_t i = 0; i < n; i++) {
        if (rs_table_is_null(findings, i, rank)) continue;
        int64_t of = rs_table_int(findings, i, rank);
        out->items[out->n++] =
            (rs_flight_remark){of, rs_table_text(findings, i, text, &length), log_of(out, of)};
    }
    return RS_OK;
}

/* What cannot be compared is no reason to say nothing about the hang. */
rs_status rs_flight_compare_compiled(const char *const *folders, size_t n, rs_flight_compiled *out,
                                     rs_error *err)
{
    const rs_analysis *compile = rs_analysis_find("compile");
    const rs_job_settings settings = {.size = sizeof settings};
    rs_job *job = NULL;
    rs_error why = RS_ERROR_INIT;
    for (size_t i = 0; compile && i < n; i++) RS_TRY(find_logs(folders[i], 0, out, err));
    if (out->n_logs < 2) return RS_OK;
    rs_status status = rs_job_open((const char *const *)out->logs, out->n_logs, &settings, &job, &why);
    if (status == RS_OK) status = rs_job_run(job, compile, NULL, RS_COMPAT_NONE, &out->result, &why);
    const rs_table *findings = status == RS_OK ? rs_result_table(&out->result, "findings") : NULL;
    rs_job_close(job);
    if (status == RS_ERR_NOMEM) return rs_fail_nomem(err, "the compile logs");
    return findings ? take(findings, out, err) : RS_OK;
}

void rs_flight_compiled_clear(rs_flight_compiled *compiled)
{
    for (size_t i = 0; i < compiled->n_logs; i++) rs_free(compiled->logs[i]);
    rs_free_all(compiled->logs, compiled->items);
    rs_result_clear(&compiled->result);
}
