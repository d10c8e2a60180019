"""Jobs, and a method for every analysis of the registry."""
import os
import warnings
from typing import List, Optional

from . import _engine, _settings, sources as _sources
from ._progress import progress as _progress
from ._table import Result, Summary, Table
from ._words import in_python, python_name
from .errors import InputWarning, UsageError

REGISTRY = {row["name"]: row for row in _engine.analyses()}
# What open takes beside its own, as an analysis takes options. The first, --compat, is that of an analysis.
SETTINGS = {"name": "open", "options": _engine.job_options()[1:]}

_SLICE, _SHARE = _engine.slice_options()
# The options of Job.slice and Job.share, as an analysis has them. A map is a path, and no setting.
SLICE = {"name": "slice", "options": _SLICE}
SHARE = {"name": "share", "options": [spec for spec in _SHARE if spec["name"] != "map"]}
SHARED = {"name": "share", "options": SHARE["options"] + SLICE["options"]}


def make_options(row, given):
    """Keyword arguments as the engine's options."""
    specs = {python_name(spec["name"]): spec for spec in row["options"]}
    options = {}
    for name, value in given.items():
        if name not in specs:
            own = {"open": ["keep", "storage_options", "progress"], "slice": ["table", "progress"],
                   "share": ["map", "table", "progress"]}.get(row["name"], ["compat", "table", "progress", *PARTS])
            from difflib import get_close_matches
            close = get_close_matches(name, list(specs) + own, 1)
            raise TypeError("%s() got an unexpected keyword argument '%s'%s" % (
                python_name(row["name"]), name, "; did you mean %s?" % close[0] if close else ""))
        text = _settings.option(specs[name], name, value)
        if text != ():
            options[specs[name]["name"]] = text
    return options


# What part of a job one call may ask about, as open takes them for all calls.
PARTS = ("ranks", "steps", "window")


def take_selection(row, given):
    """Takes ranks, steps and window out of the keyword arguments: the engine's texts, or None: as the job was opened."""
    own = {python_name(spec["name"]) for spec in row["options"]}
    specs = {spec["name"]: spec for spec in SETTINGS["options"]}
    texts: List[Optional[str]] = [None, None, None]
    for at, name in enumerate(PARTS):
        value = None if name in own else given.pop(name, None)
        if value is None:
            continue
        if name == "window" and isinstance(value, (tuple, list)) and len(value) == 2:
            value = "%s-%s" % tuple(repr(end) if isinstance(end, float) else end for end in value)
        texts[at] = _settings.option(specs[name], name, value)
    return (texts[0], texts[1], texts[2]) if any(text is not None for text in texts) else None


def make_settings(keep=True, jobs=None, **given):
    """What open takes in addition to the source, as the engine's settings. jobs: 0 is the default, too."""
    return {"keep": bool(keep), "keep_memory": _settings.keep_memory(keep),
            "options": make_options(SETTINGS, dict(given, jobs=jobs or None))}


def open_job(source, *, keep=True, storage_options=None, progress="auto", **settings):
    """Opens the traces of one training run; no path is read before the first analysis.

    source: a path (a file, a directory, a pattern like "traces/*.gz"), a URL (s3://, gs://, https://, ..., through
        fsspec; large ones by ranges), the bytes of a file (not copied), any other buffer (copied once), a file object (read
        whole), several of these, or a dict {rank: one of these}
    keep: keep what was loaded for the next analysis: True (up to half of the memory), False, or a size like "8G"
    storage_options: what fsspec needs for URLs, such as {"anon": True}
    progress: "auto" (a line on a terminal or in a notebook when reading takes long), True, False, or a function of
        (bytes done, bytes in all) that may return False to stop"""
    chosen = make_settings(keep=keep, **settings)
    paths, files = _sources.resolve(source, recursive=settings.get("recursive", False), storage_options=storage_options)
    _sources.fetch(files)
    return Job(paths, files, chosen, progress)


