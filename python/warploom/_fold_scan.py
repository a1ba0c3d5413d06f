"""Scans of RNA: all windows of a long sequence, all mutants of a sequence."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._asked import Progress, asked
from ._core import BadInput
from ._fold import Folding, PathLike, _model, _objects


class Windows(NamedTuple):
    """Every window of a sequence."""

    begin: NDArray[np.int64]
    """[n], of its first base, counted from 0."""
    energy: NDArray[np.float64]
    """[n], least free energy [kcal/mol]."""
    structure: NDArray[np.object_]
    """[n], dot-bracket; [0] where it was not asked for."""
    mean: NDArray[np.float64]
    """[n], of the energies of its shuffles [kcal/mol]; [0], as all that follows, where there are none."""
    deviation: NDArray[np.float64]
    """[n], of these (n - 1) [kcal/mol]."""
    z_score: NDArray[np.float64]
    """[n], (energy - mean) / deviation; 0 where the deviation is 0."""
    p_value: NDArray[np.float64]
    """[n], (1 + shuffles whose energy is not above the window's) / (1 + shuffles)."""


class Mutants(NamedTuple):
    """All single-point mutants of a sequence, at each position with A, C, G and U."""

    wild_type: Folding
    """The sequence as it is."""
    position: NDArray[np.int64]
    """[n], counted from 0."""
    energy: NDArray[np.float64]
    """[n, 4], least free energy [kcal/mol]; the wild type's where that letter is there already."""
    change: NDArray[np.float64]
    """[n, 4], energy less that of the wild type [kcal/mol]."""
    structure: NDArray[np.object_]
    """[n, 4], dot-bracket; [0, 4] where it was not asked for."""


def fold_windows(
    seq: str,
    window: int = 120,
    step: int = 1,
    *,
    shuffles: int = 0,
    shuffle: str = "dinucleotides",
    seed: int = 1,
    structures: bool = False,
    temperature: float = 37,
    dangles: int = 2,
    parameters: PathLike | None = None,
    lonely_pairs: bool = True,
    gu: bool = True,
    gu_closing: bool = True,
    max_span: int = 0,
    quadruplexes: bool = False,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Windows:
    """Fold every window of a sequence, each as if it stood alone, and perhaps shuffles of each.

    Args:
        seq: letters as in :func:`fold`, whose other options these are; of any length from ``window`` on.
        window: bases of a window.
        step: bases from the first of one window to that of the next.
        shuffles: of each window, 0 or at least 2, whose energies it is compared with.
        shuffle: what they keep: ``"dinucleotides"``, how often each two letters stand side by side (Altschul & Erickson), or
            ``"mononucleotides"``, how often each letter is there.
        seed: of the shuffles; those of a window depend on it and on where the window begins.
        structures: the structure of each window, too.

    Cost: on a CPU windows share what they have in common, some 2 window cells a window; each shuffle takes window^2 / 2.

    Raises:
        BadInput: as in :func:`fold`; a sequence shorter than a window.

    >>> fold_windows("GGGGAAAACCCCAA", 12).energy
    array([-5.4, -4.1, -1.1])
    """
    if shuffle not in ("dinucleotides", "mononucleotides"):
        raise BadInput(f"shuffle: {shuffle!r}; it is 'dinucleotides' or 'mononucleotides'")
    options = _core.FoldWindowOptions()
    for name, value in {"window": window, "step": step, "structures": structures, "shuffles": shuffles, "seed": seed}.items():
        setattr(options, name, value)
    if shuffle == "mononucleotides":
        options.keep_letters()
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span, quadruplexes=quadruplexes)
    energies, folded, mean, deviation, z_score, p_value = _core.fold_windows(seq, options, model, asked(device, threads, progress))
    return Windows(np.arange(len(energies)) * step, energies / 100.0, _objects(folded), mean, deviation, z_score, p_value)


def fold_mutants(
    seq: str,
    positions: Iterable[int] | None = None,
    *,
    structures: bool = False,
    temperature: float = 37,
    dangles: int = 2,
    parameters: PathLike | None = None,
    lonely_pairs: bool = True,
    gu: bool = True,
    gu_closing: bool = True,
    max_span: int = 0,
    quadruplexes: bool = False,
    circular: bool = False,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Mutants:
    """Fold a sequence with one letter exchanged, for each place and letter.

    Args:
        seq: as in :func:`fold`, whose other options these are.
        positions: that are mutated, counted from 0; all where it is None.
        structures: the structure of each mutant, too.

    Raises:
        BadInput: as in :func:`fold`; a position outside of the sequence, or twice.

    >>> fold_mutants("GGGGAAAACCCC", [11]).change
    array([[0.3, 0. , 0.3, 0.8]])
    """
    model = _model(parameters, temperature=float(temperature), dangles=dangles, lonely_pairs=lonely_pairs, gu=gu,
                   gu_closing=gu_closing, max_span=max_span, quadruplexes=quadruplexes, circular=circular)
    places = [] if positions is None else [int(position) + 1 for position in positions]
    for place in places:
        if not 1 <= place <= len(seq):
            raise BadInput(f"positions: {place - 1}, and the sequence has 0 to {len(seq) - 1}")
    if positions is not None and not places:
        raise BadInput("positions: there are none; None stands for all")
    structure, energy, position, energies, folded = _core.fold_mutants(seq, places, structures, model, asked(device, threads, progress))
    return Mutants(Folding(structure, energy / 100), position - 1, energies / 100.0, (energies - energy) / 100.0,
                   _objects(folded).reshape(-1, 4))
