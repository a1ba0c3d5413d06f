"""All structures of an RNA, each weighing exp(-energy / kT)."""

from __future__ import annotations

import math
from typing import Any, Dict, List, NamedTuple, Union, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._asked import Progress, asked
from ._core import BadInput
from ._fold import PathLike, Sequences, _model, _objects, _strings, _with_reactivities


class Ensemble(NamedTuple):
    """All structures of a sequence. Bases are counted from 0."""

    energy: float
    """-kT ln of the sum of all weights [kcal/mol]."""
    kt: float
    """[kcal/mol]"""
    pairs: NDArray[np.int64]
    """[m, 2]: the two bases of each pair that is probable enough, by the first, then the second."""
    probability: NDArray[np.float64]
    """[m], of these pairs."""
    unpaired: NDArray[np.float64]
    """[n]: the probability that a base is in no pair and no run of a quadruplex."""
    diversity: float
    """Mean number of pairs in which two structures differ."""
    centroid: str
    """The pairs of more than half of the ensemble, dot-bracket."""
    centroid_distance: float
    """Mean number of pairs in which a structure differs from it."""
    mea: str
    """The structure of greatest expected accuracy, dot-bracket."""
    accuracy: float
    """Its expected accuracy."""
    samples: NDArray[np.object_]
    """Strings, dot-bracket."""
    gradient: Dict[str, NDArray[np.float64]]
    """d(energy) / d(numbers of each section of a parameter file), shaped as the file has them; ``"pseudo_stack"``: by each base's
    pseudo-energy in stacks. Empty where it was not asked for. That by the pseudo-energy of an unpaired base is ``unpaired``, of a paired
    one 1 less that, of a pair its probability."""
    quadruplexes: NDArray[np.int64]
    """[m, 2]: the first and the last base of each quadruplex that is probable enough, by the last, then the first."""
    quadruplex_probability: NDArray[np.float64]
    """[m], of these, whatever way their runs lie."""
    in_quadruplexes: NDArray[np.float64]
    """[n]: the probability that a base is in a run of one. Empty where there are none."""

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities of all pairs, [n, n], symmetric; 0 where a pair was not probable enough."""
        n = len(self.unpaired)
        full = np.zeros((n, n))
        full[self.pairs[:, 0], self.pairs[:, 1]] = self.probability
        full[self.pairs[:, 1], self.pairs[:, 0]] = self.probability
        return full

    def probability_of(self, energy: ArrayLike) -> Any:
        """Of a structure with this energy [kcal/mol]."""
        return np.exp((self.energy - np.asarray(energy, np.float64)) / self.kt)


class Unpaired(NamedTuple):
    """How probable it is, in the mean over windows, that stretches of bases are unpaired. Bases are counted from 0."""

    unpaired: NDArray[np.float64]
    """[n, stretch]: in row k and column u that bases k - u to k are; NaN where there are fewer."""
    pairs: NDArray[np.int64]
    """[m, 2]: the two bases of each pair that is probable enough, by the first, then the second."""
    probability: NDArray[np.float64]
    """[m], of these pairs."""


@overload
def fold_ensemble(
    seq: str, *, cutoff: float = ..., gamma: float = ..., samples: int = ..., seed: int = ..., gradient: bool = ...,
    constraint: str | None = ..., temperature: float = ..., dangles: int = ..., parameters: PathLike | None = ..., lonely_pairs: bool = ...,
    gu: bool = ..., gu_closing: bool = ..., max_span: int = ..., circular: bool = ..., enforce_constraint: bool = ...,
    quadruplexes: bool = ..., reactivities: ArrayLike | None = ..., shape_method: str = ..., shape_conversion: str = ...,
    device: str = ..., threads: int = ..., progress: Progress = ...,
) -> Ensemble: ...
@overload
def fold_ensemble(
    seq: Sequences, *, cutoff: float = ..., gamma: float = ..., samples: int = ..., seed: int = ..., gradient: bool = ...,
    constraint: Sequences | None = ..., temperature: float = ..., dangles: int = ..., parameters: PathLike | None = ...,
    lonely_pairs: bool = ..., gu: bool = ..., gu_closing: bool = ..., max_span: int = ..., circular: bool = ...,
    enforce_constraint: bool = ..., quadruplexes: bool = ..., reactivities: List[ArrayLike] | None = ..., shape_method: str = ...,
    shape_conversion: str = ..., device: str = ..., threads: int = ..., progress: Progress = ...,
) -> List[Ensemble]: ...
def fold_ensemble(
    seq: Union[str, Sequences],
    *,
    cutoff: float = 1e-5,
    gamma: float = 1,
    samples: int = 0,
    seed: int = 1,
    gradient: bool = False,
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
) -> Union[Ensemble, List[Ensemble]]:
    """All structures of an RNA, each weighing exp(-energy / kT): what ``RNA.pf_fold`` and its like give, in double precision.

    Args:
        seq: as in :func:`fold`, one or several.
        cutoff: pairs that are less probable are left out, 0 to 1.
        gamma: in the structure of greatest expected accuracy a pair counts 2 gamma times its probability, an unpaired base its own;
            0: it is not looked for, ``mea`` is empty.
        samples: structures to draw, each with its probability.
        seed: of these; the k-th of several sequences has ``seed + k``.
        gradient: the derivative of the energy by every energy parameter, too.
        constraint: as in :func:`fold`, whose options the others are. Dangles are 0 or 2 here.
        quadruplexes: G-quadruplexes form.
        circular: the last base is joined to the first.
        enforce_constraint: structures are left out in which a base does not pair where ``constraint`` has ``(``, ``)`` or ``|``.

    Cost: of n bases n^3 / 2 multiplications with additions, and 20 n^2 bytes.

    Raises:
        BadInput: as :func:`fold`, also options out of range.

    >>> ensemble = fold_ensemble("GGGGAAAACCCC")
    >>> round(ensemble.energy, 3), ensemble.centroid
    (-5.507, '((((....))))')
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span, circular=circular, enforce_constraint=enforce_constraint,
                   quadruplexes=quadruplexes)
    options = _core.EnsembleOptions()
    if not math.isfinite(cutoff) or not math.isfinite(gamma):
        raise BadInput(f"cutoff, gamma: {cutoff}, {gamma}: they are finite numbers")
    if not 0 <= seed < 2**64:
        raise BadInput(f"seed: {seed}; it is 0 to 2^64 - 1")
    options.cutoff, options.gamma, options.samples, options.seed, options.gradient = float(cutoff), float(gamma), samples, seed, gradient
    one = isinstance(seq, str)
    if one != isinstance(constraint, str) and constraint is not None:
        raise BadInput("constraint: a string goes with one sequence, a list with several")
    sequences, constraints = _strings(seq, "seq"), [] if constraint is None else _strings(constraint, "constraint")
    how = asked(device, threads, progress)
    if reactivities is None:
        found = _core.fold_ensemble(sequences, constraints, model, options, how)
    else:  # each has a model of its own
        of_each: List[Any] = [reactivities] if one else list(reactivities)  # type: ignore[arg-type]
        if len(of_each) != len(sequences):
            raise BadInput(f"reactivities: {len(of_each)} arrays of {len(sequences)} sequences")
        if constraints and len(constraints) != len(sequences):
            raise BadInput(f"constraint: {len(constraints)} of {len(sequences)} sequences")
        found = []
        for k, sequence in enumerate(sequences):
            _with_reactivities(model, of_each[k], shape_method, shape_conversion)
            options.seed = (seed + k) % 2**64
            found += _core.fold_ensemble([sequence], constraints[k : k + 1], model, options, how)
    ensembles = []
    for (energy, kt, pairs, probability, unpaired, diversity, centroid, distance, mea, accuracy, drawn, sections, stack, runs, of_runs,
         within) in found:
        slopes = {name: values.reshape(shape) for name, shape, values in sections}
        if gradient:
            slopes["pseudo_stack"] = stack
        ensembles.append(Ensemble(energy, kt, pairs, probability, unpaired, diversity, centroid, distance, mea, accuracy,
                                  _objects(drawn), slopes, runs, of_runs, within))
    return ensembles[0] if one else ensembles


