#include "trace/serving.h"

#include <string.h>

#include "base/ascii.h"
#include "trace/kernel_name.h"

const char *const rs_serving_phase_names[RS_N_SERVING_PHASES] = {"idle", "prefill", "decode", "mixed",
                                                                 "diffusion"};

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct text {
    const char *at, *end;
} text;

static bool take(text *t, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0) return false;
    t->at += n;
    return true;
}

static bool take_number(text *t, int64_t *out)
{
    const char *begin = t->at;
    int64_t value = 0;
    for (; t->at < t->end && rs_is_digit(*t->at); t->at++)
        value = value > (INT64_MAX - 9) / 10 ? INT64_MAX - 9 : value * 10 + (*t->at - '0');
    *out = value;
    return t->at > begin;
}

/* "key=" behind a blank or the bracket; its number. */
static bool find_number(text body, const char *key, int64_t *out)
{
    size_t n = strlen(key);
    for (const char *c = body.at; c + n < body.end; c++) {
        bool word = c == body.at || c[-1] == ' ';
        if (!word || memcmp(c, key, n) != 0 || c[n] != '=') continue;
        text number = {c + n + 1, body.end};
        return take_number(&number, out);
    }
    return false;
}

static void find_sums(text body, const char *prefix, rs_serving_sums *out, bool *detailed)
{
    static const char *const keys[] = {"sq", "sk", "sqsq", "sqsk"};
    int64_t *values[] = {&out->q, &out->k, &out->qq, &out->qk};
    for (int i = 0; i < 4; i++) {
        char key[16];
        size_t n = strlen(prefix);
        memcpy(key, prefix, n);
        strcpy(key + n, keys[i]);
        if (find_number(body, key, values[i]) && i >= 2) *detailed = true;
    }
}

/* ---- the formats --------------------------------------------------------------------------------------- */

/* "(sqAskBsqsqCsqskD)" */
static bool take_sums(text *t, rs_serving_sums *out)
{
    return take(t, "(sq") && take_number(t, &out->q) && take(t, "sk") && take_number(t, &out->k) &&
           take(t, "sqsq") && take_number(t, &out->qq) && take(t, "sqsk") && take_number(t, &out->qk) &&
           take(t, ")");
}

/* "(TOKENS)" or "(TOKENS_MORE)" */
static bool take_tokens(text *t, rs_serving_sums *out)
{
    int64_t more;
    return take(t, "(") && take_number(t, &out->q) && (!take(t, "_") || take_number(t, &more)) &&
           take(t, ")");
}

static bool parse_vllm_detailed(text t, rs_serving_step *s)
{
    int64_t tokens;
    s->detailed = true;
    return take(&t, "execute_") && take_number(&t, &tokens) && take(&t, "_context_") &&
           take_number(&t, &s->context.requests) && take_sums(&t, &s->context) && take(&t, "_generation_") &&
           take_number(&t, &s->generation.requests) && take_sums(&t, &s->generation);
}

static bool parse_vllm(text t, rs_serving_step *s)
{
    return take(&t, "execute_context_") && take_number(&t, &s->context.requests) &&
           take_tokens(&t, &s->context) && take(&t, "_generation_") &&
           take_number(&t, &s->generation.requests) && take_tokens(&t, &s->generation);
}

/* The older one counts requests and no tokens; a cached request computes one. */
static bool parse_vllm_old(text t, rs_serving_step *s)
{
    bool ok = take(&t, "execute_new_") && take_number(&t, &s->context.requests) && take(&t, "_cached_") &&
              take_number(&t, &s->generation.requests);
    s->generation.q = s->generation.requests;
    return ok;
}

/* From the bracket on to the last one. */
static bool take_body(text t, text *body)
{
    const char *end = t.end;
    while (end > t.at && end[-1] != ']') end--;
    if (end == t.at) return false;
    *body = (text){t.at, end - 1};
    return true;
}

static bool parse_sglang(text t, rs_serving_step *s)
{
    text body;
    int64_t batch = 0;
    if (!take(&t, "step[")) return false;
    bool extend = take(&t, "EXTEND"), decode = !extend && take(&t, "DECODE");
    bool mixed = !extend && !decode && take(&t, "MIXED");
    if ((!extend && !decode && !mixed) || !take_body(t, &body)) return false;
    if (body.at < body.end && *body.at != ' ') return false;
    find_number(body, "bs", &batch);
    find_sums(body, "c_", &s->context, &s->detailed);
    find_sums(body, "g_", &s->generation, &s->detailed);
    if (decode) {
        s->generation.requests = batch;
        if (!s->detailed) s->generation.q = batch;
        return true;
    }
    if (!s->detailed) find_number(body, "toks", &s->context.q);
    s->context.requests = batch;
    if (mixed && find_number(body, "c", &s->context.requests))
        find_number(body, "g", &s->generation.requests);
    return true;
}

