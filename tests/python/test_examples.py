"""The notebooks run from top to bottom, and have been run as they stand."""
import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    stored = [len(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(notebook, timeout=120, coalesce_streams=True, kernel_name="python3", resources={"metadata": {"path": EXAMPLES}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert [len(cell.outputs) for cell in cells] == stored
    for cell in cells:
        assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in cell.outputs)


def test_there_is_a_notebook():
    assert (EXAMPLES / "quickstart.ipynb").exists()
