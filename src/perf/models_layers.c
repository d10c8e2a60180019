/* Normalisation, softmax, losses, rows by index, rotary positions, short convolutions of state space models.
 */
#include "perf/models_internal.h"

/* ---- normalisation ------------------------------------------------------------------------------------- */

/* Places: weight, bias (-1: none), FLOPs an element for statistics and normalising, the same where nothing is
 * measured, the flag that says whether something is (-1: always), whether running statistics (3 and 4) are
 * written. */
enum { P_WEIGHT, P_BIAS, P_FULL, P_FOLDED, P_TRAINING, P_RUNNING };

static void normalise(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *x = rs_need(ask, 0, 0);
    if (ask->bad) return;
    rs_require(ask, p[P_TRAINING] < 0 || ask->a->has_values);
    bool measures = p[P_TRAINING] < 0 || rs_value_is(ask, p[P_TRAINING], "True");
    int64_t n = rs_elements(ask, x), flops = measures ? p[P_FULL] : p[P_FOLDED];
    if (measures && rs_is_present(ask, p[P_WEIGHT])) flops++;
    if (measures && rs_is_present(ask, p[P_BIAS])) flops++;
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, n, flops));
    rs_add_all_operands(ask);
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(x->type)));
    if (p[P_RUNNING] && measures) {
        rs_add_operand(ask, 3);
        rs_add_operand(ask, 4);
    }
}

/* Places: x, weight, mask (-1: all three), the flag of training (-1: always), FLOPs an element for the
 * gradients of the input, of the weight and of the bias, whether the weight adds one to the first. */
enum { B_X, B_WEIGHT, B_MASK, B_TRAINING, B_INPUT, B_SCALE, B_SHIFT };

static void normalise_backward(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *x = rs_need(ask, p[B_X], 0);
    bool mask[3] = {true, true, p[B_SHIFT] > 0}, training = true;
    if (ask->bad) return;
    if (p[B_MASK] >= 0) {
        bool told[3] = {false};
        rs_require(ask, rs_value_mask(ask, p[B_MASK], told, 3) >= 2);
        for (unsigned i = 0; i < 3; i++) mask[i] = told[i];
    }
    if (p[B_TRAINING] >= 0) training = rs_value_is(ask, p[B_TRAINING], "True");
    int64_t n = rs_elements(ask, x), flops = 0, weight = 0;
    bool weighted = rs_is_present(ask, p[B_WEIGHT]);
    if (weighted) weight = rs_elements(ask, &ask->a->items[p[B_WEIGHT]]);
    if (mask[0]) flops += training ? p[B_INPUT] + weighted : 1;
    if (mask[1]) flops += training ? p[B_SCALE] : 4;
    if (mask[2]) flops += 1;
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, n, flops));
    rs_add_all_operands(ask);
    if (mask[0]) rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(x->type)));
    for (unsigned i = 1; i < 3; i++)
        if (mask[i] && weighted)
            rs_add_bytes(ask, rs_times(ask, weight, rs_dtype_bytes(ask->a->items[p[B_WEIGHT]].type)));
}

/* x, which is the argument of that place, and the arguments up to it are read and written; FLOPs an
 * element of it. The weight behind them is read. */
static void normalise_rows(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *x = rs_need(ask, p[0], 0);
    if (ask->bad) return;
    rs_add_all_operands(ask);
    for (int i = 0; p[2] && i <= p[0]; i++) rs_add_operand(ask, i);
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, x), p[1]));
    rs_set_type(ask, x->type);
}

/* ---- softmax ------------------------------------------------------------------------------------------- */

static void soften(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 0);
    if (ask->bad) return;
    int64_t n = rs_elements(ask, x);
    rs_dtype type = rs_value_is(ask, 2, "True") ? rs_dtype_of("float") : x->type;
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, n, 5));
    rs_add_bytes(ask, rs_bytes_of(ask, x));
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(type)));
}

