"""Dynamic programmes of the form ``m[i,j] = w(i,j) + best over k of m[i,k] + m[k,j]``, solved exactly.

Every call takes ``device`` (``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"``), ``threads`` (0: one a processor) and
``progress``. Results do not depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, NamedTuple, Sequence, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import numbers, on_host
from ._asked import Progress, asked
from ._core import BadInput
from ._device_arrays import sent

__all__ = [
    "Chain", "Report", "SearchTree", "Solution", "Structure", "Triangulation",
    "chain", "nussinov", "polygon", "search_tree", "solve",
]

Number = Union[int, float]
Integers = NDArray[np.int64]


class Report(NamedTuple):
    """What solving took."""

    device: str
    decomposition: str
    block: int
    """Edge of a block [cells]."""
    storage: str
    """How cells were stored: ``"int16"``, ``"int32"``, ..."""
    fallback: str
    """Why narrow storage did not do; empty where it did."""
    pairs: float
    """Additions with their minimum that the recurrence asks for."""
    seconds: float
    bytes: int


@dataclass(eq=False)  # frozen ones take a microsecond more to make
class Chain:
    """In which order to multiply a chain of matrices."""

    optimum: Number
    """Multiplications of numbers, the fewest that are possible."""
    left_to_right: Number
    """The same for ``((A1 A2) A3) ...``."""
    structure: str
    """``"((A1 (A2 A3)) A4)"``"""
    type: str
    """What was computed in: ``"int32"``, ``"int64"``, ``"float32"`` or ``"float64"``."""
    report: Report = field(repr=False)
    _splits: Integers = field(repr=False)

    def trace(self) -> Integers:
        """The products, [n - 1, 3]: rows i, k, j say that A_i+1 .. A_k is multiplied by A_k+1 .. A_j."""
        return self._splits


def chain(
    dims: ArrayLike, *, type: str = "auto", device: str = "auto", threads: int = 0, progress: Progress = None
) -> Chain:
    """The order of multiplying n matrices that needs the fewest multiplications of numbers.

    Args:
        dims: [n + 1] whole numbers of at least 1; matrix k is ``dims[k-1]`` x ``dims[k]``.
        type: ``"int32"``, ``"int64"``, ``"float32"``, ``"float64"``, or ``"auto"``: the smaller integer that holds all costs.

    Raises:
        BadInput: no matrix, a number below 1, costs beyond the type's range.

    >>> chain([30, 35, 15, 5, 10, 20, 25]).structure
    '((A1 (A2 A3)) ((A4 A5) A6))'
    """
    given = numbers(dims, "dims", np.int64)
    splits = np.empty((max(given.size - 2, 0), 3), np.int64)
    cost, left, structure, took, report = _core.chain(given, splits, type, asked(device, threads, progress))
    return Chain(cost, left, structure, took, Report(*report), splits)


@dataclass(eq=False)  # frozen ones take a microsecond more to make
class Structure:
    """A secondary structure of an RNA without pseudoknots."""

    optimum: int
    """What the pairs count together."""
    pairs: int
    sequence: str
    """In capitals, U for T."""
    structure: str
    """Dot-bracket: ``"((..(...)))"``."""
    partner: Integers = field(repr=False)
    """[n], of each base from 0; -1 where it is unpaired."""
    report: Report = field(repr=False)

    def trace(self) -> Integers:
        """The pairs, [pairs, 2], the first base below the second, by the first."""
        first = np.flatnonzero(self.partner > np.arange(len(self.partner)))
        return np.column_stack([first, self.partner[first]])


@overload
def nussinov(
    seq: str, *, min_loop: int = ..., weights: Sequence[int] = ..., gu: bool = ..., allow_n: bool = ...,
    device: str = ..., threads: int = ..., progress: Progress = ...,
) -> Structure: ...
@overload
def nussinov(
    seq: List[str], *, min_loop: int = ..., weights: Sequence[int] = ..., gu: bool = ..., allow_n: bool = ...,
    device: str = ..., threads: int = ..., progress: Progress = ...,
) -> List[Structure]: ...
def nussinov(
    seq: Union[str, List[str]],
    *,
    min_loop: int = 3,
    weights: Sequence[int] = (1, 1, 1),
    gu: bool = True,
    allow_n: bool = False,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Union[Structure, List[Structure]]:
    """The structure whose base pairs count most (Nussinov's recurrence): no prediction of the fold.

    Args:
        seq: letters A, C, G, U and T; or several such sequences, which are solved together.
        min_loop: unpaired bases that a pair encloses at least.
        weights: what a G-C, an A-U and a G-U pair count, whole numbers of at least 0; of 0 none form.
        gu: False: no G-U pairs, whatever they count.
        allow_n: accept N, which pairs with nothing.

    Raises:
        BadInput: another letter, an empty sequence, numbers below 0.
    """
    if len(weights) != 3:
        raise BadInput(f"weights: {len(weights)} numbers: three are expected, of G-C, A-U and G-U pairs")
    gc, au, of_gu = map(int, weights)
    several = [seq] if isinstance(seq, str) else list(seq)
    partners = [np.empty(len(str(one).encode()), np.int64) for one in several]
    solved = _core.nussinov(
        several, partners, min_loop, (gc, au, of_gu if gu else 0), allow_n, asked(device, threads, progress)
    )
    found = [
        Structure(score, pairs, sequence, structure, partner, Report(*report))
        for (score, pairs, sequence, structure, report), partner in zip(solved, partners)
    ]
    return found[0] if isinstance(seq, str) else found


@dataclass(eq=False)  # frozen ones take a microsecond more to make
class Triangulation:
    """Of a simple polygon."""

    optimum: float
    """The diagonals' lengths together [the points' unit], the least that is possible."""
    perimeter: float
    """The sides' lengths together."""
    convex: bool
    triangles: Integers = field(repr=False)
    """[n - 2, 3] vertices, ascending."""
    diagonals: Integers = field(repr=False)
    """[n - 3, 2] vertices, ascending."""
    type: str
    report: Report = field(repr=False)

    def trace(self) -> Integers:
        """The triangles."""
        return self.triangles


