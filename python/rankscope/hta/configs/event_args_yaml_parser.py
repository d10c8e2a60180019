"""Replaces HTA's `hta.configs.event_args_yaml_parser`: the arguments of events that have a column of their own."""
import functools
import os
from typing import Callable, Dict, List

from .default_values import AttributeSpec, EventArgs, ValueType, YamlVersion

__all__ = ["parse_event_args_yaml", "v1_0_0", "YamlVersion"]

v1_0_0 = YamlVersion(1, 0, 0)

_WHOLE, _REAL, _TEXT, _OBJECT = ValueType.Int, ValueType.Float, ValueType.String, ValueType.Object

# key: (column, name in the file, type, what stands for a missing value). The keys and columns are HTA's.
_ARGUMENTS = {
    "index::ev_idx": ("ev_idx", "Ev Idx", _WHOLE, -1),
    "index::external_id": ("external_id", "External id", _WHOLE, -1),
    "index::python_id": ("python_id", "Python id", _WHOLE, -1),
    "index::python_parent_id": ("python_parent_id", "Python parent id", _WHOLE, -1),
    "cpu_op::concrete_inputs": ("concrete_inputs", "Concrete Inputs", _OBJECT, "[]"),
    "cpu_op::fwd_thread": ("fwd_thread_id", "Fwd thread id", _WHOLE, -1),
    "cpu_op::input_dims": ("input_dims", "Input Dims", _OBJECT, "-1"),
    "cpu_op::input_type": ("input_type", "Input type", _OBJECT, "-1"),
    "cpu_op::input_strides": ("input_strides", "Input Strides", _OBJECT, "-1"),
    "cpu_op::sequence_number": ("sequence", "Sequence number", _WHOLE, -1),
    "cpu_op::kernel_backend": ("kernel_backend", "kernel_backend", _TEXT, ""),
    "cpu_op::kernel_hash": ("kernel_hash", "kernel_hash", _TEXT, ""),
    "correlation::cbid": ("cbid", "cbid", _WHOLE, -1),
    "correlation::cpu_gpu": ("correlation", "correlation", _WHOLE, -1),
    "sm::blocks": ("blocks_per_sm", "blocks per SM", _OBJECT, "[]"),
    "sm::occupancy": ("est_occupancy", "est. achieved occupancy %", _WHOLE, -1),
    "sm::warps": ("warps_per_sm", "warps per SM", _REAL, 0.0),
    "data::bytes": ("bytes", "bytes", _WHOLE, -1),
    "data::bandwidth": ("memory_bw_gbps", "memory bandwidth (GB/s)", _REAL, 0.0),
    "cuda::context": ("context", "context", _WHOLE, -1),
    "cuda::device": ("device", "device", _WHOLE, -1),
    "cuda::stream": ("stream", "stream", _WHOLE, -1),
    "kernel::queued": ("queued", "queued", _WHOLE, -1),
    "kernel::shared_memory": ("shared_memory", "shared memory", _WHOLE, -1),
    "threads::block": ("block", "block", _OBJECT, "[]"),
    "threads::grid": ("grid", "grid", _OBJECT, "[]"),
    "threads::registers": ("registers_per_thread", "registers per thread", _WHOLE, -1),
    "cuda_sync::stream": ("wait_on_stream", "wait_on_stream", _WHOLE, -1),
    "cuda_sync::event": ("wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_record_corr_id", _WHOLE, -1),
    "info::finished": ("finished", "finished", _TEXT, ""),
    "info::labels": ("labels", "labels", _TEXT, ""),
    "info::name": ("name", "name", _WHOLE, -1),
    "info::op_count": ("op_count", "Op count", _WHOLE, -1),
    "info::sort_index": ("sort_index", "sort_index", _WHOLE, -1),
    "nccl::collective_name": ("collective_name", "Collective name", _TEXT, ""),
    "nccl::in_msg_nelems": ("in_msg_nelems", "In msg nelems", _WHOLE, 0),
    "nccl::out_msg_nelems": ("out_msg_nelems", "Out msg nelems", _WHOLE, 0),
    "nccl::in_msg_size": ("in_msg_size", "In msg size", _WHOLE, 0),
    "nccl::out_msg_size": ("out_msg_size", "Out msg size", _WHOLE, 0),
    "nccl::group_size": ("group_size", "Group size", _WHOLE, 0),
    "nccl::dtype": ("msg_dtype", "dtype", _TEXT, ""),
    "nccl::in_split_size": ("in_split_size", "In split size", _OBJECT, "[]"),
    "nccl::out_split_size": ("out_split_size", "Out split size", _OBJECT, "[]"),
    "nccl::input_tensors_start": ("input_tensors_start", "Input Tensors start", _OBJECT, "[]"),
    "nccl::output_tensors_start": ("output_tensors_start", "Output Tensors start", _OBJECT, "[]"),
    "nccl::process_group_name": ("process_group_name", "Process Group Name", _TEXT, ""),
    "nccl::process_group_desc": ("process_group_desc", "Process Group Description", _TEXT, ""),
    "nccl::process_group_ranks": ("process_group_ranks", "Process Group Ranks", _OBJECT, "[]"),
    "nccl::rank": ("process_rank", "Rank", _WHOLE, -1),
    "inference::batch_size": ("batch_size", "batchSize", _WHOLE, -1),
    "inference::batch_id": ("batch_id", "batchId", _TEXT, ""),
}
_SINCE = {
    "cpu_op::kernel_hash": YamlVersion(1, 1, 0),
    "nccl::input_tensors_start": YamlVersion(1, 2, 0),
    "nccl::output_tensors_start": YamlVersion(1, 2, 0),
}

