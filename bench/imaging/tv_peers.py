#!/usr/bin/env python3
"""Scalar total variation: `warploom denoise --vector` beside the CCPi regularisation toolkit, in one run.

Question: how long does each take for an iteration, and to a given accuracy of the same problem,
    min_x TV(x) + lambda/2 ||x - f||^2,   TV with |grad x| isotropic, forward differences, spacing 1?
Fixed: a volume of N^3 float32, piecewise constant with edges, noise of standard deviation 0.1; the same number of CPU
threads. The toolkit's FGP (Beck & Teboulle's fast gradient projection on the dual) solves exactly this
problem with its parameter 1/lambda; so does `--solver primal-dual` (epsilon 0). Accuracy: the objective, computed
here in double precision for both, against the best one seen.
Timed: the toolkit's own call, which on a GPU includes its transfers; ours from the report (iterations, and
transfers apart), without reading and writing files. Medians of ROUNDS runs.

Build the toolkit (github vais-ral/CCPi-Regularisation-Toolkit, Apache-2.0) as its page says, with optimisation and OpenMP, and give
its shared libraries:
    tv_peers.py --warploom build/default/bin/warploom --cpu libccpi_cpu.so [--gpu libccpi_gpu.so] [--size 128]
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np

from nifti import read_nifti, write_nifti


def phantom(size):
    """Boxes and balls of several levels, and noise; [z, y, x]."""
    rng = np.random.default_rng(1)
    z, y, x = np.meshgrid(*3 * [np.arange(size) / size], indexing="ij")
    image = np.full((size,) * 3, 0.2)
    for _ in range(12):
        c, r, level = rng.random(3), 0.05 + 0.2 * rng.random(), rng.random()
        d = [abs(z - c[0]), abs(y - c[1]), abs(x - c[2])]
        image[np.maximum.reduce(d) < r if rng.random() < 0.5 else sum(t * t for t in d) < r * r] = level
    return (image + 0.1 * rng.standard_normal(image.shape)).astype(np.float32)


def objective(x, noisy, weight):
    x = x.astype(np.float64)
    square = np.zeros_like(x)
    for axis in range(3):
        step = np.diff(x, axis=axis, append=np.take(x, [-1], axis))
        square += step * step
    return float(np.sqrt(square).sum() + weight / 2 * ((x - noisy) ** 2).sum())


def run_peer(library, name, noisy, weight, iterations):
    out = np.zeros_like(noisy)
    info = np.zeros(2, np.float32)
    pointer = ctypes.POINTER(ctypes.c_float)
    arrays = [a.ctypes.data_as(pointer) for a in (noisy, out, info)]
    numbers = [ctypes.c_float(1 / weight), iterations, ctypes.c_float(0), 0, 0]
    if "GPU" in name:
        numbers.append(0)
    begin = time.perf_counter()
    getattr(library, name)(*arrays, *numbers, *noisy.shape[::-1])
    return out, time.perf_counter() - begin


def run_ours(options, noisy, weight, iterations, solver, device, folder):
    source, prefix = os.path.join(folder, "noisy.nii"), os.path.join(folder, "out")
    report = os.path.join(folder, "report.json")
    command = [options.warploom, "denoise", "--vector", source, "-o", prefix, "--force", "--format", "nii", "--mask", "none"]
    command += ["--lambda", str(weight), "--tolerance", "1e-9", "--max-iterations", str(iterations), "--solver", solver]
    command += ["--device", device, "--report", report, "-q"] + (["--threads", str(options.threads)] if options.threads else [])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(report) as file:
        told = json.load(file)
    return read_nifti(prefix + "_denoised.nii", noisy.shape), told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warploom", required=True)
    parser.add_argument("--cpu", help="the toolkit's CPU library")
    parser.add_argument("--gpu", help="the toolkit's GPU library")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--weight", type=float, default=10.0, help="lambda")
    parser.add_argument("--out", help="JSON file")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    noisy = phantom(options.size)
    counts = (20, 50, 100, 200, 400)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_nifti(os.path.join(folder, "noisy.nii"), noisy)
        for device, path in (("cpu", options.cpu), ("cuda", options.gpu)):
            if not path:
                continue
            library = ctypes.CDLL(path)
            name = "TV_FGP_GPU_main" if device == "cuda" else "TV_FGP_CPU_main"
            run_peer(library, name, noisy, options.weight, 2)  # first calls pay for loading
            for iterations in counts:
                peer, ours = [], []
                for _ in range(options.rounds):
                    x, seconds = run_peer(library, name, noisy, options.weight, iterations)
                    peer.append((seconds, 0.0, objective(x, noisy, options.weight)))
                    x, told = run_ours(options, noisy, options.weight, iterations, "primal-dual", device, folder)
                    ours.append((told["seconds"]["iterations"], told["seconds"]["transfer"], objective(x, noisy, options.weight)))
                for who, runs in (("CCPi FGP", peer), ("warploom primal-dual", ours)):
                    seconds, transfer, value = (statistics.median(r[k] for r in runs) for k in range(3))
                    rows.append(dict(device=device, who=who, iterations=iterations, seconds=seconds, transfer=transfer, objective=value))
    best = min(row["objective"] for row in rows)
    for row in rows:
        row["above_best"] = row["objective"] / best - 1
        row["ms_per_iteration"] = 1e3 * row["seconds"] / row["iterations"]
        print("{device:4} {who:20} {iterations:4} iterations {seconds:8.4f} s (+{transfer:.4f} s transfers), "
              "{ms_per_iteration:8.3f} ms each, {above_best:.1e} above the best".format(**row))
    if options.out:
        with open(options.out, "w") as file:
            json.dump(dict(size=options.size, threads=options.threads, weight=options.weight, rows=rows), file, indent=1)


if __name__ == "__main__":
    main()
