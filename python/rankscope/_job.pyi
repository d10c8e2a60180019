# Made by scripts/write-stubs from the registry: do not edit.
from types import TracebackType
from typing import Any, Dict, List, Literal, Optional, Sequence, Tuple, Type, Union

from ._frames import Frames
from ._plot import Plots
from ._settings import Path, Progress, Ranges, Size
from ._table import Result, Summary, Table
from .sources import File

Window = Union[str, Tuple[float, float], None]
Text = Union[str, Path, int, float, Sequence[Union[str, int, float]]]

REGISTRY: Dict[str, Dict[str, Any]]
SETTINGS: Dict[str, Any]

def python_name(name: str) -> str: ...
def find(name: str) -> Dict[str, Any]: ...
def make_options(row: Dict[str, Any], given: Dict[str, Any]) -> Dict[str, Optional[str]]: ...
def make_settings(keep: Union[bool, int, str] = True, jobs: Optional[int] = None, **given: Any) -> Dict[str, Any]: ...
def document(row: Dict[str, Any]) -> str: ...
def documented(name: str) -> Any: ...
def warn(problems: List[Dict[str, Any]], stacklevel: int) -> None: ...
def finish(engine_result: Any, stacklevel: int) -> Result: ...
def choose(result: Result, name: Optional[str]) -> Table: ...

