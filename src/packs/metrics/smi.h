/* What rocm-smi printed into a record: temperatures, power, use and clocks of each GPU of the node. */
#pragma once

#include "input/json.h"

enum { RS_SMI_TEMPERATURE, RS_SMI_POWER, RS_SMI_USE, RS_SMI_CLOCK, RS_SMI_MEMORY, RS_N_SMI };

/* Columns of the readings: name and unit, "temperature_c". */
extern const char *const rs_smi_names[RS_N_SMI];

typedef struct rs_smi_sample {
    float value[RS_N_SMI]; /* NaN: not told. degrees C (junction, else edge), W, %, MHz (sclk), % of VRAM */
} rs_smi_sample;

/* Parses the text (a JSON string's inside) for one GPU: number local_rank modulo the GPUs listed. false when
 * nothing is told about any. */
bool rs_smi_parse(const rs_json_text *text, int64_t rank, rs_smi_sample *out);
