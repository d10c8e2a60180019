"""Sections of bench/RESULTS.md: a heading, some lines, and a table of values with their targets."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "RESULTS.md"


class Section:
    def __init__(self, title, measure="value"):
        self.heading = "## %s\n" % title
        self.rows = ["| what | against | %s | target | |" % measure, "| --- | --- | ---: | ---: | --- |"]

    def row(self, what, against, value, target=None, form="%.2f", least=False):
        """Adds a line. least: the target is the smallest value that meets it."""
        met = "" if target is None else "met" if (value >= target if least else value <= target) else "**missed**"
        aim = "" if target is None else ("≥ " if least else "≤ ") + form % target
        self.rows.append(("| %s | %s | " + form + " | %s | %s |") % (what, against, value, aim, met))

    def write(self, lines, more=()):
        """Puts the section in the place of the one of its title, or at the end; other sections stay."""
        text = [self.heading, *lines, "", *self.rows, *more]
        before, _, behind = (RESULTS.read_text() if RESULTS.exists() else "# Measured").partition(self.heading)
        behind = behind.partition("\n## ")
        RESULTS.write_text(before.rstrip("\n") + "\n\n" + "\n".join(text) + "\n" + "".join(behind[1:]))
        print("\n".join([*self.rows[2:], *more]))
