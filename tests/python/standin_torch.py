"""A torch that needs no torch: streams, events and collectives as a GPU orders them, with times that a test decides.

The host's clock moves only when the test says so. Work on a stream begins when the stream's earlier work is done and
the host has issued it; an event has the time at which its stream reaches it. Everything in milliseconds.
"""

import contextlib
import enum
import json
import struct
import sys
import types


def single(value):
    """As a 32-bit float, which is what torch tells."""
    return struct.unpack("f", struct.pack("f", value))[0]


class Machine:
    def __init__(self):
        self.now = 0.0
        self.synchronizations = 0
        self.capturing = False
        self.broken = False

    def sleep(self, ms):
        self.now += ms


class Stream:
    def __init__(self, machine):
        self.machine, self.ready = machine, 0.0

    def run(self, ms):
        start = max(self.ready, self.machine.now)
        self.ready = start + ms
        return start, self.ready

    def wait_stream(self, other):
        self.ready = max(self.ready, other.ready)


class Tensor:
    is_cuda = True
    dtype = "float32"

    def __init__(self, value=0.0, is_cuda=True):
        self.value, self.is_cuda = value, is_cuda

    def detach(self):
        return self

    def reshape(self, shape):
        return self

    def copy_(self, other, non_blocking=False):
        assert non_blocking
        self.value = other.value
        return self

    def __float__(self):
        assert not self.is_cuda, "reading a tensor on the GPU stops the host"
        return float(self.value)


class Action(enum.Enum):
    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class Activity(enum.Enum):
    CPU, CUDA = range(2)


