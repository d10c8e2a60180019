/* The network: a transformer, its forward, backward and optimizer as PyTorch would launch them. */
#include "model.h"

#include <stdio.h>

#define MULTIPROCESSORS 132

/* Small products are less efficient. A library's kernel makes tiles of 128 x 128 in waves, as many at once as there are multiprocessors, and
 * a wave that is not full takes as long; here half of that loss remains, as libraries have smaller tiles for it. Each tile also fills
 * its pipeline first, for as long as 96 of its k turns take. What kernel is chosen for a shape makes up to 2 % either way. In parts in a million. */
static int64_t inefficiency(int64_t m, int64_t n, int64_t k)
{
    int64_t tiles = ((m + 127) / 128) * ((n + 127) / 128),
            waves = (tiles + MULTIPROCESSORS - 1) / MULTIPROCESSORS;
    int64_t full = tiles * 1000 / MULTIPROCESSORS + 1, loss = (waves * 1000 + full + 350) * 500 / full;
    int64_t chosen = 980 + (int64_t)(mix((uint64_t)m ^ mix((uint64_t)n ^ mix((uint64_t)k))) % 41);
    return loss * (1000 + 96 * 1000 / k) / 1000 * chosen;
}

/* 380 teraflop a second and a fixed cost; 1 ns is 380000 operations. */
int64_t gemm_time(const builder *b, int64_t m, int64_t n, int64_t k)
{
    int64_t growing = 2 * m * n / 1000 * k / 380;
    return 2300 + (b->j->opt.efficiency ? growing / 1000 * inefficiency(m, n, k) / 1000 : growing);
}

/* Reading and writing bytes at 2.4 TB/s. */
static int64_t stream_time(int64_t bytes)
{
    return 1700 + bytes / 2400;
}

int find_group(const builder *b, int kind, int peer)
{
    for (int i = 0; i < b->r->group_count; i++) {
        const group *g = &b->j->groups[b->r->groups[i]];
        if (g->kind != kind) continue;
        if (kind != GROUP_PAIR || g->ranks[0] == peer || g->ranks[1] == peer) return b->r->groups[i];
    }
    return -1;
}

static const char GEMM_TN[] =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
    "kernel__5x_cublas";
static const char GEMM_NN[] =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
    "kernel__5x_cublas";
static const char GEMM_NT[] =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
    "kernel__5x_cublas";
static const char GEMM_HIP_TN[] =
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0_AFC1_AFEM1_AFEM1_ASEM1";
static const char GEMM_HIP_NN[] =
    "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0_AFC1_AFEM1_AFEM1_ASEM1";
static const char GEMM_HIP_NT[] =
    "Cijk_Ailk_Bjlk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0_AFC1_AFEM1_AFEM1_ASEM1";
static const char ADD_KERNEL[] =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
static const char GELU_KERNEL[] =
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() "
    "const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, "
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}::operator()() "
    "const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)";
static const char GELU_BACKWARD_KERNEL[] =
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}::operator()"
    "() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}, std::array<char*, "
    "3ul> "
    ">(int, std::array<char*, 3ul>)";
static const char NORM_KERNEL[] =
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
    "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)";
static const char NORM_BACKWARD_KERNEL[] =
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, "
    "float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
    "c10::BFloat16*, int)";
