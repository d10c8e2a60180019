"""Stands where HTA's `hta.common.constants` stands."""

CUDA_MAX_LAUNCH_QUEUE_PER_STREAM = 1024
