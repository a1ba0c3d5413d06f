import numpy as np
import pytest

import warploom as wl

nibabel = pytest.importorskip("nibabel")


def blobs(shift=0.0, shape=(24, 22, 20)):
    x, y, z = np.meshgrid(*(np.arange(n, dtype=float) for n in shape), indexing="ij")
    image = np.zeros(shape)
    for cx, cy, cz, r in [(8, 9, 8, 4), (15, 12, 11, 5), (10, 15, 13, 3)]:
        bend = shift * (1 + np.sin(y / 6) / 3)
        image += np.exp(-((x - cx - bend) ** 2 + (y - cy) ** 2 + (z - cz) ** 2) / (2 * r))
    return image.astype(np.float32)


@pytest.fixture(scope="module")
def pair():
    affine = np.diag([2.0, 2, 3, 1])
    return nibabel.Nifti1Image(blobs(), affine), nibabel.Nifti1Image(blobs(1.5), affine)


def test_is_the_tools(pair, tool, tmp_path):
    for image, name in zip(pair, ("fixed", "moving")):
        nibabel.save(image, tmp_path / f"{name}.nii")
    tool("register", "fixed.nii", "moving.nii", "-o", "warped.nii", "--jacobian", "j.nii", "--levels", "20,10", cwd=tmp_path)
    found = wl.register(*pair, levels=[20, 10])
    for name, map in (("warped", found.warped), ("j", found.jacobian)):
        want = nibabel.load(tmp_path / f"{name}.nii")
        np.testing.assert_array_equal(np.asarray(map.dataobj), np.asarray(want.dataobj), err_msg=name)
        np.testing.assert_array_equal(map.affine, want.affine)


def test_brings_the_moving_image_onto_the_fixed_one(pair):
    fixed, moving = (np.asarray(i.dataobj) for i in pair)
    found = wl.register(fixed, moving, levels=[20, 10])
    assert found.report["proved_none_folded"]
    assert found.warped.shape == fixed.shape and found.field.shape == (*fixed.shape, 3)
    assert np.abs(found.warped - fixed).mean() < 0.3 * np.abs(moving - fixed).mean()
    assert (found.jacobian > 0).all()
    labels = (moving > 0.5).astype(np.uint8) * 7
    assert set(np.unique(found.apply(labels, "labels"))) == {0, 7}
    # There and back again, in voxels well inside.
    there, back = found.field[8:16, 8:14, 8:12], found.inverse
    assert np.isfinite(back).all() and np.abs(there).max() > 0.5


def test_two_dimensions_and_a_rigid_motion(pair):
    fixed = np.asarray(pair[0].dataobj)[..., 10]
    moving = np.roll(fixed, 2, axis=0)
    found = wl.register(fixed, moving, method="rigid")
    np.testing.assert_allclose(found.affine[:2, 3], [2, 0], atol=0.1)
    assert found.warped.shape == fixed.shape


def test_names_what_is_wrong(pair):
    with pytest.raises(ValueError, match="greedy"):
        wl.register(*pair, method="elastic")
    with pytest.raises(ValueError, match="fixed_mask"):
        wl.register(*pair, fixed_mask=np.ones((3, 3, 3)))
    with pytest.raises(ValueError, match=r"\[4, 4\]"):
        wl.register(*pair, start=np.eye(3))
