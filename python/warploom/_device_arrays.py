"""Arrays in a GPU's memory: CuPy's, PyTorch's and Numba's. None of these is imported before one of its arrays is met."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _core
from ._asked import asked
from ._core import BadInput

_ON_A_GPU = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged
_LEGACY, _PER_THREAD = 1, 2  # of __cuda_array_interface__


class DeviceArray(NamedTuple):
    """An array where it lies: in C order, or with strides."""

    source: Any
    """Keeps the memory."""
    data: int
    shape: tuple[int, ...]
    stream: int
    """What is done with it comes after what this stream has; 0: the default one."""
    device: str
    """``"cuda:0"``"""
    strides: tuple[int, ...] | None = None
    """From element to element along each axis; None: C order."""


def is_on_gpu(values: Any) -> bool:
    if isinstance(values, (np.ndarray, list, tuple)):
        return False
    if hasattr(values, "__cuda_array_interface__"):
        return True
    return hasattr(values, "__dlpack_device__") and int(values.__dlpack_device__()[0]) in _ON_A_GPU


def on_device(values: Any, name: str, dtype: DTypeLike | None, any_order: bool = False) -> DeviceArray:
    """The array where it lies; one of another type (None: any) is converted there, by its own library, and so is one of another
    order than C unless that is taken.

    Raises:
        BadInput: a build for the CPU alone, an array of a library that is not known, numbers that the type does not hold.
    """
    if not _core.built_with_cuda:
        raise BadInput(
            f"{name}: the array is in a GPU's memory, and this Warploom was built for the CPU alone: bring it to the host "
            "(x.get(), x.cpu()), or build with pip install . -C cmake.define.WARPLOOM_CUDA=ON"
        )
    library = _library(values, name)
    wanted = np.dtype(str(values.dtype).removeprefix("torch.") if dtype is None else dtype)
    if library == "torch":
        torch: Any = sys.modules["torch"]
        array = values.detach()
        if array.dtype != getattr(torch, wanted.name):
            array = _same_numbers(array, array.to(getattr(torch, wanted.name)), wanted, name)
        if not any_order:
            array = array.contiguous()
        return DeviceArray(
            array, array.data_ptr(), tuple(array.shape), torch.cuda.current_stream(array.device).cuda_stream,
            f"cuda:{array.device.index}", None if array.is_contiguous() else tuple(array.stride()),
        )
    array = values
    if library == "cupy":
        cupy: Any = sys.modules["cupy"]
        if array.dtype != wanted:
            if array.dtype.kind not in "buif":
                raise BadInput(f"{name}: elements of type {array.dtype}: expected numbers that {wanted} holds")
            array = _same_numbers(array, array.astype(wanted), wanted, name)
        array, device = array if any_order and _whole_strides(array) else cupy.ascontiguousarray(array), array.device.id
    else:
        if array.dtype != wanted or not (array.is_c_contiguous() or (any_order and _whole_strides(array))):
            raise BadInput(
                f"{name}: expected an array of {wanted} in the order that is read where it lies; cupy.asarray(x) is one that is converted there"
            )
        device = sys.modules["numba"].cuda.current_context().device.id
    told = array.__cuda_array_interface__
    return DeviceArray(
        array, told["data"][0], tuple(told["shape"]), _stream(told.get("stream"), library), f"cuda:{device}",
        None if _is_in_c_order(array) else tuple(step // wanted.itemsize for step in told["strides"]),
    )


def _whole_strides(array: Any) -> bool:
    return all(step % array.dtype.itemsize == 0 for step in array.strides)


def _is_in_c_order(array: Any) -> bool:
    if hasattr(array, "is_c_contiguous"):  # numba's, whose flags are another thing
        return bool(array.is_c_contiguous())
    return bool(array.flags.c_contiguous)


def _same_numbers(before: Any, after: Any, wanted: np.dtype[Any], name: str) -> Any:
    """Whole numbers are never cut from fractions, nor from larger ones."""
    if wanted.kind in "iu" and not bool((after == before).all()):
        raise BadInput(f"{name}: not all of its numbers are whole ones that {wanted} holds")
    return after


def empty(like: DeviceArray, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
    """An array of the same library on the same GPU."""
    wanted, library = np.dtype(dtype), _library(like.source, "")
    if library == "torch":
        torch: Any = sys.modules["torch"]
        made = torch.empty(shape, dtype=getattr(torch, wanted.name), device=like.source.device)
        data = made.data_ptr()
    elif library == "cupy":
        with like.source.device:
            made = sys.modules["cupy"].empty(shape, wanted)
        data = made.data.ptr
    else:
        made = sys.modules["numba"].cuda.device_array(shape, wanted)
        data = made.__cuda_array_interface__["data"][0]
    return DeviceArray(made, data or 0, shape, like.stream, like.device)


class _Turned:
    """What numba makes an array of, whose own ``.T`` has two dimensions at most."""

    def __init__(self, values: Any) -> None:
        self.source = values
        self.__cuda_array_interface__ = {
            **values.__cuda_array_interface__, "shape": tuple(values.shape)[::-1], "strides": tuple(values.strides)[::-1],
        }


def turned(values: Any) -> Any:
    """The same with its axes in the opposite order."""
    library = _library(values, "")
    if library == "torch":
        return values.permute(*reversed(range(values.ndim)))
    return values.T if library == "cupy" else sys.modules["numba"].cuda.as_cuda_array(_Turned(values))


def fetched(values: DeviceArray) -> NDArray[np.float32]:
    """A copy of float32 on the host, in C order, after what the array's stream has. At most four axes."""
    made = np.empty(values.shape, np.float32)
    if made.size:
        one, none = (1,) * (4 - made.ndim), (0,) * (4 - made.ndim)
        strides = None if values.strides is None else none + values.strides
        _core.fetch(values.data, one + values.shape, strides, values.stream, made.reshape(-1), asked(values.device, 0, None))
    return made


