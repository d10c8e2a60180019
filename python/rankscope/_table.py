"""Tables and results."""
from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

from . import _engine as native
from ._names import find
from ._verdict import Verdict
from ._words import in_python
from .errors import InputWarning, UsageError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = Dict[str, Any]

_CHUNK = 1024  # rows made into Python objects at a time
_SHOWN_ROWS = 20
_SHOWN_TEXT = 60
_LEAST_TEXT = 24  # before columns are left out


def _need(module: str, what: str) -> Any:
    """Imports an optional package, or says how to get it."""
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError("%s needs %s: pip install %s" % (what, module, module)) from error


def _shorten(text: str, most: int = _SHOWN_TEXT) -> str:
    """In the middle: the ends of kernels' names differ."""
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return text[:half] + "\u2026" + text[-half:]


def _show(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        plain = value == 0 or 1e-3 <= abs(value) < 1e15
        return ("%.3f" % value).rstrip("0").rstrip(".") if plain else "%.4g" % value
    return _shorten(str(value))


def _from_arrow(pandas: Any, values: Any, kind: str) -> Any:
    if kind == "int" and values.null_count:
        return pandas.Int64Dtype().__from_arrow__(values)
    if kind == "text":
        return _texts_of(pandas, values)
    return values.to_pandas()


def _texts_of(pandas: Any, values: Any) -> Any:
    """The texts of a column of Arrow's dictionary: as objects each of them is made once, however often it comes."""
    if int(pandas.__version__.split(".")[0]) >= 3:
        return values.cast("string").to_pandas()
    import numpy  # pandas needs it, too
    parts = []
    for chunk in values.chunks:
        words = numpy.empty(len(chunk.dictionary) + 1, dtype=object)  # the last is the unknown
        words[:-1] = chunk.dictionary.to_pylist()
        parts.append(words[chunk.indices.fill_null(len(chunk.dictionary)).to_numpy(zero_copy_only=False)])
    return pandas.Series(numpy.concatenate(parts) if parts else [], dtype=object)


def _from_list(pandas: Any, values: List[Any], kind: str) -> Any:
    if kind == "text":
        return pandas.Series(values, dtype=None if any(value is not None for value in values) else object)
    if kind == "int":
        return pandas.Series(values, dtype="Int64" if None in values else "int64")
    return pandas.Series(values, dtype="float64")


def _restore(state: Tuple[Any, ...]) -> Table:
    """The Table of a pickle."""
    return Table(native.table_restore(state))


def _grid(names: List[str], right: List[bool], rows: List[List[str]], width: int) -> str:
    """Cells under the names of their columns. What does not fit: texts get shorter, then columns in the middle go."""
    widths = [max([len(name)] + [len(row[at]) for row in rows]) for at, name in enumerate(names)]
    shown = list(range(len(names)))
    for at in sorted(shown, key=lambda at: -widths[at]):
        beyond = sum(widths) + 2 * (len(names) - 1) - width
        if beyond > 0 and not right[at]:
            widths[at] = min(widths[at], max(len(names[at]), _LEAST_TEXT, widths[at] - beyond))
    while len(shown) > 2 and sum(widths[at] + 2 for at in shown) + 1 > width:
        shown.pop(len(shown) // 2)
    middle = (len(shown) + 1) // 2 if len(shown) < len(names) else len(names)
    lines = []
    for row in [names] + rows:
        cells = [row[at].rjust(widths[at]) if right[at] else _shorten(row[at], widths[at]).ljust(widths[at]) for at in shown]
        if len(shown) < len(names):
            cells.insert(middle, "\u2026")
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


class Table:
    """A table: typed columns with units, unknown values None.

    It implements Arrow's PyCapsule protocol, so that pyarrow, polars, DuckDB and others take it as it is, numbers
    not copied, texts as dictionaries. `to_pandas()`, `to_arrow()`, `to_polars()` and `to_dicts()` convert it; iterating gives a row at a
    time as a dict; `table["column"]` is a column as a list (`table["duration_us"]` finds `dur`, too), `table[i]` a row, `table[i:j]` a table. `head`, `sort`
    and `filter` give tables. Tables are pickled and copied without the run they come from."""

    __slots__ = ("_given", "_result", "__weakref__")

    def __init__(self, engine_table: Optional[native.Table], result: Optional[Result] = None) -> None:
        self._given: Any = engine_table
        self._result = result

    @property
    def _engine(self) -> native.Table:
        given: native.Table = self._given
        return given

    # ---- what it is ----

    @property
    def name(self) -> str:
        """What the table is called."""
        return self._engine.name

    @property
    def help(self) -> str:
        """What one row is."""
        return self._engine.help

    @property
    def schema(self) -> List[Dict[str, Any]]:
        """One dict a column: name, type (int, real, time, text), unit, help."""
        return self._engine.schema

    @property
    def columns(self) -> List[str]:
        """Names of the columns."""
        return [column["name"] for column in self._engine.schema]

    @property
    def num_rows(self) -> int:
        """How many rows."""
        return self._engine.num_rows

    @property
    def shape(self) -> Tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, len(self._engine.schema)

    def __len__(self) -> int:
        return self._engine.num_rows

    def __contains__(self, name: object) -> bool:
        """Whether there is a column of that name, or of another name of the same quantity."""
        return isinstance(name, str) and find(name, self.columns) in self.columns

    def _ipython_key_completions_(self) -> List[str]:
        return self.columns

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restore, (self._engine.state(),)

    # ---- the run it comes from ----

    @property
    def result(self) -> Optional[Result]:
        """The run's Result, None for a table without a run."""
        return self._result

    @property
    def tables(self) -> Dict[str, Table]:
        """All tables of the same run, by name."""
        return {self.name: self} if self._result is None else self._result.tables

    @property
    def problems(self) -> List[Dict[str, Any]]:
        """What was wrong with the input: dicts with file, rank, severity, kind, message, detail, count, offsets."""
        return [] if self._result is None else self._result.problems

    @property
    def notes(self) -> List[str]:
        """Why something is absent, a line each."""
        return [] if self._result is None else self._result.notes

    @property
    def verdict(self) -> Optional[Verdict]:
        """What is wrong with the job, where the run says so; None: it does not."""
        return None if self._result is None else self._result.verdict

    @property
    def found(self) -> bool:
        """Whether what was looked for is there: an unfit capture (doctor), a failed gate (fail_on)."""
        return self._result is not None and self._result.found

    # ---- cells ----

    def column(self, name: Union[str, int]) -> List[Any]:
        """A column, by name or number, as a list."""
        return self._engine.column(self._find(name))

    def _find(self, name: Union[str, int]) -> Union[str, int]:
        return find(name, self.columns) if isinstance(name, str) else name

    @overload
    def __getitem__(self, key: str) -> List[Any]: ...

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> Table: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.column(key)
        if isinstance(key, slice):
            first, last, step = key.indices(len(self))
            if step != 1:
                raise ValueError("a table is sliced without a step")
            return Table(self._engine.slice(first, max(first, last)), self._result)
        row = int(key)
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError("table %s has %d rows" % (self.name, len(self)))
        return next(self._rows(row, row + 1))

    def head(self, n: int = 5) -> Table:
        """The first rows."""
        return self[:max(0, n)]

    def tail(self, n: int = 5) -> Table:
        """The last rows."""
        return self[max(0, len(self) - max(0, n)):]

    def take(self, rows: Sequence[int]) -> Table:
        """The rows of these numbers, in this order."""
        return Table(self._engine.take(list(rows)), self._result)

    def sort(self, by: Union[str, Sequence[str]], *, descending: bool = False) -> Table:
        """By one column or several, the first counting most; rows that are equal stay in order, unknown values come
        last."""
        order = list(range(len(self)))
        for name in reversed([by] if isinstance(by, str) else list(by)):
            values = self.column(name)
            known = [at for at in order if values[at] is not None]
            known.sort(key=lambda at: values[at], reverse=descending)
            order = known + [at for at in order if values[at] is None]
        return self.take(order)

    def filter(self, keep: Optional[Callable[[Row], Any]] = None, **equal: Any) -> Table:
        """The rows of which keep(row), a dict, is true, and whose columns have the values given by name; a list, tuple
        or set of values means any of them: `kernels.filter(lambda row: row["sum_us"] > 1000, rank=[0, 1])`."""
        rows: List[int] = list(range(len(self)))
        for name, wanted in equal.items():
            values, several = self.column(name), isinstance(wanted, (list, tuple, set, frozenset, range))
            rows = [at for at in rows if (values[at] in wanted if several else values[at] == wanted)]
        if keep is not None:
            rows = [at for at in rows if keep(self[at])] if len(rows) < len(self) else \
                [at for at, row in enumerate(self) if keep(row)]
        return self.take(rows)

    def _rows(self, first: int, last: int) -> Iterator[Row]:
        engine, names = self._engine, self.columns
        for start in range(first, last, _CHUNK):
            end = min(last, start + _CHUNK)
            for row in zip(*(engine.column(at, start, end) for at in range(len(names)))):
                yield dict(zip(names, row))

    def __iter__(self) -> Iterator[Row]:
        return self._rows(0, len(self))

    def to_dicts(self) -> List[Row]:
        """All rows, a dict each."""
        return list(self)

    # ---- other libraries ----

    def __arrow_c_schema__(self) -> object:
        return self._engine.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._engine.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table."""
        return _need("pyarrow", "to_arrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars.DataFrame."""
        return _need("polars", "to_polars").DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame, the same with and without pyarrow: int64, float64 (unknown: NaN) and text (unknown:
        None or NaN, as the pandas at hand has it); integers are Int64 where one is unknown."""
        pandas = _need("pandas", "to_pandas")
        try:
            arrow = self.to_arrow()
        except ImportError:
            arrow = None
        data: Dict[int, Any] = {}
        for at, spec in enumerate(self.schema):
            if arrow is not None:
                data[at] = _from_arrow(pandas, arrow.column(at), spec["type"])
            else:
                data[at] = _from_list(pandas, self._engine.column(at), spec["type"])
        frame = pandas.DataFrame(data)
        frame.columns = self.columns
        return frame

    # ---- as text ----

    def render(self, form: str) -> Union[str, bytes]:
        """The table in an output form, as --format FORM prints it: `rankscope.output_forms()` lists them. A form that
        is no text gives bytes. "parquet" needs pyarrow."""
        if form == "parquet":
            _need("pyarrow", "render(\"parquet\")")
            from . import _parquet
            return bytes(_parquet.of_stream(self._engine.render("arrows")))
        return self._engine.render(form)

    def json(self) -> str:
        """An array of objects, as --format json prints it."""
        return str(self.render("json"))

    def jsonl(self) -> str:
        """One JSON object a line."""
        return str(self.render("jsonl"))

    def csv(self) -> str:
        """As --format csv prints it."""
        return str(self.render("csv"))

    def markdown(self) -> str:
        """As --format md prints it."""
        return str(self.render("md"))

    def text(self, width: int = 0, color: bool = False, utf8: bool = True) -> str:
        """As the program prints it; width shortens long names so that a line fits."""
        return str(self._engine.render("text", width=width, color=color, utf8=utf8))

    def __repr__(self) -> str:
        rows, names = len(self), self.columns
        some, kept = self._shown()
        shown = len(some)
        cells = [[_show(row[at]) for at in kept] for row in some]
        text = _grid([names[at] for at in kept], [self.schema[at]["type"] != "text" for at in kept], cells, _terminal_width())
        more = "\n... %d more rows" % (rows - shown) if shown < rows else ""
        if len(kept) < len(names):
            more += "\nno values: %s" % ", ".join(name for at, name in enumerate(names) if at not in kept)
        said = "%s\n\n" % self.verdict if self._opens else ""
        return "%s<rankscope.Table %s, %d rows x %d columns>\n%s%s" % (said, self.name, rows, len(names), text, more)

    @property
    def _opens(self) -> bool:
        """Whether it is what the run shows first, and begins with its verdict."""
        return self._result is not None and self._result.table is self and self.verdict is not None

    def _shown(self) -> Tuple[List[List[Any]], List[int]]:
        """The rows that are shown, and the places of the columns that have a value in one of them."""
        rows = len(self)
        some = [list(row.values()) for row in self._rows(0, rows if rows <= 2 * _SHOWN_ROWS else _SHOWN_ROWS)]
        kept = [at for at in range(len(self.schema)) if any(row[at] is not None for row in some)]
        return some, kept if kept else list(range(len(self.schema)))

    def _repr_html_(self) -> str:
        from html import escape
        rows = len(self)
        some, kept = self._shown()
        schema, shown = [self.schema[at] for at in kept], len(some)
        right = [' style="text-align: right"' if column["type"] != "text" else ' style="text-align: left"' for column in schema]
        out = ["<p>%s</p>" % escape(str(self.verdict))] if self._opens else []
        out += ['<table class="rankscope"><caption style="text-align: left">%s &#8212; %s; %d rows</caption><thead><tr>'
               % (escape(self.name), escape((self.help or "").rstrip(".")), rows)]
        for column, align in zip(schema, right):
            unit = " (%s)" % column["unit"] if column["unit"] else ""
            out.append("<th%s title=\"%s\">%s</th>" % (align, escape((column["help"] or "") + unit), escape(column["name"])))
        out.append("</tr></thead><tbody>")
        for row in some:
            out.append("<tr>")
            for value, align in zip([row[at] for at in kept], right):
                full = ' title="%s"' % escape(value) if isinstance(value, str) and len(value) > _SHOWN_TEXT else ""
                out.append("<td%s%s>%s</td>" % (align, full, escape(_show(value))))
            out.append("</tr>")
        if shown < rows:
            out.append('<tr><td colspan="%d">&#8230; %d more rows</td></tr>' % (len(schema), rows - shown))
        out.append("</tbody></table>")
        return "".join(out)


def _terminal_width() -> int:
    import shutil
    return max(40, shutil.get_terminal_size((120, 24)).columns)


class Summary(Table):
    """What `job.summary()` gives: the table of ranks, shown as the program's whole first screen. `verdict` is what is wrong with
    the job, `findings` are what to look at first; the table of the findings is `summary.tables["findings"]`."""

    __slots__ = ()

    @property
    def findings(self) -> List[str]:
        """What to look at, the weightiest first, a sentence or more each."""
        return [in_python(text) for text in self.tables["findings"].column("finding")]

    def screen(self, width: int = 0, color: bool = False, utf8: bool = True) -> str:
        """The first screen: where the time goes, the slowest rank, what to look at first."""
        text = self._engine.answer("summary", None, width=width, color=color, utf8=utf8)
        verdict, blank, numbers = text.partition("\n\n") if self.verdict else ("", "", text)
        numbers, title, findings = numbers.partition("\nWhat to look at first")  # names of kernels stay as they are
        return in_python(verdict).replace(" PATH...", "") + blank + numbers + title + in_python(findings)

    def __str__(self) -> str:
        return self.screen(width=_terminal_width())

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        from html import escape
        return '<pre class="rankscope" style="line-height: 1.2">%s</pre>' % escape(self.screen(width=100))


class Result:
    """All tables of one run, what was wrong with its input and what is merely absent."""

    __slots__ = ("tables", "main", "problems", "notes", "found", "verdicts", "late", "_page", "__weakref__")

    _page: Optional[Tuple[str, List[str]]]  # what a page with this answer alone is of, and of which inputs
    tables: Dict[str, Table]
    main: str
    problems: List[Dict[str, Any]]
    notes: List[str]
    found: bool
    verdicts: List[Verdict]  # what is wrong with the job, or would help it, the most important first
    late: List[Dict[str, Any]]  # ranks that come late to collectives because of a culprit: rank, because_of, wait_us, of_cause_us

    def __init__(self, engine_result: native.Result) -> None:
        self.tables = {name: Table(table, self) for name, table in engine_result.tables.items()}
        self.main = engine_result.main
        self.problems = engine_result.problems
        self.notes = [in_python(note) for note in engine_result.notes]
        self.found = engine_result.found
        self.verdicts = [Verdict(values) for values in engine_result.verdicts]
        self.late = engine_result.late
        self._page = None

    @property
    def verdict(self) -> Optional[Verdict]:
        """The most important verdict: what every command that speaks of the job begins with. None: the job was not judged."""
        return self.verdicts[0] if self.verdicts else None

    @property
    def table(self) -> Table:
        """The main table."""
        return self.tables[self.main]

    def __getitem__(self, name: str) -> Table:
        if name not in self.tables:
            raise UsageError("there is no table \"%s\"; there is %s" % (name, ", ".join(self.tables)))
        return self.tables[name]

    def write_trace(self, path: str | os.PathLike[str], *, compress: bool = False, keep_all: bool = False) -> None:
        """Writes the trace again with what these tables say of its events: the counters of `annotate`, the path of
        `critical_path(overlay=...)`, the marks of `sequences(overlay=...)`. Packed if the name ends in .gz or .zst.

        compress: unmarked events of `sequences` lose their arguments and get short names
        keep_all: events off the critical path stay too

        The tables must be of one file; several need one call each on a job of one rank."""
        path = os.fspath(path)
        files = list(dict.fromkeys(self["files"].column("file")))
        if len(files) != 1:
            raise UsageError("%s is one file, and the tables are of %d: open one rank" % (path, len(files)))
        part = path + ".part"
        try:
            truncated = self["files"]._engine.rewrite(files[0], part, path, compress=compress, keep_all=keep_all)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise
        if truncated:
            warnings.warn("%s breaks off; %s holds what could be read" % (files[0], path), InputWarning, stacklevel=2)

    def __repr__(self) -> str:
        return "<rankscope.Result %s>" % ", ".join("%s: %d rows" % (name, len(table)) for name, table in self.tables.items())

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
