/* Logs of torch.compile: any bytes are refused, or answered with tables that hold together. */
#include <string.h>

#include "compile/compile_log.h"
#include "format/format.h"
#include "fuzz.h"

extern const rs_format rs_format_torch_compile_log;

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_source *source;
    rs_events *events;
    rs_load_settings settings = {0};
    rs_error err = RS_ERROR_INIT;
    if (rs_source_open_bytes(data, n, "fuzz", 0, &source, NULL) != RS_OK) return 0;
    rs_format_of_text(data, n < 2048 ? n : 2048);
    rs_status status = rs_format_torch_compile_log.load(source, &settings, &events, &err);
    rs_source_close(source);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT || status == RS_ERR_NOMEM);
    if (status != RS_OK) return 0;
    const rs_compile_log *log = events->other.columns;
    size_t sum = 0;
    for (size_t i = 0; i < log->n_compilations; i++) {
        const rs_compilation *c = &log->compilations[i];
        PROMISE(c->graphs >= 0 && c->breaks >= 0 && c->collectives >= 0 && c->time >= 0);
        PROMISE((c->frame < 0) == (c->compile < 0));
        PROMISE(c->name == RS_NO_STRING || c->name < log->strings.n);
        PROMISE(c->reason == RS_NO_STRING || c->reason < log->strings.n);
        PROMISE(c->failed == RS_NO_STRING || c->failed < log->strings.n);
        sum += (size_t)c->collectives;
    }
    PROMISE(sum == log->n_collectives);
    for (size_t i = 0; i < log->n_collectives; i++)
        PROMISE(log->collectives[i].compilation < log->n_compilations &&
                log->collectives[i].graph < RS_N_COMPILED_GRAPHS &&
                log->collectives[i].name < log->strings.n);
    rs_events_free(events);
    return 0;
}
