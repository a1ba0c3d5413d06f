"""A parallel hash table, and counting with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _core
from ._arrays import numbers
from ._asked import Progress, asked
from ._core import BadInput, OutOfMemory
from ._device_arrays import empty, is_on_gpu, on_device

OPERATIONS = ("find", "insert", "erase", "assign", "add", "min", "max")
OUTCOMES = ("absent", "found", "inserted", "erased", "updated", "full", "invalid")


class Outcomes(NamedTuple):
    """What became of a batch."""

    outcomes: Any
    """[n] uint8, places in ``warploom.HashTable.OUTCOMES``: 0 absent, 1 found, 2 inserted, 3 erased, 4 updated."""
    values: Any
    """[n] of found, and of updated before they were; 0 elsewhere. Both are NumPy arrays, or where keys are on a GPU arrays
    there of the keys' library."""


class HashTable:
    """Unsigned integers to unsigned integers, whole batches of operations at once on all processors.

    The operations of a batch are concurrent: those on one key take effect in some order. One call at a time.

    Args:
        key, value: types: ``"u4"`` or ``"u8"``.
        capacity: pairs to make room for. The table grows beyond it, unless ``grows`` is False: then an insertion that finds no
            room is an OutOfMemory.
        device: where it lives. ``"auto"``: on a GPU where batches of ``capacity`` operations take less time there, or where the first
            keys are.

    >>> table = HashTable()
    >>> table.insert([3, 5], [30, 50]).values.tolist()
    [0, 0]
    >>> table.find([5, 7]).outcomes.tolist()
    [1, 0]
    """

    OPERATIONS = OPERATIONS
    OUTCOMES = OUTCOMES

    def __init__(
        self, key: DTypeLike = "u4", value: DTypeLike = "u4", capacity: int = 1 << 16, *, grows: bool = True,
        device: str = "auto", threads: int = 0,
    ) -> None:
        self.key, self.value = np.dtype(key), np.dtype(value)
        name = f"Table_{self.key.str[1:]}_{self.value.str[1:]}"
        if not hasattr(_core, name):
            raise BadInput(f"key {key}, value {value}: each is u4 or u8")
        if capacity < 0:
            raise BadInput(f"capacity: {capacity} is below 0")

        def on(place: str) -> Any:
            return getattr(_core, name)(capacity, grows, asked(place, threads, None))

        self._on, self._auto = on, device == "auto"
        self._table = on(device)

    def find(self, keys: ArrayLike) -> Outcomes:
        """Values of keys: found, or absent."""
        return self.run("find", keys)

    def insert(self, keys: ArrayLike, values: ArrayLike | None = None) -> Outcomes:
        """Pairs whose key is not there: inserted, or found, with the value that stays. Without values they are 0."""
        return self.run("insert", keys, values)

    def assign(self, keys: ArrayLike, values: ArrayLike) -> Outcomes:
        """Pairs, whatever was there: inserted, or updated, with the value before."""
        return self.run("assign", keys, values)

    def add(self, keys: ArrayLike, values: ArrayLike) -> Outcomes:
        """Adds to each key's value (wrapping): updated, with the value before, or inserted."""
        return self.run("add", keys, values)

    def erase(self, keys: ArrayLike) -> Outcomes:
        """Erased or absent."""
        return self.run("erase", keys)

    def run(self, operation: str | ArrayLike, keys: ArrayLike, values: ArrayLike | None = None) -> Outcomes:
        """A batch: one operation for all by its name, or [n] places in ``OPERATIONS``. Keys [n] of the key's type are not copied.

        Keys may be in the memory of the table's GPU (of a CuPy, PyTorch or Numba array), values and operations with them; the
        batch comes after what their stream has, and is done when this returns.

        Raises:
            BadInput: no such operation, lengths that differ, numbers that are not whole or too large for the type.
            OutOfMemory: an insertion found no room; the others were done.
        """
        if is_on_gpu(keys):
            return self._run_on_gpu(operation, keys, values)
        some = numbers(keys, "keys", self.key)
        given = None if values is None else numbers(values, "values", self.value)
        outcomes, found = np.empty(some.shape, np.uint8), np.empty(some.shape, self.value)
        if isinstance(operation, str):
            full = self._table.run(_place(operation), some, given, outcomes, found)
        else:
            full = self._table.run_each(numbers(operation, "operation", np.uint8), some, given, outcomes, found)
        _refuse_full(full, some.size)
        return Outcomes(outcomes, found)

    def _run_on_gpu(self, operation: str | ArrayLike, keys: Any, values: Any) -> Outcomes:
        """The same of arrays in the memory of the table's GPU, and results there."""
        some = on_device(keys, "keys", self.key)
        if len(some.shape) != 1:
            raise BadInput(f"keys: shape {list(some.shape)}, expected [n]")
        if self._auto and not len(self) and "on cuda" not in self._table.description():
            self._table = self._on(some.device)
        place, each, given = 0, 0, 0
        kept = []  # until the batch is done
        for name, given_values, dtype in (("values", values, self.value), ("operation", operation, np.dtype(np.uint8))):
            if given_values is None or isinstance(given_values, str):
                continue
            if not is_on_gpu(given_values):
                raise BadInput(f"{name}: an array on the host, and keys are in a GPU's memory: bring it there (cupy.asarray(x))")
            array = on_device(given_values, name, dtype)
            if array.shape != some.shape or array.device != some.device:
                raise BadInput(f"{name}: shape {list(array.shape)} on {array.device}, expected {list(some.shape)} on {some.device}, as keys")
            kept.append(array)
            if name == "values":
                given = array.data
            else:
                each = array.data
        if isinstance(operation, str):
            place = _place(operation)
        outcomes, found = empty(some, some.shape, np.uint8), empty(some, some.shape, self.value)
        full = self._table.run_on_gpu(place, some.shape[0], each, some.data, given, outcomes.data, found.data, some.stream)
        _refuse_full(full, some.shape[0])
        return Outcomes(outcomes.source, found.source)

    def items(self, *, like: Any = None) -> tuple[Any, Any]:
        """All keys and their values, in no particular order: NumPy arrays, or with ``like=`` an array in the memory of the table's
        GPU, arrays of its library there."""
        if like is None or not is_on_gpu(like):
            return self._table.items()  # type: ignore[no-any-return]
        some = on_device(like, "like", None)
        count = len(self)
        keys, values = empty(some, (count,), self.key), empty(some, (count,), self.value)
        self._table.items_on_gpu(keys.data, values.data, count, some.stream)
        return keys.source, values.source

    def clear(self) -> None:
        """Erases all."""
        self._table.clear()

    def reserve(self, pairs: int) -> None:
        """Makes room. Never shrinks."""
        self._table.reserve(pairs)

    def __len__(self) -> int:
        return self._table.size()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<HashTable of {len(self)} pairs, {self._table.description()}>"

    def __reduce__(self) -> Any:
        raise TypeError("a HashTable is not pickled: keep its items()")


