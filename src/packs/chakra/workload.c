/* Reading text workloads, line by line. */
#include "chakra/workload.h"

#include <string.h>

#include "base/try.h"
#include "chakra/proto.h"
#include "input/json.h"
#include "input/source.h"

/* Every trace carries the whole text in its metadata, and a message has a limit. */
#define MAX_TEXT ((size_t)16 << 20)
#define COLUMNS 12

typedef struct word {
    const char *at;
    size_t n;
} word;

typedef struct reading {
    const char *file;
    rs_workload *out;
    const char *at, *end; /* what is left of the text */
    uint64_t line;        /* of the words below, from 1 */
    word words[COLUMNS + 1];
    size_t n_words; /* COLUMNS + 1: too many */
    rs_error *err;
} reading;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Splits the next line that is not empty; false at the end of the text. */
static bool next_line(reading *r)
{
    r->n_words = 0;
    while (r->at < r->end && !r->n_words) {
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        if (!stop) stop = r->end;
        r->line++;
        for (const char *c = r->at; c < stop && r->n_words <= COLUMNS;) {
            while (c < stop && is_blank(*c)) c++;
            if (c == stop) break;
            const char *begin = c;
            while (c < stop && !is_blank(*c)) c++;
            r->words[r->n_words++] = (word){begin, (size_t)(c - begin)};
        }
        r->at = stop < r->end ? stop + 1 : stop;
    }
    return r->n_words > 0;
}

static rs_status wrong(const reading *r, const char *what, word w)
{
    int n = w.n > 40 ? 40 : (int)w.n;
    return rs_fail(r->err, RS_ERR_FORMAT, "%s: line %llu: %s, not \"%.*s\"", r->file,
                   (unsigned long long)r->line, what, n, w.at ? w.at : "");
}

static bool same(word w, const char *text)
{
    return w.n == strlen(text) && memcmp(w.at, text, w.n) == 0;
}

/* 0 ... 2^63 - 1 */
static bool number(word w, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < w.n; i++) {
        if (w.at[i] < '0' || w.at[i] > '9') return false;
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, w.at[i] - '0', out))
            return false;
    }
    return w.n > 0 && *out <= INT64_MAX;
}

static rs_status read_kind(reading *r)
{
    static const struct {
        const char *name;
        rs_workload_kind kind;
    } kinds[] = {{"MICRO", RS_WORKLOAD_MICRO},
                 {"DATA", RS_WORKLOAD_DATA},
                 {"MODEL", RS_WORKLOAD_MODEL},
                 {"HYBRID_DATA_MODEL", RS_WORKLOAD_HYBRID},
                 {"HYBRID_MODEL_DATA", RS_WORKLOAD_HYBRID},
                 {"HYBRID_DLRM", RS_WORKLOAD_DLRM},
                 {"HYBRID_DLRM_ENHANCED", RS_WORKLOAD_DLRM}};
    uint64_t last = 0;
    if (!next_line(r)) return rs_fail(r->err, RS_ERR_FORMAT, "%s: the file is empty", r->file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!same(r->words[0], kinds[i].name)) continue;
        r->out->kind = kinds[i].kind;
        if (kinds[i].kind != RS_WORKLOAD_DLRM)
            return r->n_words == 1 ? RS_OK : wrong(r, "nothing may follow this parallelism", r->words[1]);
        if (r->n_words != 2 || !number(r->words[1], &last))
            return wrong(r, "after this parallelism the number of the last bottom layer is needed",
                         r->n_words > 1 ? r->words[r->n_words - 1] : (word){"", 0});
        r->out->last_bottom = (size_t)last;
        return RS_OK;
    }
    return wrong(r,
                 "the parallelism is one of MICRO, DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, "
                 "HYBRID_DLRM and HYBRID_DLRM_ENHANCED",
                 r->words[0]);
}

static rs_status read_phase(reading *r, size_t first, rs_workload_phase *out)
{
    static const struct {
        const char *name;
        int type;
    } comms[] = {{"ALLREDUCE", RS__ET__COLLECTIVE_TYPE__ALL_REDUCE},
                 {"ALLTOALL", RS__ET__COLLECTIVE_TYPE__ALL_TO_ALL},
                 {"ALLGATHER", RS__ET__COLLECTIVE_TYPE__ALL_GATHER},
                 {"REDUCESCATTER", RS__ET__COLLECTIVE_TYPE__REDUCE_SCATTER}};
    uint64_t size;
    const word *w = r->words + first;
    if (!number(w[0], &out->time)) return wrong(r, "a time in us is needed", w[0]);
    if (!number(w[2], &size)) return wrong(r, "a size in bytes is needed", w[2]);
    out->comm_size = (int64_t)size;
    if (same(w[1], "NONE")) return RS_OK;
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        if (!same(w[1], comms[i].name)) continue;
        out->comm = comms[i].name;
        out->comm_type = comms[i].type;
        return RS_OK;
    }
    return wrong(r, "communication is NONE, ALLREDUCE, ALLTOALL, ALLGATHER or REDUCESCATTER", w[1]);
}

