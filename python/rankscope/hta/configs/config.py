"""Replaces HTA's `hta.configs.config`: settings from JSON files, and the logger."""
import json
import logging
import os
import pathlib
from typing import Any, Dict, List, Optional

from .default_values import DEFAULT_CONFIG_FILENAME

logger = logging.getLogger("rankscope.hta")

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def setup_logger(config_file: str = "logging.config") -> None:
    """There for those who call it: how a library's messages are shown is its user's choice."""


class HtaConfig:
    """Settings of several JSON files; a later file's outermost keys take the place of an earlier's."""

    def __init__(self, config_file_path: Optional[str] = None, load_default_paths: Optional[bool] = True):
        self.config_file_paths: List[str] = self.get_default_paths() if load_default_paths else []
        if config_file_path:
            self.config_file_paths.append(config_file_path)
        self.config: Dict[str, Any] = {}
        for path in self.get_config_file_paths():
            with open(path, encoding="utf-8") as file:
                self.config.update(json.load(file))

    @staticmethod
    def get_default_paths() -> List[str]:
        """Of the package, of the user, of the current directory."""
        folders = (_PACKAGE / "configs", pathlib.Path.home() / ".hta", pathlib.Path.cwd())
        return [str(folder / DEFAULT_CONFIG_FILENAME) for folder in folders]

    def get_config_file_paths(self) -> List[str]:
        """The files that are there and can be read."""
        return [path for path in self.config_file_paths if os.path.isfile(path) and os.access(path, os.R_OK)]

    def get_config(self, dot_path: Optional[str] = None, default_value: Any = None) -> Any:
        """The value under a path of keys with dots between; without a path, everything."""
        value: Any = self.config
        for key in dot_path.split(".") if dot_path is not None else ():
            if not isinstance(value, dict) or key not in value:
                return default_value
            value = value[key]
        return value

    def show(self) -> None:
        print(json.dumps(self.config, indent=4, sort_keys=True))

    @staticmethod
    def get_test_data_path(dataset: str) -> str:
        """tests/data/dataset of the current directory."""
        return str(pathlib.Path.cwd() / "tests" / "data" / dataset)