def warn(problems, stacklevel):
    """Warns the user where part of the input was lost."""
    for problem in problems:
        if problem["severity"] != "note":
            where = problem["file"] or "input"
            detail = " (%s)" % problem["detail"] if problem["detail"] else ""
            times = ", %d times" % problem["count"] if problem["count"] > 1 else ""
            warnings.warn("%s: %s%s%s" % (where, in_python(problem["message"]), detail, times), InputWarning, stacklevel=stacklevel + 1)


def finish(engine_result, stacklevel):
    """The Result of an engine's, with a warning where part of the input was lost."""
    result = Result(engine_result)
    warn(result.problems, stacklevel + 1)
    return result


def _check_jobs(row, n_others):
    """Whether an analysis takes so many jobs in addition to the first."""
    name = row["name"]
    if row["input"] == "two_jobs" and n_others != 1:
        raise UsageError("%s compares two jobs: rankscope.%s(a, b)" % (name, name))
    if row["input"] == "jobs" and not n_others:
        raise UsageError("%s compares two jobs or more: rankscope.%s(a, b, ...)" % (name, name))
    if row["input"] in ("traces", "recordings") and n_others:
        raise UsageError("%s takes one job" % name)


def _names(value):
    """One name or several, as the engine takes them."""
    return value if value is None or isinstance(value, str) else ",".join(value)


def _joined(options):
    """Lists of names as the texts that the engine takes."""
    return {key: ",".join(map(str, value)) if isinstance(value, (list, tuple)) and key in ("categories", "without", "threads") else value
            for key, value in options.items()}


def choose(result, name):
    return result.table if name is None else result[name]


def find(name):
    row = REGISTRY.get(name) or REGISTRY.get(name.replace("_", "-"))
    if row is None:
        from difflib import get_close_matches
        close = get_close_matches(name, REGISTRY, 1)
        raise UsageError("there is no analysis \"%s\"%s" % (name, "; did you mean %s?" % close[0] if close else ""))
    return row


def _engine_job(name, job):
    """What the engine knows of a job that another is compared with."""
    if not isinstance(name, str) or not name or "," in name:
        raise UsageError("others takes {name: job}; %r is no name: a text without a comma" % (name,))
    if not isinstance(job, Job):
        raise UsageError("others takes {name: job}; %s is %r" % (name, type(job).__name__))
    return job._job


