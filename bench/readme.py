#!/usr/bin/env python3
"""The table of speeds in README.md, from bench/RESULTS.md: bench/readme.py [--check]

bench/run calls it after its last section. --check writes nothing and fails when README does not say what RESULTS says.
"""
import re
import sys

from results import RESULTS, ROOT

README = ROOT / "README.md"
BEGIN, END = "<!-- speeds: made by bench/readme.py -->\n", "<!-- end of speeds -->\n"
# What, against what, and the rows of RESULTS.md whose values are shown: section (empty: the first), first column, second column or None.
ROWS = (
    ("all events and arguments into columns, one thread; two", "simdjson on-demand walking the same text again, its index in place, reading only `ts` of each event",
     (("", "all arguments, 1 thread", None), ("", "all arguments, 2 threads", None))),
    ("plain file, two threads; `.json.gz`, two threads", "the plain file, one thread", (("", "plain file, 2 threads", None), ("", ".json.gz, 2 threads", "plain file, 1 thread"))),
    ("peak memory, all arguments; `breakdown`", "the text", (("", "peak memory, all arguments, file, 1 thread", None), ("", "peak memory, breakdown", None))),
    ("`breakdown`; `kernels`; `doctor`; `summary`", "its load", tuple(("", name + ", without load and links", None) for name in ("breakdown", "kernels", "doctor", "summary"))),
    ("ten analyses in one process, the critical path among them", "one load", (("", "ten HTA analyses in one process, without load and links", None),)),
    ("Python: `rs.open` and these ten", "the same in one C process", (("", "Python: rs.open and the ten HTA analyses", None),)),
    ("a question that was not asked before, of what `store build` kept: the median of 24", "without the store", (("Store", "not asked before: the median of 24 commands", None),)),
    ("one replay of a job", "loading it", (("Engine", "one replay", "loading them"),)),
    ("allocator snapshots: all tables of `memory`", "`pickle.load` of the same file", (("Memory", "`memory`: all tables but timeline", None),)),
    ("`chakra build`: link and convert", "loading both inputs", (("Chakra", "build: link and convert", None),)),
)


def values(text):
    """{section: [(what, against, value)]}"""
    found, section = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) >= 3:
            found.setdefault(section, []).append(cells[:3])
    return found


def value(found, section, what, against):
    for row in found.get(section, ()):
        if row[0] == what and against in (None, row[1]):
            return row[2]
    sys.exit("bench/readme.py: RESULTS.md has no row %r in its section %r" % (what, section))


def main():
    found = values(RESULTS.read_text())
    lines = ["| what | against, in the same run | ratio |", "| --- | --- | ---: |"]
    lines += ["| %s | %s | %s |" % (what, against, "; ".join(value(found, *row) for row in rows)) for what, against, rows in ROWS]
    silent = re.findall(r"^\* missed, (.*): None\.$", RESULTS.read_text(), re.M)
    if silent or RESULTS.read_text().count("**missed**") != RESULTS.read_text().count("\n* missed, "):
        sys.exit("bench/RESULTS.md has a target that is missed without a sentence why (bench/results.py: WHY): %s" % "; ".join(silent))
    machine = re.search(r"^\* machine: (.*)$", RESULTS.read_text(), re.M)[1]
    lines += ["", "Measured on: %s. `make bench` repeats it on yours." % machine]
    text = README.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit("bench/readme.py: README.md has no place for its speeds: %r, %r" % (BEGIN, END))
    made = before + BEGIN + "\n".join(lines) + "\n" + END + after
    if "--check" not in sys.argv:
        README.write_text(made)
    elif made != text:
        sys.exit("README.md does not say what bench/RESULTS.md says: run bench/readme.py")


main()
