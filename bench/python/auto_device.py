#!/usr/bin/env python3
"""Question: from which size on is a GPU faster than the processors, for calls whose `device="auto"` decides by size?

Fixed: one GPU and all processors, or those that taskset leaves; input and results on the host; the shortest of as many calls as last
SECONDS together, at least three, after one more [us], on either device; `start`: the first call of a process, in a process of its own,
the shortest of three [ms].

    PYTHONPATH=build/default/python python bench/python/auto_device.py >auto_device.json
"""
import json
import os
import platform
import subprocess
import sys
import time

import numpy as np

import warploom as wl

SECONDS, DEVICES = 0.15, ("cpu", "cuda")


def microseconds(call):
    call()
    best, begin, times = float("inf"), time.perf_counter(), 0
    while times < 3 or time.perf_counter() - begin < SECONDS:
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
        times += 1
    return 1e6 * best


def dp_rows():
    rng = np.random.default_rng(1)
    for n in (2, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072):
        dims = rng.integers(1, 100, n + 1)
        letters = "".join(rng.choice(list("ACGU"), n))
        yield "dp.chain", n, 1, {d: (lambda d=d: wl.dp.chain(dims, device=d)) for d in DEVICES}
        yield "dp.nussinov", n, 1, {d: (lambda d=d: wl.dp.nussinov(letters, device=d)) for d in DEVICES}
    for n, count in ((32, 16), (32, 256), (32, 4096), (128, 4), (128, 16), (128, 64), (128, 256), (256, 4), (256, 16), (256, 64)):
        batch = ["".join(rng.choice(list("ACGU"), n)) for _ in range(count)]
        yield "dp.nussinov", n, count, {d: (lambda d=d: wl.dp.nussinov(batch, device=d)) for d in DEVICES}


def table_rows():
    for k in range(0, 25, 2):
        count = 1 << k
        keys = np.random.default_rng(k).permutation(count).astype(np.uint32)
        values = keys + np.uint32(1)

        def filled(device):
            table = wl.HashTable(capacity=count, device=device)
            table.insert(keys, values)
            return table

        tables = {d: filled(d) for d in DEVICES}
        yield "HashTable.find", count, 1, {d: (lambda d=d: tables[d].find(keys)) for d in DEVICES}
        yield "HashTable.assign", count, 1, {d: (lambda d=d: tables[d].assign(keys, values)) for d in DEVICES}
        yield "HashTable made and filled", count, 1, {d: (lambda d=d: filled(d)) for d in DEVICES}


def first_call(device):
    code = ("import time, warploom as wl; b = time.perf_counter(); "
            f"wl.dp.chain([3, 4, 5], device={device!r}); print(1e3 * (time.perf_counter() - b))")
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3))


def main():
    rows = []
    for make in (dp_rows, table_rows):
        for call, size, problems, calls in make():
            rows.append({"call": call, "size": size, "problems": problems} | {f"{d}_us": round(microseconds(calls[d]), 2) for d in DEVICES})
            print(rows[-1], file=sys.stderr)
    print(json.dumps({"python": platform.python_version(), "processors": len(os.sched_getaffinity(0)),
                      "first_call_ms": {d: first_call(d) for d in DEVICES}, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
