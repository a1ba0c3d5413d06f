"""Search in recordings of several channels, and distances of sequences, by dynamic time warping."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple, Sequence, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import numbers
from ._asked import Progress, asked
from ._core import BadInput
from ._device_arrays import sent
from ._recordings import recorded, samples_of


def _sequences(values: ArrayLike, name: str) -> NDArray[np.float32]:
    array = numbers(values, name, np.float32, any_order=True)
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
        X: [n, m] or [n, channels, m], finite; float32 in C order is not copied if neither normalised nor of several channels. An array in a
            GPU's memory is copied to the host, and the distances are copied to where it is.
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
    if y.shape[1:] != x.shape[1:]:
        raise BadInput(f"Y: {_each(y)} a sequence, and X has {_each(x)}")
    if warping not in ("together", "each"):
        raise BadInput(f"warping: '{warping}' is none: together or each")
    given = out is not None
    if out is None:
        out = np.empty((x.shape[0], y.shape[0]), np.float32)
    elif not _writable(out, (x.shape[0], y.shape[0])):
        raise BadInput(f"out: expected a float32 array in C order of shape [{x.shape[0]}, {y.shape[0]}] that can be written")
    _core.distance_matrix(x, y, out, float(band), normalize, warping == "each", asked("auto", threads, progress))
    return out if given else sent(out, X)


def _each(sequences: NDArray[np.float32]) -> str:
    _, channels, samples = sequences.shape
    return f"{samples} samples" if channels == 1 else f"{channels} channels of {samples} samples"


def _writable(out: Any, shape: tuple[int, int]) -> bool:
    return (
        isinstance(out, np.ndarray) and out.dtype == np.float32 and out.shape == shape
        and bool(out.flags.c_contiguous) and bool(out.flags.writeable)
    )


class Pair(NamedTuple):
    """A channel of the query, found in a channel of the recording."""

    query_channel: str
    channel: str
    offset: int
    """Where it begins [samples of the recording]."""
    length: int
    distance: float
    scale: float
    """Its length in the recording, over its length in the query."""
    switched: bool
    """Found in another channel than its own."""
    negated: bool


@dataclass(frozen=True, eq=False)
class Match:
    """A place where the query occurs."""

    onset: float
    """[s], or samples where no rate is known."""
    duration: float
    first: int
    """First sample, and one past the last."""
    last: int
    matched: int
    """Channels of the query that were found, of ``channels``."""
    channels: int
    coverage: float
    """Share of the query's samples that was found."""
    score: float
    """The distance: less is nearer."""
    chance: float | None
    """Places as near as this that are to be expected where the query does not occur; of ``match="auto"``."""
    self: bool
    """Lies where the query was taken from; known of files alone."""
    pairs: list[Pair] = field(repr=False)


class Matches(Sequence[Match]):
    """Matches, best first."""

    def __init__(self, matches: list[Match], remarks: list[str], gains: Sequence[float] = ()) -> None:
        self._matches = matches
        self.remarks = remarks
        """What a person should know: channels that are constant, how the recording was read."""
        self.gains = list(gains)
        """What each channel of the query was multiplied by to be in the recording's units; of ``match="auto"``."""

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> list[Match]: ...
    def __getitem__(self, index: int | slice) -> Match | list[Match]:
        return self._matches[index]

    def __len__(self) -> int:
        return len(self._matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self._matches)

    def __repr__(self) -> str:
        rows = [f"{m.onset:10.3f} {m.duration:9.3f} {m.matched:5}/{m.channels} {m.score:10.4g}" for m in self]
        return "\n".join(["     onset  duration channels    score", *rows])

    def to_pandas(self) -> Any:
        """A DataFrame: onset, duration, channels, score, a row a match."""
        import importlib

        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame(
            {"onset": [m.onset for m in self], "duration": [m.duration for m in self],
             "channels": [m.matched for m in self], "score": [m.score for m in self]}
        )


def _gain_of(gain: float | str, match: str) -> float | None:
    """None: to be found out."""
    if isinstance(gain, str):
        if gain != "auto":
            raise BadInput(f"gain: '{gain}' is neither \"auto\" nor a factor")
        return None
    if not 1e-12 <= gain <= 1e12:
        raise BadInput(f"gain: {gain} is not within 1e-12 and 1e12")
    if match != "auto":
        raise BadInput(f"gain: of match=\"auto\", and match=\"{match}\" compares shapes alone: leave it out")
    return float(gain)


