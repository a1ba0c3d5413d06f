"""Pictures of results, with matplotlib: ``pip install warploom[plot]``. Every function draws into ``ax``, or a figure of its
own, and gives the axes that it drew into, for titles and colours of your own."""

from __future__ import annotations

import importlib
from typing import Any, List, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import on_host
from ._core import BadInput
from ._denoise import Denoised
from ._images import is_nibabel
from ._search import Index, Match
from .dp import Structure, Triangulation
from .reuse import Optimized
from .tile import Explanation

__all__ = ["arcs", "maps", "matches", "reuse", "shared_memory", "triangulation"]


def _axes(rows: int = 1, columns: int = 1, **options: Any) -> Any:
    """[rows, columns] axes of a new figure."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("warploom.plot draws with matplotlib: pip install warploom[plot]") from error
    return pyplot.subplots(rows, columns, squeeze=False, layout="constrained", **options)[1]


def _values(image: Any) -> NDArray[Any]:
    return np.asanyarray(image.dataobj) if is_nibabel(image) else np.asarray(image)


def maps(after: Denoised, before: Denoised | None = None, *, z: int | None = None) -> NDArray[Any]:
    """A slice of a denoised series: fractional anisotropy above, directions in colours (red x, green y, blue z) below.

    Args:
        before: the same without denoising, drawn beside it:
            ``denoise(dwi, bvals, bvecs, series="off", regulariser="none")``.
        z: the slice; None: the middle one.

    Returns the axes, [2, 1 or 2]. Needs the maps ``fa`` and ``rgb``.
    """
    shown = [("denoised", after)] if before is None else [("before", before), ("denoised", after)]
    for title, each in shown:
        if not {"fa", "rgb"} <= each.maps.keys():
            raise BadInput(f"maps: the {title} image has {', '.join(each.maps)}: fa and rgb are drawn")
    axes = _axes(2, len(shown), figsize=(3.4 * len(shown), 6.4))
    for column, (title, each) in zip(axes.T, shown):
        fa, rgb = _values(each.maps["fa"]), _values(each.maps["rgb"])
        at = fa.shape[2] // 2 if z is None else z
        if not 0 <= at < fa.shape[2]:
            raise BadInput(f"z: {at}; the image has slices 0 to {fa.shape[2] - 1}")
        column[0].imshow(fa[:, :, at].T, cmap="gray", vmin=0, vmax=1, origin="lower")
        column[1].imshow(np.clip(rgb[:, :, at].swapaxes(0, 1), 0, 1), origin="lower")
        column[0].set_title(title)
        for ax in column:
            ax.set_xticks([])
            ax.set_yticks([])
    axes[0, 0].set_ylabel("fractional anisotropy")
    axes[1, 0].set_ylabel("direction")
    return axes  # type: ignore[no-any-return]


def matches(found: Sequence[Match], recording: Any, fs: float | None = None, *, ax: Any = None) -> Any:
    """A recording, a line a channel, with each place that was found where it lies in each channel, and its rank.

    Args:
        found: what ``search`` gave, or some of it.
        recording, fs: what was searched, as ``search`` takes it, or its Index.
    """
    index = recording if isinstance(recording, Index) else Index(recording, fs)
    samples, names, rate = index.samples, index.channels, index.fs
    ax = _axes(figsize=(10, 1 + 0.9 * len(samples)))[0, 0] if ax is None else ax
    times = np.arange(samples.shape[1]) / (rate or 1)
    for k, channel in enumerate(samples):
        low, high = np.nanmin(channel), np.nanmax(channel)
        ax.plot(times, -k + 0.8 * (channel - low) / (high - low if high > low else 1) - 0.4, color="0.35", linewidth=0.7)
    for rank, match in enumerate(found):
        for pair in match.pairs:
            if pair.channel not in names:
                raise BadInput(f"recording: a match lies in channel '{pair.channel}', and it has {', '.join(names)}")
            row = names.index(pair.channel)
            ax.broken_barh(
                [(pair.offset / (rate or 1), pair.length / (rate or 1))], (-row - 0.45, 0.9), alpha=0.35,
                color="tab:orange" if pair.switched or pair.negated else "tab:blue",
            )
        ax.annotate(
            str(rank + 1), (match.onset + match.duration / 2, 0.5), ha="center", va="bottom", annotation_clip=False
        )
    ax.set_yticks([-k for k in range(len(samples))], names)
    ax.set_ylim(-len(samples) + 0.5, 0.5)
    ax.set_xlim(times[0], times[-1])
    ax.set_xlabel("time [s]" if rate else "sample")
    return ax


def _pairs(brackets: str) -> List[Tuple[int, int]]:
    opened: List[int] = []
    pairs = []
    for place, letter in enumerate(brackets):
        if letter == "(":
            opened.append(place)
        elif letter == ")":
            if not opened:
                raise BadInput(f"structure: the bracket at {place} closes none")
            pairs.append((opened.pop(), place))
    if opened:
        raise BadInput(f"structure: the bracket at {opened[-1]} is not closed")
    return pairs


def arcs(structure: Structure | str, sequence: str = "", *, ax: Any = None) -> Any:
    """A secondary structure: the sequence on a line, an arc over each pair, in the colour of its kind.

    Args:
        structure: of :func:`warploom.dp.nussinov`; or dot-bracket, as :func:`warploom.fold` gives it, with its ``sequence``.
    """
    if isinstance(structure, str):
        pairs: Any = _pairs(structure)
        letters = sequence.upper().replace("T", "U")
        if not sequence:
            raise BadInput("sequence: dot-bracket does not hold the letters: arcs(structure, sequence)")
        if len(letters) != len(structure):
            raise BadInput(f"sequence: {len(letters)} letters, and the structure has {len(structure)}")
    else:
        pairs, letters = structure.trace(), structure.sequence
    n = len(letters)
    ax = _axes(figsize=(max(4.0, min(16.0, n / 6)), 4))[0, 0] if ax is None else ax
    colours = {"CG": "tab:blue", "AU": "tab:orange", "GU": "tab:green"}
    angle = np.linspace(0, np.pi, 60)
    drawn = set()
    for i, j in pairs:
        kind = "".join(sorted(letters[i] + letters[j]))
        ax.plot(
            (i + j) / 2 + (j - i) / 2 * np.cos(angle), (j - i) / 2 * np.sin(angle), color=colours.get(kind, "tab:grey"),
            label=f"{kind[0]}-{kind[1]}" if kind not in drawn else None,
        )
        drawn.add(kind)
    if n <= 120:
        for i, letter in enumerate(letters):
            ax.text(i, -0.4, letter, ha="center", va="top", family="monospace", fontsize=8)
    ax.set_aspect("equal")
    ax.set_xlim(-1, n)
    ax.axis("off")
    if drawn:
        ax.legend(frameon=False, loc="upper right")
    return ax


def triangulation(xy: ArrayLike, found: Triangulation, *, ax: Any = None) -> Any:
    """A polygon and the diagonals of its shortest triangulation."""
    points = on_host(xy, "xy")
    ax = _axes(figsize=(5, 5))[0, 0] if ax is None else ax
    outline = np.vstack([points, points[:1]])
    for i, j in found.diagonals:
        ax.plot(*points[[i, j]].T, color="tab:blue", linewidth=0.8)
    ax.plot(*outline.T, color="0.2")
    ax.set_aspect("equal")
    return ax


def shared_memory(optimized: Optimized, kernel: str | None = None) -> NDArray[Any]:
    """The arrays of a kernel in its shared memory, before and after: each lies at its bytes, over the lines of PTX where it
    is needed. Dotted lines are barriers that were inserted.

    Args:
        kernel: its name; None: the first that was rewritten, or else the first.

    Returns the axes, [before, after].
    """
    kernels = optimized.report["kernels"]
    if kernel is None:
        chosen = next((k for k in kernels if k["verdict"] == "rewritten"), kernels[0] if kernels else None)
    else:
        chosen = next((k for k in kernels if kernel in (k["name"], k["symbol"])), None)
    if chosen is None:
        raise BadInput(f"kernel: '{kernel}' is not in the module; it has {', '.join(k['name'] for k in kernels) or 'none'}")
    if not chosen["objects"]:
        raise BadInput(f"{chosen['name']}: no arrays to draw: {chosen['reason'] or 'it has none in shared memory'}")
    axes = _axes(1, 2, figsize=(11, 4.5), sharex=True, sharey=True)[0]
    pooled = any(each["offset"] is not None for each in chosen["objects"])
    ends = [0, chosen["pool_bytes"] if pooled else 0]  # of what lies one behind the other: everything before, what is in no pool after
    for k, each in enumerate(chosen["objects"]):
        lives = each["live_lines"] or [[chosen["first_line"], chosen["last_line"]]]
        for side, ax in enumerate(axes):
            offset = each["offset"] if side == 1 else None
            if offset is None:
                offset = -(-ends[side] // each["alignment"]) * each["alignment"]
                ends[side] = offset + each["bytes"]
            ax.broken_barh(
                [(first, last - first + 1) for first, last in lives], (offset, each["bytes"]), color=f"C{k % 10}", alpha=0.6,
                label=each["name"],
            )
    for barrier in chosen["barriers"]:
        if barrier["inserted"] and chosen["verdict"] == "rewritten":
            axes[1].axvline(barrier["at"]["ptx_line"], color="0.2", linestyle=":", linewidth=1)
    for ax, title, size in zip(axes, ("before", "after"), (chosen["bytes_before"], chosen["bytes_after"])):
        ax.set_title(f"{title}: {size:,} bytes")
        ax.set_xlabel("line of PTX")
    axes[0].set_ylabel("shared memory of a block [bytes]")
    axes[0].set_ylim(0, chosen["bytes_before"])
    axes[0].legend(fontsize="small")
    return axes  # type: ignore[no-any-return]


def reuse(explanation: Explanation, *, ax: Any = None) -> Any:
    """Which loop brings which data again: a row a reference, a column a loop.

    ``temporal``: the same element in the loop's next iteration; ``spatial``: a neighbour in the same line of cache; ``group``:
    what another reference touched.
    """
    report = explanation.report
    loops = list(dict.fromkeys(loop for statement in report["statements"] for loop in statement["loops"]))
    strength = ("spatial", "temporal")
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for statement in report["statements"]:
        for reference in statement["references"]:
            if "[" in reference["element"]:
                cells.setdefault((statement["label"], reference["element"]), {})
    for each in report["reuse"]:
        row = cells.get((each["statement"], each["reference"]))
        if row is not None and each["loop"] is not None:
            group, kind = each["kind"].split("-", 1)
            text = kind if group == "self" else f"{group} {kind}"
            if each["loop"] not in row or text == "temporal":
                row[each["loop"]] = text
    ax = _axes(figsize=(2 + 1.3 * len(loops), 0.8 + 0.45 * len(cells)))[0, 0] if ax is None else ax
    shade = [[1 + strength.index(row[l].split()[-1]) if l in row else 0 for l in loops] for row in cells.values()]
    ax.imshow(shade, cmap="Blues", vmin=0, vmax=3, aspect="auto")
    for y, row in enumerate(cells.values()):
        for x, loop in enumerate(loops):
            ax.text(x, y, row.get(loop, ""), ha="center", va="center", fontsize=9)
    ax.set_xticks(range(len(loops)), loops)
    ax.set_yticks(range(len(cells)), [f"{label}  {element}" for label, element in cells])
    ax.tick_params(length=0)
    ax.set_title(f"{explanation.function}: reuse by loop")
    return ax
