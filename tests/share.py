"""What of its cases a script runs where each costs much: all, or the share that RANKSCOPE_SHARE=PLACE/OF names.

scripts/check sets it for programs with sanitizers, which take a case ten times as long; the same cases run whole without them.
"""
import os


def share(cases):
    """The cases at PLACE, PLACE + OF, ..., at least one of them; all when nothing is asked."""
    cases = list(cases)
    place, _, of = os.environ.get("RANKSCOPE_SHARE", "0/1").partition("/")
    return cases[int(place) % max(1, min(int(of), len(cases)))::int(of)]
