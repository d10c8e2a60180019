"""Replaces HTA's module of this name."""

__all__ = ["CUDA_SASS_INSTRUCTION_COUNTER_FLOPS"]

# Floating point operations of one counted instruction: a fused multiply-add makes two.
CUDA_SASS_INSTRUCTION_COUNTER_FLOPS = {
    "smsp__sass_thread_inst_executed_op_%s_pred_on.sum" % op: 2 if "fma" in op else 1
    for op in ("dadd", "dfma", "dmul", "hadd", "hfma", "hmul", "fadd", "ffma", "fmul")
}
