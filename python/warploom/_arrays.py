"""What users pass, as NumPy arrays in host memory: copied only where type, order or memory differ."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _core
from ._core import BadInput
from ._device_arrays import brought, fetched, is_on_gpu, on_device


def on_host(values: Any, name: str) -> NDArray[Any]:
    """The values as an array, without a copy where they are one, or know DLPack; those in a GPU's memory are copied."""
    if isinstance(values, np.ndarray):
        return values
    if is_on_gpu(values):
        return np.asarray(brought(values, name))
    if hasattr(values, "__dlpack__") and hasattr(values, "__dlpack_device__"):
        return np.from_dlpack(values)
    if isinstance(values, (str, os.PathLike)):
        raise BadInput(f"{name}: '{os.fspath(values)}' is text: expected an array; of files what reads them gives one, as nibabel.load()")
    try:
        return np.asarray(values)
    except ValueError:  # NumPy's tells of shapes, not of whose
        raise BadInput(f"{name}: rows of different lengths: expected numbers in a rectangle") from None


def numbers(values: Any, name: str, dtype: DTypeLike, any_order: bool = False) -> NDArray[Any]:
    """A C-contiguous array of this type, which is the array given where it is one; or, if that is taken, one of any order.

    Whole numbers are asked for with an integer type: 2.0 is one, 2.5 is refused.
    """
    wanted = np.dtype(dtype)
    if wanted == np.float32 and _core.built_with_cuda and is_on_gpu(values) and 1 <= len(getattr(values, "shape", ())) <= 4:
        return fetched(on_device(values, name, np.float32, any_order=True))
    array = on_host(values, name)
    if array.dtype == wanted:
        if any_order and array.ndim and array.flags.aligned and all(step % wanted.itemsize == 0 for step in array.strides):
            return array
        return np.ascontiguousarray(array) if array.ndim else array.reshape(1)
    if array.dtype.kind not in "buif":
        raise BadInput(f"{name}: elements of type {array.dtype}: expected numbers that {wanted} holds")
    with np.errstate(all="ignore"):
        made = np.ascontiguousarray(array, dtype=wanted)
    if wanted.kind in "iu" and not np.array_equal(made, array):
        raise BadInput(f"{name}: not all of its numbers are whole ones that {wanted} holds")
    return made if made.ndim else made.reshape(1)
