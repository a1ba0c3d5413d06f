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

def test_an_array_with_strides_is_read_where_it_lies():
    x = np.zeros((3, 4, 6), np.float32)
    for view in (x[:, ::2], x[::-1], x.T, x[..., 1:3]):
        assert numbers(view, "x", np.float32, any_order=True) is view
    odd = np.zeros(3, np.dtype([("byte", "u1"), ("value", "f4")]))["value"]  # whose steps are no whole numbers of elements
    assert numbers(odd, "x", np.float32, any_order=True).flags.c_contiguous


def orders(x):
    """The same numbers as parts of larger arrays, turned and mirrored."""
    wide = np.full([2 * n for n in x.shape], np.nan, np.float32)
    part = wide[tuple(slice(1, 2 * n, 2) for n in x.shape)]
    part[...] = x
    yield part
    yield np.array(x[::-1], order="C")[::-1]
    yield np.asfortranarray(x)


@pytest.mark.parametrize("shape", [(40, 50), (9, 15, 17)])
@pytest.mark.parametrize("options", [{}, {"method": "level-set", "max_num_iter": 9}, {"classes": 3}], ids=str)
def test_segment_takes_any_order(shape, options):
    image = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    image[tuple(slice(n // 4, n // 2) for n in shape)] += 5
    want = wl.segment(image, device="cpu", **options)
    for given in orders(image):
        found = wl.segment(given, device="cpu", **options)
        np.testing.assert_array_equal(found.mask, want.mask)
        np.testing.assert_array_equal(found.level_set, want.level_set)
        assert found.report["means" if "method" not in options else "mean_in"] == want.report["means" if "method" not in options else "mean_in"]


@pytest.mark.parametrize("shape", [(50, 44), (20, 18, 17)])
def test_register_takes_any_order(shape):
    rng = np.random.default_rng(3)
    fixed = np.asfortranarray(rng.normal(size=shape).astype(np.float32))
    fixed[tuple(slice(n // 4, n // 2) for n in shape)] += 9
    moving = np.asfortranarray(np.roll(fixed, 2, axis=0))
    fixed[0, 0] = np.nan  # does not count
    options: dict = {"levels": [3], "start": np.eye(4), "keep_start": True, "device": "cpu"}
    want = wl.register(fixed, moving, **options)
    for one, other in zip(orders(fixed), orders(moving)):
        found = wl.register(one, other, **options)
        np.testing.assert_array_equal(found.field, want.field)
        np.testing.assert_array_equal(found.warped, want.warped)
        for how in ("linear", "cubic", "nearest"):
            np.testing.assert_array_equal(found.apply(other, how), want.apply(moving, how))


def test_denoise_takes_any_order():
    rng = np.random.default_rng(4)
    b = np.r_[0.0, np.full(15, 1000.0)]
    directions = rng.normal(size=(16, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    series = np.asfortranarray(1000 * np.exp(-b * 1e-3) + rng.normal(scale=20, size=(12, 11, 9, 16)), np.float32)
    for options in ({"series": "on"}, {"series": "off", "regulariser": "tv", "lambda_": 0.1}):
        want = wl.denoise(series, b, directions, device="cpu", **options)
        for given in orders(series):
            found = wl.denoise(given, b, directions, device="cpu", **options)
            np.testing.assert_array_equal(found.tensor, want.tensor)
    tensors = want.tensor
    again = wl.denoise(np.ascontiguousarray(tensors), order="fsl", regulariser="tv", lambda_=0.1, device="cpu")
    np.testing.assert_array_equal(again.tensor, wl.denoise(np.asfortranarray(tensors), order="fsl", regulariser="tv", lambda_=0.1, device="cpu").tensor)


@pytest.mark.parametrize("options", [{}, {"normalize": False}, {"warping": "each"}], ids=str)
@pytest.mark.parametrize("shape", [(9, 40), (9, 3, 40), (5, 1, 40)])
def test_distances_take_any_order(shape, options):
    x = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    want, other = wl.distance_matrix(x, **options), wl.distance_matrix(x, x[:4], **options)
    for given in orders(x):
        np.testing.assert_array_equal(wl.distance_matrix(given, **options), want)
        np.testing.assert_array_equal(wl.distance_matrix(given, given[:4], **options), other)
    given[1, ..., 7] = np.nan
    with pytest.raises(wl.BadInput, match="sample 7 of sequence 1 is nan"):
        wl.distance_matrix(given)


def test_a_part_of_a_recording_is_not_copied():
    whole = np.random.default_rng(6).normal(size=(6, 3000)).astype(np.float32)
    part = whole[::2, 500:2500]
    index = wl.Index(part)
    whole[2, 600] = 77
    assert index.samples[1, 100] == 77
    query = part[:, 300:360].copy()
    same = [(m.first, m.score) for m in wl.search(part.copy(), query, best=3)]
    for given in (part, *orders(part)):
        assert [(m.first, m.score) for m in wl.search(given, query, best=3)] == same
        np.testing.assert_array_equal(wl.distance_profile(given, query), wl.distance_profile(part.copy(), query))


@pytest.mark.parametrize("bytes_each, prepare, call", [
    # scaled image, two level sets and a mask: 13 bytes a voxel; the image, which is turned, would, copied, be 4 more
    (13, "image = np.zeros((1024, 1024, 8), np.float32); image[:, 256:512] = 1",
     'wl.segment(image.T, method="level-set", max_num_iter=1, init_level_set="box", threads=1)'),
    # outcomes and values: 5 bytes a key; the keys, copied, would be 4 more
    (5, "keys = np.arange(8 << 20, dtype=np.uint32); table = wl.HashTable(); table.find(keys[:1000])", "found = table.find(keys)"),
    # a third of a byte a sample; the samples, copied, would be 4 more (making them may leave no larger peak behind)
    (0.3, "walk = np.random.default_rng(1).standard_normal((1, 8 << 20), np.float32); np.cumsum(walk, axis=1, out=walk)",
     'wl.search(walk, walk[:, 5000:5100].copy(), best=3, match="in-place", threads=1)'),
    # a map of 3 numbers a voxel; both images, in C order and not in nibabel's, would, copied, be 8 more
    (12.3, "fixed, moving = (np.zeros((256, 256, 128), np.float32) for _ in 'ab'); fixed[50:200, 60:180] = moving[52:202, 60:180] = 1",
     'wl.register(fixed, moving, method="rigid", start=np.eye(4), keep_start=True, threads=1)'),
    # every second of 2^16 sequences of 256 samples from 32 of them: half a byte a sample
    (0.5, "x = np.random.default_rng(1).standard_normal((1 << 16, 256), np.float32)",
     'wl.distance_matrix(x[::2], x[:32], band=0, normalize=False, threads=1)'),
    # tensors and S0 of 16 volumes, twice on their way: the series, copied, would be 4 more
    (2.4, "dwi = np.random.default_rng(1).standard_normal((16, 8, 256, 256), np.float32); dwi += 100; b = np.r_[0.0, np.full(15, 1000.0)]; "
     "v = np.random.default_rng(2).normal(size=(16, 3)); v /= np.linalg.norm(v, axis=1)[:, None]; mask = np.zeros((256, 256, 8), bool); mask[9] = True",
     "wl.denoise(dwi.T, b, v, series='off', regulariser='none', mask=mask, maps=[], threads=1)"),
], ids=["segment", "HashTable.find", "search", "register", "distance_matrix", "denoise"])
def test_memory_grows_by_what_the_work_takes(python, bytes_each, prepare, call):
    grown = int(python(GROWTH.format(prepare=prepare, call=call)))
    assert grown < (bytes_each + 2) * 8 * MEGA, f"{grown / (8 * MEGA):.2f} bytes each"
