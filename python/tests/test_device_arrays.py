"""Arrays in a GPU's memory: taken where they are by a build with CUDA, refused with words by others."""

import sys
import types

import numpy as np
import pytest

import warploom as wl
from warploom import _core


def libraries():
    """Those whose arrays can be in a GPU's memory here: how an array comes there, and back."""
    found = []
    if not _core.built_with_cuda:
        return found
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount():
            found.append(pytest.param((cupy.asarray, cupy.asnumpy, cupy.ndarray), id="cupy"))
    except Exception:  # not installed, or no driver
        pass
    try:
        import torch

        if torch.cuda.is_available():
            found.append(pytest.param((lambda x: torch.from_numpy(x).cuda(), lambda x: x.cpu().numpy(), torch.Tensor), id="torch"))
    except ImportError:
        pass
    try:
        from numba import cuda

        if cuda.is_available():
            kind = type(cuda.device_array(1))
            found.append(pytest.param((cuda.to_device, lambda x: x.copy_to_host(), kind), id="numba"))
    except Exception:
        pass
    return found


LIBRARIES = libraries() or [pytest.param(None, marks=pytest.mark.skip("no GPU, no library with arrays there, or built without CUDA"))]
library = pytest.mark.parametrize("library", LIBRARIES)


def cells(shape, seed=1):
    places = np.indices(shape).astype(np.float64)
    image = np.zeros(shape)
    for k, centre in enumerate(np.random.default_rng(seed).uniform(0.2, 0.8, (4, len(shape)))):
        image[sum((p / n - c) ** 2 for p, n, c in zip(places, shape, centre)) < (0.03 + 0.02 * k) ** 1] = 1
    return (image + np.random.default_rng(seed + 1).normal(scale=0.3, size=shape)).astype(np.float32)


@library
@pytest.mark.parametrize("shape", [(150, 210), (21, 44, 63)])
@pytest.mark.parametrize("options", [{}, {"noise": "counts"}, {"method": "level-set"}, {"method": "level-set", "inside": "dark"},
                                     {"method": "level-set", "init_level_set": "disk", "max_num_iter": 31}], ids=str)
def test_segment_gives_the_bits_of_an_array_on_the_host(library, shape, options):
    there, back, kind = library
    image = cells(shape)
    want = wl.segment(image, device="cuda", **options)
    found = wl.segment(there(image), **options)
    assert isinstance(found.mask, kind) and isinstance(found.level_set, kind)
    np.testing.assert_array_equal(back(found.mask), want.mask)
    np.testing.assert_array_equal(back(found.level_set), want.level_set)
    np.testing.assert_array_equal(found.energies, want.energies)
    assert {k: v for k, v in found.report.items() if k not in ("seconds", "device", "device_bytes")} == {
        k: v for k, v in want.report.items() if k not in ("seconds", "device", "device_bytes")}
    assert found.report["device_bytes"] <= want.report["device_bytes"] - 5 * image.size  # results are there


@library
def test_segment_takes_a_mask_from_either_memory(library):
    there, back, _ = library
    image = cells((90, 120))
    mask = np.zeros(image.shape, np.uint8)
    mask[10:80, 20:110] = 1
    image[0, 0] = np.nan  # does not count
    want = wl.segment(image, device="cuda", mask=mask)
    for given in (mask, there(mask)):
        np.testing.assert_array_equal(back(wl.segment(there(image), mask=given).mask), want.mask)
    with pytest.raises(wl.BadInput, match="NaN"):
        wl.segment(there(image))


@library
@pytest.mark.parametrize("key", ["u4", "u8"])
@pytest.mark.parametrize("value", ["u4", "u8"])
def test_a_hash_table_takes_keys_where_they_are(library, key, value):
    there, back, kind = library
    if kind.__module__.startswith("torch") and (key, value) != ("u4", "u4"):
        torch = sys.modules["torch"]
        if not hasattr(torch, "uint64"):
            pytest.skip("this PyTorch has no unsigned integers")
    rng = np.random.default_rng(3)
    table, host = wl.HashTable(key, value, capacity=100, device="cuda"), wl.HashTable(key, value, device="cpu")
    keys = rng.permutation(np.arange(50_000, dtype=key) * 7)
    values = rng.integers(0, 1 << 31, keys.size, dtype=value)
    for batch in ("insert", "find", "assign", "erase", "find", "add"):
        some = keys[rng.random(keys.size) < 0.7]
        operands = None if batch in ("find", "erase") else values[: some.size]
        want = host.run(batch, some, operands)
        done = table.run(batch, there(some), None if operands is None else there(operands))
        assert isinstance(done.outcomes, kind) and isinstance(done.values, kind)
        np.testing.assert_array_equal(back(done.outcomes), want.outcomes)
        np.testing.assert_array_equal(back(done.values), want.values)
        assert len(table) == len(host)
    operations = rng.integers(0, 7, keys.size, dtype=np.uint8)
    want = host.run(operations, keys, values)
    np.testing.assert_array_equal(back(table.run(there(operations), there(keys), there(values)).outcomes), want.outcomes)
    np.testing.assert_array_equal(table.find(keys).values, host.find(keys).values)  # and from the host
    pairs = table.items(like=there(np.zeros(3, np.float32)))
    assert all(isinstance(array, kind) for array in pairs)
    assert dict(zip(*(back(array).tolist() for array in pairs))) == dict(zip(*(array.tolist() for array in host.items())))
    table.clear()
    assert [back(array).size for array in table.items(like=there(keys))] == [0, 0]


