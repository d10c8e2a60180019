"""HTA's Trace: the loaded traces of a job, as frames."""
import gzip
import json
import logging
import os
import re
import warnings
from collections.abc import MutableMapping
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from rankscope import _engine

from .. import _frames
from .._answers import Answers
from .._need import pandas
from ..configs import parser_config
from ._trace_rows import add_fwd_bwd_links, fix_mtia_memory_rows, infer_gpu_type, without_last_step
from .names import shorten_name
from .trace_symbol_table import TraceSymbolTable, decode_symbol_id_to_symbol_name

__all__ = [
    "DEFAULT_TRACE_DIR",
    "PHASE_COUNTER",
    "Trace",
    "TraceSymbolTable",
    "add_fwd_bwd_links",
    "decode_symbol_id_to_symbol_name",
    "get_cpu_gpu_correlation",
    "infer_gpu_type",
    "parse_trace_dict",
    "parse_trace_file",
    "transform_correlation_to_index",
]

logger = logging.getLogger("rankscope.hta")

DEFAULT_TRACE_DIR = "/tmp/trace"
PHASE_COUNTER = "C"

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
    """Lists as lists; "-1" and "[]" mean missing ones, as in HTA."""
    if not isinstance(text, str) or text in ("-1", "[]"):
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


# What a frame has whatever its configuration says.
_ALWAYS = ("index", "cat", "name", "pid", "tid", "ts", "dur", "stream", "correlation", "index_correlation", "iteration", "end")


# Lists that the profiler writes as texts.
_WRITTEN_AS_TEXT = ("Process Group Ranks", "Input Tensors start", "Output Tensors start")


def _more_arguments(config) -> Optional[str]:
    """The arguments that the engine's frame has no column for, as its option takes them."""
    if config is None:
        return None
    if config.parse_all_args:
        return "all"
    names = [spec.raw_name for spec in config.get_args() if spec.name not in _FRAME and "," not in spec.raw_name]
    return ",".join(names) or None


def _filled(column, spec):
    """A column of arguments as its specification has it."""
    from ..configs.default_values import ValueType

    values = column.where(column.notna(), spec.default_value) if spec.default_value is not None else column
    if spec.value_type is ValueType.Int:
        whole = pandas().to_numeric(values, errors="coerce")
        return _frames.small(whole.astype("int64")) if whole.notna().all() and (whole % 1 == 0).all() else values
    if spec.raw_name in _WRITTEN_AS_TEXT:
        return _frames.text(values)
    if spec.value_type is ValueType.Float:
        return pandas().to_numeric(values, errors="coerce")
    return _frames.mapped(values, _value) if spec.value_type is ValueType.Object else _frames.text(values)


def _configured(frame, raw, config):
    """The columns that a configuration asks for."""
    known = {spec.raw_name: spec for spec in [*parser_config.AVAILABLE_ARGS.values(), *config.get_args()]}
    columns = {name: frame[name] for name in frame.columns if config.parse_all_args or name in _ALWAYS or name in config.arg_map}
    for name in [c for c in raw.columns if c not in _FRAME and c not in ("rank", "gpu", "user_annotation")]:
        given = name[len("args."):] if name.startswith("args.") else name
        first = raw[name].dropna()
        spec = known.get(given) or parser_config.ParserConfig.make_attribute_spec(given, first.iloc[0] if len(first) else "")
        columns.setdefault(spec.name, _filled(raw[name], spec))
    if not config.parse_all_args:
        for spec in config.get_args():  # what no event has
            columns.setdefault(spec.name, pandas().Series([spec.default_value] * len(frame), index=frame.index))
    return pandas().DataFrame(columns)


class _Traces(MutableMapping):
    """Frames by rank, each made when it is first asked for."""

    def __init__(self, trace: "Trace", ranks: List[int], uncut: bool):
        self._trace, self._uncut = trace, uncut
        self._frames: Dict[int, Any] = {rank: None for rank in ranks}

    def __getitem__(self, rank: int):
        if self._frames[rank] is None:
            self._frames[rank] = self._trace.read_frame(rank, self._uncut)
        return self._frames[rank]

    def __setitem__(self, rank: int, frame) -> None:
        self._frames[rank] = frame

    def __delitem__(self, rank: int) -> None:
        del self._frames[rank]

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._frames))

    def __len__(self) -> int:
        return len(self._frames)


