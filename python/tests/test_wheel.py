"""What an installed wheel has; ./dev wheel runs it. A build tree has none."""

import importlib.metadata
import re

import pytest

import warploom as wl

try:
    FILES = [str(file) for file in importlib.metadata.files("warploom") or []]
except importlib.metadata.PackageNotFoundError:
    FILES = []
pytestmark = pytest.mark.skipif(not any("warploom.libs" in file for file in FILES), reason="no repaired wheel is installed")


def test_each_grafted_library_has_its_licence():
    libraries = {re.match(r"warploom\.libs/(\w+?)\d*-[0-9a-f]{8}\.so", file)[1] for file in FILES if file.startswith("warploom.libs/")}
    assert {"libgmp", "libisl"} <= libraries
    licences = [file for file in FILES if "/licenses/grafted/" in file]
    for library in libraries:
        assert any(f"/grafted/{library}" in file for file in licences), library
    texts = importlib.metadata.metadata("warploom").get_all("License-File")
    assert any(text.endswith("LGPL-3") for text in texts) and any(text.endswith("GPL-3") for text in texts)
    assert {file.split("/licenses/")[1] for file in licences} <= set(texts)


def test_the_version_is_the_distributions():
    assert importlib.metadata.version("warploom") == wl.__version__


def test_module_and_tool_share_their_code():
    """Kernels would lie in a wheel twice."""
    sizes = {str(file): file.size for file in importlib.metadata.files("warploom") if file.size}
    library = sizes["warploom/libwarploom.so"]
    for name, size in sizes.items():
        if name.endswith("/_core.abi3.so") or name.endswith("scripts/warploom"):
            assert size < library / 4, name
