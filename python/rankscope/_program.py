"""The command `rankscope` of the package: the program that lies in it takes over this process."""
from __future__ import annotations

import os
import sys


def path() -> str:
    """Where the program is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "rankscope")


def main() -> None:
    program = path()
    try:
        os.execv(program, ["rankscope"] + sys.argv[1:])
    except OSError as error:
        sys.exit("rankscope: %s: %s" % (program, error.strerror))
