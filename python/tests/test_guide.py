"""docs/guide/python.md: its programs run in order, print what it shows, and are well typed."""

import contextlib
import io
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "python.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the guide is not beside the tests")
BLOCK = re.compile(r"(<!-- needs: (?P<needs>.*?) -->\n)?```python\n(?P<code>.*?)```\n(```text\n(?P<shown>.*?)```)?", re.S)
MODULES = {"scikit-learn": "sklearn"}


def blocks():
    return list(BLOCK.finditer(PAGE.read_text()))


def test_programs_print_what_is_shown():
    names = {}
    assert len(blocks()) > 3
    for block in blocks():
        if block["needs"]:
            try:
                __import__(MODULES[block["needs"]])
            except (KeyError, ImportError):
                continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            exec(block["code"], names)
        if block["shown"]:
            assert printed.getvalue() == block["shown"], block["code"]


def test_programs_and_package_are_well_typed(tmp_path):
    pytest.importorskip("mypy")
    import warploom

    program = tmp_path / "guide.py"
    program.write_text("\n".join(block["code"] for block in blocks() if not block["needs"]))
    package = pathlib.Path(warploom.__file__).parent
    # Where an installed package is, mypy knows, and refuses to be told.
    place, path = (tmp_path, {}) if package.parent.name == "site-packages" else (package.parent, {"MYPYPATH": str(package.parent)})
    for checked in ([str(program)], ["-p", "warploom"]):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *checked],
            capture_output=True, text=True, cwd=place, env=path if checked[0] != "-p" else None,
        )
        assert done.returncode == 0, done.stdout + done.stderr