def polygon(
    xy: ArrayLike, *, type: str = "auto", device: str = "auto", threads: int = 0, progress: Progress = None
) -> Triangulation:
    """The triangulation of a simple polygon, convex or not, whose diagonals are shortest together.

    Args:
        xy: [n, 2] vertices in order, either way round, the first not repeated.
        type: ``"float32"`` or ``"float64"`` (``"auto"``).

    Raises:
        BadInput: fewer than three vertices, two that are equal, sides that meet: each by its number, from 0.
    """
    array = numbers(xy, "xy", np.float64)
    if array.ndim != 2:
        raise BadInput(f"xy: shape {list(array.shape)}, expected [n, 2]")
    weight, perimeter, convex, triangles, diagonals, took, report = _core.polygon(
        array, type, asked(device, threads, progress)
    )
    return Triangulation(weight, perimeter, convex, triangles, diagonals, took, Report(*report))


@dataclass(eq=False)  # frozen ones take a microsecond more to make
class SearchTree:
    """A binary search tree of the keys 1 .. n; 0 stands for a gap, where a search ends without success."""

    optimum: Number
    """Nodes visited, by all that was looked for together; over ``total`` the mean."""
    total: Number
    """The sum of p and q."""
    root: int
    nodes: Integers = field(repr=False)
    """[n, 3]: left child, right child and depth of each key."""
    type: str
    report: Report = field(repr=False)


def search_tree(
    p: ArrayLike, q: ArrayLike, *, type: str = "auto", device: str = "auto", threads: int = 0, progress: Progress = None
) -> SearchTree:
    """The binary search tree of least expected cost.

    Args:
        p: [n] how often each key is looked for, >= 0: probabilities or counts.
        q: [n + 1] how often something between two keys is.

    Raises:
        BadInput: no key, lengths that do not fit, a number below 0 or not finite.
    """
    whole = on_host(p, "p").dtype.kind in "biu" and on_host(q, "q").dtype.kind in "biu"
    dtype = np.int64 if whole else np.float64
    cost, total, root, nodes, took, report = _core.search_tree(
        numbers(p, "p", dtype), numbers(q, "q", dtype), type, asked(device, threads, progress)
    )
    return SearchTree(cost, total, root, nodes, took, Report(*report))


