#!/usr/bin/env python3
"""Question: what does it cost to bring arrays of a GPU to the host and back, which calls that take them where they are leave out?

Fixed: CuPy arrays on one GPU; the median of TRIES calls after one more, both in turns, [ms], each from its start to the moment when the results are
where they are wanted: `there`, with input and results on the GPU; `through the host`, by x.get(), the call with device="cuda", and
cupy.asarray() of what it gives. Memory of the GPU: the most that was in use during the call beyond what was before, by the driver, a
value of the input.

    PYTHONPATH=build/default/python python bench/python/device_arrays.py >device_arrays.json
    ... device_arrays.py images  # of denoise and register alone
    ... device_arrays.py memory  # of 1 GiB: what a call takes on the GPU beyond its results and what C++ says that it takes, and on the host
    ... device_arrays.py orders  # arrays in another order, where they lie and through a copy in C order
"""
import json
import resource
import statistics
import sys
import threading
import time

import cupy
import numpy as np

import warploom as wl

TRIES = 5


def once(call):
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    kept = call()
    cupy.cuda.Device().synchronize()
    taken = 1e3 * (time.perf_counter() - begin)
    del kept
    return taken


def milliseconds(*calls):
    """Of each, in turns: what else the machine does meets all of them."""
    times = [[once(call) for call in calls] for _ in range(1 + TRIES)][1:]
    medians = [statistics.median(column) for column in zip(*times)]
    return medians if len(calls) > 1 else medians[0]


def most_used(call):
    """The greatest growth of the memory in use, looked at all the time."""
    cupy.get_default_memory_pool().free_all_blocks()
    free, ended = cupy.cuda.runtime.memGetInfo()[0], threading.Event()
    least = [free]

    def look():
        while not ended.is_set():
            least[0] = min(least[0], cupy.cuda.runtime.memGetInfo()[0])

    looker = threading.Thread(target=look)
    looker.start()
    kept = call()
    ended.set()
    looker.join()
    del kept
    return free - least[0]


def blobs(*shape):
    rng = cupy.random.default_rng(1)
    places = cupy.meshgrid(*(cupy.linspace(0, 12, n, dtype="f4") for n in shape), indexing="ij")
    image = sum(cupy.sin(p) for p in places) > 0.5
    return image.astype("f4") + rng.standard_normal(shape, dtype="f4") * cupy.float32(0.3)


