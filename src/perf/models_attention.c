/* Attention: scores of queries with keys, and their sums over values. */
#include "perf/models_internal.h"

/* ---- pairs that are not masked ------------------------------------------------------------------------- */

typedef __int128 wide;

/* The sum over t < m of t held between 0 and top. */
static wide clamped_sum(wide m, wide top)
{
    if (m <= 0) return 0;
    if (m <= top + 1) return m * (m - 1) / 2;
    return top * (top + 1) / 2 + (m - 1 - top) * top;
}

/* Windows: what a query sees to the left and right of its place; -1: all. */
typedef struct window {
    int64_t left, right;
    bool at_end; /* the last query's place is the last key, not the first query's the first key */
} window;

/* Query i sees the keys from i + offset - left to i + offset + right, as far as there are such: the number
 * of keys up to the right border less those before the left one, both summed in closed form. */
static int64_t count_pairs(rs_ask *ask, int64_t n_q, int64_t n_k, const window *w)
{
    const int64_t limit = INT64_C(1) << 31;
    rs_require(ask,
               n_q >= 0 && n_q < limit && n_k >= 0 && n_k < limit && w->left < limit && w->right < limit);
    if (ask->bad) return 0;
    wide offset = w->at_end ? n_k - n_q : 0, pairs = (wide)n_q * n_k;
    if (w->right >= 0) {
        wide from = offset + w->right + 1;
        pairs = clamped_sum(from + n_q, n_k) - clamped_sum(from, n_k);
    }
    if (w->left >= 0) {
        wide from = offset - w->left;
        pairs -= clamped_sum(from + n_q, n_k) - clamped_sum(from, n_k);
    }
    rs_require(ask, pairs <= INT64_MAX);
    return pairs < 0 || ask->bad ? 0 : (int64_t)pairs;
}

/* ---- the operators ------------------------------------------------------------------------------------- */

typedef enum layout { HEADS_FIRST, TOKENS_FIRST, PACKED } layout; /* b h n d, b n h d, t h d */

/* Places: query, layout, causal, whether places count from the end, bias (-1: none), the window (-1: none),
 * whether it is the backward pass, the first of the lengths' arguments (packed), and of the greatest lengths (0: two
 * behind it). */
enum { P_QUERY, P_LAYOUT, P_CAUSAL, P_AT_END, P_BIAS, P_WINDOW, P_BACKWARD, P_LENGTHS, P_LONGEST };

typedef struct attention {
    const rs_argument *q, *k, *v;
    int64_t batch, heads, n_q, n_k, depth_k, depth_v;
} attention;

static attention measure(rs_ask *ask, int first, layout how)
{
    unsigned dims = how == PACKED ? 3 : 4;
    attention a = {.q = rs_need(ask, first, dims),
                   .k = rs_need(ask, first + 1, dims),
                   .v = rs_need(ask, first + 2, dims)};
    if (ask->bad) return a;
    unsigned h = how == TOKENS_FIRST ? 2 : 1, n = how == TOKENS_FIRST ? 1 : how == HEADS_FIRST ? 2 : 0;
    a.batch = how == PACKED ? 1 : a.q->dims[0];
    a.heads = a.q->dims[h];
    a.n_q = a.q->dims[n];
    a.n_k = a.k->dims[n];
    a.depth_k = a.q->dims[dims - 1];
    a.depth_v = a.v->dims[dims - 1];
    int64_t shared = a.k->dims[h]; /* heads of keys and values, each for several of the queries */
    rs_require(ask, a.k->dims[dims - 1] == a.depth_k && a.v->dims[n] == a.n_k && a.v->dims[h] == shared &&
                        shared > 0 && a.heads % shared == 0);
    rs_require(ask, how == PACKED || (a.k->dims[0] == a.batch && a.v->dims[0] == a.batch));
    return a;
}

static window window_of(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    window w = {-1, -1, p[P_AT_END]};
    int64_t both[2];
    /* without recorded values it is unknown what is masked */
    rs_require(ask, ask->a->has_values);
    if (p[P_WINDOW] >= 0) {
        if (rs_value_list(ask, p[P_WINDOW], both, 2) == 2) {
            w.left = both[0];
            w.right = both[1];
        } else {
            if (!rs_value_int(ask, p[P_WINDOW], &w.left)) w.left = -1;
            if (!rs_value_int(ask, p[P_WINDOW] + 1, &w.right)) w.right = -1;
        }
    }
    if (rs_value_is(ask, p[P_CAUSAL], "True")) w.right = 0;
    return w;
}

