"""Images of every kind: arrays, and nibabel's, which is never imported before one of its images is met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray

from ._arrays import on_host
from ._core import BadInput


def is_nibabel(image: Any) -> bool:
    """By what it has; nibabel is not imported for it."""
    return hasattr(image, "dataobj") and hasattr(image, "affine") and hasattr(image, "header")


@dataclass(frozen=True, eq=False)
class Placed:
    """An image's values, x last (C order), where they lie, and the way back."""

    values: NDArray[Any]
    spacing: tuple[float, ...]
    """Along each axis of ``values``."""
    source: Any = None
    """A nibabel image, if it was one."""

    def back(self, values: NDArray[Any]) -> Any:
        """Results of the values' shape as what the input was."""
        if self.source is None:
            return values
        kind = np.uint8 if values.dtype == np.bool_ else values.dtype
        turned = values.view(kind).T.reshape(self.source.shape)
        return self.source.__class__(turned, self.source.affine)


def steps_of(spacing: Sequence[float] | None, axes: int) -> tuple[float, ...]:
    if spacing is None:
        return (1.0,) * axes
    if len(spacing) != axes:
        raise BadInput(f"spacing: {len(spacing)} numbers, expected {axes}, one for each axis")
    return tuple(float(s) for s in spacing)


def placed(image: Any, name: str, spacing: Sequence[float] | None) -> Placed:
    """An image as its values: of nibabel's the axes are turned round, so that nothing is copied."""
    if is_nibabel(image):
        data = np.asanyarray(image.dataobj)
        while data.ndim > 2 and data.shape[-1] == 1:
            data = data[..., 0]
        steps = tuple(float(s) for s in image.header.get_zooms()[: data.ndim])[::-1]
        values = data.T
    else:
        values = on_host(image, name)
        steps = steps_of(None, values.ndim)
    if spacing is not None:
        steps = steps_of(spacing, values.ndim)
    return Placed(values, steps, image if is_nibabel(image) else None)
