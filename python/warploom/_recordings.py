"""Recordings of every kind: arrays, files, mne's, wfdb's, pandas', none of which is imported before one is met."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import numbers
from ._core import BadInput

Samples = NDArray[np.float32]


def samples_of(recording: Any, fs: float | None, name: str) -> tuple[Samples, list[str], float | None]:
    """[channels, samples], the channels' names or none, and the rate [Hz], if it is known."""
    if hasattr(recording, "get_data") and hasattr(recording, "ch_names"):  # mne.io.Raw, [channels, samples]
        return numbers(recording.get_data(), name, np.float32), list(recording.ch_names), float(recording.info["sfreq"])
    if hasattr(recording, "p_signal") and hasattr(recording, "sig_name"):  # wfdb.Record, [samples, channels]
        return numbers(recording.p_signal.T, name, np.float32), list(recording.sig_name), float(recording.fs)
    if hasattr(recording, "columns") and hasattr(recording, "to_numpy"):  # pandas, [samples, channels]
        names = [str(column) for column in recording.columns]
        return numbers(recording.to_numpy().T, name, np.float32), names, fs if fs is not None else _rate_of(recording.index)
    array = numbers(recording, name, np.float32)
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


def recorded(recording: Any, fs: float | None, name: str) -> _core.Recorded:
    """What the search takes: an array of float32 in C order as it is, else a copy."""
    if isinstance(recording, (str, os.PathLike)):
        return _core.Recorded(os.fspath(recording), fs)
    samples, names, rate = samples_of(recording, fs, name)
    return _core.Recorded(samples, names, rate, f"<{name}>")
