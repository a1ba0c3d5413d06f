#!/usr/bin/env python3
"""Diffusion tensors as dipy and MRtrix fit them, for the tests of fit_tensors().

  tensor_fit.py dipy IMAGE BVAL BVEC OUT    OUT.OLS and OUT.WLS: float32 [6, nz, ny, nx] without a header
  tensor_fit.py record DATA OUT             writes tests/imaging/recorded_fits.csv anew

Elements are xx xy xz yy yz zz in um^2/ms: dipy's in the axes of the bvec file, MRtrix's in the scanner's.
`record` needs MRtrix (dwi2tensor); DATA is the folder with the diffusion series.
"""

import os
import re
import subprocess
import sys
import tempfile

import nibabel
import numpy as np

SERIES = {  # name: image, bval, bvec
    "small_64D": ("small_64D.nii", "small_64D.bval", "small_64D.bvec"),
    "small_25": ("small_25.nii.gz", "small_25.bval", "small_25.bvec"),  # the affine's determinant is positive
    "philips": ("philips_dti12_112x112x32x17.nii.gz", "philips_dti12.bval", "philips_dti12.bvec"),
}
# Not -iter 1: 3.0.3 computes it without any reweighting, like -iter 0 (cmd/dwi2tensor.cpp: `if (maxit > 1)`).
MRTRIX = {"mrtrix-ols": ["-ols", "-iter", "0"], "mrtrix-iterated": []}
DIPY = {"dipy-ols": "OLS", "dipy-wls": "WLS"}
VOXELS = 200


def read_series(image, bval, bvec):
    """Data [x, y, z, volume], b-values, unit directions [volume, 3] (0 where the file has none)."""
    data = nibabel.load(image).get_fdata()
    b = np.loadtxt(bval).ravel()
    directions = np.nan_to_num(np.loadtxt(bvec))
    if directions.shape[0] == 3:
        directions = directions.T
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    return data, b, directions / np.where(length > 0, length, 1)


def dipy_tensors(data, b, directions, method):
    from dipy.core.gradients import gradient_table
    from dipy.reconst import dti

    design = dti.design_matrix(gradient_table(b, directions))
    least = data[data > 0].min()
    signal = np.maximum(data, least).reshape(-1, data.shape[-1])
    # The tensor before dipy floors its eigenvalues: its own fits, with the decomposition left out.
    original = dti.eig_from_lo_tri
    dti.eig_from_lo_tri = lambda fit, min_diffusivity=0: np.pad(fit, ((0, 0), (0, 12 - fit.shape[1])))
    try:
        fit = {"OLS": dti.ols_fit_tensor, "WLS": dti.wls_fit_tensor}[method](design, signal)
    finally:
        dti.eig_from_lo_tri = original
    xx, xy, yy, xz, yz, zz = (1000 * fit[:, :6]).T
    return np.stack([xx, xy, xz, yy, yz, zz], -1).reshape(data.shape[:3] + (6,))


def mrtrix_tensors(image, b, directions, arguments):
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/bvec", directions.T)
        np.savetxt(f"{folder}/bval", b[None])
        gradients = ["-fslgrad", f"{folder}/bvec", f"{folder}/bval"]
        command = ["dwi2tensor", "-quiet", *arguments, *gradients, image, f"{folder}/tensor.nii"]
        subprocess.run(command, check=True)
        xx, yy, zz, xy, xz, yz = np.moveaxis(1000 * nibabel.load(f"{folder}/tensor.nii").get_fdata(), 3, 0)
    return np.stack([xx, xy, xz, yy, yz, zz], -1)


def well_conditioned(data, tensors):
    """Voxels with signal everywhere, well above the background, and a tensor far from singular."""
    matrix = tensors[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(tensors.shape[:3] + (3, 3))
    values = np.linalg.eigvalsh(matrix)
    mean = data.mean(axis=3)
    good = (data.min(axis=3) > 0.2 * np.percentile(mean, 95)) & (values[..., 0] > 0.1) & (values[..., 2] < 4)
    voxels = np.argwhere(good)
    return voxels[np.linspace(0, len(voxels) - 1, min(VOXELS, len(voxels))).astype(int)]


def record(folder, out):
    import dipy

    version = subprocess.run(["dwi2tensor", "-version"], capture_output=True, text=True).stdout
    version = re.search(r"\d+\.\d+\.\d+", version).group()
    lines = [
        f"# Tensors by MRtrix {version} and dipy {dipy.__version__}, from tests/oracle/tensor_fit.py record",
        "# All volumes; voxel i j k; elements xx xy xz yy yz zz in um^2/ms, MRtrix's in scanner axes,",
        "# dipy's in the bvec file's. Directions are normalised, NaN replaced by 0.",
    ]
    lines += [f"# {name}: dwi2tensor {' '.join(options + ['-fslgrad'])}" for name, options in MRTRIX.items()]
    lines += [f"# {name}: dipy.reconst.dti.{method.lower()}_fit_tensor" for name, method in DIPY.items()]
    lines.append("series,i,j,k,fit,xx,xy,xz,yy,yz,zz")
    for series, files in SERIES.items():
        paths = [os.path.join(folder, file) for file in files]
        data, b, directions = read_series(*paths)
        fits = {name: dipy_tensors(data, b, directions, method) for name, method in DIPY.items()}
        voxels = well_conditioned(data, fits["dipy-ols"])
        fits |= {name: mrtrix_tensors(paths[0], b, directions, options) for name, options in MRTRIX.items()}
        for voxel in voxels:
            for name in [*MRTRIX, *DIPY]:
                elements = ",".join(f"{value:.6f}" for value in fits[name][tuple(voxel)])
                lines.append(f"{series},{voxel[0]},{voxel[1]},{voxel[2]},{name},{elements}")
    with open(out, "w") as file:
        file.write("\n".join(lines) + "\n")


def main(verb, *arguments):
    if verb == "record":
        record(*arguments)
    else:
        image, bval, bvec, out = arguments
        series = read_series(image, bval, bvec)
        for method in DIPY.values():
            dipy_tensors(*series, method).transpose(3, 2, 1, 0).astype("<f4").tofile(f"{out}.{method}")


if __name__ == "__main__":
    main(*sys.argv[1:])