class Index:
    """A recording made ready to be searched; cannot be pickled.

    Args:
        recording: [channels, samples] (NaN: missing) with ``fs`` [Hz], an mne.io.Raw, a wfdb.Record, a DataFrame with a column a
            channel (its index of times gives ``fs``), or a file: CSV, EDF, BDF, WFDB, C3D, MATLAB, NPY. A float32 array in C order is
            read where it is, and kept; other numbers are copied, as float32.
        fs: of arrays; None: not known, and times are samples.
    """

    def __init__(self, recording: Any, fs: float | None = None) -> None:
        self._recorded = recorded(recording, fs, "recording")

    @property
    def channels(self) -> list[str]:
        """Names, or "channel 1"."""
        return self._recorded.channels()

    @property
    def fs(self) -> float | None:
        """[Hz]"""
        return self._recorded.rate()

    @property
    def samples(self) -> NDArray[np.float32]:
        """[channels, samples], a copy."""
        return self._recorded.samples()

    @property
    def annotations(self) -> list[tuple[float, float, str]]:
        """Onset [s], duration [s] and label, of files that have some."""
        return self._recorded.annotations()

    def find(
        self,
        query: Any,
        best: int = 20,
        band: float = 0.05,
        *,
        match: str = "auto",
        exclusion: float = 0.5,
        max_lag: float = 0.5,
        neighbours: int = 3,
        scales: Sequence[float] = (1.0,),
        negated: bool = True,
        segments: int = 1,
        max_distance: float | None = None,
        significance: float = 0.05,
        only_significant: bool = False,
        normalize: bool = True,
        gain: float | str = "auto",
        query_fs: float | None = None,
        device: str = "auto",
        threads: int = 0,
        progress: Progress = None,
    ) -> Matches:
        """Where a pattern of several channels occurs, as ``warploom search`` finds it, exactly.

        Args:
            query: as a recording, at least four samples, finite; or ``(from, to)``, a stretch of the recording itself [s].
            best: places wanted.
            band: half-width of the Sakoe-Chiba band, as a share of the query's length.
            match: ``"in-place"``: each channel in its own, all on one path; ``"free"``: each wherever and whenever it comes;
                ``"auto"``: in place, unless another reading of the recording is nearer than chance explains.
            exclusion: places begin farther apart than this share of the query's length.
            max_lag: between the channels of one match, as a share of the query's length.
            neighbours: a channel may be found in its own and so many to either side.
            scales: lengths of the query to try, in times its own.
            negated: a channel may be found with its sign changed.
            segments: of ``"free"``: parts of the query that are searched as well.
            max_distance, significance: which pairs of channels count.
            only_significant: of ``"auto"``: leave out what is not.
            normalize: bring each channel of query and window to mean 0 and deviation 1.
            gain: of ``"auto"``: what the query is multiplied by to be in the recording's units (1: it is). ``"auto"``: found out where the
                query is larger or smaller than all of the recording; what was found is in the result's ``gains``.
            query_fs: of a query that is an array; None: the recording's.

        Raises:
            BadInput: a query longer than the recording, not finite or constant; other channels.
        """
        factor = _gain_of(gain, match)
        stretch, other = None, None
        if isinstance(query, tuple) and len(query) == 2 and all(isinstance(end, (int, float)) for end in query):
            stretch = (float(query[0]), float(query[1]))
        else:
            other = recorded(query, query_fs if query_fs is not None else self.fs, "query")
            if (wanted := len(other.channels())) > (there := len(self.channels)):
                raise BadInput(f"query: {wanted} channels, and the recording has {there}: give those of it that are to be found, as query[:{there}]")
        matches, remarks, names, gains = self._recorded.find(
            other, stretch, best, band, exclusion, max_lag, neighbours, list(scales), negated, segments, max_distance,
            significance, only_significant, match, normalize, factor, asked(device, threads, progress),
        )
        of_query = (other or self._recorded).channels()
        found = []
        for onset, duration, first, last, matched, channels, coverage, score, chance, own, pairs in matches:
            named = [
                Pair(of_query[q], names[c], offset, length, distance, scale, switched, negative)
                for q, c, offset, length, distance, scale, switched, negative in pairs
            ]
            found.append(Match(onset, duration, first, last, matched, channels, coverage, score, chance, own, named))
        return Matches(found, remarks, gains)

    def __reduce__(self) -> Any:
        raise TypeError("an Index is not pickled: keep its samples and fs")


def search(
    recording: Any, query: Any, best: int = 20, band: float = 0.05, *, fs: float | None = None, **options: Any
) -> Matches:
    """Where a pattern of several channels occurs in a recording: ``Index(recording, fs).find(query, best, band, **options)``.

    >>> walk = np.sin(np.arange(4000) / 10) + np.random.default_rng(1).normal(size=(2, 4000)) / 10
    >>> search(walk, walk[:, 1000:1063], best=3)[0].first
    1000
    """
    during: list[Any] = []
    index = Index.__new__(Index)
    index._recorded = recorded(recording, fs, "recording", during)
    return index.find(query, best, band, **options)


def distance_profile(
    recording: Any, query: Any, band: float = 0.05, *, normalize: bool = True, warping: str = "together", threads: int = 0,
    progress: Progress = None,
) -> NDArray[np.float32]:
    """The distance of a query from every window of a recording, float32 [samples - m + 1]; with ``band=0`` Euclidean.

    Args:
        recording: [channels, samples] or [samples]; float32 in C order is not copied. NaN: missing; windows that touch one are
            infinitely far. Or as :class:`Index` has it, but no file.
        query: as many channels, m samples, finite.
        band, normalize, warping: as of :func:`distance_matrix`, and so is the distance.

    The CPU alone; a recording in a GPU's memory is copied to the host, and the distances to where it is.
    """
    samples, _, _ = samples_of(recording, None, "recording")
    looked_for, _, _ = samples_of(query, None, "query")
    if warping not in ("together", "each"):
        raise BadInput(f"warping: '{warping}' is none: together or each")
    windows = samples.shape[1] - looked_for.shape[1] + 1
    if windows < 1:
        raise BadInput(f"query: {looked_for.shape[1]} samples, and the recording has {samples.shape[1]}")
    out = np.empty(windows, np.float32)
    _core.profile(samples, looked_for, out, band, normalize, warping == "each", asked("cpu", threads, progress))
    return sent(out, recording)  # type: ignore[no-any-return]
