"""The recorder in loops that a framework runs: Lightning's Trainer, and the Trainer of Hugging Face's transformers."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .files import RecorderError
from .recorder import Recorder


class Loop:
    """Steps of a loop that reports when a batch is done. A step goes from there to the next such place, so that fetching the
    batch is in it. Validation between two steps belongs to none: that step is left out and begins again after it."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.running = False
        self.owns = False  # entered here, so left here

    def start(self) -> None:
        if self.running:
            return
        if not self.recorder.entered:
            self.recorder.__enter__()
            self.owns = True
        self.running = True
        self.recorder.begin_step()

    def next(self, loss: Any = None) -> None:
        if not self.running:
            return
        if loss is not None:
            self.recorder.log(loss=loss)
        self.recorder.end_step()
        self.recorder.begin_step()

    def pass_over(self) -> None:
        """What went on since the last step is none."""
        if self.running:
            self.recorder.end_step(keep=False)
            self.recorder.begin_step()

    def stop(self, error: BaseException | None = None) -> None:
        if not self.running:
            return
        self.running = False
        self.recorder.end_step(keep=False, ran=error is not None)
        if self.owns:
            self.recorder.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)


def _base(name: str, modules: tuple[str, ...], install: str) -> type:
    """The class of that name in the first of the modules: one that is imported already, else one that can be."""
    loaded = [module for module in modules if module.split(".")[0] in sys.modules]
    for module in loaded + list(modules):
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise RecorderError(f"{' or '.join(module.split('.')[0] for module in modules)} cannot be imported: pip install {install}")


def lightning_callback(recorder: Recorder) -> Any:
    """A callback for Lightning: ``Trainer(callbacks=[lightning_callback(Recorder("run1"))])``. Each training batch is a step,
    with its loss. The recorder is entered when training starts, unless it is already, and left when it ends or fails."""
    loop = Loop(recorder)

    class RecorderCallback(_base("Callback", ("lightning.pytorch", "pytorch_lightning"), "lightning")):  # type: ignore[misc]
        def on_train_start(self, trainer: Any, module: Any) -> None:
            loop.start()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            loop.next(loss)

        def on_validation_end(self, trainer: Any, module: Any) -> None:
            if not getattr(trainer, "sanity_checking", False):
                loop.pass_over()

        def on_train_end(self, trainer: Any, module: Any) -> None:
            loop.stop()

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            loop.stop(exception)

    return RecorderCallback()


def transformers_callback(recorder: Recorder) -> Any:
    """A callback for the Trainer of transformers: ``Trainer(..., callbacks=[transformers_callback(Recorder("run1"))])``. Each
    optimizer step, with all that it accumulates, is a step. That Trainer notifies no callback of an error: enter the recorder
    around train() (``with Recorder("run1") as recorder: ...``) where what an error leaves is to be written."""
    loop = Loop(recorder)

    class RecorderCallback(_base("TrainerCallback", ("transformers",), "transformers")):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            loop.start()

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            loop.next()

        def on_evaluate(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            loop.pass_over()

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            loop.stop()

    return RecorderCallback()