class Job:
    """The traces of one training run, made by rankscope.open. Every analysis is a method; `help(job.kernels)`
    explains one. A job may be used from several threads; its runs then take turns.

    It is a context manager: leaving it, or close(), frees what is loaded."""

    def __init__(self, paths, files, settings, progress):
        self._job = _engine.Job(paths, None, "", settings)
        for file in files:
            self._job.add(file.name, file.data, file.rank, file.optional)
        self._progress = progress
        self._given = paths + [file.name for file in files]
        self._sources, self._settings = (paths, files), settings
        self._selected = settings["options"]
        self._name = ", ".join(paths + [file.name for file in files])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return "<rankscope.Job %s%s>" % (self._name, " (closed)" if self._job.closed else "")

    def close(self):
        """Frees what is loaded. Tables stay usable."""
        self._job.close()
        self._sources = (self._sources[0], [])

    def stats(self):
        """What the loads cost so far: bytes read, events, seconds."""
        return self._job.stats()

    def run(self, name, *, compat=None, progress=None, **options):
        """Runs an analysis by name; returns the Result with all its tables.

        compat: "hta", "hta-exact", "tracelens", "aorta" or "straggler-analysis" for that tool's numbers and columns
        ranks, steps, window: the part of the job that this run asks about, as open takes them; what is loaded stays"""
        return self._run(name, compat, progress, options, 2)

    def _run(self, name, compat, progress, options, stacklevel, others=()):
        row = find(name)
        options = dict(options)
        select = take_selection(row, options)
        given = make_options(row, options)
        _check_jobs(row, len(others))
        with _progress(self._progress if progress is None else progress, "reading") as call:
            if others:
                jobs = (self._job,) + tuple(other._job for other in others)
                result = _engine.run_jobs(jobs, row["name"], given, compat, call, select)
            else:
                result = self._job.run(row["name"], given, compat, call, select)
        return finish(result, stacklevel + 1)

    def sql(self, query, *, others=None, timeout=None, max_memory=None, progress=None):
        """Asks the job in SQL: events, their arguments, and every analysis as a table (docs/sql.md). Returns a table, one row a
        row of the answer.

        query: one statement of SQLite's dialect, which only reads
        others: jobs that this one is compared with, {name: job}: then compare('1', name), diff and regress are tables, too; this
            job is input '1'
        timeout: seconds after which it is stopped
        max_memory: bytes that it may take in addition to the events, 1 GiB by default"""
        if timeout is not None and not timeout > 0:
            raise UsageError("timeout takes seconds, more than 0, not %r" % (timeout,))
        if max_memory is not None and max_memory < 1:
            raise UsageError("max_memory takes bytes, 1 or more, not %r" % (max_memory,))
        settings = {"timeout": None if timeout is None else float(timeout), "max_memory": max_memory}
        compared = tuple((name, _engine_job(name, job)) for name, job in dict(others or {}).items())
        with _progress(self._progress if progress is None else progress, "reading") as call:
            result = finish(self._job.sql(query, settings, call, compared), 2)
        return choose(result, None)

    def stack(self, event, rank=None, *, args=None, progress=None):
        """The stack of an event: a table with the event, then what is around it or launched it, outwards, from a kernel over its
        launch and operators to annotations and Python calls; the columns are those of `frame(calls=True)`.

        event: a row of `frame`, `events` or another table that has rank and index or position, or the index alone
        rank: of an index, where the job has several
        args: further arguments as columns, as in `frame`"""
        if isinstance(event, dict):
            place = event.get("index", event.get("position"))
            if place is None:
                raise UsageError("the row has no index and no position: which event is it?")
            event, rank = place, event.get("rank") if rank is None else rank
        options = {"stack": int(event), "args": args}
        if rank is not None:
            options["of"] = int(rank)
        table = self._run("frame", None, progress, options, 2).table
        if len(set(table["rank"])) > 1:
            raise UsageError("there are several ranks: stack(%d, rank=...)" % int(event))
        places = {index: place for place, index in enumerate(table["index"])}
        if int(event) not in places:
            raise UsageError("no complete event is at position %d%s" % (int(event), "" if rank is None else " of rank %d" % int(rank)))
        order, parents = [places[int(event)]], table["parent"]
        while len(order) < len(table) and parents[order[-1]] is not None:
            order.append(places[parents[order[-1]]])
        return table.take(order)

    def frames(self, **options):
        """The frame of one rank after another, so that one rank at a time is in memory, and only what is asked for is read:
        `frames()[3]`, or `for table in job.frames(): ...`. Each is what `frame(ranks=rank)` gives: times count from the rank's
        own first event.

        options: those of `frame`"""
        from ._frames import Frames
        if self._job.closed:
            raise UsageError("the job is closed")
        return Frames(self._sources, self._settings, options, self._progress)

    def fuse(self, path, *, categories=None, without=None, clocks="ends", max_events=None, progress=None):
        """Writes all ranks as one trace that a viewer opens, packed if the name ends in .gz or .zst; returns a table, one
        row a rank.

        categories, without: only events of these categories, or none of these: a name or several
        clocks: "ends" corrects clocks so that collectives end together, "likely" and "certain" by the intervals of clocks(),
            "file" goes by the files alone
        max_events: about that many events of all ranks, the most informative ones"""
        if clocks not in ("ends", "likely", "certain", "file"):
            raise UsageError("clocks takes \"ends\", \"likely\", \"certain\" or \"file\", not %r" % (clocks,))
        if max_events is not None and max_events < 1:
            raise UsageError("max_events takes 1 or more, not %r" % (max_events,))
        settings = {"categories": _names(categories), "without": _names(without), "align": clocks != "file",
                    "clocks": None if clocks == "file" else clocks, "max_events": max_events}
        return choose(self._write(self._job.fuse, path, os.fspath(path), settings, progress), None)

    def slice(self, path, *, table=None, progress=None, **options):
        """Writes a part of the job as a trace of its own: of what open selected (ranks, steps, window) the events for which
        all options hold, with what they need to be understood. Returns a table, one row a rank; table="left_out" says what is
        not there.

        path: the trace, packed if the name ends in .gz or .zst, Perfetto's own form if in .pftrace; or a folder (a name that
            ends in /), which gets a file a rank"""
        return self._slice(path, make_options(SLICE, _joined(options)), None, None, table, progress)

    def share(self, path, *, map=None, table=None, progress=None, **options):
        """Writes what slice writes without names of people, hosts, paths and scripts: the same name becomes the same other one
        everywhere, times and numbers stay. Returns a table, one row a rank; table="removed" says what was replaced and left out.

        path: as slice takes it
        map: a file for what replaces what; keep it for yourself"""
        given, names = make_options(SHARED, _joined(options)), {spec["name"] for spec in SHARE["options"]}
        private = {name: given.pop(name) for name in names & set(given)}
        return self._slice(path, given, private, map, table, progress)

    def _slice(self, path, given, share, map, table, progress):
        path = os.fspath(path)
        each = os.path.isdir(path) or os.fsdecode(path).endswith("/")
        self._check_target(map)
        if not each:
            self._check_target(path)
        if each:
            os.makedirs(path, exist_ok=True)
            path = path.rstrip(b"/" if isinstance(path, bytes) else "/") or path
        with _progress(self._progress if progress is None else progress, "reading") as call:
            result = finish(self._job.slice(path, each, given, share, map, call), 3)
        return choose(result, table)

    def _check_target(self, path):
        """An answer never replaces an input."""
        if path is None or not os.path.exists(path):
            return
        for name in (file[0] for file in self._job.files()):
            if os.path.exists(name) and os.path.samefile(name, path):
                raise UsageError("%s is one of the inputs, which an answer never replaces; give another name" % (path,))

    def report(self, path, *, flight=(), metrics=None, memory=(), progress=None):
        """Writes the report: one HTML file with the main answers, which opens from disk and needs no network.

        flight: flight-recorder dumps (a path or several) whose verdict it shows, too
        metrics: {label: directory} of rank metrics; the second is compared with the first
        memory: snapshots of PyTorch's allocator (a path or several): who holds the GPU's memory"""
        metrics = dict(metrics or {})
        dumps, snapshots = ([given] if isinstance(given, (str, os.PathLike)) else list(given) for given in (flight, memory))
        settings = {"inputs": list(self._given), "flight": dumps, "memory": snapshots,
                    "labels": list(metrics), "directories": list(metrics.values()), "ranks": self._selected.get("ranks"),
                    "steps": self._selected.get("steps")}
        self._write(self._job.report, path, None, settings, progress)

    def _write(self, write, path, name, settings, progress):
        path = os.fspath(path)
        part = path + ".part"
        try:
            with _progress(self._progress if progress is None else progress, "reading") as call:
                result = finish(write(part, name, settings, call), 3)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise
        return result

    @property
    def plot(self):
        """Pictures: plot.breakdown(), .steps(), .timeline(), .roofline(), .heatmap() give plotly figures."""
        from ._plot import Plots
        return Plots(self)  # pyright: ignore[reportArgumentType]  # the stub's Job is this one

    def _repr_html_(self):
        from html import escape
        if self._job.closed:
            return "<pre>%s</pre>" % escape(repr(self))
        names = [file[0] for file in self._job.files()]
        shown = "".join("<li>%s</li>" % escape(str(name)) for name in names[:20])
        more = "<li>&#8230; %d more</li>" % (len(names) - 20) if len(names) > 20 else ""
        return ("<div class=\"rankscope\"><b>rankscope job</b>, %d file%s<ul>%s%s</ul>"
                "<code>job.summary()</code> says where the time goes, <code>job.plot.breakdown()</code> draws it.</div>"
                % (len(names), "" if len(names) == 1 else "s", shown, more))

    @property
    def ranks(self):
        """The ranks of the job."""
        return self._run("info", None, None, {}, 2)["ranks"].column("rank")

    @property
    def events(self):
        """All events as a table, loaded when first looked at; `job.events(where="cat=kernel", limit=10)` selects."""
        return Events(self)


