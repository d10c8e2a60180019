/* What the annotations of serving engines say of a step: vLLM, SGLang, TensorRT-LLM, ATOM, xDiT. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rs_serving_phase {
    RS_SERVING_IDLE, /* no requests */
    RS_SERVING_PREFILL,
    RS_SERVING_DECODE,
    RS_SERVING_MIXED,
    RS_SERVING_DIFFUSION,
    RS_N_SERVING_PHASES
} rs_serving_phase;

extern const char *const rs_serving_phase_names[RS_N_SERVING_PHASES];

/* Sums over the requests of one kind: tokens computed (q), tokens attended to (k), their squares and
 * products, from which attention's work follows. */
typedef struct rs_serving_sums {
    int64_t requests, q, k, qq, qk;
} rs_serving_sums;

typedef struct rs_serving_step {
    rs_serving_phase phase;
    bool detailed;                       /* k, qq and qk are told */
    rs_serving_sums context, generation; /* prefill and decode */
} rs_serving_step;

/* Whether an annotation tells a step of serving, and what it says:
 *
 *     execute_N_context_C(sqAskBsqsqCsqskD)_generation_G(sq..sk..sqsq..sqsk..)     vLLM, detailed
 *     execute_context_C(TOKENS)_generation_G(TOKENS)    also C(TOKENS_MORE)         vLLM
 *     execute_new_C_cached_G                                                        vLLM, older
 *     step[EXTEND|DECODE|MIXED bs=B toks=T c=C g=G c_sq=.. g_sqsk=..]               SGLang
 *     prefill[bs=B tok=T ctx=[..] sqsq=..]   decode[bs=B/PADDED tok=T ..]           ATOM
 *     [Executor] _forward_step [N]: C ctx reqs, [T ctx tokens,] G gen reqs          TensorRT-LLM
 *     execute_diffusion_B_WxH                                                       xDiT
 *
 * Numbers that do not fit are held at the largest. */
bool rs_serving_parse(const char *name, size_t length, rs_serving_step *out);

/* The phase that a kernel's name shows by its kind of attention: RS_SERVING_PREFILL or RS_SERVING_DECODE; RS_SERVING_IDLE: neither, or
 * kernels that both use; RS_N_SERVING_PHASES: of a backward pass, so that nothing is served. For steps that no annotation describes. */
rs_serving_phase rs_serving_phase_of_kernel(const char *name, size_t length);
