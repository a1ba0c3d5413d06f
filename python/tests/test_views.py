"""Arrays of the right type and order are read where they are: resident memory grows by what the work itself takes and gives."""

import numpy as np
import pytest

import warploom as wl
from warploom._arrays import numbers

MEGA = 1 << 20

GROWTH = """
import resource
import numpy as np
import warploom as wl

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

{prepare}
before = peak()
{call}
print(peak() - before)
"""


def test_an_array_of_the_right_kind_is_itself():
    x = np.zeros((3, 4), np.float32)
    assert numbers(x, "x", np.float32) is x
    transposed = np.asfortranarray(np.zeros((2, 3, 4), np.float32)).T  # as nibabel's are turned
    assert numbers(transposed, "x", np.float32).ctypes.data == transposed.ctypes.data
    assert numbers(x[:, ::2], "x", np.float32).ctypes.data != x.ctypes.data


def test_what_is_kept_is_the_callers():
    walk = np.zeros((2, 50), np.float32)
    index = wl.Index(walk)
    walk[1, 7] = 3
    assert index.samples[1, 7] == 3
    again = wl.Index(walk.astype(np.float64))
    walk[1, 7] = 4
    assert again.samples[1, 7] == 3


def test_out_is_what_is_written():
    out = np.empty((3, 3), np.float32)
    assert wl.distance_matrix(np.random.default_rng(1).normal(size=(3, 50)), out=out) is out and out[0, 1] > 0


@pytest.mark.parametrize("bytes_each, prepare, call", [
    # scaled image, two level sets and a mask: 13 bytes a voxel; the image, copied, would be 4 more
    (13, "image = np.zeros((8, 1024, 1024), np.float32); image[:, 256:512] = 1",
     'wl.segment(image, method="level-set", max_num_iter=1, init_level_set="box", threads=1)'),
    # outcomes and values: 5 bytes a key; the keys, copied, would be 4 more
    (5, "keys = np.arange(8 << 20, dtype=np.uint32); table = wl.HashTable(); table.find(keys[:1000])", "found = table.find(keys)"),
    # a third of a byte a sample; the samples, copied, would be 4 more (making them may leave no larger peak behind)
    (0.3, "walk = np.random.default_rng(1).standard_normal((1, 8 << 20), np.float32); np.cumsum(walk, axis=1, out=walk)",
     'wl.search(walk, walk[:, 5000:5100].copy(), best=3, match="in-place", threads=1)'),
    # a map of 3 numbers a voxel; both images, copied, would be 8 more
    (12.3, "fixed, moving = (np.zeros((256, 256, 128), np.float32, order='F') for _ in 'ab'); fixed[50:200, 60:180] = moving[52:202, 60:180] = 1",
     'wl.register(fixed, moving, method="rigid", start=np.eye(4), keep_start=True, threads=1)'),
    # tensors and S0 of 16 volumes, twice on their way: the series, copied, would be 4 more
    (2.4, "dwi = np.random.default_rng(1).standard_normal((16, 8, 256, 256), np.float32); dwi += 100; b = np.r_[0.0, np.full(15, 1000.0)]; "
     "v = np.random.default_rng(2).normal(size=(16, 3)); v /= np.linalg.norm(v, axis=1)[:, None]; mask = np.zeros((256, 256, 8), bool); mask[9] = True",
     "wl.denoise(dwi.T, b, v, series='off', regulariser='none', mask=mask, maps=[], threads=1)"),
], ids=["segment", "HashTable.find", "search", "register", "denoise"])
def test_memory_grows_by_what_the_work_takes(python, bytes_each, prepare, call):
    grown = int(python(GROWTH.format(prepare=prepare, call=call)))
    assert grown < (bytes_each + 2) * 8 * MEGA, f"{grown / (8 * MEGA):.2f} bytes each"