static void add_work(rs_ask *ask, const attention *a, int64_t pairs)
{
    const int8_t *p = ask->row->p;
    int64_t one = rs_times(ask, 2, rs_times(ask, rs_times(ask, a->batch, a->heads), pairs));
    int64_t out = rs_times(ask, rs_times(ask, a->batch, a->heads), rs_times(ask, a->n_q, a->depth_v));
    int64_t size = rs_dtype_bytes(a->q->type), k = rs_times(ask, one, a->depth_k),
            v = rs_times(ask, one, a->depth_v);
    rs_set_type(ask, a->q->type);
    /* forward: scores, sums; backward: scores again, and the gradients of v, scores, q and k */
    rs_add_matrix(ask, rs_times(ask, k, p[P_BACKWARD] ? 3 : 1));
    rs_add_matrix(ask, rs_times(ask, v, p[P_BACKWARD] ? 2 : 1));
    if (p[P_BACKWARD]) ask->out->repeated = k;
    for (int i = 0; i < (p[P_BACKWARD] ? 2 : 1); i++) {
        for (int t = 0; t < 3; t++) rs_add_operand(ask, p[P_QUERY] + t);
        rs_add_bytes(ask, rs_times(ask, out, size));
    }
    if (p[P_BIAS] >= 0) rs_add_operand(ask, p[P_BIAS]);
}

static void attend(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    attention a = measure(ask, p[P_QUERY], (layout)p[P_LAYOUT]);
    window w = window_of(ask);
    if (ask->bad) return;
    add_work(ask, &a, count_pairs(ask, a.n_q, a.n_k, &w));
}

/* Of sequences in one tensor the trace has all tokens, the number of sequences and the longest. The least
 * work that fits: one is the longest, the others are as equal as can be. */
static int64_t count_packed(rs_ask *ask, const attention *a, const window *w)
{
    const int place = (int)ask->row->p[P_LENGTHS]; /* -1: none */
    const rs_argument *ends = rs_need(ask, place, 1);
    int64_t n = ends->dims[0] - 1, max_q, max_k;
    if (ask->bad || n < 1) ask->bad = true;
    if (ask->bad) return 0;
    if (n == 1) return count_pairs(ask, a->n_q, a->n_k, w);
    ask->out->lower = true;
    const int longest = ask->row->p[P_LONGEST] ? ask->row->p[P_LONGEST] : place + 2;
    rs_require(ask, rs_value_int(ask, longest, &max_q) && rs_value_int(ask, longest + 1, &max_k));
    if (ask->bad) return 0;
    rs_require(ask, max_q >= 0 && max_k >= 0 && max_q <= a->n_q && max_k <= a->n_k);
    if (ask->bad) return 0;
    int64_t rest_q = a->n_q - max_q, rest_k = a->n_k - max_k, others = n - 1;
    int64_t longer_q = rest_q % others, longer_k = rest_k % others; /* so many have one token more */
    int64_t both = longer_q < longer_k ? longer_q : longer_k;
    int64_t one = longer_q > longer_k ? longer_q - both : longer_k - both;
    int64_t q = rest_q / others, k = rest_k / others;
    int64_t pairs = count_pairs(ask, max_q, max_k, w);
    const int64_t counts[3] = {both, one, others - both - one};
    const int64_t qs[3] = {q + 1, longer_q > longer_k ? q + 1 : q, q};
    const int64_t ks[3] = {k + 1, longer_k > longer_q ? k + 1 : k, k};
    for (unsigned i = 0; i < 3; i++) {
        int64_t part = rs_times(ask, counts[i], count_pairs(ask, qs[i], ks[i], w));
        if (__builtin_add_overflow(pairs, part, &pairs)) ask->bad = true;
    }
    return pairs;
}

static void attend_packed(rs_ask *ask)
{
    attention a = measure(ask, ask->row->p[P_QUERY], PACKED);
    window w = window_of(ask);
    if (ask->bad) return;
    add_work(ask, &a, count_packed(ask, &a, &w));
}

/* vLLM's operator reads keys of a cache where it has a block table, and fewer keys than there are where it is given
 * how many are in use: then the lengths are not in the arguments. */
static void attend_uncached(rs_ask *ask)
{
    enum { IN_USE = 6, BLOCK_TABLE = 8 };
    rs_require(ask, !rs_is_present(ask, IN_USE) && !rs_is_present(ask, BLOCK_TABLE));
    if (!ask->bad) attend_packed(ask);
}

