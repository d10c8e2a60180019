#!/usr/bin/env python3
"""`make` without packages: it says which command installs them, and what it leaves does not prevent the next."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
passed = failed = 0


def run(words, **environment):
    # the compiler cache of this build is not the user's
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})
    return done.returncode, done.stdout.decode("utf-8", "replace")


def check(what, good, text=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED: %s\n%s" % (what, text))


with tempfile.TemporaryDirectory() as folder:
    build = pathlib.Path(folder, "build")
    configure = ["make", "--no-print-directory", "BUILD=%s" % build, "configure"]
    code, text = run(configure, PKG_CONFIG="/bin/false")
    check("without packages it fails and names the command", code != 0 and "scripts/install-deps build" in text, text)
    check("all that is missing is named at once", all(name in text for name in ("libisal", "libzstd", "sqlite3", "smartcols")), text)
    check("it leaves no cache", not (build / "CMakeCache.txt").exists())
    code, text = run(["cmake", "-S", ".", "-B", build], PKG_CONFIG="/bin/false")
    check("CMake by hand names the command, too", code != 0 and "scripts/install-deps build" in text, text)
    check("... and leaves a cache without build files",
          (build / "CMakeCache.txt").exists() and not (build / "build.ninja").exists() and not (build / "Makefile").exists())
    code, text = run(configure)
    check("with packages the next one configures", code == 0, text)
    check("... and there is something to build", (build / "build.ninja").exists() or (build / "Makefile").exists(), text)
    before = sorted(build.iterdir())
    code, text = run(configure, PKG_CONFIG="/bin/false")
    check("what is configured stays", code == 0 and not text and before == sorted(build.iterdir()), text)
print("%d passed, %d failed" % (passed, failed))
sys.exit(1 if failed else 0)
