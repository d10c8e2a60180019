"""Where a rank's files are, and how they are written atomically."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from pathlib import Path


class RecorderError(RuntimeError):
    """The recorder cannot do what was asked; the text says what would help."""


class RecorderWarning(UserWarning):
    """The recorder goes on without something."""


class Layout:
    """The files of one rank below one directory."""

    def __init__(self, directory: str | os.PathLike[str], rank: int, compress: bool) -> None:
        self.directory = Path(directory)
        self.rank = rank
        self.compress = compress
        packed = ".gz" if compress else ""
        self.metrics = self.directory / f"rank_{rank:02d}_metrics.jsonl"
        self.devices = self.directory / f"rank_{rank:02d}_device.jsonl"
        self.traces = self.directory / "torch_profiler" / f"rank{rank}"
        self.execution_trace = self.directory / "execution_trace" / f"rank{rank}.json{packed}"

    def trace(self, cycle: int) -> Path:
        return self.traces / f"rank{self.rank}_cycle{cycle:03d}.pt.trace.json{'.gz' if self.compress else ''}"

    def snapshot(self, what: str) -> Path:
        """Of one moment a folder: the ranks in it are what `rankscope memory` takes for a job."""
        return self.directory / "memory" / what / f"rank{self.rank}.pickle"

    def raw(self, path: Path) -> Path:
        """Where torch writes before the file gets its name. Names with a dot in front are no traces to anybody."""
        return path.with_name(f".{path.name.removesuffix('.gz')}.{os.getpid()}.part.json")

    def existing(self) -> list[Path]:
        found = [self.metrics, self.devices, self.execution_trace, self.execution_trace.with_suffix("")]
        found += sorted(self.traces.glob(f"rank{self.rank}_cycle*.pt.trace.json*")) if self.traces.is_dir() else []
        found += sorted((self.directory / "memory").glob(f"*/rank{self.rank}.pickle"))
        return [path for path in found if path.is_file()]

    def put_earlier_aside(self) -> Path | None:
        """Moves what an earlier run left of this rank to previous/TIME/, so that no two runs are ever taken for one."""
        earlier = self.existing()
        if not earlier:
            return None
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(max(path.stat().st_mtime for path in earlier)))
        aside = self.directory / "previous" / stamp
        for n in range(1000):
            if not any((aside / path.relative_to(self.directory)).exists() for path in earlier):
                break
            aside = self.directory / "previous" / f"{stamp}.{n + 1}"
        for path in earlier:
            target = aside / path.relative_to(self.directory)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
        return aside


def finish(raw: Path, final: Path) -> None:
    """Packs what torch wrote and gives it its name in one move: who reads the directory sees a whole file or none."""
    if final.suffix != ".gz":
        os.replace(raw, final)
        return
    packed = raw.with_name(raw.name + ".gz")
    try:
        with open(raw, "rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        os.replace(packed, final)
    finally:
        packed.unlink(missing_ok=True)
        raw.unlink(missing_ok=True)
