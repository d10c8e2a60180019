"""One quantity, one name: all columns of all tables that are not in another tool's form."""
import re

import pytest

import rankscope as rs
from rankscope import _engine
from rankscope._names import SAME, find

# Columns in microseconds that do not say so: frames of events have HTA's names, distributions those of pandas.
PLAIN = {"ts", "dur", "end", "weight", "path_weight", "duration", "25%", "50%", "75%", "max", "mean", "min", "std",
         "kernel_dur_sum", "kernel_span", "first_kernel_start", "last_kernel_end"}
# Words that mean the same in a name. A pair of names that differ by these alone are two names of one quantity.
WORDS = {"computation": "compute", "communication": "comm", "copies": "copy", "duration": "dur", "length": "dur", "average": "mean",
         "avg": "mean", "percent": "pct", "share": "pct", "category": "cat", "categories": "cat", "num": "n", "count": "n",
         "number": "n", "begin": "start", "kernels": "kernel", "device": "gpu", "cpu": "host", "total": "sum", "medians": "median"}
# Alike in words, not in what they mean.
OTHER = [
    {"gpu", "device"},  # a row of the GPU; the ordinal of a device
    {"kernel", "kernels"},  # a name; how many
    {"duration_us", "dur_us", "length_us"},  # of an event; of steps and annotations on the host, whose work ends later
    {"count", "number"},  # how many; which
    {"host_us", "cpu_us"},  # how long something takes on the host; how long a path or a pattern waits for it
    {"cat", "category", "categories"},  # of an event; how many
    {"copy", "copies"},
    {"sum_us", "total_us"},  # of runs; of a subtree
    {"n_kernels", "kernels"},
]


def columns():
    for row in _engine.analyses():
        for table in row["tables"].get("", []):
            for column in table["columns"]:
                yield row["name"], table["name"], column


def alike(name):
    return tuple(WORDS.get(word, word) for word in re.split("_", name))


def test_times_say_their_unit():
    bare = {column["name"] for _, _, column in columns() if column["unit"] == "us" and not column["name"].endswith("_us")}
    assert bare <= PLAIN, "name them ..._us: %s" % sorted(bare - PLAIN)


def test_no_quantity_has_two_names():
    groups = {}
    for analysis, table, column in columns():
        groups.setdefault(alike(column["name"]), {}).setdefault(column["name"], []).append("%s/%s" % (analysis, table))
    known = [set(group) for group in SAME] + OTHER
    twice = {k: v for k, v in groups.items() if len(v) > 1 and not any(set(v) <= group for group in known)}
    assert not twice, "take one name, or say in rankscope/_names.py that they are the same: %s" % twice


def test_every_name_finds_the_column(job):
    steps, summary = job.breakdown(), job.summary()
    assert steps["computation_us"] == steps["compute_us"] and "exposed_copies_us" in steps and "communication_us" in summary
    assert summary["computation_us"] == summary.column("compute_us") and "compute_us" in summary.columns
    frame = job.frame()
    assert frame["duration_us"] == frame["dur"] and frame["start_us"] == frame["ts"] and frame["position"] == frame["index"]
    assert len(frame.filter(category="kernel")) == len(frame.filter(cat="kernel")) > 0
    assert frame.sort("duration_us")["dur"] == sorted(frame["dur"])
    with pytest.raises(KeyError, match="no column"):
        steps["computed_us"]


def test_a_name_of_two_columns_is_none():
    assert find("duration_us", ["dur", "duration"]) == "duration_us"
    assert find("dur", ["dur", "duration_us"]) == "dur" and find("rank", ["rank"]) == "rank" and find("x", []) == "x"
    names = [name for group in SAME for name in group]
    assert len(names) == len(set(names))
