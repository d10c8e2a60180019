"""The engine's answers under HTA's rules, one job a set of traces."""
from typing import Any, Iterable, List, Literal, Optional, Sequence

import rankscope

from .configs.env_options import disable_ns_rounding


def rules() -> Literal["hta", "hta-exact"]:
    """The engine's word for HTA's rules: with rounded times or without."""
    return "hta-exact" if disable_ns_rounding() else "hta"


class Answers:
    """Asks the engine with HTA's rules.

    The traces are read once and kept. `one` gives what asks about a single rank, for questions whose answer has no
    rank in it or that need not be asked of the others.
    """

    def __init__(self, source, include_last_step: bool = False, ranks: Optional[Sequence[int]] = None):
        self._last = bool(include_last_step)
        self.compat = rules()
        self._job = rankscope.open(source, include_last_step=self._last, keep=True, ranks=ranks)
        self.files = {int(row["rank"]): row["file"] for row in self._job.run("info").tables["ranks"]}
        self.ranks: List[int] = sorted(self.files)

    @property
    def job(self):
        return self._job

    def one(self, rank: int) -> int:
        """A rank that is there, for run's `rank`."""
        self.chosen([rank])
        return rank

    def run(self, analysis: str, rank: Optional[int] = None, **options):
        """The result, of one rank if it is given; options that are None are left at their defaults."""
        options = {k: v for k, v in options.items() if v is not None}
        if rank is not None and len(self.ranks) > 1:
            options["ranks"] = rank
        return self._job.run(analysis, compat=self.compat, **options)

    def frame(self, analysis: str, table: str, rank: Optional[int] = None, **options) -> Any:
        """One table of the result as a frame."""
        return self.run(analysis, rank, **options).tables[table].to_pandas()

    def chosen(self, ranks: Optional[Iterable[int]]) -> Sequence[int]:
        """The ranks asked for; HTA's default is rank 0."""
        wanted = list(ranks) if ranks is not None else []
        if not wanted:
            wanted = [0]
        for rank in wanted:
            if rank not in self.ranks:
                have = ", ".join(str(r) for r in self.ranks[:20]) + (", ..." if len(self.ranks) > 20 else "")
                raise ValueError(
                    "rank %s is not among the traces; there %s %s: pass ranks=[...]"
                    % (rank, "is rank" if len(self.ranks) == 1 else "are ranks", have or "none")
                )
        return wanted

    def close(self):
        self._job.close()
