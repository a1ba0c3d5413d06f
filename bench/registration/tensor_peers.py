#!/usr/bin/env python3
"""Does `register apply --tensors` turn tensors as a rigid motion does, R D R^T, and does it keep eigenvalues under a deformation?

    tensor_peers.py --tool build/default/bin/warploom --out tensors.json TENSORS [REFERENCE WARP]

TENSORS is an image of denoise (six elements in FSL's order, along the axes of voxels as FSL has them). It is taken onto an oblique grid of
2.5 mm by a turn about an oblique axis; NumPy and SciPy do the same: tensors along the world's axes, elements interpolated linearly, R D R^T.
With WARP, a field onto REFERENCE, the eigenvalues of the result are compared with those of interpolated tensors. Needs nibabel and SciPy.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import nibabel
import numpy
from scipy.ndimage import map_coordinates

PLACES = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def read(path):
    """Tensors along the world's axes [x, y, z, 3, 3], and the affine. FSL's first axis runs the other way where the determinant is positive."""
    image = nibabel.load(path)
    six = image.get_fdata().squeeze()
    axes = image.affine[:3, :3] / numpy.linalg.norm(image.affine[:3, :3], axis=0)
    # The nearest rotation or reflection: axes of an oblique header are orthogonal but for rounding.
    u, _, v = numpy.linalg.svd(axes)
    axes = u @ v
    if numpy.linalg.det(image.affine[:3, :3]) > 0:
        axes = axes * [-1, 1, 1]
    tensors = numpy.zeros(six.shape[:3] + (3, 3))
    for n, (i, j) in enumerate(PLACES):
        tensors[..., i, j] = tensors[..., j, i] = six[..., n]
    return axes @ tensors @ axes.T, image.affine


def turn(axis, degrees):
    a, n = numpy.radians(degrees), numpy.array(axis) / numpy.linalg.norm(axis)
    cross = numpy.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    return numpy.eye(3) + numpy.sin(a) * cross + (1 - numpy.cos(a)) * cross @ cross


def interpolate(tensors, affine, points):
    index = numpy.linalg.inv(affine) @ numpy.concatenate([points.reshape(3, -1), numpy.ones((1, points[0].size))])
    inside = numpy.all((index[:3] >= 0) & (index[:3] <= numpy.array(tensors.shape[:3])[:, None] - 1), axis=0)
    out = numpy.stack([map_coordinates(tensors[..., i, j], index[:3], order=1) for i in range(3) for j in range(3)], axis=-1)
    return out.reshape(points.shape[1:] + (3, 3)), inside.reshape(points.shape[1:])


def points_of(shape, affine):
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(n) for n in shape], indexing="ij")).astype(float)
    return numpy.einsum("ij,j...->i...", affine[:3, :3], grid) + affine[:3, 3][:, None, None, None]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("files", nargs="+")
    asked = parser.parse_args()
    tensors, affine = read(asked.files[0])
    middle = affine[:3, :3] @ (numpy.array(tensors.shape[:3]) / 2) + affine[:3, 3]
    result = {"tensors": pathlib.Path(asked.files[0]).name, "size": tensors.shape[:3]}
    with tempfile.TemporaryDirectory() as folder:
        # From the reference to the tensors: x -> turn (x - middle) + middle + shift.
        pull = numpy.eye(4)
        pull[:3, :3] = turn([1, 2, 2], 33)
        pull[:3, 3] = middle + [3, -4, 2] - pull[:3, :3] @ middle
        numpy.savetxt(f"{folder}/turn.mat", pull)
        grid = numpy.eye(4)
        grid[:3, :3] = turn([2, -1, 1], 20) @ numpy.diag([2.5, -2.5, 2.5])
        shape = (60, 64, 30)
        grid[:3, 3] = middle - grid[:3, :3] @ (numpy.array(shape) / 2)
        nibabel.save(nibabel.Nifti1Image(numpy.zeros(shape, numpy.float32), grid), f"{folder}/grid.nii.gz")
        points = points_of(shape, grid)
        there = numpy.einsum("ij,j...->i...", pull[:3, :3], points) + pull[:3, 3][:, None, None, None]
        want, inside = interpolate(tensors, affine, there)
        want = pull[:3, :3].T @ want @ pull[:3, :3]
        scale = numpy.abs(want[inside]).max()
        for how in ("preserve-direction", "finite-strain", "none"):
            subprocess.run([asked.tool, "register", "apply", asked.files[0], "--order", "fsl", "--tensors", "--force", "--turn", how, "--reference", f"{folder}/grid.nii.gz",
                            "-t", f"{folder}/turn.mat", "-o", f"{folder}/{how}.nii.gz"], check=True, capture_output=True)
            found, _ = read(f"{folder}/{how}.nii.gz")
            off = numpy.abs(found - want)[inside] / scale
            result[f"rigid, {how}"] = {"voxels": int(inside.sum()), "largest_difference": float(off.max()), "mean_difference": float(off.mean())}
        if len(asked.files) == 3:
            reference = nibabel.load(asked.files[1])
            points = points_of(reference.shape[:3], reference.affine)
            warp = nibabel.load(asked.files[2]).get_fdata().squeeze() * [-1, -1, 1]  # LPS
            want, inside = interpolate(tensors, affine, points + numpy.moveaxis(warp, -1, 0))
            values = numpy.linalg.eigvalsh(want)
            for how in ("preserve-direction", "finite-strain"):
                subprocess.run([asked.tool, "register", "apply", asked.files[0], "--order", "fsl", "--tensors", "--force", "--turn", how, "--reference", asked.files[1],
                                "-t", asked.files[2], "-o", f"{folder}/{how}.nii.gz"], check=True, capture_output=True)
                found, _ = read(f"{folder}/{how}.nii.gz")
                off = numpy.abs(numpy.linalg.eigvalsh(found) - values)[inside] / numpy.abs(values[inside]).max()
                result[f"deformed, {how}"] = {"voxels": int(inside.sum()), "largest_difference_of_eigenvalues": float(off.max())}
    pathlib.Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
