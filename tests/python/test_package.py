"""What was installed: the program, the version, licences; what a fresh interpreter needs."""
import json
import pathlib
import subprocess
import sys

import pytest

import rankscope

FOLDER = pathlib.Path(rankscope.__file__).parent
INSTALLED = (FOLDER / "bin" / "rankscope").exists()


def test_version(program):
    text = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert text.split()[:2] == ["rankscope", rankscope.__version__]


def test_nothing_else_is_needed():
    code = ("import sys; before = set(sys.modules); import rankscope; "
            "print([name for name in sys.modules if name.split('.')[0] in ('numpy', 'pandas', 'pyarrow', 'polars', 'torch', 'fsspec')])")
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout.strip() == b"[]"


@pytest.mark.skipif(not INSTALLED, reason="not installed from a wheel")
class TestWheel:
    def test_command(self, small):
        command = pathlib.Path(sys.executable).parent / "rankscope"
        done = subprocess.run([command, "breakdown", "--format", "csv", small], stdout=subprocess.PIPE, check=True)
        assert done.stdout.decode() == rankscope.open(small).breakdown().csv()
        assert subprocess.run([command, "breakdwon"], stderr=subprocess.PIPE).returncode == 2

    def test_server_for_agents(self):
        for command in ([pathlib.Path(sys.executable).parent / "rankscope"], [sys.executable, "-m", "rankscope"]):
            said = subprocess.run([*command, "mcp", "--help"], stdout=subprocess.PIPE, check=True).stdout
            assert b"--root" in said

    def test_licences_of_what_travels(self):
        folder = FOLDER / "licenses"
        if not folder.exists():
            pytest.skip("built where Debian's documentation is not")
        assert {path.name for path in folder.iterdir()} >= {"libzstd1.txt", "libisal2.txt"}

    def test_says_that_it_cannot_draw(self, tmp_path):
        if rankscope.metrics.can_plot():
            pytest.skip("this build draws")
        from test_metrics import record
        (tmp_path / "rank_0_metrics.jsonl").write_text("".join(json.dumps(record(0, step, 12.0, 1.0)) + "\n" for step in range(9)))
        done = subprocess.run([FOLDER / "bin" / "rankscope", "metrics", "--log-dir", tmp_path, "--label", "a", "--output", tmp_path / "out"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert b"no pictures" in done.stderr and b"cairo" in done.stderr
