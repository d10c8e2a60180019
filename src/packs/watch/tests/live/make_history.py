"""A history of weeks, written in the documented form (docs/watch.md): make_history.py BIN FILE RANKS WINDOWS SECONDS [SLOW FROM TO]

A window every SECONDS. Steps take 100 ms, own work 60 ms, both with noise of 1 %; the rank SLOW needs half as long again in the windows
FROM to TO - 1.
"""
import array
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

START_NS = 1_750_000_000 * 10**9


def main():
    program, path, ranks, windows, seconds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    slow, begin, end = map(int, sys.argv[6:9]) if len(sys.argv) > 6 else (-1, 0, 0)
    with tempfile.TemporaryDirectory() as empty:  # the program makes the tables
        subprocess.run([program, "watch", empty, "--history", path, "--once", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    rng, database = random.Random(1), sqlite3.connect(path)
    noise = [rng.gauss(1, 0.01) for _ in range(4 * ranks + 4096)]
    for window in range(windows):
        job = rng.gauss(1, 0.01)
        at = rng.randrange(4096)
        own = array.array("f", [60e3 * noise[at + r] for r in range(ranks)])
        if begin <= window < end:
            own[slow] *= 1.5
        step = array.array("f", [100e3 * job + max(0, max(own) - 70e3)] * ranks)
        start = START_NS + window * seconds * 10**9
        database.execute("INSERT INTO window VALUES (?, ?, ?, ?, ?, ?)", (window + 1, start, start + 300 * 10**6, 10 * window, ranks, struct.pack("<II", 0, ranks)))
        database.executemany("INSERT INTO rank_value VALUES (?, ?, ?)", [(window + 1, 0, step.tobytes()), (window + 1, 1, own.tobytes())])
    database.commit()


main()
