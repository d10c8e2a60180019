"""Replaces HTA's `hta.utils.test_utils`: what HTA's tests import."""
import functools
import pathlib
from typing import Any, Callable, Iterable


def data_provider(data_function: Callable[[], Iterable[Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test once for each datum: a dict gives keyword arguments, a tuple arguments, anything else the one argument."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(self, *args, **words) -> None:
            for datum in data_function():
                if isinstance(datum, dict):
                    test(self, *args, **{**words, **datum})
                else:
                    test(self, *args, *(datum if isinstance(datum, tuple) else (datum,)), **words)

        return run

    return decorate


def get_test_data_dir(dataset: str = "") -> str:
    """tests/data/dataset of the current directory."""
    return str(pathlib.Path.cwd() / "tests" / "data" / dataset)
