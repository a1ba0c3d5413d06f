"""Fast, exact programs for medical data, and tools that make CUDA kernels use their memory well."""

from . import dp
from ._asked import State as ProgressState
from ._core import BadInput, Error, Internal, NoDevice, OutOfMemory, devices
from ._core import version as __version__
from ._search import distance_matrix

__all__ = [
    "BadInput", "Error", "Internal", "NoDevice", "OutOfMemory", "ProgressState", "__version__",
    "devices", "distance_matrix", "dp",
]
