"""Collectives of torch.distributed, timed where they run.

A range must hold the collective, not the call. NCCL works on streams of its own, which wait for the caller's; an event
recorded after an asynchronous call is reached long before the collective is done. So

* a call that waits ends with an event on the caller's stream, which the collective delays;
* an asynchronous one ends with an event recorded in a callback of its future, whose stream waits for the collective and
  for nothing else. `Work.wait` on a stream of ours would do too, but it makes torch drop the references that keep the
  call's tensors alive, while the caller's own stream has not waited yet.

The caller's arguments, streams and results are untouched.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from typing import Any, Callable

from .features import Note, distributed

# What is replaced: name in torch.distributed, and the stream and the function that a range of it carries.
FUNCTIONS = {
    "all_reduce": ("allreduce", "all_reduce"),
    "all_reduce_coalesced": ("allreduce", "all_reduce_coalesced"),
    "reduce_scatter": ("reducescatter", "reduce_scatter"),
    "reduce_scatter_tensor": ("reducescatter", "reduce_scatter_tensor"),
    "_reduce_scatter_base": ("reducescatter", "reduce_scatter_tensor"),
    "all_gather": ("allgather", "all_gather"),
    "all_gather_into_tensor": ("allgather", "all_gather_into_tensor"),
    "_all_gather_base": ("allgather", "all_gather_into_tensor"),
    "all_gather_coalesced": ("allgather", "all_gather_coalesced"),
    "broadcast": ("comm", "broadcast"),
    "reduce": ("comm", "reduce"),
    "scatter": ("comm", "scatter"),
    "gather": ("comm", "gather"),
    "all_to_all": ("comm", "all_to_all"),
    "all_to_all_single": ("comm", "all_to_all_single"),
    "send": ("p2p", "send"),
    "recv": ("p2p", "recv"),
    "isend": ("p2p", "isend"),
    "irecv": ("p2p", "irecv"),
}


def default_hook() -> Any:
    """What DistributedDataParallel does with a bucket of gradients when it is given no hook: average it over the ranks."""
    return importlib.import_module("torch.distributed.algorithms.ddp_comm_hooks.default_hooks").allreduce_hook


def on_gpu(value: Any, depth: int = 3) -> bool:
    """Is there a tensor on a GPU among a call's arguments?"""
    if getattr(value, "is_cuda", False):
        return True
    if depth and isinstance(value, (list, tuple)):
        return any(on_gpu(item, depth - 1) for item in value)
    return False


def exchange(pairs: dict[int, tuple[Any, Any]]) -> None:
    """Replaces objects under every name that a module has for them; pairs: by identity, the old one and the new."""
    for module in list(sys.modules.values()):
        try:
            names = list(vars(module).items())
        except TypeError:
            continue
        for name, value in names:
            pair = pairs.get(id(value))
            if pair is not None and value is pair[0]:
                setattr(module, name, pair[1])