class Job:
    """The traces of one training run, made by rankscope.open. Every analysis is a method; `help(job.kernels)`
    explains one. A job may be used from several threads; its runs then take turns.

    It is a context manager: leaving it, or close(), frees what is loaded."""

    _sources: Tuple[List[str], List[File]]
    _settings: Dict[str, Any]

    def __init__(self, paths: List[str], files: List[File], settings: Dict[str, Any], progress: Progress) -> None: ...
    def __enter__(self) -> Job: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...
    def close(self) -> None:
        """Frees what is loaded. Tables stay usable."""
    def stats(self) -> Dict[str, Any]:
        """What the loads cost so far: bytes read, events, seconds."""
    def run(self, name: str, *, compat: Optional[str] = None, progress: Progress = None, ranks: Ranges = None,
            steps: Ranges = None, window: Window = None, **options: Any) -> Result:
        """Runs an analysis by name; returns the Result with all its tables.

        compat: "hta", "hta-exact", "tracelens", "aorta" or "straggler-analysis" for that tool's numbers and columns
        ranks, steps, window: the part of the job that this run asks about, as open takes them; what is loaded stays"""
    def sql(self, query: str, *, others: Optional[Dict[str, "Job"]] = None, timeout: Optional[float] = None,
            max_memory: Optional[int] = None, progress: Progress = None) -> Table:
        """Asks the job in SQL: events, their arguments, and every analysis as a table (docs/sql.md). Returns a table, one row a
        row of the answer.

        query: one statement of SQLite's dialect, which only reads
        others: jobs that this one is compared with, {name: job}: then compare('1', name), diff and regress are tables, too; this
        job is input '1'
        timeout: seconds after which it is stopped
        max_memory: bytes that it may take in addition to the events, 1 GiB by default"""
    def stack(self, event: Union[int, Dict[str, Any]], rank: Optional[int] = None, *, args: Optional[Text] = None,
              progress: Progress = None) -> Table:
        """The stack of an event: a table with the event, then what is around it or launched it, outwards, from a kernel over its
        launch and operators to annotations and Python calls; the columns are those of `frame(calls=True)`.

        event: a row of `frame`, `events` or another table that has rank and index or position, or the index alone
        rank: of an index, where the job has several
        args: further arguments as columns, as in `frame`"""
    def frames(self, **options: Any) -> Frames:
        """The frame of one rank after another, so that one rank at a time is in memory, and only what is asked for is read:
        `frames()[3]`, or `for table in job.frames(): ...`. Each is what `frame(ranks=rank)` gives: times count from the rank's
        own first event.

        options: those of `frame`"""
    def fuse(self, path: Path, *, categories: Union[None, str, Sequence[str]] = None,
             without: Union[None, str, Sequence[str]] = None, clocks: Literal["ends", "likely", "certain", "file"] = "ends",
             max_events: Optional[int] = None, progress: Progress = None) -> Table:
        """Writes all ranks as one trace that a viewer opens, packed if the name ends in .gz or .zst; returns a table, one
        row a rank.

        categories, without: only events of these categories, or none of these: a name or several
        clocks: "ends" corrects clocks so that collectives end together, "likely" and "certain" by the intervals of clocks(),
        "file" goes by the files alone
        max_events: about that many events of all ranks, the most informative ones"""
    def slice(self, path: Path, *,
        where: Optional[Text] = None,
        under: Optional[Text] = None,
        streams: Ranges = None,
        threads: Union[None, str, Sequence[str]] = None,
        categories: Union[None, str, Sequence[str]] = None,
        without: Union[None, str, Sequence[str]] = None,
        name: Optional[Text] = None,
        enclosing: Literal['cut', 'whole', 'none'] = 'cut',
        left_out: bool = False,
        clocks: Literal['ends', 'file'] = 'ends',
        table: Optional[Literal['slice', 'left_out']] = None,
        progress: Progress = None) -> Table:
        """Writes a part of the job as a trace of its own: of what open selected (ranks, steps, window) the events for which
        all options hold, with what they need to be understood. Returns a table, one row a rank; table="left_out" says what is
        not there.

        path: the trace, packed if the name ends in .gz or .zst, Perfetto's own form if in .pftrace; or a folder (a name that
            ends in /), which gets a file a rank

        Options:
            where: only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )
            under: only what is inside of events of this name (or of this condition), with the GPU work
                launched there
            streams: only GPU work of these streams: 7,20-23
            threads: only what these threads (tid) do, with the GPU work they launch
            categories: only events of these categories: kernel,cpu_op
            without: no events of these categories: python_function,Trace
            name: only events whose name contains it
            enclosing: events around the picked ones: cut to the time of steps or window, whole, or none;
                one of cut, whole, none
            left_out: the new trace says what was left out, by category (table left_out says it anyway)
            clocks: of several ranks: corrected so that collectives end together; or only by
                baseTimeNanoseconds; one of ends, file"""
    def share(self, path: Path, *,
        keep_names: bool = False,
        keep_values: bool = False,
        where: Optional[Text] = None,
        under: Optional[Text] = None,
        streams: Ranges = None,
        threads: Union[None, str, Sequence[str]] = None,
        categories: Union[None, str, Sequence[str]] = None,
        without: Union[None, str, Sequence[str]] = None,
        name: Optional[Text] = None,
        enclosing: Literal['cut', 'whole', 'none'] = 'cut',
        left_out: bool = False,
        clocks: Literal['ends', 'file'] = 'ends',
        map: Optional[Path] = None,
        table: Optional[Literal['slice', 'left_out', 'removed']] = None,
        progress: Progress = None) -> Table:
        """Writes what slice writes without names of people, hosts, paths and scripts: the same name becomes the same other one
        everywhere, times and numbers stay. Returns a table, one row a rank; table="removed" says what was replaced and left out.

        path: as slice takes it
        map: a file for what replaces what; keep it for yourself

        Options:
            keep_names: names of operators, kernels, annotations and modules stay; those of hosts, paths and
                scripts do not
            keep_values: numbers among the values of operators' inputs stay
            where: only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )
            under: only what is inside of events of this name (or of this condition), with the GPU work
                launched there
            streams: only GPU work of these streams: 7,20-23
            threads: only what these threads (tid) do, with the GPU work they launch
            categories: only events of these categories: kernel,cpu_op
            without: no events of these categories: python_function,Trace
            name: only events whose name contains it
            enclosing: events around the picked ones: cut to the time of steps or window, whole, or none;
                one of cut, whole, none
            left_out: the new trace says what was left out, by category (table left_out says it anyway)
            clocks: of several ranks: corrected so that collectives end together; or only by
                baseTimeNanoseconds; one of ends, file"""
    def report(self, path: Path, *, flight: Union[Path, Sequence[Path]] = (), metrics: Optional[Dict[str, Path]] = None, memory: Union[Path, Sequence[Path]] = (),
               progress: Progress = None) -> None:
        """Writes the report: one HTML file with the main answers, which opens from disk and needs no network.

        flight: flight-recorder dumps (a path or several) whose verdict it shows, too
        metrics: {label: directory} of rank metrics; the second is compared with the first
        memory: snapshots of PyTorch's allocator (a path or several): who holds the GPU's memory"""
    @property
    def plot(self) -> Plots:
        """Pictures: plot.breakdown(), .steps(), .timeline(), .roofline(), .heatmap() give plotly figures."""
    def _repr_html_(self) -> str: ...
    @property
    def ranks(self) -> List[int]:
        """The ranks of the job."""
    @property
    def events(self) -> Events:
        """All events as a table, loaded when first looked at; `job.events(where="cat=kernel", limit=10)` selects."""
    def annotate(self, *,
        counters: Text = 'queue,bandwidth',
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['counter_events', 'files']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Write the trace again with counter tracks: queue length, copy bandwidth.

        With -o FILE the trace is copied, every byte of every event kept, and counter events are appended
        that a viewer shows as tracks. The output's name decides its packing: .gz, .zst, else plain. Several
        ranks need a directory, -o DIR/, in which the files keep their names. Without -o the counter events
        are printed.

        Options:
            counters: which counters: queue (launches that wait, by stream), bandwidth (of copies)

        compat: hta, hta-exact give that tool's numbers and columns.

        Table counter_events: one row is one counter event to append to the trace
            rank [id]: rank
            ts_us [us]: when the counter changes, on the file's own clock
            pid [id]: process (device) the counter is listed under
            id [id]: stream; unknown where the counter is not of one stream
            name: name of the counter track
            series: name of the value in it
            value: from then on

        Table files: one row is one rank's file
            rank [id]: rank
            file: the file it was read from"""
    def annotations(self, *,
        by: Literal['annotation', 'kernel'] = 'annotation',
        from_: Optional[Literal['host', 'gpu']] = None,
        top: int = 1000,
        duration_ratio: float = 0.8,
        keep: Optional[Text] = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['annotations', 'kernels']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """GPU time under user annotations (record_function), nested ones separately.

        By default GPU work belongs to the annotations of the host that were open, on the launching thread,
        when it was launched. The own time counts each piece of work once, under its innermost annotation;
        the rest is in a row without a name, so that own times add up to the rank's GPU work. The GPU time
        of an annotation includes what is nested in it. What the autograd thread launches is also inside the
        annotation that waits for it, on the thread of that process with most annotations.

        With from_="gpu" the annotations are the profiler's gpu_user_annotation events, and work belongs to
        those of its stream that are open when it starts. Under compat="hta" the table is HTA's: lengths of
        these events, nested ones counted twice.

        Options:
            by: annotation: one row a name; kernel: the kernels under each; one of annotation, kernel
            from_: host: work launched inside the host's annotations (default); gpu: work inside the GPU's
                own (gpu_user_annotation), as HTA has it; one of host, gpu
            top: name at most N annotations of a rank; under compat="hta" num_kernels
            duration_ratio: only under compat="hta": its duration_ratio
            keep: only under compat="hta": names that contain one of these texts are never folded

        compat: hta, hta-exact give that tool's numbers and columns.

        Table annotations: one row is one annotation name of one rank
            rank [id]: rank
            name: annotation; unknown: under none. ProfilerStep#* represents all steps
            count [count]: how many times it is in the trace
            length_us [us]: sum of the annotations' own lengths
            mean_length_us [us]: mean length
            gpu_us [us]: sum of the durations of all GPU work inside, nested annotations included; each
                piece once a name
            gpu_pct [percent]: gpu_us of the rank's GPU work
            gpu_events [count]: pieces of GPU work inside
            own_us [us]: the same of work whose innermost annotation it is: these add up to the rank's GPU
                work
            own_pct [percent]: own_us of the rank's GPU work
            own_events [count]: pieces of GPU work whose innermost annotation it is
            own_compute_us [us]: computation in own_us
            own_comm_us [us]: communication in own_us
            own_copy_us [us]: copies and memsets in own_us

        Table kernels: one row is one kernel under one annotation of one rank
            rank [id]: rank
            annotation: the innermost annotation; unknown: none
            name: kernel, copy or memset
            class: computation, communication or memory
            count [count]: how often it ran
            sum_us [us]: total duration
            share_pct [percent]: of the annotation's own GPU time
            mean_us [us]: mean duration
            min_us [us]: shortest
            max_us [us]: longest"""
    def bandwidth(self, *,
        series: bool = False,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['bandwidth', 'series']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How fast copies and memsets move their bytes.

        By kind of copy: bytes, the time at least one of them runs, their mean rate over that time, the most
        that is in use at once, and the rates of single copies. series prints the bandwidth in use over
        time.

        Options:
            series: print every change of the bandwidth in use

        compat: hta, hta-exact give that tool's numbers and columns.

        Table bandwidth: one row is one kind of copy of one rank
            rank [id]: rank
            name: kind of copy
            count [count]: copies
            bytes [bytes]: moved by those that say how much
            active_us [us]: at least one of them runs
            mean_gbps [GB/s]: bytes by active time, of the copies that say how much
            peak_gbps [GB/s]: most at any time, simultaneous copies added up
            median_gbps [GB/s]: median of the single copies
            min_gbps [GB/s]: slowest single copy
            max_gbps [GB/s]: fastest single copy
            unknown [count]: copies that do not say how much they moved

        Table series: one row is one change; filled with series=True
            rank [id]: rank
            ts_us [us]: when it changes
            name: kind of copy
            memory_bw_gbps [GB/s]: in use from now on"""
    def blame(self, *,
        wait: Literal['all', 'communication', 'idle', 'host'] = 'all',
        by: Literal['rank', 'kernel', 'operator', 'phase', 'layer', 'group', 'edge'] = 'rank',
        method: Literal['excess', 'chain'] = 'excess',
        of: Optional[int] = None,
        instance: Optional[int] = None,
        at: Optional[float] = None,
        event: Optional[int] = None,
        path: Optional[Text] = None,
        folded: bool = False,
        edges: Literal['recorded', 'all', 'told'] = 'all',
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        most_events: Optional[int] = None,
        compat: None = None,
        table: Optional[Literal['blame', 'totals', 'chain', 'folded']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Who or what each wait was for, conserved to the nanosecond.

        Three kinds of waiting: members of a collective wait until the last has started (communication),
        devices wait for work (idle), calls wait for work to end (host). One lateness may show in all three,
        so sums mean something within a kind.

        What a wait was for is read from the graph that replay uses: every event has one cause that held it
        up. Chain: what ran in the meantime, link by link, back from the end of the wait to its begin.
        Excess: why the last member was later than the one that waited. The paths to both are climbed back
        to where they meet; what the last one's holds more of is to blame, in proportion. Either way the
        shares of a wait add up to it, to the nanosecond: in the table totals, waiting_us is blamed_us and
        uncertain_us.

        A pipeline waits when all is balanced, too: avoidable_us is what is left of the waiting without
        that.

        path is the critical path of a step over all ranks: from the last rank's end of it back to the last
        rank's end of the step before it. Its links add up to the step, as replay measures it.

        Options:
            wait: communication: members of a collective until the last has come; idle: devices without
                work; host: calls until the work that they wait for has ended; one of all, communication,
                idle, host
            by: what is distinguished in addition to the rank and the part that it is spent on; phase and
                layer: of the model, as the command structure finds them; edge: by what one thing waited for
                the other; one of rank, kernel, operator, phase, layer, group, edge
            method: excess: why the last member was later than the one that waited; chain: what ran in the
                meantime. Of idle and host always chain; one of excess, chain
            of: only what this rank waited for
            instance: fills the table chain with one wait, link by link: the I-th longest, from 0, of each
                kind
            at: with of=: fills the table chain with the wait under way so many microseconds after the job's
                first event
            event: with of=: the same, with the wait of this event, by its position in traceEvents
            path: fills the table chain with the critical path of a step over all ranks, link by link back
                from its end; all: of the entire recording. Nothing else is computed
            folded: the shares as folded stacks, "frame;frame;frame nanoseconds", for flame-graph tools
            edges: recorded (before: `told`): only dependencies that the traces record; all: also those that
                are inferred, from what every step shows and from the order of calls; one of recorded, all,
                told
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            most_events: nothing where the job's ranks have more than N events together: memory grows with
                them

        Table blame: one row is what one rank's waiting is blamed on; rows of a kind add up to what was
            waited
            wait: communication, idle or host
            waiting_rank [id]: who waited
            rank [id]: whose time it was spent on
            part: computation, transfer, copy, launch, stream_gap, sync, host, loader, host_communication,
                unexplained, pinned (the trace does not say what it waited for), or window (before the
                traces begin)
            kernel: kernel, or call of the host; with by="kernel"
            operator: operator that launched it, or that the host was in; with by="operator"
            phase: forward, backward, optimizer or unknown; of the host, of what its thread launches next;
                with by="phase"
            layer [id]: layer of the model, from 0; unknown where none repeats; with by="layer"
            group: process group of a transfer; with by="group"
            edge: by what it was waited for: work (its own duration), meeting (of a collective), thread,
                handover (between threads), stream, launch, event (recorded between streams), sync (a call
                for work), queue (full), call or device (nothing says for what), repeated (inferred),
                occupied (room on the device), nothing; with by="edge"
            blame_us [us]: its share of the waiting
            share_pct [percent]: of all waiting of the kind
            instances [count]: waits that it has a share in
            example [id]: position in traceEvents, on the waiting rank, of the one it has the greatest share
                in

        Table totals: one row is a kind of waiting
            wait: kind of waiting. One lateness may show in all three
            waits [count]: how many
            waiting_us [us]: sum of them over ranks
            blamed_us [us]: sum of the table blame
            balanced_us [us]: waiting where load is even over ranks: a pipeline waits then, too, as by
                chance; unknown without steps, and of one rank
            avoidable_us [us]: the rest of waiting_us; less than 0 where balance would make waits longer:
                work that a late host hides in some steps shows in the others when it is shared out
            unexplained_us [us]: of blamed_us: beyond any known cause
            uncertain_us [us]: waits for another rank that are shorter than the two clocks are sure: no rank
                is blamed
            pinned_us [us]: of blamed_us: the traces do not say what for

        Table chain: one row is a link of one wait's chain; filled with instance=, at, event or path
            wait: kind of waiting; step: the path of path
            waiting_rank [id]: who waited
            rank [id]: rank of the link
            event [id]: its position in traceEvents of that rank
            part: what the time is spent on
            edge: by what it was waited for, as in the table blame
            kernel: kernel or call
            operator: operator
            end_us [us]: when the link ends, on the lowest rank's clock
            duration_us [us]: its time; with method="excess" less than 0 where the waiting rank spent it

        Table folded: one row is one stack; the stacks of a kind add up to its waiting; filled with
            folded=True
            stack: kind of waiting, who waited, whose time, part, what by adds, joined by ;
            time_ns [ns]: its share of the waiting"""
    def breakdown(self, *,
        host: bool = False,
        cut: bool = False,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['breakdown', 'host', 'threads']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Where each rank's GPU time goes: compute, exposed communication and copies, idle.

        The span from the first GPU event to the last is divided into four parts that add up: computation
        runs; communication runs and no computation (exposed); copies run and neither of them (exposed);
        nothing runs. Work that runs at the same time counts once. All GPU work of the trace counts, also
        without a launch.

        host divides the host's time: operators run; it communicates and no operator runs (exposed); a call
        waits for the device; a data loader is waited for; none of these. A job without a GPU is shown that
        way.

        window selects what was launched in a time, and shows it entire. With cut the time itself is
        divided: what runs in it, whatever launched that, cut at its ends, as `map` and the explorer draw
        it.

        Options:
            host: where the host's time goes instead: operators, communication, waits for the device, data
                loading, and what is none of these; also by thread
            cut: with window=: what runs in that time, cut at its ends, in place of what was launched in it

        compat: hta, hta-exact give that tool's numbers and columns.

        Table breakdown: one row is one rank
            rank [id]: rank
            span_us [us]: from the first GPU event's start to the last one's end
            busy_us [us]: something runs on the GPU
            compute_us [us]: computation runs
            exposed_comm_us [us]: communication runs and no computation hides it
            exposed_copy_us [us]: copies or memsets run and neither computation nor communication hides them
            idle_us [us]: nothing runs; the four add up to the span
            busy_pct [percent]: busy_us of the span
            compute_pct [percent]: compute_us of the span
            exposed_comm_pct [percent]: exposed_comm_us of the span
            exposed_copy_pct [percent]: exposed_copy_us of the span
            idle_pct [percent]: idle_us of the span
            comm_us [us]: communication runs, hidden or not
            copy_us [us]: copies or memsets run, hidden or not
            gpu_events [count]: pieces of GPU work
            unlinked_events [count]: GPU work whose launch is not in the file; it is counted

        Table host: one row is the host of one rank; with host=True, and for jobs without a GPU
            rank [id]: rank
            span_us [us]: from the first event to the last, without the time between recordings
            operators_us [us]: an operator runs on some thread, and neither communicates nor waits for the
                device
            exposed_comm_us [us]: the host communicates (gloo:*, mpi:*, ucc:*) and no operator hides it
            exposed_sync_us [us]: a call waits for the device and neither operators nor communication hide
                it
            exposed_loading_us [us]: a data loader is waited for and none of these hides it
            other_us [us]: none of these: Python outside operators, or nothing; the five add up to the span
            operators_pct [percent]: operators_us of the span
            exposed_comm_pct [percent]: exposed_comm_us of the span
            exposed_sync_pct [percent]: exposed_sync_us of the span
            exposed_loading_pct [percent]: exposed_loading_us of the span
            other_pct [percent]: other_us of the span
            comm_us [us]: the host communicates, hidden or not
            sync_us [us]: a call waits for the device, hidden or not
            loading_us [us]: a data loader is waited for, hidden or not
            operators [count]: operators that count, inner ones too

        Table threads: one row is one thread of a host, the busiest first; with host=True, and for jobs
            without a GPU
            rank [id]: rank
            thread: process and thread, with its name where the file has one
            operators_us [us]: an operator runs on it, and neither communicates nor waits for the device
            comm_us [us]: it communicates
            sync_us [us]: it waits for the device
            count [count]: operators, spans of communication and waits"""
    def clocks(self, *,
        end_skew: int = 10,
        hosts: Optional[Text] = None,
        clock_bound: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['clocks', 'pairs', 'contradictions']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How far each rank's clock is ahead: certain and likely interval, drift, device against host.

        The lowest rank's clock is the reference. No rank leaves an all-reduce, all-gather, reduce-scatter
        or barrier before all have come, and no receive ends before its send began: each such pair of times
        bounds how far one clock is ahead of the other. All bounds together make the certain interval; it
        holds whatever the network did, unless collectives were matched wrongly.

        Ends of one collective also lie close together. The median distance of ends, kind by kind and size
        by size, gives the likely interval; where only one kind ties two ranks, it is wider by end_skew and
        1 % of the transfer, since one kind may always end late on one rank.

        Clocks drift at a constant rate. Where collectives do not bound that to 200 ppm either way, 100 ppm
        is assumed (drift_from). Collectives whose ends deviate by more than 50 us and 8 times the median
        deviation are set aside.

        clock_bound and hosts=FILE give more bounds. Ranks of one host share its clock, unless their
        collectives contradict that (host_from): then they stay apart.

        Of jobs with GPUs the clocks compared are the devices'; gpu_offset_us is what a device's clock is
        ahead of its host's within the trace. Of jobs without, they are the hosts'. Offsets are what remains
        after baseTimeNanoseconds, where every rank records it.

        Options:
            end_skew: how far ends of one kind of collective may always lie apart: wider likely intervals
            hosts: hosts of the ranks, as lines RANK,HOST: ranks of one host share its clock, which bounds
                them unless the collectives contradict it; guess: ranks whose clocks are likely one
            clock_bound: known from elsewhere: RANK's clock is ahead of the lowest rank's by LOW to HIGH us

        Table clocks: one row is one rank
            rank [id]: rank of the job
            host: machine that it ran on, where known
            host_from: name: the file's name; trace: the trace says so; list: hosts=FILE; guessed: likely
                one clock; contradicted: the clock is not that of the host's first rank
            status: certain: the certain interval says as much as the likely one; likely: ends of
                collectives say more; unbound: nothing ties it to the lowest rank; contradictory: its
                collectives contradict each other; unstable: the clock was set while the trace was taken
            offset_us [us]: how far its clock is ahead of the lowest rank's: the estimate
            low_us [us]: least likely value
            high_us [us]: greatest likely value
            certain_low_us [us]: it is not less: no rank leaves a collective before all have come
            certain_high_us [us]: it is not more
            drift_ppm: by what it is faster than the lowest rank's
            drift_low_ppm: least value
            drift_high_ppm: greatest value
            drift_from: collectives: bounded by them; assumed: they do not show it, within 100 ppm
            gpu_offset_us [us]: how far the device's clock is ahead of its host's: middle of the bounds
            gpu_low_us [us]: it is not less: a call that waits for the device returns after the work has
                ended
            gpu_high_us [us]: it is not more: work starts after its launch
            collectives [count]: collectives that bound it
            set_aside [count]: collectives that fit the others too badly and are not used
            at_us [us]: moment at which the offsets hold

        Table pairs: one row is two ranks that share collectives
            rank [id]: lower rank
            other [id]: the other
            low_us [us]: least likely distance: the other is ahead of rank
            high_us [us]: greatest
            certain_low_us [us]: bound by the collectives of the two alone
            certain_high_us [us]: bound by them
            collectives [count]: collectives of both
            used: 1: likely intervals of the table clocks go along it

        Table contradictions: one row is a collective that contradicts the others
            group: process group's name, or its members
            number [id]: sequence number, or place in the group's order
            ranks [count]: ranks that recorded it
            rank [id]: the lowest of them
            by_us [us]: by what no clocks could explain it"""
    def collectives(self, *,
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        flight: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['collectives', 'summary', 'lateness', 'arrivals', 'clocks', 'waits']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Collectives matched over ranks: arrivals, waits, transfer time, bandwidth, who is late.

        Kernels of different ranks are one collective when group name, members and sequence number agree;
        where no number was recorded, and for send and receive, the order within the group decides: a rank
        whose trace starts late is set to where its ends fit, and a kernel that was over before the others
        began is not theirs. A SendRecv kernel belongs to the collective whose annotation or operator
        launched it (nccl:all_to_all). A rank waits from its arrival until the last member arrived; the
        transfer time is what is left then until the first member ends.

        A job without GPU work communicates on the host: there the spans gloo:*, mpi:*, ucc:* count, and a
        rank arrives where the operator that submitted one starts. Their ends are no common moment: clocks
        stay as recorded. Of several process groups such a trace does not say which: flight=DIR takes it
        from the flight-recorder dumps of the run, by the moment when an operation was submitted.

        Clocks: a collective that no rank leaves before all have come ends at one moment. By that the clocks
        are corrected (clocks="file" leaves them); the table clocks says by how much, and what distance
        remains.

        Bandwidths are in 1e9 bytes a second. algorithm = size / transfer; bus = algorithm x 2(n-1)/n for
        all-reduce, x (n-1)/n for all-gather, reduce-scatter, all-to-all, gather and scatter, x 1 for the
        rest, as nccl-tests counts (doc/PERFORMANCE.md there).

        Options:
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            flight: flight-recorder dumps of the same run: they name the process groups of what the host ran

        Table collectives: one row is one collective
            index [id]: number of the row, by first arrival
            group: process group's name
            description: process group's description
            members: ranks of the group, as recorded
            number [id]: sequence number, or place in the group's order
            matched_by: seq: recorded sequence number; order: order of the group's kernels
            collective: what it does
            dtype: type of the elements
            in_elements [count]: elements that each rank gives
            out_elements [count]: elements that each rank gets
            message_bytes [bytes]: size as nccl-tests counts it: the larger of both buffers of a rank
            group_size [count]: ranks in the group
            ranks [count]: of them, those whose kernel is in the traces
            start_us [us]: first arrival, from the job's first event (with absolute=True: on rank 0's clock)
            transfer_us [us]: from the last arrival to the first end after it: no rank waits any more
            max_wait_us [us]: from the first arrival to the last
            sum_wait_us [us]: waits of all ranks for the last arrival
            end_spread_us [us]: from the first end to the last
            first_rank [id]: who arrives first
            last_rank [id]: who arrives last
            algorithm_gbps [GB/s]: size / transfer
            bus_gbps [GB/s]: algorithm bandwidth times what nccl-tests counts for the links
            clock_us [us]: by what the clocks of the first and the last rank may be off against each other
                (command clocks); unknown: there is no bound, or with clocks="file" none was looked for
            uncertain: 1: max_wait_us is less than the clocks are sure; with clocks="likely" or "certain"
                waits, first and last are unknown then

        Table summary: one row is one kind of collective of one size
            collective: what it does
            dtype: type of the elements
            group_size [count]: ranks in the group
            message_bytes [bytes]: size as nccl-tests counts it
            count [count]: collectives
            total_transfer_us [us]: transfer times, added up
            mean_transfer_us [us]: mean transfer time
            min_transfer_us [us]: least
            max_transfer_us [us]: greatest
            mean_wait_us [us]: mean of the longest waits
            wait_share_pct [percent]: waits in the summed duration of the kernels
            algorithm_gbps [GB/s]: all bytes / all transfer time
            bus_gbps [GB/s]: the same for the links, as nccl-tests counts

        Table lateness: one row is one rank, the latest first
            rank [id]: rank
            collectives [count]: collectives it takes part in with other ranks, send and receive left out
            times_last [count]: of them, those it arrives last at
            lateness_us [us]: arrivals after the first, added up
            wait_us [us]: waits for the last, added up
            others_waited_us [us]: what others waited for the last arrival where that was this rank's
            uncertain [count]: of the collectives, those at which first and last are nearer than the clocks
                are sure; with clocks="likely" or "certain" they are left out of the rest

        Table arrivals: one row is one rank in one collective
            index [id]: the collective's row
            rank [id]: rank
            uid [id]: position of its kernel in traceEvents
            seq [id]: sequence number that the rank recorded
            start_us [us]: arrival, clocks corrected
            own_start_us [us]: the same by the rank's own clock, as the command map has it
            late_us [us]: after the first arrival
            wait_us [us]: until the last arrival
            duration_us [us]: of the kernel
            uncertain: 1: wait_us is less than its clock and the last rank's are sure; with clocks="likely"
                or "certain" it is unknown then

        Table clocks: one row is one rank
            rank [id]: rank
            aligned_by: ends: ends of collectives; base: baseTimeNanoseconds; file: not at all
            base_offset_us [us]: by what its baseTimeNanoseconds is ahead of the first rank's
            offset_us [us]: what its clock is ahead beyond that
            collectives [count]: collectives that show it
            residual_us [us]: median distance of its ends from the others' after correction
            worst_us [us]: the greatest

        Table waits: one row is one rank and one that it waited for
            rank [id]: who waited
            last_rank [id]: who arrived last
            collectives [count]: of them both in which it did
            wait_us [us]: waits, added up; of a rank they are its wait_us of lateness
            max_wait_us [us]: the longest"""
    def compare(self, *others: Job,
        by: Literal['args', 'op', 'kernel', 'category', 'module', 'tree'] = 'args',
        per: Literal['total', 'step'] = 'total',
        top: int = 0,
        axis: Optional[Text] = None,
        device: Optional[Text] = None,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['inputs', 'args', 'names', 'tree', 'pairs', 'pivot']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Any number of traces or jobs against the first, in parts that add up to the change in GPU time.

        A is what the others are compared with; each of B, C, ... is a variant. An input is a trace or a
        directory of one job's ranks, then all ranks together. Time is the sum of durations of GPU work,
        communication, copies and memsets among it. Every piece of work is in exactly one row of its side,
        so the differences of all rows of a variant add up to the change of its GPU time. Work without a
        launch in the file is (unlinked).

        By args and op the key is the operator that owns the work, as in roofline, so that traces of
        different vendors meet although their kernels have other names. By category operators are recognised
        by their names, and work without an operator by the kernel's. By tree the operators of both sides
        are aligned from the outside in, and a piece of work belongs to the lowest pair of operators above
        it: three small operators against a fused one are one row under what both have in common. Ranks are
        paired in order, and the threads of a rank by their first operator.

        axis=NAME=TEXT{}TEXT takes a value out of the name of a file or folder on each input's path and
        makes the table pivot: a row a value, columns for all GPU time and the names that differ most, or
        with a second axis a column for each of its values. Inputs of equal values are repeated runs: their
        mean.

        Efficiency is the least time that the side's own device would need, of the time it took.

        Options:
            by: args: operator and arguments; op: operator; kernel; category: kind of operator; module:
                nn.Module; tree: lowest common ancestors in the call tree; one of args, op, kernel,
                category, module, tree
            per: total: sums over all ranks; step: divided by each input's number of steps; one of total,
                step
            top: only the N rows of each variant that differ most; 0: all
            axis: what differs along a number in the paths: 'threads={}thread', or two of them with a comma
                between
            device: what the device can do, of every input: a name of the built-in table, or a JSON file;
                default: as each trace says
            fail_on: exit 1 when a row of the chosen table meets the expression: 'impact_pct > 1, ratio >
                1.1'

        Table inputs: one row is one input
            variant [id]: 0 is the first input, what the others are compared with
            input: the trace, or the folder of all ranks' traces
            ranks [count]: ranks
            steps [count]: steps, of all ranks together
            device: what it ran on, of the first rank
            work [count]: pieces of GPU work
            gpu_us [us]: their durations added up
            unlinked_us [us]: ... of those without a launch in the file
            time_diff_us [us]: gpu_us less that of variant 0
            change_pct [percent]: time_diff_us of variant 0's gpu_us
            mean_step_us [us]: mean length of a step on the host

        Table args: one row is one operator with one set of arguments, in one variant; with by="args"
            variant [id]: which input is compared with the first
            name: operator that owns the work, as in roofline; of communication the launcher
            input_dims: shapes of the inputs
            input_types: types of the inputs
            input_strides: strides of the inputs
            concrete_inputs: values of scalar inputs
            change: added, removed, more, fewer or same, by count
            count_a [count]: calls in the first input; pieces of work by kernel
            count_b [count]: calls in the variant
            time_a_us [us]: GPU time in the first input: durations added up
            time_b_us [us]: GPU time in the variant
            mean_a_us [us]: time_a_us of one call
            mean_b_us [us]: time_b_us of one call
            time_diff_us [us]: time_b_us less time_a_us
            ratio [ratio]: time_b_us over time_a_us; unknown where a side has none
            impact_pct [percent]: time_diff_us of all GPU time of the first input
            tflops_a: TFLOP/s in the first input, where FLOPs are known
            tflops_b: TFLOP/s in the variant
            efficiency_a_pct [percent]: least time of the first input's device, of its time
            efficiency_b_pct [percent]: least time of the variant's device, of its time

        Table names: one row is one name in one variant; with by="op", kernel, category or module
            variant [id]: which input is compared with the first
            name: operator, kernel, category or module, as by says
            change: added, removed, more, fewer or same, by count
            count_a [count]: calls in the first input; pieces of work by kernel
            count_b [count]: calls in the variant
            time_a_us [us]: GPU time in the first input: durations added up
            time_b_us [us]: GPU time in the variant
            mean_a_us [us]: time_a_us of one call
            mean_b_us [us]: time_b_us of one call
            time_diff_us [us]: time_b_us less time_a_us
            ratio [ratio]: time_b_us over time_a_us; unknown where a side has none
            impact_pct [percent]: time_diff_us of all GPU time of the first input
            tflops_a: TFLOP/s in the first input, where FLOPs are known
            tflops_b: TFLOP/s in the variant
            efficiency_a_pct [percent]: least time of the first input's device, of its time
            efficiency_b_pct [percent]: least time of the variant's device, of its time

        Table tree: one row is one operator with the launchers below it, in one variant; with by="tree"
            variant [id]: which input is compared with the first
            name: lowest operator that both have above the work; unknown: there is none
            ops_a: what launched the work in the first input
            ops_b: what launched it in the variant
            count [count]: pairs of such operators
            work_a [count]: pieces of work in the first input
            work_b [count]: pieces of work in the variant
            time_a_us [us]: GPU time in the first input: durations added up
            time_b_us [us]: GPU time in the variant
            time_diff_us [us]: time_b_us less time_a_us
            impact_pct [percent]: time_diff_us of all GPU time of the first input
            verdict: slower, faster or same, where the launchers are; replaced; only in A; only in B

        Table pairs: one row is one operator of the first input and its partner in a variant; with by="tree"
            variant [id]: which input is compared with the first
            name: lowest operator that both have above the work; unknown: there is none
            uid_a [id]: its position in traceEvents of the first input
            uid_b [id]: its position in traceEvents of the variant
            depth [count]: operators above it, and 1; 0: the root
            ops_a: what launched the work in the first input
            ops_b: what launched it in the variant
            rank_a [id]: rank of the first input
            rank_b [id]: rank of the variant
            module: nn.Module around it, where modules were recorded
            work_a [count]: pieces of work in the first input
            work_b [count]: pieces of work in the variant
            time_a_us [us]: GPU time in the first input: durations added up
            time_b_us [us]: GPU time in the variant
            time_diff_us [us]: time_b_us less time_a_us
            impact_pct [percent]: time_diff_us of all GPU time of the first input
            verdict: slower, faster or same, where the launchers are; replaced; only in A; only in B

        Table pivot: one row is one value of the axis; with axis=
            axis: value of the axis, under its name; columns of GPU time in microseconds follow"""
    def compile(self, *,
        compat: None = None,
        table: Optional[Literal['compile', 'schedule', 'findings']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What torch.compile did on each rank: graphs, breaks, recompilations, time, and where ranks differ.

        Reads what torch.compile logs with TORCH_TRACE=FOLDER, a file a rank
        (dedicated_log_torch_trace_rank_N_*.log), or the raw.jsonl that tlparse makes of one. A folder holds
        the ranks.

        A compilation is one of a frame: a function, or what is left of one after a graph break. A
        recompilation is one of a frame that had been compiled; its reason is the first guard that failed.
        The time is that of compilation_metrics.

        The schedule lists the collectives that the compiled graphs call, forward, backward and inference,
        in the order in which the log has them. raw.jsonl holds no graphs, so its schedule is empty.

        Findings are compilations that failed, functions that a rank compiled more or less often than most
        ranks, and the first collective in which a rank's schedule is another than that of the first rank.
        Ranks that run other parts of a model (pipeline stages) may differ rightly.

        Table compile: one row is one compilation of a rank
            rank [id]: rank of the job
            frame [id]: the compiled function's number; unknown for what the log ties to none
            compile [id]: which compilation of the frame, from 0
            name: the function
            compile_us [us]: time that it took
            graphs [count]: graphs that Dynamo captured
            breaks [count]: graph breaks
            recompiles [count]: 1: it had been compiled before
            collectives [count]: collectives in its compiled graphs
            attempt [id]: the last attempt at it; each graph break starts one
            failed: what it failed with
            reason: the first guard that failed, for a recompilation; or why the graph broke

        Table schedule: one row is one collective of a rank's compiled graphs, in the order of the log
            rank [id]: rank of the job
            place [id]: place in the rank's log, from 0
            frame [id]: the compiled function's number
            compile [id]: which compilation of the frame
            graph: forward, backward or inference
            collective: what the graph calls

        Table findings: one row is a failure, or something in which a rank differs from the others
            rank [id]: rank of the job
            kind: failure, compilations or schedule
            name: the function or collective
            finding: what the rank did that the others did not"""
    def counters(self, *,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['counters', 'launches']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Hardware counters of each kernel, with the operator that launched it.

        For traces of CUPTI's range profiler: one row a measured range, one column a counter, and the
        operators around the launch. The profiler runs kernel after kernel, so the n-th range belongs to the
        n-th launch.

        compat: hta, hta-exact give that tool's numbers and columns.

        Table counters: one row is one range that the profiler measured
            rank [id]: rank
            index [id]: position in traceEvents
            name: the range's name: the kernel; one column a counter follows
            top_level_op: outermost operator around the launch
            bottom_level_op: innermost operator around the launch
            op_stack: all of them, outermost first, with ; between

        Table launches: one row is one range whose launch is known
            rank [id]: rank
            index [id]: position of the range in traceEvents
            launch [id]: position of the call that launched the measured kernel"""
    def critical_path(self, *,
        annotation: Text = 'ProfilerStep',
        instance: Text = '0',
        breakdown: bool = False,
        edges: bool = False,
        nodes: bool = False,
        sync_edges: bool = False,
        overlay: Optional[Text] = None,
        overlay_edges: Literal['path', 'all'] = 'path',
        data_load: Optional[Text] = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['critical_path', 'breakdown', 'edges', 'sync_edges', 'nodes', 'overlay', 'files']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What a step really waited for: the longest chain of dependencies between host and GPU.

        Every host call and every piece of GPU work was delayed by something: the call before it, its
        launch, the work before it on its stream, work of another stream, or work that a call waits for.
        From the window's end back along what really held each one up leads the critical path; its parts add
        up to the window. The window ends when the GPU work that was launched in it has ended, if that is
        after the annotation. Where nothing is called ProfilerStep, instance counts the steps that are
        detected from the GPU work by repeating itself.

        sync_edges lists every synchronization between GPU and host and between streams, on the path or not,
        from cuda_sync events and, where there are none, from blocking calls (HIP's too).

        compat="hta" builds the graph by HTA's rules, where gaps between host operators and waiting calls
        weigh nothing.

        Options:
            annotation: look at the events whose names contain NAME; an empty name is the whole trace
            instance: which of them, from 0 in order of time
            breakdown: the path, part by part
            edges: all dependencies of the graph
            nodes: all starts and ends of events in the graph
            sync_edges: all synchronization dependencies, on the path or not
            overlay: write the trace's events on the path, with arrows (.gz, .zst, else plain; several
                files: DIR/)
            overlay_edges: path: arrows of the path from lane to lane; all: every dependency, and every
                event is kept; one of path, all
            data_load: host events whose names contain one of these texts load data

        compat: hta, hta-exact give that tool's numbers and columns.

        Table critical_path: one row is one rank
            rank [id]: rank
            nodes [count]: starts and ends of events in the graph
            path_weight [us]: length of the longest path
            edges [count]: dependencies in the graph
            path_edges [count]: dependencies on the path
            start_us [us]: where the window begins
            window_us [us]: length of the window
            cpu_us [us]: the host is what the path waits for
            data_loading_us [us]: the data loader, on the host
            gpu_compute_us [us]: computation on the GPU
            gpu_communication_us [us]: communication on the GPU, with its wait for other ranks
            gpu_copy_us [us]: copies and memsets on the GPU
            launch_us [us]: from a launching call to its work
            gap_us [us]: between two pieces of GPU work
            instances [count]: events with the annotation's name
            host_communication_us [us]: communication that the host runs (gloo, MPI, UCC), with its wait for
                other ranks
            contradicted [count]: dependencies of the rank that run against time by more than 1 us, and are
                left out: clocks or links are wrong

        Table breakdown: one row is a part of the path, in order; filled with breakdown=True
            rank [id]: rank
            event [id]: position in traceEvents of the event the time is charged to
            name: its name
            cat: its category
            pid [id]: its process
            tid [id]: its thread
            stream [id]: its stream
            type: kind of the dependency
            bound_by: what the path waits for
            duration [us]: time on the path
            start_us [us]: where this part of the path begins

        Table edges: one row is a dependency of the graph; filled with edges=
            rank [id]: rank
            source [id]: position in traceEvents; unknown: the window's start
            source_at: which end of it
            target [id]: position in traceEvents; unknown: the window's end
            target_at: which end of it
            type: kind of the dependency
            weight [us]: what it adds to the path
            critical: 1: on the longest path
            bound_by: what its time is spent on
            event [id]: position of the event the time is charged to
            source_us [us]: when the source is
            target_us [us]: when the target is
            source_name: name of the source
            target_name: name of the target

        Table sync_edges: one row is a synchronization dependency; filled with sync_edges=True
            rank [id]: rank
            source [id]: position in traceEvents of the work that is waited for
            target [id]: position of the call, or of the work, that waits
            source_external_id [id]: External id of the source; unknown if it has none
            target_external_id [id]: External id of the target; unknown if it has none
            source_name: name of the source
            target_name: name of the target
            source_stream [id]: stream of the source
            target_stream [id]: stream of the target; unknown on the host
            source_end_us [us]: when the source has ended
            target_us [us]: when the call returns or the work starts
            kind: stream_wait_event, graph_dependency, event_sync, stream_sync, context_sync, or copy: a
                copy that returns when it is done
            sync [id]: position of the cuda_sync event that says so; unknown: derived from the call alone
            critical: 1: on the longest path

        Table nodes: one row is the start or the end of an event in the graph, by time; filled with
            nodes=True
            rank [id]: rank
            event [id]: position in traceEvents; unknown: the window's own border
            at: which end of it: start or end
            ts_us [us]: when that is
            name: its name
            blocking: 1: a call that waits for the GPU, by its name
            path [count]: its place on the longest path, from 0; unknown: not on it

        Table overlay: one row is a dependency as the overlay shows it; filled with overlay=
            rank [id]: rank
            source [id]: position in traceEvents; unknown: the window's start
            target [id]: position in traceEvents; unknown: the window's end
            source_us [us]: where an arrow would begin, on the file's own clock
            target_us [us]: where an arrow would end, on the file's own clock
            type: kind of the dependency
            weight [us]: what it adds to the path
            arrow: 1: drawn as an arrow: all edges with overlay_edges="all", else what leads from one lane
                to another
            critical: 1: on the longest path

        Table files: one row is one rank's file; filled with overlay=
            rank [id]: rank
            file: the file it was read from"""
    def delays(self, *,
        by: Literal['operator', 'sequence'] = 'operator',
        top: Optional[int] = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['delays', 'sequences']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How long operators take to launch their kernels, and kernels to start.

        Every launch belongs to the innermost operator around it on its own thread. Its delay has two parts:
        from the operator's start to its first launch call (host work: dispatch, shape checks, allocation),
        and from each launch call's start to the start of the kernel (the call itself and, once it has
        returned, waiting in the stream). An operator may launch several kernels; a graph launch counts
        once, with the first kernel it starts.

        Options:
            by: operator: one row a name; sequence: one row a name and the kernels it launched, in order;
                one of operator, sequence
            top: only the N rows of a rank with the most operators

        compat: hta, hta-exact give that tool's numbers and columns.

        Table delays: one row is one operator name of one rank
            rank [id]: rank
            name: operator: the innermost around the launch on its thread
            operators [count]: executions that launched something themselves
            launches [count]: launch calls
            kernels [count]: GPU work they launched; a graph launch has many
            mean_op_delay_us [us]: from the operator's start to its first launch call, mean
            max_op_delay_us [us]: longest of these
            mean_launch_delay_us [us]: from a launch call's start to the start of its first kernel, mean
                over the calls
            max_launch_delay_us [us]: longest of these
            mean_queued_us [us]: of that, after the call had returned: waiting in the stream, mean

        Table sequences: one row is one operator name and what it launched, of one rank
            rank [id]: rank
            aten_op_name: operator
            kernel_sequence: the GPU work one execution launched, in order of launch
            occurrence_count [count]: executions
            mean_op_delay_us [us]: from the operator's start to its first launch call, mean
            max_op_delay_us [us]: longest of these
            mean_launch_delay_us [us]: from a launch call's start to the start of its first kernel, mean
                over the calls
            max_launch_delay_us [us]: longest of these
            mean_queued_us [us]: of that, after the call had returned: waiting in the stream, mean"""
    def diagnose(self, *,
        top: int = 10,
        min_gain: float = 0.5,
        only: Literal['all', 'findings', 'levers'] = 'all',
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        most_events: Optional[int] = None,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['diagnose', 'joint', 'not_examined']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What is wrong in a job, by what fixing it gains, with evidence and remedy.

        A closed catalogue of faults and opportunities is compared with the traces of all ranks. What fits
        becomes a question to the replay of the job (job.replay()): how long would a step take if this were
        fixed? There is a row only where the least gain of the replay's interval is above min_gain and above
        the replay's own error; the command under evidence shows the same numbers.

        Findings are wrong against something: a rank against those that run the same work (straggler,
        slow_host), transfers of a group against others of their size (slow_group), waiting for data
        (loader), a call that makes the host wait more than once a step (sync). Levers are opportunities:
        communication that computation waits for, launch-bound work, small collectives. Their gain is an
        upper bound, so a tenth of it counts in the order of rows. Sensitivities are last: the hottest
        kernels at half their time, which says how much they matter and not that they could be so fast.

        The first row is the verdict: summary, stragglers, collectives, blame, whatif, variance and replay
        begin with it. Gains overlap: table joint has the first rows fixed together. Table not_examined says
        what was not examined, and why; where a replay cannot be relied on, that is everything.

        Options:
            top: at most so many rows; 0: all
            min_gain: least gain worth a row, percent of a step: what is certain of it must be above that
                and above the replay's own error
            only: findings: what is wrong; levers: opportunities, where nothing is wrong; one of all,
                findings, levers
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            most_events: nothing where the job's ranks have more than N events together: memory grows with
                them
            fail_on: exit 1 when a row meets the expression: 'gain_pct > 5', best with only="findings"

        Table diagnose: one row is something to fix, the most important first
            place [id]: by the least that fixing it is certain to gain, or to add to the rows under with; a
                tenth counts of an opportunity. Sensitivities come last
            id: of the catalogue: straggler, slow_host, loader, sync, ...
            kind: finding: something is wrong; lever: nothing is, but this would help
            finding: what is wrong and what fixing it gains
            rank [id]: rank it is about; unknown: the job
            selector: for replay scale; unknown where the question scales nothing
            with: places of the rows that are fixed as well in these numbers, since they hide this one;
                unknown: none
            before_us [us]: a step as recorded
            after_us [us]: a step when it is fixed
            after_low_us [us]: the least that step may take: the interval of replay
            after_high_us [us]: the most
            gain_pct [percent]: before_us less after_us, of before_us
            bound_us [us]: no gain is greater; unknown where a wait goes that the path runs along
            evidence: command that shows the numbers
            remedy: what to try
            assumption: what has to hold

        Table joint: one row is several of them fixed together
            places: rows of diagnose that are fixed together
            before_us [us]: a step as recorded
            after_us [us]: a step then: gains overlap, so they do not add up
            after_low_us [us]: the least that step may take
            after_high_us [us]: the most
            gain_pct [percent]: before_us less after_us, of before_us
            evidence: command that shows the numbers

        Table not_examined: one row is something of the catalogue that is not diagnosed
            id: of the catalogue
            what: the candidate; unknown: all of that id
            reason: why it is not diagnosed"""
    def diff(self, other: Job, *,
        by: Literal['name', 'total'] = 'name',
        per: Literal['total', 'rank', 'step'] = 'total',
        kind: Literal['all', 'gpu', 'host', 'operator', 'call'] = 'all',
        top: Optional[int] = None,
        short_names: bool = False,
        fail_on: Optional[Text] = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['diff', 'totals', 'ranks']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Kernels, operators and calls of two traces or jobs, by count and time.

        A is what is compared with, B what is judged; each is a trace or a directory with one trace a rank.
        Names are compared over all ranks together. GPU work counts with its duration, operators and calls
        with their host time, operators nested in it included. ranks and steps apply to both.

        Under compat="hta" the rows are those of HTA's TraceDiff; of its options kind="all", gpu or host and
        short_names apply.

        With fail_on the exit code is 1 when a row meets the expression: of the names, or with by="total" of
        the totals. The change in percent of a name that A does not have is unknown and meets nothing. Two
        runs do not say how much equal runs differ, so such a gate fires on noise, too; rankscope.regress()
        tests several runs a side.

        Options:
            by: name: every kernel, operator and call; total: each job in one row. fail_on looks at these
                rows; one of name, total
            per: total: sums over all ranks; rank: the mean rank; step: the mean step of a rank, of what is
                in steps; one of total, rank, step
            kind: only GPU work; operators and runtime calls; operators; or calls; one of all, gpu, host,
                operator, call
            top: only the N rows of a kind whose time changed most; 0: all
            short_names: kernels without their template and call arguments, so that builds can be compared
            fail_on: exit 1 if a row meets it: 'time_diff_us > 100 and not kind in (call, operator)'

        compat: hta, hta-exact give that tool's numbers and columns.

        Table diff: one row is one name: GPU work first, then operators, then calls, by how much its time
            changed
            kind: computation, communication, memory, operator (host time, nested ones included) or call
            name: kernel, copy, operator or call
            change: added, removed, more, fewer or same, by count
            count_a [count]: how often in A
            count_b [count]: how often in B
            count_diff [count]: B less A
            time_a_us [us]: sum of durations in A
            time_b_us [us]: sum of durations in B
            time_diff_us [us]: B less A
            time_change_pct [percent]: time_diff_us of time_a_us; unknown where A has none
            impact_pct [percent]: time_diff_us of A's whole GPU time (operator time, call time)

        Table totals: one row is one number of both jobs
            metric: what is compared; names that end in _us are times in microseconds
            a: in A
            b: in B
            diff: B less A
            change_pct [percent]: diff of A; unknown where A has none
            diff_low: least diff by how the steps of either job differ among themselves (95 %, Welch); equal
                runs may differ by more; unknown but for mean_step_us
            diff_high: greatest diff by that

        Table ranks: one row is what the mean step of one rank takes more in B than in A
            rank [id]: a rank that both have, or of one rank each that of B
            span_a_us [us]: of a step in A: from the first GPU work to the last, over the steps, of which
                both must have some; else of the whole trace
            span_b_us [us]: the same in B
            span_diff_us [us]: B less A; the next four add up to it
            compute_diff_us [us]: of it: computation
            exposed_comm_diff_us [us]: of it: communication that no computation hides, waits for other ranks
                included
            exposed_copy_diff_us [us]: of it: copies that nothing hides
            idle_diff_us [us]: of it: nothing runs
            kernel: the computation whose time changed most
            kernel_diff_us [us]: what a step has of it in B less A"""
    def doctor(self, *,
        compat: None = None,
        table: Optional[Literal['findings', 'launches']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Is the capture fit: what is missing or broken, what that disables, how to record it better.

        Checks whether a trace can carry the analyses: launches whose work is missing (and for which call),
        work that starts before its launch, repeated correlation ids, work overlapping on one stream,
        missing rank, steps, shapes, stacks or sync events, buffers the profiler dropped, damaged or
        truncated text, clock units. Each finding names the analyses it disables or weakens and the profiler
        option that fixes the next recording. Exit code 1 when a capture is unfit: an analysis that most
        people want cannot be right on it.

        Table findings: One row a rank and check.
            rank [id]: rank of the job
            severity: ok, note, warning or unfit
            check: what was checked
            finding: what was found, with its number
            count [count]: how many events or calls it concerns
            disables: analyses that it disables or weakens
            remedy: what to do in the next recording

        Table launches: One row a rank and launching call: is its work in the file?
            rank [id]: rank of the job
            call: runtime or driver call that launches work
            calls [count]: calls
            with_work [count]: calls whose GPU work is in the file
            work [count]: GPU events they own
            coverage_pct [percent]: share of calls with work"""
    def exchange(self, *,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['exchange', 'ranks', 'messages', 'experts', 'loads', 'balance']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Who sends how much to whom in all-to-alls and messages: rank by rank, and whose experts get most.

        Sizes come from the split sizes that the communication recorded, which count rows of the first
        dimension: those of the kernel, else of the operator record_param_comms that launched it, its
        arguments or its inputs. An all-to-all without them gives every rank the same. The receiver is
        determined from the members of the process group. In a group that is as large as the job and does
        not list its members ranks are in order. Table messages has sends and receives (NCCL, gloo, MPI)
        whose receiver is recorded.

        Tables experts, loads and balance are of libraries that put tokens where they belong (DeepEP,
        hybrid_ep, MORI, pplx, ...) and record no metadata. Calls of ranks whose ends keep one distance
        belong together; a call takes longer than that of the rank that came last by what it waits. A rank
        whose ends fit no other's has no wait, and loads and balance are not known for it.

        Options:
            fail_on: exit 1 when a row of the chosen table meets the expression: 'vs_mean > 1.5'

        Table exchange: one row is one rank and one it sends to, in one group
            rank [id]: rank that sends
            to_rank [id]: rank that receives; unknown: the trace does not list the group's members
            place [id]: its place in the group
            group: process group's name
            description: process group's description
            count [count]: all-to-alls with known sizes
            bytes [bytes]: sent in all of them
            mean_bytes [bytes]: sent in one
            share_pct [percent]: bytes of all that the rank sends in the group

        Table ranks: one row is one rank
            rank [id]: rank
            all_to_alls [count]: all-to-alls of the rank
            unknown [count]: of these, those whose sizes the trace does not record
            time_us [us]: durations of their kernels, waits for other ranks among them
            sent_bytes [bytes]: sent to all ranks, itself among them
            received_bytes [bytes]: what the ranks in the traces send to it
            vs_mean [ratio]: received_bytes over the mean of all ranks: the load of an expert's rank

        Table messages: one row is one rank and one it sends messages to
            rank [id]: rank that sends
            to_rank [id]: rank that receives
            group: process group's or communicator's name
            count [count]: sends of known receivers
            bytes [bytes]: sent in those whose sizes are known

        Table experts: one row is dispatch, combine or notify of one phase of one rank
            rank [id]: rank
            library: library, by the names of its kernels
            operation: dispatch: tokens go to their experts; combine: they come back; notify: their numbers
            phase: phase that launched it
            calls [count]: kernels
            time_us [us]: their durations
            mean_us [us]: of one
            min_us [us]: the shortest
            max_us [us]: the longest
            exposed_us [us]: of time_us, without computation
            ranks [count]: ranks in the traces whose calls end together with these, itself included
            wait_us [us]: of time_us, longer than the call of the rank that came last; unknown: no other
                rank ends together with it
            transfer_us [us]: time_us - wait_us
            wait_within_us [us]: what wait_us and transfer_us may be off by: how far ends of different ranks
                are apart

        Table loads: one row is one layer of one phase of one rank
            rank [id]: rank
            phase: phase
            layer [id]: layer; unknown: layers do not repeat
            calls [count]: dispatches
            experts_us [us]: computation of the phase, launched between dispatch and combine: the load of
                the rank's experts
            mean_us [us]: the same, mean of the ranks that call together
            vs_mean [ratio]: experts_us over mean_us

        Table balance: one row is one phase of ranks that call together
            first_rank [id]: first of the ranks that call together
            ranks [count]: ranks that call together
            phase: phase
            calls [count]: dispatches and combines of a rank
            slowest_us [us]: computation of the slowest rank of each call, summed
            mean_us [us]: mean computation of each call, summed
            gain_low_us [us]: equal loads would save at least this in all calls: what varies from call to
                call stays, and only waits in combine count that no computation hides
            gain_high_us [us]: ... and at most this: every call would be equal on all ranks, and all waits
                in combine count"""
    def fragments(self, *,
        shorter_than: float = 10.0,
        micro_idle: float = 10.0,
        top: int = 20,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['fragments', 'kernels', 'lengths']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Short kernels and short gaps between them: what fusing or a CUDA graph could win.

        A gap is a time in which nothing at all runs on the GPU, between its first and its last event. Gaps
        shorter than micro_idle come from launching one kernel after another; longer ones have other causes
        (idle). The table kernels adds up the short runs of a kernel that one operator launched, and the
        micro idle right before them; lengths shows how kernels and gaps divide by their length.

        Options:
            shorter_than: kernels shorter than this are short
            micro_idle: gaps in which nothing runs and that are shorter than this are micro idle, the others
                macro idle
            top: of the table kernels only the first N rows of a rank; 0: all
            fail_on: exit 1 when a row of the chosen table meets the expression: 'micro_idle_pct > 10'

        Table fragments: one row is one rank
            rank [id]: rank
            span_us [us]: from the first GPU event's start to the last one's end
            kernels [count]: kernels
            short [count]: of these, shorter than shorter_than
            short_pct [percent]: short of kernels
            short_us [us]: durations of the short ones, added up
            short_time_pct [percent]: short_us of the durations of all kernels
            idle_us [us]: nothing runs on the GPU
            micro_gaps [count]: gaps shorter than micro_idle
            micro_idle_us [us]: these gaps added up
            micro_idle_pct [percent]: micro_idle_us of the span
            macro_gaps [count]: the other gaps
            macro_idle_us [us]: the other gaps added up
            macro_idle_pct [percent]: macro_idle_us of the span

        Table kernels: one row is one short kernel of one operator of one rank
            rank [id]: rank
            count [count]: runs shorter than shorter_than
            sum_us [us]: their durations added up
            mean_us [us]: sum_us of one run
            min_us [us]: shortest
            max_us [us]: longest of the short ones
            gap_us [us]: micro idle right before them, added up
            share_pct [percent]: sum_us and gap_us of the rank's span
            operator: operator that launched it, or the call; unknown: the launch is not in the file
            name: short kernel

        Table lengths: one row is the kernels or the gaps of some length of one rank
            rank [id]: rank
            what: kernel, or gap: nothing runs on the GPU
            from_us [us]: as long as this or longer
            to_us [us]: and shorter than this; unknown: however long
            count [count]: kernels or gaps of that length
            sum_us [us]: their lengths added up
            share_pct [percent]: of all kernels' or all gaps'"""
    def frame(self, *,
        of: Ranges = None,
        gpu: bool = False,
        args: Optional[Text] = None,
        calls: bool = False,
        where: Optional[Text] = None,
        stack: Optional[int] = None,
        uncut: bool = False,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['frame']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """The trace as a data frame: every complete event, one column an argument.

        What notebooks and statistics programs want: names, times, step and arguments of every complete
        event in one wide table, with the link between launches and work. events shows the same events with
        fewer columns, and all others, and filters.

        The columns are always the same: the arguments that most analyses need. args all adds every other
        argument of the rows, args=NAME,NAME those, under the names that the file gives them, sorted; the
        columns then depend on the data. A name that a column of the frame has becomes args.NAME. A column
        is of whole numbers or of numbers if all its values are, else of text; what is neither string nor
        number is kept as its JSON text.

        calls adds columns under HTA's names: parent (the position of the event around it on its thread; of
        GPU work its launch), depth, height, and of the GPU work below each event how much there is, how
        long it takes together, and from when to when. where keeps rows for which a condition holds; parents
        may then be among the others. stack=POSITION keeps one event and all events around it, across its
        launch to the outermost operator, annotation or Python call.

        compat="hta" gives the frame that HTA holds after loading: its rounding, its cut at the last step,
        its order (GPU rows first), its columns' defaults.

        Options:
            of: rows of these ranks only; times still count from the first event of all
            gpu: only rows of the GPU
            args: further arguments as columns: all, or names with commas between
            calls: what each event is inside of or was launched by, and the GPU work below it, as columns
            where: only events for which it holds, as in events
            stack: only the event at this position (column index) of each rank and, outwards, what it is
                inside of or was launched by; with the columns of calls
            uncut: with compat="hta": also the rows that HTA reads and then cuts off, in the order of the
                file

        compat: hta, hta-exact give that tool's numbers and columns.

        Table frame: one row is one complete event
            rank [id]: rank
            index [id]: position in traceEvents
            cat: category
            name: name
            pid [id]: process (device for GPU events)
            tid [id]: thread (stream for GPU events)
            ts [us]: start, from the job's first event (with absolute=True: as in the file)
            dur [us]: duration
            end [us]: end; under compat="hta" on the file's own clock, as HTA leaves it
            stream [id]: stream
            correlation [id]: number that launch and work share
            index_correlation [id]: position of the other side of the correlation: launch of the work, work
                of the launch
            iteration [id]: training step
            gpu: 1: a row of the GPU
            user_annotation: GPU rows: the shortest gpu_user_annotation of the same stream that overlaps it
            bytes [bytes]: size of a copy
            memory_bw_gbps [GB/s]: rate of a copy
            wait_on_stream [id]: stream that a synchronization waits for
            wait_on_cuda_event_record_corr_id [id]: correlation of the event it waits for
            input_dims: shapes of an operator's inputs
            input_type: types of its inputs
            input_strides: strides of its inputs
            external_id [id]: number that operator and launch share
            python_id [id]: number of a Python call
            python_parent_id [id]: number of the call around it
            collective_name: collective operation
            in_msg_nelems [count]: elements a collective takes
            out_msg_nelems [count]: elements it gives
            msg_dtype: type of its elements
            group_size [count]: ranks of its group
            process_rank [id]: rank in its group
            in_split_size: how its input is split
            out_split_size: how its output is split"""
    def idle(self, *,
        intervals: bool = False,
        kernel_delay: float = 30.0,
        streams: Ranges = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['idle', 'intervals']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What each stream waits for between two pieces of work: the host, the queue, or something else.

        A gap is host_wait when the next work was launched only after the stream had run dry, kernel_wait
        when it was queued already and the gap is shorter than kernel_delay, else other. Work without a
        launch in the file counts as queued. Streams idle by themselves; when the whole GPU is idle, see
        breakdown.

        Options:
            intervals: print the statistics of the intervals
            kernel_delay: shorter gaps between queued kernels are kernel_wait
            streams: only these streams: 7,20

        compat: hta, hta-exact give that tool's numbers and columns.

        Table idle: one row is one kind of waiting of one stream
            rank [id]: rank
            device [id]: device
            stream [id]: stream
            idle_category: host_wait: the next work was launched after the stream ran dry; kernel_wait: it
                was queued and came within kernel_delay; other: it was queued and came later
            count [count]: gaps between neighbours on the stream
            idle_us [us]: total of the gaps
            share_pct [percent]: of the stream's idle time

        Table intervals: one row is one kind of waiting of one stream
            rank [id]: rank
            device [id]: device
            stream [id]: stream
            idle_category: as in the table idle
            count [count]: how many gaps
            mean [us]: mean
            std [us]: sample deviation
            min [us]: least
            25% [us]: quartile
            50% [us]: median
            75% [us]: quartile
            max [us]: greatest"""
    def info(self, *,
        compat: None = None,
        table: Optional[Literal['ranks', 'categories', 'streams', 'software']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What was recorded: files, ranks, categories, streams, steps, versions.

        Shows what the input holds and how it was understood: which file is which rank and by which rule,
        how a merged file was split into ranks, how many events of which category, which devices and streams
        carry work, which training steps, and what the profiler says about itself and its software.

        Table ranks: One row a rank, or a recording where a rank has several.
            rank [id]: rank of the job
            file: input file
            rank_from: where the rank number comes from
            split_by: how a merged file was split into ranks; unknown for an ordinary file
            packing: plain, gzip or zstd, by the file's first bytes
            form: object (traceEvents), array or lines (NDJSON)
            text_bytes [bytes]: size of the text, unpacked
            events [count]: events of this rank
            lost [count]: events of the file that were damaged beyond use
            truncated: yes when the text ends too early
            rounded_times [count]: times of the file with digits below the nanosecond
            start_unix_ns [id]: first event on the epoch clock, ns; unknown without baseTimeNanoseconds
            first_us [us]: first event on the file's own clock
            span_us [us]: first start to last end of all complete events
            steps [count]: steps: ProfilerStep#N, or detected from the repetition of the GPU work
            first_step [id]: number of the first step
            last_step [id]: number of the last step
            gpu_events [count]: kernels, copies and memsets
            unlinked [count]: of these, without their launch in the file
            device_name: first device
            backend: communication backend
            world_size [count]: ranks of the whole job
            label: what a merger calls the rank
            role: rollout, update, ...: ROLE=PATH, else as processes or annotations say

        Table categories: One row a rank and category.
            rank [id]: rank of the job
            category: the event's cat; empty for metadata and the like
            kind: what rankscope takes it for
            events [count]: events
            spans [count]: of these, complete events with a duration
            time_us [us]: sum of their durations

        Table streams: One row a rank, device and stream.
            rank [id]: rank of the job
            device [id]: device ordinal
            stream [id]: stream
            events [count]: GPU work on it
            time_us [us]: sum of their durations
            first_us [us]: first start, from the rank's first event
            last_us [us]: last end, from the rank's first event

        Table software: One row a rank and fact.
            rank [id]: rank of the job
            item: what the file says about itself
            value: its value"""
    def kernels(self, *,
        by: Literal['type', 'name', 'kind'] = 'name',
        top: int = 10,
        duration_ratio: float = 0.8,
        no_memory: bool = False,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['kernels', 'types', 'kinds']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Which kernels take the GPU time, by name and by what runs together.

        kernels: the kernels of each rank by total duration, until duration_ratio of it or top names are
        reached; the rest is one row, others, with the statistics of its own runs. kinds (by="kind"): what
        kernels do, recognised by their names, also where no operators were recorded. types: how long
        computation, communication and memory work run alone and together.

        Options:
            by: type: time of every combination of kinds; name: time of every kernel; kind: what kernels do,
                by their names (GEMM, SDPA, CONV, NORM, ...); one of type, name, kind
            top: name at most N kernels of a rank, the rest is others
            duration_ratio: stop naming kernels once they make up this share (0 to 1)
            no_memory: leave copies and memsets out

        compat: hta, hta-exact give that tool's numbers and columns.

        Table kernels: one row is one kernel name of one rank
            rank [id]: rank
            name: kernel, copy or memset; others: all that are not named
            class: computation, communication or memory; unknown for others
            names [count]: different names in this row
            count [count]: how often it ran
            sum_us [us]: total duration; simultaneous runs each count
            share_pct [percent]: of the rank's total duration
            cumulative_pct [percent]: share of this and all rows above it
            mean_us [us]: mean duration
            min_us [us]: shortest
            max_us [us]: longest
            std_us [us]: standard deviation of a sample; unknown for one run

        Table types: one row is one combination of kinds of one rank
            rank [id]: rank
            kernel_type: what runs at the same time, and nothing else
            time_us [us]: how long exactly this combination runs
            percent [percent]: of the time something runs

        Table kinds: one row is one kind of kernel of one rank; with by="kind"
            rank [id]: rank
            kind: what the kernels do, recognised by their names
            names [count]: different names
            count [count]: how often they ran
            sum_us [us]: total duration; simultaneous runs each count
            share_pct [percent]: of the rank's total duration
            mean_us [us]: mean duration
            min_us [us]: shortest
            max_us [us]: longest"""
    def launchers(self, *,
        top: int = 0,
        compat: None = None,
        table: Optional[Literal['launchers']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Every operator that launches GPU work: time of its own and of all below it, shapes, module, step.

        A launcher is the innermost operator around a launching call. Its direct time is the union of the
        work it launched itself; its subtree time also has the operators inside it. Communication makes no
        launcher and counts in subtree time only. Work whose launch is not in the file belongs to no
        operator and is left out.

        Options:
            top: only the N of a rank with the most time of their own, longest first; 0: all

        Table launchers: one row is one operator that launched GPU work
            rank [id]: rank
            uid [id]: position of the operator in traceEvents, from 0
            name: operator; the runtime call itself where no operator is around it
            op_category: kind of operator
            start_us [us]: start, from the job's first event (with absolute=True: as in the file)
            host_us [us]: duration on the host
            direct_kernel_time_us [us]: union of the work it launched itself, communication left out
            subtree_kernel_time_us [us]: union of all work below it, communication included
            kernel_count [count]: pieces of work it launched itself
            step [id]: training step it starts in
            module: innermost nn.Module around it, where Python functions were recorded
            forward_uid [id]: of an operator of the backward pass: the forward operator it belongs to
            input_dims: shapes of the inputs
            input_types: types of the inputs
            input_strides: strides of the inputs
            concrete_inputs: values of scalar inputs"""
    def launches(self, *,
        no_memory: bool = False,
        runtime_cutoff: float = 50.0,
        delay_cutoff: float = 100.0,
        outliers: Optional[Text] = None,
        list: bool = False,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['launches', 'list']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How long launching takes and how long launched work waits.

        By launching call: its duration, the delay from its end to the start of its work, and three kinds of
        outliers: work that is shorter than its call, calls longer than runtime_cutoff, delays longer than
        delay_cutoff. list shows every launch, outliers only those kinds. All calls that own GPU work count,
        whatever their name: CUDA, HIP, driver and graph launches.

        Options:
            no_memory: leave copies and memsets out
            runtime_cutoff: a call that takes longer is a runtime outlier
            delay_cutoff: work that waits longer is a delay outlier
            outliers: list the launches of these kinds: short (shorter on the GPU than its call), runtime,
                delay
            list: list every launch

        compat: hta, hta-exact give that tool's numbers and columns.

        Table launches: one row is one launching call's name of one rank
            rank [id]: rank
            call: launching call
            launches [count]: calls that own GPU work
            gpu_events [count]: GPU work they own; a graph launch owns many
            call_us [us]: total duration of the calls
            call_mean_us [us]: mean duration of a call
            delay_us [us]: total time from a call's end to its work's start
            delay_mean_us [us]: mean delay of a piece of work
            delay_median_us [us]: median delay
            delay_p95_us [us]: delay that 95 % do not exceed
            delay_max_us [us]: longest delay
            short [count]: work shorter than its call
            runtime [count]: work whose call took longer than runtime_cutoff
            delay [count]: work that waited longer than delay_cutoff

        Table list: one row is one launch and one piece of its work
            rank [id]: rank
            launch [id]: the call's position in traceEvents
            work [id]: the work's position in traceEvents
            correlation [id]: correlation id
            call: launching call
            name: kernel, copy or memset
            cpu_duration_us [us]: duration of the call
            gpu_duration_us [us]: duration of the work
            launch_delay_us [us]: from the call's end to the work's start, 0 when it starts before that
            outlier: short, runtime, delay, joined by +; unknown when none"""
    def map(self, *,
        host: bool = False,
        lanes: bool = False,
        compat: None = None,
        table: Optional[Literal['map', 'lanes']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What each rank does at each moment: the division of `breakdown`, stretch by stretch.

        Each moment from a rank's first GPU work to its last belongs to the first of these that it is in:
        computation; communication; a copy or memset; a data loader that is waited for while nothing runs;
        nothing (idle). Stretches of a class add up to what `breakdown` says, to the nanosecond; its idle_us
        is loading and idle. A rank without GPU work, and with host=True each rank, is divided as `breakdown
        host` does. `rankscope view` draws it.

        lanes lists the events of threads and streams as they are nested, without cuda_sync.

        Options:
            host: what the host does, where there is GPU work, too
            lanes: the events of each thread and stream, nested, in place of the map

        Table map: one row is a stretch in which a rank does one thing
            rank [id]: rank
            class: compute, exposed_comm, exposed_copy, other_work, loading (idle, and a data loader runs),
                idle; of a host operators, exposed_comm, exposed_sync, loading, other
            from_us [us]: when it begins
            time_us [us]: how long it lasts

        Table lanes: one row is an event; with lanes=True: by lane, those that hold others first
            rank [id]: rank
            lane: thread of the host, or stream of a device
            depth [count]: how many events of its lane hold it
            from_us [us]: start
            time_us [us]: duration
            name: the event's name
            class: computation, communication, memory, other (GPU work), operator, annotation, python, call,
                gpu_annotation, host
            position [id]: place in the file's event array, from 0
            parent [id]: position of the event that holds it
            launch [id]: of GPU work: position of the call that launched it"""
    def measured(self, *,
        by: Literal['kernel', 'step', 'state'] = 'kernel',
        top: int = 20,
        compat: None = None,
        table: Optional[Literal['kernels', 'steps', 'states']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What counters measured in each kernel, each step and idle time: SM and tensor activity, memory, links, clocks, power.

        For traces with samples of a GPU: nsys --gpu-metrics-devices, PyTorch 2.15 (power, clocks, PM
        sampling), ranges of Kineto's profiler, and kernels of rocprofv3 --pmc. A sample holds until the
        next one. Values are means over the time in which a counter is known, which can be a part of the
        trace. Work shorter than the time between two samples shares them with its neighbours: column
        samples says over how many the mean was taken.

        Options:
            by: kernel: name of the work; step: number of the step; state: busy or idle; one of kernel,
                step, state
            top: only the first N kernels of a rank; 0: all

        Table kernels: one row is one name of GPU work of one rank
            rank [id]: rank
            name: kernel, copy or memset
            count [count]: executions
            time_us [us]: their durations
            measured_us [us]: of that time, where a counter is known
            samples [count]: measured time over the time between two samples; work that is shorter than that
                shares a sample with its neighbours
            sm_active_pct [percent]: cycles in which SMs have a warp, of all
            tensor_active_pct [percent]: cycles in which the pipes of the tensor cores work
            dram_pct [percent]: reads and writes of memory, of the peak
            nvlink_rx_pct [percent]: received over NVLink, of the peak
            nvlink_tx_pct [percent]: sent over NVLink, of the peak
            pcie_rx_pct [percent]: received over PCIe, of the peak
            pcie_tx_pct [percent]: sent over PCIe, of the peak
            clock_mhz: clock of the SMs, MHz
            memory_clock_mhz: clock of the memory, MHz
            power_w: power that the device draws, W
            temperature_c: temperature of the device, C

        Table steps: one row is one step of one rank
            rank [id]: rank
            step [id]: number of the step
            time_us [us]: its length
            measured_us [us]: of that time, where a counter is known
            samples [count]: measured time over the time between two samples; work that is shorter than that
                shares a sample with its neighbours
            sm_active_pct [percent]: cycles in which SMs have a warp, of all
            tensor_active_pct [percent]: cycles in which the pipes of the tensor cores work
            dram_pct [percent]: reads and writes of memory, of the peak
            nvlink_rx_pct [percent]: received over NVLink, of the peak
            nvlink_tx_pct [percent]: sent over NVLink, of the peak
            pcie_rx_pct [percent]: received over PCIe, of the peak
            pcie_tx_pct [percent]: sent over PCIe, of the peak
            clock_mhz: clock of the SMs, MHz
            memory_clock_mhz: clock of the memory, MHz
            power_w: power that the device draws, W
            temperature_c: temperature of the device, C

        Table states: one row is one state of one rank's GPU
            rank [id]: rank
            state: busy: any work runs; idle: between two pieces of work none does
            count [count]: stretches
            time_us [us]: their lengths
            measured_us [us]: of that time, where a counter is known
            samples [count]: measured time over the time between two samples; work that is shorter than that
                shares a sample with its neighbours
            sm_active_pct [percent]: cycles in which SMs have a warp, of all
            tensor_active_pct [percent]: cycles in which the pipes of the tensor cores work
            dram_pct [percent]: reads and writes of memory, of the peak
            nvlink_rx_pct [percent]: received over NVLink, of the peak
            nvlink_tx_pct [percent]: sent over NVLink, of the peak
            pcie_rx_pct [percent]: received over PCIe, of the peak
            pcie_tx_pct [percent]: sent over PCIe, of the peak
            clock_mhz: clock of the SMs, MHz
            memory_clock_mhz: clock of the memory, MHz
            power_w: power that the device draws, W
            temperature_c: temperature of the device, C"""
    def memory(self, *,
        series: bool = False,
        top: int = 20,
        by: Literal['line', 'function', 'file', 'frame', 'stack', 'op', 'size', 'stream', 'pool', 'annotation', 'category'] = 'line',
        at: Text = 'peak',
        layers: Optional[int] = None,
        layout: bool = False,
        base: Optional[Text] = None,
        trace: Optional[Text] = None,
        fit: Size = None,
        other: Size = None,
        without: Optional[Text] = None,
        recompute: Optional[Text] = None,
        early: Optional[Text] = None,
        batch: Optional[float] = None,
        shard: Optional[int] = None,
        counters: Optional[Text] = None,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['memory', 'series', 'devices', 'operators', 'held', 'ranks', 'sites', 'peak', 'categories', 'timeline', 'segments', 'fragmentation', 'leaks', 'oom', 'spread', 'change', 'fit', 'without', 'moments', 'modules', 'costs', 'layers', 'layout', 'findings', 'counters']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What memory is used for: by category of a memory timeline, by device and operator of traces.

        Traces that were recorded with profile_memory=True hold an event [memory] for each allocation and
        release: how much each device's allocator held, when it held most, and which operator or annotation
        allocated how much, its callees' not counted. Steps and a window select events.

        A memory timeline is what torch.profiler's export_memory_timeline writes under a name that ends in
        .raw.json or .raw.json.gz: changes [time, action, bytes, category]. Changes at the same time count
        together; what was there before the recording (times below zero) is there from the first change on.
        A tensor that changes its category is neither allocated nor freed.

        Options:
            series: what is held whenever it changes: of a timeline by category, of traces and snapshots by
                device
            top: rows of each rank: of traces operators; of snapshots sites and blocks of each device; 0:
                all
            by: snapshots: what a site is: the user's own source line, its function, ..., the whole stack;
                op: the operator, by trace where it shows the allocation, else by frames of C++; one of
                line, function, file, frame, stack, op, size, stream, pool, annotation, category
            at: snapshots: when sites, blocks and categories are looked at: peak, end, or microseconds
            layers: snapshots: what the largest sites hold over time, in N stretches; table layers
            layout: snapshots: which addresses are taken from the device at the time of at; table layout
            base: snapshots: compare with these: a snapshot, or the folder of a job; table change
            trace: snapshots: traces of the same run, recorded with profile_memory=True: which step, phase
                and module made the peak, and what recomputing would cost; tables moments, modules, costs
            fit: snapshots: would it fit into a device of this size (80G); table fit
            other: ... of which this is not PyTorch's: the CUDA context, NCCL, other processes
            without: snapshots: the peak without the sites by line that this regular expression fits; table
                without
            recompute: ... with the activations of such sites made again for the backward pass
            early: ... with the blocks of such sites freed when the annotation around their allocation ends
            batch: ... with a micro-batch of FACTOR times the size
            shard: ... with optimizer state divided over N times as many ranks
            counters: snapshots: write counter tracks of what is held, too (.json, .json.gz, .pftrace)
            fail_on: snapshots: exit 1 when a row of ranks meets the expression: 'out_of_memory > 0'

        Table memory: one row is one category
            category: what the memory is for; total: all of it
            at_peak_bytes [bytes]: held when the total was largest
            at_peak_pct [percent]: share of the total then
            own_peak_bytes [bytes]: the most this category held by itself
            own_peak_at_us [us]: when that was; unknown if it never held anything
            before_bytes [bytes]: there before the recording
            end_bytes [bytes]: held at the end
            allocated_bytes [bytes]: sum of all allocations recorded
            allocations [count]: how many
            freed_bytes [bytes]: sum of all releases recorded

        Table series: one row is what is held from one change to the next; empty without series
            time_us [us]: from the first change; with absolute=True as in the file
            parameter [bytes]: bytes held
            optimizer_state [bytes]: bytes held
            input [bytes]: bytes held
            temporary [bytes]: bytes held
            activation [bytes]: bytes held
            gradient [bytes]: bytes held
            autograd_detail [bytes]: bytes held
            unknown [bytes]: bytes held
            total [bytes]: sum of them

        Table devices: one row is the allocator of one device of a rank, by the trace's [memory] events
            rank [id]: rank of the job
            device: cpu, cuda:0, ...
            peak_bytes [bytes]: the most that the allocator held; of the host from the recording's start on
            peak_at_us [us]: when that was
            peak_step [id]: step in which that was
            peak_operator: innermost operator or annotation around that allocation
            before_bytes [bytes]: held before the first event
            end_bytes [bytes]: held after the last
            reserved_bytes [bytes]: the most that the allocator had reserved from the device; unknown where
                it reserves nothing
            allocated_bytes [bytes]: sum of all allocations
            allocations [count]: how many
            freed_bytes [bytes]: sum of all releases
            releases [count]: how many
            out_of_memory [count]: allocations that failed for want of memory

        Table operators: one row is one operator of a rank, by what it allocated
            rank [id]: rank of the job
            device: cpu, cuda:0, ...
            operator: innermost operator or annotation on the thread; unknown: outside of all
            allocated_bytes [bytes]: sum of its allocations
            allocations [count]: how many
            freed_bytes [bytes]: sum of its releases
            releases [count]: how many
            net_bytes [bytes]: allocated_bytes less freed_bytes

        Table held: one row is one change of a trace; empty without series
            rank [id]: rank of the job
            device: cpu, cuda:0, ...
            time_us [us]: when it changed
            bytes [bytes]: allocated, or released (below 0)
            held_bytes [bytes]: held from then on
            reserved_bytes [bytes]: reserved from the device; unknown where nothing is

        Table ranks: one row is one device of a rank, by its snapshot
            rank [id]: rank of the job
            device: cuda:0, ...
            events [count]: events of the allocator in the file
            span_us [us]: from the first to the last of them
            before_bytes [bytes]: active before the first event; unknown without events
            peak_active_bytes [bytes]: the most that was in use at once, asked for: blocks that nothing else
                could use
            peak_active_at_us [us]: when that was
            peak_held_bytes [bytes]: the same without blocks that were freed while another stream still used
                them
            peak_held_at_us [us]: when that was
            peak_reserved_bytes [bytes]: the most that was taken from the device
            peak_reserved_at_us [us]: when that was
            end_active_bytes [bytes]: in use at the end, asked for
            end_held_bytes [bytes]: of these, not yet asked to be freed
            end_allocated_bytes [bytes]: rounded: what torch.cuda.memory_allocated() says at the end
            end_reserved_bytes [bytes]: taken from the device at the end
            device_allocs [count]: segments taken from the device, or mapped
            device_frees [count]: segments returned to the device, or unmapped
            out_of_memory [count]: allocations that failed
            above_median_pct [percent]: peak_active_bytes against the median of all rows

        Table sites: one row is one site of a device and what it holds
            rank [id]: rank of the job
            device: cuda:0, ...
            site: who allocated it, as by says; unknown: no stack, or from before the recording
            bytes [bytes]: active at the time of at
            blocks [count]: how many blocks
            share_pct [percent]: of all that is active then
            own_peak_bytes [bytes]: the most it held at once
            allocated_bytes [bytes]: sum of its allocations
            allocations [count]: how many
            end_bytes [bytes]: active at the end

        Table peak: one row is one block that is active at the time of at
            rank [id]: rank of the job
            device: cuda:0, ...
            address: where the block begins
            bytes [bytes]: asked for
            state: held, or pending: freed while another stream still used it
            since_us [us]: when it was allocated; unknown: before the recording
            until_us [us]: when it could be used again; unknown: it is there at the end
            stream: handle of the stream that it was allocated on
            pool: pool of its segment at the end (0,0: the default one; others: CUDA graphs, MemPool)
            site: who allocated it
            category: what it is for, an estimate
            doubt: how certain the category is: sure, likely or guess

        Table categories: one row is what blocks that are active at the time of at are for, an estimate
            rank [id]: rank of the job
            device: cuda:0, ...
            category: what blocks are for, estimated from who allocated and freed them
            bytes [bytes]: active at the time of at
            share_pct [percent]: of all that is active then
            doubt: certainty of the least certain block: sure, likely or guess
            blocks [count]: how many blocks

        Table timeline: one row is one event that changes a sum; empty without series
            rank [id]: rank of the job
            device: cuda:0, ...
            event [id]: its place in the device's list
            time_us [us]: when it was
            action: what the allocator did
            bytes [bytes]: what it adds to a sum, negative where it ends
            held_bytes [bytes]: held from then on
            active_bytes [bytes]: active from then on
            reserved_bytes [bytes]: reserved from then on

        Table segments: one row is one segment at the end
            rank [id]: rank of the job
            device: cuda:0, ...
            address: where the segment begins
            type: small: for blocks of at most 1 MiB; large: for the others
            stream: handle of the stream that it serves
            pool: 0,0: the default one
            expandable: yes or no
            reserved_bytes [bytes]: taken from the device
            active_bytes [bytes]: rounded bytes in use
            allocated_bytes [bytes]: of these, not pending: freed while another stream still used them
            requested_bytes [bytes]: asked for, of the bytes in use
            free_bytes [bytes]: not in use
            releasable_bytes [bytes]: of these, what empty_cache can return to the device
            stuck_bytes [bytes]: of these, what it cannot return
            largest_free_bytes [bytes]: the largest free run: the largest allocation that fits
            free_runs [count]: pieces that the free bytes are in
            blocks [count]: blocks in use

        Table fragmentation: one row is the segments of one pool, stream and type at the end
            rank [id]: rank of the job
            device: cuda:0, ...
            pool: 0,0: the default one
            stream: handle of the stream that the segments serve
            type: small: for blocks of at most 1 MiB; large: for the others
            segments [count]: how many segments
            reserved_bytes [bytes]: taken from the device
            active_bytes [bytes]: rounded bytes in use
            requested_bytes [bytes]: asked for, of the bytes in use
            free_bytes [bytes]: not in use
            releasable_bytes [bytes]: of these, what empty_cache can return to the device
            stuck_bytes [bytes]: of these, what it cannot return: external fragmentation
            free_runs [count]: pieces that the free bytes are in
            rounding_bytes [bytes]: active without requested bytes: internal fragmentation
            largest_free_bytes [bytes]: the largest free run
            stuck_pct [percent]: stuck_bytes of reserved_bytes

        Table leaks: one row is one site that keeps something in most steps
            rank [id]: rank of the job
            device: cuda:0, ...
            site: who allocates in most steps what is there at the end
            told_by: what steps are detected from: step (annotations), cycle (troughs of the active bytes)
            steps [count]: steps looked at, the first and last left out
            steps_kept [count]: of these, in how many it kept some
            kept_bytes [bytes]: allocated in these, there at the end
            kept_blocks [count]: how many blocks
            kept_pct [percent]: of what it allocated in these steps
            bytes_per_step [bytes]: kept_bytes over steps

        Table oom: one row is one allocation that failed
            rank [id]: rank of the job
            device: cuda:0, ...
            event [id]: its place in the device's list
            time_us [us]: when it failed
            requested_bytes [bytes]: asked for, rounded
            device_free_bytes [bytes]: free on the device, outside of PyTorch's segments
            held_bytes [bytes]: held then
            active_bytes [bytes]: active then
            reserved_bytes [bytes]: reserved then
            room_bytes [bytes]: reserved and free on the device: all that PyTorch could have
            slack_bytes [bytes]: reserved, and not active: fragments and rounding
            short_bytes [bytes]: requested beyond what was free on the device
            cause: limit: the device had room; fragmentation: it and the slack had; demand: too much was in
                use
            site: who asked
            largest_free_bytes [bytes]: the largest free run of the segments; unknown where allocations
                followed

        Table spread: one row is one site over all devices of all ranks, each at its own peak
            site: who allocated it, as by says
            ranks [count]: ranks that hold some
            min_bytes [bytes]: the least of a device at its own peak
            min_rank [id]: whose
            median_bytes [bytes]: median of all devices
            max_bytes [bytes]: the most
            max_rank [id]: whose
            spread_bytes [bytes]: max_bytes without min_bytes

        Table change: one row is one site in base and in what is given
            rank [id]: rank of the job
            device: cuda:0, ...
            site: who allocated it, as by says
            a_bytes [bytes]: active at the time of at in the base
            b_bytes [bytes]: active at the time of at in what is compared with it
            change_bytes [bytes]: b_bytes without a_bytes
            a_blocks [count]: blocks in the base
            b_blocks [count]: blocks in the other

        Table fit: one row is whether one device's work fits in fit
            rank [id]: rank of the job
            device: cuda:0, ...
            room_bytes [bytes]: fit without other
            need_bytes [bytes]: the most that was reserved, or would have been had no allocation failed
            floor_bytes [bytes]: the same of active bytes: without fragmentation
            headroom_bytes [bytes]: room_bytes without need_bytes
            fits: yes, without fragmentation, or no

        Table without: one row is the peak of one device if something were different
            rank [id]: rank of the job
            device: cuda:0, ...
            blocks [count]: blocks that would be different
            removed_at_peak_bytes [bytes]: what they would not hold when the device was fullest
            peak_active_bytes [bytes]: the peak as recorded
            new_peak_active_bytes [bytes]: the peak then; unknown where its interval is too wide
            new_peak_at_us [us]: when that would be
            saved_bytes [bytes]: peak_active_bytes without new_peak_active_bytes
            low_bytes [bytes]: the least that the new peak may be
            high_bytes [bytes]: the most that it may be
            floor_bytes [bytes]: the peak as recorded, or what was active when an allocation failed and what
                that asked for
            new_floor_bytes [bytes]: the same then, at most
            change: the option; together: all of them at once
            assumes: what it rests on

        Table moments: one row is where in trace one device was fullest; empty without it
            rank [id]: rank of the job
            device: cuda:0, ...
            peak_active_at_us [us]: when it was fullest
            peak_active_bytes [bytes]: the most that was in use at once
            step [id]: step of the trace in which that was; this and what follows: unknown where the trace
                does not show the allocation that made the peak
            phase: forward, backward, ...: as in modules
            module: nn.Module that allocated; unknown: none
            operator: innermost operator or annotation around it, but for aten::empty and its like, which
                allocate for their caller
            bytes [bytes]: asked for by that allocation
            allocations [count]: the rank's allocations at times that snapshot and trace cover
            matched_pct [percent]: of these, found in the trace by address, size and time
            shift_us [us]: how far the trace's clock is ahead of the snapshot's: the median
            error_us [us]: 95 % of the matches are so close to it

        Table modules: one row is what one module of trace holds when the device is fullest, by phase; empty
            without it
            rank [id]: rank of the job
            device: cuda:0, ...
            module: innermost nn.Module around the allocation, of the backward pass that of its forward
                operator; unknown: none
            phase: in which it was allocated; unknown: the trace does not show the allocation
            bytes [bytes]: active when the device was fullest
            blocks [count]: how many blocks
            share_pct [percent]: of all that is active then
            activation_bytes [bytes]: of these, activations, an estimate: the most that computing them again
                saves
            forward_us [us]: GPU time of the module's own forward work in the step of the peak: what
                computing it again costs

        Table costs: one row is one line whose activations are there when the device is fullest, and what
            computing them again costs by trace=; empty without it
            rank [id]: rank of the job
            device: cuda:0, ...
            site: source line that allocated, as by="line"
            activation_bytes [bytes]: its activations when the device was fullest, an estimate: the most
                that computing them again saves
            share_pct [percent]: of all that is active then
            blocks [count]: how many blocks
            operators [count]: outermost operators of its module that allocated them
            priced_pct [percent]: of activation_bytes, those whose operator the trace shows
            least_cost_us [us]: GPU time of these operators: what computing them alone again costs
            most_cost_us [us]: GPU time of all own forward work of their modules in that step: what
                computing the modules again costs; unknown: part of it has no module

        Table layers: one row is one site at one instant: of each stretch its fullest and its last; empty
            without layers
            rank [id]: rank of the job
            device: cuda:0, ...
            instant [id]: how many of the device's events are before it
            time_us [us]: when it was
            site: who allocated it, as by says
            bytes [bytes]: what the site has active then
            active_bytes [bytes]: active then, of all sites
            reserved_bytes [bytes]: taken from the device then

        Table layout: one row is one stretch of addresses that is taken from the device at the time of at;
            empty without layout
            rank [id]: rank of the job
            device: cuda:0, ...
            address: where it begins
            bytes [bytes]: how long it is
            active_bytes [bytes]: active in it then, asked for
            blocks [count]: blocks in use in it then

        Table findings: one row is one sentence; the first is the verdict
            kind: peak, failure, fragmentation, growth, outlier, not_known; moment, recompute, cost, fit,
                without, change: what was asked
            rank [id]: of which rank; unknown: of several
            device: of which device
            site: the site that it names
            bytes [bytes]: how much it is about
            finding: the sentence; the first is the verdict
            remedy: what to try

        Table counters: one row is what counters writes; empty without it
            rank [id]: rank of the job
            device: cuda:0, ...
            time_us [us]: from when on
            held_bytes [bytes]: held from then on
            active_bytes [bytes]: active from then on
            reserved_bytes [bytes]: reserved from then on"""
    def mfu(self, *,
        device: Optional[Text] = None,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['mfu']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Model and hardware FLOPs utilisation of each training step.

        HFU is the time that the step's matrix FLOPs take at the device's dense, theoretical rate, as a
        share of the step's length on the host. Where the host runs ahead of the GPU that length is not what
        the step costs: period_mfu_pct counts from the end of the step before to its own with its GPU work.
        MFU leaves out what a model would not need: operators below torch.utils.checkpoint's recompute_fn
        (which only shows where Python functions were recorded, with_stack=True), those that
        CheckpointFunctionBackward runs again, and the scores that fused attention computes again in the
        backward pass. Causal attention counts the pairs that are not masked, where other tools, PaLM's MFU
        among them, count the full square. FLOPs come from the models of roofline; modelled_pct says how
        much of the GPU time has one.

        Options:
            device: what the device can do: a name of the built-in table, or a JSON file; default: as the
                trace says
            fail_on: exit 1 when a row meets the expression: 'mfu_pct < 35'

        Table mfu: one row is one step of one rank
            rank [id]: rank
            step [id]: number of the step; unknown: the trace has none, and the row is all of it
            length_us [us]: its length on the host; unknown when only the GPU shows it
            matrix_flops [count]: contractions as executed, a multiply-add counted as 2
            recompute_flops [count]: of these: activation checkpoints run again, and scores of attention
                computed again
            tflops_per_s: matrix_flops over the step's length, 1e12 a second
            ideal_us [us]: matrix_flops at the device's dense rate of their precision
            hfu_pct [percent]: ideal_us of length_us: hardware FLOPs utilisation
            mfu_pct [percent]: the same without recompute_flops: model FLOPs utilisation
            period_us [us]: from the end of the step before to its own with its GPU work, as steps has it;
                unknown without steps
            period_mfu_pct [percent]: mfu_pct over period_us: what counts where the host runs ahead of the
                GPU
            modelled_pct [percent]: GPU time with a model, of all but communication: how much of this to
                believe"""
    def modules(self, *,
        by: Literal['instance', 'class'] = 'instance',
        top: int = 0,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['modules', 'phases']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """GPU time by nn.Module: forward, backward, and what activation checkpointing computes again.

        Work belongs to the innermost nn.Module around its launch. Work of the backward pass belongs to the
        module of the forward operator with the same sequence number. Time is the sum of durations of GPU
        work, communication and copies among it, and every piece is in the own time of exactly one row.
        Computed again is what runs below torch.utils.checkpoint's recompute_fn (which only shows where
        Python functions were recorded, with_stack=True) or in CheckpointFunctionBackward outside of the
        backward pass that this starts. Kernels of replayed CUDA graphs belong to the module that a mark of
        their capture names (torch.cuda.graph_annotations.mark_kernels with module_fqn, else its name):
        layers.0.mlp is in layers.0 and layers; calls are replays.

        Options:
            by: instance: each module by itself (Linear_3); class: all of one class together (Linear); one
                of instance, class
            top: only the first N modules of a rank; 0: all
            fail_on: exit 1 when a row of the chosen table meets the expression: 'recompute_us > 1000'

        Table modules: one row is one module of one rank
            rank [id]: rank
            module: nn.Module; (no module): work below none, (unlinked): work without a launch in the file
            parent: the module around it where it was met first; unknown: none
            calls [count]: how often it was entered
            total_us [us]: GPU time of it and of the modules in it: durations added up
            own_us [us]: ... of that, below no module in it; the own times of all rows add up to the rank's
                GPU time
            share_pct [percent]: total_us of the rank's GPU time
            forward_us [us]: total_us of the forward pass
            backward_us [us]: total_us of the backward pass: of the operators whose forward operators are
                its own
            recompute_us [us]: total_us of what activation checkpointing computes again
            kernels [count]: pieces of GPU work in total_us
            host_us [us]: time in it on the host

        Table phases: one row is one phase of one rank
            rank [id]: rank
            phase: forward: below a module, or an operator that autograd numbers; backward: below the
                autograd engine; recompute: forward operators run again for activation checkpointing;
                optimizer: below Optimizer.step; other; unlinked: without a launch in the file
            gpu_us [us]: GPU time: durations added up
            share_pct [percent]: of the rank's GPU time
            kernels [count]: pieces of GPU work"""
    def ops(self, *,
        by: Literal['op', 'category', 'args'] = 'op',
        host: bool = False,
        perf: bool = False,
        device: Optional[Text] = None,
        top: int = 0,
        compat: None = None,
        table: Optional[Literal['ops', 'categories', 'args', 'across', 'host', 'perf', 'coverage']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Operators by the GPU work they launch, by name, kind or arguments.

        Each operator that launches GPU work is a launcher (see launchers); here they are added up. Times
        are unions within a launcher and sums over launchers, so that rows can add up to more than the GPU
        was busy. A kind is recognised by the operator's name, else by its first kernel's. With several
        ranks a second table sets them against each other. host adds up all operators and annotations of the
        host instead, by their own time: what PyTorch's key_averages() shows, for jobs without a GPU too.
        Communication that a worker runs (gloo:*) takes nothing from what it overlaps. perf shows FLOPs,
        bytes and rates of each operator and its arguments against the device's bound: the rows, owners and
        numbers of roofline, whose help says how they are counted. Work there belongs to the outermost
        operator with a model, so its rows are not those of by="args". The table coverage says how much of a
        rank's GPU time has a model.

        Options:
            by: op: the operator's name; category: its kind; args: name, shapes, types, strides and values
                of the inputs; one of op, category, args
            host: where the host's own time goes instead: all operators and annotations, whether they launch
                work or not
            perf: what operators compute and move instead, by operator and arguments, against what the
                device could do
            device: with perf=True, what the device can do: a name of the built-in table, or a JSON file;
                default: as the trace says
            top: only the first N rows of a rank; 0: all

        Table ops: one row is one operator of one rank
            rank [id]: rank
            name: operator, or the runtime call where no operator is around it
            count [count]: how often it launched
            total_direct_kernel_time_us [us]: union of the work each launcher launched itself, communication
                left out, added up
            total_subtree_kernel_time_us [us]: union of all work below each launcher, communication
                included, added up
            kernels [count]: pieces of work
            share_pct [percent]: of the rank's direct time
            cumulative_pct [percent]: share of this and all rows above it
            categories: its kinds, joined by |

        Table categories: one row is one kind of operator of one rank
            rank [id]: rank
            op_category: kind of operator
            count [count]: launchers of that kind
            total_direct_kernel_time_ms [ms]: union of the work each launcher launched itself, communication
                left out, added up
            kernels [count]: pieces of work
            share_pct [percent]: of the rank's direct time
            cumulative_pct [percent]: share of this and all rows above it

        Table args: one row is one operator with one set of arguments, of one rank
            rank [id]: rank
            name: operator, or the runtime call where no operator is around it
            op_category: kind of operator
            count [count]: how often it launched with these arguments
            total_direct_kernel_time_us [us]: union of the work each launcher launched itself, communication
                left out, added up
            total_subtree_kernel_time_us [us]: union of all work below each launcher, communication
                included, added up
            mean_us [us]: mean direct time
            min_us [us]: least direct time
            max_us [us]: greatest direct time
            kernels [count]: pieces of work
            share_pct [percent]: of the rank's direct time
            cumulative_pct [percent]: share of this and all rows above it
            ex_uid [id]: position in traceEvents of the first of them
            input_dims: shapes of the inputs
            input_types: types of the inputs
            input_strides: strides of the inputs
            concrete_inputs: values of scalar inputs

        Table across: one row is one operator, or kind with by="category", over all ranks
            name: operator or kind of operator
            ranks [count]: ranks it launched on
            count [count]: how often, on all of them
            mean_us [us]: direct time, mean over all ranks
            min_us [us]: least direct time of a rank
            min_rank [id]: the rank that has it
            max_us [us]: greatest direct time of a rank
            max_rank [id]: the rank that has it

        Table host: one row is one name of one rank, by its own time
            rank [id]: rank
            name: operator or annotation of the host
            count [count]: how often it ran
            total_us [us]: its durations added up; a call in one of its own name counts in both, unless that
                calls nothing else
            self_us [us]: of that, outside the operators and annotations that it called on its thread

        Table perf: one row is one operator with one set of arguments, of one rank
            rank [id]: rank
            name: operator that owns the work: the outermost one with a model, else the launcher
            model: kind of model; unknown where there is none for it
            exact: yes, or lower where the work depends on more than the trace holds
            count [count]: calls
            kernel_us [us]: GPU time of all calls: unions of the work each owns
            share_pct [percent]: of the rank's GPU time of operators
            flops [count]: FLOPs of one call, a multiply-add counted as 2
            bytes [bytes]: what one call must move: each operand once
            precision: of the matrix part, else of the first operand
            flops_per_byte: arithmetic intensity
            tflops_per_s: FLOPs of all calls over GPU time, 1e12 a second
            tb_per_s: bytes of all calls over GPU time, 1e12 a second
            bound: what bounds it on that device: matrix, vector or memory
            efficiency_pct [percent]: share of the roofline: least time on that device in GPU time; above
                100 where caches held operands
            ex_uid [id]: position in traceEvents of the first call
            input_dims: shapes of the inputs
            input_types: types of the inputs
            input_strides: strides of the inputs
            concrete_inputs: values of scalar inputs

        Table coverage: one row is one rank: how much of its GPU time has a model
            rank [id]: rank
            device: what bounds are of; unknown: not recognised
            count [count]: calls that own GPU work
            kernel_us [us]: GPU time of all calls
            modelled_us [us]: GPU time of calls with a model
            modelled_pct [percent]: share of GPU time with a model
            flops [count]: of all calls with a model
            bytes [bytes]: moved by all calls whose bytes are known
            bounded_us [us]: GPU time of calls that have a bound
            bound_us [us]: least time of these calls
            efficiency_pct [percent]: bound_us of bounded_us"""
    def overlap(self, *,
        by: Literal['rank', 'phase'] = 'rank',
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['overlap', 'phases']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How much of each rank's communication is hidden by computation.

        Communication is recognised by the kernel's name (NCCL, RCCL and the others of the kernel-class
        table), time is that of unions: two collectives at once count once. A rank without communication has
        no percentage.

        A job without a GPU communicates on the host: spans gloo:*, mpi:*, ucc:*, which operators that
        compute on any thread hide.

        by="phase": which phase communicates, and whether its own computation hides that or another phase's.
        The phase is that of the launch (command structure). Where two phases communicate at once each has
        that time, so phases may add up to more than the row all.

        Options:
            by: phase: communication of the forward and the backward pass and of the optimizer, and whose
                computation hides it; one of rank, phase

        compat: hta, hta-exact give that tool's numbers and columns.

        Table overlap: one row is one rank
            rank [id]: rank
            comm_us [us]: communication runs
            overlapped_us [us]: communication and computation run
            exposed_us [us]: communication runs and no computation
            overlap_pct [percent]: overlapped_us of comm_us; unknown without communication
            exposed_pct_of_span [percent]: exposed_us of the time from the first GPU event to the last;
                without a GPU of all events
            comm_events [count]: communication kernels; without a GPU spans of the host (gloo:*)

        Table phases: one row is one phase of one rank; with by="phase"
            rank [id]: rank
            phase: phase that launched the communication: forward, backward, optimizer, unknown; all: the
                whole rank
            comm_us [us]: communication of the phase runs
            overlapped_us [us]: communication of the phase and any computation run
            by_own_us [us]: of it, while computation of the same phase runs
            by_other_us [us]: of it, while only computation of other phases runs, as DualPipe arranges it
            exposed_us [us]: communication of the phase runs and no computation
            overlap_pct [percent]: overlapped_us of comm_us
            comm_events [count]: communication kernels"""
    def pipeline(self, *,
        by: Literal['stage', 'step', 'pass'] = 'stage',
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        layout: Optional[Text] = None,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['pipeline', 'steps', 'passes', 'layout']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Bubbles of a pipeline by stage and cause: warm-up, drain, imbalance, links; and its schedule.

        Ranks that sends and receives tie together are a pipeline; its stages are in the order of the first
        messages of a step. A pass is the computation of one phase that no send, receive or other phase
        parts in the order of the program. A step of a pipeline lasts from its first pass to its last, the
        same for all stages, and causes add up to idle_us exactly.

        A stage that waits for another waits for what that one does at the moment: computes, waits itself,
        sends. Waiting for computation is the schedule's (warm_up_us, steady_us, drain_us) as long as the
        order of passes makes a stage wait where all passes of a kind take the mean of the step and nothing
        else takes time; more is imbalance_us, of stages or of micro-batches.

        layout predicts the pipeline with other stages, micro-batches or order of passes: every pass takes
        what it takes now (with other stages an equal share of the model), messages too, and the order of
        the schedule is replayed. `whatif layout` asks the same for all axes (dp, tp, ep, too) and for a
        whole step. The recorded layout is replayed first, and its error is part of the interval; above 5 %
        nothing is predicted.

        A job without a GPU computes on its hosts, from the first to the last operator of a pass.

        Options:
            by: stage: one row a rank; step: of each of its steps; pass: each forward, backward and weight
                gradient; one of stage, step, pass
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            layout: predict the pipeline in another layout, with these passes:
                'pp=8,micro-batches=16,schedule=1f1b' (or gpipe); what is not said stays; table layout
            fail_on: exit 1 when a row of the chosen table meets the expression: 'bubble_pct > 20'

        Table pipeline: one row is one rank: a stage of a pipeline
            rank [id]: rank
            pipeline [id]: its pipeline, from 0 in the order of first ranks
            stage [id]: its stage, from 0
            stages [count]: stages of a pipeline
            schedule: from the order of its passes; mixed: steps differ
            steps [count]: steps that all stages show
            micro_batches [count]: in a step; unknown: steps differ
            window_us [us]: from the start of the pipeline's first pass to the end of its last
            idle_us [us]: of it, the rank neither computes nor transfers for collectives: the sum of the
                causes
            bubble_pct [percent]: idle_us of window_us
            warm_up_us [us]: the schedule makes it wait until its first backward
            steady_us [us]: the schedule makes it wait between that and its last forward
            drain_us [us]: the schedule makes it wait after its last forward, until the pipeline is done
            imbalance_us [us]: a stage computes that it waits for, longer than the schedule takes with equal
                passes
            link_us [us]: data is on its way between stages
            collective_us [us]: waiting for other ranks in a collective
            host_us [us]: nothing is waited for: a launch, a send or a receive comes late
            schedule_pct [percent]: bubble_pct of the schedule by itself: all passes of a kind equally long,
                links and hosts free
            unmatched [count]: messages of which the traces do not have the other end: what it waits in them
                counts as host
            clocks_us [us]: by what causes may be wrong for each wait: what the clocks of the pipeline's
                ranks are known to; unknown: there is no bound

        Table steps: one row is one step of one rank
            rank [id]: rank
            pipeline [id]: its pipeline, from 0 in the order of first ranks
            stage [id]: its stage, from 0
            step [id]: step; unknown: the trace has none
            schedule: from the order of its passes
            micro_batches [count]: forward passes of a part of the model
            forward [count]: forward passes
            backward [count]: backward passes
            weight [count]: passes of weight gradients alone
            window_us [us]: from the start of the pipeline's first pass to the end of its last
            idle_us [us]: of it, the rank neither computes nor transfers for collectives: the sum of the
                causes
            bubble_pct [percent]: idle_us of window_us
            warm_up_us [us]: the schedule makes it wait until its first backward
            steady_us [us]: the schedule makes it wait between that and its last forward
            drain_us [us]: the schedule makes it wait after its last forward, until the pipeline is done
            imbalance_us [us]: a stage computes that it waits for, longer than the schedule takes with equal
                passes
            link_us [us]: data is on its way between stages
            collective_us [us]: waiting for other ranks in a collective
            host_us [us]: nothing is waited for: a launch, a send or a receive comes late
            schedule_pct [percent]: bubble_pct of the schedule by itself: all passes of a kind equally long,
                links and hosts free
            unmatched [count]: messages of which the traces do not have the other end: what it waits in them
                counts as host

        Table passes: one row is one pass of one rank
            rank [id]: rank
            pipeline [id]: its pipeline
            stage [id]: its stage
            step [id]: step; unknown: the trace has none
            pass: forward, backward, weight (gradients alone)
            number [id]: among those of its kind in the step, from 0
            start_us [us]: start of its first work, clocks aligned
            length_us [us]: to the end of its last work
            busy_us [us]: of that, work runs
            idle_us [us]: the rank is idle between the pass before and it, or in it

        Table layout: one row: the pipeline in another layout
            stages [count]: stages of a pipeline in the other layout
            micro_batches [count]: in a step
            schedule: order of passes
            window_us [us]: from the first pass of a step to the end of the last, predicted: passes take
                what they take now; of other stages, an equal share of all
            low_us [us]: window_us is at least this: by the replay's error on the recorded steps, and by how
                much stages differ
            high_us [us]: ... and at most this
            bubble_pct [percent]: idle time of the stages in it
            recorded_us [us]: the same of the recorded layout, mean of steps
            recorded_bubble_pct [percent]: its bubble
            steps [count]: steps of pipelines that it is learned from
            replay_error_pct [percent]: the recorded layout replayed in the same way, against the recording:
                above 5 % nothing is predicted"""
    def queue(self, *,
        series: bool = False,
        blocked: bool = False,
        max_length: Optional[int] = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['queue', 'series', 'blocked']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How much launched work waits on each stream, and how long the queue is full.

        Work waits from the start of its launch to its own start; a graph launch adds all it owns at once.
        The mean is weighted by time. A launch into a full queue blocks the host: blocked shows for how long
        that was: the driver's limit is the greatest length that three launches at least had to wait at, or
        max_length.

        Options:
            series: print every change
            blocked: print how long the queue was full
            max_length: a queue this long is full (default: the greatest length at which launches had to
                wait; 1024 with compat="hta")

        compat: hta, hta-exact give that tool's numbers and columns.

        Table queue: one row is one stream
            rank [id]: rank
            device [id]: device
            stream [id]: stream
            launched [count]: pieces of work that were launched
            mean [count]: waiting work, weighted by time from the first launch to the last start
            max [count]: most that waited at once
            empty_pct [percent]: of that time nothing waited

        Table series: one row is one change; filled with series=True
            rank [id]: rank
            index [id]: position in traceEvents of the launch or of the work
            ts_us [us]: when it changes
            device [id]: device
            stream [id]: stream
            queue_length [count]: work that waits from now on

        Table blocked: one row is one stream whose queue was full
            rank [id]: rank
            device [id]: device
            stream [id]: stream
            limit [count]: the length at which it is full
            blocked_us [us]: the queue held that or more
            blocked_pct [percent]: of the time from the first launch to the last start"""
    def replay(self, *,
        what_if: Optional[Text] = None,
        scale: Optional[Text] = None,
        no_loader: bool = False,
        map: bool = False,
        force: bool = False,
        edges: Literal['recorded', 'all', 'told'] = 'all',
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        most_events: Optional[int] = None,
        compat: None = None,
        table: Optional[Literal['replay', 'what_if', 'path', 'edges', 'map']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """The recording run again through its event graph, and how far off that is.

        Every host point and every piece of GPU work waits for what came before it on its thread or stream,
        for its launch, for what it synchronizes with, and in collectives for the other ranks. Of these
        causes one held it up. Replayed with the recorded gaps the graph gives the recording to the
        nanosecond; that is checked in each run, and says nothing about the model.

        What does: model_error_pct replays with nothing but what is typical of each kind of latency;
        held_out_error_pct learns that without the step; unexplained_us counts gaps on the step's path that
        no known cause explains. Where more than 5 % is unexplained, or a model error is over 3 %, a what-if
        would mislead (trusted is 0).

        Waits that the trace does not record (inner edges of CUDA graphs, ROCm) are inferred where the same
        place of the program waits in step after step, and never starts too early (table edges).

        Options:
            what_if: a question: edits joined by ; act together; given again, a question of its own. scale
                SELECTOR=VALUE, no-stragglers[:RANK], balanced, network*F, overlap[:GROUP], graphs,
                no-loader, no-sync NAME, fuse A+B, coalesce GROUP:BYTES, group-size GROUP:N, payload
                GROUP*F, shard GROUP:N, experts GROUP:N, micro-batches*N
            scale: a question: what is selected takes VALUE (0.5, 12us, none, median): 'name~gemm=0.5',
                'class=communication&group~DATA=0.7', 'part=host&rank=3=0.5'
            no_loader: a question: data is there when it is asked for
            map: with a question: what each rank would do at each moment, as the command map shows the
                recording (table map)
            force: answer questions, too, where the replay cannot be relied on
            edges: recorded (before: `told`): only dependencies that the traces record; all: also those that
                are inferred, from what every step shows and from the order of calls; one of recorded, all,
                told
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            most_events: nothing where the job's ranks have more than N events together: memory grows with
                them

        Table replay: one row is a step of a rank, or an entire rank
            rank [id]: rank of the job
            step [id]: training step; unknown: all of the rank's together
            recorded_us [us]: from the end of the step before to its own: of its annotation or of the last
                GPU work launched in it. The first begins with its annotation, or when the work queued
                before its own is over
            model_error_pct [percent]: a replay in which each latency is what is typical of its kind,
                against the recording
            held_out_error_pct [percent]: the same, learned without this step; of all steps together the
                mean of the absolute errors
            gpu_error_pct [percent]: model error of the time until the GPU's last work of the step has ended
            unexplained_us [us]: on the path to its end: gaps of more than 20 us beyond what any known cause
                takes
            unexplained_pct [percent]: of recorded_us
            inferred_edges [count]: dependencies that the trace does not record: its steps show them, or the
                order of calls asks for them
            contradicted [count]: dependencies of the rank that run against time and are left out
            pinned [count]: work that keeps its recorded time: its launch, or its partners, are not in the
                traces
            trusted: 1: a what-if may rely on it
            reason: why not

        Table what_if: one row is a question of what_if, scale or no_loader, for the job or a rank
            what_if: the question
            rank [id]: rank; unknown: the job
            steps [count]: steps it is the mean of; 0: the whole trace
            before_us [us]: a step as recorded, from the end of the one before to its own: of a rank's, or
                of all ranks' last work
            after_us [us]: a step then
            gain_us [us]: before less after
            gain_low_us [us]: least of four replays (only recorded dependencies or inferred ones too, gaps
                recorded or typical) and of the spread over steps
            gain_high_us [us]: the greatest
            gain_pct [percent]: of before_us
            bound_us [us]: what the question takes off the path as recorded: no gain is greater; unknown
                where it removes a wait that the path runs along
            then_bound_by: what most of the path would be spent on then
            trusted: 1: the replay can be relied on; 0: it cannot, force; unknown: refused
            assumption: what has to hold
            reason: why it is refused or not trusted

        Table path: one row is a part of the path after the end of a rank's trace; the parts add up to its
            length
            rank [id]: rank whose end the path leads to; it may run over others
            part: computation, transfer, copy, launch, stream_gap, sync, host, loader, host_communication,
                pinned, window
            time_us [us]: what the path spends on it
            share_pct [percent]: of the rank's whole trace

        Table edges: one row is a dependency that was inferred
            rank [id]: a rank that shows it
            origin: repeated: every step shows it; occupied: the same, and the source fills the device, so
                that the target starts when the last of it leaves room, before its end; calls: by the order
                of calls, with what other places show
            source: work that is waited for
            target: work that waits
            source_stream [id]: stream of the source
            target_stream [id]: stream of the target
            source_event [id]: position in traceEvents of the source in the first of its steps
            target_event [id]: and of the target
            tight [count]: steps of ranks in which the target starts right after the source and nothing else
                explains it
            instances [count]: steps of ranks that run the same program

        Table map: one row is a stretch in which a rank would do one thing, with the first question; filled
            with map=
            rank [id]: rank
            class: compute, exposed_comm, exposed_copy or idle, as the command map has them
            from_us [us]: when it would begin
            time_us [us]: how long it would last"""
    def roles(self, *,
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['roles', 'waits', 'together', 'messages']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Reinforcement learning: what rollout, reward, reference and update wait for each other.

        The role of a rank is that of ROLE=PATH by hand (rollout=a/ update=b/), else what its process or Ray
        actor is called, else what its annotations say (generate_sequences, compute_rewards, update_policy,
        ...): then a rank may have several, one after the other. Programs that each count their ranks from 0
        get numbers one after the other, and have no process group in common.

        A rank waits from its arrival at a collective, send or receive until the last member has come; it
        waits for the role that the last one has then. Table together: which roles are busy at one time;
        where only one is, the others are a bubble. Table messages: what goes between roles, weight
        synchronisation as annotations name it.

        Options:
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            fail_on: exit 1 when a row of the chosen table meets the expression: 'waits_others_pct > 30'

        Table roles: one row is one role
            role: role
            ranks [count]: ranks that have it, some of the time at least
            first_rank [id]: the first of them
            time_us [us]: that ranks have it, summed: the job's length where they have no other
            busy_us [us]: of that, they compute or copy
            busy_pct [percent]: busy_us of time_us
            transfer_us [us]: else, data goes between ranks that are all there
            waits_others_us [us]: else, they wait for ranks of another role
            waits_others_pct [percent]: waits_others_us of time_us
            waits_own_us [us]: else, they wait for ranks of their role
            idle_us [us]: the rest: nothing runs, and no communication that was matched

        Table waits: one row is one role and one it waits for
            role: role of the ranks that wait
            for_role: role of the rank that comes last
            waits [count]: of a rank in a collective or message
            waited_us [us]: from the arrival of the rank that waits to that of the last, summed over ranks
            max_us [us]: the longest
            for_rank [id]: whom the longest was for

        Table together: one row is one set of roles that are busy at one time
            busy_roles: roles of which some rank is busy
            time_us [us]: exactly these are, at one time
            share_pct [percent]: of the job's length

        Table messages: one row is one kind of operation between ranks of several roles
            roles: roles of the ranks that take part
            operation: collective, or send_recv
            operations [count]: between ranks of several roles
            weight_syncs [count]: of these, those that an annotation of weight synchronisation holds on some
                rank
            bytes [bytes]: of one rank's input, where recorded
            transfer_us [us]: from the last arrival to the first end after it
            waited_us [us]: until the last rank came, summed over ranks"""
    def roofline(self, *,
        by: Literal['args', 'op', 'model', 'module', 'step'] = 'args',
        device: Optional[Text] = None,
        measured: bool = False,
        top: int = 0,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['args', 'ops', 'models', 'devices', 'gemms', 'roofs', 'parts', 'measured']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """What each operator computes and moves, what the device could do at best, how far it is from that.

        FLOPs and bytes follow from the operator's name and the shapes, types and values of its arguments
        (record_shapes=True), forward and backward. Matrix FLOPs are those of contractions, a multiply-add
        counts as 2; vector FLOPs are all other arithmetic. Bytes count each operand once: a lower bound for
        kernels that reread, and too much where the previous operator left data in a cache, so more than 100
        % of the bound is possible. Causal attention counts the pairs that are not masked. Communication is
        left out. Work belongs to the outermost operator around its launch that has a model, else to its
        launcher, so no time is counted twice. What has no model says so and keeps its row. The bound is the
        longest of what matrix FLOPs, vector FLOPs and bytes take at the device's dense, theoretical rates.
        device=FILE is {"name", "mem_bw_gbps", "memory_gb", "max_achievable_tflops": {"matrix_bf16": ...,
        "vector_fp32": ...}}; what it lacks is unknown. The table gemms says what would be gained if every
        matrix product ran at the best rate seen for its shape; roofs holds the lines of a roofline chart,
        which `report` draws. measured adds what counters measured of each operator (SM and tensor activity,
        memory, links, clocks, power) to what its model says: much of the one and little of the other is
        work that the model does not know, or counts twice.

        Options:
            by: args: operator and arguments; op: operator; model: the kind of model; module: the nn.Module
                around the operator; step: the step in which it begins; one of args, op, model, module, step
            device: what the device can do: a name of the built-in table, or a JSON file; default: as the
                trace says
            measured: what counters measured of each operator, next to what the models say of it
            top: only the first N rows of a rank; 0: all
            fail_on: exit 1 when a row of the chosen table meets the expression: 'efficiency_pct < 30,
                kernel_us > 1000'

        Table args: one row is one operator with one set of arguments, of one rank
            rank [id]: rank
            name: operator that owns the work: the outermost one with a model, else the launcher
            model: kind of model; unknown where there is none for it
            exact: yes, or lower where the work depends on more than the trace holds
            count [count]: calls
            kernel_us [us]: GPU time of all calls: unions of the work each owns
            matrix_flops [count]: contractions of one call, a multiply-add counted as 2
            vector_flops [count]: all other arithmetic of one call
            bytes [bytes]: what one call must move: each operand once
            precision: of the matrix part, else of the first operand
            flops_per_byte: arithmetic intensity
            tflops_per_s: FLOPs of all calls over GPU time, 1e12 a second
            gb_per_s [GB/s]: bytes of all calls over GPU time
            bound: what bounds it on that device: matrix, vector or memory
            bound_us [us]: the least time of one call on that device
            efficiency_pct [percent]: bound_us of all calls in GPU time; above 100 where caches held
                operands
            ex_uid [id]: position in traceEvents of the first call
            input_dims: shapes of the inputs
            input_types: types of the inputs
            input_strides: strides of the inputs
            concrete_inputs: values of scalar inputs

        Table ops: one row is one operator of one rank
            rank [id]: rank
            name: operator that owns the work: the outermost one with a model, else the launcher
            count [count]: calls
            kernel_us [us]: GPU time of all calls
            matrix_flops [count]: contractions of all calls with a model
            vector_flops [count]: other arithmetic of all calls with a model
            bytes [bytes]: moved by all calls whose bytes are known
            bound_us [us]: least time of all calls that have one
            bounded_us [us]: GPU time of these calls
            efficiency_pct [percent]: bound_us of bounded_us
            modelled_pct [percent]: GPU time with a model, of all

        Table models: one row is one kind of model of one rank
            rank [id]: rank
            model: kind of model; unknown: operators without one
            count [count]: calls
            kernel_us [us]: GPU time of all calls
            matrix_flops [count]: contractions of all calls with a model
            vector_flops [count]: other arithmetic of all calls with a model
            bytes [bytes]: moved by all calls whose bytes are known
            bound_us [us]: least time of all calls that have one
            bounded_us [us]: GPU time of these calls
            efficiency_pct [percent]: bound_us of bounded_us
            modelled_pct [percent]: GPU time with a model, of all

        Table devices: one row is one device that the file describes
            rank [id]: rank
            device [id]: its number in the file
            recorded_name: what the file calls it
            known_as: its name in the built-in table; unknown: not recognised
            mem_gbps [GB/s]: bandwidth of its memory
            matrix_bf16: TFLOP/s of its matrix units, dense
            matrix_fp8: TFLOP/s of its matrix units, dense
            vector_fp32: TFLOP/s of its vector units

        Table gemms: one row is one matrix product with one set of arguments, of one rank
            rank [id]: rank
            name: operator that owns the work: the outermost one with a model, else the launcher
            count [count]: calls
            kernel_us [us]: GPU time of all calls
            best_us [us]: the fastest call with these arguments, on any rank
            best_rank [id]: the rank that had it
            best_tflops_per_s: its rate
            gain_us [us]: GPU time less if every call ran at that rate
            gain_pct [percent]: gain_us of the rank's GPU time of operators
            input_dims: shapes of the inputs
            input_types: types of the inputs
            input_strides: strides of the inputs
            concrete_inputs: values of scalar inputs

        Table roofs: one row is one rate that bounds operators of one rank
            rank [id]: rank
            unit: matrix: contractions; vector: operators that only do other arithmetic
            precision: of that arithmetic; unknown: integers and truth values
            tflops_per_s: what the rank's device can do of it at best
            mem_gbps [GB/s]: bandwidth of its memory
            ridge_flops_per_byte: arithmetic intensity from which on the rate bounds, and not the memory
            count [count]: calls with a model that do it
            kernel_us [us]: their GPU time

        Table parts: one row is one module, or one step, of one rank; with by="module" or step
            rank [id]: rank
            part: module, or number of the step; unknown: operators in none
            count [count]: calls
            kernel_us [us]: GPU time of all calls
            matrix_flops [count]: contractions of all calls with a model
            vector_flops [count]: other arithmetic of all calls with a model
            bytes [bytes]: moved by all calls whose bytes are known
            bound_us [us]: least time of all calls that have one
            bounded_us [us]: GPU time of these calls
            efficiency_pct [percent]: bound_us of bounded_us
            modelled_pct [percent]: GPU time with a model, of all

        Table measured: one row is one operator of one rank; with measured=True
            rank [id]: rank
            name: operator that owns the work: the outermost one with a model, else the launcher
            count [count]: calls
            kernel_us [us]: GPU time of all calls
            measured_us [us]: of their work's durations, where a counter is known
            model_matrix_pct [percent]: matrix FLOPs of all calls over GPU time, of the device's rate at
                their precision
            model_memory_pct [percent]: bytes of all calls over GPU time, of the memory's bandwidth
            sm_active_pct [percent]: cycles in which SMs have a warp, of all
            tensor_active_pct [percent]: cycles in which the pipes of the tensor cores work
            dram_pct [percent]: reads and writes of memory, of the peak
            nvlink_rx_pct [percent]: received over NVLink, of the peak
            nvlink_tx_pct [percent]: sent over NVLink, of the peak
            pcie_rx_pct [percent]: received over PCIe, of the peak
            pcie_tx_pct [percent]: sent over PCIe, of the peak
            clock_mhz: clock of the SMs, MHz
            memory_clock_mhz: clock of the memory, MHz
            power_w: power that the device draws, W
            temperature_c: temperature of the device, C"""
    def sequences(self, *,
        op: Optional[Text] = None,
        min_length: int = 3,
        top: int = 5,
        overlay: Optional[Text] = None,
        no_compress: bool = False,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['sequences', 'marks', 'files']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Which kernels an operator launches, in which order, how often.

        Every event whose name contains op and that is inside of no other such event is looked at with all
        the GPU work launched under it, in order of start. Equal sequences are counted together.

        Options:
            op: look at the events whose names contain NAME (required)
            min_length: only sequences of at least N pieces of GPU work
            top: the K most frequent of each rank; 0: all (under compat="hta" only the overlay is cut to
                them)
            overlay: write the trace with the sequences' events marked
            no_compress: keep names and arguments of the overlay's other events

        compat: hta, hta-exact give that tool's numbers and columns.

        Table sequences: one row is one sequence of kernels
            rank [id]: rank
            pattern: the operator, then the GPU work it launches in order of start, with | between
            count [count]: how often
            kernels [count]: pieces of GPU work in it
            gpu_us [us]: durations of that work, of all occurrences
            cpu_us [us]: durations of the operator on the host, of all occurrences

        Table marks: one row is one event of a sequence; filled with overlay=
            rank [id]: rank
            index [id]: position in traceEvents
            pattern: the pattern it belongs to
            count [count]: how often that occurs

        Table files: one row is one rank's file; filled with overlay=
            rank [id]: rank
            file: the file it was read from"""
    def serving(self, *,
        by: Literal['token', 'step', 'host', 'difference'] = 'token',
        top: int = 30,
        benchmark: Optional[Text] = None,
        benchmark_clock: Optional[float] = None,
        log: Optional[Text] = None,
        log_zone: Optional[Text] = None,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['latency', 'steps', 'host', 'differences', 'requests', 'load', 'fit']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Serving: where the time to a first token and between tokens goes, what slow steps have more of.

        Steps are those that vLLM, SGLang, TensorRT-LLM, ATOM or xDiT annotate, with phase, requests and
        tokens; without annotations those of job.structure(), with the phase that their attention kernels
        show. A step's time is from the end of the step before to its own. Each moment belongs to the first
        of these: computation, communication, a copy; else the GPU is idle: after its next work was launched
        (launch), or before (host).

        A request in decode gets a token at the end of each of its steps: between_tokens is from one to the
        next, by token, and in_prefill_us what of it other requests' prefill took. Requests have no names in
        traces: as many as were in prefill since the last step with decode are taken to be new, so parts of
        a long prompt count as requests of their own. The time to a first token needs when requests were
        sent (benchmark). Percentiles are of the sample by nearest rank: each row is one that happened, and
        its parts add up to the nanosecond.

        Table differences compares the slowest steps of a phase (99th percentile) with typical ones (40th to
        60th), of phases with 20 steps and more: batch, parts of the time, and GPU work by name, by more
        executions or longer ones.

        Options:
            by: token: percentiles of latencies; step: each step; host: what the host did while the GPU
                waited for it; difference: what is longer in the slowest steps; one of token, step, host,
                difference
            top: only the first N rows of a rank in the tables host and differences; 0: all
            benchmark: JSON of vLLM's `bench serve --save-detailed` or SGLang's `bench_serving
                --output-details`: when requests were sent
            benchmark_clock: what is added to the benchmark's times to count from 1970; not needed where
                they do
            log: log of a vLLM or SGLang server: requests that run and wait, KV cache
            log_zone: time zone of the log; not needed where its lines are at the time of the trace in one
                zone only
            fail_on: exit 1 when a row of the chosen table meets the expression: 'percentile = 99, time_us >
                50000'

        Table latency: one row is one percentile of one latency
            rank [id]: rank
            metric: time_to_first_token: from when a request was sent to its first token (benchmark);
                first_token_step: its step alone; between_tokens: of a request in decode; step: of one phase
            phase: of the metric step: phase of the steps
            percentile: of the sample by nearest rank; 100: the longest. One needs 2, 10 or 100 steps
            time_us [us]: that long or less; queue to delivery make it up
            queue_us [us]: from when the request was sent until its step begins
            host_us [us]: nothing runs on the GPU, and its next work was not even launched: scheduler,
                sampling, Python
            launch_us [us]: nothing runs, and the next work is launched already: latency, or a dependency
            compute_us [us]: computation runs
            exposed_comm_us [us]: communication runs and no computation
            exposed_copy_us [us]: copies or memsets run, and neither of them
            other_us [us]: other work, idle before work whose launch is not in the file, time between
                recordings
            delivery_us [us]: from the end of its step until the client has the token
            in_prefill_us [us]: of between_tokens: in steps that prefill other requests and decode nothing
            low_us [us]: 95 % interval of the percentile over the steps
            high_us [us]: its upper end
            samples [count]: tokens, requests or steps of the sample
            step [id]: step in which the shown one ends

        Table steps: one row is one step
            rank [id]: rank
            step [id]: number of the step
            phase: prefill, decode, mixed, diffusion; idle: no requests
            phase_from: annotation of the engine; kernels: of attention, by their names; nothing
            start_us [us]: when the step before ended
            time_us [us]: from the end of the step before to its own, which is period_us of `steps`; host to
                other make it up
            host_us [us]: nothing runs on the GPU, and its next work was not even launched: scheduler,
                sampling, Python
            launch_us [us]: nothing runs, and the next work is launched already: latency, or a dependency
            compute_us [us]: computation runs
            exposed_comm_us [us]: communication runs and no computation
            exposed_copy_us [us]: copies or memsets run, and neither of them
            other_us [us]: other work, idle before work whose launch is not in the file, time between
                recordings
            requests [count]: in the batch
            tokens [count]: computed for them
            prefill_requests [count]: of them in prefill
            prefill_tokens [count]: computed in prefill
            decode_requests [count]: of them in decode

        Table host: one row is what the host did while the GPU waited for it
            rank [id]: rank
            class: scheduler, input (of the model), model, sampling, output, tokenizer, requests, other; by
                names
            name: the annotation or Python function that shows it
            time_us [us]: host_us of all steps in which the launching thread is in it
            share_pct [percent]: of host_us of all steps

        Table differences: one row is one thing that the slowest steps of a phase have more of, or less
            rank [id]: rank
            phase: phase of the steps
            kind: time: of a step; batch: requests or tokens; part: of its time, which add up to it; kernel:
                GPU work
            name: part, or kernel
            typical_us [us]: mean of the typical steps (40th to 60th percentile of the phase); of a batch a
                count
            slow_us [us]: mean of the slow steps (99th percentile and beyond)
            more_us [us]: slow_us less typical_us
            by_count_us [us]: of more_us, by more executions of a typical length
            by_time_us [us]: of more_us, by longer executions
            typical_steps [count]: typical steps
            slow_steps [count]: slow steps

        Table requests: one row is one request of benchmark
            rank [id]: rank
            request [id]: its place among the benchmark's answered ones
            sent_us [us]: when the client sent it
            first_token_us [us]: from then to its first token; queue to delivery make it up
            queue_us [us]: until the step begins that gives its first token; earlier parts of its prompt are
                in it
            host_us [us]: nothing runs on the GPU, and its next work was not even launched: scheduler,
                sampling, Python
            launch_us [us]: nothing runs, and the next work is launched already: latency, or a dependency
            compute_us [us]: computation runs
            exposed_comm_us [us]: communication runs and no computation
            exposed_copy_us [us]: copies or memsets run, and neither of them
            other_us [us]: other work, idle before work whose launch is not in the file, time between
                recordings
            delivery_us [us]: from the end of that step until the client has the token
            step [id]: the last step with prefill that ends by then

        Table load: one row is one line of log
            rank [id]: rank whose steps are shown next to it
            at_us [us]: time of the line; logs have whole seconds
            running [count]: requests that run
            waiting [count]: requests that wait
            kv_cache_pct [percent]: of the KV cache in use
            preempted [count]: requests that lost their KV cache and are computed again
            steps [count]: steps that end from then to the next line
            mean_step_us [us]: their mean time
            tokens [count]: computed in them

        Table fit: one row is how well benchmark fits the trace
            rank [id]: rank whose steps the requests are put next to
            requests [count]: sent and answered within the trace
            placed [count]: of them, with a step that gives their first token
            agreement_pct [percent]: of tokens that come when the batches of the steps say: 100 where the
                clocks agree to within a step and all requests are the benchmark's; refused below 50"""
    def steps(self, *,
        by: Literal['step', 'rank'] = 'step',
        outlier: float = 10.0,
        compat: None = None,
        table: Optional[Literal['steps', 'ranks', 'serving', 'host']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Each training step: its length, what its GPU time went to, and which steps are outliers.

        A step is a ProfilerStep#N annotation of the host. Where a rank has none, its GPU work in the order
        of launches is searched for what repeats and begins at a border that steps have: a data loader's
        call, the end of the optimizer, a copy to the device, a read-back, a pause of the host; such steps
        count from 0 and a note says so. The annotations of vLLM, SGLang and ATOM are steps, too; the table
        serving says what they show. GPU work belongs to the step it was launched in, wherever it runs; its
        span, from the first start to the last end, is divided into computation, exposed communication,
        exposed copies and idle. Idle time is host wait as long as the next work had not been launched.

        Two times of a step differ where the host runs ahead of the GPU: length_us is that of the annotation
        on the host, period_us runs from the end of the step before to its own with the GPU's work. The
        first step's period begins with its annotation, or when the work is over that was launched and
        queued before it of its own.

        A step is an outlier when it is longer than the median of the rank's steps by more than outlier
        percent and by more than three standard deviations (estimated by the median distance from the
        median); the column outlier then names the kind of time that grew most. Of fewer than three steps
        none is an outlier.

        Of a job without a GPU the table shows what its host did (table host): every moment of a step counts
        as the first of operators, communication, waits for a device and data loading that runs then on any
        thread.

        Options:
            by: step: every step of every rank; rank: the spread over each rank's steps; one of step, rank
            outlier: a step that is longer than its rank's median step by more than PCT percent may be an
                outlier

        Table steps: one row is one step of one rank
            rank [id]: rank
            step [id]: number of the step
            start_us [us]: its start on the host; unknown when only the GPU shows it
            length_us [us]: its length on the host
            vs_median_pct [percent]: length above the median of the rank's steps
            period_us [us]: from the end of the step before to its own, of its annotation or of the last GPU
                work launched in it: what replay, diagnose and whatif call a step
            gpu_span_us [us]: first start to last end of the GPU work launched in it; the next four make it
                up
            compute_us [us]: computation runs
            exposed_comm_us [us]: communication runs and no computation
            exposed_copy_us [us]: copies or memsets run and neither of them
            idle_us [us]: none of the step's work runs
            busy_pct [percent]: share of the GPU span in which its work runs
            host_wait_us [us]: idle while its next work had not even been launched: launch-bound
            launch_bound_pct [percent]: host_wait_us of the GPU span
            data_loading_us [us]: host time in data loader calls
            comm_us [us]: communication runs, hidden or not
            copy_us [us]: copies or memsets run, hidden or not
            gpu_events [count]: pieces of GPU work launched in it
            outlier: why it is an outlier: the kind of time that grew most against the rank's median;
                unknown for ordinary steps

        Table ranks: one row is one rank
            rank [id]: rank
            steps [count]: steps with a length
            mean_us [us]: mean length
            median_us [us]: median length
            min_us [us]: shortest
            max_us [us]: longest
            slowest_step [id]: the longest step
            std_us [us]: standard deviation of a sample; unknown for one step
            outliers [count]: steps that are outliers
            gpu_events_outside [count]: GPU work that belongs to no step

        Table serving: one row is one step of a serving engine: what was computed in it
            rank [id]: rank
            step [id]: number of the step
            phase: prefill, decode, mixed, diffusion; idle: no requests
            requests [count]: requests in the batch
            tokens [count]: tokens computed for them
            context_requests [count]: requests in prefill
            context_q [count]: tokens computed in prefill
            context_k [count]: tokens that they attend to, summed over the requests
            context_qq [count]: square of a request's tokens, summed
            context_qk [count]: product of a request's tokens and those attended to, summed
            generation_requests [count]: requests in decode
            generation_q [count]: tokens computed in decode
            generation_k [count]: tokens that they attend to, summed
            generation_qq [count]: square of a request's tokens, summed
            generation_qk [count]: product of a request's tokens and those attended to, summed

        Table host: one row is one step of a rank without a GPU: what its host did
            rank [id]: rank
            step [id]: number of the step
            start_us [us]: its start
            length_us [us]: its length
            vs_median_pct [percent]: length above the median of the rank's steps
            recorded_us [us]: its length without what is between two recordings; the next five make it up
            operators_us [us]: an operator runs that computes, on any thread
            exposed_comm_us [us]: the host communicates (gloo:*, mpi:*, ucc:*) and no operator hides it
            exposed_sync_us [us]: a call waits for a device, and none of these runs
            exposed_loading_us [us]: a data loader is waited for, and none of these runs
            other_us [us]: none of them: Python and libraries outside operators, or nothing
            operators_pct [percent]: operators_us of recorded_us
            comm_us [us]: the host communicates, hidden or not
            loading_us [us]: a data loader is waited for, hidden or not
            outlier: why it is an outlier, as in the table steps"""
    def stragglers(self, *,
        by: Literal['rank', 'collective', 'clock'] = 'rank',
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        flight: Optional[Text] = None,
        candidates: int = 2,
        in_steps: Ranges = None,
        compat: Optional[Literal['hta', 'hta-exact']] = None,
        table: Optional[Literal['stragglers', 'collectives', 'clocks', 'steps']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Which rank arrives last at collectives, how late, and what it costs the others.

        A rank arrives at a collective when its kernel starts; the kernel then runs until all members have
        come and the data is through. Kernels of different ranks are matched, and clocks corrected, as by
        the command collectives: both give the same matches, clocks and waits. A rank waits from its arrival
        until the last member arrived. Sends and receives are left out: they wait by design.

        A job without GPU work communicates on the host: there the spans gloo:*, mpi:*, ucc:* count, and a
        rank arrives where the operator that submitted one starts.

        clocks="file" leaves the times as they are.

        Options:
            by: rank: sums of each rank; collective: every one of them; clock: how far the ranks' clocks are
                apart; one of rank, collective, clock
            clocks: ends: clocks are corrected so that collectives end together; likely, certain: by the
                intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            flight: flight-recorder dumps of the same run: they name the process groups of what the host ran
            candidates: only under compat="hta": its num_candidates, how many of a step count as late
            in_steps: only under compat="hta": its profiler_steps

        compat: hta, hta-exact give that tool's numbers and columns.

        Table stragglers: one row is one rank
            rank [id]: rank
            collectives [count]: collectives matched with other ranks
            times_last [count]: of these, the rank arrived last
            last_pct [percent]: share of its collectives at which it was last
            late_us [us]: sum of how long after the first member it arrived
            mean_late_us [us]: mean of it
            max_late_us [us]: most of it
            cost_us [us]: sum over collectives it was last at: how long after the last but one; what would
                be saved if it were not last
            waited_us [us]: sum of how long it waited for the last member
            mean_waited_us [us]: mean of it
            clock_offset_us [us]: how far its clock is ahead of the reference; taken out of the numbers
            uncertain [count]: collectives at which first and last are nearer than the clocks are sure; with
                clocks="likely" or "certain" they are left out of the rest
            held_up_us [us]: how long it alone was waited for: as cost_us, with what collectives in flight
                at one time have in common counted once
            waiting_us [us]: how long it waited: as waited_us, with what collectives in flight at one time
                have in common counted once

        Table collectives: one row is one collective, by its first arrival
            group: process group
            group_desc: its description
            op: operation
            seq [id]: its number in the group; unknown: matched by order
            step [id]: training step of the first member
            ranks [count]: members matched
            start_us [us]: first arrival
            first_rank [id]: who came first
            last_rank [id]: who came last
            late_us [us]: last arrival after the first
            cost_us [us]: last arrival after the last but one
            waited_us [us]: sum over members of the time until the last came
            transfer_us [us]: from the last arrival to the first end after it: no rank waits any more
            clock_us [us]: by what the clocks of the first and the last rank may be off against each other
                (command clocks); unknown: there is no bound, or with clocks="file" none was looked for
            uncertain: 1: late_us is less than the clocks are sure; with clocks="likely" or "certain" who
                was first, last and late is unknown then

        Table clocks: one row is one rank's clock
            rank [id]: rank
            reference_rank [id]: whose clock it is compared with
            offset_us [us]: how far it is ahead
            spread_us [us]: median distance of its ends from the others' after correction
            collectives [count]: collectives that show it; 0: nothing to compare with"""
    def structure(self, *,
        from_: Literal['auto', 'annotations', 'repetition'] = 'auto',
        compat: None = None,
        table: Optional[Literal['steps', 'phases', 'micro_batches', 'layers', 'mesh', 'fit']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Steps, phases, micro batches, layers and mesh, detected from what repeats, without annotations.

        Each piece of GPU work is given its place in the model's program.

        Steps: annotations; where there are none (or with from_="repetition"), what repeats in the order of
        launches and begins at a border that steps have: a data loader's call, the end of the optimizer, a
        copy to the device, a read-back, a pause of the host. A period without such a border, or of
        operators among which are no backward, optimizer or loader, may be a layer, and no step is claimed.

        Phases: annotations that end in (F), (B) or (W) say it for what they hold; else backward is what
        autograd launches; forward is before the last of it; after it the optimizer's own work and the
        clearing of gradients are the optimizer; the rest is unknown. Sends belong to what was computed
        before them, receives to what is computed after.

        Micro batches: the smallest part of a step's forward of which it is a whole number of repetitions.
        Layers: stretches of at least four pieces of work that repeat at least three times in a row within a
        micro batch. Work of backward belongs to the micro batch and the layer of the forward operator whose
        sequence number its operator has.

        Mesh, over all ranks: process groups of one size and stride that share no rank are an axis; axes
        meet in one rank and their sizes multiply to the job's ranks. An axis is named by its groups'
        description or else by what is done in them: sends and receives pp, all-to-alls ep, sums in forward
        tp, sums after it dp.

        The table fit says how well each answer fits, and why one was refused.

        Options:
            from_: what steps are detected from; auto: annotations, and repetition where there are none; one
                of auto, annotations, repetition

        Table steps: one row is one step of one rank
            rank [id]: rank
            step [id]: number of the step
            told_by: annotations, serving annotations, repetition
            start_us [us]: start of its first launch
            end_us [us]: end of its last launch
            works [count]: pieces of GPU work
            micro_batches [count]: how often its forward repeats; unknown where forward and backward are not
                distinguished
            layers [count]: layers of a micro batch's forward (of the step where phases are unknown); 0:
                nothing repeats
            works_per_layer [count]: pieces of GPU work of a layer's forward

        Table phases: one row is one phase of one step of one rank
            rank [id]: rank
            step [id]: number of the step
            phase: forward, backward, optimizer, unknown
            works [count]: pieces of GPU work
            gpu_us [us]: their time, summed

        Table micro_batches: one row is one micro batch in one phase of one step of one rank
            rank [id]: rank
            step [id]: number of the step
            micro_batch [id]: micro batch, in order of forward
            phase: forward or backward
            works [count]: pieces of GPU work
            gpu_us [us]: their time, summed

        Table layers: one row is one layer in one phase of one rank, over all steps
            rank [id]: rank
            phase: forward, backward, unknown
            layer [id]: layer, in order of forward
            steps [count]: steps it was seen in
            works [count]: pieces of GPU work in all of them
            gpu_us [us]: their time, summed
            mean_us [us]: gpu_us a step

        Table mesh: one row is one axis of the mesh of all ranks
            axis: tp, dp, pp, ep, cp, sp; axis: not known
            named_by: description: of the process group; behaviour: what is done in it; unknown: neither
            size [count]: ranks of a group
            stride [count]: from one rank of a group to the next; unknown: not the same for all
            groups [count]: groups that some rank communicates in
            ranks [count]: ranks in them
            operations [count]: communication in them, as all ranks saw it

        Table fit: one row is one question about one rank
            rank [id]: rank; unknown: the whole job
            question: steps, micro_batches, layers, mesh
            answer: what was found; unknown: refused
            score: share of the work that agrees with the answer: of steps, with the work a period later; of
                micro batches, with the next one's; of layers, the share of forward inside of layers; of the
                mesh, the share of the job's ranks that its axes multiply to
            runner_up: score of the best period that is no multiple nor part; unknown: none
            reason: of a refusal or a weak answer"""
    def summary(self, *,
        top: int = 5,
        no_diagnose: bool = False,
        compat: None = None,
        table: Optional[Literal['ranks', 'kernels', 'operators', 'findings']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Summary:
        """One screen: where each rank's time goes, who is slowest, what to look at first.

        The time between a rank's first and last GPU work (GPU span) is divided without overlap:
        computation, communication outside computation (exposed), copies and memsets outside both (exposed),
        idle. Idle time is launch-bound (host wait) from the end of the last work until the call that
        launches the next work begins, without stretches of a millisecond and more in which launching
        threads are in no call of the GPU's runtime (elsewhere); from there to the start of that work it
        counts as after launch: latency, a slow call or a dependency. Idle before work whose launch is not
        in the file is neither. Ranks that train together wait for the slowest in communication, so ranks
        are compared by their own time: the GPU span without exposed communication; in a job without a GPU,
        by the recorded time without communication that the host runs (gloo) while no operator does. An
        operator's time is that of the GPU work it launched itself.

        What to look at first are the verdicts of job.diagnose(): what is wrong, or would help, and how long
        a step would take then. Own sentences are left out where it examined their topic (column replaces).
        Selected steps, a window, and jobs of more than four million events have no verdict.

        Options:
            top: kernels and operators to show
            no_diagnose: as no_verdict: do not open with the verdict of job.diagnose(), which takes a replay
                of the job

        Table ranks: One row a rank.
            rank [id]: rank of the job
            span_us [us]: first start to last end of all events, without the time between recordings
            steps [count]: training steps
            mean_step_us [us]: mean length of a step on the host
            gpu_span_us [us]: first start to last end of GPU work; the next four make it up
            compute_us [us]: at least one computation kernel runs
            exposed_comm_us [us]: communication runs and no computation
            exposed_copy_us [us]: copies or memsets run, no computation, no communication
            idle_us [us]: nothing runs
            busy_pct [percent]: share of gpu_span in which anything runs
            comm_us [us]: at least one communication kernel runs
            host_wait_us [us]: idle while the next work had not even been launched
            host_elsewhere_us [us]: of it, while launching threads were in no GPU call for 1 ms or more
            launch_latency_us [us]: idle between that work's launch and its start
            launch_bound_pct [percent]: host wait without elsewhere as a share of gpu_span
            mean_kernel_us [us]: mean duration of linked GPU work
            mean_launch_us [us]: mean duration of the calls that launch it
            gpu_events [count]: kernels, copies and memsets
            unlinked [count]: of these, without their launch in the file
            unlinked_pct [percent]: their share of the GPU time
            own_time_us [us]: gpu_span without exposed communication: what the rank needed for itself; of a
                job without a GPU, span without the host's communication while no operator runs
            behind_median_pct [percent]: own_time above the median of all ranks
            role: rollout, update, ...: ROLE=PATH, else as processes or annotations say

        Table kernels: One row a kernel name, all ranks together, by time.
            name: kernel, copy or memset
            class: computation, communication or memory
            count [count]: executions on all ranks
            time_us [us]: sum of their durations
            share_pct [percent]: share of the sum of all GPU durations
            mean_us [us]: mean duration

        Table operators: One row an operator name, all ranks together, by the GPU time it launched.
            name: innermost operator around the launch; the launching call where there is none
            count [count]: GPU events it launched on all ranks
            time_us [us]: sum of their durations
            share_pct [percent]: share of the sum of all GPU durations

        Table findings: What to look at first: at most five sentences, the weightiest first.
            finding: what to look at, in one sentence
            rank [id]: the rank it is about; unknown for all
            share_pct [percent]: how much of the GPU span (or of the GPU time) it is about; of a sentence of
                diagnose, of a step
            topic: what it is about: idle, communication, copies, slowest, kernel, unlinked, gap, loading,
                host, empty; diagnose: a verdict
            diagnose: id of diagnose's row that it is; unknown: of none
            replaces: topics that are left out, since diagnose examined them; unknown: of none"""
    def timeline(self, *,
        compat: Optional[Literal['tracelens']] = None,
        table: Optional[Literal['timeline']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """GPU time by kind: computation, exposed communication and copies, busy, idle, totals.

        One row for each kind of time. computation, exposed_comm, exposed_memcpy and idle add up to total;
        memsets count as copies. Under compat="tracelens" only work whose launch is in the file counts, and
        a memset is computation.

        compat: tracelens give that tool's numbers and columns.

        Table timeline: one row is one kind of time of one rank
            rank [id]: rank
            type: computation, exposed_comm (outside computation), exposed_memcpy (outside both), busy,
                idle, total, total_comm and total_memcpy (exposed or not), each ending in _time
            time_ms [ms]: union of the time
            percent [percent]: of total_time"""
    def tree(self, *,
        root: Optional[Text] = None,
        depth: int = 0,
        min_time: float = 0.0,
        time: Literal['gpu', 'host'] = 'gpu',
        python: bool = False,
        each: bool = False,
        across: bool = False,
        stats: bool = False,
        folded: bool = False,
        compat: None = None,
        table: Optional[Literal['tree', 'stats', 'folded', 'across']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """The call tree from modules and operators down to GPU work, with the time of each part.

        Host events nest by time on their thread; GPU work hangs on the call that launched it. Each row is
        one path of names and adds up the events that have it; each shows events one by one. GPU time of an
        event is the union of all work below it, wherever and whenever that ran. Modules (nn.Module) are
        shown where Python functions were recorded, all Python functions with python=True. Work whose launch
        is not in the file is in no tree; stats counts it.

        across adds up equal paths of all ranks.

        --format json nests the rows: each has its rows below it as children.

        Options:
            root: only what is inside of events of this name; * and ? match any text
            depth: only N levels; 0: all
            min_time: leave out what takes less than US microseconds
            time: what min_time, the order and folded go by; one of gpu, host
            python: with all Python functions, not only modules
            each: every event by itself, in order of time; else equal paths are one
            across: all ranks and threads as one tree: equal paths of names are one row of the table across
            stats: only counts: what was linked, roots, forward-backward links
            folded: stacks and their time in ns, as flame-graph tools read them

        Table tree: one row is one path of calls of one rank
            rank [id]: rank
            node [id]: number of the row within its rank
            parent [id]: the row it hangs on
            depth [id]: 0: thread, 1: its outermost events
            kind: thread, or the category of the event
            name: the event's name
            count [count]: events in this row
            gpu_us [us]: union of the GPU work below each event, added up
            share_pct [percent]: of the time the rank's linked GPU work runs
            host_us [us]: summed duration on the host
            self_host_us [us]: ... outside of the rows below
            kernels [count]: pieces of GPU work
            uid [id]: position in traceEvents of the first event
            start_us [us]: its start, from the job's first event (with absolute=True: as in the file)

        Table stats: one row is one rank
            rank [id]: rank
            linked_gpu_events [count]: GPU work whose launch is in the file
            unlinked_gpu_events [count]: GPU work whose launch is not
            host_events [count]: operators and runtime calls
            roots [count]: operators with no operator around them
            fwd_bwd_links [count]: backward operators whose forward operator is known
            gpu_busy_us [us]: union of the linked GPU work
            gpu_sum_us [us]: summed duration of the linked GPU work
            nodes [count]: host events in the tree, modules and annotations included
            max_depth [count]: deepest nesting of host events
            misnested [count]: annotations and Python functions that end outside what they begin in

        Table folded: one row is one stack
            stack: names from the rank down, joined by ;
            time_ns [ns]: GPU time of the work at its end, or host time outside of what it calls

        Table across: one row is one path of calls of all ranks, the longest first; filled with across=True
            node [id]: number of the row
            parent [id]: the row it hangs on
            level [id]: 1: outermost
            kind: the category of the event
            name: the event's name
            paths [count]: rows of ranks and threads that it adds up
            count [count]: events in this row
            gpu_us [us]: union of the GPU work below each event, added up
            host_us [us]: summed duration on the host
            self_host_us [us]: ... outside of the rows below
            kernels [count]: pieces of GPU work"""
    def variance(self, *,
        by: Literal['kernel', 'op'] = 'kernel',
        class_: Literal['computation', 'communication', 'memory', 'all', 'gemm', 'attention', 'convolution'] = 'computation',
        top: int = 20,
        min_count: int = 2,
        fail_on: Optional[Text] = None,
        compat: None = None,
        table: Optional[Literal['variance', 'across', 'ranks']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """Which kernels or operators vary though their work is equal, when the slowest ran, and with what.

        Runs of one kernel, or of one operator with equal shapes, do the same work; where their times
        differ, something else is the cause. The rows are sorted by the time that the slower runs took
        beyond the median: what equal durations would gain.

        Communication with a run is taken from the rank's own GPU work. slowdown_when_overlapped compares
        the runs that ran with communication for more than half of their time with those that ran without
        any; it is unknown where one kind is missing. A shared name does not always mean equal work: kernels
        of one name may run on several shapes, which by="op" keeps apart.

        The table ranks compares GPUs: each rank's runs at its own medians against the medians over all
        ranks. A ratio above 1 on one rank alone means a slow GPU.

        Options:
            by: kernel: by name; op: by operator and shapes, a run is all work of one call; one of kernel,
                op
            class_: which work; gemm, attention and convolution are recognised by the kernels' names; one of
                computation, communication, memory, all, gemm, attention, convolution
            top: only the first N rows of a rank; 0: all
            min_count: only what ran N times or more on the rank
            fail_on: exit 1 when a row meets the expression: 'cv > 0.5, above_median_us > 1000'

        Table variance: one row is one kernel, or operator with shapes, of one rank
            rank [id]: rank
            name: kernel, or operator
            input_dims: shapes of the operator's inputs; unknown for kernels
            count [count]: runs
            sum_us [us]: their GPU time
            above_median_us [us]: GPU time of the slower half beyond the median, added up
            mean_us [us]: mean
            min_us [us]: fastest run
            p50_us [us]: median
            p90_us [us]: nine of ten runs were no longer
            p99_us [us]: 99 of 100 runs were no longer
            max_us [us]: slowest run
            std_us [us]: standard deviation of a sample; unknown for one run
            cv [ratio]: coefficient of variation: std_us over mean_us
            spread [ratio]: max_us less min_us, over min_us
            slowest_at_us [us]: when the slowest run started
            slowest_step [id]: step of the slowest run
            slowest_uid [id]: its position in traceEvents; of the operator with by="op"
            fastest_at_us [us]: when the fastest run started
            slowest_comm_us [us]: communication that ran with the slowest
            slowest_comm_pct [percent]: slowest_comm_us of max_us
            collectives: which communication that was, and how often
            slowest_copies_us [us]: copies and memsets that ran with the slowest
            overlapped [count]: runs with communication for more than half of their time
            alone [count]: runs without communication
            slowdown_when_overlapped [ratio]: mean of the overlapped over the mean of those alone
            overlap_correlation: correlation of a run's time and the share of it with communication, -1 to 1

        Table across: one row is one kernel, or operator with shapes, on several ranks
            name: kernel, or operator
            input_dims: shapes of the operator's inputs; unknown for kernels
            ranks [count]: ranks that ran it
            median_us [us]: median over ranks of their medians
            slowest_rank [id]: rank with the largest median
            slowest_us [us]: its median
            ratio [ratio]: slowest_us over median_us
            excess_us [us]: what the slowest rank's runs took more, all of them

        Table ranks: one row is one rank against the others at the same work
            rank [id]: rank
            names [count]: kernels or operators that other ranks ran, too
            typical_us [us]: its runs of them at the rank's own medians
            expected_us [us]: the same at the median over ranks of each
            ratio [ratio]: typical_us over expected_us: how slow the rank's GPU is"""
    def whatif(self, *,
        scale: Optional[Text] = None,
        ideal_trace: Optional[Text] = None,
        clocks: Literal['ends', 'likely', 'certain', 'file'] = 'ends',
        map: bool = False,
        layout: Optional[Text] = None,
        batch: Literal['per-rank', 'global'] = 'per-rank',
        memory: Optional[Text] = None,
        slowest: float = 3.0,
        fail_on: Optional[Text] = None,
        compat: Optional[Literal['straggler-analysis']] = None,
        table: Optional[Literal['whatif', 'steps', 'kinds', 'dp_ranks', 'stages', 'workers', 'parts', 'kind_steps', 'dp_rank_steps', 'stage_steps', 'delays', 'balances', 'scales', 'units', 'layout', 'ideal']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """How long a step would take without stragglers, and which worker, stage or kind is to blame.

        PATH is the traces of all ranks; or one table of operations ("# rankscope-ops 1 unit=s ..."); or a
        timeline of the OSDI'25 straggler study. The job is replayed under its own order with other times.

        slowdown (S) is T / T_ideal: everything of a kind takes the mean over ranks and steps, transfers the
        median. S repair compares with medians instead: the mean holds the straggler, too. A kind, rank,
        stage or worker has the slowdown that comes back when it alone is as it was and all else ideal;
        these do not add up to S. M_W is the share of T - T_ideal that fixing the slowest workers alone
        takes away, M_S the last stage.

        M_W from 0.5: a few workers. M_S from 0.5 and S repair near 1: uneven stages. fb correlation from
        0.9 with a variation from 0.05: unequal sequence lengths.

        Of traces gain_us is what fixing a rank would save; two equally slow ranks mask each other, so go by
        slowdown, and see the parts `mended-1`, `mended-2`. Three numbers say how far to trust it: the
        errors of the replay and of steps replayed with the next one's times, and what is unexplained.
        docs/whatif.md has examples. compat="straggler-analysis" gives the study's own numbers, of
        operations.

        layout predicts a step of the same job with other sizes of its data, tensor, expert or pipeline
        parallel groups, other micro-batches or another schedule. The traces must name the groups.
        Collectives take what a ring of the other size takes over the recorded links (latency and bandwidth
        are fitted); work that the tensor parallel group shares out, by the shapes of its operators, what
        products of the new sizes take by a fit to the recorded ones; experts, their shares of the tokens.
        Passes of a pipeline, as they are then, are replayed in the order of the schedule, as `pipeline
        layout` does. The interval holds what these leave open.

        Options:
            scale: a row of scales more: WHAT takes FACTOR times as long; a kind, rank:N, step:N; of
                operations pp-comm, dp-comm, stage:N; of traces role:N, host:NAME
            ideal_trace: of operations: write the replay with ideal times as a Chrome trace; packed by the
                name's ending
            clocks: traces: ends: clocks are corrected so that collectives end together; likely, certain: by
                the intervals of the command clocks; file: as the traces have them; one of ends, likely,
                certain, file
            map: traces: the heat map alone: slowdowns of workers, and only of jobs of several ranks and up
                to 4 million events
            layout: traces: a step in another layout of the job:
                'dp=8,tp=2,pp=4,ep=8,micro-batches=16,schedule=1f1b' (or gpipe); what is not said stays
                (table layout)
            batch: of layout with another dp: per-rank: each rank has as many micro-batches as now, so that
                the global batch grows with dp; global: the job has as many, so that a rank has fewer; one
                of per-rank, global
            memory: of layout: snapshots of the allocators of these ranks
                (torch.cuda.memory._dump_snapshot): what of memory is shared out
            slowest: share of the workers that are the slowest ones of M_W
            fail_on: exit 1 when the job meets it: 'slowdown > 1.1'

        compat: straggler-analysis give that tool's numbers and columns.

        Table whatif: one row: the job
            ranks [count]: workers, or ranks of the traces
            dp_ranks [count]: data-parallel ranks
            stages [count]: pipeline stages
            steps [count]: steps that count
            operations [count]: operations replayed
            actual_us [us]: mean length of a step as recorded; of traces from the last end of all ranks to
                the next
            replayed_us [us]: T: mean length of a step replayed; of a table of operations without launch
                delays
            ideal_us [us]: T_ideal: the same if all operations of a kind took their mean (computation) or
                median (communication)
            slowdown: S = T / T_ideal
            delay_slowdown: actual / replayed: what launch delays cost (data loading, host)
            m_w: share of T - T_ideal that is gone when the slowest workers alone are fixed
            m_s: ... when the last stage alone is
            repaired_us [us]: T if every operation took the median of its kind and stage
            repair_slowdown: S_repair = T / repaired: what fixing stragglers would give
            fb_correlation: correlation of forward with backward durations of a micro batch; median over
                workers
            fb_variation: standard deviation / mean of forward durations; median over workers
            replay_error_pct [percent]: traces: error of the replay with recorded weights
            transplant_error_pct [percent]: traces: error of a step that is replayed with the next step's
                weights
            unexplained_pct [percent]: traces: share of T on the critical path that nothing recorded
                explains

        Table steps: one row is one step
            step [id]: number of the step
            actual_us [us]: length as recorded
            replayed_us [us]: length replayed
            ideal_us [us]: length with ideal times
            slowdown: replayed / ideal
            delay_slowdown: actual / replayed

        Table kinds: one row is one kind of operation
            kind: kind of operation
            slowdown: length of a step with it as it was, all else ideal, / ideal

        Table dp_ranks: one row is one data-parallel rank
            dp_rank [id]: data-parallel rank
            slowdown: length of a step with it as it was, all else ideal, / ideal

        Table stages: one row is one pipeline stage
            stage [id]: pipeline stage
            slowdown: length of a step with it as it was, all else ideal, / ideal

        Table workers: one row is one worker
            rank [id]: global rank
            dp_rank [id]: data-parallel rank
            stage [id]: pipeline stage
            slowdown: S_w: length of a step when it alone is as it was, / when none is
            slowest: 1: one of the slowest (slowest)
            host: traces: machine, where known
            role [id]: traces: ranks that run the same work share it
            gain_us [us]: traces: what fixing it alone would save
            gain_pct [percent]: traces: gain_us of replayed_us

        Table parts: one row is a set of workers that is fixed together
            part: slowest-workers or last-stage
            ranks: their ranks
            removed: share of T - T_ideal that fixing them alone takes away
            added: share of T - T_ideal that comes back when they alone are as they were
            t_removed_us [us]: length of a step when they are fixed
            t_added_us [us]: length of a step when only they are not

        Table kind_steps: one row is one kind in one step
            step [id]: number of the step
            kind: kind of operation
            slowdown: length of a step with it as it was, all else ideal, / ideal

        Table dp_rank_steps: one row is one data-parallel rank in one step
            step [id]: number of the step
            dp_rank [id]: data-parallel rank
            slowdown: length of a step with it as it was, all else ideal, / ideal

        Table stage_steps: one row is one stage in one step
            step [id]: number of the step
            stage [id]: pipeline stage
            slowdown: length of a step with it as it was, all else ideal, / ideal

        Table delays: one row is a group of operations whose launch delays count
            by: kind, dp_rank or stage
            key: which one; first-op: the first operation of each worker
            slowdown: length of a step with its launch delays alone, / without any

        Table balances: one row is a choice of what is averaged over
            balance: what is averaged over, in addition to micro batches
            ideal_us [us]: length of a step so
            slowdown: T / ideal_us

        Table scales: one row is one change of times
            scale: what takes how many times as long
            speedup: T / length of a step then

        Table units: traces: one row is something that can be slow, other than ranks
            unit: host, role, link, step, or rank:step (of the rank that is to blame most)
            name: which one; of a link the ranks that meet
            slowdown: length of a step with it as it was, all else fixed, / all fixed
            gain_us [us]: what fixing it alone would save of a step
            gain_pct [percent]: gain_us of replayed_us

        Table layout: with layout=True: one row, a step of the job in another layout
            layout: sizes of the groups then
            recorded: as recorded
            ranks [count]: as recorded
            ranks_then [count]: in the other layout
            steps [count]: steps it is the mean of; 0: the whole trace
            before_us [us]: a step as recorded, of all ranks' last work
            after_us [us]: a step then
            after_low_us [us]: least of what the fits of collectives and products, the gaps and the steps
                leave open
            after_high_us [us]: the greatest
            batch_pct [percent]: the global batch of the recorded one: batch
            per_gpu_pct [percent]: what a GPU gets done in a second, of what it does now
            micro_batches [count]: then, of a rank in a step; with pp, micro-batches, schedule or batch
            schedule: order of passes then
            window_us [us]: of after_us, from the first pass to the end of the last: as pipeline layout has
                it
            window_low_us [us]: window_us is at least this
            window_high_us [us]: ... and at most this
            bubble_pct [percent]: idle time of the stages in it
            recorded_window_us [us]: the same in the recorded order of passes, other axes as asked
            recorded_bubble_pct [percent]: its bubble as recorded
            replay_error_pct [percent]: that order replayed by its passes, against recorded_window_us
            memory_bytes [bytes]: the most that the allocator of a rank's GPU held at once, of the fullest
                rank: by memory=, else by [memory] events; unknown: there are none
            memory_low_bytes [bytes]: then: what is shared out may be all of it, or nothing
            memory_high_bytes [bytes]: and at most
            question: the same as edits of job.replay(what_if=True)
            trusted: 1: the replay can be relied on; unknown: refused
            assumption: what has to hold
            reason: why it is refused

        Table ideal: one row is one operation of the ideal replay; only with ideal_trace=
            step [id]: number of the step
            dp_rank [id]: data-parallel rank
            stage [id]: pipeline stage
            rank [id]: global rank
            kind: kind of operation
            seq [id]: number among those of its kind, worker and step
            micro_batch [id]: micro batch, of computation
            model_chunk [id]: chunk of the stage, of computation, gathers and scatters
            start_us [us]: start within the step; of communication when the last one came
            duration_us [us]: computation, or transfer"""

class Events(Table):
    """The table of all events. Called, it runs the analysis `events` with its options."""

    def __init__(self, job: Job) -> None: ...
    def __call__(self, *,
        where: Optional[Text] = None,
        limit: int = 0,
        compat: None = None,
        table: Optional[Literal['events']] = None,
        progress: Progress = None,
        ranks: Ranges = None,
        steps: Ranges = None,
        window: Window = None) -> Table:
        """The events themselves, filtered by name, category, stream, step, time.

        Prints the event table. where keeps events for which a condition holds. A condition consists of
        terms FIELD OP VALUE, joined by "and" (or a comma), "or", "not" and parentheses. Text fields are
        name, cat, phase, pid, tid, with = != ~ !~ (contains) and =~ (a POSIX extended regular expression).
        Numbers are ts and dur (microseconds, or with a unit: 2ms), step, device, stream, correlation,
        external_id, position, with = != < <= > >=. FIELD in (A, B, 7-9) takes a list. A value with a comma,
        " or " or " and " in it goes in quotes, in which a backslash escapes a quote or a backslash, and
        \\xHH is the byte HH. under(X): what is inside of an event X on its thread, X itself, and the GPU
        work launched there; after(X): what starts when the rank's first X is over; before(X): what starts
        before it does. X is a name or a condition. ts counts from the job's first event, or with
        absolute=True as in the file.

        Options:
            where: only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )
            limit: at most N events of each rank; 0: all

        Table events: One row an event, in file order.
            rank [id]: rank of the job
            position [id]: place in the file's event array, from 0
            phase: Chrome phase letter; X is a complete event
            category: the event's cat
            name: the event's name
            pid [id]: process (device for GPU events)
            tid [id]: thread (stream for GPU events)
            ts_us [us]: start, from the job's first event (with absolute=True: as in the file)
            dur_us [us]: duration
            step [id]: training step it belongs to
            device [id]: device ordinal
            stream [id]: stream
            correlation [id]: number that launch and work share
            external_id [id]: number that operator and launch share"""

class Page:
    """The report as a notebook shows it: in a frame of its own. `html` is the whole page, save(path) writes it."""

    html: str
    height: int
    def __init__(self, text: str, height: int) -> None: ...
    def save(self, path: Path) -> None:
        """Writes the page."""
    def _repr_html_(self) -> str: ...

def report(source: Any, *, height: int = 800, flight: Union[Path, Sequence[Path]] = (),
           metrics: Optional[Dict[str, Path]] = None, memory: Union[Path, Sequence[Path]] = (), progress: Progress = None) -> Page:
    """The report of a job, or of a source that open takes, for a notebook: what Job.report writes into a file. Of what rankscope.compare
    or rankscope.regress.history gives it is a page with that answer alone.

    height: of the frame, in pixels"""

def diff(a: Any, b: Any, *,
    by: Literal['name', 'total'] = 'name',
    per: Literal['total', 'rank', 'step'] = 'total',
    kind: Literal['all', 'gpu', 'host', 'operator', 'call'] = 'all',
    top: Optional[int] = None,
    short_names: bool = False,
    fail_on: Optional[Text] = None,
    compat: Optional[Literal['hta', 'hta-exact']] = None,
    table: Optional[Literal['diff', 'totals', 'ranks']] = None,
    progress: Progress = None,
    ranks: Ranges = None,
    steps: Ranges = None,
    window: Window = None) -> Table:
    """Compares two jobs, or two sources that open takes: a is what is compared with, b what is judged.

    Kernels, operators and calls of two traces or jobs, by count and time.

    A is what is compared with, B what is judged; each is a trace or a directory with one trace a rank.
    Names are compared over all ranks together. GPU work counts with its duration, operators and calls
    with their host time, operators nested in it included. ranks and steps apply to both.

    Under compat="hta" the rows are those of HTA's TraceDiff; of its options kind="all", gpu or host and
    short_names apply.

    With fail_on the exit code is 1 when a row meets the expression: of the names, or with by="total" of
    the totals. The change in percent of a name that A does not have is unknown and meets nothing. Two
    runs do not say how much equal runs differ, so such a gate fires on noise, too; rankscope.regress()
    tests several runs a side.

    Options:
        by: name: every kernel, operator and call; total: each job in one row. fail_on looks at these
            rows; one of name, total
        per: total: sums over all ranks; rank: the mean rank; step: the mean step of a rank, of what is
            in steps; one of total, rank, step
        kind: only GPU work; operators and runtime calls; operators; or calls; one of all, gpu, host,
            operator, call
        top: only the N rows of a kind whose time changed most; 0: all
        short_names: kernels without their template and call arguments, so that builds can be compared
        fail_on: exit 1 if a row meets it: 'time_diff_us > 100 and not kind in (call, operator)'

    compat: hta, hta-exact give that tool's numbers and columns.

    Table diff: one row is one name: GPU work first, then operators, then calls, by how much its time
        changed
        kind: computation, communication, memory, operator (host time, nested ones included) or call
        name: kernel, copy, operator or call
        change: added, removed, more, fewer or same, by count
        count_a [count]: how often in A
        count_b [count]: how often in B
        count_diff [count]: B less A
        time_a_us [us]: sum of durations in A
        time_b_us [us]: sum of durations in B
        time_diff_us [us]: B less A
        time_change_pct [percent]: time_diff_us of time_a_us; unknown where A has none
        impact_pct [percent]: time_diff_us of A's whole GPU time (operator time, call time)

    Table totals: one row is one number of both jobs
        metric: what is compared; names that end in _us are times in microseconds
        a: in A
        b: in B
        diff: B less A
        change_pct [percent]: diff of A; unknown where A has none
        diff_low: least diff by how the steps of either job differ among themselves (95 %, Welch); equal
            runs may differ by more; unknown but for mean_step_us
        diff_high: greatest diff by that

    Table ranks: one row is what the mean step of one rank takes more in B than in A
        rank [id]: a rank that both have, or of one rank each that of B
        span_a_us [us]: of a step in A: from the first GPU work to the last, over the steps, of which
            both must have some; else of the whole trace
        span_b_us [us]: the same in B
        span_diff_us [us]: B less A; the next four add up to it
        compute_diff_us [us]: of it: computation
        exposed_comm_diff_us [us]: of it: communication that no computation hides, waits for other ranks
            included
        exposed_copy_diff_us [us]: of it: copies that nothing hides
        idle_diff_us [us]: of it: nothing runs
        kernel: the computation whose time changed most
        kernel_diff_us [us]: what a step has of it in B less A"""

def compare(a: Any, *others: Any,
    by: Literal['args', 'op', 'kernel', 'category', 'module', 'tree'] = 'args',
    per: Literal['total', 'step'] = 'total',
    top: int = 0,
    axis: Optional[Text] = None,
    device: Optional[Text] = None,
    fail_on: Optional[Text] = None,
    compat: None = None,
    table: Optional[Literal['inputs', 'args', 'names', 'tree', 'pairs', 'pivot']] = None,
    progress: Progress = None,
    ranks: Ranges = None,
    steps: Ranges = None,
    window: Window = None) -> Table:
    """Compares any number of jobs, or sources that open takes, with the first of them.

    Any number of traces or jobs against the first, in parts that add up to the change in GPU time.

    A is what the others are compared with; each of B, C, ... is a variant. An input is a trace or a
    directory of one job's ranks, then all ranks together. Time is the sum of durations of GPU work,
    communication, copies and memsets among it. Every piece of work is in exactly one row of its side,
    so the differences of all rows of a variant add up to the change of its GPU time. Work without a
    launch in the file is (unlinked).

    By args and op the key is the operator that owns the work, as in roofline, so that traces of
    different vendors meet although their kernels have other names. By category operators are recognised
    by their names, and work without an operator by the kernel's. By tree the operators of both sides
    are aligned from the outside in, and a piece of work belongs to the lowest pair of operators above
    it: three small operators against a fused one are one row under what both have in common. Ranks are
    paired in order, and the threads of a rank by their first operator.

    axis=NAME=TEXT{}TEXT takes a value out of the name of a file or folder on each input's path and
    makes the table pivot: a row a value, columns for all GPU time and the names that differ most, or
    with a second axis a column for each of its values. Inputs of equal values are repeated runs: their
    mean.

    Efficiency is the least time that the side's own device would need, of the time it took.

    Options:
        by: args: operator and arguments; op: operator; kernel; category: kind of operator; module:
            nn.Module; tree: lowest common ancestors in the call tree; one of args, op, kernel,
            category, module, tree
        per: total: sums over all ranks; step: divided by each input's number of steps; one of total,
            step
        top: only the N rows of each variant that differ most; 0: all
        axis: what differs along a number in the paths: 'threads={}thread', or two of them with a comma
            between
        device: what the device can do, of every input: a name of the built-in table, or a JSON file;
            default: as each trace says
        fail_on: exit 1 when a row of the chosen table meets the expression: 'impact_pct > 1, ratio >
            1.1'

    Table inputs: one row is one input
        variant [id]: 0 is the first input, what the others are compared with
        input: the trace, or the folder of all ranks' traces
        ranks [count]: ranks
        steps [count]: steps, of all ranks together
        device: what it ran on, of the first rank
        work [count]: pieces of GPU work
        gpu_us [us]: their durations added up
        unlinked_us [us]: ... of those without a launch in the file
        time_diff_us [us]: gpu_us less that of variant 0
        change_pct [percent]: time_diff_us of variant 0's gpu_us
        mean_step_us [us]: mean length of a step on the host

    Table args: one row is one operator with one set of arguments, in one variant; with by="args"
        variant [id]: which input is compared with the first
        name: operator that owns the work, as in roofline; of communication the launcher
        input_dims: shapes of the inputs
        input_types: types of the inputs
        input_strides: strides of the inputs
        concrete_inputs: values of scalar inputs
        change: added, removed, more, fewer or same, by count
        count_a [count]: calls in the first input; pieces of work by kernel
        count_b [count]: calls in the variant
        time_a_us [us]: GPU time in the first input: durations added up
        time_b_us [us]: GPU time in the variant
        mean_a_us [us]: time_a_us of one call
        mean_b_us [us]: time_b_us of one call
        time_diff_us [us]: time_b_us less time_a_us
        ratio [ratio]: time_b_us over time_a_us; unknown where a side has none
        impact_pct [percent]: time_diff_us of all GPU time of the first input
        tflops_a: TFLOP/s in the first input, where FLOPs are known
        tflops_b: TFLOP/s in the variant
        efficiency_a_pct [percent]: least time of the first input's device, of its time
        efficiency_b_pct [percent]: least time of the variant's device, of its time

    Table names: one row is one name in one variant; with by="op", kernel, category or module
        variant [id]: which input is compared with the first
        name: operator, kernel, category or module, as by says
        change: added, removed, more, fewer or same, by count
        count_a [count]: calls in the first input; pieces of work by kernel
        count_b [count]: calls in the variant
        time_a_us [us]: GPU time in the first input: durations added up
        time_b_us [us]: GPU time in the variant
        mean_a_us [us]: time_a_us of one call
        mean_b_us [us]: time_b_us of one call
        time_diff_us [us]: time_b_us less time_a_us
        ratio [ratio]: time_b_us over time_a_us; unknown where a side has none
        impact_pct [percent]: time_diff_us of all GPU time of the first input
        tflops_a: TFLOP/s in the first input, where FLOPs are known
        tflops_b: TFLOP/s in the variant
        efficiency_a_pct [percent]: least time of the first input's device, of its time
        efficiency_b_pct [percent]: least time of the variant's device, of its time

    Table tree: one row is one operator with the launchers below it, in one variant; with by="tree"
        variant [id]: which input is compared with the first
        name: lowest operator that both have above the work; unknown: there is none
        ops_a: what launched the work in the first input
        ops_b: what launched it in the variant
        count [count]: pairs of such operators
        work_a [count]: pieces of work in the first input
        work_b [count]: pieces of work in the variant
        time_a_us [us]: GPU time in the first input: durations added up
        time_b_us [us]: GPU time in the variant
        time_diff_us [us]: time_b_us less time_a_us
        impact_pct [percent]: time_diff_us of all GPU time of the first input
        verdict: slower, faster or same, where the launchers are; replaced; only in A; only in B

    Table pairs: one row is one operator of the first input and its partner in a variant; with by="tree"
        variant [id]: which input is compared with the first
        name: lowest operator that both have above the work; unknown: there is none
        uid_a [id]: its position in traceEvents of the first input
        uid_b [id]: its position in traceEvents of the variant
        depth [count]: operators above it, and 1; 0: the root
        ops_a: what launched the work in the first input
        ops_b: what launched it in the variant
        rank_a [id]: rank of the first input
        rank_b [id]: rank of the variant
        module: nn.Module around it, where modules were recorded
        work_a [count]: pieces of work in the first input
        work_b [count]: pieces of work in the variant
        time_a_us [us]: GPU time in the first input: durations added up
        time_b_us [us]: GPU time in the variant
        time_diff_us [us]: time_b_us less time_a_us
        impact_pct [percent]: time_diff_us of all GPU time of the first input
        verdict: slower, faster or same, where the launchers are; replaced; only in A; only in B

    Table pivot: one row is one value of the axis; with axis=
        axis: value of the axis, under its name; columns of GPU time in microseconds follow"""

def memory(source: Any, *,
    series: bool = False,
    top: int = 20,
    by: Literal['line', 'function', 'file', 'frame', 'stack', 'op', 'size', 'stream', 'pool', 'annotation', 'category'] = 'line',
    at: Text = 'peak',
    layers: Optional[int] = None,
    layout: bool = False,
    base: Optional[Text] = None,
    trace: Optional[Text] = None,
    fit: Size = None,
    other: Size = None,
    without: Optional[Text] = None,
    recompute: Optional[Text] = None,
    early: Optional[Text] = None,
    batch: Optional[float] = None,
    shard: Optional[int] = None,
    counters: Optional[Text] = None,
    fail_on: Optional[Text] = None,
    compat: None = None,
    table: Optional[Literal['memory', 'series', 'devices', 'operators', 'held', 'ranks', 'sites', 'peak', 'categories', 'timeline', 'segments', 'fragmentation', 'leaks', 'oom', 'spread', 'change', 'fit', 'without', 'moments', 'modules', 'costs', 'layers', 'layout', 'findings', 'counters']] = None,
    progress: Progress = None,
    ranks: Ranges = None,
    steps: Ranges = None,
    window: Window = None) -> Table:
    """Who holds the GPU's memory; source as open takes it: snapshots of PyTorch's allocator (a folder is a job), traces, or a
        memory timeline.

    What memory is used for: by category of a memory timeline, by device and operator of traces.

    Traces that were recorded with profile_memory=True hold an event [memory] for each allocation and
    release: how much each device's allocator held, when it held most, and which operator or annotation
    allocated how much, its callees' not counted. Steps and a window select events.

    A memory timeline is what torch.profiler's export_memory_timeline writes under a name that ends in
    .raw.json or .raw.json.gz: changes [time, action, bytes, category]. Changes at the same time count
    together; what was there before the recording (times below zero) is there from the first change on.
    A tensor that changes its category is neither allocated nor freed.

    Options:
        series: what is held whenever it changes: of a timeline by category, of traces and snapshots by
            device
        top: rows of each rank: of traces operators; of snapshots sites and blocks of each device; 0:
            all
        by: snapshots: what a site is: the user's own source line, its function, ..., the whole stack;
            op: the operator, by trace where it shows the allocation, else by frames of C++; one of
            line, function, file, frame, stack, op, size, stream, pool, annotation, category
        at: snapshots: when sites, blocks and categories are looked at: peak, end, or microseconds
        layers: snapshots: what the largest sites hold over time, in N stretches; table layers
        layout: snapshots: which addresses are taken from the device at the time of at; table layout
        base: snapshots: compare with these: a snapshot, or the folder of a job; table change
        trace: snapshots: traces of the same run, recorded with profile_memory=True: which step, phase
            and module made the peak, and what recomputing would cost; tables moments, modules, costs
        fit: snapshots: would it fit into a device of this size (80G); table fit
        other: ... of which this is not PyTorch's: the CUDA context, NCCL, other processes
        without: snapshots: the peak without the sites by line that this regular expression fits; table
            without
        recompute: ... with the activations of such sites made again for the backward pass
        early: ... with the blocks of such sites freed when the annotation around their allocation ends
        batch: ... with a micro-batch of FACTOR times the size
        shard: ... with optimizer state divided over N times as many ranks
        counters: snapshots: write counter tracks of what is held, too (.json, .json.gz, .pftrace)
        fail_on: snapshots: exit 1 when a row of ranks meets the expression: 'out_of_memory > 0'

    Table memory: one row is one category
        category: what the memory is for; total: all of it
        at_peak_bytes [bytes]: held when the total was largest
        at_peak_pct [percent]: share of the total then
        own_peak_bytes [bytes]: the most this category held by itself
        own_peak_at_us [us]: when that was; unknown if it never held anything
        before_bytes [bytes]: there before the recording
        end_bytes [bytes]: held at the end
        allocated_bytes [bytes]: sum of all allocations recorded
        allocations [count]: how many
        freed_bytes [bytes]: sum of all releases recorded

    Table series: one row is what is held from one change to the next; empty without series
        time_us [us]: from the first change; with absolute=True as in the file
        parameter [bytes]: bytes held
        optimizer_state [bytes]: bytes held
        input [bytes]: bytes held
        temporary [bytes]: bytes held
        activation [bytes]: bytes held
        gradient [bytes]: bytes held
        autograd_detail [bytes]: bytes held
        unknown [bytes]: bytes held
        total [bytes]: sum of them

    Table devices: one row is the allocator of one device of a rank, by the trace's [memory] events
        rank [id]: rank of the job
        device: cpu, cuda:0, ...
        peak_bytes [bytes]: the most that the allocator held; of the host from the recording's start on
        peak_at_us [us]: when that was
        peak_step [id]: step in which that was
        peak_operator: innermost operator or annotation around that allocation
        before_bytes [bytes]: held before the first event
        end_bytes [bytes]: held after the last
        reserved_bytes [bytes]: the most that the allocator had reserved from the device; unknown where
            it reserves nothing
        allocated_bytes [bytes]: sum of all allocations
        allocations [count]: how many
        freed_bytes [bytes]: sum of all releases
        releases [count]: how many
        out_of_memory [count]: allocations that failed for want of memory

    Table operators: one row is one operator of a rank, by what it allocated
        rank [id]: rank of the job
        device: cpu, cuda:0, ...
        operator: innermost operator or annotation on the thread; unknown: outside of all
        allocated_bytes [bytes]: sum of its allocations
        allocations [count]: how many
        freed_bytes [bytes]: sum of its releases
        releases [count]: how many
        net_bytes [bytes]: allocated_bytes less freed_bytes

    Table held: one row is one change of a trace; empty without series
        rank [id]: rank of the job
        device: cpu, cuda:0, ...
        time_us [us]: when it changed
        bytes [bytes]: allocated, or released (below 0)
        held_bytes [bytes]: held from then on
        reserved_bytes [bytes]: reserved from the device; unknown where nothing is

    Table ranks: one row is one device of a rank, by its snapshot
        rank [id]: rank of the job
        device: cuda:0, ...
        events [count]: events of the allocator in the file
        span_us [us]: from the first to the last of them
        before_bytes [bytes]: active before the first event; unknown without events
        peak_active_bytes [bytes]: the most that was in use at once, asked for: blocks that nothing else
            could use
        peak_active_at_us [us]: when that was
        peak_held_bytes [bytes]: the same without blocks that were freed while another stream still used
            them
        peak_held_at_us [us]: when that was
        peak_reserved_bytes [bytes]: the most that was taken from the device
        peak_reserved_at_us [us]: when that was
        end_active_bytes [bytes]: in use at the end, asked for
        end_held_bytes [bytes]: of these, not yet asked to be freed
        end_allocated_bytes [bytes]: rounded: what torch.cuda.memory_allocated() says at the end
        end_reserved_bytes [bytes]: taken from the device at the end
        device_allocs [count]: segments taken from the device, or mapped
        device_frees [count]: segments returned to the device, or unmapped
        out_of_memory [count]: allocations that failed
        above_median_pct [percent]: peak_active_bytes against the median of all rows

    Table sites: one row is one site of a device and what it holds
        rank [id]: rank of the job
        device: cuda:0, ...
        site: who allocated it, as by says; unknown: no stack, or from before the recording
        bytes [bytes]: active at the time of at
        blocks [count]: how many blocks
        share_pct [percent]: of all that is active then
        own_peak_bytes [bytes]: the most it held at once
        allocated_bytes [bytes]: sum of its allocations
        allocations [count]: how many
        end_bytes [bytes]: active at the end

    Table peak: one row is one block that is active at the time of at
        rank [id]: rank of the job
        device: cuda:0, ...
        address: where the block begins
        bytes [bytes]: asked for
        state: held, or pending: freed while another stream still used it
        since_us [us]: when it was allocated; unknown: before the recording
        until_us [us]: when it could be used again; unknown: it is there at the end
        stream: handle of the stream that it was allocated on
        pool: pool of its segment at the end (0,0: the default one; others: CUDA graphs, MemPool)
        site: who allocated it
        category: what it is for, an estimate
        doubt: how certain the category is: sure, likely or guess

    Table categories: one row is what blocks that are active at the time of at are for, an estimate
        rank [id]: rank of the job
        device: cuda:0, ...
        category: what blocks are for, estimated from who allocated and freed them
        bytes [bytes]: active at the time of at
        share_pct [percent]: of all that is active then
        doubt: certainty of the least certain block: sure, likely or guess
        blocks [count]: how many blocks

    Table timeline: one row is one event that changes a sum; empty without series
        rank [id]: rank of the job
        device: cuda:0, ...
        event [id]: its place in the device's list
        time_us [us]: when it was
        action: what the allocator did
        bytes [bytes]: what it adds to a sum, negative where it ends
        held_bytes [bytes]: held from then on
        active_bytes [bytes]: active from then on
        reserved_bytes [bytes]: reserved from then on

    Table segments: one row is one segment at the end
        rank [id]: rank of the job
        device: cuda:0, ...
        address: where the segment begins
        type: small: for blocks of at most 1 MiB; large: for the others
        stream: handle of the stream that it serves
        pool: 0,0: the default one
        expandable: yes or no
        reserved_bytes [bytes]: taken from the device
        active_bytes [bytes]: rounded bytes in use
        allocated_bytes [bytes]: of these, not pending: freed while another stream still used them
        requested_bytes [bytes]: asked for, of the bytes in use
        free_bytes [bytes]: not in use
        releasable_bytes [bytes]: of these, what empty_cache can return to the device
        stuck_bytes [bytes]: of these, what it cannot return
        largest_free_bytes [bytes]: the largest free run: the largest allocation that fits
        free_runs [count]: pieces that the free bytes are in
        blocks [count]: blocks in use

    Table fragmentation: one row is the segments of one pool, stream and type at the end
        rank [id]: rank of the job
        device: cuda:0, ...
        pool: 0,0: the default one
        stream: handle of the stream that the segments serve
        type: small: for blocks of at most 1 MiB; large: for the others
        segments [count]: how many segments
        reserved_bytes [bytes]: taken from the device
        active_bytes [bytes]: rounded bytes in use
        requested_bytes [bytes]: asked for, of the bytes in use
        free_bytes [bytes]: not in use
        releasable_bytes [bytes]: of these, what empty_cache can return to the device
        stuck_bytes [bytes]: of these, what it cannot return: external fragmentation
        free_runs [count]: pieces that the free bytes are in
        rounding_bytes [bytes]: active without requested bytes: internal fragmentation
        largest_free_bytes [bytes]: the largest free run
        stuck_pct [percent]: stuck_bytes of reserved_bytes

    Table leaks: one row is one site that keeps something in most steps
        rank [id]: rank of the job
        device: cuda:0, ...
        site: who allocates in most steps what is there at the end
        told_by: what steps are detected from: step (annotations), cycle (troughs of the active bytes)
        steps [count]: steps looked at, the first and last left out
        steps_kept [count]: of these, in how many it kept some
        kept_bytes [bytes]: allocated in these, there at the end
        kept_blocks [count]: how many blocks
        kept_pct [percent]: of what it allocated in these steps
        bytes_per_step [bytes]: kept_bytes over steps

    Table oom: one row is one allocation that failed
        rank [id]: rank of the job
        device: cuda:0, ...
        event [id]: its place in the device's list
        time_us [us]: when it failed
        requested_bytes [bytes]: asked for, rounded
        device_free_bytes [bytes]: free on the device, outside of PyTorch's segments
        held_bytes [bytes]: held then
        active_bytes [bytes]: active then
        reserved_bytes [bytes]: reserved then
        room_bytes [bytes]: reserved and free on the device: all that PyTorch could have
        slack_bytes [bytes]: reserved, and not active: fragments and rounding
        short_bytes [bytes]: requested beyond what was free on the device
        cause: limit: the device had room; fragmentation: it and the slack had; demand: too much was in
            use
        site: who asked
        largest_free_bytes [bytes]: the largest free run of the segments; unknown where allocations
            followed

    Table spread: one row is one site over all devices of all ranks, each at its own peak
        site: who allocated it, as by says
        ranks [count]: ranks that hold some
        min_bytes [bytes]: the least of a device at its own peak
        min_rank [id]: whose
        median_bytes [bytes]: median of all devices
        max_bytes [bytes]: the most
        max_rank [id]: whose
        spread_bytes [bytes]: max_bytes without min_bytes

    Table change: one row is one site in base and in what is given
        rank [id]: rank of the job
        device: cuda:0, ...
        site: who allocated it, as by says
        a_bytes [bytes]: active at the time of at in the base
        b_bytes [bytes]: active at the time of at in what is compared with it
        change_bytes [bytes]: b_bytes without a_bytes
        a_blocks [count]: blocks in the base
        b_blocks [count]: blocks in the other

    Table fit: one row is whether one device's work fits in fit
        rank [id]: rank of the job
        device: cuda:0, ...
        room_bytes [bytes]: fit without other
        need_bytes [bytes]: the most that was reserved, or would have been had no allocation failed
        floor_bytes [bytes]: the same of active bytes: without fragmentation
        headroom_bytes [bytes]: room_bytes without need_bytes
        fits: yes, without fragmentation, or no

    Table without: one row is the peak of one device if something were different
        rank [id]: rank of the job
        device: cuda:0, ...
        blocks [count]: blocks that would be different
        removed_at_peak_bytes [bytes]: what they would not hold when the device was fullest
        peak_active_bytes [bytes]: the peak as recorded
        new_peak_active_bytes [bytes]: the peak then; unknown where its interval is too wide
        new_peak_at_us [us]: when that would be
        saved_bytes [bytes]: peak_active_bytes without new_peak_active_bytes
        low_bytes [bytes]: the least that the new peak may be
        high_bytes [bytes]: the most that it may be
        floor_bytes [bytes]: the peak as recorded, or what was active when an allocation failed and what
            that asked for
        new_floor_bytes [bytes]: the same then, at most
        change: the option; together: all of them at once
        assumes: what it rests on

    Table moments: one row is where in trace one device was fullest; empty without it
        rank [id]: rank of the job
        device: cuda:0, ...
        peak_active_at_us [us]: when it was fullest
        peak_active_bytes [bytes]: the most that was in use at once
        step [id]: step of the trace in which that was; this and what follows: unknown where the trace
            does not show the allocation that made the peak
        phase: forward, backward, ...: as in modules
        module: nn.Module that allocated; unknown: none
        operator: innermost operator or annotation around it, but for aten::empty and its like, which
            allocate for their caller
        bytes [bytes]: asked for by that allocation
        allocations [count]: the rank's allocations at times that snapshot and trace cover
        matched_pct [percent]: of these, found in the trace by address, size and time
        shift_us [us]: how far the trace's clock is ahead of the snapshot's: the median
        error_us [us]: 95 % of the matches are so close to it

    Table modules: one row is what one module of trace holds when the device is fullest, by phase; empty
        without it
        rank [id]: rank of the job
        device: cuda:0, ...
        module: innermost nn.Module around the allocation, of the backward pass that of its forward
            operator; unknown: none
        phase: in which it was allocated; unknown: the trace does not show the allocation
        bytes [bytes]: active when the device was fullest
        blocks [count]: how many blocks
        share_pct [percent]: of all that is active then
        activation_bytes [bytes]: of these, activations, an estimate: the most that computing them again
            saves
        forward_us [us]: GPU time of the module's own forward work in the step of the peak: what
            computing it again costs

    Table costs: one row is one line whose activations are there when the device is fullest, and what
        computing them again costs by trace=; empty without it
        rank [id]: rank of the job
        device: cuda:0, ...
        site: source line that allocated, as by="line"
        activation_bytes [bytes]: its activations when the device was fullest, an estimate: the most
            that computing them again saves
        share_pct [percent]: of all that is active then
        blocks [count]: how many blocks
        operators [count]: outermost operators of its module that allocated them
        priced_pct [percent]: of activation_bytes, those whose operator the trace shows
        least_cost_us [us]: GPU time of these operators: what computing them alone again costs
        most_cost_us [us]: GPU time of all own forward work of their modules in that step: what
            computing the modules again costs; unknown: part of it has no module

    Table layers: one row is one site at one instant: of each stretch its fullest and its last; empty
        without layers
        rank [id]: rank of the job
        device: cuda:0, ...
        instant [id]: how many of the device's events are before it
        time_us [us]: when it was
        site: who allocated it, as by says
        bytes [bytes]: what the site has active then
        active_bytes [bytes]: active then, of all sites
        reserved_bytes [bytes]: taken from the device then

    Table layout: one row is one stretch of addresses that is taken from the device at the time of at;
        empty without layout
        rank [id]: rank of the job
        device: cuda:0, ...
        address: where it begins
        bytes [bytes]: how long it is
        active_bytes [bytes]: active in it then, asked for
        blocks [count]: blocks in use in it then

    Table findings: one row is one sentence; the first is the verdict
        kind: peak, failure, fragmentation, growth, outlier, not_known; moment, recompute, cost, fit,
            without, change: what was asked
        rank [id]: of which rank; unknown: of several
        device: of which device
        site: the site that it names
        bytes [bytes]: how much it is about
        finding: the sentence; the first is the verdict
        remedy: what to try

    Table counters: one row is what counters writes; empty without it
        rank [id]: rank of the job
        device: cuda:0, ...
        time_us [us]: from when on
        held_bytes [bytes]: held from then on
        active_bytes [bytes]: active from then on
        reserved_bytes [bytes]: reserved from then on"""

def slice_job(source: Any, path: Path, *,
    where: Optional[Text] = None,
    under: Optional[Text] = None,
    streams: Ranges = None,
    threads: Union[None, str, Sequence[str]] = None,
    categories: Union[None, str, Sequence[str]] = None,
    without: Union[None, str, Sequence[str]] = None,
    name: Optional[Text] = None,
    enclosing: Literal['cut', 'whole', 'none'] = 'cut',
    left_out: bool = False,
    clocks: Literal['ends', 'file'] = 'ends',
    ranks: Ranges = None,
    steps: Ranges = None,
    window: Optional[Text] = None,
    recursive: bool = False,
    renumber: bool = False,
    single_rank: bool = False,
    absolute: bool = False,
    include_last_step: bool = False,
    no_verdict: bool = False,
    captures: Optional[Text] = None,
    class_: Optional[Text] = None,
    jobs: Optional[int] = None,
    max_memory: Size = None,
    max_ratio: int = 1000,
    store: Optional[Text] = None,
    no_store: bool = False,
    table: Optional[Literal['slice', 'left_out']] = None,
    progress: Progress = None) -> Table:
    """Writes a part of a job, or of a source that open takes, as a trace of its own: Job.slice. Settings of open, such as steps,
    ranks and window, select, too.

    Options:
        where: only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )
        under: only what is inside of events of this name (or of this condition), with the GPU work
            launched there
        streams: only GPU work of these streams: 7,20-23
        threads: only what these threads (tid) do, with the GPU work they launch
        categories: only events of these categories: kernel,cpu_op
        without: no events of these categories: python_function,Trace
        name: only events whose name contains it
        enclosing: events around the picked ones: cut to the time of steps or window, whole, or none;
            one of cut, whole, none
        left_out: the new trace says what was left out, by category (table left_out says it anyway)
        clocks: of several ranks: corrected so that collectives end together; or only by
            baseTimeNanoseconds; one of ends, file"""

def share_job(source: Any, path: Path, *,
    keep_names: bool = False,
    keep_values: bool = False,
    where: Optional[Text] = None,
    under: Optional[Text] = None,
    streams: Ranges = None,
    threads: Union[None, str, Sequence[str]] = None,
    categories: Union[None, str, Sequence[str]] = None,
    without: Union[None, str, Sequence[str]] = None,
    name: Optional[Text] = None,
    enclosing: Literal['cut', 'whole', 'none'] = 'cut',
    left_out: bool = False,
    clocks: Literal['ends', 'file'] = 'ends',
    ranks: Ranges = None,
    steps: Ranges = None,
    window: Optional[Text] = None,
    recursive: bool = False,
    renumber: bool = False,
    single_rank: bool = False,
    absolute: bool = False,
    include_last_step: bool = False,
    no_verdict: bool = False,
    captures: Optional[Text] = None,
    class_: Optional[Text] = None,
    jobs: Optional[int] = None,
    max_memory: Size = None,
    max_ratio: int = 1000,
    store: Optional[Text] = None,
    no_store: bool = False,
    map: Optional[Path] = None,
    table: Optional[Literal['slice', 'left_out', 'removed']] = None,
    progress: Progress = None) -> Table:
    """Writes a job, or a source that open takes, without names of people, hosts, paths and scripts: Job.share. Settings of open
    select, too.

    Options:
        keep_names: names of operators, kernels, annotations and modules stay; those of hosts, paths and
            scripts do not
        keep_values: numbers among the values of operators' inputs stay
        where: only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )
        under: only what is inside of events of this name (or of this condition), with the GPU work
            launched there
        streams: only GPU work of these streams: 7,20-23
        threads: only what these threads (tid) do, with the GPU work they launch
        categories: only events of these categories: kernel,cpu_op
        without: no events of these categories: python_function,Trace
        name: only events whose name contains it
        enclosing: events around the picked ones: cut to the time of steps or window, whole, or none;
            one of cut, whole, none
        left_out: the new trace says what was left out, by category (table left_out says it anyway)
        clocks: of several ranks: corrected so that collectives end together; or only by
            baseTimeNanoseconds; one of ends, file"""

def open_job(source: Any, *,
             ranks: Ranges = None,
             steps: Ranges = None,
             window: Optional[Text] = None,
             recursive: bool = False,
             renumber: bool = False,
             single_rank: bool = False,
             absolute: bool = False,
             include_last_step: bool = False,
             no_verdict: bool = False,
             captures: Optional[Text] = None,
             class_: Optional[Text] = None,
             jobs: Optional[int] = None,
             max_memory: Size = None,
             max_ratio: int = 1000,
             store: Optional[Text] = None,
             no_store: bool = False,
             keep: Union[bool, int, str] = True,
             storage_options: Optional[Dict[str, Any]] = None,
             progress: Progress = "auto") -> Job:
    """Opens the traces of one training run; no path is read before the first analysis.

        source: a path (a file, a directory, a pattern like "traces/*.gz"), a URL (s3://, gs://, https://, ..., through
            fsspec; large ones by ranges), the bytes of a file (not copied), any other buffer (copied once), a file object (read
            whole), several of these, or a dict {rank: one of these}
        keep: keep what was loaded for the next analysis: True (up to half of the memory), False, or a size like "8G"
        storage_options: what fsspec needs for URLs, such as {"anon": True}
        progress: "auto" (a line on a terminal or in a notebook when reading takes long), True, False, or a function of
            (bytes done, bytes in all) that may return False to stop

    Settings:
        ranks: only these ranks: 0,3,8-15
        steps: only these training steps: 3-5
        window: only what starts in this time, ms from the job's first event: 10-12.5
        recursive: descend into directories
        renumber: number ranks by sorted file name, whatever the files say
        single_rank: refuse files that hold several ranks
        absolute: times on the files' own clock, not from the job's first event
        include_last_step: HTA's include_last_profiler_step; only with compat="hta" or hta-exact
        no_verdict: without the verdict that opens answers about the job: what is wrong with it, and
            what fixing it gains
        captures: give the work of replayed graphs its operators: the trace of their capture, or a
            folder of such
        class_: GPU work whose name REGEX finds is communication, computation or memory; @FILE: such
            rules
        jobs: worker threads (default: one for each core)
        max_memory: stop rather than hold more than SIZE of traces: 512M, 4G
        max_ratio: refuse files that inflate to more than N times their size
        store: keep what is computed in DIR, and take from there what was computed before
        no_store: neither look into a store nor keep anything"""
