"""HTA's Trace: the loaded traces of a job, as frames."""
import gzip
import json
import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from .. import _frames
from .._answers import Answers
from .._need import pandas
from .names import shorten_name
from .trace_symbol_table import TraceSymbolTable

DEFAULT_TRACE_DIR = "/tmp/trace"

# HTA's columns in its order; the names of those that the engine's frame calls the same.
_FRAME = {
    "index": "small",
    "cat": "text",
    "name": "text",
    "pid": "thread",
    "tid": "thread",
    "ts": "whole",
    "dur": "float64",
    "stream": "small",
    "correlation": "small",
    "bytes": "small",
    "memory_bw_gbps": "float64",
    "wait_on_stream": "small",
    "wait_on_cuda_event_record_corr_id": "small",
    "input_dims": "json",
    "input_type": "json",
    "input_strides": "json",
    "external_id": "small",
    "python_id": "small",
    "python_parent_id": "small",
    "collective_name": "text",
    "in_msg_nelems": "small",
    "out_msg_nelems": "small",
    "msg_dtype": "text",
    "group_size": "small",
    "process_rank": "small",
    "in_split_size": "json",
    "out_split_size": "json",
    "index_correlation": "small",
    "iteration": "iteration",
    "end": "float64",
}
# Columns of HTA's graph of calls, as a row has them that stands in no stack of calls: the profiler's measured ranges.
_OUTSIDE_CALLS = {
    "depth": (-1, "int8"),
    "height": (-1, "int8"),
    "parent": (-1, "int32"),
    "num_kernels": (0, "int8"),
    "kernel_dur_sum": (0.0, "float64"),
    "kernel_span": (0.0, "float64"),
    "first_kernel_start": (-1.0, "float64"),
    "last_kernel_end": (-1.0, "float64"),
}


def _thread_id(value):
    """Numbers where they are numbers: a trace has pids like 1 and like "Spans"."""
    return int(value) if re.fullmatch("-?[0-9]+", value) else value