class _MetaData(Mapping):
    """What each file says of itself: every top-level key but traceEvents."""

    def __init__(self, trace: "Trace", ranks: List[int]):
        self._trace, self._ranks = trace, ranks
        self._known: Dict[int, Dict[str, Any]] = {}

    def __getitem__(self, rank: int) -> Dict[str, Any]:
        if rank not in self._known:
            if rank not in self._ranks:
                raise KeyError(rank)
            meta = json.loads(_engine.file_header(self._trace.trace_files[rank]))
            meta["device_type"] = self._trace.device_type_of(rank, meta)
            self._known[rank] = meta
        return self._known[rank]

    def __iter__(self) -> Iterator[int]:
        return iter(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)


def get_cpu_gpu_correlation(df):
    """cpu_index and gpu_index: which call launched which work, by the column index_correlation."""
    rows = df[(df["stream"] != -1) & (df["index_correlation"] > 0)]
    return pandas().DataFrame({"cpu_index": rows["index_correlation"].to_numpy(), "gpu_index": rows["index"].to_numpy()})


def transform_correlation_to_index(df, symbol_table: TraceSymbolTable):
    """Adds index_correlation: the index of the other side of the correlation; 0 where that is not there, -1 without one."""
    if "correlation" not in df.columns:
        return df
    numbers = [symbol_table.get_sym_id_map().get(name, -1) for name in ("Event Sync", "Context Sync")]
    on_gpu = (df["stream"] >= 0) | df["name"].isin(numbers)
    sides = []
    for side in (on_gpu, ~on_gpu):
        rows = df[side & (df["correlation"] >= 0)].drop_duplicates("correlation", keep="last")
        sides.append(rows.set_index("correlation")["index"])
    other = df["correlation"].map(sides[1]).where(on_gpu, df["correlation"].map(sides[0])).fillna(0).astype("int64")
    df["index_correlation"] = other.where(df["correlation"] >= 0, -1)
    return df


def parse_trace_dict(trace_file_path: str) -> Dict[str, Any]:
    """A trace's file as Python objects."""
    if not str(trace_file_path).endswith((".gz", ".json", ".zst")):
        raise ValueError("a trace's name ends in .gz, .zst or .json; %s does not" % trace_file_path)
    return json.loads(_engine.file_text(trace_file_path))


def parse_trace_file(trace_file_path: str, cfg: Any = None):
    """What the file says of itself, its rows, and the table of its symbols."""
    if not str(trace_file_path).endswith((".gz", ".json", ".zst")):
        raise ValueError("a trace's name ends in .gz, .zst or .json; %s does not" % trace_file_path)
    trace = Trace([trace_file_path], parser_config=cfg)
    trace.parse_traces()
    rank = trace.get_ranks()[0]
    return dict(trace.meta_data[rank]), trace.get_trace(rank), trace.symbol_table


def _expanded(trace_dir: str) -> str:
    trace_dir = os.fspath(trace_dir)
    if trace_dir.startswith("./"):
        return os.path.join(os.getcwd(), trace_dir[2:])
    return os.path.expanduser(trace_dir)


