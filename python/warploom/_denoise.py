"""Diffusion series and tensor images without their noise."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import numbers, on_host
from ._asked import Progress, asked
from ._core import BadInput
from ._device_arrays import DeviceArray, device_of, fetched, is_on_gpu, on_device, sent, turned
from ._images import is_nibabel

MAPS = ("fa", "md", "ad", "rd", "mo", "l1", "l2", "l3", "v1", "v2", "v3", "s0", "rgb")
Affine = Sequence[Sequence[float]]


@dataclass(frozen=True, eq=False)
class Denoised:
    """Tensors and their maps: arrays of the input's axes, or nibabel images where it was one; in a GPU's memory where it was there."""

    tensor: Any = field(repr=False)
    """[x, y, z, 6], xx xy xz yy yz zz [mm^2/s], every one positive semidefinite."""
    maps: dict[str, Any] = field(repr=False)
    """By name; scalars [x, y, z], directions [x, y, z, 3]; 0 outside the mask."""
    report: dict[str, Any]
    """What was done: the mask, voxels, noise, how the tensors were kept smooth, iterations."""

    @property
    def fa(self) -> Any:
        """Fractional anisotropy."""
        return self.maps["fa"]

    @property
    def md(self) -> Any:
        """Mean diffusivity [mm^2/s]."""
        return self.maps["md"]

    @property
    def v1(self) -> Any:
        """The first eigenvector."""
        return self.maps["v1"]

    @property
    def s0(self) -> Any:
        """The signal without diffusion weighting, of a series."""
        return self.maps["s0"]


def denoise(
    dwi: Any,
    bvals: Any = None,
    bvecs: Any = None,
    *,
    grad: str | os.PathLike[str] | None = None,
    mask: Any = "",
    affine: Affine | NDArray[Any] | None = None,
    spacing: Sequence[float] = (1.0, 1.0, 1.0),
    order: str = "",
    regulariser: str = "auto",
    lambda_: float | None = None,
    solver: str = "",
    series: str = "auto",
    shells: Sequence[float] = (),
    maps: Sequence[str] | str | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Denoised:
    """Denoises a diffusion series and fits its tensors, or denoises a tensor image; ``warploom denoise``.

    Args:
        dwi: a series [x, y, z, volumes] (a float32 array in Fortran order, as nibabel has them, is read where it is), or tensors
            [x, y, z, 6] without gradients; a nibabel image, or a NIfTI file. An array in a GPU's memory (CuPy, PyTorch, Numba) is
            read there by what works there, after what its stream has, and copied to the host once, where mask and fit are made;
            results are arrays there.
        bvals, bvecs: [volumes] [s/mm^2] and [volumes, 3] or [3, volumes], or FSL's two files; dipy's gradient table as ``bvals``.
            Directions are along the image's axes as FSL has them; of an array without ``affine`` along the array's.
        grad: MRtrix's file in their place.
        mask: an array [x, y, z], a nibabel image or a file; ``"auto"``, ``"nonzero"``, ``"none"``. Empty: auto of a series, else
            nonzero.
        affine: of an array: its place [3 or 4, 4] in mm; None: ``spacing`` along the axes.
        order: of tensors in a file: ``"fsl"``, ``"mrtrix"``, ... Empty: as the file says.
        regulariser: what keeps tensors smooth: ``"auto"``, ``"adaptive"``, ``"tv"``, ``"tgv"``, ``"none"``.
        lambda_, solver: of tv: weight of the data, and ``"accelerated"``, ``"primal-dual"`` or ``"descent"``.
        series: denoise the series before the fit: ``"auto"``, ``"on"``, ``"off"``.
        shells: b-values to use; empty: all.
        maps: which to give, of ``fa md ad rd mo l1 l2 l3 v1 v2 v3 s0 rgb``; None: all.

    Raises:
        BadInput: gradients that are not one a volume, no diffusion weighting, an empty mask.
    """
    wanted = MAPS if maps is None else (maps,) if isinstance(maps, str) else tuple(maps)
    for one in wanted:
        if one not in MAPS:
            raise BadInput(f"maps: '{one}' is none of {', '.join(MAPS)}")
    there: DeviceArray | None = None
    if is_on_gpu(dwi):
        _require_series(dwi)
        there = on_device(turned(dwi), "dwi", np.float32, any_order=True)
        device = device_of(there, device, "dwi")
    run = asked(device, threads, progress)
    values, place, steps, source = _placed(dwi if there is None else fetched(there).T, affine, spacing)
    if values is not None and bvals is None and bvecs is None and grad is None and values.shape[0] != 6:
        raise BadInput(f"dwi: {values.shape[0]} volumes: a series needs bvals and bvecs, or grad; tensors have 6")
    arrays, report, placed = _core.denoise(
        os.fspath(dwi) if isinstance(dwi, (str, os.PathLike)) else "<image>", values, steps, place, *_gradients(bvals, bvecs, grad),
        *_mask(mask), order, regulariser, lambda_, solver, series, list(shells), list(wanted),
        there.data if there and there.strides is None else 0, run,
    )
    if there:
        given = {name: turned(sent(array, dwi)) for name, array in arrays.items()}
    else:
        given = {name: _back(array.T, source) for name, array in arrays.items()}
    return Denoised(given.pop("tensor"), given, report)


def _placed(
    dwi: Any, affine: Affine | NDArray[Any] | None, spacing: Sequence[float]
) -> tuple[NDArray[np.float32] | None, list[list[float]], tuple[float, float, float], Any]:
    x, y, z = (float(s) for s in spacing)
    place = [[-x, 0, 0, 0], [0, y, 0, 0], [0, 0, z, 0]]
    if isinstance(dwi, (str, os.PathLike)):
        return None, place, (x, y, z), None
    source = None
    if is_nibabel(dwi):
        source, array = dwi, np.asanyarray(dwi.dataobj)
        affine = dwi.affine
        x, y, z = (float(s) for s in dwi.header.get_zooms()[:3])
    else:
        array = on_host(dwi, "dwi")
    _require_series(array)
    if affine is not None:
        rows = numbers(affine, "affine", np.float64)
        if rows.shape not in ((3, 4), (4, 4)):
            raise BadInput(f"affine: shape {list(rows.shape)}, expected [4, 4]")
        place = rows[:3].tolist()
        x, y, z = (float(s) for s in np.linalg.norm(rows[:3, :3], axis=0)) if source is None else (x, y, z)
    return numbers(array.T, "dwi", np.float32, any_order=True), place, (x, y, z), source


def _require_series(array: Any) -> None:
    if array.ndim != 4:
        raise BadInput(f"dwi: shape {list(array.shape)}, expected [x, y, z, volumes]")


def _gradients(
    bvals: Any, bvecs: Any, grad: str | os.PathLike[str] | None
) -> tuple[str, str, str, tuple[NDArray[np.float64], NDArray[np.float64]] | None]:
    """Three files, or two arrays."""
    if hasattr(bvals, "bvals") and hasattr(bvals, "bvecs"):
        bvals, bvecs = bvals.bvals, bvals.bvecs
    given = [x for x in (bvals, bvecs) if x is not None]
    files = ["" if x is None else os.fspath(x) for x in (bvals, bvecs, grad) if x is None or isinstance(x, (str, os.PathLike))]
    if len(files) == 3:
        return files[0], files[1], files[2], None
    if len(given) < 2 or any(isinstance(x, (str, os.PathLike)) for x in given):
        raise BadInput("bvals, bvecs: give two arrays, or two files")
    if grad is not None:
        raise BadInput("bvals, bvecs and grad: give one description of the series")
    b, directions = numbers(bvals, "bvals", np.float64), numbers(bvecs, "bvecs", np.float64)
    if directions.ndim != 2:
        raise BadInput(f"bvecs: shape {list(directions.shape)}, expected [volumes, 3] or [3, volumes]")
    return "", "", "", (b.reshape(-1), directions)


def _mask(mask: Any) -> tuple[str, NDArray[np.uint8] | None]:
    """Its name, or itself."""
    if isinstance(mask, (str, os.PathLike)):
        return os.fspath(mask), None
    array = np.asanyarray(mask.dataobj) if is_nibabel(mask) else on_host(mask, "mask")
    if array.ndim != 3:
        raise BadInput(f"mask: shape {list(array.shape)}, expected [x, y, z]")
    bytes_ = array if array.dtype in (np.bool_, np.uint8) else array != 0
    return "", np.ascontiguousarray(bytes_.T.view(np.uint8))


def _back(values: NDArray[np.float32], source: Any) -> Any:
    return values if source is None else source.__class__(values, source.affine)
