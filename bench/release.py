#!/usr/bin/env python3
"""Size and start of the static program of a release (scripts/build-static), a section of bench/RESULTS.md.

The program is unpacked from dist/, where it is built for x86_64 if it is not there.
"""
import pathlib
import resource
import statistics
import subprocess
import tarfile

from results import ROOT, Section

RUNS, STARTS = 5, 100


def starts(*words):
    """Processor time of one start, in ms."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(STARTS):
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime) * 1e3 / STARTS


def main():
    packed = sorted((ROOT / "dist").glob("rankscope-*-linux-x86_64.tar.gz"))
    if not packed:
        subprocess.run([ROOT / "scripts" / "build-static", "x86_64"], check=True)
        packed = sorted((ROOT / "dist").glob("rankscope-*-linux-x86_64.tar.gz"))
    folder = ROOT / "bench" / "data" / "static"
    with tarfile.open(packed[-1]) as archive:
        for member in archive.getmembers():
            if member.isfile() and member.name.endswith(("/rankscope", "/rankscope-synth")):
                member.name = pathlib.Path(member.name).name
                archive.extract(member, folder)
    linked = next(path for path in (ROOT / "build-bench" / "rankscope", ROOT / "build" / "rankscope") if path.exists())
    samples = {name: [] for name in ("static", "linked", "true")}
    for _ in range(RUNS):
        for name, words in (("static", (folder / "rankscope", "--version")), ("linked", (linked, "--version")), ("true", ("/bin/true",))):
            samples[name].append(starts(*words))
    middle = {name: statistics.median(values) for name, values in samples.items()}
    section = Section("The static program", "value")
    section.row("archive for x86_64", "MB", packed[-1].stat().st_size / 1e6)
    section.row("program", "MB", (folder / "rankscope").stat().st_size / 1e6)
    section.row("start, processor time", "the linked program", middle["static"] / middle["linked"], 1.0)
    section.row("start, processor time", "/bin/true", middle["static"] / middle["true"])
    section.write(["Written by `bench/release.py`: what `scripts/build-static` made; `--version` is asked %d times, medians of %d." % (STARTS, RUNS)])


main()
