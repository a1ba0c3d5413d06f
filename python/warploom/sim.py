"""CUDA kernels without a GPU: they run on the CPU, and races and wrong accesses are found. For unit tests of kernels."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, List, NamedTuple, Sequence

import numpy as np

from . import _core
from ._asked import Progress, asked
from ._core import BadInput
from ._device_arrays import is_on_gpu
from .reuse import _shape, _text

__all__ = ["Finding", "Outcome", "Site", "run"]


class Site(NamedTuple):
    """Where a finding stands."""

    file: str
    """Of the source; empty without line information."""
    line: int
    ptx_line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    what: str
    """``"write of 4 bytes"``"""


@dataclass(frozen=True, eq=False)
class Finding:
    """Something that a kernel may not do."""

    kind: str
    """``"race"``, ``"out of bounds"``, ``"misaligned"``, ``"uninitialised"``, ``"barrier divergence"``, ``"deadlock"``, ..."""
    text: str
    """One or two lines, complete."""
    where: str
    """The memory: ``"shared array tile, byte 128"``, ``"argument 0, byte 4096"``."""
    count: int
    site: Site = field(repr=False)
    other: Site | None = field(repr=False)
    """Of a race: the earlier access."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a launch did."""

    findings: List[Finding]
    completed: bool
    """False: stopped at a finding that ends a kernel."""
    printed: str
    """By printf."""
    instructions: int = field(repr=False)
    barriers: int = field(repr=False)

    @property
    def clean(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        return "\n".join(f.text for f in self.findings) or "clean"


def run(
    ptx: str, kernel: str = "", grid: Sequence[int] | int = 1, block: Sequence[int] | int = 1, args: Sequence[Any] = (), *,
    race: bool = True, dynamic_shared: int = 0, schedule: str = "in-order", seed: int = 1,
    max_instructions: int = 100_000_000_000, file: str = "<ptx>", threads: int = 0, progress: Progress = None,
) -> Outcome:
    """Runs a kernel on a simulated GPU.

    Args:
        ptx: the text of the module.
        kernel: its name in the PTX, its C++ name (``"scale"``, ``"demo<256>"``) or a part of its declaration that no other kernel
            has; may be left out where there is one.
        grid, block: x or (x, y, z).
        args: of each parameter an array (C order; the kernel gets its address, and what its memory holds afterwards is written
            back, if it can be written) or a number, of the parameter's size: whole numbers and floats as the parameter is, NumPy's
            scalars as they are.
        race: look for races; about twice the time.
        dynamic_shared: of the extern array [bytes].
        schedule: which threads run next: ``"in-order"``, ``"random"`` or ``"adversarial"``, by ``seed``.

    Arrays are copied into the simulated memory and back. Deterministic, on any number of threads.

    Raises:
        BadInput: no PTX, no such kernel, arguments that do not fit, an instruction that the simulator does not know.
    """
    machine = _core.Machine(_text(ptx), file)
    name = machine.kernel(kernel)
    parameters = machine.parameters(name)
    if len(parameters) != len(args):
        raise BadInput(f"args: {len(args)} given, and {name} takes {len(parameters)}")
    passed: List[Any] = []
    written = []
    for k, (value, (type, size)) in enumerate(zip(args, parameters)):
        if isinstance(value, np.ndarray) and value.ndim > 0:
            if not value.flags.c_contiguous or value.dtype.hasobject:
                raise BadInput(f"args[{k}]: an array in C order of numbers is expected")
            memory = value.reshape(-1).view(np.uint8)
            passed.append(memory)
            if value.flags.writeable:
                written.append((k, memory))
        elif is_on_gpu(value):
            raise BadInput(f"args[{k}]: the array is in a GPU's memory, and what a kernel writes is written back to the host's: x.get(), x.cpu()")
        else:
            passed.append(_bytes(value, type, size, k))
    x = _shape(grid, "grid"), _shape(block, "block")
    assert x[0] is not None and x[1] is not None
    findings, completed, printed, instructions, barriers = machine.launch(
        name, x[0], x[1], dynamic_shared, passed, written, race, schedule, seed, max_instructions,
        asked("auto", threads, progress),
    )
    return Outcome(
        [
            Finding(kind, text, where, count, Site(*site), None if other is None else Site(*other))
            for kind, text, where, count, site, other in findings
        ],
        completed, printed, instructions, barriers,
    )


_FLOATS = {4: "<f", 8: "<d", 2: "<e"}


def _bytes(value: Any, type: str, size: int, k: int) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tobytes()
    try:
        # .b32 and .u32 may be either: a Python float says so itself.
        if isinstance(value, float) or type.startswith("f"):
            return struct.pack(_FLOATS[size], value)
        return int(value).to_bytes(size, "little", signed=value < 0)
    except (OverflowError, KeyError, struct.error, TypeError, ValueError):
        raise BadInput(f"args[{k}]: {value!r} does not fit a parameter of {size} bytes (.{type})") from None