class Events(Table):
    """The table of all events. Called, it runs the analysis `events` with its options."""

    __slots__ = ("_job",)

    def __init__(self, job):
        super().__init__(None)
        self._job = job

    @property
    def _engine(self):
        if self._given is None:
            table = self._job._run("events", None, None, {}, 4).table
            self._given, self._result = table._given, table._result
        return self._given

    @property
    def result(self):
        """The run's Result."""
        return self._engine and self._result

    @property
    def tables(self):
        """All tables of the same run, by name."""
        return self.result.tables

    @property
    def problems(self):
        """What was wrong with the input."""
        return self.result.problems

    @property
    def notes(self):
        """Why something is absent."""
        return self.result.notes


# ---- functions of other inputs ------------------------------------------------------------------------------------


def _between(name, sources, compat, table, progress, options):
    """Runs an analysis of several jobs over jobs, or sources that open takes."""
    jobs = []
    try:
        for source in sources:
            jobs.append(source if isinstance(source, Job) else open_job(source, keep=False))
        result = jobs[0]._run(name, compat, progress, options, 3, jobs[1:])
        if name == "compare":
            result._page = ("comparison", [" ".join(job._given) for job in jobs])
        return choose(result, table)
    finally:
        for job, source in zip(jobs, sources):
            if job is not source:
                job.close()


