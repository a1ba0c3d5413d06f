"""Search in recordings of several channels, and distances of sequences, by dynamic time warping."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import numbers
from ._asked import Progress, asked
from ._core import BadInput


def _sequences(values: ArrayLike, name: str) -> NDArray[np.float32]:
    array = numbers(values, name, np.float32)
    if array.ndim == 2:
        return array[:, np.newaxis, :]
    if array.ndim != 3:
        raise BadInput(f"{name}: shape {list(array.shape)}, expected [n, samples] or [n, channels, samples]")
    return array


def distance_matrix(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    band: float = 0.05,
    *,
    normalize: bool = True,
    warping: str = "together",
    out: NDArray[np.float32] | None = None,
    threads: int = 0,
    progress: Progress = None,
) -> NDArray[np.float32]:
    """Dynamic time warping distances of all pairs of sequences, float32 [n, k].

    The distance is ``sqrt(D / (m c))`` for sequences of m samples and c channels, D the least sum of squared differences
    along a path with steps (1,0), (0,1) and (1,1), of weight 1 each: that of ``warploom search``. So
    ``distance**2 * m * c`` is what aeon calls the DTW distance, and ``distance * sqrt(m * c)`` what tslearn does.

    Args:
        X: [n, m] or [n, channels, m], finite; float32 in C order is not copied if neither normalised nor of several channels.
        Y: [k, m] or [k, channels, m]. None: X itself; half of the distances are computed then.
        band: half-width of the Sakoe-Chiba band, as a share of m; 1 and above: none.
        normalize: bring each channel of each sequence to mean 0 and deviation 1 first.
        warping: of several channels ``"together"``, one path for all, or ``"each"``, a path for each.
        out: where to write, [n, k] float32 in C order; it is returned.
        threads: 0: one a processor.

    The CPU alone. Single precision, within 1e-4 (relative); bits do not depend on the number of threads.

    Raises:
        BadInput: shapes that do not fit, a sample that is not finite.

    With scikit-learn: ``KNeighborsClassifier(1, metric="precomputed").fit(distance_matrix(train), labels)``.
    """
    x = _sequences(X, "X")
    y = x if Y is None else _sequences(Y, "Y")
    if warping not in ("together", "each"):
        raise BadInput(f"warping: '{warping}' is none: together or each")
    if out is None:
        out = np.empty((x.shape[0], y.shape[0]), np.float32)
    elif not _writable(out, (x.shape[0], y.shape[0])):
        raise BadInput(f"out: expected a float32 array in C order of shape [{x.shape[0]}, {y.shape[0]}] that can be written")
    _core.distance_matrix(x, y, out, float(band), normalize, warping == "each", asked("auto", threads, progress))
    return out


def _writable(out: Any, shape: tuple[int, int]) -> bool:
    return (
        isinstance(out, np.ndarray) and out.dtype == np.float32 and out.shape == shape
        and bool(out.flags.c_contiguous) and bool(out.flags.writeable)
    )
