#!/usr/bin/env python3
"""The noisy tensor phantom of the tests as a NIfTI file: make_phantom.py SIZE OUT.nii [SIGMA]

Isotropic tissue with a sphere of free water, two bundles that cross, and a ring (tests/oracle/phantom.hpp), with white
noise of standard deviation SIGMA (0.15 um^2/ms) on every element; FSL's element order, mm^2/s, 1 mm voxels.
"""

import sys

import numpy as np

from nifti import write_nifti


def phantom(n):
    """[6, z, y, x]: xx xy xz yy yz zz in um^2/ms."""
    at = ((np.arange(n) + 0.5) / n - 0.5).astype(np.float32)
    z, y, x = np.meshgrid(at, at, at, indexing="ij")
    tensor = np.zeros((6, n, n, n), np.float32)
    tensor[[0, 3, 5]] = 0.8

    def put(where, u):
        a, b = 1.4, 0.3
        pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        for element, (i, j) in enumerate(pairs):
            value = a * u[i] * u[j] + (b if i == j else 0)
            tensor[element][where] = value[where] if np.ndim(value) else value

    tensor[:, np.sqrt((x - 0.3) ** 2 + (y - 0.3) ** 2 + (z - 0.3) ** 2) < 0.13] = np.array([3, 0, 0, 3, 0, 3])[:, None]
    radius = np.hypot(y, z - 0.15)
    safe = np.maximum(radius, 1e-6)
    put((abs(x) < 0.2) & (radius > 0.12) & (radius < 0.24), (0, -(z - 0.15) / safe, y / safe))
    along_x, along_y = np.hypot(y, z + 0.15) < 0.12, np.hypot(x, z + 0.15) < 0.12
    put(along_y, (0, 1, 0))
    put(along_x, (1, 0, 0))
    tensor[:, along_x & along_y] = np.array([1.0, 0, 0, 1.0, 0, 0.3])[:, None]
    return tensor


def main():
    size, path = int(sys.argv[1]), sys.argv[2]
    sigma = float(sys.argv[3]) if len(sys.argv) > 3 else 0.15
    image = phantom(size)
    rng = np.random.default_rng(1)
    image += sigma * rng.standard_normal(image.shape, dtype=np.float32)
    image *= 1e-3
    write_nifti(path, image, volumes=True, intent_name=b"tensor fsl")


if __name__ == "__main__":
    main()
