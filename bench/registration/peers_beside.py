#!/usr/bin/env python3
"""peers.py on a machine with many cores and nothing but NumPy: pairs beside each other, some threads each, until a time is over.

    peers_beside.py --tool warploom --cores 15 --budget 400 --out OUT JOBS.json

JOBS.json is a list of {"pair", "program": "greedy", "syn" or "register", "threads", "fixed", "moving", "fixed_marks", "moving_marks"} and, if
need be, "levels" (greedy's), "iterations" (SyN's), "options" (register's). Marks are maps of labels or tables of points, as in peers.py. What
is done at the end is in OUT/summary.json: wall and processor seconds, Dice or distances [mm], cells that fold at a corner. Transforms are
applied by `register apply`, which gives SimpleITK's labels (itk_peers.py). antspyx and picsl-greedy need be no more than unpacked.
"""
import argparse
import concurrent.futures
import gzip
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy

from programs import ANTS, GREEDY


def read_nifti(path):
    """Values [..., z, y, x] and the three rows of the affine map, sform or qform."""
    raw = pathlib.Path(path).read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    extents, kind, offset = numpy.frombuffer(raw, "<i2", 8, 40), numpy.frombuffer(raw, "<i2", 1, 70)[0], int(numpy.frombuffer(raw, "<f4", 1, 108)[0])
    shape = [int(n) for n in extents[1:extents[0] + 1]]
    types = {2: "u1", 4: "<i2", 8: "<i4", 16: "<f4", 64: "<f8", 256: "i1", 512: "<u2", 768: "<u4"}
    values = numpy.frombuffer(raw, types[int(kind)], int(numpy.prod(shape)), offset).reshape(shape[::-1])
    if numpy.frombuffer(raw, "<i2", 1, 254)[0] > 0:
        return values, numpy.frombuffer(raw, "<f4", 12, 280).reshape(3, 4).astype(float)
    b, c, d, x, y, z = numpy.frombuffer(raw, "<f4", 6, 256).astype(float)
    a = max(0.0, 1 - b * b - c * c - d * d) ** 0.5
    sides = numpy.frombuffer(raw, "<f4", 4, 76).astype(float)
    turn = numpy.array([[a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
                        [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
                        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c]])
    return values, numpy.c_[turn * [sides[1], sides[2], sides[3] * (-1 if sides[0] < 0 else 1)], [x, y, z]]


def folded_cells(path):
    """As peers.py's, two planes at a time."""
    values, rows = read_nifti(path)
    d = values.shape[0]
    u = values.reshape(d, *(values.shape[-d:]))
    u = u if d == 3 else u[:, None]
    step = rows[:d, :d] * ([[-1], [-1], [1]] if d == 3 else [[-1], [-1]])
    folded = cells = 0
    least = numpy.inf
    for z in range(max(1, u.shape[1] - 1)):
        w = numpy.moveaxis(u[:, z:z + 2] if d == 3 else u[:, 0], 0, -1).astype(float)
        edges = [numpy.diff(w, axis=d - 1 - a) + step[:, a] for a in range(d)]
        shape = tuple(n - 1 for n in w.shape[:d])
        bad = numpy.zeros(shape, bool)
        for corner in itertools.product((0, 1), repeat=d):
            at = [edges[a][tuple(slice(0, n) if k == d - 1 - a else slice(corner[k], corner[k] + n) for k, n in enumerate(shape))] for a in range(d)]
            det = (numpy.einsum("zyxi,zyxi->zyx", at[0], numpy.cross(at[1], at[2])) if d == 3 else
                   at[0][..., 0] * at[1][..., 1] - at[0][..., 1] * at[1][..., 0]) / numpy.linalg.det(step)
            bad |= det <= 0
            least = min(least, float(det.min()))
        folded, cells = folded + int(bad.sum()), cells + bad.size
    return {"folded_cells": folded, "cells": cells, "smallest_determinant": least}


def dice(a, b):
    a, b = numpy.rint(a).astype(int).ravel(), numpy.rint(b).astype(int).ravel()
    n = 1 + max(a.max(), b.max())
    of_a, of_b, of_both = (numpy.bincount(v, minlength=n)[1:] for v in (a, b, a[a == b]))
    there = of_a + of_b > 0
    return float((2 * of_both[there] / (of_a + of_b)[there]).mean())


def score(tool, job, chain, out):
    if job["moving_marks"].endswith(".csv"):
        subprocess.run([tool, "register", "apply", *chain, "--points", job["fixed_marks"], "--points-out", f"{out}/p.csv", "--axes", "lps", "-q"], check=True, stdout=subprocess.DEVNULL)
        there, marks = (numpy.loadtxt(path, delimiter=",", skiprows=1) for path in (f"{out}/p.csv", job["moving_marks"]))
        off = numpy.linalg.norm(there[:, :marks.shape[1]] - marks, axis=1)
        return {"mm": {"mean": float(off.mean()), "median": float(numpy.median(off)), "largest": float(off.max()), "points": len(off)}}
    subprocess.run([tool, "register", "apply", job["moving_marks"], "--interpolation", "nearest", "--reference", job["fixed"], *chain, "-o", f"{out}/l.nii", "-q"],
                   check=True, stdout=subprocess.DEVNULL)
    return {"dice": dice(read_nifti(job["fixed_marks"])[0], read_nifti(f"{out}/l.nii")[0])}


def run(tool, job, running):
    with tempfile.TemporaryDirectory() as out:
        d = 2 if read_nifti(job["fixed"])[0].ndim == 2 else 3
        names = dict(fixed=job["fixed"], moving=job["moving"], out=out, threads=job["threads"], d=d, radius="x".join("2" * d),
                     levels=job.get("levels", "100x100x20"), iterations=job.get("iterations", "(100, 70, 20)"))
        command = ([tool, "register", job["fixed"], job["moving"], "--field", f"{out}/warp.nii.gz", "--threads", str(job["threads"]), "--device", "cpu",
                    *job.get("options", [])] if job["program"] == "register" else
                   [sys.executable, "-c", (GREEDY if job["program"] == "greedy" else ANTS).format(**names)])
        begin = time.time()
        with open(f"{out}/log", "w") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True,
                                     env={**os.environ, "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS": str(job["threads"])})
            running.add(child.pid)
            _, status, used = os.wait4(child.pid, 0)
            running.discard(child.pid)
        row = {**job, "wall_s": time.time() - begin, "processor_s": used.ru_utime + used.ru_stime}
        if status != 0:
            return {**row, "failed": pathlib.Path(f"{out}/log").read_text()[-500:]}
        chain = ["-t", f"{out}/warp.nii.gz"] + ([] if job["program"] == "register" else ["-t", f"{out}/a.mat"])
        return {**row, **score(tool, job, chain, out), "corners": folded_cells(f"{out}/warp.nii.gz")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--budget", type=float, default=1e9, help="seconds")
    parser.add_argument("--out", required=True)
    parser.add_argument("jobs")
    asked = parser.parse_args()
    waiting, rows, running, lock = json.loads(pathlib.Path(asked.jobs).read_text()), [], set(), threading.Condition()
    free, end = [asked.cores], time.time() + asked.budget

    def one(job):
        row = run(asked.tool, job, running)
        with lock:
            rows.append(row)
            free[0] += job["threads"]
            pathlib.Path(asked.out, "summary.json").write_text(json.dumps(rows, indent=1) + "\n")
            print(json.dumps(row), flush=True)
            lock.notify()

    with concurrent.futures.ThreadPoolExecutor(asked.cores) as pool, lock:
        futures = []
        while waiting and time.time() < end:
            fits = next((job for job in waiting if job["threads"] <= free[0]), None)
            if fits is None:
                lock.wait(1)
                continue
            waiting.remove(fits)
            free[0] -= fits["threads"]
            futures.append(pool.submit(one, fits))
        while not all(f.done() for f in futures) and time.time() < end:
            lock.wait(1)
        for pid in list(running):
            os.killpg(pid, signal.SIGKILL)
        lock.release()
        concurrent.futures.wait(futures)
        lock.acquire()


if __name__ == "__main__":
    main()
