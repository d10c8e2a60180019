#!/usr/bin/env python3
"""Which rows the build collects into a registry (cmake/rows.cmake), and what it refuses to leave out."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = """cmake_minimum_required(VERSION 3.25)
project(rows NONE)
include(%s/cmake/rows.cmake)
rs_collect_rows(ROWS rs_analysis rs_analysis room%s)
message(STATUS "${RS_ROWS_NAMES}: ${RS_ROWS_DECLARATIONS}${RS_ROWS_ENTRIES}")
"""
passed = failed = 0


def collect(first="", **files):
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder, "src", "room")
        room.mkdir(parents=True)
        for name, text in files.items():
            (room / (name + ".c")).write_text(text)
        pathlib.Path(folder, "CMakeLists.txt").write_text(SCRIPT % (ROOT, first))
        done = subprocess.run(["cmake", "-S", folder, "-B", folder + "/build"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, " ".join(done.stdout.decode().split())


def check(what, good, text=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED: %s\n%s" % (what, text))


code, text = collect(p2p="/* const rs_analysis rs_analysis_old = { */\nconst rs_analysis rs_analysis_p2p = {\n    .name = \"p2p\"};\n",
                     a="static int x;\nconst rs_analysis rs_analysis_a_b = {0};\nextern const rs_analysis rs_analysis_c;\n",
                     part="void f(const rs_analysis *a);\n")
check("a row with a digit, in the order of files", code == 0 and text.startswith(
    "-- a_b|p2p: extern const rs_analysis rs_analysis_a_b; extern const rs_analysis rs_analysis_p2p; "
    "&rs_analysis_a_b, &rs_analysis_p2p, --"), text)
code, text = collect(" FIRST b", a="const rs_analysis rs_analysis_a = {0};\n", b="const rs_analysis rs_analysis_b = {0};\n")
check("the first one leads", code == 0 and text.startswith("-- b|a: ") and "&rs_analysis_b, &rs_analysis_a," in text, text)
for wrong in ("const  rs_analysis rs_analysis_x = {", "const rs_analysis rs_analysis_X = {", "static const rs_analysis rs_analysis_x = {",
              "const struct rs_analysis rs_analysis_x = {", "const rs_analysis\trs_analysis_x = {", "rs_analysis rs_analysis_x = {",
              "const rs_analysis rs_analysis_x[] = {"):
    code, text = collect(good="const rs_analysis rs_analysis_a = {0};\n", wrong=wrong + "0};\n")
    check("refused: " + wrong, code != 0 and "is no row that the build collects" in text and "wrong.c" in text, text)
code, text = collect(" OPTIONAL", empty="int x;\n")
check("no rows where there may be none", code == 0 and text.startswith("-- : --"), text)
code, text = collect(empty="int x;\n")
check("no rows at all", code != 0 and "no row of rs_analysis" in text, text)
print("%d passed, %d failed" % (passed, failed))
sys.exit(1 if failed else 0)