class Page:
    """The report as a notebook shows it: in a frame of its own. `html` is the whole page, save(path) writes it."""

    __slots__ = ("html", "height")

    def __init__(self, text, height):
        self.html, self.height = text, height

    def save(self, path):
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self):
        return "<rankscope.Page, %d bytes: a notebook shows it, save(path) writes it>" % len(self.html)

    def _repr_html_(self):
        from html import escape
        return "<iframe style=\"width: 100%%; height: %dpx; border: 0\" srcdoc=\"%s\"></iframe>" % (self.height, escape(self.html))


def _page_of(result, height):
    if result is None or result._page is None:
        raise UsageError("there are pages of jobs, of what rankscope.compare() gives and of what rankscope.regress.history() gives")
    return Page(result.table._engine.page(*result._page), height)


def report(source, *, height=800, flight=(), metrics=None, memory=(), progress=None):
    """The report of a job, or of a source that open takes, for a notebook: what Job.report writes into a file. Of what rankscope.compare
    or rankscope.regress.history gives it is a page with that answer alone.

    height: of the frame, in pixels"""
    import tempfile
    if isinstance(source, (Result, Table)):
        return _page_of(source if isinstance(source, Result) else source._result, int(height))
    job = source if isinstance(source, Job) else open_job(source, keep=False)
    try:
        with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:
            path = os.path.join(folder, "report.html")
            job.report(path, flight=flight, metrics=metrics, memory=memory, progress=progress)
            with open(path, encoding="utf-8") as file:
                return Page(file.read(), int(height))
    finally:
        if job is not source:
            job.close()


def diff(a, b, *, compat=None, table=None, progress=None, **options):
    """Compares two jobs, or two sources that open takes: a is what is compared with, b what is judged."""
    return _between("diff", (a, b), compat, table, progress, options)


def compare(a, *others, compat=None, table=None, progress=None, **options):
    """Compares any number of jobs, or sources that open takes, with the first of them."""
    return _between("compare", (a,) + others, compat, table, progress, options)


def memory(source, *, compat=None, table=None, progress=None, **options):
    """Who holds the GPU's memory; source as open takes it: snapshots of PyTorch's allocator (a folder is a job), traces, or a
    memory timeline."""
    with open_job(source, keep=False) as job:
        return choose(job._run("memory", compat, progress, options, 2), table)


