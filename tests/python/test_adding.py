"""The Python example of docs/adding.md."""
import importlib.util
import pathlib

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "adding" / "python" / "idle_share.py"


def test_idle_share(job):
    spec = importlib.util.spec_from_file_location("idle_share", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rows = job.breakdown().to_dicts()
    assert example.idle_share(job) == pytest.approx(sum(r["idle_us"] for r in rows) / sum(r["span_us"] for r in rows))
