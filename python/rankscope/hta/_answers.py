"""The engine's answers under HTA's rules, one job a set of traces."""
import os
from typing import Iterable, List, Optional, Sequence

import rankscope

NO_ROUNDING = "HTA_DISABLE_NS_ROUNDING"


class Answers:
    """Asks the engine with HTA's rules.

    The traces are read once and kept. `one` gives the job of a single rank, for questions whose answer has no
    rank in it or that need not be asked of the others.
    """

    def __init__(self, source, include_last_step: bool = False):
        self._source = source
        self._last = bool(include_last_step)
        self.compat = "hta-exact" if os.environ.get(NO_ROUNDING) == "1" else "hta"
        self._job = rankscope.open(source, include_last_step=self._last, keep=True)
        self._alone = {}
        self.ranks: List[int] = sorted(int(r) for r in self._job.ranks)

    @property
    def job(self):
        return self._job

    def one(self, rank: int):
        """The job of one rank."""
        self.chosen([rank])
        if len(self.ranks) == 1:
            return self._job
        if rank not in self._alone:
            self._alone[rank] = rankscope.open(
                self._source, ranks=[rank], include_last_step=self._last, keep=True
            )
        return self._alone[rank]

    def run(self, analysis: str, job=None, **options):
        """The result; options that are None are left at their defaults."""
        options = {k: v for k, v in options.items() if v is not None}
        return (job or self._job).run(analysis, compat=self.compat, **options)

    def frame(self, analysis: str, table: str, job=None, **options):
        """One table of the result as a frame."""
        return self.run(analysis, job, **options).tables[table].to_pandas()

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
        for job in [self._job, *self._alone.values()]:
            job.close()
        self._alone.clear()
