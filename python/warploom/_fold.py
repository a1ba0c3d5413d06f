"""Secondary structures of RNA by free energy."""

from __future__ import annotations

import math
import os
import re
from typing import Any, List, NamedTuple, Tuple, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._asked import Progress, asked
from ._core import BadInput

PathLike = Union[str, "os.PathLike[str]"]
Sequences = Union[List[str], NDArray[Any]]


class Folding(NamedTuple):
    """The structure of least free energy of a sequence."""

    structure: str
    """Dot-bracket, a letter a base; ``+`` for the G of a quadruplex, ``~`` for its last."""
    energy: float
    """[kcal/mol]"""


class Foldings(NamedTuple):
    """Those of several sequences."""

    structure: NDArray[np.object_]
    """Strings, [n]."""
    energy: NDArray[np.float64]
    """[n], [kcal/mol]"""


class Suboptimal(NamedTuple):
    """Every structure of a sequence within a range of the least energy, those of the least first."""

    structure: NDArray[np.object_]
    """Strings, [n]."""
    energy: NDArray[np.float64]
    """[n], [kcal/mol]"""
    complete: bool
    """False: there are more than ``most``; these are some of them."""


class Loop(NamedTuple):
    """A loop of a structure. Bases are counted from 0."""

    kind: str
    """``"exterior"``, ``"hairpin"``, ``"interior"`` (stacks and bulges too), ``"multi"`` or ``"quadruplex"``."""
    closing: Tuple[int, int] | None
    """The pair that closes it, or the ends of a quadruplex; None of the exterior loop."""
    inner: Tuple[int, int] | None
    """The other pair of an interior loop, or the ends of a quadruplex alone within it."""
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


def _with_reactivities(model: _core.FoldModel, reactivities: ArrayLike, method: str, conversion: str) -> None:
    """Pseudo-energies as --shape-method names them: D, Dm1.8b-0.6, Z, Zb0.89."""
    values = np.asarray(reactivities, np.float64)
    if values.ndim != 1:
        raise BadInput(f"reactivities: an array of {values.ndim} dimensions, expected a number a base")
    number = r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    found = re.fullmatch(rf"(D)(?:m{number})?(?:b{number})?|(Z)(?:b{number})?", method)
    if not found:
        raise BadInput(f"shape_method: {method!r} is not D or Z, perhaps with numbers, as Dm1.8b-0.6 or Zb0.89")
    deigan, m, b, _, beta = found.groups()
    known = np.where(np.isnan(values), -1.0, values).tolist()
    if deigan:
        model.deigan(known, float(m or 1.8), float(b or -0.6))
    else:
        model.zarringhalam(known, float(beta or 0.89), conversion)


@overload
def fold(
    seq: str, *, constraint: str | None = ..., temperature: float = ..., dangles: int = ..., parameters: PathLike | None = ...,
    lonely_pairs: bool = ..., gu: bool = ..., gu_closing: bool = ..., max_span: int = ..., circular: bool = ...,
    enforce_constraint: bool = ..., quadruplexes: bool = ..., reactivities: ArrayLike | None = ..., shape_method: str = ...,
    shape_conversion: str = ..., device: str = ..., threads: int = ...,
    progress: Progress = ...,
) -> Folding: ...
@overload
def fold(
    seq: Sequences, *, constraint: Sequences | None = ..., temperature: float = ..., dangles: int = ...,
    parameters: PathLike | None = ..., lonely_pairs: bool = ..., gu: bool = ..., gu_closing: bool = ..., max_span: int = ...,
    circular: bool = ..., enforce_constraint: bool = ..., quadruplexes: bool = ..., reactivities: List[ArrayLike] | None = ...,
    shape_method: str = ..., shape_conversion: str = ..., device: str = ..., threads: int = ..., progress: Progress = ...,
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
    circular: bool = False,
    enforce_constraint: bool = False,
    quadruplexes: bool = False,
    reactivities: Union[ArrayLike, List[ArrayLike], None] = None,
    shape_method: str = "D",
    shape_conversion: str = "O",
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
        circular: the last base is joined to the first (--circ).
        enforce_constraint: bases have to pair where ``constraint`` has ``(``, ``)`` or ``|``.
        quadruplexes: G-quadruplexes form (-g), with dangles 0 or 2.
        reactivities: of an experiment (SHAPE, DMS), a number a base, negative or NaN: none; of several sequences a list of such
            arrays.
        shape_method: from reactivities to energies: ``"D"``, of stacks (Deigan; with numbers ``"Dm1.8b-0.6"``), or ``"Z"``, of pairs
            and unpaired bases (Zarringhalam; ``"Zb0.89"``).
        shape_conversion: with ``"Z"``, from reactivities to probabilities of being unpaired, as RNAfold's --shapeConversion.

    Gives (structure, energy), of several sequences arrays of both. Of several structures of that energy it is one.
    Cost: of n bases some n^2 / 2 cells and 4 n^2 bytes.

    Raises:
        BadInput: an empty sequence, a character that is no letter, more than 100,000 bases, a constraint or options that do not fit.

    >>> fold("GGGGAAAACCCC")
    Folding(structure='((((....))))', energy=-5.4)
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span, circular=circular, enforce_constraint=enforce_constraint,
                   quadruplexes=quadruplexes)
    one = isinstance(seq, str)
    if one != isinstance(constraint, str) and constraint is not None:
        raise BadInput("constraint: a string goes with one sequence, a list with several")
    sequences, constraints = _strings(seq, "seq"), [] if constraint is None else _strings(constraint, "constraint")
    how = asked(device, threads, progress)
    if reactivities is None:
        structures, energies = _core.fold(sequences, constraints, model, how)
    else:  # each has a model of its own
        of_each: List[Any] = [reactivities] if one else list(reactivities)  # type: ignore[arg-type]
        if len(of_each) != len(sequences):
            raise BadInput(f"reactivities: {len(of_each)} arrays of {len(sequences)} sequences")
        if constraints and len(constraints) != len(sequences):
            raise BadInput(f"constraint: {len(constraints)} of {len(sequences)} sequences")
        structures, energies = [], np.empty(len(sequences), np.int32)
        for k, sequence in enumerate(sequences):
            _with_reactivities(model, of_each[k], shape_method, shape_conversion)
            structure, energies[k : k + 1] = _core.fold([sequence], constraints[k : k + 1], model, how)
            structures += structure
    if one:
        return Folding(structures[0], int(energies[0]) / 100)
    return Foldings(_objects(structures), energies / 100.0)