def _slice_of(name, source, path, last, options):
    """Job.slice or Job.share of what is opened for it. What is no option of these is a setting of open."""
    own = {python_name(spec["name"]) for row in (SLICE, SHARE) for spec in row["options"]}
    settings = {key: options.pop(key) for key in set(options) - own}
    if isinstance(source, Job):
        if settings:
            raise UsageError("%s: the job is open already: give %s to open" % (name, ", ".join(sorted(settings))))
        return getattr(source, name)(path, **last, **options)
    with open_job(source, keep=False, **settings) as job:
        return getattr(job, name)(path, **last, **options)


def slice_job(source, path, *, table=None, progress=None, **options):
    """Writes a part of a job, or of a source that open takes, as a trace of its own: Job.slice. Settings of open, such as steps,
    ranks and window, select, too."""
    return _slice_of("slice", source, path, {"table": table, "progress": progress}, options)


def share_job(source, path, *, map=None, table=None, progress=None, **options):
    """Writes a job, or a source that open takes, without names of people, hosts, paths and scripts: Job.share. Settings of open
    select, too."""
    return _slice_of("share", source, path, {"map": map, "table": table, "progress": progress}, options)


# ---- methods from the registry -----------------------------------------------------------------------------------


def default_of(spec):
    """An option's default as Python shows it."""
    if spec["type"] == "flag":
        return False
    if spec["default"] is None:
        return None
    if spec["type"] == "int":
        return int(spec["default"])
    if spec["type"] == "real":
        return float(spec["default"])
    return spec["default"]


def _wrap(text, first="", rest=""):
    from textwrap import fill
    return fill(in_python(text), 100, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def document_options(row):
    """A line or more an option."""
    lines = []
    for spec in row["options"]:
        choices = "; one of " + ", ".join(spec["choices"]) if spec["choices"] else ""
        lines.append(_wrap(spec["help"] + choices, "    %s: " % python_name(spec["name"]), " " * 8))
    return lines


def document(row):
    """The docstring of an analysis' method."""
    lines = [in_python(row["help"][:1].upper() + row["help"][1:]) + ".", ""]
    for paragraph in (row["about"] or "").strip().split("\n\n"):
        if paragraph:
            lines += [_wrap(paragraph), ""]
    if row["options"]:
        lines += ["Options:"] + document_options(row) + [""]
    modes = [mode for mode in row["tables"] if mode]
    if modes:
        lines += ["compat: " + ", ".join(modes) + " give that tool's numbers and columns.", ""]
    for table in row["tables"][""]:
        lines.append(_wrap("Table %s: %s" % (table["name"], table["help"]), "", "    "))
        for column in table["columns"]:
            unit = " [%s]" % column["unit"] if column["unit"] else ""
            lines.append(_wrap(column["help"] or "", "    %s%s: " % (column["name"], unit), " " * 8))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def make_signature(row, first, last=(("compat", None), ("table", None), ("progress", None), ("ranks", None), ("steps", None), ("window", None))):
    """The signature of an analysis' method."""
    import inspect
    own = {python_name(spec["name"]) for spec in row["options"]}
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    positional, several = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    parameters = [inspect.Parameter(name.lstrip("*"), several if name[0] == "*" else positional) for name in first]
    for spec in row["options"]:
        parameters.append(inspect.Parameter(python_name(spec["name"]), keyword_only, default=default_of(spec)))
    for name, default in last:
        if name in own:
            continue
        parameters.append(inspect.Parameter(name, keyword_only, default=default))
    return inspect.Signature(parameters)


def _make_method(row):
    name = row["name"]

    def method(self, *, compat=None, table=None, progress=None, **options):
        result = self._run(name, compat, progress, options, 2)
        if name == "summary" and table is None and compat is None:
            return Summary(result.table._given, result)
        return choose(result, table)

    return method


def _make_pair_method(row):
    name = row["name"]

    def method(self, other, *, compat=None, table=None, progress=None, **options):
        return choose(self._run(name, compat, progress, options, 2, (other,)), table)

    return method


def _make_many_method(row):
    name = row["name"]

    def method(self, *others, compat=None, table=None, progress=None, **options):
        return choose(self._run(name, compat, progress, options, 2, others), table)

    return method


class _Later:
    """A method that gets its signature and docstring at the first access: most of what these take is text, and
    whoever imports the package asks for a few of them. The method then takes this one's place."""

    def __init__(self, owner, name, make, *arguments):
        self._owner, self._name, self._make, self._arguments = owner, name, make, arguments
        setattr(owner, name, self)

    def __get__(self, instance, owner=None):
        method = self._make(*self._arguments)
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)


