"""What a user's typed code looks like; mypy reads it with --strict, and it runs."""
from __future__ import annotations

import sys
from typing import Dict, List

import rankscope as rs


def busiest(folder: str) -> str:
    with rs.open(folder, ranks=[0, 1], keep="1G", progress=False) as job:
        table: rs.Table = job.kernels(by="name", top=3, compat=None)
        names: List[str] = table["name"]
        first: Dict[str, object] = table[0]
        head: rs.Table = table[:2]
        events = job.events
        few: rs.Table = events(where="cat=kernel", limit=2)
        steps: List[int] = job.ranks
        changes = rs.diff(job, job, table="diff")
        total = sum(row["time_b_us"] or 0 for row in changes if "time_b_us" in row)
        assert head.num_rows == 2 and len(few) == 2 * len(steps) and first and total >= 0
    return names[0]


def verdict(folder: str) -> str:
    try:
        report: rs.flight.Report = rs.flight.analyze(folder)
    except rs.InputError as error:
        return str(error.causes[0]["message"])
    return report.verdict


if __name__ == "__main__":
    print(busiest(sys.argv[1]))
    print(verdict(sys.argv[1]))