def fold_suboptimal(
    seq: str,
    delta: float,
    *,
    most: int = 1_000_000,
    constraint: str | None = None,
    temperature: float = 37,
    dangles: int = 2,
    parameters: PathLike | None = None,
    lonely_pairs: bool = True,
    gu: bool = True,
    gu_closing: bool = True,
    max_span: int = 0,
    circular: bool = False,
    enforce_constraint: bool = False,
    reactivities: ArrayLike | None = None,
    shape_method: str = "D",
    shape_conversion: str = "O",
    threads: int = 0,
    progress: Progress = None,
) -> Suboptimal:
    """Every structure within ``delta`` [kcal/mol] of the least energy: what RNAsubopt -e gives.

    Args:
        seq: as in :func:`fold`, whose options the others are; with dangles 0 or 2.
        delta: 0 to 100 [kcal/mol]; the number of structures grows exponentially with it.
        most: structures at most.

    Raises:
        BadInput: as :func:`fold`, also a range or options that do not fit.

    >>> fold_suboptimal("GGGGAAAACCCC", 1).structure.tolist()
    ['((((....))))']
    """
    if not (math.isfinite(delta) and 0 <= delta <= 100):
        raise BadInput(f"delta: {delta} kcal/mol; it is 0 to 100")
    if most < 1:
        raise BadInput(f"most: {most} structures; it is 1 or more")
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span, circular=circular, enforce_constraint=enforce_constraint)
    if reactivities is not None:
        _with_reactivities(model, reactivities, shape_method, shape_conversion)
    structures, energies, complete = _core.fold_suboptimal(seq, round(delta * 100), most, constraint or "", model,
                                                           asked("cpu", threads, progress))
    order = sorted(range(len(structures)), key=lambda k: (energies[k], structures[k]))
    return Suboptimal(_objects([structures[k] for k in order]), energies[order] / 100.0, complete)


def _objects(values: List[str]) -> NDArray[np.object_]:
    several = np.empty(len(values), object)
    several[:] = values
    return several


def _strings(values: Union[str, Sequences], name: str) -> List[str]:
    if isinstance(values, str):
        return [values]
    if isinstance(values, bytes) or not hasattr(values, "__iter__"):
        raise BadInput(f"{name}: {values!r}, expected a string, or several")
    strings = list(values)
    for k, value in enumerate(strings):
        if not isinstance(value, str):
            raise BadInput(f"{name}[{k}]: {value!r}, expected a string")
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
    reactivities: ArrayLike | None = None,
    shape_method: str = "D",
    shape_conversion: str = "O",
) -> Evaluation:
    """The free energy of a given structure, loop by loop.

    Args:
        seq: as in :func:`fold`, whose other options these are.
        structure: dot-bracket of the same length; ``+`` for quadruplexes.

    Raises:
        BadInput: brackets that do not match, bases that do not pair or lie too close: with their places, counted from 1.

    >>> fold_eval("GGGGAAAACCCC", "((((....))))").energy
    -5.4
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, gu=gu, gu_closing=gu_closing, circular=circular)
    if reactivities is not None:
        _with_reactivities(model, reactivities, shape_method, shape_conversion)
    energy, loops = _core.fold_eval(seq, structure, model)
    return Evaluation(energy / 100, [
        Loop(kind, (i - 1, j - 1) if i else None, (p - 1, q - 1) if p else None, of_loop / 100) for kind, i, j, p, q, of_loop in loops
    ])