def _value(text):
    """Lists as lists; "-1" and "[]" stand for missing ones, as in HTA."""
    if text in ("-1", "[]"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _thread(series):
    return _frames.mapped(series, _thread_id)


def _json(series):
    return _frames.mapped(series, _value)


def _iteration(series):
    """Whole numbers, unless work on stream 0 has none: pandas then holds reals."""
    return series.astype("float64") if series.isna().any() else _frames.small(series)


def _shaped(frame):
    casts = {"thread": _thread, "json": _json, "iteration": _iteration}
    columns = {}
    for name, kind in _FRAME.items():
        if kind in casts:
            columns[name] = casts[kind](frame[name])
        else:
            columns[name] = _frames.shaped(frame[[name]], {name: kind})[name]
    return pandas().DataFrame(columns)


class _Traces(Mapping):
    """Frames by rank, each made when it is first asked for."""

    def __init__(self, trace: "Trace"):
        self._trace = trace
        self._frames: Dict[int, Any] = {}

    def __getitem__(self, rank: int):
        if rank not in self._frames:
            if rank not in self._trace.answers.ranks:
                raise KeyError(rank)
            self._frames[rank] = self._trace.read_frame(rank)
        return self._frames[rank]

    def __setitem__(self, rank: int, frame) -> None:
        self._frames[rank] = frame

    def __iter__(self) -> Iterator[int]:
        return iter(self._trace.answers.ranks)

    def __len__(self) -> int:
        return len(self._trace.answers.ranks)


class _MetaData(Mapping):
    """What each file says of itself: every top-level key but traceEvents."""

    def __init__(self, trace: "Trace"):
        self._trace = trace
        self._known: Dict[int, Dict[str, Any]] = {}

    def __getitem__(self, rank: int) -> Dict[str, Any]:
        if rank not in self._known:
            if rank not in self._trace.trace_files:
                raise KeyError(rank)
            raw = self._trace.get_raw_trace_for_one_rank(rank)
            self._known[rank] = {k: v for k, v in raw.items() if k != "traceEvents"}
            self._known[rank]["device_type"] = self._trace.device_type_of(rank, self._known[rank])
        return self._known[rank]

    def __iter__(self) -> Iterator[int]:
        return iter(self._trace.trace_files)

    def __len__(self) -> int:
        return len(self._trace.trace_files)


def _expanded(trace_dir: str) -> str:
    trace_dir = os.fspath(trace_dir)
    if trace_dir.startswith("./"):
        return os.path.join(os.getcwd(), trace_dir[2:])
    return os.path.expanduser(trace_dir)


class Trace:
    """The traces of a job. Frames hold names and categories as numbers of the symbol table, as HTA's do."""

    def __init__(
        self,
        trace_files: Union[Dict[int, str], List[str], None] = None,
        trace_dir: str = DEFAULT_TRACE_DIR,
    ):
        self.trace_path = _expanded(trace_dir)
        self._wanted = self._checked(trace_files)
        self.trace_files: Dict[int, str] = dict(self._wanted) if isinstance(self._wanted, dict) else {}
        self.symbol_table = TraceSymbolTable()
        self.traces: Mapping[int, Any] = {}
        self.meta_data: Mapping[int, Dict[str, Any]] = {}
        self.is_parsed = False
        self._answers: Optional[Answers] = None

    def _checked(self, trace_files):
        if trace_files is None:
            if not os.path.isdir(self.trace_path):
                raise ValueError("trace_dir is no directory: %s; pass trace_dir=... or trace_files=..." % self.trace_path)
            return self.trace_path
        if isinstance(trace_files, dict):
            files = {}
            for rank, path in trace_files.items():
                path = os.fspath(path)
                inside = path.startswith(self.trace_path) or path.startswith("/")
                files[int(rank)] = path if inside else os.path.join(self.trace_path, path)
            paths = list(files.values())
        elif isinstance(trace_files, (list, tuple)):
            files = paths = [os.fspath(path) for path in trace_files]
        else:
            raise TypeError("trace_files is {rank: path}, a list of paths, or None; not %s" % type(trace_files).__name__)
        for path in paths:
            if not os.path.isfile(path):
                raise ValueError("Trace files validation failed: there is no file %s" % path)
        return files

    # ---- loading -------------------------------------------------------------------------------------------

    @property
    def source(self):
        """What was opened: a directory, a list of files, or {rank: file}."""
        return self._wanted

    @property
    def answers(self) -> Answers:
        if self._answers is None:
            self.load_traces()
        return self._answers

    def parse_traces(self, *_, **__) -> None:
        """Loading is one step here; there for those who call it."""
        self.load_traces()

    def align_and_filter_trace(self, include_last_profiler_step: bool = False) -> None:
        self.load_traces(include_last_profiler_step)

    def load_traces(self, include_last_profiler_step: Optional[bool] = False, **_) -> None:
        """Opens the traces; frames are made when they are asked for."""
        if self._answers is not None:
            if bool(include_last_profiler_step) == self._last:
                return
            self._answers.close()
        self._last = bool(include_last_profiler_step)
        self._answers = Answers(self._wanted, self._last)
        self.is_parsed = True
        if not isinstance(self._wanted, dict):
            self.trace_files = self._files_by_rank()
        self.traces = _Traces(self)
        self.meta_data = _MetaData(self)

    def _files_by_rank(self) -> Dict[int, str]:
        table = self._answers.job.run("info").tables["ranks"].to_pandas()
        return {int(r): f for r, f in zip(table["rank"], table["file"])}

    # ---- frames --------------------------------------------------------------------------------------------

    def read_frame(self, rank: int):
        """A rank's frame with its own index; not kept."""
        raw = self.answers.frame("frame", "frame", of=str(rank))
        frame = _shaped(raw)
        for column in ("cat", "name"):
            frame[column] = self.symbol_table.encode(frame[column])
        frame.index = pandas().Index(frame["index"].tolist(), dtype="int64")
        return frame

    def get_trace(self, rank: int):
        if rank not in self.answers.ranks:
            raise ValueError("rank %s is not among the traces; there are %s" % (rank, self.answers.ranks))
        return self.traces[rank]

    get_trace_df = get_trace

    def get_all_traces(self) -> Mapping[int, Any]:
        return self.traces

    def get_ranks(self) -> List[int]:
        return list(self.answers.ranks)

    def get_num_ranks(self) -> int:
        return len(self.answers.ranks)

    def get_trace_files(self) -> Dict[int, str]:
        return self.trace_files

    def get_iterations(self, rank: Optional[int] = None) -> List[int]:
        """Numbers of the training steps in a rank's frame."""
        frame = self.get_trace(self.answers.ranks[0] if rank is None else rank)
        steps = frame["iteration"].dropna().astype("int64").unique().tolist()
        return sorted(step for step in steps if step >= 0)

    def get_trace_duration(self, rank: int) -> int:
        frame = self.get_trace(rank)
        return (frame["ts"] + frame["dur"]).max() - frame["ts"].min()

    def decode_symbol_ids(self, use_shorten_name: bool = True) -> None:
        """Adds the texts s_cat and s_name to every frame."""
        for rank in self.answers.ranks:
            frame = self.traces[rank]
            for column in ("cat", "name"):
                self.symbol_table.add_symbols_to_trace_df(frame, column)
            if use_shorten_name:
                frame["s_name"] = frame["s_name"].map(shorten_name)

    def gpu_rows_with_annotations(self, rank: int, expand_names: bool, shorten_names: bool):
        raw = self.answers.frame("frame", "frame", of=str(rank), gpu=True)
        if not raw["user_annotation"].notna().any():
            categories = self.answers.job.run("info").tables["categories"].to_pandas()
            if not (categories["category"] == "gpu_user_annotation").any():
                return None
        frame = _shaped(raw)
        texts = {column: raw[column] for column in ("name", "cat")}
        annotation = raw["user_annotation"]
        for column in ("cat", "name"):
            frame[column] = self.symbol_table.encode(frame[column])
        known = annotation.notna()
        self.symbol_table.add_symbols(annotation[known].unique().tolist())
        frame["user_annotation"] = _frames.small(
            annotation.map(lambda name: self.symbol_table.sym_index.get(name, -1))
        )
        if expand_names:
            name = texts["name"].map(shorten_name) if shorten_names else texts["name"]
            frame["s_name"] = _frames.text(name)
            frame["s_cat"] = _frames.text(texts["cat"])
            frame["s_user_annotation"] = _frames.text(annotation.where(known, ""))
        return frame.reset_index(drop=True)

    def counter_rows(self, rank: int, counters, launches: Dict[int, int]):
        """A rank's measured kernels: HTA's columns of their rows, counters, operators."""
        pd = pandas()
        raw = self.answers.frame("frame", "frame", of=str(rank))
        whole = _shaped(raw).set_axis(raw["index"].tolist())  # shaped as a whole: its types are those of all rows
        counters = counters.reset_index(drop=True)
        rows = whole[~whole.index.duplicated()].loc[counters["index"].tolist()].reset_index(drop=True)
        operators = ["top_level_op", "bottom_level_op", "op_stack"]
        names = [c for c in counters.columns if c not in ("rank", "index", "name", *operators)]
        pieces = {}
        for column in rows.columns:
            if column == "index_correlation":
                for name in names:
                    pieces[name] = _frames.small(counters[name].fillna(-1))
            pieces[column] = rows[column]
        for column, value in _OUTSIDE_CALLS.items():
            pieces[column] = pd.Series([value[0]] * len(rows), dtype=value[1])
        pieces["index_runtime"] = _frames.small(counters["index"].map(launches))
        stacks = [s.split(";") if isinstance(s, str) else [] for s in counters["op_stack"]]
        pieces["op_stack"] = pd.Series(stacks, dtype=object)
        for column in operators[:2]:
            pieces[column] = _frames.text(counters[column])
        return pd.DataFrame(pieces)

    # ---- the files themselves --------------------------------------------------------------------------------

    def get_raw_trace_for_one_rank(self, rank: int) -> Dict[str, Any]:
        """The file as Python objects."""
        path = self.trace_files[rank]
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with (gzip.open(path, "rb") if packed else open(path, "rb")) as file:
            return json.load(file)

    def get_raw_trace(self, rank: int) -> Dict[str, Any]:
        return self.get_raw_trace_for_one_rank(rank)

    def write_raw_trace(self, output_file: str, trace_contents: Dict[str, Any]) -> None:
        """Writes Python objects as a trace, packed if the name ends in .gz."""
        opener = gzip.open if str(output_file).endswith(".gz") else open
        with opener(output_file, "wt", encoding="utf-8") as file:
            json.dump(trace_contents, file, indent=2)

    def get_trace_start_unixtime_ns(self, rank: int) -> int:
        """When a rank's trace starts, in nanoseconds of the Unix clock."""
        table = self.answers.job.run("info").tables["ranks"].to_pandas()
        start = table.loc[table["rank"] == rank, "start_unix_ns"].dropna()
        if len(start) == 0:
            raise KeyError("baseTimeNanoseconds: the trace of rank %s does not say when it starts" % rank)
        return int(start.iloc[0])

    def get_device_type(self) -> str:
        return self.meta_data[self.answers.ranks[0]]["device_type"]

    def device_type_of(self, rank: int, meta: Dict[str, Any]) -> str:
        backend = str((meta.get("distributedInfo") or {}).get("backend", ""))
        if "mtia:hccl" in backend:
            return "MTIA"
        names = set(self.symbol_table.decode(self.get_trace(rank)["name"]).unique())
        if "cudaLaunchKernel" in names:
            return "NVIDIA GPU"
        if "hipLaunchKernel" in names:
            return "AMD GPU"
        if "runFunction - job_prep_and_submit_for_execution" in names:
            return "MTIA"
        return "UNKNOWN GPU"