/* gradient, result, dimension, type of the input */
static void soften_backward(rs_ask *ask)
{
    const rs_argument *grad = rs_need(ask, 0, 0);
    rs_need(ask, 1, 0);
    if (ask->bad) return;
    int64_t n = rs_elements(ask, grad);
    rs_set_type(ask, grad->type);
    rs_add_vector(ask, rs_times(ask, n, 4));
    for (int i = 0; i < 2; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(rs_value_type_code(ask, 3, grad->type))));
}

/* ---- losses -------------------------------------------------------------------------------------------- */

/* logits, target, weight, reduction: one logit a row is touched; the total weight comes out next to the loss.
 */
static void lose_likelihood(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 0), *target = rs_need(ask, 1, 0);
    rs_require(ask, !rs_value_is_empty(ask, 3));
    if (ask->bad) return;
    int64_t n = rs_elements(ask, target), size = rs_dtype_bytes(x->type);
    rs_require(ask, x->n_dims == target->n_dims + 1u);
    rs_set_type(ask, x->type);
    rs_add_vector(ask, n);
    rs_add_bytes(ask, rs_times(ask, n, size));
    rs_add_operand(ask, 1);
    rs_add_operand(ask, 2);
    rs_add_bytes(ask, rs_times(ask, rs_value_is(ask, 3, "0") ? n : 1, size));
    rs_add_bytes(ask, size);
}

/* gradient, logits, target, weight, reduction, ignored, total weight: the logits' shape alone counts, and the
 * whole gradient is written. */
static void lose_likelihood_backward(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 1, 0), *target = rs_need(ask, 2, 0);
    if (ask->bad) return;
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_elements(ask, target));
    rs_add_operand(ask, 0);
    for (int i = 2; i < 7; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, rs_elements(ask, x), rs_dtype_bytes(x->type)));
}

/* Places: how many tensors lead, where the reduction stands, whether it is the backward pass. */
static void lose_squares(rs_ask *ask)
{
    const int8_t *p = ask->row->p;
    const rs_argument *x = rs_need(ask, p[2] ? 1 : 0, 0);
    rs_require(ask, !rs_value_is_empty(ask, p[1]));
    if (ask->bad) return;
    bool each = p[2] || rs_value_is(ask, p[1], "0");
    int64_t n = rs_elements(ask, x);
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, n, each && !p[2] ? 2 : 3));
    for (int i = 0; i < p[0]; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, each ? n : 1, rs_dtype_bytes(x->type)));
}

/* Logits with all rows, target; a loss of four bytes a row comes out. */
static void lose_entropy(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 0), *target = rs_need(ask, 1, 0);
    if (ask->bad) return;
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, x), 5));
    rs_add_operand(ask, 0);
    rs_add_operand(ask, 1);
    rs_add_bytes(ask, rs_times(ask, rs_elements(ask, target), 4));
}

/* ---- rows by index ------------------------------------------------------------------------------------- */

/* table, ids: the rows, not the table */
static void look_up(rs_ask *ask)
{
    const rs_argument *table = rs_need(ask, 0, 2);
    rs_require(ask, rs_is_tensor(ask, 1));
    if (ask->bad) return;
    int64_t rows = rs_times(ask, rs_elements(ask, &ask->a->items[1]), table->dims[1]);
    rs_set_type(ask, table->type);
    rs_add_operand(ask, 1);
    rs_add_bytes(ask, rs_times(ask, 2, rs_times(ask, rows, rs_dtype_bytes(table->type))));
}

/* gradient, ids, rows of the table: all of it is written */
static void look_up_backward(rs_ask *ask)
{
    const rs_argument *grad = rs_need(ask, 0, 0);
    int64_t rows = 0;
    rs_require(ask, rs_is_tensor(ask, 1) && rs_value_int(ask, 2, &rows) && rows >= 0);
    if (ask->bad) return;
    rs_set_type(ask, grad->type);
    rs_add_vector(ask, rs_elements(ask, grad));
    rs_add_operand(ask, 0);
    rs_add_operand(ask, 1);
    int64_t width = grad->dims[grad->n_dims - 1];
    rs_add_bytes(ask, rs_times(ask, rs_times(ask, rows, width), rs_dtype_bytes(grad->type)));
}

