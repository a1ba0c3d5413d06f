"""Where a call runs and who is told how far it is, as every call takes it."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, Callable, NamedTuple, Union

from ._core import Asked, BadInput


class State(NamedTuple):
    """How far a piece of work is, as ``progress`` is told."""

    what: str
    """What is done: ``"searching"``."""
    unit: str
    """What is counted: ``"windows"``."""
    done: int
    total: int
    """0: not known."""
    elapsed: float
    """[s]"""
    finished: bool
    """The last call for this piece of work."""


Progress = Union[bool, None, Callable[[State], object]]
"""``True`` shows a line on standard error; a callable gets a :class:`State`, at most ten times a second."""

_PLAIN = Asked()
_without_progress = lru_cache(maxsize=64)(Asked)  # making one takes as long as a small call


def _show(state: State) -> None:
    share = f"{state.done}/{state.total} {state.unit}" if state.total else f"{state.done} {state.unit}"
    sys.stderr.write(f"\r{state.what} {share}, {state.elapsed:.1f} s" + ("\n" if state.finished else ""))
    sys.stderr.flush()


def asked(device: str, threads: int, progress: Progress) -> Asked:
    if device == "auto" and threads == 0 and (progress is None or progress is False):
        return _PLAIN
    if not hasattr(threads, "__index__") or threads < 0:
        raise BadInput(f"threads: {threads!r}: expected a whole number of at least 0, which is one a processor")
    told: Callable[[State], object] | None
    if progress is None or progress is False:
        told = None
    else:
        told = _show if progress is True else progress
    if told is None:
        return _without_progress(device, threads)
    told_of = told  # for the closure

    def tell(*values: Any) -> None:
        told_of(State(*values))

    return Asked(device, threads, tell)