static const char NORM_GAMMA_KERNEL[] =
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel_32x32<c10::BFloat16, float>(long, "
    "long, "
    "c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)";
static const char FLASH_KERNEL[] =
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
    "cutlass::bfloat16_t>, false, true, false, false, true, true, "
    "false>(pytorch_flash::Flash_fwd_params)";
static const char FLASH_BACKWARD_KERNEL[] =
    "void "
    "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, "
    "4, 2, "
    "false, false, cutlass::bfloat16_t>, false, true, false, false, true, "
    "true>(pytorch_flash::Flash_bwd_params)";
static const char REDUCE_KERNEL[] =
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
    "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
    "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
    "c10::BFloat16, 4, 4> "
    ">(at::native::ReduceOp<c10::BFloat16, unsigned int, 4>)";
static const char ADAMW_KERNEL[] =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
    "namespace)::FusedAdamMathFunctor<c10::BFloat16, 4, (at::native::ADAM_MODE)1, false>, float const*, "
    "double, "
    "double, double, double, double, bool, float*, float*>(at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, float const*, double, double, double, double, double, "
    "bool, "
    "float*, float*)";
static const char NLL_KERNEL[] =
    "void (anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, (anonymous "
    "namespace)::LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)";
static const char NLL_BACKWARD_KERNEL[] =
    "void (anonymous namespace)::cunn_SoftMaxBackward<8, float, float, c10::BFloat16, (anonymous "
    "namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float const*, long)";
static const char EMBED_KERNEL[] =
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, "
    "-2, "
    "true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, "
    "at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<long "
    "const, "
    "unsigned int>, int, int, unsigned int, unsigned int, long)";
static const char EMBED_BACKWARD_KERNEL[] =
    "void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, float, long>(long const*, "
    "c10::BFloat16 const*, long const*, long, float*)";
static const char MUL_KERNEL[] =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, "
    "c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> "
    ">(int, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>)";
static const char CAST_KERNEL[] =
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
    "::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, "
    "std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned "
    "int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)";
static const char FUSED_KERNEL[] = "triton_poi_fused__to_copy_mul_1";
static const char TRITON_KERNEL[] = "triton_poi_fused_add_native_dropout_0";

static void gemm(builder *b, int layout, int64_t m, int64_t n, int64_t k)
{
    const char *cuda[] = {GEMM_TN, GEMM_NN, GEMM_NT}, *hip[] = {GEMM_HIP_TN, GEMM_HIP_NN, GEMM_HIP_NT};
    int64_t blocks = ((m + 127) / 128) * ((n + 127) / 128);
    launch(b, b->j->opt.rocm ? hip[layout] : cuda[layout], gemm_time(b, m, n, k), blocks, 384);
}

/* Forward of y = x W + bias; two sequence numbers, for the transposed weight and the product. */
static void linear_forward(builder *b, int64_t n, int64_t k)
{
    int slot = b->code->slots;
    b->code->slots += 2;
    frame_push(b, "torch/nn/modules/linear.py(124): forward");
    op_push(b, "aten::linear", slot, 3, (argument[]){TENSOR3(1, TOKENS, k), TENSOR2(n, k), TENSOR1(n)});
    op_push(b, "aten::t", slot, 1, (argument[]){TENSOR2(n, k)});
    op_push(b, "aten::transpose", slot, 3, (argument[]){TENSOR2(n, k), SCALAR("0"), SCALAR("1")});
    pop(b, 2);
    op_push(b, "aten::addmm", slot + 1, 5,
            (argument[]){TENSOR1(n), TENSOR2(TOKENS, k), TENSOR2(k, n), SCALAR("1"), SCALAR("1")});
    gemm(b, 0, TOKENS, n, k);
    pop(b, 2);
    frame_pop(b, 1);
}

static void evaluate_push(builder *b, const char *node, int slot, int count, const argument *arguments)
{
    char name[128];
    snprintf(name, sizeof name, "autograd::engine::evaluate_function: %s", node);
    push(b, CAT_CPU_OP, name, "", slot);
    op_push(b, node, slot, count, arguments);
}

static void accumulate_gradient(builder *b, int64_t elements)
{
    push(b, CAT_CPU_OP, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "", -1);
    op_push(b, "torch::autograd::AccumulateGrad", -1, 1, (argument[]){TENSOR1(elements)});
    op_push(b, "aten::add_", -1, 3, (argument[]){TENSOR1(elements), TENSOR1(elements), SCALAR("1")});
    launch(b, ADD_KERNEL, stream_time(elements * 6), elements / 4096 + 1, 128);
    pop(b, 3);
}

static void linear_backward(builder *b, int slot, int64_t n, int64_t k, bool reduce_input)
{
    evaluate_push(b, "AddmmBackward0", slot + 1, 1, (argument[]){TENSOR2(TOKENS, n)});
    op_push(b, "aten::mm", -1, 2, (argument[]){TENSOR2(TOKENS, n), TENSOR2(n, k)});
    gemm(b, 1, TOKENS, k, n);
    pop(b, 1);
    if (reduce_input) {
        int g = find_group(b, GROUP_TP, -1);
        if (g >= 0) collective(b, COLLECTIVE_ALL_REDUCE, g, (int64_t)TOKENS * k, true);
    }
    op_push(b, "aten::mm", -1, 2, (argument[]){TENSOR2(n, TOKENS), TENSOR2(TOKENS, k)});
    gemm(b, 2, n, k, TOKENS);
    pop(b, 2);
    op_push(b, "aten::sum", -1, 3, (argument[]){TENSOR2(TOKENS, n), SCALAR("[0]"), SCALAR("True")});
    launch(b, REDUCE_KERNEL, stream_time((int64_t)TOKENS * n * 2), n / 128 + 1, 128);
    pop(b, 2);
    evaluate_push(b, "TBackward0", slot, 1, (argument[]){TENSOR2(k, n)});
    pop(b, 2);
    accumulate_gradient(b, n * k);
}

enum { SLOTS_LAYER = 14 };

static void norm_forward(builder *b, int64_t h)
{
    int slot = b->code->slots++;
    frame_push(b, "torch/nn/modules/normalization.py(217): forward");
    op_push(b, "aten::layer_norm", slot, 5,
            (argument[]){TENSOR3(1, TOKENS, h), SCALAR("[4096]"), TENSOR1(h), TENSOR1(h), SCALAR("1e-05")});
    op_push(b, "aten::native_layer_norm", slot, 5,
            (argument[]){TENSOR3(1, TOKENS, h), SCALAR("[4096]"), TENSOR1(h), TENSOR1(h), SCALAR("1e-05")});
    op_push(b, "aten::empty", -1, 1, (argument[]){SCALAR("[1, 2048, 4096]")});
    pop(b, 1);
    launch(b, NORM_KERNEL, stream_time((int64_t)TOKENS * h * 4), TOKENS, 128);
    pop(b, 2);
    frame_pop(b, 1);
}

static void norm_backward(builder *b, int slot, int64_t h)
{
    evaluate_push(b, "NativeLayerNormBackward0", slot, 3,
                  (argument[]){TENSOR3(1, TOKENS, h), ABSENT, ABSENT});
    op_push(b, "aten::native_layer_norm_backward", -1, 2,
            (argument[]){TENSOR3(1, TOKENS, h), TENSOR3(1, TOKENS, h)});
    launch(b, NORM_BACKWARD_KERNEL, stream_time((int64_t)TOKENS * h * 6), TOKENS, 128);
    launch(b, NORM_GAMMA_KERNEL, stream_time((int64_t)TOKENS * h * 4), h / 32, 512);
    pop(b, 3);
    accumulate_gradient(b, h);
}

static void residual_forward(builder *b, int64_t h)
{
    int slot = b->code->slots++;
    op_push(b, "aten::add", slot, 3, (argument[]){TENSOR3(1, TOKENS, h), TENSOR3(1, TOKENS, h), SCALAR("1")});
    if (b->j->opt.rocm)
        launch(b, ADD_KERNEL, stream_time((int64_t)TOKENS * h * 6), TOKENS * h / 1024, 256);
    else
        launch_driver(b, TRITON_KERNEL, stream_time((int64_t)TOKENS * h * 6), TOKENS * h / 1024, 128);
    pop(b, 1);
}

static void all_reduce_activation(builder *b, int64_t h)
{
    int g = find_group(b, GROUP_TP, -1);
    if (g >= 0) collective(b, COLLECTIVE_ALL_REDUCE, g, (int64_t)TOKENS * h, true);
}

static void layer_forward(builder *b, int layer)
{
    int64_t h = b->j->opt.hidden, tp = b->j->opt.tp, heads = h / 128 / tp;
    char name[64];
    snprintf(name, sizeof name, "nn.Module: TransformerLayer_%d", layer);
    frame_push(b, name);
    norm_forward(b, h);
    linear_forward(b, 3 * h / tp, h);
    int slot = b->code->slots++;
    argument qkv = TENSOR4(1, heads, TOKENS, 128);
    op_push(b, "aten::scaled_dot_product_attention", slot, 5,
            (argument[]){qkv, qkv, qkv, ABSENT, SCALAR("0.")});
    op_push(b, "aten::_scaled_dot_product_flash_attention", slot, 4,
            (argument[]){qkv, qkv, qkv, SCALAR("0.")});
    op_push(b, "aten::_flash_attention_forward", -1, 3, (argument[]){qkv, qkv, qkv});
    launch(b, FLASH_KERNEL, gemm_time(b, 2 * TOKENS, TOKENS, 128 * heads), TOKENS / 128 * heads, 128);
    pop(b, 3);
    linear_forward(b, h, h / tp);
    all_reduce_activation(b, h);
    residual_forward(b, h);
    norm_forward(b, h);
    linear_forward(b, 4 * h / tp, h);
    slot = b->code->slots++;
    op_push(b, "aten::gelu", slot, 2, (argument[]){TENSOR3(1, TOKENS, 4 * h / tp), SCALAR("none")});
    launch(b, GELU_KERNEL, stream_time((int64_t)TOKENS * 4 * h / tp * 4), TOKENS * 4 * h / tp / 1024, 128);
    pop(b, 1);
    linear_forward(b, h, 4 * h / tp);
    all_reduce_activation(b, h);
    residual_forward(b, h);
    frame_pop(b, 1);
}

/* Undoes layer_forward; `slot` is the layer's first. The order of slots is norm 0, qkv 1-2, attention 3,
 * projection 4-5, residual 6, norm 7, up 8-9, gelu 10, down 11-12, residual 13. */
static void layer_backward(builder *b, int slot)
{
    int64_t h = b->j->opt.hidden, tp = b->j->opt.tp, heads = h / 128 / tp;
    evaluate_push(b, "AddBackward0", slot + 13, 1, (argument[]){TENSOR3(1, TOKENS, h)});
    pop(b, 2);
    linear_backward(b, slot + 11, h, 4 * h / tp, false);
    evaluate_push(b, "GeluBackward0", slot + 10, 1, (argument[]){TENSOR3(1, TOKENS, 4 * h / tp)});
    op_push(b, "aten::gelu_backward", -1, 2,
            (argument[]){TENSOR3(1, TOKENS, 4 * h / tp), TENSOR3(1, TOKENS, 4 * h / tp)});
    launch(b, GELU_BACKWARD_KERNEL, stream_time((int64_t)TOKENS * 4 * h / tp * 6), TOKENS * 4 * h / tp / 1024,
           128);
    pop(b, 3);
    linear_backward(b, slot + 8, 4 * h / tp, h, true);
    norm_backward(b, slot + 7, h);
    evaluate_push(b, "AddBackward0", slot + 6, 1, (argument[]){TENSOR3(1, TOKENS, h)});
    pop(b, 2);
    linear_backward(b, slot + 4, h, h / tp, false);
    argument qkv = TENSOR4(1, heads, TOKENS, 128);
    evaluate_push(b, "ScaledDotProductFlashAttentionBackward0", slot + 3, 1, (argument[]){qkv});
    op_push(b, "aten::_scaled_dot_product_flash_attention_backward", -1, 4, (argument[]){qkv, qkv, qkv, qkv});
    launch(b, FLASH_BACKWARD_KERNEL, gemm_time(b, 5 * TOKENS, TOKENS, 128 * heads), TOKENS / 128 * heads,
           256);
    pop(b, 3);
    linear_backward(b, slot + 1, 3 * h / tp, h, true);
    norm_backward(b, slot, h);
}

int layers_here(const builder *b)
{
    int layers = b->j->opt.layers, pp = b->j->opt.pp, at = b->r->pp;
    return layers / pp + (at < layers % pp);
}

static int layers_before(const builder *b)
{
    int layers = b->j->opt.layers, pp = b->j->opt.pp, at = b->r->pp;
    return layers / pp * at + (at < layers % pp ? at : layers % pp);
}

/* A product and its conversion, or one kernel that takes as long as both. */
static void multiply(builder *b)
{
    int64_t h = b->j->opt.hidden, n = (int64_t)TOKENS * h, blocks = n / 1024;
    op_push(b, "aten::mul", -1, 2, (argument[]){TENSOR3(1, TOKENS, h), TENSOR3(1, TOKENS, h)});
    if (b->j->opt.fused)
        launch(b, FUSED_KERNEL, stream_time(n * 6) + stream_time(n * 6), blocks, 128);
    else
        launch(b, MUL_KERNEL, stream_time(n * 6), blocks, 128);
    pop(b, 1);
    if (b->j->opt.fused) return;
    op_push(b, "aten::_to_copy", -1, 1, (argument[]){TENSOR3(1, TOKENS, h)});
    launch(b, CAST_KERNEL, stream_time(n * 6), blocks, 128);
    pop(b, 1);
}

/* What options do between two layers of the forward. */
static void between_layers(builder *b, int micro_batch, int layer)
{
    const options *o = &b->j->opt;
    int done = micro_batch * layers_here(b) + layer + 1;
    if (o->alloc_every && done % o->alloc_every == 0) allocate(b);
    b->apart = APART_ELEMENTWISE;
    for (int i = 0; i < o->elementwise; i++) multiply(b);
    b->apart = APART_ITEM;
    if (o->item_every && done % o->item_every == 0) read_value(b);
    b->apart = APART_NONE;
}

void forward_layers(builder *b, int micro_batch)
{
    int64_t h = b->j->opt.hidden;
    if (b->first_stage) {
        int slot = b->code->slots++;
        op_push(b, "aten::embedding", slot, 2, (argument[]){TENSOR2(50304, h), TENSOR2(1, TOKENS)});
        op_push(b, "aten::index_select", -1, 3,
                (argument[]){TENSOR2(50304, h), SCALAR("0"), TENSOR1(TOKENS)});
        launch(b, EMBED_KERNEL, stream_time((int64_t)TOKENS * h * 4), TOKENS, 128);
        pop(b, 2);
    }
    for (int i = 0; i < layers_here(b); i++) {
        if (micro_batch == 0 && i == layers_here(b) / 2) add(b, DO_PAUSE);
        b->layer = layers_before(b) + i;
        layer_forward(b, i);
        b->layer = -1;
        between_layers(b, micro_batch, i);
    }
    if (b->last_stage) {
        int slot = b->code->slots++;
        op_push(b, "aten::cross_entropy_loss", slot, 3,
                (argument[]){TENSOR2(TOKENS, 50304), TENSOR1(TOKENS), ABSENT});
        op_push(b, "aten::log_softmax", slot, 2, (argument[]){TENSOR2(TOKENS, 50304), SCALAR("1")});
        launch(b, NLL_KERNEL, stream_time((int64_t)TOKENS * 50304 * 2), TOKENS, 1024);
        pop(b, 2);
    }
}

void backward_layers(builder *b, int micro_batch, bool last)
{
    int64_t h = b->j->opt.hidden;
    int layers = layers_here(b), per_pass = layers * SLOTS_LAYER + b->first_stage + b->last_stage;
    int slot = micro_batch * per_pass;
    if (b->last_stage) {
        evaluate_push(b, "NllLossBackward0", slot + per_pass - 1, 1, (argument[]){TENSOR2(TOKENS, 50304)});
        launch(b, NLL_BACKWARD_KERNEL, stream_time((int64_t)TOKENS * 50304 * 4), TOKENS, 1024);
        pop(b, 2);
    }
    int gradients = find_group(b, GROUP_DP, -1);
    int64_t elements = 12 * h * h / b->j->opt.tp;
    for (int i = layers - 1; i >= 0; i--) {
        b->layer = layers_before(b) + i;
        layer_backward(b, slot + b->first_stage + i * SLOTS_LAYER);
        if (last && gradients >= 0) {
            push(b, CAT_CPU_OP, "torch.distributed.ddp.reducer::mul_out", "", -1);
            launch(b, ADD_KERNEL, stream_time(elements * 4), elements / 4096, 128);
            pop(b, 1);
            reduce_gradients(b, gradients, elements, i == 0);
        }
        b->layer = -1;
    }
    if (b->first_stage) {
        evaluate_push(b, "EmbeddingBackward0", slot, 1, (argument[]){TENSOR3(1, TOKENS, h)});
        op_push(b, "aten::embedding_dense_backward", -1, 1, (argument[]){TENSOR3(1, TOKENS, h)});
        launch(b, EMBED_BACKWARD_KERNEL, stream_time((int64_t)TOKENS * h * 8), TOKENS, 128);
        pop(b, 3);
    }
    if (last && gradients >= 0) {
        record_event(b, STREAM_DP, EVENT_DP);
        wait_event(b, STREAM_COMPUTE, EVENT_DP);
    }
}

void optimizer_step(builder *b)
{
    int64_t h = b->j->opt.hidden, weights = 12 * h * h / b->j->opt.tp;
    int layers = layers_here(b);
    b->phase = PHASE_OPTIMIZER;
    frame_push(b, "torch/optim/optimizer.py(470): wrapper");
    push(b, CAT_USER_ANNOTATION, "Optimizer.step#AdamW.step", "", -1);
    for (int i = 0; i < layers; i++) {
        op_push(b, "aten::_fused_adamw_", -1, 2, (argument[]){TENSOR1(weights), TENSOR1(weights)});
        for (int part = 0; part < 4; part++) launch(b, ADAMW_KERNEL, stream_time(weights / 4 * 18), 320, 512);
        pop(b, 1);
    }
    pop(b, 1);
    push(b, CAT_USER_ANNOTATION, "Optimizer.zero_grad#AdamW.zero_grad", "", -1);
    for (int i = 0; i < layers; i++) {
        op_push(b, "aten::zero_", -1, 1, (argument[]){TENSOR1(weights)});
        clear(b, weights * 2);
        pop(b, 1);
    }
    pop(b, 1);
    frame_pop(b, 1);
    b->phase = PHASE_OTHER;
}
