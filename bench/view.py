#!/usr/bin/env python3
"""How quickly the explorer opens a job and answers: bench/view.py BUILD [FOLDER]

Two jobs are synthesised in FOLDER (a temporary one): 64 ranks of 16 MB and 4096 of some 0.3 MB. Measured against
`breakdown` of the same job on this machine: the time until the first map and that of all ranks are there, without a store and with one; every zoom of the
map and of a rank's lanes (95th percentile); the peak of memory. The section of bench/RESULTS.md is replaced. --small: a quick look at
small jobs, nothing is written.
"""
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import results

words = [word for word in sys.argv[1:] if not word.startswith("-")]
SMALL = "--small" in sys.argv
BUILD = pathlib.Path(words[0] if words else "build").resolve()
BIN, SYNTH = str(BUILD / "rankscope"), str(BUILD / "rankscope-synth")
JOBS = [("8 ranks of 2 MB", ["--dp", "8", "--tp", "1", "--size", "2M"])] if SMALL else [
    ("64 ranks of 16 MB", ["--dp", "16", "--tp", "4", "--size", "16M"]),
    ("4096 ranks of 0.3 MB", ["--dp", "4096", "--tp", "1", "--layers", "1", "--micro-batches", "1", "--steps", "2"]),
]


def timed(*command):
    """Seconds and peak bytes of a process: the best of three, after one that fills the file cache."""
    best = None
    for i in range(4):
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        if i and (best is None or seconds < best[0]):
            best = seconds, usage.ru_maxrss * 1024
    return best


class Server:
    def __init__(self, *more):
        start = time.monotonic()
        self.process = subprocess.Popen([BIN, "view", "--no-open", "--no-progress", "--port", "0", *more], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        parts = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.link, self.path = http.client.HTTPConnection("127.0.0.1", parts.port), parts.path
        self.wait("usable")
        self.get("map?width=1700&rows=800&shares=1")
        self.first = time.monotonic() - start
        self.wait("complete")
        self.get("map?width=1700&rows=800&shares=1")
        self.whole = time.monotonic() - start

    def wait(self, what):
        while not json.loads(self.get("progress")[1])[what]:
            time.sleep(0.005)

    def get(self, path):
        start = time.monotonic()
        self.link.request("GET", self.path + "api/" + path)
        answer = self.link.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[:200])
        return time.monotonic() - start, body

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(self.process.pid, 0)
        return usage.ru_maxrss * 1024


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def zooms(server, last, n):
    """p95 in ms of the map and of the lanes of some ranks, at windows of any width."""
    chance, maps, lanes = random.Random(1), [], []
    for i in range(60):
        span = max(2000, int(last * 10 ** chance.uniform(-5, 0)))
        start = chance.randrange(max(1, last - span))
        part = "from=%d&to=%d" % (start, start + span)
        maps.append(server.get("map?width=%d&rows=800&shares=1&" % (1700 if n < 300 else 850) + part)[0])
        rank = chance.choice((0, n // 2, n - 1))
        if i < 3:
            server.get("lanes?rank=%d" % (0, n // 2, n - 1)[i])  # read it
        lanes.append(server.get("lanes?rank=%d&width=850&%s" % (rank, part))[0])
    return percentile(maps, 0.95) * 1e3, percentile(lanes[3:], 0.95) * 1e3


def measure(section, name, options, folder):
    job, store = os.path.join(folder, name.replace(" ", "-")), os.path.join(folder, "store")
    subprocess.run([SYNTH, "--out", job, "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)
    n = len(list(pathlib.Path(job).glob("rank*")))
    seconds, peak = timed(BIN, "breakdown", "--no-store", "--no-verdict", job)
    server = Server("--no-store", job)
    last = json.loads(server.get("job")[1])["last_ns"]
    opened = server.get("lanes?rank=1")[0] * 1e3
    maps, lanes = zooms(server, last, n)
    against = "`breakdown`, %.2f s" % seconds
    memory = server.end()
    servers = [server]
    for _ in range(2):
        servers.append(Server("--no-store", job))
        servers[-1].end()
    section.row("%s: first map (of some ranks, where the job is large)" % name, against, min(s.first for s in servers) / seconds, 1.2)
    section.row("%s: map of all ranks" % name, against, min(s.whole for s in servers) / seconds)
    for _ in range(2):
        stored = Server("--store", store, job)
        stored.end()
    section.row("%s: first map with the store" % name, "s", stored.whole, 0.3)
    section.row("%s: any map that the page asks for, p95" % name, "ms", maps, 30, "%.1f")
    section.row("%s: a rank's lanes, p95" % name, "ms", lanes, 30, "%.1f")
    section.row("%s: a rank is opened" % name, "ms", opened, None, "%.0f")
    section.row("%s: memory of the server" % name, "`breakdown`, %d MB" % (peak >> 20), memory / peak, 1.2)


def main():
    section = results.Section("The explorer")
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-", dir=words[1] if len(words) > 1 else None) as folder:
        for name, options in JOBS:
            measure(section, name, options, folder)
    lines = ["`rankscope view` opening a job and answering its page, against `breakdown` of the same job; synthesised traces, read from the "
             "file cache."]
    if SMALL:
        print("\n".join(section.rows[2:]))
    else:
        section.write(lines)


main()