def series(*shape, volumes=33):
    """Tensors that turn through the grid, magnitudes with noise of 1/25 of the signal; b-values and directions."""
    rng = np.random.default_rng(4)
    directions = rng.normal(size=(volumes, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    b = np.where(np.arange(volumes) < 3, 0, 1000.0)
    x, y, z = cupy.meshgrid(*(cupy.linspace(0, 3, n, dtype="f4") for n in shape), indexing="ij")
    along = cupy.stack([cupy.cos(x + z), cupy.sin(x + z), cupy.sin(y)], axis=-1)
    along /= cupy.linalg.norm(along, axis=-1, keepdims=True)
    values = cupy.empty((*shape, volumes), "f4", order="F")
    noise = cupy.random.default_rng(5)
    for k in range(volumes):
        cosine = along @ cupy.asarray(directions[k], "f4")
        signal = 1000 * cupy.exp(-b[k] * 1e-3 * (0.4 + 1.3 * cosine**2)).astype("f4")
        parts = noise.standard_normal((2, *shape), dtype="f4") * cupy.float32(40)
        values[..., k] = cupy.hypot(signal + parts[0], parts[1])
    return values, b, directions


def images(compare):
    """Calls that do a part of their work on the host."""
    dwi, b, directions = series(96, 96, 48)
    for options in ({}, {"series": "off", "regulariser": "tv"}):
        def there():
            found = wl.denoise(dwi, b, directions, **options)
            return found.tensor, *found.maps.values()

        def host():
            found = wl.denoise(dwi.get(order="A"), b, directions, device="cuda", **options)
            return tuple(map(cupy.asarray, (found.tensor, *found.maps.values())))

        compare(f"denoise 96 x 96 x 48 x 33 {options.get('regulariser', 'adaptive')}", dwi.size, there, host)
    fixed = cupy.asfortranarray(blobs(160, 160, 120))
    moving = cupy.asfortranarray(cupy.roll(fixed, 3, axis=1))

    def there_too():
        found = wl.register(fixed, moving)
        return found.warped, found.field

    def host_too():
        found = wl.register(fixed.get(order="A"), moving.get(order="A"))
        return cupy.asarray(found.warped), cupy.asarray(found.field)

    compare("register 160 x 160 x 120, warped and field", fixed.size, there_too, host_too)


def host_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory():
    """Rows of calls on 2^28 float32 or uint32 in the GPU's memory. `gpu_says`: what C++ reports of the call."""
    rows, count = [], 1 << 28
    small = blobs(256, 256)
    wl.segment(small), wl.segment(small, method="level-set")  # what the driver loads at first

    def row(name, call, results, says):
        before, kept = host_peak(), []
        grown = most_used(lambda: kept.append(call()))
        told = says(kept[0])
        rows.append({"call": name, "input_bytes": 4 * count, "gpu_bytes": grown, "gpu_results_bytes": results, "gpu_says_bytes": told,
                     "gpu_beyond_share_of_input": (grown - results - told) / (4 * count),
                     "host_share_of_input": (host_peak() - before) / (4 * count)})
        print(rows[-1], file=sys.stderr, flush=True)

    image = blobs(1 << 14, 1 << 14)
    for options in ({"method": "level-set", "max_num_iter": 3}, {"max_num_iter": 20}):
        row(f"segment 2^14 x 2^14 {options.get('method', 'convex')}", lambda: wl.segment(image, **options), 5 * count,
            lambda found: found.report["device_bytes"])
    turned = image.T
    row("segment of an array that is turned, level-set", lambda: wl.segment(turned, method="level-set", max_num_iter=3), 5 * count,
        lambda found: found.report["device_bytes"])
    del image, turned
    keys = cupy.arange(count, dtype="u4")
    table = wl.HashTable(capacity=1 << 20, device="cuda")
    table.insert(keys[: 1 << 20]), table.find(keys[:1000])
    row("HashTable.find of 2^28 keys", lambda: table.find(keys), 5 * count, lambda found: 0)
    return rows


def orders(compare):
    """A part of a larger array, and a turned one."""
    image = blobs(4096, 4096)
    for name, given in (("turned", image.T), ("every second voxel", blobs(8192, 8192)[::2, ::2])):
        def there():
            found = wl.segment(given)
            return found.mask, found.level_set

        def copied():
            found = wl.segment(cupy.ascontiguousarray(given))
            return found.mask, found.level_set

        compare(f"segment 4096 x 4096 {name}", image.size, there, copied)
    walk = cupy.cumsum(cupy.random.default_rng(3).standard_normal((6, 1 << 20), dtype="f4"), axis=1)
    query = walk[:, 7000:7200].copy()
    scores = lambda found: (cupy.asarray([m.score for m in found]),)
    compare("search 6 x 2^20, 200 samples", walk.size, lambda: scores(wl.search(walk, query, best=5, device="cuda")),
            lambda: scores(wl.search(walk.get(), query.get(), best=5, device="cuda")))
    compare("search, in place", walk.size, lambda: scores(wl.search(walk, query, best=5, match="in-place", device="cuda")),
            lambda: scores(wl.search(walk.get(), query.get(), best=5, match="in-place", device="cuda")))
    compare("distance_profile, band 0", walk.size, lambda: (wl.distance_profile(walk, query, band=0),),
            lambda: (cupy.asarray(wl.distance_profile(walk.get(), query.get(), band=0)),))
    many = walk[:, : 1 << 18].reshape(-1, 128)
    compare("distance_matrix 12,288 x 64 x 128", many.size, lambda: (wl.distance_matrix(many, many[:64]),),
            lambda: (cupy.asarray(wl.distance_matrix(many.get(), many[:64].get())),))
    dims = cupy.arange(3, 3003)
    compare("dp.chain of 3,000", dims.size, lambda: (cupy.asarray(wl.dp.chain(dims).optimum),), lambda: (cupy.asarray(wl.dp.chain(dims.get()).optimum),))


def main():
    rows = []

    def compare(name, values, there, host):
        want, found = host(), there()
        same = all(bool((cupy.asarray(a) == cupy.asarray(b)).all()) for a, b in zip(found, want))
        del want, found
        mine, theirs = milliseconds(there, host)
        row = {"call": name, "values": values, "there_ms": mine, "through_the_host_ms": theirs, "same_bits": same,
               "gpu_bytes_a_value": most_used(there) / values}
        print(row, file=sys.stderr, flush=True)
        rows.append(row)

    if sys.argv[1:] == ["memory"]:
        return say(memory())
    if sys.argv[1:] in (["images"], ["orders"]):
        (images if sys.argv[1] == "images" else orders)(compare)
        return say(rows)
    for shape in ((2048, 2048), (8192, 8192), (256, 256, 256)):
        image = blobs(*shape)
        for options in ({}, {"method": "level-set", "max_num_iter": 100}):
            def there():
                found = wl.segment(image, **options)
                return found.mask, found.level_set

            def host():
                found = wl.segment(image.get(), device="cuda", **options)
                return cupy.asarray(found.mask), cupy.asarray(found.level_set)

            compare(f"segment {' x '.join(map(str, shape))} {options.get('method', 'convex')}", image.size, there, host)
        del image
    cupy.get_default_memory_pool().free_all_blocks()

    count = 1 << 25
    keys = cupy.asarray(np.random.default_rng(2).permutation(np.arange(count, dtype="u4")))
    table = wl.HashTable(capacity=count, device="cuda")
    table.insert(keys, keys)
    for n in (1 << 10, 1 << 18, count):
        some = keys[:n].copy()

        def host_find():
            found = table.find(some.get())
            return cupy.asarray(found.outcomes), cupy.asarray(found.values)

        compare(f"HashTable.find of {n} keys", n, lambda: tuple(table.find(some)), host_find)

    def insert_there():
        one = wl.HashTable(capacity=count, device="cuda")
        return (one.insert(keys, keys).outcomes,)

    def insert_host():
        one = wl.HashTable(capacity=count, device="cuda")
        host = keys.get()
        return (cupy.asarray(one.insert(host, host).outcomes),)

    compare(f"HashTable of {count} pairs, made and filled", count, insert_there, insert_host)

    walk = cupy.cumsum(cupy.random.default_rng(3).standard_normal((6, 1 << 20), dtype="f4"), axis=1)
    query = walk[:, 7000:7200].copy()
    copy = milliseconds(lambda: walk.get())
    search = milliseconds(lambda: list(wl.search(walk, query, best=5, device="cuda")))
    rows.append({"call": "search 6 x 2^20, 200 samples", "copy_ms": copy, "all_ms": search})
    images(compare)
    say(rows)


def say(rows):
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(json.dumps({"device": name, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
