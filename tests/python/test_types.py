"""Types and docstrings that tools read without importing the package."""
import pathlib
import subprocess
import sys

import pytest

import rankscope

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
WRONG = {
    "rs.open('x').kernels(topp=3)": "topp",
    "rs.open('x').kernels(by='colour')": "by",
    "rs.open('x').kernels(top='a', table='no')": "table",
    "rs.open('x').kernel()": "kernel",
    "len(rs.open('x').ranks.name)": "name",
    "rs.chakra.link(3, 'b')": "link",
}


def test_stubs_are_current():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "write-stubs", "--check"], stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()


def test_marked_as_typed():
    folder = pathlib.Path(rankscope.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_job.pyi").exists()


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """What mypy found out of the standard library, for the next call."""
    return tmp_path_factory.mktemp("mypy")


def mypy(cache, *words, cwd):
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", cache, *words],
                          cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


def test_a_user_s_code(small, tmp_path, cache):
    code, text = mypy(cache, "--strict", HERE / "example_types.py", cwd=tmp_path)
    assert code == 0, text
    done = subprocess.run([sys.executable, HERE / "example_types.py", small], stdout=subprocess.PIPE, check=True)
    assert len(done.stdout.splitlines()) == 2


def test_mistakes_are_seen(tmp_path, cache):
    path = tmp_path / "wrong.py"
    path.write_text("import rankscope as rs\n" + "\n".join(WRONG) + "\n")
    code, text = mypy(cache, "--strict", path, cwd=tmp_path)
    assert code == 1
    for number, word in enumerate(WRONG.values(), 2):
        assert any("wrong.py:%d:" % number in line and word in line for line in text.splitlines()), text


def test_the_package_itself(cache):
    """No finding in the whole package. pyright finds none either; it brings Node.js along: `pyright` in the tree, by hand."""
    folder = pathlib.Path("python", "rankscope")
    if not (ROOT / folder).exists():
        pytest.skip("without the tree")
    code, text = mypy(cache, "--config-file", "pyproject.toml", folder, cwd=ROOT)
    assert code == 0, text
