"""The smallest NIfTI-1 files that the benchmarks need: float32, 1 mm voxels, no other header fields."""

import struct

import numpy as np


def write_nifti(path, image, volumes=False, intent_name=b""):
    """image [y, x] or [z, y, x]; with `volumes` its first axis counts volumes."""
    extents = list(image.shape[::-1])
    axes = extents[:-1] + [1] * (4 - len(extents)) + extents[-1:] if volumes else extents
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, len(axes), *axes, *[1] * (7 - len(axes)))
    struct.pack_into("<2h", header, 70, 16, 32)
    struct.pack_into("<8f", header, 76, *[1] * 8)
    struct.pack_into("<2f", header, 108, 352, 1)
    header[123] = 2  # millimetres
    struct.pack_into("<h", header, 254, 1)
    for row in range(3):
        struct.pack_into("<4f", header, 280 + 16 * row, *[float(row == column) for column in range(4)])
    header[328:328 + len(intent_name)] = intent_name
    header[344:348] = b"n+1\0"
    with open(path, "wb") as file:
        file.write(bytes(header) + image.astype("<f4").tobytes())


def read_nifti(path, shape, kind=np.float32):
    """The voxels of a file that `warploom` wrote, whose shape and type are known."""
    with open(path, "rb") as file:
        content = file.read()
    offset = int(struct.unpack_from("<f", content, 108)[0])
    return np.frombuffer(content, kind, int(np.prod(shape)), offset).reshape(shape)
