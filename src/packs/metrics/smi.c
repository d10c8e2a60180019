#include "metrics/smi.h"

#include <math.h>
#include <string.h>

#include "metrics/record.h"

#define MAX_GPUS 64 /* of one node; readings of more are skipped */
#define MAX_LINE 256

const char *const rs_smi_names[RS_N_SMI] = {"temperature_c", "power_w", "gpu_use_percent", "clock_mhz",
                                            "vram_percent"};

/* The label's first words and what it means; of several for one reading the first here wins. */
static const struct {
    const char *label;
    int what;
} labels[] = {
    {"Temperature (Sensor junction) (C)", RS_SMI_TEMPERATURE},
    {"Temperature (Sensor edge) (C)", RS_SMI_TEMPERATURE},
    {"Current Socket Graphics Package Power (W)", RS_SMI_POWER},
    {"Average Graphics Package Power (W)", RS_SMI_POWER},
    {"GPU use (%)", RS_SMI_USE},
    {"sclk clock level", RS_SMI_CLOCK},
    {"GPU Memory Allocated (VRAM%)", RS_SMI_MEMORY},
    {"GPU memory use (%)", RS_SMI_MEMORY},
};
#define N_LABELS (sizeof labels / sizeof *labels)

typedef struct readings {
    float value[MAX_GPUS][RS_N_SMI];
    uint8_t label[MAX_GPUS][RS_N_SMI]; /* whose reading it is, + 1 */
    size_t n_gpus;
} readings;

static bool number_in(const char *text, float *out)
{
    /* "1: (1300Mhz)" tells the clock behind the bracket */
    const char *bracket = strchr(text, '(');
    const char *p = bracket ? bracket + 1 : text;
    while (*p == ' ' || *p == '\t') p++;
    size_t n = strspn(p, "0123456789.");
    if (n == 0) return false;
    *out = (float)rs_metrics_real((const uint8_t *)p, n);
    return isfinite(*out);
}

/* "GPU[3]<tabs>: label: value" */
static void take_line(const char *line, readings *out)
{
    if (strncmp(line, "GPU[", 4) != 0) return;
    size_t gpu = 0;
    const char *p = line + 4;
    for (; *p >= '0' && *p <= '9' && gpu < MAX_GPUS; p++) gpu = gpu * 10 + (size_t)(*p - '0');
    if (p == line + 4 || *p != ']' || gpu >= MAX_GPUS) return;
    p = strchr(p, ':');
    if (!p) return;
    p++;
    while (*p == ' ' || *p == '\t') p++;
    if (gpu >= out->n_gpus) out->n_gpus = gpu + 1;
    for (size_t i = 0; i < N_LABELS; i++) {
        size_t n = strlen(labels[i].label);
        if (strncmp(p, labels[i].label, n) != 0) continue;
        const char *value = strchr(p + n, ':');
        uint8_t *held = &out->label[gpu][labels[i].what];
        float v;
        if (!value || (*held && *held <= i + 1) || !number_in(value + 1, &v)) return;
        out->value[gpu][labels[i].what] = v;
        *held = (uint8_t)(i + 1);
        return;
    }
}

bool rs_smi_parse(const rs_json_text *text, int64_t rank, rs_smi_sample *out)
{
    readings all = {0};
    char line[MAX_LINE + 1];
    size_t used = 0;
    for (size_t i = 0; i <= text->length; i++) {
        uint8_t c = i < text->length ? text->bytes[i] : '\n';
        if (c == '\\' && i + 1 < text->length) {
            uint8_t next = text->bytes[++i];
            c = next == 'n' || next == 'r' ? '\n' : next == 't' ? '\t' : next;
        }
        if (c != '\n') {
            if (used < MAX_LINE) line[used++] = (char)c;
            continue;
        }
        line[used] = '\0';
        take_line(line, &all);
        used = 0;
    }
    for (int k = 0; k < RS_N_SMI; k++) out->value[k] = NAN;
    if (!all.n_gpus) return false;
    size_t gpu = (size_t)(rank < 0 ? 0 : rank) % all.n_gpus;
    bool any = false;
    for (int k = 0; k < RS_N_SMI; k++) {
        if (!all.label[gpu][k]) continue;
        out->value[k] = all.value[gpu][k];
        any = true;
    }
    return any;
}
