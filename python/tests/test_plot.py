"""warploom.plot: what is drawn, read back from the axes."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import warploom as wl
from warploom import plot

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def denoised(fa, colour):
    shape = (4, 3, 2)
    return wl.Denoised(None, {"fa": np.full(shape, fa), "rgb": np.broadcast_to(np.array(colour), (*shape, 3))}, {})


def test_maps_show_a_slice_of_both_images():
    after = denoised(0.25, [1.0, 0, 0])
    after.maps["fa"][1, 2, 1] = 0.5
    axes = plot.maps(after, denoised(0.75, [0, 0, 1.0]), z=1)
    assert axes.shape == (2, 2) and [ax.get_title() for ax in axes[0]] == ["before", "denoised"]
    shown = [[ax.images[0].get_array() for ax in row] for row in axes]
    np.testing.assert_array_equal(shown[0][0], np.full((3, 4), 0.75))  # y upwards, x to the right
    assert shown[0][1][2, 1] == 0.5 and shown[0][1].sum() == 0.25 * 11 + 0.5
    np.testing.assert_array_equal(shown[1][1][0, 0], [1, 0, 0])
    np.testing.assert_array_equal(shown[1][0][0, 0], [0, 0, 1])
    with pytest.raises(ValueError, match="z: 2; the image has slices 0 to 1"):
        plot.maps(after, z=2)


def test_maps_say_which_map_is_missing():
    with pytest.raises(ValueError, match="has fa: fa and rgb are drawn"):
        plot.maps(wl.Denoised(None, {"fa": np.zeros((2, 2, 2))}, {}))


def test_matches_lie_where_they_were_found():
    rng = np.random.default_rng(1)
    walk = rng.normal(scale=0.1, size=(2, 1000))
    step = np.stack([np.sin(np.linspace(0, 6, 80)), np.cos(np.linspace(0, 9, 80))])
    for begin in (200, 700):
        walk[:, begin : begin + 80] += step
    found = wl.search(walk, step, best=2, fs=100, match="in-place")
    ax = plot.matches(found, walk, 100)
    spans = [path.get_extents() for bars in ax.collections for path in bars.get_paths()]
    assert len(spans) == 4  # two places in two channels
    for span, (match, pair) in zip(spans, [(m, p) for m in found for p in m.pairs]):
        assert span.x0 == pytest.approx(pair.offset / 100) and span.width == pytest.approx(pair.length / 100)
        row = -int(pair.channel.split()[-1]) + 1
        assert span.y0 < row < span.y1
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    assert len(ax.lines) == 2 and ax.lines[0].get_xdata()[-1] == 9.99
    assert [label.get_text() for label in ax.get_yticklabels()] == ["channel 1", "channel 2"]
    named = wl.Index(walk, 100)
    assert len(plot.matches(named.find(step, 1), named).collections) == 2
    found[0].pairs[0] = found[0].pairs[0]._replace(channel="heel")
    with pytest.raises(ValueError, match="lies in channel 'heel', and it has channel 1, channel 2"):
        plot.matches(found, walk, 100)


def test_arcs_join_the_pairs():
    fold = wl.dp.nussinov("GGGAAAUCU")
    ax = plot.arcs(fold)
    ends = [tuple(sorted((line.get_xdata()[0], line.get_xdata()[-1]))) for line in ax.lines]
    assert ends == [tuple(pair) for pair in fold.trace()] and len(ends) == fold.pairs
    assert "".join(text.get_text() for text in ax.texts) == "GGGAAAUCU"
    for line, (i, j) in zip(ax.lines, fold.trace()):
        assert line.get_ydata().max() == pytest.approx((j - i) / 2, rel=1e-2)


def test_a_structure_without_pairs_is_drawn():
    assert not plot.arcs(wl.dp.nussinov("AAAA")).lines
    folding = wl.fold("GGGGAAAACCCC")
    assert len(plot.arcs(folding.structure, "ggggaaaacccc").lines) == 4
    with pytest.raises(wl.BadInput, match="sequence: 2 letters, and the structure has 12"):
        plot.arcs(folding.structure, "GG")


def test_triangulation_draws_outline_and_diagonals():
    square = np.array([[0, 0], [2, 0], [2, 1], [0, 1.5]])
    found = wl.dp.polygon(square)
    ax = plot.triangulation(square, found)
    *diagonals, outline = (np.column_stack(line.get_data()) for line in ax.lines)
    np.testing.assert_array_equal(diagonals, square[found.diagonals])
    np.testing.assert_array_equal(outline, square[[0, 1, 2, 3, 0]])


def boxes(ax):
    """Of each array its colour and its rectangles: first line, one past the last, first byte, one past the last."""
    return [
        (to_hex(bars.get_facecolor()[0]), [tuple(p.get_extents().extents[[0, 2, 1, 3]]) for p in bars.get_paths()])
        for bars in ax.collections
    ]


def test_shared_memory_shows_lives_before_and_after(tool, tmp_path):
    tool("example", "kernel", cwd=tmp_path)
    optimized = wl.reuse.optimize((tmp_path / "kernel.ptx").read_text(), ptxas=False)
    before, after = plot.shared_memory(optimized)
    kernel = optimized.report["kernels"][0]
    assert before.get_title() == f"before: {kernel['bytes_before']:,} bytes"
    assert after.get_title() == f"after: {kernel['bytes_after']:,} bytes"
    old, new = boxes(before), boxes(after)
    assert max(box[3] for _, all in old for box in all) == kernel["bytes_before"]
    assert max(box[3] for _, all in new for box in all) == kernel["bytes_after"]
    for (colour, boxes_before), (same, boxes_after), each in zip(old, new, kernel["objects"]):
        assert colour == same
        assert [box[:2] for box in boxes_before] == [box[:2] for box in boxes_after] == [(a, b + 1) for a, b in each["live_lines"]]
        assert boxes_after[0][2:] == (each["offset"], each["offset"] + each["bytes"])
    rectangles = [box for _, all in new for box in all]  # what shares bytes is never needed at the same line
    for k, a in enumerate(rectangles):
        for b in rectangles[:k]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
    inserted = [line.get_xdata()[0] for line in after.lines]
    assert inserted == [b["at"]["ptx_line"] for b in kernel["barriers"] if b["inserted"]] and inserted
    with pytest.raises(ValueError, match="kernel: 'x' is not in the module; it has rank_keys"):
        plot.shared_memory(optimized, "x")


def test_a_kernel_that_was_left_alone_is_the_same_on_both_sides(tool, tmp_path):
    tool("example", "kernel", cwd=tmp_path)
    left = wl.reuse.optimize((tmp_path / "kernel.ptx").read_text(), ptxas=False, when="fits")
    assert left.report["kernels"][0]["verdict"] != "rewritten"
    before, after = plot.shared_memory(left)
    assert boxes(before) == boxes(after) and len(boxes(before)) == 6 and not after.lines


def test_a_kernel_that_was_not_looked_at_has_nothing_to_draw(tool, tmp_path):
    tool("example", "kernel", cwd=tmp_path)
    left = wl.reuse.optimize((tmp_path / "kernel.ptx").read_text(), ptxas=False, only=["another"])
    with pytest.raises(ValueError, match="rank_keys: no arrays to draw: "):
        plot.shared_memory(left)


def test_reuse_names_the_kind_by_reference_and_loop():
    nest = """void product(float C[restrict 64][64], const float A[restrict 64][64], const float B[restrict 64][64]) {
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++)
      for (int k = 0; k < 64; k++)
        C[i][j] += A[i][k] * B[k][j];
}"""
    ax = plot.reuse(wl.tile.explain(nest)[0])
    rows, columns = ([label.get_text() for label in labels] for labels in (ax.get_yticklabels(), ax.get_xticklabels()))
    assert columns == ["i", "j", "k"] and sorted(rows) == ["S0  A[i][k]", "S0  B[k][j]", "S0  C[i][j]"]
    said = {rows[round(t.get_position()[1])] + " " + columns[round(t.get_position()[0])]: t.get_text() for t in ax.texts}
    assert said == {  # by hand: what does not depend on a loop is temporal, what it steps by one in the last subscript spatial
        "S0  A[i][k] i": "", "S0  A[i][k] j": "temporal", "S0  A[i][k] k": "spatial",
        "S0  B[k][j] i": "temporal", "S0  B[k][j] j": "spatial", "S0  B[k][j] k": "",
        "S0  C[i][j] i": "", "S0  C[i][j] j": "spatial", "S0  C[i][j] k": "temporal",
    }


def test_import_needs_no_matplotlib(python):
    assert python("import sys, warploom.plot; print('matplotlib' in sys.modules)") == "False\n"


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install warploom\[plot\]"):
        plot.arcs(wl.dp.nussinov("GGGAAACCC"))
