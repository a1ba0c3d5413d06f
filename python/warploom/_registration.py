"""Images brought onto each other."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import numbers, on_host
from ._asked import Progress, asked
from ._core import BadInput
from ._device_arrays import DeviceArray, fetched, is_on_gpu, on_device, sent, turned
from ._images import is_nibabel

_Rows = list[list[float]]


class _Placed(NamedTuple):
    values: NDArray[np.float32]
    spacing: tuple[float, float, float]
    rows: _Rows
    there: DeviceArray | None
    """The same in a GPU's memory, if that is where it was."""


class Registration:
    """How a moving image is brought onto a fixed one. Arrays have the images' axes; nibabel images come back where the fixed
    image was one, and arrays in a GPU's memory where it was there. It cannot be pickled; what it gives can."""

    def __init__(self, found: _core.Registered, fixed: Any, moving: Any, shape: tuple[int, ...], moving_shape: tuple[int, ...]) -> None:
        self._found, self._fixed, self._moving, self._shape, self._moving_shape = found, fixed, moving, shape, moving_shape
        self.report: dict[str, Any] = found.report()
        """Measures, iterations, whether it is proved that nothing folds, displacements [mm]."""

    def _back(self, values: NDArray[np.float32], like: Any = None) -> Any:
        array = values.T.reshape(self._shape)
        if is_nibabel(self._fixed):
            return self._fixed.__class__(array, self._fixed.affine)
        return sent(array, self._fixed if like is None else like)

    @property
    def warped(self) -> Any:
        """The moving image on the fixed one's voxels, linearly interpolated; 0 outside."""
        return self._back(self._found.warped(asked("auto", 0, None)))

    @property
    def affine(self) -> NDArray[np.float64]:
        """[4, 4], of the affine stage: points of the fixed image's world to the moving one's [mm]."""
        return np.vstack([np.asarray(self._found.affine()), [0, 0, 0, 1]])

    @property
    def field(self) -> NDArray[np.float32]:
        """[x, y(, z), 3]: where each voxel of the fixed image leads, less itself, along the world's axes [mm]; all of the map."""
        return sent(self._found.field().T.reshape(*self._shape, 3), self._fixed)  # type: ignore[no-any-return]

    @property
    def inverse(self) -> NDArray[np.float32]:
        """The same of the inverse map, on the moving image's voxels. Computed when it is asked for."""
        return sent(self._found.inverse(asked("auto", 0, None)).T.reshape(*self._moving_shape, 3), self._moving)  # type: ignore[no-any-return]

    @property
    def jacobian(self) -> Any:
        """The determinant at each voxel of the fixed image: 1 where nothing is stretched."""
        return self._back(self._found.jacobian())

    def apply(
        self, image: Any, interpolation: str = "linear", outside: float = 0.0, *, affine: Any = None,
        spacing: Sequence[float] | None = None, threads: int = 0,
    ) -> Any:
        """Another image of the moving one's world on the fixed one's voxels; where the image lies.

        Args:
            interpolation: ``"linear"``, ``"cubic"``, ``"nearest"``, or ``"labels"`` for numbers of regions.
            outside: what stands where nothing leads to.
        """
        values, steps, rows, _ = _placed(image, "image", affine, spacing)
        return self._back(self._found.apply(values, steps, rows, interpolation, outside, asked("auto", threads, None)), image)

    def __reduce__(self) -> Any:
        raise TypeError("a Registration is not pickled: keep its affine and field")


