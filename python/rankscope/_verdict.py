"""Verdicts: what is wrong with a job, or would help it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ._words import in_python

if TYPE_CHECKING:
    from ._job import Job
    from ._table import Result


class Verdict(str):
    """What is wrong with a job, or would help it: the sentence, and its parts as attributes.

    kind: "finding", "opportunity", "healthy" or "refused"; only of the first two there is more than the text
    id: the kind of fault, such as "straggler"; None where there is none
    claim: what is wrong, without what it costs; remedy: what to try; assumption: what the gain assumes; reason: of "refused"
    culprits: who or what it is, a dict each: {"rank": 5}, {"group": "dp", "ranks": [1, 5]}, {"kernel": name}, ...
    before_us, after_us, after_low_us, after_high_us: a step as it is, without the fault, and the 95 % interval of that
    gain_pct, gain_low_pct, gain_high_pct: the gain, percent of a step; bound_us: no gain is greater
    sensitivity: whether it says how much something matters, not that it can be had
    evidence: questions that show the numbers, a dict each: command, options, shell, python"""

    kind: str
    id: Optional[str]
    claim: Optional[str]
    remedy: Optional[str]
    assumption: Optional[str]
    reason: Optional[str]
    culprits: List[Dict[str, Any]]
    steps: int
    before_us: Optional[float]
    after_us: Optional[float]
    after_low_us: Optional[float]
    after_high_us: Optional[float]
    gain_pct: Optional[float]
    gain_low_pct: Optional[float]
    gain_high_pct: Optional[float]
    bound_us: Optional[float]
    sensitivity: bool
    evidence: List[Dict[str, Any]]

    def __new__(cls, values: Dict[str, Any]) -> Verdict:
        self = super().__new__(cls, in_python(values["text"]))
        self.__dict__.update({key: value for key, value in values.items() if key != "text"})
        if self.reason is not None:
            self.reason = in_python(self.reason)
        return self

    def __reduce__(self) -> Any:
        return Verdict, ({**self.__dict__, "text": str(self)},)

    @property
    def ranks(self) -> List[int]:
        """The ranks among the culprits."""
        return [culprit["rank"] for culprit in self.culprits if "rank" in culprit]

    def verify(self, job: Job) -> Optional[Result]:
        """Asks the job the question that shows the numbers; None where there is none."""
        for question in self.evidence:
            return job.run(question["command"], **{name.replace("-", "_"): value for name, value in question["options"].items()})
        return None
