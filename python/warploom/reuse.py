"""Shared memory of CUDA kernels: arrays that are never needed at the same time share storage, in any kernel's PTX."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, List, NamedTuple, Sequence

from . import _core
from ._asked import asked
from ._core import BadInput

__all__ = ["Check", "Occupancy", "Optimized", "check", "occupancy", "optimize"]


def _shape(block: Sequence[int] | int | None, name: str) -> tuple[int, int, int] | None:
    if block is None:
        return None
    extents = [block] if isinstance(block, int) else list(block)
    if not 1 <= len(extents) <= 3:
        raise BadInput(f"{name}: {len(extents)} extents, expected one to three: x, y, z")
    x, y, z = [int(e) for e in extents] + [1] * (3 - len(extents))
    return x, y, z


def _text(ptx: str, name: str = "ptx") -> str:
    if isinstance(ptx, os.PathLike) or (isinstance(ptx, str) and ptx.endswith(".ptx") and "\n" not in ptx):
        raise BadInput(f"{name}: '{ptx}' is a path: expected the text, as pathlib.Path({str(ptx)!r}).read_text()")
    return ptx


@dataclass(frozen=True, eq=False)
class Optimized:
    """A PTX module after rewriting."""

    text: str = field(repr=False)
    """The module: the one given, byte for byte, where nothing was rewritten."""
    report: dict[str, Any] = field(repr=False)
    """As ``warploom reuse --json``."""
    summary: str
    """The report for people."""
    html: str = field(repr=False)
    """The report as a page with a map of each kernel's shared memory."""


def optimize(
    ptx: str, *, block: Sequence[int] | int | None = None, when: str = "occupancy", architecture: str = "", strict: bool = False,
    whole_program: bool = False, barriers: bool = True, ptxas: bool = True, only: Sequence[str] = (), file: str = "<ptx>",
) -> Optimized:
    """Rewrites the kernels of a PTX module so that they need less shared memory; checked independently.

    Args:
        ptx: the text.
        block: threads of a block, x or (x, y, z), where the kernels do not say.
        when: ``"occupancy"``: where more blocks become resident; ``"always"``: wherever bytes are saved; ``"fits"``: where a
            kernel would not launch otherwise.
        architecture: that decides; empty: the module's target.
        strict: do not assume that kernels read no uninitialised shared memory.
        whole_program: nothing else is linked: ``.visible`` shared arrays, as Numba and NVRTC make them, are this module's alone.
        barriers: False: insert none.
        ptxas: run it, where there is one, for registers.
        only: kernels, by name; empty: all.
        file: the text's name in messages.

    Raises:
        BadInput: no PTX, with file, line and column.
    """
    text, summary, report, html = _core.reuse_optimize(
        _text(ptx), file, when, _shape(block, "block"), architecture, strict, whole_program, barriers, ptxas, list(only), asked("auto", 0, None)
    )
    import json  # import warploom shall take little

    return Optimized(text, json.loads(report), summary, html)


class Check(NamedTuple):
    """What the independent check says of a rewritten module."""

    ok: bool
    problems: List[str]
    certificate: List[str]
    """For each pair that shares: why no byte of one is read while it may hold the other's data."""


def check(
    a: str, b: str, *, strict: bool = False, whole_program: bool = False, block: Sequence[int] | int | None = None
) -> Check:
    """Whether module b computes what a does, with shared memory laid out anew. It trusts nothing of ``optimize``."""
    shape = _shape(block, "block")
    return Check(*_core.reuse_check(_text(a, "a"), _text(b, "b"), strict, whole_program, [] if shape is None else list(shape), asked("auto", 0, None)))


class Occupancy(NamedTuple):
    """How many blocks of a kernel a multiprocessor holds."""

    kernel: str
    architecture: str
    threads: int | None
    """Of a block; None: not known, and ``blocks`` is an upper bound."""
    registers: int | None
    """Of a thread; None: not known, and they never limit."""
    shared: int
    """[bytes a block]"""
    blocks: int
    """0: it cannot launch."""
    active_threads: int
    fraction: float
    limit: str
    reason: str
    """Why it cannot launch."""


def occupancy(
    ptx: str, *, block: Sequence[int] | int | None = None, architectures: Sequence[str] = (), dynamic: int = 0,
    registers: int | None = None, ptxas: bool = True,
) -> List[Occupancy]:
    """Of each kernel and architecture: would it launch, how many blocks are resident, what limits them.

    Args:
        architectures: ``"sm_90"``, ...; empty: the module's target.
        dynamic: shared memory of the launch [bytes a block].
        registers: of a thread; None: what ptxas says, where there is one.
    """
    rows = _core.occupancy(
        _text(ptx), list(architectures), _shape(block, "block"), dynamic, registers, ptxas, asked("auto", 0, None)
    )
    return [Occupancy(*row) for row in rows]