def register(
    fixed: Any,
    moving: Any,
    *,
    method: str = "greedy",
    measure: str = "lncc",
    radius: int = 2,
    levels: Sequence[int] | None = None,
    start: Any = None,
    keep_start: bool = False,
    fixed_mask: Any = None,
    moving_mask: Any = None,
    allow_folds: bool = False,
    fixed_affine: Any = None,
    moving_affine: Any = None,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Registration:
    """Brings an image onto another one, from any pose, in two or three dimensions, without folds; ``warploom register``.

    Args:
        fixed, moving: nibabel images, or arrays [x, y] or [x, y, z]. float32 in Fortran order, as nibabel has it, is read where it is, and
            the moving image is kept for ``warped`` and ``inverse``; other numbers are copied, as float32. Of arrays in a GPU's memory
            (CuPy, PyTorch, Numba) the GPU reads these; they are copied to the host once, where brightness is looked at and images
            are warped, and results are arrays there.
        method: ``"rigid"``, ``"similarity"``, ``"affine"``, ``"greedy"`` (affine, then a symmetric deformation),
            ``"curvature"`` or ``"demons"``.
        measure: what makes them alike: ``"lncc"``, ``"nmi"`` or ``"ngf"`` (images of different kinds) or ``"ssd"``.
        radius: of lncc's windows [voxels].
        levels: iterations of the deformation at each resolution, from coarse to fine; None: 60, 60, 20,
            and 60 before them for greedy in three dimensions.
        start: affine map [4, 4] to begin with, fixed world to moving world [mm]; None: looked for.
        keep_start: take it as it is.
        fixed_mask, moving_mask: voxels that count, of the images' shapes.
        fixed_affine, moving_affine: of arrays: voxel index to world [mm]; None: index is world.

    A GPU has affine maps by lncc, and greedy deformations by lncc and ssd. Raises BadInput; NoDevice (what the GPU that is asked for
    has not).
    """
    still = _placed(fixed, "fixed", fixed_affine, None)
    other = _placed(moving, "moving", moving_affine, None)
    begin = None if start is None else _rows(start, "start")
    if levels is not None and np.ndim(levels) != 1:
        raise BadInput(f"levels: {levels!r}: expected the iterations at each resolution, from coarse to fine, as [60, 20]")
    found = _core.Registered(
        *still[:3], *other[:3], method, measure, radius,
        None if levels is None else list(levels), begin, keep_start, _mask(fixed_mask, "fixed_mask", still.values),
        _mask(moving_mask, "moving_mask", other.values), allow_folds,
        [image.there.data if image.there and image.there.strides is None else 0 for image in (still, other)], asked(device, threads, progress),
    )
    return Registration(found, fixed, moving, _shape(fixed), _shape(moving))


def _shape(image: Any) -> tuple[int, ...]:
    return tuple(image.shape if hasattr(image, "shape") else np.shape(image))


def _rows(affine: Any, name: str) -> _Rows:
    rows = numbers(affine, name, np.float64)
    if rows.shape not in ((3, 4), (4, 4)):
        raise BadInput(f"{name}: shape {list(rows.shape)}, expected [4, 4]")
    return rows[:3].tolist()  # type: ignore[no-any-return]


def _placed(image: Any, name: str, affine: Any, spacing: Sequence[float] | None) -> _Placed:
    array = np.asanyarray(image.dataobj) if is_nibabel(image) else image if is_on_gpu(image) else on_host(image, name)
    if array.ndim not in (2, 3):
        raise BadInput(f"{name}: shape {list(array.shape)}, expected [x, y] or [x, y, z]")
    there = on_device(turned(image), name, np.float32, any_order=True) if is_on_gpu(image) else None
    rows = _rows(image.affine if is_nibabel(image) else np.eye(4) if affine is None else affine, f"{name}'s affine")
    steps = list(image.header.get_zooms()) if is_nibabel(image) else list(np.linalg.norm(np.asarray(rows)[:, :3], axis=0))
    if spacing is not None:
        steps = list(spacing)
    x, y, z = [float(s) for s in (steps + [1.0, 1.0])[:3]]
    values = numbers(array.T, name, np.float32, any_order=True) if there is None else fetched(there)
    if values.ndim == 2:
        values = values[np.newaxis]
    return _Placed(values, (x, y, z), rows, there)


def _mask(mask: Any, name: str, image: NDArray[np.float32]) -> NDArray[np.uint8] | None:
    if mask is None:
        return None
    array = np.asanyarray(mask.dataobj) if is_nibabel(mask) else on_host(mask, name)
    turned = np.ascontiguousarray((array != 0).T, dtype=np.uint8)
    if turned.reshape((-1, *turned.shape[-2:])).shape != image.shape:
        raise BadInput(f"{name}: shape {list(array.shape)} is not the image's")
    return turned.reshape(image.shape)
