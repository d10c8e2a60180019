/* What torch.compile did on each rank, as `compile` finds it in the logs of TORCH_TRACE: a rank whose compiled graphs call other
 * collectives than the others', or that compiled a function again, explains a mismatch or a rank that is late. */
#include <string.h>

#include "flight/sources.h"

#define MARK "dedicated_log_torch_trace"

/* By its name: its lines begin as those of glog do. */
static bool knows(const char *path, const uint8_t *text, size_t n)
{
    const char *slash = strrchr(path, '/');
    return n && text[0] == 'V' && strncmp(slash ? slash + 1 : path, MARK, strlen(MARK)) == 0;
}

/* `compile` reads them: its findings are in the settings. */
static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    (void)flight, (void)from, (void)err;
    return RS_OK;
}

static bool testify(rs_flight *flight)
{
    for (size_t i = 0; i < flight->settings.n_compiled; i++) {
        const rs_flight_remark *r = &flight->settings.compiled[i];
        uint32_t file = rs_strings_add(&flight->texts, r->file, strlen(r->file));
        const char *text = rs_fl_print(flight, "in torch.compile: %s", r->text);
        if (file == RS_NO_STRING || !text ||
            !rs_fl_testify(flight, RS_FLIGHT_FILE_COMPILE, RS_FL_EV_COMPILED, r->rank, RS_FL_NONE, text, file,
                           1))
            return false;
    }
    return true;
}

const rs_fl_source rs_fl_compile_source = {.file = RS_FLIGHT_FILE_COMPILE,
                                           .title = "The compile log",
                                           .knows = knows,
                                           .read = read,
                                           .testify = testify,
                                           .blind = "",
                                           .decides = "rankscope compile of all ranks' logs"};
