"""Replaces HTA's `hta.common.constants`."""

CUDA_MAX_LAUNCH_QUEUE_PER_STREAM = 1024
