"""Waiting for a run: Ctrl-C, progress, threads."""
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import rankscope as rs

EVENT = b'{"ph":"X","ts":%d,"dur":1,"name":"k%d","cat":"kernel","pid":0,"tid":7,"args":{"stream":7,"correlation":%d}}'


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A trace that takes seconds."""
    path = tmp_path_factory.mktemp("long") / "long.json"
    block = b",\n".join(EVENT % (i, i % 50, i) for i in range(20000))
    with open(path, "wb") as file:
        file.write(b'{"traceEvents":[\n')
        for _ in range(100):
            file.write(block + b",\n")
        file.write(block + b"]}")
    return path


INTERRUPTED = """
import os, signal, threading
import rankscope as rs
job = rs.open(%s, jobs=1, keep=False)
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        job.breakdown()
except KeyboardInterrupt:
    print(len(job.breakdown()))  # the job is as good as before
"""

# A pipe into which nobody writes: its reader waits for ever, and may not make Python wait.
STUCK = """
import rankscope as rs
print("go", flush=True)
try:
    rs.open(%r).breakdown()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("source", ["path", "bytes"])
def test_interrupt(long, source):
    given = repr(str(long)) if source == "path" else "open(%r, 'rb').read()" % str(long)
    done = subprocess.run([sys.executable, "-c", INTERRUPTED % given], stdout=subprocess.PIPE, timeout=120, check=True)
    assert done.stdout == b"1\n"


def test_interrupt_of_what_never_ends(tmp_path):
    """Ctrl-C comes through at once, and nobody waits for the run that was left, not even the interpreter's end."""
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # so that opening it does not wait
    try:
        child = subprocess.Popen([sys.executable, "-c", STUCK % str(tmp_path / "pipe")], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"go\n"
        time.sleep(0.3)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == b"interrupted\n"
        assert time.monotonic() - begin < 10 and child.returncode == 0
    finally:
        os.close(writer)


def test_other_threads_go_on(long):
    """The engine holds no lock of the interpreter while it works."""
    done, turns = threading.Event(), 0
    worker = threading.Thread(target=lambda: (rs.open(long, jobs=1).breakdown(), done.set()))
    worker.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    worker.join()
    assert turns > 10


def test_one_job_in_several_threads(synthesised):
    job = rs.open(synthesised)
    wanted = {name: job.run(name).table.json() for name in ("breakdown", "kernels", "idle")}
    answers = []

    def ask(name):
        for _ in range(5):
            answers.append(job.run(name).table.json() == wanted[name])

    threads = [threading.Thread(target=ask, args=(name,)) for name in wanted for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 30 and all(answers)


def test_progress_is_called(long):
    seen = []
    rs.open(long, jobs=1).breakdown(progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1] == os.path.getsize(long)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_progress_stops(long):
    job = rs.open(long, jobs=1, progress=lambda done, total: False)
    with pytest.raises(rs.Cancelled):
        job.breakdown()
    assert len(job.breakdown(progress=False)) == 1

    def fail(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rs.open(long, jobs=1).breakdown(progress=fail)
    with pytest.raises(TypeError):
        job.breakdown(progress=3)


class Stream:
    def __init__(self, terminal):
        self.terminal, self.text = terminal, ""

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_line(monkeypatch):
    from rankscope import _progress
    monkeypatch.setattr(_progress, "_has_tqdm", lambda: False)
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    for terminal, wanted in ((True, "auto"), (False, True)):
        stream = Stream(terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        with _progress.progress(wanted, "reading") as call:
            call(1, 100)
            assert stream.text == ""  # not within the first second
            clock[0] += 2
            call(50 << 20, 100 << 20)
            assert "reading: 50 MiB of 100 MiB (50%)" in stream.text
        assert stream.text.endswith("\r")  # wiped
    monkeypatch.setattr(sys, "stderr", Stream(False))
    for wanted in "auto", False, None:
        with _progress.progress(wanted, "reading") as call:
            assert call is None


def test_line_of_files(monkeypatch):
    from rankscope import _progress
    clock = [0.0]
    monkeypatch.setattr(_progress, "_has_tqdm", lambda: False)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", Stream(True))
    with _progress.progress("auto", "reading", "files") as call:
        clock[0] += 2
        call(1024, 4096)
    assert "reading: 1024 files of 4096 files (25%)" in sys.stderr.text


def test_bar(monkeypatch):
    """tqdm's bar where it is installed: made after a second, wiped at the end."""
    pytest.importorskip("tqdm")
    from rankscope import _progress
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with _progress.progress("auto", "reading") as call:
        call(1, 100)
        assert stream.text == ""
        clock[0] += 2
        call(50 << 20, 100 << 20)
        assert "reading:  50%" in stream.text and "50.0M/100M" in stream.text
        clock[0] += 2
        call(100 << 20, 100 << 20)
        assert "100M/100M" in stream.text
    assert stream.text.rsplit("100M/100M", 1)[1].endswith("\r")


def test_two_comparisons_do_not_wait_for_each_other(small):
    a, b = rs.open(small), rs.open(small)
    wanted = rs.diff(a, b).json()
    answers = []
    threads = [threading.Thread(target=lambda x=x, y=y: answers.extend(rs.diff(x, y).json() == wanted for _ in range(10)))
               for x, y in ((a, b), (b, a), (a, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [True] * 30
