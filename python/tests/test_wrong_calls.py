"""Messages of what people get wrong at first: in the call's own words."""

import pathlib

import numpy as np
import pytest

import warploom as wl

RNG = np.random.default_rng(1)
ROWS = RNG.normal(size=(5, 40)).astype(np.float32)
IMAGE = RNG.normal(size=(30, 30))
SERIES = np.abs(RNG.normal(size=(6, 6, 6, 20)))
B, DIRECTIONS = np.r_[0.0, np.full(19, 1000.0)], np.eye(3)[np.arange(20) % 3]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wl.distance_matrix(ROWS, ROWS[:, :30]), "Y: 30 samples a sequence, and X has 40 samples"),
        (lambda: wl.distance_matrix([[1, 2, 3], [1, 2]]), "X: rows of different lengths"),
        (lambda: wl.distance_matrix(ROWS, threads=-1), "threads: -1: expected a whole number of at least 0"),
        (lambda: wl.search(ROWS, ROWS.T), r"query: shape \[40, 5\], expected|query: 40 channels, and the recording has 5"),
        (lambda: wl.search(ROWS[:2], ROWS[:, :9]), r"query: 5 channels, and the recording has 2: .* query\[:2\]"),
        (lambda: wl.search(ROWS[:2, :20], ROWS[:2]), "<recording> has 20 samples, and the query of <query> 40"),
        (lambda: wl.search(ROWS[:, :3].repeat(9, axis=0), ROWS[:2]), "3 samples of 45 channels: expected .channels, samples."),
        (lambda: wl.distance_profile("walk.csv", ROWS), "recording: 'walk.csv' is text: expected an array"),
        (lambda: wl.segment(pathlib.Path("cell.png")), "image: 'cell.png' is text: expected an array"),
        (lambda: wl.segment(np.zeros((30, 30, 3), np.uint8)), r"image: shape \[30, 30, 3\] of bytes, a picture in colours"),
        (lambda: wl.register("a.nii", "b.nii"), "fixed: 'a.nii' is text: .* nibabel.load"),
        (lambda: wl.register(IMAGE, IMAGE, levels=5), r"levels: 5: expected the iterations at each resolution, .*\[60, 20\]"),
        (lambda: wl.denoise(SERIES), "dwi: 20 volumes: a series needs bvals and bvecs, or grad; tensors have 6"),
        (lambda: wl.denoise(SERIES, B, DIRECTIONS, maps=["FA"]), "maps: 'FA' is none of fa, md, ad"),
        (lambda: wl.fold(5), "seq: 5, expected a string, or several"),
        (lambda: wl.fold(b"GGCC"), "seq: b'GGCC', expected a string"),
        (lambda: wl.fold(["GGCC", None]), r"seq\[1\]: None, expected a string"),
        (lambda: wl.fold_mutants("GGGGAAAACCCC", [99]), "positions: 99, and the sequence has 0 to 11"),
        (lambda: wl.reuse.optimize("kernel.ptx"), r"ptx: 'kernel.ptx' is a path: expected the text, .*read_text"),
        (lambda: wl.sim.run(pathlib.Path("kernel.ptx")), "ptx: 'kernel.ptx' is a path"),
        (lambda: wl.dp.solve([1, 2, 3], factors=[1]), "factors: 1 numbers, expected 4, one more than leaves"),
        (lambda: wl.dp.solve([1, 2, 3], row=[1] * 4), "row, column: one of the two is given"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_call_says_what_is_expected(call, says):
    with pytest.raises(wl.BadInput, match=says):
        call()


def test_one_map_needs_no_list():
    found = wl.denoise(SERIES, B, np.abs(RNG.normal(size=(20, 3))), maps="fa", mask="none", series="off", regulariser="none")
    assert set(found.maps) == {"fa"}
    assert "length" in found.report["remark"]  # directions that were no unit vectors


def test_brackets_that_do_not_fit_are_not_drawn():
    pytest.importorskip("matplotlib")
    for structure, says in (("((.)", "bracket at 0 is not closed"), (".)", "bracket at 1 closes none"), ("()", "sequence: dot-bracket")):
        with pytest.raises(wl.BadInput, match=says):
            wl.plot.arcs(structure, "" if structure == "()" else "A" * len(structure))
