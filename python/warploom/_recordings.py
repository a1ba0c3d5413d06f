"""Recordings of every kind: arrays, files, mne's, wfdb's, pandas', none of which is imported before one is met."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import numbers
from ._core import BadInput
from ._device_arrays import fetched, is_on_gpu, on_device

Samples = NDArray[np.float32]


def samples_of(recording: Any, fs: float | None, name: str) -> tuple[Samples, list[str], float | None]:
    """[channels, samples] with a channel's samples side by side, the channels' names or none, and the rate [Hz], if it is known."""
    samples, names, rate = _samples_of(recording, fs, name)
    return samples if samples.shape[1] < 2 or samples.strides[1] == samples.itemsize else np.ascontiguousarray(samples), names, rate


def _samples_of(recording: Any, fs: float | None, name: str) -> tuple[Samples, list[str], float | None]:
    if hasattr(recording, "get_data") and hasattr(recording, "ch_names"):  # mne.io.Raw, [channels, samples]
        return numbers(recording.get_data(), name, np.float32, any_order=True), list(recording.ch_names), float(recording.info["sfreq"])
    if hasattr(recording, "p_signal") and hasattr(recording, "sig_name"):  # wfdb.Record, [samples, channels]
        return numbers(recording.p_signal.T, name, np.float32, any_order=True), list(recording.sig_name), float(recording.fs)
    if hasattr(recording, "columns") and hasattr(recording, "to_numpy"):  # pandas, [samples, channels]
        names = [str(column) for column in recording.columns]
        return numbers(recording.to_numpy().T, name, np.float32, any_order=True), names, fs if fs is not None else _rate_of(recording.index)
    array = numbers(recording, name, np.float32, any_order=True)
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2:
        raise BadInput(f"{name}: shape {list(array.shape)}, expected [channels, samples] or [samples]")
    if array.shape[1] < 4 <= array.shape[0]:
        raise BadInput(f"{name}: shape {list(array.shape)}, so {array.shape[1]} samples of {array.shape[0]} channels: expected [channels, samples]")
    return array, [], fs


def _rate_of(index: Any) -> float | None:
    """Of a pandas index of times; None where it is none, or counts."""
    times = np.asarray(index)
    if len(times) < 2 or times.dtype.kind not in "mMf":
        return None
    steps = np.diff(times)
    if times.dtype.kind in "mM":
        steps = steps / np.timedelta64(1, "ns") * 1e-9
    step = float(np.median(steps))
    if not step > 0 or np.abs(steps - step).max() > 0.5 * step:
        raise BadInput("the index: times do not grow evenly: resample, or give fs")
    return float((len(times) - 1) / steps.sum())


def recorded(recording: Any, fs: float | None, name: str, during: list[Any] | None = None) -> _core.Recorded:
    """What the search takes: an array of float32, a channel's samples side by side, as it is, else a copy.

    Args:
        during: of a call that nobody can change the recording in: samples in a GPU's memory are read there, too, and what keeps
            them is put in.
    """
    if isinstance(recording, (str, os.PathLike)):
        return _core.Recorded(os.fspath(recording), fs)
    if during is None or not (_core.built_with_cuda and is_on_gpu(recording) and recording.ndim == 2):
        samples, names, rate = samples_of(recording, fs, name)
        return _core.Recorded(samples, names, rate, f"<{name}>", 0, 0)
    there = on_device(recording, name, np.float32, any_order=True)
    during.append(there.source)
    samples, names, rate = samples_of(fetched(there), fs, name)
    apart, step = there.strides or (there.shape[1], 1)
    return _core.Recorded(samples, names, rate, f"<{name}>", there.data if step == 1 else 0, apart)
