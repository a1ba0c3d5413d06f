#!/usr/bin/env python3
"""Does SimpleITK, given our field or its own transforms, give the labels that `warploom register apply` gives?

    itk_peers.py WARPLOOM > register_itk.json

Three pairs of made-up label images (139 labels) on grids of different sizes, spacings and directions, a smooth random
field of up to 6 mm that SimpleITK writes, and an affine. `chain`: SimpleITK applies the transforms itself; `composed`: it applies
the one field that we wrote of them. Counted: voxels that differ after rounding. Needs SimpleITK and numpy.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import SimpleITK as sitk

SIZES = {"fixed": ((70, 60, 50), (1.0, 1.25, 2.0)), "moving": ((80, 64, 56), (1.5, 1.0, 1.75))}
DIRECTIONS = {
    "axes": ((1, 0, 0, 0, 1, 0, 0, 0, 1), (1, 0, 0, 0, 1, 0, 0, 0, 1)),
    "oblique": (sitk.Euler3DTransform((0, 0, 0), 0.2, -0.1, 0.3).GetMatrix(),
                sitk.Euler3DTransform((0, 0, 0), 0, 0, 0.1).GetMatrix()),
    "permuted and reflected": ((0, 0, 1, 1, 0, 0, 0, 1, 0), (0, -1, 0, -1, 0, 0, 0, 0, 1)),
}
HOW = {"nearest": sitk.sitkNearestNeighbor, "linear": sitk.sitkLinear, "cubic": sitk.sitkBSpline}


def labels(size, spacing, direction):
    z, y, x = np.indices(size[::-1])
    image = sitk.GetImageFromArray(((x // 5 + 7 * (y // 6) + 31 * (z // 4)) % 139).astype(np.int16))
    image.SetSpacing(spacing)
    image.SetDirection(direction)
    middle = np.array(direction).reshape(3, 3) @ ((np.array(size) - 1) / 2 * np.array(spacing))
    image.SetOrigin((-middle).tolist())
    return image


def smooth_field(like, rng):
    noise = sitk.GetImageFromArray(rng.normal(size=like.GetSize()[::-1] + (3,)), isVector=True)
    values = sitk.GetArrayFromImage(sitk.SmoothingRecursiveGaussian(noise, 6.0))
    field = sitk.GetImageFromArray((values * 6 / np.abs(values).max()).astype(np.float32), isVector=True)
    field.CopyInformation(like)
    return field


def as_transform(path):
    return sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(str(path)), sitk.sitkVectorFloat64))


def main(warploom):
    rng = np.random.default_rng(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        for name, (fixed_direction, moving_direction) in DIRECTIONS.items():
            fixed = labels(*SIZES["fixed"], fixed_direction)
            sitk.WriteImage(fixed, str(at / "fixed.nii.gz"))
            sitk.WriteImage(labels(*SIZES["moving"], moving_direction), str(at / "moving.nii.gz"))
            sitk.WriteImage(smooth_field(fixed, rng), str(at / "warp.nii.gz"))
            affine = sitk.Euler3DTransform((1, 2, 3), 0.1, -0.05, 0.2, (3, -2, 1.5))
            sitk.WriteTransform(affine, str(at / "affine.mat"))
            for how, theirs in HOW.items():
                subprocess.run([warploom, "register", "apply", "moving.nii.gz", "--reference", "fixed.nii.gz",
                                "-t", "warp.nii.gz", "-t", "affine.mat", "-o", "ours.nii.gz", "--composed",
                                "one.nii.gz", "--interpolation", how, "--force", "-q"],
                               cwd=at, check=True, stdout=subprocess.DEVNULL)
                ours = sitk.GetArrayFromImage(sitk.ReadImage(str(at / "ours.nii.gz"))).astype(float)
                moving = sitk.ReadImage(str(at / "moving.nii.gz"))
                if how != "nearest":
                    moving = sitk.Cast(moving, sitk.sitkFloat64)
                reference = sitk.ReadImage(str(at / "fixed.nii.gz"))

                def differ(transform):
                    image = sitk.Resample(moving, reference, transform, theirs, 0.0)
                    return int((np.round(sitk.GetArrayFromImage(image)) != ours).sum())

                # The last of a composite takes the points first.
                chain = sitk.CompositeTransform([affine, as_transform(at / "warp.nii.gz")])
                rows.append({"grids": name, "interpolation": how, "voxels": int(ours.size),
                             "not_background": int((ours != 0).sum()), "differ_chain": differ(chain),
                             "differ_composed": differ(as_transform(at / "one.nii.gz"))})
    print(json.dumps({"simpleitk": sitk.Version.VersionString(), "cases": rows}, indent=1))


main(str(pathlib.Path(sys.argv[1]).resolve()))
