"""Foreground and background of images."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import numbers, on_host
from ._asked import Progress, asked
from ._core import BadInput
from ._device_arrays import device_of, empty, is_on_gpu, on_device
from ._images import Placed, placed, steps_of


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The sides of an image."""

    mask: Any
    """Of the image's shape: bool, or of more than two classes their numbers (uint8), 0 the darkest. A nibabel image where
    the input was one."""
    level_set: Any = field(repr=False)
    """float32 of the image's shape, above 0 inside; of N classes [N - 1, ...]."""
    energies: NDArray[np.float64] = field(repr=False)
    """At each iteration (level-set) or check (convex)."""
    report: dict[str, Any]
    """Iterations, why it stopped, means, and of ``convex`` the gap to the least energy, as ``warploom segment --json``."""


def segment(
    image: Any,
    mu: float | None = None,
    lambda1: float = 1.0,
    lambda2: float = 1.0,
    tol: float | None = None,
    max_num_iter: int | None = None,
    dt: float = 0.5,
    init_level_set: str | ArrayLike = "checkerboard",
    *,
    method: str = "convex",
    inside: str = "bright",
    noise: str = "auto",
    classes: int = 2,
    means: Tuple[float, float] | None = None,
    mask: ArrayLike | None = None,
    spacing: Sequence[float] | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Segmentation:
    """Tells the sides of an image apart, in two or three dimensions.

    ``method="convex"``, the tool's default, finds the exact minimum of Chan and Vese's energy for the means that it ends with;
    ``"level-set"`` is scikit-image's ``chan_vese``, with its names and its defaults in two dimensions
    (``mu=0.25, lambda1=1, lambda2=1, tol=1e-3, max_num_iter=500, dt=0.5``), and its mask with ``inside="start"``.

    Args:
        image: [ny, nx] or [nz, ny, nx], finite where it counts; float32 in C order is not copied. A nibabel image: [x, y(, z)],
            as it lies in its file, with its spacing. An array in a GPU's memory (CuPy, PyTorch, Numba): the work is done there,
            after what its stream has, and mask and level set are arrays there.
        mu: weight of the contour's length; None: from the noise (convex), 0.25 (level-set).
        lambda1, lambda2, dt, init_level_set: of level-set: weights inside and outside, time step, and ``"checkerboard"``,
            ``"disk"``, ``"box"`` or a mask to start from.
        tol, max_num_iter: when to stop; None: convex 1e-3 of the energy and 2000; level-set as the tool has it.
        inside: ``"bright"``, ``"dark"``, or of level-set ``"start"``: where the start is positive.
        noise: of convex: ``"auto"``, ``"equal"`` or ``"counts"`` (grows with brightness).
        classes: of convex: 2 to 16.
        means: of convex: a pair of means to begin with beside our own.
        mask: of convex: voxels that count, of the image's shape.
        spacing: distance of voxels along each axis of the array; None: 1, or the nibabel image's.

    Raises:
        BadInput: voxels that are not finite, a constant image, an option out of range or of the other method.
    """
    options = partial(
        _core.SegmentOptions, method, mu, tol, max_num_iter, lambda1, lambda2, dt, inside, noise, classes, means
    )
    if is_on_gpu(image):
        return _segment_on_gpu(image, options, init_level_set, mask, spacing, device, threads, progress)
    where = placed(image, "image", spacing)
    given = where.values
    if given.ndim == 3 and given.dtype == np.uint8 and given.shape[-1] in (3, 4) and min(given.shape[:2]) > 4 and where.source is None:
        raise BadInput(
            f"image: shape {list(given.shape)} of bytes, a picture in colours: give one value a pixel, as image.mean(axis=-1); "
            "of a volume give image.astype('f4')"
        )
    values = numbers(given, "image", np.float32, any_order=True)
    shape, steps = _volume(values.shape, where.spacing)
    chosen = _options(options, mask, init_level_set, where, values.shape)
    found, level_set, energies, report = _core.segment(values[np.newaxis] if values.ndim == 2 else values, steps, chosen, asked(device, threads, progress))
    labels = found.reshape(values.shape)
    if level_set.shape[0] == 1:
        level_set = level_set[0]
    if values.ndim == 2:
        level_set = level_set[..., 0, :, :]
    return Segmentation(where.back(labels if classes > 2 else labels.view(np.bool_)), level_set, energies, report)


def _segment_on_gpu(
    image: Any, options: Callable[..., _core.SegmentOptions], init_level_set: Any, mask: Any, spacing: Sequence[float] | None,
    device: str, threads: int, progress: Progress,
) -> Segmentation:
    """Of an image in a GPU's memory, with results there. Masks go through the host."""
    values = on_device(image, "image", np.float32, any_order=True)
    where = Placed(np.empty(0), steps_of(spacing, len(values.shape)))
    shape, steps = _volume(values.shape, where.spacing)
    device_of(values, device, "the image")
    chosen = _options(options, mask, init_level_set, where, values.shape)
    found, level_set = empty(values, values.shape, np.bool_), empty(values, values.shape, np.float32)
    energies, report = _core.segment_on_gpu(
        values.data, shape, values.strides and (0,) * (3 - len(values.shape)) + values.strides, steps, found.data, level_set.data, values.stream, chosen, asked(values.device, threads, progress)
    )
    return Segmentation(found.source, level_set.source, energies, report)


def _volume(shape: Tuple[int, ...], spacing: Tuple[float, ...]) -> tuple[tuple[int, int, int], tuple[float, float, float]]:
    """[nz, ny, nx] and the distances along these."""
    if len(shape) not in (2, 3):
        raise BadInput(f"image: shape {list(shape)}, expected [ny, nx] or [nz, ny, nx]")
    nz, ny, nx = (1, *shape)[-3:]
    z, y, x = (1.0, *spacing)[-3:]
    return (nz, ny, nx), (z, y, x)


def _options(
    options: Callable[..., _core.SegmentOptions], mask: Any, init_level_set: Any, image: Placed, shape: Tuple[int, ...]
) -> _core.SegmentOptions:
    counts = None if mask is None else _mask(mask, "mask", image, shape)
    start, start_mask = "mask", None
    if isinstance(init_level_set, str):
        start = init_level_set
    else:
        start_mask = _mask(init_level_set, "init_level_set", image, shape)
    return options(counts, start, start_mask)


def _mask(values: Any, name: str, image: Placed, shape: Tuple[int, ...]) -> NDArray[np.uint8]:
    array = on_host(placed(values, name, None).values, name)
    if array.shape != shape:
        raise BadInput(f"{name}: shape {list(array.shape)}, expected {list(shape)}, the image's")
    return np.ascontiguousarray((array != 0).reshape((-1, *shape[-2:])), dtype=np.uint8)