@library
def test_auto_takes_the_processors_for_little_work(library):
    there, back, kind = library
    keys = np.arange(9, dtype=np.uint32)
    table, large = wl.HashTable(capacity=8), wl.HashTable(capacity=1 << 24)
    assert "on cpu" in repr(table) and "on cuda" in repr(large)
    table.insert(there(keys))  # it is empty: it goes where they are
    assert "on cuda" in repr(table) and len(table) == 9
    assert wl.dp.chain([30, 35, 15]).report.device == "cpu"
    assert wl.dp.nussinov("GC" * 20).report.device == "cpu"
    assert wl.dp.chain(np.arange(1, 4000)).report.device == "cuda"


@library
def test_a_hash_table_refuses_what_does_not_fit(library):
    there = library[0]
    table = wl.HashTable(device="cuda")
    keys = np.arange(4, dtype=np.uint32)
    with pytest.raises(wl.BadInput, match="values: an array on the host"):
        table.insert(there(keys), keys)
    with pytest.raises(wl.BadInput, match="values: shape"):
        table.insert(there(keys), there(keys[:3].copy()))
    with pytest.raises(wl.NoDevice, match="not one of lines there"):
        wl.HashTable(device="cpu").find(there(keys))
    with pytest.raises(wl.NoDevice, match="not one of lines there"):
        wl.HashTable(device="cpu").items(like=there(keys))


def parts(there, kind, x):
    """The same numbers there, as a part of a larger array and turned; numba turns none."""
    wide = np.zeros([2 * n for n in x.shape], x.dtype)
    places = tuple(slice(1, 2 * n, 2) for n in x.shape)
    wide[places] = x
    yield there(wide)[places]
    if not kind.__module__.startswith("numba"):
        yield there(np.ascontiguousarray(x.swapaxes(0, x.ndim - 1))).swapaxes(0, x.ndim - 1)


@library
@pytest.mark.parametrize("shape", [(150, 210), (21, 44, 63)])
def test_segment_reads_an_array_with_strides_where_it_lies(library, shape):
    there, back, kind = library
    image = cells(shape)
    want = wl.segment(image, device="cuda")
    for given in parts(there, kind, image):
        found = wl.segment(given)
        np.testing.assert_array_equal(back(found.mask), want.mask)
        np.testing.assert_array_equal(back(found.level_set), want.level_set)


@library
@pytest.mark.parametrize("match", ["in-place", "auto"])
def test_search_takes_a_recording_from_there(library, match):
    there, back, kind = library
    walk = np.cumsum(np.random.default_rng(4).normal(size=(3, 5000)), axis=1).astype(np.float32)
    query = walk[:, 700:800].copy()
    want = [(m.first, m.score) for m in wl.search(walk, query, best=3, match=match, device="cuda")]
    for given in (there(walk), *parts(there, kind, walk), there(np.pad(walk, ((0, 0), (300, 70))))[:, 300:-70]):
        assert [(m.first, m.score) for m in wl.search(given, there(query), best=3, match=match)] == want
        np.testing.assert_array_equal(back(wl.distance_profile(given, query)), wl.distance_profile(walk, query))
        np.testing.assert_array_equal(back(wl.distance_matrix(given)), wl.distance_matrix(walk))


@library
def test_an_index_has_the_recording_as_it_was(library):
    if library[2].__module__.startswith("numba"):
        pytest.skip("numba writes no slices of another type")
    walk = np.cumsum(np.random.default_rng(4).normal(size=(2, 3000)), axis=1).astype(np.float32)
    recording = library[0](walk)
    index = wl.Index(recording)
    want = [(m.first, m.score) for m in index.find(walk[:, 700:800].copy(), best=3)]
    recording[...] = 0
    assert [(m.first, m.score) for m in index.find(walk[:, 700:800].copy(), best=3)] == want