def _document(method, owner, name, row, first):
    method.__name__, method.__qualname__ = name, "%s.%s" % (owner.__name__, name)
    method.__module__ = __name__
    method.__doc__ = document(row)
    method.__signature__ = make_signature(row, first)
    return method


def _make_documented(row, name):
    make, first = {"two_jobs": (_make_pair_method, ("self", "other")), "jobs": (_make_many_method, ("self", "*others"))}.get(
        row["input"], (_make_method, ("self",)))
    return _document(make(row), Job, name, row, first)


def _make_call(row):
    def __call__(self, *, compat=None, table=None, progress=None, **options):
        return choose(self._job._run(row["name"], compat, progress, options, 2), table)

    return _document(__call__, Events, "__call__", row, ("self",))


def _document_writer(function, row, first, about):
    """Slice and share, as methods and as functions. about: their docstring without the options."""
    import inspect
    last = (("map", None),) if row is SHARED else ()
    more = [spec for spec in SETTINGS["options"] if spec["name"] not in {one["name"] for one in row["options"]}]
    whole = dict(row, options=row["options"] + (more if "source" in first else []))
    function.__doc__ = inspect.cleandoc(about or "") + "\n\nOptions:\n" + "\n".join(document_options(row)) + "\n"
    function.__signature__ = make_signature(whole, first, last + (("table", None), ("progress", None)))
    return function


def _document_pair(function, row, first, about):
    function.__doc__ = (about or "") + "\n\n" + document(row)
    function.__signature__ = make_signature(row, first)
    return function


def _document_open(function, row, first, about):
    function.__doc__ = (about or "") + "\n\n" + "\n".join(["Settings:"] + document_options(row)) + "\n"
    function.__signature__ = make_signature(row, first, (("keep", True), ("storage_options", None), ("progress", "auto")))
    return function


for _row in REGISTRY.values():
    if _row["input"] != "file" and _row["name"] != "events":
        _Later(Job, python_name(_row["name"]), _make_documented, _row, python_name(_row["name"]))
_Later(Events, "__call__", _make_call, REGISTRY["events"])
for _name, _row in (("slice", SLICE), ("share", SHARED)):
    _method = getattr(Job, _name)
    _Later(Job, _name, _document_writer, _method, _row, ("self", "path"), _method.__doc__)

# The package's functions; documented gives them when somebody asks the package for them.
_FUNCTIONS = {"open": open_job, "slice": slice_job, "share": share_job, "diff": diff, "compare": compare, "memory": memory}
_WAITING = {
    "open": (_document_open, SETTINGS, ("source",), open_job.__doc__),
    "slice": (_document_writer, SLICE, ("source", "path"), slice_job.__doc__),
    "share": (_document_writer, SHARED, ("source", "path"), share_job.__doc__),
    "diff": (_document_pair, REGISTRY["diff"], ("a", "b"), diff.__doc__),
    "compare": (_document_pair, REGISTRY["compare"], ("a", "*others"), compare.__doc__),
    "memory": (_document_pair, REGISTRY["memory"], ("source",), memory.__doc__)}
for _name, _function in _FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name


def documented(name):
    """A function of the package with its whole docstring and signature."""
    make, row, first, about = _WAITING[name]
    return make(_FUNCTIONS[name], row, first, about)
