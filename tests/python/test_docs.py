"""The examples of the pages run, one after the other of a page, in a folder where their names stand for small jobs."""
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import pytest

import rankscope as rs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What takes a training job, a cluster, a store in the network, or HTA's own objects.
ELSEWHERE = re.compile(r"Recorder|torch|s3://|gs://|/shared/|executor=executor|hf://")


@pytest.fixture(scope="module")
def place(synthesised, tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    maker = os.environ.get("RANKSCOPE_SYNTH", str(ROOT / "build" / "rankscope-synth"))
    synthesised = folder / "one"
    subprocess.run([maker, "--out", synthesised, "--layers", "2", "--first-step", "1", "--steps", "4", "--no-truth"], check=True,
                   stdout=subprocess.DEVNULL)
    for name in "traces", "base", "new", "before", "after", "old":
        shutil.copytree(synthesised, folder / name)
    for night in range(6):
        shutil.copytree(synthesised, folder / "nightly" / ("night%d" % night))
    return folder


def blocks(page):
    return [block for block in BLOCK.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_python_blocks(page, place, monkeypatch):
    for name in "pandas", "polars", "plotly":
        pytest.importorskip(name)
    monkeypatch.chdir(place)
    names = {"__name__": "docs", "pyarrow": pytest.importorskip("pyarrow")}
    ran = 0
    for block in blocks(page):
        code = compile(block, page.name, "exec")  # in any case it is Python
        if ELSEWHERE.search(block):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rs.InputWarning)
            if "ProcessPoolExecutor" in block:  # a program of its own: its processes import it again
                script = place / "program.py"
                script.write_text("import rankscope as rs\nif __name__ == '__main__':\n" + re.sub("^", "    ", block, flags=re.MULTILINE))
                subprocess.run([sys.executable, str(script)], check=True, cwd=place, stdout=subprocess.DEVNULL)
            else:
                exec(code, names)
        ran += 1
    assert ran or ELSEWHERE.search(blocks(page)[0])


def test_links():
    """No page links to what is not there."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        heads = {}
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
            if re.match(r"[a-z]+://|mailto:", target):
                continue
            name, _, mark = target.partition("#")
            path = (page.parent / name) if name else page
            assert path.exists(), "%s links to %s" % (page.name, target)
            if mark and path.suffix == ".md":
                if path not in heads:
                    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
                    heads[path] = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
                assert mark in heads[path], "%s links to %s" % (page.name, target)


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "gallery").glob("*.ipynb")), ids=lambda path: path.stem)
def test_gallery(path, monkeypatch):
    """A notebook's cells one after the other, without a kernel: the last line of each is what it shows."""
    for name in "pandas", "plotly":
        pytest.importorskip(name)
    monkeypatch.chdir(path.parent)
    names = {"__name__": "gallery"}
    shown = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"]  # scripts/docs fills them
        tree = ast.parse("".join(cell["source"]))
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        value = eval(compile(last, path.name, "eval"), names) if last else None
        html = getattr(value, "_repr_html_", None)
        shown += bool(html() if html else value)
    assert shown >= 2


def test_gallery_is_told():
    """Each notebook stands in the index."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples" / "gallery").glob("*.ipynb"):
        assert "examples/gallery/%s" % path.name in index