/* x, dimension, ids. Places: whether each id names one element, not a slice. */
static void pick(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 0);
    int64_t dim;
    rs_require(ask, rs_is_tensor(ask, 2) && rs_value_int(ask, 1, &dim));
    if (ask->bad) return;
    if (dim < 0) dim += x->n_dims;
    rs_require(ask, dim >= 0 && dim < x->n_dims);
    if (ask->bad) return;
    int64_t n = rs_elements(ask, &ask->a->items[2]);
    for (size_t i = 0; !ask->row->p[0] && i < x->n_dims; i++)
        if ((int64_t)i != dim) n = rs_times(ask, n, x->dims[i]);
    rs_set_type(ask, x->type);
    rs_add_operand(ask, 2);
    rs_add_bytes(ask, rs_times(ask, 2, rs_times(ask, n, rs_dtype_bytes(x->type))));
}

/* ---- positions and short convolutions ------------------------------------------------------------------ */

/* Three FLOPs an element of what is turned, which is read and written. */
static void turn_one(rs_ask *ask, int i)
{
    const rs_argument *x = rs_need(ask, i, 0);
    if (ask->bad) return;
    rs_add_vector(ask, rs_times(ask, rs_elements(ask, x), 3));
    rs_add_operand(ask, i);
    rs_add_operand(ask, i);
    rs_set_type(ask, x->type);
}

/* x, angles */
static void turn(rs_ask *ask)
{
    turn_one(ask, 0);
    rs_add_operand(ask, 1);
}

/* positions, q, k, size of a head, table of cosines and sines: one row of it for each position */
static void turn_by_position(rs_ask *ask)
{
    const rs_argument *table = rs_need(ask, 4, 2);
    turn_one(ask, 2);
    turn_one(ask, 1);
    rs_require(ask, rs_is_tensor(ask, 0));
    if (ask->bad) return;
    rs_add_operand(ask, 0);
    int64_t rows = rs_times(ask, rs_elements(ask, &ask->a->items[0]), table->dims[1]);
    rs_add_bytes(ask, rs_times(ask, rows, rs_dtype_bytes(table->type)));
}

/* x (B, C, L), w (C, K) */
static void convolve_causally(rs_ask *ask)
{
    const rs_argument *x = rs_need(ask, 0, 3), *w = rs_need(ask, 1, 2);
    rs_require(ask, w->dims[0] == x->dims[1]);
    if (ask->bad) return;
    int64_t n = rs_elements(ask, x);
    rs_set_type(ask, x->type);
    rs_add_vector(ask, rs_times(ask, rs_times(ask, 2, n), w->dims[1]));
    for (int i = 0; i < 3; i++) rs_add_operand(ask, i);
    rs_add_bytes(ask, rs_times(ask, n, rs_dtype_bytes(x->type)));
}

