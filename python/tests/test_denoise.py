import numpy as np
import pytest

import warploom as wl

nibabel = pytest.importorskip("nibabel")


@pytest.fixture(scope="module")
def series(tool, tmp_path_factory):
    """The tool's example, and what the tool makes of it."""
    folder = tmp_path_factory.mktemp("series")
    tool("example", "series", cwd=folder)
    image = nibabel.load(folder / "dwi.nii.gz")  # a part of it is enough
    part = nibabel.Nifti1Image(np.asarray(image.dataobj)[8:24, 8:24, :6], image.affine)
    (folder / "dwi.nii.gz").unlink()
    nibabel.save(part, folder / "dwi.nii.gz")
    tool("denoise", "dwi.nii.gz", "--bval", "dwi.bval", "--bvec", "dwi.bvec", "-o", "out", cwd=folder)
    return folder


def written(series, name):
    return np.asarray(nibabel.load(series / f"out_{name}.nii.gz").dataobj)


@pytest.mark.parametrize("kind", ["file", "nibabel", "array"])
def test_is_the_tools(series, kind):
    image = nibabel.load(series / "dwi.nii.gz")
    bvals, bvecs = np.loadtxt(series / "dwi.bval"), np.loadtxt(series / "dwi.bvec").T
    if kind == "file":
        found = wl.denoise(series / "dwi.nii.gz", series / "dwi.bval", series / "dwi.bvec")
    elif kind == "nibabel":
        found = wl.denoise(image, bvals, bvecs)
        assert isinstance(found.fa, nibabel.Nifti1Image) and (found.fa.affine == image.affine).all()
    else:
        found = wl.denoise(np.asarray(image.dataobj), bvals, bvecs, affine=image.affine)
    for name, map in [("tensor", found.tensor), ("FA", found.fa), ("MD", found.md), ("V1", found.v1), ("S0", found.s0)]:
        values = np.asarray(map.dataobj) if kind == "nibabel" else map
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, written(series, name), err_msg=name)


def test_tensors_are_positive_and_smooth_by_total_variation(series):
    image = nibabel.load(series / "out_tensor.nii.gz")
    noisy = np.asarray(image.dataobj)
    found = wl.denoise(noisy, order="fsl", regulariser="tv", maps=["fa"])
    assert found.tensor.shape == noisy.shape and set(found.maps) == {"fa"}
    assert found.report["regulariser"] == "tv" and found.report["gap"] <= 1e-4
    xx, xy, xz, yy, yz, zz = np.moveaxis(found.tensor.astype(float), -1, 0)
    tensors = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], -1).reshape(-1, 3, 3)
    inside = np.any(tensors != 0, axis=(1, 2))
    assert np.linalg.eigvalsh(tensors[inside]).min() > -1e-8


def test_a_mask_of_the_callers(series):
    image = nibabel.load(series / "dwi.nii.gz")
    mask = np.zeros(image.shape[:3], bool)
    mask[2:-2, 2:-2, :] = True
    found = wl.denoise(image, series / "dwi.bval", series / "dwi.bvec", mask=mask, maps=["md"])
    md = np.asarray(found.md.dataobj)
    assert (md[~mask] == 0).all() and (md[mask] > 0).any()
    assert found.report["voxels"] <= mask.sum() and found.report["mask"] == "own"
    with pytest.raises(ValueError, match=r"mask: \[16, 16, 5\] is not the image's shape"):
        wl.denoise(image, series / "dwi.bval", series / "dwi.bvec", mask=mask[:, :, 1:])
    with pytest.raises(ValueError, match="mask"):  # a file's shape is known when it is read
        wl.denoise(series / "dwi.nii.gz", series / "dwi.bval", series / "dwi.bvec", mask=mask[:, :, 1:])


def test_a_mask_is_as_good_as_its_file(series, tool):
    image = nibabel.load(series / "dwi.nii.gz")
    mask = np.zeros(image.shape[:3], np.uint8)
    mask[3:12, 4:14, 1:5] = 1
    nibabel.save(nibabel.Nifti1Image(mask, image.affine), series / "mask.nii.gz")
    tool("denoise", "dwi.nii.gz", "--bval", "dwi.bval", "--bvec", "dwi.bvec", "--mask", "mask.nii.gz", "-o", "masked", cwd=series)
    found = wl.denoise(np.asarray(image.dataobj), series / "dwi.bval", series / "dwi.bvec", mask=mask, affine=image.affine, maps=["fa"])
    np.testing.assert_array_equal(found.fa, np.asarray(nibabel.load(series / "masked_FA.nii.gz").dataobj))


def test_a_series_is_read_and_stays_as_it_is(series):
    image = np.asfortranarray(np.asarray(nibabel.load(series / "dwi.nii.gz").dataobj, dtype=np.float32))
    before = image.copy()
    bvals, bvecs = np.loadtxt(series / "dwi.bval"), np.loadtxt(series / "dwi.bvec")
    for options in ({}, {"regulariser": "none"}, {"series": "off"}, {"shells": [1000]}):
        wl.denoise(image, bvals, bvecs, maps=[], **options)
        assert (image == before).all()


def test_names_what_is_wrong(series):
    data = np.ones((4, 4, 4, 7), np.float32)
    with pytest.raises(ValueError, match="two arrays, or two files"):
        wl.denoise(data, np.zeros(7), series / "dwi.bvec")
    with pytest.raises(ValueError, match="one description"):
        wl.denoise(data, np.zeros(7), np.zeros((7, 3)), grad="x.b")
    with pytest.raises(ValueError, match=r"bvecs\[1\]: volume 1 has b = 1000"):
        wl.denoise(data, np.r_[0, np.full(6, 1000)], np.zeros((7, 3)))
    with pytest.raises(ValueError, match="b-values"):
        wl.denoise(data, np.zeros(6), np.zeros((6, 3)))
    with pytest.raises(ValueError, match="weighting"):
        wl.denoise(data, np.zeros(7), np.zeros((7, 3)))
    with pytest.raises(ValueError, match=r"\[x, y, z, volumes\]"):
        wl.denoise(data[0], np.zeros(7), np.zeros((7, 3)))
    with pytest.raises(ValueError, match="adaptive"):
        wl.denoise(data[..., :6], regulariser="smooth")
