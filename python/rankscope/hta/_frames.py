"""The shapes of HTA's frames: index, column names, dtypes. No number is computed here.

HTA downcasts the whole-number columns of a trace (stream, correlation, ...) to the smallest type that holds
them; `small` does the same to the columns of a result.
"""
from typing import Any, Dict, Iterable, List, Optional, Sequence

from ._need import pandas

DESCRIBE = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")


def text(series):
    """Strings as pandas holds them: object, and its own string type from pandas 3 on."""
    pd = pandas()
    if str(series.dtype) == "str" and not series.hasnans:
        return series
    three = int(pd.__version__.split(".")[0]) >= 3
    if series.dtype == object and not three:
        return series
    values = series.tolist()
    if three and all(isinstance(v, str) for v in values):
        return pd.Series(values, index=series.index, dtype="str")
    return pd.Series(values, index=series.index, dtype=object)


def small(series):
    """The smallest whole-number type that holds the column."""
    return pandas().to_numeric(series, downcast="integer")


def whole(series):
    """int64 where every value is a whole number, as HTA's rounded times are; float64 else."""
    if len(series) == 0 or (series.notna().all() and (series == series.round()).all()):
        return series.astype("int64")
    return series.astype("float64")


def objects(series):
    """HTA's pid and tid columns: objects, as a trace may hold numbers and names in them."""
    return pandas().Series(series.tolist(), index=series.index, dtype=object)


def mapped(series, convert):
    """What convert makes of each value, as objects; asked once for each different one."""
    import numpy  # pandas needs it too

    codes, different = pandas().factorize(series)
    made = numpy.empty(len(different), dtype=object)
    for i, value in enumerate(different):
        made[i] = convert(value)
    return pandas().Series(made[codes] if len(made) else [], index=series.index, dtype=object)


_CASTS = {"text": text, "small": small, "whole": whole, "objects": objects}


def shaped(frame, types: Dict[str, str]):
    """The columns named in types, in their order, each as its type: text, small, whole, objects or a dtype."""
    pd = pandas()
    columns = {}
    for name, kind in types.items():
        cast = _CASTS.get(kind)
        columns[name] = cast(frame[name]) if cast else frame[name].astype(kind)
    return pd.DataFrame(columns, index=frame.index)


def of_ranks(frame, ranks: Optional[Sequence[int]]):
    """The rows of these ranks, in the order they are given."""
    if ranks is None:
        return frame
    return pandas().concat([frame[frame["rank"] == rank] for rank in ranks])


def numbered(frame):
    """A fresh RangeIndex."""
    return frame.reset_index(drop=True)


def counted(frame):
    """A fresh index of int64 that is no range, as a merge or concat of HTA leaves it."""
    pd = pandas()
    frame = frame.reset_index(drop=True)
    frame.index = pd.Index(list(range(len(frame))), dtype="int64")
    return frame


def counted_by_rank(frame):
    """As `counted`, starting again with each rank: HTA puts its ranks' frames below each other."""
    pd = pandas()
    frame = frame.copy()
    frame.index = pd.Index(frame.groupby("rank", sort=False).cumcount().tolist(), dtype="int64")
    return frame


def described(frame, keys: Iterable[str], values: str):
    """A describe() by keys: they are the index, and the statistics are below one heading. None without rows."""
    pd = pandas()
    if len(frame) == 0:
        return None
    keys = list(keys)
    rows = frame.set_index(keys)[list(DESCRIBE)].astype("float64")
    rows.columns = pd.MultiIndex.from_product([[values], DESCRIBE])
    return rows


def split(frame, ranks: Sequence[int]) -> Dict[int, Any]:
    """One frame a rank without its column; ranks without rows are left out."""
    out = {}
    for rank in ranks:
        rows = frame[frame["rank"] == rank]
        if len(rows):
            out[rank] = rows.drop(columns="rank")
    return out


def columns_but(frame, names: Iterable[str]) -> List[str]:
    skip = set(names)
    return [c for c in frame.columns if c not in skip]