Arguments = Dict[str, AttributeSpec]


def _those(*keys: str) -> Callable[[Arguments], List[AttributeSpec]]:
    return lambda available_args: [available_args[key] for key in keys if key in available_args]


ARGS_INDEX_FUNC = _those("index::ev_idx", "index::external_id", "index::python_id", "index::python_parent_id")
ARGS_INPUT_SHAPE_FUNC = _those("cpu_op::input_dims", "cpu_op::input_type", "cpu_op::input_strides")
ARGS_BANDWIDTH_FUNC = _those("data::bytes", "data::bandwidth")
ARGS_SYNC_FUNC = _those("cuda_sync::stream", "cuda_sync::event")
ARGS_MINIMUM_FUNC = _those("cuda::stream", "correlation::cpu_gpu")
ARGS_INFO_FUNC = _those("info::labels", "info::name", "info::sort_index")
ARGS_COMMUNICATION_FUNC = _those(*("nccl::" + name for name in (
    "collective_name", "in_msg_nelems", "out_msg_nelems", "dtype", "group_size", "rank", "in_split_size", "out_split_size")))
ARGS_TRITON_KERNELS_FUNC = _those("cpu_op::kernel_backend", "cpu_op::kernel_hash")


def ARGS_COMPLETE_FUNC(available_args: Arguments) -> List[AttributeSpec]:
    return [spec for key, spec in available_args.items() if not key.startswith("info")]


def ARGS_DEFAULT_FUNC(available_args: Arguments) -> List[AttributeSpec]:
    sets = (ARGS_MINIMUM_FUNC, ARGS_BANDWIDTH_FUNC, ARGS_SYNC_FUNC, ARGS_INPUT_SHAPE_FUNC)
    return [spec for one in sets for spec in one(available_args)] + [available_args["index::external_id"]]


def _from_file(path: str, version: YamlVersion) -> Arguments:
    """The arguments of a list of one's own, in HTA's form."""
    import yaml

    with open(path, encoding="utf-8") as file:
        rows = yaml.safe_load(file)["AVAILABLE_ARGS"]
    return {key: AttributeSpec(row["name"], row["raw_name"], ValueType[row["value_type"]], row["default_value"],
                               YamlVersion.from_string(row["min_supported_version"]) if "min_supported_version" in row else version)
            for key, row in rows.items()}


@functools.lru_cache()
def parse_event_args_yaml(version: YamlVersion) -> EventArgs:
    """The arguments of a version: those of the package, unless event_args_formats/event_args_VERSION.yaml is next to it."""
    path = os.path.join(os.path.dirname(__file__), "event_args_formats", "event_args_%s.yaml" % version.get_version_str())
    if os.path.isfile(path):
        available = _from_file(path, version)
    else:
        available = {key: AttributeSpec(name, raw, kind, default, _SINCE.get(key, version))
                     for key, (name, raw, kind, default) in _ARGUMENTS.items()}
    return EventArgs(
        AVAILABLE_ARGS=available,
        ARGS_INPUT_SHAPE=ARGS_INPUT_SHAPE_FUNC(available),
        ARGS_BANDWIDTH=ARGS_BANDWIDTH_FUNC(available),
        ARGS_SYNC=ARGS_SYNC_FUNC(available),
        ARGS_MINIMUM=ARGS_MINIMUM_FUNC(available),
        ARGS_COMPLETE=ARGS_COMPLETE_FUNC(available),
        ARGS_INFO=ARGS_INFO_FUNC(available),
        ARGS_COMMUNICATION=ARGS_COMMUNICATION_FUNC(available),
        ARGS_TRITON_KERNELS=ARGS_TRITON_KERNELS_FUNC(available),
        ARGS_DEFAULT=ARGS_DEFAULT_FUNC(available),
    )