static rs_status read_layer(reading *r)
{
    rs_workload *out = r->out;
    rs_workload_layer layer = {0};
    uint64_t update;
    if (r->n_words != COLUMNS)
        return rs_fail(r->err, RS_ERR_FORMAT, "%s: line %llu: a layer has %d columns, this line has %s%zu",
                       r->file, (unsigned long long)r->line, COLUMNS,
                       r->n_words > COLUMNS ? "more than " : "",
                       r->n_words > COLUMNS ? (size_t)COLUMNS : r->n_words);
    for (size_t p = 0; p < RS_N_PHASES; p++) RS_TRY(read_phase(r, 2 + 3 * p, &layer.phases[p]));
    if (!number(r->words[COLUMNS - 1], &update))
        return wrong(r, "an update time is needed", r->words[COLUMNS - 1]);
    char *name = rs_arena_alloc(&out->arena, r->words[0].n + 1);
    if (!name || !RS_GROW_ONE(out->layers, out->n_layers, out->capacity))
        return rs_fail_nomem(r->err, "layers");
    memcpy(name, r->words[0].at, r->words[0].n);
    name[r->words[0].n] = '\0';
    layer.name = name;
    out->layers[out->n_layers++] = layer;
    return RS_OK;
}

static rs_status read_text(reading *r)
{
    uint64_t announced;
    rs_status status = read_kind(r);
    if (status != RS_OK) return status;
    uint64_t count_line = 0;
    if (!next_line(r))
        return rs_fail(r->err, RS_ERR_FORMAT, "%s: line %llu: the number of layers is missing", r->file,
                       (unsigned long long)r->line + 1);
    if (r->n_words != 1 || !number(r->words[0], &announced))
        return wrong(r, "the number of layers is needed", r->words[r->n_words == 1 ? 0 : 1]);
    count_line = r->line;
    while (status == RS_OK && next_line(r)) status = read_layer(r);
    if (status != RS_OK) return status;
    if (announced != r->out->n_layers || !announced)
        return rs_fail(r->err, RS_ERR_FORMAT, "%s: line %llu announces %llu layers, %llu follow", r->file,
                       (unsigned long long)count_line, (unsigned long long)announced,
                       (unsigned long long)r->out->n_layers);
    if (r->out->kind == RS_WORKLOAD_DLRM && r->out->last_bottom + 1 >= r->out->n_layers)
        return rs_fail(
            r->err, RS_ERR_FORMAT,
            "%s: line 1: layer %llu cannot be the last bottom layer: there are %llu, and a top layer "
            "must follow it",
            r->file, (unsigned long long)r->out->last_bottom, (unsigned long long)r->out->n_layers);
    return RS_OK;
}

static rs_status take_text(const rs_chakra_text_settings *s, rs_workload *out, rs_error *err)
{
    rs_source *source;
    uint8_t *text = NULL;
    if (s->bytes) {
        if (s->n_bytes > MAX_TEXT)
            return rs_fail(err, RS_ERR_LIMIT, "%s: a workload of more than 16 MiB", s->path);
        out->text = rs_malloc(s->n_bytes + 1);
        if (!out->text) return rs_fail_nomem(err, "the workload");
        memcpy(out->text, s->bytes, s->n_bytes);
        out->n_text = s->n_bytes;
    } else {
        RS_TRY(rs_source_open(s->path, s->max_ratio, &source, err));
        rs_status status = rs_source_read_all(source, MAX_TEXT, &text, &out->n_text, err);
        rs_source_close(source);
        if (status != RS_OK) return status;
        out->text = (char *)text;
    }
    out->text[out->n_text] = '\0';
    const char *zero = memchr(out->text, '\0', out->n_text);
    if (!zero && rs_utf8_valid((const uint8_t *)out->text, out->n_text)) return RS_OK;
    return rs_fail(err, RS_ERR_FORMAT, "%s: the file is no text (UTF-8)", s->path);
}

rs_status rs_workload_open(const rs_chakra_text_settings *settings, rs_workload *out, rs_error *err)
{
    memset(out, 0, sizeof *out);
    RS_TRY(take_text(settings, out, err));
    reading r = {
        .file = settings->path, .out = out, .at = out->text, .end = out->text + out->n_text, .err = err};
    return read_text(&r);
}

void rs_workload_clear(rs_workload *workload)
{
    rs_free_all(workload->layers, workload->text);
    rs_arena_clear(&workload->arena);
    memset(workload, 0, sizeof *workload);
}