/* The inner operator of one kind of attention says by number what it masks: nothing, or places from the
 * start or from the end. */
static void attend_by_mask(rs_ask *ask)
{
    attention a = measure(ask, ask->row->p[P_QUERY], TOKENS_FIRST);
    int64_t mask;
    rs_require(ask, rs_value_int(ask, ask->row->p[P_CAUSAL], &mask));
    if (ask->bad) return;
    window w = {-1, mask ? 0 : -1, mask == 2};
    add_work(ask, &a, count_pairs(ask, a.n_q, a.n_k, &w));
}

/* The inner operator of flash attention takes packed sequences where it is given their ends. */
static void attend_inner(rs_ask *ask)
{
    if (rs_is_present(ask, ask->row->p[P_LENGTHS]))
        attend_packed(ask);
    else
        attend(ask);
}

#define SDPA "aten::_scaled_dot_product_"
#define FORWARD "attention"
#define BACKWARD "attention backward"
const rs_model_row rs_models_attention[] = {
    {SDPA "flash_attention", FORWARD, attend, 0, {0, HEADS_FIRST, 4, 0, -1, -1, 0}, NULL},
    {SDPA "efficient_attention", FORWARD, attend, 0, {0, HEADS_FIRST, 6, 0, 3, -1, 0}, NULL},
    {SDPA "cudnn_attention", FORWARD, attend, 0, {0, HEADS_FIRST, 6, 0, 3, -1, 0}, NULL},
    {SDPA "fused_attention_overrideable", FORWARD, attend, 0, {0, HEADS_FIRST, 5, 0, 3, -1, 0}, NULL},
    {SDPA "flash_attention_backward", BACKWARD, attend, 0, {1, HEADS_FIRST, 11, 0, -1, -1, 1}, NULL},
    {SDPA "efficient_attention_backward", BACKWARD, attend, 0, {1, HEADS_FIRST, 11, 0, 4, -1, 1}, NULL},
    {SDPA "cudnn_attention_backward", BACKWARD, attend, 0, {1, HEADS_FIRST, 14, 0, 8, -1, 1}, NULL},
    {"flash_attn::_flash_attn_forward", FORWARD, attend, 0, {0, TOKENS_FIRST, 5, 1, -1, 6, 0}, NULL},
    {"aiter::_flash_attn_forward", FORWARD, attend, 0, {0, TOKENS_FIRST, 5, 1, -1, 6, 0}, NULL},
    {"aiter::mha_fwd", FORWARD, attend, 0, {0, TOKENS_FIRST, 5, 1, -1, 6, 0}, NULL},
    {"aiter::fmha_v3_fwd", FORWARD, attend, 0, {0, TOKENS_FIRST, 5, 1, -1, 6, 0}, NULL},
    {"FlashAttnFunc", FORWARD, attend, 0, {0, TOKENS_FIRST, 5, 1, -1, 6, 0}, "FlashAttnFunc's gradient"},
    {"FlashAttnFunc's gradient", BACKWARD, attend, 0, {0, TOKENS_FIRST, 5, 1, -1, 6, 1}, NULL},
    {"flash_attn::_flash_attn_backward", BACKWARD, attend, 0, {1, TOKENS_FIRST, 11, 1, -1, 12, 1}, NULL},
    {"flash_attn::_flash_attn_varlen_forward",
     FORWARD,
     attend_packed,
     0,
     {0, PACKED, 9, 1, -1, 10, 0, 3},
     NULL},
    {"flash_attn::_flash_attn_varlen_backward",
     BACKWARD,
     attend_packed,
     0,
     {1, PACKED, 15, 1, -1, 16, 1, 9},
     NULL},
    {"_vllm_fa2_C::varlen_fwd", FORWARD, attend_uncached, 0, {0, PACKED, 15, 1, -1, 16, 0, 4, 10}, NULL},
    {"aten::_flash_attention_forward",
     FORWARD,
     attend_inner,
     RS_MODEL_FALLBACK,
     {0, TOKENS_FIRST, 8, 1, -1, -1, 0, 3},
     NULL},
    {"aten::_efficient_attention_forward",
     FORWARD,
     attend_by_mask,
     RS_MODEL_FALLBACK,
     {0, TOKENS_FIRST, 9, 1, 3, -1, 0},
     NULL},
    {NULL, NULL, NULL, 0, {0}, NULL},
};