def fold_unpaired(
    seq: str,
    *,
    window: int = 70,
    stretch: int = 31,
    cutoff: float = 0.01,
    max_span: int = 0,
    temperature: float = 37,
    dangles: int = 2,
    parameters: PathLike | None = None,
    lonely_pairs: bool = True,
    gu: bool = True,
    gu_closing: bool = True,
    threads: int = 0,
    progress: Progress = None,
) -> Unpaired:
    """Accessibilities: what ``RNA.pfl_fold_up`` and ``RNA.pfl_fold`` give, in time and memory that grow with the length.

    Args:
        seq: as in :func:`fold`, one sequence.
        window: bases; probabilities are means over all windows; 0: the sequence is one.
        stretch: bases that are unpaired together, 1 to this many.
        cutoff: pairs that are less probable are left out, 0 to 1.
        max_span: bases from one of a pair to the other at most; 0: as many as a window has.

    The others are as in :func:`fold`.

    Raises:
        BadInput: as :func:`fold_ensemble`, also a window or a stretch out of range.

    >>> fold_unpaired("GGGGAAAACCCC", window=0, stretch=4).unpaired[7].round(3)
    array([1., 1., 1., 1.])
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span)
    options = _core.AccessibilityOptions()
    options.window, options.stretch, options.cutoff = window, stretch, float(cutoff)
    unpaired, pairs, probability = _core.fold_unpaired(seq, options, model, asked("cpu", threads, progress))
    return Unpaired(unpaired, pairs, probability)
