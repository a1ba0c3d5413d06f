import numpy as np
import pytest

import warploom as wl


@pytest.fixture
def cells():
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:70, :90]
    image = np.zeros((70, 90), np.float32)
    for cy, cx, r in [(20, 25, 9), (45, 60, 14), (55, 15, 6)]:
        image[(y - cy) ** 2 + (x - cx) ** 2 < r * r] = 1
    return image + rng.normal(scale=0.2, size=image.shape).astype(np.float32), image > 0.5


def test_finds_the_cells(cells):
    noisy, truth = cells
    found = wl.segment(noisy)
    assert found.mask.dtype == bool and found.mask.shape == noisy.shape
    assert (found.mask != truth).mean() < 0.01
    np.testing.assert_array_equal(found.level_set > 0, found.mask)
    assert found.report["gap"] <= 1e-3


@pytest.mark.parametrize("options, arguments", [
    ({}, []),
    ({"mu": 0.05, "noise": "equal"}, ["--mu", 0.05, "--noise", "equal"]),
    ({"classes": 3}, ["--classes", 3]),
    ({"method": "level-set"}, ["--method", "level-set"]),
    ({"method": "level-set", "init_level_set": "disk", "max_num_iter": 50, "inside": "dark"},
     ["--method", "level-set", "--start", "disk", "--max-iterations", 50, "--inside", "dark"]),
])
def test_is_the_tools(cells, tool, tmp_path, options, arguments):
    nibabel = pytest.importorskip("nibabel")
    image = nibabel.Nifti1Image(np.ascontiguousarray(cells[0].T)[..., None], np.diag([2, 3, 1, 1]))
    nibabel.save(image, tmp_path / "in.nii")
    told = tool("segment", tmp_path / "in.nii", "-o", tmp_path / "out.nii", *arguments, "--json")
    found = wl.segment(image, **options)
    want = np.asarray(nibabel.load(tmp_path / "out.nii").dataobj)
    mask = np.asarray(found.mask.dataobj)
    assert mask.shape == image.shape
    np.testing.assert_array_equal(mask, want)
    np.testing.assert_array_equal(found.mask.affine, image.affine)
    assert found.energies.tolist() == told["energy"]
    assert found.report["iterations"] == told["iterations"]


def test_level_set_is_scikit_images(cells):
    chan_vese = pytest.importorskip("skimage.segmentation").chan_vese
    noisy, _ = cells
    theirs, phi, energies = chan_vese(noisy.astype(float), extended_output=True)
    ours = wl.segment(noisy, method="level-set", inside="start")
    assert len(energies) - ours.report["iterations"] in (0, 1)
    assert (ours.mask != theirs).sum() <= 2  # single precision


def test_a_volume_and_spacing_along_its_axes(cells):
    volume = np.stack([cells[0]] * 5)
    found = wl.segment(volume, spacing=(5, 1, 1))
    assert found.mask.shape == found.level_set.shape == volume.shape
    turned = wl.segment(volume.T, spacing=(1, 1, 5))
    assert (turned.mask != found.mask.T).mean() < 0.005


def test_names_what_is_wrong(cells):
    with pytest.raises(ValueError, match=r"\[ny, nx\]"):
        wl.segment(np.zeros(5))
    with pytest.raises(ValueError, match="nothing to segment"):
        wl.segment(np.zeros((5, 5)))
    with pytest.raises(ValueError, match="mask: shape"):
        wl.segment(cells[0], mask=np.ones((3, 3)))
    with pytest.raises(ValueError, match="convex"):
        wl.segment(cells[0], method="convecs")
    with pytest.raises(ValueError, match="spacing"):
        wl.segment(cells[0], spacing=(1, 1, 1))
