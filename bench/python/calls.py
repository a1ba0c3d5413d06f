#!/usr/bin/env python3
"""Question: what do `import warploom` and a call cost by themselves, and do calls of several Python threads run at the same time?

Fixed: an idle machine; each import in a process of its own, of whose time `import numpy` is no part, with bytecode, as pip leaves it; calls whose work is next to
nothing, on the CPU, the shortest of TRIES times, each of CALLS calls; four Python threads with one thread a call against the same four calls
one after another, the shortest of TRIES, and the same of four processes, which share nothing but the machine, in turns, ROUNDS times.

    PYTHONPATH=build/no-cuda/python python bench/python/calls.py [ANOTHER MODULE TO IMPORT...] >calls.json
"""
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

import warploom as wl

CALLS, TRIES, IMPORTS, ROUNDS = 2000, 9, 9, 7


def import_ms(module):
    code = f"import time, numpy; b = time.perf_counter(); import {module}; print(1e3 * (time.perf_counter() - b))"
    keeps = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=keeps) for _ in range(1 + IMPORTS)][1:]
    if any(run.returncode for run in runs):
        return None
    return statistics.median(float(run.stdout) for run in runs)


def microseconds(call):
    best = float("inf")
    for _ in range(TRIES):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best / CALLS


def small_calls():
    table = wl.HashTable(key="u4", value="u4", device="cpu")
    key, value, dims = np.array([7], np.uint32), np.array([1], np.uint32), np.array([3, 4, 5])
    table.insert(key, value)
    pair = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)
    return {
        "scalars: len(HashTable)": lambda: len(table),
        "scalars: dp.nussinov('GC')": lambda: wl.dp.nussinov("GC", device="cpu"),
        "arrays: HashTable.find of a key": lambda: table.find(key),
        "arrays: HashTable.assign of a key": lambda: table.assign(key, value),
        "arrays: dp.chain of two matrices": lambda: wl.dp.chain(dims, device="cpu"),
        "arrays: distance_matrix of two sequences": lambda: wl.distance_matrix(pair, threads=1),
    }


def some_work():
    walks = np.cumsum(np.random.default_rng(1).normal(size=(300, 500)), axis=1).astype(np.float32)
    call = lambda: wl.distance_matrix(walks, threads=1)
    call()
    return call


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def threads_gain(count=4):
    call = some_work()

    def together():
        threads = [threading.Thread(target=call) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    one_after_another = min(seconds(lambda: [call() for _ in range(count)]) for _ in range(TRIES))
    return one_after_another / min(seconds(together) for _ in range(TRIES))


def processes_gain(count=4):
    """What the machine itself gives: a process for each call, that waits for a line and answers it."""
    code = "import sys, calls; call = calls.some_work(); print(flush=True)\nfor _ in sys.stdin: call(); print(flush=True)"
    path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), *sys.path])
    several = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                env=os.environ | {"PYTHONPATH": path}) for _ in range(count)]

    def start(process):
        process.stdin.write("\n")
        process.stdin.flush()

    def together():
        for process in several:
            start(process)
        for process in several:
            process.stdout.readline()

    def one_after_another():
        for process in several:
            start(process)
            process.stdout.readline()

    for process in several:
        process.stdout.readline()
    alone = min(seconds(one_after_another) for _ in range(TRIES))
    gain = alone / min(seconds(together) for _ in range(TRIES))
    for process in several:
        process.communicate()
    return gain


def main():
    modules = ["warploom", *sys.argv[1:]]
    print(json.dumps({
        "python": platform.python_version(), "processors": len(os.sched_getaffinity(0)),
        "import_ms_beyond_numpy": {module: import_ms(module) for module in modules},
        "call_us": {name: microseconds(call) for name, call in small_calls().items()},
        "four_threads_times": [threads_gain() for _ in range(ROUNDS)],
        "four_processes_times": [processes_gain() for _ in range(ROUNDS)],
    }, indent=2))


if __name__ == "__main__":
    main()
