"""Sections of bench/RESULTS.md: a heading, some lines, and a table of values with their targets."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "RESULTS.md"

# Why a target is missed, by how the row's name begins: what is known of it, or that it is not known.
VERDICT = ("it begins with the judge's verdict, for which the job's graph is built and replayed for each question that the judge asks: "
           "in a profile of `summary` (Callgrind, 50 MB) 32 % of all instructions are the judge, 38 % the graph, 23 % the load; `--no-verdict` goes without")
WHY = {
    "all arguments, 1 thread": "a load keeps every event's numbers, names and arguments in columns, and pays for their memory; the walk reads one number an event and keeps nothing",
    "all arguments, 2 threads": "as with one thread; and what one thread reads and clears for all of them is not halved: two threads take 0.6 to 0.75 of the time of one",
    "info": "what it loads is little, so the same work is more of it",
    "peak memory, breakdown": "by less than the last figure shown",
    "doctor": "each of its checks reads all events",
    "summary": VERDICT,
    "launchers, ops, collectives": "`collectives` is one of them, and " + VERDICT,
    "Python: rs.open and the ten": "by less than two runs differ: it was 0.95 the time before, with the same code",
    "Python: import rankscope.hta": "by less than the last figure shown",
    "clocks of 1024 ranks": "a figure in seconds differs from machine to machine: it was 8.46 the time before, with the same code",
    "build: link and convert": "two files are read, and one is written that is as large as both",
    "one replay": "an edge is read from memory, and its ends lie anywhere: the bound is the memory's, and differs from machine to machine",
    "not asked before: the median": "what is left is the reading of kept columns and the question itself",
    "not asked before: the worst": "the store keeps columns and answers, no graph: the judge has to be asked again",
    "asked before: the worst": "the answer is long, and is written as text",
    "keeping what `breakdown` reads, 2 threads, time on the clock": "by a hundredth; runs differ by more",
    "keeping what `breakdown` reads, 1 thread": "columns are made narrow and written by the same thread",
    "64 ranks of 16 MB: first map": "the map holds the lanes of all ranks, `breakdown` sums alone; what each costs was not taken apart",
    "64 ranks of 16 MB: memory": "the lanes of the ranks that were looked at stay in memory",
    "4096 ranks of 0.3 MB: first map": "each of 4096 files is opened, and its store looked for: five looks at a file; the rest was not taken apart",
    "4096 ranks of 0.3 MB: any map": "a map is drawn from all ranks' lanes each time",
    "4096 ranks of 0.3 MB: memory": "the lanes of the ranks that were looked at stay in memory",
}


def why(what):
    """The sentence of a missed row; a row without one is an error, found by bench/readme.py --check."""
    return next((words for begin, words in WHY.items() if what.startswith(begin)), None)


class Table:
    """Rows of values with their targets, and under them why a target is missed."""

    def __init__(self, measure="value"):
        self.rows = ["| what | against | %s | target | |" % measure, "| --- | --- | ---: | ---: | --- |"]
        self.missed = []

    def row(self, what, against, value, target=None, form="%.2f", least=False):
        """Adds a line. least: the target is the smallest value that meets it."""
        met = "" if target is None else "met" if (value >= target if least else value <= target) else "**missed**"
        aim = "" if target is None else ("≥ " if least else "≤ ") + form % target
        self.rows.append(("| %s | %s | " + form + " | %s | %s |") % (what, against, value, aim, met))
        if "missed" in met:
            self.missed.append("* missed, %s: %s." % (what, why(what)))

    def lines(self):
        return [*self.rows, *([""] if self.missed else []), *self.missed]


class Section(Table):
    def __init__(self, title, measure="value"):
        super().__init__(measure)
        self.heading = "## %s\n" % title

    def write(self, lines, more=()):
        """Puts the section in the place of the one of its title, or at the end; other sections stay."""
        text = [self.heading, *lines, "", *self.lines(), *more]
        before, _, behind = (RESULTS.read_text() if RESULTS.exists() else "# Measured").partition(self.heading)
        behind = behind.partition("\n## ")
        RESULTS.write_text(before.rstrip("\n") + "\n\n" + "\n".join(text) + "\n" + "".join(behind[1:]))
        print("\n".join([*self.rows[2:], *more]))
