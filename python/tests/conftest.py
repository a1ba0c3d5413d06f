"""What tests share: the command line tool, whose results the package has to have, and a child process."""

import json
import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def tool():
    """Runs the tool; gives what it printed, or with --json what that says."""
    path = os.environ.get("WARPLOOM_TOOL") or shutil.which("warploom")
    assert path, "neither WARPLOOM_TOOL nor a warploom in PATH"

    def run(*arguments, stdin=None, cwd=None):
        done = subprocess.run(
            [path, *map(str, arguments)], input=stdin, capture_output=True, text=True, check=True, cwd=cwd
        )
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return run


@pytest.fixture
def python(tmp_path):
    """Runs a program in a fresh interpreter; gives what it printed."""

    def run(code, *options):
        done = subprocess.run(
            [sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
