"""What the drop-in needs beside the engine: pandas for its frames, plotly for its pictures."""
import warnings


def pandas():
    """The pandas module, or an error that says what to do."""
    try:
        import pandas as module
    except ImportError:
        raise ImportError(
            "rankscope.hta returns pandas frames as HTA does, and pandas is not installed: pip install pandas "
            "(rankscope itself needs none: rankscope.open(...))"
        ) from None
    return module


def plotly_express():
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
