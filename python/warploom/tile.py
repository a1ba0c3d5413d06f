"""Loop nests in C: which data is used again, which orders of loops are legal, C and CUDA after steps.

Steps are made by the functions of this module and are applied in order:

>>> steps = [skew("j", 1, "i"), tile(i=2, j=2)]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Sequence, Tuple

from . import _core
from ._asked import asked

__all__ = ["Explanation", "c", "cuda", "explain", "jam", "permute", "skew", "strip_mine", "tile"]

Step = Tuple[str, List[str], List[int]]


def permute(*loops: str) -> Step:
    """This order of loops, from the outermost."""
    return "permute", list(loops), []


def tile(**sizes: int) -> Step:
    """Tiles of these extents: their loops go outside, in this order."""
    return "tile", list(sizes), list(sizes.values())


def strip_mine(**size: int) -> Step:
    """A loop in strips; the order of iterations stays."""
    return "strip_mine", list(size), list(size.values())


def skew(loop: str, factor: int, by: str) -> Step:
    """A loop runs ``factor`` times another one later."""
    return "skew", [loop, by], [factor]


def jam(**sizes: int) -> Step:
    """Unroll and jam."""
    return "jam", list(sizes), list(sizes.values())


@dataclass(frozen=True, eq=False)
class Explanation:
    """What there is to say of a nest."""

    function: str
    text: str
    """For people: reuse, dependences, which orders and tilings are legal, with the iterations that forbid others."""
    report: dict[str, Any] = field(repr=False)
    """The same as data; the schema stands in the guide of ``warploom tile``."""


def explain(source: str, steps: Sequence[Step] = (), *, file: str = "<c>") -> List[Explanation]:
    """Every function's nest of a C text.

    Args:
        source: C: loops with affine bounds and subscripts.
        steps: to be judged, too.
        file: the text's name in messages.

    Raises:
        BadInput: what is not affine, with its line.
    """
    import json  # import warploom shall take little

    found = _core.tile_explain(source, file, list(steps), asked("auto", 0, None))
    return [Explanation(function, text, json.loads(report)) for function, text, report in found]


def c(source: str, steps: Sequence[Step] = (), *, file: str = "<c>") -> str:
    """C of all functions after the steps, with OpenMP's pragmas where loops are parallel.

    Raises:
        BadInput: a step that would not keep a dependence, with the two iterations.
    """
    return _core.tile_c(source, file, list(steps), asked("auto", 0, None))


def cuda(source: str, steps: Sequence[Step] = (), *, file: str = "<c>") -> str:
    """CUDA of all functions, kernels and what launches them; without steps loops are ordered for threads."""
    return _core.tile_cuda(source, file, list(steps), asked("auto", 0, None))