def make(machine, *, rank=None, world_size=1, level="new", gpu=True, futures=True):
    """Modules torch and torch.distributed. level: "new" has all, "2.1" profile() without the observer, "old" neither that
    nor synchronisation events."""
    torch, dist = types.ModuleType("torch"), types.ModuleType("torch.distributed")
    default = Stream(machine)
    current = [default]

    class Event:
        def __init__(self, enable_timing=False):
            self.time = None

        def record(self, stream=None):
            assert not machine.capturing, "events of a graph cannot be timed"
            stream = stream or current[-1]
            self.time = max(stream.ready, machine.now)

        def query(self):
            if machine.broken:
                raise RuntimeError("an illegal memory access was encountered")
            return self.time is None or self.time <= machine.now

        def synchronize(self):
            self.query()
            machine.synchronizations += self.time is not None and self.time > machine.now
            machine.now = max(machine.now, self.time or 0.0)

        def elapsed_time(self, other):
            if not (self.query() and other.query()):
                raise RuntimeError("Both events must be completed before calculating elapsed time.")
            return single(other.time - self.time)

    @contextlib.contextmanager
    def stream(s):
        current.append(s)
        try:
            yield
        finally:
            current.pop()

    torch.cuda = types.SimpleNamespace(
        is_available=lambda: gpu, Event=Event, Stream=lambda: Stream(machine), current_stream=lambda: current[-1], stream=stream,
        is_current_stream_capturing=lambda: machine.capturing, current_device=lambda: 0,
        get_device_properties=lambda index: types.SimpleNamespace(name="Stand-in", uuid="GPU-1"))
    torch.empty = lambda shape, dtype=None, pin_memory=False: Tensor(is_cuda=False)
    torch.Tensor = Tensor
    torch.run = lambda ms: current[-1].run(ms)

    # ---- torch.distributed
    class Future:
        def __init__(self, end):
            self.end = end

        def then(self, callback):
            other = Stream(machine)
            other.ready = self.end
            with stream(other):
                callback(self)
            return self

    class Work:
        def __init__(self, end):
            self.end = end

        def wait(self):
            current[-1].ready = max(current[-1].ready, self.end)
            return True

        def get_future(self):
            if not futures:
                raise NotImplementedError("this backend has no futures")
            return Future(self.end)

    nccl = Stream(machine)

    def communicate(tensor, ms, async_op):
        nccl.ready = max(nccl.ready, current[-1].ready)
        work = Work(nccl.run(ms)[1])
        if async_op:
            return work
        work.wait()
        return None

    def all_reduce(tensor, op=None, group=None, async_op=False, ms=4.0):
        return communicate(tensor, ms, async_op)

    def reduce_scatter_tensor(output, input, op=None, group=None, async_op=False, ms=4.0):
        return communicate(input, ms, async_op)

    def all_gather_into_tensor(output, input, group=None, async_op=False, ms=4.0):
        return communicate(input, ms, async_op)

    def _all_gather_base(output, input, group=None, async_op=False):
        return dist.all_gather_into_tensor(output, input, group, async_op)

    def broadcast(tensor, src=0, group=None, async_op=False, ms=2.0):
        if src == 99:
            raise ValueError("invalid root")
        return communicate(tensor, ms, async_op)

    for function in (all_reduce, reduce_scatter_tensor, all_gather_into_tensor, _all_gather_base, broadcast):
        setattr(dist, function.__name__, function)
    dist.Work, dist.Future = Work, Future
    dist.distributed_c10d = types.SimpleNamespace(_world=types.SimpleNamespace(pg_coalesce_state={}))
    dist.is_available = lambda: True
    dist.is_initialized = lambda: rank is not None
    dist.get_rank = lambda: rank
    dist.get_world_size = lambda: world_size
    torch.distributed = dist

    # ---- torch.profiler
    log = torch.log = []

    def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
        def action(step):
            step -= skip_first
            length = wait + warmup + active
            if step < 0 or (repeat and step >= repeat * length):
                return Action.NONE
            step %= length
            if step < wait:
                return Action.NONE
            if step < wait + warmup:
                return Action.WARMUP
            return Action.RECORD_AND_SAVE if step == length - 1 else Action.RECORD
        return action

    class ExecutionTraceObserver:
        def __init__(self):
            self.path, self.running, self.seen = None, False, 0

        def register_callback(self, path):
            self.path = path
            open(path, "w").close()
            return self

        def start(self):
            self.running = True
            log.append("observer starts")

        def stop(self):
            self.running = False
            log.append("observer stops")

        def unregister_callback(self):
            if self.path:
                with open(self.path, "w") as file:
                    json.dump({"schema": "1.1.1", "nodes": []}, file)
            self.path = None

        cleanup = unregister_callback

    class ExperimentalConfig:
        def __init__(self, **options):
            known = {"verbose"} | (set() if level == "old" else {"enable_cuda_sync_events"})
            if set(options) - known:
                raise TypeError("incompatible constructor arguments")
            self.options = options

    class Base:
        def _setup(self, schedule, on_trace_ready, observer, options):
            self.schedule, self.on_trace_ready, self.observer, self.options = schedule, on_trace_ready, observer, options
            self.step_num, self.metadata, self.recorded = 0, {}, []
            self.current_action = schedule(0)
            self.tracing = False
            self.fail = None
            torch.last_profile = self

        def _go(self, before, after):
            recording = (Action.RECORD, Action.RECORD_AND_SAVE)
            if before in recording and (before == Action.RECORD_AND_SAVE or after not in recording):
                self.tracing = False
                if self.observer:
                    self.observer.stop()
                self.on_trace_ready(self)
                self.recorded, self.metadata = [], {}
            if after in recording and not self.tracing:
                self.tracing = True
                if self.observer:
                    self.observer.start()

        def __enter__(self):
            self._go(Action.NONE, self.current_action)
            return self

        def __exit__(self, *error):
            self.recorded += [self.step_num] if self.tracing else []
            self._go(self.current_action, Action.NONE)
            if self.observer:
                self.observer.cleanup()

        def step(self):
            self.recorded += [self.step_num] if self.tracing else []
            before = self.current_action
            self.step_num += 1
            self.current_action = self.schedule(self.step_num)
            self._go(before, self.current_action)

        def add_metadata_json(self, key, value):
            assert self.tracing, "metadata of no trace"
            self.metadata[key] = json.loads(value)

        def export_chrome_trace(self, path):
            if self.fail:
                raise self.fail
            events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % n, "pid": 1, "tid": 1, "ts": 1000 * n,
                       "dur": 900} for n in self.recorded]
            with open(path, "w") as file:
                json.dump({**self.metadata, "traceEvents": events}, file)

    if level == "new":
        class Profile(Base):
            def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                         with_stack=False, with_flops=False, with_modules=False, experimental_config=None,
                         execution_trace_observer=None):
                options = {"record_shapes": record_shapes, "with_stack": with_stack, "experimental": experimental_config}
                self._setup(schedule, on_trace_ready, execution_trace_observer, options)
    else:
        class Profile(Base):
            def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                         with_stack=False, with_flops=False, experimental_config=None):
                options = {"record_shapes": record_shapes, "with_stack": with_stack, "experimental": experimental_config}
                self._setup(schedule, on_trace_ready, None, options)

    torch.profiler = types.SimpleNamespace(
        profile=Profile, schedule=schedule, ProfilerActivity=Activity, _ExperimentalConfig=ExperimentalConfig,
        supported_activities=lambda: {Activity.CPU, Activity.CUDA} if gpu else {Activity.CPU},
        record_function=lambda name: contextlib.nullcontext())
    if level != "old":
        torch.profiler.ExecutionTraceObserver = ExecutionTraceObserver
    return torch


def install(monkeypatch, machine, **options):
    torch = make(machine, **options)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
    return torch