#define NORM "normalisation"
#define NORM_BACKWARD "normalisation backward"
const rs_model_row rs_models_layers[] = {
    {"aten::layer_norm", NORM, normalise, 0, {2, 3, 6, 0, -1, 0}, NULL},
    {"aten::native_layer_norm", NORM, normalise, 0, {2, 3, 6, 0, -1, 0}, NULL},
    {"aten::group_norm", NORM, normalise, 0, {2, 3, 6, 0, -1, 0}, NULL},
    {"aten::native_group_norm", NORM, normalise, 0, {1, 2, 6, 0, -1, 0}, NULL},
    {"aten::instance_norm", NORM, normalise, 0, {1, 2, 6, 0, -1, 0}, NULL},
    {"aten::batch_norm", NORM, normalise, 0, {1, 2, 6, 2, 5, 1}, NULL},
    {"aten::native_batch_norm", NORM, normalise, 0, {1, 2, 6, 2, 5, 1}, NULL},
    {"aten::cudnn_batch_norm", NORM, normalise, 0, {1, 2, 6, 2, 5, 1}, NULL},
    {"aten::miopen_batch_norm", NORM, normalise, 0, {1, 2, 6, 2, 5, 1}, NULL},
    {"aten::rms_norm", NORM, normalise, 0, {2, -1, 3, 0, -1, 0}, NULL},
    {"aten::_fused_rms_norm", NORM, normalise, 0, {2, -1, 3, 0, -1, 0}, NULL},
    {"aten::native_layer_norm_backward", NORM_BACKWARD, normalise_backward, 0, {1, 5, 7, -1, 9, 2, 1}, NULL},
    {"aten::native_batch_norm_backward", NORM_BACKWARD, normalise_backward, 0, {1, 2, 9, 7, 9, 2, 1}, NULL},
    {"aten::native_group_norm_backward", NORM_BACKWARD, normalise_backward, 0, {1, 4, 9, -1, 9, 2, 1}, NULL},
    {"aten::_fused_rms_norm_backward", NORM_BACKWARD, normalise_backward, 0, {1, 4, 5, -1, 7, 2, 0}, NULL},
    {"aten::cudnn_batch_norm_backward", NORM_BACKWARD, normalise_backward, 0, {0, 2, -1, -1, 9, 2, 1}, NULL},
    {"aten::miopen_batch_norm_backward", NORM_BACKWARD, normalise_backward, 0, {0, 2, -1, -1, 9, 2, 1}, NULL},
    {"_C::rms_norm", NORM, normalise_rows, 0, {1, 4, 0}, NULL},
    {"_C::fused_add_rms_norm", NORM, normalise_rows, 0, {1, 5, 1}, NULL},
    {"sgl_kernel::fused_add_rmsnorm", NORM, normalise_rows, 0, {1, 5, 1}, NULL},
    {"sgl_kernel::gemma_fused_add_rmsnorm", NORM, normalise_rows, 0, {1, 6, 1}, NULL},
    {"aten::_softmax", "softmax", soften, 0, {0}, NULL},
    {"aten::_log_softmax", "softmax", soften, 0, {0}, NULL},
    {"aten::_softmax_backward_data", "softmax backward", soften_backward, 0, {0}, NULL},
    {"aten::_log_softmax_backward_data", "softmax backward", soften_backward, 0, {0}, NULL},
    {"aten::nll_loss_forward", "loss", lose_likelihood, 0, {0}, NULL},
    {"aten::nll_loss_backward", "loss backward", lose_likelihood_backward, 0, {0}, NULL},
    {"aten::mse_loss", "loss", lose_squares, 0, {2, 2, 0}, NULL},
    {"aten::mse_loss_backward", "loss backward", lose_squares, 0, {3, 3, 1}, NULL},
    {"CrossEntropyFunction", "loss", lose_entropy, 0, {0}, NULL},
    {"aten::embedding", "embedding", look_up, 0, {0}, NULL},
    {"aten::embedding_dense_backward", "embedding backward", look_up_backward, 0, {0}, NULL},
    {"aten::index_select", "embedding", pick, 0, {0}, NULL},
    {"aten::gather", "embedding", pick, 0, {1}, NULL},
    {"FusedRoPEFunc", "rope", turn, 0, {0}, "FusedRoPEFunc"},
    {"_C::rotary_embedding", "rope", turn_by_position, 0, {0}, NULL},
    {"sgl_kernel::rotary_embedding", "rope", turn_by_position, 0, {0}, NULL},
    {"causal_conv1d_fwd", "ssm", convolve_causally, 0, {0}, NULL},
    {"DaoAILab::_causal_conv1d_fwd_cpp", "ssm", convolve_causally, 0, {0}, NULL},
    {NULL, NULL, NULL, 0, {0}, NULL},
};
