"""Fast, exact programs for medical data, and tools that make CUDA kernels use their memory well."""

from importlib import import_module
from typing import TYPE_CHECKING

from . import dp, reuse, sim, tile
from ._asked import State as ProgressState
from ._core import BadInput, Error, Internal, NoDevice, OutOfMemory, devices
from ._core import version as __version__
from ._denoise import Denoised, denoise
from ._fold import Evaluation, Folding, Foldings, Loop, Suboptimal, fold, fold_eval, fold_suboptimal
from ._fold_ensemble import Ensemble, Unpaired, fold_ensemble, fold_unpaired
from ._fold_scan import Mutants, Windows, fold_mutants, fold_windows
from ._registration import Registration, register
from ._search import Index, Match, Matches, distance_matrix, distance_profile, search
from ._segment import Segmentation, segment
from ._table import Counts, HashTable, Outcomes, kmers

if TYPE_CHECKING:
    from . import hooks, plot
    from ._cohort import Cohort, CohortItem, cohort

__all__ = [
    "BadInput", "Cohort", "CohortItem", "Counts", "Denoised", "Ensemble", "Error", "Evaluation", "Folding", "Foldings", "HashTable", "Index", "Internal", "Loop", "Match", "Matches", "Mutants", "NoDevice", "OutOfMemory", "Outcomes",
    "ProgressState", "Registration", "Segmentation", "Suboptimal", "Unpaired", "Windows", "__version__", "cohort", "denoise", "devices", "distance_matrix", "distance_profile", "dp", "fold", "fold_ensemble", "fold_eval", "fold_mutants", "fold_suboptimal", "fold_unpaired", "fold_windows", "hooks", "kmers", "plot", "register",
    "reuse", "search", "segment", "sim", "tile",
]


def __getattr__(name: str) -> object:
    """`hooks`, `plot` and `cohort`, which few programs use and which load more than all others, when they are first asked for."""
    if name in ("hooks", "plot"):
        return import_module(f".{name}", __name__)
    if name in ("Cohort", "CohortItem", "cohort"):
        return getattr(import_module("._cohort", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
