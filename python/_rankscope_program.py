"""The command `rankscope` of the package: the program inside takes over this process. What the program has not, the
server for agents and Parquet files, is the package's.

It is next to the package, not in it, so that the program does not wait for the package's import."""
import os
import sys


def path():
    """Where the program is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "rankscope", "bin", "rankscope")


def main():
    if sys.argv[1:2] == ["mcp"]:
        from rankscope import mcp
        return mcp.main(sys.argv[2:])
    if any("parquet" in word for word in sys.argv[1:]):
        from rankscope import _parquet
        asked = _parquet.split(sys.argv[1:])
        if asked:
            sys.exit(_parquet.main(path(), *asked))
    program = path()
    try:
        os.execv(program, ["rankscope"] + sys.argv[1:])
    except OSError as error:
        sys.exit("rankscope: %s: %s" % (program, error.strerror))