static bool parse_atom(text t, rs_serving_step *s)
{
    text body;
    bool prefill = take(&t, "prefill["), decode = !prefill && take(&t, "decode[");
    if ((!prefill && !decode) || !take_body(t, &body)) return false;
    rs_serving_sums *sums = prefill ? &s->context : &s->generation;
    if (!find_number(body, "bs", &sums->requests)) return false;
    find_sums(body, "", sums, &s->detailed);
    find_number(body, "tok", &sums->q);
    return true;
}

/* A request in decode computes one token. */
static bool parse_tensorrt(text t, rs_serving_step *s)
{
    int64_t number;
    if (!take(&t, "[Executor] _forward_step") || (take(&t, " ") && !take_number(&t, &number))) return false;
    if (!take(&t, ": ") || !take_number(&t, &s->context.requests) || !take(&t, " ctx reqs, ")) return false;
    text tokens = t;
    if (take_number(&tokens, &number) && take(&tokens, " ctx tokens, ")) {
        s->context.q = number;
        t = tokens;
    }
    bool ok = take_number(&t, &s->generation.requests) && take(&t, " gen reqs");
    s->generation.q = s->generation.requests;
    return ok;
}

static bool parse_diffusion(text t, rs_serving_step *s)
{
    int64_t width, height;
    bool ok = take(&t, "execute_diffusion_") && take_number(&t, &s->generation.requests) && take(&t, "_") &&
              take_number(&t, &width) && take(&t, "x") && take_number(&t, &height);
    s->phase = RS_SERVING_DIFFUSION;
    return ok;
}

bool rs_serving_parse(const char *name, size_t length, rs_serving_step *out)
{
    static bool (*const formats[])(text, rs_serving_step *) = {
        parse_vllm_detailed, parse_vllm,     parse_vllm_old, parse_sglang,
        parse_atom,          parse_tensorrt, parse_diffusion};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        *out = (rs_serving_step){.phase = RS_SERVING_IDLE};
        if (!formats[i]((text){name, name + length}, out)) continue;
        if (out->phase == RS_SERVING_IDLE) {
            bool context = out->context.requests > 0, generation = out->generation.requests > 0;
            if (context) out->phase = generation ? RS_SERVING_MIXED : RS_SERVING_PREFILL;
            if (!context && generation) out->phase = RS_SERVING_DECODE;
        }
        return true;
    }
    return false;
}

/* ---- where nothing is annotated ------------------------------------------------------------------------ */

rs_serving_phase rs_serving_phase_of_kernel(const char *name, size_t length)
{
    /* vLLM and its AMD kernels, FlashInfer, SGLang's Triton, flash-attention, FlashMLA, TensorRT-LLM */
    static const struct {
        const char *words;
        rs_serving_phase phase;
    } attention[] = {
        {"bwd", RS_N_SERVING_PHASES},
        {"backward", RS_N_SERVING_PHASES},
        {"paged_attention", RS_SERVING_DECODE},
        {"batch_decode", RS_SERVING_DECODE},
        {"single_decode", RS_SERVING_DECODE},
        {"fwd_grouped_kernel_stage1", RS_SERVING_DECODE},
        {"fwd_kernel_stage1", RS_SERVING_DECODE},
        {"fwd_splitkv_mla", RS_SERVING_DECODE},
        {"masked_multihead_attention", RS_SERVING_DECODE},
        {"mla_decode", RS_SERVING_DECODE},
        {"batch_prefill", RS_SERVING_PREFILL},
        {"single_prefill", RS_SERVING_PREFILL},
        {"flash_fwd_kernel", RS_SERVING_PREFILL},
        {"context_attention", RS_SERVING_PREFILL},
        {"context_fmha", RS_SERVING_PREFILL},
    };
    char words[RS_KERNEL_WORDS];
    rs_kernel_words(name, length, words);
    for (size_t i = 0; i < sizeof attention / sizeof *attention; i++)
        if (rs_words_have(words, attention[i].words)) return attention[i].phase;
    return RS_SERVING_IDLE;
}
