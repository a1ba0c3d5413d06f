import pathlib

import pytest

import warploom as wl

NESTS = pathlib.Path(__file__).parents[2] / "examples" / "tile" / "lecture"
pytestmark = pytest.mark.skipif(not NESTS.exists(), reason="the examples are not beside the tests")


def test_explains_as_the_tool_does(tool):
    path = NESTS / "matmul.c"
    told = tool("tile", path, "--json")["nests"]
    found = wl.tile.explain(path.read_text(), file=str(path))
    assert len(found) == len(told)
    for ours, theirs in zip(found, told):
        theirs.pop("gpu")
        assert ours.report == theirs
        assert ours.function == "matmul" and "Orders of loops" in ours.text


def test_c_and_cuda_are_the_tools(tool):
    path = NESTS / "not_permutable.c"
    source, steps = path.read_text(), [wl.tile.skew("j", 1, "i"), wl.tile.tile(i=2, j=2)]
    assert wl.tile.c(source, steps, file=str(path)) == tool("tile", path, "--skew", "j=1*i", "--tile", "i=2,j=2", "--c", "-")
    matmul = NESTS / "matmul.c"
    assert wl.tile.cuda(matmul.read_text(), file=str(matmul)) == tool("tile", matmul, "--cuda", "-")


def test_an_illegal_step_is_refused_with_its_iterations():
    source = (NESTS / "not_permutable.c").read_text()
    with pytest.raises(ValueError, match="before"):
        wl.tile.c(source, [wl.tile.permute("j", "i")])
    with pytest.raises(ValueError, match="skew"):
        wl.tile.c(source, [("skew", ["j"], [])])
    with pytest.raises(ValueError, match="<c>:1"):
        wl.tile.explain("void f(int n { }")
