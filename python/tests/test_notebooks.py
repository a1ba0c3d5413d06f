"""docs/notebooks: each runs from start to end, with what it asserts itself."""

import os
import pathlib
import re

import pytest
from matplotlib import pyplot

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.M | re.S)


def test_there_are_seven():
    assert len(NOTEBOOKS) == 7


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(notebook, tmp_path, monkeypatch):
    cells = CELL.findall(notebook.read_text())
    assert len(cells) > 4 and any("assert " in cell for cell in cells)
    tool = os.environ.get("WARPLOOM_TOOL")
    if tool:
        monkeypatch.setenv("PATH", str(pathlib.Path(tool).parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("agg")
    names = {"__name__": "__main__"}
    for cell in cells:
        exec(compile(cell, str(notebook), "exec"), names)
    pyplot.close("all")
    assert not list(tmp_path.iterdir())  # data lie in temporary folders