class Solution:
    """A solved problem over n leaves. Its cells stay in the library; it cannot be pickled, what its methods give can."""

    def __init__(self, solved: Any) -> None:
        self._solved = solved

    @property
    def optimum(self) -> Number | None:
        """m of all leaves; None: there is no solution."""
        return self._solved.optimum()  # type: ignore[no-any-return]

    @property
    def structure(self) -> str:
        """``"((0 (1 2)) 3)"``; empty without a solution."""
        return self._solved.structure()  # type: ignore[no-any-return]

    @property
    def report(self) -> Report:
        return Report(*self._solved.report())

    def trace(self) -> Integers:
        """The decisions, [n - 1, 3]: rows i, k, j say that leaves i .. j-1 are i .. k-1 beside k .. j-1."""
        return self._solved.trace()  # type: ignore[no-any-return]

    def table(self, like: Any = None) -> NDArray[Any]:
        """m[i, j] of leaves i to j, [n, n], 0 below the diagonal: a copy of the cells, where the array ``like`` is."""
        return sent(self._solved.table(), like)  # type: ignore[no-any-return]

    def value(self, first: int, last: int) -> Number | None:
        """m[first, last], both included; None: there is no solution."""
        return self._solved.value(first, last)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Solution(optimum={self.optimum!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a Solution is not pickled: keep its optimum, trace() and table()")


def solve(
    leaves: ArrayLike,
    *,
    row: ArrayLike | None = None,
    column: ArrayLike | None = None,
    cell: ArrayLike | None = None,
    factors: ArrayLike | None = None,
    optimum: str = "min",
    type: str = "auto",
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Solution:
    """Solves a problem of your own over the points 0 .. n between and around n leaves.

    ``m[i,i+1] = leaves[i]``, and for ``j - i >= 2``
    ``m[i,j] = row[i] + column[j] + cell[i,j] + best over i < k < j of m[i,k] + m[k,j] + factors[i] factors[k] factors[j]``

    where what is not given takes no part. Or as ``warploom dp solve`` has it: a square table ``w`` over leaves, whose
    diagonal is the leaves' values, ``m[i,j] = w[i,j] + best over i <= k < j of m[i,k] + m[k+1,j]``.

    Args:
        leaves: [n], or the square table [n, n]. Infinity: no solution.
        row, column, factors: [n + 1].
        cell: [n + 1, n + 1]; read where j - i >= 2.
        optimum: ``"min"`` or ``"max"``.
        type: ``"int32"``, ``"int64"``, ``"float32"``, ``"float64"``; ``"auto"`` of [n]: the arrays' common type, of a
            table the smaller integer that holds all cells, if all its numbers are whole, else float64.

    Input is read once, where it is and in any order: O(n) numbers of [n], O(n^2) of tables; from a GPU's memory it is copied. Cost: n^3 / 6 additions.

    Raises:
        BadInput: no leaf, shapes that do not fit, NaN, integers whose sums may leave the type's range.
    """
    array = on_host(leaves, "leaves")
    run = asked(device, threads, progress)
    if array.ndim == 2:
        if any(x is not None for x in (row, column, cell, factors)):
            raise BadInput("leaves: a square table holds all weights: row, column, cell and factors go with leaves of [n]")
        if array.shape[0] != array.shape[1] or not array.size:
            raise BadInput(f"leaves: shape {list(array.shape)}, expected a square table [n, n]")
        if array.dtype.kind not in "iuf" or array.dtype in (np.uint64, np.float16) or array.dtype.itemsize > 8:
            raise BadInput(f"leaves: elements of type {array.dtype}; tables are of integers up to int64 and uint32, float32 or float64")
        return Solution(_core.solve_table(numbers(array, "leaves", array.dtype.newbyteorder("="), any_order=True), optimum, type, run))
    if (row is None) != (column is None):
        raise BadInput("row, column: one of the two is given: give both, or neither")
    given = {"leaves": array}
    for name, values in (("row", row), ("column", column), ("cell", cell), ("factors", factors)):
        if values is not None:
            given[name] = on_host(values, name)
    dtype = _dtype_of(given, type)
    arrays = {name: numbers(values, name, dtype, any_order=name == "cell") for name, values in given.items()}
    for name, values in arrays.items():
        expected = 2 if name == "cell" else 1
        if values.ndim != expected:
            raise BadInput(f"{name}: {values.ndim} dimensions, expected {expected}")
        if name in ("row", "column", "factors") and values.size != array.size + 1:
            raise BadInput(f"{name}: {values.size} numbers, expected {array.size + 1}, one more than leaves")
    solve_typed = getattr(_core, f"solve_{dtype}")
    return Solution(solve_typed(arrays["leaves"], *(arrays.get(name) for name in ("row", "column", "cell", "factors")), optimum, run))


def _dtype_of(given: dict[str, NDArray[Any]], type: str) -> np.dtype[Any]:
    known = ("int32", "int64", "float32", "float64")
    if type != "auto":
        if type not in known:
            raise BadInput(f"type: '{type}' is none: auto, {', '.join(known)}")
        return np.dtype(type)
    common = np.result_type(*given.values())
    if common.kind in "biu":
        return np.dtype(np.int32 if common.itemsize <= 4 and common != np.uint32 else np.int64)
    return np.dtype(np.float32 if common.itemsize <= 4 else np.float64)