def _place(operation: str) -> int:
    if operation not in OPERATIONS:
        raise BadInput(f"operation: '{operation}' is none of {', '.join(OPERATIONS)}")
    return OPERATIONS.index(operation)


def _refuse_full(full: int, of: int) -> None:
    if full:
        raise OutOfMemory(f"{full} of {of} insertions found no room: give a larger capacity, or grows=True")


class Counts(NamedTuple):
    """How often words came."""

    words: list[str]
    """The most frequent first, of equally frequent ones the lesser."""
    counts: NDArray[np.uint64]
    total: int
    """Words, with repetitions."""
    different: int
    histogram: NDArray[np.uint64] = np.empty(0, np.uint64)
    """[i]: how many different words came i + 1 times; the last: so often or more often."""


def kmers(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], k: int, *, canonical: bool = False, top: int = 20,
    min_count: int = 1, min_quality: int = 0, bins: int = 0, device: str = "auto", threads: int = 0,
    progress: Progress = None,
) -> Counts:
    """Counts the words of k bases of the sequences of FASTA and FASTQ files, perhaps gzipped; exact.

    26 to 41 ns of a core a word of 21 bases, reading included; files are read piece by piece, whatever their size.

    Args:
        path: a file or several, which are counted together.
        k: 1 to 63, on a GPU to 31.
        canonical: a word and its reverse complement are the same, written as the lesser of the two.
        top: how many to list; 0: all.
        min_count: those listed came as often at least.
        min_quality: bases of FASTQ with less are as N.
        bins: of `histogram`; how many different words came once, twice, ..., `bins` times or more often.
        device: a GPU counts where "cuda" is said.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    words, counts, total, different, histogram = _core.kmers(
        [os.fspath(one) for one in paths], k, canonical, top, min_count, min_quality, bins, asked(device, threads, progress))
    return Counts(words, counts, total, different, histogram)