def sent(values: NDArray[Any], like: Any) -> Any:
    """A copy where ``like`` is, an array of its library; the values themselves where it is on the host."""
    if not is_on_gpu(like):
        return values
    library = _library(like, "like")
    if library == "torch":
        return sys.modules["torch"].from_numpy(np.ascontiguousarray(values)).to(like.device)
    if library == "cupy":
        with like.device:
            return sys.modules["cupy"].asarray(values)
    return sys.modules["numba"].cuda.to_device(np.ascontiguousarray(values))


def device_of(values: DeviceArray, device: str, name: str) -> str:
    """Where the work is: where the array lies."""
    if device not in ("auto", "cuda", values.device):
        raise BadInput(f"device: '{device}', but {name} is in the memory of {values.device}: bring it to the host (x.get(), x.cpu())")
    return values.device


def brought(values: Any, name: str) -> Any:
    """A copy on the host."""
    library = _library(values, name)
    if library == "torch":
        return values.detach().cpu().numpy()
    return values.get() if library == "cupy" else values.copy_to_host()


def _library(values: Any, name: str) -> str:
    root = type(values).__module__.partition(".")[0]
    if root in ("cupy", "torch"):
        return root
    if root.startswith("numba"):
        return "numba"
    raise BadInput(f"{name}: arrays of {root} on a GPU are not known: give cupy.from_dlpack(x) or torch.from_dlpack(x)")


def _stream(stream: int | None, library: str) -> int:
    """Work is on threads of our own, whose per-thread stream is another: that of the caller's is waited for."""
    if stream == _PER_THREAD:
        if library == "cupy":
            sys.modules["cupy"].cuda.Stream.ptds.synchronize()
        else:
            sys.modules["numba"].cuda.per_thread_default_stream().synchronize()
        return _LEGACY
    return stream or 0
