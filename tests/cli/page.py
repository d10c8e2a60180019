"""Runs what a page of docs shows: python3 page.py PAGE.md

Each line of a block ```sh is run and its exit code told. A block without a language that begins with a command of
rankscope shows that command's output: the command is run, and each line of the block has to stand in what it printed.
White space and lines without text are not compared, as columns are as wide as all of their rows.
"""
import os
import re
import subprocess
import sys

os.environ["COLUMNS"] = "250"  # the tables of a page are as wide as they want


def run(line):
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True)


def plain(text):
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", open(sys.argv[1], encoding="utf-8").read(), re.M | re.S):
    lines = block.splitlines()
    if language == "sh":
        for line in lines:
            done = run(line)
            print("$ %s\nexit code %d" % (line, done.returncode))
            if done.returncode not in (0, 1):
                print(done.stderr, end="")
    elif not language and lines[0].startswith("rankscope "):
        got = plain(run(lines[0]).stdout)
        missing = [line for line in plain(block)[1:] if line and line not in got]
        print("$ %s\n%s" % (lines[0], "as on the page" if not missing else "not as on the page: " + missing[0]))
