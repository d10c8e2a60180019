/* The table of TraceLens' models. */
#include "peer/tracelens_models.h"

#include <math.h>
#include <string.h>

#include "peer/tracelens_arguments.h"

static const rs_tl_model *const tables[] = {rs_tl_models_matrix, rs_tl_models_elements};

const rs_tl_model *rs_tl_model_find(const char *name)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const rs_tl_model *m = tables[t]; m->name; m++)
            if (strcmp(m->name, name) == 0) return m;
    bool generated = strncmp(name, "triton_poi_", 11) == 0 || strncmp(name, "triton_red_", 11) == 0 ||
                     strncmp(name, "triton_per_", 11) == 0;
    return generated ? &rs_tl_model_triton : NULL;
}

const char *rs_tl_model_sheet(const rs_tl_model *model)
{
    return model->sheet;
}

/* In the order in which TraceLens' table of models first names each. */
const char *const rs_tl_sheet_names[] = {
    "GEMM",          "SDPA",   "CONV", "BinaryElementwise", "GroupedGEMM",
    "MoE_comm",      "SSM",    "RoPE", "CrossEntropy",      "UnaryElementwise",
    "Normalization", "Reduce", NULL};

bool rs_tl_sheet_is_split(const char *sheet)
{
    static const char *const whole[] = {"GEMM", "UnaryElementwise", "BinaryElementwise", "Normalization"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(whole[i], sheet) == 0) return false;
    return true;
}

rs_tl_outcome rs_tl_model_ask(const rs_tl_model *model, bool backward, const rs_tl_call *call,
                              rs_arena *arena, rs_tl_answer *out, bool *ok)
{
    rs_tl_arguments arguments;
    *out = (rs_tl_answer){.flops = (double)NAN, .bytes = (double)NAN};
    if (!rs_tl_arguments_read(call, arena, &arguments)) {
        *ok = false;
        return RS_TL_FAILED;
    }
    rs_tl_ask ask = {
        .model = model, .call = call, .a = &arguments, .arena = arena, .out = out, .backward = backward};
    model->answer(&ask);
    if (ask.no_memory) *ok = false;
    if (ask.undefined && !ask.bad) return RS_TL_UNDEFINED;
    return ask.bad || isnan(out->flops) ? RS_TL_FAILED : RS_TL_ANSWERED;
}
