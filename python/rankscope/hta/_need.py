"""What the drop-in needs in addition to the engine: pandas for its frames, plotly for its pictures."""
import importlib
import warnings
from typing import Any


def pandas() -> Any:
    """The pandas module, or an error that says what to do. Its types are not checked: they differ from version to version."""
    try:
        import pandas as module
    except ImportError:
        raise ImportError(
            "rankscope.hta returns pandas frames as HTA does, and pandas is not installed: pip install pandas "
            "(rankscope itself needs none: rankscope.open(...))"
        ) from None
    return module


def plotly_express() -> Any:
    """plotly.express, or None with a warning: the tables do not depend on the picture."""
    try:
        import plotly.express as module
    except ImportError:
        warnings.warn(
            "visualize=True draws with plotly, which is not installed: pip install plotly, or pass visualize=False; "
            "the tables are returned without a picture",
            UserWarning,
            stacklevel=4,
        )
        return None
    return module


def optional(name: str) -> Any:
    """A module, None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
