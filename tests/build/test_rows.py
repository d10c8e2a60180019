#!/usr/bin/env python3
"""Which rows the build collects into a registry (cmake/rows.cmake), and what it refuses to leave out."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = """include(%s/cmake/rows.cmake)
file(GLOB files *.c)
rs_collect_rows(rs_analysis rs_analysis declarations entries ${files})
message(STATUS "${declarations}${entries}")
"""
passed = failed = 0


def collect(**files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            pathlib.Path(folder, name + ".c").write_text(text)
        script = pathlib.Path(folder, "collect.cmake")
        script.write_text(SCRIPT % ROOT)
        done = subprocess.run(["cmake", "-P", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, " ".join(done.stdout.decode().split())


def check(what, good, text=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED: %s\n%s" % (what, text))


code, text = collect(p2p="/* const rs_analysis rs_analysis_old = { */\nconst rs_analysis rs_analysis_p2p = {\n    .name = \"p2p\"};\n",
                     a="static int x;\nconst rs_analysis rs_analysis_a_b = {0};\nextern const rs_analysis rs_analysis_c;\n",
                     part="void f(const rs_analysis *a);\n")
check("a row with a digit, in the order of files", code == 0 and text ==
      "-- extern const rs_analysis rs_analysis_a_b; extern const rs_analysis rs_analysis_p2p; &rs_analysis_a_b, &rs_analysis_p2p,", text)
for wrong in ("const  rs_analysis rs_analysis_x = {", "const rs_analysis rs_analysis_X = {", "static const rs_analysis rs_analysis_x = {",
              "const struct rs_analysis rs_analysis_x = {", "const rs_analysis\trs_analysis_x = {", "rs_analysis rs_analysis_x = {",
              "const rs_analysis rs_analysis_x[] = {"):
    code, text = collect(good="const rs_analysis rs_analysis_a = {0};\n", wrong=wrong + "0};\n")
    check("refused: " + wrong, code != 0 and "is no row that the build collects" in text and "wrong.c" in text, text)
code, text = collect(empty="int x;\n")
check("no rows at all", code != 0 and "no row of rs_analysis" in text, text)
print("%d passed, %d failed" % (passed, failed))
sys.exit(1 if failed else 0)
