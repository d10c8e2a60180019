#include "trace/calls.h"

#include <stdbool.h>
#include <string.h>

enum { PART, END, WHOLE }; /* where the word is in the name */

/* Names of the driver have suffixes (_v2, _ptsz), so most words may stand anywhere. */
static const struct {
    const char *word;
    unsigned char where;
    bool prefixed; /* the name begins with cu, hip or mu */
    unsigned short flags;
} words[] = {
    {"LaunchKernel", PART, true, RS_CALL_LAUNCHES | RS_CALL_KERNEL},
    {"LaunchCooperativeKernel", PART, true, RS_CALL_LAUNCHES | RS_CALL_KERNEL},
    {"GraphLaunch", PART, false, RS_CALL_LAUNCHES | RS_CALL_GRAPH},
    {"Launch", PART, false, RS_CALL_LAUNCHES},
    {"MemcpyAsync", PART, false, RS_CALL_LAUNCHES},
    {"MemcpyWithStream", PART, false, RS_CALL_LAUNCHES},
    {"MemsetAsync", PART, false, RS_CALL_LAUNCHES},
    {"job_prep_and_submit_for_execution", PART, false, RS_CALL_LAUNCHES}, /* MTIA */
    {"Memcpy", PART, true, RS_CALL_COPIES},
    {"DeviceSynchronize", END, true, RS_CALL_WAITS_DEVICE},
    {"CtxSynchronize", END, true, RS_CALL_WAITS_DEVICE},
    {"StreamSynchronize", PART, true, RS_CALL_WAITS_STREAM},
    {"synchronizeStream", WHOLE, false, RS_CALL_WAITS_STREAM}, /* MTIA */
    {"EventSynchronize", PART, true, RS_CALL_WAITS_EVENT},
    {"EventQuery", PART, true, RS_CALL_ASKS},
    {"StreamQuery", PART, true, RS_CALL_ASKS},
    {"EventRecord", PART, true, RS_CALL_RECORDS},
    {"recordEvent", WHOLE, false, RS_CALL_RECORDS}, /* MTIA */
    {"StreamWaitEvent", PART, true, RS_CALL_STREAM_WAITS},
    {"Query", PART, false, RS_CALL_POLLS},
    {"EventDestroy", PART, false, RS_CALL_POLLS},
    {"EventElapsedTime", PART, false, RS_CALL_POLLS},
    {"PointerGetAttributes", PART, false, RS_CALL_POLLS},
    {"ExchangeStreamCaptureMode", PART, false, RS_CALL_POLLS},
    {"SetDevice", PART, false, RS_CALL_POLLS},
    {"GetDevice", PART, false, RS_CALL_POLLS},
    {"LastError", PART, false, RS_CALL_POLLS},
    {"Malloc", PART, true, RS_CALL_ALLOCATES},
    {"Free", PART, true, RS_CALL_ALLOCATES},
    {"MemAlloc", PART, true, RS_CALL_ALLOCATES},
    {"MemCreate", PART, true, RS_CALL_ALLOCATES},
    {"MemMap", PART, true, RS_CALL_ALLOCATES},
    {"MemUnmap", PART, true, RS_CALL_ALLOCATES},
    {"MemRelease", PART, true, RS_CALL_ALLOCATES},
    {"HostAlloc", PART, true, RS_CALL_ALLOCATES},
    {"StreamBeginCapture", PART, false, RS_CALL_BEGINS_CAPTURE},
    {"StreamEndCapture", PART, false, RS_CALL_ENDS_CAPTURE},
    {"LaunchHostFunc", PART, false, RS_CALL_RUNS_HOST},
    /* Memory that work may still use is returned: documented of cudaFree and hipFree. FreeAsync waits on a stream. */
    {"cudaFree", WHOLE, false, RS_CALL_DRAINS},
    {"hipFree", WHOLE, false, RS_CALL_DRAINS},
    {"cuMemFree", WHOLE, false, RS_CALL_DRAINS},
    {"cuMemFree_v2", WHOLE, false, RS_CALL_DRAINS},
};

static bool stands(const char *name, size_t n, const char *word, int where)
{
    size_t m = strlen(word);
    if (where == PART) return strstr(name, word) != NULL;
    return n >= m && strcmp(name + n - m, word) == 0 && (where == END || n == m);
}

unsigned rs_call_flags(const char *name)
{
    size_t n = strlen(name);
    bool prefixed = n >= 4 && (strncmp(name, "cu", 2) == 0 || strncmp(name, "hip", 3) == 0 ||
                               strncmp(name, "mu", 2) == 0);
    unsigned flags = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((prefixed || !words[i].prefixed) && stands(name, n, words[i].word, words[i].where))
            flags |= words[i].flags;
    return flags;
}
