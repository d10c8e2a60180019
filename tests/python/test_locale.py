"""Under a locale that writes numbers with a comma the package answers as ever."""
import os
import subprocess
import sys

import pytest

SCRIPT = """
import locale, sys
if sys.argv[2] == "comma":
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    assert locale.localeconv()["decimal_point"] == ","
import rankscope as rs
with rs.open(sys.argv[1]) as job:
    for name in "kernels", "annotations", "breakdown", "summary", "doctor", "idle":
        answer = getattr(job, name)()
        for table in getattr(answer, "tables", {"": answer}).values():
            print(table, list(table))
    print(rs.diff(job, job, table="diff", fail_on="time_a_us > 1000.5, time_b_us < 1e9"))
"""


@pytest.fixture(scope="session")
def locales(tmp_path_factory):
    """A folder with de_DE.UTF-8, made from the system's sources."""
    folder = tmp_path_factory.mktemp("locales")
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no localedef, or no sources of locales (Debian's package locales)")
    return folder


def answers(small, kind, **environment):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(small), kind], env=dict(os.environ, **environment),
                          capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_same_answers(small, locales):
    plain = answers(small, "plain")
    assert b"%" in plain
    assert answers(small, "comma", LOCPATH=str(locales)) == plain
