"""Secondary structures of RNA by free energy."""

from __future__ import annotations

import os
from typing import Any, List, NamedTuple, Tuple, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._asked import Progress, asked
from ._core import BadInput

PathLike = Union[str, "os.PathLike[str]"]
Sequences = Union[List[str], NDArray[Any]]


class Folding(NamedTuple):
    """The structure of least free energy of a sequence."""

    structure: str
    """Dot-bracket, a letter a base."""
    energy: float
    """[kcal/mol]"""


class Foldings(NamedTuple):
    """Those of several sequences."""

    structure: NDArray[np.object_]
    """Strings, [n]."""
    energy: NDArray[np.float64]
    """[n], [kcal/mol]"""


class Loop(NamedTuple):
    """A loop of a structure. Bases are counted from 0."""

    kind: str
    """``"exterior"``, ``"hairpin"``, ``"interior"`` (stacks and bulges too) or ``"multi"``."""
    closing: Tuple[int, int] | None
    """The pair that closes it; None of the exterior loop."""
    inner: Tuple[int, int] | None
    """The other pair of an interior loop."""
    energy: float
    """[kcal/mol]"""


class Evaluation(NamedTuple):
    """What a structure costs."""

    energy: float
    """Of all loops together [kcal/mol]."""
    loops: List[Loop]
    """The exterior loop, then by closing pair."""


def _model(parameters: PathLike | None, **options: Any) -> _core.FoldModel:
    model = _core.FoldModel()
    for name, value in options.items():
        setattr(model, name, value)
    if parameters is not None:
        model.read_parameters(os.fspath(parameters))
    return model


@overload
def fold(
    seq: str, *, constraint: str | None = ..., temperature: float = ..., dangles: int = ..., parameters: PathLike | None = ...,
    lonely_pairs: bool = ..., gu: bool = ..., gu_closing: bool = ..., max_span: int = ..., quadruplexes: bool = ..., circular: bool = ...,
    enforce_constraint: bool = ..., device: str = ..., threads: int = ...,
    progress: Progress = ...,
) -> Folding: ...
@overload
def fold(
    seq: Sequences, *, constraint: Sequences | None = ..., temperature: float = ..., dangles: int = ...,
    parameters: PathLike | None = ..., lonely_pairs: bool = ..., gu: bool = ..., gu_closing: bool = ..., max_span: int = ...,
    quadruplexes: bool = ..., device: str = ..., threads: int = ..., progress: Progress = ...,
) -> Foldings: ...
def fold(
    seq: Union[str, Sequences],
    *,
    constraint: Union[str, Sequences, None] = None,
    temperature: float = 37,
    dangles: int = 2,
    parameters: PathLike | None = None,
    lonely_pairs: bool = True,
    gu: bool = True,
    gu_closing: bool = True,
    max_span: int = 0,
    quadruplexes: bool = False,
    circular: bool = False,
    enforce_constraint: bool = False,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Union[Folding, Foldings]:
    """The secondary structure without pseudoknots whose free energy is least: what ``RNA.fold`` gives, to the last hundredth.

    Args:
        seq: letters A C G U (T is U), small ones too; any other letter pairs with nothing. Or several such sequences, a list or an
            array of strings, which are folded together.
        constraint: as RNAfold's -C, a letter a base, of each sequence: ``.`` and ``|`` anything, ``x`` unpaired, ``<`` and ``>``
            pairs with a later or an earlier base if it pairs, ``(`` and ``)`` with each other.
        temperature: [C].
        dangles: what bases beside a stem add, RNAfold's -d: 2, both neighbours; 1, unpaired ones, each for one stem; 3, as 1, and
            stems stack on each other in multiloops; 0, nothing.
        parameters: a file of energies in RNAfold's format 2.0; Turner 2004's otherwise.
        lonely_pairs: False: each pair stacks on another (--noLP).
        gu: False: no G-U pairs (--noGU).
        gu_closing: False: G-U pairs close no loop (--noClosingGU).
        max_span: bases from one of a pair to the other at most; 0: any number.
        quadruplexes: G-quadruplexes form (-g), drawn with ``+``; with dangles 0 or 2.
        circular: the last base is joined to the first (--circ).
        enforce_constraint: bases have to pair where ``constraint`` has ``(``, ``)`` or ``|``.

    Gives (structure, energy), of several sequences arrays of both. Of several structures of that energy it is one.
    Cost: of n bases some n^2 / 2 cells and 4 n^2 bytes.

    Raises:
        BadInput: an empty sequence, a character that is no letter, more than 100,000 bases, a constraint or options that do not fit.

    >>> fold("GGGGAAAACCCC")
    Folding(structure='((((....))))', energy=-5.4)
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span, quadruplexes=quadruplexes, circular=circular,
                   enforce_constraint=enforce_constraint)
    one = isinstance(seq, str)
    if one != isinstance(constraint, str) and constraint is not None:
        raise BadInput("constraint: a string goes with one sequence, a list with several")
    structures, energies = _core.fold(_strings(seq, "seq"), [] if constraint is None else _strings(constraint, "constraint"), model,
                                      asked(device, threads, progress))
    if one:
        return Folding(structures[0], int(energies[0]) / 100)
    several = np.empty(len(structures), object)
    several[:] = structures
    return Foldings(several, energies / 100.0)


def _strings(values: Union[str, Sequences], name: str) -> List[str]:
    if isinstance(values, str):
        return [values]
    strings = list(values)
    for k, value in enumerate(strings):
        if not isinstance(value, str):
            raise BadInput(f"{name}[{k}]: a {type(value).__name__}, expected a string")
    return strings


def fold_eval(
    seq: str,
    structure: str,
    *,
    temperature: float = 37,
    dangles: int = 2,
    parameters: PathLike | None = None,
    gu: bool = True,
    gu_closing: bool = True,
    circular: bool = False,
) -> Evaluation:
    """The free energy of a given structure, loop by loop.

    Args:
        seq: as in :func:`fold`, whose other options these are.
        structure: dot-bracket of the same length.

    Raises:
        BadInput: brackets that do not match, bases that do not pair or lie too close: with their places, counted from 1.

    >>> fold_eval("GGGGAAAACCCC", "((((....))))").energy
    -5.4
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, gu=gu, gu_closing=gu_closing, circular=circular)
    energy, loops = _core.fold_eval(seq, structure, model)
    return Evaluation(energy / 100, [
        Loop(kind, (i - 1, j - 1) if i else None, (p - 1, q - 1) if p else None, of_loop / 100) for kind, i, j, p, q, of_loop in loops
    ])