@pytest.fixture(scope="module")
def series(tool, tmp_path_factory):
    """A part of the tool's example: values, b-values and directions."""
    nibabel = pytest.importorskip("nibabel")
    folder = tmp_path_factory.mktemp("series")
    tool("example", "series", cwd=folder)
    values = np.asarray(nibabel.load(folder / "dwi.nii.gz").dataobj, np.float32)[8:24, 8:24, :6]
    return np.asfortranarray(values), np.loadtxt(folder / "dwi.bval"), np.loadtxt(folder / "dwi.bvec").T


@library
@pytest.mark.parametrize("options", [{}, {"series": "off", "regulariser": "none"}, {"regulariser": "tv", "shells": [1000]}], ids=str)
@pytest.mark.parametrize("order", "FC")
def test_denoise_gives_the_bits_of_a_series_on_the_host(library, series, options, order):
    there, back, kind = library
    values, b, directions = series
    if options.get("shells"):
        options = {**options, "shells": [float(np.unique(np.round(b, -2))[-1])]}
    want = wl.denoise(values, b, directions, device="cuda", **options)
    found = wl.denoise(there(np.array(values, order=order)), b, directions, **options)
    assert isinstance(found.tensor, kind) and set(found.maps) == set(want.maps)
    np.testing.assert_array_equal(back(found.tensor), want.tensor)
    for name, image in want.maps.items():
        np.testing.assert_array_equal(back(found.maps[name]), image, err_msg=name)
    on_gpu = want.report["series_denoised"] or want.report["regulariser"] == "tv"  # else the plain fit alone
    devices = found.report.pop("device"), want.report.pop("device")
    assert devices == ("cpu", "cpu") if not on_gpu else devices[0] == "cuda:0" and devices[1].startswith("cuda")
    assert found.report == want.report
    if options.get("regulariser") == "none":
        for given in parts(there, kind, values):
            np.testing.assert_array_equal(back(wl.denoise(given, b, directions, **options).tensor), want.tensor)


@library
def test_denoise_of_tensors_and_what_does_not_fit(library, series):
    there, back, kind = library
    values, b, directions = series
    tensors = np.asfortranarray(wl.denoise(values, b, directions, series="off", regulariser="none", maps=[]).tensor)
    want = wl.denoise(tensors, order="fsl", regulariser="tv", device="cuda", maps=["fa"])
    found = wl.denoise(there(tensors), order="fsl", regulariser="tv", maps=["fa"])
    assert isinstance(found.fa, kind)
    np.testing.assert_array_equal(back(found.tensor), want.tensor)
    with pytest.raises(wl.BadInput, match="dwi: shape"):
        wl.denoise(there(values[..., 0].copy()), b, directions)
    with pytest.raises(wl.BadInput, match="device: 'cpu', but dwi is in the memory of cuda:0"):
        wl.denoise(there(values), b, directions, device="cpu")


@library
@pytest.mark.parametrize("options", [{"method": "rigid"}, {"levels": [20, 10]}, {"levels": [9], "measure": "ssd"},
                                     {"method": "demons", "levels": [5], "measure": "nmi"}], ids=str)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_register_gives_the_bits_of_images_on_the_host(library, options, dimensions):
    there, back, kind = library
    shape = (44, 40, 30)[:dimensions]
    fixed = np.asfortranarray(cells(shape, 5))
    moving = np.asfortranarray(np.roll(fixed, 2, axis=1))
    mask = np.zeros(shape, np.uint8)
    mask[2:-2, 1:-1] = 1
    want = wl.register(fixed, moving, fixed_mask=mask, **options)
    images = there(fixed), there(moving)
    found = wl.register(*images, fixed_mask=there(mask), **options)
    np.testing.assert_array_equal(found.affine, want.affine)
    for name in ("warped", "field", "inverse", "jacobian"):
        assert isinstance(getattr(found, name), kind), name
        np.testing.assert_array_equal(back(getattr(found, name)), getattr(want, name), err_msg=name)
    np.testing.assert_array_equal(back(images[0]), fixed)  # as they were
    np.testing.assert_array_equal(back(images[1]), moving)
    assert isinstance(found.apply(images[1]), kind) and isinstance(found.apply(moving), np.ndarray)
    np.testing.assert_array_equal(wl.register(images[0], moving, fixed_mask=mask, **options).inverse, want.inverse)
    for one, other in zip(parts(there, kind, fixed), parts(there, kind, moving)):
        np.testing.assert_array_equal(back(wl.register(one, other, fixed_mask=mask, **options).warped), want.warped)