class Trace:
    """The traces of a job. Frames hold names and categories as numbers of the symbol table, as HTA's do.

    parse_traces gives all rows with the files' own times; align_and_filter_trace counts times from the job's first event
    and cuts the last step off; load_traces does both, and whoever asks for a frame without either gets what it gives.
    """

    def __init__(
        self,
        trace_files: Union[Dict[int, str], List[str], None] = None,
        trace_dir: str = DEFAULT_TRACE_DIR,
        parser_config: Any = None,
    ):
        self.trace_path = _expanded(trace_dir)
        self.parser_config = parser_config
        self._wanted = self._checked(trace_files)
        self._files: Optional[Dict[int, str]] = dict(self._wanted) if isinstance(self._wanted, dict) else None
        self.symbol_table = TraceSymbolTable()
        self.traces: MutableMapping[int, Any] = {}
        self.meta_data: Mapping[int, Dict[str, Any]] = {}
        self.is_parsed = False
        self._answers: Optional[Answers] = None
        self._last = False
        self._start: Any = None

    def _checked(self, trace_files):
        if trace_files is None:
            if not os.path.isdir(self.trace_path):
                raise ValueError("trace_dir is no directory: %s; pass trace_dir=... or trace_files=..." % self.trace_path)
            return self.trace_path
        if isinstance(trace_files, dict):
            files = {}
            for rank, path in trace_files.items():
                files[int(rank)] = self._inside(os.fspath(path))
            paths = list(files.values())
        elif isinstance(trace_files, (list, tuple)):
            files = paths = [os.fspath(path) for path in trace_files]
        else:
            raise TypeError("trace_files is {rank: path}, a list of paths, or None; not %s" % type(trace_files).__name__)
        for path in paths:
            if not os.path.isfile(path):
                raise ValueError("Trace files validation failed: there is no file %s" % path)
        return files

    def _inside(self, path: str) -> str:
        return path if path.startswith((self.trace_path, "/")) else os.path.join(self.trace_path, path)

    # ---- files ---------------------------------------------------------------------------------------------

    @property
    def source(self):
        """What was opened: a directory, a list of files, or {rank: file}."""
        return self._wanted

    @property
    def trace_files(self) -> Dict[int, str]:
        """The file of each rank."""
        if self._files is None:
            self._files = dict(self._open().files)
        return self._files

    @trace_files.setter
    def trace_files(self, files: Dict[int, str]) -> None:
        self._files = files
        if isinstance(files, dict):
            self._wanted = files
            self._forget()

    def get_trace_files(self) -> Dict[int, str]:
        return self.trace_files

    def _normalize_trace_filenames(self) -> None:
        if not isinstance(self._files, dict):
            raise ValueError("trace_files is {rank: path}, not %s" % type(self._files).__name__)
        for rank, path in self._files.items():
            self._files[rank] = self._inside(path)

    def _validate_trace_files(self) -> bool:
        for path in self.trace_files.values():
            if not os.access(path, os.R_OK):
                logger.error("the trace file %s is not there or cannot be read", path)
                return False
            if not path.endswith((".gz", ".json", ".zst")):
                logger.error("the trace file %s ends neither in .json nor in .gz or .zst", path)
                return False
        return True

    # ---- loading -------------------------------------------------------------------------------------------

    def _open(self, last: bool = False, ranks: Optional[List[int]] = None) -> Answers:
        if self._answers is None or last != self._last or (ranks is not None and ranks != self._answers.ranks):
            self._forget()
            self._answers, self._last = Answers(self._wanted, last, ranks), last
            self.symbol_table.fill_later(self._all_texts)
        return self._answers

    def _forget(self) -> None:
        if self._answers is not None:
            self._answers.close()
        self._answers = self._start = None

    def _all_texts(self) -> List[str]:
        answers = self.answers
        tables = [answers.run("frame", of=str(rank), uncut=True).tables["frame"] for rank in answers.ranks]
        columns = [table.column(name) for table in tables for name in ("cat", "name")]
        return [text for texts in columns for text in dict.fromkeys(texts) if text is not None]

    @property
    def answers(self) -> Answers:
        return self._open(self._last) if self._answers is None else self._answers

    @property
    def min_ts(self):
        """The job's first event on the files' own clock, in microseconds: what the aligned times count from."""
        if self._start is None:
            answers = self.answers
            for rank in answers.ranks:
                row = next(iter(answers.run("frame", of=str(rank), uncut=True).tables["frame"]), None)
                if row is not None:
                    self._start = row["end"] - row["dur"] - row["ts"]
                    break
            else:
                self._start = 0
            if self._start == int(self._start):
                self._start = int(self._start)
        return self._start

    @min_ts.setter
    def min_ts(self, start) -> None:
        self._start = start

    def parse_traces(self, max_ranks: int = -1, use_multiprocessing: bool = True, use_memory_profiling: bool = True) -> None:
        """Reads the traces, or those of the first max_ranks ranks: all rows, times as the files have them.

        The other arguments say how HTA does it; here threads do."""
        ranks = sorted(self.trace_files)
        self.parse_multiple_ranks(ranks if max_ranks == -1 else ranks[:max_ranks])

    def parse_multiple_ranks(
        self, ranks: List[int], use_multiprocessing: bool = True, use_memory_profiling: bool = True
    ) -> None:
        """The same of some ranks."""
        self.is_parsed = bool(ranks)
        if not ranks:
            logger.error("there are no ranks to read")
            return
        have = self.trace_files
        self._open(ranks=list(ranks) if len(ranks) < len(have) else None)
        self.traces = _Traces(self, list(ranks), uncut=True)
        self.meta_data = _MetaData(self, list(ranks))

    def parse_single_rank(self, rank: int) -> None:
        """Reads one rank more. Nothing happens when there is none of that number."""
        if rank in self.trace_files:
            read = [*self.traces, rank] if isinstance(self.traces, _Traces) else [rank]
            self.parse_multiple_ranks(sorted(set(read)))

    def align_and_filter_trace(self, include_last_profiler_step: Optional[bool] = False) -> None:
        """Times count from the job's first event, and what belongs to the last step is left out."""
        ranks = list(self.traces) if isinstance(self.traces, _Traces) else None
        answers = self._open(bool(include_last_profiler_step), ranks)
        self.traces = _Traces(self, answers.ranks, uncut=False)
        self.meta_data = _MetaData(self, answers.ranks)
        self.is_parsed = True

    def load_traces(
        self,
        include_last_profiler_step: Optional[bool] = False,
        use_multiprocessing: bool = True,
        use_memory_profiling: bool = True,
    ) -> None:
        """Opens the traces; frames are made when they are asked for."""
        if self.is_parsed:
            logger.warning("the traces are loaded already")
            return
        self.align_and_filter_trace(include_last_profiler_step)

    # ---- frames --------------------------------------------------------------------------------------------

    def read_frame(self, rank: int, uncut: bool = False):
        """A rank's frame with its own index; not kept."""
        config = self.parser_config if self.parser_config is not None else parser_config.given_default()
        raw = self.answers.frame("frame", "frame", of=str(rank), uncut=uncut, args=_more_arguments(config))
        frame = _shaped(raw)
        for column in ("cat", "name"):
            frame[column] = self.symbol_table.encode(frame[column])
        if config is not None:
            frame = _configured(frame, raw, config)
        frame.index = pandas().Index(frame["index"].tolist(), dtype="int64")
        if uncut and len(frame):
            frame["ts"] += self.min_ts
        return frame

    def get_trace(self, rank: int):
        """A rank's frame."""
        if not self.is_parsed:
            self.load_traces()
        if rank not in self.traces:
            raise ValueError("rank %s is not among the traces; there are %s" % (rank, list(self.traces)))
        return self.traces[rank]

    get_trace_df = get_trace

    def get_all_traces(self) -> Mapping[int, Any]:
        return self.traces

    def get_ranks(self) -> List[int]:
        """The ranks that are loaded."""
        return sorted(self.traces)

    def get_num_ranks(self) -> int:
        return len(self.get_ranks())

    def _first(self, rank: Optional[int]) -> int:
        return rank if rank is not None else (self.get_ranks() or [-1])[0]

    def get_iterations(self, rank: Optional[int] = None) -> List[int]:
        """Numbers of the training steps in a rank's frame; none for a rank that is not there."""
        rank = self._first(rank)
        if rank not in self.traces or "iteration" not in self.traces[rank].columns:
            return []
        steps = self.traces[rank]["iteration"].dropna().astype("int64").unique().tolist()
        return sorted(step for step in steps if step >= 0)

    def get_trace_duration(self, rank: Optional[int] = None) -> int:
        """From the start of the first event to that of the last, as HTA has it."""
        frame = self.get_trace(self._first(rank))
        return frame["ts"].max() - frame["ts"].min()

    def decode_symbol_ids(self, use_shorten_name: bool = True) -> None:
        """Adds the texts s_cat and s_name to every frame."""
        for rank in self.traces:
            decode_symbol_id_to_symbol_name(self.traces[rank], self.symbol_table, use_shorten_name)

    def convert_time_series_to_events(self, series, counter_name: str, counter_col: str) -> List[Dict[str, Any]]:
        """The rows of a series (pid, ts and a value) as counter events of the Chrome trace format."""
        missing = [column for column in ("pid", "ts", counter_col) if column not in series.columns]
        if missing:
            logger.warning("the series has no %s; it has %s", ", ".join(missing), ", ".join(map(str, series.columns)))
            return []
        rows = series.to_dict("records")
        kept = [column for column in ("id",) if column in series.columns]
        return [
            {
                "ph": "C",
                "pid": row["pid"],
                "ts": row["ts"] + self.min_ts,
                "name": row.get("name", counter_name),
                "args": {counter_name: row[counter_col]},
                **{column: row[column] for column in kept},
            }
            for row in rows
        ]

    @staticmethod
    def flow_event(
        id: int, pid: int, tid: int, ts: int, is_start: bool, name: str, cat: str, args: Optional[Dict[str, Any]] = None
    ) -> Dict[str, Any]:
        """One end of an arrow in the Chrome trace format."""
        event: Dict[str, Any] = {"ph": "s" if is_start else "f", "id": id, "pid": pid, "tid": tid, "ts": ts, "cat": cat, "name": name}
        if not is_start:
            event["bp"] = "e"
        if args is not None:
            event["args"] = args
        return event

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
            annotation.map(lambda name: self.symbol_table.number(name))
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

    def get_raw_trace_for_one_rank(self, rank: int = 0) -> Dict[str, Any]:
        """The file as Python objects."""
        if rank not in self.trace_files:
            raise ValueError("rank %s is not among the traces; there are %s" % (rank, sorted(self.trace_files)))
        return json.loads(_engine.file_text(self.trace_files[rank]))

    def get_raw_trace(self, rank: int = 0) -> Dict[str, Any]:
        return self.get_raw_trace_for_one_rank(rank)

    def write_raw_trace(self, output_file: str, trace_contents: Dict[str, Any]) -> None:
        """Writes Python objects as a trace, packed if the name ends in .gz."""
        opener = gzip.open if str(output_file).endswith(".gz") else open
        with opener(output_file, "wt", encoding="utf-8") as file:
            json.dump(trace_contents, file, indent=2)

    def get_trace_start_unixtime_ns(self, rank: int) -> int:
        """When a rank's trace starts, in nanoseconds of the Unix clock."""
        if rank not in self.traces:
            raise ValueError("rank %s is not among the traces; there are %s" % (rank, list(self.traces)))
        table = self.answers.job.run("info").tables["ranks"].to_pandas()
        start = table.loc[table["rank"] == rank, "start_unix_ns"].dropna()
        if len(start) == 0:
            raise KeyError("baseTimeNanoseconds: the trace of rank %s does not say when it starts" % rank)
        return int(start.iloc[0])

    def get_device_type(self) -> str:
        return self.meta_data[self.answers.ranks[0]]["device_type"]

    def device_type_of(self, rank: int, meta: Dict[str, Any]) -> str:
        names = self.symbol_table.decode(self.get_trace(rank)["name"]).unique()
        return infer_gpu_type(meta, dict.fromkeys(names, 0))

    # ---- frames that somebody put here -----------------------------------------------------------------------

    def _fix_mtia_memory_kernels(self, trace_df: Any) -> None:
        warnings.warn("frames are read with their copies in place: _fix_mtia_memory_kernels is not needed",
                      DeprecationWarning, stacklevel=2)
        fix_mtia_memory_rows(trace_df, self.symbol_table)

    def _filter_irrelevant_gpu_kernels(self, include_last_profiler_step: Optional[bool] = False) -> None:
        """Cuts the last step off the frames as they are now, as align_and_filter_trace does to those that it reads."""
        steps = self.symbol_table.get_profiler_step_ids()
        if len(steps) < 2:
            logger.warning("the traces have %s: nothing is cut off", "one step only" if steps else "no steps")
            return
        for rank in list(self.traces):
            self.traces[rank] = without_last_step(self.traces[rank], self.symbol_table, bool(include_last_profiler_step))
