"""Fast, exact programs for medical data, and tools that make CUDA kernels use their memory well."""

from . import dp, reuse, sim
from ._asked import State as ProgressState
from ._core import BadInput, Error, Internal, NoDevice, OutOfMemory, devices
from ._core import version as __version__
from ._search import distance_matrix
from ._segment import Segmentation, segment
from ._table import Counts, HashTable, Outcomes, kmers

__all__ = [
    "BadInput", "Counts", "Error", "HashTable", "Internal", "NoDevice", "OutOfMemory", "Outcomes", "ProgressState", "Segmentation",
    "__version__", "devices", "distance_matrix", "dp", "kmers", "reuse", "segment", "sim",
]