@library
def test_others_copy_to_the_host_and_give_back_there(library):
    there, back, kind = library
    x = np.random.default_rng(6).normal(size=(7, 40)).astype(np.float32)
    for found, want in ((wl.distance_matrix(there(x)), wl.distance_matrix(x)),
                        (wl.distance_profile(there(x[0]), there(x[1, :9].copy())), wl.distance_profile(x[0], x[1, :9]))):
        assert isinstance(found, kind)
        np.testing.assert_array_equal(back(found), want)
    dims = np.arange(3, 40)
    assert wl.dp.chain(there(dims)).optimum == wl.dp.chain(dims).optimum
    square = np.random.default_rng(7).integers(0, 99, (9, 9)).astype(np.float64)
    for solved, same in ((wl.dp.solve(there(square)), wl.dp.solve(square)),
                         (wl.dp.solve(there(square[0].copy()), factors=there(np.arange(10.0))), wl.dp.solve(square[0], factors=np.arange(10.0)))):
        table = solved.table(like=there(x))
        assert isinstance(table, kind)
        np.testing.assert_array_equal(back(table), same.table())
    ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f(.param .u64 a) { ret; }\n"
    with pytest.raises(wl.BadInput, match=r"args\[0\]: the array is in a GPU's memory"):
        wl.sim.run(ptx, "f", 1, 1, [there(x)])


def test_work_comes_after_what_the_arrays_stream_has():
    cupy = pytest.importorskip("cupy")
    if not _core.built_with_cuda:
        pytest.skip("built without CUDA")
    image = cells((400, 500))
    want = wl.segment(image, device="cuda").mask
    keys = np.arange(100_000, dtype=np.uint32)
    slow = cupy.ones((6000, 6000), cupy.float32)
    with cupy.cuda.Stream(non_blocking=True):
        late, late_keys = cupy.zeros_like(cupy.asarray(image)), cupy.zeros(keys.size, cupy.uint32)
        source, key_source = cupy.asarray(image), cupy.asarray(keys)
        for _ in range(10):
            slow = slow @ slow * 1e-4
        late[...] = source
        late_keys[...] = key_source
        found = wl.segment(late)
        table = wl.HashTable(device="cuda")
        table.insert(late_keys)
        assert len(table) == keys.size
        np.testing.assert_array_equal(cupy.asnumpy(found.mask), want)


def test_integers_are_converted_on_the_gpu_if_they_are_whole():
    cupy = pytest.importorskip("cupy")
    if not _core.built_with_cuda:
        pytest.skip("built without CUDA")
    table = wl.HashTable(device="cuda")
    table.insert(cupy.arange(10, dtype=cupy.int64)[::2])  # another type, and not contiguous
    assert sorted(table.items()[0].tolist()) == [0, 2, 4, 6, 8]
    for wrong in ([1.5], [-1], [1 << 40]):
        with pytest.raises(wl.BadInput, match="not all of its numbers"):
            table.insert(cupy.asarray(wrong))


def test_a_build_without_cuda_says_what_to_do():
    if _core.built_with_cuda:
        pytest.skip("built with CUDA")
    array = type("ndarray", (), {"__cuda_array_interface__": {}, "__module__": "cupy"})()
    array.ndim, array.T, array.shape = 4, array, (2, 2, 2, 2)
    for call in (lambda: wl.segment(array), lambda: wl.HashTable().find(array), lambda: wl.denoise(array, "b", "v")):
        with pytest.raises(wl.BadInput, match=r"built for the CPU alone: bring it to the host \(x.get\(\), x.cpu\(\)\)"):
            call()
    array.get = lambda: np.array([30, 35, 15])  # what is copied to the host needs no GPU of ours
    assert wl.dp.chain(array).optimum == 30 * 35 * 15


def test_arrays_of_libraries_that_are_not_known_are_named(monkeypatch):
    from warploom import _device_arrays

    monkeypatch.setattr(_device_arrays, "_core", types.SimpleNamespace(built_with_cuda=True))
    array = type("Array", (), {"__dlpack_device__": lambda self: (2, 0), "__dlpack__": None, "__module__": "jaxlib"})()
    with pytest.raises(wl.BadInput, match="arrays of jaxlib on a GPU are not known: give cupy.from_dlpack"):
        wl.segment(array)
