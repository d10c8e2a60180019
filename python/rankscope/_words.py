"""The engine speaks of the command line; here its sentences are put into the words of Python. Nowhere else."""
from __future__ import annotations

import functools
import keyword
import re
from typing import Any, Dict

from . import _engine

_OPTION = re.compile(r"(?P<before>\b(?:with|by|give|say) )?--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"
                     r"(?: (?P<value>[A-Z][A-Z,-]+\b|[0-9][0-9.,-]*[0-9]|[0-9]|[a-z][a-z0-9-]*))?")
_PHRASES = (("RANK=PATH", "{rank: path}"), ("(-r ", "(recursive=True "), (" -r ", " recursive=True "))


def python_name(name: str) -> str:
    """An option's or analysis' name as Python spells it."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


@functools.lru_cache(maxsize=None)
def _options() -> Dict[str, Dict[str, Any]]:
    """What is known of options, by name. Those of one name are of one kind but for their choices."""
    known: Dict[str, Dict[str, Any]] = {}
    for specs in [_engine.job_options()] + [row["options"] for row in _engine.analyses()]:
        for spec in specs:
            one = known.setdefault(spec["name"], {"type": spec["type"], "choices": set()})
            one["choices"].update(spec["choices"] or ())
    return known


def _spell(match: "re.Match[str]") -> str:
    name, value, before = match.group("name"), match.group("value"), match.group("before") or ""
    known = _options().get(name, {"type": "text", "choices": set()})
    word, rest = before + python_name(name), " " + value if value else ""
    if known["type"] == "flag":
        return word + ("=True" if before else "") + rest
    if value and (value in known["choices"] or not value[0].islower()):
        return "%s=%s" % (word, '"%s"' % value if value in known["choices"] else value)
    return word + ("=" if before and not value else "") + rest


def in_python(text: str) -> str:
    """A sentence of the engine: options become keywords."""
    for phrase, ours in _PHRASES:
        text = text.replace(phrase, ours)
    return _OPTION.sub(_spell, text)
