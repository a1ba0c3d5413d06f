#!/usr/bin/env python3
"""How many images a second: `warploom denoise` started for each, and `warploom cohort` over their folder.

    bench/cohort/throughput.py build/default/bin/warploom --images 64 --folder /dev/shm/cohort [--device cpu] [--gzip]
                               [--side 128] [--at-once 4,8,16] [--cores 1,2,4,8,16] [--out FILE.json]

makes tensor images (six volumes of side^3, float32: ellipsoids whose axes turn from place to place, with noise, in a ball that holds 37 % of the voxels, and 0 around it), has the
tensors denoised and all maps written, each way several times, and says images a second. --device cuda:0,1 deals the images of the
cohort out to GPUs; --options has more words for `denoise`. --cores repeats it on so many of the processors. The folder's file system and device are part of the result.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from cores import processors


def write_tensors(path, side, seed, level=None):
    draw = np.random.default_rng(seed)
    at = np.linspace(-1, 1, side, dtype=np.float32)
    z, y, x = np.meshgrid(at, at, at, indexing="ij")
    angle, tilt = 2.1 * x + 1.3 * y + seed, 1.7 * z - .9 * y
    v = np.stack([np.cos(angle) * np.cos(tilt), np.sin(angle) * np.cos(tilt), np.sin(tilt)])
    inside = (x * x + y * y + z * z < .8).astype(np.float32)
    base, along = np.float32(.4e-3), np.float32(1.2e-3)
    volumes = []
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):  # FSL's order
        d = base * (i == j) + along * v[i] * v[j]
        volumes.append((d + draw.standard_normal(d.shape, dtype=np.float32) * np.float32(1e-4)) * inside)
    header = bytearray(348)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 4, side, side, side, 6, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 16, 32)
    struct.pack_into("<8f", header, 76, 1, 1.5, 1.5, 1.5, 1, 1, 1, 1)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<f", header, 112, 1)
    header[123] = 2
    struct.pack_into("<2h", header, 252, 0, 1)
    for row in range(3):
        struct.pack_into("<4f", header, 280 + 16 * row, *(1.5 if k == row else 0 for k in range(4)))
    header[344:348] = b"n+1\0"
    content = bytes(header) + bytes(4) + np.stack(volumes).tobytes()
    if level is not None:
        import gzip
        content = gzip.compress(content, level)
    path.write_bytes(content)


def disk_of(folder):
    line = subprocess.run(["df", "-T", str(folder)], capture_output=True, text=True).stdout.splitlines()[-1].split()
    return f"{line[1]} on {line[0]}"


def seconds_of(command, environment=None):
    started = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {run.returncode}\n{run.stderr[-2000:]}")
    return time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--folder", type=Path, required=True, help="made, and removed at the end")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--options", default="", help="more words of denoise, as '--regulariser tgv'")
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--at-once", default="8")
    parser.add_argument("--cores", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--singly", type=int, default=8, help="images that are also denoised by a process each")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder, ending = arguments.folder, "nii.gz" if arguments.gzip else "nii"
    shutil.rmtree(folder, ignore_errors=True)
    inputs, results = folder / "in", folder / "out"
    inputs.mkdir(parents=True)
    distinct = min(arguments.images, 8)
    for k in range(arguments.images):
        path = inputs / f"sub{k:03d}.{ending}"
        if k < distinct:
            write_tensors(path, arguments.side, k, 1 if arguments.gzip else None)
        else:
            shutil.copy(inputs / f"sub{k % distinct:03d}.{ending}", path)
    several = "," in arguments.device or arguments.device.endswith("all")
    verb = ["--order", "fsl", "--maps", "all", "--format", ending] + arguments.options.split()
    each = verb + ["--device", "cuda" if several else arguments.device]
    result = {"images": arguments.images, "side": arguments.side, "format": ending, "device": arguments.device, "options": arguments.options,
              "disk": disk_of(folder), "bytes in": sum(p.stat().st_size for p in inputs.iterdir()), "runs": []}
    first, second = processors()
    every = first + second
    result["processors"] = {"cores": len(first), "that share one with another": len(second)}
    for cores in [int(c) for c in arguments.cores.split(",")] if arguments.cores else [len(every)]:
        pinned = ["taskset", "-c", ",".join(map(str, every[:cores]))]
        singly, together = [], {}
        for _ in range(arguments.rounds):
            shutil.rmtree(results, ignore_errors=True)
            if arguments.singly:
                seconds = sum(seconds_of(pinned + [arguments.tool, "denoise", inputs / f"sub{k:03d}.{ending}", "-q", "-o", results / f"sub{k:03d}"] + each)
                              for k in range(arguments.singly))
                singly.append(arguments.singly / seconds)
            for at_once in arguments.at_once.split(","):
                at_once = min(int(at_once), cores) if arguments.device == "cpu" else int(at_once)
                shutil.rmtree(results, ignore_errors=True)
                seconds = seconds_of(pinned + [arguments.tool, "cohort", inputs, "-o", results, "-q", "--at-once", str(at_once)] +
                                     (["--device", arguments.device] if several else []) +
                                     ["--", "denoise", "{}", "-o", "{out}"] + (verb if several else each))
                together.setdefault(at_once, []).append(arguments.images / seconds)
        result["runs"].append({"cores": cores, "one by one [1/s]": singly, "cohort [1/s] by images at once": together})
        print(json.dumps(result["runs"][-1]), flush=True)
    result["bytes out"] = sum(p.stat().st_size for p in results.rglob("*.nii*"))
    shutil.rmtree(folder)
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
