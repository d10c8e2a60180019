"""Parquet files of tables: pyarrow writes them, from the program's Arrow stream."""
import io
import os
import subprocess
import sys

ROWS = 1 << 20  # of a row group
MARK = b"PAR1"
# Commands whose -o is a trace or a page: their tables go to standard output.
OWN_OUTPUT = ("annotate", "chakra", "fuse", "metrics", "report", "share", "slice")


class Refusal(Exception):
    """The message for the user; the exit code is 2."""


def _pyarrow():
    try:
        import pyarrow.parquet
        return pyarrow
    except ImportError:
        raise Refusal("--format parquet needs pyarrow: pip install 'rankscope[arrow]'") from None


class _Counted(io.RawIOBase):
    """Standard output, which may be a pipe: pyarrow wants to know how far it is."""

    def __init__(self, file):
        self._file, self._at = file, 0

    def writable(self):
        return True

    def write(self, data):
        self._file.write(data)
        self._at += len(data)
        return len(data)

    def tell(self):
        return self._at

    def flush(self):
        self._file.flush()


def write_stream(source, sink):
    """An Arrow stream as a Parquet file: batches become row groups, so memory does not grow with the table."""
    pyarrow = _pyarrow()
    with pyarrow.ipc.open_stream(source) as reader:
        with pyarrow.parquet.ParquetWriter(sink, reader.schema, compression="zstd") as writer:
            batches, rows = [], 0
            for batch in reader:
                batches.append(batch)
                rows += batch.num_rows
                if rows >= ROWS:
                    writer.write_table(pyarrow.Table.from_batches(batches), row_group_size=ROWS)
                    batches, rows = [], 0
            writer.write_table(pyarrow.Table.from_batches(batches, reader.schema), row_group_size=ROWS)


def of_stream(data):
    """The bytes of a Parquet file from those of an Arrow stream."""
    out = io.BytesIO()
    write_stream(io.BytesIO(data), out)
    return out.getvalue()


def split(words):
    """(arguments that ask for an Arrow stream, the file of -o or None) when the arguments ask for Parquet; else None."""
    given, output, form = [], None, None
    keeps = bool(words) and words[0] in OWN_OUTPUT
    rest = iter(words)
    for word in rest:
        if word == "--":
            given += [word, *rest]
        elif word == "--format" or word.startswith("--format="):
            form = word[9:] if "=" in word else next(rest, None)
            given.append(None)
        elif not keeps and (word.startswith(("-o", "--output=")) or word == "--output"):
            output = next(rest, None) if word in ("-o", "--output") else word.partition("=")[2] if word[1] == "-" else word[2:]
        else:
            given.append(word)
    if form != "parquet":
        return None
    return ["--format=arrows" if word is None else word for word in given], None if output in (None, "-") else output


def _check(output):
    if output is None:
        if sys.stdout.isatty():
            raise Refusal("--format parquet is no text: give a file with -o, or a pipe")
    elif os.path.exists(output) and os.path.isfile(output) and os.path.getsize(output):
        with open(output, "rb") as file:
            if file.read(4) != MARK:
                raise Refusal("%s: is there and no Parquet file; give another name" % output)


def run(program, words, output):
    """Runs the program and writes its table as Parquet; the exit code is the program's."""
    pyarrow = _pyarrow()
    _check(output)
    part = None if output is None else "%s.%d.part" % (output, os.getpid())
    process = subprocess.Popen([program, *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        first = process.stdout.read(1)
        if not first:  # it has said why
            return process.wait()
        source = io.BufferedReader(_Joined(first, process.stdout))
        if part is None:
            write_stream(source, _Counted(sys.stdout.buffer))
            sys.stdout.buffer.flush()
        else:
            with open(part, "wb") as sink:
                write_stream(source, sink)
                sink.flush()
                os.fsync(sink.fileno())
        code = process.wait()
        if part is not None and output is not None and code in (0, 1, 4):
            os.replace(part, output)
        return code
    except pyarrow.ArrowInvalid:  # the stream broke off
        code = process.wait()
        if code == 0:
            raise
        return code if code > 0 else 128 - code
    finally:
        process.kill()
        process.wait()
        if part is not None and os.path.exists(part):
            os.unlink(part)


class _Joined(io.RawIOBase):
    """A byte that was read already, and the rest."""

    def __init__(self, first, rest):
        self._first, self._rest = first, rest

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._first or self._rest.read(len(buffer))
        self._first = b""
        buffer[:len(data)] = data
        return len(data)


def main(program, words, output):
    """The command's exit code."""
    try:
        return run(program, words, output)
    except Refusal as refusal:
        print("rankscope: %s" % refusal, file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print("rankscope: cannot write %s: %s" % (output or "standard output", error.strerror or error), file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
