"""The engine speaks of the command line; here its sentences are put into the words of Python. Nowhere else."""
from __future__ import annotations

import functools
import keyword
import re
from typing import Any, Dict, FrozenSet

from . import _engine

_OPTION = re.compile(r"(?P<before>\b(?:with|by|give|say) )?--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"
                     r"(?: (?P<value>[A-Z][A-Z,-]+\b|[0-9][0-9.,-]*[0-9]|[0-9]|[a-z][a-z0-9-]*(?:\|[a-z][a-z0-9-]*)*))?")
_PHRASES = (("RANK=PATH", "{rank: path}"), ("(-r ", "(recursive=True "), (" -r ", " recursive=True "),
            ("on the command line", "by hand"))
# What other programs are called with stays as it is, to the end of the clause.
_OTHERS = re.compile(r"\b(?:rocprofv3|rocprof|nsys|zstd|gunzip|py-spy|pip) [^;,]*|XLA_FLAGS=\S+")
_COMMAND = re.compile(r"(?P<tick>`?)\brankscope (?P<name>[a-z]+(?:-[a-z]+)*)(?P<words>(?: --[a-z][a-z-]*(?: [a-z0-9|,-]+)?)*)(?P=tick)")
# Options of what Python has as functions without a row: chakra, flight, metrics, report. Texts, but for flags.
_MORE = {"allow-missing": "flag", "alpha": "text", "apart": "flag", "captures": "flag", "min-effect": "text",
         "allow-unlinked": "flag", "between-run-sd": "text", "budget": "text", "candidate": "text",
         "comm-groups": "text", "count": "flag", "entries": "flag", "groups": "text", "junit": "text", "label": "text", "linked": "text",
         "map": "text", "max-events": "text", "min-match": "text", "most-events": "text", "prefix": "text", "rank": "text", "reference": "text", "report": "text",
         "save": "text", "seed": "text", "skip-warmup": "text", "stacks": "flag", "step": "text", "table": "text", "target": "text",
         "timing": "text", "tolerance": "text", "tracelens": "text", "workers": "text"}
_FUNCTIONS = {"flight": "rankscope.flight.analyze", "chakra": "rankscope.chakra", "metrics": "rankscope.metrics.report",
              "report": "job.report", "fuse": "job.fuse", "slice": "job.slice", "share": "job.share", "sql": "job.sql",
              "regress": "rankscope.regress", "diff": "rankscope.diff", "compare": "rankscope.compare", "memory": "rankscope.memory"}


def python_name(name: str) -> str:
    """An option's or analysis' name as Python spells it."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


@functools.lru_cache(maxsize=None)
def _options() -> Dict[str, Dict[str, Any]]:
    """What is known of options, by name. Those of one name are of one kind but for their choices."""
    known: Dict[str, Dict[str, Any]] = {name: {"type": kind, "choices": set()} for name, kind in _MORE.items()}
    rows = _engine.analyses()
    for specs in [_engine.job_options(), *_engine.slice_options()] + [row["options"] for row in rows]:
        for spec in specs:
            one = known.setdefault(spec["name"], {"type": spec["type"], "choices": set()})
            one["choices"].update(spec["choices"] or ())
    known["table"]["choices"].update(table["name"] for row in rows for table in row["tables"][""])
    return known


@functools.lru_cache(maxsize=None)
def _methods() -> FrozenSet[str]:
    return frozenset(row["name"] for row in _engine.analyses())


def _spell(match: "re.Match[str]") -> str:
    name, value, before = match.group("name"), match.group("value"), match.group("before") or ""
    known = _options().get(name)
    if known is None:
        return match.group()
    word, rest = before + python_name(name), " " + value if value else ""
    if known["type"] == "flag":
        return word + ("=True" if before else "") + rest
    several = value.split("|") if value else []
    if value and (all(one in known["choices"] for one in several) or not value[0].islower()):
        return "%s=%s" % (word, " or ".join('"%s"' % one for one in several) if several[0] in known["choices"] else value)
    return word + ("=" if before and not value else "") + rest


def _call(match: "re.Match[str]") -> str:
    """A command as the call that does the same; one that Python has no call for stays a command."""
    name = match.group("name")
    function = _FUNCTIONS.get(name) or ("job." + python_name(name) if name in _methods() else None)
    if function is None:
        return match.group()
    words = []
    if any(option.group("name") not in _options() for option in _OPTION.finditer(match.group("words"))):
        return match.group()
    for option in _OPTION.finditer(match.group("words")):
        spelled = _spell(option)
        words.append(spelled if "=" in spelled else spelled.replace(" ", "=", 1) if " " in spelled else spelled + "=True")
    return "%s(%s)" % (function, ", ".join(words))


def in_python(text: str) -> str:
    """A sentence of the engine: options become keywords, commands calls."""
    for phrase, ours in _PHRASES:
        text = text.replace(phrase, ours)
    parts, at = [], 0
    for other in _OTHERS.finditer(text):
        parts += [_OPTION.sub(_spell, _COMMAND.sub(_call, text[at:other.start()])), other.group()]
        at = other.end()
    return "".join(parts) + _OPTION.sub(_spell, _COMMAND.sub(_call, text[at:]))