class Collectives:
    """Replaces the functions while it is installed. `clock` is the overlap recorder: `begin`, `end`, `pause`."""

    def __init__(self, torch: Any, clock: Any, note: Note) -> None:
        self.torch, self.clock, self.note = torch, clock, note
        self.inside = threading.local()  # of a call that is being timed: what it calls is part of it
        self.wrappers: dict[int, tuple[Any, Any]] = {}  # by the original's identity: the original, ours
        self.wait: tuple[Any, Any, Any] | None = None  # the class, the original, ours
        self.installed = False

    def install(self) -> None:
        dist = distributed(self.torch)
        if dist is None:
            self.note("no process group when the recorder was entered: collectives are not timed; enter it after "
                      "init_process_group")
            return
        self.installed = True
        for name, (stream, function) in FUNCTIONS.items():
            original = getattr(dist, name, None)
            if callable(original) and id(original) not in self.wrappers:
                self.wrappers[id(original)] = (original, self._wrapper(original, stream, function))
        exchange(self.wrappers)
        self._install_wait(dist)

    def _install_wait(self, dist: Any) -> None:
        """While a stream waits for a collective it computes nothing: a range around the wait has to be announced."""
        work: Any = getattr(dist, "Work", None)
        original = getattr(work, "wait", None)
        try:
            if original is None:
                raise AttributeError("there is no Work.wait")

            @functools.wraps(original)
            def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
                if not self.installed or getattr(self.inside, "call", False):
                    return original(work, *args, **kwargs)
                return self.pause(lambda: original(work, *args, **kwargs))

            work.wait = wait
            self.wait = (work, original, wait)
        except (AttributeError, TypeError) as error:
            self.note(f"waits for collectives cannot be seen in this torch ({error}): computation includes them; call "
                      "recorder.wait(work) instead of work.wait()")

    def remove(self) -> None:
        """Also from modules that were imported meanwhile. Who keeps a replacement elsewhere has a function that does what
        the original does."""
        self.installed = False
        exchange({id(ours): (ours, original) for original, ours in self.wrappers.values()})
        self.wrappers = {}
        if self.wait is not None:
            work, original, ours = self.wait
            if vars(work).get("wait") is ours:
                work.wait = original
            self.wait = None

    # ---- one call ------------------------------------------------------------------------------------------------

    def pause(self, wait: Callable[[], Any]) -> Any:
        before = self.clock.event()
        try:
            return wait()
        finally:
            if before is not None:
                self.clock.pause(before, self.clock.event())

    def _untimed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Why a call cannot be timed; None when it can; empty when there is nothing to say."""
        torch = self.torch
        compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
        if compiling is not None and compiling():
            return ""
        if not self.installed or getattr(self.inside, "call", False) or not self.clock.recording():
            return ""
        if not (on_gpu(args) or on_gpu(list(kwargs.values()))):
            return ""
        if torch.cuda.is_current_stream_capturing():
            return "in a CUDA graph that was being captured"
        world = getattr(getattr(torch.distributed, "distributed_c10d", None), "_world", None)
        if getattr(world, "pg_coalesce_state", None):
            return "coalesced with others"
        return None

    def _wrapper(self, original: Any, stream: str, function: str) -> Any:
        @functools.wraps(original)
        def collective(*args: Any, **kwargs: Any) -> Any:
            reason = self._untimed(args, kwargs)
            if reason is not None:
                if reason:
                    self.clock.missed(f"{function} {reason}")
                return original(*args, **kwargs)
            token = self.clock.begin(function, stream, function, awaited=True)
            self.inside.call = True
            try:
                work = original(*args, **kwargs)
            except BaseException:
                self.clock.forget(token)
                raise
            finally:
                self.inside.call = False
            if work is None or not hasattr(work, "wait"):
                self.clock.end(token, waited=True)
            else:
                self.end_with(token, work)
            return work

        return collective

    def end_with(self, token: Any, work: Any) -> None:
        """Ends a range where the future of a work ends."""
        try:
            work.get_future().then(functools.partial(self._end, token))
        except Exception:  # a backend without futures
            self.clock.forget(token)
            self.clock.missed(f"{token.function if token else 'collective'} called asynchronously, of a backend that gives no future")

    def _end(self, token: Any, future: Any) -> None:
        self.clock.end(token)

    def ddp_hook(self, state: Any, hook: Any) -> Callable[[Any, Any], Any]:
        """DistributedDataParallel reduces gradients in C++, where no function can be replaced; it calls this instead."""
        hook = hook or default_hook()

        def timed(_: Any, bucket: Any) -> Any:
            if not self.clock.recording():
                return hook(state, bucket)
            token = self.clock.begin("all_reduce", "allreduce", "all_reduce", awaited=True)
            self.inside.call = True
            try:
                future = hook(state, bucket)
            except BaseException:
                self.clock.forget(token)
                raise
            finally:
                self.inside.call = False
            try:
                future.then(functools.partial(self._end, token))
            except Exception:
                self.clock.forget(token)
                self.clock.missed("all_reduce of a gradient bucket whose hook returned no future")
            return future

        return timed
